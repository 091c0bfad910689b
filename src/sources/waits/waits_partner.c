/*
 * Whom a thread waits for, by the descriptor it waits on: /proc/PID/fd/N names a file, a pipe or a
 * socket by its inode. The other end of a pipe is whoever of the job has the same inode open in the
 * other direction.
 */
#include "sources/waits/waits.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "core/clock.h"
#include "core/system/procparse.h"
#include "core/text/text.h"

#define COST_PART 200
#define LEAST_NS 1000000000ull
#define ENDS_MAX 16384
#define PROCESS_FDS_MAX 1024
#define LINK_MAX_BYTES 256
#define NEW_MAX 8 /* processes listed at once between two lists of all */

enum target {
	TARGET_GONE,
	TARGET_FILE,
	TARGET_PIPE,
	TARGET_FIFO,
	TARGET_SOCKET,
	TARGET_TERMINAL,
	TARGET_EVENT,
	TARGET_TIMER,
	TARGET_CHILD,
	TARGET_NETWORK, /* events of a network adapter */
	TARGET_RING,
	TARGET_EPOLL,
	TARGET_DEVICE, /* computes for its programs */
	TARGET_OTHER,
};

struct link {
	enum target what;
	uint64_t inode;
	char text[LINK_MAX_BYTES];
};

void wait_partners_open(struct wait_partners *w, const struct source_context *ctx,
			struct procdir *dir)
{
	*w = (struct wait_partners){.ctx = ctx, .dir = dir, .sockets = {.dir = dir, .diag = -2}};
}

void wait_partners_release(struct wait_partners *w)
{
	wait_sockets_release(&w->sockets);
	wait_file_locks_release(&w->file_locks);
	free(w->ends);
	*w = (struct wait_partners){0};
}

/* ---- descriptors ---------------------------------------------------------------------------- */

/* "pipe:[4711]" */
static bool has_inode(const char *text, const char *begin, uint64_t *ret)
{
	size_t n = strlen(begin);
	char *end;

	if (strncmp(text, begin, n) != 0)
		return false;
	errno = 0;
	*ret = strtoull(text + n, &end, 10);
	return errno == 0 && *end == ']' && end > text + n;
}

/* The type of what a descriptor refers to, from the kernel's cache: a dead file server must not
 * block us. */
static unsigned type_of(const struct procdir *dir, const char *path)
{
	struct statx st;

	if (!dir->live ||
	    statx(dir->fd, path, AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT, STATX_TYPE, &st) < 0)
		return 0;
	return st.stx_mode & S_IFMT;
}

static enum target anonymous(const char *name)
{
	static const struct {
		const char *name;
		enum target what;
	} kinds[] = {
		{"[eventfd]", TARGET_EVENT},   {"[timerfd]", TARGET_TIMER},
		{"[pidfd]", TARGET_CHILD},     {"[infinibandevent]", TARGET_NETWORK},
		{"[io_uring]", TARGET_RING},   {"[eventpoll]", TARGET_EPOLL},
		{"[rdma_cm]", TARGET_NETWORK},
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++)
		if (!strcmp(name, kinds[i].name))
			return kinds[i].what;
	return TARGET_OTHER;
}

/* Accelerators, by the files that their drivers' libraries open. */
static bool is_device(const char *path)
{
	static const char *const begins[] = {"/dev/nvidia", "/dev/kfd", "/dev/dri/", "/dev/accel"};

	for (size_t i = 0; i < ARRAY_SIZE(begins); i++)
		if (!strncmp(path, begins[i], strlen(begins[i])))
			return true;
	return false;
}

static enum target file_target(const struct procdir *dir, const char *path, const char *text)
{
	if (!strncmp(text, "/dev/pts/", 9) || !strncmp(text, "/dev/tty", 8) ||
	    !strcmp(text, "/dev/console"))
		return TARGET_TERMINAL;
	if (!strncmp(text, "/dev/infiniband/", 16))
		return TARGET_NETWORK;
	if (!strncmp(text, "/dev/mqueue/", 12))
		return TARGET_EVENT;
	if (is_device(text))
		return TARGET_DEVICE;
	unsigned type = type_of(dir, path);
	if (type == S_IFIFO)
		return TARGET_FIFO;
	if (type == S_IFCHR ||
	    (!type && !strncmp(text, "/dev/", 5) && strncmp(text, "/dev/shm/", 9) != 0))
		return TARGET_OTHER;
	return TARGET_FILE;
}

