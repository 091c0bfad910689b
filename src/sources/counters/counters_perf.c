/*
 * Descriptors of perf_event_open: opened in groups, read, and added up. The events of a task also
 * count its later threads and children (attr.inherit), whose counts are added to the descriptor
 * when they end. Inherited groups are read one event at a time: a child that was forked between the
 * opening of two events of a group makes the kernel refuse to read the group whole.
 */
#include "sources/counters/counters.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/files/cached_file.h"

/* ---- the kernel's calls ---- */

static int kernel_open(struct perf_event_attr *attr, int pid, int cpu, int group,
		       unsigned long flags)
{
	int fd = (int)syscall(SYS_perf_event_open, attr, pid, cpu, group, flags);

	return fd < 0 ? -errno : fd;
}

static ssize_t kernel_read(int fd, void *buffer, size_t size)
{
	ssize_t n = read(fd, buffer, size);

	return n < 0 ? -errno : n;
}

static void kernel_close(int fd)
{
	close(fd);
}

const struct counters_ops counters_kernel = {
	.open = kernel_open,
	.read = kernel_read,
	.close = kernel_close,
	.resolve = event_resolve_for,
	.live = true,
};

/* ---- opening ---- */

static int open_event(const struct counters *c, const struct counter *n, int pid, int cpu,
		      int group, unsigned long flags, bool grouped)
{
	struct perf_event_attr attr = {
		.size = sizeof(attr),
		.type = n->code.type,
		.config = n->code.config,
		.config1 = n->code.config1,
		.config2 = n->code.config2,
		.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING |
			       (grouped ? PERF_FORMAT_GROUP : 0),
		.inherit = cpu < 0,
		.exclude_kernel = n->user_only,
		.exclude_hv = n->user_only,
	};

	return c->ops->open(&attr, pid, cpu, group, flags | PERF_FLAG_FD_CLOEXEC);
}

static bool denied(int r)
{
	return r == -EACCES || r == -EPERM;
}

/* Opens an event on our own process: with kernel mode, else without; in the group, else alone. */
static int try_event(const struct counters *c, struct counter *n, int group, bool *alone)
{
	int fd = open_event(c, n, 0, -1, group, 0, false);

	if (denied(fd) && !n->user_only && !event_in_kernel(&n->code)) {
		n->user_only = true;
		fd = open_event(c, n, 0, -1, group, 0, false);
	}
	*alone = group < 0;
	/* too many for the CPU, or of another unit */
	if (fd == -EINVAL && group >= 0) {
		*alone = true;
		fd = open_event(c, n, 0, -1, -1, 0, false);
	}
	return fd;
}

static void set_problem(struct counter *n, int error)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if ((error == ENOENT || error == EOPNOTSUPP || error == ENODEV) &&
	    n->code.type != PERF_TYPE_SOFTWARE)
		strbuf_addf(&text,
			    "this machine cannot count %s, or the hypervisor hides the counters",
			    /* generic events have the name of the metric */
			    n->code.type == PERF_TYPE_HARDWARE ? "it" : n->event->code);
	else
		event_explain(&n->code, error, &text);
	n->problem = strbuf_take(&text);
}

void counters_try(struct counters *c, bool user_only)
{
	int fds[COUNTERS_MAX];

	for (unsigned i = 0; i < c->counter_count; i++) {
		struct counter *n = &c->counters[i];
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		unsigned leader = i;
		bool alone;

		fds[i] = -1;
		n->leader = i;
		if (n->system)
			continue;
		if (c->ops->resolve((const char *const *)c->groups.pmus, c->groups.pmu_count,
				    n->event->code, &n->code, &why) < 0) {
			n->problem = xasprintf("%s: %s", n->event->code, why.buf);
			continue;
		}
		n->user_only = user_only && !event_in_kernel(&n->code);
		for (unsigned k = 0; k < i && leader == i; k++)
			if (fds[k] >= 0 && c->counters[k].group == n->group &&
			    (c->counters[k].code.type == PERF_TYPE_SOFTWARE) ==
				    (n->code.type == PERF_TYPE_SOFTWARE))
				leader = c->counters[k].leader;
		fds[i] = try_event(c, n, leader == i ? -1 : fds[leader], &alone);
		if (fds[i] < 0)
			set_problem(n, -fds[i]);
		else
			n->leader = alone ? i : leader;
		c->any_user_only |= n->user_only && fds[i] >= 0;
	}
	for (unsigned i = 0; i < c->counter_count; i++)
		if (fds[i] >= 0)
			c->ops->close(fds[i]);
}

static bool is_counted(const struct counter *n)
{
	return !n->problem && !n->system;
}

