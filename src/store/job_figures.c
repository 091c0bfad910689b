/* Granted core time and energy of jobs; see job_figures.h. */
#include "store/job_figures.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "core/clock.h"
#include "core/log.h"
#include "jobs/job_layout.h"
#include "jobs/request.h"
#include "store/job_metadata.h"
#include "store/job_words.h"

#define PROGRESS_NS 5000000000u
#define JOBS_AT_ONCE 200
#define CORES_MAX (1 << 26)
/* those of energy_origin_of() */
#define ENERGY_METRICS "'job_energy.energy', 'ipmi.power', 'rapl.energy', 'nvidia.energy'"

/* ---- cores ---------------------------------------------------------------------------------- */

static const char *variable(const void *env, const char *name)
{
	return value_get_str(env, name);
}

int64_t job_cpus_of_hosts(const struct value *hosts)
{
	int64_t cpus = 0;

	for (size_t i = 0; hosts && i < value_pairs(hosts); i++) {
		const struct value *n = value_get(value_at(hosts, i), "usable_cpus");

		if (!n)
			n = value_get(value_at(hosts, i), "cpus");
		if (n && n->kind == VALUE_INT && n->integer > 0 && n->integer < 1 << 20)
			cpus += n->integer;
	}
	return cpus > 0 ? cpus : -1;
}

int64_t job_cores(const struct value *meta)
{
	struct job_request request = REQUEST_UNKNOWN;
	const char *key;

	request_from_metadata(value_get(meta, "request"), &request);
	for (size_t i = 0; (key = metadata_key(KEY_ENVIRONMENT, i)); i++) {
		const struct value *env = value_get(meta, key);

		if (env && env->kind == VALUE_DICT)
			request_from_environment(variable, env, &request);
	}
	int64_t cores = request.item[REQUEST_CORES];
	if (cores <= 0)
		cores = job_cpus_of_hosts(value_get(meta, "hosts"));
	return cores > 0 && cores <= CORES_MAX ? cores : -1;
}

/* ---- energy --------------------------------------------------------------------------------- */

enum energy_origin energy_origin_of(const char *metric, const char *entity_kind)
{
	bool whole = !strcmp(entity_kind, "node");

	if (!strcmp(metric, "job_energy.energy") && !strcmp(entity_kind, "job"))
		return ENERGY_OF_JOB;
	if (!strcmp(metric, "ipmi.power"))
		return ENERGY_OF_NODE;
	if (!strcmp(metric, "rapl.energy") && !whole)
		return ENERGY_OF_RAPL;
	return !strcmp(metric, "nvidia.energy") && !whole ? ENERGY_OF_GPU : ENERGY_ORIGINS;
}

bool energy_counts(enum energy_origin origin, const char *entity)
{
	return origin != ENERGY_OF_RAPL || str_prefix(entity, "package") ||
	       str_prefix(entity, "dram");
}

double energy_best(const double joules[ENERGY_ORIGINS])
{
	if (!isnan(joules[ENERGY_OF_JOB]))
		return joules[ENERGY_OF_JOB];
	if (!isnan(joules[ENERGY_OF_NODE]))
		return joules[ENERGY_OF_NODE];
	if (isnan(joules[ENERGY_OF_RAPL]) || isnan(joules[ENERGY_OF_GPU]))
		return isnan(joules[ENERGY_OF_RAPL]) ? joules[ENERGY_OF_GPU]
						     : joules[ENERGY_OF_RAPL];
	return joules[ENERGY_OF_RAPL] + joules[ENERGY_OF_GPU];
}

struct host_energy {
	char *host;
	double joules[ENERGY_ORIGINS]; /* NAN: none */
};
#define HOST_ENERGY_NONE                    \
	{                                   \
		NULL, {NAN, NAN, NAN, NAN}, \
	}

/* The columns are host, metric, kind and name of the entity, increase, and mean times seconds. */
static void take_series(struct host_energy *h, struct stmt *st)
{
	enum energy_origin from = energy_origin_of(stmt_get_str(st, 1), stmt_get_str(st, 2));
	int column = from == ENERGY_OF_NODE ? 5 : 4;
	double joules = stmt_is_null(st, column) ? NAN : stmt_get_real(st, column);

	if (from == ENERGY_ORIGINS || !energy_counts(from, stmt_get_str(st, 3)) || isnan(joules))
		return;
	h->joules[from] = (isnan(h->joules[from]) ? 0 : h->joules[from]) + joules;
}

static const char energy_sql[] =
	"SELECT e.host, m.name, e.kind, e.name, s.increase * m.scale / m.divisor, "
	"s.mean * m.scale / m.divisor * (s.last_us - s.first_us) / 1e6 "
	"FROM sample_metric m JOIN sample_series s ON s.job = m.job AND s.metric = m.n "
	"JOIN sample_entity e ON e.job = s.job AND e.n = s.entity WHERE m.job = $1 AND m.name IN "
	"(" ENERGY_METRICS ") ORDER BY e.host";

/* Adds the best figure of a host, and forgets the host. */
static void finish_host(struct host_energy *h, double *sum)
{
	double joules = energy_best(h->joules);

	if (h->host && !isnan(joules))
		*sum = (isnan(*sum) ? 0 : *sum) + joules;
	free(h->host);
	*h = (struct host_energy)HOST_ENERGY_NONE;
}

