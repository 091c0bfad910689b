/*
 * A pandas DataFrame as a Python pickle, protocol 4. Loading it calls only public functions that
 * have existed for years (pandas 1.0 to 3, numpy 1 and 2):
 *
 *     pandas.DataFrame({name: column, ...})
 *     numpy.frombuffer(bytes, dtype)                      whole numbers, floating point
 *     pandas.arrays.IntegerArray(values, mask, True)      whole numbers of which some are absent
 *     pandas.array(values, "datetime64[ns, UTC]")         times
 *
 * Texts are lists of str and None. A pickle has one column after the other, but batches come row by
 * row: they go to an unnamed file first, so that memory holds one batch only.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/files/fs.h"
#include "tables/column_dictionary.h"
#include "tables/text_values.h"
#include "plimsoll/record.h" /* little-endian words */

#define NOT_A_TIME INT64_MIN
#define COPY_BYTES ((size_t)1 << 18)

/* Opcodes. */
#define PROTO "\x80\x04"
#define MARK '('
#define STOP '.'
#define REDUCE 'R'
#define NONE 'N'
#define GLOBAL 'c'
#define EMPTY_DICT '}'
#define EMPTY_LIST ']'
#define SETITEMS 'u'
#define APPENDS 'e'
#define NEWTRUE '\x88'
#define TUPLE1 '\x85'
#define TUPLE2 '\x86'
#define TUPLE3 '\x87'
#define BINUNICODE 'X'
#define BINUNICODE8 '\x8d'
#define BINBYTES8 '\x8e'
#define LONG_BINPUT 'r'
#define LONG_BINGET 'j'

/* A piece of the unnamed file. */
struct piece {
	uint64_t at, size;
};

struct pickle_column {
	struct piece *pieces; /* one per batch */
	struct piece *masks;  /* one per batch; size 0: no value is absent */
	size_t count, cap;
	bool absent;
};

struct pickle_file {
	struct table_file file;
	struct pickle_column *pickled;
	int spool;
	uint64_t spooled, rows;
	uint32_t memo; /* the next memo index */
	struct strbuf text;
	uint32_t *uses, *numbers;
	size_t use_cap;
};

/* ---- opcodes ---- */

static void add_u32(struct strbuf *out, uint32_t v)
{
	unsigned char b[4];

	pl_put_u32(b, v);
	strbuf_add(out, b, sizeof(b));
}

static void add_u64(struct strbuf *out, uint64_t v)
{
	unsigned char b[8];

	pl_put_u64(b, v);
	strbuf_add(out, b, sizeof(b));
}

/* Python accepts UTF-8 only. */
static void add_str(struct strbuf *out, const char *s, size_t n)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	table_add_utf8(&text, s, n);
	if (text.len <= UINT32_MAX) {
		strbuf_addch(out, BINUNICODE);
		add_u32(out, (uint32_t)text.len);
	} else {
		strbuf_addch(out, BINUNICODE8);
		add_u64(out, text.len);
	}
	strbuf_add(out, text.buf, text.len);
}

static void add_word(struct strbuf *out, const char *word)
{
	add_str(out, word, strlen(word));
}

static void add_global(struct strbuf *out, const char *module, const char *name)
{
	strbuf_addf(out, "%c%s\n%s\n", GLOBAL, module, name);
}

/* ---- batches ---- */

static int spool(struct pickle_file *f, const void *data, size_t n, struct piece *ret,
		 struct strbuf *why)
{
	*ret = (struct piece){f->spooled, n};
	int r = n ? fs_write_once(f->spool, data, n, (off_t)f->spooled) : 0;
	if (r < 0)
		strbuf_addf(why, "cannot write a temporary file beside '%s': %s", f->file.out.path,
			    strerror(-r));
	else
		f->spooled += n;
	return r;
}

static void release(struct table_file *t)
{
	struct pickle_file *f = (struct pickle_file *)t;

	for (size_t c = 0; f->pickled && c < t->count; c++) {
		free(f->pickled[c].pieces);
		free(f->pickled[c].masks);
	}
	free(f->uses);
	free(f->numbers);
	strbuf_release(&f->text);
	if (f->pickled && f->spool >= 0)
		close(f->spool);
	free(f->pickled);
}

/* Some filesystems have no unnamed files. */
static int open_spool(const char *path)
{
	_cleanup_free_ char *name = xasprintf("%s.XXXXXX", path);
	const char *slash = strrchr(path, '/');
	_cleanup_free_ char *dir =
		slash ? xstrndup(path, (size_t)(slash - path) + 1) : xstrdup(".");
	int fd = open(dir, O_RDWR | O_TMPFILE | O_CLOEXEC, 0600);

	if (fd >= 0)
		return fd;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		(void)unlink(name);
	return fd;
}

