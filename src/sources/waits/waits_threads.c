/*
 * Looking at the threads of the job, within a budget; see waits.h. One that runs costs one read,
 * one that sleeps in the same call as before two. With more threads than the budget allows a look
 * stops, and the next one goes on from there: each thread counts the time since its own last look.
 */
#include "sources/waits/waits.h"

#include <errno.h>
#include <string.h>

#include "core/clock.h"
#include "core/system/procparse.h"

/* More threads of a process are ignored. */
#define THREADS_MAX 65536
/* The budget is checked after this many threads. */
#define AT_ONCE 16
/* A partner is looked up again after this time, though the call looks the same: others may have
 * closed their descriptors. One that was not found, sooner. */
#define PARTNER_NS 10000000000ull
#define UNSURE_NS 1000000000ull
/* Looks until files that may not be read are tried again: a program may have been executed. */
#define RETRY 25
/* Looks at a thread by its state first, after its call could not be told. */
#define BRISK 16

/* ---- accounts ------------------------------------------------------------------------------- */

/* The account of a reason with its partner; when there are too many, the smallest makes room. */
static uint16_t site_of(struct wait_process *p, const struct wait_seen *seen)
{
	size_t at = 0;

	for (size_t i = 0; i < p->site_count; i++) {
		const struct wait_seen *s = &p->sites[i].seen;

		if (s->reason == seen->reason && s->call == seen->call &&
		    !strcmp(s->partner, seen->partner))
			return (uint16_t)i;
		if (p->sites[i].us < p->sites[at].us)
			at = i;
	}
	if (p->site_count < WAIT_SITES)
		at = p->site_count++;
	p->sites[at] = (struct wait_site){.seen = *seen};
	return (uint16_t)at;
}

/* Counts the time since the last look. */
static void count(struct waits *w, struct wait_process *p, struct wait_thread *t, uint64_t now_ns)
{
	uint64_t us = now_ns > t->last_ns ? (now_ns - t->last_ns) / 1000 : 0;

	t->last_ns += us * 1000;
	if (t->last_ns < now_ns && now_ns - t->last_ns > 1000)
		t->last_ns = now_ns;
	p->observed_us += us;
	w->observed_us += us;
	if (t->reason >= WAIT_REASONS)
		return;
	p->us[t->reason] += us;
	w->us[t->reason] += us;
	if (t->reason == WAIT_RUNNING) {
		t->window_us += us;
		if (t->window_us > p->window_most_us)
			p->window_most_us = t->window_us;
	}
	if (t->reason == WAIT_PROCESS && t->member) {
		p->members_us += us;
		w->members_us += us;
	}
	if (t->reason != WAIT_RUNNING && t->site < p->site_count &&
	    p->sites[t->site].seen.reason == t->reason)
		p->sites[t->site].us += us;
}

/* Counts the time since the last look for the state that was found then; not of a thread that
 * nobody looked at. */
static void carry(struct waits *w, struct wait_process *p, struct wait_thread *t, uint64_t now_ns)
{
	if (t->known || t->reason < WAIT_REASONS)
		count(w, p, t, now_ns);
}

/* It ended, nobody knows when since it was last counted. */
static void carry_half(struct waits *w, struct wait_process *p, struct wait_thread *t,
		       uint64_t now_ns)
{
	if (now_ns > t->last_ns)
		carry(w, p, t, t->last_ns + (now_ns - t->last_ns) / 2);
}

void waits_carry(struct waits *w, uint64_t now_ns)
{
	for (size_t i = 0; i < w->count; i++)
		for (size_t k = 0; k < w->list[i].count; k++)
			carry(w, &w->list[i], &w->list[i].threads[k], now_ns);
}

/* ---- a thread ------------------------------------------------------------------------------- */

static ssize_t read_thread(struct waits *w, const struct wait_process *p, struct wait_thread *t,
			   int *fd, const char *file, char *buf, size_t size)
{
	char name[40] = "";

	if (*fd < 0)
		snprintf(name, sizeof(name), "task/%d/%s", t->tid, file);
	return procdir_read(&w->dir, fd, p->pid, name, *fd < 0, buf, size);
}

