/*
 * Where the core time of a job went: granted cores x wall time, divided into parts that add up to
 * it (core_parts.def). Pure functions over the evidence of one interval; who loads the evidence
 * from records and samples adds the intervals up.
 *
 * One waiting thread explains at most one idle core: what threads waited for is counted only as far
 * as cores had nothing to run. So a pool of a thousand sleeping threads does not outweigh the one
 * core that they could have used, and the sum never exceeds what was granted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum core_part {
#define CORE_PART(id, name, family, words) CORE_##id,
#include "analysis/core_time/core_parts.def"
#undef CORE_PART
	CORE_PARTS
};

enum core_family {
	CORE_BUSY_FAMILY,
	CORE_KERNEL_FAMILY,
	CORE_RUNNABLE_FAMILY,
	CORE_BLOCKED_FAMILY,
	CORE_IDLE_FAMILY,
	CORE_UNKNOWN_FAMILY,
};

struct core_part_row {
	const char *name, *words;
	enum core_family family;
};
extern const struct core_part_row core_parts[CORE_PARTS];

/* Core seconds by part, and thread seconds for which there was no core even with all of them busy:
 * what threads wanted beyond the grant. */
struct core_time {
	double part[CORE_PARTS];
	double excess_own, excess_others, excess_quota;
};

/* What threads waited for, in thread seconds. */
enum wait_reason {
	WAIT_STORAGE,   /* uninterruptible, or in a call on a regular file */
	WAIT_NETWORK,   /* a socket whose peer is another host */
	WAIT_PROCESS,   /* a pipe, a local socket, a message queue, a System V semaphore */
	WAIT_LOCK,      /* a mutex */
	WAIT_CONDITION, /* a futex that is no mutex: a condition, a barrier, a join, an idle pool */
	WAIT_TIMER,     /* nanosleep and the like, poll() without descriptors */
	WAIT_CHILD,     /* wait4() and the like */
	WAIT_DEVICE,    /* the file of a GPU */
	WAIT_POLL,      /* poll(), select() or epoll on descriptors that are not known */
	WAIT_OTHER,     /* signals, stopped, unknown calls */
	WAIT_UNKNOWN,   /* alive and not running, for a reason that nobody looked at */
	WAIT_REASONS
};

/*
 * The evidence of one interval, of a job on one host or of a part of it. NAN: unknown. Times are
 * seconds, summed over threads.
 */
struct core_evidence {
	double seconds; /* length of the interval */
	double cores;   /* granted: the smallest of affinity, quota and the batch system's grant */
	double places;  /* cores on which its threads may run: without the quota */

	double user, system;
	double runnable;  /* ready to run without a core */
	double throttled; /* of it, stopped by a quota */
	double others;    /* CPU time of other processes on the same host */
	double host_idle; /* CPU time of the host that nobody used */
	double blocked;   /* exact time blocked on storage; a lower bound of WAIT_STORAGE */
	double wait[WAIT_REASONS];
	double members; /* of WAIT_PROCESS: for a process of the same job */

	double minor_faults;
	double reads, writes, read_bytes, write_bytes; /* calls and their bytes */
	double starts;                                 /* processes started */
	double network_bytes;                          /* through sockets, both directions */

	bool edge;     /* before the first process worked, or after the last one but one ended */
	bool uneven;   /* of several processes of the same program some have ended or wait */
	bool metadata; /* kernel time without another explanation is known to be file metadata */
};
/* Everything unknown. */
void core_evidence_init(struct core_evidence *e);

/*
 * Divides one interval. The parts add up to cores x seconds. Evidence that exceeds it (a clock that
 * was read a little later) is cut: CPU time first, then waiting for a core, then other waits.
 */
void core_time_divide(const struct core_evidence *e, struct core_time *ret);
void core_time_add(struct core_time *to, const struct core_time *from);
double core_time_total(const struct core_time *t);
double core_time_family(const struct core_time *t, enum core_family family);

/*
 * Of the thread time that a process spent in waits which also threads in the background have
 * (timers, events, conditions, children), the part that held it up: if one of its threads worked
 * all the time, nothing; if it only waited, all. active: s of CPU, waiting for a core and other
 * waits; waited: thread s in such waits; life: s.
 */
double core_time_held_up(double active, double waited, double life);

/* What kernel work costs, in seconds: one minor fault (the page is cleared), one read or write call
 * without its bytes, one byte that it copies, the start and end of one process, one byte through a
 * socket. Estimates of the order of what Linux 6 needs on
 * a virtual machine; what they explain is cut to the system time. */
#define COST_FAULT 1.5e-6
#define COST_CALL 0.5e-6
#define COST_START 0.7e-3
#define COST_SOCKET_BYTE 0.4e-9
/* Bytes of a call below which the call costs more than what it moves. */
#define SMALL_CALL 4096.0
