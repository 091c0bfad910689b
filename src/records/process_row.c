/*
 * The row of one image or thread. Records hold the kernel's running totals; a row holds what the
 * image used: its own record less the EXEC of the previous image and less the I/O of collection.
 */
#include <errno.h>
#include <string.h>
#include <sys/wait.h>

#include "core/metrics/metric_lists.h"
#include "core/system/procparse.h"
#include "core/text/secrets.h"
#include "records/accounting_internal.h"

/* Copies a metric from a record. */
static void copy_metric(struct row *row, const struct record *rec, enum metric_id id)
{
	if (!record_has(rec, id))
		return;
	if (metric_by_id(id)->type == TYPE_TEXT)
		row_set_text(row, id, rec->text[id].data, rec->text[id].size);
	else
		row_set(row, id, rec->v[id]);
}

static void copy_all(struct row *row, const struct record *rec, const enum metric_id *ids, size_t n)
{
	for (size_t i = 0; i < n; i++)
		copy_metric(row, rec, ids[i]);
}

/* The previous image of the process; NULL for the first. */
static const struct image *before(const struct accounting *b, const struct process *p,
				  const struct image *img)
{
	const struct image *found = NULL;

	for (uint32_t i = p->first; &b->images[i] != img; i = b->images[i].next)
		found = &b->images[i];
	return found;
}

/* ---- who ------------------------------------------------------------------------------------ */

/* The name is the base name of argv[0]; the arguments are joined by blanks. */
static void split_argv(struct row *row)
{
	const struct strbuf *argv = &row->text[METRIC_ARGV];

	if (!row_has(row, METRIC_ARGV) || !argv->len) {
		if (row_has(row, METRIC_PATH) && row->text[METRIC_PATH].len) {
			const char *base = path_base(row->text[METRIC_PATH].buf);

			row_set_text(row, METRIC_EXENAME, base, strlen(base));
		} else if (row_has(row, METRIC_COMM)) {
			row_set_text(row, METRIC_EXENAME, row->text[METRIC_COMM].buf,
				     row->text[METRIC_COMM].len);
		}
		return;
	}
	secrets_mask_arguments(&row->text[METRIC_ARGV], 0, NULL);
	const char *end = argv->buf + argv->len;
	const char *name = path_base(argv->buf);
	row_set_text(row, METRIC_EXENAME, name, strlen(name));
	row_set_text(row, METRIC_ARGS, "", 0);
	for (const char *p = argv->buf + strlen(argv->buf) + 1; p < end; p += strlen(p) + 1) {
		if (row->text[METRIC_ARGS].len || p > argv->buf + strlen(argv->buf) + 1)
			strbuf_addch(&row->text[METRIC_ARGS], ' ');
		strbuf_addstr(&row->text[METRIC_ARGS], p);
	}
}

static int fill_identity(struct accounting *b, const struct image *img, const struct process *p,
			 struct row *row)
{
	static const enum metric_id program[] = {METRIC_PATH,    METRIC_ARGV,     METRIC_TAGS,
						 METRIC_MPIRANK, METRIC_NUMRANKS, METRIC_EVENTS,
						 METRIC_COMM,    METRIC_STEP};
	static const enum metric_id place[] = {METRIC_PGID, METRIC_SID, METRIC_PROCDEV,
					       METRIC_NSPID};
	static const enum metric_id intent[] = {METRIC_PATH, METRIC_ARGV};
	const struct image *of = img->origin != NO_INDEX ? &b->images[img->origin] : img;
	const struct image *prior = before(b, p, img);
	frame_ref ref = of->start != NO_OFFSET ? of->start : img->peek;
	struct record rec;
	int r;

