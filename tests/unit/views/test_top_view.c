/* The live view: from sets of readings to lines and JSON. */
#include <math.h>

#include "core/text/text.h"
#include "core/value.h"
#include "unit.h"
#include "views/top/top_view.h"

enum { USER, SYSTEM, RSS, THREADS, READ, WRITE, CPU, METRICS };

static const struct sample_metric process_metrics[] = {
	[USER] = {"usertime", UNIT_MICROSECONDS, KIND_COUNTER, AGG_SUM, 10000, "x"},
	[SYSTEM] = {"systemtime", UNIT_MICROSECONDS, KIND_COUNTER, AGG_SUM, 10000, "x"},
	[RSS] = {"rss", UNIT_BYTES, KIND_GAUGE, AGG_SUM, 0, "x"},
	[THREADS] = {"num_threads", UNIT_COUNT, KIND_GAUGE, AGG_SUM, 0, "x"},
	[READ] = {"read_bytes", UNIT_BYTES, KIND_COUNTER, AGG_SUM, 0, "x"},
	[WRITE] = {"write_bytes", UNIT_BYTES, KIND_COUNTER, AGG_SUM, 0, "x"},
	[CPU] = {"cpu_percent", UNIT_PERCENT, KIND_GAUGE, AGG_SUM, 0.01, "x"},
};

static const struct sample_metric gpu_metrics[] = {
	{"utilization_gpu", UNIT_PERCENT, KIND_GAUGE, AGG_SUM, 0, "x"},
	{"memory_used", UNIT_BYTES, KIND_GAUGE, AGG_SUM, 0, "x"},
	{"power", UNIT_WATTS, KIND_GAUGE, AGG_SUM, 0.001, "x"},
};

static const struct sample_metric system_metrics[] = {
	{"cpu_percent", UNIT_PERCENT, KIND_MEAN, AGG_NONE, 0.001, "x"},
	{"cpus_online", UNIT_COUNT, KIND_GAUGE, AGG_SUM, 0, "x"},
};

#define SECOND 1000000000ull

/* A process of the set, with its counters as they are now. */
static void put(struct sample_set *s, const char *name, int64_t user, int64_t rss, int64_t in)
{
	uint32_t e = sample_entity(s, ENTITY_PROCESS, name);

	sample_row(s, e);
	sample_put(s, USER, user);
	sample_put(s, SYSTEM, 0);
	sample_put(s, RSS, rss);
	sample_put(s, THREADS, 3);
	sample_put(s, READ, in);
	sample_put(s, WRITE, 0);
}

static void watch_of(struct job_processes *w, struct job_process *list, size_t count)
{
	*w = (struct job_processes){.list = list, .count = count};
}

/* Two processes of which the second works; t seconds after they were seen first. */
static void round_at(struct topview *v, struct sample_set *s, unsigned t)
{
	struct job_process list[] = {{.pid = 11, .starttime = 500, .rank = -1},
				     {.pid = 12, .starttime = 600, .rank = 4}};
	struct job_processes w;

	watch_of(&w, list, 2);
	topview_begin(v, (10 + t) * SECOND);
	topview_watch(v, &w);
	sample_begin(s);
	s->time_ns = (10 + t) * SECOND;
	put(s, "11.500", 5, 1 << 20, 0);
	put(s, "12.600", 100 + 50 * (int)t, 3 << 20, 4096 * (int)t);
	sample_set_metadata(s, 1, "cmdline", "model \x1b[2J --run");
	sample_set_metadata(s, 0, "comm", "sh");
	topview_take(v, "process", s);
	topview_end(v);
}

static const char *line(const struct top_frame *f, size_t i)
{
	assert_true(i < f->count);
	return f->lines[i].text;
}

static void rates_need_two_readings(void **state)
{
	struct topview *v = topview_new();
	struct top_look look = {.width = 80, .host = "node7", .title = "job 4711 of Slurm"};
	struct sample_set s;
	struct top_frame f;

	(void)state;
	sample_init(&s, process_metrics, METRICS);
	round_at(v, &s, 0);
	topview_render(v, &look, &f);
	assert_int_equal(f.count, 8);
	assert_string_equal(line(&f, 0), "node7  job 4711 of Slurm");
	assert_string_equal(line(&f, 1), "2 processes, 6 threads, for 5 s; 100 % is one CPU");
	assert_string_equal(line(&f, 2),
			    "cpu               -                     memory        4 MiB #");
	assert_string_equal(line(&f, 5),
			    "    PID  RANK S  THR  *CPU%      RSS   READ/s  WRITE/s COMMAND");
	/* nothing is known of their CPU: by number */
	assert_string_equal(line(&f, 6),
			    "     11     - -    3      -    1 MiB        -        - sh");
	top_frame_release(&f);
	round_at(v, &s, 2);
	topview_state(v, 12, 'R');
	topview_render(v, &look, &f);
	/* 100 ticks in two seconds are half a CPU; the command has no escapes */
	assert_string_equal(line(&f, 6),
			    "     12     4 R    3   50.0    3 MiB    4 KiB      0 B model "
			    "\\x1b[2J --run");
	assert_string_equal(line(&f, 7),
			    "     11     - -    3    0.0    1 MiB      0 B      0 B sh");
	/* without a row for the job its curves are the sums */
	assert_contains(line(&f, 3), "read        4 KiB/s");
	top_frame_release(&f);
	sample_release(&s);
	topview_free(v);
}

