/*
 * Records what NVIDIA's management library answers on this machine to every call that the source
 * "nvidia" makes, as the answers file that tests/fixtures/nvml/fake_nvml.c plays back:
 *
 *     gcc -O1 -o nvml_record nvml_record.c -ldl
 *     ./nvml_record [--load] >h200.answers
 *
 * A line is "FUNCTION ARGUMENTS = RESULT VALUES" (of a field: the result of the call, of the field,
 * the type, the eight bytes as one number, the time stamp); texts are in quotes, a function that
 * the library does not have is "= missing", what stands behind # is a remark: the time of the first
 * and of the second call, and the library's words for an error. Results are raw codes.
 *
 * --load: a child process holds a context on the first GPU with memory and copies while we record,
 * so that there is a process to see. It needs libcuda.so.1, which comes with the driver.
 */
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "nvml_calls.h"

#define GPUS_MAX 64

/* ---- devices --------------------------------------------------------------------------------- */

static void record_mig_device(nvml_device device, const char *of)
{
	record_text("nvmlDeviceGetName", device, of, NVML_TEXT_NAME);
	record_text("nvmlDeviceGetUUID", device, of, NVML_TEXT_UUID);
	record_u32("nvmlDeviceGetGpuInstanceId", device, of);
	record_u32("nvmlDeviceGetComputeInstanceId", device, of);
	record_memory(device, of);
	record_processes("nvmlDeviceGetComputeRunningProcesses_v3", device, of,
			 sizeof(struct nvml_process));
	record_processes("nvmlDeviceGetComputeRunningProcesses_v2", device, of,
			 sizeof(struct nvml_process));
}

static void record_mig(nvml_device device, const char *of)
{
	int (*count)(nvml_device, unsigned *) = symbol("nvmlDeviceGetMaxMigDeviceCount");
	int (*handle)(nvml_device, unsigned, nvml_device *) =
		symbol("nvmlDeviceGetMigDeviceHandleByIndex");
	unsigned n = 0;

	record_u32_u32("nvmlDeviceGetMigMode", device, of);
	record_u32("nvmlDeviceGetMaxMigDeviceCount", device, of);
	if (!count || !handle || count(device, &n))
		return;
	for (unsigned i = 0; i < n && i < 16; i++) {
		nvml_device mig = NULL;
		char name[64];
		double a, b;
		int r;

		TIMED(r, a, b, handle(device, i, &mig));
		snprintf(name, sizeof(name), "%s/mig%u", of, i);
		printf("nvmlDeviceGetMigDeviceHandleByIndex %s %u = %d", of, i, r);
		remark(r, a, b);
		if (!r)
			record_mig_device(mig, name);
	}
}

static void record_metadata(nvml_device device, const char *of)
{
	record_text("nvmlDeviceGetName", device, of, NVML_TEXT_NAME);
	record_text("nvmlDeviceGetUUID", device, of, NVML_TEXT_UUID);
	record_text("nvmlDeviceGetSerial", device, of, NVML_TEXT_SERIAL);
	record_text("nvmlDeviceGetVbiosVersion", device, of, NVML_TEXT_VBIOS);
	record_pci(device, of);
	record_u32("nvmlDeviceGetArchitecture", device, of);
	record_u32_u32("nvmlDeviceGetCudaComputeCapability", device, of);
	record_u32("nvmlDeviceGetMaxPcieLinkGeneration", device, of);
	record_u32("nvmlDeviceGetMaxPcieLinkWidth", device, of);
	record_u32("nvmlDeviceGetCurrPcieLinkWidth", device, of);
	record_u32("nvmlDeviceGetEnforcedPowerLimit", device, of);
	record_u32("nvmlDeviceGetPowerManagementLimit", device, of);
	for (unsigned clock = 0; clock < 4; clock++)
		record_u32_of("nvmlDeviceGetMaxClockInfo", device, of, clock);
}

