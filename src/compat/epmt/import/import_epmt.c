/*
 * Imports jobs and models from the database of EPMT 4.x, SQLite or PostgreSQL; see databases.h.
 * There a process has the rows that papiex wrote for its threads as JSON. They are turned into
 * lines of papiex again and read as such, so that a job is the same whether its files or its
 * database are imported. Times are local, without a time zone; the rows of threads have the same
 * times in microseconds since 1970, and the difference is the zone.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "compat/epmt/import/import_epmt_internal.h"
#include "compat/epmt/papiex/papiex_read.h"
#include "compat/epmt/papiex/papiex.h"
#include "core/clock.h"
#include "core/text/text.h"
#include "store/import/databases.h"
#include "store/import/import_internal.h"
#include "store/ingest/ingest_accounting.h"
#include "store/ingest/merge_streamed.h"
#include "store/job_admin.h"

static bool is_epmt(struct store *s)
{
	static const char *const tables[] = {"SELECT version_num FROM alembic_version",
					     "SELECT jobid FROM unprocessed_jobs",
					     "SELECT threads_df FROM processes"};
	bool all = true;

	for (size_t i = 0; i < ARRAY_SIZE(tables) && all; i++) {
		_cleanup_stmt_ struct stmt *st = stmt_prepare(s, tables[i]);

		all = st && stmt_step(st) >= 0;
	}
	return all;
}

/* ---- JSON as Python writes it --------------------------------------------------------------- */

/* Copies JSON from text[i] to the end of the value that begins there, with null for NaN and
 * Infinity, which JSON does not have. Returns where it ended. */
static size_t copy_json(const char *text, size_t n, size_t i, struct strbuf *out)
{
	static const char *const none[] = {"NaN", "Infinity", "-Infinity"};
	bool quoted = false;
	int depth = 0;

	for (; i < n; i++) {
		size_t k = 0, length = 0;

		for (; !quoted && k < ARRAY_SIZE(none) && !length; k++)
			if (n - i >= strlen(none[k]) && !memcmp(text + i, none[k], strlen(none[k])))
				length = strlen(none[k]);
		if (length) {
			strbuf_addstr(out, "null");
			i += length - 1;
			continue;
		}
		strbuf_addch(out, text[i]);
		if (quoted && text[i] == '\\' && i + 1 < n)
			strbuf_addch(out, text[++i]);
		else if (text[i] == '"')
			quoted = !quoted;
		else if (!quoted && (text[i] == '{' || text[i] == '['))
			depth++;
		else if (!quoted && (text[i] == '}' || text[i] == ']') && --depth == 0)
			return i + 1;
	}
	return n;
}

static struct value *parse_json(const char *text, size_t n, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf copy = STRBUF_INIT;
	struct value *v = NULL;

	(void)copy_json(text, n, 0, &copy);
	return value_from_json(copy.buf, copy.len, &v, why) == 0 ? v : NULL;
}

/* A column of JSON as a value; an empty dict if it is empty or invalid. An invalid text is kept
 * under the key in *unread, if there is one. */
struct value *epmt_json(struct stmt *st, int column, const char *key, struct value *unread)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	size_t n = 0;
	const char *text = stmt_get_text(st, column, &n);
	struct value *v = text ? parse_json(text, n, &why) : NULL;

	if (v && (v->kind == VALUE_DICT || v->kind == VALUE_LIST))
		return v;
	if (unread && n && (!v || v->kind != VALUE_NONE))
		value_set(unread, key, value_strn(text, n));
	value_free(v);
	return value_new(VALUE_DICT);
}

/* ---- times ---------------------------------------------------------------------------------- */

static int64_t nearest(double v)
{
	return (int64_t)(v < 0 ? v - 0.5 : v + 0.5);
}

bool epmt_time(const char *text, int64_t *ret)
{
	struct tm tm = {0};
	double seconds = 0;
	int used = 0;

	if (!text ||
	    sscanf(text, "%4d-%2d-%2d%*1[ T]%2d:%2d:%lf%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
		   &tm.tm_hour, &tm.tm_min, &seconds, &used) != 6 ||
	    !(seconds >= 0 && seconds < 62))
		return false;
	tm.tm_year -= 1900;
	tm.tm_mon--;
	time_t t = timegm(&tm);
	*ret = (int64_t)t * 1000000 + nearest(seconds * 1e6);
	return true;
}

