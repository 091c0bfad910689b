/* Loads the operations of a job in one pass over its images; see operation_list.h. */
#include <errno.h>
#include <string.h>

#include "core/hash_map.h"
#include "core/value.h"
#include "jobs/tags.h"
#include "store/ingest/ingest.h"
#include "store/query.h"
#include "views/operations/operation_list.h"
#include "views/operations/operation_phases.h"

/* ---- metrics --------------------------------------------------------------------------------- */

const char operation_rssmax_sum[] = "rssmax_sum";

/* What can be added up. Labels such as a pid cannot. */
size_t operation_metrics(const enum metric_id **ret)
{
	static _Thread_local enum metric_id list[OPERATION_METRICS_MAX]; /* filled once */
	static _Thread_local size_t count;
	size_t n = 0;

	for (size_t i = 0; !count && i < ingest_process_metric_count; i++)
		if (metric_by_id(ingest_process_metrics[i])->kind != KIND_LABEL)
			list[n++] = ingest_process_metrics[i];
	count = count ? count : n;
	*ret = list;
	return count;
}

static size_t index_of(enum metric_id id)
{
	const enum metric_id *list;
	size_t n = operation_metrics(&list), i = 0;

	while (i < n && list[i] != id)
		i++;
	return i;
}

bool operation_metric_find(const char *name, int *ret)
{
	static const struct {
		const char *name;
		int number;
	} words[] = {{"cpu_time", OPERATION_BY_CPU},
		     {"duration", OPERATION_BY_DURATION},
		     {"processes", OPERATION_BY_PROCESSES},
		     {"images", OPERATION_BY_IMAGES},
		     {"runs", OPERATION_BY_RUNS}};
	const enum metric_id *list;
	size_t n = operation_metrics(&list);

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (!strcmp(words[i].name, name)) {
			*ret = words[i].number;
			return true;
		}
	for (size_t i = 0; i < n; i++)
		if (!strcmp(metric_by_id(list[i])->name, name)) {
			*ret = (int)i;
			return true;
		}
	*ret = (int)n;
	return !strcmp(name, operation_rssmax_sum);
}

int64_t operation_value(const struct operation *o, int metric, enum operation_duration how)
{
	const enum metric_id *list;

	switch (metric) {
	case OPERATION_BY_CPU:
		if (o->cpu_ns != OPERATION_UNKNOWN)
			return o->cpu_ns / 1000;
		return known_sum(o->metrics[index_of(METRIC_USERTIME)].sum,
				 o->metrics[index_of(METRIC_SYSTEMTIME)].sum);
	case OPERATION_BY_DURATION:
		return o->duration[how];
	case OPERATION_BY_PROCESSES:
		return (int64_t)o->processes;
	case OPERATION_BY_IMAGES:
		return (int64_t)o->images;
	case OPERATION_BY_RUNS:
		return (int64_t)o->run_count;
	default:
		break;
	}
	bool peak = (size_t)metric < operation_metrics(&list) &&
		    metric_by_id(list[metric])->agg == AGG_MAX;
	return peak ? o->metrics[metric].max : o->metrics[metric].sum;
}

/* ---- tags ------------------------------------------------------------------------------------ */

struct value *operation_tags(const char *text, struct strbuf *why)
{
	_cleanup_value_ struct value *tags = value_new(VALUE_DICT);

	for (const char *p = text; *p;) {
		size_t n = strcspn(p, ";");
		_cleanup_free_ char *pair = xstrndup(p, n);
		_cleanup_value_ struct value *one = tags_parse_all(pair, why);

		if (!one)
			return NULL;
		const struct value *key = value_key(one, 0);
		value_set(tags, key->str.data,
			  strchr(pair, ':') ? value_ref(value_at(one, 0)) : value_new(VALUE_NONE));
		p += n + (p[n] == ';');
	}
	value_sort(tags);
	if (value_pairs(tags))
		return value_ref(tags);
	strbuf_addf(why, "there is no KEY:VALUE in '%s'", text);
	return NULL;
}

