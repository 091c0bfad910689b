/*
 * The metadata of a job wherever they are: in a directory, in an archive, or a file by itself, in
 * any of the formats of metadata_formats.def.
 */
#ifndef PL_JOBS_METADATA_FILE_H
#define PL_JOBS_METADATA_FILE_H

#include "core/value.h"

/* Our name for them in a directory or archive. */
#define META_JSON "job.json"
#define META_FILE_MAX (16u << 20)

/* Parses any format, told by content. */
int meta_parse(const char *data, size_t n, struct value **ret, struct strbuf *why);
/* Is it a name that metadata go by in a directory or archive? */
bool meta_is_name(const char *member);

/* From an open file that is an archive or metadata itself. */
int meta_from_file(int fd, struct value **ret, struct strbuf *why);

#endif
