/* Everything that the store has about one job, except its processes. */
#pragma once

#include "views/jobs/job_details.h"
#include "views/jobs/job_list.h"

struct job_sum {
	char *name;
	const struct metric *metric; /* NULL for an event */
	int64_t sum, max;
	enum metric_unit unit; /* of a sampled metric; others have their own */
	char *help;            /* likewise; NULL: none */
};

struct jobshow {
	struct joblist list; /* of one */
	struct job_sum *sums;
	size_t sum_count, sum_cap;
	char **warnings;
	size_t warning_count, warning_cap;
	struct job_details metadata;
	int64_t io_unknown; /* images without a record of what they read and wrote */
	/* bytes by samples, where records lack some; UNKNOWN */
	int64_t sampled_read, sampled_written;
};
void jobshow_release(struct jobshow *j);

const struct job_sum *jobshow_sum(const struct jobshow *s, const char *name);
/*
 * Bytes that went to storage: written, less what was deleted or truncated before it got there. The
 * kernel counts the latter for the process that deletes, not for the one that wrote: only sums over
 * a whole job can be compared, and the difference may be negative: then 0. UNKNOWN where not
 * measured.
 */
int64_t jobshow_stored(const struct jobshow *s);
/* "2 GiB to storage, 1 GiB deleted before reaching storage", with words in place of " to storage";
 * false where it is unknown. */
bool jobshow_add_stored(struct strbuf *out, const struct jobshow *s, const char *words, bool human);

/* "2 s for a CPU, 1 s for storage", as far as known. */
void jobshow_add_waiting(struct strbuf *out, const struct jobshow *s, bool human);

/* ---- I/O; job_io.c ---- */

int jobshow_load_io(struct jobshow *j, struct store *s, int64_t job);
/* Bytes of an I/O metric by records; by samples where records lack some and samples saw more,
 * beyond what the collection itself adds; UNKNOWN. */
int64_t jobshow_io(const struct jobshow *s, const char *name);
/* "; unknown for 1 of 3 images", where that is so. */
void jobshow_add_io_unknown(struct strbuf *out, const struct jobshow *s);
/* "at least 4 KiB read (0 B from storage), ..." */
void jobshow_add_io(struct strbuf *out, const struct jobshow *s, bool human);

/* Fills an empty structure; store_error() has the sentence. */
int jobshow_load(struct jobshow *j, struct store *s, int64_t job);

/* The keys of its metadata. */
void jobshow_json_metadata(const struct jobshow *s, struct json_writer *j);
int jobshow_print_json(const struct jobshow *s, FILE *f);
/* Two columns, name and value. */
int jobshow_print_csv(const struct jobshow *s, FILE *f);
/* A page for people; numbers are raw where f is not a terminal. */
int jobshow_print_page(const struct jobshow *s, FILE *f);
