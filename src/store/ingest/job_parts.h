/*
 * A job that comes in parts: from directories of several hosts, or as steps staged one by one. The
 * first part is a job like any other. With each further part the job is rebuilt in one transaction,
 * as if all parts had been in one directory; the order does not matter. Host, boot and start time
 * identify a part.
 */
#pragma once

#include "core/value.h"
#include "records/metric_row.h"
#include "store/ingest/ingest.h"
#include "store/ingest/part_inventory.h"

/* ---- processes of stored parts -------------------------------------------------- */

struct part_rows;
/* without: files whose rows are skipped; must live as long. */
int part_rows_open(struct part_rows **ret, struct ingest *in, int64_t job,
		   struct inventory *without);
/* Ingests those that started before this one; NULL: all remaining ones. Accepts NULL for p. */
int part_rows_feed(struct part_rows *p, const struct row *before);
void part_rows_close(struct part_rows *p); /* accepts NULL */

/* ---- metadata ------------------------------------------------------------------------------- */

/* A list of the parts in the metadata of a stored job, each with its own metadata. */
struct value *parts_of(const struct value *meta);
/* The metadata of all parts as one job, without those of runs and monitors. */
struct value *parts_union(const struct value *parts);
void parts_sort(struct value *parts);
bool part_is_native(const struct value *meta);
/* Does the metadata of a stored job contain this part? */
bool parts_have(const struct value *meta, const struct value *part);
/* The paths of the parts of a stored job, each once, in order; *unknown: number of parts without
 * one, from an older version. NULL: the store cannot be read. */
struct value *parts_sources(struct store *s, int64_t job, size_t *unknown);
/* A copy whose keys may be changed. */
struct value *value_copy_dict(const struct value *dict);

/* ---- joining -------------------------------------------------------------------------------- */

struct part_join {
	int64_t job;                      /* the stored job, to be replaced */
	struct value *parts;              /* its parts, in order */
	struct value *tags, *annotations; /* as stored */
	struct value *analyses;           /* the same */
	struct value *before;             /* the metadata of all parts, as stored */
	struct inventory had;             /* files of this part that are stored */
	struct inventory again;           /* those of them that are read again and replaced */
	uint32_t last_file;               /* the last number of a file */
	struct part_rows *rows;
};

/* A part that is about to be ingested. */
struct part_coming {
	const char *id;
	const struct value *meta;
	struct inventory *files;
	bool replace; /* replace what is stored */
};

/*
 * Prepares to ingest a part of job `there`. 0: it joins *ret, and the stored samples belong to the
 * new job. 1: remove the stored job, because the part has all of it; *ret has its tags,
 * annotations and analyses. -EEXIST: it is stored already; *proved: with all of its records.
 * -ENOTUNIQ: it can neither join nor replace the stored job without a loss. -ESTALE: start again
 * without staging. Errors are explained in *why.
 */
int parts_join(struct part_join **ret, struct ingest *in, int64_t there,
	       const struct part_coming *c, bool *proved, struct strbuf *why);
void part_join_free(struct part_join *j); /* accepts NULL */
