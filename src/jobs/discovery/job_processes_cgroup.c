/*
 * Control groups of a job: which ones are the job's by the names that batch systems give them, and
 * who is in them. Surprising: version 1 shows a list of members that is up to
 * a second old to whoever reads twice through one descriptor, so each reading opens the file anew.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "core/files/fs.h"
#include "core/system/procparse.h"
#include "jobs/discovery/cgroup_patterns.h"
#include "jobs/discovery/job_processes_internal.h"

#define DIRS_MAX 4096
#define PROCS_FILE_MAX (8u << 20)
#define STAR '\1' /* any text, within one part of a path */

void groups_close(struct job_processes_finder *f)
{
	for (size_t i = 0; i < f->dir_count; i++)
		free(f->dirs[i].path);
	free(f->dirs);
	mounts_close(&f->mounts);
}

/* ---- names ------------------------------------------------------------------------------------
 */

static void expand(const struct job_processes_finder *f, const char *pattern, struct strbuf *out)
{
	for (; *pattern; pattern++) {
		if (*pattern == '%')
			strbuf_addstr(out, f->job);
		else if (*pattern == '@' && f->node)
			strbuf_addstr(out, f->node);
		else
			strbuf_addch(out, strchr("*@~", *pattern) ? STAR : *pattern);
	}
}

static bool part_matches(const char *pattern, size_t n, const char *name, size_t size)
{
	const char *star = memchr(pattern, STAR, n);

	if (!star)
		return n == size && !memcmp(pattern, name, n);
	size_t before = (size_t)(star - pattern), behind = n - before - 1;
	return size > before + behind && !memcmp(pattern, name, before) &&
	       !memcmp(star + 1, name + size - behind, behind);
}

/* How much of a path of /proc/PID/cgroup is the pattern; 0 when it does not begin so. */
static size_t matched_prefix(const char *pattern, const char *path)
{
	const char *p = path;

	while (*pattern) {
		size_t n = strcspn(pattern, "/");

		if (*p++ != '/')
			return 0;
		size_t size = strcspn(p, "/");
		if (!part_matches(pattern, n, p, size))
			return 0;
		p += size;
		pattern += n + (pattern[n] == '/');
	}
	return (size_t)(p - path);
}

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

/* Adds the directories below dir that match. */
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
	if (!memchr(pattern, STAR, n)) {
		_cleanup_free_ char *next = xasprintf("%s/%.*s", dir, (int)n, pattern);

		if (stat(next, &st) == 0)
			search(f, next, rest);
		return;
	}
	DIR *d = opendir(dir);
	for (const struct dirent *e; d && (e = readdir(d)) && f->dir_count < 64;) {
		_cleanup_free_ char *next = xasprintf("%s/%s", dir, e->d_name);

		if (e->d_name[0] != '.' && part_matches(pattern, n, e->d_name, strlen(e->d_name)))
			search(f, next, rest);
	}
	if (d)
		closedir(d);
}

/* May the job be one of this manager's? */
static bool may_be(const struct job_processes_finder *f, const struct cgroup_pattern *g)
{
	return !g->container && (!f->scheduler || !strcmp(f->scheduler->name, g->manager));
}

/* The part of a path that names the job's own group; 0 when none does. */
static size_t job_prefix(const struct job_processes_finder *f, const char *path)
{
	for (size_t i = 0; i < manager_group_count; i++) {
		_cleanup_strbuf_ struct strbuf pattern = STRBUF_INIT;

		if (!may_be(f, &manager_groups[i]))
			continue;
		expand(f, manager_groups[i].pattern, &pattern);
		size_t n = matched_prefix(pattern.buf, path);
		if (n)
			return n;
	}
	return 0;
}

/* The job's group that we are in ourselves, in one hierarchy. */
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
			_cleanup_strbuf_ struct strbuf pattern = STRBUF_INIT;

			if (!may_be(f, &manager_groups[i]))
				continue;
			expand(f, manager_groups[i].pattern, &pattern);
			search(f, m->dir, pattern.buf);
			if (f->dir_count)
				batch_is_of(f, manager_groups[i].manager);
		}
		if (f->dir_count)
			return true;
	}
	return false;
}

