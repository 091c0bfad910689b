/* Jobs with streamed samples: what the store knows of them, and their rows. */
#include <errno.h>
#include <string.h>

#include "core/clock.h"
#include "core/text/json_writer.h"
#include "core/text/text.h"
#include "store/job_words.h"
#include "store/stream/stream_internal.h"
#include "transport/known_names.h"

/* ---- metrics, entities, hosts --------------------------------------------------------------- */

static bool same_metric(const struct sample_metric *a, const struct sample_metric *b)
{
	double x = a->scale != 0 ? a->scale : 1, y = b->scale != 0 ? b->scale : 1;

	/* what the store has went through a division */
	return a->unit == b->unit && a->kind == b->kind && a->agg == b->agg &&
	       (x > y ? x - y : y - x) <= x * 1e-12;
}

/* Is this "source.metric"? */
static bool has_name(const char *full, const char *source, const char *name)
{
	size_t n = strlen(source);

	return !strncmp(full, source, n) && full[n] == '.' && !strcmp(full + n + 1, name);
}

uint32_t stream_job_metric(struct stream_job *j, const char *host, const char *source,
			   const struct sample_metric *m)
{
	const struct sample_metric *known;

	for (size_t i = 0; i < j->metric_count; i++)
		if (has_name(j->metrics[i].m.name, source, m->name) &&
		    same_metric(&j->metrics[i].m, m))
			return (uint32_t)i + 1;
	/* our own have room, any number of others has not */
	known = known_metric(source, m->name);
	if (!(known && same_metric(known, m)) && !quota_take(&j->names, host))
		return 0;
	GROW(j->metrics, j->metric_count, j->metric_cap);
	struct stream_metric *added = &j->metrics[j->metric_count++];
	*added = (struct stream_metric){.m = *m};
	added->m.name = xasprintf("%s.%s", source, m->name);
	added->m.help = m->help ? xstrdup(m->help) : NULL;
	return (uint32_t)j->metric_count;
}

/* fresh: it is not from the store, and counts towards the share of its host. */
static struct stream_entity *add_entity(struct stream_job *j, const char *host,
					enum entity_kind kind, const char *name, bool fresh)
{
	struct entity_hash h = entity_hash(host, kind, name, 0);

	for (struct hash_slot *s = hash_map_first(&j->index, h.low); s;
	     s = hash_map_next(&j->index, s))
		if (j->entities[s->value]->high == h.high)
			return j->entities[s->value];
	if (j->entity_count == STREAM_ENTITIES_MAX || (fresh && !quota_take(&j->rooms, host)))
		return NULL;
	struct stream_entity *e = xcalloc(1, sizeof(*e));
	hash_map_add(&j->index, h.low, j->entity_count);
	GROW(j->entities, j->entity_count, j->entity_cap);
	j->entities[j->entity_count++] = e;
	*e = (struct stream_entity){
		.high = h.high, .number = (uint32_t)j->entity_count, .kind = kind};
	return e;
}

static void merge_metadata(struct stream_entity *k, const struct entity *e)
{
	if (!e->metadata || (k->metadata && !strcmp(k->metadata, e->metadata)))
		return;
	bool changed;
	_cleanup_free_ char *merged = entity_merge_metadata(k->metadata, e, &changed);
	k->new_metadata = k->new_metadata || changed;
	if (!k->new_metadata)
		return;
	free(k->metadata);
	k->metadata = merged;
	merged = NULL;
}

struct stream_entity *stream_job_entity(struct stream_job *j, const char *host,
					const struct entity *e)
{
	_cleanup_strbuf_ struct strbuf name = STRBUF_INIT;

	text_add_printable(&name, e->name, strlen(e->name));
	struct stream_entity *k = add_entity(j, host, e->kind, name.buf, true);
	if (!k)
		return NULL;
	if (!k->written && !k->host) {
		k->host = xstrdup(host);
		k->name = strbuf_take(&name);
	}
	merge_metadata(k, e);
	return k;
}

