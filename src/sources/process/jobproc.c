/*
 * I/O and memory of every job as sums over its processes, for jobs whose manager gives them no
 * memory or blkio group. A reading costs 10 to 20 us per process that ran, and one or two for one
 * that did not.
 *
 * The sums keep what ended processes did, and count nothing twice. When a process is waited for,
 * the kernel adds its I/O to that of its parent, so it is in the sum already. This shows in the
 * parent's counters, which must have grown by that much; otherwise (it was waited for outside the
 * job, or by nobody) its last values stay in the sum. The parent may have been read just before it
 * waited, so this is checked again at the next reading. Memory is that of living processes.
 */
#include <errno.h>
#include <string.h>

#include "core/system/process_table.h"
#include "core/system/procparse.h"
#include "sources/cgroup/per_job_state.h"
#include "sources/process/procdir.h"
#include "sources/sysfile.h"

#define IO_COUNT 7
#define FDS_PERCENT 40
#define CHAIN_MAX 32 /* parents that ended together */
#define IDLE_MAX \
	15 /* an idle process is skipped this often: its pages may be reclaimed meanwhile */

enum column { IO, VM_RSS = IO_COUNT, RSS_SHMEM, VM_SIZE, PROCESSES, METRICS };

#define TOTAL(n, u, text)                            \
	{                                            \
		n, u, KIND_COUNTER, AGG_SUM, 1, text \
	}
#define HELD(n, text)                                          \
	{                                                      \
		n, UNIT_BYTES, KIND_GAUGE, AGG_SUM, 1024, text \
	}

static const struct sample_metric columns[METRICS] = {
	TOTAL("rchar", UNIT_BYTES, "bytes read by system calls"),
	TOTAL("wchar", UNIT_BYTES, "bytes written by system calls"),
	TOTAL("syscr", UNIT_COUNT, "system calls that read"),
	TOTAL("syscw", UNIT_COUNT, "system calls that wrote"),
	TOTAL("read_bytes", UNIT_BYTES, "bytes read from storage"),
	TOTAL("write_bytes", UNIT_BYTES, "bytes queued for storage, those cancelled included"),
	TOTAL("cancelled_write_bytes", UNIT_BYTES, "bytes that did not have to be written"),
	HELD("VmRSS", "resident memory of the processes alive, shared pages in each"),
	HELD("RssShmem", "resident shared memory of the processes alive"),
	HELD("VmSize", "virtual memory of the processes alive"),
	[PROCESSES] = {"processes", UNIT_COUNT, KIND_GAUGE, AGG_SUM, 1, "processes alive"},
};

struct io {
	uint64_t v[IO_COUNT];
};

struct proc {
	pid_t pid;
	int ppid, io_fd, status_fd;
	struct io io, grown; /* and by how much since the last reading */
	uint64_t rss, shmem, size;
	uint64_t cpu_ns; /* before it was last read */
	unsigned idle;   /* readings since then */
	bool listed, zombie, gone;
};

/* A process that ended, and whose heir is not known yet. */
struct ended {
	pid_t pid;
	int ppid;
	struct io io;
	bool late;    /* checked once already */
	bool settled; /* its heir has them */
};

struct row {
	uint64_t number;
	struct process_table procs; /* of struct proc */
	struct ended *ended;
	size_t ended_count, ended_cap;
	struct io left;  /* of ended processes without an heir */
	struct io shown; /* what was reported: never falls */
	uint64_t rss, shmem, size, alive;
	uint32_t entity;
	struct jobproc *source; /* NULL until it is first read */
	bool known, owned, over;
};

struct jobproc {
	struct cgroup_jobs *jobs;
	struct procdir proc;
	struct per_job_state rows;
	struct sample_set *set; /* of the reading under way */
	bool refused;           /* files that may not be read */
	bool reported;
};

static void add(struct io *sum, const struct io *more)
{
	for (unsigned i = 0; i < IO_COUNT; i++)
		sum->v[i] += more->v[i];
}

