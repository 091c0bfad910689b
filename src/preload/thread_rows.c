/*
 * Records of threads: at their end, and of live ones when their process ends or executes a program.
 */
#include "preload/threads.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>

/* With THREADS_LIMITED this many threads are recorded with details. */
#define FULL_LIMIT 64

#define TICK_NS (PL_TICK_US * 1000u)

/* ---- the queue ------------------------------------------------------------------------------ */

static bool take_queue(struct queue *q, int pid)
{
	int idle = 0;

	return q->pid == pid && __atomic_compare_exchange_n(&q->taken, &idle, 1, false,
							    __ATOMIC_ACQUIRE, __ATOMIC_RELAXED);
}

static void write_queue(const struct held *h, struct queue *q)
{
	size_t written = emit_raw(h, q->data, q->size);

	own_add(q->pid, &(struct own_io){.wchar = written, .syscw = written > 0});
	__atomic_store_n(&q->size, 0, __ATOMIC_RELAXED);
}

/* The ending process may have found the queue in use. */
static void leave_queue(const struct held *h, struct queue *q)
{
	__atomic_store_n(&q->taken, 0, __ATOMIC_SEQ_CST);
	while (threads_closed(q->pid) && __atomic_load_n(&q->size, __ATOMIC_RELAXED) &&
	       take_queue(q, q->pid)) {
		if (q->size)
			write_queue(h, q);
		__atomic_store_n(&q->taken, 0, __ATOMIC_SEQ_CST);
	}
}

static bool enqueue(const struct held *h, int pid, unsigned flags, unsigned char *buf,
		    const struct fields *f)
{
	struct queue *q = &workplace->queue;
	size_t n = PL_RECORD_HEADER + (size_t)(f->p - buf);

	if (threads_closed(pid) || !take_queue(q, pid))
		return false;
	if (q->size + n > sizeof(q->data))
		write_queue(h, q);
	uint64_t now = clock_ns(CLOCK_BOOTTIME);
	if (!q->size)
		q->since_ns = now;
	make_frame(q->data + q->size, PL_THREAD, flags, buf, n - PL_RECORD_HEADER);
	q->size += n;
	if (now - q->since_ns > QUEUE_NS)
		write_queue(h, q);
	leave_queue(h, q);
	return true;
}

/* Before the process ends. If another thread is filling the queue, it writes it, and gets a moment
 * to do so. */
static void flush_queue(const struct held *h, int pid)
{
	struct timespec pause = {.tv_nsec = 100000};
	struct queue *q = &workplace->queue;

	for (int tries = 0; tries < 500 && q->pid == pid; tries++) {
		if (take_queue(q, pid)) {
			if (q->size)
				write_queue(h, q);
			__atomic_store_n(&q->taken, 0, __ATOMIC_SEQ_CST);
			return;
		}
		sys2(__NR_nanosleep, &pause, NULL);
	}
}

/* ---- records -------------------------------------------------------------------------------- */

static bool take_full(struct threads *to)
{
	bool full = guest.threads == THREADS_FULL;

	if (guest.threads == THREADS_LIMITED &&
	    __atomic_load_n(&to->full, __ATOMIC_RELAXED) < FULL_LIMIT)
		full = __atomic_fetch_add(&to->full, 1, __ATOMIC_RELAXED) < FULL_LIMIT;
	if (!full)
		__atomic_fetch_add(&to->basic, 1, __ATOMIC_RELAXED);
	return full;
}

static void add_time(struct fields *f, struct threads *to, int clock)
{
	uint64_t ns = clock_ns(clock);

	put_u64(f, METRIC_TIME_ONCPU, ns);
	__atomic_fetch_add(&to->cpu_ns, ns, __ATOMIC_RELAXED);
}

static NOINLINE void add_usage(struct fields *f, struct threads *to)
{
	struct rusage ru;

	if (sys2(__NR_getrusage, RUSAGE_THREAD, &ru) != 0)
		return;
	put_rusage(f, &ru);
	__atomic_fetch_add(&to->faults, (uint64_t)ru.ru_minflt, __ATOMIC_RELAXED);
}

static void begin_record(struct fields *f, int pid, int tid, struct own_io *own)
{
	put_u64(f, METRIC_PID, (uint64_t)pid);
	put_u64(f, METRIC_TID, (uint64_t)tid);
	put_space(f, pid);
	put_u64(f, METRIC_BOOTTIME, now_boottime_ns(pid, own));
	if (pid != guest.pid)
		put_u64(f, METRIC_IMAGE_PID, (uint64_t)guest.image_pid);
}

