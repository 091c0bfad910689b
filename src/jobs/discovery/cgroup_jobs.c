/*
 * The list of jobs; see cgroup_jobs_internal.h. A job whose groups are all empty may continue (the
 * next command of a parallel job on its second node). It ends when it stays empty, or at once when
 * its manager removes one of its groups.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>

#include "core/clock.h"
#include "jobs/discovery/cgroup_jobs_internal.h"

#define SECOND 1000000000ull
#define LINGER_NS (30 * SECOND)
#define LOOK_NS (SECOND / 5) /* how often a young group without processes is checked */
#define LOOK_OLD_NS SECOND   /* one that has waited for long, or has ended */
#define YOUNG_NS (10 * SECOND)

/* ---- states --------------------------------------------------------------------------------- */

static void unshow(struct cgroup_jobs *j, struct entry *e)
{
	size_t keep = 0;

	for (size_t i = 0; i < j->shown_count; i++)
		if (j->shown[i] != e)
			j->shown[keep++] = j->shown[i];
	j->shown_count = keep;
	e->hidden = true;
	e->job.state = JOB_ENDED;
	e->looked_ns = e->ended_ns = j->now_ns;
}

static void run(struct cgroup_jobs *j, struct entry *e, uint64_t since)
{
	e->job.state = JOB_RUNNING;
	e->job.begin_ns = since;
	entry_refresh(j, e); /* controllers may have been switched on since */
	j->changes++;
}

static bool is_due(const struct cgroup_jobs *j, const struct entry *e, uint64_t every)
{
	return !e->live || !e->looked_ns || j->now_ns - e->looked_ns >= every;
}

static void check_waiting(struct cgroup_jobs *j, struct entry *e)
{
	if (!is_due(j, e, j->now_ns - e->found_ns < YOUNG_NS ? 0 : LOOK_OLD_NS))
		return;
	if (members_any(j, e)) {
		run(j, e, j->now_ns);
	} else if (members_ever(e)) {
		/* a group that was empty when we started has ended before; in a newer one the
		 * processes were gone before we looked */
		if (j->updates == 1) {
			unshow(j, e);
			return;
		}
		run(j, e, e->found_ns);
		e->empty_ns = j->now_ns;
	}
}

static void check_running(struct cgroup_jobs *j, struct entry *e)
{
	if (e->pidfd >= 0 || !is_due(j, e, e->empty_ns ? LOOK_NS : LOOK_OLD_NS))
		return;
	if (members_any(j, e)) {
		e->empty_ns = 0;
		return;
	}
	if (!e->empty_ns) {
		e->empty_ns = j->now_ns;
		j->changes++;
	}
	if (j->now_ns - e->empty_ns >= j->linger_ns)
		entry_end(j, e);
}

static void check(struct cgroup_jobs *j, struct entry *e)
{
	if (e->hidden && !e->group_count) {
		if (j->now_ns - e->ended_ns > CGROUP_JOBS_LATE_NS)
			entry_free(j, e);
		return;
	}
	if (e->hidden) {
		if (!is_due(j, e, LOOK_OLD_NS) || !members_any(j, e))
			return;
		entry_show(j, e);
	}
	if (e->job.state == JOB_WAITING)
		check_waiting(j, e);
	else if (e->job.state == JOB_RUNNING)
		check_running(j, e);
	if (e->job.state == JOB_RUNNING)
		owner_look(j, e);
	e->job.empty = e->empty_ns > 0;
}

/* ---- events --------------------------------------------------------------------------------- */

static void read_events(struct cgroup_jobs *j)
{
	char buf[16384] __attribute__((aligned(__alignof__(struct inotify_event))));
	ssize_t n;

	while (j->inotify >= 0 && (n = read(j->inotify, buf, sizeof(buf))) > 0)
		for (char *p = buf; p < buf + n;) {
			const struct inotify_event *e = (const void *)p;

			if (e->mask & IN_Q_OVERFLOW)
				trees_event(j, -1, false);
			else
				trees_event(j, e->wd, e->mask & IN_IGNORED);
			p += sizeof(*e) + e->len;
		}
}

static bool mounts_changed(const struct cgroup_jobs *j)
{
	struct pollfd p = {.fd = j->mountinfo[1], .events = POLLPRI};

	return p.fd >= 0 && poll(&p, 1, 0) == 1 && p.revents & (POLLPRI | POLLERR);
}

