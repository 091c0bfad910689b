/* Living tasks beside those that ended, none twice: live, in a control group of the test's own. */
#include "exits.h"

static void *nothing(void *unused)
{
	return unused;
}

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
		 * either is of the last tick for one that runs */
		assert_true(s.oncpu_ns <= after + 20000000);
		assert_true(s.oncpu_ns + 20000000 + s.tasks * BEHIND_NS >= before);
		assert_true(s.oncpu_ns + 5000000 >= last);
		last = s.oncpu_ns > last ? s.oncpu_ns : last;
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

	burn_ms(20);
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
	/* an empty group is looked through every quarter of a second by now: it leaves before */
	usleep(700000);
	int pid = start(w->group, leader_leaves, &gate[0]);
	for (int i = 0; i < 1000; i++) {
		assert_int_equal(exits_living_of(living, w->job->number, &s, &alive), 0);
		if (s.tasks == 1 && s.oncpu_ns > 39000000)
			break;
		usleep(10000);
	}
	assert_int_equal(s.tasks, 1);
	assert_int_equal(alive, 1);
	total = group_number(w->group, "cpuacct.usage");
	assert_true(s.oncpu_ns <= total + 10000000);
	assert_int_equal(write(gate[1], "x", 1), 1);
	assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(exits_living_of(living, w->job->number, &s, &alive), 0);
	assert_int_equal(alive, 0);
	assert_int_equal(s.tasks, 2);
	total = group_number(w->group, "cpuacct.usage");
	assert_true(s.oncpu_ns <= total + 10000000 && s.oncpu_ns + 10000000 >= total);
	finish(pid);
	exits_living_close(living);
	close(gate[0]);
	close(gate[1]);
}

#define LIVE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE(living_and_ended_make_the_whole),
		LIVE(the_dead_are_not_among_the_living),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
