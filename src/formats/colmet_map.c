/*
 * Readings of our own sources under colmet's names. Most metrics have one field each; energies and
 * events are differences to the reading before, which colmet's are; GPUs are added up by job.
 * Where colmet is wrong, this is right: steal is not called guest, memory counts a process once,
 * InfiniBand has all ports, Lustre its sums and not the sums of squares. Steal itself has no field.
 */
#include <string.h>

#include "formats/colmet_map.h"

#define US 1000000
/* A sampler wakes up at whole seconds, and clocks are compared to some microseconds. */
#define TOLERANCE_US 10000

struct rule {
	const char *metric, *field;
};

static const struct rule system_rules[] = {
	{"cpu_user", "stat_cpu_user"},
	{"cpu_nice", "stat_cpu_nice"},
	{"cpu_system", "stat_cpu_system"},
	{"cpu_idle", "stat_cpu_idle"},
	{"cpu_iowait", "stat_cpu_iowait"},
	{"cpu_irq", "stat_cpu_irq"},
	{"cpu_softirq", "stat_cpu_softirq"},
	{"cpu_guest", "stat_cpu_guest"},
	{"cpu_guest_nice", "stat_cpu_guest_nice"},
	{"interrupts", "stat_intr"},
	{"context_switches", "stat_ctxt"},
	{"forks", "stat_processes"},
	{"procs_blocked", "stat_procs_blocked"},
	{"load1", "loadavg_1min"},
	{"load5", "loadavg_5min"},
	{"load15", "loadavg_15min"},
	{"procs_running", "loadavg_runnable"},
	{"tasks", "loadavg_total_threads"},
	{"mem_total", "meminfo_memtotal"},
	{"mem_free", "meminfo_memfree"},
	{"mem_buffers", "meminfo_buffers"},
	{"mem_cached", "meminfo_cached"},
	{"mem_shmem", "meminfo_shmem"},
	{"mem_slab", "meminfo_slab"},
	{"mem_slab_reclaimable", "meminfo_sreclaimable"},
	{"mem_dirty", "meminfo_dirty"},
	{"mem_writeback", "meminfo_writeback"},
	{"mem_anon", "meminfo_anonpages"},
	{"mem_mapped", "meminfo_mapped"},
	{"mem_page_tables", "meminfo_pagetables"},
	{"mem_committed", "meminfo_committed_as"},
	{"mem_anon_hugepages", "meminfo_anonhugepages"},
	{"hugepages_total", "meminfo_hugepages_total"},
	{"hugepages_free", "meminfo_hugepages_free"},
	{"swap_total", "meminfo_swaptotal"},
	{"swap_free", "meminfo_swapfree"},
	{"swap_cached", "meminfo_swapcached"},
	{"swap_in_pages", "vmstat_pswpin"},
	{"swap_out_pages", "vmstat_pswpout"},
	{"page_faults", "vmstat_pgfault"},
	{"major_faults", "vmstat_pgmajfault"},
};
static const struct rule infiniband_rules[] = {
	{"port_xmit_data", "portXmitData"},
	{"port_rcv_data", "portRcvData"},
	{"port_xmit_packets", "portXmitPkts"},
	{"port_rcv_packets", "portRcvPkts"},
};
static const struct rule lustre_rules[] = {
	{"reads", "lustre_nb_read"},
	{"read_bytes", "lustre_bytes_read"},
	{"writes", "lustre_nb_write"},
	{"write_bytes", "lustre_bytes_write"},
};
static const struct rule ipmi_rules[] = {{"power", "average_power_consumption"}};
static const struct rule nvidia_rules[] = {
	{"power", "power"},
	{"temperature", "temperature"},
	{"utilization_gpu", "utilization-gpu"},
	{"utilization_memory", "utilization-memory"},
	{"memory_total", "memory-total"},
	{"memory_free", "memory-free"},
	{"memory_used", "memory-used"},
};

/* How rows of a source become records. */
enum way {
	NODE_ROW, /* the node's own row */
	NODE_SUM, /* all rows, added up */
	JOB_ROWS, /* rows of jobs, one record each */
	JOB_SUM,  /* rows with a fact "job", added up for each */
	ENERGIES,
	TEMPERATURES,
	EVENTS
};

struct map {
	const char *source;
	enum colmet_number backend;
	enum way way;
	const struct rule *rules; /* NULL: names are colmet's own */
	size_t rule_count;
	bool yields; /* what another source has put stays */
};

#define RULES(r) (r), ARRAY_SIZE(r)

