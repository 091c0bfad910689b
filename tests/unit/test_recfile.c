/*
 * Record files: what is written is what is read, and whatever happens to a file costs only what it
 * hit. Damage is done here bit by bit and byte by byte.
 */
#include "unit.h"

#include <errno.h>

#include "core/crc32c.h"
#include "formats/recfile.h"

#define CHUNK 262144 /* what the reader fetches at once: magics may straddle its end */

/* ---- making files --------------------------------------------------------------------------- */

static void raw_frame(struct strbuf *out, unsigned type, unsigned flags, const void *payload,
		      size_t n)
{
	unsigned char h[PL_RECORD_HEADER];

	pl_put_u32(h, PL_RECORD_MAGIC);
	pl_put_u16(h + 4, (uint16_t)type);
	pl_put_u16(h + 6, (uint16_t)flags);
	pl_put_u32(h + 8, (uint32_t)n);
	pl_put_u32(h + 12, crc32c(crc32c(0, h + 4, 8), payload, n));
	strbuf_add(out, h, sizeof(h));
	strbuf_add(out, payload, n);
}

static void schema_frame(struct strbuf *out, const char *text)
{
	raw_frame(out, PL_SCHEMA, 0, text, strlen(text));
}

/* Frame i of a numbered file: its pid says which one it is, its size differs from its neighbours'.
 */
static void numbered_frame(struct recwriter *w, unsigned i)
{
	char text[64];

	memset(text, 'a' + (int)(i % 26), sizeof(text));
	recwriter_begin(w);
	recwriter_u64(w, METRIC_PID, 1000 + i);
	recwriter_u64(w, METRIC_BOOTTIME, 1000000007ull * i);
	recwriter_text(w, METRIC_PATH, text, i % 23);
	recwriter_u64(w, METRIC_RSSMAX, i * i);
	assert_int_equal(recwriter_add(w, i % 2 ? PL_END : PL_START, i), 0);
}

static void check_numbered(const struct record *r, unsigned i)
{
	assert_int_equal(r->type, i % 2 ? PL_END : PL_START);
	assert_int_equal(r->flags, i);
	assert_int_equal(record_get(r, METRIC_PID, 0), 1000 + i);
	assert_int_equal(record_get(r, METRIC_BOOTTIME, 0), 1000000007ull * i);
	assert_int_equal(record_get(r, METRIC_RSSMAX, 7), i * i);
	assert_int_equal(r->text[METRIC_PATH].size, i % 23);
	for (unsigned n = 0; n < i % 23; n++)
		assert_int_equal(r->text[METRIC_PATH].data[n], 'a' + (int)(i % 26));
}

#define FRAMES 50
struct numbered {
	struct recwriter w;
	size_t at[FRAMES + 1]; /* where each frame begins, and the end */
};

static void numbered_init(struct numbered *f)
{
	*f = (struct numbered){.w = RECWRITER_INIT};
	for (unsigned i = 0; i < FRAMES; i++) {
		f->at[i] = f->w.out.len;
		numbered_frame(&f->w, i);
	}
	f->at[FRAMES] = f->w.out.len;
}

static void numbered_release(struct numbered *f)
{
	recwriter_release(&f->w);
}

static void open_bytes(struct recfile *f, const void *data, size_t n)
{
	assert_int_equal(recfile_open(f, memory_file(data, n)), 0);
}

/* Reads to the end; the numbers of the frames in order. */
static size_t read_all(struct recfile *f, unsigned *numbers, size_t max)
{
	static struct record r;
	size_t n = 0;
	int e;

	while ((e = recfile_next(f, &r)) == 1) {
		assert_true(n < max);
		numbers[n] = (unsigned)record_get(&r, METRIC_PID, 0) - 1000;
		check_numbered(&r, numbers[n]);
		n++;
	}
	assert_int_equal(e, 0);
	return n;
}

/* ---- varints -------------------------------------------------------------------------------- */

static const uint64_t interesting[] = {
	0,          1,          127,       128,        16383,          16384,
	UINT32_MAX, 1ull << 32, INT64_MAX, 1ull << 63, UINT64_MAX - 1, UINT64_MAX};

static void varints_round_trip(void **state)
{
	unsigned char buf[PL_VARINT_MAX];
	uint64_t v;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(interesting); i++) {
		unsigned char *end = pl_put_varint(buf, interesting[i]);

		assert_true(end - buf <= PL_VARINT_MAX);
		v = ~interesting[i];
		assert_ptr_equal(pl_get_varint(buf, end, &v), end);
		assert_int_equal(v, interesting[i]);
		for (const unsigned char *cut = buf; cut < end; cut++)
			assert_null(pl_get_varint(buf, cut, &v));
	}
}

