/*
 * The I/O of a control group by device. The sum is over devices that do the work themselves, and
 * grows by what each of them counted, so that a device that disappears or returns neither lowers
 * the sum nor counts twice.
 */
#pragma once

#include "core/files/cached_file.h"
#include "samples/sample.h"
#include "sources/filesystem/blockdev.h"

/* In the order of the metrics from IO_READ_BYTES. */
enum { IO_FIELDS = 4 };

struct cgroup_io {
	struct blockdevs *devices; /* borrowed */
	struct io_device {
		uint32_t major, minor;
		bool counted;
		bool partly;   /* the kernel counts it only from some time on, or never */
		uint8_t fresh; /* bits of fields in the text being parsed */
		uint64_t now[IO_FIELDS];
		struct unwrap counts[IO_FIELDS];
	} * list;
	size_t count, cap, hint;
	unsigned changes; /* of the devices, when they were last read */
	bool reported;    /* devices left out were reported */
};

/* A text is parsed in three steps: begin, add the numbers of each device ("8:0"), sum. */
void cgroup_io_begin(struct cgroup_io *io);
void cgroup_io_add(struct cgroup_io *io, const struct words *device, unsigned field,
		   uint64_t value);
/* The sum of a field over the devices that count. */
uint64_t cgroup_io_sum(struct cgroup_io *io, unsigned field);
/* Marks disks that the kernel does not count for groups of version 1. */
void cgroup_io_partly(struct cgroup_io *io);
/* The group was created again: its counters started at 0. */
void cgroup_io_again(struct cgroup_io *io);
/* Reports for an entity which devices are left out and why, once per list of devices. */
void cgroup_io_tell(struct cgroup_io *io, struct sample_set *set, uint32_t entity);
void cgroup_io_release(struct cgroup_io *io);
