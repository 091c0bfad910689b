/*
 * The archive that EPMT's `stage` would have made of a job: papiex's TSV files if there are any,
 * else all CSV files collated into one, and the metadata.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "compat/epmt/epmt_archive.h"
#include "compat/epmt/papiex/collate.h"
#include "core/files/fs.h"
#include "core/log.h"
#include "core/text/text.h"
#include "jobs/job_directory.h"
#include "jobs/metadata.h"

struct packing {
	struct job_archive *a;
	struct collation csv;
	char *host; /* of the collated file */
	int count;  /* of files */
};

/* A file that EPMT's reader would choke on is put aside, and the job says so. */
static int put_aside(const struct job_archive *a, const char *name, const char *reason)
{
	_cleanup_free_ char *dest = config_path(a->config, SETTING_ERROR_DEST);
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, ignored = STRBUF_INIT;
	_cleanup_value_ struct value *meta = NULL;
	bool stopped;

	if (a->strict) {
		log_error("'%s/%s': %s", a->job->path, name, reason);
		return -EBADMSG;
	}
	int r = fs_read(a->job->fd, name, STRBUF_MAX / 2, &text);
	_cleanup_close_ int dir = r == 0 ? open(dest, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	_cleanup_free_ char *like = xasprintf("%s.error", name), *got = NULL;
	_cleanup_free_ char *aside = xasprintf(".%s.%d.new", name, (int)getpid());
	if (r == 0)
		r = dir < 0 ? -errno : fs_replace_durable(dir, aside, text.buf, text.len, 0600);
	if (r == 0)
		r = fs_move_numbered(dir, aside, dir, like, &got);
	if (r < 0) {
		log_error("cannot put '%s' aside in '%s': %s", name, dest, strerror(-r));
		return r;
	}
	_cleanup_free_ char *to = xasprintf("%s/%s", dest, got);
	log_warn("'%s/%s' is left out, see '%s': %s", a->job->path, name, to, reason);
	if (jobdir_read_meta(a->job, &meta, &stopped, &ignored) == 0) {
		value_set(meta_annotations(meta), "epmt_stage_error", value_str(reason));
		r = jobdir_write_meta(a->job, meta, stopped);
	}
	return r;
}

static int collate(struct packing *p, const char *name)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;

	int r = fs_read(p->a->job->fd, name, STRBUF_MAX / 2, &text);
	if (r < 0)
		return r;
	if (!p->host)
		p->host = papiex_host_of(name);
	r = collation_add(&p->csv, text.buf, text.len, &why);
	return r < 0 ? put_aside(p->a, name, why.buf) : 0;
}

typedef int (*pack_file)(struct packing *p, const char *name);

/* Visible regular files of the job directory with a suffix, in the order of names. */
static int for_files(struct packing *p, const char *suffix, pack_file f)
{
	struct dirent **list = NULL;
	int n = scandirat(p->a->job->fd, ".", &list, NULL, alphasort), r = 0;

	for (int i = 0; i < n; i++) {
		const char *name = list[i]->d_name;

		if (r == 0 && name[0] != '.' && str_suffix(name, suffix))
			r = f(p, name);
		free(list[i]);
	}
	free(list);
	return n < 0 ? -errno : r;
}

static int add_as_is(struct packing *p, const char *name)
{
	return p->a->add_file(p->a, name);
}

static int count_file(struct packing *p, const char *name)
{
	(void)name;
	p->count++;
	return 0;
}

static int add_papiex(struct packing *p)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	int r = for_files(p, ".tsv", count_file);
	if (r < 0 || p->count)
		return r < 0 ? r : for_files(p, ".tsv", add_as_is);
	if (p->a->apart)
		return for_files(p, ".csv", add_as_is);
	r = for_files(p, ".csv", collate);
	if (r < 0 || !p->csv.header.len)
		return r;
	_cleanup_free_ char *name =
		xasprintf("%s-collated-papiex-%s-0.csv", p->host, p->a->job->id);
	collation_write(&p->csv, &text);
	return p->a->add_text(p->a, name, &text);
}

/* EPMT reads the metadata first: they are written last, since put_aside() may change them. */
int epmt_pack(struct job_archive *a)
{
	struct packing p = {.a = a, .csv = COLLATION_INIT};

	int r = add_papiex(&p);
	collation_release(&p.csv);
	free(p.host);
	return r < 0 ? r : a->add_file(a, a->job->layout->metadata);
}
