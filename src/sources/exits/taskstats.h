/*
 * taskstats: the kernel's own account of every task that ends, with exact CPU time, peaks and
 * faults, and the same of a living one that is asked for. Needs CAP_NET_ADMIN.
 */
#pragma once

#include <stdint.h>

#include "core/strbuf.h"

struct taskstats_listener {
	int fd; /* -1: closed */
	int family;
	uint32_t sequence; /* of the last question */
};

/* One task's end. Of a multi-threaded process each thread sends one. */
struct task_exit {
	int pid, tgid, ppid; /* tgid is 0 before record version 12 (Linux 5.18) */
	char comm[33];
	int status;         /* as wait() has it */
	bool last_of_group; /* no other thread of the process is left */
	bool threaded;      /* with last_of_group: the process had other threads */
	bool forked_only;   /* never executed a program */
#define TASK_SUM(member, field, unit, help) uint64_t member;
#include "sources/exits/task_fields.def"
#undef TASK_SUM
	uint64_t elapsed_us, begin_s; /* begin_s: since 1970 */
	uint64_t rss_peak_kib, vm_peak_kib;
};

typedef void (*task_exit_handler)(void *user, const struct task_exit *e);

int taskstats_open(struct taskstats_listener *t, struct strbuf *why);
/* The same with a buffer of this many bytes, as the kernel counts them. */
int taskstats_open_sized(struct taskstats_listener *t, size_t buffer, struct strbuf *why);
void taskstats_close(struct taskstats_listener *t);
/* Opens sockets while we have the capability, for use after it was dropped: receiving does not need
 * it. A closed socket is reused by the next call of open. */
void taskstats_open_early(void);
/* As cnproc_drain(). */
int taskstats_drain(struct taskstats_listener *t, task_exit_handler handler, void *user);
/* Handles up to about max messages. Returns how many; fewer: no more are waiting; or a negative
 * errno. *lost grows by the number of drops that the kernel reports. */
int taskstats_receive(struct taskstats_listener *t, task_exit_handler handler, void *user,
		      size_t max, uint64_t *lost);

/* Opens only for taskstats_ask(): no exit records arrive. */
int taskstats_ask_open(struct taskstats_listener *t, struct strbuf *why);
/* What a living thread has used so far. -ESRCH: it is gone; -EBADMSG: invalid answer. */
int taskstats_ask(struct taskstats_listener *t, int tid, struct task_exit *ret);
/* Do exit records name only the thread and not its process, as before Linux 5.18? 0, or a negative
 * errno as from taskstats_ask_open(). */
int taskstats_by_thread(bool *ret, struct strbuf *why);
/* Are process ids here those of the host, as in the records? */
bool taskstats_ids_match(void);
