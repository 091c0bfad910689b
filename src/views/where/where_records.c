/*
 * The evidence of core time from records: what a program used is spread evenly over its life, which
 * is coarser than samples and has the same sums. See where.h.
 */
#include <math.h>
#include <string.h>

#include "core/hash_map.h"
#include "views/where/where_internal.h"

/* The steps in which an image lived; false: none. */
static bool steps_of(const struct where_loading *l, const struct where_image *p, size_t *first,
		     size_t *last)
{
	const struct resample_grid *g = &l->w->grid;
	int64_t end = g->from + (int64_t)g->count * g->step;

	if (p->start == UNKNOWN || p->end < g->from || p->start >= end)
		return false;
	*first = p->start <= g->from ? 0 : (size_t)((p->start - g->from) / g->step);
	*last = p->end >= end ? g->count - 1 : (size_t)((p->end - g->from) / g->step);
	return true;
}

/* s that it lived in a step. */
static double lived(const struct where_loading *l, const struct where_image *p, size_t step)
{
	int64_t from = l->w->grid.from + (int64_t)step * l->w->grid.step,
		to = from + l->w->grid.step;

	from = p->start > from ? p->start : from;
	to = p->end < to ? p->end : to;
	return to > from ? (double)(to - from) * 1e-6 : 0;
}

/* Does a child of it live as long as the parent, almost? */
static double with_children(const struct where_image *images, size_t i)
{
	int64_t covered = 0, until = images[i].start;

	/* children come in the order of their start, mostly */
	for (size_t k = i + 1; k <= images[i].last; k = images[k].last + 1) {
		int64_t from = images[k].start, to = images[k].end;

		if (from == UNKNOWN)
			continue;
		from = from > until ? from : until;
		to = to < images[i].end ? to : images[i].end;
		if (to > from) {
			covered += to - from;
			until = to;
		}
	}
	return images[i].end > images[i].start
		       ? (double)covered / (double)(images[i].end - images[i].start)
		       : 0;
}

static double known(double v)
{
	return v > 0 ? v : 0;
}

/* What an image did, apart from running. How long each of several threads lived is not known: what
 * they waited for is neither. */
static void add_waits(struct core_evidence *e, const struct where_image *p, double share,
		      double children, double life)
{
	double threads = p->threads > 1 ? p->threads : 1;
	double rest = life * threads - share * (known(p->user) + known(p->system) +
						known(p->runnable) + known(p->blocked));

	/* of two threads one waits until the other has ended its work */
	if (threads > 1 && threads < 3)
		rest = core_time_held_up(life * threads - rest, rest, life);
	if (!(rest > 0))
		return;
	where_plus(&e->wait[WAIT_CHILD], rest * children);
	where_plus(&e->wait[p->sleeps ? WAIT_TIMER : WAIT_UNKNOWN], rest * (1 - children));
}

/* The part of a step in which it ran or was ready. */
static void add_work(const struct where_loading *l, const struct where_image *p, size_t step,
		     double life, double share)
{
	double work = share * (known(p->user) + known(p->system) + known(p->runnable));

	work = (work < life ? work : life) * 1e6 / (double)l->w->grid.step;
	if (work > l->at_work[step])
		l->at_work[step] = work;
}

static void add_image(const struct where_loading *l, size_t i, struct core_evidence *steps)
{
	const struct where_image *p = &l->images[i];
	double children = with_children(l->images, i), whole = (double)(p->end - p->start) * 1e-6;
	size_t first, last;

	if (!steps_of(l, p, &first, &last))
		return;
	for (size_t k = first; k <= last; k++) {
		struct core_evidence *e = &steps[k];
		double life = lived(l, p, k), share = whole > 0 ? life / whole : 1;

		where_plus(&e->user, known(p->user) * share);
		where_plus(&e->system, known(p->system) * share);
		if (!isnan(p->runnable))
			where_plus(&e->runnable, p->runnable * share);
		if (!isnan(p->blocked))
			where_plus(&e->blocked, p->blocked * share);
		where_plus(&e->minor_faults, known(p->minor_faults) * share);
		where_plus(&e->reads, known(p->reads) * share);
		where_plus(&e->writes, known(p->writes) * share);
		where_plus(&e->read_bytes, known(p->read_bytes) * share);
		where_plus(&e->write_bytes, known(p->write_bytes) * share);
		add_waits(e, p, share, children, life);
		add_work(l, p, k, life, share);
	}
	where_plus(&steps[first].starts, 1);
}

/*
 * The rest of the host, spread evenly: what others used of it, and what nobody used. CPUs of the
 * host are known only if the job may use all of them; of others we do not know how busy they were.
 */
