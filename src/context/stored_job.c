/* See stored_job.h. */
#include "context/stored_job.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "jobs/metadata.h"
#include "jobs/tags.h"
#include "store/ingest/merge_streamed.h"
#include "store/query.h"

int64_t find_stored_job(struct store *s, const char *name)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int64_t job;

	if (job_find(s, name, &job, &why) == 0)
		return job;
	log_error("%s", why.buf);
	return -1;
}

char *filter_tag_meant(const struct words *tags)
{
	char *meant = NULL;

	for (size_t i = 0; i < tags->count && !meant; i++)
		meant = tags_meant(tags->word[i]);
	return meant;
}

void mask_notes(struct value *notes, const char *what)
{
	size_t masked = notes_mask(notes);

	if (masked)
		log_warn("%zu %s%s like a secret and %s stored as " MASKED
			 "; the setting mask_keep names what is stored all the same",
			 masked, what, masked == 1 ? " looks" : "s look",
			 masked == 1 ? "is" : "are");
}

bool tell_unrecorded(struct store *s, int64_t job)
{
	_cleanup_stmt_ struct stmt *st = stmt_prepare(
		s, "SELECT " STORE_RECORDED ", j.processes FROM job j WHERE j.no = $1");

	if (!st)
		return false;
	stmt_int(st, 1, job);
	if (stmt_step(st) != 1 || stmt_get_int(st, 0) > 0)
		return false;
	if (stmt_get_int(st, 1) > 0)
		log_warn("the job's processes were counted from outside, and there is no record of "
			 "each; `plimsoll run` inside the job makes them");
	else
		log_warn("the job has no records of processes; `plimsoll run` inside the job makes "
			 "them");
	return true;
}
