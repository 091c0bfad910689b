/* plimsoll advise: what a job should ask for the next time. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "cmd/actions.h"
#include "context/job_selection.h"
#include "core/text/text.h"
#include "report/job_use.h"
#include "report/report_json.h"
#include "store/analysis/fingerprint.h"
#include "views/sheet.h"

#define OAR_RESOURCES "#OAR -l "

struct advise_options {
	uint64_t limit;
	const char *ignore_tags;
	bool json;
};

static const struct advise_options defaults = {.limit = 20};

struct advised {
	struct report r;
	struct job_use u;
	struct run_use *past;
	size_t past_count;
	size_t tasks; /* the others of its array, which are then in past */
	struct request_advice item[ADVICE_ITEMS];
};

static int add_past(struct advised *a, struct store *s, int64_t job)
{
	struct report past;
	struct job_use u;
	int r = report_load(&past, s, job, NULL);

	if (r < 0)
		return r;
	job_use_take(&past, &u);
	a->past = xreallocarray(a->past, a->past_count + 1, sizeof(*a->past));
	a->past[a->past_count++] = u.use;
	report_release(&past);
	return 0;
}

/* All tasks of an array have the same request. */
static int load_array(struct advised *a, struct store *s, int64_t job)
{
	const char *task = a->r.show.metadata.task;
	_cleanup_job_selection_ struct job_selection js = {0};
	_cleanup_free_ char *id = task ? xstrndup(task, strcspn(task, "_")) : NULL;
	int r = id ? job_selection_add_array(&js, s, id) : 0;

	for (size_t i = 0; i < js.count && r >= 0; i++)
		if (js.v[i].no != job) {
			r = add_past(a, s, js.v[i].no);
			a->tasks++;
		}
	return r < 0 ? r : 0;
}

/* Earlier complete runs of the same command, by their reports. */
static int load_past(struct advised *a, struct store *s, int64_t job,
		     const struct advise_options *o)
{
	_cleanup_fingerprint_ struct fingerprint f = {0};
	_cleanup_free_ int64_t *jobs = NULL;
	const struct fingerprint_search q = {.ignore_tags = o->ignore_tags,
					     .before_us = a->r.show.list.rows[0].start,
					     .limit = o->limit};
	size_t failed;
	int r = load_array(a, s, job);

	if (r < 0 || a->tasks)
		return r;
	r = o->limit ? fingerprint_load(&f, s, job, o->ignore_tags) : -ENOENT;
	if (r < 0)
		return r == -ENOENT ? 0 : r;
	int64_t n = fingerprint_find(s, &f, &q, &jobs, &failed);
	for (int64_t i = 0; i < n && r >= 0; i++)
		if (jobs[i] != job)
			r = add_past(a, s, jobs[i]);
	return n < 0 ? (int)n : r;
}

/* ---- output --------------------------------------------------------------------------------- */

static const char open_end_note[] =
	"if its batch script goes on after what was recorded, add that time (`plimsoll import sacct` "
	"tells how long the job took), and what that part of it needs";

static void json_item(struct json_writer *j, const struct advised *a, enum advice_item i)
{
	const struct request_advice *d = &a->item[i];
	_cleanup_strbuf_ struct strbuf directive = STRBUF_INIT;

	if (!isnan(d->suggested))
		job_use_directive(&a->u, i, d->suggested, &directive);
	json_begin_object(j, NULL);
	json_str(j, "item", advice_names[i]);
	report_json_figure(j, "asked", d->asked);
	report_json_figure(j, "used", d->used);
	report_json_figure(j, "suggested", d->suggested);
	report_json_figure(j, "saving", d->saving);
	json_str(j, "directive", directive.len ? directive.buf : NULL);
	json_i64(j, "past_runs", (int64_t)d->past);
	json_i64(j, "past_runs_fit", (int64_t)d->fit);
	json_str(j, "reason", d->reason);
	json_str(j, "note", i == ADVICE_TIME && a->u.open_end && !d->reason ? open_end_note : NULL);
	json_end_object(j);
}

static int print_json(const struct advised *a)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	json_begin_object(&j, NULL);
	json_str(&j, "jobid", joblist_text(&a->r.show.list, a->r.show.list.rows[0].jobid));
	json_str(&j, "state", a->u.state);
	json_begin_array(&j, "request");
	for (size_t i = 0; i < ADVICE_ITEMS; i++)
		json_item(&j, a, (enum advice_item)i);
	json_end_array(&j);
	report_json_findings(&a->r, &j);
	json_end_object(&j);
	return json_write(&j, stdout);
}

static void add_saving(struct strbuf *out, const struct request_advice *d, enum advice_item i)
{
	if (isnan(d->saving))
		return;
	strbuf_addstr(out, "; saves ");
	if (i == ADVICE_CORES || i == ADVICE_GPUS) {
		text_add_duration(out, d->saving);
		strbuf_addf(out, " of %s time", i == ADVICE_CORES ? "core" : "GPU");
	} else
		advice_add_amount(out, i, d->asked - d->suggested);
}

