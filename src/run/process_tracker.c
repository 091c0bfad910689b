/* Follows the processes of a run; see process_tracker.h. */
#include "run/process_tracker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/files/fs.h"
#include "core/system/process_stat.h"
#include "core/text/secrets.h"

/* Age at which /proc of a process is read: short ones are not worth it. */
#define PEEK_AGE_NS 100000000ull
#define SCAN_FIRST_NS 100000000ull
#define SCAN_LONGEST_NS 5000000000ull
/* Limit of stored exec times per process. */
#define EXEC_TIMES_MAX UINT16_MAX
#define CMDLINE_MAX (1 << 20)
/* Limits the rounds while processes end all the time. */
#define ROUNDS_MAX 8

/* ---- table of living processes -------------------------------------------------------------- */

static struct live *find(const struct process_tracker *l, int pid)
{
	return process_table_find(&l->live, pid);
}

static struct live *insert(struct process_tracker *l, int pid, int ppid, uint64_t begin_ns)
{
	struct live *p = process_table_put(&l->live, pid);

	*p = (struct live){.pid = pid,
			   .ppid = ppid,
			   .begin_ns = begin_ns,
			   .threads_alive = 1,
			   .threads_total = 1,
			   .status = -1};
	l->unpeeked++;
	return p;
}

static void free_exec_times(struct live *p)
{
	if (p->exec_at)
		strbuf_release(p->exec_at);
	free(p->exec_at);
}

static void erase(struct process_tracker *l, struct live *p)
{
	l->unpeeked -= !p->peeked;
	free_exec_times(p);
	process_table_remove(&l->live, p->pid);
}

/* ---- kernel events -------------------------------------------------------------------------- */

struct draining {
	struct process_tracker *l;
	struct record_writer *w;
	size_t events;
};

/* Values that are added over the threads of a process. */
static const struct {
	enum metric_id id;
	size_t offset;
} sums[] = {
	{METRIC_TIME_ONCPU, offsetof(struct task_exit, oncpu_ns)},
	{METRIC_TIME_WAITING, offsetof(struct task_exit, waiting_ns)},
	{METRIC_TIMESLICES, offsetof(struct task_exit, timeslices)},
	{METRIC_USERTIME, offsetof(struct task_exit, utime_us)},
	{METRIC_SYSTEMTIME, offsetof(struct task_exit, stime_us)},
	{METRIC_MINFLT, offsetof(struct task_exit, minflt)},
	{METRIC_MAJFLT, offsetof(struct task_exit, majflt)},
	{METRIC_VOL_CTXSW, offsetof(struct task_exit, vol_ctxsw)},
	{METRIC_INVOL_CTXSW, offsetof(struct task_exit, invol_ctxsw)},
	{METRIC_READ_BYTES, offsetof(struct task_exit, read_bytes)},
	{METRIC_WRITE_BYTES, offsetof(struct task_exit, write_bytes)},
	{METRIC_CANCELLED_WRITE_BYTES, offsetof(struct task_exit, cancelled_write_bytes)},
};

static uint64_t *sum_at(const struct task_exit *e, size_t i)
{
	return (uint64_t *)((uintptr_t)e + sums[i].offset);
}

