/*
 * Histories: what one is, and what its processes share. main.c runs many of them, histories.c plays
 * one, parts.c has the node and the collector, sinks.c what is read back in the end.
 */
#pragma once

#include "unit/support/fake_server.h"
#include "unit/support/sink_harness.h"

#include <stdatomic.h>
#include <sys/types.h>

#define NODES_MAX 2
#define TICKS_MAX 1024
#define LIVES_MAX 64

enum sink_kind {
	SINK_STORE,
	SINK_HDF5,
	SINK_CSV,
	SINK_ELASTIC,
	SINK_CLICKHOUSE,
	SINK_REMOTE_WRITE,
	SINK_KINDS
};
extern const char *const sink_names[SINK_KINDS];

/* How a process is asked to end: soon, or when all is delivered. */
enum quit { QUIT_NOT, QUIT_SOON, QUIT_DONE };

/* What a node did, by itself; a tick is a sample, ticks of a batch have the same number. */
struct node_book {
	_Atomic unsigned want, given; /* ticks */
	_Atomic int quit;
	struct {
		unsigned life, number;
	} ticks[TICKS_MAX];
	struct {
		_Atomic uint64_t batches; /* handed over */
		_Atomic uint64_t durable; /* of these: are in the spool or acknowledged, for sure */
		_Atomic uint64_t damaged, refused, lost; /* as it says */
	} lives[LIVES_MAX];
	_Atomic uint64_t dropped; /* the same, since the spool was made */
	_Atomic uint64_t left;    /* when it ended in order; UINT64_MAX: it did not yet */
};

struct collector_book {
	_Atomic int quit;
	_Atomic unsigned reopen; /* how often sinks shall begin anew */
	_Atomic bool drained;    /* every sink has what is in the log */
	struct {
		_Atomic uint64_t missing; /* as it says, in all lives */
		_Atomic uint64_t failures;
	} sinks[SINK_KINDS];
};

struct shared {
	struct node_book nodes[NODES_MAX];
	struct collector_book collector;
	char why[512]; /* of the last that could not begin */
};

struct part {
	pid_t pid; /* 0: not running */
	unsigned life;
	bool killed; /* ever, without an orderly end */
};

struct history {
	uint64_t seed, random;
	const char *dir; /* disk/c, disk/n0, ...: the machines */
	FILE *told;      /* what happened, for people */
	struct shared *shared;
	/* drawn once */
	unsigned node_count, readings, pace_us;
	uint64_t spool_limit, log_limit, commit_ns;
	bool sinks[SINK_KINDS];
	unsigned poisoned; /* one batch of so many is refused by sinks; 0: none */
	/* as it is now */
	struct part nodes[NODES_MAX], collector;
	struct fake_server servers[SINK_KINDS];
};

/* Says what is wrong and ends. */
#define wrong(h, ...)                                      \
	do {                                               \
		fprintf((h)->told, "WRONG: " __VA_ARGS__); \
		fputc('\n', (h)->told);                    \
		fflush((h)->told);                         \
		_exit(1);                                  \
	} while (0)

/* ---- histories.c ---- */
/* In a process of its own, which it ends: with 0 where nothing is wrong. */
void play(uint64_t seed, const char *dir, const bool *allowed);

/* ---- parts.c ---- */
void begin_node(struct history *h, unsigned i);
void begin_collector(struct history *h);

/* ---- sinks.c ---- */
const struct sink *sink_feed(enum sink_kind kind);
char *sink_target(const struct history *h, enum sink_kind kind);
bool sink_refuses(const struct history *h, const struct batch_name *name);
/* Reads a sink back and compares it with what the nodes say. */
void check_sink(struct history *h, enum sink_kind kind);
