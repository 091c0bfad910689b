/* The choice of charts; see report_charts.h. */
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

bool report_in_panel(const struct report_curve *c, const struct report_panel *panel)
{
	return panel_named(c->panel) == panel;
}

/* Did the job compute on GPUs? */
static bool used_gpus(const struct report *r)
{
	for (size_t i = 0; i < r->curve_count; i++)
		if (str_suffix(r->curves[i].metric, ".utilization_gpu") &&
		    (isnan(r->curves[i].mean) ? r->curves[i].maximum : r->curves[i].mean) / 100 >=
			    finding_limits[LIMIT_GPU_IDLE].value)
			return true;
	return false;
}

const struct report_panel *report_leading_panel(const struct report *r)
{
	switch (r->findings.count ? r->findings.list[0].kind : FINDING_CPU) {
	case FINDING_MEMORY:
	case FINDING_OOM:
		return panel_named("memory");
	case FINDING_IO:
		return panel_named("io");
	case FINDING_NETWORK:
		return panel_named("network");
	case FINDING_GPU:
		return panel_named("gpu");
	default:
		return panel_named(used_gpus(r) ? "gpu" : "cpu");
	}
}

/* A job on one host has each curve twice: of all hosts, and of the host. */
bool report_single_host(const struct report *r)
{
	const char *host = NULL;

	for (size_t i = 0; i < r->curve_count; i++) {
		const char *h = r->curves[i].host;

		if (h && host && strcmp(h, host) != 0)
			return false;
		host = h ? h : host;
	}
	return true;
}

bool report_same_chart(const struct report_curve *a, const struct report_curve *b)
{
	return str_same(a->metric, b->metric) && str_same(a->unit, b->unit) && !a->host == !b->host;
}

/* The only host or device of its metric, behind the curve of all. */
static bool is_alone(const struct report *r, size_t i)
{
	const struct report_curve *c = &r->curves[i];

	return c->host && i > 0 && !c[-1].host && str_same(c->metric, c[-1].metric) &&
	       (i + 1 == r->curve_count || !str_same(c->metric, c[1].metric));
}

static bool shown(const struct report *r, size_t i, bool single)
{
	if (single && is_alone(r, i))
		return false;
	/* what is there for all hosts need not be there for the only one again */
	return !(single && r->curves[i].host && i > 0 && !r->curves[i - 1].host &&
		 str_same(r->curves[i].metric, r->curves[i - 1].metric) &&
		 str_same(r->curves[i].entity, r->curves[i - 1].entity));
}

bool report_curve_is_zero(const struct report_curve *c)
{
	for (size_t i = 0; i < c->points.count; i++)
		if (c->points.points[i].low != 0 || c->points.points[i].high != 0)
			return false;
	return true;
}

size_t report_curve_whole(const struct report *r, size_t curve)
{
	size_t first = curve;

	while (first > 0 && str_same(r->curves[first - 1].metric, r->curves[curve].metric))
		first--;
	return r->curves[first].host ? curve : first;
}

/* One sample or two, or nothing but zeros, is a figure and no chart; hosts are as all of them. */
bool report_chart_says_little(const struct report *r, size_t chart)
{
	size_t first = report_curve_whole(r, chart);

	for (size_t i = first;
	     i < r->curve_count && report_same_chart(&r->curves[first], &r->curves[i]); i++)
		if (r->curves[i].points.count > 2 && !report_curve_is_zero(&r->curves[i]))
			return false;
	return true;
}

size_t report_charts_of(const struct report *r, const struct report_panel *panel, size_t *ret)
{
	bool single = report_single_host(r);
	size_t count = 0;

	for (int little = 0; little < 2; little++) {
		for (size_t i = 0; i < r->curve_count;) {
			size_t first = i;

			if (!report_in_panel(&r->curves[i], panel) || !shown(r, i, single)) {
				i++;
				continue;
			}
			while (i < r->curve_count &&
			       report_same_chart(&r->curves[first], &r->curves[i]))
				i++;
			if (!report_curve_repeats(r, report_curve_whole(r, first)) &&
			    report_chart_says_little(r, first) == (little == 1))
				ret[count++] = first;
		}
	}
	return count;
}
