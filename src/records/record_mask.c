/* Masks secrets in record files; see record_mask.h. */
#include "records/record_mask.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/crc32c_bulk.h"
#include "core/files/fs.h"
#include "core/text/secrets.h"
#include "records/record_file.h"

#define PIECE (256u << 10)

struct masking {
	int from, to;
	struct strbuf frame, out; /* original and masked */
	uint64_t done;            /* bytes of the file that were copied */
};

static int flush(struct masking *m)
{
	int r = fs_write_all(m->to, m->out.buf, m->out.len);

	strbuf_reset(&m->out);
	return r;
}

/* Reads n bytes into m->frame. */
static int read_bytes(struct masking *m, uint64_t at, size_t n)
{
	strbuf_reset(&m->frame);
	while (m->frame.len < n) {
		char piece[65536];
		size_t want = n - m->frame.len < sizeof(piece) ? n - m->frame.len : sizeof(piece);
		ssize_t got = pread(m->from, piece, want, (off_t)(at + m->frame.len));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -EIO;
		strbuf_add(&m->frame, piece, (size_t)got);
	}
	return 0;
}

static bool is_schema(const unsigned char *h, size_t n)
{
	if (n < PL_RECORD_HEADER || pl_get_u32(h) != PL_RECORD_MAGIC ||
	    pl_get_u16(h + 4) != PL_SCHEMA)
		return false;
	uint32_t size = pl_get_u32(h + 8);
	return size <= n - PL_RECORD_HEADER &&
	       crc32c_bulk(crc32c_bulk(0, h + 4, 8), h + PL_RECORD_HEADER, size) ==
		       pl_get_u32(h + 12);
}

/* Copies what is between two records: SCHEMA frames, and damage as zeros. */
static int copy_between(struct masking *m, uint64_t until)
{
	while (m->done < until) {
		size_t n =
			until - m->done < PL_RECORD_MAX ? (size_t)(until - m->done) : PL_RECORD_MAX;
		int r = read_bytes(m, m->done, n);

		if (r < 0)
			return r;
		const unsigned char *p = (const unsigned char *)m->frame.buf;
		for (size_t i = 0; i < n;) {
			size_t size = 1;

			if (is_schema(p + i, n - i)) {
				size = PL_RECORD_HEADER + pl_get_u32(p + i + 8);
				strbuf_add(&m->out, p + i, size);
			} else {
				strbuf_addch(&m->out, 0);
			}
			i += size;
		}
		m->done += n;
		if (m->out.len > PIECE && (r = flush(m)) < 0)
			return r;
	}
	return 0;
}

/* The ids of the fields with secrets in this file. */
struct ids {
	uint64_t arguments, tags;
};

/* Masks arguments and tags of a payload; false: it is invalid. */
static bool mask_payload(struct strbuf *out, const unsigned char *p, const unsigned char *end,
			 const struct ids *ids)
{
	while (p < end) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
		const unsigned char *field = p;
		unsigned char head[2 * PL_VARINT_MAX], *h = head;
		uint64_t key, v;

		p = pl_get_varint(p, end, &key);
		p = p ? pl_get_varint(p, end, &v) : NULL;
		if (!p || ((key & 1) && v > (uint64_t)(end - p)))
			return false;
		const unsigned char *data = p;
		p += key & 1 ? v : 0;
		if (key != ids->arguments * 2 + 1 && key != ids->tags * 2 + 1) {
			strbuf_add(out, field, (size_t)(p - field));
			continue;
		}
		strbuf_add(&text, data, (size_t)v);
		if (key == ids->tags * 2 + 1)
			secrets_mask_tags(&text);
		else
			secrets_mask_arguments(&text, 0, NULL);
		h = pl_put_varint(h, key);
		h = pl_put_varint(h, text.len);
		strbuf_add(out, head, (size_t)(h - head));
		strbuf_add(out, text.buf, text.len);
	}
	return true;
}

static int copy_frame(struct masking *m, const struct record *rec, const struct ids *ids)
{
	_cleanup_strbuf_ struct strbuf payload = STRBUF_INIT;
	unsigned char head[PL_RECORD_HEADER];
	int r = read_bytes(m, rec->offset, rec->size);

	if (r < 0)
		return r;
	const unsigned char *p = (const unsigned char *)m->frame.buf;
	if ((!record_has(rec, METRIC_ARGV) && !record_has(rec, METRIC_TAGS)) ||
	    !mask_payload(&payload, p + PL_RECORD_HEADER, p + rec->size, ids)) {
		strbuf_add(&m->out, p, rec->size);
	} else {
		memcpy(head, p, sizeof(head));
		pl_put_u32(head + 8, (uint32_t)payload.len);
		pl_put_u32(head + 12,
			   crc32c_bulk(crc32c_bulk(0, head + 4, 8), payload.buf, payload.len));
		strbuf_add(&m->out, head, sizeof(head));
		strbuf_add(&m->out, payload.buf, payload.len);
	}
	m->done = rec->offset + rec->size;
	return m->out.len > PIECE ? flush(m) : 0;
}

static uint64_t id_of(const struct record_file *f, enum metric_id metric)
{
	for (unsigned i = 0; i < METRIC_ID_END; i++)
		if (f->map[i] == metric)
			return i;
	return metric;
}

int record_file_mask(int from, int to, struct strbuf *why)
{
	struct masking m = {.from = from, .to = to, .frame = STRBUF_INIT, .out = STRBUF_INIT};
	struct record_file f;
	struct record rec;

	int r = record_file_open(&f, fcntl(from, F_DUPFD_CLOEXEC, 0));
	while (r == 0 && (r = record_file_next(&f, &rec)) == 1) {
		const struct ids ids = {id_of(&f, METRIC_ARGV), id_of(&f, METRIC_TAGS)};

		r = copy_between(&m, rec.offset);
		if (r == 0)
			r = copy_frame(&m, &rec, &ids);
	}
	if (r == 0)
		r = copy_between(&m, f.limit);
	if (r == 0)
		r = flush(&m);
	if (r < 0)
		strbuf_addf(why, "cannot copy the records: %s", strerror(-r));
	record_file_close(&f);
	strbuf_release(&m.frame);
	strbuf_release(&m.out);
	return r;
}
