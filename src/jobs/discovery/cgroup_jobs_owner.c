/*
 * The owner of a job whose path contains no user, or only a number: the user of its processes. Root
 * does not count: daemons of the manager run in the groups too, and the kernel shows processes that
 * we may not inspect as root's. The user directory may be slow, so each uid is looked up once, with
 * a time limit.
 */
#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>

#include "core/system/timed_call.h"
#include "core/text/text.h"
#include "jobs/discovery/cgroup_jobs_internal.h"

#define NAME_NS 2000000000ull        /* time limit of a lookup */
#define SILENT_NS 300000000000ull    /* pause after a lookup that timed out */
#define LOOK_YOUNG_NS 1000000000ull  /* how often the owner of a young job is looked up */
#define LOOK_OLDER_NS 60000000000ull /* and of an older one */
#define YOUNG_NS 30000000000ull
#define NAMES_MAX 4096

/* ---- names ---------------------------------------------------------------------------------- */

/* Leaked on purpose when no answer comes in time: the lookup still uses it. */
struct question {
	uid_t uid;
	int error;
	char *name;
};

static void ask(void *user)
{
	struct question *q = user;
	char room[16384];
	struct passwd pw, *found = NULL;

	q->error = getpwuid_r(q->uid, &pw, room, sizeof(room), &found);
	if (found && *found->pw_name && strlen(found->pw_name) <= 64 &&
	    !(*found->pw_name >= '0' && *found->pw_name <= '9'))
		q->name = xstrdup(found->pw_name);
}

static const char *ask_name(struct cgroup_jobs *j, uid_t uid)
{
	struct question *q = xcalloc(1, sizeof(*q));

	q->uid = uid;
	if (!call_within(ask, q, NAME_NS)) {
		j->silent_ns = j->now_ns;
		return NULL;
	}
	if (j->name_count == NAMES_MAX) {
		free(j->names[0].name);
		memmove(j->names, j->names + 1, --j->name_count * sizeof(*j->names));
	}
	GROW(j->names, j->name_count, j->name_cap);
	struct user_name *n = &j->names[j->name_count++];
	*n = (struct user_name){.uid = uid, .asked_ns = j->now_ns, .name = q->name};
	free(q);
	return n->name;
}

/* NULL: there is none, or the lookup fails. */
static const char *name_of(struct cgroup_jobs *j, uid_t uid)
{
	for (size_t i = 0; i < j->name_count; i++) {
		struct user_name *n = &j->names[i];

		if (n->uid != uid)
			continue;
		if (n->name || j->now_ns - n->asked_ns < LOOK_OLDER_NS)
			return n->name;
		/* the user may have been added since */
		memmove(n, n + 1, (--j->name_count - i) * sizeof(*n));
		break;
	}
	if (j->silent_ns && j->now_ns - j->silent_ns < SILENT_NS)
		return NULL;
	return ask_name(j, uid);
}

void owners_close(struct cgroup_jobs *j)
{
	for (size_t i = 0; i < j->name_count; i++)
		free(j->names[i].name);
	free(j->names);
}

/* ---- owners --------------------------------------------------------------------------------- */

struct search {
	struct cgroup_jobs *jobs;
	uid_t uid;
	bool any;
	const char *name; /* the first that is found: uids of containers have none */
};

static void look_at(void *user, pid_t pid)
{
	struct search *s = user;
	char path[4096];
	struct stat st;

	if (s->name)
		return;
	snprintf(path, sizeof(path), "%s/proc/%d", s->jobs->root, (int)pid);
	if (stat(path, &st) < 0 || !st.st_uid || (s->any && st.st_uid == s->uid))
		return;
	s->name = name_of(s->jobs, st.st_uid);
	if (s->name || !s->any)
		s->uid = st.st_uid;
	s->any = true;
}

/* Users inside containers are not users of the host. */
static bool is_container(const struct job *job)
{
	static const char *const managers[] = {"kubernetes", "docker", "podman"};

	for (size_t i = 0; i < ARRAY_SIZE(managers); i++)
		if (!strcmp(job->manager, managers[i]))
			return true;
	return false;
}

void owner_look(struct cgroup_jobs *j, struct entry *e)
{
	uint64_t every = j->now_ns - e->found_ns < YOUNG_NS ? LOOK_YOUNG_NS : LOOK_OLDER_NS;
	struct search s = {.jobs = j};
	uint64_t number;

	if (e->owned || (e->asked_ns && j->now_ns - e->asked_ns < every))
		return;
	e->asked_ns = j->now_ns;
	if (is_container(&e->job) || (e->job.user && parse_u64(e->job.user, &number) < 0)) {
		e->owned = true; /* the path has the name, or nothing does */
		return;
	}
	if (e->job.user) {
		s.any = number < UINT32_MAX;
		s.uid = (uid_t)number;
		s.name = s.any ? name_of(j, s.uid) : NULL;
	} else {
		(void)cgroup_jobs_visit_processes(j, &e->job, look_at, &s);
	}
	if (!s.any)
		return;
	e->owned = s.name != NULL;
	free(e->job.owner);
	e->job.owner = s.name ? xstrdup(s.name) : xasprintf("%u", (unsigned)s.uid);
}
