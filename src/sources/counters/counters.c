/*
 * Event counters of the job: groups of events from the file of this CPU's microarchitecture, and
 * values computed from them. They count by cgroup where the job has one and permissions allow, else
 * by process and its later children (perf_attach.c). Events that do not fit on the CPU together
 * take turns and are scaled; `running_percent` shows by how much.
 */
#include "sources/counters/counters.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <string.h>

#include "core/files/fs.h"
#include "core/system/procparse.h"
#include "sources/counters/events.h"

#define DEFAULT_GROUPS "hardware_events,software_events"

/* ---- choosing ---- */

static unsigned add_metric(struct counters *c, const char *name, enum metric_unit unit,
			   enum metric_kind kind, double scale, const char *help)
{
	c->metrics[c->metric_count] = (struct sample_metric){
		.name = name,
		.unit = unit,
		.kind = kind,
		.agg = unit == UNIT_RATIO || unit == UNIT_PERCENT ? AGG_NONE : AGG_SUM,
		.scale = scale,
		.help = help};
	return (unsigned)c->metric_count++;
}

static enum metric_unit event_unit(const struct group_event *e)
{
	if (!strcmp(e->code, "PERF_COUNT_SW_TASK_CLOCK") ||
	    !strcmp(e->code, "PERF_COUNT_SW_CPU_CLOCK"))
		return UNIT_NANOSECONDS;
	return !strcmp(e->code, "PERF_COUNT_HW_CPU_CYCLES") ? UNIT_CYCLES : UNIT_COUNT;
}

/* Files hold whole numbers: small values need decimals. */
static double value_scale(enum metric_unit unit)
{
	switch (unit) {
	case UNIT_RATIO:
		return 1e-9;
	case UNIT_PERCENT:
	case UNIT_PER_SECOND:
		return 1e-3;
	default:
		return 1;
	}
}

static int find_counter(const struct counters *c, const char *name)
{
	for (unsigned i = 0; i < c->counter_count; i++)
		if (!strcmp(c->counters[i].event->name, name))
			return (int)i;
	return -1;
}

/* The number of metrics that a group adds. */
static size_t new_metrics(const struct counters *c, const struct group *g)
{
	size_t n = g->value_count;

	for (size_t i = 0; i < g->event_count; i++)
		n += find_counter(c, g->events[i].name) < 0;
	return n;
}

static void choose_group(struct counters *c, const struct group *g)
{
	struct group_state *s = &c->chosen[c->chosen_count];

	*s = (struct group_state){.group = g};
	for (size_t i = 0; i < g->event_count; i++) {
		const struct group_event *e = &g->events[i];
		int at = find_counter(c, e->name);

		if (at < 0) {
			at = (int)c->counter_count++;
			c->counters[at] =
				(struct counter){.event = e,
						 .system = g->system,
						 .group = (unsigned)c->chosen_count,
						 .metric = add_metric(c, e->name, event_unit(e),
								      KIND_COUNTER, 0, e->help)};
		}
		s->counters[i] = (unsigned)at;
	}
	s->first_metric = (unsigned)c->metric_count;
	for (size_t i = 0; i < g->value_count; i++) {
		const struct group_value *v = &g->values[i];
		char *name = xasprintf("%s.%s", g->name, v->name);

		c->names[c->metric_count] = name;
		add_metric(c, name, v->unit, KIND_MEAN, value_scale(v->unit), v->help);
	}
	c->chosen_count++;
}

static bool is_chosen(const struct counters *c, const struct group *g)
{
	for (size_t i = 0; i < c->chosen_count; i++)
		if (c->chosen[i].group == g)
			return true;
	return false;
}

static void want_group(struct counters *c, const struct group *g, struct strbuf *left_out)
{
	if (is_chosen(c, g))
		return;
	if (c->metric_count + new_metrics(c, g) > SAMPLE_METRICS_MAX) {
		strbuf_addf(left_out, "%s%s", left_out->len ? ", " : "", g->name);
		return;
	}
	choose_group(c, g);
}

