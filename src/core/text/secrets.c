/* Masking; see secrets.h. */
#include "core/text/secrets.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define NAME_MAX_BYTES 128

static const struct config *active;

void secrets_use(const struct config *c)
{
	active = c;
}

const char *secrets_setting(enum setting_id id)
{
	return active ? config_get(active, id) : settings[id].fallback;
}

bool secrets_is_name(const char *name)
{
	if (pattern_list_matches(secrets_setting(SETTING_MASK_MORE), name))
		return true;
	return pattern_list_matches(secrets_setting(SETTING_MASK), name) &&
	       !pattern_list_matches(secrets_setting(SETTING_MASK_KEEP), name);
}

/* ---- names in front of values --------------------------------------------------------------- */

static bool ends_with_one(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (str_suffix(name, list[i]))
			return true;
	return false;
}

static bool is_one(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(name, list[i]))
			return true;
	return false;
}

/* Options and parameters match fewer names than variables: many that end in "key" or begin with
 * "token" are no secrets. */
bool secrets_is_option(const char *p, size_t n)
{
	static const char *const anywhere[] = {
		"PASSW",     "PASSPHRASE", "SECRET",      "CREDENTIAL",    "APIKEY",
		"API_KEY",   "ACCESS_KEY", "PRIVATE_KEY", "PRIVATE_TOKEN", "AUTH_TOKEN",
		"ACCESSKEY", "ACCOUNTKEY", "LICENSE_KEY", "LICENCE_KEY",   "PASSCODE",
		"KEY_DATA",  "MASTERKEY",  "MASTER_KEY",  "MNEMONIC",      "SEED_PHRASE"};
	static const char *const endings[] = {
		"TOKEN",  "_PWD",      "_PASS",   "JWT",      "SIGNATURE", "AUTHORIZATION",
		"COOKIE", "STOREPASS", "KEYPASS", "USERPASS", "DBPASS",    "SSHPASS",
		"_PW",    "BINDPW",    "BEARER",  "_OTP",     "_PAT"};
	static const char *const whole[] = {"PASS", "SIG", "PW", "OTP", "PWD", "CREDS"};
	/* a file with the secret, or a way to ask for it */
	static const char *const others[] = {"_FILE", "_PATH", "_DIR",    "_STDIN", "_FD",
					     "_NAME", "_ENV",  "KEYNAME", "_PROMPT"};
	char name[NAME_MAX_BYTES];

	if (!n || n >= sizeof(name))
		return false;
	for (size_t i = 0; i < n; i++)
		name[i] = (char)(p[i] == '-' || p[i] == '.' ? '_' : toupper((unsigned char)p[i]));
	name[n] = 0;
	if (pattern_list_matches(secrets_setting(SETTING_MASK_MORE), name))
		return true;
	bool found = is_one(name, whole, ARRAY_SIZE(whole)) ||
		     ends_with_one(name, endings, ARRAY_SIZE(endings));
	for (size_t i = 0; i < ARRAY_SIZE(anywhere) && !found; i++)
		found = strstr(name, anywhere[i]) != NULL;
	return found && !ends_with_one(name, others, ARRAY_SIZE(others)) &&
	       !pattern_list_matches(secrets_setting(SETTING_MASK_KEEP), name);
}

/* "NAME=" in capitals is a variable. */
static bool is_variable(const char *p, size_t n)
{
	char name[NAME_MAX_BYTES];

	for (size_t i = 0; i < n; i++)
		if (!isupper((unsigned char)p[i]) && !isdigit((unsigned char)p[i]) && p[i] != '_')
			return false;
	if (!n || n >= sizeof(name))
		return false;
	memcpy(name, p, n);
	name[n] = 0;
	return secrets_is_name(name);
}

static bool is_name_byte(unsigned char c)
{
	return isalnum(c) || c == '_' || c == '-' || c == '.';
}

/* The length of a value inside a text. */
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

/* Only letters, with several of both cases: not a word or option. */
static bool is_random(const char *p, size_t n)
{
	size_t upper = 0, lower = 0;

	for (size_t i = 0; i < n; i++) {
		upper += isupper((unsigned char)p[i]) != 0;
		lower += islower((unsigned char)p[i]) != 0;
	}
	return upper + lower == n && upper > 3 && lower > 3;
}

