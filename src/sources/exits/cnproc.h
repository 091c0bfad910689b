/*
 * The kernel's process connector: every fork, exec and exit on the machine, for anyone since Linux
 * 6.6, for CAP_NET_ADMIN before. It carries process ids and exit codes, no counters, and may lose
 * events when we are slow, which we are told of.
 */
#ifndef PL_SOURCES_EXITS_CNPROC_H
#define PL_SOURCES_EXITS_CNPROC_H

#include <stdint.h>

#include "core/strbuf.h"

struct cnproc {
	int fd; /* -1: closed */
};

enum cnproc_what { CNPROC_FORK, CNPROC_EXEC, CNPROC_EXIT };

struct cnproc_event {
	enum cnproc_what what;
	int pid, tgid;   /* of the child for a fork */
	int parent_tgid; /* fork only */
	int status;      /* exit only, as wait() has it */
	uint64_t boottime_ns;
};

typedef void (*cnproc_handler)(void *user, const struct cnproc_event *e);

/* 0, or a negative errno with the reason and its remedy in *why. */
int cnproc_open(struct cnproc *c, struct strbuf *why);
/* Tells of new processes and of programs that begin only: no threads, no ends. buffer: bytes, as
 * the kernel counts them. */
int cnproc_open_begins(struct cnproc *c, size_t buffer, struct strbuf *why);
/* Opens a socket while there is a right to, which those who open one later share. */
void cnproc_open_early(void);
void cnproc_close(struct cnproc *c);
/* Handles all that is waiting. Returns 1 when events were lost since the last call, 0 when not, or
 * a negative errno. */
int cnproc_drain(struct cnproc *c, cnproc_handler handler, void *user);
/* The same up to the first event after a moment (boot time), which is handled too. 1: there may be
 * more, 0: none is waiting, or a negative errno. *lost grows by the times that the kernel had to
 * drop some. */
int cnproc_receive(struct cnproc *c, cnproc_handler handler, void *user, uint64_t until_ns,
		   uint64_t *lost);

#endif
