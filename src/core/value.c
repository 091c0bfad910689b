/* Dynamic values; see value.h. */
#include "core/value.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "core/text/json_reader.h"
#include "core/text/text.h"

struct value *value_new(enum value_kind kind)
{
	struct value *v = xcalloc(1, sizeof(*v));

	v->kind = kind;
	v->refs = 1;
	v->weight = 1;
	return v;
}

struct value *value_strn(const char *s, size_t n)
{
	struct value *v = value_new(VALUE_STR);

	v->str.data = xmalloc(n + 1);
	memcpy(v->str.data, s, n);
	v->str.data[n] = 0;
	v->str.size = n;
	return v;
}

struct value *value_str(const char *s)
{
	return value_strn(s, strlen(s));
}

struct value *value_int(int64_t i)
{
	struct value *v = value_new(VALUE_INT);

	v->integer = i;
	return v;
}

struct value *value_bool(bool b)
{
	struct value *v = value_new(VALUE_BOOL);

	v->boolean = b;
	return v;
}

struct value *value_time_us(int64_t epoch_us)
{
	struct value *v = value_new(VALUE_TIME);
	int64_t us = epoch_us % 1000000;
	time_t seconds = (time_t)(epoch_us / 1000000);
	struct tm tm;

	if (us < 0) {
		us += 1000000;
		seconds--;
	}
	localtime_r(&seconds, &tm);
	v->time = (struct value_time){tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday,
				      tm.tm_hour,        tm.tm_min,     tm.tm_sec,
				      (int)us,           true,          (int)tm.tm_gmtoff};
	return v;
}

struct value *value_ref(struct value *v)
{
	v->refs++;
	return v;
}

void value_free(struct value *v)
{
	if (!v || --v->refs > 0)
		return;
	if (v->kind == VALUE_STR || v->kind == VALUE_BYTES)
		free(v->str.data);
	if (v->kind >= VALUE_LIST) {
		for (size_t i = 0; i < v->list.count; i++)
			value_free(v->list.items[i]);
		free(v->list.items);
	}
	free(v);
}

void value_free_ptr(struct value **v)
{
	value_free(*v);
}

void value_append(struct value *list, struct value *item)
{
	GROW(list->list.items, list->list.count, list->list.cap);
	list->list.items[list->list.count++] = item;
}

static bool is_text(const struct value *v)
{
	return v->kind == VALUE_STR || v->kind == VALUE_BYTES;
}

static bool same_key(const struct value *a, const struct value *b)
{
	if (is_text(a) && is_text(b))
		return a->str.size == b->str.size && !memcmp(a->str.data, b->str.data, a->str.size);
	return a->kind == VALUE_INT && b->kind == VALUE_INT && a->integer == b->integer;
}

/* Position of a key, or of the end. */
static size_t find(const struct value *dict, const struct value *key)
{
	size_t i = 0;

	while (i + 1 < dict->list.count && !same_key(dict->list.items[i], key))
		i += 2;
	return i;
}

void value_set_take(struct value *dict, struct value *key, struct value *v)
{
	size_t i = find(dict, key);

	if (i < dict->list.count) {
		value_free(key);
		value_free(dict->list.items[i + 1]);
		dict->list.items[i + 1] = v;
		return;
	}
	value_append(dict, key);
	value_append(dict, v);
}

void value_set(struct value *dict, const char *key, struct value *v)
{
	value_set_take(dict, value_str(key), v);
}

bool value_unset(struct value *dict, const char *key)
{
	_cleanup_value_ struct value *k = value_str(key);
	size_t i = find(dict, k);

	if (i >= dict->list.count)
		return false;
	value_free(dict->list.items[i]);
	value_free(dict->list.items[i + 1]);
	memmove(dict->list.items + i, dict->list.items + i + 2,
		(dict->list.count - i - 2) * sizeof(*dict->list.items));
	dict->list.count -= 2;
	return true;
}

struct value *value_get(const struct value *dict, const char *key)
{
	size_t n = strlen(key);

