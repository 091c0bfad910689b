/* Stores a run that is a job, at its end or later, and prints the findings about it. */
#include <unistd.h>

#include "context/stored_job.h"
#include "core/log.h"
#include "core/text/text.h"
#include "report/report.h"
#include "run/run_internal.h"
#include "store/import/import.h"
#include "store/query.h"

bool run_is_talking(const struct running *r)
{
	return !r->o->quiet && !r->ctx->personality->gives_no_hints && r->ctx->verbosity >= 0 &&
	       !(r->o->json && !strcmp(r->o->json, "-"));
}

/* Prints the findings about the job from the store. Silent on failure, since the run itself
 * succeeded. */
static void show_verdict(struct running *r, struct store *s, int64_t job)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	struct report report;

	if (!run_is_talking(r) || report_load(&report, s, job, NULL) < 0)
		return;
	report_text(&report, color_on(stderr), true, &text);
	(void)!write(STDERR_FILENO, text.buf, text.len);
	report_release(&report);
}

/* Running processes are part of the job: stores it when they have ended. */
static void submit_later(struct running *r, uint64_t running)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	bool later = store_when_ended(r->ctx, &r->job);

	if (!run_is_talking(r) && later)
		return;
	strbuf_addf(&text, "  store     %llu %s still running; %s: plimsoll submit ",
		    (unsigned long long)running, plural(running, "process is", "processes are"),
		    later ? "the job is stored when all have ended, or now with"
			  : "store the job when all have ended");
	text_add_shell(&text, r->job.path);
	strbuf_addch(&text, '\n');
	(void)!write(STDERR_FILENO, text.buf, text.len);
}

void run_submit_job(struct running *r, uint64_t running, struct accounting *b)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *meta = NULL;
	_cleanup_store_ struct store *s = NULL;
	const struct import_options how = {.replace = true, .meta = r->meta, .joined = b};
	struct import_result in;

	if (!r->job.layout->run_is_job)
		return;
	if (!r->o->submit && (r->origin != JOB_NONE || job_inherited_dir(r->ctx))) {
		if (!r->o->no_submit && run_is_talking(r) && !getenv("PLIMSOLL_RUN"))
			say_how_to_submit(&r->job, r->origin);
		return;
	}
	if (job_directory_read_meta(&r->job, &meta, NULL, &why) < 0) {
		log_warn("the job is not in the store, its records stay in '%s': %s", r->job.path,
			 why.len ? why.buf : "its metadata was removed");
		return;
	}
	/* a job that a run began has ended with it, even if that could not be written */
	if (!value_get(meta, "started_by_run") && (!value_get(meta, "stop_us") || !r->o->submit))
		return;
	if (running) {
		if (!r->o->no_submit)
			submit_later(r, running);
		return;
	}
	if (r->o->no_submit) {
		if (!run_is_talking(r) || store_open(&s, ":memory:", STORE_WRITE, &why) < 0)
			return;
	} else if (open_store(r->ctx, STORE_WRITE, &s) < 0) {
		log_error(
			"the job is not in the store, its records stay in '%s'; the exit status is that of the command",
			r->job.path);
		return;
	}
	int e = submit_input(r->ctx, &s, r->job.path, &how, &in, &why);
	if (e < 0 && !r->o->no_submit)
		log_error(
			"cannot store the job: %s; its records stay in '%s'; the exit status is that of the command",
			why.buf, r->job.path);
	int64_t job = in.job;
	import_result_release(&in);
	if (e == 0)
		show_verdict(r, s, job);
}
