/* Importing samples: of a job of ours, single files, or of another tool. */
#include "store/import/import_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "core/files/fs.h"
#include "samples/sample_file.h"
#include "store/import/sample_importer.h"

#define SAMPLE_IMPORTER(symbol) extern const struct sample_importer sample_importer_##symbol;
#include "store/import/sample_importers.def"
#undef SAMPLE_IMPORTER

static const struct sample_importer *const sample_importers[] = {
#define SAMPLE_IMPORTER(symbol) &sample_importer_##symbol,
#include "store/import/sample_importers.def"
#undef SAMPLE_IMPORTER
	NULL,
};

/* Skips what the store has; if the sampler went on, only that many readings. */
static void skip_known(struct import *p, const struct inventory_file *f)
{
	if (f->kind != INVENTORY_SAMPLES)
		return;
	const struct inventory_file *now = inventory_find(&p->files, f->kind, f->id);
	sample_ingest_skip(p->samples, f->id, now && now->count > f->count ? f->count : 0);
}

/* Continues the series of parts that are in the store. */
static int begin_samples(struct import *p)
{
	_cleanup_value_ struct value *runs = value_new(VALUE_LIST);

	p->samples = sample_ingest_new(p->in);
	for (size_t i = 0; p->join && i < p->join->parts->list.count; i++) {
		const struct value *own = value_get(p->join->parts->list.items[i], "sampled");

		for (size_t k = 0; own && own->kind == VALUE_LIST && k < own->list.count; k++)
			value_append(runs, value_ref(own->list.items[k]));
	}
	for (size_t i = 0; p->join && i < p->join->had.count; i++)
		skip_known(p, &p->join->had.files[i]);
	return p->join ? sample_ingest_resume(p->samples, runs,
					      p->meta.has_end ? p->meta.end_us : INT64_MAX)
		       : 0;
}

/* fd is taken. */
int import_take_samples(void *user, int fd, const char *name)
{
	struct import *p = user;

	int r = p->samples ? 0 : begin_samples(p);
	if (r < 0) {
		close(fd);
		return import_fail(p, r, name, store_error(p->store));
	}
	return sample_ingest_file(p->samples, fd, name, p->why);
}

int import_finish_samples(struct import *p)
{
	/* the sums over samples are needed even if this part has none */
	if (p->join && !p->samples) {
		int r = begin_samples(p);

		if (r < 0)
			return import_fail(p, r, p->meta.jobid, store_error(p->store));
	}
	return p->samples ? sample_ingest_finish(p->samples, &p->result->samples, p->why) : 0;
}

/* The times of readings; only needed if another job has the id. */
static void find_times(int fd, struct identity_times *ret)
{
	_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;
	struct sample_file f;
	int event;

	if (fd < 0 || sample_file_open(&f, fcntl(fd, F_DUPFD_CLOEXEC, 0), &ignored) < 0)
		return;
	while ((event = sample_file_next(&f)) > 0) {
		if (event != SAMPLE_READING)
			continue;
		if (!ret->first_us || f.time_us < ret->first_us)
			ret->first_us = f.time_us;
		if (f.time_us > ret->last_us)
			ret->last_us = f.time_us;
	}
	sample_file_close(&f);
}

int import_take_bare_meta(struct import *p, const char *id, const char *path, int fd)
{
	_cleanup_value_ struct value *meta = value_new(VALUE_DICT);

	value_set(meta, "jobid", value_str(id));
	if (p->store && identity_exists(p->store, id) > 0)
		find_times(fd, &p->seen);
	return import_take_meta(p, meta, path);
}

/* The job id is the one in the file, else the name of the file. */
int import_take_sample_file(struct import *p, const char *path)
{
	_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;
	_cleanup_free_ char *id = NULL;
	struct sample_file f;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return import_fail(p, -errno, path, strerror(errno));
	int r = sample_file_open(&f, fcntl(fd, F_DUPFD_CLOEXEC, 0), &reason);
	if (r < 0) {
		close(fd);
		return import_fail(p, r, path, reason.buf);
	}
	if (sample_file_next(&f) == SAMPLE_HEAD && f.head.job && *f.head.job)
		id = xstrdup(f.head.job);
	sample_file_close(&f);
	r = import_take_bare_meta(p, id ? id : path_base(path), path, fd);
	if (r == 0)
		return import_take_samples(p, fd, path);
	close(fd);
	return r;
}

int import_take_bare_samples(struct import *p, const struct job_directory *j, const char *path)
{
	strbuf_reset(p->why);
	int r = job_directory_visit_samples(j, JOB_DIRECTORY_ALL, import_take_samples, p, p->why);

	if (r < 0)
		return import_reading_failed(p, r, path);
	return p->samples ? import_take_bare_meta(p, j->id, path, -1) : 1;
}

void sampled_job_release(struct sampled_job *j)
{
	value_free(j->meta);
	value_free(j->warnings);
}

/* Converts the tool's files to a sample file first. */
static int take_sampled(struct import *p, const struct sample_importer *i, int dir, const char *id,
			const char *path)
{
	struct sampled_job found;
	int fd = fs_scratch_file();
	int r = -ENOSPC;

	if (fd >= 0) {
		(void)fcntl(fd, F_SETFL, O_APPEND);
		r = i->read(dir, id, fd, &found, p->why);
	}
	if (fd < 0 || r < 0) {
		const char *why = fd < 0 ? "no space for a temporary file" : NULL;

		close_fd(&fd);
		return import_fail(p, r, path, why);
	}
	p->format = i->name;
	for (size_t k = 0; k < found.warnings->list.count; k++)
		ingest_warn(p->in, "%s", found.warnings->list.items[k]->str.data);
	r = import_take_meta(p, found.meta, path);
	sampled_job_release(&found);
	if (r == 0)
		return import_take_samples(p, fd, path);
	close(fd);
	return r;
}

int import_take_sampled(struct import *p, const char *path)
{
	for (const struct sample_importer *const *i = sample_importers; *i; i++) {
		_cleanup_free_ char *id = NULL;
		_cleanup_close_ int dir = (*i)->open(path, &id);

		if (dir >= 0)
			return take_sampled(p, *i, dir, id, path);
	}
	return 1;
}
