/*
 * Importing the marks of a job. A job may have a mark file for each of thousands of processes, so
 * that they are not kept open: what is used of them is copied to one scratch file, and read when
 * the images are known.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "core/files/fs.h"
#include "records/mark_log.h"
#include "store/import/import_internal.h"
#include "store/ingest/ingest_phases.h"

void import_marks_release(struct import *p)
{
	free(p->marks);
	close_fd(&p->mark_scratch);
}

/* Reads until the buffer is full; fewer bytes at the end of the file. */
static ssize_t read_full(const struct bytes *from, char *buf, size_t n)
{
	size_t got = 0;

	while (got < n) {
		ssize_t k = import_read_piece(from, buf + got, n - got);

		if (k < 0)
			return k;
		if (!k)
			break;
		got += (size_t)k;
	}
	return (ssize_t)got;
}

static int copy_used(struct import *p, const struct bytes *from, struct import_mark *m,
		     char header[PLIMSOLL_MARK_HEADER], const char *name)
{
	uint64_t left = m->file.slots * PLIMSOLL_MARK_SLOT;
	_cleanup_free_ char *piece = xmalloc(65536);
	int r = fs_write_all(p->mark_scratch, header, PLIMSOLL_MARK_HEADER);

	m->size = PLIMSOLL_MARK_HEADER;
	while (r == 0 && left) {
		ssize_t n = read_full(from, piece, left < 65536 ? (size_t)left : 65536);

		if (n < 0)
			return import_reading_failed(p, (int)n, name);
		if (!n)
			break;
		r = fs_write_all(p->mark_scratch, piece, (size_t)n);
		m->size += (uint64_t)n;
		left -= (uint64_t)n;
	}
	return r < 0 ? import_fail(p, r, name, "no room for a temporary file") : 0;
}

int import_take_marks(struct import *p, const struct bytes *from, const char *name)
{
	_cleanup_free_ char *header = xcalloc(1, PLIMSOLL_MARK_HEADER);
	ssize_t n = read_full(from, header, PLIMSOLL_MARK_HEADER);
	struct import_mark m = {.at = p->mark_bytes};

	if (n < 0)
		return import_reading_failed(p, (int)n, name);
	if (n < PLIMSOLL_MARK_HEADER || mark_file_parse(header, &m.file) < 0) {
		/* a process that was killed while it created its file */
		p->bad_marks++;
		return 0;
	}
	if (p->mark_scratch < 0 && (p->mark_scratch = fs_scratch_file()) < 0)
		return import_fail(p, p->mark_scratch, name, "no room for a temporary file");
	int r = copy_used(p, from, &m, header, name);
	p->mark_bytes += m.size;
	GROW(p->marks, p->mark_count, p->mark_cap);
	p->marks[p->mark_count++] = m;
	return r;
}

int import_visit_marks(void *user, int fd, const char *name)
{
	const struct bytes from = {.fd = fd};
	int r = import_take_marks(user, &from, name);

	close(fd);
	return r;
}

void import_scan_marks(const struct import *p, struct inventory *inv)
{
	for (size_t i = 0; i < p->mark_count; i++)
		inventory_add(inv, (struct inventory_file){.kind = INVENTORY_MARKS,
							   .id = p->marks[i].file.file_id,
							   .count = p->marks[i].file.slots});
}

/* ---- into the store ------------------------------------------------------------------------- */

struct mark_counts {
	uint64_t damaged, dropped, unmatched, too_deep;
};

