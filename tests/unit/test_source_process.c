/*
 * The sources `process` and `process_memory` on trees written here: what each value is made of,
 * files that are cut, garbage, missing or forbidden, processes that come and go, numbers that are
 * used again; and on processes of our own for what only a live kernel does.
 */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "core/procparse.h"
#include "sources/procdir.h"
#include "sources/source.h"

/* Later than any boot: begun after the source was opened. */
#define YOUNG 900000000000ull
#define TICK 10000

/* ---- a tree, a job and a source that reads it -------------------------------------------------
 */

struct bench {
	char *root;
	struct watch watch;
	struct watched list[64];
	struct source_context ctx;
	const struct source *source;
	struct sample_set set;
	void *state;
};

static void put_text(const char *root, const char *name, const char *text)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", root, name);

	for (char *p = strchr(path + strlen(root) + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = 0;
		(void)mkdir(path, 0700);
		*p = '/';
	}
	write_file(path, text, strlen(text));
}

static void put_of(const struct bench *b, int pid, const char *name, const char *text)
{
	_cleanup_free_ char *file = xasprintf("proc/%d/%s", pid, name);

	put_text(b->root, file, text);
}

/* One process as the files show it. */
struct shown {
	int pid, ppid;
	const char *comm;
	uint64_t start, utime, stime, cutime, cstime, minflt, cminflt, threads, rss;
	uint64_t oncpu, wchar;
};

static void put_stat(const struct bench *b, const struct shown *p)
{
	_cleanup_free_ char *stat = xasprintf(
		"%d (%s) S %d 5 6 7 -1 4194304 %llu %llu 3 4 %llu %llu %llu %llu 20 0 %llu 0 %llu "
		"123456789 %llu 18446744073709551615 1 2 3 0 0 0 0 0 0 0 0 0 17 5 0 0 7 0 0 1 2 3 4 5 6 "
		"7 0\n",
		p->pid, p->comm ? p->comm : "prog", p->ppid, (unsigned long long)p->minflt,
		(unsigned long long)p->cminflt, (unsigned long long)p->utime,
		(unsigned long long)p->stime, (unsigned long long)p->cutime,
		(unsigned long long)p->cstime, (unsigned long long)(p->threads ? p->threads : 1),
		(unsigned long long)p->start, (unsigned long long)p->rss);

	put_of(b, p->pid, "stat", stat);
}

static void put_process(const struct bench *b, const struct shown *p)
{
	_cleanup_free_ char *sched = xasprintf("%llu 2000 30\n", (unsigned long long)p->oncpu);
	_cleanup_free_ char *io = xasprintf(
		"rchar: 11\nwchar: %llu\nsyscr: 13\nsyscw: 14\nread_bytes: 15\nwrite_bytes: 16\n"
		"cancelled_write_bytes: 17\n",
		(unsigned long long)p->wchar);

	put_stat(b, p);
	put_of(b, p->pid, "io", io);
	put_of(b, p->pid, "schedstat", sched);
	put_of(b, p->pid, "cmdline", "prog\0--option");
}

static void remove_process(const struct bench *b, int pid)
{
	scratch_remove(xasprintf("%s/proc/%d", b->root, pid));
}

/* The job's processes from here on: pid, ppid, start of each. */
static void set_list(struct bench *b, size_t n, const struct shown *p)
{
	for (size_t i = 0; i < n; i++)
		b->list[i] = (struct watched){.pid = p[i].pid,
					      .ppid = p[i].ppid,
					      .starttime = p[i].start,
					      .rank = (int)i - 1};
	b->watch.list = b->list;
	b->watch.count = n;
}

static int bench_setup(void **state)
{
	struct bench *b = xcalloc(1, sizeof(*b));

	b->root = scratch_make();
	put_text(b->root, "proc/meminfo", "MemTotal:        1000000 kB\nMemFree: 5 kB\n");
	put_text(b->root, "proc/sys/kernel/task_delayacct", "1\n");
	b->ctx = (struct source_context){.root = b->root, .watch = &b->watch};
	*state = b;
	return 0;
}

static void close_source(struct bench *b)
{
	if (b->state)
		b->source->close(b->state);
	b->state = NULL;
	sample_release(&b->set);
}

static int bench_teardown(void **state)
{
	struct bench *b = *state;

	close_source(b);
	scratch_remove(b->root);
	free(b);
	return 0;
}

static void open_source(struct bench *b, const char *name)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	b->source = source_find(name);
	assert_non_null(b->source);
	assert_true(b->source->needs_job);
	sample_init(&b->set, b->source->metrics, b->source->metric_count);
	assert_int_equal(b->source->open(&b->ctx, &b->set, &b->state, &why), 0);
}

