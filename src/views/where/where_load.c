/* Finds where the core time of a job went: hosts, the grid of steps, and the division of each step;
 * see where.h. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "store/job_metadata.h"
#include "views/where/where_internal.h"

#define STEPS_MAX 1000
#define STEP_MIN 50000 /* us; ticks of the kernel's clocks are 10 ms */

void where_release(struct where *w)
{
	for (size_t i = 0; i < w->host_count; i++)
		free(w->hosts[i].name);
	free(w->hosts);
	free(w->steps);
	free(w->busy);
	*w = (struct where){0};
}

/* ---- when ----------------------------------------------------------------------------------- */

static int job_times(struct where_loading *l, int64_t *from, int64_t *to)
{
	_cleanup_stmt_ struct stmt *st =
		store_query(l->store, "SELECT start_us, end_us, duration_us FROM job WHERE no = $1",
			    db_int(l->job));
	int r = stmt_step(st);

	*from = r == 1 ? stmt_get_optional(st, 0) : UNKNOWN;
	*to = r == 1 ? stmt_get_optional(st, 1) : UNKNOWN;
	if (r == 1 && *to == UNKNOWN && *from != UNKNOWN && !stmt_is_null(st, 2))
		*to = *from + stmt_get_int(st, 2);
	return r < 0 ? r : 0;
}

static bool is_of_job(const struct series *s)
{
	return s->count > 0 &&
	       (!strcmp(s->metric, "process.usertime") || !strcmp(s->metric, "jobs.cpu_user"));
}

/* The job, else what was sampled; of a part the life of its processes. */
static int find_times(struct where_loading *l, int64_t *from, int64_t *to)
{
	int64_t first = INT64_MAX, last = INT64_MIN;
	int r = job_times(l, from, to);

	for (size_t i = 0; i < l->image_count; i++)
		if (l->images[i].chosen && l->images[i].start != UNKNOWN) {
			first = l->images[i].start < first ? l->images[i].start : first;
			last = l->images[i].end > last ? l->images[i].end : last;
		}
	bool records = first < last;
	for (size_t i = 0; i < l->series->count && !(records && l->w->part); i++)
		if (is_of_job(&l->series->list[i])) {
			first = l->series->list[i].begin < first ? l->series->list[i].begin : first;
			last = l->series->list[i].last > last ? l->series->list[i].last : last;
		}
	if (r >= 0 && first < last && (l->w->part || *from == UNKNOWN || *from > last))
		*from = first;
	if (r >= 0 && first < last && (l->w->part || *to == UNKNOWN || *to <= *from))
		*to = last;
	if (r >= 0 &&
	    (*from == UNKNOWN || *to == UNKNOWN || *to <= *from || *to - *from > (int64_t)1 << 55))
		return -ENOENT;
	return r;
}

/* As fine as samples are; by records alone, a hundredth. */
static struct resample_grid make_grid(const struct where_loading *l, int64_t from, int64_t to)
{
	int64_t period = INT64_MAX;

	for (size_t i = 0; i < l->series->count; i++) {
		const struct series *s = &l->series->list[i];
		int64_t each = s->count > 1 ? (s->last - s->first) / (s->count - 1) : 0;

		if (is_of_job(s) && !strcmp(s->entity_kind, "job") && each > 0 && each < period)
			period = each;
	}
	if (period == INT64_MAX)
		period = (to - from) / 100;
	period = period < STEP_MIN ? STEP_MIN : period;
	/* equal steps that end with the job */
	int64_t n = (to - from + period / 2) / period;
	n = n < 1 ? 1 : n > STEPS_MAX ? STEPS_MAX : n;
	return (struct resample_grid){
		.from = from, .step = (to - from + n - 1) / n, .count = (size_t)n};
}

/* ---- hosts ---------------------------------------------------------------------------------- */

static struct where_host *host_of(struct where *w, const char *name)
{
	for (size_t i = 0; i < w->host_count; i++)
		if (!strcmp(w->hosts[i].name, name))
			return &w->hosts[i];
	GROW(w->hosts, w->host_count, w->host_cap);
	w->hosts[w->host_count] =
		(struct where_host){.name = xstrdup(name), .cores = NAN, .cpus = NAN};
	return &w->hosts[w->host_count++];
}

/* The number of the string that is the name of a host; 0: no record has it. */
static int string_number(struct where_loading *l, const char *text, uint32_t *ret)
{
	uint32_t last = 0;

	*ret = 0;
	_cleanup_stmt_ struct stmt *st =
		stmt_prepare(l->store, "SELECT bytes FROM string WHERE id = $1");
	if (!st)
		return -EIO;
	for (size_t i = 0; i < l->image_count; i++) {
		size_t n = 0;

		if (l->images[i].host == last || !l->images[i].host)
			continue;
		last = l->images[i].host;
		stmt_int(st, 1, store_key(l->job, last));
		int r = stmt_step(st);
		if (r < 0)
			return r;
		const char *name = r == 1 ? stmt_get_text(st, 0, &n) : NULL;
		bool same = name && n == strlen(text) && !memcmp(name, text, n);
		stmt_reset(st);
		if (same) {
			*ret = last;
			return 0;
		}
	}
	return 0;
}

