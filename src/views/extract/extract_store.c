/*
 * Reads the rows from a store. The series of a job are its rows; metrics of nodes are in one job
 * per day, node:HOST:DATE (docs/delivery.md).
 */
#include <errno.h>
#include <string.h>

#include "store/query.h"
#include "store/series.h"
#include "views/extract/extract.h"

#define US 1000000

/* Adds the values of one metric in one job of the store. If sources share a name, the first is
 * used; processes and devices are not rows of a job. With taken, counts the values and notes the
 * hosts. */
static int take_metric(struct extract *e, struct store *s, int64_t job, size_t metric,
		       const char *kind, size_t *taken)
{
	_cleanup_(series_list_release) struct series_list l = {0};
	const struct series_filter filter = {
		.metrics = {.word = {e->metrics[metric].text}, .count = 1}, .kind = kind};
	int64_t source = -1;
	int r = series_list_load(&l, s, job, &filter);

	for (size_t i = 0; r >= 0 && i < l.count; i++) {
		const struct series *c = &l.list[i];
		_cleanup_(series_points_release) struct series_points p = {0};

		source = source < 0 ? c->metric_no : source;
		if (c->metric_no != source)
			continue;
		r = series_points_load(&p, s, job, c);
		for (size_t k = 0; r >= 0 && k < p.count; k++) {
			int64_t time_s = p.list[k].time / US;
			struct extract_cell cell = {.kind = CELL_INT, .i = p.list[k].raw};

			if (time_s < e->start_s || time_s > e->end_s)
				continue;
			if (c->scale != 1)
				cell = (struct extract_cell){
					.kind = CELL_REAL,
					.d = series_value((double)p.list[k].raw, c->scale)};
			extract_add(e, metric, time_s, c->host, strlen(c->host), cell);
			if (!taken)
				continue;
			extract_note_host(e, c->host, strlen(c->host));
			++*taken;
		}
	}
	return r;
}

/* The daily jobs of nodes: all for job 0, else those of the hosts that the job ran on. */
static int take_nodes(struct extract *e, struct store *s, const bool *wanted)
{
	_cleanup_stmt_ struct stmt *st = stmt_prepare(
		s, "SELECT no, jobid FROM job WHERE jobid LIKE 'node:%' ORDER BY jobid");
	int64_t *days = NULL;
	size_t count = 0, cap = 0;
	int r = st ? 0 : -EIO;

	while (r >= 0 && (r = stmt_step(st)) == 1) {
		const char *host = stmt_get_str(st, 1) + strlen("node:");
		const char *date = strrchr(host, ':');

		if (strcmp(e->job, "0") != 0 &&
		    (!date || !extract_on_host(e, host, (size_t)(date - host))))
			continue;
		GROW(days, count, cap);
		days[count++] = stmt_get_int(st, 0);
	}
	for (size_t i = 0; r >= 0 && i < count; i++)
		for (size_t m = 0; r >= 0 && m < e->metric_count; m++)
			if (wanted[m])
				r = take_metric(e, s, days[i], m, "node", NULL);
	free(days);
	return r;
}

int extract_from_store(struct extract *e, struct store *s, struct strbuf *why)
{
	bool wanted[EXTRACT_METRICS_MAX] = {0}, nodes = false;
	int64_t job = 0;
	int r = 0;

	if (strcmp(e->job, "0") != 0 && job_find(s, e->job, &job, why) < 0)
		return EXTRACT_NO_DATA;
	for (size_t m = 0; r >= 0 && m < e->metric_count; m++) {
		size_t taken = 0;

		if (job)
			r = take_metric(e, s, job, m, "job", &taken);
		/* a job sampled by `monitor` also has metrics of its nodes */
		if (job && r >= 0 && !taken)
			r = take_metric(e, s, job, m, "node", &taken);
		wanted[m] = !taken;
		nodes |= wanted[m];
	}
	if (r >= 0 && nodes)
		r = take_nodes(e, s, wanted);
	if (r < 0)
		strbuf_addstr(why, s->error.len ? store_error(s) : strerror(-r));
	return r < 0 ? EXTRACT_FAILED : 0;
}
