/*
 * Cursors: the value and the number of the last row of a page, in hexadecimal digits, with a mark
 * of the list and a checksum. They only ever become bound parameters, so that a forged one shows
 * another part of the same list.
 */
#include <errno.h>
#include <string.h>

#include "core/crc32c.h"
#include "core/text/text.h"
#include "store/job_list_internal.h"

#define VERSION 1

void list_cursor_release(struct list_cursor *c)
{
	free(c->text);
}

/* ---- the mark ------------------------------------------------------------------------------- */

static void add_text(struct strbuf *out, const char *s)
{
	strbuf_addf(out, "%zu:%s,", s ? strlen(s) : 0, s ? s : "");
}

/* The depth is bounded by the parser. */
static void add_node(struct strbuf *out, const struct filter_node *n)
{
	strbuf_addf(out, "(%d %d ", (int)n->kind, (int)n->op);
	add_text(out, n->key.name);
	add_text(out, n->name);
	for (size_t i = 0; i < n->value_count; i++) {
		if (n->values[i].text)
			add_text(out, n->values[i].text);
		else
			strbuf_addf(out, "%lld..%lld,", (long long)n->values[i].number,
				    (long long)n->values[i].end);
	}
	for (size_t i = 0; i < n->count; i++)
		add_node(out, n->children[i]);
	strbuf_addch(out, ')');
}

uint32_t list_mark(struct filter *where, const char *order)
{
	_cleanup_strbuf_ struct strbuf all = STRBUF_INIT;

	add_text(&all, order);
	if (!filter_is_empty(where))
		add_node(&all, where->root);
	return crc32c(0, all.buf, all.len);
}

/* ---- bytes ---------------------------------------------------------------------------------- */

static void put_number(struct strbuf *out, uint64_t v, int bytes)
{
	while (bytes--)
		strbuf_addch(out, (char)(v >> (8 * bytes)));
}

static uint64_t take_number(const unsigned char **p, int bytes)
{
	uint64_t v = 0;

	while (bytes--)
		v = v << 8 | *(*p)++;
	return v;
}

char *list_cursor_write(const struct list_cursor *c, uint32_t mark)
{
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT;
	struct strbuf out = STRBUF_INIT;

	put_number(&bytes, VERSION, 1);
	put_number(&bytes, mark, 4);
	put_number(&bytes, (unsigned)c->unknown | (unsigned)c->is_text << 1, 1);
	put_number(&bytes, (uint64_t)c->job, 8);
	if (!c->is_text)
		put_number(&bytes, (uint64_t)c->number, 8);
	else
		strbuf_addstr(&bytes, c->text ? c->text : "");
	put_number(&bytes, crc32c(0, bytes.buf, bytes.len), 4);
	for (size_t i = 0; i < bytes.len; i++)
		strbuf_addf(&out, "%02x", (unsigned char)bytes.buf[i]);
	return strbuf_take(&out);
}

static int digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* -EINVAL unless all are pairs of digits, and not too many. */
static int take_bytes(struct strbuf *to, const char *text)
{
	size_t n = strnlen(text, JOB_LIST_CURSOR_MAX + 1);

	if (n > JOB_LIST_CURSOR_MAX || n % 2)
		return -EINVAL;
	for (size_t i = 0; i < n; i += 2) {
		int high = digit(text[i]), low = digit(text[i + 1]);

		if (high < 0 || low < 0)
			return -EINVAL;
		strbuf_addch(to, (char)(high << 4 | low));
	}
	return 0;
}

int list_cursor_read(struct list_cursor *ret, const char *text, uint32_t mark)
{
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT;
	const size_t front = 14, sum = 4;

	if (take_bytes(&bytes, text) < 0 || bytes.len < front + sum)
		return -EINVAL;
	const unsigned char *p = (const unsigned char *)bytes.buf, *end = p + bytes.len - sum,
			    *behind = end;
	if (take_number(&behind, 4) != crc32c(0, bytes.buf, bytes.len - sum) ||
	    take_number(&p, 1) != VERSION || take_number(&p, 4) != mark)
		return -EINVAL;
	unsigned flags = (unsigned)take_number(&p, 1);
	struct list_cursor c = {.unknown = flags & 1, .is_text = flags & 2};
	c.job = (int64_t)take_number(&p, 8);
	if (flags > 3 || (!c.is_text && end - p != 8))
		return -EINVAL;
	if (c.is_text && !utf8_valid((const char *)p, (size_t)(end - p)))
		return -EINVAL;
	if (c.is_text)
		c.text = xstrndup((const char *)p, (size_t)(end - p));
	else
		c.number = (int64_t)take_number(&p, 8);
	*ret = c;
	return 0;
}
