/*
 * Files of processes below /proc that are read repeatedly. On a live machine their descriptors stay
 * open, which saves two thirds of the cost and cannot confuse processes: after the end of a process
 * its descriptors return ESRCH, even if the pid is reused. The soft limit of descriptors is raised
 * to the hard limit; beyond it files are opened, read and closed each time. (Closing the least
 * recently used would not help: all are read in turn, so it would be the one needed next.) In a
 * recorded tree no descriptor stays open.
 */
#pragma once

#include <sys/types.h>

#include "core/strbuf.h"

struct procdir {
	int fd;               /* <root>/proc; -1: closed */
	bool live;            /* root is "" */
	bool clocks;          /* pids of /proc are valid for CPU clocks */
	bool idle_known;      /* a CPU clock that did not advance means that it did not run */
	unsigned kept, limit; /* descriptors that stay open, and how many may */
};

/* percent: the share of the descriptors for this user of the directory. */
int procdir_open(struct procdir *d, const char *root, unsigned percent, struct strbuf *why);
void procdir_close(struct procdir *d);

/*
 * Reads the beginning of <root>/proc/PID/NAME. *fd is -1 or as the last call left it; keep: leave
 * it open if the limit allows. Returns the number of bytes, or a negative errno: -ESRCH if the
 * process is gone; *fd is -1 then.
 */
ssize_t procdir_read(struct procdir *d, int *fd, int pid, const char *name, bool keep, char *buf,
		     size_t size);
/* The target of the link <root>/proc/PID/NAME, truncated, not terminated; negative errno. */
ssize_t procdir_link(const struct procdir *d, int pid, const char *name, char *buf, size_t size);
void procdir_forget(struct procdir *d, int *fd);

/*
 * The CPU clock of a process: nanoseconds of all its threads, including ended ones. Anyone may read
 * it. It identifies the process only by its pid: verify the process afterwards.
 */
bool procdir_cpu_clock(const struct procdir *d, int pid, uint64_t *ret_ns);

/* Calls back for each name in <root>/proc/PID/NAME that is a number; returns how many, or a
 * negative errno. */
int procdir_numbers(const struct procdir *d, int pid, const char *name,
		    void (*each)(void *user, int number), void *user);
/* The number of open descriptors of a process, without a listing since Linux 6.2. *fd as above. */
int procdir_count_fds(struct procdir *d, int *fd, int pid);
