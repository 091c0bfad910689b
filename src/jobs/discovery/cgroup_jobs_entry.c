/* Entries of the list of jobs; see cgroup_jobs_internal.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "core/text/text.h"
#include "jobs/discovery/cgroup_jobs_internal.h"

#define CGROUP_MAGIC 0x27e0eb
#define CGROUP2_MAGIC 0x63677270

/* ---- entries by key ------------------------------------------------------------------------- */

static uint64_t hash(int space, const char *key, size_t n)
{
	return hash_more((uint64_t)space, key, n);
}

/* If an ended and a new entry have the same key, finds the new one. */
struct entry *entries_find(struct cgroup_jobs *j, int space, const char *key, size_t n)
{
	struct hash_slot *s = hash_map_first(&j->index, hash(space, key, n));
	struct entry *found = NULL;

	for (; s; s = hash_map_next(&j->index, s)) {
		struct entry *e = (struct entry *)s->value;

		if (e->space != space || strncmp(e->key, key, n) != 0 || e->key[n])
			continue;
		if (!found || found->job.state == JOB_ENDED)
			found = e;
	}
	return found;
}

static void index_remove(struct cgroup_jobs *j, const struct entry *e)
{
	struct hash_slot *s = hash_map_first(&j->index, hash(e->space, e->key, strlen(e->key)));

	while (s && s->value != (uintptr_t)e)
		s = hash_map_next(&j->index, s);
	if (s)
		hash_map_remove(&j->index, s);
}

/* ---- entries -------------------------------------------------------------------------------- */

void entry_close_lost(struct entry *e)
{
	for (size_t i = 0; i < e->lost_count; i++)
		close(e->lost[i]);
	free(e->lost);
	e->lost = NULL;
	e->lost_count = 0;
}

void entry_free(struct cgroup_jobs *j, struct entry *e)
{
	size_t keep = 0;

	for (size_t i = 0; i < j->entry_count; i++)
		if (j->entries[i] != e)
			j->entries[keep++] = j->entries[i];
	j->entry_count = keep;
	index_remove(j, e);
	members_unwatch(e);
	entry_close_lost(e);
	free(e->job.id);
	free(e->job.user);
	free(e->job.owner);
	free(e->job.manager);
	free(e->job.path);
	free(e->groups);
	free(e->given);
	free(e->key);
	free(e);
}

/* The id; if another job has it, with a distinction: "12@bob", "12@slurm_n2". */
static char *unique_id(const struct cgroup_jobs *j, const struct entry *e)
{
	_cleanup_free_ char *first = xstrndup(e->key, strcspn(e->key, "/"));
	const char *mark = e->job.user ? e->job.user : first;
	bool taken = false;

	for (size_t i = 0; i < j->shown_count; i++) {
		const struct job *other = &j->shown[i]->job;

		if (j->shown[i] == e || strcmp(other->id, e->given) != 0)
			continue;
		taken = true;
		if (e->job.user && other->user && !strcmp(e->job.user, other->user))
			mark = first;
	}
	if (!taken)
		return xstrdup(e->given);
	_cleanup_strbuf_ struct strbuf id = STRBUF_INIT;
	strbuf_addf(&id, "%s@", e->given);
	for (const char *p = mark; *p && id.len < 128; p++)
		strbuf_addch(&id, *p <= ' ' || *p >= 0x7f ? '?' : *p);
	size_t base = id.len;
	for (unsigned n = 2; taken; n++) {
		taken = false;
		for (size_t i = 0; i < j->shown_count; i++)
			taken |= j->shown[i] != e && !strcmp(j->shown[i]->job.id, id.buf);
		if (!taken)
			break;
		strbuf_cut(&id, base);
		strbuf_addf(&id, ".%u", n);
	}
	return strbuf_take(&id);
}

void entry_show(struct cgroup_jobs *j, struct entry *e)
{
	e->hidden = false;
	e->job.state = JOB_WAITING;
	e->job.begin_ns = 0;
	e->job.number = ++j->numbers;
	e->empty_ns = e->looked_ns = e->asked_ns = 0;
	free(e->job.owner);
	e->job.owner = NULL;
	e->owned = false;
	e->found_ns = j->now_ns;
	free(e->job.id);
	e->job.id = unique_id(j, e);
	GROW(j->shown, j->shown_count, j->shown_cap);
	j->shown[j->shown_count++] = e;
	j->changes++;
}

static struct entry *entry_make(struct cgroup_jobs *j, const struct tree *t, const char *key,
				const struct path_job *is)
{
	struct entry *e = xcalloc(1, sizeof(*e));
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT;

	strbuf_addch(&path, '/');
	text_add_printable(&path, key, strlen(key));
	*e = (struct entry){.key = xstrdup(key),
			    .space = j->hierarchies[t->hierarchy].space,
			    .given = xstrdup(is->id),
			    .pidfd = -1};
	e->job = (struct job){.user = is->user ? xstrdup(is->user) : NULL,
			      .manager = xstrdup(is->manager),
			      .path = strbuf_take(&path)};
	for (unsigned c = 0; c < CGROUP_JOBS_CONTROLLERS; c++)
		e->job.dirs[c] = -1;
	GROW(j->entries, j->entry_count, j->entry_cap);
	j->entries[j->entry_count++] = e;
	hash_map_add(&j->index, hash(e->space, key, strlen(key)), (uintptr_t)e);
	entry_show(j, e);
	return e;
}

