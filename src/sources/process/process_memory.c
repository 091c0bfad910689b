/*
 * Proportional memory, peaks, descriptors and context switches of each process: more expensive to
 * read than the source `process`, and read less often. Rows have the same names as there.
 *
 * Surprising: only PSS may be added up over processes that share memory. The kernel walks all pages
 * of a process for it, while the process cannot map memory. A descriptor of smaps_rollup belongs to
 * the program that ran when it was opened and becomes invalid at exec. Context switches in status
 * are those of the first thread; here they are added up over all threads (thread_counters.h). Of a
 * process that did not run since the last reading only proportional memory is read. The option
 * `no-skip` reads all each time. Kernel threads and zombies have no memory: no value, no reason.
 */
#include <errno.h>
#include <string.h>

#include "core/clock.h"
#include "core/system/procparse.h"
#include "sources/process/procdir.h"
#include "sources/process/thread_counters.h"
#include "sources/source.h"

/* The share of the descriptors that this source may keep open. */
#define FDS_PERCENT 30
/* An idle process is still read once in this many readings. */
#define IDLE_MAX 8

enum column {
#define MEMORY_COLUMN(id, ...) id,
#include "sources/process/process_memory_columns.def"
#undef MEMORY_COLUMN
	COLUMNS
};

static const struct sample_metric columns[COLUMNS] = {
#define MEMORY_COLUMN(id, name, unit, kind, agg, scale, help) \
	[id] = {name, UNIT_##unit, KIND_##kind, AGG_##agg, scale, help},
#include "sources/process/process_memory_columns.def"
#undef MEMORY_COLUMN
};

/* Bit c of present: v[c] is there. */
struct values {
	uint64_t present, v[COLUMNS];
};

/* State of a process. */
struct memory_of {
	int pid;
	uint64_t starttime;
	int smaps_fd, status_fd, fds_fd;
	bool verified; /* the open descriptors belong to this process */
	int smaps_error, fds_error;
	struct thread_counters *threads; /* NULL while it has one */
	uint64_t switches[2];
	/* the last reading, and its CPU clock just before */
	bool clock_known;
	uint64_t clock_ns;
	struct values last;
	uint32_t entity;
};

struct memory_source {
	const struct source_context *ctx;
	struct procdir dir;
	struct threadpace pace;
	struct memory_of *list, *spare; /* as in the list of the job, sorted by pid */
	size_t count, cap, spare_cap;
	uint32_t job;
	/* the job's row; bit c of present: value[c] is there */
	uint64_t present, value[COLUMNS];
	uint64_t ended[2]; /* context switches of ended processes */
};

/* ---- files ---------------------------------------------------------------------------------- */

/* Is the process with this pid still the same? */
static bool is_same(struct memory_source *s, const struct memory_of *p)
{
	struct proc_stat st;
	char buf[2048];
	int fd = -1;

	ssize_t n = procdir_read(&s->dir, &fd, p->pid, "stat", false, buf, sizeof(buf));
	return n > 0 && clock_parse_stat(buf, (size_t)n, &st) && st.last >= STAT_STARTTIME &&
	       st.f[STAT_STARTTIME] == p->starttime;
}

static void set_value(struct values *v, enum column c, uint64_t value)
{
	/* kilobytes become bytes in the output */
	if (value > INT64_MAX / 1024)
		return;
	v->v[c] = value;
	v->present |= (uint64_t)1 << c;
}

static void read_smaps(struct memory_source *s, struct memory_of *p, struct values *ret)
{
	static const char *const keys[] = {"Pss",       "Pss_Anon",      "Pss_File",
					   "Pss_Shmem", "Private_Clean", "Private_Dirty",
					   "Swap",      "SwapPss",       "Locked"};
	static const enum column to[] = {PSS,     PSS_ANON, PSS_FILE, PSS_SHMEM, COLUMNS,
					 COLUMNS, SWAP,     SWAP_PSS, LOCKED};
	uint64_t v[ARRAY_SIZE(keys)];
	char buf[4096];

	if (p->smaps_error)
		return;
	bool kept = p->smaps_fd >= 0;
	ssize_t n =
		procdir_read(&s->dir, &p->smaps_fd, p->pid, "smaps_rollup", true, buf, sizeof(buf));
	/* invalid because of an exec, or because it ended: its pid may be reused then */
	if (n == -ESRCH && kept) {
		p->verified = false;
		n = procdir_read(&s->dir, &p->smaps_fd, p->pid, "smaps_rollup", true, buf,
				 sizeof(buf));
	}
	if (n == -EACCES || n == -EPERM || n == -ENOENT)
		p->smaps_error = (int)n;
	if (n <= 0)
		return;
	uint64_t present = proc_parse_keys(buf, (size_t)n, keys, ARRAY_SIZE(keys), v);
	for (unsigned i = 0; i < ARRAY_SIZE(keys); i++)
		if (to[i] != COLUMNS && present >> i & 1)
			set_value(ret, to[i], v[i]);
	if ((present >> 4 & 3) == 3 && v[4] <= INT64_MAX && v[5] <= INT64_MAX)
		set_value(ret, USS, v[4] + v[5]);
}

static const char *const switch_keys[] = {"voluntary_ctxt_switches", "nonvoluntary_ctxt_switches"};

static bool parse_switches(const char *text, size_t n, uint64_t ret[THREAD_COUNTERS_VALUES])
{
	return proc_parse_keys(text, n, switch_keys, 2, ret) == 3;
}

static const struct thread_counters_file switches_file = {.name = "status",
							  .parse = parse_switches};

/* Of the only thread, or of all threads when it is the turn of the process. */
static void read_switches(struct memory_source *s, struct memory_of *p, uint64_t threads,
			  const uint64_t *only, struct values *ret)
{
	bool first = !p->threads;
	const uint64_t *v = only;

	if (threads > 1 && first)
		p->threads = xcalloc(1, sizeof(*p->threads));
	if (p->threads) {
		if (!threadpace_due(&s->pace, p->pid, threads) && !first)
			return;
		if (thread_counters_read(p->threads, &s->dir, p->pid, &switches_file) < 0 ||
		    !p->threads->count)
			return;
		v = p->threads->total;
	}
	for (unsigned i = 0; v && i < 2; i++) {
		if (v[i] > p->switches[i])
			p->switches[i] = v[i];
		set_value(ret, VOL_CTXSW + i, p->switches[i]);
	}
}

/* False: the process is gone. */
static bool read_status(struct memory_source *s, struct memory_of *p, struct values *ret)
{
	static const char *const keys[] = {"VmPeak",
					   "VmHWM",
					   "RssAnon",
					   "RssFile",
					   "RssShmem",
					   "Threads",
					   "voluntary_ctxt_switches",
					   "nonvoluntary_ctxt_switches"};
	enum { THREAD_KEY = 5, SWITCH_KEY = 6 };
	uint64_t v[ARRAY_SIZE(keys)] = {0};
	char buf[8192];

	ssize_t n = procdir_read(&s->dir, &p->status_fd, p->pid, "status", true, buf, sizeof(buf));
	if (n < 0)
		return n != -ESRCH && n != -ENOENT;
	uint64_t present = proc_parse_keys(buf, (size_t)n, keys, ARRAY_SIZE(keys), v);
	for (unsigned i = 0; i < THREAD_KEY; i++)
		if (present >> i & 1)
			set_value(ret, VM_PEAK + i, v[i]);
	uint64_t file_and_shmem = (uint64_t)3 << RSS_FILE;
	if ((ret->present & file_and_shmem) == file_and_shmem)
		set_value(ret, SHARED, ret->v[RSS_FILE] + ret->v[RSS_SHMEM]);
	bool both = (present >> SWITCH_KEY & 3) == 3;
	read_switches(s, p, present >> THREAD_KEY & 1 ? v[THREAD_KEY] : 1,
		      both ? &v[SWITCH_KEY] : NULL, ret);
	return true;
}

/* For kernels before 4.5, whose status lacks the parts of the resident memory. */
static void read_statm(struct memory_source *s, struct memory_of *p, struct values *ret)
{
	uint64_t page_kib = (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
	struct proc_statm m;
	char buf[256];
	int fd = -1;

	ssize_t n = procdir_read(&s->dir, &fd, p->pid, "statm", false, buf, sizeof(buf));
	if (n > 0 && proc_parse_statm(buf, (size_t)n, &m) && m.shared <= INT64_MAX / 1024 / 1024)
		set_value(ret, SHARED, m.shared * page_kib);
}

static void read_fds(struct memory_source *s, struct memory_of *p, struct values *ret)
{
	if (p->fds_error)
		return;
	int n = procdir_count_fds(&s->dir, &p->fds_fd, p->pid);
	if (n >= 0)
		set_value(ret, NUM_FDS, (uint64_t)n);
	else if (n == -EACCES || n == -EPERM)
		p->fds_error = n;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void say_absent(struct sample_set *set, const struct memory_of *p)
{
	for (unsigned c = PSS; c <= LOCKED && p->smaps_error; c++) {
		if (p->smaps_error == -ENOENT)
			sample_absent(set, c, "no /proc/PID/smaps_rollup: needs Linux 4.14");
		else
			sample_absent(set, c,
				      "not permitted: /proc/PID/smaps_rollup of a process of "
				      "another user or with more privileges");
	}
	if (p->fds_error)
		sample_absent(set, NUM_FDS,
			      "not permitted: /proc/PID/fd of a process of another user or "
			      "with more privileges");
}

/* Takes the maximum of peaks, and adds up the rest. */
static void add_to_job(struct memory_source *s, const struct values *v)
{
	for (unsigned c = 0; c < COLUMNS; c++) {
		if (!(v->present >> c & 1))
			continue;
		if (columns[c].agg == AGG_MAX)
			s->value[c] = v->v[c] > s->value[c] ? v->v[c] : s->value[c];
		else if (columns[c].kind == KIND_GAUGE)
			s->value[c] += v->v[c];
	}
	s->present |= v->present;
}

/* Was it idle since the last reading? Then only its proportional memory may have changed. */
static bool is_idle(struct memory_source *s, struct memory_of *p)
{
	uint64_t before = p->clock_ns;
	bool known = p->clock_known;

	if (!s->dir.idle_known)
		return false;
	p->clock_known = procdir_cpu_clock(&s->dir, p->pid, &p->clock_ns);
	return known && p->clock_known && p->clock_ns == before && p->verified &&
	       (s->pace.pass + (unsigned)p->pid) % IDLE_MAX != 0;
}

static void read_process(struct memory_source *s, struct sample_set *set, struct memory_of *p)
{
	struct values v = {0};

	if (is_idle(s, p)) {
		v = p->last;
		v.present &= ~(((uint64_t)1 << (LOCKED + 1)) - 1);
	} else {
		if (!read_status(s, p, &v))
			return;
		if (!(v.present >> SHARED & 1))
			read_statm(s, p, &v);
		read_fds(s, p, &v);
	}
	read_smaps(s, p, &v);
	/* files opened by pid are verified: once if they stay open, else each time */
	if (!p->verified && !is_same(s, p))
		return;
	p->verified = p->status_fd >= 0 && (p->smaps_fd >= 0 || p->smaps_error) &&
		      (p->fds_fd >= 0 || p->fds_error);
	if (p->smaps_error || p->fds_error)
		say_absent(set, p);
	p->last = v;
	if (!v.present)
		return;
	if (p->entity == UINT32_MAX) {
		char name[48];

		snprintf(name, sizeof(name), "%d.%llu", p->pid, (unsigned long long)p->starttime);
		p->entity = sample_entity(set, ENTITY_PROCESS, name);
	}
	sample_row(set, p->entity);
	for (unsigned c = 0; c < COLUMNS; c++)
		if (v.present >> c & 1)
			sample_put(set, c, (int64_t)v.v[c]);
	add_to_job(s, &v);
}

static void put_job(struct memory_source *s, struct sample_set *set)
{
	for (unsigned k = 0; k < 2; k++) {
		s->value[VOL_CTXSW + k] = s->ended[k];
		for (size_t i = 0; i < s->count; i++)
			s->value[VOL_CTXSW + k] += s->list[i].switches[k];
	}
	sample_row(set, s->job);
	for (unsigned c = 0; c < COLUMNS; c++)
		if (s->present >> c & 1 && s->value[c] <= INT64_MAX / 1024)
			sample_put(set, c, (int64_t)s->value[c]);
}

/* ---- the list --------------------------------------------------------------------------- */

static void forget(struct memory_source *s, struct memory_of *p)
{
	procdir_forget(&s->dir, &p->smaps_fd);
	procdir_forget(&s->dir, &p->status_fd);
	procdir_forget(&s->dir, &p->fds_fd);
	if (p->threads)
		thread_counters_release(p->threads, &s->dir);
	free(p->threads);
	for (unsigned k = 0; k < 2; k++)
		s->ended[k] += p->switches[k];
}

/* Is a known process still in the list, or further on? */
static bool goes_before(const struct job_process *now, const struct memory_of *p)
{
	return now && (now->pid < p->pid || (now->pid == p->pid && now->starttime == p->starttime));
}

/* Updates the list, with the state of processes that were there before. */
static void sync_list(struct memory_source *s, struct sample_set *set)
{
	const struct job_processes *w = s->ctx->watch;
	struct memory_of *old = s->list;
	size_t old_count = s->count, old_cap = s->cap, i = 0;

	if (s->spare_cap < w->count) {
		s->spare_cap = w->count * 2;
		s->spare = xreallocarray(s->spare, s->spare_cap, sizeof(*s->spare));
	}
	s->list = s->spare;
	s->cap = s->spare_cap;
	s->count = 0;
	for (size_t j = 0; j <= w->count; j++) {
		const struct job_process *now = j < w->count ? &w->list[j] : NULL;

		for (; i < old_count && !goes_before(now, &old[i]); i++) {
			if (old[i].entity != UINT32_MAX)
				sample_end(set, old[i].entity);
			forget(s, &old[i]);
		}
		if (!now)
			break;
		if (i < old_count && old[i].pid == now->pid)
			s->list[s->count++] = old[i++];
		else
			s->list[s->count++] = (struct memory_of){.pid = now->pid,
								 .starttime = now->starttime,
								 .smaps_fd = -1,
								 .status_fd = -1,
								 .fds_fd = -1,
								 .entity = UINT32_MAX};
	}
	s->spare = old;
	s->spare_cap = old_cap;
}

static int read_memory(void *state, struct sample_set *set)
{
	struct memory_source *s = state;

	sync_list(s, set);
	threadpace_begin(&s->pace);
	for (unsigned c = 0; c < COLUMNS; c++)
		if (columns[c].agg != AGG_MAX)
			s->value[c] = 0;
	s->present &= (uint64_t)1 << VM_PEAK | (uint64_t)1 << RSS_PEAK | (uint64_t)1 << VOL_CTXSW |
		      (uint64_t)1 << INVOL_CTXSW;
	for (size_t i = 0; i < s->count; i++)
		read_process(s, set, &s->list[i]);
	put_job(s, set);
	return 0;
}

/* ---- the source ----------------------------------------------------------------------------- */

static int open_source(const struct source_context *ctx, struct sample_set *set, void **state,
		       struct strbuf *why)
{
	if (!ctx->watch)
		return strbuf_fail(why, -EINVAL, "there is no job to watch");
	if (ctx->option && strcmp(ctx->option, "no-skip") != 0)
		return strbuf_fail(why, -EINVAL, "unknown option '%s'; the only one is no-skip",
				   ctx->option);
	struct memory_source *s = xcalloc(1, sizeof(*s));
	s->ctx = ctx;
	int r = procdir_open(&s->dir, ctx->root, FDS_PERCENT, why);
	if (r < 0) {
		free(s);
		return r;
	}
	if (ctx->option && strcmp(ctx->option, "no-skip") == 0)
		s->dir.idle_known = false;
	s->job = sample_entity(set, ENTITY_JOB, "job");
	*state = s;
	return 0;
}

static void close_source(void *state)
{
	struct memory_source *s = state;

	for (size_t i = 0; i < s->count; i++)
		forget(s, &s->list[i]);
	free(s->list);
	free(s->spare);
	procdir_close(&s->dir);
	free(s);
}

static int probe(const struct source_context *ctx, struct source_report *report)
{
	struct procdir dir;
	int r = procdir_open(&dir, ctx->root, 0, &report->detail);

	if (r < 0)
		return r;
	bool shares = !dir.live || faccessat(dir.fd, "self/smaps_rollup", F_OK, 0) == 0;
	procdir_close(&dir);
	strbuf_addstr(&report->detail,
		      shares ? "proportional memory, peaks and descriptors of each process of a job"
			     : "peaks and descriptors; proportional memory needs Linux 4.14");
	return 0;
}

const struct source source_process_memory = {
	.name = "process_memory",
	.help = "proportional memory, descriptors and context switches of each process",
	.probe = probe,
	.metrics = columns,
	.metric_count = COLUMNS,
	.every = 30,
	.needs_job = true,
	.open = open_source,
	.read = read_memory,
	.close = close_source,
};
