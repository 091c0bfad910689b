/* Hardware, cores and limits from the metadata of a job; see report.h. */
#include <errno.h>
#include <string.h>

#include "core/value.h"
#include "jobs/job_layout.h"
#include "report/report_internal.h"
#include "store/job_metadata.h"

#define METADATA_MAX 65536 /* bytes that a page shows */

/* ---- batch systems -------------------------------------------------------------------------- */

/* "16(x4),8" is 72; -1: another format. */
static int64_t cpus_per_node(const char *s, int64_t *ret_most)
{
	int64_t sum = 0;

	*ret_most = 0;
	while (*s) {
		char *end;
		long n = strtol(s, &end, 10), times = 1;

		if (end == s || n <= 0 || n > 1 << 20)
			return -1;
		if (*end == '(' && end[1] == 'x')
			times = strtol(end + 2, &end, 10);
		if (*end == ')')
			end++;
		if ((*end && *end != ',') || times <= 0 || times > 1 << 20)
			return -1;
		sum += (int64_t)n * times;
		*ret_most = n > *ret_most ? n : *ret_most;
		s = *end ? end + 1 : end;
	}
	return sum > 0 ? sum : -1;
}

static int64_t variable(const struct value *env, const char *name)
{
	const char *text = value_get_str(env, name);
	int64_t v;

	return text && parse_i64(text, &v) == 0 && v > 0 && v < (int64_t)1 << 40 ? v : -1;
}

/* The cores and the memory per host that the batch system granted. */
static void take_grant(struct report_loading *l, const struct value *env)
{
	static const char *const counts[] = {"PBS_NP", "NSLOTS", "LSB_DJOB_NUMPROC", "OAR_NCPUS"};
	const char *each = value_get_str(env, "SLURM_JOB_CPUS_PER_NODE");
	int64_t most = 0, cores = each ? cpus_per_node(each, &most) : -1;

	if (cores < 0 && variable(env, "SLURM_CPUS_ON_NODE") > 0) {
		int64_t nodes = variable(env, "SLURM_JOB_NUM_NODES");

		most = variable(env, "SLURM_CPUS_ON_NODE");
		cores = most * (nodes > 0 ? nodes : 1);
	}
	for (size_t i = 0; cores < 0 && i < ARRAY_SIZE(counts); i++)
		cores = variable(env, counts[i]);
	if (cores > 0) {
		l->r->cores = cores;
		l->granted = true;
	}
	int64_t tasks = variable(env, "SLURM_NTASKS");
	l->tasks = tasks > 0 ? tasks : 0;
	int64_t node = variable(env, "SLURM_MEM_PER_NODE"),
		cpu = variable(env, "SLURM_MEM_PER_CPU");
	if (node > 0)
		l->r->memory_limit = node << 20;
	else if (cpu > 0 && most > 0)
		l->r->memory_limit = cpu * most << 20;
}

/* ---- this host ------------------------------------------------------------------------------ */

static void take_hosts(struct report_loading *l, const struct value *hosts)
{
	int64_t cpus = 0;

	for (size_t i = 0; hosts && i < value_pairs(hosts); i++) {
		const struct value *n = value_get(value_at(hosts, i), "usable_cpus");

		if (!n)
			n = value_get(value_at(hosts, i), "cpus");
		if (n && n->kind == VALUE_INT && n->integer > 0 && n->integer < 1 << 20)
			cpus += n->integer;
	}
	if (l->r->cores == UNKNOWN && cpus > 0)
		l->r->cores = cpus;
}

static void take_links(struct report_loading *l, const struct value *hardware)
{
	for (size_t i = 0; i < value_pairs(hardware); i++) {
		const struct value *links = value_get(value_at(hardware, i), "network");

		for (size_t k = 0; links && links->kind == VALUE_LIST && k < links->list.count;
		     k++) {
			const struct value *v = value_get(links->list.items[k], "speed_mbit");
			double speed = v && v->kind == VALUE_INT ? (double)v->integer * 125000 : 0;

			l->link_speed = speed > l->link_speed ? speed : l->link_speed;
		}
	}
}

static char *json_of(const struct value *v)
{
	_cleanup_json_ struct json_writer j = JSON_WRITER_INIT;

	value_to_json(v, &j, NULL);
	return strbuf_take(&j.out);
}

/* ---- what is shown -------------------------------------------------------------------------- */

