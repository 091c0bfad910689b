/*
 * A sampler beside a command that we run ourselves: in a process of its own, no child of ours, so
 * that it is in nobody's account, no signal of the terminal reaches it, and nothing that happens to
 * it can touch the command. It ends with the command, or when we are gone.
 */
#ifndef PL_SAMPLER_SIDECAR_H
#define PL_SAMPLER_SIDECAR_H

#include <sys/types.h>

#include "sampler/sampler.h"

struct sidecar {
	int stop, done; /* -1: not there */
};
#define SIDECAR_INIT                   \
	{                              \
		.stop = -1, .done = -1 \
	}

/* Starts it; it waits for sidecar_begin(). Its watch is made from the command's process, the
 * options' own is not used. Not to be called by a child subreaper. */
int sidecar_start(struct sidecar *s, const struct sampler_options *o);
/* The command runs under this id, since then (boot time). */
void sidecar_begin(struct sidecar *s, pid_t command, uint64_t begin_ns);
/* The command has ended and is not yet reaped: takes the last reading, for which it waits. What
 * came of it, as a dict; NULL when it did not answer. */
struct value *sidecar_end(struct sidecar *s);

/* The same dict for a sampler in this process. */
struct value *sampler_facts(const struct sampler_result *r);

#endif
