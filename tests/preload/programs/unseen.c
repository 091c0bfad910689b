/*
 * Threads that no pthread_create() of the program makes: `unseen WHAT MIB alone|waits [late]`.
 * late: not before they are gone again.
 */
#include <aio.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <time.h>

#include "host.h"

static char block[65536];

static void waits_for_a_child(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	wait_for(pid);
}

/* libc's threads for asynchronous I/O go when they had nothing to do for a second. */
static int by_aio(int mib)
{
	int fd = open("/dev/zero", O_RDONLY);
	struct aiocb cb = {.aio_fildes = fd, .aio_nbytes = sizeof(block), .aio_buf = block};
	const struct aiocb *list[] = {&cb};

	for (int i = 0; i < mib * 16; i++) {
		if (aio_read(&cb) != 0)
			return 1;
		while (aio_error(&cb) == EINPROGRESS)
			aio_suspend(list, 1, NULL);
		aio_return(&cb);
	}
	return 0;
}

static volatile int go_on, finished;

static int bare(void *arg)
{
	int fd = (int)syscall(SYS_openat, AT_FDCWD, "/dev/zero", O_RDONLY);

	for (long i = 0; i < (long)arg * 16; i++)
		syscall(SYS_read, fd, block, sizeof(block));
	finished = 1;
	while (!go_on)
		syscall(SYS_sched_yield);
	syscall(SYS_exit, 0);
	return 0;
}

static int by_clone(int mib)
{
	char *stack = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int r = clone(bare, stack + 65536,
		      CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD |
			      CLONE_SYSVSEM,
		      (void *)(long)mib);

	while (r > 0 && !finished)
		usleep(100);
	return r <= 0;
}

static void *nothing(void *arg)
{
	return arg;
}

/* What a thread gives back when it ends takes longer than the end itself. */
static void *uses_its_stack(void *arg)
{
	volatile char room[7 << 20];

	memset((void *)room, 1, sizeof(room));
	return room[4096] ? arg : NULL;
}

static int large_stacks(int count)
{
	pthread_t t;

	for (int i = 0; i < count; i++)
		if (pthread_create(&t, NULL, uses_its_stack, NULL) || pthread_join(t, NULL))
			return 124;
	printf("%d\n", count);
	return 11;
}

int main(int argc, char **argv)
{
	bool late = argc > 4;
	pthread_t t;

	if (argc < 4)
		return 125;
	if (!strcmp(argv[1], "stacks"))
		return large_stacks(atoi(argv[2]));
	if (!strcmp(argv[3], "waits"))
		waits_for_a_child();
	if (!strcmp(argv[3], "threads"))
		for (int i = 0; i < 3; i++)
			if (pthread_create(&t, NULL, nothing, NULL) || pthread_join(t, NULL))
				return 124;
	int r = !strcmp(argv[1], "aio") ? by_aio(atoi(argv[2])) : by_clone(atoi(argv[2]));
	if (late) {
		go_on = 1;
		usleep(!strcmp(argv[1], "aio") ? 1500000 : 100000);
	}
	printf("%d\n", r);
	return 11;
}
