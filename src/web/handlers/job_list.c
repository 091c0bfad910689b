/*
 * Lists of jobs: the parameters of a request become one filter, which gives a page of jobs, with
 * the names of `list --json`, or the sums over all of them.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "store/job_list.h"
#include "store/query.h"
#include "tables/table.h"
#include "views/jobs/job_list.h"
#include "views/stream_table.h"
#include "web/handlers/handlers.h"

_Static_assert(WEB_PAGE_MAX == JOB_LIST_LIMIT_MAX, "a page of routes is a page of jobs");

/* ---- parameters -------------------------------------------------------------------------------
 */

static int require(struct filter *f, const char *key, enum filter_op op, const char *value,
		   struct strbuf *why)
{
	return filter_require(f, key, op, &value, 1, why);
}

/* The whole day, if it is only a date. */
static int require_until(struct filter *f, const char *value, struct strbuf *why)
{
	bool date = strlen(value) == 10 && value[4] == '-' && value[7] == '-';
	_cleanup_free_ char *until = date ? xasprintf("%s 23:59:59.999999", value) : xstrdup(value);

	return require(f, "start", FILTER_AT_MOST, until, why);
}

static int require_tags(struct filter *f, const struct web_request *q, struct strbuf *why)
{
	struct word_list one = {.count = 1};
	int r = 0;

	for (size_t i = 0; r == 0 && (one.word[0] = web_param_at(q, "tag", i)); i++)
		r = filter_require_tags(f, &one, why);
	return r;
}

static int require_param(struct filter *f, const struct web_request *q, const char *name,
			 struct strbuf *why)
{
	const char *value = web_param(q, name);

	if (!value || !*value)
		return 0;
	if (!strcmp(name, "where"))
		return filter_parse(f, value, why);
	if (!strcmp(name, "text"))
		return require(f, "word", FILTER_IS, value, why);
	if (!strcmp(name, "status"))
		return require(f, "status", FILTER_IS, value, why);
	if (!strcmp(name, "from"))
		return require(f, "start", FILTER_AT_LEAST, value, why);
	if (!strcmp(name, "to"))
		return require_until(f, value, why);
	if (!strcmp(name, "tag"))
		return require_tags(f, q, why);
	return filter_require_pattern(f, name, value, why);
}

/* NULL: the answer is an error that names the parameter. */
static struct filter *selection(const struct web_request *q, struct web_answer *a)
{
	static const char *const names[] = {"where", "text", "user", "status",
					    "host",  "tag",  "from", "to"};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct filter *f = filter_new(FILTER_JOBS);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (require_param(f, q, names[i], &why) < 0) {
			web_fail(a, 400, NULL, "%s: %s", names[i], why.buf);
			filter_free(f);
			return NULL;
		}
	return f;
}

/* ---- pages ------------------------------------------------------------------------------------
 */

/* Marks rows whose id other jobs have, too. */
static int find_namesakes(struct store *s, const struct joblist *l, bool *ret)
{
	_cleanup_sql_ struct sql q = SQL_INIT;
	int r;

	sql_add(&q, "SELECT jobid FROM job WHERE jobid");
	for (size_t i = 0; i < l->count; i++) {
		sql_add(&q, i ? ", " : " IN (");
		sql_text(&q, joblist_text(l, l->rows[i].jobid));
	}
	sql_add(&q, ") GROUP BY jobid HAVING count(*) > 1");
	_cleanup_stmt_ struct stmt *st = l->count ? sql_prepare(&q, s) : NULL;
	if (!l->count)
		return 0;
	while ((r = stmt_step(st)) == 1)
		for (size_t i = 0; i < l->count; i++)
			ret[i] |= !strcmp(joblist_text(l, l->rows[i].jobid), stmt_get_str(st, 0));
	return r;
}

/* The name of a job in links. */
static void put_link(struct json_writer *j, struct store *s, const char *jobid, int64_t job,
		     bool namesakes)
{
	_cleanup_strbuf_ struct strbuf label = STRBUF_INIT;

	if (namesakes && job_label(s, job, jobid, &label) == 0)
		json_text(j, "link", label.buf, label.len);
	else
		json_str(j, "link", jobid);
}

static const char *status_of(const struct job_row *r)
{
	return filter_statuses[r->open                  ? STATUS_RUNNING
			       : r->exitcode == UNKNOWN ? STATUS_UNKNOWN
			       : r->exitcode            ? STATUS_FAILED
							: STATUS_COMPLETED];
}

