/*
 * Sensors of the hwmon class: temperatures, fans, voltages, powers, currents, energies, one row per
 * channel. Names of chips repeat (two sockets are two "coretemp"), and so do labels: the device
 * behind a chip, then the channel, make them unique. A channel that its chip reports as faulty, or
 * whose file returns an error, is absent for as long as that lasts.
 *
 * Some drivers query a management controller, a slow bus or a sleeping disk: a slow source.
 */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sources/columns.h"
#include "sources/node/sensors.h"

#define CLASS "/sys/class/hwmon"
#define CHIPS_MAX 256
#define CHANNELS_MAX 2048

/* Behind the column: the word of the probe, and the files of a channel, "temp2_input". The average
 * of a power is better than its last value. */
#define METRICS_OF_HWMON(X)                                                                       \
	X(TEMPERATURE, GAUGE("temperature", CELSIUS, MAX, 1e-3, "temperature"), "temperatures",   \
	  "temp", "input")                                                                        \
	X(FAN, GAUGE("fan", RPM, MAX, 0, "speed of a fan"), "fans", "fan", "input")               \
	X(VOLTAGE, GAUGE("voltage", VOLTS, NONE, 1e-3, "voltage"), "voltages", "in", "input")     \
	X(POWER, GAUGE("power", WATTS, NONE, 1e-6, "power"), "powers", "power", "average",        \
	  "input")                                                                                \
	X(CURRENT, GAUGE("current", AMPERES, NONE, 1e-3, "current"), "currents", "curr", "input") \
	X(ENERGY, JOULES("energy", NONE, 1e-6, "energy"), "energies", "energy", "input")
DEFINE_METRICS(METRICS_OF_HWMON);

#define KIND(symbol, column, word, ...) [symbol] = {__VA_ARGS__},
#define WORD(symbol, column, word, ...) [symbol] = word,
static const struct {
	const char *prefix, *value, *other;
} kinds[METRICS] = {METRICS_OF_HWMON(KIND)};
static const char *const words[METRICS] = {METRICS_OF_HWMON(WORD)};

/* ---- names ---- */

struct chip {
	char *name; /* as its file has it */
	char *full; /* unique */
	char *dir;  /* where the files of its channels are */
};

/* The last part of the path of the device behind a chip: "coretemp.0", "nvme0", "0000:45:00.0". */
static char *device_of(const char *dir)
{
	_cleanup_free_ char *link = xasprintf("%s/device", dir);
	_cleanup_free_ char *path = realpath(link, NULL);

	if (!path || !path_base(path)[0] || !strcmp(path_base(path), "device"))
		return NULL;
	char *name = xstrdup(path_base(path));
	sys_clean(name);
	return name;
}

/* Before Linux 3.15 drivers put their files beside the device, not into the class. */
static void read_chip(const char *root, const char *entry, struct chip *c)
{
	_cleanup_free_ char *dir = xasprintf("%s" CLASS "/%s", root, entry);
	char name[64];

	*c = (struct chip){0};
	if (sys_text(name, sizeof(name), "%s/name", dir) > 0) {
		c->dir = xstrdup(dir);
	} else if (sys_text(name, sizeof(name), "%s/device/name", dir) > 0) {
		c->dir = xasprintf("%s/device", dir);
	} else {
		char *device = device_of(dir);

		snprintf(name, sizeof(name), "%s", device ? device : entry);
		free(device);
		c->dir = xstrdup(dir);
	}
	sys_clean(name);
	c->name = xstrdup(*name ? name : entry);
}

/* Chips of the same name by their device, "coretemp.1" or "nvme-nvme0"; without one by the entry.
 */
static void name_chips(const char *root, struct chip *chips, char **entries, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		_cleanup_free_ char *dir = xasprintf("%s" CLASS "/%s", root, entries[i]);
		_cleanup_free_ char *device = device_of(dir);
		bool alone = true;

		for (size_t k = 0; k < count; k++)
			alone &= k == i || strcmp(chips[k].name, chips[i].name) != 0;
		if (alone)
			chips[i].full = xstrdup(chips[i].name);
		else if (device && str_prefix(device, chips[i].name))
			chips[i].full = xstrdup(device);
		else
			chips[i].full =
				xasprintf("%s-%s", chips[i].name, device ? device : entries[i]);
		for (size_t k = 0; k < i; k++)
			if (!strcmp(chips[k].full, chips[i].full)) {
				free(chips[i].full);
				chips[i].full = xasprintf("%s-%s", chips[i].name, entries[i]);
				break;
			}
	}
}

/* "chip/label", or "chip/temp2" without a label; a name that is taken gets the channel, too. */
static char *channel_name(const struct sensor_list *s, const struct chip *c, const char *prefix)
{
	char label[64];

	if (sys_text(label, sizeof(label), "%s/%s_label", c->dir, prefix) <= 0)
		snprintf(label, sizeof(label), "%s", prefix);
	sys_clean(label);
	char *name = xasprintf("%s/%s", c->full, *label ? label : prefix);
	if (!sensors_have(s, name))
		return name;
	free(name);
	return xasprintf("%s/%s-%s", c->full, label, prefix);
}

