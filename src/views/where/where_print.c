/* Prints where core time went, as bars, JSON or CSV; see where.h. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/text/text.h"
#include "views/stream_table.h"
#include "views/where/where.h"

#define BAR 60     /* columns of a bar */
#define NAME 41    /* columns of the words of a part */
#define COLUMNS 36 /* over time */
#define HOSTS_SHOWN 8
#define HOSTS_MAX 200 /* in JSON and CSV */
#define JSON_STEPS 400
#define SHOWN 0.0005 /* smaller parts of the whole are left out of tables */

/* Fill and color of each family. */
static const struct {
	const char *utf8, *ascii, *code;
} fills[] = {
	[CORE_BUSY_FAMILY] = {"█", "#", "32"},     [CORE_KERNEL_FAMILY] = {"▓", "%", "36"},
	[CORE_RUNNABLE_FAMILY] = {"▒", "=", "31"}, [CORE_BLOCKED_FAMILY] = {"░", "-", "33"},
	[CORE_IDLE_FAMILY] = {"·", ".", "2"},      [CORE_UNKNOWN_FAMILY] = {"?", "?", "35"},
};

const char *where_color(enum core_part part)
{
	static const char *const colors[CORE_PARTS] = {
		[CORE_USER] = "#2f9e5f",      [CORE_FAULTS] = "#1b7f9e",
		[CORE_METADATA] = "#2a95b5",  [CORE_SMALL_CALLS] = "#45a9c6",
		[CORE_FORK] = "#62bbd4",      [CORE_SOCKETS] = "#80cbe0",
		[CORE_KERNEL] = "#9edaea",    [CORE_OVERSUBSCRIBED] = "#b3261e",
		[CORE_NEIGHBOUR] = "#d1453b", [CORE_QUOTA] = "#e06a5f",
		[CORE_AFFINITY] = "#eb9088",  [CORE_STORAGE] = "#b7791f",
		[CORE_NETWORK] = "#cf932f",   [CORE_PROCESS] = "#dfab4d",
		[CORE_LOCK] = "#7c4dbe",      [CORE_TIMER] = "#e8c27a",
		[CORE_DEVICE] = "#4f8a10",    [CORE_CHILD] = "#efd6a3",
		[CORE_POLL] = "#d8c9a8",      [CORE_SERIAL] = "#c9ced6",
		[CORE_IMBALANCE] = "#aab2bf", [CORE_TAIL] = "#e1e5ea",
		[CORE_RESIDUE] = "#8a5a83",
	};

	return colors[part];
}

/* ---- text ----------------------------------------------------------------------------------- */

struct bars {
	struct strbuf *out;
	bool color, utf8;
	size_t width;
};

static void add_cells(const struct bars *b, enum core_family family, size_t n)
{
	if (b->color && n)
		strbuf_addf(b->out, "\033[%sm", fills[family].code);
	for (size_t i = 0; i < n; i++)
		strbuf_addstr(b->out, b->utf8 ? fills[family].utf8 : fills[family].ascii);
	if (b->color && n)
		strbuf_addstr(b->out, "\033[0m");
}

/* One bar of all parts: each ends where the sum so far ends, so that rounding does not add up. */
static void add_bar(const struct bars *b, const struct core_time *t, size_t width)
{
	double total = core_time_total(t), sum = 0;
	size_t at = 0;

	for (size_t i = 0; i < CORE_PARTS && total > 0; i++) {
		sum += t->part[i];
		size_t to = (size_t)(sum / total * (double)width + 0.5);

		to = to > width ? width : to;
		add_cells(b, core_parts[i].family, to > at ? to - at : 0);
		at = to > at ? to : at;
	}
}

static void add_padded(struct strbuf *out, const char *text, size_t columns)
{
	strbuf_addstr(out, text);
	for (size_t w = text_width(text, strlen(text)); w < columns; w++)
		strbuf_addch(out, ' ');
}

