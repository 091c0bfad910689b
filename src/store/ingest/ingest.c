/* Storing a job: images, threads, events and strings; see ingest.h. */
#include "store/ingest/ingest.h"

#include <errno.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/metrics/metric_lists.h"
#include "core/text/secrets.h"
#include "records/accounting.h"
#include "store/ingest/ingest_phases.h"
#include "store/ingest/ingest_write.h"
#include "store/process_tree.h"

/* clang-format off */
const enum metric_id ingest_process_metrics[] = {
	METRIC_PID, METRIC_PPID, METRIC_PGID, METRIC_SID, METRIC_GENERATION, METRIC_EXITCODE,
	METRIC_EXITSIGNAL, METRIC_COREDUMP, METRIC_NUMTIDS, METRIC_NUMRANKS, METRIC_MPIRANK,
	METRICS_RUSAGE, METRICS_CHILDREN, METRIC_STARTTIME, METRICS_PROC, METRIC_RDTSC_DURATION,
	METRIC_THREADS_BASIC,
};
const enum metric_id ingest_thread_metrics[] = {
	METRIC_TID, METRICS_RUSAGE, METRIC_STARTTIME, METRICS_PROC, METRIC_RDTSC_DURATION,
};
/* clang-format on */
const size_t ingest_process_metric_count = ARRAY_SIZE(ingest_process_metrics);
const size_t ingest_thread_metric_count = ARRAY_SIZE(ingest_thread_metrics);

/* ---- beginning ------------------------------------------------------------------------------ */

/* "front,metric,metric,..." */
static void column_list(struct strbuf *out, const char *front, const enum metric_id *ids, size_t n)
{
	strbuf_addstr(out, front);
	for (size_t i = 0; i < n; i++)
		strbuf_addf(out, ",%s", metric_by_id(ids[i])->name);
}

static int open_writers(struct ingest *in)
{
	_cleanup_strbuf_ struct strbuf process = STRBUF_INIT, thread = STRBUF_INIT;
	const struct store_engine *e = in->store->engine;

	column_list(&process, "id,host,exename,path,args,argv,tags,state,start,duration",
		    ingest_process_metrics, ingest_process_metric_count);
	column_list(&thread, "process,n,start,duration", ingest_thread_metrics,
		    ingest_thread_metric_count);
	in->processes = e->bulk_open(in->store, "process", process.buf);
	in->threads = e->bulk_open(in->store, "thread", thread.buf);
	in->events = e->bulk_open(in->store, "event", "process,thread,name,value,permille");
	in->strings = e->bulk_open(in->store, "string", "id,bytes");
	return in->processes && in->threads && in->events && in->strings ? 0 : -EIO;
}

/* Numbers are never reused, so that a reader who holds one finds the same job or none. */
static int take_number(struct ingest *in)
{
	return store_number(in->store, "UPDATE job_number SET last = last + 1 RETURNING last",
			    &in->job);
}

int ingest_begin(struct ingest **ret, struct store *s, struct strbuf *why)
{
	struct ingest *in = xcalloc(1, sizeof(*in));
	int r = 0;

	in->store = s;
	in->cache = xcalloc(STRING_CACHE, sizeof(*in->cache));
	in->warnings = value_new(VALUE_LIST);
	in->usage.all = (struct usage)USAGE_NONE;
	/* before the transaction, where others may write meanwhile */
	bool early = s && (s->engine->concurrent || s->staged);
	if (early)
		r = take_number(in);
	if (s && r == 0)
		r = store_begin(s);
	if (s && r == 0 && !early)
		r = take_number(in);
	if (s && r == 0)
		r = open_writers(in);
	if (r < 0) {
		strbuf_addstr(why, store_error(s));
		ingest_free(in);
		return r;
	}
	*ret = in;
	return 0;
}

