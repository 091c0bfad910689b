/*
 * Readings of our own sources under colmet's names. Most metrics have one field each; energies and
 * events are differences to the reading before, which colmet's are; GPUs are added up by job.
 * Where colmet is wrong, this is right: steal is not called guest, memory counts a process once,
 * InfiniBand has all ports, Lustre its sums and not the sums of squares. Steal itself has no field.
 */
#include <string.h>

#include "compat/colmet/colmet_map.h"

#define US 1000000
/* A sampler wakes up at whole seconds, and clocks are compared to some microseconds. */
#define TOLERANCE_US 10000

struct rule {
	const char *metric, *field;
	const char *less; /* another metric that is in it, and not in the field */
};

/* As counted by the job's control groups: all its tasks, living and ended. */
static const struct rule jobs_rules[] = {
	{"cpu_usage", "cpu_run_real_total", NULL},
	{"cpu_usage", "cpu_run_virtual_total", NULL},
	{"cpu_user", "ac_utime", NULL},
	{"cpu_system", "ac_stime", NULL},
	{"page_faults", "ac_minflt", "major_faults"},
	{"major_faults", "ac_majflt", NULL},
	{"io_read_bytes", "read_bytes", NULL},
	{"io_write_bytes", "write_bytes", NULL},
};

static const struct rule system_rules[] = {
	{"cpu_user", "stat_cpu_user", NULL},
	{"cpu_nice", "stat_cpu_nice", NULL},
	{"cpu_system", "stat_cpu_system", NULL},
	{"cpu_idle", "stat_cpu_idle", NULL},
	{"cpu_iowait", "stat_cpu_iowait", NULL},
	{"cpu_irq", "stat_cpu_irq", NULL},
	{"cpu_softirq", "stat_cpu_softirq", NULL},
	{"cpu_guest", "stat_cpu_guest", NULL},
	{"cpu_guest_nice", "stat_cpu_guest_nice", NULL},
	{"interrupts", "stat_intr", NULL},
	{"context_switches", "stat_ctxt", NULL},
	{"forks", "stat_processes", NULL},
	{"procs_blocked", "stat_procs_blocked", NULL},
	{"load1", "loadavg_1min", NULL},
	{"load5", "loadavg_5min", NULL},
	{"load15", "loadavg_15min", NULL},
	{"procs_running", "loadavg_runnable", NULL},
	{"tasks", "loadavg_total_threads", NULL},
	{"mem_total", "meminfo_memtotal", NULL},
	{"mem_free", "meminfo_memfree", NULL},
	{"mem_buffers", "meminfo_buffers", NULL},
	{"mem_cached", "meminfo_cached", NULL},
	{"mem_shmem", "meminfo_shmem", NULL},
	{"mem_slab", "meminfo_slab", NULL},
	{"mem_slab_reclaimable", "meminfo_sreclaimable", NULL},
	{"mem_dirty", "meminfo_dirty", NULL},
	{"mem_writeback", "meminfo_writeback", NULL},
	{"mem_anon", "meminfo_anonpages", NULL},
	{"mem_mapped", "meminfo_mapped", NULL},
	{"mem_page_tables", "meminfo_pagetables", NULL},
	{"mem_committed", "meminfo_committed_as", NULL},
	{"mem_anon_hugepages", "meminfo_anonhugepages", NULL},
	{"hugepages_total", "meminfo_hugepages_total", NULL},
	{"hugepages_free", "meminfo_hugepages_free", NULL},
	{"swap_total", "meminfo_swaptotal", NULL},
	{"swap_free", "meminfo_swapfree", NULL},
	{"swap_cached", "meminfo_swapcached", NULL},
	{"swap_in_pages", "vmstat_pswpin", NULL},
	{"swap_out_pages", "vmstat_pswpout", NULL},
	{"page_faults", "vmstat_pgfault", NULL},
	{"major_faults", "vmstat_pgmajfault", NULL},
};
static const struct rule infiniband_rules[] = {
	{"port_xmit_data", "portXmitData", NULL},
	{"port_rcv_data", "portRcvData", NULL},
	{"port_xmit_packets", "portXmitPkts", NULL},
	{"port_rcv_packets", "portRcvPkts", NULL},
};
static const struct rule lustre_rules[] = {
	{"reads", "lustre_nb_read", NULL},
	{"read_bytes", "lustre_bytes_read", NULL},
	{"writes", "lustre_nb_write", NULL},
	{"write_bytes", "lustre_bytes_write", NULL},
};
static const struct rule ipmi_rules[] = {{"power", "average_power_consumption", NULL}};
static const struct rule nvidia_rules[] = {
	{"power", "power", NULL},
	{"temperature", "temperature", NULL},
	{"utilization_gpu", "utilization-gpu", NULL},
	{"utilization_memory", "utilization-memory", NULL},
	{"memory_total", "memory-total", NULL},
	{"memory_free", "memory-free", NULL},
	{"memory_used", "memory-used", NULL},
};

