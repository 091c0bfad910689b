/*
 * The reader of papiex's files: every value of every generation, and which lines are bad. What a
 * reader delivers is written down line by line, all that is present and nothing else, so that a
 * comparison also sees what should not be there.
 */
#include "unit.h"

#include <errno.h>

#include "core/text.h"
#include "formats/papiex.h"
#include "formats/papiex_read.h"
#include "plimsoll/record.h"

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

static void seen_release(struct seen *s)
{
	strbuf_release(&s->log);
	strbuf_release(&s->args);
	strbuf_release(&s->why);
}
#define _cleanup_seen_ _cleanup_(seen_release)

/* "name=5 name='text' EVENT:7", in the order of the dictionary; of long texts only the length. */
static void add_row(struct strbuf *out, const struct row *row)
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

static int stop(const struct seen *s)
{
	return s->stop_after && s->processes + s->threads == s->stop_after ? -ENOSPC : 0;
}

static int see_thread(void *user, const struct row *row)
{
	struct seen *s = user;

	s->threads++;
	strbuf_addstr(&s->log, "thread");
	add_row(&s->log, row);
	return stop(s);
}

static int see_process(void *user, const struct row *row, uint64_t rssmax_sum, size_t tids)
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
static int read_pieces(struct seen *s, const char *header, const char *text, size_t n, size_t first,
		       size_t piece)
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

static int read_text(struct seen *s, const char *header, const char *text)
{
	return read_pieces(s, header, text, strlen(text), SIZE_MAX, SIZE_MAX);
}

static void check(const char *header, const char *text, const char *log)
{
	_cleanup_seen_ struct seen s = SEEN_INIT;

	if (read_text(&s, header, text) != 0)
		fail_msg("%s", s.why.buf);
	assert_string_equal(s.log.buf, log);
	assert_int_equal(s.why.len, 0);
}

static void refuse(const char *header, const char *text, const char *why)
{
	_cleanup_seen_ struct seen s = SEEN_INIT;

	assert_int_equal(read_text(&s, header, text), -EBADMSG);
	assert_string_equal(s.why.buf, why);
}

/* ---- three generations ---------------------------------------------------------------------- */

#define BEGIN_41 \
	"tags,hostname,exename,path,args,exitcode,pid,generation,ppid,pgid,sid,numtids,tid,start,"
#define BEGIN_46                                                                            \
	"tags,hostname,exename,path,args,exitcode,exitsignal,pid,generation,ppid,pgid,sid," \
	"numtids,tid,start,"
#define BEGIN_48                                                                            \
	"tags,hostname,exename,path,args,exitcode,exitsignal,pid,generation,ppid,pgid,sid," \
	"numtids,mpinumranks,tid,mpirank,start,"
#define USAGE "end,usertime,systemtime,rssmax,minflt,majflt,inblock,outblock,vol_ctxsw,invol_ctxsw,"
#define CHILDREN "cminflt,cmajflt,cutime,cstime,"
#define REST                                                                                 \
	"num_threads,starttime,processor,delayacct_blkio_time,guest_time,rchar,wchar,syscr," \
	"syscw,read_bytes,write_bytes,cancelled_write_bytes,time_oncpu,time_waiting,timeslices"
#define EVENT ",rdtsc_duration,PERF_COUNT_SW_CPU_CLOCK\n"

/* What the log has of the columns that all generations share. */
#define TEXTS "tags='k:v' hostname='node' exename='ls' path='/bin/ls' args='-l /tmp' exitcode=2"
#define LOG_USAGE                                                                         \
	"usertime=26 systemtime=27 rssmax=28 minflt=29 majflt=30 inblock=31 outblock=32 " \
	"vol_ctxsw=33 invol_ctxsw=34"
#define LOG_REST                                                                         \
	"num_threads=1 starttime=52 processor=53 delayacct_blkio_time=54 guest_time=55 " \
	"rchar=56 wchar=57 syscr=58 syscw=59 read_bytes=60 write_bytes=61 "              \
	"cancelled_write_bytes=62 time_oncpu=63 time_waiting=64 timeslices=65"
#define ROW_USAGE "25,26,27,28,29,30,31,32,33,34,"
#define ROW_REST "1,52,53,54,55,56,57,58,59,60,61,62,63,64,65"

