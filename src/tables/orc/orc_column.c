/* Streams of a column; see orc_column.h. */
#include "tables/orc/orc_column.h"

#include <string.h>

#include "tables/orc/orc_encoding.h"

#define EPOCH 1420070400 /* ORC's times begin with 2015 */
#define STATISTIC_MAX 1024u

enum { STREAM_PRESENT, STREAM_DATA, STREAM_LENGTH, STREAM_DICTIONARY, STREAM_SECONDARY = 5 };
enum { ENCODING_DIRECT = 0, ENCODING_DIRECT_2 = 2, ENCODING_DICTIONARY_2 = 3 };

void orc_column_init(struct orc_column *c, const struct table_column *about)
{
	*c = (struct orc_column){.about = about};
	c->data.raw = c->data.packed = c->second.raw = c->second.packed = c->present =
		(struct strbuf)STRBUF_INIT;
	column_dictionary_init(&c->dict);
}

static void forget_texts(struct orc_statistics *s)
{
	free(s->min_text);
	free(s->max_text);
	s->min_text = s->max_text = NULL;
}

void orc_column_release(struct orc_column *c)
{
	strbuf_release(&c->data.raw);
	strbuf_release(&c->data.packed);
	strbuf_release(&c->second.raw);
	strbuf_release(&c->second.packed);
	strbuf_release(&c->present);
	column_dictionary_release(&c->dict);
	free(c->codes);
	forget_texts(&c->stripe);
	forget_texts(&c->file);
}

size_t orc_column_size(const struct orc_column *c)
{
	return c->data.packed.len + c->data.raw.len + c->second.packed.len + c->second.raw.len +
	       c->dict.bytes.len + c->code_count * sizeof(*c->codes);
}

/* ---- streams ---- */

/* Three bytes have the size of the block, and whether it is uncompressed. */
static bool put_block(struct packer *p, const char *data, size_t n, struct strbuf *out)
{
	size_t at = out->len;

	strbuf_add(out, "\0\0", 3);
	if (!packer_add(p, data, n, out))
		return false;
	bool original = out->len - at - 3 >= n;
	if (original) {
		strbuf_cut(out, at + 3);
		strbuf_add(out, data, n);
	}
	size_t head = (out->len - at - 3) << 1 | original;
	for (unsigned i = 0; i < 3; i++)
		out->buf[at + i] = (char)(head >> (8 * i));
	return true;
}

bool orc_pack(struct packer *p, const char *data, size_t n, struct strbuf *out)
{
	if (p->codec == PACK_NONE) {
		strbuf_add(out, data, n);
		return true;
	}
	while (n) {
		size_t some = n < ORC_BLOCK ? n : ORC_BLOCK;

		if (!put_block(p, data, some, out))
			return false;
		data += some;
		n -= some;
	}
	return true;
}

/* Compresses the full blocks of a stream; last: all of it. */
static bool pump(struct packer *p, struct orc_stream *s, bool last)
{
	size_t whole = last ? s->raw.len : s->raw.len / ORC_BLOCK * ORC_BLOCK;

	if (!whole)
		return true;
	if (!orc_pack(p, s->raw.buf, whole, &s->packed))
		return false;
	memmove(s->raw.buf, s->raw.buf + whole, s->raw.len - whole);
	strbuf_cut(&s->raw, s->raw.len - whole);
	return true;
}

static bool put_stream(struct orc_stream *s, struct orc_work *w, unsigned kind, unsigned number,
		       struct file_writer *out, struct strbuf *streams)
{
	_cleanup_strbuf_ struct strbuf entry = STRBUF_INIT;

	if (!pump(w->packer, s, true))
		return false;
	proto_u64(&entry, 1, kind);
	proto_u64(&entry, 2, number);
	proto_u64(&entry, 3, s->packed.len);
	proto_part(streams, 1, &entry);
	file_writer_add(out, s->packed.buf, s->packed.len);
	strbuf_reset(&s->packed);
	return true;
}

/* ---- numbers ---- */

static void widen(struct orc_statistics *s, int64_t min, int64_t max)
{
	s->i.min = !s->ranged || min < s->i.min ? min : s->i.min;
	s->i.max = !s->ranged || max > s->i.max ? max : s->i.max;
	s->ranged = true;
}

