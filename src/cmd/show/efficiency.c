/* plimsoll efficiency: what jobs used of what they asked for. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cmd/actions.h"
#include "context/job_selection.h"
#include "core/text/text.h"
#include "report/job_use.h"
#include "report/report_json.h"
#include "views/sheet.h"
#include "views/stream_table.h"

#define STEPS_SHOWN 100

struct efficiency_options {
	const char *where;
	bool json, csv;
};

/* ---- one job -------------------------------------------------------------------------------- */

static void add_share(struct strbuf *out, double share)
{
	if (isfinite(share) && share >= 0)
		strbuf_addf(out, " (%.*f %%)", share < 0.1 ? 1 : 0, share * 100);
}

static void add_used(struct strbuf *out, const struct job_use *u, enum advice_item item)
{
	double used = u->use.item[item], asked = u->asked[item];

	advice_add_amount(out, item, used);
	if (isnan(asked))
		return;
	strbuf_addstr(out, " of ");
	advice_add_amount(out, item, asked);
	strbuf_addstr(out, " asked for");
	add_share(out, used / asked);
}

static void step_amount(struct terminal_table *t, size_t column, enum advice_item item, double v)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (isfinite(v))
		advice_add_amount(&text, item, v);
	terminal_table_cell(t, column, text.buf);
}

/* What each step used. */
static void print_steps(const struct report *r)
{
	static const struct terminal_table_column columns[] = {
		{"STEP", 0},
		{"PROGRAM", COLUMN_CUT},
		{"HOSTS", COLUMN_RIGHT},
		{"PROCESSES", COLUMN_RIGHT},
		{"CORES BUSY", COLUMN_RIGHT},
		{"CPU", COLUMN_RIGHT},
		{"TIME", COLUMN_RIGHT},
		{"MEMORY", COLUMN_RIGHT},
		{"FAILED", COLUMN_RIGHT},
	};
	struct terminal_table t;

	if (!r->step_count)
		return;
	terminal_table_init(&t, columns, ARRAY_SIZE(columns));
	for (size_t i = 0; i < r->step_count && i < STEPS_SHOWN; i++) {
		const struct report_step *s = &r->steps[i];
		double busy = report_step_cpu(s) / report_step_seconds(s);

		terminal_table_row(&t, s->failed ? 'r' : 0);
		terminal_table_cell(&t, 0, s->name);
		terminal_table_cell(&t, 1, s->program);
		terminal_table_cellf(&t, 2, "%zu", s->hosts);
		terminal_table_cellf(&t, 3, "%zu", s->processes);
		if (isfinite(busy))
			terminal_table_cellf(&t, 4, "%.2f", busy);
		step_amount(&t, 5, ADVICE_TIME, report_step_cpu(s));
		step_amount(&t, 6, ADVICE_TIME, report_step_seconds(s));
		step_amount(&t, 7, ADVICE_MEMORY, s->memory);
		if (s->failed)
			terminal_table_cellf(&t, 8, "%zu", s->failed);
	}
	putchar('\n');
	terminal_table_print(&t, stdout);
	terminal_table_release(&t);
	if (r->step_count > STEPS_SHOWN)
		printf("and %zu more; --json has all\n", r->step_count - STEPS_SHOWN);
}

static void print_one(const struct report *r, const struct job_use *u, const char *label)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT, line = STRBUF_INIT;
	const struct sheet sheet = {.out = &out, .label = 12, .width = 80};
	const char *name = joblist_text(&r->show.list, r->show.list.rows[0].jobname);

	strbuf_addf(&line, "%s  %s", label, name ? name : "");
	sheet_line(&sheet, "job", line.buf);
	sheet_line(&sheet, "state", u->state);
	strbuf_reset(&line);
	if (isfinite(u->cores)) {
		strbuf_addf(&line, "%.0f on %.0f %s", u->cores, u->hosts,
			    u->hosts == 1 ? "host" : "hosts");
		if (u->tasks > 1)
			strbuf_addf(&line, ", %.0f tasks", u->tasks);
		sheet_line(&sheet, "cores", line.buf);
		strbuf_reset(&line);
	}
	if (isfinite(u->cpu)) {
		text_add_duration(&line, u->cpu);
		if (isfinite(u->cores) && isfinite(u->seconds)) {
			strbuf_addstr(&line, " of ");
			text_add_duration(&line, u->cores * u->seconds);
			strbuf_addstr(&line, " core time");
			add_share(&line, job_use_cpu_share(u));
		}
		sheet_line(&sheet, "CPU", line.buf);
		strbuf_reset(&line);
	}
	add_used(&line, u, ADVICE_TIME);
	sheet_line(&sheet, "time", line.buf);
	strbuf_reset(&line);
	add_used(&line, u, ADVICE_MEMORY);
	if (isfinite(u->memory_least) && u->memory_least < u->use.item[ADVICE_MEMORY]) {
		strbuf_addstr(&line, "; at least ");
		text_add_bytes(&line, u->memory_least);
		strbuf_addstr(&line, ", shared pages counted once");
	}
	if (u->files > 0) {
		strbuf_addstr(&line, "; ");
		text_add_bytes(&line, u->files);
		strbuf_addstr(&line, " of it or less in files in memory (/dev/shm)");
	}
	sheet_line(&sheet, "memory", line.buf);
	if (isfinite(u->gpu_busy)) {
		strbuf_reset(&line);
		add_used(&line, u, ADVICE_GPUS);
		strbuf_addf(&line, " worked, busy %.0f %% of the time", u->gpu_busy * 100);
		sheet_line(&sheet, "GPUs", line.buf);
	}
	fputs(out.buf, stdout);
	print_steps(r);
}

