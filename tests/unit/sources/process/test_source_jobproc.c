/*
 * The source `jobproc` on trees that are written here: sums over processes, each once; what becomes
 * of the counters of those that end, are inherited from, move away or are followed by another of
 * the same number; files that may not be read, texts that are none. Real processes are in
 * test_cgroup_jobs_live.c.
 */
#include "cgroup_jobs.h"
#include "source.h"

#define J "oar/alice_1"

static struct list L;

static int teardown(void **state)
{
	stop();
	list_close(&L);
	return source_teardown(state);
}

static void members(const char *pids)
{
	group_put("cpuset", J, pids);
}

/* rchar is ten times wchar, and so on down the list, so that columns cannot be mistaken. */
static void process(int pid, int ppid, int64_t io, int64_t rss)
{
	char text[512], name[64];

	snprintf(name, sizeof(name), "proc/%d/io", pid);
	snprintf(text, sizeof(text),
		 "rchar: %lld\nwchar: %lld\nsyscr: %lld\nsyscw: %lld\nread_bytes: %lld\n"
		 "write_bytes: %lld\ncancelled_write_bytes: %lld\n",
		 (long long)io * 7, (long long)io * 6, (long long)io * 5, (long long)io * 4,
		 (long long)io * 3, (long long)io * 2, (long long)io);
	put(name, text);
	snprintf(name, sizeof(name), "proc/%d/status", pid);
	snprintf(text, sizeof(text),
		 "Name:\tprog\nState:\t%s\nTgid:\t%d\nPid:\t%d\nPPid:\t%d\nThreads:\t8\n%s",
		 rss ? "S (sleeping)" : "Z (zombie)", pid, pid, ppid, rss ? "VmSize:\t" : "");
	if (rss)
		snprintf(text + strlen(text), sizeof(text) - strlen(text),
			 "%lld kB\nVmRSS:\t%lld kB\nRssShmem:\t%lld kB\n", (long long)rss * 3,
			 (long long)rss, (long long)rss / 2);
	put(name, text);
}

static void gone(int pid)
{
	char name[64];

	snprintf(name, sizeof(name), "proc/%d", pid);
	drop(name);
}

static void begin_jobs(void)
{
	stop();
	list_open(&L);
	R.ctx.jobs = L.jobs;
	assert_int_equal(start("jobproc", NULL), 0);
	assert_int_equal(take(), 0);
}

static void next(void)
{
	assert_true(cgroup_jobs_update(L.jobs) >= 0);
	assert_int_equal(take(), 0);
	cgroup_jobs_forget(L.jobs);
}

/* What all columns of the counters say. */
static void check_io(int64_t io)
{
	check_values(ENTITY_JOB, "1", {"rchar", io * 7}, {"wchar", io * 6}, {"syscr", io * 5},
		     {"syscw", io * 4}, {"read_bytes", io * 3}, {"write_bytes", io * 2},
		     {"cancelled_write_bytes", io});
}

static void sums(void **state)
{
	(void)state;
	process(10, 1, 100, 1000);
	process(11, 10, 20, 500);
	process(12, 10, 3, 30);
	group_put("cpuset", J "/step", "12\n11\n"); /* one of a step's, and one in both */
	members("10\n11\n");
	begin_jobs();
	check_io(123);
	check_values(ENTITY_JOB, "1", {"VmRSS", 1530}, {"RssShmem", 765}, {"VmSize", 4590},
		     {"processes", 3});
	check_fact(ENTITY_JOB, "1", "user", "alice");
	assert_int_equal(unit_value(ENTITY_JOB, "1", "VmRSS"), 1530 * 1024);
}

/* Waited for by its parent in the job: the parent has it, and it is not counted twice. */
static void a_child_is_inherited_from(void **state)
{
	(void)state;
	process(10, 1, 100, 1000);
	process(11, 10, 20, 500);
	members("10\n11\n");
	begin_jobs();
	check_io(120);
	/* a zombie answers, and has no memory */
	process(11, 10, 25, 0);
	members("10\n");
	next();
	check_io(125);
	check_values(ENTITY_JOB, "1", {"VmRSS", 1000}, {"processes", 1});
	gone(11);
	process(10, 1, 130, 1000); /* 25 of the child's and 5 of its own */
	next();
	check_io(130);
	next();
	check_io(130);
}

/* The parent was read a moment before it waited: the same a reading later. */
static void a_child_is_inherited_from_late(void **state)
{
	(void)state;
	process(10, 1, 100, 1000);
	process(11, 10, 20, 500);
	members("10\n11\n");
	begin_jobs();
	gone(11);
	members("10\n");
	next();
	check_io(120);
	process(10, 1, 121, 1000);
	next();
	check_io(121);
	next();
	check_io(121);
}

