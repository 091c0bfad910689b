/*
 * Reads one process: stat, io, schedstat and its CPU clock.
 *
 * Surprising: schedstat of a process is that of its first thread, so it is added up over all
 * threads (thread_counters.h). CPU time need not be: the CPU clock of the process has it in
 * nanoseconds, with all threads including ended ones, and anyone may read it. Storage delay in stat
 * is also that of the first thread, and is reported only for a process that never had two. stat is
 * read last: if it is still that of the same process, so was all that was read by pid before.
 */
#include "sources/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/clock.h"
#include "core/files/fs.h"
#include "sources/source.h"

/* The share of the descriptors that this source may keep open. */
#define FDS_PERCENT 60

/* An idle process is still read once in this many readings. */
#define IDLE_MAX 8
/* How much of a CPU's time the kernel may account late: ticks of user and of system time. */
#define LATE_NS 20000000ull
/* CPU time of ended threads that may go unnoticed: stat counts only whole ticks. */
#define UNNOTICED_US (3 * PL_TICK_US)

/* ---- delay accounting ---- */

/* The kernel's switch for delay accounting, '0' or '1', or a negative errno. */
static int delays_switch(const char *root)
{
	_cleanup_free_ char *path = xasprintf("%s/proc/sys/kernel/task_delayacct", root);
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	int r = fs_read(AT_FDCWD, path, 64, &text);

	return r < 0 ? r : text.buf[0];
}

/* While it is disabled, the times that tasks are blocked on storage are 0 and meaningless. */
static int probe_delays(const struct source_context *ctx, struct source_report *report)
{
	int r = delays_switch(ctx->root);

	if (r < 0)
		return strbuf_fail(&report->detail, r,
				   "this kernel has no switch for delay accounting");
	if (r == '1') {
		strbuf_addstr(&report->detail, "the kernel accounts delays");
		return 0;
	}
	strbuf_addstr(&report->detail, "the kernel does not account time blocked on storage");
	report->remedy = "sudo sysctl kernel.task_delayacct=1";
	return -ENODATA;
}

const struct source source_delays = {
	.name = "task_delayacct",
	.help = "time that tasks are blocked on storage",
	.probe = probe_delays,
};

/* ---- reading ---- */

int process_reader_open(struct process_reader *r, const char *root, struct strbuf *why)
{
	int e = procdir_open(&r->dir, root, FDS_PERCENT, why);

	if (e < 0)
		return e;
	r->page_size = (uint64_t)sysconf(_SC_PAGESIZE);
	r->cpus = (unsigned)sysconf(_SC_NPROCESSORS_CONF);
	r->delays = delays_switch(root) != '0';
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

/* A file that is missing or not permitted now will stay so. */
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

/* Of the first thread; if there are several, they are added up afterwards. */
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

/* 0; -ESRCH: it is not this process (any more); -EBADMSG: invalid file. */
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
	/* more CPUs than any machine has: the counter is wrong */
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

/* CPU time for the percentage: exact if it is that of all threads, else in ticks. */
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

/* The kernel rounds exact time down to ticks, by less than one each; a larger difference has other
 * reasons. */
uint64_t process_beyond_ticks(const struct member *one)
{
	uint64_t ticks = one->own[USAGE_USER] + one->own[USAGE_SYSTEM], cpu = one->cpu_ns / 1000;

	return one->cpu_exact && cpu > ticks && cpu - ticks <= UNNOTICED_US ? cpu - ticks : 0;
}

struct cpu_split process_split_cpu(struct cpu_split *shown, const uint64_t usage[USAGE_END],
				   uint64_t beyond_us)
{
	uint64_t user = usage[USAGE_USER], system = usage[USAGE_SYSTEM];

	if (user > INT64_MAX / 4 || system > INT64_MAX / 4) /* impossible values */
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
 * The clock is read if schedstat is not enough: for several threads, also in the past, which shows
 * by more time in stat than the first thread had; and to see whether the process runs at all.
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
	/* the time of the CPU time, whatever its origin */
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
	/* schedstat of a process that never had two threads is complete */
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
