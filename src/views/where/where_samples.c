/*
 * The evidence of core time from samples. Counters are put on the grid and become what they grew in
 * each step; see where.h.
 */
#include <math.h>
#include <string.h>

#include "views/where/where_internal.h"

/* ---- which series --------------------------------------------------------------------------- */

/* What the host as a whole used, apart from the evidence of the job. */
struct host_use {
	double *busy, *idle, *threads; /* s in each step; NAN: unknown */
};

enum of { OF_EVIDENCE, OF_BUSY, OF_IDLE, OF_THREADS };

/* The first metric of a field that a host has counts, except those that add up. */
struct sampled_row {
	const char *metric, *kind; /* kind: of a whole job */
	bool of_process;           /* processes have it as well */
	enum of of;
	size_t field;
	double factor; /* to seconds, or counts */
	bool adds;
};
#define EVIDENCE(metric, kind, of_process, field, factor)                                     \
	{                                                                                     \
		metric, kind, of_process, OF_EVIDENCE, offsetof(struct core_evidence, field), \
			factor, false                                                         \
	}
#define WAITS(name, reason) EVIDENCE("waits." name, "job", true, wait[reason], 1)
#define HOST(metric, of, factor)                                     \
	{                                                            \
		"system." metric, "node", false, of, 0, factor, true \
	}

static const struct sampled_row rows[] = {
	EVIDENCE("process.usertime", "job", true, user, 1e-6),
	EVIDENCE("jobs.cpu_user", "job", false, user, 1e-6),
	EVIDENCE("process.systemtime", "job", true, system, 1e-6),
	EVIDENCE("jobs.cpu_system", "job", false, system, 1e-6),
	EVIDENCE("process.time_waiting", "job", true, runnable, 1e-9),
	EVIDENCE("jobs.cpu_throttled_time", "job", false, throttled, 1e-6),
	EVIDENCE("cgroup.cpu_throttled_time", "cgroup", false, throttled, 1e-6),
	EVIDENCE("process.delayacct_blkio_time", "job", true, blocked, 1e-6),
	EVIDENCE("process.minflt", "job", true, minor_faults, 1),
	EVIDENCE("process.syscr", "job", true, reads, 1),
	EVIDENCE("process.syscw", "job", true, writes, 1),
	EVIDENCE("process.rchar", "job", true, read_bytes, 1),
	EVIDENCE("process.wchar", "job", true, write_bytes, 1),
	EVIDENCE("process.started", "job", false, starts, 1),
	WAITS("storage", WAIT_STORAGE),
	WAITS("network", WAIT_NETWORK),
	WAITS("process", WAIT_PROCESS),
	WAITS("lock", WAIT_LOCK),
	WAITS("condition", WAIT_CONDITION),
	WAITS("timer", WAIT_TIMER),
	WAITS("child", WAIT_CHILD),
	WAITS("poll", WAIT_POLL),
	WAITS("other", WAIT_OTHER),
	{"network.rx_bytes", "node", false, OF_EVIDENCE,
	 offsetof(struct core_evidence, network_bytes), 1, true},
	{"network.tx_bytes", "node", false, OF_EVIDENCE,
	 offsetof(struct core_evidence, network_bytes), 1, true},
	HOST("cpu_user", OF_BUSY, 1e-6),
	HOST("cpu_nice", OF_BUSY, 1e-6),
	HOST("cpu_system", OF_BUSY, 1e-6),
	HOST("cpu_irq", OF_BUSY, 1e-6),
	HOST("cpu_softirq", OF_BUSY, 1e-6),
	HOST("cpu_steal", OF_BUSY, 1e-6),
	HOST("cpu_idle", OF_IDLE, 1e-6),
	{"process.threads", "job", false, OF_THREADS, 0, 1, false},
	{"process.num_threads", "process", true, OF_THREADS, 0, 1, false},
};

/* ---- processes of the scope ----------------------------------------------------------------- */

struct chosen {
	bool all;
	struct hash_map map; /* by pid and ticks */
};

static uint64_t key_of(uint64_t pid, uint64_t ticks)
{
	return pid << 40 ^ ticks;
}

static void choose(const struct where_loading *l, struct chosen *c)
{
	c->all = !l->w->part;
	for (size_t i = 0; i < l->image_count && !c->all; i++)
		if (l->images[i].chosen && l->images[i].ticks != UNKNOWN)
			hash_map_add(&c->map,
				     key_of(l->images[i].pid, (uint64_t)l->images[i].ticks), i);
}

static bool is_chosen(const struct where_loading *l, const struct chosen *c, const char *entity)
{
	char *end;
	unsigned long long pid = strtoull(entity, &end, 10),
			   ticks = *end == '.' ? strtoull(end + 1, NULL, 10) : 0;

	/* without records only the process itself can be named */
	if (!l->image_count)
		return l->scope->process &&
		       (!strcmp(l->scope->process, entity) ||
			(strtoull(l->scope->process, &end, 10) == pid && !*end));
	return hash_map_first((struct hash_map *)&c->map, key_of(pid, ticks)) != NULL;
}

/* ---- reading -------------------------------------------------------------------------------- */

struct sampling {
	struct where_loading *l;
	struct where_host *h;
	struct core_evidence *steps;
	struct host_use use;
	struct chosen chosen;
	struct series_reader reader;
	struct series_points raw;
	struct points curve;
	struct resample one;
	int error;
};

