/* Options by which several commands choose series of a job. */
#ifndef PL_CMD_SERIES_OPTIONS_H
#define PL_CMD_SERIES_OPTIONS_H

#include "cmd/command.h"
#include "views/series_view.h"

/* Rows of a structure `type` whose member `filter` is a struct series_filter. */
#define ROW_METRIC(type, filter, help)                                         \
	{                                                                      \
		OPT_LIST, 'm', "metric", "METRIC", help,                       \
			LIST(type, filter.metrics.word, filter.metrics.count), \
			.separator = ',', .takes = "names of metrics"          \
	}
#define ROW_HOST(type, filter)                                                   \
	{                                                                        \
		OPT_TEXT, 0, "host", "HOST", "of this host only; * and ? match", \
			AT(type, filter.host)                                    \
	}
#define ROW_ENTITY(type, filter)                                                                  \
	{                                                                                         \
		OPT_TEXT, 0, "entity", "NAME", "of this process, device ... only; * and ? match", \
			AT(type, filter.entity)                                                   \
	}
#define ROW_KIND(type, filter)                                                  \
	{                                                                       \
		OPT_CHOICE, 0, "kind", "KIND", "of entities of this kind only", \
			AT(type, filter.kind), .word_at = series_kind_name      \
	}
#define ROW_SINCE(type, since, has)                                                 \
	{                                                                           \
		OPT_TIME, 0, "since", "TIME", "from this time on", AT(type, since), \
			GIVEN(type, has)                                            \
	}
#define ROW_UNTIL(type, until, has)                                                \
	{                                                                          \
		OPT_TIME, 0, "until", "TIME", "before this time", AT(type, until), \
			GIVEN(type, has)                                           \
	}

/* The kinds of entities, one after the other. */
const char *series_kind_name(size_t i);

/* The first of the metrics asked for that the job does not have, NULL when it has all. */
const char *series_unknown_metric(struct store *s, int64_t job, const struct words *w);
/* Says why there is no curve: the job was not sampled, or has no such metric, with the nearest
 * ones; else with the remedy. metric may be NULL. Returns -ENOENT. */
int series_tell_none(struct store *s, int64_t job, const char *metric, const char *remedy);

/* Of a job without series. */
#define NOT_SAMPLED                                                                              \
	"the job was not sampled: `plimsoll run --sample 1s`, `plimsoll monitor` or "            \
	"`plimsoll node` sample a job while it runs; what `monitor` sampled beside a batch job " \
	"is in plimsoll-JOB where it ran, and `plimsoll submit plimsoll-JOB` adds it"

#endif
