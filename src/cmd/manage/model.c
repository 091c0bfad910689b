/* plimsoll model: reference models, with which jobs are compared. */
#include <errno.h>
#include <string.h>

#include "analysis/outliers/model.h"
#include "cmd/actions.h"
#include "cmd/outlier_options.h"
#include "core/clock.h"
#include "core/text/times.h"
#include "core/text/text.h"
#include "jobs/tags.h"
#include "store/query.h"
#include "views/listing.h"
#include "views/outliers/model_build.h"

struct model_options {
	struct outlier_options common;
	const char *where;
	struct outlier_words tags;
	bool ops, dry;
	int64_t older_than; /* us; 0: not given */
	int form;
};

static int report(struct store *s, int r, const struct strbuf *why, const char *name)
{
	if (r == 0)
		return EXIT_OK;
	if (why->len)
		log_error("%s", why->buf);
	else if (r == -ENOENT)
		log_error("no model is named '%s'; `plimsoll model list` shows them", name);
	else if (r == -EEXIST)
		log_error(
			"there is already a model '%s'; delete it, or train it again with `plimsoll "
			"model train %s`",
			name, name);
	else
		log_error("%s", store_error(s));
	return EXIT_FAILED;
}

/* ---- create --------------------------------------------------------------------------------- */

/* All tags of --tag; NULL after reporting an invalid one. */
static struct value *take_tags(const struct model_options *o)
{
	struct value *tags = value_new(VALUE_DICT);

	for (size_t i = 0; i < o->tags.count; i++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		_cleanup_value_ struct value *one = tags_parse_all(o->tags.word[i], &why);

		for (size_t k = 0; k < value_pairs(one); k++)
			value_set(tags, value_key(one, k)->str.data, value_ref(value_at(one, k)));
		if (!one) {
			usage_error("model", "--tag: %s", why.buf);
			value_free(tags);
			return NULL;
		}
	}
	return tags;
}

struct words {
	char **v;
	size_t count, cap;
};

static void words_release(struct words *w)
{
	for (size_t i = 0; i < w->count; i++)
		free(w->v[i]);
	free(w->v);
}

static void words_add(struct words *w, const char *word)
{
	GROW(w->v, w->count, w->cap);
	w->v[w->count++] = xstrdup(word);
}

/* Labels of all jobs that have the tags. */
static int words_of_tags(struct words *w, struct store *s, const struct value *tags)
{
	_cleanup_filter_ struct filter *where = filter_new(FILTER_JOBS);
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct job_filter f = {.where = where, .limit = NO_LIMIT};
	struct job_query jq;

	for (size_t i = 0; i < value_pairs(tags); i++) {
		_cleanup_free_ char *key = xasprintf("tag.%s", value_key(tags, i)->str.data);
		const char *value = value_at(tags, i)->str.data;

		if (filter_require(where, key, FILTER_IS, &value, 1, &why) < 0)
			return fail_with(-EINVAL, "%s", why.buf);
	}
	int r = job_query_begin(&jq, s, "j.jobid, j.no", &f);
	while (r >= 0 && (r = job_query_next(&jq)) == 1) {
		_cleanup_strbuf_ struct strbuf label = STRBUF_INIT;

		r = job_label(s, stmt_get_int(jq.st, 1), stmt_get_str(jq.st, 0), &label);
		if (r >= 0)
			words_add(w, label.buf);
	}
	job_query_end(&jq);
	return r < 0 ? fail_with(r, "%s", store_error(s)) : 0;
}

static int store_model(struct store *s, const struct outlier_request *q, const char *name,
		       const struct value *tags, const struct model *before)
{
	_cleanup_strbuf_ struct strbuf notes = STRBUF_INIT, why = STRBUF_INIT;
	_cleanup_value_ struct value *json = NULL;

	int r = model_build(q, s, name, tags, before, &json, &notes, &why);
	if (r == 0)
		r = model_write(s, name, json, before != NULL);
	if (r == 0)
		warn_lines(notes.buf, NULL);
	return report(s, r, &why, name);
}

static int do_create(struct context *ctx, struct store *s, int argc, char **argv)
{
	struct model_options *o = ctx->options;
	_cleanup_value_ struct value *ops = NULL, *tags = take_tags(o);
	_cleanup_request_jobs_ struct request_jobs jobs = {0};
	_cleanup_(words_release) struct words words = {0};
	struct outlier_request q = {0};

	if (!tags || !outlier_options_take(&o->common, &q, &ops, "model"))
		return EXIT_USAGE;
	for (int i = 1; i < argc; i++)
		words_add(&words, argv[i]);
	if (!words.count && !o->where && !value_pairs(tags))
		return usage_error("model",
				   "model create: name the jobs to make it from, or select "
				   "them with --tag or --where");
	if (!words.count && !o->where && words_of_tags(&words, s, tags) < 0)
		return EXIT_FAILED;
	int r = request_jobs_find(&jobs, s, words.v, (int)words.count, o->where, &q);
	if (r < 0)
		return job_selection_status(r);
	q.level = o->ops || ops ? LEVEL_OPERATIONS : LEVEL_JOBS;
	return store_model(s, &q, argv[0], tags, NULL);
}