static void take_reading(struct bench *b)
{
	sample_begin(&b->set);
	assert_int_equal(b->source->read(b->state, &b->set), 0);
}

/* The row of an entity, or -1. */
static int row_of(const struct bench *b, enum entity_kind kind, const char *name)
{
	for (size_t i = 0; i < b->set.row_count; i++) {
		const struct entity *e = &b->set.entities[b->set.rows[i].entity];

		if (e->kind == kind && !strcmp(e->name, name))
			return (int)i;
	}
	return -1;
}

static bool value_of(const struct bench *b, int row, const char *metric, double *ret)
{
	*ret = 0;
	for (unsigned m = 0; m < b->set.metric_count; m++) {
		if (strcmp(b->set.metrics[m].name, metric) != 0)
			continue;
		if (row < 0 || !(b->set.rows[row].present >> m & 1))
			return false;
		*ret = sample_value(&b->set, (size_t)row, m);
		return true;
	}
	fail_msg("there is no metric '%s'", metric);
	return false;
}

static void check_value(const struct bench *b, int row, const char *metric, double want)
{
	double v;

	if (!value_of(b, row, metric, &v))
		fail_msg("%s is absent", metric);
	if (v != want)
		fail_msg("%s is %.17g, want %.17g", metric, v, want);
}

static void check_absent(const struct bench *b, int row, const char *metric)
{
	double v;

	if (value_of(b, row, metric, &v))
		fail_msg("%s is %.17g, want none", metric, v);
}

static void check_job(const struct bench *b, const char *metric, double want)
{
	int row = row_of(b, ENTITY_JOB, "job");

	assert_true(row >= 0);
	check_value(b, row, metric, want);
}

static void check_fact(const struct bench *b, int row, const char *key, const char *want)
{
	const struct entity *e = &b->set.entities[b->set.rows[row].entity];
	const char *text = "";
	size_t n = 0;

	if (!entity_fact(e, key, &text, &n) || n != strlen(want) || memcmp(text, want, n) != 0)
		fail_msg("fact %s is '%.*s', want '%s'", key, (int)n, text, want);
}

static const char *reason_of(const struct bench *b, const char *metric)
{
	for (size_t i = 0; i < b->set.absence_count; i++)
		if (b->set.absences[i].metric < b->set.metric_count &&
		    !strcmp(b->set.metrics[b->set.absences[i].metric].name, metric))
			return b->set.absences[i].reason;
	return "";
}

static const struct shown first = {.pid = 40,
				   .ppid = 1,
				   .start = 5000,
				   .utime = 120,
				   .stime = 30,
				   .cutime = 1000,
				   .minflt = 500,
				   .cminflt = 900,
				   .rss = 25000,
				   .oncpu = 1500000000,
				   .wchar = 12};

/* ---- process: values --------------------------------------------------------------------------
 */

static void every_value_of_a_process(void **state)
{
	struct bench *b = *state;
	char cmdline[] = "prog\0two words\0\x1b[1m\0\0";

	put_process(b, &first);
	_cleanup_free_ char *path = xasprintf("%s/proc/40/cmdline", b->root);
	write_file(path, cmdline, sizeof(cmdline) - 1);
	_cleanup_free_ char *exe = xasprintf("%s/proc/40/exe", b->root);
	assert_int_equal(symlink("/usr/bin/prog", exe), 0);
	set_list(b, 1, &first);
	b->list[0].rank = 3;
	open_source(b, "process");
	take_reading(b);
	assert_int_equal(b->set.row_count, 2);
	int row = row_of(b, ENTITY_PROCESS, "40.5000");
	assert_true(row >= 0);
	check_value(b, row, "usertime", 120 * TICK);
	check_value(b, row, "systemtime", 30 * TICK);
	check_value(b, row, "time_oncpu", 1500000000);
	check_value(b, row, "time_waiting", 2000);
	check_value(b, row, "timeslices", 30);
	check_value(b, row, "minflt", 500);
	check_value(b, row, "majflt", 3);
	check_value(b, row, "rss", 25000.0 * (double)sysconf(_SC_PAGESIZE));
	check_value(b, row, "vms", 123456789);
	check_value(b, row, "num_threads", 1);
	check_value(b, row, "processor", 5);
	check_value(b, row, "delayacct_blkio_time", 7 * TICK);
	check_value(b, row, "rchar", 11);
	check_value(b, row, "wchar", 12);
	check_value(b, row, "syscr", 13);
	check_value(b, row, "syscw", 14);
	check_value(b, row, "read_bytes", 15);
	check_value(b, row, "write_bytes", 16);
	check_value(b, row, "cancelled_write_bytes", 17);
	double percent;
	assert_true(value_of(b, row, "memory_percent", &percent));
	assert_true(percent > 9.99 && percent < 10.01);
	/* there is no reading before, and these are of the job */
	check_absent(b, row, "cpu_percent");
	check_absent(b, row, "processes");
	check_fact(b, row, "comm", "prog");
	check_fact(b, row, "exe", "/usr/bin/prog");
	check_fact(b, row, "cmdline", "prog two words \\x1b[1m");
	check_fact(b, row, "pid", "40");
	check_fact(b, row, "ppid", "1");
	check_fact(b, row, "rank", "3");
	check_fact(b, row, "start", "5000");
	check_job(b, "processes", 1);
	check_job(b, "threads", 1);
	check_job(b, "started", 1);
	check_job(b, "ended", 0);
	check_job(b, "usertime", 120 * TICK);
	check_job(b, "wchar", 12);
	check_job(b, "delayacct_blkio_time", 7 * TICK);
	check_absent(b, row_of(b, ENTITY_JOB, "job"), "cpu_percent");
	check_absent(b, row_of(b, ENTITY_JOB, "job"), "exits_lost");
	assert_contains(reason_of(b, "exits_lost"), "recorded tree");
}

