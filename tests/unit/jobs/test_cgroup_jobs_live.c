/*
 * Jobs in real control groups of version 1, with real processes: their life as the list tells it,
 * and that what the sources say of them is what they did. For root, where the hierarchies are
 * mounted and may be written.
 */
#include "cgroup_jobs.h"
#include "source.h"

#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#define MEMORY (64u << 20)
#define WRITES 3000
#define CHUNK 4096

static const char *const hierarchies[] = {"cpuacct", "memory", "cpuset", "freezer", "pids"};
static struct list L;
static char name[64];    /* of the job's group below each hierarchy */
static pid_t workers[8]; /* that were not ended yet; 0: a free place */
static int id;

static void path_in(size_t h, char *buf, size_t size)
{
	snprintf(buf, size, "/sys/fs/cgroup/%s/%s", hierarchies[h], name);
}

static void write_to(const char *dir, const char *file, const char *text)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, file);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	if (write(fd, text, strlen(text)) != (ssize_t)strlen(text))
		fail_msg("cannot write '%s' to %s: %s", text, path, strerror(errno));
}

static void copy_down(const char *file)
{
	_cleanup_free_ char *from = xasprintf("/sys/fs/cgroup/cpuset/%s", file);
	_cleanup_free_ char *text = NULL;
	char dir[256];
	size_t n = 0;
	FILE *f = fopen(from, "re");

	assert_non_null(f);
	assert_true(getline(&text, &n, f) > 0);
	fclose(f);
	path_in(2, dir, sizeof(dir));
	for (char *p = dir + strlen("/sys/fs/cgroup/cpuset/"); (p = strchr(p, '/')); p++) {
		*p = 0;
		write_to(dir, file, text);
		*p = '/';
	}
	write_to(dir, file, text);
}

/* A job of a Slurm of our own in all five, so that nothing is shared with other tests that run at
 * the same time; false when that is not possible here. */
static bool make_groups(void)
{
	char dir[256];

	if (geteuid() != 0)
		return false;
	id = getpid();
	snprintf(name, sizeof(name), "slurm_unit%d/uid_0/job_%d", id, id);
	for (size_t h = 0; h < ARRAY_SIZE(hierarchies); h++) {
		path_in(h, dir, sizeof(dir));
		for (char *p = strstr(dir, "slurm_"); (p = strchr(p, '/')); p++) {
			*p = 0;
			if (mkdir(dir, 0755) < 0 && errno != EEXIST)
				return false;
			*p = '/';
		}
		if (mkdir(dir, 0755) < 0)
			return false;
	}
	copy_down("cpuset.cpus");
	copy_down("cpuset.mems");
	return true;
}

static void remove_groups(void)
{
	char dir[256];

	for (size_t h = 0; h < ARRAY_SIZE(hierarchies); h++) {
		path_in(h, dir, sizeof(dir));
		/* the last of its processes may still be on its way out */
		for (int i = 0; i < 100 && rmdir(dir) < 0 && errno == EBUSY; i++)
			usleep(20000);
		for (int level = 0; level < 2; level++) {
			*strrchr(dir, '/') = 0;
			(void)rmdir(dir);
		}
	}
}

static int setup(void **state)
{
	tree_setup(state);
	R.ctx = (struct source_context){.root = ""};
	R.why = (struct strbuf)STRBUF_INIT;
	R.report = (struct source_report)SOURCE_REPORT_INIT;
	name[0] = 0;
	return 0;
}

static int teardown(void **state)
{
	stop();
	list_close(&L);
	/* of a test that failed half-way */
	for (size_t i = 0; i < ARRAY_SIZE(workers); i++)
		if (workers[i]) {
			kill(workers[i], SIGKILL);
			waitpid(workers[i], NULL, 0);
			workers[i] = 0;
		}
	if (name[0])
		remove_groups();
	return source_teardown(state);
}

static void join(pid_t pid)
{
	_cleanup_free_ char *text = xasprintf("%d\n", (int)pid);
	char dir[256];

	for (size_t h = 0; h < ARRAY_SIZE(hierarchies); h++) {
		path_in(h, dir, sizeof(dir));
		write_to(dir, "cgroup.procs", text);
	}
}

static void burn(double seconds)
{
	volatile unsigned n = 0;

	while (cpu_seconds() < seconds)
		n++;
}

