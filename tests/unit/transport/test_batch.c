/*
 * Batches: what is put in comes out, each is whole in itself, small on the wire, and nothing that
 * somebody else made of one does harm.
 */
#include "batch.h"

#include <errno.h>

#include "core/clock.h"
#include "core/crc32c.h"
#include "plimsoll/record.h"

static const struct sample_file_head plain_head = {
	.host = (char *)"one", .boot = (char *)"11111111-2222", .period_ns = 1000000000};

static void take(struct batcher *b, uint64_t number, struct strbuf *out)
{
	struct batch_name name = {.node = "node17", .boot = 99, .number = number};

	strbuf_reset(out);
	assert_int_equal(batcher_take(b, &name, out), 0);
}

static void open_batch(struct sample_file *f, const struct strbuf *batch)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	char *copy = exact_copy(batch->buf, batch->len);

	assert_int_equal(batch_open(f, copy, batch->len, &why), 0);
	memset(copy, '?', batch->len); /* it may go away */
	free(copy);
}

static void read_batch(const struct strbuf *batch, struct lines *l)
{
	struct sample_file f;

	open_batch(&f, batch);
	read_lines(&f, l);
	assert_int_equal(f.damaged_bytes + f.damaged_places + f.skipped_readings, 0);
	sample_file_close(&f);
}

/* Two sources, random entities that come and go, eight batches: each reads the same alone. */
static void every_batch_is_whole(void **state)
{
	_cleanup_strbuf_ struct strbuf batch = STRBUF_INIT, why = STRBUF_INIT;
	struct made m = {.head = plain_head, .seed = 88172645463325252ull};
	struct batcher *b = batcher_new(&plain_head);
	unsigned numbers[2];

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		sample_init(&m.sets[i], three, 3);
		numbers[i] = batcher_source(b, source_name(i), i + 1, &m.sets[i]);
	}
	for (unsigned n = 1; n <= 8; n++) {
		_cleanup_lines_ struct lines want = {0}, got = {0};
		struct batch_name name;

		for (unsigned k = 0; k < 150; k++) {
			unsigned i = k % 3 == 2;

			random_reading(&m, i, 20);
			reading_line(&want, "one", source_name(i), &m.sets[i]);
			batcher_add(b, numbers[i], &m.sets[i]);
		}
		assert_int_equal(batcher_readings(b), 150);
		take(b, n, &batch);
		assert_int_equal(batcher_readings(b), 0);
		read_batch(&batch, &got);
		assert_same_lines(&got, &want);
		assert_int_equal(batch_peek(batch.buf, batch.len, &name, &why), 0);
		assert_string_equal(name.node, "node17");
		assert_int_equal(name.boot, 99);
		assert_int_equal(name.number, n);
	}
	batcher_free(b);
	for (unsigned i = 0; i < 2; i++)
		sample_release(&m.sets[i]);
}

/* Metadata and absences are told in every batch, those of sources without a reading in none. */
static void metadata_and_absences_come_again(void **state)
{
	_cleanup_strbuf_ struct strbuf batch = STRBUF_INIT;
	struct batcher *b = batcher_new(&plain_head);
	struct sample_set set, idle;

	(void)state;
	sample_init(&set, three, 3);
	sample_init(&idle, three, 3);
	unsigned quiet = batcher_source(b, "idle", 1, &idle),
		 source = batcher_source(b, "a", 1, &set);
	assert_int_equal(quiet, 0);
	sample_absent(&set, 1, "no memory");
	for (unsigned n = 1; n <= 3; n++) {
		static const int events[] = {SAMPLE_HEAD,   SAMPLE_SOURCE,  SAMPLE_ENTITY,
					     SAMPLE_ABSENT, SAMPLE_READING, 0};
		struct sample_file f;

		sample_begin(&set);
		uint32_t e = sample_entity(&set, ENTITY_GPU, "0");
		sample_set_metadata(&set, e, "job", "4711");
		sample_row(&set, e);
		sample_put(&set, 0, 5 * n);
		batcher_add(b, source, &set);
		take(b, n, &batch);
		open_batch(&f, &batch);
		for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
			assert_int_equal(sample_file_next(&f), events[i]);
			if (events[i] == SAMPLE_ENTITY)
				assert_string_equal(f.sources[f.source].entities[0].metadata,
						    "job=4711\n");
			if (events[i] == SAMPLE_ABSENT)
				assert_string_equal(f.reason, "no memory");
			if (events[i] == SAMPLE_READING)
				assert_int_equal(f.reading.values[0], 5 * n);
		}
		sample_file_close(&f);
	}
	batcher_free(b);
	sample_release(&set);
	sample_release(&idle);
}