static void take_events(struct cgroup_jobs *j)
{
	struct epoll_event events[64];
	uint64_t expired;
	int n;

	/* all other events are ends of processes, whose descriptors are then closed */
	while (j->epoll >= 0 && (n = epoll_wait(j->epoll, events, ARRAY_SIZE(events), 0)) > 0) {
		for (int i = 0; i < n; i++) {
			void *p = events[i].data.ptr;

			if (p == &j->inotify) {
				read_events(j);
			} else if (p == &j->timer) {
				(void)!read(j->timer, &expired, sizeof(expired));
			} else if (p != &j->mountinfo[0]) {
				members_unwatch(p);
				((struct entry *)p)->looked_ns = 0;
			}
		}
		if (n < (int)ARRAY_SIZE(events))
			return;
	}
	if (j->epoll < 0)
		read_events(j);
}

static void arm(struct cgroup_jobs *j, unsigned ms)
{
	struct itimerspec t = {
		.it_interval = {ms / 1000, (long)(ms % 1000) * 1000000},
		.it_value = {ms / 1000, (long)(ms % 1000) * 1000000},
	};

	if (j->timer < 0 || j->timer_ms == ms)
		return;
	j->timer_ms = ms;
	(void)timerfd_settime(j->timer, 0, &t, NULL);
}

/* Some changes cause no event: look for them after a while. */
static void set_timer(struct cgroup_jobs *j)
{
	bool soon = false, later = trees_wait(j) || j->remount;

	for (size_t i = 0; i < j->entry_count; i++) {
		const struct entry *e = j->entries[i];

		soon |= e->job.state == JOB_WAITING && j->now_ns - e->found_ns < YOUNG_NS;
		soon |= e->job.state == JOB_RUNNING && e->empty_ns;
		later |= e->hidden || e->job.state == JOB_WAITING ||
			 (e->job.state == JOB_RUNNING && e->pidfd < 0);
	}
	arm(j, soon ? 200 : later ? 1000 : 0);
}

int cgroup_jobs_update(struct cgroup_jobs *j)
{
	j->now_ns = clock_boottime_ns();
	j->updates++;
	take_events(j);
	j->remount |= mounts_changed(j);
	if (j->remount && j->now_ns - j->remounted_ns >= SECOND) {
		j->remount = false;
		j->remounted_ns = j->now_ns;
		trees_remount(j);
	}
	trees_update(j);
	for (size_t i = j->entry_count; i-- > 0;)
		check(j, j->entries[i]);
	set_timer(j);
	int changes = j->changes;
	j->changes = 0;
	return changes;
}

void cgroup_jobs_forget(struct cgroup_jobs *j)
{
	size_t forgotten = 0;

	for (size_t i = j->shown_count; i-- > 0;) {
		struct entry *e = j->shown[i];

		if (e->job.state != JOB_ENDED)
			continue;
		forgotten++;
		unshow(j, e);
		entry_close_lost(e);
		entry_refresh(j, e);
	}
	/* a new job under the same name had to wait for this */
	for (size_t i = 0; forgotten && i < j->dir_count; i++)
		if (j->dirs[i]->dirty)
			arm(j, 10);
}

/* ---- beginning and end ---------------------------------------------------------------------- */

static void poll_for(struct cgroup_jobs *j, int *fd, uint32_t events)
{
	struct epoll_event e = {.events = events, .data.ptr = fd};

	if (*fd >= 0 && j->epoll >= 0)
		(void)epoll_ctl(j->epoll, EPOLL_CTL_ADD, *fd, &e);
}

/* Takes roots and groups; a group is the entry of its name in the directory above it. */
static int take_places(struct cgroup_jobs *j, const struct cgroup_jobs_options *o,
		       struct strbuf *why)
{
	size_t count = o->root_count + o->group_count;

