/*
 * Messages as colmet's Rust version sends them, of what our sources read: its metrics are numbered,
 * and a message has those that were asked for. Ours of memory are with the groups below, so that
 * "rss" and "total_rss" are one value.
 */
#include <errno.h>
#include <string.h>

#include "compat/colmet/colmet_internal.h"
#include "compat/colmet/colmet_msgpack.h"

#define TOTAL "total_"
#define VALUES_MAX 1000000u /* of a message */

/* Metrics of the source jobs by the names of memory.stat and cpu.stat. NULL: nothing reads it. */
static const struct {
	const char *theirs, *ours;
} answers[] = {
	{"cache", "memory_file"},
	{"rss", "memory_anon"},
	{"rss_huge", "memory_anon_hugepages"},
	{"shmem", "memory_shmem"},
	{"mapped_file", "memory_mapped"},
	{"dirty", "memory_dirty"},
	{"writeback", "memory_writeback"},
	{"swap", "swap_current"},
	{"pgpgin", NULL},
	{"pgpgout", NULL},
	{"pgfault", "page_faults"},
	{"pgmajfault", "major_faults"},
	{"inactive_anon", NULL},
	{"active_anon", NULL},
	{"inactive_file", NULL},
	{"active_file", NULL},
	{"unevictable", NULL},
	{"hierarchical_memory_limit", "memory_limit"},
	{"hierarchical_memsw_limit", "memsw_limit"},
	{"nr_periods", "cpu_periods"},
	{"nr_throttled", "cpu_throttled_periods"},
	{"throttled_time", "cpu_throttled_time"},
};

bool colmet_rust_answer(const char *name, const char **ret_ours)
{
	const char *bare = str_prefix(name, TOTAL) ? name + strlen(TOTAL) : name;

	for (size_t i = 0; i < ARRAY_SIZE(answers); i++)
		if (!strcmp(answers[i].theirs, bare)) {
			*ret_ours = answers[i].ours;
			return true;
		}
	return false;
}

/* Its number: they run through all backends in one sequence. */
static bool number_of(const char *name, unsigned *ret)
{
	unsigned first = 0;

	for (size_t t = 0; t < COLMET_RUST_END; t++) {
		const struct colmet_rust_table *table = &colmet_rust_tables[t];

		for (unsigned i = 0; i < table->metric_count; i++)
			if (!strcmp(table->metrics[i].name, name)) {
				*ret = first + i;
				return true;
			}
		first += (unsigned)table->metric_count;
	}
	return false;
}

static unsigned backend_of(unsigned number)
{
	unsigned t = 0;

	for (; number >= colmet_rust_tables[t].metric_count; t++)
		number -= (unsigned)colmet_rust_tables[t].metric_count;
	return t;
}

/* ---- values ---------------------------------------------------------------------------------- */

struct named {
	char *name;
	const char *ours; /* NULL: an event */
	unsigned number;
};

struct rust_value {
	uint64_t job;
	unsigned number;
	uint32_t order;  /* of the same the last counts */
	bool difference; /* to the reading before: several are added up */
	int64_t value;
};

struct colmet_rust {
	struct named *names;
	size_t name_count, name_cap;
	struct rust_value *values;
	size_t count, cap;
	int64_t time_us;                /* of the last reading */
	char events[COLMET_EVENTS][64]; /* what the counters of records are */
	unsigned event_count;
};

struct colmet_rust *colmet_rust_new(const char *names)
{
	struct colmet_rust *r = xcalloc(1, sizeof(*r));
	_cleanup_free_ char *own = xstrdup(names);
	char *rest = own;

	for (char *word; (word = strsep(&rest, ", "));) {
		struct named n = {.name = word};

		if (!*word || !number_of(word, &n.number) ||
		    (colmet_rust_answer(word, &n.ours) && !n.ours))
			continue;
		n.name = xstrdup(word);
		GROW(r->names, r->name_count, r->name_cap);
		r->names[r->name_count++] = n;
	}
	return r;
}

void colmet_rust_free(struct colmet_rust *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->name_count; i++)
		free(r->names[i].name);
	free(r->names);
	free(r->values);
	free(r);
}

static void put(struct colmet_rust *r, uint64_t job, const struct named *n, int64_t value)
{
	if (r->count == VALUES_MAX)
		return;
	GROW(r->values, r->count, r->cap);
	r->values[r->count] =
		(struct rust_value){job, n->number, (uint32_t)r->count, !n->ours, value};
	r->count++;
}

/* Bytes, counts and nanoseconds, which is what the kernel's files have. */
static int64_t as_theirs(const struct sample_metric *m, int64_t value)
{
	double scale = m->unit == UNIT_MICROSECONDS ? 1e3 : 1;

	if (scale > 1 || (m->scale != 0 && m->scale != 1))
		return round_i64(sample_scaled(value, m->scale) * scale);
	return value;
}

