/*
 * A batch as it comes from a peer: as it is, with its check sum put right, and with the bytes as
 * the sample file inside a batch that is sound outside.
 */
#include "fuzz.h"

#include <errno.h>
#include <string.h>

#include "core/crc32c.h"
#include "samples/sample_file_internal.h"
#include "transport/batch.h"
#include "transport/batch_internal.h"

static void read_batch(const void *p, size_t n)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT, why_open = STRBUF_INIT;
	struct batch_name name;
	struct sample_file f;
	int r = batch_peek(p, n, &name, &why), event;

	if (r < 0)
		REQUIRE(r == -EBADMSG && why.len > 0);
	else
		REQUIRE(batch_node_is_good(name.node, strlen(name.node)) && name.number > 0);
	int o = batch_open(&f, p, n, &why_open);
	if (r < 0)
		REQUIRE(o == r);
	if (o < 0) {
		REQUIRE(o == -EBADMSG && why_open.len > 0);
		return;
	}
	while ((event = sample_file_next(&f)) > 0) {
		REQUIRE(event <= SAMPLE_END);
		if (event != SAMPLE_READING)
			continue;
		REQUIRE(f.source < f.source_count && f.reading.row_count <= f.reading.entity_count);
		for (size_t i = 0; i < f.reading.row_count; i++)
			REQUIRE(f.reading.rows[i].entity < f.reading.entity_count &&
				f.reading.entities[f.reading.rows[i].entity].kind);
	}
	REQUIRE(event == 0);
	REQUIRE(f.buffer->state <= BATCH_STATE_MAX);
	sample_file_close(&f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_free_ uint8_t *copy = xmalloc(size + 1);
	_cleanup_strbuf_ struct strbuf packed = STRBUF_INIT, why = STRBUF_INIT;
	struct batch_name name = {.node = "fuzz", .boot = 1, .number = 1};

	read_batch(data, size);
	if (size)
		memcpy(copy, data, size);
	if (size >= BATCH_HEADER) {
		memcpy(copy, BATCH_MAGIC, 4);
		pl_put_u32(copy + 4, crc32c(0, copy + 8, size - 8));
		read_batch(copy, size);
	}
	if (batch_ready(&why) < 0)
		return 0; /* built without the library: the seeds cannot show more */
	REQUIRE(batch_pack(&name, data, size, &packed) == 0);
	read_batch(packed.buf, packed.len);
	return 0;
}
