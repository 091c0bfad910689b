/*
 * Reference models in the store. A model is one JSON document in the shape of imported models, so
 * that imported models and ours are read by the same code:
 *
 *     version    of this shape, MODEL_VERSION; imported models have none
 *     name, enabled, created_at
 *     tags       of jobs that the model is for
 *     op_tags    list of the tags of its operations; empty: it is a model of whole jobs
 *     jobs       ids of the jobs that it was made from
 *     computed   {method: {feature: [highest score, center, spread]}}, for operations one such dict
 *                by the JSON text of their tags; of a multivariate detector
 *                {detector: {"feature,feature": [highest score, [[values of a job], ...]]}}
 *     info_dict  {"active_metrics": [features to use, empty: all], "pca": {...}}, all
 *                optional
 */
#pragma once

#include "core/value.h"
#include "store/store.h"

#define MODEL_VERSION 1

struct model {
	char *name;
	bool enabled;
	int64_t version; /* 0: imported from another tool */
	struct value *json;
};
void model_release(struct model *m);
#define _cleanup_model_ _cleanup_(model_release)

/* -ENOENT: no such model, -EPROTO: written by a newer version, -EBADMSG: damaged; with the reason
 * in *why. */
int model_load(struct model *m, struct store *s, const char *name, struct strbuf *why);
/* Calls each() for all models, sorted by name; stops at an error. A model that cannot be read has
 * .json NULL, and the reason is in *why. */
int models_each(struct store *s, int (*each)(void *user, const struct model *m, const char *why),
		void *user);
/* Writes a new model: -EEXIST if the name is taken; replace: only an existing one, -ENOENT. Takes
 * nothing. */
int model_write(struct store *s, const char *name, const struct value *json, bool replace);
/* -ENOENT, -EPROTO and -EBADMSG as model_load(). */
int model_set_enabled(struct store *s, const char *name, bool enabled, struct strbuf *why);
/* -ENOENT: no such model. */
int model_delete(struct store *s, const char *name);
/*
 * Deletes the models that were created before a time, in us, all or none of them; dry: only calls
 * each(), which gets the name of each and when it was created. The number of models, or a negative
 * errno.
 */
int models_retire(struct store *s, int64_t before_us, bool dry,
		  void (*each)(void *user, const char *name, int64_t created_us), void *user);
