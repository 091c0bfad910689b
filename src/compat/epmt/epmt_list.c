/* Called as `epmt list` and `epmt dump`: what the store has, in EPMT's forms. */
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "compat/epmt/epmt.h"
#include "compat/epmt/epmt_dict.h"
#include "compat/epmt/epmt_filter.h"
#include "core/text/python_literal.h"
#include "core/text/text.h"
#include "jobs/tags.h"
#include "views/stream_table.h"

struct listing {
	struct store *store;
	struct epmt_filter filter;
	char **ids; /* words that are no keywords, and what jobs= names */
	size_t id_count, id_cap;
};

static void release(struct listing *l)
{
	for (size_t i = 0; i < l->id_count; i++)
		free(l->ids[i]);
	free(l->ids);
	epmt_filter_release(&l->filter);
	store_close(l->store);
}
#define _cleanup_listing_ _cleanup_(release)

/* ---- words ---------------------------------------------------------------------------------- */

static void add_id(struct listing *l, const char *id, size_t n)
{
	GROW(l->ids, l->id_count, l->id_cap);
	l->ids[l->id_count++] = xstrndup(id, n);
}

/* jobs=a,b or jobs=['a', 'b'], instead of ids by themselves. */
static int take_jobs(struct listing *l, const char *value)
{
	_cleanup_value_ struct value *list = NULL;

	for (const char *p = value; *value != '[' && *p;) {
		size_t n = strcspn(p, ",");

		add_id(l, p, n);
		p += n + (p[n] == ',');
	}
	if (*value != '[')
		return 0;
	if (py_literal(value, strlen(value), &list) < 0)
		return fail_with(-EINVAL, "jobs takes comma-separated ids, not '%s'", value);
	for (size_t i = 0; i < list->list.count; i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

		value_to_python(list->list.items[i], &text, false);
		add_id(l, text.buf, text.len);
	}
	return 0;
}

/* A moment may be named by a job or a process: as long as that ran. 1: it was. */
static int take_interval(struct listing *l, const char *value, bool processes)
{
	int64_t id = 0;

	if (processes && parse_i64(value, &id) < 0)
		return 0;
	_cleanup_stmt_ struct stmt *st =
		store_query(l->store,
			    processes ? "SELECT start, \"end\" FROM processes WHERE id = $1"
				      : "SELECT start_us, end_us FROM job WHERE jobid = $1",
			    processes ? db_int(id) : db_str(value));
	int r = stmt_step(st);
	if (r == 1 && !stmt_is_null(st, 0))
		epmt_filter_when(&l->filter, stmt_get_int(st, 0),
				 stmt_is_null(st, 1) ? INT64_MAX : stmt_get_int(st, 1));
	return r;
}

static int take_word(struct listing *l, const char *word)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const char *equals = strchr(word, '=');
	int r = 0;

	if (!equals) {
		add_id(l, word, strlen(word));
		return 0;
	}
	_cleanup_free_ char *key = xstrndup(word, (size_t)(equals - word));
	if (!strcmp(key, "jobs"))
		return take_jobs(l, equals + 1);
	if (!strcmp(key, "when"))
		r = take_interval(l, equals + 1, l->filter.scope == EPMT_PROCESSES);
	if (r == 0)
		r = epmt_filter_take(&l->filter, key, equals + 1, &why);
	if (r < 0)
		log_error("%s", why.len ? why.buf : store_error(l->store));
	return r < 0 ? r : 0;
}

/* Times that are written are those of EPMT_TZ, else local ones. */
static void use_zone(void)
{
	const char *zone = getenv("EPMT_TZ");

	if (zone && *zone)
		setenv("TZ", zone, 1);
	tzset();
}

/* ---- forms ---------------------------------------------------------------------------------- */

static void print_python(const struct value *v)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	value_to_python(v, &text, true);
	puts(text.buf);
}

/* Dicts as a table whose columns are the keys of all, as pandas shows them, without leaving out
 * any. */
