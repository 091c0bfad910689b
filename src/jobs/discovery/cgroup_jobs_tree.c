/*
 * Directories that lead to jobs; see cgroup_jobs_internal.h. A directory is watched before it is
 * listed: what appears in between is seen twice, never missed. All are listed again every minute,
 * because inotify does not report everything (mounts over directories).
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>

#include "core/files/fs.h"
#include "jobs/discovery/cgroup_jobs_internal.h"
#include "jobs/discovery/cgroup_patterns.h"

#define SECOND 1000000000ull
#define RETRY_NS SECOND
#define RELIST_NS (60 * SECOND)

#define EVENTS (IN_CREATE | IN_DELETE | IN_MOVED_FROM | IN_MOVED_TO | IN_DELETE_SELF | IN_ONLYDIR)

/* ---- directories ---------------------------------------------------------------------------- */

static struct dir *dir_add(struct cgroup_jobs *j, struct tree *t, const char *path,
			   const char *below, unsigned depth)
{
	struct dir *d = xcalloc(1, sizeof(*d));

	*d = (struct dir){.tree = t,
			  .path = xstrdup(path),
			  .below = xstrdup(below),
			  .depth = depth,
			  .dirty = true,
			  .wd = -1};
	if (j->inotify >= 0)
		d->wd = inotify_add_watch(j->inotify, path, EVENTS);
	j->unwatched += d->wd < 0;
	GROW(j->dirs, j->dir_count, j->dir_cap);
	j->dirs[j->dir_count++] = d;
	return d;
}

static void dir_drop(struct cgroup_jobs *j, struct dir *d);

static void child_drop(struct cgroup_jobs *j, struct child *c)
{
	if (c->dir)
		dir_drop(j, c->dir);
	if (c->group)
		entries_lose(j, c->group);
	free(c->name);
}

static void dir_drop(struct cgroup_jobs *j, struct dir *d)
{
	bool shared = false;
	size_t keep = 0;

	for (size_t i = 0; i < d->count; i++)
		child_drop(j, &d->children[i]);
	for (size_t i = 0; i < j->dir_count; i++) {
		if (j->dirs[i] == d)
			continue;
		shared |= j->dirs[i]->wd == d->wd;
		j->dirs[keep++] = j->dirs[i];
	}
	j->dir_count = keep;
	j->unwatched -= d->wd < 0;
	/* two roots may share a directory, which has one watch */
	if (d->wd >= 0 && !shared)
		(void)inotify_rm_watch(j->inotify, d->wd);
	free(d->children);
	free(d->path);
	free(d->below);
	free(d);
}

/* ---- listing -------------------------------------------------------------------------------- */

struct found {
	char *name;
	uint64_t inode;
};

static int by_name(const void *a, const void *b)
{
	return strcmp(((const struct found *)a)->name, ((const struct found *)b)->name);
}

/* Lists the subdirectories, sorted, without links. -errno if it cannot be read. */
static int list(struct cgroup_jobs *j, const char *path, struct found **ret, size_t *ret_count)
{
	_cleanup_list_ DIR *d = fs_open_list(AT_FDCWD, path);
	struct stat st;
	size_t cap = 0;

	*ret = NULL;
	*ret_count = 0;
	if (!d)
		return -errno;
	for (const struct dirent *e; (e = readdir(d));) {
		if (e->d_name[0] == '.' || (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN))
			continue;
		if (e->d_type == DT_UNKNOWN &&
		    (fstatat(dirfd(d), e->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		     !S_ISDIR(st.st_mode)))
			continue;
		if (*ret_count >= CGROUP_JOBS_CHILDREN_MAX) {
			j->left_out = true;
			break;
		}
		GROW(*ret, *ret_count, cap);
		(*ret)[(*ret_count)++] = (struct found){xstrdup(e->d_name), e->d_ino};
	}
	if (*ret_count)
		qsort(*ret, *ret_count, sizeof(**ret), by_name);
	return 0;
}

/* Classifies a new directory; true: try again soon. */
static bool child_judge(struct cgroup_jobs *j, struct dir *d, struct child *c)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", d->path, c->name);
	_cleanup_free_ char *below = xasprintf("%s%s%s", d->below, *d->below ? "/" : "", c->name);
	struct path_job is;
	int r = 0;

	c->pending = false;
	switch (patterns_judge(j, d->tree, below, &is)) {
	case PATH_JOB:
		r = entries_add(j, d->tree, path, below, &is, &c->group);
		c->pending = r < 0;
		free(is.id);
		free(is.user);
		break;
	case PATH_ABOVE:
		if (d->depth + 1 >= CGROUP_JOBS_DEPTH_MAX || strlen(path) >= PATH_MAX - NAME_MAX)
			break;
		if (j->dir_count >= CGROUP_JOBS_DIRS_MAX)
			j->left_out = true;
		else
			c->dir = dir_add(j, d->tree, path, below, d->depth + 1);
		break;
	case PATH_OTHER:
		break;
	}
	return r == -EAGAIN;
}