static void note_events(struct colmet_rust *r, const struct sample_set *set)
{
	unsigned places[COLMET_EVENTS];

	r->event_count = colmet_find_events(set, places);
	for (unsigned i = 0; i < r->event_count; i++)
		snprintf(r->events[i], sizeof(r->events[i]), "%s", set->metrics[places[i]].name);
}

void colmet_rust_add(struct colmet_rust *r, const char *source, const struct sample_set *set,
		     int64_t time_us)
{
	if (!strcmp(source, "job_counters"))
		note_events(r, set);
	if (strcmp(source, "jobs") != 0)
		return;
	r->time_us = time_us;
	for (size_t row = 0; row < set->row_count; row++) {
		const struct entity *e = &set->entities[set->rows[row].entity];
		uint64_t job;

		if (e->kind != ENTITY_JOB || !row_job_number(e->name, strlen(e->name), &job))
			continue;
		for (unsigned m = 0; m < set->metric_count; m++)
			for (size_t i = 0; set->rows[row].present >> m & 1 && i < r->name_count;
			     i++)
				if (r->names[i].ours &&
				    !strcmp(r->names[i].ours, set->metrics[m].name))
					put(r, job, &r->names[i],
					    as_theirs(&set->metrics[m],
						      set->values[row * set->metric_count + m]));
	}
}

void colmet_rust_count(struct colmet_rust *r, const struct fixed_row *record)
{
	if (strcmp(record->table->name, "perfhwstats_default") != 0)
		return;
	if (!r->count)
		r->time_us = (int64_t)record->time_s * 1000000;
	for (unsigned i = 0; i < r->event_count; i++)
		for (size_t k = 0; k < r->name_count && !(record->absent >> i & 1); k++)
			if (!r->names[k].ours && !strcmp(r->names[k].name, r->events[i]))
				put(r, record->job, &r->names[k], record->values[i].i);
}

/* ---- messages -------------------------------------------------------------------------------- */

static int by_job(const void *a, const void *b)
{
	const struct rust_value *x = a, *y = b;

	if (x->job != y->job)
		return x->job < y->job ? -1 : 1;
	if (x->number != y->number)
		return x->number < y->number ? -1 : 1;
	return x->order < y->order ? -1 : 1;
}

/* Of several readings the last one; events of several are added up. */
static void keep_last(struct colmet_rust *r)
{
	size_t keep = 0;

	qsort(r->values, r->count, sizeof(*r->values), by_job);
	for (size_t i = 0; i < r->count; i++) {
		struct rust_value v = r->values[i];
		const struct rust_value *last = keep ? &r->values[keep - 1] : NULL;

		if (last && last->job == v.job && last->number == v.number) {
			if (v.difference && __builtin_add_overflow(last->value, v.value, &v.value))
				v.value = INT64_MAX;
			keep--;
		}
		r->values[keep++] = v;
	}
	r->count = keep;
}

static size_t same_backend(const struct rust_value *v, size_t n)
{
	size_t same = 1;

	while (same < n && v[same].job == v->job &&
	       backend_of(v[same].number) == backend_of(v->number))
		same++;
	return same;
}

/* [job, backend, ["10", ...], [value, ...]] */
static void pack_backend(const struct rust_value *v, size_t n, struct strbuf *out)
{
	char number[16];

	msgpack_add_array(out, 4);
	msgpack_add_int(out, (int64_t)v->job);
	msgpack_add_text(out, colmet_rust_tables[backend_of(v->number)].name);
	msgpack_add_array(out, n);
	for (size_t i = 0; i < n; i++) {
		snprintf(number, sizeof(number), "%u", v[i].number);
		msgpack_add_text(out, number);
	}
	msgpack_add_array(out, n);
	for (size_t i = 0; i < n; i++)
		msgpack_add_int(out, v[i].value);
}

size_t colmet_rust_pack(struct colmet_rust *r, const char *host, struct strbuf *out)
{
	size_t jobs = 0, records = 0;

	if (!r->count)
		return 0;
	keep_last(r);
	for (size_t i = 0; i < r->count; i++)
		jobs += !i || r->values[i - 1].job != r->values[i].job;
	msgpack_add_map(out, jobs);
	for (size_t i = 0; i < r->count;) {
		const struct rust_value *v = &r->values[i];
		size_t end = i, backends = 0;

		for (; end < r->count && r->values[end].job == v->job; backends++)
			end += same_backend(&r->values[end], r->count - end);
		msgpack_add_int(out, (int64_t)v->job);
		msgpack_add_array(out, 4);
		msgpack_add_text(out, host);
		msgpack_add_int(out, r->time_us / 1000);
		msgpack_add_int(out, 1);
		msgpack_add_array(out, backends);
		for (size_t n; i < end; i += n) {
			n = same_backend(&r->values[i], end - i);
			pack_backend(&r->values[i], n, out);
		}
		records += backends;
	}
	r->count = 0;
	return records;
}
