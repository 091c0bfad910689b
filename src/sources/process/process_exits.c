/*
 * Exit records of the kernel (taskstats), for root: the total usage of processes from which no
 * parent in the job inherits. Records of all tasks of the host arrive; those of the job are records
 * of members, of their children, and of children of such children that ended before the same
 * reading. A process that was orphaned before it was seen is not recognised.
 */
#include "sources/process/process.h"

#include <errno.h>
#include <string.h>

/* More than arrive between two readings; beyond it records count as lost. */
#define RECORDS_MAX 65536
#define CHAIN_MAX 64

struct exit_record {
	int tgid, ppid;
	bool ours;
	uint64_t usage[USAGE_END];
};

/* CPU time of a task, split as the kernel does it: the exact time in the ratio of user and system
 * ticks. */
static void add_usage(uint64_t usage[USAGE_END], const struct task_exit *x)
{
	uint64_t cpu = x->oncpu_ns / 1000, user = cpu;

	if (!cpu)
		cpu = x->utime_us + x->stime_us;
	if (x->utime_us + x->stime_us)
		user = (uint64_t)((double)cpu * (double)x->utime_us /
				  (double)(x->utime_us + x->stime_us));
	if (user > cpu)
		user = cpu;
	usage[USAGE_USER] += user;
	usage[USAGE_SYSTEM] += cpu - user;
	usage[USAGE_MINFLT] += x->minflt;
	usage[USAGE_MAJFLT] += x->majflt;
	usage[USAGE_IO + 4] += x->read_bytes;
	usage[USAGE_IO + 5] += x->write_bytes;
	usage[USAGE_IO + 6] += x->cancelled_write_bytes;
	usage[USAGE_ONCPU] += x->oncpu_ns;
	usage[USAGE_WAITING] += x->waiting_ns;
	usage[USAGE_SLICES] += x->timeslices;
	usage[USAGE_BLKIO] += x->blkio_delay_ns / 1000;
}

void process_exits_take(struct process_exits *e, const struct task_exit *x)
{
	if (x->tgid <= 0)
		return;
	struct member *one = members_find(e->members, x->tgid, UINT64_MAX);
	if (one) {
		one->ppid = x->ppid;
		add_usage(one->exits, x);
		return;
	}
	if (e->count >= RECORDS_MAX) {
		process_exits_settle(e);
		e->lost++;
	}
	GROW(e->list, e->count, e->cap);
	struct exit_record *r = &e->list[e->count++];
	*r = (struct exit_record){.tgid = x->tgid, .ppid = x->ppid};
	add_usage(r->usage, x);
}

static int by_tgid(const void *a, const void *b)
{
	const struct exit_record *x = a, *y = b;

	return x->tgid < y->tgid ? -1 : x->tgid > y->tgid;
}

/* Threads of one process become one record. */
static void join_threads(struct process_exits *e)
{
	size_t left = 0;

	qsort(e->list, e->count, sizeof(*e->list), by_tgid);
	for (size_t i = 0; i < e->count; i++) {
		if (left && e->list[left - 1].tgid == e->list[i].tgid) {
			for (size_t k = 0; k < USAGE_END; k++)
				e->list[left - 1].usage[k] += e->list[i].usage[k];
			continue;
		}
		e->list[left++] = e->list[i];
	}
	e->count = left;
}

static bool is_ours(const struct process_exits *e, const struct exit_record *r)
{
	for (int depth = 0; r && depth < CHAIN_MAX; depth++) {
		const struct exit_record key = {.tgid = r->ppid};

		if (members_find(e->members, r->ppid, UINT64_MAX))
			return true;
		r = bsearch(&key, e->list, e->count, sizeof(key), by_tgid);
	}
	return false;
}

static void add_exits(struct member *one, const struct exit_record *r)
{
	for (size_t k = 0; k < USAGE_END; k++)
		one->exits[k] += r->usage[k];
}

void process_exits_settle(struct process_exits *e)
{
	size_t old = e->members->count;

	if (!e->count)
		return;
	join_threads(e);
	for (size_t i = 0; i < e->count; i++) {
		struct exit_record *r = &e->list[i];
		struct member *one = members_find(e->members, r->tgid, UINT64_MAX);

		/* it may have become a member since it was taken */
		if (one)
			add_exits(one, r);
		r->ours = !one && is_ours(e, r);
	}
	for (size_t i = 0; i < e->count; i++) {
		const struct exit_record *r = &e->list[i];

		if (r->ours)
			add_exits(members_add_exit(e->members, r->tgid, r->ppid), r);
	}
	if (e->members->count > old)
		members_sort(e->members);
	e->count = 0;
}

static void take(void *user, const struct task_exit *x)
{
	process_exits_take(user, x);
}

void process_exits_drain(struct process_exits *e)
{
	if (e->listener.fd < 0)
		return;
	if (taskstats_drain(&e->listener, take, e) > 0)
		e->lost++;
	process_exits_settle(e);
}

int process_exits_open(struct process_exits *e, struct members *m, const char *root,
		       struct strbuf *why)
{
	*e = (struct process_exits){.listener = {.fd = -1}, .members = m};
	if (*root)
		return strbuf_fail(why, -ENOTSUP, "this is a recorded tree, not a running machine");
	/* records have the pids of the host */
	if (!taskstats_ids_match())
		return strbuf_fail(why, -ENOTSUP,
				   "process ids here are not those of the host: in a container?");
	return taskstats_open(&e->listener, why);
}

void process_exits_close(struct process_exits *e)
{
	taskstats_close(&e->listener);
	free(e->list);
	e->list = NULL;
	e->count = e->cap = 0;
}
