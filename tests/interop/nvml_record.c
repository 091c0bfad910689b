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
#include <time.h>
#include <unistd.h>

#include "../../src/sources/nvml.h"

#define GPUS_MAX 64
#define PROCESSES_MAX 256

static void *library;
static const char *(*error_string)(int);

static double now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec * 1e6 + (double)ts.tv_nsec * 1e-3;
}

static void quote(const char *text, size_t size)
{
	putchar('"');
	for (size_t i = 0; i < size && text[i]; i++) {
		unsigned char c = (unsigned char)text[i];

		if (c < 32 || c > 126 || c == '"' || c == '\\')
			printf("\\x%02x", c);
		else
			putchar(c);
	}
	putchar('"');
}

/* The remark at the end of a line. */
static void remark(int result, double first, double second)
{
	printf(" # %.1f us, again %.1f us", first, second);
	if (result && error_string)
		printf(": %s", error_string(result));
	putchar('\n');
}

/* Calls twice; evaluates to the first result. */
#define TIMED(result, first, second, call) \
	do {                               \
		double at_ = now_us();     \
		(result) = (call);         \
		(first) = now_us() - at_;  \
		at_ = now_us();            \
		(void)(call);              \
		(second) = now_us() - at_; \
	} while (0)

static void *symbol(const char *name)
{
	return dlsym(library, name);
}

/* ---- one function for each form of call --------------------------------------------------------
 */

static void record_text(const char *name, nvml_device device, const char *of, unsigned size)
{
	int (*of_device)(nvml_device, char *, unsigned) = symbol(name);
	int (*of_system)(char *, unsigned) = symbol(name);
	char text[256];
	double a, b;
	int r;

	if (!of_device)
		return;
	memset(text, 0, sizeof(text));
	if (device)
		TIMED(r, a, b, of_device(device, text, size));
	else
		TIMED(r, a, b, of_system(text, size));
	printf("%s%s%s = %d", name, *of ? " " : "", of, r);
	if (!r) {
		putchar(' ');
		quote(text, sizeof(text));
	}
	remark(r, a, b);
}

static void record_u32(const char *name, nvml_device device, const char *of)
{
	int (*f)(nvml_device, unsigned *) = symbol(name);
	unsigned v = 0;
	double a, b;
	int r;

	if (!f)
		return;
	TIMED(r, a, b, f(device, &v));
	printf("%s %s = %d", name, of, r);
	if (!r)
		printf(" %u", v);
	remark(r, a, b);
}

static void record_u32_u32(const char *name, nvml_device device, const char *of)
{
	int (*f)(nvml_device, unsigned *, unsigned *) = symbol(name);
	unsigned v = 0, w = 0;
	double a, b;
	int r;

	if (!f)
		return;
	TIMED(r, a, b, f(device, &v, &w));
	printf("%s %s = %d", name, of, r);
	if (!r)
		printf(" %u %u", v, w);
	remark(r, a, b);
}

static void record_utilization(nvml_device device, const char *of)
{
	static const char name[] = "nvmlDeviceGetUtilizationRates";
	int (*f)(nvml_device, struct nvml_utilization *) = symbol(name);
	struct nvml_utilization u = {0};
	double a, b;
	int r;

	if (!f)
		return;
	TIMED(r, a, b, f(device, &u));
	printf("%s %s = %d", name, of, r);
	if (!r)
		printf(" %u %u", u.gpu, u.memory);
	remark(r, a, b);
}

static void record_u64(const char *name, nvml_device device, const char *of)
{
	int (*f)(nvml_device, unsigned long long *) = symbol(name);
	unsigned long long v = 0;
	double a, b;
	int r;

	if (!f)
		return;
	TIMED(r, a, b, f(device, &v));
	printf("%s %s = %d", name, of, r);
	if (!r)
		printf(" %llu", v);
	remark(r, a, b);
}

static void record_u32_of(const char *name, nvml_device device, const char *of, unsigned argument)
{
	int (*f)(nvml_device, unsigned, unsigned *) = symbol(name);
	unsigned v = 0;
	double a, b;
	int r;

	if (!f)
		return;
	TIMED(r, a, b, f(device, argument, &v));
	printf("%s %s %u = %d", name, of, argument, r);
	if (!r)
		printf(" %u", v);
	remark(r, a, b);
}

