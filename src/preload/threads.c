/*
 * Threads. Their beginning is seen by a small stand-in for the start routine, their end by the
 * destructor of a thread-specific value: that runs for return, pthread_exit and cancellation alike.
 * The value is the time the thread began, so nothing is allocated for it. The stand-in jumps to the
 * real routine: it leaves no frame on the thread's stack.
 */
#include "preload/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <threads.h>
#include <time.h>

/* With THREADS_LIMITED so many threads of a process are read in full. */
#define FULL_LIMIT 64

/* What the stand-in needs to know, from the creating thread until the new one has read it. */
struct launch {
	int busy; /* 0 free, 1 in use, 2 a page of its own */
	union {
		void *(*posix)(void *);
		int (*c11)(void *);
	} routine;
	void *arg;
	uint64_t begin_ns;
};

/*
 * Records of threads without details, which come in masses, are gathered and written together:
 * opening the file for each would cost more than all the rest. Whoever finds the queue taken writes
 * his own. At most this many are lost when the process is killed; every other record is written at
 * once.
 */
#define QUEUE_BYTES 2048
#define QUEUE_NS 100000000u
struct queue {
	int taken;
	int pid;
	size_t size;
	uint64_t since_ns;
	unsigned char data[QUEUE_BYTES];
};

/* Made with the first thread. Launches are taken without a lock, which a forked copy might inherit
 * held; more threads than this between creation and first step use a page each. */
#define LAUNCHES 128
static struct workplace {
	struct queue queue;
	struct launch launches[LAUNCHES];
} * workplace;
static unsigned next_launch;

/* What a thread may use after it said that it ends, in its way out. More than that of all of them
 * was used by threads that we did not see: those of POSIX AIO and timers, and by the bare system
 * call. Giving a large stack back takes longer, but makes no page faults, as a thread's first steps
 * do. */
#define AFTERWARDS_NS 250000u
#define AFTERWARDS_FAULTS 8u

/* A thread that said that it ends is there for a moment still. So many are remembered. */
#define GONE 64

/* Of the process in pid; a forked copy starts anew. */
static struct {
	int pid;
	unsigned created;
	struct threads ended;
	int gone[GONE];
	unsigned next_gone;
} counts;

/* The process that is about to end, or to execute a program: it records its threads as they are
 * then, and what they would say later might come too late to be written. */
static int closed_pid;

/* Some were made before us, by a constructor of another library. */
static bool early;

/* Key plus one; 0 while there is none. */
static unsigned key_plus_one;

