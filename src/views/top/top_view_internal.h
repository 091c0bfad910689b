/* What a view of top_view.h knows; shared by the file that takes readings and the one that shows.
 */
#pragma once

#include "views/top/top_view.h"

#define TOP_HISTORY 1024 /* readings of a curve that are kept */

enum top_form { FORM_PERCENT, FORM_BYTES, FORM_RATE, FORM_WATTS };

/* Where a curve comes from. */
struct top_source {
	const char *label, *key; /* for people, and for JSON */
	const char *source, *metric;
	enum entity_kind kind;
	enum top_form form;
	bool counter; /* the difference over time is shown */
	bool mean;    /* over entities; else their sum */
	bool always;  /* shown even without a value */
	bool of_all;  /* a share of all CPUs: shown as that of one, as all CPU time is */
	bool second;  /* of two that are shown side by side */
};
extern const struct top_source top_sources[];
extern const size_t top_source_count;
#define TOP_CURVES_MAX 16

struct top_curve {
	double last; /* of a counter */
	uint64_t last_ns;
	double *values; /* ring of TOP_HISTORY, NAN where nothing was read */
	uint64_t count; /* readings since the beginning */
	bool seen;
	bool fresh; /* taken in this round */
};

/* NAN: not known. */
struct top_process {
	int pid, rank;
	uint64_t starttime;
	double cpu, rss, read, write, threads;
	double last_cpu_us, last_read, last_write;
	uint64_t last_ns;
	char state;
	bool seen;
	char *command;
};

struct top_device {
	char *text; /* "gpu0 87 % 12.3 GiB" */
	char *name;
	const char *kind;
	double busy, memory, power; /* NAN where not known */
};

struct topview {
	uint64_t time_ns;
	struct top_curve curves[TOP_CURVES_MAX];
	struct top_process *list; /* in a round by identity, then as a look wants them */
	size_t count, cap, sorted;
	size_t alive;   /* as the watch has it */
	double threads; /* NAN: not known */
	double elapsed_s;
	double cpus; /* of the node */
	struct top_device *devices;
	size_t device_count, device_cap;
};

/* The value of a curve that was read last; NAN when there is none. */
double top_curve_now(const struct top_curve *c);
/* Sorts the processes as chosen. */
void topview_sort(struct topview *v, enum top_sort sort);
