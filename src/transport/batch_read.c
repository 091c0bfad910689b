/*
 * Reading batches; see batch.h. Everything is believed only after the check sum, and a check sum is
 * no proof either: sizes have limits, names are such that they can be shown and be part of a path,
 * and what is inside goes through the reader of sample files.
 */
#include <errno.h>
#include <string.h>

#include "core/crc32c_bulk.h"
#include "transport/batch.h"
#include "transport/batch_internal.h"
#include "plimsoll/record.h" /* little-endian words */

static uint64_t get_u64(const unsigned char *p)
{
	return pl_get_u32(p) | (uint64_t)pl_get_u32(p + 4) << 32;
}

static int refuse(struct strbuf *why, const char *reason)
{
	strbuf_addstr(why, reason);
	return -EBADMSG;
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
		return refuse(why, "is no batch");
	if (n > BATCH_SIZE_MAX)
		return refuse(why, "is too large for a batch");
	if (n - BATCH_HEADER < h[28])
		return refuse(why, "is cut off");
	if (crc32c_bulk(0, h + 8, n - 8) != pl_get_u32(h + 4))
		return refuse(why, "is damaged: its check sum is wrong");
	if (pl_get_u32(h + 8) > BATCH_WHOLE_MAX)
		return refuse(why, "claims to be larger than a batch may be");
	if (!batch_node_is_good((const char *)h + BATCH_HEADER, h[28]))
		return refuse(why, "has no proper name of a node");
	if (!get_u64(h + 20))
		return refuse(why, "has no number");
	*ret = (struct batch_name){.boot = get_u64(h + 12), .number = get_u64(h + 20)};
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
	/* a hostile claim costs address space only: pages that are not written are not there */
	unsigned char *whole = xmalloc(size + 1);
	if (!zstd->unpack(whole, size, h + skip, n - skip)) {
		free(whole);
		return refuse(why, "cannot be unpacked");
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
		r = refuse(why, "has no proper name of a host inside");
	sample_file_close(&f);
	return r;
}
