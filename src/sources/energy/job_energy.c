/*
 * Divides the energy of the node among its jobs by the CPU time that each used since the last
 * reading, as a share of the time of all CPUs. Idle time and the time of the system are the part of
 * the node itself. Parts are whole microjoules and add up to the whole at every reading.
 */
#include "sources/energy/job_energy.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "core/system/procparse.h"
#include "sources/cgroup/per_job_state.h"
#include "sources/columns.h"
#include "sources/counters/counters.h"
#include "sources/exits/exits.h"
#include "sources/sysfile.h"

/* The CPUs that are online are counted at every 16th reading. */
#define CPUS_EVERY 16

#define METRICS_OF_JOB_ENERGY(X)                                                             \
	X(ENERGY,                                                                            \
	  JOULES("energy", SUM, 1e-6,                                                        \
		 "share of a job in the energy of the node; of the node: what no job used")) \
	X(NODE_ENERGY, JOULES("node_energy", NONE, 1e-6,                                     \
			      "energy of the node since the start: all parts together"))
DEFINE_METRICS(METRICS_OF_JOB_ENERGY);

struct energy_job {
	uint64_t number;
	int file; /* of its CPU time; 0: not open */
	uint64_t cpu_ns, uj;
	bool known; /* cpu_ns is of an earlier reading */
	bool ended;
};

struct job_energy {
	struct cgroup_jobs *jobs;
	struct node_energy *node;
	struct exits_living *living; /* NULL: not needed yet, or not available */
	struct exits *exits;
	bool described;
	const char *root;
	uint64_t cpus, readings;
	uint64_t whole_uj, rest_uj, last_ns;
	struct per_job_state list;
	uint64_t *weights, *parts;
	size_t share_cap;
};

/* ---- sharing ---- */

__extension__ typedef unsigned __int128 u128;

struct claim {
	uint64_t rest;
	size_t place;
};

static int by_rest(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	return x->rest != y->rest    ? (x->rest > y->rest ? -1 : 1)
	       : x->place < y->place ? -1
				     : x->place > y->place;
}

void share_out(uint64_t whole, const uint64_t *weights, size_t count, uint64_t *parts)
{
	_cleanup_free_ struct claim *claims = xcalloc(count + 1, sizeof(*claims));
	uint64_t left = whole;
	u128 sum = 0;

	for (size_t i = 0; i < count; i++)
		sum += weights[i];
	for (size_t i = 0; i < count; i++) {
		u128 product = (u128)whole * weights[i];

		parts[i] = sum ? (uint64_t)(product / sum) : 0;
		/* the sum fits into 64 bits: 600 years of a CPU */
		claims[i] = (struct claim){sum ? (uint64_t)(product % sum) : 0, i};
		left -= parts[i];
	}
	if (!sum && count) {
		parts[count - 1] = whole;
		return;
	}
	/* fewer are left than there are parts: one each, to those farthest from their share */
	qsort(claims, count, sizeof(*claims), by_rest);
	for (size_t i = 0; i < left && i < count; i++)
		parts[claims[i].place]++;
}

/* ---- CPU time of jobs ---- */

static bool read_group(struct energy_job *e, const struct job *job, uint64_t *ret_ns)
{
	const char *name = job->version2 ? "cpu.stat" : "cpuacct.usage";
	char text[4096];
	uint64_t v;

	if (!e->file && job->dirs[CGROUP_JOBS_CPUACCT] >= 0)
		e->file = openat(job->dirs[CGROUP_JOBS_CPUACCT], name, O_RDONLY | O_CLOEXEC);
	ssize_t n = e->file <= 0 ? -1 : pread(e->file, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return false;
	text[n] = 0;
	const char *p = job->version2 ? strstr(text, "usage_usec ") : text;
	if (p && job->version2)
		p += strlen("usage_usec ");
	if (!p || !proc_number(&p, text + n, &v))
		return false;
	*ret_ns = job->version2 ? v * 1000 : v;
	return true;
}

/* By its cgroup; without one, by its tasks. */
static bool read_cpu(struct job_energy *s, struct energy_job *e, const struct job *job,
		     uint64_t *ret_ns)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	struct exit_sums sums;
	uint64_t alive;

	if (read_group(e, job, ret_ns))
		return true;
	if (job->dirs[CGROUP_JOBS_CPUACCT] >= 0 || !s->exits)
		return false;
	if (!s->living && exits_living_open(&s->living, s->exits, &why) < 0)
		return false;
	if (exits_living_of(s->living, job->number, &sums, &alive) < 0)
		return false;
	*ret_ns = sums.oncpu_ns;
	return true;
}

/* The weight of a job is the CPU time it used since the last reading. */
static uint64_t weigh(struct job_energy *s, struct energy_job *e, const struct job *job)
{
	uint64_t ns, weight = 0;

	if (e->ended || !read_cpu(s, e, job, &ns))
		return 0;
	/* a job that began since then used all of it since then */
	if (!e->known && s->last_ns && job->begin_ns >= s->last_ns)
		weight = ns;
	else if (e->known && ns > e->cpu_ns)
		weight = ns - e->cpu_ns;
	e->known = true;
	e->cpu_ns = ns;
	return weight;
}

