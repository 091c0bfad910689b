/* papiex's files; see papiex.h. */
#include "compat/epmt/papiex/papiex.h"

#include <string.h>

#include "compat/epmt/papiex_columns.h"
#include "core/util.h"
#include "jobs/job_files.h"

#define EVENTS_MAX 256 /* papiex has 16 at most, a file that is converted may have more */

/* What TSV has behind the braces. */
static const unsigned char tsv_back[] = {
	METRIC_TAGS,       METRIC_HOSTNAME, METRIC_EXENAME,    METRIC_PATH, METRIC_EXITCODE,
	METRIC_EXITSIGNAL, METRIC_PID,      METRIC_GENERATION, METRIC_PPID, METRIC_PGID,
	METRIC_SID,        METRIC_NUMTIDS,  METRIC_START,      METRIC_END,  METRIC_ARGS,
};

/* Control characters become \a .. \v; CSV also protects its own backslash and comma. */
void papiex_add_text(struct strbuf *out, const char *s, size_t n, bool csv)
{
	static const char controls[] = PAPIEX_CONTROLS, letters[] = PAPIEX_LETTERS;

	for (size_t i = 0; i < n; i++) {
		const char *c = s[i] ? strchr(controls, s[i]) : NULL;

		if (c)
			strbuf_addf(out, "\\%c", letters[c - controls]);
		else if (csv && (s[i] == '\\' || s[i] == ','))
			strbuf_addf(out, "\\%c", s[i]);
		else
			strbuf_addch(out, s[i]);
	}
}

/* What a letter behind a backslash stands for, 0 when papiex does not write it. */
static char unescaped(char letter)
{
	static const char letters[] = "abfnrtv\\,", stand_for[] = "\a\b\f\n\r\t\v\\,";
	const char *at = letter ? strchr(letters, letter) : NULL;

	return at ? stand_for[at - letters] : 0;
}

/* A comma is looked for once, not again after each backslash: a text of 10 MB may consist of them.
 */
const char *papiex_take_text(struct strbuf *out, const char *p, const char *end, char separator)
{
	const char *stop = NULL;

	for (;;) {
		if (!stop || p > stop) {
			stop = memchr(p, separator, (size_t)(end - p));
			stop = stop ? stop : end;
		}
		const char *slash = separator == ',' ? memchr(p, '\\', (size_t)(stop - p)) : NULL;
		if (!slash || slash + 1 == end) {
			strbuf_add(out, p, (size_t)(stop - p));
			return stop;
		}
		char c = unescaped(slash[1]);
		/* what papiex does not write stays as it is */
		strbuf_add(out, p, (size_t)(slash - p) + (c ? 0 : 2));
		if (c)
			strbuf_addch(out, c);
		p = slash + 2;
	}
}

const char *papiex_take_quoted(struct strbuf *out, const char *p, const char *end, char separator)
{
	for (p++; p < end; p++) {
		if (*p != '"') {
			strbuf_addch(out, *p);
		} else if (p + 1 < end && p[1] == '"') {
			strbuf_addch(out, '"');
			p++;
		} else {
			p++;
			return p == end || *p == separator ? p : NULL;
		}
	}
	return NULL;
}

/* Numbers are signed: papiex writes -1 and less where its counter went back. */
static void add_number(struct strbuf *out, uint64_t v)
{
	strbuf_addf(out, "%lld", (long long)v);
}

static void add_value(struct strbuf *out, const struct row *r, enum metric_id id, bool csv)
{
	const struct metric *m = metric_by_id(id);

	if (m->type != TYPE_TEXT)
		add_number(out, row_get(r, id, 0));
	else if (row_has(r, id))
		papiex_add_text(out, r->text[id].buf, r->text[id].len, csv);
}

/* Only what is counted has a duration in cycles, where no list of columns says otherwise. */
static bool has_cycles(const struct row *columns, const char *events)
{
	return columns ? row_has(columns, METRIC_RDTSC_DURATION) : events && *events;
}

/* rdtsc_duration and the events, each with a comma in front. */
static void add_events(struct strbuf *out, const struct row *r, const struct row *columns,
		       const char *events)
{
	struct counter c[EVENTS_MAX];

	if (has_cycles(columns, events)) {
		strbuf_addch(out, ',');
		add_number(out, row_get(r, METRIC_RDTSC_DURATION, 0));
	}
	if (!events || !*events)
		return;
	size_t n = row_counters(r, c, EVENTS_MAX);
	for (const char *name = events; *name;) {
		size_t len = strcspn(name, ",");
		uint64_t v = 0;

		for (size_t i = 0; i < n; i++)
			if (c[i].name_size == len && !memcmp(c[i].name, name, len) && c[i].present)
				v = c[i].value;
		strbuf_addch(out, ',');
		add_number(out, v);
		name += len + (name[len] == ',');
	}
}

static void add_names(struct strbuf *out, const unsigned char *ids, size_t n, char separator)
{
	for (size_t i = 0; i < n; i++) {
		if (i)
			strbuf_addch(out, separator);
		strbuf_addstr(out, metric_by_id(ids[i])->names[METRIC_TOOL_papiex]);
	}
}