static int unknown_group(const struct counters *c, const char *name, struct strbuf *why)
{
	strbuf_addf(why, "there is no group '%s' for %s; available are", name, c->groups.name);
	for (size_t i = 0; i < c->groups.group_count; i++)
		strbuf_addf(why, "%s %s", i ? "," : "", c->groups.groups[i].name);
	return -EINVAL;
}

/* The first group with an event of this name. */
static const struct group *group_with(const struct counters *c, const char *event)
{
	for (size_t i = 0; i < c->groups.group_count; i++)
		for (size_t k = 0; k < c->groups.groups[i].event_count; k++)
			if (event_name_same(c->groups.groups[i].events[k].name, event))
				return &c->groups.groups[i];
	return NULL;
}

/* "NAME,NAME" of groups, or of events in a group; "?NAME": if the CPU has it; "all"; "user": count
 * in user mode only. Unknown names are left out, unless there are no others. */
static int choose_named(struct counters *c, const char *list, bool *user_only,
			struct strbuf *left_out, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf first = STRBUF_INIT, unknown = STRBUF_INIT;

	for (const char *p = list; *p; p += strspn(p, ",")) {
		_cleanup_free_ char *name = xstrndup(p, strcspn(p, ","));
		const struct group *g = groups_find(&c->groups, name + (name[0] == '?'));

		g = g ? g : group_with(c, name);
		p += strlen(name);
		if (!strcmp(name, "user"))
			*user_only = true;
		else if (!strcmp(name, "all"))
			for (size_t i = 0; i < c->groups.group_count; i++)
				want_group(c, &c->groups.groups[i], left_out);
		else if (g)
			want_group(c, g, left_out);
		else if (*name && name[0] != '?') {
			strbuf_addstr(&first, first.len ? "" : name);
			strbuf_addf(&unknown, "%s%s", unknown.len ? ", " : "", name);
		}
	}
	if (unknown.len && !c->chosen_count)
		return unknown_group(c, first.buf, why);
	if (unknown.len)
		c->unknown = strbuf_take(&unknown);
	return 0;
}

static int choose(struct counters *c, const char *list, bool *user_only, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf left_out = STRBUF_INIT;

	c->chosen = xcalloc(c->groups.group_count + 1, sizeof(*c->chosen));
	c->metrics[c->metric_count] = (struct sample_metric)COUNTERS_RUNNING;
	c->running_metric = (unsigned)c->metric_count++;
	int r = choose_named(c, list, user_only, &left_out, why);
	if (r == 0 && !c->chosen_count)
		r = choose_named(c, DEFAULT_GROUPS, user_only, &left_out, why);
	if (left_out.len)
		strbuf_addf(&left_out, ": a source has at most %d metrics", SAMPLE_METRICS_MAX);
	if (c->unknown)
		strbuf_addf(&left_out, "%s%s: %s has no such group or event",
			    left_out.len ? "; " : "", c->unknown, c->groups.name);
	c->left_out = left_out.len ? strbuf_take(&left_out) : NULL;
	return r;
}

/* ---- opening ---- */

/* The first event of a formula that is not counted; NULL when all are. */
static const char *missing_event(const struct counters *c, const struct group_state *s,
				 const struct formula *f)
{
	for (unsigned i = 0; i < f->count; i++) {
		unsigned v = f->ops[i].variable;

		if (f->ops[i].op == 'v' && v < s->group->event_count &&
		    c->counters[s->counters[v]].problem)
			return s->group->events[v].name;
	}
	return NULL;
}

static void report_absent(const struct counters *c, struct sample_set *set)
{
	for (size_t i = 0; i < c->counter_count; i++)
		if (c->counters[i].problem)
			sample_absent(set, c->counters[i].metric, "%s", c->counters[i].problem);
	for (size_t i = 0; i < c->chosen_count; i++) {
		const struct group_state *s = &c->chosen[i];

		for (size_t k = 0; k < s->group->value_count; k++) {
			const char *event = missing_event(c, s, &s->group->values[k].formula);

			if (event)
				sample_absent(set, s->first_metric + (unsigned)k,
					      "needs %s, which is not counted", event);
		}
	}
}

