/*
 * What the job's threads wait for: storage, network, another process, a lock, a condition, a timer,
 * a child. One row per process, named as in the source `process`, and one for the job. The values
 * are thread time: 4 threads that wait for a lock during 2 s are 8 s. The metadata `waits` of a
 * process has the largest few with call and partner.
 *
 * Threads are looked at about five times a second, at irregular times, also between two readings
 * (glance). A look takes at most 0.3 % of the time; with more threads they take turns.
 */
#include "sources/waits/waits.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/files/fs.h"
#include "sources/columns.h"

#define GLANCE_NS 200000000ull
/* The share of descriptors that stay open. */
#define FDS_PERCENT 20
/* CPU time of a look, in parts of the time between two. */
#define LOOK_PART 300
#define TELL_NS 1000000000ull
/* Of the waits of a process, this many are in its metadata, from this time on. */
#define TOLD 4
#define TOLD_LEAST_US 50000

#define METRICS_OF_WAITS(X)                                                                      \
	X(STORAGE, TIME_COLUMN("storage", 1, "thread time blocked on files and block devices"))  \
	X(NETWORK, TIME_COLUMN("network", 1, "thread time waiting for another host"))            \
	X(PROCESS, TIME_COLUMN("process", 1,                                                     \
			       "thread time waiting for another process: pipe, local socket, "   \
			       "queue, semaphore, eventfd"))                                     \
	X(LOCK, TIME_COLUMN("lock", 1, "thread time waiting for a mutex or a lock of a file"))   \
	X(CONDITION,                                                                             \
	  TIME_COLUMN(                                                                           \
		  "condition", 1,                                                                \
		  "thread time waiting for other threads: condition, barrier, join, idle pool")) \
	X(TIMER, TIME_COLUMN("timer", 1, "thread time asleep until a time"))                     \
	X(CHILD, TIME_COLUMN("child", 1, "thread time waiting for a child process"))             \
	X(DEVICE, TIME_COLUMN("device", 1, "thread time waiting for a GPU or the like"))         \
	X(POLL, TIME_COLUMN("poll", 1,                                                           \
			    "thread time waiting for one of several descriptors of different "   \
			    "kinds"))                                                            \
	X(OTHER, TIME_COLUMN("other", 1,                                                         \
			     "thread time stopped, or waiting for signals, terminals "           \
			     "and the like"))                                                    \
	X(RUNNING, TIME_COLUMN("running", 1, "thread time on a CPU or ready to run"))            \
	X(MEMBERS, TIME_COLUMN("members", 1,                                                     \
			       "thread time waiting for another process of the job, a part of "  \
			       "waits.process"))                                                 \
	X(BUSIEST,                                                                               \
	  TIME_COLUMN("busiest", 1, "time on a CPU of the thread that ran most in each second")) \
	X(OBSERVED, TIME_COLUMN("observed", 1, "thread time that was looked at, in any state"))  \
	X(THREADS, LEVEL("threads", "threads seen at the last look"))

DEFINE_METRICS(METRICS_OF_WAITS);
_Static_assert(RUNNING == (int)WAIT_RUNNING, "reasons are the first metrics, in this order");

