/*
 * Attributes tasks to jobs, for exits.c: events of the process connector fill the table of known
 * processes, by which exit records are added to the sums of jobs.
 */
#include <string.h>
#include <sys/wait.h>

#include "core/files/fs.h"
#include "sources/exits/exits_internal.h"

/* The threads of a process end together, and it is unknown whose record comes last. */
#define ENDING_NS 1000000000ull
/* A process without a job is not looked up again for this long: some fork all the time. */
#define STRANGER_NS 20000000ull
#define ENDED_MANY 65536
/* Threads of a process that are asked for its job, at most. */
#define THREADS_ASKED 8

static uint64_t larger(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* 0: unknown. */
static uint64_t earlier(uint64_t a, uint64_t b)
{
	return !a || (b && b < a) ? b : a;
}

void exit_sums_add_task(struct exit_sums *s, const struct task_exit *x)
{
	s->tasks++;
#define TASK_SUM(member, field, unit, help) s->member += x->member;
#include "sources/exits/task_fields.def"
#undef TASK_SUM
	s->rss_peak = larger(s->rss_peak, x->rss_peak_kib * 1024);
	s->vm_peak = larger(s->vm_peak, x->vm_peak_kib * 1024);
	s->begin_s = earlier(s->begin_s, x->begin_s);
	s->etime_us = larger(s->etime_us, x->elapsed_us);
}

static void add_process(struct exit_sums *s, const struct task_exit *x)
{
	s->processes++;
	if (WIFSIGNALED(x->status))
		s->signalled++;
	else if (WEXITSTATUS(x->status))
		s->failed++;
}

/* ---- events --------------------------------------------------------------------------------- */

/* A new process inherits a job, or none. */
static void begin_task(struct exits *e, int pid, uint32_t slot, bool thread, uint64_t begin_ns)
{
	if (slot == SLOT_NONE) {
		/* the pid of a process whose end was lost */
		process_table_remove(&e->known, pid);
		return;
	}
	*(struct known *)process_table_put(&e->known, pid) = (struct known){
		.pid = pid, .slot = slot, .pass = e->pass, .thread = thread, .begin_ns = begin_ns};
	e->slots[slot].peopled = true;
}

/* A parent without a known job: it may have been moved into one. */
static uint32_t job_of_stranger(struct exits *e, int pid)
{
	unsigned at = (unsigned)pid & (ASKED_SIZE - 1);

	if (e->asked[at].pid == pid && e->now_ns - e->asked[at].time_ns < STRANGER_NS)
		return SLOT_NONE;
	uint32_t slot = exits_ask(e, pid);
	if (slot != SLOT_NONE) {
		exits_admit(e, pid, slot);
	} else {
		e->asked[at].pid = pid;
		e->asked[at].time_ns = e->now_ns;
	}
	return slot;
}

/* With version 1 the kernel says that a thread which has left is in the root group, also of the
 * first thread, by which a process is asked for. Another one is still there. */
static uint32_t job_of_others(struct exits *e, int pid)
{
	char path[64];
	uint32_t slot = SLOT_NONE;
	unsigned asked = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	_cleanup_list_ DIR *dir = opendir(path);
	for (struct dirent *d; slot == SLOT_NONE && dir && (d = readdir(dir));) {
		int tid = (int)strtol(d->d_name, NULL, 10);

		if (tid > 0 && tid != pid && asked++ < THREADS_ASKED)
			slot = exits_ask(e, tid);
	}
	if (slot != SLOT_NONE)
		exits_admit(e, pid, slot);
	return slot;
}

static void on_fork(struct exits *e, const struct cnproc_event *event)
{
	bool thread = event->pid != event->tgid;
	int parent = thread ? event->tgid : event->parent_tgid;
	const struct known *k = process_table_find(&e->known, parent);

	if (thread && !e->by_thread)
		return;
	uint32_t slot = k ? k->slot : thread ? SLOT_NONE : job_of_stranger(e, parent);
	begin_task(e, event->pid, slot, thread, event->boottime_ns);
}

/* A process is usually moved into its group before it executes its program. */
static void on_exec(struct exits *e, int pid)
{
	struct known *k = process_table_find(&e->known, pid);
	uint32_t slot = k ? SLOT_NONE : exits_ask(e, pid);

	if (k)
		k->leader_ended = false; /* the thread that called exec is the first one now */
	else if (slot != SLOT_NONE)
		exits_admit(e, pid, slot);
}

void exits_on_event(void *user, const struct cnproc_event *event)
{
	if (event->what == CNPROC_FORK)
		on_fork(user, event);
	else if (event->what == CNPROC_EXEC)
		on_exec(user, event->tgid);
}

/* ---- records -------------------------------------------------------------------------------- */

static void log_ended(struct exits *e, int tid)
{
	if (!e->ended_users)
		return;
	/* living tasks are asked for every few seconds; this is for a storm in between */
	if (e->ended_count == e->ended_cap && e->ended_count >= ENDED_MANY)
		exits_forget_ended(e);
	GROW(e->ended, e->ended_count, e->ended_cap);
	e->ended[e->ended_count++] = (struct ended_task){tid, e->now_ns};
}

/* Updates the table after a thread of the process ended. */
static void take_leave(struct exits *e, struct known *k, const struct task_exit *x)
{
	if (e->by_thread || (x->last_of_group && !x->threaded))
		process_table_remove(&e->known, k->pid);
	else if (x->last_of_group && !k->ending)
		exits_ending(e, k);
	else if (x->pid == k->pid)
		k->leader_ended = true;
}

/* Finds the job of a task that ended, and counts how. */
static uint32_t job_of(struct exits *e, const struct task_exit *x, const struct known *k,
		       bool process)
{
	int pid = x->tgid ? x->tgid : x->pid;
	uint32_t slot = exits_bpf_match(e, x->pid);
	uint64_t *way = &e->losses.by_bpf;

	if (slot == SLOT_NONE && k) {
		slot = k->slot;
		way = k->looked_up ? &e->losses.by_groups : &e->losses.by_lineage;
	} else if (slot == SLOT_NONE) {
		/* a process with other living threads; with version 2 also one that has ended,
		 * until its parent has waited for it */
		way = &e->losses.by_groups;
		if (x->tgid && !process)
			slot = x->pid == pid && !e->version2 ? job_of_others(e, pid)
							     : job_of_stranger(e, pid);
		else if (e->version2 && process)
			slot = exits_ask(e, pid);
	}
	*way += slot != SLOT_NONE;
	return slot;
}

void exits_account(struct exits *e, const struct task_exit *x)
{
	int pid = x->tgid ? x->tgid : x->pid;
	struct known *k = process_table_find(&e->known, pid);
	struct exit_sums *sums = &e->nobody;
	bool process = x->tgid ? x->last_of_group : !k || !k->thread;

	e->losses.records++;
	uint32_t slot = job_of(e, x, k, process);
	if (slot != SLOT_NONE) {
		sums = &e->slots[slot].sums;
		log_ended(e, x->pid);
	}
	exit_sums_add_task(sums, x);
	if (process)
		add_process(sums, x);
	if (!k && slot != SLOT_NONE)
		k = process_table_find(&e->known, pid);
	if (k)
		take_leave(e, k, x);
}

void exits_ending(struct exits *e, struct known *k)
{
	if (e->ending_first + e->ending_count == e->ending_cap && e->ending_first) {
		memmove(e->endings, e->endings + e->ending_first,
			e->ending_count * sizeof(*e->endings));
		e->ending_first = 0;
	}
	size_t end = e->ending_first + e->ending_count;
	GROW(e->endings, end, e->ending_cap);
	e->endings[end] = (struct ending){k->pid, k->begin_ns, e->now_ns};
	e->ending_count++;
	k->ending = true;
}

void exits_remove_ended(struct exits *e)
{
	while (e->ending_count && e->now_ns - e->endings[e->ending_first].since_ns >= ENDING_NS) {
		const struct ending *d = &e->endings[e->ending_first];
		struct known *k = process_table_find(&e->known, d->pid);

		if (k && k->ending && k->begin_ns == d->begin_ns)
			process_table_remove(&e->known, k->pid);
		e->ending_first++;
		e->ending_count--;
	}
	if (!e->ending_count)
		e->ending_first = 0;
}
