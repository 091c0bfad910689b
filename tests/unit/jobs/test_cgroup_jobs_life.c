/*
 * The life of jobs on trees that are written here: empty groups that are waited with, groups that
 * come one after the other, ends of several kinds, the same id again; twins, hostile names, many
 * jobs at once, more events than the kernel keeps.
 */
#include "cgroup_jobs.h"

#include <limits.h>
#include <poll.h>
#include <pwd.h>

static struct list L;

static int teardown(void **state)
{
	list_close(&L);
	return scratch_teardown(state);
}

static bool readable(void)
{
	struct pollfd p = {.fd = cgroup_jobs_descriptor(L.jobs), .events = POLLIN};

	return poll(&p, 1, 0) == 1;
}

static void a_life(void **state)
{
	(void)state;

	put_dir("sys/fs/cgroup/cpuset");
	put_dir("sys/fs/cgroup/cpuacct");
	list_open(&L);
	assert_int_equal(cgroup_jobs_count(L.jobs), 0);
	/* inotify tells of what is made two levels below */
	group_put("cpuset", "oar/alice_1", "");
	assert_true(readable());
	assert_int_equal(cgroup_jobs_update(L.jobs), 1);
	assert_job(&L, "1", "oar", "alice", "/oar/alice_1", JOB_WAITING);
	assert_int_equal(job_of(&L, "1")->dirs[CGROUP_JOBS_CPUACCT], -1);
	uint64_t number = job_of(&L, "1")->number;
	/* another controller of it comes later */
	group_put("cpuacct", "oar/alice_1", "");
	put("sys/fs/cgroup/cpuacct/oar/alice_1/cpuacct.usage", "0\n");
	(void)cgroup_jobs_update(L.jobs);
	assert_true(job_of(&L, "1")->dirs[CGROUP_JOBS_CPUACCT] >= 0);
	assert_int_equal(job_of(&L, "1")->state, JOB_WAITING);
	/* its first process */
	group_put("cpuset", "oar/alice_1", "100\n");
	assert_int_equal(cgroup_jobs_update(L.jobs), 1);
	assert_int_equal(job_of(&L, "1")->state, JOB_RUNNING);
	assert_true(job_of(&L, "1")->begin_ns > 0);
	assert_int_equal(job_of(&L, "1")->number, number);
	assert_int_equal(cgroup_jobs_update(L.jobs), 0);
	/* for a moment nobody is in it */
	group_put("cpuset", "oar/alice_1", "");
	assert_int_equal(cgroup_jobs_update(L.jobs), 1);
	assert_int_equal(job_of(&L, "1")->state, JOB_RUNNING);
	assert_true(job_of(&L, "1")->empty);
	group_put("cpuset", "oar/alice_1", "101\n");
	assert_int_equal(cgroup_jobs_update(L.jobs), 0);
	assert_false(job_of(&L, "1")->empty);
	/* its groups go one after the other, and the first says that it is over */
	group_put("cpuset", "oar/alice_1", "");
	group_remove("cpuacct", "oar/alice_1");
	assert_true(cgroup_jobs_update(L.jobs) > 0);
	const struct job *job = job_of(&L, "1");
	assert_int_equal(job->state, JOB_ENDED);
	/* its directories can still be asked, even that which is gone */
	struct stat st;
	assert_int_equal(fstat(job->dirs[CGROUP_JOBS_CPUACCT], &st), 0);
	assert_int_equal(fstat(job->dirs[CGROUP_JOBS_MEMBERS], &st), 0);
	assert_ptr_equal(cgroup_jobs_by_number(L.jobs, number), job);
	cgroup_jobs_forget(L.jobs);
	assert_int_equal(cgroup_jobs_count(L.jobs), 0);
	assert_null(cgroup_jobs_by_number(L.jobs, number));
	/* what is left of it is not a job again */
	assert_int_equal(cgroup_jobs_update(L.jobs), 0);
	assert_int_equal(cgroup_jobs_count(L.jobs), 0);
	group_remove("cpuset", "oar/alice_1");
	assert_int_equal(cgroup_jobs_update(L.jobs), 0);
	/* the same id again is another job */
	group_put("cpuset", "oar/alice_1", "102\n");
	assert_true(cgroup_jobs_update(L.jobs) > 0);
	assert_int_equal(job_of(&L, "1")->state, JOB_RUNNING);
	assert_true(job_of(&L, "1")->number > number);
}

