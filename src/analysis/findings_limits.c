/* Limits of findings, and names; see findings.h. */
#include "analysis/findings.h"

#include <math.h>

#define GIB (1024.0 * 1024 * 1024)

/* Each limit once, with its reason; docs/reports.md has the same table. */
const struct finding_limit finding_limits[LIMIT_COUNT] = {
	[LIMIT_CPU_BOUND] =
		{"cpu_bound", 0.7,
		 "with 70 % of the cores busy all the time, computing is what takes the time"},
	[LIMIT_IDLE] = {"idle", 0.5, "half of the cores would have been enough"},
	[LIMIT_IDLE_TIME] =
		{"idle_time", 10,
		 "s; where no batch system gave the cores, shorter runs cost nobody anything"},
	[LIMIT_MOMENT] = {"moment", 1, "s; of what is shorter, starting is a good part"},
	[LIMIT_COMPUTED] = {"computed", 0.5, "cores: one thread that computed half of the time"},
	[LIMIT_SYSTEM] = {"system", 0.3,
			  "programs that compute spend a few per cent in the kernel"},
	[LIMIT_DEMAND] = {"demand", 1.1,
			  "a tenth more threads ready to run than cores is more than chance"},
	[LIMIT_BLOCKED] = {"blocked", 4,
			   "threads for each that is ready to run: the others wait for something"},
	[LIMIT_WAITED] = {"waited", 0.1,
			  "tasks: where fewer waited on average, the job is hardly longer for it"},
	[LIMIT_CPU_WAIT] = {"cpu_wait", 0.2,
			    "a task that waits 1 s for every 4 s it runs shares its core"},
	[LIMIT_CPU_PRESSURE] = {"cpu_pressure", 0.2,
				"the same, of the time in which any task waited"},
	[LIMIT_THROTTLED] = {"throttled", 0.05,
			     "5 % of the time is more than a rounding of the limit"},
	[LIMIT_IO_WAIT] = {"io_wait", 0.3, "3 s of waiting for storage for every 7 s of computing"},
	[LIMIT_IO_PRESSURE] = {"io_pressure", 0.2,
			       "some task waited for storage a fifth of the time"},
	[LIMIT_IO_RATE] = {"io_rate", 10.0 * 1024 * 1024,
			   "bytes/s; less than that no disk or file server notices"},
	[LIMIT_CALL_SIZE] = {"call_size", 4096, "a page: smaller calls cost more than their data"},
	[LIMIT_CALL_RATE] = {"call_rate", 10000,
			     "fewer calls a second cost less than 1 % of a core"},
	[LIMIT_MEMORY_NEAR] = {"memory_near", 0.9,
			       "the next input that is a tenth larger does not fit"},
	[LIMIT_MEMORY_SPARE] = {"memory_spare", 0.25,
				"three quarters of it could serve another job"},
	[LIMIT_MEMORY_SMALL] = {"memory_small", 4 * GIB, "less than 4 GiB is nobody's loss"},
	[LIMIT_MEMORY_PRESSURE] = {"memory_pressure", 0.1,
				   "a tenth of the time was spent on finding memory"},
	[LIMIT_SWAP] = {"swap", 0.01, "one page in a hundred on a disk is felt"},
	[LIMIT_FAULTS] = {"major_faults", 100,
			  "each is a read from a disk: 100 a second keep one busy"},
	[LIMIT_NETWORK] = {"network", 0.6,
			   "a link that is more than half full on average is full at times"},
	[LIMIT_RANKS] = {"ranks", 1.25, "the others wait a fifth of the time for the busiest rank"},
	[LIMIT_HOSTS] = {"hosts", 1.25, "the others wait a fifth of the time for the busiest host"},
	[LIMIT_UNEVEN_CPU] = {"uneven_cpu", 1, "below 1 s of CPU each, differences are chance"},
	[LIMIT_BRIEF_COUNT] = {"brief_count", 1000,
			       "starting a thousand processes takes about a second"},
	[LIMIT_BRIEF_SHARE] = {"brief_share", 0.8, "most of them live less than 0.1 s"},
	[LIMIT_BRIEF_RATE] = {"brief_rate", 2, "below 2 a second starting them takes no time"},
	[LIMIT_FAILED_SHARE] = {"failed_share", 0.2,
				"tests in scripts fail by design, one process in five does not"},
	[LIMIT_FAILED_COUNT] = {"failed_count", 10, "a few are part of any script"},
	[LIMIT_GPU_IDLE] = {"gpu_idle", 0.05, "below 5 % nothing of the job ran there"},
	[LIMIT_GPU_LOW] = {"gpu_low", 0.4, "the GPUs waited most of the time"},
	[LIMIT_BOOKS] = {"books", 0.05, "exits of processes alone leave 1 or 2 % unaccounted"},
	[LIMIT_ACCOUNTING_CPU] = {"books_cpu", 1,
				  "below 1 s of CPU ticks are larger than what is missing"},
};

