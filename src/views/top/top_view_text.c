/*
 * The live view as lines and as JSON; see top_view.h. A sparkline puts a power of two of samples
 * into a column, so that all of them fit. Columns do not move when samples are added: the line
 * becomes coarser from time to time, but does not flicker.
 */
#include <math.h>
#include <string.h>

#include "core/text/text.h"
#include "views/output.h"
#include "views/top/top_view_internal.h"

#define LABEL_WIDTH 8
#define VALUE_WIDTH 11

void top_frame_release(struct top_frame *f)
{
	for (size_t i = 0; i < f->count; i++)
		free(f->lines[i].text);
	free(f->lines);
	*f = (struct top_frame){0};
}

/* Takes the text, cut to the width. */
static void add_line(struct top_frame *f, const struct top_look *look, enum top_style style,
		     struct strbuf *text)
{
	if (look->height && f->count >= look->height) {
		strbuf_reset(text);
		return;
	}
	strbuf_cut(text, fitting(text->buf, text->len, look->width));
	while (text->len && text->buf[text->len - 1] == ' ')
		strbuf_cut(text, text->len - 1);
	GROW(f->lines, f->count, f->cap);
	f->lines[f->count++] = (struct top_line){.style = style, .text = xstrdup(text->buf)};
	strbuf_reset(text);
}

static void pad_to(struct strbuf *out, size_t from, size_t width)
{
	size_t used = text_width(out->buf + from, out->len - from);

	for (; used < width; used++)
		strbuf_addch(out, ' ');
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void add_value(struct strbuf *out, enum top_form form, double value)
{
	if (isnan(value)) {
		strbuf_addch(out, '-');
	} else if (form == FORM_PERCENT) {
		strbuf_addf(out, value < 99.95 ? "%.1f %%" : "%.0f %%", value);
	} else if (form == FORM_WATTS) {
		strbuf_addf(out, "%.0f W", value);
	} else {
		text_add_bytes(out, value);
		strbuf_addstr(out, form == FORM_RATE ? "/s" : "");
	}
}

/* Right-aligned in so many columns, a blank behind. */
static void add_cell(struct strbuf *out, size_t width, enum top_form form, double value)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (form == FORM_PERCENT && !isnan(value))
		strbuf_addf(&text, "%.1f", value);
	else if (form == FORM_RATE)
		add_value(&text, FORM_BYTES, value);
	else
		add_value(&text, form, value);
	strbuf_addf(out, "%*s ", (int)width, text.buf);
}

static void add_count_cell(struct strbuf *out, size_t width, double value)
{
	if (isnan(value))
		strbuf_addf(out, "%*s ", (int)width, "-");
	else
		strbuf_addf(out, "%*.0f ", (int)width, value);
}

/* ---- curves ---------------------------------------------------------------------------------- */

/* Mean of the readings from the first to before the last; NAN when none was read. */
static double mean_of(const struct top_curve *c, uint64_t first, uint64_t last)
{
	double sum = 0;
	size_t count = 0;

	for (uint64_t i = first; i < last && i < c->count; i++) {
		double value = c->values[i % TOP_HISTORY];

		if (isnan(value))
			continue;
		sum += value;
		count++;
	}
	return count ? sum / (double)count : NAN;
}

static void add_spark(struct strbuf *out, const struct top_curve *c, enum top_form form,
		      size_t width, bool utf8)
{
	static const char *const bars[] = {"\u2581", "\u2582", "\u2583", "\u2584",
					   "\u2585", "\u2586", "\u2587", "\u2588"};
	static const char marks[] = "_.,-=+*#";
	uint64_t kept = c->count < TOP_HISTORY ? c->count : TOP_HISTORY, each = 1;
	double top = form == FORM_PERCENT ? 100 : 0;

	while (kept / each + 1 > width && each < TOP_HISTORY)
		each *= 2;
	uint64_t first = (c->count - kept + each - 1) / each, last = (c->count + each - 1) / each;
	if (last - first > width)
		first = last - width;
	for (uint64_t b = first; b < last; b++) {
		double value = mean_of(c, b * each, (b + 1) * each);

		if (value > top)
			top = value;
	}
	for (uint64_t b = first; b < last; b++) {
		double value = mean_of(c, b * each, (b + 1) * each);
		int level = top > 0 && value > 0 ? (int)(value / top * 7.999) : 0;

		if (isnan(value))
			strbuf_addch(out, ' ');
		else if (utf8)
			strbuf_addstr(out, bars[level]);
		else
			strbuf_addch(out, marks[level]);
	}
}

