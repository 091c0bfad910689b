/* plimsoll serve: from the options to the end of the server. */
#include "web/server.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <pwd.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "core/files/fs.h"
#include "core/module.h"
#include "core/text/secrets.h"
#include "web/access/browser.h"

#define THREADS 2
#define CONNECTIONS_MAX 16384u
#define FILES_KEPT 128u /* for stores, commands and their pipes */
#define KEPT_BYTES ((size_t)32 << 20)

/* ---- preparation ------------------------------------------------------------------------------
 */

/* Commands run in another directory, and a message must name the file. */
static char *absolute(const char *path)
{
	char here[PATH_MAX];

	if (*path == '/' || !strcmp(path, ":memory:") || !getcwd(here, sizeof(here)))
		return xstrdup(path);
	return xasprintf("%s/%s", here, path);
}

static void find_store(struct web_server *w, const struct context *ctx)
{
	const char *url = config_get(&ctx->config, SETTING_DB);
	const char *path = str_prefix(url, "sqlite:///") ? url + strlen("sqlite:///") : url;
	_cleanup_free_ char *own = *url ? NULL : store_default_path();

	if (own)
		path = own;
	if (!strcmp(ctx->config.origin[SETTING_DB], STORE_REFUSED) || !*path)
		w->store_url = NULL;
	else if (strstr(path, "://"))
		w->store_url = xstrdup(url);
	else
		w->store_url = w->store_file = absolute(path);
	w->store_shown = w->store_url ? secrets_shown(w->store_url) : xstrdup("none");
}

static const char *user_name(void)
{
	const struct passwd *p = getpwuid(geteuid());

	return p ? p->pw_name : "";
}

static unsigned connections_max(void)
{
	struct rlimit limit;

	(void)raise_file_limit();
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur < 2 * FILES_KEPT)
		return FILES_KEPT;
	return limit.rlim_cur - FILES_KEPT < CONNECTIONS_MAX ? (unsigned)limit.rlim_cur - FILES_KEPT
							     : CONNECTIONS_MAX;
}

static bool is_base_path(const char *s)
{
	return !*s ||
	       (*s == '/' && s[1] && !str_suffix(s, "/") && !strstr(s, "//") &&
		strspn(s, "/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") ==
			strlen(s));
}

/* ---- running ----------------------------------------------------------------------------------
 */

/* The secret that the proxy sends: the first line of a file that others cannot read. */
static int read_secret(struct web_server *w, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	const char *path = w->options->proxy_secret;
	struct stat st;

	if (!path || !w->options->proxy_header)
		return strbuf_fail(why, -EINVAL,
				   "--auth proxy needs --proxy-header NAME, the header with the "
				   "user, and --proxy-secret FILE, whose text the proxy sends as "
				   "X-Plimsoll-Proxy-Secret");
	int r = stat(path, &st) < 0 ? -errno : fs_read(AT_FDCWD, path, 4096, &text);
	if (r < 0)
		return strbuf_fail(why, r, "cannot read '%s': %s", path, strerror(-r));
	if (st.st_mode & 077)
		return strbuf_fail(why, -EPERM, "other users can access '%s'; run chmod 600 on it",
				   path);
	strbuf_cut(&text, strcspn(text.buf, "\r\n"));
	if (text.len < 16)
		return strbuf_fail(why, -EINVAL, "the secret in '%s' is shorter than 16 characters",
				   path);
	w->proxy_secret = strbuf_take(&text);
	return 0;
}

static int read_pem(const char *path, struct strbuf *ret, struct strbuf *why)
{
	int r = fs_read(AT_FDCWD, path, 1 << 20, ret);

	if (r < 0)
		return strbuf_fail(why, r, "cannot read '%s': %s", path, strerror(-r));
	return strstr(ret->buf, "-----BEGIN ")
		       ? 0
		       : strbuf_fail(why, -EINVAL, "'%s' is not a PEM file", path);
}

static int read_tls(struct web_server *w, struct strbuf *why)
{
	struct stat st;
	int r = read_pem(w->options->tls_cert, &w->tls_cert, why);

	if (r == 0)
		r = read_pem(w->options->tls_key, &w->tls_key, why);
	if (r == 0 && stat(w->options->tls_key, &st) == 0 && (st.st_mode & 007))
		r = strbuf_fail(why, -EPERM, "all users can access '%s'; run chmod o= on it",
				w->options->tls_key);
	return r;
}

/* What --auth needs beside the users. */
static int prepare_access(struct web_server *w, struct strbuf *why)
{
	const struct serve_options *o = w->options;
	bool unix_socket = str_prefix(o->listen, "unix:");
	int r = throttle_init(&w->throttle);

	(void)pthread_mutex_init(&w->shares.lock, NULL);
	if (r == 0 && o->auth == AUTH_PEER && !unix_socket)
		return strbuf_fail(why, -EINVAL, "--auth peer needs --listen unix:PATH");
	if (r == 0 && o->auth == AUTH_USERS && unix_socket)
		return strbuf_fail(why, -EINVAL,
				   "--auth users needs an address; a Unix socket has "
				   "--auth peer or proxy");
	if (r == 0 && !o->tls_cert != !o->tls_key)
		return strbuf_fail(why, -EINVAL, "--tls-cert and --tls-key go together");
	if (r == 0 && o->tls_cert && unix_socket)
		return strbuf_fail(why, -EINVAL, "a Unix socket needs no TLS");
	if (r == 0 && o->tls_cert)
		r = read_tls(w, why);
	w->encrypted = o->tls_cert || o->behind_proxy;
	if (r == 0 && o->auth == AUTH_PROXY)
		r = read_secret(w, why);
	if (r < 0 || o->auth != AUTH_USERS)
		return r;
	w->passwords = password_load(why);
	if (!w->passwords)
		return -ENOSYS;
	return w->passwords->hash("", &w->no_hash)
		       ? 0
		       : strbuf_fail(why, -ENOSYS, "the system cannot hash passwords");
}

