/* Cached files; see cached_file.h. */
#include "core/files/cached_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "core/files/fs.h"

#define ONCE_MAX ((size_t)16 << 20)

/* Number of cached descriptors of all sources and threads, and its limit. */
static atomic_long cached_count, cached_limit;

static bool may_cache(void)
{
	long limit = atomic_load(&cached_limit);

	if (!limit) {
		struct rlimit rl = {.rlim_cur = 256};

		(void)getrlimit(RLIMIT_NOFILE, &rl);
		limit = rl.rlim_cur < 65536 ? (long)rl.rlim_cur / 4 : 16384;
		limit = limit > 0 ? limit : 1;
		atomic_store(&cached_limit, limit);
	}
	if (atomic_fetch_add(&cached_count, 1) < limit)
		return true;
	atomic_fetch_sub(&cached_count, 1);
	return false;
}

void sysfile_vinit(struct sysfile *f, const char *fmt, va_list ap)
{
	struct strbuf path = STRBUF_INIT;

	strbuf_vaddf(&path, fmt, ap);
	*f = (struct sysfile){.path = strbuf_take(&path), .fd = -1};
}

void sysfile_init(struct sysfile *f, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	sysfile_vinit(f, fmt, ap);
	va_end(ap);
}

int sysfile_begin(struct sysfile *f)
{
	struct stat st;

	if (!f->path)
		return -ENOENT;
	if (f->fd >= 0)
		return 0;
	f->fd = open(f->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (f->fd < 0)
		return -errno;
	/* a pipe or device may block */
	int r = fstat(f->fd, &st) < 0 ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
	if (r < 0)
		sysfile_end(f, false);
	return r;
}

ssize_t sysfile_get(const struct sysfile *f, char *buf, size_t size, size_t from)
{
	size_t have = 0;

	while (have < size) {
		ssize_t n = pread(f->fd, buf + have, size - have, (off_t)(from + have));

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

void sysfile_end(struct sysfile *f, bool keep)
{
	/* a file without a path is not open */
	if (!f->path || f->fd < 0)
		return;
	if (keep && (f->cached || may_cache())) {
		f->cached = true;
		return;
	}
	close(f->fd);
	f->fd = -1;
	if (f->cached)
		atomic_fetch_sub(&cached_count, 1);
	f->cached = false;
}

void sysfile_close(struct sysfile *f)
{
	sysfile_end(f, false);
	free(f->path);
	*f = (struct sysfile)SYSFILE_INIT;
}

void cached_file_init(struct cached_file *k, const char *fmt, ...)
{
	va_list ap;

	*k = (struct cached_file){0};
	va_start(ap, fmt);
	sysfile_vinit(&k->file, fmt, ap);
	va_end(ap);
}

void cached_file_release(struct cached_file *k)
{
	sysfile_close(&k->file);
	free(k->text);
	*k = (struct cached_file){.file = SYSFILE_INIT};
}

/* Reads the whole text. */
static int read_text(struct cached_file *k)
{
	int r = sysfile_begin(&k->file);

	if (r < 0)
		return r;
	for (;;) {
		size_t room = k->cap - k->len - 1;
		ssize_t n = sysfile_get(&k->file, k->text + k->len, room, k->len);

		if (n < 0)
			return (int)n;
		k->len += (size_t)n;
		if ((size_t)n < room)
			return 0;
		if (k->cap >= CACHED_FILE_MAX)
			return -EFBIG;
		k->cap *= 2;
		k->text = xreallocarray(k->text, k->cap, 1);
	}
}

int cached_file_read(struct cached_file *k)
{
	if (!k->text) {
		k->cap = 4096;
		k->text = xmalloc(k->cap);
	}
	k->len = 0;
	int r = read_text(k);
	sysfile_end(&k->file, r == 0);
	if (r < 0)
		k->len = 0;
	k->text[k->len] = 0;
	/* the kernel prints no NUL, and names with one would be ambiguous */
	for (char *p = k->text; (p = memchr(p, 0, (size_t)(k->text + k->len - p)));)
		*p = '?';
	return r;
}

char *read_once(const char *fmt, ...)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT;
	struct strbuf text = STRBUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&path, fmt, ap);
	va_end(ap);
	if (fs_read(AT_FDCWD, path.buf, ONCE_MAX, &text) < 0) {
		strbuf_release(&text);
		return NULL;
	}
	return text.len ? strbuf_take(&text) : xstrdup("");
}

char *read_fact(const char *fmt, ...)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&path, fmt, ap);
	va_end(ap);
	_cleanup_free_ char *text = read_once("%s", path.buf);
	if (!text)
		return NULL;
	const char *p = text + strspn(text, " \t");
	size_t n = strcspn(p, "\n");
	while (n && (p[n - 1] == ' ' || p[n - 1] == '\t'))
		n--;
	return n ? xstrndup(p, n) : NULL;
}