static void varints_that_are_none(void **state)
{
	static const unsigned char long_zero[] = {0x80, 0x00};
	unsigned char buf[12];
	uint64_t v = 5;

	(void)state;
	memset(buf, 0xff, sizeof(buf));
	assert_null(pl_get_varint(buf, buf + sizeof(buf), &v));
	buf[9] = 0x02; /* the 65th bit */
	assert_null(pl_get_varint(buf, buf + 10, &v));
	assert_int_equal(v, 5);
	buf[9] = 0x01;
	assert_ptr_equal(pl_get_varint(buf, buf + 10, &v), buf + 10);
	assert_int_equal(v, UINT64_MAX);
	/* longer than it need be, but no harm in it */
	assert_ptr_equal(pl_get_varint(long_zero, long_zero + 2, &v), long_zero + 2);
	assert_int_equal(v, 0);
}

/* ---- writer and reader ---------------------------------------------------------------------- */

static void every_metric_as_number(void **state)
{
	struct recwriter w = RECWRITER_INIT;
	struct recfile f;
	struct record r;

	(void)state;
	assert_int_equal(recwriter_add_schema(&w), 0);
	for (size_t k = 0; k < ARRAY_SIZE(interesting); k++) {
		recwriter_begin(&w);
		for (size_t i = 0; i < metric_count; i++)
			recwriter_u64(&w, metrics[i].id, interesting[k] - i);
		assert_int_equal(recwriter_add(&w, PL_KEXIT, 0xffff), 0);
	}
	open_bytes(&f, w.out.buf, w.out.len);
	for (size_t k = 0; k < ARRAY_SIZE(interesting); k++) {
		assert_int_equal(recfile_next(&f, &r), 1);
		assert_int_equal(r.type, PL_KEXIT);
		assert_int_equal(r.flags, 0xffff);
		for (size_t i = 0; i < metric_count; i++) {
			assert_true(record_has(&r, metrics[i].id));
			assert_int_equal(r.v[metrics[i].id], interesting[k] - i);
			assert_int_equal(r.text[metrics[i].id].size, 0);
		}
	}
	assert_int_equal(recfile_next(&f, &r), 0);
	assert_int_equal(f.damage.places, 0);
	recfile_close(&f);
	recwriter_release(&w);
}

static void texts_of_all_sizes(void **state)
{
	static const size_t sizes[] = {0,     1,     127,       128,   129,   4096,
				       16383, 16384, CHUNK - 1, CHUNK, 700000};
	_cleanup_free_ unsigned char *data = malloc(700000);
	struct recwriter w = RECWRITER_INIT;
	struct recfile f;
	struct record r;

	(void)state;
	for (size_t i = 0; i < 700000; i++)
		data[i] = (unsigned char)(i * 31 >> 3); /* NUL and all the others */
	for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
		recwriter_begin(&w);
		recwriter_text(&w, METRIC_ARGV, data, sizes[k]);
		recwriter_text(&w, METRIC_TAGS, "t", 1);
		assert_int_equal(recwriter_add(&w, PL_START, 0), 0);
	}
	open_bytes(&f, w.out.buf, w.out.len);
	for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
		assert_int_equal(recfile_next(&f, &r), 1);
		assert_true(record_has(&r, METRIC_ARGV) && record_has(&r, METRIC_TAGS));
		assert_int_equal(r.text[METRIC_ARGV].size, sizes[k]);
		if (sizes[k])
			assert_memory_equal(r.text[METRIC_ARGV].data, data, sizes[k]);
		assert_int_equal(r.text[METRIC_TAGS].size, 1);
		assert_false(record_has(&r, METRIC_PATH));
		assert_int_equal(record_get(&r, METRIC_PID, 99), 99);
	}
	assert_int_equal(recfile_next(&f, &r), 0);
	recfile_close(&f);
	recwriter_release(&w);
}

static void values_of_one_record_do_not_stay_for_the_next(void **state)
{
	struct recwriter w = RECWRITER_INIT;
	struct recfile f;
	struct record r;

	(void)state;
	recwriter_begin(&w);
	recwriter_u64(&w, METRIC_PID, 1);
	recwriter_text(&w, METRIC_PATH, "/bin/true", 9);
	assert_int_equal(recwriter_add(&w, PL_START, 0), 0);
	recwriter_begin(&w);
	assert_int_equal(recwriter_add(&w, PL_END, 0), 0);
	open_bytes(&f, w.out.buf, w.out.len);
	assert_int_equal(recfile_next(&f, &r), 1);
	assert_int_equal(recfile_next(&f, &r), 1);
	assert_int_equal(r.size, PL_RECORD_HEADER);
	for (size_t i = 0; i < metric_count; i++)
		assert_false(record_has(&r, metrics[i].id));
	recfile_close(&f);
	recwriter_release(&w);
}

