/*
 * AMD GPUs through the files of the amdgpu driver in /sys/class/drm/card<n>/device. Most of them
 * ask the firmware of the card, which takes far longer than opening them, so they are opened at
 * each reading.
 *
 * A suspended card is not read: reading would wake it up. Nor is the file pcie_bw, which counts for
 * a second before it answers.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>

#include "core/text/text.h"
#include "sources/columns.h"
#include "sources/source.h"
#include "sources/sysfile.h"

#define GPUS_MAX 64

/* Names are those of the source "nvidia" where they mean the same. */
#define METRICS_OF_AMDGPU(X)                                                                    \
	X(M_UTILIZATION_GPU,                                                                    \
	  GAUGE("utilization_gpu", PERCENT, SUM, 0, "share of time in which the GPU was busy")) \
	X(M_UTILIZATION_MEMORY, GAUGE("utilization_memory", PERCENT, SUM, 0,                    \
				      "share of time in which its memory was busy"))            \
	X(M_MEMORY_USED, GAUGE("memory_used", BYTES, SUM, 0, "memory in use"))                  \
	X(M_MEMORY_TOTAL, GAUGE("memory_total", BYTES, SUM, 0, "memory of the device"))         \
	X(M_GTT_USED, GAUGE("gtt_used", BYTES, SUM, 0, "host memory in use by the GPU"))        \
	X(M_CLOCK_GRAPHICS,                                                                     \
	  GAUGE("clock_graphics", HERTZ, MAX, 1e6, "clock of the compute units"))               \
	X(M_CLOCK_MEMORY, GAUGE("clock_memory", HERTZ, MAX, 1e6, "clock of the memory"))        \
	X(M_POWER, GAUGE("power", WATTS, SUM, 1e-6, "power of the socket"))                     \
	X(M_TEMPERATURE,                                                                        \
	  GAUGE("temperature", CELSIUS, MAX, 0.001,                                             \
		"temperature at the edge, or of the hot spot if there is no other"))            \
	X(M_TEMPERATURE_HOTSPOT,                                                                \
	  GAUGE("temperature_hotspot", CELSIUS, MAX, 0.001, "temperature of the hot spot"))     \
	X(M_TEMPERATURE_MEMORY,                                                                 \
	  GAUGE("temperature_memory", CELSIUS, MAX, 0.001, "temperature of the memory"))        \
	X(M_FAN, GAUGE("fan", RPM, MAX, 0, "speed of the fan"))                                 \
	X(M_ECC_SINGLE,                                                                         \
	  COUNT("ecc_single", "corrected memory errors since the driver was loaded"))           \
	X(M_ECC_DOUBLE,                                                                         \
	  COUNT("ecc_double", "uncorrected memory errors since the driver was loaded"))         \
	X(M_PCIE_REPLAYS, COUNT("pcie_replays", "packets retransmitted over PCI Express"))
DEFINE_METRICS(METRICS_OF_AMDGPU);

/* How the value is found in a file. */
enum form {
	FORM_NUMBER,  /* the whole text */
	FORM_CURRENT, /* "1: 1200Mhz *": the line with the star */
	FORM_MEGA,    /* a number of Hz, as MHz */
	FORM_UE,      /* "ue: 0", uncorrectable errors */
	FORM_CE,      /* "ce: 0", correctable errors */
};

/* Where a metric comes from: the first of these files that exists. */
static const struct input {
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
	char *card;  /* "card1" */
	char *dir;   /* of the device */
	char *hwmon; /* its directory of sensors; NULL: none */
	uint32_t entity;
	bool described; /* the metadata that only an active card has are set, too */
	char name[28];
	char *paths[ARRAY_SIZE(inputs)]; /* NULL: does not exist */
};

struct amdgpu {
	struct gpu gpus[GPUS_MAX];
	size_t count;
	int errors[METRICS]; /* why a value was missing in the last reading */
};

/* ---- files ---- */

static int parse_number(const char *text, int64_t *ret)
{
	return parse_i64(text, ret) < 0 ? -EBADMSG : 0;
}

/* The number behind "key:"; without a key the one in the line with a star: "1: 1200Mhz *", "S:
 * 19Mhz
 * *" while the clock sleeps. */
static int parse_line(const char *text, const char *key, int64_t *ret)
{
	const char *end = text + strlen(text);
	struct words line;

	while (sys_line(&text, end, &line)) {
		size_t n = (size_t)(line.end - line.p);
		const char *colon = memchr(line.p, ':', n);
		struct words name = {line.p, colon};

		if (!colon || !(key ? word_is(&name, key) : memchr(line.p, '*', n) != NULL))
			continue;
		colon += 1 + strspn(colon + 1, " ");
		_cleanup_free_ char *digits = xstrndup(colon, strspn(colon, "0123456789"));
		return parse_number(digits, ret);
	}
	return -EBADMSG;
}

