/*
 * Many jobs: first each with its models; those that no model is for with jobs like them, which have
 * the same values of some tags. See job_analysis.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "store/query.h"
#include "views/outliers/job_analysis.h"

#define FEW_NAMED 3 /* groups of too few jobs that are named */

struct grouped_job {
	size_t index;
	char *group; /* "exp_name:a exp_component:b"; NULL: it lacks one of the tags */
};

struct reference {
	int64_t *jobs;
	char **labels;
	size_t count;
};

void analysis_release(struct analysis *a)
{
	for (size_t i = 0; i < a->kept_count; i++)
		value_free(a->kept[i].results);
	analysis_models_release(&a->models);
	strbuf_release(&a->notes);
}

/* ---- storing -------------------------------------------------------------------------------- */

/* Stores what was kept in one transaction, and then tells of it. */
static int flush(struct analysis *a, struct strbuf *why)
{
	int r = a->kept_count ? store_begin(a->store) : 0;

	for (size_t i = 0; i < a->kept_count && r == 0; i++) {
		struct analysis_kept *k = &a->kept[i];
		_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;

		r = analysis_store(a->store, k->job->no, k->results, &reason);
		if (r == -ENOENT) {
			strbuf_addf(&a->notes, "job %s was deleted meanwhile\n", k->job->label);
			a->left++;
			value_free(k->results);
			k->results = NULL;
			r = 0;
		}
	}
	if (a->kept_count)
		r = store_end(a->store, r);
	if (r < 0)
		strbuf_addstr(why, store_error(a->store));
	for (size_t i = 0; i < a->kept_count; i++) {
		struct analysis_kept *k = &a->kept[i];

		if (r == 0 && k->results) {
			a->analysed++;
			a->flagged += analysis_count(k->results) > 0;
			if (a->tell)
				a->tell(a->user, k->job, k->results);
		}
		value_free(k->results);
	}
	a->kept_count = 0;
	return r;
}

/* Takes no results: refers to them. */
static int keep(struct analysis *a, const struct analysis_job *job, struct value *results,
		struct strbuf *why)
{
	a->kept[a->kept_count++] = (struct analysis_kept){job, value_ref(results)};
	return a->kept_count == ARRAY_SIZE(a->kept) ? flush(a, why) : 0;
}

/* ---- jobs that are alike -------------------------------------------------------------------- */

static int by_group(const void *a, const void *b)
{
	const struct grouped_job *x = a, *y = b;
	int order = strcmp(x->group, y->group);

	return order ? order : x->index < y->index ? -1 : x->index > y->index;
}

/* The next key of a list separated by blanks; NULL: the end. */
static char *next_key(const char **keys)
{
	*keys += strspn(*keys, " ,");
	size_t n = strcspn(*keys, " ,");
	char *key = n ? xstrndup(*keys, n) : NULL;

	*keys += n;
	return key;
}

static int name_group(const struct analysis *a, int64_t job, char **ret)
{
	_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;
	_cleanup_value_ struct value *tags = NULL;
	const char *keys = a->keys;
	int r = analysis_tags(a->store, job, &tags);

	*ret = NULL;
	for (char *key; r >= 0 && (key = next_key(&keys)); free(key)) {
		const char *own = value_get_str(tags, key);

		if (!own) {
			free(key);
			return 0;
		}
		strbuf_addf(&name, "%s%s:%s", name.len ? ";" : "", key, own);
	}
	if (r >= 0 && name.len)
		*ret = strbuf_take(&name);
	return r;
}

/* Jobs with the same tags as this one that have been analysed. */
static int require_alike(const struct analysis *a, int64_t job, struct filter *where,
			 struct strbuf *why)
{
	_cleanup_value_ struct value *tags = NULL;
	const char *keys = a->keys;
	int r = analysis_tags(a->store, job, &tags);

	for (char *key; r >= 0 && (key = next_key(&keys)); free(key)) {
		_cleanup_free_ char *name = xasprintf("tag.%s", key);
		const char *value = value_get_str(tags, key);

		r = filter_require(where, name, FILTER_IS, &value, value != NULL, why);
	}
	return r < 0 ? r
		     : filter_require(where, "analysis." ANALYSIS_OUTLIERS, FILTER_KNOWN, NULL, 0,
				      why);
}

static bool is_among(const struct analysis_job *all, const struct grouped_job *jobs, size_t count,
		     int64_t no)
{
	for (size_t i = 0; i < count; i++)
		if (all[jobs[i].index].no == no)
			return true;
	return false;
}

