/*
 * Jobs of batch systems: how their processes are found, and which steps of a Slurm job are listed.
 * A method is chosen if it finds our own process, when we run in the job, or any process otherwise.
 * Control groups come first: they are exact and cheap. Then the process trees of Slurm's step
 * daemons; then scontrol, which sees processes that /proc hides and costs a process per call; last
 * the environment of processes, which every batch system sets.
 */
#include <errno.h>
#include <string.h>

#include "jobs/discovery/job_processes_internal.h"

#define STEPS_MAX 65536

static const struct {
	const char *name, *title;
} titles[] = {
	{"slurm", "Slurm"}, {"pbs", "PBS"},   {"oar", "OAR"},
	{"lsf", "LSF"},     {"flux", "Flux"}, {"sge", "Grid Engine"},
};

const char *batch_title(const struct job_processes_finder *f)
{
	for (size_t i = 0; f->scheduler && i < ARRAY_SIZE(titles); i++)
		if (!strcmp(titles[i].name, f->scheduler->name))
			return titles[i].title;
	return "a batch system";
}

static bool is_slurm(const struct job_processes_finder *f)
{
	return !f->scheduler || !strcmp(f->scheduler->name, "slurm");
}

/* ---- steps ---------------------------------------------------------------------------------- */

int batch_step(struct job_processes_finder *f, const char *name, size_t n)
{
	/* the numbers that Slurm uses for them in the environment */
	static const struct {
		const char *number, *name;
	} special[] = {
		{"4294967291", "batch"}, {"4294967292", "extern"}, {"4294967290", "interactive"}};
	struct job_processes_step step = {.name = ""};

	if (!n || n >= sizeof(step.name) || f->step_count >= STEPS_MAX)
		return -1;
	memcpy(step.name, name, n);
	for (size_t i = 0; i < ARRAY_SIZE(special); i++)
		if (!strcmp(step.name, special[i].number))
			snprintf(step.name, sizeof(step.name), "%s", special[i].name);
	for (size_t i = 0; i < f->step_count; i++)
		if (!strcmp(f->steps[i].name, step.name))
			return (int)i;
	GROW(f->steps, f->step_count, f->step_cap);
	f->steps[f->step_count] = step;
	return (int)f->step_count++;
}

bool batch_is_batch_like(const struct job_processes_finder *f, int step)
{
	if (step < 0)
		return f->job != NULL;
	return !strcmp(f->steps[step].name, "batch") || !strcmp(f->steps[step].name, "interactive");
}

enum step_class batch_step_class(const struct job_processes_finder *f, int step)
{
	if (step < 0)
		return f->only_step ? STEP_NONE : STEP_OTHER;
	if (f->only_step)
		return strcmp(f->steps[step].name, f->only_step) ? STEP_NONE : STEP_OTHER;
	if (batch_is_batch_like(f, step))
		return STEP_BATCH;
	if (!strcmp(f->steps[step].name, "extern"))
		return STEP_EXTERN;
	return step == f->own_step ? STEP_OWN : STEP_OTHER;
}

/* Steps that were chosen stay so, even after their end. */
void batch_choose(struct job_processes_finder *f)
{
	const struct job_processes_proc *p;

	PROCESS_TABLE_EACH(&f->procs, p) {
		if (p->verdict != VERDICT_MEMBER || p->hidden)
			continue;
		enum step_class c = batch_step_class(f, p->step);
		if (c < f->step_class)
			f->step_class = c;
	}
}

/* By "slurmstepd: [4711.batch]" in its command line. */
int batch_stepd(struct job_processes_finder *f, const struct job_processes_proc *p)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (!is_slurm(f) || !f->job || procs_read(f, p->pid, "cmdline", 4096, &text) < 0)
		return -1;
	const char *at = strchr(text.buf, '[');
	size_t n = strlen(f->job);
	if (!at || strncmp(at + 1, f->job, n) != 0 || at[1 + n] != '.')
		return -1;
	at += n + 2;
	return at[strcspn(at, "]")] == ']' ? batch_step(f, at, strcspn(at, "]")) : -1;
}

/* ---- the job -------------------------------------------------------------------------------- */

/* "4711.2" and "4711.batch" are steps of Slurm; "4711.server" is a job of PBS. */
static void split_step(struct job_processes_finder *f)
{
	size_t digits = strspn(f->job, "0123456789");
	const char *step = f->job + digits + 1;

	if (!digits || f->job[digits] != '.' || !is_slurm(f))
		return;
	if ((*step && step[strspn(step, "0123456789")] == 0) || !strcmp(step, "batch") ||
	    !strcmp(step, "extern") || !strcmp(step, "interactive")) {
		f->only_step = xstrdup(step);
		f->job[digits] = 0;
	}
}

int batch_find(struct job_processes_finder *f, const struct job_processes_options *o,
	       struct strbuf *why)
{
	const char *id = NULL, *node = getenv("SLURMD_NODENAME"), *step = getenv("SLURM_STEP_ID");
	const struct scheduler *s = scheduler_find(env_lookup, &id);

	if (!o->job && !s)
		return strbuf_fail(why, -ENOENT, "not inside a batch job: name a job");
	const char *job = o->job ? o->job : id;
	if (!*job || strlen(job) > 128 || strchr(job, '/'))
		return strbuf_fail(why, -EINVAL, "invalid job id '%s'", job);
	f->job = xstrdup(job);
	f->scheduler = !o->job ? s : NULL;
	split_step(f);
	f->inside = s && id && !f->only_step && !strcmp(f->job, id);
	if (f->inside)
		f->scheduler = s;
	f->node = node && *node && !strchr(node, '/') ? xstrdup(node) : NULL;
	if (f->inside && step && is_slurm(f))
		f->own_step = batch_step(f, step, strlen(step));
	return 0;
}

/* Does the list of scontrol contain us, if we run in the job, or any process? */
static bool listed_is_useful(const struct job_processes_finder *f)
{
	for (size_t i = 0; i < f->listed_count; i++)
		if (!f->inside || f->listed[i].pid == f->self)
			return true;
	return false;
}

void batch_is_of(struct job_processes_finder *f, const char *scheduler)
{
	for (const struct scheduler *s = schedulers; !f->scheduler && s->name; s++)
		if (!strcmp(s->name, scheduler))
			f->scheduler = s;
}

static void decide(struct job_processes_finder *f, enum job_processes_mode mode)
{
	f->mode = mode;
	if (mode != MODE_ENVIRON)
		batch_is_of(f, "slurm");
	members_reconsider(f);
}

void batch_decide(struct job_processes_finder *f)
{
	const struct job_processes_proc *p;
	bool stepd = false, id = false;

	PROCESS_TABLE_EACH(&f->procs, p) {
		stepd |= p->stepd >= 0 && (!f->inside || self_is_above(f, p->pid));
		id |= p->has_id && p->pid != f->self;
	}
	if (stepd) {
		decide(f, MODE_STEPD);
		return;
	}
	if (is_slurm(f) && !*f->root && f->live) {
		scontrol_update(f, f->inside);
		if (listed_is_useful(f)) {
			decide(f, MODE_LIST);
			return;
		}
	}
	if (id || f->inside)
		decide(f, MODE_ENVIRON);
}
