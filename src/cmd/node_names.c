/* Names of colmet's metrics, as its Rust version and its tool have them, and ours for the same. */
#include <string.h>

#include "cmd/node.h"

/* Of memory.stat, of a group or, behind "total_", of it with those below: ours are always with
 * those. NULL: we have no such metric. */
static const struct {
	const char *theirs, *ours;
} names[] = {
	{"cache", "jobs.memory_file"},
	{"rss", "jobs.memory_anon"},
	{"rss_huge", "jobs.memory_anon_hugepages"},
	{"shmem", "jobs.memory_shmem"},
	{"mapped_file", "jobs.memory_mapped"},
	{"dirty", "jobs.memory_dirty"},
	{"writeback", "jobs.memory_writeback"},
	{"swap", "jobs.swap_current"},
	{"pgpgin", NULL},
	{"pgpgout", NULL},
	{"pgfault", "jobs.page_faults"},
	{"pgmajfault", "jobs.major_faults"},
	{"inactive_anon", NULL},
	{"active_anon", NULL},
	{"inactive_file", NULL},
	{"active_file", NULL},
	{"unevictable", NULL},
	{"hierarchical_memory_limit", "jobs.memory_limit"},
	{"hierarchical_memsw_limit", "jobs.memsw_limit"},
	{"nr_periods", "jobs.cpu_periods"},
	{"nr_throttled", "jobs.cpu_throttled_periods"},
	{"throttled_time", "jobs.cpu_throttled_time"},
};
static const char *const events[] = {
	"cpu_cycles",        "instructions",     "cache_references",
	"cache_misses",      "branch_misses",    "branch_instructions",
	"bus_cycles",        "ref_cpu_cycles",   "cache_l1d",
	"cache_ll",          "cache_dtlb",       "cache_itlb",
	"cache_bpu",         "cache_node",       "cache_op_read",
	"cache_op_prefetch", "cpu_clock",        "cache_result_access",
	"task_clock",        "page_faults",      "context_switches",
	"cpu_migrations",    "page_faults_min",  "page_faults_maj",
	"alignment_faults",  "emulation_faults", "dummy",
	"bpf_output",
};

static void add_word(struct strbuf *out, const char *name, const char *rest)
{
	strbuf_addf(out, "%s%s%s", out->len ? " " : "", name, rest);
}

/* NAME[:PERIOD[:JOB]] */
static void add_name(const char *word, struct strbuf *out)
{
	const char *rest = word + strcspn(word, ":");
	_cleanup_free_ char *whole = xstrndup(word, (size_t)(rest - word));
	const char *name = str_prefix(whole, "total_") ? whole + strlen("total_") : whole;

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(names[i].theirs, name) != 0)
			continue;
		if (names[i].ours)
			add_word(out, names[i].ours, rest);
		else
			log_warn("metric %s of colmet's is left out: there is no such one here",
				 whole);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		if (!strcmp(events[i], whole)) {
			_cleanup_free_ char *ours = xasprintf("job_counters.%s", whole);

			add_word(out, ours, rest);
			return;
		}
	add_word(out, word, "");
}

void node_metrics_from_colmet(const char *list, struct strbuf *out)
{
	_cleanup_free_ char *own = xstrdup(list);
	char *rest = own;

	for (char *word; (word = strsep(&rest, ", \t\n"));)
		if (*word)
			add_name(word, out);
}
