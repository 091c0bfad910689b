/*
 * Finds entries in segments; see commit_log_internal.h. An entry is sound if its magic, length,
 * number and checksum are right; otherwise the next sound one is searched. What a disk cannot read
 * (EIO) counts as zeros: damage, but no reason to stop. Any other error may pass, and is returned.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/crc32c_bulk.h"
#include "transport/log/commit_log_internal.h"
#include "plimsoll/record.h" /* little-endian words */

#define CHUNK 262144
#define PAGE 4096
#define WASTE_MAX (256u << 20)

uint32_t log_seed(uint64_t id)
{
	unsigned char p[8];

	pl_put_u64(p, id);
	return crc32c_bulk(0, p, sizeof(p));
}

void log_put_header(unsigned char *p, uint64_t id, uint64_t first)
{
	memcpy(p, LOG_MAGIC, 4);
	pl_put_u64(p + 8, id);
	pl_put_u64(p + 16, first);
	pl_put_u32(p + 4, crc32c_bulk(0, p + 8, 16));
}

bool log_get_header(const unsigned char *p, uint64_t *ret_id, uint64_t *ret_first)
{
	if (memcmp(p, LOG_MAGIC, 4) != 0 || crc32c_bulk(0, p + 8, 16) != pl_get_u32(p + 4))
		return false;
	*ret_id = pl_get_u64(p + 8);
	*ret_first = pl_get_u64(p + 16);
	return true;
}

void log_put_entry(unsigned char *p, uint32_t seed, const void *data, size_t n, uint64_t number)
{
	memcpy(p, LOG_ENTRY_MAGIC, 4);
	pl_put_u32(p + 8, (uint32_t)n);
	pl_put_u64(p + 12, number);
	memcpy(p + LOG_ENTRY, data, n);
	pl_put_u32(p + 4, crc32c_bulk(seed, p + 8, LOG_ENTRY - 8 + n));
}

/* ---- bytes ---- */

void log_scan_use(struct log_scan *s, int fd)
{
	if (s->fd >= 0)
		close(s->fd);
	s->fd = fd;
	s->size = 0;
	s->base = s->wasted = 0;
	s->error = 0;
}

void log_scan_release(struct log_scan *s)
{
	log_scan_use(s, -1);
	free(s->data);
	s->data = NULL;
	s->cap = 0;
}

/* Reads more bytes; zeros for a page that cannot be read. False: end of file. */
static bool read_more(struct log_scan *s, uint64_t end)
{
	uint64_t from = s->base + s->size;
	size_t room = s->cap - s->size;
	ssize_t got;

	if (from >= end)
		return false;
	if (room > end - from)
		room = (size_t)(end - from);
	do
		got = pread(s->fd, s->data + s->size, room, (off_t)from);
	while (got < 0 && errno == EINTR);
	if (got < 0 && errno != EIO) {
		s->error = -errno;
		return false;
	}
	if (got < 0) {
		size_t page = PAGE - (size_t)(from % PAGE);

		got = (ssize_t)(page < room ? page : room);
		memset(s->data + s->size, 0, (size_t)got);
	}
	s->size += (size_t)got;
	return got > 0;
}

/* n bytes at an offset; NULL: the file ends before. */
static const unsigned char *bytes_at(struct log_scan *s, uint64_t at, size_t n, uint64_t end)
{
	if (at < s->base || at > s->base + s->size) {
		s->base = at;
		s->size = 0;
	}
	if (at + n > s->base + s->size) {
		size_t want = n > CHUNK ? n : CHUNK, drop = (size_t)(at - s->base);

		if (s->size > drop)
			memmove(s->data, s->data + drop, s->size - drop);
		s->base = at;
		s->size -= drop;
		if (s->cap < want) {
			s->data = xreallocarray(s->data, want, 1);
			s->cap = want;
		}
	}
	while (at + n > s->base + s->size)
		if (!read_more(s, end))
			return NULL;
	return s->data + (at - s->base);
}

/* ---- entries ---- */

enum log_found log_scan_at(struct log_scan *s, uint64_t at, uint64_t end, uint64_t low,
			   uint64_t high, struct log_entry *ret)
{
	if (at >= end)
		return LOG_END;
	const unsigned char *p = end - at < LOG_ENTRY ? NULL : bytes_at(s, at, LOG_ENTRY, end);
	if (!p || memcmp(p, LOG_ENTRY_MAGIC, 4) != 0 || s->wasted > 4 * end + WASTE_MAX)
		return LOG_BAD;
	*ret = (struct log_entry){
		.at = at, .size = pl_get_u32(p + 8), .number = pl_get_u64(p + 12)};
	if (ret->size > COMMIT_LOG_ENTRY_MAX || ret->size > end - at - LOG_ENTRY ||
	    ret->number < low || ret->number >= high)
		return LOG_BAD;
	p = bytes_at(s, at, LOG_ENTRY + ret->size, end);
	if (p && crc32c_bulk(s->seed, p + 8, LOG_ENTRY - 8 + ret->size) == pl_get_u32(p + 4))
		return LOG_SOUND;
	s->wasted += ret->size;
	return LOG_BAD;
}

/* The first place after an offset where an entry may begin; end: none. */
static uint64_t next_magic(struct log_scan *s, uint64_t at, uint64_t end)
{
	for (at++; at < end && end - at >= LOG_ENTRY;) {
		size_t n = end - at < CHUNK ? (size_t)(end - at) : CHUNK;
		const unsigned char *p = bytes_at(s, at, n, end);
		const unsigned char *hit = p ? memmem(p, n, LOG_ENTRY_MAGIC, 4) : NULL;

		if (!p)
			break;
		if (hit)
			return at + (uint64_t)(hit - p);
		at += n - 3; /* a magic may continue in the next chunk */
	}
	return end;
}

bool log_scan_behind(struct log_scan *s, uint64_t at, uint64_t end, uint64_t low, uint64_t high,
		     struct log_entry *ret)
{
	while ((at = next_magic(s, at, end)) < end && !s->error)
		if (log_scan_at(s, at, end, low, high, ret) == LOG_SOUND)
			return true;
	return false;
}

const unsigned char *log_scan_bytes(struct log_scan *s, const struct log_entry *e)
{
	return s->data + (e->at - s->base) + LOG_ENTRY;
}
