/*
 * Runs a command: as child subreaper, so that orphans become our children; passes signals on and
 * the exit status back; writes kernel events and our own waits to the record file. Returns when the
 * command has ended and its descendants had a moment to finish.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "core/strbuf.h"

struct supervise_options {
	char *const *argv;
	char *const *envp;
	int records; /* descriptor of the record file, O_APPEND; -1: write nothing */
	bool kernel; /* listen to kernel events, if permitted */
	bool wait;   /* for descendants, too */
	uint64_t
		drain_ns; /* how long to wait for them otherwise; with wait: at most, 0: no limit */
	/* called after the start of the command, and between its end and its wait(); or NULL
	 */
	void (*begun)(void *user, pid_t command, uint64_t begin_ns);
	void (*ending)(void *user);
	/* called while the command runs, soon after its start and then more and more seldom; or
	 * NULL */
	void (*look)(void *user);
	/* called after a signal such as SIGTERM from outside was passed on; or NULL */
	void (*asked_to_end)(void *user, int sig);
	void *user;
};

struct supervise_result {
	int error;                 /* errno when the command could not be started */
	int status;                /* of the command, as wait() returns it */
	uint64_t begin_ns, end_ns; /* begin and end by boot time */
	uint64_t over_ns;          /* end of the last process that was waited for */
	uint64_t cpu_total_us;     /* of the whole reaped tree */
	uint64_t own_cpu_us;       /* of this process */
	uint64_t reaped;           /* children that we waited for, with the command */
	uint64_t running;          /* descendants alive at the end */
	uint64_t forks, exits;     /* by the kernel; 0: unknown */
	bool counted_by_kernel, lossy;
	int end_signal;  /* signal from outside that asked the command to end; 0: none */
	int write_error; /* first errno of writing records; 0: none */
	bool cut;        /* a process of the command could not write all of its records */
	char *cnproc_reason, *taskstats_reason; /* why not available; NULL: available */
};

void supervise_result_release(struct supervise_result *r);
/* The exit status of a shell. */
int supervise_status(const struct supervise_result *r);
void supervise(const struct supervise_options *o, struct supervise_result *ret);
