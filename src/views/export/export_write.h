/* Writes one table of some jobs to a file. */
#pragma once

#include "tables/table.h"
#include "views/export/export_tables.h"

/* A job to export; jobs of the configured store share it. */
struct export_job {
	const char *name; /* as given */
	struct store *store;
	int64_t job;
	char *jobid;
	bool own; /* the store belongs to this job alone */
};

struct export_jobs {
	struct export_job *list;
	size_t count;
	struct store *shared;
};

struct export_request {
	enum table_table table;
	const struct table_format *format;
	const char *path, *codec; /* codec NULL: the default of the format */
	const struct series_filter *series;
	bool raw;
	bool progress; /* on standard error */
};

struct export_result {
	int64_t rows;
	size_t columns;
};

/* Writes all or nothing; 0 or a negative errno with the reason. SIGINT, SIGTERM and SIGHUP end the
 * process, after the file is as it was. */
int export_write(const struct export_jobs *jobs, const struct export_request *q,
		 struct export_result *ret, struct strbuf *why);
