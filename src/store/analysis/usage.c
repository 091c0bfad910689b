/* Sums over the jobs of a store; see usage.h. */
#include "store/analysis/usage.h"

#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "core/text/times.h"
#include "core/value.h"
#include "jobs/tags.h"

/* Columns of every statement: the job, what it is grouped by, and the sums. */
enum {
	C_JOB,
	C_NAME,
	C_IMAGES,
	C_PROCESSES,
	C_CPU,
	C_DURATION,
	C_RCHAR,
	C_WCHAR,
	C_READ,
	C_WRITE,
	C_RSSMAX
};
#define SUMS(cpu, duration) \
	"images, processes, " cpu ", " duration ", rchar, wchar, read_bytes, write_bytes, rssmax"

/* Rows of a job are together. */
static const char *const statements[] = {
	[USAGE_BY_EXECUTABLE] =
		"SELECT job, exename, " SUMS("cpu_us", "duration_us") " FROM "
								      "job_executable ORDER BY job",
	[USAGE_BY_USER] = "SELECT job, \"user\", " SUMS("cpu_time", "duration") " FROM job_users "
										"ORDER BY job",
	[USAGE_BY_OPERATION] =
		"SELECT job, tags, " SUMS("cpu_us", "duration_us") " FROM "
								   "job_operation ORDER BY job",
	[USAGE_BY_MONTH] = "SELECT job, start, " SUMS("cpu_time", "duration") " FROM job_users "
									      "ORDER BY job",
	[USAGE_BY_TAG] = "SELECT job, tags, " SUMS("cpu_us", "duration_us") " FROM job_operation "
									    "ORDER BY job",
	[USAGE_BY_JOB_TAG] =
		"SELECT job, (SELECT t.value FROM job_tag t WHERE t.job = u.job AND "
		"t.key = $1), " SUMS("cpu_time", "duration") " FROM job_users u ORDER BY "
							     "job",
};

