/*
 * Puts jobs into the store, each completely or not at all. A job that is already stored is left
 * alone.
 */
#pragma once

#include "context/context.h"

#define SUBMIT_WORKERS_MAX 256

struct submit_options {
	bool error, dry, remove, move_away, drop, json;
	uint64_t workers;
};
/* Submits the inputs, or without any the current or last job. Reports errors; returns the exit
 * status. */
int do_submit(struct context *ctx, const struct submit_options *o, int argc, char **argv);
