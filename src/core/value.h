/*
 * A small dynamic value: what job metadata is made of, whether it came as JSON or as a Python
 * pickle. Values own what they hold.
 */
#ifndef PL_CORE_VALUE_H
#define PL_CORE_VALUE_H

#include <stdint.h>

#include "core/strbuf.h"
#include "core/text/json_writer.h"

/* What readers of files accept; more is refused as hostile. */
#define VALUE_DEPTH_MAX 32
#define VALUE_PAIRS_MAX 16384 /* in one dict: look-ups are linear */
#define VALUE_NODES_MAX 262144

enum value_kind {
	VALUE_NONE,
	VALUE_BOOL,
	VALUE_INT,
	VALUE_REAL,
	VALUE_STR,   /* text, as bytes */
	VALUE_BYTES, /* Python bytes */
	VALUE_TIME,  /* a date and time, with or without a zone */
	VALUE_DELTA, /* a time span */
	VALUE_ZONE,  /* a fixed offset from UTC */
	VALUE_LIST,
	VALUE_TUPLE,
	VALUE_DICT,
};

struct value_time {
	int year, month, day, hour, minute, second, microsecond;
	bool has_zone;
	int offset_s; /* east of UTC */
};

struct value {
	enum value_kind kind;
	int refs; /* pickles share values; the tree is freed with its last owner */
	/* for readers of hostile files: how large this is when written out, how deep, and whether
	 * it is inside another value and so must not grow any more */
	uint32_t weight;
	uint8_t depth;
	bool sealed;
	union {
		bool boolean;
		int64_t integer; /* also microseconds of VALUE_DELTA, seconds of VALUE_ZONE */
		double real;
		struct {
			char *data;
			size_t size;
		} str;
		struct value_time time;
		struct {
			struct value **items; /* dict: key, value, key, value ... */
			size_t count, cap;    /* of pointers */
		} list;
	};
};

struct value *value_new(enum value_kind kind);
struct value *value_str(const char *s);
struct value *value_strn(const char *s, size_t n);
struct value *value_int(int64_t v);
struct value *value_bool(bool v);
/* Local time with its offset. */
struct value *value_time_us(int64_t epoch_us);
struct value *value_ref(struct value *v);
void value_free(struct value *v);
void value_free_ptr(struct value **v);
#define _cleanup_value_ _cleanup_(value_free_ptr)

/* Takes item (and key). */
void value_append(struct value *list, struct value *item);
void value_set(struct value *dict, const char *key, struct value *v); /* replaces */
void value_set_take(struct value *dict, struct value *key, struct value *v);
bool value_unset(struct value *dict, const char *key);

/* Borrowed; NULL when there is none or dict is no dict. */
struct value *value_get(const struct value *dict, const char *key);
/* The text under a key, NULL when absent or no text. Ends in NUL. */
const char *value_get_str(const struct value *dict, const char *key);
size_t value_pairs(const struct value *dict);
const struct value *value_key(const struct value *dict, size_t i);
struct value *value_at(const struct value *dict, size_t i);
/* Sorts a dict by its keys' bytes. */
void value_sort(struct value *dict);
/* Microseconds since 1970; a time without zone is taken as local time. -EINVAL when no time. */
int value_epoch_us(const struct value *v, int64_t *ret);

/* As JSON: times as ISO 8601 with zone where there is one, bytes like text. */
void value_to_json(const struct value *v, struct jsonw *j, const char *key);
/* As Python's str() would print it. */
void value_to_python(const struct value *v, struct strbuf *out, bool repr);
/* For a person: like JSON, without quotes at the top level. */
void value_to_text(const struct value *v, struct strbuf *out);

/* Parses JSON; nothing is executed, depth and size are bounded. Text in *why names the line. */
int value_from_json(const char *text, size_t n, struct value **ret, struct strbuf *why);

#endif