/* Boot time in the head: readings get the real time of now, not of when the node began. */
static void clocks_are_of_now(void **state)
{
	_cleanup_strbuf_ struct strbuf batch = STRBUF_INIT;
	struct sample_file_head head = plain_head;
	struct sample_file f;
	struct sample_set set;

	(void)state;
	head.boottime_ns = 1000;
	head.realtime_ns = 1000000000;
	struct batcher *b = batcher_new(&head);
	sample_init(&set, three, 3);
	unsigned source = batcher_source(b, "a", 1, &set);
	for (unsigned n = 1; n <= 2; n++) {
		int64_t before = clock_realtime_us();

		sample_begin(&set);
		batcher_add(b, source, &set);
		sample_begin(&set);
		batcher_add(b, source, &set);
		int64_t after = clock_realtime_us();
		take(b, n, &batch);
		open_batch(&f, &batch);
		unsigned clocks = 0, readings = 0;
		for (int r; (r = sample_file_next(&f)) > 0;) {
			clocks += r == SAMPLE_CLOCK;
			if (r != SAMPLE_READING)
				continue;
			readings++;
			assert_in_range(f.time_us, before - 1000, after + 1000);
		}
		assert_int_equal(readings, 2);
		assert_int_equal(clocks, 1);
		sample_file_close(&f);
	}
	batcher_free(b);
	sample_release(&set);
}

static void nothing_is_no_batch(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	struct batch_name name = {.node = "n", .number = 1};
	struct batcher *b = batcher_new(&plain_head);

	(void)state;
	strbuf_addstr(&out, "before");
	assert_int_equal(batcher_take(b, &name, &out), -ENODATA);
	assert_text(&out, "before");
	batcher_free(b);
}

/* ---- size ------------------------------------------------------------------------------------ */

static void few_bytes_a_job_sample(void **state)
{
	_cleanup_strbuf_ struct strbuf batch = STRBUF_INIT;
	struct batcher *b = batcher_new(&plain_head);
	size_t bytes = 0, samples = 0;
	struct busy busy;

	(void)state;
	busy_init(&busy, 100);
	unsigned source = batcher_source(b, "jobs", 1, &busy.set);
	for (unsigned n = 1; n <= 6; n++) {
		_cleanup_lines_ struct lines want = {0}, got = {0};

		for (unsigned i = 0; i < 10; i++) {
			busy_reading(&busy, (n * 10 + i) * 1000000000ull);
			reading_line(&want, "one", "jobs", &busy.set);
			batcher_add(b, source, &busy.set);
		}
		take(b, n, &batch);
		bytes += batch.len;
		samples += 1000;
		read_batch(&batch, &got);
		assert_same_lines(&got, &want);
	}
	print_message("%.1f bytes a job-sample with %d metrics\n", (double)bytes / (double)samples,
		      BUSY_METRICS);
	assert_true(bytes <= 40 * samples);
	batcher_free(b);
	busy_release(&busy);
}

/* ---- hostile bytes --------------------------------------------------------------------------- */

static void make_batch(struct strbuf *batch)
{
	struct batcher *b = batcher_new(&plain_head);
	struct busy busy;

	busy_init(&busy, 3);
	unsigned source = batcher_source(b, "jobs", 1, &busy.set);
	busy_reading(&busy, 5);
	batcher_add(b, source, &busy.set);
	take(b, 7, batch);
	batcher_free(b);
	busy_release(&busy);
}

static void refused(const void *p, size_t n, const char *reason)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	char *copy = exact_copy(p, n);
	struct sample_file f;

	assert_int_equal(batch_open(&f, copy, n, &why), -EBADMSG);
	assert_string_equal(why.buf, reason);
	sample_file_close(&f);
	free(copy);
}

