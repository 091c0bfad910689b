/* The daemon, for all personalities. */
#pragma once

#include "context/context.h"

#define EXIT_NOT_RUNNING 3 /* as init scripts have it */

struct daemon_options {
	const char *dir; /* NULL: only keep the store within its limits */
	const char *pidfile;
	bool keep, recursive, once, background, status, stop;
	bool no_analysis; /* do not compare new jobs with models */
	uint64_t interval_ns;
	uint64_t retire_ns; /* 0: never, DAEMON_RETIRE_AUTO: if there is a limit */
};
#define DAEMON_RETIRE_AUTO UINT64_MAX
#define DAEMON_INTERVAL_NS UINT64_C(60000000000)
#define DAEMON_RETIRE_NS UINT64_C(3600000000000)

/* Runs the daemon, or with o->status, o->stop talks to the running one. The exit status. */
int do_daemon(struct context *ctx, const struct daemon_options *o);

/* ---- pid file ------------------------------------------------------------ */

struct daemon_counts {
	uint64_t ingested, failed, waiting, skipped;
};
struct pidfile {
	char *path; /* for messages */
	char *name;
	int dir, fd;
};
#define PIDFILE_INIT                \
	{                           \
		.dir = -1, .fd = -1 \
	}
/* Opens it; create: for the daemon itself. path NULL: daemon.pid in the prefix. */
int pidfile_open(struct pidfile *p, struct context *ctx, const char *path, bool create,
		 struct strbuf *why);
/* Locks it while this process or a child has it open; -EBUSY: another daemon has it. */
int pidfile_lock(struct pidfile *p);
/* Is it locked? Then reads pid and counts. */
bool pidfile_running(const struct pidfile *p, pid_t *ret_pid, struct daemon_counts *ret);
void pidfile_write(struct pidfile *p, const struct daemon_counts *n);
void pidfile_remove(struct pidfile *p);
void pidfile_release(struct pidfile *p);

/* Blocks INT, TERM and HUP in this thread and its later ones; returns a descriptor to read them, or
 * a negative errno. */
int hold_signals(void);

/* Sends a line such as "READY=1" to systemd, if it asked for that. */
void notify_service_manager(const char *text);
/* Watchdog interval of systemd, ns; 0: none. */
uint64_t watchdog_ns(void);
