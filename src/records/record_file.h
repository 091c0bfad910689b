/*
 * Record files: reading them frame by frame, whatever happened to them, and appending to them. The
 * layout is in plimsoll/record.h.
 */
#ifndef PL_RECORDS_RECORD_FILE_H
#define PL_RECORDS_RECORD_FILE_H

#include <stdint.h>
#include <sys/types.h>

#include "core/metrics/metric.h"
#include "core/strbuf.h"
#include "plimsoll/record.h"

/* One decoded frame. Texts point into the reader's buffer, good until the next call. */
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

/* What was wrong with a file. */
struct record_file_damage {
	uint64_t first_offset; /* where the first bad byte is */
	uint64_t bytes;        /* skipped in all */
	unsigned places;
};

/* Numbers of a file from a place on. */
struct record_file_schema {
	uint64_t from;
	unsigned char map[METRIC_ID_END];
};

/* A source of bytes: read at an offset, like pread. */
struct record_file {
	int fd;
	uint64_t at;    /* offset of the next frame */
	uint64_t limit; /* end of what may be read: the file may still grow */
	unsigned char *buf;
	size_t begin, end, cap;           /* unread bytes in buf */
	unsigned char map[METRIC_ID_END]; /* metric id of this program for each id in the file */
	struct record_file_schema *schemas;
	size_t schema_count, schema_cap;
	struct record_file_damage damage;
	bool in_damage;  /* the last place looked at was bad */
	uint64_t wasted; /* bytes checksummed for nothing */
};

/* Opens for reading; the file may be growing, what is there now is read. fd is taken. */
int record_file_open(struct record_file *f, int fd);
void record_file_close(struct record_file *f);
/* The next whole frame: 1, 0 at the end, negative errno when the file cannot be read. SCHEMA frames
 * are applied and not returned. Damage is skipped and booked in f->damage. */
int record_file_next(struct record_file *f, struct record *r);
/* The frame at an offset that record_file_next() gave; afterwards reading goes on behind it. */
int record_file_read_at(struct record_file *f, uint64_t offset, struct record *r);

/* ---- writing -------------------------------------------------------------------------------- */

/* Frames are gathered in out until they are written, all with one write. */
struct record_writer {
	struct strbuf payload, out;
};
#define RECORD_WRITER_INIT                                 \
	{                                                  \
		.payload = STRBUF_INIT, .out = STRBUF_INIT \
	}

void record_writer_release(struct record_writer *w);
/* Begins a frame's payload, fills it, and adds the frame to what will be written. */
void record_writer_begin(struct record_writer *w);
void record_writer_u64(struct record_writer *w, enum metric_id id, uint64_t v);
void record_writer_text(struct record_writer *w, enum metric_id id, const void *data, size_t n);
/* -EMSGSIZE when the payload is longer than a reader takes; the frame is dropped then. */
int record_writer_add(struct record_writer *w, enum pl_record_type type, unsigned flags);
/* The SCHEMA frame of this program. */
int record_writer_add_schema(struct record_writer *w);
/* Appends all frames; 0 or a negative errno. They are gone from w either way. */
int record_writer_flush(struct record_writer *w, int fd);

#endif
