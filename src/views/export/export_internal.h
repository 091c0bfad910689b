/* Shared by the files that make tables of a job. */
#ifndef PL_VIEWS_EXPORT_EXPORT_INTERNAL_H
#define PL_VIEWS_EXPORT_EXPORT_INTERNAL_H

#include "views/export/export_tables.h"

struct frame_source {
	struct store *store;
	int64_t job;
	struct frame_choice choice;
	char *jobid;
	struct frame_columns columns;
	struct frame_build build;
	int64_t total;
	bool begun;

	/* processes and threads: see export_rows.c */
	struct frame_rows *rows;
	/* samples */
	struct series_list series;
	struct series_reader reader;
	struct series_points points;
	size_t series_at, point_at;
	bool loaded;
};

/* Where the values of a column come from. */
enum plan_from {
	PLAN_INT,    /* an expression */
	PLAN_TIME,   /* likewise, us */
	PLAN_STRING, /* the number of a string of the job */
	PLAN_TEXT,   /* a text by itself */
	PLAN_WORD,   /* the number of a word in words */
	PLAN_JOB,    /* the number of the job */
	PLAN_JOBID,
	PLAN_EVENT, /* what was counted of an event */
	PLAN_REAL,
};

struct plan_column {
	const char *name;
	enum plan_from from;
	const char *sql;
	const char *help;
	const char *const *words; /* the last is for all numbers beyond */
	size_t word_count;
};

/* Columns of the tables, without metrics and events. */
extern const struct plan_column frame_process_plan[], frame_thread_plan[], frame_sample_plan[],
	frame_job_plan[];
extern const size_t frame_process_plan_count, frame_thread_plan_count, frame_sample_plan_count,
	frame_job_plan_count;

void frame_columns_add(struct frame_columns *c, const char *name, enum plan_from from,
		       const char *help);
/* A name that is made up: it is kept with the columns. */
const char *frame_columns_name(struct frame_columns *c, char *name);
static inline bool frame_time_ns(int64_t us, int64_t *ret)
{
	return !__builtin_mul_overflow(us, 1000, ret);
}

void frame_rows_columns(struct frame_columns *c, const struct frame_choice *choice);
int frame_rows_open(struct frame_source *f);
void frame_rows_free(struct frame_rows *r);
int frame_rows_rewind(struct frame_source *f);
int frame_rows_fill(struct frame_source *f);

#endif
