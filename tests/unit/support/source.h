/*
 * A source that is read on a tree which the test writes: what is open, values and metadata by what
 * they are of and their name, and what the probe says.
 */
#pragma once

#include "tree.h"

#include "sources/source.h"

/* Of the test that runs. */
static struct {
	const struct source *source;
	struct source_context ctx;
	struct sample_set set;
	void *state;
	struct strbuf why;           /* it could not be opened */
	struct source_report report; /* of the last probe */
} R;

/* ---- reading --------------------------------------------------------------------------------- */

static inline void stop(void)
{
	if (R.state)
		R.source->close(R.state);
	R.state = NULL;
	sample_release(&R.set);
}

/* As setup and teardown of a test. */
static inline int source_setup(void **state)
{
	tree_setup(state);
	R.ctx = (struct source_context){.root = tree};
	R.why = (struct strbuf)STRBUF_INIT;
	R.report = (struct source_report)SOURCE_REPORT_INIT;
	return 0;
}

static inline int source_teardown(void **state)
{
	stop();
	strbuf_release(&R.why);
	strbuf_release(&R.report.detail);
	return scratch_teardown(state);
}

#define with_source(f) cmocka_unit_test_setup_teardown(f, source_setup, source_teardown)

static inline void name_source(const char *name)
{
	R.source = source_find(name);
	assert_non_null(R.source);
}

/* Opens in R.ctx what it names; a source that is not opened says why. */
static inline int start(const char *name, const char *option)
{
	stop();
	name_source(name);
	assert_non_null(R.source->open);
	strbuf_reset(&R.why);
	R.ctx.option = option;
	sample_init(&R.set, R.source->metrics, R.source->metric_count);
	int r = R.source->open(&R.ctx, &R.set, &R.state, &R.why);
	assert_true(r == 0 || R.why.len > 0);
	assert_true((r == 0) == (R.state != NULL));
	return r;
}

static inline int take(void)
{
	sample_begin(&R.set);
	return R.source->read(R.state, &R.set);
}

/* A reading so many seconds after the clock of this machine. */
static inline int take_later(uint64_t seconds)
{
	sample_begin(&R.set);
	R.set.time_ns += seconds * 1000000000;
	return R.source->read(R.state, &R.set);
}

static inline void begin(const char *name, const char *option)
{
	if (start(name, option) < 0)
		fail_msg("%s: %s", name, R.why.buf);
	assert_int_equal(take(), 0);
}

static inline int probe(const char *name, const char *option)
{
	name_source(name);
	R.ctx.option = option;
	strbuf_reset(&R.report.detail);
	R.report.remedy = NULL;
	int r = source_probe(R.source, &R.ctx, &R.report);
	assert_true(R.report.detail.len > 0);
	return r;
}

/* A remedy is there where access is refused, and only there. */
static inline void check_probe(const char *name, const char *option, int want, const char *part)
{
	assert_int_equal(probe(name, option), want);
	assert_contains(R.report.detail.buf, part);
	assert_true((want == -EACCES) == (R.report.remedy != NULL));
}

/* ---- values ---------------------------------------------------------------------------------- */

static inline unsigned metric_number(const char *metric)
{
	for (unsigned m = 0; m < R.set.metric_count; m++)
		if (!strcmp(R.set.metrics[m].name, metric))
			return m;
	fail_msg("there is no metric %s.%s", R.source->name, metric);
	return 0;
}

/* The row of an entity; -1 when it has none. Two rows of one entity are an error. */
static inline long row_of(enum entity_kind kind, const char *name)
{
	long found = -1;

	for (size_t i = 0; i < R.set.row_count; i++) {
		const struct entity *e = &R.set.entities[R.set.rows[i].entity];

		if (e->kind != kind || strcmp(e->name, name) != 0)
			continue;
		if (found >= 0)
			fail_msg("%s has two rows", name);
		found = (long)i;
	}
	return found;
}

/* With a row or without. */
static inline bool has_entity(enum entity_kind kind, const char *name)
{
	for (size_t i = 0; i < R.set.entity_count; i++)
		if (R.set.entities[i].kind == kind && !strcmp(R.set.entities[i].name, name))
			return true;
	return false;
}

