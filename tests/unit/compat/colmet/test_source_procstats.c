/* The source "procstats": colmet's 63 numbers, each in its place, on kernels that lack some. */
#include "source.h"

#include "compat/colmet/colmet.h"

static const char stat_text[] = "cpu  1001 1002 1003 1004 1005 1006 1007 9999 1008 1009\n"
				"cpu0 1 2 3 4 5 6 7 8 9 10\n"
				"intr 2001 41 9 0 0\nctxt 2002\nbtime 1418183276\nprocesses 2003\n"
				"procs_running 7\nprocs_blocked 2004\nsoftirq 5057579\n";

/* The keys of /proc/meminfo in the order of colmet's fields; the kernel has its own, and others
 * between them. */
static const char *const keys[] = {
	"MemTotal",        "MemFree",        "Buffers",        "Cached",         "SwapCached",
	"Active",          "Inactive",       "Unevictable",    "Mlocked",        "SwapTotal",
	"SwapFree",        "Dirty",          "Writeback",      "AnonPages",      "Mapped",
	"Shmem",           "Slab",           "SReclaimable",   "SUnreclaim",     "KernelStack",
	"PageTables",      "NFS_Unstable",   "Bounce",         "WritebackTmp",   "CommitLimit",
	"Committed_AS",    "VmallocTotal",   "VmallocUsed",    "VmallocChunk",   "AnonHugePages",
	"HugePages_Total", "HugePages_Free", "HugePages_Rsvd", "HugePages_Surp", "Hugepagesize",
	"DirectMap4k",     "DirectMap2M",
};

static void put_all(void)
{
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;

	for (unsigned i = ARRAY_SIZE(keys); i-- > 0;)
		strbuf_addf(&text, "%s:  %u kB\n%s(anon): 77 kB\n", keys[i], 500 + i, keys[i]);
	put("proc/meminfo", text.buf);
	put("proc/stat", stat_text);
	put("proc/uptime", "1647.93 1570.09\n");
	put("proc/vmstat", "nr_free_pages 1000\npgpgin 3001\npgpgout 3002\npswpin 3003\n"
			   "pswpout 3004\npgfault 3005\npgmajfault 3006\n");
	put("proc/loadavg", "0.59 6.62 105.05 4/497 11947\n");
}

static void describe(void *user, const struct fixed_row *r)
{
	*(struct fixed_row *)user = *r;
}

/* Every value is in the field that colmet has it in, and in its record, too. */
static void every_field(void **state)
{
	_cleanup_free_ struct fixed_row *r = xcalloc(1, sizeof(*r));
	struct row_mapper *m = colmet_mapper_new();

	(void)state;
	put_all();
	begin("procstats", NULL);
	assert_int_equal(R.set.row_count, 1);
	assert_int_equal(R.set.metric_count, 63);
	assert_int_equal(R.set.absence_count, 0);
	check_node("uptime_total", 1647);
	check_node("uptime_idle", 1570);
	for (unsigned i = 0; i < ARRAY_SIZE(keys); i++) {
		char name[64];

		snprintf(name, sizeof(name), "meminfo_%s", keys[i]);
		for (char *p = name; *p; p++)
			*p = (char)(*p >= 'A' && *p <= 'Z' ? *p + 32 : *p);
		check_node(name, 500 + i);
	}
	check_node("vmstat_pgpgin", 3001);
	check_node("vmstat_pgmajfault", 3006);
	check_node("stat_cpu_user", 1001);
	check_node("stat_cpu_softirq", 1007);
	/* steal, 9999, is in none of them */
	check_node("stat_cpu_guest", 1008);
	check_node("stat_cpu_guest_nice", 1009);
	check_node("stat_intr", 2001);
	check_node("stat_ctxt", 2002);
	check_node("stat_processes", 2003);
	check_node("stat_procs_blocked", 2004);
	assert_float_equal(unit_value(ENTITY_NODE, "node", "loadavg_1min"), 0.59, 1e-9);
	assert_float_equal(unit_value(ENTITY_NODE, "node", "meminfo_memtotal"), 512000, 1e-9);

	colmet_mapper_add(m, "n1", "procstats", &R.set, 1000000);
	colmet_mapper_flush(m, describe, r);
	assert_string_equal(r->table->name, "procstats_default");
	assert_int_equal(r->absent, 0);
	assert_int_equal(r->values[2].i, 500);
	assert_int_equal(r->values[38].i, 536);
	assert_int_equal(r->values[45].i, 1001);
	assert_int_equal(r->values[53].i, 1009);
	assert_true(r->values[58].f == 0.59f && r->values[59].f == 6.62f &&
		    r->values[60].f == 105.05f && r->values[61].f == 4 && r->values[62].f == 497);
	colmet_mapper_free(m);
}

