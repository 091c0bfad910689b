/* Buffering streamed samples; see stream.h. */
#include "store/stream/stream.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "core/text/text.h"
#include "store/ingest/merge_streamed.h"
#include "store/stream/stream_internal.h"

#define DAY_US 86400000000ll
#define BUSY_WAIT_MS 20000
#define LEAVE_WAIT_MS 1000

/* ---- tracks --------------------------------------------------------------------------------- */

static uint64_t hash_track(const struct stream_job *j, const char *host, const char *source)
{
	uint64_t h = hash_bytes(&j, sizeof(j));

	return hash_more(hash_more(h, host, strlen(host)), source, strlen(source));
}

static void free_track(struct stream_track *t)
{
	free(t->host);
	free(t->source);
	free(t->rows);
	free(t->values);
	free(t->lanes);
	free(t);
}

static void shape_of(const struct stream_track *t, const char *host,
		     const struct sample_file_source *from, uint32_t numbers[SAMPLE_METRICS_MAX])
{
	memset(numbers, 0, SAMPLE_METRICS_MAX * sizeof(*numbers));
	for (size_t m = 0; m < from->metric_count; m++) {
		numbers[m] = stream_job_metric(t->job, host, t->source, &from->metrics[m]);
		/* two metrics of a name in one source would claim the same series */
		for (size_t k = 0; k < m; k++)
			if (numbers[k] == numbers[m])
				numbers[m] = 0;
	}
}

/* The track for readings of a source: one with the same metrics and room for a tick. */
static struct stream_track *find_track(struct stream *s, struct stream_job *j, const char *host,
				       const struct sample_file_source *from)
{
	uint64_t hash = hash_track(j, host, from->name);
	struct stream_track key = {.job = j, .source = from->name}, *t;
	uint32_t numbers[SAMPLE_METRICS_MAX];
	unsigned round = 0;

	shape_of(&key, host, from, numbers);
	for (struct hash_slot *at = hash_map_first(&s->track_index, hash); at;
	     at = hash_map_next(&s->track_index, at)) {
		t = (struct stream_track *)at->value;
		if (t->job != j || strcmp(t->host, host) != 0 || strcmp(t->source, from->name) != 0)
			continue;
		if (t->metric_count == from->metric_count &&
		    !memcmp(t->metrics, numbers, sizeof(numbers)) &&
		    (t->ticks.n < DELTA_CODING_MAX || t->serial == s->serial))
			return t;
		round = t->round >= round ? t->round + 1 : round;
	}
	t = xcalloc(1, sizeof(*t));
	*t = (struct stream_track){.job = j,
				   .host = xstrdup(host),
				   .source = xstrdup(from->name),
				   .metric_count = (unsigned)from->metric_count,
				   .round = round};
	memcpy(t->metrics, numbers, sizeof(numbers));
	for (size_t m = 0; m < from->metric_count; m++)
		t->counters |= (uint64_t)(from->metrics[m].kind == KIND_COUNTER) << m;
	hash_map_add(&s->track_index, hash, (uintptr_t)t);
	GROW(s->tracks, s->track_count, s->track_cap);
	s->tracks[s->track_count++] = t;
	s->rounds = round + 1 > s->rounds ? round + 1 : s->rounds;
	s->held += sizeof(*t);
	return t;
}

static uint32_t find_lane(struct stream *s, struct stream_track *t, struct stream_entity *e)
{
	/* entities come in the same order in each batch */
	for (size_t i = 0; i < t->lane_count; i++) {
		size_t at = (t->lane_hint + i) % t->lane_count;

		if (t->lanes[at].entity == e) {
			t->lane_hint = at + 1;
			return (uint32_t)at;
		}
	}
	GROW(t->lanes, t->lane_count, t->lane_cap);
	t->lanes[t->lane_count] = (struct stream_lane){.entity = e};
	s->held += sizeof(*t->lanes);
	return (uint32_t)t->lane_count++;
}

