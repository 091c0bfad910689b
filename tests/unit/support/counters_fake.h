/*
 * A pretend Skylake for the source `counters`: a kernel whose counters a test sets, and a directory
 * with the processes of a job.
 */
#pragma once

#include "counters.h"

/* ---- a pretend kernel ----------------------------------------------------------------------- */

#define FAKE_FDS 512
#define FAKE_BASE 5000

static struct fake {
	struct fake_fd {
		bool open;
		int pid, cpu, group;
		unsigned long flags;
		struct perf_event_attr attr;
		uint64_t value, enabled, running;
		bool broken;
	} fds[FAKE_FDS];
	char names[FAKE_FDS][128]; /* config is the number of the name */
	size_t name_count;
	const char *unknown; /* the resolver does not know it */
	const char *missing; /* the CPU does not count it */
	int deny_pid;        /* not ours */
	bool deny_kernel;    /* user mode only */
	bool deny_cpus;      /* nothing but own tasks */
	unsigned group_max;  /* more than so many do not go together */
	unsigned opened, fd_limit;
} fake;

static inline const char *fake_name(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_RAW ? fake.names[attr->config] : "";
}

static inline unsigned fake_group_size(int leader)
{
	unsigned n = 1;

	for (size_t i = 0; i < FAKE_FDS; i++)
		n += fake.fds[i].open && fake.fds[i].group == leader;
	return n;
}

static inline int fake_open(struct perf_event_attr *attr, int pid, int cpu, int group,
			    unsigned long flags)
{
	size_t i = 0;

	assert_int_equal(attr->size, sizeof(*attr));
	assert_true(flags & PERF_FLAG_FD_CLOEXEC);
	if (fake.missing && !strcmp(fake_name(attr), fake.missing))
		return -ENOENT;
	if (fake.deny_kernel && !attr->exclude_kernel)
		return -EACCES;
	if (fake.deny_cpus && cpu >= 0)
		return -EACCES;
	if (fake.deny_pid && pid == fake.deny_pid)
		return -EACCES;
	if (group >= 0 && fake.group_max && fake_group_size(group) + 1 > fake.group_max)
		return -EINVAL;
	if (fake.fd_limit && fake.opened >= fake.fd_limit)
		return -EMFILE;
	while (i < FAKE_FDS && fake.fds[i].open)
		i++;
	assert_true(i < FAKE_FDS);
	if (group >= 0)
		assert_true(fake.fds[group - FAKE_BASE].open);
	fake.fds[i] = (struct fake_fd){.open = true,
				       .pid = pid,
				       .cpu = cpu,
				       .group = group,
				       .flags = flags,
				       .attr = *attr};
	fake.opened++;
	return FAKE_BASE + (int)i;
}

static inline ssize_t fake_read(int fd, void *buffer, size_t size)
{
	const struct fake_fd *f = &fake.fds[fd - FAKE_BASE];
	uint64_t out[80];
	size_t n = 0;

	assert_true(fd >= FAKE_BASE && fd < FAKE_BASE + FAKE_FDS && f->open);
	if (f->broken)
		return -EIO;
	if (!(f->attr.read_format & PERF_FORMAT_GROUP)) {
		out[n++] = f->value;
		out[n++] = f->enabled;
		out[n++] = f->running;
	} else {
		n = 3;
		out[1] = f->enabled;
		out[2] = f->running;
		out[n++] = f->value;
		for (size_t i = 0; i < FAKE_FDS; i++)
			if (fake.fds[i].open && fake.fds[i].group == fd)
				out[n++] = fake.fds[i].value;
		out[0] = n - 3;
	}
	assert_true(n * sizeof(*out) <= size);
	memcpy(buffer, out, n * sizeof(*out));
	return (ssize_t)(n * sizeof(*out));
}

static inline void fake_close(int fd)
{
	struct fake_fd *f = &fake.fds[fd - FAKE_BASE];

	assert_true(fd >= FAKE_BASE && fd < FAKE_BASE + FAKE_FDS && f->open);
	f->open = false;
	fake.opened--;
}

static inline int fake_resolve(const char *const *pmus, size_t count, const char *name,
			       struct event_code *ret, struct strbuf *why)
{
	size_t i = 0;

	assert_true(count == 0 || pmus[0]);
	if (fake.unknown && !strcmp(name, fake.unknown)) {
		strbuf_addstr(why, "never heard of it");
		return -ENOENT;
	}
	if (str_prefix(name, "PERF_COUNT_SW_"))
		return event_resolve_for(NULL, 0, name, ret, why);
	while (i < fake.name_count && strcmp(fake.names[i], name) != 0)
		i++;
	if (i == fake.name_count)
		snprintf(fake.names[fake.name_count++], sizeof(fake.names[0]), "%s", name);
	*ret = (struct event_code){.type = PERF_TYPE_RAW, .config = i, .kind = "native"};
	return 0;
}

