/* The phases of a job: regions that its programs and scripts marked by name. */
#pragma once

#include "analysis/phase_stats.h"
#include "views/processes/process_list.h"

/* By enum phase_source. */
extern const char *const phase_origins[3];

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

/* ---- on a time axis -------------------------------------------------------------------------- */

static inline bool phase_same_thread(const struct phase_span *a, const struct phase_span *b)
{
	return a->process == b->process && a->tid == b->tid;
}
/* Indexes in the order of time; freed by the caller. */
uint32_t *phase_order(const struct phase_list *l);
/* Indexes by rank, process, thread, level and time: phases of a lane follow each other. */
uint32_t *phase_lanes(const struct phase_list *l);
/* The phases that divide the time of the job, for bands behind its series: those of a script, else
 * of one thread, of the outermost level. order: of phase_lanes(); shorter ones are left out. */
size_t phase_dividing(const struct phase_list *l, const uint32_t *order, int64_t narrow_ns,
		      size_t max, const struct phase_span ***ret);
/* The time from the first begin to the last end of a phase; of occurrence N of "NAME#N". -ENOENT
 * with the reason in *why. */
int phase_time(const struct phase_list *l, const char *word, int64_t *begin_us, int64_t *end_us,
	       struct strbuf *why);
