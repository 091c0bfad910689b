/* Shared by ingest.c and ingest_write.c: a job that is being stored. */
#pragma once

#include "core/hash_map.h"
#include "store/ingest/ingest.h"
#include "store/ingest/usage_sums.h"
#include "store/process_tree.h"

#define STRING_CACHE 65536 /* a power of two */
#define TAGSETS_MAX 100000
#define PROFILE_STEPS 1000

struct string_entry {
	uint64_t low, high;
	uint32_t number;
};

struct metric_sum {
	uint64_t sum, max;
	bool present;
};

struct event_sum {
	char *name;
	uint64_t sum, max;
};

struct host_sum {
	char *name;
	size_t size;
	uint64_t images;
};

/* Distinct tags are all kept, unlike other strings, because they are counted. */
struct tagset {
	struct string_entry string;
	uint64_t images;
};

/* A thread of the next image. */
struct next_thread {
	uint64_t start, end; /* us; 0: unknown */
	uint32_t tid;
};

struct ingest {
	struct store *store; /* NULL: only count */
	int64_t job;
	int64_t nth; /* distinguishes jobs with the same id; see identity.h */
	struct bulk *processes, *threads, *events, *strings;
	struct process_tree tree;
	struct string_entry *cache;
	uint32_t string_count, next;
	int64_t thread; /* of the next image */
	struct next_thread *next_threads;
	size_t next_thread_count, next_thread_cap;
	uint64_t bytes;
	struct metric_sum sums[64];
	struct event_sum *event_sums;
	size_t event_count, event_cap;
	struct host_sum *hosts;
	size_t host_count, host_cap;
	struct tagset *tagsets;
	size_t tagset_count, tagset_cap;
	struct hash_map tag_index; /* into tagsets, by the low half of their hash */
	struct usage_sums usage;
	/* from samples, where nothing was recorded */
	uint64_t sampled_cpu_us, sampled_processes;
	uint64_t process_count; /* the tree has a node for each image */
	uint64_t cpu_us, thread_count, earliest, latest;
	int64_t root_exitcode;
	bool root_known;
	struct value *warnings, *bad_pids;
	struct ingest_phases *phases; /* see ingest_phases.h; NULL: none yet */
};

/* The number of a string in this job, which is written if it is new; negative: failed. */
int64_t ingest_string(struct ingest *in, const char *s, size_t n);
/* The number of a host among those of the job, to which it is added. */
uint16_t ingest_host_number(struct ingest *in, const char *name);
