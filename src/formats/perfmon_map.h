/* perfmon's names and what they are in ours; used by perfmon_read.c. */
#ifndef PL_FORMATS_PERFMON_MAP_H
#define PL_FORMATS_PERFMON_MAP_H

#include "core/sample.h"

enum perfmon_kind { PERFMON_CPU_FILE, PERFMON_PERF_FILE, PERFMON_GPU_FILE, PERFMON_FILE_END };

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
void perfmon_map(enum perfmon_kind file, const char *group, const char *key, const char *gpu,
		 struct perfmon_series_map *ret);

#endif
