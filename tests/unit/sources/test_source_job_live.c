/*
 * The sources `job_tasks` and `job_counters` live: jobs are control groups that the test makes.
 */
#include "cgroups.h"
#include "source.h"

#include <pthread.h>
#include <sys/mount.h>
#include <sys/prctl.h>

#include "sources/exits/exits.h"

/* Of the test that runs. */
static struct cgroup_jobs *jobs;
static struct exits *exits;
static char *groups[3];
static int children[8], child_count;

static int setup(void **state)
{
	source_setup(state);
	R.ctx.root = "";
	return 0;
}

static int teardown(void **state)
{
	stop();
	for (; child_count; child_count--)
		if (kill(children[child_count - 1], SIGKILL) == 0)
			waitpid(children[child_count - 1], NULL, 0);
	exits_close(exits);
	exits = NULL;
	cgroup_jobs_close(jobs);
	jobs = NULL;
	for (size_t i = 0; i < ARRAY_SIZE(groups); i++) {
		group_remove(groups[i]);
		groups[i] = NULL;
	}
	return source_teardown(state);
}

/* Two jobs, 1 and 2; false where that cannot be. */
static bool make_jobs(const char *controller)
{
	jobs = group_jobs(&controller, 1);
	R.ctx.jobs = jobs;
	for (int i = 0; i < 2; i++)
		groups[i] = group_make(controller, i + 1);
	return groups[0] && groups[1];
}

static bool receive_exits(void)
{
	struct exits_options o = {.jobs = jobs};

	strbuf_reset(&R.why);
	R.ctx.exits = NULL;
	if (exits_open(&exits, &o, &R.why) < 0)
		return false;
	R.ctx.exits = exits;
	exits_lock(exits);
	assert_true(cgroup_jobs_update(jobs) >= 0);
	for (size_t i = 0; i < cgroup_jobs_count(jobs); i++)
		exits_adopt(exits, cgroup_jobs_at(jobs, i));
	exits_unlock(exits);
	return true;
}

static void next(void)
{
	if (exits)
		exits_lock(exits);
	assert_true(cgroup_jobs_update(jobs) >= 0);
	if (exits)
		exits_unlock(exits);
	assert_int_equal(take(), 0);
}

static int64_t of(const char *job, const char *metric)
{
	return raw_value(ENTITY_JOB, job, metric);
}

/* What a child does for each letter that it gets: f faults, b burns, t a thread burns, c a child
 * burns and ends. It answers each; q ends. */
#define PAGES 2000

__attribute__((no_sanitize("address"))) static void make_faults(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = page * PAGES;
	volatile char *p =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		_exit(3);
	(void)madvise((void *)p, size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < size; i += page)
		p[i] = 1;
	munmap((void *)p, size);
}

static void *burn_thread(void *unused)
{
	burn_ms(20);
	return unused;
}