static void read_link(const struct procdir *dir, int pid, uint64_t fd, struct link *ret)
{
	char name[32], path[64];

	*ret = (struct link){.what = TARGET_GONE};
	if (fd > INT32_MAX)
		return;
	snprintf(name, sizeof(name), "fd/%u", (unsigned)fd);
	ssize_t n = procdir_link(dir, pid, name, ret->text, sizeof(ret->text) - 1);
	if (n <= 0)
		return;
	ret->text[n] = 0;
	snprintf(path, sizeof(path), "%d/%s", pid, name);
	if (has_inode(ret->text, "pipe:[", &ret->inode))
		ret->what = TARGET_PIPE;
	else if (has_inode(ret->text, "socket:[", &ret->inode))
		ret->what = TARGET_SOCKET;
	else if (!strncmp(ret->text, "anon_inode:", 11))
		ret->what = anonymous(ret->text + 11);
	else if (ret->text[0] == '/')
		ret->what = file_target(dir, path, ret->text);
	else
		ret->what = TARGET_OTHER;
}

/* ---- the ends of pipes and sockets in the job ----------------------------------------------- */

struct listing {
	struct wait_partners *w;
	int pid;
	size_t left;
};

static void add_end(void *user, int fd)
{
	struct listing *l = user;
	struct wait_partners *w = l->w;
	char name[32], path[64], text[64];
	struct stat st;
	uint64_t inode;

	if (!l->left || w->count >= ENDS_MAX)
		return;
	l->left--;
	snprintf(name, sizeof(name), "fd/%d", fd);
	ssize_t n = procdir_link(w->dir, l->pid, name, text, sizeof(text) - 1);
	if (n <= 0)
		return;
	text[n] = 0;
	bool pipe = has_inode(text, "pipe:[", &inode);
	if (!pipe && !has_inode(text, "socket:[", &inode))
		return;
	struct wait_end e = {.inode = inode, .pid = l->pid, .in = true, .out = true};
	snprintf(path, sizeof(path), "%d/%s", l->pid, name);
	/* the permissions of the link are the directions in which it is open */
	if (pipe && fstatat(w->dir->fd, path, &st, AT_SYMLINK_NOFOLLOW) == 0) {
		e.in = (st.st_mode & S_IRUSR) != 0;
		e.out = (st.st_mode & S_IWUSR) != 0;
	}
	GROW(w->ends, w->count, w->cap);
	w->ends[w->count++] = e;
}

static int by_inode(const void *a, const void *b)
{
	const struct wait_end *x = a, *y = b;

	if (x->inode != y->inode)
		return x->inode < y->inode ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

static void list_ends(struct wait_partners *w, uint64_t now_ns)
{
	uint64_t before = clock_thread_cpu_ns();

	w->count = 0;
	w->listed_ticks = clock_boottime_ns() / 1000 / PL_TICK_US;
	for (size_t i = 0; i < w->ctx->watch->count; i++) {
		struct listing l = {w, w->ctx->watch->list[i].pid, PROCESS_FDS_MAX};

		(void)procdir_numbers(w->dir, l.pid, "fd", add_end, &l);
	}
	if (w->count)
		qsort(w->ends, w->count, sizeof(*w->ends), by_inode);
	uint64_t pause = (clock_thread_cpu_ns() - before) * COST_PART;
	w->next_ns = now_ns + (pause > LEAST_NS ? pause : LEAST_NS);
}

/* Lists a process again. */
static void list_process(struct wait_partners *w, int pid)
{
	struct listing l = {w, pid, PROCESS_FDS_MAX};
	size_t left = 0;

	for (size_t i = 0; i < w->count; i++)
		if (w->ends[i].pid != pid)
			w->ends[left++] = w->ends[i];
	w->count = left;
	(void)procdir_numbers(w->dir, pid, "fd", add_end, &l);
}

/* Lists this one and a few that are newer than the list: one of them may have the other end. */
static void list_new(struct wait_partners *w, int pid)
{
	const struct job_processes *all = w->ctx->watch;
	size_t left = NEW_MAX;

	list_process(w, pid);
	for (size_t i = all->count; i-- > 0 && left;) {
		if (all->list[i].starttime < w->listed_ticks || all->list[i].pid == pid)
			continue;
		list_process(w, all->list[i].pid);
		left--;
	}
	if (w->count)
		qsort(w->ends, w->count, sizeof(*w->ends), by_inode);
}

/* Who has the other end? own: does only the process itself have it? */
static size_t count_ends(const struct wait_partners *w, uint64_t inode, int pid, bool out,
			 int *ret_pid, bool *ret_own)
{
	size_t low = 0, high = w->count, others = 0;
	int last = -1;

	*ret_own = false;
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (w->ends[mid].inode < inode)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < w->count && w->ends[low].inode == inode; low++) {
		const struct wait_end *e = &w->ends[low];

		if (out ? !e->in : !e->out)
			continue;
		if (e->pid == pid) {
			*ret_own = true;
		} else if (e->pid != last) {
			if (!others++)
				*ret_pid = e->pid;
			last = e->pid;
		}
	}
	return others;
}

