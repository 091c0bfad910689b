/*
 * The source `process_memory`: what each value is made of, older kernels, processes of others.
 */
#include "source_process.h"

static void put_memory(const struct bench *b, int pid, int scale, const char *threads)
{
	_cleanup_free_ char *smaps = xasprintf(
		"55e0-7ffc ---p 00000000 00:00 0                          [rollup]\n"
		"Rss:                %d kB\nPss:                 %d kB\nPss_Dirty:  1 kB\n"
		"Pss_Anon:            %d kB\nPss_File:            %d kB\nPss_Shmem:   %d kB\n"
		"Shared_Clean:       77 kB\nShared_Dirty:   78 kB\nPrivate_Clean:   %d kB\n"
		"Private_Dirty:      %d kB\nReferenced:   79 kB\nAnonymous:   80 kB\nSwap: %d kB\n"
		"SwapPss:             %d kB\nLocked:          %d kB\n",
		1000 * scale, 100 * scale, 60 * scale, 30 * scale, 10 * scale, 20 * scale,
		50 * scale, 8 * scale, 4 * scale, 2 * scale);
	_cleanup_free_ char *status = xasprintf(
		"Name:\tprog\nState:\tS (sleeping)\nVmPeak:\t   %d kB\nVmSize:\t 5 kB\nVmHWM:\t %d kB\n"
		"VmRSS:\t 9 kB\nRssAnon:\t %d kB\nRssFile:\t %d kB\nRssShmem:\t %d kB\n"
		"Threads:\t%s\nvoluntary_ctxt_switches:\t%d\nnonvoluntary_ctxt_switches:\t%d\n",
		5000 * scale, 2000 * scale, 600 * scale, 300 * scale, 100 * scale, threads,
		11 * scale, 3 * scale);

	put_of(b, pid, "smaps_rollup", smaps);
	put_of(b, pid, "status", status);
	put_of(b, pid, "fd/0", "");
	put_of(b, pid, "fd/1", "");
	put_of(b, pid, "fd/12", "");
}

static void every_value_of_memory(void **state)
{
	struct bench *b = *state;
	struct shown p[2] = {first, first};

	p[1].pid = 41;
	for (int i = 0; i < 2; i++) {
		put_process(b, &p[i]);
		put_memory(b, 40 + i, 1 + i, "1");
	}
	set_list(b, 2, p);
	open_source(b, "process_memory");
	assert_int_equal(b->source->every, 30);
	for (int round = 0; round < 2; round++) {
		take_reading(b);
		assert_int_equal(b->set.row_count, 3);
		int row = row_of(b, ENTITY_PROCESS, "41.5000");
		check_value(b, row, "pss", 200 * 1024);
		check_value(b, row, "pss_anon", 120 * 1024);
		check_value(b, row, "pss_file", 60 * 1024);
		check_value(b, row, "pss_shmem", 20 * 1024);
		check_value(b, row, "uss", 140 * 1024);
		check_value(b, row, "swap", 16 * 1024);
		check_value(b, row, "swap_pss", 8 * 1024);
		check_value(b, row, "locked", 4 * 1024);
		check_value(b, row, "vm_peak", 10000 * 1024);
		check_value(b, row, "rss_peak", 4000 * 1024);
		check_value(b, row, "rss_anon", 1200 * 1024);
		check_value(b, row, "rss_file", 600 * 1024);
		check_value(b, row, "rss_shmem", 200 * 1024);
		check_value(b, row, "shared", 800 * 1024);
		check_value(b, row, "vol_ctxsw", 22);
		check_value(b, row, "invol_ctxsw", 6);
		check_value(b, row, "num_fds", 3);
		check_job(b, "pss", 300 * 1024);
		check_job(b, "uss", 210 * 1024);
		check_job(b, "num_fds", 6);
		/* of the largest, not the sum */
		check_job(b, "rss_peak", 4000 * 1024);
		check_job(b, "vol_ctxsw", 33);
	}
	/* one ends: levels fall, peaks and counters do not */
	remove_process(b, 41);
	set_list(b, 1, p);
	take_reading(b);
	assert_int_equal(b->set.row_count, 2);
	assert_int_equal(b->set.ended_count, 1);
	check_job(b, "pss", 100 * 1024);
	check_job(b, "rss_peak", 4000 * 1024);
	check_job(b, "vol_ctxsw", 33);
	set_list(b, 0, NULL);
	take_reading(b);
	check_job(b, "vol_ctxsw", 33);
	check_absent(b, 0, "pss");
}

static void switches_of_all_threads(void **state)
{
	struct bench *b = *state;

	put_process(b, &first);
	put_memory(b, 40, 1, "2");
	put_of(b, 40, "task/40/status",
	       "voluntary_ctxt_switches:\t11\nnonvoluntary_ctxt_switches:\t3\n");
	put_of(b, 40, "task/41/status",
	       "voluntary_ctxt_switches:\t100\nnonvoluntary_ctxt_switches:\t200\n");
	set_list(b, 1, &first);
	open_source(b, "process_memory");
	take_reading(b);
	check_value(b, 0, "vol_ctxsw", 111);
	check_value(b, 0, "invol_ctxsw", 203);
	check_job(b, "invol_ctxsw", 203);
}

static void memory_of_older_kernels(void **state)
{
	struct bench *b = *state;

	put_process(b, &first);
	put_of(b, 40, "status", "Name:\tx\nVmPeak:\t 10 kB\nVmHWM:\t 5 kB\nThreads:\t1\n");
	put_of(b, 40, "statm", "100 50 20 1 0 30 0\n");
	set_list(b, 1, &first);
	open_source(b, "process_memory");
	take_reading(b);
	check_value(b, 0, "shared", 20.0 * (double)sysconf(_SC_PAGESIZE));
	check_value(b, 0, "rss_peak", 5 * 1024);
	check_absent(b, 0, "pss");
	check_absent(b, 0, "vol_ctxsw");
	assert_contains(reason_of(b, "pss"), "4.14");
}

static void memory_of_another_process(void **state)
{
	struct bench *b = *state;
	struct shown p = first;

	put_process(b, &p);
	put_memory(b, 40, 1, "1");
	set_list(b, 1, &p);
	open_source(b, "process_memory");
	take_reading(b);
	assert_int_equal(b->set.row_count, 2);
	/* the number is used again, and the list does not know yet */
	p.start++;
	put_process(b, &p);
	take_reading(b);
	assert_int_equal(b->set.row_count, 1);
	set_list(b, 1, &p);
	take_reading(b);
	assert_true(row_of(b, ENTITY_PROCESS, "40.5001") >= 0);
	check_job(b, "vol_ctxsw", 22);
}

static void a_thread_of_the_kernel(void **state)
{
	struct bench *b = *state;

	put_process(b, &first);
	put_of(b, 40, "status",
	       "Name:\tkworker\nThreads:\t1\n"
	       "voluntary_ctxt_switches:\t11\nnonvoluntary_ctxt_switches:\t3\n");
	put_of(b, 40, "smaps_rollup", "");
	set_list(b, 1, &first);
	open_source(b, "process_memory");
	take_reading(b);
	check_value(b, 0, "vol_ctxsw", 11);
	check_absent(b, 0, "pss");
	assert_string_equal(reason_of(b, "pss"), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_bench(every_value_of_memory),   with_bench(switches_of_all_threads),
		with_bench(memory_of_older_kernels), with_bench(memory_of_another_process),
		with_bench(a_thread_of_the_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
