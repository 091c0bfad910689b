/* See job_groups.h. */
#include "views/jobs/job_groups.h"

#include <stdlib.h>
#include <string.h>

#include "views/jobs/job_list.h"

struct job_group {
	const struct job_row **jobs;
	size_t count, cap;
	int64_t duration, cpu; /* sums; UNKNOWN: of no job known */
};

struct grouping {
	const struct joblist *list;
	const char *const *keys;
	size_t key_count;
	struct job_group *groups;
	size_t count, cap;
	size_t first, end; /* of those that are printed */
};

static void grouping_release(struct grouping *g)
{
	for (size_t i = 0; i < g->count; i++)
		free(g->groups[i].jobs);
	free(g->groups);
}

/* NULL: the job does not have the tag. */
static const char *tag_of(const struct grouping *g, const struct job_row *job, const char *key)
{
	for (uint32_t i = 0; i < job->tags.count; i++) {
		const struct job_entry *e = &g->list->entries[job->tags.first + i];

		if (!strcmp(joblist_text(g->list, e->key), key))
			return joblist_text(g->list, e->value);
	}
	return NULL;
}

static int compare_tags(const struct grouping *g, const struct job_row *a, const struct job_row *b)
{
	int d = 0;

	for (size_t k = 0; k < g->key_count && !d; k++) {
		const char *x = tag_of(g, a, g->keys[k]), *y = tag_of(g, b, g->keys[k]);

		d = strcmp(x ? x : "", y ? y : "");
	}
	return d;
}

static int by_tags(const void *a, const void *b, void *user)
{
	const struct job_row *x = *(const struct job_row *const *)a;
	const struct job_row *y = *(const struct job_row *const *)b;
	int d = compare_tags(user, x, y);

	/* jobs of a group stay in the order of the list */
	return d ? d : x < y ? -1 : x > y;
}

static int by_duration(const void *a, const void *b, void *user)
{
	const struct job_group *x = a, *y = b;

	/* UNKNOWN is the smallest number */
	if (x->duration != y->duration)
		return x->duration > y->duration ? -1 : 1;
	return compare_tags(user, x->jobs[0], y->jobs[0]);
}

static void add_known(int64_t *to, int64_t v)
{
	if (v != UNKNOWN)
		*to = *to == UNKNOWN ? v : *to + v;
}

static void group(struct grouping *g)
{
	size_t n = g->list->count;
	_cleanup_free_ const struct job_row **order = xcalloc(n + 1, sizeof(*order));

	for (size_t i = 0; i < n; i++)
		order[i] = &g->list->rows[i];
	qsort_r(order, n, sizeof(*order), by_tags, g);
	for (size_t i = 0; i < n; i++) {
		if (!i || compare_tags(g, order[i - 1], order[i]) != 0) {
			GROW(g->groups, g->count, g->cap);
			g->groups[g->count++] =
				(struct job_group){.duration = UNKNOWN, .cpu = UNKNOWN};
		}
		struct job_group *to = &g->groups[g->count - 1];
		GROW(to->jobs, to->count, to->cap);
		to->jobs[to->count++] = order[i];
		add_known(&to->duration, order[i]->duration);
		add_known(&to->cpu, order[i]->cpu);
	}
	if (g->count)
		qsort_r(g->groups, g->count, sizeof(*g->groups), by_duration, g);
}

/* ---- output --------------------------------------------------------------------------------- */

static int print_json(const struct grouping *g, FILE *f)
{
	struct json_rows json;

	json_rows_begin(&json, f);
	for (size_t i = g->first; i < g->end; i++) {
		const struct job_group *e = &g->groups[i];

		json_begin_object(&json.j, NULL);
		json_begin_object(&json.j, "tags");
		for (size_t k = 0; k < g->key_count; k++) {
			const char *v = tag_of(g, e->jobs[0], g->keys[k]);

			if (v)
				json_str(&json.j, g->keys[k], v);
		}
		json_end_object(&json.j);
		json_u64(&json.j, "count", e->count);
		json_number(&json.j, "duration", e->duration);
		json_number(&json.j, "cpu_time", e->cpu);
		json_begin_array(&json.j, "jobs");
		for (size_t k = 0; k < e->count; k++)
			json_str(&json.j, NULL, joblist_text(g->list, e->jobs[k]->jobid));
		json_end_array(&json.j);
		json_end_object(&json.j);
		json_rows_next(&json);
	}
	return json_rows_end(&json);
}

static int print_table(const struct grouping *g, bool csv, FILE *f)
{
	_cleanup_free_ struct terminal_table_column *columns =
		xcalloc(g->key_count + 4, sizeof(*columns));
	size_t n = 0;
	struct stream_table t;

	for (; n < g->key_count; n++)
		columns[n] = (struct terminal_table_column){g->keys[n], 0};
	columns[n++] = (struct terminal_table_column){csv ? "count" : "COUNT", COLUMN_RIGHT};
	columns[n++] = (struct terminal_table_column){csv ? "duration" : "DURATION", COLUMN_RIGHT};
	columns[n++] = (struct terminal_table_column){csv ? "cpu_time" : "CPU", COLUMN_RIGHT};
	columns[n++] = (struct terminal_table_column){csv ? "jobs" : "JOBS", COLUMN_CUT};
	stream_table_begin(&t, columns, n, csv, f);
	for (size_t i = g->first; i < g->end; i++) {
		const struct job_group *e = &g->groups[i];
		_cleanup_strbuf_ struct strbuf jobs = STRBUF_INIT;

		for (size_t k = 0; k < g->key_count; k++)
			stream_table_str(&t, tag_of(g, e->jobs[0], g->keys[k]));
		stream_table_count(&t, (int64_t)e->count);
		stream_table_us(&t, e->duration);
		stream_table_us(&t, e->cpu);
		for (size_t k = 0; k < e->count; k++)
			strbuf_addf(&jobs, "%s%s", k ? " " : "",
				    joblist_text(g->list, e->jobs[k]->jobid));
		stream_table_text(&t, jobs.buf, jobs.len);
		stream_table_row(&t, 0);
	}
	return stream_table_end(&t);
}

int job_groups_print(struct store *s, const struct job_filter *f, const char *const *keys,
		     size_t key_count, enum proc_form form, FILE *out)
{
	_cleanup_joblist_ struct joblist l = JOBLIST_INIT;
	_cleanup_(grouping_release) struct grouping g = {
		.list = &l, .keys = keys, .key_count = key_count};
	struct job_filter all = *f;

	all.limit = NO_LIMIT;
	all.offset = 0;
	int r = joblist_load(&l, s, &all);

	if (r < 0)
		return r;
	group(&g);
	g.first = f->offset < g.count ? (size_t)f->offset : g.count;
	g.end = f->limit < g.count - g.first ? g.first + (size_t)f->limit : g.count;
	r = form == PROC_JSON ? print_json(&g, out) : print_table(&g, form == PROC_CSV, out);
	return r < 0 ? r : (int)g.count;
}
