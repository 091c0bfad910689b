/* Jobs with their hosts, tags and annotations; see job_list.h. */
#include "views/jobs/job_list.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/text/text.h"
#include "store/ingest/merge_streamed.h"
#include "views/jobs/job_details.h"
#include "views/stream_table.h"

/* The tags of up to so many jobs are selected by the jobs' numbers; of more, by the range of them.
 */
#define NAMED_MAX 64

void joblist_release(struct joblist *l)
{
	free(l->rows);
	free(l->entries);
	strbuf_release(&l->texts);
}

const char *joblist_text(const struct joblist *l, size_t place)
{
	return place ? l->texts.buf + place : NULL;
}

/* ---- reading -------------------------------------------------------------------------------- */

static size_t store_bytes(struct joblist *l, struct stmt *st, int column, size_t *ret_n)
{
	const char *s = stmt_get_text(st, column, ret_n);

	if (!s)
		return 0;
	if (!l->texts.len)
		strbuf_addch(&l->texts, 0); /* place 0 means absent */
	size_t place = l->texts.len;
	strbuf_add(&l->texts, s, *ret_n + 1);
	return place;
}

static size_t store_text(struct joblist *l, struct stmt *st, int column)
{
	size_t n;

	return store_bytes(l, st, column, &n);
}

/* Numbers that were not recorded are unknown, not 0. */
static void forget_unrecorded(struct job_row *r)
{
	r->sampled = true;
	r->num_threads = r->peak_procs = r->peak_threads = UNKNOWN;
	r->processes = r->processes ? r->processes : UNKNOWN;
	r->cpu = r->cpu || r->processes != UNKNOWN ? r->cpu : UNKNOWN;
}

static int64_t images_of(const struct job_row *r)
{
	return r->sampled ? UNKNOWN : r->images;
}

static void take_job(struct joblist *l, struct stmt *st)
{
	GROW(l->rows, l->count, l->cap);
	l->rows[l->count++] = (struct job_row){
		.jobid = store_text(l, st, 0),
		.jobname = store_text(l, st, 1),
		.user = store_text(l, st, 2),
		.format = store_text(l, st, 3),
		.source = store_text(l, st, 4),
		.no = stmt_get_int(st, 5),
		.submit = stmt_get_optional(st, 6),
		.start = stmt_get_optional(st, 7),
		.end = stmt_get_optional(st, 8),
		.duration = stmt_get_optional(st, 9),
		.cpu = stmt_get_int(st, 10),
		.exitcode = stmt_get_optional(st, 11),
		.images = stmt_get_int(st, 12),
		.num_threads = stmt_get_int(st, 13),
		.peak_procs = stmt_get_optional(st, 14),
		.peak_threads = stmt_get_threads(st, 15),
		.ingested = stmt_get_int(st, 16),
		.processes = stmt_get_int(st, 17),
		.recorded = stmt_get_int(st, 19),
		.cluster = store_text(l, st, 20),
	};
	struct job_row *row = &l->rows[l->count - 1];
	row->fed = str_same(joblist_text(l, row->format), STORE_FED);
	row->open = row->fed && clock_realtime_us() - row->ingested < STORE_FED_QUIET_US;
	if (stmt_get_int(st, 18))
		forget_unrecorded(&l->rows[l->count - 1]);
}

static const char job_columns[] =
	"j.jobid, j.jobname, j.username, j.format, j.source, j.no, "
	"j.submit_us, j.start_us, j.end_us, j.duration_us, j.cpu_us, "
	"j.exitcode, j.num_procs, j.num_threads, "
	"nullif(j.peak_procs, 0), nullif(j.peak_threads, 0), j.ingested_us, "
	"j.processes, CASE WHEN j.num_procs = 0 THEN (SELECT count(*) FROM (SELECT 1 "
	"FROM sample_metric m WHERE m.job = j.no LIMIT 1) t) ELSE 0 END, " STORE_RECORDED
	", nullif(j.cluster, '')";

static int load_jobs(struct joblist *l, struct store *s, const struct job_filter *f)
{
	struct job_query jq;
	int r = job_query_begin(&jq, s, job_columns, f);

	while (r >= 0 && (r = job_query_next(&jq)) == 1)
		take_job(l, jq.st);
	job_query_end(&jq);
	return r;
}

static size_t place_of(const int64_t *jobs, size_t count, int64_t job)
{
	size_t i = 0;

	while (i < count && jobs[i] != job)
		i++;
	return i;
}