static void add_host(const struct where_host *h, size_t count, struct core_evidence *steps)
{
	double own = 0, seconds = 0;

	if (isnan(h->used) || !(h->cpus > 0) || h->places < h->cpus)
		return;
	for (size_t i = 0; i < count; i++) {
		own += known(steps[i].user) + known(steps[i].system);
		seconds += steps[i].seconds;
	}
	for (size_t i = 0; i < count && seconds > 0; i++) {
		/* ticks, and what recording itself costs: a hundredth is nobody */
		double others = h->used * h->cpus - own / seconds - 0.01 * h->cpus;

		steps[i].others = others > 0 ? others * steps[i].seconds : 0;
		steps[i].host_idle = (1 - h->used) * h->cpus * steps[i].seconds;
	}
}

void where_from_records(const struct where_loading *l, size_t host, struct core_evidence *steps)
{
	for (size_t k = l->first[host]; k < l->first[host + 1]; k++)
		if (l->images[l->by_host[k]].chosen)
			add_image(l, l->by_host[k], steps);
	where_drop_beside(l, steps);
	if (!l->w->part)
		add_host(&l->w->hosts[host], l->w->grid.count, steps);
}

/* ---- lives ---------------------------------------------------------------------------------- */

/* How many processes of a program lived at one time, and the most so far. */
struct program {
	uint32_t name;
	double *alive; /* in each step */
	double most;
};

#define PROGRAMS_MAX 64     /* that are looked at */
#define ALIKE_MIN_US 500000 /* shorter processes are steps of a script */

static struct program *program_of(struct program *list, size_t *count, uint32_t name, size_t steps)
{
	for (size_t i = 0; i < *count; i++)
		if (list[i].name == name)
			return &list[i];
	if (*count >= PROGRAMS_MAX)
		return NULL;
	list[*count] = (struct program){name, xcalloc(steps, sizeof(double)), 0};
	return &list[(*count)++];
}

/* Uneven: of a program that had several processes at once fewer live now, at least one. */
static void find_uneven(const struct where_loading *l, size_t host, struct core_evidence *steps)
{
	struct program list[PROGRAMS_MAX];
	size_t count = 0, n = l->w->grid.count, first, last;

	for (size_t at = l->first[host]; at < l->first[host + 1]; at++) {
		size_t i = l->by_host[at];
		const struct where_image *p = &l->images[i];
		/* a parent that waits for its children is not at work itself */
		bool works = p->chosen && p->start != UNKNOWN &&
			     p->end - p->start >= ALIKE_MIN_US && p->last == i && !p->sleeps;

		if (!works || !steps_of(l, p, &first, &last))
			continue;
		struct program *to = program_of(list, &count, p->name, n);
		for (size_t k = first; to && k <= last; k++)
			to->alive[k] += lived(l, p, k) / steps[k].seconds;
	}
	for (size_t i = 0; i < count; i++) {
		for (size_t k = 0; k < n; k++) {
			double now = list[i].alive[k];

			list[i].most = now > list[i].most ? now : list[i].most;
			if (list[i].most >= 1.9 && now >= 0.5 && now < list[i].most - 0.4)
				steps[k].uneven = true;
		}
		free(list[i].alive);
	}
}

/* Before the first process of a host began, and after its last one ended. */
static void find_edges(const struct where_loading *l, size_t host, struct core_evidence *steps)
{
	const struct resample_grid *g = &l->w->grid;
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (size_t k = l->first[host]; k < l->first[host + 1]; k++) {
		const struct where_image *p = &l->images[l->by_host[k]];

		if (p->start == UNKNOWN)
			continue;
		first = p->start < first ? p->start : first;
		last = p->end > last ? p->end : last;
	}
	for (size_t i = 0; i < g->count && first < last; i++) {
		int64_t from = g->from + (int64_t)i * g->step;

		if (from + g->step <= first || from >= last) {
			steps[i].edge = true;
			where_plus(&steps[i].user, 0);
		}
	}
}

void where_from_lives(const struct where_loading *l, size_t host, struct core_evidence *steps,
		      bool looked)
{
	size_t first, last;

	find_uneven(l, host, steps);
	find_edges(l, host, steps);
	/* samples without looks at threads know how many live, records who has children */
	for (size_t at = l->first[host]; at < l->first[host + 1] && !looked; at++) {
		size_t i = l->by_host[at];
		const struct where_image *p = &l->images[i];
		double children = p->last > i ? with_children(l->images, i) : 0;

		if (!p->chosen || (!(children > 0) && !p->sleeps) || !steps_of(l, p, &first, &last))
			continue;
		for (size_t k = first; k <= last; k++) {
			double rest = known(steps[k].wait[WAIT_UNKNOWN]),
			       mine = lived(l, p, k) * (p->sleeps ? 1 : children);

			mine = mine < rest ? mine : rest;
			where_plus(&steps[k].wait[p->sleeps ? WAIT_TIMER : WAIT_CHILD],
				   p->sleeps ? mine * where_held_up_beside(l->at_work[k]) : mine);
			steps[k].wait[WAIT_UNKNOWN] = rest - mine;
		}
	}
}