static void sums_of(const struct task *t, struct thread_sums *ret)
{
	ret->v[SUM_WAITING_NS] = t->sched.waiting_ns;
	ret->v[SUM_TIMESLICES] = t->sched.timeslices;
	ret->v[SUM_BLKIO_TICKS] =
		t->stat.last >= STAT_BLKIO_TICKS ? t->stat.f[STAT_BLKIO_TICKS] : 0;
	for (unsigned i = 0; i < 7; i++)
		ret->v[SUM_IO + i] = t->io.v[i];
}

static void add_sums(struct thread_sums *to, const struct thread_sums *s)
{
	for (unsigned i = 0; i < SUMS; i++)
		__atomic_fetch_add(&to->v[i], s->v[i], __ATOMIC_RELAXED);
}

/* Adds stat, io and schedstat of one thread to f and ret. of: NULL for the calling thread, else
 * gets the usage of another one. False: it was gone. */
static NOINLINE bool put_details(struct fields *f, int pid, const char *dir,
				 const struct own_io *booked, struct own_io *own,
				 const struct pending *pending, struct threads *of,
				 struct thread_sums *ret)
{
	static const struct thread_sums nothing;
	struct task t;

	read_task(dir, dir, &t, booked, own, of != NULL);
	put_task(f, &t, &nothing, pending);
	sums_of(&t, ret);
	uint64_t start = proc_start_us(&t.stat, ahead_of(pid, own));
	if (start)
		put_u64(f, METRIC_STARTTIME, start);
	if (of && t.stat.last >= STAT_STIME) {
		of->faults += t.stat.f[STAT_MINFLT];
		put_u64(f, METRIC_USERTIME, t.stat.f[STAT_UTIME] * PL_TICK_US);
		put_u64(f, METRIC_SYSTEMTIME, t.stat.f[STAT_STIME] * PL_TICK_US);
		put_u64(f, METRIC_MINFLT, t.stat.f[STAT_MINFLT]);
		put_u64(f, METRIC_MAJFLT, t.stat.f[STAT_MAJFLT]);
	}
	return t.stat.last && t.io.present;
}

static void write_thread(const struct held *h, int pid, int tid, unsigned flags, unsigned char *buf,
			 struct fields *f, struct own_io *own)
{
	events_put_thread(f, pid, tid, !(flags & PL_F_ALIVE), &flags);
	if (!(flags & PL_F_FULL) && enqueue(h, pid, flags, buf, f))
		return;
	size_t written = emit_fields(h, PL_THREAD, flags, buf, f);
	own->wchar += written;
	own->syscw += written > 0;
	own_add(pid, own);
}

/* Records the calling thread, with exact usage. */
static NOINLINE void write_own_thread(const struct held *h, int pid, int tid, uint64_t begin_ns,
				      unsigned flags, const struct pending *pending,
				      struct threads *to, struct thread_sums *ret)
{
	unsigned char buf[320];
	struct fields f = {buf, buf + sizeof(buf)};
	const struct own_io booked = own_of_thread(pid, tid);
	struct own_io own = {0};

	begin_record(&f, pid, tid, &own);
	if (begin_ns)
		put_u64(&f, METRIC_BEGIN, begin_ns);
	add_usage(&f, to);
	add_time(&f, to, CLOCK_THREAD_CPUTIME_ID);
	if (take_full(to)) {
		put_details(&f, pid, "/proc/thread-self/", &booked, &own, pending, NULL, ret);
		if (tid != pid)
			add_sums(&to->sums, ret);
		flags |= PL_F_FULL;
	}
	write_thread(h, pid, tid, flags, buf, &f, &own);
}

/* Records another live thread by /proc. shown: its tid there. */
static NOINLINE void write_other_thread(const struct held *h, int pid, int tid, int shown,
					struct threads *to, struct thread_sums *ret)
{
	unsigned char buf[320];
	char dir[32];
	struct fields f = {buf, buf + sizeof(buf)};
	const struct own_io booked = own_of_thread(pid, tid);
	struct own_io own = {0};
	unsigned flags = PL_F_ALIVE;
	/* the CPU clock of that thread */
	int clock = (int)(~(unsigned)tid << 3 | 6);

	begin_record(&f, pid, tid, &own);
	add_time(&f, to, clock);
	if (take_full(to)) {
		format_path(dir, sizeof(dir), "/proc/self/task/", (unsigned long)shown, "/");
		if (!put_details(&f, pid, dir, &booked, &own, NULL, to, ret) &&
		    sys3(__NR_tgkill, pid, tid, 0) == -ESRCH)
			to->lost = true;
		if (tid != pid)
			add_sums(&to->sums, ret);
		flags |= PL_F_FULL;
	}
	write_thread(h, pid, tid, flags, buf, &f, &own);
}

static struct gone *remember_gone(int tid)
{
	unsigned at = __atomic_fetch_add(&workplace->next_gone, 1, __ATOMIC_RELAXED) % GONE;
	struct gone *g = &workplace->gone[at];

