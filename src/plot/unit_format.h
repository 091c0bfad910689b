/*
 * Numbers and times of a store on their way out: with units that people can use on a terminal, raw
 * everywhere else.
 */
#ifndef PL_PLOT_UNIT_FORMAT_H
#define PL_PLOT_UNIT_FORMAT_H

#include "core/metrics/metric.h"
#include "core/text/json_writer.h"
#include "store/store.h"

/* In the place of a number that is not known. */
#define UNKNOWN INT64_MIN

/* A column, or UNKNOWN for NULL. */
int64_t stmt_get_optional(struct stmt *st, int i);

void add_number(struct strbuf *out, int64_t v);
/* 12345 as "12,345" for people. */
void add_count(struct strbuf *out, int64_t v, bool human);
/* A number of processes, and of their images where that is another one. */
void add_processes(struct strbuf *out, int64_t processes, int64_t images, bool human);
/* "1 thread", "2 threads"; "" for UNKNOWN. */
void add_counted(struct strbuf *out, int64_t v, const char *one, const char *many, bool human);
/* "21 threads, at most 2 at once", without what is not known. */
void add_threads(struct strbuf *out, int64_t threads, int64_t peak, bool human);
/* A column of threads at once, which is 0 where a store has processes and knows no threads. */
int64_t stmt_get_threads(struct stmt *st, int i);
/* Raw forms have no unit of their own: headings name it. */
void add_us(struct strbuf *out, int64_t us, bool human);
void add_kib(struct strbuf *out, int64_t kib, bool human);
/* A value in the unit of its metric; m NULL for an event, which is a count. */
void add_metric(struct strbuf *out, const struct metric *m, int64_t v, bool human);
/* "2026-11-15 04:05:06", local time. */
void add_local_time(struct strbuf *out, int64_t us);
/* "2026-11-15 04:05:06.789" */
void add_local_time_ms(struct strbuf *out, int64_t us);
/* As text_add_time() writes it in local time, fast enough for hundreds of thousands. */
void add_iso_time(struct strbuf *out, int64_t us);

/* UNKNOWN writes null. */
void json_number(struct jsonw *j, const char *key, int64_t v);
void json_time(struct jsonw *j, const char *key, int64_t us);
/* JSON that is there already. */
void json_raw(struct jsonw *j, const char *key, const char *text, size_t n);

/* Arrays that come row by row: begin, then for each row a document in j, then end. */
struct json_rows {
	struct jsonw j;
	FILE *f;
	bool any;
};
void json_rows_begin(struct json_rows *r, FILE *f);
/* Writes what r->j holds as the next element. */
void json_rows_next(struct json_rows *r);
int json_rows_end(struct json_rows *r);

/* Columns of the terminal that f is; 0 when it is none. */
size_t terminal_width(FILE *f);
/* The first part of a printable text that takes at most so many columns. */
size_t fitting(const char *s, size_t n, size_t columns);
/* 0, or the negative errno of writing to f so far. */
int output_error(FILE *f);

#endif
