/* papiex's files from a job's records; see papiex_files.h. */
#include "compat/epmt/papiex/papiex_files.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "compat/epmt/epmt.h"
#include "core/files/fs.h"
#include "run/run.h"

enum papiex_format papiex_form_of(const char *options)
{
	for (const char *p = options; p && *p; p += strcspn(p, ",") + (p[strcspn(p, ",")] == ','))
		if (strcspn(p, ",") == 12 && !memcmp(p, "COLLATED_TSV", 12))
			return PAPIEX_TSV;
	return PAPIEX_CSV;
}

static uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/*
 * papiex has no column for the process: its sum is over the rows of its threads. The first row gets
 * what no other thread's row holds, so that the sum is right whatever was recorded of them.
 */
static void leave_to_first(struct row *process, const struct row *thread)
{
	for (size_t i = 0; i < metric_count; i++) {
		const struct metric *m = &metrics[i];

		if (m->agg == AGG_SUM && m->scope == SCOPE_THREAD && m->type == TYPE_U64 &&
		    m->id != METRIC_RDTSC_DURATION && row_has(process, m->id) &&
		    row_has(thread, m->id))
			process->v[m->id] = less(process->v[m->id], thread->v[m->id]);
	}
}

/* The kernel divides CPU time into user and system by ticks, for a process and for each thread
 * alone: only their sum adds up. What is left of the sum goes to the first thread. */
static void leave_cpu_to_first(struct row *process, const struct row *const *threads, size_t count,
			       uint64_t user, uint64_t system)
{
	uint64_t left = user + system;

	for (size_t i = 0; i < count; i++)
		left = less(left, row_get(threads[i], METRIC_USERTIME, 0) +
					  row_get(threads[i], METRIC_SYSTEMTIME, 0));
	if (process->v[METRIC_SYSTEMTIME] > left)
		process->v[METRIC_SYSTEMTIME] = left;
	process->v[METRIC_USERTIME] = left - process->v[METRIC_SYSTEMTIME];
}

struct rows {
	struct row process;
	struct row *threads;
	const struct row **pointers;
	size_t count, cap;
};

static void rows_release(struct rows *r)
{
	row_release(&r->process);
	for (size_t i = 0; i < r->cap; i++)
		row_release(&r->threads[i]);
	free(r->threads);
	free(r->pointers);
}

static void rows_reserve(struct rows *r)
{
	if (r->count < r->cap)
		return;
	size_t cap = r->cap ? r->cap * 2 : 4;
	r->threads = xreallocarray(r->threads, cap, sizeof(*r->threads));
	r->pointers = xreallocarray(r->pointers, cap, sizeof(*r->pointers));
	for (size_t i = r->cap; i < cap; i++)
		row_init(&r->threads[i]);
	r->cap = cap;
}

static void copy_counters_of_first(struct row *process, const struct row *first)
{
	if (row_has(first, METRIC_COUNTERS))
		row_set_text(process, METRIC_COUNTERS, first->text[METRIC_COUNTERS].buf,
			     first->text[METRIC_COUNTERS].len);
	if (row_has(first, METRIC_RDTSC_DURATION))
		row_set(process, METRIC_RDTSC_DURATION, first->v[METRIC_RDTSC_DURATION]);
}

/* Cycles in a microsecond of a host, from its longest image that counted them; 0 when none did. */
static int cycle_rate(struct accounting *b, uint32_t host, struct rows *r, double *ret)
{
	uint64_t longest = 0;

	*ret = 0;
	for (size_t i = 0; i < b->image_count; i++) {
		const struct image *img = &b->images[i];

		if (b->processes[img->process].host != host || img->start == NO_OFFSET ||
		    img->end == NO_OFFSET || img->end_ns < img->begin_ns + longest)
			continue;
		int e = image_row(b, img, &r->process);
		if (e < 0)
			return e;
		if (!row_has(&r->process, METRIC_EVENTS))
			return 0;
		uint64_t start = row_get(&r->process, METRIC_START, 0);
		uint64_t us = less(row_get(&r->process, METRIC_END, 0), start);
		if (!row_has(&r->process, METRIC_RDTSC_DURATION) || !us)
			continue;
		longest = img->end_ns - img->begin_ns;
		*ret = (double)r->process.v[METRIC_RDTSC_DURATION] / (double)us;
	}
	return 0;
}

/* EPMT takes a duration of 0 cycles for an error. Who could not count them has an estimate, from
 * the time between its start and its end. */
static void estimate_cycles(struct row *process, double rate)
{
	double us = (double)(process->v[METRIC_END] - process->v[METRIC_START]);

	if (rate > 0 && !row_has(process, METRIC_RDTSC_DURATION))
		row_set(process, METRIC_RDTSC_DURATION, 1 + (uint64_t)(us * rate));
}

