/* A request on its way through the server; dispatch.c. */
#pragma once

#include "web/answers/answer_cache.h"
#include "web/http/http_module.h"
#include "web/routes.h"
#include "web/server.h"

struct web_call {
	struct http_call *http;
	struct web_server *server;
	struct web_call *next; /* in a queue */
	struct target target;
	struct web_request request;
	struct web_viewer viewer;
	struct strbuf viewer_text;
	char csrf[ACCESS_TOKEN_SIZE];
	bool has_session;  /* of a browser: changes need X-Plimsoll-CSRF */
	struct strbuf key; /* of the answer in the cache; empty: not kept */
	uint64_t version;  /* of the store, before the handler runs */
	uint64_t begun_ns;
	struct strbuf allow, cookie;
	const char *body_text;
	struct sent_answer *answer;
	struct live_stream *stream;
};
