/*
 * Sensors of the hwmon class: temperatures, fans, voltages, powers, currents, energies, one row a
 * channel. Chips have names that repeat (two sockets are two "coretemp"), and so have labels: the
 * device behind a chip, then the channel, tells them apart. A channel that its chip calls faulty,
 * or that answers with an error, is absent as long as it does.
 *
 * Some drivers ask a management controller, a slow bus or a sleeping disk: a slow source.
 */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sources/source.h"
#include "sources/sysfile.h"

#define CLASS "/sys/class/hwmon"
#define CHIPS_MAX 256
#define CHANNELS_MAX 2048

enum { TEMPERATURE, FAN, VOLTAGE, POWER, CURRENT, ENERGY, KINDS };

static const struct sample_metric metrics_of_hwmon[KINDS] = {
	[TEMPERATURE] = {"temperature", UNIT_CELSIUS, KIND_GAUGE, AGG_MAX, 1e-3, "temperature"},
	[FAN] = {"fan", UNIT_RPM, KIND_GAUGE, AGG_MAX, 0, "speed of a fan"},
	[VOLTAGE] = {"voltage", UNIT_VOLTS, KIND_GAUGE, AGG_NONE, 1e-3, "voltage"},
	[POWER] = {"power", UNIT_WATTS, KIND_GAUGE, AGG_NONE, 1e-6, "power"},
	[CURRENT] = {"current", UNIT_AMPERES, KIND_GAUGE, AGG_NONE, 1e-3, "current"},
	[ENERGY] = {"energy", UNIT_JOULES, KIND_COUNTER, AGG_NONE, 1e-6, "energy"},
};

/* What a file is called in the class; the average of a power is better than its last value. */
static const struct kind {
	const char *prefix, *value, *other;
} kinds[KINDS] = {
	[TEMPERATURE] = {"temp", "input", NULL}, [FAN] = {"fan", "input", NULL},
	[VOLTAGE] = {"in", "input", NULL},       [POWER] = {"power", "average", "input"},
	[CURRENT] = {"curr", "input", NULL},     [ENERGY] = {"energy", "input", NULL},
};

struct channel {
	char *name;         /* "coretemp.0/Core 1" */
	char *dir, *prefix; /* the directory, "temp2" */
	char *chip;
	unsigned kind;
	struct sysfile value, fault;
	struct unwrap count;
	bool told;
};

struct hwmon {
	struct channel *list;
	size_t count, cap;
};

/* ---- names
 * ---------------------------------------------------------------------------------------
 */

