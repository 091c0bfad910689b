/*
 * Databases of other tools, SQLite or PostgreSQL, whose jobs can be copied into a store.
 * databases.def lists the tools. The source is only read. A job is copied wholly or not at all, so
 * that an import that was broken off is continued by doing it again.
 */
#ifndef PL_STORE_IMPORT_DATABASES_H
#define PL_STORE_IMPORT_DATABASES_H

#include "store/import/import.h"

struct database_import {
	size_t jobs;          /* that the source has */
	size_t stored, there; /* copied now; in the store already */
	size_t failed;        /* that could not be read */
	size_t models;        /* copied now */
	uint64_t processes;   /* copied now */
};

/* About one job: result 0: it was copied; -EEXIST: it was there; else why not, in the sentence.
 * done counts the jobs so far. */
typedef void (*database_import_told)(void *user, const struct database_import *so_far, size_t done,
				     const char *jobid, int result, const char *sentence);

struct database {
	const char *tool; /* whose it is, for messages */
	bool (*recognises)(struct store *s);
	/* Jobs that cannot be read are told, counted and passed over. A negative errno, with the
	 * sentence in *why, where nothing more could be done. */
	int (*import)(struct store *from, struct store *to, database_import_told told, void *user,
		      struct database_import *ret, struct strbuf *why);
};

/* Whose database this is; NULL: nobody's that we know. */
const struct database *database_of(struct store *s);
/* Opens one for an import; -EPROTO where it is nobody's that we know. */
int database_open(struct store **ret, const struct database **ret_database, const char *url,
		  struct strbuf *why);

#endif
