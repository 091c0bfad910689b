/* Users of the web server; see access_users.h. */
#include "store/access_users.h"

#include <string.h>

#include "core/clock.h"

void access_users_release(struct access_users *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->v[i].hash);
	free(l->v);
	*l = (struct access_users){.v = NULL};
}

static bool take_row(struct access_user *u, struct stmt *st)
{
	const char *name = stmt_get_str(st, 0), *projects = stmt_get_str(st, 3);
	int role = viewer_role_parse(stmt_get_str(st, 2));

	if (role < 0 || !viewer_name_valid(name) || !viewer_projects_valid(projects))
		return false;
	*u = (struct access_user){.viewer.role = (enum viewer_role)role,
				  .hash = stmt_get_copy(st, 1),
				  .disabled = stmt_get_int(st, 4) != 0,
				  .changed_us = stmt_get_int(st, 5)};
	memcpy(u->viewer.user, name, strlen(name) + 1);
	memcpy(u->viewer.projects, projects, strlen(projects) + 1);
	return true;
}

int access_users_load(struct access_users *l, struct store *s)
{
	struct access_user u;
	int r;

	if (s->schema < ACCESS_SCHEMA)
		return 0;
	_cleanup_stmt_ struct stmt *st =
		stmt_prepare(s, "SELECT name, hash, role, projects, disabled, changed_us "
				"FROM access_user ORDER BY name");
	while ((r = stmt_step(st)) == 1)
		if (take_row(&u, st)) {
			GROW(l->v, l->count, l->cap);
			l->v[l->count++] = u;
		}
	return r;
}

const struct access_user *access_users_find(const struct access_users *l, const char *name)
{
	for (size_t i = 0; i < l->count; i++)
		if (!strcmp(l->v[i].viewer.user, name))
			return &l->v[i];
	return NULL;
}

static int write_user(struct store *s, const char *sql, const struct access_user *u)
{
	const struct viewer *v = &u->viewer;
	_cleanup_stmt_ struct stmt *st =
		store_query(s, sql, db_str(v->user), db_str(u->hash), db_str(viewer_roles[v->role]),
			    db_str(v->projects), db_int(u->disabled), db_int(clock_realtime_us()));
	int r = stmt_step(st);

	return r < 0 ? r : s->engine->changes(st) ? 0 : -ENOENT;
}

int access_user_add(struct store *s, const struct access_user *u)
{
	int r = write_user(s,
			   "INSERT INTO access_user (name, hash, role, projects, disabled, "
			   "changed_us) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (name) DO "
			   "NOTHING",
			   u);

	return r == -ENOENT ? -EEXIST : r;
}

int access_user_change(struct store *s, const struct access_user *u)
{
	return write_user(s,
			  "UPDATE access_user SET hash = $2, role = $3, projects = $4, "
			  "disabled = $5, changed_us = $6 WHERE name = $1",
			  u);
}

int access_user_remove(struct store *s, const char *name)
{
	_cleanup_stmt_ struct stmt *st =
		store_query(s, "DELETE FROM access_user WHERE name = $1", db_str(name));
	int r = stmt_step(st);

	return r < 0 ? r : s->engine->changes(st) ? 0 : -ENOENT;
}

int access_note(struct store *s, const char *name, const char *address, const char *what,
		const char *detail)
{
	int64_t now = clock_realtime_us();
	int r = store_run(s, "DELETE FROM access_event WHERE time_us < $1",
			  db_int(now - ACCESS_EVENTS_KEPT_US));

	return r < 0 ? r
		     : store_run(s,
				 "INSERT INTO access_event (time_us, name, address, what, detail) "
				 "VALUES ($1, $2, $3, $4, $5)",
				 db_int(now), db_str(name), db_str(address), db_str(what),
				 db_str(detail));
}
