/*
 * The source "ipmi": answers of management controllers and texts of commands, the driver in the
 * place of the kernel's, and what fails.
 */
#include "source.h"

#include <sys/ioctl.h>
#include <linux/ipmi.h>

#include "sources/energy/ipmi.h"

static void answers_of_controllers(void **state)
{
	uint8_t good[] = {0, 0xdc, 0x4a, 0x01, 0x44, 0, 0xf8, 0x01, 0x5c, 0x01,
			  1, 2,    3,    4,    0xe8, 3, 0,    0,    0x40};
	struct ipmi_reading got;

	(void)state;
	assert_int_equal(ipmi_parse_dcmi(good, sizeof(good), &got), 0);
	assert_int_equal(got.present, 0xf);
	static const uint64_t want[] = {330, 68, 504, 348};
	assert_memory_equal(got.watts, want, sizeof(want));
	/* OpenBMC says "deactivated" and measures all the same */
	good[18] = 0;
	assert_int_equal(ipmi_parse_dcmi(good, sizeof(good), &got), 0);
	assert_int_equal(ipmi_parse_dcmi(good, 10, &got), 0);
	assert_int_equal(ipmi_parse_dcmi(good, 9, &got), -EBADMSG);
	assert_int_equal(ipmi_parse_dcmi(good, 0, &got), -EBADMSG);
	good[1] = 0xdd;
	assert_int_equal(ipmi_parse_dcmi(good, sizeof(good), &got), -EBADMSG);
	good[1] = 0xdc;
	good[2] = good[3] = 0;
	assert_int_equal(ipmi_parse_dcmi(good, sizeof(good), &got), -ENODATA);
	good[0] = 0xc1;
	assert_int_equal(ipmi_parse_dcmi(good, sizeof(good), &got), -EOPNOTSUPP);
	good[0] = 0xc0;
	assert_int_equal(ipmi_parse_dcmi(good, 1, &got), -ENODATA);
}

#define IPMITOOL                                                                   \
	"\n    Instantaneous power reading:                   215 Watts\n"         \
	"    Minimum during sampling period:                162 Watts\n"           \
	"    Maximum during sampling period:                276 Watts\n"           \
	"    Average power reading over sample period:      176 Watts\n"           \
	"    IPMI timestamp:                           Wed Feb 15 12:49:51 2017\n" \
	"    Sampling period:                          01131466 Seconds.\n"        \
	"    Power reading state is:                   activated\n\n"
#define IPMI_DCMI                                                          \
	"Current Power                        : 332 Watts\n"               \
	"Minimum Power over sampling duration : 68 watts\n"                \
	"Maximum Power over sampling duration : 504 watts\n"               \
	"Average Power over sampling duration : 348 watts\n"               \
	"Time Stamp                           : 11/03/2023 - 08:36:29\n"   \
	"Statistics reporting time period     : 2685198000 milliseconds\n" \
	"Power Measurement                    : Active\n"

static int parse_text(const char *text, struct ipmi_reading *got)
{
	size_t n = strlen(text);
	_cleanup_free_ char *copy = exact_copy(text, n);

	return ipmi_parse_text(copy, n, got);
}

static void what_commands_print(void **state)
{
	struct ipmi_reading got;

	(void)state;
	assert_int_equal(parse_text(IPMITOOL, &got), 0);
	static const uint64_t tool[] = {215, 162, 276, 176};
	assert_int_equal(got.present, 0xf);
	assert_memory_equal(got.watts, tool, sizeof(tool));
	assert_int_equal(parse_text(IPMI_DCMI, &got), 0);
	static const uint64_t dcmi[] = {332, 68, 504, 348};
	assert_memory_equal(got.watts, dcmi, sizeof(dcmi));
	assert_int_equal(parse_text("Current Power : 591W", &got), 0);
	assert_int_equal(got.watts[IPMI_NOW], 591);
	assert_int_equal(got.present, 1);
	static const char *const none[] = {
		"",
		"Instantaneous power reading:",
		"Instantaneous power reading: 0 Watts\n",
		"Instantaneous power reading: 215 Apples\n",
		"Instantaneous power reading: 21 5 Watts\n",
		"Instantaneous power reading: -215 Watts\n",
		"Instantaneous power reading: 99999999999999999999 Watts\n",
		"Instantaneous power reading: 2000000 Watts\n",
		"Current Power Limit\n",
		"Maximum during sampling period: 276 Watts\n",
	};
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		if (parse_text(none[i], &got) != -ENODATA)
			fail_msg("'%s' is a reading", none[i]);
}