/* Two threads may both make one; the first to publish wins. */
static bool have_workplace(void)
{
	struct workplace *none = NULL;

	if (__atomic_load_n(&workplace, __ATOMIC_ACQUIRE))
		return true;
	struct workplace *w = map_pages(sizeof(*w));
	if (!w)
		return false;
	w->queue.pid = (int)sys0(__NR_getpid);
	if (!__atomic_compare_exchange_n(&workplace, &none, w, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		sys2(__NR_munmap, w, sizeof(*w));
	return true;
}

unsigned threads_created(int pid)
{
	return counts.pid == pid ? counts.created : 0;
}

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
	q->size = 0;
}

static bool enqueue(const struct held *h, int pid, unsigned flags, unsigned char *buf,
		    const struct fields *f)
{
	struct queue *q = &workplace->queue;
	size_t n = PL_RECORD_HEADER + (size_t)(f->p - buf);

	if (!take_queue(q, pid))
		return false;
	if (q->size + n > sizeof(q->data))
		write_queue(h, q);
	uint64_t now = now_boottime_ns();
	if (!q->size)
		q->since_ns = now;
	make_frame(q->data + q->size, PL_THREAD, flags, buf, n - PL_RECORD_HEADER);
	q->size += n;
	if (now - q->since_ns > QUEUE_NS)
		write_queue(h, q);
	__atomic_store_n(&q->taken, 0, __ATOMIC_RELEASE);
	return true;
}

/* Before the process ends. Another thread may be filling the queue: then it writes it out itself.
 */
static void flush_queue(const struct held *h, int pid)
{
	struct queue *q = &workplace->queue;

	for (int tries = 0; tries < 1000; tries++)
		if (take_queue(q, pid)) {
			if (q->size)
				write_queue(h, q);
			__atomic_store_n(&q->taken, 0, __ATOMIC_RELEASE);
			return;
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

static void begin_record(struct fields *f, int pid, int tid)
{
	put_u64(f, METRIC_PID, (uint64_t)pid);
	put_u64(f, METRIC_TID, (uint64_t)tid);
	put_space(f, pid);
	put_u64(f, METRIC_BOOTTIME, now_boottime_ns());
	if (pid != guest.pid)
		put_u64(f, METRIC_IMAGE_PID, (uint64_t)guest.image_pid);
}

/* stat, io and schedstat of one thread; with its usage, too, where faults is not NULL. */
static NOINLINE void put_details(struct fields *f, const char *dir, struct thread_sums *sums,
				 struct own_io *own, uint64_t *faults)
{
	static const struct thread_sums nothing;
	struct task t;

	read_task(dir, dir, &t, own);
	put_task(f, &t, &nothing, NULL);
	if (t.stat.last >= STAT_STARTTIME)
		put_u64(f, METRIC_STARTTIME, t.stat.f[STAT_STARTTIME] * PL_TICK_US);
	if (faults && t.stat.last >= STAT_STIME) {
		*faults += t.stat.f[STAT_MINFLT];
		put_u64(f, METRIC_USERTIME, t.stat.f[STAT_UTIME] * PL_TICK_US);
		put_u64(f, METRIC_SYSTEMTIME, t.stat.f[STAT_STIME] * PL_TICK_US);
		put_u64(f, METRIC_MINFLT, t.stat.f[STAT_MINFLT]);
		put_u64(f, METRIC_MAJFLT, t.stat.f[STAT_MAJFLT]);
	}
	if (!sums)
		return;
	__atomic_fetch_add(&sums->waiting_ns, t.sched.waiting_ns, __ATOMIC_RELAXED);
	__atomic_fetch_add(&sums->timeslices, t.sched.timeslices, __ATOMIC_RELAXED);
	if (t.stat.last >= STAT_BLKIO_TICKS)
		__atomic_fetch_add(&sums->blkio_ticks, t.stat.f[STAT_BLKIO_TICKS],
				   __ATOMIC_RELAXED);
	for (unsigned i = 0; i < 7; i++)
		if (t.io.present & 1u << i)
			__atomic_fetch_add(&sums->io[i], t.io.v[i], __ATOMIC_RELAXED);
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

/* The calling thread: its usage is exact. */
static void write_own_thread(const struct held *h, int pid, int tid, uint64_t begin_ns,
			     unsigned flags, struct threads *to)
{
	unsigned char buf[320];
	struct fields f = {buf, buf + sizeof(buf)};
	struct own_io own = {0};
	struct rusage ru;

	begin_record(&f, pid, tid);
	if (begin_ns)
		put_u64(&f, METRIC_BEGIN, begin_ns);
	if (sys2(__NR_getrusage, RUSAGE_THREAD, &ru) == 0) {
		put_rusage(&f, &ru);
		__atomic_fetch_add(&to->faults, (uint64_t)ru.ru_minflt, __ATOMIC_RELAXED);
	}
	add_time(&f, to, CLOCK_THREAD_CPUTIME_ID);
	if (take_full(to)) {
		put_details(&f, "/proc/thread-self/", tid == pid ? NULL : &to->sums, &own, NULL);
		flags |= PL_F_FULL;
	}
	write_thread(h, pid, tid, flags, buf, &f, &own);
}

/* Another thread of this process, still running: what the kernel shows of it from outside. */
static void write_other_thread(const struct held *h, int pid, int tid, struct threads *to)
{
	unsigned char buf[320];
	char dir[64];
	struct fields f = {buf, buf + sizeof(buf)};
	struct own_io own = {0};
	unsigned flags = PL_F_ALIVE;
	/* the kernel's name for that thread's CPU clock */
	int clock = (int)(~(unsigned)tid << 3 | 6);

	begin_record(&f, pid, tid);
	add_time(&f, to, clock);
	if (take_full(to)) {
		format_path(dir, sizeof(dir), "/proc/self/task/", (unsigned long)tid, "/");
		put_details(&f, dir, tid == pid ? NULL : &to->sums, &own, &to->faults);
		flags |= PL_F_FULL;
	}
	write_thread(h, pid, tid, flags, buf, &f, &own);
}

static void remember_gone(int tid)
{
	unsigned at = __atomic_fetch_add(&counts.next_gone, 1, __ATOMIC_RELAXED) % GONE;

	__atomic_store_n(&counts.gone[at], tid, __ATOMIC_RELAXED);
}

static bool is_gone(int tid)
{
	for (int i = 0; i < GONE; i++)
		if (__atomic_load_n(&counts.gone[i], __ATOMIC_RELAXED) == tid)
			return true;
	return false;
}

static void write_live(const struct held *h, int pid, int tid, int self, struct threads *to)
{
	if (is_gone(tid)) { /* the last one runs the exit handlers, after its end */
		if (tid == self)
			to->cpu_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID);
		return;
	}
	to->count += tid != pid;
	if (tid == self)
		write_own_thread(h, pid, self, 0, PL_F_ALIVE, to);
	else
		write_other_thread(h, pid, tid, to);
}

/* What they used is added to what the ended ones did: in to, and not for good, since the process
 * may go on. */
static NOINLINE void record_live_threads(const struct held *h, int pid, struct threads *to)
{
	_Alignas(struct dir_entry) char buf[256];
	int self = (int)sys0(__NR_gettid);
	long n;

	long fd = sys4(__NR_openat, AT_FDCWD, "/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		       0);
	if (fd < 0) {
		write_live(h, pid, self, self, to);
		return;
	}
	while ((n = sys3(__NR_getdents64, fd, buf, sizeof(buf))) > 0)
		for (long at = 0; at < n;) {
			const struct dir_entry *e = (const struct dir_entry *)(buf + at);
			const char *p = e->name;
			uint64_t tid;

			at += e->size;
			if (proc_number(&p, p + 12, &tid))
				write_live(h, pid, (int)tid, self, to);
		}
	sys1(__NR_close, fd);
}

/* The CPU time of the process that none of the threads that are known has used; all is the whole,
 * read before theirs. Those of the images before this one are gone by right. */
static uint64_t unaccounted(int pid, uint64_t all, uint64_t known)
{
	if (early && pid == guest.pid)
		return UINT64_MAX;
	return less(all, known + (pid == guest.pid ? guest.others_ns : 0));
}

/* A copy of the process may have inherited the count of threads that it does not have: it waits in
 * vain, and not long. */
void await_endings(void)
{
	struct timespec pause = {.tv_nsec = 100000};

	for (int i = 0; i < 500 && __atomic_load_n(&guest.ending, __ATOMIC_SEQ_CST) > 0; i++)
		sys2(__NR_nanosleep, &pause, NULL);
}

void threads_close(int pid)
{
	if (!threads_created(pid))
		return;
	__atomic_store_n(&closed_pid, pid, __ATOMIC_SEQ_CST);
	await_endings();
}

void threads_reopen(void)
{
	if (closed_pid)
		__atomic_store_n(&closed_pid, 0, __ATOMIC_SEQ_CST);
}

void threads_forget(void)
{
	counts.pid = 0;
}

/* Did somebody else fault than those that are known? Images before this one may have. */
static bool others_faulted(int pid, const struct threads *known, unsigned ended)
{
	struct rusage ru;

	if (pid == guest.pid && (guest.had_threads || early))
		return true;
	if (known->basic || sys2(__NR_getrusage, RUSAGE_SELF, &ru) < 0)
		return false;
	return (uint64_t)ru.ru_minflt > known->faults + AFTERWARDS_FAULTS + ended;
}

bool threads_now(const struct held *h, int pid, struct threads *ret)
{
	uint64_t all = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	unsigned created = threads_created(pid);

	__builtin_memset(ret, 0, sizeof(*ret));
	if (!created && !unaccounted(pid, all, clock_ns(CLOCK_THREAD_CPUTIME_ID))) {
		ret->numtids = 1;
		return true;
	}
	if (created)
		*ret = counts.ended;
	ret->numtids = created ? created + 1 : 0;
	if (guest.threads == THREADS_OFF || !have_workplace())
		return false;
	unsigned ended = ret->count;
	record_live_threads(h, pid, ret);
	flush_queue(h, pid);
	if (unaccounted(pid, all, ret->cpu_ns) > ended * AFTERWARDS_NS &&
	    (!created || others_faulted(pid, ret, ended)))
		ret->numtids = 0;
	else if (ret->count + 1 > ret->numtids)
		ret->numtids = ret->count + 1;
	return ret->numtids && !ret->basic;
}

/* The destructor of our thread-specific value: the thread is ending. */
static void thread_ends(void *value)
{
	struct held h;
	int pid;

	__atomic_fetch_add(&guest.ending, 1, __ATOMIC_SEQ_CST);
	if (guest_who(&pid) != NOBODY && __atomic_load_n(&closed_pid, __ATOMIC_SEQ_CST) != pid) {
		int tid = (int)sys0(__NR_gettid);

		hold_signals(&h);
		remember_gone(tid);
		write_own_thread(&h, pid, tid, (uint64_t)(uintptr_t)value, 0, &counts.ended);
		if (tid != pid)
			__atomic_fetch_add(&counts.ended.count, 1, __ATOMIC_RELAXED);
		release_signals(&h);
	}
	__atomic_fetch_sub(&guest.ending, 1, __ATOMIC_SEQ_CST);
}

/* ---- creation ------------------------------------------------------------------------------- */

/* The key is made with the first thread, so that programs without threads have all of theirs. Two
 * threads may both make one; the first to publish wins. */
static bool have_key(void)
{
	pthread_key_t key;
	unsigned none = 0;

	if (__atomic_load_n(&key_plus_one, __ATOMIC_ACQUIRE))
		return true;
	if (!next.pthread_key_create || !next.pthread_key_delete || !next.pthread_setspecific ||
	    next.pthread_key_create(&key, thread_ends) != 0)
		return false;
	if (!__atomic_compare_exchange_n(&key_plus_one, &none, key + 1, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		next.pthread_key_delete(key);
	return true;
}

static struct launch *take_launch(void)
{
	struct launch *launches = workplace->launches;

	for (unsigned i = 0; i < LAUNCHES; i++) {
		unsigned at = __atomic_fetch_add(&next_launch, 1, __ATOMIC_RELAXED) % LAUNCHES;
		int idle = 0;

		if (__atomic_compare_exchange_n(&launches[at].busy, &idle, 1, false,
						__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			return &launches[at];
	}
	struct launch *extra = map_pages(sizeof(*extra));
	if (extra)
		extra->busy = 2;
	return extra;
}

static void release_launch(struct launch *l)
{
	if (l->busy != 2)
		__atomic_store_n(&l->busy, 0, __ATOMIC_RELEASE);
	else if (!guest.silent)
		sys2(__NR_munmap, l, sizeof(*l));
}

/* First steps of a new thread. Not a system call without events: a filter may be on by now. */
static void thread_begins(struct launch *l)
{
	uint64_t begin_ns = l->begin_ns;

	release_launch(l);
	next.pthread_setspecific(key_plus_one - 1, (void *)(uintptr_t)begin_ns);
	if (events_wanted() && !guest.silent)
		events_open((int)sys0(__NR_getpid), (int)sys0(__NR_gettid));
}

static void *begin_posix(void *p)
{
	struct launch l = *(struct launch *)p;

	thread_begins(p);
	return l.routine.posix(l.arg);
}

static int begin_c11(void *p)
{
	struct launch l = *(struct launch *)p;

	thread_begins(p);
	return l.routine.c11(l.arg);
}

/* NULL: create it the ordinary way, it will not be recorded. */
static struct launch *prepare(void)
{
	int pid;

	if (guest_who(&pid) == NOBODY) {
		early |= !guest.active;
		return NULL;
	}
	if (counts.pid != pid) {
		__builtin_memset(&counts, 0, sizeof(counts));
		counts.pid = pid;
		guest.ending = 0;
		/* while there is one thread: others could undo what one of them booked */
		own_add(pid, &(struct own_io){0});
		/* a copy with its first thread: what its parent had queued is the parent's to write
		 */
		if (workplace) {
			workplace->queue.size = 0;
			workplace->queue.taken = 0;
			workplace->queue.pid = pid;
		}
	}
	__atomic_fetch_add(&counts.created, 1, __ATOMIC_RELAXED);
	if (guest.threads == THREADS_OFF || !have_key() || !have_workplace())
		return NULL;
	struct launch *l = take_launch();
	if (l)
		l->begin_ns = now_boottime_ns();
	return l;
}

static void forget(struct launch *l)
{
	__atomic_fetch_sub(&counts.created, 1, __ATOMIC_RELAXED);
	if (l)
		release_launch(l);
}

EXPORT int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attr,
			  void *(*routine)(void *), void *restrict arg)
{
	if (!NEXT(pthread_create))
		resolve_threads();
	if (!next.pthread_create)
		return EAGAIN;
	struct launch *l = prepare();
	if (l) {
		l->routine.posix = routine;
		l->arg = arg;
	}
	int r = l ? next.pthread_create(thread, attr, begin_posix, l)
		  : next.pthread_create(thread, attr, routine, arg);
	if (r != 0)
		forget(l);
	return r;
}

EXPORT int thrd_create(thrd_t *thread, thrd_start_t routine, void *arg)
{
	if (!NEXT(thrd_create))
		return thrd_error;
	struct launch *l = prepare();
	if (l) {
		l->routine.c11 = routine;
		l->arg = arg;
	}
	int r = l ? next.thrd_create(thread, begin_c11, l) : next.thrd_create(thread, routine, arg);
	if (r != thrd_success)
		forget(l);
	return r;
}
