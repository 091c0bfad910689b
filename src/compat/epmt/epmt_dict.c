/* Jobs, processes and threads as EPMT's dicts; see epmt_dict.h. */
#include "compat/epmt/epmt_dict.h"

#include <errno.h>
#include <string.h>

#include "compat/epmt/epmt_filter.h"
#include "core/text/text.h"
#include "jobs/tags.h"
#include "store/job_metadata.h"

/* ---- columns -------------------------------------------------------------------------------- */

/* PARENT: the number of a process in its job; SERVER_TIME: without the time zone of the job. */
enum kind { NUMBER, TEXT, TIME, SERVER_TIME, TAGS, PARENT };

/* A column of the store under EPMT's name. */
struct column {
	const char *name, *column;
	enum kind kind;
};

static struct value *column_value(struct stmt *st, int i, const struct column *c, const char *zone,
				  int64_t job)
{
	if (c->kind == TAGS)
		return tags_parse(stmt_is_null(st, i) ? "" : stmt_get_str(st, i), NULL);
	if (stmt_is_null(st, i))
		return value_new(VALUE_NONE);
	switch (c->kind) {
	case TEXT:
		return value_str(stmt_get_str(st, i));
	case TIME:
	case SERVER_TIME:
		return jobmeta_local_time(stmt_get_int(st, i), c->kind == TIME ? zone : NULL);
	case PARENT:
		return value_int(store_key(job, (uint32_t)stmt_get_int(st, i)));
	default:
		return value_int(stmt_get_int(st, i));
	}
}

static void add_select(struct sql *q, const struct column *c, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		sql_add(q, i ? ", " : "SELECT ");
		sql_add(q, c[i].column);
	}
}

/* ---- jobs ----------------------------------------------------------------------------------- */

/* A metric never replaces what the job itself has: num_threads is the number of threads, as in
 * EPMT, which does not add up that metric nor the time at which each thread began. */
static bool is_summed(const struct value *all, const char *metric)
{
	return strcmp(metric, "starttime") != 0 && strcmp(metric, "numtids") != 0 &&
	       !value_get(all, metric);
}

static int add_sums(struct store *s, int64_t job, const struct value *all, struct value *to,
		    struct strbuf *names)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		s, "SELECT metric, sum FROM job_sum WHERE job = $1 ORDER BY metric", db_int(job));
	int r;

	while ((r = stmt_step(st)) == 1) {
		const char *name = stmt_get_str(st, 0);

		if (!is_summed(all, name))
			continue;
		value_set(to, name, value_int(stmt_get_int(st, 1)));
		strbuf_addf(names, "%s%s", names->len ? "," : "", name);
	}
	return r < 0 ? r : 0;
}