	if (!dict || dict->kind != VALUE_DICT)
		return NULL;
	for (size_t i = 0; i + 1 < dict->list.count; i += 2) {
		const struct value *k = dict->list.items[i];

		if (is_text(k) && k->str.size == n && !memcmp(k->str.data, key, n))
			return dict->list.items[i + 1];
	}
	return NULL;
}

const char *value_get_str(const struct value *dict, const char *key)
{
	const struct value *v = value_get(dict, key);

	return v && is_text(v) ? v->str.data : NULL;
}

int64_t value_get_int(const struct value *dict, const char *key)
{
	const struct value *v = value_get(dict, key);

	return v && v->kind == VALUE_INT ? v->integer : 0;
}

size_t value_pairs(const struct value *dict)
{
	return dict && dict->kind == VALUE_DICT ? dict->list.count / 2 : 0;
}

const struct value *value_key(const struct value *dict, size_t i)
{
	return dict->list.items[2 * i];
}

struct value *value_at(const struct value *dict, size_t i)
{
	return dict->list.items[2 * i + 1];
}

static int compare_pairs(const void *a, const void *b)
{
	const struct value *x = *(struct value *const *)a, *y = *(struct value *const *)b;

	if (!is_text(x) || !is_text(y))
		return is_text(x) - is_text(y);
	size_t n = x->str.size < y->str.size ? x->str.size : y->str.size;
	int c = memcmp(x->str.data, y->str.data, n);
	return c ? c : (x->str.size > y->str.size) - (x->str.size < y->str.size);
}

void value_sort(struct value *dict)
{
	if (dict->kind == VALUE_DICT && dict->list.count)
		qsort(dict->list.items, dict->list.count / 2, 2 * sizeof(*dict->list.items),
		      compare_pairs);
}

int value_epoch_us(const struct value *v, int64_t *ret)
{
	struct tm tm = {0};

	if (!v || v->kind != VALUE_TIME)
		return -EINVAL;
	tm.tm_year = v->time.year - 1900;
	tm.tm_mon = v->time.month - 1;
	tm.tm_mday = v->time.day;
	tm.tm_hour = v->time.hour;
	tm.tm_min = v->time.minute;
	tm.tm_sec = v->time.second;
	tm.tm_isdst = -1;
	int64_t seconds =
		v->time.has_zone ? (int64_t)timegm(&tm) - v->time.offset_s : (int64_t)mktime(&tm);
	*ret = seconds * 1000000 + v->time.microsecond;
	return 0;
}

/* ---- output --------------------------------------------------------------------------------- */

static void add_time(struct strbuf *out, const struct value_time *t, char separator)
{
	strbuf_addf(out, "%04d-%02d-%02d%c%02d:%02d:%02d", t->year, t->month, t->day, separator,
		    t->hour, t->minute, t->second);
	if (t->microsecond || separator == 'T')
		strbuf_addf(out, ".%06d", t->microsecond);
	if (t->has_zone) {
		int minutes = t->offset_s / 60, abs = minutes < 0 ? -minutes : minutes;

		strbuf_addf(out, "%c%02d:%02d", minutes < 0 ? '-' : '+', abs / 60, abs % 60);
	}
}

static void key_text(const struct value *k, struct strbuf *out)
{
	if (is_text(k))
		strbuf_add(out, k->str.data, k->str.size);
	else
		value_to_python(k, out, false);
}

void value_to_json(const struct value *v, struct json_writer *j, const char *key)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	switch (v->kind) {
	case VALUE_NONE:
		json_none(j, key);
		break;
	case VALUE_BOOL:
		json_bool(j, key, v->boolean);
		break;
	case VALUE_INT:
	case VALUE_DELTA:
	case VALUE_ZONE:
		json_i64(j, key, v->integer);
		break;
	case VALUE_REAL:
		json_f64(j, key, v->real);
		break;
	case VALUE_STR:
	case VALUE_BYTES:
		json_text(j, key, v->str.data, v->str.size);
		break;
	case VALUE_TIME:
		add_time(&text, &v->time, 'T');
		json_text(j, key, text.buf, text.len);
		break;
	case VALUE_LIST:
	case VALUE_TUPLE:
		json_begin_array(j, key);
		for (size_t i = 0; i < v->list.count; i++)
			value_to_json(v->list.items[i], j, NULL);
		json_end_array(j);
		break;
	case VALUE_DICT:
		json_begin_object(j, key);
		for (size_t i = 0; i < value_pairs(v); i++) {
			strbuf_reset(&text);
			key_text(value_key(v, i), &text);
			value_to_json(value_at(v, i), j, text.buf);
		}
		json_end_object(j);
		break;
	}
}

