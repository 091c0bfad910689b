/*
 * The source "nfs": operations by mount, one filesystem at several places, texts of garbage.
 */
#include "source.h"

#define NFS_BODY                                                          \
	"\topts:\trw,vers=4.2,rsize=1048576,hard,proto=tcp,mountvers=3\n" \
	"\tage:\t13968\n"                                                 \
	"\tbytes:\t1001 1002 1003 1004 1005 1006 1007 1008\n"             \
	"\tRPC iostats version: 1.1  p/v: 100003/4 (nfs)\n"               \
	"\txprt:\ttcp 832 0 1 0 11 6428 6428 0 12154 0 24 26 5726\n"      \
	"\tper-op statistics\n"                                           \
	"\t        NULL: 1 1 0 44 24 0 0 0 0\n"                           \
	"\t        READ: 100 103 2 5000 600000 7 800 900 1\n"             \
	"\t       WRITE: 50 50 0 400000 3000 5 600 700 0\n"               \
	"\t      ACCESS: 10 9 0 100 100 18446743919241604546 20 30 0\n"   \
	"\t        OPEN: 3 3 0 1 1 1 1 1 0\n"                             \
	"\t OPEN_NOATTR: 4 4 0 1 1 1 1 1 0\n"                             \
	"\t     READDIR: 5 5 0 1 1 1 1 1 0\n"                             \
	"\n"

static void nfs_values(void **state)
{
	(void)state;
	put("proc/self/mountstats",
	    "device rootfs mounted on / with fstype rootfs\n"
	    "device server:/export/my\\040home mounted on /home/with\\040blank\\134and\\011tab "
	    "with fstype nfs4 statvers=1.1\n" NFS_BODY
	    "no device mounted on /proc with fstype proc\n"
	    "device old:/vol mounted on /vol with fstype nfs statvers=1.0\n"
	    "\topts:\tro,vers=3\n\tbytes:\t1 2 3 4 5 6 7 8\n\tper-op statistics\n"
	    "\t READDIRPLUS: 6 6 0 1 1 1 1 1\n\t MKDIR: 2 2 0 1 1 1 1 1\n\t RMDIR: 9 9 0 1 1 1 1 1\n"
	    "device tmpfs mounted on /tmp with fstype tmpfs\n");
	put("proc/net/rpc/nfs",
	    "net 18628 0 18628 6\nrpc 4329785 12 4338291\nproc3 22 1 4084749\n");
	begin("nfs", NULL);
	assert_int_equal(R.set.row_count, 3);
	const char *home = "/home/with blank\\and\\011tab";
	check_value(ENTITY_FILESYSTEM, home, "read_bytes", 1001);
	check_value(ENTITY_FILESYSTEM, home, "write_bytes", 1002);
	check_value(ENTITY_FILESYSTEM, home, "direct_read_bytes", 1003);
	check_value(ENTITY_FILESYSTEM, home, "direct_write_bytes", 1004);
	check_value(ENTITY_FILESYSTEM, home, "server_read_bytes", 1005);
	check_value(ENTITY_FILESYSTEM, home, "server_write_bytes", 1006);
	check_value(ENTITY_FILESYSTEM, home, "write_pages", 1008);
	check_value(ENTITY_FILESYSTEM, home, "read_ops", 100);
	check_value(ENTITY_FILESYSTEM, home, "read_rtt", 800);
	check_value(ENTITY_FILESYSTEM, home, "read_execute_time", 900);
	check_value(ENTITY_FILESYSTEM, home, "write_ops", 50);
	check_value(ENTITY_FILESYSTEM, home, "write_rtt", 600);
	check_value(ENTITY_FILESYSTEM, home, "write_execute_time", 700);
	check_value(ENTITY_FILESYSTEM, home, "access_ops", 10);
	check_value(ENTITY_FILESYSTEM, home, "open_ops", 7);
	check_value(ENTITY_FILESYSTEM, home, "readdir_ops", 5);
	check_value(ENTITY_FILESYSTEM, home, "ops", 173);
	/* three more reads sent than done; one access less than done */
	check_value(ENTITY_FILESYSTEM, home, "retransmissions", 3);
	check_value(ENTITY_FILESYSTEM, home, "timeouts", 2);
	check_value(ENTITY_FILESYSTEM, home, "errors", 1);
	check_value(ENTITY_FILESYSTEM, home, "received_bytes", 603127);
	/* a time below zero is left out of the sum */
	check_value(ENTITY_FILESYSTEM, home, "queue_time", 15);
	check_value(ENTITY_FILESYSTEM, home, "rtt", 1423);
	check_fact(ENTITY_FILESYSTEM, home, "export", "server:/export/my home");
	check_fact(ENTITY_FILESYSTEM, home, "version", "4.2");
	assert_false(has_value(ENTITY_FILESYSTEM, home, "rename_ops"));
	check_value(ENTITY_FILESYSTEM, "/vol", "readdir_ops", 6);
	check_value(ENTITY_FILESYSTEM, "/vol", "create_ops", 2);
	check_value(ENTITY_FILESYSTEM, "/vol", "remove_ops", 9);
	assert_false(has_value(ENTITY_FILESYSTEM, "/vol", "errors"));
	check_fact(ENTITY_FILESYSTEM, "/vol", "version", "3");
	check_node("rpc_calls", 4329785);
	check_node("rpc_retransmissions", 12);
	check_node("rpc_auth_refreshes", 4338291);
	assert_int_equal(probe("nfs", NULL), 0);
	assert_string_equal(R.report.detail.buf, "2 NFS filesystems are mounted");
}