static int read_input(const struct gpu *g, size_t i, int64_t *ret)
{
	char text[SYSFILE_TEXT];
	ssize_t n = sys_text(text, sizeof(text), "%s", g->paths[i]);
	int r;

	if (n < 0)
		return (int)n;
	switch (inputs[i].form) {
	case FORM_NUMBER:
		return parse_number(text, ret);
	case FORM_MEGA:
		r = parse_number(text, ret);
		*ret /= 1000000;
		return r;
	case FORM_CURRENT:
		return parse_line(text, NULL, ret);
	case FORM_UE:
		return parse_line(text, "ue", ret);
	case FORM_CE:
		return parse_line(text, "ce", ret);
	}
	return -EBADMSG;
}

/* ---- finding cards ---- */

/* The file of the temperature with this label; NULL when there is none. */
static char *find_temperature(const struct gpu *g, const char *label)
{
	char text[64];

	for (int i = 1; i <= 8; i++)
		if (sys_text(text, sizeof(text), "%s/temp%d_label", g->hwmon, i) > 0 &&
		    !strcmp(text, label))
			return xasprintf("%s/temp%d_input", g->hwmon, i);
	return NULL;
}

/* Finds the inputs: the first one of each metric. */
static void find_inputs(struct gpu *g)
{
	_cleanup_name_list_ struct name_list l = {0};
	uint64_t found = 0;

	(void)name_list_read(&l, "hwmon", "%s/hwmon", g->dir);
	if (l.count)
		g->hwmon = xasprintf("%s/hwmon/%s", g->dir, l.names[0]);
	for (size_t i = 0; i < ARRAY_SIZE(inputs); i++) {
		const struct input *in = &inputs[i];
		bool sensor = !in->file || *in->file == '@';
		char *path = NULL;

		if (found >> in->metric & 1 || (sensor && !g->hwmon))
			continue;
		path = !in->file
			       ? find_temperature(g, in->label)
			       : xasprintf("%s/%s", sensor ? g->hwmon : g->dir, in->file + sensor);
		if (path && access(path, F_OK) == 0) {
			g->paths[i] = path;
			found |= (uint64_t)1 << in->metric;
		} else {
			free(path);
		}
	}
}

/* The cards of AMD in their order: "card12", not "card1-DP-1", which is a connector. */
static size_t find_gpus(const char *root, struct gpu *gpus)
{
	_cleanup_name_list_ struct name_list l = {0};
	size_t count = 0;
	char vendor[16];
	uint64_t number;

	(void)name_list_read(&l, "card", "%s/sys/class/drm", root);
	for (size_t i = 0; i < l.count && count < GPUS_MAX; i++) {
		if (!isdigit((unsigned char)l.names[i][4]) ||
		    parse_u64(l.names[i] + 4, &number) < 0 || number > 65535 ||
		    sys_text(vendor, sizeof(vendor), "%s/sys/class/drm/%s/device/vendor", root,
			     l.names[i]) < 0 ||
		    strcmp(vendor, "0x1002") != 0)
			continue;
		struct gpu *g = &gpus[count];
		*g = (struct gpu){.card = xstrdup(l.names[i]),
				  .dir = xasprintf("%s/sys/class/drm/%s/device", root, l.names[i])};
		snprintf(g->name, sizeof(g->name), "amd-%zu", count++);
	}
	return count;
}

static void close_source(void *state)
{
	struct amdgpu *a = state;

	for (size_t i = 0; i < a->count; i++) {
		for (size_t k = 0; k < ARRAY_SIZE(inputs); k++)
			free(a->gpus[i].paths[k]);
		free(a->gpus[i].card);
		free(a->gpus[i].dir);
		free(a->gpus[i].hwmon);
	}
	free(a);
}

/* ---- metadata ---- */

/* The name of the product, or its PCI number. */
static void add_product(const struct gpu *g, struct strbuf *out)
{
	char text[256];

	if (sys_text(text, sizeof(text), "%s/product_name", g->dir) <= 0) {
		if (sys_text(text, sizeof(text), "%s/device", g->dir) <= 0)
			return;
		strbuf_addstr(out, "AMD ");
	}
	text_add_printable(out, text, strcspn(text, "\n"));
}

static void fact_pci(const struct gpu *g, struct sample_set *set)
{
	static const char key[] = "PCI_SLOT_NAME=";
	char text[SYSFILE_TEXT];
	char *line =
		sys_text(text, sizeof(text), "%s/uevent", g->dir) > 0 ? strstr(text, key) : NULL;

	if (!line)
		return;
	line += strlen(key);
	line[strcspn(line, "\n")] = 0;
	sys_clean(line);
	sample_set_metadata(set, g->entity, "pci", line);
}

