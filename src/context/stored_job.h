/* The configured store and its jobs. */
#pragma once

#include "context/context.h"
#include "store/store.h"

/* Origin and scheme of a setting `db` that is the reason for having no store. */
#define STORE_REFUSED "refused"
/* Opens the configured store; logs errors. 0 or a negative errno. */
int open_store(struct context *ctx, enum store_access access, struct store **ret);
/* The same, with the reason in *why. */
int try_store(struct context *ctx, enum store_access access, struct store **ret,
	      struct strbuf *why);
struct import_options;
struct import_result;
/* import_submit() into the configured store. If its file was moved, removed or replaced meanwhile,
 * opens it again and repeats the import; *s may be NULL after an error. */
int submit_input(struct context *ctx, struct store **s, const char *path,
		 const struct import_options *how, struct import_result *ret, struct strbuf *why);
/* Warns if a job has no process records, and returns whether that is so. */
bool tell_unrecorded(struct store *s, int64_t job);
/* The number of a job by its id, a unique prefix, its name or "last"; -1: none, which is logged. */
int64_t find_stored_job(struct store *s, const char *name);
struct retire_limits;
/* The configured limits of the store: 1, 0 if there are none, or -EINVAL after reporting an invalid
 * one. */
int retire_limits_of(const struct context *ctx, struct retire_limits *l);
/* Removes jobs over the limits; returns their number or a negative errno after reporting it. */
int64_t retire_configured(const struct context *ctx, struct store *s, bool dry);
struct word_list;
/* What the first tag of a filter means that is written as KEY=VALUE; NULL: none is. Freed by the
 * caller. */
char *filter_tag_meant(const struct word_list *tags);
/* Masks secrets in given tags or annotations, and warns. */
void mask_notes(struct value *notes, const char *what);
