/*
 * perfmon's JSON files of a job as tables: one per file, one row per host and time, with the
 * columns Host, Timestamps, and one readable name per metric. docs/perfmon.md lists the names.
 * Files are read host by host, twice: first for the columns, then for the values.
 */
#pragma once

#include "tables/table.h"

struct perfmon_tables {
	int metrics;     /* the directory of the JSON files */
	const char *dir; /* for the tables */
	const char *job; /* name of the table in files that hold several */
	const struct table_format *const *formats;
	size_t format_count;
};

/*
 * Writes <dir>/<file>.<suffix> for each file and format. All files share metrics.h5, which may
 * contain other tables, and <file>.h5 is a link to it. Problems are added to *why, one line each;
 * the rest is written. Returns the number of tables, or the first negative errno.
 */
int perfmon_tables_write(const struct perfmon_tables *t, struct strbuf *why);
