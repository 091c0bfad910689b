/* plimsoll records: every image of a job, from its directory or its archive. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/actions.h"
#include "codecs/archive.h"
#include "context/job_argument.h"
#include "core/files/fs.h"
#include "records/record_digest.h"
#include "store/ingest/job_parts.h"
#include "store/query.h"
#include "views/record_rows.h"

struct records_options {
	const char *format; /* name of a row writer */
	bool threads;
};

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

/* ---- command -------------------------------------------------------------------------------- */

static int add_path(struct context *ctx, const char *path, struct accounting *b, struct strbuf *why)
{
	_cleanup_jobdir_ struct jobdir j = JOBDIR_INIT;
	struct stat st;
	int r = stat(path, &st) < 0 ? -errno : 0;

	if (r < 0) {
		strbuf_addf(why, "there is no '%s'", path);
	} else if (S_ISDIR(st.st_mode)) {
		r = jobdir_open_path(&j, &ctx->config, path, NULL, false, why);
		if (r == 0)
			r = jobdir_add_records(&j, b, why);
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

static int hold_none(const char *path, struct strbuf *why)
{
	strbuf_addf(why, "'%s' holds no records (*.rec)", path);
	return -ENOENT;
}

/* Two parts may have come from places that have a file in common. */
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

/* From where the parts of a job of the store came; *gone: what is there no more. */
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

/* A job of the store, where it was recorded: all of it, or as much as is there and whole is
 * false. */
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
		return hold_none(sources->list.items[0]->str.data, why);
	if (!b->file_count) {
		strbuf_addf(why,
			    "the records of job %s were in %s, which is gone: `plimsoll procs %s` "
			    "shows what is stored",
			    id, gone.len ? gone.buf : "a place that was not noted", id);
		return -ENOENT;
	}
	*whole = !gone.len && !unknown;
	if (gone.len)
		log_error("job %s has more records, which were in %s and are gone: `plimsoll procs "
			  "%s` shows what is stored",
			  id, gone.buf, id);
	if (unknown)
		log_error("job %s has %zu part%s that came from a place which was not noted: "
			  "`plimsoll procs %s` shows what is stored",
			  id, unknown, plural(unknown, "", "s"), id);
	return 0;
}

/* By its path, else by its name in the store, which knows where it came from. */
static int add_named(struct context *ctx, const char *name, struct accounting *b, bool *whole,
		     struct strbuf *why)
{
	_cleanup_store_ struct store *s = NULL;
	int64_t job;
	int r = add_path(ctx, name, b, why);

	if (r == 0 && b->file_count)
		return 0;
	if (r == 0)
		(void)hold_none(name, why);
	bool threads = b->keep_threads;
	accounting_release(b);
	accounting_init(b);
	b->keep_threads = threads;
	r = job_argument_instead(ctx, name, &s, &job, why);
	return r < 0 ? r : add_stored(ctx, s, job, b, whole, why);
}

static int add_files(struct context *ctx, const char *name, struct accounting *b, bool *whole,
		     struct strbuf *why)
{
	_cleanup_jobdir_ struct jobdir j = JOBDIR_INIT;

	if (name)
		return add_named(ctx, name, b, whole, why);
	int r = job_open_current(ctx, &j, true);
	if (r == 0)
		r = jobdir_add_records(&j, b, why);
	if (r == 0 && !b->file_count) {
		strbuf_addstr(why, "the job holds no records (*.rec)");
		r = -ENOENT;
	}
	return r;
}

/* Says what was wrong with the files; false when something was. */
static bool report_damage(const struct accounting *b)
{
	bool whole = true;

	for (size_t i = 0; i < b->file_count; i++) {
		const struct record_file_damage *d = &b->files[i].rec.damage;

		if (!d->bytes)
			continue;
		whole = false;
		log_error(
			"%s: damaged at offset %llu: %llu bytes in %u place%s skipped, the rest is shown",
			b->files[i].name, (unsigned long long)d->first_offset,
			(unsigned long long)d->bytes, d->places, plural(d->places, "", "s"));
	}
	return whole;
}

static int run(struct context *ctx, int argc, char **argv)
{
	const struct records_options *o = ctx->options;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct accounting b;

	if (argc > 1)
		return usage_error("records", "records takes one job, directory or archive");
	accounting_init(&b);
	b.keep_threads = o->threads;
	bool whole = true;
	int r = add_files(ctx, argc ? argv[0] : NULL, &b, &whole, &why);
	bool found = r == 0; /* a job that is not there was told of */
	if (r == 0)
		r = accounting_load(&b, &why);
	if (r == 0) {
		accounting_find_running(&b);
		r = rows_write(&b, row_writer_find(o->format), o->threads, stdout);
	}
	if (r == 0 && !report_damage(&b))
		whole = false;
	accounting_release(&b);
	if (r < 0 && (why.len || argc || found))
		log_error("%s", why.len ? why.buf : strerror(-r));
	return r < 0 || !whole ? EXIT_FAILED : EXIT_OK;
}

static const char *writer_name(size_t i)
{
	return row_writers[i] ? row_writers[i]->name : NULL;
}

static const struct option_row rows[] = {
	{OPT_CHOICE, 'f', "format", "FORM", "the form; see `plimsoll sinks`",
	 AT(struct records_options, format), .word_at = writer_name},
	{OPT_FIXED, 0, "jsonl", NULL, "the same as --format=jsonl: one JSON object a line",
	 AT(struct records_options, format), .text = "jsonl"},
	{OPT_FIXED, 0, "json", NULL, "the same as --jsonl", AT(struct records_options, format),
	 .text = "jsonl"},
	{OPT_FIXED, 0, "csv", NULL, "the same as --format=csv", AT(struct records_options, format),
	 .text = "csv"},
	{OPT_FIXED, 0, "tsv", NULL, "the same as --format=tsv", AT(struct records_options, format),
	 .text = "tsv"},
	{OPT_FLAG, 't', "threads", NULL, "the threads of each process too",
	 AT(struct records_options, threads)},
	ROW_DB,
	ROW_VERBOSE,
	ROW_QUIET,
	ROW_END,
};

const struct command command_records = {
	.name = "records",
	.summary = "list every program image of a job with all its counters",
	.arguments = "[DIRECTORY|ARCHIVE|FILE.rec|JOB]",
	.description =
		"Lists, in the order of their start, every program that was executed and every forked copy "
		"that ended without executing one. The names are those of plimsoll-metrics(7); a value that "
		"is not known is absent. `ended` is exit, signal, exec, running or unknown; `source` tells who "
		"knew of it: preload, reaped, taskstats or cn_proc.\n\n"
		"JOB is a job of the store, whose records are read where it was recorded: they are not "
		"in the store. Of a job in several parts those of all of them are read; where one is gone, the rest is shown, what "
		"is missing is named, and the exit status is 1. Without an argument: of the current job, else of the last one. Damaged places in a file are "
		"skipped and reported, and the exit status is 1 then.",
	.examples = "  plimsoll records\n"
		    "  plimsoll records --jsonl job.tgz | jq 'select(.exitsignal == 9)'\n",
	.options = rows,
	.defaults = &(const struct records_options){.format = "table"},
	.options_size = sizeof(struct records_options),
	.run = run,
};