	row_set(row, METRIC_PID, (uint64_t)process_pid(p));
	row_set(row, METRIC_PPID, accounting_parent(b, p));
	if (p->starttime_us)
		row_set(row, METRIC_STARTTIME, p->starttime_us);
	if (ref == NO_OFFSET && img->copy)
		ref = p->peek;
	if (ref != NO_OFFSET) {
		if ((r = accounting_fetch(b, ref, &rec)) < 0)
			return r;
		copy_all(row, &rec, program, ARRAY_SIZE(program));
		if (row_has(row, METRIC_TAGS))
			secrets_mask_tags(&row->text[METRIC_TAGS]);
		if (of == img)
			copy_all(row, &rec, place, ARRAY_SIZE(place));
		if (of == img && record_has(&rec, METRIC_PID))
			row_set(row, METRIC_PID, rec.v[METRIC_PID]);
	} else if (prior && prior->ended_by_exec) {
		/* the previous program announced what it executes */
		if ((r = accounting_fetch(b, prior->end, &rec)) < 0)
			return r;
		copy_all(row, &rec, intent, ARRAY_SIZE(intent));
	}
	for (int i = 0; i < 2 && !row_has(row, METRIC_COMM); i++) {
		frame_ref last = i ? p->reap : p->kernel;

		if (last != NO_OFFSET && img->next == NO_INDEX &&
		    accounting_fetch(b, last, &rec) == 0)
			copy_metric(row, &rec, METRIC_COMM);
	}
	split_argv(row);
	const struct accounting_host *h = &b->hosts[p->host];
	row_set_text(row, METRIC_HOSTNAME, h->name, strlen(h->name));
	return 0;
}

static void set_time(const struct accounting_host *h, struct row *row, enum metric_id id,
		     uint64_t ns)
{
	if (ns && h->has_clock)
		row_set(row, id, ns / 1000 + (uint64_t)h->real_minus_boot_us);
}

static void fill_end(const struct accounting *b, const struct image *img, const struct process *p,
		     struct row *row)
{
	enum accounting_ended how = image_ended(b, img);
	const struct accounting_host *h = &b->hosts[p->host];

	set_time(h, row, METRIC_START, img->begin_ns);
	if (how != ENDED_RUNNING)
		set_time(h, row, METRIC_END, img->end_ns ? img->end_ns : p->end_ns);
	if (how == ENDED_EXIT) {
		row_set(row, METRIC_EXITCODE, (uint64_t)WEXITSTATUS(p->status));
		row_set(row, METRIC_EXITSIGNAL, 0);
	} else if (how == ENDED_SIGNAL) {
		row_set(row, METRIC_EXITSIGNAL, (uint64_t)WTERMSIG(p->status));
		row_set(row, METRIC_COREDUMP, WCOREDUMP(p->status) ? 1 : 0);
	}
}

/* ---- how much ------------------------------------------------------------------------------- */

/* I/O of collection in a counter, with the write of the record itself. */
static uint64_t own_io(const struct record *rec, enum metric_id id)
{
	switch (id) {
	case METRIC_RCHAR:
		return record_get(rec, METRIC_OWN_RCHAR, 0);
	case METRIC_WCHAR:
		return record_get(rec, METRIC_OWN_WCHAR, 0) + rec->size;
	case METRIC_SYSCR:
		return record_get(rec, METRIC_OWN_SYSCR, 0);
	case METRIC_SYSCW:
		return record_get(rec, METRIC_OWN_SYSCW, 0) + 1;
	default:
		return 0;
	}
}

static const enum metric_id of_task[] = {TASK_METRICS, TASK_USAGE};
static const size_t before_usage = sizeof((enum metric_id[]){TASK_METRICS}) / sizeof(of_task[0]);

/* After an exec only the thread that executed goes on: takes its first n values as those of the
 * process. Values that an older library did not record are unknown. */
static void take_base_of_task(struct record *base, size_t n)
{
	const unsigned char *p = (const unsigned char *)base->text[METRIC_TASK].data;
	uint64_t v;

	if (!record_has(base, METRIC_TASK))
		return;
	const unsigned char *end = p + base->text[METRIC_TASK].size;
	for (size_t i = 0; i < n; i++)
		if (p && (p = pl_get_varint(p, end, &v)))
			record_set(base, of_task[i], v);
		else
			record_unset(base, of_task[i]);
}

/* Events and cycles are counted from the start of each image. A value that the previous image did
 * not record is unknown in this one, too. */
static void subtract_baseline(struct row *row, const struct record *base)
{
	for (size_t i = 0; base->type == PL_EXEC && i < ARRAY_SIZE(of_task); i++)
		if (!record_has(base, of_task[i]))
			row_unset(row, of_task[i]);
	for (size_t i = 0; i < metric_count; i++) {
		const struct metric *m = &metrics[i];

		if (m->over_time != TIME_DIFF || m->type != TYPE_U64 ||
		    m->id == METRIC_RDTSC_DURATION || !row_has(row, m->id) ||
		    !record_has(base, m->id))
			continue;
		uint64_t off = base->v[m->id] + own_io(base, m->id);
		row->v[m->id] = row->v[m->id] > off ? row->v[m->id] - off : 0;
	}
}

