/* Shared by the files of `export`. */
#ifndef PL_CMD_SHOW_EXPORT_H
#define PL_CMD_SHOW_EXPORT_H

#include "cmd/actions.h"
#include "context/job_argument.h"
#include "tables/table.h"
#include "views/export/export_tables.h"

struct export_options {
	const char *format, *output, *codec;
	int what; /* enum table_table + 1; 0: what there is */
	struct series_filter series;
	bool raw, json, list;
};

/* A job that is exported; those of the configured store share it. */
struct export_job {
	const char *name; /* as it was named */
	struct store *store;
	int64_t job;
	char *jobid;
	bool own; /* the store is this job's alone */
};

struct export_jobs {
	struct export_job *list;
	size_t count;
	struct store *shared;
};

/* What was written. */
struct export_result {
	int64_t rows;
	size_t columns;
};

/* The format by its name, or by the end of the path; NULL with a message said. */
const struct table_format *export_format(const struct export_options *o);

/* Writes one table of the jobs; says what is wrong. 0 or a negative errno. */
int export_write(struct context *ctx, const struct export_jobs *jobs, enum table_table table,
		 const struct table_format *f, const struct export_options *o,
		 struct export_result *ret);

#endif
