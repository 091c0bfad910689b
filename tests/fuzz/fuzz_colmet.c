/*
 * A message of colmet's nodes, of any dialect: whole or not at all, batches that can be read, and
 * records that are the same bytes again.
 */
#include "fuzz.h"

#include <errno.h>
#include <string.h>

#include "compat/colmet/colmet.h"

static void touch_record(void *user, const struct fixed_row *r)
{
	struct strbuf *out = user;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	size_t before = out->len;

	REQUIRE(strlen(r->host) > 0 && strlen(r->involved) <= ROW_JOBS_TEXT);
	colmet_pack(r, out);
	REQUIRE(out->len - before == r->table->record_size);
	colmet_text(r, &text);
	REQUIRE(text.len > 0);
}

struct taken {
	size_t rows;
	struct strbuf records;
};

static void take(void *user, struct batcher *b, const char *host)
{
	_cleanup_strbuf_ struct strbuf packed = STRBUF_INIT, why = STRBUF_INIT;
	struct batch_name name = {.boot = 1, .number = 1};
	struct taken *t = user;
	struct sample_file f;
	int r;

	snprintf(name.node, sizeof(name.node), "%s", host);
	r = batcher_take(b, &name, &packed);
	if (r == -ENOSYS)
		return; /* without the module that packs */
	REQUIRE(r == 0);
	REQUIRE(batch_open(&f, packed.buf, packed.len, &why) == 0);
	while ((r = sample_file_next(&f)) > 0) {
		if (r != SAMPLE_READING)
			continue;
		t->rows += f.reading.row_count;
		(void)colmet_records_from_reading(host, f.sources[f.source].name, &f.reading,
						  f.time_us, touch_record, &t->records);
	}
	REQUIRE(r == 0 && f.damaged_places == 0);
	sample_file_close(&f);
}

/* Record by record: what is unpacked is packed to the same bytes. */
static void there_and_back(const uint8_t *data, size_t size)
{
	_cleanup_free_ struct fixed_row *r = xmalloc(sizeof(*r));
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const unsigned char *p = data, *end = data + size;

	for (;;) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
		const unsigned char *begin = p;

		int got = colmet_unpack(&p, end, r, &why);
		REQUIRE(got >= 0 || why.len);
		if (got <= 0)
			return;
		touch_record(&out, r);
		REQUIRE((size_t)(p - begin) == out.len && !memcmp(begin, out.buf, out.len));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct taken t = {.records = STRBUF_INIT};
	enum colmet_dialect dialect;
	int r = colmet_read(data, size, &dialect, take, &t, &why);

	REQUIRE(r >= 0 ? !why.len : r == -EBADMSG && why.len && !t.rows);
	REQUIRE(r < 0 || t.rows <= (size_t)r);
	/* a record takes more than a byte: what is claimed is there */
	REQUIRE(r <= (int)size);
	strbuf_release(&t.records);
	there_and_back(data, size);
	return 0;
}