static void add_row(struct stream *s, struct stream_track *t, uint32_t lane, int64_t time_us,
		    uint64_t present, const int64_t *values)
{
	struct stream_job *j = t->job;

	if (t->serial != s->serial || !t->ticks.n) {
		delta_coding_put(&t->ticks, t->ticks.n++, time_us);
		t->serial = s->serial;
	}
	if (t->row_count == t->row_cap) {
		t->row_cap = t->row_cap ? t->row_cap * 2 : 16;
		t->rows = xreallocarray(t->rows, t->row_cap, sizeof(*t->rows));
		t->values =
			xreallocarray(t->values, t->row_cap * t->metric_count, sizeof(*t->values));
	}
	struct stream_row *row = &t->rows[t->row_count];
	*row = (struct stream_row){.present = present, .tick = (uint16_t)(t->ticks.n - 1)};
	memcpy(t->values + t->row_count * t->metric_count, values,
	       t->metric_count * sizeof(*values));
	struct stream_lane *l = &t->lanes[lane];
	t->row_count++;
	if (l->last)
		t->rows[l->last - 1].next = (uint32_t)t->row_count;
	else
		l->first = (uint32_t)t->row_count;
	l->last = (uint32_t)t->row_count;
	s->held += sizeof(*row) + t->metric_count * sizeof(*values);
	if (!j->from_us || time_us < j->from_us)
		j->from_us = time_us;
	if (time_us > j->until_us)
		j->until_us = time_us;
	if (!j->touched || time_us < j->first_us)
		j->first_us = time_us;
	if (!j->touched || time_us > j->last_us)
		j->last_us = time_us;
	j->touched = true;
}

/* ---- readings ------------------------------------------------------------------------------- */

static void forget_places(struct stream *s)
{
	for (size_t i = 0; i < s->place_sources; i++)
		free(s->places[i].list);
	free(s->places);
	s->places = NULL;
	s->place_sources = 0;
}

static struct stream_place *place_at(struct stream *s, unsigned source, uint32_t place)
{
	if (source >= s->place_sources) {
		s->places = xreallocarray(s->places, source + 1, sizeof(*s->places));
		memset(s->places + s->place_sources, 0,
		       (source + 1 - s->place_sources) * sizeof(*s->places));
		s->place_sources = source + 1;
	}
	struct stream_places *p = &s->places[source];
	if (place >= p->count) {
		size_t n = p->count * 2 > place ? p->count * 2 : (size_t)place + 1;

		p->list = xreallocarray(p->list, n, sizeof(*p->list));
		memset(p->list + p->count, 0, (n - p->count) * sizeof(*p->list));
		p->count = n;
	}
	return &p->list[place];
}

static void add_id(struct strbuf *out, const char *text, size_t n)
{
	text_add_printable(out, text, n < STREAM_ID_MAX ? n : STREAM_ID_MAX);
}

/* The user of a job, from the entity of the job in the file. */
static void add_user(struct strbuf *out, const struct sample_file *f, const struct entity *e,
		     const char *id, size_t id_size)
{
	const char *text;
	size_t n;

	if (e->kind == ENTITY_JOB) {
		if (entity_metadata(e, "user", &text, &n))
			add_id(out, text, n);
		return;
	}
	for (size_t i = 0; i < f->source_count; i++)
		for (size_t k = 0; k < f->sources[i].entity_count; k++) {
			const struct entity *job = &f->sources[i].entities[k];

			if (job->kind != ENTITY_JOB || strlen(job->name) != id_size ||
			    memcmp(job->name, id, id_size) != 0 ||
			    !entity_metadata(job, "user", &text, &n))
				continue;
			add_id(out, text, n);
			return;
		}
}

/* The job of an entity, else the job that stands for a day of its node. */
static int job_for(struct stream *s, const struct sample_file *f, const struct entity *e,
		   const char *host, stream_job_of job_of, struct stream_job **ret)
{
	int64_t time_us = f->time_us;
	_cleanup_strbuf_ struct strbuf id = STRBUF_INIT, user = STRBUF_INIT;
	const char *text;
	size_t n;

	if (job_of(e, &text, &n)) {
		add_id(&id, text, n);
		add_user(&user, f, e, text, n);
		return stream_job(s, id.buf, NULL, user.buf, time_us, ret);
	}
	time_t seconds = (time_t)(s->day * (DAY_US / 1000000));
	struct tm tm;
	char date[40];

	gmtime_r(&seconds, &tm);
	strftime(date, sizeof(date), "%Y-%m-%d", &tm);
	strbuf_addf(&id, "node:%s:%s", host, date);
	return stream_job(s, id.buf, host, NULL, time_us, ret);
}

static void take_user(struct stream_job *j, const struct entity *e)
{
	const char *user;
	size_t n;

	if (j->user || j->node || e->kind != ENTITY_JOB || !entity_metadata(e, "user", &user, &n) ||
	    !n)
		return;
	_cleanup_strbuf_ struct strbuf text = STRBUF_INIT;
	add_id(&text, user, n);
	j->user = strbuf_take(&text);
}

