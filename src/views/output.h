/*
 * Values of a store on their way out: with units on a terminal, raw everywhere else; as JSON; and
 * how wide the terminal is.
 */
#pragma once

#include "core/metrics/metric.h"
#include "core/text/json_writer.h"
#include "core/text/times.h"
#include "core/text/units.h"
#include "store/store.h"

/* In place of an unknown number. */
#define UNKNOWN INT64_MIN

/* A column, or UNKNOWN for NULL. */
int64_t stmt_get_optional(struct stmt *st, int i);
/* A column of concurrent threads, which is 0 where the store has processes but no threads. */
int64_t stmt_get_threads(struct stmt *st, int i);
/* UNKNOWN where one of them is. */
static inline int64_t known_sum(int64_t a, int64_t b)
{
	return a == UNKNOWN || b == UNKNOWN ? UNKNOWN : a + b;
}

/* By enum accounting_ended and enum accounting_source. */
extern const char *const ended_words[5], *const source_words[4];

/* These add nothing for UNKNOWN. human false: plain digits, the unit is in the heading. */
void add_count(struct strbuf *out, int64_t v, bool human); /* "12,345" */
void add_us(struct strbuf *out, int64_t us, bool human);
void add_kib(struct strbuf *out, int64_t kib, bool human);
void add_bytes(struct strbuf *out, int64_t bytes, bool human); /* " bytes" behind plain digits */
/* In the unit of the metric; m NULL: an event, which is a count. */
void add_metric(struct strbuf *out, const struct metric *m, int64_t v, bool human);
/* "2026-11-15 04:05:06.789" */
void add_local_time_ms(struct strbuf *out, int64_t us);

/* "1 thread", "2 threads" */
void add_counted(struct strbuf *out, int64_t v, const char *one, const char *many, bool human);
/* A number of processes, and of their images where it differs. */
void add_processes(struct strbuf *out, int64_t processes, int64_t images, bool human);
/* ", at most 2 at once" */
void add_peak(struct strbuf *out, int64_t peak, bool human);
/* "21 threads, at most 2 at once" */
void add_threads(struct strbuf *out, int64_t threads, int64_t peak, bool human);

/* An array of texts. */
void json_strs(struct json_writer *j, const char *key, char *const *list, size_t count);
/* UNKNOWN becomes null. */
void json_number(struct json_writer *j, const char *key, int64_t v);
void json_time(struct json_writer *j, const char *key, int64_t us);
/* Leaves the key out for UNKNOWN. */
void json_known(struct json_writer *j, const char *key, int64_t v);

/* Columns of the terminal; 0: f is not a terminal. */
size_t terminal_width(FILE *f);
/* How many bytes of a printable text fit into so many columns. */
size_t fitting(const char *s, size_t n, size_t columns);