/* A short job ended before one of its directories was found: it is not a second job. */
static void a_hierarchy_that_is_found_late(void **state)
{
	(void)state;

	put_dir("sys/fs/cgroup/cpuacct");
	put_dir("sys/fs/cgroup/cpuset");
	list_open(&L);
	group_put("cpuacct", "oar/alice_3", "7\n");
	(void)cgroup_jobs_update(L.jobs);
	uint64_t number = job_of(&L, "3")->number;
	assert_int_equal(job_of(&L, "3")->state, JOB_RUNNING);
	group_put("cpuacct", "oar/alice_3", "");
	group_remove("cpuacct", "oar/alice_3");
	(void)cgroup_jobs_update(L.jobs);
	assert_int_equal(job_of(&L, "3")->state, JOB_ENDED);
	cgroup_jobs_forget(L.jobs);
	group_put("cpuset", "oar/alice_3", "");
	(void)cgroup_jobs_update(L.jobs);
	assert_int_equal(cgroup_jobs_count(L.jobs), 0);
	/* it gets a process: that is a new job */
	group_put("cpuset", "oar/alice_3", "8\n");
	(void)cgroup_jobs_update(L.jobs);
	assert_int_equal(job_of(&L, "3")->state, JOB_RUNNING);
	assert_true(job_of(&L, "3")->number > number);
	group_put("cpuset", "oar/alice_3", "");
	group_remove("cpuset", "oar/alice_3");
	(void)cgroup_jobs_update(L.jobs);
	cgroup_jobs_forget(L.jobs);
	/* a directory where the job had one before is a new job, too, before its first process */
	group_put("cpuset", "oar/alice_3", "");
	(void)cgroup_jobs_update(L.jobs);
	assert_int_equal(job_of(&L, "3")->state, JOB_WAITING);
}

/* A group that is left behind and used again, before and after its end was told. */
static void the_same_id_again(void **state)
{
	(void)state;

	group_put("freezer", "slurm/uid_0/job_9", "1\n");
	group_put("memory", "slurm/uid_0/job_9", "1\n");
	list_open(&L);
	uint64_t first = job_of(&L, "9")->number;
	group_put("memory", "slurm/uid_0/job_9", "");
	group_remove("freezer", "slurm/uid_0/job_9");
	assert_int_equal(cgroup_jobs_update(L.jobs), 1);
	assert_int_equal(job_of(&L, "9")->state, JOB_ENDED);
	/* the next step makes it anew while the end is not yet taken: it waits */
	group_put("freezer", "slurm/uid_0/job_9", "2\n");
	assert_int_equal(cgroup_jobs_update(L.jobs), 0);
	assert_int_equal(cgroup_jobs_count(L.jobs), 1);
	assert_int_equal(job_of(&L, "9")->number, first);
	cgroup_jobs_forget(L.jobs);
	assert_int_equal(cgroup_jobs_count(L.jobs), 0);
	assert_true(cgroup_jobs_update(L.jobs) > 0);
	const struct job *job = job_of(&L, "9");
	assert_int_equal(job->state, JOB_RUNNING);
	assert_true(job->number > first);
	/* with the group that had stayed */
	assert_true(job->dirs[CGROUP_JOBS_MEMORY] >= 0);
}

static void empty_for_long_is_an_end(void **state)
{
	(void)state;
	struct cgroup_jobs_options o = {.root = tree, .linger_ns = 50000000};

	group_put("cpuset", "oar/alice_1", "1\n");
	assert_int_equal(list_open_with(&L, &o), 0);
	assert_int_equal(cgroup_jobs_update(L.jobs), 2);
	uint64_t number = job_of(&L, "1")->number;
	group_put("cpuset", "oar/alice_1", "");
	assert_int_equal(cgroup_jobs_update(L.jobs), 1);
	assert_int_equal(job_of(&L, "1")->state, JOB_RUNNING);
	usleep(60000);
	assert_int_equal(cgroup_jobs_update(L.jobs), 1);
	assert_int_equal(job_of(&L, "1")->state, JOB_ENDED);
	cgroup_jobs_forget(L.jobs);
	assert_int_equal(cgroup_jobs_update(L.jobs), 0);
	assert_int_equal(cgroup_jobs_count(L.jobs), 0);
	/* it was not the end after all */
	group_put("cpuset", "oar/alice_1", "2\n");
	assert_true(cgroup_jobs_update(L.jobs) > 0);
	assert_int_equal(job_of(&L, "1")->state, JOB_RUNNING);
	assert_true(job_of(&L, "1")->number > number);
}