/* Does the list contain all jobs of a node? */
static bool all_jobs(const struct source_context *ctx)
{
	return ctx->jobs && !ctx->watch->finder;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void put_time(struct sample_set *set, unsigned metric, uint64_t us)
{
	if (us <= INT64_MAX)
		sample_put(set, metric, (int64_t)us);
}

/* blind: why its threads sleep is unknown, only that they do. */
static void put_row(struct sample_set *set, uint32_t entity, const uint64_t us[WAIT_REASONS],
		    uint64_t members_us, uint64_t observed_us, uint64_t threads, bool blind)
{
	sample_row(set, entity);
	for (unsigned i = 0; i < WAIT_REASONS; i++)
		if (!blind || us[i] || i == WAIT_RUNNING)
			put_time(set, i, us[i]);
	if (!blind || members_us)
		put_time(set, MEMBERS, members_us);
	put_time(set, OBSERVED, observed_us);
	put_time(set, THREADS, threads);
}

static int by_time(const void *a, const void *b)
{
	const struct wait_site *x = *(const struct wait_site *const *)a;
	const struct wait_site *y = *(const struct wait_site *const *)b;

	return x->us > y->us ? -1 : x->us < y->us;
}

/* "network 7.1 recvfrom 10.0.0.5:5432; timer 2.0 nanosleep" */
static void tell(struct sample_set *set, const struct wait_process *p)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	const struct wait_site *order[WAIT_SITES];
	size_t n = 0;

	for (size_t i = 0; i < p->site_count; i++)
		if (p->sites[i].us >= TOLD_LEAST_US)
			order[n++] = &p->sites[i];
	if (!n)
		return;
	qsort(order, n, sizeof(order[0]), by_time);
	for (size_t i = 0; i < n && i < TOLD; i++) {
		const struct wait_seen *s = &order[i]->seen;

		strbuf_addf(&text, "%s%s %.1f %s%s%s", i ? "; " : "", wait_reason_name(s->reason),
			    (double)order[i]->us / 1e6, s->call ? s->call : "-",
			    *s->partner ? " " : "", s->partner);
	}
	sample_set_metadata(set, p->entity, "waits", text.buf);
}

/* A second, and what is left at the end. */
static void end_window(struct wait_process *p, uint64_t now_ns)
{
	if (!p->gone && now_ns - p->window_ns < 1000000000)
		return;
	p->busiest_us += p->window_most_us;
	p->window_most_us = 0;
	p->window_ns = now_ns;
	for (size_t i = 0; i < p->count; i++)
		p->threads[i].window_us = 0;
}