/* ---- a process ------------------------------------------------------------------------------ */

static struct proc *find(const struct row *r, pid_t pid)
{
	return process_table_find(&r->procs, pid);
}

static void proc_close(struct jobproc *s, struct proc *p)
{
	procdir_forget(&s->proc, &p->io_fd);
	procdir_forget(&s->proc, &p->status_fd);
}

static void take_io(struct proc *p, const char *text, size_t n)
{
	struct proc_io io;

	proc_parse_io(text, n, &io);
	for (unsigned i = 0; i < IO_COUNT; i++) {
		/* never falls, not even in a recorded tree */
		uint64_t v = io.present >> i & 1 && io.v[i] <= INT64_MAX ? io.v[i] : 0;

		v = v > p->io.v[i] ? v : p->io.v[i];
		p->grown.v[i] = v - p->io.v[i];
		p->io.v[i] = v;
	}
}

static void take_status(struct proc *p, const char *text, size_t n)
{
	static const char *const keys[] = {"PPid", "VmSize", "VmRSS", "RssShmem"};
	uint64_t v[ARRAY_SIZE(keys)] = {0};
	static const char state[] = "\nState:\t";
	const char *s = memmem(text, n, state, sizeof(state) - 1);

	(void)proc_parse_keys(text, n, keys, ARRAY_SIZE(keys), v);
	p->ppid = v[0] <= INT32_MAX ? (int)v[0] : 0;
	p->size = v[1];
	p->rss = v[2];
	p->shmem = v[3];
	p->zombie = s && s + sizeof(state) - 1 < text + n && strchr("ZX", s[sizeof(state) - 1]);
}

/* Did it run since it was last read? If not, it did no I/O and waited for no child, and it is still
 * the same process: another one would have another CPU time. */
static bool has_run(const struct jobproc *s, struct proc *p)
{
	uint64_t before = p->cpu_ns;

	if (!s->proc.idle_known || !procdir_cpu_clock(&s->proc, p->pid, &p->cpu_ns))
		return true;
	if (!p->listed || p->zombie || p->io_fd < 0 || before != p->cpu_ns || p->idle >= IDLE_MAX) {
		/* spread them over the readings */
		p->idle = before ? 0 : (unsigned)p->pid % IDLE_MAX;
		return true;
	}
	p->idle++;
	return false;
}

/* Reads a process; false: it is gone. */
static bool proc_read(struct jobproc *s, struct proc *p)
{
	char text[4096];

	p->grown = (struct io){0};
	if (!has_run(s, p))
		return true;
	ssize_t n = procdir_read(&s->proc, &p->io_fd, p->pid, "io", true, text, sizeof(text));
	if (n >= 0)
		take_io(p, text, (size_t)n);
	else if (n == -ESRCH || n == -ENOENT)
		return false;
	else
		s->refused |= n == -EACCES || n == -EPERM;
	n = procdir_read(&s->proc, &p->status_fd, p->pid, "status", true, text, sizeof(text));
	if (n < 0)
		return n != -ESRCH && n != -ENOENT;
	take_status(p, text, (size_t)n);
	return true;
}

/* ---- a job ---------------------------------------------------------------------------------- */

static struct proc *new_proc(struct proc *p)
{
	*p = (struct proc){.pid = p->pid, .io_fd = -1, .status_fd = -1, .listed = true};
	return p;
}

/* A process that is in the job now. */
static void take_pid(void *user, pid_t pid)
{
	struct row *r = user;
	struct proc *p = find(r, pid);

	if (p)
		p->listed = true;
	else
		new_proc(process_table_put(&r->procs, pid));
}

static void list_procs(struct jobproc *s, struct row *r, const struct job *job)
{
	struct proc *p;

	PROCESS_TABLE_EACH(&r->procs, p)
		p->listed = false;
	if (job->state != JOB_ENDED)
		(void)cgroup_jobs_visit_processes(s->jobs, job, take_pid, r);
}

