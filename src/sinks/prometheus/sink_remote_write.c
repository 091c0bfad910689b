/*
 * Feed remote-write: every value as a sample of a series, by Prometheus' remote write protocol 1.0,
 * to whatever speaks it: Prometheus, VictoriaMetrics, Mimir, Thanos. Names and units are those of
 * the feed prometheus; the labels kind and entity say what a row is about. Rows of processes are
 * left out unless the address has ?processes=1: every process would be series of its own.
 *
 * The series of a job that a source no longer reads are ended by a stale marker. A sample that
 * comes again is the same one, with the same time: servers keep one of them, and VictoriaMetrics
 * does so when it was started with -dedup.minScrapeInterval=1ms.
 *
 * Prometheus itself refuses a request whole when it has one sample that is older than the newest
 * of its series, and so one that comes again. What is sent is therefore made of units, each of one
 * entry: when a request of several is refused, each is sent by itself, and those that are new
 * are taken.
 */
#include <errno.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "codecs/snappy.h"
#include "core/module.h"
#include "core/text/text.h"
#include "sinks/prometheus/openmetrics.h"
#include "sinks/sink_http.h"

#define BODY_MAX ((size_t)2 << 20) /* of one request, before it is packed */
#define HELD_MAX ((size_t)32 << 20)
#define STALE 0x7ff0000000000002ull /* a NaN that says: no value from here on */
#define LIVING 4096                 /* slots of a table */
#define SERIES_BYTES 128            /* of a series beside its labels and samples, about */

/* A series with the samples of an entry, both as the protocol has them. */
struct series {
	uint64_t hash;
	uint32_t next; /* of the same slot, plus one */
	struct strbuf labels, samples;
};

/* A job that a source of a host reads. */
struct alive {
	uint64_t hash; /* of its labels */
	struct strbuf labels;
	uint64_t present; /* metrics that it has had */
	bool seen;        /* in this reading */
};

/* The jobs that a source of a host reads; of those that are gone the series are ended. */
struct living {
	struct living *next;
	uint64_t hash; /* of host and source */
	size_t metric_count;
	struct alive *jobs;
	size_t count, cap;
};

struct remote {
	struct sink_server server;
	const struct snappy_functions *snappy;
	const char *path;
	bool processes;
	struct series *series;
	size_t series_count, series_cap;
	uint32_t *table; /* of places plus one, by hash */
	size_t table_size;
	struct living *living[LIVING];
	size_t held; /* by the series of the entry at hand */
	struct strbuf body;
	struct unit {
		size_t end;     /* in the body */
		uint64_t entry; /* of the log */
	} * units;
	size_t unit_count, unit_cap;
	size_t sent, singly; /* units that are with the server; up to this one each by itself */
	uint64_t have;       /* last entry whose samples are here, or there */
	struct sink_refusals refusals;
};

/* ---- the protocol -----------------------------------------------------------------------------
 */

static void add_varint(struct strbuf *out, uint64_t v)
{
	for (; v >= 128; v >>= 7)
		strbuf_addch(out, (char)(v | 128));
	strbuf_addch(out, (char)v);
}

static size_t varint_size(uint64_t v)
{
	size_t n = 1;

	for (; v >= 128; v >>= 7)
		n++;
	return n;
}

static void add_bytes(struct strbuf *out, char tag, const char *s, size_t n)
{
	strbuf_addch(out, tag);
	add_varint(out, n);
	strbuf_add(out, s, n);
}

/* Bytes that are no text become U+FFFD. */
static void add_label(struct strbuf *out, const char *name, const char *s, size_t n)
{
	_cleanup_strbuf_ struct strbuf clean = STRBUF_INIT;
	size_t length = strlen(name);

	if (!utf8_valid(s, n)) {
		for (size_t i = 0, k; i < n; i += k ? k : 1) {
			k = utf8_sequence(s + i, n - i);
			strbuf_add(&clean, k ? s + i : "\xef\xbf\xbd", k ? k : 3);
		}
		s = clean.buf;
		n = clean.len;
	}
	strbuf_addch(out, 0x0a); /* TimeSeries.labels */
	add_varint(out, 1 + varint_size(length) + length + 1 + varint_size(n) + n);
	add_bytes(out, 0x0a, name, length);
	add_bytes(out, 0x12, s, n);
}

