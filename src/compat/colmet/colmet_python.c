/*
 * Records of colmet's Python version: little-endian, packed, without a length, a count or a
 * version; the size follows from the name. What is packed again is what was unpacked, byte for
 * byte, so padding that is not zero is refused.
 */
#include <errno.h>
#include <string.h>

#include "compat/colmet/colmet_internal.h"
#include "core/text/text.h"

#define NAME_SIZE 255u
#define HOST_AT NAME_SIZE
#define JOB_AT (2 * NAME_SIZE)
#define TIME_AT (JOB_AT + 8)

static uint64_t get_le(const unsigned char *p, unsigned bytes)
{
	uint64_t v = 0;

	for (unsigned i = bytes; i-- > 0;)
		v = v << 8 | p[i];
	return v;
}

static void add_le(struct strbuf *out, uint64_t v, unsigned bytes)
{
	unsigned char b[8];

	for (unsigned i = 0; i < bytes; i++)
		b[i] = (unsigned char)(v >> 8 * i);
	strbuf_add(out, b, bytes);
}

/* A text in a field of fixed size, the rest of it zero. */
static void add_padded(struct strbuf *out, const char *text, size_t size)
{
	size_t n = strnlen(text, size);

	strbuf_add(out, text, n);
	strbuf_grow(out, size - n);
	memset(out->buf + out->len, 0, size - n + 1);
	out->len += size - n;
}

/* Length of the text in such a field; false when something stands behind its end. */
static bool padded_size(const unsigned char *p, size_t size, size_t *ret)
{
	const unsigned char *nul = memchr(p, 0, size);

	*ret = nul ? (size_t)(nul - p) : size;
	for (size_t i = *ret; i < size; i++)
		if (p[i])
			return false;
	return true;
}

void colmet_pack(const struct fixed_row *r, struct strbuf *out)
{
	const struct row_table *b = r->table;

	add_padded(out, b->name, NAME_SIZE);
	add_padded(out, r->host, NAME_SIZE);
	add_le(out, r->job, 8);
	add_le(out, r->time_s, 8);
	for (size_t i = 0; i < b->field_count; i++) {
		uint32_t bits;

		switch (b->fields[i].type) {
		case ROW_TEXT:
			add_padded(out, r->involved, b->fields[i].size);
			break;
		case ROW_F32:
			memcpy(&bits, &r->values[i].f, sizeof(bits));
			add_le(out, bits, 4);
			break;
		default:
			add_le(out, (uint64_t)r->values[i].i, b->fields[i].size);
		}
	}
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

bool colmet_host_valid(const char *host, size_t size)
{
	if (!size || size > NAME_SIZE)
		return false;
	for (size_t i = 0; i < size; i++) {
		char c = host[i];

		if (!is_digit(c) && !(c >= 'a' && c <= 'z') && !(c >= 'A' && c <= 'Z') &&
		    c != '.' && c != '-' && c != '_' && c != ':')
			return false;
	}
	/* it may become part of a path */
	return host[0] != '.' && host[0] != '-';
}

/* A list of numbers as Python writes it, "[1000, 1001]", or cut off at the end of the field. */
static bool is_list(const char *p, size_t n, size_t size)
{
	const char *end = p + n;
	bool first = true;

	if (p == end)
		return true;
	if (*p++ != '[')
		return false;
	if (end - p == 1 && *p == ']')
		return true;
	for (; p < end; first = false) {
		unsigned digits = 0;

		if (!first) {
			if (*p == ']')
				return p + 1 == end;
			if (*p++ != ',')
				return false;
			if (p < end && *p == ' ')
				p++;
		}
		for (; p < end && is_digit(*p); p++)
			digits++;
		if (p < end && (!digits || digits > 18))
			return false;
	}
	return n == size;
}

void colmet_close_list(char *text)
{
	size_t n = strlen(text);

	if (!n || text[n - 1] == ']')
		return;
	/* its last number may have been a longer one */
	char *comma = strrchr(text, ',');

	if (comma) {
		comma[0] = ']';
		comma[1] = 0;
	} else {
		text[0] = 0;
	}
}

/* The values behind the head; false if a list of jobs is invalid. */
static bool unpack_fields(const unsigned char *p, struct fixed_row *r)
{
	const struct row_table *b = r->table;

	r->absent = 0;
	r->involved[0] = 0;
	for (size_t i = 0; i < b->field_count; p += b->fields[i++].size) {
		const struct row_field *f = &b->fields[i];
		bool known = true;
		uint32_t bits;
		size_t n;

		switch (f->type) {
		case ROW_TEXT:
			if (!padded_size(p, f->size, &n) || !is_list((const char *)p, n, f->size))
				return false;
			memcpy(r->involved, p, n);
			r->involved[n] = 0;
			known = n > 0;
			break;
		case ROW_F32:
			bits = (uint32_t)get_le(p, 4);
			memcpy(&r->values[i].f, &bits, sizeof(bits));
			/* false for NaN */
			known = r->values[i].f >= -COLMET_FLOAT_MAX &&
				r->values[i].f <= COLMET_FLOAT_MAX;
			break;
		default:
			r->values[i].i = (int64_t)get_le(p, f->size);
			known = f->type == ROW_I64 ? r->values[i].i != -1 : r->values[i].i >= 0;
		}
		if (!known)
			r->absent |= (uint64_t)1 << i;
	}
	return true;
}

int colmet_unpack(const unsigned char **p, const unsigned char *end, struct fixed_row *ret,
		  struct strbuf *why)
{
	const unsigned char *at = *p;
	size_t left = (size_t)(end - at), n = 0;

	if (!left)
		return 0;
	if (left < COLMET_HEAD) {
		strbuf_addf(why, "%zu bytes are too few for the head of a record", left);
		return -EBADMSG;
	}
	bool padded = padded_size(at, NAME_SIZE, &n);
	ret->table = padded ? colmet_backend((const char *)at, n) : NULL;
	if (!ret->table) {
		strbuf_addstr(why, "unknown backend '");
		text_add_printable(why, (const char *)at, n < 64 ? n : 64);
		strbuf_addstr(why, n < 64 ? "'" : "...'");
		return -EBADMSG;
	}
	if (left < ret->table->record_size) {
		strbuf_addf(why, "%zu bytes are too few for a record of %s, which has %zu", left,
			    ret->table->name, ret->table->record_size);
		return -EBADMSG;
	}
	padded = padded_size(at + HOST_AT, NAME_SIZE, &n);
	if (!padded || !colmet_host_valid((const char *)at + HOST_AT, n)) {
		strbuf_addf(why, "a record of %s has no valid host name", ret->table->name);
		return -EBADMSG;
	}
	memcpy(ret->host, at + HOST_AT, n);
	ret->host[n] = 0;
	ret->job = get_le(at + JOB_AT, 8);
	ret->time_s = get_le(at + TIME_AT, 8);
	if (ret->job > COLMET_JOB_MAX || ret->time_s > COLMET_TIME_MAX) {
		strbuf_addf(why, "a record of %s has an impossible %s", ret->table->name,
			    ret->job > COLMET_JOB_MAX ? "job" : "time");
		return -EBADMSG;
	}
	if (!unpack_fields(at + COLMET_HEAD, ret)) {
		strbuf_addf(why, "the jobs in a record of %s are not a list", ret->table->name);
		return -EBADMSG;
	}
	*p = at + ret->table->record_size;
	return 1;
}
