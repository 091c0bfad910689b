/*
 * Marks regions in the ways that a test asks for, one after the other:
 *
 *     marker ACTION [ARGUMENT]...
 *
 *     begin NAME | end | point NAME    marks
 *     pairs NAME N                     N regions
 *     sleep MS                         waits
 *     spin MS                          uses the CPU
 *     threads N NAME COUNT             N threads mark COUNT regions each, all of the name
 *     fork                             the child goes on with the rest; its parent waits for it and
 * ends both                             the child and then the parent go on with the rest exec the
 * rest in a program that this one executes kill                             SIGKILL long N a point
 * with a name of N bytes bytes                            a point whose name has bytes that are no
 * text guest                            fails unless errno and descriptors are as before a mark
 *     limit BYTES                      RLIMIT_FSIZE
 */
#include <plimsoll/mark.h>

#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>

static const char *name_of_all;
static int count_of_all;

static void *worker(void *unused)
{
	for (int i = 0; i < count_of_all; i++) {
		plimsoll_begin(name_of_all);
		plimsoll_begin("inner");
		plimsoll_end();
		plimsoll_end();
	}
	return unused;
}

static void run_threads(int n)
{
	pthread_t ids[64];

	for (int i = 0; i < n && i < 64; i++)
		pthread_create(&ids[i], NULL, worker, NULL);
	for (int i = 0; i < n && i < 64; i++)
		pthread_join(ids[i], NULL);
}

static void spin(long ms)
{
	uint64_t end = plimsoll_clock_(CLOCK_PROCESS_CPUTIME_ID) + (uint64_t)ms * 1000000;

	while (plimsoll_clock_(CLOCK_PROCESS_CPUTIME_ID) < end)
		;
}

static int count_descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (dir && readdir(dir))
		n++;
	if (dir)
		closedir(dir);
	return n;
}

static int check_guest(void)
{
	int before = count_descriptors();

	errno = 4711;
	plimsoll_mark("guest");
	return errno == 4711 && count_descriptors() == before ? 0 : 1;
}

static void long_name(int n)
{
	char *name = malloc((size_t)n + 1);

	memset(name, 'n', (size_t)n);
	name[n] = 0;
	plimsoll_mark(name);
	free(name);
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		const char *word = argv[i];

		if (!strcmp(word, "begin")) {
			plimsoll_begin(argv[++i]);
		} else if (!strcmp(word, "end")) {
			plimsoll_end();
		} else if (!strcmp(word, "point")) {
			plimsoll_mark(argv[++i]);
		} else if (!strcmp(word, "pairs")) {
			const char *name = argv[++i];

			for (int k = atoi(argv[++i]); k > 0; k--) {
				plimsoll_begin(name);
				plimsoll_end();
			}
		} else if (!strcmp(word, "sleep")) {
			usleep((useconds_t)atoi(argv[++i]) * 1000);
		} else if (!strcmp(word, "spin")) {
			spin(atol(argv[++i]));
		} else if (!strcmp(word, "threads")) {
			int n = atoi(argv[++i]);

			name_of_all = argv[++i];
			count_of_all = atoi(argv[++i]);
			run_threads(n);
		} else if (!strcmp(word, "fork")) {
			int status;

			if (fork())
				return wait(&status) < 0;
		} else if (!strcmp(word, "both")) {
			int status;

			if (fork())
				wait(&status);
		} else if (!strcmp(word, "exec")) {
			argv[i] = argv[0];
			execv("/proc/self/exe", argv + i);
			return 127;
		} else if (!strcmp(word, "kill")) {
			raise(SIGKILL);
		} else if (!strcmp(word, "long")) {
			long_name(atoi(argv[++i]));
		} else if (!strcmp(word, "bytes")) {
			plimsoll_mark("\x1b[31mred\xff\n");
		} else if (!strcmp(word, "guest")) {
			if (check_guest())
				return 1;
		} else if (!strcmp(word, "limit")) {
			struct rlimit limit;

			limit.rlim_cur = limit.rlim_max = (rlim_t)atol(argv[++i]);
			setrlimit(RLIMIT_FSIZE, &limit);
		} else {
			return 2;
		}
	}
	return 0;
}