static void add_sample(struct strbuf *out, uint64_t bits, int64_t ms)
{
	strbuf_addch(out, 0x12); /* TimeSeries.samples */
	add_varint(out, 1 + sizeof(bits) + 1 + varint_size((uint64_t)ms));
	strbuf_addch(out, 0x09);
	strbuf_add(out, &bits, sizeof(bits));
	strbuf_addch(out, 0x10);
	add_varint(out, (uint64_t)ms);
}

/* ---- series -----------------------------------------------------------------------------------
 */

static void grow_table(struct remote *w)
{
	if (2 * (w->series_count + 1) <= w->table_size)
		return;
	w->table_size = w->table_size ? w->table_size * 2 : 1024;
	free(w->table);
	w->table = xcalloc(w->table_size, sizeof(*w->table));
	for (size_t i = 0; i < w->series_count; i++) {
		uint32_t *slot = &w->table[w->series[i].hash & (w->table_size - 1)];

		w->series[i].next = *slot;
		*slot = (uint32_t)i + 1;
	}
}

/* The series with the labels that these two parts are, made when it is new. */
static struct series *series_of(struct remote *w, const struct strbuf *name,
				const struct strbuf *row)
{
	uint64_t hash = XXH3_64bits_withSeed(row->buf, row->len, XXH3_64bits(name->buf, name->len));

	grow_table(w);
	uint32_t *slot = &w->table[hash & (w->table_size - 1)];
	for (uint32_t i = *slot; i; i = w->series[i - 1].next) {
		struct series *s = &w->series[i - 1];

		if (s->hash == hash && s->labels.len == name->len + row->len &&
		    !memcmp(s->labels.buf, name->buf, name->len) &&
		    !memcmp(s->labels.buf + name->len, row->buf, row->len))
			return s;
	}
	GROW(w->series, w->series_count, w->series_cap);
	struct series *s = &w->series[w->series_count++];
	*s = (struct series){
		.hash = hash, .next = *slot, .labels = STRBUF_INIT, .samples = STRBUF_INIT};
	*slot = (uint32_t)w->series_count;
	strbuf_add(&s->labels, name->buf, name->len);
	strbuf_add(&s->labels, row->buf, row->len);
	w->held += SERIES_BYTES + s->labels.len;
	return s;
}

static void forget_series(struct remote *w)
{
	for (size_t i = 0; i < w->series_count; i++) {
		strbuf_release(&w->series[i].labels);
		strbuf_release(&w->series[i].samples);
	}
	w->series_count = w->held = 0;
	if (w->table)
		memset(w->table, 0, w->table_size * sizeof(*w->table));
}

static void put(struct remote *w, const struct strbuf *name, const struct strbuf *row,
		uint64_t bits, int64_t time_us)
{
	add_sample(&series_of(w, name, row)->samples, bits, time_us / 1000);
	w->held += 20;
}

/* ---- jobs that end ----------------------------------------------------------------------------
 */

static struct living *living_of(struct remote *w, const char *host, const char *source,
				size_t columns)
{
	uint64_t hash =
		XXH3_64bits_withSeed(source, strlen(source), XXH3_64bits(host, strlen(host)));
	struct living **slot = &w->living[hash % LIVING], *l = *slot;

	while (l && l->hash != hash)
		l = l->next;
	if (!l) {
		l = xcalloc(1, sizeof(*l));
		l->hash = hash;
		l->next = *slot;
		*slot = l;
	}
	/* metrics are known by their places: with others, nothing is known */
	if (l->metric_count != columns) {
		while (l->count)
			strbuf_release(&l->jobs[--l->count].labels);
		l->metric_count = columns;
	}
	return l;
}

static void see(struct living *l, const struct strbuf *row, uint64_t present)
{
	uint64_t hash = XXH3_64bits(row->buf, row->len);

	for (size_t i = 0; i < l->count; i++)
		if (l->jobs[i].hash == hash) {
			l->jobs[i].present |= present;
			l->jobs[i].seen = true;
			return;
		}
	GROW(l->jobs, l->count, l->cap);
	struct alive *a = &l->jobs[l->count++];
	*a = (struct alive){hash, STRBUF_INIT, present, true};
	strbuf_add(&a->labels, row->buf, row->len);
}

