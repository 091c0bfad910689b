/*
 * AMD GPUs through the files that the driver amdgpu has in /sys/class/drm/card<n>/device. Most of
 * them ask the firmware of the card, which takes far longer than opening them does, so they are
 * opened anew at each reading and nothing but the directory is held.
 *
 * A card that is suspended because nobody uses it is left alone: reading would wake it up. The file
 * pcie_bw is not read at all, it counts for a second before it answers.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/files/fs.h"
#include "core/text/text.h"
#include "sources/source.h"

#define GPUS_MAX 64
#define FILE_MAX 65536 /* the kernel says of each that it has a page, which may be this large */

enum {
	M_UTILIZATION_GPU,
	M_UTILIZATION_MEMORY,
	M_MEMORY_USED,
	M_MEMORY_TOTAL,
	M_GTT_USED,
	M_CLOCK_GRAPHICS,
	M_CLOCK_MEMORY,
	M_POWER,
	M_TEMPERATURE,
	M_TEMPERATURE_HOTSPOT,
	M_TEMPERATURE_MEMORY,
	M_FAN,
	M_ECC_SINGLE,
	M_ECC_DOUBLE,
	M_PCIE_REPLAYS,
	METRIC_COUNT
};

/* Names are those of the source "nvidia" where they mean the same. */
static const struct sample_metric metrics_of_gpu[METRIC_COUNT] = {
	[M_UTILIZATION_GPU] = {"utilization_gpu", UNIT_PERCENT, KIND_GAUGE, AGG_SUM, 0,
			       "time in which the GPU was busy"},
	[M_UTILIZATION_MEMORY] = {"utilization_memory", UNIT_PERCENT, KIND_GAUGE, AGG_SUM, 0,
				  "time in which its memory was busy"},
	[M_MEMORY_USED] = {"memory_used", UNIT_BYTES, KIND_GAUGE, AGG_SUM, 0, "memory in use"},
	[M_MEMORY_TOTAL] = {"memory_total", UNIT_BYTES, KIND_GAUGE, AGG_SUM, 0,
			    "memory of the device"},
	[M_GTT_USED] = {"gtt_used", UNIT_BYTES, KIND_GAUGE, AGG_SUM, 0,
			"memory of the host that it uses"},
	[M_CLOCK_GRAPHICS] = {"clock_graphics", UNIT_HERTZ, KIND_GAUGE, AGG_MAX, 1e6,
			      "clock of the compute units"},
	[M_CLOCK_MEMORY] = {"clock_memory", UNIT_HERTZ, KIND_GAUGE, AGG_MAX, 1e6,
			    "clock of the memory"},
	[M_POWER] = {"power", UNIT_WATTS, KIND_GAUGE, AGG_SUM, 1e-6, "power of the socket"},
	[M_TEMPERATURE] = {"temperature", UNIT_CELSIUS, KIND_GAUGE, AGG_MAX, 0.001,
			   "temperature at the edge, or of the hottest place where that is all"},
	[M_TEMPERATURE_HOTSPOT] = {"temperature_hotspot", UNIT_CELSIUS, KIND_GAUGE, AGG_MAX, 0.001,
				   "temperature of the hottest place"},
	[M_TEMPERATURE_MEMORY] = {"temperature_memory", UNIT_CELSIUS, KIND_GAUGE, AGG_MAX, 0.001,
				  "temperature of the memory"},
	[M_FAN] = {"fan", UNIT_RPM, KIND_GAUGE, AGG_MAX, 0, "speed of the fan"},
	[M_ECC_SINGLE] = {"ecc_single", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0,
			  "corrected memory errors since the driver was loaded"},
	[M_ECC_DOUBLE] = {"ecc_double", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0,
			  "memory errors that could not be corrected, since the driver was loaded"},
	[M_PCIE_REPLAYS] = {"pcie_replays", UNIT_COUNT, KIND_COUNTER, AGG_SUM, 0,
			    "packets sent again over PCI Express"},
};

/* What of a file is the value. */
enum form {
	FORM_NUMBER,  /* all of it */
	FORM_CURRENT, /* "1: 1200Mhz *": the line with the star */
	FORM_MEGA,    /* a number of Hz, as MHz */
	FORM_UE,      /* "ue: 0", uncorrectable errors */
	FORM_CE,      /* "ce: 0", correctable errors */
};