static void record_ecc(nvml_device device, const char *of, unsigned type, unsigned counter)
{
	static const char name[] = "nvmlDeviceGetTotalEccErrors";
	int (*f)(nvml_device, unsigned, unsigned, unsigned long long *) = symbol(name);
	unsigned long long v = 0;
	double a, b;
	int r;

	if (!f)
		return;
	TIMED(r, a, b, f(device, type, counter, &v));
	printf("%s %s %u %u = %d", name, of, type, counter, r);
	if (!r)
		printf(" %llu", v);
	remark(r, a, b);
}

static void record_violation(nvml_device device, const char *of, unsigned policy)
{
	static const char name[] = "nvmlDeviceGetViolationStatus";
	int (*f)(nvml_device, unsigned, struct nvml_violation *) = symbol(name);
	struct nvml_violation v = {0};
	double a, b;
	int r;

	if (!f)
		return;
	TIMED(r, a, b, f(device, policy, &v));
	printf("%s %s %u = %d", name, of, policy, r);
	if (!r)
		printf(" %llu %llu", (unsigned long long)v.reference_us,
		       (unsigned long long)v.violation_ns);
	remark(r, a, b);
}

static void record_memory(nvml_device device, const char *of)
{
	int (*v2)(nvml_device, struct nvml_memory_v2 *) = symbol("nvmlDeviceGetMemoryInfo_v2");
	int (*v1)(nvml_device, struct nvml_memory *) = symbol("nvmlDeviceGetMemoryInfo");
	int (*bar1)(nvml_device, struct nvml_bar1 *) = symbol("nvmlDeviceGetBAR1MemoryInfo");
	double a, b;
	int r;

	if (v2) {
		struct nvml_memory_v2 m = {.version = NVML_MEMORY_V2};

		TIMED(r, a, b, v2(device, &m));
		printf("nvmlDeviceGetMemoryInfo_v2 %s = %d", of, r);
		if (!r)
			printf(" %llu %llu %llu %llu", (unsigned long long)m.total,
			       (unsigned long long)m.reserved, (unsigned long long)m.free,
			       (unsigned long long)m.used);
		remark(r, a, b);
	}
	if (v1) {
		struct nvml_memory m = {0};

		TIMED(r, a, b, v1(device, &m));
		printf("nvmlDeviceGetMemoryInfo %s = %d", of, r);
		if (!r)
			printf(" %llu %llu %llu", (unsigned long long)m.total,
			       (unsigned long long)m.free, (unsigned long long)m.used);
		remark(r, a, b);
	}
	if (bar1) {
		struct nvml_bar1 m = {0};

		TIMED(r, a, b, bar1(device, &m));
		printf("nvmlDeviceGetBAR1MemoryInfo %s = %d", of, r);
		if (!r)
			printf(" %llu %llu %llu", (unsigned long long)m.total,
			       (unsigned long long)m.free, (unsigned long long)m.used);
		remark(r, a, b);
	}
}

/* Bytes beyond the last entry keep their pattern where our structure has the library's size. */
static void record_processes(const char *name, nvml_device device, const char *of, size_t size)
{
	static unsigned char buffer[(PROCESSES_MAX + 1) * NVML_PROCESS_LARGEST];
	int (*f)(nvml_device, unsigned *, void *) = symbol(name);
	unsigned count, touched = 0;
	double a, b;
	int r;

	if (!f)
		return;
	TIMED(r, a, b,
	      (memset(buffer, 0xa5, sizeof(buffer)), count = PROCESSES_MAX,
	       f(device, &count, buffer)));
	for (unsigned i = 0; i < sizeof(buffer); i++)
		if (buffer[i] != 0xa5)
			touched = i + 1;
	printf("%s %s = %d", name, of, r);
	if (!r) {
		printf(" %u", count);
		for (unsigned i = 0; i < count && i < PROCESSES_MAX; i++) {
			struct nvml_process p = {.gpu_instance = UINT32_MAX,
						 .compute_instance = UINT32_MAX};

			memcpy(&p, buffer + i * size, size);
			printf(" %u %llu %u %u", p.pid, (unsigned long long)p.memory,
			       p.gpu_instance, p.compute_instance);
		}
	}
	remark(r, a, b);
	if (!r)
		printf("#   %u bytes were written for %u processes of %zu bytes\n", touched, count,
		       size);
}