static void put_page(struct json_writer *j, struct store *s, const struct joblist *l,
		     const struct job_page *page, struct web_answer *a)
{
	_cleanup_free_ bool *namesakes = xcalloc(l->count + 1, sizeof(*namesakes));

	(void)find_namesakes(s, l, namesakes);
	json_begin_object(j, NULL);
	json_begin_array(j, "jobs");
	for (size_t i = 0; i < l->count; i++) {
		const struct job_row *r = &l->rows[i];

		json_begin_object(j, NULL);
		joblist_json_front(l, r, j);
		joblist_json_back(l, r, j);
		json_str(j, "status", status_of(r));
		put_link(j, s, joblist_text(l, r->jobid), r->no, namesakes[i]);
		json_end_object(j);
		a->not_kept |= r->open;
	}
	json_end_array(j);
	if (page->has_total)
		json_i64(j, "total", page->total);
	else
		json_none(j, "total");
	json_str(j, "next", page->next);
	json_end_object(j);
}

/* "-start" without parameters; NULL: the answer is an error. */
static char *order_of(const struct web_request *q, struct web_answer *a)
{
	const char *sort = web_param(q, "sort");

	if (!sort)
		return xstrdup(web_param(q, "desc") && !web_param_flag(q, "desc") ? "start"
										  : "-start");
	if (!filter_order_known(FILTER_JOBS, sort, NULL)) {
		web_fail(a, 400, NULL, "sort: jobs cannot be sorted by '%.40s'; it takes %s", sort,
			 job_orders);
		return NULL;
	}
	return xasprintf("%s%s", web_param_flag(q, "desc") ? "-" : "", sort);
}

/* The columns of `list --csv`. */
static int put_rows(const struct web_request *q, const struct joblist *l, struct web_answer *a)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = open_memstream(&text, &n);

	if (!f)
		return -ENOMEM;
	stream_table_format = q->type->table ? table_format_by_name(q->type->table) : NULL;
	int r = joblist_print_table(l, true, f);
	stream_table_format = NULL;
	if (fclose(f) != 0)
		r = -ENOMEM;
	if (r >= 0)
		strbuf_add(&a->body, text, n);
	free(text);
	a->type = q->type->header;
	return r;
}

static void answer_page(const struct web_request *q, struct store *s,
			const struct job_list_query *what, struct web_answer *a)
{
	_cleanup_job_page_ struct job_page page = {0};
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	_cleanup_joblist_ struct joblist l = JOBLIST_INIT;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	int r = job_list_page(s, what, &page, &why);
	if (r == -EINVAL && why.len) {
		web_fail(a, 400, NULL, "after: %s", why.buf);
		return;
	}
	if (r == 0)
		r = joblist_load_numbers(&l, s, page.jobs, page.count);
	if (r < 0) {
		web_fail_store(a, s, r);
		return;
	}
	if (page.next)
		web_set_next(a, q, "after", page.next);
	if (q->type == WEB_TYPE_JSON) {
		put_page(&j, s, &l, &page, a);
		web_take_json(a, &j);
	} else if ((r = put_rows(q, &l, a)) < 0) {
		web_fail(a, 500, NULL, "cannot make the answer: %s", strerror(-r));
	}
}

void web_jobs(const struct web_request *q, struct store *s, struct web_answer *a)
{
	uint64_t limit = web_param_count(q, "limit", WEB_PAGE_USUAL);
	const char *after = web_param(q, "after");
	_cleanup_free_ char *order = order_of(q, a);
	_cleanup_filter_ struct filter *f = order ? selection(q, a) : NULL;
	if (!f)
		return;
	const struct job_list_query what = {.where = f,
					    .order = order,
					    .limit = (size_t)limit,
					    .after = after && *after ? after : NULL};
	answer_page(q, s, &what, a);
}

/* ---- sums -------------------------------------------------------------------------------------
 */

void web_tiles(const struct web_request *q, struct store *s, struct web_answer *a)
{
	_cleanup_filter_ struct filter *f = selection(q, a);
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	struct job_tiles t;

	if (!f)
		return;
	int r = job_list_tiles(s, f, &t);
	if (r < 0) {
		web_fail_store(a, s, r);
		return;
	}
	a->not_kept |= t.running > 0;
	json_begin_object(&j, NULL);
	json_i64(&j, "jobs", t.jobs);
	json_f64(&j, "cpu_hours", t.cpu_s / 3600);
	json_f64(&j, "core_hours", t.core_s / 3600);
	json_f64(&j, "efficiency", t.efficiency);
	json_f64(&j, "energy_kwh", t.energy_j / 3.6e6);
	json_i64(&j, "energy_jobs", t.energy_jobs);
	json_i64(&j, "failed", t.failed);
	json_i64(&j, "running", t.running);
	json_end_object(&j);
	web_take_json(a, &j);
}