/* A stale marker for each series of a job that this reading has not. */
static void end_series(struct remote *w, struct living *l, const struct strbuf *names,
		       int64_t time_us)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->count; i++) {
		struct alive *a = &l->jobs[i];

		if (a->seen) {
			a->seen = false;
			l->jobs[kept++] = *a;
			continue;
		}
		for (unsigned m = 0; m < l->metric_count; m++)
			if (a->present >> m & 1)
				put(w, &names[m], &a->labels, STALE, time_us);
		strbuf_release(&a->labels);
	}
	l->count = kept;
}

static void forget_living(struct remote *w)
{
	for (size_t i = 0; i < LIVING; i++)
		while (w->living[i]) {
			struct living *l = w->living[i];

			w->living[i] = l->next;
			while (l->count)
				strbuf_release(&l->jobs[--l->count].labels);
			free(l->jobs);
			free(l);
		}
}

/* ---- readings ---------------------------------------------------------------------------------
 */

/* Labels behind the name; sorted, as the protocol wants them. */
static void row_labels(struct strbuf *out, const char *host, const struct entity *e)
{
	const char *kind = entity_kind_name(e->kind), *text;
	size_t n;

	strbuf_reset(out);
	add_label(out, "entity", e->name, strlen(e->name));
	add_label(out, "host", host, strlen(host));
	if (sink_job_of(e, &text, &n))
		add_label(out, "job_id", text, n);
	add_label(out, "kind", kind, strlen(kind));
	if (e->kind == ENTITY_JOB && entity_fact(e, "user", &text, &n) && n)
		add_label(out, "user", text, n);
}

static void add_reading(struct remote *w, const struct sample_file *f)
{
	const struct sample_file_source *s = &f->sources[f->source];
	struct strbuf names[SAMPLE_METRICS_MAX];
	_cleanup_strbuf_ struct strbuf row = STRBUF_INIT, name = STRBUF_INIT;

	for (unsigned m = 0; m < s->metric_count; m++) {
		names[m] = (struct strbuf)STRBUF_INIT;
		strbuf_reset(&name);
		openmetrics_name(&name, s->name, &s->metrics[m]);
		if (s->metrics[m].kind == KIND_COUNTER)
			strbuf_addstr(&name, "_total");
		add_label(&names[m], "__name__", name.buf, name.len);
	}
	struct living *l = living_of(w, f->head.host, s->name, s->metric_count);
	for (size_t i = 0; i < f->reading.row_count && w->held < SINK_HELD_LIMIT; i++) {
		const struct entity *e = &s->entities[f->reading.rows[i].entity];
		const int64_t *values = f->reading.values + i * f->reading.metric_count;

		if (e->kind == ENTITY_PROCESS && !w->processes)
			continue;
		row_labels(&row, f->head.host, e);
		for (unsigned m = 0; m < s->metric_count; m++) {
			if (!(f->reading.rows[i].present >> m & 1))
				continue;
			union {
				double value;
				uint64_t bits;
			} v = {openmetrics_value(values[m], &s->metrics[m])};

			put(w, &names[m], &row, v.bits, f->time_us);
		}
		if (e->kind == ENTITY_JOB)
			see(l, &row, f->reading.rows[i].present);
	}
	if (w->held < SINK_HELD_LIMIT) /* else jobs may be missing that are there */
		end_series(w, l, names, f->time_us);
	for (unsigned m = 0; m < s->metric_count; m++)
		strbuf_release(&names[m]);
}

/* ---- sending ----------------------------------------------------------------------------------
 */

/* The series of an entry become units; one, unless there are very many. */
static void add_units(struct remote *w)
{
	size_t begin = w->body.len;

	for (size_t i = 0; i < w->series_count; i++) {
		const struct series *s = &w->series[i];

		strbuf_addch(&w->body, 0x0a); /* WriteRequest.timeseries */
		add_varint(&w->body, s->labels.len + s->samples.len);
		strbuf_add(&w->body, s->labels.buf, s->labels.len);
		strbuf_add(&w->body, s->samples.buf, s->samples.len);
		if (w->body.len - begin < BODY_MAX && i + 1 < w->series_count)
			continue;
		GROW(w->units, w->unit_count, w->unit_cap);
		w->units[w->unit_count++] = (struct unit){begin = w->body.len, w->have};
	}
	forget_series(w);
}

static void forget_units(struct remote *w)
{
	strbuf_reset(&w->body);
	w->unit_count = w->sent = w->singly = 0;
}

