/* What the files behind colmet.h share; private to colmet_*.c. */
#pragma once

#include "compat/colmet/colmet.h"

/* Later than this is no time: the end of the year 9999, in seconds. */
#define COLMET_TIME_MAX 253402300799u
/* Jobs are numbers that a table of HDF5 can hold. */
#define COLMET_JOB_MAX ((uint64_t)INT64_MAX)
/* A float beyond this is no load average; below, millionths fit into 63 bits. */
#define COLMET_FLOAT_MAX 1e12f

/* Names of hosts: letters, digits and "._-:", as the kernel's and resolvers' are. */
bool colmet_host_valid(const char *host, size_t size);

/* A list of jobs that was cut at the end of its field becomes a whole one, of those that are in it
 * for sure. */
void colmet_close_list(char *text);

/* ---- colmet's numbered counters (colmet_map.c) ---------------------------------------------- */

/* Zones of RAPL as colmet counts them: package, core and memory of each package. */
#define COLMET_ZONES 12
#define COLMET_THERMAL_ZONES 6
#define COLMET_EVENTS 5
struct colmet_zones {
	int64_t entities[COLMET_ZONES];        /* place in the set, -1: none */
	const char *domains[COLMET_ZONES / 3]; /* what stands behind "package-" */
	size_t domain_count;
};
void colmet_find_zones(const struct sample_set *set, struct colmet_zones *ret);
/* The number of an entity's thermal zone; false if it is not one of the first six. */
bool colmet_thermal_zone(const struct entity *e, unsigned *ret);
/* Places of the metrics that are counter_1 and following; how many. */
unsigned colmet_find_events(const struct sample_set *set, unsigned places[COLMET_EVENTS]);

/* ---- what a message holds, whatever its dialect: colmet_read.c makes batches of it ---------- */

/* The values of one job (0: of the node) at one time, of one source. */
struct colmet_item {
	uint32_t source; /* backend, or COLMET_RUST_SOURCES and above: of the Rust version's */
	uint32_t host_size;
	const char *host; /* into the message */
	uint64_t job;
	int64_t time_us;
	const unsigned char *p; /* where its values are */
};

struct colmet_items {
	struct colmet_item *list;
	size_t count, cap;
};
/* A message has at most so many, of so many hosts. A node sends some for each of its jobs. */
#define COLMET_ITEMS_MAX 200000u
#define COLMET_HOSTS_MAX 64u

/* The sources of the Rust version, behind those of the Python version. */
#define COLMET_RUST_SOURCES 10u
enum colmet_rust_source {
	COLMET_RUST_MEMORY,
	COLMET_RUST_CPU,
	COLMET_RUST_PERFHW,
	COLMET_RUST_END
};
struct colmet_rust_table {
	const char *name;
	const struct sample_metric *metrics;
	size_t metric_count;
};
extern const struct colmet_rust_table colmet_rust_tables[COLMET_RUST_END];

/* Checks every byte of a message of the Rust version and lists what is in it. */
int colmet_rust_scan(const unsigned char *p, size_t n, struct colmet_items *items,
		     enum colmet_dialect *ret_dialect, struct strbuf *why);
/* Puts the values of an item that was scanned into the row begun last. */
void colmet_rust_put(const struct colmet_item *item, enum colmet_dialect dialect,
		     const unsigned char *end, struct sample_set *set);