static char *tags_text(const struct value *tags)
{
	struct strbuf text = STRBUF_INIT;

	for (size_t i = 0; i < value_pairs(tags); i++) {
		const struct value *k = value_key(tags, i), *v = value_at(tags, i);

		if (i)
			strbuf_addch(&text, ';');
		strbuf_add(&text, k->str.data, k->str.size);
		if (v->kind != VALUE_STR)
			continue;
		strbuf_addch(&text, ':');
		strbuf_add(&text, v->str.data, v->str.size);
	}
	return strbuf_take(&text);
}

/* ---- operations ------------------------------------------------------------------------------ */

/* The operations of images with a certain string of tags. */
struct tagset {
	uint32_t number; /* of the string */
	uint32_t *in;
	size_t count, cap;
};

struct loader {
	const struct operation_query *q;
	struct job_operations *jo;
	struct image_reader images;
	struct tagset *sets;
	size_t set_count, set_cap, last;
	struct hash_map by_number; /* into sets */
	uint32_t *set_of;          /* of each image, for events and roots: index + 1 */
	size_t image_count, image_cap;
	struct phase_operations phases;
	struct stmt *threads; /* process, sum of rssmax; ordered */
	bool has_thread;
};

static void loader_release(struct loader *l)
{
	image_reader_close(&l->images);
	phase_operations_release(&l->phases);
	for (size_t i = 0; i < l->set_count; i++)
		free(l->sets[i].in);
	free(l->sets);
	free(l->set_of);
	hash_map_release(&l->by_number);
	stmt_finish_ptr(&l->threads);
}

size_t operation_named(struct job_operations *jo, const char *text, struct value *tags, bool rest,
		       const char *phase)
{
	uint64_t hash = hash_text(text);

	for (struct hash_slot *s = hash_map_first(&jo->by_name, hash); s;
	     s = hash_map_next(&jo->by_name, s))
		if (jo->names[s->value].phase == phase && !strcmp(jo->names[s->value].text, text))
			return s->value;
	size_t n = operations_new(&jo->operations);
	hash_map_add(&jo->by_name, hash, n);
	GROW(jo->names, n, jo->name_cap);
	jo->names[n] = (struct operation_name){xstrdup(text), value_ref(tags), rest, phase, 0};
	for (size_t i = 0; i < jo->event_count; i++) {
		struct operation_event *e = &jo->events[i];

		e->sums = xreallocarray(e->sums, n + 1, sizeof(*e->sums));
		e->sums[n] = UNKNOWN;
	}
	return n;
}

/* Takes the tags. */
static uint32_t operation_of(struct loader *l, struct value *tags, bool rest)
{
	_cleanup_value_ struct value *owned = tags;
	_cleanup_free_ char *text = tags_text(tags);

	return (uint32_t)operation_named(l->jo, text, tags, rest, NULL);
}

static void join(struct tagset *set, uint32_t operation)
{
	GROW(set->in, set->count, set->cap);
	set->in[set->count++] = operation;
}

static void join_by_key(struct loader *l, struct tagset *set, const struct value *tags, bool rest)
{
	const char *v = value_get_str(tags, l->q->by);

	if (!v)
		return;
	struct value *one = value_new(VALUE_DICT);
	value_set(one, l->q->by, value_str(v));
	join(set, operation_of(l, one, rest));
}

/* Finds the operations of a set of tags. */
static void classify(struct loader *l, struct tagset *set, struct value *tags)
{
	const struct operation_query *q = l->q;
	size_t wanted = q->tags ? q->tags->list.count : 0, matches = 0;

	for (size_t i = 0; i < wanted; i++) {
		struct value *w = q->tags->list.items[i];

		if (!tags_contain(tags, w))
			continue;
		matches++;
		if (!q->by || q->rest)
			join(set, operation_of(l, value_ref(w), false));
	}
	if (!wanted && !q->by)
		join(set, operation_of(l, value_ref(tags), false));
	else if (q->rest ? !matches : q->by && (matches || !wanted))
		join_by_key(l, set, tags, q->rest);
}

