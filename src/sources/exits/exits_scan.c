/*
 * Looking through the groups of jobs, for exits.c: processes that were moved into one after their
 * fork, and all of them after the kernel had to drop events.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include "core/clock.h"
#include "core/files/fs.h"
#include "core/system/procparse.h"
#include "sources/exits/exits_internal.h"

#define MS 1000000ull
/* A young job is looked at soon and then ever more rarely, an empty one often for longer. */
#define SCAN_FIRST_NS (20 * MS)
#define SCAN_EMPTY_NS (250 * MS)
#define SCAN_LONGEST_NS (5000 * MS)
/* A look takes no more than one part in so many of the time: at a large job it is rarer. */
#define SCAN_SHARE 500
#define RESCAN_NS (1000 * MS)
#define TICK_NS (PL_TICK_US * 1000ull)
/* Of the kernel's own headers: the task is on its way out. Its record comes after this. */
#define STAT_FLAGS 9
#define PF_EXITING 0x4

uint32_t exits_ask(struct exits *e, int pid)
{
	if (!e->jobs || !cgroup_jobs_count(e->jobs) || pid <= 0)
		return SLOT_NONE;
	const struct job *job = cgroup_jobs_of_process(e->jobs, pid);
	/* one that had no process when it was last looked at is a job from this one on */
	return job && job->state != JOB_ENDED ? exits_slot_for(e, job) : SLOT_NONE;
}

/* ---- one process ------------------------------------------------------------------------------
 */

static bool read_stat(int pid, struct proc_stat *st)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	return fs_read(AT_FDCWD, path, 4096, &text) == 0 &&
	       clock_parse_stat(text.buf, text.len, st) && st->last >= STAT_STARTTIME;
}

/* Where records name threads alone. */
static void admit_threads(struct exits *e, int pid, uint32_t slot, uint64_t begin_ns)
{
	char path[64];
	bool new;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *dir = opendir(path);
	for (struct dirent *d; dir && (d = readdir(dir));) {
		int tid = (int)strtol(d->d_name, NULL, 10);

		if (tid > 0 && tid != pid)
			*known_put(&e->known, tid, &new) = (struct known){.pid = tid,
									  .slot = slot,
									  .pass = e->pass,
									  .thread = true,
									  .begin_ns = begin_ns};
	}
	if (dir)
		closedir(dir);
}

void exits_admit(struct exits *e, int pid, uint32_t slot)
{
	struct proc_stat st;
	bool new;
	struct known *k = known_put(&e->known, pid, &new);

	e->slots[slot].peopled = true;
	k->pass = e->pass;
	k->slot = slot;
	if (!new)
		return;
	bool there = read_stat(pid, &st);
	k->looked_up = true;
	k->begin_ns = there ? st.f[STAT_STARTTIME] * TICK_NS : e->now_ns;
	if (there && !(st.f[STAT_FLAGS] & PF_EXITING)) {
		if (e->by_thread)
			admit_threads(e, pid, slot, k->begin_ns);
	} else if (there && st.f[STAT_NUM_THREADS] > 1) {
		k->leader_ended = true;
	} else {
		/* its record is still to come, or was booked a moment ago */
		exits_ending(e, k);
	}
}

/* ---- the groups of a job ----------------------------------------------------------------------
 */

struct scanning {
	struct exits *e;
	uint32_t slot;
};

static void on_member(void *user, pid_t pid)
{
	const struct scanning *s = user;

	exits_admit(s->e, pid, s->slot);
}

/* Those of the job that were not seen may only have been moved out of its groups. */
static void forget_unseen(struct exits *e, uint32_t slot)
{
	for (size_t i = 0; i < e->known.size; i++) {
		struct known *k = &e->known.list[i];

		if (k->pid && k->slot == slot && k->pass != e->pass && !k->ending && !k->thread &&
		    kill(k->pid, 0) < 0 && errno == ESRCH)
			exits_ending(e, k);
	}
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

/* ---- after a loss -----------------------------------------------------------------------------
 */

/* Is it the process that we knew? Its number may be another's by now. */
static bool is_same(const struct known *k)
{
	struct proc_stat st;

	if (!read_stat(k->pid, &st))
		return false;
	uint64_t begin = st.f[STAT_STARTTIME] * TICK_NS;
	uint64_t apart = begin > k->begin_ns ? begin - k->begin_ns : k->begin_ns - begin;
	return apart <= 5 * TICK_NS;
}

void exits_rescan(struct exits *e)
{
	if (e->now_ns < e->next_rescan_ns)
		return;
	e->lost = false;
	e->next_rescan_ns = e->now_ns + RESCAN_NS;
	e->losses.rescans++;
	for (size_t i = 0; i < e->known.size; i++) {
		struct known *k = &e->known.list[i];

		if (k->pid && !k->thread && !k->ending && !is_same(k))
			exits_ending(e, k);
	}
	for (uint32_t i = 0; i < e->slot_count; i++)
		if (e->slots[i].number)
			exits_scan(e, i);
}
