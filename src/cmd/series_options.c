/* See series_options.h. */
#include "cmd/series_options.h"

#include <errno.h>
#include <string.h>

#include "core/clock.h"
#include "samples/sample.h"
#include "views/job_plot.h"

/* "rss,pss": the words stay where they are, on the command line, which is ours to cut. */
static bool add_metric_words(const char *command, struct series_filter *f, const char *value)
{
	for (char *comma; value; value = comma) {
		comma = strchr(value, ',');
		if (comma)
			*comma++ = 0;
		if (!*value) {
			usage_error(command, "%s: --metric wants names of metrics", command);
			return false;
		}
		if (f->metrics.count == FILTER_WORDS_MAX) {
			usage_error(command, "%s: at most %d metrics", command, FILTER_WORDS_MAX);
			return false;
		}
		f->metrics.word[f->metrics.count++] = value;
	}
	return true;
}

static bool set_kind(const char *command, struct series_filter *f, const char *value)
{
	if (!entity_kind_by_name(value)) {
		usage_error(command, "%s: there is no kind '%s' of entities", command, value);
		return false;
	}
	f->kind = value;
	return true;
}

static bool set_time(const char *command, const char *option, const char *value, bool *has,
		     int64_t *to)
{
	if (parse_time_us(value, clock_realtime_us(), to) < 0) {
		usage_error(command,
			    "%s: %s wants a time like 2026-11-15T04:05, -2h or now, not '%s'",
			    command, option, value);
		return false;
	}
	*has = true;
	return true;
}

bool series_filter_set(const char *command, struct series_filter *f, int id, const char *value)
{
	switch (id) {
	case OPTION_METRIC:
		return add_metric_words(command, f, value);
	case OPTION_HOST:
		f->host = value;
		return true;
	case OPTION_ENTITY:
		f->entity = value;
		return true;
	case OPTION_KIND:
		return set_kind(command, f, value);
	default:
		return true;
	}
}

bool series_option_set(const char *command, struct series_options *o, int id, const char *value)
{
	switch (id) {
	case OPTION_SINCE:
		return set_time(command, "--since", value, &o->has_since, &o->since_us);
	case OPTION_UNTIL:
		return set_time(command, "--until", value, &o->has_until, &o->until_us);
	default:
		return series_filter_set(command, &o->filter, id, value);
	}
}

const char *series_unknown_metric(struct store *s, int64_t job, const struct words *w)
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

int series_tell_none(struct store *s, int64_t job, const char *metric, const char *remedy)
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
	return -ENOENT;
}
