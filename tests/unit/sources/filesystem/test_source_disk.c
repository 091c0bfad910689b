/*
 * The source "disk": disks by /sys and by their names, sums that count nothing twice, counters that
 * wrap or start again.
 */
#include "source.h"

static void disk_values(void **state)
{
	(void)state;
	put("proc/diskstats",
	    "   1       0 ram0 0 0 0 0 0 0 0 0 0 0 0\n"
	    "   7       0 loop0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
	    "   7       1 loop1 5 0 10 1 0 0 0 0 0 1 1 0 0 0 0 0 0\n"
	    "   8       0 sda 100 2 2000 40 50 3 1000 60 7 80 90 11 12 1300 14 15 16\n"
	    "   8       1 sda1 90 2 1900 40 50 3 1000 60 0 80 90 11 12 1300 14 15 16\n"
	    " 259       0 nvme0n1 10 0 200 4 5 0 100 6 1 8 9 0 0 0 0 0 0\n"
	    " 259       1 nvme0n1p1 10 0 200 4 5 0 100 6 1 8 9 0 0 0 0 0 0\n"
	    " 253       0 dm-0 100 0 2000 50 50 0 1000 70 0 90 99 0 0 0 0 0 0\n"
	    "   9       0 md0 20 0 300 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
	    " 104       0 cciss/c0d0 3 0 30 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n");
	put("sys/block/sda/size", "1000000\n");
	put("sys/block/sda/device/model", "QEMU HARDDISK   \n");
	put("sys/block/sda/device/vendor", "ATA     \n");
	put("sys/block/sda/queue/rotational", "1\n");
	put_dir("sys/block/sda/slaves");
	put("sys/block/nvme0n1/device/model", "Some SSD\n");
	put("sys/block/nvme0n1/queue/rotational", "0\n");
	put("sys/block/nvme0n1/device/vendor", "0x1af4\n");
	put("sys/block/dm-0/dm/name", "vg-root\n");
	put_dir("sys/block/md0");
	put_dir("sys/block/loop1");
	put_dir("sys/block/loop0");
	put_dir("sys/block/ram0");
	put_dir("sys/block/cciss!c0d0/device");
	begin("disk", NULL);
	assert_int_equal(R.set.row_count, 7);
	check_value(ENTITY_DISK, "sda", "reads", 100);
	check_value(ENTITY_DISK, "sda", "reads_merged", 2);
	check_value(ENTITY_DISK, "sda", "read_bytes", 2000);
	assert_float_equal(unit_value(ENTITY_DISK, "sda", "read_bytes"), 1024000, 1);
	assert_float_equal(unit_value(ENTITY_DISK, "sda", "write_time"), 60000, 1);
	check_value(ENTITY_DISK, "sda", "writes", 50);
	check_value(ENTITY_DISK, "sda", "in_flight", 7);
	check_value(ENTITY_DISK, "sda", "io_time", 80);
	check_value(ENTITY_DISK, "sda", "weighted_time", 90);
	check_value(ENTITY_DISK, "sda", "discards", 11);
	check_value(ENTITY_DISK, "sda", "discard_bytes", 1300);
	check_value(ENTITY_DISK, "sda", "flushes", 15);
	check_value(ENTITY_DISK, "sda", "flush_time", 16);
	assert_int_equal(row_of(ENTITY_DISK, "sda1"), -1);
	assert_int_equal(row_of(ENTITY_DISK, "nvme0n1p1"), -1);
	assert_int_equal(row_of(ENTITY_DISK, "ram0"), -1);
	assert_int_equal(row_of(ENTITY_DISK, "loop0"), -1);
	check_value(ENTITY_DISK, "loop1", "reads", 5);
	check_fact(ENTITY_DISK, "sda", "model", "QEMU HARDDISK");
	check_fact(ENTITY_DISK, "sda", "vendor", "ATA");
	check_fact(ENTITY_DISK, "sda", "size_bytes", "512000000");
	check_fact(ENTITY_DISK, "sda", "rotational", "yes");
	check_fact(ENTITY_DISK, "nvme0n1", "rotational", "no");
	check_fact(ENTITY_DISK, "nvme0n1", "vendor", NULL);
	check_fact(ENTITY_DISK, "dm-0", "device_mapper", "vg-root");
	/* sda, nvme0n1, cciss/c0d0: not what is made of them */
	check_node("reads", 113);
	check_node("read_bytes", 2230);
	check_node("in_flight", 8);
	check_node("flushes", 15);
	/* loop0 comes into use */
	put("proc/diskstats",
	    "   7       0 loop0 1 0 8 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n"
	    "   8       0 sda 101 2 2008 40 50 3 1000 60 4294967295 80 90 11 12 1300 14 15 16\n");
	assert_int_equal(take(), 0);
	check_value(ENTITY_DISK, "loop0", "reads", 1);
	check_node("reads", 114);
	/* a number of requests below zero */
	assert_false(has_value(ENTITY_DISK, "sda", "in_flight"));
	check_node("in_flight", 0);
}

