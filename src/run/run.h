/* `plimsoll run`: a command with everything it starts, recorded. */
#ifndef PL_RUN_RUN_H
#define PL_RUN_RUN_H

#include "context/context.h"
#include "context/current_job.h"
#include "jobs/job_directory.h"

struct run_options {
	const char *dir;  /* the job directory; NULL: below the prefix */
	const char *name; /* of the job */
	const char *json; /* "-": stderr; NULL: none */
	bool auto_job;    /* start and stop belong to this run, and must succeed */
	bool error;       /* do not run what cannot be recorded */
	bool dry, wait, quiet;
	bool no_submit;     /* leave the job's directory, and nothing in the store */
	bool submit;        /* put it into the store where that is left to others */
	uint64_t wait_ns;   /* 0: for ever */
	uint64_t sample_ns; /* curves beside the records, this far apart; 0: none */
};
int do_run(struct context *ctx, const struct run_options *o, int argc, char **argv);

/* The environment that makes programs record into a run: "NAME=value" for each variable, in order.
 * The caller frees the list and its strings. Lines about events that cannot be counted go to
 * *problems. */
char **recording_environment(struct context *ctx, const struct jobdir *j, const struct runfile *r,
			     struct strbuf *problems);
void free_strings(char **list);
/* Our library first, or not at all, then what LD_PRELOAD has besides; freed by the caller. */
char *preload_list(const char *library, bool with);

/* Files as another tool would have left them, made from a job's records. */
struct exporter {
	const char *name;
	const char *variable_prefix; /* of the variables that its users set, for themselves or by
					`source` */
	const char *events; /* variable that lists events to count, where none are configured */
	/* Variables for a command that is recorded; none where no files are wanted. */
	void (*environment)(const struct context *ctx, const struct jobdir *j,
			    void (*add)(void *user, const char *name, const char *value),
			    void *user);
	/* Does nothing where none are wanted. Says what is wrong. */
	int (*write)(struct context *ctx, const struct jobdir *j);
};
/* Ends with NULL. */
extern const struct exporter *const exporters[];
/* All that are wanted. */
int export_job(struct context *ctx, const struct jobdir *j);

#endif
