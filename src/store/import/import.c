/* Jobs from directories and archives; see import.h. */
#include "store/import/import.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codecs/archive.h"
#include "core/files/fs.h"
#include "core/text/text.h"
#include "jobs/job_directory.h"
#include "jobs/job_files.h"
#include "jobs/metadata.h"
#include "jobs/metadata_file.h"
#include "jobs/scheduler.h"
#include "store/import/import_internal.h"
#include "store/ingest/ingest_accounting.h"
#include "tables/hdf5/hdf5_file.h"

#define PIECE (256u << 10)

#define IMPORTER(symbol, ...) extern const struct importer importer_##symbol;
#include "store/import/importers.def"
#undef IMPORTER

static const struct importer *const importers[] = {
#define IMPORTER(symbol, ...) &importer_##symbol,
#include "store/import/importers.def"
#undef IMPORTER
	NULL,
};

/* The importer of a file by its name, or NULL. */
static const struct importer *importer_of(const char *base)
{
	for (const struct importer *const *i = importers; *i; i++)
		if ((*i)->is_name(base))
			return *i;
	return NULL;
}

void import_result_release(struct import_result *r)
{
	free(r->jobid);
	free(r->foreign);
	strbuf_release(&r->details);
}

int import_fail(struct import *p, int error, const char *name, const char *text)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	strbuf_add(&why, p->why->buf, p->why->len);
	strbuf_reset(p->why);
	strbuf_addf(p->why, "'%s': %s", name, text ? text : why.len ? why.buf : strerror(-error));
	return error;
}

/* ---- metadata ------------------------------------------------------------------------------- */

/* Our ids become directories, and are checked as by `run`. Other tools take any text; we refuse
 * control characters. */
static int check_id(struct import *p, bool native, const char *name)
{
	_cleanup_strbuf_ struct strbuf shown = STRBUF_INIT;
	const char *id = p->meta.jobid;

	text_add_printable(&shown, id, strlen(id));
	if (native ? job_id_valid(id) : !strcmp(shown.buf, id))
		return 0;
	_cleanup_free_ char *text = xasprintf(
		"invalid job id '%s': %s", shown.buf,
		native ? "use at most 128 printable characters, without slashes, blanks and a leading dot"
		       : "it has control characters");
	jobmeta_release(&p->meta);
	return import_fail(p, -EINVAL, name, text);
}

/* Other tools store the whole environment, and annotations may contain anything. */
static void mask_secrets(const struct value *meta)
{
	const char *key;

	(void)notes_mask(value_get(meta, "annotations"));
	for (size_t i = 0; (key = metadata_key(KEY_TAGS, i)); i++)
		(void)notes_mask(value_get(meta, key));
	for (size_t i = 0; (key = metadata_key(KEY_ENVIRONMENT, i)); i++)
		environment_mask(value_get(meta, key));
	for (size_t i = 0; (key = metadata_key(KEY_ENVIRONMENT_END, i)); i++)
		environment_mask(value_get(meta, key));
}

int import_take_meta(struct import *p, const struct value *meta, const char *name)
{
	mask_secrets(meta);
	int r = jobmeta_from(&p->meta, meta, p->why);
	if (r < 0)
		return import_fail(p, r, name, NULL);
	r = check_id(p, part_is_native(meta), name);
	if (r < 0)
		return r;
	p->has_meta = true;
	if (p->meta.odd_times)
		ingest_warn(
			p->in,
			"ignored an impossible time in the metadata, or an end before the start");
	if (p->meta.odd_exitcode)
		ingest_warn(p->in, "ignored an invalid exit status in the metadata");
	if (p->o->owner && p->meta.user && strcmp(p->o->owner, p->meta.user) != 0)
		return strbuf_fail(p->why, -EPERM,
				   "the metadata name user '%s', but the file belongs to '%s'",
				   p->meta.user, p->o->owner);
	import_take_limits(p, meta);
	p->own = value_copy_dict(meta);
	/* without a user it is the owner's, so that it cannot become part of another user's job */
	if (p->o->owner && !p->meta.user) {
		p->meta.user = xstrdup(p->o->owner);
		value_set(p->own, "user", value_str(p->o->owner));
	}
	p->result->jobid = xstrdup(p->meta.jobid);
	return part_is_native(meta) ? 0 : import_meet(p);
}

