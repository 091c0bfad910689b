/*
 * The source `counters`: on a pretend Skylake with counters that a test sets, and live with the
 * kernel's own events, where a tree of processes makes a known number of page faults and each
 * must be counted once.
 */
#include "unit.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "core/fs.h"
#include "core/procparse.h"
#include "sources/counters.h"

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

static const char *fake_name(const struct perf_event_attr *attr)
{
	return attr->type == PERF_TYPE_RAW ? fake.names[attr->config] : "";
}

static unsigned fake_group_size(int leader)
{
	unsigned n = 1;

	for (size_t i = 0; i < FAKE_FDS; i++)
		n += fake.fds[i].open && fake.fds[i].group == leader;
	return n;
}

static int fake_open(struct perf_event_attr *attr, int pid, int cpu, int group, unsigned long flags)
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

static ssize_t fake_read(int fd, void *buffer, size_t size)
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

static void fake_close(int fd)
{
	struct fake_fd *f = &fake.fds[fd - FAKE_BASE];

	assert_true(fd >= FAKE_BASE && fd < FAKE_BASE + FAKE_FDS && f->open);
	f->open = false;
	fake.opened--;
}

static int fake_resolve(const char *const *pmus, size_t count, const char *name,
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

static struct fake_fd *fake_find(int pid, int cpu, const char *name)
{
	for (size_t i = 0; i < FAKE_FDS; i++)
		if (fake.fds[i].open && fake.fds[i].pid == pid && fake.fds[i].cpu == cpu &&
		    !strcmp(fake_name(&fake.fds[i].attr), name))
			return &fake.fds[i];
	return NULL;
}

static void fake_set(int pid, const char *name, uint64_t value, uint64_t enabled, uint64_t running)
{
	struct fake_fd *f = fake_find(pid, -1, name);

	if (!f)
		fail_msg("%s is not open for %d", name, pid);
	f->value = value;
	f->enabled = enabled;
	f->running = running;
}

/* ---- a pretend machine: a directory, a list of processes, a source opened on them -------------
 */

struct machine {
	char *root, *groups;
	struct counters_ops ops;
	struct source_context ctx;
	struct watch watch;
	struct sample_set set;
	struct strbuf why;
	void *state;
};

static void machine_write(const struct machine *m, const char *name, const char *fmt, ...)
	PL_PRINTF(3, 4);
static void machine_write(const struct machine *m, const char *name, const char *fmt, ...)
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

static int machine_setup(void **state)
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

static int machine_teardown(void **state)
{
	struct machine *m = *state;

	counters_close(m->state);
	sample_release(&m->set);
	strbuf_release(&m->why);
	for (size_t i = 0; i < m->watch.group_count; i++)
		free(m->watch.groups[i].path);
	free(m->watch.groups);
	free(m->watch.list);
	scratch_remove(m->root);
	free(m->groups);
	free(m);
	/* whatever happened, nothing is left open */
	assert_int_equal(fake.opened, 0);
	return 0;
}

static void machine_thread(const struct machine *m, int pid, int tid, const char *children)
{
	_cleanup_free_ char *path = xasprintf("proc/%d/task/%d/children", pid, tid);

	machine_write(m, path, "%s", children);
}

/* A process of the machine with one thread. */
static void machine_process(const struct machine *m, int pid, int ppid, int session,
			    uint64_t starttime, const char *children)
{
	_cleanup_free_ char *path = xasprintf("proc/%d/stat", pid);

	machine_write(m, path, "%d (x) S %d %d %d 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 %llu 0 0 0\n",
		      pid, ppid, pid, session, (unsigned long long)starttime);
	machine_thread(m, pid, pid, children);
}

static int by_pid(const void *a, const void *b)
{
	return ((const struct watched *)a)->pid - ((const struct watched *)b)->pid;
}

/* Puts a process into the list of the job. */
static void watch_add(struct watch *w, int pid, int ppid, uint64_t starttime)
{
	GROW(w->list, w->count, w->cap);
	w->list[w->count++] = (struct watched){.pid = pid, .ppid = ppid, .starttime = starttime};
	qsort(w->list, w->count, sizeof(*w->list), by_pid);
}

static void watch_remove(struct watch *w, int pid)
{
	for (size_t i = 0; i < w->count; i++)
		if (w->list[i].pid == pid)
			w->list[i--] = w->list[--w->count];
	qsort(w->list, w->count, sizeof(*w->list), by_pid);
}

static void machine_open(struct machine *m, const char *option)
{
	m->ctx.option = option;
	sample_init(&m->set, NULL, 0);
	if (counters_open(&m->ops, &m->ctx, &m->set, &m->state, &m->why) < 0)
		fail_msg("%s", m->why.buf);
}

static void machine_read(struct machine *m, uint64_t seconds)
{
	sample_begin(&m->set);
	m->set.time_ns = seconds * 1000000000u;
	assert_int_equal(counters_read(m->state, &m->set), 0);
}

static int metric_of(const struct sample_set *s, const char *name)
{
	for (size_t i = 0; i < s->metric_count; i++)
		if (!strcmp(s->metrics[i].name, name))
			return (int)i;
	return -1;
}

/* The value of a metric in the row of this kind; NAN when it is absent. */
static double row_value(const struct sample_set *s, enum entity_kind kind, const char *name)
{
	int m = metric_of(s, name);

	if (m < 0)
		fail_msg("there is no metric %s", name);
	for (size_t i = 0; i < s->row_count; i++)
		if (s->entities[s->rows[i].entity].kind == kind && s->rows[i].present >> m & 1)
			return sample_value(s, i, (unsigned)m);
	return NAN;
}

static double value(const struct machine *m, const char *name)
{
	return row_value(&m->set, ENTITY_JOB, name);
}

static const char *absence(const struct machine *m, const char *name)
{
	for (size_t i = 0; i < m->set.absence_count; i++)
		if ((int)m->set.absences[i].metric == metric_of(&m->set, name))
			return m->set.absences[i].reason;
	return "";
}

static char *fact(const struct machine *m, const char *key)
{
	const char *v;
	size_t n;

	for (size_t i = 0; i < m->set.entity_count; i++)
		if (m->set.entities[i].kind == ENTITY_JOB &&
		    entity_fact(&m->set.entities[i], key, &v, &n))
			return xstrndup(v, n);
	return xstrdup("");
}

static void check_value(const struct machine *m, const char *name, double want)
{
	double got = value(m, name);

	if (!(fabs(got - want) <= 1e-6 * fabs(want) + 1e-9))
		fail_msg("%s is %.17g, want %.17g", name, got, want);
}

#define assert_absent(m, name) assert_true(isnan(value(m, name)))
#define assert_fact(m, key, want)                        \
	do {                                             \
		_cleanup_free_ char *got = fact(m, key); \
		assert_string_equal(got, want);          \
	} while (0)

/* One process that stays, with two threads. */
static void one_process(struct machine *m)
{
	machine_process(m, 100, 1, 100, 50, "");
	machine_thread(m, 100, 101, "");
	watch_add(&m->watch, 100, 1, 50);
}

/* ---- counting ------------------------------------------------------------------------------- */

#define DP(what) "FP_ARITH_INST_RETIRED:" what "_DOUBLE"

static void a_pretend_skylake_counts(void **state)
{
	struct machine *m = *state;

	one_process(m);
	machine_open(m, "FLOPS_DP,IPC");
	assert_int_equal(metric_of(&m->set, "sp_512"), -1);
	machine_read(m, 10);
	check_value(m, "dp_512", 0);
	assert_absent(m, "FLOPS_DP.flops");
	for (int tid = 100; tid <= 101; tid++) {
		fake_set(tid, DP("SCALAR"), 10, 1000, 1000);
		fake_set(tid, DP("128B_PACKED"), 100, 1000, 1000);
		fake_set(tid, DP("256B_PACKED"), 1000, 1000, 1000);
		fake_set(tid, DP("512B_PACKED"), 10000, 1000, 1000);
		fake_set(tid, "PERF_COUNT_HW_CPU_CYCLES", 200, 1000, 1000);
		fake_set(tid, "PERF_COUNT_HW_INSTRUCTIONS", 500, 1000, 1000);
	}
	machine_read(m, 12);
	check_value(m, "dp_scalar", 20);
	check_value(m, "dp_512", 20000);
	check_value(m, "cycles", 400);
	check_value(m, "FLOPS_DP.flops", 84210);
	check_value(m, "FLOPS_DP.vector_ratio", 22200.0 / 22220);
	check_value(m, "IPC.ipc", 2.5);
	check_value(m, "IPC.instruction_rate", 500);
	check_value(m, "running_percent", 100);
	/* over the next interval nothing happens: rates are 0, ratios have no value */
	machine_read(m, 15);
	check_value(m, "dp_512", 20000);
	check_value(m, "FLOPS_DP.flops", 0);
	assert_absent(m, "IPC.ipc");
	assert_absent(m, "running_percent");
	assert_fact(m, "microarchitecture", "skylake_avx512");
	assert_fact(m, "counted_by", "process");
	assert_fact(m, "mode", "");
	const struct sample_metric *flops = &m->set.metrics[metric_of(&m->set, "FLOPS_DP.flops")];
	assert_int_equal(flops->unit, UNIT_PER_SECOND);
	assert_int_equal(flops->kind, KIND_GAUGE);
	assert_int_equal(flops->agg, AGG_SUM);
	assert_int_equal(m->set.metrics[metric_of(&m->set, "IPC.ipc")].agg, AGG_NONE);
	assert_int_equal(m->set.metrics[metric_of(&m->set, "cycles")].kind, KIND_COUNTER);
	assert_int_equal(m->set.metrics[metric_of(&m->set, "cycles")].unit, UNIT_CYCLES);
}

static void events_of_a_group_go_on_the_cpu_together(void **state)
{
	struct machine *m = *state;

	one_process(m);
	machine_open(m, "hardware_events,software_events,MISS");
	machine_read(m, 1);
	/* six and four events on two threads; MISS has none that is new */
	assert_int_equal(fake.opened, 20);
	const struct fake_fd *cycles = fake_find(100, -1, "PERF_COUNT_HW_CPU_CYCLES");
	assert_int_equal(cycles->group, -1);
	assert_true(cycles->attr.inherit);
	assert_false(cycles->attr.disabled);
	assert_int_equal(fake_find(100, -1, "PERF_COUNT_HW_BRANCH_MISSES")->group,
			 FAKE_BASE + (int)(cycles - fake.fds));
	unsigned leaders = 0;
	for (size_t i = 0; i < FAKE_FDS; i++) {
		const struct fake_fd *f = &fake.fds[i];

		if (!f->open)
			continue;
		leaders += f->group < 0;
		if (f->group >= 0) {
			const struct fake_fd *l = &fake.fds[f->group - FAKE_BASE];

			assert_int_equal(l->group, -1);
			assert_int_equal(l->pid, f->pid);
			assert_int_equal(l->attr.type, f->attr.type);
		}
	}
	assert_int_equal(leaders, 4);
}

static void a_group_that_does_not_fit_becomes_two(void **state)
{
	struct machine *m = *state;

	one_process(m);
	fake.group_max = 4;
	machine_open(m, "hardware_events");
	machine_read(m, 1);
	assert_int_equal(fake.opened, 12);
	const struct fake_fd *cycles = fake_find(100, -1, "PERF_COUNT_HW_CPU_CYCLES");
	const struct fake_fd *branches = fake_find(100, -1, "PERF_COUNT_HW_BRANCH_INSTRUCTIONS");
	const struct fake_fd *misses = fake_find(100, -1, "PERF_COUNT_HW_BRANCH_MISSES");
	assert_int_equal(fake_find(100, -1, "PERF_COUNT_HW_CACHE_REFERENCES")->group,
			 FAKE_BASE + (int)(cycles - fake.fds));
	assert_int_equal(branches->group, -1);
	assert_int_equal(misses->group, -1);
}

static void a_group_that_is_never_on_the_cpu_is_split(void **state)
{
	struct machine *m = *state;

	one_process(m);
	machine_open(m, "hardware_events");
	machine_read(m, 1);
	for (size_t i = 0; i < FAKE_FDS; i++)
		if (fake.fds[i].open)
			fake.fds[i].enabled = 200000000;
	machine_read(m, 2);
	check_value(m, "cycles", 0);
	check_value(m, "running_percent", 0);
	assert_int_equal(fake.opened, 12);
	for (size_t i = 0; i < FAKE_FDS; i++)
		if (fake.fds[i].open) {
			assert_int_equal(fake.fds[i].group, -1);
			assert_int_equal(fake.fds[i].enabled, 0);
		}
	fake_set(101, "PERF_COUNT_HW_CPU_CYCLES", 300, 1000, 500);
	machine_read(m, 3);
	check_value(m, "cycles", 600);
	/* once is enough */
	assert_non_null(fake_find(101, -1, "PERF_COUNT_HW_CPU_CYCLES"));
	assert_int_equal(fake_find(101, -1, "PERF_COUNT_HW_CPU_CYCLES")->value, 300);
}

static void what_took_turns_is_scaled(void **state)
{
	struct machine *m = *state;

	machine_process(m, 100, 1, 100, 50, "");
	watch_add(&m->watch, 100, 1, 50);
	machine_open(m, "IPC,L2cache");
	machine_read(m, 1);
	fake_set(100, "PERF_COUNT_HW_CPU_CYCLES", 1000, 1000, 1000);
	fake_set(100, "PERF_COUNT_HW_INSTRUCTIONS", 1000, 1000, 1000);
	fake_set(100, "L2_RQSTS:REFERENCES", 50, 1000, 250);
	fake_set(100, "L2_RQSTS:MISS", 10, 1000, 250);
	machine_read(m, 2);
	check_value(m, "l2_requests", 200);
	check_value(m, "L2cache.miss_ratio", 0.2);
	check_value(m, "L2cache.request_rate", 0.2);
	check_value(m, "running_percent", 25);
	/* not on the CPU at all: nothing is known, and the total does not move */
	fake_set(100, "PERF_COUNT_HW_CPU_CYCLES", 2000, 2000, 2000);
	fake_set(100, "PERF_COUNT_HW_INSTRUCTIONS", 2000, 2000, 2000);
	fake_set(100, "L2_RQSTS:REFERENCES", 50, 2000, 250);
	fake_set(100, "L2_RQSTS:MISS", 10, 2000, 250);
	machine_read(m, 3);
	check_value(m, "l2_requests", 200);
	assert_absent(m, "L2cache.miss_ratio");
	check_value(m, "IPC.ipc", 1);
	check_value(m, "running_percent", 0);
	/* back again: 100 in 500 of the 2000 ns since are 400, over both intervals */
	fake_set(100, "PERF_COUNT_HW_CPU_CYCLES", 3000, 3000, 3000);
	fake_set(100, "PERF_COUNT_HW_INSTRUCTIONS", 3000, 3000, 3000);
	fake_set(100, "L2_RQSTS:REFERENCES", 150, 3000, 750);
	fake_set(100, "L2_RQSTS:MISS", 35, 3000, 750);
	machine_read(m, 4);
	check_value(m, "l2_requests", 600);
	check_value(m, "L2cache.miss_ratio", 0.25);
	check_value(m, "L2cache.request_rate", 0.2);
	check_value(m, "running_percent", 50);
}

static void a_little_that_was_never_on_the_cpu_does_not_matter(void **state)
{
	struct machine *m = *state;

	one_process(m);
	machine_open(m, "IPC");
	machine_read(m, 1);
	fake_set(100, "PERF_COUNT_HW_CPU_CYCLES", 1000, 10000, 10000);
	fake_set(100, "PERF_COUNT_HW_INSTRUCTIONS", 2000, 10000, 10000);
	fake_set(101, "PERF_COUNT_HW_CPU_CYCLES", 0, 10, 0);
	fake_set(101, "PERF_COUNT_HW_INSTRUCTIONS", 0, 10, 0);
	machine_read(m, 2);
	check_value(m, "IPC.ipc", 2);
	machine_read(m, 3);
	check_value(m, "IPC.instruction_rate", 0);
}

static void counters_wrap_and_begin_anew(void **state)
{
	struct machine *m = *state;

	machine_process(m, 100, 1, 100, 50, "");
	watch_add(&m->watch, 100, 1, 50);
	machine_open(m, "hardware_events");
	machine_read(m, 1);
	fake_set(100, "PERF_COUNT_HW_CPU_CYCLES", UINT64_MAX / 4, 10, 10);
	machine_read(m, 2);
	fake_set(100, "PERF_COUNT_HW_CPU_CYCLES", UINT64_MAX / 2, 20, 20);
	machine_read(m, 3);
	/* as far as a value goes, and no further */
	check_value(m, "cycles", 9223372036854775807.0);
	assert_true(value(m, "cycles") > 0);
	fake_set(100, "PERF_COUNT_HW_INSTRUCTIONS", 1000, 100, 100);
	machine_read(m, 4);
	check_value(m, "instructions", 1000);
	/* smaller than before: it was begun anew, and goes on from there */
	fake_set(100, "PERF_COUNT_HW_INSTRUCTIONS", 5, 10, 10);
	machine_read(m, 5);
	check_value(m, "instructions", 1000);
	fake_set(100, "PERF_COUNT_HW_INSTRUCTIONS", 8, 20, 20);
	machine_read(m, 6);
	check_value(m, "instructions", 1003);
	/* less with more time: nonsense, and no count */
	fake_set(100, "PERF_COUNT_HW_INSTRUCTIONS", 1, 30, 30);
	machine_read(m, 7);
	check_value(m, "instructions", 1003);
}

static void a_counter_that_vanishes_keeps_what_it_counted(void **state)
{
	struct machine *m = *state;

	one_process(m);
	machine_open(m, "IPC");
	machine_read(m, 1);
	for (int tid = 100; tid <= 101; tid++) {
		fake_set(tid, "PERF_COUNT_HW_CPU_CYCLES", 100, 1000, 1000);
		fake_set(tid, "PERF_COUNT_HW_INSTRUCTIONS", 200, 1000, 1000);
	}
	machine_read(m, 2);
	fake_find(101, -1, "PERF_COUNT_HW_INSTRUCTIONS")->broken = true;
	fake_set(100, "PERF_COUNT_HW_INSTRUCTIONS", 250, 2000, 2000);
	machine_read(m, 3);
	check_value(m, "instructions", 450);
	assert_int_equal(fake.opened, 3);
	machine_read(m, 4);
	check_value(m, "instructions", 450);
}

/* ---- what is absent ------------------------------------------------------------------------- */

static void what_does_not_work_is_absent_with_its_reason(void **state)
{
	struct machine *m = *state;

	one_process(m);
	fake.missing = "L2_TRANS:L2_WB";
	fake.unknown = "MEM_LOAD_RETIRED:L3_HIT";
	fake.deny_kernel = true;
	machine_open(m, "L3,L3cache,software_events");
	machine_read(m, 1);
	assert_contains(absence(m, "l2_evictions"), "this machine does not count L2_TRANS:L2_WB");
	assert_string_equal(absence(m, "L3.bandwidth"), "needs l2_evictions, which is not counted");
	assert_string_equal(absence(m, "L3.load_bandwidth"), "");
	assert_string_equal(absence(m, "l3_load_hits"),
			    "MEM_LOAD_RETIRED:L3_HIT: never heard of it");
	assert_string_equal(absence(m, "L3cache.miss_rate"), "");
	assert_contains(absence(m, "L3cache.miss_ratio"), "needs l3_load_hits");
	/* these happen in the kernel: in user mode they would be 0 */
	assert_contains(absence(m, "context_switches"), "kernel.perf_event_paranoid");
	assert_contains(absence(m, "cpu_migrations"), "as root permits it");
	assert_string_equal(absence(m, "page_faults"), "");
	assert_fact(m, "mode", "user");
	assert_absent(m, "l2_evictions");
	assert_absent(m, "context_switches");
	fake_set(100, "L2_LINES_IN:ALL", 1000, 10, 10);
	assert_true(fake_find(100, -1, "L2_LINES_IN:ALL")->attr.exclude_kernel);
	machine_read(m, 3);
	check_value(m, "L3.load_bandwidth", 32000);
	assert_absent(m, "L3.bandwidth");
}

static void nothing_at_all_is_an_error(void **state)
{
	struct machine *m = *state;
	struct source_context none = {.root = ""};

	one_process(m);
	fake.fd_limit = 1;
	fake.opened = 1;
	m->ctx.option = "IPC";
	assert_int_equal(counters_open(&m->ops, &m->ctx, &m->set, &m->state, &m->why), -ENOENT);
	assert_contains(m->why.buf, "too few descriptors");
	assert_null(m->state);
	fake.opened = 0;
	strbuf_reset(&m->why);
	assert_int_equal(counters_open(&m->ops, &none, &m->set, &m->state, &m->why), -EINVAL);
	assert_contains(m->why.buf, "none is named");
	/* the kernel's own counters mean nothing on a recorded tree */
	strbuf_reset(&m->why);
	assert_int_equal(counters_open(&counters_kernel, &m->ctx, &m->set, &m->state, &m->why),
			 -ENOTSUP);
	assert_contains(m->why.buf, "a running machine only");
}

static void groups_are_named(void **state)
{
	struct machine *m = *state;

	one_process(m);
	m->ctx.option = "IPC,L5";
	assert_int_equal(counters_open(&m->ops, &m->ctx, &m->set, &m->state, &m->why), -EINVAL);
	assert_contains(
		m->why.buf,
		"no group 'L5' for skylake_avx512; it has hardware_events, software_events");
	/* "user" alone: the usual groups, without the kernel's part */
	strbuf_reset(&m->why);
	machine_open(m, "user");
	machine_read(m, 1);
	assert_int_equal(fake.opened, 20);
	assert_true(fake_find(100, -1, "PERF_COUNT_HW_CPU_CYCLES")->attr.exclude_kernel);
	assert_fact(m, "mode", "user");
	check_value(m, "context_switches", 0);
}

static void more_than_there_is_room_for_is_left_out_and_said(void **state)
{
	struct machine *m = *state;

	one_process(m);
	machine_open(m, "all");
	machine_read(m, 1);
	assert_true(m->set.metric_count <= SAMPLE_METRICS_MAX);
	assert_true(m->set.metric_count > 50);
	_cleanup_free_ char *left_out = fact(m, "left_out");
	assert_contains(left_out, ": a source has at most 64 metrics");
	assert_int_equal(metric_of(&m->set, "FLOPS_DP.flops") < 0,
			 strstr(left_out, "FLOPS_DP") != NULL);
}

/* ---- who is covered ------------------------------------------------------------------------- */

#define CYCLES "PERF_COUNT_HW_CPU_CYCLES"

static bool is_attached(int pid)
{
	return fake_find(pid, -1, CYCLES) != NULL;
}

static void those_that_were_there_get_descriptors_and_later_ones_not(void **state)
{
	struct machine *m = *state;

	machine_process(m, 100, 1, 100, 50, "110 120 ");
	machine_process(m, 110, 100, 100, 51, "111");
	machine_process(m, 111, 110, 100, 52, "");
	/* made between the list of the job and now: not in the list, but a child already */
	machine_process(m, 120, 100, 100, 53, "121");
	machine_process(m, 121, 120, 100, 54, "");
	watch_add(&m->watch, 100, 1, 50);
	watch_add(&m->watch, 110, 100, 51);
	watch_add(&m->watch, 111, 110, 52);
	machine_open(m, "hardware_events");
	machine_read(m, 1);
	assert_true(is_attached(100) && is_attached(110) && is_attached(111));
	assert_true(is_attached(120) && is_attached(121));
	assert_int_equal(fake.opened, 30);
	/* made later by one that is covered, and by what that one made */
	machine_process(m, 130, 111, 100, UINT32_MAX, "131");
	machine_process(m, 131, 130, 100, UINT32_MAX, "");
	watch_add(&m->watch, 120, 100, 53);
	watch_add(&m->watch, 121, 120, 54);
	watch_add(&m->watch, 131, 130, UINT32_MAX);
	watch_add(&m->watch, 130, 111, UINT32_MAX);
	machine_read(m, 2);
	assert_int_equal(fake.opened, 30);
	/* grandchildren of one that is gone */
	watch_remove(&m->watch, 130);
	machine_process(m, 132, 131, 100, UINT32_MAX, "");
	watch_add(&m->watch, 132, 131, UINT32_MAX);
	machine_read(m, 3);
	assert_int_equal(fake.opened, 30);
}

static void orphans_are_covered_and_those_of_a_launcher_are_not(void **state)
{
	struct machine *m = *state;
	const uint64_t later = UINT32_MAX;

	machine_process(m, 20, 1, 20, 10, ""); /* a launcher, not of the job */
	machine_process(m, 100, 20, 100, 50, "");
	watch_add(&m->watch, 100, 20, 50);
	machine_open(m, "hardware_events");
	machine_read(m, 1);
	assert_int_equal(fake.opened, 6);
	/* of the same session, with a reaper as parent */
	machine_process(m, 200, 20, 100, later, "");
	watch_add(&m->watch, 200, 20, later);
	/* of a session whose leader is gone: a daemon */
	machine_process(m, 201, 20, 199, later, "");
	watch_add(&m->watch, 201, 20, later);
	/* taken by init */
	machine_process(m, 202, 1, 202, later, "");
	watch_add(&m->watch, 202, 1, later);
	/* its child */
	machine_process(m, 203, 202, 202, later, "");
	watch_add(&m->watch, 203, 202, later);
	machine_read(m, 2);
	assert_int_equal(fake.opened, 6);
	/* started by the launcher with a session of its own, and by another in that one's */
	machine_process(m, 210, 20, 210, later, "");
	watch_add(&m->watch, 210, 20, later);
	machine_process(m, 21, 1, 21, 10, "");
	machine_process(m, 211, 21, 21, later, "");
	watch_add(&m->watch, 211, 21, later);
	/* older than everything we attached to, found late */
	machine_process(m, 212, 20, 20, 5, "");
	watch_add(&m->watch, 212, 20, 5);
	machine_read(m, 3);
	assert_true(is_attached(210) && is_attached(211) && is_attached(212));
	assert_int_equal(fake.opened, 24);
}

static void a_pid_that_is_used_again_is_another_process(void **state)
{
	struct machine *m = *state;

	machine_process(m, 20, 1, 20, 10, "");
	machine_process(m, 100, 20, 100, 50, "");
	watch_add(&m->watch, 100, 20, 50);
	machine_open(m, "hardware_events");
	machine_read(m, 1);
	fake_set(100, CYCLES, 1000, 10, 10);
	machine_read(m, 2);
	watch_remove(&m->watch, 100);
	machine_process(m, 100, 20, 20, UINT32_MAX, "");
	watch_add(&m->watch, 100, 20, UINT32_MAX);
	machine_read(m, 3);
	/* the old one's descriptors are still there, and those of the new one */
	assert_int_equal(fake.opened, 12);
	check_value(m, "cycles", 1000);
}

static void without_lists_of_children_the_time_decides(void **state)
{
	struct machine *m = *state;

	machine_process(m, 100, 1, 100, 50, "");
	_cleanup_free_ char *children = xasprintf("%s/proc/100/task/100/children", m->root);
	assert_int_equal(unlink(children), 0);
	watch_add(&m->watch, 100, 1, 50);
	machine_open(m, "hardware_events");
	machine_read(m, 1);
	/* one that began long before, and was not in the list then; one that began later */
	machine_process(m, 110, 100, 100, 51, "");
	machine_process(m, 111, 100, 100, UINT32_MAX, "");
	watch_add(&m->watch, 110, 100, 51);
	watch_add(&m->watch, 111, 100, UINT32_MAX);
	machine_read(m, 2);
	assert_true(is_attached(110));
	assert_false(is_attached(111));
}

static void those_we_may_not_count_are_told(void **state)
{
	struct machine *m = *state;

	machine_process(m, 100, 1, 100, 50, "");
	machine_process(m, 200, 1, 200, 50, "210");
	machine_process(m, 210, 200, 200, 51, "");
	watch_add(&m->watch, 100, 1, 50);
	watch_add(&m->watch, 200, 1, 50);
	watch_add(&m->watch, 210, 200, 51);
	fake.deny_pid = 200;
	machine_open(m, "hardware_events");
	machine_read(m, 1);
	assert_true(is_attached(100) && is_attached(210));
	assert_false(is_attached(200));
	assert_fact(m, "not_counted", "1 process: Permission denied");
	/* what it makes later is not covered by anybody */
	machine_process(m, 211, 200, 200, UINT32_MAX, "");
	watch_add(&m->watch, 211, 200, UINT32_MAX);
	machine_read(m, 2);
	assert_true(is_attached(211));
	/* one that is gone before it could be opened is no loss */
	watch_add(&m->watch, 300, 1, 60);
	machine_read(m, 3);
	assert_fact(m, "not_counted", "1 process: Permission denied");
}

static void a_job_that_we_may_not_count_has_no_values(void **state)
{
	struct machine *m = *state;

	machine_open(m, "hardware_events");
	machine_read(m, 1);
	assert_int_equal(m->set.row_count, 0);
	assert_int_equal(m->set.absence_count, 0);
	machine_process(m, 200, 1, 200, 50, "");
	watch_add(&m->watch, 200, 1, 50);
	fake.deny_pid = 200;
	machine_read(m, 2);
	assert_int_equal(m->set.row_count, 0);
	assert_int_equal(m->set.absence_count, 1);
	assert_int_equal(m->set.absences[0].metric, SAMPLE_METRICS_MAX);
	assert_string_equal(m->set.absences[0].reason,
			    "the processes of the job: Permission denied");
	/* one that we may */
	machine_process(m, 300, 1, 300, 50, "");
	watch_add(&m->watch, 300, 1, 50);
	machine_read(m, 3);
	check_value(m, "cycles", 0);
}

static void too_few_descriptors_are_told(void **state)
{
	struct machine *m = *state;

	machine_process(m, 100, 1, 100, 50, "");
	machine_process(m, 200, 1, 200, 50, "");
	watch_add(&m->watch, 100, 1, 50);
	watch_add(&m->watch, 200, 1, 50);
	machine_open(m, "hardware_events");
	fake.fd_limit = 6;
	machine_read(m, 1);
	assert_true(is_attached(100));
	assert_fact(m, "not_counted", "1 process: Too many open files, raise `ulimit -n`");
}

static void descriptors_that_nobody_needs_are_given_back(void **state)
{
	struct machine *m = *state;

	machine_process(m, 20, 1, 20, 10, "");
	machine_process(m, 100, 20, 100, 50, "");
	machine_process(m, 200, 20, 200, 50, "");
	watch_add(&m->watch, 100, 20, 50);
	watch_add(&m->watch, 200, 20, 50);
	machine_open(m, "hardware_events");
	machine_read(m, 1);
	machine_process(m, 110, 100, 100, UINT32_MAX, "");
	watch_add(&m->watch, 110, 100, UINT32_MAX);
	machine_read(m, 2);
	/* the first ends; its child is counted by its descriptors, which stay */
	watch_remove(&m->watch, 100);
	fake_set(100, CYCLES, 1000, 10, 10);
	for (unsigned i = 3; i < 9; i++)
		machine_read(m, i);
	assert_int_equal(fake.opened, 12);
	check_value(m, "cycles", 1000);
	/* its child ends too, and what it did comes back with its end */
	watch_remove(&m->watch, 110);
	fake_set(100, CYCLES, 1500, 20, 20);
	for (unsigned i = 9; i < 14; i++)
		machine_read(m, i);
	assert_int_equal(fake.opened, 6);
	assert_false(is_attached(100));
	check_value(m, "cycles", 1500);
	/* a new one takes the place */
	machine_process(m, 300, 20, 300, UINT32_MAX, "");
	watch_add(&m->watch, 300, 20, UINT32_MAX);
	machine_read(m, 14);
	fake_set(300, CYCLES, 7, 1, 1);
	machine_read(m, 15);
	check_value(m, "cycles", 1507);
}

static void while_there_are_orphans_nothing_is_given_back(void **state)
{
	struct machine *m = *state;

	machine_process(m, 100, 20, 100, 50, "");
	watch_add(&m->watch, 100, 20, 50);
	machine_open(m, "hardware_events");
	machine_read(m, 1);
	watch_remove(&m->watch, 100);
	machine_process(m, 200, 1, 100, UINT32_MAX, "");
	watch_add(&m->watch, 200, 1, UINT32_MAX);
	for (unsigned i = 2; i < 9; i++)
		machine_read(m, i);
	assert_int_equal(fake.opened, 6);
	watch_remove(&m->watch, 200);
	for (unsigned i = 9; i < 14; i++)
		machine_read(m, i);
	assert_int_equal(fake.opened, 0);
}

/* ---- control groups and the machine --------------------------------------------------------- */

static void have_group(struct machine *m, const char *controller)
{
	m->watch.groups = xcalloc(1, sizeof(*m->watch.groups));
	m->watch.group_count = 1;
	snprintf(m->watch.groups[0].controller, sizeof(m->watch.groups[0].controller), "%s",
		 controller);
	m->watch.groups[0].path = xasprintf("%s/sys/fs/cgroup/job1", m->root);
	machine_write(m, "sys/fs/cgroup/job1/cgroup.procs", "100\n");
	machine_write(m, "sys/devices/system/cpu/online", "0,2-3\n");
	machine_write(m, "proc/self/cgroup", "0::/monitor/job1x\n");
}

static void a_control_group_is_counted_on_every_cpu(void **state)
{
	struct machine *m = *state;

	one_process(m);
	have_group(m, "");
	machine_open(m, "IPC,software_events");
	assert_int_equal(fake.opened, 18);
	machine_read(m, 1);
	assert_int_equal(fake.opened, 18);
	assert_fact(m, "counted_by", "control group");
	for (size_t i = 0; i < FAKE_FDS; i++) {
		struct fake_fd *f = &fake.fds[i];

		if (!f->open)
			continue;
		assert_true(f->flags & PERF_FLAG_PID_CGROUP);
		assert_false(f->attr.inherit);
		assert_true(f->attr.read_format & PERF_FORMAT_GROUP);
		assert_true(f->cpu == 0 || f->cpu == 2 || f->cpu == 3);
		f->value = !strcmp(fake_name(&f->attr), CYCLES) ? 100 : 30;
		f->enabled = 1000;
		f->running = f->cpu == 2 ? 500 : 1000;
	}
	machine_read(m, 2);
	/* 100 on two CPUs, and 100 in half the time on the third */
	check_value(m, "cycles", 400);
	check_value(m, "instructions", 120);
	check_value(m, "page_faults", 120);
	check_value(m, "IPC.ipc", 0.3);
	check_value(m, "running_percent", 83.33);
	/* one CPU goes away, and takes its share along */
	fake_find(fake.fds[0].pid, 3, CYCLES)->broken = true;
	machine_read(m, 3);
	check_value(m, "cycles", 400);
	assert_int_equal(fake.opened, 16);
}

static void where_we_may_not_the_processes_are_counted(void **state)
{
	struct machine *m = *state;

	one_process(m);
	have_group(m, "perf_event");
	fake.deny_cpus = true;
	machine_open(m, "IPC");
	machine_read(m, 1);
	assert_fact(m, "counted_by", "process");
	assert_true(is_attached(100));
	assert_int_equal(fake.opened, 4);
}

static void our_own_group_is_counted_by_process(void **state)
{
	struct machine *m = *state;

	one_process(m);
	have_group(m, "");
	machine_write(m, "proc/self/cgroup", "3:cpu:/other\n0::/job1/step0\n");
	machine_open(m, "IPC");
	machine_read(m, 1);
	assert_fact(m, "counted_by", "process");
}

static void have_memory_controllers(const struct machine *m)
{
	for (int i = 0; i < 2; i++) {
		_cleanup_free_ char *dir =
			xasprintf("sys/bus/event_source/devices/uncore_imc_%d", i);
		static const struct {
			const char *name, *text;
		} files[] = {
			{"cpumask", "0,18\n"},
			{"events/cas_count_read", "event=0x04,umask=0x03\n"},
			{"events/cas_count_write", "event=0x04,umask=0x0c,edge\n"},
			{"format/event", "config:0-7\n"},
			{"format/umask", "config:8-15\n"},
			{"format/edge", "config:18\n"},
		};

		for (size_t k = 0; k < ARRAY_SIZE(files); k++) {
			_cleanup_free_ char *path = xasprintf("%s/%s", dir, files[k].name);

			machine_write(m, path, "%s", files[k].text);
		}
		_cleanup_free_ char *type = xasprintf("%s/type", dir);
		machine_write(m, type, "%d\n", 20 + i);
	}
	machine_write(m, "sys/bus/event_source/devices/uncore_imc_free_running_0/type", "40\n");
}

static void memory_controllers_count_for_the_node(void **state)
{
	struct machine *m = *state;

	one_process(m);
	have_memory_controllers(m);
	machine_open(m, "MEM,IPC");
	assert_int_equal(fake.opened, 8);
	machine_read(m, 1);
	for (size_t i = 0; i < FAKE_FDS; i++) {
		struct fake_fd *f = &fake.fds[i];

		if (!f->open || f->attr.type < 20)
			continue;
		assert_int_equal(f->pid, -1);
		assert_true(f->cpu == 0 || f->cpu == 18);
		assert_true(f->attr.type == 20 || f->attr.type == 21);
		assert_false(f->attr.inherit);
		assert_true(f->attr.config == 0x304 || f->attr.config == 0x40c04);
		f->value = f->attr.config == 0x304 ? 1000 : 250;
		f->enabled = f->running = 1000000;
	}
	machine_read(m, 3);
	check_value(m, "cycles", 0);
	assert_absent(m, "memory_reads");
	assert_true(row_value(&m->set, ENTITY_NODE, "memory_reads") == 4000);
	assert_true(row_value(&m->set, ENTITY_NODE, "MEM.read_bandwidth") == 128000);
	assert_true(row_value(&m->set, ENTITY_NODE, "MEM.bandwidth") == 160000);
	assert_true(isnan(row_value(&m->set, ENTITY_NODE, "cycles")));
}

static void memory_controllers_need_permission(void **state)
{
	struct machine *m = *state;

	one_process(m);
	have_memory_controllers(m);
	fake.deny_cpus = true;
	machine_open(m, "MEM,IPC");
	machine_read(m, 1);
	assert_contains(absence(m, "memory_reads"), "kernel.perf_event_paranoid=0");
	assert_contains(absence(m, "MEM.bandwidth"), "needs memory_reads");
	assert_int_equal(m->set.row_count, 1);
}

static void odd_descriptions_of_units_are_refused(void **state)
{
	struct machine *m = *state;
	static const struct {
		const char *file, *text, *why;
	} cases[] = {
		{"events/cas_count_read", "event=0x04,umask=0x103\n", "not understood"},
		{"events/cas_count_read", "event=0x04,nothing=1\n", "not understood"},
		{"events/cas_count_read", "event=0x04,../type=1\n", "not understood"},
		{"events/cas_count_read", "event=four\n", "not understood"},
		{"events/cas_count_read", "event=\n", "not understood"},
		{"format/event", "config:7-0\n", "not understood"},
		{"format/event", "config:0-64\n", "not understood"},
		{"format/event", "config9:0-7\n", "not understood"},
		{"format/event", "config:\n", "not understood"},
		{"format/event", "config:0-7;\n", "not understood"},
		{"format/event", "", "not understood"},
		{"type", "imc\n", "not understood"},
		{"type", "99999999999\n", "not understood"},
	};
	struct event_code code;

	have_memory_controllers(m);
	assert_int_equal(system_event(m->root, "uncore_imc_0", "cas_count_read", &code, &m->why),
			 0);
	assert_int_equal(code.config, 0x304);
	assert_int_equal(system_event(m->root, "uncore_imc_0", "nothing", &code, &m->why), -ENOENT);
	assert_contains(m->why.buf, "does not name an event nothing");
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *path =
			xasprintf("sys/bus/event_source/devices/uncore_imc_0/%s", cases[i].file);

		have_memory_controllers(m);
		machine_write(m, path, "%s", cases[i].text);
		strbuf_reset(&m->why);
		if (system_event(m->root, "uncore_imc_0", "cas_count_read", &code, &m->why) !=
		    -EINVAL)
			fail_msg("'%s' was taken", cases[i].text);
		assert_contains(m->why.buf, cases[i].why);
	}
	/* spread over two places */
	have_memory_controllers(m);
	machine_write(m, "sys/bus/event_source/devices/uncore_imc_0/format/umask",
		      "config:8,63,config1\n");
	strbuf_reset(&m->why);
	assert_int_equal(system_event(m->root, "uncore_imc_0", "cas_count_read", &code, &m->why),
			 -EINVAL);
	machine_write(m, "sys/bus/event_source/devices/uncore_imc_0/format/umask", "config:8,63\n");
	assert_int_equal(system_event(m->root, "uncore_imc_0", "cas_count_read", &code, &m->why),
			 0);
	assert_true(code.config == (0x104 | (uint64_t)1 << 63));
}

