/*
 * The parsers of /proc: lines that programs with odd names make, lines that are cut off, and the
 * lines of the kernel that this runs on.
 */
#include "unit.h"

#include "core/system/procparse.h"

/* Everything behind the command name of a real line; the numbers are their own field numbers. */
#define REST                                                                                     \
	" S 4 5 6 7 -1 9 10 11 12 13 14 15 16 17 18 -19 20 21 22 23 24 25 26 27 28 29 30 31 32 " \
	"33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51 52\n"

static bool parse_stat(const char *text, size_t n, struct proc_stat *st)
{
	char *copy = exact_copy(text, n);

	memset(st, 0xee, sizeof(*st));
	bool ok = proc_parse_stat(copy, n, st);
	/* the name points into the text, which goes away here */
	if (ok)
		st->comm = text + (st->comm - copy);
	free(copy);
	return ok;
}

/* ---- stat ----------------------------------------------------------------------------------- */

static void fields_have_their_numbers(void **state)
{
	static const char line[] = "1 (name)" REST;
	struct proc_stat st;

	(void)state;
	assert_true(parse_stat(line, sizeof(line) - 1, &st));
	assert_int_equal(st.last, STAT_MAX);
	assert_int_equal(st.f[STAT_PID], 1);
	assert_int_equal(st.f[STAT_STATE], 'S');
	for (int i = STAT_PPID; i <= STAT_MAX; i++)
		if (i != 8 && i != 19)
			assert_int_equal(st.f[i], i);
	/* negative values wrap */
	assert_int_equal((int64_t)st.f[8], -1);
	assert_int_equal((int64_t)st.f[19], -19);
}

static void names_of_all_kinds(void **state)
{
	static const char *const names[] = {
		"",   "a",         "two words", " ",     ")",         "(",        "()",
		")(", "((()))",    "a) R 1",    ") R 1", ") Z 1 2 3", "x\ny",     "\n",
		"\t", "1 (2) S 3", "tab\t)",    "\\n",   "\xff\xfe",  "\xc3\xbc", "123456789012345",
	};
	struct proc_stat st;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *line = xasprintf("4194304 (%s)%s", names[i], REST);

		assert_true(parse_stat(line, strlen(line), &st));
		assert_int_equal(st.comm_len, strlen(names[i]));
		assert_memory_equal(st.comm, names[i], strlen(names[i]));
		assert_int_equal(st.f[STAT_PID], 4194304);
		assert_int_equal(st.f[STAT_STATE], 'S');
		assert_int_equal(st.f[STAT_PPID], 4);
		assert_int_equal(st.f[STAT_GUEST_TIME], 43);
		assert_int_equal(st.last, STAT_MAX);
	}
}

static void cut_at_every_length(void **state)
{
	static const char line[] = "123 (some name)" REST;
	/* where each field ends: it counts once the byte behind it is there too */
	size_t end[STAT_MAX + 1] = {0};
	int field = 3;
	struct proc_stat st;

	(void)state;
	for (size_t i = strlen("123 (some name) S"); field <= STAT_MAX; i++)
		if (line[i] == ' ' || line[i] == '\n')
			end[field++] = i;
	for (size_t n = 0; n < sizeof(line); n++) {
		int want = 3;
		bool ok = parse_stat(line, n, &st);

		assert_int_equal(ok, n >= strlen("123 (some name) S"));
		if (!ok)
			continue;
		while (want < STAT_MAX && end[want + 1] < n)
			want++;
		assert_int_equal(st.last, want);
		for (int i = STAT_PPID; i <= want; i++)
			if (i != 8 && i != 19)
				assert_int_equal(st.f[i], i);
	}
}

