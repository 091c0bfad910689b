/*
 * Devices of which a file of /proc has one line of counters each, such as network interfaces and
 * disks. A source describes its devices in a struct device_class; reading, matching lines to
 * devices, devices that come and go, counters that wrap or restart, and the sum for the node are
 * done here.
 *
 * The row of the node grows by what each device counted since the previous reading, so that a
 * device which comes or goes makes no jump. A device that comes back continues where it was.
 */
#pragma once

#include "core/files/cached_file.h"
#include "sources/source.h"

#define DEVICE_COUNTERS_MAX 18

struct device {
	char *name;
	uint32_t entity;
	uint64_t reading; /* the last one that had a line of it */
	bool present;     /* has an entity */
	bool known;       /* for the source: it has examined the device; cleared when it is gone */
	bool hardware;    /* set by the source: there is a physical device behind it */
	bool reported;    /* its metadata say whether the node's sum includes it */
	const char *left_out; /* why the node's sum does not include it; NULL: it does */
	struct unwrap counts[DEVICE_COUNTERS_MAX];
	uint64_t added[DEVICE_COUNTERS_MAX]; /* counted since the previous reading */
};

struct device_list;

struct device_class {
	const char *file; /* "/proc/diskstats" */
	enum entity_kind kind;
	unsigned counters; /* metrics of the source: the counters of a line, in their order */
	int level;         /* the metric that is a level instead of a counter; -1: none */
	/* Two metrics that count operations. They fall only when the device was reset or another
	 * one has its name: they do not reach 2^31 before the bytes do. */
	unsigned operations[2];
	size_t size; /* of the source's structure, which begins with a struct device */

	/* Takes the name and the counters of a line: how many counters, 0: no device. */
	unsigned (*parse)(struct words line, struct words *name, uint64_t *raw);
	/* Is the device left out entirely? NULL: none is. */
	bool (*skip)(struct device_list *l, struct device *d, const uint64_t *raw, unsigned count);
	/* Examines a device that is new, came back, or may have been replaced; sets its metadata.
	 * True: another device has the name now. */
	bool (*examine)(struct device_list *l, struct sample_set *set, struct device *d, bool came);
	/* Updates metadata that change; called for one device per reading, in turn. NULL: none do.
	 */
	void (*refresh)(struct device_list *l, struct sample_set *set, struct device *d);
	/* Why the node's sum leaves a device out; NULL: it includes it. */
	const char *(*left_out)(struct device_list *l, const struct device *d, bool any_hardware);
	void (*release)(struct device *d); /* NULL: nothing to release */
};

struct device_list {
	const struct device_class *class;
	const char *root;
	struct cached_file file;
	char *devices; /* each of class->size bytes */
	size_t count, cap, hint, surplus, refreshed;
	uint64_t reading; /* counts from 1 */
	uint64_t sum[DEVICE_COUNTERS_MAX];
	uint64_t summed; /* bit m: a device had metric m */
	bool has_node;
};

/* The functions of a source; the state is a struct device_list. */
int devices_open(const struct device_class *class, const struct source_context *ctx, void **state,
		 struct strbuf *why);
int devices_read(void *state, struct sample_set *set);
void devices_close(void *state);

static inline void *device_at(const struct device_list *l, size_t i)
{
	return l->devices + i * l->class->size;
}
