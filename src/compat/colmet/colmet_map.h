/*
 * The mapper's two halves: what our sources' metrics are called by colmet (colmet_map.c), and the
 * records that gather until they are asked for (colmet_gather.c). Private to these.
 */
#pragma once

#include "compat/colmet/colmet_internal.h"
#include "core/hash_map.h"

enum colmet_number {
	TASKSTATS,
	PROCSTATS,
	INFINIBAND,
	LUSTRE,
	PERFHW,
	RAPL,
	TEMPERATURE,
	JOBPROC,
	IPMIPOWER,
	NVIDIA
};

/* A record that gathers: values of its backend's fields. */
struct gathered {
	struct mapped_host *host;
	uint32_t backend;
	uint32_t reading; /* of the mapper, that touched it last */
	uint64_t job, time_s;
	uint64_t present;
	union {
		int64_t i;
		float f;
	} values[]; /* as many as the backend has metrics */
};

/* The events of a job at the reading before. */
struct mapped_job {
	uint64_t job;
	uint32_t reading;
	unsigned present;
	int64_t last[COLMET_EVENTS];
};

/* Which jobs a host had at a time. */
struct mapped_list {
	uint64_t time_s;
	uint64_t *jobs;
	size_t count, cap;
};

struct mapped_host {
	char name[256];
	uint64_t zones_present;
	int64_t zones[COLMET_ZONES]; /* energies at the reading before */
	struct mapped_job *jobs;     /* sorted */
	size_t job_count, job_cap;
	bool counted; /* there was a reading of events before */
	struct mapped_list *lists;
	size_t list_count, list_cap;
	bool touched; /* has lists since the last flush */
};

struct row_mapper {
	struct mapped_host **hosts;
	size_t host_count, host_cap;
	struct hash_map by_name; /* places in hosts */
	struct mapped_host **touched;
	size_t touched_count, touched_cap;
	struct gathered **records;
	size_t record_count, record_cap;
	struct hash_map by_key; /* places in records */
	uint32_t reading;
};

struct mapped_host *mapper_host(struct row_mapper *m, const char *name);
/* The record of this host, backend, job and time, made when it is new. */
struct gathered *mapper_record(struct row_mapper *m, struct mapped_host *host, uint32_t backend,
			       uint64_t job, uint64_t time_s);
/* A host's list of jobs at this time; NULL when a later one is there. */
struct mapped_list *mapper_list(struct row_mapper *m, struct mapped_host *host, uint64_t time_s);
void mapper_list_add(struct mapped_list *l, uint64_t job);