static void lines_that_are_none(void **state)
{
	static const char *const bad[] = {
		"",        "1",        "1 ",        "1 (",        "1 (a",     "1 (a)",   "1 (a) ",
		"(a) S 1", " 1 (a) S", "x (a) S 1", "1  (a) S 1", "1 a) S 1", "1(a) S 1"};
	struct proc_stat st;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		if (parse_stat(bad[i], strlen(bad[i]), &st))
			fail_msg("'%s' was taken", bad[i]);
}

static void a_field_that_is_no_number_ends_the_line(void **state)
{
	static const char line[] = "1 (a) S 4 5 x 7\n";
	struct proc_stat st;

	(void)state;
	assert_true(parse_stat(line, sizeof(line) - 1, &st));
	assert_int_equal(st.last, STAT_PGRP);
	assert_int_equal(st.f[STAT_PGRP], 5);
	/* a kernel with fewer fields */
	assert_true(parse_stat("1 (a) S 4 5 6\n", 14, &st));
	assert_int_equal(st.last, STAT_SESSION);
	/* a sign alone is no number */
	assert_true(parse_stat("1 (a) S 4 - 6\n", 14, &st));
	assert_int_equal(st.last, STAT_PPID);
}

static void numbers_at_the_limits(void **state)
{
	static const char line[] =
		"1 (a) S -1 18446744073709551615 -9223372036854775808 9223372036854775807 0\n";
	struct proc_stat st;

	(void)state;
	assert_true(parse_stat(line, sizeof(line) - 1, &st));
	assert_int_equal(st.last, 8);
	assert_int_equal((int64_t)st.f[4], -1);
	assert_int_equal(st.f[5], UINT64_MAX);
	assert_int_equal((int64_t)st.f[6], INT64_MIN);
	assert_int_equal(st.f[7], INT64_MAX);
	assert_int_equal(st.f[8], 0);
}

/* ---- the kernel that this runs on ----------------------------------------------------------- */

static size_t read_proc(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return 0;
	ssize_t n = read(fd, buf, size);
	close(fd);
	return n < 0 ? 0 : (size_t)n;
}

static void our_own_stat(void **state)
{
	char buf[4096], comm[32] = "";
	struct proc_stat st = {0};

	(void)state;
	size_t n = read_proc("/proc/self/stat", buf, sizeof(buf));
	assert_true(proc_parse_stat(buf, n, &st));
	assert_int_equal(st.last, STAT_MAX);
	assert_int_equal(st.f[STAT_PID], getpid());
	assert_int_equal(st.f[STAT_PPID], getppid());
	assert_int_equal(st.f[STAT_PGRP], getpgrp());
	assert_int_equal(st.f[STAT_SESSION], getsid(0));
	assert_int_equal(st.f[STAT_STATE], 'R');
	assert_in_range(st.f[STAT_NUM_THREADS], 1, 64);
	assert_true(st.f[STAT_STARTTIME] > 0);
	assert_true(st.f[STAT_MINFLT] > 0);
	n = read_proc("/proc/self/comm", comm, sizeof(comm) - 1);
	assert_int_equal(st.comm_len, n - 1);
	assert_memory_equal(st.comm, comm, n - 1);
	/* the unit of all times in there */
	assert_int_equal(sysconf(_SC_CLK_TCK), 100);
	assert_int_equal(PL_TICK_US, 1000000 / 100);
}

static void our_own_io_and_schedstat(void **state)
{
	struct proc_schedstat s = {1, 1, 1};
	struct proc_io before = {0}, after = {0};
	char buf[4096];

	(void)state;
	size_t n = read_proc("/proc/self/io", buf, sizeof(buf));
	if (!n)
		skip_because("this kernel has no /proc/self/io");
	proc_parse_io(buf, n, &before);
	n = read_proc("/proc/self/io", buf, sizeof(buf));
	proc_parse_io(buf, n, &after);
	assert_int_equal(before.present, 0x7f);
	assert_int_equal(after.present, 0x7f);
	assert_true(after.v[0] > before.v[0]); /* rchar: what the first reading read */
	assert_true(after.v[2] > before.v[2]); /* syscr */
	n = read_proc("/proc/self/schedstat", buf, sizeof(buf));
	if (!n)
		skip_because("this kernel has no /proc/self/schedstat");
	assert_true(proc_parse_schedstat(buf, n, &s));
}

