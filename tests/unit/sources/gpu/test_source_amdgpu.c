/* The source "amdgpu" on trees of files as the driver has them, made here, good and bad. */
#include "unit.h"

#include <errno.h>

#include "samples/sample.h"
#include "sources/source.h"

#define NONE INT64_MIN

struct bench {
	const struct source *source;
	struct source_context ctx;
	struct sample_set set;
	struct strbuf why;
	void *state;
	char *root;
};

static int setup(void **state)
{
	struct bench *b = xcalloc(1, sizeof(*b));

	b->source = source_find("amdgpu");
	b->root = scratch_make();
	b->ctx.root = b->root;
	b->why = (struct strbuf)STRBUF_INIT;
	*state = b;
	return 0;
}

static void close_bench(struct bench *b)
{
	if (b->state)
		b->source->close(b->state);
	b->state = NULL;
	sample_release(&b->set);
	strbuf_reset(&b->why);
}

static int teardown(void **state)
{
	struct bench *b = *state;

	close_bench(b);
	strbuf_release(&b->why);
	scratch_remove(b->root);
	free(b);
	return 0;
}

static void make_parents(char *path)
{
	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = 0;
		(void)mkdir(path, 0755);
		*p = '/';
	}
}

/* A file of a card: place("card0", "gpu_busy_percent", "4\n"). */
static void place(const struct bench *b, const char *card, const char *file, const char *text)
{
	_cleanup_free_ char *path = xasprintf("%s/sys/class/drm/%s/device/%s", b->root, card, file);

	make_parents(path);
	write_file(path, text, strlen(text));
}

static void take_away(const struct bench *b, const char *card, const char *file)
{
	_cleanup_free_ char *path = xasprintf("%s/sys/class/drm/%s/device/%s", b->root, card, file);

	assert_int_equal(unlink(path), 0);
}