/* How rows of a source become records. */
enum way {
	NODE_ROW, /* the node's own row */
	NODE_SUM, /* rows of parts, added up: the source has no row of the node */
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
	enum {
		REPLACE, /* the last reading counts */
		YIELD,   /* what another source has put stays */
		LARGER,  /* of counters that are too low, never too high: the larger one */
	} merge;
};

#define RULES(r) (r), ARRAY_SIZE(r)

static const struct map maps[] = {
	{"jobs", TASKSTATS, JOB_ROWS, RULES(jobs_rules), LARGER},
	{"job_tasks", TASKSTATS, JOB_ROWS, NULL, 0, LARGER},
	{"jobproc", JOBPROC, JOB_ROWS, NULL, 0, REPLACE},
	{"job_counters", PERFHW, EVENTS, NULL, 0, REPLACE},
	{"procstats", PROCSTATS, NODE_ROW, NULL, 0, REPLACE},
	{"system", PROCSTATS, NODE_ROW, RULES(system_rules), YIELD},
	{"infiniband", INFINIBAND, NODE_ROW, RULES(infiniband_rules), REPLACE},
	{"lustre", LUSTRE, NODE_SUM, RULES(lustre_rules), REPLACE},
	{"ipmi", IPMIPOWER, NODE_ROW, RULES(ipmi_rules), REPLACE},
	{"nvidia", NVIDIA, JOB_SUM, RULES(nvidia_rules), REPLACE},
	{"rapl", RAPL, ENERGIES, NULL, 0, REPLACE},
	{"thermal", TEMPERATURE, TEMPERATURES, NULL, 0, REPLACE},
};

/*
 * jobs and job_tasks both count what a job did since it began: job_tasks leaves out tasks that
 * still live unless it was asked for them, groups of version 1 what is written behind their back.
 */

/* ---- values ---- */

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
struct inbox {
	struct row_mapper *m;
	const struct map *map;
	const struct sample_set *set;
	struct mapped_host *host;
	uint64_t time_s;
	struct pair {
		unsigned metric;
		int less; /* -1: nothing */
		unsigned field;
	} pairs[SAMPLE_METRICS_MAX];
	size_t pair_count;
};

static struct gathered *record_of(const struct inbox *in, uint64_t job)
{
	return mapper_record(in->m, in->host, in->map->backend, job, in->time_s);
}

static int metric_called(const struct sample_set *set, const char *name)
{
	for (unsigned m = 0; m < set->metric_count; m++)
		if (!strcmp(set->metrics[m].name, name))
			return (int)m;
	return -1;
}

static void add_pair(struct inbox *in, int metric, const char *field, int less)
{
	const struct row_table *b = &colmet_backends[in->map->backend];
	int f = row_field_find(b, field);

	if (metric >= 0 && f >= 0 && f < (int)b->metric_count &&
	    in->pair_count < ARRAY_SIZE(in->pairs))
		in->pairs[in->pair_count++] = (struct pair){(unsigned)metric, less, (unsigned)f};
}

