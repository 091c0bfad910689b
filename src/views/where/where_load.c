/* Finds where the core time of a job went: hosts, the grid of steps, and the division of each step;
 * see where.h. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "store/job_metadata.h"
#include "views/where/where_internal.h"

#define STEPS_MAX 1000
#define STEPS_ALL 200000 /* of all hosts together */
#define STEP_MIN 50000   /* us; ticks of the kernel's clocks are 10 ms */

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
	if (l->w->part && l->image_count && !records)
		return -ENOENT;
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
	int64_t most = (int64_t)(STEPS_ALL / (l->w->host_count + 1));
	most = most > STEPS_MAX ? STEPS_MAX : most < 20 ? 20 : most;
	n = n < 1 ? 1 : n > most ? most : n;
	return (struct resample_grid){
		.from = from, .step = (to - from + n - 1) / n, .count = (size_t)n};
}

/* ---- hosts ---------------------------------------------------------------------------------- */

static void add_host(struct where_loading *l, const char *name)
{
	struct where *w = l->w;
	uint64_t hash = hash_bytes(name, strlen(name));

	for (struct hash_slot *at = hash_map_first(&l->host_names, hash); at;
	     at = hash_map_next(&l->host_names, at))
		if (!strcmp(w->hosts[at->value].name, name))
			return;
	hash_map_add(&l->host_names, hash, w->host_count);
	GROW(w->hosts, w->host_count, w->host_cap);
	w->hosts[w->host_count++] =
		(struct where_host){.name = xstrdup(name), .cores = NAN, .cpus = NAN};
}

static int find_hosts(struct where_loading *l)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		l->store, "SELECT host FROM job_host WHERE job = $1 ORDER BY host", db_int(l->job));
	const char *only = l->scope->host;
	const char *before = NULL;
	size_t sampled = 0; /* hosts of process.usertime; a host may have series of several runs */
	int r;

	for (; (r = stmt_step(st)) == 1; l->all_hosts++)
		if (!only || pattern_matches(only, stmt_get_str(st, 0)))
			add_host(l, stmt_get_str(st, 0));
	for (size_t i = 0; i < l->series->count; i++) {
		const struct series *s = &l->series->list[i];

		if (!is_of_job(s))
			continue;
		if (!strcmp(s->entity_kind, "job") && *s->metric == 'p') {
			sampled += !before || strcmp(before, s->host) != 0;
			before = s->host;
		}
		if (!only || pattern_matches(only, s->host))
			add_host(l, s->host);
	}
	l->all_hosts = sampled > l->all_hosts ? sampled : l->all_hosts;
	return r < 0 ? r : l->w->host_count ? 0 : -ENOENT;
}

/* The place of a host by the number of its name in the store; host_count: it is not looked at. */
static int host_place(struct where_loading *l, struct stmt *st, uint32_t number, size_t *ret)
{
	size_t n = 0;

	*ret = l->w->host_count;
	stmt_int(st, 1, store_key(l->job, number));
	int r = stmt_step(st);
	const char *name = r == 1 ? stmt_get_text(st, 0, &n) : NULL;
	uint64_t hash = name ? hash_bytes(name, n) : 0;
	for (struct hash_slot *at = name ? hash_map_first(&l->host_names, hash) : NULL; at;
	     at = hash_map_next(&l->host_names, at)) {
		const char *have = l->w->hosts[at->value].name;

		if (strlen(have) == n && !memcmp(have, name, n))
			*ret = at->value;
	}
	stmt_reset(st);
	return r < 0 ? r : 0;
}

/* The number of the host of an image: its place + 1; host_count + 1: it is not looked at. */
static size_t host_number(const struct hash_map *numbers, const struct where_image *p)
{
	return hash_map_first(numbers, (uint64_t)p->host + 1)->value;
}