/* Is our own process in the cgroup, or below it? It would be counted with the job. */
static bool are_inside(const char *root, const char *group)
{
	_cleanup_free_ char *path = xasprintf("%s/proc/self/cgroup", root);
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (fs_read(AT_FDCWD, path, 65536, &text) < 0)
		return true;
	for (char *line = text.buf; line && *line;) {
		char *next = strchr(line, '\n');

		if (next)
			*next++ = 0;
		char *own = strchr(line, '/');
		while (own && own[1]) {
			if (str_suffix(group, own))
				return true;
			*strrchr(own, '/') = 0;
			own = *own ? own : NULL;
		}
		line = next;
	}
	return false;
}

static void begin_counting(struct counters *c)
{
	const char *group = job_processes_group(c->ctx->watch, "perf_event");

	if (!group)
		group = job_processes_group(c->ctx->watch, "");
	if (group && !are_inside(c->ctx->root, group) &&
	    counters_attach_cgroup(c, AT_FDCWD, group) == 0)
		c->cgroup = xstrdup(group);
}

int counters_open(const struct counters_ops *ops, const struct source_context *ctx,
		  struct sample_set *set, void **state, struct strbuf *why)
{
	_cleanup_free_ char *installed = ops->groups_dir ? NULL : groups_dir();
	struct cpu_identity cpu;
	bool user_only = false;

	if (!ctx->watch)
		return strbuf_fail(why, -EINVAL,
				   "counts the processes of a job, but there is no job");
	if (ops->live && *ctx->root)
		return strbuf_fail(why, -ENOTSUP,
				   "events can be counted on a running machine only");
	struct counters *c = xcalloc(1, sizeof(*c));
	c->ops = ops;
	c->ctx = ctx;
	c->cover.root = ctx->root;
	cpu_identify(ctx->root, &cpu);
	int r = groups_load_for(&c->groups, installed ? installed : ops->groups_dir, &cpu, why);
	if (r == 0)
		r = choose(c, ctx->option ? ctx->option : DEFAULT_GROUPS, &user_only, why);
	if (r < 0) {
		counters_close(c);
		return r;
	}
	counters_try(c, user_only);
	counters_open_system(c);
	if (!counters_usable(c, why)) {
		counters_close(c);
		return -ENOENT;
	}
	set->metrics = c->metrics;
	set->metric_count = c->metric_count;
	report_absent(c, set);
	begin_counting(c);
	*state = c;
	return 0;
}

void counters_close(void *state)
{
	struct counters *c = state;

	if (!c)
		return;
	coverage_release(c);
	counters_detach(c, &c->cpus);
	counters_detach(c, &c->system);
	for (size_t i = 0; i < c->counter_count; i++)
		free(c->counters[i].problem);
	for (size_t i = 0; i < SAMPLE_METRICS_MAX; i++)
		free(c->names[i]);
	groups_release(&c->groups);
	free(c->chosen);
	free(c->cgroup);
	free(c->online);
	free(c->left_out);
	free(c->unknown);
	free(c);
}

/* ---- reading ---- */

/*
 * A group whose events were enabled and never on the CPU does not fit as a whole (the NMI watchdog
 * uses a counter that the kernel's check ignores). Its events continue one by one.
 */
static bool split_groups(struct counters *c)
{
	bool split = false;

	for (unsigned i = 0; i < c->counter_count; i++) {
		const struct counter *l = &c->counters[c->counters[i].leader];

		if (l == &c->counters[i] || l->enabled_ever < NEVER_ON_CPU_NS || l->running_ever)
			continue;
		c->counters[i].leader = i;
		split = true;
	}
	return split;
}

