/*
 * CPU, memory, I/O and wait times of each process of the job, and of the job as a whole: one row
 * per process, named <pid>.<start in ticks since boot>, and one row for the job, whose counters
 * include what ended processes used (see process.h).
 *
 * Surprising: the I/O of a process includes that of children it waited for; the kernel does not
 * separate them. Counters of a job that started while we watched start at 0. Those of another job
 * start with what its processes had used when first seen, without what their ended children had
 * used. A process that did not run since the last reading, by its CPU clock, is not read. Options:
 * `no-exits` ignores the kernel's exit records, which root gets; `no-skip` reads all processes each
 * time.
 */
#include "sources/process/process.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/clock.h"
#include "core/files/fs.h"
#include "core/text/secrets.h"
#include "core/text/text.h"
#include "sources/source.h"

#define CMDLINE_MAX 200
#define STAT_VSIZE 23
#define STAT_STARTSTACK 28

enum column {
#define PROCESS_COLUMN(id, ...) id,
#include "sources/process/process_columns.def"
#undef PROCESS_COLUMN
	COLUMNS
};

_Static_assert(COLUMNS <= PROCESS_COLUMNS_MAX, "a member keeps its row");

static const struct sample_metric columns[COLUMNS] = {
#define PROCESS_COLUMN(id, name, unit, kind, agg, scale, help) \
	[id] = {name, UNIT_##unit, KIND_##kind, AGG_##agg, scale, help},
#include "sources/process/process_columns.def"
#undef PROCESS_COLUMN
};

struct process_source {
	const struct source_context *ctx;
	struct process_reader reader;
	struct members members;
	struct process_exits exits;
	struct reading now; /* of the process being looked at */
	uint64_t memory_bytes;
	uint32_t job;
	/* the job's row */
	uint64_t seen; /* columns that any process had */
	uint64_t processes, threads, rss, vms, with_memory;
	uint64_t cpu_us; /* of the living, exact where it is known, and in the account */
	uint64_t accounted_us, beyond_us; /* beyond: of the living, what ticks do not show */
	struct cpu_split shown;
	uint64_t last_cpu_us, last_time_ns;
};

/* Does the list contain all jobs of a node? */
static bool all_jobs(const struct source_context *ctx)
{
	return ctx->jobs && !ctx->watch->finder;
}

/* ---- metadata ------------------------------------------------------------------------------- */

static void add_text(struct sample_set *set, uint32_t entity, const char *key, const char *text,
		     size_t n)
{
	_cleanup_strbuf_ struct strbuf clean = STRBUF_INIT;

	text_add_printable(&clean, text, n);
	sample_set_metadata(set, entity, key, clean.len ? clean.buf : NULL);
}

/* What an exec changes. */
static void add_image(struct process_source *s, struct sample_set *set, const struct member *one)
{
	char buf[4096];
	int fd = -1;

	add_text(set, one->entity, "comm", one->comm, one->comm_len);
	ssize_t n = procdir_link(&s->reader.dir, one->pid, "exe", buf, sizeof(buf));
	add_text(set, one->entity, "exe", buf, n > 0 ? (size_t)n : 0);
	n = procdir_read(&s->reader.dir, &fd, one->pid, "cmdline", false, buf, CMDLINE_MAX);
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT;
	strbuf_add(&line, buf, n > 0 ? (size_t)n : 0);
	while (line.len && !line.buf[line.len - 1])
		strbuf_cut(&line, line.len - 1);
	secrets_mask_arguments(&line, 0, NULL);
	for (size_t i = 0; i < line.len; i++)
		if (!line.buf[i])
			line.buf[i] = ' ';
	add_text(set, one->entity, "cmdline", line.buf, line.len);
}

/* The job of a process, if all jobs are watched. */
static void add_job(struct process_source *s, struct sample_set *set, const struct member *one)
{
	const struct job *job = s->ctx->jobs ? cgroup_jobs_by_number(s->ctx->jobs, one->job) : NULL;

	if (job)
		sample_set_metadata(set, one->entity, "job", job->id);
}

/* Names the row; updates it after an exec, which changes the name or the address of the stack. */
static void add_metadata(struct process_source *s, struct sample_set *set, struct member *one)
{
	const struct proc_stat *st = &s->now.st;
	uint64_t stack = st->last >= STAT_STARTSTACK ? st->f[STAT_STARTSTACK] : 0;
	bool fresh = !one->has_entity;

	if (fresh) {
		char name[48];

		snprintf(name, sizeof(name), "%d.%llu", one->pid,
			 (unsigned long long)one->starttime);
		one->entity = sample_entity(set, ENTITY_PROCESS, name);
		one->has_entity = true;
		sample_format_metadata(set, one->entity, "pid", "%d", one->pid);
		sample_format_metadata(set, one->entity, "start", "%lld",
				       (long long)one->starttime);
		/* the first parent started it; later ones only adopt it */
		sample_format_metadata(set, one->entity, "ppid", "%d", one->ppid);
		add_job(s, set, one);
	}
	if (one->rank >= 0 && (fresh || one->rank != one->reported_rank))
		sample_format_metadata(set, one->entity, "rank", "%d", one->rank);
	one->reported_rank = one->rank;
	if (!fresh && stack == one->stack && st->comm_len == one->comm_len &&
	    !memcmp(st->comm, one->comm, one->comm_len))
		return;
	one->stack = stack;
	one->comm_len = st->comm_len < sizeof(one->comm) ? st->comm_len : sizeof(one->comm) - 1;
	memcpy(one->comm, st->comm, one->comm_len);
	if (!fresh)
		one->io_error = one->sched_error = 0;
	add_image(s, set, one);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Impossibly large values are left out. */
static void put(struct member *one, enum column c, uint64_t v)
{
	if (v > INT64_MAX)
		return;
	one->row[c] = (int64_t)v;
	one->row_present |= (uint64_t)1 << c;
}

static uint64_t percent_of_memory(const struct process_source *s, uint64_t rss)
{
	return (uint64_t)((double)rss * 10000 / (double)s->memory_bytes + 0.5);
}

/* Reports why a file cannot be read, for each of its metrics. */
static void say_absent_file(struct sample_set *set, const char *file, int error, unsigned first,
			    unsigned count)
{
	for (unsigned i = 0; i < count && error; i++) {
		if (error == -ENOENT)
			sample_absent(set, first + i, "the kernel has no /proc/PID/%s", file);
		else
			sample_absent(set, first + i,
				      "not permitted: /proc/PID/%s of a process of another user "
				      "or with more privileges",
				      file);
	}
}

static void say_absent(struct sample_set *set, const struct member *one)
{
	say_absent_file(set, "io", one->io_error, RCHAR, 7);
	say_absent_file(set, "schedstat", one->sched_error, TIME_WAITING,
			TIMESLICES - TIME_WAITING + 1);
}

/* The remaining memory of an exiting process is not reported. */
static void take_memory(struct process_source *s, struct member *one)
{
	const struct proc_stat *st = &s->now.st;

	one->rss = one->vms = 0;
	if (st->last < STAT_RSS || st->f[STAT_FLAGS] & STAT_EXITING ||
	    st->f[STAT_RSS] > INT64_MAX / s->reader.page_size || st->f[STAT_VSIZE] > INT64_MAX)
		return;
	one->vms = st->f[STAT_VSIZE];
	one->rss = st->f[STAT_RSS] * s->reader.page_size;
	put(one, VMS, one->vms);
	put(one, RSS, one->rss);
	if (s->memory_bytes)
		put(one, MEMORY_PERCENT, percent_of_memory(s, one->rss));
}

static void make_row(struct process_source *s, struct member *one)
{
	const struct reading *now = &s->now;
	const struct proc_stat *st = &now->st;

	one->row_present = 0;
	struct cpu_split cpu = process_split_cpu(&one->shown, one->own, process_beyond_ticks(one));
	put(one, USERTIME, cpu.user_us);
	put(one, SYSTEMTIME, cpu.system_us);
	put(one, MINFLT, st->f[STAT_MINFLT]);
	put(one, MAJFLT, st->f[STAT_MAJFLT]);
	put(one, NUM_THREADS, st->f[STAT_NUM_THREADS]);
	if (st->last >= STAT_PROCESSOR)
		put(one, PROCESSOR, st->f[STAT_PROCESSOR]);
	if (now->blkio_known)
		put(one, DELAYACCT_BLKIO_TIME, st->f[STAT_BLKIO_TICKS]);
	take_memory(s, one);
	if (now->oncpu_known)
		put(one, TIME_ONCPU, one->own[USAGE_ONCPU]);
	if (now->sched_known) {
		put(one, TIME_WAITING, one->own[USAGE_WAITING]);
		put(one, TIMESLICES, one->own[USAGE_SLICES]);
	}
	for (unsigned i = 0; i < 7; i++)
		if (now->io_present >> i & 1)
			put(one, RCHAR + i, one->own[USAGE_IO + i]);
	if (now->percent_known)
		put(one, CPU_PERCENT, (uint64_t)now->percent);
	/* a row without wait times is not repeated: it may be its turn at the next reading */
	one->quiet &= now->sched_known;
}

static void add_row(struct process_source *s, struct sample_set *set, const struct member *one)
{
	sample_row(set, one->entity);
	struct sample_row *row = &set->rows[set->row_count - 1];
	row->present = one->row_present;
	memcpy(set->values + (set->row_count - 1) * COLUMNS, one->row,
	       COLUMNS * sizeof(one->row[0]));
	s->seen |= row->present;
	s->processes++;
	s->threads += one->thread_count;
	s->with_memory += row->present >> RSS & 1;
	s->rss += one->rss;
	s->vms += one->vms;
}

static void put_sum(struct sample_set *set, enum column c, uint64_t v)
{
	if (v <= INT64_MAX)
		sample_put(set, c, (int64_t)v);
}

static void put_job(struct process_source *s, struct sample_set *set)
{
	static const struct {
		enum column column;
		enum usage usage;
		unsigned scale;
	} sums[] = {
		{MINFLT, USAGE_MINFLT, 1},
		{MAJFLT, USAGE_MAJFLT, 1},
		{RCHAR, USAGE_IO, 1},
		{WCHAR, USAGE_IO + 1, 1},
		{SYSCR, USAGE_IO + 2, 1},
		{SYSCW, USAGE_IO + 3, 1},
		{READ_BYTES, USAGE_IO + 4, 1},
		{WRITE_BYTES, USAGE_IO + 5, 1},
		{CANCELLED_WRITE_BYTES, USAGE_IO + 6, 1},
		{TIME_ONCPU, USAGE_ONCPU, 1},
		{TIME_WAITING, USAGE_WAITING, 1},
		{TIMESLICES, USAGE_SLICES, 1},
		{DELAYACCT_BLKIO_TIME, USAGE_BLKIO, PL_TICK_US},
	};
	const uint64_t *total = s->members.total;
	int64_t percent;

	sample_row(set, s->job);
	for (size_t i = 0; i < ARRAY_SIZE(sums); i++)
		if (s->seen >> sums[i].column & 1)
			put_sum(set, sums[i].column, total[sums[i].usage] / sums[i].scale);
	struct cpu_split split = process_split_cpu(&s->shown, total, s->beyond_us);
	if (s->seen >> USERTIME & 1)
		put_sum(set, USERTIME, split.user_us);
	if (s->seen >> SYSTEMTIME & 1)
		put_sum(set, SYSTEMTIME, split.system_us);
	put_sum(set, PROCESSES, s->processes);
	put_sum(set, THREADS, s->threads);
	put_sum(set, NUM_THREADS, s->threads);
	if (s->with_memory || !s->processes) {
		put_sum(set, RSS, s->rss);
		put_sum(set, VMS, s->vms);
		if (s->memory_bytes)
			put_sum(set, MEMORY_PERCENT, percent_of_memory(s, s->rss));
	}
	put_sum(set, STARTED, s->members.started);
	put_sum(set, ENDED, s->members.ended_shown);
	if (s->exits.listener.fd >= 0)
		put_sum(set, EXITS_LOST, s->exits.lost);
	/* exact time of living processes if known, ticks otherwise */
	uint64_t cpu = total[USAGE_USER] + total[USAGE_SYSTEM] - s->accounted_us + s->cpu_us;
	uint64_t grown = cpu > s->last_cpu_us ? cpu - s->last_cpu_us : 0, late = 0;
	if (s->last_time_ns && set->time_ns > s->last_time_ns && grown < UINT64_MAX / 1000 &&
	    process_percent(grown * 1000, set->time_ns - s->last_time_ns, s->reader.cpus, &late,
			    &percent))
		sample_put(set, CPU_PERCENT, percent);
	s->last_cpu_us = cpu - late / 1000;
	s->last_time_ns = set->time_ns;
}

static void end_row(struct sample_set *set, struct member *one)
{
	if (one->has_entity)
		sample_end(set, one->entity);
	one->has_entity = false;
}

static void look_at(struct process_source *s, struct sample_set *set, struct member *one)
{
	int r = 0;

	if (one->has_entity && one->listed && process_idle(&s->reader, &s->members, one)) {
		member_unchanged(&s->members, one);
		one->row[CPU_PERCENT] = 0;
		one->row_present |= (uint64_t)1 << CPU_PERCENT;
		add_row(s, set, one);
	} else {
		r = process_look(&s->reader, &s->members, one, &s->now);
		if (r == 0 && one->listed) {
			add_metadata(s, set, one);
			make_row(s, one);
			add_row(s, set, one);
		}
	}
	if (r == -ESRCH) {
		one->state = MEMBER_LATE;
		process_forget(&s->reader, one);
	}
	if (r == -ESRCH || !one->listed)
		end_row(set, one);
	if (one->io_error || one->sched_error)
		say_absent(set, one);
	if (one->known && one->state == MEMBER_LIVE) {
		s->cpu_us += one->cpu_ns / 1000;
		s->accounted_us += one->own[USAGE_USER] + one->own[USAGE_SYSTEM];
		s->beyond_us += process_beyond_ticks(one);
	}
}

static int read_processes(void *state, struct sample_set *set)
{
	struct process_source *s = state;

	members_sync(&s->members, s->ctx->watch->list, s->ctx->watch->count);
	threadpace_begin(&s->reader.pace);
	s->processes = s->threads = s->with_memory = s->rss = s->vms = 0;
	s->cpu_us = s->accounted_us = s->beyond_us = 0;
	for (size_t i = 0; i < s->members.count; i++) {
		struct member *one = s->members.by_age[i];

		if (one->state == MEMBER_LIVE)
			look_at(s, set, one);
		else
			end_row(set, one);
	}
	/* behind the readings: no parent has shown what its child's record does not */
	process_exits_drain(&s->exits);
	members_settle(&s->members);
	sample_done(set);
	if (!all_jobs(s->ctx)) /* the sum over all jobs of a node is nobody's */
		put_job(s, set);
	return 0;
}

/* ---- the source ------------------------------------------------------------------------------ */

static bool gone(void *user, struct member *one)
{
	struct process_source *s = user;

	return process_gone(&s->reader, one);
}

static bool exists(void *user, int pid)
{
	struct process_source *s = user;

	return process_exists(&s->reader, pid);
}

static void forget(void *user, struct member *one)
{
	struct process_source *s = user;

	process_forget(&s->reader, one);
}

/* Options are words with commas between them. */
static bool has_word(const char *option, const char *word)
{
	size_t n = strlen(word);

	for (const char *p = option; p && *p; p += strcspn(p, ",") + (strchr(p, ',') != NULL))
		if (strcspn(p, ",") == n && !memcmp(p, word, n))
			return true;
	return false;
}

static bool knows_words(const char *option)
{
	for (const char *p = option; p && *p; p += strcspn(p, ",") + (strchr(p, ',') != NULL)) {
		_cleanup_free_ char *word = xstrndup(p, strcspn(p, ","));

		if (strcmp(word, "no-exits") != 0 && strcmp(word, "no-skip") != 0)
			return false;
	}
	return true;
}

static uint64_t memory_of_node(const char *root)
{
	_cleanup_free_ char *path = xasprintf("%s/proc/meminfo", root);
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	uint64_t kib;

	if (fs_read(AT_FDCWD, path, 65536, &text) < 0 ||
	    !proc_parse_status(text.buf, text.len, "MemTotal", &kib) || kib > INT64_MAX / 1024)
		return 0;
	return kib * 1024;
}

static void open_exits(struct process_source *s, struct sample_set *set)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	if (all_jobs(s->ctx))
		return; /* the node's own listener books them */
	if (has_word(s->ctx->option, "no-exits"))
		sample_absent(set, EXITS_LOST, "exit records are disabled by no-exits");
	else if (process_exits_open(&s->exits, &s->members, s->ctx->root, &why) < 0)
		sample_absent(set, EXITS_LOST, "no exit records of the kernel: %s", why.buf);
}

static void close_source(void *state)
{
	struct process_source *s = state;

	process_exits_close(&s->exits);
	members_release(&s->members);
	process_reader_close(&s->reader);
	free(s);
}

static int open_source(const struct source_context *ctx, struct sample_set *set, void **state,
		       struct strbuf *why)
{
	if (!ctx->watch)
		return strbuf_fail(why, -EINVAL, "there is no job to watch");
	if (!knows_words(ctx->option))
		return strbuf_fail(why, -EINVAL,
				   "unknown option '%s'; there are no-exits and no-skip",
				   ctx->option);
	struct process_source *s = xcalloc(1, sizeof(*s));
	s->ctx = ctx;
	s->exits.listener.fd = -1;
	s->members = (struct members){
		.since_ticks =
			(ctx->begin_ns ? ctx->begin_ns : clock_boottime_ns()) / 1000 / PL_TICK_US,
		.gone = gone,
		.exists = exists,
		.forget = forget,
		.user = s,
	};
	/* it had used nothing then */
	s->last_time_ns = ctx->begin_ns;
	int r = process_reader_open(&s->reader, ctx->root, why);
	if (r < 0) {
		free(s);
		return r;
	}
	if (has_word(ctx->option, "no-skip"))
		s->reader.dir.idle_known = false;
	s->memory_bytes = memory_of_node(ctx->root);
	if (!s->memory_bytes)
		sample_absent(set, MEMORY_PERCENT, "the size of the node's memory is unknown");
	if (!s->reader.delays)
		sample_absent(set, DELAYACCT_BLKIO_TIME, "kernel.task_delayacct is 0");
	if (!all_jobs(ctx))
		s->job = sample_entity(set, ENTITY_JOB, "job");
	open_exits(s, set);
	*state = s;
	return 0;
}

static int probe(const struct source_context *ctx, struct source_report *report)
{
	struct procdir dir;
	int r = procdir_open(&dir, ctx->root, 0, &report->detail);

	if (r < 0)
		return r;
	procdir_close(&dir);
	strbuf_addstr(&report->detail, "stat, io and schedstat of each process of a job");
	return 0;
}

const struct source source_process = {
	.name = "process",
	.help = "CPU, memory, I/O and wait times of each process of the job",
	.probe = probe,
	.metrics = columns,
	.metric_count = COLUMNS,
	.every = 1,
	.needs_job = true,
	.open = open_source,
	.read = read_processes,
	.close = close_source,
};