/* Adds "4711.88963 (sort)". */
static void add_process(struct wait_partners *w, int pid, struct strbuf *out)
{
	const struct job_process *p = job_processes_find(w->ctx->watch, pid);
	char comm[32];
	int fd = -1;

	if (p)
		strbuf_addf(out, "%d.%llu", pid, (unsigned long long)p->starttime);
	else
		strbuf_addf(out, "%d", pid);
	ssize_t n = procdir_read(w->dir, &fd, pid, "comm", false, comm, sizeof(comm));
	while (n > 0 && comm[n - 1] == '\n')
		n--;
	if (n > 0)
		strbuf_addf(out, " (%.*s)", (int)n, comm);
}

/* Adds "from 4711.88963 (sort)" if somebody of the job has the other end. */
static void add_other_end(struct wait_partners *w, uint64_t inode, int pid, bool out,
			  uint64_t now_ns, struct wait_seen *ret, struct strbuf *text)
{
	int other = 0;
	bool own;
	size_t n = count_ends(w, inode, pid, out, &other, &own);

	if (!n && now_ns >= w->next_ns) {
		list_ends(w, now_ns);
		n = count_ends(w, inode, pid, out, &other, &own);
	} else if (!n && !own) {
		list_new(w, pid);
		n = count_ends(w, inode, pid, out, &other, &own);
	}
	if (!n) {
		strbuf_addstr(text, own ? " within the process" : "");
		ret->unsure = true;
		return;
	}
	ret->member = true;
	strbuf_addstr(text, out ? " to " : " from ");
	add_process(w, other, text);
	if (n > 1)
		strbuf_addf(text, " and %zu more", n - 1);
}

/* ---- meaning -------------------------------------------------------------------------------- */

/* Printable, in one piece of the list: no "; ". */
static void set_partner(struct wait_seen *ret, const struct strbuf *text)
{
	_cleanup_strbuf_ struct strbuf clean = STRBUF_INIT;

	text_add_printable(&clean, text->buf, text->len);
	size_t n = clean.len;
	if (n >= sizeof(ret->partner))
		for (n = sizeof(ret->partner) - 1;
		     n && ((unsigned char)clean.buf[n] & 0xc0) == 0x80;)
			n--;
	memcpy(ret->partner, clean.buf, n);
	ret->partner[n] = 0;
	for (char *p = ret->partner; *p; p++)
		if (*p == ';')
			*p = ',';
}

