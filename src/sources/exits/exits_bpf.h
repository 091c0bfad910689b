/*
 * The control groups of version 2 that a task was in when it ended, reported by a small BPF program
 * at a tracepoint of the kernel: it runs in the exiting task, so no task is too short and none is
 * moved too late for it. Only exits.c uses it; without it, parents and scans of groups are used.
 */
#pragma once

#include <linux/bpf.h>
#include <stdint.h>

#include "core/strbuf.h"

/* Levels below the root that are reported; jobs are searched for to the same depth. */
#define BPF_LEVELS 8

/* What the program reports about a task, as it is in the ring. */
struct bpf_task {
	uint64_t id;                 /* thread below, process above */
	uint64_t groups[BPF_LEVELS]; /* from the outermost; 0: no more */
};

/* The ring buffer as the kernel lays it out: both positions only grow; we advance the consumer. */
struct bpf_ring {
	_Atomic(unsigned long) *consumer;
	const _Atomic(unsigned long) *producer;
	const unsigned char *data;
	size_t size; /* a power of two */
};

/* Calls back for up to most records; returns how many there were. */
size_t bpf_ring_take(struct bpf_ring *r, size_t most,
		     void (*visit)(void *user, const struct bpf_task *task), void *user);

/* Skips all records without reading them, so that their pages do not count as our memory. */
void bpf_ring_skip(struct bpf_ring *r);

#define BPF_PROGRAM_MAX 64
/* Builds the program for a ring with this descriptor; returns its number of instructions. */
size_t bpf_program(int ring, struct bpf_insn out[BPF_PROGRAM_MAX]);

struct exits_bpf {
	int map, program, link;
	struct bpf_ring ring;
	void *consumer_page, *producer_pages;
};

/* 0 or a negative errno with the reason. Needs CAP_BPF and CAP_PERFMON, only during this call. */
int exits_bpf_open(struct exits_bpf **ret, struct strbuf *why);
void exits_bpf_close(struct exits_bpf *b);
