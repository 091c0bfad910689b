/*
 * The sources of fabrics, parallel file systems, energy, sensors and frequencies, on trees that the
 * tests write: what is counted, what wraps or is cleared, and above all what is not there.
 */
#include "unit.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <linux/ipmi.h>

#include "core/clock.h"
#include "sources/cpufreq.h"
#include "sources/gpfs.h"
#include "sources/ipmi.h"
#include "sources/lustre.h"
#include "sources/runcmd.h"
#include "sources/source.h"
#include "sources/sysfile.h"

#define NOBODY 65534

extern const struct source source_infiniband, source_lustre, source_gpfs, source_rapl, source_hwmon,
	source_thermal, source_cpufreq, source_ipmi;

/* ---- trees
 * ---------------------------------------------------------------------------------------
 */

static const char *tree; /* of the test that runs */

static int setup(void **state)
{
	*state = scratch_make();
	tree = *state;
	assert_int_equal(chmod(tree, 0755), 0);
	return 0;
}

/* Writes a file below the tree, and the directories above it. In place: who has it open sees it. */
static void put(const char *name, const char *text)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", tree, name);

	for (char *p = path + strlen(tree) + 1; (p = strchr(p, '/')); p++) {
		*p = 0;
		assert_true(mkdir(path, 0755) == 0 || errno == EEXIST);
		*p = '/';
	}
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	close(fd);
}

PL_PRINTF(1, 3) static void putf(const char *fmt, const char *text, ...)
{
	char name[512];
	va_list ap;

	va_start(ap, text);
	vsnprintf(name, sizeof(name), fmt, ap);
	va_end(ap);
	put(name, text);
}

static void drop(const char *name)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", tree, name);

	assert_int_equal(nftw(path, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}

static void mode(const char *name, mode_t bits)
{
	_cleanup_free_ char *path = xasprintf("%s/%s", tree, name);

	assert_int_equal(chmod(path, bits), 0);
}

static void program(const char *name, const char *text)
{
	put(name, text);
	mode(name, 0755);
}

/* ---- readings
 * ------------------------------------------------------------------------------------
 */

struct run {
	const struct source *source;
	struct source_context ctx;
	struct sample_set set;
	void *state;
};

static int start(struct run *r, const struct source *s, const char *option)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;

	*r = (struct run){.source = s, .ctx = {.root = tree, .option = option}};
	sample_init(&r->set, s->metrics, s->metric_count);
	int error = s->open(&r->ctx, &r->set, &r->state, &why);
	assert_true(error == 0 || why.len > 0);
	assert_true((error == 0) == (r->state != NULL));
	return error;
}

static int take(struct run *r)
{
	sample_begin(&r->set);
	return r->source->read(r->state, &r->set);
}

static void begin(struct run *r, const struct source *s)
{
	assert_int_equal(start(r, s, NULL), 0);
	assert_int_equal(take(r), 0);
}

static void stop(struct run *r)
{
	if (r->state)
		r->source->close(r->state);
	sample_release(&r->set);
}

static const struct entity *entity(const struct run *r, enum entity_kind kind, const char *name)
{
	for (size_t i = 0; i < r->set.entity_count; i++)
		if (r->set.entities[i].kind == kind && !strcmp(r->set.entities[i].name, name))
			return &r->set.entities[i];
	return NULL;
}

static unsigned metric(const struct run *r, const char *name)
{
	for (unsigned m = 0; m < r->set.metric_count; m++)
		if (!strcmp(r->set.metrics[m].name, name))
			return m;
	fail_msg("no metric '%s'", name);
	return 0;
}

static bool has_row(const struct run *r, enum entity_kind kind, const char *name)
{
	const struct entity *e = entity(r, kind, name);

	for (size_t i = 0; e && i < r->set.row_count; i++)
		if (&r->set.entities[r->set.rows[i].entity] == e)
			return true;
	return false;
}

static bool value_of(const struct run *r, enum entity_kind kind, const char *name, const char *what,
		     int64_t *ret)
{
	const struct entity *e = entity(r, kind, name);
	unsigned m = metric(r, what);

	for (size_t i = 0; e && i < r->set.row_count; i++)
		if (&r->set.entities[r->set.rows[i].entity] == e &&
		    r->set.rows[i].present >> m & 1) {
			*ret = r->set.values[i * r->set.metric_count + m];
			return true;
		}
	return false;
}

static void check_value(const struct run *r, enum entity_kind kind, const char *name,
			const char *what, int64_t want)
{
	int64_t got;

	if (!value_of(r, kind, name, what, &got))
		fail_msg("%s of '%s' is not there", what, name);
	if (got != want)
		fail_msg("%s of '%s': got %lld, want %lld", what, name, (long long)got,
			 (long long)want);
}

static void check_none(const struct run *r, enum entity_kind kind, const char *name,
		       const char *what)
{
	int64_t got;

	if (value_of(r, kind, name, what, &got))
		fail_msg("%s of '%s' is %lld and should not be there", what, name, (long long)got);
}

static void check_fact(const struct run *r, enum entity_kind kind, const char *name,
		       const char *key, const char *want)
{
	const struct entity *e = entity(r, kind, name);
	const char *got = NULL;
	size_t n = 0;

	if (!e)
		fail_msg("no '%s'", name);
	bool there = entity_fact(e, key, &got, &n);
	if (there != (want != NULL) || (want && (n != strlen(want) || memcmp(got, want, n) != 0)))
		fail_msg("%s of '%s': got '%.*s', want '%s'", key, name, (int)n, got ? got : "",
			 want ? want : "nothing");
}

static const char *reason(const struct run *r, const char *what)
{
	unsigned m = what ? metric(r, what) : SAMPLE_METRICS_MAX;

	for (size_t i = 0; i < r->set.absence_count; i++)
		if (r->set.absences[i].metric == m)
			return r->set.absences[i].reason;
	return "";
}

static int probe(const struct source *s, const char *option, struct source_report *report)
{
	struct source_context ctx = {.root = tree, .option = option};

	*report = (struct source_report)SOURCE_REPORT_INIT;
	int r = s->probe(&ctx, report);
	assert_true(report->detail.len > 0);
	return r;
}

static void check_probe(const struct source *s, const char *option, int want, const char *part)
{
	struct source_report report;

	assert_int_equal(probe(s, option, &report), want);
	assert_contains(report.detail.buf, part);
	assert_true((want == -EACCES) == (report.remedy != NULL));
	strbuf_release(&report.detail);
}

/* As somebody who may not read everything; root may. */
static void become_user(void)
{
	if (geteuid() == 0)
		assert_int_equal(seteuid(NOBODY), 0);
}

static void become_again(void)
{
	if (getuid() == 0)
		assert_int_equal(seteuid(0), 0);
}

/* ---- the files themselves
 * ------------------------------------------------------------------------
 */

static void numbers_and_what_is_none(void **state)
{
	static const struct {
		const char *text;
		int error;
		uint64_t value;
	} cases[] = {
		{"42\n", 0, 42},
		{"42", 0, 42},
		{"  7 \n", 0, 7},
		{"18446744073709551615\n", 0, UINT64_MAX},
		{"18446744073709551616\n", -ERANGE, 0},
		{"", -ENODATA, 0},
		{"\n", -ENODATA, 0},
		{"N/A (no PMA)\n", -ENODATA, 0},
		{"-1\n", -ENODATA, 0},
		{"0x10\n", -ENODATA, 0},
		{"1 2\n", -ENODATA, 0},
		{"12kB\n", -ENODATA, 0},
	};
	struct sysfile f;
	uint64_t v;

	(void)state;
	sysfile_init(&f, "%s/n", tree);
	assert_int_equal(sysfile_u64(&f, &v), -ENOENT);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		put("n", cases[i].text);
		v = 99;
		int r = sysfile_u64(&f, &v);
		if (r != cases[i].error)
			fail_msg("'%s': got %d", cases[i].text, r);
		assert_true(v == (r ? 99 : cases[i].value));
	}
	sysfile_close(&f);

	/* a NUL in the middle, more than a number has, a directory, a pipe */
	_cleanup_free_ char *path = xasprintf("%s/n", tree);
	write_file(path, "1\0002\n", 4);
	sysfile_init(&f, "%s", path);
	assert_int_equal(sysfile_u64(&f, &v), -ENODATA);
	char *digits = xmalloc(5001);
	memset(digits, '1', 5000);
	digits[5000] = 0;
	put("n", digits);
	free(digits);
	assert_int_equal(sysfile_u64(&f, &v), -ENODATA);
	sysfile_close(&f);
	sysfile_init(&f, "%s", tree);
	assert_int_equal(sysfile_u64(&f, &v), -EINVAL);
	sysfile_close(&f);
	sysfile_init(&f, "%s/pipe", tree);
	assert_int_equal(mkfifo(f.path, 0600), 0);
	assert_int_equal(sysfile_u64(&f, &v), -EINVAL);
	sysfile_close(&f);
}

static size_t open_descriptors(void)
{
	size_t n = 0;

	for (int fd = 0; fd < 4096; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void descriptors_are_kept_up_to_a_limit(void **state)
{
	struct sysfile f[600];
	size_t before = open_descriptors();
	struct rlimit rl;
	uint64_t v;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &rl), 0);
	put("n", "5\n");
	for (size_t i = 0; i < ARRAY_SIZE(f); i++) {
		sysfile_init(&f[i], "%s/n", tree);
		assert_int_equal(sysfile_u64(&f[i], &v), 0);
	}
	size_t kept = open_descriptors() - before;
	assert_in_range(kept, 100, rl.rlim_cur / 4);
	for (size_t i = 0; i < ARRAY_SIZE(f); i++) {
		assert_int_equal(sysfile_u64(&f[i], &v), 0);
		assert_int_equal(v, 5);
		sysfile_close(&f[i]);
	}
	assert_int_equal(open_descriptors(), before);
}

