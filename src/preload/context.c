/*
 * Recognises another batch job. Batch systems pass the submitter's environment to the job: a job
 * that is submitted from a recorded job has our variables, but is another job. `run` and `source`
 * put their job into PLIMSOLL_CONTEXT, "ID slurm:100@cluster", or "ID -" outside of batch systems.
 *
 * Parts of a heterogeneous job have different ids and are one job; steps have the id of the job. A
 * missing variable means nothing.
 */
#include "preload/guest.h"

#include "core/metrics/batch_ids.h"

struct word {
	const char *s;
	size_t n;
};

static bool same(struct word a, const char *s)
{
	return str_len(s) == a.n && !__builtin_memcmp(a.s, s, a.n);
}

static const char *find(char **envp, const char *name)
{
	size_t n = str_len(name);

	for (; *envp; envp++)
		if ((*envp)[0] == name[0] && starts_with(*envp, name) && (*envp)[n] == '=')
			return (*envp)[n + 1] ? *envp + n + 1 : NULL;
	return NULL;
}

/* Is `part` one of the jobs that make up the heterogeneous job `whole`? */
static bool is_part(char **envp, struct word whole, const char *part)
{
	static const char group[] = "SLURM_JOB_ID_HET_GROUP_";
	const char *leader = find(envp, "SLURM_HET_JOB_ID");

	if (!leader || !same(whole, leader))
		return false;
	for (; *envp; envp++) {
		const char *e = *envp;

		if (e[0] != 'S' || !starts_with(e, group))
			continue;
		for (e += sizeof(group) - 1; *e && *e != '='; e++)
			;
		if (*e && same((struct word){part, str_len(part)}, e + 1))
			return true;
	}
	return false;
}

/* Elements of an array may share the variable; their ids are "20[3]" and "18.4". */
static bool same_job(char **envp, struct word id, const char *here)
{
	size_t n = str_len(here);

	if (n < id.n && (id.s[n] == '[' || id.s[n] == '.'))
		id.n = n;
	return same(id, here) || is_part(envp, id, here);
}

/* Is this a batch job that was submitted from outside? What a launcher runs directly (srun on a
 * login node) is part of the command that waits for it. */
static bool is_batch(char **envp)
{
	const char *slurm = find(envp, "ENVIRONMENT"), *pbs = find(envp, "PBS_ENVIRONMENT");

	if (slurm && starts_with(slurm, "BATCH"))
		return find(envp, "SLURM_JOB_ID") || find(envp, "JOB_ID");
	if (pbs && starts_with(pbs, "PBS_BATCH"))
		return find(envp, "PBS_JOBID");
	return find(envp, "LSB_JOBID") && !find(envp, "LSB_INTERACTIVE");
}

bool context_is_other(const char *context, char **envp)
{
	const char *p = context, *here = NULL;
	struct word name, id, cluster;

	while (*p && *p != ' ')
		p++;
	if (!*p)
		return false;
	name.s = ++p;
	if (*p == '-')
		return is_batch(envp);
	while (*p && *p != ':')
		p++;
	name.n = (size_t)(p - name.s);
	id.s = *p ? ++p : p;
	while (*p && *p != '@')
		p++;
	id.n = (size_t)(p - id.s);
	cluster.s = *p ? p + 1 : p;
	cluster.n = str_len(cluster.s);
	for (size_t i = 0; i < sizeof(batch_ids) / sizeof(batch_ids[0]); i++)
		for (int k = 0; same(name, batch_ids[i].name) && k < 2 && !here; k++)
			here = batch_ids[i].id[k][0] ? find(envp, batch_ids[i].id[k]) : NULL;
	if (!here)
		return false;
	const char *there = cluster.n ? find(envp, "SLURM_CLUSTER_NAME") : NULL;
	return !same_job(envp, id, here) || (there && !same(cluster, there));
}
