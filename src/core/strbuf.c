/* See strbuf.h for the contract. */
#include "core/strbuf.h"

#include <string.h>

char strbuf_empty[1];

void strbuf_release(struct strbuf *sb)
{
	if (sb->cap)
		free(sb->buf);
	*sb = (struct strbuf)STRBUF_INIT;
}

void strbuf_reset(struct strbuf *sb)
{
	sb->len = 0;
	if (sb->cap)
		sb->buf[0] = 0;
}

void strbuf_cut(struct strbuf *sb, size_t len)
{
	sb->len = len;
	if (sb->cap)
		sb->buf[len] = 0;
}

void strbuf_grow(struct strbuf *sb, size_t extra)
{
	if (extra > STRBUF_MAX - sb->len - 1) {
		fputs("plimsoll: a string exceeds 1 GiB\n", stderr);
		exit(70);
	}
	size_t need = sb->len + extra + 1;
	if (need <= sb->cap)
		return;
	size_t cap = sb->cap ? sb->cap : 64;
	while (cap < need)
		cap *= 2;
	sb->buf = xreallocarray(sb->cap ? sb->buf : NULL, cap, 1);
	sb->cap = cap;
	sb->buf[sb->len] = 0;
}

void strbuf_add(struct strbuf *sb, const void *data, size_t n)
{
	if (!n)
		return;
	strbuf_grow(sb, n);
	memcpy(sb->buf + sb->len, data, n);
	sb->len += n;
	sb->buf[sb->len] = 0;
}

void strbuf_addstr(struct strbuf *sb, const char *s)
{
	strbuf_add(sb, s, strlen(s));
}

void strbuf_addch(struct strbuf *sb, char c)
{
	if (sb->len + 2 > sb->cap)
		strbuf_grow(sb, 1);
	sb->buf[sb->len++] = c;
	sb->buf[sb->len] = 0;
}

void strbuf_vaddf(struct strbuf *sb, const char *fmt, va_list ap)
{
	va_list again;

	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, again);
	va_end(again);
	if (n <= 0)
		return;
	strbuf_grow(sb, (size_t)n);
	vsnprintf(sb->buf + sb->len, (size_t)n + 1, fmt, ap);
	sb->len += (size_t)n;
}

void strbuf_addf(struct strbuf *sb, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(sb, fmt, ap);
	va_end(ap);
}

int strbuf_fail(struct strbuf *why, int error, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(why, fmt, ap);
	va_end(ap);
	return error;
}

char *strbuf_take(struct strbuf *sb)
{
	char *s = sb->cap ? sb->buf : xstrdup("");

	*sb = (struct strbuf)STRBUF_INIT;
	return s;
}
