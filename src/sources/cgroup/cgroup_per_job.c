/*
 * The jobs of a node by the kernel's own account of their control groups: one row a job, at a cost
 * that does not depend on how many processes it has. Descriptors are kept, texts are not: with a
 * hundred jobs and twenty files each, a buffer a file would be most of the daemon's memory.
 *
 * Not every file is read every time. Limits hardly ever change: they are read at every 16th
 * reading. A job that used no CPU since the last reading and whose memory is as large as it was did
 * nothing that the rest of its files could tell of; they are read again as soon as it does, and at
 * its end. What others do for a job without its CPU (write its pages to disk, take them away, put a
 * process into it, let it wait) is read every time.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/resource.h>

#include "sources/cgroup/cgroup_files.h"
#include "sources/cgroup/job_sources.h"
#include "sources/sysfile.h"

#define LIMITS_EVERY 16
#define TEXT_MAX (1u << 20)
#define FILES_MAX 64
#define NO_FILE (-2) /* this job has none, or another gives the same */

/* When a file is read. */
enum rhythm { ALWAYS, ACTIVE, RARELY };

struct row {
	uint64_t number;
	uint64_t inodes[CGROUP_JOBS_CONTROLLERS];
	int fds[FILES_MAX]; /* by place in cgroup_files; -1: not open */
	struct cgroup_values last;
	struct unwrap counts[CGROUP_METRICS];
	struct cgroup_io io;
	uint32_t entity;
	unsigned readings;
	bool known; /* has an entity */
	bool owned; /* whose it is was told */
	bool over;  /* had its last row */
	bool here;  /* in the list of this reading */
};

struct groups {
	struct cgroup_jobs *jobs;
	struct row **rows; /* sorted by number */
	size_t count, cap;
	char *text;
	size_t text_cap;
	enum rhythm rhythms[FILES_MAX];
	unsigned open, limit; /* descriptors, and how many may be */
	uint64_t told;        /* metrics whose absence was looked into */
	struct blockdevs devices;
};

/* ---- files --------------------------------------------------------------------------------------
 */

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
		case MEMSW_CURRENT: /* in between it is worked out */
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
	/* of version 2, where the CPU time is one of its lines */
	return !*f->controller && !strcmp(f->name, "cpu.stat") ? ALWAYS : ACTIVE;
}

static enum job_controller controller_of(const struct cgroup_file *f)
{
	static const struct {
		const char *name;
		enum job_controller controller;
	} names[] = {{"cpuacct", CGROUP_JOBS_CPUACCT},
		     {"cpu", CGROUP_JOBS_CPU},
		     {"memory", CGROUP_JOBS_MEMORY},
		     {"blkio", CGROUP_JOBS_BLKIO},
		     {"pids", CGROUP_JOBS_PIDS}};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(names[i].name, f->controller))
			return names[i].controller;
	return CGROUP_JOBS_MEMBERS; /* version 2: one directory has all */
}

static bool is_of(const struct job *job, const struct cgroup_file *f)
{
	return job->version2 == !*f->controller;
}

/* The text of a file, from its descriptor or by opening it. */
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
	/* a short answer is the whole: the kernel makes the text of such a file in one piece */
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

/* ---- rows ---------------------------------------------------------------------------------------
 */

static struct row *row_make(struct groups *g, size_t at, uint64_t number)
{
	struct row *r = xcalloc(1, sizeof(*r));

	r->number = number;
	r->io.devices = &g->devices;
	for (size_t i = 0; i < cgroup_file_count; i++)
		r->fds[i] = -1;
	GROW(g->rows, g->count, g->cap);
	memmove(g->rows + at + 1, g->rows + at, (g->count - at) * sizeof(*g->rows));
	g->rows[at] = r;
	g->count++;
	return r;
}

static void row_free(struct groups *g, struct row *r)
{
	for (size_t i = 0; i < cgroup_file_count; i++)
		forget_file(g, &r->fds[i]);
	cgroup_io_release(&r->io);
	free(r);
}

/* A group that was made again is another: its files are opened anew, its counters begin at 0. */
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
		/* where its members are may be found somewhere else at any time */
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

/* Can this file say something else than it did last, by what others of this reading say? */
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
	/* who is killed is gone, whether a limit of the job or the whole machine was short */
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
		/* an earlier file gave it: this one is of an older kernel */
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

	/* without a memory group there is no file that would be worth it */
	return now->present >> CPU_USAGE & 1 && now->v[CPU_USAGE] == r->last.v[CPU_USAGE] &&
	       (now->present & both) == (r->last.present & both) &&
	       now->v[MEMORY_CURRENT] == r->last.v[MEMORY_CURRENT];
}

/* What was not read now is as it was. */
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

/* A reading of a job (NULL: it is gone from the list) into r->last; false when nothing is known. */
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
	/* the first reading begins at some place of the sixteen, so that not all jobs have theirs
	 * at once */
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

	sample_fact(set, entity, "user", job->owner ? job->owner : job->user);
	sample_fact(set, entity, "manager", *job->manager ? job->manager : NULL);
	sample_fact(set, entity, "path", job->path);
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

/* ---- what is not there
 * ----------------------------------------------------------------------------
 */

