/* Shared by the files that write the page. */
#pragma once

#include "report/report.h"

/* The executables with the most CPU time have colours of their own, all others share the next. */
#define PAGE_COLORS 8

struct page {
	const struct report *r;
	struct strbuf out;
	int64_t begin, end; /* us, of all time axes; equal: no time is known */
	uint8_t *colors;    /* by number in report.names */
	bool own_names;     /* names of values are ours: "memory_bytes" is shown as "memory" */
};

/* Unknown numbers are a dash. */
void page_number(struct page *p, void (*add)(struct strbuf *, int64_t, bool), int64_t v);
void page_real(struct page *p, const char *unit, double v);
/* A paragraph that says why a section is empty. */
void page_note(struct page *p, const char *sentence);

/* Each adds the content of a section, or nothing. */
typedef void page_section(struct page *p);
page_section page_verdict, page_core_time, page_figures, page_accounting, page_energy,
	page_unmeasured, page_about;
page_section page_hardware, page_metadata; /* report_html_values.c */
page_section page_operations, page_executables, page_hosts, page_ranks;
page_section page_series, page_gpu, page_concurrency, page_flame, page_gantt, page_phases;

/* Has the chart of a series so few lines that their extremes are drawn, too? */
bool page_has_bands(const struct report *r, size_t series);

/* The phases that divide the job, behind a chart of this size. */
void page_phase_bands(struct page *p, int width, int height);

/* ---- report_html_chart.c -------------------------------------------------------------------- */
/* Where a time is on the axis, from 0 to 1. */
double page_place(const struct page *p, int64_t time);

#define PAGE_BARS_WIDTH 4000   /* of the box that is stretched to its place; a lane is 10 high */
#define PAGE_BARS_LABELLED 200 /* bars with text */
struct page_bar {
	int64_t start, end; /* us */
	uint32_t lane;
	const char *name;
	int64_t count; /* of what it stands for */
};
/* A bar in the path of its colour, which the first one begins and the caller ends. */
void page_bar(struct page *p, const struct page_bar *b, unsigned color, bool first);
/* Its name and count, in lanes of so many pixels; false: it is too narrow. */
bool page_bar_label(struct page *p, const struct page_bar *b, unsigned height);
/* Labels of the time axis below a chart, at most so many. */
void page_time_labels(struct page *p, int most);
/* Offsets of local time from UTC over the axis: "seconds[,us of the change,seconds]". */
void page_zone(struct page *p);
