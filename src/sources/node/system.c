/*
 * The node as the kernel accounts for it: CPU times of the whole and of each CPU from /proc/stat,
 * memory from /proc/meminfo, paging from /proc/vmstat, load from /proc/loadavg.
 *
 * Surprising: time of guests is inside user and nice, so a total adds the first eight times only.
 * Idle and I/O wait of a CPU can go back a little (they are worked out while it sleeps), and start
 * again when a CPU comes back from being offline; here neither ever falls. I/O wait counts as idle.
 */
#include <errno.h>
#include <string.h>

#include "core/system/procparse.h"
#include "core/text/text.h"
#include "sources/columns.h"
#include "sources/key_value_file.h"
#include "sources/source.h"

enum {
	CPU_USER,
	CPU_NICE,
	CPU_SYSTEM,
	CPU_IDLE,
	CPU_IOWAIT,
	CPU_IRQ,
	CPU_SOFTIRQ,
	CPU_STEAL,
	CPU_GUEST,
	CPU_GUEST_NICE,
	CPU_FIELDS,
	/* the kernel keeps these two beside user and nice, which have them already */
	CPU_TOTAL_END = CPU_GUEST,

	CPU_PERCENT = CPU_FIELDS,
	CPUS_ONLINE,
	CONTEXT_SWITCHES,
	INTERRUPTS,
	SOFTIRQS,
	FORKS,
	PROCS_RUNNING,
	PROCS_BLOCKED,
	LOAD1,
	LOAD5,
	LOAD15,
	TASKS,
	MEM_TOTAL,
	MEM_FREE,
	MEM_AVAILABLE,
	MEM_USED,
	MEM_BUFFERS,
	MEM_CACHED,
	MEM_SHMEM,
	MEM_SLAB,
	MEM_SLAB_RECLAIMABLE,
	MEM_DIRTY,
	MEM_WRITEBACK,
	MEM_ANON,
	MEM_MAPPED,
	MEM_PAGE_TABLES,
	MEM_COMMITTED,
	MEM_ANON_HUGEPAGES,
	HUGEPAGES_TOTAL,
	HUGEPAGES_FREE,
	SWAP_TOTAL,
	SWAP_FREE,
	SWAP_CACHED,
	SWAP_IN,
	SWAP_OUT,
	PAGE_FAULTS,
	MAJOR_FAULTS,
	OOM_KILLS,
	NUMA_HITS,
	NUMA_MISSES,
	COMPACT_STALLS,
	METRICS,
};

#define TIME(n, text) TIME_COLUMN(n, PL_TICK_US, text)
#define LOAD(n, text) COLUMN(n, NONE, GAUGE, 0.01, text)
#define MEMORY(n, text) COLUMN(n, BYTES, GAUGE, 1024, text)

static const struct sample_metric columns[METRICS] = {
	[CPU_USER] = TIME("cpu_user", "time in user mode, of guests too"),
	[CPU_NICE] = TIME("cpu_nice", "time in user mode at low priority, of guests too"),
	[CPU_SYSTEM] = TIME("cpu_system", "time in the kernel"),
	[CPU_IDLE] = TIME("cpu_idle", "time idle, without I/O being waited for"),
	[CPU_IOWAIT] = TIME("cpu_iowait", "time idle while a task waited for I/O"),
	[CPU_IRQ] = TIME("cpu_irq", "time in interrupts"),
	[CPU_SOFTIRQ] = TIME("cpu_softirq", "time in soft interrupts"),
	[CPU_STEAL] = TIME("cpu_steal", "time that the hypervisor gave to others"),
	[CPU_GUEST] = TIME("cpu_guest", "time of guests, which cpu_user has already"),
	[CPU_GUEST_NICE] = TIME("cpu_guest_nice",
				"time of guests at low priority, which cpu_nice has already"),
	[CPU_PERCENT] = {"cpu_percent", UNIT_PERCENT, KIND_MEAN, AGG_NONE, 0.001,
			 "part of the time since the last reading that was neither idle nor I/O "
			 "wait"},
	[CPUS_ONLINE] = LEVEL("cpus_online", "CPUs in use"),
	[CONTEXT_SWITCHES] = COUNT("context_switches", "changes from one task to another"),
	[INTERRUPTS] = COUNT("interrupts", "interrupts served"),
	[SOFTIRQS] = COUNT("softirqs", "soft interrupts served"),
	[FORKS] = COUNT("forks", "processes and threads started"),
	[PROCS_RUNNING] = LEVEL("procs_running", "tasks running or ready to run"),
	[PROCS_BLOCKED] = LEVEL("procs_blocked", "tasks waiting for I/O"),
	[LOAD1] = LOAD("load1", "load average over a minute"),
	[LOAD5] = LOAD("load5", "load average over five minutes"),
	[LOAD15] = LOAD("load15", "load average over fifteen minutes"),
	[TASKS] = LEVEL("tasks", "processes and threads there are"),
	[MEM_TOTAL] = MEMORY("mem_total", "memory that the kernel manages"),
	[MEM_FREE] = MEMORY("mem_free", "memory used for nothing"),
	[MEM_AVAILABLE] =
		MEMORY("mem_available", "memory that programs could have without swapping"),
	[MEM_USED] = MEMORY("mem_used", "memory that is not available: total less available"),
	[MEM_BUFFERS] = MEMORY("mem_buffers", "cache of block devices"),
	[MEM_CACHED] = MEMORY("mem_cached", "cache of files, and shared memory"),
	[MEM_SHMEM] = MEMORY("mem_shmem", "shared memory and tmpfs"),
	[MEM_SLAB] = MEMORY("mem_slab", "objects of the kernel"),
	[MEM_SLAB_RECLAIMABLE] =
		MEMORY("mem_slab_reclaimable", "objects of the kernel it can drop"),
	[MEM_DIRTY] = MEMORY("mem_dirty", "file data that wait to be written"),
	[MEM_WRITEBACK] = MEMORY("mem_writeback", "file data being written"),
	[MEM_ANON] = MEMORY("mem_anon", "memory of programs without a file behind it"),
	[MEM_MAPPED] = MEMORY("mem_mapped", "files mapped into programs"),
	[MEM_PAGE_TABLES] = MEMORY("mem_page_tables", "page tables of programs"),
	[MEM_COMMITTED] = MEMORY("mem_committed", "memory that was promised to programs"),
	[MEM_ANON_HUGEPAGES] = MEMORY("mem_anon_hugepages", "memory of programs in huge pages"),
	[HUGEPAGES_TOTAL] = LEVEL("hugepages_total", "huge pages set aside, of the default size"),
	[HUGEPAGES_FREE] = LEVEL("hugepages_free", "huge pages set aside and not used"),
	[SWAP_TOTAL] = MEMORY("swap_total", "swap space"),
	[SWAP_FREE] = MEMORY("swap_free", "swap space not used"),
	[SWAP_CACHED] = MEMORY("swap_cached", "memory that is in the swap space too"),
	[SWAP_IN] = COUNT("swap_in_pages", "pages read from the swap space"),
	[SWAP_OUT] = COUNT("swap_out_pages", "pages written to the swap space"),
	[PAGE_FAULTS] = COUNT("page_faults", "page faults, minor and major"),
	[MAJOR_FAULTS] = COUNT("major_faults", "page faults that read from a disk"),
	[OOM_KILLS] = COUNT("oom_kills", "processes killed because memory was short"),
	[NUMA_HITS] = COUNT("numa_hits", "pages allocated on the NUMA node they were meant for"),
	[NUMA_MISSES] = COUNT("numa_misses", "pages allocated on another NUMA node than meant"),
	[COMPACT_STALLS] = COUNT("compact_stalls", "waits for memory to be made contiguous"),
};