static void begin_again(struct counters *c)
{
	if (c->cgroup) {
		counters_detach(c, &c->cpus);
		if (counters_attach_cgroup(c, AT_FDCWD, c->cgroup) == 0)
			return;
		free(c->cgroup);
		c->cgroup = NULL;
	}
	bool counts = c->cover.counts;
	coverage_release(c);
	coverage_update(c, c->ctx->watch);
	c->cover.counts |= counts;
}

static void put_value(struct sample_set *set, unsigned metric, double v)
{
	double scale = set->metrics[metric].scale;
	double raw = scale > 0 ? v / scale : v;

	if (fabs(raw) < 9e18)
		sample_put(set, metric, round_i64(raw));
}

/* Was the event counted for most of the time, so that the difference means something? */
static bool is_complete(const struct counter *n)
{
	return n->pending <= n->enabled / 20;
}

static void put_group(struct counters *c, struct group_state *s, struct sample_set *set)
{
	double variables[GROUP_EVENTS_MAX + 1];
	const struct group *g = s->group;

	for (size_t i = 0; i < g->event_count; i++)
		if (!c->counters[s->counters[i]].problem &&
		    !is_complete(&c->counters[s->counters[i]]))
			return;
	for (size_t i = 0; i < g->event_count; i++) {
		const struct counter *n = &c->counters[s->counters[i]];

		variables[i] = n->problem ? NAN : (double)(n->total - s->last[i]);
	}
	variables[g->event_count] = (double)(set->time_ns - s->time_ns) / 1e9;
	for (size_t i = 0; s->seen && i < g->value_count; i++) {
		double v;

		if (formula_value(&g->values[i].formula, variables, &v))
			put_value(set, s->first_metric + (unsigned)i, v);
	}
	for (size_t i = 0; i < g->event_count; i++)
		s->last[i] = c->counters[s->counters[i]].total;
	s->time_ns = set->time_ns;
	s->seen = true;
}

void counters_put(const struct counters *c, struct sample_set *set, bool system)
{
	double least = 2;

	for (size_t i = 0; i < c->counter_count; i++) {
		const struct counter *n = &c->counters[i];

		if (n->problem || n->system != system)
			continue;
		sample_put(set, n->metric, n->total > INT64_MAX ? INT64_MAX : (int64_t)n->total);
		least = counter_share(n) < least ? counter_share(n) : least;
	}
	if (least <= 1)
		put_value(set, c->running_metric, least * 100);
}

static void put_row(struct counters *c, struct sample_set *set, bool system)
{
	counters_put(c, set, system);
	for (size_t i = 0; i < c->chosen_count; i++)
		if (c->chosen[i].group->system == system)
			put_group(c, &c->chosen[i], set);
}

void counters_begin_reading(struct counters *c)
{
	for (size_t i = 0; i < c->counter_count; i++)
		c->counters[i].enabled = c->counters[i].running = c->counters[i].pending = 0;
}

size_t counters_usable(const struct counters *c, struct strbuf *why)
{
	size_t n = 0;

	for (size_t i = 0; i < c->counter_count; i++)
		n += !c->counters[i].problem;
	if (!n)
		strbuf_addstr(why, c->counter_count ? c->counters[0].problem : "no event is named");
	return n;
}

static void add_metadata(const struct counters *c, struct sample_set *set, uint32_t job)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	sample_set_metadata(set, job, "microarchitecture", c->groups.name);
	sample_set_metadata(set, job, "counted_by", c->cgroup ? "control group" : "process");
	if (c->any_user_only)
		sample_set_metadata(set, job, "mode", "user");
	if (c->left_out)
		sample_set_metadata(set, job, "left_out", c->left_out);
	if (!c->cgroup)
		sample_set_metadata(
			set, job, "not_seen",
			"processes that a launcher starts and that end between two readings");
	if (c->cover.late) {
		strbuf_addf(&text, "%u process%s after %.2f s of CPU", c->cover.late,
			    plural(c->cover.late, "", "es"),
			    (double)c->cover.late_ticks * PL_TICK_US / 1e6);
		sample_set_metadata(set, job, "attached_late", text.buf);
		strbuf_reset(&text);
	}
	if (c->cover.denied) {
		strbuf_addf(&text, "%u process%s: %s%s", c->cover.denied,
			    plural(c->cover.denied, "", "es"), strerror(c->cover.denied_error),
			    c->cover.denied_error == EMFILE ? ", raise `ulimit -n`" : "");
		sample_set_metadata(set, job, "not_counted", text.buf);
	}
}