static void add_curve(struct strbuf *out, const struct topview *v, size_t i, size_t width,
		      bool utf8)
{
	const struct top_source *s = &top_sources[i];
	size_t from = out->len, used = LABEL_WIDTH + VALUE_WIDTH + 2;
	_cleanup_strbuf_ struct strbuf value = STRBUF_INIT;

	add_value(&value, s->form, top_curve_now(&v->curves[i]));
	strbuf_addf(out, "%-*s%*s ", LABEL_WIDTH, s->label, VALUE_WIDTH, value.buf);
	if (width > used)
		add_spark(out, &v->curves[i], s->form, width - used, utf8);
	pad_to(out, from, width);
}

static bool is_shown(const struct topview *v, size_t i)
{
	return top_sources[i].always || v->curves[i].seen;
}

static void add_curves(struct top_frame *f, const struct topview *v, const struct top_look *look)
{
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT;
	bool pairs = look->width >= 70;
	size_t width = pairs ? look->width / 2 : look->width;

	for (size_t i = 0; i < top_source_count; i++) {
		if (!is_shown(v, i))
			continue;
		if (line.len && !(pairs && top_sources[i].second))
			add_line(f, look, TOP_CURVE, &line);
		if (!line.len && pairs && top_sources[i].second)
			pad_to(&line, 0, width);
		add_curve(&line, v, i, width, look->utf8);
	}
	if (line.len)
		add_line(f, look, TOP_CURVE, &line);
}

/* ---- the rest -------------------------------------------------------------------------------- */

static void add_header(struct top_frame *f, const struct topview *v, const struct top_look *look)
{
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT;

	strbuf_addf(&line, "%s  %s", look->host ? look->host : "-", look->title ? look->title : "");
	add_line(f, look, TOP_TITLE, &line);
	strbuf_addf(&line, "%zu process%s, ", v->alive, plural(v->alive, "", "es"));
	if (isnan(v->threads))
		strbuf_addstr(&line, "- threads");
	else
		strbuf_addf(&line, "%.0f thread%s", v->threads, plural(v->threads, "", "s"));
	if (!isnan(v->elapsed_s)) {
		strbuf_addstr(&line, ", for ");
		text_add_duration(&line, (double)(uint64_t)v->elapsed_s);
	}
	if (v->cpus > 0)
		strbuf_addf(&line, "; 100 %% is one of %.0f CPU%s", v->cpus,
			    plural(v->cpus, "", "s"));
	else
		strbuf_addstr(&line, "; 100 % is one CPU");
	if (look->paused)
		strbuf_addstr(&line, "  [paused]");
	add_line(f, look, TOP_PLAIN, &line);
}

static void add_devices(struct top_frame *f, const struct topview *v, const struct top_look *look)
{
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT;

	for (size_t i = 0; i < v->device_count; i++)
		strbuf_addf(&line, "%s%s", i ? ", " : "", v->devices[i].text);
	if (line.len)
		add_line(f, look, TOP_PLAIN, &line);
}

static void add_process(struct strbuf *out, const struct top_process *p)
{
	strbuf_addf(out, "%7d ", p->pid);
	add_count_cell(out, 5, p->rank < 0 ? (double)NAN : p->rank);
	strbuf_addf(out, "%c ", p->state > ' ' && p->state < 127 ? p->state : '-');
	add_count_cell(out, 4, p->threads);
	add_cell(out, 6, FORM_PERCENT, p->cpu);
	add_cell(out, 8, FORM_BYTES, p->rss);
	add_cell(out, 8, FORM_RATE, p->read);
	add_cell(out, 8, FORM_RATE, p->write);
	strbuf_addstr(out, p->command ? p->command : "-");
}

static const char *sort_mark(const struct top_look *look, enum top_sort column)
{
	return look->sort != column ? "" : "*";
}

