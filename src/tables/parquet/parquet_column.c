/*
 * Pages of a column; see parquet_column.h. The numbers of each batch become a page at once. Which
 * encoding is smallest cannot be told from the values (deltas of multiples of the page size
 * compress badly, those of times well), so a part of the column is compressed each way in the first
 * group and again in every eighth. Pages have version 1, which every reader knows.
 */
#include "tables/parquet/parquet_column.h"

#include <string.h>

#include "tables/parquet/parquet_encoding.h"

#define DICT_MAX 8192u               /* numbers of a dictionary */
#define SAMPLE 4096u                 /* values that are compressed to compare encodings */
#define TRIAL_GROUPS 8u              /* an encoding is kept for this many groups */
#define PAGE_ROWS 65536u             /* of texts */
#define PAGE_BYTES ((size_t)4 << 20) /* of texts, unless one alone is longer */
#define STATISTIC_MAX 64u            /* bytes of a text in the statistics */

void pq_column_init(struct pq_column *c, const struct table_column *about)
{
	*c = (struct pq_column){.about = about, .pages = STRBUF_INIT};
	column_dictionary_init(&c->dict);
}

void pq_column_release(struct pq_column *c)
{
	strbuf_release(&c->pages);
	column_dictionary_release(&c->dict);
	free(c->codes);
	free(c->absents);
}

size_t pq_column_size(const struct pq_column *c)
{
	return c->pages.len + c->dict.bytes.len + c->code_count * sizeof(*c->codes);
}

/* ---- pages ---- */

/* Compresses w->page and appends it. */
static bool add_page(struct pq_column *c, struct pq_work *w, struct strbuf *to, bool dictionary,
		     size_t values, enum pq_encoding encoding)
{
	struct thrift t = {.out = to};

	strbuf_reset(&w->trial);
	if (w->packer->codec != PACK_NONE &&
	    !packer_add(w->packer, w->page.buf, w->page.len, &w->trial))
		return false;
	const struct strbuf *body = w->packer->codec == PACK_NONE ? &w->page : &w->trial;
	size_t before = to->len;
	thrift_i32(&t, 1, dictionary ? 2 : 0);
	thrift_i32(&t, 2, (int32_t)w->page.len);
	thrift_i32(&t, 3, (int32_t)body->len);
	thrift_begin(&t, dictionary ? 7 : 5);
	thrift_i32(&t, 1, (int32_t)values);
	thrift_i32(&t, 2, encoding);
	if (!dictionary) {
		thrift_i32(&t, 3, PQ_RLE);
		thrift_i32(&t, 4, PQ_RLE);
	}
	thrift_end(&t);
	thrift_end(&t);
	c->unpacked += to->len - before + w->page.len;
	c->encodings |= 1u << encoding;
	strbuf_add(to, body->buf, body->len);
	return true;
}

/* Dictionary indexes, with their width before them. */
static void add_codes(struct strbuf *page, const uint32_t *codes, size_t n, uint32_t count)
{
	unsigned width = count > 1 ? table_bits(count - 1) : 1;

	strbuf_addch(page, (char)width);
	pq_hybrid(page, codes, n, width);
}

static void add_values(struct strbuf *page, const int64_t *values, size_t n,
		       enum pq_encoding encoding)
{
	if (encoding == PQ_DELTA)
		pq_delta(page, values, n);
	else
		strbuf_add(page, values, n * sizeof(*values));
}

/* ---- numbers ---- */

static void note_ints(struct pq_column *c, const int64_t *v, size_t n)
{
	int64_t min = v[0], max = v[0];

	for (size_t i = 1; i < n; i++) {
		min = v[i] < min ? v[i] : min;
		max = v[i] > max ? v[i] : max;
	}
	if (!c->ranged || min < c->min.i)
		c->min.i = min;
	if (!c->ranged || max > c->max.i)
		c->max.i = max;
	c->ranged = true;
}

/* v has the bits of reals, in memory for whole numbers: copies them. */
static void note_reals(struct pq_column *c, const int64_t *v, size_t n)
{
	double min, max, x;
	bool nan = false;

	memcpy(&min, v, sizeof(min));
	max = min;
	for (size_t i = 0; i < n; i++) {
		memcpy(&x, v + i, sizeof(x));
		nan |= x != x;
		min = x < min ? x : min;
		max = x > max ? x : max;
	}
	c->nan |= nan;
	if (!c->ranged || min < c->min.d)
		c->min.d = min;
	if (!c->ranged || max > c->max.d)
		c->max.d = max;
	c->ranged = true;
}

