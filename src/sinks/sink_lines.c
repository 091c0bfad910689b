/* Rows as lines, for the standard output and for files; see sink_lines.h. */
#include "sinks/sink_lines.h"

#include <string.h>

#include "core/text/text.h"

void sink_add_number(struct strbuf *out, int64_t value, double scale)
{
	if (scale == 0 || scale == 1)
		strbuf_addf(out, "%lld", (long long)value);
	else
		text_add_real(out, sample_scaled(value, scale));
}

static void add_json(struct strbuf *out, const char *key, const char *s, size_t n)
{
	strbuf_addf(out, ",\"%s\":\"", key);
	text_add_json(out, s, n);
	strbuf_addch(out, '"');
}

void sink_json_row(struct strbuf *out, const struct sample_file *f, size_t row)
{
	const struct sample_file_source *s = &f->sources[f->source];
	const struct entity *e = &s->entities[f->reading.rows[row].entity];
	const int64_t *values = f->reading.values + row * f->reading.metric_count;
	const char *job;
	size_t n;
	bool first = true;

	strbuf_addstr(out, "{\"time\":\"");
	text_add_time(out, f->time_us, true);
	strbuf_addch(out, '"');
	add_json(out, "host", f->head.host, strlen(f->head.host));
	add_json(out, "source", s->name, strlen(s->name));
	add_json(out, "kind", entity_kind_name(e->kind), strlen(entity_kind_name(e->kind)));
	add_json(out, "entity", e->name, strlen(e->name));
	if (sink_job_of(e, &job, &n))
		add_json(out, "job", job, n);
	strbuf_addstr(out, ",\"values\":{");
	for (unsigned m = 0; m < s->metric_count; m++) {
		if (!(f->reading.rows[row].present >> m & 1))
			continue;
		strbuf_addstr(out, first ? "\"" : ",\"");
		text_add_json(out, s->metrics[m].name, strlen(s->metrics[m].name));
		strbuf_addstr(out, "\":");
		sink_add_number(out, values[m], s->metrics[m].scale);
		first = false;
	}
	strbuf_addstr(out, "}}\n");
}

/* Sources have columns of their own, and a file has one header: values are name=value. */
void sink_csv_row(struct strbuf *out, const struct sample_file *f, size_t row, bool terminal)
{
	const struct sample_file_source *s = &f->sources[f->source];
	const struct entity *e = &s->entities[f->reading.rows[row].entity];
	const int64_t *values = f->reading.values + row * f->reading.metric_count;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	const char *job = "";
	size_t n = 0;

	text_add_time(out, f->time_us, true);
	(void)sink_job_of(e, &job, &n);
	const struct {
		const char *p;
		size_t n;
	} fields[] = {{f->head.host, strlen(f->head.host)},
		      {s->name, strlen(s->name)},
		      {entity_kind_name(e->kind), strlen(entity_kind_name(e->kind))},
		      {e->name, strlen(e->name)},
		      {job, n}};
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		strbuf_addch(out, ',');
		text_add_csv_safe(out, fields[i].p, fields[i].n, terminal);
	}
	for (unsigned m = 0; m < s->metric_count; m++) {
		if (!(f->reading.rows[row].present >> m & 1))
			continue;
		strbuf_addf(&text, "%s%s=", text.len ? " " : "", s->metrics[m].name);
		sink_add_number(&text, values[m], s->metrics[m].scale);
	}
	strbuf_addch(out, ',');
	text_add_csv_safe(out, text.buf, text.len, terminal);
	strbuf_addch(out, '\n');
}