static int collect_rows(struct accounting *b, uint32_t image, double rate, struct rows *r)
{
	int e = image_row(b, &b->images[image], &r->process);
	uint64_t user = row_get(&r->process, METRIC_USERTIME, 0);
	uint64_t system = row_get(&r->process, METRIC_SYSTEMTIME, 0);

	r->count = 0;
	for (size_t i = accounting_first_thread(b, image);
	     e == 0 && i < b->thread_count && b->threads[i].image == image; i++) {
		rows_reserve(r);
		struct row *t = &r->threads[r->count];
		if ((e = thread_row(b, &b->threads[i], t)) < 0)
			break;
		if (row_has(&r->process, METRIC_EVENTS))
			row_set_text(t, METRIC_EVENTS, r->process.text[METRIC_EVENTS].buf,
				     r->process.text[METRIC_EVENTS].len);
		if (t->v[METRIC_TID] == r->process.v[METRIC_PID]) {
			copy_counters_of_first(&r->process, t);
			continue;
		}
		leave_to_first(&r->process, t);
		row_set(t, METRIC_MPIRANK, row_get(&r->process, METRIC_MPIRANK, 0));
		r->count++;
	}
	for (size_t i = 0; i < r->count; i++)
		r->pointers[i] = &r->threads[i];
	if (row_has(&r->process, METRIC_USERTIME) && row_has(&r->process, METRIC_SYSTEMTIME))
		leave_cpu_to_first(&r->process, r->pointers, r->count, user, system);
	row_set(&r->process, METRIC_TID, r->process.v[METRIC_PID]);
	row_set(&r->process, METRIC_NUMTIDS, r->count + 1);
	/* EPMT wants both times; what only has an end began there */
	uint64_t end = row_get(&r->process, METRIC_END, row_get(&r->process, METRIC_START, 0));
	row_set(&r->process, METRIC_START, row_get(&r->process, METRIC_START, end));
	row_set(&r->process, METRIC_END,
		end < r->process.v[METRIC_START] ? r->process.v[METRIC_START] : end);
	estimate_cycles(&r->process, rate);
	return e;
}

/* ---- files ---------------------------------------------------------------------------------- */

/* How often a pid was written already, for the last part of CSV names. */
static unsigned instance_of(const struct accounting *b, const uint32_t *order, size_t at)
{
	const struct process *p = &b->processes[b->images[order[at]].process];
	unsigned n = 0;

	/* pids repeat rarely and processes are many: look at this process's earlier images and at
	 * earlier processes of the same pid */
	for (uint32_t i = p->first; i != order[at]; i = b->images[i].next)
		n++;
	for (uint32_t q = p->previous; q != NO_INDEX; q = b->processes[q].previous)
		for (uint32_t i = b->processes[q].first; i != NO_INDEX; i = b->images[i].next)
			n++;
	return n;
}

static int write_csv(struct accounting *b, const uint32_t *order, int dirfd, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	_cleanup_free_ double *rates = xcalloc(b->host_count + 1, sizeof(*rates));
	struct rows r = {0};
	int written = 0, e = 0;

	row_init(&r.process);
	for (uint32_t h = 0; h < b->host_count && e == 0; h++)
		e = cycle_rate(b, h, &r, &rates[h]);
	for (size_t i = 0; i < b->image_count && e == 0; i++) {
		if (image_ended(b, &b->images[order[i]]) == ENDED_RUNNING)
			continue;
		double rate = rates[b->processes[b->images[order[i]].process].host];
		if ((e = collect_rows(b, order[i], rate, &r)) < 0)
			break;
		struct papiex_process p = {&r.process, r.pointers, r.count};
		const char *events = row_has(&r.process, METRIC_EVENTS)
					     ? r.process.text[METRIC_EVENTS].buf
					     : NULL;
		_cleanup_free_ char *name = xasprintf(
			"%s-papiex-%llu-%u.csv", r.process.text[METRIC_HOSTNAME].buf,
			(unsigned long long)r.process.v[METRIC_PID], instance_of(b, order, i));
		strbuf_reset(&text);
		papiex_csv_header(&text, events);
		papiex_csv_process(&text, &p, events);
		e = fs_replace(dirfd, name, text.buf, text.len, 0600);
		if (e < 0)
			strbuf_addf(why, "cannot write '%s': %s", name, strerror(-e));
		written++;
	}
	rows_release(&r);
	return e < 0 ? e : written;
}

