/*
 * See exits_bpf.h. The program is written directly as a few instructions, so that neither a BPF
 * compiler nor a library is needed. It uses stable helper functions of the kernel and none of its
 * data structures.
 */
#include "sources/exits/exits_bpf.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/files/fs.h"

/* 80 bytes per task: about 3,300 tasks, 70 ms of a storm. The thread may be kept from reading for
 * that long on a busy host. Dropped tasks are attributed by parent. */
#define RING_BYTES ((size_t)256 << 10)
#define TRACEPOINT "sched_process_exit"
#define VERIFIER_BYTES 4096
#define MOUNTS_BYTES ((size_t)4 << 20)

/* From the kernel's headers, which may be older than the running kernel. */
#define HELPER_PID_TGID 14
#define HELPER_ANCESTOR 123
#define HELPER_RING_OUTPUT 130
#define NO_WAKEUP 1
#define RING_BUSY (1u << 31)
#define RING_DISCARD (1u << 30)
#define RING_HEADER 8

/* ---- the program ---------------------------------------------------------------------------- */

static struct bpf_insn call(int helper)
{
	return (struct bpf_insn){.code = BPF_JMP | BPF_CALL, .imm = helper};
}

static struct bpf_insn set(unsigned reg, int value)
{
	return (struct bpf_insn){
		.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = reg & 0xf, .imm = value};
}

/* Stores the result of a call on the stack. */
static struct bpf_insn store(int offset)
{
	return (struct bpf_insn){.code = BPF_STX | BPF_MEM | BPF_DW,
				 .dst_reg = BPF_REG_10,
				 .src_reg = BPF_REG_0,
				 .off = (short)offset};
}

size_t bpf_program(int ring, struct bpf_insn out[BPF_PROGRAM_MAX])
{
	const int task = -(int)sizeof(struct bpf_task);
	size_t n = 0;

	out[n++] = call(HELPER_PID_TGID);
	out[n++] = store(task);
	for (int level = 1; level <= BPF_LEVELS; level++) {
		out[n++] = set(BPF_REG_1, level);
		out[n++] = call(HELPER_ANCESTOR);
		out[n++] = store(task + 8 * level);
	}
	out[n++] = (struct bpf_insn){.code = BPF_LD | BPF_IMM | BPF_DW,
				     .dst_reg = BPF_REG_1,
				     .src_reg = BPF_PSEUDO_MAP_FD,
				     .imm = ring};
	out[n++] = (struct bpf_insn){0}; /* the other half of the word */
	out[n++] = (struct bpf_insn){
		.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = BPF_REG_2, .src_reg = BPF_REG_10};
	out[n++] = (struct bpf_insn){
		.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_2, .imm = task};
	out[n++] = set(BPF_REG_3, (int)sizeof(struct bpf_task));
	out[n++] = set(BPF_REG_4, NO_WAKEUP);
	out[n++] = call(HELPER_RING_OUTPUT);
	out[n++] = set(BPF_REG_0, 0);
	out[n++] = (struct bpf_insn){.code = BPF_JMP | BPF_EXIT};
	return n;
}

/* ---- the ring ------------------------------------------------------------------------------- */

/* Data wrap around at the end of the ring. */
static void copy_task(const struct bpf_ring *r, unsigned long at, struct bpf_task *to)
{
	size_t from = at & (r->size - 1), first = r->size - from;

	if (first > sizeof(*to))
		first = sizeof(*to);
	memcpy(to, r->data + from, first);
	memcpy((unsigned char *)to + first, r->data, sizeof(*to) - first);
}

size_t bpf_ring_take(struct bpf_ring *r, size_t most,
		     void (*visit)(void *user, const struct bpf_task *task), void *user)
{
	unsigned long at = atomic_load_explicit(r->consumer, memory_order_relaxed);
	unsigned long end = atomic_load_explicit(r->producer, memory_order_acquire);
	size_t taken = 0;

	while (at < end && taken < most) {
		const unsigned char *p = r->data + (at & (r->size - 1));
		uint32_t head = atomic_load_explicit((const _Atomic(uint32_t) *)(const void *)p,
						     memory_order_acquire);
		uint32_t size = head & ~(RING_BUSY | RING_DISCARD);
		struct bpf_task task;

		if (head & RING_BUSY)
			break; /* is being written */
		if (!(head & RING_DISCARD) && size == sizeof(task)) {
			copy_task(r, at + RING_HEADER, &task);
			visit(user, &task);
			taken++;
		}
		at += (RING_HEADER + size + 7) & ~7ul;
		atomic_store_explicit(r->consumer, at, memory_order_release);
	}
	return taken;
}

