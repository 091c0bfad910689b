/* perfmon's files of a job from the sample files of all its hosts; see perfmon.h. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "compat/perfmon/perfmon.h"
#include "jobs/metadata.h"
#include "jobs/sample_files.h"

struct host {
	char *name;
	char **files;
	size_t count, cap;
};

struct gathering {
	struct host *hosts;
	size_t count, cap;
};

static struct host *find_host(struct gathering *g, const char *name, size_t n)
{
	for (size_t i = 0; i < g->count; i++)
		if (strlen(g->hosts[i].name) == n && !memcmp(g->hosts[i].name, name, n))
			return &g->hosts[i];
	GROW(g->hosts, g->count, g->cap);
	g->hosts[g->count] = (struct host){.name = xstrndup(name, n)};
	return &g->hosts[g->count++];
}

/* "<host>.<boot>/<run>.smp" */
static int gather(void *user, int fd, const char *name)
{
	const char *slash = strchr(name, '/');
	const char *dot = slash ? memrchr(name, '.', (size_t)(slash - name)) : NULL;

	close(fd);
	if (!dot)
		return 0;
	struct host *h = find_host(user, name, (size_t)(dot - name));
	GROW(h->files, h->count, h->cap);
	h->files[h->count++] = xstrdup(name);
	return 0;
}

static void gathering_release(struct gathering *g)
{
	for (size_t i = 0; i < g->count; i++) {
		for (size_t k = 0; k < g->hosts[i].count; k++)
			free(g->hosts[i].files[k]);
		free(g->hosts[i].files);
		free(g->hosts[i].name);
	}
	free(g->hosts);
}

/* The hardware of a host as its newest run recorded it. */
static const struct value *hardware_of(const struct value *runs, const char *host)
{
	const struct value *found = NULL;

	for (size_t i = 0; i < runs->list.count; i++) {
		const struct value *run = runs->list.items[i];
		const char *name = value_get_str(run, "host");
		const struct value *hardware = value_get(run, "hardware");

		if (name && !strcmp(name, host) && hardware)
			found = hardware;
	}
	return found;
}

int perfmon_layout(const struct monitor_finish *f, const struct perfmon_input *given, int dirfd,
		   size_t *ret_hosts)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_(gathering_release) struct gathering g = {0};
	_cleanup_value_ struct value *runs = job_directory_runs(f->job);
	_cleanup_free_ char *user = effective_user();
	struct perfmon_input in = *given;

	/* in the order of the batch system's list, then the others */
	for (size_t i = 0; i < f->peers->name_count; i++)
		(void)find_host(&g, f->peers->names[i], strlen(f->peers->names[i]));
	int r = job_directory_visit_samples(f->job, JOB_DIRECTORY_RECORDS, gather, &g, NULL);
	struct perfmon_host *hosts = xcalloc(g.count + 1, sizeof(*hosts));
	size_t n = 0;
	for (size_t i = 0; i < g.count; i++)
		if (g.hosts[i].count)
			hosts[n++] = (struct perfmon_host){
				.name = g.hosts[i].name,
				.files = (const char *const *)g.hosts[i].files,
				.file_count = g.hosts[i].count,
				.hardware = hardware_of(runs, g.hosts[i].name)};
	in.dir = f->job->records;
	in.hosts = hosts;
	in.host_count = *ret_hosts = n;
	in.user = user;
	if (r == 0)
		r = perfmon_write(&in, dirfd, &why);
	free(hosts);
	warn_lines(why.buf, NULL);
	return r;
}

/* Writes perfmon's files into the job's directory, before the samples are merged. */
static int write_beside(const struct monitor_options *m, const struct monitor_finish *f)
{
	const struct perfmon_input in = {.period_s = (m->interval_ns + 500000000) / 1000000000,
					 .job = f->job->id};
	size_t hosts;
	int r = perfmon_layout(f, &in, f->job->fd, &hosts);

	if (r < 0)
		log_error("perfmon's files are not in '%s/metrics': %s", f->job->path,
			  r == -ENODATA ? "nothing was sampled" : strerror(-r));
	return r;
}

const struct monitor_layout monitor_layout_perfmon = {.name = "perfmon", .write = write_beside};
