/* See explore_view.h. */
#include "views/explore_view.h"

#include <errno.h>
#include <math.h>

#include "core/text/text.h"
#include "views/stream_table.h"

#define WIDTH_MIN 40
#define WIDTH_DEFAULT 100

/* ---- reading -------------------------------------------------------------------------------- */

static bool among(const struct explore_words *l, const char *word)
{
	for (size_t i = 0; i < l->count; i++)
		if (!strcmp(l->word[i], word))
			return true;
	return !l->count;
}

static bool is_wanted(const struct explore_options *o, const struct experiment_job *j)
{
	bool failed = j->has_exitcode && j->exitcode;
	bool named = !o->jobs;

	for (size_t i = 0; i < o->job_count && !named; i++)
		named = o->jobs[i] == j->no;
	if (!named || !among(&o->groups, j->group) || !among(&o->segments, j->segment))
		return false;
	return o->exit == EXPLORE_ANY ||
	       (o->exit == EXPLORE_FAILED ? failed : j->has_exitcode && !failed);
}

int explore_view_load(struct explore_view *v, struct store *s, const struct explore_options *o)
{
	size_t n = 0;

	*v = (struct explore_view){.o = o};
	if (o->expected &&
	    explore_parse_segments(o->expected, &v->expected, &v->expected_count) < 0)
		return -EINVAL;
	int r = experiment_load(&v->data, s, &o->query);
	if (r < 0)
		return r;
	v->jobs = xcalloc(v->data.count + 1, sizeof(*v->jobs));
	for (size_t i = 0; i < v->data.count; i++) {
		const struct experiment_job *j = &v->data.jobs[i];

		if (!is_wanted(o, j))
			continue;
		v->known += j->has_value;
		v->jobs[n++] =
			(struct explore_job){.label = j->label,
					     .group = j->group,
					     .segment = j->segment,
					     .value = j->has_value ? (double)j->value : (double)NAN,
					     .has_exitcode = j->has_exitcode,
					     .exitcode = j->exitcode};
	}
	explore_compute(&v->e, v->jobs, n, (const char *const *)v->expected, v->expected_count);
	return 0;
}

void explore_view_release(struct explore_view *v)
{
	explore_release(&v->e);
	for (size_t i = 0; i < v->expected_count; i++)
		free(v->expected[i]);
	free(v->expected);
	free(v->jobs);
	experiment_release(&v->data);
}

size_t explore_view_groups(const struct explore_view *v)
{
	return v->o->limit < v->e.group_count ? (size_t)v->o->limit : v->e.group_count;
}

/* ---- tables --------------------------------------------------------------------------------- */

/* A value in the unit of the metric; nothing if it is unknown. */
static void put_value(const struct explore_view *v, struct stream_table *g, double value)
{
	const struct metric unit = {.unit = v->data.unit};
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (isfinite(value))
		add_metric(&text, &unit, round_i64(value), g->human);
	stream_table_figure(g, &text);
}

static void put_real(struct stream_table *g, double value, int decimals, const char *unit)
{
	char text[64] = "";

	if (isfinite(value))
		snprintf(text, sizeof(text), "%.*f%s", decimals, value, unit);
	stream_table_str(g, text);
}

/* "**" for each classifier. */
static void put_flags(struct stream_table *g, unsigned flags)
{
	char text[2 * EXPLORE_METHODS + 1] = "";

	memset(text, '*', 2 * (size_t)explore_score(flags));
	stream_table_str(g, text);
}

static const char *name_or(const char *name)
{
	return *name ? name : "(none)";
}

static int print_groups(const struct explore_view *v, FILE *f)
{
	const struct terminal_table_column columns[] = {
		{v->o->query.by, COLUMN_CUT}, {"JOBS", COLUMN_RIGHT},    {"SUM", COLUMN_RIGHT},
		{"SHARE", COLUMN_RIGHT},      {"MIN", COLUMN_RIGHT},     {"MAX", COLUMN_RIGHT},
		{"CV", COLUMN_RIGHT},         {"MISSING", COLUMN_RIGHT}, {"FAILED", COLUMN_RIGHT}};
	struct stream_table g;

	/* the last column only where it says something */
	stream_table_begin(&g, columns, ARRAY_SIZE(columns) - !v->e.failed, false, f);
	for (size_t i = 0; i < explore_view_groups(v); i++) {
		const struct explore_group *p = &v->e.groups[i];

		stream_table_str(&g, name_or(p->name));
		stream_table_count(&g, (int64_t)p->job_count);
		put_value(v, &g, p->sum);
		put_real(&g, 100 * p->share, 1, g.human ? " %" : "");
		put_value(v, &g, p->min);
		put_value(v, &g, p->max);
		put_real(&g, p->variation, 2, "");
		stream_table_count(&g, (int64_t)p->missing_count);
		if (v->e.failed)
			stream_table_count(&g, (int64_t)p->failed);
		stream_table_row(&g, p->failed ? 'r' : 0);
	}
	return stream_table_end(&g);
}

