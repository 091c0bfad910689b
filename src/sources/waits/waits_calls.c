/*
 * What a sleeping thread waits for, by its system call. Descriptors of poll and select, and the
 * word of a futex, are in the memory of the process; process_vm_readv() copies them without
 * stopping it.
 *
 * Surprising: a futex does not say whether it is a lock. It is one for certain only if the kernel
 * knows its owner (priority inheritance), or if its word is what the C library writes into a lock
 * that others wait for and what follows is a mutex: glibc has the owner there, musl in the word
 * itself. Everything else is a condition: that may be a lock of another library.
 */
#include "sources/waits/waits.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/select.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

/* Of more descriptors only the number is said. */
#define FDS_MAX 64
/* fcntl commands that wait, the same on both architectures. */
#define WAIT_SETLKW 7
#define WAIT_OFD_SETLKW 38

bool wait_memory(const struct procdir *dir, int pid, uint64_t address, void *buf, size_t size)
{
	struct iovec local = {buf, size};
	struct iovec remote = {(void *)(uintptr_t)address, size};
	char path[32];

	if (dir->live)
		return dir->clocks &&
		       process_vm_readv(pid, &local, 1, &remote, 1, 0) == (ssize_t)size;
	snprintf(path, sizeof(path), "%d/mem", pid);
	_cleanup_close_ int fd = openat(dir->fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	return fd >= 0 && address <= INT64_MAX &&
	       pread(fd, buf, size, (off_t)address) == (ssize_t)size;
}

/* ---- futex ---------------------------------------------------------------------------------- */

static void set_lock(struct wait_seen *ret, uint64_t address, uint32_t owner)
{
	ret->reason = WAIT_LOCK;
	if (owner)
		snprintf(ret->partner, sizeof(ret->partner), "0x%llx held by %u",
			 (unsigned long long)address, owner);
	else
		snprintf(ret->partner, sizeof(ret->partner), "0x%llx", (unsigned long long)address);
}

/* A condition of glibc has two words side by side, for threads that wait in turn; so has a
 * reader-writer lock. They are one place. */
static void set_condition(struct wait_seen *ret, uint64_t address)
{
	ret->reason = WAIT_CONDITION;
	snprintf(ret->partner, sizeof(ret->partner), "0x%llx",
		 (unsigned long long)address & ~UINT64_C(7));
}

/* With a time-out this far away a condition is a way to sleep; with a shorter one a way to take
 * turns, as for the lock of Python's interpreter. */
#define SLEEP_NS 10000000

static bool is_sleep(const struct wait_partners *w, int pid, const struct wait_syscall *c)
{
	bool absolute = (c->arg[1] & (unsigned)FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
	clockid_t clock = c->arg[1] & FUTEX_CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
	struct timespec now = {0};
	int64_t until[2];

	if (!c->arg[3] || !wait_memory(w->dir, pid, c->arg[3], until, sizeof(until)) ||
	    (absolute && clock_gettime(clock, &now) < 0))
		return false;
	double left = ((double)until[0] - (double)now.tv_sec) * 1e9 + (double)until[1] -
		      (double)now.tv_nsec;
	return left >= SLEEP_NS;
}

/* A thread of the process, or a process of the job: a lock in shared memory. */
static bool may_hold(const struct wait_partners *w, int pid, uint32_t tid)
{
	return wait_thread_exists(w->dir, pid, tid) ||
	       (tid <= INT32_MAX && job_processes_find(w->ctx->watch, (int)tid));
}

/* glibc: {int lock, unsigned count, int owner, unsigned users, int kind}; 2 is a lock that others
 * wait for. */
static bool is_mutex(const struct wait_partners *w, int pid, const uint32_t word[5])
{
	return word[0] == 2 && word[3] >= 1 && (word[4] & 0x7f) <= 3 && may_hold(w, pid, word[2]);
}

/* The same lock without an owner: of malloc, of stdio, of other languages' libraries. A barrier of
 * glibc has its round there and the number of its threads behind it. */
static bool is_plain_lock(const uint32_t word[5])
{
	return word[0] == 2 && word[1] < 2;
}

/* glibc: {value, number of those who wait, 128 if processes share it} */
static bool is_semaphore(const uint32_t word[5])
{
	return !word[0] && word[1] >= 1 && word[1] <= UINT16_MAX && word[2] == 128;
}

static void for_futex(struct wait_partners *w, int pid, const struct wait_syscall *c,
		      struct wait_seen *ret)
{
	uint64_t address = c->arg[0];
	unsigned op = (unsigned)c->arg[1] & (unsigned)FUTEX_CMD_MASK;
	uint32_t value = (uint32_t)c->arg[2], word[5] = {0};
	bool shared = !(c->arg[1] & FUTEX_PRIVATE_FLAG);
	bool known = wait_memory(w->dir, pid, address, word, sizeof(word)) ||
		     wait_memory(w->dir, pid, address, word, sizeof(word[0]));

	if (op == FUTEX_LOCK_PI || op == FUTEX_LOCK_PI2) {
		set_lock(ret, address, known ? word[0] & FUTEX_TID_MASK : 0);
		return;
	}
	if (op != FUTEX_WAIT && op != FUTEX_WAIT_BITSET) {
		set_condition(ret, address);
		return;
	}
	if (known && value == 2 && is_mutex(w, pid, word)) {
		set_lock(ret, address, word[2]);
	} else if (known && value == word[0] && value & FUTEX_WAITERS &&
		   may_hold(w, pid, value & FUTEX_TID_MASK)) {
		set_lock(ret, address, value & FUTEX_TID_MASK); /* musl, robust */
	} else if (known && value == UINT32_MAX && word[0] == value) {
		set_lock(ret, address, 0); /* libgomp */
	} else if (known && value == 2 && is_plain_lock(word)) {
		set_lock(ret, address, 0);
	} else if (shared && known && value == word[0] && wait_thread_exists(w->dir, pid, value)) {
		/* the kernel clears the word when the thread ends */
		ret->reason = WAIT_CONDITION;
		snprintf(ret->partner, sizeof(ret->partner), "end of thread %u", value);
	} else if (shared) {
		/* a semaphore or a condition in memory that processes share: of the same job */
		ret->reason = WAIT_PROCESS;
		ret->member = true;
		snprintf(ret->partner, sizeof(ret->partner), "%s 0x%llx",
			 known && !value && is_semaphore(word) ? "semaphore" : "shared memory",
			 (unsigned long long)address);
	} else {
		set_condition(ret, address);
		if (is_sleep(w, pid, c))
			ret->reason = WAIT_TIMER;
	}
}

/* ---- many descriptors ----------------------------------------------------------------------- */

/* poll and epoll_wait take milliseconds, negative for none; others the address of a time. */
static bool has_timeout(const struct wait_syscall *c, size_t argument, const char *call)
{
	bool address = !strcmp(call, "ppoll") || !strcmp(call, "epoll_pwait2");

	return address ? c->arg[argument] != 0 : (int32_t)c->arg[argument] > 0;
}

static void for_fds(struct wait_partners *w, int pid, const int *fds, size_t count, bool timed,
		    uint64_t now_ns, struct wait_seen *ret)
{
	if (count)
		wait_for_any(w, pid, fds, count, timed, now_ns, ret);
	else
		ret->reason = WAIT_TIMER;
}

static void say_number(struct wait_seen *ret, uint64_t count)
{
	ret->reason = WAIT_POLL;
	snprintf(ret->partner, sizeof(ret->partner), "%llu descriptors", (unsigned long long)count);
}

static void for_poll(struct wait_partners *w, int pid, const struct wait_syscall *c,
		     uint64_t now_ns, struct wait_seen *ret)
{
	struct pollfd list[FDS_MAX];
	int fds[FDS_MAX];
	size_t count = 0, n = (size_t)c->arg[1];

	if (n > FDS_MAX || (n && !wait_memory(w->dir, pid, c->arg[0], list, n * sizeof(*list)))) {
		say_number(ret, n);
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (list[i].fd >= 0)
			fds[count++] = list[i].fd;
	for_fds(w, pid, fds, count, has_timeout(c, 2, ret->call), now_ns, ret);
}

/* The kernel may have changed the sets already only if the call is about to return. */
static void for_select(struct wait_partners *w, int pid, const struct wait_syscall *c,
		       uint64_t now_ns, struct wait_seen *ret)
{
	int fds[FDS_MAX], limit = (int)c->arg[0];
	size_t count = 0, words = limit > 0 ? ((size_t)limit + 63) / 64 : 0;
	uint64_t any[FD_SETSIZE / 64] = {0}, set[FD_SETSIZE / 64];

	if (words > ARRAY_SIZE(any)) {
		say_number(ret, (uint64_t)limit);
		return;
	}
	for (size_t k = 1; k <= 3 && words; k++) {
		if (!c->arg[k])
			continue;
		if (!wait_memory(w->dir, pid, c->arg[k], set, words * sizeof(*set))) {
			say_number(ret, (uint64_t)limit);
			return;
		}
		for (size_t i = 0; i < words; i++)
			any[i] |= set[i];
	}
	for (int fd = 0; fd < limit; fd++) {
		if (!(any[fd / 64] >> (fd % 64) & 1))
			continue;
		if (count == FDS_MAX) {
			say_number(ret, count);
			return;
		}
		fds[count++] = fd;
	}
	for_fds(w, pid, fds, count, c->arg[4] != 0, now_ns, ret);
}

static void for_epoll(struct wait_partners *w, int pid, const struct wait_syscall *c,
		      uint64_t now_ns, struct wait_seen *ret)
{
	char name[32], text[8192];
	int fds[FDS_MAX], fd = -1;
	size_t count = 0;

	if (c->arg[0] > INT32_MAX)
		return;
	snprintf(name, sizeof(name), "fdinfo/%u", (unsigned)c->arg[0]);
	ssize_t n = procdir_read(w->dir, &fd, pid, name, false, text, sizeof(text) - 1);
	ret->reason = WAIT_POLL;
	if (n < 0)
		return;
	text[n] = 0;
	for (const char *p = text; (p = strstr(p, "tfd:"));) {
		char *end;
		long v = strtol(p + 4, &end, 10);

		if (count == FDS_MAX || end == p + 4 || v < 0 || v > INT32_MAX) {
			say_number(ret, count);
			return;
		}
		fds[count++] = (int)v;
		p = end;
	}
	for_fds(w, pid, fds, count, has_timeout(c, 3, ret->call), now_ns, ret);
}

/* ---- calls ---------------------------------------------------------------------------------- */

static void for_ring(struct wait_partners *w, int pid, uint64_t now_ns, struct wait_seen *ret)
{
	size_t sockets;

	/* what was submitted is not visible: without sockets it is files */
	(void)wait_sockets_of(w, pid, now_ns, &sockets);
	ret->reason = sockets ? WAIT_POLL : WAIT_STORAGE;
}

static void for_clone(struct wait_partners *w, int pid, const struct wait_syscall *c,
		      struct wait_seen *ret)
{
	uint64_t flags = c->arg[0];

	if (!strcmp(ret->call, "clone3") &&
	    !wait_memory(w->dir, pid, c->arg[0], &flags, sizeof(flags)))
		return;
	if (flags & CLONE_VFORK)
		ret->reason = WAIT_CHILD;
}

/* The file of a lock, whoever has it. */
static void for_lock(struct wait_partners *w, int pid, const struct wait_syscall *c,
		     uint64_t now_ns, struct wait_seen *ret)
{
	wait_for_descriptor(w, pid, c->arg[0], false, now_ns, ret);
	ret->reason = WAIT_LOCK;
}

void wait_for_call(struct wait_partners *w, int pid, const struct wait_syscall *c, uint64_t now_ns,
		   struct wait_seen *ret)
{
	enum wait_call kind = wait_call_of(c->number, &ret->call);

	ret->reason = WAIT_UNKNOWN;
	ret->partner[0] = 0;
	ret->member = ret->unsure = false;
	switch (kind) {
	case CALL_FD_IN:
	case CALL_FD_OUT:
		wait_for_descriptor(w, pid, c->arg[0], kind == CALL_FD_OUT, now_ns, ret);
		break;
	case CALL_STORAGE:
		ret->reason = WAIT_STORAGE;
		break;
	case CALL_RING:
		for_ring(w, pid, now_ns, ret);
		break;
	case CALL_FUTEX:
		for_futex(w, pid, c, ret);
		break;
	case CALL_CONDITION:
		ret->reason = WAIT_CONDITION;
		break;
	case CALL_TIMER:
		if (!wait_asks_for_lock(w, pid, c, !strcmp(ret->call, "clock_nanosleep"), now_ns,
					ret))
			ret->reason = WAIT_TIMER;
		break;
	case CALL_POLL:
		for_poll(w, pid, c, now_ns, ret);
		break;
	case CALL_SELECT:
		for_select(w, pid, c, now_ns, ret);
		break;
	case CALL_EPOLL:
		for_epoll(w, pid, c, now_ns, ret);
		break;
	case CALL_CHILD:
		ret->reason = WAIT_CHILD;
		break;
	case CALL_CLONE:
		for_clone(w, pid, c, ret);
		break;
	case CALL_LOCK:
		for_lock(w, pid, c, now_ns, ret);
		break;
	case CALL_FCNTL:
		if (c->arg[1] == WAIT_SETLKW || c->arg[1] == WAIT_OFD_SETLKW)
			for_lock(w, pid, c, now_ns, ret);
		break;
	case CALL_PROCESS:
		ret->reason = WAIT_PROCESS;
		break;
	case CALL_SIGNAL:
		ret->reason = WAIT_OTHER;
		break;
	case CALL_NONE:
	case CALL_PATH:
	case CALL_MEMORY:
	case CALL_RESTART:
		break; /* by where it sleeps in the kernel */
	}
}