/* The rows in the order of a list of numbers. */
static void sort_by(struct joblist *l, const int64_t *jobs, size_t count)
{
	struct job_row *sorted = xcalloc(count + 1, sizeof(*sorted));
	size_t kept = 0;

	for (size_t i = 0; i < l->count; i++)
		sorted[place_of(jobs, count, l->rows[i].no)] = l->rows[i];
	for (size_t i = 0; i < count; i++)
		if (sorted[i].no)
			sorted[kept++] = sorted[i];
	free(l->rows);
	l->rows = sorted;
	l->count = kept;
	l->cap = count + 1;
}

static int load_numbers(struct joblist *l, struct store *s, const int64_t *jobs, size_t count)
{
	_cleanup_sql_ struct sql q = SQL_INIT;
	int r;

	sql_add(&q, "SELECT ");
	sql_add(&q, job_columns);
	sql_add(&q, " FROM job j WHERE j.no");
	for (size_t i = 0; i < count; i++) {
		sql_add(&q, i ? ", " : " IN (");
		sql_int(&q, jobs[i]);
	}
	sql_add(&q, ")");
	_cleanup_stmt_ struct stmt *st = sql_prepare(&q, s);
	while ((r = stmt_step(st)) == 1)
		take_job(l, st);
	return r;
}

static int by_number(const void *a, const void *b, void *rows)
{
	const struct job_row *r = rows;
	int64_t x = r[*(const uint32_t *)a].no, y = r[*(const uint32_t *)b].no;

	return x < y ? -1 : x > y;
}

/* The jobs in the order of their numbers, which is that of their tags in the store. */
static uint32_t *order_by_number(const struct joblist *l)
{
	uint32_t *order = xreallocarray(NULL, l->count + 1, sizeof(*order));
	bool sorted = true;

	for (size_t i = 0; i < l->count; i++) {
		order[i] = (uint32_t)i;
		sorted = sorted && (!i || l->rows[i].no > l->rows[i - 1].no);
	}
	if (!sorted)
		qsort_r(order, l->count, sizeof(*order), by_number, l->rows);
	return order;
}

static struct job_entries *entries_of(struct job_row *r, int which)
{
	return which == 0 ? &r->hosts : which == 1 ? &r->tags : &r->annotations;
}

static void take_entry(struct joblist *l, struct stmt *st, bool host)
{
	size_t key_size, value_size = 0;

	GROW(l->entries, l->entry_count, l->entry_cap);
	struct job_entry *e = &l->entries[l->entry_count++];
	*e = (struct job_entry){.key = store_bytes(l, st, 1, &key_size)};
	if (host)
		e->number = stmt_get_int(st, 2);
	else
		e->value = store_bytes(l, st, 2, &value_size);
	e->key_size = (uint32_t)key_size;
	e->value_size = (uint32_t)value_size;
}

/* Reads the rows of one table for all jobs; both are ordered by job number. */
static int attach(struct joblist *l, struct store *s, const uint32_t *order, int which)
{
	static const char *const selects[] = {
		"SELECT job, host, num_procs FROM job_host WHERE job",
		"SELECT job, key, value FROM job_tag WHERE job",
		"SELECT job, key, value FROM job_annotation WHERE job",
	};
	_cleanup_sql_ struct sql q = SQL_INIT;
	bool named = l->few || l->count <= NAMED_MAX;
	size_t at = 0;
	int r;

	sql_add(&q, selects[which]);
	for (size_t i = 0; named && i < l->count; i++) {
		sql_add(&q, i ? ", " : " IN (");
		sql_int(&q, l->rows[order[i]].no);
	}
	if (!named) {
		sql_add(&q, " BETWEEN ");
		sql_int(&q, l->rows[order[0]].no);
		sql_add(&q, " AND ");
		sql_int(&q, l->rows[order[l->count - 1]].no);
	}
	sql_add(&q, named ? ") ORDER BY job, " : " ORDER BY job, ");
	sql_add(&q, which == 0 ? "host" : "key");
	_cleanup_stmt_ struct stmt *st = sql_prepare(&q, s);
	while ((r = stmt_step(st)) == 1) {
		int64_t no = stmt_get_int(st, 0);

		while (at < l->count && l->rows[order[at]].no < no)
			at++;
		if (at == l->count || l->rows[order[at]].no != no)
			continue;
		struct job_entries *e = entries_of(&l->rows[order[at]], which);
		if (!e->count++)
			e->first = (uint32_t)l->entry_count;
		take_entry(l, st, which == 0);
	}
	return r;
}