void stream_job_host(struct stream_job *j, const char *host)
{
	for (size_t i = j->host_count; i-- > 0;)
		if (!strcmp(j->hosts[i], host))
			return;
	GROW(j->hosts, j->host_count, j->host_cap);
	j->hosts[j->host_count++] = xstrdup(host);
}

/* ---- what the store knows ------------------------------------------------------------------- */

/* Numbers have no gaps: we or `submit` wrote them, who both count so. */
static int load_metrics(struct stream *s, struct stream_job *j)
{
	_cleanup_stmt_ struct stmt *st = sample_rows_metrics(s->store, j->no);
	int r;

	if (!st)
		return -EIO;
	while ((r = stmt_step(st)) == 1) {
		GROW(j->metrics, j->metric_count, j->metric_cap);
		struct stream_metric *m = &j->metrics[j->metric_count++];
		m->written = true;
		if (sample_rows_get_metric(st, &m->m) != (int64_t)j->metric_count)
			return -EBADMSG;
	}
	return r;
}

static int load_entities(struct stream *s, struct stream_job *j)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		s->store, "SELECT n, host, kind, name FROM sample_entity WHERE job = $1 ORDER BY n",
		db_int(j->no));
	int r;

	if (!st)
		return -EIO;
	while ((r = stmt_step(st)) == 1) {
		uint64_t n = (uint64_t)stmt_get_int(st, 0);

		if (n > STREAM_ENTITIES_MAX || n <= j->entity_count)
			return -EBADMSG;
		/* `submit` leaves out entities without values, but their numbers are taken */
		while (j->entity_count + 1 < n) {
			char gap[32];

			snprintf(gap, sizeof(gap), "%zu", j->entity_count);
			add_entity(j, "\001", ENTITY_NODE, gap, false)->written = true;
		}
		struct stream_entity *e =
			add_entity(j, stmt_get_str(st, 1), entity_kind_by_name(stmt_get_str(st, 2)),
				   stmt_get_str(st, 3), false);
		if (!e || e->number != n)
			return -EBADMSG;
		e->written = true;
	}
	return r;
}

static int load_rest(struct stream *s, struct stream_job *j)
{
	_cleanup_stmt_ struct stmt *hosts =
		store_query(s->store, "SELECT host FROM job_host WHERE job = $1", db_int(j->no));
	int r = hosts ? sample_rows_last_tick(s->store, j->no, &j->tick_count) : -EIO;

	if (r < 0)
		return r;
	while ((r = stmt_step(hosts)) == 1)
		stream_job_host(j, stmt_get_str(hosts, 0));
	j->host_known = j->host_count;
	return r;
}

static int load_job(struct stream *s, struct stream_job *j, const char *user, int64_t time_us)
{
	int r = stream_job_find(s, j, user, time_us);

	if (r < 0 || !j->no)
		return r;
	r = load_metrics(s, j);
	if (r == 0)
		r = load_entities(s, j);
	j->names.used = j->metric_count;
	j->rooms.used = j->entity_count;
	return r == 0 ? load_rest(s, j) : r;
}

static void free_job(struct stream_job *j)
{
	for (size_t i = 0; i < j->metric_count; i++) {
		free((char *)j->metrics[i].m.name);
		free((char *)j->metrics[i].m.help);
	}
	for (size_t i = 0; i < j->entity_count; i++) {
		free(j->entities[i]->host);
		free(j->entities[i]->name);
		free(j->entities[i]->metadata);
		free(j->entities[i]);
	}
	for (size_t i = 0; i < j->host_count; i++)
		free(j->hosts[i]);
	quota_release(&j->names);
	quota_release(&j->rooms);
	free(j->metrics);
	free(j->entities);
	hash_map_release(&j->index);
	free(j->hosts);
	free(j->id);
	free(j->user);
	free(j->node);
	free(j);
}

