/* Shared by the files that find where core time went; see where.h. */
#pragma once

#include "core/hash_map.h"
#include "store/sql.h"
#include "views/where/where.h"

struct where_loading {
	struct where *w;
	struct store *store;
	int64_t job;
	size_t all_hosts; /* those outside of the scope, too */
	const struct where_scope *scope;
	const struct series_list *series;
	struct where_image *images;
	size_t image_count;
	uint32_t *by_host;            /* places of images, by host */
	size_t *first;                /* of a host, and of the next: its range in by_host */
	struct hash_map host_names;   /* places of hosts, by name */
	const struct value *metadata; /* NULL: none */
	double *at_work; /* of the host that is looked at: the part of each step in which one of
			  * its processes was at work, at least */
};

/* The series of a metric and a kind of entity on a host: from its first one to *ret_end. */
size_t where_series(const struct where_loading *l, const char *metric, const char *kind,
		    const char *host, size_t *ret_end);

/* The evidence of the steps of one host, from samples; false: its CPU time was not sampled. */
bool where_from_samples(struct where_loading *l, struct where_host *h, struct core_evidence *steps);
/* The same from records. */
void where_from_records(const struct where_loading *l, size_t host, struct core_evidence *steps);
/* What the lives of processes tell: who waited for children (only where nobody looked), and when
 * some of several processes of the same program had ended. */
void where_from_lives(const struct where_loading *l, size_t host, struct core_evidence *steps,
		      bool looked);
/* What is left of waits that hold a job up only if nobody works, while one process works for this
 * part of the time. */
double where_held_up_beside(double work);
void where_drop_beside(const struct where_loading *l, struct core_evidence *steps);
/* Adds to a known or unknown number. */
static inline void where_plus(double *to, double more)
{
	*to = *to == *to ? *to + more : more;
}
