/*
 * Checks the directories of jobs (--cgroup-root, --cgroup). One that does not exist may appear
 * later: batch systems make theirs with the first job. But a mistyped name looks the same and never
 * gives data, so it is logged, and again when the directory appears.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "jobs/discovery/cgroup_mounts.h"
#include "node/node_internal.h"

/* Is it in a cgroup file system, or above one? */
static bool leads_to_groups(const struct mounts *m, const char *dir)
{
	size_t n = strlen(dir);

	if (mount_above(m, dir))
		return true;
	for (size_t i = 0; i < m->count; i++)
		if (!strncmp(m->list[i].dir, dir, n) && (n == 1 || m->list[i].dir[n] == '/'))
			return true;
	return false;
}

/* What is wrong with a directory; NULL: nothing. */
static const char *root_problem(const char *path)
{
	_cleanup_free_ char *resolved = realpath(path, NULL);
	struct mounts m = {0};
	struct stat st;

	if (!resolved)
		return errno == ENOENT ? "does not exist" : strerror(errno);
	if (stat(resolved, &st) < 0 || !S_ISDIR(st.st_mode))
		return "is not a directory";
	mounts_find(&m, "");
	bool leads = leads_to_groups(&m, resolved);
	mounts_close(&m);
	return leads ? NULL : "is not in a cgroup file system";
}

static void check_root(struct node *n, struct name_list *list, size_t i, const char *option,
		       size_t bit)
{
	const char *path = list->names[i];
	const char *wrong = root_problem(path);
	bool was = n->roots_wrong >> bit & 1;

	if (wrong && !was)
		log_warn(
			"'%s' (%s) %s: waiting for it to appear; if the name is wrong, correct it and "
			"restart (without %s all known places are searched; `findmnt -t "
			"cgroup,cgroup2` lists the cgroup file systems)",
			path, option, wrong, option);
	else if (!wrong && was)
		log_info("'%s' (%s) exists now: looking for jobs in it", path, option);
	n->roots_wrong = wrong ? n->roots_wrong | 1ull << bit : n->roots_wrong & ~(1ull << bit);
}

void node_look_at_roots(struct node *n)
{
	struct name_list *roots = &n->settings.roots, *groups = &n->settings.groups;

	if (*n->o->root)
		return;
	for (size_t i = 0; i < roots->count && i < NODE_ROOTS_CHECKED; i++)
		check_root(n, roots, i, "--cgroup-root", i);
	for (size_t i = 0; i < groups->count && i < NODE_ROOTS_CHECKED; i++)
		check_root(n, groups, i, "--cgroup", NODE_ROOTS_CHECKED + i);
}

void node_look_at_wrong_roots(struct node *n)
{
	if (n->roots_wrong)
		node_look_at_roots(n);
}

static void add_problem(const struct name_list *list, size_t i, const char *option,
			struct value *to)
{
	const char *wrong = root_problem(list->names[i]);
	_cleanup_free_ char *text = wrong ? xasprintf("'%s' (%s) %s: no job is found there",
						      list->names[i], option, wrong)
					  : NULL;

	if (text)
		value_append(to, value_str(text));
}

void node_add_root_problems(const struct node *n, struct value *list)
{
	const struct name_list *roots = &n->settings.roots, *groups = &n->settings.groups;

	for (size_t i = 0; i < 2 * NODE_ROOTS_CHECKED; i++) {
		if (!(n->roots_wrong >> i & 1))
			continue;
		if (i < NODE_ROOTS_CHECKED)
			add_problem(roots, i, "--cgroup-root", list);
		else
			add_problem(groups, i - NODE_ROOTS_CHECKED, "--cgroup", list);
	}
}