/* By where it sleeps in the kernel. state: of stat; 0: unknown. */
static void by_wchan(struct waits *w, struct wait_process *p, struct wait_thread *t, int state,
		     uint64_t now_ns, struct wait_seen *seen)
{
	char text[128];
	const char *what;
	int fd = -1;
	size_t sockets;

	char name[40];
	snprintf(name, sizeof(name), "task/%d/wchan", t->tid);
	ssize_t n = procdir_read(&w->dir, &fd, p->pid, name, false, text, sizeof(text));
	bool told = n > 0 && !(n == 1 && text[0] == '0');
	enum wait_reason r = told ? wait_by_wchan(text, (size_t)n, &what) : WAIT_UNKNOWN;

	if (r == WAIT_SOCKET) {
		enum socket_place place = wait_sockets_of(&w->partners, p->pid, now_ns, &sockets);

		r = place == SOCKET_REMOTE  ? WAIT_NETWORK
		    : place == SOCKET_LOCAL ? WAIT_PROCESS
					    : WAIT_POLL;
	}
	if (r == WAIT_UNKNOWN && state == 'D')
		r = WAIT_STORAGE;
	else if (r == WAIT_UNKNOWN && told)
		r = WAIT_OTHER;
	else if (r != WAIT_UNKNOWN && !seen->call)
		seen->call = what;
	/* without the call nothing is known where even this is hidden */
	if (r == WAIT_UNKNOWN && !p->refused)
		r = WAIT_OTHER;
	p->blind |= r == WAIT_UNKNOWN;
	seen->reason = r;
}

/* The state of a thread; 0: unknown. */
static int state_of(struct waits *w, const struct wait_process *p, const struct wait_thread *t)
{
	char name[40], text[1024];
	struct proc_stat st;
	int fd = -1;

	snprintf(name, sizeof(name), "task/%d/stat", t->tid);
	ssize_t n = procdir_read(&w->dir, &fd, p->pid, name, false, text, sizeof(text));
	return n > 0 && proc_parse_stat(text, (size_t)n, &st) ? (int)st.f[STAT_STATE] : 0;
}

/* When its partner is to be looked up again. */
static uint64_t due(const struct wait_thread *t)
{
	return t->checked_ns + (t->unsure ? UNSURE_NS : PARTNER_NS);
}

/* It sleeps: why? call: NULL if it may not be read. */
static void classify(struct waits *w, struct wait_process *p, struct wait_thread *t,
		     const struct wait_syscall *call, int state, uint64_t now_ns)
{
	struct wait_seen seen = {.reason = WAIT_UNKNOWN};

	if (call && !call->narrow)
		wait_for_call(&w->partners, p->pid, call, now_ns, &seen);
	if (seen.reason == WAIT_UNKNOWN) {
		if (!state)
			state = state_of(w, p, t);
		if (state == 'R') {
			t->reason = WAIT_RUNNING;
			t->known = false;
			return;
		}
		by_wchan(w, p, t, state, now_ns, &seen);
	}
	t->reason = seen.reason;
	t->member = seen.member;
	t->known = true;
	t->unsure = seen.unsure;
	t->checked_ns = now_ns;
	if (seen.reason < WAIT_REASONS) {
		t->site = site_of(p, &seen);
		t->slept = true;
	}
}

/*
 * The kernel tells no call of a thread that wakes up while it looks: of one that waits very often
 * and very shortly, as for a fast disk, it says "running" most of the time. Its state, which is
 * that of one moment, decides: if it sleeps, it does so where it did before. Once that is known of
 * a thread its state is read first: waiting for its call to be told selects moments of sleep.
 */
static void look_between_calls(struct waits *w, struct wait_process *p, struct wait_thread *t,
			       int state, uint64_t now_ns)
{
	enum wait_reason before =
		t->slept && t->site < p->site_count ? p->sites[t->site].seen.reason : WAIT_UNKNOWN;

	if (!state)
		state = state_of(w, p, t);
	t->brisk = BRISK;
	t->known = false;
	t->reason = WAIT_RUNNING;
	if (state != 'D' && state != 'S')
		return;
	if (before != WAIT_UNKNOWN && (before == WAIT_STORAGE) == (state == 'D')) {
		t->reason = before;
		t->member = p->sites[t->site].seen.member;
	} else if (state == 'D') {
		classify(w, p, t, NULL, state, now_ns);
	}
}