/* ---- live: the kernel's own events ---------------------------------------------------------- */

/* So many pages; the rest of what a process does is far less than a half. */
#define UNIT_FAULTS 4000

__attribute__((no_sanitize("address"))) static void make_faults(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), size = page * UNIT_FAULTS;
	volatile char *p =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		_exit(3);
	(void)madvise((void *)p, size, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < size; i += page)
		p[i] = 1;
	munmap((void *)p, size);
}

/*
 * Actors are processes that do what the test sends down their pipe, a letter each: f a unit of
 * faults, t a thread makes one, w a thread that waits for letters on a pipe of its own; c makes a
 * child that is an actor, s one with a session of its own, d one whose parent ends at once; q ends.
 * Each is answered with a number, and an actor begins with its pid. They end with the test.
 */
#define ACTORS 12
static struct {
	int to[2], from[2], pid;
} actors[ACTORS];
static int actor_count;

static void answer(int number, int value)
{
	if (write(actors[number].from[1], &value, sizeof(value)) != sizeof(value))
		_exit(4);
}

static void *thread_faults(void *unused)
{
	(void)unused;
	make_faults();
	return NULL;
}

static void *waiting_thread(void *number)
{
	int n = (int)(intptr_t)number;
	char c;

	answer(n, 0);
	while (read(actors[n].to[0], &c, 1) == 1 && c == 'f') {
		make_faults();
		answer(n, 0);
	}
	return NULL;
}