/* The time as in EPMT's metadata: local, with the offset from UTC if it is known. */
static void set_time(struct value *meta, const char *key, const char *text, const int64_t *zone_us)
{
	int64_t us;

	if (!epmt_time(text, &us))
		return;
	time_t seconds = (time_t)((us - (us % 1000000 + 1000000) % 1000000) / 1000000);
	struct value *v = value_new(VALUE_TIME);
	struct tm tm;
	gmtime_r(&seconds, &tm);
	v->time = (struct value_time){.year = tm.tm_year + 1900,
				      .month = tm.tm_mon + 1,
				      .day = tm.tm_mday,
				      .hour = tm.tm_hour,
				      .minute = tm.tm_min,
				      .second = tm.tm_sec,
				      .microsecond = (int)(us - (int64_t)seconds * 1000000),
				      .has_zone = zone_us != NULL,
				      .offset_s = zone_us ? (int)(*zone_us / 1000000) : 0};
	value_set(meta, key, v);
}

/* The offset of local time from UTC when the first process started, in whole minutes. */
static bool find_zone(struct store *from, const char *jobid, int64_t *ret)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		from,
		"SELECT CAST(start AS TEXT), CAST(threads_df AS TEXT) FROM processes WHERE "
		"jobid = $1 ORDER BY id LIMIT 1",
		db_str(jobid));
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int64_t local;
	size_t n = 0;

	if (stmt_step(st) != 1 || !epmt_time(stmt_get_str(st, 0), &local))
		return false;
	const char *text = stmt_get_text(st, 1, &n);
	_cleanup_value_ struct value *rows = text ? parse_json(text, n, &why) : NULL;
	const struct value *first =
		rows && rows->kind == VALUE_LIST && rows->list.count ? rows->list.items[0] : NULL;
	const struct value *start = value_get(first, "start");
	if (!start || (start->kind != VALUE_INT && start->kind != VALUE_REAL))
		return false;
	double utc = start->kind == VALUE_INT ? (double)start->integer : start->real;
	*ret = nearest(((double)local - utc) / 60e6) * 60000000;
	return llabs(*ret) <= (int64_t)26 * 3600 * 1000000;
}

/* ---- a job ---------------------------------------------------------------------------------- */

enum job_column {
	J_NAME,
	J_USER,
	J_SUBMIT,
	J_START,
	J_END,
	J_EXIT,
	J_TAGS,
	J_NOTES,
	J_ANALYSES,
	J_INFO,
	J_ENV,
	J_CHANGES,
	J_CREATED,
	J_UPDATED
};
#define JOB_COLUMNS                                                                            \
	"SELECT jobname, user_id, CAST(submit AS TEXT), CAST(start AS TEXT), CAST(\"end\" AS " \
	"TEXT), exitcode, CAST(tags AS TEXT), CAST(annotations AS TEXT), CAST(analyses AS "    \
	"TEXT), CAST(info_dict AS TEXT), CAST(env_dict AS TEXT), CAST(env_changes_dict AS "    \
	"TEXT), CAST(created_at AS TEXT), CAST(updated_at AS TEXT) FROM jobs WHERE jobid = $1"

void epmt_text(struct value *meta, const char *key, struct stmt *st, int column)
{
	if (!stmt_is_null(st, column))
		value_set(meta, key, value_str(stmt_get_str(st, column)));
}

/* Values of the database that could not be read, unchanged. */
#define UNREAD "epmt_unread"

static void keep_unread_time(const struct value *meta, const char *key, struct stmt *st, int column,
			     struct value *unread)
{
	if (!value_get(meta, key))
		value_set(unread, key,
			  stmt_is_null(st, column) ? value_new(VALUE_NONE)
						   : value_str(stmt_get_str(st, column)));
}

