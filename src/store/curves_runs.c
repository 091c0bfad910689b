/*
 * Several runs that sampled one host at the same time; see curves_write.h. Each has the job as it
 * saw it, which are series of their own and add up. What they all saw, the node and its devices, is
 * taken once. Monitors of one job saw the same processes: then the job was the same, too, and the
 * second one's does not count in sums.
 */
#include <string.h>

#include "store/curves_write.h"

void curves_begin_run(struct curves *c, int64_t start_us)
{
	c->run = 0;
	c->covered_us = INT64_MIN;
	c->run_last_us = INT64_MIN;
	c->shared = false;
	for (size_t i = 0; i < c->run_count; i++) {
		const struct curve_run *r = &c->runs[i];

		if (strcmp(r->host, c->host) != 0)
			continue;
		/* the first place that is free by then */
		if (r->number == c->run && r->until_us >= start_us)
			c->run++;
		c->covered_us = r->until_us > c->covered_us ? r->until_us : c->covered_us;
	}
}

static struct curve_run *place_of(struct curves *c)
{
	for (size_t i = 0; i < c->run_count; i++)
		if (c->runs[i].number == c->run && !strcmp(c->runs[i].host, c->host))
			return &c->runs[i];
	GROW(c->runs, c->run_count, c->run_cap);
	struct curve_run *r = &c->runs[c->run_count++];
	*r = (struct curve_run){xstrdup(c->host), c->run, INT64_MIN};
	return r;
}

bool curves_wants(struct curves *c, const struct live *live, int64_t time_us)
{
	c->run_last_us = time_us > c->run_last_us ? time_us : c->run_last_us;
	if (!c->run || !live->again || live->known->kind == ENTITY_JOB || time_us > c->covered_us)
		return true;
	c->shared = c->shared || live->known->kind == ENTITY_PROCESS;
	return false;
}

/* Facts are lines "key=value". */
static void leave_out(struct known *k)
{
	static const char line[] = "in_sum=no\n";

	if (k->facts && strstr(k->facts, line))
		return;
	char *facts = xasprintf("%s%s", k->facts ? k->facts : "", line);
	free(k->facts);
	k->facts = facts;
}

void curves_end_run(struct curves *c)
{
	for (size_t i = 0; i < c->source_count && c->run && c->shared; i++)
		for (size_t k = 0; k < c->sources[i].live_count; k++) {
			struct known *one = c->sources[i].lives[k].known;

			if (one && one->kind == ENTITY_JOB)
				leave_out(one);
		}
	if (!c->host || c->run_last_us == INT64_MIN)
		return;
	struct curve_run *r = place_of(c);
	r->until_us = c->run_last_us > r->until_us ? c->run_last_us : r->until_us;
	c->run_last_us = INT64_MIN;
}

void curves_forget_runs(struct curves *c)
{
	for (size_t i = 0; i < c->run_count; i++)
		free(c->runs[i].host);
	free(c->runs);
}
