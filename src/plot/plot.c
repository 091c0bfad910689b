/* Charts as files, drawn by the module "draw"; see plot.h. */
#include "plot/plot.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <strings.h>

#include "core/files/fs.h"
#include "core/module.h"

int plot_write(const char *path, const struct strbuf *data, struct strbuf *why)
{
	int r = fs_put_file(path, data->buf, data->len);

	if (r < 0)
		strbuf_addf(why, "cannot write '%s': %s", path, strerror(-r));
	return r;
}

static const struct draw_functions *load(struct strbuf *why)
{
	const struct module *m = module_load("draw", why);

	return m ? m->functions : NULL;
}

int plot_pictures(const struct plot *plots, size_t count, enum plot_form form, int width,
		  int height, const char *path, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	const struct draw_functions *draw = load(why);

	if (!draw)
		return -ENOTSUP;
	int r = draw->picture(plots, count, form, width, height, &out, why);
	return r < 0 ? r : plot_write(path, &out, why);
}

int plot_pages(const struct plot_page *pages, size_t count, const char *header, const char *foot,
	       const char *front, struct strbuf *out, struct strbuf *why)
{
	const struct draw_functions *draw = load(why);

	return draw ? draw->pages(pages, count, header, foot, front, out, why) : -ENOTSUP;
}

bool plot_form_of(const char *path, enum plot_form *ret)
{
	static const struct {
		const char *end;
		enum plot_form form;
	} ends[] = {{".svg", PLOT_SVG}, {".png", PLOT_PNG}, {".pdf", PLOT_PDF}};
	size_t n = strlen(path);

	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (n > 4 && !strcasecmp(path + n - 4, ends[i].end)) {
			*ret = ends[i].form;
			return true;
		}
	return false;
}

/* ---- figures -------------------------------------------------------------------------------- */

void plot_line_figures(const struct plot_line *l, double *ret_mean, double *ret_maximum)
{
	double sum = 0, maximum = -INFINITY;
	size_t n = 0;

	for (size_t i = 0; i < l->points.count; i++) {
		const struct point *p = &l->points.points[i];

		if (!isfinite(p->value))
			continue;
		sum += p->value;
		maximum = p->high > maximum ? p->high : p->value > maximum ? p->value : maximum;
		n++;
	}
	*ret_mean = l->has_mean ? l->mean : n ? sum / (double)n : NAN;
	*ret_maximum = n ? maximum : NAN;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

#define EXAMINED 4096 /* points are enough */

bool plot_log_helps(const struct plot *p)
{
	/* used bytes are compared with a capacity; rates are "bytes/s" */
	static const char *const never[] = {"%", "CPUs", "ratio", "degC", "Hz",
					    "V", "A",    "rpm",   "bytes"};
	size_t all = 0, n = 0, seen = 0;
	double maximum = 0;

	for (size_t i = 0; i < ARRAY_SIZE(never); i++)
		if (p->unit && !strcmp(p->unit, never[i]))
			return false;
	for (size_t i = 0; i < p->line_count; i++)
		all += p->lines[i].points.count;
	size_t every = all / EXAMINED + 1;
	_cleanup_free_ double *values = xcalloc(all / every + 1, sizeof(*values));
	for (size_t i = 0; i < p->line_count; i++)
		for (size_t k = 0; k < p->lines[i].points.count; k++) {
			double v = p->lines[i].points.points[k].value;

			if (isfinite(v) && v > maximum)
				maximum = v;
			if (seen++ % every == 0 && isfinite(v) && v > 0)
				values[n++] = v;
			/* below 0 there is no logarithm */
			if (v < 0)
				return false;
		}
	if (n < 2)
		return false;
	qsort(values, n, sizeof(*values), by_value);
	return maximum / values[n / 10] > 1000;
}

bool plot_has_positive(const struct plot *p)
{
	for (size_t i = 0; i < p->line_count; i++)
		for (size_t k = 0; k < p->lines[i].points.count; k++)
			if (p->lines[i].points.points[k].value > 0)
				return true;
	return false;
}
