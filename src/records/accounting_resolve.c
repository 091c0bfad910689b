/*
 * After all records are read: which children a process waited for unseen, and when its images began
 * and ended.
 */
#include <stdlib.h>

#include "records/accounting_internal.h"

/* ---- children ------------------------------------------------------------------------------- */

/* Its last program has no record of its children's usage, and no REAP. */
static bool waits_unseen(const struct accounting *b, const struct process *p)
{
	const struct image *last = &b->images[p->last];

	return (last->end == NO_OFFSET || last->ended_by_exec || last->silent) &&
	       !p->reaped_user_us && !p->reaped_sys_us;
}

static bool has_ended(const struct process *p)
{
	return p->reaped || p->has_kernel || p->status >= 0;
}

/* The kernel's report may come after the parent's, and after the parent's end. */
#define LATE_NS 100000000ull

/* A begin that is known only to the tick is up to a tick early: a child may seem older than its
 * parent. */
static uint64_t latest_begin(const struct process *p)
{
	return p->begin_ns % TICK_NS ? p->begin_ns : p->begin_ns + TICK_NS;
}

static bool outlived(const struct process *p, const struct process *child)
{
	return p->begin_ns <= latest_begin(child) && p->end_ns + LATE_NS >= child->end_ns;
}

/* Its own last record includes that child already. */
static bool told(const struct accounting *b, const struct process *p, const struct process *child)
{
	const struct image *spoken = accounting_last_spoken(b, p);

	return spoken && child->end_ns <= spoken->end_ns;
}

/* The parent of a process; NULL: unknown. */
static struct process *find_parent(struct accounting *b, const struct process *child)
{
	const struct process *seen =
		child->outside != NO_INDEX ? &b->processes[child->outside] : child;
	struct process *entry;

	FOR_KEY(b, entry, (seen->key & ~0xffffffffull) | seen->ppid)
	{
		struct process *p = entry->merged ? &b->processes[entry->outside] : entry;

		if (p != child && outlived(p, child))
			return p;
	}
	return NULL;
}

uint32_t accounting_parent(const struct accounting *b, const struct process *p)
{
	const struct process *seen = p->outside != NO_INDEX ? &b->processes[p->outside] : p;
	uint32_t own = p->started_by ? p->started_by : p->ppid;
	const struct process *entry;

	if (seen == p || !seen->started_by)
		return own;
	/* the kernel uses the parent's pid outside */
	FOR_KEY(b, entry, (seen->key & ~0xffffffffull) | seen->started_by)
	{
		const struct process *parent =
			entry->merged ? &b->processes[entry->outside] : entry;

		if (parent != p && parent->begin_ns <= latest_begin(p))
			return parent->key >> 32 == p->key >> 32 ? (uint32_t)process_pid(parent)
								 : own;
	}
	return own;
}

/* Is it the pid of a known ancestor? */
static bool is_ancestor(struct accounting *b, const struct process *p, uint32_t pid)
{
	for (int depth = 0; p && depth < 64; depth++) {
		if (p->ppid == pid)
			return true;
		p = find_parent(b, p);
	}
	return false;
}

/* The parent is unknown, but some ancestor waited for it: finds the youngest process that outlived
 * the child and has no record of its children. */
static struct process *find_ancestor(struct accounting *b, const struct process *child,
				     const uint32_t *unrecorded, size_t count)
{
	struct process *found = NULL;

	for (size_t i = 0; i < count; i++) {
		struct process *p = &b->processes[unrecorded[i]];

		if (p != child && p->host == child->host && p->has_usage && p->begin_ns &&
		    outlived(p, child) && (!found || p->begin_ns > found->begin_ns) &&
		    !is_ancestor(b, p, child->ppid) &&
		    !is_ancestor(b, p, (uint32_t)process_pid(child)))
			found = p;
	}
	return found;
}