int job_energy(struct store *s, int64_t job, int64_t *ret_mj, bool *ret_known)
{
	_cleanup_stmt_ struct stmt *st = store_query(s, energy_sql, db_int(job));
	struct host_energy h = HOST_ENERGY_NONE;
	double sum = NAN;
	int r;

	while ((r = stmt_step(st)) == 1) {
		if (!h.host || strcmp(h.host, stmt_get_str(st, 0)) != 0) {
			finish_host(&h, &sum);
			h.host = xstrdup(stmt_get_str(st, 0));
		}
		take_series(&h, st);
	}
	finish_host(&h, &sum);
	if (r < 0)
		return r;
	*ret_known = isfinite(sum) && sum >= 0 && sum < 9e15;
	*ret_mj = *ret_known ? (int64_t)(sum * 1000) : 0;
	return 0;
}

/* ---- jobs that are in the store already ------------------------------------------------------ */

struct filling {
	struct store *s;
	struct stmt *figures; /* writes them */
	struct bulk *words;
	int64_t done;
	uint64_t told_ns;
};

struct filled_job {
	int64_t no, start_us, core_us; /* core_us -1: unknown */
	bool sampled;                  /* it has series of energy */
	char *jobid, *jobname;
};

static int64_t core_us(const char *json, size_t n, int64_t duration_us)
{
	_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;
	_cleanup_value_ struct value *meta = NULL;
	int64_t cores;

	if (!json || value_from_json(json, n, &meta, &ignored) < 0)
		return -1;
	cores = job_cores(meta);
	return cores > 0 && duration_us <= INT64_MAX / cores ? cores * duration_us : -1;
}

/* Jobs behind a number, JOBS_AT_ONCE at most; how many. Metadata may be large: they are not kept.
 */
static int read_jobs(struct store *s, int64_t behind, struct filled_job *jobs)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		s,
		"SELECT j.no, j.jobid, j.jobname, coalesce(j.start_us, 0), j.duration_us, m.json, "
		"CASE WHEN EXISTS (SELECT 1 FROM sample_metric e WHERE e.job = j.no AND e.name IN "
		"(" ENERGY_METRICS ")) THEN 1 ELSE 0 END "
		"FROM job j LEFT JOIN job_meta m ON m.job = j.no WHERE j.no > $1 ORDER BY j.no LIMIT $2",
		db_int(behind), db_int(JOBS_AT_ONCE));
	int n = 0, r;

	while ((r = stmt_step(st)) == 1) {
		size_t size = 0;
		const char *json = stmt_is_null(st, 4) ? NULL : stmt_get_text(st, 5, &size);

		jobs[n] = (struct filled_job){.no = stmt_get_int(st, 0),
					      .jobid = stmt_get_copy(st, 1),
					      .jobname = stmt_get_copy(st, 2),
					      .start_us = stmt_get_int(st, 3),
					      .sampled = stmt_get_int(st, 6)};
		jobs[n++].core_us = core_us(json, size, stmt_get_int(st, 4));
	}
	return r < 0 ? r : n;
}

static int fill_job(struct filling *f, const struct filled_job *j)
{
	int64_t energy = 0;
	bool known = false;
	int r = job_words_put(f->words, j->no, j->jobid, j->jobname, j->start_us);

	if (r == 0 && j->sampled)
		r = job_energy(f->s, j->no, &energy, &known);
	if (r < 0 || (j->core_us < 0 && !known))
		return r;
	return stmt_run_with(f->figures, db_int_if(j->core_us >= 0, j->core_us),
			     db_int_if(known, energy), db_int(j->no));
}

static void tell(struct filling *f)
{
	if (clock_boottime_ns() - f->told_ns < PROGRESS_NS)
		return;
	f->told_ns = clock_boottime_ns();
	log_warn("'%s': preparing lists of jobs once, %lld jobs are done", f->s->where,
		 (long long)f->done);
}

static int fill_all(struct filling *f)
{
	_cleanup_free_ struct filled_job *jobs = xcalloc(JOBS_AT_ONCE, sizeof(*jobs));
	int64_t behind = INT64_MIN;
	int r = 0, n;

	while (r >= 0 && (n = r = read_jobs(f->s, behind, jobs)) > 0) {
		for (int i = 0; i < n; i++) {
			if (r >= 0)
				r = fill_job(f, &jobs[i]);
			behind = jobs[i].no;
			free(jobs[i].jobid);
			free(jobs[i].jobname);
		}
		f->done += n;
		tell(f);
	}
	return r < 0 ? r : 0;
}

int job_list_fill(struct store *s)
{
	struct filling f = {.s = s, .told_ns = clock_boottime_ns()};

	f.figures = stmt_prepare(s, "UPDATE job SET core_us = $1, energy_mj = $2 WHERE no = $3");
	f.words = s->engine->bulk_open(s, "job_word", JOB_WORD_COLUMNS);
	int r = f.figures && f.words ? fill_all(&f) : -EIO;
	stmt_finish_ptr(&f.figures);
	return bulk_end(f.words, r);
}
