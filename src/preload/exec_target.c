/*
 * What a program is about to execute. Its pointers may be invalid, for which exec would fail with
 * EFAULT: so process_vm_readv() reads them.
 */
#include "preload/guest.h"

/* Limits; longer argument vectors are omitted. */
#define INTENT_BYTES 65536
#define INTENT_ARGUMENTS 4096
#define PAGE 4096u

long read_memory(int pid, const void *from, void *to, size_t n)
{
	struct iovec local = {to, n}, remote = {(void *)from, n};

	return sys6(__NR_process_vm_readv, pid, (long)&local, 1, (long)&remote, 1, 0);
}

size_t read_string(int pid, const char *s, char *to, size_t room)
{
	size_t used = 0;

	while (used < room) {
		size_t n = PAGE - ((uintptr_t)(s + used) & (PAGE - 1));

		n = n < room - used ? n : room - used;
		if (read_memory(pid, s + used, to + used, n) != (long)n)
			return 0;
		for (; n--; used++)
			if (!to[used])
				return used + 1;
	}
	return 0;
}

static size_t read_argv(int pid, char *const argv[], char *to, size_t room)
{
	size_t used = 0;
	const char *arg;

	for (size_t i = 0; i < INTENT_ARGUMENTS; i++) {
		if (read_memory(pid, &argv[i], &arg, sizeof(arg)) != (long)sizeof(arg))
			return 0;
		if (!arg)
			return used;
		size_t n = read_string(pid, arg, to + used, room - used);
		if (!n)
			return 0;
		used += n;
	}
	return 0;
}

void intent_read(struct intent *in, int pid)
{
	in->pages = in->file || in->argv ? map_pages(INTENT_BYTES) : NULL;
	in->path_size = in->argv_size = 0;
	if (!in->pages)
		return;
	if (in->file)
		in->path_size = read_string(pid, in->file, in->pages, INTENT_BYTES / 2);
	/* only an absolute path is recorded */
	if (in->path_size && in->pages[0] != '/')
		in->path_size = 0;
	if (in->argv)
		in->argv_size = read_argv(pid, in->argv, in->pages + in->path_size,
					  INTENT_BYTES - in->path_size);
}

void intent_release(struct intent *in)
{
	if (in->pages)
		sys2(__NR_munmap, in->pages, INTENT_BYTES);
}
