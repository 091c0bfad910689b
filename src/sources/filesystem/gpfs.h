/* The output of mmpmon of GPFS (Spectrum Scale) about a mounted filesystem. */
#pragma once

#include "sources/columns.h"

/* Behind the column: the key of mmpmon. */
#define METRICS_OF_GPFS(X)                                                   \
	X(GPFS_BYTES_READ, BYTES("read_bytes", "bytes read"), "_br_")        \
	X(GPFS_BYTES_WRITTEN, BYTES("write_bytes", "bytes written"), "_bw_") \
	X(GPFS_OPENS, COUNT("open", "files opened"), "_oc_")                 \
	X(GPFS_CLOSES, COUNT("close", "files closed"), "_cc_")               \
	X(GPFS_READS, COUNT("reads", "read calls"), "_rdc_")                 \
	X(GPFS_WRITES, COUNT("writes", "write calls"), "_wc_")               \
	X(GPFS_READDIRS, COUNT("readdir", "directories read"), "_dir_")      \
	X(GPFS_INODE_UPDATES, COUNT("inode_updates", "inodes written"), "_iu_")
enum gpfs_count { METRICS_OF_GPFS(METRIC_NUMBER) GPFS_COUNTS };

struct gpfs_stat {
	char cluster[128], filesystem[128], disks[16]; /* empty: unknown */
	uint64_t counts[GPFS_COUNTS];
	unsigned present; /* bit i: counts[i] is there */
	uint64_t rc;      /* 0: the rest is valid */
};

/* The next "_fs_io_s_" line at or behind *p, which moves behind it; false at the end. */
bool gpfs_next_stat(const char **p, const char *end, struct gpfs_stat *ret);
