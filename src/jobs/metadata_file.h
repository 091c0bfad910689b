/*
 * The metadata of a job wherever they are: in a directory, in an archive, or a file by itself, as
 * JSON or as one of EPMT's pickles.
 */
#ifndef PL_JOBS_METADATA_FILE_H
#define PL_JOBS_METADATA_FILE_H

#include "core/value.h"

/* Names that metadata go by inside a directory or archive. */
#define META_JSON "job.json"
#define META_PICKLE "job_metadata"
#define META_PICKLE_RUNNING "job_metadata.tmp"
#define META_FILE_MAX (16u << 20)

/* Parses either form, told by content. */
int meta_parse(const char *data, size_t n, struct value **ret, struct strbuf *why);
void meta_serialise(const struct value *meta, bool pickle, struct strbuf *out);
bool meta_is_name(const char *member);

/* From an open file that is an archive or metadata itself. */
int meta_from_file(int fd, struct value **ret, struct strbuf *why);

#endif
