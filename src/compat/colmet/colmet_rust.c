/*
 * Messages of colmet's Rust version, in both dialects:
 *
 *   {job: [host, ms, 1, [[job, backend, ["10", ...], [value, ...]], ...]], ...}
 *   {job: [host, ms, [[backend, [10, ...], [value, ...]], ...]], ...}
 *
 * The first has ids from 0 as texts, the second, older, ids from 1 that leave out swap and its
 * limit. Ids run through all backends in one sequence.
 */
#include <errno.h>
#include <string.h>

#include "compat/colmet/colmet_internal.h"
#include "compat/colmet/colmet_msgpack.h"

#define SIZE(n, text)                                       \
	{                                                   \
		n, UNIT_BYTES, KIND_GAUGE, AGG_SUM, 0, text \
	}
#define COUNT(n, text)                                        \
	{                                                     \
		n, UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0, text \
	}
#define LIMIT(n, text)                                      \
	{                                                   \
		n, UNIT_BYTES, KIND_GAUGE, AGG_MAX, 0, text \
	}

/* memory.stat of a group, and again for the group with all below it */
#define MEMORY(prefix, suffix)                                                              \
	SIZE(prefix "cache", "cache of files" suffix),                                      \
		SIZE(prefix "rss", "memory of programs without a file behind it" suffix),   \
		SIZE(prefix "rss_huge", "the part of it in huge pages" suffix),             \
		SIZE(prefix "shmem", "shared memory and tmpfs" suffix),                     \
		SIZE(prefix "mapped_file", "files mapped into programs" suffix),            \
		SIZE(prefix "dirty", "file data that wait to be written" suffix),           \
		SIZE(prefix "writeback", "file data being written" suffix),                 \
		SIZE(prefix "swap", "swap space in use" suffix),                            \
		COUNT(prefix "pgpgin", "pages charged to the job" suffix),                  \
		COUNT(prefix "pgpgout", "pages no longer charged to the job" suffix),       \
		COUNT(prefix "pgfault", "page faults, minor and major" suffix),             \
		COUNT(prefix "pgmajfault", "page faults that read from a disk" suffix),     \
		SIZE(prefix "inactive_anon", "memory of programs not used of late" suffix), \
		SIZE(prefix "active_anon", "memory of programs used of late" suffix),       \
		SIZE(prefix "inactive_file", "cache not used of late" suffix),              \
		SIZE(prefix "active_file", "cache used of late" suffix),                    \
		SIZE(prefix "unevictable", "memory that cannot be reclaimed" suffix)

static const struct sample_metric metrics_of_memory[] = {
	MEMORY("", ""),
	LIMIT("hierarchical_memory_limit", "limit of the job's memory"),
	LIMIT("hierarchical_memsw_limit", "limit of the job's memory and swap"),
	MEMORY("total_", ", groups below too"),
};

static const struct sample_metric metrics_of_cpu[] = {
	COUNT("nr_periods", "periods in which the job's CPU time was limited"),
	COUNT("nr_throttled", "periods in which it used its limit up"),
	{"throttled_time", UNIT_NANOSECONDS, KIND_COUNTER, AGG_SUM, 0,
	 "time that its tasks were held back"},
};

/* Like the Python version, since the sample before. */
#define EVENT(n)                                                                 \
	{                                                                        \
		n, UNIT_COUNT, KIND_GAUGE, AGG_SUM, 0, "since the sample before" \
	}
static const struct sample_metric metrics_of_perfhw[] = {
	EVENT("cpu_cycles"),        EVENT("instructions"),        EVENT("cache_references"),
	EVENT("cache_misses"),      EVENT("branch_instructions"), EVENT("branch_misses"),
	EVENT("bus_cycles"),        EVENT("ref_cpu_cycles"),      EVENT("cache_l1d"),
	EVENT("cache_ll"),          EVENT("cache_dtlb"),          EVENT("cache_itlb"),
	EVENT("cache_bpu"),         EVENT("cache_node"),          EVENT("cache_op_read"),
	EVENT("cache_op_prefetch"), EVENT("cache_result_access"), EVENT("cpu_clock"),
	EVENT("task_clock"),        EVENT("page_faults"),         EVENT("context_switches"),
	EVENT("cpu_migrations"),    EVENT("page_faults_min"),     EVENT("page_faults_maj"),
	EVENT("alignment_faults"),  EVENT("emulation_faults"),    EVENT("dummy"),
	EVENT("bpf_output"),
};

