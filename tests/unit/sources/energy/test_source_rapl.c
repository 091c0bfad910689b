/*
 * The source "rapl": domains by their names, energy that wraps, is refused or odd.
 */
#include "source.h"

#define RAPL "sys/class/powercap"

static void put_zone(const char *zone, const char *name, const char *uj, const char *range)
{
	putf(RAPL "/%s/name", name, zone);
	putf(RAPL "/%s/energy_uj", uj, zone);
	if (range)
		putf(RAPL "/%s/max_energy_range_uj", range, zone);
}

static void zones_have_the_names_of_their_domains(void **state)
{
	(void)state;
	put(RAPL "/intel-rapl/enabled", "1\n");
	put_zone("intel-rapl:0", "package-0\n", "1000000\n", "262143328850\n");
	put_zone("intel-rapl:0:0", "core\n", "400000\n", "262143328850\n");
	put_zone("intel-rapl:0:1", "uncore\n", "5\n", "262143328850\n");
	put_zone("intel-rapl:0:2", "dram\n", "30000\n", "65712999613\n");
	put_zone("intel-rapl:1", "package-1\n", "2000000\n", "262143328850\n");
	put_zone("intel-rapl:1:0", "dram\n", "40000\n", "65712999613\n");
	put_zone("intel-rapl:2", "psys\n", "9000000\n", "262143328850\n");
	put_zone("intel-rapl:3", "package-2-die-1\n", "3000000\n", "262143328850\n");
	put_zone("intel-rapl:3:0", "core\n", "11\n", "262143328850\n");
	put_zone("intel-rapl-mmio:0", "package-0\n", "77\n", "262143328850\n");
	put_zone("dtpm:0", "soc\n", "77\n", "262143328850\n");
	put(RAPL "/intel-rapl:9/energy_uj", "5\n"); /* without a name */
	check_probe("rapl", NULL, 0, "package-0, core-0, uncore-0, dram-0, package-1");
	begin("rapl", NULL);
	check_value(ENTITY_PACKAGE, "package-0", "energy", 1000000);
	check_value(ENTITY_PACKAGE, "core-0", "energy", 400000);
	check_value(ENTITY_PACKAGE, "uncore-0", "energy", 5);
	check_value(ENTITY_PACKAGE, "dram-0", "energy", 30000);
	check_value(ENTITY_PACKAGE, "dram-1", "energy", 40000);
	check_value(ENTITY_PACKAGE, "psys-0", "energy", 9000000);
	check_value(ENTITY_PACKAGE, "package-2-die-1", "energy", 3000000);
	check_value(ENTITY_PACKAGE, "core-2-die-1", "energy", 11);
	check_fact(ENTITY_PACKAGE, "dram-0", "range_joules", "65713");
	check_fact(ENTITY_PACKAGE, "dram-0", "zone", "intel-rapl:0:2");
	/* cores are part of their package, memory is not */
	check_values(ENTITY_NODE, "node", {"package_energy", 6000000}, {"dram_energy", 70000},
		     {"psys_energy", 9000000}, {"energy", 6070000});
	assert_int_equal(R.set.row_count, 10);
	double joules = sample_value(&R.set, 0, 0);
	assert_true(joules > 0.999999 && joules < 1.000001);
}

static void energy_wraps_at_its_range(void **state)
{
	(void)state;
	put_zone("intel-rapl-mmio:0", "package-0\n", "900\n", "999\n");
	put_zone("intel-rapl:1", "package-1\n", "100\n", "999\n");
	begin("rapl", NULL);
	check_node("energy", 1000);
	assert_string_equal(absence("dram_energy"), "the processor has no such counter");
	put(RAPL "/intel-rapl-mmio:0/energy_uj", "50\n");
	assert_int_equal(take(), 0);
	check_value(ENTITY_PACKAGE, "package-0", "energy", 1050);
	check_node("package_energy", 1150);
	put(RAPL "/intel-rapl-mmio:0/energy_uj", "50\n");
	put(RAPL "/intel-rapl:1/energy_uj", "99\n");
	assert_int_equal(take(), 0);
	check_value(ENTITY_PACKAGE, "package-0", "energy", 1050);
	check_value(ENTITY_PACKAGE, "package-1", "energy", 1099);

	/* a part that is missing once: no total, which would fall and rise again */
	put(RAPL "/intel-rapl:1/energy_uj", "busy\n");
	assert_int_equal(take(), 0);
	assert_false(has_row(ENTITY_PACKAGE, "package-1"));
	check_value(ENTITY_PACKAGE, "package-0", "energy", 1050);
	check_none(ENTITY_NODE, "node", "energy");
	check_none(ENTITY_NODE, "node", "package_energy");
	put(RAPL "/intel-rapl-mmio:0/energy_uj", "");
	assert_int_equal(take(), -ENODATA);
}

