/*
 * Event counters by perf_event_open, one set per thread, if requested by a list:
 *
 *     NAME=type:config[:config1[:config2]]   as `plimsoll run` resolved it, numbers in hex
 *     PERF_COUNT_SW_*, PERF_COUNT_HW_*       known here, for programs preloaded by hand
 *     rHEX                                   a raw code of the CPU
 *
 * Only counters keep descriptors open: close-on-exec, the highest below 1024, so that the program's
 * own numbers do not change. If a program closes them, its counters are reported as missing.
 *
 * Counters belong to one process. A copy (fork.c) closes inherited ones and opens its own. Children
 * of vfork, and of clone() with shared memory or descriptors, report none, with the reason.
 *
 * The field COUNTERS holds, for each event in the order of the list, a varint of state bits, then
 * the value (or the errno of an absent one), then for a multiplexed one the share of time that it
 * was on the CPU's counters in 1/1000.
 */
#include "preload/guest.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <time.h>

#include "core/metrics/event_names.h"

#define EVENTS_MAX 16
/* Minimum limit of descriptors: with fewer the program needs them itself. */
#define DESCRIPTORS_MIN 256
#define DESCRIPTORS_TOP 1024

struct event {
	uint32_t type;
	int problem; /* errno: it cannot be counted */
	uint64_t config, config1, config2;
};

/* The counters of one thread. */
struct thread_events {
	int tid; /* 0: free */
	int fd[EVENTS_MAX];
	int leader[EVENTS_MAX]; /* first event of the group */
	int problem[EVENTS_MAX];
	uint64_t id[EVENTS_MAX];
	uint64_t cycles;
	bool user_only[EVENTS_MAX];
};

struct reading {
	uint64_t value, enabled, running;
	int problem;
	bool user_only;
};

#define BLOCK_THREADS 32
struct block {
	struct block *next;
	struct thread_events threads[BLOCK_THREADS];
};

/* Mapped only if there are events, to keep the library small. */
static struct events {
	unsigned count;
	int pid;      /* process of these counters */
	int changing; /* threads that are opening or closing theirs */
	int holds;    /* copies that are being made */
	size_t names_size;
	struct block *blocks;
	struct event event[EVENTS_MAX];
	struct reading ended[EVENTS_MAX]; /* sums of ended threads; value is scaled */
	char names[1024];
} * ev;

/* ---- the list ------------------------------------------------------------------------------- */

static bool parse_hex(const char **pp, const char *end, uint64_t *ret)
{
	const char *p = *pp;
	uint64_t v = 0;

	if (end - p > 2 && p[0] == '0' && p[1] == 'x')
		p += 2;
	const char *first = p;
	for (; p < end; p++) {
		if (*p >= '0' && *p <= '9')
			v = v << 4 | (uint64_t)(*p - '0');
		else if ((*p | 32) >= 'a' && (*p | 32) <= 'f')
			v = v << 4 | (uint64_t)((*p | 32) - 'a' + 10);
		else
			break;
	}
	*pp = p;
	*ret = v;
	return p > first;
}

static bool parse_resolved(const char *p, const char *end, struct event *e)
{
	uint64_t v[4] = {0};

	for (int i = 0; i < 4; i++) {
		if (!parse_hex(&p, end, &v[i]))
			return false;
		if (p == end) {
			e->type = (uint32_t)v[0];
			e->config = v[1];
			e->config1 = v[2];
			e->config2 = v[3];
			return i > 0;
		}
		if (*p++ != ':')
			return false;
	}
	return false;
}

static bool parse_by_hand(const char *name, size_t n, struct event *e)
{
	const char *p = name + 1;

	for (size_t i = 0; i < sizeof(event_names) / sizeof(event_names[0]); i++)
		if (proc_name_is(name, n, event_names[i].name)) {
			e->type = event_names[i].type;
			e->config = event_names[i].config;
			return true;
		}
	if (n > 1 && name[0] == 'r' && parse_hex(&p, name + n, &e->config) && p == name + n) {
		e->type = PERF_TYPE_RAW;
		return true;
	}
	return false;
}

static bool have_state(void)
{
	if (!ev)
		ev = map_pages(sizeof(*ev));
	return ev != NULL;
}

static void add_event(const char *word, const char *end)
{
	const char *equals = word;

	while (equals < end && *equals != '=')
		equals++;
	size_t n = (size_t)(equals - word);
	if (!n || !have_state() || ev->count == EVENTS_MAX ||
	    ev->names_size + n + 1 > sizeof(ev->names))
		return;
	struct event *e = &ev->event[ev->count];
	bool ok = equals < end ? parse_resolved(equals + 1, end, e) : parse_by_hand(word, n, e);
	if (!ok)
		e->problem = ENOENT;
	if (ev->count)
		ev->names[ev->names_size++] = ',';
	__builtin_memcpy(ev->names + ev->names_size, word, n);
	ev->names_size += n;
	ev->count++;
}

