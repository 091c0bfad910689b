/* plimsoll tag: tags of a job in the store. */
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
	if (store_tag(s, job, tags, replace) < 0) {
		log_error("job %s is not tagged: %s", jobid, store_error(s));
		return EXIT_FAILED;
	}
	return EXIT_OK;
}

static int run(struct context *ctx, int argc, char **argv)
{
	const struct tag_options *o = ctx->options;
	_cleanup_value_ struct value *tags = value_new(VALUE_DICT);

	if (argc < 1 || (argc < 2 && !o->clear))
		return usage_error("tag", "tag needs a job and at least one KEY:VALUE%s",
				   o->replace ? "; --clear forgets all tags" : "");
	for (int i = 1; i < argc; i++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		_cleanup_value_ struct value *one = tags_parse_all(argv[i], &why);

		for (size_t k = 0; one && k < value_pairs(one); k++) {
			const char *key = value_key(one, k)->str.data;
			_cleanup_free_ char *meant = strchr(argv[i], ':') ? NULL : tags_meant(key);

			if (!value_at(one, k)->str.size)
				strbuf_addf(&why, "tag '%s' has no value", key);
			else if (meant)
				strbuf_addf(&why, "'%s' is no KEY:VALUE: write '%s'", key, meant);
			value_set(tags, key, value_ref(value_at(one, k)));
		}
		if (why.len)
			return usage_error("tag", "%s; nothing is changed", why.buf);
	}
	mask_notes(tags, "tag");
	return tag(ctx, argv[0], tags, o->replace || o->clear);
}

const struct command command_tag = {
	.name = "tag",
	.summary = "set tags of a job in the store",
	.arguments = "JOB KEY:VALUE...",
	.description =
		"Sets tags of a job that was submitted; a key that is there gets the new value.\n\n"
		"JOB is a job id (ID@START or ID@CLUSTER where several have it), the beginning of only one, a name, or last for the job that was stored last.",
	.examples = "  plimsoll tag 685000 campaign:1864 reviewed:yes\n",
	.options =
		(const struct option_row[]){
			{OPT_FLAG, 0, "replace", NULL, "forget the tags that were there",
			 AT(struct tag_options, replace)},
			{OPT_FLAG, 0, "clear", NULL, "the same, where there need be no new ones",
			 AT(struct tag_options, clear)},
			ROW_DB,
			ROW_VERBOSE,
			ROW_QUIET,
			ROW_END,
		},
	.options_size = sizeof(struct tag_options),
	.run = run,
};