static void energy_that_is_refused_or_odd(void **state)
{
	(void)state;
	check_probe("rapl", NULL, -ENOENT, "no energy counters");
	put_zone("intel-rapl:0", "package-0\n", "18446744073709551616\n", NULL);
	check_probe("rapl", NULL, -ERANGE, "cannot read");
	put_zone("intel-rapl:0", "package-0\n", "5000\n", NULL);
	put_zone("intel-rapl:1", "package-1\n", "\n", "0\n");
	check_probe("rapl", NULL, 0, "package-0; cannot read");
	begin("rapl", NULL);
	/* of two packages one is no total */
	check_none(ENTITY_NODE, "node", "energy");
	check_value(ENTITY_PACKAGE, "package-0", "energy", 5000);
	/* without a range it may only have begun again */
	put(RAPL "/intel-rapl:0/energy_uj", "40\n");
	assert_int_equal(take(), 0);
	check_value(ENTITY_PACKAGE, "package-0", "energy", 5040);

	drop(RAPL "/intel-rapl:1");
	mode(RAPL "/intel-rapl:0/energy_uj", 0000);
	become_user();
	check_probe("rapl", NULL, -EACCES, "intel-rapl:0/energy_uj': Permission denied");
	assert_int_equal(probe("rapl", NULL), -EACCES);
	assert_contains(R.report.remedy, "chmod a+r /sys/class/powercap/");
	assert_int_equal(start("rapl", NULL), -EACCES);
	become_again();
}

/* A fall that would be more power than a package can draw is no wrap. */
static void energy_that_is_set_back(void **state)
{
	(void)state;
	put_zone("intel-rapl:0", "package-0\n", "100000000000\n", "262143328850\n");
	begin("rapl", NULL);
	check_node("energy", 100000000000);
	put(RAPL "/intel-rapl:0/energy_uj", "5000000\n");
	assert_int_equal(take_later(1), 0);
	assert_false(has_row(ENTITY_PACKAGE, "package-0"));
	check_none(ENTITY_NODE, "node", "energy");
	put(RAPL "/intel-rapl:0/energy_uj", "205000000\n");
	assert_int_equal(take_later(2), 0);
	check_value(ENTITY_PACKAGE, "package-0", "energy", 100200000000);
	check_fact(ENTITY_PACKAGE, "package-0", "resets", "1");
	/* at the end of its range it wraps: 943 J in 10 s */
	put(RAPL "/intel-rapl:0/energy_uj", "262000000000\n");
	assert_int_equal(take_later(2000), 0);
	put(RAPL "/intel-rapl:0/energy_uj", "800000000\n");
	assert_int_equal(take_later(2010), 0);
	check_value(ENTITY_PACKAGE, "package-0", "energy",
		    100200000000 + 261795000000 + 143328851 + 800000000);
	check_fact(ENTITY_PACKAGE, "package-0", "resets", "1");
}

/* A zone that may not be read is said to be there; what it is part of is absent. */
static void energy_of_a_zone_that_is_refused(void **state)
{
	(void)state;
	put_zone("intel-rapl:0", "package-0\n", "5000\n", "999999\n");
	put_zone("intel-rapl:1", "package-1\n", "6000\n", "999999\n");
	put_zone("intel-rapl:1:0", "core\n", "10\n", "999999\n");
	mode(RAPL "/intel-rapl:1/energy_uj", 0000);
	become_user();
	begin("rapl", NULL);
	check_value(ENTITY_PACKAGE, "package-0", "energy", 5000);
	check_value(ENTITY_PACKAGE, "core-1", "energy", 10);
	assert_true(has_entity(ENTITY_PACKAGE, "package-1"));
	assert_false(has_row(ENTITY_PACKAGE, "package-1"));
	check_none(ENTITY_NODE, "node", "energy");
	assert_contains(absence("package_energy"), "package-1 cannot be read: Permission denied");
	become_again();
	mode(RAPL "/intel-rapl:1/energy_uj", 0444);
	assert_int_equal(take(), 0);
	check_node("package_energy", 11000);
	check_fact(ENTITY_PACKAGE, "package-1", "left_out", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_source(zones_have_the_names_of_their_domains),
		with_source(energy_wraps_at_its_range),
		with_source(energy_that_is_refused_or_odd),
		with_source(energy_that_is_set_back),
		with_source(energy_of_a_zone_that_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
