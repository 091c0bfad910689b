/* Selecting jobs and processes by keys; see filter.h. */
#include "store/filter.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "core/clock.h"
#include "core/text/python_literal.h"
#include "jobs/tags.h"
#include "store/query.h"

void filter_release(struct job_filter *f)
{
	value_free(f->tag_sets);
	value_free(f->annotations);
	value_free(f->analyses);
	value_free(f->exclude);
	value_free(f->texts);
}

/* ---- reading values ------------------------------------------------------------------------- */

static int wrong(struct strbuf *why, const char *wanted, const char *value)
{
	return strbuf_fail(why, -EINVAL, "needs %s, not '%s'", wanted, value);
}

/* A copy of a text that lives as long as the filter. */
static const char *keep(struct job_filter *f, const char *s, size_t n)
{
	struct value *v = value_strn(s, n);

	if (!f->texts)
		f->texts = value_new(VALUE_LIST);
	value_append(f->texts, v);
	return v->str.data;
}

static bool is_literal(const char *value)
{
	return *value == '{' || *value == '[' || *value == '(';
}

static int take_number(const char *value, uint64_t *to, struct strbuf *why)
{
	return parse_u64(value, to) < 0 ? wrong(why, "a number", value) : 0;
}

static int take_limit(struct job_filter *f, const char *value, struct strbuf *why)
{
	int r = take_number(value, &f->limit, why);

	if (r == 0 && !f->limit)
		f->limit = NO_LIMIT;
	return r;
}

static int take_bool(const char *value, bool *to, struct strbuf *why)
{
	bool on = !strcasecmp(value, "true") || !strcmp(value, "1");

	if (!on && strcasecmp(value, "false") != 0 && strcmp(value, "0") != 0)
		return wrong(why, "True or False", value);
	*to = on;
	return 0;
}

static int take_merge(struct job_filter *f, const char *value, struct strbuf *why)
{
	bool merge = true;
	int r = take_bool(value, &merge, why);

	f->separate_sums = !merge;
	return r;
}

/* Has no effect: every job is processed when it is stored. */
static int take_post_process(struct job_filter *f PL_UNUSED, const char *value, struct strbuf *why)
{
	bool ignored;

	return take_bool(value, &ignored, why);
}

static int take_format(struct job_filter *f, const char *value, struct strbuf *why)
{
	static const char *const names[] = {"terse", "dict", "pandas"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], value)) {
			f->format = FORMAT_TERSE + (enum filter_format)i;
			return 0;
		}
	return wrong(why,
		     !strcmp(value, "orm")
			     ? "terse, dict or pandas (orm objects exist in Python only)"
			     : "terse, dict or pandas",
		     value);
}

static int take_filter(struct job_filter *f, const char *value, struct strbuf *why)
{
	(void)f, (void)value;
	return strbuf_fail(why, -EINVAL,
			   "takes a Python expression, which is not supported; use `plimsoll sql`");
}

/* "06/15/2019 08:00", a Unix time, or a number of days ago: 0, -7. */
static int take_time(const char *value, bool *has, int64_t *to, struct strbuf *why)
{
	int64_t days, now = clock_realtime_us();

	*has = true;
	if (parse_i64(value, &days) == 0 && days <= 0 && days > -1000000) {
		*to = now + days * 86400 * 1000000;
		return 0;
	}
	if (parse_time_us(value, now, to) == 0)
		return 0;
	return wrong(why,
		     "a time such as '06/15/2019 08:00', seconds since 1970, or -7 for 7 days ago",
		     value);
}

static int take_literal(const char *value, struct value **ret, struct strbuf *why)
{
	return py_literal(value, strlen(value), ret) < 0
		       ? wrong(why, "key:value;key:value or a Python literal", value)
		       : 0;
}

