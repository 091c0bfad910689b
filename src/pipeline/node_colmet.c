/* colmet's records; see node_colmet.h. */
#include "pipeline/node_colmet.h"

#include <errno.h>
#include <string.h>

#include "core/clock.h"
#include "formats/colmet.h"
#include "pipeline/link.h"

struct message {
	char *data;
	size_t size;
};

struct colmet {
	struct link *link;
	struct colmet_mapper *mapper;
	struct node_colmet_counts *counts;
	char *node;
	char **sources; /* names by number */
	size_t source_count, source_cap;
	int64_t offset_ns;     /* wall clock less boot time */
	struct strbuf packing; /* the message being made */
	struct message *queue; /* a ring */
	size_t first, count, cap;
};

static unsigned add_source(void *user, const char *name, unsigned every, struct sample_set *set)
{
	struct colmet *c = user;

	(void)every;
	(void)set;
	GROW(c->sources, c->source_count, c->source_cap);
	c->sources[c->source_count] = xstrdup(name);
	return (unsigned)c->source_count++;
}

static void add_reading(void *user, unsigned source, struct sample_set *set)
{
	struct colmet *c = user;

	colmet_mapper_add(c->mapper, c->node, c->sources[source], set,
			  ((int64_t)set->time_ns + c->offset_ns) / 1000);
}

static void add_clock(void *user, uint64_t boottime_ns, int64_t realtime_ns)
{
	struct colmet *c = user;

	c->offset_ns = realtime_ns - (int64_t)boottime_ns;
}

static void drop_first(struct colmet *c)
{
	free(c->queue[c->first].data);
	c->first = (c->first + 1) % c->cap;
	c->count--;
}

static void send_waiting(struct colmet *c)
{
	while (c->count) {
		const struct message *m = &c->queue[c->first];
		const struct link_part part = {m->data, m->size};

		if (link_send(c->link, &part, 1) < 0)
			break;
		c->counts->messages++;
		drop_first(c);
	}
	c->counts->waiting = c->count;
}

static void take_record(void *user, const struct colmet_record *r)
{
	struct colmet *c = user;

	colmet_pack(r, &c->packing);
	c->counts->records++;
}

static int flush(void *user, bool sync)
{
	struct colmet *c = user;

	(void)sync;
	strbuf_reset(&c->packing);
	colmet_mapper_flush(c->mapper, take_record, c);
	send_waiting(c);
	if (!c->packing.len)
		return 0;
	if (c->count == c->cap) {
		drop_first(c);
		c->counts->dropped++;
	}
	struct message *m = &c->queue[(c->first + c->count++) % c->cap];
	m->size = c->packing.len;
	m->data = xmalloc(m->size);
	memcpy(m->data, c->packing.buf, m->size);
	send_waiting(c);
	return 0;
}

static void forget_sources(struct colmet *c)
{
	for (size_t i = 0; i < c->source_count; i++)
		free(c->sources[i]);
	c->source_count = 0;
}

static int restart(void *user, const struct samplefile_head *head)
{
	struct colmet *c = user;
	int r = flush(c, false);

	(void)head;
	forget_sources(c);
	return r;
}

static int end(void *user, const char *reason)
{
	struct colmet *c = user;

	(void)reason;
	(void)flush(c, true);
	c->counts->dropped += c->count;
	while (c->count)
		drop_first(c);
	link_close(c->link);
	colmet_mapper_free(c->mapper);
	forget_sources(c);
	free(c->sources);
	free(c->queue);
	free(c->node);
	strbuf_release(&c->packing);
	free(c);
	return 0;
}

void outlet_colmet_retry(const struct outlet *o)
{
	send_waiting(o->user);
}

int outlet_colmet(struct outlet *ret, const struct node_colmet_options *o,
		  struct node_colmet_counts *counts, struct strbuf *why)
{
	unsigned room = o->high_water ? o->high_water : 1000;
	/* what the library holds back cannot be dropped: most of the room is ours */
	unsigned held = room / 10 + 1;
	const struct link_options lo = {.kind = LINK_PUSH,
					.uri = o->uri,
					.high_water = (int)held,
					.linger_ms = o->linger_ms};
	struct link *link;
	int r = link_open(&link, &lo, why);

	if (r < 0)
		return r;
	struct colmet *c = xcalloc(1, sizeof(*c));
	c->link = link;
	c->mapper = colmet_mapper_new();
	c->counts = counts;
	c->node = xstrdup(o->node);
	c->packing = (struct strbuf)STRBUF_INIT;
	c->cap = room > held ? room - held : 1;
	c->queue = xcalloc(c->cap, sizeof(*c->queue));
	c->offset_ns = clock_realtime_us() * 1000 - (int64_t)clock_boottime_ns();
	*ret = (struct outlet){.source = add_source,
			       .add = add_reading,
			       .clock = add_clock,
			       .flush = flush,
			       .restart = restart,
			       .end = end,
			       .user = c};
	return 0;
}
