/*
 * What runs and monitors wrote down beside their records: what hosts are made of, which sources
 * they lacked, and the CPU time that was seen as a whole. It goes into the metadata of the job,
 * summed up, so that reports have it.
 */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "store/import/import_internal.h"

#define HOSTS_MAX 1024  /* described: they are alike */
#define COMMANDS_MAX 64 /* of one job */

static struct value *part(struct import *p, const char *key)
{
	if (!p->facts)
		p->facts = value_new(VALUE_DICT);
	struct value *v = value_get(p->facts, key);
	if (!v) {
		v = value_new(VALUE_DICT);
		value_set(p->facts, key, v);
	}
	return v;
}

static void take_hardware(struct import *p, const struct value *facts)
{
	struct value *hardware = value_get(facts, "hardware");
	const char *host = value_get_str(facts, "host");

	if (!hardware || hardware->kind != VALUE_DICT || !host)
		return;
	struct value *all = part(p, "hardware");
	if (!value_get(all, host) && value_pairs(all) < HOSTS_MAX)
		value_set(all, host, value_ref(hardware));
}

static void take_sources(struct import *p, const struct value *facts)
{
	const struct value *sources = value_get(value_get(facts, "sampling"), "sources");

	for (size_t i = 0; sources && i < value_pairs(sources); i++) {
		const struct value *key = value_key(sources, i), *v = value_at(sources, i);

		if (key->kind != VALUE_STR || v->kind != VALUE_STR ||
		    !strcmp(v->str.data, "sampled"))
			continue;
		struct value *all = part(p, "sources");
		if (!value_get(all, key->str.data) && value_pairs(all) < HOSTS_MAX)
			value_set(all, key->str.data, value_ref(value_at(sources, i)));
	}
}

static const char *const book_keys[] = {"cpu_total", "cpu_itemised", "cpu_exit_tail"};

/* A run inside another is part of that one's total. */
static void take_books(struct import *p, const struct value *facts)
{
	const struct value *books = value_get(facts, "books");

	if (!books || books->kind != VALUE_DICT)
		return;
	p->runs++;
	if (value_get_str(facts, "parent"))
		return;
	struct value *all = part(p, "books");
	/* what still ran at its end is in no total of it */
	const struct value *running = value_get(books, "running");
	bool whole = !running || running->kind != VALUE_INT || running->integer <= 0;
	for (size_t i = 0; i < ARRAY_SIZE(book_keys); i++) {
		const struct value *one = value_get(books, book_keys[i]),
				   *sum = value_get(all, book_keys[i]);
		bool known = whole && one && one->kind == VALUE_INT && one->integer >= 0 &&
			     (!sum || sum->kind == VALUE_INT);
		int64_t total = 0;

		known = known &&
			!__builtin_add_overflow(one->integer, sum ? sum->integer : 0, &total);
		value_set(all, book_keys[i], known ? value_int(total) : value_new(VALUE_NONE));
	}
}

/* What no run looked after (`source`, ranks on other hosts), or what runs still, is in no total of
 * theirs. */
void import_compare_books(struct import *p)
{
	struct accounting_sums sums;

	accounting_sum(&p->books, &sums);
	if (p->record_files <= p->runs && !sums.running)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(book_keys); i++)
		value_set(part(p, "books"), book_keys[i], value_new(VALUE_NONE));
}

static int64_t whole(const struct value *v)
{
	return v && v->kind == VALUE_INT && v->integer >= 0 ? v->integer : -1;
}

/* Memory: the smallest limit of any host, and all processes that the kernel killed for it. */
static void take_memory(struct import *p, const struct value *facts)
{
	const struct value *memory = value_get(facts, "memory");
	int64_t limit = whole(value_get(memory, "limit")),
		kills = whole(value_get(memory, "oom_kills")), sum;

	if (!memory || memory->kind != VALUE_DICT || (limit <= 0 && kills < 0))
		return;
	struct value *all = part(p, "memory");
	int64_t before = whole(value_get(all, "limit"));
	if (limit > 0 && (before < 0 || limit < before))
		value_set(all, "limit", value_int(limit));
	before = whole(value_get(all, "oom_kills"));
	/* a run inside another saw what that one saw */
	if (kills >= 0 && !value_get_str(facts, "parent") &&
	    !__builtin_add_overflow(kills, before < 0 ? 0 : before, &sum))
		value_set(all, "oom_kills", value_int(sum));
}