/* CPU time of a process and its children, as its parent got it from wait(). */
static bool usage_with_children(struct accounting *b, const struct process *p, uint64_t *user,
				uint64_t *sys)
{
	const struct image *spoken = accounting_last_spoken(b, p);
	frame_ref ref = p->has_kernel_cpu ? p->kernel : spoken ? spoken->end : NO_OFFSET;
	struct record rec;

	*user = p->children_user_us + p->reaped_user_us;
	*sys = p->children_sys_us + p->reaped_sys_us;
	if (ref == NO_OFFSET)
		return *user || *sys;
	if (accounting_fetch(b, ref, &rec) < 0)
		return false;
	uint64_t own_user = record_get(&rec, METRIC_USERTIME, 0);
	uint64_t own_sys = record_get(&rec, METRIC_SYSTEMTIME, 0);
	if (p->has_kernel_cpu)
		split_cpu(p->kernel_cpu_ns / 1000, &own_user, &own_sys);
	*user += own_user;
	*sys += own_sys;
	return true;
}

/* Processes whose CPU time belongs to a parent that waited unseen. */
struct kin {
	const struct process *all;
	uint32_t *order; /* children before their parents */
	size_t count;
	uint32_t *parent;     /* of each process; NO_INDEX: unknown */
	uint32_t *generation; /* of each process: 1 if its parent is unknown */
};

static void kin_release(struct kin *k)
{
	free(k->order);
	free(k->parent);
	free(k->generation);
}

/* Counts generations from a process up to the first that is counted. Damaged records can form a
 * cycle, which ends where it closes. */
static void count_generations(struct kin *k, uint32_t process)
{
	uint32_t steps = 0, i = process;

	for (; i != NO_INDEX && !k->generation[i]; i = k->parent[i]) {
		k->generation[i] = 1;
		steps++;
	}
	uint32_t above = i == NO_INDEX ? 0 : k->generation[i];
	for (i = process; steps; i = k->parent[i])
		k->generation[i] = above + steps--;
}

/* Times are not enough: a parent and its child may begin in the same tick. */
static int children_first(const void *a, const void *b, void *kin)
{
	const struct kin *k = kin;
	uint32_t i = *(const uint32_t *)a, j = *(const uint32_t *)b;
	const struct process *x = &k->all[i], *y = &k->all[j];

	if (k->generation[i] != k->generation[j])
		return k->generation[i] > k->generation[j] ? -1 : 1;
	return x->begin_ns > y->begin_ns ? -1 : x->begin_ns < y->begin_ns;
}

static void find_kin(struct accounting *b, struct kin *k)
{
	_cleanup_free_ uint32_t *unrecorded = xcalloc(b->process_count + 1, sizeof(*unrecorded));
	size_t unrecorded_count = 0;

	*k = (struct kin){
		.all = b->processes,
		.order = xcalloc(b->process_count + 1, sizeof(*k->order)),
		.parent = xcalloc(b->process_count + 1, sizeof(*k->parent)),
		.generation = xcalloc(b->process_count + 1, sizeof(*k->generation)),
	};
	for (size_t i = 0; i < b->process_count; i++) {
		const struct process *p = &b->processes[i];

		k->parent[i] = NO_INDEX;
		if (p->merged || !has_ended(p))
			continue;
		if (!p->reaped)
			k->order[k->count++] = (uint32_t)i;
		if (waits_unseen(b, p))
			unrecorded[unrecorded_count++] = (uint32_t)i;
	}
	for (size_t i = 0; i < k->count; i++) {
		const struct process *child = &b->processes[k->order[i]];
		const struct process *parent = find_parent(b, child);

		if (!parent)
			parent = find_ancestor(b, child, unrecorded, unrecorded_count);
		if (parent)
			k->parent[k->order[i]] = (uint32_t)(parent - b->processes);
	}
	for (size_t i = 0; i < k->count; i++)
		count_generations(k, k->order[i]);
	qsort_r(k->order, k->count, sizeof(*k->order), children_first, k);
}

/* User and system time are in ticks, and the exit of children is in no record. */
#define WAITED_SLACK_US 25000

