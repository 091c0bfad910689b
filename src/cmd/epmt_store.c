/* Called as `epmt`: the commands that have to do with the store. */
#include <errno.h>
#include <string.h>

#include "cmd/epmt.h"
#include "core/text.h"
#include "job/tags.h"

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
	int status = do_retire(ctx, e->dry);

	if (status == EXIT_OK && e->vacuum)
		status = do_db(ctx, "vacuum", NULL);
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

/* ---- list ----------------------------------------------------------------------------------- */

static const char *word_value(const struct epmt *e, const char *key)
{
	size_t n = strlen(key);

	for (int i = 0; i < e->word_count; i++)
		if (!strncmp(e->words[i], key, n) && e->words[i][n] == '=')
			return e->words[i] + n + 1;
	return NULL;
}

/* The ids among the words, behind what to list. */
static const char *const *word_ids(const struct epmt *e, int skip, int *ret_count)
{
	int n = 0;

	for (int i = skip; i < e->word_count; i++)
		if (!strchr(e->words[i], '='))
			e->words[n++] = e->words[i];
	*ret_count = n;
	return (const char *const *)e->words;
}

static bool wanted(const char *const *ids, int count, const char *jobid)
{
	for (int i = 0; i < count; i++)
		if (!strcmp(ids[i], jobid))
			return true;
	return count == 0;
}

static void print_python(const struct value *v)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	value_to_python(v, &text, true);
	puts(text.buf);
}

static int64_t number_word(const struct epmt *e, const char *key, int64_t fallback)
{
	const char *text = word_value(e, key);
	int64_t v = fallback;

	if (text && parse_i64(text, &v) < 0)
		log_warn("%s=%s is no number, ignored", key, text);
	return v > 0 ? v : fallback;
}

static int list_jobs(struct store *s, const struct epmt *e, int skip)
{
	int64_t limit = number_word(e, "limit", INT64_MAX), offset = number_word(e, "offset", 0);
	_cleanup_stmt_ struct stmt *st =
		stmt_prepare(s, "SELECT jobid FROM job ORDER BY start_us, no");
	_cleanup_value_ struct value *list = value_new(VALUE_LIST);
	int count, r = st ? 0 : -EIO;

	const char *const *ids = word_ids(e, skip, &count);
	while (st && (r = stmt_step(st)) == 1 && (int64_t)list->list.count < limit)
		if (wanted(ids, count, stmt_get_str(st, 0)) && offset-- <= 0)
			value_append(list, value_str(stmt_get_str(st, 0)));
	if (r >= 0)
		print_python(list);
	return r < 0 ? r : 0;
}

static int list_processes(struct store *s, const struct epmt *e, int skip)
{
	int64_t limit = number_word(e, "limit", 10000);
	_cleanup_stmt_ struct stmt *st = stmt_prepare(
		s, "SELECT p.id, j.jobid FROM process p JOIN job j ON j.no = p.id >> 32 "
		   "ORDER BY p.start, p.id");
	_cleanup_value_ struct value *list = value_new(VALUE_LIST);
	int count, r = st ? 0 : -EIO;

	const char *const *ids = word_ids(e, skip, &count);
	while (st && (int64_t)list->list.count < limit && (r = stmt_step(st)) == 1)
		if (wanted(ids, count, stmt_get_str(st, 1)))
			value_append(list, value_int(stmt_get_int(st, 0)));
	if (r >= 0)
		print_python(list);
	return r < 0 ? r : 0;
}

/* {'op': ['build', 'clean'], ...}: the values of each key. */
static void fold_tags(struct value *all, const char *text)
{
	_cleanup_value_ struct value *tags = tags_parse(text, NULL);

	for (size_t i = 0; i < value_pairs(tags); i++) {
		const char *key = value_key(tags, i)->str.data;
		const struct value *v = value_at(tags, i);
		struct value *list = value_get(all, key);
		bool known = false;

		if (!list) {
			list = value_new(VALUE_LIST);
			value_set(all, key, list);
		}
		for (size_t k = 0; k < list->list.count; k++)
			known |= !strcmp(list->list.items[k]->str.data, v->str.data);
		if (!known)
			value_append(list, value_str(v->str.data));
	}
}

