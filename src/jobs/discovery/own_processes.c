/*
 * Excludes this monitor and its peers from the job, and reads environments. A monitor is recognised
 * by the program names in a command line, because srun, pbsdsh or mpirun that start one on other
 * hosts are not its ancestors there.
 */
#include <errno.h>
#include <string.h>

#include "core/system/procparse.h"
#include "jobs/discovery/job_processes_internal.h"

#define ANCESTORS_MAX 64

/* The kernel cuts command names at 15 characters. */
static const struct {
	const char *comm, *title;
	bool remote; /* waits here for processes on other hosts */
} launchers[] = {
	{"srun", "srun", true},
	{"mpirun", "mpirun", false},
	{"mpirun.openmpi", "mpirun", false},
	{"mpirun.mpich", "mpirun", false},
	{"mpirun.hydra", "mpirun", false},
	{"mpiexec", "mpiexec", false},
	{"mpiexec.openmpi", "mpiexec", false},
	{"mpiexec.mpich", "mpiexec", false},
	{"mpiexec.hydra", "mpiexec", false},
	{"orterun", "mpirun", false},
	{"prterun", "mpirun", false},
	{"prun", "prun", true},
	{"orted", "mpirun", false},
	{"prted", "mpirun", false},
	{"hydra_pmi_proxy", "mpiexec", false},
	{"hydra_bstrap_pr", "mpiexec", false},
	{"pbsdsh", "pbsdsh", true},
	{"pbs_tmrsh", "pbs_tmrsh", true},
	{"oarsh", "oarsh", true},
	{"ssh", "ssh", true},
	{"sshd", "ssh", false},
	{"sshd-session", "ssh", false},
	{"flux-shell", "flux", false},
	{"flux-job", "flux", true},
	{"jsrun", "jsrun", true},
	{"blaunch", "blaunch", true},
	{"aprun", "aprun", true},
	{"slurmstepd", "srun", false},
};

static bool is_one_of(const char *comm, const char *const *names)
{
	for (; *names; names++)
		if (!strcmp(*names, comm))
			return true;
	return false;
}

bool name_is_shell(const char *comm)
{
	static const char *const shells[] = {"sh",   "bash",    "dash",         "zsh",
					     "ksh",  "mksh",    "tcsh",         "csh",
					     "fish", "busybox", "slurm_script", NULL};

	return is_one_of(comm, shells);
}

bool name_is_daemon(const char *comm)
{
	static const char *const daemons[] = {
		"slurmstepd", "slurmd",      "sshd",     "sshd-session",
		"pbs_mom",    "pbs_demux",   "oarexec",  "bipbip",
		"flux-shell", "flux-broker", "flux-imp", "sge_shepherd",
		"sge_execd",  "sbatchd",     "res",      NULL};

	return is_one_of(comm, daemons);
}

bool name_is_launcher(const char *comm)
{
	for (size_t i = 0; i < ARRAY_SIZE(launchers); i++)
		if (!strcmp(launchers[i].comm, comm))
			return true;
	return false;
}

bool name_is_remote_launcher(const char *comm)
{
	for (size_t i = 0; i < ARRAY_SIZE(launchers); i++)
		if (launchers[i].remote && !strcmp(launchers[i].comm, comm))
			return true;
	return false;
}

/* The launcher of this name; NULL: none. Slurm's daemon also runs batch scripts. */
static const char *title_of(const char *comm)
{
	if (!strcmp(comm, "slurmstepd") && !getenv("SLURM_STEP_ID"))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(launchers); i++)
		if (!strcmp(launchers[i].comm, comm))
			return launchers[i].title;
	return NULL;
}

void self_find(struct job_processes_finder *f)
{
	struct job_processes_proc p;

	if (f->self < 0 || procs_look(f, f->self, &p) < 0)
		return;
	f->self_session = p.session;
	f->above = xcalloc(ANCESTORS_MAX, sizeof(*f->above));
	while (f->above_count < ANCESTORS_MAX && p.ppid > 1 && procs_look(f, p.ppid, &p) == 0) {
		f->above[f->above_count++] = p.pid;
		const char *title = title_of(p.comm);
		if (!f->launcher && title)
			f->launcher = xstrdup(title);
	}
	/* ancestors further up are hidden from us */
	if (!f->launcher && f->live && p.ppid > 1 && getenv("SLURM_STEP_ID"))
		f->launcher = xstrdup("srun");
}