static void our_own_status(void **state)
{
	char buf[8192];
	uint64_t v = 0, hwm = 0;

	(void)state;
	size_t n = read_proc("/proc/self/status", buf, sizeof(buf));
	assert_true(proc_parse_status(buf, n, "Pid", &v));
	assert_int_equal(v, getpid());
	assert_true(proc_parse_status(buf, n, "PPid", &v));
	assert_int_equal(v, getppid());
	assert_true(proc_parse_status(buf, n, "VmHWM", &hwm));
	assert_true(proc_parse_status(buf, n, "VmRSS", &v));
	assert_true(hwm > 0 && v > 0);
}

/* ---- io ------------------------------------------------------------------------------------- */

static void parse_io(const char *text, struct proc_io *io)
{
	size_t n = strlen(text);
	char *copy = exact_copy(text, n);

	proc_parse_io(copy, n, io);
	free(copy);
}

static void io_in_its_order(void **state)
{
	struct proc_io io;

	(void)state;
	parse_io("rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n"
		 "cancelled_write_bytes: 7\n",
		 &io);
	assert_int_equal(io.present, 0x7f);
	for (unsigned i = 0; i < 7; i++)
		assert_int_equal(io.v[i], i + 1);
}

static void io_by_name_in_any_order(void **state)
{
	struct proc_io io;

	(void)state;
	parse_io(
		"cancelled_write_bytes: 7\nunknown: 99\nsyscr: 3\n\nrchar_: 98\nxrchar: 97\nno colon\n"
		"rchar:1\nRCHAR: 96\nwrite_bytes:    18446744073709551615\n: 5\n",
		&io);
	assert_int_equal(io.present, 1u << 6 | 1u << 2 | 1u << 0 | 1u << 5);
	assert_int_equal(io.v[6], 7);
	assert_int_equal(io.v[2], 3);
	assert_int_equal(io.v[0], 1);
	assert_int_equal(io.v[5], UINT64_MAX);
}

static void io_with_nothing_in_it(void **state)
{
	struct proc_io io;

	(void)state;
	parse_io("", &io);
	assert_int_equal(io.present, 0);
	parse_io("rchar: \nwchar: x\nsyscr\n", &io);
	assert_int_equal(io.present, 0);
}

static void io_cut_at_every_length(void **state)
{
	static const char text[] = "rchar: 123\nwchar: 456\n";
	struct proc_io io;

	(void)state;
	for (size_t n = 0; n < sizeof(text); n++) {
		_cleanup_free_ char *cut = xstrndup(text, n);

		parse_io(cut, &io);
		/* a number counts once it is known where it ends */
		assert_int_equal(io.present & 1, n >= strlen("rchar: 123\n"));
		assert_int_equal(io.present >> 1 & 1, n >= strlen(text));
		if (io.present & 1)
			assert_int_equal(io.v[0], 123);
		if (io.present & 2)
			assert_int_equal(io.v[1], 456);
	}
}

/* ---- schedstat and status ------------------------------------------------------------------- */

static void schedstat_lines(void **state)
{
	static const char *const bad[] = {"",        "1",         "1 2",     "1 2\n",
					  "1 2 ",    "1 2 3",     "a 2 3\n", "1  2 3\n",
					  "1 b 3\n", "1\n2\n3\n", " 1 2 3\n"};
	struct proc_schedstat s = {9, 9, 9};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
		char *copy = exact_copy(bad[i], strlen(bad[i]));

		if (proc_parse_schedstat(copy, strlen(bad[i]), &s))
			fail_msg("'%s' was taken", bad[i]);
		free(copy);
	}
	/* untouched on failure */
	assert_int_equal(s.oncpu_ns, 9);
	assert_true(proc_parse_schedstat("12 34 56\n", 9, &s));
	assert_int_equal(s.oncpu_ns, 12);
	assert_int_equal(s.waiting_ns, 34);
	assert_int_equal(s.timeslices, 56);
}