int counters_attach_one(struct counters *c, struct fd_list *fds, unsigned counter, int pid, int cpu,
			ssize_t group, unsigned long flags)
{
	const struct counter *n = &c->counters[counter];
	int leader = group >= 0 ? fds->list[group].fd : -1;
	int fd = open_event(c, n, pid, cpu, leader, flags, fds->grouped);

	/* threads times events, or CPUs times events are needed */
	if (fd == -EMFILE && c->ops->live && raise_file_limit())
		fd = open_event(c, n, pid, cpu, leader, flags, fds->grouped);
	if (fd < 0)
		return fd;
	GROW(fds->list, fds->count, fds->cap);
	fds->list[fds->count++] = (struct counter_fd){
		.fd = fd,
		.counter = (uint16_t)counter,
		.cpu = cpu,
		.members = group >= 0 && fds->grouped ? 0 : 1,
	};
	if (group >= 0 && fds->grouped)
		fds->list[group].members++;
	return 0;
}

int counters_attach(struct counters *c, struct fd_list *fds, int pid, int cpu, unsigned long flags)
{
	size_t before = fds->count;
	int error = 0;

	for (unsigned l = 0; l < c->counter_count; l++) {
		ssize_t group = -1;

		if (!is_counted(&c->counters[l]) || c->counters[l].leader != l)
			continue;
		for (unsigned i = l; i < c->counter_count; i++) {
			if (!is_counted(&c->counters[i]) || c->counters[i].leader != l)
				continue;
			int r = counters_attach_one(c, fds, i, pid, cpu, group, flags);
			if (r < 0)
				error = r;
			else if (group < 0)
				group = (ssize_t)fds->count - 1;
			/* the task is gone or not ours, or the limit is reached: the same for all
			 * events */
			if (denied(r) || r == -ESRCH || r == -EMFILE || r == -ENFILE)
				return fds->count > before ? (int)(fds->count - before) : r;
		}
	}
	return fds->count > before ? (int)(fds->count - before) : error;
}

void counters_detach_from(struct counters *c, struct fd_list *fds, size_t first)
{
	for (; fds->count > first; fds->count--)
		if (fds->list[fds->count - 1].fd >= 0)
			c->ops->close(fds->list[fds->count - 1].fd);
}

void counters_detach(struct counters *c, struct fd_list *fds)
{
	counters_detach_from(c, fds, 0);
	free(fds->list);
	*fds = (struct fd_list){.grouped = fds->grouped};
}

/* ---- a control group ---- */

int counters_each_cpu(const char *text, int (*call)(void *user, int cpu), void *user)
{
	for (const char *p = text; *p >= '0' && *p <= '9';) {
		char *end;
		unsigned long first = strtoul(p, &end, 10);
		unsigned long last = *end == '-' ? strtoul(end + 1, &end, 10) : first;

		for (unsigned long cpu = first; cpu <= last && cpu < 65536; cpu++) {
			int r = call(user, (int)cpu);

			if (r < 0)
				return r;
		}
		p = *end == ',' ? end + 1 : end;
		if (*end != ',')
			break;
	}
	return 0;
}

struct cgroup_call {
	struct counters *c;
	int dir;
	int expected;
	bool *online; /* by CPU; NULL: all listed CPUs are new */
	bool failed;  /* on a new CPU */
};

#define CPUS_MAX 65536

static bool is_open(const struct fd_list *fds, int cpu)
{
	for (size_t i = 0; i < fds->count; i++)
		if (fds->list[i].cpu == cpu)
			return true;
	return false;
}

static int attach_cpu(void *user, int cpu)
{
	struct cgroup_call *call = user;
	struct fd_list *fds = &call->c->cpus;
	size_t before = fds->count;

	if (call->online && is_open(fds, cpu))
		return 0;
	int r = counters_attach(call->c, fds, call->dir, cpu, PERF_FLAG_PID_CGROUP);
	if (r >= 0 && r < call->expected)
		r = -EMFILE;
	/* a CPU that came online and fails may be going offline again: try the next time */
	if (r < 0 && call->online) {
		counters_detach_from(call->c, fds, before);
		call->failed = true;
		return 0;
	}
	return r < 0 ? r : 0;
}

static char *online_cpus(const struct counters *c)
{
	return read_once("%s/sys/devices/system/cpu/online", c->ctx->root);
}

static void prepare(struct counters *c, struct cgroup_call *call)
{
	call->c = c;
	for (unsigned i = 0; i < c->counter_count; i++)
		call->expected += is_counted(&c->counters[i]);
}

int counters_attach_cgroup(struct counters *c, int at, const char *path)
{
	_cleanup_close_ int dir = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct cgroup_call call = {.dir = dir};

	if (dir < 0)
		return -errno;
	prepare(c, &call);
	free(c->online);
	c->online = online_cpus(c);
	int r = c->online ? 0 : -ENOENT;
	c->cpus.grouped = true;
	if (r >= 0)
		r = counters_each_cpu(c->online, attach_cpu, &call);
	if (r >= 0 && !c->cpus.count)
		r = -ENOENT;
	if (r < 0)
		counters_detach(c, &c->cpus);
	return r < 0 ? r : 0;
}

