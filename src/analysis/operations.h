/*
 * Operations: sets of images of a job that have the same tags. Pure functions: the caller adds each
 * image to the operations it belongs to, in any order and in one pass; then the times of each
 * operation are merged into runs, the longest intervals in which one of its images ran.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPERATION_UNKNOWN INT64_MIN

struct interval {
	int64_t start, end; /* us */
};
/* Sorts intervals and merges those that overlap or touch, in place; returns how many are left. */
size_t intervals_merge(struct interval *v, size_t count);
/* The sum of their lengths. */
int64_t intervals_length(const struct interval *v, size_t count);

/* How the duration of an operation is computed from those of its images: their sum, the time in
 * which at least one of them ran, or the time from the first start to the last end. */
enum operation_duration { OPERATION_SUM, OPERATION_UNION, OPERATION_SPAN, OPERATION_DURATIONS };

/* The sum of what is known, within the limits of the type. */
int64_t operation_add(int64_t a, int64_t b);

/* Sum and maximum of a metric; both are OPERATION_UNKNOWN if no image has it. */
struct operation_metric {
	int64_t sum, max;
};

struct operation {
	uint64_t images;
	uint64_t processes;                    /* counted with their last image */
	int64_t duration[OPERATION_DURATIONS]; /* OPERATION_UNKNOWN: no image has times */
	int64_t start, end;                    /* the same */
	const struct interval *runs;           /* sorted; NULL after operation_merge() */
	size_t run_count;
	struct operation_metric *metrics;
	int64_t cpu_ns; /* CPU time that is not in the metrics; OPERATION_UNKNOWN: none */
};
/* Did one of its images run at every moment from its start to its end? */
bool operation_is_contiguous(const struct operation *o);

/* An image as numbers; OPERATION_UNKNOWN for what it does not have. */
struct operation_image {
	int64_t start, duration; /* us */
	bool executes;           /* it ended by executing another program */
	const int64_t *metrics;
};

struct operations {
	struct operation *v;
	size_t count, cap, metric_count;
	struct operation_time *times; /* until operations_finish() */
	size_t time_count, time_cap;
	struct interval *runs;
};
/* metrics: number of metrics of each image. */
void operations_init(struct operations *o, size_t metrics);
void operations_release(struct operations *o);
/* Adds an empty operation; returns its index. */
size_t operations_new(struct operations *o);
/* Adds an image to an operation. Negative durations are unknown. */
void operations_add(struct operations *o, size_t operation, const struct operation_image *image);
/* Adds a time that is not that of an image; it counts for everything but the sum of durations. */
void operations_add_time(struct operations *o, size_t operation, int64_t start, int64_t end);
/* Adds to one metric of an operation, for values that are not with the image. */
void operations_add_metric(struct operations *o, size_t operation, size_t metric, int64_t value);
/* Computes times and runs. Nothing may be added afterwards. */
void operations_finish(struct operations *o);
/* Adds the same operation of another job: everything is summed, the durations too, and the time is
 * from the first start to the last end. */
void operation_merge(struct operation *to, const struct operation *from, size_t metrics);

/* 100 * part / whole; NAN if it is unknown or whole is not positive. */
double operation_share(int64_t part, int64_t whole);
/* Rounds to so many decimals, ties to the even digit of the exact value, as Python's round(). */
double operation_round(double v, int decimals);