struct chip {
	char *name; /* as its file has it */
	char *full; /* told apart */
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

static bool taken(const struct hwmon *s, const char *name)
{
	for (size_t i = 0; i < s->count; i++)
		if (!strcmp(s->list[i].name, name))
			return true;
	return false;
}

/* "chip/label", or "chip/temp2" without one; what was there before also with the channel. */
static char *channel_name(const struct hwmon *s, const struct chip *c, const char *prefix)
{
	char label[64];

	if (sys_text(label, sizeof(label), "%s/%s_label", c->dir, prefix) <= 0)
		snprintf(label, sizeof(label), "%s", prefix);
	sys_clean(label);
	char *name = xasprintf("%s/%s", c->full, *label ? label : prefix);
	if (!taken(s, name))
		return name;
	free(name);
	return xasprintf("%s/%s-%s", c->full, label, prefix);
}

/* ---- finding channels
 * ----------------------------------------------------------------------------
 */

static bool has(const struct syslist *l, const char *prefix, const char *suffix)
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

static void add_channel(struct hwmon *s, const struct chip *c, const struct syslist *files,
			unsigned kind, char *prefix, const char *value)
{
	char *name = channel_name(s, c, prefix);

	if (s->count == CHANNELS_MAX || taken(s, name)) {
		free(name);
		free(prefix);
		return;
	}
	GROW(s->list, s->count, s->cap);
	struct channel *ch = &s->list[s->count++];
	*ch = (struct channel){.name = name,
			       .dir = xstrdup(c->dir),
			       .prefix = prefix,
			       .chip = xstrdup(c->name),
			       .kind = kind,
			       .fault = SYSFILE_INIT};
	sysfile_init(&ch->value, "%s/%s_%s", c->dir, prefix, value);
	if (has(files, prefix, "fault"))
		sysfile_init(&ch->fault, "%s/%s_fault", c->dir, prefix);
}

static void add_channels(struct hwmon *s, const struct chip *c)
{
	_cleanup_syslist_ struct syslist files = {0};

	(void)syslist_read(&files, "", "%s", c->dir);
	for (unsigned k = 0; k < KINDS; k++)
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

static int find_channels(struct hwmon *s, const char *root)
{
	_cleanup_syslist_ struct syslist l = {0};
	struct chip chips[CHIPS_MAX];
	size_t count = 0;
	int r = syslist_read(&l, "hwmon", "%s" CLASS, root);

	for (size_t i = 0; i < l.count && count < CHIPS_MAX; i++)
		read_chip(root, l.names[i], &chips[count++]);
	name_chips(root, chips, l.names, count);
	for (size_t i = 0; i < count; i++) {
		add_channels(s, &chips[i]);
		free(chips[i].name);
		free(chips[i].full);
		free(chips[i].dir);
	}
	return s->count ? 0 : r < 0 ? r : -ENOENT;
}

static void release(struct hwmon *s)
{
	for (size_t i = 0; i < s->count; i++) {
		struct channel *ch = &s->list[i];

		free(ch->name);
		free(ch->dir);
		free(ch->prefix);
		free(ch->chip);
		sysfile_close(&ch->value);
		sysfile_close(&ch->fault);
	}
	free(s->list);
	*s = (struct hwmon){0};
}

/* ---- the source
 * ----------------------------------------------------------------------------------
 */

static int probe(const struct source_context *ctx, struct source_report *report)
{
	static const char *const words[KINDS] = {"temperatures", "fans",     "voltages",
						 "powers",       "currents", "energies"};
	struct hwmon s = {0};
	size_t counts[KINDS] = {0};
	int r = find_channels(&s, ctx->root);

	if (r < 0)
		strbuf_addf(&report->detail, "no sensors in %s" CLASS, ctx->root);
	for (size_t i = 0; i < s.count; i++)
		counts[s.list[i].kind]++;
	for (unsigned k = 0; k < KINDS; k++)
		if (counts[k])
			strbuf_addf(&report->detail, "%s%s: %zu", report->detail.len ? ", " : "",
				    words[k], counts[k]);
	release(&s);
	return r;
}

static int open_hwmon(const struct source_context *ctx, struct sample_set *set, void **state,
		      struct strbuf *why)
{
	struct hwmon *s = xcalloc(1, sizeof(*s));
	bool found[KINDS] = {0};
	int r = find_channels(s, ctx->root);

	if (r < 0) {
		strbuf_addf(why, "no sensors in %s" CLASS, ctx->root);
		release(s);
		free(s);
		return r;
	}
	for (size_t i = 0; i < s->count; i++)
		found[s->list[i].kind] = true;
	for (unsigned k = 0; k < KINDS; k++)
		if (!found[k])
			sample_absent(set, k, "no chip measures this");
	*state = s;
	return 0;
}

/* Limits that somebody set: 0 and what no machine survives are not. */
static void tell_limit(struct sample_set *set, uint32_t e, const struct channel *ch,
		       const char *key)
{
	double scale = metrics_of_hwmon[ch->kind].scale;
	int64_t raw;
	char text[32];

	if (sys_i64(&raw, "%s/%s_%s", ch->dir, ch->prefix, key) < 0 || raw == 0)
		return;
	double v = (double)raw * (scale != 0 ? scale : 1);
	if (ch->kind == TEMPERATURE && (v > 1000 || v < -273))
		return;
	snprintf(text, sizeof(text), "%.10g", v);
	sample_fact(set, e, key, text);
}

static void tell_channel(struct sample_set *set, uint32_t e, struct channel *ch)
{
	sample_fact(set, e, "chip", ch->chip);
	sample_fact(set, e, "channel", ch->prefix);
	tell_limit(set, e, ch, "min");
	tell_limit(set, e, ch, "max");
	tell_limit(set, e, ch, "crit");
	if (ch->kind == POWER)
		tell_limit(set, e, ch, "cap");
	ch->told = true;
}

static int read_hwmon(void *state, struct sample_set *set)
{
	struct hwmon *s = state;
	int error = -ENODATA;

	for (size_t i = 0; i < s->count; i++) {
		struct channel *ch = &s->list[i];
		int64_t value, fault = 0;

		if (ch->fault.path && sysfile_i64(&ch->fault, &fault) == 0 && fault != 0)
			continue;
		int r = sysfile_i64(&ch->value, &value);
		if (r < 0 || (ch->kind == ENERGY && value < 0)) {
			error = r < 0 ? r : error;
			continue;
		}
		uint32_t e = sample_entity(set, ENTITY_SENSOR, ch->name);
		if (!ch->told)
			tell_channel(set, e, ch);
		sample_row(set, e);
		if (ch->kind == ENERGY)
			sys_put(set, ENERGY, sys_grown(&ch->count, (uint64_t)value));
		else
			sample_put(set, ch->kind, value);
	}
	return set->row_count ? 0 : error;
}

static void close_hwmon(void *state)
{
	release(state);
	free(state);
}

const struct source source_hwmon = {
	.name = "hwmon",
	.help = "sensors of the board: temperatures, fans, voltages, power, AMD energy counters",
	.probe = probe,
	.metrics = metrics_of_hwmon,
	.metric_count = KINDS,
	.every = 5,
	.slow = true,
	.open = open_hwmon,
	.read = read_hwmon,
	.close = close_hwmon,
};
