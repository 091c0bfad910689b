/*
 * The sources of a node on trees that are written here in the kernel's forms: values, sums that
 * count nothing twice, counters that wrap or start again, what is absent and why, and texts that
 * are cut off or garbage.
 */
#include "tree.h"

#include <ctype.h>
#include <inttypes.h>

#include "core/kept.h"
#include "sources/pressure.h"

static struct reader R;

static int teardown(void **state)
{
	reader_close(&R);
	return scratch_teardown(state);
}

#define V(kind, name, metric) raw_value(&R, ENTITY_##kind, name, metric)
#define NODE(metric) raw_value(&R, ENTITY_NODE, "node", metric)
#define assert_value(got, want)                                                       \
	do {                                                                          \
		int64_t got_ = (got), want_ = (want);                                 \
		if (got_ != want_)                                                    \
			fail_msg(#got " is %" PRId64 ", want %" PRId64, got_, want_); \
	} while (0)

static void open_on(const char *source, const char *root)
{
	if (reader_open(&R, source, root, NULL, NULL) < 0)
		fail_msg("%s: %s", source, R.why.buf);
}

/* ---- files and counters -------------------------------------------------------------------------
 */

static void kept_files(void **state)
{
	const char *root = *state;
	struct kept k;

	kept_init(&k, "%s/file", root);
	assert_int_equal(kept_read(&k), -ENOENT);
	assert_int_equal(k.len, 0);
	assert_string_equal(k.text, "");
	tree_put(root, "file", "one\n");
	assert_int_equal(kept_read(&k), 0);
	assert_string_equal(k.text, "one\n");
	/* a NUL is no end */
	_cleanup_free_ char *path = xasprintf("%s/file", root);
	write_file(path, "a\0b\n\0", 5);
	assert_int_equal(kept_read(&k), 0);
	assert_int_equal(k.len, 5);
	assert_string_equal(k.text, "a?b\n?");
	/* the same descriptor sees what is there now, longer than any buffer before */
	char *large = xmalloc(300001);
	memset(large, 'x', 300000);
	large[300000] = 0;
	tree_put(root, "file", large);
	assert_int_equal(kept_read(&k), 0);
	assert_int_equal(k.len, 300000);
	assert_int_equal(k.text[k.len], 0);
	free(large);
	kept_release(&k);
	kept_release(&k);

	/* what is no file is refused, and does not block */
	_cleanup_free_ char *fifo = xasprintf("%s/fifo", root);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	kept_init(&k, "%s", fifo);
	assert_int_equal(kept_read(&k), -EINVAL);
	kept_release(&k);
	kept_init(&k, "%s", root);
	assert_int_equal(kept_read(&k), -EINVAL);
	kept_release(&k);
	/* a file that cannot be read at its start */
	kept_init(&k, "/proc/self/mem");
	assert_int_equal(kept_read(&k), -EIO);
	assert_int_equal(k.file.fd, -1);
	kept_release(&k);
}

static void lines_and_words(void **state)
{
	static const char text[] =
		"a  1\t22 x9 -3\n\n9223372036854775799 9223372036854775808\ncut 1";
	struct words t = {text, text + sizeof(text) - 1}, line, word;
	uint64_t v = 7;

	(void)state;
	assert_true(line_next(&t, &line));
	assert_true(word_next(&line, &word));
	assert_true(word_is(&word, "a"));
	assert_false(word_is(&word, "aa"));
	assert_false(word_begins(&word, "aa"));
	assert_true(number_next(&line, &v) && v == 1);
	assert_true(number_next(&line, &v) && v == 22);
	assert_false(number_next(&line, &v)); /* x9 is taken all the same */
	assert_false(number_next(&line, &v)); /* -3 */
	assert_false(number_next(&line, &v));
	assert_int_equal(v, 22);
	assert_true(line_next(&t, &line));
	assert_false(word_next(&line, &word));
	assert_true(line_next(&t, &line));
	assert_true(number_next(&line, &v) && v == 9223372036854775799ull);
	assert_false(number_next(&line, &v)); /* does not fit into 63 bits */
	assert_false(line_next(&t, &line));   /* no newline: cut off */

	static const struct {
		const char *text;
		long want; /* -1: none */
	} numbers[] = {{"0.07", 7},    {"avg10=12.50", 1250},
		       {"1.5", -1},    {"1.555", -1},
		       {"avg10=", -1}, {".50", -1},
		       {"x.50", -1},   {"12", -1},
		       {"1.x0", -1},   {"99999999999.00", -1},
		       {"=0.10", 10},  {"", -1}};
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++) {
		struct words w = {numbers[i].text, numbers[i].text + strlen(numbers[i].text)};
		bool good = hundredths(&w, &v);

		if (good != (numbers[i].want >= 0) || (good && (long)v != numbers[i].want))
			fail_msg("'%s' is taken as %d %" PRIu64, numbers[i].text, good, v);
	}
}

static void counters_go_on(void **state)
{
	struct unwrap u = {0};

	(void)state;
	assert_value((int64_t)count_on(&u, 4294967000u, false), 4294967000);
	/* a wrap at 2^32: 296 to the limit, 100 behind it */
	assert_value((int64_t)count_on(&u, 100, false), 4294967396);
	assert_value((int64_t)count_on(&u, 150, false), 4294967446);
	/* a fall from far below the limit is no wrap: it goes on */
	assert_value((int64_t)count_on(&u, 20, false), 4294967446);
	assert_value((int64_t)count_on(&u, 30, false), 4294967456);
	/* known to be another thing: whatever the value, it goes on */
	assert_value((int64_t)count_on(&u, 5000000000, true), 4294967456);
	assert_value((int64_t)count_on(&u, 5000000001, false), 4294967457);
	/* from above 32 bits a fall is never a wrap */
	assert_value((int64_t)count_on(&u, 7, false), 4294967457);
	/* never beyond what a value can hold */
	assert_value((int64_t)count_on(&u, INT64_MAX, false), INT64_MAX);
	assert_value((int64_t)count_on(&u, 0, false), INT64_MAX);
	assert_value((int64_t)count_on(&u, INT64_MAX, false), INT64_MAX);
}

/* ---- tables -------------------------------------------------------------------------------------
 */

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
			assert_true(m->kind == KIND_COUNTER || m->kind == KIND_GAUGE);
			for (size_t k = 0; k < i; k++)
				if (!strcmp(m->name, source->metrics[k].name))
					fail_msg("%s.%s is there twice", names[s], m->name);
		}
	}
}

/* ---- system -------------------------------------------------------------------------------------
 */

static const char stat_1[] = "cpu  1000 100 500 8000 200 10 20 5 300 40\n"
			     "cpu0 600 50 300 4000 100 10 10 5 300 40\n"
			     "cpu3 400 50 200 4000 100 0 10 0 0 0\n"
			     "intr 73777505 41 9 0 0\n"
			     "ctxt 38014093\n"
			     "btime 1418183276\n"
			     "processes 26442\n"
			     "procs_running 2\n"
			     "procs_blocked 1\n"
			     "softirq 5057579 250191 1481983\n";

