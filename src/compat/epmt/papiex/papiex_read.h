/*
 * Reads what papiex and EPMT wrote, as a stream: CSV of one process or collated (41, 46 or 48
 * columns and whatever events follow, told by the names in the header, "#" comments skipped), and
 * TSV with its header file, papiex's or the one that EPMT's `convert` makes. Columns are found by
 * name, so their number and order do not matter; names that the metric table does not know are
 * events.
 *
 * A negative number, which papiex writes where its counter went back, is delivered as its two's
 * complement. An empty field is absent.
 *
 * Bytes may come in pieces of any size. Nothing is held but the line being read and one process;
 * a bad line ends the reading with its number and what was expected.
 */
#pragma once

#include "compat/epmt/papiex/papiex.h"

/* A line that is longer is refused; arguments of 10 MB and processes of many threads are not. */
#define PAPIEX_LINE_MAX ((size_t)64 << 20)

/* What comes out, in the order of the file. A negative result ends the reading. */
struct papiex_receiver {
	void *user;
	/* One thread of the process that the next process() call is about; only for processes with
	 * several threads, the first one included. Has the columns that are a thread's own. */
	int (*thread)(void *user, const struct row *thread);
	/* The process with the totals over its threads, METRIC_COUNTERS and METRIC_EVENTS as record
	 * files have them. rssmax is the largest; rssmax_sum what EPMT makes of it, the sum. tids:
	 * how many thread rows there were. */
	int (*process)(void *user, const struct row *process, uint64_t rssmax_sum, size_t tids);
};

struct papiex_reader;

/* header: of a TSV file, the text of its header file; NULL for CSV. host: used where rows name
 * none; may be NULL. */
struct papiex_reader *papiex_reader_new(const struct papiex_receiver *to, const char *header,
					size_t header_size, const char *host, struct strbuf *why);
/* The next piece of the file. 0, or a negative errno with "line N: ..." in *why. */
int papiex_reader_feed(struct papiex_reader *r, const char *data, size_t n, struct strbuf *why);
/* The end of the file: the last process is delivered, a cut line is an error. */
int papiex_reader_finish(struct papiex_reader *r, struct strbuf *why);
void papiex_reader_free(struct papiex_reader *r);

/* papiex itself read five fields of /proc/PID/stat one place too far: a process without a single
 * thread alive gives it away. Their values are not delivered then, and this says so. */
#define PAPIEX_SHIFTED                                       \
	"papiex misread num_threads, starttime, processor, " \
	"delayacct_blkio_time and guest_time: left out"
bool papiex_reader_shifted(const struct papiex_reader *r);

/* Deliver those values all the same, for whoever writes them into another file. */
void papiex_reader_keep_shifted(struct papiex_reader *r);
/* Sets the numbers that the file has columns of, once its header was read. */
void papiex_reader_columns(const struct papiex_reader *r, struct row *ret);
