/*
 * Groups of events, and values computed from them, as data: one file per microarchitecture,
 * share/plimsoll/events/<name>.groups. docs/counters.md has the format.
 */
#pragma once

#include <stdint.h>

#include "core/metrics/metric.h"
#include "core/strbuf.h"

/* ---- formulas ---- */

/* Longer or deeper formulas are refused. */
#define FORMULA_OPS_MAX 96
#define FORMULA_DEPTH_MAX 24

struct formula_op {
	char op; /* '#' number, 'v' variable, '+' '-' '*' '/', 'n' changes the sign */
	uint8_t variable;
	double number;
};

/* In postfix order. */
struct formula {
	struct formula_op ops[FORMULA_OPS_MAX];
	unsigned count;
};

/* The number of a variable, negative when the name (not terminated) is unknown. */
typedef int (*formula_lookup)(void *user, const char *name, size_t n);

/* + - * / ( ), numbers and names. -EINVAL with the reason in *why. */
int formula_parse(struct formula *f, const char *text, formula_lookup lookup, void *user,
		  struct strbuf *why);
/* False when it has no value: a variable is not a number, a division by 0, an overflow. */
bool formula_value(const struct formula *f, const double *variables, double *ret);

/* ---- groups ---- */

#define GROUPS_MAX 48       /* in a file, with those it includes */
#define GROUP_EVENTS_MAX 12 /* of a group */
#define GROUP_VALUES_MAX 12
#define GROUPS_PMUS_MAX 4

struct group_event {
	char *name; /* in formulas, and of the metric */
	char *code; /* what event_resolve_for() takes; with system: "<pmu>/<event>" of sysfs */
	char *help;
};

struct group_value {
	char *name;
	enum metric_unit unit;
	char *text; /* the formula as written */
	char *help;
	/* variables are the group's events in their order, then the time in seconds */
	struct formula formula;
};

struct group {
	char *name, *help;
	bool system; /* counted for the whole machine, by units outside of the cores */
	struct group_event events[GROUP_EVENTS_MAX];
	size_t event_count;
	struct group_value values[GROUP_VALUES_MAX];
	size_t value_count;
	bool included; /* another group of the same name may replace it */
};

/* A CPU as /proc/cpuinfo names it. */
struct cpu_identity {
	char vendor[16];                  /* "GenuineIntel", "AuthenticAMD", "0x41" on ARM */
	unsigned family, model, stepping; /* ARM: family is 8 and model the part */
};

struct cpu_range {
	char vendor[16];
	unsigned family, model[2], stepping[2];
};

struct groups {
	char *name;                  /* of the microarchitecture: the file's */
	char *pmus[GROUPS_PMUS_MAX]; /* libpfm4's names for it; the first that encodes wins */
	size_t pmu_count;
	struct cpu_range *cpus; /* the CPUs that the file is for */
	size_t cpu_count, cpu_cap;
	struct group *groups;
	size_t group_count, group_cap;
};

/* The directory of the files, in the installed or built tree. Freed by the caller. */
char *groups_dir(void);
/* Reads <dir>/<name>.groups with what it includes. -ENOENT, -EINVAL: why names file and line. */
int groups_load(struct groups *g, const char *dir, const char *name, struct strbuf *why);
/* The same from memory; dir is for what it includes. */
int groups_parse(struct groups *g, const char *dir, const char *name, const char *text,
		 struct strbuf *why);
void groups_release(struct groups *g);
const struct group *groups_find(const struct groups *g, const char *name);
/* Is the file for this CPU? */
bool groups_match(const struct groups *g, const struct cpu_identity *cpu);
/* The microarchitectures that have a file, sorted; freed by the caller with groups_free_names(). */
int groups_list(const char *dir, char ***ret, size_t *ret_count, struct strbuf *why);
void groups_free_names(char **names, size_t count);

/* The first CPU of <root>/proc/cpuinfo. */
int cpu_identify(const char *root, struct cpu_identity *ret);
/* Loads the file for this CPU, or "generic" where there is none. */
int groups_load_for(struct groups *g, const char *dir, const struct cpu_identity *cpu,
		    struct strbuf *why);
