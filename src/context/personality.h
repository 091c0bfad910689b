/*
 * Personalities: names of the program with the options of another tool. Differences beyond options
 * are listed here, so that commands ask what to do and not which tool it is.
 */
#pragma once

#include "core/value.h"

struct context;
struct job_layout;

struct personality {
	const char *name; /* in argv[0] */
	/* Runs the whole command line; returns the exit status. */
	int (*run)(struct context *ctx, int argc, char **argv);

	/* ---- messages */
	bool problems_after_options; /* print configuration problems after the options, when -q is
					known */
	bool daemons_log_more;       /* `node` logs its actions without -v */
	bool gives_no_hints;         /* prints no hints */
	bool sources_may_be_absent;  /* named sources are a default set */

	/* ---- jobs */
	const struct job_layout *layout; /* of job directories; NULL: ours */
	/* Remembers the last job that was started, run or stopped, for commands without a job id.
	 */
	bool follows_session;
	const char *shell_prefix;    /* of the shell functions that `source` defines */
	const char *variable_prefix; /* of the variables that those use */
	/* A command that was killed by a signal gives an exit status; the program itself ends by a
	 * signal only if the user pressed a key. */
	bool signal_is_status;
	bool listens; /* to kernel events about processes, from its start */

	/* ---- arguments and exit status */
	bool bad_value_fails;    /* an invalid value is EXIT_FAILED, not EXIT_USAGE */
	bool paths_only;         /* a path without a job is not tried as a job id */
	bool strict_import;      /* a process outside the job's time is an error */
	bool resubmission_fails; /* a job that is in the store already is an error */

	/* ---- output; NULL: ours */
	/* Adds the line about an imported job (dry: that could be imported). */
	void (*add_import)(struct strbuf *line, const char *job, uint64_t processes, double rate,
			   bool dry);
	/* Adds a metadata value, and prints a line with one. */
	void (*add_value)(const struct value *v, struct strbuf *out);
	void (*print_pair)(const char *key, const char *value);
};
