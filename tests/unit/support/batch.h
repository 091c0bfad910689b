/*
 * Batches that tests make: a node with busy jobs whose counters move like real ones, with noise in
 * the low digits that no coding can take away.
 */
#pragma once

#include "samplefile.h"

#include "transport/batch.h"
#include "transport/batch_internal.h"

#define BUSY_METRICS 20

static const struct sample_metric busy_metrics[BUSY_METRICS] = {
	{"usage", UNIT_MICROSECONDS, KIND_COUNTER, AGG_SUM, 0, "CPU time"},
	{"user", UNIT_MICROSECONDS, KIND_COUNTER, AGG_SUM, 0, "CPU time in programs"},
	{"system", UNIT_MICROSECONDS, KIND_COUNTER, AGG_SUM, 0, "CPU time in the kernel"},
	{"periods", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "periods of the CPU limit"},
	{"throttled", UNIT_MICROSECONDS, KIND_COUNTER, AGG_SUM, 0,
	 "time held back by the CPU limit"},
	{"memory", UNIT_BYTES, KIND_GAUGE, AGG_SUM, 0, "memory in use"},
	{"peak", UNIT_BYTES, KIND_GAUGE, AGG_SUM, 0, "most memory that was in use"},
	{"anon", UNIT_BYTES, KIND_GAUGE, AGG_SUM, 0, "memory of programs"},
	{"file", UNIT_BYTES, KIND_GAUGE, AGG_SUM, 0, "memory of files"},
	{"faults", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "page faults"},
	{"majfaults", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "page faults that had to read"},
	{"read", UNIT_BYTES, KIND_COUNTER, AGG_SUM, 0, "bytes read from disks"},
	{"written", UNIT_BYTES, KIND_COUNTER, AGG_SUM, 0, "bytes written to disks"},
	{"reads", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "reads from disks"},
	{"writes", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "writes to disks"},
	{"processes", UNIT_COUNT, KIND_GAUGE, AGG_SUM, 0, "processes"},
	{"cpu_some", UNIT_MICROSECONDS, KIND_COUNTER, AGG_MAX, 0, "time that some waited for CPU"},
	{"io_some", UNIT_MICROSECONDS, KIND_COUNTER, AGG_MAX, 0, "time that some waited for disks"},
	{"cycles", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "CPU cycles"},
	{"instructions", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "instructions"},
};

struct busy {
	struct sample_set set;
	int64_t (*jobs)[BUSY_METRICS];
	unsigned job_count;
	uint64_t seed;
};

static inline int64_t noise(struct busy *b, uint64_t range)
{
	return range ? (int64_t)((random_next(&b->seed) >> 11) % range) : 0;
}

static inline void busy_init(struct busy *b, unsigned jobs)
{
	*b = (struct busy){.job_count = jobs, .seed = 88172645463325252ull};
	sample_init(&b->set, busy_metrics, BUSY_METRICS);
	b->jobs = xcalloc(jobs, sizeof(*b->jobs));
	for (unsigned i = 0; i < jobs; i++) {
		int64_t *v = b->jobs[i];

		for (unsigned m = 0; m < BUSY_METRICS; m++)
			v[m] = noise(b, 1000000000000);
		v[3] = v[4] = v[10] = 0;
		v[5] = noise(b, 1 << 22) * 4096;
		v[7] = v[5] / 2 / 4096 * 4096;
		v[8] = v[5] - v[7];
		v[15] = 1 + noise(b, 64);
	}
}

static inline void busy_release(struct busy *b)
{
	sample_release(&b->set);
	free(b->jobs);
}

/* A second of one job: CPUs in use nearly all the time, memory that moves in pages, a disk now and
 * then. */
static inline void busy_step(struct busy *b, unsigned job)
{
	int64_t *v = b->jobs[job], cpus = 1 + job % 16;
	int64_t kernel = 2000 + noise(b, 4000), user = cpus * 1000000 - kernel - noise(b, 3000);
	int64_t pages = noise(b, 400) - 150;

	v[1] += user;
	v[2] += kernel;
	v[0] = v[1] + v[2];
	v[7] += pages * 4096;
	v[5] = v[7] + v[8];
	v[6] = v[5] > v[6] ? v[5] : v[6];
	v[9] += 300 + noise(b, 600);
	if (!noise(b, 5)) {
		int64_t writes = 1 + noise(b, 40);

		v[14] += writes;
		v[12] += writes * 65536;
		v[17] += noise(b, 20000);
		v[8] += writes * 65536;
	}
	if (!noise(b, 20)) {
		v[13] += 10;
		v[11] += 10 * 131072;
	}
	if (!noise(b, 10))
		v[15] += noise(b, 3) - 1;
	v[16] += noise(b, 2000);
	v[18] += (user + kernel) * 2600 + noise(b, 4000000);
	v[19] += (user + kernel) * 2100 + noise(b, 40000000);
}

/* The reading of all jobs at a second. */
static inline void busy_reading(struct busy *b, uint64_t time_ns)
{
	sample_begin(&b->set);
	b->set.time_ns = time_ns;
	for (unsigned i = 0; i < b->job_count; i++) {
		char name[32];

		snprintf(name, sizeof(name), "%u", 4711000 + i);
		sample_row(&b->set, sample_entity(&b->set, ENTITY_JOB, name));
		busy_step(b, i);
		for (unsigned m = 0; m < BUSY_METRICS; m++)
			sample_put(&b->set, m, b->jobs[i][m]);
	}
}