/* Where a metric comes from: the first file that there is. */
static const struct import {
	unsigned metric;
	enum form form;
	const char *label; /* of the sensor of a temperature, whose number says which file */
	const char *file;  /* beginning with '@': below hwmon */
} inputs[] = {
	{M_UTILIZATION_GPU, FORM_NUMBER, NULL, "gpu_busy_percent"},
	{M_UTILIZATION_MEMORY, FORM_NUMBER, NULL, "mem_busy_percent"},
	{M_MEMORY_USED, FORM_NUMBER, NULL, "mem_info_vram_used"},
	{M_MEMORY_TOTAL, FORM_NUMBER, NULL, "mem_info_vram_total"},
	{M_GTT_USED, FORM_NUMBER, NULL, "mem_info_gtt_used"},
	{M_CLOCK_GRAPHICS, FORM_CURRENT, NULL, "pp_dpm_sclk"},
	{M_CLOCK_GRAPHICS, FORM_MEGA, NULL, "@freq1_input"},
	{M_CLOCK_MEMORY, FORM_CURRENT, NULL, "pp_dpm_mclk"},
	{M_CLOCK_MEMORY, FORM_MEGA, NULL, "@freq2_input"},
	{M_POWER, FORM_NUMBER, NULL, "@power1_average"},
	{M_POWER, FORM_NUMBER, NULL, "@power1_input"},
	{M_TEMPERATURE, FORM_NUMBER, "edge", NULL},
	{M_TEMPERATURE, FORM_NUMBER, "junction", NULL},
	{M_TEMPERATURE, FORM_NUMBER, NULL, "@temp1_input"},
	{M_TEMPERATURE_HOTSPOT, FORM_NUMBER, "junction", NULL},
	{M_TEMPERATURE_MEMORY, FORM_NUMBER, "mem", NULL},
	{M_FAN, FORM_NUMBER, NULL, "@fan1_input"},
	{M_ECC_SINGLE, FORM_CE, NULL, "ras/umc_err_count"},
	{M_ECC_SINGLE, FORM_CE, NULL, "ras/aca_umc"},
	{M_ECC_DOUBLE, FORM_UE, NULL, "ras/umc_err_count"},
	{M_ECC_DOUBLE, FORM_UE, NULL, "ras/aca_umc"},
	{M_PCIE_REPLAYS, FORM_NUMBER, NULL, "pcie_replay_count"},
};

struct gpu {
	unsigned card;
	int dir; /* of the device */
	uint32_t entity;
	bool told; /* also the facts that only a card that is awake tells */
	char name[28];
	char hwmon[300];                 /* "hwmon/hwmon3"; empty: none */
	char *paths[ARRAY_SIZE(inputs)]; /* NULL: has it not */
};

struct amdgpu {
	struct gpu gpus[GPUS_MAX];
	size_t count;
	int errors[METRIC_COUNT]; /* why a value was not there at the reading before */
};

/* ---- files -------------------------------------------------------------------------------------
 */

/* A file of one line, without its end; false when it is not there or has nothing. */
static bool read_line(int dir, const char *name, struct strbuf *out)
{
	strbuf_reset(out);
	if (fs_read(dir, name, FILE_MAX, out) < 0)
		return false;
	strbuf_cut(out, strcspn(out->buf, "\n"));
	return out->len > 0;
}

static int parse_whole(const char *text, int64_t *ret)
{
	char copy[32];

	size_t n = strcspn(text, "\n");
	if (n >= sizeof(copy) || strspn(text + n, "\n \t") != strlen(text + n))
		return -EBADMSG;
	memcpy(copy, text, n);
	copy[n] = 0;
	return parse_i64(copy, ret) < 0 ? -EBADMSG : 0;
}

/* The number that begins here, with something else behind it. */
static int parse_leading(const char *p, int64_t *ret)
{
	char copy[32];

	size_t n = strspn(p, "0123456789");
	if (!n || n >= sizeof(copy))
		return -EBADMSG;
	memcpy(copy, p, n);
	copy[n] = 0;
	return parse_i64(copy, ret) < 0 ? -EBADMSG : 0;
}

