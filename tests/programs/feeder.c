/*
 * Plays nodes for a collector under test.
 *     feeder push URI FILE...              each file as a message of colmet's; "-" for an empty one
 *     feeder deliver URI SPOOL NODE FROM TO JOBS READINGS [KEYS SERVER-KEY]
 *         batches FROM to TO of a node, delivered as a node does it, until all are acknowledged.
 *         With FEEDER_PACE in the environment one every so many us. Boot is 4242, or FEEDER_BOOT.
 * Tick t of a node is second 1800000000 (or FEEDER_BEGIN) + t: source "group" has cpu_time
 * (counter, 1000 t + job) and memory (gauge, t % 7) of jobs 1000, 1001, ...; source "system" has
 * forks (counter, 10 t) of the node. feeder flood URI SECONDS             garbage of all sizes, by
 * raw connections and by messages
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/files/fs.h"
#include "core/log.h"
#include "transport/batch.h"
#include "transport/keyring.h"
#include "transport/sender.h"

#define BEGIN_S 1800000000u
#define BOOT 4242

static int fail(const char *what, int r, const struct strbuf *why)
{
	fprintf(stderr, "feeder: %s: %s\n", what, why && why->len ? why->buf : strerror(-r));
	return 1;
}

/* ---- colmet's messages ---- */

static int push(char **argv)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const struct link_options o = {.kind = LINK_PUSH, .uri = argv[0], .linger_ms = 20000};
	struct link *l;
	int r = link_open(&l, &o, &why);

	if (r < 0)
		return fail(argv[0], r, &why);
	for (char **file = argv + 1; *file; file++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

		if (strcmp(*file, "-") != 0 && fs_read(AT_FDCWD, *file, 32 << 20, &text) < 0)
			return fail(*file, -errno, NULL);
		const struct link_part part = {text.buf, text.len};
		while ((r = link_send(l, &part, 1)) == -EAGAIN)
			usleep(1000);
		if (r < 0)
			return fail("send", r, NULL);
	}
	link_close(l);
	return 0;
}

/* ---- batches ---- */

static const struct sample_metric group[] = {
	{"cpu_time", UNIT_NANOSECONDS, KIND_COUNTER, AGG_SUM, 0, "CPU time"},
	{"memory", UNIT_BYTES, KIND_GAUGE, AGG_SUM, 0, "memory"},
};
static const struct sample_metric node[] = {
	{"forks", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "processes made"},
};

static void fill(struct sample_set *jobs, struct sample_set *own, uint64_t tick, unsigned count)
{
	char name[32];

	sample_begin(jobs);
	sample_begin(own);
	jobs->time_ns = own->time_ns = tick * 1000000000;
	for (unsigned j = 0; j < count; j++) {
		snprintf(name, sizeof(name), "%u", 1000 + j);
		uint32_t e = sample_entity(jobs, ENTITY_JOB, name);

		sample_set_metadata(jobs, e, "user", "alice");
		sample_row(jobs, e);
		sample_put(jobs, 0, (int64_t)(1000 * tick + j));
		sample_put(jobs, 1, (int64_t)(tick % 7));
	}
	sample_row(own, sample_entity(own, ENTITY_NODE, "node"));
	sample_put(own, 0, (int64_t)(10 * tick));
}

static uint64_t setting(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);
	uint64_t v;

	return text && parse_u64(text, &v) == 0 ? v : otherwise;
}

static int give(struct sender *d, const char *name, uint64_t from, uint64_t to, unsigned jobs,
		unsigned readings)
{
	uint64_t us = setting("FEEDER_PACE", 0), begin = setting("FEEDER_BEGIN", BEGIN_S);
	/* without a clock of its own, as files of other machines have it */
	const struct sample_file_head head = {.host = (char *)name,
					      .boot = (char *)"1-2",
					      .period_ns = 1000000000,
					      .realtime_ns = (int64_t)begin * 1000000000};
	struct batcher *b = batcher_new(&head);
	struct sample_set sets[2];
	int r = 0;

	sample_init(&sets[0], group, 2);
	sample_init(&sets[1], node, 1);
	unsigned sources[] = {batcher_source(b, "group", 1, &sets[0]),
			      batcher_source(b, "system", 1, &sets[1])};
	for (uint64_t n = from; n <= to && r == 0; n++) {
		_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT;
		struct batch_name who = {.boot = setting("FEEDER_BOOT", BOOT), .number = n};

		snprintf(who.node, sizeof(who.node), "%s", name);
		for (unsigned i = 0; i < readings; i++) {
			fill(&sets[0], &sets[1], (n - 1) * readings + i, jobs);
			batcher_add(b, sources[0], &sets[0]);
			batcher_add(b, sources[1], &sets[1]);
		}
		usleep((useconds_t)us);
		r = batcher_take(b, &who, &bytes);
		while (r == 0 && (r = sender_batch(d, bytes.buf, bytes.len)) == -ENOBUFS) {
			usleep(1000);
			r = 0;
		}
	}
	batcher_free(b);
	sample_release(&sets[0]);
	sample_release(&sets[1]);
	return r;
}

