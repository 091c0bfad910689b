/*
 * By what a record file is known again, wherever it lies and whatever its name is: the first record
 * says when and where the file was begun. A file only grows: of two that began alike the one with
 * fewer records is an earlier state of the other.
 *
 * Texts do not count: archives have them without what is secret.
 */
#ifndef PL_RECORDS_RECORD_DIGEST_H
#define PL_RECORDS_RECORD_DIGEST_H

#include "records/record_file.h"

struct record_digest {
	uint64_t id;      /* of the first record */
	uint64_t records; /* sound ones */
	uint64_t hash;    /* of all of them */
};

/* One more record; begin with zeroes. */
void record_digest_add(struct record_digest *d, const struct record *r);
/* All records of a file. fd stays the caller's, and where it is in the file. */
int record_file_digest(int fd, struct record_digest *ret);

#endif
