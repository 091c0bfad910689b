/* The rows that `plimsoll extract` gathers, found by time and host, and how they are written. */
#include <errno.h>
#include <string.h>

#include "cmd/show/extract.h"
#include "codecs/gzip.h"
#include "core/module.h"
#include "core/text/json_writer.h"
#include "core/text/text.h"

#define PIECE ((size_t)256 << 10)
#define LEVEL 6

struct extract_row {
	int64_t time_s;
	uint32_t host;
	uint32_t cells; /* its place among them, by rows: sorting moves rows alone */
};

bool extract_parse_metrics(struct extract *e, const char *list)
{
	for (const char *p = list;;) {
		size_t n = strcspn(p, ",");

		if (!n || e->metric_count == EXTRACT_METRICS_MAX)
			return false;
		struct extract_metric *m = &e->metrics[e->metric_count++];
		m->text = xstrndup(p, n);
		char *point = strchr(m->text, '.');
		m->table = point ? m->text : NULL;
		m->name = point ? point + 1 : m->text;
		if (point == m->text || !*m->name)
			return false;
		if (!p[n])
			return true;
		p += n + 1;
	}
}

void extract_forget_rows(struct extract *e)
{
	struct extract kept = {.job = e->job, .start_s = e->start_s, .end_s = e->end_s};

	for (size_t i = 0; i < e->metric_count; i++) {
		kept.metrics[i] = e->metrics[i];
		kept.metrics[i].of_node = kept.metrics[i].there = false;
		free(kept.metrics[i].found);
		kept.metrics[i].found = NULL;
	}
	kept.metric_count = e->metric_count;
	for (size_t i = 0; i < e->host_count; i++)
		free(e->hosts[i]);
	free(e->hosts);
	free(e->rows);
	free(e->cells);
	free(e->table);
	free(e->of_job);
	*e = kept;
}

void extract_release(struct extract *e)
{
	extract_forget_rows(e);
	for (size_t i = 0; i < e->metric_count; i++)
		free(e->metrics[i].text);
	*e = (struct extract){0};
}

bool extract_wants_node(const struct extract *e)
{
	for (size_t i = 0; i < e->metric_count; i++)
		if (e->metrics[i].of_node || !e->metrics[i].found)
			return strcmp(e->job, "0") != 0;
	return false;
}

/* ---- hosts
 * ---------------------------------------------------------------------------------------
 */

static bool find_host(const struct extract *e, const char *host, size_t size, uint32_t *ret)
{
	/* rows of a host follow each other: look at the last ones first */
	for (size_t i = e->host_count; i-- > 0;)
		if (!strncmp(e->hosts[i], host, size) && !e->hosts[i][size]) {
			*ret = (uint32_t)i;
			return true;
		}
	return false;
}

static uint32_t host_of(struct extract *e, const char *host, size_t size)
{
	uint32_t place;

	if (find_host(e, host, size, &place))
		return place;
	GROW(e->hosts, e->host_count, e->host_cap);
	if (e->of_job_cap < e->host_cap) {
		e->of_job = xreallocarray(e->of_job, e->host_cap, sizeof(*e->of_job));
		memset(e->of_job + e->of_job_cap, 0, e->host_cap - e->of_job_cap);
		e->of_job_cap = e->host_cap;
	}
	e->hosts[e->host_count] = xstrndup(host, size);
	return (uint32_t)e->host_count++;
}

void extract_note_host(struct extract *e, const char *host, size_t size)
{
	uint32_t place = host_of(e, host, size); /* may move the list */

	e->of_job[place] = true;
}

bool extract_on_host(const struct extract *e, const char *host, size_t size)
{
	uint32_t place;

	return find_host(e, host, size, &place) && e->of_job[place];
}

/* ---- rows
 * ----------------------------------------------------------------------------------------
 */

static uint32_t *place_in_table(const struct extract *e, int64_t time_s, uint32_t host)
{
	uint64_t hash = ((uint64_t)time_s * 0x9e3779b97f4a7c15ull ^ host) * 0xbf58476d1ce4e5b9ull;
	size_t i = (size_t)(hash >> 20) & (e->table_size - 1);

	for (; e->table[i]; i = (i + 1) & (e->table_size - 1)) {
		const struct extract_row *r = &e->rows[e->table[i] - 1];

		if (r->time_s == time_s && r->host == host)
			break;
	}
	return &e->table[i];
}

static void grow_table(struct extract *e)
{
	if (2 * (e->row_count + 1) <= e->table_size)
		return;
	e->table_size = e->table_size ? e->table_size * 2 : 1024;
	free(e->table);
	e->table = xcalloc(e->table_size, sizeof(*e->table));
	for (size_t i = 0; i < e->row_count; i++)
		*place_in_table(e, e->rows[i].time_s, e->rows[i].host) = (uint32_t)i + 1;
}