static int print_table(const struct value *rows)
{
	_cleanup_value_ struct value *keys = value_new(VALUE_DICT);
	struct stream_table g;

	for (size_t i = 0; i < rows->list.count; i++)
		for (size_t k = 0; k < value_pairs(rows->list.items[i]); k++) {
			const char *key = value_key(rows->list.items[i], k)->str.data;

			if (!value_get(keys, key))
				value_set(keys, key, value_new(VALUE_NONE));
		}
	size_t n = value_pairs(keys);
	_cleanup_free_ struct terminal_table_column *columns = xcalloc(n + 1, sizeof(*columns));
	for (size_t k = 0; k < n; k++)
		columns[k + 1] =
			(struct terminal_table_column){value_key(keys, k)->str.data, COLUMN_RIGHT};
	columns[0] = (struct terminal_table_column){"", 0};
	stream_table_begin(&g, columns, n + 1, false, stdout);
	for (size_t i = 0; i < rows->list.count; i++) {
		stream_table_number(&g, (int64_t)i);
		for (size_t k = 0; k < n; k++) {
			_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
			const struct value *v =
				value_get(rows->list.items[i], value_key(keys, k)->str.data);

			if (v)
				value_to_python(v, &text, false);
			stream_table_text(&g, v ? text.buf : "NaN", v ? text.len : 3);
		}
		stream_table_row(&g, 0);
	}
	return stream_table_end(&g);
}

/* A list that may be long: printed item by item, or kept for a table. */
struct items {
	struct value *rows; /* of the table; NULL: print */
	bool json, any;
};

static void put_json(const struct value *v)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	value_to_json(v, &j, NULL);
	fputs(j.out.buf, stdout);
}

static void put_item(struct items *out, const struct value *v)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (out->rows) {
		value_append(out->rows, value_ref((struct value *)v));
	} else if (out->json) {
		fputs(out->any ? ",\n" : "[", stdout);
		put_json(v);
	} else {
		value_to_python(v, &text, true);
		printf("%s%s", out->any ? ", " : "[", text.buf);
	}
	out->any = true;
}

static int end_items(struct items *out)
{
	if (out->rows)
		return print_table(out->rows);
	puts(out->any ? "]" : "[]");
	return 0;
}

/* Dicts as a table, or as JSON. */
static int print_dicts(const struct listing *l, const struct value *rows)
{
	if (l->filter.format != FORMAT_JSON)
		return print_table(rows);
	put_json(rows);
	putchar('\n');
	return 0;
}

/* ---- jobs ----------------------------------------------------------------------------------- */

static struct job_filter job_filter_of(const struct listing *l)
{
	return (struct job_filter){.ids = l->ids,
				   .id_count = l->id_count,
				   .where = l->filter.where,
				   .order = l->filter.order,
				   .limit = l->filter.limit,
				   .offset = l->filter.offset};
}

static int list_jobs(struct listing *l)
{
	enum epmt_format format = l->filter.format;
	_cleanup_value_ struct value *rows = value_new(VALUE_LIST);
	struct items out = {.rows = format == FORMAT_PANDAS ? rows : NULL,
			    .json = format == FORMAT_JSON};
	struct job_filter f = job_filter_of(l);
	struct job_query jq;

	int r = job_query_begin(&jq, l->store, "j.jobid, j.no", &f);
	while (r >= 0 && (r = job_query_next(&jq)) == 1) {
		_cleanup_value_ struct value *v = NULL;

		if (format == FORMAT_DEFAULT || format == FORMAT_TERSE)
			v = value_str(stmt_get_str(jq.st, 0));
		else
			r = epmt_job_dict(l->store, stmt_get_int(jq.st, 1), l->filter.separate_sums,
					  &v);
		if (r >= 0)
			put_item(&out, v);
	}
	job_query_end(&jq);
	return r == 0 ? end_items(&out) : r;
}

/* ---- processes and threads ------------------------------------------------------------------ */

static int list_processes(struct listing *l)
{
	enum epmt_format format = l->filter.format;
	_cleanup_value_ struct value *rows = value_new(VALUE_LIST);
	struct items out = {.rows = format == FORMAT_PANDAS ? rows : NULL,
			    .json = format == FORMAT_JSON};
	struct epmt_processes p;
	int r = epmt_processes_begin(&p, l->store, &l->filter, l->ids, l->id_count);

	while (r >= 0 && (r = epmt_processes_next(&p)) == 1) {
		_cleanup_value_ struct value *v = NULL;

		if (format == FORMAT_TERSE)
			v = value_int(epmt_process_id(&p));
		else
			r = epmt_process_dict(&p, &v);
		if (r >= 0)
			put_item(&out, v);
	}
	epmt_processes_end(&p);
	if (r == 0 && !out.any && !out.json) {
		log_info("there are no such processes");
		return -ENOENT;
	}
	return r == 0 ? end_items(&out) : r;
}