static const char status[] = "Name:\tVmHWM: 5\n"
			     "Umask:\t0022\n"
			     "Pid:\t4711\n"
			     "VmPeak:\t   20000 kB\n"
			     "VmHWM:\t    1234 kB\n"
			     "Threads:\t1\n"
			     "Seccomp:\t2\n"
			     "Seccomp_filters:\t3\n";

static void status_by_key(void **state)
{
	uint64_t v = 0;

	(void)state;
	assert_true(proc_parse_status(status, sizeof(status) - 1, "VmHWM", &v));
	assert_int_equal(v, 1234); /* not what the name of the program says */
	assert_true(proc_parse_status(status, sizeof(status) - 1, "Seccomp_filters", &v));
	assert_int_equal(v, 3);
	assert_true(proc_parse_status(status, sizeof(status) - 1, "Seccomp", &v));
	assert_int_equal(v, 2);
	v = 77;
	assert_false(proc_parse_status(status, sizeof(status) - 1, "Secc", &v));
	assert_false(proc_parse_status(status, sizeof(status) - 1, "VmSwap", &v));
	assert_false(proc_parse_status(status, sizeof(status) - 1, "", &v));
	assert_false(proc_parse_status(status, sizeof(status) - 1, "Name", &v));
	assert_int_equal(v, 77);
}

static void status_cut_at_every_length(void **state)
{
	const char *key = strstr(status, "VmHWM:\t ");
	size_t end = (size_t)(strstr(key, " kB") - status);
	uint64_t v;

	(void)state;
	for (size_t n = 0; n < sizeof(status); n++) {
		char *copy = exact_copy(status, n);

		v = 0;
		assert_int_equal(proc_parse_status(copy, n, "VmHWM", &v), n > end);
		assert_int_equal(v, n > end ? 1234 : 0);
		free(copy);
	}
}

/* ---- many keys at once, and statm ------------------------------------------------------------ */

static void keys_in_one_pass(void **state)
{
	static const char *const keys[] = {"VmPeak", "VmHWM", "Seccomp", "Pid",
					   "VmSwap", "Name",  ""};
	uint64_t v[7];

	(void)state;
	memset(v, 0xee, sizeof(v));
	assert_int_equal(proc_parse_keys(status, sizeof(status) - 1, keys, 7, v), 0xf);
	assert_int_equal(v[0], 20000);
	assert_int_equal(v[1], 1234);
	assert_int_equal(v[2], 2);
	assert_int_equal(v[3], 4711);
	for (int i = 4; i < 7; i++)
		assert_int_equal(v[i], 0xeeeeeeeeeeeeeeeeull);
	/* the first of two, and none of what is no number */
	static const char odd[] = "Pid: x\nPid: 5\nPid: 6\nVmHWM 9\n:3\nVmPeak:\nSeccomp:8";
	assert_int_equal(proc_parse_keys(odd, sizeof(odd) - 1, keys, 7, v), 1u << 3);
	assert_int_equal(v[3], 5);
	assert_int_equal(proc_parse_keys(odd, 0, keys, 7, v), 0);
	assert_int_equal(proc_parse_keys(status, sizeof(status) - 1, keys, 0, v), 0);
}

static void keys_cut_at_every_length(void **state)
{
	static const char *const keys[] = {"Pid", "VmHWM"};

	(void)state;
	for (size_t n = 0; n < sizeof(status); n++) {
		char *copy = exact_copy(status, n);
		uint64_t v[2] = {0}, one;
		uint64_t present = proc_parse_keys(copy, n, keys, 2, v);

		for (unsigned i = 0; i < 2; i++) {
			one = 0;
			bool found = proc_parse_status(copy, n, keys[i], &one);

			assert_int_equal(present >> i & 1, found);
			assert_int_equal(v[i], one);
		}
		free(copy);
	}
}

