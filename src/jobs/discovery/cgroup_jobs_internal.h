/*
 * Shared by the files cgroup_jobs*.c. inotify watches the directories that may contain jobs; a
 * directory that changed is listed again as a whole, so neither the order nor the loss of events
 * matters. A group is one directory of a job in one hierarchy; an entry is a job with all groups of
 * one path. To know whether a job has processes, one of them is followed by its pidfd: until it
 * ends nothing is read, so a node full of quiet jobs costs nothing.
 */
#pragma once

#include <regex.h>

#include "core/hash_map.h"
#include "jobs/discovery/cgroup_jobs.h"
#include "jobs/discovery/cgroup_mounts.h"

#define CGROUP_JOBS_DEPTH_MAX 8   /* directories below a root that lead to a job */
#define CGROUP_JOBS_DIRS_MAX 8192 /* directories watched */
#define CGROUP_JOBS_CHILDREN_MAX 65536
#define CGROUP_JOBS_ENTRIES_MAX 16384
#define CGROUP_JOBS_STEPS_MAX 4096 /* directories of one job */
#define CGROUP_JOBS_STEPS_DEPTH 16
/* For this long a directory of a hierarchy that is found late may belong to a job that has ended:
 * roots that are missing are looked for once a second. */
#define CGROUP_JOBS_LATE_NS 5000000000ull

/* A hierarchy of control groups; jobs.mounts has the mount at the same place. */
struct hierarchy {
	unsigned controllers; /* bits of enum job_controller */
	int rank;             /* members are read from the hierarchy with the smallest rank */
	int space;            /* equal paths in hierarchies of one space are one job */
	bool version2, used;
};

/* A place below which jobs are looked for. */
struct tree {
	size_t hierarchy;
	char *path;      /* its directory */
	char *below;     /* the same below the mount, "" or "oar" */
	bool managers;   /* the managers' own names, not patterns */
	bool inferred;   /* a user is what stands in front of the id: alice_12 */
	char *only;      /* name of the only directory that is a job; NULL: any */
	struct dir *top; /* NULL: it does not exist */
	uint64_t tried_ns;
};

/* What a directory has in it. */
struct child {
	char *name;
	uint64_t inode;
	struct dir *dir;     /* one that may lead to jobs */
	struct group *group; /* of a job; neither: ignored */
	bool pending;        /* not yet classified, or adding it failed */
};

struct dir {
	struct tree *tree;
	char *path;
	char *below; /* below the tree, "" for its top */
	int wd;      /* -1: not watched */
	unsigned depth;
	bool dirty;
	uint64_t listed;        /* number of the update that last listed it */
	struct child *children; /* sorted by name */
	size_t count;
};

struct group {
	struct entry *entry;
	size_t hierarchy;
	int fd;
	uint64_t inode;
};

struct entry {
	struct job job;
	char *key; /* path below the mount */
	int space;
	char *given; /* the id that its name gives; job.id where no other has it */
	struct group **groups;
	size_t group_count, group_cap;
	int *lost; /* descriptors of groups that are gone, for a last reading */
	size_t lost_count;
	int pidfd;     /* of one of its processes; -1: none */
	bool hidden;   /* its end was reported: not in the list */
	bool live;     /* its groups are the kernel's own */
	uint64_t seen; /* hierarchies that it had a group in, one bit each */
	uint64_t looked_ns, found_ns, ended_ns;
	uint64_t empty_ns; /* since when it has no process; 0: it has one */
	uint64_t asked_ns; /* when its owner was last looked up */
	bool owned;        /* the owner is known for good */
};

/* A user that was looked up; NULL name: there was none. */
struct user_name {
	uid_t uid;
	uint64_t asked_ns;
	char *name;
};

/* A root as the user named it. */
struct wanted {
	char *path;
	char *only; /* the one name below it that is a job; NULL: whatever patterns say */
	bool found;
};

struct cgroup_jobs {
	char *root;
	struct wanted *wanted;
	size_t wanted_count;
	bool rooted; /* some of them are roots, which replace the usual places */
	regex_t *patterns;
	size_t pattern_count;
	bool any_manager; /* no pattern was given: managers' names count anywhere below a root */
	char **only;
	size_t only_count;
	bool containers, patterns_given;
	uint64_t linger_ns;

