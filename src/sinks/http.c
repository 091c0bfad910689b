/* The way to the module "http", and what needs no library. */
#include "sinks/http.h"

#include <string.h>

#include "core/module.h"

const struct http_functions *http_module(struct strbuf *why)
{
	const struct module *m = module_load("http", why);

	return m ? m->functions : NULL;
}

bool http_is_passing(long status)
{
	return status == 408 || status == 425 || status == 429 || status >= 500;
}

void http_add_reason(struct strbuf *out, const struct http_reply *reply)
{
	size_t n = strcspn(reply->body.buf ? reply->body.buf : "", "\r\n");

	strbuf_addf(out, "status %ld", reply->status);
	if (n)
		strbuf_addf(out, ": %.*s", (int)(n < 300 ? n : 300), reply->body.buf);
}
