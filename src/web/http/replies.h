/* Turns answers into replies with their headers. */
#pragma once

#include "web/web_call.h"

struct web_call *web_call_new(struct web_server *w, struct http_call *h);
void web_call_end(void *user, struct http_call *h);

/* Sends the answer, which is empty afterwards, and keeps it if the call has a key. */
void web_reply(struct web_call *c, struct web_answer *a);
/* Sends c->answer, or 304 if the client has it. */
void web_reply_answer(struct web_call *c);
void web_reply_asset(struct web_call *c, const struct web_asset *asset);

/* A file by its name below /ui/; NULL: none. */
const struct web_asset *web_asset(const struct web_server *w, const char *name);
/* The page for somebody without a session; base: the base path. */
void web_stranger_page(struct web_answer *a, const char *base);
/* The page for an address that has none (404), or that this user may not see (403). */
void web_refusal_page(struct web_answer *a, unsigned status, const char *base);
