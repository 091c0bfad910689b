/* Gathers the rows of `plimsoll extract`, indexed by time and host, and writes them. */
#include <errno.h>
#include <string.h>

#include "codecs/gzip.h"
#include "core/module.h"
#include "core/text/json_writer.h"
#include "core/text/text.h"
#include "views/extract/extract.h"

#define PIECE ((size_t)256 << 10)
#define LEVEL 6

struct extract_row {
	int64_t time_s;
	uint32_t host;
	uint32_t cells; /* index of its cells, which sorting does not move */
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
	for (size_t i = 0; i < e->metric_count; i++) {
		e->metrics[i].of_node = e->metrics[i].there = false;
		free(e->metrics[i].found);
		e->metrics[i].found = NULL;
	}
	for (size_t i = 0; i < e->host_count; i++)
		free(e->hosts[i].name);
	e->host_count = e->row_count = 0;
	hash_map_clear(&e->host_map);
	hash_map_clear(&e->row_map);
}

void extract_release(struct extract *e)
{
	extract_forget_rows(e);
	for (size_t i = 0; i < e->metric_count; i++)
		free(e->metrics[i].text);
	free(e->hosts);
	free(e->rows);
	free(e->cells);
	hash_map_release(&e->host_map);
	hash_map_release(&e->row_map);
	*e = (struct extract){0};
}

bool extract_wants_node(const struct extract *e)
{
	for (size_t i = 0; i < e->metric_count; i++)
		if (e->metrics[i].of_node || !e->metrics[i].found)
			return strcmp(e->job, "0") != 0;
	return false;
}

/* ---- hosts ---------------------------------------------------------------------------------- */

static struct extract_host *find_host(const struct extract *e, const char *host, size_t size)
{
	uint64_t hash = hash_bytes(host, size);

	for (struct hash_slot *s = hash_map_first(&e->host_map, hash); s;
	     s = hash_map_next(&e->host_map, s)) {
		struct extract_host *h = &e->hosts[s->value];

		if (!strncmp(h->name, host, size) && !h->name[size])
			return h;
	}
	return NULL;
}

static struct extract_host *host_of(struct extract *e, const char *host, size_t size)
{
	struct extract_host *h = find_host(e, host, size);

	if (h)
		return h;
	GROW(e->hosts, e->host_count, e->host_cap);
	hash_map_add(&e->host_map, hash_bytes(host, size), e->host_count);
	h = &e->hosts[e->host_count++];
	*h = (struct extract_host){.name = xstrndup(host, size)};
	return h;
}

void extract_note_host(struct extract *e, const char *host, size_t size)
{
	host_of(e, host, size)->of_job = true;
}

bool extract_on_host(const struct extract *e, const char *host, size_t size)
{
	const struct extract_host *h = find_host(e, host, size);

	return h && h->of_job;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static size_t row_of(struct extract *e, int64_t time_s, uint32_t host)
{
	const uint64_t key[] = {(uint64_t)time_s, host};
	uint64_t hash = hash_bytes(key, sizeof(key));

	for (struct hash_slot *s = hash_map_first(&e->row_map, hash); s;
	     s = hash_map_next(&e->row_map, s))
		if (e->rows[s->value].time_s == time_s && e->rows[s->value].host == host)
			return s->value;
	GROW(e->rows, e->row_count, e->row_cap);
	if (e->cell_cap < e->row_cap) {
		e->cells = xreallocarray(e->cells, e->row_cap, e->metric_count * sizeof(*e->cells));
		e->cell_cap = e->row_cap;
	}
	memset(e->cells + e->row_count * e->metric_count, 0, e->metric_count * sizeof(*e->cells));
	e->rows[e->row_count] = (struct extract_row){
		.time_s = time_s, .host = host, .cells = (uint32_t)e->row_count};
	hash_map_add(&e->row_map, hash, e->row_count);
	return e->row_count++;
}

void extract_add(struct extract *e, size_t metric, int64_t time_s, const char *host, size_t size,
		 struct extract_cell cell)
{
	size_t row = row_of(e, time_s, (uint32_t)(host_of(e, host, size) - e->hosts));
	struct extract_cell *c = &e->cells[e->rows[row].cells * e->metric_count + metric];

	if (c->kind == CELL_NONE)
		*c = cell;
}

/* ---- the answer ----------------------------------------------------------------------------- */

struct output {
	struct json_writer json;
	struct strbuf packed;
	const struct gzip_functions *gzip; /* NULL: plain */
	struct gzip *stream;
	FILE *f;
	int error;
};

/* Writes the buffer once it is large enough. */
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
	json_begin_array(&o->json, e->metrics[metric].text);
	for (size_t i = 0; i < e->row_count; i++) {
		const struct extract_cell *c =
			&e->cells[e->rows[i].cells * e->metric_count + metric];

		if (c->kind == CELL_INT)
			json_i64(&o->json, NULL, c->i);
		else if (c->kind == CELL_REAL)
			json_f64(&o->json, NULL, c->d);
		else
			json_none(&o->json, NULL);
		drain(o, false);
	}
	json_end_array(&o->json);
}

static void write_all(struct output *o, const struct extract *e)
{
	json_begin_object(&o->json, NULL);
	for (size_t m = 0; m < e->metric_count; m++)
		write_column(o, e, m);
	json_begin_array(&o->json, "timestamp");
	for (size_t i = 0; i < e->row_count; i++) {
		json_i64(&o->json, NULL, e->rows[i].time_s);
		drain(o, false);
	}
	json_end_array(&o->json);
	json_begin_array(&o->json, "hostname");
	for (size_t i = 0; i < e->row_count; i++) {
		const char *host = e->hosts[e->rows[i].host].name;

		/* printable first: json_text() would add a second element for invalid UTF-8 */
		_cleanup_strbuf_ struct strbuf clean = STRBUF_INIT;
		text_add_printable(&clean, host, strlen(host));
		json_text(&o->json, NULL, clean.buf, clean.len);
		drain(o, false);
	}
	json_end_array(&o->json);
	json_end_object(&o->json);
	strbuf_addch(&o->json.out, '\n');
	drain(o, true);
}

static const struct extract *sorted; /* for qsort(), which passes no argument on */

static int compare_rows(const void *left, const void *right)
{
	const struct extract_row *a = left, *b = right;

	if (a->time_s != b->time_s)
		return a->time_s < b->time_s ? -1 : 1;
	return strcmp(sorted->hosts[a->host].name, sorted->hosts[b->host].name);
}

int extract_write(struct extract *e, bool plain, FILE *f, struct strbuf *why)
{
	struct output o = {.json = JSON_WRITER_INIT, .packed = STRBUF_INIT, .f = f};

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
	json_release(&o.json);
	strbuf_release(&o.packed);
	return o.error;
}
