/* `plimsoll mark`: phases of a script; see plimsoll/mark.h. */
#pragma once

#include "context/context.h"

struct mark_options {
	bool end;   /* end the phase, begin no other */
	bool point; /* mark a point in time */
};
/* Marks a phase of the calling process; command NULL: until its next mark. Exit status; that of the
 * command, if there is one. */
int do_mark(struct context *ctx, const struct mark_options *o, const char *name, char **command);
