/* Curves of a job on their way out: which there are, and their values as they are, in steps, as
 * rates or in sum. */
#ifndef PL_VIEWS_SERIES_H
#define PL_VIEWS_SERIES_H

#include "store/series.h"
#include "views/proclist.h"

enum series_sum { SERIES_EACH, SERIES_PER_HOST, SERIES_TOTAL };

struct series_options {
	struct series_filter filter;
	enum proc_form form;
	enum series_sum sum;
	bool rate;
	int64_t step_us; /* 0: none */
	bool has_since, has_until;
	int64_t since_us, until_us;
};

/* The list of series with what they amount to. */
int series_print_list(const struct series_list *l, enum proc_form form, FILE *f);
/* Their values. Lines about metrics that have no sum go to *notes. */
int series_print_values(const struct series_list *l, struct store *s, int64_t job,
			const struct series_options *o, FILE *f, struct strbuf *notes);

#endif
