/*
 * Reader of papiex's files; see papiex_read.h.
 *
 * Lines are taken where they lie in the caller's piece; only one that is cut is copied. In CSV the
 * rows of further threads follow the row of their process, so a process is known to be complete
 * only at the next one: two entries take turns, one being read and one held back. In TSV a line is
 * a process, and the second entry holds one thread of it at a time.
 */
#include "compat/epmt/papiex/papiex_read.h"

#include <errno.h>
#include <string.h>

#include "core/text/text.h"
#include "plimsoll/record.h"

#define COLUMNS_MAX 256            /* papiex writes 46 and the events it counted, 16 at most */
#define KEEP_MAX ((size_t)1 << 20) /* texts of longer lines are not kept for the next row */
#define SHOWN_MAX 40               /* bytes of the file in a message */

/* A vector is TSV's list of the metrics of all threads, in braces. */
enum column_kind { COLUMN_NUMBER, COLUMN_EVENT, COLUMN_TEXT, COLUMN_VECTOR };

struct column {
	enum column_kind kind;
	bool adds;         /* a process has the sum over its threads */
	enum metric_id id; /* of numbers and texts */
	size_t event;      /* of events: which one */
	char *name;
};

struct columns {
	struct column at[COLUMNS_MAX];
	size_t count;
};

/* A row, and its events as numbers, since they may have to be added up. */
struct entry {
	struct row row;
	bool big; /* has texts that are not to be kept */
	bool counted[COLUMNS_MAX];
	uint64_t count[COLUMNS_MAX];
};

struct papiex_reader {
	struct papiex_receiver to;
	char *host;
	bool tsv, have_header, shift_known, shifted, keep_shifted;
	bool converted; /* by EPMT: quoted texts, lines that end in \r\n */
	char separator;
	int error;         /* that ended the reading */
	struct strbuf cut; /* the beginning of a line whose end has not come */
	/* the line being read, for messages */
	uint64_t line_number;
	const char *line, *line_end;
	struct strbuf *why; /* of the call under way; may be NULL */
	struct columns columns, vector;
	struct strbuf event_names;
	size_t event_count;
	struct entry entries[2], *now, *held;
	size_t tids; /* rows of the process in held, 0: there is none */
	uint64_t rssmax_sum;
};

/* What CSV leaves empty in the rows of further threads. */
static const enum metric_id process_columns[] = {
	METRIC_TAGS,     METRIC_HOSTNAME,   METRIC_EXENAME, METRIC_PATH,       METRIC_ARGS,
	METRIC_EXITCODE, METRIC_EXITSIGNAL, METRIC_PID,     METRIC_GENERATION, METRIC_PPID,
	METRIC_PGID,     METRIC_SID,        METRIC_NUMTIDS, METRIC_NUMRANKS,
};

/* What papiex takes from the wrong place of /proc/PID/stat. */
static const enum metric_id shifted_columns[] = {
	METRIC_NUM_THREADS,          METRIC_STARTTIME,  METRIC_PROCESSOR,
	METRIC_DELAYACCT_BLKIO_TIME, METRIC_GUEST_TIME,
};

static inline void set_bit(struct row *row, enum metric_id id)
{
	row->present[id / 64] |= 1ull << (id % 64);
}

/* ---- messages about a bad line ------------------------------------------------------------- */

PL_PRINTF(2, 3)
static int bad(struct papiex_reader *r, const char *fmt, ...)
{
	va_list ap;

	if (r->why && r->line_number)
		strbuf_addf(r->why, "line %llu: ", (unsigned long long)r->line_number);
	va_start(ap, fmt);
	if (r->why)
		strbuf_vaddf(r->why, fmt, ap);
	va_end(ap);
	return -EBADMSG;
}

/* Bytes of the file, printable and not too many. The caller frees. */
static char *shown(const char *s, size_t n)
{
	struct strbuf out = STRBUF_INIT;

	text_add_printable(&out, s, n < SHOWN_MAX ? n : SHOWN_MAX);
	if (n > SHOWN_MAX)
		strbuf_addstr(&out, "...");
	return strbuf_take(&out);
}

/* Separators that no backslash protects; TSV has no such protection. */
static size_t count_separators(const struct papiex_reader *r)
{
	size_t count = 0, n = (size_t)(r->line_end - r->line);

	for (size_t i = 0; i < n; i++)
		if (r->line[i] == '\\' && !r->tsv)
			i++;
		else
			count += r->line[i] == r->separator;
	return count;
}