static void offsets_and_sizes_are_those_of_the_file(void **state)
{
	struct numbered n;
	struct recfile f;
	struct record r;

	(void)state;
	numbered_init(&n);
	open_bytes(&f, n.w.out.buf, n.w.out.len);
	for (unsigned i = 0; i < FRAMES; i++) {
		assert_int_equal(recfile_next(&f, &r), 1);
		check_numbered(&r, i);
		assert_int_equal(r.offset, n.at[i]);
		assert_int_equal(r.size, n.at[i + 1] - n.at[i]);
	}
	assert_int_equal(recfile_next(&f, &r), 0);
	assert_int_equal(recfile_next(&f, &r), 0);
	assert_int_equal(f.damage.bytes, 0);
	assert_int_equal(f.damage.places, 0);
	recfile_close(&f);
	numbered_release(&n);
}

static void an_empty_file_is_read(void **state)
{
	struct recfile f;
	struct record r;

	(void)state;
	open_bytes(&f, "", 0);
	assert_int_equal(recfile_next(&f, &r), 0);
	assert_int_equal(f.damage.places, 0);
	recfile_close(&f);
	recfile_close(&f);
}

static void unknown_fields_are_skipped(void **state)
{
	static const uint64_t unknown[] = {METRIC_ID_END, 127, 128, 1000, 1ull << 40, INT64_MAX};
	struct strbuf p = STRBUF_INIT, out = STRBUF_INIT;
	unsigned char v[PL_VARINT_MAX];
	struct recfile f;
	struct record r;

	(void)state;
	strbuf_addstr(&p, "\x02\x05"); /* pid 5 */
	for (size_t i = 0; i < ARRAY_SIZE(unknown); i++) {
		strbuf_add(&p, v, (size_t)(pl_put_varint(v, unknown[i] << 1) - v));
		strbuf_add(&p, v, (size_t)(pl_put_varint(v, UINT64_MAX) - v));
		strbuf_add(&p, v, (size_t)(pl_put_varint(v, unknown[i] << 1 | 1) - v));
		strbuf_addstr(&p, "\x04PLR1");
	}
	strbuf_addstr(&p, "\x04\x06"); /* ppid 6 */
	raw_frame(&out, 999, 0, p.buf, p.len);
	open_bytes(&f, out.buf, out.len);
	/* nor need the type be one that we know */
	assert_int_equal(recfile_next(&f, &r), 1);
	assert_int_equal(r.type, 999);
	assert_int_equal(record_get(&r, METRIC_PID, 0), 5);
	assert_int_equal(record_get(&r, METRIC_PPID, 0), 6);
	for (size_t i = 0; i < metric_count; i++)
		if (metrics[i].id != METRIC_PID && metrics[i].id != METRIC_PPID)
			assert_false(record_has(&r, metrics[i].id));
	assert_int_equal(recfile_next(&f, &r), 0);
	assert_int_equal(f.damage.places, 0);
	recfile_close(&f);
	strbuf_release(&p);
	strbuf_release(&out);
}

static void a_frame_inside_a_text_is_no_frame(void **state)
{
	struct recwriter inner = RECWRITER_INIT, w = RECWRITER_INIT;
	struct recfile f;
	struct record r;

	(void)state;
	numbered_frame(&inner, 4);
	recwriter_begin(&w);
	recwriter_text(&w, METRIC_ARGV, inner.out.buf, inner.out.len);
	assert_int_equal(recwriter_add(&w, PL_START, 0), 0);
	open_bytes(&f, w.out.buf, w.out.len);
	assert_int_equal(recfile_next(&f, &r), 1);
	assert_int_equal(r.text[METRIC_ARGV].size, inner.out.len);
	assert_int_equal(recfile_next(&f, &r), 0);
	recfile_close(&f);
	recwriter_release(&inner);
	recwriter_release(&w);
}

/* ---- schemas -------------------------------------------------------------------------------- */

