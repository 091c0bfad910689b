/*
 * Sink prometheus: serves the latest values of every job and node over HTTP. Nothing is stored:
 * after a restart the page has what comes from then on.
 */
#include <string.h>

#include "sinks/prometheus/openmetrics.h"
#include "sinks/sink.h"

struct shown {
	struct openmetrics *exposition;
	struct endpoint *endpoint;
};

static int open_prometheus(const struct sink_options *o, void **state, uint64_t *position,
			   struct strbuf *why)
{
	struct shown *s = xcalloc(1, sizeof(*s));

	s->exposition = openmetrics_new(0);
	openmetrics_show_own(s->exposition, o->own);
	int r = http_server_open(&s->endpoint, o->target, s->exposition, why);
	if (r < 0) {
		openmetrics_free(s->exposition);
		free(s);
		return r;
	}
	*position = 0;
	*state = s;
	return 0;
}

/* The last reading of a source in a batch. */
struct last {
	struct sample_row *rows;
	int64_t *values;
	size_t row_count;
	int64_t time_us;
	bool there;
};

static void keep(struct last *l, const struct sample_set *set, int64_t time_us)
{
	l->rows = xreallocarray(l->rows, set->row_count + 1, sizeof(*l->rows));
	l->values = xreallocarray(l->values, set->row_count * set->metric_count + 1,
				  sizeof(*l->values));
	if (set->row_count) {
		memcpy(l->rows, set->rows, set->row_count * sizeof(*l->rows));
		memcpy(l->values, set->values,
		       set->row_count * set->metric_count * sizeof(*l->values));
	}
	l->row_count = set->row_count;
	l->time_us = time_us;
	l->there = true;
}

static void show(struct shown *s, const struct sample_file *f, struct last *list, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct sample_file_source *from = &f->sources[i];
		const struct sample_set set = {.metrics = from->metrics,
					       .metric_count = from->metric_count,
					       .entities = from->entities,
					       .entity_count = from->entity_count,
					       .rows = list[i].rows,
					       .row_count = list[i].row_count,
					       .values = list[i].values};

		if (list[i].there)
			openmetrics_take(s->exposition, f->head.host ? f->head.host : "",
					 from->name, &set, list[i].time_us);
		list[i].there = false;
	}
}

static int add_batch(void *state, uint64_t number PL_UNUSED,
		     const struct batch_name *name PL_UNUSED, struct sample_file *f,
		     struct strbuf *why PL_UNUSED)
{
	struct shown *s = state;
	struct last *list = NULL;
	size_t count = 0;
	int event;

	while ((event = sample_file_next(f)) > 0) {
		if (event == SAMPLE_SOURCE && f->source >= count) {
			list = xreallocarray(list, f->source + 1, sizeof(*list));
			memset(list + count, 0, (f->source + 1 - count) * sizeof(*list));
			count = f->source + 1;
		}
		if (event == SAMPLE_SOURCE)
			list[f->source].there = false;
		if (event == SAMPLE_READING)
			keep(&list[f->source], &f->reading, f->time_us);
	}
	show(s, f, list, count);
	for (size_t i = 0; i < count; i++) {
		free(list[i].rows);
		free(list[i].values);
	}
	free(list);
	return 0;
}

static int commit(void *state PL_UNUSED, uint64_t number PL_UNUSED, struct strbuf *why PL_UNUSED)
{
	return 0;
}

static void close_prometheus(void *state)
{
	struct shown *s = state;

	http_server_close(s->endpoint);
	openmetrics_free(s->exposition);
	free(s);
}

const struct sink sink_prometheus = {
	.name = "prometheus",
	.target = "HOST:PORT",
	.help = "latest values of every job and node, for Prometheus to scrape",
	.open = open_prometheus,
	.batch = add_batch,
	.commit = commit,
	.close = close_prometheus,
};