int stream_job(struct stream *s, const char *id, const char *node, const char *user,
	       int64_t time_us, struct stream_job **ret)
{
	uint64_t hash = hash_text(id);
	struct stream_job *j;
	int64_t nth = 0;

	for (struct hash_slot *at = hash_map_first(&s->job_index, hash); at;
	     at = hash_map_next(&s->job_index, at)) {
		j = (struct stream_job *)at->value;
		if (strcmp(j->id, id) != 0)
			continue;
		if (stream_job_is_near(j, time_us) && !identity_users_differ(user, j->user)) {
			*ret = j;
			return 0;
		}
		/* it may not be in the store yet */
		nth = j->nth >= nth ? j->nth + 1 : nth;
	}
	j = xcalloc(1, sizeof(*j));
	j->names = (struct quota){.what = "store: metrics of a job",
				  .max = STREAM_METRICS_MAX,
				  .each = STREAM_METRICS_MAX / 4};
	j->rooms = (struct quota){.what = "store: entities of a job",
				  .max = STREAM_ENTITIES_MAX,
				  .each = STREAM_ENTITIES_MAX / 2};
	j->id = xstrdup(id);
	j->nth = nth;
	j->node = node ? xstrdup(node) : NULL;
	j->met_us = stream_now_us();
	int r = load_job(s, j, user, time_us);
	if (r < 0) {
		free_job(j);
		return r;
	}
	/* one that we know, but whose time in the store is longer than we knew */
	for (struct hash_slot *at = hash_map_first(&s->job_index, hash); at && j->no;
	     at = hash_map_next(&s->job_index, at)) {
		struct stream_job *k = (struct stream_job *)at->value;

		if (k->no != j->no)
			continue;
		k->from_us = j->from_us < k->from_us ? j->from_us : k->from_us;
		k->until_us = j->until_us > k->until_us ? j->until_us : k->until_us;
		free_job(j);
		*ret = k;
		return 0;
	}
	GROW(s->jobs, s->job_count, s->job_cap);
	s->jobs[s->job_count++] = *ret = j;
	hash_map_add(&s->job_index, hash, (uintptr_t)j);
	return 0;
}

/* ---- rows ----------------------------------------------------------------------------------- */

int stream_jobs_number(struct stream *s)
{
	int64_t missing = 0, last = 0;

	for (size_t i = 0; i < s->job_count; i++)
		missing += s->jobs[i]->touched && !s->jobs[i]->no;
	if (!missing)
		return 0;
	int r = store_number_of(s->store, "UPDATE job_number SET last = last + $1 RETURNING last",
				&last, db_int(missing));
	if (r < 0)
		return r == -ENODATA ? -EIO : r;
	for (size_t i = 0; i < s->job_count; i++)
		if (s->jobs[i]->touched && !s->jobs[i]->no)
			s->jobs[i]->no = -(last - --missing); /* reserved, not yet written */
	return 0;
}

static int write_new(struct stream *s, struct stream_job *j)
{
	_cleanup_json_ struct json_writer json = JSON_WRITER_INIT;

	j->no = -j->no;
	int r = job_words_write(s->store, j->no, j->id, j->node ? "node" : NULL, j->first_us);
	if (r < 0)
		return r;
	r = store_run(
		s->store,
		"INSERT INTO job (no, jobid, jobname, username, start_us, end_us, duration_us, "
		"cpu_us, num_procs, num_threads, peak_procs, peak_threads, bytes, format, source, "
		"ingested_us, nth) VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0, 0, 0, 0, 0, $8, $9, "
		"$10, $11)",
		db_int(j->no), db_str(j->id), db_str(j->node ? "node" : NULL), db_str(j->user),
		db_int(j->first_us), db_int(j->last_us), db_int(j->last_us - j->first_us),
		db_str(STREAM_FORMAT), db_str(s->key), db_int(clock_realtime_us()), db_int(j->nth));
	if (r < 0)
		return r;
	json_begin_object(&json, NULL);
	json_str(&json, "jobid", j->id);
	if (j->node)
		json_str(&json, "node", j->node);
	if (j->user)
		json_str(&json, "user", j->user);
	json_end_object(&json);
	return store_run(s->store, "INSERT INTO job_meta (job, json) VALUES ($1, $2)",
			 db_int(j->no), db_bytes(json.out.buf, json.out.len));
}

