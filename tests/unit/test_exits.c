/*
 * Exit records by job, live: processes in control groups that the test makes. Needs root; as an
 * ordinary user the reason is given.
 */
#include "groups.h"

#include <pthread.h>
#include <sys/prctl.h>

#include "sources/exits.h"
#include "sources/taskstats.h"

struct world {
	struct jobs *jobs;
	struct exits *exits;
	struct strbuf why;
	char *group;
	struct job *job;
};

static int setup_with(void **state, const char *controller, size_t buffer)
{
	struct world *w = xcalloc(1, sizeof(*w));
	struct exits_options o = {.buffer = buffer};

	w->why = (struct strbuf)STRBUF_INIT;
	w->jobs = o.jobs = group_jobs(&controller, 1);
	w->group = group_make(controller, 1);
	if (exits_open(&w->exits, &o, &w->why) < 0)
		w->exits = NULL;
	if (w->exits && w->group) {
		exits_lock(w->exits);
		(void)jobs_update(w->jobs);
		w->job = jobs_by_id(w->jobs, "1");
		assert_non_null(w->job);
		exits_adopt(w->exits, w->job);
		exits_unlock(w->exits);
	}
	*state = w;
	return 0;
}

static int setup(void **state)
{
	return setup_with(state, "cpuacct", 0);
}

static int setup_version2(void **state)
{
	return setup_with(state, "cgroup2", 0);
}

static int setup_tiny(void **state)
{
	return setup_with(state, "cpuacct", 65536);
}

static int children[16], child_count;

static int teardown(void **state)
{
	struct world *w = *state;

	/* of a test that failed */
	for (; child_count; child_count--)
		if (kill(children[child_count - 1], SIGKILL) == 0)
			waitpid(children[child_count - 1], NULL, 0);

	exits_close(w->exits);
	jobs_close(w->jobs);
	group_remove(w->group);
	strbuf_release(&w->why);
	free(w);
	return 0;
}

#define need_exits(w)                                                           \
	do {                                                                    \
		if (!(w)->exits && geteuid() == 0)                              \
			fail_msg("no exit records for root: %s", (w)->why.buf); \
		if (!(w)->exits)                                                \
			skip_because("exit records need CAP_NET_ADMIN");        \
		if (!(w)->group)                                                \
			skip_because("no control group can be made here");      \
	} while (0)

static struct exit_sums sums_of(struct world *w)
{
	struct exit_sums s;

	exits_sync(w->exits);
	assert_true(exits_of(w->exits, w->job->number, &s));
	return s;
}

/* A child that enters the group, if there is one, and then does its work. */
static int start(const char *group, void (*work)(void *), void *arg)
{
	int pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (group && !group_enter(group, getpid()))
			_exit(99);
		work(arg);
		_exit(0);
	}
	children[child_count++] = pid;
	return pid;
}

static int finish(int pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	for (int i = 0; i < child_count; i++)
		if (children[i] == pid)
			children[i] = children[--child_count];
	assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 99);
	return status;
}

/* ---- short processes ------------------------------------------------------------------------ */

static void burners(void *count)
{
	for (int i = 0; i < *(int *)count; i++) {
		int pid = fork();

		if (pid == 0) {
			burn_ms(80);
			_exit(i == 3 ? 3 : 0);
		}
		waitpid(pid, NULL, 0);
		if (i == 5) {
			pid = fork();
			if (pid == 0) {
				pause();
				_exit(0);
			}
			kill(pid, SIGKILL);
			waitpid(pid, NULL, 0);
		}
	}
}

