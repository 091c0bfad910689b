/*
 * A sampler beside a command that we run: in its own process, which is not our child, so that its
 * resources are not counted, signals of the terminal do not reach it, and its failure cannot affect
 * the command. It ends with the command, or when we are gone.
 */
#pragma once

#include <sys/types.h>

#include "sampler/sampler.h"

struct sidecar {
	int stop, done; /* -1: not running */
};
#define SIDECAR_INIT                   \
	{                              \
		.stop = -1, .done = -1 \
	}

/* Starts it; it waits for sidecar_begin(). It watches the command's process; watch of the options
 * is not used. Must not be called by a child subreaper. */
int sidecar_start(struct sidecar *s, const struct sampler_options *o);
/* The command runs with this pid since begin_ns (boot time). */
void sidecar_begin(struct sidecar *s, pid_t command, uint64_t begin_ns);
/* The command has ended and is not yet reaped: waits for the last samples. Returns the result as a
 * dict; NULL: no answer. */
struct value *sidecar_end(struct sidecar *s);

/* The same dict for a sampler in this process. */
struct value *sampler_metadata(const struct sampler_result *r);
