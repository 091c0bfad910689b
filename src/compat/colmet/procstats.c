/*
 * The node as colmet's procstats has it: 63 numbers of /proc/uptime, meminfo, vmstat, stat and
 * loadavg under colmet's names. The source system has most of them under ours, and those of each
 * CPU; this one is for those who look at colmet's tables.
 *
 * What a kernel does not have is left out (colmet fails). Steal has no name there, and guest
 * is guest: colmet calls steal guest, and guest guest_nice.
 */
#include <errno.h>
#include <string.h>

#include "compat/colmet/colmet.h"
#include "sources/key_value_file.h"
#include "sources/source.h"

/* Places in the row: the order is that of colmet's records. */
enum {
	UPTIME_TOTAL,
	UPTIME_IDLE,
	MEMINFO,
	VMSTAT = MEMINFO + 37,
	STAT_CPU = VMSTAT + 6,
	STAT_INTR = STAT_CPU + 9,
	STAT_CTXT,
	STAT_PROCESSES,
	STAT_PROCS_BLOCKED,
	LOADAVG,
	LOADAVG_RUNNABLE = LOADAVG + 3,
	LOADAVG_THREADS,
	METRICS
};
_Static_assert(METRICS == COLMET_PROCSTATS, "one place for each");

static const char *const meminfo_names[VMSTAT - MEMINFO] = {
	"MemTotal",        "MemFree",        "Buffers",        "Cached",         "SwapCached",
	"Active",          "Inactive",       "Unevictable",    "Mlocked",        "SwapTotal",
	"SwapFree",        "Dirty",          "Writeback",      "AnonPages",      "Mapped",
	"Shmem",           "Slab",           "SReclaimable",   "SUnreclaim",     "KernelStack",
	"PageTables",      "NFS_Unstable",   "Bounce",         "WritebackTmp",   "CommitLimit",
	"Committed_AS",    "VmallocTotal",   "VmallocUsed",    "VmallocChunk",   "AnonHugePages",
	"HugePages_Total", "HugePages_Free", "HugePages_Rsvd", "HugePages_Surp", "Hugepagesize",
	"DirectMap4k",     "DirectMap2M",
};

static const struct key_metric vmstat_keys[] = {
	{"pgpgin", VMSTAT},      {"pgpgout", VMSTAT + 1}, {"pswpin", VMSTAT + 2},
	{"pswpout", VMSTAT + 3}, {"pgfault", VMSTAT + 4}, {"pgmajfault", VMSTAT + 5},
};

static const struct key_metric stat_keys[] = {
	{"intr", STAT_INTR},
	{"ctxt", STAT_CTXT},
	{"processes", STAT_PROCESSES},
	{"procs_blocked", STAT_PROCS_BLOCKED},
};

/* Times of the line "cpu": user nice system idle iowait irq softirq steal guest guest_nice. */
enum { CPU_TIMES = 10, CPU_STEAL = 7 };
/* A time that falls by less keeps its value: the kernel estimates idle times while CPUs sleep. */
#define HELD_TICKS 1000

struct procstats {
	struct cached_file uptime, meminfo, vmstat, stat, loadavg;
	struct key_metric meminfo_keys[VMSTAT - MEMINFO];
	uint64_t times[CPU_TIMES];
	bool absent_reported;
};

/* "1647.23 1570.45": whole seconds, as colmet has them. */
static void put_uptime(struct sample_set *set, const struct cached_file *k)
{
	struct words text = cached_file_words(k), line, word;
	uint64_t v;

	if (!line_next(&text, &line))
		return;
	for (unsigned m = UPTIME_TOTAL; m <= UPTIME_IDLE; m++)
		if (word_next(&line, &word) && hundredths(&word, &v))
			sample_put(set, m, (int64_t)(v / 100));
}

static void put_times(struct procstats *s, struct sample_set *set)
{
	struct words text = cached_file_words(&s->stat), line, word;
	unsigned place = STAT_CPU;
	uint64_t v;

	if (!line_next(&text, &line) || !word_next(&line, &word) || !word_is(&word, "cpu"))
		return;
	for (unsigned i = 0; i < CPU_TIMES && number_next(&line, &v); i++) {
		uint64_t last = s->times[i];

		s->times[i] = v < last && last - v < HELD_TICKS ? last : v;
		if (i != CPU_STEAL)
			sample_put(set, place++, (int64_t)s->times[i]);
	}
}

