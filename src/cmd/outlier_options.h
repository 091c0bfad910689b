/* Options and arguments that `outliers`, `model` and `rca` share: features, methods, jobs. */
#pragma once

#include "cmd/command.h"
#include "context/job_selection.h"
#include "views/outliers/outlier_search.h"

#define OUTLIER_WORDS_MAX 64
#define METHOD_NAMES \
	"iqr, madz, z; with a model also abod, cof, hbos, iforest, knn, mcd, ocsvm, pca"

struct outlier_words {
	const char *word[OUTLIER_WORDS_MAX];
	size_t count;
};

struct outlier_options {
	struct outlier_words features, methods, thresholds, ops;
};

/* Rows of a structure whose member `common` is a struct outlier_options. */
#define ROW_FEATURES(type)                                                             \
	ROW(OPT_LIST, 'f', "features", "NAME,...",                                     \
	    "compare by these metrics; `all` for every metric that all have",          \
	    LIST(type, common.features.word, common.features.count), .separator = ',', \
	    .takes = "names of metrics")
#define ROW_METHODS(type)                                                             \
	ROW(OPT_LIST, 'm', "methods", "NAME,...", "use these methods: " METHOD_NAMES, \
	    LIST(type, common.methods.word, common.methods.count), .separator = ',',  \
	    .takes = METHOD_NAMES)
#define ROW_THRESHOLDS(type)                                                               \
	ROW(OPT_LIST, 0, "thresholds", "NAME=NUMBER,...",                                  \
	    "scores above which a value is an outlier, such as z=2.5,madz=3",              \
	    LIST(type, common.thresholds.word, common.thresholds.count), .separator = ',', \
	    .takes = "METHOD=NUMBER")
#define ROW_OP(type)                                                          \
	ROW(OPT_LIST, 0, "op", "KEY:VALUE;...",                               \
	    "the operation of processes with these tags; repeat for several", \
	    LIST(type, common.ops.word, common.ops.count), .takes = "tags")

/* Puts the options into a request, whose features then point to them. *ret_ops: a list for the
 * caller to free, NULL without --op. False after reporting an invalid one. */
bool outlier_options_take(const struct outlier_options *o, struct outlier_request *q,
			  struct value **ret_ops, const char *command);

/* The jobs of a request. */
struct request_jobs {
	struct job_selection selection;
	int64_t *numbers;
	char **labels; /* of the selection */
};
void request_jobs_release(struct request_jobs *j);
#define _cleanup_request_jobs_ _cleanup_(request_jobs_release)
/* Finds them and puts them into the request. 0, or a negative errno after reporting it. */
int request_jobs_find(struct request_jobs *j, struct store *s, char *const *words, int count,
		      const char *where, struct outlier_request *q);
