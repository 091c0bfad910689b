/* Answers about the server itself. */
#include "web/handlers/handlers.h"

#include "web/http/replies.h"
#include "web/server.h"

const char *web_store_url(const struct web_server *w)
{
	return w->store_url;
}

const struct config *web_config(const struct web_server *w)
{
	return w->config;
}

void web_health(const struct web_request *q PL_UNUSED, struct store *s, struct web_answer *a)
{
	int64_t one = 0;
	int r = store_number(s, "SELECT count(*) FROM schema_version", &one);

	if (r < 0) {
		web_fail_store(a, s, r);
		return;
	}
	a->not_kept = true;
	strbuf_addstr(&a->body, "{\"status\":\"ok\"}\n");
}

void web_session(const struct web_request *q, struct store *s PL_UNUSED, struct web_answer *a)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	const struct web_server *w = q->server;
	char session[ACCESS_TOKEN_SIZE];

	json_begin_object(&j, NULL);
	json_str(&j, "user", q->viewer->user);
	json_bool(&j, "signed_in", access_cookie(q->cookies, w->cookie, session));
	json_bool(&j, "write", q->viewer->may_write);
	json_str(&j, "csrf", q->csrf);
	json_str(&j, "version", PL_VERSION);
	json_str(&j, "role", viewer_roles[q->viewer->who.role]);
	json_str(&j, "store", viewer_is_narrow(&q->viewer->who) ? "" : w->store_shown);
	json_str(&j, "base_path", w->options->base_path);
	json_end_object(&j);
	a->not_kept = true;
	web_take_json(a, &j);
}

void web_link(const struct web_request *q, struct store *s PL_UNUSED, struct web_answer *a)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	_cleanup_strbuf_ struct strbuf link = STRBUF_INIT;
	struct web_server *w = q->server;
	char token[ACCESS_TOKEN_SIZE];

	if (w->socket || w->options->auth != AUTH_TOKEN || access_new_link(&w->access, token) < 0) {
		web_fail(a, 404, NULL, "there are no links to this server");
		return;
	}
	strbuf_addf(&link, "%s?token=%s", w->address, token);
	json_begin_object(&j, NULL);
	json_text(&j, "link", link.buf, link.len);
	json_end_object(&j);
	a->not_kept = true;
	web_take_json(a, &j);
}
