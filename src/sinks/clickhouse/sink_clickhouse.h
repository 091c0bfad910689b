/*
 * Shared by the files of sink clickhouse: buffered rows, column by column (clickhouse_rows.c),
 * tables on the servers (clickhouse_tables.c), and sending (clickhouse_send.c).
 */
#pragma once

#include "core/quota.h"
#include "sinks/sink_http.h"

#define CLICKHOUSE_SERVERS 16

/* A metric: Nullable(Int64), or Nullable(Float64). */
struct clickhouse_column {
	char *name;
	bool real;
	struct strbuf nulls, values; /* a byte and eight for each row */
};

/* The first columns of every table, before those of metrics. */
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

/* The rows of one log entry in a table. */
struct clickhouse_mark {
	uint64_t entry;
	size_t rows, at[FIXED_END]; /* where they end: rows, and bytes of the fixed columns */
	bool done;                  /* the server has them, or they are skipped */
	unsigned strikes;           /* how often they were refused for an unknown reason */
	uint64_t taken;             /* blocks that servers had taken at the first of those */
};

struct clickhouse_table {
	char *name;         /* with the prefix: the name of the view */
	char *source;       /* as the first node called it */
	struct quota names; /* for columns of unknown metrics */
	struct strbuf fixed[FIXED_END];
	struct clickhouse_mark *marks;
	size_t mark_count, mark_cap;
	struct clickhouse_column *columns;
	size_t column_count, column_cap;
	size_t rows;
	bool ready; /* the servers have the table with these columns */
};

struct clickhouse {
	struct sink_server servers[CLICKHOUSE_SERVERS];
	size_t server_count, current;
	char *prefix, *database, *cluster; /* cluster NULL: none */
	struct clickhouse_table *tables;
	size_t table_count, table_cap;
	size_t held;        /* bytes of rows */
	struct quota names; /* for tables of unknown sources */
	uint64_t have;      /* last entry that was buffered */
	uint64_t taken;     /* blocks taken by any server */
	struct sink_refusals refusals;
};

/* Adds rows of all readings of this log entry. */
void clickhouse_add(struct clickhouse *c, struct sample_file *f, uint64_t entry);
/* The rows of these marks as a block in ClickHouse's native format. */
void clickhouse_block(const struct clickhouse_table *t, size_t from, size_t to, struct strbuf *out);
void clickhouse_forget_rows(struct clickhouse *c, struct clickhouse_table *t);
void clickhouse_table_release(struct clickhouse_table *t);
/* Converts a column to the type that the servers have. */
void clickhouse_retype(struct clickhouse_column *column, size_t rows, bool real);

/* Sends the rows of a table. 0: all are sent or skipped. 1: some have to wait, but other tables may
 * go on. -EAGAIN. */
int clickhouse_send(struct clickhouse *c, struct clickhouse_table *t, struct strbuf *why);

/* Creates missing tables and columns. 0, -EAGAIN. */
int clickhouse_make_table(struct clickhouse *c, struct clickhouse_table *t, struct strbuf *why);
/* The name of a table in a statement: `database`.`name<suffix>`. */
void clickhouse_add_table(const struct clickhouse *c, const struct clickhouse_table *t,
			  const char *suffix, struct strbuf *out);
