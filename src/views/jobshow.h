/* Everything that the store knows of one job, except its processes. */
#ifndef PL_VIEWS_JOBSHOW_H
#define PL_VIEWS_JOBSHOW_H

#include "views/jobfacts.h"
#include "views/joblist.h"

struct job_sum {
	char *name;
	const struct metric *metric; /* NULL for an event */
	int64_t sum, max;
	enum metric_unit unit; /* of a metric of samples, that of others is their own */
	char *help;            /* likewise; NULL: it has none */
};

struct jobshow {
	struct joblist list; /* of one */
	struct job_sum *sums;
	size_t sum_count, sum_cap;
	char **warnings;
	size_t warning_count, warning_cap;
	struct jobfacts facts;
};
void jobshow_release(struct jobshow *j);

/* Fills an empty structure; store_error() has the sentence. */
int jobshow_load(struct jobshow *j, struct store *s, int64_t job);

/* The keys of its facts. */
void jobshow_json_facts(const struct jobshow *s, struct jsonw *j);
int jobshow_print_json(const struct jobshow *s, FILE *f);
/* Two columns, name and value. */
int jobshow_print_csv(const struct jobshow *s, FILE *f);
/* A page for people; numbers are raw where f is no terminal. */
int jobshow_print_page(const struct jobshow *s, FILE *f);

#endif
