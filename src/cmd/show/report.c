/* plimsoll report: what a job did and what limited it, on one page. */
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

/* ---- formats -------------------------------------------------------------------------------- */

/* Writes to *out; 0, or a negative errno with a sentence in *why. */
struct format {
	const char *name, *suffix, *other_suffix;
	bool file; /* written to a file even without -o */
	int (*write)(const struct report *r, FILE *out, struct strbuf *why);
	/* writes the file itself and replaces it atomically; NULL: write() is used */
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
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	report_json(r, &j);
	return json_write(&j, out);
}

static int write_html(const struct report *r, FILE *out, struct strbuf *why PL_UNUSED)
{
	return report_html(r, out);
}

/* The pages are drawn into a private temporary file, which is then copied. */
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

/* ---- output --------------------------------------------------------------------------------- */

/* "report-685000.html", with the characters of the id that every filesystem accepts. */
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
		/* scripts need a name that they did not choose */
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

/* The format by --format or the suffix of -o; NULL: the suffix is unknown. */
static const struct format *chosen_format(const struct options *o)
{
	if (o->format)
		return format_by_name(o->format);
	return o->output && strcmp(o->output, "-") != 0 ? format_by_suffix(o->output) : &formats[0];
}

static int check(struct context *ctx)
{
	const struct options *o = ctx->options;

	if (chosen_format(o))
		return EXIT_OK;
	return usage_error("report",
			   "report: the suffix of '%s' selects no format; give --format " FORMATS,
			   o->output);
}

static int show(struct context *ctx, struct store *s, int64_t job)
{
	const struct options *o = ctx->options;
	const struct report_options ro = {.co2_g_per_kwh = o->co2, .tag = o->tag};
	struct report r;
	int e = report_load(&r, s, job, &ro);

	if (e < 0)
		return e;
	e = write_report(&r, o, chosen_format(o));
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
	 "write to FILE; its suffix selects the format; - is standard output",
	 AT(struct options, output)},
	{OPT_CHOICE, 'f', "format", "FORMAT", "the format, whatever the suffix of -o",
	 AT(struct options, format), .word_at = format_name},
	{OPT_CALL, 0, "co2", "G/KWH", "grams of CO2 per kWh, to estimate the emissions",
	 .call = take_co2, .takes = "grams per kWh, such as 380"},
	{OPT_TEXT, 0, "tag", "KEY", "define operations by the values of this tag, not by all tags",
	 AT(struct options, tag)},
	{OPT_FIXED, 0, "json", NULL, "print JSON", AT(struct options, format), .text = "json"},
	ROWS_STORE,
};

static const struct options defaults = {.co2 = NAN};

const struct command command_report = {
	.name = "report",
	.summary = "show what a job did and what limited it",
	.operands = {"JOB", 0, 1, HELP_JOB_OR_PATH},
	.description =
		"Names what limited a job: computation, memory, storage, waiting, idle cores, load "
		"imbalance, a signal, lack of memory; each with the evidence and one suggested fix. "
		"Totals, series, the busiest executables and operations, hosts and ranks, energy, and "
		"what was not measured and why follow. The job can have records, samples or both.\n\n"
		"Without -o and --format, the report is text of 80 columns on standard output. HTML is "
		"one self-contained page, PDF has A4 pages; with --format but without -o they are "
		"written to report-JOB.html or report-JOB.pdf, and the name is printed. An existing "
		"file is replaced only when the new one is complete.\n\n"
		"docs/reports.md describes the findings, their thresholds and the keys of the JSON "
		"format.",
	.examples = "  plimsoll report last\n"
		    "  plimsoll report 685000 -o 685000.html\n"
		    "  plimsoll report 685000 --tag op --co2 380 -o 685000.pdf\n"
		    "  plimsoll report ./job --json | jq -r '.findings[].title'\n",
	OPTIONS(struct options, rows),
	.defaults = &defaults,
	.check = check,
	.show = show,
	.shows_paths = true,
};
