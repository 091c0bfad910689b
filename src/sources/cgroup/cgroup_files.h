/*
 * Which file of a control group contains which metric, for both versions, and the parsers of these
 * files. Opens no files.
 */
#pragma once

#include <stdint.h>

#include "core/files/cached_file.h"
#include "samples/sample.h"
#include "sources/cgroup/cgroup_io.h"

enum cgroup_metric {
#define CGROUP_METRIC(id, ...) id,
#include "sources/cgroup/cgroup_metrics.def"
#undef CGROUP_METRIC
	CGROUP_METRICS,
};

extern const struct sample_metric cgroup_columns[CGROUP_METRICS];

/* What one reading of the files of a group gave. */
struct cgroup_values {
	uint64_t v[CGROUP_METRICS];
	uint64_t present;   /* bit m: v[m] is there */
	uint64_t unlimited; /* bit m: the group has no such limit */
	uint64_t quota_us, period_us;
	struct cgroup_io *io; /* counters by device, kept from reading to reading */
	bool uncounted;       /* the kernel counts no I/O for the group */
};

/* A file and how it is parsed. */
struct cgroup_file {
	const char *controller; /* "" is version 2 */
	const char *name;
	enum {
		FILE_NUMBER,  /* one number */
		FILE_LIMIT,   /* one number, or none: "max", or a number near 2^63 */
		FILE_LINES,   /* "key number", by a table of keys */
		FILE_IO_V2,   /* "8:0 rbytes=1 wbytes=2 rios=3 wios=4 ..." */
		FILE_IO_V1,   /* "8:0 Read 1" and "8:0 Write 2" into a metric and the next */
		FILE_PSI,     /* pressure, into a metric and the next */
		FILE_CPU_MAX, /* "50000 100000" or "max 100000" */
		FILE_QUOTA,   /* of the CPU limit in version 1 */
		FILE_PERIOD,
	} form;
	unsigned metric; /* the first, where there are several */
	unsigned by;     /* the number is divided by this */
	const struct cgroup_line *lines;
	size_t line_count;
};

/* Version 1 comes first: a metric is taken from the first file that has it. */
extern const struct cgroup_file cgroup_files[];
extern const size_t cgroup_file_count;

/* Parses the text of a file; values that are present already stay. */
void cgroup_take(const struct cgroup_file *f, struct words text, struct cgroup_values *ret);
/* Computes what depends on several files, once all were parsed. */
void cgroup_finish(struct cgroup_values *v);
