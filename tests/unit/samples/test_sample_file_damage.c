/*
 * Sample files: whatever happens to a file costs what docs/samples.md says and no more; and files
 * that grow while they are read, or hold what several hosts wrote.
 */
#include "samplefile.h"

#include <errno.h>

/* ---- damage ---------------------------------------------------------------------------------- */

static void check_damage(const struct made *m, const struct strbuf *bytes, size_t where,
			 const char *what, size_t at_most)
{
	_cleanup_lines_ struct lines got = {0};
	struct sample_file f;
	size_t missing[4];

	open_bytes(&f, bytes->buf, bytes->len);
	read_lines(&f, &got);
	assert_some_lines(&got, &m->lines, missing, what, where);
	for (unsigned s = 0; s < 4; s++)
		if (missing[s] > at_most)
			fail_msg("%s %zu: %zu readings of %s lost", what, where, missing[s],
				 source_name(s));
	assert_true(f.damaged_bytes <= bytes->len);
	sample_file_close(&f);
}

/* With sanitizers, where each takes ten times as long, every fifth. */
#ifdef __SANITIZE_ADDRESS__
#define STEP 5u
#else
#define STEP 1u
#endif

static void damage_at_every_byte(void **state)
{
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT;
	struct made m;

	(void)state;
	make_small(&m, &bytes);
	for (size_t i = 4; i < bytes.len; i += STEP) {
		char before = bytes.buf[i];

		bytes.buf[i] = (char)(before ^ 0xff);
		check_damage(&m, &bytes, i, "byte", SMP_WHOLE_EVERY);
		if (i % 4 == 0) {
			bytes.buf[i] = (char)(before ^ 1 << i / 4 % 8);
			check_damage(&m, &bytes, i, "bit of byte", SMP_WHOLE_EVERY);
		}
		bytes.buf[i] = before;
	}
	made_release(&m);
}

/* The first bytes are how a file is known; without them a head further on will do. */
static void damage_of_the_first_bytes(void **state)
{
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT, why = STRBUF_INIT;
	struct sample_file f;
	struct made m;

	(void)state;
	make_small(&m, &bytes);
	for (size_t i = 0; i < 4; i++) {
		bytes.buf[i] = (char)(bytes.buf[i] ^ 0x20);
		check_damage(&m, &bytes, i, "byte", SMP_WHOLE_EVERY);
		bytes.buf[i] = (char)(bytes.buf[i] ^ 0x20);
	}
	/* where there is none, it is anybody's file */
	bytes.buf[0] = 'Q';
	assert_int_equal(sample_file_open(&f, memory_file(bytes.buf, 2000), &why), -EBADMSG);
	assert_text(&why, "is not a sample file");
	made_release(&m);
}

static void a_frame_that_is_gone(void **state)
{
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT;
	size_t at[2048];
	struct made m;

	(void)state;
	make_small(&m, &bytes);
	size_t n = frames_of(&bytes, at, ARRAY_SIZE(at));
	for (size_t i = 0; i < n; i++) {
		_cleanup_strbuf_ struct strbuf less = STRBUF_INIT;

		strbuf_add(&less, bytes.buf, at[i]);
		strbuf_add(&less, bytes.buf + at[i + 1], bytes.len - at[i + 1]);
		if (i) /* else it does not begin like a sample file: not our matter here */
			check_damage(&m, &less, i, "without frame", SMP_WHOLE_EVERY);
		/* and one that is there twice */
		strbuf_reset(&less);
		strbuf_add(&less, bytes.buf, at[i + 1]);
		strbuf_add(&less, bytes.buf + at[i], bytes.len - at[i]);
		check_damage(&m, &less, i, "twice frame", SMP_WHOLE_EVERY);
	}
	made_release(&m);
}

static void blocks_of_zeros(void **state)
{
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT, all = STRBUF_INIT;
	struct made m;

	(void)state;
	make_small(&m, &all);
	for (size_t i = 4; i + 512 < all.len; i += 97) {
		strbuf_reset(&bytes);
		strbuf_add(&bytes, all.buf, all.len);
		memset(bytes.buf + i, 0, 512);
		check_damage(&m, &bytes, i, "zeros", SMP_WHOLE_EVERY + 40);
	}
	made_release(&m);
}

