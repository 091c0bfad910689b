/* plimsoll ops: the operations of jobs, which are images with the same tags. */
#include <errno.h>
#include <string.h>

#include "cmd/actions.h"
#include "context/job_selection.h"
#include "core/value.h"
#include "views/operations/operation_list.h"

struct ops_options {
	struct word_list tags;
	const char *where, *by, *metric;
	enum operation_duration how;
	bool how_given, cost, roots, total;
	uint64_t limit;
	enum proc_form form;
};

/* Parses the tags of options or of the setting into q->tags, a list of dicts. */
static bool add_tags(struct value *list, const char *text)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct value *tags = operation_tags(text, &why);

	if (tags)
		value_append(list, tags);
	else
		log_error("invalid tag '%s': %s", text, why.buf);
	return tags != NULL;
}

static bool read_tags(const struct context *ctx, const struct ops_options *o, struct value *list)
{
	bool valid = true;

	for (size_t i = 0; i < o->tags.count && valid; i++)
		valid = add_tags(list, o->tags.word[i]);
	if (!o->cost || o->tags.count)
		return valid;
	const char *p = config_get(&ctx->config, SETTING_DATA_MOVEMENT);
	for (p += strspn(p, " "); *p && valid; p += strspn(p, " ")) {
		_cleanup_free_ char *word = xstrndup(p, strcspn(p, " "));

		valid = add_tags(list, word);
		p += strlen(word);
	}
	return valid;
}

/* Other operations are listed by the key of the data movement, if that has only one. */
static const char *key_of(const struct value *tags)
{
	const char *key = NULL;

	for (size_t i = 0; i < tags->list.count; i++) {
		const struct value *k = value_key(tags->list.items[i], 0);

		if (value_pairs(tags->list.items[i]) != 1 || (key && strcmp(key, k->str.data) != 0))
			return NULL;
		key = k->str.data;
	}
	return key;
}

static int load(struct operation_list *l, struct store *s, const struct job_selection *jobs,
		const struct operation_query *q)
{
	int r = 0;

	for (size_t i = 0; i < jobs->count && r == 0; i++) {
		GROW(l->jobs, l->count, l->cap);
		r = job_operations_load(&l->jobs[l->count++], s, jobs->v[i].no, jobs->v[i].label,
					q);
	}
	return r;
}

static int print(struct store *s, struct operation_list *l, const struct ops_options *o,
		 const struct operation_output *out)
{
	_cleanup_free_ int64_t *totals = xcalloc(l->count + 1, sizeof(*totals));
	const struct operation_cost c = {o->tags.count ? "selected" : "data movement", totals};
	int r = 0;

	if (o->roots)
		return operation_roots_print(l, out);
	if (!o->cost)
		return operation_list_print(l, out);
	for (size_t i = 0; i < l->count && r == 0; i++)
		r = operation_job_total(s, l->jobs[i].job, out, &totals[i]);
	return r < 0 ? r : operation_cost_print(l, &c, out);
}

/* Reports why there is nothing to list. */
static void report_none(struct store *s, const struct operation_list *l,
			const struct ops_options *o)
{
	_cleanup_free_ char *meant = filter_tag_meant(&o->tags);
	uint64_t images = 0;

	for (size_t i = 0; i < l->count; i++)
		images += l->jobs[i].images;
	if (!images && l->count == 1 && tell_unrecorded(s, l->jobs[0].job))
		return;
	if (!l->count)
		log_warn("no job in '%s' matches the filter", s->where);
	else if (meant)
		log_warn("no process has the tag; a tag is KEY:VALUE: --tag '%s'", meant);
	else if (o->tags.count || o->by)
		log_warn("no process of %s has such tags; `plimsoll tags JOB` lists those in use",
			 l->count == 1 ? "the job" : "these jobs");
	else
		log_warn("no process of %s has tags, and nothing marked phases; set tags with "
			 "PLIMSOLL_TAGS in the job script, or mark phases with `plimsoll mark`",
			 l->count == 1 ? "the job" : "these jobs");
}

