/* What streams hold at the end: `streams files|wide|wide_flushed|copy`. */
#include <wchar.h>

#include "host.h"

static FILE *filled(const char *name, int n)
{
	FILE *f = fopen(name, "w");

	for (int i = 0; f && i < n; i++)
		fputc('x', f);
	return f;
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

static const struct mode modes[] = {{"files", mode_files},
				    {"wide", mode_wide},
				    {"wide_flushed", mode_wide_flushed},
				    {"copy", mode_copy}};
MAIN(modes)
