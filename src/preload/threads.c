/*
 * Threads. A wrapper of the start routine sees their begin, the destructor of a thread-specific
 * value their end: it runs for return, pthread_exit and cancellation. The value is the begin time,
 * so nothing is allocated. The wrapper jumps to the real routine and leaves no frame on the stack.
 */
#include "preload/threads.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <threads.h>
#include <time.h>

struct workplace *workplace;
static unsigned next_launch;

/* What a thread may use after its end record. If all together used more, there were threads that we
 * did not see: those of POSIX AIO and timers, or made by the system call. Freeing a large stack
 * takes longer, but makes no page faults, unlike the start of a thread. */
#define AFTERWARDS_NS 250000u
#define AFTERWARDS_FAULTS 8u

/* How long a thread stays after its process has read all: a later exit handler might wait for it.
 */
#define STAY_NS 300000000

/* Other libraries may write data of a thread at its end: we record in the last round of
 * destructors. Bits of the value count the rounds. */
#define ROUNDS ((uintptr_t)PTHREAD_DESTRUCTOR_ITERATIONS - 1)

struct thread_counts counts;

/* The process that is about to end or to exec: it records its threads, whose own records might come
 * too late. */
static int closed_pid;

/* It is reading them. */
static bool looking;

/* Another library's constructor made threads before us. */
static bool early;

/* Key plus one; 0: none. */
static unsigned key_plus_one;

/* Two threads may create one; the first to publish it wins. */
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

/* CPU time of the process that no known thread used; all: the total, read before. Threads of
 * earlier images do not count. */
static uint64_t unaccounted(int pid, uint64_t all, uint64_t known)
{
	if (early && pid == guest.pid)
		return UINT64_MAX;
	return less(all, known + (pid == guest.pid ? guest.others_ns : 0));
}

/* A copy may have inherited a count of threads that it does not have: it waits in vain, but not
 * long. Many threads that end at once take longer, but their number decreases. */
bool await_endings(bool stayed)
{
	struct timespec pause = {.tv_nsec = 100000};

	for (int i = 0, before = INT_MAX; i < 500; i++) {
		/* in this order: staying threads are ending, too */
		int staying = stayed ? 0 : __atomic_load_n(&guest.staying, __ATOMIC_SEQ_CST);
		int busy = __atomic_load_n(&guest.ending, __ATOMIC_SEQ_CST) - staying;

		if (busy <= 0)
			return true;
		if (busy < before) {
			before = busy;
			i = 0;
		}
		sys2(__NR_nanosleep, &pause, NULL);
	}
	return false;
}

bool threads_closed(int pid)
{
	return __atomic_load_n(&closed_pid, __ATOMIC_SEQ_CST) == pid;
}

bool threads_close(int pid)
{
	if (!threads_created(pid))
		return true;
	__atomic_store_n(&looking, true, __ATOMIC_SEQ_CST);
	__atomic_store_n(&closed_pid, pid, __ATOMIC_SEQ_CST);
	return await_endings(false);
}

/* Does not change a parent on whose memory this process runs. */
void threads_reopen(int pid)
{
	if (closed_pid != pid)
		return;
	__atomic_store_n(&closed_pid, 0, __ATOMIC_SEQ_CST);
	sys3(__NR_futex, &closed_pid, FUTEX_WAKE_PRIVATE, INT_MAX);
}

/* The process is recording its threads, and one that left now would be missing. Waits until the
 * process ends or goes on. False: timed out. */
static bool stay(int pid)
{
	struct timespec limit = {.tv_nsec = STAY_NS};

	__atomic_fetch_add(&guest.staying, 1, __ATOMIC_SEQ_CST);
	long r = sys4(__NR_futex, &closed_pid, FUTEX_WAIT_PRIVATE, pid, &limit);
	__atomic_fetch_sub(&guest.staying, 1, __ATOMIC_SEQ_CST);
	return r != -ETIMEDOUT;
}

void threads_forget(void)
{
	counts.pid = 0;
}

/* Did unknown threads cause page faults? Earlier images may have. */
static NOINLINE bool others_faulted(int pid, const struct threads *known, unsigned ended)
{
	struct rusage ru;

	if (pid == guest.pid && (guest.had_threads || early))
		return true;
	if (known->basic || sys2(__NR_getrusage, RUSAGE_SELF, &ru) < 0)
		return false;
	return (uint64_t)ru.ru_minflt > known->faults + AFTERWARDS_FAULTS + ended;
}

bool threads_now(const struct held *h, int pid, const struct pending *pending, struct threads *ret)
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
	record_live_threads(h, pid, pending, ret);
	__atomic_store_n(&looking, false, __ATOMIC_SEQ_CST);
	if (unaccounted(pid, all, ret->cpu_ns) > ended * AFTERWARDS_NS &&
	    (!created || others_faulted(pid, ret, ended)))
		ret->numtids = 0;
	else if (ret->count + 1 > ret->numtids)
		ret->numtids = ret->count + 1;
	return ret->numtids && !ret->basic && !ret->lost;
}

static void record_ending(int pid, uint64_t begin_ns)
{
	struct held h;

	hold_signals(&h);
	while (threads_closed(pid))
		if (!stay(pid) && !__atomic_load_n(&looking, __ATOMIC_SEQ_CST)) {
			release_signals(&h);
			return;
		}
	record_ended_thread(&h, pid, begin_ns);
	release_signals(&h);
}

/* The destructor of our thread-specific value: the thread is ending. */
static void thread_ends(void *value)
{
	uintptr_t v = (uintptr_t)value;
	int pid;

	if ((v & ROUNDS) < ROUNDS &&
	    next.pthread_setspecific(key_plus_one - 1, (void *)(v + 1)) == 0)
		return;
	__atomic_fetch_add(&guest.ending, 1, __ATOMIC_SEQ_CST);
	if (guest_who(&pid) != NOBODY)
		record_ending(pid, v & ~ROUNDS);
	__atomic_fetch_sub(&guest.ending, 1, __ATOMIC_SEQ_CST);
}

/* ---- creation ------------------------------------------------------------------------------- */

/* The key is created with the first thread, so that programs without threads can use all keys. Two
 * threads may create one; the first to publish it wins. */
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

/* Begin of a new thread. No system call without events: a filter may be active. */
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

/* NULL: the thread is not recorded. */
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
		guest.ending = guest.staying = 0;
		/* while there is one thread: later it could undo what others added */
		own_begin(pid);
		/* the first thread of a copy: the parent writes its own queue
		 */
		if (workplace) {
			workplace->queue.size = 0;
			workplace->queue.taken = 0;
			workplace->queue.pid = pid;
			__builtin_memset(workplace->gone, 0, sizeof(workplace->gone));
			sys3(__NR_madvise, workplace->leaving, sizeof(workplace->leaving),
			     MADV_DONTNEED);
		}
	}
	__atomic_fetch_add(&counts.created, 1, __ATOMIC_RELAXED);
	if (guest.threads == THREADS_OFF || !have_key() || !have_workplace())
		return NULL;
	struct launch *l = take_launch();
	struct own_io own = {0};
	if (l) {
		l->begin_ns = now_boottime_ns(pid, &own) & ~(uint64_t)ROUNDS;
		if (own.syscr)
			own_add(pid, &own);
	}
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
