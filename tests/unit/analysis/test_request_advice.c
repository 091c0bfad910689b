/* What a job should ask for: only what its own run and earlier ones prove. */
#include "unit.h"

#include <math.h>

#include "analysis/request_advice.h"

#define MIB (1024.0 * 1024)
#define GIB (1024.0 * MIB)

static void near(double a, double b)
{
	if (!(fabs(a - b) <= 1e-6 * (1 + fabs(b))))
		fail_msg("%g, expected %g", a, b);
}

static void cores(void **state)
{
	const double flat[] = {1.02, 1.01, 1.0}, burst[] = {1, 1, 1, 8}, half[] = {2, 8},
		     s[] = {10, 10, 10, 0.01}, t[] = {5, 5};

	(void)state;
	/* more than one by the width of a sample is one */
	near(cores_needed(flat, s, 3), 1);
	near(cores_needed(burst, s, 4), 1);
	near(cores_needed(half, t, 2), 8);
	assert_true(isnan(cores_needed(flat, s, 0)));
	assert_true(isnan(cores_needed((const double[]){NAN, 0}, t, 2)));
}

static struct run_use use(double c, double memory, double seconds, bool complete)
{
	return (struct run_use){{c, memory, seconds, NAN}, complete, false, false, false};
}

static void smaller(void **state)
{
	const struct run_use now = use(2, 280 * MIB, 1000, true);
	const double asked[] = {16, 8 * GIB, 36000, NAN};
	struct request_advice a[ADVICE_ITEMS];

	(void)state;
	request_advise(&now, NULL, 0, asked, 1, a);
	near(a[ADVICE_CORES].suggested, 2);
	near(a[ADVICE_CORES].saving, 14 * 1000.0);
	near(a[ADVICE_MEMORY].suggested, 384 * MIB);
	near(a[ADVICE_TIME].suggested, 1500);
	near(a[ADVICE_TIME].saving, 34500);
	assert_true(isnan(a[ADVICE_GPUS].suggested));
	assert_non_null(a[ADVICE_GPUS].reason);
	/* four tasks share the cores: each gets the same number */
	request_advise(&now, NULL, 0, asked, 4, a);
	near(a[ADVICE_CORES].suggested, 4);
}

/* Hosts without a record may need more; a request of 0 would be one for everything. */
static void unknown_parts(void **state)
{
	struct run_use now = use(1, 280 * MIB, 0, true);
	const double asked[] = {16, 8 * GIB, 36000, NAN};
	struct request_advice a[ADVICE_ITEMS];

	(void)state;
	now.partly = true;
	request_advise(&now, NULL, 0, asked, 2, a);
	assert_true(isnan(a[ADVICE_CORES].suggested) && isnan(a[ADVICE_MEMORY].suggested));
	assert_non_null(strstr(a[ADVICE_MEMORY].reason, "some of its hosts"));
	near(a[ADVICE_TIME].suggested, 300);
}

static void earlier_runs(void **state)
{
	const struct run_use now = use(2, GIB, 600, true),
			     past[] = {use(2, 2 * GIB, 500, true), use(2, GIB, 4000, true),
				       use(9, 90 * GIB, 9e9, false), use(NAN, NAN, 100, true)};
	const double asked[] = {16, 64 * GIB, 86400, NAN};
	struct request_advice a[ADVICE_ITEMS];

	(void)state;
	request_advise(&now, past, ARRAY_SIZE(past), asked, 1, a);
	assert_false(a[ADVICE_CORES].raised);
	assert_int_equal(a[ADVICE_CORES].past, 2);
	assert_int_equal(a[ADVICE_CORES].fit, 2);
	assert_true(a[ADVICE_MEMORY].raised);
	assert_int_equal(a[ADVICE_MEMORY].past, 2);
	assert_int_equal(a[ADVICE_MEMORY].fit, 1);
	near(a[ADVICE_MEMORY].suggested, 2.5 * GIB);
	assert_int_equal(a[ADVICE_TIME].past, 3);
	near(a[ADVICE_TIME].suggested, 5100);
}

/* No advice that could end the next run. */
static void none(void **state)
{
	const double asked[] = {4, 300 * MIB, 700, NAN}, nothing[] = {NAN, NAN, NAN, NAN};
	const struct run_use failed = use(1, 100 * MIB, 10, false),
			     full = use(4, 290 * MIB, 690, true),
			     unknown = use(NAN, NAN, NAN, true);
	struct request_advice a[ADVICE_ITEMS];

	(void)state;
	request_advise(&failed, NULL, 0, asked, 1, a);
	for (size_t i = 0; i < ADVICE_ITEMS; i++)
		assert_true(isnan(a[i].suggested));
	request_advise(&unknown, NULL, 0, asked, 1, a);
	for (size_t i = 0; i < ADVICE_ITEMS; i++)
		assert_true(isnan(a[i].suggested) && a[i].reason);
	/* files in memory that nobody looked at: no smaller memory, the rest as before */
	struct run_use files = use(1, 100 * MIB, 10, true);
	files.files = true;
	request_advise(&files, NULL, 0, nothing, 1, a);
	assert_true(isnan(a[ADVICE_MEMORY].suggested) && a[ADVICE_MEMORY].reason);
	assert_true(a[ADVICE_CORES].suggested == 1);
	/* close to the limits: more memory and time, never more cores */
	request_advise(&full, NULL, 0, asked, 1, a);
	assert_true(isnan(a[ADVICE_CORES].suggested));
	near(a[ADVICE_MEMORY].suggested, 384 * MIB);
	near(a[ADVICE_TIME].suggested, 900);
	assert_true(isnan(a[ADVICE_TIME].saving));
	/* without a known request, what to ask for */
	request_advise(&full, NULL, 0, nothing, 1, a);
	near(a[ADVICE_CORES].suggested, 4);
	near(a[ADVICE_MEMORY].suggested, 384 * MIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cores),         cmocka_unit_test(smaller),
		cmocka_unit_test(unknown_parts), cmocka_unit_test(earlier_runs),
		cmocka_unit_test(none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
