/*
 * The runs of a job, for its steps (store/analysis/job_steps.h): a list in its metadata, in the
 * order in which they began. Runs in the same step of the batch system are one entry.
 */
#include <inttypes.h>
#include <string.h>

#include "store/import/import_internal.h"

#define STEPS_MAX 4096 /* of one job */

static struct value *all_steps(struct import *p)
{
	if (!p->metadata)
		p->metadata = value_new(VALUE_DICT);
	struct value *list = value_get(p->metadata, "steps");
	if (!list) {
		list = value_new(VALUE_LIST);
		value_set(p->metadata, "steps", list);
	}
	return list;
}

static void keep(struct value *entry, const char *key, const struct value *from)
{
	struct value *v = value_get(from, key);

	if (v && v->kind != VALUE_NONE)
		value_set(entry, key, value_ref(v));
}

/* The file with the records of a run, by what identifies it in the store. */
static void add_records(const struct import *p, const char *run, struct value *entry)
{
	for (size_t i = 0; i < p->accounting.file_count; i++) {
		const struct accounting_file *f = &p->accounting.files[i];
		const char *name = path_base(f->name);
		size_t n = strcspn(name, ".");

		if (!f->digest.records || strlen(run) != n || strncmp(name, run, n) != 0)
			continue;
		_cleanup_free_ char *id = xasprintf("%016" PRIx64, f->digest.id);
		value_set(entry, "records", value_str(id));
		return;
	}
}

static bool is_earlier(const struct value *a, const struct value *b, const char *key)
{
	return value_get_int(a, key) < value_get_int(b, key);
}

/* Another run in the same step: from the first begin to the last end; a failure stays. */
static void join(struct value *to, const struct value *one)
{
	const struct value *code = value_get(to, "exitcode"), *other = value_get(one, "exitcode");

	if (is_earlier(one, to, "start_us"))
		keep(to, "start_us", one);
	if (is_earlier(to, one, "end_us"))
		keep(to, "end_us", one);
	if (other && other->kind == VALUE_INT && other->integer &&
	    (!code || code->kind != VALUE_INT || !code->integer))
		keep(to, "exitcode", one);
}

static void add_entry(struct value *list, struct value *entry)
{
	const char *step = value_get_str(entry, "step");

	for (size_t i = 0; step && i < list->list.count; i++) {
		const char *there = value_get_str(list->list.items[i], "step");

		if (there && !strcmp(there, step)) {
			join(list->list.items[i], entry);
			return;
		}
	}
	if (list->list.count < STEPS_MAX)
		value_append(list, value_ref(entry));
}

static int by_start(const void *a, const void *b)
{
	const struct value *x = *(struct value *const *)a, *y = *(struct value *const *)b;
	int64_t began = value_get_int(x, "start_us"), other = value_get_int(y, "start_us");
	const char *run = value_get_str(x, "run"), *as = value_get_str(y, "run");

	if (began != other)
		return began < other ? -1 : 1;
	return strcmp(run ? run : "", as ? as : "");
}

static void sort(struct value *list)
{
	if (list->list.count > 1)
		qsort(list->list.items, list->list.count, sizeof(struct value *), by_start);
}

void import_note_steps(struct import *p)
{
	static const char *const keys[] = {"run",     "host",     "parent", "step",    "rank",
					   "command", "start_us", "end_us", "exitcode"};
	struct value *list;

	if (!p->runs)
		return;
	list = all_steps(p);
	for (size_t i = 0; i < p->runs->list.count; i++) {
		const struct value *run = p->runs->list.items[i];
		const char *name = value_get_str(run, "run");

		if (!name || !value_get(run, "command") || value_get(p->dropped, name))
			continue;
		_cleanup_value_ struct value *entry = value_new(VALUE_DICT);
		for (size_t k = 0; k < ARRAY_SIZE(keys); k++)
			keep(entry, keys[k], run);
		add_records(p, name, entry);
		add_entry(list, entry);
	}
	sort(list);
}

void import_add_steps(struct import *p, const struct value *steps)
{
	struct value *list;

	if (!steps || steps->kind != VALUE_LIST)
		return;
	list = all_steps(p);
	for (size_t i = 0; i < steps->list.count; i++) {
		if (steps->list.items[i]->kind != VALUE_DICT)
			continue;
		_cleanup_value_ struct value *entry = value_copy_dict(steps->list.items[i]);
		add_entry(list, entry);
	}
	sort(list);
}