/* Finds the track of an entity. 0 without a track: too many entities, it is left out. */
static int find_place(struct stream *s, const struct sample_file *f, const char *host,
		      uint32_t place, stream_job_of job_of, struct stream_place *ret)
{
	const struct sample_file_source *from = &f->sources[f->source];
	const struct entity *e = &from->entities[place];
	struct stream_job *j = NULL;
	int r = job_for(s, f, e, host, job_of, &j);

	if (r < 0)
		return r;
	struct stream_entity *entity = stream_job_entity(j, host, e);
	if (!entity)
		return 0;
	stream_job_host(j, host);
	take_user(j, e);
	ret->track = find_track(s, j, host, from);
	ret->lane = find_lane(s, ret->track, entity);
	return 0;
}

static int add_reading(struct stream *s, const struct sample_file *f, const char *host,
		       stream_job_of job_of)
{
	const struct sample_file_source *from = &f->sources[f->source];
	const struct sample_set *set = &f->reading;
	int64_t day = f->time_us / DAY_US - (f->time_us % DAY_US < 0);

	if (day != s->day)
		forget_places(s);
	s->day = day;
	s->serial++;
	for (size_t i = 0; i < set->row_count; i++) {
		uint32_t at = set->rows[i].entity;

		if (at >= from->entity_count || !from->entities[at].kind)
			continue;
		struct stream_place *p = place_at(s, f->source, at);
		/* a full track is followed by another one */
		if (p->track &&
		    ((p->track->ticks.n == DELTA_CODING_MAX && p->track->serial != s->serial) ||
		     !stream_job_is_near(p->track->job, f->time_us)))
			p->track = NULL;
		int r = p->track ? 0 : find_place(s, f, host, at, job_of, p);
		if (r < 0)
			return r;
		if (p->track)
			add_row(s, p->track, p->lane, f->time_us, set->rows[i].present,
				set->values + i * set->metric_count);
	}
	return 0;
}

/* Once a store was open, only a refused value is an error of the data. */
static int verdict(const struct stream *s, int r)
{
	return (r == -EBADMSG && !s->store->damaged) || r == -E2BIG ? -EBADMSG : -EAGAIN;
}

int stream_add(struct stream *s, struct sample_file *f, stream_job_of job_of)
{
	_cleanup_strbuf_ struct strbuf host = STRBUF_INIT;
	int event, r = 0;

	forget_places(s);
	while (r == 0 && (event = sample_file_next(f)) > 0) {
		switch ((enum sample_event)event) {
		case SAMPLE_HEAD:
			strbuf_reset(&host);
			add_id(&host, f->head.host ? f->head.host : "",
			       f->head.host ? strlen(f->head.host) : 0);
			forget_places(s);
			break;
		case SAMPLE_SOURCE:
			if (f->source < s->place_sources) {
				free(s->places[f->source].list);
				s->places[f->source] = (struct stream_places){0};
			}
			break;
		case SAMPLE_ENTITY:
			place_at(s, f->source, f->entity)->track = NULL;
			break;
		case SAMPLE_READING:
			r = add_reading(s, f, host.buf, job_of);
			break;
		default:
			break;
		}
	}
	forget_places(s);
	return r < 0 ? verdict(s, r) : 0;
}

void stream_why(const struct stream *s, struct strbuf *why)
{
	strbuf_addstr(why, store_error(s->store));
}

size_t stream_held(const struct stream *s)
{
	return s->held;
}

/* ---- beginning and end ---------------------------------------------------------------------- */

static void forget_tracks(struct stream *s)
{
	for (size_t i = 0; i < s->track_count; i++)
		free_track(s->tracks[i]);
	s->track_count = 0;
	hash_map_clear(&s->track_index);
	s->held = 0;
	s->rounds = 0;
}

void stream_forget(struct stream *s)
{
	forget_tracks(s);
	/* they have numbers that are not in the store */
	stream_jobs_forget(s);
}

/* Errors that may pass. */
static bool passes(int r)
{
	return r == -EPIPE || r == -EAGAIN || r == -EBUSY || r == -ECONNREFUSED ||
	       r == -ETIMEDOUT || r == -ENOSPC || r == -ESTALE || r == -EEXIST || r == -EIO ||
	       r == -ENOMEM;
}

/* Readers open the file by its path and would not see data in a replaced one. */
static bool is_replaced(const struct stream *s)
{
	struct stat was, is;

	return s->file >= 0 && (stat(s->store->where, &is) < 0 || fstat(s->file, &was) < 0 ||
				is.st_ino != was.st_ino || is.st_dev != was.st_dev);
}

/* Without any name nobody can read it. */
static bool is_removed(const struct stream *s)
{
	struct stat st;

	return fstat(s->file, &st) < 0 || !st.st_nlink;
}

/* O_PATH, because closing any other descriptor of the file would release SQLite's locks. */
static void remember_file(struct stream *s)
{
	struct stat st;

	s->file = open(s->store->where, O_PATH | O_CLOEXEC);
	if (s->file >= 0 && (fstat(s->file, &st) < 0 || !S_ISREG(st.st_mode))) {
		close_fd(&s->file);
		s->file = -1;
	}
}