static void other_numbers_map_by_name(void **state)
{
	struct recwriter w = RECWRITER_INIT;
	struct recfile f;
	struct record r;

	(void)state;
	schema_frame(&w.out, "1 ppid\n2 pid\n3 never_heard_of\n40 path\n5 rssmax\n68 tid");
	recwriter_begin(&w);
	recwriter_u64(&w, 1, 10);
	recwriter_u64(&w, 2, 20);
	recwriter_u64(&w, 3, 30);
	recwriter_text(&w, 40, "/x", 2);
	recwriter_u64(&w, 5, 50);
	recwriter_u64(&w, 6, 60); /* not in the schema: nobody knows what it is */
	recwriter_u64(&w, 68, 70);
	assert_int_equal(recwriter_add(&w, PL_START, 0), 0);
	open_bytes(&f, w.out.buf, w.out.len);
	assert_int_equal(recfile_next(&f, &r), 1);
	assert_int_equal(record_get(&r, METRIC_PPID, 0), 10);
	assert_int_equal(record_get(&r, METRIC_PID, 0), 20);
	assert_int_equal(record_get(&r, METRIC_RSSMAX, 0), 50);
	assert_int_equal(record_get(&r, METRIC_TID, 0), 70);
	assert_int_equal(r.text[METRIC_PATH].size, 2);
	assert_false(record_has(&r, METRIC_PGID));
	assert_false(record_has(&r, METRIC_PROCDEV));
	assert_false(record_has(&r, METRIC_DELAYACCT_BLKIO_TIME));
	recfile_close(&f);
	recwriter_release(&w);
}

static void schema_lines_that_are_none_are_ignored(void **state)
{
	struct recwriter w = RECWRITER_INIT;
	struct recfile f;
	struct record r;

	(void)state;
	schema_frame(&w.out, "\n\nabc\n5\n7 \n pid\n0 pid\n99999999999999999999 ppid\n300 sid\n"
			     "-3 pgid\n9pid\n2 ppid extra\n1 pid\n");
	recwriter_begin(&w);
	for (unsigned id = 0; id < METRIC_ID_END; id++)
		recwriter_u64(&w, (enum metric_id)id, id + 100);
	assert_int_equal(recwriter_add(&w, PL_START, 0), 0);
	open_bytes(&f, w.out.buf, w.out.len);
	assert_int_equal(recfile_next(&f, &r), 1);
	for (size_t i = 0; i < metric_count; i++)
		assert_int_equal(record_has(&r, metrics[i].id), metrics[i].id == METRIC_PID);
	assert_int_equal(record_get(&r, METRIC_PID, 0), 101);
	recfile_close(&f);
	recwriter_release(&w);
}

static void a_schema_counts_from_where_it_is(void **state)
{
	struct recwriter w = RECWRITER_INIT;
	struct recfile f;
	struct record r;

	(void)state;
	for (int i = 0; i < 3; i++) {
		if (i == 1)
			schema_frame(&w.out, "1 ppid\n2 pid\n");
		if (i == 2)
			assert_int_equal(recwriter_add_schema(&w), 0);
		recwriter_begin(&w);
		recwriter_u64(&w, 1, 11);
		recwriter_u64(&w, 2, 22);
		assert_int_equal(recwriter_add(&w, PL_START, 0), 0);
	}
	open_bytes(&f, w.out.buf, w.out.len);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(recfile_next(&f, &r), 1);
		assert_int_equal(record_get(&r, METRIC_PID, 0), i == 1 ? 22 : 11);
		assert_int_equal(record_get(&r, METRIC_PPID, 0), i == 1 ? 11 : 22);
	}
	assert_int_equal(recfile_next(&f, &r), 0);
	recfile_close(&f);
	recwriter_release(&w);
}

/* ---- damage --------------------------------------------------------------------------------- */

static void every_bit_flipped(void **state)
{
	struct numbered n;
	unsigned numbers[FRAMES];

	(void)state;
	numbered_init(&n);
	int fd = memory_file(n.w.out.buf, n.w.out.len);
	/* frames 20 to 27: their headers, numbers and texts */
	for (size_t at = n.at[20]; at < n.at[28]; at++) {
		unsigned hit = 20;
		while (n.at[hit + 1] <= at)
			hit++;
		for (int bit = 0; bit < 8; bit++) {
			char c = (char)(n.w.out.buf[at] ^ 1 << bit);
			struct recfile f;

			assert_int_equal(pwrite(fd, &c, 1, (off_t)at), 1);
			assert_int_equal(recfile_open(&f, dup(fd)), 0);
			assert_int_equal(read_all(&f, numbers, FRAMES), FRAMES - 1);
			for (unsigned i = 0; i < FRAMES - 1; i++)
				assert_int_equal(numbers[i], i < hit ? i : i + 1);
			assert_int_equal(f.damage.places, 1);
			assert_int_equal(f.damage.first_offset, n.at[hit]);
			assert_int_equal(f.damage.bytes, n.at[hit + 1] - n.at[hit]);
			recfile_close(&f);
		}
		assert_int_equal(pwrite(fd, n.w.out.buf + at, 1, (off_t)at), 1);
	}
	close(fd);
	numbered_release(&n);
}

