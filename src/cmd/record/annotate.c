/* plimsoll annotate: notes on a job, in its directory or inside its archive. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/actions.h"
#include "codecs/archive.h"
#include "context/job_argument.h"
#include "core/files/fs.h"
#include "jobs/metadata.h"
#include "jobs/metadata_file.h"
#include "jobs/tags.h"
#include "store/job_admin.h"

/* A whole number, True, False and None mean themselves, everything else is text. */
static struct value *value_of(const char *s)
{
	int64_t number;

	if (parse_i64(s, &number) == 0)
		return value_int(number);
	if (!strcasecmp(s, "true") || !strcasecmp(s, "false"))
		return value_bool(!strcasecmp(s, "true"));
	if (!strcmp(s, "None"))
		return value_new(VALUE_NONE);
	return value_str(s);
}

static bool sets_tags(const char *pair)
{
	for (const struct job_layout *const *l = job_layouts; *l; l++) {
		size_t n = strlen((*l)->tags_variable);

		if (!strncmp(pair, (*l)->tags_variable, n) && pair[n] == '=')
			return true;
	}
	return false;
}

/* What is wrong with a pair; nothing is changed unless all of them are right. */
static bool pair_is_good(const char *pair, struct strbuf *why)
{
	const char *equals = strchr(pair, '=');

	if (!equals || equals == pair || strspn(pair, " \t\r\n") >= (size_t)(equals - pair)) {
		strbuf_addf(why, "'%s' is not of the form key=value", pair);
		return false;
	}
	if (!equals[1]) {
		strbuf_addf(why, "'%s' has no value; key=None is a note without one", pair);
		return false;
	}
	if (!sets_tags(pair))
		return true;
	_cleanup_value_ struct value *tags = tags_parse_all(equals + 1, why);
	return tags != NULL;
}

static void apply(struct value *meta, bool replace, char *const *pairs, int count)
{
	if (replace)
		value_set(meta, "annotations", value_new(VALUE_DICT));
	_cleanup_value_ struct value *fresh = value_new(VALUE_DICT);
	struct value *notes = meta_annotations(meta);
	for (int i = 0; i < count; i++) {
		size_t n = strcspn(pairs[i], "=");
		_cleanup_free_ char *key = xstrndup(pairs[i], n);
		const char *text = pairs[i] + n + 1;

		value_set(fresh, key, value_of(text));
		if (sets_tags(pairs[i])) {
			struct value *tags = tags_parse(text, NULL);

			(void)notes_mask(tags);
			meta_set_tags(meta, tags);
		}
	}
	mask_notes(fresh, "annotation");
	for (size_t i = 0; i < value_pairs(fresh); i++)
		value_set(notes, value_key(fresh, i)->str.data, value_ref(value_at(fresh, i)));
}

static int annotate_directory(struct jobdir *j, bool replace, char *const *pairs, int count)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *meta = NULL;
	_cleanup_close_ int lock = jobdir_lock(j);
	bool stopped = false;

	int r = jobdir_read_meta(j, &meta, &stopped, &why);
	if (r < 0) {
		log_error("%s",
			  r == -ENOENT ? "the job has no metadata: `start` comes first" : why.buf);
		return r;
	}
	apply(meta, replace, pairs, count);
	r = jobdir_write_meta(j, meta, stopped);
	if (r < 0)
		log_error("cannot write the metadata in '%s': %s", j->path, strerror(-r));
	return r;
}

/* ---- archives ------------------------------------------------------------------------------- */

struct copying {
	const struct archive_functions *a;
	struct archive_writer *out;
	bool replace, found;
	char *const *pairs;
	int count;
	struct strbuf *why;
};

static int read_whole(const struct archive_member *m, struct strbuf *text)
{
	char buf[65536];
	ssize_t n;

	while ((n = m->read(m, buf, sizeof(buf))) > 0)
		strbuf_add(text, buf, (size_t)n);
	return (int)n;
}