static int list_threads(struct listing *l)
{
	_cleanup_value_ struct value *rows = value_new(VALUE_LIST);
	int r = 0;

	if (!l->id_count)
		return fail_with(
			-EINVAL,
			"list thread_metrics needs process ids, as `epmt list procs fmt=terse` "
			"prints them");
	for (size_t i = 0; i < l->id_count && r == 0; i++) {
		int64_t id;

		if (parse_i64(l->ids[i], &id) < 0)
			return fail_with(-EINVAL, "invalid process id '%s'", l->ids[i]);
		r = epmt_thread_dicts(l->store, id, rows);
		if (r == -ENOENT)
			log_error("there is no process %s", l->ids[i]);
	}
	return r < 0 ? r : print_dicts(l, rows);
}

/* ---- tags of processes ---------------------------------------------------------------------- */

/* {'op': ['build', 'clean'], ...}: the values of each key. */
static void fold_tags(struct value *all, const struct value *tags)
{
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

static void leave_out(struct value *tags, const struct value *keys)
{
	for (size_t i = 0; keys && keys->kind == VALUE_LIST && i < keys->list.count; i++)
		if (keys->list.items[i]->kind == VALUE_STR)
			value_unset(tags, keys->list.items[i]->str.data);
}

static bool wanted(const struct listing *l, const char *jobid)
{
	for (size_t i = 0; i < l->id_count; i++)
		if (!strcmp(l->ids[i], jobid))
			return true;
	return l->id_count == 0;
}

static int list_proc_tags(struct listing *l)
{
	_cleanup_stmt_ struct stmt *st =
		stmt_prepare(l->store, "SELECT jobid, tags FROM job_proc_tags ORDER BY job, tags");
	_cleanup_value_ struct value *sorted = value_new(VALUE_DICT);
	_cleanup_value_ struct value *folded = value_new(VALUE_DICT);
	struct items out = {.json = l->filter.format == FORMAT_JSON};
	int r;

	while ((r = stmt_step(st)) == 1) {
		_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

		if (!wanted(l, stmt_get_str(st, 0)) ||
		    !epmt_filter_matches_tags(&l->filter, stmt_get_str(st, 1)))
			continue;
		struct value *tags = tags_parse(stmt_get_str(st, 1), NULL);
		leave_out(tags, l->filter.exclude);
		value_sort(tags);
		value_to_json(tags, &j, NULL);
		fold_tags(folded, tags);
		if (value_pairs(tags))
			value_set(sorted, j.out.buf, tags);
		else
			value_free(tags);
	}
	if (r < 0)
		return r;
	value_sort(folded);
	value_sort(sorted);
	if (l->filter.fold) {
		if (out.json)
			put_json(folded);
		else
			print_python(folded);
		return 0;
	}
	for (size_t i = 0; i < value_pairs(sorted); i++)
		put_item(&out, value_at(sorted, i));
	return end_items(&out);
}

/* Those without any analysis; analyses=... asks for others, as EPMT's get_unanalyzed_jobs() does.
 */
static int list_unanalysed(struct listing *l)
{
	const char *none = "";
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	if (!l->filter.analyses)
		(void)filter_require(l->filter.where, "analyses", FILTER_IS, &none, 1, &why);
	return list_jobs(l);
}

/* Jobs are processed when they are stored: no stored job is unprocessed. */
static int list_unprocessed(struct listing *l)
{
	if (l->id_count) {
		log_warn("no job is unprocessed: they are processed when they are submitted");
		return -ENOENT;
	}
	puts("[]");
	return 0;
}

/* Ids; a model that was not imported has its name in place of one. */
static struct value *model_ids(const struct value *models)
{
	struct value *ids = value_new(VALUE_LIST);

	for (size_t i = 0; i < models->list.count; i++) {
		struct value *id = value_get(models->list.items[i], "id");

		if (!id)
			id = value_get(models->list.items[i], "name");
		if (id)
			value_append(ids, value_ref(id));
	}
	return ids;
}

/* Ours have the shape that EPMT has. */
static int list_models(struct listing *l)
{
	_cleanup_value_ struct value *models = NULL, *ids = NULL;
	int r = epmt_models(l->store, &models);

	if (r == 0 && l->filter.format == FORMAT_TERSE) {
		ids = model_ids(models);
		print_python(ids);
	} else if (r == 0 && l->filter.format == FORMAT_JSON)
		put_json(models);
	else if (r == 0)
		print_python(models);
	return r;
}

static int list_operations(struct listing *l)
{
	_cleanup_value_ struct value *operations = NULL;
	int r = epmt_op_metrics(l->store, &l->filter, l->ids, l->id_count, &operations);

	if (r == 0 && !operations->list.count && l->filter.format != FORMAT_JSON) {
		log_info("no process of these jobs has such tags");
		return -ENOENT;
	}
	return r == 0 ? print_dicts(l, operations) : r;
}

/* ---- commands ------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	unsigned scope;
	int (*list)(struct listing *l);
} rows[] = {
	{"jobs", EPMT_JOBS, list_jobs},
	{"procs", EPMT_PROCESSES, list_processes},
	{"processes", EPMT_PROCESSES, list_processes},
	{"thread_metrics", EPMT_THREADS, list_threads},
	{"job_proc_tags", EPMT_PROC_TAGS, list_proc_tags},
	{"unprocessed_jobs", 0, list_unprocessed},
	{"unanalyzed_jobs", EPMT_JOBS, list_unanalysed},
	{"refmodels", EPMT_MODELS, list_models},
	{"op_metrics", EPMT_OPERATIONS, list_operations},
};

/* The first word selects what is listed; the default is jobs. */
static size_t find_row(const struct epmt *e, int *ret_skip)
{
	for (size_t i = 0; e->word_count && i < ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].name, e->words[0])) {
			*ret_skip = 1;
			return i;
		}
	*ret_skip = 0;
	return 0;
}