/* "a,b" or a list of texts. */
static int take_list(const char *value, struct value **ret, struct strbuf *why)
{
	if (is_literal(value))
		return take_literal(value, ret, why);
	*ret = value_new(VALUE_LIST);
	while (*value) {
		size_t n = strcspn(value, ",");

		if (n)
			value_append(*ret, value_strn(value, n));
		value += n + (value[n] == ',');
	}
	return 0;
}

static int take_hosts(struct job_filter *f, const char *value, struct strbuf *why)
{
	_cleanup_value_ struct value *list = NULL;
	int r = take_list(value, &list, why);

	for (size_t i = 0; r == 0 && list->kind == VALUE_LIST && i < list->list.count; i++) {
		const struct value *v = list->list.items[i];

		if (v->kind != VALUE_STR || f->hosts.count == FILTER_WORDS_MAX)
			return wrong(why, "at most 16 host names", value);
		f->hosts.word[f->hosts.count++] = keep(f, v->str.data, v->str.size);
	}
	if (r == 0 && !f->hosts.count)
		return wrong(why, "host names", value);
	return r;
}

/* A set of tags: "k:v;k:v", or a dict whose values are compared as text. */
static struct value *tag_set(const struct value *v)
{
	if (v->kind == VALUE_STR)
		return tags_parse(v->str.data, NULL);
	struct value *set = value_new(VALUE_DICT);
	for (size_t i = 0; v->kind == VALUE_DICT && i < value_pairs(v); i++) {
		_cleanup_strbuf_ struct strbuf key = STRBUF_INIT, text = STRBUF_INIT;

		value_to_python(value_key(v, i), &key, false);
		value_to_python(value_at(v, i), &text, false);
		value_set(set, key.buf, value_strn(text.buf, text.len));
	}
	return set;
}

static int take_tags(struct job_filter *f, const char *value, struct strbuf *why)
{
	_cleanup_value_ struct value *v = NULL;
	size_t pairs = 0;

	if (!is_literal(value))
		v = value_str(value);
	else if (take_literal(value, &v, why) < 0)
		return -EINVAL;
	value_free(f->tag_sets);
	f->tag_sets = value_new(VALUE_LIST);
	if (v->kind == VALUE_LIST)
		for (size_t i = 0; i < v->list.count; i++)
			value_append(f->tag_sets, tag_set(v->list.items[i]));
	else
		value_append(f->tag_sets, tag_set(v));
	for (size_t i = 0; i < f->tag_sets->list.count; i++)
		pairs += value_pairs(f->tag_sets->list.items[i]);
	return pairs > FILTER_WORDS_MAX ? wrong(why, "at most 16 tags", value) : 0;
}

/* The two JSON texts that a value may be stored as: itself, and as a string. */
static struct value *json_texts(const struct value *v)
{
	_cleanup_json_ struct json_writer one = JSON_WRITER_INIT, two = JSON_WRITER_INIT;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	struct value *list = value_new(VALUE_LIST);

	if (v->kind == VALUE_STR)
		strbuf_add(&text, v->str.data, v->str.size);
	else
		value_to_python(v, &text, false);
	json_text(&one, NULL, text.buf, text.len);
	value_append(list, value_strn(one.out.buf, one.out.len));
	if (v->kind != VALUE_STR) {
		value_to_json(v, &two, NULL);
		value_append(list, value_strn(two.out.buf, two.out.len));
	} else {
		value_append(list, value_strn(text.buf, text.len));
	}
	return list;
}

static int take_pairs(struct value **to, const char *value, struct strbuf *why)
{
	_cleanup_value_ struct value *v = NULL;

	if (!is_literal(value))
		v = tags_parse(value, NULL);
	else if (take_literal(value, &v, why) < 0)
		return -EINVAL;
	if (v->kind != VALUE_DICT || value_pairs(v) > FILTER_WORDS_MAX / 2)
		return wrong(why, "at most 8 pairs as key:value;key:value", value);
	value_free(*to);
	*to = value_new(VALUE_DICT);
	for (size_t i = 0; i < value_pairs(v); i++) {
		_cleanup_strbuf_ struct strbuf key = STRBUF_INIT;

		value_to_python(value_key(v, i), &key, false);
		value_set(*to, key.buf, json_texts(value_at(v, i)));
	}
	return 0;
}