static void write_null(void)
{
	static char chunk[CHUNK];
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	for (int i = 0; i < WRITES; i++)
		if (write(fd, chunk, sizeof(chunk)) != sizeof(chunk))
			_exit(1);
}

/* A process of the job: begins when told, says when it is done, ends when told. */
struct worker {
	pid_t pid;
	int in, out;
};

static struct worker work(void (*what)(void))
{
	int to[2], from[2];
	char c;

	assert_int_equal(pipe(to), 0);
	assert_int_equal(pipe(from), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(to[1]);
		close(from[0]);
		if (read(to[0], &c, 1) == 1)
			what();
		if (write(from[1], "", 1) == 1 && read(to[0], &c, 1) < 0)
			_exit(1);
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	for (size_t i = 0; i < ARRAY_SIZE(workers); i++)
		if (!workers[i]) {
			workers[i] = pid;
			break;
		}
	join(pid);
	return (struct worker){pid, to[1], from[0]};
}

static void go(struct worker *w)
{
	char c;

	assert_int_equal(write(w->in, "", 1), 1);
	assert_int_equal(read(w->out, &c, 1), 1);
}

static void finish(struct worker *w)
{
	int status;

	/* workers that came later have a copy of the descriptor: closing it is not enough */
	assert_int_equal(write(w->in, "", 1), 1);
	close(w->in);
	assert_int_equal(waitpid(w->pid, &status, 0), w->pid);
	for (size_t i = 0; i < ARRAY_SIZE(workers); i++)
		if (workers[i] == w->pid)
			workers[i] = 0;
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	close(w->out);
}

/* The list from now on, without others' jobs. */
static void watch_it(const char *source)
{
	char text[16];
	const char *only = text;
	struct cgroup_jobs_options o = {.root = "", .only = &only, .only_count = 1};

	snprintf(text, sizeof(text), "%d", id);
	assert_int_equal(list_open_with(&L, &o), 0);
	assert_true(cgroup_jobs_update(L.jobs) >= 0);
	R.ctx.jobs = L.jobs;
	assert_int_equal(start(source, NULL), 0);
}

static struct job *it(void)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", id);
	return job_of(&L, text);
}

static int64_t value(const char *metric)
{
	return raw_value(ENTITY_JOB, it()->id, metric);
}

/* Waits for the list to say so, by its own descriptor. */
static void until(enum job_state state, bool empty)
{
	for (int i = 0; i < 200 && (it()->state != state || it()->empty != empty); i++) {
		struct pollfd p = {.fd = cgroup_jobs_descriptor(L.jobs), .events = POLLIN};

		assert_int_equal(poll(&p, 1, 20000), 1);
		assert_true(cgroup_jobs_update(L.jobs) >= 0);
	}
	assert_int_equal(it()->state, state);
	assert_int_equal(it()->empty, empty);
}

static void burn_and_fill(void)
{
	char *p = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memset(p, 1, MEMORY);
	burn(0.3);
}