/* "S: 19Mhz *" is a clock in sleep. */
static int parse_current(const char *text, int64_t *ret)
{
	for (const char *line = text; *line;) {
		size_t n = strcspn(line, "\n");
		const char *colon = memchr(line, ':', n);

		if (colon && memchr(line, '*', n))
			return parse_leading(colon + 1 + strspn(colon + 1, " "), ret);
		line += n + (line[n] == '\n');
	}
	return -EBADMSG;
}

static int parse_named(const char *text, const char *key, int64_t *ret)
{
	for (const char *line = text; *line;) {
		size_t n = strcspn(line, "\n"), k = strlen(key);

		if (!strncmp(line, key, k) && line[k] == ':')
			return parse_leading(line + k + 1 + strspn(line + k + 1, " "), ret);
		line += n + (line[n] == '\n');
	}
	return -EBADMSG;
}

static int read_input(const struct gpu *g, size_t i, int64_t *ret)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	int r = fs_read(g->dir, g->paths[i], FILE_MAX, &text);

	if (r < 0)
		return r;
	switch (inputs[i].form) {
	case FORM_NUMBER:
		return parse_whole(text.buf, ret);
	case FORM_MEGA:
		r = parse_whole(text.buf, ret);
		*ret /= 1000000;
		return r;
	case FORM_CURRENT:
		return parse_current(text.buf, ret);
	case FORM_UE:
		return parse_named(text.buf, "ue", ret);
	case FORM_CE:
		return parse_named(text.buf, "ce", ret);
	}
	return -EBADMSG;
}

/* ---- finding cards -----------------------------------------------------------------------------
 */

/* The first directory below hwmon. */
static void find_hwmon(struct gpu *g)
{
	int fd = openat(g->dir, "hwmon", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd >= 0 ? fdopendir(fd) : NULL;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return;
	}
	for (const struct dirent *e; (e = readdir(d)) && !*g->hwmon;)
		if (str_prefix(e->d_name, "hwmon"))
			snprintf(g->hwmon, sizeof(g->hwmon), "hwmon/%s", e->d_name);
	closedir(d);
}

/* The file of the temperature with this label; NULL when there is none. */
static char *find_temperature(const struct gpu *g, const char *label)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	for (int i = 1; i <= 8; i++) {
		_cleanup_free_ char *path = xasprintf("%s/temp%d_label", g->hwmon, i);

		if (read_line(g->dir, path, &text) && !strcmp(text.buf, label))
			return xasprintf("%s/temp%d_input", g->hwmon, i);
	}
	return NULL;
}

/* Which inputs there are: of each metric the first. */
static void find_inputs(struct gpu *g)
{
	uint64_t found = 0;

	find_hwmon(g);
	for (size_t i = 0; i < ARRAY_SIZE(inputs); i++) {
		const struct import *in = &inputs[i];
		char *path = NULL;

		if (found >> in->metric & 1)
			continue;
		if (!in->file)
			path = *g->hwmon ? find_temperature(g, in->label) : NULL;
		else if (*in->file != '@')
			path = xstrdup(in->file);
		else if (*g->hwmon)
			path = xasprintf("%s/%s", g->hwmon, in->file + 1);
		if (path && faccessat(g->dir, path, F_OK, 0) == 0) {
			g->paths[i] = path;
			found |= (uint64_t)1 << in->metric;
		} else {
			free(path);
		}
	}
}

/* "card12"; not "card1-DP-1", which is a plug of it. */
static bool card_number(const char *name, unsigned *ret)
{
	uint64_t n;

	if (!str_prefix(name, "card") || !isdigit((unsigned char)name[4]) ||
	    parse_u64(name + 4, &n) < 0 || n > 65535)
		return false;
	*ret = (unsigned)n;
	return true;
}

static int by_card(const void *a, const void *b)
{
	return (int)((const struct gpu *)a)->card - (int)((const struct gpu *)b)->card;
}

