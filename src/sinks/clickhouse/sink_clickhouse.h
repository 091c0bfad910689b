/*
 * What the files of feed clickhouse share: rows that wait, column by column
 * (clickhouse_rows.c), tables on the servers (clickhouse_tables.c), and the feed itself.
 */
#ifndef PL_SINKS_CLICKHOUSE_SINK_CLICKHOUSE_H
#define PL_SINKS_CLICKHOUSE_SINK_CLICKHOUSE_H

#include "core/quota.h"
#include "sinks/sink_http.h"

#define CLICKHOUSE_SERVERS 16

/* A metric: Nullable(Int64), or Nullable(Float64). */
struct clickhouse_column {
	char *name;
	bool real;
	struct strbuf nulls, values; /* a byte and eight for each row */
};

/* What every table has in front of its metrics, in this order. */
enum clickhouse_fixed {
	FIXED_TIME,
	FIXED_TIME_US,
	FIXED_HOST,
	FIXED_KIND,
	FIXED_ENTITY,
	FIXED_JOB,
	FIXED_END
};
struct clickhouse_fixed_column {
	const char *name, *type;
};
extern const struct clickhouse_fixed_column clickhouse_fixed_columns[FIXED_END];

/* The rows of one entry of the log in a table. */
struct clickhouse_mark {
	uint64_t entry;
	size_t rows, at[FIXED_END]; /* where they end: rows, and bytes of the fixed columns */
	bool done;                  /* with the server, or left out */
	unsigned strikes; /* how often they were refused for a reason that we do not know */
	uint64_t taken;   /* blocks that the servers had taken at the first of them */
};

struct clickhouse_table {
	char *name;         /* with the prefix: the view that people read */
	char *source;       /* as its first node called it */
	struct quota names; /* of columns that are not of our own metrics */
	struct strbuf fixed[FIXED_END];
	struct clickhouse_mark *marks;
	size_t mark_count, mark_cap;
	struct clickhouse_column *columns;
	size_t column_count, column_cap;
	size_t rows;
	bool ready; /* the servers have it, with these columns */
};

struct clickhouse {
	struct sink_server servers[CLICKHOUSE_SERVERS];
	size_t server_count, current;
	char *prefix, *database, *cluster; /* cluster NULL: none */
	struct clickhouse_table *tables;
	size_t table_count, table_cap;
	size_t held;        /* bytes of rows */
	struct quota names; /* of tables that are not of our own sources */
	uint64_t have;      /* last entry whose rows are here, or there */
	uint64_t taken;     /* blocks, by any server */
	struct sink_refusals refusals;
};

/* Rows of all readings of a batch, which is this entry of the log. */
void clickhouse_add(struct clickhouse *c, struct sample_file *f, uint64_t entry);
/* The rows of a table with these marks, in ClickHouse's own form of a block. */
void clickhouse_block(const struct clickhouse_table *t, size_t from, size_t to, struct strbuf *out);
void clickhouse_forget_rows(struct clickhouse *c, struct clickhouse_table *t);
void clickhouse_table_release(struct clickhouse_table *t);
/* A column gets the type that the servers have it with. */
void clickhouse_retype(struct clickhouse_column *column, size_t rows, bool real);

/* Sends the rows of a table. 0: they are there, and those that never will be are left out. 1: some
 * have to wait, which says nothing of other tables. -EAGAIN. */
int clickhouse_send(struct clickhouse *c, struct clickhouse_table *t, struct strbuf *why);

/* Makes tables and columns that are not there. 0, -EAGAIN. */
int clickhouse_make_table(struct clickhouse *c, struct clickhouse_table *t, struct strbuf *why);
/* The name of a table in a statement: `database`.`name<suffix>`. */
void clickhouse_add_table(const struct clickhouse *c, const struct clickhouse_table *t,
			  const char *suffix, struct strbuf *out);

#endif
