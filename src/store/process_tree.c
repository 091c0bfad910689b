/* The process tree of a job; see process_tree.h. */
#include "store/process_tree.h"

#include <stdlib.h>
#include <string.h>

#include "core/system/procparse.h"
#include "core/util.h"

void process_tree_release(struct process_tree *f)
{
	free(f->nodes);
	free(f->threads.starts);
	free(f->threads.ends);
	*f = (struct process_tree){0};
}

struct node *process_tree_add(struct process_tree *f)
{
	GROW(f->nodes, f->count, f->cap);
	struct node *n = &f->nodes[f->count++];
	memset(n, 0, sizeof(*n));
	n->parent = NO_NODE;
	n->exclusive = -1;
	return n;
}

static uint64_t within(uint64_t time, const struct node *n)
{
	return time < n->start ? n->start : time > n->end ? n->end : time;
}

void process_tree_add_thread(struct process_tree *f, uint64_t start, uint64_t end)
{
	struct process_tree_threads *t = &f->threads;
	const struct node *n = &f->nodes[f->count - 1];

	/* a process without times is not in the profile, nor are its threads */
	if (!n->start || !n->end)
		return;
	if (!start || !end || end < start) {
		t->unknown = true;
		return;
	}
	if (t->count == t->cap) {
		t->cap = t->cap ? t->cap * 2 : 64;
		t->starts = xreallocarray(t->starts, t->cap, sizeof(*t->starts));
		t->ends = xreallocarray(t->ends, t->cap, sizeof(*t->ends));
	}
	t->starts[t->count] = within(start, n);
	t->ends[t->count++] = within(end, n);
}

/* ---- parents -------------------------------------------------------------------------------- */

/* The node of an element of an order. */
#define NODE(element, nodes) ((const struct node *)(nodes) + *(const uint32_t *)(element))

/* By time, then by index. */
static int compare_times(uint64_t x, uint64_t y, const void *a, const void *b)
{
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	return x != y ? (x < y ? -1 : 1) : i < k ? -1 : i > k;
}

static int by_pid_and_start(const void *a, const void *b, void *nodes)
{
	const struct node *x = NODE(a, nodes), *y = NODE(b, nodes);

	if (x->host != y->host)
		return x->host < y->host ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return compare_times(x->start, y->start, a, b);
}

/* Children of one parent together, in the order of their start; roots last. */
static int by_parent_and_start(const void *a, const void *b, void *nodes)
{
	const struct node *x = NODE(a, nodes), *y = NODE(b, nodes);

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	return compare_times(x->start, y->start, a, b);
}

static void sort_order(const struct process_tree *f, uint32_t *order,
		       int (*compare)(const void *, const void *, void *))
{
	for (size_t i = 0; i < f->count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, f->count, sizeof(*order), compare, f->nodes);
}

