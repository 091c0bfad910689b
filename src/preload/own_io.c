/*
 * The library's own I/O, to be subtracted from the counters of the process and of the thread that
 * did it. The first thread has the rest, so that a process without threads needs only one counter.
 */
#include "preload/guest.h"

#define BLOCK_ACCOUNTS 64

struct account {
	int tid; /* 0 free */
	struct own_io io;
};

/* Entries are claimed without a lock, which a forked copy might inherit. Blocks are never freed. */
static struct block {
	struct block *next;
	struct account accounts[BLOCK_ACCOUNTS];
} * blocks;

/* Of all threads but the first, with ended ones. */
static struct own_io others;

/* A copy that we did not see being made (vfork, clone, the system call) may run on its parent's
 * memory, so it must not reset the parent's counters. It uses one of these until it is waited for.
 */
#define STRAYS 8
static struct account strays[STRAYS];

static void add(struct own_io *to, const struct own_io *io)
{
	__atomic_fetch_add(&to->rchar, io->rchar, __ATOMIC_RELAXED);
	__atomic_fetch_add(&to->wchar, io->wchar, __ATOMIC_RELAXED);
	__atomic_fetch_add(&to->syscr, io->syscr, __ATOMIC_RELAXED);
	__atomic_fetch_add(&to->syscw, io->syscw, __ATOMIC_RELAXED);
}

static struct account *find(int tid)
{
	for (struct block *b = __atomic_load_n(&blocks, __ATOMIC_ACQUIRE); b; b = b->next)
		for (int i = 0; i < BLOCK_ACCOUNTS; i++)
			if (__atomic_load_n(&b->accounts[i].tid, __ATOMIC_ACQUIRE) == tid)
				return &b->accounts[i];
	return NULL;
}

static struct account *claim(int tid)
{
	for (struct block *b = __atomic_load_n(&blocks, __ATOMIC_ACQUIRE); b; b = b->next)
		for (int i = 0; i < BLOCK_ACCOUNTS; i++) {
			int none = 0;

			if (__atomic_compare_exchange_n(&b->accounts[i].tid, &none, tid, false,
							__ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
				return &b->accounts[i];
		}
	struct block *b = map_pages(sizeof(*b));
	if (!b)
		return NULL;
	b->accounts[0].tid = tid;
	b->next = __atomic_load_n(&blocks, __ATOMIC_ACQUIRE);
	while (!__atomic_compare_exchange_n(&blocks, &b->next, b, false, __ATOMIC_ACQ_REL,
					    __ATOMIC_ACQUIRE))
		;
	return &b->accounts[0];
}

static struct account *find_stray(int pid)
{
	for (int i = 0; i < STRAYS; i++)
		if (__atomic_load_n(&strays[i].tid, __ATOMIC_ACQUIRE) == pid)
			return &strays[i];
	return NULL;
}

/* Several threads may make copies at the same time. If there are too many, the last one takes a
 * used entry. */
static NOINLINE void add_stray(int pid, const struct own_io *io)
{
	struct account *a = find_stray(pid);

	for (int i = 0; i < STRAYS && !a; i++) {
		int none = 0;

		if (__atomic_compare_exchange_n(&strays[i].tid, &none, pid, false, __ATOMIC_ACQ_REL,
						__ATOMIC_RELAXED))
			a = &strays[i];
	}
	if (!a) {
		a = &strays[(unsigned)pid % STRAYS];
		*a = (struct account){.tid = pid};
	}
	add(&a->io, io);
}

void own_forget_copy(int pid)
{
	struct account *a = pid ? find_stray(pid) : NULL;

	if (!a)
		return;
	a->io = (struct own_io){0};
	__atomic_store_n(&a->tid, 0, __ATOMIC_RELEASE);
}

/* Resets the counters of its parent's threads, which a copy does not have. */
static NOINLINE void begin(int pid)
{
	const struct account *stray = find_stray(pid);

	guest.own = stray ? stray->io : (struct own_io){0};
	others = (struct own_io){0};
	__builtin_memset(strays, 0, sizeof(strays));
	for (struct block *b = blocks; b; b = b->next)
		for (int i = 0; i < BLOCK_ACCOUNTS; i++)
			if (b->accounts[i].tid)
				b->accounts[i] = (struct account){0};
	guest.own_pid = pid;
}

void own_begin(int pid)
{
	if (guest.own_pid != pid)
		begin(pid);
}

void own_add(int pid, const struct own_io *io)
{
	/* during the start, in the first thread, a filter may be active */
	int tid = guest.active ? (int)sys0(__NR_gettid) : pid;

	if (guest.own_pid != pid && pid != guest.pid && pid != guest.forked) {
		add_stray(pid, io);
		return;
	}
	own_begin(pid);
	add(&guest.own, io);
	if (tid == pid)
		return;
	add(&others, io);
	struct account *a = find(tid);
	if (!a)
		a = claim(tid);
	if (a)
		add(&a->io, io);
}

struct own_io own_of_process(int pid)
{
	if (guest.own_pid == pid)
		return guest.own;
	const struct account *stray = find_stray(pid);
	return stray ? stray->io : (struct own_io){0};
}

struct own_io own_of_thread(int pid, int tid)
{
	if (guest.own_pid != pid)
		return tid == pid ? own_of_process(pid) : (struct own_io){0};
	if (tid == pid)
		return (struct own_io){
			guest.own.rchar - others.rchar, guest.own.wchar - others.wchar,
			guest.own.syscr - others.syscr, guest.own.syscw - others.syscw};
	const struct account *a = find(tid);
	return a ? a->io : (struct own_io){0};
}

void own_forget(int tid)
{
	struct account *a = find(tid);

	if (!a)
		return;
	a->io = (struct own_io){0};
	__atomic_store_n(&a->tid, 0, __ATOMIC_RELEASE);
}
