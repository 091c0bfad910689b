/*
 * The sources "hwmon" and "thermal": sensors of every kind, names that repeat, sensors that are
 * faulty or gone.
 */
#include "source.h"

/* ---- hwmon ----------------------------------------------------------------------------------- */

#define HW "sys/class/hwmon"

static void sensors_of_every_kind(void **state)
{
	(void)state;
	put_files(HW "/hwmon0", {"name", "nct6779\n"}, {"temp1_input", "-5500\n"},
		  {"temp1_label", "SYSTIN\n"}, {"temp1_crit", "100000\n"},
		  {"temp1_max", "65261850\n"}, {"temp10_input", "41000\n"},
		  {"fan2_input", "1098\n"}, {"in0_input", "792\n"}, {"in0_max", "1744\n"},
		  {"in1_max", "0\n"}, {"curr1_input", "1500\n"}, {"intrusion0_alarm", "1\n"},
		  {"humidity1_input", "50000\n"}, {"freq1_input", "214000000\n"},
		  {"tempx_input", "1\n"}, {"temp_input", "1\n"},
		  {"pwm1_auto_point1_temp", "30000\n"});
	put_files(HW "/hwmon1", {"name", "power_meter\n"}, {"power1_average", "245000000\n"},
		  {"power1_input", "250000000\n"}, {"power2_input", "7000000\n"});
	put_files(HW "/hwmon2", {"name", "amd_energy\n"}, {"energy1_input", "123456789\n"},
		  {"energy1_label", "Ecore000\n"});
	check_probe("hwmon", NULL, 0, "temperatures: 2, fans: 1, voltages: 1, powers: 2");
	begin("hwmon", NULL);
	check_value(ENTITY_SENSOR, "nct6779/SYSTIN", "temperature", -5500);
	check_metadata(ENTITY_SENSOR, "nct6779/SYSTIN", {"crit", "100"}, {"max", NULL},
		       {"channel", "temp1"});
	check_value(ENTITY_SENSOR, "nct6779/temp10", "temperature", 41000);
	check_value(ENTITY_SENSOR, "nct6779/fan2", "fan", 1098);
	check_value(ENTITY_SENSOR, "nct6779/in0", "voltage", 792);
	check_fact(ENTITY_SENSOR, "nct6779/in0", "max", "1.744");
	check_value(ENTITY_SENSOR, "nct6779/curr1", "current", 1500);
	check_value(ENTITY_SENSOR, "power_meter/power1", "power", 245000000);
	check_value(ENTITY_SENSOR, "power_meter/power2", "power", 7000000);
	check_value(ENTITY_SENSOR, "amd_energy/Ecore000", "energy", 123456789);
	assert_int_equal(R.set.row_count, 8);
	put(HW "/hwmon2/energy1_input", "11\n"); /* the driver was loaded again */
	assert_int_equal(take(), 0);
	check_value(ENTITY_SENSOR, "amd_energy/Ecore000", "energy", 123456800);
}

static void link_device(const char *entry, const char *device)
{
	_cleanup_free_ char *target = xasprintf("%s/sys/devices/%s", tree, device);
	_cleanup_free_ char *path = xasprintf("%s/" HW "/%s/device", tree, entry);

	putf("sys/devices/%s/uevent", "\n", device);
	assert_int_equal(symlink(target, path), 0);
}

static void names_that_repeat_are_told_apart(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		putf(HW "/hwmon%d/name", "coretemp\n", i);
		putf(HW "/hwmon%d/temp1_input", i ? "61000\n" : "60000\n", i);
		putf(HW "/hwmon%d/temp1_label", "Core 0\n", i);
		putf(HW "/hwmon%d/name", "nvme\n", i + 2);
		putf(HW "/hwmon%d/temp1_input", i ? "43000\n" : "42000\n", i + 2);
		putf(HW "/hwmon%d/name", "same\n", i + 4);
		putf(HW "/hwmon%d/temp1_input", i ? "2\n" : "1\n", i + 4);
	}
	link_device("hwmon0", "coretemp.0");
	link_device("hwmon1", "coretemp.1");
	link_device("hwmon2", "nvme0");
	link_device("hwmon3", "nvme1");
	put(HW "/hwmon6/temp1_input", "3\n"); /* no name, no device */
	put_files(HW "/hwmon7", {"name", "gpu\n"}, {"in0_input", "4\n"}, {"in0_label", "VDD\n"},
		  {"curr1_input", "5\n"}, {"curr1_label", "VDD\n"}, {"temp1_input", "6\n"},
		  {"temp1_label", "\033[2J \n"});
	put(HW "/hwmon8/device/name", "old\n"); /* as before Linux 3.15 */
	put(HW "/hwmon8/device/temp1_input", "7\n");
	begin("hwmon", NULL);
	check_value(ENTITY_SENSOR, "coretemp.0/Core 0", "temperature", 60000);
	check_value(ENTITY_SENSOR, "coretemp.1/Core 0", "temperature", 61000);
	check_value(ENTITY_SENSOR, "nvme0/temp1", "temperature", 42000);
	check_value(ENTITY_SENSOR, "nvme1/temp1", "temperature", 43000);
	check_value(ENTITY_SENSOR, "same-hwmon4/temp1", "temperature", 1);
	check_value(ENTITY_SENSOR, "same-hwmon5/temp1", "temperature", 2);
	check_value(ENTITY_SENSOR, "hwmon6/temp1", "temperature", 3);
	check_value(ENTITY_SENSOR, "gpu/VDD", "voltage", 4);
	check_value(ENTITY_SENSOR, "gpu/VDD-curr1", "current", 5);
	check_value(ENTITY_SENSOR, "gpu/?[2J", "temperature", 6);
	check_value(ENTITY_SENSOR, "old/temp1", "temperature", 7);
	check_fact(ENTITY_SENSOR, "coretemp.1/Core 0", "chip", "coretemp");
}

