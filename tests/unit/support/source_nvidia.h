/*
 * The source "nvidia" through the stand-in for NVIDIA's library (tests/fixtures/nvml/fake_nvml.c):
 * answers of a fixture with lines before it, values and metadata by the name of their row.
 */
#pragma once

#include "unit.h"

#include <errno.h>

#include "samples/sample.h"
#include "sources/source.h"

#define NONE INT64_MIN

/* A source that is open, and its readings. */
struct bench {
	const struct source *source;
	struct source_context ctx;
	struct sample_set set;
	struct strbuf why;
	void *state;
	char *library, *scratch;
	unsigned files;
	uint64_t step_ns, ahead_ns; /* time that passes between readings */
};

static inline const char *environment(const char *name)
{
	const char *value = getenv(name);

	if (!value)
		fail_msg("%s is not set: run this through ctest", name);
	return value;
}

static inline int setup(void **state)
{
	struct bench *b = xcalloc(1, sizeof(*b));

	unsetenv("PLIMSOLL_NVML");
	unsetenv("FAKE_NVML_FAIL");
	unsetenv("FAKE_NVML_STRIDE");
	unsetenv("FAKE_NVML_DELAY");
	b->source = source_find("nvidia");
	b->ctx.root = "";
	b->step_ns = 10000000000; /* longer than the clock of what is dear */
	b->why = (struct strbuf)STRBUF_INIT;
	b->library = xasprintf("%s/tests/libnvidia-ml-fake.so", environment("PL_BUILD"));
	b->scratch = scratch_make();
	b->ctx.option = b->library;
	*state = b;
	return 0;
}

static inline void close_bench(struct bench *b)
{
	if (b->state)
		b->source->close(b->state);
	b->state = NULL;
	sample_release(&b->set);
	strbuf_reset(&b->why);
}

static inline int teardown(void **state)
{
	struct bench *b = *state;

	close_bench(b);
	unsetenv("FAKE_NVML_FAIL");
	unsetenv("FAKE_NVML_STRIDE");
	unsetenv("FAKE_NVML_DELAY");
	strbuf_release(&b->why);
	free(b->library);
	scratch_remove(b->scratch);
	free(b);
	return 0;
}

static inline char *fixture(const char *name)
{
	return xasprintf("%s/tests/fixtures/nvml/%s.answers", environment("PL_SOURCE"), name);
}

static inline void read_fixture(const char *name, struct strbuf *out)
{
	_cleanup_free_ char *path = fixture(name);
	_cleanup_fclose_ FILE *f = fopen(path, "r");
	char line[1024];

	assert_non_null(f);
	while (fgets(line, sizeof(line), f))
		strbuf_addstr(out, line);
}

/* Answers of a fixture, with these lines before it: the first that fits is taken. */
static inline void use(struct bench *b, const char *name, const char *lines)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	_cleanup_free_ char *path = xasprintf("%s/%u.answers", b->scratch, b->files++);

	strbuf_addstr(&text, lines);
	read_fixture(name, &text);
	write_file(path, text.buf, text.len);
	setenv("FAKE_NVML_ANSWERS", path, 1);
}

static inline int try_open(struct bench *b)
{
	close_bench(b);
	sample_init(&b->set, b->source->metrics, b->source->metric_count);
	return b->source->open(&b->ctx, &b->set, &b->state, &b->why);
}

static inline void read_again(struct bench *b)
{
	sample_begin(&b->set);
	b->set.time_ns += b->ahead_ns += b->step_ns;
	assert_int_equal(b->source->read(b->state, &b->set), 0);
}

static inline void open_and_read(struct bench *b, const char *name, const char *lines)
{
	use(b, name, lines);
	if (try_open(b) != 0)
		fail_msg("not open: %s", b->why.buf);
	read_again(b);
}

static inline unsigned metric_of(const struct bench *b, const char *name)
{
	for (unsigned i = 0; i < b->set.metric_count; i++)
		if (!strcmp(b->set.metrics[i].name, name))
			return i;
	fail_msg("no metric '%s'", name);
	return 0;
}

/* Raw value of the row of this name; NONE when it has none. */
static inline int64_t value(const struct bench *b, const char *row, const char *metric)
{
	unsigned m = metric_of(b, metric);

	for (size_t i = 0; i < b->set.row_count; i++)
		if (!strcmp(b->set.entities[b->set.rows[i].entity].name, row))
			return b->set.rows[i].present >> m & 1
				       ? b->set.values[i * b->set.metric_count + m]
				       : NONE;
	fail_msg("no row '%s'", row);
	return 0;
}

#define assert_value(b, row, metric, want)                                                    \
	do {                                                                                  \
		int64_t got_ = value(b, row, metric), want_ = (int64_t)(want);                \
		if (got_ != want_)                                                            \
			fail_msg("%s of %s is %lld, want %lld", metric, row, (long long)got_, \
				 (long long)want_);                                           \
	} while (0)

static inline const char *reason(const struct bench *b, const char *metric)
{
	unsigned m = metric_of(b, metric);

	for (size_t i = 0; i < b->set.absence_count; i++)
		if (b->set.absences[i].metric == m)
			return b->set.absences[i].reason;
	return "";
}

/* A fact, in memory that the next call uses again; "" when there is none. */
static inline const char *fact(const struct bench *b, const char *row, const char *key)
{
	static char out[512];
	const char *text;
	size_t n;

	*out = 0;
	for (size_t i = 0; i < b->set.entity_count; i++)
		if (b->set.entities[i].kind == ENTITY_GPU &&
		    !strcmp(b->set.entities[i].name, row) &&
		    entity_metadata(&b->set.entities[i], key, &text, &n))
			snprintf(out, sizeof(out), "%.*s", (int)n, text);
	return out;
}

static inline unsigned row_total(const struct bench *b, const char *name)
{
	unsigned n = 0;

	for (size_t i = 0; i < b->set.row_count; i++)
		n += !strcmp(b->set.entities[b->set.rows[i].entity].name, name);
	return n;
}

#define with_bench(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
