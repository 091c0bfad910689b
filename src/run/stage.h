/*
 * Packs stopped jobs into archives, passes them to the stage command, and removes the job
 * directories once that has succeeded.
 */
#pragma once

#include "context/context.h"

struct stage_options {
	bool error, no_collate, no_archive;
	const char *dest; /* NULL: configured */
};
/* argv: job directories; none: the current or last job. Reports errors; returns the exit status. */
int do_stage(struct context *ctx, const struct stage_options *o, int argc, char **argv);
