/*
 * Metadata of runs and monitors: hardware of hosts, missing sources, total CPU time, memory limits,
 * commands. They are added up in the metadata of the job, for reports.
 */
#include <string.h>

#include "core/hash_map.h"
#include "jobs/request.h"
#include "store/import/import_internal.h"

#define HOSTS_MAX 1024  /* with their hardware; they are alike */
#define COMMANDS_MAX 64 /* of one job */

/* A dict or list in the metadata, added if it is missing. */
static struct value *part(struct import *p, const char *key, enum value_kind kind)
{
	if (!p->metadata)
		p->metadata = value_new(VALUE_DICT);
	struct value *v = value_get(p->metadata, key);
	if (!v) {
		v = value_new(kind);
		value_set(p->metadata, key, v);
	}
	return v;
}

static void take_hardware(struct import *p, const struct value *run)
{
	struct value *hardware = value_get(run, "hardware");
	const char *host = value_get_str(run, "host");

	if (!hardware || hardware->kind != VALUE_DICT || !host)
		return;
	struct value *all = part(p, "hardware", VALUE_DICT);
	if (!value_get(all, host) && value_pairs(all) < HOSTS_MAX)
		value_set(all, host, value_ref(hardware));
}

/* What the job asked for: whoever began it knows. */
static void take_request(struct import *p, const struct value *run)
{
	struct value *request = value_get(run, "request");

	if (!request || request->kind != VALUE_DICT || (p->own && value_get(p->own, "request")))
		return;
	struct value *all = part(p, "request", VALUE_DICT);
	for (size_t i = 0; i < value_pairs(request) && i < REQUEST_ITEMS + 1; i++) {
		const struct value *key = value_key(request, i);

		if (key->kind == VALUE_STR && !value_get(all, key->str.data))
			value_set(all, key->str.data, value_ref(value_at(request, i)));
	}
}

static void take_sources(struct import *p, const struct value *run)
{
	const struct value *sources = value_get(value_get(run, "sampling"), "sources");

	for (size_t i = 0; sources && i < value_pairs(sources); i++) {
		const struct value *key = value_key(sources, i), *v = value_at(sources, i);

		if (key->kind != VALUE_STR || v->kind != VALUE_STR ||
		    !strcmp(v->str.data, "sampled"))
			continue;
		struct value *all = part(p, "sources", VALUE_DICT);
		if (!value_get(all, key->str.data) && value_pairs(all) < HOSTS_MAX)
			value_set(all, key->str.data, value_ref(value_at(sources, i)));
	}
}

static const char *const accounting_keys[] = {"cpu_total", "cpu_itemised", "cpu_exit_tail"};

/* The total of a run includes the runs inside it. */
static void take_accounting(struct import *p, const struct value *run)
{
	const struct value *books = value_get(run, "books");

	if (!books || books->kind != VALUE_DICT)
		return;
	p->run_count++;
	if (value_get_str(run, "parent"))
		return;
	struct value *all = part(p, "books", VALUE_DICT);
	/* the total does not include processes that were still running at its end */
	const struct value *running = value_get(books, "running");
	bool whole = !running || running->kind != VALUE_INT || running->integer <= 0;
	for (size_t i = 0; i < ARRAY_SIZE(accounting_keys); i++) {
		const struct value *one = value_get(books, accounting_keys[i]),
				   *sum = value_get(all, accounting_keys[i]);
		bool known = whole && one && one->kind == VALUE_INT && one->integer >= 0 &&
			     (!sum || sum->kind == VALUE_INT);
		int64_t total = 0;

		known = known &&
			!__builtin_add_overflow(one->integer, sum ? sum->integer : 0, &total);
		value_set(all, accounting_keys[i],
			  known ? value_int(total) : value_new(VALUE_NONE));
	}
}

/* Totals of runs do not include processes outside of runs (`source`, ranks on other hosts), nor
 * those still running. */
