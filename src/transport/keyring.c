/* Keys in files; see keyring.h. */
#include "transport/keyring.h"

#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <string.h>
#include <sys/stat.h>

#include "core/files/fs.h"

#define FILE_MAX ((size_t)16 << 20)

void keyring_release(struct keyring *k)
{
	for (size_t i = 0; i < k->count; i++) {
		free(k->allowed[i]);
		free(k->names[i]);
	}
	for (size_t i = 0; i < k->revoked_count; i++) {
		free(k->revoked[i].name);
		free(k->revoked[i].time);
	}
	free(k->allowed);
	free(k->names);
	free(k->revoked);
	explicit_bzero(k->secret, sizeof(k->secret));
	*k = (struct keyring){0};
}

bool key_is_good(const char *key)
{
	static const char z85[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				  ".-:+=^!/*?&<>()[]{}@%$#";

	return strlen(key) == 40 && strspn(key, z85) == 40;
}

static int read_keys(const char *path, struct strbuf *text, struct strbuf *why)
{
	int r = fs_read(AT_FDCWD, path, FILE_MAX, text);

	if (r < 0)
		strbuf_addf(why, "cannot read '%s': %s", path, strerror(-r));
	else if (memchr(text->buf, 0, text->len))
		r = strbuf_fail(why, -EBADMSG, "'%s' is not a key file", path);
	return r;
}

/* The key of a line `name = "..."`; false: there is none. */
static bool find_key(const char *text, const char *name, char ret[41])
{
	size_t n = strlen(name);

	for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n') {
		const char *q = p + strspn(p, " \t");

		if (strncmp(q, name, n) != 0)
			continue;
		q += n;
		q += strspn(q, " \t");
		if (*q++ != '=')
			continue;
		q += strspn(q, " \t");
		if (*q++ != '"' || strcspn(q, "\"\n") != 40 || q[40] != '"')
			continue;
		memcpy(ret, q, 40);
		ret[40] = 0;
		return key_is_good(ret);
	}
	return false;
}

int keyring_own(struct keyring *k, const char *path, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	struct stat st;
	int r = read_keys(path, &text, why);

	if (r < 0)
		return r;
	if (stat(path, &st) == 0 && st.st_mode & 077) {
		r = strbuf_fail(why, -EPERM,
				"'%s' is readable by others: run chmod 600 on it, or make new keys",
				path);
	} else if (!find_key(text.buf, "public", k->public) ||
		   !find_key(text.buf, "secret", k->secret))
		r = strbuf_fail(why, -EBADMSG,
				"'%s' has no key pair: make one with plimsoll keys new", path);
	explicit_bzero(text.buf, text.len);
	if (r < 0)
		k->public[0] = k->secret[0] = 0;
	return r;
}

/* Takes both texts. */
static void add_key(struct keyring *k, char *key, char *name)
{
	if (k->count >= k->cap) {
		k->cap = k->cap ? k->cap * 2 : 16;
		k->allowed = xreallocarray(k->allowed, k->cap, sizeof(*k->allowed));
		k->names = xreallocarray(k->names, k->cap, sizeof(*k->names));
	}
	k->allowed[k->count] = key;
	k->names[k->count++] = name;
}

static ssize_t place_of(const struct keyring *k, const char *key)
{
	for (size_t i = 0; i < k->count; i++)
		if (!strcmp(k->allowed[i], key))
			return (ssize_t)i;
	return -1;
}

static void add_revoked(struct keyring *k, const char *key, const char *name, const char *time)
{
	GROW(k->revoked, k->revoked_count, k->revoked_cap);
	struct revoked_key *r = &k->revoked[k->revoked_count++];

	*r = (struct revoked_key){.name = xstrdup(name), .time = xstrdup(time)};
	memcpy(r->key, key, sizeof(r->key));
}

const struct revoked_key *keyring_revoked(const struct keyring *k, const char *key)
{
	for (size_t i = k->revoked_count; i--;)
		if (!strcmp(k->revoked[i].key, key))
			return &k->revoked[i];
	return NULL;
}

/* "# revoked TIME KEY NAME"; other comments are ignored. */
static void take_comment(struct keyring *k, const char *line, size_t n)
{
	static const char begin[] = "# revoked ";
	_cleanup_free_ char *text = xstrndup(line, n);
	char *save = NULL;

	if (strncmp(text, begin, strlen(begin)) != 0)
		return;
	const char *time = strtok_r(text + strlen(begin), " \t", &save);
	const char *key = strtok_r(NULL, " \t", &save), *name = strtok_r(NULL, " \t", &save);

	if (key && key_is_good(key) && strlen(time) < 64 && (!name || strlen(name) <= 255))
		add_revoked(k, key, name ? name : "*", time);
}

