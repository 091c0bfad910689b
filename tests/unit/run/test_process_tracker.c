/* Following the processes of a run: what the kernel says of them comes by two ways. */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "plimsoll/record.h"
#include "run/process_tracker.h"

/* The linker puts these two before the function of that name: something happens each time that
 * the connector was read and statistics are about to be. */
int __real_taskstats_drain(struct taskstats_listener *t, task_exit_handler handler, void *user);
int __wrap_taskstats_drain(struct taskstats_listener *t, task_exit_handler handler, void *user);

static int in_between; /* so many processes begin and end there */

static void begin_and_end(void)
{
	int pid = fork();

	if (pid == 0)
		_exit(7);
	assert_true(pid > 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

int __wrap_taskstats_drain(struct taskstats_listener *t, task_exit_handler handler, void *user)
{
	for (; in_between; in_between--)
		begin_and_end();
	return __real_taskstats_drain(t, handler, user);
}

/* Frames of the ends of processes, and how many of them have statistics. */
static size_t count_exits(const struct record_writer *w, size_t *ret_stats)
{
	const unsigned char *p = (const unsigned char *)w->out.buf, *end = p + w->out.len;
	size_t count = 0;

	*ret_stats = 0;
	while (end - p >= PL_RECORD_HEADER) {
		if (pl_get_u16(p + 4) == PL_KEXIT) {
			count++;
			*ret_stats += (pl_get_u16(p + 6) & PL_F_TASKSTATS) != 0;
		}
		p += PL_RECORD_HEADER + pl_get_u32(p + 8);
	}
	return count;
}

static void drain_until(struct process_tracker *l, struct record_writer *w, uint64_t exits)
{
	/* the last event may come a moment after its process could be waited for */
	for (int i = 0; i < 1000 && (l->exits < exits || l->gone_count); i++) {
		(void)process_tracker_drain(l, w);
		usleep(5000);
	}
}

static void one_that_ends_between_two_looks(void **state)
{
	struct record_writer w = RECORD_WRITER_INIT;
	struct process_tracker l;
	size_t stats;

	(void)state;
	process_tracker_open(&l, true);
	if (!process_tracker_has_events(&l) || l.taskstats.fd < 0) {
		process_tracker_close(&l);
		if (exits_must_work())
			fail_msg("root is not told of the ends of processes");
		skip_because(NO_EXITS);
	}
	begin_and_end();
	in_between = 3;
	(void)process_tracker_drain(&l, &w);
	assert_int_equal(in_between, 0);
	drain_until(&l, &w, 4);
	assert_int_equal(count_exits(&w, &stats), 4);
	assert_int_equal(stats, 4);
	assert_int_equal(l.forks, 4);
	assert_false(l.lossy);
	record_writer_release(&w);
	process_tracker_close(&l);
}

/* The buffer is full when the command begins: the kernel drops its word of that. The command and
 * whoever it starts are known all the same. */
static void a_command_whose_begin_was_lost(void **state)
{
	struct record_writer w = RECORD_WRITER_INIT;
	struct process_tracker l;
	int go[2], small = 2048, large = 1 << 20;
	size_t stats;

	(void)state;
	assert_int_equal(pipe(go), 0);
	process_tracker_open(&l, true);
	if (!process_tracker_has_events(&l)) {
		process_tracker_close(&l);
		if (exits_must_work())
			fail_msg("root is not told of the ends of processes");
		skip_because(NO_EXITS);
	}
	assert_int_equal(setsockopt(l.cnproc.fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	for (int i = 0; i < 50; i++)
		begin_and_end();
	int pid = fork();
	if (pid == 0) {
		char c;

		close(go[1]);
		while (read(go[0], &c, 1) > 0)
			;
		if (fork() == 0)
			_exit(7);
		wait(NULL);
		_exit(8);
	}
	assert_int_equal(setsockopt(l.cnproc.fd, SOL_SOCKET, SO_RCVBUF, &large, sizeof(large)), 0);
	process_tracker_begin(&l, pid);
	assert_true(l.lossy);
	(void)process_tracker_drain(&l, &w);
	record_writer_release(&w);
	w = (struct record_writer)RECORD_WRITER_INIT;
	uint64_t before = l.exits;
	close(go[0]);
	close(go[1]);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	drain_until(&l, &w, before + 2);
	assert_int_equal(l.exits - before, 2);
	assert_int_equal(count_exits(&w, &stats), 2);
	record_writer_release(&w);
	process_tracker_close(&l);
}

static void *nothing(void *arg)
{
	return arg;
}

/* Statistics of some of its threads only are none of the process: they are too small. */
static void threads_whose_statistics_were_lost(void **state)
{
	struct record_writer w = RECORD_WRITER_INIT;
	struct process_tracker l;
	int small = 16384;
	size_t stats;

	(void)state;
	process_tracker_open(&l, true);
	if (!process_tracker_has_events(&l) || l.taskstats.fd < 0) {
		process_tracker_close(&l);
		if (exits_must_work())
			fail_msg("root is not told of the ends of processes");
		skip_because(NO_EXITS);
	}
	for (int lost = 0; lost < 2; lost++) {
		uint64_t before = l.exits;

		if (lost)
			assert_int_equal(setsockopt(l.taskstats.fd, SOL_SOCKET, SO_RCVBUF, &small,
						    sizeof(small)),
					 0);
		int pid = fork();
		if (pid == 0) {
			for (int i = 0; i < 200; i++) {
				pthread_t t;

				if (pthread_create(&t, NULL, nothing, NULL) == 0)
					pthread_join(t, NULL);
			}
			_exit(7);
		}
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		drain_until(&l, &w, before + 1);
		assert_int_equal(count_exits(&w, &stats), 1);
		assert_int_equal(stats, lost ? 0 : 1);
		record_writer_release(&w);
		w = (struct record_writer)RECORD_WRITER_INIT;
	}
	process_tracker_close(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_ends_between_two_looks),
		cmocka_unit_test(a_command_whose_begin_was_lost),
		cmocka_unit_test(threads_whose_statistics_were_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
