/*
 * Whose a task was by the groups it ended in, for exits.c. The program tells of a task a moment
 * after its record was sent, so that a record may be there before; it is then waited for shortly.
 * Groups are numbers of version 2: those of version 1 count for themselves and may be the same.
 */
#include <sched.h>

#include "sources/exits/exits_internal.h"

/* Numbers of tasks are used again, but not so soon. */
#define TOLD_NS 2000000000ull
#define LOOKS 4

static size_t home(const struct exits *e, uint64_t group)
{
	return (group * UINT64_C(0x9e3779b97f4a7c15) >> 32) & (e->group_size - 1);
}

/* After a job came or went. */
static void list_groups(struct exits *e)
{
	size_t size = 64;

	while (size < e->slot_count * 4)
		size *= 2;
	free(e->groups);
	e->groups = xcalloc(size, sizeof(*e->groups));
	e->group_size = size;
	for (uint32_t i = 0; i < e->slot_count; i++)
		for (unsigned k = 0; k < ARRAY_SIZE(e->slots[i].groups); k++) {
			uint64_t group = e->slots[i].number ? e->slots[i].groups[k] : 0;

			if (!group)
				continue;
			size_t at = home(e, group);
			while (e->groups[at].group)
				at = (at + 1) & (size - 1);
			e->groups[at].group = group;
			e->groups[at].slot = i;
		}
	e->groups_changed = false;
}

static uint32_t slot_of_group(const struct exits *e, uint64_t group)
{
	for (size_t at = home(e, group); e->groups[at].group; at = (at + 1) & (e->group_size - 1))
		if (e->groups[at].group == group)
			return e->groups[at].slot;
	return SLOT_NONE;
}

static void on_task(void *user, const struct bpf_task *task)
{
	struct exits *e = user;
	int tid = (int)(uint32_t)task->id;
	struct told *t = &e->told[(unsigned)tid & (TOLD_SIZE - 1)];

	*t = (struct told){.tid = tid, .slot = SLOT_NONE, .time_ns = e->now_ns};
	for (unsigned i = 0; i < BPF_LEVELS && task->groups[i] && t->slot == SLOT_NONE; i++)
		t->slot = slot_of_group(e, task->groups[i]);
}

static const struct told *told_of(const struct exits *e, int tid)
{
	const struct told *t = &e->told[(unsigned)tid & (TOLD_SIZE - 1)];

	return t->tid == tid && e->now_ns - t->time_ns < TOLD_NS ? t : NULL;
}

static bool all_told(const struct exits *e)
{
	for (size_t i = 0; i < e->record_count; i++)
		if (!told_of(e, e->records[i].pid))
			return false;
	return true;
}

void exits_hear(struct exits *e, bool behind)
{
	if (!e->bpf)
		return;
	if (!e->version2) {
		bpf_ring_skip(&e->bpf->ring);
		return;
	}
	if (e->groups_changed)
		list_groups(e);
	/* while records are behind, so are those they belong to: the ring keeps them best */
	size_t most = behind ? 2 * e->record_count : SIZE_MAX;
	(void)bpf_ring_take(&e->bpf->ring, most, on_task, e);
	for (int i = 0; i < LOOKS && !behind && !all_told(e); i++) {
		(void)sched_yield();
		(void)bpf_ring_take(&e->bpf->ring, most, on_task, e);
	}
}

uint32_t exits_bpf_match(struct exits *e, int tid)
{
	const struct told *t = e->bpf ? told_of(e, tid) : NULL;

	return t && t->slot != SLOT_NONE && e->slots[t->slot].number ? t->slot : SLOT_NONE;
}