static void add_parts(const struct bars *b, const struct core_time *t)
{
	double total = core_time_total(t);

	for (size_t i = 0; i < CORE_PARTS; i++) {
		_cleanup_strbuf_ struct strbuf time = STRBUF_INIT;

		if (!(t->part[i] > SHOWN * total))
			continue;
		strbuf_addstr(b->out, "  ");
		add_cells(b, core_parts[i].family, 1);
		strbuf_addch(b->out, ' ');
		add_padded(b->out, core_parts[i].words, NAME);
		text_add_duration(&time, t->part[i]);
		for (size_t w = text_width(time.buf, time.len); w < 10; w++)
			strbuf_addch(b->out, ' ');
		strbuf_addf(b->out, "%s %6.1f %%\n", time.buf, 100 * t->part[i] / total);
	}
}

static void add_excess(const struct bars *b, const struct core_time *t)
{
	double beyond = t->excess_own + t->excess_others + t->excess_quota;

	if (!(beyond > 0.01 * core_time_total(t)))
		return;
	strbuf_addstr(b->out, "  beyond these cores threads were ready to run for ");
	text_add_duration(b->out, beyond);
	strbuf_addstr(b->out, ": more of them than cores\n");
}

/* Rows of blocks: a part in each, its share of the cores over time. */
static void add_over_time(const struct bars *b, const struct where *w)
{
	static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char ascii[] = " _.:-=+*#";
	_cleanup_free_ struct core_time *columns = NULL;
	size_t n = where_columns(w, COLUMNS, &columns);
	double total = core_time_total(&w->total);

	strbuf_addstr(b->out, "\nover time, a column is ");
	text_add_duration(b->out, w->seconds / (double)(n ? n : 1));
	strbuf_addch(b->out, '\n');
	for (size_t i = 0; i < CORE_PARTS; i++) {
		if (!(w->total.part[i] > 0.005 * total))
			continue;
		strbuf_addstr(b->out, "  ");
		add_padded(b->out, core_parts[i].words, NAME);
		if (b->color)
			strbuf_addf(b->out, "\033[%sm", fills[core_parts[i].family].code);
		for (size_t k = 0; k < n; k++) {
			double all = core_time_total(&columns[k]);
			double share = all > 0 ? columns[k].part[i] / all : 0;
			int at = share > 0 ? 1 + (int)(share * 7.999) : 0;

			if (b->utf8)
				strbuf_addstr(b->out, blocks[at]);
			else
				strbuf_addch(b->out, ascii[at]);
		}
		strbuf_addstr(b->out, b->color ? "\033[0m\n" : "\n");
	}
}

void where_text(const struct where *w, bool over, bool color, size_t width, struct strbuf *out)
{
	struct bars b = {out, color, text_is_utf8(), width ? width : BAR};

	strbuf_addf(out, "%.4g %s x ", w->cores, w->cores == 1 ? "core" : "cores");
	text_add_duration(out, w->seconds);
	strbuf_addstr(out, w->part ? ", of which it had " : " = ");
	text_add_duration(out, core_time_total(&w->total));
	strbuf_addf(out, " of core time, %s\n",
		    w->looked    ? "by samples"
		    : w->sampled ? "by samples without waits"
				 : "by records");
	strbuf_addstr(out, "  ");
	add_bar(&b, &w->total, b.width);
	strbuf_addch(out, '\n');
	add_parts(&b, &w->total);
	add_excess(&b, &w->total);
	for (size_t i = 0; i < w->host_count && i < HOSTS_SHOWN && w->host_count > 1; i++) {
		strbuf_addstr(out, "\n  ");
		text_add_printable(out, w->hosts[i].name, strnlen(w->hosts[i].name, 64));
		strbuf_addf(out, ", %.4g cores\n  ", w->hosts[i].cores);
		add_bar(&b, &w->hosts[i].total, b.width);
		strbuf_addch(out, '\n');
	}
	if (w->host_count > HOSTS_SHOWN)
		strbuf_addf(out, "\n  and %zu more hosts\n", w->host_count - HOSTS_SHOWN);
	if (over)
		add_over_time(&b, w);
}

/* ---- JSON ----------------------------------------------------------------------------------- */

static double rounded(double v)
{
	return (double)round_i64(v * 1e6) / 1e6;
}

