/* Root causes of jobs that are unlike a reference: finds and prints them. */
#pragma once

#include "analysis/outliers/root_cause.h"
#include "views/outliers/outlier_print.h"
#include "views/stream_table.h"

struct root_cause_request {
	struct outlier_request job; /* one job; its features, rules, model and operation */
	const int64_t *ref_jobs;    /* the reference, or jobs of the model that are still stored */
	char *const *ref_labels;
	size_t ref_count;
	size_t limit; /* print so many features; 0: all */
};

struct root_causes {
	struct root_cause *v;
	size_t count;
	struct feature_table t; /* row 0: the job, then the reference; names of the features */
	struct strbuf notes;
};
#define ROOT_CAUSES_INIT              \
	{                             \
		.notes = STRBUF_INIT, \
	}
void root_causes_release(struct root_causes *c);
#define _cleanup_causes_ _cleanup_(root_causes_release)

/* 0, or a negative errno with the reason in *why. */
int root_causes_find(const struct root_cause_request *q, struct store *s, struct root_causes *ret,
		     struct strbuf *why);
/* A table of those of several jobs: begin it, add the rows of each, end it with stream_table_end().
 */
void root_causes_begin(struct stream_table *g, bool csv, FILE *f);
int root_causes_rows(const struct root_cause_request *q, const struct root_causes *c,
		     struct store *s, struct stream_table *g);
/* Those of one job as an object of an array. 0 or a negative errno. */
int root_causes_json(const struct root_cause_request *q, const struct root_causes *c,
		     struct store *s, struct json_writer *j);