void extract_add(struct extract *e, size_t metric, int64_t time_s, const char *host, size_t size,
		 struct extract_cell cell)
{
	uint32_t h = host_of(e, host, size);

	grow_table(e);
	uint32_t *place = place_in_table(e, time_s, h);
	if (!*place) {
		GROW(e->rows, e->row_count, e->row_cap);
		if (e->cell_cap < e->row_cap) {
			e->cells = xreallocarray(e->cells, e->row_cap,
						 e->metric_count * sizeof(*e->cells));
			e->cell_cap = e->row_cap;
		}
		memset(e->cells + e->row_count * e->metric_count, 0,
		       e->metric_count * sizeof(*e->cells));
		e->rows[e->row_count] = (struct extract_row){
			.time_s = time_s, .host = h, .cells = (uint32_t)e->row_count};
		*place = (uint32_t)++e->row_count;
	}
	struct extract_cell *c = &e->cells[e->rows[*place - 1].cells * e->metric_count + metric];
	if (c->kind == CELL_NONE)
		*c = cell;
}

/* ---- the answer
 * ----------------------------------------------------------------------------------
 */

struct output {
	struct jsonw json;
	struct strbuf packed;
	const struct gzip_functions *gzip; /* NULL: plain */
	struct gzip *stream;
	FILE *f;
	int error;
};

/* Writes what has gathered. */
static void drain(struct output *o, bool last)
{
	const struct strbuf *text = &o->json.out;

	if (o->error < 0 || (!last && text->len < PIECE))
		return;
	if (o->gzip && !o->gzip->add(o->stream, text->buf, text->len, last, &o->packed))
		o->error = -EIO;
	const struct strbuf *out = o->gzip ? &o->packed : text;
	errno = 0;
	if (o->error == 0 && fwrite(out->buf, 1, out->len, o->f) != out->len)
		o->error = errno ? -errno : -EIO;
	strbuf_reset(&o->json.out);
	strbuf_reset(&o->packed);
}

static void write_column(struct output *o, const struct extract *e, size_t metric)
{
	jsonw_begin_array(&o->json, e->metrics[metric].text);
	for (size_t i = 0; i < e->row_count; i++) {
		const struct extract_cell *c =
			&e->cells[e->rows[i].cells * e->metric_count + metric];

		if (c->kind == CELL_INT)
			jsonw_i64(&o->json, NULL, c->i);
		else if (c->kind == CELL_REAL)
			jsonw_f64(&o->json, NULL, c->d);
		else
			jsonw_null(&o->json, NULL);
		drain(o, false);
	}
	jsonw_end_array(&o->json);
}

static void write_all(struct output *o, const struct extract *e)
{
	jsonw_begin_object(&o->json, NULL);
	for (size_t m = 0; m < e->metric_count; m++)
		write_column(o, e, m);
	jsonw_begin_array(&o->json, "timestamp");
	for (size_t i = 0; i < e->row_count; i++) {
		jsonw_i64(&o->json, NULL, e->rows[i].time_s);
		drain(o, false);
	}
	jsonw_end_array(&o->json);
	jsonw_begin_array(&o->json, "hostname");
	for (size_t i = 0; i < e->row_count; i++) {
		const char *host = e->hosts[e->rows[i].host];

		/* not jsonw_text(): an odd name would become two elements */
		_cleanup_strbuf_ struct strbuf clean = STRBUF_INIT;
		text_add_printable(&clean, host, strlen(host));
		jsonw_text(&o->json, NULL, clean.buf, clean.len);
		drain(o, false);
	}
	jsonw_end_array(&o->json);
	jsonw_end_object(&o->json);
	strbuf_addch(&o->json.out, '\n');
	drain(o, true);
}

static const struct extract *sorted; /* qsort() hands nothing on */

static int compare_rows(const void *left, const void *right)
{
	const struct extract_row *a = left, *b = right;

	if (a->time_s != b->time_s)
		return a->time_s < b->time_s ? -1 : 1;
	return strcmp(sorted->hosts[a->host], sorted->hosts[b->host]);
}

int extract_write(struct extract *e, bool plain, FILE *f, struct strbuf *why)
{
	struct output o = {.json = JSONW_INIT, .packed = STRBUF_INIT, .f = f};

	if (!plain) {
		const struct module *m = module_load("gzip", why);

		o.gzip = m ? m->functions : NULL;
		o.stream = o.gzip ? o.gzip->open(LEVEL) : NULL;
		if (!o.stream)
			return -ENOSYS;
	}
	sorted = e;
	qsort(e->rows, e->row_count, sizeof(*e->rows), compare_rows);
	write_all(&o, e);
	if (o.error == 0 && fflush(f) != 0)
		o.error = -errno;
	if (o.error < 0)
		strbuf_addf(why, "cannot write: %s", strerror(-o.error));
	if (o.gzip)
		o.gzip->close(o.stream);
	jsonw_release(&o.json);
	strbuf_release(&o.packed);
	return o.error;
}