/* ---- many ----------------------------------------------------------------------------------- */

static const struct terminal_table_column table_columns[] = {
	{"JOB", 0},
	{"STATE", 0},
	{"CORES", COLUMN_RIGHT},
	{"CPU", COLUMN_RIGHT},
	{"CPU USED", COLUMN_RIGHT},
	{"TIME", COLUMN_RIGHT},
	{"OF TIME ASKED", COLUMN_RIGHT},
	{"MEMORY", COLUMN_RIGHT},
	{"OF MEMORY ASKED", COLUMN_RIGHT},
	{"ARRAY TASK", 0},
};
static const struct terminal_table_column csv_columns[] = {
	{"jobid", 0},        {"state", 0},        {"cores", 0},
	{"cpu_s", 0},        {"cpu_share", 0},    {"duration_s", 0},
	{"time_asked_s", 0}, {"memory_bytes", 0}, {"memory_asked_bytes", 0},
	{"array_task", 0},
};

static void cell(struct stream_table *t, const struct strbuf *text)
{
	stream_table_str(t, text->buf);
}

static void real_cell(struct stream_table *t, double v)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (isfinite(v))
		strbuf_addf(&text, "%.12g", v);
	stream_table_figure(t, &text);
}

static void share_cell(struct stream_table *t, double v)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (isfinite(v))
		strbuf_addf(&text, "%.*f %%", v < 0.1 ? 1 : 0, v * 100);
	cell(t, &text);
}

static void amount_cell(struct stream_table *t, enum advice_item item, double v)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	if (isfinite(v))
		advice_add_amount(&text, item, v);
	stream_table_figure(t, &text);
}

static void row(struct stream_table *t, const struct report *r, const struct job_use *u,
		const char *label)
{
	const double *used = u->use.item;

	stream_table_str(t, label);
	stream_table_str(t, u->state);
	amount_cell(t, ADVICE_CORES, u->cores);
	if (t->csv) {
		real_cell(t, u->cpu);
		real_cell(t, job_use_cpu_share(u));
		real_cell(t, u->seconds);
		real_cell(t, u->asked[ADVICE_TIME]);
		real_cell(t, used[ADVICE_MEMORY]);
		real_cell(t, u->asked[ADVICE_MEMORY]);
	} else {
		amount_cell(t, ADVICE_TIME, u->cpu);
		share_cell(t, job_use_cpu_share(u));
		amount_cell(t, ADVICE_TIME, used[ADVICE_TIME]);
		share_cell(t, used[ADVICE_TIME] / u->asked[ADVICE_TIME]);
		amount_cell(t, ADVICE_MEMORY, used[ADVICE_MEMORY]);
		share_cell(t, used[ADVICE_MEMORY] / u->asked[ADVICE_MEMORY]);
	}
	stream_table_str(t, r->show.metadata.task ? r->show.metadata.task : "");
	stream_table_row(t, !strcmp(u->state, "failed") ? 'r' : 0);
}

static void number(struct json_writer *j, const char *key, double v)
{
	report_json_figure(j, key, v);
}

static void object(struct json_writer *j, const struct report *r, const struct job_use *u,
		   const char *label)
{
	json_begin_object(j, NULL);
	json_str(j, "jobid", label);
	json_str(j, "state", u->state);
	number(j, "hosts", u->hosts);
	number(j, "tasks", u->tasks);
	number(j, "cores", u->cores);
	number(j, "cpu_s", u->cpu);
	number(j, "cpu_share", job_use_cpu_share(u));
	number(j, "duration_s", u->seconds);
	number(j, "batch_s", u->use.item[ADVICE_TIME]);
	number(j, "cores_needed", u->use.item[ADVICE_CORES]);
	number(j, "memory_bytes", u->use.item[ADVICE_MEMORY]);
	number(j, "memory_least_bytes", u->memory_least);
	number(j, "memory_files_bytes", u->files);
	number(j, "gpu_busy", u->gpu_busy);
	json_begin_object(j, "asked");
	for (size_t i = 0; i < ADVICE_ITEMS; i++)
		number(j, advice_names[i], u->asked[i]);
	json_end_object(j);
	json_str(j, "array_task", r->show.metadata.task);
	report_json_steps(r, j);
	json_end_object(j);
}

