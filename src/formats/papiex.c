/* papiex's files; see papiex.h. */
#include "formats/papiex.h"

#include <string.h>

#include "core/util.h"

#define EVENTS_MAX 16

/* The metric columns of both formats, in papiex's order. */
static const enum metric_id columns[] = {
	METRIC_USERTIME,
	METRIC_SYSTEMTIME,
	METRIC_RSSMAX,
	METRIC_MINFLT,
	METRIC_MAJFLT,
	METRIC_INBLOCK,
	METRIC_OUTBLOCK,
	METRIC_VOL_CTXSW,
	METRIC_INVOL_CTXSW,
	METRIC_CMINFLT,
	METRIC_CMAJFLT,
	METRIC_CUTIME,
	METRIC_CSTIME,
	METRIC_NUM_THREADS,
	METRIC_STARTTIME,
	METRIC_PROCESSOR,
	METRIC_DELAYACCT_BLKIO_TIME,
	METRIC_GUEST_TIME,
	METRIC_RCHAR,
	METRIC_WCHAR,
	METRIC_SYSCR,
	METRIC_SYSCW,
	METRIC_READ_BYTES,
	METRIC_WRITE_BYTES,
	METRIC_CANCELLED_WRITE_BYTES,
	METRIC_TIME_ONCPU,
	METRIC_TIME_WAITING,
	METRIC_TIMESLICES,
};

/* What CSV has in front of them; the first 14 are empty in the rows of further threads. */
static const enum metric_id csv_front[] = {
	METRIC_TAGS,     METRIC_HOSTNAME,   METRIC_EXENAME, METRIC_PATH,       METRIC_ARGS,
	METRIC_EXITCODE, METRIC_EXITSIGNAL, METRIC_PID,     METRIC_GENERATION, METRIC_PPID,
	METRIC_PGID,     METRIC_SID,        METRIC_NUMTIDS, METRIC_NUMRANKS,   METRIC_TID,
	METRIC_MPIRANK,  METRIC_START,      METRIC_END,
};
#define CSV_PROCESS_COLUMNS 14

/* What TSV has behind the braces. */
static const enum metric_id tsv_back[] = {
	METRIC_TAGS,       METRIC_HOSTNAME, METRIC_EXENAME,    METRIC_PATH, METRIC_EXITCODE,
	METRIC_EXITSIGNAL, METRIC_PID,      METRIC_GENERATION, METRIC_PPID, METRIC_PGID,
	METRIC_SID,        METRIC_NUMTIDS,  METRIC_START,      METRIC_END,  METRIC_ARGS,
};

/* Control characters become \a .. \v; CSV also protects its own backslash and comma. */
static void add_escaped(struct strbuf *out, const char *s, size_t n, bool csv)
{
	static const char controls[] = "\a\b\f\n\r\t\v", letters[] = "abfnrtv";

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

static void add_value(struct strbuf *out, const struct row *r, enum metric_id id, bool csv)
{
	const struct metric *m = metric_by_id(id);

	if (m->type != TYPE_TEXT)
		strbuf_addf(out, "%llu", (unsigned long long)row_get(r, id, 0));
	else if (row_has(r, id))
		add_escaped(out, r->text[id].buf, r->text[id].len, csv);
}

/* rdtsc_duration and the events, each with a comma in front. */
static void add_events(struct strbuf *out, const struct row *r, const char *events)
{
	struct counter c[EVENTS_MAX];

	if (!events || !*events)
		return;
	strbuf_addf(out, ",%llu", (unsigned long long)row_get(r, METRIC_RDTSC_DURATION, 0));
	size_t n = row_counters(r, c, EVENTS_MAX);
	for (const char *name = events; *name;) {
		size_t len = strcspn(name, ",");
		uint64_t v = 0;

		for (size_t i = 0; i < n; i++)
			if (c[i].name_size == len && !memcmp(c[i].name, name, len) && c[i].present)
				v = c[i].value;
		strbuf_addf(out, ",%llu", (unsigned long long)v);
		name += len + (name[len] == ',');
	}
}

static void add_names(struct strbuf *out, const enum metric_id *ids, size_t n, char separator)
{
	for (size_t i = 0; i < n; i++) {
		if (i)
			strbuf_addch(out, separator);
		strbuf_addstr(out, metric_by_id(ids[i])->papiex);
	}
}

static void add_event_names(struct strbuf *out, const char *events)
{
	if (events && *events)
		strbuf_addf(out, ",rdtsc_duration,%s", events);
}

/* ---- CSV ------------------------------------------------------------------------------------ */

void papiex_csv_header(struct strbuf *out, const char *events)
{
	add_names(out, csv_front, ARRAY_SIZE(csv_front), ',');
	strbuf_addch(out, ',');
	add_names(out, columns, ARRAY_SIZE(columns), ',');
	add_event_names(out, events);
	strbuf_addch(out, '\n');
}

static void add_csv_row(struct strbuf *out, const struct row *r, const char *events, bool first)
{
	for (size_t i = 0; i < ARRAY_SIZE(csv_front); i++) {
		if (i)
			strbuf_addch(out, ',');
		if (first || i >= CSV_PROCESS_COLUMNS)
			add_value(out, r, csv_front[i], true);
	}
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		strbuf_addch(out, ',');
		add_value(out, r, columns[i], true);
	}
	add_events(out, r, events);
	strbuf_addch(out, '\n');
}

void papiex_csv_process(struct strbuf *out, const struct papiex_process *p, const char *events)
{
	add_csv_row(out, p->process, events, true);
	for (size_t i = 0; i < p->thread_count; i++)
		add_csv_row(out, p->threads[i], events, false);
}

/* ---- TSV ------------------------------------------------------------------------------------ */

void papiex_tsv_header(struct strbuf *out, const char *events)
{
	strbuf_addch(out, '{');
	add_names(out, columns, ARRAY_SIZE(columns), ',');
	add_event_names(out, events);
	strbuf_addstr(out, "}\t");
	add_names(out, tsv_back, ARRAY_SIZE(tsv_back), '\t');
	strbuf_addch(out, '\n');
}

static void add_vector(struct strbuf *out, const struct row *r, const char *events)
{
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		if (i)
			strbuf_addch(out, ',');
		add_value(out, r, columns[i], false);
	}
	add_events(out, r, events);
}

void papiex_tsv_process(struct strbuf *out, const struct papiex_process *p, const char *events)
{
	strbuf_addch(out, '{');
	add_vector(out, p->process, events);
	for (size_t i = 0; i < p->thread_count; i++) {
		strbuf_addch(out, ',');
		add_vector(out, p->threads[i], events);
	}
	strbuf_addch(out, '}');
	for (size_t i = 0; i < ARRAY_SIZE(tsv_back); i++) {
		strbuf_addch(out, '\t');
		add_value(out, p->process, tsv_back[i], false);
	}
	strbuf_addch(out, '\n');
}
