/* See annotate.h. */
#include "context/annotate.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "codecs/archive.h"
#include "context/current_job.h"
#include "context/job_argument.h"
#include "core/files/fs.h"
#include "jobs/metadata.h"
#include "jobs/metadata_file.h"
#include "jobs/tags.h"
#include "store/job_admin.h"

/* Any value of JSON; NULL: it is not one. */
static struct value *json_value(const char *s)
{
	_cleanup_free_ char *wrapped = xasprintf("[%s]", s);
	_cleanup_value_ struct value *list = NULL;

	if (value_from_json(wrapped, strlen(wrapped), &list, NULL) < 0 || list->list.count != 1)
		return NULL;
	return value_ref(list->list.items[0]);
}

/* Integers, True, False and None keep their meaning, everything else is text. */
static struct value *value_of(const char *s, bool json)
{
	int64_t number;

	if (json)
		return json_value(s);
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

/* Nothing is changed unless all pairs are valid. */
static bool pair_is_good(const char *pair, bool json, struct strbuf *why)
{
	const char *equals = strchr(pair, '=');
	_cleanup_value_ struct value *parsed = json && equals ? json_value(equals + 1) : NULL;

	if (!equals || equals == pair || strspn(pair, " \t\r\n") >= (size_t)(equals - pair)) {
		strbuf_addf(why, "'%s' is not KEY=VALUE", pair);
		return false;
	}
	if (!equals[1]) {
		strbuf_addf(why, "'%s' has no value; write KEY=None for an annotation without one",
			    pair);
		return false;
	}
	if (json && !parsed) {
		strbuf_addf(why, "the value of '%s' is not JSON", pair);
		return false;
	}
	if (!sets_tags(pair))
		return true;
	if (parsed && parsed->kind != VALUE_STR) {
		strbuf_addf(why, "tags are a text, not '%s'", equals + 1);
		return false;
	}
	_cleanup_value_ struct value *tags =
		tags_parse_all(parsed ? parsed->str.data : equals + 1, why);
	return tags != NULL;
}

/* The annotations to make, KEY=VALUE. */
struct notes {
	bool replace, json;
	char *const *pairs;
	int count;
};

static void apply(struct value *meta, const struct notes *n)
{
	if (n->replace)
		value_set(meta, "annotations", value_new(VALUE_DICT));
	_cleanup_value_ struct value *fresh = value_new(VALUE_DICT);
	struct value *notes = meta_annotations(meta);
	for (int i = 0; i < n->count; i++) {
		const char *pair = n->pairs[i], *text = strchr(pair, '=') + 1;
		_cleanup_free_ char *key = xstrndup(pair, (size_t)(text - 1 - pair));

		value_set(fresh, key, value_of(text, n->json));
		if (sets_tags(pair)) {
			struct value *tags =
				tags_parse(n->json ? value_get_str(fresh, key) : text, NULL);

			(void)notes_mask(tags);
			meta_set_tags(meta, tags);
		}
	}
	mask_notes(fresh, "annotation");
	for (size_t i = 0; i < value_pairs(fresh); i++)
		value_set(notes, value_key(fresh, i)->str.data, value_ref(value_at(fresh, i)));
}

static int annotate_directory(struct job_directory *j, const struct notes *n)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *meta = NULL;
	_cleanup_close_ int lock = job_directory_lock(j);
	bool stopped = false;

	int r = job_directory_read_meta(j, &meta, &stopped, &why);
	if (r < 0)
		return fail_with(r, "%s",
				 r == -ENOENT ? "the job has no metadata; run `start` first"
					      : why.buf);
	apply(meta, n);
	r = job_directory_write_meta(j, meta, stopped);
	if (r < 0)
		log_error("cannot write the metadata in '%s': %s", j->path, strerror(-r));
	return r;
}

/* ---- archives ------------------------------------------------------------------------------- */

struct copying {
	const struct archive_functions *a;
	struct archive_writer *out;
	const struct notes *notes;
	bool found;
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

/* Copies a member, adding the annotations to the metadata. */
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
		apply(meta, c->notes);
		job_layout_of_file(path_base(m->name))->format->write(meta, &fresh);
		c->found = true;
	}
	const struct strbuf *content = c->found && meta ? &fresh : &text;
	return c->a->add(c->out, name, m->mode, content->buf, content->len, -1, c->why);
}