/* Such jobs besides those of the group, the latest first. */
static int find_reference(const struct analysis *a, const struct analysis_job *all,
			  const struct grouped_job *jobs, size_t count, struct reference *ref)
{
	_cleanup_filter_ struct filter *where = filter_new(FILTER_JOBS);
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct job_filter f = {.where = where, .order = "-start", .limit = NO_LIMIT};
	struct job_query jq;
	size_t cap = 0;

	int r = require_alike(a, all[jobs[0].index].no, where, &why);
	if (r < 0)
		return why.len ? store_fail(a->store, -r, "%s", why.buf) : r;
	r = job_query_begin(&jq, a->store, "j.jobid, j.no, j.duration_us, j.cpu_us", &f);
	while (r >= 0 && ref->count < ANALYSIS_JOBS_MAX && (r = job_query_next(&jq)) == 1) {
		if (stmt_is_null(jq.st, 2) || stmt_is_null(jq.st, 3) ||
		    is_among(all, jobs, count, stmt_get_int(jq.st, 1)))
			continue;
		if (ref->count == cap) {
			cap = cap ? 2 * cap : 8;
			ref->jobs = xreallocarray(ref->jobs, cap, sizeof(*ref->jobs));
			ref->labels = xreallocarray(ref->labels, cap, sizeof(*ref->labels));
		}
		ref->labels[ref->count] = xstrdup(stmt_get_str(jq.st, 0));
		ref->jobs[ref->count++] = stmt_get_int(jq.st, 1);
	}
	job_query_end(&jq);
	return r;
}

static void reference_release(struct reference *ref)
{
	for (size_t i = 0; i < ref->count; i++)
		free(ref->labels[i]);
	free(ref->labels);
	free(ref->jobs);
}

/* Compares so many jobs with each other and with the reference, and stores the results of the
 * former. */
static int compare_jobs(struct analysis *a, const struct analysis_job *all,
			const struct grouped_job *jobs, size_t count, const struct reference *ref,
			struct strbuf *why)
{
	_cleanup_outliers_ struct outlier_result res = OUTLIER_RESULT_INIT;
	_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;
	size_t room = ANALYSIS_JOBS_MAX > count ? ANALYSIS_JOBS_MAX - count : 0;
	size_t n = count + (ref->count < room ? ref->count : room);
	_cleanup_free_ int64_t *numbers = xcalloc(n + 1, sizeof(*numbers));
	_cleanup_free_ char **labels = xcalloc(n + 1, sizeof(*labels));
	_cleanup_free_ struct value **results = xcalloc(n + 1, sizeof(*results));
	struct outlier_request q = {
		.level = LEVEL_JOBS, .jobs = numbers, .labels = labels, .job_count = n};

	for (size_t i = 0; i < n; i++) {
		numbers[i] = i < count ? all[jobs[i].index].no : ref->jobs[i - count];
		labels[i] = i < count ? (char *)all[jobs[i].index].label : ref->labels[i - count];
		results[i] = value_new(VALUE_LIST);
	}
	outlier_rules_init(&q.rules);
	int r = outlier_search(&q, a->store, &res, &reason);
	if (r == 0)
		analysis_add_results(&q, &res, n, results);
	else if (r != -EIO && r != -EPIPE)
		strbuf_addf(&a->notes, "%s: %s\n", jobs[0].group, reason.buf);
	else
		strbuf_addstr(why, reason.buf);
	a->left += r < 0 ? count : 0;
	for (size_t i = 0; i < count && r == 0; i++)
		r = keep(a, &all[jobs[i].index], results[i], why);
	for (size_t i = 0; i < n; i++)
		value_free(results[i]);
	return r < 0 && why->len ? r : 0;
}

/* The first groups by name; the others are only counted. */
static void note_few(struct analysis *a, const char *group, size_t count, size_t alike)
{
	if (a->few_groups < FEW_NAMED)
		strbuf_addf(
			&a->notes,
			"%s: no model is for %s, and %zu %s too few to compare: %d are needed\n",
			group, plural(count, "this job", "these jobs"), alike,
			plural(alike, "job is", "jobs are"), OUTLIERS_MIN_ROWS);
	else
		a->few_jobs += count;
	a->few_groups++;
	a->left += count;
}

