/* Following the processes of a run; see process_tracker.h. */
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
#include "core/system/procparse.h"
#include "core/text/secrets.h"

/* A process is looked at once it is this old: short ones are not worth the reads. */
#define PEEK_AGE_NS 100000000ull
#define SCAN_FIRST_NS 100000000ull
#define SCAN_LONGEST_NS 5000000000ull
/* Programs of one process whose times are kept. */
#define EXEC_TIMES_MAX UINT16_MAX
#define CMDLINE_MAX (1 << 20)
/* Where processes end without an end, the last look at the connector is the first of a round. */
#define ROUNDS_MAX 8

/* ---- table of living processes -------------------------------------------------------------- */

static size_t home(const struct process_tracker *l, int tgid)
{
	return ((uint32_t)tgid * 2654435761u) & (l->size - 1);
}

static struct live *find(const struct process_tracker *l, int tgid)
{
	if (!l->size)
		return NULL;
	for (size_t at = home(l, tgid); l->table[at].tgid; at = (at + 1) & (l->size - 1))
		if (l->table[at].tgid == tgid)
			return &l->table[at];
	return NULL;
}

static struct live *place(struct process_tracker *l, int tgid)
{
	size_t at = home(l, tgid);

	while (l->table[at].tgid)
		at = (at + 1) & (l->size - 1);
	return &l->table[at];
}

static void grow(struct process_tracker *l)
{
	struct live *old = l->table;
	size_t old_size = l->size;

	l->size = old_size ? old_size * 2 : 64;
	l->table = xcalloc(l->size, sizeof(*l->table));
	for (size_t i = 0; i < old_size; i++)
		if (old[i].tgid)
			*place(l, old[i].tgid) = old[i];
	free(old);
}

static struct live *insert(struct process_tracker *l, int tgid, int ppid, uint64_t begin_ns)
{
	if (l->used * 2 >= l->size)
		grow(l);
	struct live *p = place(l, tgid);
	*p = (struct live){.tgid = tgid,
			   .ppid = ppid,
			   .begin_ns = begin_ns,
			   .threads_alive = 1,
			   .threads_total = 1,
			   .status = -1};
	l->used++;
	l->unpeeked++;
	return p;
}

/* Takes an entry out and closes the gap, so that look-ups need no tombstones. */
static void erase(struct process_tracker *l, struct live *p)
{
	size_t hole = (size_t)(p - l->table), mask = l->size - 1;

	l->unpeeked -= !p->peeked;
	l->used--;
	if (p->exec_at)
		strbuf_release(p->exec_at);
	free(p->exec_at);
	for (size_t at = (hole + 1) & mask; l->table[at].tgid; at = (at + 1) & mask) {
		size_t want = home(l, l->table[at].tgid);

		if (((at - want) & mask) >= ((at - hole) & mask)) {
			l->table[hole] = l->table[at];
			hole = at;
		}
	}
	l->table[hole].tgid = 0;
}

/* ---- kernel events -------------------------------------------------------------------------- */

struct draining {
	struct process_tracker *l;
	struct record_writer *w;
	size_t events;
};

/* Of all its threads: where one is missing (its record was lost, or an old kernel does not say
 * whose thread it was) they are too small, and left out. */
static void put_sums(struct record_writer *w, const struct task_exit *s)
{
	record_writer_u64(w, METRIC_TIME_ONCPU, s->oncpu_ns);
	record_writer_u64(w, METRIC_TIME_WAITING, s->waiting_ns);
	record_writer_u64(w, METRIC_TIMESLICES, s->timeslices);
	record_writer_u64(w, METRIC_USERTIME, s->utime_us);
	record_writer_u64(w, METRIC_SYSTEMTIME, s->stime_us);
	record_writer_u64(w, METRIC_MINFLT, s->minflt);
	record_writer_u64(w, METRIC_MAJFLT, s->majflt);
	record_writer_u64(w, METRIC_VOL_CTXSW, s->vol_ctxsw);
	record_writer_u64(w, METRIC_INVOL_CTXSW, s->invol_ctxsw);
	record_writer_u64(w, METRIC_READ_BYTES, s->read_bytes);
	record_writer_u64(w, METRIC_WRITE_BYTES, s->write_bytes);
	record_writer_u64(w, METRIC_CANCELLED_WRITE_BYTES, s->cancelled_write_bytes);
	if (s->blkio_delay_ns)
		record_writer_u64(w, METRIC_DELAYACCT_BLKIO_TIME, s->blkio_delay_ns / 1000);
}