/* Between `start` and `stop`, on their host. What runs counted there is part of it. */
void import_take_limits(struct import *p, const struct value *meta)
{
	const struct value *limits = value_get(meta, "limits");
	int64_t limit = whole(value_get(limits, "memory")),
		kills = whole(value_get(limits, "oom_kills"));

	if (!limits || limits->kind != VALUE_DICT || (limit <= 0 && kills < 0))
		return;
	struct value *all = part(p, "memory");
	int64_t before = whole(value_get(all, "limit"));
	if (limit > 0 && (before < 0 || limit < before))
		value_set(all, "limit", value_int(limit));
	if (kills >= 0)
		p->oom_kills = kills;
}

static void add_kills(struct import *p)
{
	struct value *all = value_get(p->facts, "memory");

	if (all && p->oom_kills > whole(value_get(all, "oom_kills")))
		value_set(all, "oom_kills", value_int(p->oom_kills));
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

/* What the user typed, or what the process runs that he named, once for each command; runs inside
 * others were started by those. */
static void take_command(struct import *p, const struct value *facts)
{
	struct value *command = value_get(facts, "command"), *list;

	command = command ? command : value_get(facts, "watched_command");
	if (!command || command->kind != VALUE_LIST || value_get_str(facts, "parent"))
		return;
	if (!p->facts)
		p->facts = value_new(VALUE_DICT);
	list = value_get(p->facts, "commands");
	if (!list) {
		list = value_new(VALUE_LIST);
		value_set(p->facts, "commands", list);
	}
	for (size_t i = 0; i < list->list.count; i++)
		if (same_words(list->list.items[i], command))
			return;
	if (list->list.count < COMMANDS_MAX)
		value_append(list, value_ref(command));
}

void import_take_facts(struct import *p, const struct value *facts)
{
	if (facts->kind != VALUE_DICT)
		return;
	take_hardware(p, facts);
	take_sources(p, facts);
	take_books(p, facts);
	take_memory(p, facts);
	take_command(p, facts);
	import_take_cut_off(p, facts);
}

/* ---- runs -------------------------------------------------------------------------------------
 */

void import_add_run(struct import *p, struct value *facts)
{
	if (!p->run_facts)
		p->run_facts = value_new(VALUE_LIST);
	value_append(p->run_facts, facts);
}

/* A run by its name; index: of its facts. */
struct named_run {
	uint64_t name;
	size_t index;
};

static int compare_names(const void *a, const void *b)
{
	const struct named_run *x = a, *y = b;

	if (x->name != y->name)
		return x->name < y->name ? -1 : 1;
	return x->index < y->index ? -1 : x->index > y->index;
}

/* Facts that are there twice, as a copy or an earlier state, are taken once: the newer, but of one
 * that has an end and one that has none the former. */
static void drop_twins(struct value *runs)
{
	_cleanup_free_ struct named_run *list = xcalloc(runs->list.count, sizeof(*list));
	size_t n = 0;

	for (size_t i = 0; i < runs->list.count; i++) {
		const char *host = value_get_str(runs->list.items[i], "host");
		const char *run = value_get_str(runs->list.items[i], "run");

		if (host && run)
			list[n++] = (struct named_run){
				XXH3_64bits_withSeed(run, strlen(run),
						     XXH3_64bits(host, strlen(host))),
				i};
	}
	qsort(list, n, sizeof(*list), compare_names);
	for (size_t i = 1; i < n; i++) {
		struct value **one = &runs->list.items[list[i - 1].index];
		struct value **next = &runs->list.items[list[i].index];

		if (list[i].name != list[i - 1].name)
			continue;
		if (value_get(*one, "end_us") && !value_get(*next, "end_us")) {
			struct value *kept = *one;

			*one = *next;
			*next = kept;
		}
		value_free(*one);
		*one = value_new(VALUE_NONE);
	}
}

void import_take_runs(struct import *p)
{
	if (!p->run_facts)
		return;
	drop_twins(p->run_facts);
	for (size_t i = 0; i < p->run_facts->list.count; i++) {
		const struct value *facts = p->run_facts->list.items[i];
		const char *run = value_get_str(facts, "run");

		if (!run || !value_get(p->dropped, run))
			import_take_facts(p, facts);
	}
}

/* The metadata are an object of our own writing: it ends with a brace. */
void import_add_facts(struct import *p)
{
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;
	struct strbuf *to = &p->meta.json;

	if (p->facts)
		add_kills(p);
	if (!p->facts || !value_pairs(p->facts) || to->len < 2 || to->buf[to->len - 1] != '}')
		return;
	value_to_json(p->facts, &j, NULL);
	bool first = to->buf[to->len - 2] == '{';
	strbuf_cut(to, to->len - 1);
	strbuf_addstr(to, first ? "" : ",");
	strbuf_add(to, j.out.buf + 1, j.out.len - 1);
}