/* The most CPU time of children that an unrecorded parent can have waited for. */
static uint64_t waited_at_most(struct accounting *b, const struct process *p)
{
	struct record rec;
	uint64_t all = p->has_usage ? p->reap_cpu_us : UINT64_MAX - WAITED_SLACK_US;

	if (p->has_usage && p->has_kernel_cpu)
		all = all > p->kernel_cpu_ns / 1000 ? all - p->kernel_cpu_ns / 1000 : 0;
	else if (p->has_usage && accounting_fetch(b, p->reap, &rec) == 0 &&
		 record_has(&rec, METRIC_CUTIME))
		all = rec.v[METRIC_CUTIME] + record_get(&rec, METRIC_CSTIME, 0);
	return all;
}

/* CPU time of children that a process waited for unseen: by its last record, less its REAP records.
 */
static void find_unclaimed(struct accounting *b, uint64_t *left)
{
	for (size_t i = 0; i < b->process_count; i++) {
		const struct process *p = &b->processes[i];

		if (!p->merged && has_ended(p))
			left[i] = p->children_user_us + p->children_sys_us;
	}
	for (size_t i = 0; i < b->process_count; i++) {
		const struct process *child = &b->processes[i];
		const struct process *parent =
			child->merged || !child->has_usage ? NULL : find_parent(b, child);

		if (!parent)
			continue;
		uint64_t *rest = &left[parent - b->processes];
		*rest -= child->reap_cpu_us < *rest ? child->reap_cpu_us : *rest;
	}
}

/* Subtracts a child from what its parent waited for; false: there is not that much left. */
static bool claim(uint64_t *left, uint64_t us)
{
	const uint64_t slack = 1000;

	if (us > *left + slack)
		return false;
	*left -= us < *left ? us : *left;
	return true;
}

/* Adds a child to the parent that waited for it unseen; false: impossible. */
static bool add_child(struct accounting *b, struct process *parent, uint64_t user, uint64_t sys)
{
	uint64_t before = parent->children_user_us + parent->children_sys_us +
			  parent->reaped_user_us + parent->reaped_sys_us;

	if (before + user + sys > waited_at_most(b, parent) + WAITED_SLACK_US)
		return false;
	parent->unseen_waits = true;
	parent->reaped_user_us += user;
	parent->reaped_sys_us += sys;
	return true;
}

/*
 * An unrecorded parent has no record of the children that it waited for, and wait() on the parent
 * returns their usage together with its own. So known children that nobody else waited for are
 * subtracted from it. Children come before their parents, so this works over any number of
 * generations.
 */
void accounting_resolve_children(struct accounting *b)
{
	_cleanup_free_ uint64_t *left = xcalloc(b->process_count + 1, sizeof(*left));
	_cleanup_(kin_release) struct kin k = {0};

	find_kin(b, &k);
	find_unclaimed(b, left);
	for (size_t i = 0; i < k.count; i++) {
		const struct process *child = &b->processes[k.order[i]];
		uint32_t at = k.parent[k.order[i]];
		struct process *parent = at == NO_INDEX ? NULL : &b->processes[at];
		uint64_t user, sys;

		if (!usage_with_children(b, child, &user, &sys) || (parent && !has_ended(parent)))
			continue;
		/* an orphan that nobody waited for has no parent here */
		bool claimed = !parent ? false
			       : parent->unseen_waits || waits_unseen(b, parent)
				       ? told(b, parent, child) || add_child(b, parent, user, sys)
				       : claim(&left[at], user + sys);
		if (!claimed)
			b->unwaited_us += user + sys;
	}
	for (size_t i = 0; i < b->process_count; i++)
		b->unclaimed_us += left[i];
}

/* ---- times ---------------------------------------------------------------------------------- */

/* An image begins at its exec. If the exec time is unknown, it began no later than its START less
 * the CPU time used by then. */
static uint64_t begin_of(const struct process *p, const struct image *img,
			 const struct image *prior)
{
	if (prior && prior->ended_by_exec && prior->end_ns && img->start != NO_OFFSET &&
	    prior->end_ns < img->begin_ns)
		return prior->end_ns;
	if (!img->begin_ns)
		return 0;
	uint64_t early = img->early_us * 1000ull;
	uint64_t begin = img->begin_ns > early ? img->begin_ns - early : 1;
	uint64_t earliest = prior           ? prior->begin_ns
			    : p->has_kernel ? p->begin_ns
					    : p->starttime_us * 1000;
	return begin > earliest ? begin : earliest < img->begin_ns ? earliest : img->begin_ns;
}

