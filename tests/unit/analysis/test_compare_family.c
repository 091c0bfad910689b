/*
 * Comparisons of jobs with their executables, by simulation: many metrics times many parts are one
 * family, whose false alarms stay at 5 % or below, and a part that becomes slower is found. Runs
 * are as real ones: parts have log-normal, skewed and heavy-tailed noise, a run that is slow is so
 * in all of its parts, and the machine drifts, so that runs close to each other are alike.
 * PL_LONG=1 takes 20 times as many rounds, and a family of 40 executables and 50 metrics.
 */
#include "unit.h"

#include <math.h>
#include <string.h>

#include "analysis/comparison/compare.h"
#include "core/util.h"
#include "noise.h"

#define RUNS_MAX 64
#define PART_OF_JOB 0.01 /* as in views/comparison/run_comparison.h */

struct situation {
	const char *what;
	size_t parts, metrics, runs; /* runs of each set */
	double relative;             /* minimum effect */
	double drift;                /* innovations of the machine's state; 0: none */
	bool blocks;                 /* all runs of the baseline, then those of a; else in turn */
	double all;                  /* factor of all parts in a */
	double first;                /* factor of the first part in a */
};

/* Values of all rows, a then b. Row 0 of a metric is the job, the sum of its parts. */
struct family {
	double *v;
	struct comparison *rows;
	size_t count, runs;
};

static double *row_of(const struct family *f, size_t row)
{
	return f->v + row * 2 * f->runs;
}

/* The state of the machine at each run: what it was before, and something new. */
static void make_machine(double *machine, size_t n, double drift, struct random *r)
{
	double x = 0;

	for (size_t i = 0; i < n; i++) {
		x = 0.8 * x + drift * normal(r);
		machine[i] = exp(x);
	}
}

/* Which runs are of a: all of the second half, or in random order in pairs, as bench runs them. */
static void make_order(bool *is_a, const struct situation *s, struct random *r)
{
	for (size_t i = 0; i < s->runs; i++) {
		const bool a_first = random_unit(r) < 0.5;

		if (s->blocks) {
			is_a[i] = false;
			is_a[s->runs + i] = true;
		} else {
			is_a[2 * i] = a_first;
			is_a[2 * i + 1] = !a_first;
		}
	}
}

static double noise_of(size_t part, struct random *r)
{
	static const enum noise kinds[] = {NOISE_SKEWED, NOISE_HEAVY, NOISE_OUTLIERS};

	return part % 4 ? noisy(r, kinds[part % 4 - 1]) : exp(0.05 * normal(r));
}

static void fill(struct family *f, const struct situation *s, struct random *r)
{
	double machine[2 * RUNS_MAX];
	bool is_a[2 * RUNS_MAX];

	make_machine(machine, 2 * s->runs, s->drift, r);
	make_order(is_a, s, r);
	for (size_t m = 0; m < s->metrics; m++) {
		double *job = row_of(f, m * (s->parts + 1));

		memset(job, 0, 2 * s->runs * sizeof(*job));
		for (size_t p = 0; p < s->parts; p++) {
			double *v = row_of(f, m * (s->parts + 1) + 1 + p);
			/* the first has a tenth of the job; the others are of different sizes */
			const double share = p ? (double)(1 + p % 7) / (double)s->parts : 0.4;
			const double slower = s->all * (p || m ? 1 : s->first);
			size_t a = 0, b = s->runs;

			for (size_t i = 0; i < 2 * s->runs; i++) {
				const size_t at = is_a[i] ? a++ : b++;

				v[at] = 1e6 * share * machine[i] * noise_of(p, r) *
					(is_a[i] ? slower : 1);
				job[at] += v[at];
			}
		}
	}
}

static double mean_of(const double *v, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i];
	return sum / (double)n;
}

/* Compares as the command does: parts matter from 1 % of the job on, and do not decide. */
static enum verdict simulate(struct family *f, const struct situation *s, struct random *r)
{
	fill(f, s, r);
	for (size_t i = 0; i < f->count; i++) {
		const bool is_job = i % (s->parts + 1) == 0;
		const double *job = row_of(f, i / (s->parts + 1) * (s->parts + 1));

		f->rows[i] = (struct comparison){
			.a = row_of(f, i),
			.b = row_of(f, i) + s->runs,
			.a_count = s->runs,
			.b_count = s->runs,
			.relative = s->relative,
			.absolute = is_job ? 100 : PART_OF_JOB * mean_of(job + s->runs, s->runs),
			.decides = is_job};
		/* the hardest case: any difference counts */
		if (s->relative == 0)
			f->rows[i].absolute = 0;
	}
	return compare_all(f->rows, f->count, 0.05);
}