static void end(struct row *r, const struct proc *p)
{
	GROW(r->ended, r->ended_count, r->ended_cap);
	r->ended[r->ended_count++] = (struct ended){.pid = p->pid, .ppid = p->ppid, .io = p->io};
}

/* Reads a process; true: it is no longer one of the job. */
static bool has_left(struct jobproc *s, struct row *r, struct proc *p)
{
	bool old = p->io_fd >= 0 || p->status_fd >= 0;
	bool there = proc_read(s, p);

	if (!there && old && p->listed) {
		/* its pid is another process now */
		end(r, p);
		proc_close(s, p);
		there = proc_read(s, new_proc(p));
		old = false;
	}
	if (there && (p->listed || p->zombie))
		return false;
	/* gone; or moved elsewhere, then nobody here inherits */
	if (there)
		add(&r->left, &p->io);
	else if (old || p->ppid)
		end(r, p);
	proc_close(s, p);
	return true;
}

static bool is_gone(void *user, void *entry)
{
	(void)user;
	return ((const struct proc *)entry)->gone;
}

static void read_procs(struct jobproc *s, struct row *r)
{
	struct proc *p;

	PROCESS_TABLE_EACH(&r->procs, p)
		p->gone = has_left(s, r, p);
	process_table_remove_if(&r->procs, is_gone, NULL);
}

static int by_pid(const void *a, const void *b)
{
	pid_t x = ((const struct ended *)a)->pid, y = ((const struct ended *)b)->pid;

	return x < y ? -1 : x > y;
}

/* The nearest living ancestor in the job. */
static struct proc *heir(const struct row *r, int ppid)
{
	for (unsigned n = 0; n < CHAIN_MAX; n++) {
		struct proc *p = find(r, ppid);
		const struct ended key = {.pid = ppid};

		if (p)
			return p;
		const struct ended *e =
			bsearch(&key, r->ended, r->ended_count, sizeof(key), by_pid);
		if (!e)
			break;
		ppid = e->ppid;
	}
	return NULL;
}

/* Subtracts the I/O of an ended process from the growth of its heir; false: it did not inherit. */
static bool inherited(struct proc *p, const struct io *io)
{
	for (unsigned i = 0; i < IO_COUNT; i++)
		if (p->grown.v[i] < io->v[i])
			return false;
	for (unsigned i = 0; i < IO_COUNT; i++)
		p->grown.v[i] -= io->v[i];
	return true;
}

static void settle(struct row *r)
{
	size_t keep = 0;

	if (!r->ended_count)
		return;
	qsort(r->ended, r->ended_count, sizeof(*r->ended), by_pid);
	/* the search for heirs needs the whole list */
	for (size_t i = 0; i < r->ended_count; i++) {
		struct ended *e = &r->ended[i];
		struct proc *p = heir(r, e->ppid);

		e->settled = p && inherited(p, &e->io);
	}
	for (size_t i = 0; i < r->ended_count; i++) {
		struct ended *e = &r->ended[i];
		bool again = !e->settled && !e->late && heir(r, e->ppid);

		if (!e->settled && !again)
			add(&r->left, &e->io);
		e->late = again;
	}
	for (size_t i = 0; i < r->ended_count; i++)
		if (r->ended[i].late)
			r->ended[keep++] = r->ended[i];
	r->ended_count = keep;
}

static void sum_up(struct row *r)
{
	struct io sum = r->left;
	const struct proc *p;

	r->rss = r->shmem = r->size = r->alive = 0;
	for (size_t i = 0; i < r->ended_count; i++)
		add(&sum, &r->ended[i].io);
	PROCESS_TABLE_EACH(&r->procs, p) {
		add(&sum, &p->io);
		r->rss += p->rss;
		r->shmem += p->shmem;
		r->size += p->size;
		r->alive += !p->zombie;
	}
	for (unsigned i = 0; i < IO_COUNT; i++)
		if (sum.v[i] > r->shown.v[i])
			r->shown.v[i] = sum.v[i];
}