/* Tokens with a known prefix and minimum length. */
static size_t known_token(const char *p, size_t n, size_t *ret_at PL_UNUSED)
{
	static const struct {
		const char *begin;
		size_t least;
	} rows[] = {
		{"ghp_", 36},     {"gho_", 36},      {"ghu_", 36},        {"ghs_", 36},
		{"ghr_", 36},     {"glpat-", 20},    {"hf_", 30},         {"npm_", 30},
		{"pypi-", 40},    {"xoxb-", 20},     {"xoxp-", 20},       {"xapp-", 20},
		{"AIza", 35},     {"dop_v1_", 40},   {"github_pat_", 40}, {"sk-", 32},
		{"AKIA", 20},     {"ASIA", 20},      {"sk_live_", 20},    {"rk_live_", 20},
		{"sk_test_", 20}, {"dckr_pat_", 20}, {"glptt-", 20},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		size_t k = strlen(rows[i].begin);

		if (n < rows[i].least || memcmp(p, rows[i].begin, k) != 0)
			continue;
		size_t all = token_length(p, n);
		if (all >= rows[i].least &&
		    (has_digit(p + k, all - k) || is_random(p + k, all - k)))
			return all;
	}
	return 0;
}

/* A JSON Web Token, header.payload.signature; the header begins with '{"' in base64. */
static size_t web_token(const char *p, size_t n, size_t *ret_at PL_UNUSED)
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

/* A PEM private key, up to its end line or the end of the text. */
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

/* Tokens of several parts: "SG.x.y" of SendGrid, "123456:AA..." of Telegram. */
static size_t parted_token(const char *p, size_t n, size_t *ret_at PL_UNUSED)
{
	size_t k = 0;

	if (n >= 20 && !memcmp(p, "SG.", 3)) {
		size_t a = token_length(p + 3, n - 3);
		size_t b = 3 + a < n && p[3 + a] == '.' ? token_length(p + 4 + a, n - 4 - a) : 0;

		return a >= 8 && b >= 8 ? 4 + a + b : 0;
	}
	while (k < n && isdigit((unsigned char)p[k]))
		k++;
	if (k < 6 || k + 31 > n || p[k] != ':' || memcmp(p + k + 1, "AA", 2) != 0)
		return 0;
	size_t rest = token_length(p + k + 1, n - k - 1);
	return rest >= 30 ? k + 1 + rest : 0;
}

/* Is a user name before @ a token? */
static bool is_like_a_token(const char *p, size_t n)
{
	size_t at;

	return known_token(p, n, &at) || (n >= 16 && token_length(p, n) == n && has_digit(p, n));
}

/* "//user:password@": finds the password. A user name alone is secret only in web URLs, or if it is
 * a token. */
static size_t address_secret(const char *p, size_t n, bool web, size_t *ret_at)
{
	const char *last = NULL, *colon = NULL;

	if (n < 4 || memcmp(p, "//", 2) != 0)
		return 0;
	for (size_t i = 2; i < n && !strchr("/?# \t\r\n'\"", p[i]); i++)
		if (p[i] == '@')
			last = p + i;
	if (!last)
		return 0;
	colon = memchr(p + 2, ':', (size_t)(last - p - 2));
	/* "//TOKEN@", and "//TOKEN:x-oauth-basic@" whose password is not secret */
	bool user = (web && !colon) ||
		    is_like_a_token(p + 2, (size_t)((colon ? colon : last) - p - 2)) ||
		    (colon && last - colon == 14 && !memcmp(colon + 1, "x-oauth-basic", 13));
	const char *from = colon && !user ? colon + 1 : p + 2;
	if (!colon && !user)
		return 0;
	*ret_at = (size_t)(from - p);
	return (size_t)(last - from);
}

/* "user:password@host:/path", and "thin:user/password@" of Oracle. p is the beginning of a name. */
static size_t login_secret(const char *p, size_t n, size_t *ret_at)
{
	static const char *const oracle[] = {"thin:", "oci:", "oci8:"};
	char mark = ':';
	size_t k = 0;

	for (size_t i = 0; i < ARRAY_SIZE(oracle) && mark == ':'; i++)
		if (n > strlen(oracle[i]) && !memcmp(p, oracle[i], strlen(oracle[i]))) {
			k = strlen(oracle[i]);
			mark = '/';
		}
	while (k < n && is_name_byte((unsigned char)p[k]))
		k++;
	if (!k || k + 2 >= n || p[k] != mark)
		return 0;
	size_t end = ++k;
	while (end < n && !strchr("@/: \t\r\n'\"", p[end]))
		end++;
	if (end == k || end == n || p[end] != '@')
		return 0;
	size_t host = end + 1;
	while (host < n && is_name_byte((unsigned char)p[host]))
		host++;
	if (mark == ':' && (host + 1 >= n || p[host] != ':' || p[host + 1] != '/'))
		return 0;
	*ret_at = k;
	return end - k;
}

