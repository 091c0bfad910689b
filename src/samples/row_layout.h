/*
 * Rows of a fixed layout: one row per table, job and second, as collectors of other tools have
 * them. Samples that arrived in such a layout are written in it again, and a mapper gathers our own
 * samples into its tables. Sinks write these rows beside those of our own sources. row_layouts.def
 * lists the layouts.
 */
#pragma once

#include "core/strbuf.h"
#include "samples/sample.h"

enum row_type { ROW_U64, ROW_I64, ROW_U32, ROW_F32, ROW_TEXT };

struct row_field {
	const char *name;
	enum row_type type;
	unsigned size;    /* bytes */
	const char *unit; /* in the layout's text */
};

struct row_table {
	const char *name;
	bool per_job; /* false: its job is 0, the node */
	const struct row_field *fields;
	size_t field_count, record_size; /* bytes of a row in a message */
	/* the fields as metrics; a text, if there is one, is the last field and has no metric */
	const struct sample_metric *metrics;
	size_t metric_count;
};

#define ROW_FIELDS_MAX 80
#define ROW_JOBS_TEXT 8192

struct fixed_row {
	const struct row_table *table;
	char host[256];
	uint64_t job, time_s;
	union {
		int64_t i; /* U64, I64, U32 */
		float f;
	} values[ROW_FIELDS_MAX];
	/* Bit f: field f is unknown, and has the layout's value for that. */
	uint64_t absent;
	char involved[ROW_JOBS_TEXT + 1]; /* the text, if there is one: jobs of the node */
};

typedef void (*row_take)(void *user, const struct fixed_row *r);

struct row_mapper; /* defined by each layout */

struct row_layout {
	const char *name;
	const struct row_table *tables; /* ends with a NULL name */
	/* Makes rows of samples whose source is one of the tables. Their number, 0: it is none. */
	size_t (*rows)(const char *host, const char *source, const struct sample_set *set,
		       int64_t time_us, row_take take, void *user);
	/* Adds a row as readable text, with a newline. */
	void (*text)(const struct fixed_row *r, struct strbuf *out);
	/* Is it a source of its messages without a table? */
	bool (*untabled)(const char *source);

	/* Maps our own samples to rows; metrics without a field are skipped. flush returns the
	 * rows, gathered by host, job, time and table. */
	struct row_mapper *(*mapper_new)(void);
	void (*mapper_free)(struct row_mapper *m);
	bool (*mapper_takes)(const char *source); /* does it use this source? */
	void (*mapper_add)(struct row_mapper *m, const char *host, const char *source,
			   const struct sample_set *set, int64_t time_us);
	void (*mapper_flush)(struct row_mapper *m, row_take take, void *user);
};

extern const struct row_layout *const row_layouts[]; /* ends with NULL */

/* NULL: no layout has such a table. */
const struct row_table *row_table_find(const char *name);
/* Index of a field of a table; -1: none of this name. */
int row_field_find(const struct row_table *t, const char *name);
/* The number of a job in such rows: 1234 for "1234" and "1234.server". False: none. */
bool row_job_number(const char *id, size_t size, uint64_t *ret);

/* ---- all layouts together ---- */

struct row_mappers;

struct row_mappers *row_mappers_new(void);
void row_mappers_free(struct row_mappers *m); /* accepts NULL */
void row_mappers_add(struct row_mappers *m, const char *host, const char *source,
		     const struct sample_set *set, int64_t time_us);
void row_mappers_flush(struct row_mappers *m, row_take take, void *user);
/* Makes rows of samples whose source is a table of any layout; their number. */
size_t rows_from_reading(const char *host, const char *source, const struct sample_set *set,
			 int64_t time_us, row_take take, void *user);
/* Adds a row as text, by its layout. */
void row_text(const struct fixed_row *r, struct strbuf *out);
