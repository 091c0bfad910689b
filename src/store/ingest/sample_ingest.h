/*
 * Sample files on their way into a store, in the transaction of their job: values gather in chunks
 * that are written when a block of ticks is full, so memory is some hundred bytes for each series
 * that is alive, whatever the length of the job.
 */
#ifndef PL_STORE_INGEST_SAMPLE_INGEST_H
#define PL_STORE_INGEST_SAMPLE_INGEST_H

#include "core/value.h"
#include "samples/sample_file.h"
#include "store/ingest/ingest.h"
#include "store/ingest/part_inventory.h"

struct sample_ingest;

struct sample_ingest_result {
	uint64_t files, readings, series, values;
	int64_t first_us, last_us; /* 0: no reading */
};

/* in must live as long. Without a store everything is read and counted. */
struct sample_ingest *sample_ingest_new(struct ingest *in);
/* The ingest's job has samples of other parts: what follows is added to them. runs: when they were
 * taken, by sample_ingest_runs(). end_us: when the part that follows ended. */
int sample_ingest_resume(struct sample_ingest *c, const struct value *runs, int64_t end_us);
/* When which hosts were sampled by what was read; a list, the caller's. */
struct value *sample_ingest_runs(const struct sample_ingest *c);
/* By what the samples of one sampler are known again, in whatever file. */
uint64_t sample_ingest_session(const struct sample_file_head *h);
/* Those are in the store: passed over. readings: only so many of them are, and what follows is
 * added; 0: all. */
void sample_ingest_skip(struct sample_ingest *c, uint64_t session, uint64_t readings);
/* Adds what was read, as far as it was not passed over. */
void sample_ingest_inventory(const struct sample_ingest *c, struct inventory *inv);
/* Adds a sample file; fd is taken. What is damaged becomes a warning of the job. Negative errno
 * when it cannot be read, or the store fails; the sentence is in *why. */
int sample_ingest_file(struct sample_ingest *c, int fd, const char *name, struct strbuf *why);
/* Writes the rest, and makes hosts and times known to the ingest. */
int sample_ingest_finish(struct sample_ingest *c, struct sample_ingest_result *ret,
			 struct strbuf *why);
void sample_ingest_free(struct sample_ingest *c); /* accepts NULL */

#endif
