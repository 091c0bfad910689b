/*
 * Building batches; see batch.h. The sample file inside is made by the writer of sample files, in
 * memory. Times of readings are boot time, and a pair of clock readings says what that is for
 * people: it is told with every batch, and again when somebody has set the clock meanwhile.
 */
#include "transport/batch.h"

#include <errno.h>
#include <string.h>

#include "core/clock.h"
#include "core/crc32c_bulk.h"
#include "core/module.h"
#include "transport/batch_internal.h"
#include "plimsoll/record.h" /* little-endian words */

/* Counters are coded well before they come here: higher levels take much longer for nothing. */
#define LEVEL 3
#define CLOCK_STEP_NS 1000000 /* less than this is the clock's own drift */

struct batcher {
	struct sample_writer *w;
	bool clocks; /* times are this machine's boot time */
	int64_t offset_ns;
	size_t readings;
};

int batch_ready(struct strbuf *why)
{
	return zstd_module(why) ? 0 : -ENOSYS;
}

struct batcher *batcher_new(const struct sample_file_head *head)
{
	struct batcher *b = xcalloc(1, sizeof(*b));

	b->w = sample_writer_open(-1, head);
	b->clocks = head->boottime_ns != 0;
	return b;
}

void batcher_free(struct batcher *b)
{
	if (!b)
		return;
	(void)sample_writer_close(b->w, NULL);
	free(b);
}

unsigned batcher_source(struct batcher *b, const char *name, unsigned every, struct sample_set *set)
{
	return sample_writer_source(b->w, name, every, set);
}

static void tell_clocks(struct batcher *b)
{
	uint64_t boottime = clock_boottime_ns();
	int64_t realtime = clock_realtime_us() * 1000;
	int64_t offset = realtime - (int64_t)boottime, moved = offset - b->offset_ns;

	if (b->readings && moved < CLOCK_STEP_NS && moved > -CLOCK_STEP_NS)
		return;
	b->offset_ns = offset;
	sample_writer_clock(b->w, boottime, realtime);
}

void batcher_add(struct batcher *b, unsigned source, struct sample_set *set)
{
	if (b->clocks)
		tell_clocks(b);
	sample_writer_add(b->w, source, set);
	b->readings++;
}

size_t batcher_readings(const struct batcher *b)
{
	return b->readings;
}

size_t batcher_size(const struct batcher *b)
{
	return sample_writer_size(b->w);
}

static void put_u64(unsigned char *p, uint64_t v)
{
	pl_put_u32(p, (uint32_t)v);
	pl_put_u32(p + 4, (uint32_t)(v >> 32));
}

static void add_header(struct strbuf *out, const struct batch_name *name, size_t whole)
{
	size_t n = strnlen(name->node, sizeof(name->node) - 1);
	unsigned char h[BATCH_HEADER] = BATCH_MAGIC;

	pl_put_u32(h + 8, (uint32_t)whole);
	put_u64(h + 12, name->boot);
	put_u64(h + 20, name->number);
	h[28] = (unsigned char)n;
	strbuf_add(out, h, sizeof(h));
	strbuf_add(out, name->node, n);
}

int batch_pack(const struct batch_name *name, const void *data, size_t n, struct strbuf *out)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const struct zstd_functions *zstd = zstd_module(&why);
	size_t begin = out->len;

	if (!zstd)
		return -ENOSYS;
	if (n > BATCH_WHOLE_MAX)
		return -E2BIG;
	add_header(out, name, n);
	size_t room = zstd->bound(n);
	strbuf_grow(out, room);
	size_t size = zstd->pack(out->buf + out->len, room, data, n, LEVEL);
	out->len += size;
	out->buf[out->len] = 0;
	if (!size || out->len - begin > BATCH_SIZE_MAX) {
		strbuf_cut(out, begin);
		return size ? -E2BIG : -ENOMEM;
	}
	pl_put_u32((unsigned char *)out->buf + begin + 4,
		   crc32c_bulk(0, out->buf + begin + 8, out->len - begin - 8));
	return 0;
}

int batcher_take(struct batcher *b, const struct batch_name *name, struct strbuf *out)
{
	_cleanup_strbuf_ struct strbuf whole = STRBUF_INIT;

	if (!b->readings)
		return -ENODATA;
	sample_writer_take(b->w, &whole);
	b->readings = 0;
	return batch_pack(name, whole.buf, whole.len, out);
}
