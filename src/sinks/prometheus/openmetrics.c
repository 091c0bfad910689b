/* The latest values of every job and node as text; see openmetrics.h. */
#include "sinks/prometheus/openmetrics.h"

#include <ctype.h>
#include <pthread.h>
#include <string.h>

#include "core/clock.h"
#include "core/hash_map.h"
#include "core/quota.h"
#include "core/text/text.h"
#include "sinks/own_metrics.h"
#include "sinks/sink.h"
#include "transport/known_names.h"

#define FAMILIES_MAX 8192    /* for unknown metrics */
#define SOURCES_OF_ONE 256   /* host */
#define ROWS_OF_ONE 250000   /* host */
#define LOOK_FOR_SILENT 4096 /* drop silent sources after so many new ones */
#define NAME_MAX_BYTES 200
#define SILENCE_NS 60000000000ull /* in addition to three intervals between readings */

struct family {
	char *name; /* without _total */
	const char *unit;
	char *help;
	bool counter;
};

struct exposed_row {
	char *labels;
	uint64_t present;
};

/* The latest reading of a source of a host. */
struct exposed {
	char *host, *source;
	unsigned metric_count;
	uint32_t families[SAMPLE_METRICS_MAX]; /* plus one; 0: left out */
	double scales[SAMPLE_METRICS_MAX], divisors[SAMPLE_METRICS_MAX];
	struct exposed_row *rows;
	int64_t *values;
	size_t row_count;
	int64_t time_us;
	uint64_t taken_ns, interval_ns;
};

struct openmetrics {
	pthread_mutex_t lock;
	struct exposed **sources;
	size_t source_count, source_cap;
	struct hash_map by_host; /* pointers to sources, by the hash of their host */
	struct family *families;
	size_t family_count, family_cap;
	struct quota names; /* for families of unknown metrics */
	size_t row_count, rows_max;
	uint64_t left_out;
	uint64_t made; /* number of sources created */
	struct own_metrics *own;
};

/* ---- names ---------------------------------------------------------------------------------- */

/* Units of Prometheus: base units, which end the name of a metric. */
static const struct {
	const char *name; /* "" : none */
	double scale, divisor;
} units[UNIT_END] = {
	[UNIT_NONE] = {"", 1, 1},
	[UNIT_COUNT] = {"", 1, 1},
	[UNIT_MICROSECONDS] = {"seconds", 1, 1e6},
	[UNIT_NANOSECONDS] = {"seconds", 1, 1e9},
	[UNIT_KIBIBYTES] = {"bytes", 1024, 1},
	[UNIT_BYTES] = {"bytes", 1, 1},
	[UNIT_BLOCKS] = {"blocks", 1, 1},
	[UNIT_CYCLES] = {"cycles", 1, 1},
	[UNIT_PERCENT] = {"ratio", 1, 100},
	[UNIT_RATIO] = {"ratio", 1, 1},
	[UNIT_CELSIUS] = {"celsius", 1, 1},
	[UNIT_WATTS] = {"watts", 1, 1},
	[UNIT_JOULES] = {"joules", 1, 1},
	[UNIT_HERTZ] = {"hertz", 1, 1},
	[UNIT_RPM] = {"rpm", 1, 1},
	[UNIT_VOLTS] = {"volts", 1, 1},
	[UNIT_AMPERES] = {"amperes", 1, 1},
	[UNIT_BYTES_PER_SECOND] = {"bytes_per_second", 1, 1},
	[UNIT_PER_SECOND] = {"per_second", 1, 1},
};

static void add_name(struct strbuf *out, const char *s)
{
	for (; *s; s++)
		strbuf_addch(out, isalnum((unsigned char)*s) ? *s : '_');
}

void openmetrics_name(struct strbuf *out, const char *source, const struct sample_metric *m)
{
	const char *unit = units[m->unit].name;

	strbuf_addstr(out, "plimsoll_");
	add_name(out, source);
	strbuf_addch(out, '_');
	add_name(out, m->name);
	if (m->kind == KIND_COUNTER && str_suffix(out->buf, "_total"))
		strbuf_cut(out, out->len - strlen("_total"));
	if (*unit && !(str_suffix(out->buf, unit) && out->buf[out->len - strlen(unit) - 1] == '_'))
		strbuf_addf(out, "_%s", unit);
}

double openmetrics_value(int64_t raw, const struct sample_metric *m)
{
	return sample_scaled(raw, m->scale) / (units[m->unit].divisor / units[m->unit].scale);
}

