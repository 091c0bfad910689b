/* The configured store, and inputs into it while its file may be exchanged; see stored_job.h. */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "context/stored_job.h"
#include "core/text/text.h"
#include "store/import/import.h"

#define MOVED_MAX 8 /* times that a store is exchanged while one input is stored */

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

/* What has its name now, in the same way. */
static int open_moved(struct context *ctx, struct store **s)
{
	bool staged = (*s)->staged;

	log_warn("'%s' was moved, removed or exchanged meanwhile, opened anew", (*s)->where);
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

	/* also what is there already has to be so in the file that has the name */
	for (int i = 0; i < MOVED_MAX && (r == 0 || r == -EEXIST || r == -EAGAIN); i++) {
		if (!store_moved(*s))
			return r;
		int e = open_moved(ctx, s);

		if (e < 0) {
			strbuf_reset(why);
			strbuf_addstr(why, "the store was moved, removed or exchanged");
			return e;
		}
		import_result_release(ret);
		strbuf_reset(why);
		r = import_submit(&ctx->config, *s, path, how, ret, why);
	}
	return r;
}
