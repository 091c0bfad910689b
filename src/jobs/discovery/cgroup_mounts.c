/* Mounts of control groups; see cgroup_mounts.h. In a container the root of a mount may be a group
 * further down: mountinfo names it. */
#include "jobs/discovery/cgroup_mounts.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

#include "core/files/fs.h"
#include "core/strbuf.h"
#include "core/system/procparse.h"

#define MOUNTS_MAX 64
#define PROCS_FILE_MAX (32u << 20)

void mounts_add(struct mounts *m, const char *controllers, const char *dir, const char *base)
{
	GROW(m->list, m->count, m->cap);
	m->list[m->count++] = (struct cgroup_mount){
		.controllers = *controllers ? xasprintf(",%s,", controllers) : xstrdup(""),
		.dir = xasprintf("%s%s", m->root ? m->root : "", dir),
		.base = xstrdup(!strcmp(base, "/") ? "" : base),
	};
}

/* "36 25 0:31 / /sys/fs/cgroup/freezer rw,relatime shared:9 - cgroup cgroup rw,freezer" */
static void take_mount(struct mounts *m, char *line)
{
	char *words[16], *save = NULL;
	size_t n = 0, dash = 0;

	for (char *w = strtok_r(line, " ", &save); w && n < ARRAY_SIZE(words);
	     w = strtok_r(NULL, " ", &save)) {
		if (!strcmp(w, "-") && n >= 6)
			dash = n;
		words[n++] = w;
	}
	if (!dash || dash + 3 >= n || strchr(words[4], '\\') || strchr(words[3], '\\'))
		return;
	if (!strcmp(words[dash + 1], "cgroup2"))
		mounts_add(m, "", words[4], words[3]);
	else if (!strcmp(words[dash + 1], "cgroup"))
		mounts_add(m, words[dash + 3], words[4], words[3]);
}

/* Is this the name of a hierarchy, "memory" or "cpu,cpuacct"? */
static bool is_hierarchy(const char *name)
{
	static const char *const known[] = {"cpu",     "cpuacct", "cpuset",     "memory",
					    "blkio",   "pids",    "perf_event", "freezer",
					    "devices", "unified", "systemd"};

	for (size_t n; *name; name += n + (name[n] == ',')) {
		bool found = false;

		n = strcspn(name, ",");
		for (size_t i = 0; i < ARRAY_SIZE(known); i++)
			found |= strlen(known[i]) == n && !memcmp(known[i], name, n);
		if (!found)
			return false;
	}
	return true;
}

void mounts_guess(struct mounts *m, const char *below, bool strict)
{
	_cleanup_free_ char *path = xasprintf("%s%s", m->root, below);
	_cleanup_list_ DIR *d = opendir(path);

	if (!d)
		return;
	if (faccessat(dirfd(d), "cgroup.controllers", F_OK, 0) == 0)
		mounts_add(m, "", below, "/");
	else
		for (const struct dirent *e; (e = readdir(d)) && m->count < MOUNTS_MAX;) {
			_cleanup_free_ char *dir = xasprintf("%s/%s", below, e->d_name);

			if (e->d_name[0] != '.' && (!strict || is_hierarchy(e->d_name)))
				mounts_add(m, strcmp(e->d_name, "unified") ? e->d_name : "", dir,
					   "/");
		}
}

void mounts_parse(struct mounts *m, char *text)
{
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line && m->count < MOUNTS_MAX;
	     line = strtok_r(NULL, "\n", &save))
		take_mount(m, line);
}

void mounts_find(struct mounts *m, const char *root)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	_cleanup_free_ char *path = xasprintf("%s/proc/self/mountinfo", root);

	m->root = xstrdup(root);
	if (fs_read(AT_FDCWD, path, 4u << 20, &text) == 0 && text.len)
		mounts_parse(m, text.buf);
	if (!m->count)
		mounts_guess(m, "/sys/fs/cgroup", false);
	if (!m->count)
		mounts_guess(m, "/dev/oar_cgroups_links", false);
}

