/*
 * Shared by the files of the source "nvidia": nvidia.c finds and describes the GPUs, nvidia_read.c
 * takes readings of them, nvidia_mig.c of their parts, nvidia_rounds.c decides when to read
 * expensive values.
 */
#pragma once

#include "sources/gpu/nvml.h"
#include "sources/source.h"

enum {
#define METRIC(symbol, ...) M_##symbol,
#include "sources/gpu/nvidia.def"
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
	bool rated;    /* it gave the rate in this round */
};

struct nvidia_gpu {
	unsigned index;
	char name[24];      /* "gpu-0" */
	nvml_device device; /* NULL: not accessible so far */
	uint32_t entity;
	bool mig;             /* it is divided, or may be */
	uint64_t without;     /* metrics that it does not have, by bit */
	uint64_t mig_without; /* the same of its MIG devices */
	uint64_t refused;     /* of both: those that we may not see */
	uint64_t refused_ns;  /* when we last tried them */
	uint32_t mig_rows;    /* bit i: MIG device i had a row in the last reading */
	struct nvidia_traffic sent, received;
};

/* Why a metric is missing on a GPU; reported at the end of the reading. */
struct nvidia_reason {
	char *text;
	char where[48];
	bool reported;
};

/* The progress of a round of expensive values. */
struct nvidia_round {
	uint64_t begin_ns, reading_ns; /* of the round, and of the last reading; 0: none yet */
	uint64_t left_ns;              /* that this reading may spend on it */
	size_t next;                   /* part, GPU after GPU */
	bool in_one;                   /* complete it in this reading */
	bool last;                     /* at the end of sampling */
	uint64_t energy_from_ns, energy_to_ns; /* when energies were read; 0: not in this reading */
};

struct nvidia_mig {
	unsigned index;
	nvml_device device;
	unsigned gpu_instance; /* UINT32_MAX: not known */
};

struct nvidia {
	struct nvml nvml;
	const struct source_context *ctx;
	struct nvidia_round round;
	const struct job_processes *watch; /* NULL: all processes belong to the job */
	bool live;                         /* process ids are those of this machine */
	struct nvidia_gpu gpus[GPUS_MAX];
	unsigned gpu_count;
	struct nvidia_reason reasons[METRIC_COUNT];
	enum nvml_function memory_function, process_function;
	unsigned char *room; /* buffer for the library */
	uint32_t room_for;   /* processes of the largest form */
	struct nvml_process_v1 *processes;
	size_t process_cap;
};

/* The device of a row, while it is read. */
struct nvidia_reading {
	struct nvidia *v;
	struct sample_set *set;
	nvml_device device;
	uint32_t entity;
	const char *name;
	uint64_t *without;
	uint64_t *refused;
	bool lost; /* the GPU is gone: no more calls */
};
bool nvidia_wanted(const struct nvidia_reading *r, unsigned metric);
/* True when the call succeeded; otherwise records the error for the metric. */
bool nvidia_got(struct nvidia_reading *r, unsigned metric, enum nvml_function function, int code);
/* All bits set mean "not available" in many places of the library, and are left out. */
void nvidia_put(struct nvidia_reading *r, unsigned metric, uint64_t value);
/* The device does not have this metric, for this reason. */
void nvidia_lack(struct nvidia_reading *r, unsigned metric, const char *why);
/* Why it is not in this row; the first reason stays. Takes the text. */
void nvidia_excuse(struct nvidia_reading *r, unsigned metric, struct strbuf *text);
void nvidia_read_processes(struct nvidia_reading *r);
void nvidia_read_memory(struct nvidia_reading *r);

unsigned nvidia_list_migs(const struct nvidia *v, const struct nvidia_gpu *g,
			  struct nvidia_mig *migs);
void nvidia_read_migs(struct nvidia *v, struct nvidia_gpu *g, struct sample_set *set,
		      const struct nvidia_mig *migs, unsigned count);

/* Expensive values of a GPU: the number of parts, and reading one of them. */
size_t nvidia_expensive_count(void);
/* True: this part was its energy. */
bool nvidia_read_expensive(struct nvidia_reading *r, struct nvidia_gpu *g, size_t part, bool last);
/* Around a reading, and of each GPU in its row. */
void nvidia_round_begin(struct nvidia *v, uint64_t now_ns);
void nvidia_round_read(struct nvidia_reading *r, struct nvidia_gpu *g);
void nvidia_round_end(struct nvidia *v, struct sample_set *set);

/* Gets the handle of a GPU and sets its metadata; false while it is not accessible. */
bool nvidia_attach(struct nvidia *v, struct nvidia_gpu *g, struct sample_set *set);
int nvidia_read(void *state, struct sample_set *set);

/* Adds a text of the library in printable form. */
bool nvidia_text(const struct nvidia *v, enum nvml_function function, nvml_device device,
		 struct strbuf *out);
