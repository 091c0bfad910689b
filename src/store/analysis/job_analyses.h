/*
 * What analyses found of a stored job. A job has any number of them by name, JSON values of any
 * kind; ANALYSIS_OUTLIERS is that of `plimsoll analyze` and the daemon, a list with one result per
 * model. An outlier is also an alert until somebody acknowledges it.
 *
 * A result, as views/outliers/job_analysis.c makes it:
 *
 *     model     its name; null: the job was compared with others like it
 *     level     "jobs" or "operations"
 *     compared  number of jobs of the model, or of jobs that were compared
 *     analysed  when
 *     count     number of flagged values
 *     outliers  list of those: feature, tags (of an operation), value, typical, and for each method
 *               that flags it {score, threshold}; the first ones if there are many
 */
#pragma once

#include "core/value.h"
#include "store/store.h"

#define ANALYSIS_OUTLIERS "outlier_detection"
/* All analyses of a job together, as JSON: more is a mistake. */
#define ANALYSES_MAX 65536

/* Sets analyses of a job; replace: removes all others. -ENOENT: the job is gone, -E2BIG: they would
 * be larger than ANALYSES_MAX, with the reason in *why. */
int analyses_set(struct store *s, int64_t job, const struct value *pairs, bool replace,
		 struct strbuf *why);
/* Removes one; NULL: all. -ENOENT: there is none. */
int analyses_remove(struct store *s, int64_t job, const char *key, struct strbuf *why);

/* Is ANALYSIS_OUTLIERS there? 1 or 0, or a negative errno. */
int analysis_is_done(struct store *s, int64_t job);
/* Stores the results of a job in place of earlier ones, and its alerts. An acknowledged alert stays
 * acknowledged if it is about the same features. Within the caller's transaction, if there is one.
 * -ENOENT: the job is gone. */
int analysis_store(struct store *s, int64_t job, const struct value *results, struct strbuf *why);
/* The same for a job that was not analysed yet. -EEXIST: somebody else has done so meanwhile. */
int analysis_store_first(struct store *s, int64_t job, const struct value *results,
			 struct strbuf *why);

/* The alerts of a job that is stored again under another number. */
int alerts_move(struct store *s, int64_t from, int64_t to);
/* Acknowledges the open alerts of a job, all or those of one model ("": of none). Their number, or
 * a negative errno. */
int64_t alerts_acknowledge(struct store *s, int64_t job, const char *model, const char *by,
			   const char *note);
