/* plimsoll export: writes tables of jobs to files for other programs. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/actions.h"
#include "cmd/series_options.h"
#include "context/job_argument.h"
#include "core/clock.h"
#include "core/text/text.h"
#include "views/output.h"
#include "store/ingest/merge_streamed.h"
#include "store/query.h"
#include "views/export/export_write.h"
#include "views/jobs/job_plot.h"
#include "views/listing.h"

struct export_options {
	const char *format, *output, *codec;
	int what; /* enum table_table + 1; 0: what the jobs have */
	struct series_filter series;
	bool raw, json, list;
};

/* ---- formats -------------------------------------------------------------------------------- */

static void add_format_names(struct strbuf *out)
{
	for (const struct table_format *const *f = table_formats; *f; f++)
		strbuf_addf(out, "%s%s", f == table_formats ? "" : ", ", (*f)->name);
}

/* The format by its name, or by the suffix of the file; NULL after reporting an error. */
static const struct table_format *export_format(const struct export_options *o)
{
	_cleanup_strbuf_ struct strbuf names = STRBUF_INIT;
	const struct table_format *f =
		o->format ? table_format_by_name(o->format) : table_format_by_suffix(o->output);

	if (f)
		return f;
	add_format_names(&names);
	if (o->format)
		usage_error("export", "export: unknown format '%s', expected one of %s", o->format,
			    names.buf);
	else
		usage_error("export",
			    "export: the suffix of '%s' selects no format; give -f and one of %s",
			    o->output, names.buf);
	return NULL;
}

/* ---- --list --------------------------------------------------------------------------------- */

/* Tests whether a format works here by writing an empty table. */
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
		strbuf_addf(why, "cannot create directory '%s': %s", dir, strerror(errno));
		return -errno;
	}
	_cleanup_free_ char *path = xasprintf("%s/table%s", dir, f->suffix);
	int r = table_open(&file, f, path, &column, 1, &o, why);
	if (r >= 0)
		r = table_close(file, why);
	(void)unlink(path);
	(void)rmdir(dir);
	return r;
}

enum { NAME, SUFFIX, HELP, AVAILABLE, REASON, MEANING };
static const struct listing_column format_columns[] = {
	[NAME] = {"name", "FORMAT", 0}, [SUFFIX] = {"suffix", "SUFFIX", 0},
	[HELP] = {"help", NULL, 0},     [AVAILABLE] = {"available", NULL, 0},
	[REASON] = {"reason", NULL, 0}, [MEANING] = {NULL, "MEANING", COLUMN_WRAP},
};

static int list_formats(bool json)
{
	struct listing l;

	listing_begin(&l, format_columns, ARRAY_SIZE(format_columns), json);
	for (const struct table_format *const *f = table_formats; *f; f++) {
		_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
		bool works = try_format(*f, &why) >= 0;

		listing_row(&l, works ? 0 : 'y');
		listing_str(&l, NAME, (*f)->name);
		listing_str(&l, SUFFIX, (*f)->suffix);
		listing_str(&l, HELP, (*f)->help);
		listing_bool(&l, AVAILABLE, works);
		if (!works)
			listing_str(&l, REASON, why.buf);
		listing_strf(&l, MEANING, "%s%s%s%s", (*f)->help,
			     works ? "" : " (not here: ", works ? "" : why.buf, works ? "" : ")");
	}
	return listing_end(&l) < 0 ? EXIT_FAILED : EXIT_OK;
}

/* ---- jobs ----------------------------------------------------------------------------------- */

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
	_cleanup_free_ char *id = job_id_of(j->store, j->job);
	struct strbuf label = STRBUF_INIT;

	/* it distinguishes tables and rows */
	(void)job_label(j->store, j->job, id ? id : "", &label);
	return strbuf_take(&label);
}

static int open_job(struct context *ctx, struct export_jobs *jobs, struct export_job *j)
{
	int r = 0;

	if (job_argument_is_path(j->name)) {
		r = job_argument_open(ctx, j->name, &j->store, &j->job);
		j->own = j->store;
	} else {
		if (!jobs->shared)
			r = open_store(ctx, STORE_READ, &jobs->shared);
		j->store = jobs->shared;
		if (r >= 0 && (j->job = find_stored_job(j->store, j->name)) < 0)
			r = -ENOENT;
	}
	if (r >= 0)
		j->jobid = id_of(j);
	return r;
}

/* A job given twice would be in the file twice. */
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
		if (named_before(jobs, jobs->count - 1))
			return fail_with(-EEXIST, "job %s is given twice", j->jobid);
	}
	return 0;
}

/* ---- table ---------------------------------------------------------------------------------- */

static bool any_processes(const struct export_jobs *jobs)
{
	for (size_t i = 0; i < jobs->count; i++) {
		int64_t count = 0;

		if (store_number_of(jobs->list[i].store,
				    "SELECT " STORE_RECORDED " FROM job j WHERE j.no = $1", &count,
				    db_int(jobs->list[i].job)) == 0 &&
		    count > 0)
			return true;
	}
	return false;
}

/* Reports a metric that no job has, with similar names. */
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
		log_error("no job has metric '%s'; did you mean %s?", wanted, near.buf);
	else
		log_error(
			"no job has metric '%s'; `plimsoll series JOB` lists the metrics of a job",
			wanted);
	return -ENOENT;
}

/* ---- summary -------------------------------------------------------------------------------- */

struct summary {
	const struct export_jobs *jobs;
	const struct table_format *format;
	const struct export_options *o;
	enum table_table table;
	struct export_result result;
	int64_t bytes; /* -1: not a regular file */
	uint64_t ns;
};

