/* Parts of the node daemon: which metrics are kept, settings, several outlets at once. */
#include "unit.h"

#include <errno.h>

#include "core/config.h"
#include "core/system/privileges.h"
#include "node/node_settings.h"
#include "sampler/metric_filter.h"
#include "sampler/sample_output.h"
#include "sources/energy/ipmi.h"

#define SECOND 1000000000ull

static const struct sample_metric columns[] = {
	{"cpu_user", UNIT_MICROSECONDS, KIND_COUNTER, AGG_SUM, 0, "x"},
	{"cpu_system", UNIT_MICROSECONDS, KIND_COUNTER, AGG_SUM, 0, "x"},
	{"rss", UNIT_BYTES, KIND_GAUGE, AGG_SUM, 0, "x"},
};

/* Three rows: the node, job 7 and a process of job 8; each value is 10 times row and column. */
static void fill(struct sample_set *s)
{
	static const enum entity_kind kinds[] = {ENTITY_NODE, ENTITY_JOB, ENTITY_PROCESS};
	static const char *const names[] = {"node", "7", "4711.1"};

	sample_begin(s);
	for (unsigned row = 0; row < 3; row++) {
		uint32_t e = sample_entity(s, kinds[row], names[row]);

		if (row == 2)
			sample_set_metadata(s, e, "job", "8");
		sample_row(s, e);
		for (unsigned m = 0; m < ARRAY_SIZE(columns); m++)
			sample_put(s, m, 100 * row + 10 * m);
	}
}

static void choose(struct metric_filter *s, const char *text)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	assert_int_equal(metric_filter_parse(s, text, &why), 0);
}

/* What is left of a reading, as "name:columns" with the values checked. */
static void assert_kept(const char *list, uint64_t tick, const char *want)
{
	_cleanup_strbuf_ struct strbuf got = STRBUF_INIT;
	struct metric_filter s;
	struct sample_set set;

	choose(&s, list);
	sample_init(&set, columns, ARRAY_SIZE(columns));
	fill(&set);
	metric_filter_apply(&s, "system", tick, SECOND, &set);
	for (size_t i = 0; i < set.row_count; i++) {
		const char *name = set.entities[set.rows[i].entity].name;
		int64_t row = !strcmp(name, "node") ? 0 : !strcmp(name, "7") ? 1 : 2;

		strbuf_addf(&got, "%s%s:", i ? " " : "", name);
		for (unsigned m = 0; m < set.metric_count; m++) {
			if (!(set.rows[i].present >> m & 1))
				continue;
			assert_int_equal(set.values[i * set.metric_count + m], 100 * row + 10 * m);
			strbuf_addf(&got, "%u", m);
		}
	}
	assert_string_equal(got.buf, want);
	sample_release(&set);
	metric_filter_release(&s);
}

static void test_selection(void **state)
{
	(void)state;
	assert_kept("", 1, "node:012 7:012 4711.1:012");
	assert_kept("rss", 1, "node:2 7:2 4711.1:2");
	assert_kept("cpu_*", 1, "node:01 7:01 4711.1:01");
	assert_kept("system.cpu_user,rss", 1, "node:02 7:02 4711.1:02");
	assert_kept("other.cpu_user", 1, "");
	/* a period of its own, rounded to ticks */
	assert_kept("rss:10,cpu_user", 7, "node:0 7:0 4711.1:0");
	assert_kept("rss:10,cpu_user", 20, "node:02 7:02 4711.1:02");
	assert_kept("rss:500ms", 7, "node:2 7:2 4711.1:2");
	/* one job, by name or by fact; rows without values go */
	assert_kept("rss:-1:7", 1, "7:2");
	assert_kept("rss:-1:8 cpu_user:-1:7", 1, "7:0 4711.1:2");
	assert_kept("rss:-1:-1", 1, "node:2 7:2 4711.1:2");
}

static void test_selection_refuses(void **state)
{
	static const char *const bad[] = {"a b;c", "rss:soon", "rss:0", ":5", "rss;", "a\x01"};
	struct metric_filter s;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

		assert_int_equal(metric_filter_parse(&s, bad[i], &why), -EINVAL);
		assert_true(why.len > 0);
		assert_int_equal(s.count, 0);
	}
	_cleanup_strbuf_ struct strbuf many = STRBUF_INIT, why = STRBUF_INIT;
	for (int i = 0; i < METRIC_FILTER_MAX + 1; i++)
		strbuf_addstr(&many, "rss,");
	assert_int_equal(metric_filter_parse(&s, many.buf, &why), -EINVAL);
	assert_contains(why.buf, "too many metrics");
}