static bool is_option(const char *word, size_t n)
{
	for (size_t i = 0; i < sizeof(option_words) / sizeof(option_words[0]); i++)
		if (proc_name_is(word, n, option_words[i]))
			return true;
	return false;
}

void events_configure(const char *spec)
{
	while (spec && *spec) {
		const char *end = spec;

		while (*end && *end != ',')
			end++;
		if (!is_option(spec, (size_t)(end - spec)))
			add_event(spec, end);
		spec = *end ? end + 1 : end;
	}
}

const char *events_names(size_t *ret_n)
{
	*ret_n = ev ? ev->names_size : 0;
	return ev ? ev->names : NULL;
}

/* ---- opening -------------------------------------------------------------------------------- */

/* Moves a descriptor up, out of the way of the program's own. */
static int move_up(int fd)
{
	struct rlimit limit;

	if (sys4(__NR_prlimit64, 0, RLIMIT_NOFILE, NULL, &limit) < 0 ||
	    limit.rlim_cur < DESCRIPTORS_MIN) {
		sys1(__NR_close, fd);
		return -EMFILE;
	}
	long top = limit.rlim_cur < DESCRIPTORS_TOP ? (long)limit.rlim_cur : DESCRIPTORS_TOP;
	for (long want = top - 1; want > top / 2; want--) {
		if (sys2(__NR_fcntl, want, F_GETFD) != -EBADF)
			continue;
		long moved = sys3(__NR_fcntl, fd, F_DUPFD_CLOEXEC, want);
		sys1(__NR_close, fd);
		return (int)moved;
	}
	sys1(__NR_close, fd);
	return -EMFILE;
}

/* Events in kernel mode, which would always be 0 otherwise. */
static bool needs_kernel(const struct event *e)
{
	return e->type == PERF_TYPE_SOFTWARE && (e->config == PERF_COUNT_SW_CONTEXT_SWITCHES ||
						 e->config == PERF_COUNT_SW_CPU_MIGRATIONS);
}

static long perf_open(const struct event *e, int group, bool user_only)
{
	struct perf_event_attr attr;

	__builtin_memset(&attr, 0, sizeof(attr));
	attr.size = sizeof(attr);
	attr.type = e->type;
	attr.config = e->config;
	attr.config1 = e->config1;
	attr.config2 = e->config2;
	attr.exclude_kernel = user_only;
	attr.exclude_hv = user_only;
	attr.disabled = group < 0; /* a group is enabled when it is complete */
	attr.read_format = PERF_FORMAT_GROUP | PERF_FORMAT_ID | PERF_FORMAT_TOTAL_TIME_ENABLED |
			   PERF_FORMAT_TOTAL_TIME_RUNNING;
	return sys5(__NR_perf_event_open, &attr, 0, -1, group, PERF_FLAG_FD_CLOEXEC);
}

static void open_one(struct thread_events *t, unsigned i)
{
	const struct event *e = &ev->event[i];
	int group = -1;

	t->leader[i] = (int)i;
	t->fd[i] = -1;
	t->problem[i] = e->problem;
	if (e->problem)
		return;
	/* one group, to read all at once; what does not fit begins another one */
	int before = i ? t->leader[i - 1] : -1;
	if (before >= 0 && t->fd[before] >= 0) {
		t->leader[i] = before;
		group = t->fd[before];
	}
	for (;;) {
		t->user_only[i] = false;
		long fd = perf_open(e, group, false);
		if ((fd == -EACCES || fd == -EPERM) && !needs_kernel(e)) {
			t->user_only[i] = true;
			fd = perf_open(e, group, true);
		}
		if (fd < 0 && group >= 0) {
			group = -1;
			t->leader[i] = (int)i;
			continue;
		}
		if (fd >= 0)
			fd = move_up((int)fd);
		if (fd < 0)
			t->problem[i] = (int)-fd;
		else
			t->fd[i] = (int)fd;
		break;
	}
	if (t->fd[i] >= 0 && sys3(__NR_ioctl, t->fd[i], PERF_EVENT_IOC_ID, &t->id[i]) < 0)
		t->id[i] = 0;
}

static struct thread_events *find(int tid)
{
	for (struct block *b = __atomic_load_n(&ev->blocks, __ATOMIC_ACQUIRE); b; b = b->next)
		for (int i = 0; i < BLOCK_THREADS; i++)
			if (__atomic_load_n(&b->threads[i].tid, __ATOMIC_ACQUIRE) == tid)
				return &b->threads[i];
	return NULL;
}