static int print_jobs(const struct explore_view *v, FILE *f)
{
	const struct terminal_table_column columns[] = {{v->o->query.by, COLUMN_CUT},
							{v->o->query.over, 0},
							{"JOB", 0},
							{v->o->query.metric, COLUMN_RIGHT},
							{"OUTLIER", 0}};
	struct stream_table g;

	stream_table_begin(&g, columns, ARRAY_SIZE(columns), false, f);
	for (size_t i = 0; i < explore_view_groups(v); i++)
		for (size_t k = 0; k < v->e.groups[i].job_count; k++) {
			const struct explore_job *j = &v->jobs[v->e.groups[i].jobs[k]];

			stream_table_str(&g, name_or(j->group));
			stream_table_str(&g, name_or(j->segment));
			stream_table_str(&g, j->label);
			put_value(v, &g, j->value);
			put_flags(&g, j->flags);
			stream_table_row(&g, explore_failed(j) ? 'r' : j->flags ? 'y' : 0);
		}
	return stream_table_end(&g);
}

static int print_segments(const struct explore_view *v, FILE *f)
{
	const struct terminal_table_column columns[] = {{v->o->query.over, 0},
							{"JOBS", COLUMN_RIGHT},
							{v->o->query.metric, COLUMN_RIGHT},
							{"OUTLIER", 0}};
	struct stream_table g;

	stream_table_begin(&g, columns, ARRAY_SIZE(columns), false, f);
	for (size_t i = 0; i < v->e.segment_count; i++) {
		const struct explore_segment *s = &v->e.segments[i];

		stream_table_str(&g, s->name);
		stream_table_count(&g, (int64_t)s->jobs);
		put_value(v, &g, s->sum);
		put_flags(&g, s->flags);
		stream_table_row(&g, s->flags ? 'y' : 0);
	}
	return stream_table_end(&g);
}

/* ---- lines ---------------------------------------------------------------------------------- */

static void print_wrapped(FILE *f, const char *text)
{
	_cleanup_strbuf_ struct strbuf clean = STRBUF_INIT, out = STRBUF_INIT;
	size_t width = terminal_width(f);

	text_add_printable(&clean, text, strlen(text));
	text_add_wrapped(&out, clean.buf, 4, width < WIDTH_MIN ? WIDTH_DEFAULT : width);
	fprintf(f, "%s\n", out.buf);
}

static void print_missing(const struct explore_view *v, FILE *f)
{
	for (size_t i = 0; i < explore_view_groups(v); i++) {
		const struct explore_group *g = &v->e.groups[i];
		_cleanup_strbuf_ struct strbuf line = STRBUF_INIT;

		if (!g->missing_count)
			continue;
		strbuf_addf(&line, "%s lacks %zu of %s:", name_or(g->name), g->missing_count,
			    v->o->query.over);
		for (size_t k = 0; k < g->missing_count; k++)
			strbuf_addf(&line, " %s", g->missing[k]);
		print_wrapped(f, line.buf);
	}
}

static void print_failed(const struct explore_view *v, FILE *f)
{
	for (size_t i = 0; i < v->e.job_count; i++) {
		const struct explore_job *j = &v->jobs[i];
		_cleanup_strbuf_ struct strbuf line = STRBUF_INIT;

		if (!explore_failed(j))
			continue;
		strbuf_addf(&line, "job %s failed with exit code %lld (%s %s)", j->label,
			    (long long)j->exitcode, name_or(j->group), name_or(j->segment));
		print_wrapped(f, line.buf);
	}
}

int explore_print_text(struct explore_view *v, FILE *f)
{
	_cleanup_strbuf_ struct strbuf head = STRBUF_INIT;
	size_t shown = explore_view_groups(v);

	explore_sort_segments(&v->e);
	strbuf_addf(&head, "%s:%s: %zu %s, %s", v->o->query.key, v->o->query.value, v->e.job_count,
		    plural(v->e.job_count, "job", "jobs"), v->o->query.metric);
	if (!terminal_width(f) && *metric_unit_name(v->data.unit))
		strbuf_addf(&head, " in %s", metric_unit_name(v->data.unit));
	if (shown < v->e.group_count)
		strbuf_addf(&head, ", the first %zu of %zu groups; --limit shows more", shown,
			    v->e.group_count);
	print_wrapped(f, head.buf);
	fputc('\n', f);
	int r = print_groups(v, f);
	fputc('\n', f);
	if (r == 0)
		r = print_jobs(v, f);
	if (r == 0 && v->e.segment_count) {
		fputc('\n', f);
		r = print_segments(v, f);
	}
	fputs(v->e.failed || v->e.segment_count ? "\n" : "", f);
	print_missing(v, f);
	print_failed(v, f);
	return r < 0 ? r : output_error(f);
}

