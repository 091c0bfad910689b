/* See sacct_import.h. */
#include "store/import/sacct_import.h"

#include <errno.h>
#include <string.h>

#include "core/hash_map.h"
#include "store/identity.h"
#include "store/import/sacct.h"
#include "store/ingest/merge_streamed.h"
#include "store/query.h"

/* sacct prints local times without a zone, and the file may come from another one; the ids of Slurm
 * begin again after millions of jobs. */
#define APART_US INT64_C(93600000000) /* 26 h */

struct joined {
	int64_t no, apart_us;
};

struct joining {
	struct store *store;
	const struct sacct_options *o;
	struct sacct_result *result;
	struct stmt *find, *clear, *remove, *put;
	struct joined *done; /* the jobs that got values, by known */
	size_t done_count, done_cap;
	struct hash_map known;
};

static void joining_release(struct joining *j)
{
	stmt_finish_ptr(&j->find);
	stmt_finish_ptr(&j->clear);
	stmt_finish_ptr(&j->remove);
	stmt_finish_ptr(&j->put);
	hash_map_release(&j->known);
	free(j->done);
}

static int prepare(struct joining *j)
{
	j->find = stmt_prepare(j->store, "SELECT no, username, cluster, start_us, end_us FROM job "
					 "WHERE jobid = $1");
	j->clear = stmt_prepare(j->store, "DELETE FROM job_annotation WHERE job = $1 AND "
					  "substr(key, 1, 6) = '" SACCT_PREFIX "'");
	j->remove =
		stmt_prepare(j->store, "DELETE FROM job_annotation WHERE job = $1 AND key = $2");
	j->put = stmt_prepare(j->store,
			      "INSERT INTO job_annotation (job, key, value) VALUES ($1, $2, $3)");
	return j->find && j->clear && j->remove && j->put ? 0 : -EIO;
}

/* ---- which job ------------------------------------------------------------------------------ */

/* How far apart the job's start is from the record's; -1: it is another job. */
static int64_t distance(struct stmt *st, const struct sacct_record *r)
{
	const char *cluster = stmt_get_str(st, 2);

	if (r->cluster && *cluster && strcmp(r->cluster, cluster) != 0)
		return -1;
	if (r->user && !stmt_is_null(st, 1) && identity_users_differ(r->user, stmt_get_str(st, 1)))
		return -1;
	if (!r->has_start || stmt_is_null(st, 3))
		return 0;
	int64_t start = stmt_get_int(st, 3);
	int64_t end = r->has_end && r->end_us > r->start_us ? r->end_us : r->start_us;
	/* a recording may begin at any time of the job */
	if (start < r->start_us - APART_US || start > end + APART_US)
		return -1;
	return start > r->start_us ? start - r->start_us : r->start_us - start;
}

/* 1: found, 0: not in the store, -EEXIST: several. */
static int find_job(struct joining *j, const struct sacct_record *r, struct joined *ret)
{
	size_t found = 0;
	int e;

	stmt_reset(j->find);
	stmt_bind(j->find, db_str(r->id));
	while ((e = stmt_step(j->find)) == 1) {
		struct joined one = {stmt_get_int(j->find, 0), distance(j->find, r)};

		if (one.apart_us < 0)
			continue;
		if (!found || one.apart_us < ret->apart_us)
			*ret = one;
		found++;
	}
	if (e < 0)
		return e;
	/* without a start, nothing tells them apart */
	return found > 1 && !r->has_start ? -EEXIST : found > 0;
}

/* An array task by its name, if the file has no JobIDRaw. */
static int find_task(struct joining *j, const struct sacct_record *r, struct joined *ret)
{
	_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;
	int64_t no;

	if (!strchr(r->id, '_') || strchr(r->id, '[') ||
	    job_find(j->store, r->id, &no, &ignored) < 0)
		return 0;
	_cleanup_stmt_ struct stmt *st = store_query(
		j->store, "SELECT no, username, cluster, start_us, end_us FROM job WHERE no = $1",
		db_int(no));
	int e = stmt_step(st);
	if (e != 1)
		return e;
	*ret = (struct joined){no, distance(st, r)};
	return ret->apart_us >= 0;
}

/* Did a run of the job that is nearer in time already give its values? */
static bool is_older(struct joining *j, const struct joined *one)
{
	uint64_t hash = hash_number((uint64_t)one->no);

	for (struct hash_slot *s = hash_map_first(&j->known, hash); s;
	     s = hash_map_next(&j->known, s)) {
		struct joined *had = &j->done[s->value];

		if (had->no != one->no)
			continue;
		if (one->apart_us > had->apart_us)
			return true;
		had->apart_us = one->apart_us;
		return false;
	}
	hash_map_add(&j->known, hash, j->done_count);
	GROW(j->done, j->done_count, j->done_cap);
	j->done[j->done_count++] = *one;
	return false;
}

