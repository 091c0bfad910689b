/*
 * What the two files of the source "nvidia" share: nvidia.c finds the GPUs and tells what they are,
 * nvidia_read.c takes readings of them.
 */
#ifndef PL_SOURCES_NVIDIA_H
#define PL_SOURCES_NVIDIA_H

#include "sources/nvml.h"
#include "sources/source.h"

enum {
#define METRIC(symbol, ...) M_##symbol,
#include "sources/nvidia.def"
#undef METRIC
	METRIC_COUNT
};
_Static_assert(METRIC_COUNT <= SAMPLE_METRICS_MAX, "a row has one word of bits");

#define GPUS_MAX 64
#define MIG_MAX 16         /* devices of one GPU; hardware has 7 or 8 */
#define PROCESSES_MAX 1024 /* of one GPU */

/* Bytes over PCI Express, for the rate since the reading before. */
struct nvidia_traffic {
	struct unwrap bytes;
	int64_t at_us; /* the driver's time stamp; 0: not read yet */
};

struct nvidia_gpu {
	unsigned index;
	char name[24];      /* "gpu-0" */
	nvml_device device; /* NULL: could not be had so far */
	uint32_t entity;
	bool mig;             /* it is divided, or may be */
	uint64_t without;     /* metrics that it will not give, by bit */
	uint64_t mig_without; /* nor its MIG devices */
	uint32_t mig_rows;    /* bit i: MIG device i had a row in the reading before */
	struct nvidia_traffic sent, received;
};

/* Why a metric is missing somewhere; told when the reading is over and it is known where. */
struct nvidia_reason {
	char *text;
	char where[48];
	bool told;
};

struct nvidia {
	struct nvml nvml;
	const struct watch *watch; /* NULL: all processes are the job's */
	bool live;                 /* process ids are those of this machine */
	struct nvidia_gpu gpus[GPUS_MAX];
	unsigned gpu_count;
	struct nvidia_reason reasons[METRIC_COUNT];
	enum nvml_function memory_function, process_function;
	unsigned char *room; /* for what the library writes */
	uint32_t room_for;   /* processes of the largest form */
	struct nvml_process_v1 *processes;
	size_t process_cap;
};

/* What a row is being read of. */
struct nvidia_reading {
	struct nvidia *v;
	struct sample_set *set;
	nvml_device device;
	uint32_t entity;
	const char *name;
	uint64_t *without;
	bool lost; /* meanwhile: no more questions */
};
bool nvidia_wanted(const struct nvidia_reading *r, unsigned metric);
/* True when the call went well; else books what its result says of the metric. */
bool nvidia_got(struct nvidia_reading *r, unsigned metric, enum nvml_function function, int code);
/* All bits set stand for "not available" in many places of the library, and are left out. */
void nvidia_put(struct nvidia_reading *r, unsigned metric, uint64_t value);
/* This metric will not come, for this reason. */
void nvidia_lack(struct nvidia_reading *r, unsigned metric, const char *why);
/* Why it is not in this row; the first reason stays. Takes the text. */
void nvidia_excuse(struct nvidia_reading *r, unsigned metric, struct strbuf *text);
void nvidia_read_processes(struct nvidia_reading *r);

/* The handle and, once it is there, the facts of a GPU; false while it cannot be had. */
bool nvidia_attach(struct nvidia *v, struct nvidia_gpu *g, struct sample_set *set);
int nvidia_read(void *state, struct sample_set *set);

/* Texts of the library: of at most this size, terminated or not, for people. */
bool nvidia_text(const struct nvidia *v, enum nvml_function function, nvml_device device,
		 struct strbuf *out);

#endif
