/* Targets of requests; see target.h. */
#include "web/http/target.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "core/text/text.h"

static int hex_digit(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 0x20);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Decodes in place up to any character of `ends`; *ret_end is that character, 0 at the end of the
 * text. The position behind it, or NULL with the reason. */
static char *decode(char *s, const char *ends, bool plus, char *ret_end, struct strbuf *why)
{
	char *out = s, *begin = s;

	while (*s && !strchr(ends, *s)) {
		int c = (unsigned char)*s;

		if (c == '%') {
			int high = hex_digit(s[1]), low = high < 0 ? -1 : hex_digit(s[2]);

			if (low < 0) {
				strbuf_addstr(why, "invalid % escape in the address");
				return NULL;
			}
			c = high << 4 | low;
			s += 2;
		} else if (plus && c == '+') {
			c = ' ';
		}
		if (c < 0x20 && !(plus && (c == '\t' || c == '\n' || c == '\r'))) {
			strbuf_addstr(why, "control character in the address");
			return NULL;
		}
		*out++ = (char)c;
		s++;
	}
	*ret_end = *s;
	s += *s != 0;
	*out = 0;
	if (!utf8_valid(begin, (size_t)(out - begin))) {
		strbuf_addstr(why, "the address is not UTF-8");
		return NULL;
	}
	return s;
}

/* The path; the position of the query string, NULL with the reason. */
static char *parse_path(struct target *t, char *s, struct strbuf *why)
{
	char end = '/';

	while (end == '/') {
		char *segment = s;

		s = decode(s, "/?", false, &end, why);
		if (!s)
			return NULL;
		if (!*segment && end != '/') { /* "/", or a slash at the end */
			t->slash = t->segment_count > 0;
			break;
		}
		if (!*segment || strchr(segment, '/') || !strcmp(segment, ".") ||
		    !strcmp(segment, "..")) {
			strbuf_addstr(why, "invalid path in the address");
			return NULL;
		}
		if (t->segment_count == TARGET_SEGMENTS_MAX) {
			strbuf_addstr(why, "the path has too many parts");
			return NULL;
		}
		t->segments[t->segment_count++] = segment;
	}
	return s;
}

static int parse_query(struct target *t, char *s, struct strbuf *why)
{
	while (*s) {
		struct target_pair p = {.name = s};
		char end;

		s = decode(s, "=&", true, &end, why);
		if (s && end == '=') {
			p.value = s;
			s = decode(s, "&", true, &end, why);
		}
		if (!s)
			return -EINVAL;
		if (!*p.name && !p.value)
			continue;
		if (t->pair_count == TARGET_PAIRS_MAX)
			return strbuf_fail(why, -EINVAL, "the address has too many parameters");
		t->pairs[t->pair_count++] = p;
	}
	return 0;
}

int target_parse(struct target *t, const char *text, const char *base, struct strbuf *why)
{
	size_t n = strlen(text), cut = strlen(base);

	*t = (struct target){0};
	if (*text != '/')
		return strbuf_fail(why, -EINVAL, "the address must begin with /");
	if (n > TARGET_MAX)
		return strbuf_fail(why, -EINVAL, "the address is too long");
	if (cut && (strncmp(text, base, cut) != 0 || (text[cut] && !strchr("/?", text[cut]))))
		return strbuf_fail(why, -ENOENT, "the pages are below %s/", base);
	text += cut;
	t->text = xstrdup(*text == '/' ? text + 1 : text);
	char *query = parse_path(t, t->text, why);
	int r = query ? parse_query(t, query, why) : -EINVAL;
	if (r < 0)
		target_release(t);
	return r;
}

void target_release(struct target *t)
{
	free(t->text);
	*t = (struct target){0};
}

const char *target_value(const struct target *t, const char *name)
{
	for (size_t i = 0; i < t->pair_count; i++)
		if (!strcmp(t->pairs[i].name, name))
			return t->pairs[i].value ? t->pairs[i].value : "";
	return NULL;
}

void target_add_encoded(const char *s, struct strbuf *out)
{
	for (; *s; s++)
		if ((*s >= 'a' && *s <= 'z') || (*s >= 'A' && *s <= 'Z') ||
		    (*s >= '0' && *s <= '9') || strchr("-_.@", *s))
			strbuf_addch(out, *s);
		else
			strbuf_addf(out, "%%%02X", (unsigned)(unsigned char)*s);
}
