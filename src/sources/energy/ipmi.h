/* Answers of management controllers, and output of the commands that query them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Power of the node in watts: now, and over the time for which the controller keeps statistics. 0
 * means unknown: a running node draws power. */
enum ipmi_power { IPMI_NOW, IPMI_MINIMUM, IPMI_MAXIMUM, IPMI_AVERAGE, IPMI_POWERS };

struct ipmi_reading {
	uint64_t watts[IPMI_POWERS];
	unsigned present; /* bit i: watts[i] is there */
};

/* The response to DCMI Get Power Reading, completion code first. 0, or a negative errno:
 * -EOPNOTSUPP when the controller does not support the command, -ENODATA when it reports no power,
 * -EBADMSG. */
int ipmi_parse_dcmi(const uint8_t *data, size_t size, struct ipmi_reading *ret);
/* The output of `ipmi-dcmi --get-system-power-statistics` and `ipmitool dcmi power reading`. 0, or
 * -ENODATA. */
int ipmi_parse_text(const char *text, size_t size, struct ipmi_reading *ret);
/* The output of `ipmi-sensors --comma-separated-output`: the known sensor of the node, else the sum
 * of the inputs of its power supplies. 0, or -ENODATA. */
int ipmi_parse_sensors(const char *text, size_t size, struct ipmi_reading *ret);

/* The output of any command: the first whole number between ": " and a blank. 0, or -ENODATA. */
int ipmi_parse_first(const char *text, size_t size, struct ipmi_reading *ret);
