/*
 * Sample files that no writer of ours made: frames that are sound by their check sums and
 * senseless, files that are none, files that are made to cost time or memory.
 */
#include "samplefile.h"

#include <errno.h>

static void raw_frame(struct strbuf *out, uint32_t session, unsigned type, const struct strbuf *p)
{
	unsigned char h[SMP_HEADER] = SMP_MAGIC;
	size_t at = out->len;

	h[4] = (unsigned char)type;
	smp_put_u24(h + 5, (uint32_t)p->len);
	strbuf_add(out, h, sizeof(h));
	strbuf_add(out, p->buf, p->len);
	unsigned char *frame = (unsigned char *)out->buf + at;
	pl_put_u32(frame + 8, smp_crc(session, frame, p->len));
}

static void put(struct strbuf *p, uint64_t v)
{
	unsigned char buf[PL_VARINT_MAX];

	strbuf_add(p, buf, (size_t)(pl_put_varint(buf, v) - buf));
}

static uint32_t raw_head(struct strbuf *out, unsigned version)
{
	struct strbuf p = STRBUF_INIT;

	put(&p, version);
	for (unsigned i = 0; i < 7; i++)
		put(&p, 0);
	uint32_t session = crc32c_bulk(0, p.buf, p.len);
	raw_frame(out, 0, SMP_HEAD, &p);
	strbuf_release(&p);
	return session;
}

static void raw_source(struct strbuf *out, uint32_t session, unsigned number, unsigned width)
{
	struct strbuf p = STRBUF_INIT;

	put(&p, number);
	put(&p, 0);
	strbuf_addstr(&p, "\x02x\x01");
	put(&p, width);
	for (unsigned i = 0; i < width; i++) {
		strbuf_addstr(&p, "\x02m\x02%\x02g\x02s");
		strbuf_add(&p, "\0\0\0\0\0\0\0\0", 9); /* scale, no help */
	}
	raw_frame(out, session, SMP_SOURCE, &p);
	strbuf_release(&p);
}

static void state_is_bounded(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	struct sample_file f;
	unsigned told = 0;
	int r;

	(void)state;
	uint32_t session = raw_head(&out, SMP_VERSION);
	for (unsigned i = 0; i < 6; i++) {
		struct strbuf p = STRBUF_INIT;

		raw_source(&out, session, i, 16);
		put(&p, i);
		put(&p, 1);
		put(&p, SMP_ENTITIES_MAX - 1); /* one entity, at the last place */
		strbuf_addstr(&p, "\x03\x02n");
		put(&p, 0);
		raw_frame(&out, session, SMP_ENTITIES, &p);
		strbuf_release(&p);
	}
	open_bytes(&f, out.buf, out.len);
	while ((r = sample_file_next(&f)) > 0)
		told += r == SAMPLE_ENTITY;
	assert_int_equal(r, 0);
	assert_true(told > 0 && told < 6);
	assert_true(f.buffer->state <= SMP_STATE_MAX);
	assert_int_equal(f.damaged_places, 6 - told);
	sample_file_close(&f);
}

