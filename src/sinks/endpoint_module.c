/* Module "endpoint": a page over HTTP, by libmicrohttpd. */
#include <errno.h>
#include <microhttpd.h>
#include <string.h>

#include "core/module.h"
#include "sinks/endpoint_module.h"

#define CONNECTIONS_MAX 64
#define TIMEOUT_S 30

struct server {
	struct MHD_Daemon *daemon;
	endpoint_page page;
	void *user;
};

static enum MHD_Result answer(struct MHD_Connection *c, unsigned status, const char *type,
			      struct strbuf *text)
{
	size_t n = text->len;
	char *data = strbuf_take(text);
	struct MHD_Response *r = MHD_create_response_from_buffer(n, data, MHD_RESPMEM_MUST_FREE);

	if (!r) {
		free(data);
		return MHD_NO;
	}
	(void)MHD_add_response_header(r, "Content-Type", type);
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		(void)MHD_add_response_header(r, "Allow", "GET, HEAD");
	enum MHD_Result done = MHD_queue_response(c, status, r);
	MHD_destroy_response(r);
	return done;
}

static enum MHD_Result request(void *user, struct MHD_Connection *c, const char *url,
			       const char *method, const char *version, const char *data,
			       size_t *size, void **state)
{
	static int begun;
	const struct server *s = user;
	struct strbuf text = STRBUF_INIT;
	const char *type = "text/plain; charset=utf-8";
	unsigned status = MHD_HTTP_OK;

	(void)version;
	(void)data;
	/* the first call has the head alone */
	if (!*state) {
		*state = &begun;
		return MHD_YES;
	}
	if (*size) {
		*size = 0;
		return MHD_YES;
	}
	if (strcmp(method, MHD_HTTP_METHOD_GET) != 0 && strcmp(method, MHD_HTTP_METHOD_HEAD) != 0) {
		status = MHD_HTTP_METHOD_NOT_ALLOWED;
		strbuf_addstr(&text, "only GET\n");
	} else if (!strcmp(url, "/metrics")) {
		const char *accept = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Accept");

		type = s->page(s->user, accept ? accept : "", &text);
	} else if (!strcmp(url, "/")) {
		strbuf_addstr(&text, "plimsoll: see /metrics\n");
	} else {
		status = MHD_HTTP_NOT_FOUND;
		strbuf_addstr(&text, "there is /metrics\n");
	}
	return answer(c, status, type, &text);
}

static void no_log(void *user, const char *format, va_list ap)
{
	(void)user;
	(void)format;
	(void)ap;
}

static void *start(int fd, endpoint_page page, void *user)
{
	struct server *s = xcalloc(1, sizeof(*s));

	s->page = page;
	s->user = user;
	s->daemon = MHD_start_daemon(
		MHD_USE_INTERNAL_POLLING_THREAD | MHD_USE_POLL | MHD_USE_ERROR_LOG, 0, NULL, NULL,
		request, s, MHD_OPTION_EXTERNAL_LOGGER, no_log, NULL, MHD_OPTION_LISTEN_SOCKET, fd,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_S, MHD_OPTION_END);
	if (s->daemon)
		return s;
	free(s);
	return NULL;
}

static void stop(void *server)
{
	struct server *s = server;

	MHD_stop_daemon(s->daemon);
	free(s);
}

static const struct endpoint_functions functions = {start, stop};

__attribute__((visibility("default"))) const struct module plimsoll_module = {
	.build = PL_BUILD_ID,
	.name = "endpoint",
	.library = "libmicrohttpd",
	.functions = &functions,
};
