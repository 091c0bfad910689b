/* The phases of a job: regions that its programs and scripts marked by name. */
#pragma once

#include "analysis/phase_stats.h"
#include "views/processes/process_list.h"

struct phase_process {
	char *host;
	int64_t pid;
};

struct phase_list {
	struct phase_span *v;
	size_t count, cap;
	char **names;
	size_t name_count, name_cap;
	struct phase_process *processes;
	size_t process_count, process_cap;
	int64_t job_start, job_end; /* us; UNKNOWN */
};
void phase_list_release(struct phase_list *l);
#define _cleanup_phase_list_ _cleanup_(phase_list_release)

/* Loads all phases of a job, parents first. An open phase whose end nobody saw ends with the job.
 */
int phase_list_load(struct phase_list *l, struct store *s, int64_t job);

/* Statistics by name, rank or thread. */
int phase_stats_print(const struct phase_list *l, enum phase_by by, enum proc_form form, FILE *f);
/* Every phase, in the order of time. */
int phase_list_print(const struct phase_list *l, enum proc_form form, FILE *f);
/* The longest phases by name as lines with a bar over the duration of the job, for people. */
void phase_bars_print(const struct phase_list *l, FILE *f);
/* The statistics as an array of objects, or with NULL for a list without any. */
void phase_stats_json(const struct phase_list *l, const struct phase_stat *stats, size_t count,
		      enum phase_by by, struct json_writer *j, const char *key);
