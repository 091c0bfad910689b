/* Options by which several commands choose series of a job. */
#pragma once

#include "cmd/command.h"
#include "views/series_view.h"

/* Rows of a structure `type` whose member `filter` is a struct series_filter. */
#define ROW_METRIC(type, filter, help)                                               \
	ROW(OPT_LIST, 'm', "metric", "METRIC", help,                                 \
	    LIST(type, filter.metrics.word, filter.metrics.count), .separator = ',', \
	    .takes = "metric names")
#define ROW_HOST(type, filter)                                                            \
	ROW(OPT_TEXT, 0, "host", "HOST", "only this host; wildcards * and ? are allowed", \
	    AT(type, filter.host))
#define ROW_ENTITY(type, filter)                                             \
	ROW(OPT_TEXT, 0, "entity", "NAME",                                   \
	    "only this process, device, ...; wildcards * and ? are allowed", \
	    AT(type, filter.entity))
#define ROW_KIND(type, filter)                                                                  \
	ROW(OPT_CHOICE, 0, "kind", "KIND", "only entities of this kind", AT(type, filter.kind), \
	    .word_at = series_kind_name)
#define ROW_SINCE(type, since, has)                                                     \
	ROW(OPT_TIME, 0, "since", "TIME", "samples from this time on", AT(type, since), \
	    GIVEN(type, has))
#define ROW_UNTIL(type, until, has)                                                    \
	ROW(OPT_TIME, 0, "until", "TIME", "samples before this time", AT(type, until), \
	    GIVEN(type, has))

#define ROW_PHASE(type, phase)                                                                   \
	ROW(OPT_TEXT, 0, "phase", "NAME",                                                        \
	    "samples from the first begin to the last end of this phase; NAME#2: of the second " \
	    "time that it occurred",                                                             \
	    AT(type, phase))

/* Limits the time to a phase of the job, within --since and --until. Its phases go into *l. 0,
 * -ENOENT after reporting an error, or another negative errno of the store. */
struct phase_list;
int series_limit_to_phase(struct series_options *o, const char *phase, struct phase_list *l,
			  struct store *s, int64_t job);

/* Name of the i-th kind of entity; NULL after the last. */
const char *series_kind_name(size_t i);

/* The first requested metric that the job does not have; NULL if it has all. */
const char *series_unknown_metric(struct store *s, int64_t job, const struct word_list *w);
/* Reports why no series was found: the job was not sampled, or has no such metric (with similar
 * names), or else the remedy. metric may be NULL. Returns EXIT_FAILED. */
int series_report_none(struct store *s, int64_t job, const char *metric, const char *remedy);

/* Error about a job without series. */
#define NOT_SAMPLED                                                                              \
	"the job was not sampled; sample a job while it runs with `plimsoll run --sample 1s`, "  \
	"`plimsoll monitor` or `plimsoll node`; samples that `monitor` took in a batch job are " \
	"in plimsoll-JOB in its working directory: `plimsoll submit plimsoll-JOB` stores them"
