/* See phases.h. */
#include "views/phases.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "core/hash_map.h"
#include "core/text/text.h"
#include "views/stream_table.h"

#define BAR 40
#define BARS_MAX 20

void phase_list_release(struct phase_list *l)
{
	for (size_t i = 0; i < l->name_count; i++)
		free(l->names[i]);
	for (size_t i = 0; i < l->process_count; i++)
		free(l->processes[i].host);
	free(l->names);
	free(l->processes);
	free(l->v);
	*l = (struct phase_list){0};
}

/* ---- reading -------------------------------------------------------------------------------- */

enum {
	C_ID,
	C_NAME,
	C_LOG,
	C_HOST,
	C_PID,
	C_TID,
	C_RANK,
	C_PARENT,
	C_DEPTH,
	C_STATE,
	C_ORIGIN,
	C_BEGIN,
	C_DURATION,
	C_CPU,
	C_TREE
};

/* The place of a name; strings of the store may repeat. */
static uint32_t name_place(struct phase_list *l, struct hash_map *m, const char *name)
{
	uint64_t hash = hash_text(name);

	for (struct hash_slot *s = hash_map_first(m, hash); s; s = hash_map_next(m, s))
		if (!strcmp(l->names[s->value], name))
			return (uint32_t)s->value;
	GROW(l->names, l->name_count, l->name_cap);
	l->names[l->name_count] = xstrdup(name);
	hash_map_add(m, hash, l->name_count);
	return (uint32_t)l->name_count++;
}

static uint32_t process_place(struct phase_list *l, struct hash_map *m, struct stmt *st)
{
	uint64_t hash = hash_number((uint64_t)stmt_get_int(st, C_LOG));
	struct hash_slot *s = hash_map_first(m, hash);

	if (s)
		return (uint32_t)s->value;
	GROW(l->processes, l->process_count, l->process_cap);
	l->processes[l->process_count] =
		(struct phase_process){xstrdup(stmt_get_str(st, C_HOST)), stmt_get_int(st, C_PID)};
	hash_map_add(m, hash, l->process_count);
	return (uint32_t)l->process_count++;
}

static void take_row(struct phase_list *l, struct stmt *st, struct hash_map maps[3])
{
	int64_t state = stmt_get_int(st, C_STATE), begin = stmt_get_int(st, C_BEGIN);
	struct hash_slot *parent =
		stmt_is_null(st, C_PARENT)
			? NULL
			: hash_map_first(&maps[2],
					 hash_number((uint64_t)stmt_get_int(st, C_PARENT)));
	struct phase_span span = {
		.name = name_place(l, &maps[0], stmt_get_str(st, C_NAME)),
		.process = process_place(l, &maps[1], st),
		.tid = (uint32_t)stmt_get_int(st, C_TID),
		.tree = (uint32_t)stmt_get_int(st, C_TREE),
		.parent = parent ? (uint32_t)parent->value : PHASE_NONE,
		.rank = stmt_is_null(st, C_RANK) ? -1 : stmt_get_int(st, C_RANK),
		.begin_ns = begin,
		.duration_ns = stmt_is_null(st, C_DURATION) ? -1 : stmt_get_int(st, C_DURATION),
		.cpu_ns = stmt_is_null(st, C_CPU) ? -1 : stmt_get_int(st, C_CPU),
		.depth = (uint16_t)stmt_get_int(st, C_DEPTH),
		.point = state == 2,
		.open = state == 1 || state == 3,
		.origin = (uint8_t)stmt_get_int(st, C_ORIGIN)};

	if (span.duration_ns < 0 && l->job_end != UNKNOWN && l->job_end * 1000 > begin)
		span.duration_ns = l->job_end * 1000 - begin;
	GROW(l->v, l->count, l->cap);
	hash_map_add(&maps[2], hash_number((uint64_t)stmt_get_int(st, C_ID)), l->count);
	l->v[l->count++] = span;
}

static int load_times(struct phase_list *l, struct store *s, int64_t job)
{
	_cleanup_stmt_ struct stmt *st =
		store_query(s, "SELECT start_us, end_us FROM job WHERE no = $1", db_int(job));
	int r = stmt_step(st);

	l->job_start = r == 1 ? stmt_get_optional(st, 0) : UNKNOWN;
	l->job_end = r == 1 ? stmt_get_optional(st, 1) : UNKNOWN;
	return r < 0 ? r : 0;
}

