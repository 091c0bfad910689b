/* Names of colmet's metrics and events, as its Rust version and its tool have them. */
#pragma once

#include "core/strbuf.h"

/* A list of metrics as colmet's Rust version takes it, in our terms. */
struct colmet_names {
	struct strbuf metrics;  /* that are chosen; names that are not colmet's as they are */
	struct strbuf counters; /* events that are to be counted, commas between */
	struct strbuf counter_metrics; /* the same as metrics */
	struct strbuf without;         /* names that nothing is sent for */
	struct strbuf rust;            /* those that go in messages of the Rust version */
	bool periods;                  /* an event has a period or a job of its own */
};
#define COLMET_NAMES_INIT                                                              \
	{                                                                              \
		STRBUF_INIT, STRBUF_INIT, STRBUF_INIT, STRBUF_INIT, STRBUF_INIT, false \
	}
/* colmets: for a node that sends colmet's records only. -EINVAL with the reason when nothing of it
 * can be sent; in any case *ret is to be released. */
int colmet_names_read(struct colmet_names *ret, const char *list, bool colmets, struct strbuf *why);
void colmet_names_release(struct colmet_names *n);
/* The setting node_metrics that they lead to, where it was old. */
void colmet_names_filter(const struct colmet_names *n, const char *old, struct strbuf *out);
