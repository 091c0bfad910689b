/* plimsoll dump: the metadata of a job, from a directory, an archive or a file. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/actions.h"
#include "context/job_argument.h"
#include "core/text/text.h"
#include "jobs/metadata_file.h"
#include "store/job_admin.h"
#include "store/query.h"

static int read_path(struct context *ctx, const char *path, struct value **ret, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;
	_cleanup_jobdir_ struct jobdir j = JOBDIR_INIT;
	struct stat st;
	int r;

	if (stat(path, &st) < 0) {
		strbuf_addf(why, "there is no '%s'", path);
		return -errno;
	}
	if (S_ISDIR(st.st_mode)) {
		r = jobdir_open_path(&j, &ctx->config, path, NULL, false, why);
		if (r == 0)
			r = jobdir_read_meta(&j, ret, NULL, why);
		_cleanup_free_ char *names = metadata_names();

		if (r == -ENOENT && !why->len)
			strbuf_addf(why, "'%s' holds no job: no metadata in it (%s)", path, names);
		return r;
	}
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	r = fd < 0 ? -errno : meta_from_file(fd, ret, &reason);
	if (r < 0)
		strbuf_addf(why, "'%s': %s", path, reason.len ? reason.buf : strerror(-r));
	return r;
}

/* Tags and annotations are what people made of them since the metadata were written. */
static int put_notes(struct store *s, int64_t job, struct value *meta)
{
	_cleanup_value_ struct value *tags = NULL, *annotations = NULL;
	const char *where = metadata_layout(meta)->keys[KEY_TAGS][0];
	int r = store_load_notes(s, job, &tags, &annotations);

	if (r < 0)
		return r;
	if (value_pairs(tags) || value_get(meta, where))
		value_set(meta, where, value_ref(tags));
	if (value_pairs(annotations) || value_get(meta, "annotations"))
		value_set(meta, "annotations", value_ref(annotations));
	return 0;
}

/* The metadata of a job of the store. */
static int read_stored(struct store *s, const char *name, int64_t job, struct value **ret,
		       struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;
	_cleanup_stmt_ struct stmt *st =
		stmt_prepare(s, "SELECT json FROM job_meta WHERE job = $1");
	size_t n;

	if (st)
		stmt_int(st, 1, job);
	int r = st ? stmt_step(st) : -EIO;
	const char *text = r == 1 ? stmt_get_text(st, 0, &n) : NULL;
	if (r >= 0)
		r = text ? value_from_json(text, n, ret, &reason) : -ENOENT;
	if (r == 0)
		r = put_notes(s, job, *ret);
	if (r < 0)
		strbuf_addf(why, "cannot read the metadata of job '%s': %s", name,
			    reason.len     ? reason.buf
			    : s->error.len ? store_error(s)
					   : "there are none");
	return r;
}

static int read_named(struct context *ctx, const char *name, struct value **ret)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_store_ struct store *s = NULL;
	struct stat st;
	int64_t job = 0;
	int r;

	if (looks_like_path(name) || ctx->personality->paths_only || stat(name, &st) == 0) {
		r = read_path(ctx, name, ret, &why);
		if (r < 0 && !ctx->personality->paths_only)
			r = job_argument_instead(ctx, name, &s, &job, &why);
	} else {
		r = try_store(ctx, STORE_READ, &s, &why);
		if (r == 0)
			r = job_find(s, name, &job, &why);
	}
	if (r == 0 && job)
		r = read_stored(s, name, job, ret, &why);
	if (r < 0)
		log_error("%s", why.buf);
	return r;
}

static int read_current(struct context *ctx, struct value **ret)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_jobdir_ struct jobdir j = JOBDIR_INIT;

	int r = job_open_current(ctx, &j, true);
	if (r < 0)
		return r;
	r = jobdir_read_meta(&j, ret, NULL, &why);
	if (r < 0)
		log_error("%s",
			  r == -ENOENT ? "the job has no metadata: `start` comes first" : why.buf);
	return r;
}

void make_safe(struct strbuf *text)
{
	_cleanup_strbuf_ struct strbuf raw = STRBUF_INIT;

	if (!isatty(STDOUT_FILENO))
		return;
	strbuf_add(&raw, text->buf, text->len);
	strbuf_reset(text);
	text_add_printable(text, raw.buf, raw.len);
}

static void print_value(const struct context *ctx, const struct value *v, struct strbuf *out)
{
	(ctx->personality->add_value ? ctx->personality->add_value : value_to_text)(v, out);
	make_safe(out);
}

static int print_key(struct context *ctx, const struct dump_options *o, const struct value *meta)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;
	const struct value *v = value_get(meta, o->key);

	if (!v) {
		log_error("there is no key '%s'", o->key);
		return EXIT_FAILED;
	}
	if (o->json) {
		value_to_json(v, &j, NULL);
		jsonw_write(&j, stdout);
		return EXIT_OK;
	}
	print_value(ctx, v, &text);
	puts(text.buf);
	return EXIT_OK;
}

static int print_all(struct context *ctx, const struct dump_options *o, struct value *meta)
{
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;

	value_sort(meta);
	if (o->json) {
		j.pretty = true;
		value_to_json(meta, &j, NULL);
		return jsonw_write(&j, stdout) < 0 ? EXIT_FAILED : EXIT_OK;
	}
	for (size_t i = 0; i < value_pairs(meta); i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, key = STRBUF_INIT;

		value_to_text(value_key(meta, i), &key);
		make_safe(&key);
		print_value(ctx, value_at(meta, i), &text);
		if (ctx->personality->print_pair)
			ctx->personality->print_pair(key.buf, text.buf);
		else
			printf("%-20s %s\n", key.buf, text.buf);
	}
	return EXIT_OK;
}

int do_dump(struct context *ctx, const struct dump_options *o, int argc, char **argv)
{
	int status = EXIT_OK;

	for (int i = 0; i < (argc ? argc : 1); i++) {
		_cleanup_value_ struct value *meta = NULL;
		int r = argc ? read_named(ctx, argv[i], &meta) : read_current(ctx, &meta);

		if (r < 0) {
			status = EXIT_FAILED;
			continue;
		}
		int s = o->key ? print_key(ctx, o, meta) : print_all(ctx, o, meta);
		if (s != EXIT_OK)
			status = s;
	}
	if (fflush(stdout) != 0) {
		log_error("cannot write: %s", strerror(errno));
		status = EXIT_FAILED;
	}
	return status;
}

static int run(struct context *ctx, int argc, char **argv)
{
	return do_dump(ctx, ctx->options, argc, argv);
}

static const struct option_row rows[] = {
	{OPT_TEXT, 'k', "key", "KEY", "only the value of this key", AT(struct dump_options, key)},
	ROW_JSON(struct dump_options),
	ROW_DB,
	ROW_VERBOSE,
	ROW_QUIET,
	ROW_END,
};

const struct command command_dump = {
	.name = "dump",
	.summary = "print the metadata of a job",
	.arguments = "[JOB|DIRECTORY|ARCHIVE|FILE...]",
	.description =
		"Prints what is known of a job beside its processes, sorted by key: from a job directory, "
		"a staged archive, a metadata file of any layout, or from the store by its id or name, also where a file "
		"that is no job has that name. Without an argument: of the current "
		"job, else of the last one. Pickles are read without executing anything in them.\n\n"
		"JOB is a job id (ID@START or ID@CLUSTER where several have it), the beginning of only one, a name, or last for the job that was stored last.",
	.examples = "  plimsoll dump\n  plimsoll dump -k tags 685000.tgz\n",
	.options = rows,
	.options_size = sizeof(struct dump_options),
	.run = run,
};
