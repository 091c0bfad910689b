/*
 * What is written down of a job when it starts and stops: who, where, under which batch system, in
 * which environment. Values of variables that look like secrets are masked before anything else
 * sees them.
 */
#ifndef PL_JOBS_METADATA_H
#define PL_JOBS_METADATA_H

#include "core/config.h"
#include "core/text/secrets.h"
#include "core/value.h"
#include "jobs/job_directory.h"

struct job_facts {
	const char *id, *name, *user, *script; /* borrowed; NULL where unknown */
	int64_t when_us;
};

/* The environment without what is configured to be dropped, with secrets masked. */
struct value *environment_facts(const struct config *c, char *const *envp);
/* The same for an environment that others wrote down. */
void environment_mask(struct value *env);
/* The same for tags and annotations, by whoever they were made; how many of them were masked. */
size_t notes_mask(struct value *notes);
/* Variables whose value differs between two environments; None for one that is gone. */
struct value *environment_changes(const struct value *before, const struct value *after);

/* A time in microseconds as KEY_us, and as text as KEY. */
void facts_set_time(struct value *facts, const char *key, int64_t us);
/* That a job was cut off by this signal now, at the scheduler's limit where it says when that is;
 * NULL for a signal that a user sends. batch: it is a batch job. */
struct value *facts_cut_off(int sig, bool batch);
/* CPUs of this host that we may run on: by affinity, and by a cpuset of the group. */
int64_t usable_cpus(void);
/* Those of them that the batch system has given, which may be fewer than it binds to. */
int64_t granted_cpus(void);
/* Kernel, CPUs and memory of this host. */
struct value *host_facts(void);
/* Name of the script that the calling shell runs; NULL when it runs none. Freed by the caller. */
char *calling_script(void);
/* The name of the shell that called this program, "bash"; "shell" where it is another program. */
char *calling_shell(void);
/* A command with its arguments as a list, secrets masked. */
struct value *facts_command(char *const *argv);
/* That of a process; NULL where it has none. */
struct value *facts_command_of(const char *root, int pid);
/* Name of the effective user; freed by the caller. */
char *user_facts(void);

/* Metadata of a job that starts, as its layout has them. environment is taken. */
struct value *meta_start(const struct job_layout *l, const struct config *c,
			 const struct job_facts *f, struct value *environment);
/* Annotations of a job, in either form; made when missing. */
struct value *meta_annotations(struct value *meta);
/* Adds tags to those of a job, in either form; a key that is there gets the new value. Words that
 * are no tags are told and left out. Did any tag change? */
bool meta_add_tags(struct value *meta, const char *text);
/* Job tags replaced by the given ones (taken). */
void meta_set_tags(struct value *meta, struct value *tags);

#endif
