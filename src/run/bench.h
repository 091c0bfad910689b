/* Repeats commands and records each repetition as a job of the store, for `plimsoll bench`. */
#pragma once

#include "context/context.h"

#define BENCH_COMMANDS_MAX 2
#define BENCH_ROUNDS_MAX 10000

struct bench_command {
	char **argv;      /* ends with NULL */
	const char *name; /* of its jobs */
};

struct bench_request {
	struct bench_command commands[BENCH_COMMANDS_MAX];
	size_t count;
	size_t rounds, warmup;
	uint64_t seed;       /* of the order within each round */
	bool show_output;    /* of the commands; else it is discarded */
	bool ignore_failure; /* else the first failure ends everything */
	bool progress;       /* on standard error */
};

struct bench_result {
	char **ids[BENCH_COMMANDS_MAX]; /* job ids of complete runs, by command */
	size_t runs[BENCH_COMMANDS_MAX];
	int signal; /* that ended it early; 0: none */
};
void bench_result_release(struct bench_result *r);
#define _cleanup_bench_result_ _cleanup_(bench_result_release)

/* Runs all rounds: in each, every command once, in random order. Runs that were recorded before a
 * failure or a signal stay. 0, or a negative errno after reporting the error. Blocks. */
int bench_run(struct context *ctx, const struct bench_request *q, struct bench_result *r);
