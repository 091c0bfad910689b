/* Who a request comes from; see admit.h. */
#include "web/access/admit.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>

static const char *header(const struct web_call *c, const char *name)
{
	return c->server->functions->header(c->http, name);
}

static void set_name(struct viewer *v, const char *name)
{
	size_t n = strlen(name);

	n = n < VIEWER_NAME_MAX ? n : VIEWER_NAME_MAX;
	memcpy(v->user, name, n);
	v->user[n] = 0;
}

/* What the store and the commands are told. */
static void settle(struct web_call *c)
{
	c->viewer.user = c->viewer.who.user;
	c->viewer.may_write = c->server->options->write && c->viewer.who.role > VIEWER_JOB;
	strbuf_reset(&c->viewer_text);
	/* the only user sees everything; the store is opened for others by this text */
	if (c->server->options->auth != AUTH_TOKEN || c->viewer.who.role == VIEWER_JOB)
		viewer_add_text(&c->viewer.who, &c->viewer_text);
	c->viewer.text = c->viewer_text.buf;
}

/* The one who started the server. */
static bool admit_owner(struct web_call *c)
{
	c->viewer.who = (struct viewer){.role = VIEWER_ADMIN};
	set_name(&c->viewer.who, c->server->user);
	settle(c);
	return true;
}

static bool has_project(const char *list, const char *name, size_t n)
{
	for (; *list; list += strcspn(list, ","), list += *list == ',')
		if (strcspn(list, ",") == n && !strncmp(list, name, n))
			return true;
	return false;
}

static void add_project(struct viewer *v, const char *name, size_t n)
{
	size_t used = strlen(v->projects);

	if (has_project(v->projects, name, n) || used + 1 + n > VIEWER_PROJECTS_MAX)
		return;
	if (used)
		v->projects[used++] = ',';
	memcpy(v->projects + used, name, n);
	v->projects[used + n] = 0;
	if (v->role == VIEWER_USER)
		v->role = VIEWER_PROJECT;
}

/* Groups of a user are projects; what cannot be the name of one is not. */
static void add_groups(struct viewer *v, const char *list)
{
	while (list && *list) {
		list += strspn(list, ", \t");
		size_t n = strcspn(list, ","), end = n;

		while (n && strchr(" \t", list[n - 1]))
			n--;
		_cleanup_free_ char *name = xstrndup(list, n);
		if (viewer_name_valid(name))
			add_project(v, name, n);
		list += end;
	}
}

/* Somebody whose name is known for sure. stranger: the store need not have the user. groups: NULL:
 * none. */
static bool admit_user(struct web_call *c, const char *name, bool stranger, const char *groups)
{
	struct viewer v = {.role = VIEWER_USER};

	if (!viewer_name_valid(name))
		return false;
	int r = web_users_find(&c->server->users, name, &v, NULL);
	if (r < 0 || (r == 0 && !stranger))
		return false;
	set_name(&v, name);
	add_groups(&v, groups);
	c->viewer.who = v;
	settle(c);
	return true;
}

static bool admit_session(struct web_call *c)
{
	char user[VIEWER_NAME_MAX + 1];

	c->has_session = access_session(&c->server->access, header(c, "Cookie"), c->server->cookie,
					c->csrf, user);
	if (!c->has_session)
		return false;
	if (!*user)
		return admit_owner(c);
	return admit_user(c, user, c->server->options->auth == AUTH_PAM, NULL);
}

/* The only header of this name: of two, one may be of the client. */
static const char *only(const struct web_call *c, const char *name)
{
	const char *value = NULL;

	return name && c->server->functions->headers(c->http, name, &value) == 1 ? value : NULL;
}

/* The proxy tells the name, and proves with the secret that it is the proxy. What it asks comes
 * from browsers, so that changes need the value against forged requests. */
static bool admit_proxied(struct web_call *c)
{
	struct web_server *w = c->server;
	const char *name = only(c, w->options->proxy_header);
	const char *secret = only(c, "X-Plimsoll-Proxy-Secret");

	if (!name || !secret || !access_same(secret, w->proxy_secret))
		return false;
	c->has_session = true;
	if (!viewer_name_valid(name) || !access_proxied(&w->access, name, c->csrf))
		return false;
	return admit_user(c, name, true, only(c, w->options->proxy_groups));
}

static bool admit_peer(struct web_call *c)
{
	char buf[4096];
	struct passwd p, *found = NULL;

	if (!c->http->has_peer)
		return false;
	if (c->http->peer_uid == geteuid() || !c->http->peer_uid)
		return admit_owner(c);
	if (c->server->options->auth != AUTH_PEER ||
	    getpwuid_r(c->http->peer_uid, &p, buf, sizeof(buf), &found) != 0 || !found)
		return false;
	return admit_user(c, found->pw_name, true, NULL);
}

static bool admit_known(struct web_call *c)
{
	struct web_server *w = c->server;

	if (w->options->auth == AUTH_PROXY)
		return admit_proxied(c);
	if (w->socket)
		return admit_peer(c);
	if (access_is_script(&w->access, header(c, "Authorization")))
		return admit_owner(c);
	return admit_session(c);
}

/* Whoever has a link to one job, which a cookie keeps. */
static bool admit_guest(struct web_call *c)
{
	char token[ACCESS_TOKEN_SIZE], name[SHARE_COOKIE_SIZE];
	unsigned left;
	int64_t job;

	share_cookie_name(c->server, name);
	if (!access_cookie(header(c, "Cookie"), name, token) ||
	    !share_find(&c->server->shares, token, &job, &left))
		return false;
	c->viewer.who = (struct viewer){.role = VIEWER_JOB, .job = job};
	settle(c);
	return true;
}

bool web_admit(struct web_call *c)
{
	return admit_known(c) || admit_guest(c);
}

void web_admit_nobody(struct web_call *c)
{
	c->viewer.who = (struct viewer){.role = VIEWER_JOB, .job = INT64_MAX};
	if (c->server->options->auth != AUTH_TOKEN)
		settle(c);
}

/* ---- routes -----------------------------------------------------------------------------------
 */

/* What the page of one job asks. */
static bool is_of_one_job(const struct web_route *r)
{
	return r->method == WEB_GET && !(r->flags & WEB_SUPPORT) &&
	       (strstr(r->pattern, "{job}") || !strcmp(r->pattern, "/api/v1/session"));
}

static enum viewer_role least(const struct web_route *r)
{
	if (is_of_one_job(r))
		return VIEWER_JOB;
	/* what does not come from the store is not narrowed by it */
	if ((r->flags & WEB_SUPPORT) ||
	    !(r->flags & (WEB_STORE | WEB_QUICK | WEB_HTML | WEB_OPEN | WEB_OWNER)))
		return VIEWER_SUPPORT;
	return (r->flags & WEB_WRITE) && !(r->flags & WEB_OWNER) ? VIEWER_ADMIN : VIEWER_USER;
}

bool web_may_use(const struct web_call *c, const char **ret_why, const char **ret_remedy)
{
	const struct web_route *r = c->request.route;

	if ((r->flags & WEB_WRITE) && !c->server->options->write) {
		*ret_why = "this server is read-only";
		*ret_remedy = "start it with `plimsoll serve --write`";
		return false;
	}
	if (c->viewer.who.role >= least(r))
		return true;
	*ret_why = "your role does not allow this";
	*ret_remedy = NULL;
	return false;
}
