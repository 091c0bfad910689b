/*
 * What happens to a request: who may ask what is checked here, in one place, before anything else
 * is looked at; then the answer is taken from the cache, made at once, or made by a worker.
 */
#include <errno.h>
#include <string.h>
#include <strings.h>

#include "core/clock.h"
#include "web/access/admit.h"
#include "web/handlers/handlers.h"
#include "web/handlers/moved.h"
#include "web/http/replies.h"
#include "web/web_call.h"

#define OPEN_BODY_MAX 8192

/* ---- who asks ---------------------------------------------------------------------------------
 */

static const char *header(const struct web_call *c, const char *name)
{
	return c->server->functions->header(c->http, name);
}

/* "name" or "name:port"; 0: any port. */
static bool is_name(const char *host, const char *name, unsigned port, unsigned usual)
{
	size_t n = strlen(name);
	uint64_t given;

	if (strncasecmp(host, name, n) != 0)
		return false;
	if (!host[n])
		return !port || port == usual;
	return host[n] == ':' && parse_u64(host + n + 1, &given) == 0 && (!port || given == port);
}

/* Only names of this host that cannot be made to mean another one by DNS, and the one that the
 * server was told. */
static bool is_our_host(const struct web_call *c)
{
	static const char *const names[] = {"127.0.0.1", "localhost", "[::1]"};
	const struct web_server *w = c->server;
	unsigned usual = w->options->tls_cert ? 443 : 80;
	const char *host = header(c, "Host");

	if (w->functions->headers(c->http, "Host", NULL) > 1)
		return false;
	/* a proxy proves that it is the proxy */
	if (w->socket || w->options->auth == AUTH_PROXY)
		return true;
	for (size_t i = 0; host && i < ARRAY_SIZE(names); i++)
		if (is_name(host, names[i], w->port, usual))
			return true;
	return host && is_name(host, w->host, w->options->behind_proxy ? 0 : w->port, usual);
}

/* The last address is of the client that spoke to our proxy: some add it to the client's own
 * header, some add a header. */
static void take_forwarded(const struct web_call *c)
{
	const char *list, *last;

	if (!c->server->options->behind_proxy ||
	    !c->server->functions->headers(c->http, "X-Forwarded-For", &list) || !list)
		return;
	last = strrchr(list, ',');
	last = last ? last + 1 : list;
	last += strspn(last, " ");
	snprintf(c->http->address, sizeof(c->http->address), "%.*s", (int)strcspn(last, " "), last);
}

/* Did a page of ours make the request? Browsers say so; others have no session. */
static bool is_from_our_page(const struct web_call *c)
{
	const char *site = header(c, "Sec-Fetch-Site"), *origin = header(c, "Origin");
	const char *host = header(c, "Host"), *csrf = header(c, "X-Plimsoll-CSRF");

	if (!c->has_session)
		return true;
	if (site && strcmp(site, "same-origin") != 0)
		return false;
	const char *place = origin ? strstr(origin, "://") : NULL;
	if (!site && origin && !(host && place && !strcmp(place + strlen("://"), host)))
		return false;
	return csrf && access_same(csrf, c->csrf);
}

/* ---- answers at once --------------------------------------------------------------------------
 */

static bool refuse(struct web_call *c, unsigned status, const char *remedy, const char *text)
{
	_cleanup_web_answer_ struct web_answer a = WEB_ANSWER_INIT;

	web_fail(&a, status, remedy, "%s", text);
	web_reply(c, &a);
	return true;
}

/* Somebody looks with a browser. */
static bool refuse_page(struct web_call *c, unsigned status)
{
	_cleanup_web_answer_ struct web_answer a = WEB_ANSWER_INIT;

	web_refusal_page(&a, status, c->server->options->base_path);
	web_reply(c, &a);
	return true;
}

static void to_login(const struct web_call *c, struct web_answer *a)
{
	a->status = 303;
	a->type = "text/plain; charset=utf-8";
	a->not_kept = true;
	a->location = xasprintf("%s/login", c->server->options->base_path);
}

static const char *web_remedy(const struct web_call *c)
{
	static const char *const remedies[] = {
		[AUTH_TOKEN] = "open the link that `plimsoll serve --link` prints",
		[AUTH_USERS] = "sign in at /login",
		[AUTH_PROXY] = "use the address of the proxy in front of this server",
		[AUTH_PEER] = "use an account of this host",
		[AUTH_PAM] = "sign in at /login",
	};

	return remedies[c->server->options->auth];
}