static void damage_is_refused(void **state)
{
	_cleanup_strbuf_ struct strbuf batch = STRBUF_INIT, why = STRBUF_INIT;
	struct batch_name name;

	(void)state;
	make_batch(&batch);
	for (size_t n = 0; n < batch.len; n++) {
		char *copy = exact_copy(batch.buf, n);

		strbuf_reset(&why);
		assert_int_equal(batch_peek(copy, n, &name, &why), -EBADMSG);
		assert_true(why.len > 0);
		free(copy);
	}
	for (size_t at = 0; at < batch.len; at++) {
		batch.buf[at] ^= 0x11;
		assert_int_equal(batch_peek(batch.buf, batch.len, &name, &why), -EBADMSG);
		batch.buf[at] ^= 0x11;
	}
	assert_int_equal(batch_peek(batch.buf, batch.len, &name, &why), 0);
	strbuf_addch(&batch, 'x');
	refused(batch.buf, batch.len, "damaged: wrong checksum");
}

/* Changes a byte and puts the check sum right. */
static void patched(const struct strbuf *batch, size_t at, unsigned char c, const char *reason)
{
	unsigned char *p = (unsigned char *)exact_copy(batch->buf, batch->len);

	p[at] = c;
	pl_put_u32(p + 4, crc32c(0, p + 8, batch->len - 8));
	refused(p, batch->len, reason);
	free(p);
}

static void sense_is_checked(void **state)
{
	_cleanup_strbuf_ struct strbuf batch = STRBUF_INIT;

	(void)state;
	make_batch(&batch);
	patched(&batch, 11, 0xff, "its uncompressed size is above the limit");
	patched(&batch, 8, (unsigned char)(batch.buf[8] + 1), "cannot be decompressed");
	patched(&batch, 20, 0, "has no number");
	patched(&batch, 28, 0, "invalid node name");
	patched(&batch, 29, '.', "invalid node name");
	patched(&batch, 30, '/', "invalid node name");
	patched(&batch, 30, 0, "invalid node name");
	patched(&batch, 30, '\n', "invalid node name");
	patched(&batch, 35, '?', "cannot be decompressed");
	patched(&batch, batch.len - 1, (unsigned char)(batch.buf[batch.len - 1] + 1),
		"cannot be decompressed");
}

/* Sound outside, anything inside: no sample file, one that claims much state, a bomb. */
static void packed_nonsense(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT, zeros = STRBUF_INIT;
	struct batch_name name = {.node = "n", .boot = 1, .number = 1};

	(void)state;
	assert_int_equal(batch_pack(&name, "hello", 5, &out), 0);
	refused(out.buf, out.len, "is not a sample file");
	strbuf_reset(&out);
	assert_int_equal(batch_pack(&name, "", 0, &out), 0);
	refused(out.buf, out.len, "is not a sample file");
	strbuf_grow(&zeros, BATCH_WHOLE_MAX + 1);
	memset(zeros.buf, 0, BATCH_WHOLE_MAX + 1);
	strbuf_reset(&out);
	assert_int_equal(batch_pack(&name, zeros.buf, BATCH_WHOLE_MAX + 1, &out), -E2BIG);
	assert_int_equal(out.len, 0);
	assert_int_equal(batch_pack(&name, zeros.buf, BATCH_WHOLE_MAX, &out), 0);
	assert_true(out.len < 100000);
	refused(out.buf, out.len, "is not a sample file");
}

static void names_of_nodes(void **state)
{
	char longest[256];

	(void)state;
	memset(longest, 'n', sizeof(longest));
	assert_true(batch_node_is_good("a", 1));
	assert_true(batch_node_is_good("node-1.site.example", 19));
	assert_true(batch_node_is_good(longest, 255));
	assert_false(batch_node_is_good(longest, 256));
	assert_false(batch_node_is_good("", 0));
	assert_false(batch_node_is_good("..", 2));
	assert_false(batch_node_is_good("a/b", 3));
	assert_false(batch_node_is_good("a b", 3));
	assert_false(batch_node_is_good("a\0b", 3));
	assert_false(batch_node_is_good("a\x7f", 2));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_batch_is_whole),
		cmocka_unit_test(metadata_and_absences_come_again),
		cmocka_unit_test(clocks_are_of_now),
		cmocka_unit_test(nothing_is_no_batch),
		cmocka_unit_test(few_bytes_a_job_sample),
		cmocka_unit_test(damage_is_refused),
		cmocka_unit_test(sense_is_checked),
		cmocka_unit_test(packed_nonsense),
		cmocka_unit_test(names_of_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