static void actor(int number);

static void actor_letter(int number, char c)
{
	pthread_t t;
	char n;

	if (c == 'f')
		make_faults();
	if (c == 't' && pthread_create(&t, NULL, thread_faults, NULL) == 0)
		pthread_join(t, NULL);
	if (!strchr("csdw", c) || read(actors[number].to[0], &n, 1) != 1)
		return;
	if (c == 'w') {
		pthread_create(&t, NULL, waiting_thread, (void *)(intptr_t)n);
		return;
	}
	int child = fork();
	if (child == 0) {
		if (c == 's')
			setsid();
		if (c != 'd' || fork() == 0)
			actor(n);
		_exit(0);
	}
	if (c == 'd')
		waitpid(child, NULL, 0);
}

static void actor(int number)
{
	char c;

	answer(number, getpid());
	while (read(actors[number].to[0], &c, 1) == 1 && c != 'q') {
		actor_letter(number, c);
		answer(number, 0);
	}
	while (waitpid(-1, NULL, 0) > 0)
		;
	_exit(0);
}

static int hear(int number)
{
	int value = -1;

	assert_int_equal(read(actors[number].from[0], &value, sizeof(value)), sizeof(value));
	return value;
}

/* Letters, each done before the next. */
static void act(int number, const char *letters_to_do)
{
	for (; *letters_to_do; letters_to_do++) {
		assert_int_equal(write(actors[number].to[1], letters_to_do, 1), 1);
		hear(number);
	}
}