/* Looks at a thread; state: of stat, if it is known. False: it is gone. */
static bool look_at_thread(struct waits *w, struct wait_process *p, struct wait_thread *t,
			   int state, uint64_t now_ns)
{
	struct wait_syscall call;
	char text[256];

	if (!state && t->brisk) {
		t->brisk--;
		state = state_of(w, p, t);
	}
	if (state == 'R' || state == 'T' || state == 't') {
		struct wait_seen stopped = {.reason = WAIT_OTHER, .call = "stopped"};

		t->known = false;
		t->reason = state == 'R' ? WAIT_RUNNING : WAIT_OTHER;
		if (state != 'R')
			t->site = site_of(p, &stopped);
		return true;
	}
	ssize_t n = p->refused
			    ? -EACCES
			    : read_thread(w, p, t, &t->syscall_fd, "syscall", text, sizeof(text));
	if (n == -ESRCH || n == -ENOENT)
		return n == -ENOENT && state; /* the kernel may not have the file */
	if (n < 0) {
		p->refused = w->refused = true;
		if (!state)
			state = state_of(w, p, t);
		if (!state)
			return false;
		if (state == 'R')
			t->reason = WAIT_RUNNING;
		else
			classify(w, p, t, NULL, state, now_ns);
		return true;
	}
	if (!wait_parse_syscall(text, (size_t)n, &call)) {
		classify(w, p, t, NULL, state, now_ns);
		return true;
	}
	if (call.running) {
		look_between_calls(w, p, t, state, now_ns);
		return true;
	}
	uint64_t hash = hash_bytes(text, (size_t)n);
	if (t->known && hash == t->text_hash && now_ns < due(t) && t->site < p->site_count &&
	    p->sites[t->site].seen.reason == t->reason)
		return true;
	t->text_hash = hash;
	classify(w, p, t, &call, state, now_ns);
	return true;
}

/* ---- the threads of a process --------------------------------------------------------------- */

struct listing {
	struct wait_process *p;
	uint64_t birth_ns; /* of those that are new */
};

static void take_tid(void *user, int tid)
{
	const struct listing *l = user;
	struct wait_process *p = l->p;

	for (size_t n = 0; n < p->old; n++) {
		size_t i = (p->hint + n) % p->old;

		if (p->threads[i].tid == tid) {
			p->threads[i].listed = true;
			p->hint = i + 1;
			return;
		}
	}
	if (p->count >= THREADS_MAX)
		return;
	GROW(p->threads, p->count, p->cap);
	p->threads[p->count++] = (struct wait_thread){.tid = tid,
						      .syscall_fd = -1,
						      .listed = true,
						      .last_ns = l->birth_ns,
						      .reason = WAIT_UNKNOWN};
}

/* New threads began since the last listing, on average in the middle of that time. */
static void list_threads(struct waits *w, struct wait_process *p, uint64_t now_ns)
{
	struct listing l = {p, 0};
	size_t left = 0;

	if (p->listed_ns) {
		l.birth_ns = p->listed_ns + (now_ns - p->listed_ns) / 2;
	} else {
		l.birth_ns = p->starttime * PL_TICK_US * 1000;
		l.birth_ns = l.birth_ns > w->began_ns ? l.birth_ns : w->began_ns;
	}
	l.birth_ns = l.birth_ns < now_ns ? l.birth_ns : now_ns;
	for (size_t i = 0; i < p->count; i++)
		p->threads[i].listed = false;
	p->old = p->count;
	p->hint = 0;
	if (p->thread_count == 1)
		take_tid(&l, p->pid);
	else if (procdir_numbers(&w->dir, p->pid, "task", take_tid, &l) < 0)
		return;
	for (size_t i = 0; i < p->count; i++) {
		if (p->threads[i].listed) {
			p->threads[left++] = p->threads[i];
			continue;
		}
		carry_half(w, p, &p->threads[i], now_ns);
		procdir_forget(&w->dir, &p->threads[i].syscall_fd);
	}
	p->count = left;
	p->listed_ns = now_ns;
}

static bool over(const struct waits *w, uint64_t began_ns)
{
	return w->spare_ns && clock_thread_cpu_ns() - began_ns > w->spare_ns;
}

/* Did it not run since it was last looked at as a whole? */
static bool is_idle(const struct waits *w, struct wait_process *p)
{
	uint64_t before = p->cpu_ns;

	if (!w->dir.idle_known || !procdir_cpu_clock(&w->dir, p->pid, &p->cpu_ns)) {
		p->cpu_ns = 0;
		return false;
	}
	return before && before == p->cpu_ns && !p->next;
}

static void count_idle(struct waits *w, struct wait_process *p, uint64_t now_ns)
{
	for (size_t i = 0; i < p->count; i++)
		count(w, p, &p->threads[i], now_ns);
}

/* Looks at the threads whose turn it is. False: the budget is used up. */
static bool look_at_threads(struct waits *w, struct wait_process *p, int state, uint64_t now_ns,
			    uint64_t began_ns)
{
	bool lost = false;

	if (!p->next)
		p->recheck_ns = now_ns + PARTNER_NS;
	while (p->next < p->count) {
		struct wait_thread *t = &p->threads[p->next];
		bool first = t->tid == p->pid, stopped = state == 'T' || state == 't';

		if (first && (state == 'Z' || state == 'X'))
			t->last_ns = now_ns;
		else if (look_at_thread(w, p, t, first || stopped ? state : 0, now_ns))
			count(w, p, t, now_ns);
		else
			lost = true;
		if (t->known && due(t) < p->recheck_ns)
			p->recheck_ns = due(t);
		p->next++;
		if (p->next % AT_ONCE == 0 && p->next < p->count && over(w, began_ns))
			return false;
	}
	p->next = 0;
	if (lost) {
		p->thread_count = 0; /* list them at the next look */
		p->cpu_ns = 0;
	}
	return true;
}

