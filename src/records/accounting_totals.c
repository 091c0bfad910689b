/* The sums of a job's records, and what is missing in them. */
#include <string.h>
#include <sys/wait.h>

#include "records/accounting_internal.h"

const struct image *accounting_last_spoken(const struct accounting *b, const struct process *p)
{
	const struct image *found = NULL;

	for (uint32_t i = p->first; i != NO_INDEX; i = b->images[i].next)
		if (b->images[i].end != NO_OFFSET)
			found = &b->images[i];
	return found;
}

void split_cpu(uint64_t total, uint64_t *user, uint64_t *sys)
{
	uint64_t ticks = *user + *sys;

	*user = !*sys ? total : (uint64_t)((double)total * (double)*user / (double)ticks);
	*user = *user < total ? *user : total;
	*sys = total - *user;
}

static uint64_t cpu_of_children(const struct process *p)
{
	return p->children_user_us + p->children_sys_us + p->reaped_user_us + p->reaped_sys_us;
}

bool process_cpu_us(const struct accounting *b, const struct process *p, uint64_t *ret_us)
{
	/* the reaper's figure includes its children */
	uint64_t children = cpu_of_children(p);
	const struct image *spoken = accounting_last_spoken(b, p);

	/* the reaper's figure includes the whole exit, taskstats only its beginning, its own record
	 * none of it; but if it waited for children unseen, the reaper's figure includes their
	 * exits, too */
	if (p->has_usage && !(p->unseen_waits && p->has_kernel_cpu))
		*ret_us = p->reap_cpu_us > children ? p->reap_cpu_us - children : 0;
	else if (p->has_kernel_cpu)
		*ret_us = p->kernel_cpu_ns / 1000;
	else if (spoken)
		*ret_us = spoken->cpu_us;
	else
		return false;
	return true;
}

enum accounting_source image_source(const struct accounting *b, const struct image *img)
{
	const struct process *p = &b->processes[img->process];

	if (img->start != NO_OFFSET || img->end != NO_OFFSET)
		return BY_PRELOAD;
	if (p->reaped)
		return BY_REAPER;
	return p->has_kernel_cpu ? BY_TASKSTATS : BY_CNPROC;
}

enum accounting_ended image_ended(const struct accounting *b, const struct image *img)
{
	const struct process *p = &b->processes[img->process];

	if (img->next != NO_INDEX)
		return ENDED_EXEC;
	if (p->running)
		return ENDED_RUNNING;
	if (p->status < 0)
		return ENDED_UNKNOWN;
	return WIFSIGNALED(p->status) ? ENDED_SIGNAL : ENDED_EXIT;
}

static void count_source(const struct accounting *b, const struct process *p,
			 struct accounting_sums *s)
{
	switch (image_source(b, &b->images[p->first])) {
	case BY_PRELOAD:
		s->by_preload++;
		break;
	case BY_REAPER:
		s->by_reaper++;
		break;
	case BY_TASKSTATS:
		s->by_taskstats++;
		break;
	case BY_CNPROC:
		s->by_cnproc++;
		break;
	}
}

static void count_end(const struct accounting *b, const struct process *p,
		      struct accounting_sums *s)
{
	switch (image_ended(b, &b->images[p->last])) {
	case ENDED_EXIT:
		s->exited++;
		s->failed += WEXITSTATUS(p->status) != 0;
		break;
	case ENDED_SIGNAL:
		s->signalled++;
		break;
	case ENDED_RUNNING:
		s->running++;
		break;
	case ENDED_EXEC:
	case ENDED_UNKNOWN:
		s->missing++;
		break;
	}
}

static void count_process(const struct accounting *b, const struct process *p,
			  struct accounting_sums *s)
{
	const struct image *last = &b->images[p->last];
	uint32_t threads = 1, ended = 0; /* the first one lives through all images */
	uint64_t cpu;

