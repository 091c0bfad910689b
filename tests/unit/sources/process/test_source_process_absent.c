/*
 * The source `process` where files are cut, garbage, missing or forbidden, and where there is no
 * job.
 */
#include "source_process.h"
#include "sources/process/procdir.h"

static void files_that_are_not_there(void **state)
{
	struct bench *b = *state;
	struct shown p[3] = {first, first, first};

	for (int i = 0; i < 3; i++) {
		p[i].pid = 40 + i;
		put_process(b, &p[i]);
	}
	for (int i = 0; i < 3; i++) {
		static const char *const names[] = {"io", "schedstat", "stat"};
		_cleanup_free_ char *path = xasprintf("%s/proc/%d/%s", b->root, 40 + i, names[i]);

		assert_int_equal(unlink(path), 0);
	}
	set_list(b, 3, p);
	open_source(b, "process");
	for (int round = 0; round < 2; round++) {
		take_reading(b);
		assert_int_equal(b->set.row_count, 3);
		int row = row_of(b, ENTITY_PROCESS, "40.5000");
		check_value(b, row, "usertime", 120 * TICK);
		check_value(b, row, "timeslices", 30);
		check_absent(b, row, "wchar");
		row = row_of(b, ENTITY_PROCESS, "41.5000");
		check_value(b, row, "wchar", 12);
		check_absent(b, row, "time_waiting");
		assert_int_equal(row_of(b, ENTITY_PROCESS, "42.5000"), -1);
		check_job(b, "processes", 2);
		check_job(b, "wchar", 12);
	}
	assert_contains(reason_of(b, "wchar"), "/proc/PID/io");
	assert_contains(reason_of(b, "time_waiting"), "schedstat");
}

/* One that ends between two of its files tells nothing about the kernel. */
static void a_process_that_has_just_gone(void **state)
{
	struct bench *b = *state;
	struct procdir d = {.fd = -1};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	char buf[64];
	int fd = -1;

	put_process(b, &first);
	assert_int_equal(procdir_open(&d, b->root, 50, &why), 0);
	assert_int_equal(procdir_read(&d, &fd, first.pid, "nothing", false, buf, sizeof(buf)),
			 -ENOENT);
	assert_int_equal(procdir_read(&d, &fd, first.pid + 1, "io", false, buf, sizeof(buf)),
			 -ESRCH);
	procdir_close(&d);
}

static void io_that_is_not_permitted(void **state)
{
	static const char *const modes[] = {
		"",         "/40",           "/41",   "/40/stat", "/40/schedstat",
		"/41/stat", "/41/schedstat", "/41/io"};
	struct bench *b = *state;
	struct shown p[2] = {first, first};

	p[1].pid = 41;
	put_process(b, &p[0]);
	put_process(b, &p[1]);
	for (size_t i = 0; i < ARRAY_SIZE(modes); i++) {
		_cleanup_free_ char *path = xasprintf("%s/proc%s", b->root, modes[i]);

		assert_int_equal(chmod(path, 0755), 0);
	}
	_cleanup_free_ char *io = xasprintf("%s/proc/40/io", b->root);
	assert_int_equal(chmod(io, 0), 0);
	set_list(b, 2, p);
	open_source(b, "process");
	/* root may read everything */
	bool root = geteuid() == 0;
	if (root)
		assert_int_equal(seteuid(65534), 0);
	take_reading(b);
	if (root)
		assert_int_equal(seteuid(0), 0);
	check_absent(b, 0, "wchar");
	check_value(b, 0, "usertime", 120 * TICK);
	check_value(b, 1, "wchar", 12);
	assert_contains(reason_of(b, "wchar"), "not permitted");
	check_job(b, "wchar", 12);
}

/* File by file: what is missing is not what may not be read. */
static void reasons_by_file(void **state)
{
	static const struct {
		const char *file, *metric;
		bool there;
		const char *reason;
	} cases[] = {
		{"io", "rchar", false, "the kernel has no /proc/PID/io"},
		{"io", "cancelled_write_bytes", true,
		 "not permitted: /proc/PID/io of a process of another user"},
		{"schedstat", "time_waiting", false, "the kernel has no /proc/PID/schedstat"},
		{"schedstat", "timeslices", true,
		 "not permitted: /proc/PID/schedstat of a process of another"},
	};
	struct bench *b = *state;
	bool root = geteuid() == 0;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *dir = xasprintf("%s/proc", b->root);
		_cleanup_free_ char *of = xasprintf("%s/40", dir);
		_cleanup_free_ char *stat = xasprintf("%s/stat", of);
		_cleanup_free_ char *path = xasprintf("%s/%s", of, cases[i].file);

		put_process(b, &first);
		assert_int_equal(chmod(dir, 0755) | chmod(of, 0755) | chmod(stat, 0644), 0);
		assert_int_equal(cases[i].there ? chmod(path, 0) : unlink(path), 0);
		set_list(b, 1, &first);
		open_source(b, "process");
		if (root)
			assert_int_equal(seteuid(65534), 0);
		take_reading(b);
		if (root)
			assert_int_equal(seteuid(0), 0);
		check_absent(b, 0, cases[i].metric);
		assert_contains(reason_of(b, cases[i].metric), cases[i].reason);
		close_source(b);
		assert_int_equal(cases[i].there ? unlink(path) : 0, 0);
	}
}

