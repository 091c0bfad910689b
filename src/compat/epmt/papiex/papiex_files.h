/*
 * A job's records as the files that papiex would have left: one CSV file per process, or a pair
 * of TSV files per host. They are always made anew from all records, so making them twice changes
 * nothing.
 */
#pragma once

#include "compat/epmt/papiex/papiex.h"
#include "records/accounting.h"

/* Which form PAPIEX_OPTIONS asks for. */
enum papiex_format papiex_form_of(const char *options);

/* Writes into dirfd; the accounting must have been loaded with keep_threads. Returns the number of
 * processes written or a negative errno with the reason in *why. Running processes are left out. */
int papiex_write_files(struct accounting *b, int dirfd, enum papiex_format form,
		       struct strbuf *why);