static void add_back_test(struct strbuf *out, const struct request_advice *d, bool tasks)
{
	if (!d->past)
		return;
	if (tasks && d->raised)
		strbuf_addf(out,
			    "; %zu of %zu other tasks of the array needed more than this one: "
			    "the suggestion covers them",
			    d->past - d->fit, d->past);
	else if (tasks)
		strbuf_addf(out, "; it covers the %zu other tasks of the array that are stored",
			    d->past);
	else if (d->raised)
		strbuf_addf(out,
			    "; %zu of %zu earlier runs needed more than this one: the suggestion "
			    "covers them",
			    d->past - d->fit, d->past);
	else if (d->past == 1)
		strbuf_addstr(out, "; the earlier run would have fitted");
	else
		strbuf_addf(out, "; all %zu earlier runs would have fitted", d->past);
}

static void print_item(const struct sheet *sheet, const struct advised *a, enum advice_item i)
{
	const struct request_advice *d = &a->item[i];
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT;

	if (i == ADVICE_GPUS && isnan(d->asked) && isnan(d->used))
		return;
	advice_add_amount(&line, i, d->used);
	strbuf_addstr(&line, " used");
	if (!isnan(d->asked)) {
		strbuf_addstr(&line, " of ");
		advice_add_amount(&line, i, d->asked);
		strbuf_addstr(&line, " asked for");
	}
	if (d->reason)
		strbuf_addf(&line, "; %s", d->reason);
	else {
		strbuf_addstr(&line, "; ask for ");
		advice_add_amount(&line, i, d->suggested);
		add_saving(&line, d, i);
		add_back_test(&line, d, a->tasks > 0);
	}
	sheet_line(sheet, advice_names[i], line.buf);
}

static int print_text(const struct advised *a)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT, line = STRBUF_INIT;
	const struct sheet sheet = {.out = &out, .label = 18, .width = 80};
	size_t directives = 0;
	bool suggested = false;

	strbuf_addf(&line, "%s  %s", joblist_text(&a->r.show.list, a->r.show.list.rows[0].jobid),
		    a->u.state);
	sheet_line(&sheet, "job", line.buf);
	for (size_t i = 0; i < a->r.findings.count && i < 3; i++) {
		const struct finding *f = &a->r.findings.list[i];

		sheet_line(&sheet, finding_ids[f->id].name, f->title);
		if (!f->advice || !*f->advice)
			continue;
		strbuf_reset(&line);
		strbuf_addf(&line, "%s %s", text_is_utf8() ? "→" : "->", f->advice);
		sheet_line(&sheet, "", line.buf);
	}
	for (size_t i = 0; i < ADVICE_ITEMS; i++)
		print_item(&sheet, a, (enum advice_item)i);
	for (size_t i = 0; i < ADVICE_ITEMS; i++)
		suggested |= !isnan(a->item[i].suggested);
	if (suggested && a->u.open_end)
		sheet_line(&sheet, "note", open_end_note);
	for (size_t i = 0; i < ADVICE_ITEMS; i++) {
		if (isnan(a->item[i].suggested))
			continue;
		strbuf_reset(&line);
		job_use_directive(&a->u, (enum advice_item)i, a->item[i].suggested, &line);
		if (!line.len)
			continue;
		/* several -l of OAR would be alternatives */
		const char *oar = str_prefix(line.buf, OAR_RESOURCES)
					  ? line.buf + sizeof(OAR_RESOURCES) - 1
					  : NULL;
		if (!directives++)
			strbuf_addf(&out, "\n%s", line.buf);
		else
			strbuf_addf(&out, "%s%s", oar ? "," : "\n", oar ? oar : line.buf);
	}
	if (directives)
		strbuf_addch(&out, '\n');
	return fputs(out.buf, stdout) < 0 ? -EIO : 0;
}

/* ---- command -------------------------------------------------------------------------------- */

static int show(struct context *ctx, struct store *s, int64_t job)
{
	const struct advise_options *o = ctx->options;
	struct advised a = {0};
	int r = report_load(&a.r, s, job, NULL);

	if (r < 0)
		return r;
	job_use_take(&a.r, &a.u);
	r = load_past(&a, s, job, o);
	if (r == 0) {
		request_advise(&a.u.use, a.past, a.past_count, a.u.asked, a.u.tasks, a.item);
		r = o->json ? print_json(&a) : print_text(&a);
	}
	free(a.past);
	report_release(&a.r);
	return r;
}

static const struct option_row rows[] = {
	{OPT_COUNT, 'n', "limit", "N", "check against at most N earlier runs; default: 20",
	 AT(struct advise_options, limit), RANGE(0, 1000)},
	{OPT_TEXT, 0, "ignore-tags", "KEYS", "tags that earlier runs need not share",
	 AT(struct advise_options, ignore_tags)},
	ROW_JSON(struct advise_options),
	ROWS_STORE,
};

const struct command command_advise = {
	.name = "advise",
	.summary = "suggest what a job should ask for the next time",
	.operands = {"JOB", 0, 1, HELP_LAST_JOB},
	.description =
		"Prints the findings of the report and a changed request: cores, memory, time and "
		"GPUs, each with what was asked for, what was used, the directive for the batch "
		"script and what it saves. Earlier runs with the same fingerprint (see "
		"plimsoll-history(1)) are a back-test: the suggestion covers all of them.\n\n"
		"There is no suggestion from a run that failed, was cut off or still runs, nor for "
		"what was not measured: `plimsoll run --sample 1s` measures the demand for cores and "
		"memory over time.",
	.examples = "  plimsoll advise\n  plimsoll advise 4711 --json\n",
	OPTIONS(defaults, rows),
	.defaults = &defaults,
	.show = show,
};
