/* Processes of a job; see watch.h. */
#include "job/watch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "core/fs.h"
#include "core/procparse.h"

struct watch_finder {
	char *root;
	int *pids;
	size_t pid_count;
};

int watch_open(struct watch *w, const struct watch_options *o, struct strbuf *why)
{
	*w = (struct watch){.how = xstrdup("named processes and their descendants")};
	if (o->kind != WATCH_PIDS) {
		strbuf_addstr(why, "only --pid is known");
		free(w->how);
		return -ENOTSUP;
	}
	w->finder = xcalloc(1, sizeof(*w->finder));
	w->finder->root = xstrdup(o->root);
	w->finder->pids = xcalloc(o->pid_count, sizeof(int));
	memcpy(w->finder->pids, o->pids, o->pid_count * sizeof(int));
	w->finder->pid_count = o->pid_count;
	return 0;
}

void watch_close(struct watch *w)
{
	if (w->finder) {
		free(w->finder->root);
		free(w->finder->pids);
	}
	free(w->finder);
	free(w->list);
	free(w->how);
	*w = (struct watch){0};
}

static bool is_ours(const struct watch *w, int pid, int ppid)
{
	for (size_t i = 0; i < w->finder->pid_count; i++)
		if (w->finder->pids[i] == pid || w->finder->pids[i] == ppid)
			return true;
	return watch_find(w, ppid) != NULL;
}

static int by_pid(const void *a, const void *b)
{
	return ((const struct watched *)a)->pid - ((const struct watched *)b)->pid;
}

int watch_update(struct watch *w)
{
	_cleanup_free_ char *path = xasprintf("%s/proc", w->finder->root);
	DIR *d = opendir(path);

	if (!d)
		return -errno;
	w->count = 0;
	for (const struct dirent *e; (e = readdir(d));) {
		_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
		struct proc_stat st;
		char name[300];

		if (e->d_name[0] < '0' || e->d_name[0] > '9')
			continue;
		snprintf(name, sizeof(name), "%s/stat", e->d_name);
		if (fs_read(dirfd(d), name, 4096, &text) < 0 ||
		    !proc_parse_stat(text.buf, text.len, &st) || st.last < STAT_STARTTIME ||
		    !is_ours(w, (int)st.f[STAT_PID], (int)st.f[STAT_PPID]))
			continue;
		GROW(w->list, w->count, w->cap);
		w->list[w->count++] = (struct watched){.pid = (int)st.f[STAT_PID],
						       .ppid = (int)st.f[STAT_PPID],
						       .starttime = st.f[STAT_STARTTIME],
						       .rank = -1,
						       .main = true};
		qsort(w->list, w->count, sizeof(*w->list), by_pid);
	}
	closedir(d);
	w->found_any |= w->count > 0;
	return (int)w->count;
}

void watch_fork(struct watch *w, int parent, int child)
{
	(void)w;
	(void)parent;
	(void)child;
}

void watch_exit(struct watch *w, int pid)
{
	(void)w;
	(void)pid;
}

bool watch_over(const struct watch *w)
{
	return w->found_any && !w->count;
}

const struct watched *watch_find(const struct watch *w, int pid)
{
	const struct watched key = {.pid = pid};

	return w->count ? bsearch(&key, w->list, w->count, sizeof(key), by_pid) : NULL;
}

const char *watch_group(const struct watch *w, const char *controller)
{
	for (size_t i = 0; i < w->group_count; i++)
		if (!strcmp(w->groups[i].controller, controller))
			return w->groups[i].path;
	return NULL;
}