/* In parts of about the same size. */
static int compare_group(struct analysis *a, const struct analysis_job *all,
			 const struct grouped_job *jobs, size_t count, struct strbuf *why)
{
	_cleanup_(reference_release) struct reference ref = {0};
	size_t parts = (count + ANALYSIS_JOBS_MAX - 1) / ANALYSIS_JOBS_MAX, done = 0;
	int r = find_reference(a, all, jobs, count, &ref);

	if (r < 0)
		return strbuf_fail(why, r, "%s", store_error(a->store));
	if (count + ref.count < OUTLIERS_MIN_ROWS) {
		note_few(a, jobs[0].group, count, count + ref.count);
		return 0;
	}
	for (size_t i = 0; i < parts && r >= 0; i++) {
		size_t n = (count - done) / (parts - i);

		r = compare_jobs(a, all, jobs + done, n, &ref, why);
		done += n;
	}
	return r;
}

/* ---- all of them ---------------------------------------------------------------------------- */

/* A job without these cannot be compared with others, and would keep them from it. */
static int is_complete(struct store *s, int64_t job)
{
	int64_t n = 0;
	int r = store_number_of(s,
				"SELECT count(*) FROM job WHERE no = $1 AND duration_us IS NOT "
				"NULL AND cpu_us IS NOT NULL",
				&n, db_int(job));

	return r < 0 ? r : n == 1;
}

struct groups {
	struct grouped_job *v;
	size_t count, cap;
	size_t untagged, incomplete;
};

/* Compares a job with its models, or puts it into its group. */
static int analyse_one(struct analysis *a, const struct analysis_job *all, size_t i,
		       struct groups *g, struct strbuf *why)
{
	_cleanup_value_ struct value *results = NULL;
	size_t notes = a->notes.len;
	int r = analysis_by_models(a->store, &a->models, all[i].no, all[i].label, &results,
				   &a->notes);

	if (r >= 0 && results->list.count)
		return keep(a, &all[i], results, why);
	/* its model could not be used, and the notes say why */
	if (r >= 0 && a->notes.len > notes) {
		a->left++;
		return 0;
	}
	char *group = NULL;
	if (r >= 0)
		r = name_group(a, all[i].no, &group);
	int complete = r >= 0 ? is_complete(a->store, all[i].no) : 0;
	r = complete < 0 ? complete : r;
	if (r < 0)
		strbuf_addstr(why, store_error(a->store));
	if (r < 0 || !group || !complete) {
		g->untagged += r >= 0 && !group;
		g->incomplete += r >= 0 && group && !complete;
		free(group);
		return r;
	}
	GROW(g->v, g->count, g->cap);
	g->v[g->count++] = (struct grouped_job){i, group};
	return 0;
}

static void note_others(struct analysis *a, const struct groups *g)
{
	if (a->few_jobs)
		strbuf_addf(
			&a->notes,
			"%zu more %s too few jobs, %zu in all; `plimsoll list --by` shows groups "
			"of jobs by tags\n",
			a->few_groups - FEW_NAMED,
			plural(a->few_groups - FEW_NAMED, "group has", "groups have"), a->few_jobs);
	if (g->untagged)
		strbuf_addf(&a->notes,
			    "%zu %s left out: no model is for %s, and %s no tags %s by which to "
			    "find jobs that are alike\n",
			    g->untagged, plural(g->untagged, "job was", "jobs were"),
			    plural(g->untagged, "it", "them"),
			    plural(g->untagged, "it has", "they have"), a->keys);
	if (g->incomplete)
		strbuf_addf(&a->notes, "%zu %s left out: the duration or the CPU time is unknown\n",
			    g->incomplete, plural(g->incomplete, "job was", "jobs were"));
	a->left += g->untagged + g->incomplete;
}

int analyse_jobs(struct analysis *a, const struct analysis_job *jobs, size_t count,
		 struct strbuf *why)
{
	struct groups g = {0};
	int r = analysis_models_load(&a->models, a->store, &a->notes);

	if (r < 0)
		return strbuf_fail(why, r, "%s", store_error(a->store));
	for (size_t i = 0; i < count && r >= 0; i++)
		r = analyse_one(a, jobs, i, &g, why);
	if (r >= 0)
		r = flush(a, why);
	if (g.count)
		qsort(g.v, g.count, sizeof(*g.v), by_group);
	for (size_t i = 0, n; i < g.count && r >= 0; i += n) {
		for (n = 1; i + n < g.count && !strcmp(g.v[i].group, g.v[i + n].group);)
			n++;
		r = compare_group(a, jobs, g.v + i, n, why);
	}
	if (r >= 0)
		r = flush(a, why);
	note_others(a, &g);
	for (size_t i = 0; i < g.count; i++)
		free(g.v[i].group);
	free(g.v);
	return r < 0 ? r : 0;
}