/* The number of separators is wrong; or else, where a column is named, what it has at s. A missing
 * or surplus field moves all behind it, so that is looked at first. */
static int bad_row(struct papiex_reader *r, const struct column *c, const char *s, const char *end,
		   char separator)
{
	size_t want = r->columns.count - 1, got = count_separators(r), n = 0, digits = 0;

	if (!c || got != want)
		return bad(r, "the header has %zu %s, this row has %zu", want,
			   plural(want, "delimiter", "delimiters"), got);
	for (; s + n < end && s[n] != separator; n++)
		digits += s[n] >= '0' && s[n] <= '9';
	const char *large = digits && digits + (*s == '-') == n ? " of 64 bits" : "";
	_cleanup_free_ char *name = shown(c->name, strlen(c->name)), *text = shown(s, n);
	return bad(r, "column '%s' is not a number%s: '%s'", name, large, text);
}

/* ---- fields --------------------------------------------------------------------------------- */

static inline const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && *p == ' ')
		p++;
	return p;
}

/* Puts the number at p into its place and returns where it ends, NULL when it is none. Nothing at
 * all is absent. Blanks around it are EPMT's, whose `convert` writes "{1, 2}". */
static inline const char *take_number(struct entry *e, const struct column *c, const char *p,
				      const char *end, char separator)
{
	p = skip_blanks(p, end);
	bool there = p < end && *p != separator, negative = there && *p == '-';
	const char *digits = p += negative;
	uint64_t v = 0;

	for (; p < end; p++) {
		unsigned digit = (unsigned char)*p - (unsigned)'0';

		if (digit > 9)
			break;
		v = v * 10 + digit;
	}
	size_t n = (size_t)(p - digits);
	p = skip_blanks(p, end);
	if ((there && !n) || (p < end && *p != separator))
		return NULL;
	/* 19 digits always fit, 20 that begin with a 1 when v did not run over */
	if (n > 20 || (n == 20 && (*digits != '1' || v < 10000000000000000000u)) ||
	    (negative && v > (uint64_t)INT64_MAX + 1))
		return NULL;
	v = negative ? 0 - v : v;
	if (c->kind == COLUMN_EVENT) {
		e->count[c->event] = v;
		e->counted[c->event] = there;
	} else if (there) {
		e->row.v[c->id] = v;
		set_bit(&e->row, c->id);
	}
	return p;
}

/* ---- header --------------------------------------------------------------------------------- */

static bool has_column(const struct columns *in, enum metric_id id, const char *name)
{
	for (size_t i = 0; i < in->count; i++)
		if (!strcmp(in->at[i].name, name) || (id && in->at[i].id == id))
			return true;
	return false;
}

/* Takes over the name. EPMT's database has another one for the end; what only other tools call by a
 * metric's name is an event. */
static int add_column(struct papiex_reader *r, struct columns *to, struct strbuf *name)
{
	struct column c = {.kind = COLUMN_EVENT};
	const char *papiex = strcmp(name->buf, "finish") != 0 ? name->buf : "end", *wrong = NULL;
	const struct metric *m = metric_by_name(papiex);

	if (m && m->names[METRIC_TOOL_papiex] &&
	    (!strcmp(m->name, papiex) || !strcmp(m->names[METRIC_TOOL_papiex], papiex))) {
		c.id = m->id;
		c.kind = m->type == TYPE_TEXT ? COLUMN_TEXT : COLUMN_NUMBER;
		c.adds = m->agg == AGG_SUM && c.id != METRIC_NUM_THREADS && c.id != METRIC_NUMTIDS;
	} else if (r->tsv && to == &r->columns && !r->vector.count && *name->buf == '{' &&
		   name->len > 1 && name->buf[name->len - 1] == '}') {
		c.kind = COLUMN_VECTOR;
	}
	if (!name->len || strlen(name->buf) != name->len ||
	    (c.kind == COLUMN_EVENT && strchr(name->buf, ',')) ||
	    (c.kind == COLUMN_TEXT && to == &r->vector))
		wrong = "cannot be one";
	else if (has_column(&r->columns, c.id, name->buf) ||
		 has_column(&r->vector, c.id, name->buf))
		wrong = "is there twice";
	else if (r->columns.count + r->vector.count == COLUMNS_MAX)
		wrong = "is one too many";
	if (wrong) {
		_cleanup_free_ char *text = shown(name->buf, name->len);

		return bad(r, "the name '%s' of a column %s", text, wrong);
	}
	r->converted |= r->tsv && papiex != name->buf;
	if (c.kind == COLUMN_EVENT) {
		c.event = r->event_count++;
		strbuf_addf(&r->event_names, "%s%s", c.event ? "," : "", name->buf);
	}
	c.name = strbuf_take(name);
	to->at[to->count++] = c;
	return 0;
}

