/*
 * Ends of a program in every order: buffered output, exit handlers, destructors, exit within exit.
 * `exits MODE`.
 */
#include "host.h"

static const char *mode;

static void first(void)
{
	printf("first handler\n");
}

static void second(void)
{
	printf("second handler\n");
	if (!strcmp(mode, "exit_in_handler"))
		exit(92);
	if (!strcmp(mode, "_exit_in_handler")) {
		fflush(stdout);
		_exit(93);
	}
	if (!strcmp(mode, "fork_in_handler")) {
		fflush(stdout);
		pid_t pid = fork();
		if (!pid)
			exit(4);
		printf("child %d\n", wait_for(pid));
	}
}

static void registered_late(void)
{
	printf("handler registered by a handler\n");
}

static void third(void)
{
	printf("third handler\n");
	atexit(registered_late);
}

static void with_status(int status, void *arg)
{
	printf("status %d argument %s\n", status, (char *)arg);
}

static pthread_t worker;
static volatile int released;

static void *wait_for_release(void *arg)
{
	while (!released)
		usleep(1000);
	return arg;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void join(void)
{
	double begin = seconds();

	released = 1;
#ifndef ALONE /* without libpthread, before glibc 2.34 */
	pthread_join(worker, NULL);
#endif
	printf("joined %s\n", seconds() - begin < 0.2 ? "at once" : "late");
	fflush(stdout);
}

static void quick(void)
{
	printf("quick handler\n");
	fflush(stdout);
}

__attribute__((constructor)) static void before_main(void)
{
	printf("constructor\n");
}

__attribute__((destructor)) static void after_main(void)
{
	printf("destructor\n");
	if (mode && !strcmp(mode, "_exit_in_destructor")) {
		fflush(stdout);
		_exit(94);
	}
}

/* More handlers than libc keeps without allocating. */
static void register_many(void)
{
	for (int i = 0; i < 40; i++)
		atexit(first);
}

int main(int argc, char **argv)
{
	mode = argc > 1 ? argv[1] : "";
	atexit(first);
	on_exit(with_status, "given");
	atexit(second);
	atexit(third);
	at_quick_exit(quick);
	if (!strcmp(mode, "many_handlers"))
		register_many();
	printf("this stays in the buffer until the end\n");
	if (!strcmp(mode, "return"))
		return 91;
	if (!strcmp(mode, "_exit"))
		_exit(95);
	if (!strcmp(mode, "_Exit"))
		_Exit(96);
	if (!strcmp(mode, "quick_join")) {
#ifndef ALONE
		pthread_create(&worker, NULL, wait_for_release, NULL);
#endif
		at_quick_exit(join);
		quick_exit(97);
	}
	if (!strcmp(mode, "quick_exit"))
		quick_exit(97);
	if (!strcmp(mode, "abort"))
		abort();
	if (!strcmp(mode, "closed"))
		fclose(stdout);
	if (!strcmp(mode, "fork_with_buffer")) {
		pid_t pid = fork(); /* both have the buffer, both write it */
		if (!pid)
			exit(3);
		wait_for(pid);
	}
	if (!strcmp(mode, "daemon")) {
		int r = daemon(1, 1);
		printf("daemon %d\n", r);
		fflush(stdout);
		_exit(0);
	}
	exit(98);
}