	j->rooted = o->root_count > 0;
	j->wanted = xcalloc(count + 1, sizeof(*j->wanted));
	for (size_t i = 0; i < count; i++) {
		bool group = i >= o->root_count;
		const char *named = group ? o->groups[i - o->root_count] : o->roots[i];
		struct wanted *w = &j->wanted[j->wanted_count++];

		w->path = xstrdup(named);
		for (size_t n = strlen(w->path); group && n > 1 && w->path[n - 1] == '/';)
			w->path[--n] = 0;
		char *slash = strrchr(w->path, '/');
		if (named[0] != '/' || (group && !slash[1]))
			return strbuf_fail(why, -EINVAL,
					   "'%s' is not an absolute path of a directory", named);
		if (group) {
			w->only = xstrdup(slash + 1);
			slash[slash == w->path] = 0;
		}
	}
	return 0;
}

int cgroup_jobs_open(struct cgroup_jobs **ret, const struct cgroup_jobs_options *o,
		     struct strbuf *why)
{
	struct cgroup_jobs *j = xcalloc(1, sizeof(*j));

	*j = (struct cgroup_jobs){
		.root = xstrdup(o->root ? o->root : ""),
		.containers = o->containers,
		.patterns_given = o->pattern_count > 0,
		.linger_ns = o->linger_ns ? o->linger_ns : LINGER_NS,
		.epoll = epoll_create1(EPOLL_CLOEXEC),
		.inotify = inotify_init1(IN_NONBLOCK | IN_CLOEXEC),
		.timer = timerfd_create(CLOCK_BOOTTIME, TFD_NONBLOCK | TFD_CLOEXEC),
		.mountinfo = {-1, -1},
		.now_ns = clock_boottime_ns()};
	j->relisted_ns = j->now_ns;
	int r = patterns_open(j, o, why);
	if (r == 0)
		r = take_places(j, o, why);
	if (r < 0) {
		cgroup_jobs_close(j);
		return r;
	}
	for (size_t i = 0; !*j->root && i < ARRAY_SIZE(j->mountinfo); i++)
		j->mountinfo[i] = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	(void)raise_file_limit(); /* a descriptor per group, and many more in the sources */
	poll_for(j, &j->inotify, EPOLLIN);
	poll_for(j, &j->timer, EPOLLIN);
	poll_for(j, &j->mountinfo[0], EPOLLPRI);
	trees_open(j);
	*ret = j;
	return 0;
}

void cgroup_jobs_close(struct cgroup_jobs *j)
{
	if (!j)
		return;
	j->closing = true;
	trees_close(j);
	while (j->entry_count)
		entry_free(j, j->entries[j->entry_count - 1]);
	patterns_close(j);
	owners_close(j);
	for (size_t i = 0; i < j->wanted_count; i++) {
		free(j->wanted[i].path);
		free(j->wanted[i].only);
	}
	close_fd(&j->mountinfo[0]);
	close_fd(&j->mountinfo[1]);
	close_fd(&j->timer);
	close_fd(&j->inotify);
	close_fd(&j->epoll);
	free(j->wanted);
	free(j->entries);
	free(j->shown);
	hash_map_release(&j->index);
	free(j->root);
	free(j);
}

int cgroup_jobs_descriptor(const struct cgroup_jobs *j)
{
	return j->epoll;
}

/* ---- asking --------------------------------------------------------------------------------- */

size_t cgroup_jobs_count(const struct cgroup_jobs *j)
{
	return j->shown_count;
}

struct job *cgroup_jobs_at(struct cgroup_jobs *j, size_t i)
{
	return &j->shown[i]->job;
}

struct job *cgroup_jobs_by_id(struct cgroup_jobs *j, const char *id)
{
	size_t n = strlen(id);
	struct job *found = NULL;

	for (size_t i = 0; i < j->shown_count; i++) {
		struct job *job = &j->shown[i]->job;

		if (!strcmp(job->id, id))
			return job;
		/* "12" for "12.server" */
		if (!found && !strncmp(job->id, id, n) && job->id[n] == '.')
			found = job;
	}
	return found;
}

static int by_number(const void *key, const void *entry)
{
	uint64_t number = *(const uint64_t *)key,
		 other = (*(struct entry *const *)entry)->job.number;

	return number < other ? -1 : number > other;
}

struct job *cgroup_jobs_by_number(struct cgroup_jobs *j, uint64_t number)
{
	struct entry **found = j->shown_count ? bsearch(&number, j->shown, j->shown_count,
							sizeof(*j->shown), by_number)
					      : NULL;

	return found ? &(*found)->job : NULL;
}
