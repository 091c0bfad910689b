/*
 * Programs that could not load the library: in another root (chroot, pivot_root, a mount namespace
 * without our directory) or with every descriptor in use. Their loader would say so on the
 * program's standard error. What is executed from there gets an environment without the library
 * instead.
 *
 * Asking costs three calls before each exec. The new environment is made on the stack of whoever
 * executes, who may be a vfork child and run on its parent's memory. As with all that a program
 * hands to exec, the pointers may be bad, and are read by the kernel.
 */
#include "preload/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define VARIABLES_MAX 65536
#define PRELOAD_MAX 65536
static const char variable[] = "LD_PRELOAD=";
#define PREFIX (sizeof(variable) - 1)

/* Its name as the loader was told it; NULL: unknown. */
static const char *self;

void reach_begin(void)
{
	const struct link_map *map = lookup_self();

	if (map && map->l_name && map->l_name[0] == '/')
		self = map->l_name;
}

/* Descriptors that the exec closes are free for the loader. */
static bool closes_some(void)
{
	struct rlimit limit;
	long flags;

	if (sys4(__NR_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit) < 0)
		return true;
	for (unsigned fd = 0; fd < limit.rlim_cur && fd < 65536; fd++)
		if ((flags = sys2(__NR_fcntl, fd, F_GETFD)) < 0 || flags & FD_CLOEXEC)
			return true;
	return limit.rlim_cur > 65536;
}

/* No copy of a descriptor of the program is made to see whether there is room: closing that would
 * end the program's locks on the file. What is opened as a mere path has none. */
static bool reachable(void)
{
	if (sys3(__NR_faccessat, AT_FDCWD, self, R_OK) < 0)
		return false;
	long fd = sys4(__NR_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC, 0);
	if (fd >= 0)
		sys1(__NR_close, fd);
	return fd != -EMFILE || closes_some();
}

/* The place of LD_PRELOAD among the variables, and their number; false where it is not there. */
static bool find_preload(int pid, char *const *envp, size_t *ret_at, size_t *ret_count)
{
	char head[PREFIX];
	const char *entry;
	bool found = false;

	for (size_t i = 0; i < VARIABLES_MAX; i++) {
		if (read_memory(pid, &envp[i], &entry, sizeof(entry)) != (long)sizeof(entry))
			return false;
		*ret_count = i;
		if (!entry)
			return found;
		if (!found && read_memory(pid, entry, head, sizeof(head)) == (long)sizeof(head) &&
		    !__builtin_memcmp(head, variable, sizeof(head))) {
			found = true;
			*ret_at = i;
		}
	}
	return false;
}

size_t reach_room(char *const *envp)
{
	size_t at, count;
	int pid;

	if (!self || !envp || guest_who(&pid) == NOBODY || reachable() ||
	    !find_preload(pid, envp, &at, &count))
		return 0;
	return (count + 1) * sizeof(*envp) + PRELOAD_MAX;
}

static bool is_self(const char *entry, size_t n)
{
	const char *name = self + str_len(self);
	size_t size;

	while (name[-1] != '/')
		name--;
	size = str_len(name);
	return n > size && entry[n - size - 1] == '/' &&
	       !__builtin_memcmp(entry + n - size, name, size);
}

/* Takes the library out of a list, in place; the length of what is left. */
static size_t take_out(char *list, size_t n)
{
	size_t left = 0;

	for (size_t at = 0; at < n;) {
		size_t from = at;

		while (at < n && list[at] != ':' && list[at] != ' ')
			at++;
		if (at > from && !is_self(list + from, at - from)) {
			if (left)
				list[left++] = ':';
			for (; from < at; from++)
				list[left++] = list[from];
		}
		at++;
	}
	list[left] = 0;
	return left;
}

char *const *reach_without(char *const *envp, void *room)
{
	char **out = room;
	size_t at, count, n;
	int pid = (int)sys0(__NR_getpid);

	if (!find_preload(pid, envp, &at, &count) ||
	    read_memory(pid, envp, out, (count + 1) * sizeof(*out)) !=
		    (long)((count + 1) * sizeof(*out)))
		return envp;
	char *text = (char *)(out + count + 1);
	if (!(n = read_string(pid, envp[at], text, PRELOAD_MAX)))
		return envp;
	if (take_out(text + PREFIX, n - 1 - PREFIX)) {
		out[at] = text;
		return out;
	}
	for (; at < count; at++)
		out[at] = out[at + 1];
	return out;
}

/* ---- another root --------------------------------------------------------------------------- */

/* The record file is out of reach from there, most often: a last snapshot is written before. Any
 * later record makes it void. */
static int after_root(int r)
{
	if (r < 0)
		record_resume();
	return r;
}

EXPORT int chroot(const char *path)
{
	record_end(BY_ROOT, 0);
	if (!NEXT(chroot))
		return after_root((int)libc_result(sys1(__NR_chroot, path)));
	return after_root(next.chroot(path));
}

/* libc has it, and no header that says so. */
EXPORT int pivot_root(const char *new_root, const char *put_old);
EXPORT int pivot_root(const char *new_root, const char *put_old)
{
	record_end(BY_ROOT, 0);
	if (!NEXT(pivot_root))
		return after_root((int)libc_result(sys2(__NR_pivot_root, new_root, put_old)));
	return after_root(next.pivot_root(new_root, put_old));
}
