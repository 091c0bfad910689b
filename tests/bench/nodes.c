/*
 * Plays many nodes for one collector, by the protocol of docs/delivery.md, and says how it kept up.
 *     bench-nodes URI [nodes=N] [jobs=J] [metrics=M] [readings=R] [seconds=S] [links=L] [span=W]
 *                     [speed=X] [resend=T] [patience=P]
 * Each node samples J jobs with M metrics every second and sends a batch every R seconds, for S
 * seconds; nodes are spread over the R seconds, as clocks of real ones are. W nodes share their
 * jobs. speed=1 sends when a batch is due, speed=0 as fast as the collector takes them. Each node
 * has a name, a boot and numbers of its own, L connections carry them. All batches are made before
 * the clock runs, and stay until the end: like nodes with a spool, they send again what was not
 * acknowledged when the collector comes back, or says nothing for T seconds. P seconds after the
 * last one was due it gives up. Prints one line of JSON; 0 when all were acknowledged.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "core/clock.h"
#include "transport/batch.h"
#include "transport/protocol.h"

#define NS 1000000000ull
#define MS 1000000ull
#define LINKS_MAX 256
#define WINDOW 1024 /* batches of one link without an answer */
#define NO_ROOM_PAUSE (500 * MS)
#define NODE_PREFIX "node"
#define FIRST_BOOT 1000000
#define BEGIN_S 1800000000ll
#define FIRST_JOB 1000

struct shape {
	uint64_t nodes, jobs, metrics, readings, seconds, links, span, speed, resend, patience;
};

struct one {
	char *data;
	size_t size;
	uint64_t sent_ns, acknowledged_ns;
};

/* Numbers run from 1; what is outstanding lies between acknowledged and sent. */
struct node {
	uint64_t sent, acknowledged, before, pass;
};

struct connection {
	struct link *link;
	uint64_t cursor; /* place of the next batch among all, in the order in which they are due */
	uint64_t outstanding, connections, heard_ns, resend_ns, pause_until;
};

struct bench {
	struct shape s;
	uint64_t rounds, total; /* batches of a node, of all */
	struct one *batches;    /* round after round */
	struct node *nodes;
	struct connection links[LINKS_MAX];
	uint64_t begin_ns, end_ns;
	uint64_t acknowledged, sent, resent, refused, early, no_room, reconnected;
	uint64_t outstanding, outstanding_max, late_max_ns, bytes;
	int64_t gauges; /* the sum of all values that are gauges */
	double cpu_build, cpu;
};

static double cpu_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec / 1e6 +
	       (double)u.ru_stime.tv_sec + (double)u.ru_stime.tv_usec / 1e6;
}

static int fail(const char *what, const struct strbuf *why)
{
	fprintf(stderr, "bench-nodes: %s: %s\n", what, why->buf);
	return 1;
}

/* ---- batches --------------------------------------------------------------------------------- */

static void fill(struct bench *b, struct sample_set *set, uint64_t node, uint64_t tick)
{
	char name[32];

	sample_begin(set);
	set->time_ns = tick * NS;
	for (uint64_t j = 0; j < b->s.jobs; j++) {
		snprintf(name, sizeof(name), "%llu",
			 (unsigned long long)(FIRST_JOB + node / b->s.span * b->s.jobs + j));
		sample_row(set, sample_entity(set, ENTITY_JOB, name));
		for (unsigned m = 0; m < b->s.metrics; m++) {
			uint64_t noise =
				(tick * 2654435761u ^ j * 40503u ^ m * 977u ^ node * 7919u) % 10007;

			/* half of them grow, half of them move */
			if (m % 2) {
				sample_put(set, m, (int64_t)noise * 4096);
				b->gauges += (int64_t)noise * 4096;
			} else {
				sample_put(set, m, (int64_t)(tick * 1000000 + noise * (m + 1)));
			}
		}
	}
}