/* A card with everything. */
static void place_card(const struct bench *b, const char *card)
{
	static const char *const files[][2] = {
		{"vendor", "0x1002\n"},
		{"device", "0x740c\n"},
		{"product_name", "Instinct Test\n"},
		{"unique_id", "abcdef0123456789\n"},
		{"serial_number", "PCB001\n"},
		{"vbios_version", "113-TEST\n"},
		{"uevent", "DRIVER=amdgpu\nPCI_SLOT_NAME=0000:c1:00.0\nMODALIAS=x\n"},
		{"current_link_speed", "16.0 GT/s PCIe\n"},
		{"current_link_width", "16\n"},
		{"gpu_busy_percent", "87\n"},
		{"mem_busy_percent", "12\n"},
		{"mem_info_vram_used", "1073741824\n"},
		{"mem_info_vram_total", "68702699520\n"},
		{"mem_info_gtt_used", "4096\n"},
		{"pp_dpm_sclk", "0: 500Mhz \n1: 1700Mhz *\n2: 2100Mhz \n"},
		{"pp_dpm_mclk", "0: 400Mhz \n1: 1600Mhz *\n"},
		{"pcie_replay_count", "3\n"},
		{"ras/umc_err_count", "ue: 1\nce: 25\n"},
		{"hwmon/hwmon7/power1_average", "560000000\n"},
		{"hwmon/hwmon7/power1_cap", "750000000\n"},
		{"hwmon/hwmon7/temp1_input", "41000\n"},
		{"hwmon/hwmon7/temp1_label", "edge\n"},
		{"hwmon/hwmon7/temp2_input", "55500\n"},
		{"hwmon/hwmon7/temp2_label", "junction\n"},
		{"hwmon/hwmon7/temp3_input", "62000\n"},
		{"hwmon/hwmon7/temp3_label", "mem\n"},
		{"hwmon/hwmon7/fan1_input", "1200\n"},
		{"power/runtime_status", "active\n"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(files); i++)
		place(b, card, files[i][0], files[i][1]);
}

static void read_again(struct bench *b)
{
	sample_begin(&b->set);
	assert_int_equal(b->source->read(b->state, &b->set), 0);
}

static int try_open(struct bench *b)
{
	close_bench(b);
	sample_init(&b->set, b->source->metrics, b->source->metric_count);
	return b->source->open(&b->ctx, &b->set, &b->state, &b->why);
}

static void open_and_read(struct bench *b)
{
	assert_int_equal(try_open(b), 0);
	read_again(b);
}

static unsigned metric_of(const struct bench *b, const char *name)
{
	for (unsigned i = 0; i < b->set.metric_count; i++)
		if (!strcmp(b->set.metrics[i].name, name))
			return i;
	fail_msg("no metric '%s'", name);
	return 0;
}

static int64_t value(const struct bench *b, const char *row, const char *metric)
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

static const char *reason(const struct bench *b, const char *metric)
{
	unsigned m = metric_of(b, metric);

	for (size_t i = 0; i < b->set.absence_count; i++)
		if (b->set.absences[i].metric == m)
			return b->set.absences[i].reason;
	return "";
}

static const char *fact(const struct bench *b, const char *row, const char *key)
{
	static char out[512];
	const char *text;
	size_t n;

	*out = 0;
	for (size_t i = 0; i < b->set.entity_count; i++)
		if (!strcmp(b->set.entities[i].name, row) &&
		    entity_metadata(&b->set.entities[i], key, &text, &n))
			snprintf(out, sizeof(out), "%.*s", (int)n, text);
	return out;
}

static const struct {
	const char *metric;
	int64_t want;
} whole[] = {
	{"utilization_gpu", 87},
	{"utilization_memory", 12},
	{"memory_used", 1073741824},
	{"memory_total", 68702699520},
	{"gtt_used", 4096},
	{"clock_graphics", 1700},
	{"clock_memory", 1600},
	{"power", 560000000},
	{"temperature", 41000},
	{"temperature_hotspot", 55500},
	{"temperature_memory", 62000},
	{"fan", 1200},
	{"ecc_single", 25},
	{"ecc_double", 1},
	{"pcie_replays", 3},
};

/* ---- cards ----------------------------------------------------------------------------------- */

static void a_card_gives_all_its_values(void **state)
{
	struct bench *b = *state;

	place_card(b, "card0");
	open_and_read(b);
	assert_int_equal(b->set.metric_count, ARRAY_SIZE(whole));
	assert_int_equal(b->set.row_count, 1);
	assert_int_equal(b->set.absence_count, 0);
	for (size_t i = 0; i < ARRAY_SIZE(whole); i++)
		assert_value(b, "amd-0", whole[i].metric, whole[i].want);
	assert_true(sample_value(&b->set, 0, metric_of(b, "power")) == 560.0);
	assert_true(sample_value(&b->set, 0, metric_of(b, "temperature_hotspot")) == 55.5);
	assert_true(sample_value(&b->set, 0, metric_of(b, "clock_graphics")) == 1.7e9);
	/* files are read anew */
	place(b, "card0", "gpu_busy_percent", "3\n");
	read_again(b);
	assert_value(b, "amd-0", "utilization_gpu", 3);
}

static void a_card_says_what_it_is(void **state)
{
	static const char *const metadata[][2] = {
		{"name", "Instinct Test"},
		{"uuid", "abcdef0123456789"},
		{"serial", "PCB001"},
		{"vbios", "113-TEST"},
		{"pci", "0000:c1:00.0"},
		{"pcie_speed", "16.0 GT/s PCIe"},
		{"pcie_width", "16"},
		{"power_limit", "750 W"},
		{"memory", "68702699520"},
		{"card", "card0"},
		{"state", ""},
	};
	struct bench *b = *state;

	place_card(b, "card0");
	open_and_read(b);
	for (size_t i = 0; i < ARRAY_SIZE(metadata); i++)
		assert_string_equal(fact(b, "amd-0", metadata[i][0]), metadata[i][1]);
	/* boards for the desk have an empty name */
	place(b, "card0", "product_name", "\n");
	open_and_read(b);
	assert_string_equal(fact(b, "amd-0", "name"), "AMD 0x740c");
}

static void cards_are_those_of_amd_in_order(void **state)
{
	struct bench *b = *state;
	struct source_report report = SOURCE_REPORT_INIT;

	place(b, "card0", "vendor", "0x10de\n");
	place(b, "card0", "gpu_busy_percent", "1\n");
	place(b, "card10", "vendor", "0x1002\n");
	place(b, "card10", "gpu_busy_percent", "10\n");
	place(b, "card2", "vendor", "0x1002\n");
	place(b, "card2", "gpu_busy_percent", "2\n");
	/* a plug, a render node, and something else */
	place(b, "card2-DP-1", "vendor", "0x1002\n");
	place(b, "renderD128", "vendor", "0x1002\n");
	place(b, "cards", "vendor", "0x1002\n");
	place(b, "card4294967298", "vendor", "0x1002\n");
	open_and_read(b);
	assert_int_equal(b->set.row_count, 2);
	assert_value(b, "amd-0", "utilization_gpu", 2);
	assert_value(b, "amd-1", "utilization_gpu", 10);
	assert_string_equal(fact(b, "amd-1", "card"), "card10");
	assert_int_equal(source_probe(b->source, &b->ctx, &report), 0);
	assert_text(&report.detail, "2 GPUs");
	place(b, "card2", "product_name", "Instinct \x1b[1m\n");
	strbuf_reset(&report.detail);
	assert_int_equal(source_probe(b->source, &b->ctx, &report), 0);
	assert_text(&report.detail, "2 GPUs (Instinct \\x1b[1m)");
	strbuf_release(&report.detail);
}

static void no_card_is_no_source(void **state)
{
	struct bench *b = *state;
	struct source_report report = SOURCE_REPORT_INIT;

	for (int round = 0; round < 2; round++) {
		assert_int_equal(try_open(b), -ENOENT);
		assert_text(&b->why, "no AMD GPU");
		assert_null(b->state);
		assert_int_equal(source_probe(b->source, &b->ctx, &report), -ENOENT);
		assert_text(&report.detail, "no AMD GPU");
		strbuf_reset(&report.detail);
		place(b, "card0", "vendor", "0x8086\n");
	}
	strbuf_release(&report.detail);
}

/* ---- what cards differ in -------------------------------------------------------------------- */

static void other_files_take_the_place_of_missing_ones(void **state)
{
	struct bench *b = *state;

	place_card(b, "card0");
	take_away(b, "card0", "pp_dpm_sclk");
	take_away(b, "card0", "pp_dpm_mclk");
	take_away(b, "card0", "hwmon/hwmon7/power1_average");
	take_away(b, "card0", "hwmon/hwmon7/temp1_label");
	take_away(b, "card0", "hwmon/hwmon7/temp1_input");
	take_away(b, "card0", "ras/umc_err_count");
	place(b, "card0", "hwmon/hwmon7/freq1_input", "1650000000\n");
	place(b, "card0", "hwmon/hwmon7/freq2_input", "900000000\n");
	place(b, "card0", "hwmon/hwmon7/power1_input", "140000000\n");
	place(b, "card0", "ras/aca_umc", "ue: 4\nce: 5\nde: 6\n");
	open_and_read(b);
	assert_value(b, "amd-0", "clock_graphics", 1650);
	assert_value(b, "amd-0", "clock_memory", 900);
	assert_value(b, "amd-0", "power", 140000000);
	assert_value(b, "amd-0", "temperature", 55500);
	assert_value(b, "amd-0", "temperature_hotspot", 55500);
	assert_value(b, "amd-0", "ecc_double", 4);
	assert_value(b, "amd-0", "ecc_single", 5);
}

static void what_a_card_has_not_is_absent_with_the_reason(void **state)
{
	struct bench *b = *state;

	place(b, "card0", "vendor", "0x1002\n");
	place(b, "card0", "mem_info_vram_used", "7\n");
	open_and_read(b);
	assert_value(b, "amd-0", "memory_used", 7);
	assert_string_equal(reason(b, "memory_used"), "");
	assert_int_equal(b->set.absence_count, ARRAY_SIZE(whole) - 1);
	for (size_t i = 0; i < ARRAY_SIZE(whole); i++) {
		if (!strcmp(whole[i].metric, "memory_used"))
			continue;
		assert_value(b, "amd-0", whole[i].metric, NONE);
		assert_contains(reason(b, whole[i].metric), "no file");
	}
	/* another card that has it: the metric is there */
	place_card(b, "card1");
	open_and_read(b);
	assert_int_equal(b->set.absence_count, 0);
	assert_value(b, "amd-0", "power", NONE);
	assert_value(b, "amd-1", "power", 560000000);
}

static void a_card_that_sleeps_is_left_alone(void **state)
{
	struct bench *b = *state;

	place_card(b, "card0");
	place(b, "card0", "power/runtime_status", "suspended\n");
	open_and_read(b);
	assert_int_equal(b->set.row_count, 1);
	assert_int_equal(b->set.rows[0].present, 0);
	assert_string_equal(fact(b, "amd-0", "state"), "suspended");
	assert_string_equal(fact(b, "amd-0", "name"), "Instinct Test");
	assert_string_equal(fact(b, "amd-0", "power_limit"), "");
	assert_int_equal(b->set.absence_count, 0);
	place(b, "card0", "power/runtime_status", "active\n");
	read_again(b);
	assert_value(b, "amd-0", "power", 560000000);
	assert_string_equal(fact(b, "amd-0", "state"), "");
	assert_string_equal(fact(b, "amd-0", "power_limit"), "750 W");
}

static void a_card_that_vanishes_leaves_the_other_whole(void **state)
{
	struct bench *b = *state;

	place_card(b, "card0");
	place_card(b, "card1");
	open_and_read(b);
	take_away(b, "card0", "gpu_busy_percent");
	take_away(b, "card0", "hwmon/hwmon7/power1_average");
	read_again(b);
	assert_value(b, "amd-0", "utilization_gpu", NONE);
	assert_value(b, "amd-0", "power", NONE);
	assert_value(b, "amd-0", "fan", 1200);
	assert_value(b, "amd-1", "utilization_gpu", 87);
	assert_int_equal(b->set.absence_count, 0);
}

/* ---- garbage --------------------------------------------------------------------------------- */

static void a_clock_is_the_line_with_the_star(void **state)
{
	static const struct {
		const char *text;
		int64_t want;
	} cases[] = {
		{"0: 852Mhz *\n", 852},
		{"0: 852Mhz \n1: 900Mhz *\n", 900},
		{"S: 19Mhz *\n0: 500Mhz\n", 19},
		{"0: 500Mhz *", 500},
		{"0:500Mhz *\n", 500},
		{"0: 500Mhz\n1: 900Mhz\n", NONE},
		{"", NONE},
		{"\n\n\n", NONE},
		{"*\n", NONE},
		{"0: *\n", NONE},
		{"0: Mhz *\n", NONE},
		{"0 500Mhz *\n", NONE},
		{"0: -5Mhz *\n", NONE},
		{"0: 99999999999999999999999Mhz *\n", NONE},
		{"0: 9223372036854775808Mhz *\n", NONE},
	};
	struct bench *b = *state;

	place(b, "card0", "vendor", "0x1002\n");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		place(b, "card0", "pp_dpm_sclk", cases[i].text);
		open_and_read(b);
		assert_value(b, "amd-0", "clock_graphics", cases[i].want);
		assert_string_equal(reason(b, "clock_graphics"),
				    cases[i].want == NONE ? "cannot parse the driver's file" : "");
	}
}

