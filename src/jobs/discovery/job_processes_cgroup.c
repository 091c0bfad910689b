/* Finds the control groups of a job by the names that batch systems give them, and reads who is in
 * them. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "core/files/fs.h"
#include "core/system/procparse.h"
#include "jobs/discovery/cgroup_patterns.h"
#include "jobs/discovery/job_processes_internal.h"

#define DIRS_MAX 4096

void groups_close(struct job_processes_finder *f)
{
	for (size_t i = 0; i < f->dir_count; i++)
		free(f->dirs[i].path);
	free(f->dirs);
	mounts_close(&f->mounts);
}

/* ---- names ---------------------------------------------------------------------------------- */

static bool add_dir(struct job_processes_finder *f, const char *path, int step, bool top)
{
	for (size_t i = 0; i < f->dir_count; i++)
		if (!strcmp(f->dirs[i].path, path))
			return false;
	if (f->dir_count >= DIRS_MAX)
		return false;
	GROW(f->dirs, f->dir_count, f->dir_cap);
	f->dirs[f->dir_count++] =
		(struct job_processes_dir){.path = xstrdup(path), .step = step, .top = top};
	return true;
}

/* Adds the directories below dir that match the pattern. */
static void search(struct job_processes_finder *f, const char *dir, const char *pattern)
{
	size_t n = strcspn(pattern, "/");
	const char *rest = pattern + n + (pattern[n] == '/');
	struct stat st;

	if (!*pattern) {
		if (stat(dir, &st) == 0 && S_ISDIR(st.st_mode))
			add_dir(f, dir, -1, true);
		return;
	}
	if (strcspn(pattern, "%@~*") >= n) {
		_cleanup_free_ char *next = xasprintf("%s/%.*s", dir, (int)n, pattern);

		if (stat(next, &st) == 0)
			search(f, next, rest);
		return;
	}
	_cleanup_list_ DIR *d = opendir(dir);
	for (const struct dirent *e; d && (e = readdir(d)) && f->dir_count < 64;) {
		_cleanup_free_ char *next = xasprintf("%s/%s", dir, e->d_name);

		if (e->d_name[0] != '.' &&
		    cgroup_pattern_part((struct span){pattern, n},
					(struct span){e->d_name, strlen(e->d_name)}, f->job,
					f->node))
			search(f, next, rest);
	}
}

/* May this manager run the job? */
static bool may_be(const struct job_processes_finder *f, const struct cgroup_pattern *g)
{
	return !g->container && (!f->scheduler || !strcmp(f->scheduler->name, g->manager));
}

/* The length of the part of a path that is the job's own group; 0: none. */
static size_t job_prefix(const struct job_processes_finder *f, const char *path)
{
	for (size_t i = 0; i < manager_group_count; i++) {
		size_t n = may_be(f, &manager_groups[i])
				   ? cgroup_pattern_prefix(manager_groups[i].pattern, path, f->job,
							   f->node)
				   : 0;

		if (n)
			return n;
	}
	return 0;
}

/* Takes the job's group that we are in, in one hierarchy. */
static bool own_group(struct job_processes_finder *f, const struct cgroup_mount *m)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	char *controllers, *path;

	if (f->self < 0 || procs_read(f, f->self, "cgroup", 65536, &text) < 0)
		return false;
	for (char *p = text.buf; mount_line(&p, &controllers, &path);) {
		size_t n = mount_of(&f->mounts, controllers) == m ? job_prefix(f, path) : 0;

		if (!n)
			continue;
		path[n] = 0;
		_cleanup_free_ char *dir = mount_dir(m, path);
		return access(dir, R_OK | X_OK) == 0 && add_dir(f, dir, -1, true);
	}
	return false;
}

bool groups_of_job(struct job_processes_finder *f)
{
	const struct cgroup_mount *m;

	for (size_t n = 0; (m = mount_nth(&f->mounts, n)); n++) {
		if (own_group(f, m))
			return true;
		for (size_t i = 0; i < manager_group_count && !f->inside; i++) {
			if (!may_be(f, &manager_groups[i]))
				continue;
			search(f, m->dir, manager_groups[i].pattern);
			if (f->dir_count)
				batch_is_of(f, manager_groups[i].manager);
		}
		if (f->dir_count)
			return true;
	}
	return false;
}

