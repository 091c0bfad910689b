/* Recognises the directories of jobs by the names that managers use, or by patterns; see
 * cgroup_jobs_internal.h. */
#include <errno.h>
#include <string.h>

#include "core/text/text.h"
#include "jobs/discovery/cgroup_jobs_internal.h"
#include "jobs/discovery/cgroup_patterns.h"
#include "jobs/scheduler.h"

#define PATTERN_MAX 4096
/* The number after the last underscore of a name. */
#define PATTERN_DEFAULT "_([0-9]+)$"

/* ---- patterns ------------------------------------------------------------------------------- */

static int take_pattern(struct cgroup_jobs *j, const char *text, struct strbuf *why)
{
	regex_t *p = &j->patterns[j->pattern_count];
	char reason[256];

	if (strlen(text) > PATTERN_MAX)
		return strbuf_fail(why, -EINVAL,
				   "the pattern '%.40s...' is longer than %d characters", text,
				   PATTERN_MAX);
	int r = regcomp(p, text, REG_EXTENDED);
	if (r) {
		regerror(r, p, reason, sizeof(reason));
		return strbuf_fail(why, -EINVAL, "invalid extended regular expression '%s': %s",
				   text, reason);
	}
	j->pattern_count++;
	if (p->re_nsub)
		return 0;
	strbuf_addf(
		why,
		"the pattern '%s' has no parentheses around the job id; write it like '_([0-9]+)$'",
		text);
	return -EINVAL;
}

int patterns_open(struct cgroup_jobs *j, const struct cgroup_jobs_options *o, struct strbuf *why)
{
	size_t count = o->pattern_count ? o->pattern_count : 1;
	int r = 0;

	j->patterns = xcalloc(count, sizeof(*j->patterns));
	for (size_t i = 0; r == 0 && i < o->pattern_count; i++)
		r = take_pattern(j, o->patterns[i], why);
	j->any_manager = !o->pattern_count;
	if (!o->pattern_count)
		r = take_pattern(j, PATTERN_DEFAULT, why);
	j->only = xcalloc(o->only_count + 1, sizeof(*j->only));
	for (size_t i = 0; i < o->only_count; i++)
		j->only[j->only_count++] = xstrdup(o->only[i]);
	return r;
}

void patterns_close(struct cgroup_jobs *j)
{
	for (size_t i = 0; i < j->pattern_count; i++)
		regfree(&j->patterns[i]);
	for (size_t i = 0; i < j->only_count; i++)
		free(j->only[i]);
	free(j->patterns);
	free(j->only);
}

/* ---- patterns of Python and Rust ------------------------------------------------------------ */

static const struct {
	char letter;
	const char *inside, *outside; /* of brackets */
} classes[] = {
	{'d', "0-9", "[0-9]"},
	{'w', "A-Za-z0-9_", "[A-Za-z0-9_]"},
	{'s', " \t", "[ \t]"},
	{'D', NULL, "[^0-9]"},
	{'W', NULL, "[^A-Za-z0-9_]"},
	{'S', NULL, "[^ \t]"},
	{'/', "/", "/"},
	{'_', "_", "_"},
	{'-', NULL, "-"},
	{'A', NULL, "^"},
	{'Z', NULL, "$"},
	{'z', NULL, "$"},
	{'\\', "\\", "\\\\"},
};

/* Translates a backslash and a letter; NULL: there is no equivalent. */
static const char *class_of(char letter, bool inside, char *buf)
{
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++)
		if (classes[i].letter == letter)
			return inside ? classes[i].inside : classes[i].outside;
	if (inside || !strchr(".^$*+?()[]{}|", letter))
		return NULL;
	buf[0] = '\\';
	buf[1] = letter;
	buf[2] = 0;
	return buf;
}

int cgroup_jobs_pattern_translate(const char *text, struct strbuf *out, struct strbuf *why)
{
	bool inside = false;
	char buf[3];

	for (const char *p = text; *p; p++) {
		if (*p == '\\') {
			const char *as = p[1] ? class_of(p[1], inside, buf) : NULL;

			if (!as)
				return strbuf_fail(why, -EINVAL,
						   "unknown escape '%.2s' in the pattern '%s'", p,
						   text);
			strbuf_addstr(out, as);
			p++;
			continue;
		}
		if (!inside && str_prefix(p, "(?P<") && strchr(p, '>')) {
			strbuf_addch(out, '(');
			p = strchr(p, '>');
			continue;
		}
		if (!inside && (str_prefix(p, "(?") || (strchr("*+?}", *p) && p[1] == '?')))
			return strbuf_fail(why, -EINVAL,
					   "'%.3s' in the pattern '%s' has no equivalent in an "
					   "extended regular expression",
					   p, text);
		/* at the beginning of brackets it is an ordinary character */
		if (inside && *p == ']' && p[-1] != '[' && !(p[-1] == '^' && p[-2] == '['))
			inside = false;
		else if (!inside && *p == '[')
			inside = true;
		strbuf_addch(out, *p);
	}
	return 0;
}

/* ---- paths ---------------------------------------------------------------------------------- */

/* "job_12\x2d3" of systemd is "job_12-3". */
static void unescape(char *text)
{
	char *to = text;

	for (const char *p = text; *p; p++) {
		unsigned byte;

		if (p[0] == '\\' && p[1] == 'x' && p[2] && p[3] &&
		    sscanf(p + 2, "%2x", &byte) == 1 && byte) {
			*to++ = (char)byte;
			p += 3;
		} else {
			*to++ = *p;
		}
	}
	*to = 0;
}

