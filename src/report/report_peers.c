/*
 * Processes beside and after each other, and threads of a process, compared: figures of findings
 * about imbalance and programs in turn. See report_internal.h.
 */
#include <math.h>
#include <string.h>

#include "report/report_internal.h"
#include "store/sql.h"

#define LONG_US 300000 /* shorter processes are steps of a script */
#define CHAIN_US 100000
#define NO_PARENT UINT32_MAX
#define THREADS_MAX 20000 /* that are looked at */

/* ---- processes of the same program ---------------------------------------------------------- */

struct peers {
	uint32_t name, parent,
		step;  /* parent: NO_PARENT of roots, such as ranks on several hosts */
	int64_t first; /* start of the first */
	double count, sum, most;
};

static bool is_worker(const struct report_loading *l, size_t i)
{
	const struct report_proc *p = &l->procs[i];

	return p->start != UNKNOWN && p->duration != UNKNOWN && p->duration >= LONG_US &&
	       p->cpu != UNKNOWN && p->name && p->last == i;
}

/* Those that began soon after the first of their program, below the same parent and in the same
 * step. */
static void compare_peers(const struct report_loading *l, struct finding_figures *f)
{
	struct peers list[64];
	size_t count = 0;

	for (size_t i = 0; i < l->started; i++) {
		size_t place = l->by_start[i], k = 0;
		const struct report_proc *p = &l->procs[place];

		if (!is_worker(l, place))
			continue;
		uint32_t parent = p->parent == place ? NO_PARENT : p->parent;
		while (k < count && (list[k].name != p->name || list[k].parent != parent ||
				     list[k].step != p->step))
			k++;
		if (k == ARRAY_SIZE(list))
			continue;
		if (k == count)
			list[count++] = (struct peers){.name = p->name,
						       .parent = parent,
						       .step = p->step,
						       .first = p->start};
		if ((double)(p->start - list[k].first) * 1e-6 > 0.25 * f->duration)
			continue;
		double cpu = (double)p->cpu * 1e-6;
		list[k].count++;
		list[k].sum += cpu;
		list[k].most = cpu > list[k].most ? cpu : list[k].most;
	}
	for (size_t k = 0; k < count; k++) {
		double mean = list[k].sum / list[k].count;

		if (list[k].count < 2 ||
		    !(isnan(f->peers) || list[k].most - mean > f->peer_most - f->peer_mean))
			continue;
		f->peers = list[k].count;
		f->peer_mean = mean;
		f->peer_most = list[k].most;
		f->peer_name = l->r->names[list[k].name];
	}
}

/* ---- ranks ---------------------------------------------------------------------------------- */

struct rank {
	uint32_t step;
	int32_t rank;
	double cpu;
};

static int by_step_and_rank(const void *a, const void *b)
{
	const struct rank *x = a, *y = b;

	if (x->step != y->step)
		return x->step < y->step ? -1 : 1;
	return x->rank < y->rank ? -1 : x->rank > y->rank;
}

/* The CPU time of each rank in each step. */
static size_t add_up_ranks(const struct report_loading *l, struct rank *list)
{
	size_t all = 0, count = 0;

	for (size_t i = 0; i < l->count; i++) {
		const struct report_proc *p = &l->procs[i];

		if (p->rank >= 0)
			list[all++] = (struct rank){p->step, p->rank,
						    p->cpu == UNKNOWN ? 0 : (double)p->cpu * 1e-6};
	}
	if (all)
		qsort(list, all, sizeof(*list), by_step_and_rank);
	for (size_t i = 0; i < all; i++)
		if (count && !by_step_and_rank(&list[count - 1], &list[i]))
			list[count - 1].cpu += list[i].cpu;
		else
			list[count++] = list[i];
	return count;
}

static const char *name_of_rank(const struct report *r, int32_t rank)
{
	for (size_t i = 0; i < r->ranks.count; i++)
		if (strtol(r->ranks.list[i].name, NULL, 10) == rank)
			return r->ranks.list[i].name;
	return NULL;
}

/* The ranks of one step: they count if they differ more than those before. */
static void take_ranks(const struct report_loading *l, const struct rank *list, size_t n,
		       struct finding_figures *f)
{
	const struct rank *most = list;
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		sum += list[i].cpu;
		most = list[i].cpu > most->cpu ? &list[i] : most;
	}
	double mean = sum / (double)n;
	if (n < 2 || !(isnan(f->ranks) || most->cpu - mean > f->rank_most - f->rank_mean))
		return;
	f->ranks = (double)n;
	f->rank_mean = mean;
	f->rank_most = most->cpu;
	f->rank_name = name_of_rank(l->r, most->rank);
	f->rank_step = list->step ? l->r->steps[list->step - 1].name : NULL;
}

