/*
 * Shared by the parts of a log: the layout of docs/delivery.md, finding entries in a segment, and
 * the log itself. Private to commit_log*.c and its tests.
 */
#pragma once

#include <pthread.h>
#include <stdint.h>

#include "transport/log/commit_log.h"

#define LOG_MAGIC ((const unsigned char[4]){'P', 'L', 'L', '1'})
/* of a segment: magic, checksum of what follows, the log's id, first number */
#define LOG_HEADER 24
#define LOG_ENTRY_MAGIC ((const unsigned char[4]){'P', 'L', 'L', 'e'})
#define LOG_ENTRY 20 /* of an entry: magic, checksum of what follows, length, number */
#define LOG_NUMBER_END ((uint64_t)1 << 62) /* valid numbers are lower */
#define LOG_NAME_FORMAT "%020llu.log"

/* ---- finding entries ---- */

struct log_scan {
	int fd;
	uint32_t seed; /* checksum of the log's id, which others do not know */
	unsigned char *data;
	size_t size, cap;
	uint64_t base;   /* offset of data */
	uint64_t wasted; /* bytes checksummed in vain */
	int error;       /* a read error, which may be temporary */
};

struct log_entry {
	uint64_t at, number;
	uint32_t size; /* without its header */
};

enum log_found { LOG_END, LOG_SOUND, LOG_BAD };

/* Switches to another file, or none (-1). */
void log_scan_use(struct log_scan *s, int fd);
void log_scan_release(struct log_scan *s);
/* Looks for an entry at an offset below end, with a number from low to below high. */
enum log_found log_scan_at(struct log_scan *s, uint64_t at, uint64_t end, uint64_t low,
			   uint64_t high, struct log_entry *ret);
/* The first sound entry after an offset. */
bool log_scan_behind(struct log_scan *s, uint64_t at, uint64_t end, uint64_t low, uint64_t high,
		     struct log_entry *ret);
/* The bytes of a sound entry just found. */
const unsigned char *log_scan_bytes(struct log_scan *s, const struct log_entry *e);

uint32_t log_seed(uint64_t id);
void log_put_header(unsigned char *p, uint64_t id, uint64_t first);
/* False: it is damaged. */
bool log_get_header(const unsigned char *p, uint64_t *ret_id, uint64_t *ret_first);
void log_put_entry(unsigned char *p, uint32_t seed, const void *data, size_t n, uint64_t number);

/* ---- the log ---- */

#define LOG_PLACES_MAX 64

struct log_segment {
	uint64_t first; /* number of its first entry, and its name */
	uint64_t bytes;
	uint64_t made; /* taken_back at its creation: another file may have had its name */
};

/* A damaged place, to count it once for all readers. */
struct log_place {
	uint64_t segment, at;
};

/*
 * Two locks: writer is held to append, start or remove segments, for as long as the disk takes.
 * lock protects what readers see, and is never held while waiting for a disk.
 */
struct commit_log {
	pthread_mutex_t writer, lock;
	pthread_cond_t grown;
	int dir, lock_fd;
	uint64_t id;
	uint32_t seed;
	uint64_t limit, segment_max;
	bool drop_oldest;
	int fd;      /* of the last segment */
	bool unsure; /* it has unsynced entries or a successor: start another segment */
	struct strbuf out;
	/* below: under lock */
	struct log_segment *segments; /* at least one; the last is appended to */
	size_t segment_count, segment_cap;
	uint64_t next, synced_next;
	uint64_t synced_bytes; /* of the last segment */
	uint64_t trimmed;      /* entries below are not needed any more */
	uint64_t dropped_entries, dropped_bytes;
	uint64_t damaged;
	uint64_t taken_back;
	struct log_place places[LOG_PLACES_MAX];
};

/* ---- commit_log_open.c: from the directory to the log ---- */
/* Loads segments and numbers from the directory; truncates a torn end. */
int log_recover(struct commit_log *l, struct strbuf *why);
/* Creates an empty segment that begins with this number, replacing one that does; its descriptor.
 */
int log_new_segment(struct commit_log *l, uint64_t first);
int log_save_state(struct commit_log *l);
void log_segment_name(char *name, size_t size, uint64_t first);
/* Counts a damaged place once. The caller holds lock. */
void log_count_damage(struct commit_log *l, uint64_t segment, uint64_t at);
uint64_t log_total(const struct commit_log *l);
