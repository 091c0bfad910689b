/*
 * One function for each form of call to NVIDIA's management library: it calls twice, and writes the
 * line of nvml_record.c with the answer and the times. A function that the library does not have
 * writes nothing.
 */
#pragma once

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../../src/sources/gpu/nvml.h"

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

/* ---- one function for each form of call ------------------------------------------------------ */

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
