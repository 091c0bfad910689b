/*
 * Arguments and environment:
 *
 *     arguments print ARGUMENT...      prints each one's bytes in hex
 *     arguments huge BYTES PROGRAM     executes PROGRAM with so many bytes of arguments
 *     arguments sum ARGUMENT...        prints number, size and a checksum of its arguments
 *     arguments overwrite TITLE        writes over the whole area of arguments and environment
 *     arguments clear PROGRAM ARG...   forks a child that executes PROGRAM with no environment
 *     arguments none PROGRAM           executes PROGRAM with no argument at all
 *     arguments exec PROGRAM ARG...    executes PROGRAM
 */
#include "host.h"

extern char **environ;

static int count;
static char **all;

static int mode_print(char **argv)
{
	for (; *argv; argv++) {
		for (const unsigned char *p = (unsigned char *)*argv; *p; p++)
			printf("%02x", *p);
		printf("\n");
	}
	return 101;
}

/* Arguments of all lengths with all bytes in them. */
static int mode_huge(char **argv)
{
	size_t size = strtoul(argv[0], NULL, 10), used = 0;
	char **args = calloc(size / 500 + 10, sizeof(*args));
	unsigned n = 0;

	args[n++] = argv[1];
	args[n++] = "sum";
	for (unsigned i = 0; used < size; i++) {
		size_t length = i % 5 == 4 ? 0 : 700 + i % 97 * 40;
		if (length > size - used)
			length = size - used;
		char *a = malloc(length + 1);
		for (size_t k = 0; k < length; k++)
			a[k] = (char)(1 + (k * 7 + i * 13) % 255);
		a[length] = 0;
		args[n++] = a;
		used += length + 1;
	}
	execv(argv[1], args);
	printf("errno %d\n", errno);
	return 126;
}

static int mode_sum(char **argv)
{
	unsigned long sum = 5381;
	size_t size = 0;

	for (int i = 0; i < count; i++) {
		const unsigned char *p = (unsigned char *)all[i];
		do {
			sum = sum * 33 + *p;
			size++;
		} while (*p++);
	}
	printf("%d arguments, %zu bytes, sum %lu\n", count, size, sum);
	return 102;
}

/* As setproctitle does it: from argv[0] to the end of the last variable, environ moved elsewhere.
 */
static int mode_overwrite(char **argv)
{
	char *begin = all[0], *end = begin, *args[] = {"sh", "-c", "echo child of $0 $NAME", NULL};
	char *moved[] = {strdup("PATH=/usr/bin:/bin"), strdup("NAME=moved"), NULL};
	char title[64];

	snprintf(title, sizeof(title), "%s", argv[0]);
	for (int i = 0; i < count; i++)
		end = all[i] + strlen(all[i]) + 1;
	for (char **e = environ; *e; e++)
		end = *e + strlen(*e) + 1;
	environ = moved;
	memset(begin, 'x', (size_t)(end - begin - 1));
	memcpy(begin, title, strlen(title) + 1);
	FILE *f = fopen("/proc/self/cmdline", "r");
	char line[64] = {0};
	fread(line, 1, sizeof(line) - 1, f);
	fclose(f);
	printf("title %s\n", line);
	fflush(stdout);
	pid_t pid = fork();
	if (!pid) {
		execvp("sh", args);
		_exit(127);
	}
	printf("child %d\n", wait_for(pid));
	return 103;
}

static int mode_clear(char **argv)
{
	pid_t pid = fork();

	if (!pid) {
		clearenv();
		execv(argv[0], argv);
		_exit(127);
	}
	printf("child %d\n", wait_for(pid));
	return 104;
}

static int mode_none(char **argv)
{
	char *none[] = {NULL};

	execv(argv[0], none);
	return 126;
}

static int mode_execve(char **argv)
{
	execv(argv[0], argv);
	return 126;
}

static const struct mode modes[] = {
	{"print", mode_print},         {"huge", mode_huge},   {"sum", mode_sum},
	{"overwrite", mode_overwrite}, {"clear", mode_clear}, {"none", mode_none},
	{"exec", mode_execve},
};

int main(int argc, char **argv)
{
	count = argc;
	all = argv;
	/* the kernel makes one empty argument of none */
	if (argc < 2) {
		printf("%d arguments, the first is '%s'\n", argc, argc ? argv[0] : "missing");
		return 105;
	}
	return run_mode(modes, sizeof(modes) / sizeof(modes[0]), argc, argv);
}
