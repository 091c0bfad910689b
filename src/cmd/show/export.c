/* plimsoll export: tables of jobs as files that other programs read. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/series_options.h"
#include "cmd/show/export.h"
#include "core/clock.h"
#include "core/text/json_writer.h"
#include "core/text/text.h"
#include "plot/unit_format.h"
#include "store/ingest/merge_streamed.h"
#include "store/query.h"
#include "views/job_plot.h"

/* ---- formats -----------------------------------------------------------------------------------
 */

/* Ends of names that mean a format, beside its own. */
static const struct {
	const char *suffix, *format;
} suffixes[] = {
	{".arrow", "feather"}, {".db", "sqlite"},    {".hdf", "hdf5"},      {".hdf5", "hdf5"},
	{".ndjson", "jsonl"},  {".parq", "parquet"}, {".pickle", "pickle"}, {".sqlite3", "sqlite"},
};

static const struct table_format *format_by_suffix(const char *path)
{
	for (const struct table_format *const *f = table_formats; *f; f++)
		if (str_suffix(path, (*f)->suffix))
			return *f;
	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++)
		if (str_suffix(path, suffixes[i].suffix))
			return table_format_by_name(suffixes[i].format);
	return NULL;
}

static void add_format_names(struct strbuf *out)
{
	for (const struct table_format *const *f = table_formats; *f; f++)
		strbuf_addf(out, "%s%s", f == table_formats ? "" : ", ", (*f)->name);
}

const struct table_format *export_format(const struct export_options *o)
{
	_cleanup_strbuf_ struct strbuf names = STRBUF_INIT;
	const struct table_format *f =
		o->format ? table_format_by_name(o->format) : format_by_suffix(o->output);

	if (f)
		return f;
	add_format_names(&names);
	if (o->format)
		usage_error("export", "export: there is no format '%s'; there are %s", o->format,
			    names.buf);
	else
		usage_error("export",
			    "export: the name '%s' does not tell the format; say -f and one of %s",
			    o->output, names.buf);
	return NULL;
}

/* ---- --list ------------------------------------------------------------------------------------
 */

/* Whether a format works here: by writing a table of nothing. */
static int try_format(const struct table_format *f, struct strbuf *why)
{
	static const struct table_column column = {"value", TABLE_INT, NULL};
	static const struct table_hint hint;
	const struct table_options o = {.table = "table", .hints = &hint};
	const char *tmp = getenv("TMPDIR");
	_cleanup_free_ char *dir =
		xasprintf("%s/plimsoll-export.XXXXXX", tmp && *tmp ? tmp : "/tmp");
	struct table_file *file = NULL;

	if (!mkdtemp(dir)) {
		strbuf_addf(why, "cannot make directory '%s': %s", dir, strerror(errno));
		return -errno;
	}
	_cleanup_free_ char *path = xasprintf("%s/table%s", dir, f->suffix);
	int r = f->open(&file, path, &column, 1, &o, why);
	if (r >= 0)
		r = f->close(file, why);
	(void)unlink(path);
	(void)rmdir(dir);
	return r;
}

static int list_formats(bool json)
{
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;

	jsonw_begin_array(&j, NULL);
	for (const struct table_format *const *f = table_formats; *f; f++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		int r = try_format(*f, &why);

		if (json) {
			jsonw_begin_object(&j, NULL);
			jsonw_str(&j, "name", (*f)->name);
			jsonw_str(&j, "suffix", (*f)->suffix);
			jsonw_str(&j, "help", (*f)->help);
			jsonw_bool(&j, "available", r >= 0);
			if (r < 0)
				jsonw_str(&j, "reason", why.buf);
			jsonw_end_object(&j);
		} else {
			printf("%-8s  %-9s  %s%s%s%s\n", (*f)->name, (*f)->suffix, (*f)->help,
			       r < 0 ? " (not here: " : "", r < 0 ? why.buf : "", r < 0 ? ")" : "");
		}
	}
	jsonw_end_array(&j);
	if (json)
		return jsonw_write(&j, stdout) < 0 ? EXIT_FAILED : EXIT_OK;
	return output_error(stdout) < 0 ? EXIT_FAILED : EXIT_OK;
}

