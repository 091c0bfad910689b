/*
 * Several runs that sampled one host at the same time; see sample_ingest_write.h. Each has its own
 * series of the job, which add up. Those of the node and its devices are taken once. Nested runs,
 * and monitors of one job, saw the same processes: then the series of one run include those of the
 * other, which do not count in sums.
 */
#include <errno.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "store/ingest/sample_ingest_write.h"

/* ---- sessions ------------------------------------------------------------------------- */

uint64_t sample_ingest_session(const struct sample_file_head *h)
{
	XXH3_state_t state;
	const char *const texts[] = {h->host, h->boot, h->job, h->run};

	XXH3_64bits_reset(&state);
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++)
		XXH3_64bits_update(&state, texts[i] ? texts[i] : "",
				   texts[i] ? strlen(texts[i]) + 1 : 1);
	XXH3_64bits_update(&state, &h->boottime_ns, sizeof(h->boottime_ns));
	XXH3_64bits_update(&state, &h->realtime_ns, sizeof(h->realtime_ns));
	return XXH3_64bits_digest(&state);
}

static void add_session(struct sample_ingest *c, struct ingest_session session)
{
	GROW(c->sessions, c->session_count, c->session_cap);
	c->sessions[c->session_count++] = session;
}

void sample_ingest_skip(struct sample_ingest *c, uint64_t session, uint64_t readings)
{
	add_session(c, (struct ingest_session){.id = session, .skipped = true, .there = readings});
}

void sample_ingest_inventory(const struct sample_ingest *c, struct inventory *inv)
{
	for (size_t i = 0; i < c->session_count; i++)
		if (!c->sessions[i].skipped)
			inventory_add(inv, (struct inventory_file){
						   .kind = INVENTORY_SAMPLES,
						   .id = c->sessions[i].id,
						   .count = c->sessions[i].readings,
					   });
}

bool sample_ingest_seen(struct sample_ingest *c, const struct sample_file_head *h)
{
	uint64_t id = sample_ingest_session(h);

	c->passing = 0;
	for (c->session = 0; c->session < c->session_count; c->session++) {
		struct ingest_session *s = &c->sessions[c->session];

		if (s->id != id)
			continue;
		if (!s->there)
			return true;
		c->passing = s->there;
		*s = (struct ingest_session){.id = id};
		return false;
	}
	add_session(c, (struct ingest_session){.id = id});
	return false;
}

/* The stored run of this session; NULL: none. */
static const struct ingest_run *find_session(const struct sample_ingest *c, uint64_t id)
{
	for (size_t i = 0; id && i < c->run_own; i++)
		if (c->runs[i].session == id && !strcmp(c->runs[i].host, c->host))
			return &c->runs[i];
	return NULL;
}

/* ---- at the same time ----------------------------------------------------------------------- */

static bool is_taken(const struct sample_ingest *c, uint32_t number, int64_t start_us)
{
	for (size_t i = 0; i < c->run_count; i++) {
		const struct ingest_run *r = &c->runs[i];

		/* a run that counts must not share series with one that does not */
		if (r->number == number && !strcmp(r->host, c->host) &&
		    (r->left_out || (r->until_us >= start_us && r->from_us <= c->part_end_us)))
			return true;
	}
	return false;
}

void sample_ingest_begin_run(struct sample_ingest *c, int64_t start_us)
{
	c->run = 0;
	c->run_first_us = INT64_MAX;
	c->run_last_us = INT64_MIN;
	c->covered_at_us = INT64_MIN;
	c->covered = false;
	c->run_processes = 0;
	c->shared = false;
	for (size_t i = 0; i < c->run_count; i++)
		c->runs[i].shared = false;
	const struct ingest_run *before =
		c->passing ? find_session(c, c->sessions[c->session].id) : NULL;
	if (before)
		c->run = before->number;
	/* the first free number */
	while (!before && is_taken(c, c->run, start_us))
		c->run++;
}

/* Did another run sample the host at this time? Cached for the rows of a reading. */
static bool is_covered(struct sample_ingest *c, int64_t time_us)
{
	if (time_us == c->covered_at_us)
		return c->covered;
	c->covered_at_us = time_us;
	c->covered = false;
	for (size_t i = 0; i < c->run_count && !c->covered; i++) {
		const struct ingest_run *r = &c->runs[i];

		c->covered = time_us >= r->from_us && time_us <= r->until_us &&
			     !strcmp(r->host, c->host);
	}
	return c->covered;
}

