/*
 * A batch is what a node sends and a collector stores: some seconds of samples of one host,
 * complete in itself. It contains a compressed sample file (sample_file.h) and a header with its
 * sender and number, so that nothing is stored twice. Jobs are entities of kind ENTITY_JOB with
 * their id as name; rows of processes, GPUs and the like that belong to a job have "job" in
 * their metadata. docs/delivery.md has the layout.
 */
#pragma once

#include <stdint.h>

#include "core/strbuf.h"
#include "samples/sample_file.h"

#define BATCH_SIZE_MAX ((size_t)8 << 20)   /* as it is sent */
#define BATCH_WHOLE_MAX ((size_t)64 << 20) /* uncompressed */

/* Numbers start at 1 for each (node, boot). boot is a time or id that is new with every start of
 * the node daemon, so that numbers are not reused after the loss of a spool. */
struct batch_name {
	char node[256];
	uint64_t boot;
	uint64_t number;
};

/* ---- building ---- */

struct batcher;

/* Loads the compression module; -ENOSYS with the reason if it is missing. */
int batch_ready(struct strbuf *why);

/* Copies the head. Times of samples are this machine's boot time, and each batch has the clocks to
 * convert them; with boottime_ns 0 in the head, times are relative to the head's clocks. */
struct batcher *batcher_new(const struct sample_file_head *head);
void batcher_free(struct batcher *b);
/* Adds a source for all batches; its number. */
unsigned batcher_source(struct batcher *b, const char *name, unsigned every,
			struct sample_set *set);
/* Adds samples of a source. Each batch repeats the entities and absences that it needs. */
void batcher_add(struct batcher *b, unsigned source, struct sample_set *set);
/* Number of sets of samples in it; its size before compression. */
size_t batcher_readings(const struct batcher *b);
size_t batcher_size(const struct batcher *b);
/* Appends the batch to *out and starts the next one. 0 or negative errno: -ENODATA, it is empty;
 * -E2BIG, -ENOSYS, it is lost (take it before batcher_size() is some megabytes, and see
 * batch_ready()). */
int batcher_take(struct batcher *b, const struct batch_name *name, struct strbuf *out);
/* Makes a batch of an existing sample file. */
int batch_pack(const struct batch_name *name, const void *data, size_t n, struct strbuf *out);

/* ---- reading ---- */

/* Is it a valid node name? It is used in messages and paths: no blanks, control characters or
 * slashes, and no leading dot. */
bool batch_node_is_good(const char *node, size_t n);
/* Reads the name of a batch without decompressing it; -EBADMSG with the reason: invalid. */
int batch_peek(const void *p, size_t n, struct batch_name *ret, struct strbuf *why);
/* The host of all samples, by decompressing it; the batch may have another name. */
int batch_host(const void *p, size_t n, char ret[256], struct strbuf *why);
/* Decompresses it, for sample_file_next() and sample_file_close(). Every byte may be hostile.
 * Copies what it needs from p. */
int batch_open(struct sample_file *f, const void *p, size_t n, struct strbuf *why);
