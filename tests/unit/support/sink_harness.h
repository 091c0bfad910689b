/*
 * What the tests of feeds share: entries of a collector's log with known readings, and ways of
 * playing them to a feed as src/sinks/sink_worker.c does, with ends in the middle. Entry k of a
 * plan is made by node (k - 1) % nodes and has its own number there; every value in it follows from
 * its place, so that a test can ask for each one that should be read back.
 */
#pragma once

#include "unit.h"

#include "sinks/sink.h"

#define HARNESS_BOOT 4242
#ifndef HARNESS_BEGIN_S
#define HARNESS_BEGIN_S 1800000000ll /* 2027-01-15 08:00:00 UTC */
#endif

struct harness_plan {
	unsigned nodes, entries, readings, jobs, processes; /* processes: of each job */
	unsigned skip;                                      /* seconds added to all times */
};

enum harness_source { HARNESS_JOB, HARNESS_NODE, HARNESS_PROCESS, HARNESS_SOURCES };

static const char *const harness_sources[] = {"group", "system", "process"};
static const struct sample_metric harness_metrics[HARNESS_SOURCES][2] = {
	{{"cpu_time", UNIT_NANOSECONDS, KIND_COUNTER, AGG_SUM, 0, "CPU time"},
	 {"memory", UNIT_BYTES, KIND_GAUGE, AGG_SUM, 4096, "memory in use"}},
	{{"load", UNIT_NONE, KIND_GAUGE, AGG_NONE, 0.01, "processes that want to run"},
	 {"forks", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "processes made"}},
	{{"rss", UNIT_BYTES, KIND_GAUGE, AGG_SUM, 1024, "resident memory"},
	 {"faults", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, "page faults"}},
};

static inline unsigned harness_entities(const struct harness_plan *p, unsigned source)
{
	return source == HARNESS_NODE  ? 1
	       : source == HARNESS_JOB ? p->jobs
				       : p->jobs * p->processes;
}

/* The raw value; false where the reading leaves it out. */
static inline bool harness_value(unsigned node, unsigned source, unsigned entity, unsigned metric,
				 unsigned tick, int64_t *ret)
{
	if (metric == 1 && tick % 5 == 4)
		return false;
	if (harness_metrics[source][metric].kind == KIND_COUNTER)
		*ret = (int64_t)tick * 1000 * (metric + 1) + entity * 7 + node;
	else
		*ret = (int64_t)((tick * 2654435761u ^ entity * 40503u ^ node) % 100000);
	return true;
}

static inline void harness_entity_name(unsigned source, unsigned entity, char *ret, size_t n)
{
	if (source == HARNESS_JOB)
		snprintf(ret, n, "%u", 1000 + entity);
	else
		snprintf(ret, n, source == HARNESS_NODE ? "node" : "%u.77", 300 + entity);
}

static inline unsigned harness_job(const struct harness_plan *p, unsigned source, unsigned entity)
{
	return source == HARNESS_NODE  ? 0
	       : source == HARNESS_JOB ? 1000 + entity
				       : 1000 + entity / p->processes;
}

static inline int64_t harness_time_us(const struct harness_plan *p, unsigned tick)
{
	return (HARNESS_BEGIN_S + p->skip + tick) * 1000000;
}

/* ---- entries --------------------------------------------------------------------------------- */

static inline void harness_reading(const struct harness_plan *p, unsigned node, unsigned source,
				   unsigned tick, struct sample_set *set)
{
	static const enum entity_kind kinds[] = {ENTITY_JOB, ENTITY_NODE, ENTITY_PROCESS};

	sample_begin(set);
	set->time_ns = (uint64_t)(p->skip + tick) * 1000000000 + 5000000000;
	for (unsigned e = 0; e < harness_entities(p, source); e++) {
		char name[32], job[32];
		int64_t v;

		harness_entity_name(source, e, name, sizeof(name));
		uint32_t at = sample_entity(set, kinds[source], name);
		if (source == HARNESS_JOB)
			sample_set_metadata(set, at, "user", "alice");
		snprintf(job, sizeof(job), "%u", harness_job(p, source, e));
		if (source == HARNESS_PROCESS)
			sample_set_metadata(set, at, "job", job);
		sample_row(set, at);
		for (unsigned m = 0; m < 2; m++)
			if (harness_value(node, source, e, m, tick, &v))
				sample_put(set, m, v);
	}
}

/* Entry number k of the log, from 1, opened. */
static inline void harness_open(const struct harness_plan *p, unsigned k, struct batch_name *name,
				struct sample_file *f)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	unsigned node = (k - 1) % p->nodes, number = (k - 1) / p->nodes;
	int fd = memfd_create("batch", MFD_CLOEXEC);

	*name = (struct batch_name){.boot = HARNESS_BOOT, .number = number + 1};
	snprintf(name->node, sizeof(name->node), "node%u", node + 1);
	const struct sample_file_head head = {.host = name->node,
					      .boot = (char *)"11111111-2222",
					      .period_ns = 1000000000,
					      .boottime_ns = 5000000000,
					      .realtime_ns = HARNESS_BEGIN_S * 1000000000};
	assert_true(fd >= 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_APPEND), 0);
	struct sample_writer *w = sample_writer_open(fd, &head);
	for (unsigned s = 0; s < HARNESS_SOURCES; s++) {
		struct sample_set set;

		sample_init(&set, harness_metrics[s], 2);
		unsigned source = sample_writer_source(w, harness_sources[s], 1, &set);
		for (unsigned i = 0; i < p->readings && harness_entities(p, s); i++) {
			harness_reading(p, node, s, number * p->readings + i, &set);
			sample_writer_add(w, source, &set);
		}
		assert_int_equal(sample_writer_flush(w, false), 0);
		sample_release(&set);
	}
	assert_int_equal(sample_writer_close(w, NULL), 0);
	if (sample_file_open(f, fd, &why) < 0)
		fail_msg("%s", why.buf);
}