/* All batches of a node, as its batcher makes them. */
static void make_batches(struct bench *b, uint64_t node, const struct sample_metric *columns)
{
	struct batch_name name = {.boot = FIRST_BOOT + node};
	struct sample_set set;

	snprintf(name.node, sizeof(name.node), NODE_PREFIX "%llu", (unsigned long long)node);
	const struct sample_file_head head = {.host = name.node,
					      .boot = (char *)"1-2",
					      .period_ns = NS,
					      .realtime_ns = BEGIN_S * (int64_t)NS};
	struct batcher *batcher = batcher_new(&head);
	sample_init(&set, columns, b->s.metrics);
	unsigned source = batcher_source(batcher, "group", 1, &set);
	for (uint64_t round = 0; round < b->rounds; round++) {
		struct one *one = &b->batches[round * b->s.nodes + node];
		struct strbuf bytes = STRBUF_INIT;

		for (uint64_t i = 0; i < b->s.readings; i++) {
			fill(b, &set, node, round * b->s.readings + i);
			batcher_add(batcher, source, &set);
		}
		name.number = round + 1;
		if (batcher_take(batcher, &name, &bytes) < 0)
			abort();
		/* without the room that a buffer has left */
		one->size = bytes.len;
		one->data = xmalloc(bytes.len);
		memcpy(one->data, bytes.buf, bytes.len);
		b->bytes += one->size;
		strbuf_release(&bytes);
	}
	batcher_free(batcher);
	sample_release(&set);
}

static void make_all(struct bench *b)
{
	static struct sample_metric columns[SAMPLE_METRICS_MAX];
	static char names[SAMPLE_METRICS_MAX][16];

	for (unsigned m = 0; m < b->s.metrics; m++) {
		snprintf(names[m], sizeof(names[m]), "metric%u", m);
		columns[m] = (struct sample_metric){
			names[m], UNIT_COUNT, m % 2 ? KIND_GAUGE : KIND_COUNTER, AGG_SUM, 0, NULL};
	}
	b->rounds = b->s.seconds / b->s.readings;
	b->total = b->rounds * b->s.nodes;
	b->batches = xcalloc(b->total, sizeof(*b->batches));
	b->nodes = xcalloc(b->s.nodes, sizeof(*b->nodes));
	for (uint64_t i = 0; i < b->s.nodes; i++)
		make_batches(b, i, columns);
	b->cpu_build = cpu_seconds();
}

/* ---- sending --------------------------------------------------------------------------------- */

static uint64_t due_ns(const struct bench *b, uint64_t place)
{
	if (!b->s.speed)
		return b->begin_ns;
	return b->begin_ns + place * b->s.readings * NS / b->s.nodes / b->s.speed;
}

/* A node begins again behind what was acknowledged. */
static void begin_pass(struct bench *b, struct connection *c, uint64_t i)
{
	struct node *n = &b->nodes[i];
	uint64_t place = n->acknowledged * b->s.nodes + i;

	c->outstanding -= n->sent - n->acknowledged;
	b->outstanding -= n->sent - n->acknowledged;
	n->sent = n->acknowledged;
	n->before = 0;
	n->pass++;
	if (place < c->cursor)
		c->cursor = place;
}

static void begin_all(struct bench *b, struct connection *c, size_t which)
{
	for (uint64_t i = which; i < b->s.nodes; i += b->s.links)
		begin_pass(b, c, i);
}

/* The place behind this one on the same connection. */
static uint64_t next_place(const struct bench *b, uint64_t place, size_t which)
{
	uint64_t next = place + b->s.links;

	return next / b->s.nodes == place / b->s.nodes
		       ? next
		       : (place / b->s.nodes + 1) * b->s.nodes + which;
}

static int send_one(struct connection *c, const struct node *n, const struct one *one)
{
	unsigned char words[16];
	const struct link_part parts[] = {
		{PROTOCOL_NAME, strlen(PROTOCOL_NAME)},
		{KIND_BATCH, strlen(KIND_BATCH)},
		{words, sizeof(words)},
		{one->data, one->size},
	};

	pl_put_u64(words, n->pass);
	pl_put_u64(words + 8, n->before);
	return link_send(c->link, parts, ARRAY_SIZE(parts));
}

