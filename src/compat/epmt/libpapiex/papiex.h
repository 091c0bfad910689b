/*
 * Shared by the parts of libpapiex.so. Each process keeps its records in a small file of its own
 * until they become rows; see papiex_output.c.
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

/* The next frame of a file in memory; false at the end, or if the rest is not a valid frame. */
struct frame_at {
	enum pl_record_type type;
	unsigned flags;
	struct span whole, payload;
};
bool frame_next(struct span *rest, struct frame_at *ret);
void rec_read(struct rec *r, const struct frame_at *f);
/* A record that is not in a file. */
void rec_read_payload(struct rec *r, unsigned flags, const unsigned char *p, size_t n);

/* Buffered output to one file. */
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

/* One image, or a fork of one, from its start to its end. It is too large for a program's stack and
 * has pages of its own. */
struct story {
	struct rec start, end, base, thread;
	struct span frames; /* contains its threads and the children that it waited for */
	size_t alive_from;  /* records of living threads before this place do not count */
	bool has_base;      /* the previous image of the process */
	bool copy;          /* end is of a fork, start of its image */
	bool reaped;        /* its parent recorded the end */
	unsigned generation;
	double cycles_per_us; /* an estimate for processes that did not count; 0: none */
	struct out out;
};

/* Header and rows of a process, into s->out. */
void papiex_write(struct story *s);

/* ---- the files of processes (papiex_state.c) ------------------------------------------------ */

/* The longest: a host name of 64 bytes, two numbers of 20 digits, and the words between them. */
struct name {
	char s[128];
};

/* The names of the file of a process, and of its rows. */
void state_name(struct name *name, int pid);
void csv_name(struct name *name, int pid, unsigned instance);
long open_dir(void);
void remove_name(long dir, const struct name *name);
/* Accepts only a file that we own: the directory, /tmp by default, may be shared. */
long open_state(long dir, const struct name *name, long flags, size_t *ret_size);
/* Reads the file of a process into pages; n is 0 if there is none. */
struct span read_state(long dir, const struct name *name, struct own_io *own);
void release_state(struct span pages);
/* Appends to the file of process pid; a fork creates one with its first record. */
size_t append_state(const struct held *h, int pid, const struct iovec *iov, int count);

/* What the file of a process contains. */
struct state {
	struct span all;
	struct frame_at start;
	struct span base, exec; /* EXEC and the HOST after it; n is 0 without them */
	bool has_start;
	unsigned generation;
	size_t alive_from;
};

/* Another record after an EXEC means that the exec failed; a thread may end meanwhile. */
void read_frames(struct state *st, struct rec *scratch);
/* An EXEC, with our own I/O until the image was replaced. */
void read_exec(struct rec *r, struct span frames, struct rec *scratch);
/* The child of system(), by the file that it left: a child that wrote its own rows left none. 0:
 * none. */
uint64_t find_child(uint64_t since, int parent, struct rec *r, struct own_io *own);
