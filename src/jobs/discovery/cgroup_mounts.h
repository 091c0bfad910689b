/*
 * Where control groups are mounted, by mountinfo, and the lines of /proc/PID/cgroup. What is
 * watched for one job and what finds all jobs of a node share this.
 */
#ifndef PL_JOBS_DISCOVERY_CGROUP_MOUNTS_H
#define PL_JOBS_DISCOVERY_CGROUP_MOUNTS_H

#include "core/util.h"

/* A hierarchy of control groups. */
struct cgroup_mount {
	char *controllers; /* ",cpu,cpuacct,"; "" is version 2 */
	char *dir;         /* where it is mounted, root included */
	char *base;        /* group that is mounted there, "" for all */
};

struct mounts {
	char *root; /* in front of /proc, /sys and /dev */
	struct cgroup_mount *list;
	size_t count, cap;
};

/* Reads them; root is "" on a live machine. */
void mounts_find(struct mounts *m, const char *root);
/* Reads the text of a mountinfo file, which it cuts. */
void mounts_parse(struct mounts *m, char *text);
/* Where nothing tells of mounts: the directories below this one (root not included) have the names
 * of controllers. strict: others than those are left out. */
void mounts_guess(struct mounts *m, const char *below, bool strict);
/* One more that something else tells of; dir is without the root. */
void mounts_add(struct mounts *m, const char *controllers, const char *dir, const char *base);
/* Forgets all behind the first ones. */
void mounts_cut(struct mounts *m, size_t count);
void mounts_close(struct mounts *m);
/* The n-th best hierarchy to read members from; NULL behind the last. */
const struct cgroup_mount *mount_nth(const struct mounts *m, size_t n);
/* That of a list "cpu,cpuacct" ("" for version 2), and the one a directory is in; NULL for none. */
const struct cgroup_mount *mount_of(const struct mounts *m, const char *controllers);
const struct cgroup_mount *mount_above(const struct mounts *m, const char *path);
bool mount_has(const struct cgroup_mount *m, const char *name, size_t n);
/* The next line "4:cpu,cpuacct:/path" of /proc/PID/cgroup; cuts the text. */
bool mount_line(char **text, char **ret_controllers, char **ret_path);
/* A group that such a line names, as it is called below the mount ("" is the mount itself). */
const char *mount_below(const struct cgroup_mount *m, const char *path);
/* Its directory; freed by the caller. */
char *mount_dir(const struct cgroup_mount *m, const char *path);

#endif