const struct colmet_rust_table colmet_rust_tables[COLMET_RUST_END] = {
	[COLMET_RUST_MEMORY] = {"memory", metrics_of_memory, ARRAY_SIZE(metrics_of_memory)},
	[COLMET_RUST_CPU] = {"cpu", metrics_of_cpu, ARRAY_SIZE(metrics_of_cpu)},
	[COLMET_RUST_PERFHW] = {"perfhw", metrics_of_perfhw, ARRAY_SIZE(metrics_of_perfhw)},
};

/* The older ids: from 1, and without these three of the memory. */
enum { SWAP = 7, MEMSW_LIMIT = 18, TOTAL_SWAP = 26 };

static int64_t id_of_old(int64_t id)
{
	static const int64_t missing[] = {SWAP, MEMSW_LIMIT, TOTAL_SWAP};

	if (id < 1)
		return -1;
	id--;
	for (size_t i = 0; i < ARRAY_SIZE(missing); i++)
		if (id >= missing[i])
			id++;
	return id;
}

/* Place of an id among the metrics of a source; false when it is not one of them. */
static bool place_of(int64_t id, uint32_t source, unsigned *ret)
{
	int64_t first = 0;

	for (uint32_t i = 0; i < source; i++)
		first += (int64_t)colmet_rust_tables[i].metric_count;
	if (id < first || id - first >= (int64_t)colmet_rust_tables[source].metric_count)
		return false;
	*ret = (unsigned)(id - first);
	return true;
}

/* An id as either dialect has it, in the numbers of the newer one. */
static bool take_id(struct msgpack *m, enum colmet_dialect dialect, int64_t *ret)
{
	struct msgpack_value v;

	if (!msgpack_next(m, &v))
		return false;
	if (v.type == MSGPACK_INT) {
		*ret = dialect == COLMET_RUST_OLD ? id_of_old(v.i) : v.i;
		return true;
	}
	if (v.type != MSGPACK_TEXT || dialect == COLMET_RUST_OLD || !v.n || v.n > 3)
		return false;
	*ret = 0;
	for (size_t i = 0; i < v.n; i++) {
		if (v.text[i] < '0' || v.text[i] > '9')
			return false;
		*ret = *ret * 10 + (v.text[i] - '0');
	}
	return true;
}

/* ---- checking ------------------------------------------------------------------------------- */

struct scan {
	struct msgpack m;
	struct colmet_items *items;
	enum colmet_dialect dialect; /* 0: no job yet */
	const char *wrong;
};

static bool fail(struct scan *s, const char *wrong)
{
	s->wrong = wrong;
	return false;
}

static bool source_of(const char *name, size_t size, uint32_t *ret)
{
	for (uint32_t i = 0; i < COLMET_RUST_END; i++)
		if (strlen(colmet_rust_tables[i].name) == size &&
		    !memcmp(colmet_rust_tables[i].name, name, size)) {
			*ret = i;
			return true;
		}
	return false;
}

/* [job, backend, ids, values] or [backend, ids, values] */
static bool scan_backend(struct scan *s, struct colmet_item *item)
{
	size_t parts, ids, count, size;
	const char *name;
	uint32_t source;
	int64_t v;

	if (!msgpack_array(&s->m, &parts) || parts != (s->dialect == COLMET_RUST ? 4 : 3))
		return fail(s, "the values of a backend are not a list of the expected length");
	if (s->dialect == COLMET_RUST && (!msgpack_int(&s->m, &v) || v != (int64_t)item->job))
		return fail(s, "the values of a backend belong to another job");
	if (!msgpack_text(&s->m, &name, &size) || !source_of(name, size, &source))
		return fail(s, "unknown backend: not memory, cpu or perfhw");
	item->p = s->m.p;
	if (!msgpack_array(&s->m, &ids))
		return fail(s, "the metric ids are not a list");
	for (size_t i = 0; i < ids; i++) {
		unsigned place;

		if (!take_id(&s->m, s->dialect, &v) || !place_of(v, source, &place))
			return fail(s, "a metric has an unknown id");
	}
	if (!msgpack_array(&s->m, &count) || count != ids)
		return fail(s, "the number of values differs from the number of ids");
	for (size_t i = 0; i < count; i++)
		if (!msgpack_int(&s->m, &v))
			return fail(s, "a value is not an integer");
	if (s->items->count >= COLMET_ITEMS_MAX)
		return fail(s, "too many values");
	item->source = COLMET_RUST_SOURCES + source;
	GROW(s->items->list, s->items->count, s->items->cap);
	s->items->list[s->items->count++] = *item;
	return true;
}

