/* Controllers that jobs lack and that the site could enable; see cgroup_jobs.h. */
#include <string.h>

#include "jobs/discovery/cgroup_jobs_internal.h"

static const char *const controller_names[CGROUP_JOBS_MEMBERS] = {
	[CGROUP_JOBS_CPUACCT] = "cpuacct", [CGROUP_JOBS_CPU] = "cpu",
	[CGROUP_JOBS_MEMORY] = "memory",   [CGROUP_JOBS_BLKIO] = "blkio",
	[CGROUP_JOBS_PIDS] = "pids",       [CGROUP_JOBS_PERF] = "perf_event",
};

enum job_controller cgroup_jobs_controller(const char *name)
{
	unsigned c = 0;

	while (c < CGROUP_JOBS_MEMBERS && strcmp(controller_names[c], name) != 0)
		c++;
	return c;
}

/* The setting that enables a controller, by manager and version. There is no row where a manager
 * has no such setting. */
static const struct {
	const char *manager, *title;
	int version; /* 0: either */
	enum job_controller controller;
	const char *remedy;
} remedies[] = {
	{"oar", "OAR", 1, CGROUP_JOBS_MEMORY,
	 "set $Enable_mem_cg = \"YES\" in job_resource_manager_cgroups.pl"},
	{"oar", "OAR", 1, CGROUP_JOBS_BLKIO,
	 "set $Enable_blkio_cg = \"YES\" in job_resource_manager_cgroups.pl"},
	{"oar", "OAR", 1, CGROUP_JOBS_PERF,
	 "set $Enable_perf_event_cg = \"YES\" in job_resource_manager_cgroups.pl"},
	{"oar", "OAR", 2, CGROUP_JOBS_MEMORY,
	 "set DefaultMemoryAccounting=yes in system.conf of systemd"},
	{"oar", "OAR", 2, CGROUP_JOBS_BLKIO,
	 "set DefaultIOAccounting=yes in system.conf of systemd"},
	{"slurm", "Slurm", 1, CGROUP_JOBS_CPUACCT,
	 "set JobAcctGatherType=jobacct_gather/cgroup in slurm.conf"},
	{"slurm", "Slurm", 1, CGROUP_JOBS_MEMORY,
	 "set TaskPlugin=task/cgroup in slurm.conf and ConstrainRAMSpace=yes in cgroup.conf"},
	{"slurm", "Slurm", 2, CGROUP_JOBS_MEMORY,
	 "set EnableControllers=yes and ConstrainRAMSpace=yes in cgroup.conf"},
	{"pbs", "PBS", 0, CGROUP_JOBS_MEMORY,
	 "enable memory in the configuration of the hook pbs_cgroups"},
	{"pbs", "PBS", 0, CGROUP_JOBS_CPUACCT,
	 "enable cpuacct in the configuration of the hook pbs_cgroups"},
	{"systemd", "systemd", 0, CGROUP_JOBS_CPUACCT, "set CPUAccounting=yes in the unit"},
	{"systemd", "systemd", 0, CGROUP_JOBS_MEMORY, "set MemoryAccounting=yes in the unit"},
	{"systemd", "systemd", 0, CGROUP_JOBS_BLKIO, "set IOAccounting=yes in the unit"},
	{"systemd", "systemd", 0, CGROUP_JOBS_PIDS, "set TasksAccounting=yes in the unit"},
};

static bool is_mounted(const struct cgroup_jobs *j, enum job_controller c)
{
	for (size_t i = 0; i < j->mounts.count; i++)
		if (j->hierarchies[i].used && j->hierarchies[i].controllers >> c & 1)
			return true;
	return false;
}

/* How many jobs lack a controller, of this manager and version. */
static size_t lacking(const struct cgroup_jobs *j, const char *manager, int version,
		      enum job_controller c)
{
	size_t n = 0;

	for (size_t i = 0; i < j->shown_count; i++) {
		const struct job *job = &j->shown[i]->job;

		n += job->state == JOB_RUNNING && job->dirs[c] < 0 &&
		     (!manager || !strcmp(job->manager, manager)) &&
		     (!version || version == 1 + job->version2);
	}
	return n;
}

void cgroup_jobs_shortcomings(const struct cgroup_jobs *j, struct strbuf *out)
{
	for (unsigned c = 0; c < CGROUP_JOBS_MEMBERS; c++)
		if (!is_mounted(j, c) && lacking(j, NULL, 0, c))
			strbuf_addf(out,
				    "%s: the controller is not mounted: run "
				    "'mount -t cgroup -o %s none DIRECTORY'\n",
				    controller_names[c], controller_names[c]);
	for (size_t i = 0; i < ARRAY_SIZE(remedies); i++) {
		const char *name = controller_names[remedies[i].controller];

		if (is_mounted(j, remedies[i].controller) &&
		    lacking(j, remedies[i].manager, remedies[i].version, remedies[i].controller))
			strbuf_addf(out, "%s: jobs of %s have no %s group: %s\n", name,
				    remedies[i].title, name, remedies[i].remedy);
	}
	if (j->unnamed)
		strbuf_addf(out,
			    "names: %zu %s a name without a valid job id: "
			    "use a narrower pattern\n",
			    j->unnamed, plural(j->unnamed, "group has", "groups have"));
	if (j->unopened)
		strbuf_addf(out,
			    "descriptors: opening a group failed %zu %s: "
			    "raise LimitNOFILE of the service\n",
			    j->unopened, plural(j->unopened, "time", "times"));
	if (j->unwatched)
		strbuf_addf(out,
			    "inotify: %zu %s listed every second instead of watched: "
			    "raise fs.inotify.max_user_watches and max_user_instances\n",
			    j->unwatched, plural(j->unwatched, "directory is", "directories are"));
	if (j->left_out)
		strbuf_addf(out,
			    "limits: more than %d jobs or %d directories: use narrower roots\n",
			    CGROUP_JOBS_ENTRIES_MAX, CGROUP_JOBS_DIRS_MAX);
}