static int add_columns(struct papiex_reader *r, struct columns *to, const char *p, const char *end)
{
	char separator = to == &r->vector ? ',' : r->separator;

	for (;; p++) {
		_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;
		const char *stop = papiex_take_text(&name, p, end, separator);
		int error = add_column(r, to, &name);

		if (error == 0 && to->at[to->count - 1].kind == COLUMN_VECTOR)
			error = add_columns(r, &r->vector, p + 1, stop - 1);
		if (error < 0 || stop == end)
			return error;
		p = stop;
	}
}

static int take_header(struct papiex_reader *r)
{
	int error = add_columns(r, &r->columns, r->line, r->line_end);
	bool pid = has_column(&r->columns, METRIC_PID, "pid");

	if (error == 0 && (!pid || (r->tsv && !r->vector.count)))
		error = bad(r, "the header has no %s", pid ? "metrics in braces" : "column 'pid'");
	r->have_header = error == 0;
	return error;
}

/* ---- processes ------------------------------------------------------------------------------ */

/* Events as record files have them. */
static void set_counters(const struct papiex_reader *r, struct entry *e)
{
	struct strbuf *names = &e->row.text[METRIC_EVENTS], *out = &e->row.text[METRIC_COUNTERS];

	if (!r->event_count)
		return;
	if (!names->len) /* the same for all rows of the file */
		strbuf_add(names, r->event_names.buf, r->event_names.len);
	strbuf_reset(out);
	strbuf_grow(out, r->event_count * 2 * PL_VARINT_MAX);
	unsigned char *p = (unsigned char *)out->buf;
	for (size_t i = 0; i < r->event_count; i++) {
		p = pl_put_varint(p, e->counted[i] ? PL_COUNTED : 0);
		p = pl_put_varint(p, e->counted[i] ? e->count[i] : ENODATA);
	}
	*p = 0;
	out->len = (size_t)(p - (unsigned char *)out->buf);
	set_bit(&e->row, METRIC_COUNTERS);
	set_bit(&e->row, METRIC_EVENTS);
}

/* All numbers of an entry are there: wrong ones go. */
static void drop_shifted(struct papiex_reader *r, struct entry *e)
{
	if (!r->shift_known) {
		r->shift_known = true;
		/* EPMT's `convert` leaves out what would tell */
		r->shifted = row_get(&e->row, METRIC_NUM_THREADS, !r->converted) == 0;
	}
	for (size_t i = 0; r->shifted && !r->keep_shifted && i < ARRAY_SIZE(shifted_columns); i++)
		row_unset(&e->row, shifted_columns[i]);
}

/* Adds a thread's numbers to those of its process; of the first one, takes them all. A maximum is
 * one of signed numbers: what papiex wrote as -1 is not the largest. */
static void join_entry(const struct columns *columns, struct entry *to, const struct entry *from,
		       bool first)
{
	for (size_t i = 0; i < columns->count; i++) {
		const struct column *c = &columns->at[i];

		if (c->kind == COLUMN_EVENT) {
			size_t k = c->event;

			to->count[k] = from->count[k] + (first ? 0 : to->count[k]);
			to->counted[k] = from->counted[k] || (!first && to->counted[k]);
		}
		if (c->kind != COLUMN_NUMBER || !row_has(&from->row, c->id))
			continue;
		uint64_t more = from->row.v[c->id], v = row_get(&to->row, c->id, 0);
		if (first)
			v = more;
		else if (c->adds)
			v += more;
		else if (c->id == METRIC_RSSMAX && (int64_t)more > (int64_t)v)
			v = more;
		else
			continue;
		row_set(&to->row, c->id, v);
	}
}

/* Without the columns of the process, which the first thread's row has. */
static int deliver_thread(struct papiex_reader *r, struct entry *e)
{
	uint64_t present[ARRAY_SIZE(e->row.present)];

	if (!r->to.thread)
		return 0;
	set_counters(r, e);
	memcpy(present, e->row.present, sizeof(present));
	for (size_t i = 0; i < ARRAY_SIZE(process_columns); i++)
		row_unset(&e->row, process_columns[i]);
	int error = r->to.thread(r->to.user, &e->row);
	memcpy(e->row.present, present, sizeof(present));
	return error;
}

