/*
 * Limits of the control group that we are in, and what they did; see cgroup.h. A limit applies to
 * all groups below, so all groups up to the mount are read. Version 2 counts a kill in each of
 * them, version 1 only in the group of the victim; both count throttling only in the group with the
 * quota.
 */
#include <fcntl.h>
#include <string.h>

#include "core/files/fs.h"
#include "jobs/discovery/cgroup_mounts.h"
#include "sources/cgroup/cgroup.h"
#include "sources/cgroup/cgroup_files.h"

#define TEXT_MAX 65536

static const char *const names[] = {
	"memory.max",         "memory.events",    "memory.limit_in_bytes",
	"memory.oom_control", "cpu.cfs_quota_us", "cpu.max",
	"cpu.cfs_period_us",  "cpu.stat",         "memory.stat",
};

static bool is_wanted(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* Reads the files of a group with limits and what they did, of one controller. */
static void read_group(const char *dir, const char *controller, struct cgroup_values *v)
{
	for (size_t i = 0; i < cgroup_file_count; i++) {
		const struct cgroup_file *f = &cgroup_files[i];
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

		if (strcmp(f->controller, controller) != 0 || !is_wanted(f->name))
			continue;
		_cleanup_free_ char *path = xasprintf("%s/%s", dir, f->name);
		if (fs_read(AT_FDCWD, path, TEXT_MAX, &text) == 0)
			cgroup_take(f, (struct words){text.buf, text.buf + text.len}, v);
	}
	cgroup_finish(v);
}

static bool has(const struct cgroup_values *v, enum cgroup_metric m)
{
	return v->present >> m & 1;
}

static void take_cpu(const struct cgroup_values *v, struct cgroup_limits *ret)
{
	double cores = has(v, CPU_LIMIT) ? (double)v->v[CPU_LIMIT] * 0.001 : 0;

	if (cores <= 0)
		return;
	if (ret->quota <= 0 || cores < ret->quota)
		ret->quota = cores;
	if (has(v, CPU_THROTTLED_TIME)) {
		ret->throttled_us += v->v[CPU_THROTTLED_TIME];
		ret->throttling_counted = true;
	}
}

/* From the group itself up to where the hierarchy is mounted. */
static void read_upwards(const struct cgroup_mount *m, const char *group, const char *controller,
			 struct cgroup_limits *ret)
{
	_cleanup_free_ char *dir = mount_dir(m, group);
	size_t top = strlen(m->dir);
	bool own = true;

	/* a group of another namespace is not below the mount */
	if (strstr(mount_below(m, group), "/.."))
		dir[top] = 0;
	while (strlen(dir) >= top) {
		struct cgroup_values v = {0};

		read_group(dir, controller, &v);
		if (has(&v, MEMORY_LIMIT) && (!ret->memory || v.v[MEMORY_LIMIT] < ret->memory))
			ret->memory = v.v[MEMORY_LIMIT];
		if (has(&v, OOM_KILLS) && (own || *controller)) {
			ret->oom_kills += v.v[OOM_KILLS];
			ret->kills_counted = true;
		}
		/* the smallest limit is what pages made room for; its group has all groups below */
		if (has(&v, MEMORY_LIMIT) && v.v[MEMORY_LIMIT] == ret->memory &&
		    has(&v, MEMORY_REFAULTS)) {
			ret->refaults = v.v[MEMORY_REFAULTS];
			ret->refaults_counted = true;
		}
		own = own && !ret->kills_counted;
		take_cpu(&v, ret);
		char *slash = strrchr(dir, '/');
		if (!slash || (size_t)(slash - dir) < top)
			break;
		*slash = 0;
	}
}

/* text: of /proc/PID/cgroup; it is changed. */
static void read_limits(const char *root, struct strbuf *text, struct cgroup_limits *ret)
{
	static const char *const controllers[] = {"memory", "cpu"};
	_cleanup_(mounts_close) struct mounts all = {0};
	char *list, *group;

	mounts_find(&all, root);
	for (char *p = text->buf; mount_line(&p, &list, &group);) {
		_cleanup_free_ char *commas = xasprintf(",%s,", list);
		const struct cgroup_mount *m = *list ? NULL : mount_of(&all, "");

		if (m)
			read_upwards(m, group, "", ret);
		for (size_t i = 0; *list && i < ARRAY_SIZE(controllers); i++) {
			_cleanup_free_ char *word = xasprintf(",%s,", controllers[i]);

			m = strstr(commas, word) ? mount_of(&all, list) : NULL;
			if (m)
				read_upwards(m, group, controllers[i], ret);
		}
	}
}

void cgroup_limits_read(const char *root, struct cgroup_limits *ret)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	_cleanup_free_ char *path = xasprintf("%s/proc/self/cgroup", root);

	*ret = (struct cgroup_limits){0};
	if (fs_read(AT_FDCWD, path, TEXT_MAX, &text) >= 0 && text.len)
		read_limits(root, &text, ret);
}

bool cgroup_groups_other(const char *root, pid_t pid, struct strbuf *ret)
{
	_cleanup_strbuf_ struct strbuf ours = STRBUF_INIT, theirs = STRBUF_INIT;
	_cleanup_free_ char *self = xasprintf("%s/proc/self/cgroup", root),
			    *other = xasprintf("%s/proc/%d/cgroup", root, (int)pid);

	if (fs_read(AT_FDCWD, self, TEXT_MAX, &ours) < 0 ||
	    fs_read(AT_FDCWD, other, TEXT_MAX, &theirs) < 0 || !theirs.len ||
	    !strcmp(ours.buf, theirs.buf) || (ret->len && !strcmp(ret->buf, theirs.buf)))
		return false;
	strbuf_reset(ret);
	strbuf_addstr(ret, theirs.buf);
	return true;
}

void cgroup_limits_of(const char *root, const char *groups, struct cgroup_limits *ret)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	*ret = (struct cgroup_limits){0};
	strbuf_addstr(&text, groups);
	read_limits(root, &text, ret);
}

void cgroup_limits_since(const struct cgroup_limits *before, struct cgroup_limits *now)
{
	now->kills_counted =
		now->kills_counted && before->kills_counted && now->oom_kills >= before->oom_kills;
	now->oom_kills = now->kills_counted ? now->oom_kills - before->oom_kills : 0;
	now->refaults_counted = now->refaults_counted && before->refaults_counted &&
				now->memory == before->memory && now->refaults >= before->refaults;
	now->refaults = now->refaults_counted ? now->refaults - before->refaults : 0;
	now->throttling_counted = now->throttling_counted && before->throttling_counted &&
				  now->throttled_us >= before->throttled_us;
	now->throttled_us = now->throttling_counted ? now->throttled_us - before->throttled_us : 0;
}