void ingest_free(struct ingest *in)
{
	if (!in)
		return;
	if (in->store) {
		const struct store_engine *e = in->store->engine;

		e->bulk_close(in->processes);
		e->bulk_close(in->threads);
		e->bulk_close(in->events);
		e->bulk_close(in->strings);
		ingest_phases_free(in);
		store_rollback(in->store);
	}
	process_tree_release(&in->tree);
	usage_sums_release(&in->usage);
	hash_map_release(&in->tag_index);
	for (size_t i = 0; i < in->host_count; i++)
		free(in->hosts[i].name);
	for (size_t i = 0; i < in->event_count; i++)
		free(in->event_sums[i].name);
	free(in->next_threads);
	free(in->hosts);
	free(in->event_sums);
	free(in->tagsets);
	free(in->cache);
	value_free(in->warnings);
	value_free(in->bad_pids);
	free(in);
}

void ingest_forget_warnings(struct ingest *in)
{
	value_free(in->warnings);
	in->warnings = value_new(VALUE_LIST);
}

const struct value *ingest_warnings(const struct ingest *in)
{
	return in->warnings;
}

void ingest_warn(struct ingest *in, const char *fmt, ...)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	value_append(in->warnings, value_strn(text.buf, text.len));
}

/* ---- strings -------------------------------------------------------------------------------- */

/*
 * The number of a string in this job; writes the string if it is new. A cache of fixed size holds
 * the 128-bit hashes of strings seen last; a string that fell out of it is written again.
 */
int64_t ingest_string(struct ingest *in, const char *s, size_t n)
{
	XXH128_hash_t h = XXH3_128bits(s, n);
	struct string_entry *e = &in->cache[h.low64 % STRING_CACHE];

	if (e->number && e->low == h.low64 && e->high == h.high64)
		return e->number;
	*e = (struct string_entry){h.low64, h.high64, ++in->string_count};
	in->bytes += n;
	if (in->store) {
		int r = bulk_put(in->strings, db_int(store_key(in->job, e->number)),
				 db_bytes(s, n));
		if (r < 0)
			return r;
	}
	return e->number;
}

/* 0: absent; negative: failed. */
static int64_t text_number(struct ingest *in, const struct row *row, enum metric_id id)
{
	return row_has(row, id) ? ingest_string(in, row->text[id].buf, row->text[id].len) : 0;
}

/* Arguments of our own records were masked with argv; those of other tools are masked here. */
static int64_t arguments_number(struct ingest *in, const struct row *row, bool masked)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (masked || !row_has(row, METRIC_ARGS) || row_has(row, METRIC_ARGV))
		return text_number(in, row, METRIC_ARGS);
	strbuf_add(&text, row->text[METRIC_ARGS].buf, row->text[METRIC_ARGS].len);
	secrets_mask_arguments(&text, ' ',
			       row_has(row, METRIC_EXENAME) ? row->text[METRIC_EXENAME].buf : "");
	return ingest_string(in, text.buf, text.len);
}

/* Would splitting the joined arguments at blanks give argv back? Then it is not stored. */
static bool argv_is_plain(const struct row *row)
{
	const struct strbuf *argv = &row->text[METRIC_ARGV];
	const char *first_end = memchr(argv->buf, 0, argv->len);
	const char *p = first_end ? first_end + 1 : argv->buf + argv->len;
	const char *end = argv->buf + argv->len;

	for (; p < end; p++)
		if (*p == ' ' || (!*p && (p == argv->buf || !p[-1])))
			return false;
	return true;
}

/* ---- sums ----------------------------------------------------------------------------------- */

/* Sums of hostile values end at the limits, and do not begin again at 0. */
static uint64_t limited(uint64_t a, uint64_t b)
{
	return (uint64_t)usage_sum((int64_t)a, (int64_t)b);
}

static void add_sums(struct ingest *in, const struct row *row, uint64_t rssmax_sum, bool execs)
{
	for (size_t i = 0; i < ingest_process_metric_count; i++) {
		enum metric_id id = ingest_process_metrics[i];
		struct metric_sum *s = &in->sums[i];

		if (!row_has(row, id) || metric_by_id(id)->kind == KIND_LABEL)
			continue;
		uint64_t v = row->v[id];
		s->present = true;
		if (id == METRIC_RDTSC_DURATION && (int64_t)v <= 0) {
			if (!in->bad_pids)
				in->bad_pids = value_new(VALUE_LIST);
			value_append(in->bad_pids, value_int((int64_t)row_get(row, METRIC_PID, 0)));
			continue;
		}
		s->sum = limited(s->sum, id == METRIC_RSSMAX                  ? rssmax_sum
					 : id == METRIC_NUMTIDS && execs && v ? v - 1
									      : v);
		if (v > s->max)
			s->max = v;
	}
}

