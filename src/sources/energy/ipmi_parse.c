/* Parses answers of management controllers and output of their commands; see ipmi.h. */
#include "sources/energy/ipmi.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "core/system/procparse.h"
#include "sources/sysfile.h"

#define GROUP_DCMI 0xdc
#define WATTS_MAX 1000000 /* no node draws more */

static void take(struct ipmi_reading *ret, enum ipmi_power which, uint64_t watts)
{
	if (!watts || watts > WATTS_MAX)
		return;
	ret->watts[which] = watts;
	ret->present |= 1u << which;
}

int ipmi_parse_dcmi(const uint8_t *data, size_t size, struct ipmi_reading *ret)
{
	*ret = (struct ipmi_reading){0};
	if (!size)
		return -EBADMSG;
	/* invalid command, not in this state, not for this controller, not permitted; other codes
	 * are temporary */
	if (data[0] == 0xc1 || data[0] == 0xd5 || data[0] == 0xd6 || data[0] == 0xd4)
		return -EOPNOTSUPP;
	if (data[0])
		return -ENODATA;
	if (size < 10 || data[1] != GROUP_DCMI)
		return -EBADMSG;
	for (unsigned i = 0; i < IPMI_POWERS; i++)
		take(ret, i, (uint64_t)data[2 + 2 * i] | (uint64_t)data[3 + 2 * i] << 8);
	/* the state behind it ("activated") is ignored: some controllers measure and leave it unset
	 */
	return ret->present & 1u << IPMI_NOW ? 0 : -ENODATA;
}

/* Takes the digits at p: false when there are none or too many. A fraction is ignored. */
static bool number(const char **p, const char *end, uint64_t *ret)
{
	const char *first = *p;

	return proc_number(p, end, ret) && *first != '-' && *p - first <= 9;
}

static const char *skip_blanks(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t'))
		p++;
	return p;
}

static bool begins(const char *p, const char *end, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(end - p) >= n && !strncasecmp(p, word, n);
}

/* "  Instantaneous power reading:       215 Watts" */
static void take_line(const char *p, const char *end, struct ipmi_reading *ret)
{
	static const struct {
		const char *begin;
		enum ipmi_power which;
	} lines[] = {
		{"Current Power ", IPMI_NOW},
		{"Current Power:", IPMI_NOW},
		{"Minimum Power over sampling duration", IPMI_MINIMUM},
		{"Maximum Power over sampling duration", IPMI_MAXIMUM},
		{"Average Power over sampling duration", IPMI_AVERAGE},
		{"Instantaneous power reading:", IPMI_NOW},
		{"Minimum during sampling period:", IPMI_MINIMUM},
		{"Maximum during sampling period:", IPMI_MAXIMUM},
		{"Average power reading over sample period:", IPMI_AVERAGE},
	};

	p = skip_blanks(p, end);
	for (size_t i = 0; i < ARRAY_SIZE(lines); i++) {
		const char *colon;
		uint64_t watts;

		if (!begins(p, end, lines[i].begin) || !(colon = memchr(p, ':', (size_t)(end - p))))
			continue;
		const char *value = skip_blanks(colon + 1, end);
		if (number(&value, end, &watts) && begins(skip_blanks(value, end), end, "W"))
			take(ret, lines[i].which, watts);
		return;
	}
}

/* Calls f with each line. */
static void each_line(const char *text, size_t size, struct ipmi_reading *ret,
		      void (*f)(const char *p, const char *end, struct ipmi_reading *ret))
{
	const char *p = text, *end = text + size;
	struct words line;

	while (sys_line(&p, end, &line))
		f(line.p, line.end, ret);
}

int ipmi_parse_text(const char *text, size_t size, struct ipmi_reading *ret)
{
	*ret = (struct ipmi_reading){0};
	each_line(text, size, ret, take_line);
	return ret->present & 1u << IPMI_NOW ? 0 : -ENODATA;
}

/* ---- sensors ---- */

/* The next field of a comma separated line. */
static bool field(const char **p, const char *end, const char **value, size_t *size)
{
	if (!*p)
		return false;
	const char *comma = memchr(*p, ',', (size_t)(end - *p));
	const char *stop = comma ? comma : end;

	*value = skip_blanks(*p, stop);
	while (stop > *value && (stop[-1] == ' ' || stop[-1] == '\r'))
		stop--;
	*size = (size_t)(stop - *value);
	*p = comma ? comma + 1 : NULL;
	return true;
}

static bool is(const char *p, size_t n, const char *word)
{
	return n == strlen(word) && !strncasecmp(p, word, n);
}

/* Names that vendors use for the power of the whole node. */
static bool is_node(const char *name, size_t n)
{
	static const char *const names[] = {"Pwr Consumption",   "System Level",    "Power Meter",
					    "Sys Power",         "System Power",    "Total Power",
					    "Total_Power",       "SYS_POWER",       "Node Power",
					    "Power Consumption", "Sys_Total_Power", "Power",
					    "PW Consumption"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (is(name, n, names[i]))
			return true;
	return false;
}

/* "PS1 Input Power", "PSU2 Power In", "Power Supply 1": input, not output. */
static bool is_supply(const char *name, size_t n)
{
	if (!begins(name, name + n, "PS") && !begins(name, name + n, "Power Supply"))
		return false;
	for (size_t i = 0; i + 3 <= n; i++)
		if (!strncasecmp(name + i, "out", 3))
			return false;
	return true;
}

/* ID, name, type, reading, units, event: the power of the node goes to watts[IPMI_NOW], the sum of
 * supplies meanwhile to the place of the maximum. */
static void take_sensor(const char *p, const char *end, struct ipmi_reading *ret)
{
	const char *id, *name, *type, *value, *units;
	size_t id_size, name_size, type_size, size, units_size;
	uint64_t watts;

	if (!field(&p, end, &id, &id_size) || !field(&p, end, &name, &name_size) ||
	    !field(&p, end, &type, &type_size) || !field(&p, end, &value, &size) ||
	    !field(&p, end, &units, &units_size) ||
	    (!is(units, units_size, "W") && !is(units, units_size, "Watts")) ||
	    !number(&value, value + size, &watts))
		return;
	if (is_node(name, name_size))
		take(ret, IPMI_NOW, watts);
	else if (is_supply(name, name_size))
		take(ret, IPMI_MAXIMUM, ret->watts[IPMI_MAXIMUM] + watts);
}

int ipmi_parse_sensors(const char *text, size_t size, struct ipmi_reading *ret)
{
	struct ipmi_reading found = {0};

	*ret = (struct ipmi_reading){0};
	each_line(text, size, &found, take_sensor);
	take(ret, IPMI_NOW,
	     found.present & 1u << IPMI_NOW ? found.watts[IPMI_NOW] : found.watts[IPMI_MAXIMUM]);
	return ret->present ? 0 : -ENODATA;
}

int ipmi_parse_first(const char *text, size_t size, struct ipmi_reading *ret)
{
	const char *end = text + size;
	uint64_t watts;

	*ret = (struct ipmi_reading){0};
	for (const char *p = text; p < end; p++) {
		if (*p != ':')
			continue;
		const char *first = skip_blanks(p + 1, end), *q = first;

		if (first > p + 1 && number(&q, end, &watts) && q < end &&
		    (*q == ' ' || *q == '\n')) {
			take(ret, IPMI_NOW, watts);
			break;
		}
	}
	return ret->present ? 0 : -ENODATA;
}