/* The cards of AMD, sorted; their directories are open. */
static size_t find_gpus(const char *root, struct gpu *gpus)
{
	_cleanup_free_ char *path = xasprintf("%s/sys/class/drm", root);
	_cleanup_strbuf_ struct strbuf vendor = STRBUF_INIT;
	DIR *d = opendir(path);
	size_t count = 0;

	if (!d)
		return 0;
	for (const struct dirent *e; (e = readdir(d)) && count < GPUS_MAX;) {
		char name[300];
		unsigned card;

		if (!card_number(e->d_name, &card))
			continue;
		snprintf(name, sizeof(name), "%s/device", e->d_name);
		int dir = openat(dirfd(d), name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (dir < 0)
			continue;
		if (read_line(dir, "vendor", &vendor) && !strcmp(vendor.buf, "0x1002"))
			gpus[count++] = (struct gpu){.card = card, .dir = dir};
		else
			close(dir);
	}
	closedir(d);
	qsort(gpus, count, sizeof(*gpus), by_card);
	for (size_t i = 0; i < count; i++)
		snprintf(gpus[i].name, sizeof(gpus[i].name), "amd-%zu", i);
	return count;
}

static void close_source(void *state)
{
	struct amdgpu *a = state;

	for (size_t i = 0; i < a->count; i++) {
		close(a->gpus[i].dir);
		for (size_t k = 0; k < ARRAY_SIZE(inputs); k++)
			free(a->gpus[i].paths[k]);
	}
	free(a);
}

/* ---- facts -------------------------------------------------------------------------------------
 */

/* The product, or the PCI number of one without a name. */
static void add_product(const struct gpu *g, struct strbuf *out)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (read_line(g->dir, "product_name", &text)) {
		text_add_printable(out, text.buf, text.len);
	} else if (read_line(g->dir, "device", &text)) {
		strbuf_addstr(out, "AMD ");
		text_add_printable(out, text.buf, text.len);
	}
}

static void fact_pci(const struct gpu *g, struct sample_set *set)
{
	static const char key[] = "PCI_SLOT_NAME=";
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, slot = STRBUF_INIT;

	if (fs_read(g->dir, "uevent", FILE_MAX, &text) < 0)
		return;
	const char *line = strstr(text.buf, key);
	if (!line)
		return;
	line += strlen(key);
	text_add_printable(&slot, line, strcspn(line, "\n"));
	sample_fact(set, g->entity, "pci", slot.buf);
}

static void fact_power_limit(const struct gpu *g, struct sample_set *set)
{
	_cleanup_free_ char *path = xasprintf("%s/power1_cap", g->hwmon);
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	int64_t microwatts;

	if (!*g->hwmon || fs_read(g->dir, path, FILE_MAX, &text) < 0 ||
	    parse_whole(text.buf, &microwatts) < 0 || microwatts <= 0)
		return;
	_cleanup_free_ char *watts = xasprintf("%lld W", (long long)microwatts / 1000000);
	sample_fact(set, g->entity, "power_limit", watts);
}

static void fact_line(const struct gpu *g, struct sample_set *set, const char *key,
		      const char *file)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, shown = STRBUF_INIT;

	if (!read_line(g->dir, file, &text))
		return;
	text_add_printable(&shown, text.buf, text.len < 200 ? text.len : 200);
	sample_fact(set, g->entity, key, shown.buf);
}

static void tell_facts(const struct gpu *g, struct sample_set *set)
{
	static const struct {
		const char *key, *file;
	} facts[] = {
		{"uuid", "unique_id"},
		{"serial", "serial_number"},
		{"vbios", "vbios_version"},
		{"memory", "mem_info_vram_total"},
		{"memory_vendor", "mem_info_vram_vendor"},
	};
	_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;
	char card[16];

	add_product(g, &name);
	if (name.len)
		sample_fact(set, g->entity, "name", name.buf);
	snprintf(card, sizeof(card), "card%u", g->card);
	sample_fact(set, g->entity, "card", card);
	fact_pci(g, set);
	for (size_t i = 0; i < ARRAY_SIZE(facts); i++)
		fact_line(g, set, facts[i].key, facts[i].file);
}

/* What cannot be asked of a card that is suspended without waking it up. */
static void tell_more_facts(struct gpu *g, struct sample_set *set)
{
	if (g->told)
		return;
	g->told = true;
	fact_line(g, set, "pcie_speed", "current_link_speed");
	fact_line(g, set, "pcie_width", "current_link_width");
	fact_line(g, set, "pcie_width_max", "max_link_width");
	fact_power_limit(g, set);
}

