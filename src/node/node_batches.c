/* Batches of a node; see node_batches.h. */
#include "node/node_batches.h"

#include <errno.h>

#include "core/clock.h"

struct batches {
	struct node_batches_options o;
	struct node_batches_counts *counts;
	struct batcher *batcher;
	struct batch_name name;
	uint64_t due_ns;
	struct strbuf packed;
};

static unsigned add_source(void *user, const char *name, unsigned every, struct sample_set *set)
{
	struct batches *b = user;

	return batcher_source(b->batcher, name, every, set);
}

static void add_reading(void *user, unsigned source, struct sample_set *set)
{
	struct batches *b = user;

	batcher_add(b->batcher, source, set);
}

/* A batch has its own clocks. */
static void add_clock(void *user, uint64_t boottime_ns, int64_t realtime_ns)
{
	(void)user;
	(void)boottime_ns;
	(void)realtime_ns;
}

/* Numbers have no gaps: a batch that could not be made uses none. */
static int close_batch(struct batches *b)
{
	b->name.number++;
	strbuf_reset(&b->packed);
	int r = batcher_take(b->batcher, &b->name, &b->packed);
	if (r == 0)
		r = b->o.take(b->o.user, &b->name, b->packed.buf, b->packed.len);
	else
		b->name.number--;
	b->due_ns = clock_boottime_ns() + b->o.every_ns;
	if (r == -ENODATA)
		return 0;
	b->counts->batches += r == 0;
	b->counts->bytes += r == 0 ? b->packed.len : 0;
	b->counts->failed += r < 0;
	return r;
}

static int flush(void *user, bool sync)
{
	struct batches *b = user;

	if (!sync && clock_boottime_ns() < b->due_ns && batcher_size(b->batcher) < NODE_BATCH_BYTES)
		return 0;
	return close_batch(b);
}

static int restart(void *user, const struct sample_file_head *head)
{
	struct batches *b = user;
	int r = close_batch(b);

	batcher_free(b->batcher);
	b->batcher = batcher_new(head);
	return r;
}

static int end(void *user, const char *reason)
{
	struct batches *b = user;
	int r = close_batch(b);

	(void)reason;
	batcher_free(b->batcher);
	strbuf_release(&b->packed);
	free(b);
	return r;
}

void sample_output_batches(struct sample_output *ret, const struct node_batches_options *o,
			   const struct sample_file_head *head, struct node_batches_counts *counts)
{
	struct batches *b = xcalloc(1, sizeof(*b));

	b->o = *o;
	b->counts = counts;
	b->packed = (struct strbuf)STRBUF_INIT;
	snprintf(b->name.node, sizeof(b->name.node), "%s", o->node);
	b->name.boot = o->boot;
	b->batcher = batcher_new(head);
	b->due_ns = clock_boottime_ns() + o->every_ns;
	*ret = (struct sample_output){.source = add_source,
				      .add = add_reading,
				      .clock = add_clock,
				      .flush = flush,
				      .restart = restart,
				      .end = end,
				      .user = b};
}