static int add_pairs(struct store *s, const char *sql, int64_t job, struct value *all,
		     const char *name, bool json)
{
	_cleanup_stmt_ struct stmt *st = store_query(s, sql, db_int(job));
	struct value *dict = value_new(VALUE_DICT);
	int r;

	while ((r = stmt_step(st)) == 1) {
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

/* Every set of tags that processes have, each once; those without any are not among them. */
static int add_proc_tags(struct store *s, int64_t job, struct value *to)
{
	_cleanup_stmt_ struct stmt *st =
		store_query(s, "SELECT tags FROM job_proc_tags WHERE job = $1", db_int(job));
	_cleanup_value_ struct value *sorted = value_new(VALUE_DICT);
	struct value *list = value_new(VALUE_LIST);
	int r;

	while ((r = stmt_step(st)) == 1) {
		struct value *tags = tags_parse(stmt_get_str(st, 0), NULL);
		_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

		value_sort(tags);
		value_to_json(tags, &j, NULL);
		if (value_pairs(tags))
			value_set(sorted, j.out.buf, tags);
		else
			value_free(tags);
	}
	value_sort(sorted); /* by their JSON text, as EPMT does */
	for (size_t i = 0; i < value_pairs(sorted); i++)
		value_append(list, value_ref(value_at(sorted, i)));
	value_set(to, "all_proc_tags", list);
	return r < 0 ? r : 0;
}

static const struct column job_columns[] = {
	{"jobid", "jobid", TEXT},
	{"jobname", "jobname", TEXT},
	{"user", "username", TEXT},
	{"exitcode", "exitcode", NUMBER},
	{"duration", "duration_us", NUMBER},
	{"cpu_time", "cpu_us", NUMBER},
	{"start", "start_us", TIME},
	{"end", "end_us", TIME},
	{"submit", "submit_us", TIME},
	{"created_at", "ingested_us", SERVER_TIME},
	{"updated_at", "ingested_us", SERVER_TIME},
};

static int add_metadata(struct store *s, int64_t job, const char *zone, struct value *all)
{
	_cleanup_sql_ struct sql q = SQL_INIT;

	add_select(&q, job_columns, ARRAY_SIZE(job_columns));
	sql_add(&q, " FROM job WHERE no = ");
	sql_int(&q, job);
	_cleanup_stmt_ struct stmt *st = sql_prepare(&q, s);
	int r = stmt_step(st);
	for (int i = 0; r == 1 && i < (int)ARRAY_SIZE(job_columns); i++)
		value_set(all, job_columns[i].name,
			  column_value(st, i, &job_columns[i], zone, job));
	return r < 0 ? r : 0;
}

static int add_counts(struct store *s, int64_t job, struct value *to)
{
	_cleanup_stmt_ struct stmt *st =
		store_query(s, "SELECT num_procs, num_threads FROM job WHERE no = $1", db_int(job));

	int r = stmt_step(st);

	if (r == 1) {
		value_set(to, "num_procs", value_int(stmt_get_int(st, 0)));
		value_set(to, "num_threads", value_int(stmt_get_int(st, 1)));
	}
	return r < 0 ? r : 0;
}

/* The metadata as submitted; an empty dict if there is none. */
static int read_meta(struct store *s, int64_t job, struct value **ret)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int r = jobmeta_load(s, job, ret, &why);

	if (r <= 0)
		*ret = value_new(VALUE_DICT);
	return r < 0 && !why.len ? r : 0;
}

static struct value *dict_of(const struct value *meta, const char *epmt, const char *ours)
{
	struct value *v = value_get(meta, epmt);

	if (!v)
		v = value_get(meta, ours);
	return v && v->kind == VALUE_DICT ? value_ref(v) : value_new(VALUE_DICT);
}

/* Where a job came from and how it ended, as EPMT's info_dict has it. */
static struct value *info_dict(const struct value *meta, const struct value *all, const char *zone,
			       const char *metric_names)
{
	struct value *kept = value_get(meta, "info_dict");

	if (kept && kept->kind == VALUE_DICT) /* of a job from EPMT's own database */
		return value_ref(kept);
	struct value *info = value_new(VALUE_DICT), *status = value_new(VALUE_DICT);
	const char *reason = value_get_str(meta, "job_el_reason");
	const char *script = value_get_str(value_get(meta, "job_pl_env"), "pp_script");

	if (!reason)
		reason = value_get_str(meta, "reason");
	if (!script)
		script = value_get_str(meta, "script");
	value_set(status, "exit_code", value_ref(value_get(all, "exitcode")));
	value_set(status, "exit_reason", value_str(reason ? reason : "none"));
	if (script) {
		value_set(status, "script_path", value_str(script));
		value_set(status, "script_name", value_ref(value_get(all, "jobname")));
	}
	_cleanup_free_ char *shown = zone && *zone == '<' /* "<+0530>-05:30" */
					     ? xasprintf("UTC%.3s:%.2s", zone + 1, zone + 4)
					     : zone ? xstrdup(zone) : NULL;
	value_set(info, "tz", shown ? value_str(shown) : value_new(VALUE_NONE));
	value_set(info, "status", status);
	value_set(info, "procs_in_process_table", value_int(1));
	value_set(info, "post_processed", value_int(1));
	value_set(info, "metric_names", value_str(metric_names));
	return info;
}

int epmt_models(struct store *s, struct value **ret)
{
	_cleanup_stmt_ struct stmt *st = stmt_prepare(s, "SELECT json FROM model ORDER BY name");
	_cleanup_value_ struct value *list = value_new(VALUE_LIST);
	int r;

	while ((r = stmt_step(st)) == 1) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		struct value *model = NULL;
		size_t n = 0;
		const char *text = stmt_get_text(st, 0, &n);

		if (text && value_from_json(text, n, &model, &why) == 0)
			value_append(list, model);
	}
	if (r < 0)
		return r;
	*ret = value_ref(list);
	return 0;
}

