/* What a job should ask for; see request_advice.h. */
#include "analysis/request_advice.h"

#include <math.h>
#include <stdint.h>

#include "core/util.h"

#define MIB (1024.0 * 1024)
#define GIB (1024.0 * MIB)
#define MEMORY_MARGIN 1.2 /* of the largest peak: inputs differ */
#define TIME_MARGIN 1.25  /* of the longest run: machines and filesystems differ */
#define CLOSE 0.9         /* of a request: the next run may exceed it */
#define WORTH 0.8         /* of a request: a smaller one is worth a change */
#define MUST_WAIT 0.05    /* of the demand for cores that may wait */

const char *const advice_names[ADVICE_ITEMS] = {"cores", "memory", "time", "gpus"};

/* ceil() would need libm, which the program does not link. */
static double round_up(double v)
{
	double whole = v > 0 && v < 9e15 ? (double)(int64_t)v : v;

	return whole < v ? whole + 1 : whole;
}

double cores_needed(const double *demand, const double *seconds, size_t count)
{
	double all = 0, most = 0;

	for (size_t i = 0; i < count; i++) {
		if (!(demand[i] >= 0) || !(seconds[i] >= 0))
			continue;
		all += demand[i] * seconds[i];
		most = demand[i] > most ? demand[i] : most;
	}
	if (!(all > 0) || most > 1e6)
		return NAN;
	for (double n = 1; n < most; n++) {
		double beyond = 0;

		for (size_t i = 0; i < count; i++)
			if (demand[i] > n && seconds[i] >= 0)
				beyond += (demand[i] - n) * seconds[i];
		if (beyond <= MUST_WAIT * all)
			return n;
	}
	return round_up(most);
}

static double up_to(double v, double step)
{
	double steps = round_up(v / step - 1e-9);

	return (steps < 1 ? 1 : steps) * step;
}

/* What to ask for if this much was used. */
static double with_margin(enum advice_item item, double used, double tasks)
{
	double v;

	switch (item) {
	case ADVICE_CORES:
		/* the same number for each task */
		return up_to(used, tasks);
	case ADVICE_MEMORY:
		v = used * MEMORY_MARGIN;
		return up_to(v, v < GIB ? 64 * MIB : v < 8 * GIB ? 256 * MIB : GIB);
	case ADVICE_TIME:
		v = used * TIME_MARGIN;
		return up_to(v, v < 7200 ? 300 : 900);
	default:
		return used;
	}
}

/* Is the change worth it? Smaller requests only where they save something. */
static bool is_worth(enum advice_item item, double asked, double used, double suggested)
{
	static const double least[ADVICE_ITEMS] = {1, 256 * MIB, 600, 1};

	if (isnan(asked))
		return true;
	if (suggested > asked)
		return (item == ADVICE_MEMORY || item == ADVICE_TIME) && used > CLOSE * asked;
	return suggested <= WORTH * asked && asked - suggested >= least[item];
}

/* The largest of this run and of earlier ones, and how those would have fared with what this run
 * alone suggests. */
static double worst(enum advice_item item, const struct run_use *now, const struct run_use *past,
		    size_t count, double tasks, struct request_advice *a)
{
	double most = now->item[item], alone = with_margin(item, most, tasks);

	for (size_t i = 0; i < count; i++) {
		double v = past[i].item[item];

		if (!past[i].complete || isnan(v))
			continue;
		a->past++;
		a->fit += v <= alone;
		most = v > most ? v : most;
	}
	a->raised = most > now->item[item] && a->fit < a->past;
	return a->raised ? most : now->item[item];
}

static const char *const unknown[ADVICE_ITEMS] = {
	"its demand for cores over time was not measured: record it with `plimsoll run --sample 1s`",
	"the memory of its processes at one time was not measured: record it with `plimsoll run --sample 1s`",
	"its duration is not known",
	"its GPUs were not sampled",
};

void request_advise(const struct run_use *now, const struct run_use *past, size_t past_count,
		    const double *asked, double tasks, struct request_advice ret[ADVICE_ITEMS])
{
	tasks = tasks >= 1 ? tasks : 1;
	for (size_t i = 0; i < ADVICE_ITEMS; i++) {
		struct request_advice *a = &ret[i];
		const enum advice_item item = (enum advice_item)i;

		*a = (struct request_advice){
			.asked = asked[i], .used = now->item[i], .suggested = NAN, .saving = NAN};
		if (now->partly && item != ADVICE_TIME) {
			a->reason =
				"nothing was recorded on some of its hosts: start its ranks with "
				"`srun plimsoll run`";
			continue;
		}
		if (now->late && item != ADVICE_TIME) {
			a->reason = "most of the batch job had passed before it was recorded";
			continue;
		}
		if (isnan(a->used)) {
			a->reason = unknown[i];
			continue;
		}
		if (!now->complete) {
			a->reason = "it did not complete: what a complete run needs is not known";
			continue;
		}
		if (now->files && item == ADVICE_MEMORY) {
			a->reason = "it may have kept files in memory (/dev/shm): record it with "
				    "`plimsoll run --sample 1s`";
			continue;
		}
		double most = worst(item, now, past, past_count, tasks, a);
		double suggested = with_margin(item, most, tasks);
		if (!is_worth(item, a->asked, most, suggested)) {
			a->reason = "the request fits";
			continue;
		}
		a->suggested = suggested;
		if (!isnan(a->asked) && suggested < a->asked)
			a->saving = (a->asked - suggested) *
				    (item == ADVICE_TIME ? 1 : now->item[ADVICE_TIME]);
	}
}
