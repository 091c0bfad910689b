/* Finds the job that samples belong to among those with the same id, by time; see identity.h. */
#include <errno.h>
#include <string.h>

#include "store/stream/stream_internal.h"

bool stream_job_is_near(const struct stream_job *j, int64_t time_us)
{
	return j->node || !j->from_us ||
	       identity_gap_us(j->from_us, j->until_us, time_us, time_us) <= JOB_GAP_US;
}

/* A job with that id. */
struct candidate {
	int64_t no, from_us, until_us;
	bool submitted;
	char *user;
};

static int list_candidates(struct stream *s, struct stream_job *j, struct candidate **ret,
			   size_t *ret_count)
{
	_cleanup_stmt_ struct stmt *st =
		store_query(s->store,
			    "SELECT no, username, start_us, end_us, format, nth FROM "
			    "job WHERE jobid = $1 ORDER BY no",
			    db_str(j->id));
	size_t cap = 0;
	int r;

	if (!st)
		return -EIO;
	while ((r = stmt_step(st)) == 1) {
		int64_t nth = stmt_get_int(st, 5);

		j->nth = nth >= j->nth ? nth + 1 : j->nth;
		GROW(*ret, *ret_count, cap);
		(*ret)[(*ret_count)++] = (struct candidate){
			.no = stmt_get_int(st, 0),
			.user = stmt_get_copy(st, 1),
			.from_us = stmt_get_int(st, 2),
			.until_us = stmt_get_int(st, 3),
			.submitted = strcmp(stmt_get_str(st, 4), STREAM_FORMAT) != 0};
	}
	return r;
}

/* The series of a submitted job may continue after what was submitted. */
static int add_time_of_series(struct stream *s, struct candidate *c)
{
	_cleanup_stmt_ struct stmt *st = store_query(
		s->store, "SELECT min(first_us), max(last_us) FROM sample_series WHERE job = $1",
		db_int(c->no));
	int r = st ? stmt_step(st) : -EIO;
	if (r <= 0 || stmt_is_null(st, 0))
		return r < 0 ? r : 0;
	int64_t first = stmt_get_int(st, 0), last = stmt_get_int(st, 1);
	c->from_us = c->from_us && c->from_us < first ? c->from_us : first;
	c->until_us = c->until_us > last ? c->until_us : last;
	return 0;
}

int stream_job_find(struct stream *s, struct stream_job *j, const char *user, int64_t time_us)
{
	_cleanup_free_ struct candidate *list = NULL;
	int64_t nearest = JOB_GAP_US + 1;
	size_t count = 0;
	int r = list_candidates(s, j, &list, &count);

	for (size_t i = 0; i < count; i++) {
		struct candidate *c = &list[i];
		int64_t gap = 0;

		if (r == 0 && c->submitted)
			r = add_time_of_series(s, c);
		if (!j->node && c->from_us)
			gap = identity_gap_us(c->from_us, c->until_us, time_us, time_us);
		if (r == 0 && gap < nearest && !identity_users_differ(user, c->user)) {
			nearest = gap;
			j->no = c->no;
			j->from_us = c->from_us;
			j->until_us = c->until_us;
			free(j->user);
			j->user = c->user;
			c->user = NULL;
		}
		free(c->user);
	}
	return r;
}