static void three_generations(void **state)
{
	(void)state;
	check(NULL,
	      BEGIN_41 USAGE REST EVENT "k:v,node,ls,/bin/ls,-l /tmp,2,700,0,695,694,693,1,701,"
					"24," ROW_USAGE ROW_REST ",66,67\n",
	      "process 28 1 " TEXTS " pid=700 generation=0 ppid=695 pgid=694 sid=693 numtids=1 "
	      "tid=701 start=24 end=25 " LOG_USAGE " " LOG_REST
	      " rdtsc_duration=66 PERF_COUNT_SW_CPU_CLOCK:67\n");
	check(NULL,
	      BEGIN_46 USAGE CHILDREN REST EVENT
	      "k:v,node,ls,/bin/ls,-l /tmp,2,9,700,0,695,694,693,1,701,24," ROW_USAGE
	      "35,36,37,38," ROW_REST ",66,67\n",
	      "process 28 1 " TEXTS " exitsignal=9 pid=700 generation=0 ppid=695 pgid=694 "
	      "sid=693 numtids=1 tid=701 start=24 end=25 " LOG_USAGE
	      " cminflt=35 cmajflt=36 cutime=37 cstime=38 " LOG_REST
	      " rdtsc_duration=66 PERF_COUNT_SW_CPU_CLOCK:67\n");
	check(NULL,
	      BEGIN_48 USAGE CHILDREN REST EVENT
	      "k:v,node,ls,/bin/ls,-l /tmp,2,9,700,0,695,694,693,1,8,701,3,24," ROW_USAGE
	      "35,36,37,38," ROW_REST ",66,67\n",
	      "process 28 1 " TEXTS " exitsignal=9 pid=700 generation=0 ppid=695 pgid=694 "
	      "sid=693 numtids=1 numranks=8 tid=701 mpirank=3 start=24 end=25 " LOG_USAGE
	      " cminflt=35 cmajflt=36 cutime=37 cstime=38 " LOG_REST
	      " rdtsc_duration=66 PERF_COUNT_SW_CPU_CLOCK:67\n");
	/* and 46 columns without events */
	check(NULL,
	      BEGIN_48 USAGE CHILDREN REST
	      "\n"
	      "k:v,node,ls,/bin/ls,-l /tmp,2,9,700,0,695,694,693,1,8,701,3,24," ROW_USAGE
	      "35,36,37,38," ROW_REST "\n",
	      "process 28 1 " TEXTS " exitsignal=9 pid=700 generation=0 ppid=695 pgid=694 "
	      "sid=693 numtids=1 numranks=8 tid=701 mpirank=3 start=24 end=25 " LOG_USAGE
	      " cminflt=35 cmajflt=36 cutime=37 cstime=38 " LOG_REST "\n");
}

/* In any order, and what is empty is absent, not 0. */
static void columns_by_name(void **state)
{
	(void)state;
	check(NULL, "args,CYCLES,pid,finish,usertime,MISSES\nx,1,2,3,4,5\n,,3,,,\n,7,4,0,0,\n",
	      "process 0 1 args='x' pid=2 end=3 usertime=4 CYCLES:1 MISSES:5\n"
	      "process 0 1 pid=3 CYCLES: MISSES:\n"
	      "process 0 1 pid=4 end=0 usertime=0 CYCLES:7 MISSES:\n");
	/* metrics that papiex never had and names of other tools are events */
	check(NULL, "pid,events,counters,cpu_count,vmpeak,argv\n1,2,3,4,5,6\n",
	      "process 0 1 pid=1 events:2 counters:3 cpu_count:4 vmpeak:5 argv:6\n");
	check(NULL, "exename,pid\n./a/b,1\n", "process 0 1 exename='./a/b' pid=1\n");
}

/* ---- texts ---------------------------------------------------------------------------------- */

static void escapes(void **state)
{
	(void)state;
	check(NULL,
	      "pid,args,path\n"
	      "1,\\a\\b\\f\\n\\r\\t\\v\\\\\\,,x\n"
	      "2,a\\,b\\\\,\\\\\\,\n"
	      /* what papiex does not write stays: it is more likely text than damage */
	      "3,\\x\\ \\0\\\",\\\n",
	      "process 0 1 path='x' args='\\x07\\x08\\x0c\\x0a\\x0d\\x09\\x0b\\,' pid=1\n"
	      "process 0 1 path='\\,' args='a,b\\' pid=2\n"
	      "process 0 1 path='\\' args='\\x\\ \\0\\\"' pid=3\n");
}

static void every_byte(void **state)
{
	static const char from[] = "\a\b\f\n\r\t\v\\,", to[] = "abfnrtv\\,";
	_cleanup_strbuf_ struct strbuf csv = STRBUF_INIT, tsv = STRBUF_INIT, want = STRBUF_INIT;
	_cleanup_seen_ struct seen s = SEEN_INIT;

	(void)state;
	strbuf_addstr(&csv, "pid,args\n1,");
	strbuf_addstr(&tsv, "{5}\t1\t");
	for (int c = 1; c < 256; c++) {
		const char *escaped = strchr(from, c);

		strbuf_addch(&want, (char)c);
		if (escaped)
			strbuf_addf(&csv, "\\%c", to[escaped - from]);
		else
			strbuf_addch(&csv, (char)c);
		if (c != '\n' && c != '\t')
			strbuf_addch(&tsv, (char)c);
	}
	assert_int_equal(read_pieces(&s, NULL, csv.buf, csv.len, SIZE_MAX, SIZE_MAX), 0);
	assert_int_equal(s.args.len, 255);
	assert_memory_equal(s.args.buf, want.buf, 255);
	/* TSV has no tab and no newline in a text; quotes and backslashes are bytes */
	assert_int_equal(
		read_pieces(&s, "{usertime}\tpid\targs\n", tsv.buf, tsv.len, SIZE_MAX, SIZE_MAX),
		0);
	assert_int_equal(s.args.len, 253);
	assert_memory_equal(s.args.buf, tsv.buf + tsv.len - 253, 253);
	/* a NUL byte comes through too */
	assert_int_equal(read_pieces(&s, NULL, "pid,args\n1,a\0b", 14, 3, 3), 0);
	assert_text(&s.args, "a\0b");
}

