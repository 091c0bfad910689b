/*
 * The jobs of a node by their control groups: one row per job, at a cost that does not depend on
 * its number of processes. Descriptors stay open, but all files share one buffer: with a hundred
 * jobs of twenty files, a buffer per file would be most of the daemon's memory.
 *
 * Not every file is read every time. Limits rarely change and are read at every 16th reading. If a
 * job used no CPU since the last reading and its memory has the same size, most of its files cannot
 * have changed; they are read again when it becomes active, and at its end. What can change without
 * its CPU time (writeback, reclaim, new processes, waiting) is read every time.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>

#include "sources/cgroup/cgroup_files.h"
#include "sources/cgroup/per_job_state.h"
#include "sources/sysfile.h"

#define LIMITS_EVERY 16
#define TEXT_MAX (1u << 20)
#define FILES_MAX 64
#define NO_FILE (-2) /* this job does not have it, or another file has the same */

/* When a file is read. */
enum rhythm { ALWAYS, ACTIVE, RARELY };

struct row {
	uint64_t number;
	struct groups *groups; /* NULL until it is first read */
	uint64_t inodes[CGROUP_JOBS_CONTROLLERS];
	int fds[FILES_MAX]; /* by index in cgroup_files; -1: not open */
	struct cgroup_values last;
	struct unwrap counts[CGROUP_METRICS];
	struct cgroup_io io;
	uint32_t entity;
	unsigned readings;
	bool known; /* has an entity */
	bool owned; /* the owner was reported */
	bool over;  /* had its last row */
};

struct groups {
	struct cgroup_jobs *jobs;
	struct per_job_state rows;
	struct sample_set *set; /* of the reading under way */
	char *text;
	size_t text_cap;
	enum rhythm rhythms[FILES_MAX];
	unsigned open, limit; /* descriptors that are open, and may be */
	uint64_t reported;    /* metrics whose absence was handled */
	struct blockdevs devices;
};

/* ---- files ---------------------------------------------------------------------------------- */

static enum rhythm rhythm_of(const struct cgroup_file *f)
{
	switch (f->form) {
	case FILE_LIMIT:
	case FILE_CPU_MAX:
	case FILE_QUOTA:
	case FILE_PERIOD:
		return RARELY;
	case FILE_IO_V1:
	case FILE_IO_V2:
	case FILE_PSI:
		return ALWAYS;
	case FILE_NUMBER:
		switch (f->metric) {
		case CPU_USAGE:
		case MEMORY_CURRENT:
		case PIDS_CURRENT:
			return ALWAYS;
		case MEMSW_CURRENT: /* computed in between */
		case MEMSW_PEAK:
		case MEMORY_KERNEL:
		case MEMORY_SOCK:
		case PIDS_PEAK:
			return RARELY;
		default:
			return ACTIVE;
		}
	case FILE_LINES:
		break;
	}
	/* in version 2 it contains the CPU time */
	return !*f->controller && !strcmp(f->name, "cpu.stat") ? ALWAYS : ACTIVE;
}

/* Of version 2 one directory has all. */
static enum job_controller controller_of(const struct cgroup_file *f)
{
	return cgroup_jobs_controller(f->controller);
}

static bool is_of(const struct job *job, const struct cgroup_file *f)
{
	return job->version2 == !*f->controller;
}

