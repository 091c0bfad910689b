/*
 * The kernel's figures of a process or thread: getrusage() and files of /proc.
 */
#include "preload/guest.h"

#include <time.h>

/* In the order of TASK_USAGE, without TIME_ONCPU. */
#define USAGES 8

static void usage_values(const struct rusage *ru, uint64_t v[USAGES])
{
	v[0] = tv_us(&ru->ru_utime);
	v[1] = tv_us(&ru->ru_stime);
	v[2] = (uint64_t)ru->ru_minflt;
	v[3] = (uint64_t)ru->ru_majflt;
	v[4] = (uint64_t)ru->ru_inblock;
	v[5] = (uint64_t)ru->ru_oublock;
	v[6] = (uint64_t)ru->ru_nvcsw;
	v[7] = (uint64_t)ru->ru_nivcsw;
}

void put_rusage(struct fields *f, const struct rusage *ru)
{
	static const unsigned char ids[] = {TASK_USAGE};
	uint64_t v[USAGES];

	usage_values(ru, v);
	for (unsigned i = 0; i < USAGES; i++)
		put_u64(f, ids[i], v[i]);
}

void put_children(struct fields *f, const struct rusage *ru)
{
	put_u64(f, METRIC_CUTIME, tv_us(&ru->ru_utime));
	put_u64(f, METRIC_CSTIME, tv_us(&ru->ru_stime));
	put_u64(f, METRIC_CMINFLT, (uint64_t)ru->ru_minflt);
	put_u64(f, METRIC_CMAJFLT, (uint64_t)ru->ru_majflt);
}

static long read_in(const char *dir, const char *name, char *buf, size_t size, struct own_io *own)
{
	char path[64];
	size_t n = 0;

	for (; *dir && n + 1 < sizeof(path); dir++)
		path[n++] = *dir;
	for (; *name && n + 1 < sizeof(path); name++)
		path[n++] = *name;
	path[n] = 0;
	return read_file(path, buf, size, own);
}

/* Reads io last: it does not include its own read. */
NOINLINE void read_task(const char *dir, const char *io_dir, struct task *t,
			const struct own_io *booked, struct own_io *own, bool other)
{
	char buf[512];

	__builtin_memset(t, 0, sizeof(*t));
	long n = read_in(dir, "stat", buf, sizeof(buf), own);
	if (n <= 0 || !proc_parse_stat(buf, (size_t)n, &t->stat))
		t->stat.last = 0;
	n = read_in(dir, "schedstat", buf, sizeof(buf), own);
	t->have_sched = n > 0 && proc_parse_schedstat(buf, (size_t)n, &t->sched);
	uint64_t off[4] = {booked->rchar, booked->wchar, booked->syscr, booked->syscw};
	if (!other) {
		off[0] += own->rchar;
		off[2] += own->syscr;
	}
	n = read_in(io_dir, "io", buf, sizeof(buf), own);
	if (n <= 0)
		return;
	proc_parse_io(buf, (size_t)n, &t->io);
	for (unsigned i = 0; i < 4; i++)
		t->io.v[i] = less(t->io.v[i], off[i]);
}

void put_task(struct fields *f, const struct task *t, const struct thread_sums *others,
	      const struct pending *pending)
{
	static const unsigned char ids[7] = {IO_METRICS};

	if (t->stat.last >= STAT_PROCESSOR)
		put_u64(f, METRIC_PROCESSOR, t->stat.f[STAT_PROCESSOR]);
	if (t->stat.last >= STAT_BLKIO_TICKS && others)
		put_u64(f, METRIC_DELAYACCT_BLKIO_TIME,
			(t->stat.f[STAT_BLKIO_TICKS] + others->v[SUM_BLKIO_TICKS]) * PL_TICK_US);
	if (t->stat.last >= STAT_GUEST_TIME)
		put_u64(f, METRIC_GUEST_TIME, t->stat.f[STAT_GUEST_TIME] * PL_TICK_US);
	if (t->have_sched && others) {
		put_u64(f, METRIC_TIME_WAITING, t->sched.waiting_ns + others->v[SUM_WAITING_NS]);
		put_u64(f, METRIC_TIMESLICES, t->sched.timeslices + others->v[SUM_TIMESLICES]);
	}
	for (unsigned i = 0; i < 7; i++) {
		uint64_t more = !pending ? 0
				: i == 1 ? pending->bytes
				: i == 3 ? pending->calls
					 : 0;

		if (t->io.present & 1u << i && !(pending && pending->unknown && (i == 1 || i == 3)))
			put_u64(f, ids[i],
				t->io.v[i] + (others ? others->v[SUM_IO + i] : 0) + more);
	}
}

/* In the order of TASK_USAGE. */
static NOINLINE unsigned char *put_own_usage(unsigned char *p)
{
	uint64_t v[USAGES];
	struct rusage ru;

	if (sys2(__NR_getrusage, RUSAGE_THREAD, &ru) != 0)
		return p;
	usage_values(&ru, v);
	for (unsigned i = 0; i < USAGES; i++)
		p = pl_put_varint(p, v[i]);
	p = pl_put_varint(p, clock_ns(CLOCK_THREAD_CPUTIME_ID));
	return p;
}

/*
 * Of a process with threads only the one that executes goes on: the next image begins with its
 * values. Our I/O in the whole process is subtracted here as for the process, even below zero: the
 * reader adds the same again.
 */
NOINLINE void put_executing(struct fields *f, const struct own_io *booked, struct own_io *own)
{
	static const struct own_io nothing;
	unsigned char buf[19 * PL_VARINT_MAX], *p = buf;
	struct own_io more = {0};
	struct task t;

	read_task("/proc/thread-self/", "/proc/thread-self/", &t, &nothing, &more, false);
	if (!t.have_sched || t.stat.last < STAT_BLKIO_TICKS || t.io.present != 0x7f)
		return;
	uint64_t off[7] = {booked->rchar + own->rchar, booked->wchar, booked->syscr + own->syscr,
			   booked->syscw};
	p = pl_put_varint(p, t.sched.waiting_ns);
	p = pl_put_varint(p, t.sched.timeslices);
	p = pl_put_varint(p, t.stat.f[STAT_BLKIO_TICKS] * PL_TICK_US);
	for (unsigned i = 0; i < 7; i++)
		p = pl_put_varint(p, t.io.v[i] - off[i]);
	p = put_own_usage(p);
	put_text(f, METRIC_TASK, (const char *)buf, (size_t)(p - buf));
	own->rchar += more.rchar;
	own->syscr += more.syscr;
}