/* Only variables that show how the job was set up: reports are passed on to others. */
static bool is_telling(const char *name)
{
	static const char *const fronts[] = {"SLURM_", "PBS_",  "OAR_", "LSB_",  "OMP_",   "MKL_",
					     "CUDA_",  "ROCR_", "KMP_", "GOMP_", "I_MPI_", "OMPI_"};

	for (size_t i = 0; i < ARRAY_SIZE(fronts); i++)
		if (str_prefix(name, fronts[i]))
			return true;
	return false;
}

static struct value *telling_environment(const struct value *env)
{
	struct value *out = value_new(VALUE_DICT);

	for (size_t i = 0; i < value_pairs(env); i++) {
		const struct value *key = value_key(env, i);

		if (key->kind == VALUE_STR && is_telling(key->str.data))
			value_set(out, key->str.data, value_ref(value_at(env, i)));
	}
	return out;
}

static void show_metadata(struct report_loading *l, const struct value *meta)
{
	_cleanup_value_ struct value *out = value_new(VALUE_DICT);

	for (size_t i = 0; i < value_pairs(meta); i++) {
		const struct value *key = value_key(meta, i);
		struct value *v = value_at(meta, i);
		const char *name = key->kind == VALUE_STR ? key->str.data : "";

		if (!strcmp(name, "hardware") || !strcmp(name, "sources") || !strcmp(name, "hosts"))
			continue;
		if (v->kind == VALUE_DICT &&
		    (!strcmp(name, "environment") || str_suffix(name, "_env")))
			value_set(out, name, telling_environment(v));
		else
			value_set(out, name, value_ref(v));
	}
	l->r->metadata = json_of(out);
	if (strlen(l->r->metadata) > METADATA_MAX) {
		free(l->r->metadata);
		l->r->metadata = NULL;
	}
}

/* Sources that were not available, by the sampler. */
static void take_sources(struct report *r, const struct value *sources)
{
	for (size_t i = 0; sources && i < value_pairs(sources); i++) {
		const struct value *key = value_key(sources, i), *why = value_at(sources, i);

		if (key->kind != VALUE_STR || why->kind != VALUE_STR)
			continue;
		_cleanup_free_ char *metric = xasprintf("%s.*", key->str.data);
		report_add_absence(r, NULL, metric, 1, xstrdup(why->str.data));
	}
}

/* The key "books" is the older name of the accounting; files keep it. */
static void take_accounting(struct report *r, const struct value *accounting)
{
	const struct value *total = value_get(accounting, "cpu_total");

	if (total && total->kind == VALUE_INT && total->integer >= 0)
		r->cpu_total = total->integer;
}

/* By the cgroups of its runs; the smallest limit counts. */
static void take_memory(struct report_loading *l, const struct value *memory)
{
	const struct value *limit = value_get(memory, "limit"),
			   *kills = value_get(memory, "oom_kills");
	struct report *r = l->r;

	if (limit && limit->kind == VALUE_INT && limit->integer > 0 &&
	    (r->memory_limit == UNKNOWN || limit->integer < r->memory_limit))
		r->memory_limit = limit->integer;
	if (kills && kills->kind == VALUE_INT && kills->integer >= 0)
		l->oom_kills = kills->integer;
}

static void take_metadata(struct report_loading *l, const struct value *meta)
{
	const char *key;
	const struct value *hardware = value_get(meta, "hardware"),
			   *hosts = value_get(meta, "hosts");

	for (size_t i = 0; (key = metadata_key(KEY_ENVIRONMENT, i)); i++) {
		const struct value *env = value_get(meta, key);

		if (env && env->kind == VALUE_DICT && l->r->cores == UNKNOWN)
			take_grant(l, env);
	}
	take_hosts(l, hosts);
	if (hardware && hardware->kind == VALUE_DICT && value_pairs(hardware)) {
		take_links(l, hardware);
		l->r->hardware = json_of(hardware);
	} else if (hosts && hosts->kind == VALUE_DICT && value_pairs(hosts))
		l->r->hardware = json_of(hosts);
	take_sources(l->r, value_get(meta, "sources"));
	take_accounting(l->r, value_get(meta, "books"));
	take_memory(l, value_get(meta, "memory"));
	show_metadata(l, meta);
}

int report_load_metadata(struct report_loading *l)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *meta = NULL;
	int r = jobmeta_load(l->store, l->job, &meta, &why);

	if (r > 0)
		take_metadata(l, meta);
	return r < 0 && !why.len ? r : 0;
}
