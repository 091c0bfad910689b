/*
 * What the parts of a log share: the layout of docs/delivery.md in numbers, finding entries in a
 * segment, and the log itself. Private to batchlog*.c and its tests.
 */
#ifndef PL_TRANSPORT_LOG_COMMIT_LOG_INTERNAL_H
#define PL_TRANSPORT_LOG_COMMIT_LOG_INTERNAL_H

#include <pthread.h>
#include <stdint.h>

#include "transport/log/commit_log.h"

#define LOG_MAGIC ((const unsigned char[4]){'P', 'L', 'L', '1'})
#define LOG_HEADER \
	24 /* of a segment: magic, check sum of what follows, the log's id, first number */
#define LOG_ENTRY_MAGIC ((const unsigned char[4]){'P', 'L', 'L', 'e'})
#define LOG_ENTRY 20 /* of an entry: magic, check sum of what follows, length, number */
#define LOG_NUMBER_END ((uint64_t)1 << 62) /* no number is as high, whatever a file says */
#define LOG_NAME_FORMAT "%020llu.log"

/* ---- finding entries ---------------------------------------------------------------------------
 */

struct log_scan {
	int fd;
	uint32_t seed; /* check sum of the log's id: nobody else can make an entry of it */
	unsigned char *data;
	size_t size, cap;
	uint64_t base;   /* offset of data */
	uint64_t wasted; /* bytes check-summed for nothing */
	int error;       /* it could not be read for now, which says nothing about what is there */
};

struct log_entry {
	uint64_t at, number;
	uint32_t size; /* without its header */
};

enum log_found { LOG_END, LOG_SOUND, LOG_BAD };

/* Forgets what was read; another file, or none. */
void log_scan_use(struct log_scan *s, int fd);
void log_scan_release(struct log_scan *s);
/* What is at an offset, below the end of what counts, with a number from low to below high. */
enum log_found log_scan_at(struct log_scan *s, uint64_t at, uint64_t end, uint64_t low,
			   uint64_t high, struct log_entry *ret);
/* The first sound entry behind an offset. */
bool log_scan_behind(struct log_scan *s, uint64_t at, uint64_t end, uint64_t low, uint64_t high,
		     struct log_entry *ret);
/* The bytes of a sound entry that was just found. */
const unsigned char *log_scan_bytes(struct log_scan *s, const struct log_entry *e);

uint32_t log_seed(uint64_t id);
void log_put_header(unsigned char *p, uint64_t id, uint64_t first);
/* False when it is damaged. */
bool log_get_header(const unsigned char *p, uint64_t *ret_id, uint64_t *ret_first);
void log_put_entry(unsigned char *p, uint32_t seed, const void *data, size_t n, uint64_t number);

/* ---- the log -----------------------------------------------------------------------------------
 */

#define LOG_PLACES_MAX 64

struct log_segment {
	uint64_t first; /* number of its first entry, and its name */
	uint64_t bytes;
	uint64_t made; /* how much was taken back before: another file may have had its name */
};

/* A damaged place, so that it counts once however many read it. */
struct log_place {
	uint64_t segment, at;
};

/*
 * Two locks: whoever appends, rolls or removes holds writer for as long as the disk takes; what
 * readers look at is changed under lock, which nobody holds while waiting for a disk.
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
	bool unsure; /* another must be begun: it holds what could not be synced, or is followed */
	struct strbuf out;
	/* below: under lock */
	struct log_segment *segments; /* at least one; the last is appended to */
	size_t segment_count, segment_cap;
	uint64_t next, synced_next;
	uint64_t synced_bytes; /* of the last segment */
	uint64_t trimmed;      /* entries below are needed no more */
	uint64_t dropped_entries, dropped_bytes;
	uint64_t damaged;
	uint64_t taken_back;
	struct log_place places[LOG_PLACES_MAX];
};

/* ---- commit_log_open.c: from the directory to the log ---- */
/* Fills segments and numbers from what is in the directory; cuts a torn end off. */
int log_recover(struct commit_log *l, struct strbuf *why);
/* Makes an empty segment that begins with this number, in the place of one that does; its
 * descriptor. */
int log_new_segment(struct commit_log *l, uint64_t first);
int log_save_state(struct commit_log *l);
void log_segment_name(char *name, size_t size, uint64_t first);
/* Books a damaged place once. Under lock. */
void log_book_damage(struct commit_log *l, uint64_t segment, uint64_t at);
uint64_t log_total(const struct commit_log *l);

#endif