static void whole_files_and_their_limit(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	struct sysfile f;
	char *text = xmalloc(50001);

	(void)state;
	memset(text, 'x', 50000);
	text[50000] = 0;
	put("long", text);
	sysfile_init(&f, "%s/long", tree);
	assert_int_equal(sysfile_whole(&f, 50000, &out), 0);
	assert_int_equal(out.len, 50000);
	assert_string_equal(out.buf, text);
	strbuf_reset(&out);
	assert_int_equal(sysfile_whole(&f, 49999, &out), -EFBIG);
	assert_int_equal(out.len, 0);
	sysfile_close(&f);
	free(text);
}

static void names_from_devices_are_made_harmless(void **state)
{
	char text[] = "  a\tb\n\x1b[31m  c\x7f \n";

	(void)state;
	sys_clean(text);
	assert_string_equal(text, "a b ?[31m c?");
}

static void counters_that_are_cleared_go_on(void **state)
{
	struct unwrap u = {0};

	(void)state;
	assert_int_equal(sys_grown(&u, 100), 100);
	assert_int_equal(sys_grown(&u, 150), 150);
	assert_int_equal(sys_grown(&u, 7), 157);
	assert_int_equal(sys_grown(&u, 9), 159);
}

/* ---- infiniband
 * ----------------------------------------------------------------------------------
 */

#define IB "sys/class/infiniband"

static void put_port(const char *device, int port, const char *port_state)
{
	putf(IB "/%s/ports/%d/state", port_state, device, port);
	putf(IB "/%s/ports/%d/phys_state", "5: LinkUp\n", device, port);
	putf(IB "/%s/ports/%d/rate", "100 Gb/sec (4X EDR)\n", device, port);
	putf(IB "/%s/ports/%d/link_layer", "InfiniBand\n", device, port);
	putf(IB "/%s/hca_type", "MT4119\n", device);
	putf(IB "/%s/board_id", "MT_0000000008\n", device);
	putf(IB "/%s/fw_ver", "16.35.2000\n", device);
}

static void put_data(const char *device, int port, const char *xmit, const char *rcv)
{
	putf(IB "/%s/ports/%d/counters/port_xmit_data", xmit, device, port);
	putf(IB "/%s/ports/%d/counters/port_rcv_data", rcv, device, port);
}

static void ports_count_words_and_packets(void **state)
{
	struct run r;

	(void)state;
	put_port("mlx5_0", 1, "4: ACTIVE\n");
	put_data("mlx5_0", 1, "1000000000000\n", "7\n");
	putf(IB "/mlx5_0/ports/1/counters/port_xmit_packets", "123\n");
	putf(IB "/mlx5_0/ports/1/counters/port_rcv_packets", "456\n");
	putf(IB "/mlx5_0/ports/1/counters/link_downed", "3\n");
	putf(IB "/mlx5_0/ports/1/counters/VL15_dropped", "11\n");
	putf(IB "/mlx5_0/ports/1/hw_counters/np_cnp_sent", "21\n");
	check_probe(&source_infiniband, NULL, 0, "mlx5_0/1 active");
	begin(&r, &source_infiniband);
	check_value(&r, ENTITY_PORT, "mlx5_0/1", "port_xmit_data", 4000000000000);
	check_value(&r, ENTITY_PORT, "mlx5_0/1", "port_rcv_data", 28);
	check_value(&r, ENTITY_PORT, "mlx5_0/1", "port_xmit_packets", 123);
	check_value(&r, ENTITY_PORT, "mlx5_0/1", "port_rcv_packets", 456);
	check_value(&r, ENTITY_PORT, "mlx5_0/1", "link_downed", 3);
	check_value(&r, ENTITY_PORT, "mlx5_0/1", "vl15_dropped", 11);
	check_value(&r, ENTITY_PORT, "mlx5_0/1", "np_cnp_sent", 21);
	check_value(&r, ENTITY_NODE, "node", "port_xmit_data", 4000000000000);
	check_none(&r, ENTITY_PORT, "mlx5_0/1", "symbol_error");
	assert_string_equal(reason(&r, "symbol_error"), "no port has this counter");
	check_fact(&r, ENTITY_PORT, "mlx5_0/1", "state", "4: ACTIVE");
	check_fact(&r, ENTITY_PORT, "mlx5_0/1", "rate", "100 Gb/sec (4X EDR)");
	check_fact(&r, ENTITY_PORT, "mlx5_0/1", "link_layer", "InfiniBand");
	check_fact(&r, ENTITY_PORT, "mlx5_0/1", "model", "MT4119");
	check_fact(&r, ENTITY_PORT, "mlx5_0/1", "board", "MT_0000000008");
	check_fact(&r, ENTITY_PORT, "mlx5_0/1", "firmware", "16.35.2000");
	check_fact(&r, ENTITY_PORT, "mlx5_0/1", "counts_in", "words of 4 bytes");
	stop(&r);
}

static void omnipath_counts_flits(void **state)
{
	struct run r;

	(void)state;
	put_port("hfi1_0", 1, "4: ACTIVE\n");
	put_data("hfi1_0", 1, "1000\n", "3\n");
	begin(&r, &source_infiniband);
	check_value(&r, ENTITY_PORT, "hfi1_0/1", "port_xmit_data", 8000);
	check_value(&r, ENTITY_PORT, "hfi1_0/1", "port_rcv_data", 24);
	check_fact(&r, ENTITY_PORT, "hfi1_0/1", "counts_in", "flits of 8 bytes");
	stop(&r);
}

static void wide_counters_are_preferred_unless_they_lag(void **state)
{
	struct run r;

	(void)state;
	put_port("mlx4_0", 1, "4: ACTIVE\n");
	put_data("mlx4_0", 1, "4294967295\n", "100\n");
	putf(IB "/mlx4_0/ports/1/counters_ext/port_xmit_data_64", "9000000000\n");
	putf(IB "/mlx4_0/ports/1/counters_ext/port_rcv_data_64", "0\n");
	putf(IB "/mlx4_0/ports/1/counters/port_rcv_packets", "10\n");
	putf(IB "/mlx4_0/ports/1/counters_ext/port_rcv_packets_64", "10\n");
	putf(IB "/mlx4_0/ports/1/counters_ext/port_unicast_xmit_packets", "61\n");
	begin(&r, &source_infiniband);
	check_value(&r, ENTITY_PORT, "mlx4_0/1", "port_xmit_data", 36000000000);
	check_value(&r, ENTITY_PORT, "mlx4_0/1", "port_rcv_data", 400);
	check_value(&r, ENTITY_PORT, "mlx4_0/1", "port_rcv_packets", 10);
	check_value(&r, ENTITY_PORT, "mlx4_0/1", "unicast_xmit_packets", 61);
	/* the wide one is read from now on where it was chosen */
	putf(IB "/mlx4_0/ports/1/counters_ext/port_xmit_data_64", "9000000005\n");
	assert_int_equal(take(&r), 0);
	check_value(&r, ENTITY_PORT, "mlx4_0/1", "port_xmit_data", 36000000020);
	stop(&r);
}

static void narrow_counters_stop_and_are_cleared(void **state)
{
	struct run r;

	(void)state;
	put_port("mthca0", 1, "4: ACTIVE\n");
	put_data("mthca0", 1, "4294967000\n", "50\n");
	putf(IB "/mthca0/ports/1/counters/symbol_error", "65535\n");
	putf(IB "/mthca0/ports/1/counters/link_downed", "254\n");
	begin(&r, &source_infiniband);
	check_value(&r, ENTITY_PORT, "mthca0/1", "port_xmit_data", 4294967000 * 4);
	check_value(&r, ENTITY_PORT, "mthca0/1", "symbol_error", 65535);
	check_fact(&r, ENTITY_PORT, "mthca0/1", "at_end", "symbol_error");

	/* stopped: neither idle nor a wrap */
	put_data("mthca0", 1, "4294967295\n", "60\n");
	putf(IB "/mthca0/ports/1/counters/link_downed", "255\n");
	assert_int_equal(take(&r), 0);
	check_none(&r, ENTITY_PORT, "mthca0/1", "port_xmit_data");
	assert_contains(reason(&r, "port_xmit_data"), "mthca0/1 has reached its end");
	check_value(&r, ENTITY_PORT, "mthca0/1", "port_rcv_data", 240);
	check_fact(&r, ENTITY_PORT, "mthca0/1", "at_end",
		   "port_xmit_data symbol_error link_downed");
	check_value(&r, ENTITY_NODE, "node", "port_xmit_data", 4294967000 * 4);

	/* cleared: goes on, and never falls */
	put_data("mthca0", 1, "10\n", "5\n");
	putf(IB "/mthca0/ports/1/counters/symbol_error", "0\n");
	putf(IB "/mthca0/ports/1/counters/link_downed", "1\n");
	assert_int_equal(take(&r), 0);
	check_value(&r, ENTITY_PORT, "mthca0/1", "port_xmit_data", (4294967000 + 10) * 4);
	check_value(&r, ENTITY_PORT, "mthca0/1", "port_rcv_data", 260);
	check_value(&r, ENTITY_PORT, "mthca0/1", "link_downed", 256);
	check_fact(&r, ENTITY_PORT, "mthca0/1", "at_end", NULL);
	check_value(&r, ENTITY_NODE, "node", "port_xmit_data", (4294967000 + 10) * 4);
	stop(&r);
}

