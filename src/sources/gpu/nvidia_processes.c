/*
 * The processes that compute on an NVIDIA GPU or MIG device, and which of them belong to the job.
 * The driver reports process ids of our namespace; where it does not, no process matches.
 */
#include "sources/gpu/nvidia.h"

#include <string.h>

#define UNTOUCHED 0xa5

/*
 * The size of an entry that the library wrote: 16 bytes for the first form and 24 for the later
 * ones, but some drivers write 32 or 16 for a later one, so we look how much was written.
 */
static size_t find_stride(const unsigned char *buffer, size_t size, uint32_t count)
{
	static const size_t strides[] = {sizeof(struct nvml_process_v1),
					 sizeof(struct nvml_process)};
	size_t end = size;

	while (end && buffer[end - 1] == UNTOUCHED)
		end--;
	for (size_t i = 0; i < ARRAY_SIZE(strides); i++)
		if (end <= strides[i] * count)
			return strides[i];
	return NVML_PROCESS_LARGEST;
}

static int ask_processes(struct nvidia_reading *r, enum nvml_function function, uint32_t *count)
{
	struct nvidia *v = r->v;

	memset(v->room, UNTOUCHED, (size_t)v->room_for * NVML_PROCESS_LARGEST);
	*count = v->room_for;
	return NVML_CALL(&v->nvml, function, (nvml_device, unsigned *, void *), r->device, count,
			 v->room);
}

static bool is_listed(const struct nvidia *v, size_t count, uint32_t pid)
{
	for (size_t i = 0; i < count; i++)
		if (v->processes[i].pid == pid)
			return true;
	return false;
}

/* Appends the processes that a function lists and that are not in our list yet. */
static int take_processes(struct nvidia_reading *r, enum nvml_function function, size_t *listed)
{
	struct nvidia *v = r->v;
	uint32_t count = 0;
	int code = ask_processes(r, function, &count);

	if (code == NVML_INSUFFICIENT_SIZE && count < PROCESSES_MAX && count >= v->room_for) {
		v->room_for = count + 16; /* some may start meanwhile */
		v->room = xreallocarray(v->room, v->room_for, NVML_PROCESS_LARGEST);
		code = ask_processes(r, function, &count);
	}
	if (code != NVML_SUCCESS)
		return code;
	if (count > v->room_for)
		return NVML_UNKNOWN;
	size_t known = *listed;
	size_t stride = find_stride(v->room, (size_t)v->room_for * NVML_PROCESS_LARGEST, count);
	for (uint32_t i = 0; i < count; i++) {
		struct nvml_process_v1 p;

		memcpy(&p, v->room + i * stride, sizeof(p));
		if (is_listed(v, known, p.pid))
			continue;
		GROW(v->processes, *listed, v->process_cap);
		v->processes[(*listed)++] = p;
	}
	return code;
}

/* Clients of the multi-process service (MPS), such as MPI ranks, are in a second list; the first
 * one has only the MPS server. */
static int list_processes(struct nvidia_reading *r, size_t *listed)
{
	struct nvidia *v = r->v;

	if (!v->room_for) {
		v->room_for = 128;
		v->room = xmalloc((size_t)v->room_for * NVML_PROCESS_LARGEST);
	}
	int code = take_processes(r, v->process_function, listed);
	while (code == NVML_FUNCTION_NOT_FOUND &&
	       v->process_function < FN_nvmlDeviceGetComputeRunningProcesses) {
		v->process_function++; /* _v3, _v2, and the first form */
		code = take_processes(r, v->process_function, listed);
	}
	if (code == NVML_SUCCESS)
		(void)take_processes(r, FN_nvmlDeviceGetMPSComputeRunningProcesses_v3, listed);
	return code;
}

static bool is_here(const struct nvidia *v, uint32_t pid)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u", pid);
	return !v->live || access(path, F_OK) == 0;
}

struct tally {
	uint64_t processes, memory;
	bool unknown; /* the memory of one of them is unknown */
};

static void add_process(struct tally *t, uint64_t memory)
{
	t->processes++;
	t->unknown |= memory == NVML_MEMORY_UNKNOWN;
	if (memory <= INT64_MAX && t->memory <= INT64_MAX)
		t->memory += memory;
}

static void put_tally(struct nvidia_reading *r, unsigned processes, unsigned memory,
		      const struct tally *t)
{
	nvidia_put(r, processes, t->processes);
	if (!t->unknown)
		nvidia_put(r, memory, t->memory);
	else if (nvidia_wanted(r, memory))
		nvidia_lack(r, memory, "the driver does not report the memory of processes here");
}

void nvidia_read_processes(struct nvidia_reading *r)
{
	_cleanup_strbuf_ struct strbuf pids = STRBUF_INIT;
	struct tally all = {0}, job = {0};
	const struct nvidia *v = r->v;
	unsigned strangers = 0;
	size_t listed = 0;

	if (!nvidia_wanted(r, M_PROCESSES))
		return;
	int code = list_processes(r, &listed);
	bool fine = true;
	for (unsigned metric = M_PROCESSES; metric <= M_MEMORY_JOB; metric++)
		fine &= nvidia_got(r, metric, v->process_function, code);
	if (!fine)
		return;
	for (size_t i = 0; i < listed; i++) {
		struct nvml_process_v1 p = v->processes[i];

		add_process(&all, p.memory);
		if (v->watch && (p.pid > INT32_MAX || !job_processes_find(v->watch, (int)p.pid))) {
			strangers += !is_here(v, p.pid);
			continue;
		}
		add_process(&job, p.memory);
		if (pids.len < 400)
			strbuf_addf(&pids, "%s%u", pids.len ? " " : "", p.pid);
	}
	put_tally(r, M_PROCESSES, M_MEMORY_PROCESSES, &all);
	sample_set_metadata(r->set, r->entity, "pids", pids.len ? pids.buf : NULL);
	if (!strangers || job.processes) {
		put_tally(r, M_PROCESSES_JOB, M_MEMORY_JOB, &job);
		return;
	}
	/* none belongs to the job, but some are not in /proc: they may be of the job */
	for (unsigned metric = M_PROCESSES_JOB; metric <= M_MEMORY_JOB; metric++) {
		struct strbuf text = STRBUF_INIT;

		strbuf_addstr(&text,
			      "the driver lists processes that are not in /proc: it uses another "
			      "process id namespace");
		nvidia_excuse(r, metric, &text);
	}
}
