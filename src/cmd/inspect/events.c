/* plimsoll events: what can be counted here, and why the rest cannot. */
#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/inspect/events_groups.h"
#include "core/text/json_writer.h"
#include "core/text/terminal_table.h"
#include "sources/counters/events.h"

struct events_options {
	bool json, test, groups, check_groups, available;
	const char *arch, *group_files, *kinds;
};

static bool take_kinds(struct context *ctx, const char *value, struct strbuf *why PL_UNUSED)
{
	struct events_options *o = ctx->options;

	for (const char *p = value; *p; p += strcspn(p, ","), p += *p == ',') {
		size_t n = strcspn(p, ",");

		if (n != 6 || (strncmp(p, "kernel", n) != 0 && strncmp(p, "preset", n) != 0 &&
			       strncmp(p, "native", n) != 0))
			return false;
	}
	o->kinds = value;
	return *value;
}

static const struct terminal_table_column columns[] = {
	{"EVENT", 0}, {"KIND", 0}, {"COUNTS", 0}, {"MEANING OR REASON", COLUMN_CUT}};

struct listing {
	struct terminal_table t;
	struct jsonw j;
	bool json, available; /* only what counts here */
	const char *kinds;    /* NULL: all */
	int argc;
	char **argv;
	size_t shown, failed;
};

/* One event: opened, counted, and what came of it. */
static void show(struct listing *l, const char *name, const char *kind, const char *help,
		 const struct event_code *code, const char *unresolved, bool value)
{
	struct event_count c = {.error = ENOENT};
	_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;

	if (code)
		event_try(code, &c);
	if (c.error && l->available)
		return;
	if (c.error && code)
		event_explain(code, c.error, &reason);
	else if (c.error)
		strbuf_addstr(&reason,
			      unresolved ? unresolved : "needs a unit mask: see libpfm4's names");
	l->shown++;
	l->failed += c.error != 0;
	if (l->json) {
		jsonw_begin_object(&l->j, NULL);
		jsonw_str(&l->j, "name", name);
		jsonw_str(&l->j, "kind", kind);
		jsonw_bool(&l->j, "available", !c.error);
		if (!c.error)
			jsonw_u64(&l->j, "value", c.value);
		if (!c.error && c.user_only)
			jsonw_bool(&l->j, "user_mode_only", true);
		if (c.error)
			jsonw_text(&l->j, "reason", reason.buf, reason.len);
		if (help)
			jsonw_str(&l->j, "help", help);
		jsonw_end_object(&l->j);
		return;
	}
	terminal_table_row(&l->t, c.error ? 0 : 'g');
	terminal_table_cell(&l->t, 0, name);
	terminal_table_cell(&l->t, 1, kind);
	if (!c.error && value)
		terminal_table_cellf(&l->t, 2, "%llu%s", (unsigned long long)c.value,
				     c.user_only ? " (user mode)" : "");
	else
		terminal_table_cell(&l->t, 2,
				    c.error       ? "no"
				    : c.user_only ? "in user mode"
						  : "yes");
	terminal_table_cell(&l->t, 3, c.error ? reason.buf : help ? help : "");
}

/* A dash is an underscore, as everywhere where events are named; not in [a-z] of a pattern. */
static bool matches(const char *pattern, const char *name)
{
	bool whole = strpbrk(pattern, "*?[") != NULL;
	_cleanup_free_ char *p = whole ? xstrdup(pattern) : xasprintf("*%s*", pattern);
	_cleanup_free_ char *n = xstrdup(name);

	if (!strchr(p, '['))
		for (char *both[] = {p, n, NULL}, **text = both; *text; text++)
			for (char *at = *text; (at = strchr(at, '-'));)
				*at = '_';
	return fnmatch(p, n, FNM_CASEFOLD) == 0;
}

static void list_one(void *user, const char *name, const char *kind, const char *help,
		     const struct event_code *code)
{
	struct listing *l = user;
	bool wanted = l->argc == 0;

	if (l->kinds && !strstr(l->kinds, kind))
		return;
	for (int i = 0; i < l->argc; i++)
		wanted |= matches(l->argv[i], name);
	if (wanted)
		show(l, name, kind, help, code, NULL, false);
}

static void test_named(struct listing *l)
{
	for (int i = 0; i < l->argc; i++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		struct event_code code;
		int r = event_resolve(l->argv[i], &code, &why);

		show(l, l->argv[i], r < 0 ? "unknown" : code.kind, NULL, r < 0 ? NULL : &code,
		     why.buf, true);
	}
}

