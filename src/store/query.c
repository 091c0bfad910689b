/* Parsing times and patterns, and selecting jobs; see query.h. */
#include "store/query.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "core/text/text.h"

/* ---- times and patterns ---------------------------------------------------------------------- */

/* Parses up to max digits at *p; -1: none. */
static int take_digits(const char **p, int max)
{
	int v = -1;

	for (int i = 0; i < max && **p >= '0' && **p <= '9'; i++, (*p)++)
		v = (v < 0 ? 0 : v * 10) + (**p - '0');
	return v;
}

static bool take(const char **p, char c)
{
	if (**p != c)
		return false;
	(*p)++;
	return true;
}

/* "HH:MM[:SS[.f]]" */
static bool take_clock(const char **p, struct tm *tm, int64_t *ret_us)
{
	tm->tm_hour = take_digits(p, 2);
	if (tm->tm_hour < 0 || !take(p, ':'))
		return false;
	tm->tm_min = take_digits(p, 2);
	if (take(p, ':')) {
		tm->tm_sec = take_digits(p, 2);
		if (tm->tm_sec >= 0 && take(p, '.'))
			for (int64_t unit = 100000; **p >= '0' && **p <= '9'; unit /= 10)
				*ret_us += unit * (*(*p)++ - '0');
	}
	return tm->tm_hour < 24 && tm->tm_min >= 0 && tm->tm_min < 60 && tm->tm_sec >= 0 &&
	       tm->tm_sec <= 60;
}

/* "Z" or "+HH[:MM]"; seconds east of UTC. */
static bool take_zone(const char **p, long *ret_offset)
{
	if (take(p, 'Z')) {
		*ret_offset = 0;
		return true;
	}
	int sign = take(p, '-') ? -1 : take(p, '+') ? 1 : 0;
	int hours = sign ? take_digits(p, 2) : -1, minutes = 0;
	if (hours < 0 || hours > 15)
		return false;
	bool colon = take(p, ':');
	if (colon || **p)
		minutes = take_digits(p, 2);
	if (minutes < 0 || minutes > 59)
		return false;
	*ret_offset = sign * (hours * 3600L + minutes * 60L);
	return true;
}

/* "YYYY-MM-DD" or "MM/DD/YYYY" */
static bool take_date(const char **p, struct tm *tm)
{
	const char *begin = *p;
	int first = take_digits(p, 4);
	bool american = *p - begin <= 2 && **p == '/';

	if (first < 0 || !take(p, american ? '/' : '-') || (!american && *p - begin != 5))
		return false;
	int second = take_digits(p, 2);
	if (second < 0 || !take(p, american ? '/' : '-'))
		return false;
	int third = take_digits(p, american ? 4 : 2);
	tm->tm_year = (american ? third : first) - 1900;
	tm->tm_mon = (american ? first : second) - 1;
	tm->tm_mday = american ? second : third;
	return third > 0 && tm->tm_year >= 0 && tm->tm_mon >= 0 && tm->tm_mon < 12 &&
	       tm->tm_mday > 0;
}

static int parse_calendar(const char *s, int64_t *ret)
{
	struct tm tm = {.tm_isdst = -1};
	int64_t us = 0;
	long offset = 0;
	bool zone = false;

	if (!take_date(&s, &tm))
		return -EINVAL;
	if (*s == ' ' || *s == 'T') {
		s++;
		if (!take_clock(&s, &tm, &us))
			return -EINVAL;
		while (*s == ' ')
			s++;
		if (*s && !(zone = take_zone(&s, &offset)))
			return -EINVAL;
	}
	if (*s)
		return -EINVAL;
	struct tm made = tm;
	int64_t seconds = zone ? timegm(&made) - offset : mktime(&made);
	/* mktime() changes a day that the month does not have */
	if (made.tm_mday != tm.tm_mday || made.tm_mon != tm.tm_mon)
		return -EINVAL;
	*ret = seconds * 1000000 + us;
	return 0;
}

int parse_time_us(const char *s, int64_t now_us, int64_t *ret)
{
	uint64_t ns, seconds;

	if (!strcmp(s, "now")) {
		*ret = now_us;
		return 0;
	}
	if (*s == '-') {
		/* a unit is required: -3 could be days or seconds */
		size_t n = strlen(s);

		if (s[n - 1] < 'a' || s[n - 1] > 'z' || parse_duration_ns(s + 1, &ns) < 0)
			return -EINVAL;
		*ret = now_us - (int64_t)(ns / 1000);
		return 0;
	}
	if (parse_u64(s, &seconds) == 0) {
		if (seconds > INT64_MAX / 1000000)
			return -EINVAL;
		*ret = (int64_t)seconds * 1000000;
		return 0;
	}
	return parse_calendar(s, ret);
}

static size_t one_character(const char *s)
{
	size_t n = utf8_sequence(s, strlen(s));

	return n ? n : 1;
}

/* Backtracks to the last * only, so the time is at most the product of the lengths. */
bool pattern_matches(const char *pattern, const char *text)
{
	const char *star = NULL, *from = NULL;

	while (*text) {
		if (*pattern == '*') {
			star = ++pattern;
			from = text;
			continue;
		}
		bool escaped = pattern[0] == '\\' && pattern[1];
		if (!escaped && *pattern == '?') {
			pattern++;
			text += one_character(text);
		} else if (pattern[escaped] == *text) {
			pattern += 1 + escaped;
			text++;
		} else if (star) {
			from += one_character(from);
			pattern = star;
			text = from;
		} else {
			return false;
		}
	}
	while (*pattern == '*')
		pattern++;
	return !*pattern;
}

