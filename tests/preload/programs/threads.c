/*
 * Threads that end in every way, and what a program can notice about threads: return values,
 * clean-up handlers, destructors of thread-specific values, keys, dlerror. `threads MODE`.
 */
#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/resource.h>

#include "host.h"

static void cleanup(void *arg)
{
	printf("cleanup %s\n", (char *)arg);
}

static void join(const char *what, pthread_t t)
{
	void *ret = NULL;
	int r = pthread_join(t, &ret);

	printf("%s: join %d %s\n", what, r,
	       ret == PTHREAD_CANCELED ? "cancelled"
	       : ret                   ? "value"
				       : "nothing");
}

/* ---- cancellation ---------------------------------------------------------------------------- */

enum { WAIT, WAITPID, WAIT3, WAIT4, WAITID, KINDS };
static const char *const kinds[] = {"wait", "waitpid", "wait3", "wait4", "waitid"};
static pid_t child;
static volatile int waiting;

static void *waits(void *arg)
{
	struct rusage ru;
	siginfo_t info;
	int status;

	pthread_cleanup_push(cleanup, "of the waiting thread");
	waiting = 1;
	switch ((int)(long)arg) {
	case WAIT:
		wait(&status);
		break;
	case WAITPID:
		waitpid(child, &status, 0);
		break;
	case WAIT3:
		wait3(&status, 0, &ru);
		break;
	case WAIT4:
		wait4(child, &status, 0, &ru);
		break;
	default:
		waitid(P_PID, (id_t)child, &info, WEXITED);
	}
	pthread_cleanup_pop(0);
	return NULL;
}

static void *waits_asynchronously(void *arg)
{
	int old;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
	return waits(arg);
}

static void cancel_in_waits(void *(*routine)(void *))
{
	for (long i = 0; i < KINDS; i++) {
		pthread_t t;

		fflush(stdout);
		child = fork();
		if (!child)
			for (;;)
				pause();
		waiting = 0;
		pthread_create(&t, NULL, routine, (void *)i);
		while (!waiting)
			usleep(100);
		usleep(3000);
		pthread_cancel(t);
		join(kinds[i], t);
		kill(child, SIGTERM);
		printf("child %d\n", wait_for(child));
	}
}

static int mode_cancel_waits(char **argv)
{
	(void)argv;
	cancel_in_waits(waits);
	cancel_in_waits(waits_asynchronously);
	return 61;
}

/* Cancelled already when it begins to wait, with a child that is there to be taken. */
static void *waits_too_late(void *arg)
{
	int status = 4711;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
	while (!*(volatile int *)arg)
		usleep(100);
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
	waitpid(child, &status, 0);
	printf("not cancelled, status %x\n", status);
	return NULL;
}

static int mode_cancel_before(char **argv)
{
	volatile int cancelled = 0;
	pthread_t t;

	(void)argv;
	fflush(stdout);
	child = fork();
	if (!child)
		_exit(9);
	pthread_create(&t, NULL, waits_too_late, (void *)&cancelled);
	pthread_cancel(t);
	cancelled = 1;
	join("late", t);
	printf("child %d\n", wait_for(child));
	return 62;
}

static volatile unsigned long turns;

static void *loops_asynchronously(void *arg)
{
	int old;

	pthread_cleanup_push(cleanup, "of the loop");
	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
	for (;;)
		turns++;
	pthread_cleanup_pop(0);
	return arg;
}

static void *loops_with_tests(void *arg)
{
	pthread_cleanup_push(cleanup, "of the testing loop");
	for (;;) {
		turns++;
		pthread_testcancel();
	}
	pthread_cleanup_pop(0);
	return arg;
}

static int mode_cancel_loops(char **argv)
{
	void *(*routines[])(void *) = {loops_asynchronously, loops_with_tests};

	(void)argv;
	for (int i = 0; i < 20; i++) {
		pthread_t t;

		turns = 0;
		pthread_create(&t, NULL, routines[i % 2], NULL);
		while (i % 4 < 2 && !turns)
			usleep(100);
		pthread_cancel(t); /* half of them before they have begun */
		join("loop", t);
	}
	return 63;
}

/* ---- ends
 * ---------------------------------------------------------------------------------------- */

static void *returns_late(void *arg)
{
	usleep(20000);
	printf("the other thread goes on\n");
	return arg;
}