static int open_pickle(struct table_file *t, const char *path,
		       const struct table_options *o PL_UNUSED, struct strbuf *why)
{
	struct pickle_file *f = (struct pickle_file *)t;

	f->text = (struct strbuf)STRBUF_INIT;
	f->pickled = xcalloc(t->count + 1, sizeof(*f->pickled));
	f->spool = open_spool(path);
	if (f->spool >= 0)
		return 0;
	return strbuf_fail(why, -errno, "cannot write a temporary file beside '%s': %s", path,
			   strerror(errno));
}

/* Counts the uses of each text of the batch: a text that is used once needs no memo index. */
static void count_uses(struct pickle_file *f, const struct table_values *v, size_t rows)
{
	if (f->use_cap < v->texts.count) {
		f->use_cap = v->texts.count;
		f->uses = xreallocarray(f->uses, f->use_cap, sizeof(*f->uses));
		f->numbers = xreallocarray(f->numbers, f->use_cap, sizeof(*f->numbers));
	}
	if (v->texts.count) {
		memset(f->uses, 0, v->texts.count * sizeof(*f->uses));
		memset(f->numbers, 0xff, v->texts.count * sizeof(*f->numbers));
	}
	for (size_t i = 0; i < rows; i++)
		if (!v->absent || !v->absent[i])
			f->uses[v->codes[i]]++;
}

/* Elements of a list; a text that was written before is a reference to its memo index. */
static int write_texts(struct pickle_file *f, size_t c, const struct table_batch *b,
		       struct strbuf *why)
{
	const struct table_values *v = &b->columns[c];
	struct pickle_column *p = &f->pickled[c];

	count_uses(f, v, b->rows);
	strbuf_reset(&f->text);
	for (size_t i = 0; i < b->rows; i++) {
		uint32_t code = v->codes[i];

		if (v->absent && v->absent[i]) {
			strbuf_addch(&f->text, NONE);
		} else if (f->numbers[code] != UINT32_MAX) {
			strbuf_addch(&f->text, LONG_BINGET);
			add_u32(&f->text, f->numbers[code]);
		} else {
			const uint32_t *begin = v->texts.begin;

			add_str(&f->text, v->texts.bytes + begin[code],
				begin[code + 1] - begin[code]);
			if (f->uses[code] > 1 && f->memo < UINT32_MAX) {
				f->numbers[code] = f->memo++;
				strbuf_addch(&f->text, LONG_BINPUT);
				add_u32(&f->text, f->numbers[code]);
			}
		}
	}
	return spool(f, f->text.buf, f->text.len, &p->pieces[p->count], why);
}

static int write_numbers(struct pickle_file *f, size_t c, const struct table_batch *b,
			 struct strbuf *why)
{
	const struct table_values *v = &b->columns[c];
	struct pickle_column *p = &f->pickled[c];
	const size_t size = b->rows * sizeof(int64_t);
	const double nan = __builtin_nan("");

	p->masks[p->count] = (struct piece){0};
	if (!v->absent_count)
		return spool(f, v->ints, size, &p->pieces[p->count], why);
	p->absent = true;
	strbuf_reset(&f->text);
	strbuf_add(&f->text, v->ints, size);
	for (size_t i = 0; i < b->rows; i++) {
		char *to = f->text.buf + i * sizeof(int64_t);

		if (!v->absent[i])
			continue;
		if (f->file.columns[c].type == TABLE_REAL)
			memcpy(to, &nan, sizeof(nan));
		else if (f->file.columns[c].type == TABLE_TIME)
			memcpy(to, &(int64_t){NOT_A_TIME}, sizeof(int64_t));
	}
	int r = spool(f, f->text.buf, f->text.len, &p->pieces[p->count], why);
	if (r >= 0 && f->file.columns[c].type == TABLE_INT)
		r = spool(f, v->absent, b->rows, &p->masks[p->count], why);
	return r;
}

static int write_batch(struct table_file *t, const struct table_batch *b, struct strbuf *why)
{
	struct pickle_file *f = (struct pickle_file *)t;
	int r = 0;

	for (size_t c = 0; c < f->file.count && r >= 0; c++) {
		struct pickle_column *p = &f->pickled[c];

		if (p->count == p->cap) {
			p->cap = p->cap ? p->cap * 2 : 16;
			p->pieces = xreallocarray(p->pieces, p->cap, sizeof(*p->pieces));
			p->masks = xreallocarray(p->masks, p->cap, sizeof(*p->masks));
		}
		r = f->file.columns[c].type == TABLE_TEXT ? write_texts(f, c, b, why)
							  : write_numbers(f, c, b, why);
		p->count++;
	}
	f->rows += b->rows;
	return r;
}

/* ---- the pickle ---- */

static void flush_text(struct pickle_file *f)
{
	file_writer_add(&f->file.out, f->text.buf, f->text.len);
	strbuf_reset(&f->text);
}

