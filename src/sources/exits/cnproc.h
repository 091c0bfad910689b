/*
 * The kernel's process connector reports every fork, exec and exit on the host, to anyone since
 * Linux 6.6, with CAP_NET_ADMIN before. Events contain process ids and exit codes, no counters. The
 * kernel drops events when we are slow, and reports that.
 */
#pragma once

#include <stdint.h>

#include "core/strbuf.h"

struct cnproc {
	int fd; /* -1: closed */
};

enum cnproc_what { CNPROC_FORK, CNPROC_EXEC, CNPROC_EXIT };

struct cnproc_event {
	enum cnproc_what what;
	int pid, tgid;   /* for a fork: of the child */
	int parent_tgid; /* fork only */
	int status;      /* exit only, as wait() has it */
	uint64_t boottime_ns;
};

typedef void (*cnproc_handler)(void *user, const struct cnproc_event *e);

/* 0, or a negative errno with the reason and the remedy in *why. */
int cnproc_open(struct cnproc *c, struct strbuf *why);
/* Only forks of processes and execs: no threads, no exits. buffer: bytes, as the kernel counts
 * them.
 */
int cnproc_open_begins(struct cnproc *c, size_t buffer, struct strbuf *why);
/* Of what happens to few processes: to be woken by, beside a socket with all events, which is then
 * read in batches. Tells nothing until it watches. */
int cnproc_open_waker(struct cnproc *c);
/* From now on: execs and exits of these processes, and forks by them. At most CNPROC_WATCHED. */
int cnproc_watch(struct cnproc *c, const int *pids, size_t count);
#define CNPROC_WATCHED 64
/* Forgets what is waiting; false: there was nothing. */
bool cnproc_empty(struct cnproc *c);
/* How many events the kernel keeps for us, roughly. */
size_t cnproc_room(const struct cnproc *c);
/* Opens sockets while we have the capability; later calls of open share them. */
void cnproc_open_early(void);
void cnproc_close(struct cnproc *c);
/* Handles all waiting events. Returns 1 if events were lost since the last call, 0 if not, or a
 * negative errno. */
int cnproc_drain(struct cnproc *c, cnproc_handler handler, void *user);
/* The same up to and including the first event after until_ns (boot time). 1: there may be more, 0:
 * none is waiting, or a negative errno. *lost grows by the number of drops that the kernel reports.
 */
int cnproc_receive(struct cnproc *c, cnproc_handler handler, void *user, uint64_t until_ns,
		   uint64_t *lost);