size_t tag_split(const char *tag, const char **ret_value)
{
	size_t n = strcspn(tag, ":");

	*ret_value = tag[n] ? tag + n + 1 : NULL;
	return n;
}

/* ---- selecting jobs -------------------------------------------------------------------------- */

/* With more ids, rows are compared here: there would be too many parameters. */
#define IDS_IN_SQL 4

static const struct order {
	const char *name, *column;
} orders[] = {
	{"start", "j.start_us"},
	{"end", "j.end_us"},
	{"duration", "j.duration_us"},
	{"cpu_time", "j.cpu_us"},
	{"processes", "j.processes"},
	{"images", "j.num_procs"},
	{"num_procs", "j.num_procs"},
	{"jobid", "j.jobid"},
	{"ingested", "j.ingested_us"},
	{"jobname", "j.jobname"},
	{"user", "j.username"},
	{"submit", "j.submit_us"},
	{"exitcode", "j.exitcode"},
	{"num_threads", "j.num_threads"},
	/* names for older scripts */
	{"created_at", "j.ingested_us"},
	{"updated_at", "j.ingested_us"},
};
const char job_orders[] =
	"start, end, submit, duration, cpu_time, processes, images, num_threads, exitcode, "
	"jobid, jobname, user, ingested";

static const struct order *find_order(const char *name)
{
	name += *name == '-';
	for (size_t i = 0; i < ARRAY_SIZE(orders); i++)
		if (!strcmp(orders[i].name, name))
			return &orders[i];
	return NULL;
}

bool job_order_known(const char *order)
{
	return find_order(order) != NULL;
}

/* Converts a shell pattern for LIKE. Engines differ in case sensitivity, so this only excludes most
 * of the other rows. */
static void add_like(struct sql *q, const char *column, const char *pattern, struct strbuf *like)
{
	for (const char *p = pattern; *p; p++) {
		if (*p == '\\' && p[1])
			p++;
		else if (*p == '*' || *p == '?') {
			strbuf_addch(like, *p == '*' ? '%' : '_');
			continue;
		}
		if (strchr("%_!", *p))
			strbuf_addch(like, '!');
		strbuf_addch(like, *p);
	}
	strbuf_addf(&q->text, " AND %s", column);
	sql_put(q, " LIKE ? ESCAPE '!'", db_str(like->buf));
}

static void add_conditions(struct sql *q, const struct job_filter *f, struct strbuf like[2])
{
	sql_add(q, " FROM job j WHERE 1 = 1");
	if (f->id_count && f->id_count <= IDS_IN_SQL) {
		sql_add(q, " AND ");
		sql_list(q, "j.jobid", (const char *const *)f->ids, f->id_count);
	}
	if (f->id)
		add_like(q, "j.jobid", f->id, &like[0]);
	if (f->name)
		add_like(q, "j.jobname", f->name, &like[1]);
	filter_add(q, f, false);
}

/* NULLs come last, in both directions and on all engines. */
static void add_order(struct sql *q, const struct job_filter *f)
{
	const char *name = f->order ? f->order : "start";
	const struct order *o = find_order(name);
	const char *direction = *name == '-' ? " DESC" : "";

	if (o)
		strbuf_addf(&q->text, " ORDER BY %s%s NULLS LAST, j.no%s", o->column, direction,
			    direction);
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int job_query_begin(struct job_query *jq, struct store *s, const char *columns,
		    const struct job_filter *f)
{
	_cleanup_sql_ struct sql q = SQL_INIT;
	bool here = f->id || f->name || f->id_count > IDS_IN_SQL;

	*jq = (struct job_query){.filter = f, .left = NO_LIMIT};
	jq->like[0] = jq->like[1] = (struct strbuf)STRBUF_INIT;
	if (f->id_count > IDS_IN_SQL) {
		jq->ids = xreallocarray(NULL, f->id_count, sizeof(*jq->ids));
		memcpy(jq->ids, f->ids, f->id_count * sizeof(*jq->ids));
		qsort(jq->ids, f->id_count, sizeof(*jq->ids), compare_strings);
	}
	sql_add(&q, "SELECT ");
	sql_add(&q, columns);
	add_conditions(&q, f, jq->like);
	add_order(&q, f);
	if (here) {
		jq->skip = f->offset;
		jq->left = f->limit;
	} else if (f->limit != NO_LIMIT || f->offset) {
		sql_put(&q, " LIMIT ? OFFSET ?",
			db_int(f->limit > INT64_MAX ? INT64_MAX : (int64_t)f->limit),
			db_int(f->offset > INT64_MAX ? INT64_MAX : (int64_t)f->offset));
	}
	jq->st = sql_prepare(&q, s);
	return jq->st ? 0 : -EIO;
}

/* Conditions that SQL did not check, or not exactly. */
static bool passes(const struct job_query *jq)
{
	const struct job_filter *f = jq->filter;
	const char *id = stmt_get_str(jq->st, 0);

	if (jq->ids && !bsearch(&id, jq->ids, f->id_count, sizeof(id), compare_strings))
		return false;
	return (!f->id || pattern_matches(f->id, id)) &&
	       (!f->name || pattern_matches(f->name, stmt_get_str(jq->st, 1)));
}

int job_query_next(struct job_query *jq)
{
	int r = 0;

	while (jq->left && (r = stmt_step(jq->st)) == 1) {
		if (!passes(jq))
			continue;
		if (jq->skip) {
			jq->skip--;
			continue;
		}
		jq->left -= jq->left != NO_LIMIT;
		return 1;
	}
	return r < 0 ? r : 0;
}

void job_query_end(struct job_query *jq)
{
	stmt_finish_ptr(&jq->st);
	free(jq->ids);
	strbuf_release(&jq->like[0]);
	strbuf_release(&jq->like[1]);
}
