/*
 * The reader of papiex's files: which lines are bad, in CSV and in TSV, in one piece and in many;
 * files that our own writer made, and files of real jobs.
 */
#include "papiex_read.h"

#include "compat/epmt/papiex/papiex.h"
#include "plimsoll/record.h"

/* ---- lines ---------------------------------------------------------------------------------- */

static void comments_and_empty_lines(void **state)
{
	(void)state;
	check(NULL, "# tags a,b\n\n#\npid,args\n\n1,x\n# later\n\n2,y\n\n",
	      "process 0 1 args='x' pid=1\nprocess 0 1 args='y' pid=2\n");
	/* behind the header, what fits it is a row */
	check(NULL, "tags,pid\n#k:v,1\n", "process 0 1 tags='#k:v' pid=1\n");
	refuse(NULL, "# one\npid\n\n# two, three\nx\n",
	       "line 5: column 'pid' is not a number: 'x'");
}

static void ends_of_files(void **state)
{
	(void)state;
	refuse(NULL, "", "has no header");
	refuse(NULL, "\n\n", "has no header");
	refuse(NULL, "# only a comment\n", "has no header");
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
	refuse(NULL, "args,pid,E\nx,1,2\r\n", "line 2: column 'E' is not a number: '2\\x0d'");
	refuse(NULL, "args,pid\r\nx,1\r\n", "line 1: the header has no column 'pid'");
}

static void bad_lines(void **state)
{
	(void)state;
	refuse(NULL, "pid,args\n1,x\n2\n", "line 3: the header has 1 delimiter, this row has 0");
	refuse(NULL, "pid,args\n1,x,\n", "line 2: the header has 1 delimiter, this row has 2");
	refuse(NULL, "pid,args\n1,a\\,b\n2,a\\\\,b\n",
	       "line 3: the header has 1 delimiter, this row has 2");
	/* a field too few makes others look wrong; it is the first thing to say */
	refuse(NULL, "pid,args,ppid,E\n1,a,2,3\nx,y,z\n",
	       "line 3: the header has 3 delimiters, this row has 2");
	refuse(NULL, "pid,args,ppid\nx,a\\,b\n",
	       "line 2: the header has 2 delimiters, this row has 1");
	refuse(NULL, "# c\npid,tid\n,2\n",
	       "line 3: the row of a thread without its process before it");
	refuse(NULL, "pid,args\npid,args\n", "line 2: column 'pid' is not a number: 'pid'");
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
		"end\targs\n";

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
	refuse("{usertime}\tpid\n", "#\n", "line 1: the header has 1 delimiter, this row has 0");
	refuse("{usertime,rssmax}\tpid\n", "{1,2}\t1\n\n{1,2,3}\t1\n",
	       "line 3: 3 values are not a multiple of the header's 2 metrics");
	refuse("{usertime,rssmax}\tpid\n", "{}\t1\n",
	       "line 1: 1 values are not a multiple of the header's 2 metrics");
	refuse("{usertime}\tpid\n", "1\t1\n", "line 1: the metrics are not in braces");
	refuse("{usertime}\tpid\n", "{1\t1\n", "line 1: the metrics are not in braces");
	refuse("{usertime}\tpid\n", "\t1\n", "line 1: the metrics are not in braces");
	refuse("{usertime}\tpid\n", "{\t1\n", "line 1: the metrics are not in braces");
}

/* The name "finish" tells EPMT's own `convert`: Python's csv wrote the texts, and the column that
 * would tell whether papiex misread the others was left out. */
static void tsv_that_epmt_converted(void **state)
{
	static const char header[] = "{processor,usertime}\tpid\tfinish\targs";

	(void)state;
	check(header, "{0, 5}\t10\t900\ta b\r\n{0, 1, 0, 2}\t11\t901\t\"x\ty \"\"z\"\"\"\r\n",
	      "process 0 1 args='a b' pid=10 end=900 usertime=5\n"
	      "thread usertime=1\nthread usertime=2\n"
	      "process 0 2 args='x\\x09y \"z\"' pid=11 end=901 usertime=3\n");
	/* what only looks quoted is taken as it is */
	check(header, "{0, 5}\t10\t900\t\"open\n{0, 5}\t11\t900\t\"a\"b\n",
	      "process 0 1 args='\"open' pid=10 end=900 usertime=5\n"
	      "process 0 1 args='\"a\"b' pid=11 end=900 usertime=5\n");
	refuse(header, "{0, x}\t10\t900\ta\r\n", "line 1: column 'usertime' is not a number: ' x'");
}

static void tsv_headers(void **state)
{
	(void)state;
	refuse("", "", "the header file must have one line");
	refuse("\n", "", "the header file must have one line");
	refuse("{usertime}\tpid\n{usertime}\tpid\n", "", "the header file must have one line");
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
		     "line 4: column 'pid' is not a number: 'x'");
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
		if (metrics[i].names[METRIC_TOOL_papiex] && metrics[i].type == TYPE_TEXT)
			row_set_text(r, metrics[i].id, "a,\\b\n\xff", 6);
		else if (metrics[i].names[METRIC_TOOL_papiex])
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
		cmocka_unit_test(comments_and_empty_lines),
		cmocka_unit_test(ends_of_files),
		cmocka_unit_test(bad_lines),
		cmocka_unit_test(too_many_columns),
		cmocka_unit_test(receivers_that_had_enough),
		cmocka_unit_test(tsv),
		cmocka_unit_test(tsv_that_epmt_converted),
		cmocka_unit_test(tsv_headers),
		cmocka_unit_test(cuts_do_not_matter),
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(formats_and_names),
		cmocka_unit_test(files_of_real_jobs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
