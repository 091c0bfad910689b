/*
 * Which file of a control group gives which metric: the tables for both versions, and what turns
 * the text of a file into values. No files are opened here.
 */
#ifndef PL_SOURCES_CGROUP_CGROUP_FILES_H
#define PL_SOURCES_CGROUP_CGROUP_FILES_H

#include <stdint.h>

#include "core/files/cached_file.h"
#include "samples/sample.h"
#include "sources/cgroup/cgroup_io.h"

enum cgroup_metric {
	CPU_USAGE,
	CPU_USER,
	CPU_SYSTEM,
	CPU_PERIODS,
	CPU_THROTTLED_PERIODS,
	CPU_THROTTLED_TIME,
	CPU_LIMIT,
	MEMORY_CURRENT,
	MEMORY_PEAK,
	MEMORY_LIMIT,
	SWAP_CURRENT,
	SWAP_LIMIT,
	MEMSW_CURRENT,
	MEMSW_PEAK,
	MEMSW_LIMIT,
	MEMORY_ANON,
	MEMORY_FILE,
	MEMORY_SHMEM,
	MEMORY_MAPPED,
	MEMORY_DIRTY,
	MEMORY_WRITEBACK,
	MEMORY_KERNEL,
	MEMORY_SLAB,
	MEMORY_SOCK,
	MEMORY_ANON_HUGEPAGES,
	PAGE_FAULTS,
	MAJOR_FAULTS,
	MEMORY_HIGH_EVENTS,
	MEMORY_MAX_EVENTS,
	OOM_EVENTS,
	OOM_KILLS,
	IO_READ_BYTES,
	IO_WRITE_BYTES,
	IO_READS,
	IO_WRITES,
	PIDS_CURRENT,
	PIDS_PEAK,
	PIDS_LIMIT,
	CPU_PRESSURE_SOME,
	CPU_PRESSURE_FULL,
	MEMORY_PRESSURE_SOME,
	MEMORY_PRESSURE_FULL,
	IO_PRESSURE_SOME,
	IO_PRESSURE_FULL,
	CGROUP_METRICS,
};

extern const struct sample_metric cgroup_columns[CGROUP_METRICS];

/* What the files of a group said in one reading. */
struct cgroup_values {
	uint64_t v[CGROUP_METRICS];
	uint64_t present;   /* bit m: v[m] is there */
	uint64_t unlimited; /* bit m: the group has no such limit */
	uint64_t quota_us, period_us;
	struct cgroup_io *io; /* the account by device, which goes on from reading to reading */
	bool uncounted;       /* the kernel counts no I/O for the group */
};

/* How the text of a file is to be taken. */
struct cgroup_file {
	const char *controller; /* "" is version 2 */
	const char *name;
	enum {
		FILE_NUMBER,  /* one number */
		FILE_LIMIT,   /* one number, or none: "max", or a number near 2^63 */
		FILE_LINES,   /* "key number", picked by rules */
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

/* Those of version 1 come first: the first file that has a metric gives it. */
extern const struct cgroup_file cgroup_files[];
extern const size_t cgroup_file_count;

/* Takes the text of a file; what is there already stays. */
void cgroup_take(const struct cgroup_file *f, struct words text, struct cgroup_values *ret);
/* Works out what needs several files, once all were taken. */
void cgroup_finish(struct cgroup_values *v);

#endif
