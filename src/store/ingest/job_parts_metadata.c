/* Metadata of a job that comes in parts; see job_parts.h. */
#include <string.h>

#include "store/ingest/job_parts.h"

/* Keys that are about a part only, or are computed from all parts. */
static const char *const own_keys[] = {"hardware", "sources",  "books",   "memory",   "cpu",
				       "host_cpu", "commands", "records", "warnings", "sampled",
				       "source",   "parts",    "files",   "steps"};
/* Keys of the job, taken from its first part. */
static const char *const first_keys[] = {"environment", "environment_changes"};

static bool is_among(const char *key, const char *const *keys, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(key, keys[i]))
			return true;
	return false;
}

struct value *value_copy_dict(const struct value *dict)
{
	struct value *copy = value_new(VALUE_DICT);

	for (size_t i = 0; i < value_pairs(dict); i++)
		if (value_key(dict, i)->kind == VALUE_STR)
			value_set(copy, value_key(dict, i)->str.data, value_ref(value_at(dict, i)));
	return copy;
}

bool part_is_native(const struct value *meta)
{
	return value_get(meta, "plimsoll_job") != NULL && value_get(meta, "start_us") != NULL;
}

static int compare_text(const struct value *a, const struct value *b, const char *key)
{
	const char *x = value_get_str(a, key), *y = value_get_str(b, key);

	return strcmp(x ? x : "", y ? y : "");
}

static int compare_parts(const void *a, const void *b)
{
	const struct value *x = *(struct value *const *)a, *y = *(struct value *const *)b;
	int64_t began = value_get_int(x, "start_us"), other = value_get_int(y, "start_us");

	if (began != other)
		return began < other ? -1 : 1;
	int host = compare_text(x, y, "host");
	return host ? host : compare_text(x, y, "boot");
}

void parts_sort(struct value *parts)
{
	if (parts->list.count > 1)
		qsort(parts->list.items, parts->list.count, sizeof(struct value *), compare_parts);
}

struct value *parts_of(const struct value *meta)
{
	const struct value *list = value_get(meta, "parts");
	struct value *parts = value_new(VALUE_LIST);

	if (!list || list->kind != VALUE_LIST || !list->list.count) {
		value_append(parts, value_copy_dict(meta));
		return parts;
	}
	for (size_t i = 0; i < list->list.count; i++)
		value_append(parts, value_copy_dict(list->list.items[i]));
	for (size_t i = 0; i < ARRAY_SIZE(first_keys); i++) {
		struct value *v = value_get(meta, first_keys[i]);

		if (v)
			value_set(parts->list.items[0], first_keys[i], value_ref(v));
	}
	return parts;
}

/* Adds hosts, tags or annotations; the first part with a key decides. */
static void add_pairs(struct value *meta, const char *key, const struct value *from)
{
	struct value *all = value_get(meta, key);

	if (!from || from->kind != VALUE_DICT)
		return;
	if (!all || all->kind != VALUE_DICT) {
		value_set(meta, key, value_copy_dict(from));
		return;
	}
	for (size_t i = 0; i < value_pairs(from); i++) {
		const struct value *name = value_key(from, i);

		if (name->kind == VALUE_STR && !value_get(all, name->str.data))
			value_set(all, name->str.data, value_ref(value_at(from, i)));
	}
}

static void add_part(struct value *meta, const struct value *part, bool first)
{
	static const char *const dicts[] = {"hosts", "tags", "annotations"};

	for (size_t i = 0; i < value_pairs(part); i++) {
		const char *key = value_key(part, i)->str.data;
		const struct value *there = value_get(meta, key);

		if (is_among(key, own_keys, ARRAY_SIZE(own_keys)) ||
		    (!first && is_among(key, first_keys, ARRAY_SIZE(first_keys))))
			continue;
		if (is_among(key, dicts, ARRAY_SIZE(dicts)))
			add_pairs(meta, key, value_at(part, i));
		else if (!there || there->kind == VALUE_NONE)
			value_set(meta, key, value_ref(value_at(part, i)));
	}
}

/* The job ends with its last part; its exit status is that of the first part that failed. */
static void add_end(struct value *meta, const struct value *part)
{
	const struct value *code = value_get(meta, "exitcode");
	struct value *own = value_get(part, "exitcode");

	if (value_get_int(part, "stop_us") > value_get_int(meta, "stop_us")) {
		struct value *text = value_get(part, "stop");

		value_set(meta, "stop_us", value_ref(value_get(part, "stop_us")));
		value_set(meta, "stop", text ? value_ref(text) : value_new(VALUE_NONE));
	}
	if (own && own->kind == VALUE_INT &&
	    (!code || code->kind != VALUE_INT || (!code->integer && own->integer)))
		value_set(meta, "exitcode", value_ref(own));
}

struct value *parts_union(const struct value *parts)
{
	struct value *meta = value_new(VALUE_DICT), *list = value_new(VALUE_LIST);

	for (size_t i = 0; i < parts->list.count; i++) {
		struct value *own = value_copy_dict(parts->list.items[i]);

		add_part(meta, own, i == 0);
		add_end(meta, own);
		for (size_t k = 0; k < ARRAY_SIZE(first_keys); k++)
			(void)value_unset(own, first_keys[k]);
		value_append(list, own);
	}
	value_set(meta, "parts", list);
	return meta;
}
