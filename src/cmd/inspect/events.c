/* plimsoll events: the events that can be counted on this host, and why others cannot. */
#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "cmd/command.h"
#include "cmd/inspect/events_groups.h"
#include "sources/counters/events.h"
#include "views/listing.h"

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

enum { NAME, KIND, COUNTS, AVAILABLE, VALUE, USER_ONLY, REASON, HELP, MEANING };
static const struct listing_column columns[] = {
	[NAME] = {"name", "EVENT", 0},
	[KIND] = {"kind", "KIND", 0},
	[COUNTS] = {NULL, "COUNTS", 0},
	[AVAILABLE] = {"available", NULL, 0},
	[VALUE] = {"value", NULL, 0},
	[USER_ONLY] = {"user_mode_only", NULL, 0},
	[REASON] = {"reason", NULL, 0},
	[HELP] = {"help", NULL, 0},
	[MEANING] = {NULL, "MEANING OR REASON", COLUMN_CUT},
};

struct event_list {
	struct listing l;
	bool available;    /* only events that can be counted here */
	const char *kinds; /* NULL: all */
	int argc;
	char **argv;
	size_t shown, failed;
};

/* Opens and counts one event, and adds the result. */
static void show(struct event_list *e, const char *name, const char *kind, const char *help,
		 const struct event_code *code, const char *unresolved, bool value)
{
	struct event_count c = {.error = ENOENT};
	_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;

	if (code)
		event_try(code, &c);
	if (c.error && e->available)
		return;
	if (c.error && code)
		event_explain(code, c.error, &reason);
	else if (c.error)
		strbuf_addstr(&reason,
			      unresolved ? unresolved
					 : "needs a unit mask; see the event names of libpfm4");
	e->shown++;
	e->failed += c.error != 0;
	listing_row(&e->l, c.error ? 0 : 'g');
	listing_str(&e->l, NAME, name);
	listing_str(&e->l, KIND, kind);
	if (!c.error && value)
		listing_strf(&e->l, COUNTS, "%llu%s", (unsigned long long)c.value,
			     c.user_only ? " (user mode)" : "");
	else
		listing_str(&e->l, COUNTS, c.error ? "no" : c.user_only ? "in user mode" : "yes");
	listing_bool(&e->l, AVAILABLE, !c.error);
	if (!c.error)
		listing_u64(&e->l, VALUE, c.value);
	if (!c.error && c.user_only)
		listing_bool(&e->l, USER_ONLY, true);
	if (c.error)
		listing_str(&e->l, REASON, reason.buf);
	if (help)
		listing_str(&e->l, HELP, help);
	listing_str(&e->l, MEANING, c.error ? reason.buf : help);
}

/* A dash matches an underscore, as in all event names; but not within [a-z]. */
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
	struct event_list *l = user;
	bool wanted = l->argc == 0;

	if (l->kinds && !strstr(l->kinds, kind))
		return;
	for (int i = 0; i < l->argc; i++)
		wanted |= matches(l->argv[i], name);
	if (wanted)
		show(l, name, kind, help, code, NULL, false);
}

static void test_named(struct event_list *l)
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
		return usage_error("events",
				   "events: --groups and --check-groups take no event names");
	/* resolve events of other CPUs too */
	setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
	return o->check_groups ? events_check_groups(o->group_files, o->json)
			       : events_list_groups(o->group_files, o->arch, o->json);
}

static int run(struct context *ctx, int argc, char **argv)
{
	const struct events_options *o = ctx->options;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct event_list e = {.available = o->available && !o->test,
			       .kinds = o->kinds,
			       .argc = argc,
			       .argv = argv};

	if (o->groups || o->arch || o->check_groups)
		return run_groups(o, argc);
	if (o->test && !argc)
		return usage_error("events", "events: --test needs the names of events");
	listing_begin(&e.l, columns, ARRAY_SIZE(columns), o->json);
	if (o->test)
		test_named(&e);
	else
		events_list(list_one, &e, &why);
	listing_end(&e.l);
	if (why.len)
		log_warn("cannot list the events of the CPU: %s", why.buf);
	if (!e.shown)
		log_error("no event matches '%s'; `plimsoll events` lists all",
			  argc ? argv[0] : "*");
	return !e.shown || (o->test && e.failed) ? EXIT_FAILED : EXIT_OK;
}

static const struct option_row rows[] = {
	{OPT_FLAG, 't', "test", NULL, "count each named event once during a short computation",
	 AT(struct events_options, test)},
	{OPT_FLAG, 'a', "available", NULL, "list only events that can be counted here",
	 AT(struct events_options, available)},
	{OPT_CALL, 'k', "kind", "KIND,...", "list only these kinds; preset: PAPI, native: libpfm4",
	 .call = take_kinds, WORDS({"kernel", 0}, {"preset", 0}, {"native", 0})},
	{OPT_FLAG, 'g', "groups", NULL,
	 "list the event groups of this CPU and their derived values",
	 AT(struct events_options, groups)},
	{OPT_TEXT, 0, "arch", "NAME", "list the groups of another microarchitecture, such as zen3",
	 AT(struct events_options, arch)},
	{OPT_FLAG, 0, "check-groups", NULL,
	 "check all group files: encode every event for the CPUs of its file",
	 AT(struct events_options, check_groups)},
	{OPT_TEXT, 0, "group-files", "DIR", "directory of the group files",
	 AT(struct events_options, group_files)},
	ROW_JSON(struct events_options),
	ROWS_COMMON,
};

const struct command command_events = {
	.name = "events",
	.summary = "list the events that can be counted here",
	.operands = {"PATTERN", 0, ANY_NUMBER},
	.description =
		"Lists the events of the kernel, the presets of PAPI and the events that libpfm4 knows "
		"for this CPU. Each event is opened; if that fails, the list shows the reason and the "
		"remedy. A PATTERN without * matches anywhere in the name.\n\n"
		"--test counts each named event once; the exit status is 1 if one cannot be counted.\n\n"
		"--groups lists the event groups that `plimsoll monitor` can count for a job on this "
		"CPU (`--source counters=GROUP,GROUP`), with the formulas of their derived values. The "
		"groups are files, share/plimsoll/events/MICROARCHITECTURE.groups. --check-groups "
		"reads all files and encodes every event, one line per group; the exit status is 1 if "
		"a file is wrong.\n\n"
		"For users of PAPI and libpfm4, this command is also called papi_avail, "
		"papi_native_avail and showevtinfo (lists), papi_command_line and check_events "
		"(--test).",
	.examples =
		"  plimsoll events CYC\n  plimsoll events --test PERF_COUNT_SW_CPU_CLOCK PAPI_TOT_CYC\n"
		"  plimsoll events --available --kind preset\n  plimsoll events --groups\n"
		"  plimsoll events --arch zen3 --json\n",
	OPTIONS(struct events_options, rows),
	.run = run,
};
