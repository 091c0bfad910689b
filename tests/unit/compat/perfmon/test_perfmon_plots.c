/* perfmon's plots of two hosts whose values are known: which there are, their names, their curves.
 */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>

#include "compat/perfmon/perfmon_plots.h"
#include "core/config.h"
#include "store/import/import.h"

/* ---- results of perfmon ---------------------------------------------------------------------- */

static void add_numbers(struct strbuf *out, double first, double step)
{
	strbuf_addf(out, "[%.17g, %.17g, %.17g]", first, first + step, first + 2 * step);
}

static void add_key(struct strbuf *out, const char *key, double first, double step)
{
	strbuf_addf(out, "\"%s\": ", key);
	add_numbers(out, first, step);
	strbuf_addstr(out, ", ");
}

/* Host k: levels of k, counters that grow by k a second. */
static void add_host(struct strbuf *out, const char *name, double k)
{
	static const char *const net[] = {"bytes_sent", "bytes_recv", "packets_sent",
					  "packets_recv"};
	static const char *const fabric[] = {"port_xmit_data", "port_rcv_data", "port_xmit_packets",
					     "port_rcv_packets"};
	static const char *const zones[] = {"package-0", "package-1", "dram-0", "core-0",
					    "uncore-0"};

	strbuf_addf(out, ", \"%s\": {", name);
	add_key(out, "cpu_percent", 100 * k, 0);
	add_key(out, "memory_bw", 1000 * k, 0);
	strbuf_addstr(out, "\"memory_info\": {");
	add_key(out, "rss", 4096 * k, 0);
	strbuf_addstr(out, "\"vms\": [1, 1, 1]}, \"net_io_counters\": {");
	for (size_t i = 0; i < ARRAY_SIZE(net); i++)
		add_key(out, net[i], 5, 10 * k * (double)(i + 1));
	strbuf_addstr(out, "\"x\": []}, \"ib_io_counters\": {");
	for (size_t i = 0; i < ARRAY_SIZE(fabric); i++)
		add_key(out, fabric[i], 5, 100 * k * (double)(i + 1));
	strbuf_addstr(out, "\"x\": []}, \"rapl_powercap\": {");
	for (size_t i = 0; i < ARRAY_SIZE(zones); i++)
		add_key(out, zones[i], 0, 10e6 * k * (double)(i + 1));
	strbuf_addstr(out, "\"x\": []}, \"time_stamps\": [1700000000, 1700000010, 1700000020]}");
}

static struct store *results(const char *dir, bool all)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
	_cleanup_free_ char *below = xasprintf("%s/metrics", dir);
	_cleanup_free_ char *file = xasprintf("%s/cpu_metrics.json", below);
	struct import_result in = {.details = STRBUF_INIT};
	struct config config = {0};
	struct store *s = NULL;

	strbuf_addstr(&text, "{\"host_names\": [\"n1\", \"n2\"], \"sampling_frequency\": 10");
	if (all) {
		add_host(&text, "n1", 1);
		add_host(&text, "n2", 3);
	} else {
		strbuf_addstr(&text, ", \"n1\": {\"cpu_percent\": [5, null, 7], \"time_stamps\": "
				     "[1700000000, 1700000010, 1700000020]}");
	}
	strbuf_addstr(&text, "}");
	assert_int_equal(mkdir(below, 0700), 0);
	write_file(file, text.buf, text.len);
	config_load(&config, dir, &why);
	if (store_open(&s, ":memory:", STORE_WRITE, &why) < 0 ||
	    import_submit(&config, s, dir, &(struct import_options){0}, &in, &why) < 0)
		fail_msg("%s", why.buf);
	import_result_release(&in);
	config_release(&config);
	return s;
}

/* ---- tests ----------------------------------------------------------------------------------- */

