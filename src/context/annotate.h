/* Adds annotations to a job in its directory, inside its archive, or in the store. */
#pragma once

#include "context/context.h"

struct annotate_options {
	bool replace; /* remove existing annotations first */
	bool clear;   /* the same, and new ones are optional */
	bool json;    /* values are JSON */
};
/* argv: [PATH|JOB] KEY=VALUE... Reports errors; returns the exit status. */
int do_annotate(struct context *ctx, const struct annotate_options *o, int argc, char **argv);