static void stat_cut_at_every_length(void **state)
{
	struct bench *b = *state;
	struct shown p = first;
	double v;

	p.comm = "a) (b";
	put_process(b, &p);
	_cleanup_free_ char *path = xasprintf("%s/proc/40/stat", b->root);
	char text[1024];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof(text));
	close(fd);
	assert_true(n > 100);
	set_list(b, 1, &p);
	open_source(b, "process");
	for (ssize_t len = 0; len <= n; len++) {
		write_file(path, text, (size_t)len);
		take_reading(b);
		int row = row_of(b, ENTITY_PROCESS, "40.5000");
		if (row < 0)
			continue;
		/* what is there is whole */
		check_value(b, row, "usertime", 120 * TICK);
		if (value_of(b, row, "rss", &v))
			check_value(b, row, "rss", 25000.0 * (double)sysconf(_SC_PAGESIZE));
		if (value_of(b, row, "delayacct_blkio_time", &v))
			check_value(b, row, "delayacct_blkio_time", 7 * TICK);
	}
	assert_true(row_of(b, ENTITY_PROCESS, "40.5000") >= 0);
	check_job(b, "usertime", 120 * TICK);
}

static void garbage_in_every_file(void **state)
{
	static const char *const files[] = {
		"stat",   "io",           "schedstat", "cmdline", "task/1/schedstat",
		"status", "smaps_rollup", "statm"};
	static const char *const which[] = {"process", "process_memory"};
	struct bench *b = *state;
	uint64_t seed = 42;

	put_process(b, &first);
	set_list(b, 1, &first);
	for (size_t s = 0; s < ARRAY_SIZE(which); s++) {
		open_source(b, which[s]);
		for (int round = 0; round < 300; round++) {
			for (size_t f = 0; f < ARRAY_SIZE(files); f++) {
				static const char alphabet[] =
					"0123456789 -:\n()kBRSVmxPidual99999999";
				char text[400];
				size_t n = random_next(&seed) % (sizeof(text) - 1);

				for (size_t i = 0; i < n; i++)
					text[i] = alphabet[random_next(&seed) %
							   (sizeof(alphabet) - 1)];
				text[n] = 0;
				put_of(b, 40, files[f], text);
			}
			take_reading(b);
			assert_true(b->set.row_count <= 2);
		}
		close_source(b);
	}
}

static void numbers_that_are_too_large(void **state)
{
	struct bench *b = *state;
	struct shown p = first;

	p.utime = UINT64_MAX;
	p.minflt = UINT64_MAX;
	p.rss = UINT64_MAX / 2;
	p.oncpu = UINT64_MAX;
	p.threads = UINT64_MAX;
	p.wchar = UINT64_MAX;
	put_process(b, &p);
	set_list(b, 1, &p);
	open_source(b, "process");
	for (int round = 0; round < 3; round++) {
		take_reading(b);
		check_absent(b, 0, "usertime");
		check_absent(b, 0, "minflt");
		check_absent(b, 0, "rss");
		check_absent(b, 0, "wchar");
		check_value(b, 0, "systemtime", 30 * TICK);
	}
}

static void a_job_that_is_hidden(void **state)
{
	struct bench *b = *state;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	/* named in the list, not in /proc */
	set_list(b, 1, &first);
	open_source(b, "process");
	take_reading(b);
	assert_int_equal(b->set.row_count, 1);
	check_job(b, "processes", 0);
	close_source(b);
	open_source(b, "process_memory");
	take_reading(b);
	assert_int_equal(b->set.row_count, 1);
	close_source(b);
	/* no processes at all */
	set_list(b, 0, NULL);
	open_source(b, "process");
	take_reading(b);
	check_job(b, "processes", 0);
	check_job(b, "started", 0);
	close_source(b);
	/* no /proc, no job, an option that is none */
	struct source_context bad = {.root = "/nonexistent", .watch = &b->watch};
	assert_int_equal(b->source->open(&bad, &b->set, &b->state, &why), -ENOENT);
	assert_contains(why.buf, "/nonexistent/proc");
	bad = (struct source_context){.root = b->root};
	assert_int_equal(b->source->open(&bad, &b->set, &b->state, &why), -EINVAL);
	bad = (struct source_context){.root = b->root, .watch = &b->watch, .option = "no-exits,x"};
	strbuf_reset(&why);
	assert_int_equal(b->source->open(&bad, &b->set, &b->state, &why), -EINVAL);
	assert_contains(why.buf, "no-exits,x");
}

static void probes(void **state)
{
	struct bench *b = *state;
	struct source_context none = {.root = "/nonexistent"};

	for (int i = 0; i < 2; i++) {
		const struct source *s = source_find(i ? "process_memory" : "process");
		struct source_report report = SOURCE_REPORT_INIT;

		assert_int_equal(s->probe(&b->ctx, &report), 0);
		assert_true(report.detail.len > 0);
		strbuf_reset(&report.detail);
		assert_int_equal(s->probe(&none, &report), -ENOENT);
		assert_contains(report.detail.buf, "/nonexistent/proc");
		strbuf_release(&report.detail);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_bench(files_that_are_not_there),
		with_bench(a_process_that_has_just_gone),
		with_bench(io_that_is_not_permitted),
		with_bench(stat_cut_at_every_length),
		with_bench(reasons_by_file),
		with_bench(garbage_in_every_file),
		with_bench(numbers_that_are_too_large),
		with_bench(a_job_that_is_hidden),
		with_bench(probes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
