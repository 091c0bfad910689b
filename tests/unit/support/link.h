/* Links on loopback, with ports that the kernel chooses, and waiting by condition. */
#pragma once

#include "unit.h"

#include <errno.h>
#include <poll.h>

#include "transport/link.h"

#define PATIENCE_MS 20000

static inline struct link *open_link(const struct link_options *o)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct link *l = NULL;

	if (link_open(&l, o, &why) < 0)
		fail_msg("%s", why.buf);
	return l;
}

/* A bound one; its address is freed by the caller. */
static inline struct link *bind_link(struct link_options o, char **ret_uri)
{
	struct strbuf uri = STRBUF_INIT;

	if (!o.uri)
		o.uri = "tcp://127.0.0.1:*";
	o.bind = true;
	struct link *l = open_link(&o);
	link_endpoint(l, &uri);
	*ret_uri = strbuf_take(&uri);
	return l;
}

static inline uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* Waits for a message; false when none comes in time. */
static inline bool await(struct link *l, struct link_part *parts, size_t *count, unsigned ms)
{
	uint64_t until = now_ms() + ms;

	for (;;) {
		int r = link_receive(l, parts, count);

		assert_true(r >= 0);
		if (r > 0)
			return true;
		if (now_ms() >= until)
			return false;
		struct pollfd p = {.fd = link_descriptor(l), .events = POLLIN};
		(void)poll(&p, 1, 20);
	}
}

static inline int send_text(struct link *l, const char *text)
{
	return link_send(l, &(struct link_part){text, strlen(text)}, 1);
}

static inline bool part_is(const struct link_part *p, const char *text)
{
	return p->size == strlen(text) && !memcmp(p->data, text, p->size);
}