/* system under colmet's names gives the same, as far as it goes; procstats has the last word. */
static void the_same_as_system(void **state)
{
	_cleanup_free_ struct fixed_row *own = xcalloc(1, sizeof(*own));
	_cleanup_free_ struct fixed_row *other = xcalloc(1, sizeof(*other));
	struct row_mapper *m = colmet_mapper_new();

	(void)state;
	put_all();
	begin("procstats", NULL);
	colmet_mapper_add(m, "n1", "procstats", &R.set, 1000000);
	colmet_mapper_flush(m, describe, own);
	begin("system", NULL);
	colmet_mapper_add(m, "n1", "system", &R.set, 1000000);
	colmet_mapper_flush(m, describe, other);
	unsigned same = 0;
	for (unsigned i = 0; i < 63; i++) {
		if (other->absent >> i & 1)
			continue;
		if (i >= 58 ? i != 61 && own->values[i].f != other->values[i].f
			    : own->values[i].i != other->values[i].i)
			fail_msg("%s differs", own->table->fields[i].name);
		same++;
	}
	assert_int_equal(same, 41);
	/* running is 4 in one file and 7 in the other */
	colmet_mapper_add(m, "n1", "system", &R.set, 1000000);
	begin("procstats", NULL);
	colmet_mapper_add(m, "n1", "procstats", &R.set, 1000000);
	colmet_mapper_flush(m, describe, own);
	assert_true(own->values[61].f == 4);
	colmet_mapper_free(m);
}

static void an_old_kernel(void **state)
{
	(void)state;
	put("proc/stat", "cpu  1 2 3 4\nctxt 5\n");
	put("proc/meminfo", "MemTotal: 16 kB\nMemFree: 99999999999999999999 kB\n");
	put("proc/uptime", "x\n");
	put("proc/loadavg", "0.1\n");
	begin("procstats", NULL);
	check_node("stat_cpu_idle", 4);
	check_node("meminfo_memtotal", 16);
	assert_false(has_value(ENTITY_NODE, "node", "meminfo_memfree"));
	assert_false(has_value(ENTITY_NODE, "node", "stat_cpu_guest"));
	assert_false(has_value(ENTITY_NODE, "node", "uptime_total"));
	assert_false(has_value(ENTITY_NODE, "node", "vmstat_pgfault"));
	assert_int_equal(
		R.set.absence_count + (unsigned)__builtin_popcountll(R.set.rows[0].present), 63);
	/* an idle time that goes back a little is held, one that starts again is not */
	put("proc/stat", "cpu  1 2 3 3\n");
	assert_int_equal(take(), 0);
	check_node("stat_cpu_idle", 4);
	put("proc/stat", "cpu  1 2 3 40000\n");
	assert_int_equal(take(), 0);
	put("proc/stat", "cpu  1 2 3 7\n");
	assert_int_equal(take(), 0);
	check_node("stat_cpu_idle", 7);
}

static void absent(void **state)
{
	(void)state;
	assert_int_equal(start("procstats", NULL), -ENOENT);
	assert_contains(R.why.buf, "/proc/stat");
	assert_int_equal(probe("procstats", NULL), -ENOENT);
	put_all();
	assert_int_equal(probe("procstats", NULL), 0);
	assert_string_equal(R.report.detail.buf, "63 of 63 numbers");
	begin("procstats", NULL);
	drop("proc/stat");
	drop("proc/meminfo");
	/* descriptors are kept: what is open goes on */
	assert_int_equal(take(), 0);
}

/* Which zone is which is known once the source is open: colmet's file of names is written then. */
static void zones_are_told_at_once(void **state)
{
	_cleanup_strbuf_ struct strbuf name = STRBUF_INIT, text = STRBUF_INIT;

	(void)state;
	put("sys/class/thermal/thermal_zone0/type", "acpitz\n");
	put("sys/class/thermal/thermal_zone0/temp", "oops\n");
	put("sys/class/thermal/thermal_zone4/type", "x86_pkg_temp\n");
	put("sys/class/thermal/thermal_zone4/temp", "51000\n");
	assert_int_equal(start("thermal", NULL), 0);
	assert_true(colmet_mapping("thermal", &R.set, 0, &name, &text));
	assert_string_equal(text.buf, "counter_1, acpitz_0\ncounter_2, no counter\n"
				      "counter_3, no counter\ncounter_4, no counter\n"
				      "counter_5, x86_pkg_temp_4\ncounter_6, no counter\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		with_source(every_field),
		with_source(the_same_as_system),
		with_source(an_old_kernel),
		with_source(absent),
		with_source(zones_are_told_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
