/*
 * A table with everything that formats of tables must keep: all types, values that are absent
 * everywhere, nowhere and here and there, extremes, odd texts. Every value follows from its row and
 * column alone, so that batches may be cut anywhere.
 */
#pragma once

#include <math.h>
#include <string.h>

#include "tables/table.h"

enum {
	COL_ID,
	COL_EXTREME,
	COL_FEW,
	COL_RANDOM,
	COL_PAGES,
	COL_ONE,
	COL_NO_INT,
	COL_TIME,
	COL_EARLY,
	COL_NO_TIME,
	COL_REAL,
	COL_FEW_REALS,
	COL_NO_REAL,
	COL_CONSTANT,
	COL_WORDS,
	COL_DISTINCT,
	COL_UNIQUE,
	COL_BROKEN,
	COL_NO_TEXT,
	COL_LATE,
	FIXTURE_COLUMNS
};

static const struct table_column fixture_columns[FIXTURE_COLUMNS] = {
	[COL_ID] = {"id", TABLE_INT, "the row's number"},
	[COL_EXTREME] = {"extreme", TABLE_INT, NULL},
	[COL_FEW] = {"few", TABLE_INT, NULL},
	[COL_RANDOM] = {"random", TABLE_INT, NULL},
	[COL_PAGES] = {"pages", TABLE_INT, NULL},
	[COL_ONE] = {"one", TABLE_INT, NULL},
	[COL_NO_INT] = {"no_int", TABLE_INT, NULL},
	[COL_TIME] = {"time", TABLE_TIME, NULL},
	[COL_EARLY] = {"early", TABLE_TIME, NULL},
	[COL_NO_TIME] = {"no_time", TABLE_TIME, NULL},
	[COL_REAL] = {"real", TABLE_REAL, NULL},
	[COL_FEW_REALS] = {"few_reals", TABLE_REAL, NULL},
	[COL_NO_REAL] = {"no_real", TABLE_REAL, NULL},
	[COL_CONSTANT] = {"constant", TABLE_TEXT, NULL},
	[COL_WORDS] = {"words \xc3\xbc", TABLE_TEXT, NULL},
	[COL_DISTINCT] = {"distinct", TABLE_TEXT, NULL},
	[COL_UNIQUE] = {"unique", TABLE_TEXT, NULL},
	[COL_BROKEN] = {"broken", TABLE_TEXT, NULL},
	[COL_NO_TEXT] = {"no_text", TABLE_TEXT, NULL},
	[COL_LATE] = {"late", TABLE_TEXT, NULL},
};

/* A number that looks random, of a row and a column. */
static inline uint64_t fixture_mix(uint64_t row, uint64_t column)
{
	uint64_t x = (row + 1) * 0x9e3779b97f4a7c15u ^ (column + 1) * 0xc2b2ae3d27d4eb4fu;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9u;
	x ^= x >> 32;
	return x;
}

static inline bool fixture_absent(uint64_t row, int column)
{
	switch (column) {
	case COL_NO_INT:
	case COL_NO_TIME:
	case COL_NO_REAL:
	case COL_NO_TEXT:
		return true;
	case COL_FEW:
		return fixture_mix(row, 101) % 100 == 0; /* a few */
	case COL_REAL:
	case COL_WORDS:
		return fixture_mix(row, 102) % 3 == 0;
	case COL_EARLY:
	case COL_UNIQUE:
		return row / 5000 % 2 == 1; /* in long stretches */
	default:
		return false;
	}
}

static inline int64_t fixture_int(uint64_t row, int column)
{
	static const int64_t extremes[] = {INT64_MIN, INT64_MAX,     0,   -1,
					   1,         INT64_MIN + 1, 255, -256};
	uint64_t x = fixture_mix(row, (uint64_t)column);

	switch (column) {
	case COL_ID:
		return (int64_t)row;
	case COL_EXTREME:
		return extremes[x % ARRAY_SIZE(extremes)];
	case COL_FEW:
		return (int64_t)(x % 5) * 1000 - 2000;
	case COL_RANDOM:
		return (int64_t)x;
	case COL_PAGES:
		return (int64_t)(x % 300000) * 4096;
	case COL_TIME: /* at times in order, at times not, with whole seconds among them */
		return 1700000000000000000 + (int64_t)row * 1000003 +
		       (row % 7 ? 0 : (int64_t)(x % 5000000000)) -
		       (row % 11 ? 0 : (1700000000000000000 + (int64_t)row * 1000003) % 1000000000);
	case COL_EARLY: { /* from 1677, not to the last second before 1970, which ORC cannot have */
		int64_t t = row % 1000 == 1 ? -9223372035999999999
					    : -(int64_t)(x % 2200000000000000000);

		return t > -1000000000 ? t - 1000000000 : t;
	}
	default:
		return 42;
	}
}

