/*
 * What the feeds that speak HTTP share: a server that may be away, and says when to come again;
 * options behind the "?" of an address; names that every server takes.
 */
#ifndef PL_SINKS_SINK_HTTP_H
#define PL_SINKS_SINK_HTTP_H

#include "sinks/http.h"
#include "sinks/sink.h"

/* What is held at most, with an entry that is far larger than others: the rest of that one is not
 * taken. */
#define SINK_HELD_LIMIT ((size_t)192 << 20)

struct sink_server {
	const struct http_functions *functions;
	struct http *http;
	struct http_reply reply;
	uint64_t not_before_ns; /* it asked not to be asked before; boot time */
};

/* "timeout=TIME" in the address is for an answer. 0; -ENOSYS when the module is missing, -EINVAL
 * when the address or the file of the user is wrong. */
int sink_server_open(struct sink_server *s, const struct sink_options *o, const char *url,
		     struct strbuf *why);
void sink_server_close(struct sink_server *s);
/*
 * 0: there is an answer, and its status will not pass by itself. -EAGAIN: there is none now; a
 * server that said when to come again is left alone until then.
 */
int sink_server_send(struct sink_server *s, const struct http_request *r, struct strbuf *why);

/* Who is told of what a server refuses for what is in it; once a line says so, too. What cannot be
 * kept aside is not given up: those that return an error want the commit to fail with it. */
struct sink_refusals {
	const char *feed;
	int (*tell)(void *user, uint64_t number, const char *reason);
	void *user;
	bool said;
	uint64_t *names; /* entries with names that were too many, and nobody was told */
	size_t name_count, name_cap;
	uint64_t judged, cut; /* last entry that was taken; the one that was too large */
};
struct sink_refusals sink_refusals(const char *feed, const struct sink_options *o);
void sink_refusals_release(struct sink_refusals *r);
/* 0; -EAGAIN: it cannot be kept now, with the reason in *why. */
int sink_tell(struct sink_refusals *r, uint64_t entry, const char *reason, struct strbuf *why);
/* what: "samples", "rows of plimsoll_jobs". The reason is the server's last answer. */
int sink_refuse(struct sink_refusals *r, uint64_t entry, const char *what,
		const struct http_reply *reply, struct strbuf *why);
/* Names of an entry were too many: told with the next commit, by the second of these. */
void sink_refuse_names(struct sink_refusals *r, uint64_t entry);
int sink_tell_names(struct sink_refusals *r, struct strbuf *why);

/* Takes KEY=VALUE out of the part of an address behind its "?"; the value is the caller's, NULL
 * when it is not there. */
char *sink_take_option(char *url, const char *key);
/* The end of batch(), also for an entry that comes again: what was taken of it is held. More than
 * the limit: -E2BIG. 1: a commit is wanted, as more than that is held. */
int sink_entry_end(struct sink_refusals *r, uint64_t entry, size_t held, size_t wanted,
		   struct strbuf *why);
/* Lower-case letters, digits and "_"; anything else becomes "_". */
void sink_add_name(struct strbuf *out, const char *s);
/* A value in its unit is a whole number: the scale is one. */
bool sink_is_whole(const struct sample_metric *m);
/* The value in its unit; false where it does not fit. */
bool sink_whole_value(int64_t raw, const struct sample_metric *m, int64_t *ret);

#endif
