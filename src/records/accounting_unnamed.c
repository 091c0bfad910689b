/*
 * Children of system(), whose pid the library does not know. Such a child has that parent, began
 * after the call, ended before it returned, and has the same or an unknown status. With several
 * threads more than one process may fit: the nearest is taken at once, so that its pid may be
 * reused, and dropped when it turns out to be another one.
 */
#include "records/accounting_internal.h"

/* Bounds the search in hostile files. */
#define LOOKS 16384

static const struct image *first_image(const struct accounting *b, const struct process *p)
{
	return p->first != NO_INDEX ? &b->images[p->first] : NULL;
}

/* Did its first program start before? The time of a START is exact, the begin of a process is not.
 */
static bool started_before(const struct accounting *b, const struct process *p, uint64_t time)
{
	const struct image *first = first_image(b, p);

	return first && first->start != NO_OFFSET && first->begin_ns < time;
}

/* Is there a later record of it? */
static bool lived_on(const struct accounting *b, const struct process *p, uint64_t time)
{
	const struct image *last = p->last != NO_INDEX ? &b->images[p->last] : NULL;

	return last && ((last->start != NO_OFFSET && last->begin_ns > time) ||
			(last->end != NO_OFFSET && last->end_ns > time));
}

static bool may_be_meant(const struct accounting *b, const struct process *p,
			 const struct unnamed *u)
{
	return p->key >> 32 == u->parent >> 32 && !p->reaped && !p->merged &&
	       p->begin_ns <= u->until && p->ppid == (uint32_t)u->parent &&
	       !started_before(b, p, u->since) && !lived_on(b, p, u->until);
}

/* How much of the call was before and after its life. */
static uint64_t apart(const struct accounting *b, const struct process *p, const struct unnamed *u)
{
	const struct image *first = first_image(b, p), *spoken = accounting_last_spoken(b, p);
	uint64_t begin = first && first->start != NO_OFFSET ? first->begin_ns : p->begin_ns;
	uint64_t end = spoken ? spoken->end_ns : p->end_ns;

	return (begin > u->since ? begin - u->since : 0) + (u->until > end ? u->until - end : 0);
}

/* Several processes without a status cannot be told apart. */
static uint32_t find(const struct accounting *b, const struct unnamed *u)
{
	uint32_t best = NO_INDEX, found = NO_INDEX;
	uint64_t nearest = UINT64_MAX;
	bool several = false;

	for (size_t i = u->process_count, left = LOOKS; i-- > 0 && left--;) {
		const struct process *p = &b->processes[i];

		/* processes are in the order of their first records; times are exact to a tick */
		if (p->begin_ns + 2 * TICK_NS < u->since) {
			if (p->key >> 32 == u->parent >> 32 && started_before(b, p, u->since))
				break;
			continue;
		}
		if (!may_be_meant(b, p, u))
			continue;
		if (p->status == u->status && apart(b, p, u) < nearest) {
			nearest = apart(b, p, u);
			best = (uint32_t)i;
		}
		if (p->status < 0) {
			several |= found != NO_INDEX;
			found = (uint32_t)i;
		}
	}
	return best != NO_INDEX ? best : several ? NO_INDEX : found;
}

static void take(struct accounting *b, uint32_t at)
{
	struct unnamed *u = &b->unnamed[at];

	u->process = find(b, u);
	if (u->process == NO_INDEX)
		return;
	struct process *p = &b->processes[u->process];
	u->prior_end_ns = p->end_ns;
	u->prior_status = p->status;
	p->unnamed = at;
	p->reaped = true;
	p->reap = u->ref;
	p->status = u->status;
	/* the kernel reports an end a little late */
	if (p->has_kernel ? u->until < p->end_ns : u->until > p->end_ns)
		p->end_ns = u->until;
	p->has_usage = u->has_usage;
	p->reap_cpu_us = u->has_usage ? u->cpu_us : 0;
}

void accounting_reap_unnamed(struct accounting *b, const struct unnamed *u)
{
	GROW(b->unnamed, b->unnamed_count, b->unnamed_cap);
	b->unnamed[b->unnamed_count] = *u;
	b->unnamed[b->unnamed_count].process_count = (uint32_t)b->process_count;
	take(b, (uint32_t)b->unnamed_count++);
}

void accounting_not_meant(struct accounting *b, struct process *p)
{
	if (p->unnamed == NO_INDEX)
		return;
	struct unnamed *u = &b->unnamed[p->unnamed];
	u->process = p->unnamed = NO_INDEX;
	p->reaped = p->has_usage = false;
	p->reap = NO_OFFSET;
	p->reap_cpu_us = 0;
	p->status = u->prior_status;
	p->end_ns = u->prior_end_ns;
}

/* The kernel's report may come after the parent's. */
#define LATE_NS (10 * TICK_NS)

void accounting_check_unnamed(struct accounting *b, struct process *p, int32_t status,
			      uint64_t end_ns)
{
	if (p->unnamed == NO_INDEX)
		return;
	struct unnamed *u = &b->unnamed[p->unnamed];
	if ((status >= 0 && status != u->status) || end_ns > u->until + LATE_NS) {
		accounting_not_meant(b, p);
		return;
	}
	u->prior_end_ns = end_ns;
	if (status >= 0)
		u->prior_status = status;
}

void accounting_resolve_unnamed(struct accounting *b)
{
	for (size_t i = 0; i < b->unnamed_count; i++)
		if (b->unnamed[i].process == NO_INDEX)
			take(b, (uint32_t)i);
}