/* ---- jobs --------------------------------------------------------------------------------------
 */

static void release_jobs(struct export_jobs *jobs)
{
	for (size_t i = 0; i < jobs->count; i++) {
		if (jobs->list[i].own)
			store_close(jobs->list[i].store);
		free(jobs->list[i].jobid);
	}
	free(jobs->list);
	if (jobs->shared)
		store_close(jobs->shared);
}

static char *id_of(const struct export_job *j)
{
	_cleanup_stmt_ struct stmt *st =
		stmt_prepare(j->store, "SELECT jobid FROM job WHERE no = $1");

	if (st)
		stmt_int(st, 1, j->job);
	_cleanup_free_ char *id = xstrdup(st && stmt_step(st) == 1 ? stmt_get_str(st, 0) : "");
	if (st)
		stmt_reset(st);
	struct strbuf label = STRBUF_INIT;
	/* tables are told apart by it, and rows in them */
	(void)job_label(j->store, j->job, id, &label);
	return strbuf_take(&label);
}

static int open_job(struct context *ctx, struct export_jobs *jobs, struct export_job *j)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int r = 0;

	if (job_argument_is_path(j->name)) {
		r = job_argument_open(ctx, j->name, &j->store, &j->job);
		j->own = j->store;
	} else {
		if (!jobs->shared)
			r = open_store(ctx, STORE_READ, &jobs->shared);
		j->store = jobs->shared;
		if (r >= 0 && (r = job_find(j->store, j->name, &j->job, &why)) < 0)
			log_error("%s", why.buf);
	}
	if (r >= 0)
		j->jobid = id_of(j);
	return r;
}

/* A job that was named twice would be in the file twice. */
static bool named_before(const struct export_jobs *jobs, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (!strcmp(jobs->list[k].jobid, jobs->list[i].jobid))
			return true;
	return false;
}

static int open_jobs(struct context *ctx, struct export_jobs *jobs, int argc, char **argv)
{
	jobs->list = xcalloc((size_t)argc, sizeof(*jobs->list));
	for (int i = 0; i < argc; i++) {
		struct export_job *j = &jobs->list[jobs->count++];

		j->name = argv[i];
		int r = open_job(ctx, jobs, j);
		if (r < 0)
			return r;
		if (named_before(jobs, jobs->count - 1)) {
			log_error("job %s is named twice", j->jobid);
			return -EEXIST;
		}
	}
	return 0;
}

/* ---- which table -------------------------------------------------------------------------------
 */

static bool any_processes(const struct export_jobs *jobs)
{
	for (size_t i = 0; i < jobs->count; i++) {
		_cleanup_stmt_ struct stmt *st =
			stmt_prepare(jobs->list[i].store,
				     "SELECT " STORE_RECORDED " FROM job j WHERE j.no = $1");

		if (!st)
			continue;
		stmt_int(st, 1, jobs->list[i].job);
		if (stmt_step(st) == 1 && stmt_get_int(st, 0) > 0)
			return true;
	}
	return false;
}

/* A metric that no job has: said with one that is nearly called so. */
static int check_metrics(const struct export_jobs *jobs, const struct export_options *o)
{
	static const struct series_filter all;
	_cleanup_strbuf_ struct strbuf near = STRBUF_INIT;
	const char *wanted = o->series.metrics.count ? o->series.metrics.word[0] : NULL;
	bool any = false;

	for (size_t i = 0; i < jobs->count && wanted && !any; i++) {
		const struct export_job *j = &jobs->list[i];
		_cleanup_(series_list_release) struct series_list l = {0}, every = {0};

		if (series_list_load(&l, j->store, j->job, &o->series) < 0 ||
		    series_list_load(&every, j->store, j->job, &all) < 0)
			return 0;
		any = l.count > 0;
		if (!any && !near.len)
			series_nearest(&every, wanted, 3, &near);
	}
	if (!wanted || any)
		return 0;
	if (near.len)
		log_error("there is no metric '%s'; did you mean %s?", wanted, near.buf);
	else
		log_error("there is no metric '%s'; `plimsoll series JOB` lists what there is",
			  wanted);
	return -ENOENT;
}

