/*
 * Module "pfm": libpfm4's names for the events of this CPU. Loaded only when a name is unknown to
 * the kernel and no preset, or when all events are listed.
 */
#include <errno.h>
#include <perfmon/pfmlib_perf_event.h>
#include <string.h>

#include "core/module.h"
#include "sources/counters/events.h"

static int initialise(struct strbuf *why)
{
	static int done = -1;

	if (done < 0)
		done = pfm_initialize();
	if (done == PFM_SUCCESS)
		return 0;
	if (why)
		strbuf_addf(why, "libpfm4: %s", pfm_strerror(done));
	return -ENOENT;
}

static int encode(const char *name, struct event_code *ret)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	pfm_perf_encode_arg_t arg = {.attr = &attr, .size = sizeof(arg)};

	int r = pfm_get_os_event_encoding(name, PFM_PLM3 | PFM_PLM0, PFM_OS_PERF_EVENT, &arg);
	if (r != PFM_SUCCESS)
		return r;
	*ret = (struct event_code){attr.type, attr.config, attr.config1, attr.config2, "native"};
	return r;
}

static int pfm_resolve(const char *name, struct event_code *ret, struct strbuf *why)
{
	int r = initialise(why);

	if (r < 0)
		return r;
	r = encode(name, ret);
	if (r == PFM_SUCCESS)
		return 0;
	return strbuf_fail(why, -ENOENT, "libpfm4: %s", pfm_strerror(r));
}

static void list_event(const pfm_pmu_info_t *pmu, int index, event_lister lister, void *user)
{
	pfm_event_info_t info = {.size = sizeof(info)};
	struct event_code code;

	if (pfm_get_event_info(index, PFM_OS_PERF_EVENT, &info) != PFM_SUCCESS)
		return;
	_cleanup_free_ char *name = xasprintf("%s::%s", pmu->name, info.name);
	bool encodes = encode(name, &code) == PFM_SUCCESS;
	lister(user, name, "native", info.desc, encodes ? &code : NULL);
}

static bool is_present(int p, pfm_pmu_info_t *pmu)
{
	memset(pmu, 0, sizeof(*pmu));
	pmu->size = sizeof(*pmu);
	return pfm_get_pmu_info((pfm_pmu_t)p, pmu) == PFM_SUCCESS && pmu->is_present;
}

static void pfm_list(event_lister lister, void *user)
{
	pfm_pmu_info_t pmu;
	int p;

	if (initialise(NULL) < 0)
		return;
	pfm_for_all_pmus(p)
		if (is_present(p, &pmu))
			for (int i = pmu.first_event; i != -1; i = pfm_get_event_next(i))
				list_event(&pmu, i, lister, user);
}

static void pfm_pmus(struct strbuf *out)
{
	pfm_pmu_info_t pmu;
	int p;

	if (initialise(NULL) < 0)
		return;
	pfm_for_all_pmus(p)
		if (is_present(p, &pmu))
			strbuf_addf(out, "%s%s", out->len ? ", " : "", pmu.name);
}

static const struct pfm_functions functions = {
	.resolve = pfm_resolve,
	.list = pfm_list,
	.pmus = pfm_pmus,
};

PL_MODULE("pfm", "libpfm4", &functions);
