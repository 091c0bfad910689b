/* The list of rules, and the order of what they find; see findings.h. A rule is one function and
 * one row. */
#include <math.h>
#include <string.h>

#include "analysis/findings/findings_rules.h"

/* A node does not end, and nothing limits it: how busy it was. */
static void rule_node(const struct finding_figures *f, struct findings *to)
{
	_cleanup_draft_ struct draft d = DRAFT_INIT;

	if (isnan(f->node_busy)) {
		say(&d.title, "it is unknown how busy the node was");
		say(&d.details, "The CPU time of the node was not sampled.");
		say(&d.advice, "Enable the source `system` of `plimsoll node` there.");
		finding_add(to, FINDING_UNMEASURED, FINDING_NOTE, &d);
		return;
	}
	say(&d.title, "the node was %% busy", f->node_busy);
	if (f->cores > 0)
		say(&d.details, "%N of its %W cores were busy on average, %N at most.",
		    f->node_busy * f->cores, f->cores, f->node_peak * f->cores);
	else
		say(&d.details, "%% of its CPU time was used on average, %% at most.", f->node_busy,
		    f->node_peak);
	say(&d.advice, "Its jobs have their own reports: `plimsoll list --host %s` lists them.",
	    f->node);
	say(&d.command, "plimsoll list --host %s", f->node);
	evidence(&d, "system.cpu_percent", f->node_busy * 100, "%", f->node);
	finding_add(to, FINDING_COMPUTE, FINDING_NOTE, &d);
}

/* In the order of findings that would save the same. */
static finding_rule *const rules[] = {
	rule_oom,          rule_time_limit,
	rule_crashed,      rule_killed,
	rule_failed,       rule_quota,
	rule_affinity,     rule_neighbour,
	rule_imbalance,    rule_lock,
	rule_timer,        rule_storage,
	rule_network_wait, rule_process_wait,
	rule_short,        rule_chain,
	rule_small_io,     rule_page_faults,
	rule_metadata,     rule_oversubscribed,
	rule_network,      rule_memory_bandwidth,
	rule_gpu,          rule_memory,
	rule_growth,       rule_serial,
	rule_accounting,   rule_compute,
	rule_unmeasured,
};

/*
 * Failures, then what is about to fail (memory that grows or is full), then causes that took a
 * large part of the time, then what took the time in general, then the rest.
 */
static int place(const struct finding *f, double duration)
{
	bool main = f->saving >= LIMIT(MAIN) * duration;

	switch (finding_ids[f->id].group) {
	case GROUP_FAILURE:
		return f->weight == FINDING_SEVERE ? 0 : f->weight == FINDING_WARNING ? 1 : 5;
	case GROUP_RESOURCE:
		return f->weight == FINDING_WARNING ? 2 : 5;
	case GROUP_CAUSE:
		return main ? 3 : 5;
	default:
		return f->weight == FINDING_NOTE && !main ? 5 : 4;
	}
}

static bool comes_before(const struct finding *a, const struct finding *b, double duration)
{
	int x = place(a, duration), y = place(b, duration);
	double more = isnan(a->saving) ? 0 : a->saving, less = isnan(b->saving) ? 0 : b->saving;

	return x != y ? x < y : more > less;
}

static void sort(struct findings *to, double duration)
{
	/* few: an insertion keeps the order of rules among equals */
	for (size_t i = 1; i < to->count; i++) {
		struct finding one = to->list[i];
		size_t at = i;

		for (; at && comes_before(&one, &to->list[at - 1], duration); at--)
			to->list[at] = to->list[at - 1];
		to->list[at] = one;
	}
}

void findings_find(struct findings *to, const struct finding_figures *f)
{
	if (f->node) {
		rule_node(f, to);
		return;
	}
	struct finding_figures known = *f;
	/* of a moment only the end is worth telling */
	if (!(f->duration >= LIMIT(MOMENT)))
		known.time = (struct core_time){0};
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		rules[i](&known, to);
	sort(to, f->duration > 0 ? f->duration : 1);
}