void import_compare_accounting(struct import *p)
{
	struct accounting_sums sums;

	accounting_sum(&p->accounting, &sums);
	if (p->record_files <= p->run_count && !sums.running)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(accounting_keys); i++)
		value_set(part(p, "books", VALUE_DICT), accounting_keys[i], value_new(VALUE_NONE));
}

static int64_t whole(const struct value *v)
{
	return v && v->kind == VALUE_INT && v->integer >= 0 ? v->integer : -1;
}

/* The smallest of any host holds. */
static struct value *take_limit(struct import *p, const char *of, const char *key, int64_t limit)
{
	struct value *all = part(p, of, VALUE_DICT);
	int64_t before = whole(value_get(all, key));

	if (limit > 0 && (before < 0 || limit < before))
		value_set(all, key, value_int(limit));
	return all;
}

/* The smallest limit of memory or CPU time, and the sum of what it did. */
static void take_run_limit(struct import *p, const struct value *run, const char *of,
			   const char *limit_key, const char *count_key)
{
	const struct value *mine = value_get(run, of);
	int64_t limit = whole(value_get(mine, limit_key)),
		count = whole(value_get(mine, count_key)), sum;

	if (!mine || mine->kind != VALUE_DICT || (limit <= 0 && count < 0))
		return;
	struct value *all = take_limit(p, of, limit_key, limit);
	int64_t before = whole(value_get(all, count_key));
	/* the run outside counted what a run inside it counted */
	if (count >= 0 && !value_get_str(run, "parent") &&
	    !__builtin_add_overflow(count, before < 0 ? 0 : before, &sum))
		value_set(all, count_key, value_int(sum));
}

/* What the kernel read again from files because of the memory limit. */
static void take_refaults(struct import *p, const struct value *run)
{
	int64_t count = whole(value_get(value_get(run, "memory"), "refault_bytes")), sum;

	if (count < 0 || value_get_str(run, "parent"))
		return;
	struct value *all = part(p, "memory", VALUE_DICT);
	int64_t before = whole(value_get(all, "refault_bytes"));
	if (!__builtin_add_overflow(count, before < 0 ? 0 : before, &sum))
		value_set(all, "refault_bytes", value_int(sum));
}

/* How busy the host was during the runs, by host. Runs that overlap count twice in both sums. */
static void take_host_cpu(struct import *p, const struct value *run)
{
	static const char *const keys[] = {"host_busy_us", "host_idle_us"};
	const struct value *mine = value_get(run, "cpu");
	const char *host = value_get_str(run, "host");

	if (!mine || mine->kind != VALUE_DICT || !host || value_get_str(run, "parent"))
		return;
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (whole(value_get(mine, keys[i])) < 0)
			return;
	struct value *all = part(p, "host_cpu", VALUE_DICT), *one = value_get(all, host);
	if (!one && value_pairs(all) >= HOSTS_MAX)
		return;
	if (!one)
		value_set(all, host, one = value_new(VALUE_DICT));
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		int64_t before = whole(value_get(one, keys[i])), sum;

		if (!__builtin_add_overflow(whole(value_get(mine, keys[i])),
					    before < 0 ? 0 : before, &sum))
			value_set(one, keys[i], value_int(sum));
	}
}

/* From `start` to `stop` on their host, including what runs counted there. */
void import_take_limits(struct import *p, const struct value *meta)
{
	const struct value *limits = value_get(meta, "limits");
	int64_t memory = whole(value_get(limits, "memory")),
		quota = whole(value_get(limits, "cpu_quota_us"));

	if (!limits || limits->kind != VALUE_DICT)
		return;
	if (memory > 0 || whole(value_get(limits, "oom_kills")) >= 0)
		(void)take_limit(p, "memory", "limit", memory);
	if (quota > 0 || whole(value_get(limits, "cpu_throttled_us")) >= 0)
		(void)take_limit(p, "cpu", "quota_us", quota);
}

/* What `stop` counted includes what runs on its host counted. */
static void add_count(struct import *p, const char *of, const char *key, const char *counted)
{
	struct value *all = value_get(p->metadata, of);
	int64_t count = p->own ? whole(value_get(value_get(p->own, "limits"), counted)) : -1;

	if (all && count > whole(value_get(all, key)))
		value_set(all, key, value_int(count));
}

