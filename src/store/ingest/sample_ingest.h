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

struct curves;

struct curves_result {
	uint64_t files, readings, series, values;
	int64_t first_us, last_us; /* 0: no reading */
};

/* in must live as long. Without a store everything is read and counted. */
struct curves *curves_new(struct ingest *in);
/* The ingest's job has samples of other parts: what follows is added to them. runs: when they were
 * taken, by curves_runs(). end_us: when the part that follows ended. */
int curves_resume(struct curves *c, const struct value *runs, int64_t end_us);
/* When which hosts were sampled by what was read; a list, the caller's. */
struct value *curves_runs(const struct curves *c);
/* By what the samples of one sampler are known again, in whatever file. */
uint64_t curves_session(const struct samplefile_head *h);
/* Those are in the store: passed over. readings: only so many of them are, and what follows is
 * added; 0: all. */
void curves_skip(struct curves *c, uint64_t session, uint64_t readings);
/* Adds what was read, as far as it was not passed over. */
void curves_inventory(const struct curves *c, struct inventory *inv);
/* Adds a sample file; fd is taken. What is damaged becomes a warning of the job. Negative errno
 * when it cannot be read, or the store fails; the sentence is in *why. */
int curves_file(struct curves *c, int fd, const char *name, struct strbuf *why);
/* Writes the rest, and makes hosts and times known to the ingest. */
int curves_finish(struct curves *c, struct curves_result *ret, struct strbuf *why);
void curves_free(struct curves *c); /* accepts NULL */

#endif