/* ---- command -------------------------------------------------------------------------------- */

struct efficiency {
	const struct efficiency_options *o;
	bool one;
	struct stream_table table;
	struct json_rows rows;
	double cpu, granted; /* sums over jobs where both are known */
};

static int show(struct efficiency *e, struct store *s, const struct selected_job *job)
{
	struct report r;
	struct job_use u;
	int status = report_load(&r, s, job->no, NULL);

	if (status < 0)
		return status;
	job_use_take(&r, &u);
	if (isfinite(u.cpu) && isfinite(u.cores * u.seconds)) {
		e->cpu += u.cpu;
		e->granted += u.cores * u.seconds;
	}
	if (e->o->json) {
		object(&e->rows.j, &r, &u, job->label);
		json_rows_next(&e->rows);
	} else if (e->one)
		print_one(&r, &u, job->label);
	else
		row(&e->table, &r, &u, job->label);
	report_release(&r);
	return 0;
}

static void print_sum(const struct efficiency *e, size_t jobs)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	strbuf_addf(&out, "\n%zu jobs used ", jobs);
	text_add_duration(&out, e->cpu);
	strbuf_addstr(&out, " of ");
	text_add_duration(&out, e->granted);
	strbuf_addstr(&out, " core time");
	add_share(&out, e->cpu / e->granted);
	puts(out.buf);
}

static int show_all(struct efficiency *e, struct store *s, const struct job_selection *js)
{
	int r = 0, end = 0;

	e->one = js->count == 1 && !e->o->csv;
	if (e->o->json)
		json_rows_begin(&e->rows, stdout);
	else if (!e->one)
		stream_table_begin(&e->table, e->o->csv ? csv_columns : table_columns,
				   ARRAY_SIZE(table_columns), e->o->csv, stdout);
	for (size_t i = 0; i < js->count && r >= 0; i++)
		r = show(e, s, &js->v[i]);
	if (e->o->json)
		end = json_rows_end(&e->rows);
	else if (!e->one)
		end = stream_table_end(&e->table);
	if (r < 0)
		return report_store_error(s, r);
	if (end < 0)
		return fail_with(EXIT_FAILED, "cannot write: %s", strerror(-end));
	if (!e->one && !e->o->json && !e->o->csv && e->granted > 0)
		print_sum(e, js->count);
	return EXIT_OK;
}

static int run(struct context *ctx, int argc, char **argv)
{
	const struct efficiency_options *o = ctx->options;
	static char last[] = "last";
	char *newest[] = {last};
	const bool named = argc || o->where;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_job_selection_ struct job_selection js = {0};
	_cleanup_store_ struct store *s = NULL;
	struct efficiency e = {.o = o};

	if (open_store(ctx, STORE_READ, &s) < 0)
		return EXIT_FAILED;
	int r = job_selection_find(&js, s, named ? argv : newest, named ? (size_t)argc : 1,
				   o->where, &why);
	/* the id of an array means all of its tasks; one of them may have the same id */
	if ((r == 0 || r == -ENOENT) && argc == 1 && js.count <= 1 && !o->where) {
		int more = job_selection_add_array(&js, s, argv[0]);

		r = more < 0 ? more : more > 0 ? 0 : r;
	}
	if (r < 0)
		return fail_with(job_selection_status(r), "%s", why.buf);
	if (!js.count && !o->json && !o->csv)
		return fail_with(EXIT_FAILED, "no job matches the filter '%s'", o->where);
	return show_all(&e, s, &js);
}

static const struct option_row rows[] = {
	ROW_WHERE(struct efficiency_options),
	ROW_CSV(struct efficiency_options),
	ROW_JSON(struct efficiency_options),
	ROWS_STORE,
};

const struct command command_efficiency = {
	.name = "efficiency",
	.summary = "show what jobs used of what they asked for",
	.operands = {"JOB", 0, ANY_NUMBER,
		     "Several jobs, a name that several jobs have, the id of an array, or --where "
		     "make a table."},
	.description =
		"Compares CPU time with the core time that was granted, the duration with the time "
		"limit, and memory with the memory that was asked for. Memory is that of all "
		"processes on a host at one time, of the host that used most; the page cache does "
		"not count. What the batch system was asked for is recorded when a job starts.\n\n"
		"Of one job its steps follow: those of Slurm, the values of the tag 'step', or its "
		"runs if there are several. Their memory is the sum of the peaks of processes that "
		"lived at one time, of the host that used most.\n\n" HELP_JOB
		" Without a JOB, it is the last one.",
	.examples = "  plimsoll efficiency\n  plimsoll efficiency --where 'user=eva and "
		    "start>=-7d'\n",
	OPTIONS(struct efficiency_options, rows),
	.run = run,
};