static bool same_words(const struct value *a, const struct value *b)
{
	bool same = a->list.count == b->list.count;

	for (size_t i = 0; same && i < a->list.count; i++) {
		const struct value *x = a->list.items[i], *y = b->list.items[i];

		same = x->kind == VALUE_STR && y->kind == VALUE_STR && x->str.size == y->str.size &&
		       !memcmp(x->str.data, y->str.data, x->str.size);
	}
	return same;
}

/* The command of a run, or of the monitored process, each once; without runs inside of others. */
static void take_command(struct import *p, const struct value *run)
{
	struct value *command = value_get(run, "command"), *list;

	command = command ? command : value_get(run, "watched_command");
	if (!command || command->kind != VALUE_LIST || value_get_str(run, "parent"))
		return;
	list = part(p, "commands", VALUE_LIST);
	for (size_t i = 0; i < list->list.count; i++)
		if (same_words(list->list.items[i], command))
			return;
	if (list->list.count < COMMANDS_MAX)
		value_append(list, value_ref(command));
}

void import_take_run(struct import *p, const struct value *run)
{
	if (run->kind != VALUE_DICT)
		return;
	take_hardware(p, run);
	take_request(p, run);
	take_sources(p, run);
	take_accounting(p, run);
	take_run_limit(p, run, "memory", "limit", "oom_kills");
	take_refaults(p, run);
	take_run_limit(p, run, "cpu", "quota_us", "throttled_us");
	take_host_cpu(p, run);
	take_command(p, run);
	import_take_cut_off(p, run);
}

/* ---- runs ----------------------------------------------------------------------------------- */

void import_add_run(struct import *p, struct value *run)
{
	if (!p->runs)
		p->runs = value_new(VALUE_LIST);
	value_append(p->runs, run);
}

/* Of several copies or states of a run's metadata, keeps the newest, but prefers one with an end.
 */
static void drop_twins(struct value *list)
{
	struct hash_map index = {0}; /* by host and run */
	struct value **runs = list->list.items;

	for (size_t i = 0; i < list->list.count; i++) {
		const char *host = value_get_str(runs[i], "host"),
			   *run = value_get_str(runs[i], "run");

		if (!host || !run)
			continue;
		uint64_t hash = hash_more(hash_text(host), run, strlen(run));
		struct hash_slot *twin = hash_map_first(&index, hash);
		if (!twin) {
			hash_map_add(&index, hash, i);
			continue;
		}
		struct value **older = &runs[twin->value];
		if (value_get(*older, "end_us") && !value_get(runs[i], "end_us")) {
			struct value *ended = *older;

			*older = runs[i];
			runs[i] = ended;
		}
		value_free(*older);
		*older = value_new(VALUE_NONE);
		twin->value = i;
	}
	hash_map_release(&index);
}

void import_take_runs(struct import *p)
{
	if (!p->runs)
		return;
	drop_twins(p->runs);
	for (size_t i = 0; i < p->runs->list.count; i++) {
		const struct value *run = p->runs->list.items[i];
		const char *name = value_get_str(run, "run");

		if (!name || !value_get(p->dropped, name))
			import_take_run(p, run);
	}
}

/* Appends to the JSON text of the metadata, which we wrote: it ends with a brace. */
void import_add_metadata(struct import *p)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	struct strbuf *to = &p->meta.json;

	if (p->metadata) {
		add_count(p, "memory", "oom_kills", "oom_kills");
		add_count(p, "cpu", "throttled_us", "cpu_throttled_us");
	}
	if (!p->metadata || !value_pairs(p->metadata) || to->len < 2 || to->buf[to->len - 1] != '}')
		return;
	value_to_json(p->metadata, &j, NULL);
	bool first = to->buf[to->len - 2] == '{';
	strbuf_cut(to, to->len - 1);
	strbuf_addstr(to, first ? "" : ",");
	strbuf_add(to, j.out.buf + 1, j.out.len - 1);
}
