/* Hardware, cores and limits from the metadata of a job; see report.h. */
#include <errno.h>
#include <string.h>

#include "core/value.h"
#include "jobs/job_layout.h"
#include "jobs/request.h"
#include "report/report_internal.h"
#include "store/job_figures.h"
#include "store/job_metadata.h"

#define METADATA_MAX 65536 /* bytes that a page shows */

/* ---- batch systems -------------------------------------------------------------------------- */

static const char *variable(const void *env, const char *name)
{
	return value_get_str(env, name);
}

/* The cores and the memory per host that the batch system granted. */
static void take_grant(struct report_loading *l, const struct job_request *r)
{
	if (r->item[REQUEST_CORES] > 0) {
		l->r->cores = r->item[REQUEST_CORES];
		l->granted = true;
	}
	l->tasks = r->item[REQUEST_TASKS] > 0 ? r->item[REQUEST_TASKS] : 0;
	if (r->item[REQUEST_MEMORY] > 0)
		l->r->memory_limit = r->item[REQUEST_MEMORY];
}

/* ---- this host ------------------------------------------------------------------------------ */

static void take_hosts(struct report_loading *l, const struct value *hosts)
{
	int64_t cpus = job_cpus_of_hosts(hosts);

	l->known_hosts = value_pairs(hosts);
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
	const struct value *refaults = value_get(memory, "refault_bytes");
	if (refaults && refaults->kind == VALUE_INT && refaults->integer >= 0)
		l->refault_bytes = refaults->integer;
	if (kills && kills->kind == VALUE_INT && kills->integer >= 0)
		l->oom_kills = kills->integer;
}

/* CPU time that a quota allows per second, and how long it stopped tasks. */
static void take_quota(struct report *r, const struct value *cpu)
{
	const struct value *quota = value_get(cpu, "quota_us"),
			   *throttled = value_get(cpu, "throttled_us");

	if (quota && quota->kind == VALUE_INT && quota->integer > 0)
		r->cpu_quota_us = quota->integer;
	if (throttled && throttled->kind == VALUE_INT && throttled->integer >= 0)
		r->throttled_us = throttled->integer;
}

static void take_metadata(struct report_loading *l, const struct value *meta)
{
	const char *key;
	const struct value *hardware = value_get(meta, "hardware"),
			   *hosts = value_get(meta, "hosts");

	request_from_metadata(value_get(meta, "request"), &l->r->request);
	for (size_t i = 0; (key = metadata_key(KEY_ENVIRONMENT, i)); i++) {
		const struct value *env = value_get(meta, key);

		if (env && env->kind == VALUE_DICT)
			request_from_environment(variable, env, &l->r->request);
	}
	take_grant(l, &l->r->request);
	take_hosts(l, hosts);
	if (hardware && hardware->kind == VALUE_DICT && value_pairs(hardware)) {
		take_links(l, hardware);
		l->r->hardware = json_of(hardware);
	} else if (hosts && hosts->kind == VALUE_DICT && value_pairs(hosts))
		l->r->hardware = json_of(hosts);
	l->r->by_run = value_get(meta, "started_by_run") != NULL;
	take_sources(l->r, value_get(meta, "sources"));
	take_accounting(l->r, value_get(meta, "books"));
	take_memory(l, value_get(meta, "memory"));
	take_quota(l->r, value_get(meta, "cpu"));
	show_metadata(l, meta);
}

/* A text of JSON without its quotes; false: another kind of value. */
static bool is_word(const char *json, const char *word)
{
	size_t n = strlen(word);

	return json[0] == '"' && !strncmp(json + 1, word, n) && json[n + 1] == '"';
}

/* What the accounting of the batch system says of its end (`plimsoll import sacct`). */
static int load_scheduler(struct report_loading *l)
{
	_cleanup_stmt_ struct stmt *st =
		store_query(l->store,
			    "SELECT key, value FROM job_annotation WHERE job = $1 AND "
			    "key IN ('sacct.state', 'sacct.elapsed')",
			    db_int(l->job));
	int r;

	while ((r = stmt_step(st)) == 1) {
		bool state = !strcmp(stmt_get_str(st, 0), "sacct.state");
		_cleanup_free_ char *value = xstrdup(stmt_get_str(st, 1));
		int64_t seconds;

		l->r->timed_out |= state && is_word(value, "TIMEOUT");
		l->out_of_memory |= state && is_word(value, "OUT_OF_MEMORY");
		if (!state && parse_i64(value, &seconds) == 0 && seconds >= 0)
			l->r->elapsed = seconds;
	}
	return r;
}

int report_load_metadata(struct report_loading *l)
{
	_cleanup_strbuf_ struct strbuf why = STRBUF_INIT;
	_cleanup_value_ struct value *meta = NULL;
	int r = jobmeta_load(l->store, l->job, &meta, &why);

	if (r > 0)
		take_metadata(l, meta);
	report_take_steps(l, r > 0 ? meta : NULL);
	if (r < 0 && !why.len)
		return r;
	r = load_scheduler(l);
	return r < 0 ? r : 0;
}
