/*
 * perfmon's JSON files of a job as tables: one for each file, a row for each host and time, with
 * the columns Host, Timestamps, and one for each metric under a name for people. docs/perfmon.md
 * lists the names. Files are read host by host, twice: which columns there are, and their values.
 */
#pragma once

#include "tables/table.h"

struct perfmon_tables {
	int metrics;     /* the directory of the JSON files */
	const char *dir; /* for the tables */
	const char *job; /* names tables in files that hold several */
	const struct table_format *const *formats;
	size_t format_count;
};

/*
 * Writes <dir>/<file>.<suffix> for each file and format; all files share metrics.h5, which others
 * may be in, and <file>.h5 is a link to it. Problems are added to *why, one line each; the rest
 * is written. The number of tables, or the first negative errno.
 */
int perfmon_tables_write(const struct perfmon_tables *t, struct strbuf *why);