/* ---- names in a directory ---------------------------------------------------------------------
 */

static int by_version(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

int name_list_read(struct name_list *l, const char *prefix, const char *fmt, ...)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT;
	size_t cap = 0;
	va_list ap;

	*l = (struct name_list){0};
	va_start(ap, fmt);
	strbuf_vaddf(&path, fmt, ap);
	va_end(ap);
	_cleanup_list_ DIR *dir = opendir(path.buf);
	if (!dir)
		return -errno;
	for (struct dirent *e; l->count < NAME_LIST_MAX && (e = readdir(dir));) {
		if (e->d_name[0] == '.' || !str_prefix(e->d_name, prefix))
			continue;
		GROW(l->names, l->count, cap);
		l->names[l->count++] = xstrdup(e->d_name);
	}
	if (l->count)
		qsort(l->names, l->count, sizeof(*l->names), by_version);
	return 0;
}

void name_list_release(struct name_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->names[i]);
	free(l->names);
	*l = (struct name_list){0};
}

/* ---- lines, words, numbers ------------------------------------------------------------------- */

bool line_next(struct words *text, struct words *line)
{
	size_t left = (size_t)(text->end - text->p);
	const char *eol = left ? memchr(text->p, '\n', left) : NULL;

	if (!eol)
		return false;
	*line = (struct words){text->p, eol};
	text->p = eol + 1;
	return true;
}

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

bool word_next(struct words *line, struct words *word)
{
	while (line->p < line->end && is_blank(*line->p))
		line->p++;
	word->p = line->p;
	while (line->p < line->end && !is_blank(*line->p))
		line->p++;
	word->end = line->p;
	return word->p < word->end;
}

bool word_is(const struct words *word, const char *s)
{
	size_t n = strlen(s);

	return (size_t)(word->end - word->p) == n && !memcmp(word->p, s, n);
}

bool word_begins(const struct words *word, const char *s)
{
	size_t n = strlen(s);

	return (size_t)(word->end - word->p) >= n && !memcmp(word->p, s, n);
}

static bool digits(const char *p, const char *end, uint64_t *ret)
{
	uint64_t v = 0;

	if (p == end)
		return false;
	for (; p < end; p++) {
		if (*p < '0' || *p > '9' || v > (INT64_MAX - 9) / 10)
			return false;
		v = v * 10 + (uint64_t)(*p - '0');
	}
	*ret = v;
	return true;
}

bool number_next(struct words *line, uint64_t *ret)
{
	struct words word;

	return word_next(line, &word) && digits(word.p, word.end, ret);
}

bool number_only(const struct words *text, uint64_t *ret)
{
	struct words rest = *text, line;

	return line_next(&rest, &line) && number_next(&line, ret);
}

bool hundredths(const struct words *word, uint64_t *ret)
{
	const char *p = word->p, *equals = memchr(p, '=', (size_t)(word->end - p));
	uint64_t whole, part;

	if (equals)
		p = equals + 1;
	const char *point = p < word->end ? memchr(p, '.', (size_t)(word->end - p)) : NULL;
	if (!point || word->end - point != 3 || !digits(p, point, &whole) ||
	    !digits(point + 1, word->end, &part) || whole > INT32_MAX)
		return false;
	*ret = whole * 100 + part;
	return true;
}