/* The previous image went on after its last record, so how much of this is its own is unknown. CPU
 * time stays, since it must be in one of them. */
static void drop_shared(struct row *row)
{
	for (size_t i = 0; i < ARRAY_SIZE(of_task); i++)
		if (of_task[i] != METRIC_USERTIME && of_task[i] != METRIC_SYSTEMTIME &&
		    of_task[i] != METRIC_TIME_ONCPU)
			row_unset(row, of_task[i]);
}

/* Subtracts what was used before the image began; n: how many values of of_task are of one thread.
 */
static int subtract_prior(struct accounting *b, const struct image *img, const struct image *prior,
			  size_t n, struct row *row)
{
	frame_ref base = !prior ? NO_OFFSET : prior->end != NO_OFFSET ? prior->end : img->start;
	struct record rec;

	if (base == NO_OFFSET)
		return 0;
	int r = accounting_fetch(b, base, &rec);
	if (r < 0)
		return r;
	take_base_of_task(&rec, n);
	subtract_baseline(row, &rec);
	if (prior->silent)
		drop_shared(row);
	return 0;
}

static const enum metric_id counters[] = {
	METRICS_RUSAGE, METRICS_CHILDREN,     METRICS_PROC,    METRIC_RDTSC_DURATION,
	METRIC_NUMTIDS, METRIC_THREADS_BASIC, METRIC_COUNTERS, METRIC_VMPEAK,
};

