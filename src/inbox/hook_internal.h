/* Shared by the files of the hook. */
#pragma once

#include <sys/types.h>

#include "inbox/hook.h"
#include "sinks/http.h"

/* Where events go: a command or a URL. */
struct hook_target {
	const char *address; /* the setting */
	char *shown;         /* the same without passwords, for messages */
	unsigned timeout_ms;
	const struct http_functions *functions; /* NULL: it is a command */
	struct http *http;
	pid_t stuck; /* a command that hangs in the kernel */
};

int hook_target_open(struct hook_target *t, const char *address, unsigned timeout_ms,
		     struct strbuf *why);
void hook_target_close(struct hook_target *t);
/* Delivers a text. 0; -EAGAIN: try again, not before *ret_after_s seconds; another negative errno:
 * it will never be taken. *why: the reason, for people. Blocks for timeout_ms at most. */
int hook_target_deliver(struct hook_target *t, const char *text, uint64_t *ret_after_s,
			struct strbuf *why);