static struct thread_events *claim(int tid)
{
	for (struct block *b = __atomic_load_n(&ev->blocks, __ATOMIC_ACQUIRE); b; b = b->next)
		for (int i = 0; i < BLOCK_THREADS; i++) {
			int none = 0;

			if (__atomic_compare_exchange_n(&b->threads[i].tid, &none, tid, false,
							__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
				return &b->threads[i];
		}
	struct block *b = map_pages(sizeof(*b));
	if (!b)
		return NULL;
	b->threads[0].tid = tid;
	b->next = __atomic_load_n(&ev->blocks, __ATOMIC_ACQUIRE);
	while (!__atomic_compare_exchange_n(&ev->blocks, &b->next, b, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE))
		;
	return &b->threads[0];
}

bool events_wanted(void)
{
	return ev != NULL;
}

/* Sleeps for a moment, if there are tries left. */
static bool let_pass(int *left)
{
	struct timespec pause = {.tv_nsec = 100000};

	if (!(*left)--)
		return false;
	sys2(__NR_nanosleep, &pause, NULL);
	return true;
}

/* fork copies descriptors and then memory while other threads run: a copy could have one without
 * the other. */
void events_hold(void)
{
	int left = 500;

	if (!ev)
		return;
	__atomic_fetch_add(&ev->holds, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&ev->changing, __ATOMIC_SEQ_CST) && !guest.silent && let_pass(&left))
		;
}

void events_release(void)
{
	if (ev)
		__atomic_fetch_sub(&ev->holds, 1, __ATOMIC_SEQ_CST);
}

static void begin_change(void)
{
	int left = 500;

	for (;;) {
		__atomic_fetch_add(&ev->changing, 1, __ATOMIC_SEQ_CST);
		if (!__atomic_load_n(&ev->holds, __ATOMIC_SEQ_CST) || !left)
			return;
		__atomic_fetch_sub(&ev->changing, 1, __ATOMIC_SEQ_CST);
		let_pass(&left);
	}
}

static void end_change(void)
{
	__atomic_fetch_sub(&ev->changing, 1, __ATOMIC_SEQ_CST);
}

void events_open(int pid, int tid)
{
	struct held h;

	if (!ev || ev->pid != pid)
		return;
	hold_signals(&h);
	begin_change();
	struct thread_events *t = claim(tid);
	if (t) {
		t->cycles = cycle_count();
		for (unsigned i = 0; i < ev->count; i++)
			open_one(t, i);
		for (unsigned i = 0; i < ev->count; i++)
			if (t->leader[i] == (int)i && t->fd[i] >= 0)
				sys3(__NR_ioctl, t->fd[i], PERF_EVENT_IOC_ENABLE,
				     PERF_IOC_FLAG_GROUP);
	}
	end_change();
	release_signals(&h);
}

/* ---- reading -------------------------------------------------------------------------------- */

/* The program may have closed a counter and reused its number. */
static bool still_ours(const struct thread_events *t, unsigned i)
{
	uint64_t id = 0;

	return t->id[i] && sys3(__NR_ioctl, t->fd[i], PERF_EVENT_IOC_ID, &id) == 0 &&
	       id == t->id[i];
}

static void close_counters(const struct thread_events *t)
{
	for (unsigned i = 0; i < ev->count; i++)
		if (t->fd[i] >= 0 && still_ours(t, i))
			sys1(__NR_close, t->fd[i]);
}

/* Reads the group that begins at event `leader`. */
static void read_group(const struct thread_events *t, unsigned leader, struct reading *out)
{
	uint64_t buf[3 + 2 * EVENTS_MAX];
	long n = still_ours(t, leader) ? sys3(__NR_read, t->fd[leader], buf, sizeof(buf)) : 0;
	unsigned count = n >= 24 ? (unsigned)buf[0] : 0;

	if (n > 0)
		own_add(ev->pid, &(struct own_io){.rchar = (uint64_t)n, .syscr = 1});
	for (unsigned i = leader; i < ev->count; i++) {
		if (t->leader[i] != (int)leader || t->fd[i] < 0)
			continue;
		out[i].problem = EBADF;
		for (unsigned k = 0; k < count && k < EVENTS_MAX; k++)
			if (buf[4 + 2 * k] == t->id[i])
				out[i] = (struct reading){buf[3 + 2 * k], buf[1], buf[2], 0,
							  t->user_only[i]};
	}
}

/* In a copy, which has one thread. Closes only descriptors that are certainly our counters. */
void events_begin_child(int pid)
{
	struct held h;

	if (!ev)
		return;
	hold_signals(&h);
	for (struct block *b = ev->blocks; b; b = b->next)
		for (int k = 0; k < BLOCK_THREADS; k++) {
			if (b->threads[k].tid)
				close_counters(&b->threads[k]);
			b->threads[k].tid = 0;
		}
	__builtin_memset(ev->ended, 0, sizeof(ev->ended));
	guest.cycles = cycle_count();
	ev->pid = pid;
	ev->changing = ev->holds = 0;
	release_signals(&h);
	events_open(pid, pid);
}

void events_begin(void)
{
	if (!ev)
		return;
	ev->pid = guest.pid;
	events_open(guest.pid, guest.pid);
}

static void read_thread(const struct thread_events *t, struct reading *out)
{
	for (unsigned i = 0; i < ev->count; i++)
		out[i] = (struct reading){.problem = t->problem[i] ? t->problem[i] : EBADF};
	for (unsigned i = 0; i < ev->count; i++)
		if (t->leader[i] == (int)i && t->fd[i] >= 0)
			read_group(t, i, out);
}

/* The count, extrapolated to the whole time. */
static uint64_t scaled(const struct reading *r)
{
	if (!r->running || r->running >= r->enabled)
		return r->value;
	return (uint64_t)((double)r->value * ((double)r->enabled / (double)r->running));
}

static void put_readings(struct fields *f, const struct reading *r, unsigned *flags)
{
	unsigned char buf[EVENTS_MAX * 24], *p = buf;

	for (unsigned i = 0; i < ev->count; i++) {
		bool multiplexed = r[i].running < r[i].enabled;

		if (r[i].problem) {
			p = pl_put_varint(p, 0);
			p = pl_put_varint(p, (uint64_t)r[i].problem);
			continue;
		}
		p = pl_put_varint(p, PL_COUNTED | (multiplexed ? PL_COUNTED_SCALED : 0) |
					     (r[i].user_only ? PL_COUNTED_USER : 0));
		p = pl_put_varint(p, scaled(&r[i]));
		if (multiplexed)
			p = pl_put_varint(p, (uint64_t)(1000.0 * (double)r[i].running /
							(double)r[i].enabled));
	}
	put_text(f, METRIC_COUNTERS, (const char *)buf, (size_t)(p - buf));
	*flags |= PL_F_COUNTED;
}

/* Adds a thread to a sum that holds scaled values. */
static void accumulate(struct reading *sum, const struct reading *r)
{
	if (r->problem) {
		sum->problem = r->problem;
		return;
	}
	__atomic_fetch_add(&sum->value, scaled(r), __ATOMIC_RELAXED);
	__atomic_fetch_add(&sum->enabled, r->enabled, __ATOMIC_RELAXED);
	__atomic_fetch_add(&sum->running, r->running, __ATOMIC_RELAXED);
	sum->user_only |= r->user_only;
}

NOINLINE void events_put_thread(struct fields *f, int pid, int tid, bool last, unsigned *flags)
{
	struct reading r[EVENTS_MAX];

	if (!ev || ev->pid != pid)
		return;
	struct thread_events *t = find(tid);
	if (!t)
		return;
	read_thread(t, r);
	put_u64(f, METRIC_RDTSC_DURATION, cycle_count() - t->cycles);
	put_readings(f, r, flags);
	if (!last)
		return;
	for (unsigned i = 0; i < ev->count; i++)
		accumulate(&ev->ended[i], &r[i]);
	begin_change();
	close_counters(t);
	__atomic_store_n(&t->tid, 0, __ATOMIC_RELEASE);
	end_change();
}

NOINLINE void events_put_process(struct fields *f, int pid, unsigned *flags)
{
	struct reading sum[EVENTS_MAX], r[EVENTS_MAX];

	if (!ev)
		return;
	if (ev->pid != pid) {
		for (unsigned i = 0; i < ev->count; i++)
			sum[i] = (struct reading){.problem = ECHILD};
		put_readings(f, sum, flags);
		return;
	}
	__builtin_memcpy(sum, ev->ended, sizeof(sum));
	for (struct block *b = ev->blocks; b; b = b->next)
		for (int k = 0; k < BLOCK_THREADS; k++) {
			if (!b->threads[k].tid)
				continue;
			read_thread(&b->threads[k], r);
			for (unsigned i = 0; i < ev->count; i++)
				accumulate(&sum[i], &r[i]);
		}
	/* put_readings() scales again: undo it */
	for (unsigned i = 0; i < ev->count; i++)
		if (sum[i].running < sum[i].enabled)
			sum[i].value = (uint64_t)((double)sum[i].value * (double)sum[i].running /
						  (double)sum[i].enabled);
	put_u64(f, METRIC_RDTSC_DURATION, cycle_count() - guest.cycles);
	put_readings(f, sum, flags);
}
