/* The layout of sample files, see docs/samples.md. Private to sample_file_*.c and their tests. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "core/crc32c_bulk.h"
#include "core/varint.h"

#define SMP_MAGIC "PLS1"
#define SMP_HEADER 12 /* magic, type, length in 24 bits, checksum */
#define SMP_VERSION 1

/* Limits of readers, and of what writers write. */
#define SMP_SOURCES_MAX 256
#define SMP_ENTITIES_MAX (1u << 20) /* of one source */
#define SMP_NAME_MAX 4096           /* names of entities, reasons, help texts */
#define SMP_WORD_MAX 255            /* names of hosts, sources and metrics */
#define SMP_METADATA_MAX 16384
#define SMP_STATE_MAX ((uint64_t)512 << 20) /* bytes of the state of all sources */

#define SMP_WHOLE_EVERY 64  /* a source is repeated after this many sets */
#define SMP_CHAIN_END 16384 /* frames of a source are numbered modulo this: two bytes */

/* Stored in files: never reuse or renumber them. Readers skip unknown types. */
enum smp_type {
	SMP_HEAD = 1,     /* a file begins: forget everything before */
	SMP_REPEAT = 2,   /* the head again, for readers that missed it */
	SMP_SOURCE = 3,   /* a source; forget what was known of it */
	SMP_ENTITIES = 4, /* entities of a source */
	SMP_READING = 5,
	SMP_ABSENT = 6, /* why a metric of a source is absent */
	SMP_CLOCK = 7,  /* a pair of clock values */
	SMP_LOST = 8,   /* number of sets that could not be written */
	SMP_END = 9,
};

/* Is it a valid name of a host, source or metric? It is used in statements, labels and lines:
 * bounded, and without control characters. */
static inline bool smp_is_word(const char *s)
{
	size_t n = 0;

	for (; s[n]; n++)
		if ((unsigned char)s[n] < ' ' || s[n] == 0x7f)
			return false;
	return n && n <= SMP_WORD_MAX;
}

/* a - b and a + b, wrapping: differences of extremes wrap, and wrap back. */
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
 * Checksum of a frame: its type, length and payload, after the payload of its head (session is the
 * CRC of that; 0 for heads). So a frame is never taken for one of another host in a concatenated
 * file.
 */
static inline uint32_t smp_crc(uint32_t session, const unsigned char *frame, size_t payload)
{
	return crc32c_bulk(crc32c_bulk(session, frame + 4, 4), frame + SMP_HEADER, payload);
}

/* ---- the reader's two halves: frames (sample_file_read.c) and what is in them (_decode.c) ---- */

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
	uint64_t wasted;              /* bytes checksummed in vain */
	uint64_t sound_at;            /* offset of the next sound frame, after damage */
	uint64_t torn_at, torn_limit; /* nothing sound was found between these */
	bool one_host;                /* a head of another host is damage */
	char *host;                   /* then: its name, NULL before the first head */
	uint64_t state, state_max;    /* bytes of the sources' state, and their limit */
	size_t values_cap;            /* of the reading */
	uint64_t frame; /* offset of the payload whose entities are being returned, 0: none */
	size_t frame_size, frame_at;
	uint32_t frame_place;
};

/* Decodes the payload of a sound frame: the event, 0: none, -EBADMSG: invalid. */
int smp_decode(struct sample_file *f, unsigned type, const unsigned char *p, size_t n);
/* The next entity of a frame: the event, 0: no more. */
int smp_next_entity(struct sample_file *f, const unsigned char *p);
/* Forgets all state. */
void smp_forget(struct sample_file *f);
