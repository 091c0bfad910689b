/*
 * The source "gpfs": what mmpmon prints, and when it is run at all.
 */
#include "source.h"

#include "sources/filesystem/gpfs.h"

#define FS_LINE(fs, rc, br)                                                                       \
	"_fs_io_s_ _n_ 10.0.0.1 _nn_ node1 _rc_ " rc " _t_ 1579358234 _tu_ 53212 _cl_ site.gpfs " \
	"_fs_ " fs " _d_ 48 _br_ " br                                                             \
	" _bw_ 2000 _oc_ 30 _cc_ 29 _rdc_ 400 _wc_ 500 _dir_ 6 _iu_ 7\n"

static void lines_of_mmpmon(void **state)
{
	static const char text[] = "mmpmon node 10.0.0.1 name node1 fs_io_s OK\n" FS_LINE(
		"scratch", "0",
		"1000") "_fs_io_s_ _rc_ 0 _fs_ odd _br_ 99999999999999999999 _bw_ -1 _oc_ 1x _cc_\n"
			"_fs_io_s_\n"
			"_fs_io_s_ _rc_ bad _fs_ x";
	const char *p = text, *end = text + sizeof(text) - 1;
	struct gpfs_stat st;

	(void)state;
	assert_true(gpfs_next_stat(&p, end, &st));
	assert_int_equal(st.rc, 0);
	assert_string_equal(st.cluster, "site.gpfs");
	assert_string_equal(st.filesystem, "scratch");
	assert_string_equal(st.disks, "48");
	assert_int_equal(st.present, (1u << GPFS_COUNTS) - 1);
	static const uint64_t want[] = {1000, 2000, 30, 29, 400, 500, 6, 7};
	assert_memory_equal(st.counts, want, sizeof(want));
	assert_true(gpfs_next_stat(&p, end, &st));
	assert_string_equal(st.filesystem, "odd");
	assert_int_equal(st.present, 0);
	assert_true(gpfs_next_stat(&p, end, &st));
	assert_int_equal(st.rc, UINT64_MAX);
	assert_true(gpfs_next_stat(&p, end, &st));
	assert_int_equal(st.rc, UINT64_MAX);
	assert_string_equal(st.filesystem, "x");
	assert_false(gpfs_next_stat(&p, end, &st));
}

#define MMPMON "usr/lpp/mmfs/bin/mmpmon"

static void gpfs_asks_mmpmon(void **state)
{
	_cleanup_free_ char *script =
		xasprintf("#!/bin/sh\n[ \"$*\" = -p ] && read q && [ \"$q\" = fs_io_s ] || exit 9\n"
			  "cat %s/answer\n",
			  tree);

	(void)state;
	check_probe("gpfs", NULL, -ENOENT, "no GPFS here");
	program(MMPMON, script);
	put("answer", FS_LINE("scratch", "0", "1000") FS_LINE("home", "1", "5")
			      FS_LINE("project", "0", "70"));
	/* a program in a tree that somebody sent is data */
	check_probe("gpfs", NULL, -EPERM, "a recorded tree and is not run");
	assert_int_equal(start("gpfs", NULL), -EPERM);
	check_probe("gpfs", "run", 0, "mmpmon -p");
	begin("gpfs", "run");
	check_values(ENTITY_FILESYSTEM, "site.gpfs:scratch", {"read_bytes", 1000},
		     {"write_bytes", 2000}, {"open", 30}, {"inode_updates", 7});
	check_value(ENTITY_FILESYSTEM, "site.gpfs:project", "read_bytes", 70);
	check_fact(ENTITY_FILESYSTEM, "site.gpfs:project", "disks", "48");
	check_fact(ENTITY_FILESYSTEM, "site.gpfs:project", "cluster", "site.gpfs");
	assert_false(has_row(ENTITY_FILESYSTEM, "site.gpfs:home"));

	/* mounted anew: counts from 0, and goes on; another is gone */
	put("answer", FS_LINE("scratch", "0", "30"));
	assert_int_equal(take(), 0);
	check_value(ENTITY_FILESYSTEM, "site.gpfs:scratch", "read_bytes", 1030);
	assert_false(has_row(ENTITY_FILESYSTEM, "site.gpfs:project"));
	put("answer", "mmpmon: no file systems\n");
	assert_int_equal(take(), -ENODATA);
	assert_contains(absence(NULL), "no mounted filesystem");

	program(MMPMON, "#!/bin/sh\necho 'mmpmon: not allowed'\nexit 1\n");
	assert_int_equal(start("gpfs", "run"), 0);
	assert_int_equal(take(), -EIO);
	assert_contains(absence(NULL), "exited with status 1: mmpmon: not allowed");
	mode(MMPMON, 0644);
	become_user();
	check_probe("gpfs", "run", -EACCES, "cannot run");
	become_again();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_source(lines_of_mmpmon),
		with_source(gpfs_asks_mmpmon),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
