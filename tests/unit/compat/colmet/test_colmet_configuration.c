/* The message to the configuration port of colmet's Rust version, in both spellings. */
#include "colmet.h"

#define METRICS_MESSAGE                                            \
	"\x82\xa7metrics\xb0rss,nr_throttled\xadsample_period\xa3" \
	"0.5"
#define PERFHW_MESSAGE                                   \
	"\x82\xaeperfhw_metrics\xb9"                     \
	"cache_ll,emulation_faults\xadsample_period\xa3" \
	"1.5"

static int read_one(const void *p, size_t n, struct colmet_configuration *ret, char *why,
		    size_t size)
{
	_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;
	_cleanup_free_ char *copy = exact_copy(p, n);
	int r = colmet_read_configuration(copy, n, ret, &reason);

	assert_int_equal(r<0, reason.len> 0);
	snprintf(why, size, "%s", reason.buf);
	return r;
}

static void expect(const void *p, size_t n, const char *wanted, double period)
{
	struct colmet_configuration c;
	char why[256];

	assert_int_equal(read_one(p, n, &c, why, sizeof(why)), 0);
	assert_string_equal(c.metrics, wanted);
	assert_true(c.period_s == period);
}

static void both_spellings(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	struct colmet_configuration c = {.metrics = "rss,nr_throttled", .period_s = 0.5};
	size_t n = 0;

	(void)state;
	expect(METRICS_MESSAGE, sizeof(METRICS_MESSAGE) - 1, "rss,nr_throttled", 0.5);
	expect(PERFHW_MESSAGE, sizeof(PERFHW_MESSAGE) - 1, "cache_ll,emulation_faults", 1.5);
	expect("\x80", 1, "", 0);
	expect("\x81\xadsample_period\x05", 16, "", 5);
	expect("\x81\xadsample_period\xcb\x3f\xf8\0\0\0\0\0\0", 24, "", 1.5);
	expect("\x81\xadsample_period\xca\x3f\xc0\0\0", 20, "", 1.5);
	/* what we write is what colmet's tool writes */
	colmet_write_configuration(&c, &out);
	assert_text(&out, METRICS_MESSAGE);

	_cleanup_free_ char *metrics_form = captured("rust_config_metrics.bin", &n);
	if (!metrics_form)
		skip_because("no sample data beside the project");
	assert_int_equal(n, out.len);
	assert_memory_equal(metrics_form, out.buf, n);
	_cleanup_free_ char *perfhw_form = captured("rust_config_perfhw_metrics.bin", &n);
	expect(perfhw_form, n, "cache_ll,emulation_faults", 1.5);
}

static void written_and_read(void **state)
{
	struct colmet_configuration c = {.period_s = 86400}, got;
	char why[256];

	(void)state;
	for (size_t n = 0; n < sizeof(c.metrics); n = n * 2 + 1) {
		_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

		memset(c.metrics, 'x', n);
		colmet_write_configuration(&c, &out);
		assert_int_equal(read_one(out.buf, out.len, &got, why, sizeof(why)), 0);
		assert_string_equal(got.metrics, c.metrics);
		assert_true(got.period_s == c.period_s);
		c.period_s = 0.125 + (double)n;
	}
}

static void refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		const char *why;
	} wrong[] = {
#define WRONG(text, why) {text, sizeof(text) - 1, why}
		WRONG("", "configuration is not a map"),
		WRONG("\x91\xa1x", "configuration is not a map"),
		WRONG("metrics=rss", "configuration is not a map"),
		WRONG("\x81\xa7metrics", "truncated"),
		WRONG("\x81\x01\xa1x", "a key is not a string"),
		WRONG("\x81\xa7metricz\xa1x", "unknown key in the configuration: 'metricz'"),
		WRONG("\x81\xa2\x1b]\xa1x", "unknown key in the configuration: '\\x1b]'"),
		WRONG("\x81\xa7metrics\x05", "no valid value for 'metrics'"),
		WRONG("\x81\xa7metrics\xa1\n", "no valid value for 'metrics'"),
		WRONG("\x82\xa7metrics\xa1x\xaeperfhw_metrics\xa1y",
		      "two values for 'perfhw_metrics'"),
		WRONG("\x81\xadsample_period\xa1-", "no valid value for 'sample_period'"),
		WRONG("\x81\xadsample_period\xa1.", "no valid value for 'sample_period'"),
		WRONG("\x81\xadsample_period\xa0", "no valid value for 'sample_period'"),
		WRONG("\x81\xadsample_period\xa1"
		      "0",
		      "no valid value for 'sample_period'"),
		WRONG("\x81\xadsample_period\xa5"
		      "1.2.3",
		      "no valid value for 'sample_period'"),
		WRONG("\x81\xadsample_period\xa5"
		      "99999",
		      "no valid value for 'sample_period'"),
		WRONG("\x81\xadsample_period\xff", "no valid value for 'sample_period'"),
		WRONG("\x81\xadsample_period\xcb\x7f\xf8\0\0\0\0\0\0",
		      "no valid value for 'sample_period'"),
		WRONG("\x81\xa7metrics\xa1x\x01", "followed by other bytes"),
	};
	struct colmet_configuration c;
	char why[256], long_one[1100] = "\x81\xa7metrics\xda\x04\x00";

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		assert_int_equal(read_one(wrong[i].bytes, wrong[i].size, &c, why, sizeof(why)),
				 -EBADMSG);
		assert_contains(why, wrong[i].why);
	}
	/* one more than fits: 1024 bytes */
	memset(long_one + 12, 'x', 1024);
	assert_int_equal(read_one(long_one, 12 + 1024, &c, why, sizeof(why)), -EBADMSG);
	assert_contains(why, "no valid value for 'metrics'");
	long_one[10] = 3;
	long_one[11] = (char)0xff;
	assert_int_equal(read_one(long_one, 12 + 1023, &c, why, sizeof(why)), 0);
	assert_int_equal(strlen(c.metrics), 1023);
}

static void truncations_and_changes(void **state)
{
	struct colmet_configuration c;
	size_t size = sizeof(PERFHW_MESSAGE) - 1;
	char why[256];

	(void)state;
	for (size_t n = 0; n < size; n++)
		assert_int_equal(read_one(PERFHW_MESSAGE, n, &c, why, sizeof(why)), -EBADMSG);
	for (size_t i = 0; i < size; i++)
		for (unsigned v = 0; v < 256; v++) {
			_cleanup_free_ char *copy = exact_copy(PERFHW_MESSAGE, size);

			copy[i] = (char)v;
			int r = read_one(copy, size, &c, why, sizeof(why));
			assert_true(r == 0 || r == -EBADMSG);
		}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_spellings),
		cmocka_unit_test(written_and_read),
		cmocka_unit_test(refused),
		cmocka_unit_test(truncations_and_changes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
