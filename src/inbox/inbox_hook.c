/* What the hook is told of inputs; docs/store.md describes the events. */
#include "core/text/text.h"
#include "inbox/hook.h"
#include "inbox/inbox.h"
#include "store/import/import.h"

/* Texts come from users: JSON takes only valid UTF-8. */
static void put_text(struct value *to, const char *key, const char *text)
{
	_cleanup_strbuf_ struct strbuf clean = STRBUF_INIT;

	if (!text)
		return;
	text_add_printable(&clean, text, strlen(text));
	value_set(to, key, value_strn(clean.buf, clean.len));
}

static void put_number(struct value *to, const char *key, struct stmt *st, int column)
{
	value_set(to, key,
		  stmt_is_null(st, column) ? value_new(VALUE_NONE)
					   : value_int(stmt_get_int(st, column)));
}

static void put_time(struct value *to, const char *key, struct stmt *st, int column)
{
	_cleanup_strbuf_ struct strbuf time = STRBUF_INIT;

	if (!stmt_is_null(st, column))
		text_add_time(&time, stmt_get_int(st, column), false);
	value_set(to, key, time.len ? value_str(time.buf) : value_new(VALUE_NONE));
}

/* What a person wants to read in a message about a job. */
static void put_job(struct value *to, struct store *s, int64_t job)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		s,
		"SELECT jobname, username, start_us, end_us, duration_us, cpu_us, exitcode, "
		"processes FROM job WHERE no = $1",
		db_int(job));

	if (stmt_step(st) != 1)
		return;
	put_text(to, "jobname", stmt_is_null(st, 0) ? NULL : stmt_get_str(st, 0));
	put_text(to, "user", stmt_is_null(st, 1) ? NULL : stmt_get_str(st, 1));
	put_time(to, "start", st, 2);
	put_time(to, "end", st, 3);
	put_number(to, "duration", st, 4);
	put_number(to, "cpu_time", st, 5);
	put_number(to, "exitcode", st, 6);
	put_number(to, "processes", st, 7);
}

void inbox_tell_submitted(struct inbox *in, const struct import_result *got, const char *source)
{
	_cleanup_value_ struct value *detail = NULL;

	if (!hook_wants(in->o.hook, HOOK_SUBMITTED))
		return;
	detail = value_new(VALUE_DICT);
	put_text(detail, "jobid", got->jobid);
	put_job(detail, in->store, got->job);
	put_text(detail, "source", source);
	put_text(detail, "store", in->store->where);
	hook_post(in->o.hook, HOOK_SUBMITTED, detail);
}

void inbox_tell_outlier(struct inbox *in, int64_t job, const char *label,
			const struct value *result)
{
	_cleanup_value_ struct value *detail = NULL;

	if (!hook_wants(in->o.hook, HOOK_OUTLIER))
		return;
	detail = value_new(VALUE_DICT);
	put_text(detail, "jobid", label);
	put_job(detail, in->store, job);
	for (size_t i = 0; i < value_pairs(result); i++)
		value_set(detail, value_key(result, i)->str.data, value_ref(value_at(result, i)));
	put_text(detail, "store", in->store->where);
	hook_post(in->o.hook, HOOK_OUTLIER, detail);
}

void inbox_tell_failed(struct inbox *in, const char *source, const char *reason, const char *moved)
{
	_cleanup_value_ struct value *detail = NULL;

	if (!hook_wants(in->o.hook, HOOK_FAILED))
		return;
	detail = value_new(VALUE_DICT);
	put_text(detail, "source", source);
	put_text(detail, "reason", reason);
	put_text(detail, "moved_to", moved);
	hook_post(in->o.hook, HOOK_FAILED, detail);
}