/* ---- what was done -----------------------------------------------------------------------------
 */

struct summary {
	const struct export_jobs *jobs;
	const struct table_format *format;
	const struct export_options *o;
	enum table_table table;
	struct export_result result;
	int64_t bytes; /* -1: not a file */
	uint64_t ns;
};

static void print_json(const struct summary *s)
{
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;

	jsonw_begin_object(&j, NULL);
	jsonw_str(&j, "file", s->o->output);
	jsonw_str(&j, "format", s->format->name);
	jsonw_str(&j, "what", export_table_names[s->table]);
	jsonw_begin_array(&j, "jobs");
	for (size_t i = 0; i < s->jobs->count; i++)
		jsonw_str(&j, NULL, s->jobs->list[i].jobid);
	jsonw_end_array(&j);
	jsonw_i64(&j, "rows", s->result.rows);
	jsonw_u64(&j, "columns", s->result.columns);
	if (s->bytes >= 0)
		jsonw_i64(&j, "bytes", s->bytes);
	jsonw_f64(&j, "seconds", (double)s->ns / 1e9);
	jsonw_end_object(&j);
	(void)jsonw_write(&j, stdout);
}

static void print_summary(const struct summary *s, bool quiet)
{
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT;

	if (!s->result.rows)
		log_warn("there are no %s: the table is empty", export_table_names[s->table]);
	if (s->o->json) {
		print_json(s);
		return;
	}
	if (quiet || !strcmp(s->o->output, "-"))
		return;
	add_count(&line, s->result.rows, true);
	strbuf_addf(&line, " %s", export_table_names[s->table]);
	if (s->result.rows == 1)
		strbuf_cut(&line, line.len - (s->table == TABLE_PROCESSES ? 2 : 1));
	if (s->jobs->count == 1)
		strbuf_addf(&line, " of job %s", s->jobs->list[0].jobid);
	else if (s->table != TABLE_JOBS)
		strbuf_addf(&line, " of %zu %s", s->jobs->count,
			    plural(s->jobs->count, "job", "jobs"));
	strbuf_addf(&line, ", %zu %s, ", s->result.columns,
		    plural(s->result.columns, "column", "columns"));
	if (s->bytes >= 0) {
		text_add_bytes(&line, (double)s->bytes);
		strbuf_addstr(&line, ", ");
	}
	text_add_duration(&line, (double)s->ns / 1e9);
	printf("%s: %s\n", s->o->output, line.buf);
}

/* ---- command -----------------------------------------------------------------------------------
 */

static int export_jobs(struct context *ctx, struct export_jobs *jobs, const struct table_format *f)
{
	const struct export_options *o = ctx->options;
	struct summary s = {.jobs = jobs, .format = f, .o = o, .bytes = -1};
	uint64_t begun = clock_boottime_ns();
	struct stat st;

	s.table = o->what                                     ? (enum table_table)(o->what - 1)
		  : o->series.metrics.count || o->series.host ? TABLE_SAMPLES
		  : any_processes(jobs)                       ? TABLE_PROCESSES
							      : TABLE_SAMPLES;
	if (s.table == TABLE_SAMPLES && check_metrics(jobs, o) < 0)
		return EXIT_FAILED;
	if (export_write(ctx, jobs, s.table, f, o, &s.result) < 0)
		return EXIT_FAILED;
	s.ns = clock_boottime_ns() - begun;
	if (strcmp(o->output, "-") != 0 && stat(o->output, &st) == 0 && S_ISREG(st.st_mode))
		s.bytes = st.st_size;
	print_summary(&s, ctx->verbosity < 0);
	return EXIT_OK;
}

