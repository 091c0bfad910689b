/* Finds the record files of a job that a command names. */
#pragma once

#include "context/context.h"
#include "records/accounting.h"

/*
 * Adds the record files of a directory, an archive, a file, or a stored job, whose records are read
 * where it was recorded; name NULL: of the current or last job. *whole becomes false if some are
 * missing, which is reported. 0 or a negative errno with the reason in *why, or else reported.
 */
int job_records_add(struct context *ctx, const char *name, struct accounting *b, bool *whole,
		    struct strbuf *why);