/* Backslashes and commas all over: the text is 20 MB in the file, and takes no longer for it. */
static void arguments_of_10_mb(void **state)
{
	const size_t n = 10000000;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	_cleanup_seen_ struct seen s = SEEN_INIT;
	double before = cpu_seconds();

	(void)state;
	strbuf_addstr(&text, "args,pid\na,4\n");
	for (size_t i = 0; i < n; i++)
		strbuf_add(&text, i < n / 2 || i % 3 ? "\\\\" : "\\,", 2);
	strbuf_addstr(&text, ",5\nb,6\n,7\nc,8\nd,9\n");
	assert_int_equal(read_pieces(&s, NULL, text.buf, text.len, 65536, 65536), 0);
	assert_string_equal(s.log.buf, "process 0 1 args='a' pid=4\n"
				       "process 0 1 args=<10000000> pid=5\n"
				       "process 0 1 args='b' pid=6\n"
				       "process 0 1 pid=7\n"
				       "process 0 1 args='c' pid=8\n"
				       "process 0 1 args='d' pid=9\n");
	for (size_t i = 0; i < n; i++)
		if (s.args.buf[i] != (i < n / 2 || i % 3 ? '\\' : ','))
			fail_msg("byte %zu", i);
	assert_true(s.kept < n / 5);              /* memory is given back */
	assert_true(cpu_seconds() - before < 30); /* squared it would be hours */
}

static void lines_that_are_too_long(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	_cleanup_seen_ struct seen s = SEEN_INIT;

	(void)state;
	strbuf_addstr(&text, "pid,args\n1,");
	strbuf_grow(&text, PAPIEX_LINE_MAX + 16);
	memset(text.buf + text.len, 'x', PAPIEX_LINE_MAX - 2);
	strbuf_cut(&text, text.len + PAPIEX_LINE_MAX - 2);
	size_t longest = text.len;
	strbuf_addstr(&text, "\n2,b\n");
	assert_int_equal(read_pieces(&s, NULL, text.buf, text.len, SIZE_MAX, SIZE_MAX), 0);
	assert_string_equal(s.log.buf, "process 0 1 args=<67108862> pid=1\n"
				       "process 0 1 args='b' pid=2\n");
	/* one byte more: with its end and without it, at once and in pieces */
	for (int i = 0; i < 4; i++) {
		size_t piece = i & 1 ? SIZE_MAX : 1 << 20;

		strbuf_cut(&text, longest);
		strbuf_addstr(&text, i & 2 ? "y" : "y\n2,b\n");
		strbuf_reset(&s.why);
		assert_int_equal(read_pieces(&s, NULL, text.buf, text.len, piece, piece), -EBADMSG);
		assert_string_equal(s.why.buf, "line 2: longer than 67108864 bytes");
		assert_int_equal(s.processes, 0);
	}
}

/* ---- threads -------------------------------------------------------------------------------- */

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

static void threads(void **state)
{
	_cleanup_seen_ struct seen s = SEEN_INIT;

	(void)state;
	check(NULL, THREADS, THREADS_LOG);
	assert_int_equal(read_text(&s, NULL, THREADS), 0);
	assert_int_equal(s.threads, 3);
	assert_int_equal(s.processes, 2);
	/* the last process may be the one with threads, and a thread may know what the first did
	 * not; a number that a further thread's row should not have changes nothing */
	check(NULL, "pid,numtids,tid,rssmax,usertime,E\n7,2,7,,,\n,5,8,-1,3,4\n",
	      "thread tid=7 E:\nthread tid=8 usertime=3 rssmax=18446744073709551615 E:4\n"
	      "process 18446744073709551615 2 pid=7 numtids=2 tid=7 usertime=3 E:4\n");
	/* whether it is another thread is told by host, program and pid together */
	check(NULL, "hostname,exename,pid,tid\nh,x,1,1\nh,,,2\n,x,,3\n,,4,4\n",
	      "process 0 1 hostname='h' exename='x' pid=1 tid=1\n"
	      "process 0 1 hostname='h' tid=2\n"
	      "process 0 1 exename='x' tid=3\n"
	      "process 0 1 pid=4 tid=4\n");
}

static void the_host_where_rows_name_none(void **state)
{
	static const char text[] = "hostname,pid,tid\n,1,1\n,,2\nown,2,2\n";
	_cleanup_seen_ struct seen s = SEEN_INIT;
	const struct papiex_receiver to = {&s, NULL, see_process};
	struct papiex_reader *r = papiex_reader_new(&to, NULL, 0, "node7", NULL);

	(void)state;
	assert_int_equal(papiex_reader_feed(r, text, sizeof(text) - 1, NULL), 0);
	assert_int_equal(papiex_reader_finish(r, NULL), 0);
	assert_int_equal(papiex_reader_finish(r, NULL), 0); /* it was all delivered */
	papiex_reader_free(r);
	assert_string_equal(s.log.buf, "process 0 2 hostname='node7' pid=1 tid=1\n"
				       "process 0 1 hostname='own' pid=2 tid=2\n");
	/* nobody has to listen to the reason */
	r = papiex_reader_new(&to, NULL, 0, NULL, NULL);
	assert_int_equal(papiex_reader_feed(r, "x\n", 2, NULL), -EBADMSG);
	assert_int_equal(papiex_reader_finish(r, NULL), -EBADMSG);
	papiex_reader_free(r);
	assert_null(papiex_reader_new(&to, "x", 1, NULL, NULL));
	papiex_reader_free(NULL);
}