static void what_a_port_does_not_tell_is_absent(void **state)
{
	static const char *const none[] = {"N/A (no PMA)\n",
					   "",
					   "\n",
					   "none\n",
					   "-5\n",
					   "18446744073709551616\n",
					   "9223372036854775807\n",
					   "4611686018427387904\n"};
	struct run r;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(none); i++) {
		put_port("i40iw0", 1, "4: ACTIVE\n");
		put_data("i40iw0", 1, none[i], "9\n");
		assert_int_equal(start(&r, &source_infiniband, NULL), 0);
		assert_int_equal(take(&r), 0);
		check_none(&r, ENTITY_PORT, "i40iw0/1", "port_xmit_data");
		check_none(&r, ENTITY_NODE, "node", "port_xmit_data");
		check_value(&r, ENTITY_PORT, "i40iw0/1", "port_rcv_data", 36);
		stop(&r);
	}
}

static void ports_without_an_agent_have_hardware_counters(void **state)
{
	struct run r;

	(void)state;
	put_port("irdma0", 1, "4: ACTIVE\n");
	put_data("irdma0", 1, "N/A (no PMA)\n", "N/A (no PMA)\n");
	putf(IB "/irdma0/ports/1/hw_counters/ip4OutOctets", "1000\n");
	putf(IB "/irdma0/ports/1/hw_counters/ip6OutOctets", "24\n");
	putf(IB "/irdma0/ports/1/hw_counters/ip4InOctets", "77\n");
	putf(IB "/irdma0/ports/1/hw_counters/ip4OutPkts", "5\n");
	putf(IB "/irdma0/ports/1/hw_counters/ip6OutPkts", "1\n");
	putf(IB "/irdma0/ports/1/hw_counters/cnpSent", "2\n");
	put_port("bnxt_re0", 1, "4: ACTIVE\n");
	putf(IB "/bnxt_re0/ports/1/hw_counters/tx_bytes", "4096\n");
	putf(IB "/bnxt_re0/ports/1/hw_counters/rx_bytes", "8192\n");
	begin(&r, &source_infiniband);
	check_value(&r, ENTITY_PORT, "irdma0/1", "port_xmit_data", 1024);
	check_value(&r, ENTITY_PORT, "irdma0/1", "port_rcv_data", 77);
	check_value(&r, ENTITY_PORT, "irdma0/1", "port_xmit_packets", 6);
	check_value(&r, ENTITY_PORT, "irdma0/1", "np_cnp_sent", 2);
	check_fact(&r, ENTITY_PORT, "irdma0/1", "counts_in", NULL);
	check_value(&r, ENTITY_PORT, "bnxt_re0/1", "port_xmit_data", 4096);
	check_value(&r, ENTITY_PORT, "bnxt_re0/1", "port_rcv_data", 8192);
	check_value(&r, ENTITY_NODE, "node", "port_xmit_data", 5120);
	stop(&r);
}

static void the_node_is_the_sum_of_active_ports(void **state)
{
	struct run r;

	(void)state;
	put_port("mlx5_0", 1, "4: ACTIVE\n");
	put_port("mlx5_1", 1, "1: DOWN\n");
	put_port("mlx5_2", 2, "5: ACTIVE_DEFER\n");
	put_data("mlx5_0", 1, "100\n", "1\n");
	put_data("mlx5_1", 1, "1000\n", "2\n");
	put_data("mlx5_2", 2, "10000\n", "3\n");
	check_probe(&source_infiniband, NULL, 0, "mlx5_0/1 active, mlx5_1/1 down, mlx5_2/2 down");
	begin(&r, &source_infiniband);
	check_value(&r, ENTITY_NODE, "node", "port_xmit_data", 400);
	check_value(&r, ENTITY_PORT, "mlx5_1/1", "port_xmit_data", 4000);

	/* a port that comes up brings what it adds, not its past */
	put_port("mlx5_1", 1, "4: ACTIVE\n");
	put_data("mlx5_1", 1, "1010\n", "2\n");
	assert_int_equal(take(&r), 0);
	check_value(&r, ENTITY_NODE, "node", "port_xmit_data", 440);
	check_fact(&r, ENTITY_PORT, "mlx5_1/1", "state", "4: ACTIVE");

	/* so does one whose counter was not to be read at first */
	stop(&r);
	put_data("mlx5_1", 1, "1010\n", "100\n");
	assert_int_equal(start(&r, &source_infiniband, NULL), 0);
	put_data("mlx5_1", 1, "1010\n", "busy\n");
	assert_int_equal(take(&r), 0);
	check_value(&r, ENTITY_NODE, "node", "port_rcv_data", 4);
	put_data("mlx5_1", 1, "1010\n", "110\n");
	assert_int_equal(take(&r), 0);
	check_value(&r, ENTITY_PORT, "mlx5_1/1", "port_rcv_data", 440);
	check_value(&r, ENTITY_NODE, "node", "port_rcv_data", 4);
	put_data("mlx5_1", 1, "1010\n", "111\n");
	assert_int_equal(take(&r), 0);
	check_value(&r, ENTITY_NODE, "node", "port_rcv_data", 8);
	check_value(&r, ENTITY_NODE, "node", "port_xmit_data", 4440);

	/* one that goes down, and one that is gone, take nothing away */
	put_port("mlx5_0", 1, "1: DOWN\n");
	drop(IB "/mlx5_1/ports");
	assert_int_equal(take(&r), 0);
	check_value(&r, ENTITY_NODE, "node", "port_xmit_data", 4440);
	check_fact(&r, ENTITY_PORT, "mlx5_0/1", "state", "1: DOWN");
	stop(&r);
}

static void no_adapter(void **state)
{
	struct run r;

	(void)state;
	check_probe(&source_infiniband, NULL, -ENOENT, "no host channel adapter");
	assert_int_equal(start(&r, &source_infiniband, NULL), -ENOENT);
	stop(&r);
	put(IB "/mlx5_0/hca_type", "MT4119\n");
	check_probe(&source_infiniband, NULL, -ENOENT, "no host channel adapter");
}

/* ---- lustre
 * --------------------------------------------------------------------------------------
 */

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

static void check_lustre(struct run *r)
{
	begin(r, &source_lustre);
	check_value(r, ENTITY_FILESYSTEM, SCRATCH, "read_bytes", 1000);
	check_value(r, ENTITY_FILESYSTEM, SCRATCH, "reads", 10);
	check_value(r, ENTITY_FILESYSTEM, SCRATCH, "write_bytes", 4000);
	check_value(r, ENTITY_FILESYSTEM, SCRATCH, "writes", 20);
	check_value(r, ENTITY_FILESYSTEM, SCRATCH, "open", 3);
	/* the client prints a line only once there is something to count */
	check_value(r, ENTITY_FILESYSTEM, SCRATCH, "rename", 0);
	check_none(r, ENTITY_FILESYSTEM, SCRATCH, "fallocate");
	check_value(r, ENTITY_FILESYSTEM, SCRATCH, "osc_read_bytes", 1000);
	check_value(r, ENTITY_FILESYSTEM, SCRATCH, "osc_reads", 3);
	check_value(r, ENTITY_FILESYSTEM, SCRATCH, "osc_requests", 11);
	check_value(r, ENTITY_FILESYSTEM, SCRATCH, "osc_wait", 110);
	check_value(r, ENTITY_FILESYSTEM, SCRATCH, "mdc_requests", 4);
	check_value(r, ENTITY_FILESYSTEM, HOME, "open", 8);
	check_none(r, ENTITY_FILESYSTEM, HOME, "osc_requests");
	check_fact(r, ENTITY_FILESYSTEM, SCRATCH, "fsname", "scratch");
	check_fact(r, ENTITY_FILESYSTEM, SCRATCH, "mounted_on", "/lustre/scratch");
	check_fact(r, ENTITY_FILESYSTEM, HOME, "mounted_on",
		   NULL); /* two places: which is not told */
}

static void lustre_in_proc_and_in_debugfs(void **state)
{
	struct run r;

	(void)state;
	put_lustre("sys/kernel/debug/lustre");
	check_probe(&source_lustre, NULL, 0, SCRATCH);
	check_lustre(&r);
	stop(&r);
	drop("sys");
	put_lustre(LUSTRE);
	check_lustre(&r);
	stop(&r);
}

static void lustre_mounts_come_and_go_and_are_cleared(void **state)
{
	struct run r;

	(void)state;
	put_lustre(LUSTRE);
	check_lustre(&r);
	put(LUSTRE "/llite/" SCRATCH "/stats", "read_bytes 1 samples [bytes] 1 100 5\n");
	put(LUSTRE "/llite/new-ffff9a3b11111111/stats", "open 1 samples [regs]\n");
	put(LUSTRE "/osc/scratch-OST0001-osc-ffff9a3b4c5d6000/stats", "garbage\n");
	drop(LUSTRE "/llite/" HOME);
	assert_int_equal(take(&r), 0);
	check_value(&r, ENTITY_FILESYSTEM, SCRATCH, "read_bytes", 1005);
	check_value(&r, ENTITY_FILESYSTEM, SCRATCH, "write_bytes", 4000);
	check_value(&r, ENTITY_FILESYSTEM, SCRATCH, "osc_requests", 11);
	check_value(&r, ENTITY_FILESYSTEM, "new-ffff9a3b11111111", "open", 1);
	assert_false(has_row(&r, ENTITY_FILESYSTEM, HOME));
	assert_int_equal(take(&r), 0);
	assert_null(entity(&r, ENTITY_FILESYSTEM, HOME));
	drop(LUSTRE "/llite");
	assert_int_equal(take(&r), -ENODATA);
	stop(&r);
}

static void lustre_is_absent_or_hidden(void **state)
{
	struct run r;

	(void)state;
	check_probe(&source_lustre, NULL, -ENOENT, "no Lustre client here");
	put("sys/fs/lustre/version", "2.15.3\n");
	check_probe(&source_lustre, NULL, -ENOENT, "no Lustre file system is mounted");
	put_lustre("sys/kernel/debug/lustre");
	mode("sys/kernel/debug", 0000);
	become_user();
	check_probe(&source_lustre, NULL, -EACCES, "only root may look");
	assert_int_equal(start(&r, &source_lustre, NULL), -EACCES);
	stop(&r);
	become_again();
	mode("sys/kernel/debug", 0755);
}