static void put_system(const char *root, const char *stat)
{
	tree_put(root, "proc/stat", stat);
	tree_put(root, "proc/meminfo",
		 "MemTotal:       16000000 kB\nMemFree:         4000000 kB\n"
		 "MemAvailable:   10000000 kB\nBuffers:          100000 kB\n"
		 "Cached:          6000000 kB\nSwapCached:            0 kB\n"
		 "Dirty:               768 kB\nWriteback:             4 kB\n"
		 "AnonPages:        266216 kB\nMapped:            44204 kB\n"
		 "Shmem:              1308 kB\nSlab:            1807264 kB\n"
		 "SReclaimable:    1738124 kB\nPageTables:         5288 kB\n"
		 "Committed_AS:     530844 kB\nAnonHugePages:     12288 kB\n"
		 "HugePages_Total:     512\nHugePages_Free:      100\n"
		 "SwapTotal:       2000000 kB\nSwapFree:        1500000 kB\n");
	tree_put(root, "proc/vmstat",
		 "nr_free_pages 1000\nnuma_hit 77\nnuma_miss 3\npswpin 11\npswpout 22\n"
		 "pgfault 123456\npgmajfault 789\noom_kill 2\ncompact_stall 1\n");
	tree_put(root, "proc/loadavg", "0.02 12.40 105.05 1/497 11947\n");
}

static void system_values(void **state)
{
	const char *root = *state;

	put_system(root, stat_1);
	open_on("system", root);
	assert_int_equal(reader_read(&R), 0);
	assert_int_equal(R.set.row_count, 3);
	assert_value(NODE("cpu_user"), 1000);
	assert_value(NODE("cpu_guest_nice"), 40);
	/* ticks of 10 ms are microseconds by the scale */
	long row = row_of(&R, ENTITY_NODE, "node");
	assert_float_equal(sample_value(&R.set, (size_t)row, metric_number(&R, "cpu_user")), 1e7,
			   1);
	assert_value(NODE("cpus_online"), 2);
	assert_value(NODE("context_switches"), 38014093);
	assert_value(NODE("interrupts"), 73777505);
	assert_value(NODE("softirqs"), 5057579);
	assert_value(NODE("forks"), 26442);
	assert_value(NODE("procs_running"), 2);
	assert_value(NODE("procs_blocked"), 1);
	assert_value(NODE("load1"), 2);
	assert_value(NODE("load5"), 1240);
	assert_value(NODE("load15"), 10505);
	assert_value(NODE("tasks"), 497);
	assert_value(NODE("mem_total"), 16000000);
	assert_float_equal(sample_value(&R.set, (size_t)row, metric_number(&R, "mem_total")),
			   16000000.0 * 1024, 1);
	assert_value(NODE("mem_used"), 6000000);
	assert_value(NODE("mem_shmem"), 1308);
	assert_value(NODE("hugepages_total"), 512);
	assert_value(NODE("swap_free"), 1500000);
	assert_value(NODE("swap_in_pages"), 11);
	assert_value(NODE("swap_out_pages"), 22);
	assert_value(NODE("page_faults"), 123456);
	assert_value(NODE("major_faults"), 789);
	assert_value(NODE("oom_kills"), 2);
	assert_value(NODE("numa_misses"), 3);
	assert_value(V(CPU, "cpu0", "cpu_iowait"), 100);
	assert_value(V(CPU, "cpu3", "cpu_system"), 200);
	assert_false(has_value(&R, ENTITY_CPU, "cpu3", "mem_total"));
	/* a part of the time needs two readings */
	assert_false(has_value(&R, ENTITY_NODE, "node", "cpu_percent"));
	assert_int_equal(R.set.absence_count, 0);

	/* 80 busy (of it 30 guest, which is inside user), 100 idle and 20 I/O wait: 40 % */
	tree_put(root, "proc/stat",
		 "cpu  1060 100 520 8100 220 10 20 5 330 40\n"
		 "cpu0 650 50 300 4050 100 10 10 5 330 40\ncpu3 400 50 200 4000 100 0 10 0 0 0\n");
	assert_int_equal(reader_read(&R), 0);
	assert_value(NODE("cpu_percent"), 40000);
	assert_value(V(CPU, "cpu0", "cpu_percent"), 50000);
	/* no tick has passed: nothing can be said */
	assert_false(has_value(&R, ENTITY_CPU, "cpu3", "cpu_percent"));
	assert_float_equal(sample_value(&R.set, 0, metric_number(&R, "cpu_percent")), 40, 1e-9);
}

/* Idle times that go back a little are held; those that start again go on. CPUs come and go. */
static void system_times_never_fall(void **state)
{
	const char *root = *state;

	put_system(root, "cpu  10 0 0 5000 300 0 0 0 0 0\ncpu0 10 0 0 5000 300 0 0 0 0 0\n");
	open_on("system", root);
	assert_int_equal(reader_read(&R), 0);
	tree_put(root, "proc/stat",
		 "cpu  20 0 0 5010 295 0 0 0 0 0\ncpu0 20 0 0 5010 295 0 0 0 0 0\n");
	assert_int_equal(reader_read(&R), 0);
	assert_value(NODE("cpu_iowait"), 300);
	assert_value(NODE("cpu_percent"), 50000);
	tree_put(root, "proc/stat",
		 "cpu  20 0 0 5010 302 0 0 0 0 0\ncpu0 20 0 0 5010 302 0 0 0 0 0\n");
	assert_int_equal(reader_read(&R), 0);
	assert_value(NODE("cpu_iowait"), 302);
	/* cpu0 is offline, then back with its idle time from 0 */
	tree_put(root, "proc/stat", "cpu  20 0 0 5010 302 0 0 0 0 0\n");
	assert_int_equal(reader_read(&R), 0);
	assert_int_equal(R.set.row_count, 1);
	tree_put(root, "proc/stat",
		 "cpu  20 0 0 5010 302 0 0 0 0 0\ncpu0 20 0 0 100 302 0 0 0 0 0\n");
	assert_int_equal(reader_read(&R), 0);
	assert_value(V(CPU, "cpu0", "cpu_idle"), 5010);
	tree_put(root, "proc/stat",
		 "cpu  20 0 0 5010 302 0 0 0 0 0\ncpu0 45 0 0 175 302 0 0 0 0 0\n");
	assert_int_equal(reader_read(&R), 0);
	assert_value(V(CPU, "cpu0", "cpu_idle"), 5085);
	assert_value(V(CPU, "cpu0", "cpu_percent"), 25000);
}

static void system_of_an_old_kernel(void **state)
{
	const char *root = *state;

	tree_put(root, "proc/stat", "cpu  10 0 5 100\ncpu0 10 0 5 100\nctxt 5\n");
	tree_put(root, "proc/meminfo", "MemTotal: 100 kB\nMemFree: 50 kB\n");
	open_on("system", root);
	assert_int_equal(reader_read(&R), 0);
	assert_value(NODE("cpu_idle"), 100);
	assert_value(NODE("mem_free"), 50);
	assert_false(has_value(&R, ENTITY_NODE, "node", "mem_used"));
	assert_contains(absence(&R, "mem_available"), "has no MemAvailable");
	assert_contains(absence(&R, "mem_used"), "needs MemTotal and MemAvailable");
	assert_contains(absence(&R, "cpu_steal"), "no such time");
	assert_contains(absence(&R, "page_faults"), "/proc/vmstat");
	assert_contains(absence(&R, "load1"), "/proc/loadavg");
	assert_null(absence(&R, "cpu_percent"));
	tree_put(root, "proc/stat", "cpu  20 0 5 110\n");
	assert_int_equal(reader_read(&R), 0);
	assert_value(NODE("cpu_percent"), 50000);
}

