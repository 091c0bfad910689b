/*
 * The source "lustre": lines of its stats, mounts that come and go, in /proc and in debugfs.
 */
#include "source.h"

#include "sources/filesystem/lustre.h"

static void lines_of_stats(void **state)
{
	static const char text[] = "snapshot_time             1510950459.772792457 secs.nsecs\n"
				   "read_bytes                7 samples [bytes] 10 30 140\n"
				   "write_bytes 2 samples [bytes] 1 9 10 82\r\n"
				   "open                      136 samples [regs]\n"
				   "close 5 samples [usec] 1 2\n"
				   "seek 18446744073709551616 samples [regs]\n"
				   "fsync x samples [regs]\n"
				   "mkdir 3 sample [regs]\n"
				   "sumsq 3 samples [usec] 1 2 3 99999999999999999999999\n"
				   " 3 samples [usec] 1 2 3\n"
				   "getattr 9 samples [regs]";
	static const struct lustre_stat want[] = {
		{"read_bytes", 10, 7, 140, true}, {"write_bytes", 11, 2, 10, true},
		{"open", 4, 136, 0, false},       {"close", 5, 5, 0, false},
		{"sumsq", 5, 3, 3, true},         {"getattr", 7, 9, 0, false},
	};
	const char *p = text, *end = text + sizeof(text) - 1;
	struct lustre_stat st;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
		assert_true(lustre_next_stat(&p, end, &st));
		assert_int_equal(st.name_size, want[i].name_size);
		assert_memory_equal(st.name, want[i].name, st.name_size);
		assert_int_equal(st.samples, want[i].samples);
		assert_int_equal(st.has_sum, want[i].has_sum);
		if (st.has_sum)
			assert_int_equal(st.sum, want[i].sum);
	}
	assert_false(lustre_next_stat(&p, end, &st));
}

#define LUSTRE "proc/fs/lustre"
#define SCRATCH "scratch-ffff9a3b4c5d6000"
#define HOME "home-ffff9a3b00000000"

static void put_lustre(const char *base)
{
	putf("%s/llite/" SCRATCH "/stats",
	     "snapshot_time 1.2 secs.nsecs\n"
	     "read_bytes 10 samples [bytes] 1 100 1000\n"
	     "write_bytes 20 samples [bytes] 1 200 4000 16000\n"
	     "open 3 samples [regs]\n",
	     base);
	putf("%s/llite/" HOME "/stats", "snapshot_time 1.2 secs.nsecs\nopen 8 samples [regs]\n",
	     base);
	putf("%s/osc/scratch-OST0000-osc-ffff9a3b4c5d6000/stats",
	     "req_waittime 5 samples [usec] 1 2 50 60\nread_bytes 2 samples [bytes] 1 2 700 9\n",
	     base);
	putf("%s/osc/scratch-OST0001-osc-ffff9a3b4c5d6000/stats",
	     "req_waittime 6 samples [usec] 1 2 60 60\nread_bytes 1 samples [bytes] 1 2 300 9\n",
	     base);
	/* one that cannot be read is not 0 */
	putf("%s/osc/home-OST0000-osc-ffff9a3b00000000/stats/none", "", base);
	/* another mount, and a server's own */
	putf("%s/osc/scratch-OST0000-osc-ffff9a3b77777777/stats",
	     "req_waittime 1000 samples [usec] 1 2 1000 60\n", base);
	putf("%s/osc/scratch-OST0000-osc-MDT0000/stats",
	     "req_waittime 1000 samples [usec] 1 2 1000 60\n", base);
	putf("%s/mdc/scratch-MDT0000-mdc-ffff9a3b4c5d6000/stats",
	     "req_waittime 4 samples [usec] 1 2 40 60\n", base);
	put("proc/self/mounts", "10.0.0.1@o2ib:/scratch /lustre/scratch lustre rw 0 0\n"
				"10.0.0.1@o2ib:/home /home lustre rw 0 0\n"
				"10.0.0.1@o2ib:/home /other lustre rw 0 0\n"
				"tmpfs /tmp tmpfs rw 0 0\n");
}

static void check_lustre(void)
{
	begin("lustre", NULL);
	check_values(ENTITY_FILESYSTEM, SCRATCH, {"read_bytes", 1000}, {"reads", 10},
		     {"write_bytes", 4000}, {"writes", 20}, {"open", 3});
	/* the client prints a line only once there is something to count */
	check_value(ENTITY_FILESYSTEM, SCRATCH, "rename", 0);
	check_none(ENTITY_FILESYSTEM, SCRATCH, "fallocate");
	check_values(ENTITY_FILESYSTEM, SCRATCH, {"osc_read_bytes", 1000}, {"osc_reads", 3},
		     {"osc_requests", 11}, {"osc_wait", 110}, {"mdc_requests", 4});
	check_value(ENTITY_FILESYSTEM, HOME, "open", 8);
	check_none(ENTITY_FILESYSTEM, HOME, "osc_requests");
	check_fact(ENTITY_FILESYSTEM, SCRATCH, "fsname", "scratch");
	check_fact(ENTITY_FILESYSTEM, SCRATCH, "mounted_on", "/lustre/scratch");
	check_fact(ENTITY_FILESYSTEM, HOME, "mounted_on", NULL); /* two places: which is not told */
}

