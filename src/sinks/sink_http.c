/* Shared by the sinks that use HTTP; see sink_http.h. */
#include "sinks/sink_http.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "core/clock.h"
#include "core/log.h"
#include "core/module.h"
#include "core/text/secrets.h"

#define TIMEOUT_MAX 3600000000000ull
#define WAIT_MAX_S 600 /* longest Retry-After that is honoured */

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

int sink_server_open(struct sink_server *s, const struct sink_options *o, const char *url,
		     struct strbuf *why)
{
	_cleanup_free_ char *address = xstrdup(url);
	_cleanup_free_ char *timeout = sink_take_option(address, "timeout");
	uint64_t ns = 0;

	*s = (struct sink_server){.functions = http_module(why), .reply = HTTP_REPLY_INIT};
	if (!s->functions)
		return -ENOSYS;
	if (timeout && (parse_duration_ns(timeout, &ns) < 0 || ns < 1000000 || ns > TIMEOUT_MAX))
		return strbuf_fail(why, -EINVAL, "invalid timeout=%s: use 1ms to 1h", timeout);
	const struct http_options options = {.url = address,
					     .user_file = o->user_file,
					     .no_check_certificates = o->no_check_certificates,
					     .timeout_ms = (long)(ns / 1000000)};
	return s->functions->open(&s->http, &options, why);
}

void sink_server_close(struct sink_server *s)
{
	if (s->http)
		s->functions->close(s->http);
	s->http = NULL;
	strbuf_release(&s->reply.body);
}

int sink_server_send(struct sink_server *s, const struct http_request *r, struct strbuf *why)
{
	uint64_t now = clock_boottime_ns();

	if (now < s->not_before_ns) {
		uint64_t more = (s->not_before_ns - now) / 1000000000 + 1;

		strbuf_addf(why, "the server asked to wait another %llu s",
			    (unsigned long long)more);
		s->reply.status = 0;
		return -EAGAIN;
	}
	int e = s->functions->send(s->http, r, &s->reply, why);
	if (e < 0) /* even a reply that is too long, or a bad certificate, may change */
		return -EAGAIN;
	/* rights and redirections may be changed at the server */
	bool later = http_is_passing(s->reply.status) || s->reply.status == 401 ||
		     s->reply.status == 403 || s->reply.status / 100 == 3;
	if (!later)
		return 0;
	uint64_t wait = s->reply.retry_after_s < WAIT_MAX_S ? s->reply.retry_after_s : WAIT_MAX_S;
	if (wait)
		s->not_before_ns = clock_boottime_ns() + wait * 1000000000;
	strbuf_addf(why, "%s %s: ", r->method, r->path);
	http_add_reason(why, &s->reply);
	return -EAGAIN;
}

int sink_server_expect(struct sink_server *s, const char *path, const char *begin,
		       const char *product, struct strbuf *why)
{
	const struct http_request get = {.method = "GET", .path = path};
	int r = sink_server_send(s, &get, why);

	if (r == 0 && (s->reply.status != 200 || !str_prefix(s->reply.body.buf, begin))) {
		strbuf_addf(why, "the server does not answer like %s: ", product);
		http_add_reason(why, &s->reply);
		r = -EAGAIN;
	}
	return r;
}

struct sink_refusals sink_refusals(const char *sink, const struct sink_options *o)
{
	return (struct sink_refusals){.sink = sink, .tell = o->refused, .user = o->refused_user};
}

void sink_refusals_release(struct sink_refusals *r)
{
	free(r->names);
	r->names = NULL;
	r->name_count = r->name_cap = 0;
}

int sink_tell(struct sink_refusals *r, uint64_t entry, const char *reason, struct strbuf *why)
{
	int kept = r->tell ? r->tell(r->user, entry, reason) : 0;

	if (kept >= 0)
		return 0;
	strbuf_reset(why);
	return strbuf_fail(why, -EAGAIN,
			   "part of entry %llu is refused and cannot be kept aside: %s: %s",
			   (unsigned long long)entry, strerror(-kept), reason);
}

int sink_refuse(struct sink_refusals *r, uint64_t entry, const char *what,
		const struct http_reply *reply, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;

	strbuf_addf(&reason, "%s: ", what);
	http_add_reason(&reason, reply);
	int e = sink_tell(r, entry, reason.buf, why);
	if (e == 0 && !r->said)
		log_warn("%s: refused, continuing with the rest: %s", r->sink, reason.buf);
	r->said = r->said || e == 0;
	return e;
}

void sink_refuse_names(struct sink_refusals *r, uint64_t entry)
{
	GROW(r->names, r->name_count, r->name_cap);
	r->names[r->name_count++] = entry;
}

int sink_tell_names(struct sink_refusals *r, struct strbuf *why)
{
	while (r->name_count) {
		int e = sink_tell(r, r->names[r->name_count - 1],
				  "its host has too many names of sources or metrics", why);

		if (e < 0)
			return e;
		r->name_count--;
	}
	return 0;
}

char *sink_take_option(char *url, const char *key)
{
	size_t n = strlen(key);
	char *at = strchr(url, '?');

	while (at) {
		char *begin = at + 1, *end = begin + strcspn(begin, "&");

		if (!strncmp(begin, key, n) && begin[n] == '=') {
			char *value = xstrndup(begin + n + 1, (size_t)(end - begin) - n - 1);

			/* keeps the separator before it, unless it was the last */
			if (*end)
				memmove(begin, end + 1, strlen(end + 1) + 1);
			else
				*at = 0;
			return value;
		}
		at = *end ? end : NULL;
	}
	return NULL;
}

int sink_entry_end(struct sink_refusals *r, uint64_t entry, size_t held, size_t wanted,
		   struct strbuf *why)
{
	if (entry > r->judged) {
		r->judged = entry;
		if (held >= SINK_HELD_LIMIT)
			r->cut = entry;
	}
	if (entry != r->cut)
		return held >= wanted;
	return strbuf_fail(why, -E2BIG,
			   "more than %zu MiB in the format of the server: only a part was taken",
			   SINK_HELD_LIMIT >> 20);
}

void sink_add_name(struct strbuf *out, const char *s)
{
	for (; *s; s++)
		strbuf_addch(out,
			     isalnum((unsigned char)*s) ? (char)tolower((unsigned char)*s) : '_');
}

bool sink_is_whole(const struct sample_metric *m)
{
	return m->scale == 0 ||
	       (m->scale >= 1 && m->scale < 1e15 && m->scale == (double)(int64_t)m->scale);
}

bool sink_whole_value(int64_t raw, const struct sample_metric *m, int64_t *ret)
{
	return !__builtin_mul_overflow(raw, m->scale == 0 ? 1 : (int64_t)m->scale, ret);
}
