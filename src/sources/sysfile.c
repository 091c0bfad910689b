/* Small files of /proc and /sys; see sysfile.h. */
#include "sources/sysfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

/* How many descriptors are kept by all sources, which may run in several threads, and may be. */
static atomic_long kept, keep_limit;

static bool may_keep(void)
{
	long limit = atomic_load(&keep_limit);

	if (!limit) {
		struct rlimit rl = {.rlim_cur = 256};

		(void)getrlimit(RLIMIT_NOFILE, &rl);
		limit = rl.rlim_cur < 65536 ? (long)rl.rlim_cur / 4 : 16384;
		limit = limit > 0 ? limit : 1;
		atomic_store(&keep_limit, limit);
	}
	if (atomic_fetch_add(&kept, 1) < limit)
		return true;
	atomic_fetch_sub(&kept, 1);
	return false;
}

static char *path_of(const char *fmt, va_list ap)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT;

	strbuf_vaddf(&path, fmt, ap);
	return xstrdup(path.buf);
}

void sysfile_init(struct sysfile *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	*f = (struct sysfile){path_of(fmt, ap), -1};
	va_end(ap);
}

static void forget_fd(struct sysfile *f)
{
	if (f->fd >= 0) {
		close(f->fd);
		atomic_fetch_sub(&kept, 1);
	}
	f->fd = -1;
}

void sysfile_close(struct sysfile *f)
{
	forget_fd(f);
	free(f->path);
	f->path = NULL;
}

/* Not a pipe or a device that somebody put into a tree: those may block. */
static int open_regular(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

/* From the start to the end or until buf is full: the number of bytes. */
static ssize_t read_fd(int fd, char *buf, size_t size)
{
	size_t have = 0;

	while (have < size) {
		ssize_t n = pread(fd, buf + have, size - have, (off_t)have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		have += (size_t)n;
	}
	return (ssize_t)have;
}

static ssize_t read_file(struct sysfile *f, char *buf, size_t size)
{
	if (!f->path)
		return -ENOENT;
	if (f->fd >= 0) {
		ssize_t n = read_fd(f->fd, buf, size);

		/* the device behind it was taken away; another may have come in its place */
		if (n != -ENODEV && n != -ESTALE && n != -ENOENT)
			return n;
		forget_fd(f);
	}
	int fd = open_regular(f->path);
	if (fd < 0)
		return fd;
	ssize_t n = read_fd(fd, buf, size);
	if (n >= 0 && may_keep())
		f->fd = fd;
	else
		close(fd);
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
	va_list ap;

	va_start(ap, fmt);
	struct sysfile f = {path_of(fmt, ap), -1};
	va_end(ap);
	ssize_t n = sysfile_text(&f, buf, size);
	sysfile_close(&f);
	return n;
}

int sys_i64(int64_t *ret, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	struct sysfile f = {path_of(fmt, ap), -1};
	va_end(ap);
	int r = sysfile_i64(&f, ret);
	sysfile_close(&f);
	return r;
}

int sys_readable(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	_cleanup_free_ char *path = path_of(fmt, ap);
	va_end(ap);
	int fd = open_regular(path);
	if (fd < 0)
		return fd;
	close(fd);
	return 0;
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
	char buf[256];
	va_list ap;

	va_start(ap, fmt);
	struct sysfile f = {path_of(fmt, ap), -1};
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
	size_t cap = 0;
	va_list ap;

	*l = (struct syslist){0};
	va_start(ap, fmt);
	_cleanup_free_ char *path = path_of(fmt, ap);
	va_end(ap);
	DIR *dir = opendir(path);
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