static void add_process_row(struct sample_set *set, struct wait_process *p)
{
	/* too short for a row: the job's has its time */
	if (p->gone && !p->has_entity)
		return;
	if (!p->has_entity) {
		char name[48];

		snprintf(name, sizeof(name), "%d.%llu", p->pid, (unsigned long long)p->starttime);
		p->entity = sample_entity(set, ENTITY_PROCESS, name);
		p->has_entity = true;
		sample_format_metadata(set, p->entity, "pid", "%d", p->pid);
	}
	if (p->gone || set->time_ns - p->told_ns >= TELL_NS) {
		p->told_ns = set->time_ns;
		tell(set, p);
	}
	put_row(set, p->entity, p->us, p->members_us, p->observed_us, p->gone ? 0 : p->count,
		p->blind);
	end_window(p, set->time_ns);
	put_time(set, BUSIEST, p->busiest_us);
	if (p->gone)
		sample_end(set, p->entity);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* How a reason becomes known; NULL: by all means. */
static const char *obstacle(const struct waits *w)
{
	if (w->blind)
		return "not permitted: /proc/PID/syscall and wchan of processes of other users, or "
		       "with more privileges";
	if (w->refused)
		return "not permitted: /proc/PID/syscall (kernel.yama.ptrace_scope, or processes "
		       "of other users); the function of the kernel does not tell";
	return NULL;
}

static void say_absent(const struct waits *w, struct sample_set *set)
{
	const char *why = obstacle(w);

	if (!why)
		return;
	/* locks and conditions look the same without the call */
	for (unsigned i = 0; i < WAIT_RUNNING && w->blind; i++)
		sample_absent(set, i, "%s", why);
	sample_absent(set, LOCK, "%s", why);
}

static void glance(void *state)
{
	struct waits *w = state;
	uint64_t now_ns = clock_boottime_ns();

	w->glanced = true;
	waits_sync(w, now_ns);
	waits_look(w, now_ns);
}

static int read_waits(void *state, struct sample_set *set)
{
	struct waits *w = state;
	uint64_t threads = 0;

	waits_sync(w, set->time_ns);
	/* without glances between the readings they are the looks */
	if (w->glanced)
		waits_carry(w, set->time_ns);
	else
		waits_look(w, set->time_ns);
	for (size_t i = 0; i < w->count; i++) {
		struct wait_process *p = &w->list[i];

		w->blind |= p->blind;
		threads += p->gone ? 0 : p->count;
		add_process_row(set, p);
	}
	waits_drop_gone(w);
	sample_done(set);
	if (!all_jobs(w->ctx)) /* the sum over all jobs of a node is nobody's */
		put_row(set, w->job, w->us, w->members_us, w->observed_us, threads, w->blind);
	say_absent(w, set);
	return 0;
}

/* ---- the source ------------------------------------------------------------------------------ */

static void close_waits(void *state)
{
	struct waits *w = state;

	waits_release(w);
	wait_partners_release(&w->partners);
	procdir_close(&w->dir);
	free(w);
}

static int open_waits(const struct source_context *ctx, struct sample_set *set, void **state,
		      struct strbuf *why)
{
	if (!ctx->watch)
		return strbuf_fail(why, -EINVAL, "there is no job to watch");
	if (ctx->option && *ctx->option)
		return strbuf_fail(why, -EINVAL, "there is no option '%s'", ctx->option);
	struct waits *w = xcalloc(1, sizeof(*w));
	w->ctx = ctx;
	int r = procdir_open(&w->dir, ctx->root, FDS_PERCENT, why);
	if (r < 0) {
		free(w);
		return r;
	}
	w->began_ns = ctx->begin_ns ? ctx->begin_ns : clock_boottime_ns();
	w->spare_ns = GLANCE_NS / LOOK_PART;
	wait_partners_open(&w->partners, ctx, &w->dir);
	if (!all_jobs(ctx))
		w->job = sample_entity(set, ENTITY_JOB, "job");
	*state = w;
	return 0;
}

/* The scope of ptrace by Yama; 0 where there is none. */
static int yama_scope(const char *root)
{
	_cleanup_free_ char *path = xasprintf("%s/proc/sys/kernel/yama/ptrace_scope", root);
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	return fs_read(AT_FDCWD, path, 64, &text) == 0 ? (int)strtol(text.buf, NULL, 10) : 0;
}

static int probe(const struct source_context *ctx, struct source_report *report)
{
	_cleanup_free_ char *call = xasprintf("%s/proc/self/syscall", ctx->root);
	struct procdir dir;
	int r = procdir_open(&dir, ctx->root, 0, &report->detail);

	if (r < 0)
		return r;
	procdir_close(&dir);
	int scope = yama_scope(ctx->root);
	if (access(call, F_OK) < 0) {
		strbuf_addstr(&report->detail,
			      "the kernel has no /proc/PID/syscall: functions of the kernel only, "
			      "locks and partners stay unknown");
		return 0;
	}
	if (scope >= 2 && geteuid() != 0) {
		strbuf_addf(&report->detail,
			    "kernel.yama.ptrace_scope is %d: functions of the kernel only, locks "
			    "and partners stay unknown",
			    scope);
		report->remedy = "sudo sysctl kernel.yama.ptrace_scope=1";
		return -EACCES;
	}
	strbuf_addstr(&report->detail, "system calls and partners of sleeping threads");
	if (scope == 1 && geteuid() != 0)
		strbuf_addstr(&report->detail,
			      "; with kernel.yama.ptrace_scope 1 only under `plimsoll run`, "
			      "functions of the kernel elsewhere");
	return 0;
}

const struct source source_waits = {
	.name = "waits",
	.help = "what the threads of the job wait for: storage, network, processes, locks, timers",
	.probe = probe,
	.metrics = columns,
	.metric_count = METRICS,
	.every = 1,
	.needs_job = true,
	.open = open_waits,
	.read = read_waits,
	.glance = glance,
	.glance_ns = GLANCE_NS,
	.close = close_waits,
};