/* "0.02 0.04 0.05 1/497 11947"; a metric of colmet's floats counts millionths */
static void put_load(struct sample_set *set, const struct cached_file *k)
{
	struct words text = cached_file_words(k), line, word;
	uint64_t v;

	if (!line_next(&text, &line))
		return;
	for (unsigned m = LOADAVG; m < LOADAVG_RUNNABLE; m++)
		if (word_next(&line, &word) && hundredths(&word, &v) && v < INT64_MAX / 10000)
			sample_put(set, m, (int64_t)v * 10000);
	if (!word_next(&line, &word))
		return;
	const char *slash = memchr(word.p, '/', (size_t)(word.end - word.p));
	if (!slash)
		return;
	struct words running = {word.p, slash}, all = {slash + 1, word.end};
	if (number_next(&running, &v) && v < INT64_MAX / 1000000)
		sample_put(set, LOADAVG_RUNNABLE, (int64_t)v * 1000000);
	if (number_next(&all, &v) && v < INT64_MAX / 1000000)
		sample_put(set, LOADAVG_THREADS, (int64_t)v * 1000000);
}

static void report_absent(const struct procstats *s, struct sample_set *set)
{
	absent_keys(set, "/proc/meminfo", s->meminfo_keys, ARRAY_SIZE(s->meminfo_keys));
	absent_keys(set, "/proc/vmstat", vmstat_keys, ARRAY_SIZE(vmstat_keys));
	absent_keys(set, "/proc/stat", stat_keys, ARRAY_SIZE(stat_keys));
	for (unsigned m = 0; m < METRICS; m++)
		if (!put_already(set, m) &&
		    (m < MEMINFO || (m >= STAT_CPU && m < STAT_INTR) || m >= LOADAVG))
			sample_absent(set, m, "the kernel does not provide it");
}

static int read_all(void *state, struct sample_set *set)
{
	struct procstats *s = state;
	int stat = cached_file_read(&s->stat), memory = cached_file_read(&s->meminfo);

	if (stat < 0 && memory < 0)
		return stat;
	(void)cached_file_read(&s->uptime);
	(void)cached_file_read(&s->vmstat);
	(void)cached_file_read(&s->loadavg);
	sample_row(set, sample_entity(set, ENTITY_NODE, "node"));
	put_uptime(set, &s->uptime);
	put_keys(set, &s->meminfo, s->meminfo_keys, ARRAY_SIZE(s->meminfo_keys));
	put_keys(set, &s->vmstat, vmstat_keys, ARRAY_SIZE(vmstat_keys));
	put_times(s, set);
	put_keys(set, &s->stat, stat_keys, ARRAY_SIZE(stat_keys));
	put_load(set, &s->loadavg);
	if (!s->absent_reported)
		report_absent(s, set);
	s->absent_reported = true;
	return 0;
}

static void close_all(void *state)
{
	struct procstats *s = state;

	cached_file_release(&s->uptime);
	cached_file_release(&s->meminfo);
	cached_file_release(&s->vmstat);
	cached_file_release(&s->stat);
	cached_file_release(&s->loadavg);
	free(s);
}

static int open_all(const struct source_context *ctx, struct sample_set *set, void **state,
		    struct strbuf *why)
{
	struct procstats *s = xcalloc(1, sizeof(*s));

	(void)set;
	cached_file_init(&s->uptime, "%s/proc/uptime", ctx->root);
	cached_file_init(&s->meminfo, "%s/proc/meminfo", ctx->root);
	cached_file_init(&s->vmstat, "%s/proc/vmstat", ctx->root);
	cached_file_init(&s->stat, "%s/proc/stat", ctx->root);
	cached_file_init(&s->loadavg, "%s/proc/loadavg", ctx->root);
	for (unsigned i = 0; i < ARRAY_SIZE(s->meminfo_keys); i++)
		s->meminfo_keys[i] = (struct key_metric){meminfo_names[i], MEMINFO + i};
	int r = cached_file_read(&s->stat);
	if (r < 0 && cached_file_read(&s->meminfo) < 0) {
		strbuf_addf(why, "cannot read '%s': %s", s->stat.file.path, strerror(-r));
		close_all(s);
		return r;
	}
	*state = s;
	return 0;
}

static int probe(const struct source_context *ctx, struct source_report *report)
{
	_cleanup_(sample_release) struct sample_set set = {0};
	void *state = NULL;

	sample_init(&set, colmet_metrics_of_PROCSTATS, METRICS);
	int r = open_all(ctx, &set, &state, &report->detail);
	if (r < 0)
		return r;
	sample_begin(&set);
	r = read_all(state, &set);
	close_all(state);
	if (r < 0) {
		strbuf_addf(&report->detail, "cannot be read: %s", strerror(-r));
		return r;
	}
	strbuf_addf(&report->detail, "%d of %d numbers", __builtin_popcountll(set.rows[0].present),
		    METRICS);
	return 0;
}

const struct source source_procstats = {
	.name = "procstats",
	.help = "CPU, memory and load of the node under colmet's names",
	.probe = probe,
	.metrics = colmet_metrics_of_PROCSTATS,
	.metric_count = METRICS,
	.every = 1,
	.on_request = true,
	.open = open_all,
	.read = read_all,
	.close = close_all,
};
