/* Module "gzip": compression by zlib; see gzip.h. */
#include <zlib.h>

#include "codecs/gzip.h"
#include "core/module.h"

#define PIECE 65536u

struct gzip {
	z_stream z;
};

static struct gzip *open_deflate(int level, int window)
{
	struct gzip *g = xcalloc(1, sizeof(*g));

	if (deflateInit2(&g->z, level, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY) == Z_OK)
		return g;
	free(g);
	return NULL;
}

/* 15 + 16: the largest window, with gzip's header. */
static struct gzip *open_stream(int level)
{
	return open_deflate(level, 15 + 16);
}

/* -15: the same without a header. */
static void *open_block(int level)
{
	return open_deflate(level, -15);
}

static bool add(struct gzip *g, const void *data, size_t n, bool last, struct strbuf *out)
{
	const unsigned char *p = data;

	for (;;) {
		uInt part = n > PIECE ? PIECE : (uInt)n;
		bool end = last && part == n;

		g->z.next_in = (Bytef *)(uintptr_t)p;
		g->z.avail_in = part;
		do {
			strbuf_grow(out, PIECE);
			g->z.next_out = (Bytef *)out->buf + out->len;
			g->z.avail_out = PIECE;
			if (deflate(&g->z, end ? Z_FINISH : Z_NO_FLUSH) == Z_STREAM_ERROR)
				return false;
			strbuf_cut(out, out->len + PIECE - g->z.avail_out);
		} while (!g->z.avail_out);
		p += part;
		n -= part;
		if (!n)
			return true;
	}
}

static void close_stream(struct gzip *g)
{
	if (!g)
		return;
	(void)deflateEnd(&g->z);
	free(g);
}

static void close_block(void *state)
{
	close_stream(state);
}

static bool pack_block(void *state, const void *data, size_t n, struct strbuf *out)
{
	struct gzip *g = state;

	return deflateReset(&g->z) == Z_OK && add(g, data, n, true, out);
}

static const struct gzip_functions functions = {
	.open = open_stream,
	.add = add,
	.close = close_stream,
	.block = {.open = open_block, .pack = pack_block, .close = close_block},
};

PL_MODULE("gzip", "zlib", &functions);
