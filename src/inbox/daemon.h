/* What `daemon` does under any name of the program. */
#ifndef PL_INBOX_DAEMON_H
#define PL_INBOX_DAEMON_H

#include "context/context.h"

#define EXIT_NOT_RUNNING 3 /* as init scripts have it */

struct daemon_options {
	const char *dir; /* NULL: nothing is ingested, the store is kept within its limits */
	const char *pidfile;
	bool keep, recursive, once, background, status, stop;
	uint64_t interval_ns;
	uint64_t retire_ns; /* 0: never, DAEMON_RETIRE_AUTO: when there is a limit */
};
#define DAEMON_RETIRE_AUTO UINT64_MAX
#define DAEMON_INTERVAL_NS UINT64_C(60000000000)
#define DAEMON_RETIRE_NS UINT64_C(3600000000000)

/* Runs it, or asks the running one: o->status, o->stop. The exit status. */
int do_daemon(struct context *ctx, const struct daemon_options *o);

/* ---- the file that says who runs ------------------------------------------------------------ */

struct daemon_counts {
	uint64_t ingested, failed, waiting, skipped;
};
struct pidfile {
	char *path; /* for people */
	char *name;
	int dir, fd;
};
#define PIDFILE_INIT                \
	{                           \
		.dir = -1, .fd = -1 \
	}
/* Opens it, with create for the one that is to run. path NULL: daemon.pid in the prefix. */
int pidfile_open(struct pidfile *p, struct context *ctx, const char *path, bool create,
		 struct strbuf *why);
/* Makes it ours for as long as this process and its children keep it open; -EBUSY when another
 * daemon has it. */
int pidfile_lock(struct pidfile *p);
/* Is it held? Then its pid and counts. */
bool pidfile_running(const struct pidfile *p, pid_t *ret_pid, struct daemon_counts *ret);
void pidfile_write(struct pidfile *p, const struct daemon_counts *n);
void pidfile_remove(struct pidfile *p);
void pidfile_release(struct pidfile *p);

/* Signals by which daemons are told to end (INT, TERM) or to look again (HUP) are held back in this
 * thread and those it starts, and readable: the descriptor, or a negative errno. */
int hold_signals(void);
/* As many open files as the hard limit lets us have. */
void raise_file_limit(void);

/* A line for systemd, "READY=1"; nothing happens where nobody asked for it. */
void notify_service_manager(const char *text);
/* How often it wants to hear from us, ns; 0: not at all. */
uint64_t watchdog_ns(void);

#endif