static int rewrite(const struct archive_functions *a, int from, int to, const struct notes *n,
		   struct strbuf *why)
{
	struct copying c = {a, a->create(to, why), n, false, why};

	if (!c.out)
		return -EIO;
	int r = a->read(from, copy_member, &c, why);
	if (r == 0 && !c.found) {
		_cleanup_free_ char *names = metadata_names();

		strbuf_addf(why, "the archive contains no metadata of a job (%s)", names);
		r = -ENOENT;
	}
	if (r < 0) {
		a->abandon(c.out);
		return r;
	}
	return a->finish(c.out, why);
}

static int annotate_archive(const char *path, const struct notes *n)
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
		r = rewrite(a, from, to, n, &why);
	/* the old archive stays until the new one is complete */
	if (r == 0)
		r = fs_sync(to);
	if (r == 0 && rename(aside, path) < 0)
		r = -errno;
	if (r == 0)
		(void)fs_sync_parent(path);
	if (r < 0) {
		if (to >= 0)
			(void)unlink(aside);
		log_error("cannot annotate '%s': %s", path, why.len ? why.buf : strerror(-r));
	}
	return r;
}

/* ---- the store ------------------------------------------------------------------------------ */

/* Uses temporary metadata, so that annotations mean the same wherever the job is. */
static int annotate_stored(struct context *ctx, const char *jobid, const struct notes *n)
{
	_cleanup_value_ struct value *meta = value_new(VALUE_DICT);
	_cleanup_store_ struct store *s = NULL;

	int r = open_store(ctx, STORE_WRITE, &s);
	if (r < 0)
		return r;
	int64_t job = find_stored_job(s, jobid);
	if (job < 0)
		return -ENOENT;
	apply(meta, n);
	r = store_annotate(s, job, meta_annotations(meta), n->replace);
	if (r == 0 && value_get(meta, "tags"))
		r = store_tag(s, job, value_get(meta, "tags"), true);
	if (r < 0)
		log_error("cannot annotate job %s: %s", jobid, store_error(s));
	return r;
}

/* ---- where the job is ----------------------------------------------------------------------- */

/* A file or directory that is not a job may have the name of a stored one: *is_path becomes false.
 */
static int check_target(struct context *ctx, const char *target, bool *is_path)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *meta = NULL;
	_cleanup_store_ struct store *s = NULL;
	int64_t job;
	int r = 0;

	if (*is_path)
		r = job_path_metadata(ctx, target, &meta, &why);
	else if (looks_like_path(target)) {
		strbuf_addf(&why, "'%s' does not exist", target);
		r = -ENOENT;
	}
	if (r < 0 && *is_path && !ctx->personality->paths_only) {
		*is_path = false;
		r = job_argument_instead(ctx, target, &s, &job, &why);
	}
	if (r < 0)
		log_error("%s", why.buf);
	return r;
}

static int annotate_target(struct context *ctx, const char *target, const struct notes *n)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_job_directory_ struct job_directory j = JOB_DIRECTORY_INIT;
	struct stat st;
	bool is_path = target && stat(target, &st) == 0;
	int r = target ? check_target(ctx, target, &is_path) : job_open_current(ctx, &j, false);

	if (r < 0)
		return r;
	if (target && !is_path)
		return annotate_stored(ctx, target, n);
	if (target && !S_ISDIR(st.st_mode))
		return annotate_archive(target, n);
	if (target &&
	    (r = job_directory_open_path(&j, &ctx->config, target, NULL, false, &why)) < 0)
		log_error("%s", why.buf);
	return r < 0 ? r : annotate_directory(&j, n);
}

int do_annotate(struct context *ctx, const struct annotate_options *o, int argc, char **argv)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	const char *target = argc && !strchr(argv[0], '=') ? argv[0] : NULL;
	const struct notes n = {.replace = o->replace || o->clear,
				.json = o->json,
				.pairs = argv + (target != NULL),
				.count = argc - (target != NULL)};

	for (int i = 0; i < n.count; i++)
		if (!pair_is_good(n.pairs[i], n.json, &why)) {
			int status = usage_error("annotate", "annotate: %s; nothing was changed",
						 why.buf);

			return ctx->personality->bad_value_fails ? EXIT_FAILED : status;
		}
	if (!n.count && !o->clear)
		return fail_with(EXIT_FAILED, "annotate: missing KEY=VALUE");
	return annotate_target(ctx, target, &n) < 0 ? EXIT_FAILED : EXIT_OK;
}
