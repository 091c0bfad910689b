/*
 * Who was at work in each step. While one process works all along, others that sleep, wait for an
 * event, or wait for a process of the job hold nothing up: a reader of its output, a shell that
 * takes it, a launcher, a server that nobody asks. See where.h.
 */
#include <math.h>
#include <string.h>

#include "views/where/where_sampling.h"

#define LOOKED_AT 64         /* processes of a host, those with most work */
#define WORK_MIN 0.3         /* s; less is no work */
#define STEADY 0.97          /* of its life: at work in each step */
#define ALL_ALONG 0.9        /* of a step: nothing else holds the job up */
#define IN_TURN 0.6          /* of a step: no more than one of several that take turns */
#define NEARLY_IDLE 0.2      /* of a step */
#define BUSIEST 0.85         /* of the work: one of its threads does it */
#define BUSIEST_LIFE 2000000 /* us; seconds are counted */
#define WORTH_LOOKING 0.05   /* of the core time is spent in such waits */

double where_held_up_beside(double work)
{
	double keep = (ALL_ALONG - work) / (ALL_ALONG - IN_TURN);

	return keep < 0 ? 0 : keep < 1 ? keep : 1;
}

/* ---- the processes of a host ----------------------------------------------------------------- */

static const struct sampled_row work_rows[] = {
	{"process.usertime", "process", true, OF_WORK, 0, 1e-6, false},
	{"process.systemtime", "process", true, OF_WORK, 0, 1e-6, false},
	{"process.time_waiting", "process", true, OF_WORK, 0, 1e-9, false},
};
static const struct sampled_row network_row = {
	"waits.network", "process", true, OF_WORK, 0, 1e-6, false};

struct worker {
	const struct series *of[ARRAY_SIZE(work_rows)];
	int64_t entity_no, begin, last;
	double active; /* s */
	double most;   /* in a step, 0..1 */
	bool threads;  /* it has, or may have, several */
	double thread; /* s that the one of them worked that worked most, in each second; NAN */
	uint32_t name;
	bool leaf;     /* of a known program, and without children */
	double *share; /* at work in each step, 0..1 */
};

struct workers {
	struct worker *list;
	size_t count, cap;
};

static void add_worker_series(struct sampling *d, struct workers *w, struct hash_map *map,
			      size_t row, const struct series *s)
{
	struct hash_slot *at = hash_map_first(map, (uint64_t)s->entity_no + 1);

	if (!s->count || !(s->increase > 0) || !where_samples_chosen(d, s))
		return;
	if (!at) {
		hash_map_add(map, (uint64_t)s->entity_no + 1, w->count);
		GROW(w->list, w->count, w->cap);
		w->list[w->count++] = (struct worker){.entity_no = s->entity_no,
						      .threads = true,
						      .thread = NAN,
						      .begin = INT64_MAX,
						      .last = INT64_MIN};
		at = hash_map_first(map, (uint64_t)s->entity_no + 1);
	}
	struct worker *one = &w->list[at->value];
	one->of[row] = s;
	one->active += s->increase * work_rows[row].factor;
	one->begin = s->begin < one->begin ? s->begin : one->begin;
	one->last = s->last > one->last ? s->last : one->last;
}

static int by_work(const void *a, const void *b)
{
	const struct worker *x = a, *y = b;

	return x->active > y->active ? -1 : x->active < y->active;
}

static void find_threads(struct sampling *d, struct workers *w, struct hash_map *map)
{
	size_t end, i = where_series(d->l, "process.num_threads", "process", d->h->name, &end);

	for (; i < end; i++) {
		const struct series *s = &d->l->series->list[i];
		struct hash_slot *at = hash_map_first(map, (uint64_t)s->entity_no + 1);

		if (at && s->count)
			w->list[at->value].threads = s->maximum > 1;
	}
	for (i = where_series(d->l, "waits.busiest", "process", d->h->name, &end); i < end; i++) {
		const struct series *s = &d->l->series->list[i];
		struct hash_slot *at = hash_map_first(map, (uint64_t)s->entity_no + 1);

		if (at && s->last - s->begin >= BUSIEST_LIFE)
			w->list[at->value].thread = s->increase * 1e-6;
	}
}

