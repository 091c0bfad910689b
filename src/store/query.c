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

/* With more ids, rows are compared here. */
#define IDS_IN_SQL 200

const char job_orders[] =
	"start, end, submit, duration, cpu_time, processes, images, num_threads, exitcode, "
	"jobid, jobname, user, ingested or another key of `plimsoll query --keys`";

int filter_require_tags(struct filter *f, const struct word_list *tags, struct strbuf *why)
{
	int r = 0;

	for (size_t i = 0; i < tags->count && r == 0; i++) {
		const char *value;
		size_t n = tag_split(tags->word[i], &value);
		_cleanup_free_ char *key = xasprintf("tag.%.*s", (int)n, tags->word[i]);

		r = filter_require(f, key, value ? FILTER_IS : FILTER_KNOWN, &value, value != NULL,
				   why);
	}
	return r;
}

int filter_require_pattern(struct filter *f, const char *key, const char *pattern,
			   struct strbuf *why)
{
	return pattern ? filter_require(f, key, strpbrk(pattern, "*?\\") ? FILTER_LIKE : FILTER_IS,
					&pattern, 1, why)
		       : 0;
}

static void add_conditions(struct sql *q, const struct job_filter *f, struct store *s)
{
	sql_add(q, " FROM job j WHERE 1 = 1");
	if (f->no)
		sql_put(q, " AND j.no = ?", db_int(f->no));
	if (f->id_count && f->id_count <= IDS_IN_SQL) {
		sql_add(q, " AND ");
		sql_list(q, "j.jobid", (const char *const *)f->ids, f->id_count);
	}
	if (!filter_is_empty(f->where)) {
		f->where->without_words = s->schema < SCHEMA_JOB_LIST;
		sql_add(q, " AND ");
		filter_add_jobs(q, f->where, s->engine);
	}
}

/* NULLs come last, in both directions and on all engines. */
static void add_order(struct sql *q, struct filter *where, const char *order, struct store *s)
{
	const char *direction = *order == '-' ? " DESC" : "";

	sql_add(q, " ORDER BY ");
	filter_add_order(q, where, s->engine, order);
	strbuf_addf(&q->text, "%s NULLS LAST, j.no%s", direction, direction);
}

static int compare_strings(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

int job_query_begin(struct job_query *jq, struct store *s, const char *columns,
		    const struct job_filter *f)
{
	_cleanup_sql_ struct sql q = SQL_INIT;
	bool here = f->id_count > IDS_IN_SQL;

	*jq = (struct job_query){.filter = f, .left = NO_LIMIT};
	if (here) {
		jq->ids = xreallocarray(NULL, f->id_count, sizeof(*jq->ids));
		memcpy(jq->ids, f->ids, f->id_count * sizeof(*jq->ids));
		qsort(jq->ids, f->id_count, sizeof(*jq->ids), compare_strings);
	}
	if (!f->where)
		jq->own = filter_new(FILTER_JOBS);
	sql_add(&q, "SELECT ");
	sql_add(&q, columns);
	add_conditions(&q, f, s);
	add_order(&q, f->where ? f->where : jq->own, f->order ? f->order : "start", s);
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

/* Is it one of many ids? */
static bool passes(const struct job_query *jq)
{
	const char *id = stmt_get_str(jq->st, 0);

	return !jq->ids || bsearch(&id, jq->ids, jq->filter->id_count, sizeof(id), compare_strings);
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
	filter_free(jq->own);
	free(jq->ids);
}
