/*
 * Reads the images of a job in one pass, in the order in which they are stored. Texts stay numbers
 * of the job's strings, which image_reader_text() translates; two numbers may have the same text.
 */
#pragma once

#include "core/metrics/metric.h"
#include "store/store.h"

/* In place of a number that an image does not have. */
#define IMAGE_UNKNOWN INT64_MIN
#define IMAGE_METRICS_MAX 64

struct stored_image {
	uint32_t number;         /* in the job, from 1 */
	uint32_t tags, exename;  /* numbers of strings; 0: none */
	int64_t pid;             /* the following: IMAGE_UNKNOWN if they are */
	int64_t start, duration; /* us */
	uint32_t parent;         /* number of the image that started it; 0: none, or not read */
	uint32_t descendants;    /* 0 unless read */
	bool executes;           /* it ended by executing another program */
	int64_t metrics[IMAGE_METRICS_MAX];
};

struct image_reader {
	struct store *store;
	int64_t job;
	struct stmt *rows, *strings;
	size_t metric_count;
	int column[IMAGE_METRICS_MAX]; /* of each metric in the statement; 0: not read */
	bool tree;
	int tree_column;
	struct stored_image image; /* the current one */
};

/* ids: columns of the table process. want: which of them to read, NULL: all; others are unknown.
 * tree: also parent and descendants. */
int image_reader_open(struct image_reader *r, struct store *s, int64_t job,
		      const enum metric_id *ids, size_t count, const bool *want, bool tree);
/* 1: an image, 0: no more, or a negative errno. */
int image_reader_next(struct image_reader *r);
/* The text of a string of the job; NULL without a message if there is none. Valid until the next
 * call. */
const char *image_reader_text(struct image_reader *r, uint32_t number, size_t *ret_size);
void image_reader_close(struct image_reader *r);
#define _cleanup_image_reader_ _cleanup_(image_reader_close)
