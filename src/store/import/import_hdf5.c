/*
 * Importing HDF5 files of a collector. A file has many jobs: each is stored by itself, those that
 * are stored already are skipped, and the result is the sum.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "store/import/import_internal.h"
#include "store/ingest/merge_streamed.h"
#include "tables/hdf5/hdf5_file.h"

#define NAMES_MAX 200 /* bytes of the list of jobs that is shown */

struct submitting {
	struct import *p; /* whose result is the sum */
	const char *path;
	size_t stored, there, named;
	struct strbuf
		unsure; /* why some were not stored: it is unclear whether the store has them */
	struct strbuf names;
};

static void add_name(struct submitting *s, const char *job)
{
	if (s->names.len + strlen(job) > NAMES_MAX)
		return;
	strbuf_addf(&s->names, "%s%s", s->names.len ? "," : "", job);
	s->named++;
}

static void warn_lines(struct ingest *in, const char *lines)
{
	for (const char *end; (end = strchr(lines, '\n')); lines = end + 1)
		ingest_warn(in, "%.*s", (int)(end - lines), lines);
}

/* The collector may also have streamed these samples to the store. */
static int compare_fed(struct import *one)
{
	const struct sample_ingest_result *c = &one->result->samples;
	int r = one->store ? store_compare_fed(one->store, ingest_number(one->in), one->meta.jobid,
					       c->first_us, c->last_us)
			   : 0;

	if (r == -ENOTUNIQ)
		strbuf_addf(
			one->why,
			"job %s is in the store already, from a collector, with a part of these "
			"samples; run `plimsoll delete %s` first to replace it",
			one->meta.jobid, one->meta.jobid);
	else if (r < 0 && r != -EEXIST)
		strbuf_addstr(one->why, store_error(one->store));
	return r;
}

static int store_job(struct import *one, const char *path, const char *job, int fd,
		     const char *warnings)
{
	int r = ingest_begin(&one->in, one->store, one->why);

	one->format = hdf5_jobs_format();
	if (r == 0)
		r = import_take_bare_meta(one, job, path, fd);
	if (r < 0) {
		close(fd);
		return r;
	}
	warn_lines(one->in, warnings);
	r = import_take_samples(one, fd, path);
	if (r == 0)
		r = import_finish_samples(one);
	if (r == 0)
		r = compare_fed(one);
	if (r == 0)
		r = ingest_finish(one->in, &one->meta, one->format,
				  one->o->source ? one->o->source : path, one->o->strict,
				  &one->result->sums, one->why);
	if (r == 0)
		import_describe(one);
	return r;
}

static void add_result(struct import_result *sum, const struct import_result *one, const char *job)
{
	struct ingest_result *a = &sum->sums;
	struct sample_ingest_result *c = &sum->samples;

	if (!a->earliest_us || one->sums.earliest_us < a->earliest_us)
		a->earliest_us = one->sums.earliest_us;
	if (one->sums.latest_us > a->latest_us)
		a->latest_us = one->sums.latest_us;
	a->hosts = one->sums.hosts > a->hosts ? one->sums.hosts : a->hosts;
	c->files += one->samples.files;
	c->readings += one->samples.readings;
	c->series += one->samples.series;
	c->values += one->samples.values;
	if (!c->first_us || one->samples.first_us < c->first_us)
		c->first_us = one->samples.first_us;
	if (one->samples.last_us > c->last_us)
		c->last_us = one->samples.last_us;
	strbuf_addf(&sum->details, "job %s\n", job);
	strbuf_add(&sum->details, one->details.buf, one->details.len);
}

static int try_job(struct submitting *s, const char *job, int fd, const char *warnings)
{
	struct import_result result = {0};
	struct import one = {
		.o = s->p->o, .store = s->p->store, .result = &result, .why = s->p->why};

	strbuf_reset(s->p->why);
	import_begin(&one);
	int r = store_job(&one, s->path, job, fcntl(fd, F_DUPFD_CLOEXEC, 0), warnings);
	if (r == 0) {
		s->stored++;
		add_name(s, job);
		add_result(s->p->result, &result, job);
	} else if (r == -EEXIST) {
		s->there++;
		strbuf_addf(&s->p->result->details, "job %s is in the store already\n", job);
		strbuf_reset(s->p->why);
		r = 0;
	} else if (r == -ENOTUNIQ) {
		if (!s->unsure.len)
			strbuf_add(&s->unsure, s->p->why->buf, s->p->why->len);
		strbuf_addf(&s->p->result->details, "%s\n", s->p->why->buf);
		strbuf_reset(s->p->why);
		r = 0;
	}
	import_end(&one);
	import_result_release(&result);
	return r;
}

static int take_job(void *user, const char *job, int fd, const char *warnings)
{
	int r = -ESTALE;

	for (int i = 0; r == -ESTALE && i < IMPORT_TRIES_MAX; i++)
		r = try_job(user, job, fd, warnings);
	close(fd);
	return r;
}

int import_submit_hdf5(struct import *p, const char *path)
{
	struct submitting s = {.p = p, .path = path, .names = STRBUF_INIT, .unsure = STRBUF_INIT};

	import_begin(p);
	p->result->format = hdf5_jobs_format();
	int r = hdf5_jobs(path, take_job, &s, p->why);
	if (r == 0) {
		r = strbuf_fail(p->why, -EBADMSG, "'%s' contains no jobs (groups named job_1 etc.)",
				path);
	} else if (r > 0 && s.unsure.len) {
		r = strbuf_fail(p->why, -ENOTUNIQ, "'%s': %s", path, s.unsure.buf);
	} else if (r > 0 && !s.stored) {
		if (s.there == 1)
			strbuf_addstr(p->why, "its only job is in the store already");
		else
			strbuf_addf(p->why, "all its %zu jobs are in the store already", s.there);
		r = -EEXIST;
	}
	if (r < 0 && r != -EEXIST && s.stored) {
		strbuf_addf(p->why, "; %zu %s %s stored", s.stored, plural(s.stored, "job", "jobs"),
			    plural(s.stored, "was", "were"));
	}
	if (s.stored > s.named)
		strbuf_addf(&s.names, " and %zu more", s.stored - s.named);
	if (s.stored)
		p->result->jobid = strbuf_take(&s.names);
	strbuf_release(&s.names);
	strbuf_release(&s.unsure);
	import_end(p);
	return r < 0 ? r : 0;
}