static void short_processes_are_complete(void **state)
{
	struct world *w = *state;

	int count = getenv("PL_LONG") ? 60 : 12;

	need_exits(w);
	finish(start(w->group, burners, &count));
	struct exit_sums s = sums_of(w);
	uint64_t total = group_number(w->group, "cpuacct.usage");
	print_message("%.3f of %.3f s, %.2f %%\n", (double)s.cpu_ns * 1e-9, (double)total * 1e-9,
		      100.0 * (double)s.cpu_ns / (double)total);
	assert_int_equal(s.processes, count + 2);
	assert_int_equal(s.tasks, count + 2);
	assert_int_equal(s.failed, 1);
	assert_int_equal(s.signalled, 1);
	/* the group counts from the moment of the move, the process from its fork: a little more */
	assert_true((double)s.cpu_ns >= 0.99 * (double)total);
	assert_true((double)s.cpu_ns <= 1.05 * (double)total);
	assert_true(s.rss_peak > 100000 && s.rss_peak < 1 << 30);
	assert_true(s.begin_s + 600 > (uint64_t)time(NULL) && s.begin_s <= (uint64_t)time(NULL));
	struct exits_losses l;
	exits_losses(w->exits, &l);
	assert_true(l.lineage);
	assert_int_equal(l.taskstats + l.cnproc, 0);
	assert_int_equal(l.alive, 0);
}

/* ---- threads -------------------------------------------------------------------------------- */

static void *burn_thread(void *unused)
{
	(void)unused;
	burn_ms(50);
	return NULL;
}

static void eight_threads(void *size)
{
	pthread_t t[8];
	size_t n = *(size_t *)size;
	char *p = malloc(n);

	memset(p, 1, n);
	__asm__ volatile("" ::"r"(p) : "memory");
	for (int i = 0; i < 8; i++)
		pthread_create(&t[i], NULL, burn_thread, NULL);
	for (int i = 0; i < 8; i++)
		pthread_join(t[i], NULL);
}

static void threads_are_not_multiplied(void **state)
{
	struct world *w = *state;
	size_t size = 64 << 20;

	need_exits(w);
	finish(start(w->group, eight_threads, &size));
	struct exit_sums s = sums_of(w);
	uint64_t total = group_number(w->group, "cpuacct.usage");
	assert_int_equal(s.tasks, 9);
	assert_int_equal(s.processes, 1);
	assert_true((double)s.cpu_ns >= 0.98 * (double)total);
	assert_true((double)s.cpu_ns <= 1.05 * (double)total);
	assert_true(s.rss_peak >= size && s.rss_peak < 3 * size);
	assert_true(s.minor_faults >= 1 && s.minor_faults < 3 * size / 4096);
}

/* ---- moved in later ------------------------------------------------------------------------- */

static void wait_and_burn(void *fd)
{
	char c;

	(void)!read(*(int *)fd, &c, 1);
	burn_ms(30);
}

