/*
 * Analyses stored jobs by themselves: each job is compared with the enabled models that are for it,
 * or, if there is none, with other jobs like it. The results are stored with the job
 * (store/analysis/job_analyses.h has their shape).
 */
#pragma once

#include "store/analysis/job_analyses.h"
#include "store/analysis/models.h"
#include "views/outliers/outlier_search.h"

/* So many jobs are compared with each other at once. */
#define ANALYSIS_JOBS_MAX 50

/* ---- models --------------------------------------------------------------------------------- */

/* The enabled models that have tags: one without tags is for no job in particular. */
struct analysis_models {
	struct model *v;
	size_t count, cap;
};
void analysis_models_release(struct analysis_models *m);
#define _cleanup_models_ _cleanup_(analysis_models_release)
/* notes: a line for each model that cannot be read. */
int analysis_models_load(struct analysis_models *m, struct store *s, struct strbuf *notes);

/*
 * Compares a job with the models whose tags it has. *ret: a list of results, one per model, empty
 * if none is for it or can be used. notes: lines about what could not be compared.
 */
int analysis_by_models(struct store *s, const struct analysis_models *m, int64_t job,
		       const char *label, struct value **ret, struct strbuf *notes);
/* "cpu_time, duration" of the result of one model. */
void analysis_features(const struct value *result, struct strbuf *out);
/* Number of flagged values in a list of results. */
int64_t analysis_count(const struct value *results);

/* ---- many jobs ------------------------------------------------------------------------------ */

struct analysis_job {
	int64_t no;
	const char *label;
};

struct analysis_kept {
	const struct analysis_job *job;
	struct value *results;
};

struct analysis {
	struct store *store;
	const char *keys; /* of tags: jobs with the same values are alike; separated by blanks */
	/* called for each job after its results were stored; NULL: nobody */
	void (*tell)(void *user, const struct analysis_job *job, const struct value *results);
	void *user;
	struct analysis_models models;
	struct strbuf notes; /* lines: what was not analysed, and why */
	size_t analysed, flagged, left;
	size_t few_groups, few_jobs;                  /* groups of too few jobs, and their jobs */
	struct analysis_kept kept[ANALYSIS_JOBS_MAX]; /* not yet stored */
	size_t kept_count;
};
#define ANALYSIS_INIT                 \
	{                             \
		.notes = STRBUF_INIT, \
	}
void analysis_release(struct analysis *a);
#define _cleanup_analysis_ _cleanup_(analysis_release)

/* Analyses jobs, in the order given, and stores what is found. A job that is deleted meanwhile is
 * left out. A negative errno with the reason in *why if the store fails. */
int analyse_jobs(struct analysis *a, const struct analysis_job *jobs, size_t count,
		 struct strbuf *why);

/* ---- shared by its files -------------------------------------------------------------------- */

/* The result of each row of a search, of the jobs in it; results[i] is a list to add to. */
void analysis_add_results(const struct outlier_request *q, const struct outlier_result *res,
			  size_t compared, struct value *const *results);
/* The tags of a job as a dict, which the caller frees even after an error. */
int analysis_tags(struct store *s, int64_t job, struct value **ret);
