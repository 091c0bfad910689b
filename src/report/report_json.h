/* Parts of the JSON that report_json() writes; see report.h. */
#pragma once

#include "report/report.h"

/* Are the extremes of a series written? NULL: of all, and the older names of keys, too. */
typedef bool report_extremes(const struct report *r, size_t series);

/* For the page: without the extremes of some series, and without older names. */
void report_json_some(const struct report *r, struct json_writer *j, report_extremes *extremes);

/* A number with all its digits; null where it is not finite. */
void report_json_figure(struct json_writer *j, const char *key, double v);
/* The findings, as the list "findings". */
void report_json_findings(const struct report *r, struct json_writer *j);
/* The steps of the job, as the list "steps". */
void report_json_steps(const struct report *r, struct json_writer *j);
/* A time as an element of an array, counted from origin; those of damaged records may be anything.
 */
void report_json_time(struct json_writer *j, int64_t time, int64_t origin);
/* "times", "series_left_out" and "series"; times are counted from origin. Returns where the array
 * "series" begins in the output. */
size_t report_json_series(const struct report *r, struct json_writer *j, int64_t origin,
			  report_extremes *extremes);
/* "phases", if the job has some. */
void report_json_phases(const struct report *r, struct json_writer *j, int64_t origin);