int explore_print_ids(const struct explore_view *v, FILE *f)
{
	for (size_t i = 0; i < v->e.job_count; i++)
		fprintf(f, "%s\n", v->jobs[i].label);
	return output_error(f);
}

/* ---- JSON and CSV --------------------------------------------------------------------------- */

/* Integers while they are exact. */
static void json_value(struct json_writer *j, const char *key, double v)
{
	if (isfinite(v) && fabs(v) < 9e15)
		json_i64(j, key, round_i64(v));
	else
		json_f64(j, key, v);
}

static void json_flags(struct json_writer *j, unsigned flags)
{
	json_begin_array(j, "outlier");
	for (size_t i = 0; i < EXPLORE_METHODS; i++)
		if (flags & 1u << i)
			json_str(j, NULL, explore_method_names[i]);
	json_end_array(j);
}

static void json_job(struct json_writer *j, const struct explore_job *job)
{
	json_begin_object(j, NULL);
	json_str(j, "jobid", job->label);
	json_str(j, "segment", *job->segment ? job->segment : NULL);
	json_value(j, "value", job->value);
	json_number(j, "exitcode", job->has_exitcode ? job->exitcode : UNKNOWN);
	json_flags(j, job->flags);
	json_end_object(j);
}

static void json_group(const struct explore_view *v, struct json_writer *j,
		       const struct explore_group *g)
{
	json_begin_object(j, NULL);
	json_str(j, "group", *g->name ? g->name : NULL);
	json_value(j, "sum", g->sum);
	json_f64(j, "share", g->share);
	json_value(j, "min", g->min);
	json_value(j, "max", g->max);
	json_f64(j, "cv", g->variation);
	json_u64(j, "failed", g->failed);
	json_begin_array(j, "missing");
	for (size_t i = 0; i < g->missing_count; i++)
		json_str(j, NULL, g->missing[i]);
	json_end_array(j);
	json_begin_array(j, "jobs");
	for (size_t i = 0; i < g->job_count; i++)
		json_job(j, &v->jobs[g->jobs[i]]);
	json_end_array(j);
	json_end_object(j);
}

int explore_print_json(struct explore_view *v, FILE *f)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;
	const struct experiment_query *q = &v->o->query;

	explore_sort_segments(&v->e);
	j.pretty = true;
	json_begin_object(&j, NULL);
	json_str(&j, "key", q->key);
	json_str(&j, "experiment", q->value);
	json_str(&j, "by", q->by);
	json_str(&j, "over", q->over);
	json_str(&j, "metric", q->metric);
	json_str(&j, "unit", metric_unit_name(v->data.unit));
	json_u64(&j, "jobs", v->e.job_count);
	json_value(&j, "sum", v->e.sum);
	json_u64(&j, "failed", v->e.failed);
	json_u64(&j, "group_count", v->e.group_count);
	json_begin_array(&j, "groups");
	for (size_t i = 0; i < explore_view_groups(v); i++)
		json_group(v, &j, &v->e.groups[i]);
	json_end_array(&j);
	json_begin_array(&j, "segments");
	for (size_t i = 0; i < v->e.segment_count; i++) {
		const struct explore_segment *s = &v->e.segments[i];

		json_begin_object(&j, NULL);
		json_str(&j, "segment", s->name);
		json_u64(&j, "jobs", s->jobs);
		json_value(&j, "sum", s->sum);
		json_flags(&j, s->flags);
		json_end_object(&j);
	}
	json_end_array(&j);
	json_end_object(&j);
	return json_write(&j, f);
}

int explore_print_csv(const struct explore_view *v, FILE *f)
{
	static const struct terminal_table_column columns[] = {
		{"group", 0},    {"segment", 0}, {"jobid", 0}, {"value", 0},
		{"exitcode", 0}, {"iqr", 0},     {"z", 0},     {"madz", 0}};
	struct stream_table g;

	stream_table_begin(&g, columns, ARRAY_SIZE(columns), true, f);
	for (size_t i = 0; i < v->e.group_count; i++)
		for (size_t k = 0; k < v->e.groups[i].job_count; k++) {
			const struct explore_job *j = &v->jobs[v->e.groups[i].jobs[k]];

			stream_table_str(&g, j->group);
			stream_table_str(&g, j->segment);
			stream_table_str(&g, j->label);
			put_value(v, &g, j->value);
			stream_table_number(&g, j->has_exitcode ? j->exitcode : UNKNOWN);
			for (unsigned m = 0; m < EXPLORE_METHODS; m++)
				stream_table_number(&g, j->flags >> m & 1);
			stream_table_row(&g, 0);
		}
	return stream_table_end(&g);
}
