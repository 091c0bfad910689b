/*
 * Record files that a test makes: single frames, and a file whose frames say which ones they are.
 */
#pragma once

#include "unit.h"

#include <errno.h>

#include "core/crc32c.h"
#include "records/record_file.h"

#define CHUNK 262144 /* what the reader fetches at once: magics may straddle its end */

/* ---- making files --------------------------------------------------------------------------- */

static inline void raw_frame(struct strbuf *out, unsigned type, unsigned flags, const void *payload,
			     size_t n)
{
	unsigned char h[PL_RECORD_HEADER];

	pl_put_u32(h, PL_RECORD_MAGIC);
	pl_put_u16(h + 4, (uint16_t)type);
	pl_put_u16(h + 6, (uint16_t)flags);
	pl_put_u32(h + 8, (uint32_t)n);
	pl_put_u32(h + 12, crc32c(crc32c(0, h + 4, 8), payload, n));
	strbuf_add(out, h, sizeof(h));
	strbuf_add(out, payload, n);
}

static inline void schema_frame(struct strbuf *out, const char *text)
{
	raw_frame(out, PL_SCHEMA, 0, text, strlen(text));
}

/* Frame i of a numbered file: its pid says which one it is, its size differs from its neighbours'.
 */
static inline void numbered_frame(struct record_writer *w, unsigned i)
{
	char text[64];

	memset(text, 'a' + (int)(i % 26), sizeof(text));
	record_writer_begin(w);
	record_writer_u64(w, METRIC_PID, 1000 + i);
	record_writer_u64(w, METRIC_BOOTTIME, 1000000007ull * i);
	record_writer_text(w, METRIC_PATH, text, i % 23);
	record_writer_u64(w, METRIC_RSSMAX, i * i);
	assert_int_equal(record_writer_add(w, i % 2 ? PL_END : PL_START, i), 0);
}

static inline void check_numbered(const struct record *r, unsigned i)
{
	assert_int_equal(r->type, i % 2 ? PL_END : PL_START);
	assert_int_equal(r->flags, i);
	assert_int_equal(record_get(r, METRIC_PID, 0), 1000 + i);
	assert_int_equal(record_get(r, METRIC_BOOTTIME, 0), 1000000007ull * i);
	assert_int_equal(record_get(r, METRIC_RSSMAX, 7), i * i);
	assert_int_equal(r->text[METRIC_PATH].size, i % 23);
	for (unsigned n = 0; n < i % 23; n++)
		assert_int_equal(r->text[METRIC_PATH].data[n], 'a' + (int)(i % 26));
}

#define FRAMES 50
struct numbered {
	struct record_writer w;
	size_t at[FRAMES + 1]; /* where each frame begins, and the end */
};

static inline void numbered_init(struct numbered *f)
{
	*f = (struct numbered){.w = RECORD_WRITER_INIT};
	for (unsigned i = 0; i < FRAMES; i++) {
		f->at[i] = f->w.out.len;
		numbered_frame(&f->w, i);
	}
	f->at[FRAMES] = f->w.out.len;
}

static inline void numbered_release(struct numbered *f)
{
	record_writer_release(&f->w);
}

static inline void open_bytes(struct record_file *f, const void *data, size_t n)
{
	assert_int_equal(record_file_open(f, memory_file(data, n)), 0);
}

/* Reads to the end; the numbers of the frames in order. */
static inline size_t read_all(struct record_file *f, unsigned *numbers, size_t max)
{
	static struct record r;
	size_t n = 0;
	int e;

	while ((e = record_file_next(f, &r)) == 1) {
		assert_true(n < max);
		numbers[n] = (unsigned)record_get(&r, METRIC_PID, 0) - 1000;
		check_numbered(&r, numbers[n]);
		n++;
	}
	assert_int_equal(e, 0);
	return n;
}
