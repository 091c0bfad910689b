/*
 * URLs of stores and sinks as they may be shown. A password may contain unescaped special
 * characters, or the URL may be invalid. So every part that may be a password by any interpretation
 * is masked.
 */
#include "core/text/secrets.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

/* Shorter parts of a password occur in normal words. */
#define PIECE_MIN 3

/* Is it a file name and not a URL? */
static bool is_path(const char *text)
{
	static const char sqlite[] = "sqlite://";

	if (!strncmp(text, sqlite, sizeof(sqlite) - 1)) {
		text += sizeof(sqlite) - 1;
		return !*text || !strcmp(text, ":memory:") || *text == '/';
	}
	return (*text == '/' && text[1] != '/') || *text == '.' || !strcmp(text, ":memory:");
}

/* The length of "scheme://" or "//". */
static size_t scheme_length(const char *p, size_t n)
{
	size_t k = 0;

	while (k < n && (isalnum((unsigned char)p[k]) || strchr("+-.", p[k])))
		k++;
	if (k && k < n && p[k] == ':')
		k++;
	else
		k = 0;
	return k + 2 <= n && !memcmp(p + k, "//", 2) ? k + 2 : 0;
}

/* The length of the first URL in a list separated by commas. */
static size_t one_length(const char *p)
{
	for (size_t i = 0; p[i]; i++)
		if (p[i] == ',' && scheme_length(p + i + 1, strlen(p + i + 1)) > 2)
			return i;
	return strlen(p);
}

/* "user:password@": up to the last @, since the password may contain @. In web URLs a user name
 * alone is a token. */
static void mark_login(const char *p, size_t n, bool web, char *marks)
{
	const char *last = memrchr(p, '@', n);
	const char *colon = last ? memchr(p, ':', (size_t)(last - p)) : NULL;
	const char *from = colon ? colon + 1 : web ? p : last;

	if (last)
		memset(marks + (from - p), 1, (size_t)(last - from));
}

/* "host:port" with an invalid port, which may be a password without "@host". */
static void mark_port(const char *p, size_t n, char *marks)
{
	size_t end = 0, i = 0;

	while (end < n && !strchr("/?#", p[end]))
		end++;
	while (i < end) {
		const char *close = p[i] == '[' ? memchr(p + i, ']', end - i) : NULL;

		i = close ? (size_t)(close - p) : i;
		while (i < end && p[i] != ':' && p[i] != ',')
			i++;
		size_t port = ++i;
		if (port > end || p[port - 1] == ',')
			continue;
		while (i < end && (isdigit((unsigned char)p[i]) || strchr("*!", p[i])))
			i++;
		if (i < end && p[i] != ',') {
			memset(marks + port, 1, n - port);
			return;
		}
		i++;
	}
}

static bool is_secret_name(const char *p, size_t n)
{
	static const char *const words[] = {"pass", "pwd",  "secret", "token", "key",
					    "auth", "cred", "sig",    "jwt",   "%"};
	_cleanup_free_ char *name = xstrndup(p, n);

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcasestr(name, words[i]))
			return true;
	return secrets_is_option(name, n);
}

/* The length up to the next "&name=", since the password may contain &. Without a query everything
 * is masked. */
static size_t parameter_length(const char *p, size_t n, bool query)
{
	for (size_t i = 0; query && i < n; i++) {
		size_t k = i + 1;

		while (k < n && p[k] != '&' && p[k] != '=')
			k++;
		if (p[i] == '&' && k < n && p[k] == '=')
			return i;
	}
	return n;
}

static void mark_parameters(const char *p, size_t n, char *marks)
{
	bool query = memchr(p, '?', n) != NULL;

	for (size_t i = 0; i < n; i++) {
		size_t end = i, begin;

		if (p[i] != '=')
			continue;
		while (end && isspace((unsigned char)p[end - 1]))
			end--;
		for (begin = end; begin && !strchr("?&; \t\r\n,", p[begin - 1]);)
			begin--;
		if (!is_secret_name(p + begin, end - begin))
			continue;
		size_t value = parameter_length(p + i + 1, n - i - 1, query);
		memset(marks + i + 1, 1, value);
		i += value;
	}
}

