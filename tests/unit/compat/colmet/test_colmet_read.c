/* Messages of all dialects of colmet become batches, whole or not at all; and records again. */
#include "colmet.h"

#define NEW_MESSAGE                                                                      \
	"\x82\xcd\x03\xe8\x94\xa2vm\xcf\x00\x00\x01\xa1\xdd\x10\xa6\xc8\x01\x92"         \
	"\x94\xcd\x03\xe8\xa6memory\x91\xa2"                                             \
	"10\x91\x01"                                                                     \
	"\x94\xcd\x03\xe8\xa3"                                                           \
	"cpu\x91\xa2"                                                                    \
	"36\x91\x00"                                                                     \
	"\xcd\x03\xe9\x94\xa2vm\xcf\x00\x00\x01\xa1\xdd\x10\xa6\xc8\x01\x92"             \
	"\x94\xcd\x03\xe9\xa6memory\x92\xa1"                                             \
	"0\xa2"                                                                          \
	"35\x92\xd3\xff\xff\xff\xff\xff\xff\xff\xfe\xcf\x7f\xff\xff\xff\xff\xff\xff\xff" \
	"\x94\xcd\x03\xe9\xa6perfhw\x92\xa2"                                             \
	"39\xa2"                                                                         \
	"66\x92\xff\xcd\x01\x00"

/* The older dialect: three in a list, numbers for ids, from 1. */
#define OLD_MESSAGE                                                              \
	"\x81\x05\x93\xa4n001\xcf\x00\x00\x01\xa1\xdd\x10\xa6\xc8\x92"           \
	"\x93\xa6memory\x96\x01\x08\x11\x12\x19\x21\x96\x01\x02\x03\x04\x05\x06" \
	"\x93\xa3"                                                               \
	"cpu\x92\x22\x24\x92\x07\x08"

static int read_message(const void *p, size_t n, struct taken *t, enum colmet_dialect *dialect,
			struct strbuf *why)
{
	_cleanup_free_ char *copy = exact_copy(p, n);

	return colmet_read(copy, n, dialect, take_batch, t, why);
}

static void expect(const void *p, size_t n, enum colmet_dialect want, int records, size_t batches,
		   const char *text)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct taken t = TAKEN_INIT;
	enum colmet_dialect dialect;
	int r = read_message(p, n, &t, &dialect, &why);

	assert_string_equal(why.buf, "");
	assert_int_equal(r, records);
	assert_int_equal(dialect, want);
	assert_int_equal(t.batches, batches);
	if (text)
		assert_string_equal(t.text.buf, text);
	strbuf_release(&t.text);
}

static void expect_refused(const void *p, size_t n, const char *part)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct taken t = TAKEN_INIT;
	enum colmet_dialect dialect;

	assert_int_equal(read_message(p, n, &t, &dialect, &why), -EBADMSG);
	assert_int_equal(t.batches, 0);
	assert_contains(why.buf, part);
}

static void rust_dialects(void **state)
{
	(void)state;
	expect(NEW_MESSAGE, sizeof(NEW_MESSAGE) - 1, COLMET_RUST, 4, 1,
	       "vm memory job 1000 1794710218440000 pgfault=1\n"
	       "vm memory job 1001 1794710218440000 cache=-2 "
	       "total_unevictable=9223372036854775807\n"
	       "vm cpu job 1000 1794710218440000 nr_periods=0\n"
	       /* an event that failed is -1: it is not there */
	       "vm perfhw job 1001 1794710218440000 bpf_output=256\n");
	expect(OLD_MESSAGE, sizeof(OLD_MESSAGE) - 1, COLMET_RUST_OLD, 2, 1,
	       "n001 memory job 5 1794710218440000 cache=1 pgpgin=2 hierarchical_memory_limit=3 "
	       "total_cache=4 total_pgpgin=5 total_unevictable=6\n"
	       "n001 cpu job 5 1794710218440000 nr_periods=7 throttled_time=8\n");
	expect("\x80", 1, COLMET_RUST, 0, 0, "");
	expect("", 0, COLMET_PYTHON, 0, 0, "");
}