static void names_with_blanks_and_parentheses(void **state)
{
	static const char *const names[] = {"two words", ") S 9 (", "((", "a\\nb", "", "x)"};
	struct bench *b = *state;
	struct shown p[6];

	for (int i = 0; i < 6; i++) {
		p[i] = first;
		p[i].pid = 40 + i;
		p[i].comm = names[i];
		p[i].utime = 10 + (uint64_t)i;
		put_process(b, &p[i]);
	}
	set_list(b, 6, p);
	open_source(b, "process");
	take_reading(b);
	assert_int_equal(b->set.row_count, 7);
	for (int i = 0; i < 6; i++) {
		_cleanup_free_ char *name = xasprintf("%d.5000", 40 + i);
		int row = row_of(b, ENTITY_PROCESS, name);

		check_value(b, row, "usertime", (10 + i) * TICK);
		if (*names[i])
			check_fact(b, row, "comm", names[i]);
	}
	check_job(b, "usertime", (10 + 11 + 12 + 13 + 14 + 15) * TICK);
}

static void a_difference_is_a_percentage(void **state)
{
	struct bench *b = *state;
	struct shown p = first;
	double percent, job;

	put_process(b, &p);
	set_list(b, 1, &p);
	open_source(b, "process");
	take_reading(b);
	uint64_t begin = b->set.time_ns;
	usleep(20000);
	p.oncpu += 5000000;
	put_process(b, &p);
	take_reading(b);
	int row = row_of(b, ENTITY_PROCESS, "40.5000");
	assert_true(value_of(b, row, "cpu_percent", &percent));
	/* 5 ms of at least 20 */
	double over = (double)(b->set.time_ns - begin) / 1e6;
	assert_true(percent > 0 && percent <= 25);
	assert_true(percent > 100 * 5 / (over + 20) - 0.01);
	assert_true(value_of(b, row_of(b, ENTITY_JOB, "job"), "cpu_percent", &job));
	assert_true(job > percent * 0.5 && job < percent * 2);
	/* nothing done since */
	take_reading(b);
	check_value(b, row_of(b, ENTITY_PROCESS, "40.5000"), "cpu_percent", 0);
	check_job(b, "cpu_percent", 0);
}

static void an_exec_keeps_the_row_and_changes_its_name(void **state)
{
	struct bench *b = *state;
	struct shown p = first;

	put_process(b, &p);
	set_list(b, 1, &p);
	open_source(b, "process");
	take_reading(b);
	uint32_t entity = b->set.rows[0].entity;
	b->set.entities[entity].fresh = false;
	take_reading(b);
	assert_false(b->set.entities[entity].fresh);
	p.comm = "other";
	put_process(b, &p);
	put_of(b, 40, "cmdline", "other -x");
	take_reading(b);
	assert_int_equal(b->set.row_count, 2);
	assert_int_equal(b->set.rows[0].entity, entity);
	assert_true(b->set.entities[entity].fresh);
	check_fact(b, 0, "comm", "other");
	check_fact(b, 0, "cmdline", "other -x");
	/* an orphan has another parent */
	p.ppid = 7;
	put_process(b, &p);
	take_reading(b);
	check_fact(b, 0, "ppid", "7");
}

