/*
 * Samples on their way into a store while their jobs run: what a collector's log holds, in the same
 * tables that `submit` fills. What is added waits in memory until a commit, which writes it in one
 * transaction together with the position in the log, so that nothing is there twice whatever ends
 * the program or the server. docs/delivery.md says which jobs the values belong to.
 */
#ifndef PL_STORE_STREAM_STREAM_H
#define PL_STORE_STREAM_STREAM_H

#include "samples/sample_file.h"
#include "store/store.h"

struct stream;

/* key names the log; *position is its first entry that is not in the store, 0 when it knows none.
 * -EAGAIN: the server cannot be reached, or the store is busy. */
int stream_open(struct stream **ret, const char *url, const char *key, uint64_t *position,
		struct strbuf *why);
/* Goes on where a log of another name was: the position, 0 when there is none of that name. */
int stream_take_over(struct stream *s, const char *key, uint64_t *position, struct strbuf *why);
void stream_close(struct stream *s); /* accepts NULL */
/* Sums of jobs that were not made yet may take so long; the others are made at the next opening. */
void stream_close_within(struct stream *s, uint64_t limit_ns);

/* Takes all readings of a file. job_of says which job an entity belongs to; false: to the node. */
typedef bool (*stream_job_of)(const struct entity *e, const char **ret, size_t *ret_size);
int stream_add(struct stream *s, struct sample_file *f, stream_job_of job_of);
/* What the store said last. */
void stream_why(const struct stream *s, struct strbuf *why);
/* Bytes that wait for a commit. */
size_t stream_held(const struct stream *s);
/* Writes what was added; position: the first entry that is then not in it. -EBADMSG: the store
 * refuses what is to be written. -ESTALE: a job was submitted or deleted since its number was
 * looked up. -EAGAIN: anything else, which may pass; the stream must be closed and opened again
 * after both. What was added is forgotten in any case. */
int stream_commit(struct stream *s, uint64_t position, struct strbuf *why);
/* Forgets what was added since the last commit. */
void stream_forget(struct stream *s);

#endif
