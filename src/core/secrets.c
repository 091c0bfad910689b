/* Masking; see secrets.h. */
#include "core/secrets.h"

#include <ctype.h>
#include <regex.h>
#include <string.h>
#include <strings.h>

#define NAME_MAX_BYTES 128

static const struct config *active;

void secrets_use(const struct config *c)
{
	active = c;
}

static const char *setting(enum setting_id id)
{
	return active ? config_get(active, id) : settings[id].fallback;
}

bool secrets_is_name(const char *name)
{
	if (pattern_list_matches(setting(SETTING_MASK_MORE), name))
		return true;
	return pattern_list_matches(setting(SETTING_MASK), name) &&
	       !pattern_list_matches(setting(SETTING_MASK_KEEP), name);
}

/* ---- names in front of values --------------------------------------------------------------- */

/* Options and parameters go by fewer names than variables: many end in "key" or begin with "token"
 * and mean something else. */
static bool is_option_name(const char *p, size_t n)
{
	static const char *const anywhere[] = {
		"PASSW",   "PASSPHRASE", "SECRET",      "CREDENTIAL",    "APIKEY",
		"API_KEY", "ACCESS_KEY", "PRIVATE_KEY", "PRIVATE_TOKEN", "AUTH_TOKEN"};
	static const char *const endings[] = {"TOKEN",     "_PWD",          "_PASS",
					      "SSHPASS",   "_PAT",          "JWT",
					      "SIGNATURE", "AUTHORIZATION", "COOKIE"};
	char name[NAME_MAX_BYTES];

	if (!n || n >= sizeof(name))
		return false;
	for (size_t i = 0; i < n; i++)
		name[i] = (char)(p[i] == '-' || p[i] == '.' ? '_' : toupper((unsigned char)p[i]));
	name[n] = 0;
	if (pattern_list_matches(setting(SETTING_MASK_MORE), name))
		return true;
	bool found = !strcmp(name, "PASS") || !strcmp(name, "SIG");
	for (size_t i = 0; i < ARRAY_SIZE(anywhere) && !found; i++)
		found = strstr(name, anywhere[i]) != NULL;
	for (size_t i = 0; i < ARRAY_SIZE(endings) && !found; i++)
		found = str_suffix(name, endings[i]);
	return found && !pattern_list_matches(setting(SETTING_MASK_KEEP), name);
}

static bool is_name_byte(unsigned char c)
{
	return isalnum(c) || c == '_' || c == '-' || c == '.';
}

/* Ends where a value inside of a text does. */
static size_t value_length(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && !strchr(" \t\r\n&;,'\"", p[i]))
		i++;
	return i;
}

/* ---- forms ---------------------------------------------------------------------------------- */

static bool is_token_byte(unsigned char c)
{
	return isalnum(c) || c == '_' || c == '-';
}

static size_t token_length(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && is_token_byte((unsigned char)p[i]))
		i++;
	return i;
}

static bool has_digit(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (isdigit((unsigned char)p[i]))
			return true;
	return false;
}

/* Tokens that say what they are by their first letters, and how long they are at least. */
static size_t known_token(const char *p, size_t n)
{
	static const struct {
		const char *begin;
		size_t least;
	} rows[] = {
		{"ghp_", 36},  {"gho_", 36},    {"ghu_", 36},        {"ghs_", 36},
		{"ghr_", 36},  {"glpat-", 20},  {"hf_", 30},         {"npm_", 30},
		{"pypi-", 40}, {"xoxb-", 20},   {"xoxp-", 20},       {"xapp-", 20},
		{"AIza", 35},  {"dop_v1_", 40}, {"github_pat_", 40}, {"sk-", 32},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t k = strlen(rows[i].begin);

		if (n < rows[i].least || memcmp(p, rows[i].begin, k) != 0)
			continue;
		size_t all = token_length(p, n);
		if (all >= rows[i].least && has_digit(p + k, all - k))
			return all;
	}
	return 0;
}