/* ---- commands
 * ------------------------------------------------------------------------------------
 */

static int run_script(const char *script, const char *input, unsigned timeout_ms, size_t max,
		      struct strbuf *out)
{
	_cleanup_free_ char *path = xasprintf("%s/script", tree);
	const char *argv[] = {"script", "one", "two words", NULL};
	struct runcmd c = {path, argv, input, timeout_ms, max};
	pid_t stuck = 0;

	program("script", script);
	int r = runcmd_run(&c, &stuck, out);
	assert_int_equal(stuck, 0);
	return r;
}

static void commands_and_their_output(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	size_t before = open_descriptors();

	(void)state;
	assert_int_equal(setenv("LD_BIND_NOW", "1", 1), 0);
	assert_int_equal(run_script("#!/bin/sh\nread a\necho \"$a/$#/$2\"\necho bad >&2\nexit 3\n",
				    "input\n", 60000, 100, &out),
			 3);
	assert_text(&out, "input/2/two words\nbad\n");
	strbuf_reset(&out);
	/* nothing of our environment, our descriptors, our signals */
	signal(SIGTERM, SIG_IGN);
	int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(dup3(fd, 200, O_CLOEXEC), 200);
	assert_int_equal(run_script("#!/bin/sh\necho \"$LD_BIND_NOW/$LC_ALL\"\ncat\n"
				    "[ -e /proc/self/fd/200 ] || echo closed\nkill -TERM $$\n",
				    NULL, 60000, 100, &out),
			 -EINTR);
	close(200);
	close(fd);
	signal(SIGTERM, SIG_DFL);
	unsetenv("LD_BIND_NOW");
	assert_text(&out, "/C\nclosed\n");
	strbuf_reset(&out);
	assert_int_equal(run_script("#!/no/such/interpreter\n", NULL, 60000, 100, &out), -ENOENT);
	assert_int_equal(open_descriptors(), before);
}

static bool is_alive(pid_t pid)
{
	return kill(pid, 0) == 0;
}

/* Waits for a process that was killed and belongs to nobody here any more. */
static void wait_for_end(pid_t pid)
{
	for (int i = 0; i < 1000 && is_alive(pid); i++)
		usleep(10000);
}

static pid_t pid_in(const char *name)
{
	char text[64];
	int64_t pid;

	assert_true(sys_text(text, sizeof(text), "%s/%s", tree, name) > 0);
	assert_int_equal(parse_i64(text, &pid), 0);
	return (pid_t)pid;
}

static void commands_that_hang_are_ended_with_all_they_started(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;
	_cleanup_free_ char *script = xasprintf("#!/bin/sh\necho early\nsleep 1000 &\n"
						"echo $! >%s/child\ntrap '' TERM HUP\nwait\n"
						"sleep 1000\n",
						tree);

	(void)state;
	assert_int_equal(run_script(script, NULL, 500, 100, &out), -ETIMEDOUT);
	assert_text(&out, "early\n");
	pid_t child = pid_in("child");
	wait_for_end(child);
	assert_false(is_alive(child));

	/* one that ends while another holds its output is over */
	_cleanup_free_ char *leaves = xasprintf("#!/bin/sh\nsleep 1000 &\necho $! >%s/child\n"
						"echo said\n",
						tree);
	strbuf_reset(&out);
	assert_int_equal(run_script(leaves, NULL, 60000, 100, &out), 0);
	assert_text(&out, "said\n");
	child = pid_in("child");
	wait_for_end(child);
	assert_false(is_alive(child));
}

static void commands_that_say_too_much_are_ended(void **state)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	(void)state;
	assert_int_equal(run_script("#!/bin/sh\nyes\n", NULL, 60000, 10000, &out), -EFBIG);
	assert_true(out.len <= 10000);
}

static void one_that_hangs_in_the_kernel_is_not_joined_by_another(void **state)
{
	const char *argv[] = {"true", NULL};
	struct runcmd c = {"/bin/true", argv, NULL, 60000, 100};
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT, why = STRBUF_INIT;
	pid_t child = fork();

	(void)state;
	assert_true(child >= 0);
	if (child == 0) {
		pause();
		_exit(0);
	}
	pid_t stuck = child;
	assert_int_equal(runcmd_run(&c, &stuck, &out), -EBUSY);
	assert_int_equal(stuck, child);
	runcmd_explain(&c, -EBUSY, &out, &why);
	assert_text(&why, "'/bin/true' still hangs");
	assert_int_equal(kill(child, SIGKILL), 0);
	siginfo_t info;
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(runcmd_run(&c, &stuck, &out), 0);
	assert_int_equal(stuck, 0);
	assert_int_equal(waitpid(child, NULL, WNOHANG), -1); /* taken */
}

static void commands_are_found_below_a_root(void **state)
{
	_cleanup_strbuf_ struct strbuf path = STRBUF_INIT;
	_cleanup_free_ char *want = xasprintf("%s/usr/sbin/thing", tree);
	_cleanup_free_ char *env = xstrdup(getenv("PATH"));
	_cleanup_free_ char *bin = xasprintf("relative::%s/bin:/usr/bin", tree);

	(void)state;
	assert_false(runcmd_find(tree, "thing", &path));
	put("usr/bin/thing", "no program\n");
	assert_false(runcmd_find(tree, "thing", &path));
	program("usr/sbin/thing", "#!/bin/sh\n");
	program("bin/thing", "#!/bin/sh\n");
	assert_true(runcmd_find(tree, "thing", &path));
	assert_string_equal(path.buf, want);
	assert_int_equal(setenv("PATH", bin, 1), 0);
	assert_true(runcmd_find("", "thing", &path));
	assert_true(str_suffix(path.buf, "/bin/thing"));
	assert_int_equal(setenv("PATH", env, 1), 0);
	assert_false(runcmd_find("", "thing", &path));
}

/* ---- gpfs
 * ----------------------------------------------------------------------------------------
 */

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
	struct run r;

	(void)state;
	check_probe(&source_gpfs, NULL, -ENOENT, "no GPFS here");
	program(MMPMON, script);
	put("answer", FS_LINE("scratch", "0", "1000") FS_LINE("home", "1", "5")
			      FS_LINE("project", "0", "70"));
	/* a program in a tree that somebody sent is data */
	check_probe(&source_gpfs, NULL, -EPERM, "a recorded tree and not run");
	assert_int_equal(start(&r, &source_gpfs, NULL), -EPERM);
	stop(&r);
	check_probe(&source_gpfs, "run", 0, "mmpmon -p");
	assert_int_equal(start(&r, &source_gpfs, "run"), 0);
	assert_int_equal(take(&r), 0);
	check_value(&r, ENTITY_FILESYSTEM, "site.gpfs:scratch", "read_bytes", 1000);
	check_value(&r, ENTITY_FILESYSTEM, "site.gpfs:scratch", "write_bytes", 2000);
	check_value(&r, ENTITY_FILESYSTEM, "site.gpfs:scratch", "open", 30);
	check_value(&r, ENTITY_FILESYSTEM, "site.gpfs:scratch", "inode_updates", 7);
	check_value(&r, ENTITY_FILESYSTEM, "site.gpfs:project", "read_bytes", 70);
	check_fact(&r, ENTITY_FILESYSTEM, "site.gpfs:project", "disks", "48");
	check_fact(&r, ENTITY_FILESYSTEM, "site.gpfs:project", "cluster", "site.gpfs");
	assert_false(has_row(&r, ENTITY_FILESYSTEM, "site.gpfs:home"));

	/* mounted anew: counts from 0, and goes on; another is gone */
	put("answer", FS_LINE("scratch", "0", "30"));
	assert_int_equal(take(&r), 0);
	check_value(&r, ENTITY_FILESYSTEM, "site.gpfs:scratch", "read_bytes", 1030);
	assert_false(has_row(&r, ENTITY_FILESYSTEM, "site.gpfs:project"));
	put("answer", "mmpmon: no file systems\n");
	assert_int_equal(take(&r), -ENODATA);
	assert_contains(reason(&r, NULL), "no mounted file system");
	stop(&r);

	program(MMPMON, "#!/bin/sh\necho 'mmpmon: not allowed'\nexit 1\n");
	assert_int_equal(start(&r, &source_gpfs, "run"), 0);
	assert_int_equal(take(&r), -EIO);
	assert_contains(reason(&r, NULL), "ended with status 1: mmpmon: not allowed");
	stop(&r);
	mode(MMPMON, 0644);
	become_user();
	check_probe(&source_gpfs, "run", -EACCES, "cannot run");
	become_again();
}

/* ---- rapl
 * ----------------------------------------------------------------------------------------
 */

#define RAPL "sys/class/powercap"

static void put_zone(const char *zone, const char *name, const char *uj, const char *range)
{
	putf(RAPL "/%s/name", name, zone);
	putf(RAPL "/%s/energy_uj", uj, zone);
	if (range)
		putf(RAPL "/%s/max_energy_range_uj", range, zone);
}

