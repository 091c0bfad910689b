/* EPMT's keywords as conditions; see epmt_filter.h. */
#include "compat/epmt/epmt_filter.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "core/clock.h"
#include "core/text/python_literal.h"
#include "jobs/tags.h"

void epmt_filter_init(struct epmt_filter *f, unsigned scope)
{
	*f = (struct epmt_filter){.scope = scope, .limit = NO_LIMIT};
}

void epmt_filter_release(struct epmt_filter *f)
{
	filter_free(f->where);
	free(f->expression);
	free(f->order);
	value_free(f->hosts);
	value_free(f->tag_sets);
	value_free(f->annotations);
	value_free(f->analyses);
	value_free(f->exclude);
}

/* ---- reading values ------------------------------------------------------------------------- */

static int wrong(struct strbuf *why, const char *wanted, const char *value)
{
	return strbuf_fail(why, -EINVAL, "needs %s, not '%s'", wanted, value);
}

static bool is_literal(const char *value)
{
	return *value == '{' || *value == '[' || *value == '(';
}

static int take_number(const char *value, uint64_t *to, struct strbuf *why)
{
	return parse_u64(value, to) < 0 ? wrong(why, "a number", value) : 0;
}

static int take_limit(struct epmt_filter *f, const char *value, struct strbuf *why)
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

static int take_merge(struct epmt_filter *f, const char *value, struct strbuf *why)
{
	bool merge = true;
	int r = take_bool(value, &merge, why);

	f->separate_sums = !merge;
	return r;
}

/* Has no effect: every job is processed when it is stored. */
static int take_post_process(struct epmt_filter *f PL_UNUSED, const char *value, struct strbuf *why)
{
	bool ignored;

	return take_bool(value, &ignored, why);
}

static int take_format(struct epmt_filter *f, const char *value, struct strbuf *why)
{
	/* json is ours: dicts for programs, the Python modules among them */
	static const char *const names[] = {"terse", "dict", "pandas", "json"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i], value)) {
			f->format = FORMAT_TERSE + (enum epmt_format)i;
			return 0;
		}
	return wrong(why,
		     !strcmp(value, "orm")
			     ? "terse, dict, pandas or json (orm objects exist in Python only)"
			     : "terse, dict, pandas or json",
		     value);
}