static void for_socket(struct wait_partners *w, int pid, const struct link *l, bool out,
		       uint64_t now_ns, struct wait_seen *ret, struct strbuf *text)
{
	const struct wait_socket *one = wait_sockets_find(&w->sockets, pid, l->inode, now_ns);

	ret->reason = WAIT_POLL;
	if (!one || one->place == SOCKET_UNKNOWN) {
		strbuf_addstr(text, "socket");
		ret->unsure = true;
		return;
	}
	if (one->place == SOCKET_KERNEL) {
		ret->reason = WAIT_OTHER;
		strbuf_addstr(text, "kernel socket");
		return;
	}
	ret->reason = one->place == SOCKET_REMOTE ? WAIT_NETWORK : WAIT_PROCESS;
	uint64_t peer = one->peer;
	ret->unsure = one->presumed || (one->place == SOCKET_LOCAL && !peer && !one->listening);
	/* who will call is not known; on this host it is one of the job, mostly */
	ret->member = one->place == SOCKET_LOCAL && one->listening;
	strbuf_addf(text, "%s%s", one->listening ? "new connection at " : "",
		    *one->name ? one->name : "socket");
	if (peer)
		add_other_end(w, peer, pid, out, now_ns, ret, text);
}

/* How a descriptor may end a wait. */
enum voice {
	LOUD,  /* whoever it leads to */
	QUIET, /* it may only be there to be woken by */
	DOOR,  /* the same: somebody may connect */
	OWN,   /* the same, and by nobody but the process itself */
	INNER, /* the same: a connection of the process with its own listening socket */
};

static enum voice voice_of_socket(const struct wait_seen *seen, const char *text)
{
	/* CUDA's library listens there in a thread of each process, for others that share its
	 * memory: hardly one ever comes */
	if (strstr(text, "@cuda-uvmfd-"))
		return OWN;
	/* a socket of a pair has no name */
	if (strstr(text, " within "))
		return !strncmp(text, "socket", 6) ? OWN : INNER;
	if (strstr(text, "connection at "))
		return DOOR;
	return seen->reason == WAIT_OTHER ? QUIET : LOUD;
}

/* What waiting on a link means. */
static void for_link(struct wait_partners *w, int pid, const struct link *l, bool out,
		     uint64_t now_ns, struct wait_seen *ret, enum voice *ret_voice)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	*ret_voice = LOUD;
	switch (l->what) {
	case TARGET_GONE:
		ret->reason = WAIT_UNKNOWN;
		return;
	case TARGET_FILE:
		ret->reason = WAIT_STORAGE;
		strbuf_addstr(&text, l->text);
		break;
	case TARGET_PIPE:
		ret->reason = WAIT_PROCESS;
		strbuf_addstr(&text, "pipe");
		add_other_end(w, l->inode, pid, out, now_ns, ret, &text);
		*ret_voice = strstr(text.buf, " within ") ? OWN : LOUD;
		break;
	case TARGET_FIFO:
		ret->reason = WAIT_PROCESS;
		strbuf_addf(&text, "fifo %s", l->text);
		break;
	case TARGET_SOCKET:
		for_socket(w, pid, l, out, now_ns, ret, &text);
		*ret_voice = voice_of_socket(ret, text.buf);
		break;
	case TARGET_TERMINAL:
		ret->reason = WAIT_OTHER;
		strbuf_addf(&text, "terminal %s", l->text);
		break;
	case TARGET_EVENT:
		ret->reason = WAIT_PROCESS;
		strbuf_addstr(&text, l->text[0] == '/' ? l->text : "eventfd");
		*ret_voice = l->text[0] == '/' ? QUIET : OWN;
		break;
	case TARGET_TIMER:
		ret->reason = WAIT_TIMER;
		strbuf_addstr(&text, "timerfd");
		*ret_voice = OWN;
		break;
	case TARGET_CHILD:
		ret->reason = WAIT_CHILD;
		strbuf_addstr(&text, "pidfd");
		break;
	case TARGET_NETWORK:
		ret->reason = WAIT_NETWORK;
		strbuf_addstr(&text, l->text);
		break;
	case TARGET_DEVICE:
		ret->reason = WAIT_DEVICE;
		strbuf_addstr(&text, l->text);
		break;
	case TARGET_EPOLL:
		ret->reason = WAIT_POLL;
		strbuf_addstr(&text, "epoll");
		break;
	case TARGET_RING:
	case TARGET_OTHER:
		ret->reason = WAIT_OTHER;
		strbuf_addstr(&text, l->text);
		*ret_voice = !strncmp(l->text, "anon_inode:", 11) ? QUIET : LOUD;
		break;
	}
	set_partner(ret, &text);
}

