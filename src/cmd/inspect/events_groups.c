/* plimsoll events --groups and --check-groups: lists and checks the event group files. */
#include "cmd/inspect/events_groups.h"

#include <errno.h>
#include <string.h>

#include "cmd/command.h"
#include "sources/counters/counters_groups.h"
#include "sources/counters/events.h"
#include "views/listing.h"
#include "views/output.h"

struct output {
	struct json_writer j;
	struct terminal_table t;
};

/* ---- listing -------------------------------------------------------------------------------- */

/* Adds an event. here: its group file is for this machine, so that it can be tried. */
static void show_event(struct output *o, const struct groups *g, const struct group *group,
		       const struct group_event *e, bool here)
{
	_cleanup_strbuf_ struct strbuf reason = STRBUF_INIT;
	struct event_count count = {0};
	struct event_code code = {0};
	bool encodes =
		!group->system && event_resolve_for((const char *const *)g->pmus, g->pmu_count,
						    e->code, &code, &reason) == 0;

	if (encodes && here)
		event_try(&code, &count);
	if (count.error)
		event_explain(&code, count.error, &reason);
	bool works = encodes && here && !count.error;
	json_begin_object(&o->j, NULL);
	json_str(&o->j, "name", e->name);
	json_str(&o->j, "code", e->code);
	json_bool(&o->j, "system", group->system);
	if (encodes) {
		json_u64(&o->j, "type", code.type);
		json_u64(&o->j, "config", code.config);
		json_u64(&o->j, "config1", code.config1);
	}
	if (here && !group->system)
		json_bool(&o->j, "available", works);
	if (works && count.user_only)
		json_bool(&o->j, "user_mode_only", true);
	if (reason.len)
		json_text(&o->j, "reason", reason.buf, reason.len);
	json_str(&o->j, "help", e->help);
	json_end_object(&o->j);
	terminal_table_row(&o->t, works ? 'g' : 0);
	terminal_table_cell(&o->t, 0, group->name);
	terminal_table_cell(&o->t, 1, e->name);
	terminal_table_cell(&o->t, 2,
			    group->system     ? "machine"
			    : !encodes        ? "unknown"
			    : !here           ? "-"
			    : !works          ? "no"
			    : count.user_only ? "in user mode"
					      : "yes");
	terminal_table_cell(&o->t, 3, e->code);
	terminal_table_cell(&o->t, 4, reason.len ? reason.buf : e->help);
}

static void show_value(struct output *o, const struct group *group, const struct group_value *v)
{
	json_begin_object(&o->j, NULL);
	json_str(&o->j, "name", v->name);
	json_str(&o->j, "unit", metric_unit_name(v->unit));
	json_str(&o->j, "formula", v->text);
	json_str(&o->j, "help", v->help);
	json_end_object(&o->j);
	terminal_table_row(&o->t, 0);
	terminal_table_cell(&o->t, 0, group->name);
	terminal_table_cellf(&o->t, 1, "%s.%s", group->name, v->name);
	terminal_table_cell(&o->t, 2, metric_unit_name(v->unit));
	terminal_table_cell(&o->t, 3, v->text);
	terminal_table_cell(&o->t, 4, v->help);
}

static void show_groups(struct output *o, const struct groups *g, bool here)
{
	json_begin_object(&o->j, NULL);
	json_str(&o->j, "microarchitecture", g->name);
	json_bool(&o->j, "here", here);
	json_strs(&o->j, "pmus", g->pmus, g->pmu_count);
	json_begin_array(&o->j, "groups");
	for (size_t i = 0; i < g->group_count; i++) {
		const struct group *group = &g->groups[i];

		json_begin_object(&o->j, NULL);
		json_str(&o->j, "name", group->name);
		json_str(&o->j, "help", group->help);
		json_begin_array(&o->j, "events");
		for (size_t k = 0; k < group->event_count; k++)
			show_event(o, g, group, &group->events[k], here);
		json_end_array(&o->j);
		json_begin_array(&o->j, "values");
		for (size_t k = 0; k < group->value_count; k++)
			show_value(o, group, &group->values[k]);
		json_end_array(&o->j);
		json_end_object(&o->j);
	}
	json_end_array(&o->j);
	json_end_object(&o->j);
}

