/*
 * The MIG devices of an NVIDIA GPU. With MIG enabled, memory and processes belong to them and are
 * in their rows, not in the row of the GPU: nothing is counted twice, and a user who can access
 * only one MIG device has values, too.
 */
#include "sources/gpu/nvidia.h"

#include <string.h>

unsigned nvidia_list_migs(const struct nvidia *v, const struct nvidia_gpu *g,
			  struct nvidia_mig *migs)
{
	const struct nvml *lib = &v->nvml;
	unsigned most = 0, n = 0;

	if (!g->mig || NVML_CALL(lib, FN_nvmlDeviceGetMaxMigDeviceCount, (nvml_device, unsigned *),
				 g->device, &most) != NVML_SUCCESS)
		return 0;
	for (unsigned i = 0; i < most && i < MIG_MAX; i++) {
		struct nvidia_mig m = {.index = i, .gpu_instance = UINT32_MAX};

		if (NVML_CALL(lib, FN_nvmlDeviceGetMigDeviceHandleByIndex,
			      (nvml_device, unsigned, nvml_device *), g->device, i,
			      &m.device) != NVML_SUCCESS ||
		    !m.device)
			continue;
		if (NVML_CALL(lib, FN_nvmlDeviceGetGpuInstanceId, (nvml_device, unsigned *),
			      m.device, &m.gpu_instance) != NVML_SUCCESS)
			m.gpu_instance = UINT32_MAX;
		migs[n++] = m;
	}
	return n;
}

static void mig_metadata(struct nvidia_reading *r, const struct nvidia_mig *m)
{
	static const struct {
		const char *key;
		enum nvml_function function;
	} texts[] = {{"name", FN_nvmlDeviceGetName}, {"uuid", FN_nvmlDeviceGetUUID}};
	unsigned instance = 0;

	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

		if (nvidia_text(r->v, texts[i].function, m->device, &text))
			sample_set_metadata(r->set, r->entity, texts[i].key, text.buf);
	}
	if (m->gpu_instance != UINT32_MAX)
		sample_format_metadata(r->set, r->entity, "gpu_instance", "%u", m->gpu_instance);
	if (NVML_CALL(&r->v->nvml, FN_nvmlDeviceGetComputeInstanceId, (nvml_device, unsigned *),
		      m->device, &instance) == NVML_SUCCESS)
		sample_format_metadata(r->set, r->entity, "compute_instance", "%u", instance);
}

/* The MIG device before it that has the same memory: those of one GPU instance share it. */
static const struct nvidia_mig *shares_memory(const struct nvidia_mig *migs, unsigned i)
{
	for (unsigned k = 0; k < i; k++)
		if (migs[i].gpu_instance != UINT32_MAX &&
		    migs[k].gpu_instance == migs[i].gpu_instance)
			return &migs[k];
	return NULL;
}

void nvidia_read_migs(struct nvidia *v, struct nvidia_gpu *g, struct sample_set *set,
		      const struct nvidia_mig *migs, unsigned count)
{
	uint32_t seen = 0;
	char name[48], other[48];

	for (unsigned i = 0; i < count; i++) {
		struct nvidia_reading r = {.v = v,
					   .set = set,
					   .device = migs[i].device,
					   .name = name,
					   .without = &g->mig_without,
					   .refused = &g->refused};
		const struct nvidia_mig *owner = shares_memory(migs, i);

		snprintf(name, sizeof(name), "%s/mig-%u", g->name, migs[i].index);
		r.entity = sample_entity(set, ENTITY_GPU, name);
		seen |= 1u << migs[i].index;
		mig_metadata(&r, &migs[i]);
		sample_row(set, r.entity);
		if (!owner)
			nvidia_read_memory(&r);
		else
			snprintf(other, sizeof(other), "%s/mig-%u", g->name, owner->index);
		sample_set_metadata(set, r.entity, "memory_with", owner ? other : NULL);
		nvidia_read_processes(&r);
	}
	for (unsigned i = 0; i < MIG_MAX; i++)
		if ((g->mig_rows & ~seen) >> i & 1) {
			snprintf(name, sizeof(name), "%s/mig-%u", g->name, i);
			sample_end(set, sample_entity(set, ENTITY_GPU, name));
		}
	g->mig_rows = seen;
}