static int deliver_process(struct papiex_reader *r, struct entry *e, size_t tids)
{
	set_counters(r, e);
	if (r->host && !row_has(&e->row, METRIC_HOSTNAME))
		row_set_text(&e->row, METRIC_HOSTNAME, r->host, strlen(r->host));
	return r->to.process(r->to.user, &e->row, r->rssmax_sum, tids);
}

/* A row of CSV has been read: one more thread of the process that is held, or the next process. */
static int take_process(struct papiex_reader *r)
{
	struct entry *e = r->now;
	bool thread = !row_has(&e->row, METRIC_PID) && !row_has(&e->row, METRIC_EXENAME) &&
		      !row_has(&e->row, METRIC_HOSTNAME);

	if (thread && !r->tids)
		return bad(r, "the row of a thread without its process before it");
	drop_shifted(r, e);
	if (thread) {
		int error = r->tids == 1 ? deliver_thread(r, r->held) : 0;

		join_entry(&r->columns, r->held, e, false);
		r->rssmax_sum += row_get(&e->row, METRIC_RSSMAX, 0);
		r->tids++;
		return error < 0 ? error : deliver_thread(r, e);
	}
	int error = r->tids ? deliver_process(r, r->held, r->tids) : 0;
	r->now = r->held;
	r->held = e;
	r->rssmax_sum = row_get(&e->row, METRIC_RSSMAX, 0);
	r->tids = 1;
	return error;
}

/* A row of TSV has been read but for the numbers in braces: those of all threads. */
static int take_vectors(struct papiex_reader *r, const char *p)
{
	struct entry *process = r->now, *thread = r->held;
	const char *end = memchr(p, '\t', (size_t)(r->line_end - p));
	size_t values = 1;

	end = end ? end : r->line_end;
	if (end - p < 2 || *p != '{' || end[-1] != '}')
		return bad(r, "the metrics are not in braces");
	for (const char *q = p; q < end; q++)
		values += *q == ',';
	size_t tids = values / r->vector.count;
	if (values % r->vector.count)
		return bad(r, "%zu values are not a multiple of the header's %zu metrics", values,
			   r->vector.count);
	r->rssmax_sum = 0;
	for (size_t t = 0; t < tids; t++) {
		row_clear(&thread->row);
		for (size_t i = 0; i < r->vector.count; i++) {
			const char *from = p + 1; /* behind the brace or comma */

			p = take_number(thread, &r->vector.at[i], from, end - 1, ',');
			if (!p)
				return bad_row(r, &r->vector.at[i], from, end - 1, ',');
		}
		drop_shifted(r, thread);
		int error = tids > 1 ? deliver_thread(r, thread) : 0;
		if (error < 0)
			return error;
		join_entry(&r->vector, process, thread, t == 0);
		r->rssmax_sum += row_get(&thread->row, METRIC_RSSMAX, 0);
	}
	return deliver_process(r, process, tids);
}

/* A text of a row; one that only looks quoted is taken as it is. */
static const char *take_field(const struct papiex_reader *r, struct strbuf *text, const char *p)
{
	const char *stop = NULL;

	strbuf_reset(text);
	if (r->converted && p < r->line_end && *p == '"')
		stop = papiex_take_quoted(text, p, r->line_end, r->separator);
	if (stop)
		return stop;
	strbuf_reset(text);
	return papiex_take_text(text, p, r->line_end, r->separator);
}

static int take_row(struct papiex_reader *r)
{
	const char *p = r->line, *end = r->line_end, *vectors = end, separator = r->separator;
	struct entry *e = r->now;

	row_clear(&e->row);
	if (e->big)
		row_release(&e->row);
	e->big = (size_t)(end - p) > KEEP_MAX;
	for (size_t i = 0; i < r->columns.count; i++) {
		const struct column *c = &r->columns.at[i];

		/* a field ends at a separator or at the end, where there must not be one more */
		if (i && p++ == end)
			return bad_row(r, NULL, NULL, NULL, 0);
		const char *from = p;
		if (c->kind <= COLUMN_EVENT) {
			p = take_number(e, c, p, end, separator);
			if (!p)
				return bad_row(r, c, from, end, separator);
		} else if (c->kind == COLUMN_TEXT) {
			p = take_field(r, &e->row.text[c->id], p);
			if (e->row.text[c->id].len)
				set_bit(&e->row, c->id);
		} else {
			vectors = p;
			p = memchr(p, separator, (size_t)(end - p));
			p = p ? p : end;
		}
	}
	if (p != end)
		return bad_row(r, NULL, NULL, NULL, 0);
	return r->tsv ? take_vectors(r, vectors) : take_process(r);
}

