/* Divides core time into parts; see core_time.h. */
#include "analysis/core_time/core_time.h"

#include <math.h>
#include <string.h>

const struct core_part_row core_parts[CORE_PARTS] = {
#define CORE_PART(id, name, family, words) {name, words, CORE_##family##_FAMILY},
#include "analysis/core_time/core_parts.def"
#undef CORE_PART
};

/* All bits set is a NAN. */
void core_evidence_init(struct core_evidence *e)
{
	*e = (struct core_evidence){0};
	memset((void *)e, 0xff, offsetof(struct core_evidence, edge));
}

static double known(double v)
{
	return v > 0 && isfinite(v) ? v : 0;
}

static double least(double a, double b)
{
	return a < b ? a : b;
}

static double most(double a, double b)
{
	return a > b ? a : b;
}

/* ---- kernel --------------------------------------------------------------------------------- */

/* Calls that move less than a page; large ones are paid for their bytes. */
static double small_calls(double calls, double bytes)
{
	return known(calls) > 0 && known(bytes) < SMALL_CALL * calls ? calls : 0;
}

/* Estimates of what work in the kernel costs, cut to the system time; the rest is other. */
static void divide_kernel(const struct core_evidence *e, double system, struct core_time *ret)
{
	double cost[] = {
		known(e->starts) * COST_START,
		known(e->minor_faults) * COST_FAULT,
		(small_calls(e->reads, e->read_bytes) + small_calls(e->writes, e->write_bytes)) *
			COST_CALL,
		known(e->network_bytes) * COST_SOCKET_BYTE,
	};
	static const enum core_part to[] = {CORE_FORK, CORE_FAULTS, CORE_SMALL_CALLS, CORE_SOCKETS};
	const size_t n = sizeof(to) / sizeof(to[0]);
	double sum = 0;

	/* a process that starts has faults of its own */
	cost[1] = most(0, cost[1] - known(e->starts) * 300 * COST_FAULT);
	for (size_t i = 0; i < n; i++)
		sum += cost[i];
	/* what costs most of the kernel's time by its estimate has the rest of it, too: estimates
	 * differ by a factor of two from machine to machine */
	double all = sum >= 0.4 * system || sum > system ? system : sum;
	for (size_t i = 0; i < n && sum > 0; i++)
		ret->part[to[i]] = cost[i] / sum * all;
	ret->part[e->metadata ? CORE_METADATA : CORE_KERNEL] =
		most(0, system - (sum > 0 ? all : 0));
}

/* ---- ready to run without a core ------------------------------------------------------------ */

static void divide_runnable(const struct core_evidence *e, double room, struct core_time *ret)
{
	double runnable = known(e->runnable), left = least(runnable, room);
	double quota = least(known(e->throttled), runnable);
	/* a thread that is ready while its job uses fewer cores than it has: others have them */
	double others = isnan(e->others) ? least(room, runnable - quota)
					 : least(e->others > 0 ? e->others : 0, runnable - quota);

	ret->part[CORE_QUOTA] = least(left, quota);
	left -= ret->part[CORE_QUOTA];
	ret->part[CORE_NEIGHBOUR] = least(left, others);
	left -= ret->part[CORE_NEIGHBOUR];
	/* cores that nobody used, and a thread that was ready: it may not use them */
	if (known(e->host_idle) > 0)
		ret->part[CORE_AFFINITY] = least(left, e->host_idle);
	left -= ret->part[CORE_AFFINITY];
	double places = (e->places > e->cores ? e->places : known(e->cores)) * known(e->seconds);
	double demand = known(e->user) + known(e->system) + runnable;
	double own = least(left, most(0, demand - places));
	/* no more threads than places: others had them, for less than the host's clocks show */
	ret->part[CORE_OVERSUBSCRIBED] = own;
	ret->part[CORE_NEIGHBOUR] += left - own;
	/* What remains had no core even with all granted ones busy. More threads than places wait
	 * for each other; else a quota stopped them, or others had the places. */
	double beyond = most(0, runnable - least(runnable, room));
	ret->excess_quota = least(beyond, quota - ret->part[CORE_QUOTA]);
	beyond -= ret->excess_quota;
	ret->excess_own = least(beyond, most(0, demand - places));
	ret->excess_others = beyond - ret->excess_own;
}

/* ---- nothing to run ------------------------------------------------------------------------- */

/* Shares room among waits: all of each where it suffices, else in proportion. Returns what is left.
 */