static void find_workers(struct sampling *d, struct workers *w)
{
	struct hash_map map = {0};

	for (size_t row = 0; row < ARRAY_SIZE(work_rows); row++) {
		size_t end,
			i = where_series(d->l, work_rows[row].metric, "process", d->h->name, &end);

		for (; i < end; i++)
			add_worker_series(d, w, &map, row, &d->l->series->list[i]);
	}
	find_threads(d, w, &map);
	hash_map_release(&map);
	if (w->count)
		qsort(w->list, w->count, sizeof(*w->list), by_work);
	while (w->count > LOOKED_AT || (w->count && w->list[w->count - 1].active < WORK_MIN))
		w->count--;
}

/* The programs of the processes, as far as records know them. */
static void name_workers(struct sampling *d, struct workers *w)
{
	const struct where_loading *l = d->l;
	size_t host = (size_t)(d->h - l->w->hosts);
	struct hash_map map = {0};

	for (size_t at = l->first[host]; at < l->first[host + 1]; at++) {
		const struct where_image *p = &l->images[l->by_host[at]];

		if (p->chosen && p->ticks != UNKNOWN && p->last == l->by_host[at])
			hash_map_add(&map, where_process_key(p->pid, (uint64_t)p->ticks), p->name);
	}
	for (size_t i = 0; i < w->count; i++) {
		const struct series *s = w->list[i].of[0] ? w->list[i].of[0] : w->list[i].of[1];
		struct hash_slot *at = s ? hash_map_first(&map, where_entity_key(s->entity)) : NULL;

		w->list[i].leaf = at != NULL;
		w->list[i].name = at ? (uint32_t)at->value : 0;
	}
	hash_map_release(&map);
}

/* ---- what they did in each step -------------------------------------------------------------- */

static void clear_work(struct sampling *d)
{
	for (size_t k = 0; k < d->l->w->grid.count; k++)
		d->use.work[k] = NAN;
}

static double work_in(const struct sampling *d, size_t k)
{
	return d->use.work[k] > 0 ? d->use.work[k] : 0;
}

/* The part of a step in which it was sampled. */
static double sampled_part(const struct sampling *d, const struct worker *one, size_t k)
{
	const struct resample_grid *g = &d->l->w->grid;
	int64_t from = g->from + (int64_t)k * g->step, to = from + g->step;

	from = one->begin > from ? one->begin : from;
	to = one->last < to ? one->last : to;
	return to > from ? (double)(to - from) / (double)g->step : 0;
}

static void find_share(struct sampling *d, struct worker *one)
{
	size_t n = d->l->w->grid.count;
	double life = (double)(one->last - one->begin) * 1e-6, all = 0;
	bool steady = !one->threads && one->active >= STEADY * life;

	one->share = xcalloc(n, sizeof(*one->share));
	clear_work(d);
	for (size_t row = 0; row < ARRAY_SIZE(work_rows) && !steady; row++) {
		if (one->of[row])
			where_samples_add(d, &work_rows[row], one->of[row]);
		where_samples_flush(d, &work_rows[row]);
	}
	for (size_t k = 0; k < n; k++) {
		double v = steady ? sampled_part(d, one, k) : work_in(d, k) / d->steps[k].seconds;

		one->share[k] = v < 1 ? v : 1;
		all += one->share[k] * d->steps[k].seconds;
	}
	/* threads that work by turns, or side by side and not all the time */
	if (one->threads && one->thread < BUSIEST * all)
		for (size_t k = 0; k < n; k++)
			one->share[k] *= one->thread / all;
	for (size_t k = 0; k < n; k++)
		one->most = one->share[k] > one->most ? one->share[k] : one->most;
}

/* A thread that waits for another host in a process that works all along. */
static void drop_network(struct sampling *d, const struct worker *one)
{
	size_t end, i = where_series(d->l, network_row.metric, "process", d->h->name, &end);

	for (; i < end; i++) {
		const struct series *s = &d->l->series->list[i];

		if (s->entity_no != one->entity_no || !(s->increase > 0))
			continue;
		clear_work(d);
		where_samples_add(d, &network_row, s);
		where_samples_flush(d, &network_row);
		for (size_t k = 0; k < d->l->w->grid.count; k++)
			d->steps[k].wait[WAIT_NETWORK] -=
				work_in(d, k) * (1 - where_held_up_beside(one->share[k]));
	}
}