/* An archive holds one job, in the directory of the first metadata. */
static bool is_of_another_job(struct import *p, const char *name)
{
	size_t n = (size_t)(path_base(name) - name);

	if (!p->job_dir)
		p->job_dir = xstrndup(name, n);
	return strlen(p->job_dir) != n || strncmp(p->job_dir, name, n) != 0;
}

static int take_meta(struct import *p, const char *data, size_t n, const char *name)
{
	_cleanup_value_ struct value *meta = NULL;

	if (is_of_another_job(p, name))
		return import_fail(p, -EBADMSG, name,
				   "the archive contains a second job; submit them one by one");
	if (p->has_meta)
		return 0;
	int r = meta_parse(data, n, &meta, p->why);
	if (r < 0)
		return import_fail(p, r, name, NULL);
	if (!part_is_native(meta))
		return p->pending ? 0 : import_take_meta(p, meta, name);
	/* a later member of the same name is newer */
	value_free(p->pending);
	p->pending = meta;
	meta = NULL;
	return 0;
}

/* After all of an archive was read. */
static int take_pending(struct import *p, const char *path)
{
	int r = p->pending ? import_take_meta(p, p->pending, path) : 0;

	if (r == 0 && p->pending)
		r = import_meet(p);
	if (r == 0)
		import_take_runs(p);
	return r;
}

/* ---- reading bytes ------------------------------------------------------------------- */

ssize_t import_read_piece(const struct bytes *b, void *buf, size_t n)
{
	if (b->member)
		return b->member->read(b->member, buf, n);
	ssize_t got = read(b->fd, buf, n);
	return got < 0 ? -errno : got;
}

/* The message of the store goes first. */
int import_reading_failed(struct import *p, int error, const char *name)
{
	if (!p->why->len && p->store && p->store->error.len)
		return import_fail(p, error, name, store_error(p->store));
	return import_fail(p, error, name, p->why->len ? NULL : strerror(-error));
}

int import_copy_to_scratch(struct import *p, const struct bytes *from, const char *name)
{
	_cleanup_free_ char *piece = xmalloc(PIECE);
	int fd = fs_scratch_file();
	ssize_t n;

	if (fd < 0)
		return import_fail(p, fd, name, "no room for a temporary file");
	while ((n = import_read_piece(from, piece, PIECE)) > 0)
		if (write(fd, piece, (size_t)n) != n) {
			n = -ENOSPC;
			break;
		}
	if (n < 0) {
		close(fd);
		return import_reading_failed(p, (int)n, name);
	}
	(void)lseek(fd, 0, SEEK_SET);
	return fd;
}

/* ---- any file ------------------------------------------------------------------------------- */

/* Samples wait for the metadata, which tell what the store has already. */
static int take_sample_member(struct import *p, const struct bytes *from, const char *name)
{
	int fd = import_copy_to_scratch(p, from, name);

	if (fd < 0 || p->has_meta)
		return fd < 0 ? fd : import_take_samples(p, fd, name);
	GROW(p->waiting, p->waiting_count, p->waiting_cap);
	p->waiting[p->waiting_count++] = (struct waiting){xstrdup(name), fd};
	return 0;
}

static int take_waiting_samples(struct import *p)
{
	int r = 0;

	for (size_t i = 0; i < p->waiting_count && r == 0; i++) {
		int fd = p->waiting[i].fd;

		p->waiting[i].fd = -1;
		r = import_take_samples(p, fd, p->waiting[i].name);
	}
	return r;
}

static int take_records(struct import *p, const struct bytes *from, const char *name)
{
	_cleanup_free_ char *dir = xstrdup(name);
	char *slash = strrchr(dir, '/');
	int fd = import_copy_to_scratch(p, from, name);

	if (fd < 0)
		return fd;
	if (slash)
		*slash = 0;
	p->record_files++;
	return accounting_add(&p->accounting, fd, name, slash ? path_base(dir) : NULL);
}

static int read_text(struct import *p, const struct bytes *from, const char *name,
		     struct strbuf *text)
{
	char piece[65536];
	ssize_t n;