/* Images by host, in the order of the tree within each. */
static int sort_by_host(struct where_loading *l)
{
	size_t hosts = l->w->host_count;
	struct hash_map numbers = {0};
	int r = 0;

	l->first = xcalloc(hosts + 2, sizeof(*l->first));
	l->by_host = xcalloc(l->image_count + 1, sizeof(*l->by_host));
	_cleanup_stmt_ struct stmt *st =
		stmt_prepare(l->store, "SELECT bytes FROM string WHERE id = $1");
	if (!st)
		return -EIO;
	for (size_t i = 0; i < l->image_count && r >= 0; i++) {
		size_t at = 0;

		if (hash_map_first(&numbers, (uint64_t)l->images[i].host + 1))
			continue;
		r = host_place(l, st, l->images[i].host, &at);
		hash_map_add(&numbers, (uint64_t)l->images[i].host + 1, at + 1);
	}
	for (size_t i = 0; i < l->image_count && r >= 0; i++)
		l->first[host_number(&numbers, &l->images[i])]++;
	for (size_t i = 1; i <= hosts + 1; i++)
		l->first[i] += l->first[i - 1];
	for (size_t i = l->image_count; i-- > 0 && r >= 0;)
		l->by_host[--l->first[host_number(&numbers, &l->images[i])]] = (uint32_t)i;
	/* from numbers to places */
	memmove(l->first, l->first + 1, (hosts + 1) * sizeof(*l->first));
	hash_map_release(&numbers);
	return r;
}

/* ---- series --------------------------------------------------------------------------------- */

static int compare_series(const struct series *s, const char *metric, const char *kind,
			  const char *host)
{
	int r = strcmp(s->metric, metric);

	r = r ? r : strcmp(s->entity_kind, kind);
	return r ? r : strcmp(s->host, host);
}

size_t where_series(const struct where_loading *l, const char *metric, const char *kind,
		    const char *host, size_t *ret_end)
{
	const struct series_list *all = l->series;
	size_t from = 0, to = all->count;

	while (from < to) {
		size_t middle = (from + to) / 2;

		if (compare_series(&all->list[middle], metric, kind, host) < 0)
			from = middle + 1;
		else
			to = middle;
	}
	for (to = from; to < all->count && !compare_series(&all->list[to], metric, kind, host);)
		to++;
	*ret_end = to;
	return from;
}

static double online(const struct where_loading *l, const char *host)
{
	size_t end, at = where_series(l, "system.cpus_online", "node", host, &end);

	return at < end && l->series->list[at].maximum >= 1 ? l->series->list[at].maximum : NAN;
}

/* The smallest of what the batch system, affinity and a quota allow. */
static void find_cores(struct where_loading *l)
{
	struct job_grant g;

	job_grant_take(&g, l->metadata, l->all_hosts);
	for (size_t i = 0; i < l->w->host_count; i++) {
		struct where_host *h = &l->w->hosts[i];
		double all = online(l, h->name);

		h->cpus = isnan(all) ? where_host_cpus(l->metadata, h->name) : all;
		h->used = job_host_busy(l->metadata, h->name);
		h->cores = job_grant_host(&g, l->metadata, h->name);
		if (isnan(h->cores))
			h->cores = h->cpus;
		if (!(h->cores > 0))
			h->cores = 1;
		h->places = h->cores;
		if (g.quota > 0 && g.quota < h->cores)
			h->cores = g.quota;
	}
}

/* ---- all ------------------------------------------------------------------------------------ */

/* Cores of a part of a job: as many as it had threads, and not more than the host's. */
static void part_cores(const struct where_loading *l, size_t host, const struct where_host *h,
		       struct core_evidence *steps)
{
	const struct resample_grid *g = &l->w->grid;
	_cleanup_free_ double *threads = xcalloc(g->count, sizeof(*threads));

	for (size_t at = l->first[host]; at < l->first[host + 1]; at++) {
		const struct where_image *p = &l->images[l->by_host[at]];

		if (!p->chosen || p->start == UNKNOWN)
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

/* A quota of a group around the job, which no source samples: what `run` read of it, where threads
 * were ready. */
static void take_throttled(const struct where_loading *l, struct core_evidence *steps)
{
	double all = l->metadata ? job_throttled(l->metadata) : NAN, ready = 0;

	for (size_t i = 0; i < l->w->grid.count; i++) {
		if (!isnan(steps[i].throttled))
			return;
		ready += steps[i].runnable > 0 ? steps[i].runnable : 0;
	}
	if (l->w->part || l->w->host_count != 1 || !(all > 0) || !(ready > 0))
		return;
	for (size_t i = 0; i < l->w->grid.count; i++)
		steps[i].throttled = steps[i].runnable > 0 ? all * steps[i].runnable / ready : 0;
}

/* Where sampling began late, ended early or was not on, records say what programs used. */
static void fill_holes(struct where_loading *l, size_t host, struct core_evidence *steps)
{
	size_t n = l->w->grid.count, holes = 0;

	for (size_t i = 0; i < n; i++)
		holes += isnan(steps[i].user) && isnan(steps[i].system);
	if (!holes)
		return;
	_cleanup_free_ struct core_evidence *known = xcalloc(n, sizeof(*known));
	for (size_t i = 0; i < n; i++) {
		core_evidence_init(&known[i]);
		known[i].seconds = steps[i].seconds;
		known[i].cores = steps[i].cores;
		known[i].places = steps[i].places;
	}
	where_from_records(l, host, known);
	for (size_t i = 0; i < n; i++)
		if (isnan(steps[i].user) && isnan(steps[i].system))
			steps[i] = known[i];
}

static double sum_of(const struct core_evidence *steps, size_t n, size_t field)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		double v = *(const double *)(const void *)((const char *)&steps[i] + field);

		sum += v > 0 ? v : 0;
	}
	return sum;
}

