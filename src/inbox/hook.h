/*
 * Tells others what the daemon does: an event is a JSON object that a command gets on its standard
 * input, or that is posted to a URL. A thread delivers, with a time limit, and tries again with
 * growing pauses; what cannot be delivered goes to a file of dead letters. Storing jobs never waits
 * for it.
 *
 * An event is a file in the hook's directory until it is delivered, so that it survives the daemon;
 * the next daemon with that directory delivers it. It may come twice, never not at all.
 */
#pragma once

#include "core/config.h"
#include "core/value.h"

/* The events; HOOK_EVENTS_END is their number. hook_event_names has their words. */
enum hook_event { HOOK_SUBMITTED, HOOK_FAILED, HOOK_OUTLIER, HOOK_EVENTS_END };
extern const char *const hook_event_names[HOOK_EVENTS_END];

struct hook_counts {
	uint64_t delivered, pending, dead;
};

struct hook;

/*
 * Starts it by the settings hook, hook_on, hook_timeout, hook_tries and hook_dir. Without a setting
 * hook, *ret is NULL, which all functions accept. dirfd, name: the directory if hook_dir is empty.
 * -EINVAL or another negative errno with the reason.
 */
int hook_open(struct hook **ret, const struct config *c, int dirfd, const char *name,
	      struct strbuf *why);
/* Posts an event, if it is wanted: detail, a dict, with `event` and `time` in front. Takes no
 * longer than writing a small file. */
void hook_post(struct hook *h, enum hook_event event, const struct value *detail);
bool hook_wants(const struct hook *h, enum hook_event event);
/* Ends it. drain: tries new events once, for at most one time limit. The current call ends first.
 * Undelivered events stay in the directory. *ret: what it did, all 0 for NULL. */
void hook_close(struct hook *h, bool drain, struct hook_counts *ret);
