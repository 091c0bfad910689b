/*
 * A reader of papiex's files as tests use it: what it delivers is written down line by line, all
 * that is present and nothing else, so that a comparison also sees what should not be there.
 */
#pragma once

#include "unit.h"

#include <errno.h>

#include "compat/epmt/papiex/papiex_read.h"
#include "core/text/text.h"

struct seen {
	struct strbuf log, args; /* args: the longest, byte for byte */
	struct strbuf why;
	size_t processes, threads;
	bool shifted;
	size_t stop_after; /* calls, 0: never */
	size_t kept;       /* memory for args in the row of the last process */
};
#define SEEN_INIT                                                            \
	{                                                                    \
		.log = STRBUF_INIT, .args = STRBUF_INIT, .why = STRBUF_INIT, \
	}

static inline void seen_release(struct seen *s)
{
	strbuf_release(&s->log);
	strbuf_release(&s->args);
	strbuf_release(&s->why);
}
#define _cleanup_seen_ _cleanup_(seen_release)

/* "name=5 name='text' EVENT:7", in the order of the dictionary; of long texts only the length. */
static inline void add_row(struct strbuf *out, const struct row *row)
{
	struct counter c[300];

	for (size_t i = 0; i < metric_count; i++) {
		const struct metric *m = &metrics[i];

		if (!row_has(row, m->id) || m->id == METRIC_EVENTS || m->id == METRIC_COUNTERS)
			continue;
		strbuf_addf(out, " %s=", m->name);
		const struct strbuf *text = &row->text[m->id];
		if (m->type != TYPE_TEXT) {
			strbuf_addf(out, "%llu", (unsigned long long)row->v[m->id]);
		} else if (text->len > 1000) {
			strbuf_addf(out, "<%zu>", text->len);
		} else {
			strbuf_addch(out, '\'');
			text_add_printable(out, text->buf, text->len);
			strbuf_addch(out, '\'');
		}
	}
	size_t n = row_counters(row, c, ARRAY_SIZE(c));
	assert_int_equal(row_has(row, METRIC_EVENTS), row_has(row, METRIC_COUNTERS));
	for (size_t i = 0; i < n; i++) {
		strbuf_addf(out, " %.*s:", (int)c[i].name_size, c[i].name);
		if (c[i].present)
			strbuf_addf(out, "%llu", (unsigned long long)c[i].value);
		else
			assert_int_equal(c[i].problem, ENODATA);
		assert_false(c[i].scaled || c[i].user_only);
	}
	strbuf_addch(out, '\n');
}

static inline int stop(const struct seen *s)
{
	return s->stop_after && s->processes + s->threads == s->stop_after ? -ENOSPC : 0;
}

static inline int see_thread(void *user, const struct row *row)
{
	struct seen *s = user;

	s->threads++;
	strbuf_addstr(&s->log, "thread");
	add_row(&s->log, row);
	return stop(s);
}

static inline int see_process(void *user, const struct row *row, uint64_t rssmax_sum, size_t tids)
{
	struct seen *s = user;

	s->processes++;
	strbuf_addf(&s->log, "process %llu %zu", (unsigned long long)rssmax_sum, tids);
	add_row(&s->log, row);
	const struct strbuf *args = &row->text[METRIC_ARGS];
	s->kept = args->cap;
	if (row_has(row, METRIC_ARGS) && args->len > s->args.len) {
		strbuf_reset(&s->args);
		strbuf_add(&s->args, args->buf, args->len);
	}
	return stop(s);
}

/* In pieces, each in memory that ends where it ends. header: NULL for CSV. */
static inline int read_pieces(struct seen *s, const char *header, const char *text, size_t n,
			      size_t first, size_t piece)
{
	const struct papiex_receiver to = {s, see_thread, see_process};
	size_t header_size = header ? strlen(header) : 0;
	char *head = header ? exact_copy(header, header_size) : NULL;
	struct papiex_reader *r = papiex_reader_new(&to, head, header_size, NULL, &s->why);
	int error = 0;

	free(head);
	strbuf_reset(&s->log);
	strbuf_reset(&s->args);
	s->processes = s->threads = 0;
	if (!r)
		return -EBADMSG;
	for (size_t at = 0, len = first; at < n && !error; at += len, len = piece) {
		len = len < n - at ? len : n - at;
		char *copy = exact_copy(text + at, len);
		error = papiex_reader_feed(r, copy, len, &s->why);
		free(copy);
	}
	if (!error)
		error = papiex_reader_finish(r, &s->why);
	s->shifted = papiex_reader_shifted(r);
	papiex_reader_free(r);
	return error;
}

static inline int read_text(struct seen *s, const char *header, const char *text)
{
	return read_pieces(s, header, text, strlen(text), SIZE_MAX, SIZE_MAX);
}

static inline void check(const char *header, const char *text, const char *log)
{
	_cleanup_seen_ struct seen s = SEEN_INIT;

	if (read_text(&s, header, text) != 0)
		fail_msg("%s", s.why.buf);
	assert_string_equal(s.log.buf, log);
	assert_int_equal(s.why.len, 0);
}

static inline void refuse(const char *header, const char *text, const char *why)
{
	_cleanup_seen_ struct seen s = SEEN_INIT;

	assert_int_equal(read_text(&s, header, text), -EBADMSG);
	assert_string_equal(s.why.buf, why);
}

#define THREADS                                                                                \
	"tags,hostname,exename,pid,numtids,mpinumranks,tid,mpirank,start,end,usertime,rssmax," \
	"cutime,num_threads,starttime,processor,timeslices,rdtsc_duration,E1,E2\n"             \
	"t,h,x,10,3,4,10,1,100,900,5,70,1,3,11,2,30,-5,1000,2000\n"                            \
	",,,,,,11,1,200,800,6,90,0,3,12,3,40,20,10,\n"                                         \
	",,,,,,12,1,300,950,7,80,0,3,13,4,50,30,1,20\n"                                        \
	"u,h,y,20,1,4,20,2,400,500,8,60,0,1,14,5,60,40,3,4\n"

#define THREADS_LOG                                                                              \
	"thread tid=10 mpirank=1 start=100 end=900 usertime=5 rssmax=70 cutime=1 num_threads=3 " \
	"starttime=11 processor=2 timeslices=30 rdtsc_duration=18446744073709551611 E1:1000 "    \
	"E2:2000\n"                                                                              \
	"thread tid=11 mpirank=1 start=200 end=800 usertime=6 rssmax=90 cutime=0 num_threads=3 " \
	"starttime=12 processor=3 timeslices=40 rdtsc_duration=20 E1:10 E2:\n"                   \
	"thread tid=12 mpirank=1 start=300 end=950 usertime=7 rssmax=80 cutime=0 num_threads=3 " \
	"starttime=13 processor=4 timeslices=50 rdtsc_duration=30 E1:1 E2:20\n"                  \
	"process 240 3 tags='t' hostname='h' exename='x' pid=10 numtids=3 numranks=4 tid=10 "    \
	"mpirank=1 start=100 end=900 usertime=18 rssmax=90 cutime=1 num_threads=3 starttime=11 " \
	"processor=2 timeslices=120 rdtsc_duration=45 E1:1011 E2:2020\n"                         \
	"process 60 1 tags='u' hostname='h' exename='y' pid=20 numtids=1 numranks=4 tid=20 "     \
	"mpirank=2 start=400 end=500 usertime=8 rssmax=60 cutime=0 num_threads=1 starttime=14 "  \
	"processor=5 timeslices=60 rdtsc_duration=40 E1:3 E2:4\n"