static void statm_lines(void **state)
{
	static const char line[] = "2668 367 340 1 0 2104 0\n";
	struct proc_statm m = {9, 9, 9};

	(void)state;
	for (size_t n = 0; n < strlen("2668 367 340 "); n++) {
		char *copy = exact_copy(line, n);

		assert_false(proc_parse_statm(copy, n, &m));
		free(copy);
	}
	assert_int_equal(m.shared, 9);
	assert_true(proc_parse_statm(line, sizeof(line) - 1, &m));
	assert_int_equal(m.size, 2668);
	assert_int_equal(m.resident, 367);
	assert_int_equal(m.shared, 340);
	assert_false(proc_parse_statm("1 x 3 4\n", 8, &m));
}

static void offsets_of_a_time_namespace(void **state)
{
	static const char text[] =
		"monotonic       86400         0\nboottime        -5 123456789\n";
	int64_t ns = 9;

	(void)state;
	assert_true(proc_parse_timens(text, sizeof(text) - 1, "monotonic", &ns));
	assert_int_equal(ns, 86400000000000);
	assert_true(proc_parse_timens(text, sizeof(text) - 1, "boottime", &ns));
	assert_int_equal(ns, -4876543211);
	ns = 9;
	assert_false(proc_parse_timens(text, sizeof(text) - 1, "boot", &ns));
	assert_false(proc_parse_timens("boottime x 0\n", 13, "boottime", &ns));
	for (size_t n = 0; n < strlen("monotonic       86400         0"); n++) {
		char *copy = exact_copy(text, n);

		assert_false(proc_parse_timens(copy, n, "monotonic", &ns));
		assert_false(proc_parse_timens(copy, n, "boottime", &ns));
		free(copy);
	}
	assert_int_equal(ns, 9);
}

/* The kernel adds first and counts in ticks then. */
static void starts_in_a_time_namespace(void **state)
{
	struct proc_stat st = {.last = STAT_STARTTIME};

	(void)state;
	st.f[STAT_STARTTIME] = 8640123;
	assert_int_equal(proc_start_us(&st, 0), 86401230000);
	assert_int_equal(proc_start_us(&st, 86400000000000), 1230000);
	assert_int_equal(proc_start_us(&st, -5000000000), 86406230000);
	assert_int_equal(proc_start_us(&st, 86400000000001), 0);
	st.last = STAT_STARTTIME - 1;
	assert_int_equal(proc_start_us(&st, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(offsets_of_a_time_namespace),
		cmocka_unit_test(starts_in_a_time_namespace),
		cmocka_unit_test(fields_have_their_numbers),
		cmocka_unit_test(names_of_all_kinds),
		cmocka_unit_test(cut_at_every_length),
		cmocka_unit_test(lines_that_are_none),
		cmocka_unit_test(a_field_that_is_no_number_ends_the_line),
		cmocka_unit_test(numbers_at_the_limits),
		cmocka_unit_test(our_own_stat),
		cmocka_unit_test(our_own_io_and_schedstat),
		cmocka_unit_test(our_own_status),
		cmocka_unit_test(io_in_its_order),
		cmocka_unit_test(io_by_name_in_any_order),
		cmocka_unit_test(io_with_nothing_in_it),
		cmocka_unit_test(io_cut_at_every_length),
		cmocka_unit_test(schedstat_lines),
		cmocka_unit_test(status_by_key),
		cmocka_unit_test(status_cut_at_every_length),
		cmocka_unit_test(keys_in_one_pass),
		cmocka_unit_test(keys_cut_at_every_length),
		cmocka_unit_test(statm_lines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