static void add_event_sum(struct ingest *in, const struct counter *c)
{
	size_t i;

	for (i = 0; i < in->event_count; i++)
		if (strlen(in->event_sums[i].name) == c->name_size &&
		    !memcmp(in->event_sums[i].name, c->name, c->name_size))
			break;
	if (i == in->event_count) {
		GROW(in->event_sums, in->event_count, in->event_cap);
		in->event_sums[in->event_count++] =
			(struct event_sum){.name = xstrndup(c->name, c->name_size)};
	}
	in->event_sums[i].sum = limited(in->event_sums[i].sum, c->value);
	if (c->value > in->event_sums[i].max)
		in->event_sums[i].max = c->value;
}

static uint16_t add_host(struct ingest *in, const char *s, size_t n, uint64_t images)
{
	for (size_t i = in->host_count; i-- > 0;)
		if (in->hosts[i].size == n && !memcmp(in->hosts[i].name, s, n)) {
			in->hosts[i].images += images;
			return (uint16_t)i;
		}
	if (in->host_count == UINT16_MAX)
		return 0;
	GROW(in->hosts, in->host_count, in->host_cap);
	in->hosts[in->host_count] = (struct host_sum){xstrndup(s, n), n, images};
	return (uint16_t)in->host_count++;
}

uint16_t ingest_host_number(struct ingest *in, const char *name)
{
	return add_host(in, name, strlen(name), 0);
}

static uint16_t host_number(struct ingest *in, const struct row *row)
{
	const struct strbuf *name = &row->text[METRIC_HOSTNAME];
	size_t n = row_has(row, METRIC_HOSTNAME) ? name->len : 0;

	return add_host(in, n ? name->buf : "", n, 1);
}

void ingest_host(struct ingest *in, const char *name)
{
	(void)add_host(in, name, strlen(name), 0);
}

void ingest_times(struct ingest *in, int64_t first_us, int64_t last_us)
{
	if (!in->earliest && first_us > 0)
		in->earliest = (uint64_t)first_us;
	if (!in->latest && last_us > 0)
		in->latest = (uint64_t)last_us;
}

static int64_t duration_of(const struct row *row)
{
	int64_t start = (int64_t)row_get(row, METRIC_START, 0);

	return start && row_has(row, METRIC_END) ? (int64_t)row_get(row, METRIC_END, 0) - start
						 : USAGE_UNKNOWN;
}

static int64_t value_of(const struct row *row, enum metric_id id)
{
	return row_has(row, id) ? (int64_t)row->v[id] : USAGE_UNKNOWN;
}

/* Adds the same values that write_process() writes. tags: NULL without any. */
static void add_usage(struct ingest *in, const struct row *row, bool execs,
		      const struct strbuf *tags)
{
	int64_t user = value_of(row, METRIC_USERTIME), system = value_of(row, METRIC_SYSTEMTIME);
	bool named = row_has(row, METRIC_EXENAME);
	const struct strbuf *name = &row->text[METRIC_EXENAME];
	const struct usage one = {.images = 1,
				  .processes = !execs,
				  .cpu_us = user == USAGE_UNKNOWN || system == USAGE_UNKNOWN
						    ? USAGE_UNKNOWN
						    : usage_sum(user, system),
				  .duration_us = duration_of(row),
				  .rchar = value_of(row, METRIC_RCHAR),
				  .wchar = value_of(row, METRIC_WCHAR),
				  .read_bytes = value_of(row, METRIC_READ_BYTES),
				  .write_bytes = value_of(row, METRIC_WRITE_BYTES),
				  .rssmax = value_of(row, METRIC_RSSMAX)};

	usage_add(&usage_group(&in->usage.executables, named ? name->buf : NULL,
			       named ? name->len : 0)
			   ->usage,
		  &one);
	usage_add(&usage_group(&in->usage.operations, tags ? tags->buf : NULL, tags ? tags->len : 0)
			   ->usage,
		  &one);
	usage_add(&in->usage.all, &one);
}

