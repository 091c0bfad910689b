/*
 * What is in the sinks when all is over, compared with what the nodes handed over: every sample
 * that was safe with a node is in each sink once, kept aside, or counted as lost; none is there
 * that nobody sent.
 */
#include "histories.h"

#include "unit/support/sink_store_jobs.h"
#include "unit/support/hdf5_cells.h"

#include "sinks/sink_worker.h"
#include "transport/log/commit_log.h"

const char *const sink_names[SINK_KINDS] = {[SINK_STORE] = "store",
					    [SINK_HDF5] = "hdf5",
					    [SINK_CSV] = "csv",
					    [SINK_ELASTIC] = "elastic",
					    [SINK_CLICKHOUSE] = "clickhouse",
					    [SINK_REMOTE_WRITE] = "remote-write"};

extern const struct sink sink_stdout, sink_elastic, sink_clickhouse, sink_remote_write;

const struct sink *sink_feed(enum sink_kind kind)
{
	static const struct sink *const all[SINK_KINDS] = {
		&sink_store,   &sink_hdf5,       &sink_stdout,
		&sink_elastic, &sink_clickhouse, &sink_remote_write,
	};

	return all[kind];
}

char *sink_target(const struct history *h, enum sink_kind kind)
{
	switch (kind) {
	case SINK_STORE:
		return xasprintf("%s/disk/c/store.db", h->dir);
	case SINK_HDF5:
		/* one file that is renamed, or one after the other */
		return xasprintf("%s/disk/c/data%s", h->dir, h->seed % 2 ? ".hdf5" : "");
	case SINK_CSV:
		return xstrdup("csv");
	default:
		return xstrdup(h->servers[kind].url);
	}
}

bool sink_refuses(const struct history *h, const struct batch_name *name)
{
	uint64_t mix = (h->seed + name->boot * 7919 + name->number) * 0x9e3779b97f4a7c15ull;

	return h->poisoned && (mix >> 40) % h->poisoned == 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

struct seen {
	struct history *h;
	enum sink_kind kind;
	unsigned values[NODES_MAX][TICKS_MAX][2]; /* how often each is there */
	bool aside[NODES_MAX][TICKS_MAX];
};

/* A value of a host at a time, in the metric's unit. */
static void see(struct seen *s, const char *host, int64_t time_us, unsigned metric, double value)
{
	const struct history *h = s->h;
	int64_t tick = time_us / 1000000 - HARNESS_BEGIN_S, raw = 0;
	unsigned node = host ? (unsigned)(strtoul(host + 4 * !strncmp(host, "node", 4), NULL, 10))
			     : NODES_MAX;

	if (node >= h->node_count || tick < 0 || tick >= h->shared->nodes[node].given ||
	    !harness_value(node, HARNESS_JOB, 0, metric, (unsigned)tick, &raw))
		wrong(h, "%s has what nobody sent: %s, sample %lld, metric %u", sink_names[s->kind],
		      host ? host : "no host", (long long)tick, metric);
	double want = sample_scaled(raw, harness_metrics[HARNESS_JOB][metric].scale);
	if (value - want > 1e-6 * want || want - value > 1e-6 * want)
		wrong(h, "%s: %s, sample %lld, metric %u is %.17g, not %.17g", sink_names[s->kind],
		      host, (long long)tick, metric, value, want);
	s->values[node][tick][metric]++;
}

/* Of a row that has all metrics: those that the reading left out are not known. */
static void see_row(struct seen *s, const char *host, int64_t time_us, double first, double second)
{
	see(s, host, time_us, 0, first);
	if ((time_us / 1000000 - HARNESS_BEGIN_S) % 5 != 4)
		see(s, host, time_us, 1, second);
}

static void read_sqlite(struct seen *s)
{
	_cleanup_free_ char *path = sink_target(s->h, SINK_STORE);
	struct store *store = read_store(path);
	struct stmt *st =
		stmt_prepare(store, "SELECT host, metric = 'group.memory', time, CAST(raw AS "
				    "BIGINT) FROM samples");

	assert_non_null(st);
	while (stmt_step(st) == 1) {
		unsigned metric = (unsigned)stmt_get_int(st, 1);

		see(s, stmt_get_str(st, 0), stmt_get_int(st, 2), metric,
		    sample_scaled(stmt_get_int(st, 3), harness_metrics[HARNESS_JOB][metric].scale));
	}
	stmt_finish_ptr(&st);
	store_close(store);
}

static void read_hdf5(struct seen *s)
{
	_cleanup_free_ char *dir = xasprintf("%s/disk/c", s->h->dir);
	struct cells c = {0};

	(void)read_files(dir, &c);
	for (size_t i = 0; i < c.count; i++)
		see_row(s, c.list[i].host, c.list[i].time_ns / 1000, c.list[i].values[0],
			c.list[i].values[1]);
	free(c.list);
}

/* A line that was cut off by a kill is none. The value says which sample it is. */
static void read_lines(struct seen *s)
{
	for (unsigned life = 1; life <= s->h->collector.life; life++) {
		_cleanup_free_ char *path = xasprintf("%s/out.%u", s->h->dir, life), *line = NULL;
		_cleanup_fclose_ FILE *f = fopen(path, "re");
		size_t cap = 0;
		ssize_t n;

		while (f && (n = getline(&line, &cap, f)) > 0) {
			char host[32];
			double cpu = 0, memory = 0;

			if (line[n - 1] != '\n' || str_prefix(line, "time,"))
				continue;
			int got = sscanf(
				line, "%*[^,],%31[^,],group,job,1000,1000,cpu_time=%lf memory=%lf",
				host, &cpu, &memory);
			if (got < 2)
				wrong(s->h, "csv has a line that is none: %s", line);
			see_row(s, host, (HARNESS_BEGIN_S + (int64_t)cpu / 1000) * 1000000, cpu,
				memory);
		}
	}
}

static double number_of(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);

	return json_is_string(v) ? strtod(json_string_value(v), NULL) : json_number_value(v);
}