void entry_refresh(struct cgroup_jobs *j, struct entry *e)
{
	/* a directory of version 2 has the files of all enabled controllers */
	static const char *const files[CGROUP_JOBS_MEMBERS] = {
		[CGROUP_JOBS_CPUACCT] = "cpu.stat",   [CGROUP_JOBS_CPU] = "cpu.max",
		[CGROUP_JOBS_MEMORY] = "memory.stat", [CGROUP_JOBS_BLKIO] = "io.stat",
		[CGROUP_JOBS_PIDS] = "pids.current",  [CGROUP_JOBS_PERF] = "cgroup.procs",
	};
	const struct group *best = NULL, *of[CGROUP_JOBS_CONTROLLERS] = {0};

	e->job.version2 = e->group_count > 0;
	e->live = e->group_count > 0;
	for (size_t i = 0; i < e->group_count; i++) {
		const struct group *g = e->groups[i];
		const struct hierarchy *h = &j->hierarchies[g->hierarchy];
		struct statfs fs;

		e->job.version2 &= h->version2;
		e->live &= fstatfs(g->fd, &fs) == 0 && (fs.f_type == (__fsword_t)CGROUP_MAGIC ||
							fs.f_type == (__fsword_t)CGROUP2_MAGIC);
		if (!best || h->rank < j->hierarchies[best->hierarchy].rank)
			best = g;
		for (unsigned c = 0; c < CGROUP_JOBS_MEMBERS; c++)
			if (h->controllers >> c & 1 && (!of[c] || !h->version2) &&
			    (!h->version2 || faccessat(g->fd, files[c], F_OK, 0) == 0))
				of[c] = g;
	}
	for (size_t i = 0; best && i < e->group_count; i++)
		if (e->groups[i]->fd == e->job.dirs[CGROUP_JOBS_MEMBERS])
			best = e->groups[i]; /* processes were found there before */
	of[CGROUP_JOBS_MEMBERS] = best;
	for (unsigned c = 0; c < CGROUP_JOBS_CONTROLLERS; c++) {
		e->job.dirs[c] = of[c] ? of[c]->fd : -1;
		e->job.inodes[c] = of[c] ? of[c]->inode : 0;
	}
}

void entry_end(struct cgroup_jobs *j, struct entry *e)
{
	members_unwatch(e);
	e->job.state = JOB_ENDED;
	e->ended_ns = j->now_ns;
	j->changes++;
}

static uint64_t hierarchy_bit(size_t hierarchy)
{
	return hierarchy < 64 ? 1ull << hierarchy : 0;
}

/* A job that has ended got a directory: did its manager restart it? Not if the directory is in a
 * hierarchy that was found late, and has no process. */
static bool is_restarted(struct cgroup_jobs *j, struct entry *e, size_t hierarchy)
{
	return e->seen & hierarchy_bit(hierarchy) ||
	       j->now_ns - e->ended_ns > CGROUP_JOBS_LATE_NS || members_any(j, e);
}

int entries_add(struct cgroup_jobs *j, const struct tree *t, const char *path, const char *below,
		const struct path_job *is, struct group **ret)
{
	_cleanup_free_ char *key = xasprintf("%s%s%s", t->below, *t->below ? "/" : "", below);
	struct entry *e = entries_find(j, j->hierarchies[t->hierarchy].space, key, strlen(key));
	struct stat st;

	*ret = NULL;
	if (e && !e->hidden && e->job.state == JOB_ENDED)
		return -EAGAIN; /* until that one is forgotten */
	for (size_t i = 0; e && i < e->group_count; i++)
		if (e->groups[i]->hierarchy == t->hierarchy)
			return 0;
	if (!e && j->entry_count >= CGROUP_JOBS_ENTRIES_MAX) {
		j->left_out = true;
		return -ENOSPC;
	}
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0) {
		j->unopened += errno != ENOENT;
		close_fd(&fd);
		return -ENOSPC;
	}
	if (!e)
		e = entry_make(j, t, key, is);
	struct group *g = xcalloc(1, sizeof(*g));
	*g = (struct group){.entry = e, .hierarchy = t->hierarchy, .fd = fd, .inode = st.st_ino};
	GROW(e->groups, e->group_count, e->group_cap);
	e->groups[e->group_count++] = g;
	entry_refresh(j, e);
	if (e->hidden && is_restarted(j, e, t->hierarchy)) {
		e->seen = 0;
		entry_show(j, e);
	}
	e->seen |= hierarchy_bit(t->hierarchy);
	*ret = g;
	return 0;
}

void entries_lose(struct cgroup_jobs *j, struct group *g)
{
	struct entry *e = g->entry;
	size_t keep = 0;

	for (size_t i = 0; i < e->group_count; i++)
		if (e->groups[i] != g)
			e->groups[keep++] = e->groups[i];
	e->group_count = keep;
	/* kept for the last reading */
	e->lost = xreallocarray(e->lost, e->lost_count + 1, sizeof(*e->lost));
	e->lost[e->lost_count++] = g->fd;
	free(g);
	if (j->closing || e->job.state == JOB_ENDED)
		return;
	if (e->group_count && members_any(j, e)) {
		entry_refresh(j, e);
		entry_close_lost(e);
		return;
	}
	entry_end(j, e);
}
