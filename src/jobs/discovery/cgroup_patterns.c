/* Names of control groups; see cgroup_patterns.h. */
#include "jobs/discovery/cgroup_patterns.h"

#include <ctype.h>
#include <string.h>

const struct cgroup_pattern manager_groups[] = {
	{"slurm", "slurm/uid_~/job_%", false, false},
	{"slurm", "slurm_@/uid_~/job_%", false, false},
	{"slurm", "system.slice/slurmstepd.scope/job_%", false, false},
	{"slurm", "system.slice/@_slurmstepd.scope/job_%", false, false},
	{"pbs", "pbs_jobs.service/jobid/%", true, false},
	{"pbs", "pbs_jobs.service/jobid/%.*", true, false},
	{"pbs", "pbs_jobs.service/jobs/%", true, false},
	{"pbs", "pbs_jobs.service/jobs/%.*", true, false},
	{"pbs", "pbspro.service/jobid/%", true, false},
	{"pbs", "pbspro.slice/pbspro-%.slice", true, false},
	{"pbs", "pbspro.slice/pbspro-%.*.slice", true, false},
	{"pbs", "pbspro/%", true, false},
	{"pbs", "torque/%", true, false},
	{"oar", "oar/~_%", false, false},
	{"oar", "oar.~_%.slice", false, false},
	{"lsf", "lsf/*/job.%.*", false, false},
	{"kubernetes", "kubepods/pod%", true, true},
	{"kubernetes", "kubepods/*/pod%", true, true},
	{"kubernetes", "kubepods.slice/kubepods-pod%.slice", true, true},
	{"kubernetes", "kubepods.slice/kubepods-*.slice/kubepods-*-pod%.slice", true, true},
	{"docker", "docker/%", true, true},
	{"docker", "system.slice/docker-%.scope", true, true},
	{"podman", "machine.slice/libpod-%.scope", true, true},
};
const size_t manager_group_count = ARRAY_SIZE(manager_groups);

struct matching {
	bool word;
	struct span *id, *user;
	const char *job, *node; /* what these must be; NULL: anything */
};

static bool is_text(const char *text, const char *p, size_t n)
{
	return strlen(text) == n && !memcmp(text, p, n);
}

static bool is_id(const struct matching *m, const char *p, size_t n)
{
	if (m->job)
		return is_text(m->job, p, n);
	for (size_t i = 0; i < n; i++)
		if (!isdigit((unsigned char)p[i]) &&
		    (!m->word || (!isalnum((unsigned char)p[i]) && !strchr("._-[]\\", p[i]))))
			return false;
	return n && isalnum((unsigned char)p[0]);
}

/* Names have at most 255 bytes and patterns at most three wildcards: trying all is cheap. */
static bool part(const struct matching *m, struct span pattern, struct span name)
{
	while (pattern.n && !strchr("%@~*", *pattern.p)) {
		if (!name.n || *name.p != *pattern.p)
			return false;
		pattern.p++, pattern.n--;
		name.p++, name.n--;
	}
	if (!pattern.n)
		return !name.n;
	char kind = *pattern.p;
	struct span rest = {pattern.p + 1, pattern.n - 1};

	/* the longest first: "a_b_12" is user a_b, "12.server" is all id */
	for (size_t n = name.n; n > 0; n--) {
		if ((kind == '%' && !is_id(m, name.p, n)) ||
		    (kind == '@' && m->node && !is_text(m->node, name.p, n)) ||
		    !part(m, rest, (struct span){name.p + n, name.n - n}))
			continue;
		if (kind == '%')
			*m->id = (struct span){name.p, n};
		else if (kind == '~')
			*m->user = (struct span){name.p, n};
		return true;
	}
	return false;
}

enum cgroup_pattern_match cgroup_pattern_match(const struct cgroup_pattern *g, const char *path,
					       struct span *ret_id, struct span *ret_user)
{
	struct matching m = {.word = g->word, .id = ret_id, .user = ret_user};
	const char *pattern = g->pattern;

	*ret_id = *ret_user = (struct span){0};
	path += strspn(path, "/");
	while (*path) {
		size_t n = strcspn(pattern, "/"), size = strcspn(path, "/");

		if (!*pattern || !part(&m, (struct span){pattern, n}, (struct span){path, size}))
			return MATCH_NONE;
		pattern += n + (pattern[n] == '/');
		path += size + (path[size] == '/');
	}
	return *pattern ? MATCH_ABOVE : MATCH_JOB;
}

bool cgroup_pattern_part(struct span pattern, struct span name, const char *job, const char *node)
{
	struct span id, user;

	return part(&(struct matching){.id = &id, .user = &user, .job = job, .node = node}, pattern,
		    name);
}

size_t cgroup_pattern_prefix(const char *pattern, const char *path, const char *job,
			     const char *node)
{
	const char *p = path;

	while (*pattern) {
		size_t n = strcspn(pattern, "/");

		if (*p++ != '/')
			return 0;
		size_t size = strcspn(p, "/");
		if (!cgroup_pattern_part((struct span){pattern, n}, (struct span){p, size}, job,
					 node))
			return 0;
		p += size;
		pattern += n + (pattern[n] == '/');
	}
	return (size_t)(p - path);
}
