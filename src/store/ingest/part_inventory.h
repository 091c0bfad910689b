/*
 * Which record and sample files a part of a job consists of, and how much of each. It is noted with
 * the part in the store: when the part comes again, what is new in it is known, and that nothing
 * is. Files only grow; texts are no part of it, since archives have them masked.
 */
#ifndef PL_STORE_INGEST_PART_INVENTORY_H
#define PL_STORE_INGEST_PART_INVENTORY_H

#include <stdint.h>

#include "core/strbuf.h"

enum inventory_kind { INVENTORY_RECORDS = 'r', INVENTORY_SAMPLES = 's' };

struct inventory_file {
	uint64_t id;    /* by what it is known, whatever it is called */
	uint64_t count; /* records, readings */
	uint64_t hash;  /* of records; 0 of samples */
	uint32_t rows;  /* the number that its rows in the store have; 0: not known */
	char kind;
};

struct inventory {
	struct inventory_file *files;
	size_t count, cap;
	bool sorted;
};

void inventory_release(struct inventory *inv);
#define _cleanup_inventory_ _cleanup_(inventory_release)
void inventory_add(struct inventory *inv, struct inventory_file file);
/* NULL: it is not there. Of several with an id the longest. */
const struct inventory_file *inventory_find(struct inventory *inv, char kind, uint64_t id);

/* As text, for the metadata; and added from there: false where that is none. */
void inventory_text(struct inventory *inv, struct strbuf *out);
bool inventory_parse(struct inventory *inv, const char *text);

/* What an input has that was stored before. */
enum {
	INVENTORY_NEW = 1,    /* files that were not there */
	INVENTORY_GROWN = 2,  /* files that have more now */
	INVENTORY_LACKS = 4,  /* it has not got files that were there, or less of one */
	INVENTORY_DIFFERS = 8 /* as long as it was, and not the same */
};
unsigned inventory_compare(struct inventory *now, struct inventory *before);

#endif
