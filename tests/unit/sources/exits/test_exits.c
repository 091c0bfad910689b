/*
 * Exit records by job, live: processes in control groups that the test makes. Needs root; as an
 * ordinary user the reason is given.
 */
#include "exits.h"

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
	print_message("%.3f of %.3f s, %.2f %%\n", (double)s.oncpu_ns * 1e-9, (double)total * 1e-9,
		      100.0 * (double)s.oncpu_ns / (double)total);
	assert_int_equal(s.processes, count + 2);
	assert_int_equal(s.tasks, count + 2);
	assert_int_equal(s.failed, 1);
	assert_int_equal(s.signalled, 1);
	/* the group counts from the moment of the move, the process from its fork: a little more */
	assert_true((double)s.oncpu_ns >= LEAST_SHARE * (double)total);
	assert_true((double)s.oncpu_ns <= 1.05 * (double)total);
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
	assert_true((double)s.oncpu_ns >= (LEAST_SHARE - 0.09) * (double)total);
	assert_true((double)s.oncpu_ns <= 1.05 * (double)total);
	assert_true(s.rss_peak >= size && s.rss_peak < 3 * size);
	assert_true(s.minflt >= 1 && s.minflt < 3 * size / 4096);
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
	assert_true(s.oncpu_ns > 30000000);
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
	assert_true(s.oncpu_ns >= 110000000);
	close(gate[0]);
	close(gate[1]);
}

/* ---- permission ----------------------------------------------------------------------------- */

static void without_permission_the_reason_is_given(void **state)
{
	struct exits_options o = {0};
	int status;

	(void)state;
	if (in_container())
		skip_because("no exit records in a container");
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
		cmocka_unit_test(without_permission_the_reason_is_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