/* ---- numbers -------------------------------------------------------------------------------- */

static void numbers(void **state)
{
	(void)state;
	check(NULL,
	      "pid,rdtsc_duration,E\n1,-5,-1\n2,18446744073709551615,9999999999999999999\n"
	      "3,-9223372036854775808,10000000000000000000\n4,0,-0\n5,007,0000000000000000009\n",
	      "process 0 1 pid=1 rdtsc_duration=18446744073709551611 E:18446744073709551615\n"
	      "process 0 1 pid=2 rdtsc_duration=18446744073709551615 E:9999999999999999999\n"
	      "process 0 1 pid=3 rdtsc_duration=9223372036854775808 E:10000000000000000000\n"
	      "process 0 1 pid=4 rdtsc_duration=0 E:0\n"
	      "process 0 1 pid=5 rdtsc_duration=7 E:9\n");
}

static void refuse_number(const char *in, const char *out, const char *of)
{
	static const char *const names[] = {"exitcode", "pid", "EVENT"};

	for (int at = 0; at < 3; at++) {
		const char *a = at == 0 ? in : "1", *b = at == 1 ? in : "2",
			   *c = at == 2 ? in : "3";
		_cleanup_free_ char *csv =
			xasprintf("exitcode,pid,EVENT\n1,2,3\n%s,%s,%s\n", a, b, c);
		_cleanup_free_ char *tsv = xasprintf("{1,3}\t2\n\n{%s,%s}\t%s\n", a, c, b);
		_cleanup_free_ char *why =
			xasprintf("line 3: column '%s' is no number%s: '%s'", names[at], of, out);

		refuse(NULL, csv, why);
		refuse("{exitcode,EVENT}\tpid\n", tsv, why);
	}
}