void usage_table_release(struct usage_table *t)
{
	usage_groups_release(&t->groups);
	free(t->jobs);
	free(t->last_job);
	free(t->rows);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Names of groups by the tags of processes: each text is parsed once. */
struct tag_names {
	struct usage_groups texts;
	char **names; /* of each text; NULL: none */
	size_t cap;
};

static void tag_names_release(struct tag_names *n)
{
	for (size_t i = 0; i < n->texts.count; i++)
		free(n->names[i]);
	free(n->names);
	usage_groups_release(&n->texts);
}

/* Equal for equal tags; freed by the caller. */
static char *canonical(struct value *tags)
{
	struct strbuf text = STRBUF_INIT;

	value_sort(tags);
	for (size_t i = 0; i < value_pairs(tags); i++) {
		const struct value *k = value_key(tags, i), *v = value_at(tags, i);

		if (i)
			strbuf_addch(&text, ';');
		strbuf_add(&text, k->str.data, k->str.size);
		strbuf_addch(&text, ':');
		strbuf_add(&text, v->str.data, v->str.size);
	}
	return strbuf_take(&text);
}

static const char *name_of_tags(struct tag_names *n, const char *text, size_t size, const char *key)
{
	size_t before = n->texts.count;
	size_t at = (size_t)(usage_group(&n->texts, text, size) - n->texts.v);

	if (n->texts.count == before)
		return n->names[at];
	GROW(n->names, at, n->cap);
	n->names[at] = NULL;
	_cleanup_value_ struct value *tags = tags_parse(n->texts.v[at].name, NULL);
	const char *v = key ? value_get_str(tags, key) : NULL;
	if (v)
		n->names[at] = xstrdup(v);
	else if (!key && value_pairs(tags))
		n->names[at] = canonical(tags);
	return n->names[at];
}

/* "2026-11"; NULL: unknown. */
static const char *month_of(struct stmt *st, char to[16])
{
	int64_t us = stmt_get_int(st, C_NAME);
	time_t t = (time_t)(us / 1000000);
	struct tm tm;

	if (stmt_is_null(st, C_NAME) || !text_time_valid(us) || !localtime_r(&t, &tm) ||
	    !strftime(to, 16, "%Y-%m", &tm))
		return NULL;
	return to;
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int64_t number(struct stmt *st, int i)
{
	return stmt_is_null(st, i) ? USAGE_UNKNOWN : stmt_get_int(st, i);
}

static void add_row(struct usage_table *t, int64_t job, const char *name, size_t size,
		    const struct usage *u)
{
	size_t before = t->groups.count;
	size_t at = (size_t)(usage_group(&t->groups, name, size) - t->groups.v);

	if (t->groups.count > before) {
		size_t cap = t->jobs_cap;

		GROW(t->jobs, at, cap);
		if (cap > t->jobs_cap)
			t->last_job = xreallocarray(t->last_job, cap, sizeof(*t->last_job));
		t->jobs_cap = cap;
		t->jobs[at] = 0;
		t->last_job[at] = 0;
	}
	t->jobs[at] += t->last_job[at] != job;
	t->last_job[at] = job;
	usage_add(&t->groups.v[at].usage, u);
	usage_add(&t->all, u);
}

static int by_cpu(const void *a, const void *b)
{
	const struct usage_group *x = ((const struct usage_row *)a)->group;
	const struct usage_group *y = ((const struct usage_row *)b)->group;

	if (x->usage.cpu_us != y->usage.cpu_us)
		return x->usage.cpu_us > y->usage.cpu_us ? -1 : 1;
	return strcmp(x->name ? x->name : "", y->name ? y->name : "");
}

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static void sort_rows(struct usage_table *t)
{
	t->rows = xreallocarray(NULL, t->groups.count + 1, sizeof(*t->rows));
	for (size_t i = 0; i < t->groups.count; i++)
		t->rows[i] = (struct usage_row){&t->groups.v[i], t->jobs[i]};
	if (t->groups.count)
		qsort(t->rows, t->groups.count, sizeof(*t->rows), by_cpu);
}

static int read_rows(struct usage_table *t, struct stmt *st, enum usage_by by, const char *key,
		     const int64_t *jobs, size_t count)
{
	_cleanup_(tag_names_release) struct tag_names tags = {0};
	int64_t last = 0;
	int r;

	while ((r = stmt_step(st)) == 1) {
		int64_t job = stmt_get_int(st, C_JOB);
		char month[16];
		size_t size = 0;
		const char *name;

		if (jobs && (!count || !bsearch(&job, jobs, count, sizeof(job), by_number)))
			continue;
		if (by == USAGE_BY_MONTH) {
			name = month_of(st, month);
		} else {
			name = stmt_get_text(st, C_NAME, &size);
			if (name && (by == USAGE_BY_OPERATION || by == USAGE_BY_TAG))
				name = name_of_tags(&tags, name, size, key);
		}
		if (name && by != USAGE_BY_EXECUTABLE)
			size = strlen(name);
		const struct usage u = {(uint64_t)stmt_get_int(st, C_IMAGES),
					(uint64_t)stmt_get_int(st, C_PROCESSES),
					number(st, C_CPU),
					number(st, C_DURATION),
					number(st, C_RCHAR),
					number(st, C_WCHAR),
					number(st, C_READ),
					number(st, C_WRITE),
					number(st, C_RSSMAX)};
		add_row(t, job, name, size, &u);
		t->all_jobs += job != last;
		last = job;
	}
	return r;
}

int usage_table_load(struct usage_table *t, struct store *s, enum usage_by by, const char *key,
		     const int64_t *jobs, size_t count)
{
	*t = (struct usage_table){.all = USAGE_NONE};
	_cleanup_stmt_ struct stmt *st = by == USAGE_BY_JOB_TAG
						 ? store_query(s, statements[by], db_str(key))
						 : stmt_prepare(s, statements[by]);
	int r = read_rows(t, st, by, key, jobs, count);

	sort_rows(t);
	return r;
}