/* Nobody in the job gets it: it stays in the sum, for good. */
static void a_child_that_nobody_inherits_from(void **state)
{
	(void)state;
	process(10, 1, 100, 1000);
	process(11, 10, 20, 500);
	process(12, 1, 7, 500);
	members("10\n11\n12\n");
	begin_jobs();
	check_io(127);
	gone(11);
	gone(12);
	members("10\n");
	for (int i = 0; i < 3; i++) {
		next();
		check_io(127);
	}
	/* what the parent does later is its own */
	process(10, 1, 150, 1000);
	next();
	check_io(177);
}

/* Child, parent and grandparent: two end at once, and the third has both. */
static void a_chain_ends_together(void **state)
{
	(void)state;
	process(10, 1, 100, 1000);
	process(11, 10, 20, 500);
	process(12, 11, 3, 500);
	members("10\n11\n12\n");
	begin_jobs();
	check_io(123);
	gone(11);
	gone(12);
	process(10, 1, 123, 1000);
	members("10\n");
	next();
	check_io(123);
	next();
	check_io(123);
}

static void one_moves_away(void **state)
{
	(void)state;
	process(10, 1, 100, 1000);
	process(11, 10, 20, 500);
	members("10\n11\n");
	begin_jobs();
	members("10\n");
	process(11, 10, 21, 500);
	next();
	check_io(121);
	check_values(ENTITY_JOB, "1", {"VmRSS", 1000}, {"processes", 1});
	/* what it does elsewhere is not the job's */
	process(11, 10, 90, 500);
	next();
	check_io(121);
}

static void the_end_of_a_job(void **state)
{
	(void)state;
	process(10, 1, 100, 1000);
	members("10\n");
	begin_jobs();
	gone(10);
	members("");
	next();
	check_io(100);
	check_values(ENTITY_JOB, "1", {"processes", 0}, {"VmRSS", 0});
	group_remove("cpuset", J);
	next();
	check_io(100);
	check_none(ENTITY_JOB, "1", "VmRSS");
	assert_int_equal(R.set.ended_count, 1);
	next();
	assert_int_equal(R.set.row_count, 0);
}

static void what_may_not_be_read(void **state)
{
	(void)state;
	if (getuid() != 0)
		skip_because("only root can take a file away from itself");
	process(10, 1, 100, 1000);
	process(11, 1, 100, 1000);
	mode("proc/11/io", 0);
	members("10\n11\n");
	become_user();
	stop();
	list_open(&L);
	R.ctx.jobs = L.jobs;
	int r = start("jobproc", NULL);
	if (r == 0)
		r = take();
	become_again();
	assert_int_equal(r, 0);
	check_none(ENTITY_JOB, "1", "rchar");
	assert_contains(absence("rchar"), "CAP_SYS_PTRACE");
	check_values(ENTITY_JOB, "1", {"VmRSS", 2000}, {"processes", 2});
}

static void hostile_texts(void **state)
{
	(void)state;
	process(10, 1, 100, 1000);
	put("proc/11/io", "rchar: 99999999999999999999\nwchar: -5\nsyscr:\nsyscw: 1x\n\n:::\n");
	put("proc/11/status",
	    "State:\t\nPPid:\t-1\nVmRSS:\tlots\nVmSize:\t18446744073709551615 kB\n");
	put("proc/12/io", "");
	put("proc/12/status", "");
	put_dir("proc/13/io");
	put_link("proc/14/io", "/dev/zero");
	put("proc/14/status", "PPid:\t14\n");
	members("10\n11\n12\n13\n14\n15\n");
	begin_jobs();
	assert_true(has_value(ENTITY_JOB, "1", "processes"));
	check_value(ENTITY_JOB, "1", "cancelled_write_bytes", 100);
	for (int i = 0; i < 3; i++)
		next();
	/* a counter that falls is not believed */
	process(10, 1, 50, 1000);
	next();
	check_value(ENTITY_JOB, "1", "cancelled_write_bytes", 100);
}

#define test(f) cmocka_unit_test_setup_teardown(f, source_setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(sums),
		test(a_child_is_inherited_from),
		test(a_child_is_inherited_from_late),
		test(a_child_that_nobody_inherits_from),
		test(a_chain_ends_together),
		test(one_moves_away),
		test(the_end_of_a_job),
		test(what_may_not_be_read),
		test(hostile_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