static void what_is_no_number(void **state)
{
	static const char *const large[] = {
		"18446744073709551616", "20000000000000000000",  "99999999999999999999",
		"27670116110564327424", "-9223372036854775809",  "-18446744073709551615",
		"36893488147419103232", "-10000000000000000000", "123456789012345678901234567890",
		"19999999999999999999", "30000000000000000000",
	};
	static const char *const none[] = {
		"x", "-", "--1", "+1", " 1", "1 ", "1.5", "0x10", "1-", "1e3", "\"1\"", "\\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(large); i++)
		refuse_number(large[i], large[i], " of 64 bits");
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		refuse_number(none[i], none[i], "");
	refuse_number("1\r", "1\\x0d", "");
	refuse_number("\xff", "\\xff", "");
	refuse_number("1234567890123456789012345678901234567890x",
		      "1234567890123456789012345678901234567890...", "");
	refuse("{usertime}\tpid\n", "{1}\t5,6\n", "line 1: column 'pid' is no number: '5,6'");
	refuse("{usertime}\tpid\n", "{{1}\t5\n", "line 1: column 'usertime' is no number: '{1'");
}

/* ---- what is wrong in papiex's own files ---------------------------------------------------- */

#define SHIFT_NAMES \
	"pid,num_threads,starttime,processor,delayacct_blkio_time,guest_time,rchar,tid\n"

static void shifted_fields(void **state)
{
	_cleanup_seen_ struct seen s = SEEN_INIT;

	(void)state;
	assert_int_equal(read_text(&s, NULL,
				   SHIFT_NAMES "1,0,237936640000,0,1,2,3,1\n,1,4,5,6,7,8,2\n"
					       "2,3,4,5,6,7,8,9\n"),
			 0);
	assert_true(s.shifted);
	assert_string_equal(s.log.buf, "thread tid=1 rchar=3\nthread tid=2 rchar=8\n"
				       "process 0 2 pid=1 tid=1 rchar=11\n"
				       "process 0 1 pid=2 tid=9 rchar=8\n");
	/* the first row tells, whatever later ones hold */
	assert_int_equal(read_text(&s, NULL, SHIFT_NAMES "1,1,2,3,4,5,6,7\n2,0,2,3,4,5,6,7\n"), 0);
	assert_false(s.shifted);
	assert_string_equal(s.log.buf,
			    "process 0 1 pid=1 tid=7 num_threads=1 starttime=2 processor=3 "
			    "delayacct_blkio_time=4 guest_time=5 rchar=6\n"
			    "process 0 1 pid=2 tid=7 num_threads=0 starttime=2 processor=3 "
			    "delayacct_blkio_time=4 guest_time=5 rchar=6\n");
	/* nothing to tell by */
	assert_int_equal(read_text(&s, NULL, "pid,starttime\n1,5\n"), 0);
	assert_false(s.shifted);
	assert_int_equal(read_text(&s, NULL, "pid,num_threads,starttime\n1,,5\n2,0,6\n"), 0);
	assert_false(s.shifted);
	assert_string_equal(s.log.buf, "process 0 1 pid=1 starttime=5\n"
				       "process 0 1 pid=2 num_threads=0 starttime=6\n");
	assert_int_equal(read_text(&s, "{num_threads,starttime,rchar}\tpid\tnumtids\n",
				   "{0,5,6,3,7,8}\t1\t2\n{1,2,3}\t2\t1\n"),
			 0);
	assert_true(s.shifted);
	assert_string_equal(s.log.buf, "thread rchar=6\nthread rchar=8\n"
				       "process 0 2 pid=1 numtids=2 rchar=14\n"
				       "process 0 1 pid=2 numtids=1 rchar=3\n");
}

/* ---- lines ---------------------------------------------------------------------------------- */

static void comments_and_empty_lines(void **state)
{
	(void)state;
	check(NULL, "# tags a,b\n\n#\npid,args\n\n1,x\n# later\n\n2,y\n\n",
	      "process 0 1 args='x' pid=1\nprocess 0 1 args='y' pid=2\n");
	/* behind the header, what fits it is a row */
	check(NULL, "tags,pid\n#k:v,1\n", "process 0 1 tags='#k:v' pid=1\n");
	refuse(NULL, "# one\npid\n\n# two, three\nx\n", "line 5: column 'pid' is no number: 'x'");
}

static void ends_of_files(void **state)
{
	(void)state;
	refuse(NULL, "", "holds no header");
	refuse(NULL, "\n\n", "holds no header");
	refuse(NULL, "# only a comment\n", "holds no header");
	check(NULL, "pid,args\n", "");
	check(NULL, "pid,args", "");
	check("{usertime}\tpid\n", "", "");
	check(NULL, "pid,args\n1,x", "process 0 1 args='x' pid=1\n");
	check("{usertime}\tpid", "{1}\t2", "process 0 1 pid=2 usertime=1\n");
	refuse(NULL, "pid,args,path\n1,x,\n2,y",
	       "line 3: the header has 2 delimiters, this row has 1");
	refuse("{usertime}\tpid\targs", "{1}\t2\tx\n{1}\t2",
	       "line 2: the header has 2 delimiters, this row has 1");
	/* a carriage return is a byte like any other */
	check(NULL, "pid,args\n1,x\r\n", "process 0 1 args='x\\x0d' pid=1\n");
	refuse(NULL, "args,pid,E\nx,1,2\r\n", "line 2: column 'E' is no number: '2\\x0d'");
	refuse(NULL, "args,pid\r\nx,1\r\n", "line 1: the header has no column 'pid'");
}

static void bad_lines(void **state)
{
	(void)state;
	refuse(NULL, "pid,args\n1,x\n2\n", "line 3: the header has 1 delimiters, this row has 0");
	refuse(NULL, "pid,args\n1,x,\n", "line 2: the header has 1 delimiters, this row has 2");
	refuse(NULL, "pid,args\n1,a\\,b\n2,a\\\\,b\n",
	       "line 3: the header has 1 delimiters, this row has 2");
	/* a field too few makes others look wrong; it is the first thing to say */
	refuse(NULL, "pid,args,ppid,E\n1,a,2,3\nx,y,z\n",
	       "line 3: the header has 3 delimiters, this row has 2");
	refuse(NULL, "pid,args,ppid\nx,a\\,b\n",
	       "line 2: the header has 2 delimiters, this row has 1");
	refuse(NULL, "# c\npid,tid\n,2\n",
	       "line 3: the row of a thread without its process before it");
	refuse(NULL, "pid,args\npid,args\n", "line 2: column 'pid' is no number: 'pid'");
	refuse(NULL, "a,b\n1,2\n", "line 1: the header has no column 'pid'");
	refuse(NULL, "pid,,x\n", "line 1: the name '' of a column cannot be one");
	refuse(NULL, "pid,x,\n", "line 1: the name '' of a column cannot be one");
	refuse(NULL, "pid,a\\,b\n", "line 1: the name 'a,b' of a column cannot be one");
	refuse(NULL, "pid,a,a\n", "line 1: the name 'a' of a column is there twice");
	refuse(NULL, "end,pid,finish\n", "line 1: the name 'finish' of a column is there twice");
	refuse(NULL, "numranks,mpinumranks,pid\n",
	       "line 1: the name 'mpinumranks' of a column is there twice");
	_cleanup_seen_ struct seen s = SEEN_INIT;
	assert_int_equal(read_pieces(&s, NULL, "pid\0x,args\n", 11, 11, 11), -EBADMSG);
	assert_string_equal(s.why.buf, "line 1: the name 'pid\\x00x' of a column cannot be one");
}

static void too_many_columns(void **state)
{
	_cleanup_strbuf_ struct strbuf csv = STRBUF_INIT, tsv = STRBUF_INIT, row = STRBUF_INIT;
	_cleanup_seen_ struct seen s = SEEN_INIT;

	(void)state;
	strbuf_addstr(&csv, "pid");
	strbuf_addstr(&tsv, "{usertime");
	for (int i = 1; i < 256; i++) {
		strbuf_addf(&csv, ",E%d", i);
		strbuf_addf(&row, ",%d", i);
		if (i < 254)
			strbuf_addf(&tsv, ",E%d", i);
	}
	/* with the list itself 256 */
	strbuf_addstr(&tsv, "}\tpid");
	check(tsv.buf, "", "");
	strbuf_addstr(&tsv, "\tE");
	refuse(tsv.buf, "", "the name 'E' of a column is one too many");
	_cleanup_free_ char *text = xasprintf("%s\n1%s\n", csv.buf, row.buf);
	assert_int_equal(read_text(&s, NULL, text), 0);
	assert_contains(s.log.buf, "process 0 1 pid=1 E1:1 E2:2 ");
	assert_contains(s.log.buf, " E254:254 E255:255\n");
	strbuf_addstr(&csv, ",E256\n");
	refuse(NULL, csv.buf, "line 1: the name 'E256' of a column is one too many");
}

/* What a receiver says ends the reading, and nothing more comes. */
static void receivers_that_had_enough(void **state)
{
	static const size_t processes[] = {0, 0, 0, 1, 2};

	(void)state;
	for (size_t after = 1; after <= 5; after++) {
		_cleanup_seen_ struct seen s = SEEN_INIT;
		const struct papiex_receiver to = {&s, see_thread, see_process};
		struct papiex_reader *r = papiex_reader_new(&to, NULL, 0, NULL, &s.why);

		s.stop_after = after;
		int error = papiex_reader_feed(r, THREADS, sizeof(THREADS) - 1, &s.why);
		/* the last process comes only at the end */
		assert_int_equal(error, after < 5 ? -ENOSPC : 0);
		assert_int_equal(papiex_reader_feed(r, "\n", 1, &s.why), error);
		assert_int_equal(papiex_reader_finish(r, &s.why), -ENOSPC);
		assert_int_equal(papiex_reader_finish(r, &s.why), -ENOSPC);
		assert_int_equal(s.processes + s.threads, after);
		assert_int_equal(s.processes, processes[after - 1]);
		assert_int_equal(s.why.len, 0);
		papiex_reader_free(r);
	}
}

/* ---- TSV ------------------------------------------------------------------------------------ */

static void tsv(void **state)
{
	static const char header[] =
		"{usertime,rssmax,processor,E}\ttags\thostname\texename\tpid\tnumtids\tstart\t"
		"finish\targs\n";

	(void)state;
	check(header,
	      "{5,70,1,1000}\tk:v\th\tx\t10\t1\t100\t900\t\"a\" 'b' \\t\\\\,\n"
	      "{1,70,1,1000,2,90,2,10,-3,80,3,}\t\th\ty\t11\t3\t100\t900\t\n",
	      "process 70 1 tags='k:v' hostname='h' exename='x' args='\"a\" 'b' \\t\\\\,' pid=10 "
	      "numtids=1 start=100 end=900 usertime=5 rssmax=70 processor=1 E:1000\n"
	      "thread usertime=1 rssmax=70 processor=1 E:1000\n"
	      "thread usertime=2 rssmax=90 processor=2 E:10\n"
	      "thread usertime=18446744073709551613 rssmax=80 processor=3 E:\n"
	      "process 240 3 hostname='h' exename='y' pid=11 numtids=3 start=100 end=900 "
	      "usertime=0 rssmax=90 processor=1 E:1010\n");
	/* the braces may stand anywhere; an unknown column outside is an event of the process */
	check("pid\t{usertime}\tX\n", "1\t{}\t5\n2\t{3,4}\t\n",
	      "process 0 1 pid=1 X:5\nthread usertime=3 X:\nthread usertime=4 X:\n"
	      "process 0 2 pid=2 usertime=7 X:\n");
	/* no comments here */
	refuse("{usertime}\tpid\n", "#\n", "line 1: the header has 1 delimiters, this row has 0");
	refuse("{usertime,rssmax}\tpid\n", "{1,2}\t1\n\n{1,2,3}\t1\n",
	       "line 3: 3 values are no multiple of the header's 2 metrics");
	refuse("{usertime,rssmax}\tpid\n", "{}\t1\n",
	       "line 1: 1 values are no multiple of the header's 2 metrics");
	refuse("{usertime}\tpid\n", "1\t1\n", "line 1: the metrics are not in braces");
	refuse("{usertime}\tpid\n", "{1\t1\n", "line 1: the metrics are not in braces");
	refuse("{usertime}\tpid\n", "\t1\n", "line 1: the metrics are not in braces");
	refuse("{usertime}\tpid\n", "{\t1\n", "line 1: the metrics are not in braces");
}

static void tsv_headers(void **state)
{
	(void)state;
	refuse("", "", "the header file does not hold one line");
	refuse("\n", "", "the header file does not hold one line");
	refuse("{usertime}\tpid\n{usertime}\tpid\n", "", "the header file does not hold one line");
	refuse("pid\targs\n", "", "the header has no metrics in braces");
	refuse("{pid}\targs\n", "", "the header has no column 'pid'");
	refuse("{}\tpid\n", "", "the name '' of a column cannot be one");
	refuse("{usertime,}\tpid\n", "", "the name '' of a column cannot be one");
	refuse("{usertime,args}\tpid\n", "", "the name 'args' of a column cannot be one");
	refuse("{usertime}\tpid\tusertime\n", "", "the name 'usertime' of a column is there twice");
	refuse("{a,b\tpid\n", "", "the name '{a,b' of a column cannot be one");
	refuse("{a,b}\tpid\t{c,d}\n", "", "the name '{c,d}' of a column cannot be one");
	/* braces in braces are a name like others */
	check("{{a},b}\tpid\n", "{1,2}\t3\n", "process 0 1 pid=3 {a}:1 b:2\n");
}

/* ---- pieces --------------------------------------------------------------------------------- */

/* In two parts, cut at every byte; then in parts of few bytes. */
static void check_pieces(const char *header, const char *text, const char *log, const char *why)
{
	size_t n = strlen(text);

	for (size_t cut = 1; cut <= n + 10; cut++) {
		_cleanup_seen_ struct seen s = SEEN_INIT;
		size_t first = cut <= n ? cut : cut - n, piece = cut <= n ? SIZE_MAX : cut - n;

		assert_int_equal(read_pieces(&s, header, text, n, first, piece),
				 *why ? -EBADMSG : 0);
		assert_string_equal(s.why.buf, why);
		assert_string_equal(s.log.buf, log);
	}
}

static void cuts_do_not_matter(void **state)
{
	(void)state;
	check_pieces(NULL, THREADS, THREADS_LOG, "");
	check_pieces(NULL, "# a\npid,args,E\n\n1,\\\\\\,\\n,-5\n#\n2,,",
		     "process 0 1 args='\\,\\x0a' pid=1 E:18446744073709551611\n"
		     "process 0 1 pid=2 E:\n",
		     "");
	check_pieces(NULL, "pid,args\n1,a\n2,b\nx,c\n4,d\n", "process 0 1 args='a' pid=1\n",
		     "line 4: column 'pid' is no number: 'x'");
	check_pieces("{usertime,E}\tpid\targs\n", "{1,2}\t3\t\\t\n\n{1,2,3,4}\t5\tx",
		     "process 0 1 args='\\t' pid=3 usertime=1 E:2\n"
		     "thread usertime=1 E:2\nthread usertime=3 E:4\n"
		     "process 0 2 args='x' pid=5 usertime=4 E:6\n",
		     "");
}

/* ---- what our own writer makes of rows ------------------------------------------------------ */

static void fill(struct row *r, uint64_t base)
{
	static const unsigned char counters[] = {PL_COUNTED, 7, PL_COUNTED, 9};

	row_init(r);
	for (size_t i = 0; i < metric_count; i++)
		if (metrics[i].papiex && metrics[i].type == TYPE_TEXT)
			row_set_text(r, metrics[i].id, "a,\\b\n\xff", 6);
		else if (metrics[i].papiex)
			row_set(r, metrics[i].id, base + metrics[i].id);
	row_set_text(r, METRIC_EVENTS, "X,Y", 3);
	row_set_text(r, METRIC_COUNTERS, (const char *)counters, sizeof(counters));
}

static void what_is_written_is_read(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, head = STRBUF_INIT, want = STRBUF_INIT;
	_cleanup_seen_ struct seen s = SEEN_INIT;
	struct row r, t;
	const struct row *rest[] = {&t};
	const struct papiex_process alone = {.process = &r}, both = {&r, rest, 1};

	(void)state;
	fill(&r, 1000);
	fill(&t, 5);
	strbuf_addstr(&want, "process 1027 1");
	add_row(&want, &r);
	papiex_csv_header(&text, "X,Y");
	papiex_csv_process(&text, &alone, "X,Y");
	assert_int_equal(read_text(&s, NULL, text.buf), 0);
	assert_string_equal(s.log.buf, want.buf);
	/* two threads, in both formats */
	strbuf_reset(&text);
	papiex_csv_header(&text, "X,Y");
	papiex_csv_process(&text, &both, "X,Y");
	assert_int_equal(read_text(&s, NULL, text.buf), 0);
	assert_int_equal(s.threads, 2);
	assert_contains(s.log.buf, "\nprocess 1059 2 tags='a,\\b\\x0a\\xff' ");
	assert_contains(s.log.buf, " start=1023 end=1024 usertime=1055 systemtime=1057 "
				   "rssmax=1027 minflt=1061 ");
	assert_contains(s.log.buf, " rdtsc_duration=1109 X:14 Y:18\n");
	strbuf_reset(&text);
	papiex_tsv_header(&head, "X,Y");
	papiex_tsv_process(&text, &both, "X,Y");
	assert_int_equal(read_text(&s, head.buf, text.buf), 0);
	assert_int_equal(s.threads, 2);
	assert_contains(s.log.buf, "\nprocess 1059 2 tags='a,\\b\\n\\xff' ");
	assert_contains(s.log.buf, " start=1023 end=1024 usertime=1055 systemtime=1057 "
				   "rssmax=1027 minflt=1061 ");
	assert_contains(s.log.buf, " rdtsc_duration=1109 X:14 Y:18\n");
	row_release(&r);
	row_release(&t);
}

/* ---- files ---------------------------------------------------------------------------------- */

static void formats_and_names(void **state)
{
	char far[1200];

	(void)state;
	memset(far, 'x', sizeof(far));
	assert_int_equal(papiex_format_of(far, sizeof(far)), PAPIEX_UNKNOWN);
	assert_int_equal(papiex_format_of(NULL, 0), PAPIEX_UNKNOWN);
	far[1024] = '\t';
	assert_int_equal(papiex_format_of(far, sizeof(far)), PAPIEX_UNKNOWN);
	far[1] = ',';
	assert_int_equal(papiex_format_of(far, sizeof(far)), PAPIEX_CSV);
	far[1023] = '\t';
	assert_int_equal(papiex_format_of(far, sizeof(far)), PAPIEX_TSV);
	assert_int_equal(papiex_format_of(far, 1023), PAPIEX_CSV);
	assert_int_equal(papiex_format_of(far, 1), PAPIEX_UNKNOWN);

	assert_true(papiex_is_data_name("pp053-papiex-615503-0.csv"));
	assert_true(papiex_is_data_name("./pp053-collated-papiex-685000-0.csv"));
	assert_true(papiex_is_data_name("/a/node.example.org-papiex.tsv"));
	assert_false(papiex_is_data_name("node-papiex-header.tsv"));
	assert_false(papiex_is_data_name("node-papiex-1-0.csv.error"));
	assert_false(papiex_is_data_name("a-papiex/node.csv"));
	assert_false(papiex_is_data_name("job_metadata"));
	assert_true(papiex_is_header_name("node-papiex-header.tsv"));
	assert_true(papiex_is_header_name("./node-papiex-header.tsv"));
	assert_false(papiex_is_header_name("node-papiex.tsv"));
	assert_false(papiex_is_header_name("node-papiex-header.tsv/x"));
}

/* ---- real files, where there are some ------------------------------------------------------- */

static char *slurp(const char *dir, const char *name)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name);
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = xcalloc(1, 65536);

	if (fd < 0 || read(fd, text, 65535) < 0)
		fail_msg("cannot read '%s'", path);
	return text;
}

