/* The exact bootstrap of medians; see bootstrap.h. */
#include "analysis/comparison/bootstrap.h"

void bootstrap_release(struct bootstrap *b)
{
	for (size_t i = 0; i < b->count; i++)
		free(b->tables[i].upto);
	free(b->tables);
	*b = (struct bootstrap){0};
}

/* P(X >= k) for X binomial(m, p), 0 < p < 1, 0 < k <= m. Sums outwards from the mode, relative to
 * its probability, so that nothing underflows where it matters. */
static double binomial_tail(size_t m, double p, size_t k)
{
	const double odds = p / (1 - p);
	size_t mode = (size_t)((double)(m + 1) * p);
	double total = 0, tail = 0, w = 1;

	if (mode > m)
		mode = m;
	for (size_t j = mode;; j++) {
		total += w;
		tail += j >= k ? w : 0;
		if (j == m || w < 1e-30)
			break;
		w *= odds * (double)(m - j) / (double)(j + 1);
	}
	w = 1;
	for (size_t j = mode; j > 0 && w >= 1e-30; j--) {
		w *= (double)j / ((double)(m - j + 1) * odds);
		total += w;
		tail += j - 1 >= k ? w : 0;
	}
	return tail / total;
}

size_t median_rank(size_t n, double alpha)
{
	size_t k = 0;

	/* chance puts the median below the k-th value if fewer than k values are below it */
	while (2 * (k + 1) <= n && binomial_tail(n, 0.5, n - k) <= alpha / 2)
		k++;
	return k;
}

/* With an even number of values the median lies between two of them: it is either of them with the
 * same probability, which makes intervals a little wider than their mean would. */
static void make_table(struct median_weights *t)
{
	const size_t low = (t->m + 1) / 2, high = t->m / 2 + 1;

	t->upto = xcalloc(t->n + 1, sizeof(*t->upto));
	for (size_t i = 1; i < t->n; i++) {
		const double p = (double)i / (double)t->n;

		t->upto[i] = binomial_tail(t->m, p, low);
		if (high != low)
			t->upto[i] = (t->upto[i] + binomial_tail(t->m, p, high)) / 2;
	}
	t->upto[t->n] = 1;
}

struct median_weights bootstrap_weights(struct bootstrap *b, size_t n, size_t m)
{
	for (size_t i = 0; i < b->count; i++)
		if (b->tables[i].n == n && b->tables[i].m == m)
			return b->tables[i];
	GROW(b->tables, b->count, b->cap);
	b->tables[b->count] = (struct median_weights){.n = n, .m = m};
	make_table(&b->tables[b->count]);
	return b->tables[b->count++];
}

double bootstrap_at_most(const struct resampled *a, const struct resampled *b, double factor,
			 double relative, double absolute)
{
	double sum = 0;
	size_t i = 0;

	for (size_t j = 0; j < b->w.n; j++) {
		const double y = b->v[j] * factor;
		const double margin = y * relative > absolute ? y * relative : absolute;

		while (i < a->w.n && a->v[i] <= y + margin)
			i++;
		sum += (b->w.upto[j + 1] - b->w.upto[j]) * a->w.upto[i];
	}
	return sum < 1 ? sum : 1;
}

double bootstrap_median_quantile(const struct resampled *a, double q)
{
	size_t i = 1;

	while (i < a->w.n && a->w.upto[i] < q)
		i++;
	return a->v[i - 1];
}
