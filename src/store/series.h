/*
 * Reads the series of a job from a store: their list, and their points. The tables are in
 * migrations/002_samples.sql.
 */
#pragma once

#include "core/metrics/metric.h"
#include "store/query.h"

struct series {
	int64_t metric_no, entity_no;
	char *metric, *unit, *help;
	enum metric_kind kind;
	enum metric_agg agg;
	double scale;
	char *host, *entity_kind, *entity, *metadata; /* metadata: JSON, or NULL */
	int64_t count, first, last;                   /* us */
	int64_t begin; /* us; start of the time that the first value of a mean covers, or when a
			* counter was 0; first: unknown */
	double minimum, mean, maximum, increase; /* in the unit; increase of counters only */
};

struct series_list {
	struct series *list; /* sorted by metric, kind of entity, host and entity */
	size_t count, cap;
};
void series_list_release(struct series_list *l);

/* Patterns of * and ?; NULL: all. A metric may be named without its source. */
struct series_filter {
	struct word_list metrics; /* any of them */
	const char *host, *entity, *kind;
};
int series_list_load(struct series_list *l, struct store *s, int64_t job,
		     const struct series_filter *f);

struct series_point {
	int64_t time; /* us */
	int64_t raw;  /* times scale: in the unit */
	int64_t over; /* us that a mean covers; 0: since the previous point */
};

struct series_points {
	struct series_point *list;
	size_t count, cap;
};
void series_points_release(struct series_points *p);
/* Replaces *p by all points of a series, sorted by time. */
int series_points_load(struct series_points *p, struct store *s, int64_t job,
		       const struct series *of);

/* The same for many series, with one prepared statement. */
struct series_reader {
	struct stmt *st;
};
int series_reader_load(struct series_reader *r, struct series_points *p, struct store *s,
		       int64_t job, const struct series *of);
void series_reader_release(struct series_reader *r);

/*
 * May it be added to others of its kind? Not if it is part of another or counted twice: an
 * interface or disk that its source leaves out of the node's sum (lo, a dm device over its disks),
 * or samples of a job that another run also took.
 */
bool series_adds_up(const struct series *s);

/* A raw number in the unit of its metric. */
double series_value(double raw, double scale);
