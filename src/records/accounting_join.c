/*
 * Joins records into processes and images; see accounting.h. A process is found by its pid and pid
 * namespace, newest first. Its start time, or the order of events, tells a reused pid.
 */
#include "records/accounting_internal.h"

#include <string.h>

/* One record and what it is about. */
struct context {
	struct accounting *b;
	struct accounting_file *file;
	const struct record *r;
	frame_ref ref;
	uint64_t key, time;
};

/* The pid namespace of a record: its PIDNS, else that of the command that wrote the file. Older
 * libraries recorded only the device of /proc. */
static uint64_t make_key(struct context *c, uint64_t pid)
{
	uint64_t number = record_get(c->r, METRIC_PIDNS, c->file->pidns);

	if (!number)
		number = record_get(c->r, METRIC_PROCDEV, 0);
	return accounting_space(c->b, c->file->host, number) << 32 | (pid & 0xffffffff);
}

/* A process in another pid namespace that still sees the /proc of the run: notes its pid there. */
static void take_link(struct context *c, struct process *p)
{
	if (record_has(c->r, METRIC_NSPID) && record_has(c->r, METRIC_PIDNS) &&
	    record_get(c->r, METRIC_PROCDEV, 0) == c->file->procdev)
		p->link = (uint32_t)c->r->v[METRIC_NSPID];
}

static uint64_t number(const struct context *c, enum metric_id id)
{
	return record_get(c->r, id, 0);
}

static uint64_t cpu_of(const struct context *c)
{
	return number(c, METRIC_USERTIME) + number(c, METRIC_SYSTEMTIME);
}

/* The start time of the process; that in a THREAD record is of the thread. */
static uint64_t starttime(const struct context *c)
{
	return c->r->type == PL_THREAD ? 0 : number(c, METRIC_STARTTIME);
}

/* The process that could have written this record: not over, and with the same start time if both
 * are known. Start times are in ticks, and a pid may be reused within one. */
static struct process *current(struct context *c)
{
	uint32_t i = accounting_newest(c->b, c->key);

	if (i == NO_INDEX)
		return NULL;
	struct process *p = &c->b->processes[i];
	uint64_t start = starttime(c);
	if (start && p->starttime_us && start != p->starttime_us)
		return NULL;
	/* it has not been waited for yet, so another child of system() ended */
	if (!start || p->starttime_us)
		accounting_not_meant(c->b, p);
	if (p->reaped && c->time > p->end_ns)
		return NULL;
	return (start && p->starttime_us) || !p->reaped ? p : NULL;
}

/* The kernel's short name, for programs without a better one. */
static void take_comm(struct context *c, struct process *p)
{
	if (record_has(c->r, METRIC_COMM))
		p->comm_exe = accounting_exe(c->b, c->r->text[METRIC_COMM].data,
					     c->r->text[METRIC_COMM].size);
}

/* ---- records ------------------------------------------------------------------- */

static void set_begin(struct process *p, uint64_t ns)
{
	if (ns && (!p->begin_ns || ns < p->begin_ns))
		p->begin_ns = ns;
}

static void set_end(struct process *p, uint64_t ns)
{
	if (ns > p->end_ns)
		p->end_ns = ns;
}

/* The write of this record is in the I/O counters of the process that wrote it. */
static void count_own_write(const struct context *c, struct process *p)
{
	p->own_wchar += c->r->size;
	p->own_syscw++;
}

/* Adds an image for a program that was only seen in /proc before exe (or NO_INDEX) replaced it. A
 * forked copy that has not executed a program is none. */
static void place_peek(struct context *c, struct process *p, uint32_t exe)
{
	if (p->peek != NO_OFFSET && p->peek_begin_ns && p->peek_exe != exe) {
		struct image *img = accounting_add_image(c->b, p);

		img->peek = p->peek;
		img->exe = p->peek_exe;
		img->begin_ns = p->peek_begin_ns;
		if (p->images < UINT16_MAX)
			p->images++;
	}
	p->peek = NO_OFFSET;
	p->peek_exe = NO_INDEX;
}

/* forked: the kernel reported the fork. */
static void take_parent(const struct context *c, struct process *p, bool forked)
{
	uint32_t ppid = (uint32_t)number(c, METRIC_PPID);

	if (!p->ppid)
		p->ppid = ppid;
	if (!p->started_by || (forked && ppid))
		p->started_by = (uint32_t)record_get(c->r, METRIC_FORKER, ppid);
}