static int run(struct context *ctx, int argc, char **argv)
{
	static char *const last[] = {(char *)"last"};
	const struct ops_options *o = ctx->options;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *tags = value_new(VALUE_LIST);
	_cleanup_store_ struct store *s = NULL;
	_cleanup_job_selection_ struct job_selection jobs = {0};
	_cleanup_(operation_list_release) struct operation_list l = {0};
	bool any = argc || o->where;
	struct operation_output out = {.metric_name = o->metric ? o->metric : "cpu_time",
				       .how = o->cost && !o->how_given ? OPERATION_UNION : o->how,
				       .total = o->total,
				       .limit = o->limit,
				       .form = o->form,
				       .f = stdout};

	if (o->cost + o->roots + o->total > 1)
		return usage_error("ops", "--cost, --roots and --total cannot be combined");
	if (!read_tags(ctx, o, tags))
		return EXIT_USAGE;
	if (o->cost && !tags->list.count)
		return usage_error("ops",
				   "--cost needs tags: use --tag, or the setting data_movement");
	if (!operation_metric_find(out.metric_name, &out.metric))
		return usage_error(
			"ops",
			"unknown metric '%s'; use cpu_time, duration, processes, images, runs "
			"or a number of `plimsoll metrics` that adds up",
			out.metric_name);
	if (open_store(ctx, STORE_READ, &s) < 0)
		return EXIT_FAILED;
	int r = job_selection_find(&jobs, s, any ? argv : last, any ? (size_t)argc : 1, o->where,
				   &why);
	if (r < 0)
		return fail_with(job_selection_status(r), "%s", why.buf);
	bool rest = o->cost && !o->tags.count && !o->by;
	const struct operation_query q = {.tags = tags,
					  .by = rest ? key_of(tags) : o->by,
					  .rest = rest && key_of(tags),
					  .whole = o->form != PROC_TABLE && !o->cost && !o->roots,
					  .metric = out.metric,
					  .events = o->form == PROC_JSON && !o->cost && !o->roots,
					  .roots = o->roots};
	r = load(&l, s, &jobs, &q);
	if (r == 0)
		r = print(s, &l, o, &out);
	if (r == 0 && o->form == PROC_TABLE)
		report_none(s, &l, o);
	return report_store_error(s, r);
}

static const struct option_row rows[] = {
	ROW_WHERE(struct ops_options),
	{OPT_LIST, 't', "tag", "KEY[:VALUE][;...]",
	 "only the operation of images that have these tags, or any value of KEY; repeat for several "
	 "operations",
	 LIST(struct ops_options, tags.word, tags.count)},
	{OPT_TEXT, 'b', "by", "KEY", "one operation per value of this key, not per set of tags",
	 AT(struct ops_options, by)},
	{OPT_CHOICE, 'd', "duration", "METHOD",
	 "sum of the durations of images, time in which at least one of them ran (union; the default "
	 "of --cost), or time from the first start to the last end",
	 AT(struct ops_options, how), GIVEN(struct ops_options, how_given),
	 WORDS({"sum", OPERATION_SUM}, {"union", OPERATION_UNION}, {"span", OPERATION_SPAN})},
	{OPT_FLAG, 'c', "cost", NULL,
	 "share of each operation in the job; those that move data (setting data_movement, or --tag) "
	 "first, with their sum",
	 AT(struct ops_options, cost)},
	{OPT_TEXT, 'm', "metric", "METRIC",
	 "sort by this, or with --cost the share in it: cpu_time (default), duration, processes, "
	 "images, runs, or a metric that adds up",
	 AT(struct ops_options, metric)},
	{OPT_FLAG, 0, "roots", NULL, "list the images whose parent is not in the same operation",
	 AT(struct ops_options, roots)},
	{OPT_FLAG, 0, "total", NULL, "one row per operation over all jobs",
	 AT(struct ops_options, total)},
	{OPT_COUNT, 'n', "limit", "N", "at most N rows", AT(struct ops_options, limit)},
	ROWS_FORM(struct ops_options),
	ROWS_STORE,
};

static const struct ops_options defaults = {.limit = NO_LIMIT};

const struct command command_ops = {
	.name = "ops",
	.summary = "show the operations of jobs: processes grouped by their tags, and phases",
	.operands = {"JOB", 0, ANY_NUMBER, HELP_LAST_JOB},
	.description =
		"An operation is the set of images of a job that have the same tags. Lists the number "
		"of processes and threads of each, CPU time, duration, bytes read and written, the "
		"maximum resident set size, and in how many runs it ran; a run is a time in which at "
		"least one of its images ran. Images without tags are left out.\n\n"
		"Phases that scripts and programs marked (plimsoll-phases(1)) are operations, too, "
		"named phase:NAME, with the times of the phase, and the images that a script started "
		"in it; --by phase and --tag phase:NAME select them.\n\n"
		"JSON and CSV have the sums of all metrics that add up, the maximum of rssmax, and "
		"rssmax_sum, which is summed over all threads. JSON also has the intervals of the "
		"runs, in microseconds since 1970, and the sums of counted events.\n\n"
		"Images without an end or a start count, but have no duration. With several jobs, "
		"--total adds the durations of an operation in each job.\n\n"
		"With --cost, percent of a job is rounded to whole numbers, and that of an operation "
		"and of all jobs to three decimals.",
	.examples = "  plimsoll ops 685000 --duration union -n 10\n"
		    "  plimsoll ops 685000 685016 --by op --total\n"
		    "  plimsoll ops 685000 --cost --metric duration\n"
		    "  plimsoll ops last --by phase\n"
		    "  plimsoll ops last --tag op:dmput --roots\n",
	OPTIONS(defaults, rows),
	.defaults = &defaults,
	.run = run,
};
