/* See stored_job.h. */
#include "context/stored_job.h"

#include <errno.h>
#include <limits.h>
#include <string.h>

#include "core/text/text.h"
#include "jobs/metadata.h"
#include "jobs/tags.h"
#include "store/import/import.h"
#include "store/ingest/merge_streamed.h"
#include "store/query.h"

#define MOVED_MAX 8 /* how often a store may be replaced during one import */

int try_store(struct context *ctx, enum store_access access, struct store **ret, struct strbuf *why)
{
	const char *url = config_get(&ctx->config, SETTING_DB);
	_cleanup_free_ char *own = *url ? NULL : store_default_path();

	if (!strcmp(ctx->config.origin[SETTING_DB], STORE_REFUSED)) {
		strbuf_addf(why, "no store: %s", url + strlen(STORE_REFUSED "://"));
		return -EINVAL;
	}
	if (!*url && !own) {
		strbuf_addstr(why, "no store: neither --db nor PLIMSOLL_DB nor HOME is set");
		return -ENOENT;
	}
	uint64_t wait_ns = 60000000000u;
	(void)parse_duration_ns(config_get(&ctx->config, SETTING_DB_WAIT), &wait_ns);
	int wait_ms = wait_ns / 1000000 < INT_MAX ? (int)(wait_ns / 1000000) : INT_MAX;
	int r = store_open_within(ret, *url ? url : own, access, wait_ms, why);
	if (r == 0)
		(*ret)->config = &ctx->config;
	return r;
}

int open_store(struct context *ctx, enum store_access access, struct store **ret)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int r = try_store(ctx, access, ret, &why);

	if (r < 0)
		log_error("%s", why.buf);
	return r;
}

/* Opens the store again. */
static int open_moved(struct context *ctx, struct store **s)
{
	bool staged = (*s)->staged;

	log_warn("'%s' was moved, removed or replaced; opening it again", (*s)->where);
	store_close(*s);
	*s = NULL;
	int r = open_store(ctx, STORE_WRITE, s);
	if (r == 0 && staged && (r = store_stage(*s)) < 0)
		log_error("%s", store_error(*s));
	return r;
}

int submit_input(struct context *ctx, struct store **s, const char *path,
		 const struct import_options *how, struct import_result *ret, struct strbuf *why)
{
	int r = import_submit(&ctx->config, *s, path, how, ret, why);

	/* -EEXIST must hold for the current file, too */
	for (int i = 0; i < MOVED_MAX && (r == 0 || r == -EEXIST || r == -EAGAIN); i++) {
		if (!store_moved(*s))
			return r;
		int e = open_moved(ctx, s);

		if (e < 0) {
			strbuf_reset(why);
			strbuf_addstr(why, "the store was moved, removed or replaced");
			return e;
		}
		import_result_release(ret);
		strbuf_reset(why);
		r = import_submit(&ctx->config, *s, path, how, ret, why);
	}
	return r;
}

int64_t find_stored_job(struct store *s, const char *name)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int64_t job;

	if (job_find(s, name, &job, &why) == 0)
		return job;
	log_error("%s", why.buf);
	return -1;
}

char *filter_tag_meant(const struct word_list *tags)
{
	char *meant = NULL;

	for (size_t i = 0; i < tags->count && !meant; i++)
		meant = tags_suggestion(tags->word[i]);
	return meant;
}

void mask_notes(struct value *notes, const char *what)
{
	size_t masked = notes_mask(notes);

	if (masked)
		log_warn("%zu %s%s like a secret and %s stored as " MASKED
			 "; to store a value, add its name to the setting mask_keep",
			 masked, what, masked == 1 ? " looks" : "s look",
			 masked == 1 ? "is" : "are");
}

bool tell_unrecorded(struct store *s, int64_t job)
{
	_cleanup_stmt_ struct stmt *st =
		store_query(s, "SELECT " STORE_RECORDED ", j.processes FROM job j WHERE j.no = $1",
			    db_int(job));

	if (stmt_step(st) != 1 || stmt_get_int(st, 0) > 0)
		return false;
	if (stmt_get_int(st, 1) > 0)
		log_warn("this job was sampled, not recorded, so it has no process rows; use "
			 "`plimsoll run` inside the job to record them");
	else
		log_warn("the job has no records of processes; use `plimsoll run` inside the job "
			 "to record them");
	return true;
}