/* Which metric goes to which field. */
static void find_pairs(struct inbox *in)
{
	const struct map *map = in->map;

	if (!map->rules) {
		for (unsigned m = 0; m < in->set->metric_count; m++)
			add_pair(in, (int)m, in->set->metrics[m].name, -1);
		return;
	}
	for (size_t i = 0; i < map->rule_count; i++) {
		const struct rule *r = &map->rules[i];
		int less = r->less ? metric_called(in->set, r->less) : -1;

		if (!r->less || less >= 0)
			add_pair(in, metric_called(in->set, r->metric), r->field, less);
	}
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

/* The value of a field of whole numbers; false when the row does not have it. */
static bool whole_of(const struct inbox *in, size_t row, const struct pair *p, int64_t *ret)
{
	const struct sample_metric *to = &colmet_backends[in->map->backend].metrics[p->field];
	int64_t less = 0;

	if (!convert(raw_at(in->set, row, p->metric), &in->set->metrics[p->metric], to, ret))
		return false;
	if (p->less < 0)
		return true;
	if (!has(in->set, row, (unsigned)p->less) ||
	    !convert(raw_at(in->set, row, (unsigned)p->less), &in->set->metrics[p->less], to,
		     &less))
		return false;
	*ret = *ret > less ? *ret - less : 0;
	return true;
}

/* Combines the old value and the new one. */
static int64_t combine(int64_t old, int64_t v, enum metric_agg agg, bool add)
{
	int64_t sum;

	if (agg == AGG_MIN)
		return v < old ? v : old;
	if (agg == AGG_MAX || !add)
		return v > old ? v : old;
	return __builtin_add_overflow(old, v, &sum) ? INT64_MAX : sum;
}

/* Puts what a row has into a record. *put: fields that rows of this reading have put there; add: to
 * those. */
static void put_row(const struct inbox *in, size_t row, struct gathered *g, uint64_t *put, bool add)
{
	const struct row_table *b = &colmet_backends[in->map->backend];

	for (size_t i = 0; i < in->pair_count; i++) {
		const struct pair *p = &in->pairs[i];
		uint64_t bit = (uint64_t)1 << p->field;
		bool old = g->present & bit;
		int64_t v;

		if (!has(in->set, row, p->metric) ||
		    (in->map->merge == YIELD && old && !(*put & bit)))
			continue;
		if (b->fields[p->field].type == ROW_F32) {
			g->values[p->field].f = (float)sample_value(in->set, row, p->metric);
		} else if (whole_of(in, row, p, &v)) {
			if ((add && *put & bit) || (old && in->map->merge == LARGER))
				v = combine(g->values[p->field].i, v, b->metrics[p->field].agg,
					    add);
			g->values[p->field].i = v;
		} else {
			continue;
		}
		g->present |= bit;
		*put |= bit;
	}
}

/* ---- ways ---- */

static void take_node(const struct inbox *in)
{
	bool all = in->map->way == NODE_SUM;
	struct gathered *g = NULL;
	uint64_t put = 0;

	for (size_t i = 0; i < in->set->row_count; i++) {
		if (all == (entity_at(in->set, i)->kind == ENTITY_NODE))
			continue;
		g = g ? g : record_of(in, 0);
		put_row(in, i, g, &put, all);
	}
}

static void take_jobs(const struct inbox *in)
{
	for (size_t i = 0; i < in->set->row_count; i++) {
		const struct entity *e = entity_at(in->set, i);
		uint64_t job, put = 0;

		if (e->kind == ENTITY_JOB && row_job_number(e->name, strlen(e->name), &job))
			put_row(in, i, record_of(in, job), &put, false);
	}
}

/* GPUs: of the jobs that their fact names, several where they share one. */
static void take_by_fact(const struct inbox *in)
{
	for (size_t i = 0; i < in->set->row_count; i++) {
		const char *text;
		size_t size;

		if (!entity_metadata(entity_at(in->set, i), "job", &text, &size))
			continue;
		while (size) {
			const char *comma = memchr(text, ',', size);
			size_t n = comma ? (size_t)(comma - text) : size;
			uint64_t job, put;

			if (row_job_number(text, n, &job)) {
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
		return; /* the counter was reset */
	int64_t old = g->present >> field & 1 ? g->values[field].i : 0;
	g->values[field].i = old + (now - before);
	g->present |= (uint64_t)1 << field;
}

/* The range of a zone's counter in microjoules: exact where the source says it, 0 where it does
 * not. */
static int64_t range_of(const struct entity *e)
{
	const char *text;
	int64_t v = 0;
	size_t size;

	if (!entity_metadata(e, "range_uj", &text, &size) || size > 18)
		return 0;
	for (size_t i = 0; i < size; i++) {
		if (text[i] < '0' || text[i] > '9')
			return 0;
		v = v * 10 + (text[i] - '0');
	}
	return v;
}

/* A zone of a package that is there, but has no such counter, is 0; one of no package is -1. */
static void take_energies(const struct inbox *in)
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

static void take_temperatures(const struct inbox *in)
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
static void take_events(const struct inbox *in)
{
	unsigned places[COLMET_EVENTS], count = colmet_find_events(in->set, places);
	struct mapped_host *h = in->host;
	size_t kept = 0;

	for (size_t i = 0; i < in->set->row_count; i++) {
		const struct entity *e = entity_at(in->set, i);
		uint64_t job;
		bool fresh;

		if (e->kind != ENTITY_JOB || !row_job_number(e->name, strlen(e->name), &job))
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

/* ---- for callers ---- */

/* The jobs of a node are those that have rows, in any source of jobs. */
static void note_jobs(const struct inbox *in)
{
	struct mapped_list *l = mapper_list(in->m, in->host, in->time_s);

	for (size_t i = 0; l && i < in->set->row_count; i++) {
		const struct entity *e = entity_at(in->set, i);
		uint64_t job;

		if (e->kind == ENTITY_JOB && row_job_number(e->name, strlen(e->name), &job) && job)
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

/* Does this metric fill a field, together with the one that is taken off it? */
static bool fills(const struct map *map, const char *name,
		  bool (*keeps)(void *user, const char *name), void *user)
{
	if (map->way == EVENTS)
		return strcmp(name, "running_percent") != 0;
	if (map->way == ENERGIES || map->way == TEMPERATURES)
		return !strcmp(name, map->way == ENERGIES ? "energy" : "temperature");
	if (!map->rules)
		return row_field_find(&colmet_backends[map->backend], name) >= 0;
	for (size_t i = 0; i < map->rule_count; i++)
		if (!strcmp(map->rules[i].metric, name) &&
		    (!map->rules[i].less || keeps(user, map->rules[i].less)))
			return true;
	return false;
}

bool colmet_mapper_leaves(const char *source, const struct sample_metric *list, size_t count,
			  bool (*keeps)(void *user, const char *name), void *user)
{
	for (size_t i = 0; i < ARRAY_SIZE(maps); i++)
		for (size_t m = 0; !strcmp(maps[i].source, source) && m < count; m++)
			if (keeps(user, list[m].name) && fills(&maps[i], list[m].name, keeps, user))
				return true;
	return false;
}

void colmet_mapper_add(struct row_mapper *m, const char *host, const char *source,
		       const struct sample_set *set, int64_t time_us)
{
	static void (*const takes[])(const struct inbox *in) = {
		[NODE_ROW] = take_node,     [NODE_SUM] = take_node,
		[JOB_ROWS] = take_jobs,     [JOB_SUM] = take_by_fact,
		[ENERGIES] = take_energies, [TEMPERATURES] = take_temperatures,
		[EVENTS] = take_events,
	};
	struct inbox in = {.m = m, .set = set};

	for (size_t i = 0; i < ARRAY_SIZE(maps) && !in.map; i++)
		in.map = strcmp(maps[i].source, source) ? NULL : &maps[i];
	if (!in.map || time_us < 0)
		return;
	in.host = mapper_host(m, host);
	in.time_s = ((uint64_t)time_us + TOLERANCE_US) / US;
	m->reading++;
	find_pairs(&in);
	takes[in.map->way](&in);
	if (in.map->way == JOB_ROWS || in.map->way == EVENTS)
		note_jobs(&in);
}