static void captured_messages(void **state)
{
	size_t n = 0;
	_cleanup_free_ char *two = captured("rustnode_2jobs_default.bin", &n);

	(void)state;
	if (!two)
		skip_because("no sample data beside the project");
	expect(two, n, COLMET_RUST, 4, 1,
	       "vm memory job 1000 1794710218440000 pgfault=1\n"
	       "vm memory job 1001 1794710218440000 pgfault=1\n"
	       "vm cpu job 1000 1794710218440000 nr_periods=0\n"
	       "vm cpu job 1001 1794710218440000 nr_periods=0\n");
	_cleanup_free_ char *five = captured("rustnode_2jobs_5metrics.bin", &n);
	expect(five, n, COLMET_RUST, 4, 1,
	       "vm memory job 1000 1794710223508000 cache=0 rss=0 pgfault=1\n"
	       "vm memory job 1001 1794710223508000 cache=0 rss=0 pgfault=1\n"
	       "vm cpu job 1000 1794710223508000 nr_periods=0 throttled_time=0\n"
	       "vm cpu job 1001 1794710223508000 nr_periods=0 throttled_time=0\n");
	/* what went over the wire: 64 bytes of greeting, 28 of a command, 9 of a frame's head */
	_cleanup_free_ char *wire = captured("zmtp_push_side_first_msg.bin", &n);
	assert_int_equal(n, 101 + 18526);
	expect(wire + 101, n - 101, COLMET_PYTHON, 3, 1, NULL);
}

static void collect_record(void *user, const struct fixed_row *r)
{
	colmet_pack(r, user);
}

/* All readings of a batch as records again, in the order of a message. */
static void take_records(void *user, struct batcher *b, const char *host)
{
	_cleanup_strbuf_ struct strbuf packed = STRBUF_INIT, why = STRBUF_INIT;
	struct batch_name name = {.node = "x", .boot = 1, .number = 1};
	struct sample_file f;

	assert_int_equal(batcher_take(b, &name, &packed), 0);
	assert_int_equal(batch_open(&f, packed.buf, packed.len, &why), 0);
	for (int r; (r = sample_file_next(&f)) > 0;)
		if (r == SAMPLE_READING)
			assert_true(colmet_records_from_reading(host, f.sources[f.source].name,
								&f.reading, f.time_us,
								collect_record, user) > 0);
	sample_file_close(&f);
}

/* To batches and back: the same bytes, in the order of colmet's messages. */
static void there_and_back(void **state)
{
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT, again = STRBUF_INIT, why = STRBUF_INIT;
	_cleanup_free_ struct fixed_row *r = xmalloc(sizeof(*r));
	enum colmet_dialect dialect;

	(void)state;
	for (const struct row_table *b = colmet_backends; b->name; b++)
		for (uint64_t job = b->per_job; job < (b->per_job ? 4 : 1); job++) {
			make_record(r, b, job, 1794709883);
			if (b->fields[0].type == ROW_I64)
				r->values[0].i = -1;
			colmet_pack(r, &bytes);
		}
	assert_int_equal(colmet_read(bytes.buf, bytes.len, &dialect, take_records, &again, &why),
			 4 * 3 + 6);
	assert_int_equal(again.len, bytes.len);
	assert_memory_equal(again.buf, bytes.buf, bytes.len);
	assert_int_equal(colmet_records_from_reading("h", "system", NULL, 0, collect_record, NULL),
			 0);

	/* what was captured has its jobs in another order */
	size_t n = 0;
	_cleanup_free_ char *wire =
		captured("pynode_0.6.11_2jobs_taskstats_procstats_temp_jobproc.bin", &n);
	if (!wire)
		skip_because("no sample data beside the project");
	strbuf_reset(&again);
	assert_int_equal(colmet_read(wire, n, &dialect, take_records, &again, &why), 6);
	assert_int_equal(again.len, n);
	/* the two of a job each change places where they have to */
	bool swap = memcmp(wire + 510, "\xe8\x03", 2) != 0;
	assert_memory_equal(again.buf, wire + (swap ? 762 : 0), 762);
	assert_memory_equal(again.buf + 762, wire + (swap ? 0 : 762), 762);
	assert_memory_equal(again.buf + 1524, wire + 1524, 9202 + 574);
}

