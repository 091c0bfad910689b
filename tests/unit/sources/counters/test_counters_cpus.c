/*
 * The source `counters` on a pretend Skylake where it counts by CPU: control groups, and the memory
 * controllers of the machine.
 */
#include "counters_fake.h"

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
	machine_write(m, "sys/devices/system/cpu/online", "0,2\n");
	machine_read(m, 3);
	check_value(m, "cycles", 400);
	assert_int_equal(fake.opened, 12);
}

/* What all descriptors of a CPU have counted. */
static void set_cpu(int cpu, uint64_t value)
{
	for (size_t i = 0; i < FAKE_FDS; i++)
		if (fake.fds[i].open && fake.fds[i].cpu == cpu) {
			fake.fds[i].value = value;
			fake.fds[i].enabled = fake.fds[i].running = 10 * value;
		}
}

static void cpus_come_and_go(void **state)
{
	struct machine *m = *state;
	const char *online = "sys/devices/system/cpu/online";

	one_process(m);
	have_group(m, "");
	machine_write(m, online, "0\n");
	machine_open(m, "IPC");
	assert_int_equal(fake.opened, 2);
	set_cpu(0, 1000);
	machine_read(m, 1);
	check_value(m, "cycles", 1000);
	/* one comes: it counts from now on, from 0 */
	machine_write(m, online, "0-1\n");
	machine_read(m, 2);
	check_value(m, "cycles", 1000);
	assert_int_equal(fake.opened, 4);
	set_cpu(0, 1100);
	set_cpu(1, 50);
	machine_read(m, 3);
	check_value(m, "cycles", 1150);
	/* it goes, and with it what it did since: each event tells by itself */
	struct fake_fd *cycles = fake_find(fake.fds[0].pid, 1, CYCLES);
	set_cpu(1, 70);
	for (size_t i = 0; i < FAKE_FDS; i++)
		if (fake.fds[i].open && fake.fds[i].cpu == 1)
			fake.fds[i].group = -1;
	machine_write(m, online, "0\n");
	machine_read(m, 4);
	check_value(m, "cycles", 1170);
	check_value(m, "instructions", 1170);
	assert_int_equal(fake.opened, 2);
	assert_false(cycles->open);
	/* and comes back: a counter that begins again is no fall, and nothing counts twice */
	machine_write(m, online, "0-1\n");
	machine_read(m, 5);
	set_cpu(1, 30);
	machine_read(m, 6);
	check_value(m, "cycles", 1200);
	check_value(m, "instructions", 1200);
	/* away and back between two readings */
	fake_find(fake.fds[0].pid, 1, CYCLES)->broken = true;
	machine_read(m, 7);
	check_value(m, "cycles", 1200);
	assert_int_equal(fake.opened, 4);
	set_cpu(1, 5);
	machine_read(m, 8);
	check_value(m, "cycles", 1205);
	/* one that cannot be opened yet is tried again */
	fake.fd_limit = 5;
	machine_write(m, online, "0-2\n");
	machine_read(m, 9);
	assert_int_equal(fake.opened, 4);
	fake.fd_limit = 0;
	machine_read(m, 10);
	assert_int_equal(fake.opened, 6);
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
		{"events/cas_count_read", "event=0x04,umask=0x103\n", "cannot parse"},
		{"events/cas_count_read", "event=0x04,nothing=1\n", "cannot parse"},
		{"events/cas_count_read", "event=0x04,../type=1\n", "cannot parse"},
		{"events/cas_count_read", "event=four\n", "cannot parse"},
		{"events/cas_count_read", "event=\n", "cannot parse"},
		{"format/event", "config:7-0\n", "cannot parse"},
		{"format/event", "config:0-64\n", "cannot parse"},
		{"format/event", "config9:0-7\n", "cannot parse"},
		{"format/event", "config:\n", "cannot parse"},
		{"format/event", "config:0-7;\n", "cannot parse"},
		{"format/event", "", "cannot parse"},
		{"type", "imc\n", "cannot parse"},
		{"type", "99999999999\n", "cannot parse"},
	};
	struct event_code code;

	have_memory_controllers(m);
	assert_int_equal(system_event(m->root, "uncore_imc_0", "cas_count_read", &code, &m->why),
			 0);
	assert_int_equal(code.config, 0x304);
	assert_int_equal(system_event(m->root, "uncore_imc_0", "nothing", &code, &m->why), -ENOENT);
	assert_contains(m->why.buf, "has no event nothing");
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		FAKE_TEST(a_control_group_is_counted_on_every_cpu),
		FAKE_TEST(cpus_come_and_go),
		FAKE_TEST(where_we_may_not_the_processes_are_counted),
		FAKE_TEST(our_own_group_is_counted_by_process),
		FAKE_TEST(memory_controllers_count_for_the_node),
		FAKE_TEST(memory_controllers_need_permission),
		FAKE_TEST(odd_descriptions_of_units_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
