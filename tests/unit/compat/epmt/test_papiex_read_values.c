/*
 * The reader of papiex's files: every value of every generation.
 */
#include "papiex_read.h"

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
		_cleanup_free_ char *why = xasprintf("line 3: column '%s' is not a number%s: '%s'",
						     names[at], of, out);

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
		"x", "-", "--1", "+1", "- 1", "1 2", "1.5", "0x10", "1-", "1e3", "\"1\"", "\\n",
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
	/* blanks around it do no harm, and blanks alone are nothing */
	check("{usertime,minflt}\tpid\n", "{ 1, -2 }\t 5 \n",
	      "process 0 1 pid=5 usertime=1 minflt=18446744073709551614\n");
	check(NULL, "pid,minflt\n1,  \n", "process 0 1 pid=1\n");
	refuse("{usertime}\tpid\n", "{1}\t5,6\n", "line 1: column 'pid' is not a number: '5,6'");
	refuse("{usertime}\tpid\n", "{{1}\t5\n", "line 1: column 'usertime' is not a number: '{1'");
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
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
