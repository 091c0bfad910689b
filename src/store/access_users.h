/* Users of the web server in the store, and the log of what they did. */
#pragma once

#include "store/viewer.h"

#define ACCESS_SCHEMA 13 /* the migration with the tables */
#define ACCESS_EVENTS_KEPT_US (INT64_C(400) * 86400 * 1000000)

struct access_user {
	struct viewer viewer; /* name, role, projects */
	char *hash;           /* NULL: no password */
	bool disabled;
	int64_t changed_us;
};
struct access_users {
	struct access_user *v; /* sorted by name */
	size_t count, cap;
};
void access_users_release(struct access_users *l);
#define _cleanup_access_users_ _cleanup_(access_users_release)

/* All users; an empty list on a store of an older schema. A row that is not valid is left out. */
int access_users_load(struct access_users *l, struct store *s);
/* NULL: there is none. */
const struct access_user *access_users_find(const struct access_users *l, const char *name);

/* -EEXIST: there is such a user. Its viewer was checked. */
int access_user_add(struct store *s, const struct access_user *u);
/* Replaces what the store has of the user. -ENOENT: there is none. */
int access_user_change(struct store *s, const struct access_user *u);
int access_user_remove(struct store *s, const char *name);

/* Writes a line of the log; old ones are removed. Texts may be NULL. */
int access_note(struct store *s, const char *name, const char *address, const char *what,
		const char *detail);
