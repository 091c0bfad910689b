/* plimsoll report: what a job did and what bounded it, on a page. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cmd/actions.h"
#include "context/job_argument.h"
#include "core/files/fs.h"
#include "core/text/text.h"
#include "report/report.h"

struct options {
	const char *output, *tag;
	const char *format; /* NULL: by the name of the output */
	double co2;
};

/* ---- forms ---------------------------------------------------------------------------------- */

/* Writes to *out; 0, or a negative errno with a sentence in *why. */
struct format {
	const char *name, *suffix, *other_suffix;
	bool file; /* goes into a file even where none is named */
	int (*write)(const struct report *r, FILE *out, struct strbuf *why);
	/* to a file, aside and renamed; NULL: what write() writes is */
	int (*write_path)(const struct report *r, const char *path, struct strbuf *why);
};

static int write_text(const struct report *r, FILE *out, struct strbuf *why PL_UNUSED)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	report_text(r, out == stdout && color_on(stdout), false, &text);
	fwrite(text.buf, 1, text.len, out);
	return 0;
}

static int write_json(const struct report *r, FILE *out, struct strbuf *why PL_UNUSED)
{
	_cleanup_jsonw_ struct jsonw j = JSONW_INIT;

	report_json(r, &j);
	return jsonw_write(&j, out);
}

static int write_html(const struct report *r, FILE *out, struct strbuf *why PL_UNUSED)
{
	return report_html(r, out);
}

/* Pages are drawn into a file: one that nobody else can name, for what is none. */
static int write_pdf(const struct report *r, FILE *out, struct strbuf *why)
{
	const char *tmp = getenv("TMPDIR");
	_cleanup_free_ char *dir = xasprintf("%s/plimsoll-XXXXXX", tmp && *tmp ? tmp : "/tmp");

	if (!mkdtemp(dir))
		return -errno;
	_cleanup_free_ char *path = xasprintf("%s/report.pdf", dir);
	int e = report_pdf(r, path, why);
	_cleanup_close_ int fd = e < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	if (e == 0 && (fd < 0 || fflush(out) != 0))
		e = -errno;
	if (e == 0)
		e = fs_copy(fd, fileno(out));
	(void)unlink(path);
	(void)rmdir(dir);
	return e;
}

static const struct format formats[] = {
	{"text", ".txt", ".text", false, write_text, NULL},
	{"json", ".json", NULL, false, write_json, NULL},
	{"html", ".html", ".htm", true, write_html, NULL},
	{"pdf", ".pdf", NULL, true, write_pdf, report_pdf},
};
#define FORMATS "text, json, html or pdf"

static bool has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = suffix ? strlen(suffix) : 0;

	return m && n > m && !strcasecmp(name + n - m, suffix);
}

static const struct format *format_by_suffix(const char *path)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (has_suffix(path, formats[i].suffix) ||
		    has_suffix(path, formats[i].other_suffix))
			return &formats[i];
	return NULL;
}

static const struct format *format_by_name(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}

/* ---- where it goes -------------------------------------------------------------------------- */

/* "report-685000.html": of an id what every filesystem takes. */
static char *default_name(const struct report *r, const struct format *f)
{
	const char *id = joblist_text(&r->show.list, r->show.list.rows[0].jobid);
	char *name = xasprintf("report-%.100s%s", id ? id : "job", f->suffix);

	for (char *p = name; *p; p++)
		if (!strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-",
			    *p))
			*p = '_';
	return name;
}

static int write_file(const struct report *r, const struct format *f, const char *path,
		      struct strbuf *why)
{
	_cleanup_free_ char *data = NULL;
	size_t n = 0;

	if (f->write_path)
		return f->write_path(r, path, why);
	FILE *memory = open_memstream(&data, &n);
	if (!memory)
		return -errno;
	int e = f->write(r, memory, why);
	if (fclose(memory) != 0 && e == 0)
		e = -errno;
	return e < 0 ? e : fs_put_file(path, data, n);
}

static int write_report(const struct report *r, const struct options *o, const struct format *f)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_free_ char *made = !o->output && f->file ? default_name(r, f) : NULL;
	const char *path = o->output ? o->output : made;
	int e;

	if (!path || !strcmp(path, "-")) {
		e = f->write(r, stdout, &why);
		if (e == 0)
			e = output_error(stdout);
		path = "standard output";
	} else {
		e = write_file(r, f, path, &why);
		/* a script wants to know the name that it did not choose */
		if (e == 0 && made)
			printf("%s\n", path);
	}
	if (e < 0 && why.len)
		log_error("%s", why.buf);
	else if (e < 0)
		log_error("cannot write the report to '%s': %s", path, strerror(-e));
	return e;
}

