/*
 * Tables of a job for files (tables/table.h): processes, threads, samples, phases, and the job
 * itself, read in batches in the order of keys, so that memory does not grow with their number.
 * docs/exports.md lists the columns.
 */
#pragma once

#include "store/series.h"
#include "tables/table_builder.h"

enum table_table {
	TABLE_PROCESSES,
	TABLE_THREADS,
	TABLE_SAMPLES,
	TABLE_JOBS,
	TABLE_PHASES,
	TABLE_TABLES
};
extern const char *const export_table_names[TABLE_TABLES];

/* Events that were counted in any of several jobs; each is a column of processes and threads. */
struct table_events {
	char **names; /* sorted */
	size_t count, cap;
};
int table_events_add(struct table_events *e, struct store *s, int64_t job);
void table_events_release(struct table_events *e);

struct table_choice {
	enum table_table table;
	const struct table_events *events;  /* NULL: none */
	const struct series_filter *series; /* of samples; NULL: all */
};

struct table_source;

/* Tables of the same choice have the same columns. store_error() says what is wrong. */
int table_source_open(struct table_source **ret, struct store *s, int64_t job,
		      const struct table_choice *choice);
void table_source_free(struct table_source *f);
static inline void table_source_free_ptr(struct table_source **f)
{
	table_source_free(*f);
}
const struct table_column *table_source_columns(const struct table_source *f, size_t *ret_count);
/* 1 and a batch that lives until the next call, 0 after the last, or a negative errno. */
int table_source_next(struct table_source *f, struct table_batch *ret);
/* From the beginning again. */
int table_source_rewind(struct table_source *f);
/* A lower bound of the number of rows, for progress. */
int64_t table_source_total(const struct table_source *f);

/* The columns of a choice without a job, for empty tables. */
struct table_columns {
	struct table_column *list;
	char **names; /* those that are not constants */
	size_t count, cap, name_count, name_cap;
};
void table_columns_release(struct table_columns *c);
void table_columns_of(struct table_columns *c, const struct table_choice *choice);

/* Finds widths and absent values: reads the source to its end and rewinds it. */
int table_source_hints(struct table_source *f, struct table_hint *ret);