static int deliver(int argc, char **argv)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct keyring k = {0};
	struct link_keys keys;
	uint64_t n[4];
	int r = 0;

	for (int i = 0; i < 4; i++)
		if (argc < 7 || parse_u64(argv[3 + i], &n[i]) < 0)
			return fail("numbers", -EINVAL, NULL);
	if (argc >= 9 && ((r = keyring_own(&k, argv[7], &why)) < 0 ||
			  (r = keyring_server(&k, argv[8], &why)) < 0))
		return fail("keys", r, &why);
	keyring_use(&k, &keys);
	const struct sender_options o = {.uri = argv[0],
					 .keys = argc >= 9 ? &keys : NULL,
					 .node = argv[2],
					 .spool = argv[1],
					 .spool_limit = (uint64_t)1 << 30};
	struct sender *d;
	r = sender_start(&d, &o, &why);
	if (r < 0)
		return fail("deliver", r, &why);
	r = give(d, argv[2], n[0], n[1], (unsigned)n[2], (unsigned)n[3]);
	if (r < 0)
		return fail("batch", r, NULL);
	uint64_t left = sender_stop(d, 60000000000, NULL);
	keyring_release(&k);
	if (left) {
		fprintf(stderr, "feeder: %llu batches are not acknowledged\n",
			(unsigned long long)left);
		return 1;
	}
	return 0;
}

/* ---- garbage ---- */

static uint64_t seed = 88172645463325252ull;

static uint64_t next(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

static void raw_garbage(unsigned port, const char *data, size_t n)
{
	struct sockaddr_in to = {.sin_family = AF_INET,
				 .sin_port = htons((uint16_t)port),
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	/* a greeting of ZMTP 3.1 with the NULL mechanism, so that what follows is looked at */
	static const unsigned char greeting[64] = {0xff, 0,    0, 0, 0,   0,   0,   0,
						   1,    0x7f, 3, 1, 'N', 'U', 'L', 'L'};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == 0) {
		if (next() & 1)
			(void)send(fd, greeting, sizeof(greeting), MSG_NOSIGNAL);
		(void)send(fd, data, n, MSG_NOSIGNAL | MSG_DONTWAIT);
	}
	close(fd);
}

static int flood(char **argv)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const char *colon = strrchr(argv[0], ':');
	const struct link_options o = {.kind = LINK_PUSH, .uri = argv[0], .linger_ms = 2000};
	uint64_t seconds = 0, port = 0, until;
	struct link *l;
	int r = link_open(&l, &o, &why);

	if (r < 0 || !colon || parse_u64(colon + 1, &port) < 0 || parse_u64(argv[1], &seconds) < 0)
		return fail("flood", -EINVAL, &why);
	char *data = xmalloc(1 << 20);
	until = clock_boottime_ns() + seconds * 1000000000;
	while (clock_boottime_ns() < until) {
		size_t n = (size_t)(next() % (next() % 8 ? 2000 : 1 << 20));

		for (size_t i = 0; i < n; i++)
			data[i] = (char)(next() >> 20);
		raw_garbage((unsigned)port, data, n);
		const struct link_part part = {data, n};
		(void)link_send(l, &part, 1);
	}
	free(data);
	link_close(l);
	return 0;
}

int main(int argc, char **argv)
{
	log_init("feeder", LOG_WARN);
	if (argc > 2 && !strcmp(argv[1], "push"))
		return push(argv + 2);
	if (argc > 2 && !strcmp(argv[1], "deliver"))
		return deliver(argc - 2, argv + 2);
	if (argc > 3 && !strcmp(argv[1], "flood"))
		return flood(argv + 2);
	fprintf(stderr, "usage: see feeder.c\n");
	return 2;
}
