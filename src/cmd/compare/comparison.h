/* What the commands that compare runs share: options, loading, exit statuses. */
#pragma once

#include "cmd/command.h"
#include "context/run_sets.h"
#include "views/comparison/run_comparison.h"

/* Verdicts have statuses of their own: 1 and 2 always mean that there is none. */
#define EXIT_WORSE 3
#define EXIT_INCONCLUSIVE 4

#define COMPARISON_METRICS_MAX 32

/* The first member of the options of such a command. */
struct comparison_options {
	const char *where, *baseline_where, *ignore_tags;
	const char *metrics[COMPARISON_METRICS_MAX], *by[FIGURE_GROUPS];
	size_t metric_count, by_count;
	double min_effect, confidence; /* 0.05, 0.95 */
	uint64_t baseline_last;
	bool with_failed, json, csv;
};
#define COMPARISON_DEFAULTS                                                  \
	{                                                                    \
		.min_effect = 0.05, .confidence = 0.95, .baseline_last = 30, \
	}

bool option_min_effect(struct context *ctx, const char *value, struct strbuf *why);
bool option_confidence(struct context *ctx, const char *value, struct strbuf *why);

#define ROW_COMPARED_METRIC(type)                                                            \
	ROW(OPT_LIST, 'm', "metric", "METRIC",                                               \
	    "metrics to compare, separated by commas; default: duration, cpu_time, rssmax, " \
	    "rchar and wchar; all: every metric",                                            \
	    LIST(type, c.metrics, c.metric_count), .separator = ',', .takes = "metric names")
#define ROW_MIN_EFFECT                                                                    \
	ROW(OPT_CALL, 0, "min-effect", "PERCENT",                                         \
	    "the smallest increase that matters, in percent of the baseline; default: 5", \
	    .call = option_min_effect, .takes = "a percentage from 0 to 1000, such as 5 or 2.5%")
#define ROW_CONFIDENCE                                                                       \
	ROW(OPT_CALL, 0, "confidence", "PERCENT", "confidence of the verdicts; default: 95", \
	    .call = option_confidence, .takes = "a percentage from 50 to 99.99")
#define ROW_WITH_FAILED(type) \
	ROW(OPT_FLAG, 0, "with-failed", NULL, "include runs that failed", AT(type, c.with_failed))
#define ROW_IGNORE_TAGS(type)                   \
	ROW(OPT_TEXT, 0, "ignore-tags", "KEYS", \
	    "tags that do not distinguish runs, separated by commas", AT(type, c.ignore_tags))

/* The options of compare and gate. */
#define ROWS_COMPARISON(type)                                                                      \
	ROW(OPT_TEXT, 'w', "where", "FILTER",                                                      \
	    "runs that match this filter; plimsoll-query(1) explains filters", AT(type, c.where)), \
		ROW(OPT_TEXT, 0, "baseline-where", "FILTER",                                       \
		    "runs of the baseline that match this filter", AT(type, c.baseline_where)),    \
		ROW_COMPARED_METRIC(type),                                                         \
		ROW(OPT_LIST, 0, "by", "PART",                                                     \
		    "also compare parts of the jobs: executable, operation, phase, or several",    \
		    LIST(type, c.by, c.by_count), .separator = ',',                                \
		    .takes = "executable, operation or phase"),                                    \
		ROW_MIN_EFFECT, ROW_CONFIDENCE, ROW_WITH_FAILED(type), ROW_IGNORE_TAGS(type),      \
		ROW(OPT_COUNT, 0, "baseline-last", "N",                                            \
		    "at most N runs in a baseline that is found by fingerprint; default: 30",      \
		    AT(type, c.baseline_last), RANGE(1, 10000))

/* Descriptions that compare and gate share. */
#define HELP_SETS                                                                                 \
	"RUN is a job as in `plimsoll list`: an id, an unambiguous prefix, a name, which stands " \
	"for all jobs of that name, or `last`. Without BASELINE, the baseline is the earlier "    \
	"runs in the store that have the fingerprint of the first RUN: the same program, the "    \
	"same shape of arguments, the same tags and the same type of nodes."
#define HELP_VERDICTS                                                                           \
	"For each metric, the median of the runs is compared with that of the baseline. It is " \
	"worse if it is higher by more than --min-effect, with confidence; not worse if it is " \
	"not, with confidence; else inconclusive, with the number of runs that are missing. "   \
	"Chance makes any metric of a comparison worse in at most 5 % of comparisons, however " \
	"many metrics there are (Holm's method). More is worse for all metrics. Differences "   \
	"below 100 us, 256 KiB of memory, 4 KiB of I/O or 10 events never count."
#define HELP_STATUS                                                                              \
	"The exit status is 0 if no metric is worse, 3 if one is worse and 4 if the comparison " \
	"is inconclusive; 1 and 2 are errors, as for all commands."

/* Finds and compares the runs that the arguments name; 0, or the exit status after an error. */
int comparison_load(struct context *ctx, int argc, char **argv, const char *command,
		    struct store **s, struct run_sets *sets, struct run_comparison *c);
int comparison_status(enum verdict v);
/* The bits of --by; false after reporting an unknown word. */
bool comparison_groups(const struct comparison_options *o, const char *command, unsigned *ret);
