/* plimsoll sinks: the output formats of records, and where a collector can deliver samples. */
#include "cmd/command.h"
#include "sinks/sink.h"
#include "views/listing.h"
#include "views/rows/row_writer.h"

struct sinks_options {
	bool json;
};

enum { COMMAND, NAME, TARGET, SINK, HELP };
static const struct listing_column columns[] = {
	[COMMAND] = {"command", "COMMAND", 0},
	[NAME] = {"name", NULL, 0},
	[TARGET] = {"target", NULL, 0},
	[SINK] = {NULL, "SINK", 0},
	[HELP] = {"help", "MEANING", COLUMN_WRAP},
};

static void add(struct listing *l, const char *command, const char *name, const char *target,
		const char *help)
{
	listing_row(l, 0);
	listing_str(l, COMMAND, command);
	listing_str(l, NAME, name);
	if (target)
		listing_str(l, TARGET, target);
	listing_strf(l, SINK, "%s%s%s", name, target ? ":" : "", target ? target : "");
	listing_str(l, HELP, help);
}

static int run(struct context *ctx, int argc PL_UNUSED, char **argv PL_UNUSED)
{
	const struct sinks_options *o = ctx->options;
	struct listing l;

	listing_begin(&l, columns, ARRAY_SIZE(columns), o->json);
	for (const struct row_writer *const *s = row_writers; *s; s++)
		add(&l, "records", (*s)->name, NULL, (*s)->help);
	for (const struct sink *const *f = sinks; *f; f++)
		add(&l, "collect", (*f)->name, (*f)->target, (*f)->help);
	return listing_end(&l) < 0 ? EXIT_FAILED : EXIT_OK;
}

static const struct option_row rows[] = {ROW_JSON(struct sinks_options), ROW_END};

const struct command command_sinks = {
	.name = "sinks",
	.summary = "list the formats of records and the sinks of a collector",
	.description = "Lists the values of `plimsoll records --format` and of `plimsoll collect "
		       "--sink`.",
	OPTIONS(struct sinks_options, rows),
	.run = run,
};