int phase_list_load(struct phase_list *l, struct store *s, int64_t job)
{
	struct hash_map maps[3] = {{0}}; /* names, processes, numbers of phases */
	int r;

	*l = (struct phase_list){0};
	r = load_times(l, s, job);
	if (r < 0)
		return r;
	_cleanup_stmt_ struct stmt *st = store_query(
		s,
		"SELECT p.id - $1, n.bytes, p.log, h.bytes, p.pid, p.tid, p.rank, p.parent, p.depth, "
		"p.state, p.origin, p.begin_ns, p.duration_ns, p.cpu_ns, t.first "
		"FROM phase p JOIN string n ON n.id = $1 + p.name "
		"LEFT JOIN string h ON h.id = $1 + p.host LEFT JOIN tree t ON t.id = $1 + p.process "
		"WHERE p.id BETWEEN $1 AND $2 ORDER BY p.id",
		db_int(store_key(job, 0)), db_int(store_key(job, UINT32_MAX)));
	while ((r = stmt_step(st)) == 1)
		take_row(l, st, maps);
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
		hash_map_release(&maps[i]);
	return r;
}

/* ---- cells ---------------------------------------------------------------------------------- */

/* Microseconds with three decimals, or with a unit; nothing: unknown. */
static void add_ns(struct stream_table *g, double ns)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (isfinite(ns) && ns >= 0 && g->human)
		unit_add_value(&text, ns, "ns");
	else if (isfinite(ns) && ns >= 0)
		strbuf_addf(&text, "%.3f", ns / 1000);
	stream_table_figure(g, &text);
}

static void add_percent(struct stream_table *g, double share)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (isfinite(share))
		strbuf_addf(&text, g->human ? "%.1f %%" : "%.3f", share * 100);
	stream_table_figure(g, &text);
}

const char *const phase_origins[3] = {"program", "script", "command"};

/* On a terminal nested names are indented. origin: NULL if the name alone says which phase it is.
 */
static void add_name(struct stream_table *g, const struct phase_list *l, uint32_t name,
		     uint16_t depth, const char *origin)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	for (int i = 0; g->human && !g->csv && i < depth && i < 8; i++)
		strbuf_addstr(&text, "  ");
	strbuf_addstr(&text, l->names[name]);
	if (origin && !g->csv)
		strbuf_addf(&text, " (%s)", origin);
	stream_table_text(g, text.buf, text.len);
}

static void json_ns(struct json_writer *j, const char *key, double ns)
{
	json_f64(j, key, ns < 0 ? NAN : ns / 1000);
}

/* ---- statistics ----------------------------------------------------------------------------- */

static void json_spread(struct json_writer *j, const char *part, const struct phase_spread *s)
{
	static const char *const names[] = {"min", "mean", "max"};
	const double v[] = {s->min_ns, s->mean_ns, s->max_ns};

	for (size_t i = 0; i < ARRAY_SIZE(v); i++) {
		_cleanup_free_ char *key = xasprintf("%s_%s", part, names[i]);

		json_ns(j, key, v[i]);
	}
}

static void json_stat(const struct phase_list *l, const struct phase_stat *s, enum phase_by by,
		      struct json_writer *j)
{
	json_begin_object(j, NULL);
	json_str(j, "name", l->names[s->name]);
	json_str(j, "origin", phase_origins[s->origin % 3]);
	if (by != PHASE_BY_NAME) {
		json_number(j, "mpirank", s->rank < 0 ? UNKNOWN : s->rank);
		json_str(j, "hostname", l->processes[s->process].host);
		json_i64(j, "pid", l->processes[s->process].pid);
	}
	if (by == PHASE_BY_THREAD)
		json_i64(j, "tid", s->tid);
	json_i64(j, "depth", s->depth);
	json_u64(j, "count", s->count);
	if (by == PHASE_BY_NAME)
		json_u64(j, "ranks", s->ranks.count);
	if (by != PHASE_BY_THREAD)
		json_u64(j, "threads", s->threads.count);
	json_u64(j, "points", s->points);
	json_u64(j, "open", s->open);
	json_ns(j, "total", (double)s->total_ns);
	json_ns(j, "self", (double)s->self_ns);
	json_ns(j, "min", (double)s->min_ns);
	json_ns(j, "median", s->median_ns);
	json_ns(j, "max", (double)s->max_ns);
	json_ns(j, "cpu_time", (double)s->cpu_ns);
	if (by == PHASE_BY_NAME) {
		json_f64(j, "imbalance", s->ranks.imbalance);
		json_spread(j, "rank", &s->ranks);
	}
	if (by != PHASE_BY_THREAD) {
		json_f64(j, "thread_imbalance", s->threads.imbalance);
		json_spread(j, "thread", &s->threads);
	}
	json_time(j, "first", s->first_ns / 1000);
	json_time(j, "last", s->last_ns / 1000);
	json_end_object(j);
}