static void garbage_is_left_out(void **state)
{
	static const struct {
		const char *text;
		int64_t want;
	} cases[] = {
		{"0\n", 0},
		{"100\n", 100},
		{"100", 100},
		{"101\n", NONE},
		{"-1\n", NONE},
		{"\n", NONE},
		{"", NONE},
		{"abc\n", NONE},
		{"12 34\n", NONE},
		{"12\n34\n", NONE},
		{"0x10\n", NONE},
		{"12\n\n", 12},
		{"1e2\n", NONE},
		{"18446744073709551615\n", NONE},
		{"99999999999999999999999999999999999999999999\n", NONE},
	};
	struct bench *b = *state;

	place_card(b, "card0");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		place(b, "card0", "gpu_busy_percent", cases[i].text);
		open_and_read(b);
		assert_value(b, "amd-0", "utilization_gpu", cases[i].want);
		assert_value(b, "amd-0", "power", 560000000);
	}
	place(b, "card0", "hwmon/hwmon7/temp1_input", "-5000\n");
	place(b, "card0", "hwmon/hwmon7/temp3_input", "9000000000\n");
	place(b, "card0", "mem_info_vram_used", "-4096\n");
	place(b, "card0", "ras/umc_err_count", "ce 5\nue: x\n");
	open_and_read(b);
	assert_value(b, "amd-0", "temperature", -5000);
	assert_value(b, "amd-0", "temperature_memory", NONE);
	assert_value(b, "amd-0", "memory_used", NONE);
	assert_value(b, "amd-0", "ecc_single", NONE);
	assert_value(b, "amd-0", "ecc_double", NONE);
}