/* The units of the next request: as many as fit, or one. */
static size_t units_to(const struct remote *w)
{
	size_t begin = w->sent ? w->units[w->sent - 1].end : 0, to = w->sent + 1;

	while (w->sent >= w->singly && to < w->unit_count && w->units[to].end - begin <= BODY_MAX)
		to++;
	return to;
}

static int send_some(struct remote *w, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf packed = STRBUF_INIT;
	size_t begin = w->sent ? w->units[w->sent - 1].end : 0, to = units_to(w);
	int r = w->snappy->pack(w->body.buf + begin, w->units[to - 1].end - begin, &packed);

	const struct http_request post = {.method = "POST",
					  .path = w->path,
					  .type = "application/x-protobuf",
					  .encoding = "snappy",
					  .header = "X-Prometheus-Remote-Write-Version: 0.1.0",
					  .body = packed.buf,
					  .size = packed.len};
	if (r == 0)
		r = sink_server_send(&w->server, &post, why);
	if (r < 0)
		return r;
	long status = w->server.reply.status;
	if (status == 404 || status == 405) {
		/* an address that is wrong is nothing that samples can be blamed for */
		http_add_reason(why, &w->server.reply);
		return -EAGAIN;
	}
	if (status / 100 != 2 && to - w->sent > 1) {
		w->singly = to;
		return 0;
	}
	/* they are there already, or will never be */
	if (status / 100 != 2)
		r = sink_refuse(&w->refusals, w->units[w->sent].entry, "samples", &w->server.reply,
				why);
	if (r == 0)
		w->sent = to;
	return r;
}

/* ---- the feed ---------------------------------------------------------------------------------
 */

static void close_remote_write(void *state)
{
	struct remote *w = state;

	forget_series(w);
	forget_living(w);
	sink_server_close(&w->server);
	strbuf_release(&w->body);
	free(w->units);
	free(w->series);
	free(w->table);
	free(w);
}

static int open_remote_write(const struct sink_options *o, void **state, uint64_t *position,
			     struct strbuf *why)
{
	_cleanup_free_ char *url = xstrdup(o->target);
	_cleanup_free_ char *processes = sink_take_option(url, "processes");
	const struct module *m = module_load("snappy", why);

	if (!m)
		return -ENOSYS;
	struct remote *w = xcalloc(1, sizeof(*w));
	w->body = (struct strbuf)STRBUF_INIT;
	w->snappy = m->functions;
	w->refusals = sink_refusals("remote-write", o);
	w->processes = processes && !strcmp(processes, "1");
	/* an address without a path gets the usual one */
	const char *host = strstr(url, "://");
	const char *path = host ? strchr(host + 3, '/') : NULL;
	w->path = path && path[1] ? "" : "/api/v1/write";
	int r = sink_server_open(&w->server, o, url, why);
	if (r < 0) {
		close_remote_write(w);
		return r;
	}
	*position = 0;
	*state = w;
	return 0;
}

static int commit(void *state, uint64_t number, struct strbuf *why)
{
	struct remote *w = state;

	(void)number;
	while (w->sent < w->unit_count) {
		int r = send_some(w, why);

		if (r < 0)
			return r;
	}
	forget_units(w);
	return 0;
}

static int add_batch(void *state, uint64_t number, const struct batch_name *name,
		     struct sample_file *f, struct strbuf *why)
{
	struct remote *w = state;
	int event;

	(void)name;
	if (number <= w->have)
		return sink_entry_end(&w->refusals, number, w->body.len, HELD_MAX, why);
	while ((event = sample_file_next(f)) > 0)
		if (event == SAMPLE_READING && f->head.host)
			add_reading(w, f);
	w->have = number;
	size_t held = w->held;
	add_units(w);
	return sink_entry_end(&w->refusals, number, held < SINK_HELD_LIMIT ? w->body.len : held,
			      HELD_MAX, why);
}

const struct sink sink_remote_write = {
	.name = "remote-write",
	.target = "URL",
	.help = "Prometheus' remote write protocol: VictoriaMetrics, Mimir, Prometheus and others",
	.open = open_remote_write,
	.batch = add_batch,
	.commit = commit,
	.close = close_remote_write,
	.commit_entries = 4096,
	.commit_ns = 2000000000,
};
