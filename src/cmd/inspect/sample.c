/* plimsoll sample: every source read once, for people and programs. */
#include <errno.h>
#include <string.h>

#include "cmd/command.h"
#include "core/system/spawn.h"
#include "core/system/timed_call.h"
#include "core/text/json_writer.h"
#include "core/text/terminal_table.h"
#include "sources/source.h"

#define SAMPLE_PIDS_MAX 1024
/* longer than sources give what they ask themselves */
#define ANSWER_SECONDS 20u

struct sample_options {
	bool json;
	const char *root;
	const char *names[64]; /* NAME or NAME=OPTION */
	size_t name_count;
	int pids[SAMPLE_PIDS_MAX];
	size_t pid_count;
	const char *cgroup;
	uint64_t over_ns; /* a second reading after this time; 0: none */
};

/* Where a reading goes: JSON or a table. */
struct output {
	struct jsonw j;
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

/* What was said of a source: NULL when others were named and not this one. */
static const char *wanted(const struct sample_options *o, const struct source *s)
{
	size_t n = strlen(s->name);

	for (size_t i = 0; i < o->name_count; i++)
		if (!strncmp(o->names[i], s->name, n) && (!o->names[i][n] || o->names[i][n] == '='))
			return o->names[i][n] ? o->names[i] + n + 1 : "";
	return o->name_count || s->on_request ? NULL : "";
}

static void add_facts(struct jsonw *j, const struct entity *e)
{
	jsonw_begin_object(j, "facts");
	for (const char *p = e->facts; p && *p;) {
		size_t key = strcspn(p, "="), value = strcspn(p + key, "\n");
		_cleanup_free_ char *name = xstrndup(p, key);

		jsonw_text(j, name, p + key + 1, value - 1);
		p += key + value + 1;
	}
	jsonw_end_object(j);
}

static void add_row(struct output *out, const struct source *s, const struct sample_set *set,
		    size_t row)
{
	const struct entity *e = &set->entities[set->rows[row].entity];

	jsonw_begin_object(&out->j, NULL);
	jsonw_str(&out->j, "kind", entity_kind_name(e->kind));
	jsonw_text(&out->j, "name", e->name, strlen(e->name));
	add_facts(&out->j, e);
	jsonw_begin_object(&out->j, "values");
	for (unsigned m = 0; m < set->metric_count; m++) {
		const struct sample_metric *metric = &set->metrics[m];

		if (!(set->rows[row].present >> m & 1))
			continue;
		double v = sample_value(set, row, m);
		if (metric->scale == 0 || metric->scale == 1)
			jsonw_i64(&out->j, metric->name, set->values[row * set->metric_count + m]);
		else
			jsonw_f64(&out->j, metric->name, v);
		terminal_table_row(&out->t, 0);
		terminal_table_cellf(&out->t, 0, "%s.%s", s->name, metric->name);
		terminal_table_cellf(&out->t, 1, "%s %s", entity_kind_name(e->kind), e->name);
		terminal_table_cellf(&out->t, 2, "%.15g", v);
		terminal_table_cell(&out->t, 3, metric_unit_name(metric->unit));
	}
	jsonw_end_object(&out->j);
	jsonw_end_object(&out->j);
}

static void add_absences(struct output *out, const struct source *s, const struct sample_set *set)
{
	jsonw_begin_object(&out->j, "absent");
	for (size_t i = 0; i < set->absence_count; i++) {
		const struct sample_absence *a = &set->absences[i];
		const char *name =
			a->metric < set->metric_count ? set->metrics[a->metric].name : "*";

		jsonw_text(&out->j, name, a->reason, strlen(a->reason));
		terminal_table_row(&out->t, 'y');
		terminal_table_cellf(&out->t, 0, "%s.%s", s->name, name);
		terminal_table_cell(&out->t, 1, "absent");
		terminal_table_cell(&out->t, 4, a->reason);
	}
	jsonw_end_object(&out->j);
}

/* One source being read; on its own, because a call that hangs keeps it. */
struct attempt {
	const struct source *source;
	struct source_context ctx;
	struct sample_set set;
	struct strbuf why;
	void *state;
	uint64_t over_ns;
	int result;
};

/* Opens and reads once or twice. */
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
		strbuf_addf(&a->why, "cannot be read: %s", strerror(-a->result));
}

static void add_source(const struct sample_options *o, struct attempt *a, bool answered,
		       struct output *out)
{
	_cleanup_free_ char *hangs = xasprintf("did not answer within %u s", ANSWER_SECONDS);
	bool good = answered && a->result == 0;
	const char *why = answered ? a->why.buf : hangs;