/* May this copy have executed a program after its last record? */
static bool may_execute(const struct image *img)
{
	return img->copy && (img->end == NO_OFFSET || img->silent);
}

static void on_start(struct context *c)
{
	struct process *p = current(c);

	const struct image *before = p && p->last != NO_INDEX ? &c->b->images[p->last] : NULL;

	/* A START after an END is another process; after an EXEC it is not. Start times are not
	 * enough: short-lived pid namespaces reuse pids within a tick.
	 */
	if (before && before->end != NO_OFFSET && !before->ended_by_exec && !before->silent)
		p = NULL;
	if (!p)
		p = accounting_add_process(c->b, c->key, c->file->host);
	p->starttime_us = starttime(c);
	p->ppid = 0; /* it may have been adopted since the last image */
	take_parent(c, p, false);
	take_link(c, p);
	p->copy_of = false;
	p->own_wchar = p->own_syscw = 0;
	count_own_write(c, p);
	set_begin(p, c->time);
	uint32_t exe = accounting_path(c->b, c->r);
	place_peek(c, p, exe);
	struct image *img = p->last == NO_INDEX ? NULL : &c->b->images[p->last];
	if (img && img->end == NO_OFFSET && !img->copy) {
		img->end_ns = c->time;
		img->cpu_us = cpu_of(c);
	}
	uint64_t early =
		cpu_of(c) - (img && !img->copy && img->cpu_us <= cpu_of(c) ? img->cpu_us : 0);
	/* what a copy used before its first exec belongs to the executed program */
	if (img && may_execute(img))
		*img = accounting_no_image(img->process);
	else
		img = accounting_add_image(c->b, p);
	img->start = c->ref;
	img->begin_ns = c->time;
	img->early_us = (uint32_t)(early < UINT32_MAX ? early : UINT32_MAX);
	img->exe = exe;
	img->name = accounting_name(c->b, c->r) & NO_NAME;
	if (p->images < UINT16_MAX)
		p->images++;
}

/* Finds the image that a copy runs. The start of the copy is in ticks, up to 10 ms early: not
 * before that of the image.
 */
static void find_origin(struct context *c, struct image *img, uint64_t pid)
{
	uint32_t of = accounting_newest(c->b, (c->key & ~0xffffffffull) | pid);

	if (of == img->process)
		of = accounting_namesake(c->b, c->file->host, img->process, pid);
	if (of == NO_INDEX) /* it entered a pid namespace where that pid is unknown */
		of = accounting_newest(c->b, accounting_home(c->b, c->file) << 32 | pid);
	if (of == NO_INDEX || c->b->processes[of].last == NO_INDEX)
		return;
	img->origin = c->b->processes[of].last;
	const struct image *origin = &c->b->images[img->origin];
	img->exe = origin->exe;
	img->name = origin->name;
	if (img->begin_ns < origin->begin_ns)
		img->begin_ns = origin->begin_ns;
}

/* The image of an END, EXEC or THREAD record; added if its START is lost. */
static struct image *speaker(struct context *c)
{
	struct process *p = current(c);
	uint64_t copy_of = number(c, METRIC_IMAGE_PID);

	if (p && p->last != NO_INDEX && copy_of && !p->copy_of)
		p = NULL; /* a copy has not executed a program */
	if (!p)
		p = accounting_add_process(c->b, c->key, c->file->host);
	if (p->last == NO_INDEX)
		p->copy_of = copy_of != 0;
	if (!p->starttime_us)
		p->starttime_us = starttime(c);
	take_parent(c, p, false);
	if (p->last != NO_INDEX)
		return &c->b->images[p->last];
	struct image *img = accounting_add_image(c->b, p);
	take_link(c, p);
	img->copy = copy_of != 0;
	img->begin_ns = p->starttime_us * 1000;
	if (copy_of)
		find_origin(c, img, copy_of);
	set_begin(p, img->begin_ns);
	return img;
}

