/*
 * Energy shared out over jobs, on trees that are written here: the parts make the whole at every
 * reading, whoever measures it.
 */
#include "cgroup_jobs.h"
#include "source.h"

#include "sources/energy/job_energy.h"

static struct list L;

static int teardown(void **state)
{
	stop();
	list_close(&L);
	return source_teardown(state);
}

#define PACKAGE(n) "sys/class/powercap/intel-rapl:" n

static void put_energy(const char *package, const char *dram)
{
	put_files(PACKAGE("0"), {"name", "package-0\n"}, {"max_energy_range_uj", "999999999\n"},
		  {"energy_uj", package});
	put_files(PACKAGE("0:0"), {"name", "dram\n"}, {"max_energy_range_uj", "65532610987\n"},
		  {"energy_uj", dram});
	/* a part of the package: not counted again */
	put_files(PACKAGE("0:1"), {"name", "core\n"}, {"max_energy_range_uj", "65532610987\n"},
		  {"energy_uj", "777\n"});
}

static void put_job(const char *group, const char *cpu_ns)
{
	group_put("cpuacct", group, "10\n");
	putf("sys/fs/cgroup/cpuacct/%s/cpuacct.usage", cpu_ns, group);
}

static void open_energy(const char *option)
{
	stop();
	list_open(&L);
	R.ctx.jobs = L.jobs;
	if (start("job_energy", option) < 0)
		fail_msg("%s", R.why.buf);
}

static void next(void)
{
	assert_true(cgroup_jobs_update(L.jobs) >= 0);
	assert_int_equal(take(), 0);
	cgroup_jobs_forget(L.jobs);
}

static int64_t of(const char *job)
{
	return raw_value(ENTITY_JOB, job, "energy");
}

static int64_t rest(void)
{
	return raw_value(ENTITY_NODE, "node", "energy");
}

static int64_t whole(void)
{
	return raw_value(ENTITY_NODE, "node", "node_energy");
}

/* ---- sharing --------------------------------------------------------------------------------- */

static void check_shares(uint64_t sum, const uint64_t *weights, const uint64_t *want, size_t count)
{
	uint64_t parts[8];

	share_out(sum, weights, count, parts);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(parts[i], want[i]);
}

static void shares_of_the_largest_rest(void **state)
{
	(void)state;
	check_shares(100, (uint64_t[]){1, 1, 1}, (uint64_t[]){34, 33, 33}, 3);
	check_shares(10, (uint64_t[]){5, 3, 2}, (uint64_t[]){5, 3, 2}, 3);
	check_shares(7, (uint64_t[]){10, 20, 30, 0}, (uint64_t[]){1, 2, 4, 0}, 4);
	check_shares(9, (uint64_t[]){0, 0, 0}, (uint64_t[]){0, 0, 9}, 3);
	check_shares(0, (uint64_t[]){3, 4}, (uint64_t[]){0, 0}, 2);
	/* the largest numbers do not overflow */
	check_shares(UINT64_MAX, (uint64_t[]){UINT64_MAX / 2, UINT64_MAX / 2},
		     (uint64_t[]){UINT64_MAX / 2 + 1, UINT64_MAX / 2}, 2);
}

static void shares_sum_up_and_are_fair(void **state)
{
	uint64_t random = 42, weights[50], parts[50];

	(void)state;
	for (int round = 0; round < 2000; round++) {
		size_t count = 1 + random_next(&random) % 50;
		uint64_t sum = random_next(&random) >> (14 + random_next(&random) % 50);
		uint64_t got = 0, all = 0;

		for (size_t i = 0; i < count; i++) {
			weights[i] = random_next(&random) >> (8 + random_next(&random) % 50);
			all += weights[i];
		}
		share_out(sum, weights, count, parts);
		for (size_t i = 0; i < count; i++) {
			long double due = all ? (long double)sum * weights[i] / all : parts[i];

			got += parts[i];
			assert_true(parts[i] + 1.001L > due && parts[i] < due + 1.001L);
		}
		assert_true(got == sum);
	}
}

/* ---- RAPL ------------------------------------------------------------------------------------ */