static void write_exit(struct process_tracker *l, const struct live *p, struct record_writer *w)
{
	unsigned flags = PL_F_CNPROC;

	record_writer_begin(w);
	record_writer_u64(w, METRIC_PID, (uint64_t)p->pid);
	record_writer_u64(w, METRIC_PPID, (uint64_t)p->ppid);
	record_writer_u64(w, METRIC_PROCDEV, l->procdev);
	record_writer_u64(w, METRIC_BEGIN, p->begin_ns);
	record_writer_u64(w, METRIC_BOOTTIME, p->end_ns);
	record_writer_u64(w, METRIC_EXECS, p->execs);
	if (p->exec_at)
		record_writer_text(w, METRIC_EXEC_TIMES, p->exec_at->buf, p->exec_at->len);
	record_writer_u64(w, METRIC_NUMTIDS, p->threads_total);
	if (p->status >= 0)
		record_writer_status(w, p->status);
	if (p->counted) {
		record_writer_text(w, METRIC_COMM, p->stats.comm, strlen(p->stats.comm));
		record_writer_u64(w, METRIC_RSSMAX, p->stats.rss_peak_kib);
		record_writer_u64(w, METRIC_VMPEAK, p->stats.vm_peak_kib);
	}
	/* sums are too small if a thread is missing: its record was lost, or an old kernel did not
	 * name its process */
	if (p->counted && p->counted >= p->threads_total) {
		flags |= PL_F_TASKSTATS;
		for (size_t i = 0; i < ARRAY_SIZE(sums); i++)
			record_writer_u64(w, sums[i].id, *sum_at(&p->stats, i));
		if (p->stats.blkio_delay_ns)
			record_writer_u64(w, METRIC_DELAYACCT_BLKIO_TIME,
					  p->stats.blkio_delay_ns / 1000);
	}
	record_writer_add(w, PL_KEXIT, flags);
}

/* Notes an exec, after which the process gets another PEEK. */
static void note_exec(struct process_tracker *l, struct live *p, uint64_t ns)
{
	unsigned char buf[PL_VARINT_MAX];
	uint64_t since = p->exec_ns ? p->exec_ns : p->begin_ns;

	p->execs++;
	if (!p->exec_at) {
		p->exec_at = xcalloc(1, sizeof(*p->exec_at));
		*p->exec_at = (struct strbuf)STRBUF_INIT;
	}
	if (p->execs <= EXEC_TIMES_MAX)
		strbuf_add(p->exec_at, (char *)buf,
			   (size_t)(pl_put_varint(buf, ns > since ? ns - since : 0) - buf));
	p->exec_ns = ns > since ? ns : since;
	l->unpeeked += p->peeked;
	p->peeked = false;
}

static void add_gone(struct process_tracker *l, int tgid)
{
	GROW(l->gone, l->gone_count, l->gone_cap);
	l->gone[l->gone_count++] = tgid;
}

static void on_event(void *user, const struct cnproc_event *e)
{
	struct draining *d = user;
	struct process_tracker *l = d->l;
	struct live *p = find(l, e->tgid);

	d->events++;
	switch (e->what) {
	case CNPROC_FORK:
		if (e->pid != e->tgid) {
			if (p) {
				p->threads_alive++;
				p->threads_total++;
				l->own_events++;
			}
			break;
		}
		if (e->tgid == l->apart || (e->parent_tgid != l->root && !find(l, e->parent_tgid)))
			break;
		/* its exit event was lost: the pid is a new process now */
		if (p)
			erase(l, p);
		insert(l, e->tgid, e->parent_tgid, e->boottime_ns);
		l->forks++;
		l->own_events++;
		break;
	case CNPROC_EXEC:
		if (!p)
			break;
		l->own_events++;
		note_exec(l, p, e->boottime_ns);
		break;
	case CNPROC_EXIT:
		if (!p)
			break;
		l->own_events++;
		if (e->pid == e->tgid || p->status < 0)
			p->status = e->status;
		if (p->threads_alive)
			p->threads_alive--;
		p->end_ns = e->boottime_ns;
		if (!p->threads_alive && !p->gone) {
			p->gone = true;
			add_gone(l, p->pid);
			l->exits++;
		}
		break;
	}
}

static void keep_task_exit(void *user, const struct task_exit *e)
{
	struct process_tracker *l = ((struct draining *)user)->l;

	GROW(l->records, l->record_count, l->record_cap);
	l->records[l->record_count++] = *e;
}