static inline bool has_row(enum entity_kind kind, const char *name)
{
	return row_of(kind, name) >= 0;
}

static inline bool has_value(enum entity_kind kind, const char *name, const char *metric)
{
	long row = row_of(kind, name);
	unsigned m = metric_number(metric);

	return row >= 0 && R.set.rows[row].present >> m & 1;
}

/* Before its scale. */
static inline int64_t raw_value(enum entity_kind kind, const char *name, const char *metric)
{
	long row = row_of(kind, name);

	if (row < 0)
		fail_msg("%s has no row", name);
	if (!has_value(kind, name, metric))
		fail_msg("%s has no %s", name, metric);
	return R.set.values[(size_t)row * R.set.metric_count + metric_number(metric)];
}

/* The value in the unit of its metric. */
static inline double unit_value(enum entity_kind kind, const char *name, const char *metric)
{
	assert_true(has_value(kind, name, metric));
	return sample_value(&R.set, (size_t)row_of(kind, name), metric_number(metric));
}

static inline void check_value(enum entity_kind kind, const char *name, const char *metric,
			       int64_t want)
{
	int64_t got = raw_value(kind, name, metric);

	if (got != want)
		fail_msg("%s of %s is %lld, want %lld", metric, name, (long long)got,
			 (long long)want);
}

struct expected_value {
	const char *metric;
	int64_t want;
};

static inline void check_list(enum entity_kind kind, const char *name,
			      const struct expected_value *list)
{
	for (; list->metric; list++)
		check_value(kind, name, list->metric, list->want);
}

/* Values of one entity: check_values(ENTITY_CPU, "cpu0", {"idle", 5}, {"nice", 0}). */
#define check_values(kind, name, ...) \
	check_list(kind, name, (const struct expected_value[]){__VA_ARGS__, {NULL, 0}})

static inline void check_node(const char *metric, int64_t want)
{
	check_value(ENTITY_NODE, "node", metric, want);
}

/* No value, and perhaps no row. */
static inline void check_none(enum entity_kind kind, const char *name, const char *metric)
{
	if (has_value(kind, name, metric))
		fail_msg("%s of %s is %lld and should not be there", metric, name,
			 (long long)raw_value(kind, name, metric));
}

/* ---- what is said ---------------------------------------------------------------------------- */

/* A fact of what has a row, in memory that the next call uses again; NULL when there is none. */
static inline const char *fact_of(enum entity_kind kind, const char *name, const char *key)
{
	static char *last;
	long row = row_of(kind, name);
	const char *text;
	size_t n;

	if (row < 0)
		fail_msg("%s has no row", name);
	free(last);
	last = NULL;
	if (entity_metadata(&R.set.entities[R.set.rows[row].entity], key, &text, &n)) {
		assert_null(memchr(text, 0, n));
		last = xstrndup(text, n);
	}
	return last;
}

/* want is NULL: there is no such fact. */
static inline void check_fact(enum entity_kind kind, const char *name, const char *key,
			      const char *want)
{
	const char *got = fact_of(kind, name, key);

	if ((got != NULL) != (want != NULL) || (want && strcmp(got, want) != 0))
		fail_msg("%s of %s is '%s', want '%s'", key, name, got ? got : "(none)",
			 want ? want : "(none)");
}

struct expected_fact {
	const char *key, *want;
};

static inline void check_fact_list(enum entity_kind kind, const char *name,
				   const struct expected_fact *list)
{
	for (; list->key; list++)
		check_fact(kind, name, list->key, list->want);
}

#define check_metadata(kind, name, ...) \
	check_fact_list(kind, name, (const struct expected_fact[]){__VA_ARGS__, {NULL, NULL}})

/* Why a metric, or with NULL the whole source, is absent; "" when no reason was given. */
static inline const char *absence(const char *metric)
{
	unsigned m = metric ? metric_number(metric) : SAMPLE_METRICS_MAX;

	for (size_t i = 0; i < R.set.absence_count; i++)
		if (R.set.absences[i].metric == m) {
			assert_true(R.set.absences[i].reason[0]);
			return R.set.absences[i].reason;
		}
	return "";
}
