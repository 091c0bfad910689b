/* plimsoll rca: why a job is unlike the others. */
#include <errno.h>
#include <string.h>

#include "cmd/actions.h"
#include "cmd/outlier_options.h"
#include "store/query.h"
#include "views/outliers/root_cause_view.h"

struct rca_options {
	struct outlier_options common;
	struct outlier_words ref;
	const char *where, *model;
	size_t limit;
	int form;
};

struct analysis {
	struct store *s;
	struct root_cause_request q;
	struct json_writer j;
	struct stream_table table;
	int form;
	bool first;
};

static int analyse(struct analysis *a)
{
	_cleanup_causes_ struct root_causes causes = ROOT_CAUSES_INIT;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	int r = root_causes_find(&a->q, a->s, &causes, &why);
	if (r < 0)
		return fail_with(r, "%s", why.buf);
	if (a->first)
		warn_lines(causes.notes.buf, NULL);
	if (a->form == OUTLIER_JSON)
		r = root_causes_json(&a->q, &causes, a->s, &a->j);
	else
		r = root_causes_rows(&a->q, &causes, a->s, &a->table);
	a->first = false;
	return r < 0 ? fail_with(r, "%s", store_error(a->s)) : 0;
}

static int analyse_all(struct analysis *a, const struct request_jobs *jobs)
{
	int r = 0;

	if (a->form == OUTLIER_JSON)
		json_begin_array(&a->j, NULL);
	else
		root_causes_begin(&a->table, a->form == OUTLIER_CSV, stdout);
	for (size_t i = 0; i < jobs->selection.count && r == 0; i++) {
		a->q.job.jobs = &jobs->numbers[i];
		a->q.job.labels = &jobs->labels[i];
		a->q.job.job_count = 1;
		r = analyse(a);
	}
	if (a->form == OUTLIER_JSON) {
		json_end_array(&a->j);
		if (r == 0)
			r = json_write(&a->j, stdout);
		json_release(&a->j);
	} else {
		int e = stream_table_end(&a->table);
		r = r < 0 ? r : e;
	}
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

/* The jobs of the model that are still stored: they tell which executables did how much. */
static int find_model_jobs(struct request_jobs *ref, struct store *s, const struct model *m,
			   struct outlier_request *q)
{
	const struct value *jobs = value_get(m->json, "jobs");
	size_t n = jobs && jobs->kind == VALUE_LIST ? jobs->list.count : 0, found = 0;
	_cleanup_free_ char **words = xcalloc(n + 1, sizeof(*words));

	for (size_t i = 0; i < n; i++) {
		_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;
		int64_t no;

		if (jobs->list.items[i]->kind == VALUE_STR &&
		    job_find_id(s, jobs->list.items[i]->str.data, &no, &ignored) == 0)
			words[found++] = jobs->list.items[i]->str.data;
	}
	return request_jobs_find(ref, s, words, (int)found, NULL, q);
}

static int check(const struct rca_options *o, int argc, const struct value *ops)
{
	if (!argc && !o->where)
		return usage_error("rca", "rca: name a job");
	if (!o->model == !o->ref.count)
		return usage_error("rca", "rca: give either --model or --ref");
	if (ops && ops->list.count > 1)
		return usage_error("rca", "rca: --op can be given once");
	return EXIT_OK;
}

static int run(struct context *ctx, int argc, char **argv)
{
	struct rca_options *o = ctx->options;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *ops = NULL;
	_cleanup_store_ struct store *s = NULL;
	_cleanup_model_ struct model model = {0};
	_cleanup_request_jobs_ struct request_jobs jobs = {0}, ref = {0};
	struct outlier_request reference = {0};
	struct analysis a = {.j = JSON_WRITER_INIT, .form = o->form, .first = true};
	struct outlier_request *q = &a.q.job;

	if (!outlier_options_take(&o->common, q, &ops, "rca"))
		return EXIT_USAGE;
	if (q->detectors)
		return usage_error("rca",
				   "rca: detectors do not say which feature is unusual; use iqr, "
				   "madz or z");
	int r = check(o, argc, ops);
	if (r != EXIT_OK)
		return r;
	if (!q->methods_given)
		for (enum outlier_method m = 0; m < METHOD_COUNT; m++)
			q->rules.use[m] = m == METHOD_MADZ;
	q->all_features = !q->features;
	q->level = ops ? LEVEL_OPERATIONS : LEVEL_JOBS;
	if (open_store(ctx, STORE_READ, &s) < 0)
		return EXIT_FAILED;
	r = request_jobs_find(&jobs, s, argv, argc, o->where, q);
	if (r < 0)
		return job_selection_status(r);
	if (o->model && model_load(&model, s, o->model, &why) < 0)
		return fail_with(EXIT_FAILED, "%s", why.buf);
	if (o->model ? find_model_jobs(&ref, s, &model, &reference)
		     : request_jobs_find(&ref, s, (char *const *)o->ref.word, (int)o->ref.count,
					 NULL, &reference))
		return EXIT_FAILED;
	q->model = o->model ? &model : NULL;
	a.s = s;
	a.q.ref_jobs = ref.numbers;
	a.q.ref_labels = ref.labels;
	a.q.ref_count = ref.selection.count;
	a.q.limit = o->limit;
	a.j.pretty = true;
	return analyse_all(&a, &jobs);
}

static const struct option_row rows[] = {
	ROW_WHERE(struct rca_options),
	{OPT_LIST, 'r', "ref", "JOB,...", "the reference: jobs that are as they should be",
	 LIST(struct rca_options, ref.word, ref.count), .separator = ',', .takes = "jobs"},
	{OPT_TEXT, 0, "model", "NAME", "the reference is this model",
	 AT(struct rca_options, model)},
	ROW_OP(struct rca_options),
	ROW_FEATURES(struct rca_options),
	ROW_METHODS(struct rca_options),
	{OPT_COUNT, 'n', "limit", "N", "print the N highest ratios only",
	 AT(struct rca_options, limit)},
	{OPT_FIXED, 0, "csv", NULL, "print CSV", AT(struct rca_options, form),
	 .number = OUTLIER_CSV},
	{OPT_FIXED, 0, "json", NULL, "print JSON, with the statistics of the reference",
	 AT(struct rca_options, form), .number = OUTLIER_JSON},
	ROWS_STORE,
};

const struct command command_rca = {
	.name = "rca",
	.summary = "find the root causes of a job that is unlike others",
	.operands = {"JOB", 0, ANY_NUMBER, HELP_JOB},
	.description =
		"Compares a job with reference jobs, or with a model, and ranks its metrics by how far "
		"they are from the reference: the score of the job divided by the highest score in the "
		"reference. A ratio above 1 means that no reference job is that far off; inf means that "
		"all reference jobs have the same value. The score is the modified z score (madz) "
		"unless --methods names others, whose ratios are added.\n\n"
		"Beside each metric with a ratio above 1 are the executables that make up the "
		"difference from the reference, and the hosts on which their processes ran, with their "
		"shares. --json also has the number of their processes, when the first one started and "
		"when the last one ended.\n\n"
		"All metrics that the job and the reference have are compared unless --features names "
		"some. A reference needs at least 3 jobs.",
	.examples = "  plimsoll rca 6656-4 --ref 6656-1,6656-2,6656-3\n"
		    "  plimsoll rca 6656-4 --model kernel --limit 5\n"
		    "  plimsoll rca 6656-4 --ref 6656-1,6656-2,6656-3 --op op:build\n",
	OPTIONS(struct rca_options, rows),
	.run = run,
};
