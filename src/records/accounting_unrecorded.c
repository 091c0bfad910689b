/*
 * Programs that cannot load the library: static ones, and those with a clean environment or more
 * privileges than their caller. They have no START and are known from the kernel, from the parent
 * that waited, and from the program that executed them.
 */
#include "records/accounting_internal.h"

uint64_t *accounting_exec_times(const struct record *rec, size_t *ret_count)
{
	const unsigned char *p = (const unsigned char *)rec->text[METRIC_EXEC_TIMES].data;
	uint64_t at = record_get(rec, METRIC_BEGIN, 0), more, *times = NULL;
	size_t cap = 0;

	*ret_count = 0;
	if (!record_has(rec, METRIC_EXEC_TIMES) || !at)
		return NULL;
	const unsigned char *end = p + rec->text[METRIC_EXEC_TIMES].size;
	while (p && p < end && (p = pl_get_varint(p, end, &more))) {
		GROW(times, *ret_count, cap);
		times[(*ret_count)++] = at += more;
	}
	return times;
}

void accounting_place_execs(struct accounting *b, const struct record *kernel,
			    const struct process *p)
{
	size_t n, t = 0;
	_cleanup_free_ uint64_t *times = accounting_exec_times(kernel, &n);

	for (uint32_t i = p->first; i != NO_INDEX && n; i = b->images[i].next) {
		struct image *img = &b->images[i];

		if (img->start == NO_OFFSET)
			continue;
		while (t + 1 < n && times[t + 1] <= img->begin_ns)
			t++;
		if (times[t] > img->begin_ns)
			continue;
		uint64_t since_us = (img->begin_ns - times[t]) / 1000;
		img->early_us -= (uint32_t)(since_us < img->early_us ? since_us : img->early_us);
		img->begin_ns = times[t];
	}
}

/* The program that the previous image announced to execute; NO_INDEX: unknown. */
static uint32_t intended(struct accounting *b, const struct image *prior)
{
	struct record rec;

	if (!prior || !prior->ended_by_exec || accounting_fetch(b, prior->end, &rec) < 0)
		return NO_INDEX;
	if (record_has(&rec, METRIC_PATH))
		return accounting_path(b, &rec);
	if (!record_has(&rec, METRIC_ARGV))
		return NO_INDEX;
	const char *name = rec.text[METRIC_ARGV].data;
	return accounting_exe(b, name, strnlen(name, rec.text[METRIC_ARGV].size));
}

/* `plimsoll run` reads /proc of a zombie before it waits, and omits per-thread scheduler statistics
 * if there were several threads. Other parents do not. */
enum looked { NOT_LOOKED, SAW_ONE, SAW_SEVERAL };
static enum looked looked_at_threads(struct accounting *b, const struct process *p)
{
	struct record reap;

	if (!p->has_usage || accounting_fetch(b, p->reap, &reap) < 0 ||
	    !record_has(&reap, METRIC_TIME_ONCPU))
		return NOT_LOOKED;
	return record_has(&reap, METRIC_TIME_WAITING) ? SAW_ONE : SAW_SEVERAL;
}

/* Counts the threads of the last image if its own record does not. Threads that were alive at its
 * end left no record: without the kernel their number is unknown. */
static void count_threads_of_last(struct accounting *b, const struct process *p, struct image *img)
{
	enum looked looked = looked_at_threads(b, p);
	uint32_t others = 0; /* of the images before it */

	for (uint32_t i = p->first; i != p->last; i = b->images[i].next)
		others += b->images[i].numtids ? b->images[i].numtids - 1 : 0;
	uint32_t n = p->threads_kernel ? p->threads_kernel : 1u + p->threads_seen;
	bool known = p->threads_kernel || looked == SAW_ONE;
	img->numtids = !known ? 0 : n > others ? n - others : 1;
	img->uncounted = !known && looked == NOT_LOOKED && !p->threads_seen;
}

/* Fills in what others recorded about the last program of a process. */
static void fill_last(struct accounting *b, const struct process *p, struct image *img,
		      uint64_t begin)
{
	img->end_ns = p->end_ns;
	img->rssmax_kib = p->rssmax_kib;
	count_threads_of_last(b, p, img);
	/* a PEEK before the exec saw what it replaced */
	bool seen = p->peek != NO_OFFSET &&
		    (!p->has_kernel || !begin || p->peek_begin_ns + TICK_NS >= begin);
	if (seen)
		img->peek = p->peek;
	struct record look;
	if (seen && accounting_fetch(b, p->peek, &look) == 0)
		img->name = accounting_name(b, &look) & NO_NAME;
	if (seen && p->peek_exe != NO_INDEX)
		img->exe = p->peek_exe;
	else if (img->exe == NO_INDEX)
		img->exe = p->comm_exe;
}

