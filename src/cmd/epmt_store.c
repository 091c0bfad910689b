/* Called as `epmt`: the commands that have to do with the store. */
#include <errno.h>
#include <string.h>

#include "cmd/epmt.h"

/* ---- which store ---------------------------------------------------------------------------- */

#define IN_MEMORY "of epmt: in memory"

static const char *env_or(const char *name, const struct value *dict, const char *key)
{
	const char *v = getenv(name);

	return v && *v ? v : value_get_str(dict, key);
}

/* The older settings name the parts of a URL. */
static void choose_by_parts(struct context *ctx, const struct value *params, const char *provider)
{
	const char *file = env_or("EPMT_DB_FILENAME", params, "filename");
	const char *host = env_or("EPMT_DB_HOST", params, "host");
	const char *user = env_or("EPMT_DB_USER", params, "user");
	const char *password = env_or("EPMT_DB_PASSWORD", params, "password");
	const char *name = env_or("EPMT_DB_DBNAME", params, "dbname");
	_cleanup_strbuf_ struct strbuf url = STRBUF_INIT;

	if (!strcmp(provider, "sqlite")) {
		if (file)
			config_set(&ctx->config, SETTING_DB, file, "EPMT's settings");
		return;
	}
	strbuf_addstr(&url, "postgresql://");
	if (user)
		strbuf_addstr(&url, user);
	if (user && password)
		strbuf_addf(&url, ":%s", password);
	strbuf_addf(&url, "%s%s/%s", user ? "@" : "", host ? host : "", name ? name : "");
	config_set(&ctx->config, SETTING_DB, url.buf, "EPMT's settings");
}

void epmt_choose_store(struct context *ctx, const struct value *literals)
{
	const struct value *params = value_get(literals, "db_params");
	const char *url = env_or("EPMT_DB_URL", params, "url");
	const char *provider = env_or("EPMT_DB_PROVIDER", params, "provider");

	const char *ours = getenv("PLIMSOLL_DB");

	if (ours && *ours)
		return;
	if (url && !getenv("EPMT_DB_PROVIDER"))
		config_set(&ctx->config, SETTING_DB, url, "EPMT's settings");
	else if (provider)
		choose_by_parts(ctx, params, provider);
	const char *chosen = config_get(&ctx->config, SETTING_DB);
	if (!strcmp(chosen, "sqlite://") || strstr(chosen, ":memory:"))
		config_set(&ctx->config, SETTING_DB, "", IN_MEMORY);
}

void epmt_say_store(const struct context *ctx)
{
	_cleanup_free_ char *own = store_default_path();

	if (!strcmp(ctx->config.origin[SETTING_DB], IN_MEMORY) && own)
		log_warn("the configured store is in memory and would be lost: using %s", own);
}

/* ---- commands that are ours ----------------------------------------------------------------- */

int epmt_submit(struct context *ctx, const struct epmt *e)
{
	struct submit_options o = {.error = e->error,
				   .dry = e->dry,
				   .remove = e->remove,
				   .move_away = e->move_away,
				   .drop = e->drop,
				   .workers = e->workers ? e->workers : 1};

	epmt_say_store(ctx);
	return do_submit(ctx, &o, e->word_count, e->words);
}

int epmt_delete(struct context *ctx, const struct epmt *e)
{
	int status = do_delete(ctx, e->word_count, e->words);

	return status == EXIT_OK ? EXIT_OK : EXIT_FAILED;
}

int epmt_retire(struct context *ctx, const struct epmt *e)
{
	return do_retire(ctx, e->dry);
}

int epmt_dbcare(struct context *ctx, const struct epmt *e)
{
	int status = EXIT_OK;

	if (!e->retire_jobs && !e->vacuum && !e->post_process)
		log_warn("dbcare does what its options name: --retire-jobs, --vacuum-tables");
	if (e->retire_jobs)
		status = do_retire(ctx, e->dry);
	if (status == EXIT_OK && e->vacuum)
		status = do_db(ctx, "vacuum", NULL);
	if (e->post_process)
		log_info("every job was processed when it was submitted");
	return status;
}

int epmt_drop(struct context *ctx, const struct epmt *e)
{
	_cleanup_store_ struct store *s = NULL;

	if (open_store(ctx, STORE_MANAGE, &s) < 0)
		return EXIT_FAILED;
	return do_drop(ctx, s, e->force);
}

int epmt_dbsize(struct context *ctx, const struct epmt *e)
{
	_cleanup_store_ struct store *s = NULL;
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;
	int64_t bytes = 0;

	(void)e;
	if (open_store(ctx, STORE_READ, &s) < 0)
		return EXIT_FAILED;
	if (s->engine->size(s, &bytes) < 0) {
		log_error("%s", store_error(s));
		return EXIT_FAILED;
	}
	jsonw_begin_object(&j, NULL);
	jsonw_begin_object(&j, "database");
	jsonw_i64(&j, s->where, bytes);
	jsonw_end_object(&j);
	jsonw_end_object(&j);
	return jsonw_write(&j, stdout) < 0 ? EXIT_FAILED : EXIT_OK;
}

int epmt_schema(struct context *ctx, const struct epmt *e)
{
	(void)e;
	return do_db(ctx, "schema", NULL);
}

int epmt_migrate(struct context *ctx, const struct epmt *e)
{
	(void)e;
	return do_db(ctx, "migrate", NULL);
}