void phase_stats_json(const struct phase_list *l, const struct phase_stat *stats, size_t count,
		      enum phase_by by, struct json_writer *j, const char *key)
{
	json_begin_array(j, key);
	for (size_t i = 0; i < count; i++)
		json_stat(l, &stats[i], by, j);
	json_end_array(j);
}

#define COLUMNS_STAT                                                                    \
	{"COUNT", COLUMN_RIGHT}, {"TOTAL", COLUMN_RIGHT}, {"SELF", COLUMN_RIGHT},       \
		{"MIN", COLUMN_RIGHT}, {"MEDIAN", COLUMN_RIGHT}, {"MAX", COLUMN_RIGHT}, \
		{"CPU", COLUMN_RIGHT},                                                  \
	{                                                                               \
		"OPEN", COLUMN_RIGHT                                                    \
	}
#define CSV_STAT                                                                        \
	{"count", 0}, {"total", 0}, {"self", 0}, {"min", 0}, {"median", 0}, {"max", 0}, \
		{"cpu_time", 0},                                                        \
	{                                                                               \
		"open", 0                                                               \
	}

/* Of each name, who marked phases with it: bits by origin. Freed by the caller. */
static uint8_t *origins_of_names(const struct phase_list *l)
{
	uint8_t *bits = xcalloc(l->name_count + 1, 1);

	for (size_t i = 0; i < l->count; i++)
		bits[l->v[i].name] |= (uint8_t)(1u << l->v[i].origin % 3);
	return bits;
}

/* Who marked it, if others marked phases of the same name; else NULL. */
static const char *origin_if_needed(const uint8_t *bits, const struct phase_stat *s)
{
	return bits[s->name] & (bits[s->name] - 1) ? phase_origins[s->origin % 3] : NULL;
}

/* Columns by enum phase_by: for people, and as CSV. */
static const struct terminal_table_column table_columns[][13] = {
	[PHASE_BY_NAME] = {{"PHASE", COLUMN_CUT},
			   COLUMNS_STAT,
			   {"RANKS", COLUMN_RIGHT},
			   {"THREADS", COLUMN_RIGHT},
			   {"IMBALANCE", COLUMN_RIGHT}},
	[PHASE_BY_RANK] = {{"PHASE", COLUMN_CUT},
			   {"RANK", COLUMN_RIGHT},
			   {"PID", COLUMN_RIGHT},
			   COLUMNS_STAT},
	[PHASE_BY_THREAD] = {{"PHASE", COLUMN_CUT},
			     {"RANK", COLUMN_RIGHT},
			     {"PID", COLUMN_RIGHT},
			     {"TID", COLUMN_RIGHT},
			     COLUMNS_STAT},
};
static const struct terminal_table_column csv_columns[][20] = {
	[PHASE_BY_NAME] = {{"name", 0},
			   CSV_STAT,
			   {"ranks", 0},
			   {"imbalance", 0},
			   {"rank_min", 0},
			   {"rank_mean", 0},
			   {"rank_max", 0},
			   {"threads", 0},
			   {"thread_imbalance", 0},
			   {"thread_min", 0},
			   {"thread_mean", 0},
			   {"thread_max", 0},
			   {"origin", 0}},
	[PHASE_BY_RANK] =
		{{"name", 0}, {"hostname", 0}, {"mpirank", 0}, {"pid", 0}, CSV_STAT, {"origin", 0}},
	[PHASE_BY_THREAD] = {{"name", 0},
			     {"hostname", 0},
			     {"mpirank", 0},
			     {"pid", 0},
			     {"tid", 0},
			     CSV_STAT,
			     {"origin", 0}},
};

static void spread_cells(struct stream_table *g, const struct phase_spread *s)
{
	stream_table_count(g, (int64_t)s->count);
	add_percent(g, s->imbalance);
	add_ns(g, s->min_ns);
	add_ns(g, s->mean_ns);
	add_ns(g, s->max_ns);
}