static void add_python_string(struct strbuf *out, const struct value *v)
{
	char quote =
		memchr(v->str.data, '\'', v->str.size) && !memchr(v->str.data, '"', v->str.size)
			? '"'
			: '\'';

	if (v->kind == VALUE_BYTES)
		strbuf_addch(out, 'b');
	strbuf_addch(out, quote);
	for (size_t i = 0; i < v->str.size;) {
		const char *s = v->str.data + i;
		size_t len = v->kind == VALUE_STR ? utf8_sequence(s, v->str.size - i) : 0;

		if (*s == '\n')
			strbuf_addstr(out, "\\n");
		else if (*s == '\t')
			strbuf_addstr(out, "\\t");
		else if (*s == '\r')
			strbuf_addstr(out, "\\r");
		else if (*s == quote || *s == '\\')
			strbuf_addf(out, "\\%c", *s);
		else if (len > 1)
			strbuf_add(out, s, len);
		else if ((unsigned char)*s >= 0x20 && (unsigned char)*s < 0x7f)
			strbuf_addch(out, *s);
		else
			strbuf_addf(out, "\\x%02x", (unsigned char)*s);
		i += len ? len : 1;
	}
	strbuf_addch(out, quote);
}

/* As repr() has it, which leaves out seconds and microseconds of 0 at the end. */
static void add_python_time(struct strbuf *out, const struct value_time *t)
{
	strbuf_addf(out, "datetime.datetime(%d, %d, %d, %d, %d", t->year, t->month, t->day, t->hour,
		    t->minute);
	if (t->second || t->microsecond)
		strbuf_addf(out, ", %d", t->second);
	if (t->microsecond)
		strbuf_addf(out, ", %d", t->microsecond);
	if (t->has_zone)
		strbuf_addf(out, ", tzinfo=datetime.timezone(datetime.timedelta(seconds=%d))",
			    t->offset_s);
	strbuf_addch(out, ')');
}

void value_to_python(const struct value *v, struct strbuf *out, bool repr)
{
	switch (v->kind) {
	case VALUE_NONE:
		strbuf_addstr(out, "None");
		break;
	case VALUE_BOOL:
		strbuf_addstr(out, v->boolean ? "True" : "False");
		break;
	case VALUE_INT:
		strbuf_addf(out, "%lld", (long long)v->integer);
		break;
	case VALUE_REAL:
		text_add_real(out, v->real);
		break;
	case VALUE_STR:
		if (!repr) {
			strbuf_add(out, v->str.data, v->str.size);
			break;
		}
		add_python_string(out, v);
		break;
	case VALUE_BYTES:
		add_python_string(out, v);
		break;
	case VALUE_TIME:
		if (repr)
			add_python_time(out, &v->time);
		else
			add_time(out, &v->time, ' ');
		break;
	case VALUE_DELTA:
		strbuf_addf(out, "%.6f s", (double)v->integer / 1e6);
		break;
	case VALUE_ZONE:
		strbuf_addf(out, "UTC%+d s", (int)v->integer);
		break;
	case VALUE_LIST:
	case VALUE_TUPLE:
		strbuf_addch(out, v->kind == VALUE_LIST ? '[' : '(');
		for (size_t i = 0; i < v->list.count; i++) {
			strbuf_addstr(out, i ? ", " : "");
			value_to_python(v->list.items[i], out, true);
		}
		if (v->kind == VALUE_TUPLE && v->list.count == 1)
			strbuf_addch(out, ',');
		strbuf_addch(out, v->kind == VALUE_LIST ? ']' : ')');
		break;
	case VALUE_DICT:
		strbuf_addch(out, '{');
		for (size_t i = 0; i < value_pairs(v); i++) {
			strbuf_addstr(out, i ? ", " : "");
			value_to_python(value_key(v, i), out, true);
			strbuf_addstr(out, ": ");
			value_to_python(value_at(v, i), out, true);
		}
		strbuf_addch(out, '}');
		break;
	}
}

