/*
 * The next floor: the least that any recorder does, one getrusage and one append of 256 bytes at
 * the start and at the end, by system calls alone.
 */
#include <asm/unistd.h>
#include <fcntl.h>
#include <sys/resource.h>

#include "preload/sys.h"

extern int on_exit(void (*function)(int, void *), void *arg) __attribute__((weak));

static const char *path;

static void append(void)
{
	char record[256];
	struct rusage ru;

	sys2(__NR_getrusage, RUSAGE_SELF, &ru);
	for (unsigned i = 0; i < sizeof(record); i++)
		record[i] = (char)i;
	long fd = sys4(__NR_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CLOEXEC, 0);
	if (fd < 0)
		return;
	sys3(__NR_write, fd, record, sizeof(record));
	sys1(__NR_close, fd);
}

static void at_exit(int status, void *arg)
{
	(void)status;
	(void)arg;
	append();
}

__attribute__((constructor)) static void arrive(int argc, char **argv, char **envp)
{
	(void)argc;
	(void)argv;
	for (; *envp; envp++) {
		const char *e = *envp, *name = "FLOOR_OUTPUT=";

		while (*name && *e == *name) {
			e++;
			name++;
		}
		if (!*name)
			path = e;
	}
	if (!path || !on_exit)
		return;
	append();
	on_exit(at_exit, 0);
}