static void files_that_are_none_do_no_harm(void **state)
{
	struct bench *b = *state;
	_cleanup_free_ char *fifo =
		xasprintf("%s/sys/class/drm/card0/device/gpu_busy_percent", b->root);
	_cleanup_free_ char *link =
		xasprintf("%s/sys/class/drm/card0/device/mem_busy_percent", b->root);
	_cleanup_free_ char *large = xmalloc(200001);

	place_card(b, "card0");
	assert_int_equal(unlink(fifo), 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(symlink("/dev/zero", link), 0);
	memset(large, '1', 200000);
	large[200000] = 0;
	place(b, "card0", "mem_info_vram_used", large);
	place(b, "card0", "product_name", large);
	open_and_read(b);
	assert_value(b, "amd-0", "utilization_gpu", NONE);
	assert_value(b, "amd-0", "utilization_memory", NONE);
	assert_value(b, "amd-0", "memory_used", NONE);
	assert_value(b, "amd-0", "power", 560000000);
	assert_string_equal(fact(b, "amd-0", "name"), "AMD 0x740c");
}

static void only_so_many_cards_are_read(void **state)
{
	struct bench *b = *state;

	for (int i = 0; i < 80; i++) {
		char card[16];

		snprintf(card, sizeof(card), "card%d", i);
		place(b, card, "vendor", "0x1002\n");
		place(b, card, "gpu_busy_percent", "1\n");
	}
	open_and_read(b);
	assert_int_equal(b->set.row_count, 64);
}

/* Bytes of the files changed at random. */
static void bytes_at_random_do_no_harm(void **state)
{
	static const char *const files[] = {"pp_dpm_sclk",
					    "pp_dpm_mclk",
					    "ras/umc_err_count",
					    "uevent",
					    "hwmon/hwmon7/temp1_label",
					    "hwmon/hwmon7/temp1_input",
					    "mem_info_vram_total"};
	uint64_t seed = 815;
	struct bench *b = *state;

	place_card(b, "card0");
	for (int round = 0; round < 300; round++) {
		char text[64];
		size_t n = random_next(&seed) % sizeof(text);

		for (size_t i = 0; i < n; i++) {
			static const char letters[] = "0123456789: *\nMhzuce-PCI_SLOT_NAME=\xff";

			text[i] = letters[random_next(&seed) % (sizeof(letters) - 1)];
		}
		_cleanup_free_ char *copy = xstrndup(text, n);
		place(b, "card0", files[round % (int)ARRAY_SIZE(files)], copy);
		open_and_read(b);
		assert_int_equal(b->set.row_count, 1);
		assert_value(b, "amd-0", "power", 560000000);
	}
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(a_card_gives_all_its_values),
		TEST(a_card_says_what_it_is),
		TEST(cards_are_those_of_amd_in_order),
		TEST(no_card_is_no_source),
		TEST(other_files_take_the_place_of_missing_ones),
		TEST(what_a_card_has_not_is_absent_with_the_reason),
		TEST(a_card_that_sleeps_is_left_alone),
		TEST(a_card_that_vanishes_leaves_the_other_whole),
		TEST(a_clock_is_the_line_with_the_star),
		TEST(garbage_is_left_out),
		TEST(files_that_are_none_do_no_harm),
		TEST(only_so_many_cards_are_read),
		TEST(bytes_at_random_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