/* ---- members -----------------------------------------------------------------------------------
 */

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
	/* one link for each subdirectory, on filesystems that count them */
	if (st.st_nlink > 1 && st.st_nlink == f->dirs[i].links)
		return;
	f->dirs[i].links = st.st_nlink;
	DIR *d = opendir(f->dirs[i].path);
	for (const struct dirent *e; d && (e = readdir(d));) {
		if (e->d_name[0] == '.' || (e->d_type != DT_DIR && e->d_type != DT_UNKNOWN))
			continue;
		_cleanup_free_ char *path = xasprintf("%s/%s", f->dirs[i].path, e->d_name);
		if (e->d_type == DT_DIR || (lstat(path, &st) == 0 && S_ISDIR(st.st_mode)))
			add_dir(f, path, step_of(f, e->d_name, f->dirs[i].step), false);
	}
	if (d)
		closedir(d);
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
	/* a task may be seen in the job's group before it is put into that of its step */
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

/* Hands each number of a group's list to take(); -errno when there is no list. */
static int each_member(const char *dir, void (*take)(void *user, int pid), void *user)
{
	_cleanup_free_ char *path = xasprintf("%s/cgroup.procs", dir);
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	int r = fs_read(AT_FDCWD, path, PROCS_FILE_MAX, &text);

	if (r < 0)
		return r;
	for (const char *p = text.buf, *end = p + text.len; p < end;) {
		uint64_t pid;

		if (proc_number(&p, end, &pid) && pid && pid <= INT32_MAX)
			take(user, (int)pid);
		p += strcspn(p, "\n");
		p += p < end;
	}
	return 0;
}

struct taking {
	struct job_processes_finder *f;
	int step;
};

static void take_one(void *user, int pid)
{
	const struct taking *t = user;

	take_member(t->f, pid, t->step);
}

void groups_scan(struct job_processes_finder *f)
{
	size_t keep = 0;

	for (size_t i = 0; i < f->dir_count; i++) {
		struct taking t = {f, f->dirs[i].step};

		scan_subdirs(f, i);
		/* a threaded group has no list: its processes are in the list above it */
		if (!f->dirs[i].gone)
			(void)each_member(f->dirs[i].path, take_one, &t);
	}
	for (size_t i = 0; i < f->dir_count; i++) {
		if (f->dirs[i].gone && !f->dirs[i].top)
			free(f->dirs[i].path);
		else
			f->dirs[keep++] = f->dirs[i];
	}
	f->dir_count = keep;
	for (size_t i = 0; f->mode == MODE_GROUP && i < f->proc_count; i++)
		if (f->procs[i].in_group && f->procs[i].seen != f->updates)
			procs_end(f, &f->procs[i]);
}

/* ---- for w->groups -----------------------------------------------------------------------------
 */

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

/* One entry for each controller of a list "cpu,cpuacct". Words of mount options are no harm. */
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

static void count_one(void *user, int pid)
{
	struct census *c = user;
	const struct job_processes_proc *p = procs_find(c->f, pid);

	if (!p || (p->verdict != VERDICT_MEMBER && p->verdict != VERDICT_ENDED))
		c->strangers++;
	else if (p->main && p->verdict == VERDICT_MEMBER)
		c->roots++;
}

/* Is everybody in the group, and below it, one of the job, and are all roots there? */
static bool is_only_ours(const struct job_processes_finder *f, const char *dir)
{
	struct census c = {.f = f};
	size_t roots = 0;

	if (each_member(dir, count_one, &c) < 0)
		return false;
	DIR *d = opendir(dir);
	for (const struct dirent *e; d && (e = readdir(d));)
		if (e->d_type == DT_DIR && e->d_name[0] != '.')
			c.strangers++; /* others may come there */
	if (d)
		closedir(d);
	for (size_t i = 0; i < f->proc_count; i++)
		roots += f->procs[i].verdict == VERDICT_MEMBER && f->procs[i].main;
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
	strbuf_addf(why, "there is no control group '%s'", path);
	return -ENOENT;
}
