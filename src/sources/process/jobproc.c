/*
 * What the processes of every job read, wrote and hold in memory, by their own files: for jobs
 * whose manager gives them no memory or blkio group. Each process counts once, however many threads
 * it has, at 10 to 20 microseconds a process that ran and one or two of one that did not.
 *
 * The sums never lose what ended processes did, and count nothing twice. When a process is waited
 * for, the kernel adds its I/O to that of its parent: then it is in the sum already. Whether that
 * happened is seen from the parent's counters, which must have grown by that much; where they have
 * not (it was waited for outside of the job, or by nobody) its last values stay in the sum. A
 * parent may have been read a moment before it waited, so the question is asked again at the next
 * reading. Memory is that of the living.
 */
#include <errno.h>
#include <string.h>

#include "core/system/procparse.h"
#include "sources/cgroup/job_sources.h"
#include "sources/process/procdir.h"
#include "sources/sysfile.h"

#define IO_COUNT 7
#define FDS_PERCENT 40
#define CHAIN_MAX 32 /* parents that ended together */
#define IDLE_MAX \
	15 /* readings that an idle process may be left out of: others may take its pages */

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
	bool listed, zombie;
};

/* One that is gone, and of which it is not known who has its counters. */
struct ended {
	pid_t pid;
	int ppid;
	struct io io;
	bool late;    /* asked once already */
	bool settled; /* its heir has them */
};

struct row {
	uint64_t number;
	struct proc *procs; /* sorted by pid */
	size_t count, cap;
	struct ended *ended;
	size_t ended_count, ended_cap;
	struct io left;  /* of ended processes that nobody inherited from */
	struct io shown; /* what was published: it never falls */
	uint64_t rss, shmem, size, alive;
	uint32_t entity;
	bool known, owned, over, here;
};

struct jobproc {
	struct cgroup_jobs *jobs;
	struct procdir proc;
	struct row **rows; /* sorted by number */
	size_t count, cap;
	pid_t *pids; /* of the job being read */
	size_t pid_count, pid_cap;
	bool refused; /* files that may not be read */
	bool told;
};

static void add(struct io *sum, const struct io *more)
{
	for (unsigned i = 0; i < IO_COUNT; i++)
		sum->v[i] += more->v[i];
}

/* ---- a process ----------------------------------------------------------------------------------
 */

static struct proc *find(const struct row *r, pid_t pid)
{
	size_t low = 0, high = r->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (r->procs[mid].pid < pid)
			low = mid + 1;
		else
			high = mid;
	}
	return low < r->count && r->procs[low].pid == pid ? &r->procs[low] : NULL;
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
		/* it does not fall, whatever a tree may show */
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

/* Did it run since it was last read? Without that it neither read nor wrote nor waited for a child,
 * and it is the same process still: another would have another CPU time. */
static bool has_run(const struct jobproc *s, struct proc *p)
{
	uint64_t before = p->cpu_ns;

	if (!s->proc.idle_known || !procdir_cpu_clock(&s->proc, p->pid, &p->cpu_ns))
		return true;
	if (!p->listed || p->zombie || p->io_fd < 0 || before != p->cpu_ns || p->idle >= IDLE_MAX) {
		/* not all of them in the same reading */
		p->idle = before ? 0 : (unsigned)p->pid % IDLE_MAX;
		return true;
	}
	p->idle++;
	return false;
}

/* Reads a process; false when it is gone. */
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

/* ---- a job --------------------------------------------------------------------------------------
 */

static void take_pid(void *user, pid_t pid)
{
	struct jobproc *s = user;

	GROW(s->pids, s->pid_count, s->pid_cap);
	s->pids[s->pid_count++] = pid;
}

/* Merges the list of who is there, which is sorted, with those known. */
static void merge(struct jobproc *s, struct row *r)
{
	size_t fresh = 0;

	for (size_t i = 0; i < r->count; i++)
		r->procs[i].listed = false;
	for (size_t i = 0; i < s->pid_count; i++) {
		struct proc *p = find(r, s->pids[i]);

		if (p)
			p->listed = true;
		else
			s->pids[fresh++] = s->pids[i];
	}
	if (!fresh)
		return;
	r->cap = r->count + fresh;
	r->procs = xreallocarray(r->procs, r->cap, sizeof(*r->procs));
	/* from behind, so that none is moved twice */
	for (size_t at = r->count + fresh, old = r->count; fresh; at--) {
		if (old && r->procs[old - 1].pid > s->pids[fresh - 1])
			r->procs[at - 1] = r->procs[--old];
		else
			r->procs[at - 1] = (struct proc){.pid = s->pids[--fresh],
							 .io_fd = -1,
							 .status_fd = -1,
							 .listed = true};
	}
	r->count = r->cap;
}

static void end(struct row *r, const struct proc *p)
{
	GROW(r->ended, r->ended_count, r->ended_cap);
	r->ended[r->ended_count++] = (struct ended){.pid = p->pid, .ppid = p->ppid, .io = p->io};
}