/* By name where there is no /sys: partitions, and what is made of others. */
static void disk_names(void **state)
{
	static const char *const whole[] = {"sda",   "sdaa",    "vda",      "hda",
					    "xvdb1", "nvme0n1", "nvme10n1", "mmcblk0",
					    "dasda", "nbd0",    "sr0"};
	static const char *const parts[] = {"sda1",   "sda12",     "sdaa3",      "vda1",
					    "hda4",   "nvme0n1p2", "nvme10n1p1", "mmcblk0p1",
					    "dasda1", "nbd0p1"};
	static const char *const made[] = {"dm-0",  "dm-12", "md0",     "md127",
					   "loop3", "zram0", "bcache0", "drbd1"};
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(whole); i++)
		strbuf_addf(&text, "8 0 %s 1 0 0 0 0 0 0 0 0 0 0\n", whole[i]);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		strbuf_addf(&text, "8 0 %s 100 0 0 0 0 0 0 0 0 0 0\n", parts[i]);
	for (size_t i = 0; i < ARRAY_SIZE(made); i++)
		strbuf_addf(&text, "8 0 %s 10000 0 0 0 0 0 0 0 0 0 0\n", made[i]);
	put("proc/diskstats", text.buf);
	begin("disk", NULL);
	for (size_t i = 0; i < ARRAY_SIZE(whole); i++)
		check_value(ENTITY_DISK, whole[i], "reads", 1);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		if (row_of(ENTITY_DISK, parts[i]) >= 0)
			fail_msg("%s is taken for a disk", parts[i]);
	for (size_t i = 0; i < ARRAY_SIZE(made); i++)
		check_fact(ENTITY_DISK, made[i], "in_node_sum", "no");
	check_node("reads", ARRAY_SIZE(whole));
	assert_contains(absence("discards"), "of this kernel");
	assert_contains(absence("flush_time"), "of this kernel");
}

/* A disk of NVMe multipath and its paths do the same; what counts depends on the kernel. */
static void disk_multipath(void **state)
{
#define NVME(head, a, b)                                \
	"259 0 nvme0n1 " #head " 0 0 0 0 0 0 0 0 0 0\n" \
	"0 0 nvme0c0n1 " #a " 0 0 0 0 0 0 0 0 0 0\n"    \
	"0 0 nvme0c1n1 " #b " 0 0 0 0 0 0 0 0 0 0\n259 1 nvme1n1 7 0 0 0 0 0 0 0 0 0 0\n"
	static const char *const names[] = {"nvme0n1", "nvme0c0n1", "nvme0c1n1", "nvme1n1"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_free_ char *dir = xasprintf("sys/block/%s/device", names[i]);

		put_dir(dir);
	}
	put("proc/diskstats", NVME(100, 60, 40));
	begin("disk", NULL);
	check_node("reads", 107);
	check_value(ENTITY_DISK, "nvme0c1n1", "reads", 40);
	check_metadata(ENTITY_DISK, "nvme0c1n1", {"in_node_sum", "no"},
		       {"left_out", "a path of a disk that counts the same"});
	check_metadata(ENTITY_DISK, "nvme0n1", {"in_node_sum", "yes"}, {"left_out", NULL});
	put("proc/diskstats", NVME(110, 70, 40));
	assert_int_equal(take(), 0);
	check_node("reads", 117);
	stop();
	/* before Linux 6.3 only paths count */
	put("proc/diskstats", NVME(0, 60, 40));
	begin("disk", NULL);
	check_node("reads", 107);
	check_fact(ENTITY_DISK, "nvme0c0n1", "in_node_sum", "yes");
}