/* Reads a file by its descriptor, or opens it. */
static int read_text(struct groups *g, int *fd, int dir, const char *name, struct words *ret)
{
	bool keep = *fd >= 0;
	size_t len = 0;
	ssize_t n;

	if (!keep) {
		*fd = dir < 0 ? -1
			      : openat(dir, name, O_RDONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
		if (*fd < 0)
			return dir < 0 ? -ENOENT : -errno;
		g->open++;
	}
	/* a short read is the whole text: the kernel produces it in one piece */
	for (;;) {
		size_t room = g->text_cap - len - 1;

		n = pread(*fd, g->text + len, room, (off_t)len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < (ssize_t)room)
			break;
		len += (size_t)n;
		if (g->text_cap >= TEXT_MAX) {
			n = -1;
			errno = EFBIG;
			break;
		}
		g->text_cap *= 2;
		g->text = xreallocarray(g->text, g->text_cap, 1);
	}
	int r = n < 0 ? -errno : 0;
	if (r == 0)
		*ret = (struct words){g->text, g->text + len + (size_t)n};
	if (r < 0 || g->open > g->limit) {
		close(*fd);
		*fd = -1;
		g->open--;
	}
	return r;
}

static void forget_file(struct groups *g, int *fd)
{
	if (*fd >= 0) {
		close(*fd);
		g->open--;
	}
	*fd = -1;
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* The row of a job; NULL: it has not started yet. */
static struct row *row_of(struct groups *g, size_t i, const struct job *job)
{
	struct row *r = per_job_state_at(&g->rows, i);

	if (job->state == JOB_WAITING || !job->begin_ns)
		return NULL;
	if (r->groups)
		return r;
	r->groups = g;
	r->io.devices = &g->devices;
	for (size_t k = 0; k < cgroup_file_count; k++)
		r->fds[k] = -1;
	return r;
}

/* A group that was created again: opens its files again, its counters start at 0. */
static void row_follow(struct groups *g, struct row *r, const struct job *job)
{
	for (size_t i = 0; i < cgroup_file_count; i++) {
		enum job_controller c = controller_of(&cgroup_files[i]);

		if (!is_of(job, &cgroup_files[i]) || r->inodes[c] == job->inodes[c] ||
		    job->state == JOB_ENDED)
			continue;
		forget_file(g, &r->fds[i]);
		r->readings = 0;
		if (cgroup_files[i].form == FILE_IO_V1 || cgroup_files[i].form == FILE_IO_V2)
			cgroup_io_again(&r->io);
	}
	if (job->state == JOB_ENDED)
		return;
	for (unsigned c = 0; c < CGROUP_JOBS_CONTROLLERS; c++) {
		/* the group with its processes may change at any time */
		if (c == CGROUP_JOBS_MEMBERS && !job->version2)
			continue;
		r->inodes[c] = job->inodes[c];
	}
}

struct reading {
	struct cgroup_values values;
	unsigned got, failed;
};

static bool is_same(const struct cgroup_values *a, const struct cgroup_values *b, unsigned metric)
{
	return a->present & b->present & (uint64_t)1 << metric && a->v[metric] == b->v[metric];
}

/* Can this file have changed since the last reading, judging by the others of this one? */
static bool may_differ(const struct row *r, const struct cgroup_file *f,
		       const struct cgroup_values *now)
{
	const uint64_t no_quota = (uint64_t)1 << CPU_LIMIT, no_limit = (uint64_t)1 << MEMORY_LIMIT;

	if (!strcmp(f->controller, "cpu") && f->form == FILE_LINES)
		return !(r->last.unlimited & no_quota);
	if (f->form == FILE_IO_V1 && f->metric == IO_READS)
		return !is_same(now, &r->last, IO_READ_BYTES) ||
		       !is_same(now, &r->last, IO_WRITE_BYTES);
	if (!strcmp(f->controller, "memory") && f->metric == MEMORY_MAX_EVENTS &&
	    f->form == FILE_NUMBER)
		return !(r->last.unlimited & no_limit);
	/* a killed process is gone, whether the job or the host ran out of memory */
	if (!strcmp(f->name, "memory.oom_control"))
		return !is_same(now, &r->last, PIDS_CURRENT) ||
		       (!(r->last.unlimited & no_limit) &&
			!is_same(now, &r->last, MEMORY_MAX_EVENTS));
	return true;
}

/* Reads the files of one rhythm. */
static void read_files(struct groups *g, struct row *r, const struct job *job, enum rhythm which,
		       bool all, struct reading *out)
{
	for (size_t i = 0; i < cgroup_file_count; i++) {
		const struct cgroup_file *f = &cgroup_files[i];
		struct words text;

		if (r->fds[i] == NO_FILE || g->rhythms[i] != which ||
		    (job ? !is_of(job, f) : r->fds[i] < 0) ||
		    (!all && !may_differ(r, f, &out->values)))
			continue;
		/* an earlier file had it: this is the name in older kernels */
		bool twin = f->form != FILE_LINES && f->form != FILE_PERIOD &&
			    out->values.present >> f->metric & 1;
		int e = twin ? -ENOENT
			     : read_text(g, &r->fds[i], job ? job->dirs[controller_of(f)] : -1,
					 f->name, &text);
		if (e == 0) {
			cgroup_take(f, text, &out->values);
			out->got++;
		} else if (e == -ENOENT || e == -EOPNOTSUPP) {
			forget_file(g, &r->fds[i]);
			r->fds[i] = job && job->dirs[controller_of(f)] >= 0 ? NO_FILE : -1;
		} else {
			out->failed++;
		}
	}
}

static bool did_nothing(const struct row *r, const struct cgroup_values *now)
{
	const uint64_t both = (uint64_t)1 << CPU_USAGE | (uint64_t)1 << MEMORY_CURRENT;

	/* without a memory group no other file matters */
	return now->present >> CPU_USAGE & 1 && now->v[CPU_USAGE] == r->last.v[CPU_USAGE] &&
	       (now->present & both) == (r->last.present & both) &&
	       now->v[MEMORY_CURRENT] == r->last.v[MEMORY_CURRENT];
}

/* Keeps the values that were not read this time. */
static void carry(struct cgroup_values *now, const struct cgroup_values *last)
{
	uint64_t missing = last->present & ~now->present;

	for (unsigned m = 0; m < CGROUP_METRICS; m++)
		if (missing >> m & 1)
			now->v[m] = last->v[m];
	now->present |= missing;
	now->unlimited |= last->unlimited & ~now->present;
	if (!now->quota_us) {
		now->quota_us = last->quota_us;
		now->period_us = last->period_us;
	}
}

/* Reads a job (NULL: it is no longer in the list) into r->last; false: nothing is known. */
static bool row_read(struct groups *g, struct row *r, const struct job *job, bool last)
{
	struct reading now = {.values.io = &r->io};
	bool limits = last || r->readings % LIMITS_EVERY == 0;

	read_files(g, r, job, ALWAYS, limits, &now);
	bool active = limits || !did_nothing(r, &now.values);
	if (active)
		read_files(g, r, job, ACTIVE, limits, &now);
	if (limits)
		read_files(g, r, job, RARELY, true, &now);
	cgroup_finish(&now.values);
	/* start at a different point of the sixteen per job, to spread the reads */
	r->readings = r->readings ? r->readings + 1 : 1 + (unsigned)(r->number % LIMITS_EVERY);
	if (last || !limits || now.failed)
		carry(&now.values, &r->last);
	if (!now.got && !last)
		return false;
	r->last = now.values;
	return r->last.present;
}

uint32_t jobs_entity(struct sample_set *set, const struct job *job)
{
	uint32_t entity = sample_entity(set, ENTITY_JOB, job->id);

	sample_set_metadata(set, entity, "user", job->owner ? job->owner : job->user);
	sample_set_metadata(set, entity, "manager", *job->manager ? job->manager : NULL);
	sample_set_metadata(set, entity, "path", job->path);
	return entity;
}

bool jobs_owner_is_known(const struct job *job)
{
	return job->owner && !(*job->owner >= '0' && *job->owner <= '9');
}

static void put_row(struct sample_set *set, struct row *r)
{
	cgroup_io_tell(&r->io, set, r->entity);
	sample_row(set, r->entity);
	for (unsigned m = 0; m < CGROUP_METRICS; m++) {
		if (!(r->last.present >> m & 1))
			continue;
		uint64_t v = r->last.v[m];
		if (cgroup_columns[m].kind == KIND_COUNTER)
			v = sys_grown(&r->counts[m], v);
		sys_put(set, m, v);
	}
}

/* ---- absent metrics ---------------------------------------------------------------------- */

/* The controller of version 1 that has a metric; NULL: only version 2 has it. */
static const char *controller_name(unsigned metric)
{
	return metric <= CPU_SYSTEM   ? "cpuacct"
	       : metric <= CPU_LIMIT  ? "cpu"
	       : metric <= OOM_KILLS  ? "memory"
	       : metric <= IO_WRITES  ? "blkio"
	       : metric <= PIDS_LIMIT ? "pids"
				      : NULL;
}

static bool anybody_has(struct cgroup_jobs *j, const char *controller)
{
	for (size_t i = 0; i < cgroup_jobs_count(j); i++)
		if (cgroup_jobs_at(j, i)->dirs[cgroup_jobs_controller(controller)] >= 0)
			return true;
	return false;
}

static void tell_why(struct groups *g, struct sample_set *set, unsigned metric, bool unlimited,
		     const char *shortcomings)
{
	const char *controller = controller_name(metric);

	for (size_t i = 0; i < g->rows.count && metric >= IO_READ_BYTES && metric <= IO_WRITES; i++)
		if (((const struct row *)per_job_state_at(&g->rows, i))->last.uncounted) {
			sample_absent(set, metric, CGROUP_IO_UNCOUNTED);
			return;
		}
	if (unlimited) {
		sample_absent(set, metric, "no job here has such a limit");
		return;
	}
	if (!controller) {
		sample_absent(set, metric, "control groups of version 1 do not provide it");
		return;
	}
	if (anybody_has(g->jobs, controller)) {
		sample_absent(set, metric, "the control groups of this kernel do not provide it");
		return;
	}
	size_t n = strlen(controller);
	for (const char *p = shortcomings; *p; p += strcspn(p, "\n") + 1)
		if (!strncmp(p, controller, n) && p[n] == ':') {
			sample_absent(set, metric, "%.*s", (int)strcspn(p, "\n"), p);
			return;
		}
	sample_absent(set, metric, "jobs here have no %s group", controller);
}

/* Reports metrics that no row has, with the reason, once per metric. */
static void tell_absent(struct groups *g, struct sample_set *set)
{
	_cleanup_strbuf_ struct strbuf lines = STRBUF_INIT;
	uint64_t present = 0, unlimited = 0;

	for (size_t i = 0; i < set->row_count; i++)
		present |= set->rows[i].present;
	for (size_t i = 0; i < g->rows.count; i++)
		unlimited |= ((const struct row *)per_job_state_at(&g->rows, i))->last.unlimited;
	uint64_t missing = ~(present | g->reported) & (((uint64_t)1 << CGROUP_METRICS) - 1);
	if (!set->row_count || !missing)
		return;
	g->reported |= missing;
	cgroup_jobs_shortcomings(g->jobs, &lines);
	for (unsigned m = 0; m < CGROUP_METRICS; m++)
		if (missing >> m & 1)
			tell_why(g, set, m, unlimited >> m & 1, lines.buf);
}

/* ---- the source ----------------------------------------------------------------------------- */

static void take_job(struct groups *g, struct sample_set *set, struct row *r, const struct job *job)
{
	bool last = job->state == JOB_ENDED;

	if (r->over)
		return;
	row_follow(g, r, job);
	if (row_read(g, r, job, last)) {
		if (!r->known || (!r->owned && job->owner))
			r->entity = jobs_entity(set, job);
		r->known = true;
		r->owned = jobs_owner_is_known(job);
		put_row(set, r);
	}
	if (last) {
		r->over = true;
		if (r->known)
			sample_end(set, r->entity);
	}
}

/* A job that was forgotten before its last reading is read now, as far as possible. */
static void row_release(void *element)
{
	struct row *r = element;
	struct groups *g = r->groups;

	if (!g)
		return;
	if (g->set && r->known && !r->over) {
		if (row_read(g, r, NULL, true))
			put_row(g->set, r);
		sample_end(g->set, r->entity);
	}
	for (size_t i = 0; i < cgroup_file_count; i++)
		forget_file(g, &r->fds[i]);
	cgroup_io_release(&r->io);
}

static int read_all(void *state, struct sample_set *set)
{
	struct groups *g = state;

	g->set = set;
	per_job_state_update(&g->rows, g->jobs);
	for (size_t i = 0; i < g->rows.count; i++) {
		const struct job *job = cgroup_jobs_at(g->jobs, i);
		struct row *r = row_of(g, i, job);

		if (r)
			take_job(g, set, r, job);
	}
	tell_absent(g, set);
	return 0;
}

static void close_all(void *state)
{
	struct groups *g = state;

	g->set = NULL;
	per_job_state_release(&g->rows);
	free(g->text);
	blockdevs_release(&g->devices);
	free(g);
}

static int open_all(const struct source_context *ctx, struct sample_set *set, void **state,
		    struct strbuf *why)
{
	struct rlimit files = {.rlim_cur = 256, .rlim_max = 256};

	(void)set;
	_Static_assert(CGROUP_METRICS < 64, "one word has a bit for each metric");
	if (!ctx->jobs)
		return strbuf_fail(why, -ENOENT, "only plimsoll node lists the jobs of a node");
	if (cgroup_file_count > FILES_MAX)
		return -E2BIG;
	(void)getrlimit(RLIMIT_NOFILE, &files); /* raised by cgroup_jobs_open() */
	struct groups *g = xcalloc(1, sizeof(*g));
	*g = (struct groups){.jobs = ctx->jobs,
			     .rows = {.size = sizeof(struct row), .release = row_release},
			     .text_cap = 16384,
			     .devices = {.root = ctx->root}};
	g->limit = files.rlim_cur > 131072 ? 65536 : (unsigned)files.rlim_cur / 2;
	g->text = xmalloc(g->text_cap);
	for (size_t i = 0; i < cgroup_file_count; i++)
		g->rhythms[i] = rhythm_of(&cgroup_files[i]);
	*state = g;
	return 0;
}

int jobs_probe(const struct source_context *ctx, struct source_report *report)
{
	const struct cgroup_jobs_options o = {.root = ctx->root};
	struct cgroup_jobs *own = NULL, *j = ctx->jobs;
	size_t running = 0;

	if (!j) {
		int r = cgroup_jobs_open(&own, &o, &report->detail);

		if (r < 0)
			return r;
		(void)cgroup_jobs_update(own);
		j = own;
	}
	for (size_t i = 0; i < cgroup_jobs_count(j); i++)
		running += cgroup_jobs_at(j, i)->state == JOB_RUNNING;
	if (running) {
		strbuf_addf(&report->detail, "%zu batch job%s %s running here", running,
			    plural(running, "", "s"), plural(running, "is", "are"));
		blockdevs_tell(ctx->root, &report->detail);
	} else {
		strbuf_addstr(&report->detail,
			      "no batch job has control groups here at the moment");
	}
	cgroup_jobs_close(own);
	return running ? 0 : -ENOENT;
}

const struct source source_jobs = {
	.name = "jobs",
	.help = "CPU, memory, I/O and limits of every job of the node, by its control groups",
	.probe = jobs_probe,
	.metrics = cgroup_columns,
	.metric_count = CGROUP_METRICS,
	.every = 1,
	.needs_jobs = true,
	.open = open_all,
	.read = read_all,
	.close = close_all,
};