static const struct map maps[] = {
	{"jobs", TASKSTATS, JOB_ROWS, NULL, 0, true},
	{"job_tasks", TASKSTATS, JOB_ROWS, NULL, 0, false},
	{"jobproc", JOBPROC, JOB_ROWS, NULL, 0, false},
	{"job_counters", PERFHW, EVENTS, NULL, 0, false},
	{"procstats", PROCSTATS, NODE_ROW, NULL, 0, false},
	{"system", PROCSTATS, NODE_ROW, RULES(system_rules), true},
	{"infiniband", INFINIBAND, NODE_SUM, RULES(infiniband_rules), false},
	{"lustre", LUSTRE, NODE_SUM, RULES(lustre_rules), false},
	{"ipmi", IPMIPOWER, NODE_ROW, RULES(ipmi_rules), false},
	{"nvidia", NVIDIA, JOB_SUM, RULES(nvidia_rules), false},
	{"rapl", RAPL, ENERGIES, NULL, 0, false},
	{"thermal", TEMPERATURE, TEMPERATURES, NULL, 0, false},
};

/* ---- values
 * --------------------------------------------------------------------------------------
 */

/* What a raw value of 1 is, in the first unit of its kind. */
static double unit_of(const struct sample_metric *m)
{
	double scale = m->scale == 0 ? 1 : m->scale;

	return m->unit == UNIT_NANOSECONDS ? scale / 1e3
	       : m->unit == UNIT_KIBIBYTES ? scale * 1024
					   : scale;
}

/* A raw value in the terms of a field; false when it does not fit. */
static bool convert(int64_t raw, const struct sample_metric *from, const struct sample_metric *to,
		    int64_t *ret)
{
	double a = unit_of(from), b = unit_of(to);

	*ret = raw;
	if (a == b)
		return true;
	double v = a > b ? (double)raw * (a / b) : (double)raw / (b / a);
	if (v < -9e18 || v > 9e18)
		return false;
	*ret = round_i64(v);
	return true;
}

/* One reading as it is taken in. */
struct intake {
	struct colmet_mapper *m;
	const struct map *map;
	const struct sample_set *set;
	struct mapped_host *host;
	uint64_t time_s;
	int fields[SAMPLE_METRICS_MAX]; /* of the backend, by metric; -1: none */
};

static struct gathered *record_of(const struct intake *in, uint64_t job)
{
	return mapper_record(in->m, in->host, in->map->backend, job, in->time_s);
}

static int field_of(const struct map *map, const char *metric)
{
	const struct colmet_backend *b = &colmet_backends[map->backend];
	const char *name = map->rules ? NULL : metric;

	for (size_t i = 0; i < map->rule_count; i++)
		if (!strcmp(map->rules[i].metric, metric))
			name = map->rules[i].field;
	int f = name ? colmet_field(b, name) : -1;
	return f >= (int)b->metric_count ? -1 : f;
}

static const struct entity *entity_at(const struct sample_set *set, size_t row)
{
	return &set->entities[set->rows[row].entity];
}

static bool has(const struct sample_set *set, size_t row, unsigned metric)
{
	return set->rows[row].present >> metric & 1;
}

static int64_t raw_at(const struct sample_set *set, size_t row, unsigned metric)
{
	return set->values[row * set->metric_count + metric];
}

/* Puts what a row has into a record. add: to what rows of this reading have put there. */
static void put_row(const struct intake *in, size_t row, struct gathered *g, uint64_t *put,
		    bool add)
{
	const struct colmet_backend *b = &colmet_backends[in->map->backend];

	for (unsigned m = 0; m < in->set->metric_count; m++) {
		int f = in->fields[m];
		int64_t v;

		if (f < 0 || !has(in->set, row, m))
			continue;
		uint64_t bit = (uint64_t)1 << f;
		if (in->map->yields && g->present & bit && !(*put & bit))
			continue;
		if (b->fields[f].type == COLMET_F32) {
			g->values[f].f = (float)sample_value(in->set, row, m);
		} else if (convert(raw_at(in->set, row, m), &in->set->metrics[m], &b->metrics[f],
				   &v)) {
			int64_t old = add && *put & bit ? g->values[f].i : 0;

			if (b->metrics[f].agg == AGG_MAX)
				g->values[f].i = !(*put & bit) || v > old ? v : old;
			else if (__builtin_add_overflow(old, v, &g->values[f].i))
				g->values[f].i = INT64_MAX;
		} else {
			continue;
		}
		g->present |= bit;
		*put |= bit;
	}
}

/* ---- ways
 * ----------------------------------------------------------------------------------------
 */