/* ---- finding channels ---- */

static bool has(const struct name_list *l, const char *prefix, const char *suffix)
{
	_cleanup_free_ char *name = xasprintf("%s_%s", prefix, suffix);

	for (size_t i = 0; i < l->count; i++)
		if (!strcmp(l->names[i], name))
			return true;
	return false;
}

/* "temp12_input": the length of "temp12" when this is the value of a channel of a kind. */
static size_t prefix_of(const char *file, const char *kind, const char *value)
{
	size_t n = strlen(kind), digits;

	if (strncmp(file, kind, n) != 0)
		return 0;
	digits = strspn(file + n, "0123456789");
	if (!digits || digits > 6 || file[n + digits] != '_' ||
	    strcmp(file + n + digits + 1, value) != 0)
		return 0;
	return n + digits;
}

static void add_channel(struct sensor_list *s, const struct chip *c, const struct name_list *files,
			unsigned kind, char *prefix, const char *value)
{
	char *name = channel_name(s, c, prefix);

	if (s->count == CHANNELS_MAX || sensors_have(s, name)) {
		free(name);
		free(prefix);
		return;
	}
	_cleanup_free_ char *file = xasprintf("%s_%s", prefix, value);
	struct sensor *z = sensors_add(s, kind, name, xstrdup(c->dir), xstrdup(c->name), file);
	z->prefix = prefix;
	z->negative = kind != ENERGY;
	if (has(files, prefix, "fault"))
		sysfile_init(&z->fault, "%s/%s_fault", c->dir, prefix);
}

static void add_channels(struct sensor_list *s, const struct chip *c)
{
	_cleanup_name_list_ struct name_list files = {0};

	(void)name_list_read(&files, "", "%s", c->dir);
	for (unsigned k = 0; k < METRICS; k++)
		for (size_t i = 0; i < files.count; i++) {
			const char *value = kinds[k].value;
			size_t n = prefix_of(files.names[i], kinds[k].prefix, value);

			if (!n && kinds[k].other) {
				value = kinds[k].other;
				n = prefix_of(files.names[i], kinds[k].prefix, value);
				_cleanup_free_ char *prefix = xstrndup(files.names[i], n);
				if (n && has(&files, prefix, kinds[k].value))
					n = 0;
			}
			if (n)
				add_channel(s, c, &files, k, xstrndup(files.names[i], n), value);
		}
}

static void find_channels(struct sensor_list *s, const char *root)
{
	_cleanup_name_list_ struct name_list l = {0};
	struct chip chips[CHIPS_MAX];
	size_t count = 0;

	(void)name_list_read(&l, "hwmon", "%s" CLASS, root);
	for (size_t i = 0; i < l.count && count < CHIPS_MAX; i++)
		read_chip(root, l.names[i], &chips[count++]);
	name_chips(root, chips, l.names, count);
	for (size_t i = 0; i < count; i++) {
		add_channels(s, &chips[i]);
		free(chips[i].name);
		free(chips[i].full);
		free(chips[i].dir);
	}
}

/* ---- the source ---- */

/* Limits that somebody set: 0 and what no machine survives are not. */
static void describe_limit(struct sample_set *set, uint32_t e, const struct sensor *z,
			   const char *key)
{
	double scale = columns[z->metric].scale;
	int64_t raw;

	if (sys_i64(&raw, "%s/%s_%s", z->dir, z->prefix, key) < 0 || raw == 0)
		return;
	double v = (double)raw * (scale != 0 ? scale : 1);
	if (z->metric == TEMPERATURE && (v > 1000 || v < -273))
		return;
	sample_format_metadata(set, e, key, "%.10g", v);
}

static void describe_channel(struct sample_set *set, uint32_t e, const struct sensor *z)
{
	sample_set_metadata(set, e, "chip", z->type);
	sample_set_metadata(set, e, "channel", z->prefix);
	describe_limit(set, e, z, "min");
	describe_limit(set, e, z, "max");
	describe_limit(set, e, z, "crit");
	if (z->metric == POWER)
		describe_limit(set, e, z, "cap");
}

static int open_hwmon(const struct source_context *ctx, struct sample_set *set, void **state,
		      struct strbuf *why)
{
	_cleanup_free_ char *none = xasprintf("no sensors in %s" CLASS, ctx->root);
	struct sensor_list *s = xcalloc(1, sizeof(*s));

	s->describe = describe_channel;
	find_channels(s, ctx->root);
	return sensors_opened(s, set, state, none, "no chip measures this", why);
}

static void describe(void *state, struct strbuf *out)
{
	sensors_count(state, words, METRICS, out);
}

const struct source source_hwmon = {
	.name = "hwmon",
	.help = "sensors of the board: temperatures, fans, voltages, power, AMD energy counters",
	.describe = describe,
	.metrics = columns,
	.metric_count = METRICS,
	.every = 5,
	.slow = true,
	.open = open_hwmon,
	.read = sensors_read,
	.close = sensors_close,
};