/* The index of a set of tags by the number of its string. */
static size_t tagset_of(struct loader *l, uint32_t number)
{
	uint64_t hash = hash_number(number);

	if (l->set_count && l->sets[l->last].number == number)
		return l->last;
	for (struct hash_slot *s = hash_map_first(&l->by_number, hash); s;
	     s = hash_map_next(&l->by_number, s))
		if (l->sets[s->value].number == number)
			return l->last = s->value;
	GROW(l->sets, l->set_count, l->set_cap);
	struct tagset *set = &l->sets[l->set_count];
	*set = (struct tagset){.number = number};
	hash_map_add(&l->by_number, hash, l->set_count);
	size_t n = 0;
	const char *text = number ? image_reader_text(&l->images, number, &n) : NULL;
	_cleanup_value_ struct value *tags = tags_parse(text ? text : "", NULL);
	value_sort(tags);
	if (value_pairs(tags))
		classify(l, set, tags);
	return l->last = l->set_count++;
}

/* ---- images ---------------------------------------------------------------------------------- */

/* Sums of hostile values end at the limit. */
static int64_t whole_number(double v)
{
	return v < (double)INT64_MAX ? (int64_t)v : INT64_MAX;
}

/* The sum of rssmax over the threads of an image; that of the image if it had only one. */
static int thread_sum(struct loader *l, int64_t own, int64_t *ret)
{
	int r = 0;

	*ret = own;
	while (l->has_thread) {
		int64_t process = stmt_get_int(l->threads, 0) & UINT32_MAX;

		if (process > l->images.image.number)
			break;
		if (process == l->images.image.number && !stmt_is_null(l->threads, 1))
			*ret = whole_number(stmt_get_real(l->threads, 1));
		r = stmt_step(l->threads);
		l->has_thread = r == 1;
		if (r < 0)
			return r;
	}
	return 0;
}

static int add_image(struct loader *l, size_t numtids, size_t rssmax, size_t sum)
{
	struct stored_image *m = &l->images.image;
	size_t at = tagset_of(l, m->tags); /* may move the sets */
	const struct tagset *set = &l->sets[at];
	const struct operation_image image = {m->start, m->duration, m->executes, m->metrics};

	/* a process that executes another program continues in one of its threads */
	if (m->executes && m->metrics[numtids] > 0)
		m->metrics[numtids]--;
	int r = thread_sum(l, m->metrics[rssmax], &m->metrics[sum]);
	for (size_t i = 0; i < set->count && r == 0; i++)
		operations_add(&l->jo->operations, set->in[i], &image);
	const uint32_t phase = phase_operation_of(&l->phases, m->number);
	const struct operation_image timeless = {UNKNOWN, UNKNOWN, m->executes, m->metrics};
	if (phase && r == 0)
		operations_add(&l->jo->operations, phase - 1, &timeless);
	l->jo->images++;
	return r;
}

static void note_set(struct loader *l)
{
	size_t at = l->images.image.number;

	while (l->image_cap <= at) {
		size_t cap = l->image_cap ? l->image_cap * 2 : 1024;

		l->set_of = xreallocarray(l->set_of, cap, sizeof(*l->set_of));
		memset(l->set_of + l->image_cap, 0, (cap - l->image_cap) * sizeof(*l->set_of));
		l->image_cap = cap;
	}
	l->set_of[at] = (uint32_t)l->last + 1;
}

/* Operations of image number n; NULL: it has none. */
static const struct tagset *set_of_image(const struct loader *l, uint32_t n)
{
	return n && n < l->image_cap && l->set_of[n] ? &l->sets[l->set_of[n] - 1] : NULL;
}

static bool is_in(const struct tagset *set, uint32_t operation)
{
	for (size_t i = 0; set && i < set->count; i++)
		if (set->in[i] == operation)
			return true;
	return false;
}

