/*
 * Record files: what is written is what is read, from the start or from any place, also with
 * numbers of metrics other than ours.
 */
#include "recfile.h"

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
	struct record_writer w = RECORD_WRITER_INIT;
	struct record_file f;
	struct record r;

	(void)state;
	assert_int_equal(record_writer_add_schema(&w), 0);
	for (size_t k = 0; k < ARRAY_SIZE(interesting); k++) {
		record_writer_begin(&w);
		for (size_t i = 0; i < metric_count; i++)
			record_writer_u64(&w, metrics[i].id, interesting[k] - i);
		assert_int_equal(record_writer_add(&w, PL_KEXIT, 0xffff), 0);
	}
	open_bytes(&f, w.out.buf, w.out.len);
	for (size_t k = 0; k < ARRAY_SIZE(interesting); k++) {
		assert_int_equal(record_file_next(&f, &r), 1);
		assert_int_equal(r.type, PL_KEXIT);
		assert_int_equal(r.flags, 0xffff);
		for (size_t i = 0; i < metric_count; i++) {
			assert_true(record_has(&r, metrics[i].id));
			assert_int_equal(r.v[metrics[i].id], interesting[k] - i);
			assert_int_equal(r.text[metrics[i].id].size, 0);
		}
	}
	assert_int_equal(record_file_next(&f, &r), 0);
	assert_int_equal(f.damage.places, 0);
	record_file_close(&f);
	record_writer_release(&w);
}

static void texts_of_all_sizes(void **state)
{
	static const size_t sizes[] = {0,     1,     127,       128,   129,   4096,
				       16383, 16384, CHUNK - 1, CHUNK, 700000};
	_cleanup_free_ unsigned char *data = malloc(700000);
	struct record_writer w = RECORD_WRITER_INIT;
	struct record_file f;
	struct record r;

	(void)state;
	for (size_t i = 0; i < 700000; i++)
		data[i] = (unsigned char)(i * 31 >> 3); /* NUL and all the others */
	for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
		record_writer_begin(&w);
		record_writer_text(&w, METRIC_ARGV, data, sizes[k]);
		record_writer_text(&w, METRIC_TAGS, "t", 1);
		assert_int_equal(record_writer_add(&w, PL_START, 0), 0);
	}
	open_bytes(&f, w.out.buf, w.out.len);
	for (size_t k = 0; k < ARRAY_SIZE(sizes); k++) {
		assert_int_equal(record_file_next(&f, &r), 1);
		assert_true(record_has(&r, METRIC_ARGV) && record_has(&r, METRIC_TAGS));
		assert_int_equal(r.text[METRIC_ARGV].size, sizes[k]);
		if (sizes[k])
			assert_memory_equal(r.text[METRIC_ARGV].data, data, sizes[k]);
		assert_int_equal(r.text[METRIC_TAGS].size, 1);
		assert_false(record_has(&r, METRIC_PATH));
		assert_int_equal(record_get(&r, METRIC_PID, 99), 99);
	}
	assert_int_equal(record_file_next(&f, &r), 0);
	record_file_close(&f);
	record_writer_release(&w);
}

static void values_of_one_record_do_not_stay_for_the_next(void **state)
{
	struct record_writer w = RECORD_WRITER_INIT;
	struct record_file f;
	struct record r;

	(void)state;
	record_writer_begin(&w);
	record_writer_u64(&w, METRIC_PID, 1);
	record_writer_text(&w, METRIC_PATH, "/bin/true", 9);
	assert_int_equal(record_writer_add(&w, PL_START, 0), 0);
	record_writer_begin(&w);
	assert_int_equal(record_writer_add(&w, PL_END, 0), 0);
	open_bytes(&f, w.out.buf, w.out.len);
	assert_int_equal(record_file_next(&f, &r), 1);
	assert_int_equal(record_file_next(&f, &r), 1);
	assert_int_equal(r.size, PL_RECORD_HEADER);
	for (size_t i = 0; i < metric_count; i++)
		assert_false(record_has(&r, metrics[i].id));
	record_file_close(&f);
	record_writer_release(&w);
}