/* ---- the source ---- */

static void forget(void *element)
{
	const struct energy_job *e = element;

	if (e->file > 0)
		close(e->file);
}

static int count_cpu(void *user, int cpu)
{
	(void)cpu;
	++*(uint64_t *)user;
	return 0;
}

static uint64_t count_cpus(const char *root)
{
	char text[SYSFILE_TEXT];
	uint64_t n = 0;

	if (sys_text(text, sizeof(text), "%s/sys/devices/system/cpu/online", root) > 0)
		(void)counters_each_cpu(text, count_cpu, &n);
	return n ? n : 1;
}

static int probe(const struct source_context *ctx, struct source_report *report)
{
	struct node_energy *n = NULL;
	int r = node_energy_open(&n, ctx->root, NULL, &report->detail);

	if (r < 0)
		return r;
	strbuf_addf(&report->detail, "measured by %s", node_energy_by(n));
	node_energy_close(n);
	return 0;
}

static int open_energy(const struct source_context *ctx, struct sample_set *set, void **state,
		       struct strbuf *why)
{
	struct node_energy *node = NULL;

	(void)set;
	if (!ctx->jobs)
		return strbuf_fail(
			why, -EINVAL,
			"divides energy among the jobs of a node: available in `node` only");
	int r = node_energy_open(&node, ctx->root, ctx->option && *ctx->option ? ctx->option : NULL,
				 why);
	if (r < 0)
		return r;
	struct job_energy *s = xcalloc(1, sizeof(*s));
	s->jobs = ctx->jobs;
	s->exits = ctx->exits;
	s->node = node;
	s->list = (struct per_job_state){.size = sizeof(struct energy_job), .release = forget};
	s->root = ctx->root;
	*state = s;
	return 0;
}

static void share(struct job_energy *s, uint64_t more_uj, uint64_t now_ns)
{
	uint64_t used = 0, could = s->last_ns ? (now_ns - s->last_ns) * s->cpus : 0;

	size_t count = s->list.count;

	if (s->share_cap < count + 1) {
		s->share_cap = count + 16;
		s->weights = xreallocarray(s->weights, s->share_cap, sizeof(*s->weights));
		s->parts = xreallocarray(s->parts, s->share_cap, sizeof(*s->parts));
	}
	for (size_t i = 0; i < count; i++) {
		s->weights[i] = weigh(s, per_job_state_at(&s->list, i), cgroup_jobs_at(s->jobs, i));
		used += s->weights[i];
	}
	/* cgroup clocks advance in ticks: they may be ahead a little */
	s->weights[count] = could > used ? could - used : 0;
	share_out(more_uj, s->weights, count + 1, s->parts);
	for (size_t i = 0; i < count; i++)
		((struct energy_job *)per_job_state_at(&s->list, i))->uj += s->parts[i];
	s->rest_uj += s->parts[count];
}

static int read_energy(void *state, struct sample_set *set)
{
	struct job_energy *s = state;
	uint64_t uj, now = set->time_ns;

	per_job_state_update(&s->list, s->jobs);
	if (!node_energy_read(s->node, now, &uj))
		return -EAGAIN;
	/* CPUs may go offline and online */
	if (s->readings++ % CPUS_EVERY == 0)
		s->cpus = count_cpus(s->root);
	share(s, uj - s->whole_uj, now);
	s->whole_uj = uj;
	s->last_ns = now;
	for (size_t i = 0; i < s->list.count; i++) {
		const struct job *job = cgroup_jobs_at(s->jobs, i);
		struct energy_job *e = per_job_state_at(&s->list, i);

		if (e->ended || !e->known)
			continue;
		uint32_t entity = jobs_entity(set, job);
		sample_row(set, entity);
		sys_put(set, ENERGY, e->uj);
		if (job->state == JOB_ENDED) {
			sample_end(set, entity);
			e->ended = true;
		}
	}
	uint32_t node = sample_entity(set, ENTITY_NODE, "node");
	if (!s->described)
		sample_set_metadata(set, node, "by", node_energy_by(s->node));
	s->described = true;
	sample_row(set, node);
	sys_put(set, ENERGY, s->rest_uj);
	sys_put(set, NODE_ENERGY, s->whole_uj);
	return 0;
}

static void close_energy(void *state)
{
	struct job_energy *s = state;

	per_job_state_release(&s->list);
	exits_living_close(s->living);
	node_energy_close(s->node);
	free(s->weights);
	free(s->parts);
	free(s);
}

const struct source source_job_energy = {
	.name = "job_energy",
	.help = "energy of the node, divided among its jobs by CPU time",
	.probe = probe,
	.remedy = "sudo chmod a+r /sys/class/powercap/*rapl*/energy_uj",
	.metrics = columns,
	.metric_count = METRICS,
	.every = 1,
	.needs_jobs = true,
	.open = open_energy,
	.read = read_energy,
	.close = close_energy,
};