int counters_read(void *state, struct sample_set *set)
{
	struct counters *c = state;
	bool system = false;

	counters_begin_reading(c);
	for (size_t i = 0; i < c->counter_count; i++)
		system |= c->counters[i].system && !c->counters[i].problem;
	if (c->cgroup)
		counters_take_cgroup(c, AT_FDCWD, c->cgroup);
	else
		coverage_update(c, c->ctx->watch);
	for (size_t i = 0; i < c->cover.attachment_count; i++)
		counters_take(c, &c->cover.attachments[i].fds);
	counters_take(c, &c->system);
	sample_done(set);
	uint32_t job = sample_entity(set, ENTITY_JOB, "job");
	add_metadata(c, set, job);
	if (c->cgroup || c->cover.counts) {
		sample_row(set, job);
		put_row(c, set, false);
	} else if (c->cover.denied) {
		sample_absent(set, SAMPLE_METRICS_MAX, "the processes of the job: %s",
			      strerror(c->cover.denied_error));
	}
	if (system) {
		sample_row(set, sample_entity(set, ENTITY_NODE, "node"));
		put_row(c, set, true);
	}
	if (split_groups(c))
		begin_again(c);
	return 0;
}

/* Between two readings: what a launcher has started meanwhile is counted from here on. */
static void counters_look(void *state)
{
	struct counters *c = state;

	if (!c->cgroup)
		coverage_update(c, c->ctx->watch);
}

/* ---- the source ---- */

static int open_source(const struct source_context *ctx, struct sample_set *set, void **state,
		       struct strbuf *why)
{
	return counters_open(&counters_kernel, ctx, set, state, why);
}

/* Which of the two default groups work here. */
static int probe(const struct source_context *ctx, struct source_report *report)
{
	_cleanup_free_ char *dir = groups_dir();
	struct cpu_identity cpu;
	struct groups g;
	bool hardware, software;

	cpu_identify(ctx->root, &cpu);
	int r = groups_load_for(&g, dir, &cpu, &report->detail);
	if (r < 0)
		return r;
	strbuf_addf(&report->detail, "%s: %zu %s of events", g.name, g.group_count,
		    plural(g.group_count, "group", "groups"));
	groups_release(&g);
	if (*ctx->root)
		return strbuf_fail(&report->detail, -ENOENT,
				   ", which can be counted on a running machine only");
	struct event_code cycles = {.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES};
	struct event_code faults = {.type = PERF_TYPE_SOFTWARE,
				    .config = PERF_COUNT_SW_PAGE_FAULTS};
	struct event_count count;
	event_try(&faults, &count);
	software = !count.error;
	int error = count.error;
	event_try(&cycles, &count);
	hardware = !count.error;
	if (hardware && software)
		return 0;
	strbuf_addstr(&report->detail,
		      software ? "; only software events can be counted, no hardware events: "
			       : "; no event can be counted: ");
	event_explain(software ? &cycles : &faults, software ? count.error : error,
		      &report->detail);
	if (software)
		return 0;
	report->remedy = "sudo sysctl kernel.perf_event_paranoid=2";
	return error == EACCES || error == EPERM ? -EACCES : -ENOENT;
}

const struct source source_counters = {
	.name = "counters",
	.help = "hardware and software event counters of a job, and values computed from them",
	.probe = probe,
	.every = 2,
	.needs_job = true,
	.open = open_source,
	.read = counters_read,
	.look = counters_look,
	.close = counters_close,
};
