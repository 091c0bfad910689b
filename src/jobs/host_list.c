/* Lists of hosts; see host_list.h. */
#include "jobs/host_list.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>

#include "core/files/fs.h"
#include "core/hash_map.h"
#include "core/text/text.h"

void host_list_release(struct host_list *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->names[i]);
	free(l->names);
	*l = (struct host_list){0};
}

static bool is_mark(char c)
{
	return c == '.' || c == '_' || c == '-';
}

bool host_list_name_valid(const char *name, size_t n)
{
	if (!n || n > HOST_LIST_NAME_MAX || is_mark(name[0]))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!isascii(name[i]) || (!isalnum((unsigned char)name[i]) && !is_mark(name[i])))
			return false;
	return true;
}

static int fail(struct strbuf *why, int error, const char *what, const char *text, size_t n)
{
	strbuf_addf(why, "%s in '", what);
	text_add_printable(why, text, n < 80 ? n : 80);
	strbuf_addstr(why, n < 80 ? "'" : "...'");
	return -error;
}

/* Adjacent repetitions, as a node file has for each core, cost nothing. */
static int add(struct host_list *l, const char *name, size_t n)
{
	const char *last = l->count ? l->names[l->count - 1] : "";

	if (!host_list_name_valid(name, n))
		return -EINVAL;
	if (strlen(last) == n && !memcmp(last, name, n))
		return 0;
	/* repetitions that are not adjacent are removed later */
	if (l->count >= 16 * (size_t)HOST_LIST_MAX)
		return -E2BIG;
	GROW(l->names, l->count, l->cap);
	l->names[l->count++] = xstrndup(name, n);
	return 0;
}

static void drop_behind(struct host_list *l, size_t count)
{
	while (l->count > count)
		free(l->names[--l->count]);
}

/* Keeps the first of each name. */
static void drop_repeated(struct host_list *l)
{
	struct hash_map seen = {0};
	size_t kept = 0;

	for (size_t i = 0; i < l->count; i++) {
		uint64_t hash = hash_text(l->names[i]);
		struct hash_slot *s = hash_map_first(&seen, hash);

		while (s && strcmp(l->names[s->value], l->names[i]) != 0)
			s = hash_map_next(&seen, s);
		if (s) {
			free(l->names[i]);
			continue;
		}
		hash_map_add(&seen, hash, kept);
		l->names[kept++] = l->names[i];
	}
	l->count = kept;
	hash_map_release(&seen);
}

/* ---- bracket lists -------------------------------------------------------------------------- */

struct range {
	unsigned long low, high;
	int width; /* with leading zeros */
};

/* "3" or "03-17" at p, which ends at ',' or ']'. NULL: invalid. */
static const char *read_range(const char *p, struct range *ret)
{
	unsigned long v[2];

	for (int i = 0; i < 2; i++) {
		size_t digits = strspn(p, "0123456789");

		if (!digits || digits > 9)
			return NULL;
		v[i] = strtoul(p, NULL, 10);
		if (i == 0)
			ret->width = (int)digits;
		p += digits;
		if (i == 0 && *p != '-') {
			v[1] = v[0];
			break;
		}
		p += i == 0;
	}
	ret->low = v[0];
	ret->high = v[1];
	return (*p == ',' || *p == ']') && v[0] <= v[1] ? p : NULL;
}

/* Names are generated one by one; their number is limited before repetitions are removed. */
struct expansion {
	struct host_list *list;
	struct strbuf name;
	size_t left;
};

/* Adds the names that start with e->name and continue with the pattern at p, up to its end. */
static int expand(struct expansion *e, const char *p, const char *end)
{
	size_t before = e->name.len;
	const char *open = memchr(p, '[', (size_t)(end - p));

	if (!e->left--)
		return -E2BIG;
	strbuf_add(&e->name, p, (size_t)((open ? open : end) - p));
	if (e->name.len > HOST_LIST_NAME_MAX)
		return -EINVAL;
	int r = open ? 0 : add(e->list, e->name.buf, e->name.len);
	const char *close = open ? memchr(open, ']', (size_t)(end - open)) : NULL;
	if (open && !close)
		return -EINVAL;
	size_t stem = e->name.len;
	for (const char *q = open; r == 0 && open && *q != ']';) {
		struct range range;

		q = read_range(q + 1, &range);
		if (!q)
			return -EINVAL;
		for (unsigned long i = range.low; r == 0 && i <= range.high; i++) {
			strbuf_addf(&e->name, "%0*lu", range.width, i);
			r = expand(e, close + 1, end);
			strbuf_cut(&e->name, stem);
		}
	}
	strbuf_cut(&e->name, before);
	return r;
}