/* header.payload.signature, the first of which begins as '{"' does in base64. */
static size_t web_token(const char *p, size_t n)
{
	size_t at = 0;

	if (n < 32 || memcmp(p, "eyJ", 3) != 0)
		return 0;
	for (int part = 0; part < 3; part++) {
		size_t k = token_length(p + at, n - at);

		if (k < 4 || (part < 2 && (at + k >= n || p[at + k] != '.')))
			return 0;
		at += k + (part < 2);
	}
	return at;
}

/* The key between its lines, or all that there is of it. */
static size_t private_key(const char *p, size_t n)
{
	static const char begin[] = "-----BEGIN ", middle[] = "PRIVATE KEY-----",
			  end[] = "-----END ";

	if (n < sizeof(begin) || memcmp(p, begin, sizeof(begin) - 1) != 0)
		return 0;
	const char *head = memmem(p, n < 80 ? n : 80, middle, strlen(middle));
	if (!head)
		return 0;
	const char *tail = memmem(head, n - (size_t)(head - p), end, strlen(end));
	return tail ? (size_t)(tail - p) : n;
}

/* "scheme://user:password@": where the password is. A name alone is none, unless it is a token. */
static size_t address_secret(const char *p, size_t n, size_t *ret_at)
{
	const char *last = NULL, *colon = NULL;

	if (n < 4 || memcmp(p, "://", 3) != 0)
		return 0;
	for (size_t i = 3; i < n && !strchr("/?# \t\r\n'\"", p[i]); i++)
		if (p[i] == '@')
			last = p + i;
	if (!last)
		return 0;
	colon = memchr(p + 3, ':', (size_t)(last - p - 3));
	const char *from = colon ? colon + 1 : p + 3;
	if (!colon && !known_token(from, (size_t)(last - from)))
		return 0;
	*ret_at = (size_t)(from - p);
	return (size_t)(last - from);
}

/* "Bearer TOKEN" and "Basic BASE64". */
static size_t scheme_secret(const char *p, size_t n, size_t *ret_at)
{
	static const char *const schemes[] = {"Bearer ", "Basic "};

	for (size_t i = 0; i < ARRAY_SIZE(schemes); i++) {
		size_t k = strlen(schemes[i]), m = 0;

		if (n < k + 8 || strncasecmp(p, schemes[i], k) != 0)
			continue;
		while (k + m < n &&
		       (is_token_byte((unsigned char)p[k + m]) || strchr("./+=~", p[k + m])))
			m++;
		*ret_at = k;
		if (m >= 8 && (has_digit(p + k, m) || m >= 16))
			return m;
	}
	return 0;
}

/* "name=value" and "name: value" whose name speaks of a secret. p is where a name begins. */
static size_t named_secret(const char *p, size_t n, size_t *ret_at)
{
	size_t k = 0;

	while (k < n && is_name_byte((unsigned char)p[k]))
		k++;
	size_t skip = 0;
	while (skip < k && p[skip] == '-')
		skip++;
	if (k == n || k == skip || (p[k] != '=' && p[k] != ':') ||
	    !is_option_name(p + skip, k - skip))
		return 0;
	size_t at = k + 1;
	while (p[k] == ':' && at < n && p[at] == ' ')
		at++;
	*ret_at = at;
	size_t m = value_length(p + at, n - at);
	/* "Authorization: Bearer x" */
	size_t inner = 0, token = scheme_secret(p + at, n - at, &inner);
	if (token) {
		*ret_at = at + inner;
		return token;
	}
	return p[k] == ':' && at == k + 1 ? 0 : m;
}

/* ---- any text ------------------------------------------------------------------------------- */