/* ---- command -------------------------------------------------------------------------------- */

static int run(struct context *ctx, int argc, char **argv)
{
	const struct options *o = ctx->options;
	const struct report_options ro = {.co2_g_per_kwh = o->co2, .tag = o->tag};
	const struct format *f = o->format ? format_by_name(o->format) : NULL;
	_cleanup_store_ struct store *s = NULL;
	struct report r;
	int64_t job = 0;

	if (argc > 1)
		return usage_error("report", "report takes one job");
	if (!f && o->output && strcmp(o->output, "-") != 0)
		f = format_by_suffix(o->output);
	else if (!f)
		f = &formats[0];
	if (!f)
		return usage_error(
			"report",
			"report: the name '%s' does not tell the form; --format says " FORMATS,
			o->output);
	if (job_argument_open(ctx, argc ? argv[0] : "last", &s, &job) < 0)
		return EXIT_FAILED;
	int e = report_load(&r, s, job, &ro);
	if (e < 0) {
		log_error("%s", s->error.len ? store_error(s) : strerror(-e));
		return EXIT_FAILED;
	}
	e = write_report(&r, o, f);
	report_release(&r);
	return e < 0 ? EXIT_FAILED : EXIT_OK;
}

static bool take_co2(struct context *ctx, const char *value, struct strbuf *why PL_UNUSED)
{
	struct options *o = ctx->options;
	char *end;
	double v = strtod(value, &end);

	if (end == value || *end || !(v >= 0) || !isfinite(v))
		return false;
	o->co2 = v;
	return true;
}

static const char *format_name(size_t i)
{
	return i < ARRAY_SIZE(formats) ? formats[i].name : NULL;
}

static const struct option_row rows[] = {
	{OPT_TEXT, 'o', "output", "FILE",
	 "write there, in the form that its name ends in; - is standard output",
	 AT(struct options, output)},
	{OPT_CHOICE, 'f', "format", "FORM", "the form, whatever the name of the file",
	 AT(struct options, format), .word_at = format_name},
	{OPT_CALL, 0, "co2", "G/KWH", "grams of CO2 for each kWh, to tell what its energy comes to",
	 .call = take_co2, .takes = "grams for each kWh, such as 380"},
	{OPT_TEXT, 0, "tag", "KEY", "operations are the values of this tag, not all tags together",
	 AT(struct options, tag)},
	{OPT_FIXED, 0, "json", NULL, "print JSON", AT(struct options, format), .text = "json"},
	ROW_DB,
	ROW_VERBOSE,
	ROW_QUIET,
	ROW_END,
};

static const struct options defaults = {.co2 = NAN};

const struct command command_report = {
	.name = "report",
	.summary = "show what a job did and what bounded it",
	.arguments = "[JOB]",
	.description =
		"Says what bounded a job: computing, memory, storage, waiting, idle cores, unequal work, a signal, "
		"lack of memory; each with the figures behind it and one change to make. Then come figures, "
		"curves, the busiest executables and operations, hosts and ranks, energy, and what was not "
		"measured and why. It takes jobs with records, with sampled curves, or with both.\n\n"
		"Without -o and --format the report is text in 80 columns on standard output. HTML is one page that "
		"needs nothing else, PDF is on A4; with --format and without -o they are written to report-JOB.html "
		"and report-JOB.pdf, and the name is printed. A file is written aside and renamed: one that is there "
		"stays as it is when writing fails.\n\n"
		"The verdicts, their limits and the keys of the JSON form are described in docs/reports.md.\n\n"
		"JOB is a job id (ID@START or ID@CLUSTER where several have it), the beginning of only one, a name, or last for the job that was stored last (the default); or a "
		"directory, an archive or a file of ours or of another tool, which need not be in "
		"the store.",
	.examples = "  plimsoll report last\n"
		    "  plimsoll report 685000 -o 685000.html\n"
		    "  plimsoll report 685000 --tag op --co2 380 -o 685000.pdf\n"
		    "  plimsoll report ./job --json | jq -r '.findings[].title'\n",
	.options = rows,
	.defaults = &defaults,
	.options_size = sizeof(struct options),
	.run = run,
};