	while ((n = import_read_piece(from, piece, sizeof(piece))) > 0) {
		strbuf_add(text, piece, (size_t)n);
		if (text->len > META_FILE_MAX)
			return import_fail(p, -EFBIG, name, "is too large for metadata");
	}
	return n < 0 ? import_reading_failed(p, (int)n, name) : 0;
}

static int take_meta_file(struct import *p, const struct bytes *from, const char *name)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	int r = read_text(p, from, name, &text);

	return r < 0 ? r : take_meta(p, text.buf, text.len, name);
}

/* Unreadable metadata of a run do not prevent storing its records. */
static int take_run_file(struct import *p, const struct bytes *from, const char *name)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
	_cleanup_value_ struct value *metadata = NULL;
	int r = read_text(p, from, name, &text);

	if (r == 0 && value_from_json(text.buf, text.len, &metadata, &why) == 0)
		import_add_run(p, value_ref(metadata));
	return r;
}

static int take_file(struct import *p, const struct bytes *from, const char *name)
{
	const char *base = path_base(name);

	if (meta_is_name(base))
		return take_meta_file(p, from, name);
	if (str_suffix(name, ".smp"))
		return take_sample_member(p, from, name);
	if (str_suffix(name, ".mark") && !p->foreign_files)
		return import_take_marks(p, from, name);
	if (str_suffix(name, ".rec") && !p->foreign_files)
		return take_records(p, from, name);
	if (str_suffix(name, ".json") && strchr(name, '/') && !p->foreign_files)
		return take_run_file(p, from, name);
	const struct importer *i = p->importer ? p->importer : importer_of(base);
	if (p->record_files || !i || !i->is_name(base))
		return 0;
	p->importer = i;
	return i->take(p, from, name);
}

static int visit_member(void *user, const struct archive_member *m)
{
	const struct bytes from = {.member = m, .fd = -1};
	struct import *p = user;

	if (!p->result->foreign && !job_file_is_ours(m->name))
		p->result->foreign = xstrdup(m->name);
	int r = take_file(p, &from, m->name);

	p->named = r < 0;
	return r;
}

static int read_archive(struct import *p, const char *path)
{
	const struct archive_functions *a = archive_module(p->why);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (!a)
		return -ENOSYS;
	if (fd < 0)
		return import_fail(p, -errno, path, strerror(errno));
	int r = a->read(fd, visit_member, p, p->why);
	if (r < 0 && !p->named && r != -ESTALE)
		return import_fail(p, r, path, NULL);
	if (r == 0 && p->importer && p->importer->end_archive)
		r = p->importer->end_archive(p, path);
	return r < 0 ? r : take_pending(p, path);
}

/* ---- directories ---------------------------------------------------------------------------- */

static int is_input_name(const struct dirent *d)
{
	return importer_of(d->d_name) != NULL;
}

static bool goes_first(const char *name)
{
	const struct importer *i = importer_of(name);

	return i->goes_first && i->goes_first(name);
}

static int by_turn(const struct dirent **a, const struct dirent **b)
{
	int x = goes_first((*a)->d_name), y = goes_first((*b)->d_name);

	return x != y ? y - x : strcmp((*a)->d_name, (*b)->d_name);
}