/* The names of the models that a job is part of; no key if there are none. */
static int add_models(struct store *s, struct value *all)
{
	_cleanup_value_ struct value *models = NULL, *names = value_new(VALUE_LIST);
	const char *jobid = value_get_str(all, "jobid");
	int r = epmt_models(s, &models);

	for (size_t i = 0; r == 0 && i < models->list.count; i++) {
		const struct value *model = models->list.items[i], *jobs = value_get(model, "jobs");
		const char *name = value_get_str(model, "name");

		for (size_t k = 0; name && jobs && k < jobs->list.count; k++)
			if (!strcmp(jobs->list.items[k]->str.data, jobid))
				value_append(names, value_str(name));
	}
	if (names->list.count)
		value_set(all, "ref_models", value_ref(names));
	return r;
}

int epmt_job_dict(struct store *s, int64_t job, bool separate_sums, struct value **ret)
{
	_cleanup_value_ struct value *all = value_new(VALUE_DICT), *meta = NULL,
				     *own = value_new(VALUE_DICT);
	_cleanup_strbuf_ struct strbuf metric_names = STRBUF_INIT;
	struct value *sums = separate_sums ? own : all;
	int r = read_meta(s, job, &meta);
	_cleanup_free_ char *zone = r < 0 ? NULL : jobmeta_zone(meta);

	if (r == 0)
		r = add_metadata(s, job, zone, all);
	if (r == 0)
		r = add_pairs(s, "SELECT key, value FROM job_tag WHERE job = $1 ORDER BY key", job,
			      all, "tags", false);
	if (r == 0)
		r = add_pairs(s,
			      "SELECT key, value FROM job_annotation WHERE job = $1 ORDER BY key",
			      job, all, "annotations", true);
	if (r == 0)
		r = add_pairs(s, "SELECT key, value FROM job_analysis WHERE job = $1 ORDER BY key",
			      job, all, "analyses", true);
	if (r == 0)
		r = add_counts(s, job, sums);
	if (r == 0)
		r = add_proc_tags(s, job, sums);
	if (r == 0)
		r = add_sums(s, job, sums, sums, &metric_names);
	if (r == 0)
		r = add_models(s, all);
	if (r < 0)
		return r;
	value_set(all, "env_dict", dict_of(meta, "job_pl_env", "environment"));
	value_set(all, "env_changes_dict", dict_of(meta, "job_env_changes", "environment_changes"));
	value_set(all, "info_dict", info_dict(meta, all, zone, metric_names.buf));
	if (separate_sums)
		value_set(all, "proc_sums", value_ref(own));
	value_sort(all);
	*ret = value_ref(all);
	return 0;
}

/* ---- processes ------------------------------------------------------------------------------ */

/* Columns of the view "processes" under EPMT's names; those behind `depth` are sums over threads.
 */
static const struct column process_columns[] = {
	{"id", "j.id", NUMBER},
	{"job", "j.jobid", TEXT},
	{"tags", "j.tags", TAGS},
	{"start", "j.start", TIME},
	{"end", "j.\"end\"", TIME},
	{"jobid", "j.jobid", TEXT},
	{"user", "b.username", TEXT},
	{"host", "j.hostname", TEXT},
	{"exename", "j.exename", TEXT},
	{"path", "j.path", TEXT},
	{"args", "j.args", TEXT},
	{"duration", "j.duration", NUMBER},
	{"cpu_time", "j.cpu_time", NUMBER},
	{"inclusive_cpu_time", "j.inclusive_cpu_time", NUMBER},
	{"numtids", "j.numtids", NUMBER},
	{"pid", "j.pid", NUMBER},
	{"ppid", "j.ppid", NUMBER},
	{"pgid", "j.pgid", NUMBER},
	{"sid", "j.sid", NUMBER},
	{"gen", "j.generation", NUMBER},
	{"exitcode", "j.exitcode", NUMBER},
	{"exitsignal", "j.exitsignal", NUMBER},
	{"mpinumranks", "j.numranks", NUMBER},
	{"mpirank", "j.mpirank", NUMBER},
	{"parent", "j.parent", PARENT},
	{"depth", "j.depth", NUMBER},
};