/* EPMT's is an expression of Python; ours is a filter, which the Python modules make of it. */
static int take_filter(struct epmt_filter *f, const char *value, struct strbuf *why PL_UNUSED)
{
	free(f->expression);
	f->expression = xstrdup(value);
	return 0;
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

static int take_when(struct epmt_filter *f, const char *value, struct strbuf *why)
{
	int r = take_time(value, &f->has_when, &f->when, why);

	f->when_end = f->when;
	return r;
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
	value_free(*ret);
	*ret = NULL;
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

static int take_hosts(struct epmt_filter *f, const char *value, struct strbuf *why)
{
	int r = take_list(value, &f->hosts, why);

	if (r < 0)
		return r;
	bool texts = f->hosts->kind == VALUE_LIST && f->hosts->list.count;
	for (size_t i = 0; texts && i < f->hosts->list.count; i++)
		texts = f->hosts->list.items[i]->kind == VALUE_STR;
	return texts ? 0 : wrong(why, "host names", value);
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

static int take_tags(struct epmt_filter *f, const char *value, struct strbuf *why)
{
	_cleanup_value_ struct value *v = NULL;

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
	return 0;
}

/* The texts that a value may be stored as: as Python and as JSON write it. */
static struct value *note_texts(const struct value *v)
{
	_cleanup_json_ struct json_writer json = JSON_WRITER_INIT;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	struct value *list = value_new(VALUE_LIST);

	value_to_python(v, &text, false);
	value_append(list, value_strn(text.buf, text.len));
	if (v->kind == VALUE_STR)
		return list;
	value_to_json(v, &json, NULL);
	value_append(list, value_strn(json.out.buf, json.out.len));
	return list;
}

static int take_pairs(struct value **to, const char *value, struct strbuf *why)
{
	_cleanup_value_ struct value *v = NULL;

	if (!is_literal(value))
		v = tags_parse(value, NULL);
	else if (take_literal(value, &v, why) < 0)
		return -EINVAL;
	if (v->kind != VALUE_DICT)
		return wrong(why, "pairs as key:value;key:value", value);
	value_free(*to);
	*to = value_new(VALUE_DICT);
	for (size_t i = 0; i < value_pairs(v); i++) {
		_cleanup_strbuf_ struct strbuf key = STRBUF_INIT;

		value_to_python(value_key(v, i), &key, false);
		value_set(*to, key.buf, note_texts(value_at(v, i)));
	}
	return 0;
}

/* EPMT's columns that have another name here. */
static const struct {
	const char *epmt, *ours;
} columns[] = {
	{"created_at", "ingested"},
	{"updated_at", "ingested"},
	{"gen", "generation"},
};

/* "duration", "-duration", "desc(Job.duration)". */
static int take_order(struct epmt_filter *f, const char *value, struct strbuf *why)
{
	enum filter_scope scope = f->scope == EPMT_PROCESSES ? FILTER_PROCESSES : FILTER_JOBS;
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
	_cleanup_free_ char *column = xstrndup(name, n);
	const char *key = column;
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		if (!strcmp(columns[i].epmt, column))
			key = columns[i].ours;
	free(f->order);
	f->order = xasprintf("%s%s", down ? "-" : "", key);
	if (!filter_order_known(scope, f->order, NULL))
		return strbuf_fail(why, -EINVAL, ": %s have no column '%s'",
				   scope == FILTER_JOBS ? "jobs" : "processes", column);
	return 0;
}

/* Keys that only name the place of their value. */
#define TAKE(key, call)                                                                     \
	static int take_##key(struct epmt_filter *f, const char *value, struct strbuf *why) \
	{                                                                                   \
		return call;                                                                \
	}
TAKE(offset, take_number(value, &f->offset, why))
TAKE(exact, take_bool(value, &f->exact_tags, why))
TAKE(fold, take_bool(value, &f->fold, why))
TAKE(before, take_time(value, &f->has_before, &f->before, why))
TAKE(after, take_time(value, &f->has_after, &f->after, why))
TAKE(exclude, take_list(value, &f->exclude, why))
TAKE(annotations, take_pairs(&f->annotations, value, why))
TAKE(analyses, take_pairs(&f->analyses, value, why))

TAKE(by_tag, take_bool(value, &f->by_tag, why))

static int take_duration(struct epmt_filter *f, const char *value, struct strbuf *why)
{
	static const char *const methods[OPERATION_DURATIONS] = {
		[OPERATION_SUM] = "sum",
		[OPERATION_UNION] = "sum-minus-overlap",
		[OPERATION_SPAN] = "finish-minus-start"};

	for (size_t i = 0; i < OPERATION_DURATIONS; i++)
		if (!strcmp(methods[i], value)) {
			f->op_duration = (enum operation_duration)i;
			return 0;
		}
	return wrong(why, "sum, sum-minus-overlap or finish-minus-start", value);
}

#define JOBS EPMT_JOBS
#define OPERATIONS EPMT_OPERATIONS
#define PROCESSES EPMT_PROCESSES
#define TAGS EPMT_PROC_TAGS
#define ALL (JOBS | PROCESSES | TAGS | EPMT_THREADS | EPMT_MODELS | EPMT_OPERATIONS)

static const struct keyword {
	const char *key;
	unsigned scope;
	int (*take)(struct epmt_filter *f, const char *value, struct strbuf *why);
} keywords[] = {
	{"after", JOBS, take_after},
	{"analyses", JOBS, take_analyses},
	{"annotations", JOBS, take_annotations},
	{"before", JOBS, take_before},
	{"exact_tag_only", JOBS | PROCESSES, take_exact},
	{"exact_tags_only", OPERATIONS, take_exact},
	{"exclude", TAGS, take_exclude},
	{"fltr", JOBS | PROCESSES, take_filter},
	{"fmt", ALL, take_format},
	{"fold", TAGS, take_fold},
	{"group_by_tag", OPERATIONS, take_by_tag},
	{"hosts", JOBS | PROCESSES, take_hosts},
	{"limit", JOBS | PROCESSES, take_limit},
	{"merge_proc_sums", JOBS, take_merge},
	{"merge_threads_sums", PROCESSES, take_merge},
	{"offset", JOBS | PROCESSES, take_offset},
	{"op_duration_method", OPERATIONS, take_duration},
	{"order", JOBS | PROCESSES, take_order},
	{"tag_filter", TAGS, take_tags},
	{"tags", JOBS | PROCESSES | OPERATIONS, take_tags},
	{"trigger_post_process", JOBS, take_post_process},
	{"when", JOBS | PROCESSES, take_when},
};

int epmt_filter_take(struct epmt_filter *f, const char *key, const char *value, struct strbuf *why)
{
	for (size_t i = 0; i < ARRAY_SIZE(keywords); i++)
		if (keywords[i].scope & f->scope && !strcmp(keywords[i].key, key)) {
			_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

			/* None in Python: not given */
			if (!strcasecmp(value, "none"))
				return 0;
			int r = keywords[i].take(f, value, &text);
			if (r < 0)
				strbuf_addf(why, "%s%s%s", key, *text.buf == ':' ? "" : " ",
					    text.buf);
			return r;
		}
	strbuf_addf(why, "unknown keyword '%s'; known ones: jobs", key);
	for (size_t i = 0; i < ARRAY_SIZE(keywords); i++)
		if (keywords[i].scope & f->scope)
			strbuf_addf(why, ", %s", keywords[i].key);
	return -ENOENT;
}

void epmt_filter_when(struct epmt_filter *f, int64_t from_us, int64_t to_us)
{
	f->has_when = true;
	f->when = from_us;
	f->when_end = to_us;
}

/* ---- conditions ----------------------------------------------------------------------------- */

static int require_text(struct filter *f, const char *prefix, const char *name,
			const struct value *texts, struct strbuf *why)
{
	const char *words[2];
	size_t n = 0;
	_cleanup_free_ char *key = xasprintf("%s%s", prefix, name);

	if (texts->kind == VALUE_STR)
		words[n++] = texts->str.data;
	for (size_t i = 0; texts->kind == VALUE_LIST && i < texts->list.count && n < 2; i++)
		words[n++] = texts->list.items[i]->str.data;
	return filter_require(f, key, FILTER_IS, words, n, why);
}

static int require_pairs(struct filter *f, const char *prefix, const struct value *pairs,
			 struct strbuf *why)
{
	int r = 0;

	for (size_t i = 0; pairs && i < value_pairs(pairs) && r == 0; i++)
		r = require_text(f, prefix, value_key(pairs, i)->str.data, value_at(pairs, i), why);
	return r;
}

/* All pairs of a set; and no other tags if it is exact or empty. */
static int require_set(struct filter *f, const struct value *set, bool exact, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (!exact && value_pairs(set)) {
		struct filter_node *outer = filter_begin(f, FILTER_ALL_OF);
		int r = require_pairs(f, "tag.", set, why);

		filter_end(f, outer);
		return r;
	}
	for (size_t i = 0; i < value_pairs(set); i++)
		strbuf_addf(&text, "%s%s:%s", i ? ";" : "", value_key(set, i)->str.data,
			    value_at(set, i)->str.data);
	const char *word = text.buf;
	return filter_require(f, "tags", FILTER_IS, &word, 1, why);
}

static int require_sets(struct filter *f, const struct epmt_filter *e, struct strbuf *why)
{
	int r = 0;

	if (!e->tag_sets || e->scope == EPMT_PROC_TAGS || e->scope == EPMT_OPERATIONS)
		return 0;
	struct filter_node *outer = filter_begin(f, FILTER_ANY_OF);
	for (size_t i = 0; i < e->tag_sets->list.count && r == 0; i++)
		r = require_set(f, e->tag_sets->list.items[i], e->exact_tags, why);
	filter_end(f, outer);
	return r;
}

static int require_hosts(struct filter *f, const struct value *hosts, struct strbuf *why)
{
	size_t n = hosts ? hosts->list.count : 0;
	_cleanup_free_ const char **words = xcalloc(n + 1, sizeof(*words));

	for (size_t i = 0; i < n; i++)
		words[i] = hosts->list.items[i]->str.data;
	return n ? filter_require(f, "host", FILTER_IS, words, n, why) : 0;
}

int epmt_filter_end(struct epmt_filter *e, struct strbuf *why)
{
	const char *none = "";
	struct filter *f = filter_new(e->scope == EPMT_PROCESSES ? FILTER_PROCESSES : FILTER_JOBS);

	e->where = f;
	if (e->has_when)
		filter_require_period(f, e->when, e->when_end);
	if (e->has_before)
		filter_require_number(f, "before", FILTER_IS, e->before);
	if (e->has_after)
		filter_require_number(f, "after", FILTER_IS, e->after);
	int r = require_hosts(f, e->hosts, why);
	if (r == 0 && e->expression) {
		r = filter_parse(f, e->expression, why);
		if (r < 0)
			strbuf_addstr(why, "; fltr takes a filter as `plimsoll query` does");
	}
	if (r == 0)
		r = require_sets(f, e, why);
	if (r == 0)
		r = require_pairs(f, "annotation.", e->annotations, why);
	if (r == 0)
		r = require_pairs(f, "analysis.", e->analyses, why);
	if (r == 0 && e->analyses && !value_pairs(e->analyses))
		r = filter_require(f, "analyses", FILTER_IS, &none, 1, why);
	return r;
}

/* ---- sets of tags --------------------------------------------------------------------------- */

static bool has_pairs(const struct value *tags, const struct value *set, bool exact)
{
	for (size_t i = 0; i < value_pairs(set); i++) {
		const char *v = value_get_str(tags, value_key(set, i)->str.data);

		if (!v || strcmp(v, value_at(set, i)->str.data) != 0)
			return false;
	}
	return (!exact && value_pairs(set)) || value_pairs(tags) == value_pairs(set);
}

bool epmt_filter_matches_tags(const struct epmt_filter *f, const char *text)
{
	if (!f->tag_sets)
		return true;
	_cleanup_value_ struct value *tags = tags_parse(text ? text : "", NULL);
	for (size_t i = 0; i < f->tag_sets->list.count; i++)
		if (has_pairs(tags, f->tag_sets->list.items[i], f->exact_tags))
			return true;
	return false;
}