/* The names that perfmon's documentation has, in the order of its report. */
static const char *const names[] = {
	"Average_CPU_Load_all_nodes.png",
	"Average_Memory_all_nodes.png",
	"Average_Memory_Bandwidth_(Read)_all_nodes.png",
	"Total_Output_Traffic_all_nodes.png",
	"Total_Input_Traffic_all_nodes.png",
	"Total_Packets_Output_all_nodes.png",
	"Total_Packets_Input_all_nodes.png",
	"Total_Interconnect_Output_Traffic_all_nodes.png",
	"Total_Interconnect_Input_Traffic_all_nodes.png",
	"Total_Interconnect_Packets_Output_all_nodes.png",
	"Total_Interconnect_Packets_Input_all_nodes.png",
	"Total_RAPL_Package_Power_all_nodes.png",
	"Total_RAPL_DRAM_Power_all_nodes.png",
	"Total_RAPL_Core_Power_all_nodes.png",
	"Total_RAPL_Uncore_Power_all_nodes.png",
	"CPU_Load_per_node.png",
	"Memory_per_node.png",
	"Memory_Bandwidth_(Read)_per_node.png",
	"Output_Traffic_per_node.png",
	"Input_Traffic_per_node.png",
	"Packets_Output_per_node.png",
	"Packets_Input_per_node.png",
	"Interconnect_Output_Traffic_per_node.png",
	"Interconnect_Input_Traffic_per_node.png",
	"Interconnect_Packets_Output_per_node.png",
	"Interconnect_Packets_Input_per_node.png",
	"RAPL_Package_Power_per_node.png",
	"RAPL_DRAM_Power_per_node.png",
	"RAPL_Core_Power_per_node.png",
	"RAPL_Uncore_Power_per_node.png",
};
/* What both hosts together have there: means of 1 and 3, or their sums. */
static const struct {
	double value;
	const char *unit, *subtitle;
	bool logarithmic;
} wanted[] = {
	{2, "CPUs", "per node: average 2 CPUs, maximum 3 CPUs", false},
	{8192, "bytes", "per node: average 8 KiB, maximum 12 KiB", false},
	{2000, "bytes/s", "per node: average 1.95 KiB/s, maximum 2.93 KiB/s", false},
	{4, "bytes/s", "per node: average 2 B/s, maximum 3 B/s", true},
	{8, "bytes/s", "per node: average 4 B/s, maximum 6 B/s", true},
	{12, "1/s", "per node: average 6 /s, maximum 9 /s", true},
	{16, "1/s", "per node: average 8 /s, maximum 12 /s", true},
	{40, "bytes/s", "per node: average 20 B/s, maximum 30 B/s", true},
	{80, "bytes/s", "per node: average 40 B/s, maximum 60 B/s", true},
	{120, "1/s", "per node: average 60 /s, maximum 90 /s", true},
	{160, "1/s", "per node: average 80 /s, maximum 120 /s", true},
	/* two packages: 1 + 2 W for the first host */
	{12, "W", "per node: average 6 W, maximum 9 W", false},
	{12, "W", "per node: average 6 W, maximum 9 W", false},
	{16, "W", "per node: average 8 W, maximum 12 W", false},
	{20, "W", "per node: average 10 W, maximum 15 W", false},
};

static void test_table(void **state)
{
	_cleanup_(perfmon_charts_release) struct perfmon_charts c = {0};
	_cleanup_store_ struct store *s = results(*state, true);
	static const size_t pages[] = {3, 4, 4, 4, 3, 4, 4, 4};
	size_t at = 0, page = 0;

	assert_int_equal(perfmon_charts_load(&c, s, 1), 0);
	assert_int_equal(c.count, ARRAY_SIZE(names));
	for (size_t i = 0; i < c.count; i++)
		assert_string_equal(c.list[i].file, names[i]);
	for (; at < c.count; at += perfmon_charts_page(&c, at))
		assert_int_equal(perfmon_charts_page(&c, at), pages[page++]);
	assert_int_equal(page, ARRAY_SIZE(pages));

	for (size_t i = 0; i < ARRAY_SIZE(wanted); i++) {
		const struct plot *all = &c.list[i].plot, *per = &c.list[i + 15].plot;

		assert_string_equal(all->unit, wanted[i].unit);
		assert_string_equal(all->subtitle, wanted[i].subtitle);
		assert_string_equal(per->subtitle, wanted[i].subtitle);
		assert_true(all->logarithmic == wanted[i].logarithmic);
		assert_int_equal(all->line_count, 1);
		assert_int_equal(per->line_count, 2);
		assert_string_equal(per->lines[0].label, "n1");
		assert_string_equal(per->lines[1].label, "n2");
		assert_true(all->lines[0].points.count >= 2);
		for (size_t k = 0; k < all->lines[0].points.count; k++)
			if (fabs(all->lines[0].points.points[k].value - wanted[i].value) > 1e-9)
				fail_msg("%s: %g", names[i], all->lines[0].points.points[k].value);
	}
}