/* Replaces the list of a directory by a new one. */
static void dir_merge(struct cgroup_jobs *j, struct dir *d, struct found *found, size_t count)
{
	struct child *children = xcalloc(count + 1, sizeof(*children)), *old = d->children;
	size_t at = 0, old_count = d->count;
	bool pending = false;

	d->children = NULL;
	d->count = 0;
	/* drop the old ones first: a new one in their place may be the same job's */
	for (size_t i = 0; i < old_count; i++) {
		while (at < count && strcmp(found[at].name, old[i].name) < 0)
			at++;
		if (at == count || strcmp(found[at].name, old[i].name) != 0 ||
		    found[at].inode != old[i].inode) {
			child_drop(j, &old[i]);
			continue;
		}
		children[at] = old[i];
	}
	for (size_t i = 0; i < count; i++) {
		struct child *c = &children[i];

		if (c->name) {
			free(found[i].name);
		} else {
			*c = (struct child){.name = found[i].name, .inode = found[i].inode};
			c->pending = true;
		}
		if (c->pending)
			pending |= child_judge(j, d, c);
	}
	free(old);
	d->children = children;
	d->count = count;
	d->dirty |= pending;
}

/* Lists a directory again; false if it is gone. */
static bool dir_list(struct cgroup_jobs *j, struct dir *d)
{
	struct found *found;
	size_t count;
	int r = list(j, d->path, &found, &count);

	d->dirty = false;
	if (d->wd < 0 && j->inotify >= 0) {
		d->wd = inotify_add_watch(j->inotify, d->path, EVENTS);
		j->unwatched -= d->wd >= 0;
		d->dirty = d->wd >= 0; /* for what came before the watch */
	}
	if (r == -ENOENT || r == -ENOTDIR || r == -ELOOP)
		return false;
	if (r == 0)
		dir_merge(j, d, found, count);
	else
		d->dirty = true; /* no descriptors or memory: try again */
	free(found);
	return true;
}

/* ---- hierarchies and roots ------------------------------------------------------------------ */

static void hierarchy_judge(struct cgroup_jobs *j, size_t i)
{
	static const struct {
		const char *name;
		unsigned bit;
		int rank; /* in the order of mount_nth() */
	} known[] = {
		{"freezer", 0, 0},
		{"cpuset", 0, 2},
		{"cpuacct", 1u << CGROUP_JOBS_CPUACCT, 3},
		{"memory", 1u << CGROUP_JOBS_MEMORY, 4},
		{"pids", 1u << CGROUP_JOBS_PIDS, 5},
		{"cpu", 1u << CGROUP_JOBS_CPU, 6},
		{"blkio", 1u << CGROUP_JOBS_BLKIO, 7},
		{"perf_event", 1u << CGROUP_JOBS_PERF, 8},
		{"name=systemd", 0, 9},
		{"systemd", 0, 9},
	};
	const struct cgroup_mount *m = &j->mounts.list[i];
	struct hierarchy h = {.rank = 100, .space = j->spaces, .version2 = !*m->controllers};

	for (size_t k = 0; k < ARRAY_SIZE(known); k++)
		if (mount_has(m, known[k].name, strlen(known[k].name))) {
			h.controllers |= known[k].bit;
			h.rank = h.rank < known[k].rank ? h.rank : known[k].rank;
		}
	if (h.version2) {
		h.controllers = (1u << CGROUP_JOBS_MEMBERS) - 1;
		h.rank = 1;
	}
	h.used = h.rank < 100;
	for (size_t k = 0; k < i && h.used; k++)
		if (j->hierarchies[k].used && j->hierarchies[k].space == h.space &&
		    j->hierarchies[k].rank == h.rank)
			h.used = false; /* mounted twice */
	j->hierarchies[i] = h;
}

/* Adds the hierarchies of the mounts from this one on, as one space. */
static void hierarchies_take(struct cgroup_jobs *j, size_t from)
{
	if (j->mounts.count > j->hierarchy_cap) {
		j->hierarchy_cap = j->mounts.count + 16;
		j->hierarchies =
			xreallocarray(j->hierarchies, j->hierarchy_cap, sizeof(*j->hierarchies));
	}
	for (size_t i = from; i < j->mounts.count; i++)
		hierarchy_judge(j, i);
}

