/* State per job; see per_job_state.h. */
#include "sources/cgroup/per_job_state.h"

#include <string.h>

static uint64_t number_at(const struct per_job_state *f, size_t i)
{
	uint64_t number;

	memcpy(&number, per_job_state_at(f, i), sizeof(number));
	return number;
}

/* Removes elements from one index up to another. */
static void take_out(struct per_job_state *f, size_t from, size_t to)
{
	for (size_t i = from; f->release && i < to; i++)
		f->release(per_job_state_at(f, i));
	if (to > from && f->count > to)
		memmove(per_job_state_at(f, from), per_job_state_at(f, to),
			(f->count - to) * f->size);
	f->count -= to - from;
}

static void put_in(struct per_job_state *f, size_t at, uint64_t number)
{
	if (f->count == f->cap) {
		f->cap = f->cap ? f->cap * 2 : 16;
		f->list = xreallocarray(f->list, f->cap, f->size);
	}
	char *place = per_job_state_at(f, at);
	if (f->count > at)
		memmove(place + f->size, place, (f->count - at) * f->size);
	memset(place, 0, f->size);
	memcpy(place, &number, sizeof(number));
	f->count++;
}

void per_job_state_update(struct per_job_state *f, struct cgroup_jobs *jobs)
{
	size_t count = cgroup_jobs_count(jobs);

	/* both are sorted by number */
	for (size_t i = 0; i < count; i++) {
		uint64_t number = cgroup_jobs_at(jobs, i)->number;
		size_t gone = i;

		while (gone < f->count && number_at(f, gone) < number)
			gone++;
		take_out(f, i, gone);
		if (i == f->count || number_at(f, i) != number)
			put_in(f, i, number);
	}
	take_out(f, count, f->count);
}

void per_job_state_release(struct per_job_state *f)
{
	take_out(f, 0, f->count);
	free(f->list);
	f->list = NULL;
	f->cap = 0;
}