static int run_groups(const struct events_options *o, int argc)
{
	if (argc || o->test)
		return usage_error("events", "events: groups are listed and checked as a whole");
	/* names of other machines' events, too */
	setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
	return o->check_groups ? events_check_groups(o->group_files, o->json)
			       : events_list_groups(o->group_files, o->arch, o->json);
}

static int run(struct context *ctx, int argc, char **argv)
{
	const struct events_options *o = ctx->options;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct listing l = {.j = JSONW_INIT,
			    .json = o->json,
			    .available = o->available && !o->test,
			    .kinds = o->kinds,
			    .argc = argc,
			    .argv = argv};

	if (o->groups || o->arch || o->check_groups)
		return run_groups(o, argc);
	if (o->test && !argc)
		return usage_error("events", "events --test needs the names of events");
	terminal_table_init(&l.t, columns, ARRAY_SIZE(columns));
	l.j.pretty = true;
	jsonw_begin_array(&l.j, NULL);
	if (o->test)
		test_named(&l);
	else
		events_list(list_one, &l, &why);
	jsonw_end_array(&l.j);
	if (o->json)
		jsonw_write(&l.j, stdout);
	else
		terminal_table_print(&l.t, stdout);
	terminal_table_release(&l.t);
	jsonw_release(&l.j);
	if (why.len)
		log_warn("events of the CPU are not listed: %s", why.buf);
	if (!l.shown)
		log_error("no event matches");
	return !l.shown || (o->test && l.failed) ? EXIT_FAILED : EXIT_OK;
}

static const struct option_row rows[] = {
	{OPT_FLAG, 't', "test", NULL, "count each named event once, over a short piece of work",
	 AT(struct events_options, test)},
	{OPT_FLAG, 'a', "available", NULL, "list only those that count here",
	 AT(struct events_options, available)},
	{OPT_CALL, 'k', "kind", "KIND,...",
	 "list only these kinds; preset: PAPI's, native: libpfm4's", .call = take_kinds,
	 WORDS({"kernel", 0}, {"preset", 0}, {"native", 0})},
	{OPT_FLAG, 'g', "groups", NULL,
	 "list the groups of events for this CPU, and the values made of them",
	 AT(struct events_options, groups)},
	{OPT_TEXT, 0, "arch", "NAME", "list those of another microarchitecture, such as zen3",
	 AT(struct events_options, arch)},
	{OPT_FLAG, 0, "check-groups", NULL,
	 "read all files of groups, and encode their events for the CPUs that they are for",
	 AT(struct events_options, check_groups)},
	{OPT_TEXT, 0, "group-files", "DIR", "where the files of groups are",
	 AT(struct events_options, group_files)},
	ROW_JSON(struct events_options),
	ROW_VERBOSE,
	ROW_QUIET,
	ROW_END,
};

const struct command command_events = {
	.name = "events",
	.summary = "list the events that can be counted here",
	.arguments = "[PATTERN...]",
	.description =
		"Lists the kernel's own events, PAPI's presets and libpfm4's names for this CPU. Each is really "
		"opened; for those that do not open the reason is given, and the remedy where there is one. A "
		"pattern without * matches anywhere in the name.\n\n"
		"With --test the named events are counted once each; the exit status is 1 when one is not "
		"counted.\n\n"
		"With --groups the groups of events are listed that `plimsoll monitor` counts for a job "
		"on this CPU (`--source counters=GROUP,GROUP`), with the formulas of the values that are "
		"made of them. They are files, share/plimsoll/events/MICROARCHITECTURE.groups; --check-groups "
		"reads all of them and encodes every event, a line a group, and the exit status is 1 when "
		"one is wrong.\n\n"
		"papi_avail, papi_native_avail, showevtinfo (lists), papi_command_line and check_events "
		"(--test) are names of this command, for those who know the tools of PAPI and libpfm4.",
	.examples =
		"  plimsoll events CYC\n  plimsoll events --test PERF_COUNT_SW_CPU_CLOCK PAPI_TOT_CYC\n"
		"  plimsoll events --available --kind preset\n  plimsoll events --groups\n  plimsoll events --arch zen3 --json\n",
	.options = rows,
	.options_size = sizeof(struct events_options),
	.run = run,
};