/* "duration", "-duration", "desc(Job.duration)". The caller checks whether the column exists. */
static int take_order(struct job_filter *f, const char *value, struct strbuf *why)
{
	bool down = *value == '-' || str_prefix(value, "desc(");
	const char *name = value + (*value == '-' ? 1 : down ? 5 : 0);
	size_t n = strcspn(name, ")");
	const char *dot = memchr(name, '.', n);

	if (dot) {
		n -= (size_t)(dot + 1 - name);
		name = dot + 1;
	}
	if (!n)
		return wrong(why, "a column such as duration, or desc(duration)", value);
	_cleanup_free_ char *text = xasprintf("%s%.*s", down ? "-" : "", (int)n, name);
	f->order = keep(f, text, strlen(text));
	return 0;
}

/* Keys that only name the place of their value. */
#define TAKE(key, call)                                                                    \
	static int take_##key(struct job_filter *f, const char *value, struct strbuf *why) \
	{                                                                                  \
		return call;                                                               \
	}
TAKE(offset, take_number(value, &f->offset, why))
TAKE(exact, take_bool(value, &f->exact_tags, why))
TAKE(fold, take_bool(value, &f->fold, why))
TAKE(when, take_time(value, &f->has_when, &f->when, why))
TAKE(before, take_time(value, &f->has_before, &f->before, why))
TAKE(after, take_time(value, &f->has_after, &f->after, why))
TAKE(exclude, take_list(value, &f->exclude, why))
TAKE(annotations, take_pairs(&f->annotations, value, why))
TAKE(analyses, take_pairs(&f->analyses, value, why))

/* ---- conditions ----------------------------------------------------------------------------- */

static void add_no(struct sql *q, const struct job_filter *f, bool processes)
{
	if (f->no)
		sql_put(q, processes ? " AND j.job = ?" : " AND j.no = ?", db_int(f->no));
}

static void add_user(struct sql *q, const struct job_filter *f, bool processes)
{
	if (f->user && !processes)
		sql_put(q, " AND j.username = ?", db_str(f->user));
}

static void add_hosts(struct sql *q, const struct job_filter *f, bool processes)
{
	if (!f->hosts.count)
		return;
	sql_add(q, processes ? " AND "
			     : " AND EXISTS (SELECT 1 FROM job_host h WHERE h.job = j.no AND ");
	sql_list(q, processes ? "j.hostname" : "h.host", f->hosts.word, f->hosts.count);
	if (!processes)
		sql_add(q, ")");
}

#define HAS_TAG " AND EXISTS (SELECT 1 FROM job_tag t WHERE t.job = j.no AND t.key = ?"

static void add_tag(struct sql *q, const struct job_filter *f, bool processes)
{
	for (size_t i = 0; !processes && i < f->tags.count; i++) {
		const char *tag = f->tags.word[i], *value;
		size_t n = tag_split(tag, &value);

		sql_put(q, HAS_TAG, db_text(tag, n));
		if (value)
			sql_put(q, " AND t.value = ?", db_str(value));
		sql_add(q, ")");
	}
}

static void add_tag_set(struct sql *q, const struct value *set, bool exact)
{
	size_t n = value_pairs(set);

	sql_add(q, "(1 = 1");
	for (size_t i = 0; i < n; i++)
		sql_put(q, HAS_TAG " AND t.value = ?)", db_str(value_key(set, i)->str.data),
			db_str(value_at(set, i)->str.data));
	if (exact || !n)
		sql_put(q, " AND (SELECT count(*) FROM job_tag t WHERE t.job = j.no) = ?",
			db_int((int64_t)n));
	sql_add(q, ")");
}