/* Groups that were used and are empty: of before us they have ended, of our time they have run. */
static void faster_than_we_look(void **state)
{
	(void)state;

	group_put("cpuacct", "oar/alice_1", "");
	put("sys/fs/cgroup/cpuacct/oar/alice_1/cpuacct.usage", "5000\n");
	list_open(&L);
	assert_int_equal(cgroup_jobs_count(L.jobs), 0);
	group_put("cpuacct", "oar/alice_2", "");
	put("sys/fs/cgroup/cpuacct/oar/alice_2/cpuacct.usage", "5000\n");
	assert_true(cgroup_jobs_update(L.jobs) > 0);
	assert_int_equal(cgroup_jobs_count(L.jobs), 1);
	assert_int_equal(job_of(&L, "2")->state, JOB_RUNNING);
	assert_true(job_of(&L, "2")->empty);
	/* one that never had a process is an end without a beginning */
	group_put("cpuacct", "oar/alice_3", "");
	assert_int_equal(cgroup_jobs_update(L.jobs), 1);
	group_remove("cpuacct", "oar/alice_3");
	assert_int_equal(cgroup_jobs_update(L.jobs), 1);
	assert_int_equal(job_of(&L, "3")->state, JOB_ENDED);
	assert_int_equal(job_of(&L, "3")->begin_ns, 0);
}

static void twins_are_told_apart(void **state)
{
	(void)state;

	group_put("cpuset", "oar/alice_12", "1\n");
	list_open(&L);
	group_put("cpuset", "oar/bob_12", "2\n");
	group_put("cpuset", "slurm_n1/uid_7/job_12", "3\n");
	group_put("cpuset", "slurm_n2/uid_7/job_12", "4\n");
	assert_true(cgroup_jobs_update(L.jobs) > 0);
	assert_int_equal(cgroup_jobs_count(L.jobs), 4);
	assert_string_equal(job_of(&L, "12")->user, "alice");
	assert_string_equal(job_of(&L, "12@bob")->user, "bob");
	/* two of one user have what else tells them apart, in whichever order they came */
	assert_non_null(cgroup_jobs_by_id(L.jobs, "12@7"));
	assert_true(cgroup_jobs_by_id(L.jobs, "12@slurm_n2") ||
		    cgroup_jobs_by_id(L.jobs, "12@slurm_n1") ||
		    cgroup_jobs_by_id(L.jobs, "12@7.2"));
	/* ids stay when the first one goes */
	group_remove("cpuset", "oar/alice_12");
	assert_true(cgroup_jobs_update(L.jobs) > 0);
	cgroup_jobs_forget(L.jobs);
	assert_string_equal(job_of(&L, "12@bob")->user, "bob");
	assert_null(cgroup_jobs_by_id(L.jobs, "12"));
}

/* ---- processes ------------------------------------------------------------------------------- */

struct visits {
	int pids[16];
	size_t count;
};

static void visit(void *user, pid_t pid)
{
	struct visits *v = user;

	assert_true(v->count < ARRAY_SIZE(v->pids));
	v->pids[v->count++] = pid;
}

static void each_process_once(void **state)
{
	(void)state;
	struct visits v = {0};
	static const int want[] = {3, 11, 12, 40};

	group_put("memory", "slurm/uid_0/job_1", "40\n\n-5\n99999999999\nx\n");
	group_put("memory", "slurm/uid_0/job_1/step_0/task_0", "12\n11\n");
	group_put("memory", "slurm/uid_0/job_1/step_0/task_1", "12\n0\n3\n");
	group_put("memory", "slurm/uid_0/job_1/step_0", "");
	list_open(&L);
	assert_int_equal(cgroup_jobs_visit_processes(L.jobs, job_of(&L, "1"), visit, &v), 4);
	assert_int_equal(v.count, 4);
	for (size_t i = 0; i < 4; i++)
		assert_int_equal(v.pids[i], want[i]);
	group_remove("memory", "slurm/uid_0/job_1");
	v.count = 0;
	assert_int_equal(cgroup_jobs_visit_processes(L.jobs, job_of(&L, "1"), visit, &v), -ENOENT);
	assert_int_equal(v.count, 0);
}

/* ---- what is hostile
 * -----------------------------------------------------------------------------
 */

