/*
 * Scans the groups of jobs, for exits.c: finds processes that were moved into a group after their
 * fork, and all processes after the kernel dropped events.
 */
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <string.h>

#include "core/files/fs.h"
#include "core/clock.h"
#include "core/system/process_stat.h"
#include "sources/exits/exits_internal.h"

#define MS 1000000ull
/* A young job is scanned soon and then less and less often; an empty one stays frequent longer. */
#define SCAN_FIRST_NS (20 * MS)
#define SCAN_EMPTY_NS (250 * MS)
#define SCAN_LONGEST_NS (5000 * MS)
/* Scans take at most this fraction of the time: a large job is scanned less often. */
#define SCAN_SHARE 500
#define RESCAN_NS (1000 * MS)
#define TICK_NS (PL_TICK_US * 1000ull)

uint32_t exits_ask(struct exits *e, int pid)
{
	if (!e->jobs || !cgroup_jobs_count(e->jobs) || pid <= 0)
		return SLOT_NONE;
	const struct job *job = cgroup_jobs_of_process(e->jobs, pid);
	/* a job without processes at the last update gets its first one here */
	return job && job->state != JOB_ENDED ? exits_slot_for(e, job) : SLOT_NONE;
}

/* ---- one process ---------------------------------------------------------------------------- */

/* For kernels whose records name only threads. */
static void admit_threads(struct exits *e, int pid, uint32_t slot, uint64_t begin_ns)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	_cleanup_list_ DIR *dir = opendir(path);
	for (struct dirent *d; dir && (d = readdir(dir));) {
		int tid = (int)strtol(d->d_name, NULL, 10);

		if (tid > 0 && tid != pid)
			*(struct known *)process_table_put(&e->known, tid) =
				(struct known){.pid = tid,
					       .slot = slot,
					       .pass = e->pass,
					       .thread = true,
					       .begin_ns = begin_ns};
	}
}

void exits_admit(struct exits *e, int pid, uint32_t slot)
{
	struct process_stat stat;
	bool known = process_table_find(&e->known, pid);
	struct known *k = process_table_put(&e->known, pid);

	e->slots[slot].peopled = true;
	k->pass = e->pass;
	k->slot = slot;
	if (known)
		return;
	bool there = process_stat_read("", pid, &stat);
	k->looked_up = true;
	k->begin_ns = there ? stat.st.f[STAT_STARTTIME] * TICK_NS : e->now_ns;
	/* the record of one that is exiting comes later */
	if (there && !(stat.st.f[STAT_FLAGS] & STAT_EXITING)) {
		if (e->by_thread)
			admit_threads(e, pid, slot, k->begin_ns);
	} else if (there && stat.st.f[STAT_NUM_THREADS] > 1) {
		k->leader_ended = true;
	} else {
		/* its record is still to come, or was handled a moment ago */
		exits_ending(e, k);
	}
}

/* ---- the groups of a job -------------------------------------------------------------------- */

struct scanning {
	struct exits *e;
	uint32_t slot;
};

static void on_member(void *user, pid_t pid)
{
	const struct scanning *s = user;

	exits_admit(s->e, pid, s->slot);
}

/* Processes that a scan did not see may have been moved to other groups. */
static void forget_unseen(struct exits *e, uint32_t slot)
{
	struct known *k;

	PROCESS_TABLE_EACH(&e->known, k)
		if (k->slot == slot && k->pass != e->pass && !k->ending && !k->thread &&
		    kill(k->pid, 0) < 0 && errno == ESRCH)
			exits_ending(e, k);
}

void exits_scan(struct exits *e, uint32_t slot)
{
	struct exits_slot *s = &e->slots[slot];
	struct scanning scanning = {e, slot};
	uint64_t before = clock_boottime_ns();
	const struct job *job = e->jobs ? cgroup_jobs_by_number(e->jobs, s->number) : NULL;

	e->pass++;
	if (job && cgroup_jobs_visit_processes(e->jobs, job, on_member, &scanning) >= 0)
		forget_unseen(e, slot);
	uint64_t now = clock_boottime_ns(), longest = s->peopled ? SCAN_LONGEST_NS : SCAN_EMPTY_NS;
	uint64_t dear = (now - before) * SCAN_SHARE;
	s->scan_period_ns = !s->scan_period_ns                ? SCAN_FIRST_NS
			    : s->scan_period_ns * 2 < longest ? s->scan_period_ns * 2
							      : longest;
	s->next_scan_ns = now + (dear > s->scan_period_ns ? dear : s->scan_period_ns);
}

uint64_t exits_scan_due(struct exits *e)
{
	uint64_t next = UINT64_MAX;

	for (uint32_t i = 0; i < e->slot_count; i++) {
		if (!e->slots[i].number)
			continue;
		if (e->slots[i].next_scan_ns <= e->now_ns)
			exits_scan(e, i);
		if (e->slots[i].next_scan_ns < next)
			next = e->slots[i].next_scan_ns;
	}
	return next;
}

/* ---- after a loss --------------------------------------------------------------------------- */

/* Is it the same process? Its pid may have been reused. */
static bool is_same(const struct known *k)
{
	struct process_stat stat;

	if (!process_stat_read("", k->pid, &stat))
		return false;
	uint64_t begin = stat.st.f[STAT_STARTTIME] * TICK_NS;
	uint64_t apart = begin > k->begin_ns ? begin - k->begin_ns : k->begin_ns - begin;
	return apart <= 5 * TICK_NS;
}

void exits_rescan(struct exits *e)
{
	struct known *k;

	if (e->now_ns < e->next_rescan_ns)
		return;
	e->lost = false;
	e->next_rescan_ns = e->now_ns + RESCAN_NS;
	e->losses.rescans++;
	PROCESS_TABLE_EACH(&e->known, k)
		if (!k->thread && !k->ending && !is_same(k))
			exits_ending(e, k);
	for (uint32_t i = 0; i < e->slot_count; i++)
		if (e->slots[i].number)
			exits_scan(e, i);
}
