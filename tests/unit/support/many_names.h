/*
 * One node that uses as many names as it can, and an honest one behind it. A batch of the first has
 * sources and metrics that nobody else has, and some of ours that say something else; a batch of
 * the second has all of our source "system", and one source with five metrics of its own.
 */
#pragma once

#include "unit.h"

#include <errno.h>

#include "samples/sample_file.h"
#include "sinks/sink.h"
#include "sources/source.h"

#define MANY_SOURCES 100
#define MANY_METRICS 60

static const struct sample_metric special_metrics[] = {
	{"a", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, NULL},
	{"b", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, NULL},
	{"c", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, NULL},
	{"d", UNIT_COUNT, KIND_GAUGE, AGG_SUM, 0.5, NULL},
	{"e", UNIT_COUNT, KIND_GAUGE, AGG_SUM, 0.5, NULL},
};

static inline void many_source(struct sample_writer *w, const char *name,
			       const struct sample_metric *list, size_t count, uint64_t at_s)
{
	struct sample_set set;

	sample_init(&set, list, count);
	unsigned source = sample_writer_source(w, name, 1, &set);
	sample_begin(&set);
	set.time_ns = at_s * 1000000000;
	sample_row(&set, sample_entity(&set, ENTITY_JOB, "4711"));
	for (unsigned m = 0; m < count; m++)
		sample_put(&set, m, m + 1);
	sample_writer_add(w, source, &set);
	assert_int_equal(sample_writer_flush(w, false), 0);
	sample_release(&set);
}

static inline struct sample_writer *many_open(const char *host, int *ret_fd)
{
	const struct sample_file_head head = {.host = (char *)host,
					      .boot = (char *)"1",
					      .period_ns = 1000000000,
					      .realtime_ns = 1800000000000000000};

	*ret_fd = memfd_create("batch", MFD_CLOEXEC);
	assert_int_equal(fcntl(*ret_fd, F_SETFL, O_APPEND), 0);
	return sample_writer_open(*ret_fd, &head);
}

static inline void many_close(struct sample_writer *w, int fd, struct sample_file *f)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	assert_int_equal(sample_writer_close(w, NULL), 0);
	if (sample_file_open(f, fd, &why) < 0)
		fail_msg("%s", why.buf);
}

/* The nth batch of who wants all; the caller closes it. */
static inline void many_evil(unsigned nth, struct sample_file *f)
{
	static char names[MANY_METRICS][32];
	struct sample_metric list[MANY_METRICS];
	char source[32];
	int fd;
	struct sample_writer *w = many_open("evil", &fd);

	for (unsigned m = 0; m < MANY_METRICS; m++) {
		snprintf(names[m], sizeof(names[m]), "m%u_%u", nth, m);
		list[m] =
			(struct sample_metric){names[m], UNIT_COUNT, KIND_GAUGE, AGG_SUM, 0, NULL};
	}
	for (unsigned s = 0; s < MANY_SOURCES; s++) {
		snprintf(source, sizeof(source), "evil%u_%u", nth, s);
		many_source(w, source, list, MANY_METRICS, nth);
	}
	/* into tables of ours, of the honest one's, and ours with another meaning */
	many_source(w, "system", list, MANY_METRICS, nth);
	many_source(w, "special", list, MANY_METRICS, nth);
	const struct source *ours = source_find("system");
	for (unsigned m = 0; m < MANY_METRICS && m < ours->metric_count; m++) {
		list[m].name = ours->metrics[m].name;
		list[m].kind = ours->metrics[m].kind == KIND_COUNTER ? KIND_GAUGE : KIND_COUNTER;
		list[m].scale = 0.25;
	}
	many_source(w, "system", list, MANY_METRICS, nth);
	many_close(w, fd, f);
}

/* A batch of the honest one. */
static inline void many_good(struct sample_file *f)
{
	const struct source *ours = source_find("system");
	int fd;
	struct sample_writer *w = many_open("good", &fd);

	many_source(w, "system", ours->metrics, ours->metric_count, 77);
	many_source(w, "special", special_metrics, ARRAY_SIZE(special_metrics), 77);
	many_close(w, fd, f);
}

/* Plays so many of the first to a feed, and one of the second, which it must take. */
static inline void many_play(const struct sink *feed, const struct sink_options *o, unsigned evil)
{
	const struct batch_name name = {.node = "n", .boot = 1, .number = 1};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	uint64_t position;
	struct sample_file f;
	void *state;

	assert_int_equal(feed->open(o, &state, &position, &why), 0);
	for (unsigned n = 1; n <= evil; n++) {
		many_evil(n, &f);
		int r = feed->batch(state, n, &name, &f, &why);
		if (r < 0)
			assert_int_equal(r, -E2BIG);
		sample_file_close(&f);
	}
	strbuf_reset(&why);
	many_good(&f);
	if (feed->batch(state, evil + 1, &name, &f, &why) < 0)
		fail_msg("%s", why.buf);
	sample_file_close(&f);
	if (feed->commit(state, evil + 1, &why) < 0)
		fail_msg("%s", why.buf);
	feed->close(state);
}