/* ---- members -------------------------------------------------------------------------------- */

static int step_of(struct job_processes_finder *f, const char *name, int above)
{
	if (above >= 0 || !str_prefix(name, "step_"))
		return above;
	return batch_step(f, name + strlen("step_"), strlen(name + strlen("step_")));
}

static void scan_subdirs(struct job_processes_finder *f, size_t i)
{
	struct stat st;

	f->dirs[i].gone = stat(f->dirs[i].path, &st) < 0;
	if (f->dirs[i].gone) {
		f->dirs[i].links = 0;
		return;
	}
	/* the link count shows new subdirectories, on filesystems that count them */
	if (st.st_nlink > 1 && st.st_nlink == f->dirs[i].links)
		return;
	f->dirs[i].links = st.st_nlink;
	_cleanup_list_ DIR *d = opendir(f->dirs[i].path);
	for (const struct dirent *e; d && (e = readdir(d));) {
		if (e->d_name[0] == '.' || (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN))
			continue;
		_cleanup_free_ char *path = xasprintf("%s/%s", f->dirs[i].path, e->d_name);
		if (e->d_type == DT_DIR || (lstat(path, &st) == 0 && S_ISDIR(st.st_mode)))
			add_dir(f, path, step_of(f, e->d_name, f->dirs[i].step), false);
	}
}

static void take_member(struct job_processes_finder *f, int pid, int step)
{
	struct job_processes_proc *p = procs_find(f, pid);

	if (pid == f->self && step >= 0)
		f->own_step = step;
	if (!p || p->verdict == VERDICT_ENDED)
		p = procs_add(f, pid);
	if (!p)
		return;
	p->seen = f->updates;
	if (p->in_group && p->step == step)
		return;
	/* a task may appear in the job's group before it is moved to that of its step */
	if (p->in_group && p->verdict == VERDICT_MEMBER)
		members_place(f, p);
	bool known = p->in_group;
	p->in_group = true;
	p->step = step;
	if (known)
		return;
	if (p->verdict == VERDICT_STRANGER)
		procs_fresh(f, p);
}

struct taking {
	struct job_processes_finder *f;
	int step;
};

static void take_one(void *user, pid_t pid)
{
	const struct taking *t = user;

	if (pid)
		take_member(t->f, pid, t->step);
}

void groups_scan(struct job_processes_finder *f)
{
	struct job_processes_proc *p;
	size_t keep = 0;

	for (size_t i = 0; i < f->dir_count; i++) {
		struct taking t = {f, f->dirs[i].step};

		scan_subdirs(f, i);
		if (!f->dirs[i].gone)
			(void)cgroup_each_process(AT_FDCWD, f->dirs[i].path, take_one, &t);
	}
	for (size_t i = 0; i < f->dir_count; i++) {
		if (f->dirs[i].gone && !f->dirs[i].top)
			free(f->dirs[i].path);
		else
			f->dirs[keep++] = f->dirs[i];
	}
	f->dir_count = keep;
	if (f->mode != MODE_GROUP)
		return;
	PROCESS_TABLE_EACH(&f->procs, p)
		if (p->in_group && p->seen != f->updates)
			procs_end(f, p);
}

/* ---- for w->groups -------------------------------------------------------------------------- */

static void publish(struct job_processes *w, const char *controller, size_t n, const char *path)
{
	struct job_processes_group *g;

	if (n >= sizeof(g->controller) || !strncmp(controller, "name=", 5))
		return;
	w->groups = xreallocarray(w->groups, w->group_count + 1, sizeof(*w->groups));
	g = &w->groups[w->group_count++];
	*g = (struct job_processes_group){.path = xstrdup(path)};
	memcpy(g->controller, controller, n);
}

/* Adds an entry for each controller of a list "cpu,cpuacct". Mount options do no harm. */
static void publish_all(struct job_processes *w, const char *controllers, const char *path)
{
	do {
		size_t n = strcspn(controllers, ",");

		publish(w, controllers, n, path);
		controllers += n + (controllers[n] == ',');
	} while (*controllers);
}

struct census {
	const struct job_processes_finder *f;
	size_t roots, strangers;
};