static void hosts_and_times(void **state)
{
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT;
	_cleanup_free_ struct fixed_row *r = xmalloc(sizeof(*r));
	const struct row_table *ipmi = &colmet_backends[8];

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		make_record(r, ipmi, 0, 1000 - i / 2);
		snprintf(r->host, sizeof(r->host), "n%u", i % 2);
		colmet_pack(r, &bytes);
	}
	expect(bytes.buf, bytes.len, COLMET_PYTHON, 4, 2,
	       "n0 ipmipowerstats_default node node 999000000 average_power_consumption=0 "
	       "involved_jobs=[1000, 1001]\n"
	       "n0 ipmipowerstats_default node node 1000000000 average_power_consumption=0 "
	       "involved_jobs=[1000, 1001]\n"
	       "n1 ipmipowerstats_default node node 999000000 average_power_consumption=0 "
	       "involved_jobs=[1000, 1001]\n"
	       "n1 ipmipowerstats_default node node 1000000000 average_power_consumption=0 "
	       "involved_jobs=[1000, 1001]\n");
	/* the same twice */
	colmet_pack(r, &bytes);
	expect_refused(bytes.buf, bytes.len, "two records of ipmipowerstats_default for job 0");
	strbuf_reset(&bytes);
	for (unsigned i = 0; i < 65; i++) {
		make_record(r, &colmet_backends[4], 9, 1000);
		snprintf(r->host, sizeof(r->host), "n%u", i);
		colmet_pack(r, &bytes);
	}
	expect_refused(bytes.buf, bytes.len, "records of 65 hosts");
	expect(bytes.buf, bytes.len - 566, COLMET_PYTHON, 64, 64, NULL);
	expect_refused(bytes.buf, bytes.len - 1, "at byte 36224");
}

/* As many records as a message can hold, in a time that does not grow with their square. */
static void a_large_message(void **state)
{
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT, why = STRBUF_INIT;
	_cleanup_free_ struct fixed_row *r = xmalloc(sizeof(*r));
	uint64_t seed = 88172645463325252ull;
	enum colmet_dialect dialect;
	struct taken t = TAKEN_INIT;

	(void)state;
	for (unsigned i = 0; i < 21000; i++) {
		make_record(r, &colmet_backends[0], 100000 + i, 1000 + i / 7000);
		for (size_t k = 0; k < r->table->field_count; k++)
			r->values[k].i = (int64_t)(random_next(&seed) >> 1);
		colmet_pack(r, &bytes);
	}
	double began = cpu_seconds();
	assert_int_equal(colmet_read(bytes.buf, bytes.len, &dialect, take_batch, &t, &why), 21000);
	print_message("%.0f ms\n", (cpu_seconds() - began) * 1e3);
	/* what does not compress has to fit as it is */
	assert_true(t.batches >= 2);
	strbuf_release(&t.text);
}

