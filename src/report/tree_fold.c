/* The process tree of a report with equal siblings merged; see report.h. No recursion: a chain of
 * processes may be as long as the job. */
#include <string.h>

#include "report/report_internal.h"

struct fold {
	struct flame_node *nodes;
	size_t count, cap;
	struct hash_map places; /* by parent and name */
};

/* The node of this name below another, UINT32_MAX for roots. */
static uint32_t node_of(struct fold *f, uint32_t parent, uint32_t name)
{
	uint64_t hash = hash_number((uint64_t)parent << 32 | name);

	for (struct hash_slot *s = hash_map_first(&f->places, hash); s;
	     s = hash_map_next(&f->places, s)) {
		const struct flame_node *n = &f->nodes[s->value];
		bool root = n->parent == s->value;

		if (n->name == name && (root ? parent == UINT32_MAX : n->parent == parent))
			return (uint32_t)s->value;
	}
	GROW(f->nodes, f->count, f->cap);
	f->nodes[f->count] =
		(struct flame_node){.parent = parent == UINT32_MAX ? (uint32_t)f->count : parent,
				    .name = name,
				    .depth = parent == UINT32_MAX ? 0 : f->nodes[parent].depth + 1};
	hash_map_add(&f->places, hash, f->count);
	return (uint32_t)f->count++;
}

static int64_t known(int64_t v)
{
	return v == UNKNOWN || v < 0 ? 0 : v;
}

static void fold_processes(struct report_loading *l, struct fold *f)
{
	_cleanup_free_ uint32_t *node = xcalloc(l->count, sizeof(*node));

	for (size_t i = 0; i < l->count; i++) {
		const struct report_proc *p = &l->procs[i];

		node[i] = node_of(f, p->parent == i ? UINT32_MAX : node[p->parent], p->name);
		struct flame_node *n = &f->nodes[node[i]];
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): it was found or made */
		n->processes++;
		n->cpu += known(p->cpu);
		n->wall += known(p->duration);
		n->io += known(p->read) + known(p->written);
		if (known(p->rssmax) > n->rssmax)
			n->rssmax = known(p->rssmax);
	}
	/* a node's parent is before it */
	for (size_t i = f->count; i-- > 0;) {
		const struct flame_node *n = &f->nodes[i];
		struct flame_node *up = &f->nodes[n->parent];

		if (n->parent == i)
			continue;
		up->cpu += n->cpu;
		up->io += n->io;
		up->rssmax = n->rssmax > up->rssmax ? n->rssmax : up->rssmax;
	}
}

/* ---- the largest only ----------------------------------------------------------------------- */

/* The weight of a node and its descendants: its largest share of any of the sums. Never more than
 * its parent's. */
static double *worth(const struct fold *f)
{
	double *w = xcalloc(f->count, sizeof(*w)), cpu = 1, wall = 1, rss = 1, io = 1;

	for (size_t i = 0; i < f->count; i++) {
		const struct flame_node *n = &f->nodes[i];

		wall += (double)n->wall;
		if (n->parent != i)
			continue;
		cpu += (double)n->cpu;
		io += (double)n->io;
		rss = (double)n->rssmax > rss ? (double)n->rssmax : rss;
	}
	for (size_t i = f->count; i-- > 0;) {
		const struct flame_node *n = &f->nodes[i];
		const double parts[] = {(double)n->cpu / cpu, (double)n->wall / wall,
					(double)n->rssmax / rss, (double)n->io / io};

		for (size_t k = 0; k < ARRAY_SIZE(parts); k++)
			w[i] = parts[k] > w[i] ? parts[k] : w[i];
		w[n->parent] = w[i] > w[n->parent] ? w[i] : w[n->parent];
	}
	return w;
}

static int descending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x > y ? -1 : x < y;
}

/* Which nodes stay; descendants of dropped nodes are dropped. */
static bool *choose(const struct fold *f)
{
	bool *keep = xcalloc(f->count + 1, sizeof(*keep));

	if (f->count <= REPORT_FLAME_MAX) {
		memset(keep, true, f->count);
		return keep;
	}
	_cleanup_free_ double *w = worth(f), *sorted = xcalloc(f->count, sizeof(*sorted));
	memcpy(sorted, w, f->count * sizeof(*sorted));
	qsort(sorted, f->count, sizeof(*sorted), descending);
	double least = sorted[REPORT_FLAME_MAX];
	size_t room = REPORT_FLAME_MAX;
	for (size_t i = 0; i < f->count && sorted[i] > least; i++)
		room--;
	for (size_t i = 0; i < f->count; i++) {
		bool above = f->nodes[i].parent == i || keep[f->nodes[i].parent];

		keep[i] = above && (w[i] > least || (w[i] == least && room > 0 && room--));
	}
	return keep;
}

/* ---- in the order of a walk ------------------------------------------------------------------ */

struct sibling {
	uint32_t parent, node;
	int64_t cpu;
};

static int by_parent(const void *a, const void *b)
{
	const struct sibling *x = a, *y = b;

	if (x->parent != y->parent)
		return x->parent < y->parent ? -1 : 1;
	if (x->cpu != y->cpu)
		return x->cpu > y->cpu ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

/* Depth-first, siblings by CPU time; roots are siblings. */
static void walk(struct report *r, const struct fold *f, struct sibling *all, size_t count)
{
	_cleanup_free_ uint32_t *first = xcalloc(f->count + 1, sizeof(*first)),
				*place = xcalloc(f->count + 1, sizeof(*place)),
				*stack = xcalloc(count + 1, sizeof(*stack));
	size_t top = 0, at = 0;

	for (size_t i = count; i-- > 0;)
		if (all[i].parent != UINT32_MAX)
			first[all[i].parent] = (uint32_t)i + 1;
	while (at < count && all[at].parent != UINT32_MAX)
		at++;
	if (at < count)
		stack[top++] = (uint32_t)at;
	r->flame = xcalloc(count, sizeof(*r->flame));
	while (top) {
		uint32_t i = stack[top - 1], node = all[i].node;
		struct flame_node *to = &r->flame[r->flame_count];

		place[node] = (uint32_t)r->flame_count;
		*to = f->nodes[node];
		to->parent = all[i].parent == UINT32_MAX ? (uint32_t)r->flame_count
							 : place[all[i].parent];
		r->flame_count++;
		/* its next sibling takes its place, its children come first */
		if (i + 1 < count && all[i + 1].parent == all[i].parent)
			stack[top - 1] = i + 1;
		else
			top--;
		if (first[node])
			stack[top++] = first[node] - 1;
	}
	r->flame_cap = count;
}

void report_make_flame(struct report_loading *l)
{
	struct fold f = {0};
	size_t count = 0;

	fold_processes(l, &f);
	_cleanup_free_ bool *keep = choose(&f);
	_cleanup_free_ struct sibling *all = xcalloc(f.count + 1, sizeof(*all));
	for (size_t i = 0; i < f.count; i++)
		if (keep[i])
			all[count++] = (struct sibling){f.nodes[i].parent == i ? UINT32_MAX
									       : f.nodes[i].parent,
							(uint32_t)i, f.nodes[i].cpu};
	qsort(all, count, sizeof(*all), by_parent);
	if (count)
		walk(l->r, &f, all, count);
	free(f.nodes);
	hash_map_release(&f.places);
}