static const char *text_of(const json_t *o, const char *key)
{
	return json_string_value(json_object_get(o, key));
}

static void read_elastic(struct seen *s)
{
	json_t *state = fake_state(&s->h->servers[SINK_ELASTIC]);
	const json_t *d;
	size_t i;

	json_array_foreach(json_object_get(state, "documents"), i, d)
		see_row(s, text_of(d, "hostname"), (int64_t)number_of(d, "@timestamp") * 1000,
			number_of(d, "cpu_time"), number_of(d, "memory"));
	json_decref(state);
}

static void read_clickhouse(struct seen *s)
{
	static const char sql[] = "SELECT * FROM plimsoll_group FORMAT JSONEachRow";
	const struct fake_server *server = &s->h->servers[SINK_CLICKHOUSE];
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const struct http_functions *f = http_module(&why);
	const struct http_options o = {.url = server->url};
	const struct http_request r = {.method = "POST",
				       .path = "/",
				       .type = "text/plain",
				       .body = sql,
				       .size = strlen(sql)};
	struct http_reply reply = HTTP_REPLY_INIT;
	struct http *http = NULL;

	json_t *state = fake_state(server);
	bool any = fake_count(state, "rows") > 0;
	json_decref(state);
	if (!any)
		return;
	if (f->open(&http, &o, &why) < 0 || f->send(http, &r, &reply, &why) < 0 ||
	    reply.status != 200)
		fail_msg("%s %s", why.buf, reply.body.buf);
	for (const char *p = reply.body.buf; *p; p += strcspn(p, "\n") + 1) {
		json_t *row = json_loadb(p, strcspn(p, "\n"), 0, NULL);

		see_row(s, text_of(row, "host"), (int64_t)number_of(row, "time_us"),
			number_of(row, "cpu_time"), number_of(row, "memory"));
		json_decref(row);
	}
	f->close(http);
	strbuf_release(&reply.body);
}

static void read_remote_write(struct seen *s)
{
	json_t *state = fake_state(&s->h->servers[SINK_REMOTE_WRITE]);
	const json_t *series, *v;
	size_t i, k;

	json_array_foreach(json_object_get(state, "series"), i, series) {
		const json_t *labels = json_object_get(series, "metric");
		const json_t *times = json_object_get(series, "timestamps");
		bool memory = strstr(text_of(labels, "__name__"), "memory") != NULL;

		json_array_foreach(json_object_get(series, "values"), k, v) {
			if (json_is_null(v)) /* a stale marker */
				continue;
			see(s, text_of(labels, "host"),
			    json_integer_value(json_array_get(times, k)) * 1000, memory,
			    json_number_value(v) * (memory ? 1 : 1e9));
		}
	}
	json_decref(state);
}

/* ---- what was left out ----------------------------------------------------------------------- */

