/*
 * papiex's two formats, to the byte, as EPMT reads them; and the files that are made of a job's
 * records.
 */
#include "unit.h"

#include <dirent.h>
#include <errno.h>

#include "compat/epmt/papiex/collate.h"
#include "compat/epmt/papiex/papiex.h"
#include "compat/epmt/papiex/papiex_files.h"
#include "records/record_file.h"

#define METRIC_NAMES                                                                               \
	"usertime,systemtime,rssmax,minflt,majflt,inblock,outblock,vol_ctxsw,invol_ctxsw,cminflt," \
	"cmajflt,cutime,cstime,num_threads,starttime,processor,delayacct_blkio_time,guest_time,"   \
	"rchar,wchar,syscr,syscw,read_bytes,write_bytes,cancelled_write_bytes,time_oncpu,"         \
	"time_waiting,timeslices"
#define CSV_NAMES                                                                           \
	"tags,hostname,exename,path,args,exitcode,exitsignal,pid,generation,ppid,pgid,sid," \
	"numtids,mpinumranks,tid,mpirank,start,end," METRIC_NAMES
#define TSV_NAMES                                                                                 \
	"\ttags\thostname\texename\tpath\texitcode\texitsignal\tpid\tgeneration\tppid\tpgid\tsid" \
	"\tnumtids\tstart\tend\targs"

/* The numbers of a full row: each metric holds its base plus its own number. */
#define METRIC_VALUES                                                                           \
	"1025,1026,1027,1028,1029,1030,1031,1032,1033,1034,1035,1036,1037,1038,1007,1039,1040," \
	"1041,1042,1043,1044,1045,1046,1047,1048,1049,1050,1051"
#define NO_METRICS "0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0"

static void fill_row(struct row *r, uint64_t base)
{
	row_init(r);
	for (size_t i = 0; i < metric_count; i++)
		if (metrics[i].type != TYPE_TEXT)
			row_set(r, metrics[i].id, base + metrics[i].id);
	row_set_text(r, METRIC_TAGS, "k:v", 3);
	row_set_text(r, METRIC_HOSTNAME, "node", 4);
	row_set_text(r, METRIC_EXENAME, "ls", 2);
	row_set_text(r, METRIC_PATH, "/bin/ls", 7);
	row_set_text(r, METRIC_ARGS, "-l /tmp", 7);
}

/* Values of events in the order of their names: state, value, and when scaled by how much. */
static void set_counters(struct row *r, const char *names, const uint64_t *numbers, size_t n)
{
	unsigned char buf[16 * PL_VARINT_MAX], *p = buf;

	for (size_t i = 0; i < n; i++)
		p = pl_put_varint(p, numbers[i]);
	row_set_text(r, METRIC_EVENTS, names, strlen(names));
	row_set_text(r, METRIC_COUNTERS, (char *)buf, (size_t)(p - buf));
}

static size_t count(const char *s, char c)
{
	size_t n = 0;

	for (; *s; s++)
		n += *s == c;
	return n;
}

/* ---- header lines --------------------------------------------------------------------------- */

static void csv_headers(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	(void)state;
	papiex_csv_header(&out, NULL);
	assert_text(&out, CSV_NAMES "\n");
	assert_int_equal(count(out.buf, ',') + 1, 46);
	strbuf_reset(&out);
	papiex_csv_header(&out, "");
	assert_text(&out, CSV_NAMES "\n");
	strbuf_reset(&out);
	papiex_csv_header(&out, "PERF_COUNT_SW_CPU_CLOCK");
	assert_text(&out, CSV_NAMES ",rdtsc_duration,PERF_COUNT_SW_CPU_CLOCK\n");
	assert_int_equal(count(out.buf, ',') + 1, 48);
	strbuf_reset(&out);
	papiex_csv_header(&out, "A,B,C");
	assert_text(&out, CSV_NAMES ",rdtsc_duration,A,B,C\n");
	assert_int_equal(count(out.buf, ',') + 1, 50);
}