static inline struct fake_fd *fake_find(int pid, int cpu, const char *name)
{
	for (size_t i = 0; i < FAKE_FDS; i++)
		if (fake.fds[i].open && fake.fds[i].pid == pid && fake.fds[i].cpu == cpu &&
		    !strcmp(fake_name(&fake.fds[i].attr), name))
			return &fake.fds[i];
	return NULL;
}

static inline void fake_set(int pid, const char *name, uint64_t value, uint64_t enabled,
			    uint64_t running)
{
	struct fake_fd *f = fake_find(pid, -1, name);

	if (!f)
		fail_msg("%s is not open for %d", name, pid);
	f->value = value;
	f->enabled = enabled;
	f->running = running;
}

/* ---- a pretend machine: a directory, a list of processes, a source opened on them ------------ */

static inline void machine_write(const struct machine *m, const char *name, const char *fmt, ...)
	PL_PRINTF(3, 4);
static inline void machine_write(const struct machine *m, const char *name, const char *fmt, ...)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", m->root, name);
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	va_list ap;

	for (char *slash = strchr(path + strlen(m->root) + 1, '/'); slash;
	     slash = strchr(slash + 1, '/')) {
		*slash = 0;
		(void)mkdir(path, 0700);
		*slash = '/';
	}
	va_start(ap, fmt);
	strbuf_vaddf(&text, fmt, ap);
	va_end(ap);
	write_file(path, text.buf, text.len);
}

static inline int machine_setup(void **state)
{
	struct machine *m = xcalloc(1, sizeof(*m));

	fake = (struct fake){0};
	m->root = scratch_make();
	m->groups = xasprintf("%s/data/events", getenv("PL_SOURCE"));
	m->ops = (struct counters_ops){.open = fake_open,
				       .read = fake_read,
				       .close = fake_close,
				       .resolve = fake_resolve,
				       .groups_dir = m->groups};
	m->ctx = (struct source_context){.root = m->root, .watch = &m->watch};
	m->why = (struct strbuf)STRBUF_INIT;
	machine_write(m, "proc/cpuinfo",
		      "processor\t: 0\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 85\n"
		      "stepping\t: 4\n");
	*state = m;
	return 0;
}

static inline int machine_teardown(void **state)
{
	machine_release(*state);
	/* whatever happened, nothing is left open */
	assert_int_equal(fake.opened, 0);
	return 0;
}

static inline void machine_thread(const struct machine *m, int pid, int tid, const char *children)
{
	_cleanup_free_ char *path = xasprintf("proc/%d/task/%d/children", pid, tid);

	machine_write(m, path, "%s", children);
}

/* A process of the machine with one thread. */
static inline void machine_process_of(const struct machine *m, int pid, int ppid, int group,
				      int session, uint64_t starttime, const char *children)
{
	_cleanup_free_ char *path = xasprintf("proc/%d/stat", pid);

	machine_write(m, path, "%d (x) S %d %d %d 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %llu 0 0 0\n",
		      pid, ppid, group, session, (unsigned long long)starttime);
	machine_thread(m, pid, pid, children);
}

static inline void machine_process(const struct machine *m, int pid, int ppid, int session,
				   uint64_t starttime, const char *children)
{
	machine_process_of(m, pid, ppid, pid, session, starttime, children);
}

static inline void watch_remove(struct job_processes *w, int pid)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->list[i].pid == pid)
			w->list[i--] = w->list[--w->count];
	qsort(w->list, w->count, sizeof(*w->list), by_pid);
}

static inline void machine_open(struct machine *m, const char *option)
{
	m->ctx.option = option;
	sample_init(&m->set, NULL, 0);
	if (counters_open(&m->ops, &m->ctx, &m->set, &m->state, &m->why) < 0)
		fail_msg("%s", m->why.buf);
}

static inline void machine_read(struct machine *m, uint64_t seconds)
{
	sample_begin(&m->set);
	m->set.time_ns = seconds * 1000000000u;
	m->set.timed = true;
	assert_int_equal(counters_read(m->state, &m->set), 0);
}

/* One process that stays, with two threads. */
static inline void one_process(struct machine *m)
{
	machine_process(m, 100, 1, 100, 50, "");
	machine_thread(m, 100, 101, "");
	watch_add(&m->watch, 100, 1, 50);
}

#define CYCLES "PERF_COUNT_HW_CPU_CYCLES"

static inline bool is_attached(int pid)
{
	return fake_find(pid, -1, CYCLES) != NULL;
}

#define FAKE_TEST(f) cmocka_unit_test_setup_teardown(f, machine_setup, machine_teardown)
