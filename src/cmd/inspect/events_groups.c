/* plimsoll events --groups and --check-groups: the files of event groups. */
#include "cmd/inspect/events_groups.h"

#include <errno.h>
#include <string.h>

#include "cmd/command.h"
#include "core/text/json_writer.h"
#include "core/text/terminal_table.h"
#include "sources/counters/counters_groups.h"
#include "sources/counters/events.h"

struct output {
	struct jsonw j;
	struct terminal_table t;
	bool json;
};

static void begin(struct output *o, const struct terminal_table_column *columns, size_t count,
		  bool json)
{
	*o = (struct output){.j = JSONW_INIT, .json = json};
	o->j.pretty = true;
	terminal_table_init(&o->t, columns, count);
}

static void finish(struct output *o)
{
	if (o->json)
		jsonw_write(&o->j, stdout);
	else
		terminal_table_print(&o->t, stdout);
	terminal_table_release(&o->t);
	jsonw_release(&o->j);
}

/* ---- listing -------------------------------------------------------------------------------- */

/* What an event is here. here: its file is this machine's. */
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
	jsonw_begin_object(&o->j, NULL);
	jsonw_str(&o->j, "name", e->name);
	jsonw_str(&o->j, "code", e->code);
	jsonw_bool(&o->j, "system", group->system);
	if (encodes) {
		jsonw_u64(&o->j, "type", code.type);
		jsonw_u64(&o->j, "config", code.config);
		jsonw_u64(&o->j, "config1", code.config1);
	}
	if (here && !group->system)
		jsonw_bool(&o->j, "available", works);
	if (works && count.user_only)
		jsonw_bool(&o->j, "user_mode_only", true);
	if (reason.len)
		jsonw_text(&o->j, "reason", reason.buf, reason.len);
	jsonw_str(&o->j, "help", e->help);
	jsonw_end_object(&o->j);
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
	jsonw_begin_object(&o->j, NULL);
	jsonw_str(&o->j, "name", v->name);
	jsonw_str(&o->j, "unit", metric_unit_name(v->unit));
	jsonw_str(&o->j, "formula", v->text);
	jsonw_str(&o->j, "help", v->help);
	jsonw_end_object(&o->j);
	terminal_table_row(&o->t, 0);
	terminal_table_cell(&o->t, 0, group->name);
	terminal_table_cellf(&o->t, 1, "%s.%s", group->name, v->name);
	terminal_table_cell(&o->t, 2, metric_unit_name(v->unit));
	terminal_table_cell(&o->t, 3, v->text);
	terminal_table_cell(&o->t, 4, v->help);
}

static void show_groups(struct output *o, const struct groups *g, bool here)
{
	jsonw_begin_object(&o->j, NULL);
	jsonw_str(&o->j, "microarchitecture", g->name);
	jsonw_bool(&o->j, "here", here);
	jsonw_begin_array(&o->j, "pmus");
	for (size_t i = 0; i < g->pmu_count; i++)
		jsonw_str(&o->j, NULL, g->pmus[i]);
	jsonw_end_array(&o->j);
	jsonw_begin_array(&o->j, "groups");
	for (size_t i = 0; i < g->group_count; i++) {
		const struct group *group = &g->groups[i];

		jsonw_begin_object(&o->j, NULL);
		jsonw_str(&o->j, "name", group->name);
		jsonw_str(&o->j, "help", group->help);
		jsonw_begin_array(&o->j, "events");
		for (size_t k = 0; k < group->event_count; k++)
			show_event(o, g, group, &group->events[k], here);
		jsonw_end_array(&o->j);
		jsonw_begin_array(&o->j, "values");
		for (size_t k = 0; k < group->value_count; k++)
			show_value(o, group, &group->values[k]);
		jsonw_end_array(&o->j);
		jsonw_end_object(&o->j);
	}
	jsonw_end_array(&o->j);
	jsonw_end_object(&o->j);
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
	struct output o;

	dir = dir ? dir : installed;
	cpu_identify("", &cpu);
	int r = groups_load_for(&mine, dir, &cpu, &why);
	if (r == 0) {
		r = groups_load(&g, dir, arch ? arch : mine.name, &why);
		if (r < 0)
			groups_release(&mine);
	}
	if (r < 0) {
		log_error("%s", why.buf);
		return EXIT_FAILED;
	}
	bool here =
		g.name && mine.name && (!strcmp(g.name, mine.name) || !strcmp(g.name, "generic"));
	begin(&o, columns, ARRAY_SIZE(columns), json);
	show_groups(&o, &g, here);
	finish(&o);
	groups_release(&g);
	groups_release(&mine);
	return EXIT_OK;
}