/* One filesystem at several places is one row; places come and go. */
static void nfs_mounts(void **state)
{
	(void)state;
#define MOUNT(what, where, reads)                                              \
	"device " what " mounted on " where " with fstype nfs4 statvers=1.1\n" \
	"\tbytes:\t" reads " 0 0 0 0 0 0 0\n"
	put("proc/self/mountinfo",
	    "20 1 8:1 / / rw - ext4 /dev/sda1 rw\n"
	    "36 20 0:45 / /home/ann rw,relatime shared:1 - nfs4 s:/home/ann rw\n"
	    "37 20 0:46 / /scratch rw - nfs4 s:/scratch rw\n"
	    "38 20 0:45 / /home/bob\\040b rw - nfs4 s:/home/bob rw\n");
	put("proc/self/mountstats",
	    MOUNT("s:/home/ann", "/home/ann", "100") MOUNT("s:/scratch", "/scratch", "7")
		    MOUNT("s:/home/bob", "/home/bob\\040b", "100"));
	assert_int_equal(start("nfs", NULL), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(take(), 0);
		assert_int_equal(R.set.row_count, 2);
		check_value(ENTITY_FILESYSTEM, "/home/ann", "read_bytes", 100);
		check_fact(ENTITY_FILESYSTEM, "/home/ann", "also_at", "/home/bob b");
	}
	check_value(ENTITY_FILESYSTEM, "/scratch", "read_bytes", 7);
	/* the first place is gone: the other has the row */
	put("proc/self/mountstats",
	    MOUNT("s:/scratch", "/scratch", "8") MOUNT("s:/home/bob", "/home/bob\\040b", "101"));
	assert_int_equal(take(), 0);
	assert_int_equal(R.set.row_count, 2);
	check_value(ENTITY_FILESYSTEM, "/home/bob b", "read_bytes", 101);
	assert_int_equal(R.set.ended_count, 1);
	/* something else is mounted at a place: it goes on */
	put("proc/self/mountstats", MOUNT("t:/other", "/scratch", "500000"));
	assert_int_equal(take(), 0);
	check_value(ENTITY_FILESYSTEM, "/scratch", "read_bytes", 8);
	check_fact(ENTITY_FILESYSTEM, "/scratch", "export", "t:/other");
	/* mounted again: from 0, and it goes on */
	put("proc/self/mountstats", MOUNT("t:/other", "/scratch", "3"));
	assert_int_equal(take(), 0);
	put("proc/self/mountstats", MOUNT("t:/other", "/scratch", "5"));
	assert_int_equal(take(), 0);
	check_value(ENTITY_FILESYSTEM, "/scratch", "read_bytes", 10);
	/* one mount over another */
	put("proc/self/mountstats",
	    MOUNT("t:/other", "/scratch", "6") MOUNT("u:/over", "/scratch", "70"));
	assert_int_equal(take(), 0);
	assert_int_equal(R.set.row_count, 2);
	check_value(ENTITY_FILESYSTEM, "/scratch", "read_bytes", 11);
	check_value(ENTITY_FILESYSTEM, "/scratch (u:/over)", "read_bytes", 70);
	/* nothing is mounted any more */
	put("proc/self/mountstats", "");
	assert_int_equal(take(), 0);
	assert_int_equal(R.set.row_count, 0);
	assert_int_equal(R.set.ended_count, 2);
}

static void nfs_of_garbage(void **state)
{
	(void)state;
	assert_int_equal(start("nfs", NULL), -ENOENT);
	assert_contains(R.why.buf, "mountstats");
	put("proc/self/mountstats", "device /dev/sda1 mounted on / with fstype ext4\n");
	assert_int_equal(start("nfs", NULL), -ENOENT);
	assert_contains(R.why.buf, "no NFS filesystem is mounted");
	put("proc/self/mountstats",
	    "device\ndevice a\ndevice a mounted on\ndevice a mounted on b with fstype nfs\n"
	    "\n\t\n\tbytes:\n\tbytes: x 5\n\tper-op statistics\n\t:\n\tREAD:\n\tREAD: x\n"
	    "\tREAD: 9223372036854775799 1 1 1 1 1 1 1\n\tWRITE: 9223372036854775799 1 1 1 1 1 1 1\n"
	    "\tGETATTR: 5 7\n\tcut 4\n"
	    "device c\\777d mounted on \\0\\04\\999\\ with fstype nfs4\n\topts:\tvers=\n"
	    "device e mounted on f with fstype nfs4");
	put("proc/net/rpc/nfs", "rpc\nrpc x y z\n");
	begin("nfs", NULL);
	check_value(ENTITY_FILESYSTEM, "b", "write_bytes", 5);
	check_value(ENTITY_FILESYSTEM, "b", "ops", INT64_MAX);
	check_value(ENTITY_FILESYSTEM, "b", "getattr_ops", 5);
	check_value(ENTITY_FILESYSTEM, "b", "retransmissions", 2);
	check_fact(ENTITY_FILESYSTEM, "\\0\\04\\999\\", "export", "c\\777d");
	assert_int_equal(row_of(ENTITY_FILESYSTEM, "f"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_source(nfs_values),
		with_source(nfs_mounts),
		with_source(nfs_of_garbage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
