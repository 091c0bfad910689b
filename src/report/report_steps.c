/*
 * The steps of a job (store/analysis/job_steps.h): what each used, and in which one it was that a
 * finding is about. See report_internal.h.
 */
#include <math.h>
#include <string.h>

#include "core/text/text.h"
#include "report/report_internal.h"
#include "store/analysis/job_steps.h"

#define MOST 0.6  /* of what a finding is about: it is named */
#define TWICE 1.2 /* times the whole in all steps together: they ran at the same time */
#define NAME_MAX_BYTES 60

/* ---- memory --------------------------------------------------------------------------------- */

/* A process that starts adds its peak, one that ends takes it away. */
struct change {
	uint32_t step, host;
	int64_t at, kib;
};

/* At the same time ends come first. */
static int by_place_and_time(const void *a, const void *b)
{
	const struct change *x = a, *y = b;

	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	if (x->host != y->host)
		return x->host < y->host ? -1 : 1;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->kib < y->kib ? -1 : x->kib > y->kib;
}

static bool is_known(const struct report_proc *p)
{
	/* unknown, or more than any machine has */
	return p->rssmax != UNKNOWN && p->rssmax >= 0 && p->rssmax < (int64_t)1 << 42 &&
	       p->start != UNKNOWN && p->duration != UNKNOWN;
}

/* Ends come before later begins; each step and host adds up to 0. */
static size_t changes_of(const struct report_loading *l, bool by_step, struct change *all)
{
	size_t n = 0;

	for (size_t i = 0; i < l->count; i++) {
		const struct report_proc *p = &l->procs[i];
		uint32_t step = by_step ? p->step : 0;

		if (!is_known(p))
			continue;
		all[n++] = (struct change){step, p->host, p->start, p->rssmax};
		all[n++] = (struct change){step, p->host, p->start + p->duration, -p->rssmax};
	}
	if (n)
		qsort(all, n, sizeof(*all), by_place_and_time);
	return n;
}

double report_peaks_together(const struct report_loading *l)
{
	_cleanup_free_ struct change *all = xcalloc(2 * l->count + 1, sizeof(*all));
	size_t n = changes_of(l, false, all);
	int64_t now = 0, most = 0;

	for (size_t i = 0; i < n; i++) {
		now += all[i].kib;
		most = now > most ? now : most;
	}
	return n && n == 2 * l->count ? (double)most * 1024 : NAN;
}