static void note_ints(struct orc_statistics *s, const int64_t *v, size_t n)
{
	int64_t min = v[0], max = v[0], sum = 0;
	bool overflow = false;

	for (size_t i = 0; i < n; i++) {
		min = v[i] < min ? v[i] : min;
		max = v[i] > max ? v[i] : max;
		overflow |= __builtin_add_overflow(sum, v[i], &sum);
	}
	widen(s, min, max);
	s->overflow |= overflow || __builtin_add_overflow(s->i.sum, sum, &s->i.sum);
}

static void note_reals(struct orc_statistics *s, const int64_t *bits, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		double x;

		memcpy(&x, &bits[i], sizeof(x));
		s->nan |= x != x;
		if (!s->ranged || x < s->d.min)
			s->d.min = x;
		if (!s->ranged || x > s->d.max)
			s->d.max = x;
		s->d.sum += x;
		s->ranged = true;
	}
}

/* Seconds and nanoseconds. Readers subtract a second from times before 1970 with milliseconds: it
 * is added here. The last second before 1970 then reads as the first one after. */
static void split_times(struct orc_work *w, const int64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		int64_t s = v[i] / 1000000000, ns = v[i] % 1000000000;

		if (ns < 0) {
			ns += 1000000000;
			s--;
		}
		if (s < 0 && ns > 999999)
			s++;
		w->values[i] = s - EPOCH;
		w->nanos[i] = orc_nanos((uint32_t)ns);
	}
}

static void note_times(struct orc_statistics *s, const int64_t *v, size_t n)
{
	struct orc_statistics ns = {.ranged = false};

	note_ints(&ns, v, n);
	widen(s, ns.i.min / 1000000 - (ns.i.min % 1000000 < 0),
	      ns.i.max / 1000000 - (ns.i.max % 1000000 < 0));
}

static void add_numbers(struct orc_column *c, struct orc_work *w, const struct table_values *v,
			size_t rows)
{
	const int64_t *values;
	size_t n = table_present(v, rows, w->values, &values);

	if (!n)
		return;
	switch (c->about->type) {
	case TABLE_REAL:
		note_reals(&c->stripe, values, n);
		strbuf_add(&c->data.raw, values, n * sizeof(*values));
		break;
	case TABLE_TIME:
		note_times(&c->stripe, values, n);
		split_times(w, values, n);
		orc_ints(&c->data.raw, w->values, n, true);
		orc_ints(&c->second.raw, w->nanos, n, false);
		break;
	default:
		note_ints(&c->stripe, values, n);
		orc_ints(&c->data.raw, values, n, true);
	}
}

/* ---- texts ---- */

static void add_texts(struct orc_column *c, struct orc_work *w, const struct table_values *v,
		      size_t rows)
{
	if (c->code_count + rows > c->room) {
		c->room = c->code_count + rows;
		c->codes = xreallocarray(c->codes, c->room, sizeof(*c->codes));
	}
	column_dictionary_texts(&c->dict, &v->texts, w->codes);
	for (size_t i = 0; i < rows; i++)
		if (!v->absent_count || !v->absent[i])
			c->codes[c->code_count++] = w->codes[v->codes[i]];
}

/* Indexes or lengths of a stripe's texts, in parts that fit the buffer. */
static void add_codes(struct orc_column *c, struct orc_work *w, struct strbuf *out, bool lengths)
{
	for (size_t at = 0; at < c->code_count; at += TABLE_BATCH) {
		size_t n = c->code_count - at < TABLE_BATCH ? c->code_count - at : TABLE_BATCH;

		for (size_t i = 0; i < n; i++) {
			uint32_t code = c->codes[at + i];

			w->values[i] =
				lengths ? (int64_t)(c->dict.begin[code + 1] - c->dict.begin[code])
					: (int64_t)code;
		}
		orc_ints(out, w->values, n, false);
	}
}

static void keep_text(char **to, size_t *to_size, const char *text, size_t n)
{
	*to = xreallocarray(*to, n + 1, 1);
	memcpy(*to, text, n);
	*to_size = n;
}

static void note_text(struct orc_statistics *s, const char *text, size_t n)
{
	if (n > STATISTIC_MAX) {
		s->text_too_long = true;
		return;
	}
	if (!s->min_text || table_text_order(text, n, s->min_text, s->min_size) < 0)
		keep_text(&s->min_text, &s->min_size, text, n);
	if (!s->max_text || table_text_order(text, n, s->max_text, s->max_size) > 0)
		keep_text(&s->max_text, &s->max_size, text, n);
	s->ranged = true;
}