static void fact_power_limit(const struct gpu *g, struct sample_set *set)
{
	int64_t microwatts;

	if (g->hwmon && sys_i64(&microwatts, "%s/power1_cap", g->hwmon) == 0 && microwatts > 0)
		sample_format_metadata(set, g->entity, "power_limit", "%lld W",
				       (long long)microwatts / 1000000);
}

static void describe_gpu(const struct gpu *g, struct sample_set *set)
{
	static const struct {
		const char *key, *file;
	} metadata[] = {
		{"uuid", "unique_id"},
		{"serial", "serial_number"},
		{"vbios", "vbios_version"},
		{"memory", "mem_info_vram_total"},
		{"memory_vendor", "mem_info_vram_vendor"},
	};
	_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

	add_product(g, &name);
	if (name.len)
		sample_set_metadata(set, g->entity, "name", name.buf);
	sample_set_metadata(set, g->entity, "card", g->card);
	fact_pci(g, set);
	for (size_t i = 0; i < ARRAY_SIZE(metadata); i++)
		sys_fact(set, g->entity, metadata[i].key, "%s/%s", g->dir, metadata[i].file);
}

/* Facts that would wake up a suspended card. */
static void describe_active_gpu(struct gpu *g, struct sample_set *set)
{
	if (g->described)
		return;
	g->described = true;
	sys_fact(set, g->entity, "pcie_speed", "%s/current_link_speed", g->dir);
	sys_fact(set, g->entity, "pcie_width", "%s/current_link_width", g->dir);
	sys_fact(set, g->entity, "pcie_width_max", "%s/max_link_width", g->dir);
	fact_power_limit(g, set);
}

/* ---- the source ---- */

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
		describe_gpu(g, set);
		for (size_t i = 0; i < ARRAY_SIZE(inputs); i++)
			if (g->paths[i])
				found |= (uint64_t)1 << inputs[i].metric;
	}
	for (unsigned m = 0; m < METRICS; m++)
		if (!(found >> m & 1))
			sample_absent(set, m, "the driver has no file for this on this GPU");
	*state = a;
	return 0;
}

/* Firmware that is not ready returns nonsense. Only temperatures can be negative. */
static bool is_plausible(unsigned metric, int64_t value)
{
	if (metric >= M_TEMPERATURE && metric <= M_TEMPERATURE_MEMORY)
		return value >= -300000 && value <= 1000000;
	if (metric == M_UTILIZATION_GPU || metric == M_UTILIZATION_MEMORY)
		return value >= 0 && value <= 100;
	return value >= 0;
}

/* Reports errors that will not go away as absence. */
static void report_errors(struct amdgpu *a, struct sample_set *set)
{
	uint64_t somewhere = 0;

	for (size_t i = 0; i < set->row_count; i++)
		somewhere |= set->rows[i].present;
	for (unsigned m = 0; m < METRICS; m++) {
		int error = -a->errors[m];

		a->errors[m] = 0;
		if (somewhere >> m & 1)
			continue;
		if (error == EACCES || error == EOPNOTSUPP || error == EINVAL || error == ENODATA)
			sample_absent(set, m, "cannot read the driver's file: %s", strerror(error));
		else if (error == EBADMSG || error == EFBIG)
			sample_absent(set, m, "cannot parse the driver's file");
	}
}

static int read_source(void *state, struct sample_set *set)
{
	struct amdgpu *a = state;
	char status[32];

	for (struct gpu *g = a->gpus; g < a->gpus + a->count; g++) {
		bool asleep =
			sys_text(status, sizeof(status), "%s/power/runtime_status", g->dir) > 0 &&
			!strcmp(status, "suspended");

		sample_row(set, g->entity);
		sample_set_metadata(set, g->entity, "state", asleep ? "suspended" : NULL);
		if (!asleep)
			describe_active_gpu(g, set);
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
	report_errors(a, set);
	return 0;
}

static void describe(void *state, struct strbuf *out)
{
	const struct amdgpu *a = state;
	_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

	add_product(&a->gpus[0], &name);
	strbuf_addf(out, "%zu GPU%s%s%s%s", a->count, plural(a->count, "", "s"),
		    name.len ? " (" : "", name.buf, name.len ? ")" : "");
}

const struct source source_amdgpu = {
	.name = "amdgpu",
	.help = "AMD GPUs: load, memory, clocks, power, temperature",
	.describe = describe,
	.metrics = columns,
	.metric_count = METRICS,
	.every = 1,
	.slow = true,
	.open = open_source,
	.read = read_source,
	.close = close_source,
};