static void on_end(struct context *c)
{
	struct image *img = speaker(c);
	struct process *p = &c->b->processes[img->process];

	img->end = c->ref;
	img->end_ns = c->time;
	img->ended_by_exec = c->r->type == PL_EXEC;
	img->silent = c->r->flags & PL_F_LAST;
	img->other_root = c->r->flags & PL_F_ROOT;
	img->cpu_us = cpu_of(c);
	if (img->copy && img->silent)
		accounting_note_copy(c->b, p, c->ref);
	img->rssmax_kib = (uint32_t)number(c, METRIC_RSSMAX);
	if (record_has(c->r, METRIC_NUMTIDS))
		img->numtids = (uint32_t)number(c, METRIC_NUMTIDS);
	if (record_has(c->r, METRIC_CUTIME)) {
		p->children_user_us = number(c, METRIC_CUTIME);
		p->children_sys_us = number(c, METRIC_CSTIME);
		p->reaped_user_us = p->reaped_sys_us = 0;
	}
	if (img->ended_by_exec || img->copy) { /* the PEEK saw this image */
		p->peek = NO_OFFSET;
		p->peek_exe = NO_INDEX;
	}
	set_end(p, c->time);
	if (!p->reaped && !img->ended_by_exec && record_has(c->r, METRIC_EXITCODE))
		p->status = (int32_t)(number(c, METRIC_EXITCODE) << 8);
	else if (!p->reaped)
		p->status = -1;
}

/* The process of a RESUME. A copy has no start time, and the RESUME before its exec may be its
 * first record. */
static struct process *resuming(struct context *c)
{
	struct process *p = current(c);

	if (!(c->r->flags & PL_F_FORK))
		return p;
	if (!p || (p->last != NO_INDEX && !may_execute(&c->b->images[p->last])))
		p = accounting_add_process(c->b, c->key, c->file->host);
	accounting_note_copy(c->b, p, c->ref);
	p->executes = c->r->flags & PL_F_EXECUTES;
	return p;
}

/* The exec, or whatever else should end the image, failed: the image goes on. */
static void on_resume(struct context *c)
{
	struct process *p = resuming(c);

	if (!p || p->last == NO_INDEX)
		return;
	struct image *img = &c->b->images[p->last];
	img->end = NO_OFFSET;
	img->end_ns = img->cpu_us = 0;
	img->rssmax_kib = 0;
	img->ended_by_exec = img->silent = false;
	if (!p->executes)
		img->other_root = false;
	if (!p->reaped)
		p->status = -1;
	set_end(p, c->time);
	count_own_write(c, p);
}

static void on_thread(struct context *c)
{
	struct image *img = speaker(c);
	struct process *p = &c->b->processes[img->process];

	if (p->threads_seen < UINT16_MAX)
		p->threads_seen++;
	count_own_write(c, p);
	set_end(p, c->time);
	if (!c->b->keep_threads)
		return;
	GROW(c->b->threads, c->b->thread_count, c->b->thread_cap);
	c->b->threads[c->b->thread_count++] = (struct accounting_thread){
		.image = (uint32_t)(img - c->b->images),
		.tid = (uint32_t)number(c, METRIC_TID),
		.ref = c->ref,
		.time_ns = c->time,
		.start_ns = record_has(c->r, METRIC_BEGIN) ? number(c, METRIC_BEGIN)
							   : number(c, METRIC_STARTTIME) * 1000,
		.alive = c->r->flags & PL_F_ALIVE,
	};
}

/* Was it wrongly taken for a child of system(), so that this is its real end? If not, its pid was
 * reused. */
static bool is_true_end(const struct context *c, const struct process *p, int32_t status)
{
	const struct image *spoken = accounting_last_spoken(c->b, p);

	if (p->unnamed == NO_INDEX)
		return false;
	if (spoken && c->r->flags & PL_F_RUSAGE && cpu_of(c) + 1000 < spoken->cpu_us)
		return false;
	int32_t prior = c->b->unnamed[p->unnamed].prior_status;
	return prior < 0 || prior == status;
}

/* The newest process with this key that began before this record and is not reaped. */
static struct process *reapable(struct context *c, int32_t status)
{
	struct process *p;

	FOR_KEY(c->b, p, c->key)
	{
		if (p->begin_ns > c->time)
			continue;
		if (is_true_end(c, p, status))
			accounting_not_meant(c->b, p);
		if (p->reaped)
			return NULL;
		/* another status than it announced, and not from its parent: the pid was reused */
		if (p->status >= 0 && !p->has_kernel && p->status != status &&
		    p->ppid != number(c, METRIC_PPID))
			return NULL;
		return p;
	}
	return NULL;
}

