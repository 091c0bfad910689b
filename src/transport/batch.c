/*
 * Making and reading batches; see batch.h. The sample file inside is written in memory. Times of
 * samples are boot time; each batch has a pair of clock values to convert it to wall-clock time,
 * and another one when the clock was set meanwhile.
 *
 * Nothing that is read is trusted before its checksum was verified, nor just because of that: sizes
 * are limited, names must be fit for messages and paths, and the content goes through the reader of
 * sample files.
 */
#include "transport/batch.h"

#include <errno.h>
#include <string.h>

#include "core/clock.h"
#include "core/crc32c_bulk.h"
#include "transport/batch_internal.h"
#include "plimsoll/record.h" /* little-endian words */

/* The sample file is compact already: higher levels take much longer and gain nothing. */
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

static void add_clocks(struct batcher *b)
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
		add_clocks(b);
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

static void add_header(struct strbuf *out, const struct batch_name *name, size_t whole)
{
	size_t n = strnlen(name->node, sizeof(name->node) - 1);
	unsigned char h[BATCH_HEADER] = BATCH_MAGIC;

	pl_put_u32(h + 8, (uint32_t)whole);
	pl_put_u64(h + 12, name->boot);
	pl_put_u64(h + 20, name->number);
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

/* ---- reading ---- */

static int refuse(struct strbuf *why, const char *reason)
{
	return strbuf_fail(why, -EBADMSG, "%s", reason);
}

bool batch_node_is_good(const char *node, size_t n)
{
	if (!n || n > 255 || node[0] == '.')
		return false;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)node[i] <= ' ' || node[i] == 0x7f || node[i] == '/')
			return false;
	return true;
}

int batch_peek(const void *p, size_t n, struct batch_name *ret, struct strbuf *why)
{
	const unsigned char *h = p;

	if (n < BATCH_HEADER || memcmp(h, BATCH_MAGIC, 4) != 0)
		return refuse(why, "not a batch");
	if (n > BATCH_SIZE_MAX)
		return refuse(why, "too large for a batch");
	if (n - BATCH_HEADER < h[28])
		return refuse(why, "truncated");
	if (crc32c_bulk(0, h + 8, n - 8) != pl_get_u32(h + 4))
		return refuse(why, "damaged: wrong checksum");
	if (pl_get_u32(h + 8) > BATCH_WHOLE_MAX)
		return refuse(why, "its uncompressed size is above the limit");
	if (!batch_node_is_good((const char *)h + BATCH_HEADER, h[28]))
		return refuse(why, "invalid node name");
	if (!pl_get_u64(h + 20))
		return refuse(why, "has no number");
	*ret = (struct batch_name){.boot = pl_get_u64(h + 12), .number = pl_get_u64(h + 20)};
	memcpy(ret->node, h + BATCH_HEADER, h[28]);
	return 0;
}

int batch_open(struct sample_file *f, const void *p, size_t n, struct strbuf *why)
{
	const unsigned char *h = p;
	struct batch_name name;
	int r = batch_peek(p, n, &name, why);

	*f = (struct sample_file){.fd = -1};
	if (r < 0)
		return r;
	const struct zstd_functions *zstd = zstd_module(why);
	if (!zstd)
		return -ENOSYS;
	size_t skip = BATCH_HEADER + h[28], size = pl_get_u32(h + 8);
	/* a hostile size costs address space only: pages that are not written use no memory */
	unsigned char *whole = xmalloc(size + 1);
	if (!zstd->unpack(whole, size, h + skip, n - skip)) {
		free(whole);
		return refuse(why, "cannot be decompressed");
	}
	return sample_file_open_memory(f, whole, size, BATCH_STATE_MAX, why);
}

int batch_host(const void *p, size_t n, char ret[256], struct strbuf *why)
{
	struct sample_file f;
	int r = batch_open(&f, p, n, why);

	if (r < 0)
		return r;
	const char *host = sample_file_next(&f) == SAMPLE_HEAD ? f.head.host : NULL;
	if (host && batch_node_is_good(host, strlen(host)))
		memcpy(ret, host, strlen(host) + 1);
	else
		r = refuse(why, "invalid host name in its samples");
	sample_file_close(&f);
	return r;
}