static bool refuse_stranger(struct web_call *c)
{
	_cleanup_web_answer_ struct web_answer a = WEB_ANSWER_INIT;

	__atomic_add_fetch(&c->server->counters.refused, 1, __ATOMIC_RELAXED);
	if ((c->request.route->flags & WEB_HTML) && web_has_passwords(c->server->options))
		to_login(c, &a);
	else if (c->request.route->flags & WEB_HTML)
		web_stranger_page(&a, c->server->options->base_path);
	else
		web_fail(&a, 401, web_remedy(c), "this needs a session");
	web_reply(c, &a);
	return true;
}

static bool redirect(struct web_call *c, const char *page)
{
	_cleanup_web_answer_ struct web_answer a = WEB_ANSWER_INIT;

	a.status = 303;
	a.type = "text/plain; charset=utf-8";
	a.location = xasprintf("%s/%s", c->server->options->base_path, page);
	a.not_kept = true;
	web_reply(c, &a);
	return true;
}

/* The link with a token: opens a session, and a clean address. */
static bool redeem(struct web_call *c, const char *token)
{
	_cleanup_web_answer_ struct web_answer a = WEB_ANSWER_INIT;
	struct web_server *w = c->server;
	char session[ACCESS_TOKEN_SIZE];

	if (access_redeem(&w->access, token, session)) {
		strbuf_addf(&c->cookie, "%s=%s; Path=%s/; Max-Age=%llu; HttpOnly; SameSite=Strict",
			    w->cookie, session, w->options->base_path,
			    (unsigned long long)ACCESS_SESSION_S);
	} else if (!web_admit(c)) {
		web_stranger_page(&a, w->options->base_path);
		web_reply(c, &a);
		return true;
	}
	return redirect(c, "");
}

/* The link to one job: a cookie, and a clean address. Links are opened from mails, where browsers
 * would not send a strict cookie. */
static bool redeem_share(struct web_call *c, const char *token)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT;
	struct web_server *w = c->server;
	char name[SHARE_COOKIE_SIZE];
	unsigned left = 0;
	int64_t job;

	share_cookie_name(w, name);
	if (!share_find(&w->shares, token, &job, &left))
		return refuse(c, 401, "ask for another one", "this link is not valid any more");
	strbuf_addf(&c->cookie, "%s=%s; Path=%s/; Max-Age=%u; HttpOnly; SameSite=Lax%s", name,
		    token, w->options->base_path, left, w->encrypted ? "; Secure" : "");
	target_add_path(&c->target, &path); /* not as it was sent: a browser takes \ for / */
	return redirect(c, path.buf + (path.len > 0));
}

static const struct web_asset *find_asset(const struct web_server *w, const struct target *t)
{
	if (t->segment_count != 2 || strcmp(t->segments[0], "ui") != 0)
		return NULL;
	return web_asset(w, t->segments[1]);
}

/* ---- the checks -------------------------------------------------------------------------------
 */

static bool refuse_target(struct web_call *c, int r, const char *why)
{
	return refuse(c, r == -ENOENT ? 404 : 400, NULL, why);
}

/* Pages of other tools, and pages with a slash behind their name. */
static bool redirect_old(struct web_call *c)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT;
	const struct web_route *r = c->request.route;
	_cleanup_free_ char *page = r ? NULL : moved_page(&c->target);

	if (page)
		return redirect(c, page);
	if (!r || !c->target.slash || !(r->flags & WEB_HTML))
		return false;
	target_add_path(&c->target, &path);
	return redirect(c, path.buf + 1);
}

static bool find_route(struct web_call *c)
{
	const char *accept = header(c, "Accept");
	enum web_method m = web_method_of(c->http->method);

	c->request.route = route_find(&c->target, m, &c->allow);
	if (m == WEB_GET && redirect_old(c))
		return true;
	if (c->target.slash)
		c->request.route = NULL;
	if (c->request.route)
		return false;
	if (c->allow.len)
		return refuse(c, 405, NULL, "this address does not take this method");
	if (m == WEB_GET && accept && strstr(accept, "text/html"))
		return refuse_page(c, 404);
	return refuse(c, 404, "see /api/v1/openapi.json", "there is nothing at this address");
}