static void cut_at_every_length(void **state)
{
	struct numbered n;
	unsigned numbers[FRAMES], whole = FRAMES;

	(void)state;
	numbered_init(&n);
	int fd = memory_file(n.w.out.buf, n.w.out.len);
	for (size_t length = n.w.out.len; length + 1 > 0; length--) {
		struct recfile f;

		if (whole && length < n.at[whole])
			whole--;
		assert_int_equal(ftruncate(fd, (off_t)length), 0);
		assert_int_equal(recfile_open(&f, dup(fd)), 0);
		assert_int_equal(read_all(&f, numbers, FRAMES), whole);
		for (unsigned i = 0; i < whole; i++)
			assert_int_equal(numbers[i], i);
		assert_int_equal(f.damage.bytes, length - n.at[whole]);
		assert_int_equal(f.damage.places, length > n.at[whole]);
		if (f.damage.places)
			assert_int_equal(f.damage.first_offset, n.at[whole]);
		recfile_close(&f);
		if (!length)
			break;
	}
	close(fd);
	numbered_release(&n);
}

/* Frames with something between each two of them. */
static void check_between(const void *garbage, size_t size)
{
	struct strbuf out = STRBUF_INIT;
	unsigned numbers[FRAMES];
	struct numbered n;
	struct recfile f;

	numbered_init(&n);
	for (unsigned i = 0; i < FRAMES; i++) {
		strbuf_add(&out, n.w.out.buf + n.at[i], n.at[i + 1] - n.at[i]);
		strbuf_add(&out, garbage, size);
	}
	open_bytes(&f, out.buf, out.len);
	assert_int_equal(read_all(&f, numbers, FRAMES), FRAMES);
	assert_int_equal(f.damage.places, FRAMES);
	assert_int_equal(f.damage.first_offset, n.at[1]);
	assert_int_equal(f.damage.bytes, FRAMES * size);
	recfile_close(&f);
	strbuf_release(&out);
	numbered_release(&n);
}

static void garbage_between_frames(void **state)
{
	static const char magics[] = "PLR1PLR1PLR1PLR1PLR1PLRPLPLR1";
	char noise[600];
	uint64_t seed = 1;

	(void)state;
	for (size_t i = 0; i < sizeof(noise); i++)
		noise[i] = (char)random_next(&seed);
	for (size_t size = 1; size < sizeof(magics); size++)
		check_between(magics, size);
	for (size_t size = 1; size <= sizeof(noise); size += 23)
		check_between(noise, size);
	memset(noise, 0, sizeof(noise));
	check_between(noise, 1);
	check_between(noise, sizeof(noise));
}

/* The first half of a frame, as a write to a full disk leaves it, before the next whole one. */
static void a_torn_frame_costs_itself(void **state)
{
	struct numbered n;

	(void)state;
	numbered_init(&n);
	for (size_t size = 1; size < n.at[23] - n.at[22]; size++)
		check_between(n.w.out.buf + n.at[22], size);
	numbered_release(&n);
}

static void a_magic_at_the_end_of_the_buffer(void **state)
{
	_cleanup_free_ char *zeros = calloc(1, CHUNK + 64);
	struct numbered n;

	(void)state;
	numbered_init(&n);
	/* the frame behind the gap begins, byte by byte, before, at and after the end of a buffer
	 */
	for (size_t gap = CHUNK - 2 * PL_RECORD_HEADER - 8; gap < CHUNK + 8; gap++) {
		struct strbuf out = STRBUF_INIT;
		unsigned numbers[FRAMES];
		struct recfile f;

		strbuf_add(&out, n.w.out.buf, n.at[1]);
		strbuf_add(&out, zeros, gap);
		strbuf_add(&out, n.w.out.buf + n.at[1], n.at[3] - n.at[1]);
		open_bytes(&f, out.buf, out.len);
		assert_int_equal(read_all(&f, numbers, FRAMES), 3);
		assert_int_equal(f.damage.bytes, gap);
		assert_int_equal(f.damage.places, 1);
		recfile_close(&f);
		strbuf_release(&out);
	}
	numbered_release(&n);
}

/* The checksum is right and the fields are not: as lost as a damaged frame, and no more. */
static void fields_that_are_none(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} bad[] = {
		{"\x02", 1},                                          /* a key without value */
		{"\x82", 1},                                          /* a cut key */
		{"\x02\x80", 2},                                      /* a cut value */
		{"\x03\x05xxxx", 6},                                  /* a text beyond the end */
		{"\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11}, /* ... beyond everything */
		{"\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", 11}, /* more than 64 bits */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		struct strbuf frame = STRBUF_INIT;

		raw_frame(&frame, PL_START, 0, bad[i].bytes, bad[i].size);
		check_between(frame.buf, frame.len);
		strbuf_release(&frame);
	}
}