static void read_procs(struct jobproc *s, struct row *r)
{
	size_t keep = 0;

	for (size_t i = 0; i < r->count; i++) {
		struct proc *p = &r->procs[i];
		bool old = p->io_fd >= 0 || p->status_fd >= 0;
		bool there = proc_read(s, p);

		if (!there && old && p->listed) {
			/* its number is another's now */
			end(r, p);
			proc_close(s, p);
			*p = (struct proc){
				.pid = p->pid, .io_fd = -1, .status_fd = -1, .listed = true};
			there = proc_read(s, p);
			old = false;
		}
		if (there && (p->listed || p->zombie)) {
			r->procs[keep++] = *p;
			continue;
		}
		/* gone, or moved to somewhere else: then nobody here inherits */
		if (there)
			add(&r->left, &p->io);
		else if (old || p->ppid)
			end(r, p);
		proc_close(s, p);
	}
	r->count = keep;
}

static int by_pid(const void *a, const void *b)
{
	pid_t x = ((const struct ended *)a)->pid, y = ((const struct ended *)b)->pid;

	return x < y ? -1 : x > y;
}

/* The nearest of its parents that lives and is one of the job. */
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

/* Takes what an ended process had out of what its heir has got; false when it did not get it. */
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
	/* the list is needed whole while heirs are looked for */
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

	r->rss = r->shmem = r->size = r->alive = 0;
	for (size_t i = 0; i < r->ended_count; i++)
		add(&sum, &r->ended[i].io);
	for (size_t i = 0; i < r->count; i++) {
		const struct proc *p = &r->procs[i];

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

static void row_free(struct jobproc *s, struct row *r)
{
	for (size_t i = 0; i < r->count; i++)
		proc_close(s, &r->procs[i]);
	free(r->procs);
	free(r->ended);
	free(r);
}

static void take_job(struct jobproc *s, struct sample_set *set, struct row *r,
		     const struct job *job)
{
	bool last = job->state == JOB_ENDED;

	r->here = true;
	if (r->over)
		return;
	s->pid_count = 0;
	if (!last)
		(void)cgroup_jobs_visit_processes(s->jobs, job, take_pid, s);
	merge(s, r);
	read_procs(s, r);
	settle(r);
	sum_up(r);
	if (last && !r->known) {
		r->over = true; /* it was too short to be seen at all */
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

/* ---- the source ---------------------------------------------------------------------------------
 */

static struct row *row_at(struct jobproc *s, size_t *at, uint64_t number)
{
	while (*at < s->count && s->rows[*at]->number < number)
		++*at;
	if (*at < s->count && s->rows[*at]->number == number)
		return s->rows[*at];
	struct row *r = xcalloc(1, sizeof(*r));
	r->number = number;
	GROW(s->rows, s->count, s->cap);
	memmove(s->rows + *at + 1, s->rows + *at, (s->count - *at) * sizeof(*s->rows));
	s->rows[*at] = r;
	s->count++;
	return r;
}

static int read_all(void *state, struct sample_set *set)
{
	struct jobproc *s = state;
	size_t at = 0, keep = 0;

	for (size_t i = 0; i < s->count; i++)
		s->rows[i]->here = false;
	for (size_t i = 0; i < cgroup_jobs_count(s->jobs); i++) {
		const struct job *job = cgroup_jobs_at(s->jobs, i);

		if (job->state != JOB_WAITING && job->begin_ns)
			take_job(s, set, row_at(s, &at, job->number), job);
	}
	for (size_t i = 0; i < s->count; i++) {
		struct row *r = s->rows[i];

		if (r->here) {
			s->rows[keep++] = r;
			continue;
		}
		/* forgotten before its last reading */
		if (r->known && !r->over) {
			put_row(s, set, r, false);
			sample_end(set, r->entity);
		}
		row_free(s, r);
	}
	s->count = keep;
	if (s->refused && !s->told)
		for (unsigned i = 0; i < IO_COUNT; i++)
			sample_absent(
				set, IO + i,
				"/proc/PID/io of other users may be read with CAP_SYS_PTRACE");
	s->told |= s->refused;
	return 0;
}

static void close_all(void *state)
{
	struct jobproc *s = state;

	for (size_t i = 0; i < s->count; i++)
		row_free(s, s->rows[i]);
	procdir_close(&s->proc);
	free(s->rows);
	free(s->pids);
	free(s);
}

static int open_all(const struct source_context *ctx, struct sample_set *set, void **state,
		    struct strbuf *why)
{
	struct jobproc *s;

	(void)set;
	if (!ctx->jobs) {
		strbuf_addstr(why, "no list of the node's jobs is kept here");
		return -ENOENT;
	}
	s = xcalloc(1, sizeof(*s));
	s->jobs = ctx->jobs;
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
