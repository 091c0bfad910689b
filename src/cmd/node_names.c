/* Names of colmet's metrics, as its Rust version and its tool have them, and ours for the same. */
#include <errno.h>
#include <string.h>

#include "cmd/node.h"

/* Of memory.stat, of a group or, behind "total_", of it with those below: ours are always with
 * those. NULL: we have no such metric. */
static const struct {
	const char *theirs, *ours;
	bool field; /* colmet's records of fixed size have one for it */
} names[] = {
	{"cache", "jobs.memory_file", false},
	{"rss", "jobs.memory_anon", false},
	{"rss_huge", "jobs.memory_anon_hugepages", false},
	{"shmem", "jobs.memory_shmem", false},
	{"mapped_file", "jobs.memory_mapped", false},
	{"dirty", "jobs.memory_dirty", false},
	{"writeback", "jobs.memory_writeback", false},
	{"swap", "jobs.swap_current", false},
	{"pgpgin", NULL, false},
	{"pgpgout", NULL, false},
	{"pgfault", "jobs.page_faults", true},
	{"pgmajfault", "jobs.major_faults", true},
	{"inactive_anon", NULL, false},
	{"active_anon", NULL, false},
	{"inactive_file", NULL, false},
	{"active_file", NULL, false},
	{"unevictable", NULL, false},
	{"hierarchical_memory_limit", "jobs.memory_limit", false},
	{"hierarchical_memsw_limit", "jobs.memsw_limit", false},
	{"nr_periods", "jobs.cpu_periods", false},
	{"nr_throttled", "jobs.cpu_throttled_periods", false},
	{"throttled_time", "jobs.cpu_throttled_time", false},
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

void colmet_names_release(struct colmet_names *n)
{
	strbuf_release(&n->metrics);
	strbuf_release(&n->counters);
	strbuf_release(&n->counter_metrics);
	strbuf_release(&n->without);
}

static void add_word(struct strbuf *out, const char *between, const char *name, const char *rest)
{
	strbuf_addf(out, "%s%s%s", out->len ? between : "", name, rest);
}

static bool is_event(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		if (!strcmp(events[i], name))
			return true;
	return false;
}

static void add_event(struct colmet_names *n, const char *name, const char *rest)
{
	_cleanup_free_ char *ours = xasprintf("job_counters.%s", name);

	n->periods |= *rest && strcmp(rest, ":-1") != 0 && strcmp(rest, ":-1:-1") != 0;
	add_word(&n->counters, ",", name, "");
	add_word(&n->counter_metrics, " ", ours, rest);
}

/* NAME[:PERIOD[:JOB]] */
static void add_name(struct colmet_names *n, const char *word, bool colmets)
{
	const char *rest = word + strcspn(word, ":");
	_cleanup_free_ char *whole = xstrndup(word, (size_t)(rest - word));
	const char *name = str_prefix(whole, "total_") ? whole + strlen("total_") : whole;

	if (is_event(whole)) {
		add_event(n, whole, rest);
		return;
	}
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(names[i].theirs, name) != 0)
			continue;
		if (colmets && names[i].field)
			n->in_records = true;
		else if (!colmets && names[i].ours)
			add_word(&n->metrics, " ", names[i].ours, rest);
		else
			add_word(&n->without, ", ", whole, "");
		return;
	}
	add_word(&n->metrics, " ", word, "");
}

int node_names_from_colmet(struct colmet_names *ret, const char *list, bool colmets,
			   struct strbuf *why)
{
	_cleanup_free_ char *own = xstrdup(list);
	char *rest = own;

	*ret = (struct colmet_names){STRBUF_INIT, STRBUF_INIT, STRBUF_INIT,
				     STRBUF_INIT, false,       false};
	for (char *word; (word = strsep(&rest, ", \t\n"));)
		if (*word)
			add_name(ret, word, colmets);
	const char *reason =
		colmets ? "colmet's records have no field for" : "there is no metric here that is";
	if (ret->without.len && !ret->metrics.len && !ret->counters.len && !ret->in_records) {
		strbuf_addf(why, "nothing would be sent: %s %s", reason, ret->without.buf);
		return -EINVAL;
	}
	if (ret->without.len)
		log_warn("%s %s: left out", reason, ret->without.buf);
	if (ret->periods && !ret->metrics.len)
		log_warn(
			"events are counted for all jobs, at every sample: periods and jobs behind "
			"their names have no effect");
	return 0;
}

void node_names_filter(const struct colmet_names *n, const char *old, struct strbuf *out)
{
	/* events alone are an order to count them, and the rest goes on as before */
	strbuf_addstr(out, n->metrics.len ? n->metrics.buf : old);
	if (out->len && n->counter_metrics.len)
		strbuf_addf(out, " %s", n->counter_metrics.buf);
	if (n->metrics.len && n->in_records)
		strbuf_addstr(out, " jobs.page_faults jobs.major_faults");
}
