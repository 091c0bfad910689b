/* Selects metrics; see metric_filter.h. */
#include "sampler/metric_filter.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

void metric_filter_release(struct metric_filter *s)
{
	for (size_t i = 0; i < s->count; i++) {
		free(s->rules[i].pattern);
		free(s->rules[i].job);
	}
	free(s->rules);
	*s = (struct metric_filter){0};
}

static bool is_pattern(const char *p)
{
	return *p && strlen(p) <= 128 &&
	       !p[strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
			    "_-.*?[]/")];
}

/* NAME[:PERIOD[:JOB]] */
static int add_rule(struct metric_filter *s, char *text, struct strbuf *why)
{
	char *period = strchr(text, ':'), *job = NULL;
	struct metric_filter_rule r = {0};

	if (period) {
		*period++ = 0;
		job = strchr(period, ':');
		if (job)
			*job++ = 0;
	}
	if (!is_pattern(text))
		return strbuf_fail(why, -EINVAL,
				   "invalid metric name '%s'; `plimsoll metrics` lists them", text);
	if (period && strcmp(period, "-1") != 0 && *period &&
	    (parse_duration_ns(period, &r.period_ns) < 0 || !r.period_ns))
		return strbuf_fail(why, -EINVAL, "invalid period '%s' of metric %s", period, text);
	if (s->count == METRIC_FILTER_MAX)
		return strbuf_fail(why, -EINVAL, "too many metrics: at most %d", METRIC_FILTER_MAX);
	r.pattern = xstrdup(text);
	r.whole = strchr(text, '.') != NULL;
	r.job = job && *job && strcmp(job, "-1") != 0 ? xstrdup(job) : NULL;
	GROW(s->rules, s->count, s->cap);
	s->rules[s->count++] = r;
	return 0;
}

int metric_filter_parse(struct metric_filter *ret, const char *text, struct strbuf *why)
{
	_cleanup_free_ char *own = xstrdup(text);
	char *rest = own;

	*ret = (struct metric_filter){0};
	for (char *word; (word = strsep(&rest, ", \t\n"));) {
		int r = *word ? add_rule(ret, word, why) : 0;

		if (r < 0) {
			metric_filter_release(ret);
			return r;
		}
	}
	return 0;
}

static bool matches(const struct metric_filter_rule *r, const char *source, const char *name)
{
	char whole[256];

	if (!r->whole)
		return !fnmatch(r->pattern, name, 0);
	snprintf(whole, sizeof(whole), "%s.%s", source, name);
	return !fnmatch(r->pattern, whole, 0);
}

bool metric_filter_has(const struct metric_filter *s, const char *source,
		       const struct sample_metric *columns, size_t count)
{
	for (size_t i = 0; i < s->count; i++)
		for (size_t m = 0; m < count; m++)
			if (matches(&s->rules[i], source, columns[m].name))
				return true;
	return !s->count;
}

/* Does a row belong to the job, by its name or its metadata "job"? */
static bool is_of_job(const struct entity *e, const char *job)
{
	const char *value;
	size_t n;

	if (e->kind == ENTITY_JOB)
		return !strcmp(e->name, job);
	return entity_metadata(e, "job", &value, &n) && strlen(job) == n && !memcmp(value, job, n);
}

/* Removes rows without values. */
static void close_up(struct sample_set *set)
{
	size_t kept = 0, width = set->metric_count;

	for (size_t i = 0; i < set->row_count; i++) {
		if (!set->rows[i].present)
			continue;
		if (kept != i) {
			set->rows[kept] = set->rows[i];
			memcpy(set->values + kept * width, set->values + i * width,
			       width * sizeof(*set->values));
		}
		kept++;
	}
	set->row_count = kept;
}

void metric_filter_apply(const struct metric_filter *s, const char *source, uint64_t tick,
			 uint64_t period_ns, struct sample_set *set)
{
	uint64_t all = 0, of_one = 0; /* metrics of every row, and of rows of certain jobs */

	if (!s->count)
		return;
	for (size_t i = 0; i < s->count; i++) {
		const struct metric_filter_rule *r = &s->rules[i];
		uint64_t every =
			r->period_ns > period_ns ? (r->period_ns + period_ns / 2) / period_ns : 1;

		for (unsigned m = 0; m < set->metric_count && tick % every == 0; m++)
			if (matches(r, source, set->metrics[m].name))
				*(r->job ? &of_one : &all) |= (uint64_t)1 << m;
	}
	for (size_t row = 0; row < set->row_count; row++) {
		uint64_t mask = all;

		for (size_t i = 0; i < s->count && of_one; i++) {
			const struct metric_filter_rule *r = &s->rules[i];

			if (!r->job || !is_of_job(&set->entities[set->rows[row].entity], r->job))
				continue;
			for (unsigned m = 0; m < set->metric_count; m++)
				if (matches(r, source, set->metrics[m].name))
					mask |= of_one & (uint64_t)1 << m;
		}
		set->rows[row].present &= mask;
	}
	close_up(set);
}