static void put_row(struct jobproc *s, struct sample_set *set, struct row *r, bool alive)
{
	sample_row(set, r->entity);
	for (unsigned i = 0; i < IO_COUNT && !s->refused; i++)
		sys_put(set, IO + i, r->shown.v[i]);
	sample_put(set, PROCESSES, alive ? (int64_t)r->alive : 0);
	if (!alive)
		return;
	sys_put(set, VM_RSS, r->rss);
	sys_put(set, RSS_SHMEM, r->shmem);
	sys_put(set, VM_SIZE, r->size);
}

/* A job that was forgotten before its last reading gets its last row now. */
static void row_release(void *element)
{
	struct row *r = element;
	struct jobproc *s = r->source;
	struct proc *p;

	if (s && s->set && r->known && !r->over) {
		put_row(s, s->set, r, false);
		sample_end(s->set, r->entity);
	}
	PROCESS_TABLE_EACH(&r->procs, p)
		proc_close(s, p);
	process_table_release(&r->procs);
	free(r->ended);
}

static void take_job(struct jobproc *s, struct sample_set *set, struct row *r,
		     const struct job *job)
{
	bool last = job->state == JOB_ENDED;

	r->source = s;
	r->procs.entry_size = sizeof(struct proc);
	if (r->over)
		return;
	list_procs(s, r, job);
	read_procs(s, r);
	settle(r);
	sum_up(r);
	if (last && !r->known) {
		r->over = true; /* it was too short to be seen */
		return;
	}
	if (!r->known || (!r->owned && job->owner))
		r->entity = jobs_entity(set, job);
	r->known = true;
	r->owned = jobs_owner_is_known(job);
	put_row(s, set, r, !last);
	if (last)
		sample_end(set, r->entity);
	r->over = last;
}

/* ---- the source ----------------------------------------------------------------------------- */

static int read_all(void *state, struct sample_set *set)
{
	struct jobproc *s = state;

	s->set = set;
	per_job_state_update(&s->rows, s->jobs);
	for (size_t i = 0; i < s->rows.count; i++) {
		const struct job *job = cgroup_jobs_at(s->jobs, i);

		if (job->state != JOB_WAITING && job->begin_ns)
			take_job(s, set, per_job_state_at(&s->rows, i), job);
	}
	if (s->refused && !s->reported)
		for (unsigned i = 0; i < IO_COUNT; i++)
			sample_absent(set, IO + i,
				      "reading /proc/PID/io of other users needs CAP_SYS_PTRACE");
	s->reported |= s->refused;
	return 0;
}

static void close_all(void *state)
{
	struct jobproc *s = state;

	s->set = NULL;
	per_job_state_release(&s->rows);
	procdir_close(&s->proc);
	free(s);
}

static int open_all(const struct source_context *ctx, struct sample_set *set, void **state,
		    struct strbuf *why)
{
	struct jobproc *s;

	(void)set;
	if (!ctx->jobs)
		return strbuf_fail(why, -ENOENT, "only plimsoll node lists the jobs of a node");
	s = xcalloc(1, sizeof(*s));
	s->jobs = ctx->jobs;
	s->rows = (struct per_job_state){.size = sizeof(struct row), .release = row_release};
	int r = procdir_open(&s->proc, ctx->root, FDS_PERCENT, why);
	if (r < 0) {
		free(s);
		return r;
	}
	*state = s;
	return 0;
}

const struct source source_jobproc = {
	.name = "jobproc",
	.help = "I/O and memory of every job of the node, as sums over its processes",
	.probe = jobs_probe,
	.metrics = columns,
	.metric_count = METRICS,
	.every = 1,
	.on_request = true,
	.needs_jobs = true,
	.open = open_all,
	.read = read_all,
	.close = close_all,
};