static void add_event_names(struct strbuf *out, const struct row *columns, const char *events)
{
	if (has_cycles(columns, events))
		strbuf_addstr(out, ",rdtsc_duration");
	if (events && *events)
		strbuf_addf(out, ",%s", events);
}

/* ---- CSV ------------------------------------------------------------------------------------ */

void papiex_csv_header(struct strbuf *out, const char *events)
{
	add_names(out, papiex_csv_front, ARRAY_SIZE(papiex_csv_front), ',');
	strbuf_addch(out, ',');
	add_names(out, papiex_numbers, ARRAY_SIZE(papiex_numbers), ',');
	add_event_names(out, NULL, events);
	strbuf_addch(out, '\n');
}

static void add_csv_row(struct strbuf *out, const struct row *r, const char *events, bool first)
{
	for (size_t i = 0; i < ARRAY_SIZE(papiex_csv_front); i++) {
		if (i)
			strbuf_addch(out, ',');
		if (first || i >= PAPIEX_CSV_PROCESS_COLUMNS)
			add_value(out, r, papiex_csv_front[i], true);
	}
	for (size_t i = 0; i < ARRAY_SIZE(papiex_numbers); i++) {
		strbuf_addch(out, ',');
		add_value(out, r, papiex_numbers[i], true);
	}
	add_events(out, r, NULL, events);
	strbuf_addch(out, '\n');
}

void papiex_csv_process(struct strbuf *out, const struct papiex_process *p, const char *events)
{
	add_csv_row(out, p->process, events, true);
	for (size_t i = 0; i < p->thread_count; i++)
		add_csv_row(out, p->threads[i], events, false);
}

/* ---- TSV ------------------------------------------------------------------------------------ */

/* Takes the comma away that stands in front of the first of a list. */
static void open_list(struct strbuf *out, size_t from)
{
	if (out->len > from && out->buf[from] == ',')
		out->buf[from] = '{';
	else
		strbuf_addch(out, '{');
}

void papiex_tsv_header_like(struct strbuf *out, const struct row *columns, const char *events)
{
	size_t from = out->len;

	for (size_t i = 0; i < ARRAY_SIZE(papiex_numbers); i++)
		if (!columns || row_has(columns, papiex_numbers[i]))
			strbuf_addf(out, ",%s",
				    metric_by_id(papiex_numbers[i])->names[METRIC_TOOL_papiex]);
	add_event_names(out, columns, events);
	open_list(out, from);
	strbuf_addstr(out, "}\t");
	add_names(out, tsv_back, ARRAY_SIZE(tsv_back), '\t');
	strbuf_addch(out, '\n');
}

static void add_vector(struct strbuf *out, const struct row *r, const struct row *columns,
		       const char *events)
{
	for (size_t i = 0; i < ARRAY_SIZE(papiex_numbers); i++) {
		if (columns && !row_has(columns, papiex_numbers[i]))
			continue;
		strbuf_addch(out, ',');
		add_value(out, r, papiex_numbers[i], false);
	}
	add_events(out, r, columns, events);
}

void papiex_tsv_process_like(struct strbuf *out, const struct row *columns,
			     const struct papiex_process *p, const char *events)
{
	size_t from = out->len;

	add_vector(out, p->process, columns, events);
	for (size_t i = 0; i < p->thread_count; i++)
		add_vector(out, p->threads[i], columns, events);
	open_list(out, from);
	strbuf_addch(out, '}');
	for (size_t i = 0; i < ARRAY_SIZE(tsv_back); i++) {
		strbuf_addch(out, '\t');
		add_value(out, p->process, tsv_back[i], false);
	}
	strbuf_addch(out, '\n');
}

void papiex_tsv_header(struct strbuf *out, const char *events)
{
	papiex_tsv_header_like(out, NULL, events);
}

void papiex_tsv_process(struct strbuf *out, const struct papiex_process *p, const char *events)
{
	papiex_tsv_process_like(out, NULL, p, events);
}

/* ---- names of files ------------------------------------------------------------------------- */

enum papiex_format papiex_format_of(const char *head, size_t n)
{
	n = n < 1024 ? n : 1024;
	if (n && memchr(head, '\t', n))
		return PAPIEX_TSV;
	return n && memchr(head, ',', n) ? PAPIEX_CSV : PAPIEX_UNKNOWN;
}

bool papiex_is_data_name(const char *name)
{
	name = path_base(name);
	return str_suffix(name, "-papiex.tsv") ||
	       (strstr(name, "-papiex") && str_suffix(name, ".csv"));
}

bool papiex_is_header_name(const char *name)
{
	return str_suffix(path_base(name), "-papiex-header.tsv");
}

bool papiex_is_name(const char *name)
{
	return papiex_is_data_name(name) || papiex_is_header_name(name);
}

const struct job_files job_files_papiex = {.is_name = papiex_is_name};