/* The last image ends with its process. Its own record comes before the exit, whose CPU time the
 * reaper got; the reaper may have waited much later. */
static uint64_t end_of(const struct accounting *b, const struct process *p,
		       const struct image *last)
{
	uint64_t cpu;

	if (p->has_kernel || last->end == NO_OFFSET || last->ended_by_exec || last->silent)
		return p->end_ns;
	if (!p->reaped || !process_cpu_us(b, p, &cpu) || cpu < last->cpu_us)
		return last->end_ns;
	uint64_t end = last->end_ns + (cpu - last->cpu_us) * 1000;
	return end < p->end_ns ? end : p->end_ns;
}

/* One thread cannot use more CPU time than elapses, which limits an unknown begin. A process
 * without other times began within the tick of its start time. */
static void not_later(const struct process *p, struct image *img, uint64_t cpu_us, bool ticks)
{
	uint64_t latest = img->end_ns > cpu_us * 1000 ? img->end_ns - cpu_us * 1000 : 1;

	if (!img->end_ns || (img->numtids != 1 && !img->uncounted))
		return;
	if (ticks && p->starttime_us) {
		uint64_t tick = p->starttime_us * 1000;

		img->begin_ns = latest < tick             ? tick
				: latest < tick + TICK_NS ? latest
							  : tick + TICK_NS;
	}
	if (!img->begin_ns || img->begin_ns > latest)
		img->begin_ns = latest;
}

/* The images of a process, in order. */
struct chain {
	uint32_t *at;
	size_t count, cap;
};

static void list_images(const struct accounting *b, const struct process *p, struct chain *c)
{
	c->count = 0;
	for (uint32_t i = p->first; i != NO_INDEX; i = b->images[i].next) {
		GROW(c->at, c->count, c->cap);
		c->at[c->count++] = i;
	}
}

/* From the last image to the first: an image that has to begin earlier ends the previous one
 * earlier. */
static void make_room(struct accounting *b, const struct process *p, const struct chain *c)
{
	uint64_t upto;

	if (!has_ended(p) || !process_cpu_us(b, p, &upto))
		return;
	for (size_t i = c->count; i-- > 0;) {
		struct image *img = &b->images[c->at[i]];
		struct image *prior = i ? &b->images[c->at[i - 1]] : NULL;
		uint64_t before = prior ? prior->cpu_us : 0;
		bool ticks = !prior && img->start == NO_OFFSET && !p->has_kernel;
		/* the CPU time of two consecutive unrecorded programs cannot be divided */
		bool divided = !prior || prior->end != NO_OFFSET || img->start != NO_OFFSET;

		if (divided && upto >= before)
			not_later(p, img, upto - before, ticks);
		if (prior && img->begin_ns && img->begin_ns < prior->end_ns)
			prior->end_ns = img->begin_ns;
		upto = before;
	}
}

static void resolve_times(struct accounting *b, struct process *p, struct chain *c)
{
	struct image *prior = NULL;

	list_images(b, p, c);
	for (size_t i = 0; i < c->count; i++) {
		struct image *img = &b->images[c->at[i]];

		img->begin_ns = begin_of(p, img, prior);
		if (prior && prior->end == NO_OFFSET)
			prior->end_ns = img->begin_ns;
		prior = img;
	}
	if (has_ended(p))
		prior->end_ns = end_of(b, p, prior);
	make_room(b, p, c);
	uint64_t begin = b->images[p->first].begin_ns;
	if (begin && (!p->begin_ns || begin < p->begin_ns))
		p->begin_ns = begin;
}

void accounting_resolve_times(struct accounting *b)
{
	struct chain c = {0};

	for (size_t i = 0; i < b->process_count; i++)
		if (!b->processes[i].merged)
			resolve_times(b, &b->processes[i], &c);
	free(c.at);
}