/* ---- checking ------------------------------------------------------------------------------- */

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

static bool check_group(struct output *o, const struct groups *g, const struct group *group)
{
	_cleanup_strbuf_ struct strbuf problems = STRBUF_INIT;

	for (size_t i = 0; i < group->event_count; i++)
		check_event(g, group, &group->events[i], &problems);
	if (problems.len)
		strbuf_cut(&problems, problems.len - 2);
	jsonw_begin_object(&o->j, NULL);
	jsonw_str(&o->j, "microarchitecture", g->name);
	jsonw_str(&o->j, "group", group->name);
	jsonw_u64(&o->j, "events", group->event_count);
	jsonw_u64(&o->j, "values", group->value_count);
	jsonw_str(&o->j, "problem", problems.len ? problems.buf : NULL);
	jsonw_end_object(&o->j);
	terminal_table_row(&o->t, problems.len ? 'r' : 0);
	terminal_table_cell(&o->t, 0, g->name);
	terminal_table_cell(&o->t, 1, group->name);
	terminal_table_cellf(&o->t, 2, "%zu", group->event_count);
	terminal_table_cellf(&o->t, 3, "%zu", group->value_count);
	terminal_table_cell(&o->t, 4, problems.len ? problems.buf : "ok");
	return !problems.len;
}

static bool check_file(struct output *o, const char *dir, const char *name)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct groups g;
	bool ok = true;

	if (groups_load(&g, dir, name, &why) < 0) {
		jsonw_begin_object(&o->j, NULL);
		jsonw_str(&o->j, "microarchitecture", name);
		jsonw_str(&o->j, "problem", why.buf);
		jsonw_end_object(&o->j);
		terminal_table_row(&o->t, 'r');
		terminal_table_cell(&o->t, 0, name);
		terminal_table_cell(&o->t, 4, why.buf);
		return false;
	}
	for (size_t i = 0; i < g.group_count; i++)
		ok &= check_group(o, &g, &g.groups[i]);
	groups_release(&g);
	return ok;
}

int events_check_groups(const char *dir, bool json)
{
	static const struct terminal_table_column columns[] = {{"MICROARCHITECTURE", 0},
							       {"GROUP", 0},
							       {"EVENTS", COLUMN_RIGHT},
							       {"VALUES", COLUMN_RIGHT},
							       {"RESULT", COLUMN_WRAP}};
	_cleanup_free_ char *installed = dir ? NULL : groups_dir();
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct output o;
	bool ok = true;
	size_t count;
	char **names;

	dir = dir ? dir : installed;
	if (groups_list(dir, &names, &count, &why) < 0 || !count) {
		log_error("%s", why.len ? why.buf : "there is no file of groups");
		return EXIT_FAILED;
	}
	begin(&o, columns, ARRAY_SIZE(columns), json);
	jsonw_begin_array(&o.j, NULL);
	for (size_t i = 0; i < count; i++)
		ok &= check_file(&o, dir, names[i]);
	jsonw_end_array(&o.j);
	finish(&o);
	groups_free_names(names, count);
	if (!ok)
		log_error("a file of groups is wrong");
	return ok ? EXIT_OK : EXIT_FAILED;
}