static void without_delay_accounting(void **state)
{
	struct bench *b = *state;

	put_text(b->root, "proc/sys/kernel/task_delayacct", "0\n");
	put_process(b, &first);
	set_list(b, 1, &first);
	open_source(b, "process");
	take_reading(b);
	check_absent(b, 0, "delayacct_blkio_time");
	assert_contains(reason_of(b, "delayacct_blkio_time"), "task_delayacct");
}

static void threads_are_added_up(void **state)
{
	struct bench *b = *state;
	struct shown p = first;

	p.threads = 3;
	put_process(b, &p);
	put_of(b, 40, "task/40/schedstat", "1500000000 2000 30\n");
	put_of(b, 40, "task/41/schedstat", "2000 20 2\n");
	put_of(b, 40, "task/42/schedstat", "4000 40 4\n");
	set_list(b, 1, &p);
	open_source(b, "process");
	take_reading(b);
	check_value(b, 0, "time_oncpu", 1500006000);
	check_value(b, 0, "time_waiting", 2060);
	check_value(b, 0, "timeslices", 36);
	check_value(b, 0, "num_threads", 3);
	/* storage delay is that of the first thread alone */
	check_absent(b, 0, "delayacct_blkio_time");
	check_job(b, "threads", 3);
	/* one ends, one is new under the number of another: nothing is lost */
	_cleanup_free_ char *task = xasprintf("%s/proc/40/task/42/schedstat", b->root);
	_cleanup_free_ char *dir = xasprintf("%s/proc/40/task/42", b->root);
	assert_int_equal(unlink(task), 0);
	assert_int_equal(rmdir(dir), 0);
	put_of(b, 40, "task/40/schedstat", "1500000100 2001 31\n");
	put_of(b, 40, "task/41/schedstat", "5 1 1\n");
	take_reading(b);
	check_value(b, 0, "time_oncpu", 1500000100.0 + 2000 + 5 + 4000);
	check_value(b, 0, "time_waiting", 2001 + 20 + 1 + 40);
	check_value(b, 0, "timeslices", 31 + 2 + 1 + 4);
	/* back to one: the sum stays */
	p.threads = 1;
	put_process(b, &p);
	take_reading(b);
	check_value(b, 0, "time_waiting", 2001 + 20 + 1 + 40);
}

static void many_threads_take_turns(void **state)
{
	struct bench *b = *state;
	struct shown p[2] = {first, first};
	int with[2] = {0, 0};
	double v;

	for (int i = 0; i < 2; i++) {
		p[i].pid = 40 + i;
		p[i].threads = 600;
		put_process(b, &p[i]);
		put_of(b, p[i].pid, "task/40/schedstat", "1000 10 1\n");
	}
	set_list(b, 2, p);
	open_source(b, "process");
	take_reading(b);
	for (int round = 0; round < 12; round++) {
		take_reading(b);
		for (int i = 0; i < 2; i++)
			with[i] += value_of(b, i, "time_waiting", &v);
		/* what the process has in all is there each time */
		check_value(b, 0, "usertime", 120 * TICK);
	}
	for (int i = 0; i < 2; i++)
		if (with[i] < 3 || with[i] > 6)
			fail_msg("read %d of 12 times", with[i]);
}

/* ---- process: what goes wrong -----------------------------------------------------------------
 */

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

/* ---- process: those that end ------------------------------------------------------------------
 */

static void one_that_ends_between_readings(void **state)
{
	struct bench *b = *state;
	struct shown p[2] = {first, first};

	p[0].start = YOUNG;
	p[0].cutime = p[0].cminflt = 0;
	p[1].pid = 41;
	p[1].ppid = 40;
	p[1].start = YOUNG + 1;
	p[1].cutime = p[1].cminflt = 0;
	put_process(b, &p[0]);
	put_process(b, &p[1]);
	set_list(b, 2, p);
	open_source(b, "process");
	take_reading(b);
	check_job(b, "usertime", 240 * TICK);
	check_job(b, "processes", 2);
	/* its parent waited for it: 50 ticks more than when it was last seen */
	p[0].cutime = 170;
	p[0].cstime = 30;
	p[0].cminflt = 600;
	p[0].wchar = 30;
	put_process(b, &p[0]);
	remove_process(b, 41);
	set_list(b, 1, p);
	take_reading(b);
	assert_int_equal(b->set.row_count, 2);
	assert_int_equal(b->set.ended_count, 1);
	check_job(b, "usertime", 290 * TICK);
	check_job(b, "systemtime", 60 * TICK);
	check_job(b, "minflt", 1100);
	check_job(b, "wchar", 30);
	check_job(b, "processes", 1);
	check_job(b, "ended", 1);
	check_job(b, "started", 2);
	/* the parent ends, too; nobody in the job waits for it */
	remove_process(b, 40);
	set_list(b, 0, NULL);
	for (int round = 0; round < 3; round++) {
		take_reading(b);
		assert_int_equal(b->set.row_count, 1);
		check_job(b, "usertime", 290 * TICK);
		check_job(b, "minflt", 1100);
		check_job(b, "wchar", 30);
		check_job(b, "timeslices", 60);
		check_job(b, "processes", 0);
		check_job(b, "rss", 0);
		check_job(b, "ended", 2);
	}
}