static void parts_make_the_whole(void **state)
{
	(void)state;
	put("sys/devices/system/cpu/online", "0-3\n");
	put_energy("100000000\n", "5000\n");
	put_job("oar/alice_1", "1000000000\n");
	put_job("oar/bob_2", "5000000000\n");
	open_energy(NULL);
	next();
	assert_int_equal(whole(), 0);
	assert_int_equal(of("1") + of("2") + rest(), 0);
	check_fact(ENTITY_NODE, "node", "by", "rapl");
	/* more CPU time than there was: all of it is theirs, seven parts and three */
	put_energy("100000600\n", "5401\n");
	put_job("oar/alice_1", "7000001000000000\n");
	put_job("oar/bob_2", "3000005000000000\n");
	next();
	assert_int_equal(whole(), 1001);
	assert_int_equal(of("1"), 701);
	assert_int_equal(of("2"), 300);
	assert_int_equal(rest(), 0);
	/* nobody did anything: the node's own */
	put_energy("100001600\n", "5401\n");
	next();
	assert_int_equal(whole(), 2001);
	assert_int_equal(of("1"), 701);
	assert_int_equal(of("2"), 300);
	assert_int_equal(rest(), 1000);
	/* the counter of the package comes to its end and begins again */
	put_energy("999999900\n", "5401\n");
	next();
	put_energy("99\n", "5401\n");
	next();
	assert_int_equal(whole(), 2001 + 999999999 + 1 - 100001600 + 99);
	assert_int_equal(of("1") + of("2") + rest(), whole());
	/* it is set back: 1000 J in a moment would be no power of a package */
	put_energy("50\n", "5401\n");
	assert_true(cgroup_jobs_update(L.jobs) >= 0);
	assert_int_equal(take(), -EAGAIN);
	put_energy("60\n", "5401\n");
	next();
	assert_int_equal(whole(), 2001 + 999999999 + 1 - 100001600 + 99 + 10);
}

/* A time in which nobody measured, as that of a suspended computer, is not filled with power. */
static void gaps_have_no_power(void **state)
{
	int r = -EAGAIN;

	(void)state;
	put_files("sys/class/hwmon/hwmon1", {"name", "power_meter\n"},
		  {"power1_average", "250000000\n"});
	put_job("oar/alice_1", "0\n");
	open_energy(NULL);
	/* a reading of 100 seconds ago, and one of now */
	for (int i = 0; i < 1000 && r < 0; i++) {
		assert_true(cgroup_jobs_update(L.jobs) >= 0);
		r = take_later(-(uint64_t)100);
		if (r < 0)
			usleep(5000);
	}
	assert_int_equal(r, 0);
	assert_int_equal(whole(), 0);
	next();
	assert_int_equal(whole(), 0);
	/* ten seconds are no gap: 2.5 kJ */
	assert_true(cgroup_jobs_update(L.jobs) >= 0);
	assert_int_equal(take_later(10), 0);
	assert_in_range(whole(), 2490000000, 3500000000);
}