/* An actor makes another, or a thread that waits: its number. */
static int act_make(int number, char how)
{
	char command[2] = {how, (char)actor_count};

	assert_int_equal(write(actors[number].to[1], command, 2), 2);
	hear(number);
	actors[actor_count].pid = hear(actor_count);
	return actor_count++;
}

static void actor_quit(int number)
{
	int pid = actors[number].pid;

	assert_int_equal(write(actors[number].to[1], "q", 1), 1);
	/* until it is gone, whoever reaps it */
	for (int i = 0; i < 1000; i++) {
		_cleanup_free_ char *path = xasprintf("/proc/%d/stat", pid);
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
		struct proc_stat st;

		(void)waitpid(pid, NULL, WNOHANG);
		if (fs_read(AT_FDCWD, path, 4096, &text) < 0 ||
		    !proc_parse_stat(text.buf, text.len, &st) || st.f[STAT_STATE] == 'Z')
			return;
		usleep(10000);
	}
	fail_msg("actor %d does not end", number);
}

static void actors_make_pipes(void)
{
	actor_count = 0;
	for (int i = 0; i < ACTORS; i++) {
		assert_int_equal(pipe2(actors[i].to, O_CLOEXEC), 0);
		assert_int_equal(pipe2(actors[i].from, O_CLOEXEC), 0);
		actors[i].pid = 0;
	}
}