void sample_ingest_note_reading(struct sample_ingest *c, int64_t time_us, uint64_t processes)
{
	c->run_first_us = time_us < c->run_first_us ? time_us : c->run_first_us;
	c->run_last_us = time_us > c->run_last_us ? time_us : c->run_last_us;
	c->run_processes = processes > c->run_processes ? processes : c->run_processes;
}

bool sample_ingest_wants(struct sample_ingest *c, const struct live *live, int64_t time_us)
{
	if (!c->run || !live->again || live->known->kind == ENTITY_JOB || !is_covered(c, time_us))
		return true;
	if (live->known->kind == ENTITY_PROCESS) {
		if (live->known->by && live->known->by <= c->run_count)
			c->runs[live->known->by - 1].shared = true;
		else
			c->shared = true;
	}
	return false;
}

/* Metadata are lines "key=value". */
static void leave_out(struct known *k)
{
	static const char line[] = "in_sum=no\n";

	if (k->metadata && strstr(k->metadata, line))
		return;
	char *metadata = xasprintf("%s%s", k->metadata ? k->metadata : "", line);
	free(k->metadata);
	k->metadata = metadata;
}

static bool contains(const struct ingest_run *a, const struct ingest_run *b)
{
	return a->from_us <= b->from_us && a->until_us >= b->until_us;
}

/* Of two runs with the same processes: does a include all that b saw? The longer one does, unless
 * it sampled only a part of the job. Numbers of processes differ slightly between moments. */
static bool has_all_of(const struct ingest_run *a, const struct ingest_run *b)
{
	bool as_many = (double)a->processes >= 0.9 * (double)b->processes;
	bool fewer = (double)b->processes < 0.9 * (double)a->processes;

	if (contains(a, b) && !contains(b, a))
		return as_many;
	if (contains(b, a) && !contains(a, b))
		return fewer;
	return fewer;
}

/* Does this run share processes with that one? For runs of other parts this is a guess. */
static bool is_shared(const struct sample_ingest *c, size_t i, const struct ingest_run *own)
{
	const struct ingest_run *r = &c->runs[i];

	if (r->left_out || strcmp(r->host, c->host) != 0)
		return false;
	return r->shared || (c->shared && i < c->run_own && r->from_us <= own->until_us &&
			     r->until_us >= own->from_us);
}

/* Leaves the series of the job in this run out of sums. */
static int leave_out_run(struct sample_ingest *c, uint32_t number)
{
	int r = 0;

	for (size_t i = 0; i < c->source_count; i++)
		for (size_t k = 0; k < c->sources[i].live_count && r == 0; k++) {
			struct known *one = c->sources[i].lives[k].known;

			if (!one || one->kind != ENTITY_JOB)
				continue;
			if (number == c->run) {
				leave_out(one);
				continue;
			}
			uint32_t other = sample_ingest_job_in_run(c, one, number);
			r = other ? sample_ingest_leave_out(c, other) : 0;
		}
	return r;
}

int sample_ingest_end_run(struct sample_ingest *c)
{
	struct ingest_run own = {
		.number = c->run,
		.session = c->session < c->session_count ? c->sessions[c->session].id : 0,
		.from_us = c->run_first_us,
		.until_us = c->run_last_us,
		.processes = c->run_processes};
	int r = c->error;

	if (!c->host || c->run_last_us == INT64_MIN)
		return r;
	const struct ingest_run *before = find_session(c, own.session);
	own.left_out = before && before->left_out;
	for (size_t i = 0; i < c->run_count && r == 0; i++) {
		if (!is_shared(c, i, &own))
			continue;
		if (has_all_of(&own, &c->runs[i])) {
			c->runs[i].left_out = true;
			r = leave_out_run(c, c->runs[i].number);
		} else {
			own.left_out = true;
		}
	}
	if (own.left_out && r == 0)
		r = leave_out_run(c, own.number);
	sample_ingest_add_run(c, c->host, &own);
	c->run_last_us = INT64_MIN;
	return r;
}

void sample_ingest_add_run(struct sample_ingest *c, const char *host, const struct ingest_run *run)
{
	GROW(c->runs, c->run_count, c->run_cap);
	c->runs[c->run_count] = *run;
	c->runs[c->run_count++].host = xstrdup(host);
}

