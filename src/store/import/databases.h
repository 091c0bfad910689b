/*
 * Databases of other tools, SQLite or PostgreSQL, whose jobs can be copied into a store.
 * databases.def lists the tools. The source is only read. A job is copied completely or not at all,
 * so that repeating an interrupted import continues it.
 */
#pragma once

#include "store/import/import.h"

struct database_import {
	size_t jobs;          /* that the source has */
	size_t stored, there; /* copied now; in the store before */
	size_t failed;        /* that could not be read */
	size_t models;        /* copied now */
	uint64_t processes;   /* copied now */
};

/* Reports one job. result 0: it was copied; -EEXIST: it was in the store; else an error, explained
 * in the sentence. done: number of jobs so far. */
typedef void (*database_import_told)(void *user, const struct database_import *so_far, size_t done,
				     const char *jobid, int result, const char *sentence);

struct database {
	const char *tool; /* for messages */
	bool (*recognises)(struct store *s);
	/* Jobs that cannot be read are reported, counted and skipped. A negative errno, explained
	 * in *why, if the import could not continue. */
	int (*import)(struct store *from, struct store *to, database_import_told told, void *user,
		      struct database_import *ret, struct strbuf *why);
};

/* The tool of a database; NULL: unknown. */
const struct database *database_of(struct store *s);
/* Opens one for an import; -EPROTO if it is of no known tool. */
int database_open(struct store **ret, const struct database **ret_database, const char *url,
		  struct strbuf *why);
