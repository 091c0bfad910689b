/*
 * The sources `process` and `process_memory` on processes of our own, for what only a live kernel
 * does.
 */
#include "source_process.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "sources/process/procdir.h"

static void put_live(struct bench *b, size_t i, pid_t pid)
{
	_cleanup_free_ char *path = xasprintf("/proc/%d/stat", pid);
	struct proc_stat st;
	char text[2048];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = read(fd, text, sizeof(text));

	close(fd);
	assert_true(n > 0 && proc_parse_stat(text, (size_t)n, &st));
	b->list[i] = (struct job_process){
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

/* Until it has come to the point where it waits: on the way there it has page faults. */
static void until_asleep(pid_t pid)
{
	_cleanup_free_ char *path = xasprintf("/proc/%d/stat", (int)pid);
	char line[512] = "";

	for (int i = 0; i < 10000 && !strstr(line, ") S "); i++) {
		FILE *f = fopen(path, "r");

		assert_non_null(f);
		assert_non_null(fgets(line, sizeof(line), f));
		fclose(f);
		usleep(1000);
	}
}

static void a_process_of_ours(void **state)
{
	struct bench *b = *state;
	int gate;
	double before, v;

	b->ctx = (struct source_context){.root = "", .watch = &b->watch, .option = "no-exits"};
	pid_t pid = start_child(&gate);
	until_asleep(pid);
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
	check_absent(b, 0, "rss");
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
	const struct CMUnitTest tests[] = {
		with_bench(a_process_of_ours),
		with_bench(memory_of_ours),
		with_bench(descriptors_are_given_back),
		with_bench(few_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