static int find_hosts(struct where_loading *l)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		l->store, "SELECT host FROM job_host WHERE job = $1 ORDER BY host", db_int(l->job));
	const char *only = l->scope->host;
	int r;

	while ((r = stmt_step(st)) == 1)
		if (!only || pattern_matches(only, stmt_get_str(st, 0)))
			(void)host_of(l->w, stmt_get_str(st, 0));
	for (size_t i = 0; i < l->series->count; i++)
		if (is_of_job(&l->series->list[i]) &&
		    (!only || pattern_matches(only, l->series->list[i].host)))
			(void)host_of(l->w, l->series->list[i].host);
	return r < 0 ? r : l->w->host_count ? 0 : -ENOENT;
}

static double online(const struct where_loading *l, const char *host)
{
	for (size_t i = 0; i < l->series->count; i++)
		if (!strcmp(l->series->list[i].metric, "system.cpus_online") &&
		    !strcmp(l->series->list[i].host, host) && l->series->list[i].maximum >= 1)
			return l->series->list[i].maximum;
	return NAN;
}

/* The smallest of what the batch system, affinity and a quota allow. */
static void find_cores(struct where_loading *l)
{
	struct job_grant g;

	job_grant_take(&g, l->metadata);
	for (size_t i = 0; i < l->w->host_count; i++) {
		struct where_host *h = &l->w->hosts[i];
		double usable = job_grant_host(l->metadata, h->name), all = online(l, h->name);

		h->cpus = isnan(all) ? usable : all;
		h->cores = isnan(usable) ? h->cpus : usable;
		/* of several hosts each has the same part of a grant */
		if (g.batch && g.cores > 0)
			h->cores = (double)g.cores / (double)(g.hosts > 0 ? g.hosts : 1);
		if (!(h->cores > 0))
			h->cores = 1;
		h->places = h->cores;
		if (g.quota > 0 && g.quota < h->cores)
			h->cores = g.quota;
	}
}

/* ---- threads in the background -------------------------------------------------------------- */

struct life {
	const char *entity;
	double active, soft, life;
};

static struct life *life_of(struct life *list, size_t *count, const char *entity)
{
	/* series of an entity come in the same order for each metric */
	for (size_t i = 0; i < *count; i++)
		if (!strcmp(list[i].entity, entity))
			return &list[i];
	list[*count] = (struct life){.entity = entity};
	return &list[(*count)++];
}

#define LIVES_MAX 512 /* processes that are looked at one by one */

/* Sums over the processes of what held them up in waits that threads in the background have, too.
 */
static double find_held_up(const struct where_loading *l)
{
	static const struct {
		const char *metric;
		double factor;
		bool soft;
	} of[] = {{"process.usertime", 1e-6, false},
		  {"process.systemtime", 1e-6, false},
		  {"process.time_waiting", 1e-9, false},
		  {"waits.storage", 1, false},
		  {"waits.network", 1, false},
		  {"waits.process", 1, false},
		  {"waits.lock", 1, false},
		  {"waits.timer", 1, true},
		  {"waits.poll", 1, true},
		  {"waits.other", 1, true}};
	_cleanup_free_ struct life *list = xcalloc(LIVES_MAX + 1, sizeof(*list));
	size_t count = 0;
	double held = 0, all = 0;

	for (size_t i = 0; i < l->series->count && count < LIVES_MAX; i++) {
		const struct series *s = &l->series->list[i];

		if (strcmp(s->entity_kind, "process") != 0)
			continue;
		for (size_t k = 0; k < ARRAY_SIZE(of); k++) {
			if (strcmp(s->metric, of[k].metric) != 0)
				continue;
			struct life *p = life_of(list, &count, s->entity);
			double v = s->increase > 0 ? s->increase * of[k].factor : 0;

			*(of[k].soft ? &p->soft : &p->active) += v;
			double span = (double)(s->last - s->begin) * 1e-6;
			p->life = span > p->life ? span : p->life;
		}
	}
	for (size_t i = 0; i < count; i++) {
		held += core_time_held_up(list[i].active, list[i].soft, list[i].life);
		all += list[i].soft;
	}
	return all > 0 ? held / all : 1;
}

/* ---- all ------------------------------------------------------------------------------------ */

