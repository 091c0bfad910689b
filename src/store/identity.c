/* Matching new data to stored jobs; see identity.h. */
#include "store/identity.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>

#include "core/text/text.h"
#include "jobs/job_layout.h"
#include "store/ingest/job_parts.h"
#include "store/ingest/merge_streamed.h"

/* For batch jobs without a start time from the batch system: hours may be between two steps, but
 * ids are not reused within days. */
#define PARTS_GAP_US INT64_C(604800000000)
/* By the clock of the batch system, which is equal on all hosts, and about equal for parts of a
 * heterogeneous job. A requeued job starts minutes later. */
#define BATCH_START_US INT64_C(60000000)
#define SAME_START_US INT64_C(1000000)

struct identity {
	const char *cluster, *user, *scheduler; /* NULL: unknown */
	int64_t first_us, last_us;              /* when it ran; 0: unknown */
	int64_t batch_start_us, restarts;       /* by the batch system; 0, -1: unknown */
	bool native, single_part;
};

int64_t identity_gap_us(int64_t a_first, int64_t a_last, int64_t b_first, int64_t b_last)
{
	a_last = a_last > a_first ? a_last : a_first;
	b_last = b_last > b_first ? b_last : b_first;
	return b_first > a_last ? b_first - a_last : a_first > b_last ? a_first - b_last : 0;
}

/* ---- users ---------------------------------------------------------------------------------- */

static bool is_number(const char *user)
{
	return *user >= '0' && *user <= '9';
}

bool identity_users_differ(const char *a, const char *b)
{
	struct passwd pw, *found = NULL;
	char room[16384];
	uint64_t number;

	if (!a || !*a || !b || !*b || !strcmp(a, b))
		return false;
	if (is_number(a) == is_number(b))
		return true;
	const char *name = is_number(a) ? b : a;
	if (parse_u64(is_number(a) ? a : b, &number) < 0)
		return true;
	(void)getpwnam_r(name, &pw, room, sizeof(room), &found);
	return found && found->pw_uid != number;
}

/* ---- metadata ---------------------------------------------------------------------- */

static int64_t number_in(const struct value *dict, const char *key, int64_t otherwise)
{
	const char *text = value_get_str(dict, key);
	int64_t n;

	return text && parse_i64(text, &n) == 0 && n >= 0 && n < INT64_MAX / 1000000 ? n
										     : otherwise;
}

/* Ours have a section about the batch system, those of other tools the environment. */
static void take_meta(struct identity *i, const struct value *meta)
{
	const struct value *scheduler = value_get(meta, "scheduler");
	const struct value *env = metadata_batch_environment(meta);
	bool slurm;

	i->native = part_is_native(meta);
	i->single_part = metadata_layout(meta)->single_part;
	i->restarts = -1;
	if (scheduler && scheduler->kind == VALUE_DICT) {
		i->scheduler = value_get_str(scheduler, "name");
		i->batch_start_us = number_in(scheduler, "start", 0) * 1000000;
		slurm = i->scheduler && !strcmp(i->scheduler, "slurm");
		i->restarts = number_in(scheduler, "restart", slurm ? 0 : -1);
	} else if (env && env->kind == VALUE_DICT) {
		i->batch_start_us = number_in(env, "SLURM_JOB_START_TIME", 0) * 1000000;
		slurm = value_get(env, "SLURM_JOB_ID") || value_get(env, "SLURM_JOBID");
		i->restarts = number_in(env, "SLURM_RESTART_COUNT", slurm ? 0 : -1);
	}
}

static bool differ(const char *a, const char *b)
{
	return a && *a && b && *b && strcmp(a, b) != 0;
}

static int64_t gap(const struct identity *a, const struct identity *b)
{
	return identity_gap_us(a->first_us, a->last_us, b->first_us, b->last_us);
}

static bool same_start(int64_t a, int64_t b, int64_t within)
{
	return a && b && (a > b ? a - b : b - a) <= within;
}

enum likeness { OTHER, SAME, UNSURE };

static enum likeness compare(const struct identity *a, const struct identity *b)
{
	bool batch = a->batch_start_us && b->batch_start_us;

	if (differ(a->cluster, b->cluster) || differ(a->user, b->user) ||
	    differ(a->scheduler, b->scheduler) ||
	    (a->restarts >= 0 && b->restarts >= 0 && a->restarts != b->restarts) ||
	    (batch && !same_start(a->batch_start_us, b->batch_start_us, BATCH_START_US)))
		return OTHER;
	if (a->native && b->native) {
		int64_t limit = a->scheduler || b->scheduler ? PARTS_GAP_US : JOB_GAP_US;

		return batch || gap(a, b) <= limit ? SAME : OTHER;
	}
	/* jobs of other tools have no parts: it is the same job or not */
	if (a->native == b->native && same_start(a->first_us, b->first_us, SAME_START_US))
		return SAME;
	if (!a->first_us || !b->first_us)
		return UNSURE;
	return gap(a, b) > (a->single_part && b->single_part ? 0 : JOB_GAP_US) ? OTHER : UNSURE;
}