static int no_dots(const struct dirent *d)
{
	return d->d_name[0] != '.';
}

static void test_files(void **state)
{
	_cleanup_(perfmon_charts_release) struct perfmon_charts c = {0};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_store_ struct store *s = results(*state, true);
	_cleanup_free_ char *dir = xasprintf("%s/plots", (char *)*state);
	struct dirent **list = NULL;

	assert_int_equal(perfmon_charts_load(&c, s, 1), 0);
	/* nowhere to write */
	assert_int_equal(perfmon_charts_write(&c, dir, &why), -ENOENT);
	assert_contains(why.buf, "Average_CPU_Load_all_nodes.png': No such file or directory");
	assert_int_equal(mkdir(dir, 0700), 0);
	strbuf_reset(&why);
	if (perfmon_charts_write(&c, dir, &why) != 30)
		fail_msg("%s", why.buf);
	int n = scandir(dir, &list, no_dots, NULL);
	assert_int_equal(n, 30);
	for (int i = 0; i < n; i++) {
		size_t k = 0;

		while (k < ARRAY_SIZE(names) && strcmp(names[k], list[i]->d_name) != 0)
			k++;
		assert_true(k < ARRAY_SIZE(names));
		free(list[i]);
	}
	free(list);
}

/* Absent plots are left out; an absent value does not count. A value of CPU is over the time since
 * the one before: what time the first is over is not known. */
static void test_little(void **state)
{
	_cleanup_(perfmon_charts_release) struct perfmon_charts c = {0};
	_cleanup_store_ struct store *s = results(*state, false);

	assert_int_equal(perfmon_charts_load(&c, s, 1), 0);
	assert_int_equal(c.count, 2);
	assert_string_equal(c.list[0].file, "Average_CPU_Load_all_nodes.png");
	assert_string_equal(c.list[1].file, "CPU_Load_per_node.png");
	assert_string_equal(c.list[1].plot.subtitle, "average 0.07 CPUs, maximum 0.07 CPUs");
	perfmon_charts_release(&c);
	/* a job that is not there */
	assert_int_equal(perfmon_charts_load(&c, s, 77), 0);
	assert_int_equal(c.count, 0);
}

/* What has two points is no chart: of these results only levels have more. All nodes come first,
 * each node after them. */
static void test_pages(void **state)
{
	_cleanup_(perfmon_charts_release) struct perfmon_charts c = {0};
	_cleanup_store_ struct store *s = results(*state, true);
	static const char *const titles[] = {
		"CPU load, average of all nodes",
		"Memory, average of all nodes",
		"Memory bandwidth (read), average of all nodes",
		"CPU load, each node",
		"Memory, each node",
		"Memory bandwidth (read), each node",
	};
	struct plot plots[ARRAY_SIZE(names)];
	struct plot_page pages[ARRAY_SIZE(names)];

	assert_int_equal(perfmon_charts_load(&c, s, 1), 0);
	assert_int_equal(perfmon_pages(&c, plots, pages), 2);
	for (size_t i = 0; i < ARRAY_SIZE(titles); i++) {
		assert_int_equal(pages[i / 3].plot_count, 3);
		assert_string_equal(pages[i / 3].plots[i % 3].title, titles[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_table, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_files, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_little, scratch_setup, scratch_teardown),
		cmocka_unit_test_setup_teardown(test_pages, scratch_setup, scratch_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