static bool check_write(struct web_call *c)
{
	const char *type = header(c, "Content-Type");

	if ((c->request.route->flags & WEB_BODY) &&
	    (!type || strncasecmp(type, "application/json", 16) != 0))
		return refuse(c, 415, NULL, "the body must be of type application/json");
	if (header(c, "Content-Encoding"))
		return refuse(c, 415, NULL, "the body must not be compressed");
	return false;
}

/* True: answered, because the client takes none of the types that there are. */
static bool choose_type(struct web_call *c)
{
	_cleanup_strbuf_ struct strbuf types = STRBUF_INIT;
	struct web_request *q = &c->request;
	bool rows = q->route->flags & WEB_TABLE;

	q->type = q->route->flags & (WEB_TYPED | WEB_HTML) ? WEB_TYPE_JSON
							   : accepted_type(q->accept, rows);
	if (q->type)
		return false;
	q->type = WEB_TYPE_JSON;
	strbuf_addstr(&types, "this address answers ");
	add_types(&types, rows);
	return refuse(c, 406, types.buf,
		      "the header Accept takes none of the types of this answer");
}

/* True: answered. */
static bool take_params(struct web_call *c)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct web_request *q = &c->request;
	const char *accept = header(c, "Accept");

	q->server = c->server;
	q->viewer = &c->viewer;
	q->accept = accept ? accept : "";
	q->csrf = c->csrf;
	q->cookies = header(c, "Cookie");
	q->cookies = q->cookies ? q->cookies : "";
	q->site = header(c, "Sec-Fetch-Site");
	q->site = q->site ? q->site : "";
	q->address = c->http->address;
	q->body = "";
	if (route_take_params(q, &c->target, &why) < 0)
		return refuse(c, 400, NULL, why.buf);
	if (q->route->flags & WEB_OPEN) /* anybody may send it */
		c->http->body_max = OPEN_BODY_MAX;
	if (c->http->body_too_large)
		return refuse(c, 413, NULL, "the body is too large");
	return choose_type(c);
}

static bool from_cache(struct web_call *c)
{
	struct web_server *w = c->server;
	const char *encoding;

	if (!(c->request.route->flags & WEB_KEEP) || web_depends_on_time(&c->request) ||
	    !web_store_version(w, &c->version))
		return false;
	encoding = accepted_encoding(header(c, "Accept-Encoding"));
	strbuf_addf(&c->key, "%s\n%s\n%s\n", c->viewer.text, encoding ? encoding : "",
		    c->request.type->name);
	route_add_key(&c->request, &c->key);
	c->answer = answer_cache_find(&w->cache, &c->key, c->version);
	if (c->answer)
		web_reply_answer(c);
	return c->answer != NULL;
}

static bool send_page(struct web_call *c)
{
	const struct web_asset *page = web_asset(c->server, c->request.route->command);

	if (!page)
		return refuse(c, 404, NULL, "this page is not part of this build");
	web_reply_asset(c, page);
	return true;
}

static bool answer_quickly(struct web_call *c)
{
	_cleanup_web_answer_ struct web_answer a = WEB_ANSWER_INIT;

	if (c->request.route->flags & WEB_HTML)
		return send_page(c);
	if (!(c->request.route->flags & WEB_QUICK))
		return false;
	c->request.route->handler(&c->request, NULL, &a);
	web_reply(c, &a);
	return true;
}

static bool check_access(struct web_call *c)
{
	const char *why, *remedy;

	if (!(c->request.route->flags & WEB_OPEN)) {
		if (!web_admit(c))
			return refuse_stranger(c);
		if (c->request.route->method != WEB_GET && !is_from_our_page(c))
			return refuse(c, 403, "send the value that /api/v1/session gives",
				      "the header X-Plimsoll-CSRF is missing or wrong");
		if (!web_may_use(c, &why, &remedy))
			return (c->request.route->flags & WEB_HTML) ? refuse_page(c, 403)
								    : refuse(c, 403, remedy, why);
	} else {
		web_admit_nobody(c);
	}
	return c->request.route->method != WEB_GET && check_write(c);
}

