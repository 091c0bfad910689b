/* Small files of /proc and /sys; see sysfile.h. */
#include "sources/sysfile.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <string.h>

static ssize_t read_file(struct sysfile *f, char *buf, size_t size)
{
	bool kept = f->kept;
	int r = sysfile_begin(f);

	if (r < 0)
		return r;
	ssize_t n = sysfile_get(f, buf, size, 0);
	/* the device behind it was taken away; another may have come in its place */
	if (kept && (n == -ENODEV || n == -ESTALE || n == -ENOENT)) {
		sysfile_end(f, false);
		return read_file(f, buf, size);
	}
	sysfile_end(f, kept || n >= 0);
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

/* Text that is no number is data that is not there; a number with NUL bytes in it is no number. */
static int number_error(int r)
{
	return r == -EINVAL ? -ENODATA : r;
}

int sysfile_u64(struct sysfile *f, uint64_t *ret)
{
	char buf[128];
	ssize_t n = sysfile_text(f, buf, sizeof(buf));

	if (n < 0)
		return n == -EFBIG ? -ENODATA : (int)n;
	return strlen(buf) == (size_t)n ? number_error(parse_u64(buf, ret)) : -ENODATA;
}

int sysfile_i64(struct sysfile *f, int64_t *ret)
{
	char buf[128];
	ssize_t n = sysfile_text(f, buf, sizeof(buf));

	if (n < 0)
		return n == -EFBIG ? -ENODATA : (int)n;
	return strlen(buf) == (size_t)n ? number_error(parse_i64(buf, ret)) : -ENODATA;
}

/* ---- files that are read once ------------------------------------------------------------------
 */

ssize_t sys_text(char *buf, size_t size, const char *fmt, ...)
{
	struct sysfile f;
	va_list ap;

	va_start(ap, fmt);
	sysfile_vinit(&f, fmt, ap);
	va_end(ap);
	ssize_t n = sysfile_text(&f, buf, size);
	sysfile_close(&f);
	return n;
}

int sys_i64(int64_t *ret, const char *fmt, ...)
{
	struct sysfile f;
	va_list ap;

	va_start(ap, fmt);
	sysfile_vinit(&f, fmt, ap);
	va_end(ap);
	int r = sysfile_i64(&f, ret);
	sysfile_close(&f);
	return r;
}

int sys_readable(const char *fmt, ...)
{
	struct sysfile f;
	va_list ap;

	va_start(ap, fmt);
	sysfile_vinit(&f, fmt, ap);
	va_end(ap);
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
	struct sysfile f;
	char buf[256];
	va_list ap;

	va_start(ap, fmt);
	sysfile_vinit(&f, fmt, ap);
	va_end(ap);
	ssize_t n = sysfile_text(&f, buf, sizeof(buf));
	sysfile_close(&f);
	if (n <= 0)
		return;
	sys_clean(buf);
	sample_fact(set, entity, key, *buf ? buf : NULL);
}

/* ---- lists
 * ---------------------------------------------------------------------------------------
 */

static int by_version(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

int syslist_read(struct syslist *l, const char *prefix, const char *fmt, ...)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT;
	size_t cap = 0;
	va_list ap;

	*l = (struct syslist){0};
	va_start(ap, fmt);
	strbuf_vaddf(&path, fmt, ap);
	va_end(ap);
	DIR *dir = opendir(path.buf);
	if (!dir)
		return -errno;
	for (struct dirent *e; l->count < SYSLIST_MAX && (e = readdir(dir));) {
		if (e->d_name[0] == '.' || !str_prefix(e->d_name, prefix))
			continue;
		GROW(l->names, l->count, cap);
		l->names[l->count++] = xstrdup(e->d_name);
	}
	closedir(dir);
	if (l->count)
		qsort(l->names, l->count, sizeof(*l->names), by_version);
	return 0;
}

void syslist_release(struct syslist *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->names[i]);
	free(l->names);
	*l = (struct syslist){0};
}
