/* Where control groups are mounted, the lines of /proc/PID/cgroup, and the processes of a group. */
#pragma once

#include <sys/types.h>

#include "core/util.h"

/* A hierarchy of control groups. */
struct cgroup_mount {
	char *controllers; /* ",cpu,cpuacct,"; "" is version 2 */
	char *dir;         /* where it is mounted, root included */
	char *base;        /* the group that is mounted there; "": the root group */
};

struct mounts {
	char *root; /* in front of /proc, /sys and /dev */
	struct cgroup_mount *list;
	size_t count, cap;
};

/* Reads them; root is "" on a live machine. */
void mounts_find(struct mounts *m, const char *root);
/* Parses the text of a mountinfo file, which it modifies. */
void mounts_parse(struct mounts *m, char *text);
/* Without mountinfo: takes the directories below this one (without the root) for mounts of the
 * controllers they are named after. strict: ignore other names. */
void mounts_guess(struct mounts *m, const char *below, bool strict);
/* Adds a mount; dir is without the root. */
void mounts_add(struct mounts *m, const char *controllers, const char *dir, const char *base);
/* Removes all but the first ones. */
void mounts_cut(struct mounts *m, size_t count);
void mounts_close(struct mounts *m);
/* The n-th best hierarchy to read processes from; NULL after the last. */
const struct cgroup_mount *mount_nth(const struct mounts *m, size_t n);
/* The mount of a list "cpu,cpuacct" ("" for version 2), and that of a directory; NULL: none. */
const struct cgroup_mount *mount_of(const struct mounts *m, const char *controllers);
const struct cgroup_mount *mount_above(const struct mounts *m, const char *path);
bool mount_has(const struct cgroup_mount *m, const char *name, size_t n);
/* The next line "4:cpu,cpuacct:/path" of /proc/PID/cgroup; modifies the text. */
bool mount_line(char **text, char **ret_controllers, char **ret_path);
/* The path of such a group below the mount; "": the mount itself. */
const char *mount_below(const struct cgroup_mount *m, const char *path);
/* Its directory; freed by the caller. */
char *mount_dir(const struct cgroup_mount *m, const char *path);

/*
 * Calls back for each process in the list of a group, whose directory is dir below dirfd; 0 is one
 * of another pid namespace. -EOPNOTSUPP: a threaded group of version 2 has no list, its processes
 * are in that of the group above. Opens the file each time: version 1 shows a list that is up to a
 * second old to whoever reads twice through one descriptor.
 */
int cgroup_each_process(int dirfd, const char *dir, void (*take)(void *user, pid_t pid),
			void *user);
