/*
 * The node as the kernel accounts for it: CPU times of the whole and of each CPU from /proc/stat,
 * memory from /proc/meminfo, paging from /proc/vmstat, load from /proc/loadavg.
 *
 * User and nice include the time of guests, so a total adds the first eight times only. Idle and
 * I/O wait of a CPU can fall a little (the kernel computes them while the CPU sleeps) and restart
 * when a CPU comes back online; here neither ever falls. I/O wait counts as idle.
 */
#include <errno.h>
#include <string.h>

#include "core/system/procparse.h"
#include "core/text/text.h"
#include "sources/columns.h"
#include "sources/key_value_file.h"
#include "sources/source.h"

#define TIME(n, text) TIME_COLUMN(n, PL_TICK_US, text)
#define LOAD(n, text) COLUMN(n, NONE, GAUGE, 0.01, text)
#define MEMORY(n, text) COLUMN(n, BYTES, GAUGE, 1024, text)

/* The times are in the order of a line of /proc/stat. */
#define CPU_METRICS(X)                                                                          \
	X(CPU_USER, TIME("cpu_user", "time in user mode, including guests"))                    \
	X(CPU_NICE, TIME("cpu_nice", "time in user mode at low priority, including guests"))    \
	X(CPU_SYSTEM, TIME("cpu_system", "time in the kernel"))                                 \
	X(CPU_IDLE, TIME("cpu_idle", "idle time without outstanding I/O"))                      \
	X(CPU_IOWAIT, TIME("cpu_iowait", "idle time while a task waited for I/O"))              \
	X(CPU_IRQ, TIME("cpu_irq", "time serving interrupts"))                                  \
	X(CPU_SOFTIRQ, TIME("cpu_softirq", "time serving soft interrupts"))                     \
	X(CPU_STEAL, TIME("cpu_steal", "time that the hypervisor gave to other guests"))        \
	X(CPU_GUEST, TIME("cpu_guest", "time running guests, included in cpu_user"))            \
	X(CPU_GUEST_NICE,                                                                       \
	  TIME("cpu_guest_nice", "time running guests at low priority, included in cpu_nice"))  \
	X(CPU_PERCENT,                                                                          \
	  METRIC_ROW("cpu_percent", PERCENT, MEAN, NONE, 0.001,                                 \
		     "share of time since the last sample that was neither idle nor I/O wait")) \
	X(CPUS_ONLINE, LEVEL("cpus_online", "CPUs online"))
/* Numbers behind a key of /proc/stat, /proc/meminfo and /proc/vmstat. */
#define STAT_METRICS(X)                                                                            \
	X(CONTEXT_SWITCHES, COUNT("context_switches", "context switches"), "ctxt")                 \
	X(INTERRUPTS, COUNT("interrupts", "interrupts served"), "intr")                            \
	X(SOFTIRQS, COUNT("softirqs", "soft interrupts served"), "softirq")                        \
	X(FORKS, COUNT("forks", "processes and threads started"), "processes")                     \
	X(PROCS_RUNNING, LEVEL("procs_running", "tasks running or ready to run"), "procs_running") \
	X(PROCS_BLOCKED, LEVEL("procs_blocked", "tasks waiting for I/O"), "procs_blocked")
/* The order of /proc/loadavg. */
#define LOAD_METRICS(X)                                                \
	X(LOAD1, LOAD("load1", "load average over a minute"))          \
	X(LOAD5, LOAD("load5", "load average over five minutes"))      \
	X(LOAD15, LOAD("load15", "load average over fifteen minutes")) \
	X(TASKS, LEVEL("tasks", "processes and threads"))
