/* The command of `plimsoll top -- COMMAND`: started, watched, and waited for. */
#ifndef PL_CMD_RECORD_TOP_COMMAND_H
#define PL_CMD_RECORD_TOP_COMMAND_H

#include <stdio.h>
#include <sys/types.h>

#include "cmd/command.h"

struct top_command {
	pid_t pid;    /* 0: there is none */
	int pidfd;    /* can be read when it has ended */
	FILE *output; /* what it printed while the terminal was ours; NULL: it went its own way */
	int status;   /* of waitpid() */
	bool ended;
};

/*
 * Starts it. draws: the terminal is ours; it then reads nothing, and what it prints is kept until
 * its end. Else what it prints goes to standard error. 0, or the exit status with the reason said.
 */
int top_command_start(struct top_command *c, char **argv, bool draws);
/* Has it ended? False where there is none. */
bool top_command_over(struct top_command *c);
/* Sleeps so long, or until it ends or a signal comes. */
void top_command_nap(const struct top_command *c, uint64_t ns);
/* Waits for its end and prints what it printed; its status, and how the program shall end. */
int top_command_finish(struct top_command *c, struct context *ctx);

#endif