static double share(const double *wait, const enum wait_reason *reasons, const enum core_part *to,
		    size_t n, double room, struct core_time *ret)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += known(wait[reasons[i]]);
	double factor = sum > room ? room / sum : 1;
	for (size_t i = 0; i < n; i++)
		ret->part[to[i]] += known(wait[reasons[i]]) * factor;
	return most(0, room - sum);
}

/*
 * What held the work up comes first: storage, others, a lock, a timer, a GPU. Then events whose
 * origin is unknown, then parents that wait for children, then what nobody looked at. A thread that
 * waits for a condition waits for another thread of its process: nothing else was to run.
 */
static void divide_idle(const struct core_evidence *e, double room, struct core_time *ret)
{
	static const enum wait_reason first[] = {WAIT_STORAGE, WAIT_NETWORK, WAIT_PROCESS,
						 WAIT_LOCK,    WAIT_TIMER,   WAIT_DEVICE};
	static const enum core_part first_to[] = {CORE_STORAGE, CORE_NETWORK, CORE_PROCESS,
						  CORE_LOCK,    CORE_TIMER,   CORE_DEVICE};
	static const enum wait_reason then[] = {WAIT_POLL, WAIT_OTHER}, child[] = {WAIT_CHILD},
				      unknown[] = {WAIT_UNKNOWN};
	static const enum core_part then_to[] = {CORE_POLL, CORE_POLL}, child_to[] = {CORE_CHILD},
				    unknown_to[] = {CORE_RESIDUE};
	double wait[WAIT_REASONS];

	memcpy(wait, e->wait, sizeof(wait));
	wait[WAIT_STORAGE] = most(known(wait[WAIT_STORAGE]), known(e->blocked));
	room = share(wait, first, first_to, 6, room, ret);
	room = share(wait, then, then_to, 2, room, ret);
	room = share(wait, unknown, unknown_to, 1, room, ret);
	/* a parent waits while its child works: it holds nothing up but itself */
	room = share(wait, child, child_to, 1, room, ret);
	ret->part[e->edge ? CORE_TAIL : e->uneven ? CORE_IMBALANCE : CORE_SERIAL] += room;
}

/* ---- all ------------------------------------------------------------------------------------ */

void core_time_divide(const struct core_evidence *e, struct core_time *ret)
{
	double total = known(e->cores) * known(e->seconds);
	double user = known(e->user), system = known(e->system), busy = user + system;

	*ret = (struct core_time){0};
	if (isnan(e->user) && isnan(e->system)) {
		ret->part[CORE_RESIDUE] = total;
		return;
	}
	if (busy > total) {
		user *= total / busy;
		system *= total / busy;
		busy = total;
	}
	ret->part[CORE_USER] = user;
	divide_kernel(e, system, ret);
	/* Threads that wait for a lock in larger numbers than others are ready: who is ready wants
	 * the lock, too, and would wait for it with a core of its own. */
	double room = most(0, total - busy), lock = known(e->wait[WAIT_LOCK]);
	double contended = lock > known(e->runnable) ? least(lock, room) : 0;
	/* except the one that holds it, if others have its core */
	double holder = least(known(e->runnable), most(0, known(e->seconds) - busy));
	contended =
		most(0, contended - most(0, least(holder, known(e->others)) - (room - contended)));
	divide_runnable(e, room - contended, ret);
	double ready = core_time_family(ret, CORE_RUNNABLE_FAMILY);
	divide_idle(e, most(0, total - busy - ready), ret);
}

void core_time_add(struct core_time *to, const struct core_time *from)
{
	for (size_t i = 0; i < CORE_PARTS; i++)
		to->part[i] += from->part[i];
	to->excess_own += from->excess_own;
	to->excess_others += from->excess_others;
	to->excess_quota += from->excess_quota;
}

double core_time_total(const struct core_time *t)
{
	double sum = 0;

	for (size_t i = 0; i < CORE_PARTS; i++)
		sum += t->part[i];
	return sum;
}

double core_time_family(const struct core_time *t, enum core_family family)
{
	double sum = 0;

	for (size_t i = 0; i < CORE_PARTS; i++)
		sum += core_parts[i].family == family ? t->part[i] : 0;
	return sum;
}

double core_time_held_up(double active, double waited, double life)
{
	double alone = life - known(active);

	if (!(waited > 0) || !(alone > 0))
		return 0;
	return least(waited, alone * most(1, waited / life));
}
