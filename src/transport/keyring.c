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
	else if (memchr(text->buf, 0, text->len)) {
		strbuf_addf(why, "'%s' is no file of keys", path);
		r = -EBADMSG;
	}
	return r;
}

/* The value of a line `name = "..."`; false when there is none that is a key. */
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
		strbuf_addf(why, "'%s' can be read by others: chmod 600 it, or make new keys",
			    path);
		r = -EPERM;
	} else if (!find_key(text.buf, "public", k->public) ||
		   !find_key(text.buf, "secret", k->secret)) {
		strbuf_addf(why, "'%s' has no pair of keys: make one with plimsoll keys new", path);
		r = -EBADMSG;
	}
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

/* "# revoked TIME KEY NAME"; any other comment says nothing to us. */
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
	char key[41] = "";

	while (n && strchr(" \t\r", line[n - 1]))
		n--;
	while (n && strchr(" \t", *line)) {
		line++;
		n--;
	}
	size_t size = 0;
	while (size < n && !strchr(" \t", line[size]))
		size++;
	if (size == 40)
		memcpy(key, line, 40);
	/* keys may begin with the sign that comments begin with */
	if (n && *line == '#' && !key_is_good(key))
		take_comment(k, line, n);
	if (!n || (*line == '#' && !key_is_good(key)))
		return true;
	if (size != 40)
		return false;
	line += 40;
	n -= 40;
	while (n && strchr(" \t", *line)) {
		line++;
		n--;
	}
	if (!key_is_good(key) || n > 255 || memchr(line, ' ', n) || memchr(line, '\t', n))
		return false;
	char *name = n ? xstrndup(line, n) : xstrdup("*");
	ssize_t at = k->apart ? -1 : place_of(k, key);
	if (at < 0) {
		add_key(k, xstrdup(key), name);
		return true;
	}
	/* the same key for one more name */
	char *both = xasprintf("%s %s", k->names[at], name);
	free(k->names[at]);
	free(name);
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

		if (!take_line(k, p, n)) {
			strbuf_addf(why,
				    "%s:%u is no public key of 40 characters with the name of a "
				    "node behind it",
				    path, line);
			return -EBADMSG;
		}
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
		/* one that was taken out of the file by hand is known from before */
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
	int r = read_keys(key_or_path, &text, why);
	if (r < 0)
		return r;
	if (find_key(text.buf, "public", k->server))
		return 0;
	k->server[0] = 0;
	strbuf_addf(why, "'%s' is neither a public key of 40 characters nor a file with one",
		    key_or_path);
	return -EBADMSG;
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
