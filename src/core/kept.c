/* Files that are read again and again; see kept.h. */
#include "core/kept.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>

#include "core/fs.h"

#define ONCE_MAX ((size_t)16 << 20)

void kept_init(struct kept *k, const char *fmt, ...)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT;
	va_list ap;

	va_start(ap, fmt);
	strbuf_vaddf(&path, fmt, ap);
	va_end(ap);
	*k = (struct kept){.path = strbuf_take(&path), .fd = -1};
}

void kept_release(struct kept *k)
{
	/* one that never was named has no descriptor either */
	if (k->path && k->fd >= 0)
		close(k->fd);
	free(k->path);
	free(k->text);
	*k = (struct kept){.fd = -1};
}

static int fail(struct kept *k, int error)
{
	if (k->fd >= 0)
		close(k->fd);
	k->fd = -1;
	k->len = 0;
	if (k->text)
		k->text[0] = 0;
	return -error;
}

static int open_again(struct kept *k)
{
	struct stat st;

	k->fd = open(k->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (k->fd < 0 || fstat(k->fd, &st) < 0)
		return fail(k, errno);
	return S_ISREG(st.st_mode) ? 0 : fail(k, EINVAL);
}

int kept_read(struct kept *k)
{
	if (!k->text) {
		k->cap = 4096;
		k->text = xmalloc(k->cap);
		k->text[0] = 0;
	}
	if (k->fd < 0) {
		int r = open_again(k);

		if (r < 0)
			return r;
	}
	k->len = 0;
	for (;;) {
		if (k->cap - k->len < 2048) {
			if (k->cap >= KEPT_MAX)
				return fail(k, EFBIG);
			k->cap *= 2;
			k->text = xreallocarray(k->text, k->cap, 1);
		}
		ssize_t n = pread(k->fd, k->text + k->len, k->cap - k->len - 1, (off_t)k->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return fail(k, errno);
		k->len += (size_t)n;
		k->text[k->len] = 0;
		if (n == 0)
			break;
	}
	/* the kernel prints none; names that hold one could not be told apart */
	for (char *p = k->text; (p = memchr(p, 0, (size_t)(k->text + k->len - p)));)
		*p = '?';
	return 0;
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

/* ---- lines, words, numbers ----------------------------------------------------------------------
 */

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

void put_keys(struct sample_set *set, const struct kept *k, const struct key_metric *keys,
	      size_t count)
{
	struct words text = kept_words(k), line, key;
	uint64_t v;

	while (line_next(&text, &line)) {
		if (!word_next(&line, &key))
			continue;
		if (key.end[-1] == ':')
			key.end--;
		for (size_t i = 0; i < count; i++)
			if (word_is(&key, keys[i].key)) {
				if (number_next(&line, &v))
					sample_put(set, keys[i].metric, (int64_t)v);
				break;
			}
	}
}

void absent_keys(struct sample_set *set, const char *file, const struct key_metric *keys,
		 size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!put_already(set, keys[i].metric))
			sample_absent(set, keys[i].metric, "%s of this kernel has no %s", file,
				      keys[i].key);
}

/* ---- counters that may start again --------------------------------------------------------------
 */

bool count_wrapped(const struct unwrap *u, uint64_t raw)
{
	const uint64_t half = (uint64_t)1 << 31;

	return u->seen && raw < u->last && u->last >= half && u->last < 2 * half && raw < half;
}

uint64_t count_on(struct unwrap *u, uint64_t raw, bool again)
{
	uint64_t more = 0;

	if (!u->seen)
		more = raw;
	else if (!again && raw >= u->last)
		more = raw - u->last;
	else if (!again && count_wrapped(u, raw))
		more = ((uint64_t)1 << 32) - u->last + raw;
	u->seen = true;
	u->last = raw;
	/* values are signed: a counter that came this far stays there */
	u->total = more > INT64_MAX - u->total ? INT64_MAX : u->total + more;
	return u->total;
}
