/* Parts of the JSON that report_json() writes; see report.h. */
#ifndef PL_REPORT_REPORT_JSON_H
#define PL_REPORT_REPORT_JSON_H

#include "report/report.h"

/* Whether the extremes of a curve's steps are written; NULL for all. */
typedef bool report_extremes(const struct report *r, size_t curve);

/* As report_json(), with the extremes of some curves only. */
void report_json_some(const struct report *r, struct jsonw *j, report_extremes *extremes);

/* A number with all its digits; null where it is not finite. */
void report_json_figure(struct jsonw *j, const char *key, double v);
/* A time as an element of an array, counted from origin; those of damaged records may be anything.
 */
void report_json_time(struct jsonw *j, int64_t time, int64_t origin);
/* "times", "curves_left_out" and "curves"; times are counted from origin. */
void report_json_curves(const struct report *r, struct jsonw *j, int64_t origin,
			report_extremes *extremes);

#endif