/* Puts "4_1" before the names of array tasks. */
static void add_tasks(struct joblist *l, struct store *s)
{
	for (size_t i = 0; i < l->count; i++) {
		struct job_row *r = &l->rows[i];
		_cleanup_(job_details_release) struct job_details f = {0};

		job_details_load(&f, s, r->no);
		if (!f.task)
			continue;
		_cleanup_free_ char *name =
			xasprintf("%s %s", f.task, r->jobname ? joblist_text(l, r->jobname) : "");
		r->jobname = l->texts.len;
		strbuf_add(&l->texts, name, strlen(name) + 1);
	}
}

static int attach_all(struct joblist *l, struct store *s)
{
	_cleanup_free_ uint32_t *order = order_by_number(l);
	int r = 0;

	for (int which = 0; which < 3 && r >= 0; which++)
		r = attach(l, s, order, which);
	return r;
}

int joblist_load_numbers(struct joblist *l, struct store *s, const int64_t *jobs, size_t count)
{
	int r = count ? load_numbers(l, s, jobs, count) : 0;

	if (r < 0 || !l->count)
		return r;
	sort_by(l, jobs, count);
	l->few = true;
	return attach_all(l, s);
}

int joblist_load(struct joblist *l, struct store *s, const struct job_filter *f)
{
	int r = load_jobs(l, s, f);

	if (r < 0 || !l->count || l->bare)
		return r;
	r = attach_all(l, s);
	if (r >= 0 && l->tasks && l->count <= NAMED_MAX)
		add_tasks(l, s);
	return r;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static void put_entries(const struct joblist *l, struct json_writer *j, const char *key,
			const struct job_entries *e, bool raw)
{
	json_begin_object(j, key);
	for (uint32_t i = e->first; i < e->first + e->count; i++) {
		const struct job_entry *t = &l->entries[i];
		const char *value = l->texts.buf + t->value;

		if (raw)
			json_raw(j, l->texts.buf + t->key, value, t->value_size);
		else
			json_text(j, l->texts.buf + t->key, value, t->value_size);
	}
	json_end_object(j);
}

#define BUSY_LEAST_US 1000000

double joblist_busy(const struct job_row *r, int64_t cpu_us)
{
	if (r->duration == UNKNOWN || r->duration <= 0 || cpu_us == UNKNOWN ||
	    (r->fed && r->duration < BUSY_LEAST_US))
		return NAN;
	return (double)cpu_us / (double)r->duration;
}

void joblist_add_open(struct strbuf *out, const struct job_row *r)
{
	strbuf_addstr(out, "running, or ended a moment ago: samples until ");
	text_add_local_time(out, r->ingested);
	strbuf_addstr(out, ", sums up to a minute older");
}

void joblist_add_work(struct strbuf *out, const struct job_row *r, bool human)
{
	add_processes(out, r->processes, r->images, human);
	add_peak(out, r->peak_procs, human);
	if (r->num_threads == UNKNOWN)
		return;
	strbuf_addstr(out, "; ");
	add_threads(out, r->num_threads, r->peak_threads, human);
}

void joblist_json_front(const struct joblist *l, const struct job_row *r, struct json_writer *j)
{
	json_str(j, "jobid", joblist_text(l, r->jobid));
	json_str(j, "jobname", joblist_text(l, r->jobname));
	json_str(j, "user", joblist_text(l, r->user));
	json_str(j, "cluster", joblist_text(l, r->cluster));
	json_begin_array(j, "hosts");
	for (uint32_t i = r->hosts.first; i < r->hosts.first + r->hosts.count; i++)
		json_str(j, NULL, joblist_text(l, l->entries[i].key));
	json_end_array(j);
	json_time(j, "start", r->start);
	json_time(j, "end", r->end);
	json_time(j, "submit", r->submit);
	json_number(j, "duration", r->duration);
	if (r->open)
		json_bool(j, "open", true);
	json_number(j, "cpu_time", r->cpu);
	json_number(j, "exitcode", r->exitcode);
	json_number(j, "processes", r->processes);
	json_number(j, "images", images_of(r));
	json_number(j, "num_procs", images_of(r)); /* the name that scripts know */
	json_number(j, "num_threads", r->num_threads);
	put_entries(l, j, "tags", &r->tags, false);
	put_entries(l, j, "annotations", &r->annotations, true);
}

void joblist_json_back(const struct joblist *l, const struct job_row *r, struct json_writer *j)
{
	json_str(j, "format", joblist_text(l, r->format));
	json_str(j, "source", joblist_text(l, r->source));
	json_time(j, "ingested", r->ingested);
	if (r->sampled)
		json_bool(j, "sampled", true);
}

int joblist_print_json(const struct joblist *l, FILE *f)
{
	struct json_rows out;

	json_rows_begin(&out, f);
	for (size_t i = 0; i < l->count; i++) {
		json_begin_object(&out.j, NULL);
		joblist_json_front(l, &l->rows[i], &out.j);
		joblist_json_back(l, &l->rows[i], &out.j);
		json_end_object(&out.j);
		json_rows_next(&out);
	}
	return json_rows_end(&out);
}

/* ---- tables --------------------------------------------------------------------------------- */

static void add_list(const struct joblist *l, const struct job_entries *e, char between,
		     struct strbuf *out)
{
	for (uint32_t i = e->first; i < e->first + e->count; i++) {
		const char *value = joblist_text(l, l->entries[i].value);

		if (i > e->first)
			strbuf_addch(out, between);
		strbuf_addstr(out, joblist_text(l, l->entries[i].key));
		if (value && *value)
			strbuf_addf(out, ":%s", value);
	}
}

static void csv_row(const struct joblist *l, const struct job_row *r, struct stream_table *g)
{
	_cleanup_strbuf_ struct strbuf hosts = STRBUF_INIT, tags = STRBUF_INIT;

	add_list(l, &r->hosts, ';', &hosts);
	add_list(l, &r->tags, ';', &tags);
	stream_table_str(g, joblist_text(l, r->jobid));
	stream_table_str(g, joblist_text(l, r->jobname));
	stream_table_str(g, joblist_text(l, r->user));
	stream_table_text(g, hosts.buf, hosts.len);
	stream_table_time(g, r->start);
	stream_table_time(g, r->end);
	stream_table_time(g, r->submit);
	stream_table_number(g, r->duration);
	stream_table_number(g, r->cpu);
	stream_table_number(g, r->exitcode);
	stream_table_number(g, r->processes);
	stream_table_number(g, images_of(r));
	stream_table_number(g, images_of(r));
	stream_table_number(g, r->num_threads);
	stream_table_text(g, tags.buf, tags.len);
	stream_table_str(g, joblist_text(l, r->format));
	stream_table_str(g, joblist_text(l, r->source));
	stream_table_time(g, r->ingested);
	stream_table_str(g, joblist_text(l, r->cluster));
	stream_table_row(g, 0);
}

/* Columns that do not fit a narrow terminal, */
#define NO_TAGS 1
#define NO_USER 2
/* and one that is useless where no process executed several programs. */
#define NO_IMAGES 4
#define SHORT_TIMES 8

/* "11-16 08:13", or the day of another year. */
static void add_short_time(struct strbuf *out, int64_t us)
{
	_cleanup_strbuf_ struct strbuf then = STRBUF_INIT, now = STRBUF_INIT;

	text_add_local_time(&then, us);
	text_add_local_time(&now, clock_realtime_us());
	if (then.len < 16)
		strbuf_addstr(out, then.buf);
	else if (strncmp(then.buf, now.buf, 4) == 0)
		strbuf_add(out, then.buf + 5, 11);
	else
		strbuf_add(out, then.buf, 10);
}

static void table_line(const struct joblist *l, const struct job_row *r, struct stream_table *g,
		       unsigned without)
{
	_cleanup_strbuf_ struct strbuf tags = STRBUF_INIT;

	add_list(l, &r->tags, ' ', &tags);
	stream_table_str(g, joblist_text(l, r->jobid));
	stream_table_str(g, joblist_text(l, r->jobname));
	if (!(without & NO_USER))
		stream_table_str(g, joblist_text(l, r->user));
	if (without & SHORT_TIMES) {
		_cleanup_strbuf_ struct strbuf start = STRBUF_INIT;

		add_short_time(&start, r->start);
		stream_table_str(g, start.buf);
	} else {
		stream_table_time(g, r->start);
	}
	stream_table_us(g, r->duration);
	stream_table_us(g, r->cpu);
	stream_table_count(g, r->processes);
	if (!(without & NO_IMAGES))
		stream_table_count(g, images_of(r));
	if (r->open)
		stream_table_str(g, "open");
	else
		stream_table_number(g, r->exitcode);
	if (!(without & NO_TAGS))
		stream_table_text(g, tags.buf, tags.len);
	stream_table_row(g, r->exitcode != UNKNOWN && r->exitcode ? 'r' : 0);
}

static bool has_images(const struct joblist *l)
{
	for (size_t i = 0; i < l->count; i++)
		if (!l->rows[i].sampled && l->rows[i].images != l->rows[i].processes)
			return true;
	return false;
}

static int print_table(const struct joblist *l, FILE *f)
{
	static const struct terminal_table_column all[] = {
		{"JOBID", 0},
		{"NAME", COLUMN_CUT},
		{"USER", COLUMN_CUT},
		{"START", 0},
		{"DURATION", COLUMN_US},
		{"CPU", COLUMN_US},
		{"PROCS", COLUMN_RIGHT},
		{"IMAGES", COLUMN_RIGHT},
		{"EXIT", COLUMN_RIGHT},
		{"TAGS", COLUMN_CUT},
	};
	struct terminal_table_column columns[ARRAY_SIZE(all)];
	size_t width = terminal_width(f), n = 0;
	unsigned without = !width || width >= 110 ? 0
			   : width >= 100         ? NO_TAGS | NO_IMAGES
						  : NO_TAGS | NO_USER | NO_IMAGES | SHORT_TIMES;
	struct stream_table g;

	if (l->bare)
		without |= NO_TAGS;
	if (!has_images(l))
		without |= NO_IMAGES;
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (!(i == 2 && without & NO_USER) && !(i == 7 && without & NO_IMAGES) &&
		    !(i == 9 && without & NO_TAGS))
			columns[n++] = all[i];
	stream_table_begin(&g, columns, n, false, f);
	for (size_t i = 0; i < l->count; i++)
		table_line(l, &l->rows[i], &g, without);
	return stream_table_end(&g);
}

static int print_csv(const struct joblist *l, FILE *f)
{
	static const struct terminal_table_column columns[] = {
		{"jobid", 0},     {"jobname", 0},     {"user", 0},      {"hosts", 0},
		{"start", 0},     {"end", 0},         {"submit", 0},    {"duration", 0},
		{"cpu_time", 0},  {"exitcode", 0},    {"processes", 0}, {"images", 0},
		{"num_procs", 0}, {"num_threads", 0}, {"tags", 0},      {"format", 0},
		{"source", 0},    {"ingested", 0},    {"cluster", 0},
	};
	struct stream_table g;

	stream_table_begin(&g, columns, ARRAY_SIZE(columns), true, f);
	for (size_t i = 0; i < l->count; i++)
		csv_row(l, &l->rows[i], &g);
	return stream_table_end(&g);
}

int joblist_print_table(const struct joblist *l, bool csv, FILE *f)
{
	return csv ? print_csv(l, f) : print_table(l, f);
}

int joblist_print_ids(struct store *s, const struct job_filter *f, FILE *out)
{
	struct job_query jq;
	int r = job_query_begin(&jq, s, "j.jobid, j.jobname", f);

	while (r >= 0 && (r = job_query_next(&jq)) == 1) {
		fputs(stmt_get_str(jq.st, 0), out);
		fputc('\n', out);
	}
	job_query_end(&jq);
	return r;
}

int joblist_print(struct store *s, const struct job_filter *f, enum joblist_form form, FILE *out,
		  bool *ret_none, bool *ret_output)
{
	bool table = form == JOBLIST_TABLE, terminal = isatty(fileno(out));
	_cleanup_joblist_ struct joblist l = JOBLIST_INIT;
	struct job_filter filter = *f;

	/* people look for their latest jobs; scripts get the order of start times, except with a
	 * limit */
	if (!filter.order && (filter.limit != NO_LIMIT || (terminal && table)))
		filter.order = "-start";
	/* tags would take most of the time and of every line */
	l.bare = table && !terminal;
	l.tasks = table;
	int r = form == JOBLIST_IDS ? joblist_print_ids(s, &filter, out)
				    : joblist_load(&l, s, &filter);
	if (r < 0)
		return r;
	*ret_none = table && !l.count;
	if (*ret_none)
		return 0;
	if (form == JOBLIST_IDS)
		r = output_error(out);
	else
		r = form == JOBLIST_JSON ? joblist_print_json(&l, out)
					 : joblist_print_table(&l, form == JOBLIST_CSV, out);
	*ret_output = r < 0;
	return r;
}
