/*
 * A job that comes in parts: from directories of several hosts, or as steps that were staged one by
 * one. The first part is a job like any other. With each that follows the job is put together anew,
 * in one transaction, as if all of them had lain in one directory; the order does not matter. A
 * part is known by its host, the boot of that host and the time it began.
 */
#ifndef PL_STORE_INGEST_JOB_PARTS_H
#define PL_STORE_INGEST_JOB_PARTS_H

#include "core/value.h"
#include "records/metric_row.h"
#include "store/ingest/ingest.h"
#include "store/ingest/part_inventory.h"

/* ---- processes of the parts that are there ---- */

struct part_rows;
/* without: files of the job, by number, whose rows are passed over; must live as long. */
int part_rows_open(struct part_rows **ret, struct ingest *in, int64_t job,
		   struct inventory *without);
/* Ingests those that began before this one; NULL: all that are left. p may be NULL. */
int part_rows_feed(struct part_rows *p, const struct row *before);
void part_rows_close(struct part_rows *p); /* accepts NULL */

/* ---- metadata ---- */

/* A list of the parts that the metadata of a job in the store have, each as its own metadata. */
struct value *parts_of(const struct value *meta);
/* The metadata of all as those of one job, without what runs and monitors noted. */
struct value *parts_union(const struct value *parts);
void parts_sort(struct value *parts);
bool part_is_native(const struct value *meta);
/* Is the part that these metadata are of among those that the metadata of a job in the store have?
 */
bool parts_have(const struct value *meta, const struct value *part);
/* The paths that the parts of a job in the store came from, each once, the first part's first;
 * *unknown: of how many parts an older version did not note it. NULL: the store cannot be read. */
struct value *parts_sources(struct store *s, int64_t job, size_t *unknown);
/* A copy whose keys may be changed. */
struct value *value_copy_dict(const struct value *dict);

/* ---- joining ---- */

struct part_join {
	int64_t job;                      /* what is in the store, to be replaced */
	struct value *parts;              /* of which it consists, the first first */
	struct value *tags, *annotations; /* as they are there */
	struct value *before;             /* the metadata of all of them, as they are there */
	struct inventory had;             /* of this part: what is there */
	struct inventory again;           /* of that: what is read once more, and replaced */
	uint32_t last_file;               /* the last number that one of their files has */
	struct part_rows *rows;
};

/* Something of a part that is about to be ingested. */
struct part_coming {
	const char *id;
	const struct value *meta;
	struct inventory *files;
	bool replace; /* it is to take the place of what is there */
};

/*
 * A part of job `there` is about to be ingested. 0: *ret says what it comes to, and the samples
 * that are there belong to the new job. 1: the job there is to be removed, the part takes its
 * place and has all that the job had; *ret says what people noted of it. -EEXIST: it is there; with
 * *proved all of its records are. -ENOTUNIQ: something of the same id is there that it can neither
 * join nor replace without a loss. -ESTALE: once more from the beginning, with nothing written
 * aside. The sentence is in *why.
 */
int parts_join(struct part_join **ret, struct ingest *in, int64_t there,
	       const struct part_coming *c, bool *proved, struct strbuf *why);
void part_join_free(struct part_join *j); /* accepts NULL */

#endif