static void what_they_used(void **state)
{
	(void)state;
	if (!make_groups())
		skip_because("no control groups of version 1 that may be written");
	watch_it("jobs");
	assert_int_equal(it()->state, JOB_WAITING);
	assert_int_equal(take(), 0);
	assert_int_equal(R.set.row_count, 0);
	struct worker w = work(burn_and_fill);
	until(JOB_RUNNING, false);
	assert_true(it()->begin_ns > 0);
	assert_ptr_equal(cgroup_jobs_of_process(L.jobs, w.pid), it());
	assert_null(cgroup_jobs_of_process(L.jobs, getpid()));
	assert_int_equal(take(), 0);
	int64_t before = value("cpu_usage");
	go(&w);
	assert_int_equal(take(), 0);
	int64_t used = value("cpu_usage") - before;
	/* the worker burns until its own clock says 0.3 s, part of it before it joined */
	assert_in_range(used, 250000, 600000);
	assert_in_range(value("memory_current"), MEMORY, MEMORY + (32 << 20));
	assert_in_range(value("memory_anon"), MEMORY * 9 / 10, MEMORY + (32 << 20));
	assert_true(value("memory_peak") >= value("memory_current"));
	assert_int_equal(value("pids_current"), 1);
	assert_true(value("page_faults") > 100);
	struct stat st;
	for (unsigned c = 0; c < CGROUP_JOBS_CONTROLLERS; c++)
		if (it()->dirs[c] >= 0) {
			assert_int_equal(fstat(it()->dirs[c], &st), 0);
			assert_int_equal(st.st_ino, it()->inodes[c]);
		}
	/* its last process goes, and the list tells of it without being asked */
	finish(&w);
	until(JOB_RUNNING, true);
	assert_int_equal(take(), 0);
	int64_t final = value("cpu_usage");
	assert_true(final >= used);
	uint64_t number = it()->number;
	remove_groups();
	until(JOB_ENDED, true);
	/* the kernel answers no more for it: the last values stand */
	assert_int_equal(take(), 0);
	assert_int_equal(value("cpu_usage"), final);
	assert_int_equal(R.set.ended_count, 1);
	cgroup_jobs_forget(L.jobs);
	assert_int_equal(cgroup_jobs_count(L.jobs), 0);
	assert_int_equal(take(), 0);
	assert_int_equal(R.set.row_count, 0);
	/* the same id again */
	assert_true(make_groups());
	w = work(burn_and_fill);
	for (int i = 0; i < 200 && !cgroup_jobs_count(L.jobs); i++) {
		struct pollfd p = {.fd = cgroup_jobs_descriptor(L.jobs), .events = POLLIN};

		assert_int_equal(poll(&p, 1, 20000), 1);
		assert_true(cgroup_jobs_update(L.jobs) >= 0);
	}
	until(JOB_RUNNING, false);
	assert_true(it()->number > number);
	assert_int_equal(take(), 0);
	assert_true(value("cpu_usage") < final);
	finish(&w);
}

/* A process with threads counts once, and neither children nor strangers get lost or doubled. */
static void child_and_self(void)
{
	pid_t pid = fork();

	if (!pid) {
		write_null();
		_exit(0);
	}
	(void)waitpid(pid, NULL, 0);
	write_null();
}

static void what_they_wrote(void **state)
{
	const int64_t one = (int64_t)WRITES * CHUNK;

	(void)state;
	if (!make_groups())
		skip_because("no control groups of version 1 that may be written");
	watch_it("jobproc");
	struct worker parent = work(child_and_self), other = work(write_null);
	until(JOB_RUNNING, false);
	assert_int_equal(take(), 0);
	int64_t before = value("wchar"), calls = value("syscw");
	assert_int_equal(value("processes"), 2);
	go(&parent);
	/* the child came and went between two readings: its parent has what it wrote */
	assert_int_equal(take(), 0);
	assert_in_range(value("wchar") - before, 2 * one, 2 * one + 4096);
	assert_in_range(value("syscw") - calls, 2 * WRITES, 2 * WRITES + 16);
	go(&other);
	assert_int_equal(take(), 0);
	assert_in_range(value("wchar") - before, 3 * one, 3 * one + 4096);
	assert_true(value("VmRSS") > 100 && value("VmSize") > value("VmRSS"));
	/* one ends, and is waited for by somebody outside of the job: us */
	finish(&other);
	assert_int_equal(take(), 0);
	assert_in_range(value("wchar") - before, 3 * one, 3 * one + 4096);
	assert_int_equal(value("processes"), 1);
	assert_int_equal(take(), 0);
	assert_in_range(value("wchar") - before, 3 * one, 3 * one + 4096);
	int64_t last = value("wchar");
	finish(&parent);
	until(JOB_RUNNING, true);
	remove_groups();
	until(JOB_ENDED, true);
	assert_int_equal(take(), 0);
	assert_int_equal(value("wchar"), last);
	assert_int_equal(value("processes"), 0);
	assert_int_equal(R.set.ended_count, 1);
}

