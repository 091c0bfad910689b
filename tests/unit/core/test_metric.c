/*
 * The metric table is a contract with files that exist already: what its rows may say, that the
 * dictionary of papiex is in it, and that no number ever changes its meaning.
 */
#include "unit.h"

#include <ctype.h>

#include "core/metrics/metric.h"

/* The data dictionary that papiex's manual prints, in its order. */
static const char *const dictionary[] = {
	"tags",
	"hostname",
	"exename",
	"path",
	"args",
	"exitcode",
	"exitsignal",
	"pid",
	"generation",
	"ppid",
	"pgid",
	"sid",
	"numtids",
	"numranks",
	"tid",
	"mpirank",
	"start",
	"end",
	"usertime",
	"systemtime",
	"rssmax",
	"minflt",
	"majflt",
	"inblock",
	"outblock",
	"vol_ctxsw",
	"invol_ctxsw",
	"cminflt",
	"cmajflt",
	"cutime",
	"cstime",
	"num_threads",
	"starttime",
	"processor",
	"delayacct_blkio_time",
	"guest_time",
	"rchar",
	"wchar",
	"syscr",
	"syscw",
	"read_bytes",
	"write_bytes",
	"cancelled_write_bytes",
	"time_oncpu",
	"time_waiting",
	"timeslices",
	"rdtsc_duration",
};

/* The header line that papiex writes today, up to the first event. */
static const char csv_header[] =
	"tags,hostname,exename,path,args,exitcode,exitsignal,pid,generation,ppid,pgid,sid,numtids,"
	"mpinumranks,tid,mpirank,start,end,usertime,systemtime,rssmax,minflt,majflt,inblock,outblock,"
	"vol_ctxsw,invol_ctxsw,cminflt,cmajflt,cutime,cstime,num_threads,starttime,processor,"
	"delayacct_blkio_time,guest_time,rchar,wchar,syscr,syscw,read_bytes,write_bytes,"
	"cancelled_write_bytes,time_oncpu,time_waiting,timeslices,rdtsc_duration";

static void ids_are_unique_and_in_range(void **state)
{
	bool seen[METRIC_ID_END] = {false};
	unsigned highest = 0;

	(void)state;
	for (size_t i = 0; i < metric_count; i++) {
		unsigned id = metrics[i].id;

		assert_in_range(id, 1, METRIC_ID_END - 1);
		if (seen[id])
			fail_msg("id %u is used twice", id);
		seen[id] = true;
		highest = id > highest ? id : highest;
	}
	assert_int_equal(highest + 1, METRIC_ID_END);
}

static void names_are_unique_and_plain(void **state)
{
	(void)state;
	for (size_t i = 0; i < metric_count; i++) {
		const char *name = metrics[i].name;

		assert_non_null(name);
		if (!islower((unsigned char)*name) ||
		    name[strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_")])
			fail_msg("'%s' is no name of a metric", name);
		for (size_t j = 0; j < i; j++)
			if (!strcmp(metrics[j].name, name))
				fail_msg("'%s' is there twice", name);
	}
}

static void help_is_a_phrase(void **state)
{
	(void)state;
	for (size_t i = 0; i < metric_count; i++) {
		const char *help = metrics[i].help;

		assert_non_null(help);
		if (!*help || help[strlen(help) - 1] == '.' || strchr(help, '\n') || *help == ' ')
			fail_msg("help of '%s': '%s'", metrics[i].name, help);
	}
}

static void rows_make_sense(void **state)
{
	(void)state;
	for (size_t i = 0; i < metric_count; i++) {
		const struct metric *m = &metrics[i];

		if (m->kind == KIND_COUNTER && m->agg == AGG_NONE && m->type != TYPE_TEXT)
			fail_msg("counter '%s' does not add up", m->name);
		/* the sum of peaks that were reached at different times means nothing */
		if (m->over_time == TIME_MAX && m->agg != AGG_MAX)
			fail_msg("peak '%s' is not aggregated with max", m->name);
		if (m->over_time == TIME_DIFF && m->kind != KIND_COUNTER)
			fail_msg("'%s' has differences over time but is no counter", m->name);
		if (m->type == TYPE_TEXT && m->kind == KIND_GAUGE)
			fail_msg("text '%s' is a gauge", m->name);
		assert_non_null(metric_unit_name(m->unit));
		assert_true(*metric_type_name(m->type) && *metric_scope_name(m->scope));
		assert_true(*metric_kind_name(m->kind) && *metric_agg_name(m->agg));
		assert_true(*metric_time_name(m->over_time));
	}
}

static void words_are_those_of_the_table(void **state)
{
	(void)state;
	assert_string_equal(metric_unit_name(UNIT_NONE), "");
	assert_string_equal(metric_unit_name(UNIT_MICROSECONDS), "us");
	assert_string_equal(metric_unit_name(UNIT_KIBIBYTES), "KiB");
	assert_string_equal(metric_unit_name(UNIT_CYCLES), "cycles");
	assert_string_equal(metric_type_name(TYPE_TEXT), "text");
	assert_string_equal(metric_scope_name(SCOPE_THREAD), "thread");
	assert_string_equal(metric_kind_name(KIND_LABEL), "label");
	assert_string_equal(metric_agg_name(AGG_NONE), "none");
	assert_string_equal(metric_time_name(TIME_NONE), "none");
}

static void rows_are_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < metric_count; i++) {
		assert_ptr_equal(metric_by_id(metrics[i].id), &metrics[i]);
		assert_ptr_equal(metric_by_name(metrics[i].name), &metrics[i]);
	}
	assert_null(metric_by_id(0));
	assert_null(metric_by_id(METRIC_ID_END));
	assert_null(metric_by_name(""));
	assert_null(metric_by_name("USERTIME"));
	assert_null(metric_by_name("no_such_metric"));
}

