/*
 * The I/O of a control group by device, as its files have it: the sum is over devices that do the
 * work themselves, and grows by what each of them counted, so that a device which goes away takes
 * nothing with it and gives nothing twice.
 */
#ifndef PL_SOURCES_CGROUP_CGROUP_IO_H
#define PL_SOURCES_CGROUP_CGROUP_IO_H

#include "core/files/cached_file.h"
#include "samples/sample.h"
#include "sources/filesystem/blockdev.h"

/* In the order of the metrics from IO_READ_BYTES. */
enum { IO_FIELDS = 4 };

struct cgroup_io {
	struct blockdevs *devices; /* not its own */
	struct io_device {
		uint32_t major, minor;
		bool counted;
		bool partly;   /* the kernel counts it only from some time on, or never */
		uint8_t fresh; /* bits of fields in the text that is being taken */
		uint64_t now[IO_FIELDS];
		struct unwrap counts[IO_FIELDS];
	} * list;
	size_t count, cap, hint;
	unsigned changes; /* of the devices, as they were looked at last */
	bool told;        /* what is left out was */
};

/* A text is taken in three steps. Takes a number of a device ("8:0"). */
void cgroup_io_begin(struct cgroup_io *io);
void cgroup_io_add(struct cgroup_io *io, const struct words *device, unsigned field,
		   uint64_t value);
/* The sum of a field over the devices that count. */
uint64_t cgroup_io_sum(struct cgroup_io *io, unsigned field);
/* Takes note of disks that the kernel does not count for groups of version 1. */
void cgroup_io_partly(struct cgroup_io *io);
/* The group was made again: its counters began at 0. */
void cgroup_io_again(struct cgroup_io *io);
/* Says of an entity which devices are left out and why; once for each list of devices. */
void cgroup_io_tell(struct cgroup_io *io, struct sample_set *set, uint32_t entity);
void cgroup_io_release(struct cgroup_io *io);

#endif