/* What processes and threads both have, in EPMT's order. */
#define USAGE_COLUMNS                                                                  \
	"usertime", "systemtime", "rssmax", "minflt", "majflt", "inblock", "outblock", \
		"vol_ctxsw", "invol_ctxsw"
#define TASK_COLUMNS                                                                           \
	"processor", "delayacct_blkio_time", "guest_time", "rchar", "wchar", "syscr", "syscw", \
		"read_bytes", "write_bytes", "cancelled_write_bytes", "time_oncpu",            \
		"time_waiting", "timeslices", "rdtsc_duration"

static const char *const sum_columns[] = {
	USAGE_COLUMNS, "cminflt", "cmajflt", "cutime", "cstime", TASK_COLUMNS,
};

/* Processes that one statement gives. */
#define BATCH 64

/* The jobs with these ids, or all. */
static int find_jobs(struct store *s, char *const *ids, size_t count, int64_t **ret, size_t *ret_n)
{
	struct job_filter f = {.ids = ids, .id_count = count, .limit = NO_LIMIT};
	struct job_query jq;
	size_t cap = 0;
	int r = job_query_begin(&jq, s, "j.jobid, j.no", &f);

	while (r >= 0 && (r = job_query_next(&jq)) == 1) {
		GROW(*ret, *ret_n, cap);
		(*ret)[(*ret_n)++] = stmt_get_int(jq.st, 1);
	}
	job_query_end(&jq);
	return r;
}

static struct stmt *prepare_batch(struct store *s)
{
	_cleanup_strbuf_ struct strbuf q = STRBUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(process_columns); i++)
		strbuf_addf(&q, "%s%s", i ? ", " : "SELECT ", process_columns[i].column);
	for (size_t i = 0; i < ARRAY_SIZE(sum_columns); i++)
		strbuf_addf(&q, ", j.%s", sum_columns[i]);
	strbuf_addstr(&q, ", j.job FROM (VALUES ");
	for (int i = 0; i < BATCH; i++)
		strbuf_addf(&q, "%s($%d, %d)", i ? ", " : "", i + 1, i);
	strbuf_addstr(&q, ") AS w JOIN processes j ON j.id = w.column1 JOIN job b ON b.no = j.job "
			  "ORDER BY w.column2");
	return stmt_prepare(s, q.buf);
}

int epmt_processes_begin(struct epmt_processes *p, struct store *s, const struct epmt_filter *f,
			 char *const *ids, size_t id_count)
{
	struct proc_filter how = {
		.where = f->where, .order = f->order, .limit = f->limit, .offset = f->offset};
	_cleanup_free_ int64_t *jobs = NULL;
	size_t count = 0;

	*p = (struct epmt_processes){.filter = f, .store = s};
	int r = find_jobs(s, ids, id_count, &jobs, &count);
	if (r >= 0)
		r = proc_list_load_jobs(&p->list, s, jobs, count, &how);
	if (r < 0)
		return r;
	p->st = prepare_batch(s);
	p->events = stmt_prepare(s, "SELECT event, value FROM events WHERE process = $1 AND "
				    "thread = 0 ORDER BY event");
	return p->st && p->events ? 0 : -EIO;
}

/* No process has the id 0. */
static void bind_batch(struct epmt_processes *p)
{
	for (int i = 0; i < BATCH; i++, p->next += p->next < p->list.count)
		stmt_int(p->st, i + 1, p->next < p->list.count ? p->list.ids[p->next] : 0);
}

int epmt_processes_next(struct epmt_processes *p)
{
	int r = p->next ? stmt_step(p->st) : 0;

	while (r == 0 && p->next < p->list.count) {
		bind_batch(p);
		r = stmt_step(p->st);
	}
	return r;
}

int64_t epmt_process_id(const struct epmt_processes *p)
{
	return stmt_get_int(p->st, 0);
}