/* Dictionary indexes of the values; false: the dictionary is full. */
static bool find_codes(struct pq_column *c, struct pq_work *w, const int64_t *v, size_t n)
{
	uint32_t max = n / 4 + 1 < DICT_MAX ? (uint32_t)(n / 4 + 1) : DICT_MAX;

	if (max < c->dict.count)
		max = c->dict.count;
	for (size_t i = 0; i < n; i++) {
		w->codes[i] = column_dictionary_number(&c->dict, (uint64_t)v[i], max);
		if (w->codes[i] == COLUMN_DICTIONARY_NONE)
			return false;
	}
	return true;
}

/* Compressed size of w->trial. SIZE_MAX: compression failed. */
static size_t packed_size(struct pq_work *w)
{
	size_t size = w->trial.len;

	if (w->packer->codec == PACK_NONE)
		return size;
	strbuf_reset(&w->page);
	return packer_add(w->packer, w->trial.buf, size, &w->page) ? w->page.len : SIZE_MAX;
}

/* Chooses the smallest encoding for this page, by a part of it. */
static void choose(struct pq_column *c, struct pq_work *w, const int64_t *v, size_t n)
{
	size_t some = n < SAMPLE ? n : SAMPLE;
	/* from the middle: the begin of a job is not typical */
	size_t from = (n - some) / 2;
	size_t best, size;

	strbuf_reset(&w->trial);
	add_values(&w->trial, v + from, some, PQ_PLAIN);
	best = packed_size(w);
	c->plain = PQ_PLAIN;
	if (c->about->type != TABLE_REAL) {
		strbuf_reset(&w->trial);
		pq_delta(&w->trial, v + from, some);
		size = packed_size(w);
		if (size < best) {
			best = size;
			c->plain = PQ_DELTA;
		}
	}
	c->encoding = c->plain;
	if (!find_codes(c, w, v, n))
		return;
	strbuf_reset(&w->trial);
	add_codes(&w->trial, w->codes + from, some, c->dict.count);
	size = packed_size(w);
	strbuf_reset(&w->trial);
	add_values(&w->trial, (const int64_t *)c->dict.numbers, c->dict.count, PQ_PLAIN);
	if ((double)size * (double)n / (double)some + (double)packed_size(w) / 2 <
	    (double)best * (double)n / (double)some)
		c->encoding = PQ_DICTIONARY;
}

static bool add_numbers(struct pq_column *c, struct pq_work *w, const struct table_values *v,
			size_t rows)
{
	const int64_t *values;
	size_t n = table_present(v, rows, w->values, &values);
	enum pq_encoding encoding = PQ_PLAIN;

	if (n) {
		if (c->about->type == TABLE_REAL)
			note_reals(c, values, n);
		else
			note_ints(c, values, n);
		if (!c->pages.len && c->groups % TRIAL_GROUPS == 0) {
			choose(c, w, values, n);
			if (c->encoding != PQ_DICTIONARY)
				column_dictionary_reset(&c->dict);
		}
		encoding = c->encoding;
		if (encoding == PQ_DICTIONARY && !c->dict_full && find_codes(c, w, values, n))
			c->dict_used = true;
		else if (encoding == PQ_DICTIONARY) {
			c->dict_full = true;
			encoding = c->plain;
		}
	}
	strbuf_reset(&w->page);
	pq_levels(&w->page, v->absent_count ? v->absent : NULL, rows);
	if (encoding == PQ_DICTIONARY)
		add_codes(&w->page, w->codes, n, c->dict.count);
	else
		add_values(&w->page, values, n, encoding);
	return add_page(c, w, &c->pages, false, rows, encoding);
}

/* ---- texts ---- */

