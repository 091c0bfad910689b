/* Reads the metadata of a job from a directory, an archive or a single file, in any of the formats
 * of metadata_formats.def. */
#pragma once

#include "core/value.h"

/* The name of our metadata in a directory or archive. */
#define META_JSON "job.json"
#define META_FILE_MAX (16u << 20)

/* Parses any format, recognised by content. */
int meta_parse(const char *data, size_t n, struct value **ret, struct strbuf *why);
/* Is it the name of a metadata file in a directory or archive? */
bool meta_is_name(const char *member);

/* From an open file: an archive, or the metadata themselves. */
int meta_from_file(int fd, struct value **ret, struct strbuf *why);