/* Sound by their check sums, and senseless. */
static void senseless_frames(void **state)
{
	static const struct {
		unsigned type;
		const char *bytes;
		size_t n;
	} cases[] = {
#define CASE(type, literal) {type, literal, sizeof(literal) - 1}
		CASE(SMP_READING, "\x00\x01\x00\x00"),                 /* entity 0 never told */
		CASE(SMP_READING, "\x00\x01\x00\x02\x00"),             /* entity -1 */
		CASE(SMP_READING, "\x00\x01\x00\xff\xff\xff\xff\x0f"), /* cut off */
		CASE(SMP_READING, "\x00"),
		CASE(SMP_READING, ""),
		CASE(SMP_SOURCE, "\x80\x02\x00\x02x\x01\x00"),    /* source 256 */
		CASE(SMP_SOURCE, "\x00\x00\x02x\x01\x41"),        /* 65 metrics */
		CASE(SMP_SOURCE, "\x00\x00\x00\x01\x00"),         /* no name */
		CASE(SMP_SOURCE, "\x00\x00\x03x\x00\x01\x00"),    /* NUL in it */
		CASE(SMP_ENTITIES, "\x00\x01\x00\x00\x02n\x00"),  /* kind 0 */
		CASE(SMP_ENTITIES, "\x00\x01\x00\x03\x00\x00"),   /* no name */
		CASE(SMP_ENTITIES, "\x00\x01\x00\x03\x02n\x02x"), /* metadata without end of line */
		CASE(SMP_ENTITIES, "\x00\x01\x00\x03\x02n\x02\n"), /* nor key */
		CASE(SMP_ENTITIES, "\x00\x01\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x03\x02n\x00"),
		CASE(SMP_ABSENT, "\x00\x01\x41\x02n"),
		CASE(SMP_ABSENT, "\x00\x01\x01"),
		CASE(SMP_CLOCK, "\x80"),
		CASE(SMP_LOST, ""),
		CASE(SMP_END, "\x7f"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT, p = STRBUF_INIT;
		struct sample_file f;
		int r;

		uint32_t session = raw_head(&out, SMP_VERSION);
		raw_source(&out, session, 0, 1);
		strbuf_add(&p, cases[i].bytes, cases[i].n);
		raw_frame(&out, session, cases[i].type, &p);
		strbuf_reset(&p);
		raw_frame(&out, session, 200, &p); /* of a kind that nobody knows */
		open_bytes(&f, out.buf, out.len);
		assert_int_equal(sample_file_next(&f), SAMPLE_HEAD);
		assert_int_equal(sample_file_next(&f), SAMPLE_SOURCE);
		if ((r = sample_file_next(&f)) != 0)
			fail_msg("case %zu gave event %d", i, r);
		if (f.damaged_places != 1)
			fail_msg("case %zu is no damage", i);
		sample_file_close(&f);
	}
}

static void files_that_are_none(void **state)
{
	struct strbuf why = STRBUF_INIT, out = STRBUF_INIT;
	struct sample_file f;
	int pipes[2];

	(void)state;
	assert_int_equal(sample_file_open(&f, memory_file("hello world, this is text", 25), &why),
			 -EBADMSG);
	assert_text(&why, "is not a sample file");
	strbuf_reset(&why);
	assert_int_equal(sample_file_open(&f, memory_file("x", 1), &why), -EBADMSG);
	strbuf_reset(&why);
	raw_head(&out, 2);
	assert_int_equal(sample_file_open(&f, memory_file(out.buf, out.len), &why), -EBADMSG);
	assert_text(&why, "has version 2, but this program reads version 1");
	strbuf_reset(&why);
	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(sample_file_open(&f, pipes[0], &why), -EINVAL);
	assert_text(&why, "is not a regular file");
	close(pipes[1]);
	/* one that has just been made */
	open_bytes(&f, "", 0);
	assert_int_equal(sample_file_next(&f), 0);
	sample_file_close(&f);
	open_bytes(&f, "PL", 2);
	assert_int_equal(sample_file_next(&f), 0);
	assert_int_equal(f.damaged_bytes, 0);
	sample_file_close(&f);
	strbuf_release(&why);
	strbuf_release(&out);
}

/* Beginnings of frames all over, each claiming megabytes: some seconds at most, not hours. */
static void false_beginnings(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	static const char begin[] = "PLS1\x01\xff\xff\x0f";
	struct sample_file f;

	(void)state;
	raw_head(&out, SMP_VERSION);
	while (out.len < 3u << 20)
		strbuf_add(&out, begin, 8);
	double before = cpu_seconds();
	open_bytes(&f, out.buf, out.len);
	assert_int_equal(sample_file_next(&f), SAMPLE_HEAD);
	assert_int_equal(sample_file_next(&f), 0);
	assert_true(f.damaged_bytes > 1u << 20);
	assert_true(cpu_seconds() - before < 20);
	sample_file_close(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(state_is_bounded),
		cmocka_unit_test(senseless_frames),
		cmocka_unit_test(files_that_are_none),
		cmocka_unit_test(false_beginnings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