/* ---- lines ---------------------------------------------------------------------------------- */

static int take_line(struct papiex_reader *r, const char *line, size_t n)
{
	int error = 0;

	r->line_number++;
	n -= r->converted && n && line[n - 1] == '\r';
	r->line = line;
	r->line_end = line + n;
	/* behind the header, a row may begin with a tag that does */
	bool comment = n && *line == '#' && !r->tsv &&
		       (!r->have_header || count_separators(r) != r->columns.count - 1);
	if (n && !comment)
		error = r->have_header ? take_row(r) : take_header(r);
	strbuf_release(&r->cut); /* which may be this line */
	return error < 0 ? error : 0;
}

int papiex_reader_feed(struct papiex_reader *r, const char *data, size_t n, struct strbuf *why)
{
	r->why = why;
	while (n && !r->error) {
		const char *eol = memchr(data, '\n', n);
		size_t len = eol ? (size_t)(eol - data) : n;

		if (len > PAPIEX_LINE_MAX - r->cut.len) {
			r->line_number++;
			r->error = bad(r, "longer than %zu bytes", PAPIEX_LINE_MAX);
		} else if (eol && !r->cut.len) {
			r->error = take_line(r, data, len);
		} else {
			strbuf_add(&r->cut, data, len);
			r->error = eol ? take_line(r, r->cut.buf, r->cut.len) : 0;
		}
		data += len + (eol != NULL);
		n -= len + (eol != NULL);
	}
	return r->error;
}

int papiex_reader_finish(struct papiex_reader *r, struct strbuf *why)
{
	r->why = why;
	if (!r->error && r->cut.len)
		r->error = take_line(r, r->cut.buf, r->cut.len);
	r->line_number = 0;
	if (!r->error && !r->have_header)
		r->error = bad(r, "has no header");
	if (!r->error && r->tids)
		r->error = deliver_process(r, r->held, r->tids);
	r->tids = 0;
	return r->error < 0 ? r->error : 0;
}

/* The header file of TSV: one line, and nothing else. */
static int take_header_file(struct papiex_reader *r, const char *text, size_t n)
{
	const char *eol = memchr(text, '\n', n);

	r->line = text;
	r->line_end = eol ? eol : text + n;
	if (r->line == r->line_end || (eol && eol + 1 < text + n))
		return bad(r, "the header file must have one line");
	return take_header(r);
}

struct papiex_reader *papiex_reader_new(const struct papiex_receiver *to, const char *header,
					size_t header_size, const char *host, struct strbuf *why)
{
	struct papiex_reader *r = xcalloc(1, sizeof(*r));

	r->to = *to;
	r->host = host && *host ? xstrdup(host) : NULL;
	r->tsv = header != NULL;
	r->separator = r->tsv ? '\t' : ',';
	r->why = why;
	r->cut = r->event_names = (struct strbuf)STRBUF_INIT;
	r->now = &r->entries[0];
	r->held = &r->entries[1];
	row_init(&r->now->row);
	row_init(&r->held->row);
	if (!header || take_header_file(r, header, header_size) == 0)
		return r;
	papiex_reader_free(r);
	return NULL;
}

void papiex_reader_free(struct papiex_reader *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->columns.count; i++)
		free(r->columns.at[i].name);
	for (size_t i = 0; i < r->vector.count; i++)
		free(r->vector.at[i].name);
	row_release(&r->entries[0].row);
	row_release(&r->entries[1].row);
	strbuf_release(&r->cut);
	strbuf_release(&r->event_names);
	free(r->host);
	free(r);
}

bool papiex_reader_shifted(const struct papiex_reader *r)
{
	return r->shifted;
}

void papiex_reader_keep_shifted(struct papiex_reader *r)
{
	r->keep_shifted = true;
}

void papiex_reader_columns(const struct papiex_reader *r, struct row *ret)
{
	const struct columns *const both[] = {&r->columns, &r->vector};

	row_clear(ret);
	for (size_t k = 0; k < ARRAY_SIZE(both); k++)
		for (size_t i = 0; i < both[k]->count; i++)
			if (both[k]->at[i].kind == COLUMN_NUMBER)
				row_set(ret, both[k]->at[i].id, 0);
}