static void add_texts(struct pq_column *c, struct pq_work *w, const struct table_values *v,
		      size_t rows)
{
	if (c->rows + rows > c->room) {
		c->room = c->rows + rows;
		c->codes = xreallocarray(c->codes, c->room, sizeof(*c->codes));
		c->absents = xreallocarray(c->absents, c->room, 1);
	}
	column_dictionary_texts(&c->dict, &v->texts, w->codes);
	if (!v->absent_count) {
		memset(c->absents + c->rows, 0, rows);
		for (size_t i = 0; i < rows; i++)
			c->codes[c->code_count + i] = w->codes[v->codes[i]];
		c->code_count += rows;
		return;
	}
	memcpy(c->absents + c->rows, v->absent, rows);
	for (size_t i = 0; i < rows; i++)
		if (!v->absent[i])
			c->codes[c->code_count++] = w->codes[v->codes[i]];
}

/* Lengths, then bytes. */
static void add_direct(struct pq_column *c, struct pq_work *w, const uint32_t *codes, size_t n)
{
	size_t size;

	for (size_t i = 0; i < n; i++) {
		(void)column_dictionary_at(&c->dict, codes[i], &size);
		w->values[i] = (int64_t)size;
	}
	pq_delta(&w->page, w->values, n);
	for (size_t i = 0; i < n; i++) {
		const char *s = column_dictionary_at(&c->dict, codes[i], &size);

		strbuf_add(&w->page, s, size);
	}
}

static bool text_pages(struct pq_column *c, struct pq_work *w, enum pq_encoding encoding)
{
	size_t row = 0, code = 0;

	while (row < c->rows) {
		size_t rows = 0, codes = 0, bytes = 0, size;

		while (row + rows < c->rows && rows < PAGE_ROWS) {
			if (!c->absents[row + rows]) {
				(void)column_dictionary_at(&c->dict, c->codes[code + codes], &size);
				if (encoding != PQ_DICTIONARY && rows && bytes + size > PAGE_BYTES)
					break;
				bytes += size;
				codes++;
			}
			rows++;
		}
		strbuf_reset(&w->page);
		pq_levels(&w->page, codes < rows ? c->absents + row : NULL, rows);
		if (encoding == PQ_DICTIONARY)
			add_codes(&w->page, c->codes + code, codes, c->dict.count);
		else
			add_direct(c, w, c->codes + code, codes);
		if (!add_page(c, w, &c->pages, false, rows, encoding))
			return false;
		row += rows;
		code += codes;
	}
	return true;
}

/* A dictionary pays if it saves well more on repeated texts than the indexes take. */
static bool end_texts(struct pq_column *c, struct pq_work *w)
{
	size_t direct = 0, size;

	for (size_t i = 0; i < c->code_count; i++) {
		(void)column_dictionary_at(&c->dict, c->codes[i], &size);
		direct += size + 1;
	}
	size_t dictionary = c->dict.bytes.len + c->dict.count * sizeof(uint32_t) +
			    c->code_count * (table_bits(c->dict.count) + 1) / 8;
	c->dict_used = c->dict.count && dictionary < direct / 4 * 3;
	return text_pages(c, w, c->dict_used ? PQ_DICTIONARY : PQ_DELTA_LENGTH);
}

/* ---- a group ---- */

bool pq_column_add(struct pq_column *c, struct pq_work *w, const struct table_values *v,
		   size_t rows)
{
	bool ok = true;

	if (c->about->type == TABLE_TEXT)
		add_texts(c, w, v, rows);
	else
		ok = add_numbers(c, w, v, rows);
	c->rows += rows;
	c->absent += v->absent_count;
	return ok;
}

static void dictionary_page(struct pq_column *c, struct pq_work *w)
{
	strbuf_reset(&w->page);
	if (c->about->type != TABLE_TEXT) {
		strbuf_add(&w->page, c->dict.numbers, c->dict.count * sizeof(*c->dict.numbers));
		return;
	}
	for (uint32_t i = 0; i < c->dict.count; i++) {
		size_t n;
		const char *s = column_dictionary_at(&c->dict, i, &n);
		uint32_t size = (uint32_t)n;

		strbuf_add(&w->page, &size, sizeof(size));
		strbuf_add(&w->page, s, n);
	}
}