static void offsets_and_sizes_are_those_of_the_file(void **state)
{
	struct numbered n;
	struct record_file f;
	struct record r;

	(void)state;
	numbered_init(&n);
	open_bytes(&f, n.w.out.buf, n.w.out.len);
	for (unsigned i = 0; i < FRAMES; i++) {
		assert_int_equal(record_file_next(&f, &r), 1);
		check_numbered(&r, i);
		assert_int_equal(r.offset, n.at[i]);
		assert_int_equal(r.size, n.at[i + 1] - n.at[i]);
	}
	assert_int_equal(record_file_next(&f, &r), 0);
	assert_int_equal(record_file_next(&f, &r), 0);
	assert_int_equal(f.damage.bytes, 0);
	assert_int_equal(f.damage.places, 0);
	record_file_close(&f);
	numbered_release(&n);
}

static void an_empty_file_is_read(void **state)
{
	struct record_file f;
	struct record r;

	(void)state;
	open_bytes(&f, "", 0);
	assert_int_equal(record_file_next(&f, &r), 0);
	assert_int_equal(f.damage.places, 0);
	record_file_close(&f);
	record_file_close(&f);
}

static void unknown_fields_are_skipped(void **state)
{
	static const uint64_t unknown[] = {METRIC_ID_END, 127, 128, 1000, 1ull << 40, INT64_MAX};
	struct strbuf p = STRBUF_INIT, out = STRBUF_INIT;
	unsigned char v[PL_VARINT_MAX];
	struct record_file f;
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
	assert_int_equal(record_file_next(&f, &r), 1);
	assert_int_equal(r.type, 999);
	assert_int_equal(record_get(&r, METRIC_PID, 0), 5);
	assert_int_equal(record_get(&r, METRIC_PPID, 0), 6);
	for (size_t i = 0; i < metric_count; i++)
		if (metrics[i].id != METRIC_PID && metrics[i].id != METRIC_PPID)
			assert_false(record_has(&r, metrics[i].id));
	assert_int_equal(record_file_next(&f, &r), 0);
	assert_int_equal(f.damage.places, 0);
	record_file_close(&f);
	strbuf_release(&p);
	strbuf_release(&out);
}

static void a_frame_inside_a_text_is_no_frame(void **state)
{
	struct record_writer inner = RECORD_WRITER_INIT, w = RECORD_WRITER_INIT;
	struct record_file f;
	struct record r;

	(void)state;
	numbered_frame(&inner, 4);
	record_writer_begin(&w);
	record_writer_text(&w, METRIC_ARGV, inner.out.buf, inner.out.len);
	assert_int_equal(record_writer_add(&w, PL_START, 0), 0);
	open_bytes(&f, w.out.buf, w.out.len);
	assert_int_equal(record_file_next(&f, &r), 1);
	assert_int_equal(r.text[METRIC_ARGV].size, inner.out.len);
	assert_int_equal(record_file_next(&f, &r), 0);
	record_file_close(&f);
	record_writer_release(&inner);
	record_writer_release(&w);
}

/* ---- schemas -------------------------------------------------------------------------------- */

static void other_numbers_map_by_name(void **state)
{
	struct record_writer w = RECORD_WRITER_INIT;
	struct record_file f;
	struct record r;

	(void)state;
	schema_frame(&w.out, "1 ppid\n2 pid\n3 never_heard_of\n40 path\n5 rssmax\n68 tid");
	record_writer_begin(&w);
	record_writer_u64(&w, 1, 10);
	record_writer_u64(&w, 2, 20);
	record_writer_u64(&w, 3, 30);
	record_writer_text(&w, 40, "/x", 2);
	record_writer_u64(&w, 5, 50);
	record_writer_u64(&w, 6, 60); /* not in the schema: nobody knows what it is */
	record_writer_u64(&w, 68, 70);
	assert_int_equal(record_writer_add(&w, PL_START, 0), 0);
	open_bytes(&f, w.out.buf, w.out.len);
	assert_int_equal(record_file_next(&f, &r), 1);
	assert_int_equal(record_get(&r, METRIC_PPID, 0), 10);
	assert_int_equal(record_get(&r, METRIC_PID, 0), 20);
	assert_int_equal(record_get(&r, METRIC_RSSMAX, 0), 50);
	assert_int_equal(record_get(&r, METRIC_TID, 0), 70);
	assert_int_equal(r.text[METRIC_PATH].size, 2);
	assert_false(record_has(&r, METRIC_PGID));
	assert_false(record_has(&r, METRIC_PROCDEV));
	assert_false(record_has(&r, METRIC_DELAYACCT_BLKIO_TIME));
	record_file_close(&f);
	record_writer_release(&w);
}