static void the_past_before_we_came(void **state)
{
	struct bench *b = *state;
	struct shown p = first;

	put_process(b, &p);
	set_list(b, 1, &p);
	open_source(b, "process");
	take_reading(b);
	/* 1000 ticks of children from before are not the job's */
	check_job(b, "usertime", 120 * TICK);
	check_job(b, "minflt", 500);
	p.cutime += 480;
	p.cminflt += 60;
	put_process(b, &p);
	take_reading(b);
	check_job(b, "usertime", 600 * TICK);
	check_job(b, "minflt", 560);
	/* the process itself has its own time alone */
	check_value(b, 0, "usertime", 120 * TICK);
}

static void a_number_that_is_used_again(void **state)
{
	struct bench *b = *state;
	struct shown p = first;

	p.start = YOUNG;
	p.cutime = 0;
	put_process(b, &p);
	set_list(b, 1, &p);
	open_source(b, "process");
	take_reading(b);
	/* the list is behind: the files are of another process already */
	p.start = YOUNG + 500;
	p.utime = 7;
	put_process(b, &p);
	take_reading(b);
	assert_int_equal(b->set.row_count, 1);
	check_job(b, "usertime", 120 * TICK);
	set_list(b, 1, &p);
	take_reading(b);
	assert_int_equal(row_of(b, ENTITY_PROCESS, "40.900000000000"), -1);
	int row = row_of(b, ENTITY_PROCESS, "40.900000000500");
	check_value(b, row, "usertime", 7 * TICK);
	check_job(b, "usertime", 127 * TICK);
	check_job(b, "started", 2);
	check_job(b, "ended", 1);
}

/* ---- process_memory ---------------------------------------------------------------------------
 */

static void put_memory(const struct bench *b, int pid, int scale, const char *threads)
{
	_cleanup_free_ char *smaps = xasprintf(
		"55e0-7ffc ---p 00000000 00:00 0                          [rollup]\n"
		"Rss:                %d kB\nPss:                 %d kB\nPss_Dirty:  1 kB\n"
		"Pss_Anon:            %d kB\nPss_File:            %d kB\nPss_Shmem:   %d kB\n"
		"Shared_Clean:       77 kB\nShared_Dirty:   78 kB\nPrivate_Clean:   %d kB\n"
		"Private_Dirty:      %d kB\nReferenced:   79 kB\nAnonymous:   80 kB\nSwap: %d kB\n"
		"SwapPss:             %d kB\nLocked:          %d kB\n",
		1000 * scale, 100 * scale, 60 * scale, 30 * scale, 10 * scale, 20 * scale,
		50 * scale, 8 * scale, 4 * scale, 2 * scale);
	_cleanup_free_ char *status = xasprintf(
		"Name:\tprog\nState:\tS (sleeping)\nVmPeak:\t   %d kB\nVmSize:\t 5 kB\nVmHWM:\t %d kB\n"
		"VmRSS:\t 9 kB\nRssAnon:\t %d kB\nRssFile:\t %d kB\nRssShmem:\t %d kB\n"
		"Threads:\t%s\nvoluntary_ctxt_switches:\t%d\nnonvoluntary_ctxt_switches:\t%d\n",
		5000 * scale, 2000 * scale, 600 * scale, 300 * scale, 100 * scale, threads,
		11 * scale, 3 * scale);

	put_of(b, pid, "smaps_rollup", smaps);
	put_of(b, pid, "status", status);
	put_of(b, pid, "fd/0", "");
	put_of(b, pid, "fd/1", "");
	put_of(b, pid, "fd/12", "");
}

