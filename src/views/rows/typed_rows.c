/* Rows with types; see typed_rows.h. */
#include "views/rows/typed_rows.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/text/text.h"
#include "tables/table_builder.h"
#include "tables/text_values.h"

enum cell { CELL_NONE, CELL_INT, CELL_REAL, CELL_TIME, CELL_TEXT, CELL_EMPTY, CELLS };

union cell_value {
	int64_t integer; /* CELL_TIME: us */
	double real;
	size_t text; /* place in the texts: the size, then the bytes */
};

struct typed_column {
	char *name;
	uint8_t *cells;
	union cell_value *values;
	bool seen[CELLS];
};

struct typed_rows {
	struct typed_column *columns;
	size_t count, rows, cap;
	size_t at; /* the next cell of the row */
	struct strbuf texts;
};

/* ---- cells ----------------------------------------------------------------------------------
 */

static bool has_name(const struct typed_rows *t, size_t before, const char *name)
{
	for (size_t c = 0; c < before; c++)
		if (!strcmp(t->columns[c].name, name))
			return true;
	return false;
}

struct typed_rows *typed_rows_new(const struct terminal_table_column *columns, size_t count)
{
	struct typed_rows *t = xcalloc(1, sizeof(*t));

	t->count = count;
	t->columns = xcalloc(count + 1, sizeof(*t->columns));
	t->texts = (struct strbuf)STRBUF_INIT;
	for (size_t c = 0; c < count; c++) {
		char *name = xstrdup(columns[c].name);

		for (unsigned n = 2; has_name(t, c, name); n++) {
			free(name);
			name = xasprintf("%s_%u", columns[c].name, n);
		}
		t->columns[c].name = name;
	}
	return t;
}

void typed_rows_free(struct typed_rows *t)
{
	if (!t)
		return;
	for (size_t c = 0; c < t->count; c++) {
		free(t->columns[c].name);
		free(t->columns[c].cells);
		free(t->columns[c].values);
	}
	free(t->columns);
	strbuf_release(&t->texts);
	free(t);
}

static void make_room(struct typed_rows *t)
{
	if (t->rows < t->cap)
		return;
	t->cap = t->cap ? t->cap * 2 : 256;
	for (size_t c = 0; c < t->count; c++) {
		struct typed_column *x = &t->columns[c];

		x->cells = xreallocarray(x->cells, t->cap, sizeof(*x->cells));
		x->values = xreallocarray(x->values, t->cap, sizeof(*x->values));
	}
}

static void put(struct typed_rows *t, enum cell cell, union cell_value v)
{
	if (t->at >= t->count)
		return;
	make_room(t);
	struct typed_column *x = &t->columns[t->at++];
	x->cells[t->rows] = (uint8_t)cell;
	x->values[t->rows] = v;
	x->seen[cell] = true;
}

void typed_rows_none(struct typed_rows *t)
{
	put(t, CELL_NONE, (union cell_value){.integer = 0});
}

void typed_rows_int(struct typed_rows *t, int64_t v)
{
	put(t, CELL_INT, (union cell_value){.integer = v});
}

void typed_rows_real(struct typed_rows *t, double v)
{
	put(t, CELL_REAL, (union cell_value){.real = v});
}

void typed_rows_time(struct typed_rows *t, int64_t us)
{
	put(t, CELL_TIME, (union cell_value){.integer = us});
}

void typed_rows_text(struct typed_rows *t, const char *s, size_t n)
{
	union cell_value v = {.text = t->texts.len};

	if (n) {
		strbuf_add(&t->texts, &n, sizeof(n));
		strbuf_add(&t->texts, s, n);
	}
	put(t, n ? CELL_TEXT : CELL_EMPTY, v);
}

void typed_rows_end_row(struct typed_rows *t)
{
	make_room(t);
	while (t->at < t->count)
		typed_rows_none(t);
	t->at = 0;
	t->rows++;
}

/* ---- the file -------------------------------------------------------------------------------
 */

static enum table_type type_of(const struct typed_column *x)
{
	bool number = x->seen[CELL_INT] || x->seen[CELL_REAL];

	if (x->seen[CELL_TEXT] || (number && x->seen[CELL_TIME]))
		return TABLE_TEXT;
	if (number)
		return x->seen[CELL_REAL] ? TABLE_REAL : TABLE_INT;
	return x->seen[CELL_TIME] ? TABLE_TIME : TABLE_TEXT;
}