static int64_t sensors(const char *text)
{
	size_t n = strlen(text);
	_cleanup_free_ char *copy = exact_copy(text, n);
	struct ipmi_reading got;
	int r = ipmi_parse_sensors(copy, n, &got);

	return r < 0 ? r : (int64_t)got.watts[IPMI_NOW];
}

static void which_sensor_is_the_node(void **state)
{
	(void)state;
	assert_int_equal(sensors("1,Temp,Temperature,40.00,C,'OK'\n"
				 "2,PS1 Input Power,Power Supply,110.00,W,'OK'\n"
				 "3,Pwr Consumption,Current,231.00,W,'OK'\n"),
			 231);
	assert_int_equal(sensors("2,PS1 Input Power,Power Supply,110.50,W,'OK'\r\n"
				 "3,PS1 Output Power,Power Supply,90,W,'OK'\n"
				 "4,PSU2 Power In,Other,130,Watts,'OK'\n"
				 "5,PS3 Status,Power Supply,N/A,N/A,'Presence detected'\n"
				 "6,CPU Power,Other,400,W,'OK'\n"),
			 240);
	assert_int_equal(sensors("6,CPU Power,Other,400,W,'OK'\n"), -ENODATA);
	assert_int_equal(sensors("6,System Level,Current,N/A,W,N/A\n"), -ENODATA);
	assert_int_equal(sensors(",,,,\n\n,\nW"), -ENODATA);
	assert_int_equal(sensors(""), -ENODATA);
}

/* The driver of a management controller, in the place of the kernel's: ioctl() of this program. */
static struct {
	bool on;
	int sends, late; /* answers to earlier requests that come first */
	long msgid;
	uint8_t answer[64];
	size_t size;
	int send_error;
	struct ipmi_msg asked;
	uint8_t body[8];
} driver;

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;

	(void)fd;
	va_start(ap, request);
	void *arg = va_arg(ap, void *);
	va_end(ap);
	if (!driver.on) {
		errno = ENOTTY;
		return -1;
	}
	if (request == IPMICTL_SEND_COMMAND) {
		const struct ipmi_req *req = arg;

		if (driver.send_error) {
			errno = driver.send_error;
			return -1;
		}
		driver.sends++;
		driver.msgid = req->msgid;
		driver.asked = req->msg;
		memcpy(driver.body, req->msg.data,
		       req->msg.data_len < sizeof(driver.body) ? req->msg.data_len
							       : sizeof(driver.body));
		return 0;
	}
	if (request != IPMICTL_RECEIVE_MSG_TRUNC) {
		errno = EINVAL;
		return -1;
	}
	struct ipmi_recv *recv = arg;
	recv->recv_type = IPMI_RESPONSE_RECV_TYPE;
	recv->msgid = driver.late > 0 ? driver.msgid - driver.late-- : driver.msgid;
	size_t n = driver.size < recv->msg.data_len ? driver.size : recv->msg.data_len;
	memcpy(recv->msg.data, driver.answer, n);
	recv->msg.data_len = (unsigned short)n;
	return 0;
}

static void answer(const uint8_t *data, size_t n)
{
	memcpy(driver.answer, data, n);
	driver.size = n;
}

static void the_controller_is_asked_directly(void **state)
{
	static const uint8_t good[] = {0, 0xdc, 0x4a, 0x01, 0x44, 0, 0xf8, 0x01, 0x5c, 0x01,
				       1, 2,    3,    4,    0xe8, 3, 0,    0,    0x40};

	(void)state;
	memset(&driver, 0, sizeof(driver));
	driver.on = true;
	driver.late = 2;
	put("dev/ipmi0", "");
	check_probe("ipmi", NULL, 0, "DCMI over the device");
	answer(good, sizeof(good));
	begin("ipmi", NULL);
	check_values(ENTITY_NODE, "node", {"power", 330}, {"power_minimum", 68},
		     {"power_maximum", 504}, {"power_average", 348});
	check_fact(ENTITY_NODE, "node", "by", "device");
	assert_int_equal(driver.sends, 1);
	assert_int_equal(driver.late, 0);
	assert_int_equal(driver.asked.netfn, 0x2c);
	assert_int_equal(driver.asked.cmd, 2);
	assert_int_equal(driver.asked.data_len, 4);
	assert_memory_equal(driver.body, "\xdc\x01\0\0", 4);

	/* nothing now is not nothing for ever; three times in a row is */
	static const uint8_t busy[] = {0xc0};
	answer(busy, sizeof(busy));
	assert_int_equal(take(), -ENODATA);
	assert_int_equal(take(), -ENODATA);
	answer(good, sizeof(good));
	assert_int_equal(take(), 0);
	answer(busy, sizeof(busy));
	assert_int_equal(take(), -ENODATA);
	assert_int_equal(take(), -ENODATA);
	answer(good, sizeof(good));
	assert_int_equal(take(), 0);
	answer(busy, sizeof(busy));
	for (int i = 0; i < 3; i++)
		assert_int_equal(take(), -ENODATA);
	int sends = driver.sends;
	assert_int_equal(take(), -ENODATA);
	assert_int_equal(driver.sends, sends);
	assert_contains(absence(NULL), "reports no power");
	driver.on = false;
}