void bpf_ring_skip(struct bpf_ring *r)
{
	atomic_store_explicit(r->consumer, atomic_load_explicit(r->producer, memory_order_acquire),
			      memory_order_release);
}

/* ---- opening -------------------------------------------------------------------------------- */

static int bpf(int command, union bpf_attr *attr)
{
	long r = syscall(SYS_bpf, command, attr, sizeof(*attr));

	return r < 0 ? -errno : (int)r;
}

static int make_ring(void)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_RINGBUF;
	attr.max_entries = (uint32_t)RING_BYTES;
	memcpy(attr.map_name, "plimsoll_exits", sizeof("plimsoll_exits"));
	return bpf(BPF_MAP_CREATE, &attr);
}

static int load_program(int ring, char *said, size_t room)
{
	struct bpf_insn program[BPF_PROGRAM_MAX];
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.prog_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	attr.insns = (uint64_t)(uintptr_t)program;
	attr.insn_cnt = (uint32_t)bpf_program(ring, program);
	attr.license = (uint64_t)(uintptr_t) "Apache-2.0";
	memcpy(attr.prog_name, "plimsoll_exits", sizeof("plimsoll_exits"));
	int r = bpf(BPF_PROG_LOAD, &attr);
	if (r == -EPERM || r == -EACCES || r >= 0)
		return r;
	attr.log_level = 1;
	attr.log_buf = (uint64_t)(uintptr_t)said;
	attr.log_size = (uint32_t)room;
	return bpf(BPF_PROG_LOAD, &attr);
}

static int attach(int program)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.raw_tracepoint.name = (uint64_t)(uintptr_t)TRACEPOINT;
	attr.raw_tracepoint.prog_fd = (uint32_t)program;
	return bpf(BPF_RAW_TRACEPOINT_OPEN, &attr);
}

static int map_ring(struct exits_bpf *b)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	b->consumer_page = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, b->map, 0);
	if (b->consumer_page == MAP_FAILED)
		return -errno;
	b->producer_pages =
		mmap(NULL, page + RING_BYTES, PROT_READ, MAP_SHARED, b->map, (off_t)page);
	if (b->producer_pages == MAP_FAILED)
		return -errno;
	b->ring = (struct bpf_ring){.consumer = b->consumer_page,
				    .producer = b->producer_pages,
				    .data = (unsigned char *)b->producer_pages + page,
				    .size = RING_BYTES};
	return 0;
}

/* Groups of version 1 have no id that is valid in all hierarchies, and are not reported. */
static bool has_version_2(void)
{
	_cleanup_strbuf_ struct strbuf mounts = STRBUF_INIT;

	return fs_read(AT_FDCWD, "/proc/self/mounts", MOUNTS_BYTES, &mounts) == 0 &&
	       strstr(mounts.buf, " cgroup2 ");
}

static int refused(struct strbuf *why, const char *what, int r)
{
	strbuf_addf(why, "%s: %s", what, strerror(-r));
	if (r == -EPERM || r == -EACCES)
		strbuf_addstr(why, " (needs CAP_BPF and CAP_PERFMON)");
	return r;
}

int exits_bpf_open(struct exits_bpf **ret, struct strbuf *why)
{
	struct exits_bpf *b = xcalloc(1, sizeof(*b));
	char said[VERIFIER_BYTES] = "";
	const char *failed = "cannot create a BPF ring";
	int r;

	if (!has_version_2()) {
		strbuf_addstr(why, "no control groups of version 2 are mounted");
		free(b);
		return -ENOTSUP;
	}
	b->program = b->link = -1;
	b->consumer_page = b->producer_pages = MAP_FAILED;
	r = b->map = make_ring();
	if (r >= 0)
		r = map_ring(b);
	if (r >= 0) {
		failed = "the kernel refuses the BPF program";
		r = b->program = load_program(b->map, said, sizeof(said));
	}
	if (r >= 0) {
		failed = "cannot attach a BPF program to the tracepoint " TRACEPOINT;
		r = b->link = attach(b->program);
	}
	if (r < 0) {
		exits_bpf_close(b);
		return refused(why, failed, r);
	}
	*ret = b;
	return 0;
}

void exits_bpf_close(struct exits_bpf *b)
{
	if (!b)
		return;
	if (b->producer_pages != MAP_FAILED)
		munmap(b->producer_pages, (size_t)sysconf(_SC_PAGESIZE) + RING_BYTES);
	if (b->consumer_page != MAP_FAILED)
		munmap(b->consumer_page, (size_t)sysconf(_SC_PAGESIZE));
	close_fd(&b->link);
	close_fd(&b->program);
	close_fd(&b->map);
	free(b);
}
