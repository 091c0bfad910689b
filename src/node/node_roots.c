/*
 * Directories that jobs are looked for in (--cgroup-root, --cgroup), and what is wrong with them.
 * One that is not there yet is waited for: batch systems make theirs with the first job. But a name
 * that was mistyped looks the same and gives no data for ever, so it is said, and said again when
 * it is over.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

#include "jobs/discovery/cgroup_mounts.h"
#include "node/node_internal.h"

/* Is it in a tree of control groups, or above one? */
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
static const char *judge(const char *path)
{
	_cleanup_free_ char *whole = realpath(path, NULL);
	struct mounts m = {0};
	struct stat st;

	if (!whole)
		return errno == ENOENT ? "is not there" : strerror(errno);
	if (stat(whole, &st) < 0 || !S_ISDIR(st.st_mode))
		return "is no directory";
	mounts_find(&m, "");
	bool leads = leads_to_groups(&m, whole);
	mounts_close(&m);
	return leads ? NULL : "is in no tree of control groups";
}

static void look_at(struct node *n, struct node_list *list, size_t i, const char *option,
		    size_t bit)
{
	const char *path = list->words[i];
	const char *wrong = judge(path);
	bool was = n->roots_wrong >> bit & 1;

	if (wrong && !was)
		log_warn(
			"'%s' (%s) %s: no job is found there, and it is waited for; if the name is "
			"wrong, correct it and start again (without %s all known places are "
			"searched; `findmnt -t cgroup,cgroup2` lists where control groups are)",
			path, option, wrong, option);
	else if (!wrong && was)
		log_info("'%s' (%s) is there now: jobs are looked for in it", path, option);
	n->roots_wrong = wrong ? n->roots_wrong | 1ull << bit : n->roots_wrong & ~(1ull << bit);
}

void node_look_at_roots(struct node *n)
{
	struct node_list *roots = &n->settings.roots, *groups = &n->settings.groups;

	if (*n->o->root)
		return;
	for (size_t i = 0; i < roots->count && i < NODE_ROOTS_SAID; i++)
		look_at(n, roots, i, "--cgroup-root", i);
	for (size_t i = 0; i < groups->count && i < NODE_ROOTS_SAID; i++)
		look_at(n, groups, i, "--cgroup", NODE_ROOTS_SAID + i);
}

void node_look_at_wrong_roots(struct node *n)
{
	if (n->roots_wrong)
		node_look_at_roots(n);
}

static void add_problem(const struct node_list *list, size_t i, const char *option,
			struct value *to)
{
	const char *wrong = judge(list->words[i]);
	_cleanup_free_ char *text = wrong ? xasprintf("'%s' (%s) %s: no job is found there",
						      list->words[i], option, wrong)
					  : NULL;

	if (text)
		value_append(to, value_str(text));
}

void node_add_root_problems(const struct node *n, struct value *list)
{
	const struct node_list *roots = &n->settings.roots, *groups = &n->settings.groups;

	for (size_t i = 0; i < 2 * NODE_ROOTS_SAID; i++) {
		if (!(n->roots_wrong >> i & 1))
			continue;
		if (i < NODE_ROOTS_SAID)
			add_problem(roots, i, "--cgroup-root", list);
		else
			add_problem(groups, i - NODE_ROOTS_SAID, "--cgroup", list);
	}
}
