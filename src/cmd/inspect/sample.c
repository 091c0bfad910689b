/* plimsoll sample: reads every source once. */
#include <errno.h>
#include <string.h>

#include "cmd/command.h"
#include "core/system/spawn.h"
#include "core/system/timed_call.h"
#include "core/text/json_writer.h"
#include "core/text/terminal_table.h"
#include "sources/source.h"
#include "views/series_view.h"

#define SAMPLE_PIDS_MAX 1024
/* longer than the time limits within sources */
#define ANSWER_SECONDS 20u

struct sample_options {
	bool json;
	const char *root;
	const char *names[64]; /* NAME or NAME=OPTION */
	size_t name_count;
	int pids[SAMPLE_PIDS_MAX];
	size_t pid_count;
	const char *cgroup;
	uint64_t over_ns; /* time until a second sample; 0: none */
};

/* The output: JSON or a table. */
struct output {
	struct json_writer j;
	struct terminal_table t;
};

static bool take_pid(struct context *ctx, const char *value, struct strbuf *why PL_UNUSED)
{
	struct sample_options *o = ctx->options;

	if (o->pid_count == SAMPLE_PIDS_MAX || parse_pid(value, &o->pids[o->pid_count]) < 0)
		return false;
	o->pid_count++;
	return true;
}

/* The option of a source; NULL if only others were named. */
static const char *wanted(const struct sample_options *o, const struct source *s)
{
	size_t n = strlen(s->name);

	for (size_t i = 0; i < o->name_count; i++)
		if (!strncmp(o->names[i], s->name, n) && (!o->names[i][n] || o->names[i][n] == '='))
			return o->names[i][n] ? o->names[i] + n + 1 : "";
	return o->name_count || s->on_request ? NULL : "";
}

static void add_row(struct output *out, const struct source *s, const struct sample_set *set,
		    size_t row)
{
	const struct entity *e = &set->entities[set->rows[row].entity];

	json_begin_object(&out->j, NULL);
	json_str(&out->j, "kind", entity_kind_name(e->kind));
	json_text(&out->j, "name", e->name, strlen(e->name));
	json_entity_metadata(&out->j, e);
	sample_add_values(&out->j, set, row);
	for (unsigned m = 0; m < set->metric_count; m++) {
		if (!(set->rows[row].present >> m & 1))
			continue;
		terminal_table_row(&out->t, 0);
		terminal_table_cellf(&out->t, 0, "%s.%s", s->name, set->metrics[m].name);
		terminal_table_cellf(&out->t, 1, "%s %s", entity_kind_name(e->kind), e->name);
		terminal_table_cellf(&out->t, 2, "%.15g", sample_value(set, row, m));
		terminal_table_cell(&out->t, 3, metric_unit_name(set->metrics[m].unit));
	}
	json_end_object(&out->j);
}

static void add_absences(struct output *out, const struct source *s, const struct sample_set *set)
{
	json_begin_object(&out->j, "absent");
	for (size_t i = 0; i < set->absence_count; i++) {
		const struct sample_absence *a = &set->absences[i];
		const char *name =
			a->metric < set->metric_count ? set->metrics[a->metric].name : "*";

		json_text(&out->j, name, a->reason, strlen(a->reason));
		terminal_table_row(&out->t, 'y');
		terminal_table_cellf(&out->t, 0, "%s.%s", s->name, name);
		terminal_table_cell(&out->t, 1, "absent");
		terminal_table_cell(&out->t, 4, a->reason);
	}
	json_end_object(&out->j);
}

/* The reading of one source, on the heap, because a call that hangs keeps it. */
struct attempt {
	const struct source *source;
	struct source_context ctx;
	struct sample_set set;
	struct strbuf why;
	void *state;
	uint64_t over_ns;
	int result;
};

/* Opens the source and reads it once or twice. */
static void attempt(void *user)
{
	struct attempt *a = user;
	const struct source *s = a->source;

	sample_init(&a->set, s->metrics, s->metric_count);
	a->result = s->open(&a->ctx, &a->set, &a->state, &a->why);
	if (a->result < 0)
		return;
	sample_begin(&a->set);
	a->result = s->read(a->state, &a->set);
	if (a->result == 0 && a->over_ns) {
		usleep((useconds_t)(a->over_ns / 1000));
		if (a->ctx.watch)
			(void)job_processes_update(a->ctx.watch);
		if (a->ctx.jobs)
			(void)cgroup_jobs_update(a->ctx.jobs);
		sample_begin(&a->set);
		a->result = s->read(a->state, &a->set);
	}
	if (a->result < 0)
		strbuf_addf(&a->why, "cannot read it: %s", strerror(-a->result));
}

static void add_source(const struct sample_options *o, struct attempt *a, bool answered,
		       struct output *out)
{
	_cleanup_free_ char *hangs = xasprintf("did not answer within %u s", ANSWER_SECONDS);
	bool good = answered && a->result == 0;
	const char *why = answered ? a->why.buf : hangs;

	json_str(&out->j, "error", good ? NULL : why);
	json_begin_array(&out->j, "rows");
	for (size_t i = 0; good && i < a->set.row_count; i++)
		add_row(out, a->source, &a->set, i);
	json_end_array(&out->j);
	if (!good && o->name_count) {
		terminal_table_row(&out->t, 'y');
		terminal_table_cell(&out->t, 0, a->source->name);
		terminal_table_cell(&out->t, 1, "absent");
		terminal_table_cell(&out->t, 4, why);
	}
	if (answered)
		add_absences(out, a->source, &a->set);
	/* explain an empty output */
	if (good && o->name_count && !a->set.row_count && !a->set.absence_count)
		log_warn("%s: nothing to read: %s", a->source->name,
			 a->source->needs_jobs ? "there is no job on this node"
					       : "there is no such device here");
}