static void send_due(struct bench *b, struct connection *c, size_t which, uint64_t now)
{
	while (c->cursor < b->total && c->outstanding < WINDOW && due_ns(b, c->cursor) <= now) {
		struct node *n = &b->nodes[c->cursor % b->s.nodes];
		struct one *one = &b->batches[c->cursor];
		uint64_t number = c->cursor / b->s.nodes + 1;

		if (number > n->sent) {
			if (send_one(c, n, one) < 0)
				return;
			n->sent = n->before = number;
			b->sent++;
			b->resent += one->sent_ns != 0;
			if (!one->sent_ns)
				one->sent_ns = now;
			if (b->s.speed && now - due_ns(b, c->cursor) > b->late_max_ns)
				b->late_max_ns = now - due_ns(b, c->cursor);
			if (!c->outstanding++)
				c->heard_ns = now;
			if (++b->outstanding > b->outstanding_max)
				b->outstanding_max = b->outstanding;
		}
		c->cursor = next_place(b, c->cursor, which);
	}
}

static void send_hello(struct connection *c)
{
	const struct link_part parts[] = {
		{PROTOCOL_NAME, strlen(PROTOCOL_NAME)},
		{KIND_HELLO, strlen(KIND_HELLO)},
		{"bench", strlen("bench")},
		{PL_VERSION, strlen(PL_VERSION)},
	};

	(void)link_send(c->link, parts, ARRAY_SIZE(parts));
}

/* ---- answers --------------------------------------------------------------------------------- */

/* Whose answer it is; false when it is nobody's of this connection. */
static bool node_of(const struct bench *b, const struct link_part *name, uint64_t boot,
		    size_t which, uint64_t *ret)
{
	char text[64];
	size_t prefix = strlen(NODE_PREFIX);

	if (name->size <= prefix || name->size >= sizeof(text))
		return false;
	memcpy(text, name->data, name->size);
	text[name->size] = 0;
	return !strncmp(text, NODE_PREFIX, prefix) && parse_u64(text + prefix, ret) == 0 &&
	       *ret < b->s.nodes && boot == FIRST_BOOT + *ret && *ret % b->s.links == which;
}

static void take_ack(struct bench *b, struct connection *c, uint64_t i, uint64_t number,
		     uint64_t now)
{
	struct node *n = &b->nodes[i];

	while (n->acknowledged < number && n->acknowledged < b->rounds) {
		struct one *one = &b->batches[n->acknowledged * b->s.nodes + i];

		one->acknowledged_ns = now;
		b->acknowledged++;
		/* it may be for what an earlier pass had sent */
		if (n->sent > n->acknowledged++) {
			c->outstanding--;
			b->outstanding--;
		} else {
			n->sent = n->acknowledged;
		}
	}
	c->resend_ns = b->s.resend * NS;
}

static void take_nack(struct bench *b, struct connection *c, uint64_t i, const char *words,
		      uint64_t now)
{
	uint64_t pass = pl_get_u64(words + 16), reason = pl_get_u64(words + 24);

	if (reason == NACK_REFUSED)
		b->refused++;
	b->early += reason == NACK_EARLY;
	if (reason == NACK_NO_ROOM) {
		b->no_room++;
		c->pause_until = now + NO_ROOM_PAUSE;
	}
	if (pass == b->nodes[i].pass)
		begin_pass(b, c, i);
}

static void take_answers(struct bench *b, struct connection *c, size_t which, uint64_t now)
{
	struct link_part parts[LINK_PARTS_MAX];
	size_t count;
	uint64_t i;

	while (link_receive(c->link, parts, &count) > 0) {
		bool ack = count >= 4 && link_part_is(&parts[1], KIND_ACK) && parts[2].size == 16;
		bool nack = count >= 5 && link_part_is(&parts[1], KIND_NACK) && parts[2].size == 32;

		c->heard_ns = now;
		if ((!ack && !nack) || !node_of(b, &parts[3], pl_get_u64(parts[2].data), which, &i))
			continue;
		if (ack)
			take_ack(b, c, i, pl_get_u64((const char *)parts[2].data + 8), now);
		else
			take_nack(b, c, i, parts[2].data, now);
	}
}

