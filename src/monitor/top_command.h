/* Starts the command of `plimsoll top -- COMMAND` and waits for it. */
#pragma once

#include <stdio.h>
#include <sys/types.h>

#include "context/context.h"

struct top_command {
	pid_t pid;    /* 0: there is none */
	int pidfd;    /* readable when it has ended */
	FILE *output; /* its output while we use the terminal; NULL: not buffered */
	int status;   /* of waitpid() */
	bool ended;
};

/*
 * Starts it. draws: we use the terminal, so it gets no input and its output is buffered until its
 * end. Otherwise its output goes to standard error. Returns 0, or the exit status after reporting
 * the error.
 */
int top_command_start(struct top_command *c, char **argv, bool draws);
/* Has it ended? False if there is none. */
bool top_command_over(struct top_command *c);
/* Sleeps until the time is over, it ends or a signal arrives. */
void top_command_nap(const struct top_command *c, uint64_t ns);
/* Waits for its end and prints its output; returns its status and sets ctx->end_by. */
int top_command_finish(struct top_command *c, struct context *ctx);
