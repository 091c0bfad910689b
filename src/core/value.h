/*
 * A dynamic value, for job metadata from JSON or Python pickles. Values own their content.
 */
#pragma once

#include <stdint.h>

#include "core/strbuf.h"
#include "core/text/json_writer.h"

/* Limits of readers; larger files are refused as hostile. */
#define VALUE_DEPTH_MAX 32
#define VALUE_PAIRS_MAX 16384 /* in one dict: lookups are linear */
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
	int refs; /* pickles share values */
	/* for readers of hostile files: its size when written, its depth, and whether it is inside
	 * another value and must not grow */
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

/* Borrowed; NULL: there is none, or it is not a dict. */
struct value *value_get(const struct value *dict, const char *key);
/* The string of a key; NULL: absent or not a string. */
const char *value_get_str(const struct value *dict, const char *key);
/* The number; 0 if there is none. */
int64_t value_get_int(const struct value *dict, const char *key);
size_t value_pairs(const struct value *dict);
const struct value *value_key(const struct value *dict, size_t i);
struct value *value_at(const struct value *dict, size_t i);
/* Sorts a dict by its keys' bytes. */
void value_sort(struct value *dict);
/* Microseconds since 1970; a time without zone is local. -EINVAL: not a time. */
int value_epoch_us(const struct value *v, int64_t *ret);

/* As JSON: times in ISO 8601, bytes as strings. */
void value_to_json(const struct value *v, struct json_writer *j, const char *key);
/* As Python's str() or repr() prints it. */
void value_to_python(const struct value *v, struct strbuf *out, bool repr);
/* For terminals: like JSON, without quotes at the top level. */
void value_to_text(const struct value *v, struct strbuf *out);

/* Parses a JSON object or array. -EBADMSG: invalid, with the position in *why; -E2BIG: nested too
 * deeply or too many keys. why may be NULL. */
int value_from_json(const char *text, size_t n, struct value **ret, struct strbuf *why);