/* The secret that begins here, if one does: how long, and how far from here. */
static size_t secret_at(const char *text, size_t i, size_t n, size_t *ret_at)
{
	const char *p = text + i;
	bool begins = !i || !is_token_byte((unsigned char)text[i - 1]);
	size_t found = 0;

	*ret_at = 0;
	if (*p == ':')
		return address_secret(p, n, ret_at);
	if (*p == '-')
		found = private_key(p, n);
	if (!begins || found)
		return found;
	found = known_token(p, n);
	if (!found)
		found = web_token(p, n);
	if (!found)
		found = scheme_secret(p, n, ret_at);
	return found ? found : named_secret(p, n, ret_at);
}

/* The site's own expressions. */
static void mask_expressions(struct strbuf *text)
{
	const char *list = setting(SETTING_MASK_VALUES);

	while (*list) {
		list += strspn(list, " ");
		size_t n = strcspn(list, " ");
		_cleanup_free_ char *one = xstrndup(list, n);
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
		const char *p = text->buf, *end = text->buf + text->len;
		regmatch_t m;
		regex_t re;

		list += n;
		if (!n || regcomp(&re, one, REG_EXTENDED) != 0)
			continue;
		/* an expression sees the text up to its first NUL, piece by piece */
		while (p < end) {
			if (regexec(&re, p, 1, &m, 0) == 0 && m.rm_eo > m.rm_so) {
				strbuf_add(&out, p, (size_t)m.rm_so);
				strbuf_addstr(&out, MASKED);
				p += m.rm_eo;
				continue;
			}
			size_t k = strlen(p);
			strbuf_add(&out, p, k);
			p += k;
			if (p < end)
				strbuf_add(&out, p++, 1);
		}
		regfree(&re);
		strbuf_reset(text);
		strbuf_add(text, out.buf, out.len);
	}
}

/* Is there anything that a secret could begin with? Most texts have nothing. */
static bool is_worth_a_look(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] == '=' || p[i] == ':' || p[i] == '_' || p[i] == '-' ||
		    (p[i] == 'e' && n - i > 32) || ((p[i] | 32) == 'b' && n - i > 12) ||
		    (p[i] == 'A' && n - i > 30))
			return true;
	return false;
}

static void add_masked(struct strbuf *out, const char *text, size_t n)
{
	size_t at, i = 0;

	if (!is_worth_a_look(text, n)) {
		strbuf_add(out, text, n);
		return;
	}
	while (i < n) {
		size_t found = secret_at(text, i, n - i, &at);

		if (!found) {
			strbuf_add(out, text + i++, 1);
			continue;
		}
		strbuf_add(out, text + i, at);
		strbuf_addstr(out, MASKED);
		i += at + found;
	}
}

void secrets_mask_text(struct strbuf *text)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	add_masked(&out, text->buf, text->len);
	if (out.len != text->len || memcmp(out.buf, text->buf, out.len) != 0) {
		strbuf_reset(text);
		strbuf_add(text, out.buf, out.len);
	}
	mask_expressions(text);
}

/* ---- arguments ------------------------------------------------------------------------------ */

/* Short options that carry a secret, of programs that many call. */
static const struct short_option {
	const char *program, *option;
	bool attached;    /* "-pSECRET", and "-p" alone asks */
	bool behind_mark; /* "user:SECRET" or "user%SECRET" */
} short_options[] = {
	{"mysql", "-p", true, false},       {"mariadb", "-p", true, false},
	{"sshpass", "-p", false, false},    {"curl", "-u", false, true},
	{"curl", "-U", false, true},        {"wget", "--http-user", false, true},
	{"curl", "--user", false, true},    {"curl", "--proxy-user", false, true},
	{"smbclient", "-U", false, true},   {"ldapsearch", "-w", false, false},
	{"ldapmodify", "-w", false, false}, {"redis-cli", "-a", false, false},
	{"mongo", "-p", false, false},      {"docker", "-p", false, false},
	{"podman", "-p", false, false},     {"ipmitool", "-P", false, false},
	{"7z", "-p", true, false},          {"zip", "-P", false, false},
	{"unzip", "-P", false, false},
};

