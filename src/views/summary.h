/* The summary that a run ends with: for people on the terminal, for scripts as JSON. */
#pragma once

#include "core/value.h"
#include "records/accounting.h"

struct run_summary {
	const char *jobid, *dir;
	char *const *argv;
	int exitcode; /* as the shell sees it */
	int status;   /* as wait() has it */
	uint64_t wall_us, cpu_total_us, own_cpu_us;
	uint64_t running;
	bool cpu_total_known;   /* false: something still runs */
	int64_t cpus;           /* usable by the command: of the host, or of its batch job */
	bool unwritten;         /* some records could not be written, which was logged */
	uint64_t cgroup_cpu_us; /* CPU time of our cgroup during the run; 0: unknown */
	struct accounting_sums sums;
	struct value *warnings; /* list of texts, owned by the caller */
};

/* Adds to s->warnings what is missing or inconsistent in the accounting. */
void summary_add_warnings(struct run_summary *s, const struct accounting *b);
/* One object; its keys are an interface. */
void summary_json(const struct run_summary *s, struct json_writer *j);
void summary_text(const struct run_summary *s, const struct accounting *b, struct strbuf *out,
		  bool color);