/* Adds an unrecorded program in front of an image; NO_INDEX: at the end. */
static struct image *add_unrecorded(struct accounting *b, struct process *p, uint32_t before,
				    uint64_t begin)
{
	const struct image *prior = NULL;

	for (uint32_t i = p->first; i != before && i != NO_INDEX; i = b->images[i].next)
		prior = &b->images[i];
	uint32_t exe = intended(b, prior);
	struct image *img = accounting_insert_image(b, p, before);
	img->begin_ns = begin;
	img->exe = exe;
	if (p->images < UINT16_MAX)
		p->images++;
	if (before == NO_INDEX)
		fill_last(b, p, img, begin);
	return img;
}

/* The first exec of a process; 0: unknown. */
static uint64_t first_exec(struct accounting *b, const struct process *p)
{
	struct record rec;
	size_t n;

	if (!p->has_kernel || p->kernel == NO_OFFSET || accounting_fetch(b, p->kernel, &rec) < 0)
		return 0;
	_cleanup_free_ uint64_t *times = accounting_exec_times(&rec, &n);
	return n ? times[0] : 0;
}

/* A copy that went silent, or tried to, and executed an unrecorded program: what it used belongs to
 * that program. */
static void copy_executed(struct accounting *b, struct process *p)
{
	struct image *img = p->last != NO_INDEX ? &b->images[p->last] : NULL;

	if (!img || !img->copy || (img->end != NO_OFFSET && !img->silent) ||
	    !(p->has_kernel ? p->execs : p->executes))
		return;
	uint64_t begin = first_exec(b, p);
	bool other_root = img->other_root;
	*img = accounting_no_image(img->process);
	img->begin_ns = begin ? begin : p->begin_ns;
	img->other_root = other_root;
	p->images++;
	if (!p->has_kernel || p->execs <= p->images)
		fill_last(b, p, img, begin);
	p->peek = NO_OFFSET;
}

/* The kernel counted more programs than are known: adds one for each exec time without an image. */
static bool add_counted(struct accounting *b, struct process *p)
{
	struct record rec;
	size_t n;

	if (!p->has_kernel || p->execs <= p->images || p->kernel == NO_OFFSET ||
	    accounting_fetch(b, p->kernel, &rec) < 0)
		return false;
	_cleanup_free_ uint64_t *times = accounting_exec_times(&rec, &n);
	uint32_t at = p->first;
	/* a copy that executed a program has no image */
	for (size_t t = 0; t < n; t++) {
		while (at != NO_INDEX && b->images[at].begin_ns < times[t])
			at = b->images[at].next;
		bool known =
			at != NO_INDEX && (t + 1 == n || b->images[at].begin_ns < times[t + 1]);
		if (!known)
			add_unrecorded(b, p, at, times[t]);
	}
	return n > 0;
}

/* By the kernel's count, or by that in a PEEK of a running process. */
static bool never_executed(struct accounting *b, const struct process *p)
{
	struct record rec;

	if (p->has_kernel)
		return !p->execs;
	return p->peek != NO_OFFSET && accounting_fetch(b, p->peek, &rec) == 0 &&
	       record_has(&rec, METRIC_EXECS) && !rec.v[METRIC_EXECS];
}

/* Without exec times: adds the only image of a process without records, or the last one after an
 * exec. */
static void add_implied(struct accounting *b, struct process *p)
{
	uint64_t begin = p->begin_ns;

	if (p->last != NO_INDEX) {
		const struct image *last = &b->images[p->last];

		if (p->has_kernel && p->execs <= p->images)
			return;
		if (!last->ended_by_exec && p->peek == NO_OFFSET)
			return;
		begin = last->ended_by_exec ? last->end_ns : p->peek_begin_ns;
	}
	struct image *img = add_unrecorded(b, p, NO_INDEX, begin);
	img->copy = p->first == p->last && never_executed(b, p);
	if (img->copy)
		p->images--;
}

void accounting_drop_unheard(struct accounting *b)
{
	for (size_t i = 0; i < b->process_count; i++) {
		struct process *p = &b->processes[i];

		if (p->last != NO_INDEX || p->reaped || p->has_kernel || p->peek != NO_OFFSET)
			continue;
		p->merged = true;
		p->outside = (uint32_t)i;
	}
}

void accounting_add_unrecorded(struct accounting *b)
{
	for (size_t i = 0; i < b->process_count; i++) {
		struct process *p = &b->processes[i];

		if (p->merged)
			continue;
		copy_executed(b, p);
		if (!add_counted(b, p))
			add_implied(b, p);
		/* a killed process did not record its threads */
		if (p->last != NO_INDEX && b->images[p->last].end == NO_OFFSET)
			count_threads_of_last(b, p, &b->images[p->last]);
	}
}
