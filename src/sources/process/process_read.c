/*
 * Looks at one process: stat, io, schedstat, and its CPU clock.
 *
 * Surprising: schedstat of a process is that of its first thread, so it is added up over the
 * threads of a process that has several (thread_counters.h). Time on the CPU need not be: the
 * kernel's CPU clock of the process has it to the nanosecond, all threads and those that ended
 * included, and anyone may read it. Storage delay in stat is of the first thread too, and is given
 * only for a process that never had two. stat is read last: when it is still that of the same
 * process, so was all that was read before it by its number.
 */
#include "sources/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/clock.h"
#include "core/files/fs.h"

/* The share of the descriptors that this source may keep open. */
#define FDS_PERCENT 60

/* One that is idle is read all the same each so many times. */
#define IDLE_MAX 8
/* How much of a CPU's time the kernel may book late: ticks of user and of system time. */
#define LATE_NS 20000000ull
/* Time that ended threads may have had unnoticed: some ticks, as stat counts whole ones only. */
#define UNNOTICED_US (3 * PL_TICK_US)

/* Kernels before 5.14 have no switch, and account unless booted otherwise. */
static bool delays_accounted(const char *root)
{
	_cleanup_free_ char *path = xasprintf("%s/proc/sys/kernel/task_delayacct", root);
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	return fs_read(AT_FDCWD, path, 64, &text) < 0 || text.buf[0] != '0';
}

int process_reader_open(struct process_reader *r, const char *root, struct strbuf *why)
{
	int e = procdir_open(&r->dir, root, FDS_PERCENT, why);

	if (e < 0)
		return e;
	r->page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	r->cpus = (unsigned)sysconf(_SC_NPROCESSORS_CONF);
	r->delays = delays_accounted(root);
	return 0;
}

void process_reader_close(struct process_reader *r)
{
	procdir_close(&r->dir);
}

static bool parse_schedstat(const char *text, size_t n, uint64_t ret[THREAD_COUNTERS_VALUES])
{
	struct proc_schedstat s;

	if (!proc_parse_schedstat(text, n, &s))
		return false;
	ret[0] = s.oncpu_ns;
	ret[1] = s.waiting_ns;
	ret[2] = s.timeslices;
	return true;
}

static const struct thread_counters_file schedstat_file = {
	.name = "schedstat", .keep = true, .parse = parse_schedstat};

/* A file that is missing or not permitted now will be so next time. */
static bool is_final(ssize_t n)
{
	return n == -EACCES || n == -EPERM || n == -ENOENT;
}

static void look_io(struct process_reader *r, struct member *one, struct reading *ret,
		    uint64_t own[USAGE_END])
{
	char buf[1024];
	struct proc_io io;

	if (one->io_error)
		return;
	ssize_t n = procdir_read(&r->dir, &one->io_fd, one->pid, "io", true, buf, sizeof(buf));
	if (n < 0) {
		if (is_final(n))
			one->io_error = (int)n;
		return;
	}
	proc_parse_io(buf, (size_t)n, &io);
	ret->io_present = io.present;
	for (unsigned i = 0; i < 7; i++)
		if (io.present >> i & 1)
			own[USAGE_IO + i] = io.v[i];
}

/* Of the first thread; those of a process with several are added up afterwards. */
static void look_sched(struct process_reader *r, struct member *one, struct reading *ret,
		       uint64_t own[USAGE_END])
{
	uint64_t v[THREAD_COUNTERS_VALUES];
	char buf[256];

	if (one->threads || one->sched_error)
		return;
	ssize_t n = procdir_read(&r->dir, &one->sched_fd, one->pid, "schedstat", true, buf,
				 sizeof(buf));
	if (n < 0) {
		if (is_final(n))
			one->sched_error = (int)n;
		return;
	}
	if (!parse_schedstat(buf, (size_t)n, v))
		return;
	ret->sched_known = true;
	if (!ret->oncpu_known)
		own[USAGE_ONCPU] = v[0];
	own[USAGE_ONCPU + 1] = v[1];
	own[USAGE_ONCPU + 2] = v[2];
}

