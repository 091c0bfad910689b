/*
 * The energy of a job; see report.h. Each host counts with its best source: the job's part where
 * the node's daemon divided the energy; else the whole node by its controller; else packages and
 * memory by RAPL, and GPUs. Hosts without any are listed.
 */
#include <math.h>
#include <string.h>

#include "core/text/text.h"
#include "report/report_internal.h"
#include "store/job_figures.h"

/* Energy of a host by one origin; NAN: only names a host of the job. */
struct amount {
	const char *host;
	enum energy_origin from;
	double joules;
};

struct amounts {
	struct amount *list;
	size_t count, cap;
};

static void add(struct amounts *a, const char *host, enum energy_origin from, double joules)
{
	GROW(a->list, a->count, a->cap);
	a->list[a->count++] = (struct amount){host, from, joules};
}

static void add_domain(struct report *r, const struct series *s, double joules)
{
	GROW(r->energy, r->energy_count, r->energy_cap);
	r->energy[r->energy_count++] = (struct report_energy){
		.host = xstrdup(s->host), .domain = xstrdup(s->entity), .joules = joules};
}

static void take(struct report *r, struct amounts *a, const struct series *s)
{
	enum energy_origin from = energy_origin_of(s->metric, s->entity_kind);
	double joules =
		from == ENERGY_OF_NODE ? s->mean * (double)(s->last - s->first) / 1e6 : s->increase;

	if (from == ENERGY_ORIGINS)
		return;
	add_domain(r, s, joules);
	if (energy_counts(from, s->entity))
		add(a, s->host, from, joules);
}

static int by_host(const void *x, const void *y)
{
	return strverscmp(((const struct amount *)x)->host, ((const struct amount *)y)->host);
}

/* The best figure of a host; NAN: none. */
static double best_of(const struct amount *a, size_t count)
{
	double sum[ENERGY_ORIGINS];

	for (int i = 0; i < ENERGY_ORIGINS; i++)
		sum[i] = NAN;
	for (size_t i = 0; i < count; i++)
		if (!isnan(a[i].joules))
			sum[a[i].from] = (isnan(sum[a[i].from]) ? 0 : sum[a[i].from]) + a[i].joules;
	return energy_best(sum);
}

void report_load_energy(struct report_loading *l)
{
	struct report *r = l->r;
	struct amounts a = {0};

	for (size_t i = 0; i < l->series.count; i++) {
		const struct series *s = &l->series.list[i];

		take(r, &a, s);
		/* by host within a metric: at most one of each */
		if (!i || strcmp(s->host, l->series.list[i - 1].host) != 0)
			add(&a, s->host, ENERGY_OF_JOB, NAN);
	}
	for (size_t i = 0; i < r->hosts.count; i++)
		add(&a, r->hosts.list[i].name, ENERGY_OF_JOB, NAN);
	if (a.count)
		qsort(a.list, a.count, sizeof(*a.list), by_host);
	for (size_t i = 0, to; i < a.count; i = to) {
		for (to = i + 1; to < a.count && !strcmp(a.list[to].host, a.list[i].host);)
			to++;
		double joules = best_of(&a.list[i], to - i);
		if (isnan(joules)) {
			GROW(r->energy_unknown, r->energy_unknown_count, r->energy_unknown_cap);
			r->energy_unknown[r->energy_unknown_count++] = xstrdup(a.list[i].host);
		} else {
			r->joules = (isnan(r->joules) ? 0 : r->joules) + joules;
		}
	}
	free(a.list);
}

void report_add_energy_unknown(const struct report *r, struct strbuf *out)
{
	size_t shown = r->energy_unknown_count < 3 ? r->energy_unknown_count : 3;

	if (!isfinite(r->joules) || !shown)
		return;
	strbuf_addstr(out, "without ");
	for (size_t i = 0; i < shown; i++) {
		strbuf_addstr(out, i ? ", " : "");
		text_add_printable(out, r->energy_unknown[i], strnlen(r->energy_unknown[i], 60));
	}
	if (r->energy_unknown_count > shown)
		strbuf_addf(out, " and %zu more", r->energy_unknown_count - shown);
	strbuf_addf(out, ", which had no measurement");
}
