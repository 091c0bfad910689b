/*
 * Record files: whatever happens to a file costs only what it hit, and no file costs much time.
 * Damage is done here bit by bit and byte by byte.
 */
#include "recfile.h"

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
			struct record_file f;

			assert_int_equal(pwrite(fd, &c, 1, (off_t)at), 1);
			assert_int_equal(record_file_open(&f, dup(fd)), 0);
			assert_int_equal(read_all(&f, numbers, FRAMES), FRAMES - 1);
			for (unsigned i = 0; i < FRAMES - 1; i++)
				assert_int_equal(numbers[i], i < hit ? i : i + 1);
			assert_int_equal(f.damage.places, 1);
			assert_int_equal(f.damage.first_offset, n.at[hit]);
			assert_int_equal(f.damage.bytes, n.at[hit + 1] - n.at[hit]);
			record_file_close(&f);
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
		struct record_file f;

		if (whole && length < n.at[whole])
			whole--;
		assert_int_equal(ftruncate(fd, (off_t)length), 0);
		assert_int_equal(record_file_open(&f, dup(fd)), 0);
		assert_int_equal(read_all(&f, numbers, FRAMES), whole);
		for (unsigned i = 0; i < whole; i++)
			assert_int_equal(numbers[i], i);
		assert_int_equal(f.damage.bytes, length - n.at[whole]);
		assert_int_equal(f.damage.places, length > n.at[whole]);
		if (f.damage.places)
			assert_int_equal(f.damage.first_offset, n.at[whole]);
		record_file_close(&f);
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
	struct record_file f;

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
	record_file_close(&f);
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
		struct record_file f;

		strbuf_add(&out, n.w.out.buf, n.at[1]);
		strbuf_add(&out, zeros, gap);
		strbuf_add(&out, n.w.out.buf + n.at[1], n.at[3] - n.at[1]);
		open_bytes(&f, out.buf, out.len);
		assert_int_equal(read_all(&f, numbers, FRAMES), 3);
		assert_int_equal(f.damage.bytes, gap);
		assert_int_equal(f.damage.places, 1);
		record_file_close(&f);
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
	struct record_writer w = RECORD_WRITER_INIT;
	struct record_file f;
	struct record r;

	(void)state;
	record_writer_begin(&w);
	record_writer_text(&w, METRIC_ARGV, data, PL_RECORD_MAX);
	assert_int_equal(record_writer_add(&w, PL_START, 0), -EMSGSIZE);
	assert_int_equal(w.out.len, 0);
	/* key, four bytes of length, and as much as there is room for */
	record_writer_begin(&w);
	record_writer_text(&w, METRIC_ARGV, data, PL_RECORD_MAX - 5);
	assert_int_equal(record_writer_add(&w, PL_START, 0), 0);
	assert_int_equal(w.out.len, PL_RECORD_HEADER + PL_RECORD_MAX);
	/* all is right with this one but its size */
	raw_frame(&w.out, PL_START, 0, data, PL_RECORD_MAX + 1);
	numbered_frame(&w, 3);
	open_bytes(&f, w.out.buf, w.out.len);
	assert_int_equal(record_file_next(&f, &r), 1);
	assert_int_equal(r.text[METRIC_ARGV].size, PL_RECORD_MAX - 5);
	assert_int_equal(record_file_next(&f, &r), 1);
	check_numbered(&r, 3);
	assert_int_equal(record_file_next(&f, &r), 0);
	assert_int_equal(f.damage.bytes, PL_RECORD_HEADER + PL_RECORD_MAX + 1);
	assert_int_equal(f.damage.first_offset, PL_RECORD_HEADER + PL_RECORD_MAX);
	record_file_close(&f);
	record_writer_release(&w);
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
	struct record_file f;

	double once = checksum_seconds(data);
	open_bytes(&f, data->buf, data->len);
	double from = cpu_seconds();
	assert_int_equal(read_all(&f, numbers, FRAMES), want_frames);
	double took = cpu_seconds() - from;
	if (took > 40 * once + 0.05)
		fail_msg("%.3f s for %zu bytes, %.4f s would check them all once", took, data->len,
			 once);
	record_file_close(&f);
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
	struct record_writer w = RECORD_WRITER_INIT;
	unsigned char h[PL_RECORD_HEADER] = {0};

	(void)state;
	pl_put_u32(h, PL_RECORD_MAGIC);
	pl_put_u16(h + 4, PL_START);
	pl_put_u32(h + 8, HOSTILE_SIZE / 2);
	while (w.out.len < HOSTILE_SIZE)
		strbuf_add(&w.out, h, sizeof(h));
	numbered_frame(&w, 9); /* and it is still found */
	check_time(&w.out, 1);
	record_writer_release(&w);
}

/* Frames inside of frames, each with the right checksum and all with the same bad last field. */
static void nested_frames_that_do_not_decode(void **state)
{
	enum { SIZE = 96 << 10 };
	struct record_writer w = RECORD_WRITER_INIT;
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
	record_writer_release(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_bit_flipped),
		cmocka_unit_test(cut_at_every_length),
		cmocka_unit_test(garbage_between_frames),
		cmocka_unit_test(a_torn_frame_costs_itself),
		cmocka_unit_test(a_magic_at_the_end_of_the_buffer),
		cmocka_unit_test(fields_that_are_none),
		cmocka_unit_test(frames_that_are_too_large),
		cmocka_unit_test(false_magics_that_claim_megabytes),
		cmocka_unit_test(nested_frames_that_do_not_decode),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
