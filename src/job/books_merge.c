/* Processes seen from inside and from outside of their pid namespace. */
#include "core/procparse.h"
#include "job/books_join.h"

/* How long after its own END a process may be reported by those outside. */
#define MERGE_NS 500000000ull

static bool is_outermost(const struct books *b, const struct process *p)
{
	uint64_t device = b->spaces[p->key >> 32] & 0xffffffff;

	for (size_t i = 0; i < b->file_count; i++)
		if (b->files[i].procdev && (b->files[i].procdev & 0xffffffff) == device)
			return true;
	return false;
}

static int by_end(const void *a, const void *b, void *books)
{
	const struct process *all = ((const struct books *)books)->processes;
	const struct process *x = &all[*(const uint32_t *)a], *y = &all[*(const uint32_t *)b];

	return x->end_ns < y->end_ns ? -1 : x->end_ns > y->end_ns;
}

/* Is outside the same process as inside, by when it began and ended and how? surely: the tick of
 * its begin is known and the same; else it may be the one before, as others hear of a fork a little
 * later, or not be known. */
static bool same_process(const struct process *outside, const struct process *inside, bool surely)
{
	uint64_t begin_tick = outside->begin_ns / 1000 / PL_TICK_US;
	uint64_t start_tick = inside->starttime_us / PL_TICK_US;

	if (outside->merged || outside->host != inside->host || outside->status != inside->status)
		return false;
	if (!outside->begin_ns || !inside->starttime_us)
		return !surely;
	return begin_tick == start_tick || (!surely && begin_tick == start_tick + 1);
}

/* The one inside learns what those outside knew; the one outside is no process of its own. */
static void merge(struct books *b, struct process *outside, struct process *inside)
{
	outside->merged = true;
	outside->outside = (uint32_t)(inside - b->processes);
	inside->outside = (uint32_t)(outside - b->processes);
	inside->has_kernel |= outside->has_kernel;
	if (outside->kernel != NO_OFFSET)
		inside->kernel = outside->kernel;
	if (outside->has_kernel_cpu) {
		inside->has_kernel_cpu = true;
		inside->kernel_cpu_ns = outside->kernel_cpu_ns;
	}
	inside->execs = outside->execs > inside->execs ? outside->execs : inside->execs;
	if (!inside->reaped && outside->reaped) {
		inside->reaped = true;
		inside->reap = outside->reap;
		inside->has_usage = outside->has_usage;
		inside->reap_cpu_us = outside->reap_cpu_us;
	}
	if (outside->begin_ns)
		inside->begin_ns = outside->begin_ns;
	if (outside->has_kernel)
		inside->end_ns = outside->end_ns;
}

/* outside: those that may be meant, by their end. */
static void merge_one(struct books *b, struct process *in, const uint32_t *outside, size_t count,
		      bool surely)
{
	/* its parent may have waited for it long after its end, which those outside heard of at
	 * once */
	uint64_t own_end_ns = b->images[in->last].end_ns ? b->images[in->last].end_ns : in->end_ns;
	size_t low = 0, high = count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (b->processes[outside[mid]].end_ns + PL_TICK_US * 1000 < own_end_ns)
			low = mid + 1;
		else
			high = mid;
	}
	for (; low < count && b->processes[outside[low]].end_ns <= in->end_ns + MERGE_NS; low++)
		if (same_process(&b->processes[outside[low]], in, surely)) {
			merge(b, &b->processes[outside[low]], in);
			break;
		}
}

/*
 * A process in a pid namespace of its own records itself with the pid that it has there; its parent
 * outside and the kernel know it by another. They are one process when its times and its end agree.
 */
void books_merge_namespaces(struct books *b)
{
	_cleanup_free_ uint32_t *outside = xcalloc(b->process_count, sizeof(*outside));
	size_t count = 0;

	if (b->space_count < 2)
		return;
	for (size_t i = 0; i < b->process_count; i++)
		if (b->processes[i].last == NO_INDEX && is_outermost(b, &b->processes[i]))
			outside[count++] = (uint32_t)i;
	qsort_r(outside, count, sizeof(*outside), by_end, b);
	/* first those that are sure: another that is equal but for its tick must not take their
	 * place */
	for (int surely = 1; surely >= 0; surely--)
		for (size_t i = 0; i < b->process_count; i++) {
			struct process *in = &b->processes[i];

			if (in->last != NO_INDEX && !in->has_kernel && !is_outermost(b, in))
				merge_one(b, in, outside, count, surely);
		}
}
