/* Options by which several commands choose series of a job. */
#ifndef PL_CMD_SERIES_OPTIONS_H
#define PL_CMD_SERIES_OPTIONS_H

#include "cmd/command.h"
#include "views/series_view.h"

enum { OPTION_METRIC = 1101, OPTION_HOST, OPTION_ENTITY, OPTION_KIND, OPTION_SINCE, OPTION_UNTIL };

#define ROW_METRIC(help)                                     \
	{                                                    \
		OPTION_METRIC, 'm', "metric", "METRIC", help \
	}
#define ROW_HOST                                                                   \
	{                                                                          \
		OPTION_HOST, 0, "host", "HOST", "of this host only; * and ? match" \
	}
#define ROW_ENTITY                                                        \
	{                                                                 \
		OPTION_ENTITY, 0, "entity", "NAME",                       \
			"of this process, device ... only; * and ? match" \
	}
#define ROW_KIND                                                                          \
	{                                                                                 \
		OPTION_KIND, 0, "kind", "KIND",                                           \
			"of entities of this kind only: process, node, job, cpu, gpu ..." \
	}
#define ROW_SINCE                                                     \
	{                                                             \
		OPTION_SINCE, 0, "since", "TIME", "from this time on" \
	}
#define ROW_UNTIL                                                    \
	{                                                            \
		OPTION_UNTIL, 0, "until", "TIME", "before this time" \
	}

/* Takes one of these; false with a message said when its value is bad. Others are left alone. */
bool series_filter_set(const char *command, struct series_filter *f, int id, const char *value);
/* The same with times. */
bool series_option_set(const char *command, struct series_options *o, int id, const char *value);

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
