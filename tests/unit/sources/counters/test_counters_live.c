/*
 * The source `counters` live with the kernel's own events: a tree of processes makes a known number
 * of page faults, and each must be counted once.
 */
#include "counters.h"

#include <pthread.h>
#include <sys/wait.h>

#include "core/files/fs.h"
#include "core/system/procparse.h"

/* So many pages; the rest of what a process does is far less than a half. */
#define UNIT_FAULTS 4000

__attribute__((no_sanitize("address"))) static void make_faults(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = page * UNIT_FAULTS;
	volatile char *p =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		_exit(3);
	(void)madvise((void *)p, size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < size; i += page)
		p[i] = 1;
	munmap((void *)p, size);
}

/*
 * Actors are processes that do what the test sends down their pipe, a letter each: f a unit of
 * faults, t a thread makes one, w a thread that waits for letters on a pipe of its own; c makes a
 * child that is an actor, s one with a session of its own, d one whose parent ends at once; q ends.
 * Each is answered with a number, and an actor begins with its pid. They end with the test.
 */
#define ACTORS 12
static struct {
	int to[2], from[2], pid;
} actors[ACTORS];
static int actor_count;

static void answer(int number, int value)
{
	if (write(actors[number].from[1], &value, sizeof(value)) != sizeof(value))
		_exit(4);
}

static void *thread_faults(void *unused)
{
	(void)unused;
	make_faults();
	return NULL;
}

static void *waiting_thread(void *number)
{
	int n = (int)(intptr_t)number;
	char c;

	answer(n, 0);
	while (read(actors[n].to[0], &c, 1) == 1 && c == 'f') {
		make_faults();
		answer(n, 0);
	}
	return NULL;
}

static void actor(int number);

static void actor_letter(int number, char c)
{
	pthread_t t;
	char n;

	if (c == 'f')
		make_faults();
	if (c == 't' && pthread_create(&t, NULL, thread_faults, NULL) == 0)
		pthread_join(t, NULL);
	if (!strchr("csdw", c) || read(actors[number].to[0], &n, 1) != 1)
		return;
	if (c == 'w') {
		pthread_create(&t, NULL, waiting_thread, (void *)(intptr_t)n);
		return;
	}
	int child = fork();
	if (child == 0) {
		if (c == 's')
			setsid();
		if (c != 'd' || fork() == 0)
			actor(n);
		_exit(0);
	}
	if (c == 'd')
		waitpid(child, NULL, 0);
}

static void actor(int number)
{
	char c;

	answer(number, getpid());
	while (read(actors[number].to[0], &c, 1) == 1 && c != 'q') {
		actor_letter(number, c);
		answer(number, 0);
	}
	while (waitpid(-1, NULL, 0) > 0)
		;
	_exit(0);
}

static int hear(int number)
{
	int value = -1;

	assert_int_equal(read(actors[number].from[0], &value, sizeof(value)), sizeof(value));
	return value;
}

/* Letters, each done before the next. */
static void act(int number, const char *letters_to_do)
{
	for (; *letters_to_do; letters_to_do++) {
		assert_int_equal(write(actors[number].to[1], letters_to_do, 1), 1);
		hear(number);
	}
}

/* An actor makes another, or a thread that waits: its number. */
static int act_make(int number, char how)
{
	char command[2] = {how, (char)actor_count};

	assert_int_equal(write(actors[number].to[1], command, 2), 2);
	hear(number);
	actors[actor_count].pid = hear(actor_count);
	return actor_count++;
}

static void actor_quit(int number)
{
	int pid = actors[number].pid;

	assert_int_equal(write(actors[number].to[1], "q", 1), 1);
	/* until it is gone, whoever reaps it */
	for (int i = 0; i < 1000; i++) {
		_cleanup_free_ char *path = xasprintf("/proc/%d/stat", pid);
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
		struct proc_stat st;

		(void)waitpid(pid, NULL, WNOHANG);
		if (fs_read(AT_FDCWD, path, 4096, &text) < 0 ||
		    !proc_parse_stat(text.buf, text.len, &st) || st.f[STAT_STATE] == 'Z')
			return;
		usleep(10000);
	}
	fail_msg("actor %d does not end", number);
}

static void actors_make_pipes(void)
{
	actor_count = 0;
	for (int i = 0; i < ACTORS; i++) {
		assert_int_equal(pipe2(actors[i].to, O_CLOEXEC), 0);
		assert_int_equal(pipe2(actors[i].from, O_CLOEXEC), 0);
		actors[i].pid = 0;
	}
}

