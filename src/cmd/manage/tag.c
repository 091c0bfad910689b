/* plimsoll tag: sets tags of a job in the store. */
#include <errno.h>
#include <string.h>

#include "cmd/actions.h"
#include "jobs/metadata.h"
#include "jobs/tags.h"
#include "store/job_admin.h"
#include "store/query.h"

struct tag_options {
	bool replace, clear;
};

static int tag(struct context *ctx, const char *jobid, const struct value *tags, bool replace)
{
	_cleanup_store_ struct store *s = NULL;

	if (open_store(ctx, STORE_WRITE, &s) < 0)
		return EXIT_FAILED;
	int64_t job = find_stored_job(s, jobid);
	if (job < 0)
		return EXIT_FAILED;
	if (store_tag(s, job, tags, replace) < 0)
		return fail_with(EXIT_FAILED, "cannot tag job %s: %s", jobid, store_error(s));
	return EXIT_OK;
}

static int run(struct context *ctx, int argc, char **argv)
{
	const struct tag_options *o = ctx->options;
	_cleanup_value_ struct value *tags = value_new(VALUE_DICT);

	if (argc < 2 && !o->clear)
		return usage_error("tag", "tag: missing KEY:VALUE%s",
				   o->replace ? "; --clear removes all tags" : "");
	for (int i = 1; i < argc; i++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		_cleanup_value_ struct value *one = tags_parse_all(argv[i], &why);

		for (size_t k = 0; one && k < value_pairs(one); k++) {
			const char *key = value_key(one, k)->str.data;
			_cleanup_free_ char *meant =
				strchr(argv[i], ':') ? NULL : tags_suggestion(key);

			if (!value_at(one, k)->str.size)
				strbuf_addf(&why, "tag '%s' has no value", key);
			else if (meant)
				strbuf_addf(&why, "'%s' is not of the form KEY:VALUE; write '%s'",
					    key, meant);
			value_set(tags, key, value_ref(value_at(one, k)));
		}
		if (why.len)
			return usage_error("tag", "%s; nothing was changed", why.buf);
	}
	mask_notes(tags, "tag");
	return tag(ctx, argv[0], tags, o->replace || o->clear);
}

static const struct option_row rows[] = {
	{OPT_FLAG, 0, "replace", NULL, "replace all existing tags",
	 AT(struct tag_options, replace)},
	{OPT_FLAG, 0, "clear", NULL, "like --replace, but new tags are optional",
	 AT(struct tag_options, clear)},
	ROWS_STORE,
};

const struct command command_tag = {
	.name = "tag",
	.summary = "set tags of a job in the store",
	.operands = {"JOB", 1, ANY_NUMBER, HELP_JOB, .usage = "JOB KEY:VALUE..."},
	.description = "Sets tags of a stored job. An existing key gets the new value. "
		       "KEY alone means KEY:1.",
	.examples = "  plimsoll tag 685000 campaign:1864 reviewed:yes\n",
	OPTIONS(struct tag_options, rows),
	.run = run,
};