static int run(struct context *ctx, int argc, char **argv)
{
	struct export_options *o = ctx->options;
	_cleanup_(release_jobs) struct export_jobs jobs = {0};

	if (o->list)
		return argc ? usage_error("export", "export: --list takes no job")
			    : list_formats(o->json);
	if (argc < 1)
		return usage_error("export", "export takes one job or several");
	if (!o->output)
		o->output = "-";
	if (!strcmp(o->output, "-") && !o->format)
		return usage_error("export", "export: say -o and a file, or -f csv for stdout");
	const struct table_format *f = export_format(o);
	if (!f)
		return EXIT_USAGE;
	if (!strcmp(o->output, "-") && !f->text)
		return usage_error("export", "export: %s has to go to a file: -o table%s", f->name,
				   f->suffix);
	if (!strcmp(o->output, "-") && o->json)
		return usage_error("export",
				   "export: --json is about a file, and there is none: say -o");
	if (o->what && o->what - 1 != TABLE_SAMPLES && (o->series.metrics.count || o->series.host))
		return usage_error("export", "export: --metric and --host are for samples only");
	if (open_jobs(ctx, &jobs, argc, argv) < 0)
		return EXIT_FAILED;
	return export_jobs(ctx, &jobs, f);
}

static const struct option_word tables[] = {
	{"processes", TABLE_PROCESSES + 1},
	{"threads", TABLE_THREADS + 1},
	{"samples", TABLE_SAMPLES + 1},
	{"jobs", TABLE_JOBS + 1},
	{NULL, 0},
};

static const struct option_row rows[] = {
	{OPT_TEXT, 'f', "format", "FORMAT",
	 "csv, feather, hdf5, json, jsonl, orc, parquet, pickle or sqlite; else by the end of -o",
	 AT(struct export_options, format)},
	{OPT_TEXT, 'o', "output", "FILE", "the file; - is stdout, for csv, json and jsonl",
	 AT(struct export_options, output)},
	{OPT_CHOICE, 'w', "what", "TABLE",
	 "the table; else processes if there are any, then samples",
	 AT(struct export_options, what), .words = tables},
	{OPT_LIST, 'm', "metric", "METRIC",
	 "samples of this metric, with or without its source; * and ? match; several with commas",
	 LIST(struct export_options, series.metrics.word, series.metrics.count), .separator = ',',
	 .takes = "names of metrics"},
	{OPT_TEXT, 0, "host", "HOST", "samples of this host only; * and ? match",
	 AT(struct export_options, series.host)},
	{OPT_TEXT, 0, "codec", "CODEC",
	 "zstd, lz4, snappy, zlib or none, as far as the format has it",
	 AT(struct export_options, codec)},
	{OPT_FLAG, 0, "raw", NULL,
	 "csv: texts byte for byte, also those that a spreadsheet takes for formulas",
	 AT(struct export_options, raw)},
	{OPT_FLAG, 0, "list", NULL, "list the formats, and which work here",
	 AT(struct export_options, list)},
	ROW_JSON(struct export_options),
	ROW_DB,
	ROW_VERBOSE,
	ROW_QUIET,
	ROW_END,
};

const struct command command_export = {
	.name = "export",
	.summary = "write tables of jobs to files that other programs read",
	.arguments = "JOB...",
	.description =
		"Writes the processes, threads or samples of jobs, or the jobs themselves, as one table with typed "
		"columns: whole numbers, floating point, text, and times with a zone; what is absent is absent, "
		"never 0.\n\n"
		"Several jobs become one table; jobid is a column. hdf5 files and sqlite databases are added to: "
		"an HDF5 file has a table <what>_<jobid> for each job, a database one table for all of them, and a job that is there "
		"already is replaced. Other files are replaced. Whatever goes wrong, the old file stays.\n\n"
		"In CSV a text that begins like a formula (=, +, -, @) has an apostrophe in front, so that no spreadsheet "
		"executes it.\n\n"
		"JOB is a job id (ID@START or ID@CLUSTER where several have it), the beginning of only one, a name, or last for the job that was stored last; or a "
		"directory, an archive or a file, of other tools too, which need not be in the store.\n\n"
		"--json prints what was written as an object: file, format, what, jobs, rows, columns, bytes, seconds.",
	.examples = "  plimsoll export last -o job.parquet\n"
		    "  plimsoll export 685000 685001 -o jobs.h5\n"
		    "  plimsoll export ./job --what samples -m process.rss -f csv -o - | head\n",
	.options = rows,
	.options_size = sizeof(struct export_options),
	.run = run,
};