static void look_threads(struct process_reader *r, struct member *one, struct reading *ret,
			 uint64_t own[USAGE_END])
{
	uint64_t count = ret->st.f[STAT_NUM_THREADS];
	bool first = !one->threads;

	if (one->sched_error || (first && count < 2))
		return;
	if (first) {
		one->threads = xcalloc(1, sizeof(*one->threads));
		procdir_forget(&r->dir, &one->sched_fd);
	}
	ret->sched_known = false;
	if (!threadpace_due(&r->pace, one->pid, count) && !first)
		return;
	if (thread_counters_read(one->threads, &r->dir, one->pid, &schedstat_file) < 0)
		return;
	const uint64_t *v = one->threads->total;
	ret->sched_known = one->threads->count > 0;
	if (!ret->oncpu_known && v[0] > own[USAGE_ONCPU])
		own[USAGE_ONCPU] = v[0];
	for (size_t i = 1; i < THREAD_COUNTERS_VALUES; i++)
		if (v[i] > own[USAGE_ONCPU + i])
			own[USAGE_ONCPU + i] = v[i];
}

/* 0, -ESRCH when it is not this process (any more), -EBADMSG when it is no such file. */
static int look_stat(struct process_reader *r, struct member *one, struct reading *ret)
{
	ssize_t n = procdir_read(&r->dir, &one->stat_fd, one->pid, "stat", true, ret->text,
				 sizeof(ret->text));

	if (n == -ENOENT)
		return -ESRCH;
	if (n < 0)
		return (int)n;
	if (!clock_parse_stat(ret->text, (size_t)n, &ret->st) || ret->st.last < STAT_STARTTIME)
		return -EBADMSG;
	return ret->st.f[STAT_STARTTIME] == one->starttime ? 0 : -ESRCH;
}

static void take_stat(const struct process_reader *r, const struct member *one, struct reading *ret,
		      uint64_t own[USAGE_END], uint64_t kids[USAGE_KIDS_END])
{
	const struct proc_stat *st = &ret->st;

	own[USAGE_USER] = st->f[STAT_UTIME] * PL_TICK_US;
	own[USAGE_SYSTEM] = st->f[STAT_STIME] * PL_TICK_US;
	own[USAGE_MINFLT] = st->f[STAT_MINFLT];
	own[USAGE_MAJFLT] = st->f[STAT_MAJFLT];
	kids[USAGE_USER] = st->f[STAT_CUTIME] * PL_TICK_US;
	kids[USAGE_SYSTEM] = st->f[STAT_CSTIME] * PL_TICK_US;
	kids[USAGE_MINFLT] = st->f[STAT_CMINFLT];
	kids[USAGE_MAJFLT] = st->f[STAT_CMAJFLT];
	ret->blkio_known = r->delays && st->last >= STAT_BLKIO_TICKS && !one->threads &&
			   st->f[STAT_NUM_THREADS] == 1;
	if (ret->blkio_known)
		own[USAGE_BLKIO] = st->f[STAT_BLKIO_TICKS] * PL_TICK_US;
}

bool process_percent(uint64_t cpu_ns, uint64_t over_ns, unsigned cpus, uint64_t *late_ns,
		     int64_t *ret)
{
	*late_ns = 0;
	/* more than any machine has CPUs: a counter that is not what we take it for */
	if (!over_ns || cpu_ns / 65536 > over_ns)
		return false;
	uint64_t most = over_ns * cpus;
	if (cpu_ns > most && cpu_ns - most <= cpus * LATE_NS) {
		*late_ns = cpu_ns - most;
		cpu_ns = most;
	}
	*ret = (int64_t)((double)cpu_ns * 10000 / (double)over_ns + 0.5);
	return true;
}

/* CPU time for the percentage: exact where that is of all threads, else in ticks. */
static void take_cpu(const struct process_reader *r, struct member *one, struct reading *ret,
		     const uint64_t own[USAGE_END], uint64_t now_ns)
{
	bool exact = ret->oncpu_known;
	uint64_t cpu = exact ? own[USAGE_ONCPU] : (own[USAGE_USER] + own[USAGE_SYSTEM]) * 1000;
	unsigned cpus = one->had_threads ? r->cpus : 1;
	uint64_t late = 0;

	ret->percent_known = one->known && one->cpu_exact == exact && cpu >= one->cpu_ns &&
			     now_ns > one->time_ns &&
			     process_percent(cpu - one->cpu_ns, now_ns - one->time_ns, cpus, &late,
					     &ret->percent);
	one->cpu_ns = cpu - late;
	one->cpu_exact = exact;
	one->time_ns = now_ns;
}

/* The kernel cuts ticks from exact time, each by less than one; where it is more they are not of
 * the same. */
uint64_t process_beyond_ticks(const struct member *one)
{
	uint64_t ticks = one->own[USAGE_USER] + one->own[USAGE_SYSTEM], cpu = one->cpu_ns / 1000;

	return one->cpu_exact && cpu > ticks && cpu - ticks <= UNNOTICED_US ? cpu - ticks : 0;
}