static void note_texts(struct orc_column *c)
{
	uint32_t ends[2];

	if (column_dictionary_range(&c->dict, &ends[0], &ends[1])) {
		for (unsigned i = 0; i < 2; i++) {
			size_t n;
			const char *s = column_dictionary_at(&c->dict, ends[i], &n);

			note_text(&c->stripe, s, n);
		}
	}
	for (size_t i = 0; i < c->code_count; i++)
		c->stripe.text_sum += c->dict.begin[c->codes[i] + 1] - c->dict.begin[c->codes[i]];
}

/* The dictionary is in order of first use; it need not be sorted. */
static bool end_texts(struct orc_column *c, struct orc_work *w, unsigned number,
		      struct file_writer *out, struct strbuf *streams, bool in_dictionary)
{
	struct orc_stream texts = {.raw = STRBUF_INIT, .packed = STRBUF_INIT};
	bool ok = true;

	if (in_dictionary) {
		add_codes(c, w, &c->data.raw, false);
		strbuf_add(&texts.raw, c->dict.bytes.buf, c->dict.bytes.len);
		for (uint32_t at = 0; at < c->dict.count; at += TABLE_BATCH) {
			size_t n = 0;

			for (; n < TABLE_BATCH && at + n < c->dict.count; n++)
				w->values[n] = (int64_t)(c->dict.begin[at + n + 1] -
							 c->dict.begin[at + n]);
			orc_ints(&c->second.raw, w->values, n, false);
		}
	} else {
		add_codes(c, w, &c->second.raw, true);
		for (size_t i = 0; ok && i < c->code_count; i++) {
			size_t n;
			const char *s = column_dictionary_at(&c->dict, c->codes[i], &n);

			strbuf_add(&c->data.raw, s, n);
			if (c->data.raw.len >= ORC_BLOCK)
				ok = pump(w->packer, &c->data, false);
		}
	}
	ok = ok && put_stream(&c->data, w, STREAM_DATA, number, out, streams) &&
	     (!in_dictionary || put_stream(&texts, w, STREAM_DICTIONARY, number, out, streams)) &&
	     put_stream(&c->second, w, STREAM_LENGTH, number, out, streams);
	strbuf_release(&texts.raw);
	strbuf_release(&texts.packed);
	return ok;
}

/* ---- a stripe ---- */

static void add_present(struct orc_column *c, const struct table_values *v, size_t rows)
{
	size_t size = (size_t)(c->rows + rows + 7) / 8;

	strbuf_grow(&c->present, size - c->present.len);
	memset(c->present.buf + c->present.len, 0, size - c->present.len);
	c->present.len = size;
	uint8_t *bits = (uint8_t *)c->present.buf;
	for (size_t i = 0; i < rows; i++) {
		size_t at = (size_t)c->rows + i;
		bool there = !v->absent_count || !v->absent[i];

		bits[at / 8] = (uint8_t)(bits[at / 8] | there << (7 - at % 8));
	}
}

bool orc_column_add(struct orc_column *c, struct orc_work *w, const struct table_values *v,
		    size_t rows)
{
	add_present(c, v, rows);
	if (c->about->type == TABLE_TEXT)
		add_texts(c, w, v, rows);
	else
		add_numbers(c, w, v, rows);
	c->rows += rows;
	c->stripe.values += rows - v->absent_count;
	c->stripe.absent |= v->absent_count > 0;
	return pump(w->packer, &c->data, false) && pump(w->packer, &c->second, false);
}

static bool dictionary_pays(const struct orc_column *c)
{
	uint64_t direct = 0;

	for (size_t i = 0; i < c->code_count; i++)
		direct += c->dict.begin[c->codes[i] + 1] - c->dict.begin[c->codes[i]] + 1;
	return c->dict.count &&
	       c->dict.bytes.len + 2 * (uint64_t)c->dict.count + 2 * c->code_count < direct / 4 * 3;
}

