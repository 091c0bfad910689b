/*
 * What perfmon's files call what our sources measure: one table, sorted as the files are, and the
 * only place that knows both names. compat/perfmon/perfmon_files.c writes by it, perfmon_read.c
 * reads by it.
 */
#pragma once

#include "samples/sample.h"

enum perfmon_file { PERFMON_CPU, PERFMON_PERF, PERFMON_GPU, PERFMON_FILES };

/* Names of the files below "metrics". */
extern const char *const perfmon_file_names[PERFMON_FILES];
#define PERFMON_META_NAME "meta_data.json"

/* Units of perfmon's numbers, where ours may differ. */
enum perfmon_unit {
	PERFMON_PLAIN, /* as the metric has it: counts, percent, degrees, bytes */
	PERFMON_SECONDS,
	PERFMON_NANOSECONDS,
	PERFMON_MICROJOULES,
	PERFMON_MILLIWATTS,
	PERFMON_MEGAHERTZ,
	PERFMON_KILOBYTES_PER_SECOND,
	PERFMON_MILLIONS, /* derived: MFLOPS/s, MB/s */
};

#define PERFMON_OPTIONAL 1u /* the key is there only where values are */
#define PERFMON_LEVEL \
	2u /* perf_metrics: not the growth of a counter, but what was read behind it */

struct perfmon_key {
	enum perfmon_file file;
	const char *group; /* NULL: the key stands at the level of the host */
	const char *key;   /* NULL: one key for each entity, by its name */
	const char *source, *metric;
	enum entity_kind entity; /* rows of this kind, added up */
	enum perfmon_unit unit;
	struct sample_metric ours; /* what is read becomes such a metric; name is not set */
	unsigned flags;
	unsigned place;     /* of the column in exports; 0: behind those that have one */
	const char *header; /* of the column; NULL: made of the names */
};

/* Rows with the same group and key follow each other and are added up: the value is there when all
 * of those are that the file's sources have. */
extern const struct perfmon_key perfmon_keys[];
extern const size_t perfmon_key_count;

/* How many rows from this one on are of the same key. */
size_t perfmon_key_rows(size_t first);

/* Does each entity have its own numbers, in a key or in a part of the file? */
static inline bool perfmon_key_each(const struct perfmon_key *k)
{
	return !k->key || k->file == PERFMON_GPU;
}

/* The header of a key's column in exports; freed by the caller. group NULL: none. */
char *perfmon_header(enum perfmon_file file, const char *group, const char *key);
/* Where the column stands among others of its file; a large number for keys that are not ours. */
size_t perfmon_header_place(const char *group, const char *key);

/* The source whose readings make the time stamps of a file: the first of these that exists. */
extern const char *const perfmon_clocks[PERFMON_FILES][3];

/* The factor and divisor that turn the raw number of a metric into the key's unit. */
void perfmon_factor(const struct perfmon_key *k, const struct sample_metric *m, int64_t *ret_times,
		    int64_t *ret_by);

/* How an array of perfmon's becomes a series. */
struct perfmon_series_map {
	char source[32], metric[160], entity[64];
	enum entity_kind kind;
	struct sample_metric m; /* name is not set */
	double times;           /* the raw number is perfmon's times this */
	bool adds_up;           /* counts for each interval: the series is their running sum */
	bool guess;             /* unknown: whole numbers as they are, others in millionths */
};

/* group NULL: the array stands at the level of the host. gpu: number of the GPU, else NULL. */
void perfmon_map(enum perfmon_file file, const char *group, const char *key, const char *gpu,
		 struct perfmon_series_map *ret);