/* ---- train ---------------------------------------------------------------------------------- */

/* The jobs of the model that are still stored. */
static void words_of_model(struct words *w, struct store *s, const struct model *m)
{
	const struct value *jobs = value_get(m->json, "jobs");

	for (size_t i = 0; jobs && jobs->kind == VALUE_LIST && i < jobs->list.count; i++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		const struct value *job = jobs->list.items[i];
		int64_t no;

		if (job->kind != VALUE_STR)
			continue;
		int r = job_find_id(s, job->str.data, &no, &why);
		if (r == 0 || r == -EEXIST)
			words_add(w, job->str.data);
		else
			log_warn("job %s of model '%s' is no longer stored and is left out",
				 job->str.data, m->name);
	}
}

/* What it was made with, unless options say otherwise. */
static void request_of_model(struct outlier_request *q, const struct model *m,
			     const struct value *features, const char **names)
{
	if (!q->features && !q->all_features) {
		for (size_t i = 0; i < features->list.count; i++)
			names[i] = features->list.items[i]->str.data;
		q->features = names;
		q->feature_count = features->list.count;
	}
	for (enum outlier_method k = 0; k < METHOD_COUNT && !q->methods_given; k++)
		q->rules.use[k] = model_has_method(m->json, k);
	for (enum detector k = 0; k < DETECTOR_COUNT && !q->methods_given; k++)
		q->detectors |= model_has_detector(m->json, k) ? 1u << k : 0;
	if (model_of_operations(m->json)) {
		q->level = LEVEL_OPERATIONS;
		q->op_tags = q->op_tags ? q->op_tags : value_get(m->json, "op_tags");
	}
}

static int do_train(struct context *ctx, struct store *s, int argc, char **argv)
{
	struct model_options *o = ctx->options;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *ops = NULL, *features = NULL;
	_cleanup_model_ struct model m = {0};
	_cleanup_request_jobs_ struct request_jobs jobs = {0};
	_cleanup_(words_release) struct words words = {0};
	struct outlier_request q = {0};

	if (!outlier_options_take(&o->common, &q, &ops, "model"))
		return EXIT_USAGE;
	int r = model_load(&m, s, argv[0], &why);
	if (r < 0)
		return report(s, r, &why, argv[0]);
	words_of_model(&words, s, &m);
	for (int i = 1; i < argc; i++)
		words_add(&words, argv[i]);
	r = request_jobs_find(&jobs, s, words.v, (int)words.count, o->where, &q);
	if (r < 0)
		return job_selection_status(r);
	features = model_all_features(m.json);
	_cleanup_free_ const char **names = xcalloc(features->list.count + 1, sizeof(*names));
	request_of_model(&q, &m, features, names);
	if (!outlier_rules_count(&q.rules) && !q.detectors)
		outlier_rules_init(&q.rules);
	return store_model(s, &q, argv[0], NULL, &m);
}

/* ---- the others ----------------------------------------------------------------------------- */

static int do_list(struct context *ctx, struct store *s, int argc PL_UNUSED, char **argv PL_UNUSED)
{
	const struct model_options *o = ctx->options;
	int r = model_print_list(s, (enum outlier_form)o->form, stdout);

	if (r == 0 && o->form == OUTLIER_TABLE)
		log_warn("there are no models in '%s'; create one with `plimsoll model create`",
			 s->where);
	return report_store_error(s, r);
}

static int do_show(struct context *ctx, struct store *s, int argc PL_UNUSED, char **argv)
{
	const struct model_options *o = ctx->options;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_model_ struct model m = {0};

	int r = model_load(&m, s, argv[0], &why);
	if (r < 0)
		return report(s, r, &why, argv[0]);
	return report_store_error(s, model_print(&m, (enum outlier_form)o->form, stdout));
}

static int do_enable(struct context *ctx PL_UNUSED, struct store *s, int argc PL_UNUSED,
		     char **argv)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	return report(s, model_set_enabled(s, argv[0], true, &why), &why, argv[0]);
}

static int do_disable(struct context *ctx PL_UNUSED, struct store *s, int argc PL_UNUSED,
		      char **argv)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	return report(s, model_set_enabled(s, argv[0], false, &why), &why, argv[0]);
}

