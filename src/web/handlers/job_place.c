/* Finds jobs; see job_place.h. */
#include "web/handlers/job_place.h"

#include <errno.h>

#include "core/clock.h"
#include "jobs/job_directory.h"
#include "store/ingest/merge_streamed.h"
#include "store/query.h"

void job_place_release(struct job_place *p)
{
	free(p->operand);
}

static int find_stored(const char *name, struct store *s, struct job_place *ret, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf label = STRBUF_INIT;
	int64_t job;

	int r = job_find(s, name, &job, why);
	if (r < 0)
		return r;
	_cleanup_free_ char *id = job_id_of(s, job);
	r = id ? job_label(s, job, id, &label) : -ENOENT;
	if (r < 0)
		return r;
	ret->no = job;
	ret->operand = strbuf_take(&label);
	return store_number_of(
		s,
		"SELECT count(*) FROM job j WHERE j.no = $1 AND j.format = '" STORE_FED
		"' AND j.ingested_us > $2",
		&ret->open, db_int(job), db_int(clock_realtime_us() - STORE_FED_QUIET_US));
}

/* A staged archive is a place, too. */
static bool find_directory(const struct config *config, const struct viewer *who, const char *id,
			   struct job_place *ret)
{
	_cleanup_job_directory_ struct job_directory j = JOB_DIRECTORY_INIT;
	_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;

	ret->operand = job_directory_find(config, id);
	if (ret->operand && !viewer_may_read(who, ret->operand)) {
		free(ret->operand);
		ret->operand = NULL;
	}
	if (!ret->operand)
		return false;
	if (job_directory_open_path(&j, config, ret->operand, NULL, false, &ignored) == 0)
		ret->running = job_directory_running(&j, false, NULL) > 0;
	return true;
}

static bool find(const struct web_request *q, struct store *s, struct job_place *ret,
		 struct web_answer *a, bool anywhere)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const char *name = web_param(q, "job");
	int r = find_stored(name, s, ret, &why);

	/* it ends without a change of the store */
	a->not_kept |= ret->open > 0;
	if (r == -ENOENT && anywhere &&
	    find_directory(web_config(q->server), &q->viewer->who, name, ret)) {
		a->not_kept = true;
		return true;
	}
	if (r < 0 && why.len)
		web_fail(a, r == -ENOENT ? 404 : r == -EEXIST ? 409 : 503, NULL, "%s", why.buf);
	else if (r < 0)
		web_fail_store(a, s, r);
	return r == 0;
}

bool web_find_job(const struct web_request *q, struct store *s, struct job_place *ret,
		  struct web_answer *a)
{
	return find(q, s, ret, a, true);
}

bool web_find_stored_job(const struct web_request *q, struct store *s, struct job_place *ret,
			 struct web_answer *a)
{
	return find(q, s, ret, a, false);
}
