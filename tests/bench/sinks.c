/*
 * How fast a feed takes values: batches of nodes with busy jobs, packed as nodes send them, are
 * unpacked and handed to it as replay.h does, with a commit every so many.
 *     bench-sinks KIND TARGET NODES JOBS METRICS READINGS ROUNDS COMMIT
 * prints "values seconds values/s cpu_seconds". JOBS are of each node; every READINGS seconds a
 * node sends one batch; COMMIT batches are written at once.
 */
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "core/clock.h"
#include "sinks/sink.h"
#include "transport/batch.h"

struct shape {
	uint64_t nodes, jobs, metrics, readings, rounds, commit;
};

static double cpu_seconds(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)u.ru_utime.tv_sec + (double)u.ru_utime.tv_usec / 1e6 +
	       (double)u.ru_stime.tv_sec + (double)u.ru_stime.tv_usec / 1e6;
}

static void fill(struct sample_set *set, const struct shape *s, uint64_t node, uint64_t tick)
{
	char name[32];

	sample_begin(set);
	set->time_ns = tick * 1000000000;
	for (uint64_t j = 0; j < s->jobs; j++) {
		snprintf(name, sizeof(name), "%llu", (unsigned long long)(node * s->jobs + j));
		uint32_t e = sample_entity(set, ENTITY_JOB, name);

		sample_row(set, e);
		for (unsigned m = 0; m < s->metrics; m++) {
			uint64_t noise = (tick * 2654435761u ^ j * 40503u ^ m * 977u) % 10007;

			/* half of them grow, half of them move */
			sample_put(set, m,
				   m % 2 ? (int64_t)noise * 4096
					 : (int64_t)(tick * 1000000 + noise * (m + 1)));
		}
	}
}

/* The batch of a node of one round. */
static void make_batch(const struct shape *s, uint64_t node, uint64_t round, struct strbuf *out)
{
	static struct sample_metric columns[SAMPLE_METRICS_MAX];
	static char names[SAMPLE_METRICS_MAX][16];
	const struct sample_file_head head = {.host = (char *)"",
					      .boot = (char *)"1-2",
					      .period_ns = 1000000000,
					      .realtime_ns = 1800000000000000000};
	struct sample_file_head own = head;
	struct batch_name name = {.boot = 1, .number = round + 1};
	struct sample_set set;

	snprintf(name.node, sizeof(name.node), "node%llu", (unsigned long long)node);
	own.host = name.node;
	for (unsigned m = 0; m < s->metrics; m++) {
		snprintf(names[m], sizeof(names[m]), "metric%u", m);
		columns[m] = (struct sample_metric){
			names[m], UNIT_COUNT, m % 2 ? KIND_GAUGE : KIND_COUNTER, AGG_SUM, 0, NULL};
	}
	struct batcher *b = batcher_new(&own);
	sample_init(&set, columns, s->metrics);
	unsigned source = batcher_source(b, "group", 1, &set);
	for (uint64_t i = 0; i < s->readings; i++) {
		fill(&set, s, node, round * s->readings + i);
		batcher_add(b, source, &set);
	}
	if (batcher_take(b, &name, out) < 0)
		abort();
	batcher_free(b);
	sample_release(&set);
}

static int check(int r, const struct strbuf *why)
{
	if (r < 0)
		fprintf(stderr, "bench-sinks: %s\n", why->len ? why->buf : strerror(-r));
	return r;
}

static int give(const struct sink *feed, void *state, uint64_t number, const struct strbuf *bytes,
		struct strbuf *why)
{
	struct batch_name name;
	struct sample_file f;
	int r = batch_peek(bytes->buf, bytes->len, &name, why);

	if (r == 0)
		r = batch_open(&f, bytes->buf, bytes->len, why);
	if (r < 0)
		return r;
	r = feed->batch(state, number, &name, &f, why);
	sample_file_close(&f);
	return r > 0 ? feed->commit(state, number, why) : r;
}

int main(int argc, char **argv)
{
	struct strbuf why = STRBUF_INIT;
	struct shape s;
	uint64_t *const numbers[] = {&s.nodes,    &s.jobs,   &s.metrics,
				     &s.readings, &s.rounds, &s.commit};
	char dir[] = "/tmp/bench-sinks-XXXXXX";
	uint64_t position = 0, count = 0;
	void *state;

	if (argc != 9 || !mkdtemp(dir))
		return 2;
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		if (parse_u64(argv[3 + i], numbers[i]) < 0)
			return 2;
	const struct sink *feed = sink_find(argv[1]);
	const struct sink_options o = {.target = argv[2], .state = dir, .level = -1};
	if (!feed || check(feed->open(&o, &state, &position, &why), &why) < 0)
		return 1;
	/* made before the clock runs */
	struct strbuf *batches = xcalloc(s.nodes * s.rounds, sizeof(*batches));
	for (uint64_t i = 0; i < s.nodes * s.rounds; i++) {
		batches[i] = (struct strbuf)STRBUF_INIT;
		make_batch(&s, i % s.nodes, i / s.nodes, &batches[i]);
	}
	double cpu = cpu_seconds();
	uint64_t begin = clock_boottime_ns();
	for (uint64_t i = 0; i < s.nodes * s.rounds; i++) {
		if (check(give(feed, state, i + 1, &batches[i], &why), &why) < 0)
			return 1;
		if (++count % s.commit == 0 && check(feed->commit(state, i + 1, &why), &why) < 0)
			return 1;
	}
	if (count % s.commit && check(feed->commit(state, count, &why), &why) < 0)
		return 1;
	double seconds = (double)(clock_boottime_ns() - begin) / 1e9;
	double values = (double)(s.nodes * s.jobs * s.metrics * s.readings * s.rounds);
	cpu = cpu_seconds() - cpu;
	feed->close(state);
	printf("%.0f %.3f %.0f %.3f\n", values, seconds, values / seconds, cpu);
	return 0;
}