	if (g->tid)
		own_forget(g->tid);
	__builtin_memset(&g->sums, 0, sizeof(g->sums));
	__atomic_store_n(&g->tid, tid, __ATOMIC_RELAXED);
	return g;
}

static void remember_leaving(int tid)
{
	struct leaving *l = &workplace->leaving[(unsigned)tid % LEAVING];

	l->tick = (uint32_t)(clock_ns(CLOCK_BOOTTIME) / TICK_NS);
	__atomic_store_n(&l->tid, tid, __ATOMIC_RELEASE);
}

/* Has it recorded its end? Its tid may be reused since. */
static NOINLINE bool is_leaving(int pid, int tid)
{
	const struct leaving *l = &workplace->leaving[(unsigned)tid % LEAVING];
	char path[40], buf[512];
	struct proc_stat st = {0};
	struct own_io own = {0};

	if (__atomic_load_n(&l->tid, __ATOMIC_ACQUIRE) != tid)
		return false;
	format_path(path, sizeof(path), "/proc/self/task/", (unsigned long)tid, "/stat");
	long n = read_file(path, buf, sizeof(buf), &own);
	own_add(pid, &own);
	if (n <= 0 || !proc_parse_stat(buf, (size_t)n, &st) || st.last < STAT_STARTTIME)
		return true;
	return (int32_t)((uint32_t)st.f[STAT_STARTTIME] - l->tick) <= 0;
}

static const struct gone *find_gone(int tid)
{
	for (int i = 0; i < GONE; i++)
		if (__atomic_load_n(&workplace->gone[i].tid, __ATOMIC_RELAXED) == tid)
			return &workplace->gone[i];
	return NULL;
}

/* Adds what the calling thread, the last one, used in exit handlers after its end record. */
static NOINLINE void add_rest(int pid, const struct gone *g, struct threads *to)
{
	const struct own_io booked = own_of_thread(pid, g->tid);
	struct own_io own = {0};
	struct thread_sums now;
	struct task t;

	read_task("/proc/thread-self/", "/proc/thread-self/", &t, &booked, &own, false);
	own_add(pid, &own);
	sums_of(&t, &now);
	for (unsigned i = 0; i < SUMS; i++)
		now.v[i] = less(now.v[i], g->sums.v[i]);
	add_sums(&to->sums, &now);
	to->cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

void record_ended_thread(const struct held *h, int pid, uint64_t begin_ns)
{
	int tid = (int)sys0(__NR_gettid);
	struct gone *g = remember_gone(tid);

	remember_leaving(tid);
	write_own_thread(h, pid, tid, begin_ns, 0, NULL, &counts.ended, &g->sums);
	if (tid != pid)
		__atomic_fetch_add(&counts.ended.count, 1, __ATOMIC_RELAXED);
}

static void write_live(const struct held *h, int pid, int tid, int shown, int self,
		       const struct pending *pending, struct threads *to)
{
	struct thread_sums sums;

	if (is_leaving(pid, tid)) {
		const struct gone *g = tid == self ? find_gone(tid) : NULL;

		if (g)
			add_rest(pid, g, to);
		else if (tid == self)
			to->lost = true;
		return;
	}
	to->count += tid != pid;
	if (tid == self)
		write_own_thread(h, pid, self, 0, PL_F_ALIVE, pending, to, &sums);
	else
		write_other_thread(h, pid, tid, shown, to, &sums);
}

/* Records a thread by its tid in /proc, which may be of another pid namespace. */
static void write_shown(const struct held *h, int pid, int shown, bool foreign, int self,
			const struct pending *pending, struct threads *to)
{
	struct own_io own = {0};
	int tid = foreign ? space_own_tid(shown, &own) : shown;

	if (foreign)
		own_add(pid, &own);
	if (tid)
		write_live(h, pid, tid, shown, self, pending, to);
	else
		to->lost = true;
}

NOINLINE void record_live_threads(const struct held *h, int pid, const struct pending *pending,
				  struct threads *to)
{
	_Alignas(struct dir_entry) char buf[256];
	int self = (int)sys0(__NR_gettid);
	long n;

	long fd = sys4(__NR_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		       0);
	if (fd < 0) {
		write_live(h, pid, self, self, self, pending, to);
		flush_queue(h, pid);
		return;
	}
	bool foreign = space_shown_pid(pid) != pid;
	while ((n = sys3(__NR_getdents64, fd, buf, sizeof(buf))) > 0)
		for (long at = 0; at < n;) {
			const struct dir_entry *e = (const struct dir_entry *)(buf + at);
			const char *p = e->name;
			uint64_t tid;

			at += e->size;
			if (proc_number(&p, p + 12, &tid))
				write_shown(h, pid, (int)tid, foreign, self, pending, to);
		}
	sys1(__NR_close, fd);
	flush_queue(h, pid);
}