/* One line of an allow file: a key and a name. */
static bool take_line(struct keyring *k, const char *line, size_t n)
{
	_cleanup_free_ char *text = xstrndup(line, n);
	char *save = NULL;
	const char *key = strtok_r(text, " \t\r", &save), *name = strtok_r(NULL, " \t\r", &save);
	const char *more = strtok_r(NULL, " \t\r", &save);

	if (!key)
		return true;
	/* a key may begin with '#', too */
	if (*key == '#' && !key_is_good(key)) {
		size_t blanks = strspn(line, " \t");

		take_comment(k, line + blanks, n - blanks);
		return true;
	}
	if (!key_is_good(key) || more || (name && strlen(name) > 255))
		return false;
	name = name ? name : "*";
	ssize_t at = k->apart ? -1 : place_of(k, key);
	if (at < 0) {
		add_key(k, xstrdup(key), xstrdup(name));
		return true;
	}
	/* the same key for another name */
	char *both = xasprintf("%s %s", k->names[at], name);
	free(k->names[at]);
	k->names[at] = both;
	return true;
}

int keyring_allow(struct keyring *k, const char *path, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	int r = read_keys(path, &text, why);
	unsigned line = 1;

	if (r < 0)
		return r;
	for (const char *p = text.buf; *p; line++) {
		size_t n = strcspn(p, "\n");

		if (!take_line(k, p, n))
			return strbuf_fail(
				why, -EBADMSG,
				"%s:%u: expected a public key of 40 characters and the name "
				"of a node",
				path, line);
		p += n + (p[n] == '\n');
	}
	return 0;
}

int keyring_renew(struct keyring *k, const char *path, struct keyring *before, struct strbuf *why)
{
	struct keyring said = {0}, now = *k;
	int r = keyring_allow(&said, path, why);

	if (r < 0) {
		keyring_release(&said);
		return r;
	}
	now.allowed = NULL;
	now.names = NULL;
	now.count = now.cap = 0;
	for (size_t i = 0; i < k->count; i++) {
		ssize_t at = place_of(&said, k->allowed[i]);

		add_key(&now, xstrdup(k->allowed[i]), at < 0 ? NULL : xstrdup(said.names[at]));
		/* removed from the file by hand: its name is known from before */
		if (at < 0 && k->names[i] && !keyring_revoked(&said, k->allowed[i]))
			add_revoked(&said, k->allowed[i], k->names[i], "");
	}
	for (size_t i = 0; i < k->revoked_count; i++)
		if (!keyring_revoked(&said, k->revoked[i].key))
			add_revoked(&said, k->revoked[i].key, k->revoked[i].name,
				    k->revoked[i].time);
	for (size_t i = 0; i < said.count; i++)
		if (place_of(k, said.allowed[i]) < 0)
			add_key(&now, xstrdup(said.allowed[i]), xstrdup(said.names[i]));
	now.revoked = said.revoked;
	now.revoked_count = said.revoked_count;
	now.revoked_cap = said.revoked_cap;
	said.revoked = NULL;
	said.revoked_count = 0;
	keyring_release(&said);
	*before = *k;
	*k = now;
	return 0;
}

int keyring_server(struct keyring *k, const char *key_or_path, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (key_is_good(key_or_path)) {
		memcpy(k->server, key_or_path, sizeof(k->server));
		return 0;
	}
	int missing = access(key_or_path, F_OK) == 0 ? 0 : errno;
	if (!missing) {
		int r = read_keys(key_or_path, &text, why);
		if (r < 0)
			return r;
		if (find_key(text.buf, "public", k->server))
			return 0;
	}
	k->server[0] = 0;
	return strbuf_fail(why, -EBADMSG,
			   "'%s' is neither a public key (40 characters) nor a key file%s%s",
			   key_or_path, missing ? ": " : "", missing ? strerror(missing) : "");
}

void keyring_use(const struct keyring *k, struct link_keys *ret)
{
	*ret = (struct link_keys){
		.secret = k->secret[0] ? k->secret : NULL,
		.public = k->public[0] ? k->public : NULL,
		.server = k->server[0] ? k->server : NULL,
		.allowed = (const char *const *)k->allowed,
		.allowed_count = k->count,
		.names = (const char *const *)k->names,
		.revoked = k->revoked,
		.revoked_count = k->revoked_count,
	};
}

bool keyring_names_match(const char *names, const char *node)
{
	for (const char *p = names; *p;) {
		size_t n = strcspn(p, " ");
		_cleanup_free_ char *one = xstrndup(p, n);

		if (n && fnmatch(one, node, 0) == 0)
			return true;
		p += n + (p[n] == ' ');
	}
	return false;
}