static int do_delete_model(struct context *ctx PL_UNUSED, struct store *s, int argc PL_UNUSED,
			   char **argv)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	return report(s, model_delete(s, argv[0]), &why, argv[0]);
}

/* ---- features ------------------------------------------------------------------------------- */

/* Checks the features that are to be active; `all`: an empty list. */
static int check_active(const struct model *m, const struct outlier_words *words,
			struct value *active, struct strbuf *why)
{
	_cleanup_value_ struct value *all = model_all_features(m->json);

	for (size_t i = 0; i < words->count; i++) {
		if (!strcmp(words->word[i], "all"))
			return 0;
		if (model_uses(all, words->word[i]))
			continue;
		strbuf_addf(why, "model '%s' does not have the feature '%s'; it has", m->name,
			    words->word[i]);
		for (size_t k = 0; k < all->list.count; k++)
			strbuf_addf(why, "%s %s", k ? "," : "", all->list.items[k]->str.data);
		return -EINVAL;
	}
	for (enum detector k = 0; k < DETECTOR_COUNT; k++)
		if (model_has_detector(m->json, k))
			return strbuf_fail(why, -EINVAL,
					   "model '%s' was made with %s, which looks at all of its "
					   "features together; create a model with fewer features",
					   m->name, detectors[k].name);
	for (size_t i = 0; i < words->count; i++)
		if (!model_uses(active, words->word[i]))
			value_append(active, value_str(words->word[i]));
	return 0;
}

static int set_active(struct store *s, const char *name, const struct outlier_words *words,
		      struct strbuf *why)
{
	_cleanup_model_ struct model m = {0};
	struct value *active = value_new(VALUE_LIST);
	int r = store_begin(s);

	if (r == 0)
		r = model_load(&m, s, name, why);
	if (r == 0)
		r = check_active(&m, words, active, why);
	if (r == 0) {
		struct value *info = value_get(m.json, "info_dict");

		if (!info || info->kind != VALUE_DICT)
			value_set(m.json, "info_dict", value_new(VALUE_DICT));
		value_set(value_get(m.json, "info_dict"), "active_metrics", value_ref(active));
		r = model_write(s, name, m.json, true);
	}
	value_free(active);
	return store_end(s, r);
}

static int do_features(struct context *ctx, struct store *s, int argc PL_UNUSED, char **argv)
{
	const struct model_options *o = ctx->options;
	const struct outlier_words *words = &o->common.features;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_model_ struct model m = {0};
	int r = 0;

	if (words->count)
		return report(s, set_active(s, argv[0], words, &why), &why, argv[0]);
	r = model_load(&m, s, argv[0], &why);
	if (r < 0)
		return report(s, r, &why, argv[0]);
	return report_store_error(s, model_print_features(&m, (enum outlier_form)o->form, stdout));
}

/* ---- retire --------------------------------------------------------------------------------- */

static void list_retired(void *user, const char *name, int64_t created_us)
{
	struct listing *l = user;
	_cleanup_strbuf_ struct strbuf created = STRBUF_INIT;

	text_add_local_time(&created, created_us);
	listing_row(l, 0);
	listing_str(l, 0, name);
	listing_str(l, 1, created.buf);
}

static int do_retire_models(struct context *ctx, struct store *s, int argc PL_UNUSED,
			    char **argv PL_UNUSED)
{
	static const struct listing_column columns[] = {{"name", "MODEL", 0},
							{"created", "CREATED", 0}};
	const struct model_options *o = ctx->options;
	struct listing l;

	if (!o->older_than)
		return usage_error("model", "model retire: give an age with --older-than");
	listing_begin(&l, columns, ARRAY_SIZE(columns), o->form == OUTLIER_JSON);
	int n = models_retire(s, clock_realtime_us() - o->older_than, o->dry, list_retired, &l);
	int r = n < 0 ? n : listing_end(&l);
	if (n == 0 && o->form == OUTLIER_TABLE)
		log_warn("no model in '%s' is that old", s->where);
	return report_store_error(s, r);
}

static const struct {
	const char *name;
	int min, max; /* arguments behind the action */
	enum store_access access;
	int (*run)(struct context *ctx, struct store *s, int argc, char **argv);
} actions[] = {
	{"create", 1, ANY_NUMBER, STORE_WRITE, do_create},
	{"list", 0, 0, STORE_READ, do_list},
	{"show", 1, 1, STORE_READ, do_show},
	{"enable", 1, 1, STORE_WRITE, do_enable},
	{"disable", 1, 1, STORE_WRITE, do_disable},
	{"delete", 1, 1, STORE_WRITE, do_delete_model},
	{"train", 1, ANY_NUMBER, STORE_WRITE, do_train},
	{"features", 1, 1, STORE_WRITE, do_features},
	{"retire", 0, 0, STORE_WRITE, do_retire_models},
};