static void zones_have_the_names_of_their_domains(void **state)
{
	struct run r;

	(void)state;
	put(RAPL "/intel-rapl/enabled", "1\n");
	put_zone("intel-rapl:0", "package-0\n", "1000000\n", "262143328850\n");
	put_zone("intel-rapl:0:0", "core\n", "400000\n", "262143328850\n");
	put_zone("intel-rapl:0:1", "uncore\n", "5\n", "262143328850\n");
	put_zone("intel-rapl:0:2", "dram\n", "30000\n", "65712999613\n");
	put_zone("intel-rapl:1", "package-1\n", "2000000\n", "262143328850\n");
	put_zone("intel-rapl:1:0", "dram\n", "40000\n", "65712999613\n");
	put_zone("intel-rapl:2", "psys\n", "9000000\n", "262143328850\n");
	put_zone("intel-rapl:3", "package-2-die-1\n", "3000000\n", "262143328850\n");
	put_zone("intel-rapl:3:0", "core\n", "11\n", "262143328850\n");
	put_zone("intel-rapl-mmio:0", "package-0\n", "77\n", "262143328850\n");
	put_zone("dtpm:0", "soc\n", "77\n", "262143328850\n");
	put(RAPL "/intel-rapl:9/energy_uj", "5\n"); /* without a name */
	check_probe(&source_rapl, NULL, 0, "package-0, core-0, uncore-0, dram-0, package-1");
	begin(&r, &source_rapl);
	check_value(&r, ENTITY_PACKAGE, "package-0", "energy", 1000000);
	check_value(&r, ENTITY_PACKAGE, "core-0", "energy", 400000);
	check_value(&r, ENTITY_PACKAGE, "uncore-0", "energy", 5);
	check_value(&r, ENTITY_PACKAGE, "dram-0", "energy", 30000);
	check_value(&r, ENTITY_PACKAGE, "dram-1", "energy", 40000);
	check_value(&r, ENTITY_PACKAGE, "psys-0", "energy", 9000000);
	check_value(&r, ENTITY_PACKAGE, "package-2-die-1", "energy", 3000000);
	check_value(&r, ENTITY_PACKAGE, "core-2-die-1", "energy", 11);
	check_fact(&r, ENTITY_PACKAGE, "dram-0", "range_joules", "65713");
	check_fact(&r, ENTITY_PACKAGE, "dram-0", "zone", "intel-rapl:0:2");
	/* cores are part of their package, memory is not */
	check_value(&r, ENTITY_NODE, "node", "package_energy", 6000000);
	check_value(&r, ENTITY_NODE, "node", "dram_energy", 70000);
	check_value(&r, ENTITY_NODE, "node", "psys_energy", 9000000);
	check_value(&r, ENTITY_NODE, "node", "energy", 6070000);
	assert_int_equal(r.set.row_count, 10);
	double joules = sample_value(&r.set, 0, 0);
	assert_true(joules > 0.999999 && joules < 1.000001);
	stop(&r);
}

static void energy_wraps_at_its_range(void **state)
{
	struct run r;

	(void)state;
	put_zone("intel-rapl-mmio:0", "package-0\n", "900\n", "999\n");
	put_zone("intel-rapl:1", "package-1\n", "100\n", "999\n");
	begin(&r, &source_rapl);
	check_value(&r, ENTITY_NODE, "node", "energy", 1000);
	assert_string_equal(reason(&r, "dram_energy"), "the processor has no such counter");
	put(RAPL "/intel-rapl-mmio:0/energy_uj", "50\n");
	assert_int_equal(take(&r), 0);
	check_value(&r, ENTITY_PACKAGE, "package-0", "energy", 1050);
	check_value(&r, ENTITY_NODE, "node", "package_energy", 1150);
	put(RAPL "/intel-rapl-mmio:0/energy_uj", "50\n");
	put(RAPL "/intel-rapl:1/energy_uj", "99\n");
	assert_int_equal(take(&r), 0);
	check_value(&r, ENTITY_PACKAGE, "package-0", "energy", 1050);
	check_value(&r, ENTITY_PACKAGE, "package-1", "energy", 1099);

	/* a part that is missing once: no total, which would fall and rise again */
	put(RAPL "/intel-rapl:1/energy_uj", "busy\n");
	assert_int_equal(take(&r), 0);
	assert_false(has_row(&r, ENTITY_PACKAGE, "package-1"));
	check_value(&r, ENTITY_PACKAGE, "package-0", "energy", 1050);
	check_none(&r, ENTITY_NODE, "node", "energy");
	check_none(&r, ENTITY_NODE, "node", "package_energy");
	put(RAPL "/intel-rapl-mmio:0/energy_uj", "");
	assert_int_equal(take(&r), -ENODATA);
	stop(&r);
}

static void energy_that_is_refused_or_odd(void **state)
{
	struct run r;

	(void)state;
	check_probe(&source_rapl, NULL, -ENOENT, "no energy counters");
	put_zone("intel-rapl:0", "package-0\n", "18446744073709551616\n", NULL);
	check_probe(&source_rapl, NULL, -ERANGE, "cannot read");
	put_zone("intel-rapl:0", "package-0\n", "5000\n", NULL);
	put_zone("intel-rapl:1", "package-1\n", "\n", "0\n");
	check_probe(&source_rapl, NULL, 0, "package-0; cannot read");
	begin(&r, &source_rapl);
	check_value(&r, ENTITY_NODE, "node", "energy", 5000);
	/* without a range it may only have begun again */
	put(RAPL "/intel-rapl:0/energy_uj", "40\n");
	assert_int_equal(take(&r), 0);
	check_value(&r, ENTITY_PACKAGE, "package-0", "energy", 5040);
	stop(&r);

	drop(RAPL "/intel-rapl:1");
	mode(RAPL "/intel-rapl:0/energy_uj", 0000);
	become_user();
	check_probe(&source_rapl, NULL, -EACCES, "intel-rapl:0/energy_uj': Permission denied");
	struct source_report report;
	assert_int_equal(probe(&source_rapl, NULL, &report), -EACCES);
	assert_contains(report.remedy, "chmod a+r /sys/class/powercap/");
	strbuf_release(&report.detail);
	assert_int_equal(start(&r, &source_rapl, NULL), -EACCES);
	stop(&r);
	become_again();
}

/* ---- hwmon
 * ---------------------------------------------------------------------------------------
 */

#define HW "sys/class/hwmon"

static void sensors_of_every_kind(void **state)
{
	struct run r;

	(void)state;
	put(HW "/hwmon0/name", "nct6779\n");
	put(HW "/hwmon0/temp1_input", "-5500\n");
	put(HW "/hwmon0/temp1_label", "SYSTIN\n");
	put(HW "/hwmon0/temp1_crit", "100000\n");
	put(HW "/hwmon0/temp1_max", "65261850\n");
	put(HW "/hwmon0/temp10_input", "41000\n");
	put(HW "/hwmon0/fan2_input", "1098\n");
	put(HW "/hwmon0/in0_input", "792\n");
	put(HW "/hwmon0/in0_max", "1744\n");
	put(HW "/hwmon0/in1_max", "0\n");
	put(HW "/hwmon0/curr1_input", "1500\n");
	put(HW "/hwmon0/intrusion0_alarm", "1\n");
	put(HW "/hwmon0/humidity1_input", "50000\n");
	put(HW "/hwmon0/freq1_input", "214000000\n");
	put(HW "/hwmon0/tempx_input", "1\n");
	put(HW "/hwmon0/temp_input", "1\n");
	put(HW "/hwmon0/pwm1_auto_point1_temp", "30000\n");
	put(HW "/hwmon1/name", "power_meter\n");
	put(HW "/hwmon1/power1_average", "245000000\n");
	put(HW "/hwmon1/power1_input", "250000000\n");
	put(HW "/hwmon1/power2_input", "7000000\n");
	put(HW "/hwmon2/name", "amd_energy\n");
	put(HW "/hwmon2/energy1_input", "123456789\n");
	put(HW "/hwmon2/energy1_label", "Ecore000\n");
	check_probe(&source_hwmon, NULL, 0, "temperatures: 2, fans: 1, voltages: 1, powers: 2");
	begin(&r, &source_hwmon);
	check_value(&r, ENTITY_SENSOR, "nct6779/SYSTIN", "temperature", -5500);
	check_fact(&r, ENTITY_SENSOR, "nct6779/SYSTIN", "crit", "100");
	check_fact(&r, ENTITY_SENSOR, "nct6779/SYSTIN", "max", NULL);
	check_fact(&r, ENTITY_SENSOR, "nct6779/SYSTIN", "channel", "temp1");
	check_value(&r, ENTITY_SENSOR, "nct6779/temp10", "temperature", 41000);
	check_value(&r, ENTITY_SENSOR, "nct6779/fan2", "fan", 1098);
	check_value(&r, ENTITY_SENSOR, "nct6779/in0", "voltage", 792);
	check_fact(&r, ENTITY_SENSOR, "nct6779/in0", "max", "1.744");
	check_value(&r, ENTITY_SENSOR, "nct6779/curr1", "current", 1500);
	check_value(&r, ENTITY_SENSOR, "power_meter/power1", "power", 245000000);
	check_value(&r, ENTITY_SENSOR, "power_meter/power2", "power", 7000000);
	check_value(&r, ENTITY_SENSOR, "amd_energy/Ecore000", "energy", 123456789);
	assert_int_equal(r.set.row_count, 8);
	put(HW "/hwmon2/energy1_input", "11\n"); /* the driver was loaded again */
	assert_int_equal(take(&r), 0);
	check_value(&r, ENTITY_SENSOR, "amd_energy/Ecore000", "energy", 123456800);
	stop(&r);
}

static void link_device(const char *entry, const char *device)
{
	_cleanup_free_ char *target = xasprintf("%s/sys/devices/%s", tree, device);
	_cleanup_free_ char *path = xasprintf("%s/" HW "/%s/device", tree, entry);

	putf("sys/devices/%s/uevent", "\n", device);
	assert_int_equal(symlink(target, path), 0);
}

