/* Replies; see replies.h. */
#include "web/http/replies.h"

#include <string.h>

#include "core/clock.h"
#include "web/http/plain_page.h"

#define POLICY                                                                            \
	"default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " \
	"connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'; "     \
	"frame-ancestors 'self'"

/* ---- calls ------------------------------------------------------------------------------------
 */

struct web_call *web_call_new(struct web_server *w, struct http_call *h)
{
	struct web_call *c = xcalloc(1, sizeof(*c));

	c->http = h;
	c->server = w;
	c->key = c->allow = c->cookie = c->viewer_text = (struct strbuf)STRBUF_INIT;
	c->viewer.user = c->viewer.text = "";
	c->begun_ns = clock_boottime_ns();
	h->user = c;
	return c;
}

static void count(struct web_call *c)
{
	struct web_counters *n = &c->server->counters;
	unsigned class = c->http->reply.status / 100;

	__atomic_add_fetch(&n->answers[class < ARRAY_SIZE(n->answers) ? class : 0], 1,
			   __ATOMIC_RELAXED);
	__atomic_add_fetch(&n->requests_ns, clock_boottime_ns() - c->begun_ns, __ATOMIC_RELAXED);
}

void web_call_end(void *user PL_UNUSED, struct http_call *h)
{
	struct web_call *c = h->user;

	if (!c)
		return;
	if (h->reply.status)
		count(c);
	live_close(c->stream);
	sent_answer_unref(c->answer);
	route_release_params(&c->request);
	target_release(&c->target);
	strbuf_release(&c->key);
	strbuf_release(&c->allow);
	strbuf_release(&c->cookie);
	strbuf_release(&c->viewer_text);
	free(c);
}

/* ---- headers ----------------------------------------------------------------------------------
 */

static void add(struct http_reply *r, const char *name, const char *value)
{
	if (value && *value && r->header_count < HTTP_HEADERS_MAX)
		r->headers[r->header_count++] = (struct http_header){name, value};
}

static void add_usual(struct http_reply *r, const char *policy, const char *cache)
{
	add(r, "Content-Security-Policy", policy ? policy : POLICY);
	add(r, "X-Content-Type-Options", "nosniff");
	add(r, "Referrer-Policy", "no-referrer");
	add(r, "Cross-Origin-Resource-Policy", "same-origin");
	add(r, "Cache-Control", cache);
}

/* Does the client have this version? */
static bool has_version(const struct web_call *c, const char *etag)
{
	const char *given = c->server->functions->header(c->http, "If-None-Match");

	return given && *etag && (!strcmp(given, "*") || strstr(given, etag));
}

static void set_body(struct http_reply *r, const void *data, size_t size)
{
	r->data = size ? data : "";
	r->size = size;
}

void web_reply_answer(struct web_call *c)
{
	struct http_reply *r = &c->http->reply;
	struct sent_answer *s = c->answer;

	*r = (struct http_reply){.status = s->status};
	add_usual(r, s->policy, *s->etag ? "private, no-cache" : "no-store");
	add(r, "ETag", s->etag);
	add(r, "Vary", "Accept, Accept-Encoding, Cookie");
	add(r, "Allow", c->allow.buf);
	add(r, "Set-Cookie", c->cookie.buf);
	add(r, "Location", s->location);
	add(r, "Link", s->link);
	if (s->retry_s)
		add(r, "Retry-After", s->retry_s < 10 ? "2" : "10");
	if (has_version(c, s->etag)) {
		r->status = 304;
		set_body(r, "", 0);
		return;
	}
	add(r, "Content-Type", s->type);
	add(r, "Content-Encoding", s->encoding);
	add(r, "Content-Disposition", s->file_name);
	set_body(r, s->data, s->size);
}

void web_reply(struct web_call *c, struct web_answer *a)
{
	bool versioned = c->request.route && c->request.route->method == WEB_GET && !a->not_kept;

	if (a->cookie)
		strbuf_addstr(&c->cookie, a->cookie);
	c->stream = a->stream;
	a->stream = NULL;
	c->answer = sent_answer_new(a);
	if (versioned)
		sent_answer_finish(c->answer,
				   c->server->functions->header(c->http, "Accept-Encoding"));
	if (c->key.len && c->answer->status == 200)
		answer_cache_add(&c->server->cache, &c->key, c->version, c->answer);
	web_reply_answer(c);
	if (c->stream)
		live_attach(c->stream, c->http);
}

/* ---- files ------------------------------------------------------------------------------------
 */

const struct web_asset *web_asset(const struct web_server *w, const char *name)
{
	for (const struct web_asset *a = w->functions->assets; a->path; a++)
		if (!strcmp(a->path + strlen("/ui/"), name))
			return a;
	return NULL;
}

void web_reply_asset(struct web_call *c, const struct web_asset *asset)
{
	const char *encodings = c->server->functions->header(c->http, "Accept-Encoding");
	struct http_reply *r = &c->http->reply;
	bool packed = asset->gzip_size && asset->gzip_size < asset->size && encodings &&
		      strstr(encodings, "gzip");

	*r = (struct http_reply){.status = 200};
	add_usual(r, NULL, "no-cache");
	add(r, "ETag", asset->etag);
	add(r, "Vary", "Accept-Encoding");
	if (has_version(c, asset->etag)) {
		r->status = 304;
		set_body(r, "", 0);
		return;
	}
	add(r, "Content-Type", asset->type);
	add(r, "Content-Encoding", packed ? "gzip" : NULL);
	set_body(r, packed ? asset->gzip : asset->data, packed ? asset->gzip_size : asset->size);
}

void web_stranger_page(struct web_answer *a, const char *base)
{
	a->status = 401;
	a->type = "text/html; charset=utf-8";
	a->not_kept = true;
	plain_page_begin(&a->body, base, "This page needs a new link");
	strbuf_addstr(&a->body,
		      "<p>A link to this server works once, and its session ends after a "
		      "week or with the server.</p>\n<p>Run <code>plimsoll serve "
		      "--link</code> in a terminal and open the link that it prints.</p>\n");
	plain_page_end(&a->body);
}

void web_refusal_page(struct web_answer *a, unsigned status, const char *base)
{
	a->status = status;
	a->type = "text/html; charset=utf-8";
	a->not_kept = true;
	if (status == 404) {
		plain_page_begin(&a->body, base, "There is no such page");
		strbuf_addf(&a->body,
			    "<p><a href=\"%s/\">The jobs</a> have links to all pages.</p>\n", base);
	} else {
		plain_page_begin(&a->body, base, "This page is not open to you");
		strbuf_addstr(&a->body, "<p>The link that you have shows one job. For others, ask "
					"whoever runs this server.</p>\n");
	}
	plain_page_end(&a->body);
}
