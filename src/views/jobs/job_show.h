/* Everything that the store knows of one job, except its processes. */
#ifndef PL_VIEWS_JOB_SHOW_H
#define PL_VIEWS_JOB_SHOW_H

#include "views/job_facts.h"
#include "views/job_list.h"

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
	int64_t io_unknown; /* images of which nobody knows what they read and wrote */
	/* bytes by samples, where records lack some; UNKNOWN */
	int64_t sampled_read, sampled_written;
};
void jobshow_release(struct jobshow *j);

const struct job_sum *jobshow_sum(const struct jobshow *s, const char *name);
/*
 * Bytes of changed pages that went to storage: what was deleted or truncated before it was written
 * is taken off. The kernel counts that for whoever deletes, not for whoever wrote, so that only the
 * sums of a whole job can be compared, and it may be more than the job wrote: then 0. UNKNOWN where
 * nobody counted.
 */
int64_t jobshow_stored(const struct jobshow *s);
/* "2 GiB to storage, 1 GiB deleted before they got there", with words of the caller's in the place
 * of " to storage"; false where it is not known. */
bool jobshow_add_stored(struct strbuf *out, const struct jobshow *s, const char *words, bool human);

/* ---- I/O; job_io.c ---- */

int jobshow_load_io(struct jobshow *j, struct store *s, int64_t job);
/* Bytes that are known of a metric of I/O; where records lack some and samples saw more than those
 * and what collection itself did, by samples; UNKNOWN. */
int64_t jobshow_io(const struct jobshow *s, const char *name);
/* "; not known of 1 of 3 images", where that is so. */
void jobshow_add_io_unknown(struct strbuf *out, const struct jobshow *s);
/* "at least 4 KiB read (0 B from storage), ..." */
void jobshow_add_io(struct strbuf *out, const struct jobshow *s, bool human);

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