static void every_value_of_memory(void **state)
{
	struct bench *b = *state;
	struct shown p[2] = {first, first};

	p[1].pid = 41;
	for (int i = 0; i < 2; i++) {
		put_process(b, &p[i]);
		put_memory(b, 40 + i, 1 + i, "1");
	}
	set_list(b, 2, p);
	open_source(b, "process_memory");
	assert_int_equal(b->source->every, 30);
	for (int round = 0; round < 2; round++) {
		take_reading(b);
		assert_int_equal(b->set.row_count, 3);
		int row = row_of(b, ENTITY_PROCESS, "41.5000");
		check_value(b, row, "pss", 200 * 1024);
		check_value(b, row, "pss_anon", 120 * 1024);
		check_value(b, row, "pss_file", 60 * 1024);
		check_value(b, row, "pss_shmem", 20 * 1024);
		check_value(b, row, "uss", 140 * 1024);
		check_value(b, row, "swap", 16 * 1024);
		check_value(b, row, "swap_pss", 8 * 1024);
		check_value(b, row, "locked", 4 * 1024);
		check_value(b, row, "vm_peak", 10000 * 1024);
		check_value(b, row, "rss_peak", 4000 * 1024);
		check_value(b, row, "rss_anon", 1200 * 1024);
		check_value(b, row, "rss_file", 600 * 1024);
		check_value(b, row, "rss_shmem", 200 * 1024);
		check_value(b, row, "shared", 800 * 1024);
		check_value(b, row, "vol_ctxsw", 22);
		check_value(b, row, "invol_ctxsw", 6);
		check_value(b, row, "num_fds", 3);
		check_job(b, "pss", 300 * 1024);
		check_job(b, "uss", 210 * 1024);
		check_job(b, "num_fds", 6);
		/* of the largest, not the sum */
		check_job(b, "rss_peak", 4000 * 1024);
		check_job(b, "vol_ctxsw", 33);
	}
	/* one ends: levels fall, peaks and counters do not */
	remove_process(b, 41);
	set_list(b, 1, p);
	take_reading(b);
	assert_int_equal(b->set.row_count, 2);
	assert_int_equal(b->set.ended_count, 1);
	check_job(b, "pss", 100 * 1024);
	check_job(b, "rss_peak", 4000 * 1024);
	check_job(b, "vol_ctxsw", 33);
	set_list(b, 0, NULL);
	take_reading(b);
	check_job(b, "vol_ctxsw", 33);
	check_absent(b, 0, "pss");
}

static void switches_of_all_threads(void **state)
{
	struct bench *b = *state;

	put_process(b, &first);
	put_memory(b, 40, 1, "2");
	put_of(b, 40, "task/40/status",
	       "voluntary_ctxt_switches:\t11\nnonvoluntary_ctxt_switches:\t3\n");
	put_of(b, 40, "task/41/status",
	       "voluntary_ctxt_switches:\t100\nnonvoluntary_ctxt_switches:\t200\n");
	set_list(b, 1, &first);
	open_source(b, "process_memory");
	take_reading(b);
	check_value(b, 0, "vol_ctxsw", 111);
	check_value(b, 0, "invol_ctxsw", 203);
	check_job(b, "invol_ctxsw", 203);
}

static void memory_of_older_kernels(void **state)
{
	struct bench *b = *state;

	put_process(b, &first);
	put_of(b, 40, "status", "Name:\tx\nVmPeak:\t 10 kB\nVmHWM:\t 5 kB\nThreads:\t1\n");
	put_of(b, 40, "statm", "100 50 20 1 0 30 0\n");
	set_list(b, 1, &first);
	open_source(b, "process_memory");
	take_reading(b);
	check_value(b, 0, "shared", 20.0 * (double)sysconf(_SC_PAGESIZE));
	check_value(b, 0, "rss_peak", 5 * 1024);
	check_absent(b, 0, "pss");
	check_absent(b, 0, "vol_ctxsw");
	assert_contains(reason_of(b, "pss"), "4.14");
}

static void memory_of_another_process(void **state)
{
	struct bench *b = *state;
	struct shown p = first;

	put_process(b, &p);
	put_memory(b, 40, 1, "1");
	set_list(b, 1, &p);
	open_source(b, "process_memory");
	take_reading(b);
	assert_int_equal(b->set.row_count, 2);
	/* the number is used again, and the list does not know yet */
	p.start++;
	put_process(b, &p);
	take_reading(b);
	assert_int_equal(b->set.row_count, 1);
	set_list(b, 1, &p);
	take_reading(b);
	assert_true(row_of(b, ENTITY_PROCESS, "40.5001") >= 0);
	check_job(b, "vol_ctxsw", 22);
}

