/*
 * What the sources of a node share: tables of metrics that are well formed, and a bound to what a
 * text may name.
 */
#include "source.h"

static void tables(void **state)
{
	static const char *const names[] = {"cgroup", "disk",     "network",
					    "nfs",    "pressure", "system"};

	(void)state;
	for (size_t s = 0; s < ARRAY_SIZE(names); s++) {
		const struct source *source = source_find(names[s]);

		assert_non_null(source);
		assert_in_range(source->metric_count, 1, SAMPLE_METRICS_MAX);
		assert_true(source->every >= 1);
		for (size_t i = 0; i < source->metric_count; i++) {
			const struct sample_metric *m = &source->metrics[i];

			if (!m->name || !*m->name ||
			    strspn(m->name, "abcdefghijklmnopqrstuvwxyz_0123456789") !=
				    strlen(m->name))
				fail_msg("%s: metric %zu is badly named", names[s], i);
			if (!m->help || !*m->help || str_suffix(m->help, "."))
				fail_msg("%s.%s: bad help", names[s], m->name);
			assert_true(m->scale > 0);
			assert_true(m->unit < UNIT_END);
			assert_true(m->kind != KIND_LABEL);
			for (size_t k = 0; k < i; k++)
				if (!strcmp(m->name, source->metrics[k].name))
					fail_msg("%s.%s is there twice", names[s], m->name);
		}
	}
}

/* A text that names more than any host has costs a bounded time. */
static void too_many(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	(void)state;
	for (int i = 0; i < 20000; i++)
		strbuf_addf(&text, "e%d:1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n", i);
	put("proc/net/dev", text.buf);
	begin("network", NULL);
	assert_int_equal(R.set.row_count, 8193);
	strbuf_reset(&text);
	for (int i = 0; i < 20000; i++)
		strbuf_addf(&text, "8 0 d%dx 1 1 1 1 1 1 1 1 1 1 1\n", i);
	put("proc/diskstats", text.buf);
	begin("disk", NULL);
	assert_int_equal(R.set.row_count, 8193);
	strbuf_reset(&text);
	for (int i = 0; i < 20000; i++)
		strbuf_addf(&text, "device s:/%d mounted on /m%d with fstype nfs4\n\tbytes: 1 2\n",
			    i, i);
	put("proc/self/mountstats", text.buf);
	begin("nfs", NULL);
	assert_int_equal(R.set.row_count, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables),
		with_source(too_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
