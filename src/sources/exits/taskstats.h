/*
 * taskstats: the kernel's own account of every task that ends, with exact CPU time, peaks and
 * faults, and the same of a living one that is asked for. Needs CAP_NET_ADMIN.
 */
#ifndef PL_SOURCES_EXITS_TASKSTATS_H
#define PL_SOURCES_EXITS_TASKSTATS_H

#include <stdint.h>

#include "core/strbuf.h"

struct taskstats_listener {
	int fd; /* -1: closed */
	int family;
	uint32_t sequence; /* of the last question */
};

/* One task's end. Of a multi-threaded process each thread sends one. */
struct task_exit {
	int pid, tgid, ppid; /* tgid is 0 before version 12 of the record (Linux 5.18) */
	char comm[33];
	int status;         /* as wait() has it */
	bool last_of_group; /* no other thread of the process is left */
	bool threaded;      /* with last_of_group: the process had other threads */
	bool forked_only;   /* never executed a program */
	uint64_t oncpu_ns, waiting_ns, timeslices;
	uint64_t utime_us, stime_us, elapsed_us;
	uint64_t minflt, majflt, vol_ctxsw, invol_ctxsw;
	uint64_t rss_peak_kib, vm_peak_kib;
	uint64_t read_bytes, write_bytes, cancelled_write_bytes;
	uint64_t blkio_delay_ns;
	uint64_t blkio_count, swapin_count, swapin_delay_ns, freepages_count, freepages_delay_ns;
	uint64_t read_char, write_char, read_syscalls, write_syscalls; /* cut to 1024s */
	uint64_t coremem, virtmem;                                     /* MiB x us */
	uint64_t cpu_real_ns, cpu_scaled_ns, utime_scaled_us, stime_scaled_us;
	uint64_t begin_s; /* since 1970 */
};

typedef void (*task_exit_handler)(void *user, const struct task_exit *e);

int taskstats_open(struct taskstats_listener *t, struct strbuf *why);
/* With a buffer of this many bytes, as the kernel counts them. */
int taskstats_open_sized(struct taskstats_listener *t, size_t buffer, struct strbuf *why);
void taskstats_close(struct taskstats_listener *t);
/* Opens sockets while there is a right to, for those who open one after it has been given up:
 * receiving needs none. A socket that is closed then serves the next one who opens. */
void taskstats_open_early(void);
/* As cnproc_drain(). */
int taskstats_drain(struct taskstats_listener *t, task_exit_handler handler, void *user);
/* Handles about so many messages at most: how many, fewer when no more are waiting, or a negative
 * errno. *lost grows by the times that the kernel had to drop some. */
int taskstats_receive(struct taskstats_listener *t, task_exit_handler handler, void *user,
		      size_t max, uint64_t *lost);

/* Opens for questions only: no exit records come. */
int taskstats_ask_open(struct taskstats_listener *t, struct strbuf *why);
/* What a living thread used so far. -ESRCH: it is gone; -EBADMSG: the answer is not understood. */
int taskstats_ask(struct taskstats_listener *t, int tid, struct task_exit *ret);
/* Do exit records leave out which process a thread was of, as before Linux 5.18? 0, or a negative
 * errno as taskstats_ask_open(). */
int taskstats_by_thread(bool *ret, struct strbuf *why);
/* Are process ids here those of the machine, as the records have them? */
bool taskstats_ids_match(void);

#endif