void wait_for_descriptor(struct wait_partners *w, int pid, uint64_t fd, bool out, uint64_t now_ns,
			 struct wait_seen *ret)
{
	struct link l;
	enum voice voice;

	read_link(w->dir, pid, fd, &l);
	for_link(w, pid, &l, out, now_ns, ret, &voice);
}

void wait_for_any(struct wait_partners *w, int pid, const int *fds, size_t count, bool timed,
		  uint64_t now_ns, struct wait_seen *ret)
{
	struct wait_seen loud = {.reason = WAIT_UNKNOWN}, quiet = loud;
	size_t louds = 0, quiets = 0, own = 0, doors = 0, inner = 0;
	bool mixed_loud = false, mixed_quiet = false;

	for (size_t i = 0; i < count; i++) {
		struct wait_seen one = {.reason = WAIT_UNKNOWN};
		struct link l;
		enum voice voice;

		read_link(w->dir, pid, (uint64_t)(unsigned)fds[i], &l);
		for_link(w, pid, &l, false, now_ns, &one, &voice);
		bool is_quiet = voice != LOUD;
		own += voice == OWN || voice == INNER;
		inner += voice == INNER;
		doors += voice == DOOR;
		timed |= l.what == TARGET_TIMER;
		struct wait_seen *sum = is_quiet ? &quiet : &loud;
		size_t *n = is_quiet ? &quiets : &louds;
		bool *mixed = is_quiet ? &mixed_quiet : &mixed_loud;

		ret->unsure |= one.unsure;
		*mixed |= *n && one.reason != sum->reason;
		if (!(*n)++)
			*sum = one;
		sum->member |= one.member; /* others are those of who started the job */
	}
	/* who is its own client is the server of nobody else */
	if (own + (inner ? doors : 0) == count) {
		/* without a time-out another of its threads has to wake it */
		ret->reason = timed ? WAIT_TIMER : WAIT_CONDITION;
		return;
	}
	const struct wait_seen *sum = louds ? &loud : &quiet;
	size_t n = louds ? louds : quiets;
	if ((louds ? mixed_loud : mixed_quiet) || sum->reason >= WAIT_REASONS) {
		ret->reason = WAIT_POLL;
		snprintf(ret->partner, sizeof(ret->partner), "%zu descriptors", count);
		return;
	}
	ret->reason = sum->reason;
	ret->member = sum->member;
	size_t size = strlen(sum->partner);
	memcpy(ret->partner, sum->partner, size + 1);
	if (n > 1)
		snprintf(ret->partner + size, sizeof(ret->partner) - size, " and %zu more", n - 1);
}

/* ---- all sockets of a process --------------------------------------------------------------- */

struct survey {
	struct wait_partners *w;
	int pid;
	uint64_t now_ns;
	size_t sockets, left;
	enum socket_place place;
	bool mixed;
};

static void survey_fd(void *user, int fd)
{
	struct survey *s = user;
	struct link l;

	if (!s->left)
		return;
	s->left--;
	read_link(s->w->dir, s->pid, (uint64_t)fd, &l);
	if (l.what != TARGET_SOCKET)
		return;
	const struct wait_socket *one =
		wait_sockets_find(&s->w->sockets, s->pid, l.inode, s->now_ns);
	if (one && one->place == SOCKET_KERNEL)
		return;
	enum socket_place place = one ? one->place : SOCKET_UNKNOWN;
	s->mixed |= s->sockets && place != s->place;
	s->place = place;
	s->sockets++;
}

enum socket_place wait_sockets_of(struct wait_partners *w, int pid, uint64_t now_ns, size_t *ret)
{
	struct survey s = {.w = w, .pid = pid, .now_ns = now_ns, .left = PROCESS_FDS_MAX};

	(void)procdir_numbers(w->dir, pid, "fd", survey_fd, &s);
	*ret = s.sockets;
	return s.mixed || !s.sockets || !s.left ? SOCKET_UNKNOWN : s.place;
}

bool wait_thread_exists(const struct procdir *dir, int pid, uint32_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "%d/task/%u", pid, tid);
	return tid && faccessat(dir->fd, path, F_OK, 0) == 0;
}