/* Drops a delay of 0 if the kernel does not account delays. */
static void drop_unaccounted(const struct accounting_host *h, struct row *row)
{
	if (h->delayacct != 1 && row_has(row, METRIC_DELAYACCT_BLKIO_TIME) &&
	    !row->v[METRIC_DELAYACCT_BLKIO_TIME])
		row_unset(row, METRIC_DELAYACCT_BLKIO_TIME);
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* Subtracts the I/O of collection in a process without an own END. */
static int subtract_own_io(struct accounting *b, const struct image *img, const struct process *p,
			   struct row *row)
{
	struct record start;

	if (img->start == NO_OFFSET)
		return 0;
	int r = accounting_fetch(b, img->start, &start);
	if (r < 0)
		return r;
	row->v[METRIC_RCHAR] = less(row->v[METRIC_RCHAR], record_get(&start, METRIC_OWN_RCHAR, 0));
	row->v[METRIC_SYSCR] = less(row->v[METRIC_SYSCR], record_get(&start, METRIC_OWN_SYSCR, 0));
	row->v[METRIC_WCHAR] = less(row->v[METRIC_WCHAR], p->own_wchar);
	row->v[METRIC_SYSCW] = less(row->v[METRIC_SYSCW], p->own_syscw);
	return 0;
}

/*
 * The CPU time of the last image is the reaper's figure if there is one, since it includes the
 * exit. That figure also includes the children that the process waited for: they are subtracted
 * from the CPU time, and a process without own records gets the other counters only if there were
 * none.
 */
static int fill_reaped(struct accounting *b, const struct image *img, const struct process *p,
		       struct row *row)
{
	static const enum metric_id inclusive[] = {
		METRIC_RSSMAX,   METRIC_MINFLT,    METRIC_MAJFLT,     METRIC_INBLOCK,
		METRIC_OUTBLOCK, METRIC_VOL_CTXSW, METRIC_INVOL_CTXSW};
	static const enum metric_id zombie[] = {
		IO_METRICS,       METRIC_TIME_WAITING, METRIC_TIMESLICES, METRIC_TIME_ONCPU,
		METRIC_PROCESSOR, METRIC_GUEST_TIME,   METRIC_STARTTIME,  METRIC_COMM};
	struct record rec;

	if (!p->has_usage)
		return 0;
	int r = accounting_fetch(b, p->reap, &rec);
	if (r < 0)
		return r;
	bool recorded = row_has(row, METRIC_USERTIME);
	uint64_t children = p->children_user_us + p->reaped_user_us, cpu;
	bool any = children || p->children_sys_us || p->reaped_sys_us || p->unseen_waits;
	if (!(p->unseen_waits && p->has_kernel_cpu) && process_cpu_us(b, p, &cpu)) {
		uint64_t user = less(record_get(&rec, METRIC_USERTIME, 0), children);

		user = user < cpu ? user : cpu;
		row_set(row, METRIC_USERTIME, user);
		row_set(row, METRIC_SYSTEMTIME, cpu - user);
	}
	if (recorded)
		return 0;
	copy_all(row, &rec, zombie, ARRAY_SIZE(zombie));
	if (!any)
		copy_all(row, &rec, inclusive, ARRAY_SIZE(inclusive));
	return row_has(row, METRIC_WCHAR) ? subtract_own_io(b, img, p, row) : 0;
}

/* Adds what only the kernel's exit record has. */
static int fill_kernel(struct accounting *b, const struct image *img, const struct process *p,
		       struct row *row)
{
	static const enum metric_id known[] = {
		METRIC_RSSMAX,      METRIC_MINFLT,
		METRIC_MAJFLT,      METRIC_VOL_CTXSW,
		METRIC_INVOL_CTXSW, METRIC_READ_BYTES,
		METRIC_WRITE_BYTES, METRIC_CANCELLED_WRITE_BYTES,
		METRIC_TIME_ONCPU,  METRIC_TIME_WAITING,
		METRIC_TIMESLICES,  METRIC_USERTIME,
		METRIC_SYSTEMTIME,  METRIC_DELAYACCT_BLKIO_TIME,
	};
	struct record rec;

	if (p->kernel == NO_OFFSET)
		return 0;
	int r = accounting_fetch(b, p->kernel, &rec);
	if (r < 0)
		return r;
	/* the kernel's value is the image's own; the reaper's may be inherited from the parent */
	if (img->end == NO_OFFSET && record_has(&rec, METRIC_RSSMAX))
		row_unset(row, METRIC_RSSMAX);
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (!row_has(row, known[i]))
			copy_metric(row, &rec, known[i]);
	copy_metric(row, &rec, METRIC_VMPEAK);
	return 0;
}

/* Subtracts the I/O of collection in the copy that the process was before its first exec. */
static int subtract_copy_io(struct accounting *b, const struct image *img, const struct process *p,
			    struct row *row)
{
	static const enum metric_id io[] = {METRIC_RCHAR, METRIC_WCHAR, METRIC_SYSCR, METRIC_SYSCW};
	frame_ref ref = img->copy ? NO_OFFSET : accounting_copy_record(b, p);
	struct record rec;

	if (ref == NO_OFFSET)
		return 0;
	int r = accounting_fetch(b, ref, &rec);
	for (size_t i = 0; r == 0 && i < ARRAY_SIZE(io); i++)
		if (row_has(row, io[i]))
			row->v[io[i]] = less(row->v[io[i]], own_io(&rec, io[i]));
	return r;
}

/* User and system time are in ticks, their sum is exact. */
static void split_by_ticks(const struct process *p, struct row *row)
{
	if (p->has_kernel_cpu && (!p->has_usage || p->unseen_waits) &&
	    row_has(row, METRIC_USERTIME) && row_has(row, METRIC_SYSTEMTIME))
		split_cpu(p->kernel_cpu_ns / 1000, &row->v[METRIC_USERTIME],
			  &row->v[METRIC_SYSTEMTIME]);
}

/* User and system time follow ticks, so their differences may be wrong. Their sum is what the image
 * used, and the images of a process add up to its total. */
static void fit_cpu(const struct accounting *b, const struct image *img, const struct process *p,
		    const struct image *prior, struct row *row)
{
	uint64_t upto = img->cpu_us, used = prior ? prior->cpu_us : 0;

	if (!row_has(row, METRIC_USERTIME) || !row_has(row, METRIC_SYSTEMTIME) ||
	    (img->next == NO_INDEX && !process_cpu_us(b, p, &upto)) || upto < used)
		return;
	if (row->v[METRIC_USERTIME] > upto - used)
		row->v[METRIC_USERTIME] = upto - used;
	row->v[METRIC_SYSTEMTIME] = upto - used - row->v[METRIC_USERTIME];
}

static int fill_counters(struct accounting *b, const struct image *img, const struct process *p,
			 struct row *row)
{
	const struct image *prior = before(b, p, img);
	struct record rec;
	size_t of_thread = 0; /* how many values of of_task are of the last thread */
	int r;

	if (img->end != NO_OFFSET) {
		if ((r = accounting_fetch(b, img->end, &rec)) < 0)
			return r;
		of_thread = rec.flags & PL_F_THREAD_IO ? before_usage : TASK_METRICS_BEFORE_IO;
		copy_all(row, &rec, counters, ARRAY_SIZE(counters));
		if (img->copy) {
			copy_metric(row, &rec, METRIC_PGID);
			copy_metric(row, &rec, METRIC_SID);
			copy_metric(row, &rec, METRIC_PROCDEV);
		}
	}
	if (img->next == NO_INDEX && ((r = fill_reaped(b, img, p, row)) < 0))
		return r;
	if (row_has(row, METRIC_TIME_WAITING) && !of_thread)
		of_thread = TASK_METRICS_BEFORE_IO; /* the reaper read the last thread */
	if (img->next == NO_INDEX && ((r = fill_kernel(b, img, p, row)) < 0))
		return r;
	if (img->next == NO_INDEX)
		split_by_ticks(p, row);
	/* an image without an end record ended at the START of the next one */
	const struct image *next = img->next != NO_INDEX ? &b->images[img->next] : NULL;
	if (img->end == NO_OFFSET && next && next->start != NO_OFFSET) {
		if ((r = accounting_fetch(b, next->start, &rec)) < 0)
			return r;
		copy_metric(row, &rec, METRIC_USERTIME);
		copy_metric(row, &rec, METRIC_SYSTEMTIME);
	}
	if ((r = subtract_prior(b, img, prior, of_thread, row)) < 0)
		return r;
	if (!prior && (r = subtract_copy_io(b, img, p, row)) < 0)
		return r;
	fit_cpu(b, img, p, prior, row);
	if (img->numtids)
		row_set(row, METRIC_NUMTIDS, img->numtids);
	else
		row_unset(row, METRIC_NUMTIDS);
	drop_unaccounted(&b->hosts[p->host], row);
	return 0;
}

static uint64_t generation(const struct accounting *b, const struct process *p,
			   const struct image *img)
{
	uint64_t n = 0;

	for (uint32_t i = p->first; &b->images[i] != img; i = b->images[i].next)
		n++;
	return n;
}

int image_row(struct accounting *b, const struct image *img, struct row *row)
{
	const struct process *p = &b->processes[img->process];

	row_clear(row);
	int r = fill_identity(b, img, p, row);
	if (r < 0)
		return r;
	row_set(row, METRIC_GENERATION, generation(b, p, img));
	if ((r = fill_counters(b, img, p, row)) < 0)
		return r;
	fill_end(b, img, p, row);
	return 0;
}

/* The first thread begins with its image. For other threads of unknown begin the kernel names a
 * tick, which may be before that of the image. */
static void thread_span(const struct image *img, const struct record *rec, uint64_t *ret_begin,
			uint64_t *ret_end)
{
	bool first = record_get(rec, METRIC_TID, 0) == record_get(rec, METRIC_PID, 1);
	uint64_t begin = record_get(rec, METRIC_BEGIN, record_get(rec, METRIC_STARTTIME, 0) * 1000);
	uint64_t end = record_get(rec, METRIC_BOOTTIME, 0);

	if (img->end_ns && end > img->end_ns)
		end = img->end_ns;
	if (img->begin_ns && (first || begin < img->begin_ns))
		begin = img->begin_ns;
	*ret_begin = end && begin > end ? end : begin;
	*ret_end = end;
}

int thread_row(struct accounting *b, const struct accounting_thread *t, struct row *row)
{
	const struct image *img = &b->images[t->image], *prior = NULL;
	const struct process *p = &b->processes[img->process];
	const struct accounting_host *h = &b->hosts[p->host];
	struct record rec;

	row_clear(row);
	int r = accounting_fetch(b, t->ref, &rec);
	if (r < 0)
		return r;
	copy_all(row, &rec, counters, ARRAY_SIZE(counters));
	copy_metric(row, &rec, METRIC_PID);
	copy_metric(row, &rec, METRIC_TID);
	copy_metric(row, &rec, METRIC_STARTTIME);
	/* the first thread survives an exec */
	if (row_get(row, METRIC_TID, 0) == row_get(row, METRIC_PID, 1))
		prior = before(b, p, img);
	if ((r = subtract_prior(b, img, prior, ARRAY_SIZE(of_task), row)) < 0)
		return r;
	drop_unaccounted(h, row);
	uint64_t begin, end;
	thread_span(img, &rec, &begin, &end);
	set_time(h, row, METRIC_START, begin);
	set_time(h, row, METRIC_END, end);
	row_set_text(row, METRIC_HOSTNAME, h->name, strlen(h->name));
	return 0;
}