static inline double fixture_real(uint64_t row, int column)
{
	static const double odd[] = {0.0, -0.0, 5e-324, 1.7976931348623157e308, -1.5, 1e-300};
	uint64_t x = fixture_mix(row, (uint64_t)column);

	if (column == COL_FEW_REALS)
		return (double)(x % 7) / 4;
	switch (x % 16) {
	case 0:
		return (double)NAN;
	case 1:
		return (double)INFINITY;
	case 2:
		return (double)-INFINITY;
	case 3:
		return odd[(x >> 8) % ARRAY_SIZE(odd)];
	default:
		return (double)(int64_t)(x >> 20) / 1e6;
	}
}

static inline void fixture_text(uint64_t row, int column, struct strbuf *out)
{
	static const char *const words[] = {"",
					    "gcc",
					    "python3",
					    "\xc3\xbc"
					    "ber",
					    "\xe6\x97\xa5\xe6\x9c\xac",
					    "\xf0\x9f\x9a\xa2",
					    "a b\tc\n\"d\"",
					    "'; DROP TABLE jobs; --",
					    "<script>alert(1)</script>",
					    "=1+1"};
	static const char *const broken[] = {"\xff",         "ok",           "a\xc3",
					     "\xed\xa0\x80", "\xf0\x9f\x9a", "caf\xe9 au lait",
					     "\xc0\xaf"};
	uint64_t x = fixture_mix(row, (uint64_t)column);

	switch (column) {
	case COL_WORDS:
		strbuf_addstr(out, words[x % ARRAY_SIZE(words)]);
		break;
	case COL_DISTINCT:
		strbuf_addf(out, "/path/to/%05u", (unsigned)(row * 7919 % 65536));
		break;
	case COL_UNIQUE:
		for (uint64_t i = 0; i < x % 4; i++)
			strbuf_addf(out, "argument %x ", (unsigned)(x >> (8 * i)));
		if (row % 30011 == 0)
			for (int i = 0; i < 20000; i++)
				strbuf_addch(out, (char)('a' + i % 26));
		break;
	case COL_BROKEN:
		strbuf_addstr(out, broken[x % ARRAY_SIZE(broken)]);
		if (x % 16 == 0) /* a NUL is a character as another */
			strbuf_addch(out, 0);
		break;
	case COL_LATE: /* few at first, then more than a writer can remember, then few again */
		strbuf_addf(out, "late %u", (unsigned)(row / 40000 * (x % 40)));
		if (row / 10000 == 1)
			strbuf_addf(out, " %0*u", 2000, (unsigned)row / 2);
		break;
	default:
		strbuf_addstr(out, "always the same");
	}
}

/* What a format that demands UTF-8 has of it: a U+FFFD for each byte that is none. */
static inline void fixture_utf8(const char *s, size_t n, struct strbuf *out)
{
	/* the fixture's broken texts are all of these kinds, told apart by hand here */
	for (size_t i = 0; i < n;) {
		unsigned char c = (unsigned char)s[i];
		size_t len = c < 0x80 ? 1 : c < 0xe0 ? 2 : c < 0xf0 ? 3 : 4;
		bool good = c < 0x80 || (c >= 0xc2 && c != 0xff && i + len <= n);

		for (size_t k = 1; good && k < len; k++)
			good = ((unsigned char)s[i + k] & 0xc0) == 0x80;
		if (good && c == 0xed && (unsigned char)s[i + 1] >= 0xa0)
			good = false;
		if (good)
			strbuf_add(out, s + i, len);
		else
			strbuf_addstr(out, "\xef\xbf\xbd");
		i += good ? len : 1;
	}
}

/* ---- batches -------------------------------------------------------------------------------- */

struct fixture {
	struct table_batch batch;
	struct table_values values[FIXTURE_COLUMNS];
	int64_t *ints[FIXTURE_COLUMNS]; /* or reals, or codes */
	uint8_t *absent[FIXTURE_COLUMNS];
	uint32_t *begin[FIXTURE_COLUMNS];
	struct strbuf bytes[FIXTURE_COLUMNS];
};

static inline struct fixture *fixture_new(void)
{
	struct fixture *f = xcalloc(1, sizeof(*f));

	for (int c = 0; c < FIXTURE_COLUMNS; c++) {
		f->ints[c] = xcalloc(TABLE_BATCH, sizeof(int64_t));
		f->absent[c] = xcalloc(TABLE_BATCH, 1);
		f->begin[c] = xcalloc(TABLE_BATCH + 1, sizeof(uint32_t));
		f->bytes[c] = (struct strbuf)STRBUF_INIT;
	}
	f->batch.columns = f->values;
	return f;
}