/* One that the test itself starts. */
static int actor_start(bool session)
{
	int number = actor_count++;
	int pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		/* what the test closes when it ends must be open nowhere else */
		for (int i = 0; i < ACTORS; i++) {
			close(actors[i].to[1]);
			close(actors[i].from[0]);
		}
		if (session)
			setsid();
		actor(number);
	}
	actors[number].pid = hear(number);
	return number;
}

static int live_setup(void **state)
{
	struct machine *m = xcalloc(1, sizeof(*m));

	m->ops = counters_kernel;
	m->ops.groups_dir = m->groups = xasprintf("%s/data/events", getenv("PL_SOURCE"));
	m->ctx = (struct source_context){.root = "", .watch = &m->watch};
	m->why = (struct strbuf)STRBUF_INIT;
	actors_make_pipes();
	*state = m;
	return 0;
}

static int live_teardown(void **state)
{
	machine_release(*state);
	for (int i = 0; i < ACTORS; i++) {
		close(actors[i].to[0]);
		close(actors[i].to[1]);
		close(actors[i].from[0]);
		close(actors[i].from[1]);
	}
	while (waitpid(-1, NULL, 0) > 0)
		;
	return 0;
}

/* The list of the job: these actors, as /proc has them now. */
static void live_list(struct machine *m, const char *numbers)
{
	m->watch.count = 0;
	for (; *numbers; numbers++) {
		int pid = actors[*numbers - '0'].pid;
		_cleanup_free_ char *path = xasprintf("/proc/%d/stat", pid);
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
		struct proc_stat st;

		assert_true(fs_read(AT_FDCWD, path, 4096, &text) >= 0);
		assert_true(proc_parse_stat(text.buf, text.len, &st));
		watch_add(&m->watch, pid, (int)st.f[STAT_PPID], st.f[STAT_STARTTIME]);
	}
}

static void live_read(struct machine *m)
{
	sample_begin(&m->set);
	assert_int_equal(counters_read(m->state, &m->set), 0);
}

static void expect_units(struct machine *m, double units)
{
	live_read(m);
	double got = value(m, "page_faults") / UNIT_FAULTS;

	/* what a fork and a thread cost is some hundreds of faults in all */
	if (!(got >= units && got < units + 0.9))
		fail_msg("%.3f units of faults, want %.0f", got, units);
}

static size_t live_attachments(const struct machine *m)
{
	const struct counters *c = m->state;
	size_t n = 0;

	for (size_t i = 0; i < c->cover.attachment_count; i++)
		n += c->cover.attachments[i].pid != 0;
	return n;
}

static bool live_open(struct machine *m)
{
	sample_init(&m->set, NULL, 0);
	m->ctx.option = "software_events";
	int r = counters_open(&m->ops, &m->ctx, &m->set, &m->state, &m->why);
	if (r < 0)
		print_message("%s\n", m->why.buf);
	return r == 0;
}

static void a_tree_of_processes_is_counted_once(void **state)
{
	struct machine *m = *state;

	int root = actor_start(false);
	int child = act_make(root, 'c');
	act_make(root, 'w'); /* 2: a thread of the root */
	act(root, "fff");
	act(child, "f");
	assert_int_equal(actor_count, 3);
	live_list(m, "01");
	if (!live_open(m))
		skip_because("no perf events for this user");
	expect_units(m, 0);
	assert_int_equal(live_attachments(m), 2);
	/* those that were there: the root, its waiting thread, the child */
	act(root, "f");
	act(2, "f");
	act(child, "ff");
	expect_units(m, 4);
	/* made later: a thread, a child, an orphan of the child, a leader of a session */
	act(root, "t");
	int late = act_make(root, 'c');
	int orphan = act_make(child, 'd');
	int leader = act_make(late, 's');
	assert_int_equal(leader, 5);
	act(late, "ff");
	act(orphan, "fff");
	act(leader, "f");
	live_list(m, "01345");
	expect_units(m, 11);
	assert_int_equal(live_attachments(m), 2);
	/* what ended stays counted, and its children with it */
	actor_quit(leader);
	actor_quit(late);
	int grandchild = act_make(orphan, 'c');
	act(grandchild, "f");
	live_list(m, "0146");
	expect_units(m, 12);
	/* one that was never in the list: it came and went between two readings */
	int brief = act_make(grandchild, 'c');
	act(brief, "f");
	actor_quit(brief);
	expect_units(m, 13);
	/* one that somebody else started gets descriptors of its own */
	int foreign = actor_start(true);
	act(foreign, "f");
	assert_int_equal(foreign, 8);
	live_list(m, "01468");
	expect_units(m, 13);
	assert_int_equal(live_attachments(m), 3);
	act(foreign, "f");
	act(grandchild, "f");
	expect_units(m, 15);
	/* the root ends, and then all */
	actor_quit(child);
	live_list(m, "0468");
	act(orphan, "f");
	expect_units(m, 16);
	actor_quit(grandchild);
	actor_quit(orphan);
	actor_quit(foreign);
	assert_int_equal(write(actors[2].to[1], "q", 1), 1);
	actor_quit(root);
	m->watch.count = 0;
	for (int i = 0; i < 4; i++)
		expect_units(m, 16);
	assert_int_equal(live_attachments(m), 0);
	assert_fact(m, "not_counted", "");
}

