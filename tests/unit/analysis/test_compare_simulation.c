/*
 * What comparisons claim, by simulation: at realistic noise the whole family of metrics raises at
 * most 5 % false alarms, worse runs are found with the power that docs/compare.md states, and the
 * number of runs that an inconclusive comparison asks for is enough in 80 % of the cases. PL_LONG=1
 * takes 20 times as many rounds.
 */
#include "unit.h"

#include <math.h>

#include "analysis/comparison/compare.h"
#include "noise.h"

#define METRICS 5
#define RUNS_MAX 2048

static size_t rounds(size_t n)
{
	return getenv("PL_LONG") ? 20 * n : n;
}

/* Most of so many rounds by chance at this probability: 4 standard deviations. */
static double at_most_by_chance(double p, size_t n)
{
	return p * (double)n + 4 * sqrt(p * (1 - p) * (double)n);
}

struct family {
	double a[METRICS][256], b[METRICS][256];
	struct comparison c[METRICS];
};

struct situation {
	const char *what;
	size_t a_runs, b_runs;
	double factor;   /* of all runs of a */
	double relative; /* minimum effect */
	double drift;    /* over all runs, which are interleaved */
	double later;    /* factor of a, because it ran later; below the minimum effect */
	double a_noise;  /* times the noise of b */
};

/* Each metric has noise of its own kind, and all share the drift of the machine. */
static enum verdict simulate(struct family *f, const struct situation *s, struct random *r)
{
	const size_t all = s->a_runs + s->b_runs;

	for (int m = 0; m < METRICS; m++) {
		size_t a = 0, b = 0;

		for (size_t i = 0; i < all; i++) {
			const double machine = 1 + s->drift * (double)i / (double)all;
			const bool is_a = b == s->b_runs ||
					  (a < s->a_runs && random_unit(r) * (double)(all - i) <
								    (double)(s->a_runs - a));
			const double v = noisy(r, (enum noise)m);

			if (is_a)
				f->a[m][a++] =
					s->factor * s->later * machine * (1 + (v - 1) * s->a_noise);
			else
				f->b[m][b++] = machine * v;
		}
		f->c[m] = (struct comparison){.a = f->a[m],
					      .b = f->b[m],
					      .a_count = s->a_runs,
					      .b_count = s->b_runs,
					      .relative = s->relative,
					      .decides = true};
	}
	return compare_all(f->c, METRICS, 0.05);
}

/* The hardest cases for a false alarm: no minimum effect, or an effect exactly as large as it. */
static void false_alarms(void **state)
{
	static const struct situation situations[] = {
		{"7 against 7", 7, 7, 1, 0, 0, 1, 1},
		{"10 against 10", 10, 10, 1, 0, 0, 1, 1},
		{"20 against 20", 20, 20, 1, 0, 0, 1, 1},
		{"30 against 30", 30, 30, 1, 0, 0, 1, 1},
		{"8 against 100", 8, 100, 1, 0, 0, 1, 1},
		{"100 against 8", 100, 8, 1, 0, 0, 1, 1},
		{"at the minimum effect", 20, 20, 1.05, 0.05, 0, 1, 1},
		{"a machine that becomes slower", 20, 20, 1, 0, 0.1, 1, 1},
		{"later, and slower by 3 %", 20, 20, 1, 0.05, 0, 1.03, 1},
		{"noisier than the baseline", 20, 20, 1, 0.05, 0, 1, 2},
	};
	const size_t n = rounds(600);
	struct family f;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(situations); i++) {
		struct random r = {i + 1};
		size_t alarms = 0;

		for (size_t k = 0; k < n; k++)
			alarms += simulate(&f, &situations[i], &r) == VERDICT_WORSE;
		print_message("%-30s %5.2f %% false alarms\n", situations[i].what,
			      100 * (double)alarms / (double)n);
		if ((double)alarms > at_most_by_chance(0.05, n))
			fail_msg("%s: %zu false alarms of %zu", situations[i].what, alarms, n);
	}
}

/* The other error: a comparison that says "not worse" of something that is, by the minimum effect.
 */
