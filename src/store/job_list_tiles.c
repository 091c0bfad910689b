/* Sums over the jobs that a filter selects; see job_list.h. */
#include <math.h>

#include "store/job_list_internal.h"

#define REAL(column) "sum(CAST(" column " AS DOUBLE PRECISION))"

static double real_or_nan(struct stmt *st, int i)
{
	return stmt_is_null(st, i) ? NAN : stmt_get_real(st, i);
}

/* Each job once, even if several words of its name begin alike. */
static void add_jobs(struct sql *q, const struct list_plan *p, const struct list_term *t)
{
	bool distinct = t->source == LIST_WORDS && t->word_count != 1;

	if (distinct)
		sql_add(q, " FROM (SELECT DISTINCT d.job");
	list_add_source(q, p, t, distinct ? t->word_count : 0, !distinct);
	if (p->bounded)
		list_add_bounds(q, p, t);
	if (!distinct)
		return;
	sql_add(q, p->s->engine->concurrent ? ") d JOIN job j ON j.no = d.job WHERE 1 = 1"
					    : ") d CROSS JOIN job j ON j.no = d.job WHERE 1 = 1");
}

static int take_sums(struct stmt *st, struct job_tiles *ret)
{
	int r = stmt_step(st);

	if (r != 1)
		return r;
	double cpu_of_granted = real_or_nan(st, 2);
	ret->jobs = stmt_get_int(st, 0);
	ret->cpu_s = ret->jobs ? real_or_nan(st, 1) / 1e6 : 0;
	ret->core_s = real_or_nan(st, 3) / 1e6;
	ret->energy_j = real_or_nan(st, 4) / 1e3;
	ret->energy_jobs = stmt_get_int(st, 5);
	ret->failed = stmt_get_int(st, 6);
	ret->efficiency = ret->core_s > 0 ? cpu_of_granted / 1e6 / ret->core_s : NAN;
	return 0;
}

static int sum_up(struct list_plan *p, struct job_tiles *ret)
{
	_cleanup_sql_ struct sql q = SQL_INIT;
	const struct list_term *t = p->shortest;

	sql_add(&q, "SELECT count(*), " REAL("j.cpu_us"));
	sql_add(&q,
		p->indexed
			? ", " REAL("CASE WHEN j.core_us IS NOT NULL THEN j.cpu_us END") ", " REAL(
				  "j.core_us") ", " REAL("j.energy_mj") ", count(j.energy_mj)"
			: ", NULL, NULL, NULL, 0");
	sql_add(&q, ", count(CASE WHEN j.exitcode <> 0 THEN 1 END)");
	add_jobs(&q, p, t);
	list_add_conditions(&q, p, t);
	_cleanup_stmt_ struct stmt *st = sql_prepare(&q, p->s);
	return take_sums(st, ret);
}

static int count_running(struct list_plan *p, struct job_tiles *ret)
{
	_cleanup_sql_ struct sql q = SQL_INIT;
	const struct list_term running = {.source = LIST_RUNNING};

	sql_add(&q, "SELECT count(*)");
	list_add_source(&q, p, &running, 0, true);
	if (p->bounded)
		list_add_bounds(&q, p, &running);
	list_add_conditions(&q, p, &running);
	_cleanup_stmt_ struct stmt *st = sql_prepare(&q, p->s);
	int r = stmt_step(st);
	ret->running = r == 1 ? stmt_get_int(st, 0) : 0;
	return r < 0 ? r : 0;
}

/* PostgreSQL counts a page of an index as dear as four of a table, and reads all columns of all
 * jobs where the index, which is much smaller, has those that are summed up. And it compiles the
 * sums, which takes longer than it saves. */
static int sum_up_cheaply(struct list_plan *p, struct job_tiles *ret)
{
	if (!p->s->engine->concurrent)
		return sum_up(p, ret);
	int r = store_exec(p->s, "SET random_page_cost = 1.1; SET jit = off");
	if (r == 0)
		r = sum_up(p, ret);
	int back = store_exec(p->s, "RESET random_page_cost; RESET jit");
	return r < 0 ? r : back;
}

int job_list_tiles(struct store *s, struct filter *where, struct job_tiles *ret)
{
	struct list_plan p = {0};

	*ret = (struct job_tiles){0};
	int r = list_plan_begin(&p, s, where, false, 0);
	p.summed = true;
	if (r == 0)
		r = sum_up_cheaply(&p, ret);
	if (r == 0)
		r = count_running(&p, ret);
	list_plan_end(&p);
	return r;
}