/* The first thread leaves; the status is 0 when the last one is gone. */
static int mode_exit_main(char **argv)
{
	pthread_t t;

	(void)argv;
	pthread_create(&t, NULL, returns_late, NULL);
	printf("the first thread leaves\n");
	pthread_exit(NULL);
}

/* Not before pthread_create() has returned in the first thread, whose state is looked at. */
static volatile int created;

static void *exits_process(void *arg)
{
	while (!created)
		usleep(100);
	exit((int)(long)arg);
}

static int mode_exit_thread(char **argv)
{
	pthread_t t;

	(void)argv;
	printf("still in the buffer\n");
	pthread_create(&t, NULL, exits_process, (void *)64);
	created = 1;
	pthread_join(t, NULL);
	return 1;
}

static void *leaves(void *arg)
{
	pthread_exit(arg);
}

static void *counts_up(void *arg)
{
	(*(volatile int *)arg)++;
	return NULL;
}

static int mode_ends(char **argv)
{
	volatile int done = 0;
	pthread_attr_t attr;
	pthread_t t;

	(void)argv;
	pthread_create(&t, NULL, leaves, (void *)7);
	join("pthread_exit", t);
	pthread_create(&t, NULL, leaves, NULL);
	join("pthread_exit", t);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	printf("detached %d\n", pthread_create(&t, &attr, counts_up, (void *)&done));
	while (!done)
		usleep(100);
	return 65;
}

/* ---- what a program can notice
 * ------------------------------------------------------------------- */

static pthread_key_t keys[3];

static void destructor(void *value)
{
	printf("destructor of %s\n", (char *)value);
}

/* One that sets its value again is called again, so often and no more. */
static void stubborn(void *value)
{
	printf("round %ld\n", (long)value);
	pthread_setspecific(keys[2], (char *)value + 1);
}

static void *uses_keys(void *arg)
{
	pthread_setspecific(keys[0], "the first key");
	pthread_setspecific(keys[1], "the second key");
	pthread_setspecific(keys[2], (void *)1);
	return arg;
}

static int mode_keys(char **argv)
{
	pthread_t t;

	(void)argv;
	pthread_key_create(&keys[0], destructor);
	pthread_create(&t, NULL, leaves, NULL);
	join("first", t);
	pthread_key_create(&keys[1], destructor);
	pthread_key_create(&keys[2], stubborn);
	pthread_create(&t, NULL, uses_keys, NULL);
	join("second", t);
	return 66;
}

static int all_keys(void)
{
	pthread_key_t key;
	int n = 0;

	while (pthread_key_create(&key, NULL) == 0)
		n++;
	return n;
}

/* All keys that the system promises, before there are threads. */
static int mode_all_keys(char **argv)
{
	pthread_t t;

	(void)argv;
	printf("keys %d of %d\n", all_keys(), PTHREAD_KEYS_MAX);
	printf("create %d\n", pthread_create(&t, NULL, leaves, NULL));
	join("thread", t);
	return 67;
}

/* And when there are. */
static int mode_keys_after_threads(char **argv)
{
	pthread_t t;

	(void)argv;
	pthread_create(&t, NULL, leaves, NULL);
	join("thread", t);
	printf("keys %d of %d\n", all_keys(), PTHREAD_KEYS_MAX);
	return 68;
}

/* The message of a failed dlopen waits until somebody asks for it. */
static int mode_dlerror(char **argv)
{
	pthread_t t;

	(void)argv;
	for (int i = 0; i < 2; i++) {
		void *none = dlopen("/no/such/library.so", RTLD_NOW);

		pthread_create(&t, NULL, leaves, NULL);
		pthread_join(t, NULL);
		pid_t pid = fork();
		if (!pid)
			quick_exit(1);
		wait_for(pid);
		const char *message = dlerror();
		printf("%s, %s\n", none ? "loaded" : "not loaded",
		       message ? message : "no message");
	}
	return 69;
}

static void *counts(void *arg)
{
	__atomic_fetch_add((int *)arg, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* Many at a time, more than one process may describe in full. */
static int mode_many(char **argv)
{
	enum { AT_ONCE = 200, ROUNDS = 10 };
	pthread_t t[AT_ONCE];
	int counter = 0, failed = 0;

	(void)argv;
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < AT_ONCE; i++)
			failed += pthread_create(&t[i], NULL, counts, &counter) != 0;
		for (int i = 0; i < AT_ONCE; i++)
			pthread_join(t[i], NULL);
	}
	printf("%d threads, %d failed\n", counter, failed);
	return 70;
}

