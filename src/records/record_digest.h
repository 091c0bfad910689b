/*
 * Identifies a record file whatever its path: the first record says when and where it was begun.
 * Files only grow: of two files with the same first record, the one with fewer records is an
 * earlier state of the other. Strings do not count, since archives mask secrets in them.
 */
#pragma once

#include "records/record_file.h"

struct record_digest {
	uint64_t id;      /* of the first record */
	uint64_t records; /* valid ones */
	uint64_t hash;    /* of all of them */
};

/* Adds a record; *d begins as zeros. */
void record_digest_add(struct record_digest *d, const struct record *r);
/* The digest of a whole file. Leaves fd open, with its offset unchanged. */
int record_file_digest(int fd, struct record_digest *ret);
