/* Files with lines "key number", such as /proc/meminfo, into a row of metrics. */
#pragma once

#include "core/files/cached_file.h"
#include "samples/sample.h"

/* The metric for a key of a file. */
struct key_metric {
	const char *key; /* NULL: not in the file; the source computes it */
	unsigned metric;
};
/* Puts the numbers of lines "key 12" or "key: 12 kB" into the row begun last. */
void put_keys(struct sample_set *set, const struct cached_file *k, const struct key_metric *keys,
	      size_t count);
/* Reports the metrics that the row begun last lacks as absent: the file has no such line. */
void absent_keys(struct sample_set *set, const char *file, const struct key_metric *keys,
		 size_t count);
/* Does the row begun last have this value? */
static inline bool put_already(const struct sample_set *set, unsigned metric)
{
	return set->rows[set->row_count - 1].present >> metric & 1;
}