/* One value that must be read back. */
struct harness_expected {
	const char *host, *source, *entity, *metric;
	unsigned job; /* 0: of the node */
	int64_t time_us, raw;
	double value; /* in the unit */
};

/* Calls for each value of entries 1 to the given one; the number of them. */
static inline size_t harness_expect(const struct harness_plan *p, unsigned upto,
				    void (*each)(void *user, const struct harness_expected *x),
				    void *user)
{
	size_t n = 0;

	for (unsigned k = 1; k <= upto; k++)
		for (unsigned s = 0; s < HARNESS_SOURCES; s++)
			for (unsigned i = 0; i < p->readings * harness_entities(p, s) * 2; i++) {
				unsigned metric = i % 2, e = i / 2 % harness_entities(p, s);
				unsigned node = (k - 1) % p->nodes;
				unsigned tick = (k - 1) / p->nodes * p->readings +
						i / 2 / harness_entities(p, s);
				char host[32], entity[32];
				int64_t raw;

				if (!harness_value(node, s, e, metric, tick, &raw))
					continue;
				n++;
				snprintf(host, sizeof(host), "node%u", node + 1);
				harness_entity_name(s, e, entity, sizeof(entity));
				const struct sample_metric *m = &harness_metrics[s][metric];
				const struct harness_expected x = {host,
								   harness_sources[s],
								   entity,
								   m->name,
								   harness_job(p, s, e),
								   harness_time_us(p, tick),
								   raw,
								   sample_scaled(raw, m->scale)};
				if (each)
					each(user, &x);
			}
	return n;
}

/* ---- playing --------------------------------------------------------------------------------- */

/* Hands entries over; 0, or the first error with the entry that it came at in *ret_at. */
static inline int harness_batches(const struct sink *feed, void *state,
				  const struct harness_plan *p, unsigned from, unsigned to,
				  unsigned *ret_at, struct strbuf *why)
{
	for (unsigned k = from; k <= to; k++) {
		struct batch_name name;
		struct sample_file f;

		harness_open(p, k, &name, &f);
		int r = feed->batch(state, k, &name, &f, why);
		sample_file_close(&f);
		if (r > 0)
			r = feed->commit(state, k, why);
		if (ret_at)
			*ret_at = k;
		if (r < 0)
			return r;
	}
	return 0;
}

static inline void *harness_start(const struct sink *feed, const struct sink_options *o,
				  uint64_t *position)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	void *state = NULL;

	*position = 0;
	int r = feed->open(o, &state, position, &why);
	if (r < 0)
		fail_msg("%s: %s (%s)", feed->name, why.buf, strerror(-r));
	return state;
}

static inline void harness_must(const struct sink *feed, void *state, const struct harness_plan *p,
				unsigned from, unsigned to, bool commit)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	unsigned at = 0;
	int r = harness_batches(feed, state, p, from, to, &at, &why);

	if (r < 0)
		fail_msg("%s: entry %u: %s (%s)", feed->name, at, why.buf, strerror(-r));
	r = commit ? feed->commit(state, to, &why) : 0;
	if (r < 0)
		fail_msg("%s: commit of %u: %s (%s)", feed->name, to, why.buf, strerror(-r));
}

/*
 * The life of a feed: half of the entries are committed, some more are given and lost with it (it
 * is closed without a commit, as after a kill), it is opened again and played to the end from its
 * own position, or from the last commit where it knows none; once more from an older position
 * (again: those entries are in the target already). Afterwards every value of the plan must be in
 * the target once.
 */
static inline void harness_life(const struct sink *feed, const struct sink_options *o,
				const struct harness_plan *p)
{
	unsigned half = p->entries / 2, more = half + (p->entries - half) / 2;
	uint64_t position;

	assert_true(p->entries >= 4);
	void *state = harness_start(feed, o, &position);
	assert_true(position <= 1);
	harness_must(feed, state, p, 1, half, true);
	harness_must(feed, state, p, half + 1, more, false);
	feed->close(state);

	state = harness_start(feed, o, &position);
	/* never beyond what it cannot have */
	assert_true(position <= more + 1);
	unsigned from = position ? (unsigned)position : half + 1;
	assert_true(from > half);
	if (from <= p->entries)
		harness_must(feed, state, p, from, p->entries, true);
	feed->close(state);

	state = harness_start(feed, o, &position);
	if (position)
		assert_int_equal(position, p->entries + 1);
	harness_must(feed, state, p, half - 1, p->entries, true);
	feed->close(state);
}