static void names_that_repeat_are_told_apart(void **state)
{
	struct run r;

	(void)state;
	for (int i = 0; i < 2; i++) {
		putf(HW "/hwmon%d/name", "coretemp\n", i);
		putf(HW "/hwmon%d/temp1_input", i ? "61000\n" : "60000\n", i);
		putf(HW "/hwmon%d/temp1_label", "Core 0\n", i);
		putf(HW "/hwmon%d/name", "nvme\n", i + 2);
		putf(HW "/hwmon%d/temp1_input", i ? "43000\n" : "42000\n", i + 2);
		putf(HW "/hwmon%d/name", "same\n", i + 4);
		putf(HW "/hwmon%d/temp1_input", i ? "2\n" : "1\n", i + 4);
	}
	link_device("hwmon0", "coretemp.0");
	link_device("hwmon1", "coretemp.1");
	link_device("hwmon2", "nvme0");
	link_device("hwmon3", "nvme1");
	put(HW "/hwmon6/temp1_input", "3\n"); /* no name, no device */
	put(HW "/hwmon7/name", "gpu\n");
	put(HW "/hwmon7/in0_input", "4\n");
	put(HW "/hwmon7/in0_label", "VDD\n");
	put(HW "/hwmon7/curr1_input", "5\n");
	put(HW "/hwmon7/curr1_label", "VDD\n");
	put(HW "/hwmon7/temp1_input", "6\n");
	put(HW "/hwmon7/temp1_label", "\033[2J \n");
	put(HW "/hwmon8/device/name", "old\n"); /* as before Linux 3.15 */
	put(HW "/hwmon8/device/temp1_input", "7\n");
	begin(&r, &source_hwmon);
	check_value(&r, ENTITY_SENSOR, "coretemp.0/Core 0", "temperature", 60000);
	check_value(&r, ENTITY_SENSOR, "coretemp.1/Core 0", "temperature", 61000);
	check_value(&r, ENTITY_SENSOR, "nvme0/temp1", "temperature", 42000);
	check_value(&r, ENTITY_SENSOR, "nvme1/temp1", "temperature", 43000);
	check_value(&r, ENTITY_SENSOR, "same-hwmon4/temp1", "temperature", 1);
	check_value(&r, ENTITY_SENSOR, "same-hwmon5/temp1", "temperature", 2);
	check_value(&r, ENTITY_SENSOR, "hwmon6/temp1", "temperature", 3);
	check_value(&r, ENTITY_SENSOR, "gpu/VDD", "voltage", 4);
	check_value(&r, ENTITY_SENSOR, "gpu/VDD-curr1", "current", 5);
	check_value(&r, ENTITY_SENSOR, "gpu/?[2J", "temperature", 6);
	check_value(&r, ENTITY_SENSOR, "old/temp1", "temperature", 7);
	check_fact(&r, ENTITY_SENSOR, "coretemp.1/Core 0", "chip", "coretemp");
	stop(&r);
}

static void sensors_that_are_faulty_or_gone(void **state)
{
	struct run r;

	(void)state;
	check_probe(&source_hwmon, NULL, -ENOENT, "no sensors");
	put(HW "/hwmon0/name", "chip\n");
	check_probe(&source_hwmon, NULL, -ENOENT, "no sensors");
	put(HW "/hwmon0/temp1_input", "100\n");
	put(HW "/hwmon0/temp1_fault", "1\n");
	put(HW "/hwmon0/temp2_input", "200\n");
	put(HW "/hwmon0/temp2_fault", "0\n");
	put(HW "/hwmon0/temp3_input", "N/A\n");
	put(HW "/hwmon0/temp4_input", "9999999999999999999999\n");
	put(HW "/hwmon0/energy1_input", "-3\n");
	begin(&r, &source_hwmon);
	assert_int_equal(r.set.row_count, 1);
	check_value(&r, ENTITY_SENSOR, "chip/temp2", "temperature", 200);
	assert_string_equal(reason(&r, "fan"), "no chip measures this");
	/* the fault goes away, the other channel vanishes */
	put(HW "/hwmon0/temp1_fault", "0\n");
	put(HW "/hwmon0/temp2_fault", "1\n");
	assert_int_equal(take(&r), 0);
	assert_int_equal(r.set.row_count, 1);
	check_value(&r, ENTITY_SENSOR, "chip/temp1", "temperature", 100);
	put(HW "/hwmon0/temp1_input", "\n");
	assert_int_equal(take(&r), -ERANGE);
	stop(&r);
}

/* ---- thermal
 * -------------------------------------------------------------------------------------
 */

#define TH "sys/class/thermal"

static void zones_and_cooling(void **state)
{
	struct run r;

	(void)state;
	check_probe(&source_thermal, NULL, -ENOENT, "no thermal zones");
	put(TH "/thermal_zone0/type", "acpitz\n");
	put(TH "/thermal_zone0/temp", "-44000\n");
	put(TH "/thermal_zone0/policy", "step_wise\n");
	put(TH "/thermal_zone1/type", "x86_pkg_temp\n");
	put(TH "/thermal_zone1/temp", "51000\n");
	put(TH "/thermal_zone10/type", "x86_pkg_temp\n");
	put(TH "/thermal_zone10/temp", "52000\n");
	put(TH "/thermal_zone11/temp", "oops\n");
	put(TH "/cooling_device0/type", "Processor\n");
	put(TH "/cooling_device0/cur_state", "2\n");
	put(TH "/cooling_device0/max_state", "10\n");
	put(TH "/cooling_device1/type", "Processor\n");
	put(TH "/cooling_device1/cur_state", "0\n");
	put(TH "/cooling_device2/type", "intel_powerclamp\n");
	put(TH "/cooling_device2/cur_state", "-1\n");
	put(TH "/cooling_device3/type", "TFN1\n"); /* without a state */
	check_probe(&source_thermal, NULL, 0, "thermal zones: 4, cooling devices: 3");
	begin(&r, &source_thermal);
	check_value(&r, ENTITY_SENSOR, "acpitz", "temperature", -44000);
	check_fact(&r, ENTITY_SENSOR, "acpitz", "policy", "step_wise");
	check_fact(&r, ENTITY_SENSOR, "acpitz", "device", "thermal_zone0");
	check_value(&r, ENTITY_SENSOR, "x86_pkg_temp-1", "temperature", 51000);
	check_value(&r, ENTITY_SENSOR, "x86_pkg_temp-10", "temperature", 52000);
	check_value(&r, ENTITY_SENSOR, "cooling/Processor-0", "cooling", 2);
	check_fact(&r, ENTITY_SENSOR, "cooling/Processor-0", "max_state", "10");
	check_value(&r, ENTITY_SENSOR, "cooling/Processor-1", "cooling", 0);
	assert_int_equal(r.set.row_count, 5);
	drop(TH);
	assert_int_equal(take(&r), 0); /* what is open is still there */
	stop(&r);
}

/* ---- cpufreq
 * -------------------------------------------------------------------------------------
 */

#define CPUS "sys/devices/system/cpu"

static void frequencies_in_cpuinfo(void **state)
{
	static const char text[] =
		"processor\t: 0\nmodel name\t: cpu MHz : 5\ncpu MHz\t\t: 2596.142\n\n"
		"processor\t: 3\ncpu MHz\t\t: 800\n"
		"processor\t: 4\ncpu MHz\t\t: 0.000\n"
		"processor\t: 99999999\ncpu MHz\t\t: 1000.5\n"
		"processor\t: x\ncpu MHz\t\t: 1000.5\n"
		"processor\t: 5\ncpu MHz\t\t: 99999999999999999.1\n"
		"cpu MHz\t\t: 1.23456";
	const char *p = text, *end = text + sizeof(text) - 1;
	int64_t cpu = -1;
	uint64_t khz;

	(void)state;
	assert_true(cpufreq_next(&p, end, &cpu, &khz));
	assert_int_equal(cpu, 0);
	assert_int_equal(khz, 2596142);
	assert_true(cpufreq_next(&p, end, &cpu, &khz));
	assert_int_equal(cpu, 3);
	assert_int_equal(khz, 800000);
	assert_true(cpufreq_next(&p, end, &cpu, &khz));
	assert_int_equal(cpu, 5);
	assert_int_equal(khz, 1234);
	assert_false(cpufreq_next(&p, end, &cpu, &khz));
}

static void put_cpu(int n, int package, int core, const char *khz, const char *throttles,
		    const char *package_throttles)
{
	char number[16];

	snprintf(number, sizeof(number), "%d\n", package);
	putf(CPUS "/cpu%d/topology/physical_package_id", number, n);
	snprintf(number, sizeof(number), "%d\n", core);
	putf(CPUS "/cpu%d/topology/core_id", number, n);
	if (khz)
		putf(CPUS "/cpu%d/cpufreq/scaling_cur_freq", khz, n);
	if (!throttles)
		return;
	putf(CPUS "/cpu%d/thermal_throttle/core_throttle_count", throttles, n);
	putf(CPUS "/cpu%d/thermal_throttle/package_throttle_count", package_throttles, n);
}