	jsonw_str(&out->j, "error", good ? NULL : why);
	jsonw_begin_array(&out->j, "rows");
	for (size_t i = 0; good && i < a->set.row_count; i++)
		add_row(out, a->source, &a->set, i);
	jsonw_end_array(&out->j);
	if (!good && o->name_count) {
		terminal_table_row(&out->t, 'y');
		terminal_table_cell(&out->t, 0, a->source->name);
		terminal_table_cell(&out->t, 1, "absent");
		terminal_table_cell(&out->t, 4, why);
	}
	if (answered)
		add_absences(out, a->source, &a->set);
	/* nothing at all would look as if nobody had been asked */
	if (good && o->name_count && !a->set.row_count && !a->set.absence_count)
		log_warn("%s: nothing to read: %s", a->source->name,
			 a->source->needs_jobs ? "no job was found on this node"
					       : "there is nothing of its kind here");
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
		return; /* the call may still come back to it */
	}
	if (a->state)
		s->close(a->state);
	sample_release(&a->set);
	strbuf_release(&a->why);
	free(a);
}

/* All jobs of the node, for a source that samples those and was named. */
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
			usage_error("sample", "sample: there is no sampled source '%s'%s", name,
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

static int run(struct context *ctx, int argc, char **argv)
{
	static const struct terminal_table_column columns[] = {{"METRIC", 0},
							       {"OF", 0},
							       {"VALUE", COLUMN_RIGHT},
							       {"UNIT", 0},
							       {"WHY NOT", COLUMN_WRAP}};
	const struct sample_options *o = ctx->options;
	struct job_processes watch = {0};
	bool job = o->pid_count || o->cgroup;
	struct output out = {.j = JSONW_INIT};

	(void)argv;
	if (argc)
		return usage_error("sample", "sample takes no argument");
	if (!check_names(o))
		return EXIT_USAGE;
	if (job && open_watch(o, &watch) < 0)
		return EXIT_FAILED;
	terminal_table_init(&out.t, columns, ARRAY_SIZE(columns));
	out.j.pretty = true;
	jsonw_begin_array(&out.j, NULL);
	for (const struct source *const *s = sources; *s; s++) {
		const char *option = wanted(o, *s);
		struct source_context sc = {.root = o->root,
					    .watch = job ? &watch : NULL,
					    .option = option && *option ? option : NULL};

		if (!(*s)->open || !option || ((*s)->needs_job && !job && !o->name_count) ||
		    ((*s)->needs_jobs && !o->name_count))
			continue;
		sc.jobs = open_jobs(o, *s);
		jsonw_begin_object(&out.j, NULL);
		jsonw_str(&out.j, "source", (*s)->name);
		read_source(o, *s, &sc, &out);
		cgroup_jobs_close(sc.jobs);
		jsonw_end_object(&out.j);
	}
	jsonw_end_array(&out.j);
	if (o->json)
		jsonw_write(&out.j, stdout);
	else
		terminal_table_print(&out.t, stdout);
	terminal_table_release(&out.t);
	jsonw_release(&out.j);
	job_processes_close(&watch);
	return EXIT_OK;
}

static const struct option_row rows[] = {
	{OPT_LIST, 's', "source", "NAME[=OPTION]", "this source; may be given several times",
	 LIST(struct sample_options, names, name_count)},
	{OPT_CALL, 'p', "pid", "PID", "the processes of a job: this one and its descendants",
	 .call = take_pid, .takes = "a process id"},
	{OPT_TEXT, 0, "cgroup", "PATH", "the job in this control group",
	 AT(struct sample_options, cgroup)},
	{OPT_DURATION, 0, "over", "TIME",
	 "read twice with this time between, for what is a difference",
	 AT(struct sample_options, over_ns)},
	{OPT_TEXT, 0, "root", "DIR", "read a recorded tree instead of this machine",
	 AT(struct sample_options, root)},
	ROW_JSON(struct sample_options),
	ROW_END,
};

const struct command command_sample = {
	.name = "sample",
	.summary = "read the sampled sources once",
	.arguments = "",
	.description =
		"Reads what `plimsoll monitor` samples once and prints every value with what it is "
		"of, and for what is absent the reason. Sources of a job need --pid or --cgroup. "
		"With --source only those named, and their reasons when they cannot be read. "
		"`plimsoll sources` lists them all.",
	.examples = "  plimsoll sample --source system --source network\n"
		    "  plimsoll sample --pid $$ --over 1s --json | jq '.[].rows'\n",
	.options = rows,
	.defaults = &(const struct sample_options){.root = ""},
	.options_size = sizeof(struct sample_options),
	.run = run,
};
