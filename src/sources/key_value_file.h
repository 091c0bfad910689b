/* Files of lines "key number", as /proc/meminfo is, on their way into a row of metrics. */
#ifndef PL_SOURCES_KEY_VALUE_FILE_H
#define PL_SOURCES_KEY_VALUE_FILE_H

#include "core/files/cached_file.h"
#include "samples/sample.h"

/* What a key of a file is called among a source's metrics. */
struct key_metric {
	const char *key;
	unsigned metric;
};
/* Puts the numbers of lines "key 12" or "key: 12 kB" into the row begun last. */
void put_keys(struct sample_set *set, const struct cached_file *k, const struct key_metric *keys,
	      size_t count);
/* Says of every metric of these that the row begun last lacks: file has no such line. */
void absent_keys(struct sample_set *set, const char *file, const struct key_metric *keys,
		 size_t count);
/* Is this value of the row begun last there? */
static inline bool put_already(const struct sample_set *set, unsigned metric)
{
	return set->rows[set->row_count - 1].present >> metric & 1;
}

#endif