static void write_exit(struct process_tracker *l, const struct live *p, struct record_writer *w)
{
	unsigned flags = PL_F_CNPROC;

	record_writer_begin(w);
	record_writer_u64(w, METRIC_PID, (uint64_t)p->tgid);
	record_writer_u64(w, METRIC_PPID, (uint64_t)p->ppid);
	record_writer_u64(w, METRIC_PROCDEV, l->procdev);
	record_writer_u64(w, METRIC_BEGIN, p->begin_ns);
	record_writer_u64(w, METRIC_BOOTTIME, p->end_ns);
	record_writer_u64(w, METRIC_EXECS, p->execs);
	if (p->exec_at)
		record_writer_text(w, METRIC_EXEC_TIMES, p->exec_at->buf, p->exec_at->len);
	record_writer_u64(w, METRIC_NUMTIDS, p->threads_total);
	if (p->status >= 0 && WIFSIGNALED(p->status)) {
		record_writer_u64(w, METRIC_EXITSIGNAL, (uint64_t)WTERMSIG(p->status));
		record_writer_u64(w, METRIC_COREDUMP, WCOREDUMP(p->status) ? 1 : 0);
	} else if (p->status >= 0) {
		record_writer_u64(w, METRIC_EXITCODE, (uint64_t)WEXITSTATUS(p->status));
	}
	if (p->booked) {
		record_writer_text(w, METRIC_COMM, p->stats.comm, strlen(p->stats.comm));
		record_writer_u64(w, METRIC_RSSMAX, p->stats.rss_peak_kib);
		record_writer_u64(w, METRIC_VMPEAK, p->stats.vm_peak_kib);
	}
	if (p->booked && p->booked >= p->threads_total) {
		flags |= PL_F_TASKSTATS;
		put_sums(w, &p->stats);
	}
	record_writer_add(w, PL_KEXIT, flags);
}

/* A new program: its time is kept, and it is worth a look of its own. */
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
			}
			break;
		}
		if (e->tgid == l->apart || (e->parent_tgid != l->root && !find(l, e->parent_tgid)))
			break;
		/* an exit that was lost left its entry behind: the pid is a new process now */
		if (p)
			erase(l, p);
		insert(l, e->tgid, e->parent_tgid, e->boottime_ns);
		l->forks++;
		break;
	case CNPROC_EXEC:
		if (p)
			note_exec(l, p, e->boottime_ns);
		break;
	case CNPROC_EXIT:
		if (!p)
			break;
		if (e->pid == e->tgid || p->status < 0)
			p->status = e->status;
		if (p->threads_alive)
			p->threads_alive--;
		p->end_ns = e->boottime_ns;
		if (!p->threads_alive && !p->gone) {
			p->gone = true;
			GROW(l->gone, l->gone_count, l->gone_cap);
			l->gone[l->gone_count++] = p->tgid;
			l->exits++;
		}
		break;
	}
}

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static void keep_task_exit(void *user, const struct task_exit *e)
{
	struct process_tracker *l = ((struct draining *)user)->l;

	GROW(l->records, l->record_count, l->record_cap);
	l->records[l->record_count++] = *e;
}

static void book_task_exit(struct process_tracker *l, const struct task_exit *e)
{
	/* older kernels do not say which process a thread belonged to: only its first is found */
	struct live *p = find(l, e->tgid ? e->tgid : e->pid);

	if (!p)
		return;
	struct task_exit *s = &p->stats;
	if (!p->booked++ || e->pid == p->tgid)
		memcpy(s->comm, e->comm, sizeof(s->comm));
	s->oncpu_ns += e->oncpu_ns;
	s->waiting_ns += e->waiting_ns;
	s->timeslices += e->timeslices;
	s->utime_us += e->utime_us;
	s->stime_us += e->stime_us;
	s->minflt += e->minflt;
	s->majflt += e->majflt;
	s->vol_ctxsw += e->vol_ctxsw;
	s->invol_ctxsw += e->invol_ctxsw;
	s->read_bytes += e->read_bytes;
	s->write_bytes += e->write_bytes;
	s->cancelled_write_bytes += e->cancelled_write_bytes;
	s->blkio_delay_ns += e->blkio_delay_ns;
	s->rss_peak_kib = larger(s->rss_peak_kib, e->rss_peak_kib);
	s->vm_peak_kib = larger(s->vm_peak_kib, e->vm_peak_kib);
}

/* The first of those that are gone are all there will be of them. */
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

/*
 * The kernel sends a task's statistics before its exit event, and a fork before both. So whoever is
 * gone by the connector has all of its statistics when they are read after it; and once the
 * connector was read again, whoever they belong to is known, one that began and ended in between
 * as well. Those that this second look finds to be gone may lack some: they wait for another round.
 */
