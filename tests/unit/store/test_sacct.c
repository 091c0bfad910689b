/* Output of sacct: every unit at its borders, ids of arrays, heterogeneous jobs and steps, columns
 * in any order, and lines that are none. */
#include "store/import/sacct.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

/* The dict of one value, as JSON; "-" if it is refused. */
static const char *json_of(enum sacct_type type, const char *key, const char *text)
{
	static char out[512];
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	_cleanup_value_ struct value *to = value_new(VALUE_DICT);

	if (sacct_take_value(to, key, type, text, &why) < 0) {
		assert_true(why.len > 0);
		return "-";
	}
	value_to_json(to, &j, NULL);
	snprintf(out, sizeof(out), "%s", j.out.buf);
	return out;
}

#define IS(type, text, want) assert_string_equal(json_of(type, "k", text), want)

static void sizes(void **state)
{
	(void)state;
	IS(SACCT_SIZE, "4Gn", "{\"k\":4294967296,\"k_per\":\"node\"}");
	IS(SACCT_SIZE, "2000Mc", "{\"k\":2097152000,\"k_per\":\"cpu\"}");
	IS(SACCT_SIZE, "1180K", "{\"k\":1208320}");
	IS(SACCT_SIZE, "0", "{\"k\":0}");
	IS(SACCT_SIZE, "1.50G", "{\"k\":1610612736}");
	IS(SACCT_SIZE, "12.25M?", "{\"k\":12845056}");
	IS(SACCT_SIZE, "64000", "{\"k\":64000}");
	IS(SACCT_SIZE, "", "{}");
	IS(SACCT_SIZE, "4X", "-");
	IS(SACCT_SIZE, "-4G", "-");
	IS(SACCT_SIZE, "4Gnn", "-");
	IS(SACCT_SIZE, "1e3", "-");
	IS(SACCT_SIZE, "99999999999999999999E", "{}"); /* not set */
	IS(SACCT_SIZE, "9999E", "-");
	IS(SACCT_SIZE, "nan", "{}");
	IS(SACCT_SIZE, "inf", "-");
}

static void durations(void **state)
{
	(void)state;
	IS(SACCT_DURATION, "1-02:03:04", "{\"k\":93784}");
	IS(SACCT_DURATION, "02:03:04", "{\"k\":7384}");
	IS(SACCT_DURATION, "03:04.567", "{\"k\":184.567}");
	IS(SACCT_DURATION, "00:00:00", "{\"k\":0}");
	IS(SACCT_DURATION, "365-00:00:00", "{\"k\":31536000}");
	IS(SACCT_DURATION, "UNLIMITED", "{\"k\":\"unlimited\"}");
	IS(SACCT_DURATION, "Partition_Limit", "{}");
	IS(SACCT_DURATION, "Unknown", "{}");
	IS(SACCT_DURATION, "12", "-");
	IS(SACCT_DURATION, "1:2:3:4", "-");
	IS(SACCT_DURATION, "01:02:", "-");
	IS(SACCT_DURATION, ":01:02", "-");
	IS(SACCT_DURATION, "1-2-3:04", "-");
	IS(SACCT_DURATION, "-01:02", "-");
	IS(SACCT_MINUTES, "60", "{\"k\":3600}");
	IS(SACCT_MINUTES, "UNLIMITED", "{\"k\":\"unlimited\"}");
	IS(SACCT_MINUTES, "1h", "-");
	IS(SACCT_SECONDS, "86400", "{\"k\":86400}");
}

