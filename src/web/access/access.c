/* Tokens and sessions; see access.h. */
#include "web/access/access.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>

#include "core/clock.h"
#include "core/files/fs.h"

#define FILE_NAME "serve.token"

int access_make_token(char ret[ACCESS_TOKEN_SIZE])
{
	unsigned char bytes[ACCESS_TOKEN_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != sizeof(bytes))
		return -errno;
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(ret + 2 * i, 3, "%02x", bytes[i]);
	return 0;
}

bool access_same(const char *a, const char *b)
{
	size_t n = strlen(a), m = strlen(b);
	unsigned char differ = n != m;

	for (size_t i = 0; i < n && m; i++)
		differ |= (unsigned char)(a[i] ^ b[i % m]);
	return !differ && n;
}

int access_init(struct access *a)
{
	*a = (struct access){.lock = PTHREAD_MUTEX_INITIALIZER, .file_lock = -1};
	return access_make_token(a->script);
}

/* ---- the file for scripts ---------------------------------------------------------------------
 */

static char *directory(void)
{
	const char *run = getenv("XDG_RUNTIME_DIR"), *state = getenv("XDG_STATE_HOME");
	const char *home = getenv("HOME");

	if (run && *run == '/')
		return xstrdup(run);
	if (state && *state == '/')
		return xstrdup(state);
	return home && *home == '/' ? xasprintf("%s/.local/state", home) : NULL;
}

static int open_directory(bool create, struct strbuf *why)
{
	_cleanup_free_ char *dir = directory();

	if (!dir)
		return strbuf_fail(why, -ENOENT, "neither XDG_RUNTIME_DIR nor HOME is set");
	_cleanup_free_ char *below = xasprintf("%s/", dir);
	if (create && fs_make_parents(below, 0700, why) < 0)
		return -EACCES;
	return fs_open_private(dir, "plimsoll", create, why);
}