bool self_is_above(const struct job_processes_finder *f, int pid)
{
	for (size_t i = 0; i < f->above_count; i++)
		if (f->above[i] == pid)
			return true;
	return false;
}

/* Is it a name of a program that only monitors? */
static bool is_monitor_name(const char *name)
{
	static const char *const names[] = {
#define MONITOR_NAME(other) other,
#include "jobs/discovery/monitor_names.def"
#undef MONITOR_NAME
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* Is this word of a command line a monitor, given the next word? */
static bool names_monitor(const char *word, const char *next)
{
	const char *name = path_base(word);

	if (!strcmp(name, "plimsoll"))
		return !strcmp(next, "monitor") || !strcmp(next, "top") || !strcmp(next, "sample");
	return is_monitor_name(name) || !strcmp(name, program_invocation_short_name);
}

bool self_is_monitor(const struct job_processes_finder *f, const struct job_processes_proc *p)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	bool launcher = name_is_launcher(p->comm);
	size_t words = 0;

	if (!launcher && strcmp(p->comm, "plimsoll") != 0 && !is_monitor_name(p->comm) &&
	    strncmp(p->comm, program_invocation_short_name, sizeof(p->comm) - 1) != 0)
		return false;
	if (procs_read(f, p->pid, "cmdline", 65536, &text) < 0)
		return false;
	/* a strbuf ends with NUL, and so does the last word even if it was cut */
	for (const char *w = text.buf, *end = w + text.len; w < end; w += strlen(w) + 1, words++) {
		const char *next = w + strlen(w) + 1;

		if (names_monitor(w, next < end ? next : ""))
			return true;
		if (!launcher && words > 1)
			return false;
	}
	return false;
}

const char *job_processes_launcher(const struct job_processes *w)
{
	return w->finder ? w->finder->launcher : NULL;
}

/* ---- environments --------------------------------------------------------------------------- */

bool environ_find(const struct strbuf *text, const char *name, const char **ret, size_t *ret_size)
{
	size_t n = strlen(name);

	for (const char *p = text->buf, *end = p + text->len; p < end; p += strlen(p) + 1)
		if (!strncmp(p, name, n) && p[n] == '=') {
			*ret = p + n + 1;
			*ret_size = strlen(*ret);
			return true;
		}
	return false;
}

bool environ_number(const struct strbuf *text, const char *name, int64_t *ret)
{
	const char *value;
	size_t n;

	return environ_find(text, name, &value, &n) && parse_i64(value, ret) == 0;
}

int environ_rank(const struct strbuf *text)
{
	/* last SLURM_PROCID: with mpirun in a Slurm job it is that of the launcher */
	static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
					    "SLURM_PROCID"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		int64_t rank;

		if (environ_number(text, names[i], &rank) && rank >= 0 && rank <= INT32_MAX)
			return (int)rank;
	}
	return -1;
}

/* PBS appends the name of the server, which people leave out. */
static bool same_job(const struct job_processes_finder *f, const char *id)
{
	size_t n = strlen(f->job);

	return !strcmp(id, f->job) || (!strncmp(id, f->job, n) && id[n] == '.' && id[n + 1]);
}

bool environ_has_job(const struct job_processes_finder *f, const struct strbuf *text)
{
	for (const struct scheduler *s = schedulers; s->name; s++) {
		if (f->scheduler && f->scheduler != s)
			continue;
		for (size_t i = 0; i < ARRAY_SIZE(s->id) && s->id[i]; i++) {
			const char *value;
			size_t n;

			if (environ_find(text, s->id[i], &value, &n) && same_job(f, value))
				return true;
		}
	}
	return false;
}
