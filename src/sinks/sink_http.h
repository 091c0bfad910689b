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
#define FEED_HELD_LIMIT ((size_t)192 << 20)

struct feed_server {
	const struct http_functions *functions;
	struct http *http;
	struct http_reply reply;
	uint64_t not_before_ns; /* it asked not to be asked before; boot time */
};

/* "timeout=TIME" in the address is for an answer. 0; -ENOSYS when the module is missing, -EINVAL
 * when the address or the file of the user is wrong. */
int feed_server_open(struct feed_server *s, const struct feed_options *o, const char *url,
		     struct strbuf *why);
void feed_server_close(struct feed_server *s);
/*
 * 0: there is an answer, and its status will not pass by itself. -EAGAIN: there is none now; a
 * server that said when to come again is left alone until then.
 */
int feed_server_send(struct feed_server *s, const struct http_request *r, struct strbuf *why);

/* Who is told of what a server refuses for what is in it; once a line says so, too. What cannot be
 * kept aside is not given up: those that return an error want the commit to fail with it. */
struct feed_refusals {
	const char *feed;
	int (*tell)(void *user, uint64_t number, const char *reason);
	void *user;
	bool said;
	uint64_t *names; /* entries with names that were too many, and nobody was told */
	size_t name_count, name_cap;
	uint64_t judged, cut; /* last entry that was taken; the one that was too large */
};
struct feed_refusals feed_refusals(const char *feed, const struct feed_options *o);
void feed_refusals_release(struct feed_refusals *r);
/* 0; -EAGAIN: it cannot be kept now, with the reason in *why. */
int feed_tell(struct feed_refusals *r, uint64_t entry, const char *reason, struct strbuf *why);
/* what: "samples", "rows of plimsoll_jobs". The reason is the server's last answer. */
int feed_refuse(struct feed_refusals *r, uint64_t entry, const char *what,
		const struct http_reply *reply, struct strbuf *why);
/* Names of an entry were too many: told with the next commit, by the second of these. */
void feed_refuse_names(struct feed_refusals *r, uint64_t entry);
int feed_tell_names(struct feed_refusals *r, struct strbuf *why);

/* Takes KEY=VALUE out of the part of an address behind its "?"; the value is the caller's, NULL
 * when it is not there. */
char *feed_take_option(char *url, const char *key);
/* The end of batch(), also for an entry that comes again: what was taken of it is held. More than
 * the limit: -E2BIG. 1: a commit is wanted, as more than that is held. */
int feed_entry_end(struct feed_refusals *r, uint64_t entry, size_t held, size_t wanted,
		   struct strbuf *why);
/* Lower-case letters, digits and "_"; anything else becomes "_". */
void feed_add_name(struct strbuf *out, const char *s);
/* A value in its unit is a whole number: the scale is one. */
bool feed_is_whole(const struct sample_metric *m);
/* The value in its unit; false where it does not fit. */
bool feed_whole_value(int64_t raw, const struct sample_metric *m, int64_t *ret);

#endif