/* Thousands of CPUs, numbered with gaps, and the same work at each reading. */
static void system_of_many_cpus(void **state)
{
	const char *root = *state;
	struct strbuf text = STRBUF_INIT;

	for (int reading = 0; reading < 2; reading++) {
		strbuf_reset(&text);
		strbuf_addf(&text, "cpu  %d 0 0 1000000 0 0 0 0 0 0\n", reading * 4000);
		for (int i = 0; i < 4096; i++)
			strbuf_addf(&text, "cpu%d %d 0 0 %d 0 0 0 0 0 0\n", i * 2, i + reading * 30,
				    1000 + reading * 10);
		tree_put(root, "proc/stat", text.buf);
		if (!reading) {
			tree_put(root, "proc/meminfo", "MemTotal: 1 kB\n");
			open_on("system", root);
		}
		assert_int_equal(reader_read(&R), 0);
	}
	strbuf_release(&text);
	assert_int_equal(R.set.row_count, 4097);
	assert_int_equal(R.set.entity_count, 4097);
	assert_value(NODE("cpus_online"), 4096);
	assert_value(V(CPU, "cpu8190", "cpu_user"), 4095 + 30);
	assert_value(V(CPU, "cpu8190", "cpu_percent"), 75000);
}

static void system_of_garbage(void **state)
{
	const char *root = *state;
	static const char *const texts[] = {
		"",
		"\n\n\n",
		"cpu",
		"cpu \n",
		"cpu  1 2\ncpu0\ncpu0 1 2 3 4\ncpu0 1 2 3 5\ncpux 1 2 3 4\ncpu99999999999999999999 1 2 3 4\n",
		"cpu  9223372036854775799 9223372036854775799 9223372036854775799 9223372036854775799 "
		"9223372036854775799 9223372036854775799 9223372036854775799 9223372036854775799\n",
		"cpu  0 0 0 0 0 0 0 0\n",
		"cpu  -1 -2 -3 -4\n",
		"cpu  1e9 x y z\nctxt \nctxt x\nintr 99999999999999999999999\n",
	};

	put_system(root, stat_1);
	open_on("system", root);
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
			tree_put(root, "proc/stat", texts[i]);
			assert_int_equal(reader_read(&R), 0);
			for (size_t k = 0; k < R.set.row_count * R.set.metric_count; k++)
				if (R.set.rows[k / R.set.metric_count].present >>
					    (k % R.set.metric_count) &
				    1)
					assert_true(R.set.values[k] >= 0);
			if (has_value(&R, ENTITY_NODE, "node", "cpu_percent"))
				assert_in_range(NODE("cpu_percent"), 0, 100000);
		}
	/* a cut line is left out, those before it are not */
	tree_put(root, "proc/meminfo", "MemTotal:       16000000 kB\nMemFree:         40");
	assert_int_equal(reader_read(&R), 0);
	assert_value(NODE("mem_total"), 16000000);
	assert_false(has_value(&R, ENTITY_NODE, "node", "mem_free"));
}

static void system_absent(void **state)
{
	struct source_report report = SOURCE_REPORT_INIT;
	struct source_context ctx = {.root = *state};

	assert_int_equal(reader_open(&R, "system", *state, NULL, NULL), -ENOENT);
	assert_null(R.state);
	assert_contains(R.why.buf, "/proc/stat");
	assert_int_equal(R.source->probe(&ctx, &report), -ENOENT);
	strbuf_reset(&report.detail);
	put_system(*state, stat_1);
	assert_int_equal(R.source->probe(&ctx, &report), 0);
	assert_string_equal(report.detail.buf, "2 CPUs, memory 15.3 GiB");
	strbuf_release(&report.detail);
}

/* ---- pressure -----------------------------------------------------------------------------------
 */