static void read_source(const struct sample_options *o, const struct source *s,
			const struct source_context *ctx, struct output *out)
{
	struct attempt *a = xcalloc(1, sizeof(*a));
	bool answered = true;

	*a = (struct attempt){.source = s, .ctx = *ctx, .why = STRBUF_INIT, .over_ns = o->over_ns};
	if (s->slow)
		answered = call_within(attempt, a, o->over_ns + ANSWER_SECONDS * 1000000000ull);
	else
		attempt(a);
	add_source(o, a, answered, out);
	if (!answered) {
		spawn_end_all();
		return; /* the call may still return and use it */
	}
	if (a->state)
		s->close(a->state);
	sample_release(&a->set);
	strbuf_release(&a->why);
	free(a);
}

/* All jobs of the node, for a source that needs them. */
static struct cgroup_jobs *open_jobs(const struct sample_options *o, const struct source *s)
{
	const struct cgroup_jobs_options jo = {.root = o->root};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct cgroup_jobs *jobs = NULL;

	if (s->needs_jobs && cgroup_jobs_open(&jobs, &jo, &why) == 0)
		(void)cgroup_jobs_update(jobs);
	return jobs;
}

static bool check_names(const struct sample_options *o)
{
	for (size_t i = 0; i < o->name_count; i++) {
		_cleanup_free_ char *name = xstrndup(o->names[i], strcspn(o->names[i], "="));
		const struct source *s = source_find(name);

		if (!s || !s->open) {
			_cleanup_strbuf_ struct strbuf near = STRBUF_INIT;

			sources_add_near(name, &near);
			usage_error("sample", "sample: unknown sampled source '%s'%s", name,
				    near.buf);
			return false;
		}
	}
	return true;
}

static int open_watch(const struct sample_options *o, struct job_processes *w)
{
	struct job_processes_options wo = {.kind = o->cgroup ? JOB_PROCESSES_CGROUP
							     : JOB_PROCESSES_PIDS,
					   .root = o->root,
					   .pids = o->pids,
					   .pid_count = o->pid_count,
					   .cgroup = o->cgroup,
					   .all_users = true};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int r = job_processes_open(w, &wo, &why);

	if (r == 0)
		r = job_processes_update(w);
	if (r < 0)
		log_error("%s", why.len ? why.buf : strerror(-r));
	return r;
}

static int run(struct context *ctx, int argc PL_UNUSED, char **argv PL_UNUSED)
{
	static const struct terminal_table_column columns[] = {{"METRIC", 0},
							       {"OF", 0},
							       {"VALUE", COLUMN_RIGHT},
							       {"UNIT", 0},
							       {"REASON", COLUMN_WRAP}};
	const struct sample_options *o = ctx->options;
	struct job_processes watch = {0};
	bool job = o->pid_count || o->cgroup;
	struct output out = {.j = JSON_WRITER_INIT};

	if (!check_names(o))
		return EXIT_USAGE;
	if (job && open_watch(o, &watch) < 0)
		return EXIT_FAILED;
	terminal_table_init(&out.t, columns, ARRAY_SIZE(columns));
	out.j.pretty = true;
	json_begin_array(&out.j, NULL);
	for (const struct source *const *s = sources; *s; s++) {
		const char *option = wanted(o, *s);
		struct source_context sc = {.root = o->root,
					    .watch = job ? &watch : NULL,
					    .option = option && *option ? option : NULL};

		if (!(*s)->open || !option || ((*s)->needs_job && !job && !o->name_count) ||
		    ((*s)->needs_jobs && !o->name_count))
			continue;
		sc.jobs = open_jobs(o, *s);
		json_begin_object(&out.j, NULL);
		json_str(&out.j, "source", (*s)->name);
		read_source(o, *s, &sc, &out);
		cgroup_jobs_close(sc.jobs);
		json_end_object(&out.j);
	}
	json_end_array(&out.j);
	if (o->json)
		json_write(&out.j, stdout);
	else
		terminal_table_print(&out.t, stdout);
	terminal_table_release(&out.t);
	json_release(&out.j);
	job_processes_close(&watch);
	return EXIT_OK;
}

static const struct option_row rows[] = {
	{OPT_LIST, 's', "source", "NAME[=OPTION]", "read only this source; can be repeated",
	 LIST(struct sample_options, names, name_count)},
	{OPT_CALL, 'p', "pid", "PID", "the job consists of this process and its descendants",
	 .call = take_pid, .takes = "a process id"},
	{OPT_TEXT, 0, "cgroup", "PATH", "the job is in this control group",
	 AT(struct sample_options, cgroup)},
	{OPT_DURATION, 0, "over", "TIME",
	 "read twice with this time in between, for metrics that are differences",
	 AT(struct sample_options, over_ns)},
	{OPT_TEXT, 0, "root", "DIR", "read a recorded tree instead of this machine",
	 AT(struct sample_options, root)},
	ROW_JSON(struct sample_options),
	ROW_END,
};

const struct command command_sample = {
	.name = "sample",
	.summary = "read the sampled sources once",
	.description =
		"Reads once everything that `plimsoll monitor` samples, and prints every value and "
		"its entity, or the reason why it is absent. Sources of a job need --pid or --cgroup. "
		"With --source, reads only the named sources and prints why one cannot be read. "
		"`plimsoll sources` lists all sources.",
	.examples = "  plimsoll sample --source system --source network\n"
		    "  plimsoll sample --pid $$ --over 1s --json | jq '.[].rows'\n",
	OPTIONS(struct sample_options, rows),
	.defaults = &(const struct sample_options){.root = ""},
	.run = run,
};