bool mount_has(const struct cgroup_mount *m, const char *name, size_t n)
{
	for (const char *p = m->controllers; n && (p = strchr(p, ',')) && p[1]; p++)
		if (!strncmp(p + 1, name, n) && p[1 + n] == ',')
			return true;
	return !n && !*m->controllers;
}

const struct cgroup_mount *mount_nth(const struct mounts *m, size_t n)
{
	/* first those that batch systems use to track processes */
	static const char *const order[] = {"freezer", "",     "cpuset", "cpuacct",
					    "memory",  "pids", "devices"};
	size_t at = 0;

	for (size_t pass = 0; pass <= ARRAY_SIZE(order); pass++)
		for (size_t i = 0; i < m->count; i++) {
			size_t rank = 0;

			while (rank < ARRAY_SIZE(order) &&
			       !mount_has(&m->list[i], order[rank], strlen(order[rank])))
				rank++;
			if (rank == pass && at++ == n)
				return &m->list[i];
		}
	return NULL;
}

bool mount_line(char **text, char **ret_controllers, char **ret_path)
{
	while (*text && **text) {
		char *line = *text, *end = strchr(line, '\n');

		*text = end ? end + 1 : NULL;
		if (end)
			*end = 0;
		char *names = strchr(line, ':'), *path = names ? strchr(names + 1, ':') : NULL;
		if (!path)
			continue;
		*path = 0;
		*ret_controllers = names + 1;
		*ret_path = path + 1;
		return true;
	}
	return false;
}

const char *mount_below(const struct cgroup_mount *m, const char *path)
{
	size_t n = strlen(m->base);

	if (n && !strncmp(path, m->base, n) && (path[n] == '/' || !path[n]))
		path += n;
	return strcmp(path, "/") ? path : "";
}

char *mount_dir(const struct cgroup_mount *m, const char *path)
{
	return xasprintf("%s%s", m->dir, mount_below(m, path));
}

const struct cgroup_mount *mount_of(const struct mounts *m, const char *controllers)
{
	for (size_t i = 0; i < m->count; i++)
		if (mount_has(&m->list[i], controllers, strcspn(controllers, ",")))
			return &m->list[i];
	return NULL;
}

const struct cgroup_mount *mount_above(const struct mounts *m, const char *path)
{
	const struct cgroup_mount *best = NULL;

	for (size_t i = 0; i < m->count; i++) {
		size_t n = strlen(m->list[i].dir);

		if (!strncmp(path, m->list[i].dir, n) && (path[n] == '/' || !path[n]) &&
		    (!best || strlen(best->dir) < n))
			best = &m->list[i];
	}
	return best;
}

void mounts_cut(struct mounts *m, size_t count)
{
	for (; m->count > count; m->count--) {
		free(m->list[m->count - 1].controllers);
		free(m->list[m->count - 1].dir);
		free(m->list[m->count - 1].base);
	}
}

void mounts_close(struct mounts *m)
{
	mounts_cut(m, 0);
	free(m->list);
	free(m->root);
	*m = (struct mounts){0};
}

int cgroup_each_process(int dirfd, const char *dir, void (*take)(void *user, pid_t pid), void *user)
{
	_cleanup_free_ char *path = xasprintf("%s/cgroup.procs", dir);
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	int r = fs_read(dirfd, path, PROCS_FILE_MAX, &text);

	for (const char *p = text.buf, *end = p + text.len; r == 0 && p < end;) {
		const char *eol = memchr(p, '\n', (size_t)(end - p));
		uint64_t pid;

		eol = eol ? eol : end;
		if (proc_number(&p, eol, &pid) && p == eol && pid <= INT32_MAX)
			take(user, (pid_t)pid);
		p = eol + 1;
	}
	return r;
}