static bool read_series(struct sampling *d, const struct series *s)
{
	d->error = series_reader_load(&d->reader, &d->raw, d->l->store, d->l->job, s);
	if (d->error < 0)
		return false;
	d->curve.count = 0;
	if (s->kind == KIND_COUNTER && s->begin < s->first)
		points_add(&d->curve, s->begin, 0, 0, 0);
	for (size_t i = 0; i < d->raw.count; i++) {
		double v = series_value((double)d->raw.list[i].raw, s->scale);

		points_add(&d->curve, d->raw.list[i].time, v, v, v);
		d->curve.points[d->curve.count - 1].over = d->raw.list[i].over;
	}
	resample_take(&d->one, &d->l->w->grid, &d->curve, s->kind);
	return true;
}

static double *place(struct sampling *d, const struct sampled_row *row, size_t step)
{
	switch (row->of) {
	case OF_BUSY:
		return &d->use.busy[step];
	case OF_IDLE:
		return &d->use.idle[step];
	case OF_THREADS:
		return &d->use.threads[step];
	default:
		return (double *)(void *)((char *)&d->steps[step] + row->field);
	}
}

/* Adds a row; true where the host has it. */
static bool take_row(struct sampling *d, const struct sampled_row *row)
{
	const struct resample_grid *g = &d->l->w->grid;
	bool whole = d->chosen.all || !strcmp(row->kind, "node"), found = false;
	size_t end = 0, i;

	if (!whole && !row->of_process)
		return false;
	i = where_series(d->l, row->metric, whole ? row->kind : "process", d->h->name, &end);
	for (; i < end && d->error >= 0; i++) {
		const struct series *s = &d->l->series->list[i];

		if (!s->count ||
		    (whole ? !series_adds_up(s) : !is_chosen(d->l, &d->chosen, s->entity)))
			continue;
		if (!read_series(d, s))
			continue;
		found = true;
		for (size_t k = 0; k < g->count; k++)
			if (d->one.weight[k] > 0)
				where_plus(place(d, row, k),
					   d->one.value[k] * d->one.weight[k] * 1e-6 * row->factor);
	}
	return found;
}

/* ---- what threads waited for ---------------------------------------------------------------- */

static double larger(double a, double b)
{
	return a > b ? a : b;
}

/* The rest of the host: CPU time of others where the job's cores are, and what nobody used. */
static void take_host(struct sampling *d)
{
	const struct resample_grid *g = &d->l->w->grid;
	double beyond = d->h->cpus > d->h->places ? d->h->cpus - d->h->places : 0;

	for (size_t i = 0; i < g->count; i++) {
		struct core_evidence *e = &d->steps[i];
		double elsewhere = beyond * e->seconds;

		/* the clocks of the host count in ticks of 10 ms for each CPU */
		if (d->chosen.all)
			e->others = larger(0, d->use.busy[i] - (e->user + e->system) - elsewhere -
						      0.01 * d->h->cpus);
		e->host_idle = larger(0, d->use.idle[i] - elsewhere);
	}
}

/* Without a look at threads: alive, and neither running nor ready. */
static void take_unknown(struct sampling *d)
{
	for (size_t i = 0; i < d->l->w->grid.count; i++) {
		struct core_evidence *e = &d->steps[i];
		double rest = d->use.threads[i] - e->user - e->system;

		rest -= e->runnable > 0 ? e->runnable : 0;
		rest -= e->blocked > 0 ? e->blocked : 0;
		if (rest > 0)
			e->wait[WAIT_UNKNOWN] = rest;
	}
}

static double *unknown_list(size_t n)
{
	double *list = xcalloc(n ? n : 1, sizeof(*list));

	for (size_t i = 0; i < n; i++)
		list[i] = NAN;
	return list;
}

static bool is_looked(const struct sampling *d)
{
	size_t end = 0, i = where_series(d->l, "waits.observed", "job", d->h->name, &end);

	while (i < end && !(d->l->series->list[i].increase > 0))
		i++;
	return i < end;
}

/* Timers and events in the background of a busy process hold nothing up. */
static void drop_background(struct sampling *d)
{
	static const enum wait_reason soft[] = {WAIT_TIMER, WAIT_POLL, WAIT_OTHER};
	double f = d->l->w->held_up;

	for (size_t i = 0; i < d->l->w->grid.count && f < 1; i++)
		for (size_t k = 0; k < ARRAY_SIZE(soft); k++)
			d->steps[i].wait[soft[k]] *= f;
}

bool where_from_samples(struct where_loading *l, struct where_host *h, struct core_evidence *steps)
{
	struct sampling d = {.l = l, .h = h, .steps = steps};
	size_t n = l->w->grid.count, end = 0;
	bool have[sizeof(struct core_evidence)] = {false}, threads = false;

	/* of many hosts without samples nothing is made room for */
	if (where_series(l, "process.usertime", "job", h->name, &end) >= end &&
	    where_series(l, "process.usertime", "process", h->name, &end) >= end &&
	    where_series(l, "jobs.cpu_user", "job", h->name, &end) >= end)
		return false;

	choose(l, &d.chosen);
	d.use = (struct host_use){unknown_list(n), unknown_list(n), unknown_list(n)};
	resample_init(&d.one, &l->w->grid);
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct sampled_row *row = &rows[i];
		bool *got = row->of == OF_EVIDENCE ? &have[row->field] : &threads;

		if (row->adds)
			(void)take_row(&d, row);
		else if (!*got)
			*got = take_row(&d, row);
	}
	h->sampled = have[offsetof(struct core_evidence, user)];
	h->looked = h->sampled && is_looked(&d);
	take_host(&d);
	if (h->looked)
		drop_background(&d);
	else
		take_unknown(&d);
	hash_map_release(&d.chosen.map);
	free(d.use.busy);
	free(d.use.idle);
	free(d.use.threads);
	resample_release(&d.one);
	series_reader_release(&d.reader);
	series_points_release(&d.raw);
	points_release(&d.curve);
	return h->sampled && d.error >= 0;
}