static void frames_that_are_too_large(void **state)
{
	_cleanup_free_ char *data = calloc(1, PL_RECORD_MAX + 1);
	struct recwriter w = RECWRITER_INIT;
	struct recfile f;
	struct record r;

	(void)state;
	recwriter_begin(&w);
	recwriter_text(&w, METRIC_ARGV, data, PL_RECORD_MAX);
	assert_int_equal(recwriter_add(&w, PL_START, 0), -EMSGSIZE);
	assert_int_equal(w.out.len, 0);
	/* key, four bytes of length, and as much as there is room for */
	recwriter_begin(&w);
	recwriter_text(&w, METRIC_ARGV, data, PL_RECORD_MAX - 5);
	assert_int_equal(recwriter_add(&w, PL_START, 0), 0);
	assert_int_equal(w.out.len, PL_RECORD_HEADER + PL_RECORD_MAX);
	/* all is right with this one but its size */
	raw_frame(&w.out, PL_START, 0, data, PL_RECORD_MAX + 1);
	numbered_frame(&w, 3);
	open_bytes(&f, w.out.buf, w.out.len);
	assert_int_equal(recfile_next(&f, &r), 1);
	assert_int_equal(r.text[METRIC_ARGV].size, PL_RECORD_MAX - 5);
	assert_int_equal(recfile_next(&f, &r), 1);
	check_numbered(&r, 3);
	assert_int_equal(recfile_next(&f, &r), 0);
	assert_int_equal(f.damage.bytes, PL_RECORD_HEADER + PL_RECORD_MAX + 1);
	assert_int_equal(f.damage.first_offset, PL_RECORD_HEADER + PL_RECORD_MAX);
	recfile_close(&f);
	recwriter_release(&w);
}

/* ---- hostile files: the time to read them is a few times that of one checksum over all ------ */

static double checksum_seconds(const struct strbuf *data)
{
	double from = cpu_seconds();
	volatile uint32_t crc = crc32c(0, data->buf, data->len);

	(void)crc;
	return cpu_seconds() - from;
}

static void check_time(const struct strbuf *data, unsigned want_frames)
{
	unsigned numbers[FRAMES];
	struct recfile f;

	double once = checksum_seconds(data);
	open_bytes(&f, data->buf, data->len);
	double from = cpu_seconds();
	assert_int_equal(read_all(&f, numbers, FRAMES), want_frames);
	double took = cpu_seconds() - from;
	if (took > 40 * once + 0.05)
		fail_msg("%.3f s for %zu bytes, %.4f s would check them all once", took, data->len,
			 once);
	recfile_close(&f);
}

/* A sanitizer checks all of the memory that memmem() is given, at every hit: there a file of
 * megabytes takes long for reasons of its own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__clang__)
#define HOSTILE_SIZE (512u << 10)
#else
#define HOSTILE_SIZE (8u << 20)
#endif

static void false_magics_that_claim_megabytes(void **state)
{
	struct recwriter w = RECWRITER_INIT;
	unsigned char h[PL_RECORD_HEADER] = {0};

	(void)state;
	pl_put_u32(h, PL_RECORD_MAGIC);
	pl_put_u16(h + 4, PL_START);
	pl_put_u32(h + 8, HOSTILE_SIZE / 2);
	while (w.out.len < HOSTILE_SIZE)
		strbuf_add(&w.out, h, sizeof(h));
	numbered_frame(&w, 9); /* and it is still found */
	check_time(&w.out, 1);
	recwriter_release(&w);
}

/* Frames inside of frames, each with the right checksum and all with the same bad last field. */
static void nested_frames_that_do_not_decode(void **state)
{
	enum { SIZE = 96 << 10 };
	struct recwriter w = RECWRITER_INIT;
	unsigned char *data = calloc(1, SIZE);

	(void)state;
	assert_non_null(data);
	data[SIZE - 1] = 0x80;
	for (size_t at = SIZE - 2 * PL_RECORD_HEADER; at + 1 > 0; at -= PL_RECORD_HEADER) {
		unsigned char *h = data + at;

		pl_put_u32(h, PL_RECORD_MAGIC);
		pl_put_u16(h + 4, PL_START);
		pl_put_u32(h + 8, (uint32_t)(SIZE - at - PL_RECORD_HEADER));
		pl_put_u32(h + 12, crc32c(crc32c(0, h + 4, 8), h + PL_RECORD_HEADER,
					  SIZE - at - PL_RECORD_HEADER));
		if (!at)
			break;
	}
	strbuf_add(&w.out, data, SIZE);
	numbered_frame(&w, 9);
	check_time(&w.out, 1);
	free(data);
	recwriter_release(&w);
}