static void record_values(nvml_device device, const char *of)
{
	static const unsigned policies[] = {0, 1, 2, 3, 4, 5, 10, 11};

	for (unsigned clock = 0; clock < 4; clock++)
		record_u32_of("nvmlDeviceGetClockInfo", device, of, clock);
	for (unsigned type = 0; type < 2; type++)
		for (unsigned counter = 0; counter < 2; counter++)
			record_ecc(device, of, type, counter);
	record_memory(device, of);
	record_u32_of("nvmlDeviceGetTemperature", device, of, NVML_SENSOR_GPU);
	record_u32("nvmlDeviceGetFanSpeed", device, of);
	record_processes("nvmlDeviceGetComputeRunningProcesses_v3", device, of,
			 sizeof(struct nvml_process));
	record_processes("nvmlDeviceGetComputeRunningProcesses_v2", device, of,
			 sizeof(struct nvml_process));
	record_processes("nvmlDeviceGetComputeRunningProcesses", device, of,
			 sizeof(struct nvml_process_v1));
	record_processes("nvmlDeviceGetMPSComputeRunningProcesses_v3", device, of,
			 sizeof(struct nvml_process));
	record_u32_of("nvmlDeviceGetPcieThroughput", device, of, NVML_PCIE_TX);
	record_u32_of("nvmlDeviceGetPcieThroughput", device, of, NVML_PCIE_RX);
	record_u32("nvmlDeviceGetPowerUsage", device, of);
	record_u64("nvmlDeviceGetTotalEnergyConsumption", device, of);
	record_u64("nvmlDeviceGetCurrentClocksEventReasons", device, of);
	record_u64("nvmlDeviceGetCurrentClocksThrottleReasons", device, of);
	for (unsigned i = 0; i < sizeof(policies) / sizeof(policies[0]); i++)
		record_violation(device, of, policies[i]);
	record_utilization(device, of);
	record_u32_u32("nvmlDeviceGetEncoderUtilization", device, of);
	record_u32_u32("nvmlDeviceGetDecoderUtilization", device, of);
	record_u32("nvmlDeviceGetPerformanceState", device, of);
	record_fields(device, of);
}

/* ---- a process to see ------------------------------------------------------------------------ */

static int complain(const char *what, int result)
{
	fprintf(stderr, "load: %s: %d\n", what, result);
	return 1;
}

/* Holds 1 GiB and copies between the host and the GPU, and on the GPU, until it is ended. */
static int load(void)
{
	enum { COPY = 64 << 20 };
	void *cuda = dlopen("libcuda.so.1", RTLD_NOW);
	unsigned long long memory = 0;
	void *context = NULL;
	int device = 0, r;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!cuda)
		return complain(dlerror(), 0);
	int (*init)(unsigned) = dlsym(cuda, "cuInit");
	int (*get)(int *, int) = dlsym(cuda, "cuDeviceGet");
	int (*create)(void **, unsigned, int) = dlsym(cuda, "cuCtxCreate_v2");
	int (*allocate)(unsigned long long *, size_t) = dlsym(cuda, "cuMemAlloc_v2");
	int (*to_gpu)(unsigned long long, const void *, size_t) = dlsym(cuda, "cuMemcpyHtoD_v2");
	int (*on_gpu)(unsigned long long, unsigned long long, size_t) =
		dlsym(cuda, "cuMemcpyDtoD_v2");
	int (*finish)(void) = dlsym(cuda, "cuCtxSynchronize");
	char *host = calloc(1, COPY);
	if (!init || !get || !create || !allocate || !to_gpu || !on_gpu || !finish || !host)
		return complain("libcuda lacks a function", 0);
	if ((r = init(0)))
		return complain("cuInit", r);
	if ((r = get(&device, 0)) || (r = create(&context, 0, device)))
		return complain("cuCtxCreate", r);
	if ((r = allocate(&memory, (size_t)1 << 30)))
		return complain("cuMemAlloc", r);
	for (;;) {
		if ((r = to_gpu(memory, host, COPY)))
			return complain("cuMemcpyHtoD", r);
		for (int i = 0; i < 200; i++)
			if ((r = on_gpu(memory, memory + ((size_t)1 << 29), (size_t)1 << 29)))
				return complain("cuMemcpyDtoD", r);
		if ((r = finish()))
			return complain("cuCtxSynchronize", r);
	}
}

