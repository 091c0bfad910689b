/*
 * The accounting of a job's processes; see process.h.
 *
 * Surprising: much depends on the order of reading. Parents are read before their children;
 * otherwise a child that ends in between would be counted twice, in its own file and in that of its
 * parent. A process that ended after its parent was read may or may not be included in what the
 * parent showed; it stays open (late) until the next reading, and the total has what is certain.
 */
#include "sources/process/process.h"

#include <string.h>

/* Longer chains of ended parents do not occur. */
#define CHAIN_MAX 64

/* What ended processes claim from an heir in one reading. */
struct claims {
	uint64_t usage[USAGE_INHERITED_END];
	uint64_t cpu_ticks;              /* CPU time in whole ticks, as an heir shows it */
	uint64_t least;                  /* the smallest minflt of a claimant */
	uint64_t before[USAGE_KIDS_END]; /* of their children, before we watched */
	bool any;
};

struct inheritance {
	struct claims sure, unsure;
	uint64_t carry[USAGE_INHERITED_END];
	uint64_t carry_faults; /* growth of minflt in the last reading, claimed or not */
	uint64_t discounted[USAGE_KIDS_END]; /* for unsure ones of the last reading */
};

/* ---- the table ------------------------------------------------------------------------------ */

static int by_pid(const void *a, const void *b)
{
	const struct member *x = *(struct member *const *)a, *y = *(struct member *const *)b;

	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	return x->starttime < y->starttime ? -1 : x->starttime > y->starttime;
}

/* A process starts after its parent; within one tick the order of pids is mostly right. */
static int by_age(const void *a, const void *b)
{
	const struct member *x = *(struct member *const *)a, *y = *(struct member *const *)b;

	if (x->starttime != y->starttime)
		return x->starttime < y->starttime ? -1 : 1;
	return x->pid < y->pid ? -1 : x->pid > y->pid;
}

void members_sort(struct members *m)
{
	if (!m->count)
		return;
	qsort(m->by_pid, m->count, sizeof(*m->by_pid), by_pid);
	memcpy(m->by_age, m->by_pid, m->count * sizeof(*m->by_age));
	qsort(m->by_age, m->count, sizeof(*m->by_age), by_age);
}

/* Adds a member; the lists are not sorted afterwards. */
static struct member *add_member(struct members *m, int pid, int ppid, uint64_t starttime)
{
	struct member *one = xcalloc(1, sizeof(*one));

	one->pid = pid;
	one->ppid = ppid;
	one->starttime = starttime;
	one->rank = -1;
	one->stat_fd = one->io_fd = one->sched_fd = -1;
	if (m->count == m->cap) {
		m->cap = m->cap ? m->cap * 2 : 64;
		m->by_pid = xreallocarray(m->by_pid, m->cap, sizeof(*m->by_pid));
		m->by_age = xreallocarray(m->by_age, m->cap, sizeof(*m->by_age));
	}
	m->by_pid[m->count++] = one;
	m->started++;
	return one;
}

struct member *members_add_exit(struct members *m, int pid, int ppid)
{
	struct member *one = add_member(m, pid, ppid, 0);

	one->state = MEMBER_LATE;
	return one;
}

static void free_member(struct members *m, struct member *one)
{
	if (m->forget)
		m->forget(m->user, one);
	free(one->claims);
	free(one);
}

void members_release(struct members *m)
{
	for (size_t i = 0; i < m->count; i++)
		free_member(m, m->by_pid[i]);
	free(m->by_pid);
	free(m->by_age);
	*m = (struct members){0};
}

struct member *members_find(const struct members *m, int pid, uint64_t starttime)
{
	size_t low = 0, high = m->count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct member *x = m->by_pid[mid];

		if (x->pid < pid || (x->pid == pid && x->starttime <= starttime))
			low = mid + 1;
		else
			high = mid;
	}
	return low && m->by_pid[low - 1]->pid == pid ? m->by_pid[low - 1] : NULL;
}

/* ---- living processes ----------------------------------------------------------------------- */

static void take_listed(struct member *one, const struct job_process *w)
{
	one->listed = true;
	one->rank = w->rank;
	one->ppid = w->ppid;
	one->job = w->job;
}