#define NAME_MAX_BYTES 255

/* The engines and JSON take no other texts. */
static bool is_name(const char *name)
{
	return strlen(name) <= NAME_MAX_BYTES && utf8_valid(name, strlen(name));
}

static int run(struct context *ctx, int argc, char **argv)
{
	const struct model_options *o = ctx->options;

	for (size_t i = 0; i < ARRAY_SIZE(actions); i++) {
		_cleanup_store_ struct store *s = NULL;

		if (strcmp(actions[i].name, argv[0]) != 0)
			continue;
		if (argc - 1 < actions[i].min || !*(argc > 1 ? argv[1] : "-"))
			return usage_error("model", "model %s: name a model", argv[0]);
		if (actions[i].run == do_create && !is_name(argv[1]))
			return usage_error("model",
					   "model create: a name is valid UTF-8 of at most %d "
					   "bytes",
					   NAME_MAX_BYTES);
		if (argc - 1 > actions[i].max)
			return usage_error("model", "model %s takes %s", argv[0],
					   actions[i].max ? "one model" : "no argument");
		/* to look at something is enough */
		enum store_access access = actions[i].access;
		if (actions[i].run == do_features && !o->common.features.count)
			access = STORE_READ;
		if (open_store(ctx, access, &s) < 0)
			return EXIT_FAILED;
		return actions[i].run(ctx, s, argc - 1, argv + 1);
	}
	return usage_error("model", "model: unknown action '%s'", argv[0]);
}

static const struct option_row rows[] = {
	ROW_WHERE(struct model_options),
	{OPT_LIST, 't', "tag", "KEY:VALUE",
	 "create: the model is for jobs with this tag, and made from all of them unless jobs are "
	 "named; repeat to require several",
	 LIST(struct model_options, tags.word, tags.count)},
	ROW_FEATURES(struct model_options),
	ROW_METHODS(struct model_options),
	{OPT_FLAG, 0, "ops", NULL, "create: a model of operations, the processes by their tags",
	 AT(struct model_options, ops)},
	ROW_OP(struct model_options),
	{OPT_DURATION, 0, "older-than", "AGE",
	 "retire: models that were created longer ago, such as 90d",
	 AT(struct model_options, older_than), .unit_ns = 1000},
	{OPT_FLAG, 'n', "dry-run", NULL, "retire: print which models would be deleted",
	 AT(struct model_options, dry)},
	{OPT_FIXED, 0, "csv", NULL, "print CSV", AT(struct model_options, form),
	 .number = OUTLIER_CSV},
	{OPT_FIXED, 0, "json", NULL, "print JSON", AT(struct model_options, form),
	 .number = OUTLIER_JSON},
	ROWS_STORE,
};

const struct command command_model = {
	.name = "model",
	.summary = "manage reference models, with which jobs are compared",
	.operands = {"ACTION", 1, ANY_NUMBER,
		     .usage = "create NAME [JOB...]|list|show NAME|enable NAME|disable NAME|delete "
			      "NAME|train NAME [JOB...]|features NAME|retire",
		     .hint = "actions are create, list, show, enable, disable, delete, train, "
			     "features and retire"},
	.description =
		"A reference model holds what is normal: for each feature and method of `plimsoll "
		"outliers` the highest score of the jobs that it was made from, and the parameters of "
		"the method. A job whose score is higher is an outlier.\n\n"
		"create makes a model from at least 3 jobs, by the same features as `plimsoll outliers` "
		"unless --features names others. train makes it again, from its jobs that are still "
		"stored and from those that are named in addition. `plimsoll analyze` and the daemon use "
		"the models with a --tag, others are for `outliers --model` and `rca --model`. disable "
		"keeps a model from being used. Deleting jobs does not change a model. Models that `plimsoll db import` copied are "
		"used like others.\n\n"
		"features lists the features of a model; with --features, only those are used from then "
		"on, until `--features all`. retire deletes the models that were created longer ago than "
		"--older-than.\n\n" HELP_JOB,
	.examples = "  plimsoll model create kernel 6656-1 6656-2 6656-3\n"
		    "  plimsoll model create kernel_ops --ops --tag exp_name:linux_kernel\n"
		    "  plimsoll model train kernel 6656-5\n"
		    "  plimsoll model features kernel --features duration,cpu_time\n"
		    "  plimsoll model retire --older-than 400d --dry-run\n"
		    "  plimsoll outliers --model kernel 6656-4\n",
	OPTIONS(struct model_options, rows),
	.run = run,
};
