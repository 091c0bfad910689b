/*
 * The evidence of core time from samples. Counters are put on the grid and become what they grew in
 * each step; see where.h.
 */
#include <math.h>
#include <string.h>

#include "views/where/where_sampling.h"

/* ---- which series --------------------------------------------------------------------------- */

#define EVIDENCE(metric, kind, of_process, field, factor)                                     \
	{                                                                                     \
		metric, kind, of_process, OF_EVIDENCE, offsetof(struct core_evidence, field), \
			factor, false                                                         \
	}
#define WAITS(name, reason) EVIDENCE("waits." name, "job", true, wait[reason], 1e-6)
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
	EVIDENCE("waits.members", "job", true, members, 1e-6),
	WAITS("lock", WAIT_LOCK),
	WAITS("condition", WAIT_CONDITION),
	WAITS("timer", WAIT_TIMER),
	WAITS("child", WAIT_CHILD),
	WAITS("device", WAIT_DEVICE),
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

uint64_t where_process_key(uint64_t pid, uint64_t ticks)
{
	return pid << 40 ^ ticks;
}

static void choose(const struct where_loading *l, struct chosen *c)
{
	c->all = !l->w->part;
	for (size_t i = 0; i < l->image_count && !c->all; i++)
		if (l->images[i].chosen && l->images[i].ticks != UNKNOWN)
			hash_map_add(
				&c->map,
				where_process_key(l->images[i].pid, (uint64_t)l->images[i].ticks),
				i);
}

uint64_t where_entity_key(const char *entity)
{
	char *end;
	unsigned long long pid = strtoull(entity, &end, 10),
			   ticks = *end == '.' ? strtoull(end + 1, NULL, 10) : 0;

	return where_process_key(pid, ticks);
}

bool where_samples_chosen(const struct sampling *d, const struct series *s)
{
	const char *only = d->l->scope->process;
	char *end;

	if (d->chosen.all)
		return true;
	if (d->l->image_count)
		return hash_map_first(&d->chosen.map, where_entity_key(s->entity)) != NULL;
	/* without records only the process itself can be named */
	return only && (!strcmp(only, s->entity) ||
			(strtoull(only, &end, 10) == strtoull(s->entity, NULL, 10) && !*end));
}

/* ---- reading -------------------------------------------------------------------------------- */

static double *place(struct sampling *d, const struct sampled_row *row, size_t step)
{
	switch (row->of) {
	case OF_BUSY:
		return &d->use.busy[step];
	case OF_IDLE:
		return &d->use.idle[step];
	case OF_THREADS:
		return &d->use.threads[step];
	case OF_WORK:
		return &d->use.work[step];
	default:
		return (double *)(void *)((char *)&d->steps[step] + row->field);
	}
}

/* Adds a series of points to the steps. */
static void add_points(struct sampling *d, const struct sampled_row *row, const struct points *c,
		       enum metric_kind kind)
{
	const struct resample_grid *g = &d->l->w->grid;

	resample_take(&d->one, g, c, kind);
	for (size_t k = 0; k < g->count; k++)
		if (d->one.weight[k] > 0)
			where_plus(place(d, row, k),
				   d->one.value[k] * d->one.weight[k] * 1e-6 * row->factor);
}

void where_samples_flush(struct sampling *d, const struct sampled_row *row)
{
	if (d->sum.count)
		add_points(d, row, &d->sum, KIND_COUNTER);
	d->sum.count = 0;
}

/* Did the counter go back? It was reset, and what it grew then is not known. */
static bool went_back(const struct series_points *raw)
{
	size_t i = 1;

	while (i < raw->count && raw->list[i].raw >= raw->list[i - 1].raw)
		i++;
	return i < raw->count;
}

/* The place in the sum at whose times all of a counter was read; SIZE_MAX: it was read at others.
 */
static size_t place_in_sum(const struct sampling *d)
{
	const struct series_point *raw = d->raw.list;
	size_t at = 0, to = d->sum.count;

	while (at < to) {
		size_t middle = (at + to) / 2;

		if (d->sum.points[middle].time < raw[0].time)
			at = middle + 1;
		else
			to = middle;
	}
	if (d->raw.count > d->sum.count - at)
		return SIZE_MAX;
	for (size_t i = 0; i < d->raw.count; i++)
		if (d->sum.points[at + i].time != raw[i].time)
			return SIZE_MAX;
	return at;
}

/* A counter of one of many processes: they are read at the same times, mostly. Before its first
 * reading and after its last one it does not grow. */
