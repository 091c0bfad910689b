/* Cores that a job was granted, by its metadata; see where.h. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "jobs/job_layout.h"
#include "jobs/request.h"
#include "views/where/where.h"

static const char *variable(const void *env, const char *name)
{
	return value_get_str(env, name);
}

/* The cores that the batch system granted; it keeps to what was asked for. */
static void take_request(struct job_grant *g, const struct value *metadata)
{
	struct job_request r;
	const char *key;

	request_from_metadata(value_get(metadata, "request"), &r);
	for (size_t i = 0; (key = metadata_key(KEY_ENVIRONMENT, i)); i++) {
		const struct value *env = value_get(metadata, key);

		if (env && env->kind == VALUE_DICT)
			request_from_environment(variable, env, &r);
	}
	if (r.item[REQUEST_CORES] > 0) {
		g->cores = r.item[REQUEST_CORES];
		g->batch = true;
	}
}

double job_grant_host(const struct value *metadata, const char *host)
{
	const struct value *hosts = value_get(metadata, "hosts"),
			   *one = hosts ? value_get(hosts, host) : NULL, *n = NULL;

	if (one && one->kind == VALUE_DICT)
		n = value_get(one, "usable_cpus");
	if (!n && one && one->kind == VALUE_DICT)
		n = value_get(one, "cpus");
	return n && n->kind == VALUE_INT && n->integer > 0 && n->integer < 1 << 20
		       ? (double)n->integer
		       : NAN;
}

/* Control groups around the job limit its CPU time on a host. */
static void take_quota(struct job_grant *g, const struct value *metadata)
{
	const struct value *quota = value_get(value_get(metadata, "cpu"), "quota_us");

	if (quota && quota->kind == VALUE_INT && quota->integer > 0)
		g->quota = (double)quota->integer * 1e-6;
}

void job_grant_take(struct job_grant *g, const struct value *metadata)
{
	const struct value *hosts = metadata ? value_get(metadata, "hosts") : NULL;

	*g = (struct job_grant){.cores = UNKNOWN, .quota = NAN};
	if (!metadata)
		return;
	take_request(g, metadata);
	take_quota(g, metadata);
	g->hosts = hosts ? (int64_t)value_pairs(hosts) : 0;
}
