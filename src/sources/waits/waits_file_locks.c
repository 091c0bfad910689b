/*
 * Locks on files that a program asks for again and again, asleep in between: what SQLite does while
 * another process writes, and whoever takes turns by fcntl(F_SETLK) or flock(LOCK_NB). The kernel
 * says who has which lock in /proc/locks; whoever sleeps for a moment and has such a file open
 * waits for the lock, not for the time.
 */
#include "sources/waits/waits.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/types.h>
#include <time.h>

#include "core/clock.h"
#include "core/files/fs.h"

/* As of the socket tables. */
#define COST_PART 500
#define LEAST_NS 150000000ull
#define TABLE_MAX (1u << 20)
#define LOCKS_MAX 256
#define FDS_MAX 64
/* Who asks again sleeps no longer. */
#define ASKS_NS 300000000

void wait_file_locks_parse(struct wait_file_locks *l, char *text)
{
	char *rest = NULL;

	l->count = 0;
	for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		struct wait_file_lock one = {0};
		char kind[16], mode[16];
		unsigned long long inode;

		/* with "->" it is one who waits */
		if (sscanf(line, "%*u: %15s %*15s %15s %d %x:%x:%20llu", kind, mode, &one.pid,
			   &one.major, &one.minor, &inode) != 6 ||
		    strcmp(mode, "WRITE") != 0 || l->count == LOCKS_MAX)
			continue;
		one.inode = inode;
		GROW(l->list, l->count, l->cap);
		l->list[l->count++] = one;
	}
}

void wait_file_locks_release(struct wait_file_locks *l)
{
	free(l->list);
	*l = (struct wait_file_locks){0};
}

static void refresh(struct wait_file_locks *l, const struct procdir *dir, uint64_t now_ns)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	uint64_t before = clock_thread_cpu_ns();

	if (now_ns < l->next_ns)
		return;
	l->count = 0;
	if (fs_read(dir->fd, "locks", TABLE_MAX, &text) >= 0 && text.len)
		wait_file_locks_parse(l, text.buf);
	uint64_t pause = (clock_thread_cpu_ns() - before) * COST_PART;
	l->next_ns = now_ns + (pause > LEAST_NS ? pause : LEAST_NS);
}

struct search {
	struct wait_partners *w;
	int pid;
	size_t left;
	int fd; /* of a file that another process has locked; -1: none */
};

static bool is_locked(const struct wait_file_locks *l, int pid, const struct statx *st)
{
	for (size_t i = 0; i < l->count; i++)
		if (l->list[i].pid != pid && l->list[i].inode == st->stx_ino &&
		    l->list[i].major == st->stx_dev_major && l->list[i].minor == st->stx_dev_minor)
			return true;
	return false;
}

static void look_at_fd(void *user, int fd)
{
	struct search *s = user;
	struct statx st;
	char path[48];

	if (s->fd >= 0 || !s->left)
		return;
	s->left--;
	snprintf(path, sizeof(path), "%d/fd/%d", s->pid, fd);
	if (statx(s->w->dir->fd, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE | STATX_INO,
		  &st) == 0 &&
	    S_ISREG(st.stx_mode) && is_locked(&s->w->file_locks, s->pid, &st))
		s->fd = fd;
}

/* Its descriptor of such a file, or -1; all of its threads have the same. */
static int find_locked(struct wait_partners *w, int pid, uint64_t now_ns)
{
	struct wait_file_locks *l = &w->file_locks;
	struct search s = {.w = w, .pid = pid, .left = FDS_MAX, .fd = -1};
	bool others = false;

	refresh(l, w->dir, now_ns);
	for (size_t i = 0; i < l->count && !others; i++)
		others = l->list[i].pid != pid;
	if (!others)
		return -1;
	if (l->pid != pid || now_ns >= l->pid_ns) {
		(void)procdir_numbers(w->dir, pid, "fd", look_at_fd, &s);
		l->pid = pid;
		l->pid_fd = s.fd;
		l->pid_ns = now_ns + LEAST_NS;
	}
	return l->pid_fd;
}

/* The length of a sleep, or what is left of it. */
static bool is_short(const struct wait_partners *w, int pid, const struct wait_syscall *c,
		     bool on_clock)
{
	clockid_t clock =
		on_clock && c->arg[0] == CLOCK_REALTIME ? CLOCK_REALTIME : CLOCK_MONOTONIC;
	struct timespec now = {0};
	int64_t until[2];

	if (!wait_memory(w->dir, pid, c->arg[on_clock ? 2 : 0], until, sizeof(until)) ||
	    (on_clock && c->arg[1] & TIMER_ABSTIME && clock_gettime(clock, &now) < 0))
		return false;
	double left = ((double)until[0] - (double)now.tv_sec) * 1e9 + (double)until[1] -
		      (double)now.tv_nsec;
	return left <= ASKS_NS;
}

bool wait_asks_for_lock(struct wait_partners *w, int pid, const struct wait_syscall *c,
			bool on_clock, uint64_t now_ns, struct wait_seen *ret)
{
	int fd = find_locked(w, pid, now_ns);

	if (fd < 0 || !is_short(w, pid, c, on_clock))
		return false;
	wait_for_descriptor(w, pid, (uint64_t)fd, false, now_ns, ret);
	ret->reason = WAIT_LOCK;
	ret->unsure = true; /* it may be free a moment later */
	return true;
}