static void lustre_in_proc_and_in_debugfs(void **state)
{
	(void)state;
	put_lustre("sys/kernel/debug/lustre");
	check_probe("lustre", NULL, 0, SCRATCH);
	check_lustre();
	drop("sys");
	put_lustre(LUSTRE);
	check_lustre();
}

static void lustre_mounts_come_and_go_and_are_cleared(void **state)
{
	(void)state;
	put_lustre(LUSTRE);
	check_lustre();
	put(LUSTRE "/llite/" SCRATCH "/stats", "read_bytes 1 samples [bytes] 1 100 5\n");
	put(LUSTRE "/llite/new-ffff9a3b11111111/stats", "open 1 samples [regs]\n");
	put(LUSTRE "/osc/scratch-OST0001-osc-ffff9a3b4c5d6000/stats", "garbage\n");
	drop(LUSTRE "/llite/" HOME);
	assert_int_equal(take(), 0);
	check_values(ENTITY_FILESYSTEM, SCRATCH, {"read_bytes", 1005}, {"write_bytes", 4000},
		     {"osc_requests", 11});
	check_value(ENTITY_FILESYSTEM, "new-ffff9a3b11111111", "open", 1);
	assert_false(has_row(ENTITY_FILESYSTEM, HOME));
	assert_int_equal(take(), 0);
	assert_false(has_entity(ENTITY_FILESYSTEM, HOME));
	drop(LUSTRE "/llite");
	assert_int_equal(take(), -ENODATA);
}

static void lustre_targets_come_later(void **state)
{
	(void)state;
	put_lustre(LUSTRE);
	check_lustre();
	put(LUSTRE "/osc/scratch-OST0002-osc-ffff9a3b4c5d6000/stats",
	    "req_waittime 7 samples [usec] 1 2 70 60\n");
	put(LUSTRE "/mdc/scratch-MDT0001-mdc-ffff9a3b4c5d6000/stats",
	    "req_waittime 9 samples [usec] 1 2 90 60\n");
	assert_int_equal(take(), 0);
	check_value(ENTITY_FILESYSTEM, SCRATCH, "osc_requests", 11);
	assert_int_equal(take_later(31), 0);
	check_values(ENTITY_FILESYSTEM, SCRATCH, {"osc_requests", 18}, {"mdc_requests", 13});
	assert_int_equal(take_later(62), 0);
	check_values(ENTITY_FILESYSTEM, SCRATCH, {"osc_requests", 18}, {"mdc_requests", 13});
}

static void lustre_says_what_is_left_out(void **state)
{
	(void)state;
	put_lustre(LUSTRE);
	put(LUSTRE "/llite/ffff9a3b22222222/stats", "open 1 samples [regs]\n");
	put_dir(LUSTRE "/llite/gone-ffff9a3b33333333");
	check_probe("lustre", NULL, 0,
		    "ffff9a3b22222222 (left out: not the name of a mount), "
		    "gone-ffff9a3b33333333 (left out: its counters cannot be read: No such file or "
		    "directory), " HOME " (left out: home-OST0000-osc-ffff9a3b00000000: Invalid "
		    "argument), " SCRATCH " in ");
	check_probe("lustre", "scratch", 0,
		    HOME " (left out: its name does not begin with 'scratch'), " SCRATCH " in ");
}

static void lustre_is_absent_or_hidden(void **state)
{
	(void)state;
	check_probe("lustre", NULL, -ENOENT, "no Lustre client here");
	put("sys/fs/lustre/version", "2.15.3\n");
	check_probe("lustre", NULL, -ENOENT, "no Lustre filesystem is mounted");
	put_lustre("sys/kernel/debug/lustre");
	mode("sys/kernel/debug", 0000);
	become_user();
	check_probe("lustre", NULL, -EACCES, "only root may read");
	assert_int_equal(start("lustre", NULL), -EACCES);
	become_again();
	mode("sys/kernel/debug", 0755);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_source(lines_of_stats),
		with_source(lustre_in_proc_and_in_debugfs),
		with_source(lustre_mounts_come_and_go_and_are_cleared),
		with_source(lustre_targets_come_later),
		with_source(lustre_says_what_is_left_out),
		with_source(lustre_is_absent_or_hidden),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