static void names_elsewhere_are_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < metric_count; i++) {
		const char *const *names = metrics[i].names;

		for (size_t n = 0; n < METRIC_TOOL_COUNT; n++)
			if (names[n] && !metric_by_name(names[n]))
				fail_msg("'%s' of '%s' is not found", names[n], metrics[i].name);
	}
	/* a name of ours wins over the same name elsewhere */
	assert_int_equal(metric_by_name("read_bytes")->id, METRIC_READ_BYTES);
	assert_int_equal(metric_by_name("hiwater_rss")->id, METRIC_RSSMAX);
	assert_int_equal(metric_by_name("num_threads")->id, METRIC_NUM_THREADS);
}

static void dictionary_is_complete(void **state)
{
	(void)state;
	assert_int_equal(ARRAY_SIZE(dictionary), 47);
	for (size_t i = 0; i < ARRAY_SIZE(dictionary); i++) {
		const struct metric *m = metric_by_name(dictionary[i]);

		if (!m)
			fail_msg("'%s' of the dictionary is missing", dictionary[i]);
		else if (!m->names[METRIC_TOOL_papiex])
			fail_msg("'%s' has no name for papiex", dictionary[i]);
	}
	/* one metric, two names */
	assert_ptr_equal(metric_by_name("numranks"), metric_by_name("mpinumranks"));
	/* jiffies in the dictionary, microseconds in the files and here */
	assert_int_equal(metric_by_name("starttime")->unit, UNIT_MICROSECONDS);
	assert_int_equal(metric_by_name("delayacct_blkio_time")->unit, UNIT_MICROSECONDS);
	assert_int_equal(metric_by_name("guest_time")->unit, UNIT_MICROSECONDS);
}

static void csv_columns_resolve(void **state)
{
	size_t columns = 0;

	(void)state;
	for (const char *p = csv_header; *p; columns++) {
		size_t n = strcspn(p, ",");
		_cleanup_free_ char *name = xstrndup(p, n);
		const struct metric *m = metric_by_name(name);

		if (!m)
			fail_msg("column '%s' is no metric", name);
		else
			assert_string_equal(m->names[METRIC_TOOL_papiex], name);
		p += n + (p[n] == ',');
	}
	assert_int_equal(columns, 47);
}

/* Lines "id name" of every metric that a file may hold. A new one is added here, nothing else. */
static void ids_never_change(void **state)
{
	const char *source = getenv("PL_SOURCE");
	char line[256], name[128];
	unsigned id, lines = 0;

	(void)state;
	if (!source)
		skip_because("PL_SOURCE does not say where the sources are");
	_cleanup_free_ char *path = xasprintf("%s/tests/unit/support/metric_ids.txt", source);
	_cleanup_fclose_ FILE *f = fopen(path, "re");
	assert_non_null(f);
	bool listed[METRIC_ID_END] = {false};
	while (fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%u %127s", &id, name) != 2)
			fail_msg("'%s' is no line of the form 'id name'", line);
		const struct metric *m = metric_by_id(id);
		if (!m)
			fail_msg("%u, '%s', has vanished", id, name);
		else if (strcmp(m->name, name) != 0)
			fail_msg("%u was '%s' and now is '%s'", id, name, m->name);
		else
			listed[id] = true;
		lines++;
	}
	assert_true(lines >= 68);
	for (size_t i = 0; i < metric_count; i++)
		if (!listed[metrics[i].id])
			fail_msg("new metric: add '%u %s' to metric_ids.txt",
				 (unsigned)metrics[i].id, metrics[i].name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_are_unique_and_in_range),
		cmocka_unit_test(names_are_unique_and_plain),
		cmocka_unit_test(help_is_a_phrase),
		cmocka_unit_test(rows_make_sense),
		cmocka_unit_test(words_are_those_of_the_table),
		cmocka_unit_test(rows_are_found),
		cmocka_unit_test(names_elsewhere_are_found),
		cmocka_unit_test(dictionary_is_complete),
		cmocka_unit_test(csv_columns_resolve),
		cmocka_unit_test(ids_never_change),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
