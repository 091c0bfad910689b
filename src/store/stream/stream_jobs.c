/* Jobs whose samples come while they run: what the store knows of them, and their rows. */
#include <errno.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "core/clock.h"
#include "core/text/json_writer.h"
#include "core/text/text.h"
#include "store/stream/stream_internal.h"
#include "transport/known_names.h"

/* ---- metrics, entities, hosts -----------------------------------------------------------------
 */

static bool same_metric(const struct sample_metric *a, const struct sample_metric *b)
{
	double x = a->scale != 0 ? a->scale : 1, y = b->scale != 0 ? b->scale : 1;

	/* what the store has went through a division */
	return a->unit == b->unit && a->kind == b->kind && a->agg == b->agg &&
	       (x > y ? x - y : y - x) <= x * 1e-12;
}

static uint32_t add_metric(struct stream_job *j, const struct sample_metric *m, char *name,
			   bool written)
{
	GROW(j->metrics, j->metric_count, j->metric_cap);
	struct stream_metric *known = &j->metrics[j->metric_count++];
	*known = (struct stream_metric){.m = *m, .written = written};
	known->m.name = name;
	known->m.help = m->help ? xstrdup(m->help) : NULL;
	return (uint32_t)j->metric_count;
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
	return add_metric(j, m, xasprintf("%s.%s", source, m->name), false);
}

static void hash_entity(const char *host, enum entity_kind kind, const char *name, uint64_t *low,
			uint64_t *high)
{
	XXH3_state_t state;

	XXH3_128bits_reset(&state);
	XXH3_128bits_update(&state, host, strlen(host) + 1);
	XXH3_128bits_update(&state, &kind, sizeof(kind));
	XXH3_128bits_update(&state, name, strlen(name));
	XXH128_hash_t h = XXH3_128bits_digest(&state);
	*low = h.low64;
	*high = h.high64;
}

static uint32_t *entity_place(struct stream_job *j, uint64_t low, uint64_t high)
{
	for (uint64_t at = low;; at++) {
		uint32_t *p = &j->table[at & (j->table_size - 1)];

		if (!*p || (j->entities[*p - 1]->low == low && j->entities[*p - 1]->high == high))
			return p;
	}
}

static void grow_table(struct stream_job *j)
{
	free(j->table);
	j->table_size = j->table_size ? j->table_size * 2 : 16;
	j->table = xcalloc(j->table_size, sizeof(*j->table));
	for (size_t i = 0; i < j->entity_count; i++)
		*entity_place(j, j->entities[i]->low, j->entities[i]->high) = (uint32_t)i + 1;
}

/* fresh: it is not from the store, and its host must have a share. */
static struct stream_entity *add_entity(struct stream_job *j, const char *host,
					enum entity_kind kind, const char *name, bool fresh)
{
	uint64_t low, high;

	hash_entity(host, kind, name, &low, &high);
	if (j->entity_count * 2 >= j->table_size)
		grow_table(j);
	uint32_t *place = entity_place(j, low, high);
	if (*place)
		return j->entities[*place - 1];
	if (j->entity_count == STREAM_ENTITIES_MAX || (fresh && !quota_take(&j->rooms, host)))
		return NULL;
	struct stream_entity *e = xcalloc(1, sizeof(*e));
	GROW(j->entities, j->entity_count, j->entity_cap);
	j->entities[j->entity_count++] = e;
	*e = (struct stream_entity){
		.low = low, .high = high, .number = (uint32_t)j->entity_count, .kind = kind};
	*place = e->number;
	return e;
}

