/*
 * Signals of `run`: passes signals on to the command, and stops and continues with it under job
 * control. A shell sees the same as with the command alone.
 */
#pragma once

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/util.h"

struct relay {
	int fd;                 /* signalfd; -1: not available, poll */
	uint64_t mask;          /* signal mask before us */
	struct sigaction child; /* action of SIGCHLD before us */
	pid_t command;          /* 0: not started */
	int end_signal;         /* the last signal from outside that asks to end; 0: none */
	int waker; /* pid of the last helper that waited while we were stopped; 0: none */
	uint64_t waker_cpu_us; /* CPU time of all helpers, part of our children's */
};

/* Blocks all signals; relay_take() handles them. */
void relay_open(struct relay *r);
/* Restores the signals in a child before exec. Async-signal-safe. */
void relay_restore(const struct relay *r);
/* Restores the signals. */
void relay_close(struct relay *r);

/* Handles pending signals and passes them on, unless the command has ended. True: a child changed
 * its state. */
bool relay_take(struct relay *r, bool ended);
/* If the command has stopped, stops us by the same signal, and returns when both go on. True: that
 * happened, and r->waker was a child that is not the command's. */
bool relay_follow_stop(struct relay *r);

/*
 * From here on only the second INT, QUIT, TERM or HUP ends us, so that ^C does not lose the records
 * of a command that has ended. held_signal(): the first one, or 0.
 */
void hold_ending_signals(void);
int held_signal(void);

/* SIGPIPE does not end us. Programs that we execute keep its action. */
void outlive_readers(void);
/* The same for SIGXFSZ (RLIMIT_FSIZE): write() fails instead. */
void outlive_file_limits(void);

/* Ends this process by the signal, without a core file; returns only if that is impossible. */
void end_by_signal(int sig);
