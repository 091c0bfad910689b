/*
 * The table of processes; see job_processes_internal.h. Surprising: a process whose first thread
 * has ended looks like a zombie while its other threads still run.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "core/clock.h"
#include "core/system/procparse.h"
#include "jobs/discovery/job_processes_internal.h"

#define STAT_FLAG_KERNEL 0x00200000 /* PF_KTHREAD */

int procs_read(const struct job_processes_finder *f, int pid, const char *file, size_t max,
	       struct strbuf *out)
{
	char name[64];

	snprintf(name, sizeof(name), "%d/%s", pid, file);
	_cleanup_close_ int fd = openat(f->procfd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	while (out->len < max) {
		strbuf_grow(out, 4096);
		size_t room = max - out->len < 4096 ? max - out->len : 4096;
		ssize_t n = read(fd, out->buf + out->len, room);

		if (n < 0)
			return -errno;
		if (!n)
			break;
		out->len += (size_t)n;
		out->buf[out->len] = 0;
	}
	return 0;
}

bool procs_is_thread(const struct job_processes_finder *f, int pid)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	uint64_t tgid;

	return procs_read(f, pid, "status", 4096, &text) == 0 &&
	       proc_parse_status(text.buf, text.len, "Tgid", &tgid) && tgid != (uint64_t)pid;
}

/* Owner and inode: of the directory on a live system; the owner by status in a recorded tree. */
static void look_owner(const struct job_processes_finder *f, int pid,
		       struct job_processes_proc *ret)
{
	char name[16];
	struct stat st;

	ret->uid = f->uid;
	if (f->live) {
		snprintf(name, sizeof(name), "%d", pid);
		if (fstatat(f->procfd, name, &st, AT_NO_AUTOMOUNT) == 0) {
			ret->uid = st.st_uid;
			ret->ino = st.st_ino;
		}
		return;
	}
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	uint64_t uid;
	if (procs_read(f, pid, "status", 4096, &text) == 0 &&
	    proc_parse_status(text.buf, text.len, "Uid", &uid))
		ret->uid = (uid_t)uid;
}

int procs_look(const struct job_processes_finder *f, int pid, struct job_processes_proc *ret)
{
	char name[32], text[2048];
	struct proc_stat st;

	snprintf(name, sizeof(name), "%d/stat", pid);
	_cleanup_close_ int fd = openat(f->procfd, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -errno;
	ssize_t n = read(fd, text, sizeof(text));
	if (n < 0)
		return -errno;
	if (!clock_parse_stat(text, (size_t)n, &st) || st.last < STAT_STARTTIME ||
	    st.f[STAT_PID] != (uint64_t)pid)
		return -EIO;
	*ret = (struct job_processes_proc){.pid = pid,
					   .ppid = (int)st.f[STAT_PPID],
					   .pgrp = (int)st.f[STAT_PGRP],
					   .session = (int)st.f[STAT_SESSION],
					   .starttime = st.f[STAT_STARTTIME],
					   .step = -1,
					   .stepd = -1,
					   .rank = -1,
					   .pidfd = -1};
	ret->kernel = st.f[STAT_FLAGS] & STAT_FLAG_KERNEL;
	ret->zombie = strchr("ZXx", (int)st.f[STAT_STATE]) && st.f[STAT_NUM_THREADS] <= 1;
	memcpy(ret->comm, st.comm,
	       st.comm_len < sizeof(ret->comm) ? st.comm_len : sizeof(ret->comm) - 1);
	look_owner(f, pid, ret);
	return 0;
}

/* ---- the table ------------------------------------------------------------------------------ */

struct job_processes_proc *procs_find(const struct job_processes_finder *f, int pid)
{
	return process_table_find(&f->procs, pid);
}

void procs_fresh(struct job_processes_finder *f, struct job_processes_proc *p)
{
	p->verdict = VERDICT_NEW;
	GROW(f->fresh, f->fresh_count, f->fresh_cap);
	f->fresh[f->fresh_count++] = p->pid;
}

void procs_unpoll(struct job_processes_finder *f, struct job_processes_proc *p)
{
	if (p->pidfd >= 0) {
		close(p->pidfd);
		p->pidfd = -1;
		f->pidfds--;
	} else if (f->unpolled) {
		f->unpolled--;
	}
}

void procs_end(struct job_processes_finder *f, struct job_processes_proc *p)
{
	if (p->verdict != VERDICT_MEMBER)
		return;
	procs_unpoll(f, p);
	p->verdict = VERDICT_ENDED;
	p->ended_ns = f->now_ns;
	f->dirty = true;
	f->parents_ended = true;
}

void procs_poll(struct job_processes_finder *f, struct job_processes_proc *p)
{
	p->pidfd = -1;
	f->unpolled++;
	if (!f->live || f->epoll < 0 || f->pidfds >= f->pidfds_max)
		return;
	int fd = (int)syscall(SYS_pidfd_open, p->pid, 0u);
	if (fd < 0) {
		if (errno != ESRCH)
			f->pidfds_max = f->pidfds; /* no such system call, or no descriptors left */
		return;
	}
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = (uint64_t)p->pid};
	if (epoll_ctl(f->epoll, EPOLL_CTL_ADD, fd, &e) < 0) {
		close(fd);
		return;
	}
	p->pidfd = fd;
	f->unpolled--;
	f->pidfds++;
}