/* The process that waited. This may be its first record: a forked copy may wait and then execute a
 * program that cannot be recorded. accounting_drop_unheard() drops supervisors. */
static struct process *reaper_of(struct context *c)
{
	uint64_t key = (c->key & ~0xffffffffull) | number(c, METRIC_PPID);
	uint32_t i = accounting_newest(c->b, key);

	if (i != NO_INDEX)
		accounting_not_meant(c->b, &c->b->processes[i]);
	if (i != NO_INDEX && !c->b->processes[i].reaped)
		return &c->b->processes[i];
	return accounting_add_process(c->b, key, c->file->host);
}

static void add_children(struct context *c)
{
	struct process *reaper = reaper_of(c);

	reaper->reaped_user_us += number(c, METRIC_USERTIME);
	reaper->reaped_sys_us += number(c, METRIC_SYSTEMTIME);
	count_own_write(c, reaper);
}

static void on_unnamed_reap(struct context *c)
{
	struct unnamed u = {
		.ref = c->ref,
		.parent = c->key | (uint32_t)number(c, METRIC_PPID),
		.since = number(c, METRIC_BEGIN),
		.until = c->time,
		.cpu_us = cpu_of(c),
		.status = accounting_status(c->r),
		.has_usage = c->r->flags & PL_F_RUSAGE,
	};

	accounting_reap_unnamed(c->b, &u);
	if (u.has_usage)
		add_children(c);
}

static void on_reap(struct context *c)
{
	int32_t status = accounting_status(c->r);

	if (!record_has(c->r, METRIC_PID)) {
		on_unnamed_reap(c);
		return;
	}
	struct process *p = reapable(c, status);
	if (!p)
		p = accounting_add_process(c->b, c->key, c->file->host);
	take_parent(c, p, false);
	p->reaped = true;
	p->reap = c->ref;
	take_comm(c, p);
	if (!p->starttime_us && starttime(c)) {
		p->starttime_us = starttime(c);
		set_begin(p, p->starttime_us * 1000);
	}
	p->status = status;
	if (!p->has_kernel)
		set_end(p, c->time);
	else if (c->time < p->end_ns) /* the kernel reports an end a little late */
		p->end_ns = c->time;
	if (!(c->r->flags & PL_F_RUSAGE))
		return;
	p->has_usage = true;
	p->reap_cpu_us = cpu_of(c);
	if (!p->rssmax_kib)
		p->rssmax_kib = (uint32_t)number(c, METRIC_RSSMAX);
	add_children(c);
}

/* The process with this key whose life overlaps the reported one. */
static struct process *overlapping(struct context *c, uint64_t begin)
{
	/* START comes after the fork, but the clocks differ: allow a tick */
	const uint64_t slack = 20000000;
	struct process *p;

	FOR_KEY(c->b, p, c->key)
	{
		if (p->has_kernel || p->begin_ns > c->time + slack)
			continue;
		if (begin && p->end_ns && p->end_ns + slack < begin)
			return NULL;
		return p;
	}
	return NULL;
}

/* Did an inner or outer run report the same exit? A process that began after the end of the other
 * is another one, even in the same tick. */
static bool heard_before(struct context *c, uint64_t begin)
{
	const struct process *p;

	FOR_KEY(c->b, p, c->key)
	{
		uint64_t apart = p->begin_ns > begin ? p->begin_ns - begin : begin - p->begin_ns;

		/* each listener has its own error, and some know only the tick */
		if (p->has_kernel && apart < 2 * TICK_NS && begin < p->end_ns)
			return true;
	}
	return false;
}