/* The number of the tags of an image; counts images with the same tags. */
static int64_t tags_number(struct ingest *in, const char *s, size_t n)
{
	XXH128_hash_t h = XXH3_128bits(s, n);

	if (!n || in->tagset_count == TAGSETS_MAX)
		return ingest_string(in, s, n);
	for (struct hash_slot *at = hash_map_first(&in->tag_index, h.low64); at;
	     at = hash_map_next(&in->tag_index, at)) {
		struct tagset *t = &in->tagsets[at->value];

		if (t->string.low == h.low64 && t->string.high == h.high64) {
			t->images++;
			return t->string.number;
		}
	}
	int64_t number = ingest_string(in, s, n);
	if (number < 0)
		return number;
	GROW(in->tagsets, in->tagset_count, in->tagset_cap);
	hash_map_add(&in->tag_index, h.low64, in->tagset_count);
	in->tagsets[in->tagset_count++] = (struct tagset){{h.low64, h.high64, (uint32_t)number}, 1};
	return number;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void put_metrics(struct bulk *b, const struct row *row, const enum metric_id *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		bulk_value(b, db_int_if(row_has(row, ids[i]), (int64_t)row->v[ids[i]]));
}

static void put_times(struct bulk *b, const struct row *row)
{
	int64_t start = (int64_t)row_get(row, METRIC_START, 0), duration = duration_of(row);

	bulk_value(b, db_int_if(start > 0, start));
	bulk_value(b, db_int_if(duration != USAGE_UNKNOWN, duration));
}

static int put_events(struct ingest *in, const struct row *row, int64_t thread)
{
	struct counter counters[16];
	size_t n = row_counters(row, counters, ARRAY_SIZE(counters));
	int r = 0;

	for (size_t i = 0; i < n && r == 0; i++) {
		const struct counter *c = &counters[i];

		if (!c->present)
			continue;
		if (thread == 0)
			add_event_sum(in, c);
		int64_t name = ingest_string(in, c->name, c->name_size);
		if (name < 0)
			return (int)name;
		if (!in->store)
			continue;
		r = bulk_put(in->events, db_int(store_key(in->job, in->next)), db_int(thread),
			     db_int(name), db_int((int64_t)c->value),
			     db_int_if(c->scaled, (int64_t)c->permille));
	}
	return r;
}

int ingest_thread(struct ingest *in, const struct row *row)
{
	int r = 0;

	if (!in->thread)
		in->next = (uint32_t)in->tree.count + 1;
	in->thread++;
	GROW(in->next_threads, in->next_thread_count, in->next_thread_cap);
	in->next_threads[in->next_thread_count++] =
		(struct next_thread){row_get(row, METRIC_START, 0), row_get(row, METRIC_END, 0),
				     (uint32_t)row_get(row, METRIC_TID, 0)};
	if (in->store) {
		bulk_value(in->threads, db_int(store_key(in->job, in->next)));
		bulk_value(in->threads, db_int(in->thread));
		put_times(in->threads, row);
		put_metrics(in->threads, row, ingest_thread_metrics, ingest_thread_metric_count);
		r = in->store->engine->bulk_row(in->threads);
	}
	return r < 0 ? r : put_events(in, row, in->thread);
}

/* Adds the threads of an image except the first one, which stands for the process. */
static void add_threads(struct ingest *in, uint32_t pid, uint32_t threads)
{
	size_t first = 0, beside = 0;

	/* if another thread executed the program, none of them has the pid: then none is skipped */
	while (first < in->next_thread_count && in->next_threads[first].tid &&
	       in->next_threads[first].tid != pid)
		first++;
	for (size_t i = 0; i < in->next_thread_count; i++) {
		if (i == first)
			continue;
		process_tree_add_thread(&in->tree, in->next_threads[i].start,
					in->next_threads[i].end);
		beside++;
	}
	if (beside + 1 < threads)
		in->tree.threads.unknown = true;
	in->next_thread_count = 0;
}

/* A process that executes another program continues in one of its threads: not counted twice. */
static void add_node(struct ingest *in, const struct row *row, size_t tids, bool execs)
{
	struct node *n = process_tree_add(&in->tree);
	uint32_t threads = (uint32_t)(tids ? tids : row_get(row, METRIC_NUMTIDS, 1));

	n->start = row_get(row, METRIC_START, 0);
	n->end = row_get(row, METRIC_END, 0);
	n->cpu = row_get(row, METRIC_USERTIME, 0) + row_get(row, METRIC_SYSTEMTIME, 0);
	n->pid = (uint32_t)row_get(row, METRIC_PID, 0);
	n->ppid = (uint32_t)row_get(row, METRIC_PPID, 0);
	n->host = host_number(in, row);
	in->cpu_us = limited(in->cpu_us, n->cpu);
	in->thread_count += threads - (execs && threads);
	add_threads(in, n->pid, threads);
	if (n->start && (!in->earliest || n->start < in->earliest)) {
		in->earliest = n->start;
		in->root_exitcode = (int64_t)row_get(row, METRIC_EXITCODE, 0);
		in->root_known = row_has(row, METRIC_EXITCODE);
	}
	if (n->end > in->latest)
		in->latest = n->end;
}

void ingest_threads(struct ingest *in, uint64_t threads)
{
	if (threads > in->thread_count)
		in->tree.threads.unknown = true;
	in->thread_count = threads;
}

static int write_process(struct ingest *in, const struct row *row, int64_t state,
			 const int64_t strings[6])
{
	bulk_value(in->processes, db_int(store_key(in->job, in->next)));
	for (int i = 0; i < 6; i++)
		bulk_value(in->processes, db_int_if(strings[i] > 0, strings[i]));
	bulk_value(in->processes, db_int(state));
	put_times(in->processes, row);
	put_metrics(in->processes, row, ingest_process_metrics, ingest_process_metric_count);
	return in->store->engine->bulk_row(in->processes);
}

int ingest_process(struct ingest *in, const struct row *row, struct ingest_state state,
		   uint64_t rssmax_sum, size_t tids)
{
	static const enum metric_id texts[] = {METRIC_HOSTNAME, METRIC_EXENAME, METRIC_PATH,
					       METRIC_ARGS, METRIC_ARGV};
	int64_t strings[ARRAY_SIZE(texts) + 1] = {0};
	_cleanup_strbuf_ struct strbuf tags = STRBUF_INIT;
	int r = 0;

	if (in->tree.count >= UINT32_MAX - 2)
		return -E2BIG;
	in->next = (uint32_t)in->tree.count + 1;
	in->thread = 0;
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		bool skip = texts[i] == METRIC_ARGV &&
			    (!row_has(row, METRIC_ARGV) || argv_is_plain(row));

		strings[i] = skip                      ? 0
			     : texts[i] == METRIC_ARGS ? arguments_number(in, row, state.masked)
						       : text_number(in, row, texts[i]);
		if (strings[i] < 0)
			return (int)strings[i];
	}
	if (row_has(row, METRIC_TAGS)) {
		strbuf_add(&tags, row->text[METRIC_TAGS].buf, row->text[METRIC_TAGS].len);
		secrets_mask_tags(&tags);
		strings[5] = tags_number(in, tags.buf, tags.len);
	}
	if (strings[5] < 0)
		return (int)strings[5];
	in->process_count += state.ended != ENDED_EXEC;
	add_node(in, row, tids, state.ended == ENDED_EXEC);
	add_sums(in, row, rssmax_sum, state.ended == ENDED_EXEC);
	if (in->store)
		add_usage(in, row, state.ended == ENDED_EXEC,
			  row_has(row, METRIC_TAGS) ? &tags : NULL);
	if (in->store)
		r = write_process(in, row, ingest_state_pack(&state), strings);
	return r < 0 ? r : put_events(in, row, 0);
}
