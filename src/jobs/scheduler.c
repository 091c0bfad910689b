/* Batch systems; see scheduler.h. */
#include "jobs/scheduler.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/system/process_stat.h"

#define ANCESTORS_MAX 64
#define HET_PARTS_MAX 128

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
	  {"submit_dir", "SLURM_SUBMIT_DIR"},
	  {"start", "SLURM_JOB_START_TIME"},
	  {"restart", "SLURM_RESTART_COUNT"}},
	 {"slurmstepd", "salloc", "srun"}},
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
	  {"submit_dir", "PBS_O_WORKDIR"}},
	 {"pbs_mom", "pbs_demux"}},
	{"oar",
	 {"OAR_JOB_ID", "OAR_JOBID"},
	 "OAR_JOB_NAME",
	 {{"array_job", "OAR_ARRAY_ID"},
	  {"array_task", "OAR_ARRAY_INDEX"},
	  {"project", "OAR_PROJECT_NAME"},
	  {"cpuset", "OAR_CPUSET"},
	  {"nodefile", "OAR_NODEFILE"},
	  {"walltime", "OAR_JOB_WALLTIME_SECONDS"},
	  {"submit_dir", "OAR_WORKDIR"}},
	 {"oarexec", "bipbip"}},
	{"lsf",
	 {"LSB_JOBID"},
	 "LSB_JOBNAME",
	 {{"array_task", "LSB_JOBINDEX"},
	  {"queue", "LSB_QUEUE"},
	  {"project", "LSB_PROJECT_NAME"},
	  {"nodes", "LSB_HOSTS"},
	  {"submit_dir", "LS_SUBCWD"}},
	 {"sbatchd", "res"}},
	{"flux",
	 {"FLUX_JOB_ID"},
	 "FLUX_JOB_NAME",
	 {{"node_count", "FLUX_JOB_NNODES"},
	  {"tasks", "FLUX_JOB_SIZE"},
	  {"task", "FLUX_TASK_RANK"}},
	 {"flux-shell", "flux-broker", "flux-imp"}},
	/* last: any program might use the name JOB_ID */
	{"sge",
	 {"JOB_ID"},
	 "JOB_NAME",
	 {{"array_task", "SGE_TASK_ID"},
	  {"queue", "QUEUE"},
	  {"nodefile", "PE_HOSTFILE"},
	  {"slots", "NSLOTS"},
	  {"cluster", "SGE_CLUSTER_NAME"},
	  {"submit_dir", "SGE_O_WORKDIR"}},
	 {"sge_shepherd", "sge_execd"}},
	{.name = NULL},
};

static const char *text(scheduler_getenv get, const char *name)
{
	const char *v = name ? get(name) : NULL;

	return v && *v ? v : NULL;
}

static const char *id_of(const struct scheduler *s, scheduler_getenv get)
{
	for (size_t i = 0; i < ARRAY_SIZE(s->id); i++)
		if (text(get, s->id[i]))
			return text(get, s->id[i]);
	return NULL;
}

static bool has_daemon(const struct scheduler *s, const char *comm)
{
	for (size_t i = 0; i < ARRAY_SIZE(s->daemons) && s->daemons[i]; i++)
		if (!strcmp(s->daemons[i], comm))
			return true;
	return false;
}

/* Of the batch systems whose variables are set, the one whose program is our nearest ancestor. */
static const struct scheduler *nearest(scheduler_getenv get)
{
	int pid = (int)getppid();

	for (int i = 0; i < ANCESTORS_MAX && pid > 1; i++) {
		struct process_stat stat;

		if (!process_stat_read("", pid, &stat))
			return NULL;
		_cleanup_free_ char *comm = xstrndup(stat.st.comm, stat.st.comm_len);
		for (const struct scheduler *s = schedulers; s->name; s++)
			if (id_of(s, get) && has_daemon(s, comm))
				return s;
		pid = (int)stat.st.f[STAT_PPID];
	}
	return NULL;
}

const struct scheduler *scheduler_find(scheduler_getenv get, const char **ret_id)
{
	const struct scheduler *found = NULL;
	int count = 0;

	for (const struct scheduler *s = schedulers; s->name; s++)
		if (id_of(s, get)) {
			found = found ? found : s;
			count++;
		}
	const struct scheduler *inner = count > 1 ? nearest(get) : NULL;
	found = inner ? inner : found;
	if (found)
		*ret_id = id_of(found, get);
	return found;
}

/* A heterogeneous job has the id of its first part. Variables of an outer job do not list this
 * part.
 */
static const char *whole_job(scheduler_getenv get, const char *id)
{
	const char *whole = text(get, "SLURM_HET_JOB_ID");

	for (int i = 0; whole && i < HET_PARTS_MAX; i++) {
		char name[64];

		snprintf(name, sizeof(name), "SLURM_JOB_ID_HET_GROUP_%d", i);
		const char *part = text(get, name);
		if (!part)
			break;
		if (!strcmp(part, id))
			return whole;
	}
	return id;
}

char *scheduler_job_id(const struct scheduler *s, scheduler_getenv get, const char *id)
{
	const char *element = NULL;

	if (!strcmp(s->name, "slurm"))
		return xstrdup(whole_job(get, id));
	if (!strcmp(s->name, "lsf"))
		element = text(get, "LSB_JOBINDEX");
	else if (!strcmp(s->name, "sge"))
		element = text(get, "SGE_TASK_ID");
	if (!element || !strcmp(element, "0") || !strcmp(element, "undefined"))
		return xstrdup(id);
	return xasprintf(!strcmp(s->name, "lsf") ? "%s[%s]" : "%s.%s", id, element);
}

char *scheduler_context(scheduler_getenv get)
{
	const char *variable, *cluster = text(get, "SLURM_CLUSTER_NAME");
	const struct scheduler *s = scheduler_find(get, &variable);

	if (!s)
		return xstrdup("-");
	_cleanup_free_ char *id = scheduler_job_id(s, get, variable);
	bool named = cluster && !strcmp(s->name, "slurm");
	return xasprintf("%s:%s%s%s", s->name, id, named ? "@" : "", named ? cluster : "");
}

bool scheduler_same_context(const char *a, const char *b)
{
	size_t n = strcspn(a, "@"), m = strcspn(b, "@");

	return n == m && !memcmp(a, b, n) && (!a[n] || !b[m] || !strcmp(a + n, b + m));
}

struct value *scheduler_metadata(const struct scheduler *s, scheduler_getenv get)
{
	struct value *metadata = value_new(VALUE_DICT);

	value_set(metadata, "name", value_str(s->name));
	for (size_t i = 0; i < ARRAY_SIZE(s->metadata) && s->metadata[i].key; i++) {
		const char *v = text(get, s->metadata[i].variable);

		/* LSF and SGE set it in every job, even if it is not an array */
		if (v && !strcmp(s->metadata[i].key, "array_task") &&
		    (!strcmp(v, "undefined") || (!strcmp(v, "0") && !strcmp(s->name, "lsf"))))
			continue;
		if (v)
			value_set(metadata, s->metadata[i].key, value_str(v));
	}
	return metadata;
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
	/* in UTC: local time repeats an hour when clocks are set back */
	gmtime_r(&now, &tm);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%S", &tm);
	return xasprintf("%s-%s-%d", stamp, host, (int)getpid());
}
