/*
 * Looks for new processes; see job_processes_internal.h. Surprising: a process whose pid was
 * already assigned may not be visible yet, so a pid that is not there is tried again.
 */
#include <errno.h>
#include <string.h>

#include "core/system/procparse.h"
#include "jobs/discovery/job_processes_internal.h"

#define MS 1000000ull
#define SCAN_GAP_NS (1000 * MS)     /* after a longer gap pids may have wrapped around */
#define LISTING_GAP_NS (10000 * MS) /* pids are checked against a listing this often */
#define ENDED_KEEP_NS (60000 * MS)

/* A directory of /proc. */
struct entry {
	int pid;
	uint64_t ino;
};

/* A new process may take this long until it can be recognised: fork, setuid, exec, title. */
static const uint64_t again_after_ns[] = {50 * MS, 500 * MS, 2000 * MS};

void procs_again(struct job_processes_finder *f, int pid)
{
	GROW(f->again, f->again_count, f->again_cap);
	f->again[f->again_count++] =
		(struct job_processes_again){.pid = pid, .due_ns = f->now_ns + again_after_ns[0]};
}

static void look_again(struct job_processes_finder *f)
{
	size_t keep = 0, count = f->again_count;

	for (size_t i = 0; i < count; i++) {
		struct job_processes_again a = f->again[i];

		if (a.due_ns > f->now_ns) {
			f->again[keep++] = a;
			continue;
		}
		const struct job_processes_proc *p = procs_find(f, a.pid);
		if (p && p->verdict != VERDICT_STRANGER)
			continue;
		procs_collect(f, a.pid, !p);
		/* queue the next look in the place of this one */
		if (a.looks + 1u < ARRAY_SIZE(again_after_ns)) {
			a.looks++;
			a.due_ns = f->now_ns + again_after_ns[a.looks];
			f->again[keep++] = a;
		}
	}
	f->again_count = keep;
}

/* The pid assigned last, at the end of "0.10 0.20 0.30 1/234 5678". */
static int read_last_pid(const struct job_processes_finder *f)
{
	char text[128];
	ssize_t n = f->loadavg < 0 ? -1 : pread(f->loadavg, text, sizeof(text) - 1, 0);
	uint64_t last;

	if (n <= 0)
		return -EIO;
	text[n] = 0;
	const char *p = strrchr(text, ' ');
	if (!p++ || !proc_number(&p, text + n, &last) || !last || last > PROCS_MAX)
		return -EIO;
	return (int)last;
}

static int entry_by_pid(const void *a, const void *b)
{
	return ((const struct entry *)a)->pid - ((const struct entry *)b)->pid;
}

static int list_proc(struct job_processes_finder *f, struct entry **ret, size_t *ret_count)
{
	size_t cap = 0;

	*ret = NULL;
	*ret_count = 0;
	rewinddir(f->proc);
	errno = 0;
	for (const struct dirent *e; (e = readdir(f->proc)) && *ret_count < PROCS_MAX;) {
		uint64_t pid;

		if (e->d_name[0] < '1' || e->d_name[0] > '9' || parse_u64(e->d_name, &pid) < 0 ||
		    pid > INT32_MAX)
			continue;
		GROW(*ret, *ret_count, cap);
		(*ret)[(*ret_count)++] = (struct entry){(int)pid, e->d_ino};
	}
	if (*ret_count)
		qsort(*ret, *ret_count, sizeof(**ret), entry_by_pid);
	return *ret_count || !errno ? 0 : -errno;
}