static pid_t start_load(void)
{
	pid_t child = fork();

	if (child == 0)
		_exit(load());
	sleep(6); /* the first context takes a while, utilisation follows a second later */
	if (waitpid(child, NULL, WNOHANG) == child) {
		printf("# the load ended at once\n");
		return 0;
	}
	printf("# with a load: process %d here, which holds 1 GiB of gpu0 and copies\n", child);
	return child;
}

static int record_all(void)
{
	int (*init)(void) = symbol("nvmlInit_v2");
	int (*shutdown)(void) = symbol("nvmlShutdown");
	int (*count)(unsigned *) = symbol("nvmlDeviceGetCount_v2");
	int (*handle)(unsigned, nvml_device *) = symbol("nvmlDeviceGetHandleByIndex_v2");
	int (*cuda)(int *) = symbol("nvmlSystemGetCudaDriverVersion_v2");
	unsigned gpus = 0;
	double a = now_us();
	int r = init ? init() : -1, version = 0;

	printf("nvmlInit_v2 = %d # %.1f us%s%s\n", r, now_us() - a, r ? ": " : "",
	       r && error_string ? error_string(r) : "");
	if (r || !count || !handle)
		return 1;
	for (int e = 0; error_string && e < 30; e++) {
		printf("nvmlErrorString %d = 0 ", e);
		quote(error_string(e), 200);
		putchar('\n');
	}
	record_text("nvmlSystemGetDriverVersion", NULL, "", NVML_TEXT_VERSION);
	record_text("nvmlSystemGetNVMLVersion", NULL, "", NVML_TEXT_VERSION);
	r = cuda ? cuda(&version) : -1;
	printf("nvmlSystemGetCudaDriverVersion_v2 = %d %d\n", r, version);
	r = count(&gpus);
	printf("nvmlDeviceGetCount_v2 = %d %u\n", r, gpus);
	for (unsigned i = 0; i < gpus && i < GPUS_MAX; i++) {
		nvml_device device = NULL;
		char of[16];
		double b;

		snprintf(of, sizeof(of), "gpu%u", i);
		TIMED(r, a, b, handle(i, &device));
		printf("nvmlDeviceGetHandleByIndex_v2 %u = %d", i, r);
		remark(r, a, b);
		if (r)
			continue;
		record_metadata(device, of);
		record_values(device, of);
		record_mig(device, of);
	}
	/* what comes for what is not there */
	nvml_device none = NULL;
	printf("nvmlDeviceGetHandleByIndex_v2 %u = %d\n", gpus, handle(gpus, &none));
	a = now_us();
	r = shutdown ? shutdown() : -1;
	printf("nvmlShutdown = %d # %.1f us\n", r, now_us() - a);
	return 0;
}

int main(int argc, char **argv)
{
	pid_t child = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	if (argc > 1 && !strcmp(argv[1], "--load"))
		child = start_load();
	const char *path = getenv("PLIMSOLL_NVML");
	library = dlopen(path ? path : "libnvidia-ml.so.1", RTLD_NOW);
	if (!library) {
		fprintf(stderr, "nvml_record: %s\n", dlerror());
		return 1;
	}
	printf("# sizes: memory_v2 %zu (version %#x), process %zu, field %zu, pci %zu\n",
	       sizeof(struct nvml_memory_v2), NVML_MEMORY_V2, sizeof(struct nvml_process),
	       sizeof(struct nvml_field), sizeof(struct nvml_pci));
#define F(name, other)                                      \
	if (!symbol(#name))                                 \
		printf("%s = missing\n", #name);            \
	if (strcmp(#other, "NONE") != 0 && !symbol(#other)) \
		printf("%s = missing\n", #other);
	NVML_FUNCTIONS(F, NONE)
#undef F
	error_string = symbol("nvmlErrorString");
	int r = record_all();
	if (child > 0) {
		kill(child, SIGKILL);
		waitpid(child, NULL, 0);
	}
	return r;
}
