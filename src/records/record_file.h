/*
 * Reads record files frame by frame, even if they are damaged, and appends to them.
 * plimsoll/record.h has the format.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "core/metrics/metric.h"
#include "core/strbuf.h"
#include "plimsoll/record.h"

/* One decoded frame. Strings point into the reader's buffer and are valid until the next call. */
struct record {
	enum pl_record_type type;
	unsigned flags;
	uint64_t offset; /* of the frame in its file */
	uint32_t size;   /* of the whole frame */
	uint64_t present[(METRIC_ID_END + 63) / 64];
	uint64_t v[METRIC_ID_END];
	struct {
		const char *data;
		uint32_t size;
	} text[METRIC_ID_END];
};

static inline bool record_has(const struct record *r, enum metric_id id)
{
	return r->present[id / 64] >> (id % 64) & 1;
}

static inline void record_set(struct record *r, enum metric_id id, uint64_t v)
{
	r->present[id / 64] |= 1ull << (id % 64);
	r->v[id] = v;
}

static inline void record_unset(struct record *r, enum metric_id id)
{
	r->present[id / 64] &= ~(1ull << (id % 64));
}

static inline uint64_t record_get(const struct record *r, enum metric_id id, uint64_t fallback)
{
	return record_has(r, id) ? r->v[id] : fallback;
}

/* Damage in a file. */
struct record_file_damage {
	uint64_t first_offset; /* of the first bad byte */
	uint64_t bytes;        /* skipped bytes */
	unsigned places;
};

/* Metric ids of a file from an offset on. */
struct record_file_schema {
	uint64_t from;
	unsigned char map[METRIC_ID_END];
};

/* A reader of a record file. */
struct record_file {
	int fd;
	uint64_t at;    /* offset of the next frame */
	uint64_t limit; /* size of the file at its opening; it may still grow */
	unsigned char *buf;
	size_t begin, end, cap;           /* unread bytes in buf */
	unsigned char map[METRIC_ID_END]; /* our metric id for each id in the file */
	struct record_file_schema *schemas;
	size_t schema_count, schema_cap;
	struct record_file_damage damage;
	bool in_damage;  /* the last place was bad */
	uint64_t wasted; /* bytes of frames with a wrong checksum */
};

/* Opens for reading. Takes fd, unless it fails. The file may grow; only what is there now is read.
 * 0 or the errno of fstat(), negative. */
int record_file_open(struct record_file *f, int fd);
void record_file_close(struct record_file *f);
/* Reads the next frame: 1, 0 at the end, or a negative errno. Applies SCHEMA frames and does not
 * return them. Skips damage and counts it in f->damage. */
int record_file_next(struct record_file *f, struct record *r);
/* Reads the frame at an offset from record_file_next(), and continues after it. 0, -EBADMSG (no
 * frame there) or another negative errno. */
int record_file_read_at(struct record_file *f, uint64_t offset, struct record *r);

/* ---- writing -------------------------------------------------------------------------------- */

/* Frames are collected in out and written with one write(). */
struct record_writer {
	struct strbuf payload, out;
};
#define RECORD_WRITER_INIT                                 \
	{                                                  \
		.payload = STRBUF_INIT, .out = STRBUF_INIT \
	}

void record_writer_release(struct record_writer *w);
/* Begin a payload, fill it, then add the frame. */
void record_writer_begin(struct record_writer *w);
void record_writer_u64(struct record_writer *w, enum metric_id id, uint64_t v);
void record_writer_text(struct record_writer *w, enum metric_id id, const void *data, size_t n);
/* Exit code, or signal and core dump, by a status of wait(). */
void record_writer_status(struct record_writer *w, int status);
/* -EMSGSIZE: the payload is longer than readers accept, and the frame is dropped. */
int record_writer_add(struct record_writer *w, enum pl_record_type type, unsigned flags);
/* The SCHEMA frame of this program. */
int record_writer_add_schema(struct record_writer *w);
/* Writes all frames; 0 or a negative errno (-ENOSPC: not all of them). Empties w in any case. */
int record_writer_flush(struct record_writer *w, int fd);
