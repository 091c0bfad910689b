/*
 * Stores the phases of a job in its transaction, after its images: a phase is joined to the image
 * that marked it. Phases of programs are written as they come. Those of scripts wait for the
 * process tree, because their CPU time is that of the processes that the script started in them.
 */
#pragma once

#include "records/mark_log.h"
#include "store/ingest/ingest.h"

enum phase_origin { PHASE_PROGRAM, PHASE_SCRIPT, PHASE_COMMAND };

struct ingest_phase {
	uint64_t log; /* of the process; see struct mark_file */
	const char *host, *name;
	uint32_t pid, tid;
	int64_t rank;    /* -1: none */
	uint32_t parent; /* number of the phase around it; 0: none */
	uint16_t depth;
	enum mark_state state;
	enum phase_origin origin;
	int64_t begin_ns;
	int64_t duration_ns; /* -1: unknown */
	int64_t cpu_ns;      /* -1: unknown */
};

/* Adds a phase; all images of the job have been added. *ret_number: its number in the job. An open
 * one without a duration ends with its image. */
int ingest_phase(struct ingest *in, const struct ingest_phase *p, uint32_t *ret_number);
/* Writes what waits; the tree has been built. */
int ingest_phases_finish(struct ingest *in);
void ingest_phases_free(struct ingest *in);

/* Copies the phases of a stored job that this one replaces, except those of the given logs, which
 * are sorted. */
int ingest_phases_copy(struct ingest *in, int64_t job, const uint64_t *without, size_t count);
