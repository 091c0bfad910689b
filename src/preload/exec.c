/*
 * exec*: the image that is about to be replaced records its own counters first. Most variants are
 * the system call itself; those that search PATH are libc's, looked up when the program starts
 * because a vfork child may not.
 *
 * A copy made by fork or vfork passes straight through: record_end() writes nothing for it, and so
 * touches no memory that a vfork parent would see changed.
 */
#include "preload/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

extern char **__environ __attribute__((weak));

static int (*real_execvp)(const char *, char *const[]);
static int (*real_execvpe)(const char *, char *const[], char *const[]);

void resolve_exec(void)
{
	real_execvp = (int (*)(const char *, char *const[]))next_function("execvp");
	real_execvpe =
		(int (*)(const char *, char *const[], char *const[]))next_function("execvpe");
}

/* Programs that search PATH themselves try many files that are not there: those are no news. */
static void before_exec(int dirfd, const char *path, int flags)
{
	if ((flags & AT_EMPTY_PATH) || sys3(__NR_faccessat, dirfd, path, X_OK) == 0)
		record_end(BY_EXEC, 0);
}

static int do_execve(const char *path, char *const argv[], char *const envp[])
{
	if (guest_who(NULL) == IMAGE)
		before_exec(AT_FDCWD, path, 0);
	return (int)libc_result(sys3(__NR_execve, path, argv, envp));
}

static int do_execvpe(const char *file, char *const argv[], char *const envp[], bool with_env)
{
	record_end(BY_EXEC, 0);
	if (with_env && real_execvpe)
		return real_execvpe(file, argv, envp);
	if (!with_env && real_execvp)
		return real_execvp(file, argv);
	return (int)libc_result(-ENOSYS);
}

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	return do_execve(path, argv, envp);
}

EXPORT int execv(const char *path, char *const argv[])
{
	return do_execve(path, argv, __environ);
}

EXPORT int execvp(const char *file, char *const argv[])
{
	return do_execvpe(file, argv, NULL, false);
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	return do_execvpe(file, argv, envp, true);
}

EXPORT int execveat(int dirfd, const char *path, char *const argv[], char *const envp[], int flags)
{
	if (guest_who(NULL) == IMAGE)
		before_exec(dirfd, path, flags);
	return (int)libc_result(sys5(__NR_execveat, dirfd, path, argv, envp, flags));
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	char path[64];

	if (fd < 0)
		return (int)libc_result(-EINVAL);
	record_end(BY_EXEC, 0);
	long r = sys5(__NR_execveat, fd, "", argv, envp, AT_EMPTY_PATH);
	if (r != -ENOSYS)
		return (int)libc_result(r);
	/* older kernels: the way that libc takes */
	format_path(path, sizeof(path), "/proc/self/fd/", (unsigned long)fd, "");
	return (int)libc_result(sys3(__NR_execve, path, argv, envp));
}

/* The variants with a list gather it on the stack, as libc does. */
#define COUNT_ARGUMENTS(first, n)           \
	do {                                \
		va_list ap_;                \
		(n) = 1;                    \
		va_start(ap_, first);       \
		while (va_arg(ap_, char *)) \
			(n)++;              \
		va_end(ap_);                \
	} while (0)

#define GATHER_ARGUMENTS(ap, argv, first, n)             \
	do {                                             \
		(argv)[0] = (char *)(first);             \
		for (size_t i_ = 1; i_ <= (n); i_++)     \
			(argv)[i_] = va_arg(ap, char *); \
	} while (0)

EXPORT int execl(const char *path, const char *arg, ...)
{
	size_t n;
	va_list ap;

	COUNT_ARGUMENTS(arg, n);
	char **argv = __builtin_alloca((n + 1) * sizeof(*argv));
	va_start(ap, arg);
	GATHER_ARGUMENTS(ap, argv, arg, n);
	va_end(ap);
	return do_execve(path, argv, __environ);
}

EXPORT int execlp(const char *file, const char *arg, ...)
{
	size_t n;
	va_list ap;

	COUNT_ARGUMENTS(arg, n);
	char **argv = __builtin_alloca((n + 1) * sizeof(*argv));
	va_start(ap, arg);
	GATHER_ARGUMENTS(ap, argv, arg, n);
	va_end(ap);
	return do_execvpe(file, argv, NULL, false);
}

EXPORT int execle(const char *path, const char *arg, ...)
{
	size_t n;
	va_list ap;

	COUNT_ARGUMENTS(arg, n);
	char **argv = __builtin_alloca((n + 1) * sizeof(*argv));
	va_start(ap, arg);
	GATHER_ARGUMENTS(ap, argv, arg, n);
	char *const *envp = va_arg(ap, char *const *);
	va_end(ap);
	return do_execve(path, argv, envp);
}