static struct family family_of(const struct situation *s)
{
	struct family f = {.count = (s->parts + 1) * s->metrics, .runs = s->runs};

	f.v = xcalloc(f.count * 2 * s->runs, sizeof(*f.v));
	f.rows = xcalloc(f.count, sizeof(*f.rows));
	return f;
}

static void family_release(struct family *f)
{
	free(f->v);
	free(f->rows);
}

static size_t rounds(const struct situation *s)
{
	/* as much time for large families as for small ones */
	const size_t n = 75 * 45 / ((s->parts + 1) * s->metrics);

	return (n < 40 ? 40 : n) * (getenv("PL_LONG") ? 20 : 1);
}

static double at_most_by_chance(double p, size_t n)
{
	return p * (double)n + 4 * sqrt(p * (1 - p) * (double)n);
}

static void false_alarms(void **state)
{
	static const struct situation situations[] = {
		{"8 executables x 5 metrics, 10 runs", 8, 5, 10, 0, 0, false, 1, 1},
		{"8 executables x 5 metrics, 20 runs", 8, 5, 20, 0, 0, false, 1, 1},
		{"the same at the minimum effect", 8, 5, 20, 0.05, 0, false, 1.05, 1},
		{"the same on a drifting machine", 8, 5, 20, 0, 0.03, false, 1, 1},
		{"40 executables x 50 metrics, 30 runs", 40, 50, 30, 0, 0.03, false, 1, 1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(situations) - !getenv("PL_LONG"); i++) {
		struct family f = family_of(&situations[i]);
		struct random r = {i + 1};
		const size_t n = rounds(&situations[i]);
		size_t alarms = 0;

		for (size_t k = 0; k < n; k++)
			alarms += simulate(&f, &situations[i], &r) == VERDICT_WORSE;
		print_message("%-40s %5.2f %% false alarms of %zu\n", situations[i].what,
			      100 * (double)alarms / (double)n, n);
		if ((double)alarms > at_most_by_chance(0.05, n))
			fail_msg("%s: %zu false alarms of %zu", situations[i].what, alarms, n);
		family_release(&f);
	}
}

/* Sets that did not run in turn, on a machine that drifts: what docs/compare.md warns of. The
 * minimum effect is what protects from it. */
static void blocks(void **state)
{
	static const struct {
		struct situation s;
		double most;
	} claims[] = {
		{{"in blocks, drift of 1 %", 8, 5, 20, 0.05, 0.01, true, 1, 1}, 0.05},
		{{"in blocks, drift of 3 %", 8, 5, 20, 0.05, 0.03, true, 1, 1}, 0.20},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(claims); i++) {
		struct family f = family_of(&claims[i].s);
		struct random r = {i + 1};
		const size_t n = rounds(&claims[i].s);
		size_t alarms = 0;

		for (size_t k = 0; k < n; k++)
			alarms += simulate(&f, &claims[i].s, &r) == VERDICT_WORSE;
		print_message("%-40s %5.2f %% false alarms of %zu\n", claims[i].s.what,
			      100 * (double)alarms / (double)n, n);
		assert_true((double)alarms <= at_most_by_chance(claims[i].most, n));
		family_release(&f);
	}
}

/* One executable becomes slower: its row is found, among all the others. */
static void power(void **state)
{
	static const struct {
		struct situation s;
		double least;
	} claims[] = {
		{{"8 x 5, one +30 %, 10 runs", 8, 5, 10, 0.05, 0, false, 1, 1.3}, 0.5},
		{{"8 x 5, one +20 %, 20 runs", 8, 5, 20, 0.05, 0, false, 1, 1.2}, 0.5},
		{{"8 x 5, one +20 %, 20 runs, drift", 8, 5, 20, 0.05, 0.03, false, 1, 1.2}, 0.5},
		{{"40 x 50, one +30 %, 30 runs, drift", 40, 50, 30, 0.05, 0.03, false, 1, 1.3},
		 0.5},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(claims) - !getenv("PL_LONG"); i++) {
		struct family f = family_of(&claims[i].s);
		struct random r = {i + 1};
		const size_t n = rounds(&claims[i].s);
		size_t found = 0;

		for (size_t k = 0; k < n; k++) {
			(void)simulate(&f, &claims[i].s, &r);
			found += f.rows[1].verdict == VERDICT_WORSE;
		}
		print_message("%-40s found in %5.1f %% of %zu\n", claims[i].s.what,
			      100 * (double)found / (double)n, n);
		if ((double)(n - found) > at_most_by_chance(1 - claims[i].least, n))
			fail_msg("%s: found %zu of %zu", claims[i].s.what, found, n);
		family_release(&f);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(false_alarms),
		cmocka_unit_test(blocks),
		cmocka_unit_test(power),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