/* One that the test itself starts. */
static int actor_start(bool session)
{
	int number = actor_count++;
	int pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		/* what the test closes when it ends must be open nowhere else */
		for (int i = 0; i < ACTORS; i++) {
			close(actors[i].to[1]);
			close(actors[i].from[0]);
		}
		if (session)
			setsid();
		actor(number);
	}
	actors[number].pid = hear(number);
	return number;
}

static int live_setup(void **state)
{
	struct machine *m = xcalloc(1, sizeof(*m));

	m->ops = counters_kernel;
	m->ops.groups_dir = m->groups = xasprintf("%s/data/events", getenv("PL_SOURCE"));
	m->ctx = (struct source_context){.root = "", .watch = &m->watch};
	m->why = (struct strbuf)STRBUF_INIT;
	actors_make_pipes();
	*state = m;
	return 0;
}

static int live_teardown(void **state)
{
	struct machine *m = *state;

	counters_close(m->state);
	sample_release(&m->set);
	strbuf_release(&m->why);
	free(m->watch.list);
	for (size_t i = 0; i < m->watch.group_count; i++)
		free(m->watch.groups[i].path);
	free(m->watch.groups);
	free(m->groups);
	free(m);
	for (int i = 0; i < ACTORS; i++) {
		close(actors[i].to[0]);
		close(actors[i].to[1]);
		close(actors[i].from[0]);
		close(actors[i].from[1]);
	}
	while (waitpid(-1, NULL, 0) > 0)
		;
	return 0;
}

