/* Viewers: their names, and what they may read; see viewer.h. */
#include "store/viewer.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>

const char *const viewer_roles[VIEWER_ROLES] = {"job", "user", "project", "support", "admin"};

/* ---- names ------------------------------------------------------------------------------------
 */

static bool is_name(const char *s, size_t n)
{
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._@+-";

	return n && n <= VIEWER_NAME_MAX && *s != '-' && strspn(s, allowed) >= n;
}

bool viewer_name_valid(const char *name)
{
	return is_name(name, strlen(name));
}

bool viewer_projects_valid(const char *list)
{
	if (strlen(list) > VIEWER_PROJECTS_MAX)
		return false;
	while (*list) {
		size_t n = strcspn(list, ",");

		if (!is_name(list, n) || (list[n] == ',' && !list[n + 1]))
			return false;
		list += n + (list[n] == ',');
	}
	return true;
}

int viewer_role_parse(const char *name)
{
	for (int i = VIEWER_USER; i < VIEWER_ROLES; i++)
		if (!strcmp(viewer_roles[i], name))
			return i;
	return -EINVAL;
}

/* ---- text -------------------------------------------------------------------------------------
 */

void viewer_add_text(const struct viewer *v, struct strbuf *out)
{
	if (v->role == VIEWER_JOB)
		strbuf_addf(out, "%s:%lld:", viewer_roles[v->role], (long long)v->job);
	else
		strbuf_addf(out, "%s:%s:%s", viewer_roles[v->role], v->user, v->projects);
}

static bool take_text(struct viewer *v, char *text)
{
	char *name = strchr(text, ':'), *projects = name ? strchr(name + 1, ':') : NULL;

	if (!projects)
		return false;
	*name++ = 0;
	*projects++ = 0;
	if (!strcmp(text, viewer_roles[VIEWER_JOB])) {
		v->role = VIEWER_JOB;
		return parse_i64(name, &v->job) == 0 && v->job > 0 && !*projects;
	}
	int role = viewer_role_parse(text);
	if (role < 0 || !viewer_name_valid(name) || !viewer_projects_valid(projects))
		return false;
	v->role = (enum viewer_role)role;
	memcpy(v->user, name, strlen(name) + 1);
	memcpy(v->projects, projects, strlen(projects) + 1);
	return true;
}

int viewer_parse(struct viewer *v, const char *text, struct strbuf *why)
{
	_cleanup_free_ char *copy = xstrdup(text);

	*v = (struct viewer){.role = VIEWER_JOB};
	if (take_text(v, copy))
		return 0;
	*v = (struct viewer){.role = VIEWER_JOB};
	return strbuf_fail(why, -EINVAL,
			   "invalid value of " VIEWER_ENV "; it is ROLE:USER:PROJECTS, such as "
			   "user:alice: or project:alice:climate,ocean");
}

bool viewer_is_narrow(const struct viewer *v)
{
	return v->role < VIEWER_SUPPORT;
}

/* ---- job directories --------------------------------------------------------------------------
 */

/* A directory is not a row of the store: what lies in it was written by its owner, and is read with
 * our rights. So it must be ours, and the viewer must be us. */
bool viewer_may_read(const struct viewer *v, const char *path)
{
	char buf[4096];
	struct passwd p, *found = NULL;
	struct stat st;

	if (!viewer_is_narrow(v))
		return true;
	if (v->role == VIEWER_JOB || stat(path, &st) < 0 || st.st_uid != geteuid())
		return false;
	return getpwuid_r(geteuid(), &p, buf, sizeof(buf), &found) == 0 && found &&
	       !strcmp(found->pw_name, v->user);
}

bool viewer_of_environment_may_read(const char *path)
{
	_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;
	const char *text = getenv(VIEWER_ENV);
	struct viewer v;

	if (!text)
		return true;
	return viewer_parse(&v, text, &ignored) == 0 && viewer_may_read(&v, path);
}

/* ---- the environment --------------------------------------------------------------------------
 */

/* 1: there is a viewer. A job directory that is read into memory was checked before. */
static int find_viewer(struct store *s, enum store_access access, struct viewer *v)
{
	const char *text = getenv(VIEWER_ENV);

	if (!text || (access == STORE_WRITE && !strcmp(s->where, ":memory:")))
		return 0;
	strbuf_reset(&s->error);
	int r = viewer_parse(v, text, &s->error);
	return r < 0 ? r : 1;
}

int store_check_viewer(struct store *s, enum store_access access)
{
	struct viewer v;
	int r = find_viewer(s, access, &v);

	if (r <= 0 || !viewer_is_narrow(&v) || access == STORE_READ)
		return r < 0 ? r : 0;
	return store_fail(s, EPERM, "this viewer may only read jobs of the store (" VIEWER_ENV ")");
}

int store_view_by_environment(struct store *s, enum store_access access)
{
	struct viewer v;
	int r = find_viewer(s, access, &v);

	return r <= 0 ? r : store_view_as(s, &v);
}