static void schema_lines_that_are_none_are_ignored(void **state)
{
	struct record_writer w = RECORD_WRITER_INIT;
	struct record_file f;
	struct record r;

	(void)state;
	schema_frame(&w.out, "\n\nabc\n5\n7 \n pid\n0 pid\n99999999999999999999 ppid\n300 sid\n"
			     "-3 pgid\n9pid\n2 ppid extra\n1 pid\n");
	record_writer_begin(&w);
	for (unsigned id = 0; id < METRIC_ID_END; id++)
		record_writer_u64(&w, (enum metric_id)id, id + 100);
	assert_int_equal(record_writer_add(&w, PL_START, 0), 0);
	open_bytes(&f, w.out.buf, w.out.len);
	assert_int_equal(record_file_next(&f, &r), 1);
	for (size_t i = 0; i < metric_count; i++)
		assert_int_equal(record_has(&r, metrics[i].id), metrics[i].id == METRIC_PID);
	assert_int_equal(record_get(&r, METRIC_PID, 0), 101);
	record_file_close(&f);
	record_writer_release(&w);
}

static void a_schema_counts_from_where_it_is(void **state)
{
	struct record_writer w = RECORD_WRITER_INIT;
	struct record_file f;
	struct record r;

	(void)state;
	for (int i = 0; i < 3; i++) {
		if (i == 1)
			schema_frame(&w.out, "1 ppid\n2 pid\n");
		if (i == 2)
			assert_int_equal(record_writer_add_schema(&w), 0);
		record_writer_begin(&w);
		record_writer_u64(&w, 1, 11);
		record_writer_u64(&w, 2, 22);
		assert_int_equal(record_writer_add(&w, PL_START, 0), 0);
	}
	open_bytes(&f, w.out.buf, w.out.len);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(record_file_next(&f, &r), 1);
		assert_int_equal(record_get(&r, METRIC_PID, 0), i == 1 ? 22 : 11);
		assert_int_equal(record_get(&r, METRIC_PPID, 0), i == 1 ? 11 : 22);
	}
	assert_int_equal(record_file_next(&f, &r), 0);
	record_file_close(&f);
	record_writer_release(&w);
}

/* ---- reading at a place --------------------------------------------------------------------- */

static void frames_are_read_again(void **state)
{
	struct numbered n;
	struct record_file f;
	struct record r;
	uint64_t seed = 7;

	(void)state;
	numbered_init(&n);
	open_bytes(&f, n.w.out.buf, n.w.out.len);
	for (unsigned round = 0; round < 500; round++) {
		unsigned i = (unsigned)(random_next(&seed) % FRAMES);

		assert_int_equal(record_file_read_at(&f, n.at[i], &r), 0);
		check_numbered(&r, i);
		assert_int_equal(r.offset, n.at[i]);
		/* reading goes on behind it */
		assert_int_equal(record_file_next(&f, &r), i + 1 < FRAMES);
		if (i + 1 < FRAMES)
			check_numbered(&r, i + 1);
	}
	assert_int_equal(f.damage.places, 0);
	record_file_close(&f);
	numbered_release(&n);
}

static void places_that_hold_no_frame(void **state)
{
	struct numbered n;
	struct record_file f;
	struct record r;

	(void)state;
	numbered_init(&n);
	n.w.out.buf[n.at[5] + 20] ^= 1;
	open_bytes(&f, n.w.out.buf, n.w.out.len);
	assert_int_equal(record_file_read_at(&f, n.at[4] + 1, &r), -EBADMSG);
	assert_int_equal(record_file_read_at(&f, n.at[5], &r), -EBADMSG);
	assert_int_equal(record_file_read_at(&f, n.at[FRAMES], &r), -EBADMSG);
	assert_int_equal(record_file_read_at(&f, 1ull << 43, &r), -EBADMSG);
	assert_int_equal(record_file_read_at(&f, UINT64_MAX - 8, &r), -EBADMSG);
	/* and it did the reader no harm */
	assert_int_equal(record_file_read_at(&f, n.at[6], &r), 0);
	check_numbered(&r, 6);
	record_file_close(&f);
	numbered_release(&n);
}