/* Events of a host: the first list that any of its images has. */
static int host_events(struct accounting *b, uint32_t host, struct rows *r, struct strbuf *events)
{
	for (size_t i = 0; i < b->image_count; i++) {
		if (b->processes[b->images[i].process].host != host ||
		    b->images[i].start == NO_OFFSET)
			continue;
		int e = image_row(b, &b->images[i], &r->process);
		if (e < 0)
			return e;
		if (row_has(&r->process, METRIC_EVENTS))
			strbuf_addstr(events, r->process.text[METRIC_EVENTS].buf);
		return 0;
	}
	return 0;
}

static int write_host_tsv(struct accounting *b, const uint32_t *order, uint32_t host, int dirfd,
			  struct rows *r, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, header = STRBUF_INIT,
				       events = STRBUF_INIT;
	double rate = 0;
	int written = 0, e = host_events(b, host, r, &events);

	if (e == 0 && events.len)
		e = cycle_rate(b, host, r, &rate);
	papiex_tsv_header(&header, events.buf);
	for (size_t i = 0; i < b->image_count && e == 0; i++) {
		const struct image *img = &b->images[order[i]];

		if (b->processes[img->process].host != host || image_ended(b, img) == ENDED_RUNNING)
			continue;
		if ((e = collect_rows(b, order[i], rate, r)) < 0)
			break;
		struct papiex_process p = {&r->process, r->pointers, r->count};
		papiex_tsv_process(&text, &p, events.buf);
		written++;
	}
	if (e < 0)
		return e;
	_cleanup_free_ char *data = xasprintf("%s-papiex.tsv", b->hosts[host].name);
	_cleanup_free_ char *head = xasprintf("%s-papiex-header.tsv", b->hosts[host].name);
	e = fs_replace(dirfd, head, header.buf, header.len, 0600);
	if (e == 0)
		e = fs_replace(dirfd, data, text.buf, text.len, 0600);
	if (e < 0) {
		strbuf_addf(why, "cannot write '%s': %s", data, strerror(-e));
		return e;
	}
	return written;
}

static int write_tsv(struct accounting *b, const uint32_t *order, int dirfd, struct strbuf *why)
{
	struct rows r = {0};
	int written = 0;

	row_init(&r.process);
	for (uint32_t h = 0; h < b->host_count && written >= 0; h++) {
		bool used = false;

		for (size_t i = 0; i < b->process_count && !used; i++)
			used = b->processes[i].host == h;
		if (!used)
			continue;
		int n = write_host_tsv(b, order, h, dirfd, &r, why);
		written = n < 0 ? n : written + n;
	}
	rows_release(&r);
	return written;
}

int papiex_write_files(struct accounting *b, int dirfd, enum papiex_format form, struct strbuf *why)
{
	_cleanup_free_ uint32_t *order = accounting_order(b);

	accounting_sort_threads(b);
	return form == PAPIEX_TSV ? write_tsv(b, order, dirfd, why)
				  : write_csv(b, order, dirfd, why);
}

/* ---- at the end of a run, where EPMT's name or papiex's variables ask for it ---------------- */

static void environment(const struct context *ctx, const struct job_directory *j,
			void (*add)(void *user, const char *name, const char *value), void *user)
{
	if (job_layout(ctx) != &job_layout_epmt || !j->path)
		return;
	_cleanup_free_ char *output = xasprintf("%s/", j->path);
	add(user, "PAPIEX_OUTPUT", output);
	add(user, "PAPIEX_OPTIONS", config_get(&ctx->config, SETTING_EVENTS));
}

static int write_files(struct context *ctx, const struct job_directory *j)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const char *options = getenv("PAPIEX_OPTIONS"), *output = getenv("PAPIEX_OUTPUT");
	bool own = job_layout(ctx) == &job_layout_epmt;
	_cleanup_close_ int dir = -1;
	struct accounting b;

	if (!own && !options && !output)
		return 0;
	if (own)
		options = config_get(&ctx->config, SETTING_EVENTS);
	accounting_init(&b);
	b.keep_threads = true;
	int r = job_directory_add_records(j, &b, &why);
	if (r == 0)
		r = accounting_load(&b, &why);
	if (r == 0) {
		accounting_find_running(&b);
		dir = !own && output && *output ? fs_open_named(output, false, &why) : dup(j->fd);
		r = dir < 0 ? dir : papiex_write_files(&b, dir, papiex_form_of(options), &why);
	}
	accounting_release(&b);
	if (r < 0)
		log_error("cannot make papiex files: %s", why.len ? why.buf : strerror(-r));
	else
		log_info("%d %s written as papiex files", r, plural(r, "process", "processes"));
	return r < 0 ? r : 0;
}

const struct exporter exporter_papiex = {
	.name = "papiex",
	.variable_prefix = "PAPIEX",
	.events = "PAPIEX_OPTIONS",
	.environment = environment,
	.write = write_files,
};
