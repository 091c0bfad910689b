/* What streams hold at the end: `streams files|wide|wide_flushed|copy|nowhere|failed`. */
#include <fcntl.h>
#include <wchar.h>

#include "host.h"

static FILE *fill(FILE *f, int n)
{
	for (int i = 0; f && i < n; i++)
		fputc('x', f);
	return f;
}

static FILE *filled(const char *name, int n)
{
	return fill(fopen(name, "w"), n);
}

/* Two files that nobody closes, one that somebody does, a stream in memory, and standard output. */
static int mode_files(char **argv)
{
	static char *text;
	static size_t size;
	FILE *memory = open_memstream(&text, &size);

	(void)argv;
	fprintf(memory, "%50d", 1);
	filled("one", 100);
	filled("two", 200);
	fclose(filled("three", 400));
	printf("%10d", 1);
	return 3;
}

static int mode_wide(char **argv)
{
	(void)argv;
	wprintf(L"%20d", 1);
	return 4;
}

static int mode_wide_flushed(char **argv)
{
	(void)argv;
	wprintf(L"%20d", 1);
	fflush(stdout);
	return 5;
}

/* A copy has what its parent's streams held, and writes it, too. */
static int mode_copy(char **argv)
{
	(void)argv;
	filled("one", 100);
	pid_t pid = fork();
	if (!pid)
		exit(6);
	return wait_for(pid);
}

/* A device that is full, a pipe that nobody reads, a descriptor that is gone. */
static int mode_nowhere(char **argv)
{
	int ends[2];

	(void)argv;
	signal(SIGPIPE, SIG_IGN);
	filled("/dev/full", 100);
	if (pipe(ends) < 0)
		return 1;
	close(ends[0]);
	fill(fdopen(ends[1], "w"), 200);
	close(fileno(filled("one", 400)));
	printf("%10d", 1);
	return 7;
}

/* Who has failed to write may fail again. */
static int mode_failed(char **argv)
{
	FILE *f = filled("one", 50);
	int one = dup(fileno(f)), full = open("/dev/full", O_WRONLY);

	(void)argv;
	dup2(full, fileno(f));
	fflush(f);
	dup2(one, fileno(f));
	fill(f, 50);
	return 8;
}

static const struct mode modes[] = {
	{"files", mode_files}, {"wide", mode_wide},       {"wide_flushed", mode_wide_flushed},
	{"copy", mode_copy},   {"nowhere", mode_nowhere}, {"failed", mode_failed}};
MAIN(modes)
