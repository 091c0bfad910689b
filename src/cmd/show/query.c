/* plimsoll query: jobs and processes that match a filter. */
#include <errno.h>
#include <string.h>

#include "cmd/actions.h"
#include "views/filter_keys.h"
#include "views/stream_table.h"
#include "views/jobs/job_list.h"
#include "views/processes/process_histogram.h"

struct query_options {
	bool procs, ids, numbers, keys;
	enum proc_form form;
	const char *order;
	uint64_t limit, offset;
	struct proc_histogram histogram; /* its key NULL: list */
};

static enum filter_scope scope_of(const struct query_options *o)
{
	return o->procs ? FILTER_PROCESSES : FILTER_JOBS;
}

/* A filter may be several words, which the shell separated. */
static int parse(struct filter *f, int argc, char **argv)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;

	for (int i = 0; i < argc; i++)
		strbuf_addf(&text, "%s%s", i ? " " : "", argv[i]);
	int r = filter_parse(f, text.buf, &why);
	if (r < 0)
		log_error("filter: %s", why.buf);
	return r;
}

static int print_jobs(const struct query_options *o, struct store *s, struct filter *where)
{
	static const enum joblist_form forms[] = {
		[PROC_TABLE] = JOBLIST_TABLE, [PROC_JSON] = JOBLIST_JSON, [PROC_CSV] = JOBLIST_CSV};
	struct job_filter f = {
		.where = where, .order = o->order, .limit = o->limit, .offset = o->offset};
	bool none = false, output = false;
	int r = joblist_print(s, &f, o->ids ? JOBLIST_IDS : forms[o->form], stdout, &none, &output);

	if (output)
		return fail_with(r, "cannot write: %s", strerror(-r));
	if (r == 0 && none)
		log_warn("no job in '%s' matches the filter", s->where);
	return r < 0 ? fail_with(r, "%s", store_error(s)) : 0;
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* One per line, or as an array, or as a column with the name that it has in the views. */
struct number_list {
	enum proc_form form;
	struct json_rows json;
	struct stream_table csv;
};

static void numbers_begin(struct number_list *l, const struct query_options *o)
{
	static const struct terminal_table_column job = {"job", 0}, id = {"id", 0};

	l->form = o->form;
	if (o->form == PROC_JSON)
		json_rows_begin(&l->json, stdout);
	else if (o->form == PROC_CSV)
		stream_table_begin(&l->csv, o->procs ? &id : &job, 1, true, stdout);
}

static void numbers_add(struct number_list *l, int64_t n)
{
	if (l->form == PROC_JSON) {
		json_i64(&l->json.j, NULL, n);
		json_rows_next(&l->json);
	} else if (l->form == PROC_CSV) {
		stream_table_number(&l->csv, n);
		stream_table_row(&l->csv, 0);
	} else {
		printf("%lld\n", (long long)n);
	}
}

static int numbers_end(struct number_list *l)
{
	return l->form == PROC_JSON  ? json_rows_end(&l->json)
	       : l->form == PROC_CSV ? stream_table_end(&l->csv)
				     : output_error(stdout);
}

/* The numbers that jobs have in the store. */
static int print_numbers(const struct query_options *o, struct store *s, struct filter *where)
{
	struct job_filter f = {
		.where = where, .order = o->order, .limit = o->limit, .offset = o->offset};
	struct number_list l;
	struct job_query jq;
	int r = job_query_begin(&jq, s, "j.jobid, j.no", &f);

	numbers_begin(&l, o);
	while (r >= 0 && (r = job_query_next(&jq)) == 1)
		numbers_add(&l, stmt_get_int(jq.st, 1));
	job_query_end(&jq);
	int written = numbers_end(&l);
	if (r < 0)
		return fail_with(r, "%s", store_error(s));
	r = written;
	return r < 0 ? fail_with(r, "cannot write: %s", strerror(-r)) : 0;
}

/* ---- processes ------------------------------------------------------------------------------ */

struct job_numbers {
	int64_t *v;
	size_t count, cap;
};

static void numbers_release(struct job_numbers *n)
{
	free(n->v);
}

/* The jobs in which a filter of processes can match, in the order of their start. */
static int find_jobs(struct job_numbers *n, struct store *s, struct filter *where)
{
	_cleanup_sql_ struct sql q = SQL_INIT;
	int r;

	sql_add(&q, "SELECT j.no FROM job j WHERE ");
	filter_add_jobs_of(&q, where, s->engine);
	sql_add(&q, " ORDER BY j.start_us NULLS LAST, j.no");
	_cleanup_stmt_ struct stmt *st = sql_prepare(&q, s);
	while ((r = stmt_step(st)) == 1) {
		GROW(n->v, n->count, n->cap);
		n->v[n->count++] = stmt_get_int(st, 0);
	}
	return r;
}

static int print_ids(const struct query_options *o, const struct proc_list *l)
{
	struct number_list out;

	numbers_begin(&out, o);
	for (size_t i = 0; i < l->count; i++)
		numbers_add(&out, l->ids[i]);
	return numbers_end(&out);
}

static int print_processes(const struct query_options *o, struct store *s, struct filter *where)
{
	struct proc_filter f = {
		.where = where, .order = o->order, .limit = o->limit, .offset = o->offset};
	_cleanup_(numbers_release) struct job_numbers jobs = {0};
	_cleanup_(proc_list_release) struct proc_list l = {0};

	strbuf_reset(&s->error);
	int r = find_jobs(&jobs, s, where);
	if (r >= 0 && o->histogram.key) {
		r = proc_histogram_print(&o->histogram, s, jobs.v, jobs.count, &f, o->form, stdout);
		return r < 0 ? fail_with(r, "%s", s->error.len ? store_error(s) : strerror(-r)) : 0;
	}
	if (r >= 0)
		r = proc_list_load_jobs(&l, s, jobs.v, jobs.count, &f);
	if (r >= 0)
		r = o->ids || o->numbers ? print_ids(o, &l)
					 : proc_list_print_jobs(&l, s, o->form, stdout);
	if (r >= 0 && !l.count && !o->ids && !o->numbers && o->form == PROC_TABLE)
		log_warn("no process in '%s' matches the filter", s->where);
	if (r < 0)
		log_error("%s", s->error.len ? store_error(s) : strerror(-r));
	return r;
}

/* ---- command -------------------------------------------------------------------------------- */

static int run(struct context *ctx, int argc, char **argv)
{
	const struct query_options *o = ctx->options;
	_cleanup_filter_ struct filter *where = filter_new(scope_of(o));
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_store_ struct store *s = NULL;

	if (o->keys)
		return filter_keys_print(o->form, stdout) < 0 ? EXIT_FAILED : EXIT_OK;
	if (o->order && !filter_order_known(scope_of(o), o->order, NULL)) {
		log_error("--order: cannot sort %s by '%s'; it takes %s",
			  o->procs ? "processes" : "jobs", o->order,
			  o->procs ? proc_orders : job_orders);
		return EXIT_USAGE;
	}
	if ((o->histogram.key || o->histogram.sum) && !(o->procs && o->histogram.key))
		return usage_error("query",
				   "query: --count-by counts processes and needs --procs, --sum "
				   "needs --count-by");
	if (o->histogram.key && proc_histogram_check(&o->histogram, &why) < 0)
		return usage_error("query", "%s", why.buf);
	if (parse(where, argc, argv) < 0)
		return EXIT_USAGE;
	if (open_store(ctx, STORE_READ, &s) < 0)
		return EXIT_FAILED;
	int r = o->procs     ? print_processes(o, s, where)
		: o->numbers ? print_numbers(o, s, where)
			     : print_jobs(o, s, where);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

/* The keys of jobs, then those of processes, for the manual. */
static bool term(size_t i, struct help_term *ret)
{
	struct filter_key k;
	size_t jobs = 0;

	while (filter_key_at(FILTER_JOBS, jobs, &k))
		jobs++;
	if (!filter_key_at(i < jobs ? FILTER_JOBS : FILTER_PROCESSES, i < jobs ? i : i - jobs, &k))
		return false;
	ret->section = k.scope == FILTER_JOBS ? "KEYS OF JOBS" : "KEYS OF PROCESSES";
	snprintf(ret->name, sizeof(ret->name), "%s%s", k.name,
		 str_suffix(k.name, ".") ? "NAME" : "");
	snprintf(ret->help, sizeof(ret->help), "(%s) %s", filter_type_name(k.type), k.help);
	return true;
}

static const struct option_row rows[] = {
	{OPT_FLAG, 'p', "procs", NULL, "processes instead of jobs",
	 AT(struct query_options, procs)},
	{OPT_TEXT, 0, "order", "KEY", "sort by this key; -KEY for descending order",
	 AT(struct query_options, order)},
	ROW_COUNT_BY(struct query_options),
	{OPT_COUNT, 'n', "limit", "N", "at most N; jobs: the newest unless --order is given",
	 AT(struct query_options, limit)},
	{OPT_COUNT, 0, "offset", "N", "skip the first N", AT(struct query_options, offset)},
	{OPT_FLAG, 0, "ids", NULL, "print only the ids, one per line",
	 AT(struct query_options, ids)},
	{OPT_FLAG, 0, "numbers", NULL,
	 "print only the numbers by which the views of plimsoll-sql(1) know them: the column job of "
	 "jobs, id of processes",
	 AT(struct query_options, numbers)},
	{OPT_FLAG, 0, "keys", NULL, "list the keys that filters can use",
	 AT(struct query_options, keys)},
	ROWS_FORM(struct query_options),
	ROWS_STORE,
};

static const struct query_options defaults = {.limit = NO_LIMIT};

const struct command command_query = {
	.name = "query",
	.summary = "list the jobs or processes that match a filter",
	.operands = {"FILTER", 0, ANY_NUMBER},
	.description =
		"Lists the jobs of the store that match a filter, or with --procs the processes of all "
		"jobs that match one. Other commands take the same filters as --where. Quote a filter "
		"for the shell, because of < > ( ) and '.\n\n"
		"A condition is KEY OPERATOR VALUE. Operators are = and != (with several values, "
		"separated by commas: any of them, none of them), ~ and !~ (a pattern with * and ?; a "
		"text without them is found anywhere), < <= > and >=. A key alone asks whether the "
		"value is known. Conditions are combined by and, or, not and parentheses; `and` binds "
		"more tightly than `or`. A value that has blanks, commas, parentheses, quotes or "
		"operators in it stands in quotes, 'like this'; a quote in it is doubled.\n\n"
		"Durations are 250ms, 90s, 10m, 1.5h, 2d, or a number of seconds. Sizes are 4096 "
		"(bytes), 64K, 500M, 2G. Times are 2026-01-31, '2026-01-31 08:00', the same with a time "
		"zone, seconds since 1970, now, or -2h and -7d before now. A comparison with an unknown "
		"value does not match; `not` selects everything else.\n\n"
		"In a filter of jobs, process(...) selects jobs that have a process matching the filter "
		"in parentheses, and overlaps(...) jobs that ran at the same time as a matching one. In "
		"a filter of processes, job(...) is about their job, and parent(...), child(...), "
		"ancestor(...) and descendant(...) about their relatives: ancestor(pid = 42) selects "
		"the descendants of process 42. Keys that only jobs have, such as jobid, are those of "
		"the job of a process. A metric of a job is the sum over its processes; rssmax is the "
		"maximum.\n\n"
		"A filter that cannot be read is reported with the column of the error; the exit status "
		"is then 2.",
	.examples =
		"  plimsoll query 'duration > 1h and exitcode != 0'\n"
		"  plimsoll query 'tag.exp_name = ESM4 and after = -7d' --order -cpu_time -n 10\n"
		"  plimsoll query --procs 'jobid = 685000 and ancestor(exename = make)'\n"
		"  plimsoll query --procs 'jobid = 685000, 685003' --count-by exename --sum cpu_time\n"
		"  plimsoll query --ids 'process(exename ~ vasp* and rssmax > 100G)'\n",
	OPTIONS(defaults, rows),
	.defaults = &defaults,
	.run = run,
	.term = term,
};