static void pressure_values(void **state)
{
	const char *root = *state;
	struct source_report report = SOURCE_REPORT_INIT;
	struct source_context ctx = {.root = root};

	tree_put(root, "proc/pressure/cpu",
		 "some avg10=66.28 avg60=21.88 avg300=5.95 total=2658084978\n"
		 "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
	tree_put(root, "proc/pressure/memory",
		 "some avg10=0.10 avg60=2.00 avg300=3.85 total=15\n"
		 "full avg10=100.00 avg60=3.00 avg300=4.95 total=25\n");
	tree_put(root, "proc/pressure/io",
		 "some avg10=1.5 avg60=2.00 total=x\nfull total=9\nfull tot");
	open_on("pressure", root);
	assert_int_equal(reader_read(&R), 0);
	assert_value(NODE("cpu_some"), 2658084978);
	assert_value(NODE("cpu_some_avg10"), 6628);
	assert_value(NODE("cpu_full"), 0);
	assert_value(NODE("memory_some"), 15);
	assert_value(NODE("memory_full"), 25);
	assert_value(NODE("memory_full_avg10"), 10000);
	assert_value(NODE("io_full"), 9);
	assert_false(has_value(&R, ENTITY_NODE, "node", "io_some"));
	assert_false(has_value(&R, ENTITY_NODE, "node", "io_some_avg10"));
	assert_contains(absence(&R, "io_full_avg10"), "no such line");
	assert_contains(absence(&R, "irq_full"), "this kernel has none");
	assert_int_equal(R.source->probe(&ctx, &report), 0);
	assert_string_equal(report.detail.buf, "waiting for cpu, memory, io");
	strbuf_release(&report.detail);
}

static void pressure_absent(void **state)
{
	struct source_report report = SOURCE_REPORT_INIT;
	struct source_context ctx = {.root = *state};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	assert_int_equal(reader_open(&R, "pressure", *state, NULL, NULL), -ENOENT);
	assert_contains(R.why.buf, "older than 4.20");
	assert_int_equal(R.source->probe(&ctx, &report), -ENOENT);
	assert_contains(report.remedy, "psi=1");
	strbuf_release(&report.detail);
	/* a kernel that has it switched off says so when a file is read */
	assert_contains(psi_reason(-EOPNOTSUPP, "/proc/pressure/cpu", &why), "psi=1");
	assert_contains(why.buf, "switched off");
	strbuf_reset(&why);
	assert_null(psi_reason(-EACCES, "/proc/pressure/cpu", &why));
	assert_contains(why.buf, "'/proc/pressure/cpu': Permission denied");
	/* a file that cannot be read, among those that can */
	tree_link(*state, "proc/pressure/cpu", "/proc/self/mem");
	tree_put(*state, "proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=4\n");
	open_on("pressure", *state);
	assert_int_equal(reader_read(&R), 0);
	assert_value(NODE("io_some"), 4);
	assert_contains(absence(&R, "cpu_some"), "Input/output error");
	tree_put(*state, "proc/pressure/io", "");
	assert_int_equal(reader_read(&R), 0);
	assert_false(has_value(&R, ENTITY_NODE, "node", "io_some"));
}

/* ---- network ------------------------------------------------------------------------------------
 */

#define DEV_HEAD                                                                              \
	"Inter-|   Receive                                                |  Transmit\n"      \
	" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets " \
	"errs drop fifo colls carrier compressed\n"

/* One interface with these bytes and packets in both directions, the rest 1 to 12. */
static void add_interface(struct strbuf *text, const char *name, uint64_t rx, uint64_t rx_packets,
			  uint64_t tx, uint64_t tx_packets)
{
	strbuf_addf(text,
		    "%6s: %" PRIu64 " %" PRIu64 " 1 2 3 4 5 6 %" PRIu64 " %" PRIu64
		    " 7 8 9 10 11 12\n",
		    name, rx, rx_packets, tx, tx_packets);
}

static void put_interfaces(const char *root, struct strbuf *text)
{
	_cleanup_free_ char *all = xasprintf(DEV_HEAD "%s", text->buf);

	tree_put(root, "proc/net/dev", all);
	strbuf_reset(text);
}

static void network_values(void **state)
{
	const char *root = *state;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	add_interface(&text, "lo", 500, 5, 500, 5);
	add_interface(&text, "eth0", 1000, 10, 2000, 20);
	add_interface(&text, "ib0", 7000, 70, 8000, 80);
	add_interface(&text, "br0", 900, 9, 1900, 19);
	add_interface(&text, "veth12", 90, 1, 80, 2);
	strbuf_addstr(&text, "eth1:11 1 0 0 0 0 0 0 22 2 0 0 0 0 0 0\n"); /* of old kernels */
	put_interfaces(root, &text);
	tree_put(root, "sys/class/net/lo/type", "772\n");
	tree_put(root, "sys/class/net/eth0/type", "1\n");
	tree_put(root, "sys/class/net/eth0/operstate", "up\n");
	tree_put(root, "sys/class/net/eth0/speed", "25000\n");
	tree_dir(root, "sys/class/net/eth0/device");
	tree_link(root, "sys/class/net/eth0/device/driver", "../../../bus/pci/drivers/mlx5_core");
	tree_put(root, "sys/class/net/ib0/type", "32\n");
	tree_put(root, "sys/class/net/ib0/operstate", "down\n");
	tree_put(root, "sys/class/net/ib0/speed", "-1\n");
	tree_dir(root, "sys/class/net/ib0/device");
	tree_put(root, "sys/class/net/br0/type", "1\n");
	tree_put(root, "sys/class/net/br0/uevent", "DEVTYPE=bridge\nINTERFACE=br0\n");
	tree_put(root, "sys/class/net/veth12/type", "1\n");
	open_on("network", root);
	assert_int_equal(reader_read(&R), 0);
	assert_int_equal(R.set.row_count, 7);
	assert_value(V(INTERFACE, "eth0", "rx_bytes"), 1000);
	assert_value(V(INTERFACE, "eth0", "rx_packets"), 10);
	assert_value(V(INTERFACE, "eth0", "rx_errors"), 1);
	assert_value(V(INTERFACE, "eth0", "rx_dropped"), 2);
	assert_value(V(INTERFACE, "eth0", "rx_fifo_errors"), 3);
	assert_value(V(INTERFACE, "eth0", "rx_frame_errors"), 4);
	assert_value(V(INTERFACE, "eth0", "rx_compressed"), 5);
	assert_value(V(INTERFACE, "eth0", "rx_multicast"), 6);
	assert_value(V(INTERFACE, "eth0", "tx_bytes"), 2000);
	assert_value(V(INTERFACE, "eth0", "tx_packets"), 20);
	assert_value(V(INTERFACE, "eth0", "tx_compressed"), 12);
	assert_value(V(INTERFACE, "eth1", "rx_bytes"), 11);
	assert_value(V(INTERFACE, "eth1", "tx_bytes"), 22);
	assert_fact(&R, ENTITY_INTERFACE, "eth0", "type", "ethernet");
	assert_fact(&R, ENTITY_INTERFACE, "eth0", "operstate", "up");
	assert_fact(&R, ENTITY_INTERFACE, "eth0", "speed", "25000 Mbit/s");
	assert_fact(&R, ENTITY_INTERFACE, "eth0", "driver", "mlx5_core");
	assert_fact(&R, ENTITY_INTERFACE, "ib0", "type", "infiniband");
	assert_fact(&R, ENTITY_INTERFACE, "ib0", "speed", NULL);
	assert_fact(&R, ENTITY_INTERFACE, "br0", "type", "bridge");
	assert_fact(&R, ENTITY_INTERFACE, "veth12", "type", "virtual");
	assert_fact(&R, ENTITY_INTERFACE, "lo", "in_node_sum", "no");
	/* those with a device: eth0 and ib0 */
	assert_value(NODE("rx_bytes"), 8000);
	assert_value(NODE("tx_bytes"), 10000);
	assert_value(NODE("tx_packets"), 100);
	/* what changes is seen: one interface at each reading */
	tree_put(root, "sys/class/net/ib0/operstate", "up\n");
	tree_put(root, "sys/class/net/ib0/speed", "200000\n");
	for (int i = 0; i < 6; i++)
		assert_int_equal(reader_read(&R), 0);
	assert_fact(&R, ENTITY_INTERFACE, "ib0", "operstate", "up");
	assert_fact(&R, ENTITY_INTERFACE, "ib0", "speed", "200000 Mbit/s");
}

/* Without /sys, names tell; in a container one end of a pair is the network. */
static void network_sums(void **state)
{
	const char *root = *state;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	static const char *const out[] = {"lo",    "docker0", "br-1f",  "br0",
					  "bond0", "eth0.12", "virbr0", "vethf34",
					  "tun0",  "dummy0",  "ifb0",   "cali99"};

	for (size_t i = 0; i < ARRAY_SIZE(out); i++)
		add_interface(&text, out[i], 1000000, 1, 1000000, 1);
	add_interface(&text, "eth0", 3, 1, 4, 1);
	add_interface(&text, "eno1", 30, 1, 40, 1);
	put_interfaces(root, &text);
	open_on("network", root);
	assert_int_equal(reader_read(&R), 0);
	assert_value(NODE("rx_bytes"), 33);
	assert_value(NODE("tx_bytes"), 44);
	reader_close(&R);

	add_interface(&text, "lo", 500, 5, 500, 5);
	add_interface(&text, "eth0", 70, 1, 80, 1);
	put_interfaces(root, &text);
	tree_put(root, "sys/class/net/eth0/type", "1\n");
	open_on("network", root);
	assert_int_equal(reader_read(&R), 0);
	assert_value(NODE("rx_bytes"), 70);
	reader_close(&R);

	/* the loopback alone is no network */
	add_interface(&text, "lo", 500, 5, 500, 5);
	put_interfaces(root, &text);
	open_on("network", root);
	assert_int_equal(reader_read(&R), 0);
	assert_int_equal(R.set.row_count, 1);
	assert_int_equal(row_of(&R, ENTITY_NODE, "node"), -1);
}

static void network_counters(void **state)
{
	const char *root = *state;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	add_interface(&text, "eth0", 4294967000u, 1000, 4294960000u, 2000);
	put_interfaces(root, &text);
	tree_put(root, "sys/class/net/eth0/ifindex", "4\n");
	tree_dir(root, "sys/class/net/eth0/device");
	open_on("network", root);
	assert_int_equal(reader_read(&R), 0);
	assert_value(NODE("rx_bytes"), 4294967000);
	/* 32 bits wrap: packets went on */
	add_interface(&text, "eth0", 704, 1010, 4294961000u, 2010);
	put_interfaces(root, &text);
	assert_int_equal(reader_read(&R), 0);
	assert_value(V(INTERFACE, "eth0", "rx_bytes"), 4294968000);
	assert_value(NODE("rx_bytes"), 4294968000);
	assert_value(V(INTERFACE, "eth0", "tx_bytes"), 4294961000);
	/* the driver was reset: packets fell too, so tx_bytes did not wrap */
	add_interface(&text, "eth0", 5, 1, 6, 1);
	put_interfaces(root, &text);
	assert_int_equal(reader_read(&R), 0);
	assert_value(V(INTERFACE, "eth0", "rx_bytes"), 4294968000);
	assert_value(V(INTERFACE, "eth0", "tx_bytes"), 4294961000);
	assert_value(V(INTERFACE, "eth0", "rx_packets"), 1010);
	add_interface(&text, "eth0", 105, 2, 206, 2);
	put_interfaces(root, &text);
	assert_int_equal(reader_read(&R), 0);
	assert_value(V(INTERFACE, "eth0", "rx_bytes"), 4294968100);
	assert_value(V(INTERFACE, "eth0", "tx_bytes"), 4294961200);
	/* another interface has the name, and counted far more before */
	tree_put(root, "sys/class/net/eth0/ifindex", "9\n");
	add_interface(&text, "eth0", 900000000000, 900000, 1, 900000);
	put_interfaces(root, &text);
	assert_int_equal(reader_read(&R), 0);
	assert_value(V(INTERFACE, "eth0", "rx_bytes"), 4294968100);
	assert_value(V(INTERFACE, "eth0", "tx_bytes"), 4294961200);
	assert_value(NODE("rx_bytes"), 4294968100);
	add_interface(&text, "eth0", 900000000010, 900001, 2, 900001);
	put_interfaces(root, &text);
	assert_int_equal(reader_read(&R), 0);
	assert_value(NODE("rx_bytes"), 4294968110);
	assert_value(NODE("tx_bytes"), 4294961201);
}

static void network_comes_and_goes(void **state)
{
	const char *root = *state;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	add_interface(&text, "eth0", 100, 1, 100, 1);
	add_interface(&text, "eth1", 1000, 10, 1000, 10);
	put_interfaces(root, &text);
	open_on("network", root);
	assert_int_equal(reader_read(&R), 0);
	assert_value(NODE("rx_bytes"), 1100);
	/* eth1 is gone: the node does not fall; eth2 counted elsewhere before: the node does not
	 * jump */
	add_interface(&text, "eth0", 150, 2, 150, 2);
	add_interface(&text, "eth2", 5000000, 50, 5000000, 50);
	put_interfaces(root, &text);
	assert_int_equal(reader_read(&R), 0);
	assert_value(NODE("rx_bytes"), 1150);
	assert_int_equal(R.set.ended_count, 1);
	assert_string_equal(R.set.entities[R.set.ended[0]].name, "eth1");
	assert_value(V(INTERFACE, "eth2", "rx_bytes"), 5000000);
	add_interface(&text, "eth0", 150, 2, 150, 2);
	add_interface(&text, "eth2", 5000007, 50, 5000000, 50);
	put_interfaces(root, &text);
	assert_int_equal(reader_read(&R), 0);
	assert_value(NODE("rx_bytes"), 1157);
	/* eth1 is back, from 0: it goes on */
	add_interface(&text, "eth0", 150, 2, 150, 2);
	add_interface(&text, "eth1", 30, 1, 30, 1);
	put_interfaces(root, &text);
	assert_int_equal(reader_read(&R), 0);
	assert_value(V(INTERFACE, "eth1", "rx_bytes"), 1000);
	assert_value(NODE("rx_bytes"), 1157);
	add_interface(&text, "eth0", 150, 2, 150, 2);
	add_interface(&text, "eth1", 33, 1, 30, 1);
	put_interfaces(root, &text);
	assert_int_equal(reader_read(&R), 0);
	assert_value(V(INTERFACE, "eth1", "rx_bytes"), 1003);
	assert_value(NODE("rx_bytes"), 1160);
	/* containers come and go by the thousand, with names of their own */
	for (int i = 0; i < 1000; i++) {
		char name[16];

		snprintf(name, sizeof(name), "veth%d", i);
		add_interface(&text, name, 1, 1, 1, 1);
		put_interfaces(root, &text);
		assert_int_equal(reader_read(&R), 0);
		assert_int_equal(R.set.row_count, 2);
	}
	assert_in_range(R.set.entity_count, 2, 8);
	assert_value(NODE("rx_bytes"), 1160);
}

/* A text that names more than any host has costs a bounded time. */
static void too_many(void **state)
{
	const char *root = *state;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	for (int i = 0; i < 20000; i++)
		strbuf_addf(&text, "e%d:1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n", i);
	tree_put(root, "proc/net/dev", text.buf);
	open_on("network", root);
	assert_int_equal(reader_read(&R), 0);
	assert_int_equal(R.set.row_count, 8193);
	strbuf_reset(&text);
	for (int i = 0; i < 20000; i++)
		strbuf_addf(&text, "8 0 d%dx 1 1 1 1 1 1 1 1 1 1 1\n", i);
	tree_put(root, "proc/diskstats", text.buf);
	open_on("disk", root);
	assert_int_equal(reader_read(&R), 0);
	assert_int_equal(R.set.row_count, 8193);
	strbuf_reset(&text);
	for (int i = 0; i < 20000; i++)
		strbuf_addf(&text, "device s:/%d mounted on /m%d with fstype nfs4\n\tbytes: 1 2\n",
			    i, i);
	tree_put(root, "proc/self/mountstats", text.buf);
	open_on("nfs", root);
	assert_int_equal(reader_read(&R), 0);
	assert_int_equal(R.set.row_count, 4096);
}

static void network_of_garbage(void **state)
{
	const char *root = *state;
	char *name = xmalloc(5000);
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	memset(name, 'n', 4999);
	name[4999] = 0;
	add_interface(&text, "eth0", 1, 2, 3, 4);
	add_interface(&text, "eth0", 1, 2, 3, 4);
	add_interface(&text, "../../etc", 5, 1, 5, 1);
	add_interface(&text, "a\\b\xff", 6, 1, 6, 1);
	add_interface(&text, name, 7, 1, 7, 1);
	free(name);
	strbuf_addstr(&text,
		      ":\n: 1 2 3\n x:\n eth1: 1 2 3 4\n eth2: a b c d e f g h i j k l m n o p\n"
		      " eth3: 99999999999999999999 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n"
		      " eth4: -1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1\n"
		      " eth5: 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1");
	put_interfaces(root, &text);
	open_on("network", root);
	assert_int_equal(reader_read(&R), 0);
	assert_value(V(INTERFACE, "eth0", "rx_bytes"), 1);
	assert_value(V(INTERFACE, "../../etc", "rx_bytes"), 5);
	assert_value(V(INTERFACE, "a\\b\xff", "rx_bytes"), 6);
	/* too long, too short, no numbers, too large, negative, cut off */
	assert_int_equal(R.set.row_count, 4);
	tree_put(root, "proc/net/dev", "");
	assert_int_equal(reader_read(&R), 0);
	assert_int_equal(R.set.ended_count, 3);
	reader_close(&R);
	assert_int_equal(reader_open(&R, "network", "/nowhere", NULL, NULL), -ENOENT);
	assert_contains(R.why.buf, "/nowhere/proc/net/dev");
}

/* ---- disk ---------------------------------------------------------------------------------------
 */

static void disk_values(void **state)
{
	const char *root = *state;

	tree_put(root, "proc/diskstats",
		 "   1       0 ram0 0 0 0 0 0 0 0 0 0 0 0\n"
		 "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
		 "   7       1 loop1 5 0 10 1 0 0 0 0 0 1 1 0 0 0 0 0 0\n"
		 "   8       0 sda 100 2 2000 40 50 3 1000 60 7 80 90 11 12 1300 14 15 16\n"
		 "   8       1 sda1 90 2 1900 40 50 3 1000 60 0 80 90 11 12 1300 14 15 16\n"
		 " 259       0 nvme0n1 10 0 200 4 5 0 100 6 1 8 9 0 0 0 0 0 0\n"
		 " 259       1 nvme0n1p1 10 0 200 4 5 0 100 6 1 8 9 0 0 0 0 0 0\n"
		 " 253       0 dm-0 100 0 2000 50 50 0 1000 70 0 90 99 0 0 0 0 0 0\n"
		 "   9       0 md0 20 0 300 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
		 " 104       0 cciss/c0d0 3 0 30 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
	tree_put(root, "sys/block/sda/size", "1000000\n");
	tree_put(root, "sys/block/sda/device/model", "QEMU HARDDISK   \n");
	tree_put(root, "sys/block/sda/device/vendor", "ATA     \n");
	tree_put(root, "sys/block/sda/queue/rotational", "1\n");
	tree_dir(root, "sys/block/sda/slaves");
	tree_put(root, "sys/block/nvme0n1/device/model", "Some SSD\n");
	tree_put(root, "sys/block/nvme0n1/queue/rotational", "0\n");
	tree_put(root, "sys/block/nvme0n1/device/vendor", "0x1af4\n");
	tree_put(root, "sys/block/dm-0/dm/name", "vg-root\n");
	tree_dir(root, "sys/block/md0");
	tree_dir(root, "sys/block/loop1");
	tree_dir(root, "sys/block/loop0");
	tree_dir(root, "sys/block/ram0");
	tree_dir(root, "sys/block/cciss!c0d0/device");
	open_on("disk", root);
	assert_int_equal(reader_read(&R), 0);
	assert_int_equal(R.set.row_count, 7);
	assert_value(V(DISK, "sda", "reads"), 100);
	assert_value(V(DISK, "sda", "reads_merged"), 2);
	assert_value(V(DISK, "sda", "read_bytes"), 2000);
	long row = row_of(&R, ENTITY_DISK, "sda");
	assert_float_equal(sample_value(&R.set, (size_t)row, metric_number(&R, "read_bytes")),
			   1024000, 1);
	assert_float_equal(sample_value(&R.set, (size_t)row, metric_number(&R, "write_time")),
			   60000, 1);
	assert_value(V(DISK, "sda", "writes"), 50);
	assert_value(V(DISK, "sda", "in_flight"), 7);
	assert_value(V(DISK, "sda", "io_time"), 80);
	assert_value(V(DISK, "sda", "weighted_time"), 90);
	assert_value(V(DISK, "sda", "discards"), 11);
	assert_value(V(DISK, "sda", "discard_bytes"), 1300);
	assert_value(V(DISK, "sda", "flushes"), 15);
	assert_value(V(DISK, "sda", "flush_time"), 16);
	assert_int_equal(row_of(&R, ENTITY_DISK, "sda1"), -1);
	assert_int_equal(row_of(&R, ENTITY_DISK, "nvme0n1p1"), -1);
	assert_int_equal(row_of(&R, ENTITY_DISK, "ram0"), -1);
	assert_int_equal(row_of(&R, ENTITY_DISK, "loop0"), -1);
	assert_value(V(DISK, "loop1", "reads"), 5);
	assert_fact(&R, ENTITY_DISK, "sda", "model", "QEMU HARDDISK");
	assert_fact(&R, ENTITY_DISK, "sda", "vendor", "ATA");
	assert_fact(&R, ENTITY_DISK, "sda", "size_bytes", "512000000");
	assert_fact(&R, ENTITY_DISK, "sda", "rotational", "yes");
	assert_fact(&R, ENTITY_DISK, "nvme0n1", "rotational", "no");
	assert_fact(&R, ENTITY_DISK, "nvme0n1", "vendor", NULL);
	assert_fact(&R, ENTITY_DISK, "dm-0", "device_mapper", "vg-root");
	/* sda, nvme0n1, cciss/c0d0: not what is made of them */
	assert_value(NODE("reads"), 113);
	assert_value(NODE("read_bytes"), 2230);
	assert_value(NODE("in_flight"), 8);
	assert_value(NODE("flushes"), 15);
	/* loop0 comes into use */
	tree_put(
		root, "proc/diskstats",
		"   7       0 loop0 1 0 8 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
		"   8       0 sda 101 2 2008 40 50 3 1000 60 4294967295 80 90 11 12 1300 14 15 16\n");
	assert_int_equal(reader_read(&R), 0);
	assert_value(V(DISK, "loop0", "reads"), 1);
	assert_value(NODE("reads"), 114);
	/* a number of requests below zero */
	assert_false(has_value(&R, ENTITY_DISK, "sda", "in_flight"));
	assert_value(NODE("in_flight"), 0);
}

/* By name where there is no /sys: partitions, and what is made of others. */
static void disk_names(void **state)
{
	const char *root = *state;
	static const char *const whole[] = {"sda",   "sdaa",    "vda",      "hda",
					    "xvdb1", "nvme0n1", "nvme10n1", "mmcblk0",
					    "dasda", "nbd0",    "sr0"};
	static const char *const parts[] = {"sda1",   "sda12",     "sdaa3",      "vda1",
					    "hda4",   "nvme0n1p2", "nvme10n1p1", "mmcblk0p1",
					    "dasda1", "nbd0p1"};
	static const char *const made[] = {"dm-0",  "dm-12", "md0",     "md127",
					   "loop3", "zram0", "bcache0", "drbd1"};
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(whole); i++)
		strbuf_addf(&text, "8 0 %s 1 0 0 0 0 0 0 0 0 0 0\n", whole[i]);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		strbuf_addf(&text, "8 0 %s 100 0 0 0 0 0 0 0 0 0 0\n", parts[i]);
	for (size_t i = 0; i < ARRAY_SIZE(made); i++)
		strbuf_addf(&text, "8 0 %s 10000 0 0 0 0 0 0 0 0 0 0\n", made[i]);
	tree_put(root, "proc/diskstats", text.buf);
	open_on("disk", root);
	assert_int_equal(reader_read(&R), 0);
	for (size_t i = 0; i < ARRAY_SIZE(whole); i++)
		assert_value(V(DISK, whole[i], "reads"), 1);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (row_of(&R, ENTITY_DISK, parts[i]) >= 0)
			fail_msg("%s is taken for a disk", parts[i]);
	for (size_t i = 0; i < ARRAY_SIZE(made); i++)
		assert_fact(&R, ENTITY_DISK, made[i], "in_node_sum", "no");
	assert_value(NODE("reads"), ARRAY_SIZE(whole));
	assert_contains(absence(&R, "discards"), "of this kernel");
	assert_contains(absence(&R, "flush_time"), "of this kernel");
}

static void disk_counters(void **state)
{
	const char *root = *state;

	tree_put(root, "proc/diskstats",
		 "8 0 sda 100 0 2000 4294967290 50 0 10 4294000000 0 80 90\n");
	open_on("disk", root);
	assert_int_equal(reader_read(&R), 0);
	/* milliseconds wrap at 32 bits while requests go on */
	tree_put(root, "proc/diskstats", "8 0 sda 101 0 2008 4 51 0 20 4294000001 0 81 91\n");
	assert_int_equal(reader_read(&R), 0);
	assert_value(V(DISK, "sda", "read_time"), 4294967300);
	assert_value(NODE("read_time"), 4294967300);
	/* another disk has the name: nothing wraps */
	tree_put(root, "proc/diskstats", "8 0 sda 1 0 8 1 1 0 8 1 0 1 1\n");
	assert_int_equal(reader_read(&R), 0);
	assert_value(V(DISK, "sda", "write_time"), 4294000001);
	assert_value(V(DISK, "sda", "reads"), 101);
	/* gone, and back */
	tree_put(root, "proc/diskstats", "8 0 sdb 1 0 8 1 1 0 8 1 0 1 1\n");
	assert_int_equal(reader_read(&R), 0);
	assert_int_equal(R.set.ended_count, 1);
	assert_value(NODE("reads"), 101);
	tree_put(root, "proc/diskstats", "8 0 sda 9 0 8 1 1 0 8 1 0 1 1\n");
	assert_int_equal(reader_read(&R), 0);
	assert_value(V(DISK, "sda", "reads"), 101);
	assert_value(NODE("reads"), 101);
}

static void disk_of_garbage(void **state)
{
	const char *root = *state;

	tree_put(root, "proc/diskstats",
		 "\n8\n8 0\n8 0 sda\n8 1 sda1 1 2 3 4\nx y sdb 1 2 3 4 5 6 7 8 9 10 11\n"
		 "8 0 sdc 99999999999999999999 2 3 4 5 6 7 8 9 10 11\n"
		 "8 0 .. 1 2 3 4 5 6 7 8 9 10 11\n"
		 "8 0 ../../x 1 2 3 4 5 6 7 8 9 10 11\n"
		 "8 0 sdd 1 2 3 4 5 6 7 8 9 10 11\n8 0 sdd 1 2 3 4 5 6 7 8 9 10 11\n"
		 "8 0 sde 1 2 3 4 5 6 7 8 9 10");
	open_on("disk", root);
	assert_int_equal(reader_read(&R), 0);
	assert_value(V(DISK, "sdd", "reads"), 1);
	assert_int_equal(row_of(&R, ENTITY_DISK, "sdb"), -1);
	assert_int_equal(row_of(&R, ENTITY_DISK, "sdc"), -1);
	assert_int_equal(row_of(&R, ENTITY_DISK, "sde"), -1);
	reader_close(&R);
	/* with /sys a name that leads out of it is no disk */
	tree_dir(root, "sys/block/sdd/device");
	open_on("disk", root);
	assert_int_equal(reader_read(&R), 0);
	assert_int_equal(R.set.row_count, 2);
	assert_value(NODE("reads"), 1);
}

/* ---- NFS ----------------------------------------------------------------------------------------
 */

#define NFS_BODY                                                          \
	"\topts:\trw,vers=4.2,rsize=1048576,hard,proto=tcp,mountvers=3\n" \
	"\tage:\t13968\n"                                                 \
	"\tbytes:\t1001 1002 1003 1004 1005 1006 1007 1008\n"             \
	"\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n"               \
	"\txprt:\ttcp 832 0 1 0 11 6428 6428 0 12154 0 24 26 5726\n"      \
	"\tper-op statistics\n"                                           \
	"\t        NULL: 1 1 0 44 24 0 0 0 0\n"                           \
	"\t        READ: 100 103 2 5000 600000 7 800 900 1\n"             \
	"\t       WRITE: 50 50 0 400000 3000 5 600 700 0\n"               \
	"\t      ACCESS: 10 9 0 100 100 18446743919241604546 20 30 0\n"   \
	"\t        OPEN: 3 3 0 1 1 1 1 1 0\n"                             \
	"\t OPEN_NOATTR: 4 4 0 1 1 1 1 1 0\n"                             \
	"\t     READDIR: 5 5 0 1 1 1 1 1 0\n"                             \
	"\n"

static void nfs_values(void **state)
{
	const char *root = *state;
	struct source_report report = SOURCE_REPORT_INIT;
	struct source_context ctx = {.root = root};

	tree_put(
		root, "proc/self/mountstats",
		"device rootfs mounted on / with fstype rootfs\n"
		"device server:/export/my\\040home mounted on /home/with\\040blank\\134and\\011tab "
		"with fstype nfs4 statvers=1.1\n" NFS_BODY
		"no device mounted on /proc with fstype proc\n"
		"device old:/vol mounted on /vol with fstype nfs statvers=1.0\n"
		"\topts:\tro,vers=3\n\tbytes:\t1 2 3 4 5 6 7 8\n\tper-op statistics\n"
		"\t READDIRPLUS: 6 6 0 1 1 1 1 1\n\t MKDIR: 2 2 0 1 1 1 1 1\n\t RMDIR: 9 9 0 1 1 1 1 1\n"
		"device tmpfs mounted on /tmp with fstype tmpfs\n");
	tree_put(root, "proc/net/rpc/nfs",
		 "net 18628 0 18628 6\nrpc 4329785 12 4338291\nproc3 22 1 4084749\n");
	open_on("nfs", root);
	assert_int_equal(reader_read(&R), 0);
	assert_int_equal(R.set.row_count, 3);
	const char *home = "/home/with blank\\and\\011tab";
	assert_value(V(FILESYSTEM, home, "read_bytes"), 1001);
	assert_value(V(FILESYSTEM, home, "write_bytes"), 1002);
	assert_value(V(FILESYSTEM, home, "direct_read_bytes"), 1003);
	assert_value(V(FILESYSTEM, home, "direct_write_bytes"), 1004);
	assert_value(V(FILESYSTEM, home, "server_read_bytes"), 1005);
	assert_value(V(FILESYSTEM, home, "server_write_bytes"), 1006);
	assert_value(V(FILESYSTEM, home, "write_pages"), 1008);
	assert_value(V(FILESYSTEM, home, "read_ops"), 100);
	assert_value(V(FILESYSTEM, home, "read_rtt"), 800);
	assert_value(V(FILESYSTEM, home, "read_execute_time"), 900);
	assert_value(V(FILESYSTEM, home, "write_ops"), 50);
	assert_value(V(FILESYSTEM, home, "write_rtt"), 600);
	assert_value(V(FILESYSTEM, home, "write_execute_time"), 700);
	assert_value(V(FILESYSTEM, home, "access_ops"), 10);
	assert_value(V(FILESYSTEM, home, "open_ops"), 7);
	assert_value(V(FILESYSTEM, home, "readdir_ops"), 5);
	assert_value(V(FILESYSTEM, home, "ops"), 173);
	/* three more reads sent than done; one access less than done */
	assert_value(V(FILESYSTEM, home, "retransmissions"), 3);
	assert_value(V(FILESYSTEM, home, "timeouts"), 2);
	assert_value(V(FILESYSTEM, home, "errors"), 1);
	assert_value(V(FILESYSTEM, home, "received_bytes"), 603127);
	/* a time below zero is left out of the sum */
	assert_value(V(FILESYSTEM, home, "queue_time"), 15);
	assert_value(V(FILESYSTEM, home, "rtt"), 1423);
	assert_fact(&R, ENTITY_FILESYSTEM, home, "export", "server:/export/my home");
	assert_fact(&R, ENTITY_FILESYSTEM, home, "version", "4.2");
	assert_false(has_value(&R, ENTITY_FILESYSTEM, home, "rename_ops"));
	assert_value(V(FILESYSTEM, "/vol", "readdir_ops"), 6);
	assert_value(V(FILESYSTEM, "/vol", "create_ops"), 2);
	assert_value(V(FILESYSTEM, "/vol", "remove_ops"), 9);
	assert_false(has_value(&R, ENTITY_FILESYSTEM, "/vol", "errors"));
	assert_fact(&R, ENTITY_FILESYSTEM, "/vol", "version", "3");
	assert_value(NODE("rpc_calls"), 4329785);
	assert_value(NODE("rpc_retransmissions"), 12);
	assert_value(NODE("rpc_auth_refreshes"), 4338291);
	assert_int_equal(R.source->probe(&ctx, &report), 0);
	assert_string_equal(report.detail.buf, "2 NFS filesystems are mounted");
	strbuf_release(&report.detail);
}

/* One filesystem at several places is one row; places come and go. */
static void nfs_mounts(void **state)
{
	const char *root = *state;
#define MOUNT(what, where, reads)                                              \
	"device " what " mounted on " where " with fstype nfs4 statvers=1.1\n" \
	"\tbytes:\t" reads " 0 0 0 0 0 0 0\n"
	tree_put(root, "proc/self/mountinfo",
		 "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
		 "36 20 0:45 / /home/ann rw,relatime shared:1 - nfs4 s:/home/ann rw\n"
		 "37 20 0:46 / /scratch rw - nfs4 s:/scratch rw\n"
		 "38 20 0:45 / /home/bob\\040b rw - nfs4 s:/home/bob rw\n");
	tree_put(root, "proc/self/mountstats",
		 MOUNT("s:/home/ann", "/home/ann", "100") MOUNT("s:/scratch", "/scratch", "7")
			 MOUNT("s:/home/bob", "/home/bob\\040b", "100"));
	open_on("nfs", root);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(reader_read(&R), 0);
		assert_int_equal(R.set.row_count, 2);
		assert_value(V(FILESYSTEM, "/home/ann", "read_bytes"), 100);
		assert_fact(&R, ENTITY_FILESYSTEM, "/home/ann", "also_at", "/home/bob b");
	}
	assert_value(V(FILESYSTEM, "/scratch", "read_bytes"), 7);
	/* the first place is gone: the other has the row */
	tree_put(root, "proc/self/mountstats",
		 MOUNT("s:/scratch", "/scratch", "8")
			 MOUNT("s:/home/bob", "/home/bob\\040b", "101"));
	assert_int_equal(reader_read(&R), 0);
	assert_int_equal(R.set.row_count, 2);
	assert_value(V(FILESYSTEM, "/home/bob b", "read_bytes"), 101);
	assert_int_equal(R.set.ended_count, 1);
	/* something else is mounted at a place: it goes on */
	tree_put(root, "proc/self/mountstats", MOUNT("t:/other", "/scratch", "500000"));
	assert_int_equal(reader_read(&R), 0);
	assert_value(V(FILESYSTEM, "/scratch", "read_bytes"), 8);
	assert_fact(&R, ENTITY_FILESYSTEM, "/scratch", "export", "t:/other");
	/* mounted again: from 0, and it goes on */
	tree_put(root, "proc/self/mountstats", MOUNT("t:/other", "/scratch", "3"));
	assert_int_equal(reader_read(&R), 0);
	tree_put(root, "proc/self/mountstats", MOUNT("t:/other", "/scratch", "5"));
	assert_int_equal(reader_read(&R), 0);
	assert_value(V(FILESYSTEM, "/scratch", "read_bytes"), 10);
	/* one mount over another */
	tree_put(root, "proc/self/mountstats",
		 MOUNT("t:/other", "/scratch", "6") MOUNT("u:/over", "/scratch", "70"));
	assert_int_equal(reader_read(&R), 0);
	assert_int_equal(R.set.row_count, 2);
	assert_value(V(FILESYSTEM, "/scratch", "read_bytes"), 11);
	assert_value(V(FILESYSTEM, "/scratch (u:/over)", "read_bytes"), 70);
	/* nothing is mounted any more */
	tree_put(root, "proc/self/mountstats", "");
	assert_int_equal(reader_read(&R), 0);
	assert_int_equal(R.set.row_count, 0);
	assert_int_equal(R.set.ended_count, 2);
}