/* Updates a process in the table with what was just read. */
static void refresh(struct job_processes_finder *f, struct job_processes_proc *p,
		    const struct job_processes_proc *seen)
{
	if (p->starttime != seen->starttime) {
		if (p->verdict == VERDICT_MEMBER)
			procs_end(f, p);
		*p = *seen;
		procs_fresh(f, p);
		return;
	}
	if (p->verdict == VERDICT_MEMBER && p->ppid != seen->ppid)
		f->dirty = true;
	p->ppid = seen->ppid;
	p->pgrp = seen->pgrp;
	p->session = seen->session;
	p->ino = seen->ino;
	p->uid = seen->uid;
	p->zombie = seen->zombie;
	memcpy(p->comm, seen->comm, sizeof(p->comm));
	p->inspected = false;
	if (p->verdict == VERDICT_MEMBER && p->zombie)
		procs_end(f, p);
	if (p->verdict == VERDICT_STRANGER)
		procs_fresh(f, p);
}

void procs_take(struct job_processes_finder *f, const struct job_processes_proc *seen)
{
	struct job_processes_proc *p = procs_find(f, seen->pid);

	if (p) {
		refresh(f, p, seen);
		return;
	}
	p = process_table_put(&f->procs, seen->pid);
	*p = *seen;
	procs_fresh(f, p);
}

int procs_collect(struct job_processes_finder *f, int pid, bool numbered)
{
	struct job_processes_proc seen;

	if (f->procs.map.count >= PROCS_MAX)
		return -ENOSPC;
	int r = procs_look(f, pid, &seen);
	if (r == 0) {
		seen.maybe_thread = numbered;
		procs_take(f, &seen);
	}
	return r;
}

struct job_processes_proc *procs_add(struct job_processes_finder *f, int pid)
{
	struct job_processes_proc *p = procs_find(f, pid);

	if (p && p->verdict != VERDICT_ENDED)
		return p;
	if (procs_collect(f, pid, false) < 0)
		return NULL;
	p = procs_find(f, pid);
	/* a zombie is not a new process */
	return p && p->verdict != VERDICT_ENDED ? p : NULL;
}

/* ---- what ended ----------------------------------------------------------------------------- */

/* Ends a member that is gone, or whose pid is another process now. */
static void check_alive(struct job_processes_finder *f, struct job_processes_proc *p)
{
	struct job_processes_proc now = {0};
	int r = procs_look(f, p->pid, &now);

	if (r == -ENOENT || r == -ESRCH || r == -ENOTDIR ||
	    (r == 0 && (now.zombie || now.starttime != p->starttime)))
		procs_end(f, p);
}

void procs_reap(struct job_processes_finder *f)
{
	struct epoll_event events[64];
	struct job_processes_proc *p;
	int n = f->pidfds ? epoll_wait(f->epoll, events, ARRAY_SIZE(events), 0) : 0;

	while (n > 0) {
		for (int i = 0; i < n; i++) {
			p = procs_find(f, (int)events[i].data.u64);
			if (p)
				procs_end(f, p);
		}
		n = f->pidfds ? epoll_wait(f->epoll, events, ARRAY_SIZE(events), 0) : 0;
	}
	if (!f->unpolled)
		return;
	PROCESS_TABLE_EACH(&f->procs, p) {

		if (p->verdict != VERDICT_MEMBER || p->pidfd >= 0)
			continue;
		/* a process that is gone is found at once, a zombie within ten updates; groups do
		 * not list processes that are gone */
		if (!f->live || ((unsigned)p->pid + f->updates) % 10 == 0 ||
		    (f->mode != MODE_GROUP && kill(p->pid, 0) < 0 && errno == ESRCH))
			check_alive(f, p);
	}
}

/* ---- begin and end -------------------------------------------------------------------------- */

/* Is /proc that of our own pid namespace, and its loadavg not replaced by a container engine? */
static void find_shortcuts(struct job_processes_finder *f)
{
	struct stat proc, load;
	char link[32];
	ssize_t n = readlinkat(f->procfd, "self", link, sizeof(link) - 1);
	uint64_t self;

	if (n <= 0)
		return;
	link[n] = 0;
	if (parse_u64(link, &self) < 0 || self > INT32_MAX)
		return;
	f->self = (int)self;
	if (*f->root || f->self != (int)getpid())
		return;
	f->live = true;
	f->epoll = epoll_create1(EPOLL_CLOEXEC);
	struct rlimit files;
	if (getrlimit(RLIMIT_NOFILE, &files) == 0)
		f->pidfds_max = files.rlim_cur > PROCS_MAX ? PROCS_MAX : (size_t)files.rlim_cur / 4;
	f->loadavg = openat(f->procfd, "loadavg", O_RDONLY | O_CLOEXEC);
	f->counting = f->loadavg >= 0 && fstat(f->procfd, &proc) == 0 &&
		      fstat(f->loadavg, &load) == 0 && proc.st_dev == load.st_dev;
}

int procs_open(struct job_processes_finder *f, struct strbuf *why)
{
	_cleanup_free_ char *path = xasprintf("%s/proc", f->root);

	f->procs.entry_size = sizeof(struct job_processes_proc);
	f->procfd = f->loadavg = f->epoll = f->self = f->self_session = -1;
	f->proc = opendir(path);
	if (!f->proc)
		return strbuf_fail(why, -errno, "cannot read '%s': %s", path, strerror(errno));
	f->procfd = dirfd(f->proc);
	f->now_ns = clock_boottime_ns();
	find_shortcuts(f);
	return 0;
}

void procs_close(struct job_processes_finder *f)
{
	struct job_processes_proc *p;

	PROCESS_TABLE_EACH(&f->procs, p)
		close_fd(&p->pidfd);
	process_table_release(&f->procs);
	close_fd(&f->epoll);
	close_fd(&f->loadavg);
	if (f->proc)
		closedir(f->proc);
	free(f->fresh);
	free(f->again);
	free(f->rankless);
	free(f->joined);
}