static void do_letter(char c)
{
	pthread_t t;

	if (c == 'f')
		make_faults();
	if (c == 'b')
		burn_ms(20);
	if (c == 't' && pthread_create(&t, NULL, burn_thread, NULL) == 0)
		pthread_join(t, NULL);
	if (c == 'c') {
		int pid = fork();

		if (pid == 0) {
			make_faults();
			burn_ms(20);
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}

struct actor {
	int to, from, pid;
};

static struct actor actor_start(const char *group)
{
	int to[2], from[2];
	char c;

	assert_int_equal(pipe2(to, O_CLOEXEC), 0);
	assert_int_equal(pipe2(from, O_CLOEXEC), 0);
	int pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (group && !group_enter(group, getpid()))
			_exit(2);
		while (write(from[1], "x", 1) == 1 && read(to[0], &c, 1) == 1 && c != 'q')
			do_letter(c);
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	children[child_count++] = pid;
	assert_int_equal(read(from[0], &c, 1), 1);
	return (struct actor){to[1], from[0], pid};
}

static void act(const struct actor *a, const char *letters)
{
	for (char c; *letters; letters++) {
		assert_int_equal(write(a->to, letters, 1), 1);
		assert_int_equal(read(a->from, &c, 1), 1);
	}
}

static void actor_end(struct actor *a)
{
	assert_int_equal(write(a->to, "q", 1), 1);
	assert_int_equal(waitpid(a->pid, NULL, 0), a->pid);
	for (int i = 0; i < child_count; i++)
		if (children[i] == a->pid)
			children[i] = children[--child_count];
	close(a->to);
	close(a->from);
}

#define need_groups(made)                                                  \
	do {                                                               \
		if (!(made))                                               \
			skip_because("no control group can be made here"); \
	} while (0)
#define need_exits()                                                        \
	do {                                                                \
		if (!receive_exits()) {                                     \
			if (exits_must_work())                              \
				fail_msg("no exit records: %s", R.why.buf); \
			skip_because(NO_EXITS);                             \
		}                                                           \
	} while (0)

/* ---- job_tasks ------------------------------------------------------------------------------- */

static void tasks_that_ended(void **state)
{
	(void)state;
	need_groups(make_jobs("cpuacct"));
	need_exits();
	assert_int_equal(start("job_tasks", NULL), 0);
	struct actor a = actor_start(groups[0]), b = actor_start(groups[1]);
	act(&a, "cct");
	act(&b, "c");
	next();
	assert_int_equal(of("1", "tasks"), 3);
	assert_int_equal(of("1", "processes"), 2);
	assert_int_equal(of("2", "processes"), 1);
	assert_true(of("1", "cpu_run_virtual_total") >= 59000000);
	assert_true(of("2", "cpu_run_virtual_total") >= 19000000);
	assert_true(of("1", "ac_minflt") >= 2 * PAGES && of("1", "ac_minflt") < 3 * PAGES);
	assert_true(of("1", "ac_btime") <= time(NULL) && of("1", "ac_btime") > time(NULL) - 600);
	assert_true(of("1", "rss_peak") > 0);
	check_none(ENTITY_JOB, "1", "tasks_alive");
	assert_true(raw_value(ENTITY_NODE, "node", "records") >= 4);
	assert_int_equal(raw_value(ENTITY_NODE, "node", "lost"), 0);
	assert_true(has_value(ENTITY_NODE, "node", "cpu_run_virtual_total"));
	/* the job ends: its last row has everything, and then there is none */
	actor_end(&a);
	char *gone = groups[0];
	groups[0] = NULL;
	group_remove(gone);
	next();
	assert_int_equal(of("1", "processes"), 3);
	exits_lock(exits);
	exits_drop(exits, cgroup_jobs_by_id(jobs, "1")->number);
	cgroup_jobs_forget(jobs);
	cgroup_jobs_forget(jobs);
	exits_unlock(exits);
	next();
	assert_false(has_row(ENTITY_JOB, "1"));
	assert_true(has_row(ENTITY_JOB, "2"));
	actor_end(&b);
}

static void tasks_that_live(void **state)
{
	(void)state;
	need_groups(make_jobs("cpuacct"));
	need_exits();
	struct actor a = actor_start(groups[0]);
	act(&a, "bfc");
	exits_lock(exits);
	assert_true(cgroup_jobs_update(jobs) >= 0);
	exits_adopt(exits, cgroup_jobs_by_id(jobs, "1"));
	exits_unlock(exits);
	assert_int_equal(start("job_tasks", "living"), 0);
	next();
	assert_int_equal(of("1", "tasks_alive"), 1);
	int64_t cpu = of("1", "cpu_run_virtual_total");
	int64_t total = (int64_t)group_number(groups[0], "cpuacct.usage");
	assert_true(cpu >= 39000000 && cpu <= total + 10000000);
	assert_true(of("1", "ac_minflt") >= 2 * PAGES && of("1", "ac_minflt") < 3 * PAGES);
	act(&a, "b");
	next();
	assert_true(of("1", "cpu_run_virtual_total") >= cpu + 19000000);
	cpu = of("1", "cpu_run_virtual_total");
	actor_end(&a);
	next();
	assert_int_equal(of("1", "tasks_alive"), 0);
	assert_true(of("1", "cpu_run_virtual_total") >= cpu);
	assert_true(of("1", "cpu_run_virtual_total") < cpu + 10000000);
	assert_int_equal(of("1", "processes"), 2);
	assert_int_equal(start("job_tasks", "dead"), -EINVAL);
	assert_contains(R.why.buf, "job_tasks=living");
}

static void without_exit_records(void **state)
{
	(void)state;
	if (in_container())
		skip_because("no exit records in a container");
	R.ctx.jobs = jobs = group_jobs(NULL, 0);
	int r = start("job_tasks", NULL);
	if (geteuid() == 0) {
		assert_int_equal(r, -EINVAL);
		assert_contains(R.why.buf, "only plimsoll node");
	} else {
		assert_int_equal(r, -EPERM);
		assert_contains(R.why.buf, "CAP_NET_ADMIN");
		assert_int_equal(probe("job_tasks", NULL), -EPERM);
		assert_non_null(R.report.remedy);
	}
}

/* ---- job_counters ---------------------------------------------------------------------------- */

static double units(const char *job)
{
	return (double)of(job, "page_faults") / PAGES;
}

static void check_units(const char *job, double want)
{
	double got = units(job);

	/* what a fork and a thread cost is some hundreds of faults in all */
	if (!(got >= want && got < want + 0.9))
		fail_msg("%.3f units of faults in job %s, want %.0f", got, job, want);
}

static size_t open_events(void)
{
	size_t n = 0;

	for (int fd = 3; fd < 1024; fd++) {
		char path[64], target[64] = "";

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		if (readlink(path, target, sizeof(target) - 1) > 0)
			n += strstr(target, "perf_event") != NULL;
	}
	return n;
}

#define EVENTS "page_faults, context_switches,task_clock,cpu_migrations page_faults instructions"

static void count_jobs(const char *by)
{
	struct actor a = actor_start(groups[0]), b = actor_start(groups[1]);

	assert_true(cgroup_jobs_update(jobs) >= 0);
	if (start("job_counters", EVENTS) < 0) {
		actor_end(&a);
		actor_end(&b);
		skip_because("no perf events for this user");
	}
	assert_int_equal(R.set.metric_count, 6);
	next();
	check_fact(ENTITY_JOB, "1", "counted_by", by);
	check_units("1", 0);
	act(&a, "ffc");
	act(&b, "fb");
	next();
	check_units("1", 3);
	check_units("2", 1);
	assert_true(of("2", "task_clock") >= 19000000);
	assert_true(of("1", "running_percent") > 9000);
	actor_end(&a);
	next();
	check_units("1", 3);
	/* it ends, and what counted it is closed */
	size_t before = open_events();
	char *gone = groups[0];
	groups[0] = NULL;
	group_remove(gone);
	next();
	if (has_row(ENTITY_JOB, "1"))
		check_units("1", 3);
	cgroup_jobs_forget(jobs);
	next();
	assert_false(has_row(ENTITY_JOB, "1"));
	assert_true(open_events() < before);
	act(&b, "f");
	next();
	check_units("2", 2);
	actor_end(&b);
	stop();
	assert_int_equal(open_events(), 0);
}

static void counters_by_group(void **state)
{
	_cleanup_free_ char *version1 = group_mount("perf_event");

	(void)state;
	need_groups(make_jobs(version1 ? "perf_event" : "cgroup2"));
	count_jobs("control group");
}

/* Jobs of OAR have no perf_event group, as a rule. */
static void counters_by_process(void **state)
{
	(void)state;
	need_groups(make_jobs("cpuacct"));
	count_jobs("process");
}

static void names_that_are_none(void **state)
{
	(void)state;
	R.ctx.jobs = jobs = group_jobs(NULL, 0);
	assert_int_equal(start("job_counters", "no_such_event"), -ENOENT);
	assert_contains(R.why.buf, "no_such_event");
	assert_int_equal(start("job_counters", ",, ,"), -ENOENT);
	_cleanup_strbuf_ struct strbuf many = STRBUF_INIT;
	for (int i = 0; i < 70; i++)
		strbuf_addf(&many, "r%x,", 0x100 + i);
	assert_int_equal(start("job_counters", many.buf), -E2BIG);
	if (start("job_counters", "page_faults,no_such_event") == 0)
		assert_contains(absence("no_such_event"), "no_such_event");
	R.ctx.jobs = NULL;
	assert_int_equal(start("job_counters", NULL), -EINVAL);
}

#define LIVE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE(tasks_that_ended),  LIVE(tasks_that_live),     LIVE(without_exit_records),
		LIVE(counters_by_group), LIVE(counters_by_process), LIVE(names_that_are_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