/* ---- stored jobs ------------------------------------------------------------------- */

/* The best match so far. */
struct found {
	int64_t job, nth, gap_us;
	unsigned same, unsure; /* number of equally good matches; of possible ones */
	bool is_part;          /* it has exactly this part */
	struct strbuf names;
};

static void name_one(struct found *f, const char *jobid, const struct identity *i)
{
	strbuf_addstr(&f->names, f->names.len ? ", " : "");
	text_add_printable(&f->names, jobid, strlen(jobid));
	_cleanup_strbuf_ struct strbuf time = STRBUF_INIT;
	text_add_time(&time, i->first_us, false);
	if (i->first_us)
		strbuf_addf(&f->names, "@%.19s", time.buf);
	if (i->cluster && *i->cluster)
		strbuf_addf(&f->names, " on %s", i->cluster);
}

static void take(struct found *f, int64_t job, int64_t nth, int64_t gap_us)
{
	f->same = gap_us == f->gap_us && f->same ? f->same + 1 : 1;
	f->job = job;
	f->nth = nth;
	f->gap_us = gap_us;
}

static void look_at(struct found *f, struct stmt *st, const char *jobid, const struct identity *new,
		    const struct value *meta)
{
	_cleanup_strbuf_ struct strbuf ignored = STRBUF_INIT;
	_cleanup_value_ struct value *there = NULL;
	struct identity i = {.cluster = stmt_get_str(st, 2),
			     .user = stmt_get_str(st, 3),
			     .first_us = stmt_get_int(st, 4),
			     .last_us = stmt_get_int(st, 5)};
	size_t n;
	const char *json = stmt_get_text(st, 6, &n);

	if (json && value_from_json(json, n, &there, &ignored) == 0)
		take_meta(&i, there);
	enum likeness l = compare(&i, new);
	if (l == OTHER || f->is_part)
		return;
	name_one(f, jobid, &i);
	f->unsure += l == UNSURE;
	if (i.native && new->native && parts_have(there, meta)) {
		f->is_part = true;
		f->same = 0;
		take(f, stmt_get_int(st, 0), stmt_get_int(st, 1), 0);
	} else if (l == SAME && (!f->same || gap(&i, new) <= f->gap_us)) {
		take(f, stmt_get_int(st, 0), stmt_get_int(st, 1), gap(&i, new));
	}
}

static int tell_unsure(const struct found *f, const char *jobid, struct strbuf *why)
{
	if (f->same > 1)
		strbuf_addf(why,
			    "several jobs %s are in the store (%s); cannot tell which of them this "
			    "belongs to",
			    jobid, f->names.buf);
	else
		strbuf_addf(
			why,
			"job %s is in the store already (%s), at about the same time but with "
			"a different start, and cannot be merged with this; delete the unwanted "
			"one first",
			jobid, f->names.buf);
	return -ENOTUNIQ;
}

int identity_exists(struct store *s, const char *jobid)
{
	int64_t found = 0;
	int r = store_number_of(s,
				s->staged ? "SELECT count(*) FROM main.job WHERE jobid = $1"
					  : "SELECT count(*) FROM job WHERE jobid = $1",
				&found, db_str(jobid));

	return r < 0 ? r : found > 0;
}

/* All jobs of that id, including streamed ones, which nth counts, too. */
static int load(struct store *s, const struct jobmeta *m, const struct identity *new,
		const struct value *meta, struct found *f, int64_t *next)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		s,
		"SELECT j.no, j.nth, j.cluster, j.username, j.start_us, j.end_us, m.json, j.format "
		"FROM job j LEFT JOIN job_meta m ON m.job = j.no WHERE j.jobid = $1 ORDER BY j.no",
		db_str(m->jobid));
	int r;

	if (!st)
		return -EIO;
	while ((r = stmt_step(st)) == 1) {
		if (stmt_get_int(st, 1) >= *next)
			*next = stmt_get_int(st, 1) + 1;
		if (strcmp(stmt_get_str(st, 7), STORE_FED) != 0)
			look_at(f, st, m->jobid, new, meta);
	}
	return r;
}

int64_t identity_find(struct store *s, const struct jobmeta *m, const struct value *meta,
		      const struct identity_times *seen, int64_t *nth, struct strbuf *why)
{
	struct identity new = {.cluster = m->cluster,
			       .user = m->user,
			       .first_us = m->has_start ? m->start_us : seen->first_us,
			       .last_us = m->has_end ? m->end_us : seen->last_us};
	struct found f = {.names = STRBUF_INIT};

	*nth = 0;
	int r = identity_exists(s, m->jobid);
	/* staged tables hide those of the store */
	if (r > 0 && s->staged)
		return -ESTALE;
	if (r > 0) {
		take_meta(&new, meta);
		r = load(s, m, &new, meta, &f, nth);
	}
	if (r < 0)
		strbuf_addstr(why, store_error(s));
	else if (f.same > 1 || (!f.same && f.unsure))
		r = tell_unsure(&f, m->jobid, why);
	else if (f.same)
		*nth = f.nth;
	strbuf_release(&f.names);
	return r < 0 ? r : f.job;
}