/* ---- the source --------------------------------------------------------------------------------
 */

static int open_source(const struct source_context *ctx, struct sample_set *set, void **state,
		       struct strbuf *why)
{
	struct amdgpu *a = xcalloc(1, sizeof(*a));
	uint64_t found = 0;

	a->count = find_gpus(ctx->root, a->gpus);
	if (!a->count) {
		strbuf_addstr(why, "no AMD GPU");
		close_source(a);
		return -ENOENT;
	}
	for (struct gpu *g = a->gpus; g < a->gpus + a->count; g++) {
		g->entity = sample_entity(set, ENTITY_GPU, g->name);
		find_inputs(g);
		tell_facts(g, set);
		for (size_t i = 0; i < ARRAY_SIZE(inputs); i++)
			if (g->paths[i])
				found |= (uint64_t)1 << inputs[i].metric;
	}
	for (unsigned m = 0; m < METRIC_COUNT; m++)
		if (!(found >> m & 1))
			sample_absent(set, m, "the driver has no file of it for this GPU");
	*state = a;
	return 0;
}

/* Firmware that is not ready answers with nonsense. Only temperatures are ever below zero. */
static bool is_plausible(unsigned metric, int64_t value)
{
	if (metric >= M_TEMPERATURE && metric <= M_TEMPERATURE_MEMORY)
		return value >= -300000 && value <= 1000000;
	if (metric == M_UTILIZATION_GPU || metric == M_UTILIZATION_MEMORY)
		return value >= 0 && value <= 100;
	return value >= 0;
}

/* What is found at the first look and will stay so. */
static void tell_errors(struct amdgpu *a, struct sample_set *set)
{
	uint64_t somewhere = 0;

	for (size_t i = 0; i < set->row_count; i++)
		somewhere |= set->rows[i].present;
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		int error = -a->errors[m];

		a->errors[m] = 0;
		if (somewhere >> m & 1)
			continue;
		if (error == EACCES || error == EOPNOTSUPP || error == EINVAL || error == ENODATA)
			sample_absent(set, m, "the driver's file cannot be read: %s",
				      strerror(error));
		else if (error == EBADMSG || error == EFBIG)
			sample_absent(set, m, "the driver's file is not understood");
	}
}

static int read_source(void *state, struct sample_set *set)
{
	_cleanup_strbuf_ struct strbuf status = STRBUF_INIT;
	struct amdgpu *a = state;

	for (struct gpu *g = a->gpus; g < a->gpus + a->count; g++) {
		bool asleep = read_line(g->dir, "power/runtime_status", &status) &&
			      !strcmp(status.buf, "suspended");

		sample_row(set, g->entity);
		sample_fact(set, g->entity, "state", asleep ? "suspended" : NULL);
		if (!asleep)
			tell_more_facts(g, set);
		for (size_t i = 0; !asleep && i < ARRAY_SIZE(inputs); i++) {
			int64_t value = 0;

			if (!g->paths[i])
				continue;
			int r = read_input(g, i, &value);
			if (r < 0)
				a->errors[inputs[i].metric] = r;
			else if (is_plausible(inputs[i].metric, value))
				sample_put(set, inputs[i].metric, value);
		}
	}
	tell_errors(a, set);
	return 0;
}

static int probe(const struct source_context *ctx, struct source_report *report)
{
	struct amdgpu *a = xcalloc(1, sizeof(*a));
	int r = -ENOENT;

	a->count = find_gpus(ctx->root, a->gpus);
	if (a->count) {
		_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

		add_product(&a->gpus[0], &name);
		strbuf_addf(&report->detail, "%zu GPU%s%s%s%s", a->count, plural(a->count, "", "s"),
			    name.len ? " (" : "", name.buf, name.len ? ")" : "");
		r = 0;
	} else {
		strbuf_addstr(&report->detail, "no AMD GPU");
	}
	close_source(a);
	return r;
}

const struct source source_amdgpu = {
	.name = "amdgpu",
	.help = "AMD GPUs: load, memory, clocks, power, temperature",
	.probe = probe,
	.metrics = metrics_of_gpu,
	.metric_count = METRIC_COUNT,
	.every = 1,
	.slow = true,
	.open = open_source,
	.read = read_source,
	.close = close_source,
};
