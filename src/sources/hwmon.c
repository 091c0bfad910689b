/* Sensors of the board: temperatures, fans, voltages, power, AMD energy counters. */
#include <errno.h>

#include "sources/source.h"

static int probe(const struct source_context *ctx, struct source_report *report)
{
	(void)ctx;
	strbuf_addstr(&report->detail, "not built yet");
	return -ENOSYS;
}

const struct source source_hwmon = {
	.name = "hwmon",
	.help = "sensors of the board: temperatures, fans, voltages, power, AMD energy counters",
	.probe = probe,
};
