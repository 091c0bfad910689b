/*
 * What the parts of libpapiex.so share. Each process keeps its records in a small file of its own
 * until they are rows; see sink_papiex.c.
 */
#ifndef PL_PRELOAD_PAPIEX_H
#define PL_PRELOAD_PAPIEX_H

#include "preload/guest.h"

/* A record's fields. Texts point into the record. */
struct fact {
	const char *s;
	size_t n;
};
struct rec {
	size_t size; /* of the whole frame */
	unsigned flags;
	uint64_t present[(METRIC_ID_END + 63) / 64];
	uint64_t v[METRIC_ID_END];
	struct fact text[METRIC_ID_END];
};

static inline bool rec_has(const struct rec *r, enum metric_id id)
{
	return r->present[id / 64] >> id % 64 & 1;
}

static inline void rec_set(struct rec *r, enum metric_id id, uint64_t v)
{
	r->present[id / 64] |= 1ull << id % 64;
	r->v[id] = v;
}

static inline void rec_unset(struct rec *r, enum metric_id id)
{
	r->present[id / 64] &= ~(1ull << id % 64);
	r->v[id] = 0;
}

struct span {
	const unsigned char *p;
	size_t n;
};

/* A frame of a file in memory; false at the end, or where the rest is none. */
struct frame_at {
	enum pl_record_type type;
	unsigned flags;
	struct span whole, payload;
};
bool frame_next(struct span *rest, struct frame_at *ret);
void rec_read(struct rec *r, const struct frame_at *f);
/* A record that is not in a file. */
void rec_read_payload(struct rec *r, unsigned flags, const unsigned char *p, size_t n);

/* What is written to one file, a piece at a time. */
#define OUT_BYTES 65536
struct out {
	const struct held *held;
	int fd;
	bool failed;
	size_t used, bytes, writes;
	char buf[OUT_BYTES];
};
void out_char(struct out *o, char c);
void out_number(struct out *o, uint64_t v);
void out_flush(struct out *o);

/* One image, or a copy of one, from its start to its end. In pages of its own: too large for a
 * program's stack. */
struct story {
	struct rec start, end, base, thread;
	struct span frames; /* its threads and the children that it waited for are in here */
	size_t alive_from;  /* living threads that stand before this were so for nothing */
	bool has_base;      /* the image before it in the process */
	bool copy;          /* end is a copy's, start its image's */
	bool reaped;        /* end is its parent's word for it */
	unsigned generation;
	double cycles_per_us; /* an estimate for those that did not count; 0: none */
	struct out out;
};

/* Header and rows of a process, into s->out. */
void papiex_write(struct story *s);

#endif