static void tree_add(struct cgroup_jobs *j, size_t hierarchy, const char *below, bool managers,
		     const char *only)
{
	struct tree *t;

	for (size_t i = 0; i < j->tree_count; i++) {
		t = j->trees[i];
		if (t->hierarchy == hierarchy && !strcmp(t->below, below) &&
		    (only ? t->only && !strcmp(t->only, only) : !t->only))
			return;
	}
	t = xcalloc(1, sizeof(*t));
	*t = (struct tree){.hierarchy = hierarchy,
			   .path = xasprintf("%s%s%s", j->mounts.list[hierarchy].dir,
					     *below ? "/" : "", below),
			   .below = xstrdup(below),
			   .managers = managers,
			   .inferred = !managers,
			   .only = only ? xstrdup(only) : NULL};
	GROW(j->trees, j->tree_count, j->tree_cap);
	j->trees[j->tree_count++] = t;
}

/* Does a manager have groups at or below this path? */
static bool is_managers(const struct cgroup_jobs *j, const char *below)
{
	struct span id = {0}, user = {0};

	for (size_t i = 0; i < manager_group_count; i++)
		if ((!manager_groups[i].container || j->containers) &&
		    cgroup_pattern_match(&manager_groups[i], below, &id, &user) == MATCH_ABOVE)
			return true;
	return false;
}

/* Assumes a mount where neither mountinfo nor names of controllers show one: the directory above a
 * manager's own name at the end of the path, else the directory itself. */
static void mount_invent(struct cgroup_jobs *j, const char *dir)
{
	static const char all[] = "cpu,cpuacct,memory,blkio,pids,perf_event,cpuset,freezer";
	_cleanup_free_ char *above = xstrdup(dir);
	_cleanup_free_ char *file = xasprintf("%s%s/cgroup.controllers", j->root, dir);
	const char *controllers = access(file, F_OK) == 0 ? "" : all;

	for (char *p; (p = strrchr(above, '/'));) {
		if (is_managers(j, dir + (p - above) + 1)) {
			*p = 0;
			mounts_add(&j->mounts, controllers, above, "/");
			return;
		}
		*p = 0;
	}
	mounts_add(&j->mounts, controllers, dir, "/");
}

/* The hierarchy of a directory, assumed if there is no mount for it. */
static const struct cgroup_mount *mount_for(struct cgroup_jobs *j, const char *real)
{
	const struct cgroup_mount *m = mount_above(&j->mounts, real);
	const char *dir = real + (str_prefix(real, j->root) ? strlen(j->root) : 0);
	size_t from = j->mounts.count;

	for (const char *p = dir; !m && (p = strchr(p + 1, '/'));) {
		_cleanup_free_ char *above = xstrndup(dir, (size_t)(p - dir));

		mounts_guess(&j->mounts, above, true);
		m = mount_above(&j->mounts, real);
		if (!m)
			mounts_cut(&j->mounts, from);
	}
	if (!m) {
		mount_invent(j, dir);
		m = mount_above(&j->mounts, real);
	}
	if (j->mounts.count > from) {
		j->spaces++;
		hierarchies_take(j, from);
	}
	return m;
}

/* A root that the user named: searched for in all hierarchies of its space. */
static void root_find(struct cgroup_jobs *j, struct wanted *w)
{
	_cleanup_free_ char *named = xasprintf("%s%s", j->root, w->path);
	_cleanup_free_ char *real = realpath(named, NULL);
	struct stat st;

	if (!real || stat(real, &st) < 0 || !S_ISDIR(st.st_mode))
		return;
	const struct cgroup_mount *m = mount_for(j, real);
	if (!m)
		return;
	size_t own = (size_t)(m - j->mounts.list);
	const char *below = real + strlen(m->dir);
	below += strspn(below, "/");
	bool managers = !j->patterns_given && is_managers(j, below) &&
			(*below || j->hierarchies[own].space == 0);

	for (size_t i = 0; i < j->mounts.count; i++)
		if ((j->hierarchies[i].used &&
		     j->hierarchies[i].space == j->hierarchies[own].space) ||
		    i == own)
			tree_add(j, i, below, managers, w->only);
	w->found = true;
}

/* ---- all of it ------------------------------------------------------------------------------ */

