/* What BPF tells of tasks that ended: the program, the ring it fills, and whose they were. */
#include "exits.h"

#include <stdatomic.h>
#include <string.h>

/* ---- the program ----------------------------------------------------------------------------- */

/* The words that an assembler makes of it, but for the descriptor of the ring. */
static void the_program_is_what_it_should_be(void **state)
{
	static const uint64_t begin[] = {
		0x0000000e00000085, /* call bpf_get_current_pid_tgid */
		0x00000000ffb80a7b, /* *(u64 *)(r10 - 72) = r0 */
		0x00000001000001b7, /* r1 = 1 */
		0x0000007b00000085, /* call bpf_get_current_ancestor_cgroup_id */
		0x00000000ffc00a7b, /* *(u64 *)(r10 - 64) = r0 */
	};
	static const uint64_t end[] = {
		0x00000008000001b7, /* r1 = 8 */
		0x0000007b00000085, /* call bpf_get_current_ancestor_cgroup_id */
		0x00000000fff80a7b, /* *(u64 *)(r10 - 8) = r0 */
		0x0000001100001118, /* r1 = map 17 */
		0x0000000000000000, 0x000000000000a2bf, /* r2 = r10 */
		0xffffffb800000207,                     /* r2 += -72 */
		0x00000048000003b7,                     /* r3 = 72 */
		0x00000001000004b7,                     /* r4 = BPF_RB_NO_WAKEUP */
		0x0000008200000085,                     /* call bpf_ringbuf_output */
		0x00000000000000b7,                     /* r0 = 0 */
		0x0000000000000095,                     /* exit */
	};
	struct bpf_insn program[BPF_PROGRAM_MAX];
	uint64_t words[BPF_PROGRAM_MAX];

	(void)state;
	size_t n = bpf_program(17, program);
	assert_int_equal(n, 2 + 3 * BPF_LEVELS + 9);
	memcpy(words, program, n * sizeof(words[0]));
	assert_memory_equal(words, begin, sizeof(begin));
	assert_memory_equal(words + n - ARRAY_SIZE(end), end, sizeof(end));
}

/* ---- the ring -------------------------------------------------------------------------------- */

#define FAKE_SIZE 4096
#define BUSY 0x80000000u
#define DISCARD 0x40000000u

struct fake {
	struct bpf_ring ring;
	_Atomic(unsigned long) consumer, producer;
	_Alignas(8) unsigned char data[FAKE_SIZE];
	uint64_t ids[100];
	size_t count;
};

static struct fake *fake_new(unsigned long at)
{
	struct fake *f = xcalloc(1, sizeof(*f));

	f->consumer = f->producer = at;
	f->ring = (struct bpf_ring){&f->consumer, &f->producer, f->data, FAKE_SIZE};
	return f;
}

/* As the kernel does it; what reaches the end goes on at the beginning. */
static unsigned char *fake_put(struct fake *f, uint32_t head, uint64_t id)
{
	unsigned long at = f->producer & (FAKE_SIZE - 1);
	const struct bpf_task task = {.id = id, .groups = {id + 1}};
	unsigned char record[8 + sizeof(task)] = {0};

	memcpy(record, &head, sizeof(head));
	memcpy(record + 8, &task, sizeof(task));
	for (size_t i = 0; i < sizeof(record); i++)
		f->data[(at + i) % FAKE_SIZE] = record[i];
	f->producer += (8 + (head & 0xffff) + 7) / 8 * 8;
	return f->data + at;
}

static void keep_id(void *user, const struct bpf_task *task)
{
	struct fake *f = user;

	assert_true(f->count < ARRAY_SIZE(f->ids));
	assert_int_equal(task->groups[0], task->id + 1);
	f->ids[f->count++] = task->id;
}

static void the_ring_is_read_in_order(void **state)
{
	/* just before the end of the data, and of the positions that it has had */
	struct fake *f = fake_new(10 * FAKE_SIZE - 100 / 8 * 8);
	const uint32_t size = sizeof(struct bpf_task);

	(void)state;
	assert_int_equal(bpf_ring_take(&f->ring, 10, keep_id, f), 0);
	for (uint64_t i = 1; i <= 3; i++)
		fake_put(f, size, i);
	assert_int_equal(bpf_ring_take(&f->ring, 2, keep_id, f), 2);
	assert_int_equal(bpf_ring_take(&f->ring, 10, keep_id, f), 1);
	/* what is taken back, and what is none of ours, is passed over */
	fake_put(f, size | DISCARD, 4);
	fake_put(f, 16, 5);
	fake_put(f, size, 6);
	/* what is being written holds up what is behind it */
	unsigned char *busy = fake_put(f, size | BUSY, 7);
	fake_put(f, size, 8);
	assert_int_equal(bpf_ring_take(&f->ring, 10, keep_id, f), 1);
	assert_int_equal(bpf_ring_take(&f->ring, 10, keep_id, f), 0);
	memcpy(busy, &size, sizeof(size));
	assert_int_equal(bpf_ring_take(&f->ring, 10, keep_id, f), 2);
	assert_int_equal(f->consumer, f->producer);
	fake_put(f, size, 9);
	bpf_ring_skip(&f->ring);
	fake_put(f, size, 10);
	assert_int_equal(bpf_ring_take(&f->ring, 10, keep_id, f), 1);
	const uint64_t want[] = {1, 2, 3, 6, 7, 8, 10};
	assert_int_equal(f->count, ARRAY_SIZE(want));
	assert_memory_equal(f->ids, want, sizeof(want));
	free(f);
}

