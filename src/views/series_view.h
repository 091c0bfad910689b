/* Series of a job on their way out: the list of them, and their values, as sampled, in steps, as
 * rates or summed. */
#pragma once

#include "samples/sample.h"
#include "samples/series_math.h"
#include "store/series.h"
#include "views/processes/process_list.h"

enum series_sum { SERIES_EACH, SERIES_PER_HOST, SERIES_TOTAL };

struct series_options {
	struct series_filter filter;
	enum proc_form form;
	enum series_sum sum;
	bool rate;
	bool each_unsummed; /* metrics without a sum one by one; false: left out */
	int64_t step_us;    /* 0: none */
	bool has_since, has_until;
	int64_t since_us, until_us;
};

/* The list of series with minimum, mean, maximum and increase. */
int series_print_list(const struct series_list *l, enum proc_form form, FILE *f);
/* Their values. Lines about metrics that have no sum go to *notes. */
int series_print_values(const struct series_list *l, struct store *s, int64_t job,
			const struct series_options *o, FILE *f, struct strbuf *notes);

/* The key "metadata" of an entity. It was "facts" in version 0.1: this release writes both. */
void json_entity_metadata(struct json_writer *j, const struct entity *e);
/* The object "values" of a row: integers where the metric has no scale. */
void sample_add_values(struct json_writer *j, const struct sample_set *s, size_t row);

/* ---- series --------------------------------------------------------------------------------- */

/* One series, or the sum of several entities; host NULL: of all hosts. */
struct series_curve {
	const struct series *s; /* of the metric */
	const char *host;
	bool entity;          /* of this entity; false: of all of its kind */
	double scale;         /* from the numbers of the curve to the unit, series_value() */
	bool rate;            /* the values are rates of a counter */
	bool ranges;          /* low and high are meaningful */
	double mean;          /* over the time, before steps were made; of a counter its rate */
	struct points points; /* the receiver may take them and leave them empty */
};

/* Builds what the options ask for and passes it to take, one by one, until take returns other than
 * 0. 0 or a negative errno; lines about metrics without a sum go to *notes. */
int series_curves(const struct series_list *l, struct store *s, int64_t job,
		  const struct series_options *o, int (*take)(void *user, struct series_curve *c),
		  void *user, struct strbuf *notes);
/* "bytes", of a rate "bytes/s"; freed by the caller. */
char *series_curve_unit(const struct series_curve *c);
/* The same for a chart, where CPU usage of any source is a number of CPUs. Changes the scale
 * accordingly. */
char *series_chart_unit(struct series_curve *c);
/* The longest sampling period of several hosts: on this grid they have common times. */
int64_t series_common_period(const struct points *curves, size_t count);
