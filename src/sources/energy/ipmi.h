/* Answers of management controllers and of the commands that ask them. */
#ifndef PL_SOURCES_ENERGY_IPMI_H
#define PL_SOURCES_ENERGY_IPMI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Power of the node in watts: now, and over the time for which the controller keeps statistics. 0
 * is no reading: a node that asks draws something. */
enum ipmi_power { IPMI_NOW, IPMI_MINIMUM, IPMI_MAXIMUM, IPMI_AVERAGE, IPMI_POWERS };

struct ipmi_reading {
	uint64_t watts[IPMI_POWERS];
	unsigned present; /* bit i: watts[i] is there */
};

/* The response to DCMI Get Power Reading, completion code first. 0, or a negative errno:
 * -EOPNOTSUPP when the controller does not know the command, -ENODATA when it gives no power,
 * -EBADMSG. */
int ipmi_parse_dcmi(const uint8_t *data, size_t size, struct ipmi_reading *ret);
/* What `ipmi-dcmi --get-system-power-statistics` and `ipmitool dcmi power reading` print. 0, or
 * -ENODATA. */
int ipmi_parse_text(const char *text, size_t size, struct ipmi_reading *ret);
/* What `ipmi-sensors --comma-separated-output` prints: the sensor that is known to be the node's,
 * else the sum of what power supplies take. 0, or -ENODATA. */
int ipmi_parse_sensors(const char *text, size_t size, struct ipmi_reading *ret);

/* What any command prints: the first whole number that stands between ": " and a blank. 0, or
 * -ENODATA. */
int ipmi_parse_first(const char *text, size_t size, struct ipmi_reading *ret);

#endif