static void frequencies_and_throttling(void **state)
{
	struct run r;

	(void)state;
	check_probe(&source_cpufreq, NULL, -ENOENT, "no frequencies");
	put_cpu(0, 0, 0, "1000000\n", "9\n", "30\n");
	put_cpu(1, 0, 1, "2000000\n", "1\n", "30\n");
	put_cpu(2, 0, 0, "3000000\n", "7\n", "30\n"); /* shares a core with cpu0 */
	put_cpu(3, 1, 0, "4000001\n", "100\n", "6\n");
	put_cpu(4, 1, 1, NULL, NULL, NULL); /* offline */
	put(CPUS "/cpufreq/boost", "1\n");
	put(CPUS "/cpuidle/current_driver", "none\n");
	put(CPUS "/cpu0/cpufreq/scaling_driver", "intel_pstate\n");
	put(CPUS "/cpu0/cpufreq/scaling_governor", "performance\n");
	put(CPUS "/cpu0/cpufreq/cpuinfo_max_freq", "3700000\n");
	put(CPUS "/cpu0/cpufreq/scaling_min_freq", "800000\n");
	check_probe(&source_cpufreq, NULL, 0, "by scaling_cur_freq");
	begin(&r, &source_cpufreq);
	check_value(&r, ENTITY_CPU, "cpu0", "frequency", 1000000);
	check_value(&r, ENTITY_CPU, "cpu3", "frequency", 4000001);
	check_value(&r, ENTITY_CPU, "cpu2", "core_throttles", 7);
	assert_false(has_row(&r, ENTITY_CPU, "cpu4"));
	check_value(&r, ENTITY_PACKAGE, "package-0", "package_throttles", 30);
	check_value(&r, ENTITY_PACKAGE, "package-1", "package_throttles", 6);
	check_value(&r, ENTITY_NODE, "node", "frequency", 2500000);
	check_value(&r, ENTITY_NODE, "node", "frequency_lowest", 1000000);
	check_value(&r, ENTITY_NODE, "node", "frequency_highest", 4000001);
	check_value(&r, ENTITY_NODE, "node", "core_throttles", 9 + 1 + 100);
	check_value(&r, ENTITY_NODE, "node", "package_throttles", 36);
	check_fact(&r, ENTITY_NODE, "node", "driver", "intel_pstate");
	check_fact(&r, ENTITY_NODE, "node", "governor", "performance");
	check_fact(&r, ENTITY_NODE, "node", "max", "3700000000");
	check_fact(&r, ENTITY_NODE, "node", "min", "800000000");
	check_fact(&r, ENTITY_CPU, "cpu3", "package", "1");
	assert_true(sample_value(&r.set, 0, 0) == 1e9);

	put(CPUS "/cpu1/cpufreq/scaling_cur_freq", "<unknown>\n");
	put(CPUS "/cpu3/cpufreq/scaling_cur_freq", "18446744073709551615\n");
	assert_int_equal(take(&r), 0);
	check_none(&r, ENTITY_CPU, "cpu1", "frequency");
	check_none(&r, ENTITY_CPU, "cpu3", "frequency");
	check_value(&r, ENTITY_NODE, "node", "frequency", 2000000);
	stop(&r);
}

static void both_ways_to_a_frequency(void **state)
{
	struct run r;

	(void)state;
	put("proc/cpuinfo",
	    "processor : 0\ncpu MHz : 1500.000\n\nprocessor : 1\ncpu MHz : 2500.250\n");
	/* a tree without /sys */
	begin(&r, &source_cpufreq);
	check_value(&r, ENTITY_CPU, "cpu1", "frequency", 2500250);
	check_value(&r, ENTITY_NODE, "node", "frequency", 2000125);
	check_fact(&r, ENTITY_NODE, "node", "by", "/proc/cpuinfo");
	assert_contains(reason(&r, "core_throttles"), "does not count");
	stop(&r);
	put_cpu(0, 0, 0, "1000\n", NULL, NULL);
	put_cpu(1, 0, 1, "2000\n", NULL, NULL);
	assert_int_equal(start(&r, &source_cpufreq, "cpuinfo"), 0);
	assert_int_equal(take(&r), 0);
	check_value(&r, ENTITY_CPU, "cpu0", "frequency", 1500000);
	stop(&r);
	assert_int_equal(start(&r, &source_cpufreq, "files"), 0);
	assert_int_equal(take(&r), 0);
	check_value(&r, ENTITY_CPU, "cpu0", "frequency", 1000);
	drop("proc/cpuinfo");
	drop("sys");
	stop(&r);
	assert_int_equal(start(&r, &source_cpufreq, "files"), -ENOENT);
	stop(&r);
}

/* ---- ipmi
 * ----------------------------------------------------------------------------------------
 */

static void answers_of_controllers(void **state)
{
	uint8_t good[] = {0, 0xdc, 0x4a, 0x01, 0x44, 0, 0xf8, 0x01, 0x5c, 0x01,
			  1, 2,    3,    4,    0xe8, 3, 0,    0,    0x40};
	struct ipmi_reading got;

	(void)state;
	assert_int_equal(ipmi_parse_dcmi(good, sizeof(good), &got), 0);
	assert_int_equal(got.present, 0xf);
	static const uint64_t want[] = {330, 68, 504, 348};
	assert_memory_equal(got.watts, want, sizeof(want));
	/* OpenBMC says "deactivated" and measures all the same */
	good[18] = 0;
	assert_int_equal(ipmi_parse_dcmi(good, sizeof(good), &got), 0);
	assert_int_equal(ipmi_parse_dcmi(good, 10, &got), 0);
	assert_int_equal(ipmi_parse_dcmi(good, 9, &got), -EBADMSG);
	assert_int_equal(ipmi_parse_dcmi(good, 0, &got), -EBADMSG);
	good[1] = 0xdd;
	assert_int_equal(ipmi_parse_dcmi(good, sizeof(good), &got), -EBADMSG);
	good[1] = 0xdc;
	good[2] = good[3] = 0;
	assert_int_equal(ipmi_parse_dcmi(good, sizeof(good), &got), -ENODATA);
	good[0] = 0xc1;
	assert_int_equal(ipmi_parse_dcmi(good, sizeof(good), &got), -EOPNOTSUPP);
	good[0] = 0xc0;
	assert_int_equal(ipmi_parse_dcmi(good, 1, &got), -ENODATA);
}

#define IPMITOOL                                                                   \
	"\n    Instantaneous power reading:                   215 Watts\n"         \
	"    Minimum during sampling period:                162 Watts\n"           \
	"    Maximum during sampling period:                276 Watts\n"           \
	"    Average power reading over sample period:      176 Watts\n"           \
	"    IPMI timestamp:                           Wed Feb 15 12:49:51 2017\n" \
	"    Sampling period:                          01131466 Seconds.\n"        \
	"    Power reading state is:                   activated\n\n"
#define IPMI_DCMI                                                          \
	"Current Power                        : 332 Watts\n"               \
	"Minimum Power over sampling duration : 68 watts\n"                \
	"Maximum Power over sampling duration : 504 watts\n"               \
	"Average Power over sampling duration : 348 watts\n"               \
	"Time Stamp                           : 11/03/2023 - 08:36:29\n"   \
	"Statistics reporting time period     : 2685198000 milliseconds\n" \
	"Power Measurement                    : Active\n"

static int parse_text(const char *text, struct ipmi_reading *got)
{
	size_t n = strlen(text);
	_cleanup_free_ char *copy = exact_copy(text, n);

	return ipmi_parse_text(copy, n, got);
}

static void what_commands_print(void **state)
{
	struct ipmi_reading got;

	(void)state;
	assert_int_equal(parse_text(IPMITOOL, &got), 0);
	static const uint64_t tool[] = {215, 162, 276, 176};
	assert_int_equal(got.present, 0xf);
	assert_memory_equal(got.watts, tool, sizeof(tool));
	assert_int_equal(parse_text(IPMI_DCMI, &got), 0);
	static const uint64_t dcmi[] = {332, 68, 504, 348};
	assert_memory_equal(got.watts, dcmi, sizeof(dcmi));
	assert_int_equal(parse_text("Current Power : 591W", &got), 0);
	assert_int_equal(got.watts[IPMI_NOW], 591);
	assert_int_equal(got.present, 1);
	static const char *const none[] = {
		"",
		"Instantaneous power reading:",
		"Instantaneous power reading: 0 Watts\n",
		"Instantaneous power reading: 215 Apples\n",
		"Instantaneous power reading: 21 5 Watts\n",
		"Instantaneous power reading: -215 Watts\n",
		"Instantaneous power reading: 99999999999999999999 Watts\n",
		"Instantaneous power reading: 2000000 Watts\n",
		"Current Power Limit\n",
		"Maximum during sampling period: 276 Watts\n",
	};
	for (size_t i = 0; i < ARRAY_SIZE(none); i++)
		if (parse_text(none[i], &got) != -ENODATA)
			fail_msg("'%s' is a reading", none[i]);
}

static int64_t sensors(const char *text)
{
	size_t n = strlen(text);
	_cleanup_free_ char *copy = exact_copy(text, n);
	struct ipmi_reading got;
	int r = ipmi_parse_sensors(copy, n, &got);

	return r < 0 ? r : (int64_t)got.watts[IPMI_NOW];
}

static void which_sensor_is_the_node(void **state)
{
	(void)state;
	assert_int_equal(sensors("1,Temp,Temperature,40.00,C,'OK'\n"
				 "2,PS1 Input Power,Power Supply,110.00,W,'OK'\n"
				 "3,Pwr Consumption,Current,231.00,W,'OK'\n"),
			 231);
	assert_int_equal(sensors("2,PS1 Input Power,Power Supply,110.50,W,'OK'\r\n"
				 "3,PS1 Output Power,Power Supply,90,W,'OK'\n"
				 "4,PSU2 Power In,Other,130,Watts,'OK'\n"
				 "5,PS3 Status,Power Supply,N/A,N/A,'Presence detected'\n"
				 "6,CPU Power,Other,400,W,'OK'\n"),
			 240);
	assert_int_equal(sensors("6,CPU Power,Other,400,W,'OK'\n"), -ENODATA);
	assert_int_equal(sensors("6,System Level,Current,N/A,W,N/A\n"), -ENODATA);
	assert_int_equal(sensors(",,,,\n\n,\nW"), -ENODATA);
	assert_int_equal(sensors(""), -ENODATA);
}

/* The driver of a management controller, in the place of the kernel's: ioctl() of this program. */
static struct {
	bool on;
	int sends, late; /* answers to earlier requests that come first */
	long msgid;
	uint8_t answer[64];
	size_t size;
	int send_error;
	struct ipmi_msg asked;
	uint8_t body[8];
} driver;

