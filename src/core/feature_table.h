/*
 * Rows of numbers with named columns, the features: what the analysis of jobs, operations,
 * processes and threads works on. An unknown value is NAN.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FEATURE_NONE SIZE_MAX

struct feature_column {
	char *name;
	double *v; /* one per row */
};

struct feature_row {
	int64_t id;   /* of whatever the row is about, as its loader says */
	int64_t part; /* of it, such as a thread of a process */
	size_t group; /* rows of one group are compared with each other */
};

struct feature_table {
	struct feature_column *columns;
	size_t column_count, column_cap;
	struct feature_row *rows;
	size_t row_count, row_cap;
};
void feature_table_release(struct feature_table *t);
#define _cleanup_features_ _cleanup_(feature_table_release)

/* The number of a column, which is added if there is none. */
size_t feature_table_column(struct feature_table *t, const char *name);
/* The same; FEATURE_NONE: there is none. */
size_t feature_table_find(const struct feature_table *t, const char *name);
/* Adds a row without values; returns its number. */
size_t feature_table_row(struct feature_table *t, int64_t id, size_t group);
/* The first row whose value is unknown; FEATURE_NONE: all are known. */
size_t feature_table_gap(const struct feature_table *t, size_t column);
/* Is any value known? */
bool feature_table_known(const struct feature_table *t, size_t column);
/* Keeps only columns with keep[i], in the order of their names. */
void feature_table_keep(struct feature_table *t, const bool *keep);
/* Sorts rows by group, then by id. */
void feature_table_sort(struct feature_table *t);
