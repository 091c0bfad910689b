/*
 * Adds living tasks to the ended ones without counting any twice. The kernel answers for a thread
 * until it is reaped, even after its exit record was sent; so tasks that are in the sums by then
 * are excluded again. A thread that does not answer any more has sent its record before.
 */
#include <dirent.h>
#include <errno.h>
#include <string.h>

#include "core/files/fs.h"
#include "core/clock.h"
#include "sources/exits/exits_internal.h"

/* A thread is reaped within this time after its record, except the first of a process, which the
 * table knows. */
#define ENDED_NS 2000000000ull

struct living_process {
	int pid;
	bool leader_ended;
};

struct exits_living {
	struct exits *exits;
	struct taskstats_listener asker;
	struct living_process *processes;
	size_t process_count, process_cap;
	struct task_exit *tasks; /* the answers */
	uint64_t *begins_ns;
	size_t task_count, task_cap;
};

int exits_living_open(struct exits_living **ret, struct exits *e, struct strbuf *why)
{
	struct exits_living *l = xcalloc(1, sizeof(*l));

	l->exits = e;
	int r = taskstats_ask_open(&l->asker, why);
	if (r < 0) {
		free(l);
		return r;
	}
	exits_lock(e);
	e->ended_users++;
	exits_unlock(e);
	*ret = l;
	return 0;
}

void exits_living_close(struct exits_living *l)
{
	if (!l)
		return;
	exits_lock(l->exits);
	if (!--l->exits->ended_users)
		l->exits->ended_count = 0;
	exits_unlock(l->exits);
	taskstats_close(&l->asker);
	free(l->processes);
	free(l->tasks);
	free(l->begins_ns);
	free(l);
}

/* ---- living tasks --------------------------------------------------------------------------- */

static void list_processes(struct exits_living *l, uint32_t slot)
{
	const struct known *k;

	l->process_count = 0;
	PROCESS_TABLE_EACH(&l->exits->known, k) {
		if (k->slot != slot || k->ending || k->thread)
			continue;
		GROW(l->processes, l->process_count, l->process_cap);
		l->processes[l->process_count++] = (struct living_process){k->pid, k->leader_ended};
	}
}

static void ask_task(struct exits_living *l, int tid)
{
	if (l->task_count == l->task_cap) {
		l->task_cap = l->task_cap ? l->task_cap * 2 : 64;
		l->tasks = xreallocarray(l->tasks, l->task_cap, sizeof(*l->tasks));
		l->begins_ns = xreallocarray(l->begins_ns, l->task_cap, sizeof(*l->begins_ns));
	}
	struct task_exit *x = &l->tasks[l->task_count];
	if (taskstats_ask(&l->asker, tid, x) < 0)
		return;
	uint64_t now = clock_boottime_ns(), life = x->elapsed_us * 1000;
	x->pid = tid;
	l->begins_ns[l->task_count++] = now > life ? now - life : 0;
}

static void ask_process(struct exits_living *l, const struct living_process *p)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", p->pid);
	_cleanup_list_ DIR *dir = opendir(path);
	for (struct dirent *d; dir && (d = readdir(dir));) {
		int tid = (int)strtol(d->d_name, NULL, 10);

		if (tid > 0 && !(tid == p->pid && p->leader_ended))
			ask_task(l, tid);
	}
}

/* ---- tasks that ended meanwhile ------------------------------------------------------------- */

static int by_tid(const void *a, const void *b)
{
	const struct ended_task *x = a, *y = b;

	return x->tid != y->tid          ? (x->tid < y->tid ? -1 : 1)
	       : x->time_ns < y->time_ns ? -1
					 : x->time_ns > y->time_ns;
}

void exits_forget_ended(struct exits *e)
{
	size_t left = 0;

	for (size_t i = 0; i < e->ended_count; i++)
		if (e->now_ns - e->ended[i].time_ns < ENDED_NS)
			e->ended[left++] = e->ended[i];
	e->ended_count = left;
}

/* Is it in the sums? A task that started later is another one with the same id. */
static bool has_ended(const struct exits *e, int tid, uint64_t begin_ns)
{
	size_t low = 0, high = e->ended_count;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (e->ended[mid].tid <= tid)
			low = mid + 1;
		else
			high = mid;
	}
	return low && e->ended[low - 1].tid == tid && begin_ns <= e->ended[low - 1].time_ns;
}

int exits_living_of(struct exits_living *l, uint64_t job_number, struct exit_sums *ret,
		    uint64_t *ret_alive)
{
	struct exits *e = l->exits;

	*ret_alive = 0;
	exits_lock(e);
	exits_sync(e);
	uint32_t slot = job_number ? exits_slot_of(e, job_number) : SLOT_NONE;
	if (slot != SLOT_NONE)
		list_processes(l, slot);
	exits_unlock(e);
	if (slot == SLOT_NONE)
		return -ENOENT;
	l->task_count = 0;
	for (size_t i = 0; i < l->process_count; i++)
		ask_process(l, &l->processes[i]);
	exits_lock(e);
	exits_sync(e);
	*ret = e->slots[slot].sums;
	exits_forget_ended(e);
	if (e->ended_count) /* of equal ids the latest comes last */
		qsort(e->ended, e->ended_count, sizeof(*e->ended), by_tid);
	for (size_t i = 0; i < l->task_count; i++)
		if (!has_ended(e, l->tasks[i].pid, l->begins_ns[i])) {
			exit_sums_add_task(ret, &l->tasks[i]);
			ret->tasks--; /* it has not ended */
			++*ret_alive;
		}
	exits_unlock(e);
	return 0;
}
