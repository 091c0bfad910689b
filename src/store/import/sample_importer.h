/* Reading what another tool sampled of a job; sample_importers.def lists those that can. */
#ifndef PL_STORE_IMPORT_SAMPLE_IMPORTER_H
#define PL_STORE_IMPORT_SAMPLE_IMPORTER_H

#include "core/value.h"

struct sampled_job {
	struct value *meta;     /* as job.json has it */
	struct value *warnings; /* a list of texts */
};
void sampled_job_release(struct sampled_job *j);

/* Of a directory that has no metadata of ours. */
struct sample_importer {
	const char *name; /* of the format, which the store keeps */
	/* Opens the directory with the tool's files: path itself, or one below it. -ENOENT when
	 * neither has any. *ret_id: what the job may be called by its directory; freed by the
	 * caller. */
	int (*open)(const char *path, char **ret_id);
	/* Writes a sample file to fd, which must be empty. A negative errno with the file, the line
	 * and what is wrong in *why. */
	int (*read)(int dir, const char *id, int fd, struct sampled_job *ret, struct strbuf *why);
};

#endif