static void text_range(struct pq_column *c, struct thrift *t)
{
	uint32_t least, greatest;
	size_t min_size, max_size;

	if (!column_dictionary_range(&c->dict, &least, &greatest))
		return;
	const char *min = column_dictionary_at(&c->dict, least, &min_size);
	const char *max = column_dictionary_at(&c->dict, greatest, &max_size);
	if (max_size <= STATISTIC_MAX)
		thrift_binary(t, 5, max, max_size);
	/* a prefix is not greater than the text */
	if (min_size > STATISTIC_MAX) {
		min_size = STATISTIC_MAX;
		while (min_size && ((unsigned char)min[min_size] & 0xc0) == 0x80)
			min_size--;
	}
	thrift_binary(t, 6, min, min_size);
}

/* No range if there is a NaN, on whose order readers do not agree. The range includes both zeros.
 */
static void add_statistics(struct pq_column *c, struct thrift *t)
{
	thrift_begin(t, 12);
	thrift_i64(t, 3, (int64_t)c->absent);
	if (c->about->type == TABLE_TEXT) {
		text_range(c, t);
	} else if (c->ranged && !c->nan) {
		if (c->about->type == TABLE_REAL) {
			c->min.d = c->min.d == 0 ? -0.0 : c->min.d;
			c->max.d = c->max.d == 0 ? 0.0 : c->max.d;
		}
		thrift_binary(t, 5, &c->max, 8);
		thrift_binary(t, 6, &c->min, 8);
	}
	thrift_end(t);
}

static int codec_number(enum pack_codec codec)
{
	return codec == PACK_ZSTD ? 6 : codec == PACK_SNAPPY ? 1 : 0;
}

static void add_chunk(struct pq_column *c, struct pq_work *w, struct strbuf *chunks, uint64_t begin,
		      uint64_t data, uint64_t end)
{
	static const enum pq_encoding all[] = {PQ_PLAIN, PQ_RLE, PQ_DELTA, PQ_DELTA_LENGTH,
					       PQ_DICTIONARY};
	struct thrift t = {.out = chunks};
	unsigned used = c->encodings | 1u << PQ_RLE;

	thrift_i64(&t, 2, 0);
	thrift_begin(&t, 3);
	thrift_i32(&t, 1, c->about->type == TABLE_TEXT ? 6 : c->about->type == TABLE_REAL ? 5 : 2);
	thrift_list(&t, 2, THRIFT_I32, (size_t)__builtin_popcount(used));
	for (size_t i = 0; i < ARRAY_SIZE(all); i++)
		if (used & 1u << all[i])
			strbuf_add_varint(chunks, zigzag(all[i]));
	thrift_list(&t, 3, THRIFT_BINARY, 1);
	thrift_binary(&t, 0, c->about->name, strlen(c->about->name));
	thrift_i32(&t, 4, codec_number(w->packer->codec));
	thrift_i64(&t, 5, (int64_t)c->rows);
	thrift_i64(&t, 6, (int64_t)c->unpacked);
	thrift_i64(&t, 7, (int64_t)(end - begin));
	thrift_i64(&t, 9, (int64_t)data);
	if (data > begin)
		thrift_i64(&t, 11, (int64_t)begin);
	add_statistics(c, &t);
	thrift_end(&t);
	thrift_end(&t);
}

bool pq_column_end(struct pq_column *c, struct pq_work *w, struct file_writer *out,
		   struct strbuf *chunks, uint64_t *unpacked, uint64_t *packed)
{
	uint64_t begin = out->at, data;

	if (c->about->type == TABLE_TEXT && !end_texts(c, w))
		return false;
	if (c->dict_used) {
		struct strbuf page = STRBUF_INIT;

		dictionary_page(c, w);
		bool ok = add_page(c, w, &page, true, c->dict.count, PQ_PLAIN);
		file_writer_add(out, page.buf, page.len);
		strbuf_release(&page);
		if (!ok)
			return false;
	}
	data = out->at;
	file_writer_add(out, c->pages.buf, c->pages.len);
	add_chunk(c, w, chunks, begin, data, out->at);
	*unpacked += c->unpacked;
	*packed += out->at - begin;
	strbuf_reset(&c->pages);
	column_dictionary_reset(&c->dict);
	c->rows = c->absent = c->unpacked = 0;
	c->code_count = 0;
	c->encodings = 0;
	c->dict_used = c->dict_full = c->ranged = c->nan = false;
	c->groups++;
	return true;
}
