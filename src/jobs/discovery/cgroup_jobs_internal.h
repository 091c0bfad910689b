/*
 * What the files of jobs*.c share. Directories that may hold jobs are watched by inotify; one in
 * which something changed is listed again as a whole, so that neither the order of events nor a
 * loss of them matters. A group is one directory of a job in one hierarchy; an entry is all groups
 * of one path, and its job. Whether a job has processes is told by one of them: as long as its
 * pidfd is silent nothing is read, so that a node full of quiet jobs costs nothing.
 */
#ifndef PL_JOBS_DISCOVERY_CGROUP_JOBS_INTERNAL_H
#define PL_JOBS_DISCOVERY_CGROUP_JOBS_INTERNAL_H

#include <regex.h>

#include "jobs/discovery/cgroup_jobs.h"
#include "jobs/discovery/cgroup_mounts.h"

#define CGROUP_JOBS_DEPTH_MAX 8   /* directories below a root that lead to a job */
#define CGROUP_JOBS_DIRS_MAX 8192 /* directories watched */
#define CGROUP_JOBS_CHILDREN_MAX 65536
#define CGROUP_JOBS_ENTRIES_MAX 16384
#define CGROUP_JOBS_STEPS_MAX 4096 /* directories of one job */
#define CGROUP_JOBS_STEPS_DEPTH 16

/* A hierarchy of control groups; jobs.mounts has the mount at the same place. */
struct hierarchy {
	unsigned controllers; /* bits of enum job_controller */
	int rank;             /* for members: the smallest that has some is asked */
	int space;            /* paths of hierarchies of one space belong together */
	bool version2, used;
};

/* A place below which jobs are looked for. */
struct tree {
	size_t hierarchy;
	char *path;      /* its directory */
	char *below;     /* the same below the mount, "" or "oar" */
	bool managers;   /* the managers' own names, not patterns */
	bool inferred;   /* a user is what stands in front of the id: alice_12 */
	char *only;      /* NULL, or the name of the one directory that is a job */
	struct dir *top; /* NULL: it is not there */
	uint64_t tried_ns;
};

/* What a directory has in it. */
struct child {
	char *name;
	uint64_t inode;
	struct dir *dir;     /* one that may lead to jobs */
	struct group *group; /* a job's own; neither: of no interest */
	bool pending;        /* not judged, or it could not be taken */
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
	int pidfd;   /* of one of its processes; -1: none */
	bool hidden; /* had its end told: not in the list */
	bool live;   /* its groups are the kernel's own */
	uint64_t looked_ns, found_ns;
	uint64_t empty_ns; /* since when nobody is in it; 0: somebody is */
	uint64_t asked_ns; /* when it was last looked for its owner */
	bool owned;        /* there is nothing more to be known of that */
};

/* A user that was asked for; no name: there was none then. */
struct user_name {
	uid_t uid;
	uint64_t asked_ns;
	char *name;
};

/* A root as the user named it, until it was found. */
struct wanted {
	char *path;
	char *only; /* the one name below it that is a job; NULL: whatever patterns say */
	bool found;
};

struct cgroup_jobs {
	char *root;
	struct wanted *wanted;
	size_t wanted_count;
	bool rooted; /* some of them are roots, so that the usual places are none */
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

	struct entry **entries; /* all that have groups or are listed */
	size_t entry_count, entry_cap;
	uint32_t *index; /* entries by key, plus one; a power of two long */
	size_t index_size;
	bool index_stale;     /* entries were taken out */
	struct entry **shown; /* the list, sorted by number */
	size_t shown_count, shown_cap;
	uint64_t numbers;

	struct user_name *names;
	size_t name_count, name_cap;
	uint64_t silent_ns; /* when nobody answered who a user is; 0: never */

	int epoll, inotify, timer; /* -1: there is none */
	/* Looking whether it has changed takes the news away, and whoever polls our epoll looks,
	 * too: the first one is for him, the second for us. */
	int mountinfo[2];
	bool remount;
	uint64_t updates, now_ns, relisted_ns, remounted_ns;
	unsigned timer_ms;
	int changes;
	size_t unnamed;         /* groups whose name gives no id that can be used */
	size_t unopened;        /* groups that could not be opened */
	size_t unwatched;       /* directories without a watch */
	bool left_out, closing; /* something was beyond the limits */
};

/* ---- cgroup_jobs_pattern.c: is a path a job's?
 * ---------------------------------------------------------
 */

enum path_kind { PATH_OTHER, PATH_ABOVE, PATH_JOB };

struct path_job {
	char *id, *user;
	const char *manager;
};

int patterns_open(struct cgroup_jobs *j, const struct cgroup_jobs_options *o, struct strbuf *why);
void patterns_close(struct cgroup_jobs *j);
/* What a path below a tree is; *ret is filled for a job only, and freed by the caller. */
enum path_kind patterns_judge(struct cgroup_jobs *j, const struct tree *t, const char *below,
			      struct path_job *ret);

/* ---- cgroup_jobs_tree.c: directories
 * --------------------------------------------------------------------
 */

void trees_open(struct cgroup_jobs *j);
void trees_close(struct cgroup_jobs *j);
/* Looks for roots that were not there, takes in what changed. */
void trees_update(struct cgroup_jobs *j);
/* An event of a watch; wd -1: some were lost. over: it is the watch's last. */
void trees_event(struct cgroup_jobs *j, int wd, bool over);
/* Mounts may have changed. */
void trees_remount(struct cgroup_jobs *j);
bool trees_wait(const struct cgroup_jobs *j); /* is a root missing? */

/* ---- cgroup_jobs_entry.c: entries
 * -----------------------------------------------------------------------------
 */

/* A directory of a job was found; *ret is NULL when another root has it already. -EAGAIN: not now,
 * the caller asks again at the next update. -ENOSPC: when the directory is next listed. */
int entries_add(struct cgroup_jobs *j, const struct tree *t, const char *path, const char *below,
		const struct path_job *is, struct group **ret);
/* It is gone. */
void entries_lose(struct cgroup_jobs *j, struct group *g);
struct entry *entries_find(struct cgroup_jobs *j, int space, const char *key, size_t n);
/* Puts an entry into the list, as a new job. */
void entry_show(struct cgroup_jobs *j, struct entry *e);
/* Finds out again which directory is for which controller. */
void entry_refresh(struct cgroup_jobs *j, struct entry *e);
void entry_end(struct cgroup_jobs *j, struct entry *e);
void entry_close_lost(struct entry *e);
void entry_free(struct cgroup_jobs *j, struct entry *e);

/* ---- cgroup_jobs_members.c: processes
 * -------------------------------------------------------------------
 */

/* Is somebody in the groups? Keeps a pidfd of one of them where that can be had. */
bool members_any(struct cgroup_jobs *j, struct entry *e);
/* Did its groups ever use the CPU? */
bool members_ever(const struct entry *e);
void members_unwatch(struct entry *e);

/* ---- cgroup_jobs_owner.c: users
 * ------------------------------------------------------------------------
 */

/* Looks for the owner of a job that runs, from time to time until he is known. */
void owner_look(struct cgroup_jobs *j, struct entry *e);
void owners_close(struct cgroup_jobs *j);

#endif