static void record_pci(nvml_device device, const char *of)
{
	static const char name[] = "nvmlDeviceGetPciInfo_v3";
	int (*f)(nvml_device, struct nvml_pci *) = symbol(name);
	struct nvml_pci p;
	double a, b;
	int r;

	if (!f)
		return;
	memset(&p, 0, sizeof(p));
	TIMED(r, a, b, f(device, &p));
	printf("%s %s = %d", name, of, r);
	if (!r) {
		putchar(' ');
		quote(p.legacy, sizeof(p.legacy));
		printf(" %u %u %u %u %u ", p.domain, p.bus, p.device, p.id, p.subsystem);
		quote(p.bus_id, sizeof(p.bus_id));
	}
	remark(r, a, b);
}

/* How a counter grows, and whether it is one of 32 bits that wraps. */
static void watch_counters(int (*f)(nvml_device, int, struct nvml_field *), nvml_device device)
{
	for (int i = 0; i < 6; i++) {
		struct nvml_field pair[2] = {{.id = NVML_FIELD_PCIE_TX_BYTES},
					     {.id = NVML_FIELD_PCIE_RX_BYTES}};

		(void)f(device, 2, pair);
		printf("#   at %.0f us: sent %llu, received %llu (types %u %u, stamps %lld %lld)\n",
		       now_us(), (unsigned long long)pair[0].value.u64,
		       (unsigned long long)pair[1].value.u64, pair[0].type, pair[1].type,
		       (long long)pair[0].timestamp, (long long)pair[1].timestamp);
		usleep(100000);
	}
}

/* One call for all, and a line for each field. */
static void record_fields(nvml_device device, const char *of)
{
	static const uint32_t ids[][2] = {
		{NVML_FIELD_RETIRED_SINGLE, 0},
		{NVML_FIELD_RETIRED_DOUBLE, 0},
		{NVML_FIELD_NVLINK_CRC_ERRORS, 0},
		{NVML_FIELD_NVLINK_REPLAY_ERRORS, 0},
		{NVML_FIELD_NVLINK_RECOVERY_ERRORS, 0},
		{NVML_FIELD_MEMORY_TEMPERATURE, 0},
		{NVML_FIELD_PCIE_REPLAYS, 0},
		{NVML_FIELD_NVLINK_TX, NVML_ALL_LINKS},
		{NVML_FIELD_NVLINK_RX, NVML_ALL_LINKS},
		{NVML_FIELD_NVLINK_TX, 0},
		{NVML_FIELD_NVLINK_RX, 0},
		{NVML_FIELD_REMAPPED_CORRECTED, 0},
		{NVML_FIELD_REMAPPED_UNCORRECTED, 0},
		{NVML_FIELD_POWER_INSTANT, 0},
		{NVML_FIELD_PCIE_TX_BYTES, 0},
		{NVML_FIELD_PCIE_RX_BYTES, 0},
		/* not called by the source: which of two ways is the cheaper */
		{3, 0}, /* ECC, volatile */
		{4, 0},
		{74, 0}, /* violations: power, thermal */
		{75, 0},
		{83, 0},  /* energy */
		{185, 0}, /* average power */
	};
	enum { COUNT = sizeof(ids) / sizeof(ids[0]) };
	int (*f)(nvml_device, int, struct nvml_field *) = symbol("nvmlDeviceGetFieldValues");
	struct nvml_field fields[COUNT];
	double a, b;
	int r;

	if (!f)
		return;
	memset(fields, 0, sizeof(fields));
	for (int i = 0; i < COUNT; i++) {
		fields[i].id = ids[i][0];
		fields[i].scope = ids[i][1];
	}
	TIMED(r, a, b, f(device, COUNT, fields));
	printf("# nvmlDeviceGetFieldValues, %d fields at once:", COUNT);
	remark(r, a, b);
	for (int i = 0; i < COUNT; i++) {
		struct nvml_field one = {.id = ids[i][0], .scope = ids[i][1]};
		int alone;

		TIMED(alone, a, b, f(device, 1, &one));
		printf("nvmlDeviceGetFieldValues %s %u %u = %d %u %u", of, fields[i].id,
		       fields[i].scope, r, fields[i].result, fields[i].type);
		if (!fields[i].result)
			printf(" %llu %lld", (unsigned long long)fields[i].value.u64,
			       (long long)fields[i].timestamp);
		printf(" # took %lld us; alone %d %u:", (long long)fields[i].latency_us, alone,
		       one.result);
		remark((int)fields[i].result, a, b);
	}
	watch_counters(f, device);
}

/* ---- devices -----------------------------------------------------------------------------------
 */

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

static void record_facts(nvml_device device, const char *of)
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

/* ---- a process to see --------------------------------------------------------------------------
 */

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
		record_facts(device, of);
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