static void note_root(struct loader *l, size_t operation, size_t user, size_t system)
{
	const struct stored_image *m = &l->images.image;
	struct job_operations *jo = l->jo;

	GROW(jo->roots, jo->root_count, jo->root_cap);
	jo->roots[jo->root_count++] =
		(struct operation_root){.operation = operation,
					.number = m->number,
					.parent = m->parent,
					.descendants = m->descendants,
					.name = m->exename,
					.pid = m->pid,
					.start = m->start,
					.duration = m->duration,
					.cpu_us = known_sum(m->metrics[user], m->metrics[system])};
}

/* Parents may come after their children, so all images are candidates until the end. */
static void note_roots(struct loader *l, size_t user, size_t system)
{
	const struct tagset *set = &l->sets[l->last];
	const uint32_t phase = phase_operation_of(&l->phases, l->images.image.number);

	for (size_t i = 0; i < set->count; i++)
		note_root(l, set->in[i], user, system);
	if (phase)
		note_root(l, phase - 1, user, system);
}

static void keep_roots(struct loader *l)
{
	struct job_operations *jo = l->jo;
	size_t n = 0;

	for (size_t i = 0; i < jo->root_count; i++) {
		struct operation_root *r = &jo->roots[i];

		if (is_in(set_of_image(l, r->parent), (uint32_t)r->operation) ||
		    phase_operation_of(&l->phases, r->parent) == r->operation + 1)
			continue;
		size_t size = 0;
		const char *name = r->name ? image_reader_text(&l->images, r->name, &size) : NULL;
		r->exename = name ? xstrndup(name, size) : NULL;
		jo->roots[n++] = *r;
	}
	jo->root_count = n;
}

static int read_images(struct loader *l)
{
	const enum metric_id *ids;
	size_t count = operation_metrics(&ids);
	size_t numtids = index_of(METRIC_NUMTIDS), rssmax = index_of(METRIC_RSSMAX);
	int r = 0, more;

	while (r == 0 && (more = image_reader_next(&l->images)) != 0) {
		if (more < 0)
			return more;
		r = add_image(l, numtids, rssmax, count);
		if (l->q->events || l->q->roots)
			note_set(l);
		if (l->q->roots)
			note_roots(l, index_of(METRIC_USERTIME), index_of(METRIC_SYSTEMTIME));
	}
	return r;
}

/* ---- events ---------------------------------------------------------------------------------- */

static struct operation_event *event_of(struct job_operations *jo, const char *name)
{
	for (size_t i = 0; i < jo->event_count; i++)
		if (!strcmp(jo->events[i].name, name))
			return &jo->events[i];
	GROW(jo->events, jo->event_count, jo->event_cap);
	struct operation_event *e = &jo->events[jo->event_count++];
	e->name = xstrdup(name);
	e->sums = xreallocarray(NULL, jo->operations.count + 1, sizeof(*e->sums));
	for (size_t i = 0; i < jo->operations.count; i++)
		e->sums[i] = UNKNOWN;
	return e;
}

/* By name, so that each name is looked up once. */
static int read_events(struct loader *l, struct store *s)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		s,
		"SELECT process, name, value FROM event WHERE process BETWEEN $1 AND $2 AND "
		"thread = 0",
		db_int(store_key(l->jo->job, 0)), db_int(store_key(l->jo->job, UINT32_MAX)));
	int64_t last = 0;
	size_t event = 0;
	int r;

	while ((r = stmt_step(st)) == 1) {
		const uint32_t image = (uint32_t)(stmt_get_int(st, 0) & UINT32_MAX);
		const uint32_t phase = phase_operation_of(&l->phases, image);
		const struct tagset *set = set_of_image(l, image);
		int64_t name = stmt_get_int(st, 1), v = stmt_get_int(st, 2);

		if (name != last) {
			size_t n = 0;
			const char *text = image_reader_text(&l->images, (uint32_t)name, &n);

			event = (size_t)(event_of(l->jo, text ? text : "") - l->jo->events);
			last = name;
		}
		int64_t *sums = l->jo->events[event].sums;
		for (size_t i = 0; set && i < set->count; i++)
			sums[set->in[i]] = operation_add(sums[set->in[i]], v);
		if (phase)
			sums[phase - 1] = operation_add(sums[phase - 1], v);
	}
	return r;
}