static void on_kernel_exit(struct context *c)
{
	uint64_t begin = number(c, METRIC_BEGIN);

	if (heard_before(c, begin))
		return;
	struct process *p = overlapping(c, begin);

	if (!p)
		p = accounting_add_process(c->b, c->key, c->file->host);
	accounting_check_unnamed(c->b, p, accounting_status(c->r), c->time);
	take_parent(c, p, true);
	p->has_kernel = true;
	p->kernel = c->ref;
	take_comm(c, p);
	p->execs = (uint16_t)(number(c, METRIC_EXECS) < UINT16_MAX ? number(c, METRIC_EXECS)
								   : UINT16_MAX);
	p->threads_kernel = (uint32_t)number(c, METRIC_NUMTIDS);
	set_begin(p, begin);
	if (begin && p->last != NO_INDEX && c->b->images[p->last].copy) {
		c->b->images[p->last].begin_ns = begin;
		p->begin_ns = begin;
	}
	accounting_place_execs(c->b, c->r, p);
	/* the parent may have waited later, or before the kernel's report */
	if (!p->reaped || c->time < p->end_ns)
		p->end_ns = c->time;
	if (!p->reaped && accounting_status(c->r) >= 0)
		p->status = accounting_status(c->r);
	if (c->r->flags & PL_F_TASKSTATS) {
		p->has_kernel_cpu = true;
		p->kernel_cpu_ns = number(c, METRIC_TIME_ONCPU);
		p->rssmax_kib = (uint32_t)number(c, METRIC_RSSMAX);
	}
}

/* Did the PEEK see an image that has its own records? It may have seen an image that was about to
 * exec. */
static bool is_old_news(const struct context *c, const struct process *p, uint32_t exe)
{
	uint64_t executed = number(c, METRIC_BEGIN);

	if (p->last == NO_INDEX)
		return false;
	const struct image *last = &c->b->images[p->last];
	if (last->start == NO_OFFSET && last->peek != NO_OFFSET)
		return false;
	if (!last->ended_by_exec)
		return true;
	return executed ? executed < last->end_ns : c->time <= last->end_ns || exe == last->exe;
}

/* The process of a PEEK, which comes late: the process may have been waited for, and may have no
 * start time. */
static struct process *looked_at(struct context *c)
{
	uint64_t start = starttime(c);
	struct process *p;

	FOR_KEY(c->b, p, c->key)
	{
		if (start && p->starttime_us) {
			if (start == p->starttime_us)
				return p;
			continue;
		}
		if (p->begin_ns > c->time)
			continue;
		return (p->reaped || p->has_kernel) && p->end_ns < c->time ? NULL : p;
	}
	return NULL;
}

static void on_peek(struct context *c)
{
	struct process *p = looked_at(c);

	if (!p) {
		p = accounting_add_process(c->b, c->key, c->file->host);
		p->starttime_us = starttime(c);
		set_begin(p, p->starttime_us * 1000);
	}
	take_parent(c, p, c->r->flags & PL_F_CNPROC);
	uint32_t exe = accounting_path(c->b, c->r);
	if (is_old_news(c, p, exe))
		return;
	if (number(c, METRIC_BEGIN) != p->peek_begin_ns)
		place_peek(c, p, NO_INDEX);
	p->peek = c->ref;
	p->peek_exe = exe;
	p->peek_begin_ns = number(c, METRIC_BEGIN);
}

void accounting_take(struct accounting *b, size_t file, const struct record *r)
{
	struct context c = {.b = b,
			    .file = &b->files[file],
			    .r = r,
			    .ref = (uint64_t)file << FILE_SHIFT | r->offset,
			    .time = record_get(r, METRIC_BOOTTIME, 0)};

	if (r->type == PL_HOST)
		accounting_take_host(b, c.file, r);
	if (r->type == PL_HOST || r->type == PL_CLOCK || r->type == PL_START)
		accounting_take_clock(b, c.file, r);
	/* an older library's pid in a namespace that it could not name */
	bool old = record_has(r, METRIC_NSPID) && !record_has(r, METRIC_PIDNS);
	c.key = make_key(&c, record_get(r, old ? METRIC_NSPID : METRIC_PID, 0));
	switch (r->type) {
	case PL_START:
		on_start(&c);
		break;
	case PL_EXEC:
	case PL_END:
		on_end(&c);
		break;
	case PL_RESUME:
		on_resume(&c);
		break;
	case PL_THREAD:
		on_thread(&c);
		break;
	case PL_REAP:
		on_reap(&c);
		break;
	case PL_KEXIT:
		on_kernel_exit(&c);
		break;
	case PL_PEEK:
		on_peek(&c);
		break;
	case PL_SCHEMA:
	case PL_HOST:
	case PL_CLOCK:
	default:
		break;
	}
}