static void tsv_headers(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	(void)state;
	papiex_tsv_header(&out, NULL);
	assert_text(&out, "{" METRIC_NAMES "}" TSV_NAMES "\n");
	strbuf_reset(&out);
	papiex_tsv_header(&out, "A,B");
	assert_text(&out, "{" METRIC_NAMES ",rdtsc_duration,A,B}" TSV_NAMES "\n");
	assert_int_equal(count(out.buf, '\t'), 15);
}

/* ---- rows ----------------------------------------------------------------------------------- */

static void a_process(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	struct row r;

	(void)state;
	fill_row(&r, 1000);
	struct papiex_process p = {.process = &r};
	papiex_csv_process(&out, &p, NULL);
	assert_text(&out,
		    "k:v,node,ls,/bin/ls,-l /tmp,1014,1015,1001,1020,1002,1003,1004,1017,1019,"
		    "1005,1018,1023,1024," METRIC_VALUES "\n");
	strbuf_reset(&out);
	papiex_tsv_process(&out, &p, NULL);
	assert_text(&out,
		    "{" METRIC_VALUES "}\tk:v\tnode\tls\t/bin/ls\t1014\t1015\t1001\t1020\t1002\t"
		    "1003\t1004\t1017\t1023\t1024\t-l /tmp\n");
	row_release(&r);
}

static void absent_values_are_0(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	struct row r;

	(void)state;
	row_init(&r);
	struct papiex_process p = {.process = &r};
	papiex_csv_process(&out, &p, NULL);
	assert_text(&out, ",,,,,0,0,0,0,0,0,0,0,0,0,0,0,0," NO_METRICS "\n");
	strbuf_reset(&out);
	papiex_tsv_process(&out, &p, "A");
	assert_text(&out, "{" NO_METRICS ",0,0}\t\t\t\t\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t\n");
	/* what a row held before it was cleared is not there any more */
	strbuf_reset(&out);
	row_set(&r, METRIC_PID, 5);
	row_set_text(&r, METRIC_TAGS, "old", 3);
	row_clear(&r);
	papiex_csv_process(&out, &p, NULL);
	assert_text(&out, ",,,,,0,0,0,0,0,0,0,0,0,0,0,0,0," NO_METRICS "\n");
	row_release(&r);
}

static void several_threads(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	struct row r, t1, t2;
	const struct row *threads[] = {&t1, &t2};

	(void)state;
	fill_row(&r, 1000);
	row_init(&t1);
	row_set(&t1, METRIC_TID, 12);
	row_set(&t1, METRIC_START, 7);
	row_set(&t1, METRIC_END, 9);
	row_set(&t1, METRIC_USERTIME, 3);
	row_set_text(&t1, METRIC_HOSTNAME, "node", 4);
	row_init(&t2);
	row_set(&t2, METRIC_TID, 13);
	row_set(&t2, METRIC_TIMESLICES, 4);
	struct papiex_process p = {&r, threads, 2};
	papiex_csv_process(&out, &p, NULL);
	/* the columns of the process are empty for its further threads */
	assert_text(
		&out,
		"k:v,node,ls,/bin/ls,-l /tmp,1014,1015,1001,1020,1002,1003,1004,1017,1019,"
		"1005,1018,1023,1024," METRIC_VALUES "\n"
		",,,,,,,,,,,,,,12,0,7,9,3,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0\n"
		",,,,,,,,,,,,,,13,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,4\n");
	strbuf_reset(&out);
	papiex_tsv_process(&out, &p, NULL);
	/* one vector, that of each thread behind the other */
	assert_text(
		&out,
		"{" METRIC_VALUES ",3,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0"
		",0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,0,4}"
		"\tk:v\tnode\tls\t/bin/ls\t1014\t1015\t1001\t1020\t1002\t1003\t1004\t1017\t1023\t"
		"1024\t-l /tmp\n");
	row_release(&r);
	row_release(&t1);
	row_release(&t2);
}