static void count_one(void *user, pid_t pid)
{
	struct census *c = user;
	const struct job_processes_proc *p = procs_find(c->f, pid);

	if (!pid)
		return;
	if (!p || (p->verdict != VERDICT_MEMBER && p->verdict != VERDICT_ENDED))
		c->strangers++;
	else if (p->main && p->verdict == VERDICT_MEMBER)
		c->roots++;
}

/* Does the group contain only processes of the job, and all its main ones? */
static bool is_only_ours(const struct job_processes_finder *f, const char *dir)
{
	struct census c = {.f = f};
	const struct job_processes_proc *p;
	size_t roots = 0;

	if (cgroup_each_process(AT_FDCWD, dir, count_one, &c) < 0)
		return false;
	_cleanup_list_ DIR *d = opendir(dir);
	for (const struct dirent *e; d && (e = readdir(d));)
		if (e->d_type == DT_DIR && e->d_name[0] != '.')
			c.strangers++; /* others may come in there */
	PROCESS_TABLE_EACH(&f->procs, p)
		roots += p->verdict == VERDICT_MEMBER && p->main;
	return roots && c.roots == roots && !c.strangers;
}

void groups_fill(struct job_processes_finder *f, struct job_processes *w)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	char *controllers, *path;
	const struct job_process *first = NULL;

	for (size_t i = 0; i < w->count && !first; i++)
		if (w->list[i].main)
			first = &w->list[i];
	if (!first || w->group_count || f->kind == JOB_PROCESSES_CGROUP ||
	    procs_read(f, first->pid, "cgroup", 65536, &text) < 0)
		return;
	for (char *p = text.buf; mount_line(&p, &controllers, &path);) {
		const struct cgroup_mount *m = mount_of(&f->mounts, controllers);

		if (!m || !strcmp(path, "/"))
			continue;
		if (f->job) {
			size_t n = job_prefix(f, path);

			if (!n)
				continue;
			path[n] = 0;
		}
		_cleanup_free_ char *dir = mount_dir(m, path);
		if (f->kind == JOB_PROCESSES_PIDS ? !is_only_ours(f, dir)
						  : !f->job || access(dir, R_OK | X_OK) < 0)
			continue;
		publish_all(w, controllers, dir);
		if (f->kind == JOB_PROCESSES_PIDS && !f->dir_count)
			add_dir(f, dir, -1, true);
	}
}

static void publish_mount(struct job_processes *w, const struct cgroup_mount *m, const char *path)
{
	static const char *const options[] = {"rw", "ro", "xattr", "noprefix", "clone_children"};

	if (!*m->controllers) {
		publish(w, "", 0, path);
		return;
	}
	for (const char *p = m->controllers + 1; *p;) {
		size_t n = strcspn(p, ",");
		bool option = !n || memchr(p, '=', n);

		for (size_t i = 0; i < ARRAY_SIZE(options); i++)
			option |= n == strlen(options[i]) && !memcmp(p, options[i], n);
		if (!option)
			publish(w, p, n, path);
		p += n + 1;
	}
}

int groups_named(struct job_processes_finder *f, struct job_processes *w, const char *path,
		 struct strbuf *why)
{
	_cleanup_free_ char *whole = xasprintf("%s%s", f->root, path);
	const struct cgroup_mount *m = *path == '/' ? mount_above(&f->mounts, whole) : NULL;
	_cleanup_free_ char *list = xasprintf("%s/cgroup.procs", whole);

	if (m && access(list, R_OK) == 0) {
		publish_mount(w, m, whole);
		add_dir(f, whole, -1, true);
		return 0;
	}
	for (size_t n = 0; (m = mount_nth(&f->mounts, n)); n++) {
		_cleanup_free_ char *dir = xasprintf("%s/%s", m->dir, path + strspn(path, "/"));
		_cleanup_free_ char *file = xasprintf("%s/cgroup.procs", dir);

		if (access(file, R_OK) < 0)
			continue;
		publish_mount(w, m, dir);
		if (!f->dir_count)
			add_dir(f, dir, -1, true);
	}
	if (f->dir_count)
		return 0;
	return strbuf_fail(why, -ENOENT, "there is no control group '%s'", path);
}