/* The statement leaves the times of a submitted job alone. */
static int write_known(struct stmt *st, const struct stream_job *j)
{
	int r = stmt_run_with(st, db_int(j->first_us), db_int(j->last_us), db_str(j->user),
			      db_int(clock_realtime_us()), db_int(j->no));

	if (r < 0)
		return r;
	return st->store->engine->changes(st) == 1 ? 0 : -ESTALE;
}

static int write_hosts(struct stream *s, struct stream_job *j)
{
	if (j->host_known == j->host_count)
		return 0;
	_cleanup_stmt_ struct stmt *st = stmt_prepare(
		s->store, "INSERT INTO job_host (job, host, num_procs, start_us) "
			  "VALUES ($1, $2, 0, coalesce((SELECT start_us FROM job WHERE "
			  "no = $1), 0)) ON CONFLICT DO NOTHING");
	int r = st ? 0 : -EIO;

	for (size_t i = j->host_known; i < j->host_count && r == 0; i++)
		r = stmt_run_with(st, db_int(j->no), db_str(j->hosts[i]));
	j->host_known = j->host_count;
	return r;
}

static int by_number(const void *a, const void *b)
{
	const struct stream_job *x = *(struct stream_job *const *)a,
				*y = *(struct stream_job *const *)b;

	return x->no < y->no ? -1 : x->no > y->no;
}

/* Touched jobs by number, so that two writers of the same jobs lock them in the same order. */
static struct stream_job **touched_jobs(struct stream *s, size_t *ret)
{
	struct stream_job **list = xreallocarray(NULL, s->job_count + 1, sizeof(*list));
	size_t count = 0;

	for (size_t i = 0; i < s->job_count; i++)
		if (s->jobs[i]->touched)
			list[count++] = s->jobs[i];
	if (count)
		qsort(list, count, sizeof(*list), by_number);
	*ret = count;
	return list;
}

int stream_jobs_write(struct stream *s)
{
	_cleanup_stmt_ struct stmt *st = stmt_prepare(
		s->store,
		"UPDATE job SET "
		"start_us = CASE WHEN format <> '" STREAM_FORMAT "' THEN start_us "
		"WHEN start_us < $1 THEN start_us ELSE $1 END, "
		"end_us = CASE WHEN format <> '" STREAM_FORMAT "' THEN end_us "
		"WHEN end_us > $2 THEN end_us ELSE $2 END, "
		"duration_us = CASE WHEN format <> '" STREAM_FORMAT "' THEN duration_us ELSE "
		"(CASE WHEN end_us > $2 THEN end_us ELSE $2 END) - "
		"(CASE WHEN start_us < $1 THEN start_us ELSE $1 END) END, "
		"username = coalesce(username, $3), ingested_us = $4 WHERE no = $5");
	size_t count;
	_cleanup_free_ struct stream_job **list = touched_jobs(s, &count);
	int r = st ? 0 : -EIO;

	for (size_t i = 0; i < count && r == 0; i++) {
		r = list[i]->no < 0 ? write_new(s, list[i]) : write_known(st, list[i]);
		if (r == 0)
			r = write_hosts(s, list[i]);
	}
	return r;
}

void stream_jobs_settle(struct stream *s)
{
	int64_t now = stream_now_us();
	size_t kept = 0;

	for (size_t i = 0; i < s->job_count; i++) {
		struct stream_job *j = s->jobs[i];

		if (j->touched)
			j->seen_us = now;
		j->touched = false;
		if (!j->sums_due && now - j->seen_us > STREAM_IDLE_US)
			free_job(j);
		else
			s->jobs[kept++] = j;
	}
	if (kept == s->job_count)
		return;
	s->job_count = kept;
	hash_map_clear(&s->job_index);
	for (size_t i = 0; i < kept; i++)
		hash_map_add(&s->job_index, hash_text(s->jobs[i]->id), (uintptr_t)s->jobs[i]);
}

void stream_jobs_forget(struct stream *s)
{
	for (size_t i = 0; i < s->job_count; i++)
		free_job(s->jobs[i]);
	s->job_count = 0;
	hash_map_clear(&s->job_index);
}
