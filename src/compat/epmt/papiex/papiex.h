/*
 * papiex's two file formats, as EPMT reads them: CSV with a row a thread, and TSV with a line a
 * process. The columns are papiex's, the values are right; what is not known is 0, since neither
 * format has a way to say so.
 */
#ifndef PL_COMPAT_EPMT_PAPIEX_PAPIEX_H
#define PL_COMPAT_EPMT_PAPIEX_PAPIEX_H

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

/* ---- names of files ------------------------------------------------------------------------- */

/* Told by content: a tab in the first 1024 bytes is TSV, else a comma CSV. */
enum papiex_format { PAPIEX_UNKNOWN, PAPIEX_CSV, PAPIEX_TSV };
enum papiex_format papiex_format_of(const char *head, size_t n);
/* "HOST-papiex*.csv", "HOST-papiex.tsv"; the header file of a TSV file is not data. */
bool papiex_is_data_name(const char *name);
bool papiex_is_header_name(const char *name);
/* Either. */
bool papiex_is_name(const char *name);

#endif