static void take_node(const struct intake *in)
{
	bool all = in->map->way == NODE_SUM;
	struct gathered *g = NULL;
	uint64_t put = 0;

	for (size_t i = 0; i < in->set->row_count; i++) {
		if (!all && entity_at(in->set, i)->kind != ENTITY_NODE)
			continue;
		g = g ? g : record_of(in, 0);
		put_row(in, i, g, &put, all);
	}
}

static void take_jobs(const struct intake *in)
{
	for (size_t i = 0; i < in->set->row_count; i++) {
		const struct entity *e = entity_at(in->set, i);
		uint64_t job, put = 0;

		if (e->kind == ENTITY_JOB && colmet_job_number(e->name, strlen(e->name), &job))
			put_row(in, i, record_of(in, job), &put, false);
	}
}

/* GPUs: of the jobs that their fact names, several where they share one. */
static void take_by_fact(const struct intake *in)
{
	for (size_t i = 0; i < in->set->row_count; i++) {
		const char *text;
		size_t size;

		if (!entity_fact(entity_at(in->set, i), "job", &text, &size))
			continue;
		while (size) {
			const char *comma = memchr(text, ',', size);
			size_t n = comma ? (size_t)(comma - text) : size;
			uint64_t job, put;

			if (colmet_job_number(text, n, &job)) {
				struct gathered *g = record_of(in, job);

				if (g->reading != in->m->reading)
					g->present = 0;
				g->reading = in->m->reading;
				put = g->present;
				put_row(in, i, g, &put, true);
			}
			text += comma ? n + 1 : n;
			size -= comma ? n + 1 : n;
		}
	}
}

/* Adds a difference to what was gathered for the same second. */
static void put_difference(struct gathered *g, unsigned field, int64_t now, int64_t before)
{
	if (now < before)
		return; /* it began anew: nothing can be said */
	int64_t old = g->present >> field & 1 ? g->values[field].i : 0;
	g->values[field].i = old + (now - before);
	g->present |= (uint64_t)1 << field;
}

static int metric_called(const struct sample_set *set, const char *name)
{
	for (unsigned m = 0; m < set->metric_count; m++)
		if (!strcmp(set->metrics[m].name, name))
			return (int)m;
	return -1;
}

/* The range of a zone's counter in microjoules: exact where the source says it, 0 where it does
 * not. */
static int64_t range_of(const struct entity *e)
{
	const char *text;
	int64_t v = 0;
	size_t size;

	if (!entity_fact(e, "range_uj", &text, &size) || size > 18)
		return 0;
	for (size_t i = 0; i < size; i++) {
		if (text[i] < '0' || text[i] > '9')
			return 0;
		v = v * 10 + (text[i] - '0');
	}
	return v;
}

/* A zone of a package that is there, but has no such counter, is 0; one of no package is -1. */
static void take_energies(const struct intake *in)
{
	const struct sample_metric *field = &colmet_backends[RAPL].metrics[0];
	int metric = metric_called(in->set, "energy");
	struct mapped_host *h = in->host;
	struct colmet_zones zones;

	colmet_find_zones(in->set, &zones);
	if (metric < 0 || !zones.domain_count)
		return;
	struct gathered *g = record_of(in, 0);
	for (unsigned z = 0; z < zones.domain_count * 3; z++) {
		if (zones.entities[z] < 0) {
			g->values[2 * z].i = g->values[2 * z + 1].i = 0;
			g->present |= (uint64_t)3 << 2 * z;
			continue;
		}
		g->values[2 * z + 1].i = range_of(&in->set->entities[zones.entities[z]]);
		g->present |= (uint64_t)2 << 2 * z;
	}
	for (size_t i = 0; i < in->set->row_count; i++) {
		int64_t now;

		if (!has(in->set, i, (unsigned)metric) ||
		    !convert(raw_at(in->set, i, (unsigned)metric), &in->set->metrics[metric], field,
			     &now))
			continue;
		for (unsigned z = 0; z < COLMET_ZONES; z++) {
			if (zones.entities[z] != (int64_t)in->set->rows[i].entity)
				continue;
			if (h->zones_present >> z & 1)
				put_difference(g, 2 * z, now, h->zones[z]);
			h->zones[z] = now;
			h->zones_present |= (uint64_t)1 << z;
		}
	}
}

