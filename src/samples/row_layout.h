/*
 * Rows of fixed layout: for each job and second one row of each table, as collectors of other tools
 * have them. Readings that came in such a layout go out by it again, and readings of our own are
 * gathered into its tables by a mapper. Sinks write these rows beside those of our own sources;
 * what layouts there are is in row_layouts.def.
 */
#ifndef PL_SAMPLES_ROW_LAYOUT_H
#define PL_SAMPLES_ROW_LAYOUT_H

#include "core/strbuf.h"
#include "samples/sample.h"

enum row_type { ROW_U64, ROW_I64, ROW_U32, ROW_F32, ROW_TEXT };

struct row_field {
	const char *name;
	enum row_type type;
	unsigned size;    /* bytes */
	const char *unit; /* as the layout's text has it */
};

struct row_table {
	const char *name;
	bool per_job; /* otherwise its job is 0, the node */
	const struct row_field *fields;
	size_t field_count, record_size; /* bytes of a row in a message */
	/* the fields as a reading has them; a text, where there is one, is the last field and has
	 * none */
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
	/* Bit f: field f is not known. Its value is then what the layout has for that. */
	uint64_t absent;
	char involved[ROW_JOBS_TEXT + 1]; /* the one text: jobs of the node, where there is one */
};

typedef void (*row_take)(void *user, const struct fixed_row *r);

struct row_mapper; /* each layout's own */

struct row_layout {
	const char *name;
	const struct row_table *tables; /* ends with a NULL name */
	/* The rows of a reading whose source is one of the tables. Their number, 0 when the source
	 * is none of them. */
	size_t (*rows)(const char *host, const char *source, const struct sample_set *set,
		       int64_t time_us, row_take take, void *user);
	/* A row as text for people, ended by a newline. */
	void (*text)(const struct fixed_row *r, struct strbuf *out);
	/* Is it a source of its messages that no table is for? */
	bool (*untabled)(const char *source);

	/* Rows of readings of our own: what has no field is left out. Those of the same host, job,
	 * time and table are gathered, and come with flush. */
	struct row_mapper *(*mapper_new)(void);
	void (*mapper_free)(struct row_mapper *m);
	bool (*mapper_takes)(const char *source); /* is a table for what this source reads? */
	void (*mapper_add)(struct row_mapper *m, const char *host, const char *source,
			   const struct sample_set *set, int64_t time_us);
	void (*mapper_flush)(struct row_mapper *m, row_take take, void *user);
};

extern const struct row_layout *const row_layouts[]; /* ends with NULL */

/* NULL: no layout has such a table. */
const struct row_table *row_table_find(const char *name);
/* Place of a field among those of a table; -1: it has none of this name. */
int row_field_find(const struct row_table *t, const char *name);
/* The number that stands for a job in such rows: that of "1234" and of "1234.server". False: it has
 * none. */
bool row_job_number(const char *id, size_t size, uint64_t *ret);

/* ---- all layouts together ---------------------------------------------------------------------
 */

struct row_mappers;

struct row_mappers *row_mappers_new(void);
void row_mappers_free(struct row_mappers *m); /* accepts NULL */
void row_mappers_add(struct row_mappers *m, const char *host, const char *source,
		     const struct sample_set *set, int64_t time_us);
void row_mappers_flush(struct row_mappers *m, row_take take, void *user);
/* The rows of a reading whose source is a table of any layout; their number. */
size_t rows_from_reading(const char *host, const char *source, const struct sample_set *set,
			 int64_t time_us, row_take take, void *user);
/* A row as its layout shows it. */
void row_text(const struct fixed_row *r, struct strbuf *out);

#endif