/* Compares the members with the list; processes in the list that are not members are new. */
void members_sync(struct members *m, const struct job_process *list, size_t count)
{
	size_t old = m->count, j = 0;
	bool changed = false;

	m->pass++;
	for (size_t i = 0; i < old; i++) {
		struct member *one = m->by_pid[i];

		one->listed = false;
		for (; j < count && list[j].pid < one->pid; j++) {
			take_listed(add_member(m, list[j].pid, list[j].ppid, list[j].starttime),
				    &list[j]);
			changed = true;
		}
		bool same_pid = j < count && list[j].pid == one->pid;
		if (same_pid && list[j].starttime == one->starttime) {
			/* an outdated list may contain a process that has ended */
			take_listed(one, &list[j++]);
			if (one->state == MEMBER_LATE)
				one->state = MEMBER_GONE;
			continue;
		}
		if (same_pid && !one->starttime) {
			/* ended according to its record, but not yet waited for */
			one->starttime = list[j].starttime;
			one->state = MEMBER_LIVE;
			one->heir = NULL;
			take_listed(one, &list[j++]);
			changed = true;
			continue;
		}
		if (one->state == MEMBER_LATE || m->gone(m->user, one))
			one->state = MEMBER_GONE;
	}
	for (; j < count; j++) {
		take_listed(add_member(m, list[j].pid, list[j].ppid, list[j].starttime), &list[j]);
		changed = true;
	}
	if (changed)
		members_sort(m);
}

/* ---- readings ------------------------------------------------------------------------------- */