static void events(void **state)
{
	/* B could not be counted; C was multiplexed: 500 permille of the time */
	static const uint64_t numbers[] = {PL_COUNTED,
					   111,
					   0,
					   ENOENT,
					   PL_COUNTED | PL_COUNTED_SCALED,
					   333,
					   500,
					   PL_COUNTED | PL_COUNTED_USER,
					   UINT64_MAX};
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	struct row r;

	(void)state;
	row_init(&r);
	row_set(&r, METRIC_RDTSC_DURATION, 99);
	set_counters(&r, "A,B,C,D", numbers, ARRAY_SIZE(numbers));
	struct papiex_process p = {.process = &r};
	papiex_csv_process(&out, &p, "A,B,C,D");
	assert_text(&out, ",,,,,0,0,0,0,0,0,0,0,0,0,0,0,0," NO_METRICS ",99,111,0,333,-1\n");
	/* in the columns of the file, whatever the order in the process */
	strbuf_reset(&out);
	papiex_csv_process(&out, &p, "D,X,A");
	assert_text(&out, ",,,,,0,0,0,0,0,0,0,0,0,0,0,0,0," NO_METRICS ",99,-1,0,111\n");
	strbuf_reset(&out);
	papiex_csv_process(&out, &p, NULL);
	assert_text(&out, ",,,,,0,0,0,0,0,0,0,0,0,0,0,0,0," NO_METRICS "\n");
	row_release(&r);
}

static void counters_of_a_row(void **state)
{
	static const uint64_t numbers[] = {PL_COUNTED | PL_COUNTED_SCALED | PL_COUNTED_USER, 7, 250,
					   0, 13};
	struct counter c[4];
	struct row r;

	(void)state;
	row_init(&r);
	assert_int_equal(row_counters(&r, c, 4), 0);
	set_counters(&r, "cycles,misses,third", numbers, ARRAY_SIZE(numbers));
	assert_int_equal(row_counters(&r, c, 4), 3);
	assert_int_equal(c[0].name_size, 6);
	assert_memory_equal(c[0].name, "cycles", 6);
	assert_true(c[0].present && c[0].scaled && c[0].user_only);
	assert_int_equal(c[0].value, 7);
	assert_int_equal(c[0].permille, 250);
	assert_false(c[1].present);
	assert_int_equal(c[1].problem, 13);
	/* there are more names than values */
	assert_false(c[2].present);
	assert_int_equal(c[2].problem, ENODATA);
	assert_int_equal(row_counters(&r, c, 1), 1);
	row_release(&r);
}

/* ---- escapes -------------------------------------------------------------------------------- */

static void escapes(void **state)
{
	static const char odd[] = "\a\b\f\n\r\t\v,\\ \"'{}#";
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	struct row r;

	(void)state;
	row_init(&r);
	row_set_text(&r, METRIC_ARGS, odd, sizeof(odd) - 1);
	row_set_text(&r, METRIC_EXENAME, "\xff\xc3\xa4", 3);
	struct papiex_process p = {.process = &r};
	papiex_csv_process(&out, &p, NULL);
	assert_text(
		&out,
		",,\xff\xc3\xa4,,\\a\\b\\f\\n\\r\\t\\v\\,\\\\ \"'{}#,0,0,0,0,0,0,0,0,0,0,0,0,0," NO_METRICS
		"\n");
	strbuf_reset(&out);
	/* here neither the comma nor, as papiex has it, the backslash */
	papiex_tsv_process(&out, &p, NULL);
	assert_text(&out, "{" NO_METRICS "}\t\t\t\xff\xc3\xa4\t\t0\t0\t0\t0\t0\t0\t0\t0\t0\t0\t"
			  "\\a\\b\\f\\n\\r\\t\\v,\\ \"'{}#\n");
	row_release(&r);
}

static void what_we_write_collates(void **state)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT, why = STRBUF_INIT;
	struct collation c = COLLATION_INIT;
	struct row r;

	(void)state;
	fill_row(&r, 1000);
	row_set_text(&r, METRIC_ARGS, "a,b\\,c\\\n", 8);
	struct papiex_process p = {.process = &r};
	papiex_csv_header(&text, "A,B");
	papiex_csv_process(&text, &p, "A,B");
	for (int i = 0; i < 2; i++)
		if (collation_add(&c, text.buf, text.len, &why) < 0)
			fail_msg("%s", why.buf);
	assert_int_equal(count(c.rows.buf, '\n'), 2);
	collation_release(&c);
	row_release(&r);
}