/* Without roots, the mounts themselves are searched. */
static void default_trees(struct cgroup_jobs *j)
{
	for (size_t i = 0; !j->rooted && i < j->mounts.count; i++)
		if (j->hierarchies[i].used)
			tree_add(j, i, "", !j->patterns_given, NULL);
}

void trees_open(struct cgroup_jobs *j)
{
	mounts_find(&j->mounts, j->root);
	hierarchies_take(j, 0);
	default_trees(j);
}

void trees_remount(struct cgroup_jobs *j)
{
	struct mounts now = {0};
	size_t from = j->mounts.count;

	mounts_find(&now, j->root);
	for (size_t i = 0; i < now.count; i++) {
		bool known = false;

		for (size_t k = 0; k < from; k++)
			known |= !strcmp(j->mounts.list[k].dir, now.list[i].dir) &&
				 !strcmp(j->mounts.list[k].controllers, now.list[i].controllers);
		if (known)
			continue;
		GROW(j->mounts.list, j->mounts.count, j->mounts.cap);
		j->mounts.list[j->mounts.count++] = now.list[i];
		now.list[i] = (struct cgroup_mount){0};
	}
	mounts_close(&now);
	if (j->mounts.count == from)
		return;
	int spaces = j->spaces;
	j->spaces = 0; /* the space of the mounts */
	hierarchies_take(j, from);
	j->spaces = spaces;
	default_trees(j);
	for (size_t i = 0; i < j->wanted_count; i++)
		j->wanted[i].found = false; /* may be in a new hierarchy too */
}

bool trees_wait(const struct cgroup_jobs *j)
{
	for (size_t i = 0; i < j->wanted_count; i++)
		if (!j->wanted[i].found)
			return true;
	for (size_t i = 0; i < j->tree_count; i++)
		if (!j->trees[i]->top)
			return true;
	return j->unwatched > 0;
}

void trees_event(struct cgroup_jobs *j, int wd, bool over)
{
	for (size_t i = 0; i < j->dir_count; i++) {
		if (wd >= 0 && j->dirs[i]->wd != wd)
			continue;
		j->dirs[i]->dirty = true;
		j->unwatched += over;
		if (over)
			j->dirs[i]->wd = -1;
	}
}

static void tree_find(struct cgroup_jobs *j, struct tree *t)
{
	struct stat st;

	if (t->top || j->now_ns - t->tried_ns < RETRY_NS)
		return;
	t->tried_ns = j->now_ns;
	if (lstat(t->path, &st) == 0 && S_ISDIR(st.st_mode))
		t->top = dir_add(j, t, t->path, "", 0);
}

static void dir_gone(struct cgroup_jobs *j, struct dir *d)
{
	if (d->tree->top == d) {
		d->tree->top = NULL;
		d->tree->tried_ns = j->now_ns;
		dir_drop(j, d);
		return;
	}
	/* its parent drops it */
	for (size_t i = 0; i < j->dir_count; i++)
		for (size_t k = 0; k < j->dirs[i]->count; k++)
			if (j->dirs[i]->children[k].dir == d)
				j->dirs[i]->dirty = true;
}

void trees_update(struct cgroup_jobs *j)
{
	if (j->now_ns - j->relisted_ns >= (j->unwatched ? RETRY_NS : RELIST_NS)) {
		j->relisted_ns = j->now_ns;
		trees_event(j, -1, false);
	}
	for (size_t i = 0; i < j->wanted_count; i++)
		if (!j->wanted[i].found)
			root_find(j, &j->wanted[i]);
	for (size_t i = 0; i < j->tree_count; i++)
		tree_find(j, j->trees[i]);
	/* listing may add directories, which are then listed too, and drop others; what has to
	 * wait stays dirty for the next update */
	for (size_t i = 0; i < j->dir_count; i++) {
		struct dir *d = j->dirs[i];
		size_t count = j->dir_count;

		if (!d->dirty || d->listed == j->updates)
			continue;
		d->listed = j->updates;
		if (!dir_list(j, d))
			dir_gone(j, d);
		if (j->dir_count < count)
			i = (size_t)-1; /* the others have moved: start again */
	}
}

void trees_close(struct cgroup_jobs *j)
{
	for (size_t i = 0; i < j->tree_count; i++) {
		if (j->trees[i]->top)
			dir_drop(j, j->trees[i]->top);
		free(j->trees[i]->path);
		free(j->trees[i]->below);
		free(j->trees[i]->only);
		free(j->trees[i]);
	}
	mounts_close(&j->mounts);
	free(j->trees);
	free(j->dirs);
	free(j->hierarchies);
}
