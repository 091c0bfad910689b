/*
 * Called as papi_avail, papi_native_avail, papi_command_line, showevtinfo or check_events: the
 * tools of PAPI and libpfm4 by which users of papiex list and try events. All are `plimsoll
 * events`.
 */
#include <string.h>

#include "cmd/command.h"

extern const struct command command_events;

static const struct event_tool {
	const char *name, *option; /* what `events` is given in front */
} tools[] = {
	{"papi_avail", "--kind=preset"}, {"papi_native_avail", "--kind=kernel,native"},
	{"papi_command_line", "--test"}, {"showevtinfo", "--kind=kernel,native"},
	{"check_events", "--test"},
};

static const struct event_tool *find_tool(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++)
		if (!strcmp(tools[i].name, name))
			return &tools[i];
	return NULL;
}

/* papi_avail -e EVENT tells about one event, papi_native_avail -i WORD about those with a word in
 * their names. NULL: the word says nothing. */
static char *translate(const struct event_tool *t, char *word)
{
	static char test[] = "--test";
	bool lists = str_prefix(t->name, "papi_") && strcmp(t->option, "--test") != 0;

	if (lists && !strcmp(word, "-e"))
		return test;
	return lists && !strcmp(word, "-i") ? NULL : word;
}

static int run_event_tool(struct context *ctx, int argc, char **argv)
{
	const struct event_tool *t = find_tool(ctx->program);
	_cleanup_free_ char **words = xcalloc((size_t)argc + 2, sizeof(*words));
	_cleanup_free_ char *option = xstrdup(t->option);
	int n = 0;

	words[n++] = argv[0];
	words[n++] = option;
	for (int i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "-h") || !strcmp(argv[i], "--help"))
			printf("%s is `plimsoll events %s`, and takes its options:\n\n", t->name,
			       t->option);
		words[n] = translate(t, argv[i]);
		n += words[n] != NULL;
	}
	return command_execute(&command_events, ctx, n, words);
}

/* Beyond its options `events` is what it is under our own name. */
#define EVENT_TOOL(symbol)                                \
	const struct personality personality_##symbol = { \
		.name = #symbol,                          \
		.run = run_event_tool,                    \
		.problems_after_options = true,           \
		.daemons_log_more = true,                 \
		.follows_session = true,                  \
		.shell_prefix = "plimsoll",               \
		.variable_prefix = "PLIMSOLL",            \
	}

EVENT_TOOL(papi_avail);
EVENT_TOOL(papi_native_avail);
EVENT_TOOL(papi_command_line);
EVENT_TOOL(showevtinfo);
EVENT_TOOL(check_events);