/* Of a program some processes work, and one that had worked, or will, has nothing to do. */
static void find_uneven(struct sampling *d, const struct workers *w, size_t first)
{
	for (size_t k = 0; k < d->l->w->grid.count; k++) {
		bool works = false, idles = false;

		for (size_t i = first; i < w->count; i++) {
			const struct worker *one = &w->list[i];

			if (!one->leaf || one->name != w->list[first].name || one->most < IN_TURN)
				continue;
			works |= one->share[k] >= IN_TURN;
			idles |= one->share[k] <= NEARLY_IDLE && sampled_part(d, one, k) > 0.9;
		}
		if (works && idles)
			d->steps[k].uneven = true;
	}
}

static bool first_of_name(const struct workers *w, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (w->list[k].leaf && w->list[k].name == w->list[i].name)
			return false;
	return w->list[i].leaf;
}

static bool worth_looking(const struct sampling *d)
{
	double soft = 0, all = 0;

	for (size_t k = 0; k < d->l->w->grid.count; k++) {
		const struct core_evidence *e = &d->steps[k];
		const double waits[] = {e->wait[WAIT_PROCESS], e->wait[WAIT_TIMER],
					e->wait[WAIT_POLL],    e->wait[WAIT_OTHER],
					e->wait[WAIT_NETWORK], e->wait[WAIT_DEVICE]};

		for (size_t i = 0; i < ARRAY_SIZE(waits); i++)
			soft += waits[i] > 0 ? waits[i] : 0;
		all += e->cores * e->seconds;
	}
	return !d->h->looked || soft >= WORTH_LOOKING * all;
}

/* ---- threads in the background --------------------------------------------------------------- */

#define SOME_WAITS 0.05 /* of its life; below that waits of one thread hide none of another */

/* Waits of a process: those that hold it up for sure, and those that threads in the background
 * have, too. s, summed over threads. */
struct life {
	double hard, soft, life;
};

static const struct {
	const char *metric;
	bool soft;
	double factor;
} waits_of[] = {
	{"waits.storage", false, 1},
	{"waits.network", false, 1},
	{"waits.process", false, 1},
	{"waits.lock", false, 1},
	{"waits.timer", true, 1},
	{"waits.device", true, 1},
	{"waits.poll", true, 1},
	{"waits.other", true, 1},
	/* as threads of MPI do, which listen for messages */
	{"waits.members", false, -1},
};

static void add_life(const struct sampling *d, struct hash_map *map, struct life *list,
		     size_t *count, const struct series *s, bool soft, double factor)
{
	uint64_t key = (uint64_t)s->entity_no + 1;
	struct hash_slot *at = hash_map_first(map, key);
	double span = (double)(s->last - s->begin) * 1e-6;

	if (!s->count || !where_samples_chosen(d, s))
		return;
	if (!at) {
		hash_map_add(map, key, *count);
		list[*count] = (struct life){0};
		at = hash_map_first(map, key);
		(*count)++;
	}
	struct life *one = &list[at->value];
	*(soft ? &one->soft : &one->hard) += s->increase > 0 ? factor * s->increase * 1e-6 : 0;
	one->life = span > one->life ? span : one->life;
}

/* The part of waits for timers and events that holds processes up: the others are those of threads
 * in the background while another thread works or waits for something sure. */
static double held_up(const struct sampling *d, const struct workers *w)
{
	size_t most = 0, count = 0, at, end;
	struct hash_map map = {0};
	double held = 0, all = 0;

	for (size_t i = 0; i < ARRAY_SIZE(waits_of); i++) {
		at = where_series(d->l, waits_of[i].metric, "process", d->h->name, &end);
		most += end - at;
	}
	_cleanup_free_ struct life *list = xcalloc(most + 1, sizeof(*list));
	for (size_t i = 0; i < ARRAY_SIZE(waits_of); i++)
		for (at = where_series(d->l, waits_of[i].metric, "process", d->h->name, &end);
		     at < end; at++)
			add_life(d, &map, list, &count, &d->l->series->list[at], waits_of[i].soft,
				 waits_of[i].factor);
	for (size_t i = 0; i < w->count; i++) {
		struct hash_slot *slot = hash_map_first(&map, (uint64_t)w->list[i].entity_no + 1);
		struct life *one = slot ? &list[slot->value] : NULL;

		for (size_t k = 0;
		     one && one->hard >= SOME_WAITS * one->life && k < d->l->w->grid.count; k++)
			one->hard += w->list[i].share[k] * d->steps[k].seconds;
	}
	for (size_t i = 0; i < count; i++) {
		bool hides = list[i].hard >= SOME_WAITS * list[i].life;

		held += hides ? core_time_held_up(list[i].hard, list[i].soft, list[i].life)
			      : list[i].soft;
		all += list[i].soft;
	}
	hash_map_release(&map);
	return all > 0 ? held / all : 1;
}