static void add_text(const struct typed_rows *t, const struct typed_column *x, size_t row,
		     struct table_builder *b, size_t c)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	size_t n;

	switch ((enum cell)x->cells[row]) {
	case CELL_TEXT:
		memcpy(&n, t->texts.buf + x->values[row].text, sizeof(n));
		table_builder_text(b, c, t->texts.buf + x->values[row].text + sizeof(n), n);
		return;
	case CELL_INT:
		text_add_i64(&text, x->values[row].integer);
		break;
	case CELL_REAL:
		text_add_real(&text, x->values[row].real);
		break;
	case CELL_TIME:
		table_add_time(&text, x->values[row].integer * 1000);
		break;
	case CELL_NONE:
	case CELL_EMPTY:
	case CELLS:
		break;
	}
	table_builder_text(b, c, text.buf, text.len);
}

static void add_cell(const struct typed_rows *t, size_t row, struct table_builder *b, size_t c)
{
	const struct typed_column *x = &t->columns[c];
	enum table_type type = b->columns[c].type;
	enum cell cell = x->cells[row];

	if (cell == CELL_NONE || (cell == CELL_EMPTY && type != TABLE_TEXT))
		table_builder_absent(b, c);
	else if (type == TABLE_TEXT)
		add_text(t, x, row, b, c);
	else if (type == TABLE_REAL)
		table_builder_real(b, c,
				   cell == CELL_INT ? (double)x->values[row].integer
						    : x->values[row].real);
	else
		table_builder_int(b, c, x->values[row].integer * (type == TABLE_TIME ? 1000 : 1));
}

static int write_batch(struct table_builder *b, struct table_file *f, struct strbuf *why)
{
	struct table_batch batch;

	if (!b->rows)
		return 0;
	table_builder_take(b, &batch);
	int r = table_write(f, &batch, why);
	table_builder_begin(b);
	return r;
}

static int write_rows(const struct typed_rows *t, const struct table_column *columns,
		      struct table_file *f, struct strbuf *why)
{
	struct table_builder b;
	int r = 0;

	table_builder_init(&b, columns, t->count, t->rows < TABLE_BATCH ? t->rows + 1 : 0);
	for (size_t row = 0; row < t->rows && r == 0; row++) {
		for (size_t c = 0; c < t->count; c++)
			add_cell(t, row, &b, c);
		table_builder_row(&b);
		if (table_builder_full(&b))
			r = write_batch(&b, f, why);
	}
	if (r == 0)
		r = write_batch(&b, f, why);
	table_builder_release(&b);
	return r;
}

static int write_file(const struct typed_rows *t, const struct table_format *format,
		      const char *path, struct strbuf *why)
{
	const struct table_options o = {.table = "rows"};
	struct table_column *columns = xcalloc(t->count + 1, sizeof(*columns));
	struct table_file *f = NULL;

	for (size_t c = 0; c < t->count; c++)
		columns[c] = (struct table_column){.name = t->columns[c].name,
						   .type = type_of(&t->columns[c])};
	int r = table_open(&f, format, path, columns, t->count, &o, why);
	if (r >= 0)
		r = write_rows(t, columns, f, why);
	if (r >= 0)
		r = table_close(f, why);
	else
		table_abandon(f);
	free(columns);
	return r;
}

static int copy(int fd, FILE *out, struct strbuf *why)
{
	char buf[65536];
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, buf, sizeof(buf), at)) > 0) {
		if (fwrite(buf, 1, (size_t)n, out) != (size_t)n)
			return strbuf_fail(why, -EIO, "cannot write the rows");
		at += n;
	}
	return n < 0 ? strbuf_fail(why, -errno, "cannot read the rows: %s", strerror(errno)) : 0;
}

bool typed_rows_can(const struct table_format *f)
{
	return !f->database;
}

int typed_rows_write(const struct typed_rows *t, const struct table_format *f, FILE *out,
		     struct strbuf *why)
{
	char path[40];
	_cleanup_close_ int fd = memfd_create("plimsoll-rows", MFD_CLOEXEC);

	if (fd < 0)
		return strbuf_fail(why, -errno, "cannot keep the rows in memory: %s",
				   strerror(errno));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	int r = write_file(t, f, path, why);
	if (r >= 0)
		r = copy(fd, out, why);
	return r;
}
