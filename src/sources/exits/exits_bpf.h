/*
 * Which control groups of version 2 a task was in when it ended, by a small BPF program at the
 * kernel's own tracepoint: it is asked on the spot, so that nothing can be too short or be moved
 * too late for it. Only exits.c uses it; without it the rest goes on, by what forks and groups
 * tell.
 */
#ifndef PL_SOURCES_EXITS_EXITS_BPF_H
#define PL_SOURCES_EXITS_EXITS_BPF_H

#include <linux/bpf.h>
#include <stdint.h>

#include "core/strbuf.h"

/* Groups below the root that are told: jobs are looked for to this depth as well. */
#define BPF_LEVELS 8

/* What the program says about a task, as it lies in the ring. */
struct bpf_task {
	uint64_t id;                 /* thread below, process above */
	uint64_t groups[BPF_LEVELS]; /* from the outermost one on; 0: it is not in so many */
};

/* Records from the kernel, as it lays them out: both positions grow, only we move the consumer's.
 */
struct bpf_ring {
	_Atomic(unsigned long) *consumer;
	const _Atomic(unsigned long) *producer;
	const unsigned char *data;
	size_t size; /* a power of two */
};

/* Calls for what is there, at most so many; how many there were. */
size_t bpf_ring_take(struct bpf_ring *r, size_t most,
		     void (*visit)(void *user, const struct bpf_task *task), void *user);

/* Passes over what is there without a look: pages that are not looked at are not ours. */
void bpf_ring_skip(struct bpf_ring *r);

#define BPF_PROGRAM_MAX 64
/* The program, for a ring with this descriptor; how many instructions it has. */
size_t bpf_program(int ring, struct bpf_insn out[BPF_PROGRAM_MAX]);

struct exits_bpf {
	int map, program, link;
	struct bpf_ring ring;
	void *consumer_page, *producer_pages;
};

/* 0 or a negative errno, with the reason. Needs CAP_BPF and CAP_PERFMON, only here. */
int exits_bpf_open(struct exits_bpf **ret, struct strbuf *why);
void exits_bpf_close(struct exits_bpf *b);

#endif