static void add_task_exit(struct process_tracker *l, const struct task_exit *e)
{
	/* older kernels do not name the process of a thread: only first threads are found */
	struct live *p = find(l, e->tgid ? e->tgid : e->pid);

	if (!p)
		return;
	struct task_exit *s = &p->stats;
	if (!p->counted++ || e->pid == p->pid)
		memcpy(s->comm, e->comm, sizeof(s->comm));
	for (size_t i = 0; i < ARRAY_SIZE(sums); i++)
		*sum_at(s, i) += *sum_at(e, i);
	s->blkio_delay_ns += e->blkio_delay_ns;
	if (e->rss_peak_kib > s->rss_peak_kib)
		s->rss_peak_kib = e->rss_peak_kib;
	if (e->vm_peak_kib > s->vm_peak_kib)
		s->vm_peak_kib = e->vm_peak_kib;
}

/* Writes the first of the ended processes, which are complete. */
static void write_gone(struct process_tracker *l, size_t count, struct record_writer *w)
{
	for (size_t i = 0; i < count; i++) {
		struct live *p = find(l, l->gone[i]);

		if (p && p->gone) {
			write_exit(l, p, w);
			erase(l, p);
		}
	}
	l->gone_count -= count;
	if (l->gone_count)
		memmove(l->gone, l->gone + count, l->gone_count * sizeof(*l->gone));
}

/* Reads events. Lost ones do not matter if nothing happened to our processes by then. */
static void drain_events(struct process_tracker *l, struct draining *d)
{
	if (cnproc_drain(&l->cnproc, on_event, d) != 0 && (!l->armed || cnproc_empty(&l->waker)))
		l->lossy = true;
}

/*
 * The kernel sends a task's statistics before its exit event, and the fork before both. So a
 * process that the connector reports as gone is complete if its statistics are read after that; and
 * after reading the connector again the process of every statistic is known. Processes that this
 * second reading reports as gone may lack some: they wait for another round.
 */
size_t process_tracker_drain(struct process_tracker *l, struct record_writer *w)
{
	struct draining d = {l, w, 0};
	unsigned round = 0;

	if (l->cnproc.fd < 0)
		return 0;
	l->own_events = 0;
	do {
		drain_events(l, &d);
		size_t whole = l->gone_count;
		l->record_count = 0;
		if (l->taskstats.fd >= 0)
			l->lossy |= taskstats_drain(&l->taskstats, keep_task_exit, &d) != 0;
		if (l->record_count && round < ROUNDS_MAX)
			drain_events(l, &d);
		for (size_t i = 0; i < l->record_count; i++)
			add_task_exit(l, &l->records[i]);
		write_gone(l, whole, w);
	} while (l->gone_count && round++ < ROUNDS_MAX);
	/* the waker does not know those that are new */
	if (l->own_events)
		l->armed = false;
	return d.events;
}

bool process_tracker_arm(struct process_tracker *l, struct record_writer *w)
{
	int pids[CNPROC_WATCHED];
	size_t count = 0;
	struct live *p;

	if (l->armed)
		return true;
	if (l->waker.fd == -1 && cnproc_open_waker(&l->waker) < 0)
		l->waker.fd = -2;
	if (l->waker.fd < 0 || l->live.map.count >= CNPROC_WATCHED)
		return false;
	pids[count++] = l->root;
	PROCESS_TABLE_EACH(&l->live, p)
		pids[count++] = p->pid;
	if (cnproc_watch(&l->waker, pids, count) < 0)
		return false;
	(void)cnproc_empty(&l->waker);
	/* what happened before it watched is among the events */
	(void)process_tracker_drain(l, w);
	l->armed = !l->own_events;
	return l->armed;
}

void process_tracker_woken(struct process_tracker *l)
{
	(void)cnproc_empty(&l->waker);
	l->armed = false;
}

void process_tracker_begin(struct process_tracker *l, int pid)
{
	struct draining d = {l, NULL, 0};
	uint64_t now = clock_boottime_ns();

	if (l->cnproc.fd < 0)
		return;
	l->lossy |= cnproc_drain(&l->cnproc, on_event, &d) != 0;
	if (find(l, pid))
		return;
	l->lossy = true;
	note_exec(l, insert(l, pid, l->root, now), now);
	l->forks++;
}

/* ---- looking at /proc ----------------------------------------------------------------------- */

