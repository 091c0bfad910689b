/* Records of colmet's Python version: what was captured, what we pack, and everything that is none.
 */
#include "colmet.h"

static const char captured_name[] = "pynode_0.6.11_2jobs_taskstats_procstats_temp_jobproc.bin";

static void sizes_are_those_of_the_wire(void **state)
{
	static const struct {
		const char *name;
		size_t size, fields;
		bool per_job;
	} want[] = {
		{"taskstats_default", 762, 30, true},
		{"procstats_default", 9202, 64, false},
		{"infinibandstats_default", 8750, 5, false},
		{"lustrestats_default", 8750, 5, false},
		{"perfhwstats_default", 566, 5, true},
		{"RAPLstats_default", 8910, 25, false},
		{"temperaturestats_default", 574, 6, false},
		{"jobprocstats_default", 606, 10, true},
		{"ipmipowerstats_default", 8726, 2, false},
		{"nvidiastats_default", 582, 7, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		const struct row_table *b = colmet_backend(want[i].name, strlen(want[i].name));

		assert_ptr_equal(b, &colmet_backends[i]);
		assert_int_equal(b->record_size, want[i].size);
		assert_int_equal(b->field_count, want[i].fields);
		assert_int_equal(b->per_job, want[i].per_job);
		for (size_t k = 0; k < b->metric_count; k++)
			assert_string_equal(b->metrics[k].name, b->fields[k].name);
	}
	assert_null(colmet_backends[ARRAY_SIZE(want)].name);
	assert_null(colmet_backend("taskstats", 9));
}

static int64_t value(const struct fixed_row *r, const char *field)
{
	int i = row_field_find(r->table, field);

	assert_true(i >= 0);
	assert_false(r->absent >> i & 1);
	return r->values[i].i;
}

static double real(const struct fixed_row *r, const char *field)
{
	return (double)r->values[row_field_find(r->table, field)].f;
}

static void a_captured_message(void **state)
{
	_cleanup_strbuf_ struct strbuf again = STRBUF_INIT, why = STRBUF_INIT;
	_cleanup_free_ struct fixed_row *r = xmalloc(6 * sizeof(*r));
	size_t size, count = 0;
	_cleanup_free_ char *data = captured(captured_name, &size);

	(void)state;
	if (!data)
		skip_because("no sample data beside the project");
	assert_int_equal(size, 12512);
	const unsigned char *p = (const unsigned char *)data, *end = p + size;
	while (count < 6 && colmet_unpack(&p, end, &r[count], &why) == 1)
		colmet_pack(&r[count++], &again);
	assert_string_equal(why.buf, "");
	assert_int_equal(count, 6);
	assert_ptr_equal(p, end);
	assert_int_equal(again.len, size);
	assert_memory_equal(again.buf, data, size);

	size_t at = r[0].job == 1001 ? 0 : 1;
	assert_string_equal(r[at].table->name, "taskstats_default");
	assert_string_equal(r[at].host, "vm");
	assert_int_equal(r[at].job, 1001);
	assert_int_equal(r[at].time_s, 1794709883);
	assert_int_equal(value(&r[at], "cpu_count"), 0x201);
	assert_int_equal(value(&r[at], "cpu_delay_total"), 0x1f37b1a0);
	assert_int_equal(value(&r[at], "cpu_run_real_total"), 0x562425b8);
	assert_int_equal(value(&r[at], "cpu_run_virtual_total"), 0x538d231e);
	assert_int_equal(value(&r[at], "ac_btime"), 0x6af91978);
	assert_int_equal(value(&r[at], "ac_etime"), 0x2c9f79);
	assert_int_equal(value(&r[at], "ac_minflt"), 56);
	assert_int_equal(value(&r[at], "coremem"), 0xc4286);
	assert_int_equal(value(&r[at], "nivcsw"), 0x1f9);
	assert_int_equal(value(&r[at], "freepages_delay_total"), 0);
	assert_string_equal(r[2].table->name, "procstats_default");
	assert_int_equal(r[2].job, 0);
	assert_int_equal(value(&r[2], "meminfo_memtotal"), 24682416);
	assert_true(real(&r[2], "loadavg_total_threads") >= 1);
	assert_string_equal(r[3].table->name, "temperaturestats_default");
	assert_string_equal(r[4].table->name, "jobprocstats_default");
	assert_int_equal(r[4].absent, 0);
	assert_string_equal(r[5].table->name, "jobprocstats_default");
}

static void every_backend_packed_and_unpacked(void **state)
{
	_cleanup_free_ struct fixed_row *in = xmalloc(sizeof(*in));
	_cleanup_free_ struct fixed_row *out = xmalloc(sizeof(*out));

	(void)state;
	for (const struct row_table *b = colmet_backends; b->name; b++) {
		_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT, again = STRBUF_INIT;
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

		make_record(in, b, b->per_job ? 4711 : 0, 1794709883);
		colmet_pack(in, &bytes);
		assert_int_equal(bytes.len, b->record_size);
		_cleanup_free_ char *copy = exact_copy(bytes.buf, bytes.len);
		const unsigned char *p = (const unsigned char *)copy;

		assert_int_equal(colmet_unpack(&p, p + bytes.len, out, &why), 1);
		assert_ptr_equal(p, (const unsigned char *)copy + bytes.len);
		assert_ptr_equal(out->table, b);
		assert_string_equal(out->host, "node-1.site");
		assert_int_equal(out->job, in->job);
		assert_int_equal(out->absent, 0);
		for (size_t i = 0; i < b->field_count; i++)
			if (b->fields[i].type == ROW_F32)
				assert_true(out->values[i].f == in->values[i].f);
			else if (b->fields[i].type != ROW_TEXT)
				assert_int_equal(out->values[i].i, in->values[i].i);
		assert_string_equal(out->involved, in->involved);
		colmet_pack(out, &again);
		assert_memory_equal(again.buf, bytes.buf, bytes.len);
	}
}

/* -1 is colmet's word for what is not there, and only where numbers have a sign. */
static void what_is_absent(void **state)
{
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT, why = STRBUF_INIT, again = STRBUF_INIT;
	_cleanup_free_ struct fixed_row *r = xmalloc(sizeof(*r));
	const struct row_table *procstats = &colmet_backends[1], *perfhw = &colmet_backends[4];
	int load = row_field_find(procstats, "loadavg_5min");

	(void)state;
	make_record(r, perfhw, 5, 100);
	r->values[3].i = -1;
	r->values[4].i = -2;
	colmet_pack(r, &bytes);
	make_record(r, procstats, 0, 100);
	r->values[1].i = -1;
	r->values[load].f = __builtin_nanf("");
	r->involved[0] = 0;
	colmet_pack(r, &bytes);
	const unsigned char *p = (const unsigned char *)bytes.buf, *end = p + bytes.len;
	assert_int_equal(colmet_unpack(&p, end, r, &why), 1);
	assert_int_equal(r->absent, 1 << 3);
	colmet_pack(r, &again);
	assert_int_equal(colmet_unpack(&p, end, r, &why), 1);
	assert_true(r->absent == ((uint64_t)1 << 1 | (uint64_t)1 << load | (uint64_t)1 << 63));
	colmet_pack(r, &again);
	assert_memory_equal(again.buf, bytes.buf, bytes.len);
	assert_int_equal(colmet_unpack(&p, end, r, &why), 0);
}

static int unpack(const char *bytes, size_t n, char *why, size_t size)
{
	_cleanup_free_ struct fixed_row *r = xmalloc(sizeof(*r));
	_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;
	_cleanup_free_ char *copy = exact_copy(bytes, n);
	const unsigned char *p = (const unsigned char *)copy;
	int got = colmet_unpack(&p, p + n, r, &reason);

	snprintf(why, size, "%s", reason.buf);
	assert_int_equal(got<0, reason.len> 0);
	return got;
}

static void refused(void **state)
{
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT;
	_cleanup_free_ struct fixed_row *r = xmalloc(sizeof(*r));
	static const struct {
		size_t at;
		const char *bytes;
		size_t size;
		const char *why;
	} changes[] = {
		{0, "x", 1, "unknown backend 'xrocstats_default'"},
		{17, "x", 1, "unknown backend 'procstats_defaultx'"},
		{200, "x", 1, "unknown backend 'procstats_default'"},
		{0, "\x1b[2J", 4, "unknown backend '\\x1b[2Jstats_default'"},
		{255, "\0", 1, "no valid host name"},
		{255, "/", 1, "no valid host name"},
		{255, ".", 1, "no valid host name"},
		{256, "\xc3\xa9", 2, "no valid host name"},
		{509, "x", 1, "no valid host name"},
		{517, "\x80", 1, "impossible job"},
		{525, "\x01", 1, "impossible time"},
		{1010, "{", 1, "are not a list"},
		{1011, "-", 1, "are not a list"},
		{1012, "]", 1, "are not a list"},
		{1016, "\0", 1, "are not a list"},
		{9201, "x", 1, "are not a list"},
	};

	(void)state;
	make_record(r, &colmet_backends[1], 0, 1794709883);
	colmet_pack(r, &bytes);
	assert_memory_equal(bytes.buf + 1010, "[1000, 1001]", 12);
	for (size_t i = 0; i < ARRAY_SIZE(changes); i++) {
		_cleanup_free_ char *copy = exact_copy(bytes.buf, bytes.len);
		char why[256];

		memcpy(copy + changes[i].at, changes[i].bytes, changes[i].size);
		assert_int_equal(unpack(copy, bytes.len, why, sizeof(why)), -EBADMSG);
		assert_contains(why, changes[i].why);
	}
}

/* A list that was cut at the end of its field is taken, without the number that was cut. */
static void a_list_that_was_cut(void **state)
{
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT, why = STRBUF_INIT;
	_cleanup_(strbuf_release) struct strbuf list = STRBUF_INIT;
	_cleanup_free_ struct fixed_row *r = xmalloc(sizeof(*r));
	struct taken t = TAKEN_INIT;
	enum colmet_dialect dialect;

	(void)state;
	for (unsigned i = 0; list.len < 2 * ROW_JOBS_TEXT; i++)
		strbuf_addf(&list, "%s%u", i ? ", " : "[", 1000000 + i);
	make_record(r, &colmet_backends[8], 0, 100);
	memcpy(r->involved, list.buf, ROW_JOBS_TEXT);
	r->involved[ROW_JOBS_TEXT] = 0;
	colmet_pack(r, &bytes);
	assert_int_equal(bytes.len, 8726);
	assert_int_equal(colmet_read(bytes.buf, bytes.len, &dialect, take_batch, &t, &why), 1);
	/* 8192 bytes are "[", 910 numbers of 7 digits with ", " between them, and a part of one */
	assert_contains(t.text.buf, ", 1000908, 1000909]\n");
	assert_null(strstr(t.text.buf, "1000910"));
	strbuf_release(&t.text);
}

/* Every shorter message, and every byte changed: decoded or refused, never more than is there. */
static void truncations_and_changes(void **state)
{
	_cleanup_strbuf_ struct strbuf bytes = STRBUF_INIT;
	_cleanup_free_ struct fixed_row *r = xmalloc(sizeof(*r));
	size_t decoded = 0, refusals = 0;
	char why[256];

	(void)state;
	make_record(r, &colmet_backends[0], 1000, 1794709883);
	colmet_pack(r, &bytes);
	for (size_t n = 0; n < bytes.len; n++)
		assert_int_equal(unpack(bytes.buf, n, why, sizeof(why)), n ? -EBADMSG : 0);
	for (size_t i = 0; i < bytes.len; i++)
		for (unsigned bit = 0; bit < 8; bit += 7) {
			bytes.buf[i] = (char)(bytes.buf[i] ^ 1 << bit);
			int got = unpack(bytes.buf, bytes.len, why, sizeof(why));
			bytes.buf[i] = (char)(bytes.buf[i] ^ 1 << bit);
			assert_true(got == 1 || got == -EBADMSG);
			decoded += got == 1;
			refusals += got < 0;
		}
	/* values, most of job and time may be anything; names and their padding may not */
	assert_in_range(decoded, 2 * 236, 2 * (236 + 16 + 11));
	assert_in_range(refusals, 2 * (510 - 11), 2 * 526);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_are_those_of_the_wire),
		cmocka_unit_test(a_captured_message),
		cmocka_unit_test(every_backend_packed_and_unpacked),
		cmocka_unit_test(what_is_absent),
		cmocka_unit_test(refused),
		cmocka_unit_test(a_list_that_was_cut),
		cmocka_unit_test(truncations_and_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
