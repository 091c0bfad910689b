/* Hosts of a job; see job_hosts.h. */
#include "jobs/job_hosts.h"

#include <string.h>

#include "jobs/host_list.h"

void job_hosts_release(struct job_hosts *p)
{
	free(p->self);
	for (size_t i = 0; i < p->name_count; i++)
		free(p->names[i]);
	free(p->names);
	*p = (struct job_hosts){0};
}

static const char *nonempty(scheduler_getenv get, const char *name)
{
	const char *v = get(name);

	return v && *v ? v : NULL;
}

static bool number(scheduler_getenv get, const char *name, uint64_t *ret)
{
	const char *v = nonempty(get, name);

	return v && parse_u64(v, ret) == 0;
}

static void take(struct job_hosts *p, struct host_list *l)
{
	p->names = l->names;
	p->name_count = p->expected = l->count;
	*l = (struct host_list){0};
}

/* Started by mpirun of Open MPI or MPICH, not by srun? */
static bool by_mpirun(scheduler_getenv get)
{
	return nonempty(get, "OMPI_COMM_WORLD_RANK") || nonempty(get, "MPI_LOCALRANKID");
}

/* Slurm: the nodes of our step; our name there may differ from the hostname. */
static bool from_slurm(struct job_hosts *p, scheduler_getenv get)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_host_list_ struct host_list l = {0};
	bool launched = by_mpirun(get);
	const char *list = launched ? NULL : nonempty(get, "SLURM_STEP_NODELIST");
	const char *self = nonempty(get, "SLURMD_NODENAME");
	uint64_t node;

	if (!list)
		list = nonempty(get, "SLURM_JOB_NODELIST");
	if (!list || !self || !host_list_name_valid(self, strlen(self)) ||
	    host_list_parse(&l, list, &why) < 0 || !l.count)
		return false;
	free(p->self);
	p->self = xstrdup(self);
	p->first = number(get, "SLURM_NODEID", &node) ? node == 0 : host_list_find(&l, self) == 0;
	/* the batch script runs on the first node only */
	if (!launched && !nonempty(get, "SLURM_STEP_NODELIST") && !nonempty(get, "SLURM_STEP_ID")) {
		p->first = true;
		return true;
	}
	take(p, &l);
	return true;
}

/* PBS and OAR: a file of host names that all nodes can read. */
static bool from_nodefile(struct job_hosts *p, scheduler_getenv get)
{
	static const char *const files[] = {"PBS_NODEFILE_LOCAL", "PBS_NODEFILE", "OAR_NODEFILE"};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	for (size_t i = 0; i < ARRAY_SIZE(files); i++) {
		_cleanup_host_list_ struct host_list l = {0};
		const char *path = nonempty(get, files[i]);

		if (!path || host_list_read(&l, path, &why) < 0)
			continue;
		ssize_t at = host_list_find(&l, p->self);
		if (at < 0)
			continue;
		p->first = at == 0;
		free(p->self);
		p->self = xstrdup(l.names[at]);
		take(p, &l);
		return true;
	}
	return false;
}

bool launcher_rank(scheduler_getenv get, uint64_t *ret_rank, uint64_t *ret_size)
{
	static const struct {
		const char *rank, *size;
	} rows[] = {
		{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
		{"PMI_RANK", "PMI_SIZE"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
		if (number(get, rows[i].rank, ret_rank) && number(get, rows[i].size, ret_size) &&
		    *ret_size)
			return true;
	return false;
}

/*
 * An MPI launcher: as many hosts as it started ranks, one per node. Its variables are right even if
 * those of Slurm belong to the step of the launcher's daemons, which has other nodes.
 */
static void from_launcher(struct job_hosts *p, scheduler_getenv get)
{
	uint64_t rank, size;

	if (!launcher_rank(get, &rank, &size))
		return;
	p->first = rank == 0;
	p->expected = size;
	/* an incomplete list of names is useless */
	for (bool all = p->name_count == size; !all && p->name_count;)
		free(p->names[--p->name_count]);
}

void job_hosts_find(struct job_hosts *p, scheduler_getenv get, const char *hostname)
{
	*p = (struct job_hosts){.self = xstrdup(hostname), .expected = 1, .first = true};
	if (from_slurm(p, get) && !by_mpirun(get))
		return;
	if (!p->name_count)
		(void)from_nodefile(p, get);
	from_launcher(p, get);
}