/* Before leaving the old file, all committed data must be in it. */
static int leave_file(struct stream *s, struct strbuf *why)
{
	stream_forget(s);
	int r = is_removed(s) ? 0 : store_settle(s->store, LEAVE_WAIT_MS);
	if (r == -EAGAIN || r == -ENOSPC)
		return strbuf_fail(
			why, -EBUSY,
			"'%s' was moved while it %s; waiting, so that all committed data are in "
			"it",
			s->store->where,
			r == -EAGAIN ? "is being read" : "has no space on its disk");
	if (r < 0)
		strbuf_addf(why, "%s; some committed data may be missing in the moved file; ",
			    store_error(s->store));
	return strbuf_fail(
		why, -EAGAIN,
		"'%s' was replaced or removed after it was opened; continues with the file that is "
		"there now, or a new one",
		s->store->where);
}

int stream_commit(struct stream *s, uint64_t position, struct strbuf *why)
{
	if (is_replaced(s))
		return leave_file(s, why);
	int r = stream_write(s, position);
	if (r < 0) {
		strbuf_addstr(why, r == -ESTALE ? "a job was submitted or deleted meanwhile"
				   : s->store->error.len ? store_error(s->store)
							 : strerror(-r));
		store_rollback(s->store);
		stream_forget(s);
		return r == -ESTALE ? r : verdict(s, r);
	}
	/* removed during the commit; a moved file has the data, and the next commit checks again */
	if (is_replaced(s) && is_removed(s))
		return leave_file(s, why);
	/* so that the file can be moved or copied at any time; readers delay it to the next commit
	 */
	(void)store_settle(s->store, 0);
	forget_tracks(s);
	stream_jobs_settle(s);
	return 0;
}

/* The position, and when it was written. */
static int read_position(struct stream *s, uint64_t *position, int64_t *ret_us)
{
	_cleanup_stmt_ struct stmt *st =
		store_query(s->store, "SELECT position, time_us FROM sample_stream WHERE name = $1",
			    db_str(s->key));
	int r = st ? stmt_step(st) : -EIO;

	*position = 0;
	*ret_us = 0;
	if (r == 1) {
		*position = (uint64_t)stmt_get_int(st, 0);
		*ret_us = stmt_get_int(st, 1);
	}
	return r < 0 ? r : 0;
}

int stream_open(struct stream **ret, const char *url, const char *key, uint64_t *position,
		struct strbuf *why)
{
	struct stream *s = xcalloc(1, sizeof(*s));
	int64_t us;

	s->file = -1;
	s->key = xstrdup(key);
	int r = store_open_within(&s->store, url, STORE_WRITE, BUSY_WAIT_MS, why);
	if (r == 0) {
		remember_file(s);
		r = store_merge_streamed(s->store);
		if (r >= 0)
			r = read_position(s, position, &us);
		if (r == 0 && us)
			r = stream_jobs_repair(s, us - STREAM_REPAIR_US);
		if (r < 0)
			strbuf_addstr(why, store_error(s->store));
	}
	if (r < 0) {
		stream_close(s);
		return passes(r) ? -EAGAIN : r;
	}
	*ret = s;
	return 0;
}

int stream_take_over(struct stream *s, const char *key, uint64_t *position, struct strbuf *why)
{
	int64_t us;
	int r = store_run(s->store, "UPDATE sample_stream SET name = $1 WHERE name = $2",
			  db_str(s->key), db_str(key));

	if (r == 0)
		r = read_position(s, position, &us);
	if (r < 0)
		strbuf_addstr(why, store_error(s->store));
	return r < 0 && passes(r) ? -EAGAIN : r;
}

/* The last sums of jobs. What fails, or takes too long, is done at the next opening. */
static void sum_up_last(struct stream *s, uint64_t limit_ns)
{
	int r = store_begin(s->store);

	(void)store_end(s->store, r < 0 ? r : stream_jobs_sums(s, true, limit_ns));
}

void stream_close(struct stream *s)
{
	stream_close_within(s, STREAM_SUMMING_NS);
}

void stream_close_within(struct stream *s, uint64_t limit_ns)
{
	if (!s)
		return;
	if (s->store) {
		forget_tracks(s);
		sum_up_last(s, limit_ns);
		stream_close_writers(s);
	}
	forget_tracks(s);
	stream_jobs_forget(s);
	forget_places(s);
	free(s->tracks);
	free(s->key);
	free(s->jobs);
	hash_map_release(&s->job_index);
	hash_map_release(&s->track_index);
	store_close(s->store);
	close_fd(&s->file);
	free(s);
}