static void damage_is_booked(void **state)
{
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT;
	_cleanup_lines_ struct lines got = {0};
	size_t at[2048];
	struct sample_file f;
	struct made m;

	(void)state;
	make_small(&m, &bytes);
	size_t n = frames_of(&bytes, at, ARRAY_SIZE(at)), i = n / 2;
	while ((unsigned char)bytes.buf[at[i] + 4] != SMP_READING)
		i++;
	bytes.buf[at[i] + SMP_HEADER + 3] ^= 4;
	open_bytes(&f, bytes.buf, bytes.len);
	read_lines(&f, &got);
	assert_int_equal(f.damaged_places, 1);
	assert_int_equal(f.damaged_bytes, at[i + 1] - at[i]);
	assert_int_equal(f.skipped_readings + 1, m.lines.count - got.count);
	sample_file_close(&f);
	made_release(&m);
}

/* ---- files that grow ------------------------------------------------------------------------- */

static void truncation_at_every_length(void **state)
{
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT;
	struct made m;

	(void)state;
	make_small(&m, &bytes);
	/* every length at the start, where all kinds of frames are, and at the end */
	for (size_t n = 0; n < bytes.len;
	     n += STEP * (n > 1200 && n + 1200 < bytes.len ? 7u : 1u)) {
		_cleanup_lines_ struct lines got = {0};
		struct sample_file f;
		struct strbuf why = STRBUF_INIT;
		int fd = memory_file(bytes.buf, n);

		assert_int_equal(sample_file_open(&f, fd, &why), 0);
		read_lines(&f, &got);
		for (size_t i = 0; i < got.count; i++)
			assert_string_equal(got.list[i], m.lines.list[i]);
		assert_int_equal(f.damaged_bytes + f.damaged_places + f.skipped_readings, 0);
		/* the rest comes later, in two steps */
		size_t middle = n + (bytes.len - n) / 3;
		assert_int_equal(pwrite(fd, bytes.buf + n, middle - n, (off_t)n),
				 (ssize_t)(middle - n));
		read_lines(&f, &got);
		assert_int_equal(pwrite(fd, bytes.buf + middle, bytes.len - middle, (off_t)middle),
				 (ssize_t)(bytes.len - middle));
		read_lines(&f, &got);
		assert_same_lines(&got, &m.lines);
		assert_int_equal(f.damaged_bytes + f.damaged_places + f.skipped_readings, 0);
		sample_file_close(&f);
		strbuf_release(&why);
	}
	made_release(&m);
}

/* Cut off, and then another file behind it: now it is damage. */
static void a_torn_frame_with_more_behind_it(void **state)
{
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT;
	_cleanup_lines_ struct lines got = {0};
	struct strbuf why = STRBUF_INIT;
	struct sample_file f;
	struct made m;

	(void)state;
	make_small(&m, &bytes);
	size_t cut = bytes.len - 5;
	int fd = memory_file(bytes.buf, cut);
	assert_int_equal(sample_file_open(&f, fd, &why), 0);
	read_lines(&f, &got);
	assert_int_equal(got.count, m.lines.count - 1);
	assert_int_equal(f.damaged_places, 0);
	assert_int_equal(write(fd, bytes.buf, bytes.len), (ssize_t)bytes.len);
	read_lines(&f, &got);
	assert_int_equal(f.damaged_places, 1);
	assert_true(f.damaged_bytes > 0 && f.damaged_bytes < 200);
	assert_int_equal(got.count, 2 * m.lines.count - 1);
	for (size_t i = 0; i < m.lines.count; i++)
		assert_string_equal(got.list[m.lines.count - 1 + i], m.lines.list[i]);
	sample_file_close(&f);
	strbuf_release(&why);
	made_release(&m);
}

static void reading_beside_the_writer(void **state)
{
	_cleanup_lines_ struct lines got = {0};
	struct strbuf why = STRBUF_INIT;
	struct sample_file f;
	struct made m;

	(void)state;
	made_init(&m, &head_one);
	made_source(&m, 0, three, 3);
	made_source(&m, 1, three, 2);
	assert_int_equal(sample_file_open(&f, fcntl(m.fd, F_DUPFD_CLOEXEC, 0), &why), 0);
	for (unsigned n = 0; n < 300; n++) {
		random_reading(&m, n % 2, 6);
		add_reading(&m, n % 2);
		if (n % 3 == 0) {
			flush(&m);
			read_lines(&f, &got);
			assert_same_lines(&got, &m.lines);
		}
	}
	sample_file_close(&f);
	strbuf_release(&why);
	made_release(&m);
}