static void take_temperatures(const struct intake *in)
{
	const struct sample_metric *field = &colmet_backends[TEMPERATURE].metrics[0];
	int metric = metric_called(in->set, "temperature");

	for (size_t i = 0; metric >= 0 && i < in->set->row_count; i++) {
		unsigned zone;
		int64_t v;

		if (!colmet_thermal_zone(entity_at(in->set, i), &zone) ||
		    !has(in->set, i, (unsigned)metric) ||
		    !convert(raw_at(in->set, i, (unsigned)metric), &in->set->metrics[metric], field,
			     &v))
			continue;
		struct gathered *g = record_of(in, 0);
		g->values[zone].i = v;
		g->present |= (uint64_t)1 << zone;
	}
}

/* The events of a job at the reading before; *ret_new: there is none. */
static struct mapped_job *job_before(struct mapped_host *h, uint64_t job, bool *ret_new)
{
	size_t low = 0, high = h->job_count;

	*ret_new = false;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (h->jobs[middle].job == job)
			return &h->jobs[middle];
		if (h->jobs[middle].job < job)
			low = middle + 1;
		else
			high = middle;
	}
	GROW(h->jobs, h->job_count, h->job_cap);
	memmove(h->jobs + low + 1, h->jobs + low, (h->job_count - low) * sizeof(*h->jobs));
	h->jobs[low] = (struct mapped_job){.job = job};
	h->job_count++;
	*ret_new = true;
	return &h->jobs[low];
}

/*
 * Events count from when a job was found. One that was not among those of the reading before is
 * new: all that it has counted is since then. At the very first reading nothing is known.
 */
static void take_events(const struct intake *in)
{
	unsigned places[COLMET_EVENTS], count = colmet_find_events(in->set, places);
	struct mapped_host *h = in->host;
	size_t kept = 0;

	for (size_t i = 0; i < in->set->row_count; i++) {
		const struct entity *e = entity_at(in->set, i);
		uint64_t job;
		bool fresh;

		if (e->kind != ENTITY_JOB || !colmet_job_number(e->name, strlen(e->name), &job))
			continue;
		struct mapped_job *j = job_before(h, job, &fresh);
		struct gathered *g = record_of(in, job);
		j->reading = in->m->reading;
		for (unsigned k = 0; k < count; k++) {
			if (!has(in->set, i, places[k]))
				continue;
			int64_t now = raw_at(in->set, i, places[k]);

			if (j->present >> k & 1 || (fresh && h->counted))
				put_difference(g, k, now, j->present >> k & 1 ? j->last[k] : 0);
			j->last[k] = now;
			j->present |= 1u << k;
		}
	}
	for (size_t i = 0; i < h->job_count; i++)
		if (h->jobs[i].reading == in->m->reading)
			h->jobs[kept++] = h->jobs[i];
	h->job_count = kept;
	h->counted = true;
}

/* ---- for callers
 * ---------------------------------------------------------------------------------
 */

/* The jobs of a node are those that have rows, in any source of jobs. */
static void note_jobs(const struct intake *in)
{
	struct mapped_list *l = mapper_list(in->m, in->host, in->time_s);

	for (size_t i = 0; l && i < in->set->row_count; i++) {
		const struct entity *e = entity_at(in->set, i);
		uint64_t job;

		if (e->kind == ENTITY_JOB && colmet_job_number(e->name, strlen(e->name), &job) &&
		    job)
			mapper_list_add(l, job);
	}
}

bool colmet_mapper_takes(const char *source)
{
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
		if (!strcmp(maps[i].source, source))
			return true;
	return false;
}

void colmet_mapper_add(struct colmet_mapper *m, const char *host, const char *source,
		       const struct sample_set *set, int64_t time_us)
{
	struct intake in = {.m = m, .set = set};

	for (size_t i = 0; i < ARRAY_SIZE(maps) && !in.map; i++)
		in.map = strcmp(maps[i].source, source) ? NULL : &maps[i];
	if (!in.map || time_us < 0)
		return;
	in.host = mapper_host(m, host);
	in.time_s = ((uint64_t)time_us + TOLERANCE_US) / US;
	m->reading++;
	for (unsigned k = 0; k < set->metric_count; k++)
		in.fields[k] = field_of(in.map, set->metrics[k].name);
	switch (in.map->way) {
	case NODE_ROW:
	case NODE_SUM:
		take_node(&in);
		break;
	case JOB_ROWS:
		take_jobs(&in);
		break;
	case JOB_SUM:
		take_by_fact(&in);
		break;
	case ENERGIES:
		take_energies(&in);
		break;
	case TEMPERATURES:
		take_temperatures(&in);
		break;
	case EVENTS:
		take_events(&in);
	}
	if (in.map->way == JOB_ROWS || in.map->way == EVENTS)
		note_jobs(&in);
}
