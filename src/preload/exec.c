/*
 * exec*: the image that is about to be replaced records its own counters first.
 *
 * A copy made by fork or vfork passes straight through: record_exec() writes nothing for it, and so
 * touches no memory that a vfork parent would see changed. But one that has written something says
 * what that cost, since the program that it executes inherits the accounts.
 */
#include "preload/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

extern char **environ __attribute__((weak));

/* Programs that search PATH themselves try many files that are not there: those are no news. */
static bool before_exec(int dirfd, const char *path, char *const argv[], int flags)
{
	if (!record_execs())
		return false;
	long r = flags & AT_EMPTY_PATH ? 0 : sys3(__NR_faccessat, dirfd, path, X_OK);
	/* the kernel answers for the real user, and executes for the effective one */
	return (r == 0 || r == -EACCES) && record_exec(path, argv);
}

/* Calls libc's function. An exec that returns has failed. */
#define EXECUTE(told, call)                    \
	do {                                   \
		bool lifted_ = silence_lift(); \
		int r_ = (int)(call);          \
		silence_back(lifted_);         \
		reach_release(&reach);         \
		if (told)                      \
			record_resume();       \
		return r_;                     \
	} while (0)

/* ---- where libc's function was not found ---------------------------------------------------- */

static int raw_execve(const char *path, char *const argv[], char *const envp[])
{
	return (int)libc_result(sys3(__NR_execve, path, argv, envp));
}

static const char *search_path(char *const *envp)
{
	for (; envp && *envp; envp++)
		if (starts_with(*envp, "PATH="))
			return *envp + 5;
	return "/bin:/usr/bin";
}

/* Tries every directory of PATH, as execvp() does. The path is that of the caller, not of envp. */
static int raw_search(const char *file, char *const argv[], char *const envp[])
{
	char path[4096];
	long error = -ENOENT;

	for (const char *p = file; *p; p++)
		if (*p == '/')
			return raw_execve(file, argv, envp);
	size_t length = str_len(file);
	for (const char *p = search_path(&environ ? environ : NULL), *end;; p = end + 1) {
		for (end = p; *end && *end != ':';)
			end++;
		size_t n = (size_t)(end - p);
		if (length && n + 1 + length < sizeof(path)) {
			__builtin_memcpy(path, p, n);
			path[n] = '/';
			__builtin_memcpy(path + n + (n > 0), file, length + 1);
			long r = sys3(__NR_execve, path, argv, envp);
			if (r != -ENOENT && r != -ENOTDIR && r != -EACCES)
				return (int)libc_result(r);
			error = r == -EACCES ? r : error;
		}
		if (!*end)
			return (int)libc_result(error);
	}
}

/* ---- the functions -------------------------------------------------------------------------- */

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	struct reach reach;
	bool told = before_exec(AT_FDCWD, path, argv, 0);

	REACHABLE(&reach, envp);
	EXECUTE(told, NEXT(execve) ? next.execve(path, argv, envp) : raw_execve(path, argv, envp));
}

EXPORT int execv(const char *path, char *const argv[])
{
	struct reach reach;
	char *const *envp = &environ ? environ : NULL;
	bool told = before_exec(AT_FDCWD, path, argv, 0);

	REACHABLE(&reach, envp);
	if (!NEXT(execv))
		EXECUTE(told, raw_execve(path, argv, envp));
	EXECUTE(told, envp && envp != environ && next.execve ? next.execve(path, argv, envp)
							     : next.execv(path, argv));
}

EXPORT int execvp(const char *file, char *const argv[])
{
	struct reach reach;
	char *const *envp = &environ ? environ : NULL;
	bool told = record_exec(file, argv);

	REACHABLE(&reach, envp);
	if (!NEXT(execvp))
		EXECUTE(told, raw_search(file, argv, envp));
	EXECUTE(told, envp && envp != environ && next.execvpe ? next.execvpe(file, argv, envp)
							      : next.execvp(file, argv));
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	struct reach reach;
	bool told = record_exec(file, argv);

	REACHABLE(&reach, envp);
	EXECUTE(told,
		NEXT(execvpe) ? next.execvpe(file, argv, envp) : raw_search(file, argv, envp));
}