static bool read_proc(int pid, const char *name, size_t max, struct strbuf *out)
{
	char path[128];

	strbuf_reset(out);
	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	int r = fs_read(AT_FDCWD, path, max, out);
	return r == 0 || r == -EFBIG;
}

static void write_peek(struct process_tracker *l, const struct live *p, struct record_writer *w)
{
	int pid = p->pid;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	char link[64], exe[4096];
	struct process_stat stat;
	const struct proc_stat *st = &stat.st;

	if (!process_stat_read("", pid, &stat) || st->f[STAT_STATE] == 'Z')
		return;
	record_writer_begin(w);
	record_writer_u64(w, METRIC_BOOTTIME, clock_boottime_ns());
	record_writer_u64(w, METRIC_PID, (uint64_t)pid);
	record_writer_u64(w, METRIC_PROCDEV, l->procdev);
	record_writer_u64(w, METRIC_PPID, (uint64_t)p->ppid);
	record_writer_u64(w, METRIC_PGID, st->f[STAT_PGRP]);
	record_writer_u64(w, METRIC_SID, st->f[STAT_SESSION]);
	record_writer_u64(w, METRIC_STARTTIME, clock_start_us(st));
	record_writer_text(w, METRIC_COMM, st->comm, st->comm_len);
	if (p->exec_ns)
		record_writer_u64(w, METRIC_BEGIN, p->exec_ns);
	if (l->cnproc.fd >= 0) /* exec counts are unknown without the connector */
		record_writer_u64(w, METRIC_EXECS, p->execs);
	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	ssize_t n = readlink(link, exe, sizeof(exe));
	if (n > 0)
		record_writer_text(w, METRIC_PATH, exe, (size_t)n);
	if (read_proc(pid, "cmdline", CMDLINE_MAX, &text) && text.len) {
		secrets_mask_arguments(&text, 0, NULL);
		record_writer_text(w, METRIC_ARGV, text.buf, text.len);
	}
	record_writer_add(w, PL_PEEK, l->cnproc.fd >= 0 ? PL_F_CNPROC : 0);
}

static void peek_one(struct process_tracker *l, struct live *p, struct record_writer *w)
{
	write_peek(l, p, w);
	l->unpeeked -= !p->peeked;
	p->peeked = true;
}

/* Tells whether a process has executed another program since the last scan. */
static uint64_t hash_exe(int pid)
{
	char link[64], exe[4096];

	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	ssize_t n = readlink(link, exe, sizeof(exe));
	return hash_bytes(exe, n > 0 ? (size_t)n : 0);
}

/* Without the connector: finds descendants in /proc. */
static void scan_children(struct process_tracker *l, int pid, int depth, struct record_writer *w)
{
	_cleanup_strbuf_ struct strbuf list = STRBUF_INIT;
	char tasks[64], name[64];
	struct process_stat stat;

	snprintf(tasks, sizeof(tasks), "/proc/%d/task", pid);
	_cleanup_list_ DIR *dir = opendir(tasks);
	for (struct dirent *e; dir && (e = readdir(dir));) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "task/%.20s/children", e->d_name);
		if (!read_proc(pid, name, 1 << 20, &list))
			continue;
		for (char *p = list.buf, *end; *p; p = end) {
			long child = strtol(p, &end, 10);

			if (end == p)
				break;
			struct live *known = find(l, (int)child);
			if (!known && process_stat_read("", (int)child, &stat)) {
				known = insert(l, (int)child, pid,
					       stat.st.f[STAT_STARTTIME] * PL_TICK_US * 1000);
				known->exe_hash = hash_exe((int)child);
				peek_one(l, known, w);
			} else if (known && known->exe_hash != hash_exe((int)child)) {
				known->exe_hash = hash_exe((int)child);
				peek_one(l, known, w);
			}
			if (known)
				known->seen = true;
			if (depth < 64)
				scan_children(l, (int)child, depth + 1, w);
		}
	}
}

