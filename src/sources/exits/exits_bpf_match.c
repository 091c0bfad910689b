/*
 * Maps an exited task to its job by its last control group, for exits.c. The BPF program reports a
 * task just after its exit record was sent, so a record may arrive first; then we wait briefly.
 * Group ids are those of version 2: ids of version 1 are a separate sequence and may be equal.
 */
#include <sched.h>

#include "sources/exits/exits_internal.h"

/* Thread ids are not reused within this time. */
#define REPORT_NS 2000000000ull
#define LOOKS 4

/* After a job was added or removed. */
static void list_groups(struct exits *e)
{
	hash_map_clear(&e->groups);
	for (uint32_t i = 0; i < e->slot_count; i++)
		for (unsigned k = 0; k < ARRAY_SIZE(e->slots[i].groups); k++)
			if (e->slots[i].number && e->slots[i].groups[k])
				hash_map_add(&e->groups, hash_number(e->slots[i].groups[k]), i);
	e->groups_changed = false;
}

static uint32_t slot_of_group(const struct exits *e, uint64_t group)
{
	struct hash_slot *s = hash_map_first(&e->groups, hash_number(group));

	for (; s; s = hash_map_next(&e->groups, s)) {
		const uint64_t *own = e->slots[s->value].groups;

		if (own[0] == group || own[1] == group)
			return (uint32_t)s->value;
	}
	return SLOT_NONE;
}

static void on_task(void *user, const struct bpf_task *task)
{
	struct exits *e = user;
	int tid = (int)(uint32_t)task->id;
	struct bpf_report *t = &e->reports[(unsigned)tid & (REPORTS_SIZE - 1)];

	*t = (struct bpf_report){.tid = tid, .slot = SLOT_NONE, .time_ns = e->now_ns};
	for (unsigned i = 0; i < BPF_LEVELS && task->groups[i] && t->slot == SLOT_NONE; i++)
		t->slot = slot_of_group(e, task->groups[i]);
}

static const struct bpf_report *report_of(const struct exits *e, int tid)
{
	const struct bpf_report *t = &e->reports[(unsigned)tid & (REPORTS_SIZE - 1)];

	return t->tid == tid && e->now_ns - t->time_ns < REPORT_NS ? t : NULL;
}

static bool all_reported(const struct exits *e)
{
	for (size_t i = 0; i < e->record_count; i++)
		if (!report_of(e, e->records[i].pid))
			return false;
	return true;
}

void exits_read_bpf(struct exits *e, bool behind)
{
	if (!e->bpf)
		return;
	if (!e->version2) {
		bpf_ring_skip(&e->bpf->ring);
		return;
	}
	if (e->groups_changed)
		list_groups(e);
	/* if there are more records, leave what belongs to them in the ring */
	size_t most = behind ? 2 * e->record_count : SIZE_MAX;
	(void)bpf_ring_take(&e->bpf->ring, most, on_task, e);
	for (int i = 0; i < LOOKS && !behind && !all_reported(e); i++) {
		(void)sched_yield();
		(void)bpf_ring_take(&e->bpf->ring, most, on_task, e);
	}
}

uint32_t exits_bpf_match(struct exits *e, int tid)
{
	const struct bpf_report *t = e->bpf ? report_of(e, tid) : NULL;

	return t && t->slot != SLOT_NONE && e->slots[t->slot].number ? t->slot : SLOT_NONE;
}
