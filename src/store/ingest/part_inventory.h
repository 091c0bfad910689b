/*
 * The record, sample and mark files of a part of a job, and how much of each is stored. It is noted
 * with the part, to find out what is new when the part comes again. Files only grow; texts are not
 * compared, because they are masked in archives.
 */
#pragma once

#include <stdint.h>

#include "core/strbuf.h"

enum inventory_kind { INVENTORY_RECORDS = 'r', INVENTORY_SAMPLES = 's', INVENTORY_MARKS = 'm' };

struct inventory_file {
	uint64_t id;    /* identifies it, whatever its name */
	uint64_t count; /* records, readings, slots */
	uint64_t hash;  /* of records; 0 of samples and marks */
	uint32_t rows;  /* the number of its rows in the store; 0: unknown */
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
/* NULL: none. Of several with the same id, the longest. */
const struct inventory_file *inventory_find(struct inventory *inv, char kind, uint64_t id);

/* As text, for the metadata; and adding from such text, false if it is invalid. */
void inventory_text(struct inventory *inv, struct strbuf *out);
bool inventory_parse(struct inventory *inv, const char *text);

/* How an input differs from the stored files. */
enum {
	INVENTORY_NEW = 1,    /* new files */
	INVENTORY_GROWN = 2,  /* files that have more now */
	INVENTORY_LACKS = 4,  /* it lacks stored files, or has less of one */
	INVENTORY_DIFFERS = 8 /* a file of the same length has other content */
};
unsigned inventory_compare(struct inventory *now, struct inventory *before);
