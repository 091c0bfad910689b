/* Which charts a report has; see report_charts.h. */
#include "report/report_charts.h"

#include <math.h>
#include <string.h>

const struct report_panel report_panels[REPORT_PANELS] = {
	{"cpu", "CPU", NULL},
	{"memory", "Memory", NULL},
	{"io", "Input and output", "No input and no output."},
	{"network", "Network", "No network traffic."},
	{"interconnect", "Interconnect", "No traffic over the interconnect."},
	{"power", "Power and temperature", NULL},
	{"gpu", "GPUs", NULL},
	{"pressure", "Pressure: time lost by waiting", "No time was lost by waiting."},
	{"counters", "Event counters", NULL},
	{"other", "Other", NULL},
};

static const struct report_panel *panel_named(const char *name)
{
	for (size_t i = 0; i < REPORT_PANELS; i++)
		if (str_same(report_panels[i].name, name))
			return &report_panels[i];
	return &report_panels[REPORT_PANELS - 1];
}

bool report_in_panel(const struct report_series *c, const struct report_panel *panel)
{
	return panel_named(c->panel) == panel;
}

/* Did the job compute on GPUs? */
static bool used_gpus(const struct report *r)
{
	for (size_t i = 0; i < r->series_count; i++)
		if (str_suffix(r->series[i].metric, ".utilization_gpu") &&
		    (isnan(r->series[i].mean) ? r->series[i].maximum : r->series[i].mean) / 100 >=
			    finding_limits[LIMIT_GPU_IDLE].value)
			return true;
	return false;
}

const struct report_panel *report_leading_panel(const struct report *r)
{
	switch (r->findings.count ? r->findings.list[0].id : FINDING_COMPUTE) {
	case FINDING_MEMORY_LIMIT:
	case FINDING_MEMORY_GROWTH:
	case FINDING_PAGE_FAULTS:
	case FINDING_OOM:
		return panel_named("memory");
	case FINDING_STORAGE_READ:
	case FINDING_STORAGE_WRITE:
	case FINDING_MAJOR_FAULTS:
	case FINDING_SMALL_IO:
		return panel_named("io");
	case FINDING_NETWORK_BANDWIDTH:
	case FINDING_WAIT_NETWORK:
		return panel_named("network");
	case FINDING_GPU_IDLE:
	case FINDING_GPU_BOUND:
		return panel_named("gpu");
	default:
		return panel_named(used_gpus(r) ? "gpu" : "cpu");
	}
}

/* A job on one host has each series twice: of all hosts, and of the host. */
bool report_single_host(const struct report *r)
{
	const char *host = NULL;

	for (size_t i = 0; i < r->series_count; i++) {
		const char *h = r->series[i].host;

		if (h && host && strcmp(h, host) != 0)
			return false;
		host = h ? h : host;
	}
	return true;
}

bool report_same_chart(const struct report_series *a, const struct report_series *b)
{
	return str_same(a->metric, b->metric) && str_same(a->unit, b->unit) && !a->host == !b->host;
}

/* The only host or device of its metric, behind the series of all. */
static bool is_alone(const struct report *r, size_t i)
{
	const struct report_series *c = &r->series[i];

	return c->host && i > 0 && !c[-1].host && str_same(c->metric, c[-1].metric) &&
	       (i + 1 == r->series_count || !str_same(c->metric, c[1].metric));
}

static bool shown(const struct report *r, size_t i, bool single)
{
	if (single && is_alone(r, i))
		return false;
	/* the only host repeats the series of all hosts */
	return !(single && r->series[i].host && i > 0 && !r->series[i - 1].host &&
		 str_same(r->series[i].metric, r->series[i - 1].metric) &&
		 str_same(r->series[i].entity, r->series[i - 1].entity));
}

bool report_series_is_zero(const struct report_series *c)
{
	for (size_t i = 0; i < c->points.count; i++)
		if (c->points.points[i].low != 0 || c->points.points[i].high != 0)
			return false;
	return true;
}

size_t report_series_whole(const struct report *r, size_t series)
{
	size_t first = series;

	while (first > 0 && str_same(r->series[first - 1].metric, r->series[series].metric))
		first--;
	return r->series[first].host ? series : first;
}

/* One or two samples, or only zeros, need no chart; hosts follow the whole job. */
bool report_chart_says_little(const struct report *r, size_t chart)
{
	size_t first = report_series_whole(r, chart);

	for (size_t i = first;
	     i < r->series_count && report_same_chart(&r->series[first], &r->series[i]); i++)
		if (r->series[i].points.count > 2 && !report_series_is_zero(&r->series[i]))
			return false;
	return true;
}

size_t report_charts_of(const struct report *r, const struct report_panel *panel, size_t *ret)
{
	bool single = report_single_host(r);
	size_t count = 0;

	for (int little = 0; little < 2; little++) {
		for (size_t i = 0; i < r->series_count;) {
			size_t first = i;

			if (!report_in_panel(&r->series[i], panel) || !shown(r, i, single)) {
				i++;
				continue;
			}
			while (i < r->series_count &&
			       report_same_chart(&r->series[first], &r->series[i]))
				i++;
			if (!report_series_repeats(r, report_series_whole(r, first)) &&
			    report_chart_says_little(r, first) == (little == 1))
				ret[count++] = first;
		}
	}
	return count;
}

void report_concurrency(const struct timeline *t, bool threads, int64_t begin, int64_t end,
			int64_t steps, struct points *ret)
{
	const struct timeline_step *last = &t->steps[t->count - 1];
	int64_t step = (end - begin + steps - 1) / steps, level = 0;
	size_t next = 0;

	/* it ends with the last process and does not fall to 0 */
	end = !last->processes && last->time < end ? last->time : end;
	for (int64_t from = begin, to; from < end; from = to) {
		int64_t at = from, low = level, high = level;
		double area = 0;

		to = from + step < end ? from + step : end;
		for (; next < t->count && t->steps[next].time < to; next++) {
			const struct timeline_step *s = &t->steps[next];

			if (s->time > at) {
				area += (double)level * (double)(s->time - at);
				at = s->time;
			}
			level = threads ? s->threads : s->processes;
			/* what starts with the step was not there before */
			low = level < low || at == from ? level : low;
			high = level > high || at == from ? level : high;
		}
		area += (double)level * (double)(to - at);
		points_add(ret, from, area / (double)(to - from), (double)low, (double)high);
	}
}