static void add_family(struct openmetrics *x, struct strbuf *name, const struct sample_metric *m)
{
	GROW(x->families, x->family_count, x->family_cap);
	x->families[x->family_count++] = (struct family){.name = strbuf_take(name),
							 .unit = units[m->unit].name,
							 .help = m->help ? xstrdup(m->help) : NULL,
							 .counter = m->kind == KIND_COUNTER};
}

/* The number of a family plus one. 0: too many, or one of this name has another type. */
static uint32_t find_family(struct openmetrics *x, const struct exposed *s,
			    const struct sample_metric *m)
{
	_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

	openmetrics_name(&name, s->source, m);
	for (size_t i = 0; i < x->family_count; i++)
		if (!strcmp(x->families[i].name, name.buf))
			return x->families[i].counter == (m->kind == KIND_COUNTER) ? (uint32_t)i + 1
										   : 0;
	if (str_prefix(name.buf, OWN_METRICS_PREFIX)) /* names of the collector's own metrics */
		return 0;
	if (name.len > NAME_MAX_BYTES || !quota_take(&x->names, s->host))
		return 0;
	add_family(x, &name, m);
	return (uint32_t)x->family_count;
}

/* Known names are added at the beginning, so that no node can use up their room or give them
 * another type. */
static void add_known(void *user, const char *source, const struct sample_metric *m)
{
	_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

	openmetrics_name(&name, source, m);
	add_family(user, &name, m);
}

/* Escapes the three special characters; invalid UTF-8 becomes U+FFFD. */
static void add_escaped(struct strbuf *out, const char *s, size_t n, bool quotes)
{
	for (size_t i = 0; i < n;) {
		size_t length = utf8_sequence(s + i, n - i);

		if (s[i] == '\n')
			strbuf_addstr(out, "\\n");
		else if (s[i] == '\\' || (quotes && s[i] == '"'))
			strbuf_addf(out, "\\%c", s[i]);
		else if (length)
			strbuf_add(out, s + i, length);
		else
			strbuf_addstr(out, "\xef\xbf\xbd");
		i += length ? length : 1;
	}
}

void openmetrics_add_label(struct strbuf *out, const char *name, const char *s, size_t n)
{
	strbuf_addf(out, "%s%s=\"", out->len ? "," : "", name);
	add_escaped(out, s, n, true);
	strbuf_addch(out, '"');
}

static char *labels_of(const char *host, const struct entity *e)
{
	struct strbuf out = STRBUF_INIT;
	const char *text;
	size_t n;

	openmetrics_add_label(&out, "host", host, strlen(host));
	if (sink_job_of(e, &text, &n))
		openmetrics_add_label(&out, "job_id", text, n);
	if (e->kind == ENTITY_JOB) {
		if (entity_metadata(e, "user", &text, &n))
			openmetrics_add_label(&out, "user", text, n);
	} else if (e->kind != ENTITY_NODE) {
		openmetrics_add_label(&out, entity_kind_name(e->kind), e->name, strlen(e->name));
	} else if (strcmp(e->name, "node") != 0) {
		openmetrics_add_label(&out, "part", e->name, strlen(e->name));
	}
	return strbuf_take(&out);
}

/* ---- taking --------------------------------------------------------------------------------- */

static void drop_rows(struct openmetrics *x, struct exposed *s)
{
	for (size_t i = 0; i < s->row_count; i++)
		free(s->rows[i].labels);
	x->row_count -= s->row_count;
	free(s->rows);
	free(s->values);
	s->rows = NULL;
	s->values = NULL;
	s->row_count = 0;
}

static void free_source(struct openmetrics *x, struct exposed *s)
{
	drop_rows(x, s);
	free(s->host);
	free(s->source);
	free(s);
}

/* Drops sources without new readings. */
static void drop_silent(struct openmetrics *x)
{
	uint64_t now = clock_boottime_ns();
	size_t kept = 0;

	for (size_t i = 0; i < x->source_count; i++) {
		struct exposed *s = x->sources[i];

		if (now - s->taken_ns > 3 * s->interval_ns + SILENCE_NS)
			free_source(x, s);
		else
			x->sources[kept++] = s;
	}
	if (kept == x->source_count)
		return;
	x->source_count = kept;
	hash_map_clear(&x->by_host);
	for (size_t i = 0; i < kept; i++)
		hash_map_add(&x->by_host, hash_text(x->sources[i]->host), (uintptr_t)x->sources[i]);
}

