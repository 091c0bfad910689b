/*
 * The signals of `run`: every one that somebody sends us goes on to the command, and what the
 * command does under job control we do after it. A shell that started us sees what it would see
 * of the command alone.
 */
#ifndef PL_RUN_SIGNAL_RELAY_H
#define PL_RUN_SIGNAL_RELAY_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/util.h"

struct relay {
	int fd;        /* can be read when a signal has come; -1: none was free, look often */
	uint64_t mask; /* what was blocked before us */
	struct sigaction child; /* what SIGCHLD did before us */
	pid_t command;          /* 0: not started */
	int told;               /* the last signal from outside that asks a program to end; 0 */
	int waker;              /* pid of the last helper that waited while we were stopped; 0 */
	uint64_t waker_cpu_us;  /* what all of them used, part of our children's usage */
};

/* Takes over all signals. Those sent from here on wait for relay_take(). */
void relay_open(struct relay *r);
/* In a child, before it executes: as it would be without us. Async-signal-safe. */
void relay_restore(const struct relay *r);
/* Gives the signals back. */
void relay_close(struct relay *r);

/* Passes on what has come; ended: there is nobody left to pass it to. True when a child changed. */
bool relay_take(struct relay *r, bool ended);
/* Where the command has stopped, stops us by the same signal; returns when we both go on. True when
 * that happened: r->waker is a child that is not the command's. */
bool relay_follow_stop(struct relay *r);

/*
 * From here on the first INT, QUIT, TERM or HUP does not end us, only the second: an impatient ^C
 * shall not cost the record of a command that has ended. held_signal() is the one that came, or 0.
 */
void hold_ending_signals(void);
int held_signal(void);

/* A reader of our words that goes away is no reason to end. Programs that we execute keep SIGPIPE
 * as it was. */
void outlive_readers(void);
/* The same of a file that may not grow (RLIMIT_FSIZE): that is an error of write(). */
void outlive_file_limits(void);

/* Ends this process by the signal, without a core file; returns only where that is impossible. */
void end_by_signal(int sig);

#endif