static bool begin(void *user, struct http_call *h)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct web_server *w = user;
	struct web_call *c = web_call_new(w, h);

	if (__atomic_load_n(&w->stopping, __ATOMIC_ACQUIRE))
		return refuse(c, 503, NULL, "the server stops");
	if (h->malformed)
		return refuse(c, 400, NULL, "the header of the request is malformed");
	take_forwarded(c);
	if (!is_our_host(c))
		return refuse(c, 421, "use the address that the server printed",
			      "the header Host does not name this server");
	int r = target_parse(&c->target, h->target, w->options->base_path, &why);
	if (r < 0)
		return refuse_target(c, r, why.buf);
	const char *token = target_value(&c->target, "token");
	if (token && !c->target.segment_count && !strcmp(h->method, "GET"))
		return redeem(c, token);
	const char *share = target_value(&c->target, "share");
	if (share && !strcmp(h->method, "GET"))
		return redeem_share(c, share);
	const struct web_asset *asset = find_asset(w, &c->target);
	if (asset && web_method_of(h->method) == WEB_GET) {
		web_reply_asset(c, asset);
		return true;
	}
	return find_route(c) || check_access(c) || take_params(c) || from_cache(c) ||
	       answer_quickly(c);
}

/* ---- workers ----------------------------------------------------------------------------------
 */

static void submit(void *user, struct http_call *h)
{
	struct web_server *w = user;
	struct web_call *c = h->user;
	/* checking a password takes time, too, and PAM may make the wrong ones wait */
	enum worker_kind kind = c->request.route->handler == web_login ? WORKER_LOGIN
				: c->request.route->command            ? WORKER_COMMAND
								       : WORKER_STORE;

	if (h->body_too_large) {
		refuse(c, 413, NULL, "the body is too large");
		w->functions->wake(h);
		return;
	}
	c->request.body = h->body.buf;
	c->request.body_size = h->body.len;
	if (!workers_submit(&w->workers, kind, c))
		web_call_refuse(c, "too many requests wait");
}

void web_call_refuse(struct web_call *c, const char *text)
{
	_cleanup_web_answer_ struct web_answer a = WEB_ANSWER_INIT;

	web_fail(&a, 503, "try again", "%s", text);
	a.retry_s = 2;
	web_reply(c, &a);
	c->server->functions->wake(c->http);
}

/* A worker keeps the store of the viewer for whom it worked last. */
static bool is_store_of(const struct store *s, const struct web_viewer *v)
{
	if (!*v->text)
		return !s->viewer || getenv(VIEWER_ENV);
	return s->viewer && !strcmp(s->viewer, v->text);
}

/* The store of this worker, opened again if its file was moved, removed, replaced or migrated. */
static bool use_store(struct web_call *c, struct store **s, struct web_answer *a)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	/* one that was old when it was opened may have been migrated */
	if (*s &&
	    (store_moved(*s) || (*s)->schema < schema_newest() || !is_store_of(*s, &c->viewer))) {
		store_close(*s);
		*s = NULL;
	}
	if (*s || web_open_store_as(c->server, &c->viewer, s, &why) == 0)
		return true;
	*s = NULL;
	web_fail(a, 503, "the server tries again with the next request", "%s", why.buf);
	a->retry_s = 2;
	return false;
}

void web_call_run(struct web_call *c, struct store **s)
{
	_cleanup_web_answer_ struct web_answer a = WEB_ANSWER_INIT;
	const struct web_route *route = c->request.route;

	if (!(route->flags & WEB_STORE) || use_store(c, s, &a))
		route->handler(&c->request, *s, &a);
	if (route->flags & WEB_WRITE)
		__atomic_add_fetch(&c->server->changes, 1, __ATOMIC_RELEASE);
	if ((route->flags & WEB_WRITE) && a.status < 300)
		web_note(c->server, c->viewer.user, c->http->address,
			 web_method_name(route->method), c->http->target);
	/* a connection that broke is opened again by the next request */
	if (a.status == 503 && *s) {
		store_close(*s);
		*s = NULL;
	}
	if (a.not_kept || a.status != 200)
		strbuf_reset(&c->key);
	web_reply(c, &a);
	c->server->functions->wake(c->http);
}

void web_events(struct web_server *w, struct http_events *ret)
{
	*ret = (struct http_events){
		.begin = begin, .submit = submit, .end = web_call_end, .user = w};
}