static int know_zone(struct epmt_processes *p, int64_t job)
{
	_cleanup_value_ struct value *meta = NULL;

	if (p->job == job)
		return 0;
	int r = read_meta(p->store, job, &meta);
	free(p->zone);
	p->zone = r < 0 ? NULL : jobmeta_zone(meta);
	p->job = job;
	return r;
}

int epmt_process_dict(struct epmt_processes *p, struct value **ret)
{
	int columns = (int)ARRAY_SIZE(process_columns), sums = (int)ARRAY_SIZE(sum_columns);
	struct value *all = value_new(VALUE_DICT), *to = all;
	int64_t job = stmt_get_int(p->st, columns + sums);
	int r = know_zone(p, job);

	for (int i = 0; r == 0 && i < columns; i++)
		value_set(all, process_columns[i].name,
			  column_value(p->st, i, &process_columns[i], p->zone, job));
	if (p->filter->separate_sums)
		to = value_new(VALUE_DICT);
	for (int i = 0; r == 0 && i < sums; i++)
		if (!stmt_is_null(p->st, columns + i))
			value_set(to, sum_columns[i], value_int(stmt_get_int(p->st, columns + i)));
	stmt_int(p->events, 1, epmt_process_id(p));
	while (r >= 0 && (r = stmt_step(p->events)) == 1)
		value_set(to, stmt_get_str(p->events, 0), value_int(stmt_get_int(p->events, 1)));
	stmt_reset(p->events);
	if (to != all)
		value_set(all, "threads_sums", to);
	*ret = all;
	return r < 0 ? r : 0;
}

void epmt_processes_end(struct epmt_processes *p)
{
	stmt_finish_ptr(&p->st);
	stmt_finish_ptr(&p->events);
	proc_list_release(&p->list);
	free(p->zone);
}

/* ---- threads -------------------------------------------------------------------------------- */

static const char *const thread_columns[] = {
	"tid", "start", "\"end\"", USAGE_COLUMNS, "starttime", TASK_COLUMNS,
};

static int add_thread_events(struct store *s, int64_t process, int64_t thread, struct value *to)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		s,
		"SELECT event, value FROM events WHERE process = $1 AND thread = $2 ORDER BY event",
		db_int(process), db_int(thread));
	int r;

	while ((r = stmt_step(st)) == 1)
		value_set(to, stmt_get_str(st, 0), value_int(stmt_get_int(st, 1)));
	return r < 0 ? r : 0;
}

/* Rows of `from`, whose last two columns are the thread's number and the process. */
static int read_threads(struct store *s, int64_t process, const char *from, struct value *list)
{
	int columns = (int)ARRAY_SIZE(thread_columns);
	_cleanup_sql_ struct sql q = SQL_INIT;

	for (int i = 0; i < columns; i++) {
		bool tid = i == 0 && !strcmp(from, "processes");

		sql_add(&q, i ? ", " : "SELECT ");
		sql_add(&q, tid ? "pid" : thread_columns[i]);
	}
	sql_add(&q, !strcmp(from, "threads") ? ", n FROM threads WHERE process = "
					     : ", 0 FROM processes WHERE id = ");
	sql_int(&q, process);
	sql_add(&q, !strcmp(from, "threads") ? " ORDER BY n" : "");
	_cleanup_stmt_ struct stmt *st = sql_prepare(&q, s);
	int r = 0;
	while (r >= 0 && (r = stmt_step(st)) == 1) {
		struct value *row = value_new(VALUE_DICT);

		for (int i = 0; i < columns; i++)
			value_set(row, i == 2 ? "end" : thread_columns[i],
				  stmt_is_null(st, i) ? value_new(VALUE_NONE)
						      : value_int(stmt_get_int(st, i)));
		value_append(list, row);
		r = add_thread_events(s, process, stmt_get_int(st, columns), row);
		value_set(row, "process_pk", value_int(process));
	}
	return r < 0 ? r : 0;
}

int epmt_thread_dicts(struct store *s, int64_t process, struct value *list)
{
	size_t before = list->list.count;
	int r = read_threads(s, process, "threads", list);

	/* the only thread of a process is the process */
	if (r == 0 && list->list.count == before)
		r = read_threads(s, process, "processes", list);
	return r < 0 ? r : list->list.count == before ? -ENOENT : 0;
}
