/* See series_options.h. */
#include "cmd/series_options.h"

#include <errno.h>
#include <string.h>

#include "core/clock.h"
#include "samples/sample.h"
#include "views/jobs/job_plot.h"

int series_limit_to_phase(struct series_options *o, const char *phase, struct phase_list *l,
			  struct store *s, int64_t job)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int64_t begin, end;
	int r = phase_list_load(l, s, job);

	if (r < 0 || !phase)
		return r;
	r = phase_time(l, phase, &begin, &end, &why);
	if (r < 0)
		return fail_with(r, "%s", why.buf);
	if (!o->has_since || o->since_us < begin)
		o->since_us = begin;
	if (!o->has_until || o->until_us > end)
		o->until_us = end;
	o->has_since = o->has_until = true;
	return 0;
}

const char *series_kind_name(size_t i)
{
	return i + 1 < ENTITY_KIND_END ? entity_kind_name((enum entity_kind)(i + 1)) : NULL;
}

const char *series_unknown_metric(struct store *s, int64_t job, const struct word_list *w)
{
	const char *unknown = NULL;

	for (size_t i = 0; i < w->count && !unknown; i++) {
		_cleanup_(series_list_release) struct series_list l = {0};
		const struct series_filter f = {.metrics = {.word = {w->word[i]}, .count = 1}};

		if (series_list_load(&l, s, job, &f) >= 0 && !l.count)
			unknown = w->word[i];
	}
	return unknown;
}

int series_report_none(struct store *s, int64_t job, const char *metric, const char *remedy)
{
	_cleanup_(series_list_release) struct series_list all = {0};
	_cleanup_strbuf_ struct strbuf near = STRBUF_INIT;

	if (series_list_load(&all, s, job, &(struct series_filter){0}) >= 0 && metric)
		series_nearest(&all, metric, 3, &near);
	if (!all.count)
		log_error(NOT_SAMPLED);
	else if (near.len)
		log_error("the job has no metric '%.100s'; did you mean %s?", metric, near.buf);
	else if (metric)
		log_error("the job has no metric '%.100s'; %s", metric, remedy);
	else
		log_error("the job has no such series; %s", remedy);
	return EXIT_FAILED;
}
