/*
 * Where control groups are mounted, and the lines of /proc/PID/cgroup. Containers may show a part
 * of a hierarchy as its root: mountinfo tells which.
 */
#include <fcntl.h>
#include <string.h>

#include "core/fs.h"
#include "job/watch_finder.h"

#define MOUNTS_MAX 64

static void add_mount(struct watch_finder *f, const char *controllers, const char *dir,
		      const char *base)
{
	GROW(f->mounts, f->mount_count, f->mount_cap);
	f->mounts[f->mount_count++] = (struct watch_mount){
		.controllers = *controllers ? xasprintf(",%s,", controllers) : xstrdup(""),
		.dir = xasprintf("%s%s", f->root, dir),
		.base = xstrdup(!strcmp(base, "/") ? "" : base),
	};
}

/* "36 25 0:31 / /sys/fs/cgroup/freezer rw,relatime shared:9 - cgroup cgroup rw,freezer" */
static void take_mount(struct watch_finder *f, char *line)
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
		add_mount(f, "", words[4], words[3]);
	else if (!strcmp(words[dash + 1], "cgroup"))
		add_mount(f, words[dash + 3], words[4], words[3]);
}

/* Where nothing tells of mounts: directories with the names of controllers. */
static void guess_mounts(struct watch_finder *f, const char *below)
{
	_cleanup_free_ char *path = xasprintf("%s%s", f->root, below);
	DIR *d = opendir(path);

	if (!d)
		return;
	if (faccessat(dirfd(d), "cgroup.controllers", F_OK, 0) == 0)
		add_mount(f, "", below, "/");
	else
		for (const struct dirent *e; (e = readdir(d)) && f->mount_count < MOUNTS_MAX;) {
			_cleanup_free_ char *dir = xasprintf("%s/%s", below, e->d_name);

			if (e->d_name[0] != '.')
				add_mount(f, strcmp(e->d_name, "unified") ? e->d_name : "", dir,
					  "/");
		}
	closedir(d);
}

void mounts_parse(struct watch_finder *f, char *text)
{
	char *save = NULL;

	for (char *line = strtok_r(text, "\n", &save); line && f->mount_count < MOUNTS_MAX;
	     line = strtok_r(NULL, "\n", &save))
		take_mount(f, line);
}

void mounts_find(struct watch_finder *f)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (fs_read(f->procfd, "self/mountinfo", 4u << 20, &text) == 0 && text.len)
		mounts_parse(f, text.buf);
	if (!f->mount_count)
		guess_mounts(f, "/sys/fs/cgroup");
	if (!f->mount_count)
		guess_mounts(f, "/dev/oar_cgroups_links");
}

bool mount_has(const struct watch_mount *m, const char *name, size_t n)
{
	for (const char *p = m->controllers; n && (p = strchr(p, ',')) && p[1]; p++)
		if (!strncmp(p + 1, name, n) && p[1 + n] == ',')
			return true;
	return !n && !*m->controllers;
}

const struct watch_mount *mount_nth(const struct watch_finder *f, size_t n)
{
	/* those that batch systems keep processes together with come first */
	static const char *const order[] = {"freezer", "",     "cpuset", "cpuacct",
					    "memory",  "pids", "devices"};
	size_t at = 0;

	for (size_t pass = 0; pass <= ARRAY_SIZE(order); pass++)
		for (size_t i = 0; i < f->mount_count; i++) {
			const struct watch_mount *m = &f->mounts[i];
			size_t rank = 0;

			while (rank < ARRAY_SIZE(order) &&
			       !mount_has(m, order[rank], strlen(order[rank])))
				rank++;
			if (rank == pass && at++ == n)
				return m;
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

char *mount_dir(const struct watch_mount *m, const char *path)
{
	size_t n = strlen(m->base);

	if (n && !strncmp(path, m->base, n) && (path[n] == '/' || !path[n]))
		path += n;
	return xasprintf("%s%s", m->dir, strcmp(path, "/") ? path : "");
}

const struct watch_mount *mount_of(const struct watch_finder *f, const char *controllers)
{
	for (size_t i = 0; i < f->mount_count; i++)
		if (mount_has(&f->mounts[i], controllers, strcspn(controllers, ",")))
			return &f->mounts[i];
	return NULL;
}

const struct watch_mount *mount_above(const struct watch_finder *f, const char *path)
{
	const struct watch_mount *best = NULL;

	for (size_t i = 0; i < f->mount_count; i++) {
		size_t n = strlen(f->mounts[i].dir);

		if (!strncmp(path, f->mounts[i].dir, n) && (path[n] == '/' || !path[n]) &&
		    (!best || strlen(best->dir) < n))
			best = &f->mounts[i];
	}
	return best;
}

void mounts_close(struct watch_finder *f)
{
	for (size_t i = 0; i < f->mount_count; i++) {
		free(f->mounts[i].controllers);
		free(f->mounts[i].dir);
		free(f->mounts[i].base);
	}
	free(f->mounts);
}