static void nfs_of_garbage(void **state)
{
	const char *root = *state;

	assert_int_equal(reader_open(&R, "nfs", root, NULL, NULL), -ENOENT);
	assert_contains(R.why.buf, "mountstats");
	tree_put(root, "proc/self/mountstats", "device /dev/sda1 mounted on / with fstype ext4\n");
	assert_int_equal(reader_open(&R, "nfs", root, NULL, NULL), -ENOENT);
	assert_contains(R.why.buf, "no NFS filesystem is mounted");
	tree_put(
		root, "proc/self/mountstats",
		"device\ndevice a\ndevice a mounted on\ndevice a mounted on b with fstype nfs\n"
		"\n\t\n\tbytes:\n\tbytes: x 5\n\tper-op statistics\n\t:\n\tREAD:\n\tREAD: x\n"
		"\tREAD: 9223372036854775799 1 1 1 1 1 1 1\n\tWRITE: 9223372036854775799 1 1 1 1 1 1 1\n"
		"\tGETATTR: 5 7\n\tcut 4\n"
		"device c\\777d mounted on \\0\\04\\999\\ with fstype nfs4\n\topts:\tvers=\n"
		"device e mounted on f with fstype nfs4");
	tree_put(root, "proc/net/rpc/nfs", "rpc\nrpc x y z\n");
	open_on("nfs", root);
	assert_int_equal(reader_read(&R), 0);
	assert_value(V(FILESYSTEM, "b", "write_bytes"), 5);
	assert_value(V(FILESYSTEM, "b", "ops"), INT64_MAX);
	assert_value(V(FILESYSTEM, "b", "getattr_ops"), 5);
	assert_value(V(FILESYSTEM, "b", "retransmissions"), 2);
	assert_fact(&R, ENTITY_FILESYSTEM, "\\0\\04\\999\\", "export", "c\\777d");
	assert_int_equal(row_of(&R, ENTITY_FILESYSTEM, "f"), -1);
}

#define with_tree(f) cmocka_unit_test_setup_teardown(f, scratch_setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_tree(kept_files),
		cmocka_unit_test(lines_and_words),
		cmocka_unit_test(counters_go_on),
		cmocka_unit_test(tables),
		with_tree(system_values),
		with_tree(system_times_never_fall),
		with_tree(system_of_an_old_kernel),
		with_tree(system_of_many_cpus),
		with_tree(system_of_garbage),
		with_tree(system_absent),
		with_tree(pressure_values),
		with_tree(pressure_absent),
		with_tree(network_values),
		with_tree(network_sums),
		with_tree(network_counters),
		with_tree(network_comes_and_goes),
		with_tree(network_of_garbage),
		with_tree(too_many),
		with_tree(disk_values),
		with_tree(disk_names),
		with_tree(disk_counters),
		with_tree(disk_of_garbage),
		with_tree(nfs_values),
		with_tree(nfs_mounts),
		with_tree(nfs_of_garbage),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