static inline void fixture_free(struct fixture *f)
{
	for (int c = 0; c < FIXTURE_COLUMNS; c++) {
		free(f->ints[c]);
		free(f->absent[c]);
		free(f->begin[c]);
		strbuf_release(&f->bytes[c]);
	}
	free(f);
}

/* Numbers of texts by a table of a quarter million slots, of their hash and length alone: good for
 * these texts. */
static inline uint32_t fixture_code(struct fixture *f, int c, uint32_t *slots, uint64_t row)
{
	struct strbuf *all = &f->bytes[c];
	struct table_texts *t = &f->values[c].texts;
	size_t before = all->len;
	uint64_t h = 14695981039346656037u;

	fixture_text(row, c, all);
	size_t n = all->len - before;
	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)all->buf[before + i]) * 1099511628211u;
	h ^= h >> 32;
	for (uint32_t at = (uint32_t)h & 0x3ffff;; at = (at + 1) & 0x3ffff) {
		if (!slots[at]) {
			slots[at] = ++t->count;
			f->begin[c][t->count] = (uint32_t)all->len;
			return t->count - 1;
		}
		uint32_t known = slots[at] - 1;
		if (f->begin[c][known + 1] - f->begin[c][known] == n &&
		    !memcmp(all->buf + f->begin[c][known], all->buf + before, n)) {
			strbuf_cut(all, before);
			return known;
		}
	}
}

static inline void fixture_column(struct fixture *f, int c, uint64_t first, size_t rows)
{
	struct table_values *v = &f->values[c];
	uint32_t *codes = (uint32_t *)(void *)f->ints[c], *slots = NULL;
	double *reals = (double *)(void *)f->ints[c];

	*v = (struct table_values){.absent_count = 0};
	strbuf_reset(&f->bytes[c]);
	if (fixture_columns[c].type == TABLE_TEXT)
		slots = xcalloc(0x40000, sizeof(*slots));
	for (size_t i = 0; i < rows; i++) {
		bool absent = fixture_absent(first + i, c);

		f->absent[c][i] = absent;
		v->absent_count += absent;
		if (fixture_columns[c].type == TABLE_TEXT)
			codes[i] = absent ? 0 : fixture_code(f, c, slots, first + i);
		else if (fixture_columns[c].type == TABLE_REAL)
			reals[i] = absent ? 0 : fixture_real(first + i, c);
		else
			f->ints[c][i] = absent ? 0 : fixture_int(first + i, c);
	}
	free(slots);
	v->ints = f->ints[c];
	if (fixture_columns[c].type == TABLE_TEXT) {
		v->codes = codes;
		v->texts.begin = f->begin[c];
		v->texts.bytes = f->bytes[c].buf;
	}
	v->absent = v->absent_count || first % 2 ? f->absent[c] : NULL;
}

static inline const struct table_batch *fixture_batch(struct fixture *f, uint64_t first,
						      size_t rows)
{
	for (int c = 0; c < FIXTURE_COLUMNS; c++)
		fixture_column(f, c, first, rows);
	f->batch.rows = rows;
	return &f->batch;
}

/* A whole file of so many rows, in batches of so many. */
/* What the columns hold, for formats that have to know before the first row. */
static inline void fixture_hints(struct table_hint *hints, uint64_t rows)
{
	struct strbuf raw = STRBUF_INIT, text = STRBUF_INIT;

	for (uint64_t i = 0; i < rows; i++) {
		for (int c = 0; c < FIXTURE_COLUMNS; c++) {
			if (fixture_absent(i, c)) {
				hints[c].absent = true;
				continue;
			}
			if (fixture_columns[c].type != TABLE_TEXT)
				continue;
			strbuf_reset(&raw);
			strbuf_reset(&text);
			fixture_text(i, c, &raw);
			fixture_utf8(raw.buf, raw.len, &text);
			hints[c].width = text.len > hints[c].width ? text.len : hints[c].width;
		}
	}
	strbuf_release(&raw);
	strbuf_release(&text);
}

static inline int fixture_write(const struct table_format *format, const char *path,
				const char *codec, uint64_t rows, size_t batch, struct strbuf *why)
{
	struct table_file *file;
	struct table_hint hints[FIXTURE_COLUMNS] = {{0}};
	const struct table_options o = {.table = "processes",
					.codec = codec,
					.hints = format->hints ? hints : NULL,
					.rows = (int64_t)rows};
	if (format->hints)
		fixture_hints(hints, rows);
	int r = table_open(&file, format, path, fixture_columns, FIXTURE_COLUMNS, &o, why);

	if (r < 0)
		return r;
	struct fixture *f = fixture_new();
	for (uint64_t at = 0; at < rows && r == 0; at += batch)
		r = table_write(file, fixture_batch(f, at, rows - at < batch ? rows - at : batch),
				why);
	fixture_free(f);
	if (r == 0)
		return table_close(file, why);
	table_abandon(file);
	return r;
}
