/* Cores and memory that a job was granted, by its metadata; see where.h. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "jobs/job_layout.h"
#include "views/where/where.h"

/* "16(x4),8" is 72; -1: another format. */
static int64_t cpus_per_node(const char *s, int64_t *ret_most)
{
	int64_t sum = 0;

	*ret_most = 0;
	while (*s) {
		char *end;
		long n = strtol(s, &end, 10), times = 1;

		if (end == s || n <= 0 || n > 1 << 20)
			return -1;
		if (*end == '(' && end[1] == 'x')
			times = strtol(end + 2, &end, 10);
		if (*end == ')')
			end++;
		if ((*end && *end != ',') || times <= 0 || times > 1 << 20)
			return -1;
		sum += (int64_t)n * times;
		*ret_most = n > *ret_most ? n : *ret_most;
		s = *end ? end + 1 : end;
	}
	return sum > 0 ? sum : -1;
}

static int64_t variable(const struct value *env, const char *name)
{
	const char *text = value_get_str(env, name);
	int64_t v;

	return text && parse_i64(text, &v) == 0 && v > 0 && v < (int64_t)1 << 40 ? v : -1;
}

/* The cores and the memory per host that the batch system granted. */
static void take_environment(struct job_grant *g, const struct value *env)
{
	static const char *const counts[] = {"PBS_NP", "NSLOTS", "LSB_DJOB_NUMPROC", "OAR_NCPUS"};
	const char *each = value_get_str(env, "SLURM_JOB_CPUS_PER_NODE");
	int64_t most = 0, cores = each ? cpus_per_node(each, &most) : -1;

	if (cores < 0 && variable(env, "SLURM_CPUS_ON_NODE") > 0) {
		int64_t nodes = variable(env, "SLURM_JOB_NUM_NODES");

		most = variable(env, "SLURM_CPUS_ON_NODE");
		cores = most * (nodes > 0 ? nodes : 1);
	}
	for (size_t i = 0; cores < 0 && i < ARRAY_SIZE(counts); i++)
		cores = variable(env, counts[i]);
	if (cores > 0) {
		g->cores = cores;
		g->batch = true;
	}
	int64_t tasks = variable(env, "SLURM_NTASKS");
	g->tasks = tasks > 0 ? tasks : 0;
	int64_t node = variable(env, "SLURM_MEM_PER_NODE"),
		cpu = variable(env, "SLURM_MEM_PER_CPU");
	if (node > 0)
		g->memory = node << 20;
	else if (cpu > 0 && most > 0)
		g->memory = cpu * most << 20;
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

static void take_hosts(struct job_grant *g, const struct value *metadata)
{
	const struct value *hosts = value_get(metadata, "hosts");
	double cpus = 0;

	for (size_t i = 0; hosts && i < value_pairs(hosts); i++) {
		const struct value *key = value_key(hosts, i);
		double n = key->kind == VALUE_STR ? job_grant_host(metadata, key->str.data) : NAN;

		cpus += n > 0 ? n : 0;
	}
	g->hosts = hosts ? (int64_t)value_pairs(hosts) : 0;
	if (g->cores == UNKNOWN && cpus > 0)
		g->cores = round_i64(cpus);
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
	const char *key;

	*g = (struct job_grant){.cores = UNKNOWN, .memory = UNKNOWN, .quota = NAN};
	for (size_t i = 0; metadata && (key = metadata_key(KEY_ENVIRONMENT, i)); i++) {
		const struct value *env = value_get(metadata, key);

		if (env && env->kind == VALUE_DICT && g->cores == UNKNOWN)
			take_environment(g, env);
	}
	if (metadata) {
		take_hosts(g, metadata);
		take_quota(g, metadata);
	}
}