/* The number of elements of the order whose (host, pid, start) is not after the given one. */
static size_t last_not_behind(const struct process_tree *f, const uint32_t *order, uint16_t host,
			      uint32_t pid, uint64_t start)
{
	size_t low = 0, high = f->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct node *n = &f->nodes[order[middle]];
		bool behind = n->host != host ? n->host > host
			      : n->pid != pid ? n->pid > pid
					      : n->start > start;

		if (behind)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

uint32_t *process_tree_by_pid(const struct process_tree *f)
{
	uint32_t *order = xreallocarray(NULL, f->count + 1, sizeof(*order));

	sort_order(f, order, by_pid_and_start);
	return order;
}

static bool is_pid(const struct process_tree *f, const uint32_t *order, size_t at, uint16_t host,
		   uint32_t pid)
{
	return at < f->count && f->nodes[order[at]].host == host && f->nodes[order[at]].pid == pid;
}

uint32_t process_tree_find(const struct process_tree *f, const uint32_t *by_pid, uint16_t host,
			   uint32_t pid, uint64_t time)
{
	size_t behind = last_not_behind(f, by_pid, host, pid, time);

	/* its end, or its start, may be known to a clock tick only */
	if (behind && is_pid(f, by_pid, behind - 1, host, pid)) {
		const struct node *n = &f->nodes[by_pid[behind - 1]];

		if (!n->end || n->end + PL_TICK_US >= time)
			return by_pid[behind - 1];
	}
	return is_pid(f, by_pid, behind, host, pid) &&
			       f->nodes[by_pid[behind]].start - time < PL_TICK_US
		       ? by_pid[behind]
		       : NO_NODE;
}

uint32_t process_tree_last_image(const struct process_tree *f, const uint32_t *by_pid,
				 uint32_t image)
{
	const struct node *n = &f->nodes[image];
	size_t at = last_not_behind(f, by_pid, n->host, n->pid, n->start);

	/* one that was executed begins when the one before it ends */
	for (; is_pid(f, by_pid, at, n->host, n->pid); at++) {
		const struct node *next = &f->nodes[by_pid[at]];

		if (!n->end || next->start > n->end + 1)
			break;
		n = next;
	}
	return (uint32_t)(n - f->nodes);
}

static bool is_parent_pid(const struct process_tree *f, const uint32_t *order, size_t at,
			  const struct node *child)
{
	const struct node *n = at < f->count ? &f->nodes[order[at]] : NULL;

	return n && n->host == child->host && n->pid == child->ppid && n != child;
}

/* The start of a fork may be known to a clock tick only, in which its parent started, too. */
static bool in_one_tick(const struct node *child, const struct node *parent)
{
	return parent->start - child->start < PL_TICK_US;
}

static uint32_t find_parent(const struct process_tree *f, const uint32_t *order,
			    const struct node *child, bool images_dropped)
{
	size_t behind = last_not_behind(f, order, child->host, child->ppid, child->start);

	for (size_t at = behind; at-- > 0 && is_parent_pid(f, order, at, child);) {
		const struct node *n = &f->nodes[order[at]];

		if (!n->end || n->end >= child->start)
			return order[at];
	}
	/* it may have executed its program after its parent had ended */
	if (behind > 0 && is_parent_pid(f, order, behind - 1, child))
		return order[behind - 1];
	if (is_parent_pid(f, order, behind, child) &&
	    (images_dropped || in_one_tick(child, &f->nodes[order[behind]])))
		return order[behind];
	return NO_NODE;
}

static void find_parents(struct process_tree *f, const uint32_t *order, bool images_dropped)
{
	for (size_t i = 0; i < f->count; i++) {
		struct node *child = &f->nodes[i];

		if (child->ppid && child->ppid != child->pid)
			child->parent = find_parent(f, order, child, images_dropped);
	}
	/* the ids are no longer needed: their fields hold numbers now */
	for (size_t i = 0; i < f->count; i++)
		f->nodes[i].children = f->nodes[i].first = 0;
}

/* Reused pids could make processes ancestors of each other: such a cycle is cut. `first` holds the
 * node from which a node was reached. */
static void cut_circles(struct process_tree *f)
{
	for (size_t i = 0; i < f->count; i++) {
		uint32_t at = (uint32_t)i;

		while (at != NO_NODE && !f->nodes[at].first) {
			f->nodes[at].first = (uint32_t)i + 1;
			at = f->nodes[at].parent;
		}
		if (at != NO_NODE && f->nodes[at].first == i + 1)
			f->nodes[at].parent = NO_NODE;
	}
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* Index of the first child of a node in the order; roots are children of NO_NODE. */
static size_t first_child(const struct process_tree *f, const uint32_t *order, uint32_t parent)
{
	size_t low = 0, high = f->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->nodes[order[middle]].parent < parent)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Sums of hostile values end at the limit. */
static uint64_t sum_of_cpu(uint64_t a, uint64_t b)
{
	int64_t sum;

	return __builtin_add_overflow((int64_t)a, (int64_t)b, &sum) ? INT64_MAX : (uint64_t)sum;
}

/* Walks without recursion, because chains may have a million processes. While a node is open,
 * `last` is the index of its next child in the order. */
static void number_tree(struct process_tree *f, const uint32_t *order, size_t root_at,
			uint32_t *counter)
{
	uint32_t at = order[root_at];

	f->nodes[at].first = (*counter)++;
	f->nodes[at].last = (uint32_t)first_child(f, order, at);
	for (;;) {
		struct node *n = &f->nodes[at];

		if (n->last < f->count && f->nodes[order[n->last]].parent == at) {
			uint32_t child = order[n->last++];
			struct node *c = &f->nodes[child];

			n->children++;
			c->depth = n->depth == UINT16_MAX ? UINT16_MAX : (uint16_t)(n->depth + 1);
			c->first = (*counter)++;
			c->last = (uint32_t)first_child(f, order, child);
			at = child;
			continue;
		}
		n->last = *counter - 1;
		if (n->parent == NO_NODE)
			return;
		f->nodes[n->parent].cpu = sum_of_cpu(f->nodes[n->parent].cpu, n->cpu);
		at = n->parent;
	}
}

/* The time that no child covers: its own interval without the union of theirs, which are sorted by
 * start. */
static void find_exclusive(struct process_tree *f, const uint32_t *order)
{
	for (size_t i = 0; i < f->count; i++) {
		struct node *n = &f->nodes[i];

		if (n->start && n->end >= n->start)
			n->exclusive = (int64_t)(n->end - n->start);
	}
	uint64_t covered = 0; /* up to here, for the current parent */
	uint32_t at_hand = NO_NODE;
	for (size_t i = 0; i < f->count && f->nodes[order[i]].parent != NO_NODE; i++) {
		const struct node *c = &f->nodes[order[i]];
		struct node *p = &f->nodes[c->parent];

		if (c->parent != at_hand) {
			at_hand = c->parent;
			covered = p->start;
		}
		uint64_t from = c->start > covered ? c->start : covered;
		uint64_t to = c->end < p->end ? c->end : p->end;
		if (to <= from || p->exclusive < 0)
			continue;
		p->exclusive -= (int64_t)(to - from);
		covered = to;
	}
}

void process_tree_build(struct process_tree *f, bool images_dropped)
{
	_cleanup_free_ uint32_t *order = xreallocarray(NULL, f->count + 1, sizeof(*order));
	uint32_t counter = 1;

	sort_order(f, order, by_pid_and_start);
	find_parents(f, order, images_dropped);
	cut_circles(f);
	sort_order(f, order, by_parent_and_start);
	for (size_t i = first_child(f, order, NO_NODE); i < f->count; i++)
		number_tree(f, order, i, &counter);
	find_exclusive(f, order);
}

/* ---- over time ------------------------------------------------------------------------------ */

static int by_end(const void *a, const void *b, void *nodes)
{
	return compare_times(NODE(a, nodes)->end, NODE(b, nodes)->end, a, b);
}

static int by_start(const void *a, const void *b, void *nodes)
{
	return compare_times(NODE(a, nodes)->start, NODE(b, nodes)->start, a, b);
}

struct profile {
	struct process_tree_step *out;
	size_t count, max;
	uint64_t begin, width;       /* of one step; 0: every change is a step */
	uint32_t processes, threads; /* after the last change */
};

static void put_step(struct profile *p, uint64_t time, uint32_t processes, uint32_t threads)
{
	struct process_tree_step *last = p->count ? &p->out[p->count - 1] : NULL;

	if (last && last->time == time) {
		if (processes > last->processes)
			last->processes = processes;
		if (threads > last->threads)
			last->threads = threads;
	} else if (!last || last->processes != processes || last->threads != threads) {
		if (p->count < p->max)
			p->out[p->count++] = (struct process_tree_step){time, processes, threads};
	}
}

/* A step with several changes has the largest number; after it the level is the last one. */
static void add_step(struct profile *p, uint64_t time, uint32_t processes, uint32_t threads)
{
	uint64_t at = p->width ? time - (time - p->begin) % p->width : time;
	const struct process_tree_step *last = p->count ? &p->out[p->count - 1] : NULL;

	if (p->width && last && last->time < at) {
		put_step(p, last->time + p->width, p->processes, p->threads);
		put_step(p, at, p->processes, p->threads);
	}
	if (!p->width && last && last->time == time) {
		/* replace it: the level may now equal the one before it */
		p->count--;
		put_step(p, time, processes, threads);
	} else {
		put_step(p, at, processes, threads);
	}
	p->processes = processes;
	p->threads = threads;
}

/* Two orders and the memory of qsort() would be 12 bytes per process: one is in the nodes. */
static uint32_t *sort_by_times(struct process_tree *f)
{
	uint32_t *order = xreallocarray(NULL, f->count + 1, sizeof(*order));

	sort_order(f, order, by_start);
	for (size_t i = 0; i < f->count; i++)
		f->nodes[i].nth_start = order[i];
	sort_order(f, order, by_end);
	return order;
}

static const struct node *starting(const struct process_tree *f, size_t i)
{
	return &f->nodes[f->nodes[i].nth_start];
}

static int by_time(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Walks over sorted starts and ends. */
struct sweep {
	const struct process_tree *f;
	const uint32_t *ends; /* nodes by their end */
	struct profile *profile;
	size_t s, e;   /* nodes that started and ended so far */
	size_t ts, te; /* threads */
	uint32_t processes, extra, peak_processes, peak_threads;
};

static void count_at(struct sweep *w, uint64_t time)
{
	uint32_t threads = w->f->threads.unknown ? 0 : w->processes + w->extra;

	if (w->processes > w->peak_processes)
		w->peak_processes = w->processes;
	if (threads > w->peak_threads)
		w->peak_threads = threads;
	if (time >= w->profile->begin)
		add_step(w->profile, time, w->processes, threads);
}

/* Handles starts of threads before this time and ends up to it. A thread that replaces another does
 * not overlap it; one without a duration starts before it ends. */
static void sweep_threads(struct sweep *w, uint64_t time)
{
	const struct process_tree_threads *t = &w->f->threads;

	while (w->te < t->count) {
		bool start =
			w->ts < t->count && (w->ts == w->te || t->starts[w->ts] < t->ends[w->te]);
		uint64_t at = start ? t->starts[w->ts] : t->ends[w->te];

		if (start ? at >= time : at > time)
			return;
		w->ts += start;
		w->te += !start;
		w->extra = (uint32_t)(w->ts - w->te);
		count_at(w, at);
	}
}

static void sweep_nodes(struct sweep *w)
{
	const struct process_tree *f = w->f;

	while (w->e < f->count) {
		const struct node *begins = w->s < f->count ? starting(f, w->s) : NULL;
		const struct node *finishes = &f->nodes[w->ends[w->e]];
		/* a program that replaces another does not overlap it; one without a duration
		 * starts before it ends */
		bool start = begins &&
			     (begins->start < finishes->end ||
			      (begins->start == finishes->end && finishes->start == finishes->end));
		uint64_t time = start ? begins->start : finishes->end;

		sweep_threads(w, time);
		if (start && begins->end)
			w->processes++;
		if (!start && finishes->start)
			w->processes -= w->processes > 0;
		w->s += start;
		w->e += !start;
		count_at(w, time);
	}
}

size_t process_tree_profile(struct process_tree *f, struct process_tree_step *out, size_t max,
			    uint32_t *ret_peak_processes, uint32_t *ret_peak_threads)
{
	_cleanup_free_ uint32_t *ends = sort_by_times(f);
	size_t s = 0, e = 0, threads = f->threads.unknown ? 0 : f->threads.count;

	*ret_peak_processes = *ret_peak_threads = 0;
	while (s < f->count && (!starting(f, s)->start || !starting(f, s)->end))
		s++;
	while (e < f->count && (!f->nodes[ends[e]].start || !f->nodes[ends[e]].end))
		e++;
	if (s == f->count)
		return 0;
	if (threads) {
		qsort(f->threads.starts, threads, sizeof(uint64_t), by_time);
		qsort(f->threads.ends, threads, sizeof(uint64_t), by_time);
	}
	struct profile p = {.out = out, .max = max, .begin = starting(f, s)->start};
	uint64_t span = f->nodes[ends[f->count - 1]].end - p.begin;
	if ((f->count + threads) * 2 > max)
		p.width = span / (max / 2 - 1) + 1;
	struct sweep w = {.f = f, .ends = ends, .profile = &p, .s = s, .e = e};
	if (!threads) /* none to follow */
		w.ts = w.te = f->threads.count;
	sweep_nodes(&w);
	*ret_peak_processes = w.peak_processes;
	*ret_peak_threads = w.peak_threads;
	if (p.width && p.count)
		put_step(&p, out[p.count - 1].time + p.width, p.processes, p.threads);
	return p.count;
}