/* One byte per character of the URL; 1: secret. */
static char *marks_of(const char *address)
{
	size_t n = strlen(address), at = 0;
	char *marks = xcalloc(n + 1, 1);

	while (at < n && !is_path(address)) {
		const char *p = address + at;
		size_t all = one_length(p), skip = scheme_length(p, all);
		bool web = skip == 2 || !strncasecmp(p, "http", 4);

		mark_login(p + skip, all - skip, skip && web, marks + at + skip);
		if (skip && !memchr(p, '@', all))
			mark_port(p + skip, all - skip, marks + at + skip);
		mark_parameters(p, all, marks + at);
		at += all + (at + all < n);
	}
	return marks;
}

char *secrets_shown(const char *address)
{
	_cleanup_free_ char *marks = marks_of(address);
	struct strbuf out = STRBUF_INIT;

	for (size_t i = 0; address[i]; i++)
		if (!marks[i])
			strbuf_addch(&out, address[i]);
		else if (!i || !marks[i - 1])
			strbuf_addstr(&out, MASKED);
	if (!is_path(address))
		secrets_mask_text(&out);
	return out.len ? strbuf_take(&out) : xstrdup("");
}

/* ---- messages that quote a URL ---------------------------------------------------------- */

static bool stands_alone(const struct strbuf *text, size_t at, size_t n)
{
	return (!at || !isalnum((unsigned char)text->buf[at - 1])) &&
	       (at + n == text->len || !isalnum((unsigned char)text->buf[at + n]));
}

static void hide_piece(struct strbuf *text, const char *p, size_t n)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	if (!n || n > text->len || !memmem(text->buf, text->len, p, n) || strspn(p, "*") >= n)
		return;
	for (size_t i = 0; i < text->len;) {
		bool same = text->len - i >= n && !memcmp(text->buf + i, p, n) &&
			    (n >= PIECE_MIN || stands_alone(text, i, n));

		if (same)
			strbuf_addstr(&out, MASKED);
		else
			strbuf_addch(&out, text->buf[i]);
		i += same ? n : 1;
	}
	strbuf_reset(text);
	strbuf_add(text, out.buf, out.len);
}

/* Hides a part as written and with its %-escapes decoded. */
static void hide_both(struct strbuf *text, const char *p, size_t n)
{
	_cleanup_strbuf_ struct strbuf plain = STRBUF_INIT;

	hide_piece(text, p, n);
	for (size_t i = 0; i < n; i++) {
		const char hex[] = {i + 1 < n ? p[i + 1] : 'x', i + 2 < n ? p[i + 2] : 'x', 0};
		bool escaped = p[i] == '%' && isxdigit((unsigned char)hex[0]) &&
			       isxdigit((unsigned char)hex[1]);

		strbuf_addch(&plain, escaped ? (char)strtoul(hex, NULL, 16) : p[i]);
		i += escaped ? 2 : 0;
	}
	hide_piece(text, plain.buf ? plain.buf : "", plain.len);
}

void secrets_hide(struct strbuf *text, const char *address)
{
	_cleanup_free_ char *marks = marks_of(address);
	size_t end;

	for (size_t i = 0; address[i]; i = end) {
		end = i + 1;
		if (!marks[i])
			continue;
		while (marks[end])
			end++;
		hide_both(text, address + i, end - i);
		/* a library may parse it differently and quote only a part */
		for (size_t k = i; k < end; k++) {
			size_t n = 0;

			while (k + n < end && !strchr("/?#@:&=, '\"\\", address[k + n]))
				n++;
			hide_both(text, address + k, n);
			k += n;
		}
	}
}
