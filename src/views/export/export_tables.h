/*
 * Tables of a job on their way into files (tables/table.h): its processes, threads, samples, and
 * the job itself, read from a store in the order of their keys and batch after batch, so that
 * memory does not grow with their number. docs/exports.md lists the columns.
 */
#ifndef PL_VIEWS_EXPORT_EXPORT_TABLES_H
#define PL_VIEWS_EXPORT_EXPORT_TABLES_H

#include "store/series.h"
#include "tables/table_builder.h"

enum frame_table { FRAME_PROCESSES, FRAME_THREADS, FRAME_SAMPLES, FRAME_JOBS, FRAME_TABLES };
extern const char *const frame_table_names[FRAME_TABLES];

/* Events that were counted in any of several jobs; each is a column of processes and threads. */
struct frame_events {
	char **names; /* sorted */
	size_t count, cap;
};
int frame_events_add(struct frame_events *e, struct store *s, int64_t job);
void frame_events_release(struct frame_events *e);

struct frame_choice {
	enum frame_table table;
	const struct frame_events *events;  /* NULL: none */
	const struct series_filter *series; /* of samples; NULL: all */
};

struct frame_source;

/* Tables of the same choice have the same columns. store_error() says what is wrong. */
int frame_source_open(struct frame_source **ret, struct store *s, int64_t job,
		      const struct frame_choice *choice);
void frame_source_free(struct frame_source *f);
static inline void frame_source_free_ptr(struct frame_source **f)
{
	frame_source_free(*f);
}
const struct frame_column *frame_source_columns(const struct frame_source *f, size_t *ret_count);
/* 1 and a batch that lives until the next call, 0 after the last, or a negative errno. */
int frame_source_next(struct frame_source *f, struct frame_batch *ret);
/* From the beginning again. */
int frame_source_rewind(struct frame_source *f);
/* Of processes, threads, samples: how many are there at least; for those who wait. */
int64_t frame_source_total(const struct frame_source *f);

/* The columns of a choice without a job: what an empty table has. */
struct frame_columns {
	struct frame_column *list;
	char **names; /* those that are not constants */
	size_t count, cap, name_count, name_cap;
};
void frame_columns_release(struct frame_columns *c);
void frame_columns_of(struct frame_columns *c, const struct frame_choice *choice);

/* Which values there are: reads the source to its end, and rewinds it. */
int frame_source_hints(struct frame_source *f, struct frame_hint *ret);

#endif
