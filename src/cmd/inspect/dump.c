/* plimsoll dump: prints the metadata of a job. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/actions.h"
#include "context/job_argument.h"
#include "core/text/text.h"
#include "jobs/metadata_file.h"
#include "store/job_admin.h"
#include "store/job_metadata.h"
#include "store/query.h"

/* Tags, annotations and analyses may have changed since the metadata was written. */
static int put_notes(struct store *s, int64_t job, struct value *meta)
{
	_cleanup_value_ struct value *tags = NULL, *annotations = NULL, *analyses = NULL;
	const char *where = metadata_layout(meta)->keys[KEY_TAGS][0];
	int r = store_load_notes(s, job, &tags, &annotations);

	if (r >= 0)
		r = store_load_analyses(s, job, &analyses);
	if (r < 0)
		return r;
	if (value_pairs(analyses) || value_get(meta, "analyses"))
		value_set(meta, "analyses", value_ref(analyses));
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
	int r = jobmeta_load(s, job, ret, &reason);

	if (r >= 0)
		r = r ? put_notes(s, job, *ret) : -ENOENT;
	if (r < 0)
		strbuf_addf(why, "cannot read the metadata of job '%s': %s", name,
			    reason.len     ? reason.buf
			    : s->error.len ? store_error(s)
					   : "it has none");
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
		r = job_path_metadata(ctx, name, ret, &why);
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
	_cleanup_job_directory_ struct job_directory j = JOB_DIRECTORY_INIT;

	int r = job_open_current(ctx, &j, true);
	if (r < 0)
		return r;
	r = job_directory_read_meta(&j, ret, NULL, &why);
	if (r < 0)
		log_error("%s",
			  r == -ENOENT ? "the job has no metadata; run `start` first" : why.buf);
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
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	const struct value *v = value_get(meta, o->key);

	if (!v)
		return fail_with(EXIT_FAILED, "the metadata has no key '%s'", o->key);
	if (o->json) {
		value_to_json(v, &j, NULL);
		json_write(&j, stdout);
		return EXIT_OK;
	}
	print_value(ctx, v, &text);
	puts(text.buf);
	return EXIT_OK;
}

static int print_all(struct context *ctx, const struct dump_options *o, struct value *meta)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	value_sort(meta);
	if (o->json) {
		j.pretty = true;
		value_to_json(meta, &j, NULL);
		return json_write(&j, stdout) < 0 ? EXIT_FAILED : EXIT_OK;
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
	{OPT_TEXT, 'k', "key", "KEY", "print only the value of this key",
	 AT(struct dump_options, key)},
	ROW_JSON(struct dump_options),
	ROWS_STORE,
};

const struct command command_dump = {
	.name = "dump",
	.summary = "print the metadata of a job",
	.operands = {"JOB|DIRECTORY|ARCHIVE|FILE", 0, ANY_NUMBER, HELP_JOB},
	.description =
		"Prints the metadata of a job sorted by key: from a job directory, a staged archive, a "
		"metadata file of any layout, or from the store by id or name. A file that is not a "
		"job does not hide a stored job of that name. Without an argument, prints the metadata "
		"of the current job, else of the last one. Pickles are read without executing anything "
		"in them.",
	.examples = "  plimsoll dump\n  plimsoll dump -k tags 685000.tgz\n",
	OPTIONS(struct dump_options, rows),
	.run = run,
};
