/*
 * Outliers among stored jobs, or among their operations, processes or threads: loads the features,
 * chooses those to compare, and flags rows by the methods of the analysis.
 */
#pragma once

#include "analysis/outliers/multivariate.h"
#include "analysis/outliers/outliers.h"
#include "store/analysis/features.h"
#include "store/analysis/models.h"

enum outlier_level { LEVEL_JOBS, LEVEL_OPERATIONS, LEVEL_PROCESSES, LEVEL_THREADS };
/* "job", "operation", ... and their plurals. */
extern const char *const level_words[4], *const level_plurals[4];

struct outlier_request {
	enum outlier_level level;
	const int64_t *jobs; /* numbers, each once */
	char *const *labels; /* what messages and output call them */
	size_t job_count;
	const char *const *features; /* NULL: the default ones of the level */
	size_t feature_count;
	bool all_features;
	bool gaps;                   /* features that only some of the jobs have count, too */
	bool methods_given;          /* rules.use is what the user asked for */
	const struct value *op_tags; /* operations, a list of dicts; NULL: all */
	struct outlier_rules rules;
	const struct model *model; /* NULL: none */
	unsigned detectors;        /* bit k: use detector k instead of the rules */
	double pca;                /* compare by principal components, see pca_count(); 0: no */
};

struct outlier_result {
	struct feature_table t; /* the features that were compared */
	struct feature_operations ops;
	uint8_t *flags;  /* of row and column: bit m: by method m */
	double *typical; /* of group and column: the median, or the center of the model */
	double *excess;  /* of group and column, see flag_outliers() */
	size_t groups;
	/* groups and columns with the most conspicuous first; all in order for other levels */
	size_t *group_order, *column_order;
	struct outlier_rules rules; /* as used */
	const char *bits[8];        /* names of the bits in flags */
	/* with principal components, in place of the features that were loaded */
	struct pca pca;
	char **inputs;       /* names of these features */
	double *weighted;    /* of a row: its flags, weighted by the variance of the components */
	struct strbuf notes; /* lines: what was left out */
};
#define OUTLIER_RESULT_INIT           \
	{                             \
		.notes = STRBUF_INIT, \
	}
void outlier_result_release(struct outlier_result *r);
#define _cleanup_outliers_ _cleanup_(outlier_result_release)

static inline uint8_t outlier_flags(const struct outlier_result *r, size_t row, size_t column)
{
	return r->flags[row * r->t.column_count + column];
}
/* Is it an outlier by any feature? */
bool outlier_row(const struct outlier_result *r, size_t row);

/* 0, or a negative errno with the reason in *why: -ENODATA: too few rows, -ENOENT: a job is gone or
 * nobody has a feature, -EDOM: a job lacks a feature. */
int outlier_search(const struct outlier_request *q, struct store *s, struct outlier_result *ret,
		   struct strbuf *why);

/* The parts of it that models need, too: loads the rows, and keeps the columns to compare. */
/* By detectors or principal components, once the features are chosen; see outlier_multivariate.c.
 */
int search_detectors(const struct outlier_request *q, struct outlier_result *res,
		     struct strbuf *why);
/* is_model: of each job of the request, whether it is one of the model; NULL: no model. asked: only
 * so many of the jobs are part of the result. */
int search_components(const struct outlier_request *q, struct outlier_result *res,
		      const bool *is_model, size_t asked, struct strbuf *why);
/* The names of the columns, separated by commas. */
void add_feature_names(const struct feature_table *t, struct strbuf *out);

int load_features(const struct outlier_request *q, struct store *s, struct outlier_result *ret,
		  struct strbuf *why);
int choose_features(const struct outlier_request *q, struct outlier_result *ret,
		    struct strbuf *why);