/* Adds the statistics of a stripe to those of the file. */
static void merge(struct orc_statistics *to, const struct orc_statistics *s, enum table_type type)
{
	to->values += s->values;
	to->absent |= s->absent;
	to->nan |= s->nan;
	to->overflow |= s->overflow;
	to->text_too_long |= s->text_too_long;
	to->text_sum += s->text_sum;
	if (!s->ranged || s->text_too_long)
		return;
	if (type == TABLE_TEXT) {
		note_text(to, s->min_text, s->min_size);
		note_text(to, s->max_text, s->max_size);
	} else if (type == TABLE_REAL) {
		to->d.min = !to->ranged || s->d.min < to->d.min ? s->d.min : to->d.min;
		to->d.max = !to->ranged || s->d.max > to->d.max ? s->d.max : to->d.max;
		to->d.sum += s->d.sum;
	} else {
		widen(to, s->i.min, s->i.max);
		to->overflow |= __builtin_add_overflow(to->i.sum, s->i.sum, &to->i.sum);
	}
	to->ranged = true;
}

void orc_add_statistics(struct strbuf *out, unsigned field, const struct orc_statistics *s,
			enum table_type type)
{
	static const uint8_t fields[] = {
		[TABLE_INT] = 2, [TABLE_REAL] = 3, [TABLE_TEXT] = 4, [TABLE_TIME] = 9};
	_cleanup_strbuf_ struct strbuf all = STRBUF_INIT, range = STRBUF_INIT;

	proto_u64(&all, 1, s->values);
	if (type == TABLE_INT && s->ranged) {
		proto_s64(&range, 1, s->i.min);
		proto_s64(&range, 2, s->i.max);
		if (!s->overflow)
			proto_s64(&range, 3, s->i.sum);
	} else if (type == TABLE_TIME && s->ranged) {
		proto_s64(&range, 3, s->i.min);
		proto_s64(&range, 4, s->i.max);
	} else if (type == TABLE_REAL && s->ranged && !s->nan) {
		proto_double(&range, 1, s->d.min);
		proto_double(&range, 2, s->d.max);
		proto_double(&range, 3, s->d.sum);
	} else if (type == TABLE_TEXT && s->ranged && !s->text_too_long) {
		proto_bytes(&range, 1, s->min_text, s->min_size);
		proto_bytes(&range, 2, s->max_text, s->max_size);
		proto_s64(&range, 3, s->text_sum);
	}
	if (range.len)
		proto_part(&all, fields[type], &range);
	proto_u64(&all, 10, s->absent);
	proto_part(out, field, &all);
}

static void add_encoding(struct orc_column *c, bool in_dictionary, struct strbuf *encodings)
{
	_cleanup_strbuf_ struct strbuf e = STRBUF_INIT;

	proto_u64(&e, 1,
		  in_dictionary                  ? ENCODING_DICTIONARY_2
		  : c->about->type == TABLE_REAL ? ENCODING_DIRECT
						 : ENCODING_DIRECT_2);
	if (in_dictionary)
		proto_u64(&e, 2, c->dict.count);
	proto_part(encodings, 2, &e);
}

bool orc_column_end(struct orc_column *c, struct orc_work *w, unsigned number,
		    struct file_writer *out, struct strbuf *streams, struct strbuf *encodings,
		    struct strbuf *statistics)
{
	bool text = c->about->type == TABLE_TEXT;
	bool in_dictionary = text && dictionary_pays(c);
	bool ok = true;

	if (c->stripe.absent) {
		struct orc_stream bits = {.raw = STRBUF_INIT, .packed = STRBUF_INIT};

		orc_bytes(&bits.raw, (const uint8_t *)c->present.buf, c->present.len);
		ok = put_stream(&bits, w, STREAM_PRESENT, number, out, streams);
		strbuf_release(&bits.raw);
		strbuf_release(&bits.packed);
	}
	if (text) {
		note_texts(c);
		ok = ok && end_texts(c, w, number, out, streams, in_dictionary);
	} else {
		ok = ok && put_stream(&c->data, w, STREAM_DATA, number, out, streams);
		if (ok && c->about->type == TABLE_TIME)
			ok = put_stream(&c->second, w, STREAM_SECONDARY, number, out, streams);
	}
	add_encoding(c, in_dictionary, encodings);
	orc_add_statistics(statistics, 1, &c->stripe, c->about->type);
	merge(&c->file, &c->stripe, c->about->type);
	forget_texts(&c->stripe);
	c->stripe = (struct orc_statistics){.values = 0};
	strbuf_reset(&c->present);
	column_dictionary_reset(&c->dict);
	c->code_count = 0;
	c->rows = 0;
	return ok;
}