/* The list of the job: these actors, as /proc has them now. */
static void live_list(struct machine *m, const char *numbers)
{
	m->watch.count = 0;
	for (; *numbers; numbers++) {
		int pid = actors[*numbers - '0'].pid;
		_cleanup_free_ char *path = xasprintf("/proc/%d/stat", pid);
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
		struct proc_stat st;

		assert_true(fs_read(AT_FDCWD, path, 4096, &text) >= 0);
		assert_true(proc_parse_stat(text.buf, text.len, &st));
		watch_add(&m->watch, pid, (int)st.f[STAT_PPID], st.f[STAT_STARTTIME]);
	}
}

static void live_read(struct machine *m)
{
	sample_begin(&m->set);
	assert_int_equal(counters_read(m->state, &m->set), 0);
}

static void expect_units(struct machine *m, double units)
{
	live_read(m);
	double got = value(m, "page_faults") / UNIT_FAULTS;

	/* what a fork and a thread cost is some hundreds of faults in all */
	if (!(got >= units && got < units + 0.9))
		fail_msg("%.3f units of faults, want %.0f", got, units);
}

static size_t live_attachments(const struct machine *m)
{
	const struct counters *c = m->state;
	size_t n = 0;

	for (size_t i = 0; i < c->cover.attachment_count; i++)
		n += c->cover.attachments[i].pid != 0;
	return n;
}