/* URLs that are secret after these prefixes. */
static size_t hook_secret(const char *p, size_t n, size_t *ret_at)
{
	static const char *const hooks[] = {"hooks.slack.com/services/",
					    "hooks.slack.com/workflows/",
					    "discord.com/api/webhooks/"};

	for (size_t i = 0; i < ARRAY_SIZE(hooks); i++) {
		size_t k = strlen(hooks[i]);

		if (n <= k || memcmp(p, hooks[i], k) != 0)
			continue;
		*ret_at = k;
		return value_length(p + k, n - k);
	}
	return 0;
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

/* The length of a header: up to a quote, the end of the line, or a following option or URL. */
static size_t header_length(const char *p, size_t n)
{
	size_t i = 0;

	while (i < n && !strchr("\r\n'\"", p[i])) {
		size_t k = i;

		while (k < n && p[k] == ' ')
			k++;
		if (k > i) {
			size_t word = value_length(p + k, n - k);

			if (k == n || p[k] == '-' || memmem(p + k, word, "://", 3))
				break;
		}
		i = k + (k == i);
	}
	return i;
}

/* "Authorization: Bearer x": what follows the scheme, or everything. */
static size_t authorization(const char *p, size_t n, size_t *at)
{
	size_t all = header_length(p, n), k = 0;

	while (k < all && is_token_byte((unsigned char)p[k]))
		k++;
	size_t word = k;
	while (k < all && p[k] == ' ')
		k++;
	if (word && k > word && k < all) {
		*at += k;
		return all - k;
	}
	return all;
}

/* The length of a value, which may be in quotes. json: brackets end it, too. */
static size_t named_value(const char *p, size_t n, bool json, size_t *at)
{
	size_t k = 0, m = 0;

	/* a whole list */
	if (json && n && *p == '[') {
		const char *end = memchr(p, ']', n);

		*at += 1;
		return (end ? (size_t)(end - p) : n) - 1;
	}
	while (k < n && p[k] == '\\')
		k++;
	if (k < n && (p[k] == '"' || p[k] == '\'')) {
		char quote = p[k++];

		*at += k;
		while (k + m < n && p[k + m] != quote && p[k + m] != '\\')
			m += 1;
		return m;
	}
	m = value_length(p, n);
	for (size_t i = 0; json && i < m; i++)
		if (strchr("{}[]", p[i]))
			m = i;
	return m;
}

static bool has_name(const char *p, size_t n, const char *name)
{
	return n >= strlen(name) && !strncasecmp(p + n - strlen(name), name, strlen(name));
}

/* "name=value", "name: value", "\"name\": value", "[\"name\"] = value" with the name of a secret. p
 * is the beginning of a name. */
static size_t named_secret(const char *p, size_t n, size_t *ret_at)
{
	size_t k = 0, skip = 0;

	while (k < n && is_name_byte((unsigned char)p[k]))
		k++;
	while (skip < k && p[skip] == '-')
		skip++;
	size_t name = k;
	while (k < n && p[k] == '\\')
		k++;
	bool json = k < n && (p[k] == '"' || p[k] == '\'');
	k += json;
	bool entry = json && k < n && p[k] == ']';
	k += entry;
	size_t blank = k;
	while (k < n && p[k] == ' ')
		k++;
	if (!json && k < n && p[k] != '=')
		k = blank;
	if (k >= n || name == skip || (p[k] != '=' && p[k] != ':') ||
	    (json && p[k] != (entry ? '=' : ':')) || (entry && k + 1 < n && p[k + 1] == '='))
		return 0;
	bool variable = p[k] == '=' && is_variable(p + skip, name - skip);
	if (!variable && !secrets_is_option(p + skip, name - skip) &&
	    !(json && name - skip == 4 && !strncasecmp(p + skip, "auth", 4)))
		return 0;
	size_t at = k + 1;
	while ((p[k] == ':' || k > blank) && at < n && p[at] == ' ')
		at++;
	*ret_at = at;
	/* a path, or "a::b" of a programming language */
	if (at < n && ((name - skip == 3 && p[at] == '/') || (p[k] == ':' && strchr(":/", p[at]))))
		return 0;
	if (!json && has_name(p + skip, name - skip, "authorization"))
		return authorization(p + at, n - at, ret_at);
	size_t inner = 0, token = scheme_secret(p + at, n - at, &inner);
	if (token) {
		*ret_at = at + inner;
		return token;
	}
	return named_value(p + at, n - at, json, ret_at);
}

/* "--password x": options of a program in one string. */
static size_t option_secret(const char *p, size_t n, size_t *ret_at)
{
	size_t k = 2;

	if (n < 5 || memcmp(p, "--", 2) != 0)
		return 0;
	while (k < n && is_name_byte((unsigned char)p[k]))
		k++;
	if (k == n || p[k] != ' ' || !secrets_is_option(p + 2, k - 2))
		return 0;
	while (k < n && p[k] == ' ')
		k++;
	/* another option, or a shell variable */
	size_t quote = k < n && strchr("'\"", p[k]) ? 1 : 0;
	if (k + quote >= n || p[k + quote] == '-' || p[k + quote] == '$')
		return 0;
	*ret_at = k;
	return named_value(p + k, n - k, false, ret_at);
}

/* "IDENTIFIED BY 'x'" of SQL, and "login me password x" of netrc. */
static size_t spoken_secret(const char *text, size_t i, size_t n, size_t *ret_at)
{
	static const char sql[] = "identified by ", netrc[] = "password ";
	const char *p = text + i;
	size_t k = 0;

	if (n > sizeof(sql) && !strncasecmp(p, sql, sizeof(sql) - 1))
		k = sizeof(sql) - 1;
	else if (n > sizeof(netrc) && !memcmp(p, netrc, sizeof(netrc) - 1) &&
		 memmem(text, i, "login ", 6))
		k = sizeof(netrc) - 1;
	if (!k)
		return 0;
	while (k < n && p[k] == ' ')
		k++;
	*ret_at = k;
	return named_value(p + k, n - k, false, ret_at);
}

/* ---- any text ------------------------------------------------------------------------------- */

/* The length of a secret that begins here, and its offset in *ret_at; 0: none. */
static size_t secret_at(const char *text, size_t i, size_t n, size_t *ret_at)
{
	static size_t (*const forms[])(const char *p, size_t n, size_t *ret_at) = {
		known_token,   parted_token, web_token,     hook_secret,
		scheme_secret, named_secret, option_secret, login_secret};
	const char *p = text + i;
	bool begins = !i || !is_token_byte((unsigned char)text[i - 1]);
	size_t found = 0;

	*ret_at = 0;
	if (*p == '/')
		return address_secret(p, n,
				      (i >= 5 && !strncasecmp(p - 5, "http:", 5)) ||
					      (i >= 6 && !strncasecmp(p - 6, "https:", 6)),
				      ret_at);
	if (*p == '-')
		found = private_key(p, n);
	if (!begins || found)
		return found;
	found = spoken_secret(text, i, n, ret_at);
	for (size_t k = 0; k < ARRAY_SIZE(forms) && !found; k++)
		found = forms[k](p, n, ret_at);
	return found;
}

/* Quick check for characters of secrets: most texts have none. */
static bool is_worth_a_look(const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] == '=' || p[i] == ':' || p[i] == '_' || p[i] == '-' ||
		    (p[i] == 'e' && n - i > 32) || ((p[i] | 32) == 'b' && n - i > 12) ||
		    p[i] == '@' || p[i] == ' ' || (p[i] == 'A' && n - i >= 20) ||
		    (p[i] == '.' && n - i >= 16))
			return true;
	return false;
}

