/*
 * exec*: the image that is about to be replaced records its own counters first.
 *
 * A copy made by fork or vfork passes straight through: record_exec() writes nothing for it, and so
 * touches no memory that a vfork parent would see changed.
 */
#include "preload/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

/* Programs that search PATH themselves try many files that are not there: those are no news. */
static void before_exec(int dirfd, const char *path, char *const argv[], int flags)
{
	if ((flags & AT_EMPTY_PATH) || sys3(__NR_faccessat, dirfd, path, X_OK) == 0)
		record_exec(path, argv);
}

static void before_execve(const char *path, char *const argv[])
{
	if (guest_who(NULL) == IMAGE)
		before_exec(AT_FDCWD, path, argv, 0);
}

extern char **environ __attribute__((weak));

/* Takes the library out of an environment that is executed where it cannot be loaded. */
#define REACHABLE(envp)                                                          \
	do {                                                                     \
		size_t room_ = reach_room(envp);                                 \
		if (room_)                                                       \
			(envp) = reach_without((envp), __builtin_alloca(room_)); \
	} while (0)

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	before_execve(path, argv);
	REACHABLE(envp);
	if (!NEXT(execve))
		return (int)libc_result(sys3(__NR_execve, path, argv, envp));
	return next.execve(path, argv, envp);
}

EXPORT int execv(const char *path, char *const argv[])
{
	char *const *envp = &environ ? environ : NULL;

	before_execve(path, argv);
	if (!NEXT(execv))
		return (int)libc_result(-ENOSYS);
	REACHABLE(envp);
	return envp && envp != environ && next.execve ? next.execve(path, argv, envp)
						      : next.execv(path, argv);
}

EXPORT int execvp(const char *file, char *const argv[])
{
	char *const *envp = &environ ? environ : NULL;

	if (!NEXT(execvp))
		return (int)libc_result(-ENOSYS);
	record_exec(file, argv);
	REACHABLE(envp);
	return envp && envp != environ && next.execvpe ? next.execvpe(file, argv, envp)
						       : next.execvp(file, argv);
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	if (!NEXT(execvpe))
		return (int)libc_result(-ENOSYS);
	record_exec(file, argv);
	REACHABLE(envp);
	return next.execvpe(file, argv, envp);
}

EXPORT int execveat(int dirfd, const char *path, char *const argv[], char *const envp[], int flags)
{
	if (guest_who(NULL) == IMAGE)
		before_exec(dirfd, path, argv, flags);
	REACHABLE(envp);
	if (!NEXT(execveat)) /* younger than the rest */
		return (int)libc_result(sys5(__NR_execveat, dirfd, path, argv, envp, flags));
	return next.execveat(dirfd, path, argv, envp, flags);
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	if (!NEXT(fexecve))
		return (int)libc_result(-ENOSYS);
	record_exec(NULL, argv);
	REACHABLE(envp);
	return next.fexecve(fd, argv, envp);
}

/* The variants with a list gather it on the stack, as libc does, and call ours above: the library
 * is linked so that its own names mean its own functions. */
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
	return execv(path, argv);
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
	return execvp(file, argv);
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
	return execve(path, argv, envp);
}