static void test_lists(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct config c = {0};
	struct node_settings s;
	struct name_list l;

	(void)state;
	assert_int_equal(node_list_parse(&l, " a  b\\ c\t_(\\d+)$ "), 0);
	assert_int_equal(l.count, 3);
	assert_string_equal(l.names[0], "a");
	assert_string_equal(l.names[1], "b c");
	assert_string_equal(l.names[2], "_(\\d+)$");
	name_list_release(&l);

	for (int i = 0; i < SETTING_COUNT; i++)
		config_set(&c, (enum setting_id)i, settings[i].fallback, "default");
	config_set(&c, SETTING_NODE_SOURCES, "disk", "/etc/plimsoll.conf:1");
	/* a flag takes the place of a file, the next one is added */
	node_list_add(&c, SETTING_NODE_SOURCES, "ipmi=tool -x@30s", "flag");
	node_list_add(&c, SETTING_NODE_SOURCES, "system", "flag");
	assert_int_equal(node_settings_read(&s, &c, &why), 0);
	assert_int_equal(s.source_count, 2);
	assert_string_equal(s.sources[0].name, "ipmi=tool -x");
	assert_int_equal(s.sources[0].period_ns, 30 * SECOND);
	assert_string_equal(s.sources[1].name, "system");
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	node_sources_text(&s, &text);
	assert_string_equal(text.buf, "ipmi=tool\\ -x@30000ms system");
	/* what it says can be said again */
	config_set(&c, SETTING_NODE_SOURCES, text.buf, "configure");
	node_settings_release(&s);
	assert_int_equal(node_settings_read(&s, &c, &why), 0);
	assert_int_equal(s.source_count, 2);
	assert_string_equal(s.sources[0].name, "ipmi=tool -x");
	assert_int_equal(s.period_ns, 5 * SECOND);
	assert_int_equal(s.batch_ns, 10 * SECOND);
	assert_int_equal(s.spool_limit, 256u << 20);
	node_settings_release(&s);
	config_release(&c);
}