void secrets_add_masked(struct strbuf *out, const char *text, size_t n)
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

	secrets_add_masked(&out, text->buf, text->len);
	if (out.len != text->len || memcmp(out.buf, text->buf, out.len) != 0) {
		strbuf_reset(text);
		strbuf_add(text, out.buf, out.len);
	}
	secrets_mask_expressions(text);
}

/* "key:value;key:value" */
void secrets_mask_tags(struct strbuf *tags)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	const char *p = tags->buf, *end = p + tags->len;

	while (p < end) {
		const char *stop = memchr(p, ';', (size_t)(end - p));
		stop = stop ? stop : end;
		const char *colon = memchr(p, ':', (size_t)(stop - p));
		_cleanup_free_ char *key = xstrndup(p, colon ? (size_t)(colon - p) : 0);
		const char *name = key + strspn(key, " \t");

		if (colon && colon + 1 < stop &&
		    (secrets_is_name(name) || secrets_is_option(name, strlen(name)))) {
			strbuf_add(&out, p, (size_t)(colon + 1 - p));
			strbuf_addstr(&out, MASKED);
		} else {
			secrets_add_masked(&out, p, (size_t)(stop - p));
		}
		p = stop;
		if (p < end)
			strbuf_add(&out, p++, 1);
	}
	strbuf_reset(tags);
	strbuf_add(tags, out.buf, out.len);
	secrets_mask_expressions(tags);
}
