/*
 * Record files; see record_file.h. The reader trusts nothing: a frame is valid if its magic, length
 * and checksum agree; anything else is searched for the next frame.
 */
#include "records/record_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/crc32c_bulk.h"

#define CHUNK 262144

/* ---- reading -------------------------------------------------------------------------------- */

int record_file_open(struct record_file *f, int fd)
{
	struct stat st;

	*f = (struct record_file){.fd = fd};
	for (unsigned i = 0; i < METRIC_ID_END; i++)
		f->map[i] = (unsigned char)i;
	if (fstat(fd, &st) < 0)
		return -errno;
	f->limit = (uint64_t)st.st_size;
	return 0;
}

void record_file_close(struct record_file *f)
{
	free(f->buf);
	free(f->schemas);
	if (f->fd >= 0)
		close(f->fd);
	*f = (struct record_file){.fd = -1};
}

/* Makes at least n bytes available if the file has them. The number available, or -errno. */
static ssize_t fill(struct record_file *f, size_t n)
{
	if (f->end - f->begin >= n)
		return (ssize_t)(f->end - f->begin);
	if (f->begin && f->end > f->begin)
		memmove(f->buf, f->buf + f->begin, f->end - f->begin);
	f->end -= f->begin;
	f->begin = 0;
	size_t want = n > CHUNK ? n : CHUNK;
	if (f->cap < want) {
		f->buf = xreallocarray(f->buf, want, 1);
		f->cap = want;
	}
	while (f->end < n) {
		uint64_t from = f->at + f->end;

		if (from >= f->limit)
			break;
		size_t room = f->cap - f->end;
		if (room > f->limit - from)
			room = (size_t)(f->limit - from);
		ssize_t got = pread(f->fd, f->buf + f->end, room, (off_t)from);
		if (got < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (got == 0) {
			f->limit = from; /* the file was truncated */
			break;
		}
		f->end += (size_t)got;
	}
	return (ssize_t)f->end;
}

static void advance(struct record_file *f, size_t n)
{
	f->begin += n;
	f->at += n;
}

/* The size of a valid frame at the current place; 0: there is none; or -errno. */
static ssize_t sound_frame(struct record_file *f)
{
	ssize_t have = fill(f, PL_RECORD_HEADER);

	if (have < PL_RECORD_HEADER)
		return have < 0 ? have : 0;
	const unsigned char *h = f->buf + f->begin;
	if (pl_get_u32(h) != PL_RECORD_MAGIC)
		return 0;
	uint32_t size = pl_get_u32(h + 8);
	if (size > PL_RECORD_MAX || f->at + PL_RECORD_HEADER + size > f->limit)
		return 0;
	have = fill(f, PL_RECORD_HEADER + size);
	if (have < 0)
		return have;
	if ((size_t)have < PL_RECORD_HEADER + size)
		return 0;
	h = f->buf + f->begin;
	uint32_t crc = crc32c_bulk(0, h + 4, 8);
	if (crc32c_bulk(crc, h + PL_RECORD_HEADER, size) == pl_get_u32(h + 12))
		return (ssize_t)(PL_RECORD_HEADER + size);
	f->wasted += size;
	return 0;
}

/* A file of false headers, each with a size of megabytes, would be checksummed over and over: after
 * four times its length only short frames are checked. */
static bool worth_checking(const struct record_file *f)
{
	const unsigned char *h = f->buf + f->begin;

	return f->wasted <= 4 * f->limit || pl_get_u32(h + 8) <= 4096;
}

/* Moves to the next place where a frame could begin, or to the end. */
static int skip_damage(struct record_file *f)
{
	uint64_t from = f->at;

	advance(f, 1);
	for (;;) {
		ssize_t have = fill(f, PL_RECORD_HEADER);

		if (have < 0)
			return (int)have;
		if (have < PL_RECORD_HEADER) {
			advance(f, (size_t)have);
			break;
		}
		size_t n = f->end - f->begin;
		const unsigned char *p = f->buf + f->begin;
		const unsigned char *hit = memmem(p, n, "PLR1", 4);
		/* a magic may cross the end of the buffer: keep three bytes */
		advance(f, hit ? (size_t)(hit - p) : n - 3);
		have = fill(f, PL_RECORD_HEADER);
		if (have < 0)
			return (int)have;
		if (hit && (have < PL_RECORD_HEADER || worth_checking(f)))
			break;
		if (hit)
			advance(f, 4);
	}
	f->damage.bytes += f->at - from;
	return 0;
}

/* "id name" lines: maps the ids of this file to our metrics. */
static void apply_schema(struct record_file *f, const char *p, size_t n)
{
	const char *end = p + n;

	memset(f->map, 0, sizeof(f->map));
	while (p < end) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		unsigned id = 0;

		eol = eol ? eol : end;
		for (; p < eol && *p >= '0' && *p <= '9' && id < METRIC_ID_END; p++)
			id = id * 10 + (unsigned)(*p - '0');
		if (id && id < METRIC_ID_END && p < eol && *p == ' ') {
			_cleanup_free_ char *name = xstrndup(p + 1, (size_t)(eol - p - 1));
			const struct metric *m = metric_by_name(name);

			if (m)
				f->map[id] = (unsigned char)m->id;
		}
		p = eol + 1;
	}
}