static void print_json(const struct summary *s)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	json_begin_object(&j, NULL);
	json_str(&j, "file", s->o->output);
	json_str(&j, "format", s->format->name);
	json_str(&j, "what", export_table_names[s->table]);
	json_begin_array(&j, "jobs");
	for (size_t i = 0; i < s->jobs->count; i++)
		json_str(&j, NULL, s->jobs->list[i].jobid);
	json_end_array(&j);
	json_i64(&j, "rows", s->result.rows);
	json_u64(&j, "columns", s->result.columns);
	if (s->bytes >= 0)
		json_i64(&j, "bytes", s->bytes);
	json_f64(&j, "seconds", (double)s->ns / 1e9);
	json_end_object(&j);
	(void)json_write(&j, stdout);
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

/* ---- command -------------------------------------------------------------------------------- */

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
	const struct export_request q = {.table = s.table,
					 .format = f,
					 .path = o->output,
					 .codec = o->codec,
					 .series = &o->series,
					 .raw = o->raw,
					 .progress = isatty(STDERR_FILENO) && ctx->verbosity >= 0};
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	int r = export_write(jobs, &q, &s.result, &why);
	if (r < 0)
		return fail_with(EXIT_FAILED, "%s", why.len ? why.buf : strerror(-r));
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
		return argc ? usage_error("export", "export: --list takes no JOB")
			    : list_formats(o->json);
	if (argc < 1)
		return usage_error("export", "export: missing JOB");
	if (!o->output)
		o->output = "-";
	if (!strcmp(o->output, "-") && !o->format)
		return usage_error(
			"export",
			"export: name the file with -o FILE, or select a format for standard output with -f csv");
	const struct table_format *f = export_format(o);
	if (!f)
		return EXIT_USAGE;
	if (!strcmp(o->output, "-") && !f->text)
		return usage_error("export",
				   "export: cannot write %s to standard output; give -o table%s",
				   f->name, f->suffix);
	if (!strcmp(o->output, "-") && o->json)
		return usage_error("export",
				   "export: --json describes the written file; give -o FILE");
	if (o->what && o->what - 1 != TABLE_SAMPLES && (o->series.metrics.count || o->series.host))
		return usage_error("export", "export: --metric and --host apply to samples only");
	if (open_jobs(ctx, &jobs, argc, argv) < 0)
		return EXIT_FAILED;
	return export_jobs(ctx, &jobs, f);
}

static const struct option_word tables[] = {
	{"processes", TABLE_PROCESSES + 1}, {"threads", TABLE_THREADS + 1},
	{"samples", TABLE_SAMPLES + 1},     {"jobs", TABLE_JOBS + 1},
	{"phases", TABLE_PHASES + 1},       {NULL, 0},
};

static const struct option_row rows[] = {
	{OPT_TEXT, 'f', "format", "FORMAT",
	 "csv, feather, hdf5, json, jsonl, orc, parquet, pickle or sqlite; default: by the suffix "
	 "of -o",
	 AT(struct export_options, format)},
	{OPT_TEXT, 'o', "output", "FILE",
	 "output file; - is standard output, for csv, json and jsonl",
	 AT(struct export_options, output)},
	{OPT_CHOICE, 'w', "what", "TABLE",
	 "the table; default: processes if there are any, else samples",
	 AT(struct export_options, what), .words = tables},
	ROW_METRIC(struct export_options, series,
		   "samples of this metric, with or without its source; wildcards * and ? are "
		   "allowed; several separated by commas"),
	{OPT_TEXT, 0, "host", "HOST", "samples of this host only; wildcards * and ? are allowed",
	 AT(struct export_options, series.host)},
	{OPT_TEXT, 0, "codec", "CODEC",
	 "compression: zstd, lz4, snappy, zlib or none, if the format supports it",
	 AT(struct export_options, codec)},
	{OPT_FLAG, 0, "raw", NULL, "csv: do not protect text that looks like a formula",
	 AT(struct export_options, raw)},
	{OPT_FLAG, 0, "list", NULL, "list the formats and whether each works here",
	 AT(struct export_options, list)},
	ROW_JSON(struct export_options),
	ROWS_STORE,
};

const struct command command_export = {
	.name = "export",
	.summary = "write tables of jobs to files for other programs",
	.operands = {"JOB", 0, ANY_NUMBER, HELP_JOB_ID HELP_PATH, .usage = "JOB..."},
	.description =
		"Writes the processes, threads, samples or phases of jobs, or the jobs themselves, as "
		"one table with typed columns: integers, floating point, text, and times with a zone. "
		"Unknown values are absent, never 0.\n\n"
		"Several jobs become one table; jobid is a column. HDF5 files and SQLite databases are "
		"extended: an HDF5 file has one table <what>_<jobid> per job, a database one table for "
		"all jobs, and a job that is already there is replaced. Other files are replaced. If "
		"anything fails, the old file stays.\n\n"
		"In CSV, text that looks like a formula (starts with =, +, -, @) gets a leading "
		"apostrophe, so that no spreadsheet executes it.\n\n"
		"--json prints a summary of the written file: file, format, what, jobs, rows, columns, "
		"bytes, seconds.",
	.examples = "  plimsoll export last -o job.parquet\n"
		    "  plimsoll export 685000 685001 -o jobs.h5\n"
		    "  plimsoll export ./job --what samples -m process.rss -f csv -o - | head\n",
	OPTIONS(struct export_options, rows),
	.run = run,
};