static void hostile_names(void **state)
{
	(void)state;
	char longest[NAME_MAX + 1];
	static const char *const names[] = {"oar/new\nline_1",
					    "oar/\xff\xfe\x80_2",
					    "oar/_3",
					    "oar/x_-4",
					    "oar/x_99999999999999999999999999999999",
					    "oar/a b\t_5",
					    "slurm/uid_/job_6",
					    "slurm/uid_0/job_",
					    "oar/x_7\n",
					    "pbs_jobs.service/jobid/8;rm -rf"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		group_put("cpuset", names[i], "1\n");
	memset(longest, 'u', sizeof(longest));
	memcpy(longest + NAME_MAX - 3, "_44", 4);
	_cleanup_free_ char *deep = xasprintf("oar/%s", longest);
	group_put("cpuset", deep, "1\n");
	memset(longest, '1', NAME_MAX);
	longest[1] = '_';
	_cleanup_free_ char *digits = xasprintf("oar/%s", longest);
	group_put("cpuset", digits, "1\n");
	/* links are never followed, so that loops have no end to miss */
	put_link("sys/fs/cgroup/cpuset/oar/loop_9", ".");
	put_link("sys/fs/cgroup/cpuset/slurm/uid_5", "..");
	list_open(&L);
	assert_job(&L, "1", "oar", NULL, "/oar/new\\x0aline_1", JOB_RUNNING);
	assert_job(&L, "2", "oar", NULL, "/oar/\\xff\\xfe\\x80_2", JOB_RUNNING);
	assert_non_null(cgroup_jobs_by_id(L.jobs, "99999999999999999999999999999999"));
	assert_null(job_of(&L, "5")->user);
	assert_null(job_of(&L, "44")->user); /* a name of 252 bytes is no user's */
	static const char *const none[] = {"3", "4", "-4", "6", "7", "8", "9"};
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		if (cgroup_jobs_by_id(L.jobs, none[i]))
			fail_msg("there is a job %s", none[i]);
	assert_int_equal(cgroup_jobs_count(L.jobs), 5);
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	cgroup_jobs_shortcomings(L.jobs, &out);
	assert_contains(out.buf, "names: 1 group has a name without a valid job id");
}

static void a_root_in_a_loop(void **state)
{
	const char *loop = "/dev/loop";
	struct cgroup_jobs_options o = {.root = tree, .roots = &loop, .root_count = 1};

	(void)state;
	put_link("dev/loop", "loop");
	assert_int_equal(list_open_with(&L, &o), 0);
	assert_int_equal(cgroup_jobs_update(L.jobs), 0);
	assert_int_equal(cgroup_jobs_count(L.jobs), 0);
}

/* A tree deeper and wider than any manager's is searched within bounds. */
static void deep_trees(void **state)
{
	const char *top = "/sys/fs/cgroup/cpuset/deep";
	struct cgroup_jobs_options o = {.root = tree, .roots = &top, .root_count = 1};

	(void)state;
	group_put("cpuset", "deep/1a/2/3/4/5/6/x_7", "1\n");
	group_put("cpuset", "deep/1b/2/3/4/5/6/7/8/9/x_8", "1\n");
	assert_int_equal(list_open_with(&L, &o), 0);
	assert_int_equal(cgroup_jobs_update(L.jobs), 2);
	assert_non_null(cgroup_jobs_by_id(L.jobs, "7"));
	assert_null(cgroup_jobs_by_id(L.jobs, "8"));
}

/* ---- many ------------------------------------------------------------------------------------ */

#define MANY 1000

static void a_thousand_jobs(void **state)
{
	(void)state;
	static const char *const names[] = {"cpuset", "cpuacct"};

	put_dir("sys/fs/cgroup/cpuset/oar");
	put_dir("sys/fs/cgroup/cpuacct/oar");
	list_open(&L);
	for (int i = 0; i < MANY; i++)
		for (size_t h = 0; h < ARRAY_SIZE(names); h++) {
			_cleanup_free_ char *path = xasprintf("oar/u%d_%d", i % 7, 5000 + i);

			group_put(names[h], path, "1\n");
		}
	assert_int_equal(cgroup_jobs_update(L.jobs), 2 * MANY);
	assert_int_equal(cgroup_jobs_count(L.jobs), MANY);
	for (size_t i = 1; i < MANY; i++)
		assert_true(cgroup_jobs_at(L.jobs, i - 1)->number <
			    cgroup_jobs_at(L.jobs, i)->number);
	for (int i = 0; i < MANY; i++) {
		_cleanup_free_ char *id = xasprintf("%d", 5000 + i);
		struct job *job = job_of(&L, id);

		assert_int_equal(job->state, JOB_RUNNING);
		assert_true(job->dirs[CGROUP_JOBS_CPUACCT] >= 0);
		assert_ptr_equal(cgroup_jobs_by_number(L.jobs, job->number), job);
	}
	/* nine of ten go at once */
	for (int i = 0; i < MANY; i++)
		for (size_t h = 0; i % 10 && h < ARRAY_SIZE(names); h++) {
			_cleanup_free_ char *path = xasprintf("oar/u%d_%d", i % 7, 5000 + i);

			group_remove(names[h], path);
		}
	assert_int_equal(cgroup_jobs_update(L.jobs), MANY * 9 / 10);
	cgroup_jobs_forget(L.jobs);
	assert_int_equal(cgroup_jobs_count(L.jobs), MANY / 10);
	assert_non_null(cgroup_jobs_by_id(L.jobs, "5010"));
	assert_null(cgroup_jobs_by_id(L.jobs, "5011"));
	for (size_t i = 0; i < cgroup_jobs_count(L.jobs); i++)
		assert_int_equal(cgroup_jobs_at(L.jobs, i)->state, JOB_RUNNING);
}

/* More than inotify queues: all is listed again, and nothing is missed. */
static void events_are_lost(void **state)
{
	(void)state;
	_cleanup_free_ char *dir = xasprintf("%s/sys/fs/cgroup/cpuset/oar/churn", tree);
	_cleanup_free_ char *text = NULL;
	size_t n = 0;
	FILE *f = fopen("/proc/sys/fs/inotify/max_queued_events", "re");
	unsigned long max = 16384;

	if (f && getline(&text, &n, f) > 0)
		max = strtoul(text, NULL, 10);
	if (f)
		fclose(f);
	if (max > 100000)
		skip_because("the queue of inotify is too long here to be filled");
	put_dir("sys/fs/cgroup/cpuset/oar");
	list_open(&L);
	for (unsigned long i = 0; i < max / 2 + 10; i++) {
		assert_int_equal(mkdir(dir, 0700), 0);
		assert_int_equal(rmdir(dir), 0);
	}
	group_put("cpuset", "oar/alice_1", "1\n");
	group_put("cpuset", "slurm/uid_0/job_2", "1\n");
	assert_int_equal(cgroup_jobs_update(L.jobs), 4);
	assert_int_equal(cgroup_jobs_count(L.jobs), 2);
}

#define test(f) cmocka_unit_test_setup_teardown(f, tree_setup, teardown)

/* Processes say whose a job is where its path does not: root's do not count, and who comes later is
 * found later. A number in the path is given its name. */
static void owners(void **state)
{
	_cleanup_free_ char *dir = xasprintf("%s/proc/1002", tree);
	uid_t uid = geteuid() ? geteuid() : 65534;
	const struct passwd *pw = getpwuid(uid);
	_cleanup_free_ char *name = pw ? xstrdup(pw->pw_name) : xasprintf("%u", (unsigned)uid);
	_cleanup_free_ char *path = xasprintf("slurm/uid_%u/job_8", (unsigned)uid);

	(void)state;
	version2();
	put("proc/1001/stat", "");
	put("proc/1002/stat", "");
	group_put("", "system.slice/slurmstepd.scope/job_7", "");
	group_put("", "system.slice/slurmstepd.scope/job_7/step_0", "1001\n");
	group_put("", path, "1001\n");
	list_open(&L);
	if (!geteuid())
		assert_null(job_of(&L, "7")->owner);
	assert_string_equal(job_of(&L, "8")->owner, name);
	group_put("", "system.slice/slurmstepd.scope/job_7/step_0", "1001\n1002\n");
	assert_int_equal(chown(dir, uid, (gid_t)-1), 0);
	usleep(1100000);
	assert_true(cgroup_jobs_update(L.jobs) >= 0);
	assert_string_equal(job_of(&L, "7")->owner, name);
	list_close(&L);
	/* who has no name has a number */
	if (chown(dir, 3999999, (gid_t)-1) < 0)
		return;
	list_open(&L);
	assert_string_equal(job_of(&L, "7")->owner, "3999999");
	list_close(&L);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(a_life),
		test(a_hierarchy_that_is_found_late),
		test(the_same_id_again),
		test(empty_for_long_is_an_end),
		test(faster_than_we_look),
		test(twins_are_told_apart),
		test(owners),
		test(each_process_once),
		test(hostile_names),
		test(a_root_in_a_loop),
		test(deep_trees),
		test(a_thousand_jobs),
		test(events_are_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