static void take_memory(struct report_loading *l)
{
	_cleanup_free_ struct change *all = xcalloc(2 * l->count + 1, sizeof(*all));
	size_t n = changes_of(l, true, all);
	int64_t now = 0;

	for (size_t i = 0; i < n; i++) {
		struct report_step *s = all[i].step ? &l->r->steps[all[i].step - 1] : NULL;

		now += all[i].kib;
		if (s && (isnan(s->memory) || (double)now * 1024 > s->memory))
			s->memory = (double)now * 1024;
	}
	for (size_t i = 0; i < l->count; i++)
		if (l->procs[i].step && !is_known(&l->procs[i]))
			l->r->steps[l->procs[i].step - 1].memory = NAN;
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* Counts each pair of a step and a host or rank once. */
static bool is_new(struct hash_map *seen, uint32_t step, uint64_t of)
{
	uint64_t hash = hash_number((uint64_t)step << 40 | of);

	if (hash_map_first(seen, hash))
		return false;
	hash_map_add(seen, hash, 1);
	return true;
}

static void add_process(struct report_step *s, const struct report_proc *p)
{
	s->processes += !p->replaced;
	s->failed += p->failed && !p->replaced;
	if (p->cpu != UNKNOWN)
		s->cpu = known_sum(s->cpu == UNKNOWN ? 0 : s->cpu, p->cpu);
	if (p->start == UNKNOWN || p->duration == UNKNOWN)
		return;
	if (s->start == UNKNOWN || p->start < s->start)
		s->start = p->start;
	if (s->end == UNKNOWN || p->start + p->duration > s->end)
		s->end = p->start + p->duration;
}

static void add_up(struct report_loading *l)
{
	struct hash_map hosts = {0}, ranks = {0};

	for (size_t i = 0; i < l->count; i++) {
		const struct report_proc *p = &l->procs[i];
		struct report_step *s = p->step ? &l->r->steps[p->step - 1] : NULL;

		if (!s)
			continue;
		add_process(s, p);
		s->hosts += is_new(&hosts, p->step, p->host);
		if (p->rank >= 0)
			s->ranks += is_new(&ranks, p->step, (uint64_t)p->rank);
	}
	hash_map_release(&hosts);
	hash_map_release(&ranks);
}

/* ---- which step ----------------------------------------------------------------------------- */

static void find_steps(struct report_loading *l, struct job_steps *all)
{
	for (size_t i = 0; i < l->count; i++) {
		struct report_proc *p = &l->procs[i];
		uint32_t above = p->parent != i ? l->procs[p->parent].step : 0,
			 own = job_steps_own(all, l->r->names[p->tags], p->state);

		p->step = job_steps_inherit(own, above, job_steps_of_run(all, p->state));
		job_steps_note_program(all, p->step, l->r->names[p->name]);
	}
	job_steps_settle(all);
}

static int by_begin(const void *a, const void *b)
{
	const struct report_step *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return strverscmp(x->name, y->name);
}

static char *printable(const char *text)
{
	struct strbuf out = STRBUF_INIT;

	if (text)
		text_add_printable(&out, text, strnlen(text, NAME_MAX_BYTES));
	return strbuf_take(&out);
}

/* Steps that processes have, in the order of their begin; numbers of processes are places + 1. */
static void make_list(struct report_loading *l, struct job_steps *all)
{
	struct report *r = l->r;
	_cleanup_free_ uint32_t *place = xcalloc(all->count + 1, sizeof(*place));

	for (size_t i = 0; i < l->count; i++) {
		struct report_proc *p = &l->procs[i];
		uint32_t number = job_steps_final(all, p->step);

		if (number && !place[number]) {
			const struct job_step *one = job_steps_get(all, number);

			GROW(r->steps, r->step_count, r->step_cap);
			r->steps[r->step_count++] =
				(struct report_step){.name = printable(one->name),
						     .program = printable(one->program),
						     .cpu = UNKNOWN,
						     .start = UNKNOWN,
						     .end = UNKNOWN,
						     .memory = NAN};
			place[number] = (uint32_t)r->step_count;
		}
		p->step = number ? place[number] : 0;
	}
}

static void sort_list(struct report_loading *l)
{
	struct report *r = l->r;
	_cleanup_free_ uint32_t *to = xcalloc(r->step_count + 1, sizeof(*to));

	for (size_t i = 0; i < r->step_count; i++)
		r->steps[i].place = (uint32_t)i;
	if (r->step_count > 1)
		qsort(r->steps, r->step_count, sizeof(*r->steps), by_begin);
	for (size_t i = 0; i < r->step_count; i++)
		to[r->steps[i].place + 1] = (uint32_t)i + 1;
	for (size_t i = 0; i < l->count; i++)
		l->procs[i].step = to[l->procs[i].step];
}

void report_take_steps(struct report_loading *l, const struct value *metadata)
{
	_cleanup_(job_steps_release) struct job_steps all = {0};

	job_steps_take(&all, metadata);
	find_steps(l, &all);
	make_list(l, &all);
	if (!l->r->step_count)
		return;
	add_up(l);
	sort_list(l);
	take_memory(l);
}

void report_steps_release(struct report *r)
{
	for (size_t i = 0; i < r->step_count; i++) {
		free(r->steps[i].name);
		free(r->steps[i].program);
	}
	free(r->steps);
}

const char *report_step_name(const struct report *r, const struct report_proc *p)
{
	return p->step ? r->steps[p->step - 1].name : NULL;
}

/* ---- findings ------------------------------------------------------------------------------- */

/* The part of an interval that lies in a step, 0 to 1. */
static double overlap(const struct report_step *s, int64_t from, int64_t to)
{
	int64_t begin = s->start > from ? s->start : from, end = s->end < to ? s->end : to;

	return s->start != UNKNOWN && end > begin ? (double)(end - begin) / (double)(to - from) : 0;
}

static double part_in(const struct where *w, const struct report_step *s, size_t part)
{
	double sum = 0;

	for (size_t i = 0; i < w->grid.count; i++) {
		int64_t from = w->grid.from + (int64_t)i * w->grid.step;

		sum += w->steps[i].part[part] * overlap(s, from, from + w->grid.step);
	}
	return sum;
}

/* The step in which most of a part of core time was; NULL: none, or steps ran at the same time. */
static const struct report_step *most_in(const struct report *r, size_t part, double *ret_share)
{
	const struct report_step *best = NULL;
	double all = r->where.total.part[part], sum = 0, most = 0;

	if (!(all >= finding_limits[LIMIT_NOTABLE].value * r->where.seconds))
		return NULL;
	for (size_t i = 0; i < r->step_count; i++) {
		double v = part_in(&r->where, &r->steps[i], part);

		sum += v;
		if (v > most) {
			most = v;
			best = &r->steps[i];
		}
	}
	*ret_share = all > 0 ? most / all : 0;
	return sum <= TWICE * all && *ret_share >= MOST ? best : NULL;
}

/* False: it was in no single one. */
static bool name_step(const struct report *r, struct finding *f, struct finding_evidence *e,
		      size_t part)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	double share;
	const struct report_step *s = most_in(r, part, &share);

	if (!s)
		return false;
	strbuf_addf(&text, "%s %.0f %% of it was in step %s", f->details ? f->details : "",
		    100 * (share < 1 ? share : 1), s->name);
	if (*s->program)
		strbuf_addf(&text, " (%s)", s->program);
	strbuf_addch(&text, '.');
	free(f->details);
	f->details = strbuf_take(&text);
	if (!e->where)
		e->where = xasprintf("step %s", s->name);
	return true;
}

void report_name_steps(struct report *r)
{
	if (r->step_count < 2 || !r->where.host_count)
		return;
	for (size_t i = 0; i < r->findings.count; i++) {
		struct finding *f = &r->findings.list[i];
		bool named = finding_ids[f->id].group == GROUP_FAILURE;

		for (size_t k = 0; k < f->evidence_count && !named; k++)
			for (size_t part = 0; part < CORE_PARTS && !named; part++)
				named = !strcmp(f->evidence[k].metric, core_parts[part].name) &&
					name_step(r, f, &f->evidence[k], part);
	}
}