/* *rows: rows of the other sources of the host. NULL: it has too many sources. */
static struct exposed *find_source(struct openmetrics *x, const char *host, const char *source,
				   size_t *rows)
{
	uint64_t hash = hash_text(host);
	struct exposed *found = NULL;
	size_t count = 0;

	*rows = 0;
	for (struct hash_slot *at = hash_map_first(&x->by_host, hash); at;
	     at = hash_map_next(&x->by_host, at)) {
		struct exposed *s = (struct exposed *)at->value;

		if (strcmp(s->host, host) != 0)
			continue;
		count++;
		if (!strcmp(s->source, source))
			found = s;
		else
			*rows += s->row_count;
	}
	if (found || (count >= SOURCES_OF_ONE && !known_source(source)))
		return found;
	if (++x->made % LOOK_FOR_SILENT == 0)
		drop_silent(x);
	struct exposed *s = xcalloc(1, sizeof(*s));
	s->host = xstrdup(host);
	s->source = xstrdup(source);
	GROW(x->sources, x->source_count, x->source_cap);
	x->sources[x->source_count++] = s;
	hash_map_add(&x->by_host, hash, (uintptr_t)s);
	return s;
}

static void take_metrics(struct openmetrics *x, struct exposed *s, const struct sample_set *set)
{
	s->metric_count = (unsigned)set->metric_count;
	for (unsigned m = 0; m < s->metric_count; m++) {
		s->families[m] = find_family(x, s, &set->metrics[m]);
		for (unsigned k = 0; k < m; k++)
			if (s->families[k] == s->families[m])
				s->families[m] = 0;
		s->scales[m] = set->metrics[m].scale;
		s->divisors[m] =
			units[set->metrics[m].unit].divisor / units[set->metrics[m].unit].scale;
	}
}

/* others: rows of the other sources of the host. */
static void take_rows(struct openmetrics *x, struct exposed *s, const struct sample_set *set,
		      size_t others)
{
	size_t size = s->metric_count * sizeof(*s->values);

	s->rows = xcalloc(set->row_count + 1, sizeof(*s->rows));
	s->values = xcalloc(set->row_count + 1, size + 1);
	for (size_t i = 0; i < set->row_count; i++) {
		const struct entity *e = &set->entities[set->rows[i].entity];

		if (e->kind == ENTITY_PROCESS || !e->kind)
			continue;
		if (x->row_count >= x->rows_max || others + s->row_count >= ROWS_OF_ONE) {
			x->left_out++;
			continue;
		}
		s->rows[s->row_count] =
			(struct exposed_row){labels_of(s->host, e), set->rows[i].present};
		memcpy(s->values + s->row_count * s->metric_count,
		       set->values + i * set->metric_count, size);
		s->row_count++;
		x->row_count++;
	}
}

void openmetrics_take(struct openmetrics *x, const char *host, const char *source,
		      const struct sample_set *set, int64_t time_us)
{
	uint64_t now = clock_boottime_ns();
	size_t others;

	pthread_mutex_lock(&x->lock);
	struct exposed *s = find_source(x, host, source, &others);
	if (s) {
		drop_rows(x, s);
		take_metrics(x, s, set);
		take_rows(x, s, set, others);
		if (s->taken_ns)
			s->interval_ns = now - s->taken_ns;
		s->taken_ns = now;
		s->time_us = time_us;
	} else {
		x->left_out += set->row_count;
	}
	pthread_mutex_unlock(&x->lock);
}

/* ---- rendering ------------------------------------------------------------------------------ */

/* A metric of a source, sorted by family. */
struct column {
	uint32_t family;
	unsigned metric;
	const struct exposed *source;
	const struct openmetrics *x;
};

static int by_family(const void *a, const void *b)
{
	const struct column *p = a, *q = b;
	const struct family *list = p->x->families;
	int r = p->family == q->family ? 0 : strcmp(list[p->family].name, list[q->family].name);

	if (!r)
		r = strcmp(p->source->host, q->source->host);
	return r ? r : strcmp(p->source->source, q->source->source);
}

static struct column *columns_of(struct openmetrics *x, size_t *ret)
{
	struct column *list = NULL;
	size_t count = 0, cap = 0;

	for (size_t i = 0; i < x->source_count; i++) {
		const struct exposed *s = x->sources[i];

		for (unsigned m = 0; m < s->metric_count && s->row_count; m++) {
			if (!s->families[m])
				continue;
			GROW(list, count, cap);
			list[count++] = (struct column){s->families[m] - 1, m, s, x};
		}
	}
	if (count)
		qsort(list, count, sizeof(*list), by_family);
	*ret = count;
	return list;
}

