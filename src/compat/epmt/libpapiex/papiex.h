/*
 * What the parts of libpapiex.so share. Each process keeps its records in a small file of its own
 * until they are rows; see papiex_output.c.
 */
#pragma once

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

/* The next frame of a file in memory; false at the end, or where the rest is not a frame. */
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

/* ---- the files of processes (papiex_state.c) ------------------------------------------------ */

/* Longest: a host name of 64 bytes, two numbers of 20, and the words between. */
struct name {
	char s[128];
};

/* The file of a process, and that of its rows. */
void state_name(struct name *name, int pid);
void csv_name(struct name *name, int pid, unsigned instance);
long open_dir(void);
void remove_name(long dir, const struct name *name);
/* Accepts only a file that we own: the directory, /tmp by default, may be shared. */
long open_state(long dir, const struct name *name, long flags, size_t *ret_size);
/* Reads a process's file into pages; n is 0 where there is none. */
struct span read_state(long dir, const struct name *name, struct own_io *own);
void release_state(struct span pages);
/* Appends to the file of process pid; a copy makes one when it has something to say. */
size_t append_state(const struct held *h, int pid, const struct iovec *iov, int count);

/* What a process's file says. */
struct state {
	struct span all;
	struct frame_at start;
	struct span base, exec; /* EXEC and the HOST behind it; n is 0 without */
	bool has_start;
	unsigned generation;
	size_t alive_from;
};

/* Another record behind an EXEC says that it failed; a thread may end meanwhile. */
void read_frames(struct state *st, struct rec *scratch);
/* An EXEC, with what we did ourselves until the image was replaced. */
void read_exec(struct rec *r, struct span frames, struct rec *scratch);
/* The child of system(), by what it left: one that could speak for itself left nothing. 0: none. */
uint64_t find_child(uint64_t since, int parent, struct rec *r, struct own_io *own);
