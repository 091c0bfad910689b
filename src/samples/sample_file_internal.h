/*
 * What writer and reader of sample files share: the layout of docs/samples.md in numbers. Private
 * to samplefile_*.c and its tests.
 */
#ifndef PL_SAMPLES_SAMPLE_FILE_INTERNAL_H
#define PL_SAMPLES_SAMPLE_FILE_INTERNAL_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/crc32c_bulk.h"
#include "plimsoll/record.h" /* varints and little-endian words */

#define SMP_MAGIC "PLS1"
#define SMP_HEADER 12 /* magic, type, length in 24 bits, check sum */
#define SMP_FRAME_MAX 0xffffffu
#define SMP_VERSION 1

/* What a reader takes; a writer keeps below. */
#define SMP_SOURCES_MAX 256
#define SMP_ENTITIES_MAX (1u << 20) /* places of one source */
#define SMP_NAME_MAX 4096           /* names of entities, reasons, helps */
#define SMP_WORD_MAX 255            /* names of hosts, sources and metrics */
#define SMP_FACTS_MAX 16384
#define SMP_STATE_MAX ((uint64_t)512 << 20) /* bytes that the state of all sources may take */

#define SMP_WHOLE_EVERY 64  /* readings of a source from one telling of it to the next */
#define SMP_CHAIN_END 16384 /* frames of a source are counted modulo this: two bytes */

/* Stored in files: never reused, never renumbered. Readers skip types that they do not know. */
enum smp_type {
	SMP_HEAD = 1,     /* a file begins: everything before is forgotten */
	SMP_REPEAT = 2,   /* the head once more, for readers that missed it */
	SMP_SOURCE = 3,   /* a source; what was known of it is forgotten */
	SMP_ENTITIES = 4, /* entities of a source */
	SMP_READING = 5,
	SMP_ABSENT = 6, /* why a metric of a source is absent */
	SMP_CLOCK = 7,  /* a pair of clock readings */
	SMP_LOST = 8,   /* readings that could not be written */
	SMP_END = 9,
};

/* A name of ours or of a host: it becomes part of statements, labels and lines, so it is bounded
 * and has no control characters. */
static inline bool smp_is_word(const char *s)
{
	size_t n = 0;

	for (; s[n]; n++)
		if ((unsigned char)s[n] < ' ' || s[n] == 0x7f)
			return false;
	return n && n <= SMP_WORD_MAX;
}

static inline uint64_t smp_zigzag(int64_t v)
{
	return (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0);
}

static inline int64_t smp_unzigzag(uint64_t v)
{
	uint64_t u = v >> 1 ^ (0 - (v & 1));
	int64_t ret;

	memcpy(&ret, &u, sizeof(ret));
	return ret;
}

/* a - b and a + b as the machine does it: differences of extremes wrap, and wrap back. */
static inline int64_t smp_minus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static inline int64_t smp_plus(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static inline uint32_t smp_get_u24(const unsigned char *p)
{
	return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16;
}

static inline void smp_put_u24(unsigned char *p, uint32_t v)
{
	p[0] = (unsigned char)v;
	p[1] = (unsigned char)(v >> 8);
	p[2] = (unsigned char)(v >> 16);
}

/*
 * Check sum of a frame: its type, length and payload, behind the payload of the head that it
 * belongs to (session is the CRC of that; 0 for heads themselves). So a frame never counts for the
 * host of another file that it was put behind.
 */
static inline uint32_t smp_crc(uint32_t session, const unsigned char *frame, size_t payload)
{
	return crc32c_bulk(crc32c_bulk(session, frame + 4, 4), frame + SMP_HEADER, payload);
}

/* ---- the reader's two halves: frames (sample_file_read.c) and what is in them (_decode.c) -----
 */

struct sample_file;

struct sample_file_buffer {
	unsigned char *data; /* bytes of the file from base on */
	size_t size, cap;
	uint64_t base;
	int error;                    /* of the last attempt to read, negative errno */
	uint64_t limit;               /* size of the file when last looked */
	bool has_head;                /* frames can be checked */
	uint32_t session;             /* CRC of the head's payload */
	bool in_damage;               /* the last place looked at was bad */
	uint64_t wasted;              /* bytes check-summed for nothing */
	uint64_t sound_at;            /* a sound frame is here, and nothing sound before it */
	uint64_t torn_at, torn_limit; /* nothing sound was found between these */
	bool one_host;                /* a head of another one is damage */
	char *host;                   /* then: the one, NULL before there was a head */
	uint64_t state, state_max;    /* bytes that the sources' state takes, and may take */
	size_t values_cap;            /* of the reading */
	uint64_t frame; /* offset of the payload whose entities are being told, 0: none */
	size_t frame_size, frame_at;
	uint32_t frame_place;
};

/* Takes the payload of a sound frame. The event, 0 for none, -EBADMSG when it makes no sense. */
int smp_decode(struct sample_file *f, unsigned type, const unsigned char *p, size_t n);
/* Goes on telling entities; the event, 0 when all are told. */
int smp_next_entity(struct sample_file *f, const unsigned char *p);
/* Forgets everything that was told. */
void smp_forget(struct sample_file *f);

#endif