static int int_order(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

/* Sessions and process groups outlive their leaders: those in use, sorted. */
static size_t leaders(const struct job_processes_finder *f, int **ret)
{
	const struct job_processes_proc *p;
	size_t count = 0;

	*ret = xreallocarray(NULL, f->procs.map.count * 2 + 1, sizeof(int));
	PROCESS_TABLE_EACH(&f->procs, p) {
		if (p->verdict != VERDICT_MEMBER)
			continue;
		(*ret)[count++] = p->session;
		(*ret)[count++] = p->pgrp;
	}
	qsort(*ret, count, sizeof(int), int_order);
	return count;
}

/* What /proc lists, and the leaders in use, both sorted. */
struct listing {
	struct job_processes_finder *f;
	const struct entry *list;
	size_t count;
	const int *leaders;
	size_t leader_count;
};

/* Removes what is not listed; ended leaders stay while their session or group is in use. */
static bool is_unlisted(void *user, void *entry)
{
	const struct listing *l = user;
	struct job_processes_proc *p = entry;
	const struct entry key = {.pid = p->pid};
	bool listed = bsearch(&key, l->list, l->count, sizeof(key), entry_by_pid);

	if (!listed)
		procs_end(l->f, p);
	if (p->verdict != VERDICT_ENDED)
		return !listed;
	return l->f->now_ns - p->ended_ns > ENDED_KEEP_NS &&
	       !bsearch(&p->pid, l->leaders, l->leader_count, sizeof(int), int_order);
}

static bool waits_for_look(const struct job_processes_finder *f, int pid)
{
	for (size_t i = 0; i < f->again_count; i++)
		if (f->again[i].pid == pid)
			return true;
	return false;
}

static int scan_listing(struct job_processes_finder *f)
{
	_cleanup_free_ struct entry *list = NULL;
	size_t count;
	bool check = f->counting && f->listed_ns && f->now_ns - f->scanned_ns <= SCAN_GAP_NS;
	int r = list_proc(f, &list, &count);

	if (r < 0)
		return r;
	int last = read_last_pid(f);
	_cleanup_free_ int *in_use = NULL;
	struct listing l = {f, list, count, NULL, leaders(f, &in_use)};
	l.leaders = in_use;
	process_table_remove_if(&f->procs, is_unlisted, &l);
	for (size_t i = 0; i < count; i++) {
		const struct job_processes_proc *p = procs_find(f, list[i].pid);

		if (p && f->live && !f->reread && p->ino == list[i].ino &&
		    p->verdict != VERDICT_ENDED)
			continue;
		/* a new process whose pid was not in the range assigned meanwhile: pids are not
		 * assigned in order here */
		if (check && !p && last >= f->last_pid &&
		    (list[i].pid <= f->last_pid || list[i].pid > last) &&
		    !waits_for_look(f, list[i].pid))
			f->counting = false;
		r = procs_collect(f, list[i].pid, false);
		/* may not be read: remembered as a stranger, so that it is not tried again */
		if ((r == -EACCES || r == -EPERM) && !p)
			procs_take(f, &(struct job_processes_proc){.pid = list[i].pid,
								   .ino = list[i].ino,
								   .uid = (uid_t)-1,
								   .step = -1,
								   .stepd = -1,
								   .rank = -1,
								   .pidfd = -1});
	}
	f->reread = false;
	f->listed_ns = f->now_ns;
	return 0;
}

static void scan_numbers(struct job_processes_finder *f, int last)
{
	for (int pid = f->last_pid + 1; pid <= last; pid++) {
		if (procs_collect(f, pid, true) == -ENOENT)
			procs_again(f, pid);
	}
}

void procs_retry(struct job_processes_finder *f)
{
	look_again(f);
}

int procs_scan(struct job_processes_finder *f)
{
	int last = f->counting ? read_last_pid(f) : -1, r = 0;

	if (last < 0)
		f->counting = false;
	bool list = !f->counting || f->reread || f->now_ns - f->scanned_ns > SCAN_GAP_NS ||
		    f->now_ns - f->listed_ns > LISTING_GAP_NS || last < f->last_pid ||
		    (size_t)(last - f->last_pid) > 64 + f->procs.map.count / 16;
	look_again(f);
	if (list)
		r = scan_listing(f);
	else
		scan_numbers(f, last);
	f->last_pid = last;
	f->scanned_ns = f->now_ns;
	return r;
}