static void *until_told(void *arg)
{
	while (!*(volatile int *)arg)
		usleep(100);
	return NULL;
}

/* A copy of a program with threads has one, may make others, and ends. */
static int mode_fork(char **argv)
{
	volatile int told = 0, done = 0;
	pthread_t t[3];

	(void)argv;
	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, until_told, (void *)&told);
	for (int i = 0; i < 3; i++) {
		fflush(stdout);
		pid_t pid = fork();
		if (!pid) {
			pthread_t own;

			if (i > 0) {
				pthread_create(&own, NULL, counts_up, (void *)&done);
				pthread_join(own, NULL);
			}
			if (i > 1)
				_exit(done + 10);
			exit(done + 10);
		}
		printf("copy %d\n", wait_for(pid));
	}
	told = 1;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return 71;
}

/* ---- ends of many at the end of the process
 * ------------------------------------------------------ */

enum { CROWD = 400 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all_here = PTHREAD_COND_INITIALIZER, may_leave = PTHREAD_COND_INITIALIZER;
static int here;
static bool leave_now;

static void *leaves_with_others(void *arg)
{
	pthread_mutex_lock(&lock);
	if (++here == CROWD)
		pthread_cond_signal(&all_here);
	while (!leave_now)
		pthread_cond_wait(&may_leave, &lock);
	pthread_mutex_unlock(&lock);
	return arg;
}

/* Detached threads, more than a process describes in full, that end at once. */
static void let_crowd_go(void)
{
	pthread_attr_t attr;
	pthread_t t;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 65536);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	for (int i = 0; i < CROWD; i++)
		if (pthread_create(&t, &attr, leaves_with_others, NULL) != 0)
			exit(98);
	pthread_mutex_lock(&lock);
	while (here < CROWD)
		pthread_cond_wait(&all_here, &lock);
	leave_now = true;
	pthread_cond_broadcast(&may_leave);
	pthread_mutex_unlock(&lock);
}

static int mode_crowd_exit(char **argv)
{
	(void)argv;
	let_crowd_go();
	return 72;
}

/* The last one of them ends the process. */
static int mode_crowd_main(char **argv)
{
	(void)argv;
	let_crowd_go();
	pthread_exit(NULL);
}

static int mode_crowd_handler(char **argv)
{
	(void)argv;
	atexit(let_crowd_go);
	return 73;
}

static void *tells_tid(void *arg)
{
	*(volatile int *)arg = gettid();
	while (leave_now)
		pause();
	return NULL;
}

/* A thread that is alive at the end has the tid of one that ended a while before. */
static int mode_tid_again(char **argv)
{
	volatile int first = 0, second = 0;
	pthread_t t;

	(void)argv;
	pthread_create(&t, NULL, tells_tid, (void *)&first);
	pthread_join(t, NULL);
	usleep(50000);
	FILE *f = fopen("/proc/sys/kernel/ns_last_pid", "w");
	if (!f || fprintf(f, "%d", first - 1) < 0 || fclose(f) != 0)
		return 1;
	leave_now = true;
	pthread_create(&t, NULL, tells_tid, (void *)&second);
	while (!second)
		usleep(100);
	printf("again %d\n", first == second);
	return 74;
}

static const struct mode modes[] = {
	{"crowd_exit", mode_crowd_exit},
	{"crowd_main", mode_crowd_main},
	{"crowd_handler", mode_crowd_handler},
	{"tid_again", mode_tid_again},
	{"cancel_waits", mode_cancel_waits},
	{"cancel_before", mode_cancel_before},
	{"cancel_loops", mode_cancel_loops},
	{"exit_main", mode_exit_main},
	{"exit_thread", mode_exit_thread},
	{"ends", mode_ends},
	{"keys", mode_keys},
	{"all_keys", mode_all_keys},
	{"keys_after_threads", mode_keys_after_threads},
	{"dlerror", mode_dlerror},
	{"many", mode_many},
	{"fork", mode_fork},
};
MAIN(modes)