int events_list_groups(const char *dir, const char *arch, bool json)
{
	static const struct terminal_table_column columns[] = {{"GROUP", 0},
							       {"EVENT OR VALUE", 0},
							       {"COUNTS", 0},
							       {"CODE OR FORMULA", COLUMN_WRAP},
							       {"MEANING OR REASON", COLUMN_WRAP}};
	_cleanup_free_ char *installed = dir ? NULL : groups_dir();
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct cpu_identity cpu;
	struct groups g = {0}, mine = {0};
	struct output o = {.j = JSON_WRITER_INIT};

	dir = dir ? dir : installed;
	cpu_identify("", &cpu);
	int r = groups_load_for(&mine, dir, &cpu, &why);
	if (r == 0) {
		r = groups_load(&g, dir, arch ? arch : mine.name, &why);
		if (r < 0)
			groups_release(&mine);
	}
	if (r < 0)
		return fail_with(EXIT_FAILED, "%s", why.buf);
	bool here =
		g.name && mine.name && (!strcmp(g.name, mine.name) || !strcmp(g.name, "generic"));
	o.j.pretty = true;
	terminal_table_init(&o.t, columns, ARRAY_SIZE(columns));
	show_groups(&o, &g, here);
	if (json)
		json_write(&o.j, stdout);
	else
		terminal_table_print(&o.t, stdout);
	terminal_table_release(&o.t);
	json_release(&o.j);
	groups_release(&g);
	groups_release(&mine);
	return EXIT_OK;
}

/* ---- checking ------------------------------------------------------------------------------- */

enum { ARCH, GROUP, EVENTS, VALUES, PROBLEM, RESULT };
static const struct listing_column check_columns[] = {
	[ARCH] = {"microarchitecture", "MICROARCHITECTURE", 0},
	[GROUP] = {"group", "GROUP", 0},
	[EVENTS] = {"events", "EVENTS", COLUMN_RIGHT},
	[VALUES] = {"values", "VALUES", COLUMN_RIGHT},
	[PROBLEM] = {"problem", NULL, 0},
	[RESULT] = {NULL, "RESULT", COLUMN_WRAP},
};

static void check_event(const struct groups *g, const struct group *group,
			const struct group_event *e, struct strbuf *problems)
{
	const char *slash = strchr(e->code, '/');

	if (group->system) {
		if (!slash || slash == e->code || !slash[1])
			strbuf_addf(problems, "%s: '%s' is not PMU/EVENT; ", e->name, e->code);
		return;
	}
	for (size_t i = 0; i < (g->pmu_count ? g->pmu_count : 1); i++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		const char *pmu = g->pmu_count ? g->pmus[i] : NULL;
		struct event_code code;

		if (event_resolve_for(&pmu, pmu != NULL, e->code, &code, &why) < 0)
			strbuf_addf(problems, "%s: %s%s%s: %s; ", e->name, pmu ? pmu : "",
				    pmu ? "::" : "", e->code, why.buf);
	}
}

static bool check_group(struct listing *l, const struct groups *g, const struct group *group)
{
	_cleanup_strbuf_ struct strbuf problems = STRBUF_INIT;

	for (size_t i = 0; i < group->event_count; i++)
		check_event(g, group, &group->events[i], &problems);
	if (problems.len)
		strbuf_cut(&problems, problems.len - 2);
	listing_row(l, problems.len ? 'r' : 0);
	listing_str(l, ARCH, g->name);
	listing_str(l, GROUP, group->name);
	listing_u64(l, EVENTS, group->event_count);
	listing_u64(l, VALUES, group->value_count);
	listing_str(l, PROBLEM, problems.len ? problems.buf : NULL);
	listing_str(l, RESULT, problems.len ? problems.buf : "ok");
	return !problems.len;
}

static bool check_file(struct listing *l, const char *dir, const char *name)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct groups g;
	bool ok = true;

	if (groups_load(&g, dir, name, &why) < 0) {
		listing_row(l, 'r');
		listing_str(l, ARCH, name);
		listing_str(l, PROBLEM, why.buf);
		listing_str(l, RESULT, why.buf);
		return false;
	}
	for (size_t i = 0; i < g.group_count; i++)
		ok &= check_group(l, &g, &g.groups[i]);
	groups_release(&g);
	return ok;
}

int events_check_groups(const char *dir, bool json)
{
	_cleanup_free_ char *installed = dir ? NULL : groups_dir();
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct listing l;
	bool ok = true;
	size_t count;
	char **names;

	dir = dir ? dir : installed;
	if (groups_list(dir, &names, &count, &why) < 0 || !count)
		return fail_with(EXIT_FAILED, "%s", why.len ? why.buf : "there is no group file");
	listing_begin(&l, check_columns, ARRAY_SIZE(check_columns), json);
	for (size_t i = 0; i < count; i++)
		ok &= check_file(&l, dir, names[i]);
	listing_end(&l);
	groups_free_names(names, count);
	if (!ok)
		log_error("a group file is wrong");
	return ok ? EXIT_OK : EXIT_FAILED;
}
