/* The newest values of a node for Prometheus: a sample output that serves them over HTTP. */
#include <string.h>

#include "core/clock.h"
#include "node/node_internal.h"
#include "sinks/prometheus/openmetrics.h"

struct shown {
	char *node;
	struct openmetrics *metrics;
	struct endpoint *endpoint;
	char **sources;
	size_t source_count, source_cap;
	int64_t offset_ns; /* wall clock less boot time */
};

static unsigned add_source(void *user, const char *name, unsigned every, struct sample_set *set)
{
	struct shown *s = user;

	(void)every;
	(void)set;
	GROW(s->sources, s->source_count, s->source_cap);
	s->sources[s->source_count] = xstrdup(name);
	return (unsigned)s->source_count++;
}

static void add_reading(void *user, unsigned source, struct sample_set *set)
{
	struct shown *s = user;

	openmetrics_take(s->metrics, s->node, s->sources[source], set,
			 ((int64_t)set->time_ns + s->offset_ns) / 1000);
}

static void add_clock(void *user, uint64_t boottime_ns, int64_t realtime_ns)
{
	struct shown *s = user;

	s->offset_ns = realtime_ns - (int64_t)boottime_ns;
}

static int flush(void *user, bool sync)
{
	(void)user;
	(void)sync;
	return 0;
}

static int restart(void *user, const struct sample_file_head *head)
{
	struct shown *s = user;

	(void)head;
	for (size_t i = 0; i < s->source_count; i++)
		free(s->sources[i]);
	s->source_count = 0;
	return 0;
}

static int end(void *user, const char *reason)
{
	struct shown *s = user;

	(void)reason;
	(void)restart(s, NULL);
	http_server_close(s->endpoint);
	openmetrics_free(s->metrics);
	free(s->sources);
	free(s->node);
	free(s);
	return 0;
}

int node_open_prometheus(const struct node *n, struct sample_output *ret, struct strbuf *why)
{
	struct shown *s = xcalloc(1, sizeof(*s));

	s->metrics = openmetrics_new(0);
	s->node = xstrdup(n->settings.name);
	s->offset_ns = clock_realtime_us() * 1000 - (int64_t)clock_boottime_ns();
	int r = http_server_open(&s->endpoint, n->settings.prometheus, s->metrics, why);
	if (r < 0) {
		(void)end(s, NULL);
		return r;
	}
	*ret = (struct sample_output){.source = add_source,
				      .add = add_reading,
				      .clock = add_clock,
				      .flush = flush,
				      .restart = restart,
				      .end = end,
				      .user = s};
	return 0;
}