static void rust_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		const char *why;
	} wrong[] = {
#define WRONG(text, why) {text, sizeof(text) - 1, why}
		WRONG("\x81", "not a map of jobs"),
		WRONG("\xdf\xff\xff\xff\xff\x01\x02", "not a map of jobs"),
		WRONG("\x81\xff\x90", "a job id is not a number"),
		WRONG("\x81\xa1"
		      "1\x90",
		      "a job id is not a number"),
		WRONG("\x81\x01\x95", "not a list of three or four"),
		WRONG("\x81\x01\x94\xa1/\x01\x01\x90", "no valid host name"),
		WRONG("\x81\x01\x94\xa0\x01\x01\x90", "no valid host name"),
		WRONG("\x81\x01\x94\xa1h\xff\x01\x90", "impossible time"),
		WRONG("\x81\x01\x94\xa1h\xcf\x7f\xff\xff\xff\xff\xff\xff\xff\x01\x90",
		      "impossible time"),
		WRONG("\x81\x01\x94\xa1h\x01\x02\x90", "unsupported version"),
		WRONG("\x81\x01\x94\xa1h\x01\x01\x01", "not a list"),
		WRONG("\x81\x01\x94\xa1h\x01\x01\x90\x01", "jobs are followed by other bytes"),
		WRONG("\x81\x01\x94\xa1h\x01\x01\x91\x93\x01\x01\x01",
		      "not a list of the expected length"),
		WRONG("\x81\x01\x94\xa1h\x01\x01\x91\x94\x02\xa3"
		      "cpu\x90\x90",
		      "another job"),
		WRONG("\x81\x01\x94\xa1h\x01\x01\x91\x94\x01\xa3"
		      "cqu\x90\x90",
		      "unknown backend"),
		WRONG("\x81\x01\x94\xa1h\x01\x01\x91\x94\x01\xa3"
		      "cpu\x91\xa2"
		      "35\x91\x01",
		      "unknown id"),
		WRONG("\x81\x01\x94\xa1h\x01\x01\x91\x94\x01\xa3"
		      "cpu\x91\xa2"
		      "3x\x91\x01",
		      "unknown id"),
		WRONG("\x81\x01\x94\xa1h\x01\x01\x91\x94\x01\xa3"
		      "cpu\x91\xa2"
		      "36\x92\x01\x01",
		      "number of values differs"),
		WRONG("\x81\x01\x94\xa1h\x01\x01\x91\x94\x01\xa3"
		      "cpu\x91\xa2"
		      "36\x91\xc0",
		      "not an integer"),
		WRONG("\x81\x01\x94\xa1h\x01\x01\x91\x94\x01\xa3"
		      "cpu\x91\xa2"
		      "36\x91\xcf\xff\xff\xff\xff\xff\xff\xff\xff",
		      "not an integer"),
		WRONG("\x82\x01\x94\xa1h\x01\x01\x90\x02\x93\xa1h\x01\x90", "different dialects"),
		WRONG("\x81\x01\x93\xa1h\x01\x91\x93\xa3"
		      "cpu\x91\x00\x91\x01",
		      "unknown id"),
		WRONG("\x90", "too few for the head"),
		WRONG("GET / HTTP/1.1\r\n\r\n", "too few for the head"),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++)
		expect_refused(wrong[i].bytes, wrong[i].size, wrong[i].why);
}

/* Every shorter message is refused, every byte changed decoded or refused with a reason; random
 * bytes behind each beginning that a dialect may have. */
static void truncations_and_changes(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} messages[] = {{NEW_MESSAGE, sizeof(NEW_MESSAGE) - 1},
			{OLD_MESSAGE, sizeof(OLD_MESSAGE) - 1}};
	uint64_t seed = 0x9e3779b97f4a7c15ull;
	enum colmet_dialect dialect;

	(void)state;
	for (size_t k = 0; k < ARRAY_SIZE(messages); k++) {
		for (size_t n = 1; n < messages[k].size; n++)
			expect_refused(messages[k].bytes, n, "");
		for (size_t i = 0; i < messages[k].size; i++)
			for (unsigned v = 0; v < 256; v++) {
				_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
				_cleanup_free_ char *copy =
					exact_copy(messages[k].bytes, messages[k].size);
				struct taken t = TAKEN_INIT;

				copy[i] = (char)v;
				int r = read_message(copy, messages[k].size, &t, &dialect, &why);
				assert_true(r >= 0 ? why.len == 0 : why.len > 0);
				assert_true(r >= 0 || !t.batches);
				strbuf_release(&t.text);
			}
	}
	for (unsigned i = 0; i < 20000; i++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		unsigned char garbage[96];
		struct taken t = TAKEN_INIT;

		for (size_t k = 0; k < sizeof(garbage); k++)
			garbage[k] = (unsigned char)(random_next(&seed) >> 32);
		garbage[0] = (unsigned char)(i % 2 ? 0x80 | i % 16 : garbage[0]);
		int r = read_message(garbage, sizeof(garbage), &t, &dialect, &why);
		assert_true(r >= 0 || (r == -EBADMSG && why.len && !t.batches));
		strbuf_release(&t.text);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(rust_dialects),           cmocka_unit_test(captured_messages),
		cmocka_unit_test(there_and_back),          cmocka_unit_test(hosts_and_times),
		cmocka_unit_test(a_large_message),         cmocka_unit_test(rust_refused),
		cmocka_unit_test(truncations_and_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
