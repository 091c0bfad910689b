/*
 * Running a command and everything it starts: child subreaper, so that orphans come to us; signals
 * passed on; exit status passed back; the kernel's events and our own reaps written to the record
 * file. Returns when the command has ended and its descendants had a moment to finish.
 */
#ifndef PL_RUN_SUPERVISOR_H
#define PL_RUN_SUPERVISOR_H

#include <stdint.h>
#include <sys/types.h>

#include "core/strbuf.h"

struct supervise_options {
	char *const *argv;
	char *const *envp;
	int records;       /* descriptor of the record file, O_APPEND; -1: write nothing */
	bool kernel;       /* listen to the kernel where it lets us */
	bool wait;         /* for descendants too, however long */
	uint64_t drain_ns; /* how long to wait for them otherwise, or at most */
	/* called when the command has begun, and when it has ended but is not yet reaped; or NULL
	 */
	void (*begun)(void *user, pid_t command, uint64_t begin_ns);
	void (*ending)(void *user);
	/* called when a signal that asks programs to end has come from outside, after it went on */
	void (*told)(void *user, int sig);
	void *user;
};

struct supervise_result {
	int error;                 /* errno when the command could not be started */
	int status;                /* of the command, as wait() has it */
	uint64_t begin_ns, end_ns; /* boot time of its life */
	uint64_t over_ns;          /* its end, or that of the last that was waited for */
	uint64_t cpu_total_us;     /* of the whole reaped tree */
	uint64_t own_cpu_us;       /* of this process */
	uint64_t reaped;           /* children that came to us, the command included */
	uint64_t running;          /* descendants alive at the end */
	uint64_t forks, exits;     /* by the kernel's count; 0 without */
	bool counted_by_kernel, lossy;
	int told;        /* signal from outside that asked the command to end; 0: none */
	int write_error; /* first errno of writing records; 0 when all was written */
	bool cut;        /* a process of the command could not write all of its records */
	char *cnproc_reason, *taskstats_reason; /* why not, NULL where listened to */
};

void supervise_result_release(struct supervise_result *r);
/* What a shell would have in $?. */
int supervise_status(const struct supervise_result *r);
void supervise(const struct supervise_options *o, struct supervise_result *ret);

#endif