	struct mounts mounts;
	struct hierarchy *hierarchies;
	size_t hierarchy_cap;
	int spaces;
	struct tree **trees;
	size_t tree_count, tree_cap;
	struct dir **dirs;
	size_t dir_count, dir_cap;

	struct entry **entries; /* all with groups or in the list, and those that ended just now */
	size_t entry_count, entry_cap;
	struct hash_map index; /* entries by space and key */
	struct entry **shown;  /* the list, sorted by number */
	size_t shown_count, shown_cap;
	uint64_t numbers;

	struct user_name *names;
	size_t name_count, name_cap;
	uint64_t silent_ns; /* when a user lookup last timed out; 0: never */

	int epoll, inotify, timer; /* -1: there is none */
	/* Polling consumes the notification of a change, and the caller polls our epoll too: the
	 * first descriptor is for the caller, the second for us. */
	int mountinfo[2];
	bool remount;
	uint64_t updates, now_ns, relisted_ns, remounted_ns;
	unsigned timer_ms;
	int changes;
	size_t unnamed;         /* groups whose name contains no valid id */
	size_t unopened;        /* groups that could not be opened */
	size_t unwatched;       /* directories without a watch */
	bool left_out, closing; /* left_out: something exceeded the limits */
};

/* ---- cgroup_jobs_pattern.c: is a path a job's? ---------------------------------------------- */

enum path_kind { PATH_OTHER, PATH_ABOVE, PATH_JOB };

struct path_job {
	char *id, *user;
	const char *manager;
};

int patterns_open(struct cgroup_jobs *j, const struct cgroup_jobs_options *o, struct strbuf *why);
void patterns_close(struct cgroup_jobs *j);
/* Classifies a path below a tree; fills *ret for a job only, which the caller frees. */
enum path_kind patterns_judge(struct cgroup_jobs *j, const struct tree *t, const char *below,
			      struct path_job *ret);

/* ---- cgroup_jobs_tree.c: directories -------------------------------------------------------- */

void trees_open(struct cgroup_jobs *j);
void trees_close(struct cgroup_jobs *j);
/* Looks for missing roots and lists directories that changed. */
void trees_update(struct cgroup_jobs *j);
/* Handles an event of a watch; wd -1: events were lost. over: the last one of the watch. */
void trees_event(struct cgroup_jobs *j, int wd, bool over);
/* Mounts may have changed. */
void trees_remount(struct cgroup_jobs *j);
bool trees_wait(const struct cgroup_jobs *j); /* is a root missing? */

/* ---- cgroup_jobs_entry.c: entries ----------------------------------------------------------- */

/* Adds a directory of a job; *ret is NULL if another root has it already. -EAGAIN: try again at the
 * next update. -ENOSPC: try again when the directory is listed next. */
int entries_add(struct cgroup_jobs *j, const struct tree *t, const char *path, const char *below,
		const struct path_job *is, struct group **ret);
/* Removes a group whose directory is gone. */
void entries_lose(struct cgroup_jobs *j, struct group *g);
struct entry *entries_find(struct cgroup_jobs *j, int space, const char *key, size_t n);
/* Adds an entry to the list as a new job. */
void entry_show(struct cgroup_jobs *j, struct entry *e);
/* Determines again which directory serves which controller. */
void entry_refresh(struct cgroup_jobs *j, struct entry *e);
void entry_end(struct cgroup_jobs *j, struct entry *e);
void entry_close_lost(struct entry *e);
void entry_free(struct cgroup_jobs *j, struct entry *e);

/* ---- cgroup_jobs_members.c: processes ------------------------------------------------------- */

/* Does any group have a process? Keeps a pidfd of one, if possible. */
bool members_any(struct cgroup_jobs *j, struct entry *e);
/* Did its groups ever use the CPU? */
bool members_ever(const struct entry *e);
void members_unwatch(struct entry *e);

/* ---- cgroup_jobs_owner.c: users ------------------------------------------------------------- */

/* Looks up the owner of a running job, from time to time until it is known. */
void owner_look(struct cgroup_jobs *j, struct entry *e);
void owners_close(struct cgroup_jobs *j);