void findings_release(struct findings *f)
{
	for (size_t i = 0; i < f->count; i++) {
		free(f->list[i].title);
		free(f->list[i].evidence);
		free(f->list[i].advice);
	}
	free(f->list);
	*f = (struct findings){0};
}

const char *finding_kind_name(enum finding_kind kind)
{
	static const char *const names[] = {[FINDING_CPU] = "cpu",
					    [FINDING_MEMORY] = "memory",
					    [FINDING_IO] = "io",
					    [FINDING_NETWORK] = "network",
					    [FINDING_WAITING] = "waiting",
					    [FINDING_IDLE] = "idle",
					    [FINDING_IMBALANCE] = "imbalance",
					    [FINDING_FAILED] = "failed",
					    [FINDING_KILLED] = "killed",
					    [FINDING_OOM] = "oom",
					    [FINDING_SHORT] = "short",
					    [FINDING_GPU] = "gpu",
					    [FINDING_BOOKS] = "books"};

	return names[kind];
}

const char *finding_weight_name(enum finding_weight weight)
{
	static const char *const names[] = {"note", "warning", "severe"};

	return names[weight];
}

void finding_figures_init(struct finding_figures *f)
{
	*f = (struct finding_figures){.duration = NAN,
				      .node_busy = NAN,
				      .node_peak = NAN,
				      .exitcode = NAN,
				      .cores = NAN,
				      .cpu = NAN,
				      .cpu_peak = NAN,
				      .cpu_system = NAN,
				      .cpu_wait = NAN,
				      .throttled = NAN,
				      .threads_peak = NAN,
				      .tasks = NAN,
				      .io_wait = NAN,
				      .stored_read = NAN,
				      .stored_written = NAN,
				      .reads = NAN,
				      .read_bytes = NAN,
				      .writes = NAN,
				      .write_bytes = NAN,
				      .cpu_pressure = NAN,
				      .memory_pressure = NAN,
				      .io_pressure = NAN,
				      .memory_used = NAN,
				      .memory_most = NAN,
				      .memory_limit = NAN,
				      .swap_used = NAN,
				      .major_faults = NAN,
				      .oom_kills = NAN,
				      .network_rate = NAN,
				      .network_speed = NAN,
				      .processes = NAN,
				      .failed = NAN,
				      .signalled = NAN,
				      .killed = NAN,
				      .brief = NAN,
				      .brief_cpu = NAN,
				      .top_share = NAN,
				      .ranks = NAN,
				      .rank_mean = NAN,
				      .rank_most = NAN,
				      .hosts = NAN,
				      .host_mean = NAN,
				      .host_most = NAN,
				      .unseen = NAN,
				      .gpus = NAN,
				      .gpus_idle = NAN,
				      .gpu_busy = NAN,
				      .accounting_total = NAN,
				      .accounting_itemised = NAN};
}