/* A rank of one step has nothing to do with that of another one. */
static void compare_ranks(const struct report_loading *l, struct finding_figures *f)
{
	_cleanup_free_ struct rank *list = xcalloc(l->count, sizeof(*list));
	size_t count = add_up_ranks(l, list), from = 0;

	for (size_t i = 1; i <= count; i++)
		if (i == count || list[i].step != list[from].step) {
			take_ranks(l, &list[from], i - from, f);
			from = i;
		}
}

/* ---- programs in turn ----------------------------------------------------------------------- */

/* The children of a process that ran one after another. */
static void follow_chain(const struct report_loading *l, size_t parent, struct finding_figures *f)
{
	double count = 0, time = 0, longest = 0;
	int64_t until = INT64_MIN;
	uint32_t pid = 0;

	for (size_t k = parent + 1; k <= l->procs[parent].last; k = l->procs[k].last + 1) {
		const struct report_proc *p = &l->procs[k];

		if (p->start == UNKNOWN || p->duration == UNKNOWN || p->duration < CHAIN_US)
			continue;
		/* two at once are no chain; the next program of the same process is no new one */
		if (until != INT64_MIN && p->start < until - CHAIN_US / 10)
			return;
		double s = (double)p->duration * 1e-6;
		time += s;
		count += p->pid != pid;
		longest = s > longest ? s : longest;
		until = p->start + p->duration;
		pid = p->pid;
	}
	if (longest < 0.7 * time && !(f->chain_time >= time)) {
		f->chain = count;
		f->chain_time = time;
	}
}

/* ---- threads -------------------------------------------------------------------------------- */

/* Who does less than this part of the busiest does not share its work: collectors of garbage, idle
 * pools. */
#define HELPER 0.1

struct workers {
	int64_t process;
	double *cpu;
	size_t count, cap;
};

static void end_workers(struct workers *w, struct finding_figures *f)
{
	double all = 0, most = 0, sum = 0, sharing = 0;

	for (size_t i = 0; i < w->count; i++) {
		all += w->cpu[i];
		most = w->cpu[i] > most ? w->cpu[i] : most;
	}
	for (size_t i = 0; i < w->count; i++)
		if (w->cpu[i] >= HELPER * most) {
			sum += w->cpu[i];
			sharing++;
		}
	double count = (double)w->count, mean = all / count;
	w->count = 0;
	if (count >= 2 && (isnan(f->workers) || most - mean > f->worker_most - f->worker_mean)) {
		f->workers = count;
		f->worker_mean = mean;
		f->worker_most = most;
	}
	mean = sum / sharing;
	if (sharing >= 2 &&
	    (isnan(f->sharing) || most - mean > f->sharing_most - f->sharing_mean)) {
		f->sharing = sharing;
		f->sharing_mean = mean;
		f->sharing_most = most;
	}
}

/* The first thread of a process has other work than those that it started. */
static void compare_threads(const struct report_loading *l, struct finding_figures *f)
{
	_cleanup_sql_ struct sql q = SQL_INIT;
	struct workers w = {0};
	size_t n = 0;

	sql_add(&q, "SELECT t.process, t.usertime, t.systemtime, t.tid, p.pid, t.duration "
		    "FROM thread t JOIN process p ON p.id = t.process WHERE ");
	sql_job_range(&q, "t.process", l->job);
	sql_add(&q, " ORDER BY t.process");
	_cleanup_stmt_ struct stmt *st = sql_prepare(&q, l->store);
	while (st && stmt_step(st) == 1 && n++ < THREADS_MAX) {
		int64_t cpu = known_sum(stmt_get_optional(st, 1), stmt_get_optional(st, 2));

		if (stmt_get_int(st, 3) == stmt_get_int(st, 4) || cpu == UNKNOWN ||
		    stmt_get_optional(st, 5) < LONG_US)
			continue;
		if (stmt_get_int(st, 0) != w.process) {
			end_workers(&w, f);
			w.process = stmt_get_int(st, 0);
		}
		GROW(w.cpu, w.count, w.cap);
		w.cpu[w.count++] = (double)cpu * 1e-6;
	}
	end_workers(&w, f);
	free(w.cpu);
}

void report_take_peers(const struct report_loading *l, struct finding_figures *f)
{
	if (!l->count)
		return;
	compare_ranks(l, f);
	compare_peers(l, f);
	for (size_t i = 0; i < l->count; i++)
		if (l->procs[i].last > i)
			follow_chain(l, i, f);
	compare_threads(l, f);
}
