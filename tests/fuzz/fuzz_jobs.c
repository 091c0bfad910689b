/* Names of control groups and patterns that are to find jobs in them: a pattern, a newline, a path.
 */
#include "fuzz.h"

#include <errno.h>
#include <regex.h>
#include <string.h>

#include "jobs/discovery/cgroup_jobs_internal.h"
#include "jobs/discovery/cgroup_patterns.h"

static void names(const char *path)
{
	size_t size = strlen(path);

	for (size_t i = 0; i < manager_group_count; i++) {
		struct span id, user;
		enum cgroup_pattern_match m =
			cgroup_pattern_match(&manager_groups[i], path, &id, &user);

		if (m == MATCH_JOB) {
			REQUIRE(id.n && id.p >= path && id.p + id.n <= path + size);
			REQUIRE(!user.n || (user.p >= path && user.p + user.n <= path + size));
		}
	}
}

static void judge(const char *pattern, const char *path)
{
	const char *const list[] = {pattern};
	const struct cgroup_jobs_options o = {
		.patterns = list, .pattern_count = *pattern != 0, .containers = true};
	struct strbuf why = STRBUF_INIT;
	struct cgroup_jobs j = {.containers = true, .patterns_given = *pattern != 0};
	char below[] = "";
	struct tree t = {.below = below, .managers = !*pattern, .inferred = true};
	struct path_job is;

	if (patterns_open(&j, &o, &why) == 0) {
		if (patterns_judge(&j, &t, path, &is) == PATH_JOB) {
			REQUIRE(is.id && *is.id && strlen(is.id) <= 128 && !strchr(is.id, '/'));
			REQUIRE(is.manager);
			free(is.id);
			free(is.user);
		}
	} else {
		REQUIRE(why.len > 0);
	}
	patterns_close(&j);
	strbuf_release(&why);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char *text = xstrndup((const char *)data, size < 2048 ? size : 2048);
	char *eol = strchr(text, '\n'), *path = eol ? eol + 1 : text;
	struct strbuf out = STRBUF_INIT, why = STRBUF_INIT;

	if (eol)
		*eol = 0;
	names(path);
	int r = cgroup_jobs_pattern_translate(eol ? text : "", &out, &why);
	REQUIRE(r == 0 || (r == -EINVAL && why.len));
	/* how long a pattern of a site's own takes is the site's business: short ones do here */
	if (r == 0 && out.len <= 24 && !strpbrk(out.buf, "{\\"))
		judge(out.buf, path);
	judge("", path);
	strbuf_release(&out);
	strbuf_release(&why);
	free(text);
	return 0;
}
