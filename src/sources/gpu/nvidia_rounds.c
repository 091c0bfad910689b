/*
 * When to read values that are expensive to get from an NVIDIA driver. On an H200 the energy takes
 * 3 to 16 ms of CPU, each of eight violations 1 ms, the traffic over PCI Express sleeps for 21 ms
 * in each direction; all the rest together takes 1 ms. So the rest is read at every reading, and
 * these in rounds: one at the first reading, one every five seconds, less often when the sampler is
 * over its budget, and one at the end. A round is spread over several readings when it would take
 * more than a fifth of the time between them. A value is part of the reading in which it was read,
 * and so has the right time.
 */
#include "core/clock.h"
#include "sources/gpu/nvidia.h"

#define ROUND_NS 5000000000ull
/* A part of a round may begin as long as less than this was spent in a reading. */
#define LEAST_NS 5000000ull
#define MOST_NS 200000000ull

static uint64_t round_period_ns(const struct nvidia *v)
{
	return ROUND_NS * (v->ctx->stretch ? v->ctx->stretch : 1);
}

void nvidia_round_begin(struct nvidia *v, uint64_t now_ns)
{
	struct nvidia_round *round = &v->round;
	uint64_t since =
		round->reading_ns && now_ns > round->reading_ns ? now_ns - round->reading_ns : 0;
	size_t parts = nvidia_expensive_count() * v->gpu_count;

	/* readings are not exactly a period apart: half of one is near enough */
	bool due = !round->begin_ns || v->ctx->whole ||
		   (round->next >= parts &&
		    now_ns + since / 2 >= round->begin_ns + round_period_ns(v));
	if (due) {
		round->next = 0;
		round->begin_ns = now_ns;
	}
	round->last = v->ctx->whole && round->reading_ns;
	round->in_one = due && (!round->reading_ns || v->ctx->whole);
	round->left_ns = since / 5 < LEAST_NS  ? LEAST_NS
			 : since / 5 > MOST_NS ? MOST_NS
					       : since / 5;
	round->reading_ns = now_ns;
	round->energy_from_ns = 0;
}

void nvidia_round_read(struct nvidia_reading *r, struct nvidia_gpu *g)
{
	struct nvidia_round *round = &r->v->round;
	size_t parts = nvidia_expensive_count(), end = (g->index + 1) * parts;

	/* skips GPUs that could not be read now */
	if (round->next < g->index * parts)
		round->next = g->index * parts;
	while (round->next < end && !r->lost && (round->in_one || round->left_ns)) {
		uint64_t before = clock_boottime_ns();

		bool energy =
			nvidia_read_expensive(r, g, round->next - g->index * parts, round->last);
		round->next++;
		uint64_t after = clock_boottime_ns(), spent = after - before;
		if (energy) {
			round->energy_from_ns =
				round->energy_from_ns ? round->energy_from_ns : before;
			round->energy_to_ns = after;
		}
		round->left_ns -= spent < round->left_ns ? spent : round->left_ns;
	}
	if (r->lost && round->next < end)
		round->next = end;
}

void nvidia_round_end(struct nvidia *v, struct sample_set *set)
{
	/* the energy needs its true time most: its growth is shown as power */
	if (v->round.energy_from_ns)
		sample_between(set, v->round.energy_from_ns, v->round.energy_to_ns);
	/* the last ones could not be read */
	if (v->round.left_ns && v->round.next < nvidia_expensive_count() * v->gpu_count)
		v->round.next = nvidia_expensive_count() * v->gpu_count;
}
