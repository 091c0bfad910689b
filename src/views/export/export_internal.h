/* Shared by the files that make tables of a job. */
#pragma once

#include "views/export/export_tables.h"

struct table_source {
	struct store *store;
	int64_t job;
	struct table_choice choice;
	char *jobid;
	struct table_columns columns;
	struct table_builder build;
	int64_t total;
	bool begun;

	/* processes and threads: see export_rows.c */
	struct table_rows *rows;
	/* samples */
	struct series_list series;
	struct series_reader reader;
	struct series_points points;
	size_t series_at, point_at;
	bool loaded;
	/* phases */
	struct stmt *phases;
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
extern const struct plan_column table_process_plan[], table_thread_plan[], table_sample_plan[],
	table_job_plan[], table_phase_plan[];
extern const size_t table_process_plan_count, table_thread_plan_count, table_sample_plan_count,
	table_job_plan_count, table_phase_plan_count;

void table_columns_add(struct table_columns *c, const char *name, enum plan_from from,
		       const char *help);
/* A name that is made up: it is kept with the columns. */
const char *table_columns_name(struct table_columns *c, char *name);
static inline bool table_time_ns(int64_t us, int64_t *ret)
{
	return !__builtin_mul_overflow(us, 1000, ret);
}

void table_rows_columns(struct table_columns *c, const struct table_choice *choice);
int table_rows_open(struct table_source *f);
void table_rows_free(struct table_rows *r);
int table_rows_rewind(struct table_source *f);
int table_rows_fill(struct table_source *f);

int table_phases_open(struct table_source *f);
int table_phases_fill(struct table_source *f);
