/*
 * Sink remote-write: every value as a sample of a series, by Prometheus' remote write protocol 1.0,
 * to Prometheus, VictoriaMetrics, Mimir, Thanos and others. Names and units are those of the sink
 * prometheus; the labels kind and entity identify a row. Rows of processes are left out unless the
 * address has ?processes=1: every process would be series of its own.
 *
 * A stale marker ends the series of a job that a source no longer reads. A sample that is sent
 * again has the same time, so servers keep one of them (VictoriaMetrics if it was started with
 * -dedup.minScrapeInterval=1ms).
 *
 * Prometheus itself refuses a whole request if one of its samples is older than the newest of its
 * series, and so if it is sent again. Therefore the body consists of units of one log entry each:
 * when a request with several units is refused, each is sent alone, and the new ones are taken.
 */
#include <errno.h>
#include <string.h>

#include "codecs/compress.h"
#include "core/hash_map.h"
#include "core/module.h"
#include "core/text/text.h"
#include "core/varint.h"
#include "sinks/prometheus/openmetrics.h"
#include "sinks/sink_http.h"

#define BODY_MAX ((size_t)2 << 20) /* of one request, uncompressed */
#define HELD_MAX ((size_t)32 << 20)
#define STALE 0x7ff0000000000002ull /* the NaN that ends a series */
#define SERIES_BYTES 128            /* of a series without its labels and samples, about */

/* A series with the samples of an entry, both in the format of the protocol. */
struct series {
	struct strbuf labels, samples;
};

/* A job that a source of a host reads. */
struct alive {
	uint64_t hash; /* of its labels */
	struct strbuf labels;
	uint64_t present; /* metrics that it has had */
	bool seen;        /* in this reading */
};

/* The jobs that a source of a host reads, to end the series of those that disappear. */
struct living {
	size_t metric_count;
	struct alive *jobs;
	size_t count, cap;
};

struct remote {
	struct sink_server server;
	const struct pack_functions *snappy;
	const char *path;
	bool processes;
	struct series *series;
	size_t series_count, series_cap;
	struct hash_map index;  /* into series, by labels */
	struct hash_map living; /* pointers to struct living, by host and source */
	size_t held;            /* bytes of the series of the current entry */
	struct strbuf body;
	struct unit {
		size_t end;     /* in the body */
		uint64_t entry; /* of the log */
	} * units;
	size_t unit_count, unit_cap;
	size_t sent, singly; /* units that the server has; up to this one each is sent alone */
	uint64_t have;       /* last entry that was buffered */
	struct sink_refusals refusals;
};

/* ---- the protocol --------------------------------------------------------------------------- */

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
	strbuf_add_varint(out, n);
	strbuf_add(out, s, n);
}

/* Invalid UTF-8 becomes U+FFFD. */
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
	strbuf_add_varint(out, 1 + varint_size(length) + length + 1 + varint_size(n) + n);
	add_bytes(out, 0x0a, name, length);
	add_bytes(out, 0x12, s, n);
}

static void add_sample(struct strbuf *out, uint64_t bits, int64_t ms)
{
	strbuf_addch(out, 0x12); /* TimeSeries.samples */
	strbuf_add_varint(out, 1 + sizeof(bits) + 1 + varint_size((uint64_t)ms));
	strbuf_addch(out, 0x09);
	strbuf_add(out, &bits, sizeof(bits));
	strbuf_addch(out, 0x10);
	strbuf_add_varint(out, (uint64_t)ms);
}

/* ---- series --------------------------------------------------------------------------------- */

/* The series with these labels, in two parts; adds it if it is new. */
static struct series *series_of(struct remote *w, const struct strbuf *name,
				const struct strbuf *row)
{
	uint64_t hash = hash_more(hash_bytes(name->buf, name->len), row->buf, row->len);

	for (struct hash_slot *at = hash_map_first(&w->index, hash); at;
	     at = hash_map_next(&w->index, at)) {
		struct series *s = &w->series[at->value];

		if (s->labels.len == name->len + row->len &&
		    !memcmp(s->labels.buf, name->buf, name->len) &&
		    !memcmp(s->labels.buf + name->len, row->buf, row->len))
			return s;
	}
	hash_map_add(&w->index, hash, w->series_count);
	GROW(w->series, w->series_count, w->series_cap);
	struct series *s = &w->series[w->series_count++];
	*s = (struct series){.labels = STRBUF_INIT, .samples = STRBUF_INIT};
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
	hash_map_clear(&w->index);
}

static void put(struct remote *w, const struct strbuf *name, const struct strbuf *row,
		uint64_t bits, int64_t time_us)
{
	add_sample(&series_of(w, name, row)->samples, bits, time_us / 1000);
	w->held += 20;
}

/* ---- jobs that end -------------------------------------------------------------------------- */