static int start(struct web_server *w, struct strbuf *why)
{
	const struct module *m = module_load("web", why);
	struct http_events events;

	if (!m)
		return -ENOSYS;
	w->functions = m->functions;
	unsigned connections = connections_max();
	int r = prepare_access(w, why);
	if (r < 0)
		return r;
	int fd = web_listen(w, why);
	if (fd < 0)
		return fd;
	r = access_init(&w->access);
	if (r == 0)
		r = web_users_start(&w->users, w, why);
	if (r == 0)
		r = workers_start(&w->workers, w);
	if (r == 0)
		r = live_start(&w->live, w);
	web_events(w, &events);
	const struct http_tls tls = {.cert = w->tls_cert.len ? w->tls_cert.buf : NULL,
				     .key = w->tls_key.len ? w->tls_key.buf : NULL};
	if (r == 0)
		w->http = w->functions->start(fd, THREADS, connections, &events, &tls);
	if (w->http)
		return 0;
	close(fd);
	live_stop(&w->live);
	workers_stop(&w->workers);
	web_users_stop(&w->users);
	if (why->len)
		return r;
	return strbuf_fail(why, -EIO,
			   w->options->tls_cert ? "cannot start the HTTP server on %s; are "
						  "certificate and key valid?"
						: "cannot start the HTTP server on %s",
			   w->address);
}

static void stop(struct web_server *w)
{
	__atomic_store_n(&w->stopping, true, __ATOMIC_RELEASE);
	w->functions->quiesce(w->http);
	workers_stop(&w->workers);
	live_stop(&w->live);
	web_users_stop(&w->users);
	w->functions->stop(w->http);
	access_release(&w->access);
	if (w->socket)
		(void)unlink(w->socket);
}

static void release(struct web_server *w)
{
	answer_cache_release(&w->cache);
	if (w->store_file != w->store_url)
		free(w->store_file);
	free(w->store_url);
	free(w->store_shown);
	free(w->address);
	free(w->socket);
	free(w->proxy_secret);
	free(w->host);
	strbuf_release(&w->no_hash);
	strbuf_release(&w->tls_cert);
	if (w->tls_key.len)
		explicit_bzero(w->tls_key.buf, w->tls_key.len);
	strbuf_release(&w->tls_key);
}

static int announce(struct web_server *w)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, other = STRBUF_INIT;
	char token[ACCESS_TOKEN_SIZE];

	if (serve_runs(&other))
		log_warn("a server of yours runs at %s already: `serve --link`, `show --url` and "
			 "scripts find this one from now on",
			 other.buf);
	if (access_write_file(&w->access, w->address, &why) < 0)
		log_warn("%s; scripts and `plimsoll serve --link` cannot come in", why.buf);
	if (log_level() < LOG_WARN) /* --quiet */
		return 0;
	if (w->socket || w->options->auth != AUTH_TOKEN) {
		printf("%s\n", w->address);
		if (w->options->open && !w->socket)
			browser_open(w->address);
	} else {
		if (access_new_link(&w->access, token) < 0)
			return -EIO;
		_cleanup_free_ char *link = xasprintf("%s?token=%s", w->address, token);
		printf("%s\n", link);
		if (w->options->open)
			browser_open(link);
	}
	return output_error(stdout);
}

static void wait_for_end(const sigset_t *set)
{
	int signal = 0;

	while (sigwait(set, &signal) != 0)
		;
}

/* Large answers come and go in many threads: what they used is returned, and not kept by each. */
static void bound_memory(void)
{
	(void)mallopt(M_ARENA_MAX, 2);
	(void)mallopt(M_MMAP_THRESHOLD, 256 << 10);
	(void)mallopt(M_TRIM_THRESHOLD, 1 << 20);
}

static int serve(struct context *ctx, const struct serve_options *o)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct web_server w = {.options = o,
			       .config = &ctx->config,
			       .user = user_name(),
			       .no_hash = STRBUF_INIT,
			       .tls_cert = STRBUF_INIT,
			       .tls_key = STRBUF_INIT};
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	(void)pthread_sigmask(SIG_BLOCK, &set, NULL);
	(void)signal(SIGPIPE, SIG_IGN);
	bound_memory();
	answer_cache_init(&w.cache, KEPT_BYTES);
	find_store(&w, ctx);
	int r = start(&w, &why);
	if (r < 0) {
		release(&w);
		return fail_with(r == -EINVAL ? EXIT_USAGE : EXIT_FAILED, "%s", why.buf);
	}
	r = announce(&w);
	if (r == 0)
		wait_for_end(&set);
	stop(&w);
	release(&w);
	return r < 0 ? fail_with(EXIT_FAILED, "cannot print the link: %s", strerror(-r)) : EXIT_OK;
}

int do_serve(struct context *ctx, const struct serve_options *o)
{
	if (!is_base_path(o->base_path))
		return usage_error("serve",
				   "serve: --base-path takes a path such as /plimsoll, not "
				   "'%s'",
				   o->base_path);
	return o->link ? serve_link() : serve(ctx, o);
}