/* Large and small frames by turns: the buffer grows while others lie in it. */
static void large_frames_are_read_again(void **state)
{
	_cleanup_free_ char *data = calloc(1, 900000);
	struct record_writer w = RECORD_WRITER_INIT;
	size_t at[6];
	struct record_file f;
	struct record r;

	(void)state;
	for (unsigned i = 0; i < 6; i++) {
		at[i] = w.out.len;
		record_writer_begin(&w);
		record_writer_u64(&w, METRIC_PID, i);
		record_writer_text(&w, METRIC_ARGV, data, i % 2 ? 10 : 300000 + i * 100000);
		assert_int_equal(record_writer_add(&w, PL_START, 0), 0);
	}
	open_bytes(&f, w.out.buf, w.out.len);
	for (unsigned i = 0; i < 36; i++) {
		unsigned which = i * 5 % 6;

		assert_int_equal(record_file_read_at(&f, at[which], &r), 0);
		assert_int_equal(record_get(&r, METRIC_PID, 9), which);
	}
	record_file_close(&f);
	record_writer_release(&w);
}

/* A frame means the same when it is read again, whatever schema came behind it. */
static void the_schema_of_a_place(void **state)
{
	struct record_writer w = RECORD_WRITER_INIT;
	struct record_file f;
	struct record first, second, again;

	(void)state;
	assert_int_equal(record_writer_add_schema(&w), 0);
	numbered_frame(&w, 1);
	schema_frame(&w.out, "1 ppid\n2 pid\n");
	numbered_frame(&w, 2);
	open_bytes(&f, w.out.buf, w.out.len);
	assert_int_equal(record_file_next(&f, &first), 1);
	assert_int_equal(record_get(&first, METRIC_PID, 0), 1001);
	assert_int_equal(record_file_next(&f, &second), 1);
	assert_int_equal(record_get(&second, METRIC_PPID, 0), 1002);
	assert_int_equal(record_file_read_at(&f, first.offset, &again), 0);
	assert_int_equal(record_get(&again, METRIC_PID, 0), 1001);
	assert_int_equal(record_get(&again, METRIC_RSSMAX, 0), 1);
	record_file_close(&f);
	record_writer_release(&w);
}

/* ---- files that change, and that cannot be used --------------------------------------------- */

static void a_file_that_grows(void **state)
{
	struct numbered n;
	struct record_file f;
	unsigned numbers[FRAMES];

	(void)state;
	numbered_init(&n);
	int fd = memory_file(n.w.out.buf, n.at[10]);
	assert_int_equal(record_file_open(&f, dup(fd)), 0);
	assert_int_equal(write(fd, n.w.out.buf + n.at[10], n.at[20] - n.at[10]),
			 (ssize_t)(n.at[20] - n.at[10]));
	/* what was there when it was opened */
	assert_int_equal(read_all(&f, numbers, FRAMES), 10);
	assert_int_equal(f.damage.places, 0);
	record_file_close(&f);
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
		struct record_file f;

		assert_int_equal(record_file_open(&f, dup(fd)), 0);
		assert_int_equal(ftruncate(fd, (off_t)keep), 0);
		assert_int_equal(read_all(&f, numbers, FRAMES), keep < n.at[10] ? 9 : 10);
		record_file_close(&f);
		close(fd);
	}
	numbered_release(&n);
}

static void what_cannot_be_read(void **state)
{
	_cleanup_free_ char *path = xasprintf("%s/file", (char *)*state);
	struct record_file f;
	struct record r;

	assert_int_equal(record_file_open(&f, -1), -EBADF);
	write_file(path, "PLR1", 4);
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(record_file_open(&f, fd), 0);
	assert_int_equal(record_file_next(&f, &r), -EBADF);
	record_file_close(&f);
}

static void flush_writes_once(void **state)
{
	_cleanup_free_ char *path = xasprintf("%s/file", (char *)*state);
	struct record_writer w = RECORD_WRITER_INIT;
	unsigned numbers[FRAMES];
	struct record_file f;

	int fd = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(record_writer_flush(&w, fd), 0);
	numbered_frame(&w, 0);
	numbered_frame(&w, 1);
	assert_int_equal(record_writer_flush(&w, fd), 0);
	assert_int_equal(w.out.len, 0);
	numbered_frame(&w, 2);
	assert_int_equal(record_writer_flush(&w, fd), 0);
	assert_int_equal(record_file_open(&f, fd), 0);
	assert_int_equal(read_all(&f, numbers, FRAMES), 3);
	record_file_close(&f);
	int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	if (full >= 0) {
		numbered_frame(&w, 3);
		assert_int_equal(record_writer_flush(&w, full), -ENOSPC);
		assert_int_equal(w.out.len, 0);
		close(full);
	}
	record_writer_release(&w);
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
