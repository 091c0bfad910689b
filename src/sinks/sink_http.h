/*
 * Shared by the sinks that use HTTP: servers that are away at times, refused data, options after
 * the
 * "?" of an address, names that every server accepts.
 */
#pragma once

#include "sinks/http.h"
#include "sinks/sink_lines.h"

/* Limit of buffered bytes. The rest of an entry that exceeds it is refused. */
#define SINK_HELD_LIMIT ((size_t)192 << 20)

struct sink_server {
	const struct http_functions *functions;
	struct http *http;
	struct http_reply reply;
	uint64_t not_before_ns; /* boot time; the server asked to be left alone until then */
};

/* "timeout=TIME" in the address limits the time for a reply. -ENOSYS: the module is missing;
 * -EINVAL: the address or user_file is wrong. */
int sink_server_open(struct sink_server *s, const struct sink_options *o, const char *url,
		     struct strbuf *why);
void sink_server_close(struct sink_server *s);
/* 0: there is a reply, whose status will not change by itself. -EAGAIN: try again later; a server
 * that said when is left alone until then. */
int sink_server_send(struct sink_server *s, const struct http_request *r, struct strbuf *why);
/* GET path must succeed with a text that begins so; else -EAGAIN: it is not that product. */
int sink_server_expect(struct sink_server *s, const char *path, const char *begin,
		       const char *product, struct strbuf *why);

/* Data that a server refuses because of its content: its entries are kept aside, and the first case
 * is logged. Functions that return an error could not keep it: the commit must fail with it. */
struct sink_refusals {
	const char *sink;
	int (*tell)(void *user, uint64_t number, const char *reason);
	void *user;
	bool said;
	uint64_t *names; /* entries with too many names, not yet reported */
	size_t name_count, name_cap;
	uint64_t judged, cut; /* last entry that was checked; the one that was too large */
};
struct sink_refusals sink_refusals(const char *sink, const struct sink_options *o);
void sink_refusals_release(struct sink_refusals *r);
/* -EAGAIN: it cannot be kept now; the reason is in *why. */
int sink_tell(struct sink_refusals *r, uint64_t entry, const char *reason, struct strbuf *why);
/* what: "samples", "rows of plimsoll_jobs". reply: the reason. */
int sink_refuse(struct sink_refusals *r, uint64_t entry, const char *what,
		const struct http_reply *reply, struct strbuf *why);
/* Notes that an entry has too many names; and reports all of them, in a commit. */
void sink_refuse_names(struct sink_refusals *r, uint64_t entry);
int sink_tell_names(struct sink_refusals *r, struct strbuf *why);

/* Removes KEY=VALUE from the options after the "?" of an address; the value, freed by the caller,
 * or NULL. */
char *sink_take_option(char *url, const char *key);
/* The result of batch(), also for an entry that comes again. 1: more than `wanted` bytes are
 * buffered. -E2BIG: the entry exceeded the limit. */
int sink_entry_end(struct sink_refusals *r, uint64_t entry, size_t held, size_t wanted,
		   struct strbuf *why);
/* Lower-case letters, digits and "_"; anything else becomes "_". */
void sink_add_name(struct strbuf *out, const char *s);
/* Are values in their unit whole numbers? */
bool sink_is_whole(const struct sample_metric *m);
/* The value in its unit; false if it does not fit. */
bool sink_whole_value(int64_t raw, const struct sample_metric *m, int64_t *ret);
