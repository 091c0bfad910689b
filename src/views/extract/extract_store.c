/*
 * Rows of a store. The curves of a job are its own rows; what nodes have is kept a day at a time,
 * in jobs that are called node:HOST:DATE (docs/delivery.md).
 */
#include <errno.h>
#include <string.h>

#include "cmd/actions.h"
#include "cmd/show/extract.h"
#include "store/series.h"

#define US 1000000

/* The values of one metric in one job of the store. Where sources share a name, the first counts;
 * processes and devices are no rows of a job. taken: how many, and hosts are noted; may be NULL. */
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

/* The days of nodes: all for job 0, else of the hosts that the job was on. */
static int take_nodes(struct extract *e, struct store *s, const bool *wanted)
{
	_cleanup_stmt_ struct stmt *st = stmt_prepare(
		s, "SELECT no, jobid FROM job WHERE jobid LIKE 'node:%' ORDER BY jobid");
	struct {
		int64_t no;
	} *days = NULL;
	size_t count = 0, cap = 0;
	int r = st ? 0 : -EIO;

	while (r >= 0 && (r = stmt_step(st)) == 1) {
		const char *host = stmt_get_str(st, 1) + strlen("node:");
		const char *date = strrchr(host, ':');

		if (strcmp(e->job, "0") != 0 &&
		    (!date || !extract_on_host(e, host, (size_t)(date - host))))
			continue;
		GROW(days, count, cap);
		days[count++].no = stmt_get_int(st, 0);
	}
	for (size_t i = 0; r >= 0 && i < count; i++)
		for (size_t m = 0; r >= 0 && m < e->metric_count; m++)
			if (wanted[m])
				r = take_metric(e, s, days[i].no, m, "node", NULL);
	free(days);
	return r;
}

int extract_from_store(struct extract *e, struct context *ctx)
{
	_cleanup_store_ struct store *s = NULL;
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	bool wanted[EXTRACT_METRICS_MAX] = {0}, nodes = false;
	int64_t job = 0;
	int r = open_store(ctx, STORE_READ, &s);

	if (r < 0)
		return EXTRACT_FAILED;
	if (strcmp(e->job, "0") != 0 && job_find(s, e->job, &job, &why) < 0) {
		log_error("%s", why.buf);
		return EXTRACT_NO_DATA;
	}
	for (size_t m = 0; r >= 0 && m < e->metric_count; m++) {
		size_t taken = 0;

		if (job)
			r = take_metric(e, s, job, m, "job", &taken);
		/* a job that was monitored by itself has the nodes that it was on, too */
		if (job && r >= 0 && !taken)
			r = take_metric(e, s, job, m, "node", &taken);
		wanted[m] = !taken;
		nodes |= wanted[m];
	}
	if (r >= 0 && nodes)
		r = take_nodes(e, s, wanted);
	if (r < 0) {
		log_error("%s", s->error.len ? store_error(s) : strerror(-r));
		return EXTRACT_FAILED;
	}
	return 0;
}