/* ---- on this machine ------------------------------------------------------------------------- */

static int setup_bpf(void **state)
{
	return setup_with(state, "cgroup2", 0, true);
}

static int setup_bpf_version1(void **state)
{
	return setup_with(state, "cpuacct", 0, true);
}

static void wait_for_end(void *fd)
{
	char c;

	(void)!read(*(int *)fd, &c, 1);
}

#define need_bpf(w)                                                           \
	do {                                                                  \
		need_exits(w);                                                \
		if ((w)->no_bpf.len)                                          \
			skip_because("the kernel takes no BPF program here"); \
	} while (0)

/* Moved in by another, and gone and waited for before anybody could look: in the group itself, and
 * in one that is below it. */
static void one_that_only_its_group_knows(void **state)
{
	struct world *w = *state;
	struct exits_losses l;
	int gate[2];

	need_bpf(w);
	_cleanup_free_ char *step = xasprintf("%s/step", w->group);
	assert_int_equal(mkdir(step, 0755), 0);
	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	int keeper = start(w->group, wait_for_end, &gate[0]);
	exits_sync(w->exits);
	int late[2] = {start(NULL, wait_for_end, &gate[0]), start(NULL, wait_for_end, &gate[0])};
	int stranger = start(NULL, wait_for_end, &gate[0]);
	exits_lock(w->exits); /* no look through the group meanwhile */
	assert_true(group_enter(w->group, late[0]));
	assert_true(group_enter(step, late[1]));
	assert_int_equal(write(gate[1], "xxxx", 4), 4);
	finish(late[0]);
	finish(late[1]);
	finish(stranger);
	finish(keeper);
	exits_sync(w->exits);
	exits_unlock(w->exits);
	assert_int_equal(sums_of(w).processes, 3);
	exits_losses(w->exits, &l);
	assert_true(l.bpf);
	assert_int_equal(l.by_bpf, 3);
	assert_int_equal(l.by_lineage + l.by_groups, 0);
	group_remove(xstrdup(step));
	close(gate[0]);
	close(gate[1]);
}

struct many {
	int gate, count;
};

static void fork_many(void *arg)
{
	struct many *m = arg;

	wait_for_end(&m->gate);
	for (int i = 0; i < m->count; i++) {
		int pid = fork();

		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
}

/* A process of the job that is known begins others; what was told in which way. */
static struct exits_losses run_many(struct world *w, int count)
{
	struct exits_losses l = {0};
	int gate[2];

	assert_int_equal(pipe2(gate, O_CLOEXEC), 0);
	struct many m = {gate[0], count};
	int pid = start(w->group, fork_many, &m);
	for (int i = 0; i < 3000 && !l.alive; i++) {
		usleep(10000);
		exits_losses(w->exits, &l);
	}
	assert_int_equal(l.alive, 1);
	assert_int_equal(write(gate[1], "x", 1), 1);
	finish(pid);
	close(gate[0]);
	close(gate[1]);
	assert_int_equal(sums_of(w).processes, count + 1);
	exits_losses(w->exits, &l);
	assert_int_equal(l.by_bpf + l.by_lineage + l.by_groups, count + 1);
	return l;
}

/* Numbers of groups of version 1 mean something else. There it is the fork that tells. */
static void groups_of_version_1_are_not_told(void **state)
{
	struct world *w = *state;

	need_bpf(w);
	struct exits_losses l = run_many(w, 20);
	assert_int_equal(l.by_bpf, 0);
	assert_int_equal(l.by_lineage, 20);
}

/* Each is booked once, whoever tells of it first. */
static void many_are_told_once(void **state)
{
	struct world *w = *state;

	need_bpf(w);
	assert_true(run_many(w, 500).by_bpf > 0);
}

static void without_permission_the_reason_is_given(void **state)
{
	int status;

	(void)state;
	int pid = fork();
	if (pid == 0) {
		struct strbuf why = STRBUF_INIT;
		struct exits_bpf *b = NULL;

		if (geteuid() == 0 && (setgid(65534) || setuid(65534)))
			_exit(2);
		int r = exits_bpf_open(&b, &why);
		_exit(r == -EPERM && !b && strstr(why.buf, "CAP_BPF") ? 0 : 1);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

#define LIVE(f, with) cmocka_unit_test_setup_teardown(f, with, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_program_is_what_it_should_be),
		cmocka_unit_test(the_ring_is_read_in_order),
		LIVE(one_that_only_its_group_knows, setup_bpf),
		LIVE(groups_of_version_1_are_not_told, setup_bpf_version1),
		LIVE(many_are_told_once, setup_bpf),
		cmocka_unit_test(without_permission_the_reason_is_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