static void a_thread_of_the_kernel(void **state)
{
	struct bench *b = *state;

	put_process(b, &first);
	put_of(b, 40, "status",
	       "Name:\tkworker\nThreads:\t1\n"
	       "voluntary_ctxt_switches:\t11\nnonvoluntary_ctxt_switches:\t3\n");
	put_of(b, 40, "smaps_rollup", "");
	set_list(b, 1, &first);
	open_source(b, "process_memory");
	take_reading(b);
	check_value(b, 0, "vol_ctxsw", 11);
	check_absent(b, 0, "pss");
	assert_string_equal(reason_of(b, "pss"), "");
}

/* ---- live processes ---------------------------------------------------------------------------
 */

static void put_live(struct bench *b, size_t i, pid_t pid)
{
	_cleanup_free_ char *path = xasprintf("/proc/%d/stat", pid);
	struct proc_stat st;
	char text[2048];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof(text));

	close(fd);
	assert_true(n > 0 && proc_parse_stat(text, (size_t)n, &st));
	b->list[i] = (struct watched){
		.pid = pid, .ppid = getpid(), .starttime = st.f[STAT_STARTTIME], .rank = -1};
	b->watch.list = b->list;
	b->watch.count = i + 1;
}

/* A child that reads bytes until it reads an x; *gate is where they are written. */
static pid_t start_child(int *gate)
{
	int p[2];

	assert_int_equal(pipe2(p, O_CLOEXEC), 0);
	pid_t pid = fork();
	if (!pid) {
		char c = 0;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(p[1]);
		while (c != 'x' && read(p[0], &c, 1) == 1)
			;
		_exit(c == 'x' ? 0 : 1);
	}
	assert_true(pid > 0);
	close(p[0]);
	*gate = p[1];
	return pid;
}

static void a_process_of_ours(void **state)
{
	struct bench *b = *state;
	int gate;
	double before, v;

	b->ctx = (struct source_context){.root = "", .watch = &b->watch, .option = "no-exits"};
	pid_t pid = start_child(&gate);
	put_live(b, 0, pid);
	open_source(b, "process");
	/* it sleeps: after some readings nobody looks any more, and the values stay */
	for (int round = 0; round < 20; round++) {
		take_reading(b);
		assert_int_equal(b->set.row_count, 2);
		assert_true(value_of(b, 0, "minflt", &v));
		if (round)
			assert_true(v == before);
		before = v;
		assert_true(value_of(b, 0, "rss", &v) && v > 0);
		if (round > 1)
			check_value(b, 0, "cpu_percent", 0);
	}
	/* it wakes up and sleeps again: what it did is seen at once */
	check_value(b, 0, "syscr", 0);
	for (int round = 1; round < 20; round++) {
		double done = 0;

		assert_int_equal(write(gate, "-", 1), 1);
		for (int i = 0; i < 2000 && done != round; i++) {
			take_reading(b);
			assert_true(value_of(b, 0, "syscr", &done));
			usleep(1000);
		}
		check_value(b, 0, "syscr", round);
		for (int i = 0; i < 4; i++)
			take_reading(b);
		check_value(b, 0, "rchar", round);
	}
	/* a zombie keeps its account */
	assert_int_equal(write(gate, "x", 1), 1);
	siginfo_t info;
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	take_reading(b);
	assert_int_equal(b->set.row_count, 2);
	assert_true(value_of(b, 0, "minflt", &v) && v >= before);
	check_value(b, 0, "syscr", 20);
	check_value(b, 0, "rss", 0);
	before = v;
	/* waited for: gone, though the list still has it */
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	for (int round = 0; round < 3; round++) {
		take_reading(b);
		assert_int_equal(b->set.row_count, 1);
		check_job(b, "minflt", before);
		check_job(b, "syscr", 20);
		check_job(b, "processes", 0);
		b->watch.count = 0;
	}
	close(gate);
}