/* Closes descriptors of CPUs that are, or were for a moment, offline: some cannot be read then. */
static void drop_cpus(struct counters *c, bool *online)
{
	struct fd_list *fds = &c->cpus;
	size_t left = 0;

	for (size_t i = 0; i < fds->count; i++)
		online[fds->list[i].cpu] &= fds->list[i].fd >= 0;
	for (size_t i = 0; i < fds->count; i++) {
		struct counter_fd f = fds->list[i];

		if (f.fd >= 0 && online[f.cpu]) {
			fds->list[left++] = f;
			continue;
		}
		if (f.fd >= 0)
			c->ops->close(f.fd);
	}
	fds->count = left;
}

static int mark_cpu(void *user, int cpu)
{
	((bool *)user)[cpu] = true;
	return 0;
}

void counters_take_cgroup(struct counters *c, int at, const char *path)
{
	_cleanup_free_ char *text = online_cpus(c);
	bool whole = true;

	counters_take(c, &c->cpus);
	for (size_t i = 0; i < c->cpus.count; i++)
		whole &= c->cpus.list[i].fd >= 0;
	if (!text || (whole && c->online && !strcmp(text, c->online)))
		return;
	_cleanup_free_ bool *online = xcalloc(CPUS_MAX, sizeof(*online));
	_cleanup_close_ int dir = openat(at, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct cgroup_call call = {.dir = dir, .online = online};

	(void)counters_each_cpu(text, mark_cpu, online);
	drop_cpus(c, online);
	if (dir < 0)
		return;
	prepare(c, &call);
	(void)counters_each_cpu(text, attach_cpu, &call);
	free(c->online);
	c->online = call.failed ? NULL : xstrdup(text);
}

/* ---- reading ---- */

/*
 * Adds the count since the last time, scaled as if the event had been on the CPU all the time.
 * While it has not been there at all the count is unknown, and the time is kept for later.
 */
static void take_value(struct counter *n, struct counter_fd *f, uint64_t value, uint64_t enabled,
		       uint64_t running)
{
	uint64_t count = value - f->value;

	if (enabled < f->seen_enabled || running < f->seen_running || count >> 63) {
		/* it has restarted: count from here on */
		f->value = value;
		f->enabled = f->seen_enabled = enabled;
		f->running = f->seen_running = running;
		return;
	}
	uint64_t since = enabled - f->seen_enabled, on_cpu = running - f->seen_running;
	n->enabled += since;
	n->running += on_cpu;
	n->enabled_ever += since;
	n->running_ever += on_cpu;
	f->seen_enabled = enabled;
	f->seen_running = running;
	double e = (double)(enabled - f->enabled), r = (double)(running - f->running);
	if (r <= 0 && !count) {
		n->pending += since;
		return;
	}
	double scaled = r > 0 && r < e ? (double)count * (e / r) : 0;
	n->total += r > 0 && r < e && scaled < 9e18 ? (uint64_t)(scaled + 0.5) : count;
	f->value = value;
	f->enabled = enabled;
	f->running = running;
}

static void vanish(struct counters *c, struct counter_fd *first, unsigned members)
{
	for (unsigned i = members; i-- > 0;) {
		if (first[i].fd >= 0)
			c->ops->close(first[i].fd);
		first[i].fd = -1;
	}
}

/* A CPU that goes offline splits its groups: each event is read separately for the last time. */
static void take_parted(struct counters *c, struct counter_fd *first, unsigned members)
{
	uint64_t buffer[3 + COUNTERS_MAX];

	for (unsigned i = 0; i < members; i++)
		if (c->ops->read(first[i].fd, buffer, sizeof(buffer)) ==
			    (ssize_t)(4 * sizeof(*buffer)) &&
		    buffer[0] == 1)
			take_value(&c->counters[first[i].counter], &first[i], buffer[3], buffer[1],
				   buffer[2]);
}

/* enabled and running of the group, then a value of each member. */
static void take_group(struct counters *c, struct counter_fd *first)
{
	uint64_t buffer[3 + COUNTERS_MAX];
	unsigned members = first->members;
	ssize_t want = (ssize_t)((3 + members) * sizeof(*buffer));

	if (c->ops->read(first->fd, buffer, sizeof(buffer)) != want || buffer[0] != members) {
		take_parted(c, first, members);
		vanish(c, first, members);
		return;
	}
	for (unsigned i = 0; i < members; i++)
		take_value(&c->counters[first[i].counter], &first[i], buffer[3 + i], buffer[1],
			   buffer[2]);
}

void counters_take(struct counters *c, struct fd_list *fds)
{
	for (size_t i = 0; i < fds->count; i++) {
		struct counter_fd *f = &fds->list[i];
		uint64_t buffer[3];

		if (f->fd < 0 || !f->members)
			continue;
		if (fds->grouped)
			take_group(c, f);
		else if (c->ops->read(f->fd, buffer, sizeof(buffer)) == (ssize_t)sizeof(buffer))
			take_value(&c->counters[f->counter], f, buffer[0], buffer[1], buffer[2]);
		else
			vanish(c, f, 1);
	}
}