struct value *sample_ingest_runs(const struct sample_ingest *c)
{
	struct value *list = value_new(VALUE_LIST);

	for (size_t i = c->run_own; i < c->run_count && list->list.count < INGEST_RUNS_MAX; i++) {
		const struct ingest_run *r = &c->runs[i];
		struct value *one = value_new(VALUE_DICT);

		value_set(one, "host", value_str(r->host));
		value_set(one, "number", value_int(r->number));
		value_set(one, "from_us", value_int(r->from_us));
		value_set(one, "until_us", value_int(r->until_us));
		value_set(one, "processes", value_int((int64_t)r->processes));
		if (r->session)
			value_set(one, "session", value_int((int64_t)r->session));
		if (r->left_out)
			value_set(one, "left_out", value_int(1));
		value_append(list, one);
	}
	return list;
}

void sample_ingest_forget_runs(struct sample_ingest *c)
{
	for (size_t i = 0; i < c->run_count; i++)
		free(c->runs[i].host);
	free(c->runs);
}

/* Counters of a job's cgroup, or of its tasks, start at 0 with the job: their last value is its CPU
 * time, whenever sampling began. */
static int sum_counters(struct sample_ingest *c, uint64_t *ret_us)
{
	static const char sql[] =
		"SELECT sum((CASE WHEN s.increase > s.maximum THEN s.increase ELSE s.maximum END) "
		"* m.scale / m.divisor / (CASE m.unit WHEN 'ns' THEN 1000 ELSE 1 END)) "
		"FROM sample_series s JOIN sample_metric m ON m.job = s.job AND m.n = s.metric "
		"JOIN sample_entity e ON e.job = s.job AND e.n = s.entity WHERE s.job = $1 "
		"AND e.kind = 'job' AND m.name IN ('jobs.cpu_usage', "
		"'job_tasks.cpu_run_virtual_total'"
#define IMPORTED_COUNTER(metric) ", '" metric "'"
#include "core/metrics/imported_counters.def"
#undef IMPORTED_COUNTER
		") GROUP BY m.name ORDER BY CASE m.name WHEN 'jobs.cpu_usage' THEN 1 "
		"WHEN 'job_tasks.cpu_run_virtual_total' THEN 2 ELSE 3 END LIMIT 1";
	_cleanup_stmt_ struct stmt *st = store_query(c->in->store, sql, db_int(c->in->job));
	int r = st ? stmt_step(st) : -EIO;
	double us = r == 1 ? stmt_get_real(st, 0) : 0;
	*ret_us = us > 0 && us < 9e18 ? (uint64_t)us : 0;
	return r < 0 ? r : 0;
}

#define OWN "'process.usertime', 'process.systemtime'"
int sample_ingest_sum_sampled(struct sample_ingest *c)
{
	static const char sql[] =
		"SELECT sum(CASE WHEN m.name IN (" OWN
		") THEN s.increase * m.scale / m.divisor ELSE 0 END), sum(CASE WHEN m.name IN (" OWN
		") THEN 0 ELSE s.increase * m.scale / m.divisor END), "
		"(SELECT count(*) FROM sample_entity p WHERE p.job = $2 AND p.kind = 'process') "
		"FROM sample_series s JOIN sample_metric m ON m.job = s.job AND m.n = s.metric "
		"JOIN sample_entity e ON e.job = s.job AND e.n = s.entity WHERE s.job = $1 "
		"AND e.kind = 'job' AND coalesce(e.facts, '') NOT LIKE '%\"in_sum\"%' "
		"AND m.name IN (" OWN
#define IMPORTED_CPU(time, percent) ", '" time "'"
#include "core/metrics/imported_cpu.def"
#undef IMPORTED_CPU
		")";
	_cleanup_stmt_ struct stmt *st =
		store_query(c->in->store, sql, db_int(c->in->job), db_int(c->in->job));
	int r = st ? stmt_step(st) : -EIO;
	if (r == 1) {
		double own = stmt_get_real(st, 0), imported = stmt_get_real(st, 1);
		double us = own > 0 ? own : imported;

		c->in->sampled_cpu_us = us > 0 && us < 9e18 ? (uint64_t)us : 0;
		c->in->sampled_processes = (uint64_t)stmt_get_int(st, 2);
	}
	if (r >= 0 && !c->in->sampled_cpu_us)
		r = sum_counters(c, &c->in->sampled_cpu_us);
	return r < 0 ? r : 0;
}