/* One job with all of its backends. */
static bool scan_job(struct scan *s)
{
	struct colmet_item item = {0};
	size_t parts, backends, size;
	int64_t job, ms, version;

	if (!msgpack_int(&s->m, &job) || job < 0)
		return fail(s, "a job id is not a number");
	if (!msgpack_array(&s->m, &parts) || (parts != 3 && parts != 4))
		return fail(s, "a job is not a list of three or four elements");
	enum colmet_dialect dialect = parts == 4 ? COLMET_RUST : COLMET_RUST_OLD;
	if (s->dialect && s->dialect != dialect)
		return fail(s, "jobs in different dialects");
	s->dialect = dialect;
	if (!msgpack_text(&s->m, &item.host, &size) || !colmet_host_valid(item.host, size))
		return fail(s, "a job has no valid host name");
	if (!msgpack_int(&s->m, &ms) || ms < 0 || ms / 1000 > (int64_t)COLMET_TIME_MAX)
		return fail(s, "a job has an impossible time");
	if (dialect == COLMET_RUST && (!msgpack_int(&s->m, &version) || version != 1))
		return fail(s, "unsupported version of metrics: not 1");
	if (!msgpack_array(&s->m, &backends))
		return fail(s, "the backends of a job are not a list");
	item.host_size = (uint32_t)size;
	item.job = (uint64_t)job;
	item.time_us = ms * 1000;
	for (; backends; backends--)
		if (!scan_backend(s, &item))
			return false;
	return true;
}

int colmet_rust_scan(const unsigned char *p, size_t n, struct colmet_items *items,
		     enum colmet_dialect *ret_dialect, struct strbuf *why)
{
	struct scan s = {.m = {p, p + n}, .items = items};
	size_t jobs = 0;
	bool good = msgpack_map(&s.m, &jobs) || fail(&s, "the message is not a map of jobs");

	for (; good && jobs; jobs--)
		good = scan_job(&s);
	if (good && s.m.p != s.m.end)
		good = fail(&s, "the jobs are followed by other bytes");
	if (!good) {
		strbuf_addf(why, "%s, before byte %zu", s.wrong, (size_t)(s.m.p - p));
		return -EBADMSG;
	}
	*ret_dialect = s.dialect ? s.dialect : COLMET_RUST;
	return 0;
}

/* ---- taking --------------------------------------------------------------------------------- */

void colmet_rust_put(const struct colmet_item *item, enum colmet_dialect dialect,
		     const unsigned char *end, struct sample_set *set)
{
	struct msgpack ids = {item->p, end}, values;
	uint64_t *present = &set->rows[set->row_count - 1].present;
	size_t count, same;
	int64_t id, v;

	if (!msgpack_array(&ids, &count))
		return;
	values = ids;
	for (size_t i = 0; i < count; i++)
		(void)take_id(&values, dialect, &id);
	if (!msgpack_array(&values, &same) || same != count)
		return;
	for (size_t i = 0; i < count; i++) {
		unsigned place;

		if (!take_id(&ids, dialect, &id) || !msgpack_int(&values, &v) ||
		    !place_of(id, item->source - COLMET_RUST_SOURCES, &place))
			return;
		/* a metric that is asked for twice comes twice; -1 is an event that failed */
		if (!(*present >> place & 1) &&
		    (v != -1 || item->source != COLMET_RUST_SOURCES + COLMET_RUST_PERFHW))
			sample_put(set, place, v);
	}
}
