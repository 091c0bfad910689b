/* Module "snappy": blocks compressed by libsnappy; see compress.h. */
#include <snappy-c.h>

#include "codecs/compress.h"
#include "core/module.h"

/* Snappy has no state. */
static void *open_block(int level PL_UNUSED)
{
	static char nothing;

	return &nothing;
}

static void close_block(void *state PL_UNUSED)
{
}

static bool pack_block(void *state PL_UNUSED, const void *data, size_t n, struct strbuf *out)
{
	size_t size = snappy_max_compressed_length(n);

	strbuf_grow(out, size);
	if (snappy_compress(data, n, out->buf + out->len, &size) != SNAPPY_OK)
		return false;
	strbuf_cut(out, out->len + size);
	return true;
}

static const struct pack_functions functions = {open_block, pack_block, close_block};

PL_MODULE("snappy", "libsnappy", &functions);
