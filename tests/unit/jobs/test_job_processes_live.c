/* Finding processes on this machine: children that come and go, threads, and what it costs. */
#include "job_processes_tree.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

/* A child that does as it is told by bytes on a pipe, and ends with it. */
static int child_start(int *ret_pipe, void (*body)(int fd))
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	int pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "worker"); /* else it looks like another monitor */
		close(ends[1]);
		body(ends[0]);
		_exit(0);
	}
	close(ends[0]);
	*ret_pipe = ends[1];
	return pid;
}

static void wait_here(int fd)
{
	char c;

	while (read(fd, &c, 1) > 0)
		;
}

static void fork_on_demand(int fd)
{
	char c;
	int me = getpid();

	while (read(fd, &c, 1) > 0)
		if (fork() == 0) {
			prctl(PR_SET_PDEATHSIG, SIGKILL);
			/* it may have been killed before that */
			if (getppid() == me)
				pause();
			_exit(0);
		}
}

static bool wait_until(struct job_processes *w, size_t count)
{
	for (int i = 0; i < 500; i++) {
		assert_true(job_processes_update(w) >= 0);
		if (w->count == count)
			return true;
		usleep(10000);
	}
	return false;
}

static void live_children_come_and_go(void **state)
{
	struct job_processes w;
	int in, pid = child_start(&in, fork_on_demand), status;

	(void)state;
	open_watch(&w, (struct job_processes_options){.kind = JOB_PROCESSES_PIDS,
						      .root = "",
						      .pids = &pid,
						      .pid_count = 1,
						      .all_users = true});
	assert_int_equal(job_processes_update(&w), 1);
	assert_int_equal(job_processes_find(&w, pid)->ppid, getpid());
	assert_true(w.finder->live);
	for (int i = 0; i < 20; i++)
		assert_int_equal(write(in, "f", 1), 1);
	assert_true(wait_until(&w, 21));
	for (size_t i = 0; i < w.count; i++)
		assert_int_equal(w.list[i].main, w.list[i].pid == pid);
	int victim = w.list[0].pid == pid ? w.list[1].pid : w.list[0].pid;
	kill(victim, SIGKILL); /* is a zombie from now on: its parent does not wait */
	assert_true(wait_until(&w, 20));
	assert_null(job_processes_find(&w, victim));
	assert_false(job_processes_over(&w));
	kill(pid, SIGKILL);
	/* not reaped yet, and over nevertheless */
	for (int i = 0; i < 500 && !job_processes_over(&w); i++) {
		usleep(10000);
		job_processes_update(&w);
	}
	assert_true(job_processes_over(&w));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(wait_until(&w, 0));
	job_processes_close(&w);
	close(in);
}

static void *outlive(void *fd)
{
	wait_here(*(int *)fd);
	_exit(0);
}

static void end_first_thread(int fd)
{
	static int kept;
	pthread_t t;

	kept = fd;
	pthread_create(&t, NULL, outlive, &kept);
	pthread_exit(NULL);
}

static void live_first_thread_ends(void **state)
{
	struct job_processes w;
	int in, pid = child_start(&in, end_first_thread), status;

	(void)state;
	usleep(50000);
	open_watch(&w, (struct job_processes_options){.kind = JOB_PROCESSES_PIDS,
						      .root = "",
						      .pids = &pid,
						      .pid_count = 1,
						      .all_users = true});
	/* its state is that of a zombie */
	for (int i = 0; i < 5; i++) {
		assert_int_equal(job_processes_update(&w), 1);
		usleep(10000);
	}
	close(in);
	assert_true(wait_until(&w, 0));
	assert_true(job_processes_over(&w));
	waitpid(pid, &status, 0);
	job_processes_close(&w);
}

/* By numbers alone, threads and strangers included. */
static void live_numbers_and_threads(void **state)
{
	struct job_processes w;
	int in, pid = child_start(&in, fork_on_demand), other_in;
	int other = child_start(&other_in, fork_on_demand), status;

	(void)state;
	open_watch(&w, (struct job_processes_options){.kind = JOB_PROCESSES_PIDS,
						      .root = "",
						      .pids = &pid,
						      .pid_count = 1,
						      .all_users = true});
	for (int round = 0; round < 10; round++) {
		assert_int_equal(write(in, "f", 1), 1);
		assert_int_equal(write(other_in, "f", 1), 1);
		assert_true(wait_until(&w, (size_t)round + 2));
	}
	assert_null(job_processes_find(&w, other));
	for (size_t i = 0; i < w.count; i++)
		assert_true(w.list[i].pid == pid || w.list[i].ppid == pid);
	kill(pid, SIGKILL);
	kill(other, SIGKILL);
	waitpid(pid, &status, 0);
	waitpid(other, &status, 0);
	job_processes_close(&w);
	close(in);
	close(other_in);
}

static void live_costs_little_when_nothing_happens(void **state)
{
	struct job_processes w;
	int in, pid = child_start(&in, fork_on_demand), status;

	(void)state;
	open_watch(&w, (struct job_processes_options){.kind = JOB_PROCESSES_PIDS,
						      .root = "",
						      .pids = &pid,
						      .pid_count = 1,
						      .all_users = true});
	job_processes_update(&w);
	/* looks at strangers once: a second listing finds their directories unchanged */
	w.finder->listed_ns = 1;
	job_processes_update(&w);
	assert_true(w.finder->fresh_count == 0);
	size_t known = w.finder->procs.map.count;
	assert_true(known > 2);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	job_processes_close(&w);
	close(in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		on_this_machine(live_children_come_and_go),
		on_this_machine(live_first_thread_ends),
		on_this_machine(live_numbers_and_threads),
		on_this_machine(live_costs_little_when_nothing_happens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
