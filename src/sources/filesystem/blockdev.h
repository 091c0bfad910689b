/*
 * What a block device is: a disk, or one that is made of others (device mapper, RAID, loop), whose
 * I/O the devices below it do, and count, again.
 */
#ifndef PL_SOURCES_FILESYSTEM_BLOCKDEV_H
#define PL_SOURCES_FILESYSTEM_BLOCKDEV_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strbuf;

/* Why a disk without a limit is left out. */
#define BLOCK_UNCOUNTED "this kernel counts it only from when a limit is set on it"
/* Why there is no I/O of a group of version 1. */
#define CGROUP_IO_UNCOUNTED \
	"this kernel counts I/O for groups of version 1 only on disks with a limit (Linux 6.10)"

/* Is the name this prefix with a number behind it? "dm-" of dm-3, not of dm-cache. */
bool block_named(const char *name, const char *prefix);
/* Is it one that is made of others, or of memory, by its name? */
bool block_stacked_by_name(const char *name);
/* Does its directory (/sys/block/NAME) name devices below it? */
bool block_has_slaves(const char *dir);
/* "nvme0n1" of the path "nvme0c1n1" of NVMe multipath; false when the name is none of a path. */
bool block_nvme_head(const char *name, char *ret, size_t size);

/* Devices by number, as control groups name them; each is looked up once. */
struct blockdevs {
	const char *root;
	struct blockdev {
		uint32_t major, minor;
		char *name;
		const char *left_out; /* why its I/O is not added up; NULL: it is */
		bool uncounted;       /* see blockdevs_uncounted() */
	} * list;
	size_t count, cap;
	unsigned asked;   /* how often blockdevs_uncounted() was */
	unsigned changes; /* disks were found that are not counted */
	bool counted;
};

/* The device of this number; valid until the next call. */
const struct blockdev *blockdevs_find(struct blockdevs *b, uint32_t major, uint32_t minor);
/*
 * Does the kernel count no I/O at all for control groups of version 1? From Linux 6.10 on it does
 * so only for disks that a limit was set for. Seen in the root group: it has a line for each disk
 * that is counted. Where it counts some disks only, the others are marked in the list.
 */
bool blockdevs_uncounted(struct blockdevs *b);
/* Adds "; I/O leaves out dm-0 (counted by devices below it)" for the disks of this machine that the
 * sum of a control group leaves out; nothing when it has all. */
void blockdevs_tell(const char *root, struct strbuf *out);
void blockdevs_release(struct blockdevs *b);

#endif