/* What is left out of the node's sum says why. */
static void disk_left_out(void **state)
{
	(void)state;
	put("proc/diskstats", "8 0 sda 5 0 0 0 0 0 0 0 0 0 0\n253 0 dm-0 5 0 0 0 0 0 0 0 0 0 0\n"
			      "252 0 odd 9 0 0 0 0 0 0 0 0 0 0\n");
	put_dir("sys/block/sda/device");
	put("sys/block/dm-0/slaves/sda", "");
	put_dir("sys/block/odd");
	begin("disk", NULL);
	check_node("reads", 5);
	check_fact(ENTITY_DISK, "sda", "left_out", NULL);
	check_fact(ENTITY_DISK, "dm-0", "left_out", "made of other devices or of memory");
	check_fact(ENTITY_DISK, "odd", "left_out", "no device is behind it");
	check_probe("disk", NULL, 0,
		    "sda, dm-0 (left out of the node's sum: made of other devices or of memory), "
		    "odd (left out of the node's sum: no device is behind it)");
}

static void disk_counters(void **state)
{
	(void)state;
	put("proc/diskstats", "8 0 sda 100 0 2000 4294967290 50 0 10 4294000000 0 80 90\n");
	begin("disk", NULL);
	/* milliseconds wrap at 32 bits while requests go on */
	put("proc/diskstats", "8 0 sda 101 0 2008 4 51 0 20 4294000001 0 81 91\n");
	assert_int_equal(take(), 0);
	check_value(ENTITY_DISK, "sda", "read_time", 4294967300);
	check_node("read_time", 4294967300);
	/* another disk has the name: nothing wraps */
	put("proc/diskstats", "8 0 sda 1 0 8 1 1 0 8 1 0 1 1\n");
	assert_int_equal(take(), 0);
	check_value(ENTITY_DISK, "sda", "write_time", 4294000001);
	check_value(ENTITY_DISK, "sda", "reads", 101);
	/* gone, and back */
	put("proc/diskstats", "8 0 sdb 1 0 8 1 1 0 8 1 0 1 1\n");
	assert_int_equal(take(), 0);
	assert_int_equal(R.set.ended_count, 1);
	check_node("reads", 101);
	put("proc/diskstats", "8 0 sda 9 0 8 1 1 0 8 1 0 1 1\n");
	assert_int_equal(take(), 0);
	check_value(ENTITY_DISK, "sda", "reads", 101);
	check_node("reads", 101);
}

static void disk_of_garbage(void **state)
{
	(void)state;
	put("proc/diskstats",
	    "\n8\n8 0\n8 0 sda\n8 1 sda1 1 2 3 4\nx y sdb 1 2 3 4 5 6 7 8 9 10 11\n"
	    "8 0 sdc 99999999999999999999 2 3 4 5 6 7 8 9 10 11\n"
	    "8 0 .. 1 2 3 4 5 6 7 8 9 10 11\n"
	    "8 0 ../../x 1 2 3 4 5 6 7 8 9 10 11\n"
	    "8 0 sdd 1 2 3 4 5 6 7 8 9 10 11\n8 0 sdd 1 2 3 4 5 6 7 8 9 10 11\n"
	    "8 0 sde 1 2 3 4 5 6 7 8 9 10");
	begin("disk", NULL);
	check_value(ENTITY_DISK, "sdd", "reads", 1);
	assert_int_equal(row_of(ENTITY_DISK, "sdb"), -1);
	assert_int_equal(row_of(ENTITY_DISK, "sdc"), -1);
	assert_int_equal(row_of(ENTITY_DISK, "sde"), -1);
	stop();
	/* with /sys a name that leads out of it is no disk */
	put_dir("sys/block/sdd/device");
	begin("disk", NULL);
	assert_int_equal(R.set.row_count, 2);
	check_node("reads", 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_source(disk_values),    with_source(disk_names),
		with_source(disk_multipath), with_source(disk_left_out),
		with_source(disk_counters),  with_source(disk_of_garbage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