size_t process_tracker_drain(struct process_tracker *l, struct record_writer *w)
{
	struct draining d = {l, w, 0};
	unsigned round = 0;

	if (l->cnproc.fd < 0)
		return 0;
	do {
		l->lossy |= cnproc_drain(&l->cnproc, on_event, &d) != 0;
		size_t whole = l->gone_count;
		l->record_count = 0;
		if (l->taskstats.fd >= 0)
			l->lossy |= taskstats_drain(&l->taskstats, keep_task_exit, &d) != 0;
		if (l->record_count && round < ROUNDS_MAX)
			l->lossy |= cnproc_drain(&l->cnproc, on_event, &d) != 0;
		for (size_t i = 0; i < l->record_count; i++)
			book_task_exit(l, &l->records[i]);
		write_gone(l, whole, w);
	} while (l->gone_count && round++ < ROUNDS_MAX);
	return d.events;
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

static bool read_stat(int pid, struct strbuf *text, struct proc_stat *st)
{
	return read_proc(pid, "stat", 4096, text) && clock_parse_stat(text->buf, text->len, st) &&
	       st->last >= STAT_STARTTIME;
}

static void write_peek(struct process_tracker *l, const struct live *p, struct record_writer *w)
{
	int pid = p->tgid;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	char link[64], exe[4096];
	struct proc_stat st;

	if (!read_stat(pid, &text, &st) || st.f[STAT_STATE] == 'Z')
		return;
	record_writer_begin(w);
	record_writer_u64(w, METRIC_BOOTTIME, clock_boottime_ns());
	record_writer_u64(w, METRIC_PID, (uint64_t)pid);
	record_writer_u64(w, METRIC_PROCDEV, l->procdev);
	record_writer_u64(w, METRIC_PPID, (uint64_t)p->ppid);
	record_writer_u64(w, METRIC_PGID, st.f[STAT_PGRP]);
	record_writer_u64(w, METRIC_SID, st.f[STAT_SESSION]);
	record_writer_u64(w, METRIC_STARTTIME, clock_start_us(&st));
	record_writer_text(w, METRIC_COMM, st.comm, st.comm_len);
	if (p->exec_ns)
		record_writer_u64(w, METRIC_BEGIN, p->exec_ns);
	if (l->cnproc.fd >= 0) /* who is seen in /proc only may have executed anything */
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

/* Tells whether a process executed another program since the last look. */
static uint64_t hash_exe(int pid)
{
	char link[64], exe[4096];
	uint64_t h = 0xcbf29ce484222325ull;

	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	ssize_t n = readlink(link, exe, sizeof(exe));
	for (ssize_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)exe[i]) * 0x100000001b3ull;
	return h;
}

/* Without the connector: the children that /proc names, and theirs. */
static void scan_children(struct process_tracker *l, int pid, int depth, struct record_writer *w)
{
	_cleanup_strbuf_ struct strbuf list = STRBUF_INIT, text = STRBUF_INIT;
	char tasks[64], name[64];
	struct proc_stat st;

	snprintf(tasks, sizeof(tasks), "/proc/%d/task", pid);
	DIR *dir = opendir(tasks);
	if (!dir)
		return;
	for (struct dirent *e; (e = readdir(dir));) {
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
			if (!known && read_stat((int)child, &text, &st)) {
				known = insert(l, (int)child, pid,
					       st.f[STAT_STARTTIME] * PL_TICK_US * 1000);
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
	closedir(dir);
}

static uint64_t scan(struct process_tracker *l, struct record_writer *w)
{
	uint64_t now = clock_boottime_ns();

	if (now < l->next_scan_ns)
		return l->next_scan_ns;
	for (size_t i = 0; i < l->size; i++)
		l->table[i].seen = false;
	scan_children(l, l->root, 0, w);
	for (size_t i = 0; i < l->size;) {
		if (l->table[i].tgid && !l->table[i].seen)
			erase(l, &l->table[i]); /* another may have moved here: look again */
		else
			i++;
	}
	l->scan_period_ns =
		l->scan_period_ns * 2 < SCAN_LONGEST_NS ? l->scan_period_ns * 2 : SCAN_LONGEST_NS;
	l->next_scan_ns = now + l->scan_period_ns;
	return l->next_scan_ns;
}

uint64_t process_tracker_peek(struct process_tracker *l, struct record_writer *w)
{
	uint64_t now = clock_boottime_ns(), next = 0;

	if (l->blind)
		return 0;
	if (l->cnproc.fd < 0)
		return scan(l, w);
	for (size_t i = 0; i < l->size && l->unpeeked; i++) {
		struct live *p = &l->table[i];

		if (!p->tgid || p->peeked)
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
	if (l->blind)
		return;
	if (l->cnproc.fd < 0) {
		l->next_scan_ns = 0;
		scan(l, w);
		return;
	}
	for (size_t i = 0; i < l->size; i++)
		if (l->table[i].tgid && !l->table[i].peeked)
			peek_one(l, &l->table[i], w);
}

size_t process_tracker_alive(const struct process_tracker *l)
{
	return l->used - l->gone_count;
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
				      .cnproc = {-1},
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
		l->taskstats_reason = xstrdup("of no use without the process connector");
	else if (taskstats_open(&l->taskstats, &why) < 0)
		l->taskstats_reason = xstrdup(why.buf);
}

void process_tracker_close(struct process_tracker *l)
{
	cnproc_close(&l->cnproc);
	taskstats_close(&l->taskstats);
	free(l->cnproc_reason);
	free(l->taskstats_reason);
	for (size_t i = 0; i < l->size; i++)
		if (l->table[i].tgid && l->table[i].exec_at) {
			strbuf_release(l->table[i].exec_at);
			free(l->table[i].exec_at);
		}
	free(l->table);
	free(l->gone);
	free(l->records);
	*l = (struct process_tracker){.cnproc = {-1}, .taskstats = {-1, 0}};
}