static int list_proc_tags(struct store *s, const struct epmt *e, int skip)
{
	_cleanup_stmt_ struct stmt *st =
		stmt_prepare(s, "SELECT jobid, tags FROM job_proc_tags ORDER BY job, tags");
	_cleanup_value_ struct value *all = value_new(VALUE_DICT);
	int count, r = st ? 0 : -EIO;

	const char *const *ids = word_ids(e, skip, &count);
	while (st && (r = stmt_step(st)) == 1)
		if (wanted(ids, count, stmt_get_str(st, 0)))
			fold_tags(all, stmt_get_str(st, 1));
	value_sort(all);
	if (r >= 0)
		print_python(all);
	return r < 0 ? r : 0;
}

static int list_threads(struct store *s, const struct epmt *e, int skip)
{
	_cleanup_stmt_ struct stmt *st = stmt_prepare(
		s, "SELECT n, tid, usertime, systemtime, rssmax, minflt, majflt, rchar, wchar, "
		   "time_oncpu, time_waiting FROM thread WHERE process = $1 ORDER BY n");
	int count, r = st ? 0 : -EIO;

	const char *const *ids = word_ids(e, skip, &count);
	if (!count) {
		log_error("list thread_metrics needs process ids, as `list procs` prints them");
		return -EINVAL;
	}
	puts("process n tid usertime systemtime rssmax minflt majflt rchar wchar time_oncpu "
	     "time_waiting");
	for (int i = 0; i < count && st && r >= 0; i++) {
		int64_t id;

		if (parse_i64(ids[i], &id) < 0) {
			log_error("'%s' is no process id", ids[i]);
			return -EINVAL;
		}
		stmt_int(st, 1, id);
		while ((r = stmt_step(st)) == 1) {
			printf("%lld", (long long)id);
			for (int k = 0; k < 11; k++)
				printf(" %lld", (long long)stmt_get_int(st, k));
			putchar('\n');
		}
	}
	return r < 0 ? r : 0;
}

static int list_nothing(struct store *s, const struct epmt *e, int skip)
{
	(void)s, (void)e, (void)skip;
	puts("[]"); /* a job is queryable once it is there */
	return 0;
}

int epmt_list(struct context *ctx, const struct epmt *e)
{
	static const struct {
		const char *name;
		int (*list)(struct store *s, const struct epmt *e, int skip);
	} rows[] = {
		{"jobs", list_jobs},
		{"procs", list_processes},
		{"processes", list_processes},
		{"thread_metrics", list_threads},
		{"job_proc_tags", list_proc_tags},
		{"unprocessed_jobs", list_nothing},
	};
	static const char *const later[] = {"unanalyzed_jobs", "refmodels", "op_metrics"};
	_cleanup_store_ struct store *s = NULL;
	const char *what = e->word_count ? e->words[0] : "jobs";
	int (*list)(struct store *, const struct epmt *, int) = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(later); i++)
		if (!strcmp(what, later[i])) {
			log_error("list %s: this version has no analysis", what);
			return EXIT_FAILED;
		}
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].name, what))
			list = rows[i].list;
	if (open_store(ctx, STORE_READ, &s) < 0)
		return EXIT_FAILED;
	int r = list ? list(s, e, e->word_count > 0) : list_jobs(s, e, 0);
	if (r < 0 && s->error.len)
		log_error("%s", store_error(s));
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

/* ---- dump ----------------------------------------------------------------------------------- */

/* A metric never replaces what the job itself has: num_threads is the number of threads, as in
 * EPMT, which does not add up that metric nor the time at which each thread began. */
static bool is_summed(const struct value *all, const char *metric)
{
	return strcmp(metric, "starttime") != 0 && !value_get(all, metric);
}