/* Tags of a process are one text, for filter_matches_tags(). */
static void add_tag_sets(struct sql *q, const struct job_filter *f, bool processes)
{
	if (!f->tag_sets || processes)
		return;
	sql_add(q, " AND (1 = 0");
	for (size_t i = 0; i < f->tag_sets->list.count; i++) {
		sql_add(q, " OR ");
		add_tag_set(q, f->tag_sets->list.items[i], f->exact_tags);
	}
	sql_add(q, ")");
}

/* Jobs with all of these pairs; a value is one of two texts. */
static void add_pairs(struct sql *q, const char *table, const struct value *pairs)
{
	for (size_t i = 0; pairs && i < value_pairs(pairs); i++) {
		const struct value *texts = value_at(pairs, i);

		sql_add(q, " AND EXISTS (SELECT 1 FROM ");
		sql_add(q, table);
		sql_put(q, " a WHERE a.job = j.no AND a.key = ? AND a.value IN (?, ?))",
			db_str(value_key(pairs, i)->str.data),
			db_str(texts->list.items[0]->str.data),
			db_str(texts->list.items[1]->str.data));
	}
}

static void add_annotations(struct sql *q, const struct job_filter *f, bool processes)
{
	if (!processes)
		add_pairs(q, "job_annotation", f->annotations);
}

/* An empty dict selects jobs without analyses. */
static void add_analyses(struct sql *q, const struct job_filter *f, bool processes)
{
	if (processes || !f->analyses)
		return;
	add_pairs(q, "job_analysis", f->analyses);
	if (!value_pairs(f->analyses))
		sql_add(q, " AND NOT EXISTS (SELECT 1 FROM job_analysis a WHERE a.job = j.no)");
}

static void add_when(struct sql *q, const struct job_filter *f, bool processes)
{
	if (f->has_when)
		sql_put(q,
			processes ? " AND j.start <= ? AND (j.\"end\" IS NULL OR j.\"end\" >= ?)"
				  : " AND j.start_us <= ? AND (j.end_us IS NULL OR j.end_us >= ?)",
			db_int(f->when_end ? f->when_end : f->when), db_int(f->when));
}

static void add_before(struct sql *q, const struct job_filter *f, bool processes)
{
	if (f->has_before)
		sql_put(q, processes ? " AND j.\"end\" <= ?" : " AND j.end_us <= ?",
			db_int(f->before));
}

static void add_after(struct sql *q, const struct job_filter *f, bool processes)
{
	if (f->has_after)
		sql_put(q, processes ? " AND j.start >= ?" : " AND j.start_us >= ?",
			db_int(f->after));
}

static void add_exit(struct sql *q, const struct job_filter *f, bool processes PL_UNUSED)
{
	if (f->exit == EXIT_WITH)
		sql_put(q, " AND j.exitcode = ?", db_int(f->exitcode));
	else if (f->exit != EXIT_ANY)
		sql_add(q, f->exit == EXIT_WELL ? " AND j.exitcode = 0" : " AND j.exitcode <> 0");
}

/* ---- the table ------------------------------------------------------------------------------ */

#define JOBS FILTER_KEYWORD_JOBS
#define PROCESSES FILTER_KEYWORD_PROCESSES
#define TAGS FILTER_KEYWORD_PROC_TAGS