static void add_table(struct top_frame *f, struct topview *v, const struct top_look *look)
{
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT, cpu = STRBUF_INIT, rss = STRBUF_INIT,
				       in = STRBUF_INIT;
	size_t below = look->keys || look->note; /* the line at the bottom */

	strbuf_addf(&cpu, "%sCPU%%", sort_mark(look, TOP_BY_CPU));
	strbuf_addf(&rss, "%sRSS", sort_mark(look, TOP_BY_MEMORY));
	strbuf_addf(&in, "%sREAD/s", sort_mark(look, TOP_BY_IO));
	strbuf_addf(&line, "%7s %5s %c %4s %6s %8s %8s %8s %s", "PID", "RANK", 'S', "THR", cpu.buf,
		    rss.buf, in.buf, "WRITE/s", "COMMAND");
	add_line(f, look, TOP_HEAD, &line);
	f->page = !look->height                     ? v->count
		  : look->height > f->count + below ? look->height - f->count - below
						    : 0;
	topview_sort(v, look->sort);
	for (size_t i = look->scroll; i < v->count && i < look->scroll + f->page; i++) {
		add_process(&line, &v->list[i]);
		add_line(f, look, TOP_PLAIN, &line);
	}
}

static void add_help(struct top_frame *f, const struct top_look *look)
{
	static const char *const lines[] = {
		"  c  sort by CPU              q  quit",
		"  m  sort by memory           p  pause, go on",
		"  i  sort by input/output     ?  this help, and back",
		"  arrows, page up and down, home and end move in the table",
		"",
		"  Sparklines show all of the time watched, the newest at the right; those of",
		"  percentages reach to 100 or to the highest value, others to the highest.",
		"  A dash is an unknown value: not available here, or not yet sampled.",
	};
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		strbuf_addstr(&line, lines[i]);
		add_line(f, look, TOP_PLAIN, &line);
	}
}

void topview_render(struct topview *v, const struct top_look *look, struct top_frame *ret)
{
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT;

	*ret = (struct top_frame){0};
	add_header(ret, v, look);
	add_curves(ret, v, look);
	add_devices(ret, v, look);
	if (look->help)
		add_help(ret, look);
	else
		add_table(ret, v, look);
	if (!look->keys && !look->note)
		return;
	while (look->height && ret->count + 1 < look->height)
		add_line(ret, look, TOP_PLAIN, &line);
	strbuf_addstr(&line, look->note
				     ? look->note
				     : "q quit  c cpu  m memory  i input/output  p pause  ? help");
	add_line(ret, look, TOP_NOTE, &line);
}

void topview_json(struct topview *v, const struct top_look *look, struct json_writer *j)
{
	json_begin_object(j, NULL);
	json_str(j, "host", look->host);
	json_str(j, "job", look->title);
	json_f64(j, "elapsed_s", v->elapsed_s);
	json_u64(j, "processes", v->alive);
	json_f64(j, "threads", v->threads);
	json_begin_object(j, "now");
	for (size_t i = 0; i < top_source_count; i++)
		if (is_shown(v, i))
			json_f64(j, top_sources[i].key, top_curve_now(&v->curves[i]));
	json_end_object(j);
	json_begin_array(j, "devices");
	for (size_t i = 0; i < v->device_count; i++) {
		json_begin_object(j, NULL);
		json_str(j, "kind", v->devices[i].kind);
		json_str(j, "name", v->devices[i].name);
		json_f64(j, "busy_percent", v->devices[i].busy);
		json_f64(j, "memory_bytes", v->devices[i].memory);
		json_f64(j, "power_watts", v->devices[i].power);
		json_end_object(j);
	}
	json_end_array(j);
	topview_sort(v, look->sort);
	json_begin_array(j, "table");
	for (size_t i = 0; i < v->count; i++) {
		const struct top_process *p = &v->list[i];
		const char state[] = {p->state, 0};

		json_begin_object(j, NULL);
		json_i64(j, "pid", p->pid);
		if (p->rank >= 0)
			json_i64(j, "rank", p->rank);
		else
			json_none(j, "rank");
		json_str(j, "state", p->state ? state : NULL);
		json_f64(j, "threads", p->threads);
		json_f64(j, "cpu_percent", p->cpu);
		json_f64(j, "rss_bytes", p->rss);
		json_f64(j, "read_bytes_per_second", p->read);
		json_f64(j, "write_bytes_per_second", p->write);
		json_str(j, "command", p->command);
		json_end_object(j);
	}
	json_end_array(j);
	json_end_object(j);
}
