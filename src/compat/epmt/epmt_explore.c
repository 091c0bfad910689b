/* Called as `epmt explore`: an experiment in the columns that EPMT prints. */
#include <errno.h>
#include <math.h>

#include "compat/epmt/epmt.h"
#include "core/text/text.h"
#include "views/explore_view.h"

#define LIMIT_DEFAULT 10
#define NAME_WIDTH 16

/* The first 16 characters, flushed right; names come from anybody. */
static char *short_name(const char *name)
{
	_cleanup_strbuf_ struct strbuf clean = STRBUF_INIT;

	text_add_printable(&clean, name, strlen(name));
	return xasprintf("%*.*s", NAME_WIDTH, NAME_WIDTH, clean.buf);
}

static const char *stars(unsigned flags)
{
	static const char *const text[] = {"", "**", "****", "******"};

	return text[explore_score(flags)];
}

/* Python's int() of a value; 0 where the job has none. */
static long long whole(double v)
{
	return isfinite(v) ? (long long)v : 0;
}

static void print_groups(const struct explore_view *v)
{
	double sum = 0;

	for (size_t i = 0; i < explore_view_groups(v); i++)
		sum += v->e.groups[i].known ? v->e.groups[i].sum : 0;
	printf("\ntop %llu components by sum(%s):\n", (unsigned long long)v->o->limit,
	       v->o->query.metric);
	printf("%16s  %12s         %12s %12s %4s\n", "component", "sum", "min", "max", "cv");
	for (size_t i = 0; i < explore_view_groups(v); i++) {
		const struct explore_group *g = &v->e.groups[i];
		_cleanup_free_ char *name = short_name(g->name);

		printf("%s: %12lld [%4.1f%%] %12lld %12lld %4.1f\n", name, whole(g->sum),
		       100 * g->sum / sum, whole(g->min), whole(g->max), g->variation);
	}
}

static void print_jobs(const struct explore_view *v)
{
	printf("\nvariations across time segments (by component):\n");
	printf("%16s %12s %12s %16s\n", "component", "exp_time", "jobid", v->o->query.metric);
	for (size_t i = 0; i < explore_view_groups(v); i++) {
		const struct explore_group *g = &v->e.groups[i];
		_cleanup_free_ char *name = short_name(g->name);

		for (size_t k = 0; k < g->job_count; k++) {
			const struct explore_job *j = &v->jobs[g->jobs[k]];
			_cleanup_strbuf_ struct strbuf segment = STRBUF_INIT;

			text_add_printable(&segment, j->segment, strlen(j->segment));
			printf("%s %12s %12s %16lld %6s\n", name, segment.buf, j->label,
			       whole(j->value), stars(j->flags));
		}
		putchar('\n');
	}
}

static void print_segments(const struct explore_view *v)
{
	printf("%s by time segment:\n", v->o->query.metric);
	for (size_t i = 0; i < v->e.segment_count; i++) {
		const struct explore_segment *s = &v->e.segments[i];
		_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

		text_add_printable(&name, s->name, strlen(s->name));
		printf("%12s %16lld %6s\n", name.buf, whole(s->sum), stars(s->flags));
	}
}

int epmt_explore(struct context *ctx, const struct epmt *e)
{
	const struct explore_options o = {.query = {.key = "exp_name",
						    .value = e->word_count ? e->words[0] : "",
						    .by = "exp_component",
						    .over = "exp_time",
						    .metric = e->metric ? e->metric : "duration",
						    .sums = true},
					  .limit = e->limit ? e->limit : LIMIT_DEFAULT};
	_cleanup_store_ struct store *s = NULL;
	_cleanup_explore_view_ struct explore_view v = {0};

	if (e->word_count != 1)
		return fail_with(EXIT_USAGE, "explore needs the name of one experiment");
	if (open_store(ctx, STORE_READ, &s) < 0)
		return EXIT_FAILED;
	if (explore_view_load(&v, s, &o) < 0)
		return fail_with(EXIT_FAILED, "%s", store_error(s));
	if (!v.e.job_count)
		return fail_with(EXIT_FAILED,
				 "could not find any jobs with an \"exp_name\" tag matching %s",
				 o.query.value);
	if (!v.known)
		return fail_with(EXIT_FAILED, "no job of %s has the metric '%s'", o.query.value,
				 o.query.metric);
	print_groups(&v);
	print_jobs(&v);
	print_segments(&v);
	return output_error(stdout) < 0 ? EXIT_FAILED : EXIT_OK;
}