static void drop_background(const struct sampling *d, double part)
{
	static const enum wait_reason soft[] = {WAIT_TIMER, WAIT_DEVICE, WAIT_POLL, WAIT_OTHER};

	for (size_t i = 0; i < d->l->w->grid.count && part < 1; i++)
		for (size_t k = 0; k < ARRAY_SIZE(soft); k++)
			d->steps[i].wait[soft[k]] *= part;
}

/* What holds a job up in itself; waiting for a member of it has one of these as its cause. */
static const enum wait_reason causes[] = {WAIT_STORAGE, WAIT_NETWORK, WAIT_LOCK, WAIT_TIMER,
					  WAIT_DEVICE};
/* Of the waits for members; the rest has the same causes, too short to be seen. */
#define EXPLAINED 0.5

/* s of a step in which some process waited for a member of the job, and none was at work. */
static double waited_inside(const struct sampling *d, size_t k, double *ret_cause)
{
	const struct core_evidence *e = &d->steps[k];
	double all = e->wait[WAIT_PROCESS], inside = all < e->members ? all : e->members,
	       free = e->seconds * (1 - d->l->at_work[k]);

	*ret_cause = 0;
	if (!(inside > 0))
		return 0;
	for (size_t i = 0; i < ARRAY_SIZE(causes); i++)
		*ret_cause += e->wait[causes[i]] > 0 ? e->wait[causes[i]] : 0;
	*ret_cause += all - inside;
	return inside < free ? inside : free;
}

/* A process that waits for another one of the job waits for what that one waits for: what holds
 * others up explains it. */
static void follow_members(const struct sampling *d)
{
	double seen = 0, all = 0, cause;
	size_t steps = d->l->w->grid.count;

	for (size_t k = 0; k < steps; k++) {
		double inside = waited_inside(d, k, &cause);

		seen += cause < inside ? cause : inside;
		all += inside;
	}
	for (size_t k = 0; k < steps; k++) {
		struct core_evidence *e = &d->steps[k];
		double inside = waited_inside(d, k, &cause);
		double more = cause > 0 && cause < inside ? inside / cause : 1;
		double members =
			e->wait[WAIT_PROCESS] < e->members ? e->wait[WAIT_PROCESS] : e->members;

		if (!(inside > 0))
			continue;
		if (seen < EXPLAINED * all || !(cause > 0)) {
			e->wait[WAIT_PROCESS] -=
				members * (cause < e->seconds ? cause / e->seconds : 1);
			continue;
		}
		e->wait[WAIT_PROCESS] = (e->wait[WAIT_PROCESS] - members) * more;
		for (size_t i = 0; i < ARRAY_SIZE(causes); i++)
			if (e->wait[causes[i]] > 0)
				e->wait[causes[i]] *= more;
	}
}

void where_drop_beside(const struct where_loading *l, struct core_evidence *steps)
{
	static const enum wait_reason beside[] = {WAIT_PROCESS, WAIT_TIMER, WAIT_POLL, WAIT_OTHER};

	for (size_t k = 0; k < l->w->grid.count; k++)
		for (size_t i = 0; i < ARRAY_SIZE(beside); i++)
			steps[k].wait[beside[i]] *= where_held_up_beside(l->at_work[k]);
}

/* ---- all ------------------------------------------------------------------------------------- */

void where_find_at_work(struct sampling *d)
{
	struct workers w = {0};
	double *at_work = d->l->at_work;

	if (!worth_looking(d))
		return;
	find_workers(d, &w);
	name_workers(d, &w);
	for (size_t i = 0; i < w.count; i++) {
		find_share(d, &w.list[i]);
		for (size_t k = 0; k < d->l->w->grid.count; k++)
			if (w.list[i].share[k] > at_work[k])
				at_work[k] = w.list[i].share[k];
		drop_network(d, &w.list[i]);
	}
	for (size_t i = 0; i < w.count; i++)
		if (first_of_name(&w, i))
			find_uneven(d, &w, i);
	if (d->h->looked) {
		drop_background(d, held_up(d, &w));
		follow_members(d);
		where_drop_beside(d->l, d->steps);
	}
	for (size_t i = 0; i < w.count; i++)
		free(w.list[i].share);
	free(w.list);
}
