/* plimsoll sinks: where a collector can deliver samples. */
#include "cmd/command.h"
#include "sinks/sink.h"
#include "views/listing.h"

struct sinks_options {
	bool json;
};

enum { COMMAND, NAME, TARGET, SINK, HELP };
static const struct listing_column columns[] = {
	[COMMAND] = {"command", NULL, 0}, /* an old key, always "collect" */
	[NAME] = {"name", NULL, 0},       [TARGET] = {"target", NULL, 0},
	[SINK] = {NULL, "SINK", 0},       [HELP] = {"help", "MEANING", COLUMN_WRAP},
};

static int run(struct context *ctx, int argc PL_UNUSED, char **argv PL_UNUSED)
{
	const struct sinks_options *o = ctx->options;
	struct listing l;

	listing_begin(&l, columns, ARRAY_SIZE(columns), o->json);
	for (const struct sink *const *f = sinks; *f; f++) {
		listing_row(&l, 0);
		listing_str(&l, COMMAND, "collect");
		listing_str(&l, NAME, (*f)->name);
		listing_str(&l, TARGET, (*f)->target);
		listing_strf(&l, SINK, "%s:%s", (*f)->name, (*f)->target);
		listing_str(&l, HELP, (*f)->help);
	}
	return listing_end(&l) < 0 ? EXIT_FAILED : EXIT_OK;
}

static const struct option_row rows[] = {ROW_JSON(struct sinks_options), ROW_END};

const struct command command_sinks = {
	.name = "sinks",
	.summary = "list the sinks of a collector",
	.description =
		"Lists where a collector can deliver samples: the values of `plimsoll collect "
		"--sink`.",
	OPTIONS(struct sinks_options, rows),
	.run = run,
};