void value_to_text(const struct value *v, struct strbuf *out)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	if (is_text(v)) {
		text_add_printable(out, v->str.data, v->str.size);
		return;
	}
	if (v->kind == VALUE_TIME) {
		add_time(out, &v->time, ' ');
		return;
	}
	value_to_json(v, &j, NULL);
	strbuf_add(out, j.out.buf, j.out.len);
}

/* ---- JSON in -------------------------------------------------------------------------------- */

static int read_json(struct json_reader *j, int token, struct value **ret, struct strbuf *why);

/* The members of an object or array, whose first token was just read. */
static int read_members(struct json_reader *j, struct value *v, struct strbuf *why)
{
	for (size_t n = 0;; n++) {
		struct value *key = NULL, *item = NULL;
		int token = json_reader_next(j, why), r = token < 0 ? token : 0;

		if (token == JSON_OBJECT_END || token == JSON_ARRAY_END)
			return 0;
		if (token == JSON_KEY) {
			if (n == VALUE_PAIRS_MAX)
				return strbuf_fail(why, -E2BIG, "more than %d keys in one object",
						   VALUE_PAIRS_MAX);
			key = value_strn(j->text.buf, j->text.len);
			token = json_reader_next(j, why);
			r = token < 0 ? token : 0;
		}
		if (r == 0)
			r = read_json(j, token, &item, why);
		if (r < 0) {
			value_free(key);
			return r;
		}
		if (key)
			value_set_take(v, key, item);
		else
			value_append(v, item);
	}
}

/* The value whose first token was just read. */
static int read_json(struct json_reader *j, int token, struct value **ret, struct strbuf *why)
{
	_cleanup_value_ struct value *v = NULL;
	int r = 0;

	if (token == JSON_OBJECT || token == JSON_ARRAY) {
		v = value_new(token == JSON_OBJECT ? VALUE_DICT : VALUE_LIST);
		r = read_members(j, v, why);
	} else if (j->depth > VALUE_DEPTH_MAX) {
		strbuf_addf(why, "nested deeper than %d levels", VALUE_DEPTH_MAX);
		r = -E2BIG;
	} else if (token == JSON_STRING) {
		v = value_strn(j->text.buf, j->text.len);
	} else if (token == JSON_BOOL) {
		v = value_bool(j->text.buf[0] == 't');
	} else if (token == JSON_NUMBER && j->whole) {
		v = value_int(j->integer);
	} else {
		v = value_new(token == JSON_NUMBER ? VALUE_REAL : VALUE_NONE);
		v->real = token == JSON_NUMBER ? j->real : 0;
	}
	if (r == 0) {
		*ret = v;
		v = NULL;
	}
	return r;
}

int value_from_json(const char *text, size_t n, struct value **ret, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;
	_cleanup_value_ struct value *v = NULL;
	struct json_reader j;

	why = why ? why : &ignored;
	json_reader_init_text(&j, text, n);
	int r = json_reader_next(&j, why);
	if (r >= 0 && r != JSON_OBJECT && r != JSON_ARRAY) {
		strbuf_addstr(why, "line 1, column 1: expected '{' or '['");
		r = -EBADMSG;
	}
	if (r >= 0)
		r = read_json(&j, r, &v, why);
	if (r >= 0)
		r = json_reader_next(&j, why);
	json_reader_release(&j);
	if (r < 0)
		return r;
	*ret = v;
	v = NULL;
	return 0;
}