static void test_settings_refuse(void **state)
{
	static const struct {
		enum setting_id id;
		const char *value, *says;
	} bad[] = {
		{SETTING_NODE_PERIOD, "9ms", "node_period takes a time"},
		{SETTING_NODE_PERIOD, "2d", "node_period takes a time"},
		{SETTING_NODE_BATCH, "x", "node_batch takes a time"},
		{SETTING_NODE_SPOOL_LIMIT, "99999999999999999999G",
		 "node_spool_limit takes a size"},
		{SETTING_NODE_SPOOL_LIMIT, "18446744073709551615T",
		 "node_spool_limit takes a size"},
		{SETTING_NODE_SPOOL_LIMIT, "1K", "node_spool_limit takes a size"},
		{SETTING_NODE_INSECURE, "perhaps", "node_insecure takes yes or no"},
		{SETTING_NODE_BUDGET, "nan", "node_budget takes a share"},
		{SETTING_NODE_BUDGET, "-1", "node_budget takes a share"},
		{SETTING_NODE_SOURCES, "system@1ns", "invalid period"},
		{SETTING_NODE_SOURCES, "nosuch=1", "there is no sampled source 'nosuch'"},
		{SETTING_NODE_METRICS, "system.nosuch", "there is no metric 'system.nosuch'"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		struct config c = {0};
		struct node_settings s;

		for (int k = 0; k < SETTING_COUNT; k++)
			config_set(&c, (enum setting_id)k, settings[k].fallback, "default");
		config_set(&c, bad[i].id, bad[i].value, "flag");
		assert_int_equal(node_settings_read(&s, &c, &why), -EINVAL);
		assert_contains(why.buf, bad[i].says);
		assert_null(s.name);
		config_release(&c);
	}
}

/* ---- outlets --------------------------------------------------------------------------------- */

struct counting {
	unsigned sources, readings, fresh, flushes, restarts, ends;
	int answer;
};

static unsigned count_source(void *user, const char *name, unsigned every, struct sample_set *set)
{
	struct counting *c = user;

	(void)name;
	(void)every;
	(void)set;
	return 10 * c->sources++;
}

/* Clears the marks, as writers do. */
static void count_reading(void *user, unsigned source, struct sample_set *set)
{
	struct counting *c = user;

	assert_int_equal(source % 10, 0);
	c->readings++;
	for (size_t i = 0; i < set->entity_count; i++) {
		c->fresh += set->entities[i].fresh;
		set->entities[i].fresh = false;
	}
	for (size_t i = 0; i < set->absence_count; i++) {
		c->fresh += set->absences[i].fresh;
		set->absences[i].fresh = false;
	}
}

static void count_clock(void *user, uint64_t boottime_ns, int64_t realtime_ns)
{
	(void)user;
	assert_int_equal(boottime_ns, 1);
	assert_int_equal(realtime_ns, 2);
}

static int count_flush(void *user, bool sync)
{
	struct counting *c = user;

	c->flushes += 1 + sync;
	return c->answer;
}

static int count_restart(void *user, const struct sample_file_head *head)
{
	struct counting *c = user;

	(void)head;
	c->restarts++;
	c->sources = 0;
	return c->answer;
}

static int count_end(void *user, const char *reason)
{
	struct counting *c = user;

	assert_string_equal(reason, "done");
	c->ends++;
	return c->answer;
}

static struct sample_output counting(struct counting *c)
{
	return (struct sample_output){.source = count_source,
				      .add = count_reading,
				      .clock = count_clock,
				      .flush = count_flush,
				      .restart = count_restart,
				      .end = count_end,
				      .user = c};
}

/* Each of several has all marks, though those before have cleared them; the first error is told. */
static void test_tee(void **state)
{
	struct counting a = {0}, b = {.answer = -ENOSPC}, c = {.answer = -EIO};
	const struct sample_output list[] = {counting(&a), counting(&b), counting(&c)};
	struct sample_set set;
	struct sample_output tee;

	(void)state;
	sample_output_tee(&tee, list, ARRAY_SIZE(list));
	sample_init(&set, columns, ARRAY_SIZE(columns));
	unsigned first = tee.source(tee.user, "one", 1, &set);
	unsigned second = tee.source(tee.user, "two", 1, &set);
	assert_int_not_equal(first, second);
	fill(&set);
	sample_absent(&set, 1, "no such thing");
	tee.clock(tee.user, 1, 2);
	tee.add(tee.user, second, &set);
	fill(&set);
	tee.add(tee.user, first, &set);
	assert_int_equal(a.fresh, 4);
	assert_int_equal(b.fresh, 4);
	assert_int_equal(c.fresh, 4);
	assert_int_equal(c.readings, 2);
	assert_int_equal(tee.flush(tee.user, true), -ENOSPC);
	assert_int_equal(a.flushes + b.flushes + c.flushes, 6);
	assert_int_equal(tee.restart(tee.user, NULL), -ENOSPC);
	assert_int_equal(tee.source(tee.user, "one", 1, &set), 0);
	assert_int_equal(tee.end(tee.user, "done"), -ENOSPC);
	assert_int_equal(a.ends + b.ends + c.ends, 3);
	sample_release(&set);
}

/* ---- others ---------------------------------------------------------------------------------- */

static void test_power_of_a_command(void **state)
{
	static const struct {
		const char *text;
		int r;
		uint64_t watts;
	} cases[] = {
		{"Power : 217 W\n", 0, 217},
		{"a: b\nTime: 12:30 x\nPower:  84 \n", 0, 84},
		{"Power: 217", -ENODATA, 0},
		{"Power:217 W", -ENODATA, 0},
		{"Power: 217W ", -ENODATA, 0},
		{"Power: 99999999999999999999 W", -ENODATA, 0},
		{"", -ENODATA, 0},
		{":", -ENODATA, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct ipmi_reading got;

		assert_int_equal(ipmi_parse_first(cases[i].text, strlen(cases[i].text), &got),
				 cases[i].r);
		assert_int_equal(got.watts[IPMI_NOW], cases[i].watts);
	}
}

static void test_privileges_text(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	(void)state;
	privileges_text(0, &text);
	assert_string_equal(text.buf, "none");
	strbuf_reset(&text);
	privileges_text(PRIVILEGE_PERFMON | PRIVILEGE_NET_ADMIN | 1, &text);
	assert_string_equal(text.buf, "CAP_NET_ADMIN CAP_PERFMON");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_selection),
		cmocka_unit_test(test_selection_refuses),
		cmocka_unit_test(test_lists),
		cmocka_unit_test(test_settings_refuse),
		cmocka_unit_test(test_tee),
		cmocka_unit_test(test_power_of_a_command),
		cmocka_unit_test(test_privileges_text),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
