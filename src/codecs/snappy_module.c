/* Module "snappy": blocks packed by libsnappy. */
#include <errno.h>
#include <snappy-c.h>

#include "codecs/snappy.h"
#include "core/module.h"

static int pack(const void *p, size_t n, struct strbuf *out)
{
	size_t size = snappy_max_compressed_length(n);

	strbuf_grow(out, size);
	if (snappy_compress(p, n, out->buf + out->len, &size) != SNAPPY_OK)
		return -EIO;
	out->len += size;
	out->buf[out->len] = 0;
	return 0;
}

/* Snappy keeps nothing between two blocks. */
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
	return pack(data, n, out) == 0;
}

static const struct snappy_functions functions = {
	.pack = pack,
	.block = {.open = open_block, .pack = pack_block, .close = close_block},
};

__attribute__((visibility("default"))) const struct module plimsoll_module = {
	.build = PL_BUILD_ID,
	.name = "snappy",
	.library = "libsnappy",
	.functions = &functions,
};