/* execveat() is younger than the rest. */
EXPORT int execveat(int dirfd, const char *path, char *const argv[], char *const envp[], int flags)
{
	struct reach reach;
	bool told = before_exec(dirfd, path, argv, flags);

	REACHABLE(&reach, envp);
	if (!NEXT(execveat))
		EXECUTE(told, libc_result(sys5(__NR_execveat, dirfd, path, argv, envp, flags)));
	EXECUTE(told, next.execveat(dirfd, path, argv, envp, flags));
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	struct reach reach;
	bool told = record_exec(NULL, argv);

	REACHABLE(&reach, envp);
	if (!NEXT(fexecve))
		EXECUTE(told, libc_result(sys5(__NR_execveat, fd, "", argv, envp, AT_EMPTY_PATH)));
	EXECUTE(told, next.fexecve(fd, argv, envp));
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

/* What another library is given, who stands in for a variant with a list: as much as fits. */
#define LISTED 32
#define LIST(v)                                                                                 \
	v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10], v[11], v[12], v[13], \
		v[14], v[15], v[16], v[17], v[18], v[19], v[20], v[21], v[22], v[23], v[24],    \
		v[25], v[26], v[27], v[28], v[29], v[30], v[31]

/* With what stands behind the list, if anything. False: it is too long. */
static bool fill_list(char *v[LISTED], char *const *argv, size_t n, char *const *envp)
{
	if (n + 2 > LISTED)
		return false;
	for (size_t i = 0; i < LISTED; i++)
		v[i] = i < n ? argv[i] : NULL;
	v[n + 1] = (char *)envp;
	return true;
}

EXPORT int execl(const char *path, const char *arg, ...)
{
	struct reach reach;
	char *v[LISTED], *const *envp = &environ ? environ : NULL;
	size_t n;
	va_list ap;

	COUNT_ARGUMENTS(arg, n);
	char **argv = __builtin_alloca((n + 1) * sizeof(*argv));
	va_start(ap, arg);
	GATHER_ARGUMENTS(ap, argv, arg, n);
	va_end(ap);
	bool told = before_exec(AT_FDCWD, path, argv, 0);
	REACHABLE(&reach, envp);
	if (!NEXT(execl) || next_is_libc.execl || envp != environ || !fill_list(v, argv, n, NULL))
		EXECUTE(told, raw_execve(path, argv, envp));
	EXECUTE(told, next.execl(path, LIST(v)));
}

EXPORT int execlp(const char *file, const char *arg, ...)
{
	struct reach reach;
	char *v[LISTED], *const *envp = &environ ? environ : NULL;
	size_t n;
	va_list ap;

	COUNT_ARGUMENTS(arg, n);
	char **argv = __builtin_alloca((n + 1) * sizeof(*argv));
	va_start(ap, arg);
	GATHER_ARGUMENTS(ap, argv, arg, n);
	va_end(ap);
	bool told = record_exec(file, argv);
	REACHABLE(&reach, envp);
	if (NEXT(execvpe) && envp && envp != environ)
		EXECUTE(told, next.execvpe(file, argv, envp));
	if (next.execlp && !next_is_libc.execlp && fill_list(v, argv, n, NULL))
		EXECUTE(told, next.execlp(file, LIST(v)));
	EXECUTE(told, libcs.execvp ? libcs.execvp(file, argv) : raw_search(file, argv, envp));
}

EXPORT int execle(const char *path, const char *arg, ...)
{
	struct reach reach;
	char *v[LISTED];
	size_t n;
	va_list ap;

	COUNT_ARGUMENTS(arg, n);
	char **argv = __builtin_alloca((n + 1) * sizeof(*argv));
	va_start(ap, arg);
	GATHER_ARGUMENTS(ap, argv, arg, n);
	char *const *envp = va_arg(ap, char *const *);
	va_end(ap);
	bool told = before_exec(AT_FDCWD, path, argv, 0);
	REACHABLE(&reach, envp);
	if (!NEXT(execle) || next_is_libc.execle || !fill_list(v, argv, n, envp))
		EXECUTE(told, raw_execve(path, argv, envp));
	EXECUTE(told, next.execle(path, LIST(v)));
}