/* ---- reading at a place --------------------------------------------------------------------- */

static void frames_are_read_again(void **state)
{
	struct numbered n;
	struct recfile f;
	struct record r;
	uint64_t seed = 7;

	(void)state;
	numbered_init(&n);
	open_bytes(&f, n.w.out.buf, n.w.out.len);
	for (unsigned round = 0; round < 500; round++) {
		unsigned i = (unsigned)(random_next(&seed) % FRAMES);

		assert_int_equal(recfile_read_at(&f, n.at[i], &r), 0);
		check_numbered(&r, i);
		assert_int_equal(r.offset, n.at[i]);
		/* reading goes on behind it */
		assert_int_equal(recfile_next(&f, &r), i + 1 < FRAMES);
		if (i + 1 < FRAMES)
			check_numbered(&r, i + 1);
	}
	assert_int_equal(f.damage.places, 0);
	recfile_close(&f);
	numbered_release(&n);
}

static void places_that_hold_no_frame(void **state)
{
	struct numbered n;
	struct recfile f;
	struct record r;

	(void)state;
	numbered_init(&n);
	n.w.out.buf[n.at[5] + 20] ^= 1;
	open_bytes(&f, n.w.out.buf, n.w.out.len);
	assert_int_equal(recfile_read_at(&f, n.at[4] + 1, &r), -EBADMSG);
	assert_int_equal(recfile_read_at(&f, n.at[5], &r), -EBADMSG);
	assert_int_equal(recfile_read_at(&f, n.at[FRAMES], &r), -EBADMSG);
	assert_int_equal(recfile_read_at(&f, 1ull << 43, &r), -EBADMSG);
	assert_int_equal(recfile_read_at(&f, UINT64_MAX - 8, &r), -EBADMSG);
	/* and it did the reader no harm */
	assert_int_equal(recfile_read_at(&f, n.at[6], &r), 0);
	check_numbered(&r, 6);
	recfile_close(&f);
	numbered_release(&n);
}

/* Large and small frames by turns: the buffer grows while others lie in it. */
static void large_frames_are_read_again(void **state)
{
	_cleanup_free_ char *data = calloc(1, 900000);
	struct recwriter w = RECWRITER_INIT;
	size_t at[6];
	struct recfile f;
	struct record r;

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		at[i] = w.out.len;
		recwriter_begin(&w);
		recwriter_u64(&w, METRIC_PID, i);
		recwriter_text(&w, METRIC_ARGV, data, i % 2 ? 10 : 300000 + i * 100000);
		assert_int_equal(recwriter_add(&w, PL_START, 0), 0);
	}
	open_bytes(&f, w.out.buf, w.out.len);
	for (unsigned i = 0; i < 36; i++) {
		unsigned which = i * 5 % 6;

		assert_int_equal(recfile_read_at(&f, at[which], &r), 0);
		assert_int_equal(record_get(&r, METRIC_PID, 9), which);
	}
	recfile_close(&f);
	recwriter_release(&w);
}

/* A frame means the same when it is read again, whatever schema came behind it. */
static void the_schema_of_a_place(void **state)
{
	struct recwriter w = RECWRITER_INIT;
	struct recfile f;
	struct record first, second, again;

	(void)state;
	assert_int_equal(recwriter_add_schema(&w), 0);
	numbered_frame(&w, 1);
	schema_frame(&w.out, "1 ppid\n2 pid\n");
	numbered_frame(&w, 2);
	open_bytes(&f, w.out.buf, w.out.len);
	assert_int_equal(recfile_next(&f, &first), 1);
	assert_int_equal(record_get(&first, METRIC_PID, 0), 1001);
	assert_int_equal(recfile_next(&f, &second), 1);
	assert_int_equal(record_get(&second, METRIC_PPID, 0), 1002);
	assert_int_equal(recfile_read_at(&f, first.offset, &again), 0);
	assert_int_equal(record_get(&again, METRIC_PID, 0), 1001);
	assert_int_equal(record_get(&again, METRIC_RSSMAX, 0), 1);
	recfile_close(&f);
	recwriter_release(&w);
}

/* ---- files that change, and that cannot be used --------------------------------------------- */

