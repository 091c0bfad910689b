/* CPU time of our own control group, for the accounting of a run; see cgroup.h. */
#include "sources/cgroup/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/files/fs.h"
#include "jobs/discovery/cgroup_mounts.h"
#include "sources/filesystem/blockdev.h"

bool cgroup_cpu_path(const char *root, struct strbuf *ret)
{
	static const struct {
		const char *controller, *file;
	} versions[] = {{"cpuacct", "cpuacct.usage"}, {"", "cpu.stat"}};
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	_cleanup_free_ char *list = xasprintf("%s/proc/self/cgroup", root);
	_cleanup_(mounts_close) struct mounts all = {0};

	strbuf_reset(ret);
	if (fs_read(AT_FDCWD, list, 65536, &text) < 0)
		return false;
	mounts_find(&all, root);
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		const struct cgroup_mount *m = mount_of(&all, versions[i].controller);
		_cleanup_free_ char *lines = xstrdup(text.buf);
		char *controllers, *group;

		for (char *p = lines; m && mount_line(&p, &controllers, &group);) {
			if (mount_of(&all, controllers) != m || !*mount_below(m, group))
				continue;
			_cleanup_free_ char *dir = mount_dir(m, group);
			strbuf_reset(ret);
			strbuf_addf(ret, "%s/%s", dir, versions[i].file);
			if (access(ret->buf, R_OK) == 0)
				return true;
		}
	}
	strbuf_reset(ret);
	return false;
}

bool cgroup_cpu_us(const char *path, uint64_t *ret)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	char *end;

	if (fs_read(AT_FDCWD, path, 65536, &text) < 0)
		return false;
	if (str_suffix(path, "/cpu.stat")) {
		const char *line = strstr(text.buf, "usage_usec ");

		if (!line)
			return false;
		*ret = strtoull(line + strlen("usage_usec "), &end, 10);
		return true;
	}
	*ret = strtoull(text.buf, &end, 10) / 1000;
	return end > text.buf;
}

int cgroup_probe(const struct source_context *ctx, struct source_report *report)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT;
	uint64_t us;

	if (ctx->watch && ctx->watch->group_count) {
		strbuf_addf(&report->detail, "the job is in %s", ctx->watch->groups[0].path);
		blockdevs_tell(ctx->root, &report->detail);
		return 0;
	}
	if (cgroup_cpu_path(ctx->root, &path) && cgroup_cpu_us(path.buf, &us)) {
		strbuf_addf(&report->detail, "CPU time of the group is read from %s", path.buf);
		blockdevs_tell(ctx->root, &report->detail);
		return 0;
	}
	return strbuf_fail(&report->detail, -ENOENT,
			   "not in a control group of its own: there is no total to compare with");
}