static void warn_unread(struct import *p, const struct value *meta)
{
	const struct value *unread = value_get(meta, UNREAD);

	for (size_t i = 0; unread && i < value_pairs(unread); i++)
		ingest_warn(
			p->in,
			"the database has no usable %s; what it has is in the metadata, " UNREAD,
			value_key(unread, i)->str.data);
	if (p->negative)
		ingest_warn(p->in, "%zu CPU times of the database are negative: left out",
			    p->negative);
}

/* The metadata of a job as in EPMT's files, and what only the database has. */
static struct value *read_meta(struct store *from, const char *jobid)
{
	static const struct {
		const char *key;
		enum job_column column;
	} dicts[] = {{"job_tags", J_TAGS},          {"annotations", J_NOTES},
		     {"analyses", J_ANALYSES},      {"info_dict", J_INFO},
		     {"job_pl_env", J_ENV},         {"job_el_env", J_ENV},
		     {"job_env_changes", J_CHANGES}};
	_cleanup_stmt_ struct stmt *st = store_query(from, JOB_COLUMNS, db_str(jobid));
	_cleanup_value_ struct value *unread = value_new(VALUE_DICT);
	int64_t zone_us;

	if (stmt_step(st) != 1)
		return NULL;
	const int64_t *zone = find_zone(from, jobid, &zone_us) ? &zone_us : NULL;
	struct value *meta = value_new(VALUE_DICT);
	value_set(meta, "job_pl_id", value_str(jobid));
	epmt_text(meta, "job_jobname", st, J_NAME);
	epmt_text(meta, "job_pl_username", st, J_USER);
	set_time(meta, "job_pl_submit_ts", stmt_get_str(st, J_SUBMIT), zone);
	set_time(meta, "job_pl_start_ts", stmt_get_str(st, J_START), zone);
	set_time(meta, "job_el_stop_ts", stmt_get_str(st, J_END), zone);
	if (!stmt_is_null(st, J_EXIT))
		value_set(meta, "job_el_exitcode", value_int(stmt_get_int(st, J_EXIT)));
	for (size_t i = 0; i < ARRAY_SIZE(dicts); i++)
		value_set(meta, dicts[i].key, epmt_json(st, dicts[i].column, dicts[i].key, unread));
	keep_unread_time(meta, "job_pl_start_ts", st, J_START, unread);
	keep_unread_time(meta, "job_el_stop_ts", st, J_END, unread);
	if (value_pairs(unread))
		value_set(meta, UNREAD, value_ref(unread));
	epmt_text(meta, "epmt_created_at", st, J_CREATED);
	epmt_text(meta, "epmt_updated_at", st, J_UPDATED);
	return meta;
}

/* ---- processes ------------------------------------------------------------------------------ */

struct copying {
	struct import *p;
	struct papiex_reader *reader; /* of the columns in header */
	struct strbuf header, line;
	bool shifted; /* papiex misread some columns */
};

static int take_thread(void *user, const struct row *thread)
{
	struct copying *c = user;

	return ingest_thread(c->p->in, thread);
}

static int take_process(void *user, const struct row *process, uint64_t rssmax_sum, size_t tids)
{
	struct copying *c = user;
	struct ingest_state state = {
		.ended = row_get(process, METRIC_EXITSIGNAL, 0) ? ENDED_SIGNAL : ENDED_EXIT,
		.source = BY_PRELOAD,
	};

	return ingest_process(c->p->in, process, state, rssmax_sum, tids);
}

static int finish_reader(struct copying *c)
{
	int r = c->reader ? papiex_reader_finish(c->reader, c->p->why) : 0;

	if (c->reader)
		c->shifted |= papiex_reader_shifted(c->reader);
	papiex_reader_free(c->reader);
	c->reader = NULL;
	return r;
}

static int feed(struct copying *c, const struct strbuf *text)
{
	return papiex_reader_feed(c->reader, text->buf, text->len, c->p->why);
}

/* A reader for rows with these columns; the previous one is used again if they are the same. */
static int use_columns(struct copying *c, const struct strbuf *header)
{
	const struct papiex_receiver to = {c, take_thread, take_process};

	if (c->reader && c->header.len == header->len &&
	    !memcmp(c->header.buf, header->buf, header->len))
		return 0;
	int r = finish_reader(c);
	if (r < 0)
		return r;
	strbuf_reset(&c->header);
	strbuf_add(&c->header, header->buf, header->len);
	c->reader = papiex_reader_new(&to, NULL, 0, NULL, c->p->why);
	return c->reader ? feed(c, header) : -EBADMSG;
}