static int read_foreign_directory(struct import *p, int dir)
{
	struct dirent **entries = NULL;
	int n = scandirat(dir, ".", &entries, is_input_name, by_turn);
	int r = n < 0 ? -errno : 0;

	for (int i = 0; i < n; i++) {
		_cleanup_close_ int fd = -1;

		if (r == 0) {
			fd = openat(dir, entries[i]->d_name,
				    O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
			const struct bytes from = {.fd = fd};

			r = fd < 0 ? import_fail(p, -errno, entries[i]->d_name, strerror(errno))
				   : take_file(p, &from, entries[i]->d_name);
		}
		free(entries[i]);
	}
	free(entries);
	return r;
}

static int read_directory(struct import *p, const struct config *c, const char *path)
{
	_cleanup_job_directory_ struct job_directory j = JOB_DIRECTORY_INIT;
	_cleanup_value_ struct value *meta = NULL;
	bool stopped = false;

	int r = job_directory_open_path(&j, c, path, NULL, false, p->why);
	/* a run that ends meanwhile writes its end and that of the job */
	_cleanup_close_ int lock = r == 0 ? job_directory_lock_shared(&j) : -1;
	if (r == 0)
		r = job_directory_read_meta(&j, &meta, &stopped, p->why);
	if (r == -ENOENT && j.fd >= 0) {
		int e = import_take_sampled(p, path);

		if (e <= 0)
			return e;
		/* for a view, sample files without metadata are enough */
		if (p->o->running && (e = import_take_bare_samples(p, &j, path)) <= 0)
			return e;
	}
	if (r == -ENOENT && !p->why->len)
		strbuf_addstr(p->why, "no metadata of a job in it; `plimsoll start` creates them");
	if (r < 0)
		return import_fail(p, r, path, NULL);
	if (p->o->meta) {
		value_free(meta);
		meta = value_ref(p->o->meta);
		stopped = true;
	}
	r = job_directory_add_records(&j, &p->accounting, p->why);
	if (r == 0)
		r = job_directory_visit_marks(&j, import_visit_marks, p, p->why);
	if (r < 0)
		return import_fail(p, r, path, NULL);
	_cleanup_value_ struct value *runs = job_directory_runs(&j);
	close_fd(&lock);
	if (!stopped && !p->o->running && !import_was_cut_off(&j, meta, runs))
		return strbuf_fail(p->why, -EBUSY,
				   "'%s': the job has not been stopped; run `plimsoll stop`, with "
				   "-o and this directory if another job is the current one (a "
				   "`run` that was killed counts as ended half a minute later)",
				   path);
	r = import_take_meta(p, meta, path);
	if (r < 0)
		return r;
	for (size_t i = 0; i < runs->list.count; i++)
		import_add_run(p, value_ref(runs->list.items[i]));
	if (part_is_native(meta) && p->store && identity_exists(p->store, p->meta.jobid) > 0)
		r = job_directory_visit_samples(&j, JOB_DIRECTORY_ALL, import_scan_samples, p,
						p->why);
	if (r < 0)
		return import_fail(p, r, path, NULL);
	r = part_is_native(meta) ? import_meet(p) : 0;
	if (r < 0)
		return r;
	import_take_runs(p);
	r = job_directory_visit_samples(&j, JOB_DIRECTORY_ALL, import_take_samples, p, p->why);
	if (r < 0)
		return import_reading_failed(p, r, path);
	p->record_files = p->accounting.file_count;
	return p->record_files ? 0 : read_foreign_directory(p, j.fd);
}

static int submit_accounting(struct import *p, const char *path)
{
	int r;

	p->format = "plimsoll";
	p->accounting.keep_threads = true;
	r = p->o->joined && accounting_reuse(&p->accounting, p->o->joined)
		    ? 0
		    : accounting_load(&p->accounting, p->why);
	if (r < 0)
		return import_fail(p, r, path, NULL);
	accounting_find_running(&p->accounting);
	p->record_files = p->accounting.file_count;
	import_find_exit(p);
	import_compare_accounting(p);
	r = ingest_accounting(p->in, &p->accounting,
			      p->join ? (struct ingest_others){p->join->rows, p->join->last_file}
				      : (struct ingest_others){0});
	return r < 0 ? import_reading_failed(p, r, path) : 0;
}

/* ---- all of it ------------------------------------------------------------------------------ */

void import_describe(struct import *p)
{
	const struct ingest_result *s = &p->result->sums;
	_cleanup_strbuf_ struct strbuf first = STRBUF_INIT, last = STRBUF_INIT;

	text_add_time(&first, (int64_t)s->earliest_us, false);
	text_add_time(&last, (int64_t)s->latest_us, false);
	size_t files = p->foreign_files + p->record_files + (size_t)p->result->samples.files;
	strbuf_addf(&p->result->details, "%zu %s, %zu %s\n", files, plural(files, "file", "files"),
		    s->hosts, plural(s->hosts, "host", "hosts"));
	ingest_describe(p->in, &p->result->details);
	if (p->result->samples.files)
		strbuf_addf(&p->result->details, "%llu %s of %llu series in %llu %s\n",
			    (unsigned long long)p->result->samples.values,
			    plural(p->result->samples.values, "sample", "samples"),
			    (unsigned long long)p->result->samples.series,
			    (unsigned long long)p->result->samples.readings,
			    plural(p->result->samples.readings, "tick", "ticks"));
	if (p->result->phases)
		strbuf_addf(&p->result->details, "%zu %s\n", p->result->phases,
			    plural(p->result->phases, "phase", "phases"));
	strbuf_addf(&p->result->details,
		    "earliest start %s\nlatest end %s\nduration %.6f s\n"
		    "%llu %s, %llu %s, %llu %s\n%s\n",
		    first.buf, last.buf, (double)(s->latest_us - s->earliest_us) / 1e6,
		    (unsigned long long)s->processes, plural(s->processes, "process", "processes"),
		    (unsigned long long)s->images, plural(s->images, "image", "images"),
		    (unsigned long long)s->threads, plural(s->threads, "thread", "threads"),
		    p->store ? "committed" : "dry run, nothing stored");
}

static int submit(struct import *p, const struct config *c, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0) {
		_cleanup_free_ char *lies = job_directory_find(c, path);

		strbuf_addf(p->why, "no such file or directory: '%s'", path);
		if (lies)
			strbuf_addf(p->why, "; job %s is in '%s'", path, lies);
		return -ENOENT;
	}
	int r = ingest_begin(&p->in, p->store, p->why);
	if (r == 0)
		r = S_ISDIR(st.st_mode)        ? read_directory(p, c, path)
		    : str_suffix(path, ".smp") ? import_take_sample_file(p, path)
					       : read_archive(p, path);
	if (r == 0 && p->importer)
		r = p->importer->finish(p);
	if (r == 0 && !p->has_meta) {
		_cleanup_free_ char *names = metadata_names();

		r = strbuf_fail(p->why, -EBADMSG, "'%s': no metadata of a job (%s) in it", path,
				names);
	}
	if (r == 0)
		r = take_waiting_samples(p);
	if (r == 0 && p->record_files)
		r = submit_accounting(p, path);
	if (r == 0 && p->join && (r = part_rows_feed(p->join->rows, NULL)) < 0)
		(void)import_reading_failed(p, r, path);
	if (r == 0)
		r = import_finish_marks(p);
	if (r == 0)
		r = import_finish_samples(p);
	if (r == 0)
		r = import_finish(p, p->o->source ? p->o->source : path);
	if (r == 0)
		import_describe(p);
	return r;
}