static void sensors_that_are_faulty_or_gone(void **state)
{
	(void)state;
	check_probe("hwmon", NULL, -ENOENT, "no sensors");
	put(HW "/hwmon0/name", "chip\n");
	check_probe("hwmon", NULL, -ENOENT, "no sensors");
	put_files(HW "/hwmon0", {"temp1_input", "100\n"}, {"temp1_fault", "1\n"},
		  {"temp2_input", "200\n"}, {"temp2_fault", "0\n"}, {"temp3_input", "N/A\n"},
		  {"temp4_input", "9999999999999999999999\n"}, {"energy1_input", "-3\n"});
	begin("hwmon", NULL);
	assert_int_equal(R.set.row_count, 1);
	check_value(ENTITY_SENSOR, "chip/temp2", "temperature", 200);
	assert_string_equal(absence("fan"), "no chip measures this");
	/* the fault goes away, the other channel vanishes */
	put(HW "/hwmon0/temp1_fault", "0\n");
	put(HW "/hwmon0/temp2_fault", "1\n");
	assert_int_equal(take(), 0);
	assert_int_equal(R.set.row_count, 1);
	check_value(ENTITY_SENSOR, "chip/temp1", "temperature", 100);
	put(HW "/hwmon0/temp1_input", "\n");
	assert_int_equal(take(), -ERANGE);
}

/* ---- thermal --------------------------------------------------------------------------------- */

#define TH "sys/class/thermal"

static void zones_and_cooling(void **state)
{
	(void)state;
	check_probe("thermal", NULL, -ENOENT, "no thermal zones");
	put_files(TH "/thermal_zone0", {"type", "acpitz\n"}, {"temp", "-44000\n"},
		  {"policy", "step_wise\n"});
	put(TH "/thermal_zone1/type", "x86_pkg_temp\n");
	put(TH "/thermal_zone1/temp", "51000\n");
	put(TH "/thermal_zone10/type", "x86_pkg_temp\n");
	put(TH "/thermal_zone10/temp", "52000\n");
	put(TH "/thermal_zone11/temp", "oops\n");
	put_files(TH "/cooling_device0", {"type", "Processor\n"}, {"cur_state", "2\n"},
		  {"max_state", "10\n"});
	put(TH "/cooling_device1/type", "Processor\n");
	put(TH "/cooling_device1/cur_state", "0\n");
	put(TH "/cooling_device2/type", "intel_powerclamp\n");
	put(TH "/cooling_device2/cur_state", "-1\n");
	put(TH "/cooling_device3/type", "TFN1\n"); /* without a state */
	check_probe("thermal", NULL, 0, "thermal zones: 4, cooling devices: 3");
	begin("thermal", NULL);
	check_value(ENTITY_SENSOR, "acpitz", "temperature", -44000);
	check_fact(ENTITY_SENSOR, "acpitz", "policy", "step_wise");
	check_fact(ENTITY_SENSOR, "acpitz", "device", "thermal_zone0");
	check_value(ENTITY_SENSOR, "x86_pkg_temp-1", "temperature", 51000);
	check_value(ENTITY_SENSOR, "x86_pkg_temp-10", "temperature", 52000);
	check_value(ENTITY_SENSOR, "cooling/Processor-0", "cooling", 2);
	check_fact(ENTITY_SENSOR, "cooling/Processor-0", "max_state", "10");
	check_value(ENTITY_SENSOR, "cooling/Processor-1", "cooling", 0);
	assert_int_equal(R.set.row_count, 5);
	drop(TH);
	assert_int_equal(take(), 0); /* what is open is still there */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_source(sensors_of_every_kind),
		with_source(names_that_repeat_are_told_apart),
		with_source(sensors_that_are_faulty_or_gone),
		with_source(zones_and_cooling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
