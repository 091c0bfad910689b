/* plimsoll sources: where samples and exit records come from, and whether each source works. */
#include <errno.h>

#include "cmd/command.h"
#include "sources/source.h"
#include "views/listing.h"

struct sources_options {
	bool json;
	const char *root;
};

enum { NAME, STATE, HELP, USABLE, SAMPLED, DETAIL, REMEDY };
static const struct listing_column columns[] = {
	[NAME] = {"name", "SOURCE", 0},
	[STATE] = {"state", "STATE", 0},
	[HELP] = {"help", "PROVIDES", COLUMN_WRAP},
	[USABLE] = {"usable", NULL, 0},
	[SAMPLED] = {"sampled", NULL, 0},
	[DETAIL] = {"detail", "DETAILS", COLUMN_WRAP},
	[REMEDY] = {"remedy", NULL, 0},
};

static const char *state_word(int r)
{
	return r == 0                        ? "usable"
	       : r == -EACCES || r == -EPERM ? "needs access"
	       : r == -ETIMEDOUT             ? "hangs"
					     : "absent";
}

static int run(struct context *ctx, int argc PL_UNUSED, char **argv PL_UNUSED)
{
	const struct sources_options *o = ctx->options;
	struct source_context sc = {.root = o->root};
	struct listing l;

	listing_begin(&l, columns, ARRAY_SIZE(columns), o->json);
	for (const struct source *const *s = sources; *s; s++) {
		struct source_report report = SOURCE_REPORT_INIT;
		int r = source_probe(*s, &sc, &report);

		listing_row(&l, r == 0 ? 0 : 'y');
		listing_str(&l, NAME, (*s)->name);
		listing_str(&l, STATE, state_word(r));
		listing_str(&l, HELP, (*s)->help);
		listing_bool(&l, USABLE, r == 0);
		listing_bool(&l, SAMPLED, (*s)->open != NULL);
		listing_str(&l, DETAIL, report.detail.buf);
		listing_str(&l, REMEDY, report.remedy);
		strbuf_release(&report.detail);
	}
	return listing_end(&l) < 0 ? EXIT_FAILED : EXIT_OK;
}

static const struct option_row rows[] = {
	{OPT_TEXT, 0, "root", "DIR", "examine a recorded tree instead of this machine",
	 AT(struct sources_options, root)},
	ROW_JSON(struct sources_options),
	ROW_END,
};

const struct command command_sources = {
	.name = "sources",
	.summary = "list the data sources and whether each works here",
	.description = "Lists the sources that Plimsoll reads besides its own records: what each "
		       "provides, and what it lacks on this host. `plimsoll check` says how to "
		       "enable it.",
	OPTIONS(struct sources_options, rows),
	.defaults = &(const struct sources_options){.root = ""},
	.run = run,
};
