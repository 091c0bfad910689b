/* `plimsoll run`: records a command and everything it starts. */
#pragma once

#include "context/context.h"
#include "context/current_job.h"
#include "jobs/job_directory.h"

struct run_options {
	const char *dir;  /* the job directory; NULL: below the prefix */
	const char *name; /* of the job */
	const char *json; /* "-": stderr; NULL: none */
	bool auto_job;    /* this run includes start and stop, which must succeed */
	bool error;       /* fail if the command cannot be recorded */
	bool dry, wait, quiet;
	bool no_submit;     /* keep the job in its directory, do not store it */
	bool submit;        /* store the job even if others may join it */
	uint64_t wait_ns;   /* 0: no limit */
	uint64_t sample_ns; /* period of samples beside the records; 0: none */
};
int do_run(struct context *ctx, const struct run_options *o, int argc, char **argv);

/* The variables that make programs record into a run, as "NAME=value"; freed by free_strings().
 * Adds lines about events that cannot be counted to *problems. */
char **recording_environment(struct context *ctx, const struct job_directory *j,
			     const struct run_file *r, struct strbuf *problems);
void free_strings(char **list);
/* LD_PRELOAD with our library first, or without it; freed by the caller. */
char *preload_list(const char *library, bool with);

/* Writes files of another tool from the records of a job. */
struct exporter {
	const char *name;
	const char *variable_prefix; /* of the variables of its users */
	const char *events;          /* variable with a list of events, if none are configured */
	/* Adds variables for a recorded command, if files are wanted. */
	void (*environment)(const struct context *ctx, const struct job_directory *j,
			    void (*add)(void *user, const char *name, const char *value),
			    void *user);
	/* Writes the files, if wanted; logs errors. 0 or a negative errno. */
	int (*write)(struct context *ctx, const struct job_directory *j);
};
/* Ends with NULL. */
extern const struct exporter *const exporters[];
/* Writes the files of all exporters. 0 or a negative errno. */
int export_job(struct context *ctx, const struct job_directory *j);