static const struct key_metric stat_keys[] = {
	{"ctxt", CONTEXT_SWITCHES},
	{"intr", INTERRUPTS},
	{"softirq", SOFTIRQS},
	{"processes", FORKS},
	{"procs_running", PROCS_RUNNING},
	{"procs_blocked", PROCS_BLOCKED},
};

static const struct key_metric meminfo_keys[] = {
	{"MemTotal", MEM_TOTAL},
	{"MemFree", MEM_FREE},
	{"MemAvailable", MEM_AVAILABLE},
	{"Buffers", MEM_BUFFERS},
	{"Cached", MEM_CACHED},
	{"Shmem", MEM_SHMEM},
	{"Slab", MEM_SLAB},
	{"SReclaimable", MEM_SLAB_RECLAIMABLE},
	{"Dirty", MEM_DIRTY},
	{"Writeback", MEM_WRITEBACK},
	{"AnonPages", MEM_ANON},
	{"Mapped", MEM_MAPPED},
	{"PageTables", MEM_PAGE_TABLES},
	{"Committed_AS", MEM_COMMITTED},
	{"AnonHugePages", MEM_ANON_HUGEPAGES},
	{"HugePages_Total", HUGEPAGES_TOTAL},
	{"HugePages_Free", HUGEPAGES_FREE},
	{"SwapTotal", SWAP_TOTAL},
	{"SwapFree", SWAP_FREE},
	{"SwapCached", SWAP_CACHED},
};

static const struct key_metric vmstat_keys[] = {
	{"pswpin", SWAP_IN},        {"pswpout", SWAP_OUT},
	{"pgfault", PAGE_FAULTS},   {"pgmajfault", MAJOR_FAULTS},
	{"oom_kill", OOM_KILLS},    {"numa_hit", NUMA_HITS},
	{"numa_miss", NUMA_MISSES}, {"compact_stall", COMPACT_STALLS},
};

/* Linux has at most 8192 CPUs on any architecture today. */
#define CPUS_MAX 16384
/* An idle time that goes back by less is held, by more has started again. Ticks: ten seconds. */
#define HELD_TICKS 1000

/* More ticks than 16384 CPUs have in half a year: a difference is cut to this, and can be added up.
 */
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

/* Puts the times of one line, and what they say since the last reading. */
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
	/* two readings within a tick: nothing can be said */
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
			break; /* they come first */
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

/* The line of all CPUs, and how many of them have one of their own. */
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

/* Says once what this kernel does not have. */
static void tell_absent(struct sample_set *set)
{
	absent_keys(set, "/proc/stat", stat_keys, ARRAY_SIZE(stat_keys));
	absent_keys(set, "/proc/meminfo", meminfo_keys, ARRAY_SIZE(meminfo_keys));
	absent_keys(set, "/proc/vmstat", vmstat_keys, ARRAY_SIZE(vmstat_keys));
	for (unsigned m = 0; m < CPU_FIELDS; m++)
		if (!put_already(set, m))
			sample_absent(set, m, "/proc/stat of this kernel has no such time");
	for (unsigned m = LOAD1; m <= TASKS; m++)
		if (!put_already(set, m))
			sample_absent(set, m, "/proc/loadavg does not say it");
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
		tell_absent(set);
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
