/* A line for each row of a reading: JSON, or CSV. Names come from nodes: none of them controls a
 * terminal or is a formula. */
#ifndef PL_SINKS_SINK_LINES_H
#define PL_SINKS_SINK_LINES_H

#include "sinks/sink.h"

#define SINK_CSV_HEAD "time,host,source,kind,entity,job,values\n"

void sink_json_row(struct strbuf *out, const struct sample_file *f, size_t row);
/* Sources have columns of their own, and a file has one header: values are name=value. */
void sink_csv_row(struct strbuf *out, const struct sample_file *f, size_t row, bool terminal);
void sink_add_number(struct strbuf *out, int64_t value, double scale);

#endif