/* The comma that ends the pattern at p, or the end of the text; NULL: brackets do not match. */
static const char *pattern_end(const char *p)
{
	bool inside = false;

	for (; *p && (inside || *p != ','); p++) {
		if ((*p == '[' && inside) || (*p == ']' && !inside))
			return NULL;
		if (*p == '[' || *p == ']')
			inside = *p == '[';
	}
	return inside ? NULL : p;
}

int host_list_parse(struct host_list *l, const char *text, struct strbuf *why)
{
	struct expansion e = {.list = l, .name = STRBUF_INIT, .left = 4 * (size_t)HOST_LIST_MAX};
	size_t before = l->count, n = strnlen(text, HOST_LIST_TEXT_MAX + 1);
	int r = n > HOST_LIST_TEXT_MAX ? -E2BIG : 0;

	for (const char *p = text; r == 0;) {
		const char *end = pattern_end(p);

		r = end ? expand(&e, p, end) : -EINVAL;
		if (!end || !*end)
			break;
		p = end + 1;
	}
	strbuf_release(&e.name);
	if (r == 0)
		drop_repeated(l);
	if (r == 0 && l->count > HOST_LIST_MAX)
		r = -E2BIG;
	if (r < 0) {
		drop_behind(l, before);
		return fail(why, -r, r == -E2BIG ? "too many hosts" : "invalid host list", text, n);
	}
	return 0;
}

/* ---- node files ------------------------------------------------------------------------------ */

int host_list_read(struct host_list *l, const char *path, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	size_t before = l->count;
	bool any = false;
	int r = fs_read(AT_FDCWD, path, HOST_LIST_TEXT_MAX, &text);

	if (r < 0)
		return strbuf_fail(why, r, "cannot read node file '%s': %s", path, strerror(-r));
	const char *end = text.buf + text.len;
	for (const char *p = text.buf; r == 0 && p < end;) {
		const char *line = memchr(p, '\n', (size_t)(end - p));
		const char *stop = line ? line : end;

		while (p < stop && (*p == ' ' || *p == '\t'))
			p++;
		const char *word = p;
		while (p < stop && *p != ' ' && *p != '\t' && *p != '\r')
			p++;
		any = any || p > word;
		r = p > word ? add(l, word, (size_t)(p - word)) : 0;
		if (r < 0)
			(void)fail(why, -r, r == -E2BIG ? "too many hosts" : "invalid host name",
				   word, (size_t)(p - word));
		p = stop + 1;
	}
	if (r == 0) {
		drop_repeated(l);
		r = !any ? -EINVAL : l->count > HOST_LIST_MAX ? -E2BIG : 0;
		if (r < 0)
			strbuf_addstr(why, r == -E2BIG ? "too many hosts" : "no hosts");
	}
	if (r < 0) {
		drop_behind(l, before);
		strbuf_addf(why, " (node file '%s')", path);
	}
	return r;
}

/* ---- looking up ------------------------------------------------------------------------------ */

static bool same_host(const char *a, const char *b)
{
	size_t na = strcspn(a, "."), nb = strcspn(b, ".");

	if (!strcasecmp(a, b))
		return true;
	return na == nb && !strncasecmp(a, b, na) && (!a[na] || !b[nb]);
}

ssize_t host_list_find(const struct host_list *l, const char *name)
{
	for (size_t i = 0; i < l->count; i++)
		if (!strcasecmp(l->names[i], name))
			return (ssize_t)i;
	for (size_t i = 0; i < l->count; i++)
		if (same_host(l->names[i], name))
			return (ssize_t)i;
	return -1;
}
