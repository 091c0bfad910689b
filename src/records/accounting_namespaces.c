/*
 * Processes that are seen from inside and from outside their pid namespace. A process records the
 * pid that it has inside; its parent outside and the kernel know another one. Its record may name
 * that pid (link); otherwise two entries are one process if their times, exit status and figures
 * agree.
 */
#include "core/system/procparse.h"
#include "records/accounting_internal.h"

/* How long after its END a process may be reported from outside. */
#define MERGE_NS 500000000ull
/* A match within this time is certain, unless another one is nearer. */
#define SURE_NS 20000000ull
/* How long after its exec a program may write its START. */
#define LOADING_NS 500000000ull
/* Error of the conversion of the kernel's event times to boot time. */
#define CLOCK_NS 1000000ull
/* Both are sums of rounded microseconds. */
#define SLACK_US 20
/* The kernel reports a thread's usage before its exit is complete; the process's total has all of
 * it. */
#define LEAVING_US 1000
#define TICK (PL_TICK_US * 1000)

struct outside {
	uint32_t process;
	uint64_t end_ns;
	uint64_t exec_ns; /* when it executed its first program; 0: unknown */
};

struct merging {
	struct accounting *b;
	uint64_t *outermost;     /* the namespace of the first run, for each host */
	struct outside *outside; /* entries without images, sorted by end */
	size_t count;
};

static void find_outermost(struct merging *m)
{
	for (size_t h = 0; h < m->b->host_count; h++) {
		const struct accounting_file *first = NULL;

		for (size_t i = 0; i < m->b->file_count; i++) {
			const struct accounting_file *f = &m->b->files[i];

			if (f->host == h && (f->pidns || f->procdev) &&
			    (!first || f->begin_ns < first->begin_ns))
				first = f;
		}
		m->outermost[h] = first ? accounting_home(m->b, first) : UINT64_MAX;
	}
}

static bool is_outermost(const struct merging *m, const struct process *p)
{
	return m->outermost[p->host] == p->key >> 32;
}