static void add_behind_mark(struct strbuf *out, const char *p, size_t n)
{
	size_t k = 0;

	while (k < n && p[k] != ':' && p[k] != '%')
		k++;
	strbuf_add(out, p, k < n ? k + 1 : n);
	if (k + 1 < n)
		strbuf_addstr(out, MASKED);
}

/* "-p" with a port is docker's too: a secret is no pair of numbers. */
static bool is_port(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isdigit((unsigned char)p[i]) && !strchr(":./-", p[i]) &&
		    (n - i < 4 || (memcmp(p + i, "/tcp", 4) != 0 && memcmp(p + i, "/udp", 4) != 0)))
			return i && n - i <= 3;
	return n > 0;
}

static const struct short_option *find_short(const char *program, const char *p, size_t n,
					     const char *before, size_t before_n)
{
	for (size_t i = 0; i < ARRAY_SIZE(short_options); i++) {
		const struct short_option *o = &short_options[i];
		size_t k = strlen(o->option);

		if (!str_prefix(program, o->program))
			continue;
		if (before && before_n == k && !memcmp(before, o->option, k) && !o->attached &&
		    !is_port(p, n))
			return o;
		if (n > k && !memcmp(p, o->option, k) && k == 2 &&
		    (o->attached || o->behind_mark) && p[1] != '-')
			return o;
	}
	return NULL;
}

/* An option whose name is all of it: its value comes next. */
static bool announces(const char *p, size_t n)
{
	size_t skip = 0;

	while (skip < n && p[skip] == '-')
		skip++;
	return skip && skip < n && !memchr(p, '=', n) && is_option_name(p + skip, n - skip);
}

static void add_argument(struct strbuf *out, const char *program, const char *p, size_t n,
			 const char *before, size_t before_n)
{
	const struct short_option *o = find_short(program, p, n, before, before_n);
	bool next = o && before && before_n == strlen(o->option) &&
		    !memcmp(before, o->option, before_n);
	size_t at;

	if (o && !next)
		strbuf_add(out, p, 2);
	if (o && o->behind_mark) {
		add_behind_mark(out, next ? p : p + 2, next ? n : n - 2);
	} else if (o ||
		   (before && announces(before, before_n) && n && p[0] != '-' && p[0] != '<')) {
		strbuf_addstr(out, MASKED);
	} else if (n > 5 && !memcmp(p, "pass:", 5)) {
		strbuf_addstr(out, "pass:" MASKED);
	} else if (memchr(p, '=', n) && p[0] == '-' && named_secret(p, n, &at) &&
		   p[at - 1] == '=') {
		/* all of it, whatever it is made of */
		strbuf_add(out, p, at);
		strbuf_addstr(out, MASKED);
	} else {
		add_masked(out, p, n);
	}
}

void secrets_mask_arguments(struct strbuf *arguments, char separator, const char *program)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	_cleanup_free_ char *name = program ? xstrdup(path_base(program)) : NULL;
	const char *end = arguments->buf + arguments->len, *before = NULL;
	size_t before_n = 0;

	for (const char *p = arguments->buf; p < end;) {
		const char *stop = memchr(p, separator, (size_t)(end - p));
		size_t n = stop ? (size_t)(stop - p) : (size_t)(end - p);

		if (!name) {
			_cleanup_free_ char *whole = xstrndup(p, n);

			name = xstrdup(path_base(whole));
			strbuf_add(&out, p, n);
		} else {
			add_argument(&out, name, p, n, before, before_n);
		}
		before = p;
		before_n = n;
		p += n;
		if (p < end)
			strbuf_add(&out, p++, 1);
	}
	/* joined by blanks, a header or a connection string is several words */
	if (out.len != arguments->len || memcmp(out.buf, arguments->buf, out.len) != 0) {
		strbuf_reset(arguments);
		strbuf_add(arguments, out.buf, out.len);
	}
	if (separator == ' ')
		secrets_mask_text(arguments);
	else
		mask_expressions(arguments);
}