static void a_file_that_grows(void **state)
{
	struct numbered n;
	struct recfile f;
	unsigned numbers[FRAMES];

	(void)state;
	numbered_init(&n);
	int fd = memory_file(n.w.out.buf, n.at[10]);
	assert_int_equal(recfile_open(&f, dup(fd)), 0);
	assert_int_equal(write(fd, n.w.out.buf + n.at[10], n.at[20] - n.at[10]),
			 (ssize_t)(n.at[20] - n.at[10]));
	/* what was there when it was opened */
	assert_int_equal(read_all(&f, numbers, FRAMES), 10);
	assert_int_equal(f.damage.places, 0);
	recfile_close(&f);
	close(fd);
	numbered_release(&n);
}

/* Somebody empties the file while it is read: an end like any other. */
static void a_file_that_shrinks(void **state)
{
	struct numbered n;

	(void)state;
	numbered_init(&n);
	for (size_t keep = n.at[10] - 3; keep <= n.at[10] + 20; keep++) {
		int fd = memory_file(n.w.out.buf, n.w.out.len);
		unsigned numbers[FRAMES];
		struct recfile f;

		assert_int_equal(recfile_open(&f, dup(fd)), 0);
		assert_int_equal(ftruncate(fd, (off_t)keep), 0);
		assert_int_equal(read_all(&f, numbers, FRAMES), keep < n.at[10] ? 9 : 10);
		recfile_close(&f);
		close(fd);
	}
	numbered_release(&n);
}

static void what_cannot_be_read(void **state)
{
	_cleanup_free_ char *path = xasprintf("%s/file", (char *)*state);
	struct recfile f;
	struct record r;

	assert_int_equal(recfile_open(&f, -1), -EBADF);
	write_file(path, "PLR1", 4);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(recfile_open(&f, fd), 0);
	assert_int_equal(recfile_next(&f, &r), -EBADF);
	recfile_close(&f);
}

static void flush_writes_once(void **state)
{
	_cleanup_free_ char *path = xasprintf("%s/file", (char *)*state);
	struct recwriter w = RECWRITER_INIT;
	unsigned numbers[FRAMES];
	struct recfile f;

	int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(recwriter_flush(&w, fd), 0);
	numbered_frame(&w, 0);
	numbered_frame(&w, 1);
	assert_int_equal(recwriter_flush(&w, fd), 0);
	assert_int_equal(w.out.len, 0);
	numbered_frame(&w, 2);
	assert_int_equal(recwriter_flush(&w, fd), 0);
	assert_int_equal(recfile_open(&f, fd), 0);
	assert_int_equal(read_all(&f, numbers, FRAMES), 3);
	recfile_close(&f);
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	if (full >= 0) {
		numbered_frame(&w, 3);
		assert_int_equal(recwriter_flush(&w, full), -ENOSPC);
		assert_int_equal(w.out.len, 0);
		close(full);
	}
	recwriter_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(varints_round_trip),
		cmocka_unit_test(varints_that_are_none),
		cmocka_unit_test(every_metric_as_number),
		cmocka_unit_test(texts_of_all_sizes),
		cmocka_unit_test(values_of_one_record_do_not_stay_for_the_next),
		cmocka_unit_test(offsets_and_sizes_are_those_of_the_file),
		cmocka_unit_test(an_empty_file_is_read),
		cmocka_unit_test(unknown_fields_are_skipped),
		cmocka_unit_test(a_frame_inside_a_text_is_no_frame),
		cmocka_unit_test(other_numbers_map_by_name),
		cmocka_unit_test(schema_lines_that_are_none_are_ignored),
		cmocka_unit_test(a_schema_counts_from_where_it_is),
		cmocka_unit_test(every_bit_flipped),
		cmocka_unit_test(cut_at_every_length),
		cmocka_unit_test(garbage_between_frames),
		cmocka_unit_test(a_torn_frame_costs_itself),
		cmocka_unit_test(a_magic_at_the_end_of_the_buffer),
		cmocka_unit_test(fields_that_are_none),
		cmocka_unit_test(frames_that_are_too_large),
		cmocka_unit_test(false_magics_that_claim_megabytes),
		cmocka_unit_test(nested_frames_that_do_not_decode),
		cmocka_unit_test(frames_are_read_again),
		cmocka_unit_test(places_that_hold_no_frame),
		cmocka_unit_test(large_frames_are_read_again),
		cmocka_unit_test(the_schema_of_a_place),
		cmocka_unit_test(a_file_that_grows),
		cmocka_unit_test(a_file_that_shrinks),
		cmocka_unit_test_setup_teardown(what_cannot_be_read, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(flush_writes_once, scratch_setup, scratch_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