/* Adds so much to a field, where records have more of it than samples. */
static void add_missing(struct core_evidence *steps, const struct core_evidence *known, size_t n,
			size_t field, double missing)
{
	_cleanup_free_ double *less = xcalloc(n, sizeof(*less));
	double all = 0;

	for (size_t i = 0; i < n; i++) {
		double have = *(double *)(void *)((char *)&steps[i] + field),
		       real = *(const double *)(const void *)((const char *)&known[i] + field);

		less[i] = real > (have > 0 ? have : 0) ? real - (have > 0 ? have : 0) : 0;
		all += less[i];
	}
	for (size_t i = 0; i < n && all > 0; i++)
		where_plus((double *)(void *)((char *)&steps[i] + field), missing * less[i] / all);
}

/* Samples see nothing of what a process does after the last one of its life; records have all of
 * what it used. */
static void add_exact(struct where_loading *l, size_t host, struct core_evidence *steps)
{
	static const size_t fields[] = {offsetof(struct core_evidence, user),
					offsetof(struct core_evidence, system)};
	size_t n = l->w->grid.count;
	double *at_work = l->at_work;
	_cleanup_free_ struct core_evidence *known = xcalloc(n, sizeof(*known));
	double missing[2], all = 0, part = 0;

	l->at_work = xcalloc(n, sizeof(*l->at_work));
	for (size_t i = 0; i < n; i++) {
		core_evidence_init(&known[i]);
		known[i].seconds = steps[i].seconds;
	}
	where_from_records(l, host, known);
	for (size_t i = 0; i < 2; i++) {
		missing[i] = sum_of(known, n, fields[i]) - sum_of(steps, n, fields[i]);
		all += missing[i];
		part += missing[i] > 0 ? missing[i] : 0;
	}
	for (size_t i = 0; i < 2 && all > 0; i++)
		if (missing[i] > 0)
			add_missing(steps, known, n, fields[i], missing[i] * all / part);
	free(l->at_work);
	l->at_work = at_work;
}

static void divide_host(struct where_loading *l, size_t host, struct core_evidence *steps)
{
	struct where *w = l->w;
	struct where_host *h = &w->hosts[host];
	bool records = l->first[host] < l->first[host + 1];

	for (size_t i = 0; i < w->grid.count; i++) {
		core_evidence_init(&steps[i]);
		steps[i].seconds = (double)w->grid.step * 1e-6;
		steps[i].cores = h->cores;
		steps[i].places = h->places;
		l->at_work[i] = 0;
	}
	bool sampled = where_from_samples(l, h, steps);
	if (!sampled && records)
		where_from_records(l, host, steps);
	else if (records) {
		fill_holes(l, host, steps);
		add_exact(l, host, steps);
	}
	if (records)
		where_from_lives(l, host, steps, h->looked || !sampled);
	if (w->part)
		part_cores(l, host, h, steps);
	take_throttled(l, steps);
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
}

static int load(struct where_loading *l)
{
	struct where *w = l->w;
	int64_t from, to;
	int r = where_images_load(l->store, l->job, l->scope, &l->images, &l->image_count);

	if (r >= 0)
		r = find_hosts(l);
	if (r >= 0)
		r = sort_by_host(l);
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
	l->at_work = xcalloc(w->grid.count, sizeof(*l->at_work));
	_cleanup_free_ struct core_evidence *steps = xcalloc(w->grid.count, sizeof(*steps));
	for (size_t i = 0; i < w->host_count; i++) {
		divide_host(l, i, steps);
		w->cores += w->hosts[i].cores;
	}
	return 0;
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

	*w = (struct where){0};
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
	free(l.by_host);
	free(l.first);
	free(l.at_work);
	hash_map_release(&l.host_names);
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