/* A server keeps its file locked as long as it runs. */
static bool is_taken(int dir)
{
	_cleanup_close_ int fd = openat(dir, FILE_NAME, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0;
}

/* "http://127.0.0.1:8421/x/" gives "serve-127.0.0.1-8421-x.token". */
static char *name_of_second(const char *address)
{
	_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;
	const char *at = strstr(address, "://");

	strbuf_addstr(&name, "serve");
	for (at = at ? at + strlen("://") : address; *at && name.len < 200; at++)
		if (isalnum((unsigned char)*at) || *at == '.')
			strbuf_addch(&name, *at);
		else if (at[1])
			strbuf_addch(&name, '-');
	strbuf_addstr(&name, ".token");
	return strbuf_take(&name);
}

int access_write_file(struct access *a, const char *address, struct strbuf *why)
{
	_cleanup_close_ int fd = open_directory(true, why);
	_cleanup_free_ char *text = xasprintf("%s\n%s\n", a->script, address);

	if (fd < 0)
		return fd;
	(void)flock(fd, LOCK_EX); /* others may begin at this moment */
	a->second = is_taken(fd);
	_cleanup_free_ char *name = a->second ? name_of_second(address) : xstrdup(FILE_NAME);
	int r = fs_replace(fd, name, text, strlen(text), 0600);
	if (r < 0)
		return strbuf_fail(why, r, "cannot write '%s': %s", name, strerror(-r));
	a->file_lock = openat(fd, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	(void)flock(a->file_lock, LOCK_EX | LOCK_NB);
	_cleanup_free_ char *dir = fs_path_of(fd);
	a->file = xasprintf("%s/%s", dir ? dir : ".", name);
	return 0;
}

int access_read_file(char token[ACCESS_TOKEN_SIZE], struct strbuf *ret_address, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	_cleanup_close_ int fd = open_directory(false, why);

	int r = fd < 0 ? fd : fs_read(fd, FILE_NAME, 8192, &text);
	size_t line = strcspn(text.buf, "\n");
	if (r < 0 || line != ACCESS_TOKEN_SIZE - 1 || text.buf[line] != '\n') {
		strbuf_reset(why);
		return strbuf_fail(why, -ENOENT,
				   "no server of yours runs on this host; start `plimsoll serve`");
	}
	memcpy(token, text.buf, line);
	token[line] = 0;
	strbuf_add(ret_address, text.buf + line + 1, strcspn(text.buf + line + 1, "\n"));
	return 0;
}

void access_release(struct access *a)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (a->file && fs_read(AT_FDCWD, a->file, 8192, &text) >= 0 &&
	    str_prefix(text.buf, a->script))
		(void)unlink(a->file);
	close_fd(&a->file_lock);
	free(a->file);
	a->file = NULL;
}

/* ---- links and sessions -----------------------------------------------------------------------
 */

int access_new_link(struct access *a, char ret[ACCESS_TOKEN_SIZE])
{
	int r = access_make_token(ret);

	if (r < 0)
		return r;
	pthread_mutex_lock(&a->lock);
	memcpy(a->links[a->next_link++ % ACCESS_LINKS_MAX], ret, ACCESS_TOKEN_SIZE);
	pthread_mutex_unlock(&a->lock);
	return 0;
}

/* A free place, or that of the session that ends first: of this user, who may have some only. */
static struct access_session *place(struct access *a, const char *user)
{
	struct access_session *best = &a->sessions[0], *own = NULL;
	unsigned count = 0;

	for (size_t i = 0; i < ACCESS_SESSIONS_MAX; i++) {
		struct access_session *s = &a->sessions[i];

		if (s->until_ns < best->until_ns)
			best = s;
		if (!*s->token || strcmp(s->user, user) != 0)
			continue;
		count++;
		if (!own || s->until_ns < own->until_ns)
			own = s;
	}
	return count >= ACCESS_SESSIONS_EACH ? own : best;
}

static bool use_link(struct access *a, const char *token)
{
	bool found = false;

	for (size_t i = 0; i < ACCESS_LINKS_MAX; i++)
		if (access_same(a->links[i], token)) {
			memset(a->links[i], 0, ACCESS_TOKEN_SIZE);
			found = true;
		}
	return found;
}

bool access_redeem(struct access *a, const char *token, char ret[ACCESS_TOKEN_SIZE])
{
	struct access_session s = {.until_ns =
					   clock_boottime_ns() + ACCESS_SESSION_S * 1000000000u};

	if (access_make_token(s.token) < 0 || access_make_token(s.csrf) < 0)
		return false;
	pthread_mutex_lock(&a->lock);
	bool ok = use_link(a, token);
	if (ok)
		*place(a, s.user) = s;
	pthread_mutex_unlock(&a->lock);
	if (ok)
		memcpy(ret, s.token, ACCESS_TOKEN_SIZE);
	return ok;
}

/* The value of a cookie, up to ACCESS_TOKEN_SIZE - 1 characters; the position behind it. */
static const char *next_cookie(const char *p, const char *name, char ret[ACCESS_TOKEN_SIZE])
{
	size_t n = strlen(name), length;

	p += strspn(p, " \t;");
	length = strcspn(p, ";");
	ret[0] = 0;
	if (length == n + ACCESS_TOKEN_SIZE && !strncmp(p, name, n) && p[n] == '=') {
		memcpy(ret, p + n + 1, ACCESS_TOKEN_SIZE - 1);
		ret[ACCESS_TOKEN_SIZE - 1] = 0;
	}
	return p + length;
}

static bool find_session(struct access *a, const char *token, char ret_csrf[ACCESS_TOKEN_SIZE],
			 char ret_user[VIEWER_NAME_MAX + 1])
{
	uint64_t now = clock_boottime_ns();
	bool found = false;

	pthread_mutex_lock(&a->lock);
	for (size_t i = 0; i < ACCESS_SESSIONS_MAX; i++)
		if (access_same(a->sessions[i].token, token) && a->sessions[i].until_ns > now) {
			memcpy(ret_csrf, a->sessions[i].csrf, ACCESS_TOKEN_SIZE);
			memcpy(ret_user, a->sessions[i].user, sizeof(a->sessions[i].user));
			found = true;
		}
	pthread_mutex_unlock(&a->lock);
	return found;
}

bool access_session(struct access *a, const char *cookies, const char *name,
		    char ret_csrf[ACCESS_TOKEN_SIZE], char ret_user[VIEWER_NAME_MAX + 1])
{
	char token[ACCESS_TOKEN_SIZE];

	while (cookies && *cookies) {
		cookies = next_cookie(cookies, name, token);
		if (*token && find_session(a, token, ret_csrf, ret_user))
			return true;
	}
	return false;
}

bool access_cookie(const char *cookies, const char *name, char ret[ACCESS_TOKEN_SIZE])
{
	while (cookies && *cookies) {
		cookies = next_cookie(cookies, name, ret);
		if (*ret)
			return true;
	}
	return false;
}

int access_open(struct access *a, const char *user, char ret[ACCESS_TOKEN_SIZE])
{
	struct access_session s = {.until_ns = clock_boottime_ns() + ACCESS_LOGIN_S * 1000000000u};

	if (strlen(user) >= sizeof(s.user) || access_make_token(s.token) < 0 ||
	    access_make_token(s.csrf) < 0)
		return -EIO;
	memcpy(s.user, user, strlen(user) + 1);
	pthread_mutex_lock(&a->lock);
	*place(a, s.user) = s;
	pthread_mutex_unlock(&a->lock);
	memcpy(ret, s.token, ACCESS_TOKEN_SIZE);
	return 0;
}

bool access_proxied(struct access *a, const char *user, char ret_csrf[ACCESS_TOKEN_SIZE])
{
	struct access_session new = {.proxied = true}, *found = NULL;

	if (strlen(user) >= sizeof(new.user))
		return false;
	pthread_mutex_lock(&a->lock);
	for (size_t i = 0; i < ACCESS_SESSIONS_MAX && !found; i++)
		if (a->sessions[i].proxied && !strcmp(a->sessions[i].user, user))
			found = &a->sessions[i];
	if (!found && access_make_token(new.token) == 0 && access_make_token(new.csrf) == 0) {
		memcpy(new.user, user, strlen(user) + 1);
		found = place(a, user);
		*found = new;
	}
	if (found) {
		found->until_ns = clock_boottime_ns() + ACCESS_LOGIN_S * 1000000000u;
		memcpy(ret_csrf, found->csrf, ACCESS_TOKEN_SIZE);
	}
	pthread_mutex_unlock(&a->lock);
	return found != NULL;
}

void access_close(struct access *a, const char *cookies, const char *name)
{
	char token[ACCESS_TOKEN_SIZE];

	while (cookies && *cookies) {
		cookies = next_cookie(cookies, name, token);
		pthread_mutex_lock(&a->lock);
		for (size_t i = 0; *token && i < ACCESS_SESSIONS_MAX; i++)
			if (access_same(a->sessions[i].token, token))
				a->sessions[i] = (struct access_session){.until_ns = 0};
		pthread_mutex_unlock(&a->lock);
	}
}

bool access_is_script(const struct access *a, const char *authorization)
{
	return authorization && str_prefix(authorization, "Bearer ") &&
	       access_same(a->script, authorization + strlen("Bearer "));
}
