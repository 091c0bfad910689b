/*
 * New jobs are compared with the enabled models, one at a time and only while no input waits. With
 * each scan those that others stored are found, and at the start those of the last day: what a
 * daemon did not analyse before its end, the next one does.
 */
#include <errno.h>

#include "core/clock.h"
#include "core/log.h"
#include "inbox/inbox.h"
#include "store/ingest/merge_streamed.h"
#include "store/query.h"
#include "views/outliers/job_analysis.h"

#define PENDING_MAX 100000
/* Jobs that others begin to store get a number before they can be seen. */
#define SLOW_JOBS 100
#define LOOK_BACK_US (INT64_C(24) * 3600 * 1000000)

void inbox_analyse_later(struct inbox *in, int64_t job)
{
	if (!in->o.analyse || !job || in->fresh_count - in->fresh_next >= PENDING_MAX)
		return;
	if (in->fresh_next == in->fresh_count)
		in->fresh_next = in->fresh_count = 0;
	GROW(in->fresh, in->fresh_count, in->fresh_cap);
	in->fresh[in->fresh_count++] = job;
}

/* Jobs that came since the last time. Those that are streamed may not be complete. */
static int find_others(struct inbox *in, struct store *s)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		s,
		"SELECT j.no FROM job j WHERE j.no > $1 AND j.ingested_us >= $2 AND "
		"j.format <> '" STORE_FED "' AND NOT EXISTS (SELECT 1 FROM job_analysis "
		"a WHERE a.job = j.no AND a.key = $3) ORDER BY j.no",
		db_int(in->last_job), db_int(clock_realtime_us() - LOOK_BACK_US),
		db_str(ANALYSIS_OUTLIERS));
	int r;

	while ((r = stmt_step(st)) == 1)
		inbox_analyse_later(in, stmt_get_int(st, 0));
	if (r == 0)
		r = store_number(s, "SELECT coalesce(max(no), 0) FROM job", &in->last_job);
	in->last_job -= SLOW_JOBS;
	return r;
}

/* Each note once: a model that cannot be read would be reported with every job. */
static void tell_notes(struct inbox *in, const struct strbuf *notes)
{
	for (const char *p = notes->buf; *p;) {
		size_t n = strcspn(p, "\n");
		_cleanup_free_ char *line = xstrndup(p, n);

		if (!value_get(in->noted, line) && value_pairs(in->noted) < 1000) {
			value_set(in->noted, line, value_bool(true));
			log_warn("%s", line);
		}
		p += n + (p[n] == '\n');
	}
}

static void tell_results(struct inbox *in, int64_t job, const char *label,
			 const struct value *results)
{
	for (size_t i = 0; i < results->list.count; i++) {
		const struct value *result = results->list.items[i];
		_cleanup_strbuf_ struct strbuf features = STRBUF_INIT;

		if (value_get_int(result, "count") == 0)
			continue;
		analysis_features(result, &features);
		log_warn("job %s is an outlier by model '%s': %s", label,
			 value_get_str(result, "model"), features.buf);
		inbox_tell_outlier(in, job, label, result);
	}
}

static int analyse(struct inbox *in, struct store *s, int64_t job, const char *jobid,
		   struct strbuf *why)
{
	_cleanup_models_ struct analysis_models models = {0};
	_cleanup_strbuf_ struct strbuf notes = STRBUF_INIT, label = STRBUF_INIT;
	_cleanup_value_ struct value *results = NULL;
	int r = job_label(s, job, jobid, &label);

	if (r >= 0)
		r = analysis_models_load(&models, s, &notes);
	if (r >= 0)
		r = analysis_by_models(s, &models, job, label.buf, &results, &notes);
	if (r >= 0 && results->list.count)
		r = analysis_store_first(s, job, results, why);
	else if (r < 0)
		strbuf_addstr(why, store_error(s));
	if (r == -ENOENT) { /* deleted meanwhile */
		log_debug("job %s was deleted before it was analysed", label.buf);
		return 0;
	}
	if (r == -EEXIST) { /* another daemon was faster, and tells its hook */
		log_debug("job %s was analysed by somebody else", label.buf);
		return 0;
	}
	tell_notes(in, &notes);
	if (r == 0 && results->list.count)
		tell_results(in, job, label.buf, results);
	return r;
}

/* Is there anything to compare with? -ENOENT: the job is gone. */
static int find_job(struct store *s, int64_t job, char **ret_jobid)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		s,
		"SELECT jobid FROM job WHERE no = $1 AND EXISTS (SELECT 1 FROM model "
		"WHERE enabled <> 0) AND NOT EXISTS (SELECT 1 FROM job_analysis a WHERE "
		"a.job = $1 AND a.key = $2)",
		db_int(job), db_str(ANALYSIS_OUTLIERS));
	int r = stmt_step(st);

	if (r == 1)
		*ret_jobid = stmt_get_copy(st, 0);
	return r < 0 ? r : r == 1 ? 0 : -ENOENT;
}

bool inbox_analyse(struct inbox *in)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *jobid = NULL;
	bool any = in->o.analyse && (in->fresh_next < in->fresh_count || in->look_for_jobs);
	struct store *s = any ? inbox_store(in) : NULL;
	int r = 0;

	if (!s)
		return false;
	if (!in->noted)
		in->noted = value_new(VALUE_DICT);
	if (in->look_for_jobs) {
		r = find_others(in, s);
		in->look_for_jobs = r < 0;
	} else {
		int64_t job = in->fresh[in->fresh_next];

		r = find_job(s, job, &jobid);
		if (r == 0)
			r = analyse(in, s, job, jobid, &why);
		r = r == -ENOENT ? 0 : r;
		in->fresh_next++;
		/* the store is at fault, or the job: it has one more chance */
		if (r < 0 && job != in->unlucky) {
			in->unlucky = job;
			in->fresh_next--;
		}
	}
	if (in->fresh_next == in->fresh_count && !inbox_waiting(in))
		(void)store_settle(s, 0);
	if (r < 0)
		inbox_store_failed(in, why.len ? why.buf : store_error(s));
	return r >= 0;
}