/* Every member goes over as it is, the metadata with our notes. */
static int copy_member(void *user, const struct archive_member *m)
{
	struct copying *c = user;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, fresh = STRBUF_INIT;
	_cleanup_free_ char *name = xasprintf("./%s", m->name);
	_cleanup_value_ struct value *meta = NULL;

	if (m->size > STRBUF_MAX / 2)
		return -EFBIG;
	int r = read_whole(m, &text);
	if (r < 0)
		return r;
	if (meta_is_name(path_base(m->name)) && !c->found) {
		r = meta_parse(text.buf, text.len, &meta, c->why);
		if (r < 0)
			return r;
		apply(meta, c->replace, c->pairs, c->count);
		job_layout_of_file(path_base(m->name))->format->write(meta, &fresh);
		c->found = true;
	}
	const struct strbuf *content = c->found && meta ? &fresh : &text;
	return c->a->add(c->out, name, m->mode, content->buf, content->len, -1, c->why);
}

static int rewrite(const struct archive_functions *a, int from, int to, bool replace,
		   char *const *pairs, int count, struct strbuf *why)
{
	struct copying c = {a, a->create(to, why), replace, false, pairs, count, why};

	if (!c.out)
		return -EIO;
	int r = a->read(from, copy_member, &c, why);
	if (r == 0 && !c.found) {
		_cleanup_free_ char *names = metadata_names();

		strbuf_addf(why, "the archive holds no metadata of a job (%s)", names);
		r = -ENOENT;
	}
	if (r < 0) {
		a->abandon(c.out);
		return r;
	}
	return a->finish(c.out, why);
}

static int annotate_archive(const char *path, bool replace, char *const *pairs, int count)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *aside = xasprintf("%s.%d.new", path, (int)getpid());
	_cleanup_close_ int from = open(path, O_RDONLY | O_CLOEXEC), to = -1;
	const struct archive_functions *a = archive_module(&why);
	struct stat st = {0};
	int r = 0;

	if (!a || from < 0 || fstat(from, &st) < 0)
		r = a ? -errno : -ENOSYS;
	if (r == 0 && (to = open(aside, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)) < 0)
		r = -errno;
	if (r == 0)
		fs_keep_rights(to, &st);
	if (r == 0)
		r = rewrite(a, from, to, replace, pairs, count, &why);
	/* the old archive stays until the new one is whole */
	if (r == 0)
		r = fs_sync(to);
	if (r == 0 && rename(aside, path) < 0)
		r = -errno;
	if (r == 0)
		(void)fs_sync_parent(path);
	if (r < 0) {
		if (to >= 0)
			(void)unlink(aside);
		log_error("'%s' is not annotated: %s", path, why.len ? why.buf : strerror(-r));
	}
	return r;
}

/* ---- the store ------------------------------------------------------------------------------ */

/* Goes through metadata of its own, so that notes mean the same wherever the job is. */
static int annotate_stored(struct context *ctx, const char *jobid, bool replace, char *const *pairs,
			   int count)
{
	_cleanup_value_ struct value *meta = value_new(VALUE_DICT);
	_cleanup_store_ struct store *s = NULL;

	int r = open_store(ctx, STORE_WRITE, &s);
	if (r < 0)
		return r;
	int64_t job = find_stored_job(s, jobid);
	if (job < 0)
		return -ENOENT;
	apply(meta, false, pairs, count);
	r = store_annotate(s, job, meta_annotations(meta), replace);
	if (r == 0 && value_get(meta, "tags"))
		r = store_tag(s, job, value_get(meta, "tags"), true);
	if (r < 0)
		log_error("job %s is not annotated: %s", jobid, store_error(s));
	return r;
}

/* ---- command -------------------------------------------------------------------------------- */