static bool live_open(struct machine *m)
{
	sample_init(&m->set, NULL, 0);
	m->ctx.option = "software_events";
	int r = counters_open(&m->ops, &m->ctx, &m->set, &m->state, &m->why);
	if (r < 0)
		print_message("%s\n", m->why.buf);
	return r == 0;
}

static void a_tree_of_processes_is_counted_once(void **state)
{
	struct machine *m = *state;

	int root = actor_start(false);
	int child = act_make(root, 'c');
	act_make(root, 'w'); /* 2: a thread of the root */
	act(root, "fff");
	act(child, "f");
	assert_int_equal(actor_count, 3);
	live_list(m, "01");
	if (!live_open(m))
		skip_because("no perf events for this user");
	expect_units(m, 0);
	assert_int_equal(live_attachments(m), 2);
	/* those that were there: the root, its waiting thread, the child */
	act(root, "f");
	act(2, "f");
	act(child, "ff");
	expect_units(m, 4);
	/* made later: a thread, a child, an orphan of the child, a leader of a session */
	act(root, "t");
	int late = act_make(root, 'c');
	int orphan = act_make(child, 'd');
	int leader = act_make(late, 's');
	assert_int_equal(leader, 5);
	act(late, "ff");
	act(orphan, "fff");
	act(leader, "f");
	live_list(m, "01345");
	expect_units(m, 11);
	assert_int_equal(live_attachments(m), 2);
	/* what ended stays counted, and its children with it */
	actor_quit(leader);
	actor_quit(late);
	int grandchild = act_make(orphan, 'c');
	act(grandchild, "f");
	live_list(m, "0146");
	expect_units(m, 12);
	/* one that was never in the list: it came and went between two readings */
	int brief = act_make(grandchild, 'c');
	act(brief, "f");
	actor_quit(brief);
	expect_units(m, 13);
	/* one that somebody else started gets descriptors of its own */
	int foreign = actor_start(true);
	act(foreign, "f");
	assert_int_equal(foreign, 8);
	live_list(m, "01468");
	expect_units(m, 13);
	assert_int_equal(live_attachments(m), 3);
	act(foreign, "f");
	act(grandchild, "f");
	expect_units(m, 15);
	/* the root ends, and then all */
	actor_quit(child);
	live_list(m, "0468");
	act(orphan, "f");
	expect_units(m, 16);
	actor_quit(grandchild);
	actor_quit(orphan);
	actor_quit(foreign);
	assert_int_equal(write(actors[2].to[1], "q", 1), 1);
	actor_quit(root);
	m->watch.count = 0;
	for (int i = 0; i < 4; i++)
		expect_units(m, 16);
	assert_int_equal(live_attachments(m), 0);
	assert_fact(m, "not_counted", "");
}

