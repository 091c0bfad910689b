/* Core time in the PDF: what the stacked time line shows. */
#include <stdlib.h>

#include "core/text/text.h"
#include "report/report_pdf.h"

#define COLUMNS 240
#define SHOWN 0.0005 /* of the whole: smaller parts are not seen */

void pdf_core_time_release(struct pdf_core_time *t)
{
	for (size_t i = 0; i < t->stack.part_count; i++) {
		free((char *)t->parts[i].label);
		free((char *)t->parts[i].amount);
		free((char *)t->parts[i].share);
	}
	free(t->shares);
	free(t->note);
	*t = (struct pdf_core_time){0};
}

static char *note_of(const struct where *w)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	strbuf_addf(&out, "%.4g %s \303\227 ", w->cores, w->cores == 1 ? "core" : "cores");
	text_add_duration(&out, w->seconds);
	strbuf_addstr(&out, " from left to right; each part is a share of the cores at that time.");
	if (!w->sampled)
		strbuf_addstr(&out, " By records alone: the time of each program is spread over "
				    "its life.");
	else if (!w->looked)
		strbuf_addstr(&out, " What threads waited for was not sampled.");
	return strbuf_take(&out);
}

static struct plot_part part_of(size_t part, double seconds, double total)
{
	_cleanup_strbuf_ struct strbuf amount = STRBUF_INIT;
	char *label = xstrdup(core_parts[part].words);

	if (*label >= 'a' && *label <= 'z')
		*label = (char)(*label - 'a' + 'A');
	text_add_duration(&amount, seconds);
	return (struct plot_part){
		.label = label,
		.amount = strbuf_take(&amount),
		.share = xasprintf("%.1f %%", 100 * seconds / total),
		.color = (unsigned)strtoul(where_color((enum core_part)part) + 1, NULL, 16),
	};
}

bool report_pdf_core_time(const struct report *r, struct pdf_core_time *ret)
{
	const struct where *w = &r->where;
	double total = core_time_total(&w->total);
	_cleanup_free_ struct core_time *columns = NULL;
	size_t shown[CORE_PARTS], count = 0;

	*ret = (struct pdf_core_time){0};
	if (!w->host_count || !(total > 0))
		return false;
	size_t n = where_columns(w, COLUMNS, &columns);
	if (!n)
		return false;
	for (size_t i = 0; i < CORE_PARTS; i++)
		if (w->total.part[i] > SHOWN * total) {
			ret->parts[count] = part_of(i, w->total.part[i], total);
			shown[count++] = i;
		}
	ret->shares = xcalloc(n * (count + 1), sizeof(*ret->shares));
	for (size_t i = 0; i < n; i++) {
		double all = core_time_total(&columns[i]);

		for (size_t k = 0; k < count && all > 0; k++)
			ret->shares[i * count + k] = columns[i].part[shown[k]] / all;
	}
	ret->note = note_of(w);
	ret->stack = (struct plot_stack){.note = ret->note,
					 .parts = ret->parts,
					 .part_count = count,
					 .shares = ret->shares,
					 .columns = n};
	return true;
}
