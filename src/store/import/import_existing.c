/*
 * A job whose id is in the store already. Whether the store has all of it is proved file by file
 * (part_inventory.h): only then may the caller remove the input.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "store/analysis/job_analyses.h"
#include "store/import/import_internal.h"
#include "store/ingest/ingest_write.h"
#include "store/job_admin.h"

/* ---- the files of the input ----------------------------------------------------------------- */

int import_scan_samples(void *user, int fd, const char *name PL_UNUSED)
{
	struct import *p = user;
	_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;
	struct inventory_file one = {.kind = INVENTORY_SAMPLES};
	bool begun = false;
	struct sample_file f;
	int event;

	/* an invalid sample file is reported when it is read */
	if (sample_file_open(&f, fd, &ignored) < 0)
		return 0;
	while ((event = sample_file_next(&f)) > 0) {
		if (event == SAMPLE_READING)
			one.count++;
		if (event != SAMPLE_HEAD)
			continue;
		if (begun)
			inventory_add(&p->files, one);
		one.id = sample_ingest_session(&f.head);
		one.count = 0;
		begun = true;
	}
	if (begun)
		inventory_add(&p->files, one);
	sample_file_close(&f);
	return event;
}

static int scan_files(struct import *p)
{
	int r = 0;

	for (size_t i = 0; i < p->accounting.file_count && r == 0; i++) {
		struct record_digest d;

		r = record_file_digest(p->accounting.files[i].rec.fd, &d);
		if (r == 0 && d.records)
			inventory_add(&p->files, (struct inventory_file){.kind = INVENTORY_RECORDS,
									 .id = d.id,
									 .count = d.records,
									 .hash = d.hash});
	}
	for (size_t i = 0; i < p->waiting_count && r == 0; i++) {
		int fd = fcntl(p->waiting[i].fd, F_DUPFD_CLOEXEC, 0);

		r = fd < 0 ? -errno : import_scan_samples(p, fd, p->waiting[i].name);
	}
	import_scan_marks(p, &p->files);
	if (r < 0)
		strbuf_addf(p->why,
			    "cannot compare the files of job %s with those in the store: %s",
			    p->meta.jobid, strerror(-r));
	return r;
}

struct value *import_files(const struct import *p)
{
	_cleanup_inventory_ struct inventory inv = {0};
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	uint32_t last = p->join ? p->join->last_file : 0;

	for (size_t i = 0; i < p->accounting.file_count; i++) {
		const struct record_digest *d = &p->accounting.files[i].digest;

		if (d->records)
			inventory_add(&inv,
				      (struct inventory_file){.kind = INVENTORY_RECORDS,
							      .id = d->id,
							      .count = d->records,
							      .hash = d->hash,
							      .rows = last + (uint32_t)i + 1});
	}
	if (p->samples)
		sample_ingest_inventory(p->samples, &inv);
	import_scan_marks(p, &inv);
	inventory_text(&inv, &text);
	return value_strn(text.buf, text.len);
}

/* ---- joining -------------------------------------------------------------------------------- */

/* Records that the store has are not read again, nor the metadata of their runs. */
static void drop_known(struct import *p)
{
	p->dropped = value_new(VALUE_DICT);
	for (size_t i = p->accounting.file_count; i-- > 0;) {
		const char *name = path_base(p->accounting.files[i].name);
		struct record_digest d;

		if (record_file_digest(p->accounting.files[i].rec.fd, &d) < 0 ||
		    !inventory_find(&p->join->had, INVENTORY_RECORDS, d.id) ||
		    inventory_find(&p->join->again, INVENTORY_RECORDS, d.id))
			continue;
		_cleanup_free_ char *run = xstrndup(name, strcspn(name, "."));
		value_set(p->dropped, run, value_bool(true));
		accounting_drop_file(&p->accounting, i);
	}
	p->record_files = p->accounting.file_count;
}

/* The number of the stored job that this one is, or is a part of; 0: none. */
static int64_t find_there(struct import *p)
{
	int64_t there =
		p->store ? identity_find(p->store, &p->meta, p->own, &p->seen, &p->in->nth, p->why)
			 : 0;

	p->result->job = there > 0 ? there : 0;
	return there;
}

int import_meet(struct import *p)
{
	const struct part_coming coming = {p->meta.jobid, p->own, &p->files, p->o->replace};
	struct part_join *before = NULL;
	int64_t there = find_there(p);

	if (there < 0)
		return (int)there;
	if (there > 0) {
		int r = part_is_native(p->own) ? scan_files(p) : 0;

		if (r == 0)
			r = parts_join(&before, p->in, there, &coming, &p->result->proved, p->why);
		if (r < 0)
			return r;
		if (r == 0) {
			p->join = before;
			drop_known(p);
			return 0;
		}
		if (before) {
			import_keep_notes(p, before);
			r = alerts_move(p->store, there, ingest_number(p->in));
		}
		part_join_free(before);
		there = r < 0 ? r : store_delete_job(p->store, there);
	}
	if (there < 0)
		strbuf_addstr(p->why, store_error(p->store));
	return there < 0 ? (int)there : 0;
}

static bool same_sums(struct store *s, int64_t job, const struct import_result *r)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		s,
		"SELECT j.num_procs, j.processes, j.num_threads, j.cpu_us, "
		"coalesce(j.start_us, 0), coalesce(j.end_us, 0), (SELECT coalesce(sum(v.count), "
		"0) FROM sample_series v WHERE v.job = j.no) FROM job j WHERE j.no = $1",
		db_int(job));
	const int64_t want[] = {(int64_t)r->sums.images,   (int64_t)r->sums.processes,
				(int64_t)r->sums.threads,  (int64_t)r->sums.cpu_us,
				r->sums.start_us,          r->sums.end_us,
				(int64_t)r->samples.values};

	bool same = st && stmt_step(st) == 1;
	for (size_t i = 0; i < ARRAY_SIZE(want) && same; i++)
		same = stmt_get_int(st, (int)i) == want[i];
	return same;
}

bool import_is_stored(const struct config *c, struct store *s, const char *path,
		      const struct import_options *o, const struct import_result *got)
{
	_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;
	struct import_result read;

	if (got->proved || !got->job)
		return got->proved;
	int r = import_submit(c, NULL, path, o, &read, &ignored);
	bool same = r == 0 && same_sums(s, got->job, &read);
	import_result_release(&read);
	return same;
}
