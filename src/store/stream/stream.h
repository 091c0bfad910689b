/*
 * Streams samples from a collector's log to a store while jobs run, in the same tables that
 * `submit` fills. Samples wait in memory until a commit, which writes them in one transaction
 * together with the position in the log, so that nothing is stored twice whatever ends the program
 * or the server. docs/delivery.md tells which jobs the values belong to.
 */
#pragma once

#include "samples/sample_file.h"
#include "store/store.h"

struct stream;

/* key: name of the log; *position: its first entry that is not in the store, 0: none known.
 * -EAGAIN: the server cannot be reached, or the store is busy. */
int stream_open(struct stream **ret, const char *url, const char *key, uint64_t *position,
		struct strbuf *why);
/* Takes over the position of a log with another name; 0: none. */
int stream_take_over(struct stream *s, const char *key, uint64_t *position, struct strbuf *why);
void stream_close(struct stream *s); /* accepts NULL */
/* limit_ns: time for pending sums of jobs; the rest is done at the next opening. */
void stream_close_within(struct stream *s, uint64_t limit_ns);

/* Adds all readings of a file. job_of: the job of an entity; false: it belongs to the node. */
typedef bool (*stream_job_of)(const struct entity *e, const char **ret, size_t *ret_size);
int stream_add(struct stream *s, struct sample_file *f, stream_job_of job_of);
/* The last error of the store. */
void stream_why(const struct stream *s, struct strbuf *why);
/* Bytes that wait for a commit. */
size_t stream_held(const struct stream *s);
/* Writes what was added; position: the first entry after it. -EBADMSG: the store refuses the data.
 * -ESTALE: a job was submitted or deleted since it was looked up. -EAGAIN: anything else, which may
 * pass; after both the stream must be closed and opened again. Discards what was added in any case.
 */
int stream_commit(struct stream *s, uint64_t position, struct strbuf *why);
/* Discards what was added since the last commit. */
void stream_forget(struct stream *s);
