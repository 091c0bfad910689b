/* plimsoll analyses: prints, sets and removes the analyses of a stored job. */
#include <errno.h>
#include <string.h>

#include "cmd/actions.h"
#include "store/analysis/job_analyses.h"
#include "store/job_admin.h"

#define REMOVE_MAX 64

struct analyses_options {
	bool replace, clear, json;
	struct {
		const char *word[REMOVE_MAX];
		size_t count;
	} remove;
};

/* JSON of any kind; other texts are themselves. */
static struct value *value_of(const char *text)
{
	_cleanup_strbuf_ struct strbuf list = STRBUF_INIT;
	_cleanup_value_ struct value *parsed = NULL;

	strbuf_addf(&list, "[%s]", text);
	if (*text && value_from_json(list.buf, list.len, &parsed, NULL) == 0 &&
	    parsed->list.count == 1)
		return value_ref(parsed->list.items[0]);
	return value_str(text);
}

/* KEY=VALUE...; NULL after reporting an invalid one. */
static struct value *take_pairs(char *const *words, int count)
{
	struct value *pairs = value_new(VALUE_DICT);

	for (int i = 0; i < count; i++) {
		const char *equals = strchr(words[i], '=');

		if (!equals || equals == words[i]) {
			usage_error("analyses",
				    "analyses: '%s' is not KEY=VALUE; nothing was changed",
				    words[i]);
			value_free(pairs);
			return NULL;
		}
		_cleanup_free_ char *key = xstrndup(words[i], (size_t)(equals - words[i]));
		value_set(pairs, key, value_of(equals + 1));
	}
	return pairs;
}

static int print(struct store *s, int64_t job, bool json)
{
	_cleanup_value_ struct value *all = NULL;
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	int r = store_load_analyses(s, job, &all);

	if (r < 0)
		return report_store_error(s, r);
	if (json) {
		j.pretty = true;
		value_to_json(all, &j, NULL);
		return json_write(&j, stdout) < 0 ? EXIT_FAILED : EXIT_OK;
	}
	for (size_t i = 0; i < value_pairs(all); i++) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

		strbuf_addf(&text, "%-20s ", value_key(all, i)->str.data);
		value_to_text(value_at(all, i), &text);
		make_safe(&text);
		puts(text.buf);
	}
	return EXIT_OK;
}

static int change(struct store *s, const struct analyses_options *o, const char *name, int64_t job,
		  const struct value *pairs)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int r = 0;

	for (size_t i = 0; i < o->remove.count && r == 0; i++)
		r = analyses_remove(s, job, o->remove.word[i], &why);
	if (r == 0 && (value_pairs(pairs) || o->clear))
		r = analyses_set(s, job, pairs, o->replace || o->clear, &why);
	return r < 0 ? fail_with(EXIT_FAILED, "job %s: %s", name, why.buf) : EXIT_OK;
}

static int run(struct context *ctx, int argc, char **argv)
{
	const struct analyses_options *o = ctx->options;
	bool changes = argc > 1 || o->clear || o->remove.count;
	_cleanup_value_ struct value *pairs = take_pairs(argv + 1, argc - 1);
	_cleanup_store_ struct store *s = NULL;

	if (!pairs)
		return EXIT_USAGE;
	if (o->replace && argc < 2)
		return usage_error("analyses",
				   "analyses: --replace needs KEY=VALUE; --clear removes "
				   "all of them");
	if (open_store(ctx, changes ? STORE_WRITE : STORE_READ, &s) < 0)
		return EXIT_FAILED;
	int64_t job = find_stored_job(s, argv[0]);
	if (job < 0)
		return EXIT_FAILED;
	return changes ? change(s, o, argv[0], job, pairs) : print(s, job, o->json);
}

static const struct option_row rows[] = {
	{OPT_FLAG, 0, "replace", NULL, "replace all existing analyses",
	 AT(struct analyses_options, replace)},
	{OPT_FLAG, 0, "clear", NULL, "like --replace, but new analyses are optional",
	 AT(struct analyses_options, clear)},
	{OPT_LIST, 0, "remove", "KEY", "remove this analysis; can be repeated",
	 LIST(struct analyses_options, remove.word, remove.count)},
	ROW_JSON(struct analyses_options),
	ROWS_STORE,
};

const struct command command_analyses = {
	.name = "analyses",
	.summary = "print or set what analyses found of a job",
	.operands = {"JOB", 1, ANY_NUMBER, HELP_JOB, .usage = "JOB [KEY=VALUE...]"},
	.description =
		"Prints the analyses of a stored job, by name; `outlier_detection` is that of `plimsoll "
		"analyze` and the daemon. With KEY=VALUE it sets them instead, for analyses of your own: "
		"VALUE is JSON of any kind, or a text. All analyses of a job together have at most 64 "
		"KiB. Removing outlier_detection makes the job count as not analysed.",
	.examples = "plimsoll analyses 685000 --json\n  all of them\n"
		    "plimsoll analyses 685000 roofline='{\"bound\": \"memory\", \"share\": 0.4}'\n"
		    "  one of your own\n"
		    "plimsoll analyses 685000 --remove roofline\n  and without it\n",
	OPTIONS(struct analyses_options, rows),
	.run = run,
};