/* A half of one of two CPUs is a quarter of the energy, as the clock has it. */
static void idle_time_is_the_nodes(void **state)
{
	char text[32];

	(void)state;
	put("sys/devices/system/cpu/online", "0-1\n");
	put_energy("0\n", "0\n");
	put_job("oar/alice_1", "0\n");
	open_energy("rapl");
	next();
	uint64_t begin = R.set.time_ns;
	usleep(20000);
	put_energy("1000000\n", "0\n");
	struct timespec ts;
	clock_gettime(CLOCK_BOOTTIME, &ts);
	uint64_t now = (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
	snprintf(text, sizeof(text), "%llu\n", (unsigned long long)(now - begin) / 2);
	put_job("oar/alice_1", text);
	next();
	double part = (double)((now - begin) / 2) / (2.0 * (double)(R.set.time_ns - begin));
	assert_int_equal(whole(), 1000000);
	assert_int_equal(of("1") + rest(), 1000000);
	assert_true(of("1") > 1000000 * part - 1 && of("1") < 1000000 * part + 1);
	assert_true(of("1") <= 250000);
}

static void jobs_come_and_go(void **state)
{
	int64_t gone;

	(void)state;
	put_energy("0\n", "0\n");
	put_job("oar/alice_1", "1000\n");
	open_energy(NULL);
	next();
	put_energy("1000\n", "0\n");
	put_job("oar/alice_1", "9000000000000000\n");
	/* one that began since the last reading: all of its time is of this interval */
	put_job("oar/bob_2", "1000000000000000\n");
	next();
	assert_int_equal(of("1"), 900);
	assert_int_equal(of("2"), 100);
	gone = of("1");
	/* it ends: one last row, and none afterwards; its part is not given to others */
	group_remove("cpuacct", "oar/alice_1");
	put_energy("2000\n", "0\n");
	put_job("oar/bob_2", "9000000000000000\n");
	next();
	assert_int_equal(of("1"), gone);
	assert_int_equal(of("2"), 1100);
	assert_int_equal(rest(), 0);
	next();
	assert_int_equal(row_of(ENTITY_JOB, "1"), -1);
	assert_int_equal(gone + of("2") + rest(), whole());
}

/* ---- meters of power ------------------------------------------------------------------------- */

static void power_becomes_energy(void **state)
{
	(void)state;
	put_files("sys/class/hwmon/hwmon0", {"name", "nvme\n"}, {"power1_input", "5000000\n"});
	put_files("sys/class/hwmon/hwmon1", {"name", "power_meter\n"},
		  {"power1_average", "250000000\n"});
	put_job("oar/alice_1", "0\n");
	open_energy(NULL);
	uint64_t begin = 0;
	for (int i = 0; i < 1000 && !begin; i++) {
		assert_true(cgroup_jobs_update(L.jobs) >= 0);
		if (take() == 0)
			begin = R.set.time_ns;
		else
			usleep(5000);
	}
	assert_true(begin > 0);
	check_fact(ENTITY_NODE, "node", "by", "hwmon");
	assert_int_equal(whole(), 0);
	for (int i = 0; i < 3; i++) {
		usleep(30000);
		put_job("oar/alice_1", i == 1 ? "40000000\n" : "10000000\n");
		next();
		/* 250 W: a quarter of a microjoule a nanosecond, less what is not a whole one */
		int64_t want = (int64_t)((R.set.time_ns - begin) / 4);
		assert_true(whole() == want || whole() == want - 1);
		assert_int_equal(of("1") + rest(), whole());
	}
	assert_true(of("1") > 0);
}

static void what_is_missing_is_said(void **state)
{
	(void)state;
	put_job("oar/alice_1", "0\n");
	list_open(&L);
	R.ctx.jobs = L.jobs;
	assert_int_equal(start("job_energy", NULL), -ENOENT);
	assert_contains(R.why.buf, "rapl: no energy counters");
	assert_contains(R.why.buf, "hwmon: ");
	assert_contains(R.why.buf, "ipmi: ");
	check_probe("job_energy", NULL, -ENOENT, "rapl: no energy counters");
	assert_int_equal(start("job_energy", "sun"), -EINVAL);
	assert_string_equal(R.why.buf, "cannot measure energy by 'sun': use rapl, hwmon or ipmi");
	/* sensors of parts of the node are no meter of it */
	put_files("sys/class/hwmon/hwmon0", {"name", "nvme\n"}, {"power1_input", "5000000\n"});
	assert_int_equal(start("job_energy", "hwmon"), -ENOENT);
	assert_string_equal(R.why.buf, "hwmon: no power meter of the node");
	R.ctx.jobs = NULL;
	assert_int_equal(start("job_energy", NULL), -EINVAL);
	/* counters that only root may read */
	put_energy("1\n", "1\n");
	mode(PACKAGE("0") "/energy_uj", 0);
	mode(PACKAGE("0:0") "/energy_uj", 0);
	mode(PACKAGE("0:1") "/energy_uj", 0);
	become_user();
	int r = probe("job_energy", NULL);
	become_again();
	assert_int_equal(r, -EACCES);
	assert_non_null(R.report.remedy);
}

#define TREE(f) cmocka_unit_test_setup_teardown(f, source_setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares_of_the_largest_rest),
		cmocka_unit_test(shares_sum_up_and_are_fair),
		TREE(parts_make_the_whole),
		TREE(idle_time_is_the_nodes),
		TREE(jobs_come_and_go),
		TREE(power_becomes_energy),
		TREE(gaps_have_no_power),
		TREE(what_is_missing_is_said),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
