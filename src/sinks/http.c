/* The way to the module "http", and what needs no library. */
#include "sinks/http.h"

#include <string.h>

#include "core/module.h"
#include "core/text/secrets.h"

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
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	size_t n = strcspn(reply->body.buf ? reply->body.buf : "", "\r\n");

	strbuf_addf(out, "status %ld", reply->status);
	if (!n)
		return;
	strbuf_add(&text, reply->body.buf, n < 300 ? n : 300);
	secrets_hide(&text, reply->url ? reply->url : "");
	strbuf_addf(out, ": %s", text.buf);
}