#define MEMINFO_METRICS(X)                                                                         \
	X(MEM_TOTAL, MEMORY("mem_total", "memory that the kernel manages"), "MemTotal")            \
	X(MEM_FREE, MEMORY("mem_free", "unused memory"), "MemFree")                                \
	X(MEM_AVAILABLE, MEMORY("mem_available", "memory available to programs without swapping"), \
	  "MemAvailable")                                                                          \
	X(MEM_USED, MEMORY("mem_used", "memory that is not available: total less available"),      \
	  NULL)                                                                                    \
	X(MEM_BUFFERS, MEMORY("mem_buffers", "cache of block devices"), "Buffers")                 \
	X(MEM_CACHED, MEMORY("mem_cached", "cache of files, and shared memory"), "Cached")         \
	X(MEM_SHMEM, MEMORY("mem_shmem", "shared memory and tmpfs"), "Shmem")                      \
	X(MEM_SLAB, MEMORY("mem_slab", "kernel objects"), "Slab")                                  \
	X(MEM_SLAB_RECLAIMABLE,                                                                    \
	  MEMORY("mem_slab_reclaimable", "kernel objects that can be reclaimed"), "SReclaimable")  \
	X(MEM_DIRTY, MEMORY("mem_dirty", "file data waiting to be written"), "Dirty")              \
	X(MEM_WRITEBACK, MEMORY("mem_writeback", "file data being written"), "Writeback")          \
	X(MEM_ANON, MEMORY("mem_anon", "anonymous memory of programs"), "AnonPages")               \
	X(MEM_MAPPED, MEMORY("mem_mapped", "files mapped into programs"), "Mapped")                \
	X(MEM_PAGE_TABLES, MEMORY("mem_page_tables", "page tables of programs"), "PageTables")     \
	X(MEM_COMMITTED, MEMORY("mem_committed", "memory committed to programs"), "Committed_AS")  \
	X(MEM_ANON_HUGEPAGES, MEMORY("mem_anon_hugepages", "anonymous memory in huge pages"),      \
	  "AnonHugePages")                                                                         \
	X(HUGEPAGES_TOTAL, LEVEL("hugepages_total", "huge pages reserved, of the default size"),   \
	  "HugePages_Total")                                                                       \
	X(HUGEPAGES_FREE, LEVEL("hugepages_free", "huge pages reserved and not used"),             \
	  "HugePages_Free")                                                                        \
	X(SWAP_TOTAL, MEMORY("swap_total", "swap space"), "SwapTotal")                             \
	X(SWAP_FREE, MEMORY("swap_free", "unused swap space"), "SwapFree")                         \
	X(SWAP_CACHED, MEMORY("swap_cached", "memory that is also in swap space"), "SwapCached")
#define VMSTAT_METRICS(X)                                                                          \
	X(SWAP_IN, COUNT("swap_in_pages", "pages read from swap space"), "pswpin")                 \
	X(SWAP_OUT, COUNT("swap_out_pages", "pages written to swap space"), "pswpout")             \
	X(PAGE_FAULTS, COUNT("page_faults", "page faults, minor and major"), "pgfault")            \
	X(MAJOR_FAULTS, COUNT("major_faults", "page faults that read from disk"), "pgmajfault")    \
	X(OOM_KILLS, COUNT("oom_kills", "processes killed for lack of memory"), "oom_kill")        \
	X(NUMA_HITS, COUNT("numa_hits", "pages allocated on the intended NUMA node"), "numa_hit")  \
	X(NUMA_MISSES, COUNT("numa_misses", "pages allocated on another NUMA node than intended"), \
	  "numa_miss")                                                                             \
	X(COMPACT_STALLS, COUNT("compact_stalls", "waits for memory compaction"), "compact_stall")
#define METRICS_OF_SYSTEM(X) \
	CPU_METRICS(X) STAT_METRICS(X) LOAD_METRICS(X) MEMINFO_METRICS(X) VMSTAT_METRICS(X)
DEFINE_METRICS(METRICS_OF_SYSTEM);

enum {
	CPU_FIELDS = CPU_GUEST_NICE + 1,
	CPU_TOTAL_END = CPU_GUEST, /* the kernel counts guests in user and nice already */
};

#define KEY(symbol, column, key) {key, symbol},
static const struct key_metric stat_keys[] = {STAT_METRICS(KEY)};
static const struct key_metric meminfo_keys[] = {MEMINFO_METRICS(KEY)};
static const struct key_metric vmstat_keys[] = {VMSTAT_METRICS(KEY)};

/* Linux has at most 8192 CPUs on any architecture today. */
#define CPUS_MAX 16384
/* An idle time that falls by less stays where it was; by more, it has started again. Ticks: ten
 * seconds. */
#define HELD_TICKS 1000

/* More ticks than 16384 CPUs have in half a year: differences are cut to this, so that their sum
 * fits. */
#define TICKS_MASK (((uint64_t)1 << 43) - 1)

/* A time that never falls. */
struct held {
	uint64_t high, offset;
};

