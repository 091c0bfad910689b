/*
 * Kinds of block devices: a disk, or a device made of others (device mapper, RAID, loop), whose I/O
 * is done and counted again by the devices below.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct strbuf;

/* Why a disk without a limit is left out. */
#define BLOCK_UNCOUNTED "this kernel counts it only after a limit was set"
/* Why there is no I/O of a cgroup of version 1. */
#define CGROUP_IO_UNCOUNTED \
	"this kernel counts I/O for cgroups of version 1 only on disks with a limit (Linux 6.10)"

/* Is the name this prefix and a number? "dm-" matches dm-3, not dm-cache. */
bool block_named(const char *name, const char *prefix);
/* Is it made of other devices or of memory, by its name? */
bool block_stacked_by_name(const char *name);
/* Does its directory (/sys/block/NAME) list devices below it? */
bool block_has_slaves(const char *dir);
/* "nvme0n1" of the NVMe multipath path "nvme0c1n1"; false when the name is not that of a path. */
bool block_nvme_head(const char *name, char *ret, size_t size);

/* Devices by number, as cgroups name them; each is looked up once. */
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
	unsigned changes; /* counts newly found disks that are not counted */
	bool counted;
};

/* The device of this number; valid until the next call. */
const struct blockdev *blockdevs_find(struct blockdevs *b, uint32_t major, uint32_t minor);
/*
 * Does the kernel count no I/O at all for cgroups of version 1? From Linux 6.10 on it counts only
 * disks with a limit. The root cgroup has a line for each disk that is counted. Where only some
 * disks are counted, the others are marked in the list.
 */
bool blockdevs_uncounted(struct blockdevs *b);
/* Adds "; I/O leaves out dm-0 (counted by devices below it)" for the disks that the sum of a cgroup
 * leaves out; nothing when it includes all. */
void blockdevs_tell(const char *root, struct strbuf *out);
void blockdevs_release(struct blockdevs *b);