static bool look_at_process(struct waits *w, struct wait_process *p, uint64_t now_ns,
			    uint64_t began_ns)
{
	struct proc_stat st;
	char text[1024];

	if (p->count && now_ns < p->recheck_ns && is_idle(w, p)) {
		count_idle(w, p, now_ns);
		return true;
	}
	ssize_t n = procdir_read(&w->dir, &p->stat_fd, p->pid, "stat", true, text, sizeof(text));
	if (n <= 0 || !clock_parse_stat(text, (size_t)n, &st) || st.last < STAT_STARTTIME ||
	    st.f[STAT_STARTTIME] != p->starttime) {
		p->cpu_ns = 0;
		return true; /* gone: the list of processes will say so */
	}
	if ((p->refused || p->blind) && ++p->retry >= RETRY) {
		p->refused = p->blind = false;
		p->retry = 0;
	}
	if (!p->next && (p->thread_count != st.f[STAT_NUM_THREADS] || !p->count)) {
		p->thread_count = st.f[STAT_NUM_THREADS];
		list_threads(w, p, now_ns);
	}
	return look_at_threads(w, p, (int)st.f[STAT_STATE], now_ns, began_ns);
}

void waits_look(struct waits *w, uint64_t now_ns)
{
	uint64_t began_ns = clock_thread_cpu_ns();

	if (w->next >= w->count)
		w->next = 0;
	for (size_t n = 0; n < w->count; n++) {
		struct wait_process *p = &w->list[w->next];

		if (!p->gone && !look_at_process(w, p, now_ns, began_ns))
			return;
		w->next = w->next + 1 < w->count ? w->next + 1 : 0;
		if (over(w, began_ns))
			return;
	}
}

/* ---- the processes -------------------------------------------------------------------------- */

static void forget(struct waits *w, struct wait_process *p)
{
	procdir_forget(&w->dir, &p->stat_fd);
	for (size_t i = 0; i < p->count; i++)
		procdir_forget(&w->dir, &p->threads[i].syscall_fd);
	free(p->threads);
	p->threads = NULL;
	p->count = p->cap = 0;
}

static void add_process(struct waits *w, const struct job_process *j)
{
	GROW(w->list, w->count, w->cap);
	w->list[w->count++] = (struct wait_process){
		.pid = j->pid, .starttime = j->starttime, .stat_fd = -1, .listed = true};
}

static int by_pid(const void *a, const void *b)
{
	const struct wait_process *x = a, *y = b;

	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

void waits_sync(struct waits *w, uint64_t now_ns)
{
	const struct job_processes *j = w->ctx->watch;
	size_t old = w->count, at = 0;

	for (size_t i = 0; i < old; i++)
		w->list[i].listed = false;
	/* both are sorted by pid; one that has ended may have the pid of a new one */
	for (size_t k = 0; k < j->count; k++) {
		const struct job_process *one = &j->list[k];

		while (at < old &&
		       (w->list[at].pid < one->pid ||
			(w->list[at].pid == one->pid &&
			 (w->list[at].gone || w->list[at].starttime != one->starttime))))
			at++;
		if (at < old && w->list[at].pid == one->pid)
			w->list[at++].listed = true;
		else
			add_process(w, one);
	}
	for (size_t i = 0; i < old; i++) {
		struct wait_process *p = &w->list[i];

		if (p->listed || p->gone)
			continue;
		for (size_t k = 0; k < p->count; k++)
			carry_half(w, p, &p->threads[k], now_ns);
		forget(w, p);
		p->gone = true;
	}
	if (w->count != old)
		qsort(w->list, w->count, sizeof(*w->list), by_pid);
}

void waits_drop_gone(struct waits *w)
{
	size_t left = 0;

	for (size_t i = 0; i < w->count; i++)
		if (!w->list[i].gone)
			w->list[left++] = w->list[i];
	w->count = left;
}

void waits_release(struct waits *w)
{
	for (size_t i = 0; i < w->count; i++)
		forget(w, &w->list[i]);
	free(w->list);
	w->list = NULL;
	w->count = w->cap = 0;
}
