/*
 * A batch is what a node sends and a collector keeps: some seconds of readings of one host, whole
 * in itself. Inside it is a sample file (sample_file.h: head, sources, entities, readings),
 * compressed; around it who made it and its number, so that nothing is stored twice. Jobs are
 * entities of kind ENTITY_JOB by their id; rows of processes, GPUs and the like that belong to a
 * job have a fact "job". docs/delivery.md has the layout.
 */
#ifndef PL_TRANSPORT_BATCH_H
#define PL_TRANSPORT_BATCH_H

#include <stdint.h>

#include "core/strbuf.h"
#include "samples/sample_file.h"

#define BATCH_SIZE_MAX ((size_t)8 << 20)   /* as it is sent */
#define BATCH_WHOLE_MAX ((size_t)64 << 20) /* unpacked */

/* Who made it: number runs from 1 within (node, boot); boot is a time or id that is new with every
 * start of the node's program, so that a spool that was lost never leads to numbers used twice. */
struct batch_name {
	char node[256];
	uint64_t boot;
	uint64_t number;
};

/* ---- building ---------------------------------------------------------------------------------
 */

struct batcher;

/* Loads what packs and unpacks; -ENOSYS with the reason when it is missing. */
int batch_ready(struct strbuf *why);

/* The head is copied. Times of readings are this machine's boot time, and its clocks are told with
 * every batch and when they are set; with boottime_ns 0 in the head they are as the head says. */
struct batcher *batcher_new(const struct sample_file_head *head);
void batcher_free(struct batcher *b);
/* A source for all batches; its number. */
unsigned batcher_source(struct batcher *b, const char *name, unsigned every,
			struct sample_set *set);
/* Adds a reading. A batch tells every entity, fact and absence anew when it first has rows of it.
 */
void batcher_add(struct batcher *b, unsigned source, struct sample_set *set);
/* Readings in it, and its size before packing. */
size_t batcher_readings(const struct batcher *b);
size_t batcher_size(const struct batcher *b);
/* Packs it: a whole batch behind *out, and begins the next. name->number is put in. 0 or negative
 * errno: -ENODATA, nothing was added; -E2BIG, -ENOSYS, it is lost (take it before batcher_size() is
 * some megabytes, and see batch_ready()). */
int batcher_take(struct batcher *b, const struct batch_name *name, struct strbuf *out);
/* Packs a sample file that is there already. */
int batch_pack(const struct batch_name *name, const void *data, size_t n, struct strbuf *out);

/* ---- reading ----------------------------------------------------------------------------------
 */

/* May a node be called this? Its name is shown and part of paths: no blanks, control characters or
 * slashes, no dot at its start. */
bool batch_node_is_good(const char *node, size_t n);
/* The name of a batch without unpacking; -EBADMSG with the reason when it is none. */
int batch_peek(const void *p, size_t n, struct batch_name *ret, struct strbuf *why);
/* The host that all readings are of, by unpacking; the name may be another. */
int batch_host(const void *p, size_t n, char ret[256], struct strbuf *why);
/* Unpacks it: the readings come by sample_file_next(), sample_file_close() ends it. Every byte may
 * be hostile; p may go away afterwards. */
int batch_open(struct sample_file *f, const void *p, size_t n, struct strbuf *why);

#endif