static int by_end(const void *a, const void *b)
{
	const struct outside *x = a, *y = b;

	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

static void list_outside(struct merging *m)
{
	struct record rec;

	for (size_t i = 0; i < m->b->process_count; i++) {
		const struct process *p = &m->b->processes[i];
		struct outside *o = &m->outside[m->count];

		if (p->last != NO_INDEX || p->merged)
			continue;
		*o = (struct outside){(uint32_t)i, p->end_ns, 0};
		if (p->execs && accounting_fetch(m->b, p->kernel, &rec) == 0) {
			size_t n;
			_cleanup_free_ uint64_t *times = accounting_exec_times(&rec, &n);

			o->exec_ns = n ? times[0] : 0;
		}
		m->count++;
	}
	qsort(m->outside, m->count, sizeof(*m->outside), by_end);
}

/* Merges what is known from outside into the entry from inside. */
static void merge(struct merging *m, struct process *outside, struct process *inside)
{
	struct accounting *b = m->b;

	outside->merged = true;
	outside->outside = (uint32_t)(inside - b->processes);
	if (inside->outside == NO_INDEX || is_outermost(m, outside))
		inside->outside = (uint32_t)(outside - b->processes);
	if (outside->has_kernel) {
		inside->has_kernel = true;
		inside->kernel = outside->kernel;
		inside->end_ns = outside->end_ns;
		inside->threads_kernel = outside->threads_kernel;
	}
	if (outside->has_kernel_cpu) {
		inside->has_kernel_cpu = true;
		inside->kernel_cpu_ns = outside->kernel_cpu_ns;
		inside->rssmax_kib = outside->rssmax_kib;
	}
	inside->execs = outside->execs > inside->execs ? outside->execs : inside->execs;
	if (!inside->reaped && outside->reaped) {
		inside->reaped = true;
		inside->reap = outside->reap;
		inside->has_usage = outside->has_usage;
		inside->reap_cpu_us = outside->reap_cpu_us;
	}
	if (inside->status < 0)
		inside->status = outside->status;
	if (outside->begin_ns)
		inside->begin_ns = outside->begin_ns;
	/* the kernel's time is more exact than the copy's tick */
	if (outside->has_kernel && outside->begin_ns && inside->last != NO_INDEX &&
	    b->images[inside->last].copy)
		b->images[inside->last].begin_ns = outside->begin_ns;
	if (inside->comm_exe == NO_INDEX)
		inside->comm_exe = outside->comm_exe;
	if (inside->last == NO_INDEX && inside->peek == NO_OFFSET) {
		inside->peek = outside->peek;
		inside->peek_exe = outside->peek_exe;
		inside->peek_begin_ns = outside->peek_begin_ns;
	}
	if (!inside->starttime_us)
		inside->starttime_us = outside->starttime_us;
}

/* ---- matching -------------------------------------------------------------------------------- */

/* Does the entry from outside add information? A PEEK always does, since nothing else made that
 * entry. */
static bool adds(const struct process *outside, const struct process *inside)
{
	if (outside->merged || outside->host != inside->host ||
	    outside->key >> 32 == inside->key >> 32)
		return false;
	return outside->has_kernel ? !inside->has_kernel
	       : outside->reaped   ? !inside->reaped
				   : outside->peek != NO_OFFSET;
}

/* Start times are in ticks, and forks are reported a little late. */
static bool same_begin(const struct process *outside, const struct process *inside)
{
	uint64_t begin_tick = outside->begin_ns / 1000 / PL_TICK_US;
	uint64_t start_tick = inside->starttime_us / PL_TICK_US;

	if (!outside->begin_ns || !inside->starttime_us)
		return true;
	return begin_tick == start_tick || begin_tick == start_tick + 1;
}

/* The kernel counts every exec; a copy with an END executed none. No process ends before its own
 * END. */
static bool same_life(const struct accounting *b, const struct process *outside,
		      const struct process *inside)
{
	const struct image *last = inside->last != NO_INDEX ? &b->images[inside->last] : NULL;

	if (!outside->has_kernel || !last)
		return true;
	if (last->end != NO_OFFSET && outside->end_ns + CLOCK_NS < last->end_ns)
		return false;
	return last->copy ? !outside->execs : outside->execs >= inside->images;
}

/* Its final CPU time cannot be less than in its own record. */
static bool enough_cpu(const struct accounting *b, const struct process *outside,
		       const struct process *inside)
{
	const struct image *spoken = accounting_last_spoken(b, inside);
	uint64_t own = spoken ? spoken->cpu_us : 0;
	uint64_t children = inside->children_user_us + inside->children_sys_us +
			    inside->reaped_user_us + inside->reaped_sys_us;

	uint64_t unsent = outside->threads_kernel > 1 ? outside->threads_kernel * LEAVING_US : 0;
	if (outside->has_kernel_cpu && outside->kernel_cpu_ns / 1000 + SLACK_US + unsent < own)
		return false;
	if (outside->has_usage && outside->reap_cpu_us + SLACK_US < own + children)
		return false;
	return !outside->has_kernel_cpu || !inside->has_usage ||
	       outside->kernel_cpu_ns / 1000 <= inside->reap_cpu_us + 1000;
}

static bool saw_program(const struct accounting *b, const struct process *outside,
			const struct process *inside)
{
	if (outside->has_kernel || outside->reaped || inside->last == NO_INDEX)
		return true;
	for (uint32_t i = inside->first; i != NO_INDEX; i = b->images[i].next)
		if (b->images[i].exe == outside->peek_exe)
			return true;
	return false;
}

/* The parent, or the process that adopted it, seen from inside; NULL: unknown. The number of a pid
 * namespace that is gone is reused, with its pids. */
static const struct process *parent(const struct accounting *b, const struct process *p)
{
	uint32_t i = p->ppid ? accounting_newest(b, (p->key & ~0xffffffffull) | p->ppid) : NO_INDEX;

	while (i != NO_INDEX && p->end_ns && b->processes[i].begin_ns > p->end_ns)
		i = b->processes[i].previous;
	if (i == NO_INDEX)
		return NULL;
	return b->processes[i].merged ? &b->processes[b->processes[i].outside] : &b->processes[i];
}

/* By their own figures. */
static bool alike(const struct accounting *b, const struct process *outside,
		  const struct process *inside)
{
	return adds(outside, inside) && same_begin(outside, inside) &&
	       same_life(b, outside, inside) && enough_cpu(b, outside, inside) &&
	       saw_program(b, outside, inside) &&
	       (outside->status < 0 || inside->status < 0 || outside->status == inside->status);
}

/* A parent may be merged after its children: without own records, or if its namespace ended late.
 */
static bool same_parent(const struct accounting *b, const struct process *outside,
			const struct process *inside)
{
	const struct process *x = parent(b, outside), *y = parent(b, inside);

	return !x || !y || x == y || (x->last == NO_INDEX && alike(b, x, y));
}

/* Orphans become children of the first process of their pid namespace. */
static bool may_be_adopted(const struct process *inside)
{
	return inside->ppid == 1 || process_pid(inside) == 1;
}

/* Its end by its own record; 0: only others know, and a waiting parent may be late. */
static uint64_t told_end(const struct accounting *b, const struct process *p)
{
	const struct image *last = p->last != NO_INDEX ? &b->images[p->last] : NULL;

	if (!last || last->end == NO_OFFSET || last->ended_by_exec || last->silent)
		return 0;
	return last->end_ns;
}

/* The difference of their times; UINT64_MAX: they cannot be the same. */
static uint64_t distance(const struct accounting *b, const struct outside *o,
			 const struct process *inside)
{
	const struct process *outside = &b->processes[o->process];
	const struct image *first = inside->first != NO_INDEX ? &b->images[inside->first] : NULL;
	uint64_t told = told_end(b, inside), end = told ? told : inside->end_ns, far = 0;

	if (!alike(b, outside, inside))
		return UINT64_MAX;
	if (!same_parent(b, outside, inside)) {
		if (!may_be_adopted(inside))
			return UINT64_MAX;
		far = SURE_NS; /* prefer a child of the same parent */
	}
	if (o->exec_ns && first && first->start != NO_OFFSET) {
		if (first->begin_ns < o->exec_ns || first->begin_ns - o->exec_ns > LOADING_NS)
			return UINT64_MAX;
		far += first->begin_ns - o->exec_ns;
	}
	if (outside->begin_ns && inside->starttime_us &&
	    outside->begin_ns / TICK != inside->starttime_us / PL_TICK_US)
		far += TICK;
	if (!outside->has_kernel && !outside->reaped)
		return far;
	if (!told && o->exec_ns && first && first->start != NO_OFFSET)
		return far;
	/* a parent waits later than the kernel reports */
	return far + (outside->end_ns > end ? outside->end_ns - end : end - outside->end_ns);
}

/* ---- merging --------------------------------------------------------------------------------- */

/* Merges by the pid outside that the record names. */
static void merge_linked(struct merging *m)
{
	struct accounting *b = m->b;

	for (size_t k = 0; k < b->process_count; k++) {
		struct process *in = &b->processes[k];

		if (!in->link || in->merged || is_outermost(m, in))
			continue;
		uint64_t key = m->outermost[in->host] << 32 | in->link;
		struct process *out;
		FOR_KEY(b, out, key)
		{
			if (out != in && out->last == NO_INDEX && adds(out, in) &&
			    same_begin(out, in) &&
			    (!out->end_ns || out->end_ns + TICK >= in->begin_ns)) {
				merge(m, out, in);
				break;
			}
		}
	}
}

/* Merges with the nearest entry from outside, if it is within the limit. */
static void merge_nearest(struct merging *m, struct process *in, uint64_t limit)
{
	struct accounting *b = m->b;
	/* its parent may have waited long after its end, which is known outside at once */
	uint64_t told = told_end(b, in), end = told ? told : in->end_ns;
	uint64_t best = UINT64_MAX;
	struct process *found = NULL;
	size_t low = 0, high = m->count;

	/* if only its parent reported it, it may have ended any time before */
	uint64_t from = told || end < MERGE_NS ? end
			: limit == SURE_NS     ? end - MERGE_NS
					       : in->begin_ns;
	/* the first process of a namespace may be waited for at any time, and a process that
	 * executed an unrecorded program may end at any time */
	bool anytime = process_pid(in) == 1 || (!told && !in->reaped);
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (m->outside[mid].end_ns + TICK < from)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < m->count; low++) {
		struct outside *o = &m->outside[low];
		struct process *out = &b->processes[o->process];

		if (out->end_ns > end + MERGE_NS && !anytime)
			break;
		uint64_t far = out == in ? UINT64_MAX : distance(b, o, in);
		if (far < best) {
			best = far;
			found = out;
		}
	}
	if (found && best <= limit)
		merge(m, found, in);
}