/* Has a file or directory metadata that notes can go to? *why: why not. */
static bool holds_job(struct context *ctx, const char *path, bool directory, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;
	_cleanup_value_ struct value *meta = NULL;
	_cleanup_jobdir_ struct jobdir j = JOBDIR_INIT;
	_cleanup_close_ int fd = directory ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	int r;

	if (directory) {
		r = jobdir_open_path(&j, &ctx->config, path, NULL, false, &reason);
		if (r == 0)
			r = jobdir_read_meta(&j, &meta, NULL, &reason);
	} else {
		r = fd < 0 ? -errno : meta_from_file(fd, &meta, &reason);
	}
	if (r == -ENOENT && !reason.len) {
		_cleanup_free_ char *names = metadata_names();

		strbuf_addf(&reason, "it holds no metadata of a job (%s)", names);
	}
	if (r < 0)
		strbuf_addf(why, "'%s' is not annotated: %s", path,
			    reason.len ? reason.buf : strerror(-r));
	return r == 0;
}

int do_annotate(struct context *ctx, const struct annotate_options *o, int argc, char **argv)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	bool replace = o->replace || o->clear;
	_cleanup_jobdir_ struct jobdir j = JOBDIR_INIT;
	const char *target = argc && !strchr(argv[0], '=') ? argv[0] : NULL;
	struct stat st;
	int r;

	argc -= target != NULL;
	argv += target != NULL;
	for (int i = 0; i < argc; i++)
		if (!pair_is_good(argv[i], &why)) {
			int status = usage_error("annotate", "annotate: %s; nothing is changed",
						 why.buf);

			return ctx->personality->bad_value_fails ? EXIT_FAILED : status;
		}
	if (!argc && !o->clear) {
		log_error("annotate needs at least one key=value");
		return EXIT_FAILED;
	}
	bool there = target && stat(target, &st) == 0;
	if (target && !there && looks_like_path(target)) {
		log_error("there is no '%s'", target);
		return EXIT_FAILED;
	}
	if (there && !holds_job(ctx, target, S_ISDIR(st.st_mode), &why)) {
		_cleanup_store_ struct store *s = NULL;
		int64_t job;

		there = false;
		if (ctx->personality->paths_only ||
		    job_argument_instead(ctx, target, &s, &job, &why) < 0) {
			log_error("%s", why.buf);
			return EXIT_FAILED;
		}
	}
	if (there && !S_ISDIR(st.st_mode))
		return annotate_archive(target, replace, argv, argc) < 0 ? EXIT_FAILED : EXIT_OK;
	if (target && !there)
		return annotate_stored(ctx, target, replace, argv, argc) < 0 ? EXIT_FAILED
									     : EXIT_OK;
	if (target) {
		r = jobdir_open_path(&j, &ctx->config, target, NULL, false, &why);
		if (r < 0)
			log_error("%s", why.buf);
	} else {
		r = job_open_current(ctx, &j, false);
	}
	if (r == 0)
		r = annotate_directory(&j, replace, argv, argc);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static int run(struct context *ctx, int argc, char **argv)
{
	return do_annotate(ctx, ctx->options, argc, argv);
}

static const struct option_row rows[] = {
	{OPT_FLAG, 0, "replace", NULL, "forget the annotations that were there",
	 AT(struct annotate_options, replace)},
	{OPT_FLAG, 0, "clear", NULL, "the same, where there need be no new ones",
	 AT(struct annotate_options, clear)},
	ROW_DB,
	ROW_VERBOSE,
	ROW_QUIET,
	ROW_END,
};

const struct command command_annotate = {
	.name = "annotate",
	.summary = "add notes to a job",
	.arguments = "[DIRECTORY|ARCHIVE|JOB] KEY=VALUE...",
	.description =
		"Adds annotations to the metadata of a job, running or stopped, in its directory or inside a "
		"staged archive, which is replaced whole, or to a job in the store. Whole numbers, True, False and None keep their "
		"meaning, everything else is text. The key PLIMSOLL_JOB_TAGS also sets the "
		"job's tags. A pair that is no key=value, or has no value, is refused, and then nothing is "
		"changed.\n\n"
		"JOB is a job id (ID@START or ID@CLUSTER where several have it), the beginning of only one, a name, or last for the job that was stored last.",
	.examples = "  plimsoll annotate model=v3 members=12\n"
		    "  plimsoll annotate 685000.tgz reviewed=True\n"
		    "  plimsoll annotate 685000 reviewed=True      in the store\n",
	.options = rows,
	.options_size = sizeof(struct annotate_options),
	.run = run,
};
