/*
 * The part of NVIDIA's management library (libnvidia-ml.so.1) that we call: its documented binary
 * interface, declared here because a machine that builds Plimsoll need not have NVIDIA's header.
 * The library is opened at run time and every function is looked up separately, so that an older or
 * newer driver lacks single values only. Names of functions carry a version where the meaning or a
 * structure changed; the oldest form has none.
 *
 * Includes nothing of ours: tests/interop/nvml_record.c calls the same declarations on a real GPU,
 * which verifies sizes and numbers.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* ---- the binary interface ---- */

enum nvml_return {
	NVML_SUCCESS = 0,
	NVML_INVALID_ARGUMENT = 2,
	NVML_NOT_SUPPORTED = 3,
	NVML_NO_PERMISSION = 4,
	NVML_INSUFFICIENT_SIZE = 7,
	NVML_DRIVER_NOT_LOADED = 9,
	NVML_FUNCTION_NOT_FOUND = 13,
	NVML_GPU_IS_LOST = 15,
	NVML_VERSION_MISMATCH = 18, /* library and kernel driver differ */
	NVML_ARGUMENT_VERSION = 25,
	NVML_DEPRECATED = 26,
	NVML_UNKNOWN = 999,
};

typedef struct nvml_device_handle *nvml_device;

struct nvml_memory {
	uint64_t total, free, used;
};

struct nvml_memory_v2 {
	uint32_t version; /* NVML_MEMORY_V2, set by the caller */
	uint64_t total, reserved, free, used;
};
/* Structures with a version: their size, and the number in the highest byte. */
#define NVML_MEMORY_V2 ((uint32_t)(sizeof(struct nvml_memory_v2) | 2u << 24))

struct nvml_bar1 {
	uint64_t total, free, used;
};

struct nvml_utilization {
	uint32_t gpu, memory; /* percent of the last period of the driver, 1/6 s to 1 s */
};

struct nvml_violation {
	uint64_t reference_us, violation_ns;
};

struct nvml_process_v1 {
	uint32_t pid;
	uint64_t memory; /* all bits set: not known */
};

/* Of the functions _v2 and _v3. The drivers 535.43 and 535.86 return 8 bytes more for _v3. */
struct nvml_process {
	uint32_t pid;
	uint64_t memory;
	uint32_t gpu_instance, compute_instance; /* all bits set: none */
};
#define NVML_PROCESS_LARGEST 32
#define NVML_MEMORY_UNKNOWN UINT64_MAX

struct nvml_pci {
	char legacy[16];
	uint32_t domain, bus, device, id, subsystem;
	char bus_id[32];
};

enum nvml_value_type {
	NVML_DOUBLE = 0,
	NVML_UNSIGNED_INT = 1,
	NVML_UNSIGNED_LONG = 2,
	NVML_UNSIGNED_LONG_LONG = 3,
	NVML_SIGNED_LONG_LONG = 4,
	NVML_SIGNED_INT = 5,
	NVML_UNSIGNED_SHORT = 6,
};

struct nvml_field {
	uint32_t id, scope;
	int64_t timestamp, latency_us;
	uint32_t type;   /* enum nvml_value_type */
	uint32_t result; /* enum nvml_return of this one */
	union {
		double d;
		uint32_t u32;
		uint64_t u64;
		int64_t i64;
		int32_t i32;
		uint16_t u16;
		uint8_t bytes[8];
	} value;
};

enum nvml_field_id {
	NVML_FIELD_RETIRED_SINGLE = 29,
	NVML_FIELD_RETIRED_DOUBLE = 30,
	NVML_FIELD_NVLINK_CRC_ERRORS = 38,
	NVML_FIELD_NVLINK_REPLAY_ERRORS = 52,
	NVML_FIELD_NVLINK_RECOVERY_ERRORS = 59,
	NVML_FIELD_MEMORY_TEMPERATURE = 82,
	NVML_FIELD_PCIE_REPLAYS = 94,
	NVML_FIELD_NVLINK_TX = 138, /* KiB; scope: a link, NVML_ALL_LINKS for the sum */
	NVML_FIELD_NVLINK_RX = 139,
	NVML_FIELD_REMAPPED_CORRECTED = 142,
	NVML_FIELD_REMAPPED_UNCORRECTED = 143,
	NVML_FIELD_POWER_INSTANT = 186, /* mW */
	NVML_FIELD_PCIE_TX_BYTES = 197, /* may wrap */
	NVML_FIELD_PCIE_RX_BYTES = 198,
};
#define NVML_ALL_LINKS UINT32_MAX

enum nvml_clock { NVML_CLOCK_GRAPHICS, NVML_CLOCK_SM, NVML_CLOCK_MEMORY, NVML_CLOCK_VIDEO };
enum nvml_error_type { NVML_CORRECTED, NVML_UNCORRECTED };
enum nvml_error_counter { NVML_VOLATILE, NVML_AGGREGATE };
enum nvml_pcie_counter { NVML_PCIE_TX, NVML_PCIE_RX };
enum nvml_sensor { NVML_SENSOR_GPU };

enum nvml_policy {
	NVML_POLICY_POWER = 0,
	NVML_POLICY_THERMAL = 1,
	NVML_POLICY_SYNC_BOOST = 2,
	NVML_POLICY_BOARD_LIMIT = 3,
	NVML_POLICY_LOW_UTILIZATION = 4,
	NVML_POLICY_RELIABILITY = 5,
	NVML_POLICY_APP_CLOCKS = 10,
	NVML_POLICY_BASE_CLOCKS = 11,
};