static uint64_t growth(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

void member_took(struct members *m, struct member *one, const uint64_t own[USAGE_END],
		 const uint64_t kids[USAGE_KIDS_END])
{
	/* a process older than our watch: its own usage counts, that of its children does not */
	if (!one->known && one->starttime < m->since_ticks)
		memcpy(one->kids_before, kids, sizeof(one->kids_before));
	for (size_t i = 0; i < USAGE_KIDS_END; i++) {
		uint64_t now = growth(kids[i], one->kids_before[i]);

		one->got[i] = growth(now, one->kids[i]);
		one->kids[i] = now;
	}
	for (size_t i = USAGE_IO; i < USAGE_INHERITED_END; i++)
		one->got[i] = growth(own[i], one->own[i]);
	memcpy(one->own, own, sizeof(one->own));
	one->known = true;
	one->read_pass = m->pass;
}

void member_unchanged(struct members *m, struct member *one)
{
	memset(one->got, 0, sizeof(one->got));
	one->read_pass = m->pass;
}

/* ---- inheritance ---------------------------------------------------------------------------- */

/*
 * The total usage of a process as far as it is known: the last reading, or the exit records if they
 * show more. They never show too much, because they are records of its own threads.
 */
static void final_usage(const struct member *one, uint64_t ret[USAGE_END], uint64_t *ret_cpu_ticks)
{
	uint64_t cpu = one->own[USAGE_USER] + one->own[USAGE_SYSTEM];
	uint64_t extra = growth(one->exits[USAGE_USER] + one->exits[USAGE_SYSTEM], cpu);
	uint64_t user = growth(one->exits[USAGE_USER], one->own[USAGE_USER]);

	for (size_t i = 0; i < USAGE_END; i++)
		ret[i] = one->own[i] > one->exits[i] ? one->own[i] : one->exits[i];
	if (user > extra)
		user = extra;
	ret[USAGE_USER] = one->own[USAGE_USER] + user;
	ret[USAGE_SYSTEM] = one->own[USAGE_SYSTEM] + extra - user;
	for (size_t i = 0; i < USAGE_KIDS_END; i++)
		ret[i] += one->kids[i];
	/* an heir shows whole ticks of user and system time: up to one less than the sum */
	uint64_t ticks = (ret[USAGE_USER] + ret[USAGE_SYSTEM]) / PL_TICK_US;
	if (extra || one->partial)
		ticks = ticks ? ticks - 1 : 0;
	*ret_cpu_ticks = ticks;
}

static struct member *parent_of(const struct members *m, const struct member *one)
{
	return members_find(m, one->ppid, one->starttime ? one->starttime : UINT64_MAX);
}

/* The heir of an ended process: its parent, or the nearest living ancestor. */
static void find_heir(const struct members *m, struct member *one)
{
	struct member *p = one;

	one->heir = NULL;
	one->sure = one->state == MEMBER_GONE;
	for (int depth = 0; depth < CHAIN_MAX; depth++) {
		p = parent_of(m, p);
		if (!p || p == one)
			return;
		if (p->state == MEMBER_LATE)
			one->sure = false;
		if (p->state != MEMBER_LIVE)
			continue;
		if (p->read_pass == m->pass)
			one->heir = p;
		else
			one->sure = false;
		return;
	}
}

/*
 * A process that was late at the last reading may have been included in what its heir showed, and
 * the heir has ended too: what the heir had left over is not claimed again further up.
 */
static void offset_by_heirs(struct members *m)
{
	for (size_t i = 0; i < m->count; i++) {
		struct member *one = m->by_pid[i];
		struct inheritance *h = one->heir ? one->heir->claims : NULL;
		uint64_t usage[USAGE_END], ticks;

		if (one->state == MEMBER_LIVE || !h || one->heir->state == MEMBER_LIVE)
			continue;
		final_usage(one, usage, &ticks);
		for (size_t k = 0; k < USAGE_INHERITED_END; k++) {
			uint64_t taken = usage[k] < h->carry[k] ? usage[k] : h->carry[k];

			usage[k] -= taken;
			h->carry[k] -= taken;
		}
		for (size_t k = 0; k < USAGE_KIDS_END; k++) {
			uint64_t off = one->kids_before[k] < h->discounted[k] ? one->kids_before[k]
									      : h->discounted[k];

			one->kids_before[k] -= off;
			h->discounted[k] -= off;
		}
		memcpy(one->own, usage, sizeof(one->own));
		memset(one->kids, 0, sizeof(one->kids));
		memset(one->exits, 0, sizeof(one->exits));
		one->partial = true;
	}
	for (size_t i = 0; i < m->count; i++) {
		struct member *one = m->by_pid[i];

		if (one->state == MEMBER_LIVE || !one->claims)
			continue;
		free(one->claims);
		one->claims = NULL;
	}
}

static void claim(struct member *one)
{
	uint64_t usage[USAGE_END], ticks;

	if (!one->heir->claims)
		one->heir->claims = xcalloc(1, sizeof(*one->heir->claims));
	struct claims *c = one->sure ? &one->heir->claims->sure : &one->heir->claims->unsure;
	final_usage(one, usage, &ticks);
	for (size_t i = 0; i < USAGE_INHERITED_END; i++)
		c->usage[i] += usage[i];
	for (size_t i = 0; i < USAGE_KIDS_END; i++)
		c->before[i] += one->kids_before[i];
	c->cpu_ticks += ticks;
	if (!c->any || usage[USAGE_MINFLT] < c->least)
		c->least = usage[USAGE_MINFLT];
	c->any = true;
}

static void gather_claims(struct members *m)
{
	for (size_t i = 0; i < m->count; i++) {
		struct inheritance *h = m->by_pid[i]->claims;

		if (h)
			h->sure = h->unsure = (struct claims){0};
	}
	for (size_t i = 0; i < m->count; i++) {
		struct member *one = m->by_pid[i];

		if (one->state == MEMBER_LIVE)
			continue;
		find_heir(m, one);
		if (one->heir)
			claim(one);
	}
}

static uint64_t pool(const struct member *heir, size_t i)
{
	return heir->got[i] + heir->claims->carry[i];
}

/*
 * Nobody inherits yet from a process that is known from its exit record but not waited for. Checked
 * only if an heir did not grow as expected. True: there is one.
 */
static bool find_unwaited(struct members *m)
{
	bool found = false;

	for (size_t i = 0; i < m->count; i++) {
		struct member *one = m->by_pid[i];
		const struct member *heir = one->heir;

		if (one->state != MEMBER_GONE || one->starttime || !heir ||
		    pool(heir, USAGE_MINFLT) >= heir->claims->sure.usage[USAGE_MINFLT] ||
		    !m->exists(m->user, one->pid))
			continue;
		one->state = MEMBER_LATE;
		found = true;
	}
	return found;
}

/* What is claimed and cannot be in the growth of the heir; subtracts the rest from the pool. */
static void missing(const struct claims *c, uint64_t faults, uint64_t left[USAGE_INHERITED_END],
		    uint64_t ret[USAGE_END])
{
	if (!c->any)
		return;
	/* not even the smallest can have arrived: nobody waited for them */
	bool none = faults < c->least;
	uint64_t cpu = left[USAGE_USER] + left[USAGE_SYSTEM];
	uint64_t lacking = growth(c->cpu_ticks * PL_TICK_US, cpu);

	for (size_t i = 0; i < USAGE_INHERITED_END; i++) {
		uint64_t lack = none ? c->usage[i] : growth(c->usage[i], left[i]);

		if (!none && i == USAGE_USER)
			lack = lacking < c->usage[i] ? lacking : c->usage[i];
		else if (!none && i == USAGE_SYSTEM)
			lack = growth(lacking, c->usage[USAGE_USER]);
		ret[i] += lack;
		if (!none)
			left[i] = growth(left[i], c->usage[i]);
	}
}

/*
 * What a claimant had from children before we watched is inherited too, but does not count for the
 * job. That of an unsure one is subtracted as soon as it may be included: the total must not rise.
 */
static void discount(struct member *heir, uint64_t faults, const uint64_t left[USAGE_INHERITED_END])
{
	struct inheritance *h = heir->claims;

	for (size_t i = 0; i < USAGE_KIDS_END; i++) {
		uint64_t before = 0;

		if (h->sure.any && faults >= h->sure.least)
			before += h->sure.before[i];
		if (h->unsure.any && faults >= h->unsure.least)
			before += h->unsure.before[i];
		uint64_t off = growth(before, h->discounted[i]);
		off = off < left[i] ? off : left[i];
		heir->kids_before[i] += off;
		heir->kids[i] = growth(heir->kids[i], off);
		h->carry[i] = growth(h->carry[i], off);
		h->discounted[i] = growth(h->discounted[i] + off, h->sure.before[i]);
	}
}

static void settle_heir(struct members *m, struct member *heir)
{
	struct inheritance *h = heir->claims;
	uint64_t left[USAGE_INHERITED_END];
	uint64_t faults = heir->got[USAGE_MINFLT] + h->carry_faults;

	for (size_t i = 0; i < USAGE_INHERITED_END; i++)
		left[i] = pool(heir, i);
	missing(&h->sure, faults, left, m->ended);
	/* what unsure ones may find at the next reading: at most the growth of this one */
	for (size_t i = 0; i < USAGE_INHERITED_END; i++)
		h->carry[i] = left[i] < heir->got[i] ? left[i] : heir->got[i];
	h->carry_faults = heir->got[USAGE_MINFLT];
	missing(&h->unsure, faults, left, m->unsure);
	discount(heir, faults, left);
	if (h->unsure.any)
		return;
	free(h);
	heir->claims = NULL;
}

/* Removes settled members; a late child of one becomes a child of its parent. */
static void drop_settled(struct members *m)
{
	size_t left = 0;

	for (size_t i = 0; i < m->count; i++) {
		struct member *one = m->by_pid[i], *p;

		if (one->state == MEMBER_LIVE || one->sure)
			continue;
		for (int depth = 0; depth < CHAIN_MAX && (p = parent_of(m, one)) &&
				    p->state == MEMBER_GONE && p->sure;
		     depth++)
			one->ppid = p->ppid;
	}
	for (size_t i = 0; i < m->count; i++) {
		struct member *one = m->by_age[i];

		if (one->state != MEMBER_GONE || !one->sure)
			m->by_age[left++] = one;
	}
	left = 0;
	for (size_t i = 0; i < m->count; i++) {
		struct member *one = m->by_pid[i];

		if (one->state == MEMBER_GONE && one->sure)
			free_member(m, one);
		else
			m->by_pid[left++] = one;
	}
	m->ended_count += m->count - left;
	m->count = left;
}

void members_settle(struct members *m)
{
	uint64_t now[USAGE_END], ticks;
	bool any = false;

	memset(m->unsure, 0, sizeof(m->unsure));
	for (size_t i = 0; i < m->count && !any; i++)
		any = m->by_pid[i]->state != MEMBER_LIVE || m->by_pid[i]->claims;
	if (any) {
		offset_by_heirs(m);
		gather_claims(m);
		if (find_unwaited(m))
			gather_claims(m);
		for (size_t i = 0; i < m->count; i++) {
			struct member *one = m->by_pid[i];

			if (one->state == MEMBER_LIVE) {
				if (one->claims && one->read_pass == m->pass)
					settle_heir(m, one);
				continue;
			}
			final_usage(one, now, &ticks);
			uint64_t *to = one->sure ? m->ended : m->unsure;
			size_t first = one->heir ? USAGE_INHERITED_END : 0;
			for (size_t k = first; k < USAGE_END; k++)
				to[k] += now[k];
		}
		drop_settled(m);
	}
	for (size_t k = 0; k < USAGE_END; k++)
		now[k] = m->ended[k] + m->unsure[k];
	uint64_t ended = m->ended_count;
	for (size_t i = 0; i < m->count; i++) {
		const struct member *one = m->by_pid[i];

		ended += one->state != MEMBER_LIVE;
		if (one->state != MEMBER_LIVE || !one->known)
			continue;
		for (size_t k = 0; k < USAGE_END; k++)
			now[k] += one->own[k] + (k < USAGE_KIDS_END ? one->kids[k] : 0);
	}
	m->ended_shown = ended > m->ended_shown ? ended : m->ended_shown;
	for (size_t k = 0; k < USAGE_END; k++)
		m->total[k] = now[k] > m->total[k] ? now[k] : m->total[k];
}
