/*
 * What makes two jobs runs of the same thing: the first program of the job, the shape of its
 * arguments, the tags of the job, and the type of its nodes. Computed from what the store has.
 *
 * The shape of an argument:
 *   -x, --name    stays as it is
 *   --name=VALUE  the value is replaced by its shape
 *   a number      stays as it is, also with a suffix of one or two letters: 64, 1.5e6, 10k, 2Gi
 *   has a blank   stays as it is (code, such as that behind sh -c)
 *   other words   lose their directories; each sequence of digits becomes #
 */
#pragma once

#include "core/value.h"
#include "store/store.h"

struct fingerprint {
	char *command; /* the name of the program, then the shapes; NULL: nothing is recorded */
	char *tags;    /* "key:value;..." sorted */
	char *node;    /* "2 x CPU name, 64 CPUs" for each type; "" if unknown */
};
void fingerprint_release(struct fingerprint *f);
#define _cleanup_fingerprint_ _cleanup_(fingerprint_release)

void argument_shape(struct strbuf *out, const char *arg);
/* Names separated by commas of tags that do not count; NULL: all count. -ENOENT if the job has no
 * processes. */
int fingerprint_load(struct fingerprint *f, struct store *s, int64_t job, const char *ignore_tags);
/* What differs: "command", "tags", "nodes"; NULL: nothing. */
const char *fingerprint_difference(const struct fingerprint *a, const struct fingerprint *b);
/* One line for people: the command, the tags, the nodes. */
void fingerprint_text(struct strbuf *out, const struct fingerprint *f);

/* Which jobs to find by a fingerprint. */
struct fingerprint_search {
	const char *ignore_tags; /* as for fingerprint_load() */
	int64_t before_us;       /* jobs that started before this */
	size_t limit;            /* the latest so many */
	bool with_failed;        /* otherwise jobs with an exit status other than 0 do not count */
};
/* The jobs in the order of their start; *ret is freed by the caller, *ret_failed counts those that
 * were left out between them. The number of jobs, or a negative errno. */
int64_t fingerprint_find(struct store *s, const struct fingerprint *f,
			 const struct fingerprint_search *q, int64_t **ret, size_t *ret_failed);
