/*
 * Files of processes below /proc that are read again and again. On a live machine their descriptors
 * stay open, which saves two thirds of the cost and cannot mistake a process: once it is gone its
 * descriptors answer ESRCH, whoever has its number then. The soft limit of descriptors is raised to
 * the hard one; where that is too low some files are opened, read and closed each time. (Closing
 * the least recently used would be no good: all are read in turn, so it would be the one that is
 * wanted next.) In a recorded tree nothing is kept.
 */
#ifndef PL_SOURCES_PROCESS_PROCDIR_H
#define PL_SOURCES_PROCESS_PROCDIR_H

#include <sys/types.h>

#include "core/strbuf.h"

struct procdir {
	int fd;               /* <root>/proc; -1: closed */
	bool live;            /* root is "" */
	bool clocks;          /* CPU clocks go by the numbers that /proc shows */
	bool idle_known;      /* a CPU clock that stands still is of a process that did not run */
	unsigned kept, limit; /* descriptors that stay open, and how many may */
};

/* percent: this user's share of the descriptors. */
int procdir_open(struct procdir *d, const char *root, unsigned percent, struct strbuf *why);
void procdir_close(struct procdir *d);

/*
 * Reads the beginning of <root>/proc/PID/NAME. *fd is -1 or what the call before left in it; keep:
 * leave it open where there is room. The number of bytes, or a negative errno: -ESRCH when the
 * process, or what the descriptor is of, is gone, *fd is -1 then.
 */
ssize_t procdir_read(struct procdir *d, int *fd, int pid, const char *name, bool keep, char *buf,
		     size_t size);
/* The target of the link <root>/proc/PID/NAME, cut off at size; negative errno. Not terminated. */
ssize_t procdir_link(const struct procdir *d, int pid, const char *name, char *buf, size_t size);
void procdir_forget(struct procdir *d, int *fd);

/*
 * The CPU clock of a process: nanoseconds of all its threads, those that ended included. Anyone may
 * read it. It names a process by its number alone: what tells the process must be read afterwards.
 */
bool procdir_cpu_clock(const struct procdir *d, int pid, uint64_t *ret_ns);

/* Calls for each number that is a name in the directory <root>/proc/PID/NAME; how many, or a
 * negative errno. */
int procdir_numbers(const struct procdir *d, int pid, const char *name,
		    void (*each)(void *user, int number), void *user);
/* How many entries the directory fd of a process has: without listing it since Linux 6.2. *fd as
 * above. */
int procdir_count_fds(struct procdir *d, int *fd, int pid);

#endif
