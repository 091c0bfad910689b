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

/* An environment that was stored; from *i on. NULL: no more. */
static const struct value *environment(const struct value *metadata, size_t *i)
{
	const char *key;

	while ((key = metadata_key(KEY_ENVIRONMENT, (*i)++))) {
		const struct value *env = value_get(metadata, key);

		if (env && env->kind == VALUE_DICT)
			return env;
	}
	return NULL;
}

/* The cores that the batch system granted; it keeps to what was asked for. */
static void take_request(struct job_grant *g, const struct value *metadata)
{
	const struct value *env;
	struct job_request r;

	request_from_metadata(value_get(metadata, "request"), &r);
	for (size_t i = 0; (env = environment(metadata, &i));)
		request_from_environment(variable, env, &r);
	if (r.item[REQUEST_CORES] > 0) {
		g->cores = r.item[REQUEST_CORES];
		g->batch = true;
	}
	g->hosts = r.item[REQUEST_NODES] > g->hosts ? r.item[REQUEST_NODES] : g->hosts;
}

/* An item of a host's metadata; NAN: unknown. */
static double cpus_of(const struct value *metadata, const char *host, const char *item)
{
	const struct value *n = value_get(value_get(value_get(metadata, "hosts"), host), item);

	return n && n->kind == VALUE_INT && n->integer > 0 && n->integer < 1 << 20
		       ? (double)n->integer
		       : NAN;
}

double where_host_cpus(const struct value *metadata, const char *host)
{
	double all = cpus_of(metadata, host, "cpus");

	return isnan(all) ? cpus_of(metadata, host, "usable_cpus") : all;
}

double job_grant_host(const struct job_grant *g, const struct value *metadata, const char *host)
{
	double usable = cpus_of(metadata, host, "usable_cpus"),
	       all = where_host_cpus(metadata, host);
	const struct value *env;
	int64_t listed = -1;

	if (!g->batch)
		return isnan(usable) ? all : usable;
	for (size_t i = 0; listed < 0 && (env = environment(metadata, &i));)
		listed = request_host_cores(variable, env, host);
	return listed > 0 ? (double)listed
			  : (double)g->cores / (double)(g->hosts > 0 ? g->hosts : 1);
}

double job_host_busy(const struct value *metadata, const char *host)
{
	const struct value *all = value_get(metadata, "host_cpu"), *one = value_get(all, host);
	const struct value *busy = value_get(one, "host_busy_us"),
			   *idle = value_get(one, "host_idle_us");

	if (!busy || !idle || busy->kind != VALUE_INT || idle->kind != VALUE_INT ||
	    busy->integer < 0 || idle->integer < 0)
		return NAN;
	double sum = (double)busy->integer + (double)idle->integer;
	return sum > 0 ? (double)busy->integer / sum : NAN;
}

/* Control groups around the job limit its CPU time on a host. */
static void take_quota(struct job_grant *g, const struct value *metadata)
{
	const struct value *quota = value_get(value_get(metadata, "cpu"), "quota_us");

	if (quota && quota->kind == VALUE_INT && quota->integer > 0)
		g->quota = (double)quota->integer * 1e-6;
}

void job_grant_take(struct job_grant *g, const struct value *metadata, size_t hosts)
{
	const struct value *known = metadata ? value_get(metadata, "hosts") : NULL;

	*g = (struct job_grant){.cores = UNKNOWN, .quota = NAN, .hosts = (int64_t)hosts};
	if (!metadata)
		return;
	if (known && (int64_t)value_pairs(known) > g->hosts)
		g->hosts = (int64_t)value_pairs(known);
	take_request(g, metadata);
	take_quota(g, metadata);
}

double job_throttled(const struct value *metadata)
{
	const struct value *us = value_get(value_get(metadata, "cpu"), "throttled_us");

	return us && us->kind == VALUE_INT && us->integer >= 0 ? (double)us->integer * 1e-6 : NAN;
}