static void files_of_real_jobs(void **state)
{
	static const char *const args[] = {
		"-d\" -f2",
		"\\\\\\",
		" b",
		"\\",
		",",
		"'",
		"-e \\tHello",
		"-e \\tThereU\\nR",
		"-e \\a",
		"-e \\a",
		"-e \\",
		"-e some test \\b and more text",
		"b",
		"\\b",
		"\\b",
		"-e \\. some text",
		"-e try\\.some more text",
		"s/^\\.//",
	};
	const char *data = getenv("PLIMSOLL_TEST_DATA"), *source = getenv("PL_SOURCE");
	_cleanup_seen_ struct seen s = SEEN_INIT;

	(void)state;
	char *dir = data     ? xasprintf("%s/epmt", data)
		    : source ? xasprintf("%s/../shared/data/epmt", source)
			     : xstrdup("");
	if (access(dir, R_OK) != 0) {
		free(dir);
		skip_because("no sample data beside the project");
	}
	char *header = slurp(dir, "tsv/12340/perftools.org-papiex-header.tsv");
	char *text = slurp(dir, "tsv/12340/perftools.org-papiex.tsv");
	assert_int_equal(read_text(&s, header, text), 0);
	assert_int_equal(s.processes, 18);
	assert_true(s.shifted);
	const char *at = s.log.buf;
	for (size_t i = 0; i < ARRAY_SIZE(args); i++) {
		_cleanup_free_ char *want = xasprintf(" args='%s' exitcode=0 ", args[i]);
		const char *eol = strchr(at, '\n'), *found = strstr(at, want);

		if (!found || found > eol)
			fail_msg("process %zu has not%s", i + 1, want);
		at = eol + 1;
	}
	free(header);
	free(text);
	text = slurp(dir, "csv/pp053-papiex-615503-1.csv");
	assert_int_equal(read_text(&s, NULL, text), 0);
	assert_int_equal(s.processes, 2);
	assert_contains(s.log.buf, " path='/bin/df' args='-PT /ptmp' exitcode=0 pid=18842 ");
	assert_contains(s.log.buf, " rdtsc_duration=2960259 PERF_COUNT_SW_CPU_CLOCK:290254\n");
	free(text);
	text = slurp(dir, "corrupted_csv/pp053-papiex-615503-0.csv");
	assert_int_equal(read_text(&s, NULL, text), -EBADMSG);
	assert_string_equal(s.why.buf, "line 2: the header has 40 delimiters, this row has 39");
	free(text);
	free(dir);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(three_generations),
		cmocka_unit_test(columns_by_name),
		cmocka_unit_test(escapes),
		cmocka_unit_test(every_byte),
		cmocka_unit_test(arguments_of_10_mb),
		cmocka_unit_test(lines_that_are_too_long),
		cmocka_unit_test(threads),
		cmocka_unit_test(the_host_where_rows_name_none),
		cmocka_unit_test(numbers),
		cmocka_unit_test(what_is_no_number),
		cmocka_unit_test(shifted_fields),
		cmocka_unit_test(comments_and_empty_lines),
		cmocka_unit_test(ends_of_files),
		cmocka_unit_test(bad_lines),
		cmocka_unit_test(too_many_columns),
		cmocka_unit_test(receivers_that_had_enough),
		cmocka_unit_test(tsv),
		cmocka_unit_test(tsv_headers),
		cmocka_unit_test(cuts_do_not_matter),
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(formats_and_names),
		cmocka_unit_test(files_of_real_jobs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