static int add_sums(struct store *s, int64_t job, struct value *all)
{
	_cleanup_stmt_ struct stmt *st =
		stmt_prepare(s, "SELECT metric, sum FROM job_sum WHERE job = $1");
	int r = st ? 0 : -EIO;

	if (st)
		stmt_int(st, 1, job);
	while (st && (r = stmt_step(st)) == 1)
		if (is_summed(all, stmt_get_str(st, 0)))
			value_set(all, stmt_get_str(st, 0), value_int(stmt_get_int(st, 1)));
	return r < 0 ? r : 0;
}

static int add_pairs(struct store *s, const char *sql, int64_t job, struct value *all,
		     const char *name, bool json)
{
	_cleanup_stmt_ struct stmt *st = stmt_prepare(s, sql);
	struct value *dict = value_new(VALUE_DICT);
	int r = st ? 0 : -EIO;

	if (st)
		stmt_int(st, 1, job);
	while (st && (r = stmt_step(st)) == 1) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		const char *text = stmt_get_str(st, 1);
		_cleanup_free_ char *wrapped = xasprintf("[%s]", text);
		_cleanup_value_ struct value *list = NULL;
		struct value *v = NULL;

		if (json && value_from_json(wrapped, strlen(wrapped), &list, &why) == 0 &&
		    list->list.count)
			v = value_ref(list->list.items[0]);
		value_set(dict, stmt_get_str(st, 0), v ? v : value_str(text));
	}
	value_set(all, name, dict);
	return r < 0 ? r : 0;
}

static int add_facts(struct store *s, int64_t job, struct value *all)
{
	static const char *const names[] = {"jobid",    "jobname",  "user",      "exitcode",
					    "duration", "cpu_time", "num_procs", "num_threads",
					    "start",    "end",      "submit"};
	_cleanup_stmt_ struct stmt *st = stmt_prepare(
		s, "SELECT jobid, jobname, username, exitcode, duration_us, cpu_us, num_procs, "
		   "num_threads, start_us, end_us, submit_us FROM job WHERE no = $1");

	if (!st)
		return -EIO;
	stmt_int(st, 1, job);
	int r = stmt_step(st);
	for (int i = 0; r == 1 && i < (int)ARRAY_SIZE(names); i++) {
		struct value *v = stmt_is_null(st, i) ? value_new(VALUE_NONE)
				  : i < 3             ? value_str(stmt_get_str(st, i))
				  : i < 8             ? value_int(stmt_get_int(st, i))
						      : value_time_us(stmt_get_int(st, i));

		value_set(all, names[i], v);
	}
	return r < 0 ? r : 0;
}

int epmt_dump_stored(struct context *ctx, const char *jobid, const char *key)
{
	_cleanup_value_ struct value *all = value_new(VALUE_DICT);
	_cleanup_store_ struct store *s = NULL;

	int r = open_store(ctx, STORE_READ, &s);
	if (r < 0)
		return r;
	int64_t job = find_stored_job(s, jobid);
	if (job < 0)
		return -ENOENT;
	r = add_facts(s, job, all);
	if (r == 0)
		r = add_pairs(s, "SELECT key, value FROM job_tag WHERE job = $1 ORDER BY key", job,
			      all, "tags", false);
	if (r == 0)
		r = add_pairs(s,
			      "SELECT key, value FROM job_annotation WHERE job = $1 ORDER BY key",
			      job, all, "annotations", true);
	if (r == 0)
		r = add_sums(s, job, all);
	if (r < 0) {
		log_error("%s", store_error(s));
		return r;
	}
	value_sort(all);
	for (size_t i = 0; i < value_pairs(all); i++) {
		const char *name = value_key(all, i)->str.data;
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

		value_to_python(value_at(all, i), &text, false);
		if (!key)
			printf("%-20s%-20s\n", name, text.buf);
		else if (!strcmp(key, name))
			puts(text.buf);
	}
	return 0;
}