/* ---- a job ----------------------------------------------------------------------------------- */

/* Fewer columns take less time. Returns whether the threads are needed, too. */
static bool choose_metrics(const struct operation_query *q, bool *want)
{
	static const enum metric_id shown[] = {METRIC_USERTIME, METRIC_SYSTEMTIME, METRIC_NUMTIDS,
					       METRIC_RCHAR,    METRIC_WCHAR,      METRIC_RSSMAX};
	const enum metric_id *ids;
	size_t count = operation_metrics(&ids);

	for (size_t i = 0; i < count; i++)
		want[i] = q->whole || q->metric == (int)i;
	for (size_t i = 0; i < ARRAY_SIZE(shown); i++)
		want[index_of(shown[i])] = true;
	return q->whole || q->metric == (int)count;
}

void job_operations_release(struct job_operations *jo)
{
	for (size_t i = 0; i < jo->operations.count; i++) {
		free(jo->names[i].text);
		value_free(jo->names[i].tags);
	}
	for (size_t i = 0; i < jo->event_count; i++) {
		free(jo->events[i].name);
		free(jo->events[i].sums);
	}
	for (size_t i = 0; i < jo->root_count; i++)
		free(jo->roots[i].exename);
	operations_release(&jo->operations);
	hash_map_release(&jo->by_name);
	free(jo->names);
	free(jo->events);
	free(jo->roots);
	free(jo->label);
}

int job_operations_load(struct job_operations *jo, struct store *s, int64_t job, const char *label,
			const struct operation_query *q)
{
	_cleanup_(loader_release) struct loader l = {.q = q, .jo = jo};
	const enum metric_id *ids;
	size_t count = operation_metrics(&ids);

	*jo = (struct job_operations){.job = job, .label = xstrdup(label)};
	operations_init(&jo->operations, count + 1);
	bool want[OPERATION_METRICS_MAX] = {false}, threads = choose_metrics(q, want);
	int r = phase_operations_load(&l.phases, jo, s, q);
	if (r >= 0)
		r = image_reader_open(&l.images, s, job, ids, count, want, q->roots);
	if (r < 0)
		return r;
	if (threads)
		l.threads = store_query(
			s,
			"SELECT process, sum(CAST(rssmax AS DOUBLE PRECISION)) FROM thread WHERE process "
			"BETWEEN $1 AND $2 GROUP BY process ORDER BY process",
			db_int(store_key(job, 0)), db_int(store_key(job, UINT32_MAX)));
	if (threads)
		r = stmt_step(l.threads);
	l.has_thread = r == 1;
	if (r >= 0)
		r = read_images(&l);
	if (r == 0 && q->events)
		r = read_events(&l, s);
	if (r == 0 && q->roots)
		keep_roots(&l);
	if (r < 0)
		return r;
	phase_operations_add(&l.phases, jo, index_of(METRIC_NUMTIDS));
	operations_finish(&jo->operations);
	phase_operations_end(&l.phases, jo);
	return 0;
}

void job_operations_merge(struct job_operations *total, const struct job_operations *from)
{
	if (!total->operations.metric_count)
		operations_init(&total->operations, from->operations.metric_count);
	total->images += from->images;
	for (size_t i = 0; i < from->operations.count; i++) {
		const struct operation_name *name = &from->names[i];
		size_t to = operation_named(total, name->text, name->tags, name->rest, name->phase);

		total->names[to].jobs++;
		operation_merge(&total->operations.v[to], &from->operations.v[i],
				from->operations.metric_count);
		for (size_t k = 0; k < from->event_count; k++) {
			struct operation_event *e = event_of(total, from->events[k].name);

			e->sums[to] = operation_add(e->sums[to], from->events[k].sums[i]);
		}
	}
}

void operation_list_release(struct operation_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		job_operations_release(&l->jobs[i]);
	free(l->jobs);
}
