/*
 * The end of a run, for a person on the terminal and for scripts as JSON: how many, how much, what
 * is missing.
 */
#ifndef PL_VIEWS_SUMMARY_H
#define PL_VIEWS_SUMMARY_H

#include "core/value.h"
#include "records/accounting.h"

struct run_summary {
	const char *jobid, *dir;
	char *const *argv;
	int exitcode; /* as the shell sees it */
	int status;   /* as wait() has it */
	uint64_t wall_us, cpu_total_us, own_cpu_us;
	uint64_t running;
	bool cpu_total_known; /* false: something still runs */
	int64_t cpus;   /* that the command could use: those of the host, or of its batch job */
	bool unwritten; /* records could not all be written, which was said */
	uint64_t cgroup_cpu_us; /* growth of our cgroup; 0 unknown */
	struct accounting_sums sums;
	struct value *warnings; /* list of texts, owned by the caller */
};

/* Adds to s->warnings what the books and the supervisor found wanting. */
void summary_add_warnings(struct run_summary *s, const struct accounting *b);
/* One object with the keys that scripts rely on. */
void summary_json(const struct run_summary *s, struct jsonw *j);
void summary_text(const struct run_summary *s, const struct accounting *b, struct strbuf *out,
		  bool color);

#endif
