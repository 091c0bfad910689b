/* Parts of the page that report_html() writes; each adds a section's content, or nothing. */
#ifndef PL_REPORT_HTML_REPORT_HTML_H
#define PL_REPORT_HTML_REPORT_HTML_H

#include "report/report.h"

/* Executables that have a colour of their own, those with the most CPU time; all others share the
 * next number. */
#define PAGE_COLORS 8

struct page {
	const struct report *r;
	struct strbuf out;
	int64_t begin, end; /* us; what all time axes show; equal: there is no time */
	uint8_t *colors;    /* by number in report.names */
	bool own_names;     /* names of values are ours, and written for people */
};

/* Numbers that are not known are a dash. */
void page_us(struct page *p, int64_t us);
void page_kib(struct page *p, int64_t kib);
void page_bytes(struct page *p, int64_t bytes);
void page_count(struct page *p, int64_t v);
void page_real(struct page *p, const char *unit, double v);
/* A paragraph that says why there is nothing. */
void page_note(struct page *p, const char *sentence);

/* ---- report_html_text.c --------------------------------------------------------------------- */
void page_verdict(struct page *p);
void page_figures(struct page *p);
void page_accounting(struct page *p);
void page_energy(struct page *p);
void page_unmeasured(struct page *p);
void page_about(struct page *p);

/* ---- report_html_values.c ------------------------------------------------------------------- */
void page_hardware(struct page *p);
void page_metadata(struct page *p);

/* ---- report_html_tables.c ------------------------------------------------------------------- */
void page_operations(struct page *p);
void page_executables(struct page *p);
void page_hosts(struct page *p);
void page_ranks(struct page *p);

/* ---- report_html_series.c ------------------------------------------------------------------- */
void page_curves(struct page *p);
void page_gpu(struct page *p);
void page_concurrency(struct page *p);
/* Whether the chart of a curve has so few lines that their extremes are drawn, too. */
bool page_has_bands(const struct report *r, size_t curve);

/* ---- report_html_axis.c --------------------------------------------------------------------- */
/* Where a time is on the axis, from 0 to 1. */
double page_place(const struct page *p, int64_t time);
/* Labels of the time axis below a chart, at most so many, and its grid as a path in a box of 1000
 * by height. */
void page_time_labels(struct page *p, int most);
void page_time_grid(struct page *p, int most, int height);
/* Offsets of local time from UTC over the axis: "seconds[,us of the change,seconds]". */
void page_zone(struct page *p);

/* ---- report_html_tree.c --------------------------------------------------------------------- */
void page_flame(struct page *p);
/* ---- report_html_gantt.c -------------------------------------------------------------------- */
void page_gantt(struct page *p);

#endif