static uint64_t scan(struct process_tracker *l, struct record_writer *w)
{
	uint64_t now = clock_boottime_ns();
	struct live *p;

	if (now < l->next_scan_ns)
		return l->next_scan_ns;
	PROCESS_TABLE_EACH(&l->live, p)
		p->seen = false;
	scan_children(l, l->root, 0, w);
	PROCESS_TABLE_EACH(&l->live, p)
		if (!p->seen)
			add_gone(l, p->pid);
	while (l->gone_count)
		erase(l, find(l, l->gone[--l->gone_count]));
	l->scan_period_ns =
		l->scan_period_ns * 2 < SCAN_LONGEST_NS ? l->scan_period_ns * 2 : SCAN_LONGEST_NS;
	l->next_scan_ns = now + l->scan_period_ns;
	return l->next_scan_ns;
}

uint64_t process_tracker_peek(struct process_tracker *l, struct record_writer *w)
{
	uint64_t now = clock_boottime_ns(), next = 0;
	struct live *p;

	if (l->blind)
		return 0;
	if (l->cnproc.fd < 0)
		return scan(l, w);
	PROCESS_TABLE_EACH(&l->live, p) {
		if (!l->unpeeked)
			break;
		if (p->peeked)
			continue;
		uint64_t due = (p->exec_ns ? p->exec_ns : p->begin_ns) + PEEK_AGE_NS;
		if (due <= now)
			peek_one(l, p, w);
		else if (!next || due < next)
			next = due;
	}
	return next;
}

void process_tracker_peek_all(struct process_tracker *l, struct record_writer *w)
{
	struct live *p;

	if (l->blind)
		return;
	if (l->cnproc.fd < 0) {
		l->next_scan_ns = 0;
		scan(l, w);
		return;
	}
	PROCESS_TABLE_EACH(&l->live, p)
		if (!p->peeked)
			peek_one(l, p, w);
}

size_t process_tracker_alive(const struct process_tracker *l)
{
	return l->live.map.count - l->gone_count;
}

bool process_tracker_has_events(const struct process_tracker *l)
{
	return l->cnproc.fd >= 0;
}

/* ---- opening -------------------------------------------------------------------------------- */

static bool shows_others(int pid)
{
	char text[24] = "";

	return readlink("/proc/self", text, sizeof(text) - 1) > 0 && strtol(text, NULL, 10) != pid;
}

void process_tracker_open(struct process_tracker *l, bool kernel)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct stat st;

	*l = (struct process_tracker){.root = (int)getpid(),
				      .live = {.entry_size = sizeof(struct live)},
				      .cnproc = {-1},
				      .waker = {-1},
				      .taskstats = {-1, 0},
				      .scan_period_ns = SCAN_FIRST_NS};
	l->next_scan_ns = clock_boottime_ns() + SCAN_FIRST_NS;
	if (stat("/proc/self/stat", &st) == 0)
		l->procdev = st.st_dev;
	l->blind = shows_others(l->root);
	if (!kernel) {
		l->cnproc_reason = xstrdup("switched off");
		l->taskstats_reason = xstrdup("switched off");
		return;
	}
	if (cnproc_open(&l->cnproc, &why) < 0)
		l->cnproc_reason = xstrdup(why.buf);
	strbuf_reset(&why);
	if (l->cnproc.fd < 0)
		l->taskstats_reason = xstrdup("useless without the process connector");
	else if (taskstats_open(&l->taskstats, &why) < 0)
		l->taskstats_reason = xstrdup(why.buf);
}

void process_tracker_close(struct process_tracker *l)
{
	struct live *p;

	cnproc_close(&l->cnproc);
	if (l->waker.fd >= 0)
		cnproc_close(&l->waker);
	taskstats_close(&l->taskstats);
	free(l->cnproc_reason);
	free(l->taskstats_reason);
	PROCESS_TABLE_EACH(&l->live, p)
		free_exec_times(p);
	process_table_release(&l->live);
	free(l->gone);
	free(l->records);
	*l = (struct process_tracker){.cnproc = {-1}, .waker = {-1}, .taskstats = {-1, 0}};
}
