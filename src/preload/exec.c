/*
 * exec*: the image records its counters before it is replaced.
 *
 * For a copy made by fork or vfork record_exec() writes nothing, and so changes no memory of a
 * vfork parent. But a copy that has written records adds one with our I/O, since the executed
 * program inherits the counters.
 */
#include "preload/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <unistd.h>

extern char **environ __attribute__((weak));

/* Programs that search PATH try many files that do not exist: these are not recorded. */
static bool before_exec(int dirfd, const char *path, char *const argv[], int flags)
{
	if (!record_execs())
		return false;
	long r = flags & AT_EMPTY_PATH ? 0 : sys3(__NR_faccessat, dirfd, path, X_OK);
	/* faccessat() checks the real user, exec uses the effective one */
	return (r == 0 || r == -EACCES) && record_exec(path, argv);
}

/* Calls libc's function; if it returns, exec has failed. */
#define EXECUTE(recorded, call)                \
	do {                                   \
		bool lifted_ = silence_lift(); \
		int r_ = (int)(call);          \
		silence_back(lifted_);         \
		reach_release(&reach);         \
		if (recorded)                  \
			record_resume();       \
		return r_;                     \
	} while (0)

/* ---- without libc's functions ---------------------------------------------------- */

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

/* Tries every directory of the caller's PATH, as execvp() does. */
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
	bool recorded = before_exec(AT_FDCWD, path, argv, 0);

	REACHABLE(&reach, envp);
	EXECUTE(recorded,
		NEXT(execve) ? next.execve(path, argv, envp) : raw_execve(path, argv, envp));
}

EXPORT int execv(const char *path, char *const argv[])
{
	struct reach reach;
	char *const *envp = &environ ? environ : NULL;
	bool recorded = before_exec(AT_FDCWD, path, argv, 0);

	REACHABLE(&reach, envp);
	if (!NEXT(execv))
		EXECUTE(recorded, raw_execve(path, argv, envp));
	EXECUTE(recorded, envp && envp != environ && next.execve ? next.execve(path, argv, envp)
								 : next.execv(path, argv));
}

EXPORT int execvp(const char *file, char *const argv[])
{
	struct reach reach;
	char *const *envp = &environ ? environ : NULL;
	bool recorded = record_exec(file, argv);

	REACHABLE(&reach, envp);
	if (!NEXT(execvp))
		EXECUTE(recorded, raw_search(file, argv, envp));
	EXECUTE(recorded, envp && envp != environ && next.execvpe ? next.execvpe(file, argv, envp)
								  : next.execvp(file, argv));
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	struct reach reach;
	bool recorded = record_exec(file, argv);

	REACHABLE(&reach, envp);
	EXECUTE(recorded,
		NEXT(execvpe) ? next.execvpe(file, argv, envp) : raw_search(file, argv, envp));
}

/* execveat() is missing in older libcs. */
EXPORT int execveat(int dirfd, const char *path, char *const argv[], char *const envp[], int flags)
{
	struct reach reach;
	bool recorded = before_exec(dirfd, path, argv, flags);

	REACHABLE(&reach, envp);
	if (!NEXT(execveat))
		EXECUTE(recorded, libc_result(sys5(__NR_execveat, dirfd, path, argv, envp, flags)));
	EXECUTE(recorded, next.execveat(dirfd, path, argv, envp, flags));
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	struct reach reach;
	bool recorded = record_exec(NULL, argv);

	REACHABLE(&reach, envp);
	if (!NEXT(fexecve))
		EXECUTE(recorded,
			libc_result(sys5(__NR_execveat, fd, "", argv, envp, AT_EMPTY_PATH)));
	EXECUTE(recorded, next.fexecve(fd, argv, envp));
}

/* The variants with a list gather it on the stack, as libc does. ap stands behind it then. */
#define GATHER_ARGUMENTS(argv, n, first, ap)                            \
	do {                                                            \
		(n) = 1;                                                \
		va_start(ap, first);                                    \
		while (va_arg(ap, char *))                              \
			(n)++;                                          \
		va_end(ap);                                             \
		(argv) = __builtin_alloca(((n) + 1) * sizeof(*(argv))); \
		(argv)[0] = (char *)(first);                            \
		va_start(ap, first);                                    \
		for (size_t i_ = 1; i_ <= (n); i_++)                    \
			(argv)[i_] = va_arg(ap, char *);                \
	} while (0)

/* The list for another library that interposes such a function: up to this length. */
#define LISTED 32
#define LIST(v)                                                                                 \
	v[0], v[1], v[2], v[3], v[4], v[5], v[6], v[7], v[8], v[9], v[10], v[11], v[12], v[13], \
		v[14], v[15], v[16], v[17], v[18], v[19], v[20], v[21], v[22], v[23], v[24],    \
		v[25], v[26], v[27], v[28], v[29], v[30], v[31]

/* Fills the list, followed by envp, if any. False: it is too long. */
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
	char **argv, *v[LISTED], *const *envp = &environ ? environ : NULL;
	size_t n;
	va_list ap;

	GATHER_ARGUMENTS(argv, n, arg, ap);
	va_end(ap);
	bool recorded = before_exec(AT_FDCWD, path, argv, 0);
	REACHABLE(&reach, envp);
	if (!NEXT(execl) || next_is_libc.execl || envp != environ || !fill_list(v, argv, n, NULL))
		EXECUTE(recorded, raw_execve(path, argv, envp));
	EXECUTE(recorded, next.execl(path, LIST(v)));
}

EXPORT int execlp(const char *file, const char *arg, ...)
{
	struct reach reach;
	char **argv, *v[LISTED], *const *envp = &environ ? environ : NULL;
	size_t n;
	va_list ap;

	GATHER_ARGUMENTS(argv, n, arg, ap);
	va_end(ap);
	bool recorded = record_exec(file, argv);
	REACHABLE(&reach, envp);
	if (NEXT(execvpe) && envp && envp != environ)
		EXECUTE(recorded, next.execvpe(file, argv, envp));
	if (next.execlp && !next_is_libc.execlp && fill_list(v, argv, n, NULL))
		EXECUTE(recorded, next.execlp(file, LIST(v)));
	EXECUTE(recorded, libcs.execvp ? libcs.execvp(file, argv) : raw_search(file, argv, envp));
}

EXPORT int execle(const char *path, const char *arg, ...)
{
	struct reach reach;
	char **argv, *v[LISTED];
	size_t n;
	va_list ap;

	GATHER_ARGUMENTS(argv, n, arg, ap);
	char *const *envp = va_arg(ap, char *const *);
	va_end(ap);
	bool recorded = before_exec(AT_FDCWD, path, argv, 0);
	REACHABLE(&reach, envp);
	if (!NEXT(execle) || next_is_libc.execle || !fill_list(v, argv, n, envp))
		EXECUTE(recorded, raw_execve(path, argv, envp));
	EXECUTE(recorded, next.execle(path, LIST(v)));
}