/* ---- files of a job ------------------------------------------------------------------------- */

static void forms(void **state)
{
	(void)state;
	assert_int_equal(papiex_form_of(NULL), PAPIEX_CSV);
	assert_int_equal(papiex_form_of(""), PAPIEX_CSV);
	assert_int_equal(papiex_form_of("PERF_COUNT_SW_CPU_CLOCK"), PAPIEX_CSV);
	assert_int_equal(papiex_form_of("COLLATED_TSV"), PAPIEX_TSV);
	assert_int_equal(papiex_form_of("PERF_COUNT_SW_CPU_CLOCK,COLLATED_TSV"), PAPIEX_TSV);
	assert_int_equal(papiex_form_of("COLLATED_TSV,X"), PAPIEX_TSV);
	assert_int_equal(papiex_form_of("COLLATED_TSVX"), PAPIEX_CSV);
	assert_int_equal(papiex_form_of("XCOLLATED_TSV"), PAPIEX_CSV);
}

/* A process of two images, the first of which executed the second. */
static void load_books(struct accounting *b, const char *host)
{
	static const char boot[] = "0123456789abcdef";
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct record_writer w = RECORD_WRITER_INIT;

	assert_int_equal(record_writer_add_schema(&w), 0);
	record_writer_begin(&w);
	record_writer_text(&w, METRIC_HOSTNAME, host, strlen(host));
	record_writer_text(&w, METRIC_BOOT_ID, boot, sizeof(boot) - 1);
	record_writer_u64(&w, METRIC_BOOTTIME, 1000000000);
	record_writer_u64(&w, METRIC_REALTIME, 1561715893000000);
	assert_int_equal(record_writer_add(&w, PL_HOST, 0), 0);
	for (unsigned i = 0; i < 2; i++) {
		record_writer_begin(&w);
		record_writer_u64(&w, METRIC_PID, 42);
		record_writer_u64(&w, METRIC_PPID, 41);
		record_writer_u64(&w, METRIC_STARTTIME, 1000000);
		record_writer_u64(&w, METRIC_BOOTTIME, 1000000000 + i * 2000000000ull);
		record_writer_text(&w, METRIC_PATH, i ? "/bin/ls" : "/bin/sh", 7);
		record_writer_text(&w, METRIC_ARGV, i ? "ls\0-l" : "sh\0-c", 6);
		assert_int_equal(record_writer_add(&w, PL_START, 0), 0);
		record_writer_begin(&w);
		record_writer_u64(&w, METRIC_PID, 42);
		record_writer_u64(&w, METRIC_STARTTIME, 1000000);
		record_writer_u64(&w, METRIC_BOOTTIME, 2000000000 + i * 2000000000ull);
		record_writer_u64(&w, METRIC_USERTIME, i ? 700 : 300);
		record_writer_u64(&w, METRIC_RSSMAX, i ? 2000 : 1000);
		if (i)
			record_writer_u64(&w, METRIC_EXITCODE, 3);
		assert_int_equal(record_writer_add(&w, i ? PL_END : PL_EXEC, 0), 0);
	}
	accounting_init(b);
	b->keep_threads = true;
	assert_int_equal(accounting_add(b, memory_file(w.out.buf, w.out.len), "memory", NULL), 0);
	assert_int_equal(accounting_load(b, &why), 0);
	record_writer_release(&w);
}

static void check_file(const char *dir, const char *name, const char *want)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", dir, name);
	char got[4096] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		fail_msg("there is no '%s'", name);
	assert_true(read(fd, got, sizeof(got) - 1) >= 0);
	close(fd);
	assert_string_equal(got, want);
}

#define TIMES(start, end) "156171589" start "000000,156171589" end "000000"
#define LS_METRICS "400,0,2000,0,0,0,0,0,0,0,0,0,0,0,1000000,0,0,0,0,0,0,0,0,0,0,0,0,0"
#define SH_METRICS "300,0,1000,0,0,0,0,0,0,0,0,0,0,0,1000000,0,0,0,0,0,0,0,0,0,0,0,0,0"

