/*
 * A log of batches in a directory: segment files of entries with checksums, appended in order and
 * numbered without gaps. A node's spool and a collector's log are such logs. Entries are durable
 * after a sync. A torn end is truncated when the log is opened again; damage in the middle is
 * skipped and counted. Old segments are removed when nobody needs them or, in a bounded log, when
 * it is full: then entries that were not yet read count as dropped.
 */
#pragma once

#include <stdint.h>

#include "core/strbuf.h"

#define COMMIT_LOG_ENTRY_MAX ((size_t)16 << 20)

struct commit_log;

struct commit_log_options {
	const char *dir;  /* created if missing */
	uint64_t limit;   /* bytes of all segments; 0: none */
	uint64_t segment; /* bytes of one; 0: 16 MiB */
	bool drop_oldest; /* when full: a spool drops, a collector's log refuses (-ENOSPC) */
};

/* -EBUSY: another process has it open. */
int commit_log_open(struct commit_log **ret, const struct commit_log_options *o,
		    struct strbuf *why);
void commit_log_close(struct commit_log *l);

/* Appends one entry; its number in *ret_number (from 1, continued after restarts). It is in the
 * page cache only until commit_log_sync(). Readers may run in parallel. On error it is not in the
 * log. */
int commit_log_append(struct commit_log *l, const void *p, size_t n, uint64_t *ret_number);
/* If it fails, entries since the last sync are not in the log. */
int commit_log_sync(struct commit_log *l);
struct commit_log_part {
	const void *p;
	size_t n;
};
/* Appends these and syncs, without entries of others in between. *ret_kept: how many of them, from
 * the first, are in the log; the error if not all. For logs with several writers, and for callers
 * that must know exactly what is in the log. */
int commit_log_append_all(struct commit_log *l, const struct commit_log_part *parts, size_t count,
			  size_t *ret_kept);
/* Numbers of the oldest entry and of the next to come. */
uint64_t commit_log_first(const struct commit_log *l);
uint64_t commit_log_next_number(const struct commit_log *l);
/* The number after the last synced entry. */
uint64_t commit_log_synced_next(const struct commit_log *l);
/* Identifies the log for its lifetime: another one starts with number 1 again. Never 0. */
uint64_t commit_log_id(const struct commit_log *l);
/* Entries below this number are not needed any more. */
void commit_log_trim(struct commit_log *l, uint64_t number);

struct commit_log_counts {
	uint64_t bytes, entries;
	uint64_t dropped_entries, dropped_bytes; /* because it was full, since its creation */
	uint64_t damaged;                        /* places that were skipped */
};
void commit_log_counts(struct commit_log *l, struct commit_log_counts *ret);

/* A reader with its own position. Several may read in threads while one appends. */
struct commit_log_reader;
/* Starts at this number, or at the first entry, or at the next to come if the log ends before (its
 * end was lost). Reads synced entries only. */
struct commit_log_reader *commit_log_read_from(struct commit_log *l, uint64_t number);
/* The next entry: 1 with *ret_p (valid until the next call), *ret_n and its number; 0: none yet; or
 * a negative errno. Missing numbers were dropped or damaged. */
int commit_log_reader_next(struct commit_log_reader *r, const void **ret_p, size_t *ret_n,
			   uint64_t *ret_number);
void commit_log_reader_close(struct commit_log_reader *r);
/* Waits for the next entry, up to the time-out; false: none yet. */
bool commit_log_reader_wait(struct commit_log_reader *r, uint64_t timeout_ns);