static void render_head(const struct family *f, bool openmetrics, struct strbuf *out)
{
	/* the older format has the complete name of a counter here */
	const char *end = f->counter && !openmetrics ? "_total" : "";

	strbuf_addf(out, "# TYPE %s%s %s\n", f->name, end, f->counter ? "counter" : "gauge");
	if (openmetrics && *f->unit)
		strbuf_addf(out, "# UNIT %s %s\n", f->name, f->unit);
	if (f->help) {
		strbuf_addf(out, "# HELP %s%s ", f->name, end);
		add_escaped(out, f->help, strlen(f->help), openmetrics);
		strbuf_addch(out, '\n');
	}
}

static void render_column(const struct column *c, const struct family *f, struct strbuf *out)
{
	const struct exposed *s = c->source;
	double scale = s->scales[c->metric], by = s->divisors[c->metric];

	for (size_t i = 0; i < s->row_count; i++) {
		int64_t raw = s->values[i * s->metric_count + c->metric];

		if (!(s->rows[i].present >> c->metric & 1))
			continue;
		strbuf_addf(out, "%s%s{%s} ", f->name, f->counter ? "_total" : "",
			    s->rows[i].labels);
		if ((scale == 0 || scale == 1) && by == 1)
			strbuf_addf(out, "%lld", (long long)raw);
		else
			text_add_real(out, sample_scaled(raw, scale) / by);
		strbuf_addch(out, '\n');
	}
}

static void render_own(const struct openmetrics *x, bool openmetrics, struct strbuf *out)
{
	strbuf_addf(out,
		    "# TYPE plimsoll_exposition_rows gauge\n"
		    "# HELP plimsoll_exposition_rows jobs, nodes and their parts in this page\n"
		    "plimsoll_exposition_rows %zu\n",
		    x->row_count);
	strbuf_addf(out,
		    "# TYPE plimsoll_exposition_left_out%s counter\n"
		    "# HELP plimsoll_exposition_left_out%s rows over the limit\n"
		    "plimsoll_exposition_left_out_total %llu\n",
		    openmetrics ? "" : "_total", openmetrics ? "" : "_total",
		    (unsigned long long)x->left_out);
	strbuf_addf(out,
		    "# TYPE plimsoll_exposition_names_refused%s counter\n"
		    "# HELP plimsoll_exposition_names_refused%s names over the limit of a host\n"
		    "plimsoll_exposition_names_refused_total %llu\n",
		    openmetrics ? "" : "_total", openmetrics ? "" : "_total",
		    (unsigned long long)x->names.refused);
}

void openmetrics_render(struct openmetrics *x, bool openmetrics, struct strbuf *out)
{
	size_t count;

	pthread_mutex_lock(&x->lock);
	drop_silent(x);
	_cleanup_free_ struct column *list = columns_of(x, &count);
	for (size_t i = 0; i < count; i++) {
		const struct family *f = &x->families[list[i].family];

		if (!i || list[i - 1].family != list[i].family)
			render_head(f, openmetrics, out);
		render_column(&list[i], f, out);
		if (out->len > STRBUF_MAX / 2)
			break;
	}
	render_own(x, openmetrics, out);
	pthread_mutex_unlock(&x->lock);
	if (x->own)
		own_metrics_add(x->own, openmetrics, out);
	if (openmetrics)
		strbuf_addstr(out, "# EOF\n");
}

/* ---- beginning and end ---------------------------------------------------------------------- */

struct openmetrics *openmetrics_new(size_t rows_max)
{
	struct openmetrics *x = xcalloc(1, sizeof(*x));

	pthread_mutex_init(&x->lock, NULL);
	x->rows_max = rows_max ? rows_max : 1000000;
	x->names = (struct quota)QUOTA("prometheus: names of metrics", FAMILIES_MAX);
	known_metrics(add_known, x);
	return x;
}

void openmetrics_show_own(struct openmetrics *x, struct own_metrics *own)
{
	x->own = own;
}

void openmetrics_free(struct openmetrics *x)
{
	if (!x)
		return;
	for (size_t i = 0; i < x->source_count; i++)
		free_source(x, x->sources[i]);
	free(x->sources);
	hash_map_release(&x->by_host);
	for (size_t i = 0; i < x->family_count; i++) {
		free(x->families[i].name);
		free(x->families[i].help);
	}
	free(x->families);
	quota_release(&x->names);
	pthread_mutex_destroy(&x->lock);
	free(x);
}