/* Facts of several sources about one entity: the lines of both, those of the newer one first. */
static void merge_facts(struct stream_entity *k, const struct entity *e)
{
	_cleanup_strbuf_ struct strbuf out = STRBUF_INIT;

	if (!e->facts || (k->facts && !strcmp(k->facts, e->facts)))
		return;
	strbuf_addstr(&out, e->facts);
	for (const char *p = k->facts; p && *p;) {
		size_t key = strcspn(p, "="), line = strcspn(p, "\n") + 1;
		_cleanup_free_ char *name = xstrndup(p, key);
		const char *value, *old = p + key + 1;
		size_t size, old_size = line - key - 2;

		/* nothing new in it as long as every line of it is there */
		if (!entity_fact(e, name, &value, &size))
			strbuf_add(&out, p, line);
		else if (size != old_size || memcmp(value, old, size) != 0)
			k->new_facts = true;
		p += line;
	}
	if (!k->facts || out.len != strlen(k->facts))
		k->new_facts = true;
	if (!k->new_facts)
		return;
	free(k->facts);
	k->facts = strbuf_take(&out);
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
	merge_facts(k, e);
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

/* ---- what the store knows ---------------------------------------------------------------------
 */

/* Numbers have no gaps: a job is written by us, or by `submit`, which counts likewise. */
static int load_metrics(struct stream *s, struct stream_job *j)
{
	_cleanup_stmt_ struct stmt *st = stmt_prepare(
		s->store, "SELECT n, name, unit, kind, aggregation, scale / divisor FROM "
			  "sample_metric WHERE job = $1 ORDER BY n");
	int r;

	if (!st)
		return -EIO;
	stmt_int(st, 1, j->no);
	while ((r = stmt_step(st)) == 1) {
		const struct sample_metric m = {.unit = metric_unit_by_name(stmt_get_str(st, 2)),
						.kind = metric_kind_by_name(stmt_get_str(st, 3)),
						.agg = metric_agg_by_name(stmt_get_str(st, 4)),
						.scale = stmt_get_real(st, 5)};

		if (stmt_get_int(st, 0) != (int64_t)j->metric_count + 1)
			return -EBADMSG;
		(void)add_metric(j, &m, xstrdup(stmt_get_str(st, 1)), true);
	}
	return r;
}

static int load_entities(struct stream *s, struct stream_job *j)
{
	_cleanup_stmt_ struct stmt *st = stmt_prepare(
		s->store,
		"SELECT n, host, kind, name FROM sample_entity WHERE job = $1 ORDER BY n");
	int r;

	if (!st)
		return -EIO;
	stmt_int(st, 1, j->no);
	while ((r = stmt_step(st)) == 1) {
		uint64_t n = (uint64_t)stmt_get_int(st, 0);

		if (n > STREAM_ENTITIES_MAX || n <= j->entity_count)
			return -EBADMSG;
		/* `submit` leaves out entities that had no value: their numbers are taken */
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
	_cleanup_stmt_ struct stmt *ticks = stmt_prepare(
		s->store, "SELECT coalesce(max(n), 0) FROM sample_tick WHERE job = $1");
	_cleanup_stmt_ struct stmt *hosts =
		stmt_prepare(s->store, "SELECT host FROM job_host WHERE job = $1");
	int r;

	if (!ticks || !hosts)
		return -EIO;
	stmt_int(ticks, 1, j->no);
	r = stmt_step(ticks);
	if (r < 0)
		return r;
	j->tick_count = (uint32_t)stmt_get_int(ticks, 0);
	stmt_reset(ticks);
	stmt_int(hosts, 1, j->no);
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
		free(j->entities[i]->facts);
		free(j->entities[i]);
	}
	for (size_t i = 0; i < j->host_count; i++)
		free(j->hosts[i]);
	quota_release(&j->names);
	quota_release(&j->rooms);
	free(j->metrics);
	free(j->entities);
	free(j->table);
	free(j->hosts);
	free(j->id);
	free(j->user);
	free(j->node);
	free(j);
}

int stream_job(struct stream *s, const char *id, const char *node, const char *user,
	       int64_t time_us, struct stream_job **ret)
{
	struct stream_job **slot = &s->jobs[XXH3_64bits(id, strlen(id)) % STREAM_TABLE];
	struct stream_job *j;
	int64_t nth = 0;

	for (j = *slot; j; j = j->next) {
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
	/* one that is known, and whose time in the store is longer than we knew */
	for (struct stream_job *k = *slot; k; k = k->next)
		if (j->no && k->no == j->no) {
			k->from_us = j->from_us < k->from_us ? j->from_us : k->from_us;
			k->until_us = j->until_us > k->until_us ? j->until_us : k->until_us;
			free_job(j);
			*ret = k;
			return 0;
		}
	j->next = *slot;
	*slot = *ret = j;
	return 0;
}

/* ---- rows -------------------------------------------------------------------------------------
 */

int stream_jobs_number(struct stream *s)
{
	int64_t missing = 0, last = 0;

	for (size_t i = 0; i < STREAM_TABLE; i++)
		for (struct stream_job *j = s->jobs[i]; j; j = j->next)
			missing += j->touched && !j->no;
	if (!missing)
		return 0;
	_cleanup_stmt_ struct stmt *st =
		stmt_prepare(s->store, "UPDATE job_number SET last = last + $1 RETURNING last");
	if (!st)
		return -EIO;
	stmt_int(st, 1, missing);
	int r = stmt_step(st);
	if (r <= 0)
		return r < 0 ? r : -EIO;
	last = stmt_get_int(st, 0);
	stmt_reset(st);
	for (size_t i = 0; i < STREAM_TABLE; i++)
		for (struct stream_job *j = s->jobs[i]; j; j = j->next)
			if (j->touched && !j->no)
				j->no = -(last - --missing); /* taken, and not written */
	return 0;
}

static int write_new(struct stream *s, struct stream_job *j)
{
	_cleanup_stmt_ struct stmt *st = stmt_prepare(
		s->store,
		"INSERT INTO job (no, jobid, jobname, username, start_us, end_us, duration_us, "
		"cpu_us, num_procs, num_threads, peak_procs, peak_threads, bytes, format, source, "
		"ingested_us, nth) VALUES ($1, $2, $3, $4, $5, $6, $7, 0, 0, 0, 0, 0, 0, $8, $9, "
		"$10, $11)");
	_cleanup_stmt_ struct stmt *meta =
		stmt_prepare(s->store, "INSERT INTO job_meta (job, json) VALUES ($1, $2)");
	_cleanup_jsonw_ struct jsonw json = JSONW_INIT;

	if (!st || !meta)
		return -EIO;
	j->no = -j->no;
	stmt_int(st, 1, j->no);
	stmt_str(st, 2, j->id);
	stmt_str(st, 3, j->node ? "node" : NULL);
	stmt_str(st, 4, j->user);
	stmt_int(st, 5, j->first_us);
	stmt_int(st, 6, j->last_us);
	stmt_int(st, 7, j->last_us - j->first_us);
	stmt_str(st, 8, STREAM_FORMAT);
	stmt_str(st, 9, s->key);
	stmt_int(st, 10, clock_realtime_us());
	stmt_int(st, 11, j->nth);
	int r = stmt_run(st);
	if (r < 0)
		return r;
	jsonw_begin_object(&json, NULL);
	jsonw_str(&json, "jobid", j->id);
	if (j->node)
		jsonw_str(&json, "node", j->node);
	if (j->user)
		jsonw_str(&json, "user", j->user);
	jsonw_end_object(&json);
	stmt_int(meta, 1, j->no);
	stmt_bytes(meta, 2, json.out.buf, json.out.len);
	return stmt_run(meta);
}

/* The times of a job that was submitted are its own. */
static int write_known(struct stmt *st, const struct stream_job *j)
{
	stmt_int(st, 1, j->first_us);
	stmt_int(st, 2, j->last_us);
	stmt_str(st, 3, j->user);
	stmt_int(st, 4, clock_realtime_us());
	stmt_int(st, 5, j->no);
	int r = stmt_run(st);
	if (r < 0)
		return r;
	return st->store->engine->changes(st) == 1 ? 0 : -ESTALE;
}

static int write_hosts(struct stream *s, struct stream_job *j)
{
	if (j->host_known == j->host_count)
		return 0;
	_cleanup_stmt_ struct stmt *st =
		stmt_prepare(s->store, "INSERT INTO job_host (job, host, num_procs) "
				       "VALUES ($1, $2, 0) ON CONFLICT DO NOTHING");
	int r = st ? 0 : -EIO;

	for (size_t i = j->host_known; i < j->host_count && r == 0; i++) {
		stmt_int(st, 1, j->no);
		stmt_str(st, 2, j->hosts[i]);
		r = stmt_run(st);
	}
	j->host_known = j->host_count;
	return r;
}

static int by_number(const void *a, const void *b)
{
	const struct stream_job *x = *(struct stream_job *const *)a,
				*y = *(struct stream_job *const *)b;

	return x->no < y->no ? -1 : x->no > y->no;
}

/* Those that were touched, sorted: two that write the same jobs lock them in the same order. */
static struct stream_job **touched_jobs(struct stream *s, size_t *ret)
{
	struct stream_job **list = NULL;
	size_t count = 0, cap = 0;

	for (size_t i = 0; i < STREAM_TABLE; i++)
		for (struct stream_job *j = s->jobs[i]; j; j = j->next)
			if (j->touched) {
				GROW(list, count, cap);
				list[count++] = j;
			}
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

	for (size_t i = 0; i < STREAM_TABLE; i++)
		for (struct stream_job **p = &s->jobs[i]; *p;) {
			struct stream_job *j = *p;

			if (j->touched)
				j->seen_us = now;
			j->touched = false;
			if (!j->sums_due && now - j->seen_us > STREAM_IDLE_US) {
				*p = j->next;
				free_job(j);
			} else {
				p = &j->next;
			}
		}
}

void stream_jobs_forget(struct stream *s)
{
	for (size_t i = 0; i < STREAM_TABLE; i++) {
		for (struct stream_job *j = s->jobs[i], *next; j; j = next) {
			next = j->next;
			free_job(j);
		}
		s->jobs[i] = NULL;
	}
}