/* Children that are made while the parent is being attached, as fast as they can be. */
static void attaching_in_the_middle_of_forks(void **state)
{
	struct machine *m = *state;
	enum { CHILDREN = 40 };
	int gate[2];
	char c = 0;

	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	int root = fork();
	if (root == 0) {
		for (int i = 0; i < ACTORS; i++) {
			close(actors[i].to[1]);
			close(actors[i].from[0]);
		}
		close(gate[1]);
		for (int i = 0; i < CHILDREN; i++) {
			if (fork() == 0) {
				/* all make their faults once the gate is closed */
				(void)!read(gate[0], &c, 1);
				make_faults();
				_exit(0);
			}
			if (i == CHILDREN / 4)
				answer(0, getpid());
		}
		answer(0, 0);
		while (waitpid(-1, NULL, 0) > 0)
			;
		answer(0, 0);
		_exit(0);
	}
	close(gate[0]);
	assert_int_equal(hear(0), root);
	actors[0].pid = root;
	live_list(m, "0");
	bool works = live_open(m);
	if (works)
		live_read(m); /* a quarter of the children are there, the others come meanwhile */
	hear(0);
	close(gate[1]);
	hear(0);
	waitpid(root, NULL, 0);
	if (!works)
		skip_because("no perf events for this user");
	live_read(m);
	double units = value(m, "page_faults") / UNIT_FAULTS;
	/* a child that is made in the very moment may be missed, none is counted twice */
	print_message("%.2f of %d units\n", units, CHILDREN);
	assert_true(units >= CHILDREN - 2);
	/* forks of the root and the children's own: less than a tenth of a unit each */
	assert_true(units < CHILDREN * 1.1);
}

static char *own_cgroup(void)
{
	FILE *f = fopen("/proc/mounts", "re");
	char line[1024], path[512], type[64];
	char *made = NULL;

	while (f && !made && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s %511s %63s", path, type) == 2 && !strcmp(type, "cgroup2")) {
			made = xasprintf("%s/plimsoll-test-%d", path, (int)getpid());
			if (mkdir(made, 0755) < 0) {
				free(made);
				made = NULL;
			}
		}
	if (f)
		fclose(f);
	return made;
}

static void a_live_control_group(void **state)
{
	struct machine *m = *state;
	_cleanup_free_ char *group = own_cgroup();

	if (!group)
		skip_because("no control group of version 2 can be made here");
	int inside = actor_start(false), outside = actor_start(false);
	_cleanup_free_ char *procs = xasprintf("%s/cgroup.procs", group);
	_cleanup_free_ char *pid = xasprintf("%d\n", actors[inside].pid);
	int fd = open(procs, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0 && write(fd, pid, strlen(pid)) > 0 && close(fd) == 0);
	int child = act_make(inside, 'c');
	m->watch.groups = xcalloc(1, sizeof(*m->watch.groups));
	m->watch.group_count = 1;
	m->watch.groups[0].path = xstrdup(group);
	live_list(m, "0");
	bool works = live_open(m) && ((struct counters *)m->state)->cgroup;
	if (works) {
		expect_units(m, 0);
		act(inside, "f");
		act(child, "ff");
		act(outside, "fff");
		int late = act_make(child, 'd');
		act(late, "f");
		expect_units(m, 4);
		actor_quit(late);
		expect_units(m, 4);
		assert_fact(m, "counted_by", "control group");
		check_value(m, "running_percent", 100);
		assert_true(value(m, "task_clock") > 0);
	}
	actor_quit(child);
	actor_quit(inside);
	actor_quit(outside);
	/* the kernel is done with a member a moment after its end */
	for (int i = 0; i < 100 && rmdir(group) < 0; i++)
		usleep(10000);
	if (!works)
		skip_because("control groups are not counted here");
}

#define LIVE_TEST(f) cmocka_unit_test_setup_teardown(f, live_setup, live_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LIVE_TEST(a_tree_of_processes_is_counted_once),
		LIVE_TEST(attaching_in_the_middle_of_forks),
		LIVE_TEST(a_live_control_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