/* Why clocks are lower than they could be; bits of nvmlDeviceGetCurrentClocksEventReasons. */
enum nvml_clock_reason {
	NVML_REASON_POWER_CAP = 0x4,
	NVML_REASON_HW_SLOWDOWN = 0x8,
	NVML_REASON_SYNC_BOOST = 0x10,
	NVML_REASON_SW_THERMAL = 0x20,
	NVML_REASON_HW_THERMAL = 0x40,
	NVML_REASON_POWER_BRAKE = 0x80,
};

/* Sizes of texts, as the library documents them. */
#define NVML_TEXT_NAME 96
#define NVML_TEXT_UUID 96
#define NVML_TEXT_SERIAL 30
#define NVML_TEXT_VBIOS 32
#define NVML_TEXT_VERSION 80

/*
 * Every function that we call, and its substitute where it is missing, which takes the same
 * arguments, or NONE.
 */
#define NVML_FUNCTIONS(F, NONE)                                                                   \
	F(nvmlInit_v2, nvmlInit)                                                                  \
	F(nvmlShutdown, NONE)                                                                     \
	F(nvmlErrorString, NONE)                                                                  \
	F(nvmlSystemGetDriverVersion, NONE)                                                       \
	F(nvmlSystemGetCudaDriverVersion_v2, nvmlSystemGetCudaDriverVersion)                      \
	F(nvmlDeviceGetCount_v2, nvmlDeviceGetCount)                                              \
	F(nvmlDeviceGetHandleByIndex_v2, nvmlDeviceGetHandleByIndex)                              \
	F(nvmlDeviceGetName, NONE)                                                                \
	F(nvmlDeviceGetUUID, NONE)                                                                \
	F(nvmlDeviceGetSerial, NONE)                                                              \
	F(nvmlDeviceGetVbiosVersion, NONE)                                                        \
	F(nvmlDeviceGetPciInfo_v3, NONE)                                                          \
	F(nvmlDeviceGetArchitecture, NONE)                                                        \
	F(nvmlDeviceGetCudaComputeCapability, NONE)                                               \
	F(nvmlDeviceGetMaxPcieLinkGeneration, NONE)                                               \
	F(nvmlDeviceGetMaxPcieLinkWidth, NONE)                                                    \
	F(nvmlDeviceGetCurrPcieLinkWidth, NONE)                                                   \
	F(nvmlDeviceGetEnforcedPowerLimit, nvmlDeviceGetPowerManagementLimit)                     \
	F(nvmlDeviceGetMigMode, NONE)                                                             \
	F(nvmlDeviceGetMaxMigDeviceCount, NONE)                                                   \
	F(nvmlDeviceGetMigDeviceHandleByIndex, NONE)                                              \
	F(nvmlDeviceGetGpuInstanceId, NONE)                                                       \
	F(nvmlDeviceGetComputeInstanceId, NONE)                                                   \
	F(nvmlDeviceGetClockInfo, NONE)                                                           \
	F(nvmlDeviceGetMaxClockInfo, NONE)                                                        \
	F(nvmlDeviceGetTotalEccErrors, NONE)                                                      \
	F(nvmlDeviceGetMemoryInfo_v2, NONE)                                                       \
	F(nvmlDeviceGetMemoryInfo, NONE)                                                          \
	F(nvmlDeviceGetBAR1MemoryInfo, NONE)                                                      \
	F(nvmlDeviceGetTemperature, NONE)                                                         \
	F(nvmlDeviceGetFanSpeed, NONE)                                                            \
	F(nvmlDeviceGetComputeRunningProcesses_v3, NONE)                                          \
	F(nvmlDeviceGetComputeRunningProcesses_v2, NONE)                                          \
	F(nvmlDeviceGetComputeRunningProcesses, NONE)                                             \
	F(nvmlDeviceGetMPSComputeRunningProcesses_v3, nvmlDeviceGetMPSComputeRunningProcesses_v2) \
	F(nvmlDeviceGetPcieThroughput, NONE)                                                      \
	F(nvmlDeviceGetPowerUsage, NONE)                                                          \
	F(nvmlDeviceGetTotalEnergyConsumption, NONE)                                              \
	F(nvmlDeviceGetCurrentClocksEventReasons, nvmlDeviceGetCurrentClocksThrottleReasons)      \
	F(nvmlDeviceGetViolationStatus, NONE)                                                     \
	F(nvmlDeviceGetUtilizationRates, NONE)                                                    \
	F(nvmlDeviceGetEncoderUtilization, NONE)                                                  \
	F(nvmlDeviceGetDecoderUtilization, NONE)                                                  \
	F(nvmlDeviceGetPerformanceState, NONE)                                                    \
	F(nvmlDeviceGetFieldValues, NONE)

/* ---- the library, opened ---- */

enum nvml_function {
#define F(name, other) FN_##name,
	NVML_FUNCTIONS(F, NONE)
#undef F
		NVML_FUNCTION_COUNT
};

struct nvml {
	void *library;
	void (*functions[NVML_FUNCTION_COUNT])(void); /* NULL: this library does not have it */
};

/* Calls a function of the library, with the types of its arguments in parentheses;
 * NVML_FUNCTION_NOT_FOUND when the library does not have it. */
#define NVML_CALL(n, function, types, ...)                                                \
	((n)->functions[function] ? ((int(*) types)(n)->functions[function])(__VA_ARGS__) \
				  : NVML_FUNCTION_NOT_FOUND)

struct strbuf;
/*
 * Opens the library of this name or path and initialises it. -ENOENT: there is none. -ENODEV: the
 * driver is not loaded. Another negative errno: why says what is wrong.
 */
int nvml_open(struct nvml *n, const char *path, struct strbuf *why);
void nvml_close(struct nvml *n);
const char *nvml_function_name(enum nvml_function function);
/* Adds the library's text for an error. */
void nvml_add_error(const struct nvml *n, int code, struct strbuf *out);
