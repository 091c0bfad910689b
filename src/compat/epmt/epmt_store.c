/* Called as `epmt`: the commands that have to do with the store. */
#include <errno.h>
#include <string.h>

#include "compat/epmt/epmt.h"
#include "core/text/secrets.h"

/* ---- which store ---------------------------------------------------------------------------- */

#define IN_MEMORY "of epmt: in memory"

static const char *env_or(const char *name, const struct value *dict, const char *key)
{
	const char *v = getenv(name);

	return v && *v ? v : value_get_str(dict, key);
}

/* Text inside a URL: what has a meaning there is escaped. */
static void add_escaped(struct strbuf *url, const char *text)
{
	static const char plain[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

	for (; *text; text++)
		if (strchr(plain, *text))
			strbuf_addch(url, *text);
		else
			strbuf_addf(url, "%%%02X", (unsigned char)*text);
}

/* Commands that need the store end with this; the others go on. */
static void refuse_store(struct context *ctx, const char *why)
{
	_cleanup_free_ char *value = xasprintf("%s://%s", STORE_REFUSED, why);

	config_set(&ctx->config, SETTING_DB, value, STORE_REFUSED);
}

/* The older settings name the parts of a URL. */
static void choose_by_parts(struct context *ctx, const struct value *params, const char *provider)
{
	const char *file = env_or("EPMT_DB_FILENAME", params, "filename");
	const char *host = env_or("EPMT_DB_HOST", params, "host");
	const char *user = env_or("EPMT_DB_USER", params, "user");
	const char *password = env_or("EPMT_DB_PASSWORD", params, "password");
	const char *name = env_or("EPMT_DB_DBNAME", params, "dbname");
	const struct value *port = value_get(params, "port");
	_cleanup_strbuf_ struct strbuf url = STRBUF_INIT;

	if (!strcmp(provider, "sqlite")) {
		config_set(&ctx->config, SETTING_DB, file ? file : ":memory:", "EPMT's settings");
		return;
	}
	if (strcmp(provider, "postgres") != 0 && strcmp(provider, "postgresql") != 0) {
		strbuf_addf(&url, "db_params has the provider '%s'; there are sqlite and postgres",
			    provider);
		refuse_store(ctx, url.buf);
		return;
	}
	strbuf_addstr(&url, "postgresql://");
	if (user)
		add_escaped(&url, user);
	if (user && password) {
		strbuf_addch(&url, ':');
		add_escaped(&url, password);
	}
	strbuf_addf(&url, "%s%s", user ? "@" : "", host ? host : "");
	if (port) {
		strbuf_addch(&url, ':');
		value_to_python(port, &url, false);
	}
	strbuf_addch(&url, '/');
	add_escaped(&url, name ? name : "");
	config_set(&ctx->config, SETTING_DB, url.buf, "EPMT's settings");
}

/* "postgresql+psycopg2://..." names a driver of Python's. */
static void choose_by_url(struct context *ctx, const char *url)
{
	size_t n = strcspn(url, "+:");
	const char *rest = url[n] == '+' ? strstr(url, "://") : NULL;
	_cleanup_free_ char *plain = rest ? xasprintf("%.*s%s", (int)n, url, rest) : xstrdup(url);

	config_set(&ctx->config, SETTING_DB, plain, "EPMT's settings");
}

void epmt_choose_store(struct context *ctx, const char *path, const struct value *literals,
		       const struct value *skipped)
{
	const struct value *params = value_get(literals, "db_params");
	const struct value *line = value_get(skipped, "db_params");
	const char *url = env_or("EPMT_DB_URL", params, "url");
	const char *provider = env_or("EPMT_DB_PROVIDER", params, "provider");
	const char *ours = getenv("PLIMSOLL_DB");
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	if (ours && *ours)
		return;
	if (url && !getenv("EPMT_DB_PROVIDER"))
		choose_by_url(ctx, url);
	else if (provider)
		choose_by_parts(ctx, params, provider);
	else if (line)
		strbuf_addf(&why,
			    "%s:%d: db_params cannot be known without executing the file; write "
			    "db_params = {'url': '...'} with the URL as a text behind it, or set "
			    "EPMT_DB_URL",
			    path, (int)line->integer);
	else if (params)
		strbuf_addf(&why, "%s: db_params has neither url nor provider", path);
	if (why.len)
		refuse_store(ctx, why.buf);
	const char *chosen = config_get(&ctx->config, SETTING_DB);
	if (!why.len && (!strcmp(chosen, "sqlite://") || strstr(chosen, ":memory:")))
		config_set(&ctx->config, SETTING_DB, "", IN_MEMORY);
}

void epmt_print_store(const struct context *ctx)
{
	_cleanup_free_ char *own = store_default_path();
	_cleanup_free_ char *url = secrets_shown(config_get(&ctx->config, SETTING_DB));
	const char *at = strstr(url, "://") ? strrchr(url, '@') : NULL;

	if (!strcmp(ctx->config.origin[SETTING_DB], STORE_REFUSED))
		printf("db_params:(%s)\n",
		       config_get(&ctx->config, SETTING_DB) + strlen(STORE_REFUSED "://"));
	else if (at)
		printf("db_params:{'url': '%.*s***%s'}\n", (int)(strstr(url, "://") + 3 - url), url,
		       at);
	else
		printf("db_params:{'url': '%s'}\n", *url ? url : own ? own : "");
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
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	int64_t bytes = 0;

	(void)e;
	if (open_store(ctx, STORE_READ, &s) < 0)
		return EXIT_FAILED;
	if (s->engine->size(s, &bytes) < 0)
		return fail_with(EXIT_FAILED, "%s", store_error(s));
	json_begin_object(&j, NULL);
	json_begin_object(&j, "database");
	json_i64(&j, s->where, bytes);
	json_end_object(&j);
	json_end_object(&j);
	return json_write(&j, stdout) < 0 ? EXIT_FAILED : EXIT_OK;
}

int epmt_schema(struct context *ctx, const struct epmt *e)
{
	(void)e;
	return do_db(ctx, "schema", NULL);
}

/* With the URL of an EPMT database: that is copied into the store. */
int epmt_migrate(struct context *ctx, const struct epmt *e)
{
	if (e->word_count)
		return do_db(ctx, "import", e->words[0]);
	return do_db(ctx, "migrate", NULL);
}
