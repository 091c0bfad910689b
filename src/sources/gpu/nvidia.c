/*
 * NVIDIA GPUs through the driver's management library, which is opened at run time (nvml.h). This
 * file finds and describes them; nvidia_read.c takes readings.
 *
 * Calls of the library go to the driver and may block: two of them by design for 20 ms, all of them
 * indefinitely when a GPU hangs. A full reading of one H200 takes 65 ms, most of it waiting; one
 * without the expensive values about 1 ms (nvidia_rounds.c).
 * PLIMSOLL_NVML, or the option of the source, names another library; privileged programs ignore
 * both.
 */
#include "sources/gpu/nvidia.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

#include "core/text/text.h"
#include "sources/columns.h"

#define LIBRARY "libnvidia-ml.so.1"

/* The library to open; NULL with a reason: none. */
static const char *library_path(const struct source_context *ctx, struct strbuf *why)
{
	const char *named = ctx->option ? ctx->option : secure_getenv("PLIMSOLL_NVML");

	if (named && getauxval(AT_SECURE)) {
		strbuf_addstr(why, "a privileged program does not load another library");
		return NULL;
	}
	if (!named && *ctx->root) {
		strbuf_addstr(why, "a recorded tree has no NVIDIA driver library");
		return NULL;
	}
	return named ? named : LIBRARY;
}

/* ---- metadata ---- */

bool nvidia_text(const struct nvidia *v, enum nvml_function function, nvml_device device,
		 struct strbuf *out)
{
	char text[NVML_TEXT_NAME] = "";
	int code = device ? NVML_CALL(&v->nvml, function, (nvml_device, char *, unsigned), device,
				      text, sizeof(text))
			  : NVML_CALL(&v->nvml, function, (char *, unsigned), text, sizeof(text));
	size_t n = strnlen(text, sizeof(text));

	if (code != NVML_SUCCESS || !n)
		return false;
	text_add_printable(out, text, n);
	return true;
}

static bool get_u32(const struct nvidia *v, enum nvml_function function, nvml_device device,
		    unsigned *ret)
{
	return NVML_CALL(&v->nvml, function, (nvml_device, unsigned *), device, ret) ==
	       NVML_SUCCESS;
}

static bool get_pair(const struct nvidia *v, enum nvml_function function, nvml_device device,
		     unsigned *a, unsigned *b)
{
	return NVML_CALL(&v->nvml, function, (nvml_device, unsigned *, unsigned *), device, a, b) ==
	       NVML_SUCCESS;
}

static int get_device(const struct nvidia *v, unsigned index, nvml_device *ret)
{
	return NVML_CALL(&v->nvml, FN_nvmlDeviceGetHandleByIndex_v2, (unsigned, nvml_device *),
			 index, ret);
}

static void fact_text(const struct nvidia *v, struct sample_set *set, const struct nvidia_gpu *g,
		      const char *key, enum nvml_function function)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (nvidia_text(v, function, function == FN_nvmlSystemGetDriverVersion ? NULL : g->device,
			&text))
		sample_set_metadata(set, g->entity, key, text.buf);
}

static void fact_u32(const struct nvidia *v, struct sample_set *set, const struct nvidia_gpu *g,
		     const char *key, enum nvml_function function, unsigned divisor,
		     const char *unit)
{
	unsigned value = 0;

	if (get_u32(v, function, g->device, &value) && value != UINT32_MAX)
		sample_format_metadata(set, g->entity, key, "%u%s", value / divisor, unit);
}

static void fact_architecture(const struct nvidia *v, struct sample_set *set,
			      const struct nvidia_gpu *g)
{
	static const char *const names[] = {NULL,     NULL,     "Kepler",   "Maxwell",
					    "Pascal", "Volta",  "Turing",   "Ampere",
					    "Ada",    "Hopper", "Blackwell"};
	unsigned number = 0, major = 0, minor = 0;

	if (get_u32(v, FN_nvmlDeviceGetArchitecture, g->device, &number) &&
	    number < ARRAY_SIZE(names) && names[number])
		sample_set_metadata(set, g->entity, "architecture", names[number]);
	if (get_pair(v, FN_nvmlDeviceGetCudaComputeCapability, g->device, &major, &minor))
		sample_format_metadata(set, g->entity, "compute_capability", "%u.%u", major, minor);
}