/* Children that are made while the parent is being attached, as fast as they can be. */
static void attaching_in_the_middle_of_forks(void **state)
{
	struct machine *m = *state;
	enum { CHILDREN = 40 };
	int gate[2];
	char c = 0;

	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	int root = fork();
	if (root == 0) {
		for (int i = 0; i < ACTORS; i++) {
			close(actors[i].to[1]);
			close(actors[i].from[0]);
		}
		close(gate[1]);
		for (int i = 0; i < CHILDREN; i++) {
			if (fork() == 0) {
				/* all make their faults once the gate is closed */
				(void)!read(gate[0], &c, 1);
				make_faults();
				_exit(0);
			}
			if (i == CHILDREN / 4)
				answer(0, getpid());
		}
		answer(0, 0);
		while (waitpid(-1, NULL, 0) > 0)
			;
		answer(0, 0);
		_exit(0);
	}
	close(gate[0]);
	assert_int_equal(hear(0), root);
	actors[0].pid = root;
	live_list(m, "0");
	bool works = live_open(m);
	if (works)
		live_read(m); /* a quarter of the children are there, the others come meanwhile */
	hear(0);
	close(gate[1]);
	hear(0);
	waitpid(root, NULL, 0);
	if (!works)
		skip_because("no perf events for this user");
	live_read(m);
	double units = value(m, "page_faults") / UNIT_FAULTS;
	/* a child that is made in the very moment may be missed, none is counted twice */
	print_message("%.2f of %d units\n", units, CHILDREN);
	assert_true(units >= CHILDREN - 2);
	/* forks of the root and the children's own: less than a tenth of a unit each */
	assert_true(units < CHILDREN * 1.1);
}

static char *own_cgroup(void)
{
	FILE *f = fopen("/proc/mounts", "re");
	char line[1024], path[512], type[64];
	char *made = NULL;

	while (f && !made && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s %511s %63s", path, type) == 2 && !strcmp(type, "cgroup2")) {
			made = xasprintf("%s/plimsoll-test-%d", path, (int)getpid());
			if (mkdir(made, 0755) < 0) {
				free(made);
				made = NULL;
			}
		}
	if (f)
		fclose(f);
	return made;
}

static void a_live_control_group(void **state)
{
	struct machine *m = *state;
	_cleanup_free_ char *group = own_cgroup();

	if (!group)
		skip_because("no control group of version 2 can be made here");
	int inside = actor_start(false), outside = actor_start(false);
	_cleanup_free_ char *procs = xasprintf("%s/cgroup.procs", group);
	_cleanup_free_ char *pid = xasprintf("%d\n", actors[inside].pid);
	int fd = open(procs, O_WRONLY | O_CLOEXEC);
	assert_true(fd >= 0 && write(fd, pid, strlen(pid)) > 0 && close(fd) == 0);
	int child = act_make(inside, 'c');
	m->watch.groups = xcalloc(1, sizeof(*m->watch.groups));
	m->watch.group_count = 1;
	m->watch.groups[0].path = xstrdup(group);
	live_list(m, "0");
	bool works = live_open(m) && ((struct counters *)m->state)->cgroup;
	if (works) {
		expect_units(m, 0);
		act(inside, "f");
		act(child, "ff");
		act(outside, "fff");
		int late = act_make(child, 'd');
		act(late, "f");
		expect_units(m, 4);
		actor_quit(late);
		expect_units(m, 4);
		assert_fact(m, "counted_by", "control group");
		check_value(m, "running_percent", 100);
		assert_true(value(m, "task_clock") > 0);
	}
	actor_quit(child);
	actor_quit(inside);
	actor_quit(outside);
	/* the kernel is done with a member a moment after its end */
	for (int i = 0; i < 100 && rmdir(group) < 0; i++)
		usleep(10000);
	if (!works)
		skip_because("control groups are not counted here");
}

#define FAKE_TEST(f) cmocka_unit_test_setup_teardown(f, machine_setup, machine_teardown)
#define LIVE_TEST(f) cmocka_unit_test_setup_teardown(f, live_setup, live_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(a_pretend_skylake_counts),
		FAKE_TEST(events_of_a_group_go_on_the_cpu_together),
		FAKE_TEST(a_group_that_does_not_fit_becomes_two),
		FAKE_TEST(a_group_that_is_never_on_the_cpu_is_split),
		FAKE_TEST(what_took_turns_is_scaled),
		FAKE_TEST(a_little_that_was_never_on_the_cpu_does_not_matter),
		FAKE_TEST(counters_wrap_and_begin_anew),
		FAKE_TEST(a_counter_that_vanishes_keeps_what_it_counted),
		FAKE_TEST(what_does_not_work_is_absent_with_its_reason),
		FAKE_TEST(nothing_at_all_is_an_error),
		FAKE_TEST(groups_are_named),
		FAKE_TEST(more_than_there_is_room_for_is_left_out_and_said),
		FAKE_TEST(those_that_were_there_get_descriptors_and_later_ones_not),
		FAKE_TEST(orphans_are_covered_and_those_of_a_launcher_are_not),
		FAKE_TEST(a_pid_that_is_used_again_is_another_process),
		FAKE_TEST(without_lists_of_children_the_time_decides),
		FAKE_TEST(those_we_may_not_count_are_told),
		FAKE_TEST(a_job_that_we_may_not_count_has_no_values),
		FAKE_TEST(too_few_descriptors_are_told),
		FAKE_TEST(descriptors_that_nobody_needs_are_given_back),
		FAKE_TEST(while_there_are_orphans_nothing_is_given_back),
		FAKE_TEST(a_control_group_is_counted_on_every_cpu),
		FAKE_TEST(where_we_may_not_the_processes_are_counted),
		FAKE_TEST(our_own_group_is_counted_by_process),
		FAKE_TEST(memory_controllers_count_for_the_node),
		FAKE_TEST(memory_controllers_need_permission),
		FAKE_TEST(odd_descriptions_of_units_are_refused),
		LIVE_TEST(a_tree_of_processes_is_counted_once),
		LIVE_TEST(attaching_in_the_middle_of_forks),
		LIVE_TEST(a_live_control_group),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