static void the_jobs_own_row_and_other_sources(void **state)
{
	struct topview *v = topview_new();
	struct top_look look = {.width = 80, .host = "n"};
	struct sample_set s, g, n;
	struct top_frame f;

	(void)state;
	sample_init(&s, process_metrics, METRICS);
	sample_init(&g, gpu_metrics, ARRAY_SIZE(gpu_metrics));
	sample_init(&n, system_metrics, 2);
	topview_begin(v, 10 * SECOND);
	sample_begin(&s);
	put(&s, "12.600", 100, 3 << 20, 0);
	sample_put(&s, CPU, 12345);
	sample_row(&s, sample_entity(&s, ENTITY_JOB, "job"));
	sample_put(&s, CPU, 40000);
	sample_put(&s, RSS, 1ll << 30);
	sample_put(&s, THREADS, 17);
	topview_take(v, "process", &s);
	sample_begin(&g);
	for (int i = 0; i < 2; i++) {
		sample_row(&g, sample_entity(&g, ENTITY_GPU, i ? "1" : "0"));
		sample_put(&g, 0, i ? 90 : 50);
		sample_put(&g, 1, 1ll << 30);
		if (i)
			sample_put(&g, 2, 212500);
	}
	topview_take(v, "nvidia", &g);
	sample_begin(&n);
	sample_row(&n, sample_entity(&n, ENTITY_NODE, "node"));
	sample_put(&n, 0, 25500);
	sample_put(&n, 1, 8);
	topview_take(v, "system", &n);
	topview_end(v);
	topview_render(v, &look, &f);
	assert_contains(line(&f, 1), "17 threads");
	/* one scale for the job, its processes and the node */
	assert_contains(line(&f, 1), "; 100 % is one of 8 CPUs");
	assert_string_equal(line(&f, 2),
			    "cpu           400 % #                   memory        1 GiB #");
	assert_string_equal(line(&f, 5), "node          204 % #");
	assert_string_equal(line(&f, 6),
			    "gpu          70.0 % +                   gpu mem       2 GiB #");
	assert_string_equal(line(&f, 7), "gpu0 50 % 1 GiB, gpu1 90 % 1 GiB 212 W");
	assert_contains(line(&f, 9), " 123.5 ");
	top_frame_release(&f);
	/* as JSON: what is not known is null */
	struct json_writer j = JSON_WRITER_INIT;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *doc = NULL;
	topview_json(v, &look, &j);
	assert_int_equal(value_from_json(j.out.buf, j.out.len, &doc, &why), 0);
	const struct value *now = value_get(doc, "now");
	assert_true(value_get(now, "cpu_percent")->real == 400);
	assert_int_equal(value_get(now, "read_bytes_per_second")->kind, VALUE_NONE);
	assert_null(value_get(now, "infiniband_in_bytes_per_second"));
	const struct value *table = value_get(doc, "table");
	assert_int_equal(table->list.count, 1);
	assert_int_equal(value_get(table->list.items[0], "pid")->integer, 12);
	assert_int_equal(value_get(table->list.items[0], "rank")->kind, VALUE_NONE);
	json_release(&j);
	sample_release(&s);
	sample_release(&g);
	sample_release(&n);
	topview_free(v);
}

static void fill(struct topview *v, struct sample_set *s, unsigned t, int count)
{
	topview_begin(v, (10 + t) * SECOND);
	sample_begin(s);
	s->time_ns = (10 + t) * SECOND;
	for (int i = 0; i < count; i++) {
		char name[32];

		snprintf(name, sizeof(name), "%d.100", 1000 + i);
		put(s, name, (int)t * i, (count - i) << 20, (int)t * 1024 * (i % 7));
	}
	topview_take(v, "process", s);
	topview_end(v);
}

