/* The table of personalities, and our own; see personalities.h. */
#include "cmd/personalities.h"

#include <string.h>

#include "cmd/command.h"

#define PERSONALITY(symbol) extern const struct personality personality_##symbol;
#include "cmd/personalities.def"
#undef PERSONALITY

static const struct personality *const personalities[] = {
#define PERSONALITY(symbol) &personality_##symbol,
#include "cmd/personalities.def"
#undef PERSONALITY
	NULL,
};

const struct personality *personality_find(const char *name)
{
	for (const struct personality *const *p = personalities; *p; p++)
		if (!strcmp((*p)->name, name))
			return *p;
	return NULL;
}

static int run_plimsoll(struct context *ctx, int argc, char **argv)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (argc < 2) {
		program_help(&text);
		fwrite(text.buf, 1, text.len, stderr);
		return EXIT_USAGE;
	}
	const char *word = argv[1];
	if (!strcmp(word, "-h") || !strcmp(word, "--help"))
		word = "help";
	if (!strcmp(word, "-V") || !strcmp(word, "--version"))
		word = "version";
	const struct command *c = command_find(word);
	if (c)
		return command_execute(c, ctx, argc - 1, argv + 1);
	return unknown_command(word);
}

const struct personality personality_plimsoll = {
	.name = "plimsoll",
	.run = run_plimsoll,
	.problems_after_options = true,
	.daemons_log_more = true,
	.follows_session = true,
	.shell_prefix = "plimsoll",
	.variable_prefix = "PLIMSOLL",
};
