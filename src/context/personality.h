/*
 * The names that the program answers to. Under each it takes that tool's options and does the same
 * work; what differs beyond the options is named here, once, so that a command asks what it shall
 * do and not who it is.
 */
#ifndef PL_CONTEXT_PERSONALITY_H
#define PL_CONTEXT_PERSONALITY_H

#include "core/value.h"

struct context;
struct job_layout;

struct personality {
	const char *name; /* in argv[0] */
	/* Takes the whole command line; returns the exit status. */
	int (*run)(struct context *ctx, int argc, char **argv);

	/* ---- messages */
	bool problems_after_options; /* problems of the configuration wait until -q is known */
	bool daemons_log_more;       /* `node` logs what it does without -v */
	bool gives_no_hints;         /* says no more than what was asked for */
	bool sources_may_be_absent;  /* those that are named are a default set */

	/* ---- jobs */
	const struct job_layout *layout; /* of job directories; NULL: ours */
	/* The job that was started, run or stopped last is noted, and commands without a job id
	 * mean it. */
	bool follows_session;
	const char *shell_prefix;    /* of the shell functions that `source` defines */
	const char *variable_prefix; /* of the variables that those use */
	/* A command that a signal ended has an exit status; the program itself ends by a signal
	 * only where the user pressed a key. */
	bool signal_is_status;
	bool listens; /* to the kernel's events about processes, from its start */

	/* ---- arguments and exit status */
	bool bad_value_fails; /* a value that cannot be used is EXIT_FAILED, not EXIT_USAGE */
	bool paths_only;      /* a path that holds no job is not tried as a job id in the store */
	bool strict_import;   /* a process outside of the job's time is an error */
	bool resubmission_fails; /* a job that is in the store already is an error */

	/* ---- output; NULL: ours */
	/* The line about a job that was imported, or, dry, could be. */
	void (*add_import)(struct strbuf *line, const char *job, uint64_t processes, double rate,
			   bool dry);
	/* A value of the metadata, and a line with one of them. */
	void (*add_value)(const struct value *v, struct strbuf *out);
	void (*print_pair)(const char *key, const char *value);
};

#endif