static void stat_row(struct stream_table *g, const struct phase_list *l, const struct phase_stat *s,
		     enum phase_by by, const uint8_t *origins)
{
	add_name(g, l, s->name, s->depth, origin_if_needed(origins, s));
	if (by != PHASE_BY_NAME) {
		if (g->csv)
			stream_table_str(g, l->processes[s->process].host);
		stream_table_number(g, s->rank < 0 ? UNKNOWN : s->rank);
		stream_table_number(g, l->processes[s->process].pid);
	}
	if (by == PHASE_BY_THREAD)
		stream_table_number(g, s->tid);
	stream_table_count(g, (int64_t)s->count);
	add_ns(g, (double)s->total_ns);
	add_ns(g, (double)s->self_ns);
	add_ns(g, (double)s->min_ns);
	add_ns(g, s->median_ns);
	add_ns(g, (double)s->max_ns);
	add_ns(g, (double)s->cpu_ns);
	stream_table_number(g, s->open || g->csv ? (int64_t)s->open : UNKNOWN);
	if (by == PHASE_BY_NAME && g->csv) {
		spread_cells(g, &s->ranks);
		spread_cells(g, &s->threads);
	} else if (by == PHASE_BY_NAME) {
		stream_table_count(g, (int64_t)s->ranks.count);
		stream_table_count(g, (int64_t)s->threads.count);
		add_percent(g, s->ranks.count > 1 ? s->ranks.imbalance : s->threads.imbalance);
	}
	if (g->csv)
		stream_table_str(g, phase_origins[s->origin % 3]);
	stream_table_row(g, 0);
}

static int print_json(struct json_writer *j, FILE *f)
{
	strbuf_addch(&j->out, '\n');
	fwrite(j->out.buf, 1, j->out.len, f);
	return output_error(f);
}

int phase_stats_print(const struct phase_list *l, enum phase_by by, enum proc_form form, FILE *f)
{
	_cleanup_free_ struct phase_stat *stats = NULL;
	size_t count = phase_stats(l->v, l->count, by, &stats);
	static const size_t columns[][2] = {[PHASE_BY_NAME] = {12, 20},
					    [PHASE_BY_RANK] = {11, 13},
					    [PHASE_BY_THREAD] = {12, 14}};
	struct stream_table g;

	if (form == PROC_JSON) {
		_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

		phase_stats_json(l, stats, count, by, &j, NULL);
		return print_json(&j, f);
	}
	_cleanup_free_ uint8_t *origins = origins_of_names(l);
	bool csv = form == PROC_CSV;
	stream_table_begin(&g, csv ? csv_columns[by] : table_columns[by], columns[by][csv], csv, f);
	for (size_t i = 0; i < count; i++)
		stat_row(&g, l, &stats[i], by, origins);
	return stream_table_end(&g);
}

/* ---- every phase ---------------------------------------------------------------------------- */

static const char *state_word(const struct phase_span *v)
{
	return v->point ? "point" : v->open ? "open" : "ended";
}

static int by_begin(const void *a, const void *b, void *spans)
{
	const struct phase_span *v = spans;
	uint32_t i = *(const uint32_t *)a, k = *(const uint32_t *)b;

	if (v[i].begin_ns != v[k].begin_ns)
		return v[i].begin_ns < v[k].begin_ns ? -1 : 1;
	return i < k ? -1 : i > k;
}

static void json_span(const struct phase_list *l, const struct phase_span *v, struct json_writer *j)
{
	json_begin_object(j, NULL);
	json_str(j, "name", l->names[v->name]);
	json_str(j, "hostname", l->processes[v->process].host);
	json_number(j, "mpirank", v->rank < 0 ? UNKNOWN : v->rank);
	json_i64(j, "pid", l->processes[v->process].pid);
	json_i64(j, "tid", v->tid);
	json_i64(j, "depth", v->depth);
	json_str(j, "state", state_word(v));
	json_str(j, "origin", phase_origins[v->origin % 3]);
	json_time(j, "start", v->begin_ns / 1000);
	json_ns(j, "duration", (double)v->duration_ns);
	json_ns(j, "cpu_time", (double)v->cpu_ns);
	json_end_object(j);
}

static void span_row(struct stream_table *g, const struct phase_list *l, const struct phase_span *v)
{
	stream_table_time_ms(g, v->begin_ns / 1000);
	add_ns(g, v->point ? -1 : (double)v->duration_ns);
	add_ns(g, (double)v->cpu_ns);
	if (g->csv)
		stream_table_str(g, l->processes[v->process].host);
	stream_table_number(g, v->rank < 0 ? UNKNOWN : v->rank);
	stream_table_number(g, l->processes[v->process].pid);
	stream_table_number(g, v->tid);
	if (g->csv)
		stream_table_number(g, v->depth);
	stream_table_str(g, state_word(v));
	stream_table_str(g, phase_origins[v->origin % 3]);
	add_name(g, l, v->name, v->depth, NULL);
	stream_table_row(g, 0);
}

uint32_t *phase_order(const struct phase_list *l)
{
	uint32_t *order = xreallocarray(NULL, l->count + 1, sizeof(*order));

	for (size_t i = 0; i < l->count; i++)
		order[i] = (uint32_t)i;
	if (l->count)
		qsort_r(order, l->count, sizeof(*order), by_begin, l->v);
	return order;
}