static bool printable(const char *text)
{
	size_t n = strlen(text);

	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < 0x20 || text[i] == 0x7f)
			return false;
	return n && n <= 64 && utf8_valid(text, n);
}

static bool is_wanted(const struct cgroup_jobs *j, const char *id)
{
	for (size_t i = 0; i < j->only_count; i++) {
		size_t n = strlen(j->only[i]);

		/* "12" is "12.server", too */
		if (!strncmp(id, j->only[i], n) && (!id[n] || id[n] == '.'))
			return true;
	}
	return !j->only_count;
}

static enum path_kind judge_managers(const struct cgroup_jobs *j, const char *path,
				     struct path_job *ret)
{
	enum path_kind kind = PATH_OTHER;
	struct span id = {0}, user = {0};

	for (size_t i = 0; i < manager_group_count; i++) {
		const struct cgroup_pattern *g = &manager_groups[i];
		enum cgroup_pattern_match m = g->container && !j->containers
						      ? MATCH_NONE
						      : cgroup_pattern_match(g, path, &id, &user);

		if (m == MATCH_ABOVE)
			kind = PATH_ABOVE;
		if (m != MATCH_JOB)
			continue;
		ret->manager = g->manager;
		ret->id = xstrndup(id.p, id.n);
		ret->user = user.n ? xstrndup(user.p, user.n) : NULL;
		if (str_suffix(path, ".slice"))
			unescape(ret->id);
		/* a slice cannot have a dash in this place */
		for (char *p = ret->id; g->container && (p = strchr(p, '_'));)
			*p = '-';
		return PATH_JOB;
	}
	return kind;
}

/* Manager and user of a path that a pattern matched. */
static void judge_owner(struct cgroup_jobs *j, const struct tree *t, const char *path,
			struct path_job *ret)
{
	static const char *const units[] = {".slice", ".scope", ".service"};
	struct path_job by_name = {0};
	const char *base = path_base(path);
	size_t n = strlen(base), tail = strlen(ret->id);

	if (judge_managers(j, path, &by_name) == PATH_JOB) {
		ret->manager = by_name.manager;
		ret->user = by_name.user;
		free(by_name.id);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(units); i++)
		if (strstr(path, units[i]))
			ret->manager = "systemd";
	if (t->inferred && n > tail + 1 && base[n - tail - 1] == '_')
		ret->user = xstrndup(base, n - tail - 1);
}

/* A root may be above a manager's own tree: "slurm/uid_0" leads to jobs at any depth. A single name
 * is not enough to say so. */
static enum path_kind judge_deeper(const struct cgroup_jobs *j, const char *path,
				   struct path_job *ret)
{
	for (const char *p = path; p; p = strchr(p, '/') ? strchr(p, '/') + 1 : NULL) {
		enum path_kind kind = judge_managers(j, p, ret);

		if (kind == PATH_JOB || (kind == PATH_ABOVE && strchr(p, '/')))
			return kind;
	}
	return PATH_OTHER;
}

/* No job: in files and messages job 0 is the node. */
static bool is_zero(const char *id)
{
	return *id && !id[strspn(id, "0")];
}

static enum path_kind judge_patterns(struct cgroup_jobs *j, const struct tree *t, const char *below,
				     const char *path, struct path_job *ret)
{
	regmatch_t m[2];
	enum path_kind kind = j->any_manager ? judge_deeper(j, path, ret) : PATH_OTHER;

	if (kind != PATH_OTHER)
		return kind;
	for (size_t i = 0; i < j->pattern_count; i++) {
		if (regexec(&j->patterns[i], below, 2, m, 0) != 0 || m[1].rm_so < 0 ||
		    m[1].rm_eo <= m[1].rm_so)
			continue;
		ret->manager = "";
		ret->id = xstrndup(below + m[1].rm_so, (size_t)(m[1].rm_eo - m[1].rm_so));
		if (is_zero(ret->id)) {
			free(ret->id);
			ret->id = NULL;
			continue;
		}
		judge_owner(j, t, path, ret);
		return PATH_JOB;
	}
	return PATH_ABOVE;
}

/* A group that the user named: its id by managers or patterns, else its name. */
static enum path_kind judge_named(struct cgroup_jobs *j, const struct tree *t, const char *below,
				  const char *path, struct path_job *ret)
{
	if (strcmp(below, t->only) != 0)
		return PATH_OTHER;
	if (judge_managers(j, path, ret) != PATH_JOB &&
	    judge_patterns(j, t, below, path, ret) != PATH_JOB) {
		ret->manager = "";
		ret->id = xstrdup(t->only);
		judge_owner(j, t, path, ret);
	}
	return PATH_JOB;
}

enum path_kind patterns_judge(struct cgroup_jobs *j, const struct tree *t, const char *below,
			      struct path_job *ret)
{
	_cleanup_free_ char *path =
		xasprintf("%s%s%s", t->below, *t->below && *below ? "/" : "", below);

	*ret = (struct path_job){0};
	enum path_kind kind = t->only       ? judge_named(j, t, below, path, ret)
			      : t->managers ? judge_managers(j, path, ret)
					    : judge_patterns(j, t, below, path, ret);
	if (kind != PATH_JOB)
		return kind;
	bool named = job_id_valid(ret->id);
	if (ret->user && !printable(ret->user)) {
		free(ret->user);
		ret->user = NULL;
	}
	if (named && is_wanted(j, ret->id))
		return PATH_JOB;
	j->unnamed += !named;
	free(ret->id);
	free(ret->user);
	*ret = (struct path_job){0};
	return PATH_OTHER;
}