static int add_regions(struct import *p, uint64_t id, struct mark_log *l, struct mark_counts *c)
{
	_cleanup_mark_regions_ struct mark_regions regions = {0};
	int r = 0;

	mark_log_regions(l, &regions);
	_cleanup_free_ uint32_t *numbers = xcalloc(regions.count + 1, sizeof(*numbers));
	for (size_t i = 0; i < regions.count && r == 0; i++) {
		const struct mark_region *v = &regions.v[i];
		const struct ingest_phase phase = {
			.log = id,
			.host = l->process.host,
			.name = l->names[v->name],
			.pid = l->process.pid,
			.tid = v->tid,
			.rank = l->process.rank,
			.parent = v->parent == MARK_NONE ? 0 : numbers[v->parent],
			.depth = v->depth,
			.state = (enum mark_state)v->state,
			.origin = v->flags & PLIMSOLL_OF_COMMAND  ? PHASE_COMMAND
				  : v->flags & PLIMSOLL_OF_SCRIPT ? PHASE_SCRIPT
								  : PHASE_PROGRAM,
			.begin_ns = v->begin_ns,
			.duration_ns = v->end_ns ? v->end_ns - v->begin_ns : -1,
			/* `plimsoll mark` does not know the CPU time of its caller */
			.cpu_ns = v->cpu_ns < 0 || v->flags ? -1 : v->cpu_ns};

		r = ingest_phase(p->in, &phase, &numbers[i]);
	}
	c->damaged += l->damaged;
	c->dropped += l->dropped;
	c->unmatched += regions.unmatched;
	c->too_deep += regions.too_deep;
	p->result->phases += regions.count;
	return r;
}

static int by_process(const void *a, const void *b)
{
	const struct import_mark *x = a, *y = b;

	if (x->file.process_id != y->file.process_id)
		return x->file.process_id < y->file.process_id ? -1 : 1;
	if (x->file.file_id != y->file.file_id)
		return x->file.file_id < y->file.file_id ? -1 : 1;
	/* a copy of a file: the longer one counts */
	return x->size > y->size ? -1 : x->size < y->size;
}

static void warn(struct import *p, const struct mark_counts *c)
{
	static const char texts[][2][64] = {
		{"mark had no room in its file", "marks had no room in their file"},
		{"end of a region has no begin", "ends of regions have no begin"},
		{"slot of a mark file is damaged", "slots of mark files are damaged"},
		{"region is nested too deeply", "regions are nested too deeply"},
		{"mark file is damaged", "mark files are damaged"}};
	const uint64_t counts[] = {c->dropped, c->unmatched, c->damaged, c->too_deep, p->bad_marks};

	for (size_t i = 0; i < ARRAY_SIZE(counts); i++)
		if (counts[i])
			ingest_warn(p->in, "%llu %s%s", (unsigned long long)counts[i],
				    plural(counts[i], texts[i][0], texts[i][1]),
				    i ? "" : "; PLIMSOLL_MARK_MAX allows more per process");
}

/* Phases of parts that the store has, except of processes whose marks come again. */
static int copy_stored(struct import *p)
{
	_cleanup_free_ uint64_t *again = xcalloc(p->mark_count + 1, sizeof(*again));

	for (size_t i = 0; i < p->mark_count; i++)
		again[i] = p->marks[i].file.process_id;
	return ingest_phases_copy(p->in, p->join->job, again, p->mark_count);
}

int import_finish_marks(struct import *p)
{
	struct mark_counts counts = {0};
	int r = 0;

	if (p->mark_count)
		qsort(p->marks, p->mark_count, sizeof(*p->marks), by_process);
	if (p->join)
		r = copy_stored(p);
	for (size_t i = 0, next; i < p->mark_count && r == 0; i = next) {
		_cleanup_mark_log_ struct mark_log log = {0};
		uint64_t id = p->marks[i].file.process_id, last = 0;

		for (next = i; next < p->mark_count && p->marks[next].file.process_id == id;
		     next++) {
			const struct import_mark *m = &p->marks[next];

			if (r == 0 && (next == i || m->file.file_id != last))
				r = mark_log_add(&log, p->mark_scratch, m->at, m->size);
			last = m->file.file_id;
		}
		if (r == 0)
			r = add_regions(p, id, &log, &counts);
	}
	warn(p, &counts);
	return r < 0 ? import_reading_failed(p, r, "marks") : 0;
}
