/*
 * Databases of EPMT 4.x (SQLite or PostgreSQL, the schema is the same) into a store. The source is
 * only read. A job is copied wholly or not at all, so that an import that was broken off is
 * continued by doing it again.
 */
#ifndef PL_COMPAT_EPMT_IMPORT_IMPORT_EPMT_H
#define PL_COMPAT_EPMT_IMPORT_IMPORT_EPMT_H

#include "store/import/import.h"

struct epmt_import {
	size_t jobs;          /* that the source has */
	size_t stored, there; /* copied now; in the store already */
	size_t failed;        /* that could not be read */
	size_t models;        /* copied now */
	uint64_t processes;   /* copied now */
};

/* About one job: result 0: it was copied; -EEXIST: it was there; else why not, in the sentence.
 * done counts the jobs so far. */
typedef void (*epmt_import_told)(void *user, const struct epmt_import *so_far, size_t done,
				 const char *jobid, int result, const char *sentence);

/* Opens a database for an import; -EPROTO where it is none of EPMT's. */
int epmt_import_open(struct store **ret, const char *url, struct strbuf *why);
/* Jobs that cannot be read are told, counted and passed over. A negative errno, with the sentence
 * in *why, where nothing more could be done. */
int epmt_import(struct store *from, struct store *to, epmt_import_told told, void *user,
		struct epmt_import *ret, struct strbuf *why);

#endif
