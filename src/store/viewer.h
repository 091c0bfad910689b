/*
 * Who looks at a store. A viewer that may not see everything gets temporary views that hide every
 * table and view of the store and have the rows of the jobs that it may see. What is asked
 * afterwards, by whatever command, filter or statement, finds nothing else: no name of another's
 * job can be in an answer, a count or a message. A table that nobody has declared in store_tables
 * is empty for such a viewer.
 *
 * `plimsoll serve` tells its commands by PLIMSOLL_VIEWER for whom they work; store_open() heeds it,
 * so that it can only narrow what its user could read anyway.
 */
#pragma once

#include "store/store.h"

#define VIEWER_ENV "PLIMSOLL_VIEWER"
#define VIEWER_NAME_MAX 64
#define VIEWER_PROJECTS_MAX 1024

enum viewer_role {
	VIEWER_JOB,     /* one job, by its number */
	VIEWER_USER,    /* own jobs */
	VIEWER_PROJECT, /* own jobs, and those of some projects */
	VIEWER_SUPPORT, /* all jobs */
	VIEWER_ADMIN,   /* all jobs, and may change everything */
	VIEWER_ROLES,
};
extern const char *const viewer_roles[VIEWER_ROLES]; /* their names */

struct viewer {
	enum viewer_role role;
	int64_t job; /* of VIEWER_JOB */
	char user[VIEWER_NAME_MAX + 1];
	char projects[VIEWER_PROJECTS_MAX + 1]; /* separated by commas */
};

/* Names of users and projects: letters, digits and ._@+-, not in front -. */
bool viewer_name_valid(const char *name);
/* The same for a list with commas, which may be empty. */
bool viewer_projects_valid(const char *list);
/* The role of this name, but not "job"; -EINVAL: none. */
int viewer_role_parse(const char *name);

/* As text, "user:alice:" or "project:alice:a,b" or "job:17:"; and back. -EINVAL with a reason. */
void viewer_add_text(const struct viewer *v, struct strbuf *out);
int viewer_parse(struct viewer *v, const char *text, struct strbuf *why);

/* Does the viewer see only some jobs? */
bool viewer_is_narrow(const struct viewer *v);

/* Narrows an opened store, once; of a narrow viewer it must be open for reading. Later changes of
 * the viewer do not matter. -EPERM, or an error of the engine, with the store's message: the store
 * must not be used then. */
int store_view_as(struct store *s, const struct viewer *v);
/* PLIMSOLL_VIEWER, if it is set: may the store be opened like this? -EPERM, -EINVAL. */
int store_check_viewer(struct store *s, enum store_access access);
/* The same after it was opened: narrows it. */
int store_view_by_environment(struct store *s, enum store_access access);

/* May the viewer of PLIMSOLL_VIEWER, or v, read a job directory that is not in the store? Those of
 * others are never read. */
bool viewer_may_read(const struct viewer *v, const char *path);
bool viewer_of_environment_may_read(const char *path);
