/*
 * Names of our metrics in perfmon's files: one table in the order of the files, the only place that
 * knows both names. perfmon_files.c and perfmon_read.c use it for writing and reading.
 */
#pragma once

#include "samples/sample.h"

enum perfmon_file { PERFMON_CPU, PERFMON_PERF, PERFMON_GPU, PERFMON_FILES };

/* Names of the files below "metrics". */
extern const char *const perfmon_file_names[PERFMON_FILES];
#define PERFMON_META_NAME "meta_data.json"

/* Units of perfmon's numbers, where ours may differ. */
enum perfmon_unit {
	PERFMON_PLAIN, /* that of the metric: counts, percent, degrees, bytes */
	PERFMON_SECONDS,
	PERFMON_NANOSECONDS,
	PERFMON_MICROJOULES,
	PERFMON_MILLIWATTS,
	PERFMON_MEGAHERTZ,
	PERFMON_KILOBYTES_PER_SECOND,
	PERFMON_MILLIONS, /* derived: MFLOPS/s, MB/s */
};

#define PERFMON_OPTIONAL 1u /* the key is written only if there are values */
#define PERFMON_LEVEL \
	2u /* perf_metrics: not the increase of a counter, but the value after the interval */

struct perfmon_key {
	enum perfmon_file file;
	const char *group; /* NULL: the key is at the level of the host */
	const char *key;   /* NULL: one key for each entity, by its name */
	const char *source, *metric;
	enum entity_kind entity; /* sum of the rows of this kind */
	enum perfmon_unit unit;
	struct sample_metric ours; /* the metric of a series that is read; name is not set */
	unsigned flags;
	unsigned place;     /* of the column in exports; 0: after those that have one */
	const char *header; /* of the column; NULL: derived from the names */
};

/* Rows with the same group and key are adjacent and are added up; the value is known if all of
 * those are known that the sources of the file have. */
extern const struct perfmon_key perfmon_keys[];
extern const size_t perfmon_key_count;

/* The number of rows from this one on that have the same key. */
size_t perfmon_key_rows(size_t first);

/* Does each entity have its own values, in a key or in a part of the file? */
static inline bool perfmon_key_each(const struct perfmon_key *k)
{
	return !k->key || k->file == PERFMON_GPU;
}

/* The header of a key's column in exports; freed by the caller. group NULL: none. */
char *perfmon_header(enum perfmon_file file, const char *group, const char *key);
/* The place of the column in its file; a large number for unknown keys. */
size_t perfmon_header_place(const char *group, const char *key);

/* The source whose samples determine the time stamps of a file: the first of these that exists. */
extern const char *const perfmon_clocks[PERFMON_FILES][3];

/* The factor and divisor that turn the raw number of a metric into the key's unit. */
void perfmon_factor(const struct perfmon_key *k, const struct sample_metric *m, int64_t *ret_times,
		    int64_t *ret_by);

/* How an array of perfmon becomes a series. */
struct perfmon_series_map {
	char source[32], metric[160], entity[64];
	enum entity_kind kind;
	struct sample_metric m; /* name is not set */
	double times;           /* factor from perfmon's value to the raw number */
	bool adds_up;           /* counts per interval: the series is their running sum */
	bool guess;             /* unknown: integers unchanged, others in millionths */
};

/* group NULL: the array is at the level of the host. gpu: number of the GPU, else NULL. */
void perfmon_map(enum perfmon_file file, const char *group, const char *key, const char *gpu,
		 struct perfmon_series_map *ret);
