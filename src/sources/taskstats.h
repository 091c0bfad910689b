/*
 * taskstats exit records: the kernel's own account of every task that ends, with exact CPU time,
 * peaks and faults. Needs CAP_NET_ADMIN.
 */
#ifndef PL_SOURCES_TASKSTATS_H
#define PL_SOURCES_TASKSTATS_H

#include <stdint.h>

#include "core/strbuf.h"

struct taskstats_listener {
	int fd; /* -1: closed */
	int family;
};

/* One task's end. Of a multi-threaded process each thread sends one. */
struct task_exit {
	int pid, tgid, ppid;
	char comm[33];
	int status;         /* as wait() has it */
	bool last_of_group; /* no other thread of the process is left */
	bool forked_only;   /* never executed a program */
	uint64_t oncpu_ns, waiting_ns, timeslices;
	uint64_t utime_us, stime_us, elapsed_us;
	uint64_t minflt, majflt, vol_ctxsw, invol_ctxsw;
	uint64_t rss_peak_kib, vm_peak_kib;
	uint64_t read_bytes, write_bytes, cancelled_write_bytes;
	uint64_t blkio_delay_ns;
};

typedef void (*task_exit_handler)(void *user, const struct task_exit *e);

int taskstats_open(struct taskstats_listener *t, struct strbuf *why);
void taskstats_close(struct taskstats_listener *t);
/* As cnproc_drain(). */
int taskstats_drain(struct taskstats_listener *t, task_exit_handler handler, void *user);

#endif