static void mark_aside(struct seen *s, const struct batch_name *name)
{
	struct history *h = s->h;
	unsigned node = (unsigned)strtoul(name->node + 4, NULL, 10);
	bool known = false;

	if (!sink_refuses(h, name))
		wrong(h, "%s left out batch %llu of %s %llu, which it did not refuse",
		      sink_names[s->kind], (unsigned long long)name->number, name->node,
		      (unsigned long long)name->boot);
	for (unsigned t = 0; t < h->shared->nodes[node].given; t++)
		if (h->shared->nodes[node].ticks[t].life == name->boot &&
		    h->shared->nodes[node].ticks[t].number == name->number)
			known = s->aside[node][t] = true;
	if (!known)
		wrong(h, "%s kept a batch aside that nobody sent", sink_names[s->kind]);
}

static void read_aside(struct seen *s)
{
	_cleanup_free_ char *target = sink_target(s->h, s->kind);
	_cleanup_free_ char *name = sink_workers_directory(sink_feed(s->kind), target);
	_cleanup_free_ char *dir = xasprintf("%s/disk/c/sinks/%s/left-out", s->h->dir, name);
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct commit_log *l = NULL;
	uint64_t number;
	const void *p;
	size_t n;

	if (access(dir, F_OK) < 0)
		return;
	if (commit_log_open(&l, &(struct commit_log_options){.dir = dir}, &why) < 0)
		wrong(s->h, "%s: %s", dir, why.buf);
	struct commit_log_reader *r = commit_log_read_from(l, 1);
	while (commit_log_reader_next(r, &p, &n, &number) > 0) {
		struct batch_name batch;

		assert_int_equal(batch_peek(p, n, &batch, &why), 0);
		mark_aside(s, &batch);
	}
	commit_log_reader_close(r);
	commit_log_close(l);
}

/* ---- comparing ------------------------------------------------------------------------------- */

/* What the node itself says that it lost, in batches. */
static uint64_t counted(const struct history *h, unsigned node)
{
	const struct node_book *b = &h->shared->nodes[node];
	uint64_t n = b->dropped;

	for (unsigned life = 1; life <= h->nodes[node].life; life++)
		n += b->lives[life].damaged + b->lives[life].refused + b->lives[life].lost;
	return n;
}

/* One sample: is it there as often as it should be? False: it is missing. */
static bool check_tick(struct seen *s, unsigned node, unsigned tick)
{
	struct history *h = s->h;
	struct node_book *b = &h->shared->nodes[node];
	struct batch_name name = {.boot = b->ticks[tick].life, .number = b->ticks[tick].number};
	unsigned n = s->values[node][tick][0];
	/* lines cannot be taken back */
	unsigned most = s->kind == SINK_CSV && h->collector.life > 1 ? h->collector.life : 1;

	if (tick % 5 != 4 && s->values[node][tick][1] != n)
		wrong(h, "%s has %u and %u values of node%u, sample %u", sink_names[s->kind], n,
		      s->values[node][tick][1], node, tick);
	if (n > most)
		wrong(h, "%s has node%u, sample %u %u times (batch %u of life %u)",
		      sink_names[s->kind], node, tick, n, b->ticks[tick].number,
		      b->ticks[tick].life);
	if (sink_refuses(h, &name) && n)
		wrong(h, "%s has node%u, sample %u, which it refused", sink_names[s->kind], node,
		      tick);
	return n || s->aside[node][tick];
}

void check_sink(struct history *h, enum sink_kind kind)
{
	static void (*const readers[SINK_KINDS])(struct seen *) = {
		read_sqlite,  read_hdf5,       read_lines,
		read_elastic, read_clickhouse, read_remote_write,
	};
	_cleanup_free_ struct seen *s = xcalloc(1, sizeof(*s));

	s->h = h;
	s->kind = kind;
	readers[kind](s);
	read_aside(s);
	for (unsigned node = 0; node < h->node_count; node++) {
		struct node_book *b = &h->shared->nodes[node];
		unsigned before = 0, first = 0;
		uint64_t missing = 0;

		for (unsigned t = 0; t < b->given; t++) {
			unsigned life = b->ticks[t].life, number = b->ticks[t].number;

			if (check_tick(s, node, t) || number > b->lives[life].durable)
				continue;
			/* of a batch all or nothing; batches are counted */
			missing += !missing || number != before;
			first = missing == 1 ? t : first;
			before = number;
		}
		uint64_t excused = counted(h, node) + h->shared->collector.sinks[kind].missing;
		if (missing > excused)
			wrong(h,
			      "%s has not %llu of node%u's batches, and %llu are counted as lost; the "
			      "first is of sample %u",
			      sink_names[kind], (unsigned long long)missing, node,
			      (unsigned long long)excused, first);
		fprintf(h->told, "%s: node%u: %u samples, %llu batches missing, %llu counted\n",
			sink_names[kind], node, b->given, (unsigned long long)missing,
			(unsigned long long)excused);
	}
}
