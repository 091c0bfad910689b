/* Rows of readings, and lines of JSON or CSV from them. Names come from nodes: they must neither
 * control a terminal nor be a formula. */
#pragma once

#include "sinks/sink.h"

#define SINK_CSV_HEAD "time,host,source,kind,entity,job,values\n"

/* One row of a reading. */
struct sink_row {
	const struct sample_file_source *source;
	const struct entity *entity;
	const int64_t *values; /* by metric */
	uint64_t present;      /* bit m: there is a value of metric m */
	const char *job;       /* NULL: none; not terminated */
	size_t job_size;
};
struct sink_row sink_row(const struct sample_file *f, size_t row);

void sink_json_row(struct strbuf *out, const struct sample_file *f, size_t row);
/* Sources have different columns, but a file has one header: values are name=value. */
void sink_csv_row(struct strbuf *out, const struct sample_file *f, size_t row, bool terminal);
/* ,"key":"text" */
void sink_add_json(struct strbuf *out, const char *key, const char *s, size_t n);
void sink_add_number(struct strbuf *out, int64_t value, double scale);