static bool add_to_sum(struct sampling *d, const struct series *s)
{
	const struct series_point *raw = d->raw.list;
	size_t n = d->raw.count, at = place_in_sum(d);

	if (at == SIZE_MAX)
		return false;
	double first = series_value((double)raw[0].raw, s->scale),
	       last = series_value((double)raw[n - 1].raw, s->scale);
	for (size_t i = 0; i < at; i++)
		d->sum.points[i].value += first;
	for (size_t i = 0; i < n; i++)
		d->sum.points[at + i].value += series_value((double)raw[i].raw, s->scale);
	for (size_t i = at + n; i < d->sum.count; i++)
		d->sum.points[i].value += last;
	return true;
}

static void take_points(struct points *c, const struct series_points *raw, double scale)
{
	c->count = 0;
	for (size_t i = 0; i < raw->count; i++) {
		double v = series_value((double)raw->list[i].raw, scale);

		points_add(c, raw->list[i].time, v, v, v);
		c->points[c->count - 1].over = raw->list[i].over;
	}
}

bool where_samples_add(struct sampling *d, const struct sampled_row *row, const struct series *s)
{
	d->error = series_reader_load(&d->reader, &d->raw, d->l->store, d->l->job, s);
	if (d->error < 0 || !d->raw.count)
		return d->error >= 0;
	if (s->kind != KIND_COUNTER) {
		take_points(&d->curve, &d->raw, s->scale);
		add_points(d, row, &d->curve, s->kind);
		return true;
	}
	if (s->begin < s->first) { /* from nothing to its first reading */
		double v = series_value((double)d->raw.list[0].raw, s->scale);

		d->curve.count = 0;
		points_add(&d->curve, s->begin, 0, 0, 0);
		points_add(&d->curve, s->first, v, v, v);
		add_points(d, row, &d->curve, KIND_COUNTER);
	}
	bool alone = went_back(&d->raw);
	if (alone || !add_to_sum(d, s)) {
		where_samples_flush(d, row);
		take_points(&d->sum, &d->raw, s->scale);
	}
	if (alone)
		where_samples_flush(d, row);
	return true;
}

/* Adds a row; true where the host has it. */
static bool take_row(struct sampling *d, const struct sampled_row *row)
{
	bool whole = d->chosen.all || !strcmp(row->kind, "node"), found = false;
	size_t end = 0, i;

	if (!whole && !row->of_process)
		return false;
	i = where_series(d->l, row->metric, whole ? row->kind : "process", d->h->name, &end);
	for (; i < end && d->error >= 0; i++) {
		const struct series *s = &d->l->series->list[i];

		if (s->count && (whole ? series_adds_up(s) : where_samples_chosen(d, s)))
			found |= where_samples_add(d, row, s);
	}
	where_samples_flush(d, row);
	return found;
}

/* ---- what threads waited for ---------------------------------------------------------------- */

static double known(double v)
{
	return v > 0 ? v : 0;
}

static double larger(double a, double b)
{
	return a > b ? a : b;
}

/* The rest of the host: CPU time of others where the job's cores are, and what nobody used. */
static void take_host(struct sampling *d)
{
	const struct resample_grid *g = &d->l->w->grid;
	double beyond = d->h->cpus > d->h->places ? d->h->cpus - d->h->places : 0;
	/* the clocks of the host count in ticks of 10 ms for each CPU: what is too little in one
	 * step is too much in the next */
	double owed = 0.01 * d->h->cpus;

	for (size_t i = 0; i < g->count; i++) {
		struct core_evidence *e = &d->steps[i];
		double elsewhere = beyond * e->seconds;

		if (d->chosen.all && !isnan(d->use.busy[i])) {
			double others = d->use.busy[i] - known(e->user) - known(e->system) -
					elsewhere - 0.01 * d->h->cpus * e->seconds - owed;

			e->others = larger(0, others);
			owed = larger(0, -others);
		}
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
	d.use = (struct host_use){unknown_list(n), unknown_list(n), unknown_list(n),
				  unknown_list(n)};
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
	where_find_at_work(&d);
	if (!h->looked)
		take_unknown(&d);
	hash_map_release(&d.chosen.map);
	free(d.use.busy);
	free(d.use.idle);
	free(d.use.threads);
	free(d.use.work);
	resample_release(&d.one);
	series_reader_release(&d.reader);
	series_points_release(&d.raw);
	points_release(&d.curve);
	points_release(&d.sum);
	return h->sampled && d.error >= 0;
}
