/*
 * Stores sample files in the transaction of their job. Values are buffered in chunks that are
 * written when a block of ticks is full, so memory is some hundred bytes per live series, whatever
 * the length of the job.
 */
#pragma once

#include "core/value.h"
#include "samples/sample_file.h"
#include "store/ingest/ingest.h"
#include "store/ingest/part_inventory.h"

struct sample_ingest;

struct sample_ingest_result {
	uint64_t files, readings, series, values;
	int64_t first_us, last_us; /* 0: no reading */
};

/* in must live as long. Without a store everything is only read and counted. */
struct sample_ingest *sample_ingest_new(struct ingest *in);
/* Continues the samples of other parts of the job. runs: of those parts, from sample_ingest_runs().
 * end_us: end of the new part. */
int sample_ingest_resume(struct sample_ingest *c, const struct value *runs, int64_t end_us);
/* When each host was sampled; a list, freed by the caller. */
struct value *sample_ingest_runs(const struct sample_ingest *c);
/* Identifies the samples of one sampler, in any file. */
uint64_t sample_ingest_session(const struct sample_file_head *h);
/* Skips the samples of a session that the store has. readings: only the first so many; 0: all. */
void sample_ingest_skip(struct sample_ingest *c, uint64_t session, uint64_t readings);
/* Adds what was read and not skipped. */
void sample_ingest_inventory(const struct sample_ingest *c, struct inventory *inv);
/* Adds a sample file; takes fd. Damage becomes a warning of the job. Negative errno if it cannot be
 * read, or the store fails, explained in *why. */
int sample_ingest_file(struct sample_ingest *c, int fd, const char *name, struct strbuf *why);
/* Writes the rest, and passes times to the ingest. */
int sample_ingest_finish(struct sample_ingest *c, struct sample_ingest_result *ret,
			 struct strbuf *why);
void sample_ingest_free(struct sample_ingest *c); /* accepts NULL */
