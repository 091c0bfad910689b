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

struct sink_row sink_row(const struct sample_file *f, size_t row)
{
	const struct sample_file_source *s = &f->sources[f->source];
	struct sink_row r = {.source = s,
			     .entity = &s->entities[f->reading.rows[row].entity],
			     .values = f->reading.values + row * f->reading.metric_count,
			     .present = f->reading.rows[row].present};

	(void)sink_job_of(r.entity, &r.job, &r.job_size);
	return r;
}

void sink_add_json(struct strbuf *out, const char *key, const char *s, size_t n)
{
	strbuf_addf(out, ",\"%s\":\"", key);
	text_add_json(out, s, n);
	strbuf_addch(out, '"');
}

void sink_json_row(struct strbuf *out, const struct sample_file *f, size_t row)
{
	const struct sink_row r = sink_row(f, row);
	const char *kind = entity_kind_name(r.entity->kind);
	bool first = true;

	strbuf_addstr(out, "{\"time\":\"");
	text_add_time(out, f->time_us, true);
	strbuf_addch(out, '"');
	sink_add_json(out, "host", f->head.host, strlen(f->head.host));
	sink_add_json(out, "source", r.source->name, strlen(r.source->name));
	sink_add_json(out, "kind", kind, strlen(kind));
	sink_add_json(out, "entity", r.entity->name, strlen(r.entity->name));
	if (r.job)
		sink_add_json(out, "job", r.job, r.job_size);
	strbuf_addstr(out, ",\"values\":{");
	for (unsigned m = 0; m < r.source->metric_count; m++) {
		const struct sample_metric *metric = &r.source->metrics[m];

		if (!(r.present >> m & 1))
			continue;
		strbuf_addstr(out, first ? "\"" : ",\"");
		text_add_json(out, metric->name, strlen(metric->name));
		strbuf_addstr(out, "\":");
		sink_add_number(out, r.values[m], metric->scale);
		first = false;
	}
	strbuf_addstr(out, "}}\n");
}

void sink_csv_row(struct strbuf *out, const struct sample_file *f, size_t row, bool terminal)
{
	const struct sink_row r = sink_row(f, row);
	const char *const names[] = {f->head.host, r.source->name, entity_kind_name(r.entity->kind),
				     r.entity->name};
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	text_add_time(out, f->time_us, true);
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		strbuf_addch(out, ',');
		text_add_csv_safe(out, names[i], strlen(names[i]), terminal);
	}
	strbuf_addch(out, ',');
	text_add_csv_safe(out, r.job ? r.job : "", r.job_size, terminal);
	for (unsigned m = 0; m < r.source->metric_count; m++) {
		if (!(r.present >> m & 1))
			continue;
		strbuf_addf(&text, "%s%s=", text.len ? " " : "", r.source->metrics[m].name);
		sink_add_number(&text, r.values[m], r.source->metrics[m].scale);
	}
	strbuf_addch(out, ',');
	text_add_csv_safe(out, text.buf, text.len, terminal);
	strbuf_addch(out, '\n');
}
