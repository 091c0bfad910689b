/* Removes jobs over the configured limits from the store; see stored_job.h. */
#include <errno.h>
#include <string.h>

#include "context/stored_job.h"
#include "core/clock.h"
#include "core/text/text.h"
#include "store/job_admin.h"

struct retiring {
	bool dry;
	int verbosity;
};

static void print_retired(void *user, const char *jobid, int64_t end_us)
{
	const struct retiring *t = user;
	_cleanup_strbuf_ struct strbuf when = STRBUF_INIT, id = STRBUF_INIT;

	if (t->verbosity < 0)
		return;
	text_add_time(&when, end_us, false);
	text_add_printable(&id, jobid, strlen(jobid));
	printf("%s %s, ended %.19s\n", t->dry ? "would retire" : "retired", id.buf, when.buf);
}

static int bad_value(const struct context *ctx, enum setting_id id, const char *wants)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	int r = config_bad_value(&ctx->config, id, wants, &why);
	log_error("%s", why.buf);
	return r;
}

int retire_limits_of(const struct context *ctx, struct retire_limits *l)
{
	const char *age = config_get(&ctx->config, SETTING_RETIRE_AGE);
	const char *keep = config_get(&ctx->config, SETTING_RETIRE_KEEP);
	const char *size = config_get(&ctx->config, SETTING_RETIRE_SIZE);
	uint64_t ns = 0;

	*l = (struct retire_limits){0};
	if (*age && parse_duration_ns(age, &ns) < 0)
		return bad_value(ctx, SETTING_RETIRE_AGE, "an age such as 90d or 12h");
	if (ns)
		l->before_us = clock_realtime_us() - (int64_t)(ns / 1000);
	if (*keep && parse_u64(keep, &l->keep) < 0)
		return bad_value(ctx, SETTING_RETIRE_KEEP, "a number of jobs");
	if (*size && parse_size(size, &l->bytes) < 0)
		return bad_value(ctx, SETTING_RETIRE_SIZE, "a size such as 500M or 20G");
	return l->before_us || l->keep || l->bytes;
}

int64_t retire_configured(const struct context *ctx, struct store *s, bool dry)
{
	struct retiring t = {dry, ctx->verbosity};
	struct retire_limits l;
	int r = retire_limits_of(ctx, &l);

	if (r <= 0)
		return r;
	int64_t n = store_retire(s, &l, dry, print_retired, &t);
	if (n < 0)
		log_error("%s", store_error(s));
	return n;
}