static void fact_pci(const struct nvidia *v, struct sample_set *set, const struct nvidia_gpu *g)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	struct nvml_pci pci = {0};

	if (NVML_CALL(&v->nvml, FN_nvmlDeviceGetPciInfo_v3, (nvml_device, struct nvml_pci *),
		      g->device, &pci) != NVML_SUCCESS)
		return;
	text_add_printable(&text, pci.bus_id, strnlen(pci.bus_id, sizeof(pci.bus_id)));
	sample_set_metadata(set, g->entity, "pci", text.buf);
}

static void fact_clock(const struct nvidia *v, struct sample_set *set, const struct nvidia_gpu *g,
		       const char *key, enum nvml_clock clock)
{
	unsigned mhz = 0;

	if (NVML_CALL(&v->nvml, FN_nvmlDeviceGetMaxClockInfo, (nvml_device, unsigned, unsigned *),
		      g->device, clock, &mhz) == NVML_SUCCESS)
		sample_format_metadata(set, g->entity, key, "%u MHz", mhz);
}

/* 13020 is version 13.2. */
static bool cuda_version(const struct nvidia *v, char *text, size_t size)
{
	int number = 0;

	if (NVML_CALL(&v->nvml, FN_nvmlSystemGetCudaDriverVersion_v2, (int *), &number) !=
		    NVML_SUCCESS ||
	    number <= 0)
		return false;
	snprintf(text, size, "%d.%d", number / 1000, number % 1000 / 10);
	return true;
}

static void describe_gpu(struct nvidia *v, struct nvidia_gpu *g, struct sample_set *set)
{
	unsigned current = 0, pending = 0;
	char text[48];

	fact_text(v, set, g, "name", FN_nvmlDeviceGetName);
	fact_text(v, set, g, "uuid", FN_nvmlDeviceGetUUID);
	fact_text(v, set, g, "serial", FN_nvmlDeviceGetSerial);
	fact_pci(v, set, g);
	fact_text(v, set, g, "vbios", FN_nvmlDeviceGetVbiosVersion);
	fact_text(v, set, g, "driver", FN_nvmlSystemGetDriverVersion);
	if (cuda_version(v, text, sizeof(text)))
		sample_set_metadata(set, g->entity, "cuda", text);
	fact_architecture(v, set, g);
	fact_u32(v, set, g, "power_limit", FN_nvmlDeviceGetEnforcedPowerLimit, 1000, " W");
	fact_u32(v, set, g, "pcie_generation", FN_nvmlDeviceGetMaxPcieLinkGeneration, 1, "");
	fact_u32(v, set, g, "pcie_width", FN_nvmlDeviceGetCurrPcieLinkWidth, 1, "");
	fact_u32(v, set, g, "pcie_width_max", FN_nvmlDeviceGetMaxPcieLinkWidth, 1, "");
	fact_clock(v, set, g, "clock_sm_max", NVML_CLOCK_SM);
	fact_clock(v, set, g, "clock_memory_max", NVML_CLOCK_MEMORY);
	if (get_pair(v, FN_nvmlDeviceGetMigMode, g->device, &current, &pending)) {
		g->mig = current == 1;
		sample_set_metadata(set, g->entity, "mig", g->mig ? "enabled" : "disabled");
	}
}

/* ---- open, probe ---- */

bool nvidia_attach(struct nvidia *v, struct nvidia_gpu *g, struct sample_set *set)
{
	if (g->device)
		return true;
	int code = get_device(v, g->index, &g->device);
	if (code == NVML_SUCCESS && g->device) {
		describe_gpu(v, g, set);
		return true;
	}
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	nvml_add_error(&v->nvml, code, &text);
	sample_set_metadata(set, g->entity, "state", text.buf);
	g->device = NULL;
	return false;
}

/* How many GPUs the library knows; 0 also when the call fails. */
static unsigned count_gpus(const struct nvidia *v)
{
	unsigned count = 0;
	int code = NVML_CALL(&v->nvml, FN_nvmlDeviceGetCount_v2, (unsigned *), &count);

	return code == NVML_SUCCESS ? count : 0;
}

static void close_source(void *state)
{
	struct nvidia *v = state;

	nvml_close(&v->nvml);
	for (size_t i = 0; i < METRIC_COUNT; i++)
		free(v->reasons[i].text);
	free(v->room);
	free(v->processes);
	free(v);
}

/* Opens the library and counts; -ENOENT when there is no GPU. */
static int begin(const struct source_context *ctx, struct nvidia **ret, struct strbuf *why)
{
	const char *path = library_path(ctx, why);
	struct nvidia *v;

	if (!path)
		return ctx->option || !*ctx->root ? -EPERM : -ENOENT;
	v = xcalloc(1, sizeof(*v));
	int r = nvml_open(&v->nvml, path, why);
	if (r == 0) {
		v->gpu_count = count_gpus(v);
		if (!v->gpu_count) {
			strbuf_addstr(why, "the NVIDIA driver is loaded, but no GPU is accessible");
			r = -ENOENT;
		}
	}
	if (r < 0) {
		close_source(v);
		return r;
	}
	*ret = v;
	return 0;
}