/* A child that writes and stays until it is told to end. */
static void have_child(void)
{
	if (fork())
		return;
	signal(SIGTERM, SIG_DFL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	write_null();
	for (;;)
		pause();
}

static void reap(int number)
{
	(void)number;
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
}

static void child_that_is_waited_for(void)
{
	struct sigaction a = {.sa_handler = reap, .sa_flags = SA_RESTART};

	sigaction(SIGCHLD, &a, NULL);
	have_child();
}

static void child_that_nobody_waits_for(void)
{
	signal(SIGCHLD, SIG_IGN);
	have_child();
}

struct other {
	pid_t known, found;
};

static void find_other(void *user, pid_t pid)
{
	struct other *o = user;

	if (pid != o->known)
		o->found = pid;
}

/* What an ended child wrote is with its parent, or with nobody: once in the sum either way. */
static void what_ended_children_wrote(void **state)
{
	static void (*const kinds[])(void) = {child_that_is_waited_for,
					      child_that_nobody_waits_for};
	const int64_t one = (int64_t)WRITES * CHUNK;
	struct worker w[ARRAY_SIZE(kinds)];

	(void)state;
	if (!make_groups())
		skip_because("no control groups of version 1 that may be written");
	watch_it("jobproc");
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct other o = {.found = 0};

		w[i] = work(kinds[i]);
		o.known = w[i].pid;
		until(JOB_RUNNING, false);
		assert_int_equal(take(), 0);
		int64_t before = value("wchar");
		go(&w[i]);
		for (int k = 0; k < 1000 && (take() < 0 || value("wchar") - before < one); k++)
			usleep(10000);
		assert_in_range(value("wchar") - before, one, one + 4096);
		/* all but one of the workers are known, the last one found is the new child */
		assert_true(cgroup_jobs_visit_processes(L.jobs, it(), find_other, &o) > 1);
		assert_true(o.found > 0);
		assert_int_equal(kill(o.found, SIGTERM), 0);
		for (int k = 0; k < 1000 && kill(o.found, 0) == 0; k++)
			usleep(10000);
		for (int k = 0; k < 3; k++) {
			assert_int_equal(take(), 0);
			assert_in_range(value("wchar") - before, one, one + 4096);
		}
	}
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		finish(&w[i]);
}

/* In a mount namespace of its own, where the hierarchies are not mounted at first. 0 when the job
 * is found as soon as they are; else which step went wrong. */
static int found_when_mounted(void)
{
	struct cgroup_jobs_options o = {.root = ""};
	struct strbuf why = STRBUF_INIT;
	struct cgroup_jobs *jobs;
	char text[16];

	if (unshare(CLONE_NEWNS) < 0 || mount("", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return 1;
	for (size_t h = 0; h < ARRAY_SIZE(hierarchies); h++) {
		_cleanup_free_ char *dir = xasprintf("/sys/fs/cgroup/%s", hierarchies[h]);

		if (umount2(dir, MNT_DETACH) < 0)
			return 2;
	}
	snprintf(text, sizeof(text), "%d", id);
	if (cgroup_jobs_open(&jobs, &o, &why) < 0 || cgroup_jobs_update(jobs) < 0 ||
	    cgroup_jobs_by_id(jobs, text))
		return 3;
	for (size_t h = 0; h < ARRAY_SIZE(hierarchies); h++) {
		_cleanup_free_ char *dir = xasprintf("/sys/fs/cgroup/%s", hierarchies[h]);

		if (mount("cgroup", dir, "cgroup", 0, hierarchies[h]) < 0)
			return 4;
	}
	struct job *job = NULL;
	for (int i = 0; i < 200 && (!job || job->state != JOB_RUNNING); i++) {
		struct pollfd p = {.fd = cgroup_jobs_descriptor(jobs), .events = POLLIN};

		if (poll(&p, 1, 20000) != 1 || cgroup_jobs_update(jobs) < 0)
			return 5;
		job = cgroup_jobs_by_id(jobs, text);
	}
	if (!job || job->dirs[CGROUP_JOBS_MEMORY] < 0 || job->dirs[CGROUP_JOBS_CPUACCT] < 0)
		return 6;
	/* and then there is silence */
	struct pollfd p = {.fd = cgroup_jobs_descriptor(jobs), .events = POLLIN};
	for (int i = 0; i < 50 && poll(&p, 1, 100) == 1; i++)
		(void)cgroup_jobs_update(jobs);
	if (poll(&p, 1, 0) != 0)
		return 7;
	cgroup_jobs_close(jobs);
	strbuf_release(&why);
	return 0;
}

static void hierarchies_that_are_mounted_later(void **state)
{
	int status;

	(void)state;
	if (!make_groups())
		skip_because("no control groups of version 1 that may be written");
	struct worker w = work(write_null);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		_exit(found_when_mounted());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	if (WEXITSTATUS(status))
		fail_msg("step %d went wrong", WEXITSTATUS(status));
	go(&w);
	finish(&w);
}

#define test(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(what_they_used),
		test(what_they_wrote),
		test(what_ended_children_wrote),
		test(hierarchies_that_are_mounted_later),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