struct cpu {
	struct held field[CPU_FIELDS];
	uint64_t last[CPU_FIELDS]; /* of the reading before */
	bool seen;
	bool named;
	uint32_t entity;
	uint64_t reading; /* the last that it had a row in */
};

struct system {
	struct cached_file stat, meminfo, vmstat, loadavg;
	struct cpu node, *cpus;
	size_t cpu_count;
	uint64_t reading;
};

static uint64_t hold(struct held *h, uint64_t raw)
{
	uint64_t v = raw + h->offset;

	if (v >= h->high) {
		h->high = v > INT64_MAX ? INT64_MAX : v;
	} else if (h->high - v > HELD_TICKS) {
		h->offset = h->high - raw;
	}
	return h->high;
}

/* Puts the times of one line, and the load since the last reading. */
static void put_times(struct sample_set *set, struct cpu *c, struct words *line)
{
	uint64_t now[CPU_FIELDS], raw;
	uint64_t idle = 0, total = 0;
	unsigned n = 0;

	for (; n < CPU_FIELDS && number_next(line, &raw); n++) {
		now[n] = hold(&c->field[n], raw);
		sample_put(set, n, (int64_t)now[n]);
	}
	if (n <= CPU_IDLE)
		return;
	for (unsigned i = 0; i < n && i < CPU_TOTAL_END && c->seen; i++) {
		uint64_t gone = (now[i] - c->last[i]) & TICKS_MASK;

		total += gone;
		idle += i == CPU_IDLE || i == CPU_IOWAIT ? gone : 0;
	}
	/* two readings within a tick: unknown */
	if (total)
		sample_put(set, CPU_PERCENT, (int64_t)((total - idle) * 100000 / total));
	memcpy(c->last, now, n * sizeof(now[0]));
	memset(c->last + n, 0, (CPU_FIELDS - n) * sizeof(now[0]));
	c->seen = true;
}

/* The number in "cpu12"; false when the word is another. */
static bool cpu_number(const struct words *word, size_t *ret)
{
	struct words digits = {word->p + 3, word->end};
	uint64_t v;

	if (!word_begins(word, "cpu") || !number_next(&digits, &v) || v >= CPUS_MAX)
		return false;
	*ret = (size_t)v;
	return true;
}

static struct cpu *cpu_at(struct system *s, size_t number)
{
	if (number >= s->cpu_count) {
		s->cpus = xreallocarray(s->cpus, number + 1, sizeof(*s->cpus));
		memset(s->cpus + s->cpu_count, 0, (number + 1 - s->cpu_count) * sizeof(*s->cpus));
		s->cpu_count = number + 1;
	}
	return &s->cpus[number];
}

static void put_cpus(struct system *s, struct sample_set *set)
{
	struct words text = cached_file_words(&s->stat), line, word;
	size_t number;

	while (line_next(&text, &line)) {
		if (!word_next(&line, &word) || !word_begins(&word, "cpu"))
			break; /* CPUs come first */
		if (!cpu_number(&word, &number))
			continue;
		struct cpu *c = cpu_at(s, number);
		if (c->reading == s->reading)
			continue;
		c->reading = s->reading;
		if (!c->named) {
			char name[16];

			snprintf(name, sizeof(name), "cpu%u", (unsigned)number);
			c->entity = sample_entity(set, ENTITY_CPU, name);
			c->named = true;
		}
		sample_row(set, c->entity);
		put_times(set, c, &line);
	}
}

/* The line of all CPUs, and the number of lines of single CPUs. */
static void put_all_cpus(struct system *s, struct sample_set *set)
{
	struct words text = cached_file_words(&s->stat), line, word;
	int64_t online = 0;
	size_t number;

	while (line_next(&text, &line) && word_next(&line, &word) && word_begins(&word, "cpu")) {
		if (word_is(&word, "cpu"))
			put_times(set, &s->node, &line);
		else
			online += cpu_number(&word, &number);
	}
	if (online)
		sample_put(set, CPUS_ONLINE, online);
}