/* clang-format off */
const struct filter_key filter_keys[] = {
	{"after", JOBS, FILTER_TIME, "started at this time or later", take_after, add_after},
	{"analyses", JOBS, FILTER_PAIRS, "have all of these analyses; empty: have none", take_analyses, add_analyses},
	{"annotations", JOBS, FILTER_PAIRS, "have all of these annotations", take_annotations, add_annotations},
	{"before", JOBS, FILTER_TIME, "ended at this time or earlier", take_before, add_before},
	{"exact_tag_only", JOBS | PROCESSES, FILTER_BOOL, "have the tags and no others", take_exact, NULL},
	{"exclude", TAGS, FILTER_LIST, "keys to leave out of each tag", take_exclude, NULL},
	{"exit", 0, FILTER_CHOICE, "ended with this code", NULL, add_exit},
	{"fltr", JOBS | PROCESSES, FILTER_TEXT, "a Python expression; not supported", take_filter, NULL},
	{"fmt", JOBS | PROCESSES, FILTER_CHOICE, "terse, dict or pandas", take_format, NULL},
	{"fold", TAGS, FILTER_BOOL, "group the values of each key", take_fold, NULL},
	{"hosts", JOBS | PROCESSES, FILTER_LIST, "ran on any of these hosts", take_hosts, add_hosts},
	{"limit", JOBS | PROCESSES, FILTER_NUMBER, "maximum number; 0: all", take_limit, NULL},
	{"merge_proc_sums", JOBS, FILTER_BOOL, "put sums over processes among the keys of the job", take_merge, NULL},
	{"merge_threads_sums", PROCESSES, FILTER_BOOL, "put sums over threads among the keys of the process", take_merge, NULL},
	{"no", 0, FILTER_NUMBER, "the job with this number", NULL, add_no},
	{"offset", JOBS | PROCESSES, FILTER_NUMBER, "skip this many", take_offset, NULL},
	{"order", JOBS | PROCESSES, FILTER_TEXT, "sort by this column; desc(COLUMN): largest first", take_order, NULL},
	{"tag", 0, FILTER_TAGS, "have this tag", NULL, add_tag},
	{"tag_filter", TAGS, FILTER_TAGS, "only tags with these pairs", take_tags, NULL},
	{"tags", JOBS | PROCESSES, FILTER_TAGS, "have all of these tags; empty: have none", take_tags, add_tag_sets},
	{"trigger_post_process", JOBS, FILTER_BOOL, "no effect: every job is processed", take_post_process, NULL},
	{"user", 0, FILTER_TEXT, "of this user", NULL, add_user},
	{"when", JOBS | PROCESSES, FILTER_TIME, "ran at this time, or at the same time as this job or process", take_when, add_when},
	{NULL, 0, FILTER_TEXT, NULL, NULL, NULL},
};
/* clang-format on */

int filter_take(struct job_filter *f, unsigned scope, const char *key, const char *value,
		struct strbuf *why)
{
	for (const struct filter_key *k = filter_keys; k->key; k++)
		if (k->scope & scope && !strcmp(k->key, key)) {
			_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

			/* None in Python: not given */
			if (!strcasecmp(value, "none"))
				return 0;
			int r = k->take(f, value, &text);
			if (r < 0)
				strbuf_addf(why, "%s %s", key, text.buf);
			return r;
		}
	strbuf_addf(why, "unknown keyword '%s'; known ones: jobs", key);
	for (const struct filter_key *k = filter_keys; k->key; k++)
		if (k->scope & scope)
			strbuf_addf(why, ", %s", k->key);
	return -ENOENT;
}

void filter_add(struct sql *q, const struct job_filter *f, bool processes)
{
	for (const struct filter_key *k = filter_keys; k->key; k++)
		if (k->add)
			k->add(q, f, processes);
}

static bool has_pairs(const struct value *tags, const struct value *set, bool exact)
{
	for (size_t i = 0; i < value_pairs(set); i++) {
		const char *v = value_get_str(tags, value_key(set, i)->str.data);

		if (!v || strcmp(v, value_at(set, i)->str.data) != 0)
			return false;
	}
	return (!exact && value_pairs(set)) || value_pairs(tags) == value_pairs(set);
}

bool filter_matches_tags(const struct job_filter *f, const char *text)
{
	if (!f->tag_sets)
		return true;
	_cleanup_value_ struct value *tags = tags_parse(text ? text : "", NULL);
	for (size_t i = 0; i < f->tag_sets->list.count; i++)
		if (has_pairs(tags, f->tag_sets->list.items[i], f->exact_tags))
			return true;
	return false;
}
