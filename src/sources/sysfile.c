/* Small files of /proc and /sys; see sysfile.h. */
#include "sources/sysfile.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

static ssize_t read_file(struct sysfile *f, char *buf, size_t size)
{
	bool cached = f->cached;
	int r = sysfile_begin(f);

	if (r < 0)
		return r;
	ssize_t n = sysfile_get(f, buf, size, 0);
	/* the device behind it was taken away; another may have come in its place */
	if (cached && (n == -ENODEV || n == -ESTALE || n == -ENOENT)) {
		sysfile_end(f, false);
		return read_file(f, buf, size);
	}
	sysfile_end(f, cached || n >= 0);
	return n;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\n' || c == '\t' || c == '\r' || !c;
}

ssize_t sysfile_text(struct sysfile *f, char *buf, size_t size)
{
	ssize_t n = read_file(f, buf, size);
	size_t begin = 0, end;

	if (n < 0)
		return n;
	if ((size_t)n == size)
		return -EFBIG;
	for (end = (size_t)n; end && is_blank(buf[end - 1]);)
		end--;
	while (begin < end && is_blank(buf[begin]))
		begin++;
	memmove(buf, buf + begin, end - begin);
	buf[end - begin] = 0;
	return (ssize_t)(end - begin);
}

int sysfile_whole(struct sysfile *f, size_t max, struct strbuf *out)
{
	size_t room = SYSFILE_TEXT * 4;

	for (;;) {
		room = room < max ? room : max + 1;
		strbuf_grow(out, room);
		ssize_t n = read_file(f, out->buf + out->len, room);
		if (n < 0) {
			out->buf[out->len] = 0;
			return (int)n;
		}
		if ((size_t)n < room) {
			out->len += (size_t)n;
			out->buf[out->len] = 0;
			return 0;
		}
		if (room > max)
			break;
		room *= 2;
	}
	out->buf[out->len] = 0;
	return -EFBIG;
}

/* Text that is not a number means that there is no data. */
static int number_error(int r)
{
	return r == -EINVAL ? -ENODATA : r;
}

/* The text with a NUL, or a negative errno; NUL bytes inside a number are no number. */
static int number_text(struct sysfile *f, char *buf, size_t size)
{
	ssize_t n = sysfile_text(f, buf, size);

	if (n < 0)
		return n == -EFBIG ? -ENODATA : (int)n;
	return strlen(buf) == (size_t)n ? 0 : -ENODATA;
}

int sysfile_u64(struct sysfile *f, uint64_t *ret)
{
	char buf[128];
	int r = number_text(f, buf, sizeof(buf));

	return r < 0 ? r : number_error(parse_u64(buf, ret));
}

int sysfile_i64(struct sysfile *f, int64_t *ret)
{
	char buf[128];
	int r = number_text(f, buf, sizeof(buf));

	return r < 0 ? r : number_error(parse_i64(buf, ret));
}

bool sys_line(const char **p, const char *end, struct words *line)
{
	if (*p >= end)
		return false;
	const char *newline = memchr(*p, '\n', (size_t)(end - *p));
	*line = (struct words){*p, newline ? newline : end};
	*p = newline ? newline + 1 : end;
	return true;
}

/* ---- files that are read once ---- */

/* The file of a printf-like function, and its end. */
#define ONCE(f, fmt)                  \
	struct sysfile f;             \
	va_list ap;                   \
	va_start(ap, fmt);            \
	sysfile_vinit(&(f), fmt, ap); \
	va_end(ap)

ssize_t sys_text(char *buf, size_t size, const char *fmt, ...)
{
	ONCE(f, fmt);
	ssize_t n = sysfile_text(&f, buf, size);
	sysfile_close(&f);
	return n;
}

int sys_i64(int64_t *ret, const char *fmt, ...)
{
	ONCE(f, fmt);
	int r = sysfile_i64(&f, ret);
	sysfile_close(&f);
	return r;
}

int sys_readable(const char *fmt, ...)
{
	ONCE(f, fmt);
	int r = sysfile_begin(&f);
	sysfile_close(&f);
	return r;
}

void sys_clean(char *text)
{
	char *out = text;

	for (const char *p = text; *p; p++) {
		bool blank = *p == ' ' || *p == '\t' || *p == '\n' || *p == '\r';

		if (blank && (out == text || out[-1] == ' '))
			continue;
		*out++ = blank ? ' ' : (unsigned char)*p < 0x20 || *p == 0x7f ? '?' : *p;
	}
	while (out > text && out[-1] == ' ')
		out--;
	*out = 0;
}

void sys_fact(struct sample_set *set, uint32_t entity, const char *key, const char *fmt, ...)
{
	ONCE(f, fmt);
	char buf[256];
	ssize_t n = sysfile_text(&f, buf, sizeof(buf));
	sysfile_close(&f);
	if (n <= 0)
		return;
	sys_clean(buf);
	sample_set_metadata(set, entity, key, *buf ? buf : NULL);
}
