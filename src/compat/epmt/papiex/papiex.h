/*
 * papiex's two file formats, as EPMT reads them: CSV with one row per thread, TSV with one
 * line per process. The columns are papiex's, the values are right; what is not known is 0, since
 * neither format has a way to say so.
 */
#pragma once

#include "records/metric_row.h"

/* One process: its own row, and one for each further thread. */
struct papiex_process {
	const struct row *process;
	const struct row *const *threads; /* the first thread is not among them */
	size_t thread_count;
};

/* events: names, comma separated, as METRIC_EVENTS holds them; NULL or "" for none. */
void papiex_csv_header(struct strbuf *out, const char *events);
void papiex_csv_process(struct strbuf *out, const struct papiex_process *p, const char *events);
void papiex_tsv_header(struct strbuf *out, const char *events);
void papiex_tsv_process(struct strbuf *out, const struct papiex_process *p, const char *events);
/* The same with those metrics alone that `columns` has; NULL: all. */
void papiex_tsv_header_like(struct strbuf *out, const struct row *columns, const char *events);
void papiex_tsv_process_like(struct strbuf *out, const struct row *columns,
			     const struct papiex_process *p, const char *events);

/* ---- texts ---------------------------------------------------------------------------------- */

/* Adds the text at p, up to the separator or end that is returned. CSV's escapes are undone. TSV
 * has bytes as they are: there a tab and the two characters that stand for it cannot be told apart.
 */
const char *papiex_take_text(struct strbuf *out, const char *p, const char *end, char separator);
/* The same for a text in quotes, as Python's csv module writes those with a tab or a quote in them:
 * two quotes stand for one. NULL when the closing one is missing or something follows it. */
const char *papiex_take_quoted(struct strbuf *out, const char *p, const char *end, char separator);
/* Adds a text as these files have it. */
void papiex_add_text(struct strbuf *out, const char *s, size_t n, bool csv);

/* ---- names of files ------------------------------------------------------------------------- */

/* Told by content: a tab in the first 1024 bytes is TSV, else a comma CSV. */
enum papiex_format { PAPIEX_UNKNOWN, PAPIEX_CSV, PAPIEX_TSV };
enum papiex_format papiex_format_of(const char *head, size_t n);
/* "HOST-papiex*.csv", "HOST-papiex.tsv"; the header file of a TSV file is not data. */
bool papiex_is_data_name(const char *name);
bool papiex_is_header_name(const char *name);
/* Either. */
bool papiex_is_name(const char *name);
