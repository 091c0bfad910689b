/* See job_records.h. */
#include "context/job_records.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codecs/archive.h"
#include "context/current_job.h"
#include "context/job_argument.h"
#include "core/files/fs.h"
#include "records/record_digest.h"
#include "store/ingest/job_parts.h"
#include "store/query.h"

/* ---- archives ------------------------------------------------------------------------------- */

struct extracting {
	struct accounting *b;
	struct strbuf *why;
};

static int extract(void *user, const struct archive_member *m)
{
	struct extracting *x = user;
	char buf[65536];
	ssize_t n = 0;

	if (!str_suffix(m->name, ".rec"))
		return 0;
	int fd = fs_scratch_file();
	if (fd < 0)
		return fd;
	while ((n = m->read(m, buf, sizeof(buf))) > 0)
		if (write(fd, buf, (size_t)n) != n) {
			n = -ENOSPC;
			break;
		}
	if (n < 0) {
		close(fd);
		return (int)n;
	}
	_cleanup_free_ char *dir = xstrdup(m->name);
	char *slash = strrchr(dir, '/');
	if (slash)
		*slash = 0;
	return accounting_add(x->b, fd, m->name, slash ? path_base(dir) : NULL);
}

static int load_archive(const char *path, struct accounting *b, struct strbuf *why)
{
	const struct archive_functions *a = archive_module(why);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct extracting x = {b, why};

	if (!a)
		return -ENOSYS;
	if (fd < 0)
		return -errno;
	return a->read(fd, extract, &x, why);
}

/* ---- jobs ----------------------------------------------------------------------------------- */

static int add_path(struct context *ctx, const char *path, struct accounting *b, struct strbuf *why)
{
	_cleanup_job_directory_ struct job_directory j = JOB_DIRECTORY_INIT;
	struct stat st;
	int r = stat(path, &st) < 0 ? -errno : 0;

	if (r < 0) {
		strbuf_addf(why, "'%s' does not exist", path);
	} else if (S_ISDIR(st.st_mode)) {
		r = job_directory_open_path(&j, &ctx->config, path, NULL, false, why);
		if (r == 0)
			r = job_directory_add_records(&j, b, why);
	} else if (str_suffix(path, ".rec")) {
		int fd = open(path, O_RDONLY | O_CLOEXEC);

		r = fd < 0 ? -errno : accounting_add(b, fd, path_base(path), NULL);
	} else {
		_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;

		r = load_archive(path, b, &reason);
		if (r < 0)
			strbuf_addf(why, "'%s': %s", path, reason.len ? reason.buf : strerror(-r));
	}
	return r;
}

static int no_records(const char *path, struct strbuf *why)
{
	strbuf_addf(why, "'%s' contains no records (*.rec)", path);
	return -ENOENT;
}

/* Drops files that an earlier part already contributed. */
static int drop_known(struct accounting *b, size_t first, struct inventory *known)
{
	int r = 0;

	for (size_t i = first; i < b->file_count && r == 0;) {
		struct record_digest d;

		r = record_file_digest(b->files[i].rec.fd, &d);
		if (r < 0 || !d.records) {
			i++;
		} else if (inventory_find(known, INVENTORY_RECORDS, d.id)) {
			accounting_drop_file(b, i);
		} else {
			inventory_add(known, (struct inventory_file){.kind = INVENTORY_RECORDS,
								     .id = d.id,
								     .count = d.records,
								     .hash = d.hash});
			i++;
		}
	}
	return r;
}

/* Adds the places that the parts of a stored job came from; *gone lists those that are missing. */
static int add_sources(struct context *ctx, const struct value *sources, struct accounting *b,
		       struct strbuf *gone, struct strbuf *why)
{
	_cleanup_inventory_ struct inventory known = {0};
	int r = 0;

	for (size_t i = 0; i < sources->list.count && r == 0; i++) {
		const char *path = sources->list.items[i]->str.data;
		size_t before = b->file_count;

		if (access(path, F_OK) < 0) {
			strbuf_addf(gone, "%s'%s'", gone->len ? ", " : "", path);
			continue;
		}
		r = add_path(ctx, path, b, why);
		if (r == 0 && sources->list.count > 1)
			r = drop_known(b, before, &known);
	}
	return r;
}

/* Adds the records of a stored job from where it was recorded; *whole is false if some are gone. */
static int add_stored(struct context *ctx, struct store *s, int64_t job, struct accounting *b,
		      bool *whole, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf gone = STRBUF_INIT;
	_cleanup_free_ char *id = job_id_of(s, job);
	size_t unknown;
	_cleanup_value_ struct value *sources = parts_sources(s, job, &unknown);

	if (!sources || !id)
		return -EIO;
	int r = add_sources(ctx, sources, b, &gone, why);
	if (r < 0)
		return r;
	if (!b->file_count && !gone.len && sources->list.count)
		return no_records(sources->list.items[0]->str.data, why);
	if (!b->file_count) {
		strbuf_addf(why,
			    "the records of job %s were in %s, which is gone; `plimsoll procs %s` "
			    "lists what is stored",
			    id, gone.len ? gone.buf : "an unknown place", id);
		return -ENOENT;
	}
	*whole = !gone.len && !unknown;
	if (gone.len)
		log_error("job %s has more records, which were in %s and are gone; `plimsoll procs "
			  "%s` lists what is stored",
			  id, gone.buf, id);
	if (unknown)
		log_error("job %s has %zu part%s from an unknown place; `plimsoll procs %s` lists "
			  "what is stored",
			  id, unknown, plural(unknown, "", "s"), id);
	return 0;
}

/* Adds a path, else a stored job, whose origin the store knows. */
static int add_named(struct context *ctx, const char *name, struct accounting *b, bool *whole,
		     struct strbuf *why)
{
	_cleanup_store_ struct store *s = NULL;
	int64_t job;
	int r = add_path(ctx, name, b, why);

	if (r == 0 && b->file_count)
		return 0;
	if (r == 0)
		(void)no_records(name, why);
	bool threads = b->keep_threads;
	accounting_release(b);
	accounting_init(b);
	b->keep_threads = threads;
	r = job_argument_instead(ctx, name, &s, &job, why);
	return r < 0 ? r : add_stored(ctx, s, job, b, whole, why);
}

int job_records_add(struct context *ctx, const char *name, struct accounting *b, bool *whole,
		    struct strbuf *why)
{
	_cleanup_job_directory_ struct job_directory j = JOB_DIRECTORY_INIT;

	if (name)
		return add_named(ctx, name, b, whole, why);
	int r = job_open_current(ctx, &j, true);
	if (r == 0)
		r = job_directory_add_records(&j, b, why);
	if (r == 0 && !b->file_count) {
		strbuf_addstr(why, "the job contains no records (*.rec)");
		r = -ENOENT;
	}
	return r;
}