static int open_source(const struct source_context *ctx, struct sample_set *set, void **state,
		       struct strbuf *why)
{
	struct nvidia *v = NULL;
	int r = begin(ctx, &v, why);

	if (r < 0)
		return r;
	if (v->gpu_count > GPUS_MAX)
		v->gpu_count = GPUS_MAX;
	v->ctx = ctx;
	v->watch = ctx->watch;
	v->live = !*ctx->root;
	v->memory_function = FN_nvmlDeviceGetMemoryInfo_v2;
	v->process_function = FN_nvmlDeviceGetComputeRunningProcesses_v3;
	for (unsigned i = 0; i < v->gpu_count; i++) {
		struct nvidia_gpu *g = &v->gpus[i];

		g->index = i;
		snprintf(g->name, sizeof(g->name), "gpu-%u", i);
		g->entity = sample_entity(set, ENTITY_GPU, g->name);
		(void)nvidia_attach(v, g, set);
	}
	*state = v;
	return 0;
}

/* "2 GPUs (NVIDIA H200), driver 580.159.04, CUDA 13.0" */
static void describe(struct nvidia *v, struct strbuf *out)
{
	_cleanup_strbuf_ struct strbuf driver = STRBUF_INIT;
	nvml_device first = NULL;
	char cuda[48];

	strbuf_addf(out, "%u GPU%s", v->gpu_count, plural(v->gpu_count, "", "s"));
	if (v->gpu_count > GPUS_MAX)
		strbuf_addf(out, ", of which %d are read", GPUS_MAX);
	if (get_device(v, 0, &first) == NVML_SUCCESS && first) {
		_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

		if (nvidia_text(v, FN_nvmlDeviceGetName, first, &name))
			strbuf_addf(out, " (%s)", name.buf);
	}
	if (nvidia_text(v, FN_nvmlSystemGetDriverVersion, NULL, &driver))
		strbuf_addf(out, ", driver %s", driver.buf);
	if (cuda_version(v, cuda, sizeof(cuda)))
		strbuf_addf(out, ", CUDA %s", cuda);
}

/* Adds what the row of a GPU leaves out. */
static void report_left_out(struct nvidia *v, unsigned index, struct strbuf *out)
{
	struct nvidia_gpu g = {.index = index};
	unsigned current = 0, pending = 0, count;
	struct nvidia_mig migs[MIG_MAX];
	int code = get_device(v, index, &g.device);

	if (code != NVML_SUCCESS || !g.device) {
		strbuf_addf(out, "; gpu-%u is left out until it is accessible: ", index);
		nvml_add_error(&v->nvml, code, out);
		return;
	}
	g.mig = get_pair(v, FN_nvmlDeviceGetMigMode, g.device, &current, &pending) && current == 1;
	count = nvidia_list_migs(v, &g, migs);
	if (count)
		strbuf_addf(
			out,
			"; gpu-%u is divided: memory and processes are in the rows of its %u MIG "
			"device%s",
			index, count, plural(count, "", "s"));
	else if (g.mig)
		strbuf_addf(out, "; gpu-%u is divided, and none of its MIG devices is accessible",
			    index);
}

static int probe(const struct source_context *ctx, struct source_report *report)
{
	struct nvidia *v = NULL;
	int r = begin(ctx, &v, &report->detail);

	if (r == -ENODEV)
		report->remedy = "sudo modprobe nvidia";
	if (r < 0)
		return r;
	describe(v, &report->detail);
	for (unsigned i = 0; i < v->gpu_count && i < GPUS_MAX; i++)
		report_left_out(v, i, &report->detail);
	close_source(v);
	return 0;
}

static const struct sample_metric metrics_of_gpu[METRIC_COUNT] = {
#define METRIC(symbol, ...) METRIC_ROW(__VA_ARGS__),
#include "sources/gpu/nvidia.def"
#undef METRIC
};

const struct source source_nvidia = {
	.name = "nvidia",
	.runs_option = true,
	.help = "NVIDIA GPUs: load, memory, clocks, power, errors, processes",
	.probe = probe,
	.metrics = metrics_of_gpu,
	.metric_count = METRIC_COUNT,
	.every = 1,
	.slow = true,
	.eases = true,
	.open = open_source,
	.read = nvidia_read,
	.close = close_source,
};
