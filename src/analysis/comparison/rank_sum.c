/* The distribution of Mann and Whitney's U; see rank_sum.h. */
#include "analysis/comparison/rank_sum.h"

void rank_sum_release(struct rank_sum *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->tables[i].upto);
	free(r->tables);
	*r = (struct rank_sum){0};
}

/* Counts the arrangements by the coefficients of the Gaussian binomial (n + m over n), the product
 * of (1 - q^(m+i)) / (1 - q^i). Low coefficients use low ones only, so the small counts that decide
 * stay exact. */
static void make_table(struct rank_sum_table *t)
{
	const size_t few = t->n < t->m ? t->n : t->m, many = t->n < t->m ? t->m : t->n;
	const size_t size = t->n * t->m + 1;
	double *c = xcalloc(size, sizeof(*c)), total = 1, sum = 0;

	c[0] = 1;
	for (size_t i = 1; i <= few; i++) {
		for (size_t u = size; u-- > many + i;)
			c[u] -= c[u - many - i];
		for (size_t u = i; u < size; u++)
			c[u] += c[u - i];
		total *= (double)(many + i) / (double)i;
	}
	for (size_t u = 0; u < size; u++) {
		sum += c[u];
		c[u] = sum < total ? sum / total : 1;
	}
	t->upto = c;
}

double rank_sum_tail(struct rank_sum *r, size_t n, size_t m, size_t u)
{
	if (n >= RANK_SUM_ENOUGH && m >= RANK_SUM_ENOUGH)
		return 0;
	for (size_t i = 0; i < r->count; i++)
		if (r->tables[i].n == n && r->tables[i].m == m)
			return r->tables[i].upto[n * m - u];
	GROW(r->tables, r->count, r->cap);
	r->tables[r->count] = (struct rank_sum_table){.n = n, .m = m};
	make_table(&r->tables[r->count]);
	return r->tables[r->count++].upto[n * m - u];
}