/* ---- the run --------------------------------------------------------------------------------- */

static void serve(struct bench *b, size_t which)
{
	struct connection *c = &b->links[which];
	uint64_t now = clock_boottime_ns(), connections;
	bool there = link_state(c->link, &connections) == LINK_THERE;

	if (connections != c->connections) {
		b->reconnected += c->connections != 0;
		c->connections = connections;
		c->resend_ns = b->s.resend * NS;
		begin_all(b, c, which);
		send_hello(c);
	}
	take_answers(b, c, which, now);
	if (c->outstanding && now - c->heard_ns > c->resend_ns) {
		c->resend_ns *= 2;
		begin_all(b, c, which);
	}
	if (there && now >= c->pause_until)
		send_due(b, c, which, now);
}

static bool run(struct bench *b)
{
	struct pollfd fds[LINKS_MAX];

	b->begin_ns = clock_boottime_ns();
	uint64_t last = due_ns(b, b->total - 1);
	if (!b->s.speed)
		last += b->s.seconds * NS;
	b->cpu = cpu_seconds();
	/* one that is refused will never be taken: that is not what this is about */
	while (b->acknowledged < b->total && !b->refused &&
	       clock_boottime_ns() < last + b->s.patience * NS) {
		for (size_t i = 0; i < b->s.links; i++) {
			serve(b, i);
			fds[i] = (struct pollfd){.fd = link_descriptor(b->links[i].link),
						 .events = POLLIN};
		}
		if (b->acknowledged < b->total)
			(void)poll(fds, b->s.links, 2);
	}
	b->end_ns = clock_boottime_ns();
	b->cpu = cpu_seconds() - b->cpu;
	return b->acknowledged == b->total;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* From when a batch was due, so that what waited for its turn counts as well. */
static double *latencies(const struct bench *b)
{
	double *ms = xcalloc(b->acknowledged + 1, sizeof(*ms));
	size_t n = 0;

	for (uint64_t i = 0; i < b->total; i++) {
		const struct one *one = &b->batches[i];

		if (one->acknowledged_ns)
			ms[n++] = (double)(one->acknowledged_ns -
					   (b->s.speed ? due_ns(b, i) : one->sent_ns)) /
				  1e6;
	}
	qsort(ms, n, sizeof(*ms), compare);
	return ms;
}

static void print(const struct bench *b)
{
	double seconds = (double)(b->end_ns - b->begin_ns) / 1e9, n = (double)b->acknowledged;
	double records = n * (double)(b->s.jobs * b->s.readings);
	_cleanup_free_ double *ms = latencies(b);
	double p99 = b->acknowledged ? ms[(b->acknowledged - 1) * 99 / 100] : 0;
	/* a second is what it may take where each node has a reading every second */
	bool kept_up = b->acknowledged == b->total && b->s.speed && p99 < 1000;

	printf("{\"nodes\": %llu, \"batches\": %llu, \"acknowledged\": %llu, \"records\": %.0f, "
	       "\"values\": %.0f, \"gauges\": %lld, \"bytes\": %llu",
	       (unsigned long long)b->s.nodes, (unsigned long long)b->total,
	       (unsigned long long)b->acknowledged, records, records * (double)b->s.metrics,
	       (long long)b->gauges, (unsigned long long)b->bytes);
	printf(", \"seconds\": %.3f, \"batches_per_s\": %.0f, \"records_per_s\": %.0f, "
	       "\"values_per_s\": %.0f, \"kept_up\": %s",
	       seconds, n / seconds, records / seconds, records * (double)b->s.metrics / seconds,
	       kept_up ? "true" : "false");
	printf(", \"ack_ms\": {\"min\": %.2f, \"median\": %.2f, \"p99\": %.2f, \"max\": %.2f}",
	       ms[0], b->acknowledged ? ms[(b->acknowledged - 1) / 2] : 0, p99,
	       b->acknowledged ? ms[b->acknowledged - 1] : 0);
	printf(", \"outstanding\": %llu, \"outstanding_max\": %llu, \"sent\": %llu, \"resent\": "
	       "%llu, \"refused\": %llu, \"early\": %llu, \"no_room\": %llu, \"reconnected\": %llu",
	       (unsigned long long)b->outstanding, (unsigned long long)b->outstanding_max,
	       (unsigned long long)b->sent, (unsigned long long)b->resent,
	       (unsigned long long)b->refused, (unsigned long long)b->early,
	       (unsigned long long)b->no_room, (unsigned long long)b->reconnected);
	printf(", \"late_ms\": %.2f, \"own_cpu_seconds\": %.3f, \"own_cpu_before\": %.3f}\n",
	       (double)b->late_max_ns / 1e6, b->cpu, b->cpu_build);
}

static bool parse(struct shape *s, int argc, char **argv)
{
	const struct {
		const char *name;
		uint64_t *to, least, most;
	} words[] = {
		{"nodes", &s->nodes, 1, 1000000},
		{"jobs", &s->jobs, 1, 10000},
		{"metrics", &s->metrics, 1, SAMPLE_METRICS_MAX},
		{"readings", &s->readings, 1, 3600},
		{"seconds", &s->seconds, 1, 86400},
		{"links", &s->links, 1, LINKS_MAX},
		{"span", &s->span, 1, 1000000},
		{"speed", &s->speed, 0, 1000},
		{"resend", &s->resend, 1, 3600},
		{"patience", &s->patience, 0, 3600},
	};

	for (int i = 2; i < argc; i++) {
		size_t n = strcspn(argv[i], "="), w = 0;

		while (w < ARRAY_SIZE(words) &&
		       (strlen(words[w].name) != n || strncmp(argv[i], words[w].name, n) != 0))
			w++;
		if (w == ARRAY_SIZE(words) || !argv[i][n] ||
		    parse_u64(argv[i] + n + 1, words[w].to) < 0 || *words[w].to < words[w].least ||
		    *words[w].to > words[w].most)
			return false;
	}
	if (s->links > s->nodes)
		s->links = s->nodes;
	return argc >= 2 && s->seconds >= s->readings;
}

int main(int argc, char **argv)
{
	static struct bench b = {.s = {.nodes = 1000,
				       .jobs = 4,
				       .metrics = 20,
				       .readings = 10,
				       .seconds = 10,
				       .links = 8,
				       .span = 1,
				       .speed = 1,

				       .resend = 3,
				       .patience = 30}};
	struct strbuf why = STRBUF_INIT;

	if (!parse(&b.s, argc, argv)) {
		fprintf(stderr,
			"bench-nodes URI [nodes=N] [jobs=J] [metrics=M] [readings=R] "
			"[seconds=S] [links=L] [span=W] [speed=X] [resend=T] [patience=P]\n");
		return 2;
	}
	if (batch_ready(&why) < 0)
		return fail("batches", &why);
	make_all(&b);
	for (size_t i = 0; i < b.s.links; i++) {
		const struct link_options o = {.kind = LINK_DEALER,
					       .uri = argv[1],
					       .message_max = 65536,
					       .high_water = WINDOW + 16,
					       .only_connected = true};

		b.links[i].cursor = i;
		b.links[i].resend_ns = b.s.resend * NS;
		if (link_open(&b.links[i].link, &o, &why) < 0)
			return fail(argv[1], &why);
	}
	bool all = run(&b);
	print(&b);
	for (size_t i = 0; i < b.s.links; i++)
		link_close(b.links[i].link);
	return all ? 0 : 1;
}