static void times_and_codes(void **state)
{
	(void)state;
	IS(SACCT_TIME, "2026-03-01T04:05:06", "{\"k\":\"2026-03-01T04:05:06.000000+00:00\"}");
	IS(SACCT_TIME, "1772337906", "{\"k\":\"2026-03-01T04:05:06.000000+00:00\"}");
	IS(SACCT_TIME, "Unknown", "{}");
	IS(SACCT_TIME, "None", "{}");
	IS(SACCT_TIME, "now", "-");
	IS(SACCT_TIME, "-3d", "-");
	IS(SACCT_TIME, "2026-02-30T00:00:00", "-");
	IS(SACCT_TIME, "2026-13-01T00:00:00", "-");
	assert_string_equal(json_of(SACCT_EXIT, "exit_code", "1:9"),
			    "{\"exit_code\":1,\"exit_signal\":9}");
	assert_string_equal(json_of(SACCT_EXIT, "exit_code", "1"), "-");
	assert_string_equal(json_of(SACCT_EXIT, "exit_code", "-1:0"), "-");
	assert_string_equal(json_of(SACCT_EXIT, "exit_code", ":"), "-");
	IS(SACCT_STATE, "CANCELLED by 1000", "{\"cancelled_by\":\"1000\",\"k\":\"CANCELLED\"}");
	IS(SACCT_STATE, "OUT_OF_MEMORY", "{\"k\":\"OUT_OF_MEMORY\"}");
	IS(SACCT_COUNT, "1152", "{\"k\":1152}");
	IS(SACCT_COUNT, "1.5K", "{\"k\":1500}");
	IS(SACCT_COUNT, "1x", "-");
	IS(SACCT_ENERGY, "2.50M", "{\"k\":2500000}");
	IS(SACCT_ENERGY, "18446744073709551614", "{}");
	assert_string_equal(json_of(SACCT_TRES, "alloc_tres", "cpu=2,gres/gpu=4,mem=4G"),
			    "{\"alloc_tres\":\"cpu=2,gres/gpu=4,mem=4G\",\"alloc_gpus\":4}");
	assert_string_equal(json_of(SACCT_TRES, "req_tres", "gres/gpu:a100=4"),
			    "{\"req_tres\":\"gres/gpu:a100=4\"}");
}

static void hostile_texts(void **state)
{
	(void)state;
	IS(SACCT_TEXT, "a\x1b[31m\xff", "{\"k\":\"a\\\\x1b[31m\\\\xff\"}");
	assert_null(
		strstr(json_of(SACCT_COMMAND, "k", "sbatch --password=hunter2 job.sh"), "hunter2"));
}

/* ---- lines ---------------------------------------------------------------------------------- */

/* Every record as "ID facts", one per line. */
static int add_record(void *user, const struct sacct_record *r, struct strbuf *why)
{
	struct strbuf *out = user;
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	(void)why;
	value_to_json(r->facts, &j, NULL);
	strbuf_addf(out, "%s%s%s %s\n", r->id, r->whole ? "" : "?", r->task ? "t" : "", j.out.buf);
	return 0;
}

static int read_lines(const char *text, struct strbuf *out, struct strbuf *why)
{
	_cleanup_sacct_ struct sacct s;
	int r = 0;

	sacct_init(&s, add_record, out);
	while (*text && r == 0) {
		size_t n = strcspn(text, "\n");

		r = sacct_line(&s, text, n, why);
		text += n + (text[n] == '\n');
	}
	return r < 0 ? r : sacct_end(&s, why);
}

static void good(const char *text, const char *want)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT, why = STRBUF_INIT;

	if (read_lines(text, &out, &why) < 0)
		fail_msg("%s", why.buf);
	assert_string_equal(out.buf, want);
}

static void bad(const char *text, const char *want)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT, why = STRBUF_INIT;

	assert_true(read_lines(text, &out, &why) < 0);
	if (!strstr(why.buf, want))
		fail_msg("'%s' does not say '%s'", why.buf, want);
}

static void jobs_and_steps(void **state)
{
	(void)state;
	/* any order, unknown columns, --parsable, CRLF, blank lines */
	good("State|AveRSS|JobID|\r\nFAILED|7|5|\r\n\r\n",
	     "5 {\"state\":\"FAILED\",\"jobid\":\"5\",\"step_count\":0}\n");
	/* the largest value of the steps, also where the job comes first */
	good("JobIDRaw|MaxRSS\n5|\n5.batch|2K\n5.0|1K\n6|\n",
	     "5 {\"max_rss\":2048,\"steps\":[{\"step\":\"batch\",\"max_rss\":2048},{\"step\":\"0\","
	     "\"max_rss\":1024}],\"step_count\":2}\n6 {\"step_count\":0}\n");
	/* steps alone */
	good("JobIDRaw|MaxRSS\n5.0|1K\n",
	     "5? {\"max_rss\":1024,\"steps\":[{\"step\":\"0\",\"max_rss\":1024}],\"step_count\":1}\n");
	/* arrays, pending ones and heterogeneous jobs */
	good("JobID|JobIDRaw\n5_1|6\n5_[2-9%4]|5\n7+1|8\n",
	     "6t {\"jobid\":\"5_1\",\"step_count\":0}\n5t {\"jobid\":\"5_[2-9%4]\",\"step_count\":0}\n"
	     "8 {\"jobid\":\"7+1\",\"step_count\":0}\n");
	/* a job that ran twice, and a second header with other columns */
	good("JobIDRaw|State\n5|REQUEUED\n5|COMPLETED\nState|JobIDRaw\nFAILED|6\n",
	     "5 {\"state\":\"REQUEUED\",\"step_count\":0}\n5 {\"state\":\"COMPLETED\",\"step_count\":0}\n"
	     "6 {\"state\":\"FAILED\",\"step_count\":0}\n");
}

