/* The skeletons of CONTRIBUTING.md, compiled and used, so that they never rot. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cmd/command.h"
#include "cmd/personalities.h"
#include "sources/source.h"
#include "views/rows/row_writer.h"

extern const struct command command_hello;
extern const struct row_writer row_writer_names;
extern const struct source source_uptime;

enum {
	METRIC_COUNT_IN_EXAMPLE = 0
#define METRIC(id, symbol, ...) +1
#include "metric.def"
#undef METRIC
};

static const struct metric example[] = {
#define METRIC(id, symbol, name, unit, type, scope, kind, agg, over_time, a, b, c, help) \
	{(enum metric_id)id, name,      UNIT_##unit,      TYPE_##type, SCOPE_##scope,    \
	 KIND_##kind,        AGG_##agg, TIME_##over_time, {a, b, c},   help},
#include "metric.def"
#undef METRIC
};

static void test_metric(void **state)
{
	(void)state;
	assert_int_equal(METRIC_COUNT_IN_EXAMPLE, 1);
	assert_string_equal(example[0].name, "example_swaps");
	assert_int_equal(example[0].agg, AGG_SUM);
	/* a new row must not take a name or a number that is in use */
	assert_null(metric_by_name(example[0].name));
	assert_null(metric_by_id(example[0].id));
}

static void test_source(void **state)
{
	char root[] = "/tmp/plimsoll-example-XXXXXX";
	struct source_report report = SOURCE_REPORT_INIT;
	struct source_context ctx = {.root = root};

	(void)state;
	assert_non_null(mkdtemp(root));
	assert_true(source_uptime.probe(&ctx, &report) < 0);
	strbuf_reset(&report.detail);
	_cleanup_free_ char *dir = xasprintf("%s/proc", root);
	_cleanup_free_ char *file = xasprintf("%s/uptime", dir);
	assert_int_equal(mkdir(dir, 0700), 0);
	FILE *f = fopen(file, "w");
	fputs("4711.25 9000.00\n", f);
	fclose(f);
	assert_int_equal(source_uptime.probe(&ctx, &report), 0);
	assert_string_equal(report.detail.buf, "the machine has been up for 4711 s");
	strbuf_release(&report.detail);

	struct sample_set set;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	void *sampled;
	sample_init(&set, source_uptime.metrics, source_uptime.metric_count);
	assert_int_equal(source_uptime.open(&ctx, &set, &sampled, &why), 0);
	sample_begin(&set);
	assert_int_equal(source_uptime.read(sampled, &set), 0);
	assert_int_equal(set.row_count, 1);
	assert_true(sample_value(&set, 0, 0) == 4711250000.0);
	assert_true(sample_value(&set, 0, 1) == 9000000000.0);
	source_uptime.close(sampled);
	sample_release(&set);
	unlink(file);
	rmdir(dir);
	rmdir(root);
}

static void test_sink(void **state)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	struct row row;
	struct row_writer_row r = {.row = &row, .ended = "exit", .source = "preload"};

	(void)state;
	row_init(&row);
	row_set_text(&row, METRIC_EXENAME, "a\nb", 3);
	void *s = row_writer_names.open(f, false);
	assert_int_equal(row_writer_names.write(s, &r), 0);
	assert_int_equal(row_writer_names.close(s), 0);
	fclose(f);
	assert_string_equal(text, "a\\x0ab\n");
	row_release(&row);
	free(text);
}

static void test_command(void **state)
{
	_cleanup_strbuf_ struct strbuf help = STRBUF_INIT, man = STRBUF_INIT;
	struct context ctx = {.program = "plimsoll", .personality = &personality_plimsoll};
	char *good[] = {(char *)"hello", (char *)"-l", (char *)"you", NULL};
	char *bad[] = {(char *)"hello", (char *)"--nonsense", NULL};
	char *often[] = {(char *)"hello", (char *)"--times", (char *)"11", NULL};

	(void)state;
	assert_int_equal(command_execute(&command_hello, &ctx, 3, good), EXIT_OK);
	assert_int_equal(command_execute(&command_hello, &ctx, 2, bad), EXIT_USAGE);
	assert_int_equal(command_execute(&command_hello, &ctx, 3, often), EXIT_USAGE);
	command_help_text(&command_hello, &help);
	assert_non_null(strstr(help.buf, "usage: plimsoll hello [options] [NAME]"));
	assert_non_null(strstr(help.buf, "-l, --loud"));
	assert_non_null(strstr(help.buf, "in this language (english or french)"));
	command_man_text(&command_hello, &man);
	assert_non_null(strstr(man.buf, ".SH OPTIONS"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_metric),
		cmocka_unit_test(test_source),
		cmocka_unit_test(test_sink),
		cmocka_unit_test(test_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