static bool decode_fields(struct record_file *f, const unsigned char *p, size_t n, struct record *r)
{
	const unsigned char *end = p + n;

	memset(r->present, 0, sizeof(r->present));
	while (p < end) {
		uint64_t key, v;

		if (!(p = pl_get_varint(p, end, &key)) || !(p = pl_get_varint(p, end, &v)))
			return false;
		bool bytes = key & 1;
		if (bytes && v > (uint64_t)(end - p))
			return false;
		uint64_t id = key >> 1;
		unsigned ours = id < METRIC_ID_END ? f->map[id] : 0;
		if (ours) {
			r->present[ours / 64] |= 1ull << (ours % 64);
			if (bytes) {
				r->text[ours].data = (const char *)p;
				r->text[ours].size = (uint32_t)v;
				r->v[ours] = v;
			} else {
				r->text[ours].data = "";
				r->text[ours].size = 0;
				r->v[ours] = v;
			}
		}
		if (bytes)
			p += v;
	}
	return true;
}

/* Remembers the offset from which this mapping is valid, for frames that are read again. */
static void keep_schema(struct record_file *f)
{
	const struct record_file_schema *last =
		f->schema_count ? &f->schemas[f->schema_count - 1] : NULL;

	if (last && (last->from >= f->at || !memcmp(last->map, f->map, sizeof(f->map))))
		return;
	struct record_file_schema now = {.from = f->at};
	memcpy(now.map, f->map, sizeof(now.map));
	GROW(f->schemas, f->schema_count, f->schema_cap);
	/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): there is room now */
	f->schemas[f->schema_count++] = now;
}

/* Restores the mapping that was valid at an offset. */
static void use_schema_of(struct record_file *f, uint64_t offset)
{
	size_t i = f->schema_count;

	while (i && f->schemas[i - 1].from > offset)
		i--;
	if (i)
		memcpy(f->map, f->schemas[i - 1].map, sizeof(f->map));
	else
		for (unsigned id = 0; id < METRIC_ID_END; id++)
			f->map[id] = (unsigned char)id;
}

static bool take_frame(struct record_file *f, size_t size, struct record *r)
{
	const unsigned char *h = f->buf + f->begin;

	r->type = (enum pl_record_type)pl_get_u16(h + 4);
	r->flags = pl_get_u16(h + 6);
	r->offset = f->at;
	r->size = (uint32_t)size;
	if (r->type == PL_SCHEMA) {
		apply_schema(f, (const char *)h + PL_RECORD_HEADER, size - PL_RECORD_HEADER);
		keep_schema(f);
		return true;
	}
	return decode_fields(f, h + PL_RECORD_HEADER, size - PL_RECORD_HEADER, r);
}

