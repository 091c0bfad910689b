/* Reads samples of another tool; sample_importers.def lists the importers. */
#pragma once

#include "core/value.h"

struct sampled_job {
	struct value *meta;     /* as job.json has it */
	struct value *warnings; /* a list of texts */
};
void sampled_job_release(struct sampled_job *j);

/* For a directory without metadata of ours. */
struct sample_importer {
	const char *name; /* of the format, which the store keeps */
	/* Opens the directory with the tool's files: path itself, or one below it. -ENOENT: there
	 * are none. *ret_id: a job id from the name of the directory; freed by the caller. */
	int (*open)(const char *path, char **ret_id);
	/* Writes a sample file to fd, which must be empty. On error *why names file, line and
	 * problem. */
	int (*read)(int dir, const char *id, int fd, struct sampled_job *ret, struct strbuf *why);
};