static void csv_files_of_a_job(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct accounting b;
	int dir = open_dir(*state);

	load_books(&b, "node1");
	assert_int_equal(papiex_write_files(&b, dir, PAPIEX_CSV, &why), 2);
	check_file(*state, "node1-papiex-42-0.csv",
		   CSV_NAMES
		   "\n,node1,sh,/bin/sh,-c,0,0,42,0,41,0,0,1,0,42,0," TIMES("3", "4") "," SH_METRICS
										      "\n");
	check_file(*state, "node1-papiex-42-1.csv",
		   CSV_NAMES
		   "\n,node1,ls,/bin/ls,-l,3,0,42,1,41,0,0,1,0,42,0," TIMES("4", "6") "," LS_METRICS
										      "\n");
	/* making them twice changes nothing */
	assert_int_equal(papiex_write_files(&b, dir, PAPIEX_CSV, &why), 2);
	accounting_release(&b);
	close(dir);
}

static void tsv_files_of_a_job(void **state)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct accounting b;
	int dir = open_dir(*state);

	load_books(&b, "node1");
	assert_int_equal(papiex_write_files(&b, dir, PAPIEX_TSV, &why), 2);
	check_file(*state, "node1-papiex-header.tsv", "{" METRIC_NAMES "}" TSV_NAMES "\n");
	check_file(*state, "node1-papiex.tsv",
		   "{" SH_METRICS "}\t\tnode1\tsh\t/bin/sh\t0\t0\t42\t0\t41\t0\t0\t1\t"
		   "1561715893000000\t1561715894000000\t-c\n"
		   "{" LS_METRICS "}\t\tnode1\tls\t/bin/ls\t3\t0\t42\t1\t41\t0\t0\t1\t"
		   "1561715894000000\t1561715896000000\t-l\n");
	accounting_release(&b);
	close(dir);
}

/* The name of a host comes from a file that anybody may have written. */
static void hostile_host_names_stay_in_the_directory(void **state)
{
	static const char *const hosts[] = {"../evil", "..", "a/b"};
	_cleanup_free_ char *inner = xasprintf("%s/job", (char *)*state);
	_cleanup_free_ char *dots = xasprintf("%s/job/...", (char *)*state);
	_cleanup_free_ char *a = xasprintf("%s/job/a", (char *)*state);

	/* directories that such a file may well come with */
	assert_int_equal(mkdir(inner, 0700) | mkdir(dots, 0700) | mkdir(a, 0700), 0);
	int dir = open_dir(inner);
	for (size_t i = 0; i < ARRAY_SIZE(hosts); i++)
		for (int form = PAPIEX_CSV; form <= (int)PAPIEX_TSV; form++) {
			_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
			struct accounting b;

			load_books(&b, hosts[i]);
			(void)papiex_write_files(&b, dir, (enum papiex_format)form, &why);
			accounting_release(&b);
		}
	close(dir);
	DIR *outside = opendir(*state);
	assert_non_null(outside);
	for (struct dirent *e; (e = readdir(outside));)
		if (e->d_name[0] != '.' && strcmp(e->d_name, "job") != 0)
			fail_msg("'%s' was written outside", e->d_name);
	closedir(outside);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(csv_headers),
		cmocka_unit_test(tsv_headers),
		cmocka_unit_test(a_process),
		cmocka_unit_test(absent_values_are_0),
		cmocka_unit_test(several_threads),
		cmocka_unit_test(events),
		cmocka_unit_test(counters_of_a_row),
		cmocka_unit_test(escapes),
		cmocka_unit_test(what_we_write_collates),
		cmocka_unit_test(forms),
		cmocka_unit_test_setup_teardown(csv_files_of_a_job, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(tsv_files_of_a_job, scratch_setup,
						scratch_teardown),
		cmocka_unit_test_setup_teardown(hostile_host_names_stay_in_the_directory,
						scratch_setup, scratch_teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
