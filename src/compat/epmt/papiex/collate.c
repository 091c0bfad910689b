/* Collation of papiex CSV files; see collate.h. */
#include "compat/epmt/papiex/collate.h"

#include <errno.h>
#include <string.h>

void collation_release(struct collation *c)
{
	strbuf_release(&c->comments);
	strbuf_release(&c->header);
	strbuf_release(&c->rows);
}

/* Commas that no backslash protects. */
static size_t count_separators(const char *s, size_t n)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		if (s[i] == '\\')
			i++;
		else if (s[i] == ',')
			count++;
	}
	return count;
}

int collation_add(struct collation *c, const char *text, size_t n, struct strbuf *why)
{
	size_t comments = c->comments.len, header = c->header.len, rows = c->rows.len;
	const char *p = text, *end = text + n;
	bool have_header = false;
	size_t want = 0;
	int line = 0, r = 0;

	for (const char *eol; p < end && r == 0; p = eol + 1) {
		eol = memchr(p, '\n', (size_t)(end - p));
		eol = eol ? eol : end;
		size_t len = (size_t)(eol - p);
		line++;
		if (!len)
			continue;
		if (*p == '#') {
			strbuf_add(&c->comments, p, len);
			strbuf_addch(&c->comments, '\n');
		} else if (!have_header) {
			have_header = true;
			want = count_separators(p, len);
			if (!header)
				strbuf_add(&c->header, p, len);
			else if (c->header.len != len || memcmp(c->header.buf, p, len) != 0)
				r = -EBADMSG;
			if (r < 0)
				strbuf_addf(why,
					    "line %d: the header differs from the other files'",
					    line);
		} else if (count_separators(p, len) != want) {
			strbuf_addf(why, "line %d: the header has %zu %s, this row has %zu", line,
				    want, plural(want, "delimiter", "delimiters"),
				    count_separators(p, len));
			r = -EBADMSG;
		} else {
			strbuf_add(&c->rows, p, len);
			strbuf_addch(&c->rows, '\n');
		}
	}
	if (r == 0 && !have_header) {
		strbuf_addstr(why, "has no header");
		r = -EBADMSG;
	}
	if (r < 0) {
		strbuf_cut(&c->comments, comments);
		strbuf_cut(&c->header, header);
		strbuf_cut(&c->rows, rows);
	}
	return r;
}

void collation_write(const struct collation *c, struct strbuf *out)
{
	strbuf_add(out, c->comments.buf, c->comments.len);
	strbuf_add(out, c->header.buf, c->header.len);
	strbuf_addch(out, '\n');
	strbuf_add(out, c->rows.buf, c->rows.len);
}

char *papiex_host_of(const char *file_name)
{
	const char *end = strstr(file_name, "papiex");
	size_t n = end ? (size_t)(end - file_name) : strlen(file_name);
	const char *collated = strstr(file_name, "-collated-");

	if (collated && (size_t)(collated - file_name) < n)
		n = (size_t)(collated - file_name);
	if (n && file_name[n - 1] == '-')
		n--;
	return xstrndup(file_name, n);
}