/* ---- files of several hosts ------------------------------------------------------------------ */

static void make_other(struct made *m, struct strbuf *bytes)
{
	made_init(m, &head_two);
	m->seed = 4711;
	made_source(m, 0, three, 3);
	made_source(m, 1, three, 2);
	m->sets[0].time_ns = m->sets[1].time_ns = 9000000000;
	for (unsigned n = 0; n < 200; n++) {
		random_reading(m, n % 2, 3);
		add_reading(m, n % 2);
		flush(m);
	}
	content(m, bytes);
}

static void concatenated_files(void **state)
{
	_cleanup_strbuf_ struct strbuf one = STRBUF_INIT, two = STRBUF_INIT, all = STRBUF_INIT;
	_cleanup_lines_ struct lines got = {0};
	struct sample_file f;
	struct made a, b;

	(void)state;
	make_small(&a, &one);
	make_other(&b, &two);
	strbuf_add(&all, one.buf, one.len);
	strbuf_add(&all, two.buf, two.len);
	strbuf_add(&all, one.buf, one.len);
	open_bytes(&f, all.buf, all.len);
	read_lines(&f, &got);
	assert_int_equal(got.count, 2 * a.lines.count + b.lines.count);
	for (size_t i = 0; i < got.count; i++) {
		size_t n = a.lines.count, k = b.lines.count;

		assert_string_equal(got.list[i], i < n       ? a.lines.list[i]
						 : i < n + k ? b.lines.list[i - n]
							     : a.lines.list[i - n - k]);
	}
	assert_int_equal(f.damaged_bytes + f.skipped_readings, 0);
	sample_file_close(&f);
	made_release(&a);
	made_release(&b);
}

/* The second head is damaged: what is behind it must not pass for the first host's. */
static void a_damaged_head_in_the_middle(void **state)
{
	_cleanup_strbuf_ struct strbuf one = STRBUF_INIT, two = STRBUF_INIT;
	size_t missing[4], at[2048];
	struct made a, b;

	(void)state;
	make_small(&a, &one);
	make_other(&b, &two);
	frames_of(&two, at, ARRAY_SIZE(at));
	for (size_t i = 0; i < at[1]; i += STEP) {
		_cleanup_strbuf_ struct strbuf all = STRBUF_INIT;
		_cleanup_lines_ struct lines got = {0}, want = {0};
		struct sample_file f;

		two.buf[i] ^= 1;
		strbuf_add(&all, one.buf, one.len);
		strbuf_add(&all, two.buf, two.len);
		two.buf[i] ^= 1;
		open_bytes(&f, all.buf, all.len);
		read_lines(&f, &got);
		for (size_t k = 0; k < a.lines.count + b.lines.count; k++) {
			struct strbuf line = STRBUF_INIT;

			strbuf_addstr(&line, k < a.lines.count ? a.lines.list[k]
							       : b.lines.list[k - a.lines.count]);
			add_line(&want, &line);
		}
		assert_some_lines(&got, &want, missing, "head byte", i);
		assert_int_equal(missing[0], SMP_WHOLE_EVERY);
		assert_int_equal(missing[1], SMP_WHOLE_EVERY);
		sample_file_close(&f);
	}
	made_release(&a);
	made_release(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(damage_at_every_byte),
		cmocka_unit_test(damage_of_the_first_bytes),
		cmocka_unit_test(a_frame_that_is_gone),
		cmocka_unit_test(blocks_of_zeros),
		cmocka_unit_test(damage_is_booked),
		cmocka_unit_test(truncation_at_every_length),
		cmocka_unit_test(a_torn_frame_with_more_behind_it),
		cmocka_unit_test(reading_beside_the_writer),
		cmocka_unit_test(concatenated_files),
		cmocka_unit_test(a_damaged_head_in_the_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
