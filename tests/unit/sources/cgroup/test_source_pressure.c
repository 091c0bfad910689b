/*
 * The source "pressure": what waits for what, and kernels that do not tell.
 */
#include "source.h"

#include "sources/cgroup/pressure.h"

static void pressure_values(void **state)
{
	(void)state;
	put("proc/pressure/cpu", "some avg10=66.28 avg60=21.88 avg300=5.95 total=2658084978\n"
				 "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n");
	put("proc/pressure/memory", "some avg10=0.10 avg60=2.00 avg300=3.85 total=15\n"
				    "full avg10=100.00 avg60=3.00 avg300=4.95 total=25\n");
	put("proc/pressure/io", "some avg10=1.5 avg60=2.00 total=x\nfull total=9\nfull tot");
	begin("pressure", NULL);
	check_node("cpu_some", 2658084978);
	check_node("cpu_some_avg10", 6628);
	check_node("cpu_full", 0);
	check_node("memory_some", 15);
	check_node("memory_full", 25);
	check_node("memory_full_avg10", 10000);
	check_node("io_full", 9);
	assert_false(has_value(ENTITY_NODE, "node", "io_some"));
	assert_false(has_value(ENTITY_NODE, "node", "io_some_avg10"));
	assert_contains(absence("io_full_avg10"), "no such line");
	assert_contains(absence("irq_full"), "not in this kernel");
	assert_int_equal(probe("pressure", NULL), 0);
	assert_string_equal(R.report.detail.buf, "waiting for cpu, memory, io");
}

static void pressure_absent(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	(void)state;
	assert_int_equal(start("pressure", NULL), -ENOENT);
	assert_contains(R.why.buf, "older than 4.20");
	assert_int_equal(probe("pressure", NULL), -ENOENT);
	assert_contains(R.report.remedy, "psi=1");
	/* a kernel that has it switched off says so when a file is read */
	assert_contains(psi_reason(-EOPNOTSUPP, "/proc/pressure/cpu", &why), "psi=1");
	assert_contains(why.buf, "disabled");
	strbuf_reset(&why);
	assert_null(psi_reason(-EACCES, "/proc/pressure/cpu", &why));
	assert_contains(why.buf, "'/proc/pressure/cpu': Permission denied");
	/* a file that cannot be read, among those that can */
	put_link("proc/pressure/cpu", "/proc/self/mem");
	put("proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=4\n");
	begin("pressure", NULL);
	check_node("io_some", 4);
	assert_contains(absence("cpu_some"), "Input/output error");
	put("proc/pressure/io", "");
	assert_int_equal(take(), 0);
	assert_false(has_value(ENTITY_NODE, "node", "io_some"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_source(pressure_values),
		with_source(pressure_absent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