static void end_child(pid_t pid, int gate)
{
	int status;

	assert_int_equal(write(gate, "x", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	close(gate);
}

static void memory_of_ours(void **state)
{
	struct bench *b = *state;
	double before = 0, v;
	int gate;

	b->ctx = (struct source_context){.root = "", .watch = &b->watch};
	pid_t pid = start_child(&gate);
	put_live(b, 0, pid);
	open_source(b, "process_memory");
	for (int round = 0; round < 12; round++) {
		take_reading(b);
		assert_int_equal(b->set.row_count, 2);
		assert_true(value_of(b, 0, "pss", &v) && v > 0);
		assert_true(value_of(b, 0, "rss_peak", &v) && v > 0);
		assert_true(value_of(b, 0, "num_fds", &v) && v > 3);
	}
	/* each time that it is woken it gives up the CPU once more */
	assert_true(value_of(b, 0, "vol_ctxsw", &before));
	for (int round = 1; round < 20; round++) {
		assert_int_equal(write(gate, "-", 1), 1);
		for (int i = 0; i < 2000; i++) {
			take_reading(b);
			assert_true(value_of(b, 0, "vol_ctxsw", &v));
			if (v > before)
				break;
			usleep(1000);
		}
		assert_true(v > before);
		before = v;
	}
	end_child(pid, gate);
	b->watch.count = 0;
	take_reading(b);
	check_job(b, "vol_ctxsw", before);
}

static int count_open_fds(void)
{
	struct procdir d;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	assert_int_equal(procdir_open(&d, "", 0, &why), 0);
	int n = procdir_numbers(&d, getpid(), "fd", NULL, NULL);
	procdir_close(&d);
	return n;
}

static void descriptors_are_given_back(void **state)
{
	static const char *const which[] = {"process", "process_memory"};
	struct bench *b = *state;
	int gates[8];
	pid_t pids[8];

	b->ctx = (struct source_context){.root = "", .watch = &b->watch};
	int before = count_open_fds();
	for (size_t i = 0; i < 8; i++) {
		pids[i] = start_child(&gates[i]);
		put_live(b, i, pids[i]);
	}
	/* sorted, as a watch has them */
	for (size_t i = 1; i < 8; i++)
		assert_true(b->list[i].pid > b->list[i - 1].pid);
	for (size_t s = 0; s < 2; s++) {
		open_source(b, which[s]);
		take_reading(b);
		take_reading(b);
		assert_int_equal(b->set.row_count, 9);
		assert_true(count_open_fds() >= before + 8 + 8 * 2);
		/* half of the job is left: so are the descriptors */
		b->watch.count = 4;
		take_reading(b);
		b->watch.count = 8;
		close_source(b);
		assert_int_equal(count_open_fds(), before + 8);
	}
	for (size_t i = 0; i < 8; i++)
		end_child(pids[i], gates[i]);
}

/* In a process of its own, with so few descriptors that most files are opened each time. */
static int read_with_few(struct bench *b, rlim_t most)
{
	struct rlimit r = {most, most};
	double v;

	for (int s = 0; s < 2; s++) {
		open_source(b, s ? "process_memory" : "process");
		if (setrlimit(RLIMIT_NOFILE, &r) < 0)
			return 10;
		for (int round = 0; round < 12; round++) {
			sample_begin(&b->set);
			if (b->source->read(b->state, &b->set) != 0)
				return 11;
			/* the first reading may be short: that is how it is noticed */
			if (round > 8 && b->set.row_count != 31)
				return 100 + (int)b->set.row_count;
			if (round > 8 && !value_of(b, 3, s ? "rss_peak" : "minflt", &v))
				return 13;
		}
		close_source(b);
	}
	return 0;
}

static void few_descriptors(void **state)
{
	static const rlim_t limits[] = {60, 100, 150};
	struct bench *b = *state;
	int gates[30], status;
	pid_t pids[30];

	b->ctx = (struct source_context){.root = "", .watch = &b->watch};
	for (size_t i = 0; i < 30; i++) {
		pids[i] = start_child(&gates[i]);
		put_live(b, i, pids[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(read_with_few(b, limits[i]));
		assert_int_equal(waitpid(pid, &status, 0), pid);
		if (!WIFEXITED(status) || WEXITSTATUS(status))
			fail_msg("with %d descriptors: %x", (int)limits[i], (unsigned)status);
	}
	for (size_t i = 0; i < 30; i++)
		end_child(pids[i], gates[i]);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, bench_setup, bench_teardown)
	const struct CMUnitTest tests[] = {
		CASE(every_value_of_a_process),
		CASE(names_with_blanks_and_parentheses),
		CASE(a_difference_is_a_percentage),
		CASE(an_exec_keeps_the_row_and_changes_its_name),
		CASE(without_delay_accounting),
		CASE(threads_are_added_up),
		CASE(many_threads_take_turns),
		CASE(files_that_are_not_there),
		CASE(io_that_is_not_permitted),
		CASE(stat_cut_at_every_length),
		CASE(garbage_in_every_file),
		CASE(numbers_that_are_too_large),
		CASE(a_job_that_is_hidden),
		CASE(probes),
		CASE(one_that_ends_between_readings),
		CASE(the_past_before_we_came),
		CASE(a_number_that_is_used_again),
		CASE(every_value_of_memory),
		CASE(switches_of_all_threads),
		CASE(memory_of_older_kernels),
		CASE(memory_of_another_process),
		CASE(a_thread_of_the_kernel),
		CASE(a_process_of_ours),
		CASE(memory_of_ours),
		CASE(descriptors_are_given_back),
		CASE(few_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
