/*
 * The series of a job in a store: which there are, and their points. The tables are those of
 * migrations/002_samples.sql.
 */
#ifndef PL_STORE_SERIES_H
#define PL_STORE_SERIES_H

#include "core/metrics/metric.h"
#include "store/query.h"

struct series {
	int64_t metric_no, entity_no;
	char *metric, *unit, *help;
	enum metric_kind kind;
	enum metric_agg agg;
	double scale;
	char *host, *entity_kind, *entity, *facts; /* facts: JSON, NULL when there are none */
	int64_t count, first, last;                /* us */
	int64_t begin; /* us; of the time that the first value of a mean is over, or when a counter
			* was 0; first: not known */
	double minimum, mean, maximum, increase; /* in the unit; increase of counters only */
};

struct series_list {
	struct series *list; /* by metric, kind of entity, host and entity */
	size_t count, cap;
};
void series_list_release(struct series_list *l);

/* Patterns of * and ?; NULL: all. A metric may be named without its source. */
struct series_filter {
	struct words metrics; /* any of them */
	const char *host, *entity, *kind;
};
int series_list_load(struct series_list *l, struct store *s, int64_t job,
		     const struct series_filter *f);

struct series_point {
	int64_t time; /* us */
	int64_t raw;  /* times scale: in the unit */
	int64_t over; /* us that a mean is over; 0: since the point before */
};

struct series_points {
	struct series_point *list;
	size_t count, cap;
};
void series_points_release(struct series_points *p);
/* All points of a series in the order of their times, in place of those in *p. */
int series_points_load(struct series_points *p, struct store *s, int64_t job,
		       const struct series *of);

/* The same for many series, with one statement. */
struct series_reader {
	struct stmt *st;
};
int series_reader_load(struct series_reader *r, struct series_points *p, struct store *s,
		       int64_t job, const struct series *of);
void series_reader_release(struct series_reader *r);

/*
 * May it be added to others of its kind? Not what is part of another or is seen twice: an interface
 * or disk that its source leaves out of the node's sum (lo, a dm device over its disks), samples of
 * a job that another run took, too.
 */
bool series_adds_up(const struct series *s);

/* A raw number in the unit of its metric. */
double series_value(double raw, double scale);

#endif
