/*
 * NVIDIA GPUs through the driver's management library, which is opened at run time (nvml.h). Found
 * and described here; readings are in nvidia_read.c.
 *
 * The library's calls go to the driver and may block: two of them by design for 20 ms, all of them
 * for as long as it likes when a GPU hangs. A full reading of one H200 takes 65 ms, most of it
 * waiting, one without what is dear about 1 ms (nvidia_rounds.c).
 * PLIMSOLL_NVML, or the option of the source, names another library; programs with privileges of
 * their own do not listen to either.
 */
#include "sources/gpu/nvidia.h"

#include <errno.h>
#include <string.h>
#include <sys/auxv.h>

#include "core/text/text.h"

#define LIBRARY "libnvidia-ml.so.1"

/* The library to open; NULL with a reason when none is to be. */
static const char *library_path(const struct source_context *ctx, struct strbuf *why)
{
	const char *named = ctx->option ? ctx->option : secure_getenv("PLIMSOLL_NVML");

	if (named && getauxval(AT_SECURE)) {
		strbuf_addstr(why, "another library is not loaded into a privileged program");
		return NULL;
	}
	if (!named && *ctx->root) {
		strbuf_addstr(why, "a recorded tree has no NVIDIA driver library");
		return NULL;
	}
	return named ? named : LIBRARY;
}

/* ---- facts -------------------------------------------------------------------------------------
 */

bool nvidia_text(const struct nvidia *v, enum nvml_function function, nvml_device device,
		 struct strbuf *out)
{
	void (*f)(void) = v->nvml.functions[function];
	char text[NVML_TEXT_NAME] = "";
	int code;

	if (!f)
		return false;
	if (device)
		code = ((int (*)(nvml_device, char *, unsigned))f)(device, text, sizeof(text));
	else
		code = ((int (*)(char *, unsigned))f)(text, sizeof(text));
	size_t n = strnlen(text, sizeof(text));
	if (code != NVML_SUCCESS || !n)
		return false;
	text_add_printable(out, text, n);
	return true;
}

static bool get_u32(const struct nvidia *v, enum nvml_function function, nvml_device device,
		    unsigned *ret)
{
	void (*f)(void) = v->nvml.functions[function];

	return f && ((int (*)(nvml_device, unsigned *))f)(device, ret) == NVML_SUCCESS;
}

static bool get_pair(const struct nvidia *v, enum nvml_function function, nvml_device device,
		     unsigned *a, unsigned *b)
{
	void (*f)(void) = v->nvml.functions[function];

	return f && ((int (*)(nvml_device, unsigned *, unsigned *))f)(device, a, b) == NVML_SUCCESS;
}

static void fact_text(const struct nvidia *v, struct sample_set *set, const struct nvidia_gpu *g,
		      const char *key, enum nvml_function function)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (nvidia_text(v, function, function == FN_nvmlSystemGetDriverVersion ? NULL : g->device,
			&text))
		sample_fact(set, g->entity, key, text.buf);
}

static void fact_u32(const struct nvidia *v, struct sample_set *set, const struct nvidia_gpu *g,
		     const char *key, enum nvml_function function, unsigned divisor,
		     const char *unit)
{
	char text[48];
	unsigned value = 0;

	if (!get_u32(v, function, g->device, &value) || value == UINT32_MAX)
		return;
	snprintf(text, sizeof(text), "%u%s", value / divisor, unit);
	sample_fact(set, g->entity, key, text);
}

static void fact_architecture(const struct nvidia *v, struct sample_set *set,
			      const struct nvidia_gpu *g)
{
	static const char *const names[] = {NULL,     NULL,     "Kepler",   "Maxwell",
					    "Pascal", "Volta",  "Turing",   "Ampere",
					    "Ada",    "Hopper", "Blackwell"};
	unsigned number = 0, major = 0, minor = 0;
	char text[48];

	if (get_u32(v, FN_nvmlDeviceGetArchitecture, g->device, &number) &&
	    number < ARRAY_SIZE(names) && names[number])
		sample_fact(set, g->entity, "architecture", names[number]);
	if (get_pair(v, FN_nvmlDeviceGetCudaComputeCapability, g->device, &major, &minor)) {
		snprintf(text, sizeof(text), "%u.%u", major, minor);
		sample_fact(set, g->entity, "compute_capability", text);
	}
}

static void fact_pci(const struct nvidia *v, struct sample_set *set, const struct nvidia_gpu *g)
{
	void (*f)(void) = v->nvml.functions[FN_nvmlDeviceGetPciInfo_v3];
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	struct nvml_pci pci = {0};

	if (!f || ((int (*)(nvml_device, struct nvml_pci *))f)(g->device, &pci) != NVML_SUCCESS)
		return;
	text_add_printable(&text, pci.bus_id, strnlen(pci.bus_id, sizeof(pci.bus_id)));
	sample_fact(set, g->entity, "pci", text.buf);
}

static void fact_clock(const struct nvidia *v, struct sample_set *set, const struct nvidia_gpu *g,
		       const char *key, enum nvml_clock clock)
{
	void (*f)(void) = v->nvml.functions[FN_nvmlDeviceGetMaxClockInfo];
	unsigned mhz = 0;
	char text[48];

	if (!f ||
	    ((int (*)(nvml_device, unsigned, unsigned *))f)(g->device, clock, &mhz) != NVML_SUCCESS)
		return;
	snprintf(text, sizeof(text), "%u MHz", mhz);
	sample_fact(set, g->entity, key, text);
}