int phase_list_print(const struct phase_list *l, enum proc_form form, FILE *f)
{
	static const struct terminal_table_column table[] = {
		{"START", 0},          {"DURATION", COLUMN_RIGHT},
		{"CPU", COLUMN_RIGHT}, {"RANK", COLUMN_RIGHT},
		{"PID", COLUMN_RIGHT}, {"TID", COLUMN_RIGHT},
		{"STATE", 0},          {"ORIGIN", 0},
		{"PHASE", COLUMN_CUT}};
	static const struct terminal_table_column csv[] = {
		{"start", 0},   {"duration", 0}, {"cpu_time", 0}, {"hostname", 0},
		{"mpirank", 0}, {"pid", 0},      {"tid", 0},      {"depth", 0},
		{"state", 0},   {"origin", 0},   {"name", 0}};
	_cleanup_free_ uint32_t *order = phase_order(l);
	struct stream_table g;

	if (form == PROC_JSON) {
		struct json_rows rows;

		json_rows_begin(&rows, f);
		for (size_t i = 0; i < l->count; i++) {
			json_span(l, &l->v[order[i]], &rows.j);
			json_rows_next(&rows);
		}
		return json_rows_end(&rows);
	}
	bool is_csv = form == PROC_CSV;
	stream_table_begin(&g, is_csv ? csv : table, is_csv ? ARRAY_SIZE(csv) : ARRAY_SIZE(table),
			   is_csv, f);
	for (size_t i = 0; i < l->count; i++)
		span_row(&g, l, &l->v[order[i]]);
	return stream_table_end(&g);
}

/* ---- bars ----------------------------------------------------------------------------------- */

/* Which columns of the duration of the job the phases of a row cover, in any process. */
static void cover(const struct phase_list *l, const struct phase_stat *s, bool columns[BAR])
{
	double begin = (double)l->job_start * 1000,
	       width = (double)(l->job_end - l->job_start) * 1000;

	for (size_t i = 0; i < l->count; i++) {
		const struct phase_span *v = &l->v[i];
		double from = ((double)v->begin_ns - begin) / width * BAR;
		double to = from + (double)(v->duration_ns > 0 ? v->duration_ns : 0) / width * BAR;

		if (v->name != s->name || v->origin != s->origin || from >= BAR || to < 0)
			continue;
		for (int k = from > 0 ? (int)from : 0; k < BAR && (k <= (int)from || k < to); k++)
			columns[k] = true;
	}
}

void phase_bars_print(const struct phase_list *l, FILE *f)
{
	_cleanup_free_ struct phase_stat *stats = NULL;
	size_t count = phase_stats(l->v, l->count, PHASE_BY_NAME, &stats);
	bool utf8 = text_is_utf8();

	if (!count || l->job_start == UNKNOWN || l->job_end == UNKNOWN ||
	    l->job_end <= l->job_start)
		return;
	_cleanup_free_ uint8_t *origins = origins_of_names(l);
	fputs("\nphases over the duration of the job\n", f);
	for (size_t i = 0; i < count && i < BARS_MAX; i++) {
		_cleanup_strbuf_ struct strbuf line = STRBUF_INIT;
		bool columns[BAR] = {0};
		const char *name = l->names[stats[i].name],
			   *origin = origin_if_needed(origins, &stats[i]);

		cover(l, &stats[i], columns);
		for (size_t k = 0; k < BAR; k++)
			strbuf_addstr(&line, !columns[k] ? (utf8 ? "·" : ".") : utf8 ? "█" : "#");
		strbuf_addstr(&line, "  ");
		if (stats[i].total_ns >= 0) {
			_cleanup_strbuf_ struct strbuf total = STRBUF_INIT;

			unit_add_value(&total, (double)stats[i].total_ns, "ns");
			strbuf_addf(&line, "%8s", total.buf);
		} else {
			strbuf_addf(&line, "%8s", "point");
		}
		strbuf_addf(&line, " %6" PRIu64 " x  ", stats[i].count);
		for (int k = 0; k < stats[i].depth && k < 8; k++)
			strbuf_addstr(&line, "  ");
		text_add_printable(&line, name, fitting(name, strlen(name), 40));
		if (origin)
			strbuf_addf(&line, " (%s)", origin);
		fprintf(f, "%s\n", line.buf);
	}
	if (count > BARS_MAX)
		fprintf(f, "and %zu more; `plimsoll phases` lists all\n", count - BARS_MAX);
}
