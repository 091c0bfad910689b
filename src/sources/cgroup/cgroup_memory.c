/*
 * Memory limit and OOM kills of the control group that we are in; see cgroup.h. A limit applies to
 * all groups below, so all groups up to the mount are read. Version 2 counts a kill in each of
 * them, version 1 only in the group of the victim.
 */
#include <fcntl.h>
#include <string.h>

#include "core/files/fs.h"
#include "jobs/discovery/cgroup_mounts.h"
#include "sources/cgroup/cgroup.h"
#include "sources/cgroup/cgroup_files.h"

#define TEXT_MAX 65536

/* Reads the files of a group with limits and kills, of one version. */
static void read_group(const char *dir, const char *controller, struct cgroup_values *v)
{
	for (size_t i = 0; i < cgroup_file_count; i++) {
		const struct cgroup_file *f = &cgroup_files[i];
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

		if (strcmp(f->controller, controller) != 0 ||
		    (strcmp(f->name, "memory.max") != 0 && strcmp(f->name, "memory.events") != 0 &&
		     strcmp(f->name, "memory.limit_in_bytes") != 0 &&
		     strcmp(f->name, "memory.oom_control") != 0))
			continue;
		_cleanup_free_ char *path = xasprintf("%s/%s", dir, f->name);
		if (fs_read(AT_FDCWD, path, TEXT_MAX, &text) == 0)
			cgroup_take(f, (struct words){text.buf, text.buf + text.len}, v);
	}
}

static bool has(const struct cgroup_values *v, enum cgroup_metric m)
{
	return v->present >> m & 1;
}

/* From the group itself up to where the hierarchy is mounted. */
static void read_upwards(const struct cgroup_mount *m, const char *group, const char *controller,
			 struct cgroup_memory *ret)
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
		if (has(&v, MEMORY_LIMIT) && (!ret->limit || v.v[MEMORY_LIMIT] < ret->limit))
			ret->limit = v.v[MEMORY_LIMIT];
		if (has(&v, OOM_KILLS) && (own || *controller)) {
			ret->oom_kills += v.v[OOM_KILLS];
			ret->counted = true;
		}
		own = own && !ret->counted;
		char *slash = strrchr(dir, '/');
		if (!slash || (size_t)(slash - dir) < top)
			break;
		*slash = 0;
	}
}

void cgroup_memory_read(const char *root, struct cgroup_memory *ret)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	_cleanup_free_ char *path = xasprintf("%s/proc/self/cgroup", root);
	_cleanup_(mounts_close) struct mounts all = {0};
	char *controllers, *group;

	*ret = (struct cgroup_memory){0};
	if (fs_read(AT_FDCWD, path, TEXT_MAX, &text) < 0 || !text.len)
		return;
	mounts_find(&all, root);
	for (char *p = text.buf; mount_line(&p, &controllers, &group);) {
		_cleanup_free_ char *names = xasprintf(",%s,", controllers);
		const char *controller = strstr(names, ",memory,") ? "memory" : "";
		const struct cgroup_mount *m = mount_of(&all, controller);

		if (m && (*controller || !*controllers))
			read_upwards(m, group, controller, ret);
	}
}
