/*
 * Programs that cannot load the library: in another root (chroot, pivot_root, a mount namespace
 * without our directory) or with all descriptors in use. Their loader would print an error. Such
 * programs get an environment without the library.
 *
 * The check takes three calls before each exec. The new environment is on the caller's stack, since
 * a vfork child runs on its parent's memory. A large one is mapped, and exec unmaps it; but in a
 * vfork child the mapping would stay in its parent, so a large environment is left unchanged, and
 * the loader complains.
 *
 * The program's pointers may be invalid, so the kernel reads them.
 */
#include "preload/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define VARIABLES_MAX 65536
#define PRELOAD_MAX 65536
#define STACK_MAX 4096
static const char variable[] = "LD_PRELOAD=";
#define PREFIX (sizeof(variable) - 1)

/* Our path in LD_PRELOAD; NULL: unknown. */
static const char *self;

void reach_begin(void)
{
	const struct link_map *map = lookup_self();

	if (map && map->l_name && map->l_name[0] == '/')
		self = map->l_name;
}

/* Does the exec close descriptors, so that the loader can use them? */
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

/* Opens "/" with O_PATH to test for a free descriptor: closing a copy of the program's descriptors
 * would drop its file locks. */
static bool reachable(void)
{
	if (sys3(__NR_faccessat, AT_FDCWD, self, R_OK) < 0)
		return false;
	long fd = sys4(__NR_openat, AT_FDCWD, "/", O_PATH | O_CLOEXEC, 0);
	if (fd >= 0)
		sys1(__NR_close, fd);
	return fd != -EMFILE || closes_some();
}

/* The index of LD_PRELOAD and the number of variables; false: it is not set. */
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

/* The size of a string with its NUL; 0: it cannot be read or is too long. */
static size_t size_of(int pid, const char *s)
{
	char part[128];

	for (size_t used = 0; used < PRELOAD_MAX;) {
		/* never across a page boundary */
		size_t n = sizeof(part) - ((uintptr_t)(s + used) & (sizeof(part) - 1));

		if (read_memory(pid, s + used, part, n) != (long)n)
			return 0;
		for (size_t i = 0; i < n; i++)
			if (!part[i])
				return used + i + 1;
		used += n;
	}
	return 0;
}

NOINLINE void reach_ask(struct reach *r, char *const *envp)
{
	const char *entry;
	int pid;
	enum who who = self && envp ? guest_who(&pid) : NOBODY;

	r->size = 0;
	r->pages = NULL;
	if (who == NOBODY || reachable() || !find_preload(pid, envp, &r->at, &r->count) ||
	    read_memory(pid, &envp[r->at], &entry, sizeof(entry)) != (long)sizeof(entry) ||
	    !(r->text = size_of(pid, entry)))
		return;
	size_t size = (r->count + 1) * sizeof(*envp) + r->text;
	if (size <= STACK_MAX)
		r->size = size;
	else if ((who == IMAGE || guest.forked == pid) && (r->pages = map_pages(size)))
		r->size = size;
}

void reach_release(const struct reach *r)
{
	if (r->pages)
		sys2(__NR_munmap, r->pages, r->size);
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

/* Removes the library from a list, in place; returns the new length. */
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

/* If another thread changed the environment meanwhile, it is left unchanged. */
NOINLINE char *const *reach_without(const struct reach *r, char *const *envp, void *room)
{
	char **out = room, *text = (char *)(out + r->count + 1);
	size_t at = r->at, n = r->count * sizeof(*out);
	int pid = (int)sys0(__NR_getpid);

	if (read_memory(pid, envp, out, n) != (long)n)
		return envp;
	n = read_string(pid, out[at], text, r->text);
	if (n <= PREFIX || __builtin_memcmp(text, variable, PREFIX))
		return envp;
	out[r->count] = NULL;
	if (take_out(text + PREFIX, n - 1 - PREFIX)) {
		out[at] = text;
		return out;
	}
	for (; at < r->count; at++)
		out[at] = out[at + 1];
	return out;
}

/* ---- another root --------------------------------------------------------------------------- */

/* The record file is usually not reachable from the new root, so an END is written before. Any
 * later record supersedes it. */
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

/* libc has no declaration of it. */
EXPORT int pivot_root(const char *new_root, const char *put_old);
EXPORT int pivot_root(const char *new_root, const char *put_old)
{
	record_end(BY_ROOT, 0);
	if (!NEXT(pivot_root))
		return after_root((int)libc_result(sys2(__NR_pivot_root, new_root, put_old)));
	return after_root(next.pivot_root(new_root, put_old));
}