/* ---- writing -------------------------------------------------------------------------------- */

static int write_values(struct joining *j, int64_t no, const struct sacct_record *r)
{
	int e = store_lock_job(j->store, no);

	/* values of an earlier import that are not there any more must not stay */
	if (e == 0 && r->whole) {
		stmt_reset(j->clear);
		e = stmt_run_with(j->clear, db_int(no));
	}
	for (size_t i = 0; i < value_pairs(r->facts) && e == 0; i++) {
		_cleanup_free_ char *key =
			xasprintf(SACCT_PREFIX "%s", value_key(r->facts, i)->str.data);
		_cleanup_json_ struct json_writer w = JSON_WRITER_INIT;

		value_to_json(value_at(r->facts, i), &w, NULL);
		if (!r->whole) {
			stmt_reset(j->remove);
			e = stmt_run_with(j->remove, db_int(no), db_str(key));
		}
		stmt_reset(j->put);
		if (e == 0)
			e = stmt_run_with(j->put, db_int(no), db_str(key),
					  db_text(w.out.buf, w.out.len));
	}
	return e;
}

static void tell(const struct joining *j, const struct sacct_record *r, const char *reason)
{
	if (j->o->tell)
		j->o->tell(j->o->user, r->task ? r->task : r->id, reason);
}

static int take_job(void *user, const struct sacct_record *r, struct strbuf *why)
{
	struct joining *j = user;
	struct joined one = {0};
	int e = find_job(j, r, &one);

	if (e == 0)
		e = find_task(j, r, &one);
	if (e == -EEXIST) {
		j->result->ambiguous++;
		tell(j, r, "several stored jobs have this id; add the column Start to the file");
		return 0;
	}
	if (e == 0) {
		j->result->absent++;
		tell(j, r, "not in the store");
		return 0;
	}
	if (e == 1 && is_older(j, &one)) {
		j->result->older++;
		return 0;
	}
	e = e < 0 ? e : write_values(j, one.no, r);
	if (e == -ESTALE) {
		j->result->absent++;
		tell(j, r, "was deleted meanwhile");
		return 0;
	}
	if (e < 0)
		strbuf_addstr(why, store_error(j->store));
	return e < 0 ? e : 0;
}

/* ---- reading -------------------------------------------------------------------------------- */

/* 1: a line, 0: the end. One byte more than is allowed tells that it is too long. */
static int read_line(FILE *f, struct strbuf *line)
{
	int c;

	strbuf_reset(line);
	while ((c = getc_unlocked(f)) != EOF && c != '\n') {
		strbuf_addch(line, (char)c);
		if (line->len > SACCT_LINE_MAX)
			return 1;
	}
	if (c == EOF && ferror(f))
		return errno ? -errno : -EIO;
	return c != EOF || line->len;
}

static int read_all(struct joining *j, FILE *f, const char *name, struct strbuf *why)
{
	_cleanup_strbuf_ struct strbuf line = STRBUF_INIT, reason = STRBUF_INIT;
	_cleanup_sacct_ struct sacct s;
	int r;

	sacct_init(&s, take_job, j);
	while ((r = read_line(f, &line)) == 1)
		if ((r = sacct_line(&s, line.buf, line.len, &reason)) < 0)
			break;
	if (r == 0)
		r = sacct_end(&s, &reason);
	j->result->jobs = s.jobs;
	j->result->steps = s.steps;
	if (r < 0 && s.line)
		strbuf_addf(why, "%s:%llu: %s", name, (unsigned long long)s.line,
			    reason.len ? reason.buf : strerror(-r));
	else if (r < 0)
		strbuf_addf(why, "%s: %s", name, reason.len ? reason.buf : strerror(-r));
	return r;
}

int sacct_import(struct store *s, FILE *f, const char *name, const struct sacct_options *o,
		 struct sacct_result *ret, struct strbuf *why)
{
	_cleanup_(joining_release) struct joining j = {.store = s, .o = o, .result = ret};

	*ret = (struct sacct_result){0};
	int r = store_begin(s);
	if (r == 0)
		r = prepare(&j);
	if (r == 0)
		r = read_all(&j, f, name, why);
	ret->joined = j.done_count;
	if (r < 0 || o->dry)
		store_rollback(s);
	else
		r = store_commit(s);
	if (r < 0 && !why->len)
		strbuf_addstr(why, store_error(s));
	return r;
}
