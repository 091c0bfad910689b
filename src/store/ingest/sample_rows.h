/*
 * Rows of the sample tables (migrations/002_samples.sql), as sample_ingest.c and the stream from
 * collectors write them.
 */
#pragma once

#include "core/text/json_writer.h"
#include "samples/sample.h"
#include "samples/time_mean.h"
#include "store/delta_coding.h"
#include "store/store.h"

#define SAMPLE_GAP_MAX 16     /* ticks without a value before another chunk is begun */
#define SAMPLE_CHUNK_BYTES 60 /* size of a chunk in the store without its array, for `retire` */

struct sample_rows {
	struct store *store; /* NULL: rows are only counted */
	struct bulk *metrics, *entities, *ticks, *chunks;
	struct stmt *set_metadata;
	struct strbuf array; /* scratch */
};
int sample_rows_open(struct sample_rows *r, struct store *s);
int sample_rows_flush(struct sample_rows *r);
void sample_rows_close(struct sample_rows *r);

int sample_rows_metric(struct sample_rows *r, int64_t job, int64_t number,
		       const struct sample_metric *m);
/* metadata: lines "key=value", or NULL. again: it has a row already, whose metadata are replaced.
 * bytes: adds the size of its texts. */
int sample_rows_entity(struct sample_rows *r, int64_t job, uint32_t number, const char *host,
		       const struct entity *e, bool again, uint64_t *bytes);
/* Replaces the metadata of an entity, by a JSON object. */
int sample_rows_set_metadata(struct sample_rows *r, int64_t job, uint32_t number,
			     const struct json_writer *j);
/* The times of a block of readings, and the values of one series in it; the first and last value of
 * a chunk must be present. bytes: adds their size. */
int sample_rows_ticks(struct sample_rows *r, int64_t job, uint32_t tick,
		      const struct delta_coding *times, uint64_t *bytes);
int sample_rows_chunk(struct sample_rows *r, int64_t job, uint32_t metric, uint32_t entity,
		      uint32_t tick, size_t skip, const struct delta_coding *values,
		      uint64_t *bytes);

/* The metrics of a job in the order of their numbers, row after row; NULL on failure. */
struct stmt *sample_rows_metrics(struct store *s, int64_t job);
/* The metric of the current row, with copies of its texts; its number. */
int64_t sample_rows_get_metric(struct stmt *st, struct sample_metric *ret);
/* The number of the last block of readings of a job. */
int sample_rows_last_tick(struct store *s, int64_t job, uint32_t *ret);

/* Figures of a series, as they are added up value by value. */
struct series_sums {
	uint64_t count;
	int64_t first_us, last_us, minimum, maximum;
	int64_t begin_us; /* start of the time that the first value covers, or when a counter was 0;
			     first_us: unknown */
	int64_t last;     /* the value that the increase counts from */
	bool goes_on;     /* `last` is from before the first value */
	double increase;
	struct time_mean mean;
};
/* over_us: time since the source was read before, 0: unknown. */
void series_sums_add(struct series_sums *s, enum metric_kind kind, int64_t value, int64_t over_us,
		     int64_t time_us);

/* SQL that merges a row "excluded" of sample_series into a row "s", but for mean and increase.
 * Each part of a mean weighs the time that it covers. */
#define SERIES_PART "(s.last_us - coalesce(s.begin_us, s.first_us))"
#define SERIES_NEXT "(excluded.last_us - coalesce(excluded.begin_us, excluded.first_us))"
#define SERIES_MEAN                                                                  \
	"WHEN " SERIES_PART " + " SERIES_NEXT " > 0 THEN (s.mean * " SERIES_PART     \
	" + excluded.mean * " SERIES_NEXT ") / (" SERIES_PART " + " SERIES_NEXT ") " \
	"ELSE (s.mean * s.count + excluded.mean * excluded.count) / "                \
	"(s.count + excluded.count) END, "
#define SERIES_MERGE                                                                  \
	"count = s.count + excluded.count, "                                          \
	"begin_us = CASE WHEN excluded.first_us < s.first_us THEN excluded.begin_us " \
	"ELSE s.begin_us END, "                                                       \
	"first_us = CASE WHEN excluded.first_us < s.first_us THEN excluded.first_us " \
	"ELSE s.first_us END, "                                                       \
	"last_us = CASE WHEN excluded.last_us > s.last_us THEN excluded.last_us "     \
	"ELSE s.last_us END, "                                                        \
	"minimum = CASE WHEN excluded.minimum < s.minimum THEN excluded.minimum "     \
	"ELSE s.minimum END, "                                                        \
	"maximum = CASE WHEN excluded.maximum > s.maximum THEN excluded.maximum "     \
	"ELSE s.maximum END, "

/* A 128-bit hash of an entity of a job. run: of several runs at once, each has the job as its own
 * entity; else 0. */
struct entity_hash {
	uint64_t low, high;
};
struct entity_hash entity_hash(const char *host, enum entity_kind kind, const char *name,
			       uint32_t run);
/* Metadata of two sources about one entity: the lines of both, those of e first and instead of
 * older ones with the same key. *changed: a line is new or has another value. Freed by the caller.
 */
char *entity_merge_metadata(const char *older, const struct entity *e, bool *changed);