static void order_and_pages(void **state)
{
	struct topview *v = topview_new();
	struct top_look look = {.width = 80, .height = 24, .host = "n", .keys = true};
	struct sample_set s;
	struct top_frame f;
	int pids[4];

	(void)state;
	sample_init(&s, process_metrics, METRICS);
	fill(v, &s, 0, 50);
	fill(v, &s, 1, 50);
	topview_render(v, &look, &f);
	assert_int_equal(f.count, 24);
	assert_int_equal(f.page, 17);
	assert_true(str_prefix(line(&f, 6), "   1049 "));
	assert_true(str_prefix(line(&f, 22), "   1033 "));
	assert_int_equal(f.lines[23].style, TOP_NOTE);
	top_frame_release(&f);
	look.scroll = 40;
	topview_render(v, &look, &f);
	assert_true(str_prefix(line(&f, 6), "   1009 "));
	assert_string_equal(line(&f, 16), "");
	top_frame_release(&f);
	look.scroll = 0;
	look.sort = TOP_BY_MEMORY;
	assert_int_equal(topview_shown(v, &look, pids, 4), 4);
	assert_int_equal(pids[0], 1000);
	assert_int_equal(pids[3], 1003);
	look.sort = TOP_BY_IO;
	assert_int_equal(topview_shown(v, &look, pids, 2), 2);
	assert_int_equal(pids[0], 1006);
	assert_int_equal(pids[1], 1013);
	/* one that ended is gone, one that took over its number has no past */
	fill(v, &s, 2, 3);
	assert_int_equal(topview_count(v), 3);
	look.help = true;
	topview_render(v, &look, &f);
	assert_int_equal(f.count, 24);
	assert_contains(line(&f, 5), "sort by CPU");
	top_frame_release(&f);
	sample_release(&s);
	topview_free(v);
}

/* Whatever the size of the terminal, no line is too wide and none too many. */
static void any_size(void **state)
{
	struct topview *v = topview_new();
	struct sample_set s;

	(void)state;
	sample_init(&s, process_metrics, METRICS);
	for (unsigned t = 0; t < 1500; t++)
		fill(v, &s, t, (int)t % 40);
	for (size_t width = 1; width < 260; width += width < 90 ? 1 : 13)
		for (size_t height = 1; height < 60; height += 3) {
			struct top_look look = {
				.width = width,
				.height = height,
				.utf8 = width % 2,
				.keys = true,
				.host = "a-host",
				.title = "a job with a rather long name \u00e9\u00e8",
				.scroll = height};
			struct top_frame f;

			topview_render(v, &look, &f);
			assert_true(f.count == height);
			for (size_t i = 0; i < f.count; i++)
				if (text_width(f.lines[i].text, strlen(f.lines[i].text)) > width)
					fail_msg("'%s' is wider than %zu", f.lines[i].text, width);
			top_frame_release(&f);
		}
	sample_release(&s);
	topview_free(v);
}

static void curves_grow_coarser(void **state)
{
	struct topview *v = topview_new();
	struct sample_set n;
	struct top_look look = {.width = 60, .host = "n", .utf8 = true};
	struct top_frame f;

	(void)state;
	sample_init(&n, system_metrics, 2);
	for (int t = 0; t < 400; t++) {
		topview_begin(v, (10 + (unsigned)t) * SECOND);
		sample_begin(&n);
		sample_row(&n, sample_entity(&n, ENTITY_NODE, "node"));
		/* idle for the first half, then busy */
		sample_put(&n, 0, t < 200 ? 0 : 100000);
		sample_put(&n, 1, 1);
		topview_take(v, "system", &n);
		topview_end(v);
		if (t == 3) {
			topview_render(v, &look, &f);
			assert_string_equal(line(&f, 8),
					    "node          0.0 % \u2581\u2581\u2581\u2581");
			top_frame_release(&f);
		}
	}
	topview_render(v, &look, &f);
	const char *curve = line(&f, 8) + strlen("node          100 % ");
	size_t low = 0, high = 0;
	for (; !strncmp(curve, "\u2581", 3); curve += 3)
		low++;
	/* sixteen readings a column, eight and eight of them in the one between */
	assert_true(!strncmp(curve, "\u2584", 3));
	for (curve += 3; !strncmp(curve, "\u2588", 3); curve += 3)
		high++;
	assert_string_equal(curve, "");
	assert_int_equal(low, 12);
	assert_int_equal(high, 12);
	top_frame_release(&f);
	sample_release(&n);
	topview_free(v);
}

static void garbage_in_names(void **state)
{
	struct topview *v = topview_new();
	struct sample_set s;
	struct top_look look = {.width = 80, .host = NULL};
	struct top_frame f;

	(void)state;
	sample_init(&s, process_metrics, METRICS);
	topview_begin(v, SECOND);
	sample_begin(&s);
	put(&s, "", 1, 1, 1);
	put(&s, "-5.7", 1, 1, 1);
	put(&s, "99999999999999999999.1", 1, 1, 1);
	put(&s, "7", 1, INT64_MAX, INT64_MIN);
	put(&s, "8.99999999999999999999999", INT64_MIN, INT64_MIN, 1);
	topview_take(v, "process", &s);
	topview_take(v, "nonesuch", &s);
	topview_end(v);
	topview_render(v, &look, &f);
	assert_int_equal(topview_count(v), 2);
	top_frame_release(&f);
	assert_true(topview_wants("process"));
	assert_false(topview_wants("thermal"));
	sample_release(&s);
	topview_free(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates_need_two_readings),
		cmocka_unit_test(the_jobs_own_row_and_other_sources),
		cmocka_unit_test(order_and_pages),
		cmocka_unit_test(any_size),
		cmocka_unit_test(curves_grow_coarser),
		cmocka_unit_test(garbage_in_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
