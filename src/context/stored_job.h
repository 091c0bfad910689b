/* The configured store, and jobs in it that a command names. */
#ifndef PL_CONTEXT_STORED_JOB_H
#define PL_CONTEXT_STORED_JOB_H

#include "context/context.h"
#include "store/store.h"

/* Origin and scheme of a setting `db` that is no store but the reason why there is none. */
#define STORE_REFUSED "refused"
/* Opens the configured store, says what is wrong; 0 or a negative errno. */
int open_store(struct context *ctx, enum store_access access, struct store **ret);
/* The same; the caller says what is wrong. */
int try_store(struct context *ctx, enum store_access access, struct store **ret,
	      struct strbuf *why);
struct import_options;
struct import_result;
/* import_submit() into the configured store. Where its file was moved, removed or exchanged
 * meanwhile what has its name then is opened, and the input goes there; *s may be NULL after an
 * error. */
int submit_input(struct context *ctx, struct store **s, const char *path,
		 const struct import_options *how, struct import_result *ret, struct strbuf *why);
/* Says why there is nothing to show of the processes of a job, if nothing is known of each; was
 * that so? */
bool tell_unrecorded(struct store *s, int64_t job);
/* Number of the job that an id, the beginning of only one, a name or "last" means, or -1 with a
 * message said. */
int64_t find_stored_job(struct store *s, const char *name);
struct words;
/* What the first tag of a filter means that is written as KEY=VALUE; NULL: none is. Freed by the
 * caller. */
char *filter_tag_meant(const struct words *tags);
/* Masks what looks like a secret in tags or annotations that somebody gives, and says so. */
void mask_notes(struct value *notes, const char *what);

#endif