struct cpu_split process_split_cpu(struct cpu_split *shown, const uint64_t usage[USAGE_END],
				   uint64_t beyond_us)
{
	uint64_t user = usage[USAGE_USER], system = usage[USAGE_SYSTEM];

	if (user > INT64_MAX / 4 || system > INT64_MAX / 4) /* nobody's CPU time */
		return (struct cpu_split){user, system};
	uint64_t last = shown->user_us + shown->system_us, total = user + system + beyond_us;
	total = total > last ? total : last;
	double ratio = system ? (double)user / (double)(user + system) : 1;
	uint64_t part = (uint64_t)((double)total * ratio + 0.5), most = total - shown->system_us;
	part = part < shown->user_us ? shown->user_us : part > most ? most : part;
	*shown = (struct cpu_split){part, total - part};
	return *shown;
}

/*
 * The clock is asked where schedstat does not do: for more than one thread, also of the past, which
 * shows by more time in stat than the first thread had; and to see whether it runs at all.
 */
static void look_clock(struct process_reader *r, struct member *one, struct reading *ret,
		       uint64_t own[USAGE_END])
{
	if (!one->had_threads && !(one->quiet && r->dir.idle_known))
		return;
	one->clock_known = procdir_cpu_clock(&r->dir, one->pid, &one->clock_ns);
	if (!one->clock_known)
		return;
	own[USAGE_ONCPU] = one->clock_ns;
	ret->oncpu_known = true;
}

static void notice_threads(struct process_reader *r, struct member *one, struct reading *ret,
			   uint64_t own[USAGE_END])
{
	uint64_t total = own[USAGE_USER] + own[USAGE_SYSTEM];

	if (one->had_threads ||
	    (ret->st.f[STAT_NUM_THREADS] < 2 && total <= own[USAGE_ONCPU] / 1000 + UNNOTICED_US))
		return;
	one->had_threads = true;
	if (!ret->oncpu_known)
		look_clock(r, one, ret, own);
}

int process_look(struct process_reader *r, struct members *m, struct member *one,
		 struct reading *ret)
{
	uint64_t own[USAGE_END], kids[USAGE_KIDS_END];

	ret->oncpu_known = ret->sched_known = false;
	ret->io_present = 0;
	one->clock_known = false;
	memcpy(own, one->own, sizeof(own));
	look_clock(r, one, ret, own);
	/* when its CPU time was read, wherever that comes from */
	uint64_t now_ns = clock_boottime_ns();
	look_io(r, one, ret, own);
	look_sched(r, one, ret, own);
	if (!ret->oncpu_known)
		now_ns = clock_boottime_ns();
	int e = look_stat(r, one, ret);
	if (e < 0)
		return e;
	take_stat(r, one, ret, own, kids);
	notice_threads(r, one, ret, own);
	look_threads(r, one, ret, own);
	/* what schedstat has of a process that never had two threads is all of it */
	if (!one->had_threads)
		ret->oncpu_known |= ret->sched_known;
	take_cpu(r, one, ret, own, now_ns);
	if (one->threads)
		ret->oncpu_known |= ret->sched_known;
	one->quiet = one->known && ret->oncpu_known && own[USAGE_ONCPU] == one->own[USAGE_ONCPU];
	one->ppid = (int)ret->st.f[STAT_PPID];
	one->thread_count = ret->st.f[STAT_NUM_THREADS];
	member_took(m, one, own, kids);
	return 0;
}

bool process_idle(struct process_reader *r, const struct members *m, struct member *one)
{
	uint64_t ns;

	if (!one->quiet || !one->clock_known || !r->dir.idle_known ||
	    (m->pass + (unsigned)one->pid) % IDLE_MAX == 0 ||
	    !procdir_cpu_clock(&r->dir, one->pid, &ns) || ns != one->clock_ns)
		return false;
	one->time_ns = clock_boottime_ns();
	return true;
}

bool process_gone(struct process_reader *r, struct member *one)
{
	struct reading now;

	return look_stat(r, one, &now) == -ESRCH;
}

bool process_exists(struct process_reader *r, int pid)
{
	char buf[16];
	int fd = -1;

	return procdir_read(&r->dir, &fd, pid, "stat", false, buf, sizeof(buf)) >= 0;
}

void process_forget(struct process_reader *r, struct member *one)
{
	procdir_forget(&r->dir, &one->stat_fd);
	procdir_forget(&r->dir, &one->io_fd);
	procdir_forget(&r->dir, &one->sched_fd);
	if (one->threads)
		thread_counters_release(one->threads, &r->dir);
	free(one->threads);
	one->threads = NULL;
}
