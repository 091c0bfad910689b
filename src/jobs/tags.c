/* Tag syntax; see tags.h. */
#include "jobs/tags.h"

#include <string.h>

static char *trimmed(const char *s, size_t n)
{
	while (n && (*s == ' ' || *s == '\t')) {
		s++;
		n--;
	}
	while (n && (s[n - 1] == ' ' || s[n - 1] == '\t'))
		n--;
	return xstrndup(s, n);
}

static void drop(struct strbuf *dropped, const char *s, size_t n)
{
	if (!dropped)
		return;
	if (dropped->len)
		strbuf_addstr(dropped, ", ");
	strbuf_add(dropped, s, n);
}

struct value *tags_parse(const char *text, struct strbuf *dropped)
{
	struct value *tags = value_new(VALUE_DICT);

	for (const char *p = text, *next; p && *p; p = next) {
		size_t n = strcspn(p, ";");
		const char *colon = memchr(p, ':', n);

		next = p + n + (p[n] == ';');
		if (colon && memchr(colon + 1, ':', n - (size_t)(colon + 1 - p))) {
			drop(dropped, p, n);
			continue;
		}
		_cleanup_free_ char *key = trimmed(p, colon ? (size_t)(colon - p) : n);
		_cleanup_free_ char *v =
			colon ? trimmed(colon + 1, n - (size_t)(colon + 1 - p)) : xstrdup("1");
		if (*key && value_pairs(tags) < VALUE_PAIRS_MAX)
			value_set(tags, key, value_str(v));
		else if (colon || *key)
			drop(dropped, p, n);
	}
	return tags;
}

char *tags_suggestion(const char *word)
{
	size_t n = strcspn(word, "=");

	if (!n || !word[n] || strchr(word, ':'))
		return NULL;
	return xasprintf("%.*s:%s", (int)n, word, word + n + 1);
}

struct value *tags_parse_all(const char *text, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf dropped = STRBUF_INIT;
	_cleanup_value_ struct value *tags = tags_parse(text, &dropped);

	if (dropped.len)
		strbuf_addf(why, "'%s' is not of the form KEY:VALUE", dropped.buf);
	else if (!value_pairs(tags))
		strbuf_addf(why, "there is no KEY:VALUE in '%s'", text);
	else
		return value_ref(tags);
	return NULL;
}

bool tags_contain(const struct value *tags, const struct value *wanted)
{
	for (size_t i = 0; i < value_pairs(wanted); i++) {
		const char *have = value_get_str(tags, value_key(wanted, i)->str.data);
		const struct value *v = value_at(wanted, i);

		if (!have || (v->kind != VALUE_STR && v->kind != VALUE_NONE) ||
		    (v->kind == VALUE_STR && strcmp(have, v->str.data) != 0))
			return false;
	}
	return true;
}
