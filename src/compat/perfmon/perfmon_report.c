/* perfmon's plots and its PDF report, from the samples of all hosts of a job; see perfmon.h. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "cmd/actions.h"
#include "compat/perfmon/perfmon.h"
#include "compat/perfmon/perfmon_plots.h"
#include "context/job_argument.h"
#include "core/files/fs.h"
#include "report/report.h"

static int write_plots(const struct perfmon_charts *charts, const char *dir)
{
	_cleanup_free_ char *plots = xasprintf("%s/plots", dir);
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_close_ int made = fs_open_result_dir(AT_FDCWD, plots);

	if (made < 0) {
		int e = made;
		log_error("no plots: cannot create directory '%s': %s", plots, strerror(-e));
		return e;
	}
	int r = perfmon_charts_write(charts, plots, &why);
	if (r < 0)
		log_error("no plots: %s", why.buf);
	else
		log_info("%d %s in '%s'", r, plural(r, "plot is", "plots are"), plots);
	return r;
}

/* Our figures and tables around perfmon's plots. */
static int write_report(struct store *s, int64_t job, const struct perfmon_charts *charts,
			const char *dir, const char *id)
{
	_cleanup_free_ char *path = xasprintf("%s/job-report-%s.pdf", dir, id);
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct report report;

	int r = report_load(&report, s, job, NULL);
	if (r < 0)
		return fail_with(r, "no report: %s", store_error(s));
	struct plot *plots = xcalloc(charts->count + 1, sizeof(*plots));
	struct plot_page *pages = xcalloc(charts->count + 1, sizeof(*pages));
	r = report_pdf_with(&report, "# Nodes", pages, perfmon_pages(charts, plots, pages), path,
			    &why);
	free(plots);
	free(pages);
	report_release(&report);
	if (r < 0)
		log_error("no report: %s", why.buf);
	else
		log_info("the report is '%s'", path);
	return r;
}

int perfmon_report(struct context *ctx, const char *job_dir, const char *dir, const char *id)
{
	_cleanup_(perfmon_charts_release) struct perfmon_charts charts = {0};
	_cleanup_store_ struct store *s = NULL;
	int64_t job = 0;

	int r = job_argument_open(ctx, job_dir, &s, &job);
	if (r != 0)
		return r < 0 ? r : 0;
	r = perfmon_charts_load(&charts, s, job);
	if (r < 0)
		return fail_with(r, "no plots: %s", store_error(s));
	r = write_plots(&charts, dir);
	if (r >= 0)
		r = write_report(s, job, &charts, dir, id);
	return r < 0 ? r : 0;
}