static void add_field(struct strbuf *out, const struct value *v)
{
	if (v->kind == VALUE_INT)
		strbuf_addf(out, "%lld", (long long)v->integer);
	else if (v->kind == VALUE_REAL && v->real - v->real == 0)
		strbuf_addf(out, "%.0f", v->real);
	else if (v->kind == VALUE_STR)
		papiex_add_text(out, v->str.data, v->str.size, true);
}

/* Subtracts the rows of further threads from that of the first. */
static bool is_of_process(const char *key)
{
	static const char *const keys[] = {
		"tags", "hostname", "exename",    "path", "args", "exitcode", "exitsignal",
		"pid",  "ppid",     "generation", "pgid", "sid",  "numtids",  "numranks"};

	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (!strcmp(keys[i], key))
			return true;
	return false;
}

static bool is_negative_time(const char *key, const struct value *v)
{
	return (!strcmp(key, "usertime") || !strcmp(key, "systemtime")) &&
	       ((v->kind == VALUE_INT && v->integer < 0) || (v->kind == VALUE_REAL && v->real < 0));
}

static int take_row(struct copying *c, const struct value *thread, bool first)
{
	_cleanup_strbuf_ struct strbuf header = STRBUF_INIT;

	strbuf_reset(&c->line);
	for (size_t i = 0; i < value_pairs(thread); i++) {
		const struct value *key = value_key(thread, i), *v = value_at(thread, i);

		if (key->kind != VALUE_STR)
			continue;
		if (header.len) {
			strbuf_addch(&header, ',');
			strbuf_addch(&c->line, ',');
		}
		papiex_add_text(&header, key->str.data, key->str.size, true);
		if (is_negative_time(key->str.data, v))
			c->p->negative++;
		else if (first || !is_of_process(key->str.data))
			add_field(&c->line, v);
	}
	strbuf_addch(&header, '\n');
	strbuf_addch(&c->line, '\n');
	int r = first ? use_columns(c, &header) : 0;
	return r < 0 ? r : feed(c, &c->line);
}

/* Reads the rows of one process, one at a time: there may be thousands of threads. */
static int take_rows(struct copying *c, const char *text, size_t n)
{
	bool first = true;
	int r = 0;

	for (size_t i = 0; i < n && r == 0;) {
		_cleanup_strbuf_ struct strbuf one = STRBUF_INIT;
		_cleanup_value_ struct value *thread = NULL;

		if (text[i] != '{') {
			i++;
			continue;
		}
		i = copy_json(text, n, i, &one);
		r = value_from_json(one.buf, one.len, &thread, c->p->why);
		if (r == 0)
			r = take_row(c, thread, first);
		first = false;
	}
	if (r == 0 && first) {
		strbuf_addstr(c->p->why, "a process has no rows of threads");
		r = -EBADMSG;
	}
	return r;
}

static int take_processes(struct copying *c, struct store *from, const char *jobid)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		from,
		"SELECT id, CAST(threads_df AS TEXT) FROM processes WHERE jobid = $1 ORDER BY id",
		db_str(jobid));
	int r = 0, more = 0;

	while (r == 0 && (more = stmt_step(st)) == 1) {
		size_t n = 0;
		const char *text = stmt_get_text(st, 1, &n);

		r = take_rows(c, text ? text : "", n);
		if (r < 0)
			return import_fail(c->p, r, "processes", NULL);
	}
	if (!st || more < 0) {
		strbuf_addstr(c->p->why, store_error(from));
		return -EIO;
	}
	r = finish_reader(c);
	return r < 0 ? import_reading_failed(c->p, r, "processes") : 0;
}

static int add_hosts(struct import *p, struct store *from, const char *jobid)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		from, "SELECT hostname FROM host_job_associations WHERE jobid = $1", db_str(jobid));
	int r;

	while ((r = stmt_step(st)) == 1)
		ingest_host(p->in, stmt_get_str(st, 0));
	if (r < 0)
		strbuf_addstr(p->why, store_error(from));
	return r < 0 ? r : 0;
}