/* The controller of version 1 that a metric is from; NULL: version 2 alone has it. */
static const char *controller_name(unsigned metric)
{
	return metric <= CPU_SYSTEM   ? "cpuacct"
	       : metric <= CPU_LIMIT  ? "cpu"
	       : metric <= OOM_KILLS  ? "memory"
	       : metric <= IO_WRITES  ? "blkio"
	       : metric <= PIDS_LIMIT ? "pids"
				      : NULL;
}

static bool anybody_has(const struct cgroup_jobs *j, const char *controller)
{
	static const struct {
		const char *name;
		enum job_controller c;
	} names[] = {{"cpuacct", CGROUP_JOBS_CPUACCT},
		     {"cpu", CGROUP_JOBS_CPU},
		     {"memory", CGROUP_JOBS_MEMORY},
		     {"blkio", CGROUP_JOBS_BLKIO},
		     {"pids", CGROUP_JOBS_PIDS}};

	for (size_t i = 0; i < cgroup_jobs_count(j); i++)
		for (size_t k = 0; k < ARRAY_SIZE(names); k++)
			if (!strcmp(names[k].name, controller) &&
			    cgroup_jobs_at((struct cgroup_jobs *)j, i)->dirs[names[k].c] >= 0)
				return true;
	return false;
}

static void tell_why(struct groups *g, struct sample_set *set, unsigned metric, bool unlimited,
		     const char *shortcomings)
{
	const char *controller = controller_name(metric);

	for (size_t i = 0; i < g->count && metric >= IO_READ_BYTES && metric <= IO_WRITES; i++)
		if (g->rows[i]->last.uncounted) {
			sample_absent(set, metric, CGROUP_IO_UNCOUNTED);
			return;
		}
	if (unlimited) {
		sample_absent(set, metric, "no job here has such a limit");
		return;
	}
	if (!controller) {
		sample_absent(set, metric, "control groups of version 1 do not have it");
		return;
	}
	if (anybody_has(g->jobs, controller)) {
		sample_absent(set, metric, "the control groups of this kernel do not have it");
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

/* What none of the rows has, with the reason, once for each metric. */
static void tell_absent(struct groups *g, struct sample_set *set)
{
	_cleanup_strbuf_ struct strbuf lines = STRBUF_INIT;
	uint64_t present = 0, unlimited = 0;

	for (size_t i = 0; i < set->row_count; i++)
		present |= set->rows[i].present;
	for (size_t i = 0; i < g->count; i++)
		unlimited |= g->rows[i]->last.unlimited;
	uint64_t missing = ~(present | g->told) & (((uint64_t)1 << CGROUP_METRICS) - 1);
	if (!set->row_count || !missing)
		return;
	g->told |= missing;
	cgroup_jobs_shortcomings(g->jobs, &lines);
	for (unsigned m = 0; m < CGROUP_METRICS; m++)
		if (missing >> m & 1)
			tell_why(g, set, m, unlimited >> m & 1, lines.buf);
}

/* ---- the source ---------------------------------------------------------------------------------
 */

static void take_job(struct groups *g, struct sample_set *set, struct row *r, const struct job *job)
{
	bool last = job->state == JOB_ENDED;

	r->here = true;
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

/* Those that were forgotten before their last reading have it now, by what is left of them. */
static void drop_gone(struct groups *g, struct sample_set *set)
{
	size_t keep = 0;

	for (size_t i = 0; i < g->count; i++) {
		struct row *r = g->rows[i];

		if (r->here) {
			g->rows[keep++] = r;
			continue;
		}
		if (r->known && !r->over) {
			if (row_read(g, r, NULL, true))
				put_row(set, r);
			sample_end(set, r->entity);
		}
		row_free(g, r);
	}
	g->count = keep;
}

static int read_all(void *state, struct sample_set *set)
{
	struct groups *g = state;
	size_t at = 0;

	for (size_t i = 0; i < g->count; i++)
		g->rows[i]->here = false;
	/* both lists are sorted by number */
	for (size_t i = 0; i < cgroup_jobs_count(g->jobs); i++) {
		const struct job *job = cgroup_jobs_at(g->jobs, i);

		if (job->state == JOB_WAITING || !job->begin_ns)
			continue;
		while (at < g->count && g->rows[at]->number < job->number)
			at++;
		struct row *r = at < g->count && g->rows[at]->number == job->number
					? g->rows[at]
					: row_make(g, at, job->number);
		take_job(g, set, r, job);
	}
	drop_gone(g, set);
	tell_absent(g, set);
	return 0;
}

static void close_all(void *state)
{
	struct groups *g = state;

	for (size_t i = 0; i < g->count; i++)
		row_free(g, g->rows[i]);
	free(g->rows);
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
	if (!ctx->jobs) {
		strbuf_addstr(why, "no list of the node's jobs is kept here");
		return -ENOENT;
	}
	if (cgroup_file_count > FILES_MAX)
		return -E2BIG;
	(void)getrlimit(RLIMIT_NOFILE, &files); /* which the list has raised */
	struct groups *g = xcalloc(1, sizeof(*g));
	*g = (struct groups){.jobs = ctx->jobs, .text_cap = 16384, .devices = {.root = ctx->root}};
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
		strbuf_addf(&report->detail, "%zu job%s of a batch system %s here", running,
			    plural(running, "", "s"), plural(running, "is", "are"));
		blockdevs_tell(ctx->root, &report->detail);
	} else {
		strbuf_addstr(&report->detail,
			      "no job of a batch system has control groups here at the moment");
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
