/* What mmpmon of GPFS (Spectrum Scale) says of a mounted file system. */
#ifndef PL_SOURCES_FILESYSTEM_GPFS_H
#define PL_SOURCES_FILESYSTEM_GPFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gpfs_count {
	GPFS_BYTES_READ,
	GPFS_BYTES_WRITTEN,
	GPFS_OPENS,
	GPFS_CLOSES,
	GPFS_READS,
	GPFS_WRITES,
	GPFS_READDIRS,
	GPFS_INODE_UPDATES,
	GPFS_COUNTS
};

struct gpfs_stat {
	char cluster[128], filesystem[128], disks[16]; /* empty when not told */
	uint64_t counts[GPFS_COUNTS];
	unsigned present; /* bit i: counts[i] is there */
	uint64_t rc;      /* 0: the rest is to be believed */
};

/* The next "_fs_io_s_" line at or behind *p, which moves behind it; false at the end. */
bool gpfs_next_stat(const char **p, const char *end, struct gpfs_stat *ret);

#endif