/* The only free text may contain the separator; with two it is unclear which. */
static void separators_in_names(void **state)
{
	(void)state;
	good("JobIDRaw|JobName|State\n5|a|b||FAILED\n",
	     "5 {\"jobname\":\"a|b|\",\"state\":\"FAILED\",\"step_count\":0}\n");
	bad("JobIDRaw|JobName|State|Comment\n5|a|b|FAILED|\n", "5 fields, but the header has 4");
	bad("JobIDRaw|JobName|Unheard\n5|a|b|c\n", "leave its column out");
}

static void bad_lines(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT, why = STRBUF_INIT;
	_cleanup_free_ char *many = xmalloc(SACCT_COLUMNS_MAX + 8);
	_cleanup_sacct_ struct sacct s;

	(void)state;
	bad("", "no header");
	bad("       JobID    State\n------------ --------\n", "not a header");
	bad("State|Account\nFAILED|a\n", "not a header");
	bad("JobIDRaw|State\n5\n", "1 fields, but the header has 2");
	bad("JobIDRaw|State\nx|FAILED\n", "JobIDRaw: 'x' is not a job id");
	bad("JobIDRaw|State\n5';DROP TABLE job;|F\n", "is not a job id");
	bad("JobIDRaw|State\n99999999999999999999|F\n", "is not a job id");
	bad("JobIDRaw|NNodes\n5|four\n", "NNodes: 'four' is not a number");
	memset(many, '|', SACCT_COLUMNS_MAX + 7);
	many[SACCT_COLUMNS_MAX + 7] = 0;
	bad(many, "more than 256 fields");
	sacct_init(&s, add_record, &out);
	assert_int_equal(sacct_line(&s, "JobID|\0State", 12, &why), -EINVAL);
	assert_non_null(strstr(why.buf, "NUL"));
}

static void many_steps(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, out = STRBUF_INIT, why = STRBUF_INIT;

	(void)state;
	strbuf_addstr(&text, "JobIDRaw|State\n5|COMPLETED\n");
	for (int i = 0; i < 250; i++)
		strbuf_addf(&text, "5.%d|COMPLETED\n", i);
	assert_int_equal(read_lines(text.buf, &out, &why), 0);
	assert_non_null(strstr(out.buf, "\"step_count\":250"));
	assert_non_null(strstr(out.buf, "\"step\":\"99\""));
	assert_null(strstr(out.buf, "\"step\":\"100\""));
}

static int refuse(void *user, const struct sacct_record *r, struct strbuf *why)
{
	(void)user;
	(void)r;
	return strbuf_fail(why, -EIO, "the disk is full");
}

static void an_error_of_the_caller_ends_it(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_sacct_ struct sacct s;

	(void)state;
	sacct_init(&s, refuse, NULL);
	assert_int_equal(sacct_line(&s, "JobIDRaw|State", 14, &why), 0);
	assert_int_equal(sacct_line(&s, "5|F", 3, &why), 0);
	assert_int_equal(sacct_line(&s, "6|F", 3, &why), -EIO);
	assert_string_equal(why.buf, "the disk is full");
	assert_int_equal(s.line, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),
		cmocka_unit_test(durations),
		cmocka_unit_test(times_and_codes),
		cmocka_unit_test(hostile_texts),
		cmocka_unit_test(jobs_and_steps),
		cmocka_unit_test(separators_in_names),
		cmocka_unit_test(bad_lines),
		cmocka_unit_test(many_steps),
		cmocka_unit_test(an_error_of_the_caller_ends_it),
	};

	setenv("TZ", "UTC", 1);
	tzset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