/* CUDA's number is 1000 a version and 10 a minor one. */
static bool cuda_version(const struct nvidia *v, char *text, size_t size)
{
	void (*f)(void) = v->nvml.functions[FN_nvmlSystemGetCudaDriverVersion_v2];
	int number = 0;

	if (!f || ((int (*)(int *))f)(&number) != NVML_SUCCESS || number <= 0)
		return false;
	snprintf(text, size, "%d.%d", number / 1000, number % 1000 / 10);
	return true;
}

static void tell_facts(struct nvidia *v, struct nvidia_gpu *g, struct sample_set *set)
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
		sample_fact(set, g->entity, "cuda", text);
	fact_architecture(v, set, g);
	fact_u32(v, set, g, "power_limit", FN_nvmlDeviceGetEnforcedPowerLimit, 1000, " W");
	fact_u32(v, set, g, "pcie_generation", FN_nvmlDeviceGetMaxPcieLinkGeneration, 1, "");
	fact_u32(v, set, g, "pcie_width", FN_nvmlDeviceGetCurrPcieLinkWidth, 1, "");
	fact_u32(v, set, g, "pcie_width_max", FN_nvmlDeviceGetMaxPcieLinkWidth, 1, "");
	fact_clock(v, set, g, "clock_sm_max", NVML_CLOCK_SM);
	fact_clock(v, set, g, "clock_memory_max", NVML_CLOCK_MEMORY);
	if (get_pair(v, FN_nvmlDeviceGetMigMode, g->device, &current, &pending)) {
		g->mig = current == 1;
		sample_fact(set, g->entity, "mig", g->mig ? "enabled" : "disabled");
	}
}

/* ---- open, probe -------------------------------------------------------------------------------
 */

bool nvidia_attach(struct nvidia *v, struct nvidia_gpu *g, struct sample_set *set)
{
	void (*f)(void) = v->nvml.functions[FN_nvmlDeviceGetHandleByIndex_v2];
	int code = NVML_FUNCTION_NOT_FOUND;

	if (g->device)
		return true;
	if (f)
		code = ((int (*)(unsigned, nvml_device *))f)(g->index, &g->device);
	if (code == NVML_SUCCESS && g->device) {
		tell_facts(v, g, set);
		return true;
	}
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	nvml_add_error(&v->nvml, code, &text);
	sample_fact(set, g->entity, "state", text.buf);
	g->device = NULL;
	return false;
}

/* How many GPUs the library knows; 0 also when it does not say. */
static unsigned count_gpus(const struct nvidia *v)
{
	void (*f)(void) = v->nvml.functions[FN_nvmlDeviceGetCount_v2];
	unsigned count = 0;

	return f && ((int (*)(unsigned *))f)(&count) == NVML_SUCCESS ? count : 0;
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
			strbuf_addstr(why, "the NVIDIA driver is loaded, but has no GPU for us");
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
	void (*f)(void) = v->nvml.functions[FN_nvmlDeviceGetHandleByIndex_v2];
	_cleanup_strbuf_ struct strbuf driver = STRBUF_INIT;
	nvml_device first = NULL;
	char cuda[48];

	strbuf_addf(out, "%u GPU%s", v->gpu_count, plural(v->gpu_count, "", "s"));
	if (v->gpu_count > GPUS_MAX)
		strbuf_addf(out, ", of which %d are read", GPUS_MAX);
	if (f && ((int (*)(unsigned, nvml_device *))f)(0, &first) == NVML_SUCCESS && first) {
		_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

		if (nvidia_text(v, FN_nvmlDeviceGetName, first, &name))
			strbuf_addf(out, " (%s)", name.buf);
	}
	if (nvidia_text(v, FN_nvmlSystemGetDriverVersion, NULL, &driver))
		strbuf_addf(out, ", driver %s", driver.buf);
	if (cuda_version(v, cuda, sizeof(cuda)))
		strbuf_addf(out, ", CUDA %s", cuda);
}

/* What the row of a GPU leaves out. */
static void tell_left_out(struct nvidia *v, unsigned index, struct strbuf *out)
{
	void (*f)(void) = v->nvml.functions[FN_nvmlDeviceGetHandleByIndex_v2];
	struct nvidia_gpu g = {.index = index};
	unsigned current = 0, pending = 0, count;
	struct nvidia_mig migs[MIG_MAX];
	int code = NVML_FUNCTION_NOT_FOUND;

	if (f)
		code = ((int (*)(unsigned, nvml_device *))f)(index, &g.device);
	if (code != NVML_SUCCESS || !g.device) {
		strbuf_addf(out, "; gpu-%u is left out until it can be had: ", index);
		nvml_add_error(&v->nvml, code, out);
		return;
	}
	g.mig = get_pair(v, FN_nvmlDeviceGetMigMode, g.device, &current, &pending) && current == 1;
	count = nvidia_list_migs(v, &g, migs);
	if (count)
		strbuf_addf(out,
			    "; gpu-%u is divided: its row leaves out memory and processes, which "
			    "are those of its %u MIG device%s",
			    index, count, plural(count, "", "s"));
	else if (g.mig)
		strbuf_addf(out, "; gpu-%u is divided, and no MIG device of it is for us", index);
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
		tell_left_out(v, i, &report->detail);
	close_source(v);
	return 0;
}

static const struct sample_metric metrics_of_gpu[METRIC_COUNT] = {
#define METRIC(symbol, label, measure, sort, total, factor, text) \
	{.name = (label),                                         \
	 .unit = UNIT_##measure,                                  \
	 .kind = KIND_##sort,                                     \
	 .agg = AGG_##total,                                      \
	 .scale = (factor),                                       \
	 .help = (text)},
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
