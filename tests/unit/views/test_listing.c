/* Lists of rows: the same calls as JSON and as a table. */
#include "views/listing.h"
#include "unit.h"

enum { NAME, COUNT, GOOD, SHOWN };
static const struct listing_column columns[] = {
	[NAME] = {"name", "NAME", 0},
	[COUNT] = {"count", "COUNT", COLUMN_RIGHT},
	[GOOD] = {"good", NULL, 0},
	[SHOWN] = {NULL, "SHOWN", 0},
};

static char printed[1024];

/* Prints two rows; what came out is in printed. */
static void print(bool json)
{
	int kept = dup(STDOUT_FILENO), to = memfd_create("stdout", MFD_CLOEXEC);
	struct listing l;

	fflush(stdout);
	dup2(to, STDOUT_FILENO);
	listing_begin(&l, columns, ARRAY_SIZE(columns), json);
	listing_row(&l, 0);
	listing_str(&l, NAME, "first");
	listing_u64(&l, COUNT, 7);
	listing_bool(&l, GOOD, true);
	listing_strf(&l, SHOWN, "%d%%", 50);
	listing_row(&l, 'y');
	listing_str(&l, NAME, NULL);
	assert_int_equal(listing_end(&l), 0);
	fflush(stdout);
	dup2(kept, STDOUT_FILENO);
	close(kept);
	ssize_t n = pread(to, printed, sizeof(printed) - 1, 0);
	printed[n > 0 ? n : 0] = 0;
	close(to);
}

static void test_json(void **state)
{
	_cleanup_strbuf_ struct strbuf packed = STRBUF_INIT;

	(void)state;
	print(true);
	for (const char *p = printed; *p; p++)
		if (*p != ' ' && *p != '\n')
			strbuf_addch(&packed, *p);
	assert_string_equal(packed.buf,
			    "[{\"name\":\"first\",\"count\":7,\"good\":true},{\"name\":null}]");
}

static void test_table(void **state)
{
	(void)state;
	print(false);
	assert_non_null(strstr(printed, "NAME"));
	assert_non_null(strstr(printed, "SHOWN"));
	assert_null(strstr(printed, "good"));
	assert_non_null(strstr(printed, "first"));
	assert_non_null(strstr(printed, "50%"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_json),
					   cmocka_unit_test(test_table)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
