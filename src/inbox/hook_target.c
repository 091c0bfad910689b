/* Delivers one event, to a command or a URL; see hook.h. */
#include <errno.h>
#include <string.h>

#include "core/system/spawn.h"
#include "core/text/secrets.h"
#include "core/text/text.h"
#include "inbox/hook_internal.h"

#define OUTPUT_MAX 65536u /* of a command; more ends it */
#define RETRY_AFTER_MAX 3600

static char *make_shown(const char *address, bool is_url)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (is_url)
		return secrets_shown(address);
	strbuf_addstr(&text, address);
	secrets_mask_text(&text);
	return strbuf_take(&text);
}

int hook_target_open(struct hook_target *t, const char *address, unsigned timeout_ms,
		     struct strbuf *why)
{
	bool is_url = str_prefix(address, "http://") || str_prefix(address, "https://");

	*t = (struct hook_target){
		.address = address, .shown = make_shown(address, is_url), .timeout_ms = timeout_ms};
	if (!is_url)
		return 0;
	t->functions = http_module(why);
	if (!t->functions)
		return -ENOSYS;
	const struct http_options o = {.url = address, .timeout_ms = (long)timeout_ms};
	return t->functions->open(&t->http, &o, why);
}

void hook_target_close(struct hook_target *t)
{
	if (t->http)
		t->functions->close(t->http);
	free(t->shown);
	*t = (struct hook_target){0};
}

/* The library cuts slashes at the end of the address, which some servers insist on. */
static int post(struct hook_target *t, const char *text, uint64_t *ret_after_s, struct strbuf *why)
{
	const struct http_request request = {.method = "POST",
					     .path = str_suffix(t->address, "/") ? "/" : "",
					     .type = "application/json",
					     .body = text,
					     .size = strlen(text)};
	struct http_reply reply = HTTP_REPLY_INIT;
	int r = t->functions->send(t->http, &request, &reply, why);

	if (r == 0 && (reply.status < 200 || reply.status > 299)) {
		strbuf_addf(why, "%s: ", t->shown);
		http_add_reason(why, &reply);
		*ret_after_s = reply.retry_after_s < RETRY_AFTER_MAX ? reply.retry_after_s
								     : RETRY_AFTER_MAX;
		r = http_is_passing(reply.status) ? -EAGAIN : -EPROTO;
	} else if (r == -EMSGSIZE) {
		r = -EAGAIN; /* it answered, but not what we can read */
	}
	strbuf_release(&reply.body);
	return r;
}

static int run(struct hook_target *t, const char *text, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf said = STRBUF_INIT;
	const char *const argv[] = {"sh", "-c", t->address, NULL};
	const struct spawn c = {.path = "/bin/sh",
				.argv = argv,
				.input = text,
				.timeout_ms = t->timeout_ms,
				.max = OUTPUT_MAX};
	int r = spawn_run(&c, &t->stuck, &said);

	if (r == 0)
		return 0;
	if (r == -ETIMEDOUT)
		strbuf_addf(why, "'%s' did not end within %g s", t->shown,
			    (double)t->timeout_ms / 1000);
	else if (r == -EBUSY || r == -EFBIG)
		strbuf_addf(why, "'%s' %s", t->shown,
			    r == -EBUSY ? "still hangs" : "printed more than 64 KiB");
	else if (r < 0)
		strbuf_addf(why, "'%s': %s", t->shown,
			    r == -EINTR ? "killed by a signal" : strerror(-r));
	else
		strbuf_addf(why, "'%s' ended with status %d", t->shown, r);
	if (r > 0 && said.len) {
		strbuf_addstr(why, ": ");
		text_add_printable(why, said.buf, strcspn(said.buf, "\n"));
	}
	return -EAGAIN;
}

int hook_target_deliver(struct hook_target *t, const char *text, uint64_t *ret_after_s,
			struct strbuf *why)
{
	*ret_after_s = 0;
	return t->functions ? post(t, text, ret_after_s, why) : run(t, text, why);
}