static void missed(void **state)
{
	const struct situation s = {"missed", 20, 20, 1.051, 0.05, 0, 1, 1};
	const size_t n = rounds(600);
	struct random r = {5};
	struct family f;
	size_t wrong = 0;

	(void)state;
	for (size_t k = 0; k < n; k++)
		wrong += simulate(&f, &s, &r) == VERDICT_NOT_WORSE;
	print_message("%.2f %% missed\n", 100 * (double)wrong / (double)n);
	assert_true((double)wrong <= at_most_by_chance(0.05, n));
}

/* All five metrics 20 % worse: any of them is found. One alone, with noise of 5 %. */
static void power(void **state)
{
	static const struct {
		size_t runs;
		double factor, least;
	} claims[] = {{7, 1.2, 0.97},  {10, 1.15, 0.88}, {10, 1.2, 0.99},
		      {20, 1.1, 0.65}, {20, 1.15, 0.99}, {30, 1.1, 0.80}};
	const size_t n = rounds(400);

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(claims); i++) {
		struct random r = {i + 1};
		size_t found = 0;

		for (size_t k = 0; k < n; k++) {
			double a[64], b[64];

			for (size_t j = 0; j < claims[i].runs; j++) {
				a[j] = claims[i].factor * noisy(&r, NOISE_NORMAL);
				b[j] = noisy(&r, NOISE_NORMAL);
			}
			struct comparison c = {.a = a,
					       .b = b,
					       .a_count = claims[i].runs,
					       .b_count = claims[i].runs,
					       .relative = 0.05,
					       .decides = true};
			found += compare_all(&c, 1, 0.05) == VERDICT_WORSE;
		}
		print_message("%zu runs of each, %+.0f %%: found in %.1f %%\n", claims[i].runs,
			      100 * (claims[i].factor - 1), 100 * (double)found / (double)n);
		if ((double)n - (double)found > at_most_by_chance(1 - claims[i].least, n))
			fail_msg("%zu runs of each: found %zu of %zu", claims[i].runs, found, n);
	}
}

static void draw(struct random *r, enum noise kind, double factor, double *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		v[i] = factor * noisy(r, kind);
}

static struct comparison of(const double *a, size_t a_count, const double *b, size_t b_count)
{
	struct comparison c = {.a = a,
			       .b = b,
			       .a_count = a_count,
			       .b_count = b_count,
			       .relative = 0.05,
			       .decides = true};

	(void)compare_all(&c, 1, 0.05);
	return c;
}

/* As many runs as an inconclusive comparison asks for, once more from the beginning. */
static void plans(void **state)
{
	static double a[RUNS_MAX], b[RUNS_MAX];
	static const double factors[] = {1.0, 1.1};
	const size_t n = rounds(150);

	(void)state;
	for (int kind = 0; kind < NOISE_DISCRETE; kind++)
		for (size_t e = 0; e < ARRAY_SIZE(factors); e++) {
			struct random r = {(uint64_t)kind + 1};
			size_t asked = 0, enough = 0;

			for (size_t k = 0; k < n; k++) {
				draw(&r, (enum noise)kind, factors[e], a, 10);
				draw(&r, (enum noise)kind, 1, b, 10);
				const struct comparison c = of(a, 10, b, 10);
				if (c.verdict != VERDICT_INCONCLUSIVE || c.more_a == SIZE_MAX)
					continue;
				asked++;
				draw(&r, (enum noise)kind, factors[e], a, 10 + c.more_a);
				draw(&r, (enum noise)kind, 1, b, 10 + c.more_b);
				enough += of(a, 10 + c.more_a, b, 10 + c.more_b).verdict !=
					  VERDICT_INCONCLUSIVE;
			}
			print_message(
				"noise %d, %+.0f %%: asked in %zu of %zu, enough in %.0f %%\n",
				kind, 100 * (factors[e] - 1), asked, n,
				asked ? 100 * (double)enough / (double)asked : 100);
			assert_true((double)(asked - enough) <=
				    at_most_by_chance(1 - COMPARE_POWER, asked));
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(false_alarms),
		cmocka_unit_test(missed),
		cmocka_unit_test(power),
		cmocka_unit_test(plans),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