static int copy_piece(struct pickle_file *f, const struct piece *p, struct strbuf *why)
{
	char *buf = xmalloc(COPY_BYTES);
	int r = 0;

	for (uint64_t at = 0; at < p->size && r >= 0;) {
		size_t want = p->size - at < COPY_BYTES ? (size_t)(p->size - at) : COPY_BYTES;
		ssize_t n = pread(f->spool, buf, want, (off_t)(p->at + at));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			r = n < 0 ? -errno : -EIO;
			strbuf_addf(why, "cannot read a temporary file beside '%s': %s",
				    f->file.out.path, strerror(-r));
			break;
		}
		file_writer_add(&f->file.out, buf, (size_t)n);
		at += (uint64_t)n;
	}
	free(buf);
	return r;
}

/* The array holds the bytes that follow; end_array() then names their type. */
static void begin_array(struct pickle_file *f, uint64_t bytes)
{
	add_global(&f->text, "numpy", "frombuffer");
	strbuf_addch(&f->text, BINBYTES8);
	add_u64(&f->text, bytes);
	flush_text(f);
}

static void end_array(struct pickle_file *f, const char *type)
{
	add_word(&f->text, type);
	strbuf_addch(&f->text, TUPLE2);
	strbuf_addch(&f->text, REDUCE);
}

static int put_values(struct pickle_file *f, size_t c, const char *type, struct strbuf *why)
{
	const struct pickle_column *p = &f->pickled[c];
	int r = 0;

	begin_array(f, f->rows * sizeof(int64_t));
	for (size_t i = 0; i < p->count && r >= 0; i++)
		r = copy_piece(f, &p->pieces[i], why);
	end_array(f, type);
	return r;
}

static int put_mask(struct pickle_file *f, size_t c, struct strbuf *why)
{
	static const char present[4096];
	const struct pickle_column *p = &f->pickled[c];
	int r = 0;

	begin_array(f, f->rows);
	for (size_t i = 0; i < p->count && r >= 0; i++) {
		if (p->masks[i].size) {
			r = copy_piece(f, &p->masks[i], why);
			continue;
		}
		for (uint64_t left = p->pieces[i].size / sizeof(int64_t); left;) {
			size_t n = left < sizeof(present) ? (size_t)left : sizeof(present);

			file_writer_add(&f->file.out, present, n);
			left -= n;
		}
	}
	end_array(f, "?");
	return r;
}

static int put_texts(struct pickle_file *f, size_t c, struct strbuf *why)
{
	const struct pickle_column *p = &f->pickled[c];
	int r = 0;

	strbuf_addch(&f->text, EMPTY_LIST);
	for (size_t i = 0; i < p->count && r >= 0; i++) {
		strbuf_addch(&f->text, MARK);
		flush_text(f);
		r = copy_piece(f, &p->pieces[i], why);
		strbuf_addch(&f->text, APPENDS);
	}
	return r;
}

static int put_column(struct pickle_file *f, size_t c, struct strbuf *why)
{
	bool nullable = f->file.columns[c].type == TABLE_INT && f->pickled[c].absent;
	int r;

	add_word(&f->text, f->file.columns[c].name);
	switch (f->file.columns[c].type) {
	case TABLE_TEXT:
		return put_texts(f, c, why);
	case TABLE_REAL:
		return put_values(f, c, "<f8", why);
	case TABLE_TIME:
		add_global(&f->text, "pandas", "array");
		r = put_values(f, c, "<M8[ns]", why);
		add_word(&f->text, "datetime64[ns, UTC]");
		strbuf_addch(&f->text, TUPLE2);
		strbuf_addch(&f->text, REDUCE);
		return r;
	case TABLE_INT:
		break;
	}
	if (nullable)
		add_global(&f->text, "pandas.arrays", "IntegerArray");
	r = put_values(f, c, "<i8", why);
	if (r >= 0 && nullable)
		r = put_mask(f, c, why);
	if (nullable) {
		strbuf_addch(&f->text, NEWTRUE);
		strbuf_addch(&f->text, TUPLE3);
		strbuf_addch(&f->text, REDUCE);
	}
	return r;
}

static int end(struct table_file *t, struct strbuf *why)
{
	struct pickle_file *f = (struct pickle_file *)t;
	int r = 0;

	strbuf_reset(&f->text);
	strbuf_addstr(&f->text, PROTO);
	add_global(&f->text, "pandas", "DataFrame");
	strbuf_addch(&f->text, EMPTY_DICT);
	strbuf_addch(&f->text, MARK);
	for (size_t c = 0; c < t->count && r >= 0; c++)
		r = put_column(f, c, why);
	strbuf_addch(&f->text, SETITEMS);
	strbuf_addch(&f->text, TUPLE1);
	strbuf_addch(&f->text, REDUCE);
	strbuf_addch(&f->text, STOP);
	flush_text(f);
	return r;
}

const struct table_format table_pickle = {
	.name = "pickle",
	.suffix = ".pkl",
	.help = "a DataFrame for pandas.read_pickle",
	.size = sizeof(struct pickle_file),
	.open = open_pickle,
	.write = write_batch,
	.end = end,
	.release = release,
};
