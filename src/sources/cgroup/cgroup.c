/* CPU account of a control group, for the books of a run; see cgroup.h. */
#include "sources/cgroup/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/files/fs.h"
#include "sources/filesystem/blockdev.h"

/* The line of /proc/self/cgroup for a controller ("" is version 2): "4:cpuacct:/path". */
static bool group_of(const char *text, const char *controller, struct strbuf *ret)
{
	for (const char *p = text; p && *p; p = strchr(p, '\n') ? strchr(p, '\n') + 1 : NULL) {
		const char *names = memchr(p, ':', strcspn(p, "\n"));
		const char *path = names ? memchr(names + 1, ':', strcspn(names + 1, "\n")) : NULL;

		if (!path)
			continue;
		size_t want = strlen(controller);
		bool found = !want && path == names + 1;
		for (const char *n = names + 1; want && n < path; n += strcspn(n, ",:") + 1)
			found |= strcspn(n, ",:") == want && !memcmp(n, controller, want);
		if (found) {
			strbuf_add(ret, path + 1, strcspn(path + 1, "\n"));
			return true;
		}
	}
	return false;
}

bool cgroup_cpu_path(const char *root, struct strbuf *ret)
{
	static const struct {
		const char *controller, *mount, *file;
	} places[] = {
		{"cpuacct", "/sys/fs/cgroup/cpuacct", "/cpuacct.usage"},
		{"cpuacct", "/sys/fs/cgroup/cpu,cpuacct", "/cpuacct.usage"},
		{"", "/sys/fs/cgroup", "/cpu.stat"},
		{"", "/sys/fs/cgroup/unified", "/cpu.stat"},
	};
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, name = STRBUF_INIT;

	strbuf_addf(&name, "%s/proc/self/cgroup", root);
	if (fs_read(AT_FDCWD, name.buf, 65536, &text) < 0)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		_cleanup_strbuf_ struct strbuf group = STRBUF_INIT;

		if (!group_of(text.buf, places[i].controller, &group) || !strcmp(group.buf, "/"))
			continue;
		strbuf_reset(ret);
		strbuf_addf(ret, "%s%s%s%s", root, places[i].mount, group.buf, places[i].file);
		if (access(ret->buf, R_OK) == 0)
			return true;
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
		strbuf_addf(&report->detail, "CPU of the group is read from %s", path.buf);
		blockdevs_tell(ctx->root, &report->detail);
		return 0;
	}
	strbuf_addstr(&report->detail,
		      "not in a control group of its own: its total cannot be compared");
	return -ENOENT;
}