static int copy_job(struct import *p, struct store *from, const char *jobid)
{
	struct copying c = {.p = p, .header = STRBUF_INIT, .line = STRBUF_INIT};
	_cleanup_value_ struct value *meta = read_meta(from, jobid);

	if (!meta) {
		strbuf_addf(p->why, "its row cannot be read: %s", store_error(from));
		return -EIO;
	}
	int r = ingest_begin(&p->in, p->store, p->why);
	if (r == 0)
		r = import_take_meta(p, meta, jobid);
	if (r == 0)
		r = add_hosts(p, from, jobid);
	if (r == 0)
		r = take_processes(&c, from, jobid);
	papiex_reader_free(c.reader);
	strbuf_release(&c.header);
	strbuf_release(&c.line);
	if (r == 0 && c.shifted)
		ingest_warn(p->in, PAPIEX_SHIFTED);
	if (r == 0)
		warn_unread(p, meta);
	if (r == 0)
		r = ingest_finish(p->in, &p->meta, "epmt database", from->where, false,
				  &p->result->sums, p->why);
	return r;
}

/* ---- all of it ------------------------------------------------------------------------------ */

static int list_jobs(struct store *from, struct value **ret, struct strbuf *why)
{
	_cleanup_stmt_ struct stmt *st =
		stmt_prepare(from, "SELECT jobid FROM jobs ORDER BY created_at, jobid");
	_cleanup_value_ struct value *list = value_new(VALUE_LIST);
	int r;

	while ((r = stmt_step(st)) == 1)
		value_append(list, stmt_is_null(st, 0) ? value_new(VALUE_NONE)
						       : value_str(stmt_get_str(st, 0)));
	if (r < 0)
		strbuf_addstr(why, store_error(from));
	else
		*ret = value_ref(list);
	return r < 0 ? r : 0;
}

static int import_job(struct store *from, struct store *to, const char *jobid,
		      struct database_import *sum, struct strbuf *why)
{
	const struct import_options options = {0};
	int r = -ESTALE;

	if (!jobid || !*jobid || !utf8_valid(jobid, strlen(jobid))) {
		strbuf_addstr(why, "its id is null, empty or not UTF-8; give it another in the "
				   "database and import again");
		return -EBADMSG;
	}
	for (int i = 0; r == -ESTALE && i < IMPORT_TRIES_MAX; i++) {
		struct import_result result = {0};
		struct import p = {.o = &options, .store = to, .result = &result, .why = why};

		strbuf_reset(why);
		import_begin(&p);
		r = copy_job(&p, from, jobid);
		if (r == 0)
			sum->processes += result.sums.processes;
		import_end(&p);
		import_result_release(&result);
	}
	return r;
}

static int import_database(struct store *from, struct store *to, database_import_told told,
			   void *user, struct database_import *ret, struct strbuf *why)
{
	_cleanup_value_ struct value *jobs = NULL;
	int r = list_jobs(from, &jobs, why);

	*ret = (struct database_import){.jobs = jobs ? jobs->list.count : 0};
	for (size_t i = 0; r == 0 && jobs && i < jobs->list.count; i++) {
		_cleanup_strbuf_ struct strbuf sentence = STRBUF_INIT;
		const struct value *id = jobs->list.items[i];
		const char *jobid = id->kind == VALUE_STR ? id->str.data : "";
		int one = import_job(from, to, jobid, ret, &sentence);

		ret->stored += one == 0;
		ret->there += one == -EEXIST;
		ret->failed += one < 0 && one != -EEXIST;
		told(user, ret, i + 1, jobid, one, sentence.buf);
		if (one == -ENOSPC || one == -EROFS || (one == -EAGAIN && store_moved(to))) {
			strbuf_add(why, sentence.buf, sentence.len);
			r = one;
		}
	}
	return r < 0 ? r : epmt_copy_models(from, to, &ret->models, why);
}

const struct database database_epmt = {
	.tool = "EPMT",
	.recognises = is_epmt,
	.import = import_database,
};