/* Reports named jobs that do not exist; EPMT does not. */
static int check_ids(struct listing *l)
{
	int error = 0;
	const char *missing = job_missing(l->store, l->ids, l->id_count, &error);

	if (missing)
		log_error("there is no job '%s' in '%s'", missing, l->store->where);
	return missing ? -ENOENT : error;
}

int epmt_list(struct context *ctx, const struct epmt *e)
{
	_cleanup_listing_ struct listing l = {0};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int skip, r = 0;

	size_t row = find_row(e, &skip);
	epmt_filter_init(&l.filter, rows[row].scope);
	use_zone();
	if (open_store(ctx, STORE_READ, &l.store) < 0)
		return EXIT_FAILED;
	for (int i = skip; i < e->word_count && r == 0; i++)
		r = take_word(&l, e->words[i]);
	if (r == 0 && (r = epmt_filter_end(&l.filter, &why)) < 0)
		log_error("%s", why.buf);
	if (r < 0)
		return EXIT_FAILED;
	if (rows[row].scope & (EPMT_JOBS | EPMT_PROCESSES | EPMT_PROC_TAGS) && check_ids(&l) < 0)
		return EXIT_FAILED;
	r = rows[row].list(&l);
	if (r < 0 && r != -ENOENT && l.store->error.len)
		log_error("%s", store_error(l.store));
	r = r < 0 ? r : output_error(stdout);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static int dump_stored(struct context *ctx, const char *jobid, const char *key)
{
	_cleanup_value_ struct value *all = NULL;
	_cleanup_store_ struct store *s = NULL;

	int r = open_store(ctx, STORE_READ, &s);
	if (r < 0)
		return r;
	int64_t job = find_stored_job(s, jobid);
	if (job < 0)
		return -ENOENT;
	r = epmt_job_dict(s, job, false, &all);
	if (r < 0)
		return fail_with(r, "%s", store_error(s));
	const struct value *only = key ? value_get(all, key) : NULL;
	if (key && !only) {
		_cleanup_strbuf_ struct strbuf keys = STRBUF_INIT;

		for (size_t i = 0; i < value_pairs(all); i++)
			strbuf_addf(&keys, "%s%s", i ? "," : "", value_key(all, i)->str.data);
		log_error("the job has no key '%s'; it has %s", key, keys.buf);
		return -ENOENT;
	}
	for (size_t i = 0; i < value_pairs(all); i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
		const struct value *v = only ? only : value_at(all, i);

		value_to_python(v, &text, false);
		if (only) {
			make_safe(&text);
			puts(text.buf);
			break;
		}
		epmt_print_pair(20, 20, value_key(all, i)->str.data, text.buf);
	}
	return 0;
}

int epmt_dump(struct context *ctx, const struct epmt *e)
{
	struct dump_options o = {.key = e->key};
	int status = EXIT_OK;

	if (!e->word_count)
		return do_dump(ctx, &o, 0, NULL);
	for (int i = 0; i < e->word_count; i++) {
		bool path = access(e->words[i], F_OK) == 0 || looks_like_path(e->words[i]);

		if (path ? do_dump(ctx, &o, 1, e->words + i) != EXIT_OK
			 : dump_stored(ctx, e->words[i], e->key) < 0)
			status = EXIT_FAILED;
	}
	return output_error(stdout) < 0 ? EXIT_FAILED : status;
}