void import_begin(struct import *p)
{
	*p->result = (struct import_result){.details = STRBUF_INIT};
	p->mark_scratch = -1;
	accounting_init(&p->accounting);
}

void import_end(struct import *p)
{
	sample_ingest_free(p->samples);
	ingest_free(p->in);
	accounting_release(&p->accounting);
	value_free(p->metadata);
	value_free(p->own);
	value_free(p->pending);
	value_free(p->runs);
	value_free(p->dropped);
	inventory_release(&p->files);
	part_join_free(p->join);
	free(p->job_dir);
	if (p->has_meta)
		jobmeta_release(&p->meta);
	for (size_t i = 0; i < p->waiting_count; i++) {
		free(p->waiting[i].name);
		close_fd(&p->waiting[i].fd);
	}
	free(p->waiting);
	import_marks_release(p);
	if (p->importer)
		p->importer->release(p);
}

int import_submit(const struct config *c, struct store *s, const char *path,
		  const struct import_options *o, struct import_result *ret, struct strbuf *why)
{
	bool aside = s && s->staged;
	int r = -ESTALE;

	for (int i = 0; r == -ESTALE && i < IMPORT_TRIES_MAX; i++) {
		struct import p = {.o = o, .store = s, .result = ret, .why = why};

		if (i) {
			import_result_release(ret);
			strbuf_reset(why);
		}
		if (hdf5_is_file(path)) {
			/* it has many jobs: written directly */
			if (aside)
				(void)store_unstage(s);
			r = import_submit_hdf5(&p, path);
			break;
		}
		import_begin(&p);
		r = submit(&p, c, path);
		import_end(&p);
		/* staged rows cannot replace stored ones */
		if (r == -ESTALE && s && s->staged)
			(void)store_unstage(s);
	}
	if (aside && !s->staged && store_stage(s) < 0 && r == 0)
		r = strbuf_fail(why, -EIO, "%s", store_error(s));
	return r;
}