static struct living *living_of(struct remote *w, const char *host, const char *source,
				size_t columns)
{
	uint64_t hash = hash_more(hash_text(host), source, strlen(source));
	const struct hash_slot *at = hash_map_first(&w->living, hash);
	struct living *l = at ? (struct living *)at->value : xcalloc(1, sizeof(*l));

	if (!at)
		hash_map_add(&w->living, hash, (uintptr_t)l);
	/* metrics are identified by their index: other metrics need a new start */
	if (l->metric_count != columns) {
		while (l->count)
			strbuf_release(&l->jobs[--l->count].labels);
		l->metric_count = columns;
	}
	return l;
}

static void see(struct living *l, const struct strbuf *row, uint64_t present)
{
	uint64_t hash = hash_bytes(row->buf, row->len);

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

/* Adds a stale marker to each series of a job that is not in this reading. */
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
	for (struct hash_slot *s = NULL; (s = hash_map_each(&w->living, s));) {
		struct living *l = (struct living *)s->value;

		while (l->count)
			strbuf_release(&l->jobs[--l->count].labels);
		free(l->jobs);
		free(l);
	}
	hash_map_release(&w->living);
}

/* ---- readings ------------------------------------------------------------------------------- */

/* The labels after the name; sorted, as the protocol requires. */
static void row_labels(struct strbuf *out, const char *host, const struct sink_row *r)
{
	const struct entity *e = r->entity;
	const char *kind = entity_kind_name(e->kind), *text;
	size_t n;

	strbuf_reset(out);
	add_label(out, "entity", e->name, strlen(e->name));
	add_label(out, "host", host, strlen(host));
	if (r->job)
		add_label(out, "job_id", r->job, r->job_size);
	add_label(out, "kind", kind, strlen(kind));
	if (e->kind == ENTITY_JOB && entity_metadata(e, "user", &text, &n) && n)
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
		const struct sink_row r = sink_row(f, i);

		if (r.entity->kind == ENTITY_PROCESS && !w->processes)
			continue;
		row_labels(&row, f->head.host, &r);
		for (unsigned m = 0; m < s->metric_count; m++) {
			if (!(r.present >> m & 1))
				continue;
			union {
				double value;
				uint64_t bits;
			} v = {openmetrics_value(r.values[m], &s->metrics[m])};

			put(w, &names[m], &row, v.bits, f->time_us);
		}
		if (r.entity->kind == ENTITY_JOB)
			see(l, &row, r.present);
	}
	if (w->held < SINK_HELD_LIMIT) /* else some jobs of the reading may be missing here */
		end_series(w, l, names, f->time_us);
	for (unsigned m = 0; m < s->metric_count; m++)
		strbuf_release(&names[m]);
}

/* ---- sending -------------------------------------------------------------------------------- */

/* Makes units of the series of an entry: one, unless there are very many. */
static void add_units(struct remote *w)
{
	size_t begin = w->body.len;

	for (size_t i = 0; i < w->series_count; i++) {
		const struct series *s = &w->series[i];

		strbuf_addch(&w->body, 0x0a); /* WriteRequest.timeseries */
		strbuf_add_varint(&w->body, s->labels.len + s->samples.len);
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

/* The units of the next request: as many as fit, or one of those to be sent alone. */
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
	bool done =
		w->snappy->pack(NULL, w->body.buf + begin, w->units[to - 1].end - begin, &packed);
	int r = done ? 0 : -EIO;

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
		/* the address is wrong, not the samples */
		http_add_reason(why, &w->server.reply);
		return -EAGAIN;
	}
	if (status / 100 != 2 && to - w->sent > 1) {
		w->singly = to;
		return 0;
	}
	/* the server has them already, or will never take them */
	if (status / 100 != 2)
		r = sink_refuse(&w->refusals, w->units[w->sent].entry, "samples", &w->server.reply,
				why);
	if (r == 0)
		w->sent = to;
	return r;
}

/* ---- the sink ------------------------------------------------------------------------------- */

static void close_remote_write(void *state)
{
	struct remote *w = state;

	forget_series(w);
	forget_living(w);
	sink_server_close(&w->server);
	strbuf_release(&w->body);
	free(w->units);
	free(w->series);
	hash_map_release(&w->index);
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
	/* the default path, if the address has none */
	const char *host = strstr(url, "://");
	const char *path = host ? strchr(host + 3, '/') : NULL;
	w->path = path && path[1] ? "" : "/api/v1/write";
	int r = sink_server_open(&w->server, o, url, why);
	*position = 0;
	return sink_opened(w, r, close_remote_write, state);
}

static int commit(void *state, uint64_t number PL_UNUSED, struct strbuf *why)
{
	struct remote *w = state;

	while (w->sent < w->unit_count) {
		int r = send_some(w, why);

		if (r < 0)
			return r;
	}
	forget_units(w);
	return 0;
}

static int add_batch(void *state, uint64_t number, const struct batch_name *name PL_UNUSED,
		     struct sample_file *f, struct strbuf *why)
{
	struct remote *w = state;
	int event;

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
	.help = "Prometheus remote write: VictoriaMetrics, Mimir, Prometheus and others",
	.open = open_remote_write,
	.batch = add_batch,
	.commit = commit,
	.close = close_remote_write,
	.commit_entries = 4096,
	.commit_ns = 2000000000,
};
