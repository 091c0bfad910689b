/* Batch systems; see scheduler.h. */
#include "job/scheduler.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"

const struct scheduler schedulers[] = {
	{"slurm",
	 {"SLURM_JOB_ID", "SLURM_JOBID"},
	 "SLURM_JOB_NAME",
	 {{"array_job", "SLURM_ARRAY_JOB_ID"},
	  {"array_task", "SLURM_ARRAY_TASK_ID"},
	  {"step", "SLURM_STEP_ID"},
	  {"partition", "SLURM_JOB_PARTITION"},
	  {"account", "SLURM_JOB_ACCOUNT"},
	  {"cluster", "SLURM_CLUSTER_NAME"},
	  {"nodes", "SLURM_JOB_NODELIST"},
	  {"node_count", "SLURM_JOB_NUM_NODES"},
	  {"tasks", "SLURM_NTASKS"},
	  {"cpus_per_task", "SLURM_CPUS_PER_TASK"},
	  {"submit_dir", "SLURM_SUBMIT_DIR"}}},
	{"pbs",
	 {"PBS_JOBID", "PBS_JOB_ID"},
	 "PBS_JOBNAME",
	 {{"array_task", "PBS_ARRAY_INDEX"},
	  {"queue", "PBS_QUEUE"},
	  {"account", "PBS_ACCOUNT"},
	  {"nodefile", "PBS_NODEFILE"},
	  {"node_count", "PBS_NUM_NODES"},
	  {"walltime", "PBS_WALLTIME"},
	  {"submit_host", "PBS_O_HOST"},
	  {"submit_dir", "PBS_O_WORKDIR"}}},
	{"oar",
	 {"OAR_JOB_ID", "OAR_JOBID"},
	 "OAR_JOB_NAME",
	 {{"array_job", "OAR_ARRAY_ID"},
	  {"array_task", "OAR_ARRAY_INDEX"},
	  {"project", "OAR_PROJECT_NAME"},
	  {"cpuset", "OAR_CPUSET"},
	  {"nodefile", "OAR_NODEFILE"},
	  {"walltime", "OAR_JOB_WALLTIME_SECONDS"},
	  {"submit_dir", "OAR_WORKDIR"}}},
	{"lsf",
	 {"LSB_JOBID"},
	 "LSB_JOBNAME",
	 {{"array_task", "LSB_JOBINDEX"},
	  {"queue", "LSB_QUEUE"},
	  {"project", "LSB_PROJECT_NAME"},
	  {"nodes", "LSB_HOSTS"},
	  {"submit_dir", "LS_SUBCWD"}}},
	{"flux",
	 {"FLUX_JOB_ID"},
	 "FLUX_JOB_NAME",
	 {{"node_count", "FLUX_JOB_NNODES"},
	  {"tasks", "FLUX_JOB_SIZE"},
	  {"task", "FLUX_TASK_RANK"}}},
	/* last: JOB_ID is a name that anything might use */
	{"sge",
	 {"JOB_ID"},
	 "JOB_NAME",
	 {{"array_task", "SGE_TASK_ID"},
	  {"queue", "QUEUE"},
	  {"nodefile", "PE_HOSTFILE"},
	  {"slots", "NSLOTS"},
	  {"submit_dir", "SGE_O_WORKDIR"}}},
	{.name = NULL},
};

static const char *text(scheduler_getenv get, const char *name)
{
	const char *v = name ? get(name) : NULL;

	return v && *v ? v : NULL;
}

const struct scheduler *scheduler_find(scheduler_getenv get, const char **ret_id)
{
	for (const struct scheduler *s = schedulers; s->name; s++)
		for (size_t i = 0; i < ARRAY_SIZE(s->id); i++) {
			const char *id = text(get, s->id[i]);

			if (id) {
				*ret_id = id;
				return s;
			}
		}
	return NULL;
}

struct value *scheduler_facts(const struct scheduler *s, scheduler_getenv get)
{
	struct value *facts = value_new(VALUE_DICT);

	value_set(facts, "name", value_str(s->name));
	for (size_t i = 0; i < ARRAY_SIZE(s->facts) && s->facts[i].key; i++) {
		const char *v = text(get, s->facts[i].variable);

		/* LSF and SGE say in every job that it is no array */
		if (v && !strcmp(s->facts[i].key, "array_task") &&
		    (!strcmp(v, "undefined") || (!strcmp(v, "0") && !strcmp(s->name, "lsf"))))
			continue;
		if (v)
			value_set(facts, s->facts[i].key, value_str(v));
	}
	return facts;
}

bool job_id_valid(const char *id)
{
	size_t n = strlen(id);

	if (!n || n > 128 || id[0] == '.')
		return false;
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)id[i] <= 0x20 || (unsigned char)id[i] >= 0x7f || id[i] == '/')
			return false;
	return true;
}

char *job_id_make(void)
{
	char host[65] = "host", stamp[32];
	time_t now = (time_t)(clock_realtime_us() / 1000000);
	struct tm tm;

	(void)gethostname(host, sizeof(host) - 1);
	host[strcspn(host, ".")] = 0;
	for (char *p = host; *p; p++)
		if ((unsigned char)*p <= 0x20 || (unsigned char)*p >= 0x7f || *p == '/')
			*p = '_';
	localtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%S", &tm);
	return xasprintf("%s-%s-%d", stamp, host, (int)getpid());
}
