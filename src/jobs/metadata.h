/*
 * The metadata of a job, collected when it starts and stops: user, host, batch system, environment.
 * Values of variables that look like secrets are masked first.
 */
#pragma once

#include "core/config.h"
#include "core/text/secrets.h"
#include "core/value.h"
#include "jobs/job_directory.h"

struct job_description {
	const char *id, *name, *user, *script; /* borrowed; NULL where unknown */
	int64_t when_us;
};

/* The environment without the variables configured to be dropped, with secrets masked. */
struct value *environment_metadata(const struct config *c, char *const *envp);
/* Masks secrets in an environment that others recorded. */
void environment_mask(struct value *env);
/* The same for tags and annotations; returns how many were masked. */
size_t notes_mask(struct value *notes);
/* Variables whose value differs between two environments; None for a removed one. */
struct value *environment_changes(const struct value *before, const struct value *after);

/* Sets a time in microseconds as KEY_us, and as text as KEY. */
void metadata_set_time(struct value *metadata, const char *key, int64_t us);
/* Describes that this signal ended the job now, and whether at the time limit of the scheduler;
 * NULL for a signal that users send. batch: it is a batch job. */
struct value *metadata_cut_off(int sig, bool batch);
/* CPUs of this host that we may run on, by affinity and cpuset. */
int64_t usable_cpus(void);
/* CPUs that the batch system granted, which may be fewer. */
int64_t granted_cpus(void);
/* Kernel, CPUs and memory of this host. */
struct value *host_metadata(void);
/* Name of the script that the calling shell runs; NULL: none. Freed by the caller. */
char *calling_script(void);
/* The name of the shell that called this program, "bash"; "shell" if it is not a shell. */
char *calling_shell(void);
/* A command with its arguments as a list, with secrets masked. */
struct value *metadata_command(char *const *argv);
/* The command of a process; NULL: it has none. */
struct value *metadata_command_of(const char *root, int pid);
/* Name of the effective user; freed by the caller. */
char *effective_user(void);

/* Metadata of a job that starts, in its layout. Takes ownership of environment. */
struct value *meta_start(const struct job_layout *l, const struct config *c,
			 const struct job_description *f, struct value *environment);
/* The annotations of a job; added if missing. */
struct value *meta_annotations(struct value *meta);
/* Adds tags to a job; an existing key gets the new value. Invalid tags are ignored with a warning.
 * Did any tag change? */
bool meta_add_tags(struct value *meta, const char *text);
/* Replaces the job tags; takes ownership of tags. */
void meta_set_tags(struct value *meta, struct value *tags);
