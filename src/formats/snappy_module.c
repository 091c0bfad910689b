/* Module "snappy": blocks packed by libsnappy. */
#include <errno.h>
#include <snappy-c.h>

#include "core/module.h"
#include "formats/snappy.h"

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

static const struct snappy_functions functions = {.pack = pack};

__attribute__((visibility("default"))) const struct module plimsoll_module = {
	.build = PL_BUILD_ID,
	.name = "snappy",
	.library = "libsnappy",
	.functions = &functions,
};