static void what_the_controller_does_not_know(void **state)
{
	static const uint8_t unknown[] = {0xc1};

	(void)state;
	memset(&driver, 0, sizeof(driver));
	driver.on = true;
	put("dev/ipmi0", "");
	answer(unknown, sizeof(unknown));
	assert_int_equal(start("ipmi", NULL), 0);
	assert_int_equal(take(), -EOPNOTSUPP);
	assert_int_equal(take(), -ENODATA);
	assert_int_equal(driver.sends, 1);
	assert_contains(absence(NULL), "does not support DCMI");
	driver.send_error = EIO;
	assert_int_equal(start("ipmi", NULL), 0);
	assert_int_equal(take(), -EIO);
	driver.on = false; /* no such device at all */
	assert_int_equal(start("ipmi", NULL), 0);
	assert_int_equal(take(), -ENOTTY);
}

static void the_controller_by_a_command(void **state)
{
	(void)state;
	check_probe("ipmi", NULL, -ENOENT, "no /dev/ipmi0");
	check_probe("ipmi", "ipmitool", -ENOENT, "none of ipmi-dcmi");
	program("usr/bin/ipmitool",
		"#!/bin/sh\n[ \"$*\" = 'dcmi power reading' ] || exit 9\ncat <<E\n" IPMITOOL "E\n");
	program("usr/sbin/ipmi-dcmi",
		"#!/bin/sh\n[ \"$*\" = --get-system-power-statistics ] || exit 9\n"
		"cat <<E\n" IPMI_DCMI "E\n");
	program("usr/sbin/ipmi-sensors", "#!/bin/sh\necho '1,Sys Power,Other,99,W,OK'\n"
					 "echo 'sensor 2 is odd' >&2\nexit 1\n");
	check_probe("ipmi", NULL, -ENOENT, "run only when named");
	check_probe("ipmi", "ipmitool", 0, "/usr/bin/ipmitool");
	begin("ipmi", "ipmitool");
	check_node("power", 215);
	check_fact(ENTITY_NODE, "node", "by", "ipmitool");
	begin("ipmi", "ipmi-dcmi");
	check_node("power", 332);
	begin("ipmi", "ipmi-sensors");
	check_node("power", 99);
	assert_contains(absence("power_average"), "does not report");
}

static void commands_of_the_controller_that_fail(void **state)
{
	static const struct {
		const char *script;
		int error;
		const char *why;
	} cases[] = {
		{"#!/bin/sh\nhead -c 3000 /dev/urandom\n", -ENODATA, "prints no power"},
		{"#!/bin/sh\nyes 'Instantaneous power reading: 0 Watts'\n", -EFBIG,
		 "printed more than"},
		{"#!/bin/sh\necho 'Could not open device'\nexit 1\n", -EIO,
		 "exited with status 1: Could not open device"},
		{"#!/bin/sh\nkill -9 $$\n", -EINTR, "by a signal"},
		{"#!/no/such/shell\n", -ENOENT, "cannot run"},
		{"#!/bin/sh\n", -ENODATA, "prints no power"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		program("usr/bin/ipmitool", cases[i].script);
		assert_int_equal(start("ipmi", "ipmitool"), 0);
		assert_int_equal(take(), cases[i].error);
		assert_contains(absence(NULL), cases[i].why);
	}
	put("dev/ipmi0", "");
	mode("dev/ipmi0", 0000);
	become_user();
	check_probe("ipmi", NULL, -EACCES, "dev/ipmi0': Permission denied");
	assert_int_equal(start("ipmi", NULL), -EACCES);
	become_again();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_source(answers_of_controllers),
		with_source(what_commands_print),
		with_source(which_sensor_is_the_node),
		with_source(the_controller_is_asked_directly),
		with_source(what_the_controller_does_not_know),
		with_source(the_controller_by_a_command),
		with_source(commands_of_the_controller_that_fail),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