int ioctl(int fd, unsigned long request, ...)
{
	va_list ap;

	(void)fd;
	va_start(ap, request);
	void *arg = va_arg(ap, void *);
	va_end(ap);
	if (!driver.on) {
		errno = ENOTTY;
		return -1;
	}
	if (request == IPMICTL_SEND_COMMAND) {
		const struct ipmi_req *req = arg;

		if (driver.send_error) {
			errno = driver.send_error;
			return -1;
		}
		driver.sends++;
		driver.msgid = req->msgid;
		driver.asked = req->msg;
		memcpy(driver.body, req->msg.data,
		       req->msg.data_len < sizeof(driver.body) ? req->msg.data_len
							       : sizeof(driver.body));
		return 0;
	}
	if (request != IPMICTL_RECEIVE_MSG_TRUNC) {
		errno = EINVAL;
		return -1;
	}
	struct ipmi_recv *recv = arg;
	recv->recv_type = IPMI_RESPONSE_RECV_TYPE;
	recv->msgid = driver.late > 0 ? driver.msgid - driver.late-- : driver.msgid;
	size_t n = driver.size < recv->msg.data_len ? driver.size : recv->msg.data_len;
	memcpy(recv->msg.data, driver.answer, n);
	recv->msg.data_len = (unsigned short)n;
	return 0;
}

static void answer(const uint8_t *data, size_t n)
{
	memcpy(driver.answer, data, n);
	driver.size = n;
}

static void the_controller_is_asked_directly(void **state)
{
	static const uint8_t good[] = {0, 0xdc, 0x4a, 0x01, 0x44, 0, 0xf8, 0x01, 0x5c, 0x01,
				       1, 2,    3,    4,    0xe8, 3, 0,    0,    0x40};
	struct run r;

	(void)state;
	memset(&driver, 0, sizeof(driver));
	driver.on = true;
	driver.late = 2;
	put("dev/ipmi0", "");
	check_probe(&source_ipmi, NULL, 0, "DCMI over the device");
	answer(good, sizeof(good));
	begin(&r, &source_ipmi);
	check_value(&r, ENTITY_NODE, "node", "power", 330);
	check_value(&r, ENTITY_NODE, "node", "power_minimum", 68);
	check_value(&r, ENTITY_NODE, "node", "power_maximum", 504);
	check_value(&r, ENTITY_NODE, "node", "power_average", 348);
	check_fact(&r, ENTITY_NODE, "node", "by", "device");
	assert_int_equal(driver.sends, 1);
	assert_int_equal(driver.late, 0);
	assert_int_equal(driver.asked.netfn, 0x2c);
	assert_int_equal(driver.asked.cmd, 2);
	assert_int_equal(driver.asked.data_len, 4);
	assert_memory_equal(driver.body, "\xdc\x01\0\0", 4);

	/* nothing now is not nothing for ever; three times in a row is */
	static const uint8_t busy[] = {0xc0};
	answer(busy, sizeof(busy));
	assert_int_equal(take(&r), -ENODATA);
	assert_int_equal(take(&r), -ENODATA);
	answer(good, sizeof(good));
	assert_int_equal(take(&r), 0);
	answer(busy, sizeof(busy));
	assert_int_equal(take(&r), -ENODATA);
	assert_int_equal(take(&r), -ENODATA);
	answer(good, sizeof(good));
	assert_int_equal(take(&r), 0);
	answer(busy, sizeof(busy));
	for (int i = 0; i < 3; i++)
		assert_int_equal(take(&r), -ENODATA);
	int sends = driver.sends;
	assert_int_equal(take(&r), -ENODATA);
	assert_int_equal(driver.sends, sends);
	assert_contains(reason(&r, NULL), "gives no power");
	stop(&r);
	driver.on = false;
}

static void what_the_controller_does_not_know(void **state)
{
	static const uint8_t unknown[] = {0xc1};
	struct run r;

	(void)state;
	memset(&driver, 0, sizeof(driver));
	driver.on = true;
	put("dev/ipmi0", "");
	answer(unknown, sizeof(unknown));
	assert_int_equal(start(&r, &source_ipmi, NULL), 0);
	assert_int_equal(take(&r), -EOPNOTSUPP);
	assert_int_equal(take(&r), -ENODATA);
	assert_int_equal(driver.sends, 1);
	assert_contains(reason(&r, NULL), "does not know DCMI");
	stop(&r);
	driver.send_error = EIO;
	assert_int_equal(start(&r, &source_ipmi, NULL), 0);
	assert_int_equal(take(&r), -EIO);
	stop(&r);
	driver.on = false; /* no such device at all */
	assert_int_equal(start(&r, &source_ipmi, NULL), 0);
	assert_int_equal(take(&r), -ENOTTY);
	stop(&r);
}

static void the_controller_by_a_command(void **state)
{
	struct run r;

	(void)state;
	check_probe(&source_ipmi, NULL, -ENOENT, "no /dev/ipmi0");
	check_probe(&source_ipmi, "ipmitool", -ENOENT, "none of ipmi-dcmi");
	program("usr/bin/ipmitool",
		"#!/bin/sh\n[ \"$*\" = 'dcmi power reading' ] || exit 9\ncat <<E\n" IPMITOOL "E\n");
	program("usr/sbin/ipmi-dcmi",
		"#!/bin/sh\n[ \"$*\" = --get-system-power-statistics ] || exit 9\n"
		"cat <<E\n" IPMI_DCMI "E\n");
	program("usr/sbin/ipmi-sensors", "#!/bin/sh\necho '1,Sys Power,Other,99,W,OK'\n"
					 "echo 'sensor 2 is odd' >&2\nexit 1\n");
	check_probe(&source_ipmi, NULL, -ENOENT, "run only when named");
	check_probe(&source_ipmi, "ipmitool", 0, "/usr/bin/ipmitool");
	assert_int_equal(start(&r, &source_ipmi, "ipmitool"), 0);
	assert_int_equal(take(&r), 0);
	check_value(&r, ENTITY_NODE, "node", "power", 215);
	check_fact(&r, ENTITY_NODE, "node", "by", "ipmitool");
	stop(&r);
	assert_int_equal(start(&r, &source_ipmi, "ipmi-dcmi"), 0);
	assert_int_equal(take(&r), 0);
	check_value(&r, ENTITY_NODE, "node", "power", 332);
	stop(&r);
	assert_int_equal(start(&r, &source_ipmi, "ipmi-sensors"), 0);
	assert_int_equal(take(&r), 0);
	check_value(&r, ENTITY_NODE, "node", "power", 99);
	assert_contains(reason(&r, "power_average"), "does not tell");
	stop(&r);
}

static void commands_of_the_controller_that_fail(void **state)
{
	static const struct {
		const char *script;
		int error;
		const char *why;
	} cases[] = {
		{"#!/bin/sh\nhead -c 3000 /dev/urandom\n", -ENODATA, "tells no power"},
		{"#!/bin/sh\nyes 'Instantaneous power reading: 0 Watts'\n", -EFBIG,
		 "said more than"},
		{"#!/bin/sh\necho 'Could not open device'\nexit 1\n", -EIO,
		 "ended with status 1: Could not open device"},
		{"#!/bin/sh\nkill -9 $$\n", -EINTR, "by a signal"},
		{"#!/no/such/shell\n", -ENOENT, "cannot run"},
		{"#!/bin/sh\n", -ENODATA, "tells no power"},
	};
	struct run r;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		program("usr/bin/ipmitool", cases[i].script);
		assert_int_equal(start(&r, &source_ipmi, "ipmitool"), 0);
		assert_int_equal(take(&r), cases[i].error);
		assert_contains(reason(&r, NULL), cases[i].why);
		stop(&r);
	}
	put("dev/ipmi0", "");
	mode("dev/ipmi0", 0000);
	become_user();
	check_probe(&source_ipmi, NULL, -EACCES, "dev/ipmi0': Permission denied");
	assert_int_equal(start(&r, &source_ipmi, NULL), -EACCES);
	stop(&r);
	become_again();
}

#define test(f) cmocka_unit_test_setup_teardown(f, setup, scratch_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		test(numbers_and_what_is_none),
		test(descriptors_are_kept_up_to_a_limit),
		test(whole_files_and_their_limit),
		test(names_from_devices_are_made_harmless),
		test(counters_that_are_cleared_go_on),
		test(ports_count_words_and_packets),
		test(omnipath_counts_flits),
		test(wide_counters_are_preferred_unless_they_lag),
		test(narrow_counters_stop_and_are_cleared),
		test(what_a_port_does_not_tell_is_absent),
		test(ports_without_an_agent_have_hardware_counters),
		test(the_node_is_the_sum_of_active_ports),
		test(no_adapter),
		test(lines_of_stats),
		test(lustre_in_proc_and_in_debugfs),
		test(lustre_mounts_come_and_go_and_are_cleared),
		test(lustre_is_absent_or_hidden),
		test(commands_and_their_output),
		test(commands_that_hang_are_ended_with_all_they_started),
		test(commands_that_say_too_much_are_ended),
		test(one_that_hangs_in_the_kernel_is_not_joined_by_another),
		test(commands_are_found_below_a_root),
		test(lines_of_mmpmon),
		test(gpfs_asks_mmpmon),
		test(zones_have_the_names_of_their_domains),
		test(energy_wraps_at_its_range),
		test(energy_that_is_refused_or_odd),
		test(sensors_of_every_kind),
		test(names_that_repeat_are_told_apart),
		test(sensors_that_are_faulty_or_gone),
		test(zones_and_cooling),
		test(frequencies_in_cpuinfo),
		test(frequencies_and_throttling),
		test(both_ways_to_a_frequency),
		test(answers_of_controllers),
		test(what_commands_print),
		test(which_sensor_is_the_node),
		test(the_controller_is_asked_directly),
		test(what_the_controller_does_not_know),
		test(the_controller_by_a_command),
		test(commands_of_the_controller_that_fail),
	};

	/* few enough that a test can have more files than may be kept */
	struct rlimit rl;
	if (getrlimit(RLIMIT_NOFILE, &rl) == 0) {
		rl.rlim_cur = 1024;
		(void)setrlimit(RLIMIT_NOFILE, &rl);
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