	s->processes++;
	count_source(b, p, s);
	count_end(b, p, s);
	if (p->images)
		s->programs += p->images;
	else
		s->copies++;
	for (uint32_t i = p->first; i != NO_INDEX; i = b->images[i].next) {
		const struct image *img = &b->images[i];

		s->images++;
		threads += img->numtids ? img->numtids - 1 : 0;
		ended += img->end != NO_OFFSET;
		if (img->start != NO_OFFSET && img->end == NO_OFFSET)
			s->no_end++;
		s->silent += img->silent && !img->other_root;
		s->other_root += img->other_root;
	}
	if (!ended && p->threads_seen + 1u > threads)
		threads = p->threads_seen + 1u;
	s->threads += p->threads_kernel > threads ? p->threads_kernel : threads;
	if (process_cpu_us(b, p, &cpu)) {
		s->itemised_us += cpu;
		if (last->end != NO_OFFSET && !last->silent && cpu > last->cpu_us)
			s->tail_us += cpu - last->cpu_us;
	}
	uint64_t with_children = cpu_of_children(p) + p->kernel_cpu_ns / 1000;
	if (p->has_usage && p->unseen_waits && p->has_kernel_cpu && p->reap_cpu_us > with_children)
		s->unseen_tail_us += p->reap_cpu_us - with_children;
	if (p->begin_ns && (!s->wall_begin_ns || p->begin_ns < s->wall_begin_ns))
		s->wall_begin_ns = p->begin_ns;
	if (p->end_ns > s->wall_end_ns)
		s->wall_end_ns = p->end_ns;
}

void accounting_sum(const struct accounting *b, struct accounting_sums *sums)
{
	memset(sums, 0, sizeof(*sums));
	for (size_t i = 0; i < b->process_count; i++)
		if (!b->processes[i].merged)
			count_process(b, &b->processes[i], sums);
	for (size_t i = 0; i < b->file_count; i++) {
		sums->damaged_bytes += b->files[i].rec.damage.bytes;
		sums->damaged_places += b->files[i].rec.damage.places;
		sums->lossy |= b->files[i].lossy;
	}
}

/* ---- order ---------------------------------------------------------------------------------- */

/* Boot times of hosts differ; they share the wall clock. */
static uint64_t real_begin_ns(const struct accounting *b, const struct image *img)
{
	const struct accounting_host *h = &b->hosts[b->processes[img->process].host];

	return img->begin_ns && h->has_clock
		       ? img->begin_ns + (uint64_t)h->real_minus_boot_us * 1000
		       : 0;
}

static int compare_images(const void *a, const void *b, void *accounting)
{
	const struct accounting *bk = accounting;
	const struct image *x = &bk->images[*(const uint32_t *)a];
	const struct image *y = &bk->images[*(const uint32_t *)b];

	uint64_t began = real_begin_ns(bk, x), other = real_begin_ns(bk, y);

	if (began != other)
		return began < other ? -1 : 1;
	return *(const uint32_t *)a < *(const uint32_t *)b ? -1 : 1;
}

uint32_t *accounting_order(const struct accounting *b)
{
	uint32_t *order = xcalloc(b->image_count, sizeof(*order));

	for (size_t i = 0; i < b->image_count; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, b->image_count, sizeof(*order), compare_images, (void *)b);
	return order;
}

/* A thread of unknown start that is seen again within this time is the same. */
#define SAME_THREAD_NS 100000000u

static int compare_threads(const void *a, const void *b)
{
	const struct accounting_thread *x = a, *y = b;

	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	return x->ref < y->ref ? -1 : x->ref > y->ref;
}

static int compare_tids(const void *a, const void *b)
{
	const struct accounting_thread *x = a, *y = b;

	if (x->image != y->image)
		return x->image < y->image ? -1 : 1;
	if (x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* Are two records with one tid, the later one second, of the same thread? A tid may be reused. */
static bool same_thread(const struct accounting_thread *x, const struct accounting_thread *y)
{
	if (x->image != y->image || x->tid != y->tid || !(x->alive || y->alive))
		return false;
	if (y->start_ns)
		return y->start_ns < x->time_ns;
	return x->alive || y->time_ns - x->time_ns < SAME_THREAD_NS;
}

void accounting_sort_threads(struct accounting *b)
{
	size_t left = b->thread_count;

	if (!left)
		return;
	qsort(b->threads, b->thread_count, sizeof(*b->threads), compare_tids);
	struct accounting_thread *kept = &b->threads[0];
	for (size_t i = 1; i < b->thread_count; i++) {
		struct accounting_thread *t = &b->threads[i];

		if (!same_thread(kept, t)) {
			kept = t;
			continue;
		}
		/* prefer an end record, then the later one */
		struct accounting_thread *drop = kept->alive ? kept : t;
		kept = kept->alive ? t : kept;
		drop->image = NO_INDEX;
		left--;
	}
	qsort(b->threads, b->thread_count, sizeof(*b->threads), compare_threads);
	b->thread_count = left;
}

size_t accounting_first_thread(const struct accounting *b, uint32_t image)
{
	size_t low = 0, high = b->thread_count;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (b->threads[mid].image < image)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}
