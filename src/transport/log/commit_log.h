/*
 * A log of batches in a directory: segment files of entries with check sums, appended in order and
 * numbered without gaps. A node's spool is one, a collector's log is another. What was appended is
 * durable after a sync; a torn end is cut off when it is opened again, damage in the middle is
 * skipped and counted. Old segments go when nobody needs them, or, where the log is bounded, when
 * there is no more room: then what was not yet read is counted as dropped.
 */
#ifndef PL_TRANSPORT_LOG_COMMIT_LOG_H
#define PL_TRANSPORT_LOG_COMMIT_LOG_H

#include <stdint.h>

#include "core/strbuf.h"

#define COMMIT_LOG_ENTRY_MAX ((size_t)16 << 20)

struct commit_log;

struct commit_log_options {
	const char *dir;  /* made when it is not there */
	uint64_t limit;   /* bytes of all segments; 0: none */
	uint64_t segment; /* bytes of one; 0: 16 MiB */
	bool drop_oldest; /* when full: a spool drops, a collector's log refuses (-ENOSPC) */
};

/* One process at a time has it open (-EBUSY). */
int commit_log_open(struct commit_log **ret, const struct commit_log_options *o,
		    struct strbuf *why);
void commit_log_close(struct commit_log *l);

/* Appends one entry; its number in *ret_number (from 1, also across restarts). In the page cache
 * only until commit_log_sync(). Thread safe against readers. -ENOSPC, -EIO: it is not in the log.
 */
int commit_log_append(struct commit_log *l, const void *p, size_t n, uint64_t *ret_number);
/* When it fails, what was appended since the last one is not in the log. */
int commit_log_sync(struct commit_log *l);
struct commit_log_part {
	const void *p;
	size_t n;
};
/* Appends these and syncs, with nothing of others between them. *ret_kept: so many of them, from
 * the first on, are in the log; the reason where it is not all. For logs that several append to,
 * and for whoever must know exactly what is there. */
int commit_log_append_all(struct commit_log *l, const struct commit_log_part *parts, size_t count,
			  size_t *ret_kept);
/* Numbers of the oldest entry that is there and of the next to come. */
uint64_t commit_log_first(const struct commit_log *l);
uint64_t commit_log_next_number(const struct commit_log *l);
/* The next one behind those that are synced. */
uint64_t commit_log_synced_next(const struct commit_log *l);
/* Never 0, and the same for as long as there is the log: another one begins with number 1 again. */
uint64_t commit_log_id(const struct commit_log *l);
/* Entries below this number are needed no more. */
void commit_log_trim(struct commit_log *l, uint64_t number);

struct commit_log_counts {
	uint64_t bytes, entries;
	uint64_t dropped_entries, dropped_bytes; /* for want of room, since the log was made */
	uint64_t damaged;                        /* places that were skipped */
};
void commit_log_counts(struct commit_log *l, struct commit_log_counts *ret);

/* A reader of its own position; several, in threads of their own, beside one that appends. */
struct commit_log_reader;
/* Begins at this number, or at the first that is there, or at the next to come when the log does
 * not reach that far (its end was lost). Only entries that were synced are seen. */
struct commit_log_reader *commit_log_read_from(struct commit_log *l, uint64_t number);
/* The next entry: 1 with *ret_p (valid until the next call), *ret_n and its number, 0 when there is
 * none yet, a negative errno. A gap in the numbers: that much was dropped or damaged. */
int commit_log_reader_next(struct commit_log_reader *r, const void **ret_p, size_t *ret_n,
			   uint64_t *ret_number);
void commit_log_reader_close(struct commit_log_reader *r);
/* Waits until there is a next entry, at most so long; false: there is none yet. */
bool commit_log_reader_wait(struct commit_log_reader *r, uint64_t timeout_ns);

#endif