static void child_and_exec(void *fd)
{
	char c;

	(void)!read(*(int *)fd, &c, 1);
	int pid = fork();
	if (pid == 0) {
		burn_ms(30);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	execl("/bin/true", "true", NULL);
}

/* One that is moved in long after the job began, and ends at once: its child or program tells. */
static void a_process_that_is_moved_in_late(void **state)
{
	struct world *w = *state;
	int gate[2];

	need_exits(w);
	/* the first one makes the group old: it is looked through rarely then */
	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	int keeper = start(w->group, wait_and_burn, &gate[0]);
	usleep(700000);
	int inner[2];
	assert_int_equal(pipe2(inner, O_CLOEXEC), 0);
	int late = start(NULL, child_and_exec, &inner[0]);
	usleep(50000);
	assert_true(group_enter(w->group, late));
	assert_int_equal(write(inner[1], "x", 1), 1);
	finish(late);
	struct exit_sums s = sums_of(w);
	assert_int_equal(s.processes, 2);
	assert_true(s.cpu_ns > 30000000);
	/* one without a program or a child: seen when the group is looked through */
	late = start(NULL, wait_and_burn, &inner[0]);
	assert_true(group_enter(w->group, late));
	struct exits_losses l = {0};
	for (int i = 0; i < 1000 && l.alive < 2; i++) {
		usleep(10000);
		exits_losses(w->exits, &l);
	}
	assert_int_equal(l.alive, 2);
	assert_int_equal(write(inner[1], "x", 1), 1);
	finish(late);
	s = sums_of(w);
	assert_int_equal(s.processes, 3);
	assert_int_equal(write(gate[1], "x", 1), 1);
	finish(keeper);
	assert_int_equal(sums_of(w).processes, 4);
	for (int i = 0; i < 2; i++) {
		close(gate[i]);
		close(inner[i]);
	}
}

/* Groups of version 2 tell of a process that has ended but was not waited for. */
static void a_zombie_tells_its_group(void **state)
{
	struct world *w = *state;
	int gate[2];

	need_exits(w);
	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	int keeper = start(w->group, wait_and_burn, &gate[0]);
	usleep(700000);
	int late[5];
	for (int i = 0; i < 5; i++)
		late[i] = start(NULL, wait_and_burn, &gate[0]);
	exits_lock(w->exits); /* no look through the group meanwhile */
	for (int i = 0; i < 5; i++)
		assert_true(group_enter(w->group, late[i]));
	assert_int_equal(write(gate[1], "xxxxxx", 6), 6);
	siginfo_t info;
	for (int i = 0; i < 5; i++)
		assert_int_equal(waitid(P_PID, (id_t)late[i], &info, WEXITED | WNOWAIT), 0);
	exits_sync(w->exits);
	exits_unlock(w->exits);
	for (int i = 0; i < 5; i++)
		finish(late[i]);
	finish(keeper);
	assert_int_equal(sums_of(w).processes, 6);
	close(gate[0]);
	close(gate[1]);
}

/* ---- storms --------------------------------------------------------------------------------- */

struct storm {
	int threads, ready;
};

static void *nothing(void *unused)
{
	return unused;
}

static void thread_storm(void *arg)
{
	const struct storm *s = arg;
	pthread_t t[2];

	for (int i = 0; i < s->threads / 2; i++) {
		for (int k = 0; k < 2; k++)
			if (pthread_create(&t[k], NULL, nothing, NULL))
				_exit(98);
		for (int k = 0; k < 2; k++)
			pthread_join(t[k], NULL);
	}
}

static void twenty_thousand_threads(void **state)
{
	struct world *w = *state;
	struct storm s = {.threads = 20000};
	struct exits_losses l;

	need_exits(w);
	assert_int_equal(finish(start(w->group, thread_storm, &s)), 0);
	struct exit_sums sums = sums_of(w);
	exits_losses(w->exits, &l);
	assert_int_equal(sums.tasks, 20001);
	assert_int_equal(sums.processes, 1);
	assert_int_equal(l.taskstats, 0);
	assert_int_equal(l.cnproc, 0);
}

static void many_processes(void *unused)
{
	(void)unused;
	for (int i = 0; i < 3000; i++) {
		int pid = fork();

		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
}

/* With a buffer that is much too small the kernel says so, and what is left is still right. */
static void losses_are_counted(void **state)
{
	struct world *w = *state;
	struct exits_losses l;
	struct exit_sums s;

	need_exits(w);
	/* nobody receives while they end */
	exits_lock(w->exits);
	finish(start(w->group, many_processes, NULL));
	exits_unlock(w->exits);
	s = sums_of(w);
	exits_losses(w->exits, &l);
	assert_true(l.taskstats > 0);
	assert_true(l.cnproc > 0);
	assert_true(s.processes < 3001);
	assert_true(l.rescans > 0);
	assert_true(l.records > 0 && l.records < 3001);
	/* and it goes on: nothing of it is left behind as alive, later ones are found */
	uint64_t before = s.processes;
	finish(start(w->group, burners, &(int){2}));
	s = sums_of(w);
	assert_int_equal(s.processes, before + 3);
	for (int i = 0; i < 500; i++) {
		exits_losses(w->exits, &l);
		if (!l.alive)
			break;
		usleep(10000);
	}
	assert_int_equal(l.alive, 0);
}

/* ---- jobs that end, daemons that begin again ------------------------------------------------- */

static void wait_only(void *fd)
{
	char c;

	(void)!read(*(int *)fd, &c, 1);
}

/* What ends after its job was dropped is nobody's; what came before stays with the job until then.
 */
static void a_job_that_ends(void **state)
{
	struct world *w = *state;
	struct exit_sums s, before, after;
	int gate[2];

	need_exits(w);
	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	finish(start(w->group, eight_threads, &(size_t){4096}));
	int left = start(w->group, wait_only, &gate[0]);
	assert_int_equal(sums_of(w).processes, 1);
	exits_unattributed(w->exits, &before);
	exits_lock(w->exits);
	exits_drop(w->exits, w->job->number);
	exits_unlock(w->exits);
	assert_false(exits_of(w->exits, w->job->number, &s));
	assert_int_equal(s.tasks, 0);
	assert_int_equal(write(gate[1], "x", 1), 1);
	finish(left);
	exits_sync(w->exits);
	exits_unattributed(w->exits, &after);
	assert_true(after.processes > before.processes);
	struct exits_losses l;
	exits_losses(w->exits, &l);
	assert_int_equal(l.alive, 0);
	/* it goes on after all */
	exits_lock(w->exits);
	exits_adopt(w->exits, w->job);
	exits_unlock(w->exits);
	finish(start(w->group, eight_threads, &(size_t){4096}));
	assert_int_equal(sums_of(w).tasks, 9);
	close(gate[0]);
	close(gate[1]);
}

static void tree_that_waits(void *fd)
{
	int pid = fork();

	if (pid == 0) {
		burn_ms(60);
		wait_only(fd);
		_exit(0);
	}
	burn_ms(60);
	wait_only(fd);
	waitpid(pid, NULL, 0);
}

/* Processes that were there before us are found, with all that they used. */
static void a_daemon_that_begins_again(void **state)
{
	struct world *w = *state;
	struct exits_options o = {.jobs = w->jobs};
	struct exits_losses l;
	int gate[2];

	need_exits(w);
	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	int tree = start(w->group, tree_that_waits, &gate[0]);
	for (int i = 0; i < 1000 && group_number(w->group, "cpuacct.usage") < 110000000; i++)
		usleep(10000);
	exits_close(w->exits);
	assert_int_equal(exits_open(&w->exits, &o, &w->why), 0);
	exits_adopt(w->exits, w->job);
	exits_losses(w->exits, &l);
	assert_int_equal(l.alive, 2);
	assert_int_equal(write(gate[1], "xx", 2), 2);
	finish(tree);
	struct exit_sums s = sums_of(w);
	assert_int_equal(s.processes, 2);
	assert_true(s.cpu_ns >= 110000000);
	close(gate[0]);
	close(gate[1]);
}

/* ---- living ones ---------------------------------------------------------------------------- */

static void *churn_thread(void *until)
{
	while (!*(volatile bool *)until)
		burn_ms(1);
	return NULL;
}

/* Threads come and go all the time, and one stays; the pipe ends it. */
static void churn(void *fd)
{
	bool stop = false;
	pthread_t stays, t;

	fcntl(*(int *)fd, F_SETFL, O_NONBLOCK);
	pthread_create(&stays, NULL, churn_thread, &stop);
	for (char c; read(*(int *)fd, &c, 1) != 1;) {
		if (pthread_create(&t, NULL, nothing, NULL))
			_exit(98);
		pthread_join(t, NULL);
		int pid = fork();
		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
	stop = true;
	pthread_join(stays, NULL);
}

/* Never more than the group's own account, never less than before: no task is counted twice. */
static void living_and_ended_make_the_whole(void **state)
{
	struct world *w = *state;
	struct exits_living *living = NULL;
	struct exit_sums s;
	uint64_t alive, last = 0, rounds = 0;
	int gate[2];

	need_exits(w);
	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	assert_int_equal(exits_living_open(&living, w->exits, &w->why), 0);
	assert_int_equal(exits_living_of(living, 4711, &s, &alive), -ENOENT);
	int pid = start(w->group, churn, &gate[0]);
	for (int i = 0; i < 150; i++) {
		uint64_t before = group_number(w->group, "cpuacct.usage");
		assert_int_equal(exits_living_of(living, w->job->number, &s, &alive), 0);
		uint64_t after = group_number(w->group, "cpuacct.usage");

		/* what it used before it entered the group is not in the account of the group;
		 * either is of the last tick for one that runs; and behind its record a task has
		 * still to free what it had */
		assert_true(s.cpu_ns <= after + 20000000);
		assert_true(s.cpu_ns + 20000000 + s.tasks * 300000 >= before);
		assert_true(s.cpu_ns + 5000000 >= last);
		last = s.cpu_ns > last ? s.cpu_ns : last;
		rounds += alive >= 2;
		usleep(2000);
	}
	assert_true(rounds > 50);
	assert_int_equal(write(gate[1], "x", 1), 1);
	finish(pid);
	assert_int_equal(exits_living_of(living, w->job->number, &s, &alive), 0);
	assert_int_equal(alive, 0);
	struct exit_sums ended = sums_of(w);
	assert_memory_equal(&s, &ended, sizeof(s));
	exits_living_close(living);
	close(gate[0]);
	close(gate[1]);
}

/* A first thread that is gone, and a process that nobody has waited for, answer questions still. */
static void *leader_gone(void *fd)
{
	char c;

	burn_ms(20);
	(void)!read(*(int *)fd, &c, 1);
	_exit(0);
}

static void leader_leaves(void *fd)
{
	pthread_t t;

	burn_ms(100);
	pthread_create(&t, NULL, leader_gone, fd);
	pthread_exit(NULL);
}

static void the_dead_are_not_among_the_living(void **state)
{
	struct world *w = *state;
	struct exits_living *living = NULL;
	struct exit_sums s;
	uint64_t alive = 0, total;
	siginfo_t info;
	int gate[2];

	need_exits(w);
	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	assert_int_equal(exits_living_open(&living, w->exits, &w->why), 0);
	int pid = start(w->group, leader_leaves, &gate[0]);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(exits_living_of(living, w->job->number, &s, &alive), 0);
		if (s.tasks == 1 && s.cpu_ns > 119000000)
			break;
		usleep(10000);
	}
	assert_int_equal(s.tasks, 1);
	assert_int_equal(alive, 1);
	total = group_number(w->group, "cpuacct.usage");
	assert_true(s.cpu_ns <= total + 10000000);
	assert_int_equal(write(gate[1], "x", 1), 1);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(exits_living_of(living, w->job->number, &s, &alive), 0);
	assert_int_equal(alive, 0);
	assert_int_equal(s.tasks, 2);
	total = group_number(w->group, "cpuacct.usage");
	assert_true(s.cpu_ns <= total + 10000000 && s.cpu_ns + 10000000 >= total);
	finish(pid);
	exits_living_close(living);
	close(gate[0]);
	close(gate[1]);
}

/* ---- permission ----------------------------------------------------------------------------- */

static void without_permission_the_reason_is_given(void **state)
{
	struct exits_options o = {0};
	int status;

	(void)state;
	int pid = fork();
	if (pid == 0) {
		struct strbuf why = STRBUF_INIT;
		struct exits *e = NULL;

		if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
			_exit(2);
		int r = exits_open(&e, &o, &why);
		_exit(r == -EPERM && !e && strstr(why.buf, "CAP_NET_ADMIN") ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define LIVE(f, with) cmocka_unit_test_setup_teardown(f, with, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE(short_processes_are_complete, setup),
		LIVE(threads_are_not_multiplied, setup),
		LIVE(a_process_that_is_moved_in_late, setup),
		LIVE(a_zombie_tells_its_group, setup_version2),
		LIVE(twenty_thousand_threads, setup),
		LIVE(losses_are_counted, setup_tiny),
		LIVE(a_job_that_ends, setup),
		LIVE(a_daemon_that_begins_again, setup),
		LIVE(living_and_ended_make_the_whole, setup),
		LIVE(the_dead_are_not_among_the_living, setup),
		cmocka_unit_test(without_permission_the_reason_is_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