static void json_parts(struct json_writer *j, const struct core_time *t)
{
	double total = core_time_total(t);

	json_begin_array(j, "parts");
	for (size_t i = 0; i < CORE_PARTS; i++) {
		json_begin_object(j, NULL);
		json_str(j, "name", core_parts[i].name);
		json_f64(j, "seconds", rounded(t->part[i]));
		json_f64(j, "share", total > 0 ? rounded(t->part[i] / total) : 0);
		json_end_object(j);
	}
	json_end_array(j);
}

static void json_steps(const struct where *w, struct json_writer *j)
{
	_cleanup_free_ struct core_time *columns = NULL;
	size_t n = where_columns(w, JSON_STEPS, &columns);

	json_begin_object(j, "over_time");
	json_i64(j, "start", w->grid.from);
	json_f64(j, "step", rounded(w->seconds / (double)(n ? n : 1)));
	json_begin_object(j, "parts");
	for (size_t i = 0; i < CORE_PARTS; i++) {
		if (!(w->total.part[i] > 0))
			continue;
		json_begin_array(j, core_parts[i].name);
		for (size_t k = 0; k < n; k++)
			json_f64(j, NULL, (double)round_i64(columns[k].part[i] * 1e4) / 1e4);
		json_end_array(j);
	}
	json_end_object(j);
	json_end_object(j);
}

void where_json(const struct where *w, struct json_writer *j)
{
	json_f64(j, "granted_cores", w->cores);
	json_f64(j, "wall_seconds", rounded(w->seconds));
	json_f64(j, "total_seconds", rounded(core_time_total(&w->total)));
	json_str(j, "by", w->sampled ? "samples" : "records");
	json_bool(j, "waits_sampled", w->looked);
	json_f64(j, "beyond",
		 rounded(w->total.excess_own + w->total.excess_others + w->total.excess_quota));
	json_begin_object(j, "beyond_by");
	json_f64(j, "own", rounded(w->total.excess_own));
	json_f64(j, "others", rounded(w->total.excess_others));
	json_f64(j, "quota", rounded(w->total.excess_quota));
	json_end_object(j);
	json_parts(j, &w->total);
	json_begin_array(j, "hosts");
	for (size_t i = 0; i < w->host_count && i < HOSTS_MAX; i++) {
		json_begin_object(j, NULL);
		json_str(j, "host", w->hosts[i].name);
		json_f64(j, "granted_cores", w->hosts[i].cores);
		json_begin_object(j, "parts");
		for (size_t k = 0; k < CORE_PARTS; k++)
			if (w->hosts[i].total.part[k] > 0)
				json_f64(j, core_parts[k].name, rounded(w->hosts[i].total.part[k]));
		json_end_object(j);
		json_end_object(j);
	}
	json_end_array(j);
	json_u64(j, "hosts_left_out", w->host_count > HOSTS_MAX ? w->host_count - HOSTS_MAX : 0);
	json_steps(w, j);
}

/* ---- CSV ------------------------------------------------------------------------------------ */

static void seconds_cell(struct stream_table *g, double v)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	strbuf_addf(&text, "%.6f", v);
	stream_table_figure(g, &text);
}

/* A line for each part of the whole and of each host. */
int where_csv(const struct where *w, FILE *f)
{
	static const struct terminal_table_column columns[] = {
		{"host", 0}, {"part", 0}, {"seconds", 0}, {"share", 0}};
	struct stream_table g;

	stream_table_begin(&g, columns, ARRAY_SIZE(columns), true, f);
	for (size_t k = 0; k <= w->host_count; k++) {
		const struct core_time *t = k ? &w->hosts[k - 1].total : &w->total;
		double total = core_time_total(t);

		for (size_t i = 0; i < CORE_PARTS; i++) {
			stream_table_str(&g, k ? w->hosts[k - 1].name : NULL);
			stream_table_str(&g, core_parts[i].name);
			seconds_cell(&g, t->part[i]);
			seconds_cell(&g, total > 0 ? t->part[i] / total : 0);
			stream_table_row(&g, 0);
		}
	}
	return stream_table_end(&g);
}