int record_file_next(struct record_file *f, struct record *r)
{
	while (f->at < f->limit) {
		ssize_t size = sound_frame(f);

		if (size < 0)
			return (int)size;
		if (f->at >= f->limit)
			break;
		if (size > 0) {
			bool ok = take_frame(f, (size_t)size, r);

			if (ok) {
				f->in_damage = false;
				advance(f, (size_t)size);
				if (r->type == PL_SCHEMA)
					continue;
				return 1;
			}
			f->wasted += (uint64_t)size;
		}
		if (!f->in_damage && !f->damage.places++)
			f->damage.first_offset = f->at;
		f->in_damage = true;
		int e = skip_damage(f);
		if (e < 0)
			return e;
	}
	return 0;
}

int record_file_read_at(struct record_file *f, uint64_t offset, struct record *r)
{
	if (offset >= f->at && offset - f->at <= f->end - f->begin) {
		advance(f, (size_t)(offset - f->at));
	} else {
		f->begin = f->end = 0;
		f->at = offset;
	}
	use_schema_of(f, offset);
	ssize_t size = sound_frame(f);
	if (size <= 0)
		return size < 0 ? (int)size : -EBADMSG;
	if (!take_frame(f, (size_t)size, r))
		return -EBADMSG;
	advance(f, (size_t)size);
	return 0;
}

/* ---- writing -------------------------------------------------------------------------------- */

void record_writer_release(struct record_writer *w)
{
	strbuf_release(&w->payload);
	strbuf_release(&w->out);
}

void record_writer_begin(struct record_writer *w)
{
	strbuf_reset(&w->payload);
}

static void add_varint(struct strbuf *sb, uint64_t v)
{
	unsigned char buf[PL_VARINT_MAX], *end = pl_put_varint(buf, v);

	strbuf_add(sb, buf, (size_t)(end - buf));
}

void record_writer_u64(struct record_writer *w, enum metric_id id, uint64_t v)
{
	add_varint(&w->payload, (uint64_t)id << 1);
	add_varint(&w->payload, v);
}

void record_writer_text(struct record_writer *w, enum metric_id id, const void *data, size_t n)
{
	add_varint(&w->payload, (uint64_t)id << 1 | 1);
	add_varint(&w->payload, n);
	strbuf_add(&w->payload, data, n);
}

void record_writer_status(struct record_writer *w, int status)
{
	if (WIFSIGNALED(status)) {
		record_writer_u64(w, METRIC_EXITSIGNAL, (uint64_t)WTERMSIG(status));
		record_writer_u64(w, METRIC_COREDUMP, WCOREDUMP(status) ? 1 : 0);
	} else {
		record_writer_u64(w, METRIC_EXITCODE, (uint64_t)WEXITSTATUS(status));
	}
}

static int add_frame(struct strbuf *out, enum pl_record_type type, unsigned flags, const void *data,
		     size_t n)
{
	unsigned char h[PL_RECORD_HEADER];

	if (n > PL_RECORD_MAX)
		return -EMSGSIZE;
	pl_put_u32(h, PL_RECORD_MAGIC);
	pl_put_u16(h + 4, (uint16_t)type);
	pl_put_u16(h + 6, (uint16_t)flags);
	pl_put_u32(h + 8, (uint32_t)n);
	pl_put_u32(h + 12, crc32c_bulk(crc32c_bulk(0, h + 4, 8), data, n));
	strbuf_add(out, h, sizeof(h));
	strbuf_add(out, data, n);
	return 0;
}

int record_writer_add(struct record_writer *w, enum pl_record_type type, unsigned flags)
{
	return add_frame(&w->out, type, flags, w->payload.buf, w->payload.len);
}

int record_writer_add_schema(struct record_writer *w)
{
	static const char schema[] =
#define METRIC(id, symbol, name, ...) #id " " name "\n"
#include "core/metrics/metrics.def"
#undef METRIC
		;

	return add_frame(&w->out, PL_SCHEMA, 0, schema, sizeof(schema) - 1);
}

int record_writer_flush(struct record_writer *w, int fd)
{
	ssize_t n;

	if (!w->out.len)
		return 0;
	do
		n = write(fd, w->out.buf, w->out.len);
	while (n < 0 && errno == EINTR);
	int r = n < 0 ? -errno : (size_t)n == w->out.len ? 0 : -ENOSPC;
	strbuf_reset(&w->out);
	return r;
}
