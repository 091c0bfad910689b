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
struct recfile_damage {
	uint64_t first_offset; /* where the first bad byte is */
	uint64_t bytes;        /* skipped in all */
	unsigned places;
};

/* Numbers of a file from a place on. */
struct recfile_schema {
	uint64_t from;
	unsigned char map[METRIC_ID_END];
};

/* A source of bytes: read at an offset, like pread. */
struct recfile {
	int fd;
	uint64_t at;    /* offset of the next frame */
	uint64_t limit; /* end of what may be read: the file may still grow */
	unsigned char *buf;
	size_t begin, end, cap;           /* unread bytes in buf */
	unsigned char map[METRIC_ID_END]; /* metric id of this program for each id in the file */
	struct recfile_schema *schemas;
	size_t schema_count, schema_cap;
	struct recfile_damage damage;
	bool in_damage;  /* the last place looked at was bad */
	uint64_t wasted; /* bytes checksummed for nothing */
};

/* Opens for reading; the file may be growing, what is there now is read. fd is taken. */
int recfile_open(struct recfile *f, int fd);
void recfile_close(struct recfile *f);
/* The next whole frame: 1, 0 at the end, negative errno when the file cannot be read. SCHEMA frames
 * are applied and not returned. Damage is skipped and booked in f->damage. */
int recfile_next(struct recfile *f, struct record *r);
/* The frame at an offset that recfile_next() gave; afterwards reading goes on behind it. */
int recfile_read_at(struct recfile *f, uint64_t offset, struct record *r);

/* ---- writing -------------------------------------------------------------------------------- */

/* Frames are gathered in out until they are written, all with one write. */
struct recwriter {
	struct strbuf payload, out;
};
#define RECWRITER_INIT                                     \
	{                                                  \
		.payload = STRBUF_INIT, .out = STRBUF_INIT \
	}

void recwriter_release(struct recwriter *w);
/* Begins a frame's payload, fills it, and adds the frame to what will be written. */
void recwriter_begin(struct recwriter *w);
void recwriter_u64(struct recwriter *w, enum metric_id id, uint64_t v);
void recwriter_text(struct recwriter *w, enum metric_id id, const void *data, size_t n);
/* -EMSGSIZE when the payload is longer than a reader takes; the frame is dropped then. */
int recwriter_add(struct recwriter *w, enum pl_record_type type, unsigned flags);
/* The SCHEMA frame of this program. */
int recwriter_add_schema(struct recwriter *w);
/* Appends all frames; 0 or a negative errno. They are gone from w either way. */
int recwriter_flush(struct recwriter *w, int fd);

#endif