/* "0.02 0.04 0.05 1/497 11947" */
static void put_load(struct sample_set *set, const struct cached_file *k)
{
	struct words text = cached_file_words(k), line, word;
	uint64_t v;

	if (!line_next(&text, &line))
		return;
	for (unsigned m = LOAD1; m <= LOAD15; m++)
		if (word_next(&line, &word) && hundredths(&word, &v))
			sample_put(set, m, (int64_t)v);
	if (!word_next(&line, &word))
		return;
	const char *slash = memchr(word.p, '/', (size_t)(word.end - word.p));
	struct words all = {slash ? slash + 1 : word.end, word.end};
	if (number_next(&all, &v))
		sample_put(set, TASKS, (int64_t)v);
}

static void put_memory(struct sample_set *set, const struct cached_file *k)
{
	const int64_t *row = set->values + (set->row_count - 1) * set->metric_count;

	put_keys(set, k, meminfo_keys, ARRAY_SIZE(meminfo_keys));
	if (put_already(set, MEM_TOTAL) && put_already(set, MEM_AVAILABLE) &&
	    row[MEM_TOTAL] >= row[MEM_AVAILABLE])
		sample_put(set, MEM_USED, row[MEM_TOTAL] - row[MEM_AVAILABLE]);
}

/* Reports once what this kernel does not have. */
static void report_absent(struct sample_set *set)
{
	absent_keys(set, "/proc/stat", stat_keys, ARRAY_SIZE(stat_keys));
	absent_keys(set, "/proc/meminfo", meminfo_keys, ARRAY_SIZE(meminfo_keys));
	absent_keys(set, "/proc/vmstat", vmstat_keys, ARRAY_SIZE(vmstat_keys));
	for (unsigned m = 0; m < CPU_FIELDS; m++)
		if (!put_already(set, m))
			sample_absent(set, m, "/proc/stat of this kernel has no such time");
	for (unsigned m = LOAD1; m <= TASKS; m++)
		if (!put_already(set, m))
			sample_absent(set, m, "/proc/loadavg does not have it");
	if (!put_already(set, MEM_USED))
		sample_absent(set, MEM_USED, "needs MemTotal and MemAvailable of /proc/meminfo");
}

static int read_all(void *state, struct sample_set *set)
{
	struct system *s = state;
	int stat = cached_file_read(&s->stat), memory = cached_file_read(&s->meminfo);

	if (stat < 0 && memory < 0)
		return stat;
	(void)cached_file_read(&s->vmstat);
	(void)cached_file_read(&s->loadavg);
	sample_row(set, sample_entity(set, ENTITY_NODE, "node"));
	put_all_cpus(s, set);
	put_keys(set, &s->stat, stat_keys, ARRAY_SIZE(stat_keys));
	put_memory(set, &s->meminfo);
	put_keys(set, &s->vmstat, vmstat_keys, ARRAY_SIZE(vmstat_keys));
	put_load(set, &s->loadavg);
	if (s->reading++ == 0)
		report_absent(set);
	put_cpus(s, set);
	return 0;
}

static void close_all(void *state)
{
	struct system *s = state;

	cached_file_release(&s->stat);
	cached_file_release(&s->meminfo);
	cached_file_release(&s->vmstat);
	cached_file_release(&s->loadavg);
	free(s->cpus);
	free(s);
}

static int open_all(const struct source_context *ctx, struct sample_set *set, void **state,
		    struct strbuf *why)
{
	struct system *s = xcalloc(1, sizeof(*s));

	(void)set;
	cached_file_init(&s->stat, "%s/proc/stat", ctx->root);
	cached_file_init(&s->meminfo, "%s/proc/meminfo", ctx->root);
	cached_file_init(&s->vmstat, "%s/proc/vmstat", ctx->root);
	cached_file_init(&s->loadavg, "%s/proc/loadavg", ctx->root);
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
	int r = source_once(&source_system, ctx, &set, &report->detail);

	if (r < 0)
		return r;
	strbuf_addf(&report->detail, "%zu CPUs", set.row_count - 1);
	if (set.rows[0].present >> MEM_TOTAL & 1) {
		strbuf_addstr(&report->detail, ", memory ");
		text_add_bytes(&report->detail, sample_value(&set, 0, MEM_TOTAL));
	}
	return 0;
}

const struct source source_system = {
	.name = "system",
	.help = "CPU load of the node and of each CPU, memory, swap",
	.probe = probe,
	.metrics = columns,
	.metric_count = METRICS,
	.every = 1,
	.open = open_all,
	.read = read_all,
	.close = close_all,
};