/* Cores of a part of a job: as many as it had threads, and not more than the host's. */
static void part_cores(const struct where_loading *l, uint32_t host, const struct where_host *h,
		       struct core_evidence *steps)
{
	const struct resample_grid *g = &l->w->grid;
	_cleanup_free_ double *threads = xcalloc(g->count, sizeof(*threads));

	for (size_t i = 0; i < l->image_count; i++) {
		const struct where_image *p = &l->images[i];

		if (!p->chosen || p->host != host || p->start == UNKNOWN)
			continue;
		for (size_t k = 0; k < g->count; k++) {
			int64_t from = g->from + (int64_t)k * g->step, to = from + g->step;

			from = p->start > from ? p->start : from;
			to = p->end < to ? p->end : to;
			if (to > from)
				threads[k] += (double)(to - from) / (double)g->step *
					      (p->threads > 1 ? p->threads : 1);
		}
	}
	for (size_t k = 0; k < g->count && l->image_count; k++)
		steps[k].cores = threads[k] < h->cores ? threads[k] : h->cores;
}

static int divide_host(struct where_loading *l, struct where_host *h)
{
	struct where *w = l->w;
	_cleanup_free_ struct core_evidence *steps = xcalloc(w->grid.count, sizeof(*steps));
	uint32_t host = 0;
	int r = string_number(l, h->name, &host);

	for (size_t i = 0; i < w->grid.count; i++) {
		core_evidence_init(&steps[i]);
		steps[i].seconds = (double)w->grid.step * 1e-6;
		steps[i].cores = h->cores;
		steps[i].places = h->places;
	}
	if (r < 0)
		return r;
	bool sampled = where_from_samples(l, h, steps);
	if (!sampled && host)
		where_from_records(l, h, host, steps);
	if (host)
		where_from_lives(l, host, steps, h->looked || !sampled);
	if (w->part)
		part_cores(l, host, h, steps);
	for (size_t i = 0; i < w->grid.count; i++) {
		struct core_time t;

		core_time_divide(&steps[i], &t);
		core_time_add(&h->total, &t);
		core_time_add(&w->steps[i], &t);
		w->busy[i] += (core_time_family(&t, CORE_BUSY_FAMILY) +
			       core_time_family(&t, CORE_KERNEL_FAMILY)) /
			      steps[i].seconds;
	}
	w->sampled = w->sampled && h->sampled;
	w->looked = w->looked && h->looked;
	core_time_add(&w->total, &h->total);
	return 0;
}

static int load(struct where_loading *l)
{
	struct where *w = l->w;
	int64_t from, to;
	int r = where_images_load(l->store, l->job, l->scope, &l->images, &l->image_count);

	if (r >= 0)
		r = find_hosts(l);
	if (r >= 0)
		r = find_times(l, &from, &to);
	if (r < 0)
		return r;
	w->grid = make_grid(l, from, to);
	w->seconds = (double)(to - from) * 1e-6;
	w->steps = xcalloc(w->grid.count, sizeof(*w->steps));
	w->busy = xcalloc(w->grid.count, sizeof(*w->busy));
	w->sampled = w->looked = true;
	find_cores(l);
	w->held_up = find_held_up(l);
	for (size_t i = 0; i < w->host_count && r >= 0; i++) {
		r = divide_host(l, &w->hosts[i]);
		w->cores += w->hosts[i].cores;
	}
	return r;
}

int where_load(struct where *w, struct store *s, int64_t job, const struct where_scope *scope,
	       const struct series_list *series)
{
	static const struct series_filter needed = {
		.metrics = {.word = {"process.*", "waits.*", "jobs.cpu_*", "cgroup.cpu_*",
				     "system.cpu*", "network.*x_bytes"},
			    .count = 6}};
	static const struct where_scope whole = {.rank = -1};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *metadata = NULL;
	struct series_list own = {0};
	struct where_loading l = {.w = w,
				  .store = s,
				  .job = job,
				  .scope = scope ? scope : &whole,
				  .series = series ? series : &own};
	int r = 0;

	*w = (struct where){.held_up = 1};
	w->part = l.scope->executable || l.scope->step || l.scope->process || l.scope->rank >= 0;
	if (!series)
		r = series_list_load(&own, s, job, &needed);
	if (r >= 0)
		r = jobmeta_load(s, job, &metadata, &why);
	l.metadata = metadata;
	if (r >= 0 || why.len)
		r = load(&l);
	series_list_release(&own);
	free(l.images);
	if (r < 0)
		where_release(w);
	return r < 0 ? r : 0;
}

size_t where_columns(const struct where *w, size_t max, struct core_time **ret)
{
	size_t n = w->grid.count < max ? w->grid.count : max;

	*ret = xcalloc(n ? n : 1, sizeof(**ret));
	for (size_t i = 0; i < w->grid.count; i++)
		core_time_add(&(*ret)[i * n / w->grid.count], &w->steps[i]);
	return n;
}