static bool wants(const struct merging *m, const struct process *in, bool spoken)
{
	return !in->merged && !is_outermost(m, in) && (in->last != NO_INDEX) == spoken &&
	       (!in->has_kernel || !in->reaped);
}

/* Merges PEEK-only entries with processes that are known under another pid. */
static void merge_looks(struct merging *m)
{
	struct accounting *b = m->b;

	for (size_t i = 0; i < m->count; i++) {
		const struct outside *o = &m->outside[i];
		struct process *out = &b->processes[o->process];

		if (out->merged || out->has_kernel || out->reaped || out->peek == NO_OFFSET)
			continue;
		for (size_t k = 0; k < b->process_count; k++) {
			struct process *in = &b->processes[k];

			if (in != out && wants(m, in, in->last != NO_INDEX) &&
			    in->starttime_us == out->starttime_us &&
			    distance(b, o, in) != UINT64_MAX) {
				merge(m, out, in);
				break;
			}
		}
	}
}

void accounting_merge_namespaces(struct accounting *b)
{
	_cleanup_free_ struct outside *outside = xcalloc(b->process_count, sizeof(*outside));
	_cleanup_free_ uint64_t *outermost = xcalloc(b->host_count, sizeof(*outermost));
	struct merging m = {b, outermost, outside, 0};

	if (b->space_count < 2)
		return;
	find_outermost(&m);
	merge_linked(&m);
	list_outside(&m);
	/* processes with own records and near matches first, so that a slightly worse match does
	 * not take their place */
	for (int pass = 0; pass < 4; pass++)
		for (size_t i = 0; i < b->process_count; i++)
			if (wants(&m, &b->processes[i], pass < 2))
				merge_nearest(&m, &b->processes[i],
					      pass % 2 ? UINT64_MAX - 1 : SURE_NS);
	merge_looks(&m);
}
